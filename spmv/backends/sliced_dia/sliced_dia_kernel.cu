#include "spmv/backends/sliced_dia/sliced_dia_kernel.h"

#include "spmv/device/cuda_state.h"
#include "spmv/device/left_sums.cuh"
#include "spmv/kernel/async_copy.cuh"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/warp.cuh"

constexpr int THREADS = 256, WARPS = THREADS / WR_WARP;
constexpr int Q = WR_DIA_ROWS / WR_WARP; /* rows of a lane */
constexpr int MANY = 8, FEW = 4;         /* segments whose loads are issued together, and for the rest of a list */

/* Thread blocks on a multiprocessor, which stay until all slices are done: as many as the registers of the loads allow. */
constexpr int MOST_BLOCKS = 4;
template <typename T, wr_dia_kind KIND>
constexpr int blocks_of() {
  return KIND == WR_DIA_VALUES && sizeof(T) == 8 ? 2 : KIND == WR_DIA_VALUES || sizeof(T) == 8 ? 3 : MOST_BLOCKS;
}

template <typename T>
struct dia_args {
  wr_sliced_dia format;
  const T *x; /* [ncols] */
  T *y;       /* [nrows] */
  double alpha, beta;
};

/* A segment in shared memory. before: entries of the slice's earlier segments, counted from the last 32nd one. */
struct alignas(16) dia_head {
  int32_t difference, before;
  uint32_t mask[Q];
};

/* Lane k's own one of up to 32 segments that the warp multiplies next. */
template <typename T>
struct dia_own {
  int32_t difference;
  uint64_t mask;
  T value;
};

/* A slice's segments, and where its values begin. */
struct dia_place {
  int64_t segment, end, val;
};

template <wr_dia_kind KIND>
static __device__ inline dia_place dia_slice(const wr_sliced_dia &d, int64_t slice) {
  if (slice >= d.slices) return {0, 0, 0};
  return {__ldg(d.segment + slice), __ldg(d.segment + slice + 1), KIND == WR_DIA_VALUES ? __ldg(d.place + slice) : 0};
}

/* The first 32 segments of a place; lanes beyond its end get segments without rows. */
template <wr_dia_kind KIND, typename T>
static __device__ inline dia_own<T> dia_fetch(const wr_sliced_dia &d, const dia_place &p) {
  int64_t k = p.segment + threadIdx.x % WR_WARP;
  if (k >= p.end) return {0, 0, 0};
  return {__ldcs(d.difference + k), __ldcs(d.mask + k), KIND == WR_DIA_PAIRS ? __ldcs((const T *)d.value + k) : (T)0};
}

/* Hands a lane's segment to its warp. Returns the entries of all 32. */
template <wr_dia_kind KIND, typename T>
static __device__ inline int dia_share(const dia_own<T> &own, dia_head *heads, double *values) {
  int lane = threadIdx.x % WR_WARP, count = 0, sum = 0;
  if (KIND == WR_DIA_VALUES) {
    count = sum = __popcll(own.mask);
#pragma unroll
    for (int distance = 1; distance < WR_WARP; distance *= 2) {
      int left = __shfl_up_sync((unsigned)WR_FULL_MASK, sum, (unsigned)distance);
      if (lane >= distance) sum += left;
    }
  }
  heads[lane] = {own.difference, sum - count, {(uint32_t)own.mask, (uint32_t)(own.mask >> 32)}};
  if (KIND == WR_DIA_PAIRS) values[lane] = (double)own.value;
  return KIND == WR_DIA_VALUES ? __shfl_sync((unsigned)WR_FULL_MASK, sum, WR_WARP - 1) : 0;
}

/* sum[q] += the products of N segments from heads and values on, in rows i + 32 q. xi: x + i. val: of the first of the 32
 * segments. All loads are issued before the first sum. A row without an entry adds 0, which changes no sum: sums begin with
 * +0. */
template <typename T, wr_dia_kind KIND, int N>
static __device__ inline void dia_add(const dia_head *heads, const double *values, const T *xi, const T *val,
                                      double (&sum)[Q]) {
  unsigned bit = 1u << threadIdx.x % WR_WARP;
  T v[N][Q], x[N][Q];
#pragma unroll
  for (int k = 0; k < N; k++) {
    dia_head head = heads[k];
    const T *xk = wr_own_address(xi + head.difference), *vk = val + head.before;
#pragma unroll
    for (int q = 0; q < Q; q++) {
      bool is_in = head.mask[q] & bit;
      x[k][q] = is_in ? __ldg(xk + q * WR_WARP) : (T)0;
      if (KIND != WR_DIA_VALUES) continue;
      v[k][q] = is_in ? __ldcs(vk + __popc(head.mask[q] & (bit - 1))) : (T)0;
      vk += __popc(head.mask[q]);
    }
  }
#pragma unroll
  for (int k = 0; k < N; k++)
#pragma unroll
    for (int q = 0; q < Q; q++)
      sum[q] += KIND == WR_DIA_PAIRS    ? values[k] * (double)x[k][q]
                : KIND == WR_DIA_VALUES ? (double)(v[k][q] * x[k][q])
                                        : (double)x[k][q];
}

