#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/warp.cuh"
#include "spmv/merbit/merbit_build.h"

/* No more blocks than an H200 holds at a time; warps take tiles in turn. */
constexpr int THREADS = 256, WARPS = THREADS / WR_WARP, BLOCKS = 132 * 8;
static_assert((int)WR_WARP == (int)WR_MERBIT_LANES, "a lane of a tile is a lane of a warp");

/* A warp a tile, a thread a lane (section 4.1.2). All lanes search the tile's first row together, with the same loads; each
 * then its own, among the few rows that can end in the lanes before it. Neighbouring lanes read neighbouring row pointers,
 * and write neighbouring words. P: int32_t or int64_t, of row_ptr and tile_x; W: uint32_t or uint64_t, of a word. */
template <typename P, typename W>
__global__ void __launch_bounds__(THREADS) merbit_build(const wr_merbit_format f, const P *row_ptr) {
  constexpr int WIDE = sizeof(P) == 8;
  int lane = threadIdx.x % WR_WARP;
  int64_t warp = (int64_t)blockIdx.x * WARPS + threadIdx.x / WR_WARP, warps = (int64_t)gridDim.x * WARPS;
  P *tile_x = (P *)f.tile_x;
  for (int64_t tile = warp; tile < f.tiles; tile += warps) {
    int64_t begin = wr_merbit_lane_step(tile, 0, f.sigma), ahead = (int64_t)lane * f.sigma;
    int64_t first = wr_merbit_search(row_ptr, WIDE, 0, f.nrows < begin ? f.nrows : begin, begin);
    int64_t last = f.nrows - first < ahead ? f.nrows : first + ahead;
    int64_t y = wr_merbit_search(row_ptr, WIDE, first, last, begin + ahead), before = y - first;
    uint64_t flags = wr_merbit_walk(row_ptr, WIDE, f.nrows, begin + ahead, f.sigma, &y);
    ((W *)f.lane)[tile * WR_WARP + lane] = (W)wr_merbit_pack(flags, before, f.sigma);
    bool ends = __any_sync((unsigned)WR_FULL_MASK, flags != 0);
    if (lane == 0) tile_x[tile] = (P)(begin - first);
    if (lane == 0) f.tile_y[tile] = (uint32_t)first | (ends ? 0 : WR_MERBIT_LONG_ROW);
  }
  if (warp == 0 && lane == 0) tile_x[f.tiles] = (P)f.nnz, f.tile_y[f.tiles] = (uint32_t)f.nrows;
}

template <typename P, typename W>
static wr_status launch(wr_env *env, const wr_merbit_format &f, const void *row_ptr) {
  int64_t wanted = (f.tiles + WARPS - 1) / WARPS;
  unsigned blocks = wanted < BLOCKS ? (unsigned)wanted : BLOCKS;
  return WR_LAUNCH((merbit_build<P, W>), blocks, THREADS, 0, env->stream, f, (const P *)row_ptr);
}

static wr_status fill(wr_env *env, const wr_merbit_format &f, const void *row_ptr) {
  if (wr_merbit_lane_bytes(f.sigma) == 4)
    return f.wide ? launch<int64_t, uint32_t>(env, f, row_ptr) : launch<int32_t, uint32_t>(env, f, row_ptr);
  return f.wide ? launch<int64_t, uint64_t>(env, f, row_ptr) : launch<int32_t, uint64_t>(env, f, row_ptr);
}

/* The three arrays, one behind the other: an allocation takes longer than a small format's kernel. */
static wr_status allocate(wr_env *env, wr_merbit_format *f) {
  wr_status status;
  int64_t x_bytes = wr_device_bytes(f->tiles + 1, f->wide ? 8 : 4);
  int64_t y_bytes = wr_device_bytes(f->tiles + 1, sizeof *f->tile_y);
  TRY(wr_device_alloc(env, &f->tile_x, wr_merbit_device_bytes(f), 1, "tiles"));
  f->tile_y = (uint32_t *)((char *)f->tile_x + x_bytes);
  f->lane = (char *)f->tile_x + x_bytes + y_bytes;
done:
  return status;
}

extern "C" wr_status wr_merbit_device_build(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz,
                                            const wr_csr_view *view, int sigma, wr_merbit_format *format) {
  wr_status status;
  *format = {};
  TRY(wr_cuda_enter(env));
  TRY(wr_merbit_check(nrows, ncols, nnz, sigma, view->wide));
  *format = wr_merbit_shape(nrows, ncols, nnz, sigma);
  format->wide = view->wide != 0;
  TRY(allocate(env, format));
  TRY(fill(env, *format, view->row_ptr));
done:
  if (status != WR_OK) wr_merbit_device_free(env->device, format);
  return status;
}

extern "C" void wr_merbit_device_free(int device, wr_merbit_format *format) {
  wr_device_free(device, format->tile_x); /* the others are in it */
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
