/* What both factorisations share. */
#ifndef WR_ILU_COMMON_H
#define WR_ILU_COMMON_H

#include "spmv/device/env.h"
#include "spmv/precond/ilu.h"

WR_C_BEGIN

enum { WR_ILU_STRIDE = 1 << 16 }; /* entries of rows used between two questions to the watch, less than a millisecond */

/* The largest |value| of row i. */
double wr_ilu_row_size(const wr_csr *B, int64_t i);

/* lu->inverse[i] := 1 / *pivot, which is shifted if it is small. WR_ENUMERIC: the inverse overflows. */
wr_status wr_ilu_set_pivot(const wr_csr *B, double least, int64_t i, double *pivot, wr_lu *lu, wr_ilu_shifts *shifts);

/* The row of A that is row i of the factors. */
static inline int64_t wr_lu_row(const wr_lu *lu, int64_t i) { return lu->order ? lu->order[i] : i; }

/* Where the factors are made if env has a device, with the same bits. AUTO: where the shorter time is expected. */
typedef enum wr_ilu_at { WR_ILU_AT_AUTO, WR_ILU_AT_HOST, WR_ILU_AT_DEVICE } wr_ilu_at;

/* As wr_ilu0, asking env->watch. */
wr_status wr_ilu0_at(const wr_csr *B, double least, wr_ilu_at at, wr_env *env, wr_lu *lu, wr_ilu_shifts *shifts);

/* WR_ENUMERIC for an element of row i that is not finite. */
wr_status wr_ilu_refuse_row(const wr_lu *lu, int64_t i);

WR_C_END
#endif
