/* Incomplete factorisations L U ~ A(order, order) on the host (Saad, Iterative Methods for Sparse Linear Systems, 2nd edition,
 * sections 10.3 and 10.4). One thread computes them, so the bits do not depend on the number of threads. */
#ifndef WR_ILU_H
#define WR_ILU_H

#include "spmv/device/env.h"
#include "spmv/matrix/csr.h"
#include "spmv/precond/lu.h"

WR_C_BEGIN

/* A pivot u_ii with |u_ii| < least * max |a_ij| over row i of A, a NaN, and a 0 count as small: the pivot becomes
 * WR_SHIFTED_PIVOT (or `least`, if that is larger) * max |a_ij| with the sign of u_ii, which shifts the diagonal of A by an
 * element of its row's size; a shift to the bound would leave factors with elements of 1 / least. In a row without elements
 * other than 0 the pivot becomes 1. */
typedef struct wr_ilu_shifts {
  int64_t count;
  int64_t first_row; /* of A, the first that the factorisation meets; -1: none */
} wr_ilu_shifts;

/* *B := A(order, order), so row i of B is row order[i] of A and its columns are renumbered likewise; order NULL: a copy.
 * WR_ENOMEM */
wr_status wr_csr_reorder(const wr_csr *A, const int32_t *order, wr_csr **B);

/* *lower, *upper := how many levels (wr_levels) the parts of A(order, order) below and above its diagonal have, which are those
 * of the factors of ILU(0). order NULL: A itself. WR_ENOMEM */
wr_status wr_ilu0_levels(const wr_csr *A, const int32_t *order, int64_t *lower, int64_t *upper);

/* The other members of lu := ILU(0), the factors with the pattern of B = A(order, order) and its diagonal, lu->order being set,
 * or NULL; the IKJ variant, algorithm 10.4. lu owns what was allocated also after a failure. watch may be NULL. WR_ENOMEM;
 * WR_ENUMERIC: an element overflows f64; WR_EUNAVAILABLE: ended by the watch; WR_EUSAGE: B is not square, least not in (0, 1).
 */
wr_status wr_ilu0(const wr_csr *B, double least, const wr_watch *watch, wr_lu *lu, wr_ilu_shifts *shifts);

/* Where the factors are made if env has a device, with the same bits. AUTO: where the shorter time is expected. */
typedef enum wr_ilu_at { WR_ILU_AT_AUTO, WR_ILU_AT_HOST, WR_ILU_AT_DEVICE } wr_ilu_at;

/* As wr_ilu0, asking env->watch. */
wr_status wr_ilu0_at(const wr_csr *B, double least, wr_ilu_at at, wr_env *env, wr_lu *lu, wr_ilu_shifts *shifts);

/* Likewise ILUT, algorithm 10.6: in row i, elements of at most drop times the 2-norm of row i of B are left out, and of the
 * others the largest are kept on each side of the diagonal, `fill` more than row i of B has there. Before it begins it compares
 * the most memory that the factors may take with what is available. WR_ENOMEM names what takes less. WR_EUSAGE: also for a
 * negative fill, and a drop that is negative or not finite. */
wr_status wr_ilut(const wr_csr *B, double drop, int64_t fill, double least, const wr_watch *watch, wr_lu *lu,
                  wr_ilu_shifts *shifts);

/* ---- What both factorisations share ---- */

enum { WR_ILU_STRIDE = 1 << 16 }; /* entries of rows used between two questions to the watch, less than a millisecond */

/* The largest |value| of row i. */
double wr_ilu_row_size(const wr_csr *B, int64_t i);

/* lu->inverse[i] := 1 / *pivot, which is shifted if it is small. WR_ENUMERIC: the inverse overflows. */
wr_status wr_ilu_set_pivot(const wr_csr *B, double least, int64_t i, double *pivot, wr_lu *lu, wr_ilu_shifts *shifts);

/* The row of A that is row i of the factors. */
static inline int64_t wr_lu_row(const wr_lu *lu, int64_t i) { return lu->order ? lu->order[i] : i; }

/* WR_ENUMERIC for an element of row i that is not finite. */
wr_status wr_ilu_refuse_row(const wr_csr *B, const wr_lu *lu, int64_t i);

WR_C_END
#endif
