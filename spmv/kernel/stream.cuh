/* Grid-stride loops over vectors: a thread takes 16 bytes of each vector at a time; elements left over, or
 * all of them when a vector is not aligned to 16 bytes, are taken one by one. The grid depends on the length and the
 * number of the card's multiprocessors alone, and so does the order of every sum. */
#ifndef WR_STREAM_CUH
#define WR_STREAM_CUH

#include <stdint.h>

#include "spmv/kernel/launch.cuh"

/* WR_STREAM_BLOCKS: at most, for each multiprocessor; divisible by 1, 2, 4 or 8 resident blocks, so the work is even. */
constexpr int WR_STREAM_THREADS = 256, WR_STREAM_BLOCKS = 8, WR_PACK_BYTES = 16;

/* V elements that are loaded or stored by one access. */
template <typename T, int V>
struct alignas(V * sizeof(T)) wr_pack {
  T at[V];
};

template <typename T, int V>
__device__ inline wr_pack<T, V> wr_load(const T *vector, int64_t group) {
  return reinterpret_cast<const wr_pack<T, V> *>(vector)[group];
}

template <typename T, int V>
__device__ inline void wr_store(T *vector, int64_t group, const wr_pack<T, V> &values) {
  reinterpret_cast<wr_pack<T, V> *>(vector)[group] = values;
}

__device__ inline int64_t wr_stream_thread() { return (int64_t)blockIdx.x * WR_STREAM_THREADS + threadIdx.x; }
__device__ inline int64_t wr_stream_threads() { return (int64_t)gridDim.x * WR_STREAM_THREADS; }

inline bool wr_is_aligned(const void *p) { return (uintptr_t)p % WR_PACK_BYTES == 0; }

/* Blocks for `pieces` pieces of work, each of one thread. */
inline unsigned wr_stream_blocks(const wr_env *env, int64_t pieces) {
  return wr_cuda_grid(env, (pieces + WR_STREAM_THREADS - 1) / WR_STREAM_THREADS, WR_STREAM_BLOCKS);
}

#endif
