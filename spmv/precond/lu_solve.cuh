/* The kernel that solves with both triangular factors (lu_slices.h). Its blocks run at the same time.
 *
 * Slice s of a phase that all blocks share is taken by warp s modulo the number of warps, counted over blocks first, so
 * that the slices of a small level are on different multiprocessors. Each warp takes its slices in ascending order and an
 * unknown needs unknowns of earlier slices alone, so the first slice that is not finished can always go on.
 *
 * WAITS: an unknown waits for its inputs one by one. Before a launch all of w is EMPTY, a NaN that no computed value is
 * equal to, so a word that is not EMPTY is the value itself, and no fence is needed. There are two vectors w, which
 * launches use in turn: a thread that stores an unknown makes it EMPTY in the other one. Not WAITS: a grid barrier stands
 * behind each phase.
 *
 * Inputs are read by volatile loads, which take them from L2, where other multiprocessors store them. */
#ifndef WR_LU_SOLVE_CUH
#define WR_LU_SOLVE_CUH

#include "spmv/kernel/meet.cuh"
#include "spmv/kernel/warp.cuh"
#include "spmv/precond/lu_slices.h"

constexpr int WR_LU_THREADS = WR_LU_WARPS * WR_WARP, WR_LU_BATCH = 4; /* entries of a lane in flight */

/* Words on the device, 0 before the first launch. */
typedef struct wr_lu_counts {
  unsigned arrived; /* at grid barriers, 0 between launches  */
  unsigned ended;   /* blocks, 0 between launches            */
  unsigned odd;     /* 1: the next launch uses the second w  */
} wr_lu_counts;

/* T: the type of the factors and of w; V: that of r and z. */
template <typename T, typename V>
struct wr_lu_args {
  const wr_lu_slice *slice;
  const wr_lu_phase *phase;
  const int32_t *level_slice, *source, *into, *col;
  const T *val, *inverse;
  int32_t lower;        /* unknowns of L                      */
  int phase_begin, phase_end;
  int slots;            /* of shared memory, a power of two   */
  T *w;                 /* [2][stride]; not WAITS: [stride]   */
  int64_t stride;
  const V *r;
  V *z;
  wr_lu_counts *counts;
};

static __device__ inline bool wr_lu_is_empty(double v) { return __double_as_longlong(v) == -1; }
static __device__ inline bool wr_lu_is_empty(float v) { return __float_as_int(v) == -1; }
static __device__ inline double wr_lu_empty(double) { return __longlong_as_double(-1); }
static __device__ inline float wr_lu_empty(float) { return __int_as_float(-1); }

/* v, or if it is NaN, one that is not EMPTY. */
static __device__ inline double wr_lu_full(double v) { return v == v ? v : __longlong_as_double(0x7ff8000000000000); }
static __device__ inline float wr_lu_full(float v) { return v == v ? v : __int_as_float(0x7fc00000); }

/* A block's view of a launch. */
template <typename T>
struct wr_lu_block {
  T *w, *other; /* those of this launch and of the next one; other: NULL if not WAITS */
  T *window;    /* [slots] in shared memory */
};

/* What a lane has loaded of a slice before the inputs of the slice are there. */
template <typename T>
struct wr_lu_begun {
  wr_lu_slice slice;
  int32_t col[WR_LU_BATCH];
  T val[WR_LU_BATCH];
  int32_t source, into; /* of the lane that ends an unknown */
  T given, inverse;     /* the source's value, if known     */
};

template <typename T>
static __device__ inline int wr_lu_width(const wr_lu_begun<T> &b) {
  return (int)(b.slice.shape & 255);
}
template <typename T>
static __device__ inline int wr_lu_log_lanes(const wr_lu_begun<T> &b) {
  return (int)(b.slice.shape >> 13 & 7);
}
template <typename T>
static __device__ inline bool wr_lu_is_upper(const wr_lu_begun<T> &b) {
  return b.slice.shape >> 16 & 1;
}

