/* Finds the far entries of interleaved rows on a device and stages their elements of x (lane_csr_format.h). */
#include <algorithm>
#include <vector>

#include "config/memory.h"
#include "spmv/backends/lane_csr/lane_csr_build.h"
#include "spmv/backends/lane_csr/lane_csr_build.cuh"
#include "spmv/device/check.cuh"
#include "spmv/device/device_memory.h"
#include "spmv/device/sort.h"

/* An entry is far if its *tile* of consecutive chunks reads less than one element for each 64 bytes of its *page*, so many
 * columns around it. A tile is about what the second-level cache sees between two uses of a line; pages of large matrices are
 * larger, so that the counts of all tiles take at most MOST_COUNTS. In large tiles each STEP-th chunk is counted. */
constexpr int64_t PAGE = 1024, MOST_COUNTS = 1 << 27, LARGE_TILE = 1024, STEP = 8;
constexpr int LINE = 64; /* bytes that memory delivers at least */

/* By default x must have at least so much of the size of the second-level cache, which y and the entries need as well, and far
 * entries so large a share. To gather a slab costs as much as its far entries save if there are fewer of them than
 * FAR_OF_COLUMNS times its columns. */
constexpr double LEAST_OF_CACHE = 0.9, LEAST_FAR = 0.05, FAR_OF_COLUMNS = 0.5;

/* How tiles and pages are counted. */
struct stage_shape {
  int64_t tile, step, pages; /* chunks; of which each step-th is counted; pages of the matrix */
  int page_bits;             /* log2 of a page's columns */
  unsigned least;            /* counted entries of a page in a tile from which they are near */
};

/* touched[tile][page] += the counted entries, a warp a chunk. */
__global__ void __launch_bounds__(THREADS) stage_touch(const wr_lane_csr c, const stage_shape s, unsigned *touched) {
  const int64_t warps = build_threads() / WR_WARP;
  for (int64_t w = build_thread() / WR_WARP * s.step; w < c.chunks; w += warps * s.step) {
    unsigned *of_tile = touched + w / s.tile * s.pages;
    int32_t code[EACH];
    lane_load(c.code, (int)w, code);
    int same = 0; /* entries so far in the page of the last one */
#pragma unroll
    for (int j = 0; j < EACH; j++) {
      if (code[j] < 0) continue;
      same++;
      const int64_t page = code[j] >> s.page_bits;
      if (j < EACH - 1 && code[j + 1] >= 0 && code[j + 1] >> s.page_bits == page) continue;
      atomicAdd(of_tile + page, (unsigned)same);
      same = 0;
    }
  }
}

/* Bit j: the j-th entry of the lane is far. code: its entries of chunk w. Chunks within a row have none if they are multiplied
 * in the order of columns, where their neighbours read the same part of x. Every lane of the warp. */
static __device__ inline unsigned stage_find(const wr_lane_csr &c, const stage_shape &s, const unsigned *touched,
                                             int64_t w, const int32_t (&code)[EACH]) {
  const unsigned *of_tile = touched + w / s.tile * s.pages;
  const bool is_within = __all_sync((unsigned)WR_FULL_MASK, (c.end[w * WR_WARP + threadIdx.x % WR_WARP] & 0xffff) == 0);
  unsigned far = 0;
  if (c.order && is_within) return 0;
#pragma unroll
  for (int j = 0; j < EACH; j++)
    if (code[j] >= 0 && of_tile[code[j] >> s.page_bits] < s.least) far |= 1u << j;
  return far;
}

/* of_chunk[w] := the far entries of chunk w. */
__global__ void __launch_bounds__(THREADS)
    stage_count(const wr_lane_csr c, const stage_shape s, const unsigned *touched, int32_t *of_chunk) {
  for (int64_t w = build_thread() / WR_WARP; w < c.chunks; w += build_threads() / WR_WARP) {
    int32_t code[EACH];
    lane_load(c.code, (int)w, code);
    const int own = __popc(stage_find(c, s, touched, w, code)), before = lane_sum_before(own);
    if (threadIdx.x % WR_WARP == WR_WARP - 1) of_chunk[w] = before + own;
  }
}

