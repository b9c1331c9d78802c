/* Rows of a matrix whose entries lie in other parts: each part sends every entry once, to the part that owns its row. Rows and
 * columns have their numbers in the whole, which has at most WR_MAX_INDEX of each. All functions are collective, and after an
 * error all parts have the same one. */
#ifndef WR_PART_ROWS_H
#define WR_PART_ROWS_H

#include "spmv/matrix/csr.h"
#include "spmv/parts/comm.h"

WR_C_BEGIN

/* Of n rows this part has row_ptr[i + 1] - row_ptr[i] entries of row i, row_ptr[n + 1]. starts[size + 1] := cuts of equal work,
 * as wr_partition_cut makes them, by the entries of all parts. WR_EUSAGE: fewer rows than parts; WR_ENOMEM. */
wr_status wr_part_cut(wr_comm *comm, int64_t n, const int64_t *row_ptr, int64_t *starts);

/* *A is rows [starts[rank], starts[rank + 1]) of a square matrix, with columns of the whole. It is freed and replaced by this
 * part's rows of the transposed matrix, and starts[size + 1] by the cuts of these, of equal work. WR_EUSAGE: fewer rows than
 * parts; WR_ENOMEM. After an error *A is NULL. */
wr_status wr_part_transpose(wr_comm *comm, int64_t *starts, wr_csr **A);

/* A is rows [starts[rank], starts[rank + 1]) of a square matrix, with columns of the whole. *all := the pattern of the whole,
 * in part 0; elsewhere NULL. WR_ENOMEM */
wr_status wr_part_gather_pattern(wr_comm *comm, const int64_t *starts, const wr_csr *A, wr_csr **all);

/* Gives row i to part part[i] (from 0), for parts that are not stretches of the matrix. *A is rows [starts[rank],
 * starts[rank + 1]) of a square matrix, with columns of the whole. It is freed and replaced by this part's rows, and the rows
 * and columns of the whole are numbered anew: first those of part 0, in their order, then those of part 1, and so on;
 * starts[size + 1] becomes the cuts. *numbers (for wr_free, [rows of the whole]) := the number that each row had before. part
 * is the same in all parts. WR_EINPUT: part has a number of no part, or a part has no row; WR_ENOMEM. After an error *A is
 * NULL. */
wr_status wr_part_deal(wr_comm *comm, const int32_t *part, int64_t *starts, wr_csr **A, int32_t **numbers);

/* How entries become rows. */
typedef struct wr_part_assembly {
  int transposed; /* 1: rows of the transposed matrix */
  wr_duplicates duplicates;
} wr_part_assembly;

/* *A := this part's rows of the square matrix of which each part has some entries: triplets->nrows is that of the whole, and
 * entries of a part with a lower rank come before those of a higher one. starts[size + 1] := the cuts, of equal work. Bit for
 * bit what wr_csr_assemble makes of all entries together; *repeated := the entries merged away, of all parts. Frees the
 * chunks. WR_EUSAGE: fewer rows than parts; WR_EINPUT, WR_ENOMEM. After an error *A is NULL. */
wr_status wr_part_assemble(wr_comm *comm, wr_triplets *triplets, const wr_part_assembly *how, int64_t *starts,
                           wr_csr **A, int64_t *repeated);

WR_C_END
#endif
