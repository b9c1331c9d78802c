/* The multiply (MERBIT, section 4.2, algorithm 3), for one type: the kernels, and which of their instances serves a plan. */
#ifndef WR_MERBIT_KERNEL_CUH
#define WR_MERBIT_KERNEL_CUH

#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/merbit/merbit_commit.cuh"

constexpr int MERBIT_THREADS = WR_MERBIT_WARPS * WR_WARP;

/* How an instance is made. BATCH: loads of each kind that a thread has on their way. BLOCKS: that a multiprocessor is to hold,
 * which bounds the registers. */
template <typename T, int SIGMA, bool SCATTERED>
struct merbit_shape {
  static constexpr bool f64 = sizeof(T) == 8;
  static constexpr int BATCH = SIGMA == 0 ? 7 : SCATTERED ? (SIGMA + 1) / 2 : SIGMA;
  static constexpr int BLOCKS = SCATTERED ? 4 : f64 ? 5 : 6;
};

/* y = alpha*A*x + beta*y for one block's part of the path: a warp a tile. Columns and values are read 32 neighbours at a
 * time, products and sums go through shared memory (as T: in f32 a wider type would leave the first-level cache too small,
 * docs/merbit.md; what lanes, tiles and blocks leave open is f64), y is written in order. SIGMA 0: known at run time alone. */
template <typename T, int SIGMA, bool SCATTERED, bool PATTERN>
__global__ void __launch_bounds__(MERBIT_THREADS, (merbit_shape<T, SIGMA, SCATTERED>::BLOCKS))
    merbit(const merbit_args<T> a, const wr_finish<T> finish) {
  constexpr int WARPS = WR_MERBIT_WARPS, BATCH = merbit_shape<T, SIGMA, SCATTERED>::BATCH;
  WR_SHARED_DYNAMIC(T, products); /* [entries of the block], then [rows that end in it, and the one that is open] */
  WR_SHARED(double, open, WARPS);
  WR_SHARED(int, first, WARPS);
  wr_begin_kernel();
  const wr_merbit_format &f = a.format;
  int warp = threadIdx.x / WR_WARP;
  int64_t b = blockIdx.x, tile = b * WARPS, end = tile + WARPS < f.tiles ? tile + WARPS : f.tiles;
  stretch block = stretch_of(f, tile, end);
  int rows = (int)(block.y1 - block.y0);
  T *sums = products + (block.x1 - block.x0);
  bool has_head = a.row[b] >= 0, has_tail = a.origin[b + 1] != b + 1;
  if (!a.plain) wr_finish_prefetch(finish, block.y0, rows);
  if (!a.segmented) {
    for (int r = threadIdx.x; r <= rows; r += MERBIT_THREADS) sums[r] = 0;
    __syncthreads();
  }
  if (tile + warp < end) {
    stretch at = stretch_of(f, tile + warp, tile + warp + 1);
    T *staged = products + (at.x0 - block.x0), *ended = sums + (at.y0 - block.y0);
    double sum = run_tile<SIGMA, BATCH, PATTERN>(a, tile + warp, at, staged, ended);
    if (threadIdx.x % WR_WARP == 0) open[warp] = sum, first[warp] = at.y1 > at.y0 ? (int)(at.y0 - block.y0) : -1;
  }
  __syncthreads();
  double tail = join_tiles<WARPS>({open, first}, (int)(end - tile), sums);
  __syncthreads();
  if (threadIdx.x == WARPS && has_tail) {
    if (!a.segmented) tail += (double)sums[rows];
    leave_part(a, block.y1, tail, a.tail + b);
  }
  if (threadIdx.x == 0 && has_head) {
    leave_part(a, block.y0, (double)sums[0], a.head + b);
    if (a.plain && a.y_next) a.y_next[block.y0] = 0;
  }
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0}, shift = wr_finish_shift(finish);
  commit_rows(a, finish, shift, block, has_head, sums, reduced);
  wr_sums_leave(finish.sums, reduced);
}

/* Completes the shared rows, each in one place: a thread each, that of the block in which the row ends. */
template <typename T>
__global__ void __launch_bounds__(MERBIT_THREADS) merbit_last(const merbit_args<T> a, const wr_finish<T> finish) {
  wr_begin_kernel();
  double shift = wr_finish_shift(finish), reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  int64_t stride = (int64_t)gridDim.x * MERBIT_THREADS, lane = threadIdx.x % WR_WARP;
  for (int64_t first = (int64_t)blockIdx.x * MERBIT_THREADS + threadIdx.x - lane; first < a.blocks; first += stride) {
    int64_t b = first + lane, i = b < a.blocks ? a.row[b] : -1;
    double sum = a.ordered ? wr_parts_sum(a.tail, 1, i >= 0 ? a.origin[b] : b, b) : 0;
    if (i < 0) continue;
    double value = a.ordered ? wr_finish_beta(a.alpha, a.beta, a.y, i, sum + a.head[b]) : (double)a.y[i];
    wr_finish_row(finish, shift, i, value, a.y, reduced);
    if (a.y_next) a.y_next[i] = 0;
  }
  wr_sums_finish(finish.sums, reduced);
}

