#include "spmv/parts/part_rows.h"

#include <string.h>

#include "config/memory.h"
#include "spmv/matrix/row_sort.h"
#include "spmv/parts/partition.h"

enum { PARALLEL_FROM = 1 << 16 }; /* elements from which waking threads pays */

/* lengths[rows of this part's slice] := the entries of these rows in all parts. */
static wr_status add_lengths(wr_comm *comm, int64_t n, const int64_t *row_ptr, int64_t *lengths) {
  wr_status status;
  int size = comm->size;
  int64_t rows = wr_partition_slice(n, comm->rank + 1, size) - wr_partition_slice(n, comm->rank, size);
  int64_t *mine = NULL, *counts = NULL, *received = NULL;
  status = wr_alloc(&mine, n, sizeof *mine, "the lengths of rows");
  if (status == WR_OK) status = wr_alloc(&counts, 2 * size, sizeof *counts, "the lengths of rows");
  TRY(wr_comm_agree(comm, status));
#pragma omp parallel for schedule(static) if (n >= PARALLEL_FROM)
  for (int64_t i = 0; i < n; i++) mine[i] = row_ptr[i + 1] - row_ptr[i];
  for (int r = 0; r < size; r++) counts[r] = wr_partition_slice(n, r + 1, size) - wr_partition_slice(n, r, size);
  TRY(wr_comm_swap(comm, "the lengths of rows", mine, counts, sizeof *mine, &received, counts + size));
#pragma omp parallel for schedule(static) if (rows >= PARALLEL_FROM)
  for (int64_t i = 0; i < rows; i++) {
    lengths[i] = 0;
    for (int r = 0; r < size; r++) lengths[i] += received[r * rows + i];
  }
done:
  wr_free(mine);
  wr_free(counts);
  wr_free(received);
  return status;
}

wr_status wr_part_cut(wr_comm *comm, int64_t n, const int64_t *row_ptr, int64_t *starts) {
  wr_status status;
  int64_t rows = wr_partition_slice(n, comm->rank + 1, comm->size) - wr_partition_slice(n, comm->rank, comm->size);
  int64_t *lengths = NULL;
  TRY(wr_comm_agree(comm, wr_alloc(&lengths, rows + 1, sizeof *lengths, "the lengths of rows")));
  lengths[0] = 0;
  TRY(add_lengths(comm, n, row_ptr, lengths + 1));
  for (int64_t i = 0; i < rows; i++) lengths[i + 1] += lengths[i];
  TRY(wr_partition_cut(comm, n, lengths, starts));
done:
  wr_free(lengths);
  return status;
}

/* What the parts send for the rows of this one, by rank. */
typedef struct pieces {
  int32_t *lengths;      /* [size][rows] entries of each row          */
  int32_t *col;          /* those of a part in the order of its rows  */
  double *val;           /* or NULL                                   */
  int64_t *counts, *got; /* [size] each: elements to a part, and from */
} pieces;

static void free_pieces(pieces *p) {
  wr_free(p->lengths);
  wr_free(p->col);
  wr_free(p->val);
  wr_free(p->counts);
}

/* Rows [starts[r], starts[r + 1]) of T, which has all rows, go to part r. */
static wr_status swap_rows(wr_comm *comm, const int64_t *starts, const wr_csr *T, pieces *p) {
  wr_status status;
  int32_t *lengths = NULL;
  status = wr_alloc(&p->counts, 2 * comm->size, sizeof *p->counts, "entries for other parts");
  if (status == WR_OK) status = wr_alloc(&lengths, T->nrows, sizeof *lengths, "entries for other parts");
  TRY(wr_comm_agree(comm, status));
  p->got = p->counts + comm->size;
#pragma omp parallel for schedule(static) if (T->nrows >= PARALLEL_FROM)
  for (int64_t i = 0; i < T->nrows; i++) lengths[i] = (int32_t)(T->row_ptr[i + 1] - T->row_ptr[i]); /* no repeats */
  for (int r = 0; r < comm->size; r++) p->counts[r] = starts[r + 1] - starts[r];
  TRY(wr_comm_swap(comm, "the lengths of rows", lengths, p->counts, sizeof *lengths, &p->lengths, p->got));
  for (int r = 0; r < comm->size; r++) p->counts[r] = T->row_ptr[starts[r + 1]] - T->row_ptr[starts[r]];
  TRY(wr_comm_swap(comm, "entries", T->col, p->counts, sizeof *T->col, &p->col, p->got));
  if (T->val) TRY(wr_comm_swap(comm, "values", T->val, p->counts, sizeof *T->val, &p->val, p->got));
done:
  wr_free(lengths);
  return status;
}

