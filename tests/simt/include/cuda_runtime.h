/* The device language as g++ reads it: qualifiers that say nothing, built-in variables, and the functions that kernels may
 * use. What needs other threads goes to simt_block.cpp; the call site travels along in default arguments. */
#ifndef CUDA_RUNTIME_H
#define CUDA_RUNTIME_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <tuple>
#include <typeinfo>

#include <cuda_runtime_api.h>

#include "tests/simt/simt.h"

#define WR_SIMT 1 /* this is the shim */

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

#define SIMT_VECTORS(T, name)                                                                      \
  struct __align__(2 * sizeof(T)) name##2 { T x, y; };                                              \
  struct __align__(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) name##4 { T x, y, z, w; };              \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; }                                        \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
SIMT_VECTORS(int, int)
SIMT_VECTORS(unsigned, uint)
SIMT_VECTORS(short, short)
SIMT_VECTORS(unsigned short, ushort)
SIMT_VECTORS(signed char, char)
SIMT_VECTORS(unsigned char, uchar)
SIMT_VECTORS(float, float)
SIMT_VECTORS(double, double)
SIMT_VECTORS(long long, longlong)
SIMT_VECTORS(unsigned long long, ulonglong)
#undef SIMT_VECTORS

#define SIMT_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

/* ---- Barriers and votes of a block ---- */

inline void __syncthreads(SIMT_HERE) { simt_barrier(0, {file, line, "__syncthreads"}); }
inline int __syncthreads_count(int p, SIMT_HERE) { return simt_barrier(p != 0, {file, line, "__syncthreads_count"}); }
inline int __syncthreads_or(int p, SIMT_HERE) { return simt_barrier(p != 0, {file, line, "__syncthreads_or"}) > 0; }
inline int __syncthreads_and(int p, SIMT_HERE) { return simt_barrier(p == 0, {file, line, "__syncthreads_and"}) == 0; }

/* ---- Collectives of a warp ---- */

template <typename T>
inline uint64_t simt_bits(T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  return bits;
}

template <typename T>
inline T simt_value(uint64_t bits) {
  T value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Lane of the same segment of `width` lanes, or the caller's own when `from` is outside of it. */
inline int simt_source(int from, int first, int width) {
  return from >= first && from < first + width ? from : simt_lane();
}

inline int simt_segment(int width) { return simt_lane() / width * width; }

template <typename T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, SIMT_HERE) {
  int lane = simt_segment(width) + (source & (width - 1));
  return simt_value<T>(simt_meet(SIMT_SHUFFLE, mask, simt_bits(value), lane, {file, line, "__shfl_sync"}));
}

template <typename T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32, SIMT_HERE) {
  int lane = simt_source(simt_lane() - (int)distance, simt_segment(width), width);
  return simt_value<T>(simt_meet(SIMT_SHUFFLE, mask, simt_bits(value), lane, {file, line, "__shfl_up_sync"}));
}

template <typename T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32, SIMT_HERE) {
  int lane = simt_source(simt_lane() + (int)distance, simt_segment(width), width);
  return simt_value<T>(simt_meet(SIMT_SHUFFLE, mask, simt_bits(value), lane, {file, line, "__shfl_down_sync"}));
}

/* Lanes of later segments are out of reach, lanes of earlier ones are not: as the hardware has it. */
template <typename T>
inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, SIMT_HERE) {
  int lane = simt_source(simt_lane() ^ bits, 0, simt_segment(width) + width);
  return simt_value<T>(simt_meet(SIMT_SHUFFLE, mask, simt_bits(value), lane, {file, line, "__shfl_xor_sync"}));
}

