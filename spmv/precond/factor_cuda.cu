#include "spmv/precond/factor_cuda.h"

#include <math.h>

#include "config/defaults.h"

#include "spmv/device/check.cuh"
#include "spmv/device/device_memory.h"
#include "spmv/kernel/search.cuh"
#include "spmv/kernel/warp.cuh"
#include "spmv/steps/step_math.h"

constexpr int THREADS = 256, WARPS = THREADS / WR_WARP;
constexpr int64_t STRIDE = 256; /* levels, of about 10 us each, between two questions to the watch */

/* Words on the device. */
typedef struct shift_counts {
  unsigned long long shifted, first;
} shift_counts;

typedef struct factor_args {
  const int64_t *l_ptr, *u_ptr;
  const int32_t *l_col, *u_col;
  double *l_val, *u_val;
  double *inverse;          /* [n] the diagonal, and after its row is done 1 / pivot */
  const int32_t *row;       /* [n] by levels                                          */
  const int64_t *level_ptr;
  double least;
  shift_counts *counts;
} factor_args;

/* The largest |value| of the row, in every lane. */
static __device__ inline double largest_of_row(const factor_args &a, int32_t i) {
  double size = fabs(a.inverse[i]);
  for (int64_t k = a.l_ptr[i] + threadIdx.x % WR_WARP; k < a.l_ptr[i + 1]; k += WR_WARP)
    size = fmax(size, fabs(a.l_val[k]));
  for (int64_t k = a.u_ptr[i] + threadIdx.x % WR_WARP; k < a.u_ptr[i + 1]; k += WR_WARP)
    size = fmax(size, fabs(a.u_val[k]));
  __syncwarp();
  for (int distance = WR_WARP / 2; distance > 0; distance /= 2)
    size = fmax(size, __shfl_xor_sync((unsigned)WR_FULL_MASK, size, distance));
  return size;
}

/* Where row i has column j; NULL: it has none. */
static __device__ inline double *find_in_row(const factor_args &a, int32_t i, int32_t j) {
  if (j == i) return a.inverse + i;
  const int64_t *ptr = j < i ? a.l_ptr : a.u_ptr;
  const int32_t *col = j < i ? a.l_col : a.u_col;
  int64_t end = ptr[i + 1], k = wr_find_column(col, ptr[i], end, (uint32_t)j);
  return k < end && col[k] == j ? (j < i ? a.l_val : a.u_val) + k : NULL;
}

/* By one lane. */
static __device__ inline void set_pivot(const factor_args &a, int32_t i, double size) {
  double pivot = a.inverse[i], bound = size > 0 ? wr_product(a.least, size) : 1;
  if (!(fabs(pivot) >= bound)) {
    double shifted = size > 0 ? wr_product(fmax(a.least, WR_SHIFTED_PIVOT), size) : 1;
    pivot = pivot != pivot ? shifted : copysign(shifted, pivot);
    atomicAdd(&a.counts->shifted, 1ull);
    atomicMin(&a.counts->first, (unsigned long long)i);
  }
  a.inverse[i] = 1 / pivot;
}

/* Row i, by one warp: less multiples of the rows of U above it, one after another, at the places that row i has (Saad 2003,
 * algorithm 10.4). Each lane changes other places, so every element gets its updates in the order of the host. */
static __device__ inline void eliminate(const factor_args &a, int32_t i) {
  int lane = threadIdx.x % WR_WARP;
  double size = largest_of_row(a, i);
  for (int64_t k = a.l_ptr[i]; k < a.l_ptr[i + 1]; k++) {
    int32_t above = a.l_col[k];
    int64_t end = a.u_ptr[above + 1];
    double factor = wr_product(a.l_val[k], a.inverse[above]);
    __syncwarp(); /* all lanes have read l_val[k] */
    if (lane == 0) a.l_val[k] = factor;
    for (int64_t e = a.u_ptr[above] + lane; e < end; e += WR_WARP) {
      double *at = find_in_row(a, i, a.u_col[e]);
      if (at) *at = *at - wr_product(factor, a.u_val[e]);
    }
    __syncwarp();
  }
  if (lane == 0) set_pivot(a, i, size);
}

/* Levels [begin, end): one level by all blocks, or several by one block. */
__global__ void __launch_bounds__(THREADS) factor_levels(const factor_args a, int64_t begin, int64_t end) {
  int64_t warp = (int64_t)blockIdx.x * WARPS + threadIdx.x / WR_WARP, warps = (int64_t)gridDim.x * WARPS;
  for (int64_t level = begin; level < end; level++) {
    for (int64_t k = a.level_ptr[level] + warp; k < a.level_ptr[level + 1]; k += warps) eliminate(a, a.row[k]);
    if (level + 1 < end) __syncthreads();
  }
}

