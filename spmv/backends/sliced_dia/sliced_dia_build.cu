/* Builds sliced DIA on a device: a warp walks over the rows of a slice, first to count its segments, then to write them. */
#include "spmv/backends/sliced_dia/sliced_dia_build.h"

#include <algorithm>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <vector>

#include "config/memory.h"
#include "spmv/device/array_list.h"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/device/sort.h"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/warp.cuh"

constexpr int THREADS = 256, BLOCKS = 8; /* of a multiprocessor */
constexpr int Q = WR_DIA_ROWS / WR_WARP; /* rows of a lane */

/* ---- Kernels ---- */

template <typename T, typename P>
struct dia_rows {
  int64_t nrows;
  const P *row_ptr;
  const int32_t *col;
  const T *val; /* NULL: a pattern */
};

/* What one slice takes. */
struct dia_counts {
  int64_t *segments; /* [slices] of distances alone                     */
  int64_t *pairs;    /* [slices] with values told apart                 */
  int64_t *values;   /* [slices] elements of val, with the gap behind   */
  int *not_finite;   /* [1] set where a value is infinite or NaN        */
};

static __device__ inline int64_t build_warp() { return ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WR_WARP; }
static __device__ inline int64_t build_warps() { return (int64_t)gridDim.x * (THREADS / WR_WARP); }

static __device__ inline uint64_t bits_of(float value) { return (uint64_t)__float_as_uint(value); }
static __device__ inline uint64_t bits_of(double value) { return (uint64_t)__double_as_longlong(value); }

/* A lane's rows, each at one of its entries: the first that no segment has yet. */
template <typename T, typename P>
struct dia_walk {
  static constexpr int32_t NONE = INT_MAX; /* no distance: a column is less */
  int64_t i[Q], k[Q], end[Q];
  int32_t difference[Q];
  T value[Q];

  __device__ void read(const dia_rows<T, P> &a, int q) {
    difference[q] = k[q] < end[q] ? (int32_t)(a.col[k[q]] - i[q]) : NONE;
    value[q] = a.val && k[q] < end[q] ? a.val[k[q]] : (T)0;
  }

  __device__ void begin(const dia_rows<T, P> &a, int64_t slice) {
    for (int q = 0; q < Q; q++) {
      i[q] = slice * WR_DIA_ROWS + q * WR_WARP + threadIdx.x % WR_WARP;
      k[q] = i[q] < a.nrows ? (int64_t)a.row_ptr[i[q]] : 0, end[q] = i[q] < a.nrows ? (int64_t)a.row_ptr[i[q] + 1] : 0;
      read(a, q);
    }
  }

  /* The least distance in the warp. */
  __device__ int32_t least() const {
    int32_t d = min(difference[0], difference[1]);
    for (int distance = WR_WARP / 2; distance > 0; distance /= 2)
      d = min(d, __shfl_xor_sync((unsigned)WR_FULL_MASK, d, distance));
    return d;
  }

  /* The rows that are at an entry of this distance; in_pairs: and that have the value of the first of them, *first. */
  __device__ uint64_t rows_at(int32_t d, bool in_pairs, T *first) const {
    unsigned at[Q];
    for (int q = 0; q < Q; q++) at[q] = __ballot_sync((unsigned)WR_FULL_MASK, difference[q] == d);
    *first = __shfl_sync((unsigned)WR_FULL_MASK, at[0] ? value[0] : value[1], __ffs((int)(at[0] ? at[0] : at[1])) - 1);
    if (in_pairs)
      for (int q = 0; q < Q; q++)
        at[q] = __ballot_sync((unsigned)WR_FULL_MASK, difference[q] == d && bits_of(value[q]) == bits_of(*first));
    return (uint64_t)at[1] << 32 | at[0];
  }

  __device__ void pass(const dia_rows<T, P> &a, uint64_t rows) {
    for (int q = 0; q < Q; q++)
      if (rows >> (q * WR_WARP + threadIdx.x % WR_WARP) & 1) k[q]++, read(a, q);
  }
};
static_assert(Q == 2, "the walk takes two rows a lane");

