/* Builds interleaved rows on a device: hubs from a sample of the entries, then each lane of a warp writes its entries. */
#include "spmv/backends/lane_csr/lane_csr_build.h"

#include <algorithm>

#include "config/memory.h"
#include "spmv/device/array_list.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/device/sort.h"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/warp.cuh"

constexpr int THREADS = 256, BLOCKS = 8; /* of a multiprocessor */
constexpr int EACH = WR_LANE_EACH, CHUNK = WR_LANE_CHUNK;

static __device__ inline int64_t build_thread() { return (int64_t)blockIdx.x * THREADS + threadIdx.x; }
static __device__ inline int64_t build_threads() { return (int64_t)gridDim.x * THREADS; }

static unsigned grid_for(const wr_env *env, int64_t threads) {
  return wr_cuda_grid(env, (threads + THREADS - 1) / THREADS, BLOCKS);
}

/* ---- Hubs ---- */

constexpr int64_t SAMPLED = 1 << 21; /* entries whose columns are counted; more would delay each other at the hubs */
constexpr int BINS = 4096;           /* columns with BINS - 1 sampled entries or more are in the last bin          */

/* For each number of sampled entries, the columns that have so many, and their entries. */
struct lane_bins {
  unsigned columns[BINS], entries[BINS];
};

/* count[j] += the sampled entries of column j: every `step`-th. */
__global__ void __launch_bounds__(THREADS) lane_count(const int32_t *col, int64_t nnz, int64_t step, unsigned *count) {
  for (int64_t k = build_thread() * step; k < nnz; k += build_threads() * step) atomicAdd(&count[col[k]], 1u);
}

/* Columns without a sampled entry are left out, as most may be. */
__global__ void __launch_bounds__(THREADS) lane_sort_out(const unsigned *count, int64_t ncols, lane_bins *bins) {
  WR_SHARED(unsigned, columns, BINS);
  WR_SHARED(unsigned, entries, BINS);
  for (int b = (int)threadIdx.x; b < BINS; b += THREADS) columns[b] = entries[b] = 0;
  __syncthreads();
  for (int64_t j = build_thread(); j < ncols; j += build_threads()) {
    unsigned n = count[j], bin = n < BINS - 1 ? n : BINS - 1;
    if (n == 0) continue;
    atomicAdd(&columns[bin], 1u);
    atomicAdd(&entries[bin], n);
  }
  __syncthreads();
  for (int b = (int)threadIdx.x; b < BINS; b += THREADS) {
    if (columns[b]) atomicAdd(&bins->columns[b], columns[b]);
    if (entries[b]) atomicAdd(&bins->entries[b], entries[b]);
  }
}

__global__ void __launch_bounds__(THREADS)
    lane_mark(const unsigned *count, int64_t ncols, unsigned least, uint8_t *is_hub) {
  for (int64_t j = build_thread(); j < ncols; j += build_threads()) is_hub[j] = count[j] >= least;
}

/* code[j] := what the format has for column j. Two kernels: all columns, then the hubs. */
__global__ void __launch_bounds__(THREADS) lane_name_columns(int64_t ncols, int32_t *code) {
  for (int64_t j = build_thread(); j < ncols; j += build_threads()) code[j] = (int32_t)j;
}

__global__ void __launch_bounds__(THREADS) lane_name_hubs(const int32_t *hub, int64_t hubs, int32_t *code) {
  for (int64_t h = build_thread(); h < hubs; h += build_threads()) code[hub[h]] = ~(int32_t)h;
}

/* ---- Entries ---- */

template <typename T, typename P>
struct lane_rows {
  int64_t nrows;
  const P *row_ptr;
  const int32_t *col;
  const T *val;         /* NULL: a pattern                                       */
  const int64_t *start; /* [nrows + 1] places before the row                     */
  const int32_t *code;  /* [ncols] of a column; NULL: the column itself          */
};