/* The unknown that the lane is to store; -1: none. */
template <typename T>
static __device__ inline int32_t wr_lu_own(const wr_lu_begun<T> &b) {
  int lane = threadIdx.x % WR_WARP, log_lanes = wr_lu_log_lanes(b);
  bool ends_one = (lane & ((1 << log_lanes) - 1)) == 0 && lane >> log_lanes <= (int)(b.slice.shape >> 8 & 31);
  return ends_one ? b.slice.first + (lane >> log_lanes) : -1;
}

static __device__ inline wr_lu_slice wr_lu_load_slice(const wr_lu_slice *at) {
  int4 words = __ldg((const int4 *)at);
  return {(uint32_t)words.x, words.y, words.z, (uint32_t)words.w};
}

/* Loads entries e..e + WR_LU_BATCH - 1 of the lane. */
template <typename T, typename V>
static __device__ inline void wr_lu_load_entries(const wr_lu_args<T, V> &a, const wr_lu_slice &slice, int e,
                                                 int32_t (&col)[WR_LU_BATCH], T (&val)[WR_LU_BATCH]) {
  int64_t at = WR_WARP * ((int64_t)slice.group + e) + threadIdx.x % WR_WARP;
  int left = (int)(slice.shape & 255) - e;
#pragma unroll
  for (int k = 0; k < WR_LU_BATCH; k++) col[k] = k < left ? __ldg(a.col + at + k * WR_WARP) : WR_LU_NONE;
#pragma unroll
  for (int k = 0; k < WR_LU_BATCH; k++) val[k] = k < left ? __ldg(a.val + at + k * WR_WARP) : (T)0;
}

/* Loads what stands in the format; the loads are in flight when it returns. */
template <typename T, typename V>
static __device__ inline void wr_lu_begin(const wr_lu_args<T, V> &a, const wr_lu_slice &slice, wr_lu_begun<T> &b) {
  b.slice = slice;
  wr_lu_load_entries(a, slice, 0, b.col, b.val);
  int32_t own = wr_lu_own(b);
  bool is_upper = wr_lu_is_upper(b) && own >= 0;
  b.source = own >= 0 ? __ldg(a.source + own) : -1;
  b.into = is_upper ? __ldg(a.into + own - a.lower) : -1;
  b.inverse = is_upper ? __ldg(a.inverse + own - a.lower) : (T)1;
  b.given = 0;
}

template <typename T>
static __device__ inline T wr_lu_read(const T *w, int32_t k) {
  return *(const volatile T *)(w + k);
}

/* Loads the value of the source. Of U it may be EMPTY still. */
template <bool WAITS, typename T, typename V>
static __device__ inline void wr_lu_load_given(const wr_lu_args<T, V> &a, const wr_lu_block<T> &block,
                                               wr_lu_begun<T> &b) {
  if (b.source < 0) return;
  if (!wr_lu_is_upper(b))
    b.given = (T)__ldg(a.r + b.source);
  else if (WAITS)
    b.given = wr_lu_read(block.w, b.source);
}

/* value := w[k], which may have been read as EMPTY. */
template <typename T>
static __device__ inline void wr_lu_settle(const T *w, int32_t k, T &value) {
#ifdef WR_SIMT
  if (wr_lu_is_empty(value)) wr_spin_until([&] { return !wr_lu_is_empty(value = wr_lu_read(w, k)); });
#else
  while (wr_lu_is_empty(value)) value = wr_lu_read(w, k);
#endif
}