/* Counts segments. Columns ascend within a row, so distances ascend within a slice. */
template <typename T, typename P>
__global__ void __launch_bounds__(THREADS) dia_count(const dia_rows<T, P> a, int64_t slices, dia_counts counts) {
  for (int64_t s = build_warp(); s < slices; s += build_warps()) {
    dia_walk<T, P> walk;
    int64_t segments = 0, pairs = 0, last = (s + 1) * WR_DIA_ROWS < a.nrows ? (s + 1) * WR_DIA_ROWS : a.nrows;
    bool finite = true;
    T first;
    walk.begin(a, s);
    for (int32_t before = walk.NONE, d = walk.least(); d != walk.NONE; before = d, d = walk.least()) {
      segments += d != before, pairs++;
      for (int q = 0; q < Q; q++) finite = finite && (!a.val || isfinite(walk.value[q]));
      walk.pass(a, walk.rows_at(d, a.val != nullptr, &first));
    }
    if (!finite) *counts.not_finite = 1;
    if (threadIdx.x % WR_WARP) continue;
    int64_t entries = (int64_t)a.row_ptr[last] - (int64_t)a.row_ptr[s * WR_DIA_ROWS];
    counts.segments[s] = segments, counts.pairs[s] = pairs;
    counts.values[s] = (entries + WR_DIA_ALIGN - 1) / WR_DIA_ALIGN * WR_DIA_ALIGN;
  }
}

/* Writes the segments, and the values if they are stored. */
template <typename T, typename P>
__global__ void __launch_bounds__(THREADS) dia_write(const dia_rows<T, P> a, const wr_sliced_dia d) {
  bool in_pairs = d.kind == WR_DIA_PAIRS, in_values = d.kind == WR_DIA_VALUES;
  int lane = threadIdx.x % WR_WARP;
  for (int64_t s = build_warp(); s < d.slices; s += build_warps()) {
    dia_walk<T, P> walk;
    int64_t segment = d.segment[s], place = in_values ? d.place[s] : 0;
    walk.begin(a, s);
    for (int32_t difference = walk.least(); difference != walk.NONE; difference = walk.least(), segment++) {
      T first;
      uint64_t rows = walk.rows_at(difference, in_pairs, &first);
      if (lane == 0) {
        d.difference[segment] = difference, d.mask[segment] = rows;
        if (in_pairs) ((T *)d.value)[segment] = first;
      }
      for (int q = 0; q < Q; q++) {
        int r = q * WR_WARP + lane;
        if (in_values && (rows >> r & 1))
          ((T *)d.val)[place + __popcll(rows & (((uint64_t)1 << r) - 1))] = walk.value[q];
      }
      place += __popcll(rows);
      walk.pass(a, rows);
    }
    if (in_values && place + lane < d.place[s + 1]) ((T *)d.val)[place + lane] = (T)0;
  }
}
static_assert((int)WR_DIA_ALIGN <= (int)WR_WARP, "a warp fills a gap at once");

/* ---- Host ---- */

static wr_status check_segments(double segments, double nnz) {
  if (WR_DIA_LEAST * segments <= nnz + 1024 * WR_DIA_LEAST) return WR_OK;
  return wr_fail(
      WR_EUNAVAILABLE,
      "only %.1f of %d neighbouring rows have an entry at the same distance from the diagonal; this format is for "
      "regular grids. merbit takes any matrix",
      nnz / segments, (int)WR_DIA_ROWS);
}

static wr_dia_kind choose(bool has_values, bool with_pairs, double pairs, double segments) {
  if (!has_values) return WR_DIA_PATTERN;
  return with_pairs && pairs <= WR_DIA_PAIRS_MOST * segments ? WR_DIA_PAIRS : WR_DIA_VALUES;
}

/* An entry of a sampled slice, with its value as a type has it. */
struct sampled {
  int64_t difference;
  double value;
};

