#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/warp.cuh"
#include "spmv/backends/merbit/merbit_build.h"

constexpr int THREADS = 256, WARPS = THREADS / WR_WARP;
static_assert((int)WR_WARP == (int)WR_MERBIT_LANES, "a lane of a tile is a lane of a warp");

/* The type that atomicOr takes for a lane's word. */
template <typename W>
struct flags_of {
  typedef unsigned type;
};
template <>
struct flags_of<uint64_t> {
  typedef unsigned long long type;
};

template <typename P>
static __device__ inline int64_t row_step(const P *row_ptr, int64_t i) {
  return wr_merbit_row_step(row_ptr, sizeof(P) == 8, i);
}

/* One thread for each tile finds its first row (section 4.1.2). All searches run at a time, since each of their two dozen
 * steps waits for memory. P: int32_t or int64_t, of row_ptr and tile_x. */
template <typename P>
__global__ void __launch_bounds__(THREADS) merbit_build_tiles(const wr_merbit_format f, const P *row_ptr) {
  int64_t tile = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (tile > f.tiles) return;
  int64_t begin = wr_merbit_lane_step(tile, 0, f.sigma), end = wr_merbit_lane_step(tile + 1, 0, f.sigma);
  int64_t y = wr_merbit_search(row_ptr, sizeof(P) == 8, 0, f.nrows < begin ? f.nrows : begin, begin);
  bool is_long = tile < f.tiles && (y == f.nrows || row_step(row_ptr, y) >= end);
  ((P *)f.tile_x)[tile] = (P)(tile < f.tiles ? begin - y : f.nnz);
  f.tile_y[tile] = (uint32_t)y | (is_long ? WR_MERBIT_LONG_ROW : 0);
}

/* One warp for each tile, a thread for each lane. The warp reads the tile's row pointers coalesced; each row sets the flag of
 * the step that ends it, and a prefix sum over the flags gives y. W: uint32_t or uint64_t, of a word. */
template <typename P, typename W>
__global__ void __launch_bounds__(THREADS) merbit_build_lanes(const wr_merbit_format f, const P *row_ptr) {
  typedef typename flags_of<W>::type word;
  WR_SHARED(word, words, THREADS);
  int lane = threadIdx.x % WR_WARP;
  int64_t tile = (int64_t)blockIdx.x * WARPS + threadIdx.x / WR_WARP;
  if (tile >= f.tiles) return;
  word *flags = words + (threadIdx.x - lane);
  flags[lane] = 0;
  __syncwarp();
  int64_t begin = wr_merbit_lane_step(tile, 0, f.sigma), last = f.tile_y[tile + 1] & ~WR_MERBIT_LONG_ROW;
#pragma unroll 4
  for (int64_t i = (f.tile_y[tile] & ~WR_MERBIT_LONG_ROW) + lane; i < last; i += WR_WARP) {
    int step = (int)(row_step(row_ptr, i) - begin), of = step / f.sigma;
    atomicOr(flags + of, (word)1 << (step - of * f.sigma));
  }
  __syncwarp();
  int ended = __popcll((unsigned long long)flags[lane]), before = ended;
  for (int distance = 1; distance < WR_WARP; distance *= 2) {
    int more = __shfl_up_sync((unsigned)WR_FULL_MASK, before, (unsigned)distance);
    if (lane >= distance) before += more;
  }
  ((W *)f.lane)[tile * WR_WARP + lane] = (W)wr_merbit_pack(flags[lane], before - ended, f.sigma);
}

template <typename P, typename W>
static wr_status launch(wr_env *env, const wr_merbit_format &f, const void *row_ptr) {
  unsigned blocks = (unsigned)(f.tiles / THREADS + 1); /* tiles + 1 threads: the last one writes the end of the path */
  PASS(WR_LAUNCH((merbit_build_tiles<P>), blocks, THREADS, 0, env->stream, f, (const P *)row_ptr));
  blocks = (unsigned)((f.tiles + WARPS - 1) / WARPS);
  return WR_LAUNCH((merbit_build_lanes<P, W>), blocks, THREADS, 0, env->stream, f, (const P *)row_ptr);
}

extern "C" wr_status wr_merbit_device_fill(wr_env *env, const wr_merbit_format *f, const wr_csr_view *view) {
  if (wr_merbit_lane_bytes(f->sigma) == 4)
    return f->wide ? launch<int64_t, uint32_t>(env, *f, view->row_ptr)
                   : launch<int32_t, uint32_t>(env, *f, view->row_ptr);
  return f->wide ? launch<int64_t, uint64_t>(env, *f, view->row_ptr)
                 : launch<int32_t, uint64_t>(env, *f, view->row_ptr);
}

extern "C" void wr_merbit_device_place(wr_merbit_format *f, void *memory) {
  int64_t x_bytes = wr_device_bytes(f->tiles + 1, f->wide ? 8 : 4);
  int64_t y_bytes = wr_device_bytes(f->tiles + 1, sizeof *f->tile_y);
  f->tile_x = memory;
  f->tile_y = (uint32_t *)(void *)((char *)memory + x_bytes);
  f->lane = (char *)memory + x_bytes + y_bytes;
}

extern "C" void wr_merbit_device_free(wr_env *env, wr_merbit_format *format) {
  wr_device_free(env, format->tile_x); /* all arrays are in this allocation */
  format->tile_x = NULL, format->tile_y = NULL, format->lane = NULL;
}

extern "C" int64_t wr_merbit_device_bytes(const wr_merbit_format *shape) {
  return wr_device_bytes(shape->tiles + 1, shape->wide ? 8 : 4) +
         wr_device_bytes(shape->tiles + 1, sizeof *shape->tile_y) +
         wr_device_bytes(shape->tiles * WR_MERBIT_LANES, (size_t)wr_merbit_lane_bytes(shape->sigma));
}

extern "C" wr_status wr_merbit_download(wr_env *env, const wr_merbit_format *format, wr_merbit_format *to) {
  wr_status status;
  wr_conversion words = wr_merbit_lane_bytes(format->sigma) == 4 ? WR_AS_4_BYTES : WR_AS_8_BYTES;
  *to = *format;
  TRY(wr_merbit_alloc(to));
  TRY(wr_device_download(env, to->tile_x, format->tile_x, format->tiles + 1,
                         format->wide ? WR_AS_8_BYTES : WR_AS_4_BYTES));
  TRY(wr_device_download(env, to->tile_y, format->tile_y, format->tiles + 1, WR_AS_4_BYTES));
  TRY(wr_device_download(env, to->lane, format->lane, format->tiles * WR_MERBIT_LANES, words));
done:
  if (status != WR_OK) wr_merbit_free(to);
  return status;
}
