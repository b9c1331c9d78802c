#include "spmv/kernel/many.cuh"
#include "spmv/kernel/csr_launch.cuh"
#include "spmv/backends/csr_rows/csr_warp_kernel.h"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/warp.cuh"

/* 5 blocks a multiprocessor leave 48 registers to a thread: 4 sums, two entries in flight, and what is stored. */
constexpr int THREADS = 256, WARPS = THREADS / WR_WARP, BLOCKS = 5;

/* Y = alpha*A*X + beta*Y for several vectors. `lanes` lanes share a row, a power of two, and c.each of these an entry, so that
 * lanes / c.each entries of the row are multiplied at a time. Lanes whose columns do not exist do nothing. Shuffles add the
 * lanes of a row that have the same columns, in the same order each time. */
template <typename T, typename P, bool PATTERN, int V>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    csr_warp_many(const wr_csr_rows<T, P, PATTERN> a, const wr_many<T> c, int lanes) {
  wr_begin_kernel();
  int lane = threadIdx.x % WR_WARP, within = lane % lanes, column = within % c.each * V;
  int64_t at_once = WR_WARP / lanes, warps = (int64_t)gridDim.x * WARPS;
  int64_t first = ((int64_t)blockIdx.x * WARPS + threadIdx.x / WR_WARP) * at_once;
  for (; first < a.nrows; first += warps * at_once) { /* the warp's first row */
    int64_t i = first + lane / lanes;
    bool is_row = i < a.nrows && column < c.columns;
    int64_t begin = is_row ? (int64_t)a.row_ptr[i] : 0, end = is_row ? (int64_t)a.row_ptr[i + 1] : 0;
    double sum[V] = {};
#pragma unroll 2
    for (int64_t k = begin + within / c.each; k < end; k += lanes / c.each) {
      wr_pack<T, V> x = wr_many_load<V>(c, a.col[k], column);
      double value = wr_csr_value(a, k);
#pragma unroll
      for (int v = 0; v < V; v++) sum[v] += value * (double)x.at[v];
    }
    for (int distance = lanes / 2; distance >= c.each; distance /= 2)
#pragma unroll
      for (int v = 0; v < V; v++) sum[v] += __shfl_xor_sync((unsigned)WR_FULL_MASK, sum[v], distance);
    if (is_row && within < c.each) wr_many_store(c, i, column, sum);
  }
}

/* As many entries of a row at a time as a row has, rounded down to a power of two, if the warp has so many lanes. The mean
 * length follows from the bytes of the matrix's arrays, whose padding makes little difference. */
template <typename T>
static int lanes_for(const wr_csr_view *A, int64_t nrows, int each) {
  double row = (double)A->bytes / (double)nrows - (A->wide ? 8 : 4), entry = 4 + (A->val ? (double)sizeof(T) : 0);
  int lanes = each;
  while (2 * lanes <= WR_WARP && 2 * (lanes / each) * entry <= row) lanes *= 2;
  return lanes;
}

template <int V, typename T, typename P, bool PATTERN>
static wr_status launch(wr_env *env, const wr_csr_view *A, const wr_csr_rows<T, P, PATTERN> &a, const wr_many<T> &c) {
  int lanes = lanes_for<T>(A, a.nrows, c.each);
  int64_t rows = WARPS * (WR_WARP / lanes); /* of a block at a time */
  unsigned blocks = wr_cuda_grid(env, (a.nrows + rows - 1) / rows, BLOCKS);
  return WR_LAUNCH_EARLY(env, (csr_warp_many<T, P, PATTERN, V>), blocks, THREADS, 0, a, c, lanes);
}

template <typename T, typename P, bool PATTERN>
static wr_status choose(wr_env *env, const wr_csr_view *A, wr_csr_rows<T, P, PATTERN> a, const wr_apply_many *r) {
  a.nrows = r->y->n / r->ldy;
  return wr_many_dispatch<T>(r,
                             [&](const auto &c, auto width) { return launch<decltype(width)::value>(env, A, a, c); });
}

extern "C" wr_status wr_csr_warp_many_launch(wr_env *env, const wr_csr_view *A, const wr_apply_many *r) {
  wr_apply rows = {}; /* what the kernel takes from it is the matrix alone */
  rows.x = r->x, rows.y = r->y;
  return wr_csr_dispatch(env, A, &rows, [=](const auto &a) { return choose(env, A, a, r); });
}
