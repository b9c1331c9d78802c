#include "spmv/backends/lane_csr/lane_csr_kernel.h"

#include <algorithm>

#include "spmv/backends/lane_csr/lane_csr_build.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/parts.cuh"

constexpr int EACH = WR_LANE_EACH, CHUNK = WR_LANE_CHUNK;
constexpr int WINDOW = 64; /* rows of a chunk that are completed together */
constexpr int LAST_THREADS = 256, LAST_BLOCKS = 2; /* of the second kernel; blocks: of a multiprocessor */

/* Thread blocks with hubs are as large as can be, one on a multiprocessor, since each has a copy of the hubs. */
template <bool HUBS>
constexpr int lane_threads = HUBS ? 1024 : 256;
constexpr int MOST_BLOCKS = 4; /* of a multiprocessor */
template <bool HUBS>
constexpr int lane_blocks = HUBS ? 1 : MOST_BLOCKS;

template <typename T>
struct lane_args {
  wr_lane_plan p;
  const T *x; /* [ncols] */
  T *y;       /* [nrows] */
  double alpha, beta;
};

/* A lane's columns and row ends of a chunk. */
struct lane_codes {
  int32_t code[EACH];
  uint32_t end;
};

static __device__ inline lane_codes lane_load(const wr_lane_csr &c, int64_t w) {
  int lane = threadIdx.x % WR_WARP;
  lane_codes codes = {};
  if (w >= c.chunks) return codes;
#pragma unroll
  for (int j = 0; j < EACH; j++) codes.code[j] = __ldcs(c.code + w * CHUNK + j * WR_WARP + lane);
  codes.end = __ldcs(c.end + w * WR_WARP + lane);
  return codes;
}

/* v, x[EACH] := the lane's values and elements of x for chunk w. Hubs come first, so that no load waits for one from
 * memory. */
template <typename T, bool VALUED, bool HUBS>
static __device__ inline void lane_gather(const lane_args<T> &a, const T *hubs, int64_t w, const lane_codes &codes,
                                          T (&v)[EACH], T (&x)[EACH]) {
  const T *val = (const T *)a.p.format.val + w * CHUNK + threadIdx.x % WR_WARP;
#pragma unroll
  for (int j = 0; j < EACH; j++) v[j] = VALUED ? __ldcs(val + j * WR_WARP) : (T)1;
#pragma unroll
  for (int j = 0; j < EACH; j++) {
    int32_t code = codes.code[j];
    x[j] = HUBS && code < 0 && code != WR_LANE_PADDING ? hubs[~code] : (T)0;
  }
#pragma unroll
  for (int j = 0; j < EACH; j++)
    if (codes.code[j] >= 0) x[j] = __ldg(a.x + codes.code[j]);
}

/* Walks over the lane's products. sums[n - from] := the sum of the n-th row that ends in the chunk, for those of them with from
 * <= n < from + WINDOW. Returns the sum behind the last end. */
template <typename T>
static __device__ inline double lane_walk(const T (&product)[EACH], uint32_t end, int from, double *sums) {
  int n = (int)(end >> 16) - from;
  double sum = 0;
#pragma unroll
  for (int j = 0; j < EACH; j++) {
    sum += (double)product[j];
    if (!(end >> j & 1)) continue;
    if (0 <= n && n < WINDOW) sums[n] = sum;
    n++, sum = 0;
  }
  return sum;
}

/* y = alpha*A*x + beta*y and the epilogue, for the rows that lie in one chunk; parts of others go to head and tail. A warp
 * takes every n-th chunk; the columns of the next are in flight while it waits for x. */
