/* The rows of one part of a matrix, and the elements of x that they take from other parts: the halo.
 *
 * x is owned by rows: part r has the elements [starts[r], starts[r + 1]) of it. In the rows of a part the columns are numbered
 * anew, so that 32 bits are enough however many rows there are in all: first the part's own elements of x in their order, then
 * the halo, ascending by their numbers in the whole.
 *
 *   rows 2..3 of 6x6 on the second of three parts:    own x: 2 3     halo: 0 1 5
 *     row 2   . . . . . .                             row 0
 *     row 3   e . f g . h                             row 1   f g e h   at columns 0 1 2 4
 *
 * Which elements travel is found once. Where parts need most of x, each sends all of its own, and the halo is all the rest.
 *
 * A part has consecutive rows of the whole. If the rows of a file were given to parts by another rule (wr_part_deal), the whole
 * is the matrix as it is numbered then; wr_csr_row_number and wr_csr_column_number give the numbers of the file. */
#ifndef WR_HALO_H
#define WR_HALO_H

#include <stddef.h>

#include "spmv/matrix/csr.h"
#include "spmv/parts/comm.h"

WR_C_BEGIN

typedef struct wr_halo {
  wr_comm *comm;
  int64_t n_all, nnz_all; /* rows and entries of all parts                                                       */
  int64_t first, own;     /* the part's rows: so many from this one on                                            */
  int64_t *starts;        /* [size + 1] the first row of each part, and the end; starts[0] need not be 0          */
  int64_t count;          /* elements of the halo                                                                 */
  int64_t *global;        /* [count] their numbers in the whole, ascending                                        */
  int64_t *from;          /* [size + 1] those of part r are elements [from[r], from[r + 1]) of the halo           */
  int64_t *to;            /* [size + 1] what part r gets is send[to[r]..to[r + 1])                                */
  int32_t *send;          /* [to[size]] own rows, ascending for each part; NULL where everything travels          */
  int whole;              /* 1: each part sends all of its elements to all others                                 */
  wr_parcel *parcels;     /* [2 * size]                                                                           */
  char *packed;           /* [room * to[size]]; NULL where everything travels                                     */
  int64_t room;           /* bytes of an element of packed                                                        */
  int32_t *file_number;   /* [own + count] of each column in the file; NULL: the whole is numbered as the file is */
  int holders;
} wr_halo;

/* Renumbers rows[starts[rank + 1] - starts[rank]] in place: *A has columns of the whole matrix, in `columns` ([nnz], ascending
 * in each row) or, if that is NULL, in A->col, and gets columns of the part and its halo. A->ncols is ignored before.
 * Collective. WR_EUSAGE: the part and its halo have more than WR_MAX_INDEX columns; WR_EINPUT: a column of no part; WR_ENOMEM.
 * After an error A is to be freed, and is of no other use. */
wr_status wr_halo_make(wr_comm *comm, const int64_t *starts, const int64_t *columns, wr_csr *A);

/* numbers[rows of all parts]: those that the rows of the whole have in the file. WR_ENOMEM */
wr_status wr_halo_keep_numbers(wr_halo *halo, const int32_t *numbers);

wr_halo *wr_halo_hold(wr_halo *halo); /* one more owner; NULL of NULL */
void wr_halo_free(wr_halo *halo);     /* NULL is fine                 */

/* The communicator of the parts of which A is one; NULL: A is whole. */
static inline wr_comm *wr_csr_comm(const wr_csr *A) { return A && A->halo ? A->halo->comm : NULL; }

/* Rows and entries of all parts; the number in the file of row i, and of column j. Those of rows ascend. */
static inline int64_t wr_csr_all_rows(const wr_csr *A) { return A->halo ? A->halo->n_all : A->nrows; }
static inline int64_t wr_csr_all_entries(const wr_csr *A) { return A->halo ? A->halo->nnz_all : A->nnz; }
static inline int64_t wr_csr_column_number(const wr_csr *A, int64_t j) {
  if (A->halo == NULL) return j;
  if (A->halo->file_number) return A->halo->file_number[j];
  return j < A->halo->own ? A->halo->first + j : A->halo->global[j - A->halo->own];
}
static inline int64_t wr_csr_row_number(const wr_csr *A, int64_t i) { return A ? wr_csr_column_number(A, i) : i; }

/* *most, not a NaN, := the largest of all parts; *row, a row of A, := the number in the file of the first that has it. A may be
 * whole, or without rows. Collective. */
wr_status wr_csr_join_most(const wr_csr *A, double *most, int64_t *row);

/* (*v)[columns][rows of all parts], in the order of the file, for wr_free := [columns][A->nrows], the elements of A's rows. If
 * A is whole, or *v NULL, nothing changes. Collective. WR_ENOMEM */
wr_status wr_halo_take_own(const wr_csr *A, int64_t columns, double **v);

/* all[rows of all parts] := what the parts have in v[A->nrows], in the order of the file, in part 0; elsewhere all is not used.
 * Collective. WR_ENOMEM */
wr_status wr_halo_collect(const wr_csr *A, const double *v, double *all);

/* *block := a copy of the part's rows without the halo's columns: a square matrix that is whole. Not collective. WR_ENOMEM */
wr_status wr_halo_block(const wr_csr *A, wr_csr **block);

/* Makes room for exchanges of elements of up to so many bytes, 8 being there from the beginning. Not collective. WR_ENOMEM */
wr_status wr_halo_make_room(wr_halo *halo, int64_t bytes);

/* into[count] gets the halo of x[own], both with elements of `size` bytes, for which there is room: a number, or a row of
 * several vectors side by side. begin returns while elements travel: until end x and into stay as they are. Collective. */
wr_status wr_halo_begin(wr_halo *halo, const void *x, int64_t size, void *into);
wr_status wr_halo_end(wr_halo *halo);

/* *extended := x[A->nrows] with its halo behind it, [A->ncols], for wr_free; if A is whole, a copy. Collective. WR_ENOMEM */
wr_status wr_halo_extend(const wr_csr *A, const double *x, double **extended);

/* v[A->ncols] has a number for each column of the part: it becomes the sum of what all parts have for the same column of the
 * whole, added by rank. So sums over the columns of a part become sums over columns of the whole. Collective. WR_ENOMEM */
wr_status wr_halo_sum(const wr_csr *A, double *v);
wr_status wr_halo_max(const wr_csr *A, double *v); /* the same with the largest number in place of the sum; no NaNs */

/* Whether A, or all of the matrix of which it is a part, may be positive definite, or is symmetric, as
 * wr_is_symmetric_positive and wr_is_symmetric say it of one that is whole. Collective. WR_ENOMEM */
wr_status wr_halo_is_symmetric_positive(const wr_csr *A, int *is);
wr_status wr_halo_is_symmetric(const wr_csr *A, int *is);

WR_C_END
#endif