inline void __syncwarp(unsigned mask = 0xffffffffu, SIMT_HERE) {
  simt_meet(SIMT_SYNC, mask, 0, 0, {file, line, "__syncwarp"});
}
inline unsigned __ballot_sync(unsigned mask, int p, SIMT_HERE) {
  return (unsigned)simt_meet(SIMT_BALLOT, mask, p != 0, 0, {file, line, "__ballot_sync"});
}
inline int __any_sync(unsigned mask, int p, SIMT_HERE) {
  return simt_meet(SIMT_BALLOT, mask, p != 0, 0, {file, line, "__any_sync"}) != 0;
}
inline int __all_sync(unsigned mask, int p, SIMT_HERE) {
  return simt_meet(SIMT_BALLOT, mask, p != 0, 0, {file, line, "__all_sync"}) == mask;
}
template <typename T>
inline unsigned __match_any_sync(unsigned mask, T value, SIMT_HERE) {
  return (unsigned)simt_meet(SIMT_MATCH, mask, simt_bits(value), 0, {file, line, "__match_any_sync"});
}
template <typename T>
inline unsigned __match_all_sync(unsigned mask, T value, int *all, SIMT_HERE) {
  *all = simt_meet(SIMT_MATCH, mask, simt_bits(value), 0, {file, line, "__match_all_sync"}) == mask;
  return *all ? mask : 0;
}

