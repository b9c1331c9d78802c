/* Block rows as kernels read them, whatever their width. */
#ifndef WR_BSR_ROWS_CUH
#define WR_BSR_ROWS_CUH

#include "spmv/bsr/bsr_format.h"
#include "spmv/kernel/launch.cuh"

/* Blocks before block row i. */
static __device__ inline int64_t wr_bsr_row_at(const void *row_ptr, int wide, int64_t i) {
  return wide ? ((const int64_t *)row_ptr)[i] : ((const int32_t *)row_ptr)[i];
}

static __device__ inline bool wr_is_padding(double value) { return wr_is_padding_f64(value); }
static __device__ inline bool wr_is_padding(float value) { return wr_is_padding_f32(value); }

#endif