template <typename P>
__global__ void __launch_bounds__(THREADS) lane_lengths(const P *row_ptr, int64_t nrows, int32_t *places) {
  for (int64_t i = build_thread(); i < nrows; i += build_threads()) {
    int32_t length = (int32_t)(row_ptr[i + 1] - row_ptr[i]);
    places[i] = length > 0 ? length : 1;
  }
}

/* The last row of low..high that begins at place p or before; row low does. */
static __device__ inline int64_t row_of(const int64_t *start, int64_t low, int64_t high, int64_t p) {
  while (low < high) {
    int64_t middle = low + (high - low + 1) / 2;
    if (start[middle] <= p)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* The same among all rows, by a warp: 32 rows are compared at a time, so that the warp waits for memory a fifth as often. */
static __device__ inline int64_t row_by_warp(const int64_t *start, int64_t nrows, int64_t p) {
  int64_t low = 0, count = nrows; /* it is one of count rows from low */
  while (count > 1) {
    int64_t step = (count + WR_WARP - 1) / WR_WARP, row = low + threadIdx.x % WR_WARP * step;
    bool begins = row < low + count && start[row] <= p;
    int64_t last = __popc(__ballot_sync((unsigned)WR_FULL_MASK, begins)) - 1;
    int64_t behind = low + count;
    low += last * step;
    count = behind - low < step ? behind - low : step;
  }
  return low;
}

/* A lane's walk over its places of a chunk. */
struct lane_place {
  int64_t p; /* the place */
  int64_t i; /* its row   */
};

/* The walk's first place; i is the last row where there is none. */
template <typename T, typename P>
static __device__ inline lane_place lane_first(const lane_rows<T, P> &a, int64_t places, int64_t w) {
  int64_t p = w * CHUNK + threadIdx.x % WR_WARP * EACH, first = row_by_warp(a.start, a.nrows, w * CHUNK);
  int64_t most = first + CHUNK < a.nrows - 1 ? first + CHUNK : a.nrows - 1; /* a row has a place at least */
  return {p, row_of(a.start, first, most, p < places ? p : places - 1)};
}

/* The entry of a place, -1 for padding; at := the next place. *ends: whether the row ends here. */
template <typename T, typename P>
static __device__ inline int64_t lane_next(const lane_rows<T, P> &a, int64_t places, lane_place &at, bool *ends) {
  int64_t k = -1;
  *ends = false;
  if (at.p < places) {
    k = (int64_t)a.row_ptr[at.i] + (at.p - a.start[at.i]);
    if (k >= (int64_t)a.row_ptr[at.i + 1]) k = -1;
    *ends = at.p + 1 == a.start[at.i + 1];
    at.i += *ends;
  }
  at.p++;
  return k;
}

/* Windows of every step-th chunk: window[w][2] as in the format, or, if there are not enough, wide[w] := 1. window NULL: only
 * counts, *narrow += the chunks for which two windows are enough. */
template <typename T, typename P>
__global__ void __launch_bounds__(THREADS)
    lane_windows(const lane_rows<T, P> a, int64_t places, int64_t chunks, int64_t step, int32_t *window, int64_t *wide,
                 unsigned *narrow) {
  int lane = threadIdx.x % WR_WARP;
  for (int64_t w = build_thread() / WR_WARP * step; w < chunks; w += build_threads() / WR_WARP * step) {
    lane_place at = lane_first(a, places, w);
    int32_t column[EACH];
    int least = INT32_MAX, second = INT32_MAX;
    bool enough = true, ends;
#pragma unroll
    for (int j = 0; j < EACH; j++) {
      int64_t k = lane_next(a, places, at, &ends);
      column[j] = k >= 0 ? a.col[k] : INT32_MAX;
      least = column[j] < least ? column[j] : least;
    }
    least = __reduce_min_sync((unsigned)WR_FULL_MASK, least);
#pragma unroll
    for (int j = 0; j < EACH; j++)
      if (column[j] - least >= WR_LANE_WINDOW && column[j] < second) second = column[j];
    second = __reduce_min_sync((unsigned)WR_FULL_MASK, second);
#pragma unroll
    for (int j = 0; j < EACH; j++)
      enough = enough && (column[j] == INT32_MAX || column[j] < second || column[j] - second < WR_LANE_WINDOW - 1);
    enough = __all_sync((unsigned)WR_FULL_MASK, enough);
    if (lane != 0) continue;
    if (!window) {
      if (enough) atomicAdd(narrow, 1u);
      continue;
    }
    window[2 * w] = least == INT32_MAX ? 0 : least;
    window[2 * w + 1] = second == INT32_MAX ? 0 : second - WR_LANE_WINDOW;
    wide[w] = !enough;
  }
}

/* The windows of wide chunks := what the format has there; at[w]: the wide chunks before chunk w. */
__global__ void __launch_bounds__(THREADS)
    lane_number_wide(const int64_t *wide, const int64_t *at, int64_t chunks, int32_t *window) {
  for (int64_t w = build_thread(); w < chunks; w += build_threads())
    if (wide[w]) window[2 * w] = (int32_t)at[w], window[2 * w + 1] = WR_LANE_WIDE;
}

/* Writes the column of a place. */
static __device__ inline void lane_put(const wr_lane_csr &c, int64_t w, int lane, int j, int32_t code) {
  if (c.code) {
    c.code[wr_lane_place(w, lane, j, 4)] = code;
    return;
  }
  int32_t first = c.window[2 * w], second = c.window[2 * w + 1];
  int64_t place = wr_lane_place(w, lane, j, 2);
  bool padding = code == WR_LANE_PADDING;
  if (second == WR_LANE_WIDE) {
    c.low[place] = padding ? (uint16_t)WR_LANE_NONE : (uint16_t)code;
    c.high[wr_lane_place(first, lane, j, 2)] = padding ? (uint16_t)WR_LANE_NONE : (uint16_t)((uint32_t)code >> 16);
  } else {
    bool in_first = code - first < WR_LANE_WINDOW;
    c.low[place] = padding ? (uint16_t)WR_LANE_NONE : (uint16_t)(code - (in_first ? first : second));
  }
}

/* Writes the chunks, a warp each, and adds the hubs' entries to *covered. */
template <typename T, typename P>
__global__ void __launch_bounds__(THREADS)
    lane_write(const lane_rows<T, P> a, const wr_lane_csr c, unsigned long long *covered) {
  int lane = threadIdx.x % WR_WARP;
  unsigned long long in_hubs = 0;
  for (int64_t w = build_thread() / WR_WARP; w < c.chunks; w += build_threads() / WR_WARP) {
    lane_place at = lane_first(a, c.places, w);
    if (lane == 0) {
      c.row[w] = (uint32_t)at.i | (a.start[at.i] < at.p ? WR_LANE_OPEN : 0);
      c.origin[w] = a.start[at.i] / CHUNK;
    }
    unsigned ends = 0;
#pragma unroll 1
    for (int j = 0; j < EACH; j++) {
      bool last;
      int64_t k = lane_next(a, c.places, at, &last);
      int32_t code = k < 0 ? (int32_t)WR_LANE_PADDING : a.code ? a.code[a.col[k]] : a.col[k];
      if (last) ends |= 1u << j;
      in_hubs += k >= 0 && code < 0;
      lane_put(c, w, lane, j, code);
      if (c.valued) ((T *)c.val)[wr_lane_place(w, lane, j, sizeof(T))] = k >= 0 && a.val ? a.val[k] : (T)0;
    }
    unsigned own = (unsigned)__popc(ends), before = own;
    for (int distance = 1; distance < WR_WARP; distance *= 2) {
      unsigned left = __shfl_up_sync((unsigned)WR_FULL_MASK, before, (unsigned)distance);
      if (lane >= distance) before += left;
    }
    c.end[w * WR_WARP + lane] = ends | (before - own) << 16;
  }
  for (int distance = WR_WARP / 2; distance > 0; distance /= 2)
    in_hubs += __shfl_xor_sync((unsigned)WR_FULL_MASK, in_hubs, distance);
  if (lane == 0 && in_hubs) atomicAdd(covered, in_hubs);
}

/* ---- Host ---- */

/* What a build needs besides the format. */
struct scratch {
  unsigned *count;   /* [ncols]; then the columns' codes, in place */
  uint8_t *is_hub;   /* [ncols] */
  lane_bins *bins;
  int32_t *lengths;  /* [nrows] */
  int64_t *start;    /* [nrows + 1] */
  unsigned long long *covered;
  unsigned *narrow;
  int64_t *wide;     /* [chunks] */
  int64_t *wide_at;  /* [chunks + 1] */
};

static void free_scratch(wr_env *env, scratch *s) {
  void *const arrays[] = {s->count,   s->is_hub, s->bins, s->lengths, s->start,
                          s->covered, s->narrow, s->wide, s->wide_at};
  for (void *array : arrays) wr_device_free(env, array);
}

static wr_status clear(wr_env *env, void *array, int64_t bytes) {
  return WR_CUDA(cudaMemsetAsync(array, 0, (size_t)bytes, (cudaStream_t)env->stream));
}

/* The least number of sampled entries with which no more columns are hubs than there may be; 0: there are no hubs. One sampled
 * entry tells nothing about a column. */
static unsigned least_of(const lane_bins &bins, const wr_lane_choice *choice, int64_t sampled) {
  int64_t columns = 0, entries = 0, cached = 0;
  unsigned least = 0;
  for (int b = BINS - 1; b >= 2 && columns + bins.columns[b] <= choice->most_hubs; b--) {
    columns += bins.columns[b], entries += bins.entries[b];
    if (columns <= choice->cached) cached = entries;
    if (columns > 0) least = (unsigned)b;
  }
  return columns > 0 && (double)(entries - cached) >= choice->least_share * (double)sampled ? least : 0;
}

/* c->hub and, in s->count, the codes of all columns; without hubs neither is there. */
static wr_status find_hubs(wr_env *env, const wr_csr_view *view, const wr_lane_choice *choice, scratch *s,
                           wr_lane_csr *c) {
  int64_t step = std::max((int64_t)1, c->nnz / SAMPLED), sampled = (c->nnz + step - 1) / step;
  lane_bins bins;
  if (choice->most_hubs <= 0 || c->nnz == 0) return WR_OK;
  PASS(wr_device_alloc(env, &s->count, c->ncols, 4, "counts of columns"));
  PASS(wr_device_alloc(env, &s->is_hub, c->ncols, 1, "marks of columns"));
  PASS(wr_device_alloc(env, &s->bins, 1, sizeof *s->bins, "counts of columns"));
  PASS(clear(env, s->count, c->ncols * 4));
  PASS(clear(env, s->bins, sizeof *s->bins));
  PASS(WR_LAUNCH((lane_count), grid_for(env, sampled), THREADS, 0, env->stream, view->col, c->nnz, step, s->count));
  PASS(WR_LAUNCH((lane_sort_out), grid_for(env, c->ncols), THREADS, 0, env->stream, (const unsigned *)s->count,
                 c->ncols, s->bins));
  PASS(wr_device_download(env, &bins, s->bins, sizeof bins / 4, WR_AS_4_BYTES));
  unsigned least = least_of(bins, choice, sampled);
  if (least > 0) {
    PASS(WR_LAUNCH((lane_mark), grid_for(env, c->ncols), THREADS, 0, env->stream, (const unsigned *)s->count, c->ncols,
                   least, s->is_hub));
    PASS(wr_device_alloc(env, &c->hub, std::min(choice->most_hubs, c->ncols), 4, "hubs"));
    PASS(wr_device_select(env, s->is_hub, 1, c->ncols, NULL, c->hub, 4, &c->hubs));
    PASS(WR_LAUNCH((lane_name_columns), grid_for(env, c->ncols), THREADS, 0, env->stream, c->ncols,
                   (int32_t *)s->count));
    PASS(WR_LAUNCH((lane_name_hubs), grid_for(env, c->hubs), THREADS, 0, env->stream, (const int32_t *)c->hub, c->hubs,
                   (int32_t *)s->count));
    return WR_OK;
  }
  wr_device_free(env, s->count), s->count = NULL;
  return WR_OK;
}

constexpr int64_t WINDOWS_SAMPLED = 4096; /* chunks */
constexpr double LEAST_NARROW = 0.75;     /* of their chunks: with fewer, 16 bits and the halves would save too little */

/* *windows: whether most chunks of a sample have their columns in two windows. */
template <typename T, typename P>
static wr_status sample_windows(wr_env *env, const lane_rows<T, P> &a, const wr_lane_csr *c, scratch *s,
                                bool *windows) {
  int64_t step = std::max((int64_t)1, c->chunks / WINDOWS_SAMPLED), sampled = (c->chunks + step - 1) / step;
  unsigned narrow;
  PASS(wr_device_alloc(env, &s->narrow, 1, 4, "a count"));
  PASS(clear(env, s->narrow, 4));
  PASS(WR_LAUNCH((lane_windows<T, P>), grid_for(env, sampled * WR_WARP), THREADS, 0, env->stream, a, c->places,
                 c->chunks, step, (int32_t *)NULL, (int64_t *)NULL, s->narrow));
  PASS(wr_device_download(env, &narrow, s->narrow, 1, WR_AS_4_BYTES));
  *windows = (double)narrow >= LEAST_NARROW * (double)sampled;
  return WR_OK;
}

/* c->window, c->low and c->high, not yet filled with columns. */
template <typename T, typename P>
static wr_status make_windows(wr_env *env, const lane_rows<T, P> &a, scratch *s, wr_lane_csr *c) {
  PASS(wr_device_alloc(env, &c->window, 2 * c->chunks, 4, "windows"));
  PASS(wr_device_alloc(env, &s->wide, c->chunks, 8, "marks of chunks"));
  PASS(wr_device_alloc(env, &s->wide_at, c->chunks + 1, 8, "numbers of chunks"));
  PASS(WR_LAUNCH((lane_windows<T, P>), grid_for(env, c->chunks * WR_WARP), THREADS, 0, env->stream, a, c->places,
                 c->chunks, (int64_t)1, c->window, s->wide, (unsigned *)NULL));
  PASS(wr_device_scan(env, s->wide, 8, c->chunks, s->wide_at, 8, &c->wide));
  PASS(WR_LAUNCH((lane_number_wide), grid_for(env, c->chunks), THREADS, 0, env->stream, (const int64_t *)s->wide,
                 (const int64_t *)s->wide_at, c->chunks, c->window));
  PASS(wr_device_alloc(env, &c->low, c->chunks * CHUNK, 2, "columns"));
  return wr_device_alloc(env, &c->high, c->wide * CHUNK, 2, "columns");
}

template <typename T, typename P>
static wr_status build(wr_env *env, const wr_csr_view *view, const wr_lane_choice *choice, scratch *s, wr_lane_csr *c) {
  const uint32_t last = (uint32_t)c->nrows;
  bool windows = choice->windows > 0;
  if (!windows) PASS(find_hubs(env, view, choice, s, c));
  PASS(wr_device_alloc(env, &s->lengths, c->nrows, 4, "places of rows"));
  PASS(wr_device_alloc(env, &s->start, c->nrows + 1, 8, "places of rows"));
  PASS(wr_device_alloc(env, &s->covered, 1, 8, "a count"));
  PASS(clear(env, s->covered, 8));
  if (c->nrows)
    PASS(WR_LAUNCH((lane_lengths<P>), grid_for(env, c->nrows), THREADS, 0, env->stream, (const P *)view->row_ptr,
                   c->nrows, s->lengths));
  PASS(wr_device_scan(env, s->lengths, 4, c->nrows, s->start, 8, &c->places));
  c->chunks = (c->places + CHUNK - 1) / CHUNK;
  lane_rows<T, P> a = {c->nrows, (const P *)view->row_ptr, view->col, (const T *)view->val, s->start,
                       (const int32_t *)s->count};
  if (choice->windows < 0 && c->hubs == 0 && c->chunks) PASS(sample_windows(env, a, c, s, &windows));
  if (windows && c->chunks)
    PASS(make_windows(env, a, s, c));
  else
    PASS(wr_device_alloc(env, &c->code, c->chunks * CHUNK, 4, "columns"));
  if (c->valued) PASS(wr_device_alloc(env, &c->val, c->chunks * CHUNK, sizeof(T), "values"));
  PASS(wr_device_alloc(env, &c->end, c->chunks * WR_WARP, 4, "ends of rows"));
  PASS(wr_device_alloc(env, &c->row, c->chunks + 1, 4, "rows of chunks"));
  PASS(wr_device_alloc(env, &c->origin, c->chunks, 8, "rows of chunks"));
  PASS(wr_device_upload(env, c->row + c->chunks, &last, 1, WR_AS_4_BYTES));
  if (c->chunks == 0) return WR_OK;
  PASS(WR_LAUNCH((lane_write<T, P>), grid_for(env, c->chunks * WR_WARP), THREADS, 0, env->stream, a, *c, s->covered));
  return wr_device_download(env, &c->covered, s->covered, 1, WR_AS_8_BYTES);
}

extern "C" wr_status wr_lane_csr_device_build(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz,
                                              const wr_csr_view *view, const wr_lane_choice *choice, wr_lane_csr *c) {
  wr_status status;
  scratch s = {};
  *c = {};
  c->nrows = nrows, c->ncols = ncols, c->nnz = nnz, c->type = env->type, c->valued = view->val != NULL;
  TRY(wr_cuda_enter(env));
  if (env->type == WR_F32)
    TRY((view->wide ? build<float, int64_t> : build<float, int32_t>)(env, view, choice, &s, c));
  else
    TRY((view->wide ? build<double, int64_t> : build<double, int32_t>)(env, view, choice, &s, c));
done:
  free_scratch(env, &s);
  if (status != WR_OK) wr_lane_csr_device_free(env, c);
  return status;
}

/* ---- Arrays ---- */

static std::array<wr_listed_array, 9> list_arrays(wr_lane_csr *c) {
  return {{
      {(void **)&c->code, c->chunks * CHUNK, 4},
      {(void **)&c->low, c->chunks * CHUNK, 2},
      {(void **)&c->high, c->wide * CHUNK, 2},
      {(void **)&c->window, 2 * c->chunks, 4},
      {&c->val, c->chunks * CHUNK, (size_t)wr_type_bytes(c->type)},
      {(void **)&c->end, c->chunks * WR_WARP, 4},
      {(void **)&c->row, c->chunks + 1, 4},
      {(void **)&c->origin, c->chunks, 8},
      {(void **)&c->hub, c->hubs, 4},
  }};
}

extern "C" void wr_lane_csr_device_free(wr_env *env, wr_lane_csr *c) { wr_format_free_device(env, c, list_arrays); }

extern "C" void wr_lane_csr_free(wr_lane_csr *c) { wr_format_free_host(c, list_arrays); }

extern "C" int64_t wr_lane_csr_device_bytes(const wr_lane_csr *c) { return wr_format_device_bytes(*c, list_arrays); }

extern "C" wr_status wr_lane_csr_download(wr_env *env, const wr_lane_csr *c, wr_lane_csr *to) {
  return wr_format_download(env, *c, to, list_arrays);
}
