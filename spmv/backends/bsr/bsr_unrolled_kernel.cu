#include "spmv/backends/bsr/bsr_report.cuh"

constexpr int MOST_THREADS = 256; /* the accumulators take many registers */

/* Sums of rows row..row + N - 1 over the blocks of a piece: a thread takes a column of a block, with N accumulators in
 * registers; a warp sums over its threads and adds the result to the thread block's sums. */
template <int N, typename T, typename S>
static __device__ inline void add_rows(const wr_bsr_args<T> &a, const S &size, const wr_bsr_piece<T> &p, int row,
                                       double *sums) {
  unsigned c = (unsigned)size.c(), side = (unsigned)size.r() * c, columns = size.by_block(p.to) * c;
  double sum[N];
  if (threadIdx.x / WR_WARP * WR_WARP >= columns) return; /* no columns for this warp */
#pragma unroll
  for (int k = 0; k < N; k++) sum[k] = 0;
  for (unsigned n = threadIdx.x; n < columns; n += blockDim.x) {
    unsigned block = size.by_c(n), column = n - block * c;
    const T *val = p.val + (block * side + (unsigned)row * c + column);
    double x = wr_bsr_x(a, size, p.col[block], column);
#pragma unroll
    for (int k = 0; k < N; k++) sum[k] += (double)val[(unsigned)k * c] * x;
  }
#pragma unroll
  for (int k = 0; k < N; k++) {
    sum[k] = wr_warp_sum(sum[k]);
    if (threadIdx.x % WR_WARP == 0) atomicAdd(&sums[row + k], sum[k]);
  }
}

/* All rows from `row` on: N at once while that many are left, then fewer. (The listing's bounds would split 13 rows into 8
 * and 6.) */
template <int N, typename T, typename S>
static __device__ inline void add_rows_from(const wr_bsr_args<T> &a, const S &size, const wr_bsr_piece<T> &p, int row,
                                            double *sums) {
  for (; size.r() - row >= N; row += N) add_rows<N>(a, size, p, row, sums);
  if constexpr (N > 1) add_rows_from<N - 1>(a, size, p, row, sums);
}

/* Listing 18, with the epilogue in the same pass. A block in which a cut between two tasks lies is multiplied by the second
 * task. */
template <int N, typename T, typename S>
__global__ void __launch_bounds__(MOST_THREADS, 1)
    bsr_unrolled(const wr_bsr_args<T> a, const S size, const wr_finish<T> finish) {
  WR_SHARED(double, sums, WR_BSR_MAX_SIDE);
  wr_finish_scalars scalars = wr_finish_begin(finish);
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  auto add_up = [&](const wr_bsr_piece<T> &p) {
    wr_bsr_clear(size, sums);
    add_rows_from<N>(a, size, p, 0, sums);
    __syncthreads();
  };
  wr_bsr_run_task(a, size, sums, add_up, [&](int64_t row, double sum) {
    wr_finish_row(finish, scalars, row, wr_finish_beta(a.alpha, a.beta, a.y, row, sum), a.y, reduced);
  });
  wr_sums_leave(finish.sums, reduced);
}

/* Calls use(kernel, size) with the kernel's instance for the plan. A kernel takes at most as many rows at once as a block
 * has. */
template <int N, typename T, typename Use>
static wr_status with_rows(const wr_bsr_plan *p, Use use) {
  return wr_bsr_with_size(p->format.r, p->format.c, [=](auto size) {
    constexpr int ROWS = decltype(size)::ROWS;
    return use(bsr_unrolled<(N < ROWS ? N : ROWS), T, decltype(size)>, size);
  });
}

template <typename T, typename Use>
static wr_status with_kernel(const wr_bsr_plan *p, Use use) {
  switch (p->rows_at_once) {
    case 1: return with_rows<1, T>(p, use);
    case 2: return with_rows<2, T>(p, use);
    case 4: return with_rows<4, T>(p, use);
    case 8: return with_rows<8, T>(p, use);
    default: return with_rows<16, T>(p, use);
  }
}

template <typename T>
static wr_status launch(wr_env *env, const wr_bsr_plan *p, const wr_apply *request) {
  wr_bsr_args<T> a = wr_bsr_args_make<T>(p, request);
  wr_finish<T> finish = wr_finish_make<T>(env, request->epilogue);
  if (p->tasks.count)
    PASS(with_kernel<T>(p, [=](auto bsr_unrolled_kernel, auto size) {
      return WR_LAUNCH((bsr_unrolled_kernel), (unsigned)p->tasks.count, p->threads, 0, env->stream, a, size, finish);
    }));
  finish.sums.before = p->tasks.count;
  return wr_bsr_launch_rest(env, p, a, finish);
}

template <typename T>
static wr_status resident(const wr_env *env, const wr_bsr_plan *p, int *blocks) {
  return with_kernel<T>(p, [=](auto kernel, auto) { return wr_bsr_count_resident(env, kernel, p->threads, blocks); });
}

extern "C" wr_status wr_bsr_unrolled_launch(wr_env *env, const wr_bsr_plan *p, const wr_apply *request) {
  wr_status status = wr_cuda_enter(env);
  if (status != WR_OK) return status;
  return env->type == WR_F32 ? launch<float>(env, p, request) : launch<double>(env, p, request);
}

extern "C" wr_status wr_bsr_unrolled_resident(const wr_env *env, const wr_bsr_plan *p, int *blocks) {
  return env->type == WR_F32 ? resident<float>(env, p, blocks) : resident<double>(env, p, blocks);
}
