#include "io/ids.h"

#include <string.h>

#include "config/memory.h"
#include "io/ids_number.h"

/* A table of bits may have so many for each edge: then it takes at most 6 bytes an edge, with its counts. */
enum { BITS_PER_EDGE = 32 };

/* Which ids occur, a bit each. */
typedef struct table {
  int64_t least, range; /* ids are in [least, least + range)            */
  int64_t nwords;
  uint64_t *word;       /* [nwords] bit b of word w: least + 64 w + b    */
  int32_t *before;      /* [nwords] how many occur below the word's bits */
} table;

int64_t wr_ids_at(const wr_ids *ids, int64_t node) { return ids->id != NULL ? ids->id[node] : ids->first + node; }

int64_t wr_ids_place(const wr_ids *ids, int64_t id) {
  int64_t low = 0, high = ids->count; /* the id is at one of [low, high), if at all */
  if (ids->id == NULL) return id >= ids->first && id - ids->first < ids->count ? id - ids->first : -1;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (ids->id[middle] == id) return middle;
    if (ids->id[middle] < id)
      low = middle + 1;
    else
      high = middle;
  }
  return -1;
}

void wr_ids_free(wr_ids *ids) {
  wr_free(ids->id);
  *ids = (wr_ids){.count = 0};
}

wr_status wr_ids_too_many(const char *name, int64_t count) {
  return wr_fail(WR_EINPUT, "%s: more nodes than the %lld that a 32-bit index reaches (%lld)", name,
                 (long long)WR_MAX_INDEX, (long long)count);
}

void wr_id_part_free(wr_id_part *part) {
  wr_free(part->id);
  *part = (wr_id_part){.count = 0};
}

static void note_extremes(const wr_edge_chunk *edges, wr_id_part *part) {
  int64_t least = INT64_MAX, most = 0;
  for (int64_t n = 0; n < edges->count; n++) {
    int64_t a = edges->source[n], b = edges->target[n];
    if (a < least) least = a;
    if (b < least) least = b;
    if (a > most) most = a;
    if (b > most) most = b;
  }
  part->least = least, part->most = most;
}

wr_status wr_ids_take(const wr_edge_chunk *edges, wr_id_sorter *sorter, wr_triplet_chunk *triplets, wr_id_part *part) {
  int64_t count = edges->count;
  wr_status status = wr_alloc(&triplets->row, count, sizeof *triplets->row, "the edges of a graph");
  if (status == WR_OK) status = wr_alloc(&triplets->col, count, sizeof *triplets->col, "the edges of a graph");
  if (status == WR_OK && edges->weight != NULL)
    status = wr_alloc(&triplets->val, count, sizeof *triplets->val, "the edges of a graph");
  if (status != WR_OK || count == 0) return status;
  triplets->count = triplets->capacity = count;
  if (edges->weight != NULL) memcpy(triplets->val, edges->weight, (size_t)count * sizeof *triplets->val);
  note_extremes(edges, part);
  if (part->most > INT32_MAX) return wr_ids_list(sorter, edges, triplets, part);
  for (int64_t n = 0; n < count; n++) {
    triplets->row[n] = (int32_t)edges->source[n];
    triplets->col[n] = (int32_t)edges->target[n];
  }
  return WR_OK;
}

/* Most ids have been seen before, and cost a look only. */
static inline void mark(const table *t, int64_t id) {
  uint64_t bit = UINT64_C(1) << ((id - t->least) & 63), seen, *word = &t->word[(id - t->least) >> 6];
#pragma omp atomic read
  seen = *word;
  if (seen & bit) return;
#pragma omp atomic update
  *word |= bit;
}

static void mark_all(const table *t, const wr_triplets *triplets, int threads) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int64_t c = 0; c < triplets->nchunks; c++) {
    const wr_triplet_chunk *chunk = &triplets->chunks[c];
    for (int64_t n = 0; n < chunk->count; n++) {
      mark(t, chunk->row[n]);
      mark(t, chunk->col[n]);
    }
  }
}