/* The level behind those that the next launch takes: several if each has few rows, up to STRIDE. */
static int64_t next_launch(const wr_levels *levels, int64_t begin) {
  int64_t end = begin;
  while (end < levels->count && end - begin < STRIDE && levels->ptr[end + 1] - levels->ptr[end] <= WARPS) end++;
  return end > begin ? end : begin + 1;
}

static wr_status launch_all(wr_env *env, const wr_levels *levels, const factor_args &a) {
  for (int64_t begin = 0, end, asked = 0; begin < levels->count; begin = end) {
    if (begin >= asked + STRIDE) {
      PASS(env->ops->wait(env));
      PASS(wr_watch_check_at(env->watch, "the incomplete factorisation", (double)begin / (double)levels->count));
      asked = begin;
    }
    end = next_launch(levels, begin);
    int64_t rows = end - begin == 1 ? levels->ptr[end] - levels->ptr[begin] : 1;
    unsigned blocks = wr_cuda_grid(env, (rows + WARPS - 1) / WARPS, 64);
    PASS(WR_LAUNCH((factor_levels), blocks, THREADS, 0, env->stream, a, begin, end));
  }
  return WR_OK;
}

template <typename T>
static wr_status put(wr_env *env, const T **block, const T *from, int64_t count) {
  T *to = NULL;
  PASS(wr_device_alloc(env, &to, count, sizeof(T), "an incomplete factorisation"));
  *block = to;
  return wr_device_upload(env, to, from, count, sizeof(T) == 8 ? WR_AS_8_BYTES : WR_AS_4_BYTES);
}

static wr_status put_values(wr_env *env, double **block, const double *from, int64_t count) {
  const double *values = NULL;
  wr_status status = put(env, &values, from, count);
  *block = (double *)values;
  return status;
}

extern "C" wr_status wr_ilu0_cuda(wr_lu *lu, double least, wr_env *env, int64_t *shifted, int64_t *first) {
  wr_status status;
  wr_levels levels = {};
  factor_args a = {};
  const uint64_t none[2] = {0, (uint64_t)INT64_MAX}; /* a shift_counts */
  const uint64_t *on_device = NULL;
  uint64_t counts[2] = {0, 0};
  int64_t n = lu->n, below = lu->l_ptr[n], above = lu->u_ptr[n];
  *shifted = 0, *first = -1;
  TRY(wr_cuda_enter(env));
  TRY(wr_lu_levels(lu, &levels, NULL));
  TRY(put(env, &a.l_ptr, (const int64_t *)lu->l_ptr, n + 1));
  TRY(put(env, &a.u_ptr, (const int64_t *)lu->u_ptr, n + 1));
  TRY(put(env, &a.l_col, (const int32_t *)lu->l_col, below));
  TRY(put(env, &a.u_col, (const int32_t *)lu->u_col, above));
  TRY(put_values(env, &a.l_val, lu->l_val, below));
  TRY(put_values(env, &a.u_val, lu->u_val, above));
  TRY(put_values(env, &a.inverse, lu->inverse, n));
  TRY(put(env, &a.row, (const int32_t *)levels.row, n));
  TRY(put(env, &a.level_ptr, (const int64_t *)levels.ptr, levels.count + 1));
  TRY(put(env, &on_device, none, 2));
  a.least = least, a.counts = (shift_counts *)on_device;
  TRY(launch_all(env, &levels, a));
  TRY(wr_device_download(env, lu->l_val, a.l_val, below, WR_AS_8_BYTES));
  TRY(wr_device_download(env, lu->u_val, a.u_val, above, WR_AS_8_BYTES));
  TRY(wr_device_download(env, lu->inverse, a.inverse, n, WR_AS_8_BYTES));
  TRY(wr_device_download(env, counts, on_device, 2, WR_AS_8_BYTES));
  *shifted = (int64_t)counts[0], *first = counts[0] ? (int64_t)counts[1] : -1;
done:
  const void *const blocks[] = {a.l_ptr, a.u_ptr,   a.l_col, a.u_col,     a.l_val,
                                a.u_val, a.inverse, a.row,   a.level_ptr, on_device};
  for (const void *block : blocks) wr_device_free(env, const_cast<void *>(block));
  wr_levels_free(&levels);
  return status;
}
