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

constexpr int64_t SAMPLED = 1 << 22; /* entries whose columns are counted; more would delay each other at the hubs */
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
__global__ void __launch_bounds__(THREADS) lane_lengths(const P *row_ptr, int64_t nrows, int64_t *places) {
  for (int64_t i = build_thread(); i < nrows; i += build_threads()) {
    int64_t length = (int64_t)(row_ptr[i + 1] - row_ptr[i]);
    places[i] = length > 0 ? length : 1;
  }
}

/* The row with the place p. */
static __device__ inline int64_t row_of(const int64_t *start, int64_t nrows, int64_t p) {
  int64_t low = 0, high = nrows - 1;
  while (low < high) {
    int64_t middle = low + (high - low + 1) / 2;
    if (start[middle] <= p)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* Writes the chunks, a warp each, and adds the hubs' entries to *covered. */
template <typename T, typename P>
__global__ void __launch_bounds__(THREADS)
    lane_write(const lane_rows<T, P> a, const wr_lane_csr c, unsigned long long *covered) {
  int lane = threadIdx.x % WR_WARP;
  unsigned long long in_hubs = 0;
  for (int64_t w = build_thread() / WR_WARP; w < c.chunks; w += build_threads() / WR_WARP) {
    int64_t p0 = w * CHUNK + lane * EACH, i = row_of(a.start, a.nrows, p0 < c.places ? p0 : c.places - 1);
    if (lane == 0) {
      c.row[w] = (uint32_t)i | (a.start[i] < p0 ? WR_LANE_OPEN : 0);
      c.origin[w] = a.start[i] / CHUNK;
    }
    unsigned ends = 0;
#pragma unroll 1
    for (int j = 0; j < EACH; j++) {
      int64_t p = p0 + j, place = w * CHUNK + j * WR_WARP + lane;
      int32_t code = WR_LANE_PADDING;
      T value = 0;
      if (p < c.places) {
        int64_t k = (int64_t)a.row_ptr[i] + (p - a.start[i]);
        if (k < (int64_t)a.row_ptr[i + 1]) {
          code = a.code ? a.code[a.col[k]] : a.col[k], value = a.val ? a.val[k] : (T)0;
          in_hubs += code < 0;
        }
        if (p + 1 == a.start[i + 1]) ends |= 1u << j, i++;
      }
      c.code[place] = code;
      if (c.valued) ((T *)c.val)[place] = value;
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
  int64_t *lengths;  /* [nrows] */
  int64_t *start;    /* [nrows + 1] */
  unsigned long long *covered;
};

static void free_scratch(wr_env *env, scratch *s) {
  void *const arrays[] = {s->count, s->is_hub, s->bins, s->lengths, s->start, s->covered};
  for (void *array : arrays) wr_device_free(env, array);
}

static wr_status clear(wr_env *env, void *array, int64_t bytes) {
  return WR_CUDA(cudaMemsetAsync(array, 0, (size_t)bytes, (cudaStream_t)env->stream));
}

/* The least number of sampled entries with which at most `most` columns are hubs; 0: there are no hubs. One sampled entry
 * tells nothing about a column. */
static unsigned least_of(const lane_bins &bins, int64_t most, double least_share, int64_t sampled) {
  int64_t columns = 0, entries = 0;
  unsigned least = 0;
  for (int b = BINS - 1; b >= 2 && columns + bins.columns[b] <= most; b--) {
    columns += bins.columns[b], entries += bins.entries[b];
    if (columns > 0) least = (unsigned)b;
  }
  return columns > 0 && (double)entries >= least_share * (double)sampled ? least : 0;
}

/* c->hub and, in s->count, the codes of all columns; without hubs neither is there. */
static wr_status find_hubs(wr_env *env, const wr_csr_view *view, int64_t most, double least_share, scratch *s,
                           wr_lane_csr *c) {
  int64_t step = std::max((int64_t)1, c->nnz / SAMPLED), sampled = (c->nnz + step - 1) / step;
  lane_bins bins;
  if (most <= 0 || c->nnz == 0) return WR_OK;
  PASS(wr_device_alloc(env, &s->count, c->ncols, 4, "counts of columns"));
  PASS(wr_device_alloc(env, &s->is_hub, c->ncols, 1, "marks of columns"));
  PASS(wr_device_alloc(env, &s->bins, 1, sizeof *s->bins, "counts of columns"));
  PASS(clear(env, s->count, c->ncols * 4));
  PASS(clear(env, s->bins, sizeof *s->bins));
  PASS(WR_LAUNCH((lane_count), grid_for(env, sampled), THREADS, 0, env->stream, view->col, c->nnz, step, s->count));
  PASS(WR_LAUNCH((lane_sort_out), grid_for(env, c->ncols), THREADS, 0, env->stream, (const unsigned *)s->count,
                 c->ncols, s->bins));
  PASS(wr_device_download(env, &bins, s->bins, sizeof bins / 4, WR_AS_4_BYTES));
  unsigned least = least_of(bins, most, least_share, sampled);
  if (least > 0) {
    PASS(WR_LAUNCH((lane_mark), grid_for(env, c->ncols), THREADS, 0, env->stream, (const unsigned *)s->count, c->ncols,
                   least, s->is_hub));
    PASS(wr_device_alloc(env, &c->hub, std::min(most, c->ncols), 4, "hubs"));
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

template <typename T, typename P>
static wr_status build(wr_env *env, const wr_csr_view *view, int64_t most_hubs, double least_share, scratch *s,
                       wr_lane_csr *c) {
  const uint32_t last = (uint32_t)c->nrows;
  PASS(find_hubs(env, view, most_hubs, least_share, s, c));
  PASS(wr_device_alloc(env, &s->lengths, c->nrows, 8, "places of rows"));
  PASS(wr_device_alloc(env, &s->start, c->nrows + 1, 8, "places of rows"));
  PASS(wr_device_alloc(env, &s->covered, 1, 8, "a count"));
  PASS(clear(env, s->covered, 8));
  if (c->nrows)
    PASS(WR_LAUNCH((lane_lengths<P>), grid_for(env, c->nrows), THREADS, 0, env->stream, (const P *)view->row_ptr,
                   c->nrows, s->lengths));
  PASS(wr_device_scan(env, s->lengths, 8, c->nrows, s->start, 8, &c->places));
  c->chunks = (c->places + CHUNK - 1) / CHUNK;
  PASS(wr_device_alloc(env, &c->code, c->chunks * CHUNK, 4, "columns"));
  if (c->valued) PASS(wr_device_alloc(env, &c->val, c->chunks * CHUNK, sizeof(T), "values"));
  PASS(wr_device_alloc(env, &c->end, c->chunks * WR_WARP, 4, "ends of rows"));
  PASS(wr_device_alloc(env, &c->row, c->chunks + 1, 4, "rows of chunks"));
  PASS(wr_device_alloc(env, &c->origin, c->chunks, 8, "rows of chunks"));
  PASS(wr_device_upload(env, c->row + c->chunks, &last, 1, WR_AS_4_BYTES));
  if (c->chunks == 0) return WR_OK;
  lane_rows<T, P> a = {c->nrows, (const P *)view->row_ptr, view->col, (const T *)view->val, s->start,
                       (const int32_t *)s->count};
  PASS(WR_LAUNCH((lane_write<T, P>), grid_for(env, c->chunks * WR_WARP), THREADS, 0, env->stream, a, *c, s->covered));
  return wr_device_download(env, &c->covered, s->covered, 1, WR_AS_8_BYTES);
}

extern "C" wr_status wr_lane_csr_device_build(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz,
                                              const wr_csr_view *view, int64_t most_hubs, double least_share,
                                              wr_lane_csr *c) {
  wr_status status;
  scratch s = {};
  *c = {};
  c->nrows = nrows, c->ncols = ncols, c->nnz = nnz, c->type = env->type, c->valued = view->val != NULL;
  TRY(wr_cuda_enter(env));
  if (env->type == WR_F32)
    TRY((view->wide ? build<float, int64_t> : build<float, int32_t>)(env, view, most_hubs, least_share, &s, c));
  else
    TRY((view->wide ? build<double, int64_t> : build<double, int32_t>)(env, view, most_hubs, least_share, &s, c));
done:
  free_scratch(env, &s);
  if (status != WR_OK) wr_lane_csr_device_free(env, c);
  return status;
}

/* ---- Arrays ---- */

static std::array<wr_listed_array, 6> list_arrays(wr_lane_csr *c) {
  return {{
      {(void **)&c->code, c->chunks * CHUNK, 4},
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
