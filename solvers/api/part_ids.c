/* Numbers are cut into ranges that have about as many ids, one for each part. Each part sends the ids of its edges to the parts
 * of their ranges, which merge what they get; all merged ranges, one behind another, are sent to all.
 *
 * Names go from each part to all others, one part after the other, and each part merges them. */
#include "solvers/api/part_ids.h"

#include <stdlib.h>

#include "config/memory.h"

enum { SAMPLES = 64 }; /* ids of a part by which the ranges are chosen */

typedef struct sample {
  int64_t count; /* ids of the part, by which its samples weigh */
  int64_t id[SAMPLES];
} sample;

static int compare_ids(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* splits[size + 1]: range r has the ids in [splits[r], splits[r + 1]). */
static wr_status choose_ranges(wr_comm *comm, const wr_ids *ids, int64_t *splits) {
  wr_status status;
  sample mine = {.count = ids->count}, *all = NULL;
  int64_t *sorted = NULL, count = 0;
  for (int k = 0; k < SAMPLES && ids->count > 0; k++)
    mine.id[k] = wr_ids_at(ids, (int64_t)((double)ids->count * k / SAMPLES));
  status = wr_alloc(&all, comm->size, sizeof *all, "a sample of ids");
  if (status == WR_OK) status = wr_alloc(&sorted, (int64_t)comm->size * SAMPLES, sizeof *sorted, "a sample of ids");
  TRY(wr_comm_agree(comm, status));
  TRY(comm->ops->gather(comm, "a sample of ids", &mine, sizeof mine, all));
  for (int r = 0; r < comm->size; r++)
    for (int k = 0; k < SAMPLES && all[r].count > 0; k++) sorted[count++] = all[r].id[k];
  qsort(sorted, (size_t)count, sizeof *sorted, compare_ids);
  splits[0] = 0, splits[comm->size] = INT64_MAX;
  for (int r = 1; r < comm->size; r++) splits[r] = count > 0 ? sorted[count * r / comm->size] : 0;
done:
  wr_free(all);
  wr_free(sorted);
  return status;
}

/* Merges `size` ascending lists, one behind the other with these lengths, without repeats; returns how many there are. */
static int64_t merge(const int64_t *lists, const int64_t *lengths, int size, int64_t *at, int64_t *merged) {
  int64_t count = 0, begin = 0;
  for (int r = 0; r < size; begin += lengths[r], r++) at[2 * r] = begin, at[2 * r + 1] = begin + lengths[r];
  for (;;) {
    int64_t least = INT64_MAX;
    int some = 0;
    for (int r = 0; r < size; r++)
      if (at[2 * r] < at[2 * r + 1]) some = 1, least = lists[at[2 * r]] < least ? lists[at[2 * r]] : least;
    if (!some) return count;
    merged[count++] = least;
    for (int r = 0; r < size; r++) at[2 * r] += at[2 * r] < at[2 * r + 1] && lists[at[2 * r]] == least;
  }
}

static wr_status fail_too_many(const char *name, int64_t count) {
  return wr_fail(WR_EINPUT, "%s: more nodes than the %lld that a 32-bit index reaches (%lld)", name,
                 (long long)WR_MAX_INDEX, (long long)count);
}

/* *all := the lists of all parts, one behind the other, in each part; of `count` ids here. */
static wr_status share_lists(wr_comm *comm, const char *name, const int64_t *mine, int64_t count, int64_t **all,
                             int64_t *total) {
  wr_status status;
  int64_t *counts = NULL, at = 0;
  wr_parcel *parcels = NULL;
  status = wr_alloc(&counts, comm->size, sizeof *counts, "the ids of a graph");
  if (status == WR_OK) status = wr_alloc_zeroed(&parcels, 2 * comm->size, sizeof *parcels, "the ids of a graph");
  TRY(wr_comm_agree(comm, status));
  TRY(comm->ops->gather(comm, "the ids of a graph", &count, sizeof count, counts));
  for (int r = 0; r < comm->size; r++) *total += counts[r];
  if (*total > WR_MAX_INDEX) TRY(fail_too_many(name, *total));
  TRY(wr_comm_agree(comm, wr_alloc(all, *total, sizeof **all, "the ids of a graph")));
  for (int r = 0; r < comm->size; at += counts[r], r++) {
    int64_t bytes = (int64_t)sizeof *mine;
    if (r == comm->rank)
      for (int64_t k = 0; k < count; k++) (*all)[at + k] = mine[k];
    else
      parcels[r] = (wr_parcel){(void *)(uintptr_t)mine, count * bytes},
      parcels[comm->size + r] = (wr_parcel){*all + at, counts[r] * bytes};
  }
  TRY(comm->ops->begin(comm, parcels, parcels + comm->size));
  TRY(comm->ops->end(comm, "the ids of a graph"));
done:
  wr_free(counts);
  wr_free(parcels);
  return status;
}

/* *all := the ids of all parts, [*total]; mine[count] those of this one, ascending. */
static wr_status unite(wr_comm *comm, const char *name, const int64_t *splits, const int64_t *mine, int64_t count,
                       int64_t **all, int64_t *total) {
  wr_status status;
  int64_t *counts = NULL, *got, *received = NULL, *merged = NULL, *at = NULL, arrived = 0, found = 0;
  status = wr_alloc_zeroed(&counts, 2 * comm->size, sizeof *counts, "the ids of a graph");
  if (status == WR_OK) status = wr_alloc(&at, 2 * comm->size, sizeof *at, "the ids of a graph");
  TRY(wr_comm_agree(comm, status));
  got = counts + comm->size;
  for (int64_t k = 0, r = 0; k < count; k++) {
    while (r + 1 < comm->size && mine[k] >= splits[r + 1]) r++;
    counts[r]++;
  }
  TRY(wr_comm_swap(comm, "the ids of a graph", mine, counts, sizeof *mine, &received, got));
  for (int r = 0; r < comm->size; r++) arrived += got[r];
  TRY(wr_comm_agree(comm, wr_alloc(&merged, arrived, sizeof *merged, "the ids of a graph")));
  found = merge(received, got, comm->size, at, merged);
  TRY(share_lists(comm, name, merged, found, all, total));
done:
  wr_free(counts);
  wr_free(at);
  wr_free(received);
  wr_free(merged);
  return status;
}

/* place[count] := that of each of mine[count] among all ids, of which they are some. */
static void find_places(const int64_t *mine, int64_t count, const int64_t *all, int32_t *place) {
  int64_t at = 0;
  for (int64_t k = 0; k < count; k++) {
    while (all[at] < mine[k]) at++;
    place[k] = (int32_t)at;
  }
}

/* *all (zeroed) := the numbers of all parts, of which place[ids->count] are those of this one; frees ids. */
static wr_status unite_numbers(wr_comm *comm, const char *name, wr_ids *ids, int32_t *place, wr_ids *all) {
  wr_status status;
  int64_t *splits = NULL, *mine = NULL, count = ids->count;
  status = wr_alloc(&splits, comm->size + 1, sizeof *splits, "the ids of a graph");
  if (status == WR_OK) status = wr_alloc(&mine, count, sizeof *mine, "the ids of a graph");
  TRY(wr_comm_agree(comm, status));
  for (int64_t k = 0; k < count; k++) mine[k] = wr_ids_at(ids, k);
  TRY(choose_ranges(comm, ids, splits));
  wr_ids_free(ids);
  TRY(unite(comm, name, splits, mine, count, &all->id, &all->count));
  find_places(mine, count, all->id, place);
  if (all->count == 0) goto done;
  all->first = all->id[0];
  if (all->id[all->count - 1] - all->first == all->count - 1) wr_free(all->id), all->id = NULL;
done:
  wr_free(splits);
  wr_free(mine);
  return status;
}

/* ---- names ---- */

/* Adds the names of part `from` to *all, in each part. sizes: how many they are, and their bytes. */
static wr_status add_names(wr_comm *comm, const char *name, int from, const int64_t sizes[2], const wr_ids *mine,
                           wr_ids *all) {
  wr_status status = WR_OK;
  wr_ids theirs = {.count = sizes[0]}, list, both = {0};
  if (comm->rank != from) status = wr_alloc(&theirs.begin, sizes[0] + 1, sizeof *theirs.begin, "the names of a graph");
  if (comm->rank != from && status == WR_OK) status = wr_alloc(&theirs.names, sizes[1], 1, "the names of a graph");
  TRY(wr_comm_agree(comm, status));
  list = comm->rank == from ? *mine : theirs;
  TRY(wr_comm_spread(comm, "the names of a graph", from, list.begin, (sizes[0] + 1) * (int64_t)sizeof *list.begin));
  TRY(wr_comm_spread(comm, "the names of a graph", from, list.names, sizes[1]));
  TRY(wr_comm_agree(comm, wr_ids_unite(all, &list, &both)));
  if (both.count > WR_MAX_INDEX) TRY(fail_too_many(name, both.count));
  wr_ids_free(all);
  *all = both, both = (wr_ids){0};
done:
  wr_ids_free(&theirs);
  wr_ids_free(&both);
  return status;
}

/* *all (zeroed) := the names of all parts, of which place[mine->count] are those of this one. */
static wr_status unite_names(wr_comm *comm, const char *name, const wr_ids *mine, int32_t *place, wr_ids *all) {
  wr_status status;
  const int64_t size[2] = {mine->count, mine->count > 0 ? mine->begin[mine->count] : 0};
  int64_t *sizes = NULL;
  TRY(wr_comm_agree(comm, wr_alloc(&sizes, 2 * comm->size, sizeof *sizes, "the names of a graph")));
  TRY(comm->ops->gather(comm, "the names of a graph", size, sizeof size, sizes));
  for (int r = 0; r < comm->size; r++)
    if (sizes[2 * r] > 0) TRY(add_names(comm, name, r, sizes + 2 * r, mine, all));
  wr_ids_find_all(mine, all, place);
done:
  wr_free(sizes);
  return status;
}

wr_status wr_part_ids_number(wr_comm *comm, const char *name, wr_triplets *triplets, wr_ids *ids) {
  wr_status status;
  wr_ids all = {0};
  int32_t *place = NULL;
  int64_t are_names = ids->names != NULL;
  TRY(wr_comm_agree(comm, wr_alloc(&place, ids->count, sizeof *place, "the ids of a graph")));
  TRY(wr_comm_max_counts(comm, &are_names, 1)); /* of a part without edges nothing is known */
  TRY(are_names ? unite_names(comm, name, ids, place, &all) : unite_numbers(comm, name, ids, place, &all));
  for (int64_t c = 0; c < triplets->nchunks; c++)
    for (int64_t k = 0; k < triplets->chunks[c].count; k++) {
      wr_triplet_chunk *chunk = &triplets->chunks[c];
      chunk->row[k] = place[chunk->row[k]], chunk->col[k] = place[chunk->col[k]];
    }
  triplets->nrows = triplets->ncols = all.count;
  wr_ids_free(ids);
  *ids = all, all = (wr_ids){0};
done:
  wr_free(place);
  wr_ids_free(&all);
  return status;
}