/* Returns how many ids occur; `before` holds the true numbers if they are at most WR_MAX_INDEX. */
static int64_t count_marks(const table *t) {
  int64_t count = 0;
  for (int64_t w = 0; w < t->nwords; w++) {
    t->before[w] = (int32_t)(count <= WR_MAX_INDEX ? count : 0);
    count += __builtin_popcountll(t->word[w]);
  }
  return count;
}

static void list_marks(const table *t, int64_t *id, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t w = 0; w < t->nwords; w++) {
    int64_t node = t->before[w];
    for (uint64_t bits = t->word[w]; bits != 0; bits &= bits - 1)
      id[node++] = t->least + 64 * w + __builtin_ctzll(bits);
  }
}

static inline int32_t node_of(const table *t, int32_t id) {
  int64_t place = id - t->least;
  uint64_t below = t->word[place >> 6] & ((UINT64_C(1) << (place & 63)) - 1);
  return t->before[place >> 6] + (int32_t)__builtin_popcountll(below);
}

/* dense: ids follow one another, so that a node is an id less the first. */
static void number_all(const table *t, int dense, int threads, const wr_triplets *triplets) {
  if (dense && t->least == 0) return;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int64_t c = 0; c < triplets->nchunks; c++) {
    const wr_triplet_chunk *chunk = &triplets->chunks[c];
    for (int64_t n = 0; n < chunk->count; n++) {
      chunk->row[n] = dense ? chunk->row[n] - (int32_t)t->least : node_of(t, chunk->row[n]);
      chunk->col[n] = dense ? chunk->col[n] - (int32_t)t->least : node_of(t, chunk->col[n]);
    }
  }
}

static wr_status number_by_table(const char *name, table *t, int threads, wr_triplets *triplets, wr_ids *ids) {
  wr_status status;
  t->nwords = ((t->range - 1) >> 6) + 1;
  TRY(wr_alloc_zeroed(&t->word, t->nwords, sizeof *t->word, "the ids of a graph"));
  TRY(wr_alloc(&t->before, t->nwords, sizeof *t->before, "the ids of a graph"));
  mark_all(t, triplets, threads);
  ids->first = t->least;
  ids->count = count_marks(t);
  if (ids->count > WR_MAX_INDEX) TRY(wr_ids_too_many(name, ids->count));
  int dense = ids->count == t->range;
  if (!dense) {
    TRY(wr_alloc(&ids->id, ids->count, sizeof *ids->id, "the ids of a graph"));
    list_marks(t, ids->id, threads);
  }
  number_all(t, dense, threads, triplets);
done:
  wr_free(t->word);
  wr_free(t->before);
  return status;
}

wr_status wr_ids_number(const char *name, wr_id_part *parts, int threads, wr_triplets *triplets, wr_ids *ids) {
  int64_t least = INT64_MAX, most = 0, count = 0;
  *ids = (wr_ids){.count = 0};
  for (int64_t c = 0; c < triplets->nchunks; c++) {
    if (triplets->chunks[c].count == 0) continue;
    if (parts[c].least < least) least = parts[c].least;
    if (parts[c].most > most) most = parts[c].most;
    count += triplets->chunks[c].count;
  }
  if (count == 0) return wr_fail(WR_EINTERNAL, "%s: a graph without edges has no ids", name);
  table t = {.least = least, .range = most <= INT32_MAX ? most - least + 1 : 0};
  wr_status status = most <= INT32_MAX && t.range / BITS_PER_EDGE <= count
                         ? number_by_table(name, &t, threads, triplets, ids)
                         : wr_ids_sort(name, parts, threads, triplets, ids);
  if (status != WR_OK) wr_ids_free(ids);
  if (status == WR_OK) triplets->nrows = triplets->ncols = ids->count;
  return status;
}