template <typename T, bool VALUED, bool HUBS, wr_finish_mask MASK>
__global__ void __launch_bounds__(lane_threads<HUBS>, (lane_blocks<HUBS>))
    lane_csr(WR_KERNEL_PARAMETER lane_args<T> a, WR_KERNEL_PARAMETER wr_finish<T> given) {
  constexpr int THREADS = lane_threads<HUBS>, WARPS = THREADS / WR_WARP;
  WR_SHARED_DYNAMIC(T, hubs); /* [hubs] */
  WR_SHARED(double, all_sums, WARPS * WINDOW);
  const wr_lane_csr &c = a.p.format;
  int lane = threadIdx.x % WR_WARP, warp = threadIdx.x / WR_WARP;
  double *sums = all_sums + warp * WINDOW;
  wr_let_next_begin();
  int64_t w = (int64_t)blockIdx.x * WARPS + warp, stride = (int64_t)gridDim.x * WARPS;
  lane_codes codes = lane_load(c, w);
  wr_wait_for_earlier();
  if (HUBS) {
    const T *from = (const T *)a.p.hub_x;
    for (int64_t h = threadIdx.x; h < c.hubs; h += THREADS) hubs[h] = from[h];
    __syncthreads();
  }
  const wr_finish<T> finish = wr_finish_known<MASK>(given);
  wr_finish_scalars scalars = wr_finish_begin(finish);
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  for (; w < c.chunks; w += stride) {
    T v[EACH], product[EACH];
    uint32_t begin = __ldg(c.row + w), after = __ldg(c.row + w + 1);
    lane_gather<T, VALUED, HUBS>(a, hubs, w, codes, v, product);
    uint32_t end = codes.end;
    codes = lane_load(c, w + stride);
#pragma unroll
    for (int j = 0; j < EACH; j++) product[j] = VALUED ? v[j] * product[j] : product[j];
    int64_t first = begin & ~WR_LANE_OPEN;
    int rows = (int)((after & ~WR_LANE_OPEN) - (begin & ~WR_LANE_OPEN)), own = (int)(end >> 16);
    bool ends = end & 0xffff, has_head = rows > 0 && (begin & WR_LANE_OPEN);
    unsigned ended = __ballot_sync((unsigned)WR_FULL_MASK, ends);
    double open = lane_walk(product, end, 0, sums);
    double scanned = wr_scan_open(open, ended), before = __shfl_up_sync((unsigned)WR_FULL_MASK, scanned, 1u);
    if (lane == 0) before = 0;
    if (lane == WR_WARP - 1 && (after & WR_LANE_OPEN)) a.p.tail[w] = scanned;
    for (int from = 0; from < rows; from += WINDOW) {
      if (from > 0) lane_walk(product, end, from, sums);
      if (ends && from <= own && own < from + WINDOW) sums[own - from] += before; /* the lane's own: no other lane writes it */
      __syncwarp();
      if (from == 0 && has_head && lane == 0) a.p.head[w] = sums[0];
      for (int r = from + lane; r < rows && r < from + WINDOW; r += WR_WARP) {
        int64_t i = first + r;
        if (r > 0 || !has_head)
          wr_finish_row(finish, scalars, i, wr_finish_beta(a.alpha, a.beta, a.y, i, sums[r - from]), a.y, reduced);
      }
      __syncwarp();
    }
  }
  wr_sums_leave(given.sums, reduced); /* the parameter, as a copy of its step would be in local memory */
}

/* Gathers the hubs' elements of x, so that the thread blocks of the multiply can copy them as they lie. */
template <typename T>
__global__ void __launch_bounds__(LAST_THREADS) lane_csr_gather(WR_KERNEL_PARAMETER lane_args<T> a) {
  wr_begin_kernel();
  int64_t stride = (int64_t)gridDim.x * LAST_THREADS;
  for (int64_t h = (int64_t)blockIdx.x * LAST_THREADS + threadIdx.x; h < a.p.format.hubs; h += stride)
    ((T *)a.p.hub_x)[h] = __ldg(a.x + a.p.format.hub[h]);
}

/* Completes the rows that several chunks share, a thread for each: that of the chunk in which the row ends. */
template <typename T>
__global__ void __launch_bounds__(LAST_THREADS)
    lane_csr_last(WR_KERNEL_PARAMETER lane_args<T> a, WR_KERNEL_PARAMETER wr_finish<T> finish) {
  wr_begin_kernel();
  const wr_lane_csr &c = a.p.format;
  wr_finish_scalars scalars = wr_finish_begin(finish);
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  int lane = threadIdx.x % WR_WARP;
  int64_t stride = (int64_t)gridDim.x * LAST_THREADS;
  for (int64_t w0 = (int64_t)blockIdx.x * LAST_THREADS + threadIdx.x - lane; w0 < c.chunks; w0 += stride) {
    int64_t w = w0 + lane, from = w;
    uint32_t begin = w < c.chunks ? c.row[w] : 0, after = w < c.chunks ? c.row[w + 1] : 0;
    bool ends = (begin & WR_LANE_OPEN) && (after & ~WR_LANE_OPEN) > (begin & ~WR_LANE_OPEN);
    if (ends) from = c.origin[w];
    double sum = wr_parts_sum(a.p.tail, 1, from, w);
    if (!ends) continue;
    int64_t i = begin & ~WR_LANE_OPEN;
    wr_finish_row(finish, scalars, i, wr_finish_beta(a.alpha, a.beta, a.y, i, sum + a.p.head[w]), a.y, reduced);
  }
  wr_sums_finish_by_warps<WR_AFTER_PRODUCT, LAST_THREADS>(finish.sums, reduced);
}

/* Calls use(kernel, threads, blocks of a multiprocessor) with the instance for a plan and an epilogue. */
template <typename T, bool VALUED, bool HUBS, class Use>
static wr_status lane_with_mask(wr_finish_mask mask, Use use) {
  constexpr auto LOOP = VALUED ? WR_HOLDS_DOT_AND_NORM : WR_HOLDS_SCALED_STEP;
  constexpr int threads = lane_threads<HUBS>, blocks = lane_blocks<HUBS>;
  if (mask == WR_HOLDS_NOTHING) return use(lane_csr<T, VALUED, HUBS, WR_HOLDS_NOTHING>, threads, blocks);
  if (mask == LOOP) return use(lane_csr<T, VALUED, HUBS, LOOP>, threads, blocks);
  return use(lane_csr<T, VALUED, HUBS, WR_HOLDS_ANY>, threads, blocks);
}

