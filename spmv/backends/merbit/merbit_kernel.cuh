/* The multiply (MERBIT, section 4.2, algorithm 3), for one type: the kernels, and the choice of an instance for a plan. */
#ifndef WR_MERBIT_KERNEL_CUH
#define WR_MERBIT_KERNEL_CUH

#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/backends/merbit/merbit_commit.cuh"

constexpr int MERBIT_THREADS = WR_MERBIT_WARPS * WR_WARP;

/* Constants of an instance. BATCH: loads of each kind that a thread has in flight. BLOCKS: thread blocks of a multiprocessor,
 * which bounds the registers: with too few of these, as an epilogue leaves, the compiler serialises the loads. */
template <typename T, int SIGMA, bool SCATTERED, bool FUSED, wr_finish_mask MASK>
struct merbit_shape {
  static constexpr bool f64 = sizeof(T) == 8;
  static constexpr int BATCH = SIGMA == 0 ? 7 : SCATTERED ? (SIGMA + 1) / 2 : SIGMA;
  static constexpr int LOCAL = f64 ? (MASK == WR_HOLDS_NOTHING ? 5 : 4) : 6, FAR = MASK == WR_HOLDS_SCALED_STEP ? 5 : 4;
  static constexpr int BLOCKS = FUSED || SIGMA == 0 || MASK == WR_HOLDS_ANY ? 4 : SCATTERED ? FAR : LOCAL;
};

/* y = alpha*A*x + beta*y for one block's part of the path: one warp for each tile. Columns and values are read by 32
 * consecutive lanes at a time; products and sums go through shared memory, as T: in f32 a wider type would leave too little
 * first-level cache (docs/merbit.md), but sums that lanes, tiles and blocks leave open are f64; y is written in order. SIGMA
 * 0: known only at run time. FUSED: the last block completes the shared rows and sums; with few blocks that takes less time
 * than starting a second kernel. */
template <typename T, int SIGMA, bool SCATTERED, bool PATTERN, bool FUSED, wr_finish_mask MASK>
__global__ void __launch_bounds__(MERBIT_THREADS, (merbit_shape<T, SIGMA, SCATTERED, FUSED, MASK>::BLOCKS))
    merbit(const merbit_args<T> a, const wr_finish<T> given) {
  /* with values in f64 the registers suffice for one row only */
  constexpr int EACH = PATTERN || sizeof(T) == 4 || MASK == WR_HOLDS_DOT_AND_NORM ? 16 / (int)sizeof(T) : 1;
  constexpr int WARPS = WR_MERBIT_WARPS, BATCH = merbit_shape<T, SIGMA, SCATTERED, FUSED, MASK>::BATCH;
  WR_SHARED_DYNAMIC(T, products); /* [entries of the block], then [rows that end in it, and the one that is open] */
  WR_SHARED(double, open, WARPS);
  WR_SHARED(int, first, WARPS);
  wr_let_next_begin();
  const auto finish = wr_finish_known<MASK>(given);
  const wr_merbit_format &f = a.format;
  int warp = threadIdx.x / WR_WARP;
  int64_t b = blockIdx.x, tile = b * WARPS, end = tile + WARPS < f.tiles ? tile + WARPS : f.tiles;
  path_range block = range_of(f, tile, end);
  int rows = (int)(block.y1 - block.y0);
  T *sums = products + (block.x1 - block.x0);
  bool has_head = a.row[b] >= 0, has_tail = a.origin[b + 1] != b + 1;
  path_range at = {0, 0, 0, 0};
  if (tile + warp < end) at = range_of(f, tile + warp, tile + warp + 1);
  wr_wait_for_earlier();
  if (!a.plain) wr_finish_prefetch(finish, block.y0, rows);
  if (!a.segmented) {
    for (int r = threadIdx.x; r <= rows; r += MERBIT_THREADS) sums[r] = 0;
    __syncthreads();
  }
  if (tile + warp < end) {
    T *staged = products + (at.x0 - block.x0), *ended = sums + (at.y0 - block.y0);
    double sum = run_tile<SIGMA, BATCH, PATTERN>(a, tile + warp, at, staged, ended);
    if (threadIdx.x % WR_WARP == 0) open[warp] = sum, first[warp] = at.y1 > at.y0 ? (int)(at.y0 - block.y0) : -1;
  }
  __syncthreads();
  double tail = join_tiles<WARPS>({open, first}, (int)(end - tile), sums);
  __syncthreads();
  if (threadIdx.x == WARPS && has_tail) {
    if (!a.segmented) tail += (double)sums[rows];
    store_part(a, block.y1, tail, a.tail + b);
  }
  if (threadIdx.x == 0 && has_head) {
    store_part(a, block.y0, (double)sums[0], a.head + b);
    if (a.plain && a.y_next) a.y_next[block.y0] = 0;
  }
  wr_finish_scalars scalars = wr_finish_begin(finish);
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  commit_rows<EACH>(a, finish, scalars, block, has_head, sums, reduced);
  wr_sums_leave(finish.sums, reduced);
  if constexpr (FUSED) {
    if (!wr_is_last_block(finish.sums.arrived)) return;
    for (int r = 0; r < WR_MAX_REDUCTIONS; r++) reduced[r] = 0;
    complete_rows(a, finish, scalars, find_shared(a, threadIdx.x), MERBIT_THREADS, reduced);
    wr_sums_end(finish.sums, 0, gridDim.x, reduced);
  }
}