#define SIMT_REDUCE(name, T, op)                                                  \
  inline T name(unsigned mask, T value, SIMT_HERE) {                              \
    return (T)simt_meet(op, mask, (uint64_t)(int64_t)value, 0, {file, line, #name}); \
  }
SIMT_REDUCE(__reduce_add_sync, unsigned, SIMT_ADD)
SIMT_REDUCE(__reduce_add_sync, int, SIMT_ADD)
SIMT_REDUCE(__reduce_min_sync, unsigned, SIMT_MIN)
SIMT_REDUCE(__reduce_min_sync, int, SIMT_MIN)
SIMT_REDUCE(__reduce_max_sync, unsigned, SIMT_MAX)
SIMT_REDUCE(__reduce_max_sync, int, SIMT_MAX)
SIMT_REDUCE(__reduce_and_sync, unsigned, SIMT_AND)
SIMT_REDUCE(__reduce_or_sync, unsigned, SIMT_OR)
SIMT_REDUCE(__reduce_xor_sync, unsigned, SIMT_XOR)
#undef SIMT_REDUCE

/* ---- Atomics: threads change only where they wait, so plain code is atomic ---- */

#define SIMT_ATOMIC(name, T, result) \
  inline T name(T *at, T value) {    \
    T old = *at;                     \
    *at = (T)(result);               \
    return old;                      \
  }
#define SIMT_ATOMICS(T)                                      \
  SIMT_ATOMIC(atomicAdd, T, old + value)                     \
  SIMT_ATOMIC(atomicExch, T, value)                          \
  SIMT_ATOMIC(atomicMin, T, value < old ? value : old)       \
  SIMT_ATOMIC(atomicMax, T, value > old ? value : old)       \
  SIMT_ATOMIC(atomicAnd, T, old & value)                     \
  SIMT_ATOMIC(atomicOr, T, old | value)                      \
  SIMT_ATOMIC(atomicXor, T, old ^ value)                     \
  inline T atomicCAS(T *at, T expected, T value) {           \
    T old = *at;                                             \
    simt_order_counts = true;                                \
    if (old == expected) *at = value;                        \
    return old;                                              \
  }
SIMT_ATOMICS(int)
SIMT_ATOMICS(unsigned)
SIMT_ATOMICS(unsigned long long)
SIMT_ATOMIC(atomicSub, int, old - value)
SIMT_ATOMIC(atomicSub, unsigned, old - value)
SIMT_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
SIMT_ATOMIC(atomicAdd, float, (simt_order_counts = true, old + value))
SIMT_ATOMIC(atomicAdd, double, (simt_order_counts = true, old + value))
SIMT_ATOMIC(atomicExch, float, value)
#undef SIMT_ATOMICS
#undef SIMT_ATOMIC

/* ---- Memory and arithmetic ---- */

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {}

template <typename T>
inline T __ldg(const T *at) {
  return *at;
}
template <typename T>
inline T __ldcs(const T *at) {
  return *at;
}
template <typename T>
inline T __ldcg(const T *at) {
  return *at;
}
template <typename T>
inline T __ldca(const T *at) {
  return *at;
}
template <typename T>
inline T __ldlu(const T *at) {
  return *at;
}
template <typename T>
inline void __stcs(T *at, T value) {
  *at = value;
}
template <typename T>
inline void __stcg(T *at, T value) {
  *at = value;
}
template <typename T>
inline void __stwt(T *at, T value) {
  *at = value;
}

inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __clz(int v) { return v ? __builtin_clz((unsigned)v) : 32; }
inline int __clzll(long long v) { return v ? __builtin_clzll((unsigned long long)v) : 64; }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline unsigned __brev(unsigned v) {
  unsigned r = 0;
  for (int k = 0; k < 32; k++) r |= (v >> k & 1) << (31 - k);
  return r;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return (unsigned)((((uint64_t)high << 32 | low) << (by & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return (unsigned)(((uint64_t)high << 32 | low) >> (by & 31));
}
inline int __float_as_int(float v) { return simt_value<int>(simt_bits(v)); }
inline unsigned __float_as_uint(float v) { return simt_value<unsigned>(simt_bits(v)); }
inline float __int_as_float(int v) { return simt_value<float>(simt_bits(v)); }
inline float __uint_as_float(unsigned v) { return simt_value<float>(simt_bits(v)); }
inline long long __double_as_longlong(double v) { return simt_value<long long>(simt_bits(v)); }
inline double __longlong_as_double(long long v) { return simt_value<double>(simt_bits(v)); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
template <typename T>
inline T min(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
inline T max(T a, T b) {
  return a < b ? b : a;
}

/* ---- The host's calls that take a kernel ---- */

template <class Kernel>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, Kernel kernel) {
  return simt_get_attributes(attributes, (const void *)kernel);
}
template <class Kernel>
inline cudaError_t cudaFuncSetAttribute(Kernel kernel, cudaFuncAttribute attribute, int value) {
  return simt_set_attribute((const void *)kernel, attribute, value);
}
template <class Kernel>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Kernel, int threads, size_t shared) {
  return simt_occupancy(blocks, threads, shared);
}

/* A kernel with its arguments, which are copied once, as a launch does. */
template <class... P>
struct simt_call {
  void (*kernel)(P...);
  std::tuple<P...> arguments;
  static void run(void *self) {
    auto *call = static_cast<simt_call *>(self);
    std::apply(call->kernel, call->arguments);
  }
};

template <class... P, class... A>
inline cudaError_t simt_launch_kernel(const char *name, const char *file, int line, dim3 grid, dim3 block,
                                      size_t shared, void (*kernel)(P...), A... arguments) {
  simt_call<P...> call{kernel, {static_cast<P>(arguments)...}};
  return simt_do([=]() mutable {
    simt_launch launch = {name,     file, line, grid, block, shared, (const void *)kernel, &typeid(kernel),
                          call.run, &call};
    return simt_run(&launch);
  });
}

/* launch.cuh's macros, before it defines the real ones. */
#define WR_WITHOUT_PARENTHESES(...) __VA_ARGS__
#define WR_LAUNCH_EARLY(env, kernel, grid, block, shared, ...) \
  WR_LAUNCH(kernel, grid, block, shared, (env)->stream, __VA_ARGS__)
#define WR_LAUNCH(kernel, grid, block, shared, stream, ...)                                                     \
  ((void)(stream), wr_launch_check(simt_launch_kernel(#kernel, __FILE__, __LINE__, (grid), (block), (shared), \
                                                      WR_WITHOUT_PARENTHESES kernel, __VA_ARGS__),            \
                                   #kernel))
/* Blocks run one after another here: one is all that can wait for all. */
#define WR_LAUNCH_TOGETHER(kernel, grid, block, shared, stream, ...) \
  ((grid) == 1 ? WR_LAUNCH(kernel, grid, block, shared, stream, __VA_ARGS__) \
               : wr_fail(WR_EDEVICE, "kernel %s: its blocks cannot run at the same time here", #kernel))
#define WR_SHARED(T, name, n)                                                                          \
  static simt_shared simt_array_of_##name = {#name, __FILE__, __LINE__, sizeof(T) * (n), alignof(T), 0, nullptr}; \
  T *name = static_cast<T *>(simt_shared_room(&simt_array_of_##name))
#define WR_SHARED_DYNAMIC(T, name) T *name = static_cast<T *>(simt_shared_dynamic())

#endif