template <typename T>
static merbit_args<T> merbit_make_args(const wr_merbit_plan *p, const wr_apply *request) {
  merbit_args<T> a = {};
  a.format = p->format, a.blocks = p->blocks;
  a.col = p->view.col, a.val = (const T *)p->view.val;
  a.x = (const T *)request->x->data, a.y = (T *)request->y->data;
  a.alpha = request->alpha, a.beta = request->beta;
  a.plain = request->beta == 0 && request->epilogue == NULL;
  a.ordered = request->beta != 0 || p->commit == WR_MERBIT_ORDERED;
  if (request->y_next && p->commit == WR_MERBIT_DUAL) a.y_next = (T *)request->y_next->data;
  a.long_rows = p->long_rows, a.segmented = p->segmented;
  a.origin = p->origin, a.row = p->row, a.head = p->head, a.tail = p->tail;
  return a;
}

/* use(kernel) with the instance that serves a plan: there is one for the sigmas that are best somewhere, and for those of the
 * sweep in docs/merbit.md; others share one that knows sigma at run time. */
template <typename T, bool PATTERN, class Use>
static wr_status merbit_with_kernel(const wr_merbit_plan *p, Use use) {
  constexpr int SCATTERED_SIGMA = sizeof(T) == 8 ? WR_MERBIT_SCATTERED_F64 : WR_MERBIT_SCATTERED_F32;
  if (p->scattered && p->format.sigma == SCATTERED_SIGMA) return use(merbit<T, SCATTERED_SIGMA, true, PATTERN>);
  if (p->scattered) return use(merbit<T, 0, true, PATTERN>);
  switch (p->format.sigma) {
    case 5: return use(merbit<T, 5, false, PATTERN>);
    case 7: return use(merbit<T, 7, false, PATTERN>);
    case 10: return use(merbit<T, 10, false, PATTERN>);
    case 12: return use(merbit<T, 12, false, PATTERN>);
    case 14: return use(merbit<T, 14, false, PATTERN>);
    case 16: return use(merbit<T, 16, false, PATTERN>);
    case 19: return use(merbit<T, 19, false, PATTERN>);
    case 22: return use(merbit<T, 22, false, PATTERN>);
    case 28: return use(merbit<T, 28, false, PATTERN>);
    default: return use(merbit<T, 0, false, PATTERN>);
  }
}

template <typename T, class Use>
static wr_status merbit_with(const wr_merbit_plan *p, Use use) {
  return p->view.val ? merbit_with_kernel<T, false>(p, use) : merbit_with_kernel<T, true>(p, use);
}

template <typename T>
static int merbit_shared_bytes(int sigma) {
  return (MERBIT_THREADS * sigma + 1) * (int)sizeof(T);
}

/* Scattered columns gain more from first-level cache than from more thread blocks: no more than this is shared memory. */
enum { MERBIT_SCATTERED_KB = 64, MERBIT_ALL_KB = 228 };

/* What is set belongs to the instance, not to the plan: other plans may use it too. */
template <typename T>
static wr_status merbit_ready(const wr_merbit_plan *p) {
  int shared = merbit_shared_bytes<T>(WR_MERBIT_KERNEL_SIGMA);
  int carveout = p->scattered ? MERBIT_SCATTERED_KB * 100 / MERBIT_ALL_KB : (int)cudaSharedmemCarveoutDefault;
  return merbit_with<T>(p, [=](auto kernel) {
    wr_status status;
    TRY(WR_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, carveout)));
    TRY(WR_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared)));
  done:
    return status;
  });
}

/* Both kernels; the second one where rows are left to it. */
template <typename T>
static wr_status merbit_launch_all(wr_env *env, const wr_merbit_plan *p, const wr_apply *request) {
  wr_status status;
  merbit_args<T> a = merbit_make_args<T>(p, request);
  wr_finish<T> finish = wr_finish_make<T>(request->epilogue, &((wr_cuda_state *)env->state)->workspace);
  int64_t wanted = (a.blocks + MERBIT_THREADS - 1) / MERBIT_THREADS;
  unsigned grid = wanted < WR_MERBIT_LAST_BLOCKS ? (unsigned)wanted : (unsigned)WR_MERBIT_LAST_BLOCKS;
  TRY(merbit_with<T>(p, [&](auto merbit_kernel) {
    return WR_LAUNCH_EARLY(env, (merbit_kernel), (unsigned)a.blocks, MERBIT_THREADS,
                           (size_t)merbit_shared_bytes<T>(p->format.sigma), a, finish);
  }));
  finish.sums.before = a.blocks;
  if (a.ordered || !a.plain) TRY(WR_LAUNCH_EARLY(env, (merbit_last<T>), grid, MERBIT_THREADS, 0, a, finish));
done:
  return status;
}

#endif