/* Completes the shared rows, a thread for each: that of the block in which the row ends. */
template <typename T>
__global__ void __launch_bounds__(MERBIT_THREADS) merbit_last(const merbit_args<T> a, const wr_finish<T> finish) {
  wr_let_next_begin();
  merbit_shared first = find_shared(a, (int64_t)blockIdx.x * MERBIT_THREADS + threadIdx.x);
  wr_wait_for_earlier();
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  complete_rows(a, finish, wr_finish_begin(finish), first, (int64_t)gridDim.x * MERBIT_THREADS, reduced);
  wr_sums_finish_by_warps<WR_AFTER_PRODUCT, MERBIT_THREADS>(finish.sums, reduced);
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

template <typename T>
constexpr int merbit_local = sizeof(T) == 8 ? WR_MERBIT_LOCAL_F64 : WR_MERBIT_LOCAL_F32;
template <typename T>
constexpr int merbit_scattered = sizeof(T) == 8 ? WR_MERBIT_SCATTERED_F64 : WR_MERBIT_SCATTERED_F32;

/* Calls use(kernel) with the instance for a plan and an epilogue. Without an epilogue there are instances for the sigmas of
 * the sweep in docs/merbit.md; with one, for the default sigmas, specialised for the epilogues of the solvers' loops (sums
 * with values, ranks without). All others use one that reads sigma at run time. */
template <typename T, bool PATTERN, class Use>
static wr_status merbit_with_none(const wr_merbit_plan *p, Use use) {
  constexpr auto NONE = WR_HOLDS_NOTHING;
  if (p->scattered && p->format.sigma != merbit_scattered<T>) return use(merbit<T, 0, true, PATTERN, false, NONE>);
  if (p->scattered) return use(merbit<T, merbit_scattered<T>, true, PATTERN, false, NONE>);
  switch (p->format.sigma) {
    case 5: return use(merbit<T, 5, false, PATTERN, false, NONE>);
    case 7: return use(merbit<T, 7, false, PATTERN, false, NONE>);
    case 10: return use(merbit<T, 10, false, PATTERN, false, NONE>);
    case 12: return use(merbit<T, 12, false, PATTERN, false, NONE>);
    case 14: return use(merbit<T, 14, false, PATTERN, false, NONE>);
    case 16: return use(merbit<T, 16, false, PATTERN, false, NONE>);
    case 19: return use(merbit<T, 19, false, PATTERN, false, NONE>);
    case 22: return use(merbit<T, 22, false, PATTERN, false, NONE>);
    case 28: return use(merbit<T, 28, false, PATTERN, false, NONE>);
    default: return use(merbit<T, 0, false, PATTERN, false, NONE>);
  }
}

template <typename T, bool PATTERN, wr_finish_mask MASK, class Use>
static wr_status merbit_with_default(const wr_merbit_plan *p, Use use) {
  if (p->scattered) return use(merbit<T, merbit_scattered<T>, true, PATTERN, false, MASK>);
  return use(merbit<T, merbit_local<T>, false, PATTERN, false, MASK>);
}

template <typename T, bool PATTERN, class Use>
static wr_status merbit_with_kernel(const wr_merbit_plan *p, wr_finish_mask mask, Use use) {
  constexpr auto ANY = WR_HOLDS_ANY, LOOP = PATTERN ? WR_HOLDS_SCALED_STEP : WR_HOLDS_DOT_AND_NORM;
  if (mask == WR_HOLDS_NOTHING) return merbit_with_none<T, PATTERN>(p, use);
  if (p->format.sigma != (p->scattered ? merbit_scattered<T> : merbit_local<T>))
    return p->scattered ? use(merbit<T, 0, true, PATTERN, false, ANY>) : use(merbit<T, 0, false, PATTERN, false, ANY>);
  if constexpr (PATTERN) /* Chebyshev's method */
    if (mask == WR_HOLDS_RELAXED_STEP) return merbit_with_default<T, PATTERN, WR_HOLDS_RELAXED_STEP>(p, use);
  if constexpr (PATTERN && sizeof(T) == 4) { /* corrections in f32 */
    if (mask == WR_HOLDS_DIRECTED_STEP) return merbit_with_default<T, PATTERN, WR_HOLDS_DIRECTED_STEP>(p, use);
    if (mask == WR_HOLDS_DIRECTED_RELAXED_STEP)
      return merbit_with_default<T, PATTERN, WR_HOLDS_DIRECTED_RELAXED_STEP>(p, use);
  }
  return mask == LOOP ? merbit_with_default<T, PATTERN, LOOP>(p, use) : merbit_with_default<T, PATTERN, ANY>(p, use);
}

/* The same for FUSED kernels, of which there are few instances. */
template <typename T, bool PATTERN, class Use>
static wr_status merbit_with_fused_kernel(const wr_merbit_plan *p, Use use) {
  constexpr auto ANY = WR_HOLDS_ANY;
  constexpr int SIGMA = merbit_local<T>;
  if (p->scattered) return use(merbit<T, 0, true, PATTERN, true, ANY>);
  if (p->format.sigma == WR_MERBIT_SMALL) return use(merbit<T, WR_MERBIT_SMALL, false, PATTERN, true, ANY>);
  if (p->format.sigma == SIGMA) return use(merbit<T, SIGMA, false, PATTERN, true, ANY>);
  return use(merbit<T, 0, false, PATTERN, true, ANY>);
}

template <typename T, class Use>
static wr_status merbit_with(const wr_merbit_plan *p, wr_finish_mask mask, Use use) {
  return p->view.val ? merbit_with_kernel<T, false>(p, mask, use) : merbit_with_kernel<T, true>(p, mask, use);
}

template <typename T, class Use>
static wr_status merbit_with_fused(const wr_merbit_plan *p, Use use) {
  return p->view.val ? merbit_with_fused_kernel<T, false>(p, use) : merbit_with_fused_kernel<T, true>(p, use);
}

template <typename T>
static int merbit_shared_bytes(int sigma) {
  return (MERBIT_THREADS * sigma + 1) * (int)sizeof(T);
}

/* With scattered columns, first-level cache gains more than more thread blocks do: at most MERBIT_SCATTERED_KB is shared
 * memory. */
enum { MERBIT_SCATTERED_KB = 64, MERBIT_ALL_KB = 228 };

/* Launches the kernel, and the second one if rows or sums are left to it. */
template <typename T>
static wr_status merbit_launch_all(wr_env *env, const wr_merbit_plan *p, const wr_apply *request) {
  wr_status status;
  merbit_args<T> a = merbit_make_args<T>(p, request);
  wr_finish<T> finish = wr_finish_make<T>(env, request->epilogue);
  int64_t wanted = (a.blocks + MERBIT_THREADS - 1) / MERBIT_THREADS;
  unsigned grid = wr_cuda_grid(env, wanted, WR_MERBIT_LAST_BLOCKS);
  bool all_done = !a.ordered && a.plain, fused = !all_done && p->fused;
  int most = merbit_shared_bytes<T>(WR_MERBIT_KERNEL_SIGMA);
  int carveout = p->scattered ? MERBIT_SCATTERED_KB * 100 / MERBIT_ALL_KB : (int)cudaSharedmemCarveoutDefault;
  auto start = [&](auto merbit_kernel) {
    wr_status allowed = wr_allow_shared(env, (const void *)merbit_kernel, most, carveout);
    return allowed != WR_OK ? allowed
                            : WR_LAUNCH_EARLY(env, (merbit_kernel), (unsigned)a.blocks, MERBIT_THREADS,
                                              (size_t)merbit_shared_bytes<T>(p->format.sigma), a, finish);
  };
  TRY(fused ? merbit_with_fused<T>(p, start) : merbit_with<T>(p, wr_finish_mask_of(finish), start));
  finish.sums.before = a.blocks;
  if (!all_done && !fused) TRY(WR_LAUNCH_EARLY(env, (merbit_last<T>), grid, MERBIT_THREADS, 0, a, finish));
done:
  return status;
}

#endif
