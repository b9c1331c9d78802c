/* Builds interleaved rows on a device: hubs from a sample of the entries, then each lane of a warp writes its entries. */
#include "spmv/backends/lane_csr/lane_csr_build.h"

#include <math.h>

#include <algorithm>

#include "config/memory.h"
#include "spmv/backends/lane_csr/lane_csr_build.cuh"
#include "spmv/backends/lane_csr/lane_csr_kernel.h"
#include "spmv/device/array_list.h"
#include "spmv/device/check.cuh"
#include "spmv/device/device_memory.h"
#include "spmv/device/sort.h"
#include "spmv/kernel/pair_table.cuh"

/* ---- Hubs ---- */

constexpr int64_t SAMPLED = 1 << 21; /* entries whose columns are counted */
constexpr int BINS = 4096;           /* columns with BINS - 1 sampled entries or more are in the last bin          */

/* For each number of sampled entries, the columns that have so many, and their entries. And what is counted beside. */
struct lane_bins {
  unsigned columns[BINS], entries[BINS];
  unsigned has_empty; /* 1: a row has no entries */
};

/* count[j] += the sampled entries of column j: every `step`-th. A thread block counts columns that come early by itself, as
 * atomic additions to the greatest hubs would wait for each other: 0.63 ms of gen:hubs (H100, 2026-11-25). */
__global__ void __launch_bounds__(THREADS) lane_count(const int32_t *col, int64_t nnz, int64_t step, unsigned *count) {
  constexpr int OWN = 1024; /* a power of two */
  WR_SHARED(int32_t, column, OWN);
  WR_SHARED(unsigned, counted, OWN);
  for (int k = (int)threadIdx.x; k < OWN; k += THREADS) column[k] = -1, counted[k] = 0;
  __syncthreads();
  for (int64_t k = build_thread() * step; k < nnz; k += build_threads() * step) {
    const int32_t j = col[k];
    const int place = (int)((uint32_t)j * 2654435761u >> 22) & (OWN - 1);
    const int32_t taken = atomicCAS(&column[place], -1, j);
    if (taken == -1 || taken == j)
      atomicAdd(&counted[place], 1u);
    else
      atomicAdd(&count[j], 1u);
  }
  __syncthreads();
  for (int k = (int)threadIdx.x; k < OWN; k += THREADS)
    if (counted[k]) atomicAdd(&count[column[k]], counted[k]);
}

/* Columns without a sampled entry are left out, as most may be. count: four columns at a time; behind the last one there are
 * zeros. */
