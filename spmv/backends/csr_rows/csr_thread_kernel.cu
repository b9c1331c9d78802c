#include "spmv/kernel/csr_launch.cuh"
#include "spmv/backends/csr_rows/csr_rows.h"
#include "spmv/kernel/launch.cuh"

/* A block occupies its multiprocessor until its longest row is done: small blocks free resources sooner, and 16 of these fill
 * a multiprocessor. */
constexpr int THREADS = 128;

/* y_i = alpha * sum_k val_k x[col_k] + beta * y_i, entry by entry (Mazzucchi 2025, section IV, algorithm 1). The lanes of a
 * warp read col and val of 32 rows at a time: the shorter the rows, the nearer in memory. The loop is not unrolled;
 * csr_thread_unrolled shows what that gains. */
template <typename T, typename P, bool PATTERN>
__global__ void __launch_bounds__(THREADS) csr_thread(const wr_csr_rows<T, P, PATTERN> a) {
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= a.nrows) return;
  int64_t end = a.row_ptr[i + 1];
  double sum = 0;
#pragma unroll 1
  for (int64_t k = a.row_ptr[i]; k < end; k++) sum += wr_csr_value(a, k) * (double)a.x[a.col[k]];
  a.y[i] = (T)wr_csr_result(a, i, sum);
}

template <typename T, typename P, bool PATTERN>
static wr_status launch(wr_env *env, const wr_csr_rows<T, P, PATTERN> &a) {
  unsigned blocks = (unsigned)((a.nrows + THREADS - 1) / THREADS); /* below 2^31 - 1, the longest grid */
  return WR_LAUNCH((csr_thread<T, P, PATTERN>), blocks, THREADS, 0, env->stream, a);
}

extern "C" wr_status wr_csr_thread_launch(wr_env *env, const wr_csr_view *A, const wr_apply *request) {
  return wr_csr_dispatch(env, A, request, [=](const auto &rows) { return launch(env, rows); });
}