enum { BLOCKS = 256 }; /* of rows, which threads take */

/* Rows [first, end): the elements of part r begin at at[r], those of A at `to`. */
static void join_rows(const pieces *p, const int64_t *columns, int size, int64_t first, int64_t end, int64_t *at,
                      int64_t to, wr_csr *A) {
  for (int64_t i = first; i < end; i++) {
    for (int r = 0; r < size; r++) {
      int32_t length = p->lengths[r * A->nrows + i];
      for (int32_t k = 0; k < length; k++) A->col[to + k] = (int32_t)(columns[r] + p->col[at[r] + k]);
      if (p->val) memcpy(A->val + to, p->val + at[r], (size_t)length * sizeof *p->val);
      at[r] += length, to += length;
    }
    A->row_ptr[i + 1] = to;
  }
}

/* at[BLOCKS][size] := where the elements of each part begin for a block of rows, and to[BLOCKS] those of the joined rows. */
static void place_blocks(const pieces *p, int size, int64_t rows, int64_t *at, int64_t *to) {
#pragma omp parallel for schedule(dynamic, 1) if (rows >= PARALLEL_FROM)
  for (int b = 0; b < BLOCKS; b++)
    for (int r = 0; r < size; r++) {
      int64_t count = 0;
      for (int64_t i = rows * b / BLOCKS; i < rows * (b + 1) / BLOCKS; i++) count += p->lengths[r * rows + i];
      at[b * size + r] = count;
    }
  for (int b = 0; b < BLOCKS; b++) to[b] = 0;
  for (int64_t r = 0, begin = 0; r < size; begin += p->got[r], r++)
    for (int64_t b = 0, before = 0; b < BLOCKS; b++) {
      int64_t count = at[b * size + r];
      at[b * size + r] = begin + before, to[b] += before;
      before += count;
    }
}

/* *A := the pieces of each row, one behind the other by rank. The columns of part r's pieces begin at columns[r]. */
static wr_status join_pieces(const wr_comm *comm, const int64_t *starts, const int64_t *columns, const pieces *p,
                             wr_csr **A) {
  wr_status status;
  int size = comm->size;
  int64_t rows = starts[comm->rank + 1] - starts[comm->rank], all = 0, *at = NULL, *to = NULL;
  TRY(wr_alloc(&at, (int64_t)BLOCKS * size, sizeof *at, "entries of other parts"));
  TRY(wr_alloc(&to, BLOCKS, sizeof *to, "entries of other parts"));
  for (int r = 0; r < size; r++) all += p->got[r];
  TRY(wr_csr_create(rows, starts[size], all, p->val != NULL, A));
  place_blocks(p, size, rows, at, to);
#pragma omp parallel for schedule(dynamic, 1) if (rows >= PARALLEL_FROM)
  for (int b = 0; b < BLOCKS; b++)
    join_rows(p, columns, size, rows * b / BLOCKS, rows * (b + 1) / BLOCKS, at + b * size, to[b], *A);
done:
  wr_free(at);
  wr_free(to);
  return status;
}

wr_status wr_part_transpose(wr_comm *comm, int64_t *starts, wr_csr **A) {
  wr_status status;
  pieces p = {0};
  wr_csr *T = NULL;
  int64_t *columns = NULL;
  status = wr_alloc(&columns, comm->size + 1, sizeof *columns, "a partition");
  if (status == WR_OK) status = wr_csr_transpose(*A, &T);
  TRY(wr_comm_agree(comm, status));
  wr_csr_free(*A), *A = NULL;
  memcpy(columns, starts, (size_t)(comm->size + 1) * sizeof *starts);
  TRY(wr_part_cut(comm, T->nrows, T->row_ptr, starts));
  TRY(swap_rows(comm, starts, T, &p));
  wr_csr_free(T), T = NULL;
  TRY(wr_comm_agree(comm, join_pieces(comm, starts, columns, &p, A)));
done:
  free_pieces(&p);
  wr_free(columns);
  wr_csr_free(T);
  if (status != WR_OK) wr_csr_free(*A), *A = NULL;
  return status;
}

/* ---- rows given to parts by a list ---- */

