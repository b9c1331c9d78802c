#include "spmv/backends/cusparse/cusparse_build.h"
#include "spmv/device/cuda_state.h"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/search.cuh"
#include "spmv/kernel/warp.cuh"

constexpr int THREADS = 256, WARPS = THREADS / WR_WARP;

static unsigned blocks_for(int64_t count, int in_block) { return (unsigned)((count + in_block - 1) / in_block); }

/* One warp for each slice: the lanes read consecutive row pointers. */
__global__ void __launch_bounds__(THREADS) sell_sizes(const wr_sell sell, const int32_t *row_ptr, int64_t *size) {
  int64_t s = (int64_t)blockIdx.x * WARPS + threadIdx.x / WR_WARP;
  if (s >= sell.nslices) return; /* all lanes of a warp return together */
  int64_t begin = s * sell.slice, end = begin + sell.slice < sell.nrows ? begin + sell.slice : sell.nrows;
  int32_t longest = 0;
  for (int64_t i = begin + threadIdx.x % WR_WARP; i < end; i += WR_WARP) {
    int32_t length = row_ptr[i + 1] - row_ptr[i];
    if (length > longest) longest = length;
  }
  for (int distance = WR_WARP / 2; distance > 0; distance /= 2) {
    int32_t other = __shfl_xor_sync((unsigned)WR_FULL_MASK, longest, distance);
    if (other > longest) longest = other;
  }
  if (threadIdx.x % WR_WARP == 0) size[s] = (int64_t)longest * sell.slice;
}

extern "C" wr_status wr_sell_sizes(wr_env *env, const wr_sell *sell, const wr_csr_view *A, int64_t *size) {
  PASS(wr_cuda_enter(env));
  return WR_LAUNCH((sell_sizes), blocks_for(sell->nslices, WARPS), THREADS, 0, env->stream, *sell,
                   (const int32_t *)A->row_ptr, size);
}

/* One thread for each place, so that writes are coalesced. val NULL: a pattern, every entry 1. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    sell_fill(const wr_sell sell, const int32_t *row_ptr, const int32_t *col, const T *val) {
  int64_t place = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (place >= sell.size) return;
  int64_t s = wr_find_row(sell.offset, sell.nslices, place);
  int32_t in_slice = (int32_t)place - sell.offset[s];
  int64_t i = s * sell.slice + in_slice % sell.slice;
  int64_t k = i < sell.nrows ? (int64_t)row_ptr[i] + in_slice / sell.slice : 0;
  bool is_entry = i < sell.nrows && k < row_ptr[i + 1];
  sell.col[place] = is_entry ? col[k] : -1;
  ((T *)sell.val)[place] = !is_entry ? (T)0 : val ? val[k] : (T)1;
}

template <typename T>
static wr_status fill(wr_env *env, const wr_sell *sell, const wr_csr_view *A) {
  return WR_LAUNCH((sell_fill<T>), blocks_for(sell->size, THREADS), THREADS, 0, env->stream, *sell,
                   (const int32_t *)A->row_ptr, A->col, (const T *)A->val);
}

extern "C" wr_status wr_sell_fill(wr_env *env, const wr_sell *sell, const wr_csr_view *A) {
  PASS(wr_cuda_enter(env));
  return env->type == WR_F32 ? fill<float>(env, sell, A) : fill<double>(env, sell, A);
}

/* One thread for each value: those above the diagonal swap with those below. */
template <typename T>
__global__ void __launch_bounds__(THREADS) blocks_transpose(int64_t values, int side, T *val) {
  int64_t place = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (place >= values) return;
  int i = (int)(place / side % side), j = (int)(place % side);
  if (j <= i) return;
  int64_t other = place + (int64_t)(j - i) * (side - 1);
  T value = val[place];
  val[place] = val[other];
  val[other] = value;
}

extern "C" wr_status wr_blocks_transpose(wr_env *env, int64_t blocks, int side, void *val) {
  int64_t values = blocks * side * side;
  wr_status status = wr_cuda_enter(env);
  if (status != WR_OK || values == 0) return status;
  if (env->type == WR_F32)
    return WR_LAUNCH((blocks_transpose<float>), blocks_for(values, THREADS), THREADS, 0, env->stream, values, side,
                     (float *)val);
  return WR_LAUNCH((blocks_transpose<double>), blocks_for(values, THREADS), THREADS, 0, env->stream, values, side,
                   (double *)val);
}