template <bool WAITS, typename T>
static __device__ inline double wr_lu_add(const wr_lu_block<T> &block, const int32_t (&col)[WR_LU_BATCH],
                                          const T (&val)[WR_LU_BATCH], double sum) {
  T x[WR_LU_BATCH];
#pragma unroll
  for (int k = 0; k < WR_LU_BATCH; k++)
    x[k] = col[k] >= 0 ? wr_lu_read(block.w, col[k]) : col[k] == WR_LU_NONE ? (T)0 : block.window[~col[k]];
#pragma unroll
  for (int k = 0; k < WR_LU_BATCH; k++) {
    if (WAITS && col[k] >= 0) wr_lu_settle(block.w, col[k], x[k]);
    sum += (double)val[k] * (double)x[k];
  }
  return sum;
}

/* Stores unknown `own`. In a run it goes to shared memory, too. */
template <bool WAITS, bool RUN, typename T, typename V>
static __device__ inline void wr_lu_store(const wr_lu_args<T, V> &a, const wr_lu_block<T> &block,
                                          const wr_lu_begun<T> &b, int32_t own, double sum) {
  T value = wr_lu_full((T)(((double)b.given - sum) * (double)b.inverse));
  *(volatile T *)(block.w + own) = value;
  if (RUN) block.window[own & (a.slots - 1)] = value;
  if (b.into >= 0) a.z[b.into] = (V)value;
  if (WAITS) block.other[own] = wr_lu_empty(value);
}

/* Does the slice, by a warp. */
template <bool WAITS, bool RUN, typename T, typename V>
static __device__ inline void wr_lu_end(const wr_lu_args<T, V> &a, const wr_lu_block<T> &block, wr_lu_begun<T> &b) {
  int width = wr_lu_width(b), log_lanes = wr_lu_log_lanes(b);
  double sum = 0;
  if (WAITS && !RUN && b.slice.gate >= 0)
    wr_spin_until([&] { return !wr_lu_is_empty(wr_lu_read(block.w, b.slice.gate)); });
  if (!WAITS && b.source >= 0 && wr_lu_is_upper(b)) b.given = wr_lu_read(block.w, b.source);
  for (int e = WR_LU_BATCH;; e += WR_LU_BATCH) {
    int32_t col[WR_LU_BATCH];
    T val[WR_LU_BATCH];
    if (e < width) wr_lu_load_entries(a, b.slice, e, col, val);
    sum = wr_lu_add<WAITS>(block, b.col, b.val, sum);
    if (e >= width) break;
#pragma unroll
    for (int k = 0; k < WR_LU_BATCH; k++) b.col[k] = col[k], b.val[k] = val[k];
  }
  __syncwarp(); /* the shuffles below are slow if lanes have diverged */
#pragma unroll
  for (int distance = WR_WARP / 2; distance > 0; distance /= 2)
    if (distance < 1 << log_lanes) sum += __shfl_xor_sync((unsigned)WR_FULL_MASK, sum, distance);
  int32_t own = wr_lu_own(b);
  if (own < 0) return;
  if (WAITS && wr_lu_is_upper(b) && b.source >= 0) wr_lu_settle(block.w, b.source, b.given);
  wr_lu_store<WAITS, RUN>(a, block, b, own, sum);
}

/* Slices [s.begin, s.end) by all blocks. `wait` ends when the phase before has ended. */
template <bool WAITS, typename T, typename V, class Wait>
static __device__ inline void wr_lu_wide(const wr_lu_args<T, V> &a, const wr_lu_block<T> &block,
                                         const wr_lu_phase &phase, Wait wait) {
  int64_t stride = (int64_t)gridDim.x * WR_LU_WARPS;
  int64_t s = phase.begin + (int64_t)(threadIdx.x / WR_WARP) * gridDim.x + blockIdx.x;
  wr_lu_slice next = {};
  wr_lu_begun<T> now = {}, then = {};
  if (s < phase.end) {
    wr_lu_begin(a, wr_lu_load_slice(a.slice + s), now);
    if (s + stride < phase.end) next = wr_lu_load_slice(a.slice + s + stride);
    wr_lu_load_given<WAITS>(a, block, now);
  }
  wait();
  for (; s < phase.end; s += stride) {
    bool goes_on = s + stride < phase.end;
    if (goes_on) wr_lu_begin(a, next, then);
    if (s + 2 * stride < phase.end) next = wr_lu_load_slice(a.slice + s + 2 * stride);
    wr_lu_end<WAITS, false>(a, block, now);
    if (!goes_on) break;
    wr_lu_load_given<WAITS>(a, block, then);
    now = then;
  }
}

