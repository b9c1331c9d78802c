#include "spmv/parts/comm.h"

#include <math.h>
#include <string.h>

#include "config/memory.h"

static wr_status gather_alone(wr_comm *comm, const char *what, const void *from, int64_t bytes, void *all) {
  (void)comm, (void)what;
  memcpy(all, from, (size_t)bytes);
  return WR_OK;
}

static wr_status begin_alone(wr_comm *comm, const wr_parcel *send, const wr_parcel *receive) {
  (void)comm, (void)send, (void)receive;
  return WR_OK;
}

static wr_status end_alone(wr_comm *comm, const char *what) {
  (void)comm, (void)what;
  return WR_OK;
}

static const wr_comm_ops alone = {.name = "alone", .gather = gather_alone, .begin = begin_alone, .end = end_alone};

const wr_comm wr_comm_alone = {.ops = &alone, .size = 1, .neighbours = 1};

typedef enum reduction { SUM, SUM_COUNTS, MAX, MAX_COUNTS } reduction;

/* An element of 8 bytes, a double or an int64_t. */
static void reduce_element(reduction kind, const char *from, char *into) {
  double a, b;
  int64_t i, j;
  memcpy(&a, into, sizeof a), memcpy(&b, from, sizeof b);
  memcpy(&i, into, sizeof i), memcpy(&j, from, sizeof j);
  if (kind == SUM) a += b;
  if (kind == MAX) a = isnan(a) || isnan(b) ? NAN : b > a ? b : a;
  if (kind == SUM_COUNTS) i += j;
  if (kind == MAX_COUNTS) i = j > i ? j : i;
  if (kind == SUM || kind == MAX)
    memcpy(into, &a, sizeof a);
  else
    memcpy(into, &i, sizeof i);
}

/* Every part gathers all numbers and reduces them by rank: MPI's own sums promise neither an order nor the same bits in all
 * parts. */
static wr_status reduce(wr_comm *comm, reduction kind, void *v, int count) {
  wr_status status;
  char *all = NULL;
  int64_t bytes = 8 * (int64_t)count;
  if (comm == NULL || comm->size == 1) return WR_OK;
  if (count < 1 || count > WR_COMM_NUMBERS) return wr_fail(WR_EUSAGE, "%d numbers in one sum over parts", count);
  TRY(wr_alloc(&all, comm->size * bytes, 1, "sums over parts"));
  TRY(comm->ops->gather(comm, kind == SUM || kind == SUM_COUNTS ? "a sum" : "a maximum", v, bytes, all));
  memcpy(v, all, (size_t)bytes);
  for (int r = 1; r < comm->size; r++)
    for (int k = 0; k < count; k++) reduce_element(kind, all + r * bytes + 8 * k, (char *)v + 8 * k);
done:
  wr_free(all);
  return status;
}

wr_status wr_comm_sum(wr_comm *comm, double *v, int count) { return reduce(comm, SUM, v, count); }
wr_status wr_comm_sum_counts(wr_comm *comm, int64_t *v, int count) { return reduce(comm, SUM_COUNTS, v, count); }
wr_status wr_comm_max(wr_comm *comm, double *v, int count) { return reduce(comm, MAX, v, count); }
wr_status wr_comm_max_counts(wr_comm *comm, int64_t *v, int count) { return reduce(comm, MAX_COUNTS, v, count); }

/* A failure of the exchange itself is not told to the others, which cannot be reached. */
wr_status wr_comm_agree(wr_comm *comm, wr_status status) {
  wr_error mine, *all = NULL;
  if (comm == NULL || comm->size == 1) return status;
  memset(&mine, 0, sizeof mine);
  (void)wr_error_keep(&mine, status);
  TRY(wr_alloc(&all, comm->size, sizeof *all, "messages of parts"));
  TRY(comm->ops->gather(comm, "an agreement", &mine, sizeof mine, all));
  for (int r = 0; r < comm->size && status == WR_OK; r++) status = wr_error_raise(&all[r]);
done:
  wr_free(all);
  return status;
}