/* slab[p], place[p] := of the p-th far entry in the order of the entries its slab, and where in c.code it is. */
__global__ void __launch_bounds__(THREADS)
    stage_list(const wr_lane_csr c, const stage_shape s, const unsigned *touched, const int64_t *before, int columns,
               uint32_t *slab, uint32_t *place) {
  const int lane = threadIdx.x % WR_WARP;
  for (int64_t w = build_thread() / WR_WARP; w < c.chunks; w += build_threads() / WR_WARP) {
    int32_t code[EACH];
    lane_load(c.code, (int)w, code);
    const unsigned far = stage_find(c, s, touched, w, code);
    int64_t p = before[w] + lane_sum_before(__popc(far));
#pragma unroll
    for (int j = 0; j < EACH; j++) {
      if (!(far >> j & 1)) continue;
      slab[p] = (uint32_t)(code[j] / columns);
      place[p++] = (uint32_t)wr_lane_place(w, lane, j, 4);
    }
  }
}

/* c.in_slab, and the codes of far entries; slab and place: sorted by slab. */
__global__ void __launch_bounds__(THREADS)
    stage_name(const wr_lane_csr c, int columns, const uint32_t *slab, const uint32_t *place) {
  for (int64_t p = build_thread(); p < c.far; p += build_threads()) {
    int32_t *code = c.code + place[p];
    c.in_slab[p] = (uint16_t)(*code - (int64_t)slab[p] * columns);
    *code = (int32_t)(c.ncols + p);
  }
}

/* first[q] := the first of the sorted slabs that is q or more. */
__global__ void __launch_bounds__(THREADS)
    stage_find_slabs(const uint32_t *slab, int64_t far, int64_t slabs, int64_t *first) {
  for (int64_t q = build_thread(); q <= slabs; q += build_threads()) {
    int64_t from = 0, to = far;
    while (from < to) {
      const int64_t middle = from + (to - from) / 2;
      if (slab[middle] < (uint64_t)q)
        from = middle + 1;
      else
        to = middle;
    }
    first[q] = from;
  }
}

/* What staging needs besides the format. */
struct stage_scratch {
  unsigned *touched;     /* [tiles][pages] */
  int32_t *of_chunk;     /* [chunks] */
  int64_t *before;       /* [chunks + 1] */
  uint32_t *slab, *place; /* [far] */
  int64_t *first;        /* [slabs + 1] */
};

/* c->piece, from the slabs of the sorted far entries. */
static wr_status cut_pieces(wr_env *env, int64_t slabs, stage_scratch *s, wr_lane_csr *c) {
  std::vector<int64_t> first;
  std::vector<wr_lane_piece> pieces;
  try {
    first.resize((size_t)slabs + 1);
    PASS(wr_device_alloc(env, &s->first, slabs + 1, 8, "slabs"));
    PASS(WR_LAUNCH((stage_find_slabs), grid_for(env, slabs + 1), THREADS, 0, env->stream, (const uint32_t *)s->slab,
                   c->far, slabs, s->first));
    PASS(wr_device_download(env, first.data(), s->first, slabs + 1, WR_AS_8_BYTES));
    for (int64_t q = 0; q < slabs; q++)
      for (int64_t p = first[(size_t)q]; p < first[(size_t)q + 1]; p += WR_LANE_PIECE)
        pieces.push_back({p, (int32_t)std::min((int64_t)WR_LANE_PIECE, first[(size_t)q + 1] - p), (int32_t)q});
  } catch (const std::bad_alloc &) { return wr_fail(WR_ENOMEM, "no memory for %lld slabs", (long long)slabs); }
  c->pieces = (int64_t)pieces.size();
  PASS(wr_device_alloc(env, &c->piece, c->pieces, sizeof *c->piece, "pieces of staged elements"));
  return wr_device_upload(env, c->piece, pieces.data(), 2 * c->pieces, WR_AS_8_BYTES);
}

static int bits_of(int64_t count) {
  int bits = 1;
  while (bits < 32 && (int64_t)1 << bits < count) bits++;
  return bits;
}

/* Whether far entries may pay, by the sizes. */
static wr_status may_pay(wr_env *env, const wr_lane_csr *c, bool *may) {
  int cache = 0;
  PASS(WR_CUDA(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, env->device)));
  *may = (double)(c->ncols * wr_type_bytes(c->type)) >= LEAST_OF_CACHE * (double)cache;
  return WR_OK;
}

