#include "spmv/parts/part_rows.h"

#include <string.h>

#include "config/memory.h"
#include "spmv/parts/partition.h"

/* lengths[rows of this part's slice] := the entries of these rows in all parts. */
static wr_status add_lengths(wr_comm *comm, int64_t n, const int64_t *row_ptr, int64_t *lengths) {
  wr_status status;
  int size = comm->size;
  int64_t rows = wr_partition_slice(n, comm->rank + 1, size) - wr_partition_slice(n, comm->rank, size);
  int64_t *mine = NULL, *counts = NULL, *received = NULL;
  status = wr_alloc(&mine, n, sizeof *mine, "the lengths of rows");
  if (status == WR_OK) status = wr_alloc(&counts, 2 * size, sizeof *counts, "the lengths of rows");
  TRY(wr_comm_agree(comm, status));
  for (int64_t i = 0; i < n; i++) mine[i] = row_ptr[i + 1] - row_ptr[i];
  for (int r = 0; r < size; r++) counts[r] = wr_partition_slice(n, r + 1, size) - wr_partition_slice(n, r, size);
  TRY(wr_comm_swap(comm, "the lengths of rows", mine, counts, sizeof *mine, &received, counts + size));
  for (int64_t i = 0; i < rows; i++) lengths[i] = 0;
  for (int r = 0; r < size; r++)
    for (int64_t i = 0; i < rows; i++) lengths[i] += received[r * rows + i];
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

/* *A := the pieces of each row, one behind the other by rank. The columns of part r's pieces begin at columns[r]. */
static wr_status join_pieces(const wr_comm *comm, const int64_t *starts, const int64_t *columns, const pieces *p,
                             wr_csr **A) {
  wr_status status;
  int64_t rows = starts[comm->rank + 1] - starts[comm->rank], all = 0, to = 0, *at = NULL;
  TRY(wr_alloc(&at, comm->size, sizeof *at, "entries of other parts"));
  for (int r = 0; r < comm->size; all += p->got[r], r++) at[r] = all;
  TRY(wr_csr_create(rows, starts[comm->size], all, p->val != NULL, A));
  for (int64_t i = 0; i < rows; i++) {
    for (int r = 0; r < comm->size; r++) {
      int32_t length = p->lengths[r * rows + i];
      for (int32_t k = 0; k < length; k++) (*A)->col[to + k] = (int32_t)(columns[r] + p->col[at[r] + k]);
      if (p->val) memcpy((*A)->val + to, p->val + at[r], (size_t)length * sizeof *p->val);
      at[r] += length, to += length;
    }
    (*A)->row_ptr[i + 1] = to;
  }
done:
  wr_free(at);
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
