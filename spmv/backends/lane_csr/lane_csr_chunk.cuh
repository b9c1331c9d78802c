/* What the kernels of lane_csr share: how a lane loads its entries of a chunk. */
#ifndef WR_LANE_CSR_CHUNK_CUH
#define WR_LANE_CSR_CHUNK_CUH

#include <string.h>

#include "spmv/backends/lane_csr/lane_csr_format.h"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/warp.cuh"

constexpr int EACH = WR_LANE_EACH, CHUNK = WR_LANE_CHUNK;

/* How columns are stored. */
enum lane_columns { FULL, HUBS, WINDOWS, STAGED };

/* How values are stored. */
enum lane_values { NO_VALUES, FULL_VALUES, NARROW_VALUES, CODED_VALUES };

/* 16 bytes as they are loaded: the lane's next elements. */
template <typename E>
struct lane_bundle {
  static constexpr int COUNT = 16 / (int)sizeof(E);
  E element[COUNT];
};

/* to[EACH] := the lane's elements of chunk w. */
template <typename E>
static __device__ inline void lane_load(const E *from, int w, E (&to)[EACH]) {
  constexpr int COUNT = lane_bundle<E>::COUNT;
  const uint4 *at = (const uint4 *)(from + (int64_t)w * CHUNK) + threadIdx.x % WR_WARP;
#pragma unroll
  for (int b = 0; b < EACH / COUNT; b++) {
    uint4 loaded = __ldcs(at + b * WR_WARP);
    lane_bundle<E> bundle;
    memcpy(&bundle, &loaded, sizeof bundle);
#pragma unroll
    for (int j = 0; j < COUNT; j++) to[b * COUNT + j] = bundle.element[j];
  }
}

/* to[EACH] := the codes of the lane's values in chunk w. */
static __device__ inline void lane_load(const uint8_t *from, int w, uint8_t (&to)[EACH]) {
  const uint2 loaded = __ldcs((const uint2 *)(from + (int64_t)w * CHUNK) + threadIdx.x % WR_WARP);
  memcpy(to, &loaded, sizeof loaded);
}

/* value[EACH] := the lane's values of chunk w. The loads are waited for if the format has them in fewer bytes than T. */
template <typename T>
static __device__ inline void lane_load_values(const wr_lane_csr &c, int w, T (&value)[EACH]) {
  if (c.value_bytes == (int)sizeof(T)) {
    lane_load((const T *)c.val, w, value);
  } else if (c.value_bytes == 4) {
    float narrow[EACH];
    lane_load((const float *)c.val, w, narrow);
#pragma unroll
    for (int j = 0; j < EACH; j++) value[j] = (T)narrow[j];
  } else {
    uint8_t code[EACH];
    lane_load((const uint8_t *)c.val, w, code);
#pragma unroll
    for (int j = 0; j < EACH; j++) value[j] = (T)__ldg(c.table + code[j]);
  }
}

/* What is loaded ahead of a chunk: its columns as they are stored, and its row ends. */
template <lane_columns COLUMNS>
struct lane_codes {
  int32_t code[EACH];
  uint32_t end;
};

template <>
struct lane_codes<WINDOWS> {
  uint4 low; /* eight 16-bit ones */
  int32_t window[2];
  uint32_t end;
};

template <lane_columns COLUMNS>
static __device__ inline void lane_ahead(const wr_lane_csr &c, int w, lane_codes<COLUMNS> &codes) {
  if (w >= c.chunks) return;
  if constexpr (COLUMNS == WINDOWS) {
    codes.low = __ldcs((const uint4 *)(c.low + (int64_t)w * CHUNK) + threadIdx.x % WR_WARP);
    const int32_t *window = c.window + (int64_t)w * 2;
    codes.window[0] = __ldg(window), codes.window[1] = __ldg(window + 1);
  } else {
    lane_load(c.code, w, codes.code);
  }
  codes.end = __ldcs(c.end + (int64_t)w * WR_WARP + threadIdx.x % WR_WARP);
}

/* code[EACH] := columns; with hubs ~h for the h-th; staged ncols + p for the p-th staged element; negative for padding. */
template <lane_columns COLUMNS>
static __device__ inline void lane_columns_of(const wr_lane_csr &c, const lane_codes<COLUMNS> &codes,
                                              int32_t (&code)[EACH]) {
  if constexpr (COLUMNS != WINDOWS) {
#pragma unroll
    for (int j = 0; j < EACH; j++) code[j] = codes.code[j];
  } else {
    lane_bundle<uint16_t> low;
    memcpy(&low, &codes.low, sizeof low);
    if (codes.window[1] != WR_LANE_WIDE) {
#pragma unroll
      for (int j = 0; j < EACH; j++) {
        int32_t at = low.element[j];
        code[j] = at == WR_LANE_NONE ? -1 : at + (at < WR_LANE_WINDOW ? codes.window[0] : codes.window[1]);
      }
    } else {
      uint16_t high[EACH];
      lane_load(c.high, codes.window[0], high);
#pragma unroll
      for (int j = 0; j < EACH; j++) code[j] = (int32_t)((uint32_t)high[j] << 16 | low.element[j]);
    }
  }
}

/* The chunk at a place; at least the number of chunks where there is none. */
static __device__ inline int lane_chunk(const wr_lane_csr &c, int p) {
  return c.order && p < c.chunks ? __ldg(c.order + p) : p;
}

#endif