template <typename T, class Use>
static wr_status lane_with(const wr_lane_csr &c, wr_finish_mask mask, Use use) {
  if (c.hubs) return c.valued ? lane_with_mask<T, true, true>(mask, use) : lane_with_mask<T, false, true>(mask, use);
  return c.valued ? lane_with_mask<T, true, false>(mask, use) : lane_with_mask<T, false, false>(mask, use);
}

static unsigned last_grid(const wr_env *env, int64_t chunks) {
  return wr_cuda_grid(env, (chunks + LAST_THREADS - 1) / LAST_THREADS, LAST_BLOCKS);
}

template <typename T>
static wr_status launch(wr_env *env, const wr_lane_plan *p, const wr_apply *request) {
  lane_args<T> a = {*p, (const T *)request->x->data, (T *)request->y->data, request->alpha, request->beta};
  const wr_lane_csr &c = p->format;
  wr_finish<T> finish = wr_finish_make<T>(env, request->epilogue);
  unsigned grid = 0;
  if (c.hubs) PASS(WR_LAUNCH_EARLY(env, (lane_csr_gather<T>), last_grid(env, c.hubs), LAST_THREADS, 0, a));
  PASS(lane_with<T>(c, wr_finish_mask_of(finish), [&](auto kernel, int threads, int blocks) {
    grid = wr_cuda_grid(env, (c.chunks * WR_WARP + threads - 1) / threads, blocks);
    return WR_LAUNCH_EARLY(env, (kernel), grid, (unsigned)threads, (size_t)c.hubs * sizeof(T), a, finish);
  }));
  finish.sums.before = grid;
  return WR_LAUNCH_EARLY(env, (lane_csr_last<T>), last_grid(env, c.chunks), LAST_THREADS, 0, a, finish);
}

/* Lets the kernels have the hubs' memory. */
template <typename T>
static wr_status ready(const wr_lane_csr &c) {
  auto set = [&](auto kernel, int, int) {
    return WR_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, WR_LANE_HUB_BYTES));
  };
  if (c.hubs == 0) return WR_OK;
  PASS(lane_with<T>(c, WR_HOLDS_NOTHING, set));
  PASS(lane_with<T>(c, c.valued ? WR_HOLDS_DOT_AND_NORM : WR_HOLDS_SCALED_STEP, set));
  return lane_with<T>(c, WR_HOLDS_ANY, set);
}

extern "C" int64_t wr_lane_hub_bytes(const wr_env *env) {
  constexpr int OTHER = lane_threads<true> / WR_WARP * WINDOW * (int)sizeof(double) + 2048; /* sums, and those of a block */
  int most = 0;
  if (cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, env->device) != cudaSuccess) most = 0;
  return std::max(0, std::min((int)WR_LANE_HUB_BYTES, most - OTHER));
}

extern "C" wr_status wr_lane_plan_open(wr_env *env, wr_lane_plan *p) {
  wr_workspace workspace;
  const wr_lane_csr &c = p->format;
  PASS(wr_cuda_enter(env));
  PASS(env->type == WR_F32 ? ready<float>(c) : ready<double>(c));
  PASS(wr_device_alloc(env, &p->head, c.chunks, sizeof *p->head, "parts of rows"));
  PASS(wr_device_alloc(env, &p->tail, c.chunks, sizeof *p->tail, "parts of rows"));
  PASS(wr_device_alloc(env, &p->hub_x, c.hubs, (size_t)wr_type_bytes(env->type), "hubs"));
  return wr_workspace_reserve(env, MOST_BLOCKS * wr_cuda_processors(env) + last_grid(env, c.chunks), &workspace);
}

extern "C" void wr_lane_plan_close(wr_env *env, wr_lane_plan *p) {
  wr_device_free(env, p->head), wr_device_free(env, p->tail), wr_device_free(env, p->hub_x);
  p->head = p->tail = NULL, p->hub_x = NULL;
  wr_lane_csr_device_free(env, &p->format);
}

extern "C" int64_t wr_lane_plan_bytes(const wr_lane_plan *p) {
  const wr_lane_csr *c = &p->format;
  return wr_lane_csr_device_bytes(c) + 2 * wr_device_bytes(c->chunks, sizeof *p->head) +
         wr_device_bytes(c->hubs, (size_t)wr_type_bytes(c->type));
}

extern "C" wr_status wr_lane_csr_launch(wr_env *env, const wr_lane_plan *p, const wr_apply *request) {
  PASS(wr_cuda_enter(env));
  return env->type == WR_F32 ? launch<float>(env, p, request) : launch<double>(env, p, request);
}