/* A run by one block: in each level a warp has one slice at most. While a level is solved, the format's part of the next one
 * is loaded. */
template <bool WAITS, typename T, typename V, class Wait>
static __device__ inline void wr_lu_run(const wr_lu_args<T, V> &a, const wr_lu_block<T> &block,
                                        const wr_lu_phase &phase, Wait wait) {
  int warp = threadIdx.x / WR_WARP;
  const int32_t *starts = a.level_slice + phase.level;
  int32_t first = phase.begin + warp, end = __ldg(starts + 1), next_end = __ldg(starts + (phase.levels > 1 ? 2 : 1));
  wr_lu_slice next = {};
  wr_lu_begun<T> now = {}, then = {};
  if (first < end) {
    wr_lu_begin(a, wr_lu_load_slice(a.slice + first), now);
    wr_lu_load_given<WAITS>(a, block, now);
  }
  if (end + warp < next_end) next = wr_lu_load_slice(a.slice + end + warp);
  wait();
  for (int level = 0; level < phase.levels; level++) {
    /* the slices of the next level are [end, next_end), those of the one behind it end at after_end */
    int32_t after_end = level + 3 <= phase.levels ? __ldg(starts + level + 3) : next_end;
    bool is_there = first < end, goes_on = end + warp < next_end;
    if (goes_on) wr_lu_begin(a, next, then);
    if (next_end + warp < after_end) next = wr_lu_load_slice(a.slice + next_end + warp);
    if (is_there) wr_lu_end<WAITS, true>(a, block, now);
    if (goes_on) wr_lu_load_given<WAITS>(a, block, then);
    now = then;
    first = end + warp, end = next_end, next_end = after_end;
    __syncthreads();
  }
}

/* BARRIERS: a grid barrier between phases. */
template <typename T, typename V, bool WAITS, bool BARRIERS>
__global__ void __launch_bounds__(WR_LU_THREADS, 1) wr_lu_solve(WR_KERNEL_PARAMETER wr_lu_args<T, V> a) {
  WR_SHARED_DYNAMIC(T, window);
  unsigned odd = WAITS ? *(const volatile unsigned *)&a.counts->odd : 0, round = 0;
  wr_lu_block<T> block = {a.w + odd * a.stride, WAITS ? a.w + (1 - odd) * a.stride : NULL, window};
  auto wait = [&] {
    if (!BARRIERS || round == 0) return;
    if (threadIdx.x == 0) wr_meet_wait(&a.counts->arrived, round);
    __syncthreads();
  };
  for (int p = a.phase_begin; p < a.phase_end; p++) {
    int4 words = __ldg((const int4 *)(a.phase + p));
    wr_lu_phase phase = {words.x, words.y, words.z, words.w};
    if (phase.levels == 0)
      wr_lu_wide<WAITS>(a, block, phase, wait);
    else if ((unsigned)p % gridDim.x == blockIdx.x)
      wr_lu_run<WAITS>(a, block, phase, wait);
    else
      wait(); /* a block arrives at a barrier after all have arrived at the one before */
    if (!BARRIERS || p + 1 == a.phase_end) continue;
    __syncthreads();
    if (threadIdx.x == 0) wr_meet_arrive(&a.counts->arrived);
    round++;
  }
  if (!WAITS && !BARRIERS) return;
  __syncthreads();
  if (threadIdx.x != 0 || wr_arrive(&a.counts->ended) + 1 != gridDim.x) return;
  a.counts->ended = a.counts->arrived = 0;
  if (WAITS) a.counts->odd = 1 - odd;
}

#endif