/* cuts[size + 1] := the first row of each part; number[n] := the new number of each row, numbers[n] the old one of each new. */
static wr_status number_by_part(const wr_comm *comm, const int32_t *part, int64_t n, int64_t *cuts, int32_t *number,
                                int32_t *numbers) {
  for (int r = 0; r <= comm->size; r++) cuts[r] = 0;
  for (int64_t i = 0; i < n; i++) {
    if (part[i] < 0 || part[i] >= comm->size)
      return wr_fail(WR_EINPUT, "row %lld is given to part %d, but there are parts 0 to %d", (long long)i + 1, part[i],
                     comm->size - 1);
    cuts[part[i] + 1]++;
  }
  for (int r = 0; r < comm->size; r++) {
    if (cuts[r + 1] == 0) return wr_fail(WR_EINPUT, "no row is given to part %d: each process needs a row", r);
    cuts[r + 1] += cuts[r];
  }
  for (int64_t i = 0; i < n; i++) {
    number[i] = (int32_t)cuts[part[i]]++;
    numbers[number[i]] = (int32_t)i;
  }
  for (int r = comm->size; r > 0; r--) cuts[r] = cuts[r - 1];
  cuts[0] = 0;
  return WR_OK;
}

/* *sorted := the rows of A, which are rows first, first + 1, ... of the whole, by part, and the columns with their new numbers.
 * cuts[size + 1] := where the rows of each part begin. */
static wr_status sort_by_part(const wr_comm *comm, const wr_csr *A, int64_t first, const int32_t *part,
                              const int32_t *number, int64_t *cuts, wr_csr **sorted) {
  int64_t to = 0, rows = 0;
  PASS(wr_csr_create(A->nrows, A->ncols, A->nnz, A->val != NULL, sorted));
  wr_csr *S = *sorted;
  for (int r = 0; r < comm->size; r++) {
    cuts[r] = rows;
    for (int64_t i = 0; i < A->nrows; i++) {
      if (part[first + i] != r) continue;
      for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++, to++) {
        S->col[to] = number[A->col[k]];
        if (A->val) S->val[to] = A->val[k];
      }
      S->row_ptr[++rows] = to;
    }
  }
  cuts[comm->size] = rows;
  return WR_OK;
}

/* *A := the pieces, one behind the other, with the entries of each row by column. */
static wr_status take_pieces(const wr_comm *comm, const int64_t *starts, const pieces *p, wr_csr **A) {
  wr_status status;
  int64_t rows = starts[comm->rank + 1] - starts[comm->rank], all = 0;
  wr_row_scratch scratch = {0};
  for (int r = 0; r < comm->size; r++) all += p->got[r];
  TRY(wr_csr_create(rows, starts[comm->size], all, p->val != NULL, A));
  memcpy((*A)->col, p->col, (size_t)all * sizeof *p->col);
  if (p->val) memcpy((*A)->val, p->val, (size_t)all * sizeof *p->val);
  for (int64_t i = 0; i < rows; i++) {
    int64_t k = (*A)->row_ptr[i];
    (*A)->row_ptr[i + 1] = k + p->lengths[i];
    TRY(wr_row_sort((*A)->col + k, p->val ? (*A)->val + k : NULL, p->lengths[i], &scratch));
  }
done:
  wr_row_scratch_free(&scratch);
  return status;
}

wr_status wr_part_gather_pattern(wr_comm *comm, const int64_t *starts, const wr_csr *A, wr_csr **all) {
  wr_status status;
  pieces p = {0};
  int64_t *cuts = NULL; /* all rows are for part 0: first of those here, then of the whole */
  wr_csr pattern = *A;
  pattern.val = NULL;
  *all = NULL;
  TRY(wr_comm_agree(comm, wr_alloc_zeroed(&cuts, comm->size + 1, sizeof *cuts, "a partition")));
  for (int r = 1; r <= comm->size; r++) cuts[r] = A->nrows;
  TRY(swap_rows(comm, cuts, &pattern, &p));
  for (int r = 1; r <= comm->size; r++) cuts[r] = starts[comm->size];
  TRY(wr_comm_agree(comm, comm->rank == 0 ? take_pieces(comm, cuts, &p, all) : WR_OK));
done:
  free_pieces(&p);
  wr_free(cuts);
  if (status != WR_OK) wr_csr_free(*all), *all = NULL;
  return status;
}