static bool comes_before(const sampled &a, const sampled &b) {
  return a.difference != b.difference ? a.difference < b.difference : a.value < b.value;
}

static double rounded(double value, wr_type type) {
  return type == WR_F64 ? value : fabs(value) <= FLT_MAX ? (double)(float)value : HUGE_VAL;
}

extern "C" wr_status wr_sliced_dia_estimate(const wr_csr *A, wr_type type, int with_pairs, wr_sliced_dia *d) {
  constexpr int64_t SLICES = 64, ENTRIES = 1 << 18; /* of the sample; at least one slice */
  int64_t slices = (A->nrows + WR_DIA_ROWS - 1) / WR_DIA_ROWS, count = std::min(slices, SLICES), seen = 0;
  double segments = 0, pairs = 0;
  wr_status status;
  sampled *entry = NULL;
  *d = {};
  for (int64_t n = 0; n < count && seen < ENTRIES; n++) {
    int64_t first = slices * n / count * WR_DIA_ROWS, last = std::min(first + WR_DIA_ROWS, A->nrows), e = 0;
    int64_t from = A->row_ptr[first], entries = A->row_ptr[last] - from;
    wr_free(entry), entry = NULL;
    TRY(wr_alloc(&entry, entries + 1, sizeof *entry, "entries of a slice"));
    for (int64_t i = first; i < last; i++)
      for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
        entry[e++] = {A->col[k] - i, A->val ? rounded(A->val[k], type) : 0};
    std::sort(entry, entry + entries, comes_before);
    for (int64_t k = 0; k < entries; k++) {
      segments += k == 0 || entry[k].difference != entry[k - 1].difference;
      pairs += k == 0 || comes_before(entry[k - 1], entry[k]);
    }
    seen += entries;
  }
  status = WR_OK;
  d->nrows = A->nrows, d->ncols = A->ncols, d->nnz = A->nnz, d->type = type, d->slices = slices;
  d->kind = choose(A->val, with_pairs, pairs, segments);
  if (seen > 0) d->segments = (int64_t)((d->kind == WR_DIA_PAIRS ? pairs : segments) * (double)A->nnz / (double)seen);
  d->values = d->kind == WR_DIA_VALUES ? A->nnz : 0;
  status = check_segments((double)d->segments, (double)A->nnz);
done:
  wr_free(entry);
  return status;
}

static unsigned grid_for(const wr_env *env, int64_t warps) {
  return wr_cuda_grid(env, (warps * WR_WARP + THREADS - 1) / THREADS, BLOCKS);
}

static void free_counts(wr_env *env, dia_counts *c) {
  void *const arrays[] = {c->segments, c->pairs, c->values, c->not_finite};
  for (void *array : arrays) wr_device_free(env, array);
}

/* The lists' offsets and the kind. */
template <typename T, typename P>
static wr_status make_slices(wr_env *env, const dia_rows<T, P> &a, int with_pairs, dia_counts *c, wr_sliced_dia *d) {
  int not_finite = 0;
  int64_t pairs = 0;
  PASS(wr_device_alloc(env, &c->segments, d->slices, 8, "segments of slices"));
  PASS(wr_device_alloc(env, &c->pairs, d->slices, 8, "segments of slices"));
  PASS(wr_device_alloc(env, &c->values, d->slices, 8, "values of slices"));
  PASS(wr_device_alloc(env, &c->not_finite, 1, 4, "a mark"));
  PASS(wr_device_alloc(env, &d->segment, d->slices + 1, 8, "segments of slices"));
  PASS(wr_device_upload(env, c->not_finite, &not_finite, 1, WR_AS_4_BYTES));
  if (d->slices)
    PASS(WR_LAUNCH((dia_count<T, P>), grid_for(env, d->slices), THREADS, 0, env->stream, a, d->slices, *c));
  PASS(wr_device_scan(env, c->pairs, 8, d->slices, d->segment, 8, &pairs));
  PASS(wr_device_download(env, &not_finite, c->not_finite, 1, WR_AS_4_BYTES));
  d->segments = pairs;
  if (a.val) PASS(wr_device_scan(env, c->segments, 8, d->slices, d->segment, 8, &d->segments));
  d->kind = choose(a.val, with_pairs && !not_finite, (double)pairs, (double)d->segments);
  if (d->kind == WR_DIA_PAIRS) PASS(wr_device_scan(env, c->pairs, 8, d->slices, d->segment, 8, &d->segments));
  PASS(check_segments((double)d->segments, (double)d->nnz));
  if (d->kind != WR_DIA_VALUES) return WR_OK;
  PASS(wr_device_alloc(env, &d->place, d->slices + 1, 8, "values of slices"));
  return wr_device_scan(env, c->values, 8, d->slices, d->place, 8, &d->values);
}