__global__ void __launch_bounds__(THREADS) lane_sort_out(const uint4 *count, int64_t ncols, lane_bins *bins) {
  WR_SHARED(unsigned, columns, BINS);
  WR_SHARED(unsigned, entries, BINS);
  for (int b = (int)threadIdx.x; b < BINS; b += THREADS) columns[b] = entries[b] = 0;
  __syncthreads();
  for (int64_t k = build_thread(); k < (ncols + 3) / 4; k += build_threads()) {
    const uint4 four = count[k];
    for (unsigned n : {four.x, four.y, four.z, four.w}) {
      if (n == 0) continue;
      const unsigned bin = n < BINS - 1 ? n : BINS - 1;
      atomicAdd(&columns[bin], 1u);
      atomicAdd(&entries[bin], n);
    }
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

/* ---- Rows and places ---- */

/* What is counted of the chunks. */
struct lane_counts {
  unsigned long long covered; /* entries in hubs                                               */
  unsigned long long missed;  /* not 0: a value that f32 does not have, or one without a code   */
  unsigned long long longest; /* the most chunks of a row                                      */
  unsigned long long within;  /* chunks that lie in a row                                      */
  unsigned long long crowded; /* wr_lane_csr.crowded                                           */
};

template <typename T, typename P>
struct lane_rows {
  int64_t nrows;
  const P *row_ptr;
  const int32_t *col;
  const T *val;         /* NULL: a pattern                                                             */
  const int64_t *start; /* [nrows + 1] places before the row; NULL: no row is empty, row_ptr has them */
  const int32_t *code;  /* [ncols] of a column; NULL: the column itself                                */
};

template <typename P>
__global__ void __launch_bounds__(THREADS) lane_find_empty(const P *row_ptr, int64_t nrows, lane_bins *bins) {
  bool empty = false;
  for (int64_t i = build_thread(); i < nrows; i += build_threads()) empty = empty || row_ptr[i] == row_ptr[i + 1];
  if (empty) bins->has_empty = 1;
}

template <typename P>
__global__ void __launch_bounds__(THREADS) lane_lengths(const P *row_ptr, int64_t nrows, int32_t *places) {
  for (int64_t i = build_thread(); i < nrows; i += build_threads()) {
    int32_t length = (int32_t)(row_ptr[i + 1] - row_ptr[i]);
    places[i] = length > 0 ? length : 1;
  }
}

template <typename T, typename P>
static __device__ inline int64_t lane_start(const lane_rows<T, P> &a, int64_t i) {
  return a.start ? a.start[i] : (int64_t)a.row_ptr[i];
}

/* c.row and c.origin of the chunks that begin in a row: a thread a row, and a warp for a row over many chunks. */
template <typename T, typename P>
__global__ void __launch_bounds__(THREADS)
    lane_find_rows(const lane_rows<T, P> a, const wr_lane_csr c, lane_counts *counts) {
  const int lane = threadIdx.x % WR_WARP;
  int64_t longest = 1;
  if (build_thread() == 0) c.row[c.chunks] = (uint32_t)a.nrows;
  int64_t i = build_thread(), begin = i < a.nrows ? lane_start(a, i) : 0, end = i < a.nrows ? lane_start(a, i + 1) : 0;
  for (; i - lane < a.nrows; i += build_threads()) {
    const int64_t later = i + build_threads(); /* its loads are under way while this row is written */
    const int64_t next_begin = later < a.nrows ? lane_start(a, later) : 0,
                  next_end = later < a.nrows ? lane_start(a, later + 1) : 0;
    const int64_t from = (begin + CHUNK - 1) / CHUNK, to = (end + CHUNK - 1) / CHUNK;
    auto put = [&](int64_t w, int64_t row, int64_t place) {
      c.row[w] = (uint32_t)row | (place < w * CHUNK ? WR_LANE_OPEN : 0);
      c.origin[w] = place / CHUNK;
    };
    if (end > begin && (end - 1) / CHUNK - begin / CHUNK + 1 > longest) longest = (end - 1) / CHUNK - begin / CHUNK + 1;
    if (to - from <= WR_WARP)
      for (int64_t w = from; w < to; w++) put(w, i, begin);
    for (unsigned many = __ballot_sync((unsigned)WR_FULL_MASK, to - from > WR_WARP); many; many &= many - 1) {
      const int owner = __ffs((int)many) - 1;
      const int64_t first = __shfl_sync((unsigned)WR_FULL_MASK, from, owner),
                    last = __shfl_sync((unsigned)WR_FULL_MASK, to, owner),
                    place = __shfl_sync((unsigned)WR_FULL_MASK, begin, owner);
      for (int64_t w = first + lane; w < last; w += WR_WARP) put(w, i - lane + owner, place);
    }
    begin = next_begin, end = next_end;
  }
  longest = -wr_warp_min((int32_t)-longest);
  if (lane == 0) atomicMax(&counts->longest, (unsigned long long)longest);
}

/* counts->within and counts->crowded, a warp for each WR_LANE_CROWD chunks. No row ends in a chunk that lies within one. */
__global__ void __launch_bounds__(THREADS) lane_find_crowds(const wr_lane_csr c, lane_counts *counts) {
  const int lane = threadIdx.x % WR_WARP;
  int most = 0, all = 0;
  for (int64_t from = build_thread() / WR_WARP * WR_LANE_CROWD; from < c.chunks;
       from += build_threads() / WR_WARP * WR_LANE_CROWD) {
    int within = 0;
    for (int64_t w = from + lane; w - lane < from + WR_LANE_CROWD; w += WR_WARP) {
      const bool is_within = w < c.chunks && ((c.row[w] ^ c.row[w + 1]) & ~WR_LANE_OPEN) == 0;
      within += __popc(__ballot_sync((unsigned)WR_FULL_MASK, is_within));
    }
    most = max(most, within), all += within;
  }
  if (lane > 0 || most == 0) return;
  atomicMax(&counts->crowded, (unsigned long long)most), atomicAdd(&counts->within, (unsigned long long)all);
}

/* ---- Entries ---- */

/* A warp's flags of the places of a chunk, a byte each: 1: the place is the last of its row, 2: it has no entry. */
struct lane_flags {
  uint64_t of_lane[WR_WARP]; /* EACH bytes */
};

/* The places of a lane in a chunk. */
struct lane_places {
  int64_t first;        /* the entry of its first place, if that has one                                     */
  unsigned ends, empty; /* bit j: the j-th place is the last of its row; is one without an entry             */
};

/* Bit j: the lowest bit of byte j. */
static __device__ inline unsigned lane_bits(uint64_t bytes) {
  return (unsigned)((bytes & 0x0101010101010101u) * 0x0102040810204080u >> 56);
}

/* needs_ends: whether `ends` is wanted. Every lane of the warp. */
template <typename T, typename P>
static __device__ inline lane_places lane_find(const lane_rows<T, P> &a, const wr_lane_csr &c, int64_t w,
                                               bool needs_ends, lane_flags &flags) {
  static_assert(EACH == 8, "a byte a place");
  const int lane = threadIdx.x % WR_WARP, at = lane * EACH;
  const int64_t p0 = w * CHUNK, row = c.row[w] & ~WR_LANE_OPEN, rows = (c.row[w + 1] & ~WR_LANE_OPEN) - row;
  lane_places found = {p0 + at, 0, 0};
  if (needs_ends || a.start) {
    flags.of_lane[lane] = 0;
    __syncwarp();
    for (int64_t i = row + lane; i < row + rows; i += WR_WARP) {
      const int64_t end = lane_start(a, i + 1) - 1 - p0;
      const bool is_empty = a.start && a.row_ptr[i] == a.row_ptr[i + 1];
      ((uint8_t *)flags.of_lane)[end] = (uint8_t)(is_empty ? 3 : 1);
    }
    __syncwarp();
    found.ends = lane_bits(flags.of_lane[lane]), found.empty = lane_bits(flags.of_lane[lane] >> 1);
    if (a.start)
      found.first = (int64_t)a.row_ptr[row] + (p0 - a.start[row]) + at - lane_sum_before(__popc(found.empty));
    __syncwarp(); /* the flags may be used again */
  }
  for (int j = 0; j < EACH; j++)
    if (p0 + at + j >= c.places) found.empty |= 1u << j;
  return found;
}

/* value[EACH] := those of the lane's entries; `none` for places without one. */
template <typename E>
static __device__ inline void lane_read(const E *from, const lane_places &at, E none, E (&value)[EACH]) {
  int64_t k = at.first;
#pragma unroll
  for (int j = 0; j < EACH; j++) {
    const bool is_entry = !(at.empty >> j & 1);
    value[j] = is_entry ? from[k] : none;
    k += is_entry;
  }
}

/* Writes a lane's elements of chunk w, 16 bytes at a time, or 8 elements of a byte. */
static __device__ inline void lane_store(uint8_t *to, int64_t w, const uint8_t (&from)[EACH]) {
  uint2 bundle;
  memcpy(&bundle, from, sizeof bundle);
  ((uint2 *)(to + w * CHUNK))[threadIdx.x % WR_WARP] = bundle;
}

template <typename E>
static __device__ inline void lane_store(E *to, int64_t w, const E (&from)[EACH]) {
  constexpr int COUNT = 16 / (int)sizeof(E);
#pragma unroll
  for (int b = 0; b < EACH / COUNT; b++) {
    uint4 bundle;
    memcpy(&bundle, from + b * COUNT, sizeof bundle);
    ((uint4 *)(to + w * CHUNK))[b * WR_WARP + threadIdx.x % WR_WARP] = bundle;
  }
}

/* Windows of every step-th chunk: c.window as in the format, or, if there are not enough, wide[w] := 1. wide NULL: only counts,
 * *narrow += the chunks for which two windows are enough. */
template <typename T, typename P>
__global__ void __launch_bounds__(THREADS)
    lane_windows(const lane_rows<T, P> a, const wr_lane_csr c, int64_t step, int64_t *wide, unsigned *narrow) {
  WR_SHARED(lane_flags, flags, THREADS / WR_WARP);
  int lane = threadIdx.x % WR_WARP;
  unsigned counted = 0;
  for (int64_t w = build_thread() / WR_WARP * step; w < c.chunks; w += build_threads() / WR_WARP * step) {
    int32_t column[EACH];
    int least = INT32_MAX, second = INT32_MAX;
    bool enough = true;
    lane_read(a.col, lane_find(a, c, w, false, flags[threadIdx.x / WR_WARP]), (int32_t)INT32_MAX, column);
#pragma unroll
    for (int j = 0; j < EACH; j++) least = column[j] < least ? column[j] : least;
    least = wr_warp_min(least);
#pragma unroll
    for (int j = 0; j < EACH; j++)
      if (column[j] - least >= WR_LANE_WINDOW && column[j] < second) second = column[j];
    second = wr_warp_min(second);
#pragma unroll
    for (int j = 0; j < EACH; j++)
      enough = enough && (column[j] == INT32_MAX || column[j] < second || column[j] - second < WR_LANE_WINDOW - 1);
    enough = __all_sync((unsigned)WR_FULL_MASK, enough);
    if (lane != 0) continue;
    if (!wide) {
      counted += enough;
      continue;
    }
    c.window[2 * w] = least == INT32_MAX ? 0 : least;
    c.window[2 * w + 1] = second == INT32_MAX ? 0 : second - WR_LANE_WINDOW;
    wide[w] = !enough;
  }
  if (counted) atomicAdd(narrow, counted);
}

/* The windows of wide chunks := what the format has there; at[w]: the wide chunks before chunk w. */
__global__ void __launch_bounds__(THREADS)
    lane_number_wide(const int64_t *wide, const int64_t *at, int64_t chunks, int32_t *window) {
  for (int64_t w = build_thread(); w < chunks; w += build_threads())
    if (wide[w]) window[2 * w] = (int32_t)at[w], window[2 * w + 1] = WR_LANE_WIDE;
}

/* Writes a lane's columns of chunk w. code: as with full columns. */
static __device__ inline void lane_put(const wr_lane_csr &c, int64_t w, const int32_t (&code)[EACH]) {
  if (c.code) {
    lane_store(c.code, w, code);
    return;
  }
  const int32_t first = c.window[2 * w], second = c.window[2 * w + 1];
  uint16_t low[EACH], high[EACH];
#pragma unroll
  for (int j = 0; j < EACH; j++) {
    const bool padding = code[j] == WR_LANE_PADDING, is_wide = second == WR_LANE_WIDE;
    const uint32_t column = (uint32_t)code[j]; /* unsigned, as that of padding is no column */
    const uint32_t in_window = column - (uint32_t)(column - (uint32_t)first < WR_LANE_WINDOW ? first : second);
    low[j] = padding ? (uint16_t)WR_LANE_NONE : (uint16_t)(is_wide ? column : in_window);
    high[j] = padding ? (uint16_t)WR_LANE_NONE : (uint16_t)(column >> 16);
  }
  lane_store(c.low, w, low);
  if (second == WR_LANE_WIDE) lane_store(c.high, first, high);
}

/* Where a chunk stands in the order of columns, in 2^31 parts of all: a chunk within a row by its first column, others by their
 * first row. So they come at an even pace, and neighbours in x are read at about the same time. */
static __device__ inline uint32_t lane_key(int64_t at, int64_t of) {
  return (uint32_t)(((uint64_t)at << 31) / (uint64_t)of);
}

/* Whether f32 has a value of f64, bit for bit. */
static __device__ inline bool lane_is_narrow(double value) {
  const double back = (double)(float)value;
  uint64_t bits, of_back;
  memcpy(&bits, &value, sizeof bits), memcpy(&of_back, &back, sizeof of_back);
  return bits == of_back;
}

/* Adds every step-th value to `set`; counts->missed := 1 if f32 does not have one of them. */
__global__ void __launch_bounds__(THREADS)
    lane_sample_values(const double *val, int64_t nnz, int64_t step, pair_set *set, lane_counts *counts) {
  bool narrow = true;
  for (int64_t k = build_thread() * step; k < nnz; k += build_threads() * step) {
    value_pair pair = {0, 0};
    memcpy(&pair.bits, val + k, sizeof pair.bits);
    if (!pair_set_is_full(set)) pair_set_add(set, pair);
    narrow = narrow && lane_is_narrow(val[k]);
  }
  if (!narrow) atomicMax(&counts->missed, 1ull);
}

/* Writes a lane's values of chunk w, whose entries are at `at`. *missed := true if there is one that cannot be written. Values
 * without a code are added to `set`. */
template <typename T>
static __device__ inline void lane_put_values(const wr_lane_csr &c, int64_t w, const T *val, const lane_places &at,
                                              const pair_codes *codes, pair_set *set, bool *missed) {
  T value[EACH];
  lane_read(val, at, (T)0, value);
  if (sizeof(T) == 4 || c.value_bytes == 8) {
    lane_store((T *)c.val, w, value);
  } else if (c.value_bytes == 4) {
    float narrow[EACH];
#pragma unroll
    for (int j = 0; j < EACH; j++) narrow[j] = (float)value[j], *missed = *missed || !lane_is_narrow((double)value[j]);
    lane_store((float *)c.val, w, narrow);
  } else {
    uint8_t code[EACH];
    for (int j = 0; j < EACH; j++) {
      code[j] = WR_LANE_NO_VALUE;
      if (at.empty >> j & 1) continue;
      value_pair pair = {0, 0};
      memcpy(&pair.bits, &value[j], sizeof(T));
      const int found = pair_code_of(codes, pair);
      if (found == NO_CODE) pair_set_add(set, pair), *missed = true;
      code[j] = (uint8_t)found;
    }
    lane_store((uint8_t *)c.val, w, code);
  }
}

/* Writes the chunks, a warp each, and counts. key: [chunks] places in the order of columns; NULL: not wanted. given and set:
 * for coded values. */
template <typename T, typename P>
__global__ void __launch_bounds__(THREADS) lane_write(const lane_rows<T, P> a, const wr_lane_csr c, uint32_t *key,
                                                      const pair_codes *given, pair_set *set, lane_counts *counts) {
  WR_SHARED(lane_flags, flags, THREADS / WR_WARP);
  WR_SHARED(pair_codes, codes, 1);
  int lane = threadIdx.x % WR_WARP;
  unsigned long long in_hubs = 0;
  bool missed = false;
  if (c.value_bytes == 1) {
    for (int n = (int)threadIdx.x; n < (int)(sizeof(pair_codes) / 4); n += THREADS)
      ((uint32_t *)codes)[n] = ((const uint32_t *)given)[n];
    __syncthreads();
  }
  for (int64_t w = build_thread() / WR_WARP; w < c.chunks; w += build_threads() / WR_WARP) {
    const lane_places at = lane_find(a, c, w, true, flags[threadIdx.x / WR_WARP]);
    int32_t code[EACH];
    lane_read(a.col, at, (int32_t)WR_LANE_PADDING, code);
    const int32_t first = code[0];
    if (c.value_bytes) lane_put_values(c, w, a.val, at, codes, set, &missed);
    if (a.code) {
#pragma unroll
      for (int j = 0; j < EACH; j++)
        if (code[j] != WR_LANE_PADDING) code[j] = a.code[code[j]];
#pragma unroll
      for (int j = 0; j < EACH; j++) in_hubs += code[j] < 0 && code[j] != WR_LANE_PADDING;
    }
    lane_put(c, w, code);
    c.end[w * WR_WARP + lane] = at.ends | (unsigned)lane_sum_before(__popc(at.ends)) << 16;
    const bool is_within = __all_sync((unsigned)WR_FULL_MASK, at.ends == 0);
    if (key && lane == 0) key[w] = is_within ? lane_key(first, c.ncols) : lane_key(c.row[w] & ~WR_LANE_OPEN, a.nrows);
  }
  for (int distance = WR_WARP / 2; distance > 0; distance /= 2)
    in_hubs += __shfl_xor_sync((unsigned)WR_FULL_MASK, in_hubs, distance);
  if (missed) atomicMax(&counts->missed, 1ull);
  if (lane == 0 && in_hubs) atomicAdd(&counts->covered, in_hubs);
}

/* ---- Host ---- */

/* What a build needs besides the format. */
struct scratch {
  unsigned *count;   /* [ncols]; then the columns' codes, in place */
  uint8_t *is_hub;   /* [ncols] */
  lane_bins *bins;
  int32_t *lengths;  /* [nrows] */
  int64_t *start;    /* [nrows + 1] */
  lane_counts *counts;
  uint32_t *key;     /* [chunks] */
  unsigned *narrow;
  int64_t *wide;     /* [chunks] */
  int64_t *wide_at;  /* [chunks + 1] */
  pair_set *set;     /* distinct values */
  pair_codes *codes;
};

static void free_scratch(wr_env *env, scratch *s) {
  void *const arrays[] = {s->count, s->is_hub, s->bins, s->lengths, s->start, s->counts,
                          s->key, s->narrow, s->wide, s->wide_at, s->set, s->codes};
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

/* Counts columns in s->bins, and in s->count, which stays NULL if there may be no hubs. */
static wr_status count_columns(wr_env *env, const wr_csr_view *view, const wr_lane_choice *choice, scratch *s,
                               const wr_lane_csr *c) {
  int64_t step = std::max((int64_t)1, c->nnz / SAMPLED), sampled = (c->nnz + step - 1) / step;
  if (choice->most_hubs <= 0 || c->nnz == 0) return WR_OK;
  PASS(wr_device_alloc_zeroed(env, &s->count, c->ncols, 4, "counts of columns"));
  PASS(WR_LAUNCH((lane_count), grid_for(env, sampled), THREADS, 0, env->stream, view->col, c->nnz, step, s->count));
  PASS(WR_LAUNCH((lane_sort_out), grid_for(env, c->ncols), THREADS, 0, env->stream, (const uint4 *)s->count, c->ncols,
                 s->bins));
  return WR_OK;
}

/* c->hub and, in s->count, the codes of all columns; without hubs neither is there. */
static wr_status name_hubs(wr_env *env, const lane_bins &bins, const wr_lane_choice *choice, scratch *s,
                           wr_lane_csr *c) {
  int64_t step = std::max((int64_t)1, c->nnz / SAMPLED), sampled = (c->nnz + step - 1) / step;
  unsigned least = s->count ? least_of(bins, choice, sampled) : 0;
  if (least == 0) {
    wr_device_free(env, s->count), s->count = NULL;
    return WR_OK;
  }
  PASS(wr_device_alloc(env, &s->is_hub, c->ncols, 1, "marks of columns"));
  PASS(WR_LAUNCH((lane_mark), grid_for(env, c->ncols), THREADS, 0, env->stream, (const unsigned *)s->count, c->ncols,
                 least, s->is_hub));
  PASS(wr_device_alloc(env, &c->hub, std::min(choice->most_hubs, c->ncols), 4, "hubs"));
  PASS(wr_device_select(env, s->is_hub, 1, c->ncols, NULL, c->hub, 4, &c->hubs));
  PASS(WR_LAUNCH((lane_name_columns), grid_for(env, c->ncols), THREADS, 0, env->stream, c->ncols, (int32_t *)s->count));
  return WR_LAUNCH((lane_name_hubs), grid_for(env, c->hubs), THREADS, 0, env->stream, (const int32_t *)c->hub, c->hubs,
                   (int32_t *)s->count);
}

/* The least size of the entries with full columns, as a multiple of the second-level cache, from which 16-bit columns pay. To
 * decode those of fewer entries takes longer than to read 32 bits (24 matrices: docs/lane_csr.md). */
static double windows_from(const wr_lane_csr *c) {
  if (c->type == WR_F32) return c->value_bytes ? 2 : INFINITY;
  return c->value_bytes == 8 ? 0.5 : c->value_bytes == 1 ? 2 : 1;
}

/* Whether entries with full columns have so many times the size of the second-level cache. */
static wr_status are_many(wr_env *env, const wr_lane_choice *choice, const wr_lane_csr *c, double caches, bool *many) {
  const int64_t bytes = c->places * (4 + c->value_bytes);
  int cache = 0;
  PASS(WR_CUDA(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, env->device)));
  *many = choice->any_size || (double)bytes > caches * (double)cache;
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
  PASS(WR_LAUNCH((lane_windows<T, P>), grid_for(env, sampled * WR_WARP), THREADS, 0, env->stream, a, *c, step,
                 (int64_t *)NULL, s->narrow));
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
  PASS(WR_LAUNCH((lane_windows<T, P>), grid_for(env, c->chunks * WR_WARP), THREADS, 0, env->stream, a, *c, (int64_t)1,
                 s->wide, (unsigned *)NULL));
  PASS(wr_device_scan(env, s->wide, 8, c->chunks, s->wide_at, 8, &c->wide));
  PASS(WR_LAUNCH((lane_number_wide), grid_for(env, c->chunks), THREADS, 0, env->stream, (const int64_t *)s->wide,
                 (const int64_t *)s->wide_at, c->chunks, c->window));
  PASS(wr_device_alloc(env, &c->low, c->chunks * CHUNK, 2, "columns"));
  return wr_device_alloc(env, &c->high, c->wide * CHUNK, 2, "columns");
}

constexpr int64_t VALUES_SAMPLED = 1 << 18;

/* Up to 16 values lie in different banks of shared memory, so look-ups of a warp do not wait for each other. With 200 values
 * the multiply of gen:web takes 156 us coded and 137 narrow, with 3 values 136 (H200, 2026-11-28). */
constexpr int WITHOUT_CONFLICTS = 16;

static wr_status download_set(wr_env *env, scratch *s, pair_set *set) {
  return wr_device_download(env, set, s->set, sizeof *set / 4, WR_AS_4_BYTES);
}

/* c->value_bytes, and if they are coded *set := the distinct values of a sample. */
static wr_status sample_values(wr_env *env, const wr_csr_view *view, const wr_lane_choice *choice, scratch *s,
                               wr_lane_csr *c, pair_set *set) {
  const int64_t step = std::max((int64_t)1, c->nnz / VALUES_SAMPLED), sampled = (c->nnz + step - 1) / step;
  lane_counts counts;
  bool many = true;
  if (c->value_bytes != 8 || choice->values == WR_LANE_FULL || c->chunks == 0) return WR_OK;
  if (choice->values == WR_LANE_COMPACT) PASS(are_many(env, choice, c, 1, &many));
  if (!many) return WR_OK;
  PASS(wr_device_alloc_zeroed(env, &s->set, 1, sizeof *s->set, "distinct values"));
  const unsigned grid = wr_cuda_grid(env, (sampled + THREADS - 1) / THREADS, 1); /* few threads crowd the set less */
  PASS(WR_LAUNCH((lane_sample_values), grid, THREADS, 0, env->stream, (const double *)view->val, c->nnz, step, s->set,
                 s->counts));
  PASS(download_set(env, s, set));
  PASS(wr_device_download(env, &counts, s->counts, sizeof counts / 8, WR_AS_8_BYTES));
  const bool is_narrow = counts.missed == 0 && choice->values != WR_LANE_CODED;
  const bool is_coded =
      set->count <= MOST_PAIRS && choice->values != WR_LANE_NARROW && (choice->values == WR_LANE_CODED || c->hubs == 0);
  if (is_coded && (set->count <= WITHOUT_CONFLICTS || !is_narrow))
    c->value_bytes = 1;
  else if (is_narrow)
    c->value_bytes = 4;
  return WR_OK;
}

/* c->val, not yet filled, and, if it has codes, those of the values in a set. */
static wr_status make_values(wr_env *env, const pair_set &set, scratch *s, wr_lane_csr *c) {
  pair_codes codes;
  double table[256] = {};
  wr_device_free(env, c->val), wr_device_free(env, c->table);
  c->val = NULL, c->table = NULL;
  PASS(wr_device_alloc(env, &c->val, c->chunks * CHUNK, (size_t)c->value_bytes, "values"));
  if (c->value_bytes != 1) return WR_OK;
  const int count = pair_set_codes(set, &codes);
  for (int n = 0; n < count; n++) table[n] = value_of_bits(codes.bits[n], c->type);
  if (s->codes == NULL) PASS(wr_device_alloc(env, &s->codes, 1, sizeof *s->codes, "codes of values"));
  PASS(wr_device_alloc(env, &c->table, 256, 8, "a table of values"));
  PASS(wr_device_upload(env, s->codes, &codes, sizeof codes / 4, WR_AS_4_BYTES));
  return wr_device_upload(env, c->table, table, 256, WR_AS_8_BYTES);
}

/* Writes all chunks. If the sample has missed values that need more bytes, they are written once more: coded ones with all that
 * were found, or, if these are too many, in full. */
template <typename T, typename P>
static wr_status write_chunks(wr_env *env, const lane_rows<T, P> &a, pair_set *set, scratch *s, wr_lane_csr *c,
                              lane_counts *counts) {
  for (int pass = 0;; pass++) {
    if (c->value_bytes) PASS(make_values(env, *set, s, c));
    PASS(clear(env, s->counts, offsetof(lane_counts, longest)));
    PASS(WR_LAUNCH((lane_write<T, P>), grid_for(env, c->chunks * WR_WARP), THREADS, 0, env->stream, a, *c, s->key,
                   (const pair_codes *)s->codes, s->set, s->counts));
    PASS(wr_device_download(env, counts, s->counts, sizeof *counts / 8, WR_AS_8_BYTES));
    if (counts->missed == 0) return WR_OK;
    if (c->value_bytes == 1) PASS(download_set(env, s, set));
    if (c->value_bytes != 1 || set->count > MOST_PAIRS || pass > 0) c->value_bytes = sizeof(T);
  }
}

constexpr int64_t LARGE_X = 1 << 20; /* bytes of x; less is in all first-level caches                           */
constexpr double LEAST_WITHIN = 0.3; /* of the chunks: with fewer that lie within a row, the order gains little */

__global__ void __launch_bounds__(THREADS) lane_number(int64_t count, int32_t *number) {
  for (int64_t w = build_thread(); w < count; w += build_threads()) number[w] = (int32_t)w;
}

/* c->order, by s->key. */
static wr_status sort_chunks(wr_env *env, scratch *s, wr_lane_csr *c) {
  PASS(wr_device_alloc(env, &c->order, c->chunks, 4, "order of chunks"));
  PASS(WR_LAUNCH((lane_number), grid_for(env, c->chunks), THREADS, 0, env->stream, c->chunks, c->order));
  return wr_device_sort_pairs(env, s->key, 4, c->order, 4, c->chunks, 0, 31);
}

/* s->start and c->places. Without empty rows row_ptr has the starts, and s->start stays NULL. */
template <typename P>
static wr_status place_rows(wr_env *env, const P *row_ptr, bool has_empty, scratch *s, wr_lane_csr *c) {
  c->places = c->nnz;
  if (!has_empty) return WR_OK;
  PASS(wr_device_alloc(env, &s->lengths, c->nrows, 4, "places of rows"));
  PASS(wr_device_alloc(env, &s->start, c->nrows + 1, 8, "places of rows"));
  PASS(WR_LAUNCH((lane_lengths<P>), grid_for(env, c->nrows), THREADS, 0, env->stream, row_ptr, c->nrows, s->lengths));
  return wr_device_scan(env, s->lengths, 4, c->nrows, s->start, 8, &c->places);
}

template <typename T, typename P>
static wr_status build(wr_env *env, const wr_csr_view *view, const wr_lane_choice *choice, scratch *s, wr_lane_csr *c) {
  const P *row_ptr = (const P *)view->row_ptr;
  bool windows = choice->windows > 0, many = false;
  lane_bins bins;
  pair_set set;
  PASS(wr_device_alloc(env, &s->bins, 1, sizeof *s->bins, "counts of columns"));
  PASS(wr_device_alloc(env, &s->counts, 1, sizeof *s->counts, "counts"));
  PASS(clear(env, s->bins, sizeof *s->bins));
  PASS(clear(env, s->counts, sizeof *s->counts));
  if (c->nrows)
    PASS(WR_LAUNCH((lane_find_empty<P>), grid_for(env, c->nrows), THREADS, 0, env->stream, row_ptr, c->nrows, s->bins));
  if (!windows) PASS(count_columns(env, view, choice, s, c));
  PASS(wr_device_download(env, &bins, s->bins, sizeof bins / 4, WR_AS_4_BYTES));
  PASS(name_hubs(env, bins, choice, s, c));
  PASS(place_rows(env, row_ptr, bins.has_empty, s, c));
  c->chunks = (c->places + CHUNK - 1) / CHUNK;
  PASS(wr_device_alloc(env, &c->row, c->chunks + 1, 4, "rows of chunks"));
  PASS(wr_device_alloc(env, &c->origin, c->chunks, 8, "rows of chunks"));
  lane_rows<T, P> a = {c->nrows, row_ptr, view->col, (const T *)view->val, s->start, (const int32_t *)s->count};
  PASS(WR_LAUNCH((lane_find_rows<T, P>), grid_for(env, c->nrows), THREADS, 0, env->stream, a, *c, s->counts));
  PASS(WR_LAUNCH((lane_find_crowds), grid_for(env, c->chunks * WR_WARP / WR_LANE_CROWD + 1), THREADS, 0, env->stream,
                 *c, s->counts));
  PASS(sample_values(env, view, choice, s, c, &set));
  if (choice->windows < 0 && c->hubs == 0) PASS(are_many(env, choice, c, windows_from(c), &many));
  if (many && c->chunks) PASS(sample_windows(env, a, c, s, &windows));
  if (windows && c->chunks)
    PASS(make_windows(env, a, s, c));
  else
    PASS(wr_device_alloc(env, &c->code, c->chunks * CHUNK, 4, "columns"));
  PASS(wr_device_alloc(env, &c->end, c->chunks * WR_WARP, 4, "ends of rows"));
  if (c->chunks == 0) return WR_OK;
  const bool may_gain = c->hubs == 0 && c->ncols * wr_type_bytes(env->type) >= LARGE_X;
  if (choice->by_columns > 0 || (choice->by_columns < 0 && may_gain))
    PASS(wr_device_alloc(env, &s->key, c->chunks, 4, "places of chunks"));
  lane_counts counts;
  PASS(write_chunks(env, a, &set, s, c, &counts));
  c->covered = (int64_t)counts.covered, c->longest = (int64_t)counts.longest;
  c->within = (int64_t)counts.within, c->crowded = (int64_t)counts.crowded;
  const bool gains = (double)c->within >= LEAST_WITHIN * (double)c->chunks && !wr_lane_is_alone(env, c);
  if (s->key && (choice->by_columns > 0 || gains)) PASS(sort_chunks(env, s, c));
  return choice->staged && c->code && c->hubs == 0 ? wr_lane_csr_stage(env, choice, c) : WR_OK;
}

extern "C" wr_status wr_lane_csr_device_build(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz,
                                              const wr_csr_view *view, const wr_lane_choice *choice, wr_lane_csr *c) {
  wr_status status;
  scratch s = {};
  *c = {};
  c->nrows = nrows, c->ncols = ncols, c->nnz = nnz, c->type = env->type,
  c->value_bytes = view->val ? (int)wr_type_bytes(env->type) : 0;
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

static std::array<wr_listed_array, 13> list_arrays(wr_lane_csr *c) {
  return {{
      {(void **)&c->code, c->chunks * CHUNK, 4},
      {(void **)&c->low, c->chunks * CHUNK, 2},
      {(void **)&c->high, c->wide * CHUNK, 2},
      {(void **)&c->window, 2 * c->chunks, 4},
      {&c->val, c->chunks * CHUNK, (size_t)c->value_bytes},
      {(void **)&c->table, 256, 8},
      {(void **)&c->end, c->chunks * WR_WARP, 4},
      {(void **)&c->row, c->chunks + 1, 4},
      {(void **)&c->origin, c->chunks, 8},
      {(void **)&c->hub, c->hubs, 4},
      {(void **)&c->order, c->chunks, 4},
      {(void **)&c->in_slab, c->far, 2},
      {(void **)&c->piece, c->pieces, sizeof *c->piece},
  }};
}

extern "C" void wr_lane_csr_device_free(wr_env *env, wr_lane_csr *c) { wr_format_free_device(env, c, list_arrays); }

extern "C" void wr_lane_csr_free(wr_lane_csr *c) { wr_format_free_host(c, list_arrays); }

extern "C" int64_t wr_lane_csr_device_bytes(const wr_lane_csr *c) { return wr_format_device_bytes(*c, list_arrays); }

extern "C" wr_status wr_lane_csr_download(wr_env *env, const wr_lane_csr *c, wr_lane_csr *to) {
  return wr_format_download(env, *c, to, list_arrays);
}