wr_status wr_comm_collect(wr_comm *comm, const double *from, int64_t count, double *to) {
  wr_status status;
  int64_t *counts = NULL, at = count;
  wr_parcel *parcels = NULL;
  if (comm == NULL || comm->size == 1) {
    memcpy(to, from, (size_t)count * sizeof *to);
    return WR_OK;
  }
  TRY(wr_alloc(&counts, comm->size, sizeof *counts, "lengths of parts"));
  TRY(wr_alloc_zeroed(&parcels, 2 * comm->size, sizeof *parcels, "an exchange"));
  TRY(comm->ops->gather(comm, "lengths of vectors", &count, sizeof count, counts));
  wr_parcel *send = parcels, *receive = parcels + comm->size;
  if (comm->rank == 0) memcpy(to, from, (size_t)count * sizeof *to);
  if (comm->rank > 0) send[0] = (wr_parcel){(void *)(uintptr_t)from, count * (int64_t)sizeof *from};
  for (int r = 1; comm->rank == 0 && r < comm->size; at += counts[r], r++)
    receive[r] = (wr_parcel){to + at, counts[r] * (int64_t)sizeof *to};
  TRY(comm->ops->begin(comm, send, receive));
  TRY(comm->ops->end(comm, "a vector of all parts"));
done:
  wr_free(counts);
  wr_free(parcels);
  return status;
}

wr_status wr_comm_spread(wr_comm *comm, const char *what, int from, void *data, int64_t bytes) {
  wr_status status;
  wr_parcel *parcels = NULL;
  TRY(wr_comm_agree(comm, wr_alloc_zeroed(&parcels, 2 * comm->size, sizeof *parcels, what)));
  for (int r = 0; r < comm->size && comm->rank == from; r++)
    if (r != from) parcels[r] = (wr_parcel){data, bytes};
  if (comm->rank != from) parcels[comm->size + from] = (wr_parcel){data, bytes};
  TRY(comm->ops->begin(comm, parcels, parcels + comm->size));
  TRY(comm->ops->end(comm, what));
done:
  wr_free(parcels);
  return status;
}

wr_status wr_comm_late(wr_comm *comm, const char *what) {
  PASS(wr_error_raise(&comm->broken));
  return wr_error_keep(
      &comm->broken, wr_fail(WR_EDEVICE,
                             "part %d of %d has waited %.3g s for the others in %s: one of them has stopped, or takes "
                             "longer than --patience allows",
                             comm->rank + 1, comm->size, comm->patience, what));
}

/* Most of what a part swaps may be for itself, and the pages of `to` are new. */
static void copy(char *to, const char *from, int64_t bytes) {
  enum { PIECE = 1 << 20 };
  int64_t pieces = (bytes + PIECE - 1) / PIECE;
#pragma omp parallel for schedule(static) if (pieces > 1)
  for (int64_t k = 0; k < pieces; k++)
    memcpy(to + k * PIECE, from + k * PIECE, (size_t)(k + 1 < pieces ? PIECE : bytes - k * PIECE));
}

wr_status wr_comm_swap(wr_comm *comm, const char *what, const void *send, const int64_t *counts, int64_t size,
                       void *received, int64_t *got) {
  wr_status status;
  int64_t *table = NULL, total = 0, at = 0;
  wr_parcel *parcels = NULL;
  char *lists = NULL;
  TRY(wr_alloc(&table, (int64_t)comm->size * comm->size, sizeof *table, what));
  TRY(wr_alloc_zeroed(&parcels, 2 * comm->size, sizeof *parcels, what));
  TRY(comm->ops->gather(comm, what, counts, comm->size * (int64_t)sizeof *counts, table));
  for (int r = 0; r < comm->size; r++) total += got[r] = table[(int64_t)r * comm->size + comm->rank];
  TRY(wr_comm_agree(comm, wr_alloc(&lists, total, (size_t)size, what)));
  wr_parcel *to = parcels, *from = parcels + comm->size;
  for (int r = 0; r < comm->size; at += counts[r], r++)
    if (r != comm->rank) to[r] = (wr_parcel){(char *)(uintptr_t)send + at * size, counts[r] * size};
  at = 0;
  for (int64_t r = 0, before = 0; r < comm->size; at += got[r], before += counts[r], r++) {
    if (r != comm->rank)
      from[r] = (wr_parcel){lists + at * size, got[r] * size};
    else
      copy(lists + at * size, (const char *)send + before * size, got[r] * size);
  }
  TRY(comm->ops->begin(comm, to, from));
  TRY(comm->ops->end(comm, what));
  *(void **)received = lists, lists = NULL;
done:
  wr_free(table);
  wr_free(parcels);
  wr_free(lists);
  return status;
}