template <typename T, typename P>
static wr_status build(wr_env *env, const wr_csr_view *view, int with_pairs, dia_counts *c, wr_sliced_dia *d) {
  dia_rows<T, P> a = {d->nrows, (const P *)view->row_ptr, view->col, (const T *)view->val};
  PASS(make_slices(env, a, with_pairs, c, d));
  PASS(wr_device_alloc(env, &d->difference, d->segments, 4, "distances of segments"));
  PASS(wr_device_alloc(env, &d->mask, d->segments, 8, "masks of segments"));
  if (d->kind == WR_DIA_PAIRS) PASS(wr_device_alloc(env, &d->value, d->segments, sizeof(T), "values of segments"));
  if (d->kind == WR_DIA_VALUES) PASS(wr_device_alloc(env, &d->val, d->values, sizeof(T), "values"));
  if (d->slices == 0) return WR_OK;
  PASS(WR_LAUNCH((dia_write<T, P>), grid_for(env, d->slices), THREADS, 0, env->stream, a, *d));
  return env->ops->wait(env);
}

extern "C" wr_status wr_sliced_dia_device_build(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz,
                                                const wr_csr_view *view, int with_pairs, wr_sliced_dia *d) {
  wr_status status;
  dia_counts counts = {};
  *d = {};
  d->nrows = nrows, d->ncols = ncols, d->nnz = nnz, d->type = env->type;
  d->slices = (nrows + WR_DIA_ROWS - 1) / WR_DIA_ROWS;
  TRY(wr_cuda_enter(env));
  if (env->type == WR_F32)
    TRY((view->wide ? build<float, int64_t> : build<float, int32_t>)(env, view, with_pairs, &counts, d));
  else
    TRY((view->wide ? build<double, int64_t> : build<double, int32_t>)(env, view, with_pairs, &counts, d));
done:
  free_counts(env, &counts);
  if (status != WR_OK) wr_sliced_dia_device_free(env, d);
  return status;
}

/* ---- Arrays ---- */

static std::array<wr_listed_array, 6> list_arrays(wr_sliced_dia *d) {
  size_t element = (size_t)wr_type_bytes(d->type);
  return {{
      {(void **)&d->segment, d->slices + 1, 8},
      {(void **)&d->place, d->slices + 1, 8},
      {(void **)&d->difference, d->segments, 4},
      {(void **)&d->mask, d->segments, 8},
      {&d->value, d->segments, element},
      {&d->val, d->values, element},
  }};
}

extern "C" void wr_sliced_dia_device_free(wr_env *env, wr_sliced_dia *d) { wr_format_free_device(env, d, list_arrays); }

extern "C" void wr_sliced_dia_free(wr_sliced_dia *d) { wr_format_free_host(d, list_arrays); }

extern "C" int64_t wr_sliced_dia_device_bytes(const wr_sliced_dia *d) {
  return wr_format_device_bytes(*d, list_arrays);
}

extern "C" wr_status wr_sliced_dia_download(wr_env *env, const wr_sliced_dia *d, wr_sliced_dia *to) {
  return wr_format_download(env, *d, to, list_arrays);
}