/* Whether so many far entries pay: by their number, and if the device has the memory to build with. */
static wr_status pays(wr_env *env, const wr_lane_csr *c, int64_t far, bool *is_worth) {
  const int64_t each = 2 * 2 * 4 + 2 + wr_type_bytes(c->type); /* bytes: two lists, sorted from one place to another */
  int64_t free_bytes, total_bytes;
  PASS(env->ops->memory(env, &free_bytes, &total_bytes));
  *is_worth = (double)far >= LEAST_FAR * (double)c->nnz && (double)far >= FAR_OF_COLUMNS * (double)c->ncols &&
              far < free_bytes / each;
  return WR_OK;
}

static stage_shape shape_of(const wr_lane_choice *choice, const wr_lane_csr *c) {
  stage_shape s = {choice->tile ? choice->tile : (int64_t)WR_LANE_TILE, 1, 0, bits_of(PAGE), 0};
  const int64_t tiles = (c->chunks + s.tile - 1) / s.tile;
  if (s.tile >= LARGE_TILE) s.step = STEP;
  while ((c->ncols >> s.page_bits) * tiles > MOST_COUNTS) s.page_bits++;
  s.pages = (c->ncols >> s.page_bits) + 1;
  s.least = (unsigned)std::max((int64_t)1, ((int64_t)1 << s.page_bits) * wr_type_bytes(c->type) / LINE / s.step);
  return s;
}

static wr_status stage(wr_env *env, const wr_lane_choice *choice, stage_scratch *s, wr_lane_csr *c) {
  const stage_shape shape = shape_of(choice, c);
  const int64_t columns = wr_lane_slab(c->type), slabs = (c->ncols + columns - 1) / columns;
  const int64_t tiles = (c->chunks + shape.tile - 1) / shape.tile;
  const unsigned grid = grid_for(env, c->chunks * WR_WARP);
  int64_t far = 0;
  bool is_worth = true;
  if (choice->staged < 0) PASS(may_pay(env, c, &is_worth));
  /* Places and codes have 32 bits. */
  if (!is_worth || c->chunks * CHUNK > UINT32_MAX) return WR_OK;
  PASS(wr_device_alloc_zeroed(env, &s->touched, tiles * shape.pages, 4, "counts of pages"));
  PASS(wr_device_alloc(env, &s->of_chunk, c->chunks, 4, "counts of far entries"));
  PASS(wr_device_alloc(env, &s->before, c->chunks + 1, 8, "counts of far entries"));
  PASS(WR_LAUNCH((stage_touch), grid, THREADS, 0, env->stream, *c, shape, s->touched));
  PASS(WR_LAUNCH((stage_count), grid, THREADS, 0, env->stream, *c, shape, (const unsigned *)s->touched, s->of_chunk));
  PASS(wr_device_scan(env, s->of_chunk, 4, c->chunks, s->before, 8, &far));
  if (choice->staged < 0) PASS(pays(env, c, far, &is_worth));
  if (!is_worth || far == 0 || c->ncols + far > INT32_MAX) return WR_OK;
  PASS(wr_device_alloc(env, &s->slab, far, 4, "slabs of far entries"));
  PASS(wr_device_alloc(env, &s->place, far, 4, "places of far entries"));
  PASS(wr_device_alloc(env, &c->in_slab, far, 2, "columns of far entries"));
  PASS(WR_LAUNCH((stage_list), grid, THREADS, 0, env->stream, *c, shape, (const unsigned *)s->touched,
                 (const int64_t *)s->before, (int)columns, s->slab, s->place));
  PASS(wr_device_sort_pairs(env, s->slab, 4, s->place, 4, far, 0, bits_of(slabs)));
  c->far = far;
  PASS(WR_LAUNCH((stage_name), grid_for(env, far), THREADS, 0, env->stream, *c, (int)columns, (const uint32_t *)s->slab,
                 (const uint32_t *)s->place));
  return cut_pieces(env, slabs, s, c);
}

extern "C" wr_status wr_lane_csr_stage(wr_env *env, const wr_lane_choice *choice, wr_lane_csr *c) {
  stage_scratch s = {};
  const wr_status status = stage(env, choice, &s, c);
  void *const arrays[] = {s.touched, s.of_chunk, s.before, s.slab, s.place, s.first};
  for (void *array : arrays) wr_device_free(env, array);
  return status;
}