wr_status wr_part_deal(wr_comm *comm, const int32_t *part, int64_t *starts, wr_csr **A, int32_t **numbers) {
  wr_status status;
  pieces p = {0};
  wr_csr *sorted = NULL;
  int32_t *number = NULL;
  int64_t *cuts = NULL, first = starts[comm->rank], n = starts[comm->size];
  *numbers = NULL;
  status = wr_alloc(&number, n, sizeof *number, "the numbers of rows");
  if (status == WR_OK) status = wr_alloc(numbers, n, sizeof **numbers, "the numbers of rows");
  if (status == WR_OK) status = wr_alloc(&cuts, comm->size + 1, sizeof *cuts, "a partition");
  if (status == WR_OK) status = number_by_part(comm, part, n, starts, number, *numbers);
  if (status == WR_OK) status = sort_by_part(comm, *A, first, part, number, cuts, &sorted);
  TRY(wr_comm_agree(comm, status));
  wr_csr_free(*A), *A = NULL;
  wr_free(number), number = NULL;
  TRY(swap_rows(comm, cuts, sorted, &p));
  wr_csr_free(sorted), sorted = NULL;
  TRY(wr_comm_agree(comm, take_pieces(comm, starts, &p, A)));
done:
  free_pieces(&p);
  wr_free(number);
  wr_free(cuts);
  wr_csr_free(sorted);
  if (status != WR_OK) {
    wr_csr_free(*A), *A = NULL;
    wr_free(*numbers), *numbers = NULL;
  }
  return status;
}

/* ---- from entries in any order ---- */

/* Entries for other parts. */
typedef struct outgoing {
  const int64_t *starts;
  int64_t *length; /* [n + 1] entries of row i at length[i + 1], where rows are counted; else NULL */
  int64_t *counts; /* [size] entries for each part                                                 */
  int64_t *at;     /* [size] where the next entry for it lies                                      */
  int size, transposed;
  int32_t *row, *col; /* by part, rows counted from its first one */
  double *val;        /* or NULL: a pattern                       */
} outgoing;

