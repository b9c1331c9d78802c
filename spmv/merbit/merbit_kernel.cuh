/* The multiply (MERBIT, section 4.2, algorithm 3), for one type: the kernels, and which of their instances serves a plan. */
#ifndef WR_MERBIT_KERNEL_CUH
#define WR_MERBIT_KERNEL_CUH

#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/merbit/merbit_commit.cuh"

constexpr int MERBIT_THREADS = WR_MERBIT_WARPS * WR_WARP;

/* How an instance is made. BATCH: loads of each kind that a thread has on their way. BLOCKS: that a multiprocessor is to hold,
 * which bounds the registers. */
template <typename T, int SIGMA, bool SCATTERED, bool ALONE>
struct merbit_shape {
  static constexpr bool f64 = sizeof(T) == 8;
  static constexpr int BATCH = SIGMA == 0 ? 7 : SCATTERED ? (SIGMA + 1) / 2 : SIGMA;
  static constexpr int BLOCKS = SCATTERED || ALONE ? 4 : f64 ? 5 : 6;
};

/* y = alpha*A*x + beta*y for one block's part of the path: a warp a tile. Columns and values are read 32 neighbours at a
 * time, products and sums go through shared memory (as T: in f32 a wider type would leave the first-level cache too small,
 * docs/merbit.md; what lanes, tiles and blocks leave open is f64), y is written in order. SIGMA 0: known at run time alone.
 * ALONE: the last block completes the shared rows and sums: with few blocks that is over sooner than another kernel begins. */
template <typename T, int SIGMA, bool SCATTERED, bool PATTERN, bool ALONE>
__global__ void __launch_bounds__(MERBIT_THREADS, (merbit_shape<T, SIGMA, SCATTERED, ALONE>::BLOCKS))
    merbit(const merbit_args<T> a, const wr_finish<T> finish) {
  constexpr int EACH = PATTERN || sizeof(T) == 4 ? 16 / (int)sizeof(T) : 1; /* values in f64 leave no registers for more */
  constexpr int WARPS = WR_MERBIT_WARPS, BATCH = merbit_shape<T, SIGMA, SCATTERED, ALONE>::BATCH;
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
  commit_rows<EACH>(a, finish, shift, block, has_head, sums, reduced);
  wr_sums_leave(finish.sums, reduced);
  if constexpr (ALONE) {
    if (!wr_is_last_block(finish.sums.arrived)) return;
    for (int r = 0; r < WR_MAX_REDUCTIONS; r++) reduced[r] = 0;
    complete_rows(a, finish, shift, 0, MERBIT_THREADS, reduced);
    wr_sums_end(finish.sums, 0, gridDim.x, reduced);
  }
}

/* Completes the shared rows, each in one place: a thread each, that of the block in which the row ends. */
template <typename T>
__global__ void __launch_bounds__(MERBIT_THREADS) merbit_last(const merbit_args<T> a, const wr_finish<T> finish) {
  wr_begin_kernel();
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  complete_rows(a, finish, wr_finish_shift(finish), (int64_t)blockIdx.x * MERBIT_THREADS,
                (int64_t)gridDim.x * MERBIT_THREADS, reduced);
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
  if (p->scattered && p->format.sigma == SCATTERED_SIGMA) return use(merbit<T, SCATTERED_SIGMA, true, PATTERN, false>);
  if (p->scattered) return use(merbit<T, 0, true, PATTERN, false>);
  switch (p->format.sigma) {
    case 5: return use(merbit<T, 5, false, PATTERN, false>);
    case 7: return use(merbit<T, 7, false, PATTERN, false>);
    case 10: return use(merbit<T, 10, false, PATTERN, false>);
    case 12: return use(merbit<T, 12, false, PATTERN, false>);
    case 14: return use(merbit<T, 14, false, PATTERN, false>);
    case 16: return use(merbit<T, 16, false, PATTERN, false>);
    case 19: return use(merbit<T, 19, false, PATTERN, false>);
    case 22: return use(merbit<T, 22, false, PATTERN, false>);
    case 28: return use(merbit<T, 28, false, PATTERN, false>);
    default: return use(merbit<T, 0, false, PATTERN, false>);
  }
}

/* The same for a kernel alone, of which there are few. */
template <typename T, bool PATTERN, class Use>
static wr_status merbit_with_kernel_alone(const wr_merbit_plan *p, Use use) {
  constexpr int LOCAL_SIGMA = sizeof(T) == 8 ? WR_MERBIT_LOCAL_F64 : WR_MERBIT_LOCAL_F32;
  if (p->scattered) return use(merbit<T, 0, true, PATTERN, true>);
  if (p->format.sigma == WR_MERBIT_SMALL) return use(merbit<T, WR_MERBIT_SMALL, false, PATTERN, true>);
  if (p->format.sigma == LOCAL_SIGMA) return use(merbit<T, LOCAL_SIGMA, false, PATTERN, true>);
  return use(merbit<T, 0, false, PATTERN, true>);
}

template <typename T, class Use>
static wr_status merbit_with(const wr_merbit_plan *p, Use use) {
  return p->view.val ? merbit_with_kernel<T, false>(p, use) : merbit_with_kernel<T, true>(p, use);
}

template <typename T, class Use>
static wr_status merbit_with_alone(const wr_merbit_plan *p, Use use) {
  return p->view.val ? merbit_with_kernel_alone<T, false>(p, use) : merbit_with_kernel_alone<T, true>(p, use);
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
  auto set = [=](auto kernel) {
    wr_status status;
    TRY(WR_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, carveout)));
    TRY(WR_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared)));
  done:
    return status;
  };
  wr_status status = merbit_with<T>(p, set);
  return status != WR_OK || !p->alone ? status : merbit_with_alone<T>(p, set);
}

/* One kernel, or both where rows or sums are left to the second. */
template <typename T>
static wr_status merbit_launch_all(wr_env *env, const wr_merbit_plan *p, const wr_apply *request) {
  wr_status status;
  merbit_args<T> a = merbit_make_args<T>(p, request);
  wr_finish<T> finish = wr_finish_make<T>(env, request->epilogue);
  int64_t wanted = (a.blocks + MERBIT_THREADS - 1) / MERBIT_THREADS;
  unsigned grid = wanted < WR_MERBIT_LAST_BLOCKS ? (unsigned)wanted : (unsigned)WR_MERBIT_LAST_BLOCKS;
  bool all_done = !a.ordered && a.plain, alone = !all_done && p->alone;
  auto start = [&](auto merbit_kernel) {
    return WR_LAUNCH_EARLY(env, (merbit_kernel), (unsigned)a.blocks, MERBIT_THREADS,
                           (size_t)merbit_shared_bytes<T>(p->format.sigma), a, finish);
  };
  TRY(alone ? merbit_with_alone<T>(p, start) : merbit_with<T>(p, start));
  finish.sums.before = a.blocks;
  if (!all_done && !alone) TRY(WR_LAUNCH_EARLY(env, (merbit_last<T>), grid, MERBIT_THREADS, 0, a, finish));
done:
  return status;
}

#endif
