#include "spmv/backends/bsr/bsr_report.cuh"

constexpr int THREADS = 256, WARPS = THREADS / WR_WARP, BLOCKS = 8; /* blocks: for each multiprocessor */

/* The sum of the parts that tasks from..task stored of the block row that ends first in `task`; lane k gets that of row k. A
 * few parts are summed by a lane alone, more by the warp; the order depends only on the tasks. */
template <typename T>
static __device__ inline double join(const wr_bsr_args<T> &a, int r, int64_t from, int64_t task) {
  int lane = threadIdx.x % WR_WARP;
  double sum = 0;
  if (task - from <= WR_WARP) {
    for (int64_t t = from; t < task && lane < r; t++) sum += a.tail[t * r + lane];
  } else {
    for (int in = 0; in < r; in++) {
      double part = 0;
      for (int64_t t = from + lane; t < task; t += WR_WARP) part += a.tail[t * r + in];
      part = wr_warp_sum(part);
      if (lane == in) sum = part;
    }
  }
  return lane < r ? sum + a.head[task * r + lane] : 0;
}

/* Shared block rows, a warp each, then the rows of block rows without blocks, a thread each. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    bsr_rest(const wr_bsr_args<T> a, const wr_bsr_any_size size, const wr_bsr_tasks tasks, const wr_finish<T> finish) {
  int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x, threads = (int64_t)gridDim.x * THREADS;
  wr_finish_scalars scalars = wr_finish_begin(finish);
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  auto complete = [&](int64_t row, double sum) {
    wr_finish_row(finish, scalars, row, wr_finish_beta(a.alpha, a.beta, a.y, row, sum), a.y, reduced);
  };
  for (int64_t t = thread / WR_WARP; t < tasks.count; t += threads / WR_WARP) {
    if (tasks.origin[t] == t) continue;
    int64_t row = tasks.row[t], i = tasks.full ? tasks.full[row] : row;
    wr_bsr_complete(a, size, i, join(a, size.r(), tasks.origin[t], t), complete);
  }
  for (int64_t e = thread; e < tasks.nempty * size.r(); e += threads) {
    int64_t row = tasks.empty[e / size.r()] * (int64_t)size.r() + e % size.r();
    if (row < a.nrows) complete(row, 0.0);
  }
  wr_sums_finish(finish.sums, reduced);
}

extern "C" unsigned wr_bsr_rest_grid(const wr_env *env, const wr_bsr_tasks *tasks) {
  int64_t wanted = (tasks->count + WARPS - 1) / WARPS, others = (tasks->nempty * tasks->r + THREADS - 1) / THREADS;
  if (wanted < others) wanted = others;
  return wr_cuda_grid(env, wanted, BLOCKS);
}

template <typename T>
wr_status wr_bsr_launch_rest(wr_env *env, const wr_bsr_plan *p, const wr_bsr_args<T> &a, const wr_finish<T> &finish) {
  if (p->tasks.count <= 1 && p->tasks.nempty == 0 && finish.sums.count == 0) return WR_OK; /* there is nothing to do */
  return WR_LAUNCH((bsr_rest<T>), wr_bsr_rest_grid(env, &p->tasks), THREADS, 0, env->stream, a,
                   wr_bsr_any_size_make(p->format.r, p->format.c), p->tasks, finish);
}

template wr_status wr_bsr_launch_rest(wr_env *, const wr_bsr_plan *, const wr_bsr_args<float> &,
                                      const wr_finish<float> &);
template wr_status wr_bsr_launch_rest(wr_env *, const wr_bsr_plan *, const wr_bsr_args<double> &,
                                      const wr_finish<double> &);