/* y = alpha*A*x + beta*y and the epilogue. A warp takes every n-th slice; the segments of what it multiplies next are in flight
 * while it waits for x, and the place of the slice after that. */
template <typename T, wr_dia_kind KIND, wr_finish_mask MASK>
__global__ void __launch_bounds__(THREADS, (blocks_of<T, KIND>()))
    sliced_dia(WR_KERNEL_PARAMETER dia_args<T> a, WR_KERNEL_PARAMETER wr_finish<T> given) {
  WR_SHARED(dia_head, all_heads, THREADS);
  WR_SHARED(double, all_values, THREADS);
  const wr_sliced_dia &d = a.format;
  int lane = threadIdx.x % WR_WARP, warp = threadIdx.x / WR_WARP;
  dia_head *heads = all_heads + warp * WR_WARP;
  double *values = all_values + warp * WR_WARP;
  wr_let_next_begin();
  int64_t slice = (int64_t)blockIdx.x * WARPS + warp, stride = (int64_t)gridDim.x * WARPS;
  dia_place here = dia_slice<KIND>(d, slice), after = dia_slice<KIND>(d, slice + stride);
  dia_own<T> own = dia_fetch<KIND, T>(d, here);
  wr_wait_for_earlier();
  const auto finish = wr_finish_known<MASK>(given);
  wr_finish_scalars scalars = wr_finish_begin(finish);
  double sum[Q] = {}, reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  while (slice < d.slices) {
    int64_t i = slice * WR_DIA_ROWS + lane;
    int count = (int)min(here.end - here.segment, (int64_t)WR_WARP);
    bool ends = here.segment + WR_WARP >= here.end;
    int entries = dia_share<KIND>(own, heads, values);
    dia_place next = {here.segment + WR_WARP, here.end, here.val + entries};
    if (ends) next = after, after = dia_slice<KIND>(d, slice + 2 * stride);
    own = dia_fetch<KIND, T>(d, next);
    wr_finish_rows<T, 1> row[Q];
#pragma unroll
    for (int q = 0; q < Q; q++)
      if (ends && i + q * WR_WARP < d.nrows) wr_finish_load(finish, i + q * WR_WARP, row[q]);
    __syncwarp();
    const T *xi = wr_own_address(a.x + i), *val = wr_own_address((const T *)d.val + here.val);
    int k = 0;
    for (; k + FEW < count; k += MANY) dia_add<T, KIND, MANY>(heads + k, values + k, xi, val, sum);
    if (k < count) dia_add<T, KIND, FEW>(heads + k, values + k, xi, val, sum);
    __syncwarp(); /* heads may be written again */
#pragma unroll
    for (int q = 0; q < Q; q++) {
      int64_t r = i + q * WR_WARP;
      if (!ends || r >= d.nrows) continue;
      row[q].value[0] = wr_finish_beta(a.alpha, a.beta, a.y, r, sum[q]);
      wr_finish_store(finish, scalars, r, row[q], a.y, reduced);
    }
    if (ends) slice += stride;
#pragma unroll
    for (int q = 0; q < Q; q++) sum[q] = ends ? 0 : sum[q];
    here = next;
  }
  wr_sums_leave(given.sums, reduced); /* the parameter, as a copy of its step would be in local memory */
}

template <typename T, wr_dia_kind KIND>
static wr_status launch_kind(wr_env *env, const dia_args<T> &a, const wr_finish<T> &finish) {
  unsigned grid = wr_cuda_grid(env, (a.format.slices + WARPS - 1) / WARPS, blocks_of<T, KIND>());
  PASS((wr_finish_with_mask<T, KIND == WR_DIA_PATTERN>(wr_finish_mask_of(finish), [&](auto known) {
    return WR_LAUNCH_EARLY(env, (sliced_dia<T, KIND, known.value>), grid, THREADS, 0, a, finish);
  })));
  return wr_left_sums_launch(env, finish.sums, grid);
}

template <typename T>
static wr_status launch(wr_env *env, const wr_sliced_dia *d, const wr_apply *request) {
  dia_args<T> a = {*d, (const T *)request->x->data, (T *)request->y->data, request->alpha, request->beta};
  wr_finish<T> finish = wr_finish_make<T>(env, request->epilogue);
  switch (d->kind) {
    case WR_DIA_PAIRS: return launch_kind<T, WR_DIA_PAIRS>(env, a, finish);
    case WR_DIA_VALUES: return launch_kind<T, WR_DIA_VALUES>(env, a, finish);
    case WR_DIA_PATTERN: break;
  }
  return launch_kind<T, WR_DIA_PATTERN>(env, a, finish);
}

extern "C" wr_status wr_sliced_dia_reserve(wr_env *env) {
  return wr_left_sums_reserve(env, MOST_BLOCKS * wr_cuda_processors(env));
}

extern "C" wr_status wr_sliced_dia_launch(wr_env *env, const wr_sliced_dia *d, const wr_apply *request) {
  PASS(wr_cuda_enter(env));
  return env->type == WR_F32 ? launch<float>(env, d, request) : launch<double>(env, d, request);
}