static int part_of(const outgoing *o, int64_t row) {
  int low = 0, high = o->size - 1; /* the last part that begins at or before the row */
  while (low < high) {
    int middle = low + (high - low + 1) / 2;
    if (o->starts[middle] <= row)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

static void count_row(outgoing *o, int32_t row, int32_t col, double value) {
  (void)col, (void)value;
  o->length[row + 1]++;
}

static void count_part(outgoing *o, int32_t row, int32_t col, double value) {
  (void)col, (void)value;
  o->counts[part_of(o, row)]++;
}

static void place_entry(outgoing *o, int32_t row, int32_t col, double value) {
  int r = part_of(o, row);
  int64_t k = o->at[r]++;
  o->row[k] = (int32_t)(row - o->starts[r]), o->col[k] = col;
  if (o->val) o->val[k] = value;
}

/* Calls `take` for all entries in their order, and for the mirror images of symmetric kinds. */
static void for_entries(const wr_triplets *t, outgoing *o,
                        void (*take)(outgoing *o, int32_t row, int32_t col, double value)) {
  double sign = t->symmetry == WR_SKEW_SYMMETRIC ? -1 : 1;
  for (int64_t c = 0; c < t->nchunks; c++)
    for (int64_t k = 0; k < t->chunks[c].count; k++) {
      int32_t i = t->chunks[c].row[k], j = t->chunks[c].col[k];
      double value = t->chunks[c].val ? t->chunks[c].val[k] : 1, mirrored = sign * value;
      int swaps = o->transposed;
      take(o, swaps ? j : i, swaps ? i : j, value);
      if (t->symmetry != WR_GENERAL && i != j) take(o, swaps ? i : j, swaps ? j : i, mirrored);
    }
}

static wr_status cut_rows(wr_comm *comm, const wr_triplets *t, outgoing *o, int64_t *starts) {
  wr_status status;
  TRY(wr_comm_agree(comm, wr_alloc_zeroed(&o->length, t->nrows + 1, sizeof *o->length, "the lengths of rows")));
  for_entries(t, o, count_row);
  for (int64_t i = 0; i < t->nrows; i++) o->length[i + 1] += o->length[i];
  TRY(wr_part_cut(comm, t->nrows, o->length, starts));
done:
  wr_free(o->length);
  return status;
}

/* Sorts the entries by part. */
static wr_status sort_entries(wr_triplets *t, int has_values, outgoing *o) {
  int64_t all = 0;
  PASS(wr_alloc_zeroed(&o->counts, 2 * o->size, sizeof *o->counts, "entries for other parts"));
  o->at = o->counts + o->size;
  for_entries(t, o, count_part);
  for (int r = 0; r < o->size; all += o->counts[r], r++) o->at[r] = all;
  PASS(wr_alloc(&o->row, all, sizeof *o->row, "entries for other parts"));
  PASS(wr_alloc(&o->col, all, sizeof *o->col, "entries for other parts"));
  if (has_values) PASS(wr_alloc(&o->val, all, sizeof *o->val, "entries for other parts"));
  for_entries(t, o, place_entry);
  wr_triplets_free(t);
  return WR_OK;
}

/* *chunk := the entries for this part, by rank. */
static wr_status swap_entries(wr_comm *comm, const outgoing *o, wr_triplet_chunk *chunk) {
  wr_status status;
  int64_t *got = NULL;
  TRY(wr_comm_agree(comm, wr_alloc(&got, comm->size, sizeof *got, "entries of other parts")));
  TRY(wr_comm_swap(comm, "rows of entries", o->row, o->counts, sizeof *o->row, &chunk->row, got));
  TRY(wr_comm_swap(comm, "columns of entries", o->col, o->counts, sizeof *o->col, &chunk->col, got));
  if (o->val) TRY(wr_comm_swap(comm, "values of entries", o->val, o->counts, sizeof *o->val, &chunk->val, got));
  for (int r = 0; r < comm->size; r++) chunk->count += got[r];
  chunk->capacity = chunk->count;
done:
  wr_free(got);
  return status;
}

/* A pattern with repeated entries has become counts in some parts. */
static wr_status agree_on_values(wr_comm *comm, wr_csr *A) {
  int64_t has_values = A->val != NULL;
  wr_status status = WR_OK;
  PASS(wr_comm_max_counts(comm, &has_values, 1));
  if (has_values && A->val == NULL) {
    status = wr_alloc(&A->val, A->nnz, sizeof *A->val, "counts of entries");
    for (int64_t k = 0; k < A->nnz && status == WR_OK; k++) A->val[k] = 1;
  }
  return wr_comm_agree(comm, status);
}

static wr_status assemble_rows(const int64_t *starts, int rank, wr_triplets *mine, wr_duplicates duplicates, wr_csr **A,
                               int64_t *repeated) {
  wr_status status = wr_csr_assemble(mine, duplicates, A, repeated);
  if (status != WR_EINPUT) return status;
  return wr_fail(status, "of the rows from %lld on: %s", (long long)starts[rank] + 1, wr_status_message());
}

wr_status wr_part_assemble(wr_comm *comm, wr_triplets *triplets, const wr_part_assembly *how, int64_t *starts,
                           wr_csr **A, int64_t *repeated) {
  wr_status status;
  outgoing o = {.starts = starts, .size = comm->size, .transposed = how->transposed};
  wr_triplets mine = {.ncols = triplets->nrows};
  int64_t has_values = 0;
  *A = NULL;
  for (int64_t c = 0; c < triplets->nchunks; c++) has_values |= triplets->chunks[c].val != NULL;
  TRY(wr_comm_max_counts(comm, &has_values, 1));
  TRY(cut_rows(comm, triplets, &o, starts));
  status = wr_alloc_zeroed(&mine.chunks, 1, sizeof *mine.chunks, "entries of other parts");
  mine.nchunks = status == WR_OK;
  if (status == WR_OK) status = sort_entries(triplets, has_values != 0, &o);
  TRY(wr_comm_agree(comm, status));
  TRY(swap_entries(comm, &o, &mine.chunks[0]));
  mine.nrows = starts[comm->rank + 1] - starts[comm->rank];
  TRY(wr_comm_agree(comm, assemble_rows(starts, comm->rank, &mine, how->duplicates, A, repeated)));
  TRY(wr_comm_sum_counts(comm, repeated, 1));
  TRY(agree_on_values(comm, *A));
done:
  wr_triplets_free(triplets);
  wr_triplets_free(&mine);
  wr_free(o.counts);
  wr_free(o.row);
  wr_free(o.col);
  wr_free(o.val);
  if (status != WR_OK) wr_csr_free(*A), *A = NULL;
  return status;
}
