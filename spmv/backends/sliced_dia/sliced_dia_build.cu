/* Builds sliced DIA on a device. A block is one warp and takes a slice at a time: it copies the slice's entries to shared
 * memory, walks over its 64 rows side by side, and leaves the list of segments in a slot of the slice. When all lists are
 * known, a second kernel moves them to their places, and the values if they are stored. */
#include "spmv/backends/sliced_dia/sliced_dia_build.h"

#include <algorithm>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "config/memory.h"
#include "spmv/device/array_list.h"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/device/sort.h"
#include "spmv/kernel/async_copy.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/warp.cuh"

constexpr int Q = WR_DIA_ROWS / WR_WARP; /* rows of a lane */
constexpr int MOST_ENTRIES = WR_DIA_ROWS * WR_DIA_MOST; /* of a slice: a row has one for each of its distances */
constexpr int COPIED = 4; /* entries: a bulk copy begins and ends at a multiple of so many */

/* ---- Kernels ---- */

template <typename T, typename P>
struct dia_rows {
  int64_t nrows;
  const P *row_ptr;
  const int32_t *col;
  const T *val; /* NULL: there are none, or they are not told apart */
};

/* Where a slice's values begin in val, with `before` entries in the slices before it: behind each slice is a gap of 1 to 7
 * elements. */
static __host__ __device__ inline int64_t dia_place(int64_t before, int64_t slice) {
  return (before / WR_DIA_ALIGN + slice) * WR_DIA_ALIGN;
}

/* Where segments are written. */
template <typename T>
struct dia_lists {
  int32_t *difference;
  uint64_t *mask;
  T *value; /* NULL unless a segment holds one */
};

enum { DIA_TOO_MANY = 1, DIA_NOT_FINITE = 2 }; /* bits */

/* Sums over the slices. */
struct dia_sums {
  unsigned long long segments, distances; /* a segment each, but several if values are told apart */
  unsigned unfit;                         /* why this cannot be the format: too many segments in a slice, ... */
};

/* What dia_find leaves of each slice: the number of segments, and up to `room` of them. */
template <typename T>
struct dia_slots {
  int room;
  dia_lists<T> lists; /* [slices][room] */
  int32_t *count;     /* [slices]       */
  dia_sums *sums;     /* [1]            */
};

/* Shared memory for the entries of a slice. */
template <typename T>
struct dia_stage {
  wr_copy_barrier *arrived;
  T *val;       /* [room] */
  int32_t *col; /* [room] */
  unsigned room, uses;
};

/* A block's stage; bytes: of the launch's shared memory. */
template <typename T>
static __device__ inline dia_stage<T> dia_open_stage(wr_copy_barrier *arrived, unsigned char *bytes, unsigned room) {
  if (threadIdx.x == 0) wr_copy_barrier_init(arrived);
  return {arrived, (T *)bytes, (int32_t *)(bytes + room * sizeof(T)), room, 0};
}

template <typename T>
struct dia_entries {
  const int32_t *col;
  const T *val;
};

/* `count` entries from `begin` on, of those arrays that are not NULL: in the stage, or where they are if it has no room. */
template <typename T>
static __device__ inline dia_entries<T> dia_fetch(dia_entries<T> from, int64_t begin, int count, dia_stage<T> &stage) {
  int64_t first = begin / COPIED * COPIED;
  unsigned n = (unsigned)((begin + count + COPIED - 1) / COPIED * COPIED - first);
  if (n > stage.room) return {from.col ? from.col + begin : nullptr, from.val ? from.val + begin : nullptr};
  unsigned col_bytes = from.col ? n * 4 : 0, val_bytes = from.val ? n * (unsigned)sizeof(T) : 0;
  __syncthreads(); /* the stage is not read any more */
  if (threadIdx.x == 0) {
    wr_copy_expect(stage.arrived, col_bytes + val_bytes);
    if (val_bytes) wr_copy_bulk(stage.val, from.val + first, val_bytes, stage.arrived);
    if (col_bytes) wr_copy_bulk(stage.col, from.col + first, col_bytes, stage.arrived);
  }
  wr_copy_wait(stage.arrived, stage.uses++ & 1);
  return {stage.col + (begin - first), from.val ? stage.val + (begin - first) : nullptr};
}

/* A slice's entries: all of them, and those of the lane's rows, counted from the first. */
struct dia_bounds {
  int64_t begin, count;
  int at[Q], end[Q];
};

template <typename P>
static __device__ inline dia_bounds dia_bounds_of(const P *row_ptr, int64_t nrows, int64_t slice) {
  dia_bounds b;
  int64_t from[Q], to[Q];
  for (int q = 0; q < Q; q++) {
    int64_t i = slice * WR_DIA_ROWS + q * WR_WARP + threadIdx.x;
    from[q] = row_ptr[min(i, nrows)], to[q] = row_ptr[min(i + 1, nrows)];
  }
  b.begin = __shfl_sync((unsigned)WR_FULL_MASK, from[0], 0);
  b.count = __shfl_sync((unsigned)WR_FULL_MASK, to[Q - 1], WR_WARP - 1) - b.begin;
  for (int q = 0; q < Q; q++) b.at[q] = (int)(from[q] - b.begin), b.end[q] = (int)(to[q] - b.begin);
  return b;
}

static __device__ inline uint64_t bits_of(float value) { return (uint64_t)__float_as_uint(value); }
static __device__ inline uint64_t bits_of(double value) { return (uint64_t)__double_as_longlong(value); }

/* What a walk has found. segments is WR_DIA_MOST + 1 if there are more than WR_DIA_MOST. */
struct dia_walked {
  int segments, distances;
  bool finite; /* the values of the lane's rows */
};

/* Walks over a slice of at most MOST_ENTRIES entries, each row at the first of its entries that no segment has yet: the least
 * distance among these is the next segment. Columns ascend within a row, so distances ascend within a slice. Writes the first
 * `room` segments from to[place] on, 32 at a time. */
template <typename T>
static __device__ inline dia_walked dia_walk(const dia_entries<T> &e, dia_bounds b, int64_t slice,
                                             const dia_lists<T> &to, int64_t place, int room) {
  constexpr int32_t NONE = INT_MAX; /* no distance: a column is less */
  constexpr unsigned ALL = (unsigned)WR_FULL_MASK;
  int lane = (int)threadIdx.x;
  dia_walked walked = {0, 0, true};
  int32_t distance[Q], own_distance = 0, before = NONE;
  uint64_t own_mask = 0;
  T value[Q] = {}, own_value = 0;
  auto read = [&](int q) {
    bool is_in = b.at[q] < b.end[q];
    distance[q] = is_in ? (int32_t)(e.col[b.at[q]] - (slice * WR_DIA_ROWS + q * WR_WARP + lane)) : NONE;
    if (e.val) value[q] = is_in ? e.val[b.at[q]] : (T)0, walked.finite = walked.finite && isfinite(value[q]);
  };
  auto write = [&](int k) {
    if (k >= min(walked.segments, room)) return;
    to.difference[place + k] = own_distance, to.mask[place + k] = own_mask;
    if (to.value) to.value[place + k] = own_value;
  };
  for (int q = 0; q < Q; q++) read(q);
  for (int32_t least; (least = wr_warp_min(min(distance[0], distance[1]))) != NONE; before = least) {
    unsigned rows[Q];
    T first = 0;
    if (walked.segments++ == WR_DIA_MOST) return walked;
    for (int q = 0; q < Q; q++) rows[q] = __ballot_sync(ALL, distance[q] == least);
    if (e.val) {
      first = __shfl_sync(ALL, rows[0] ? value[0] : value[1], __ffs((int)(rows[0] ? rows[0] : rows[1])) - 1);
      for (int q = 0; q < Q; q++)
        rows[q] = __ballot_sync(ALL, distance[q] == least && bits_of(value[q]) == bits_of(first));
    }
    walked.distances += least != before;
    int turn = (walked.segments - 1) % WR_WARP;
    if (lane == turn) own_distance = least, own_mask = (uint64_t)rows[1] << 32 | rows[0], own_value = first;
    for (int q = 0; q < Q; q++)
      if (rows[q] >> lane & 1) b.at[q]++, read(q);
    if (turn == WR_WARP - 1) write(walked.segments - WR_WARP + lane);
  }
  if (walked.segments % WR_WARP) write(walked.segments / WR_WARP * WR_WARP + lane);
  return walked;
}
static_assert(Q == 2, "the walk takes two rows a lane");

/* Finds the segments of all slices. */
template <typename T, typename P>
__global__ void __launch_bounds__(WR_WARP)
    dia_find(const dia_rows<T, P> a, int64_t slices, unsigned staged, const dia_slots<T> slots) {
  WR_SHARED(wr_copy_barrier, arrived, 1);
  WR_SHARED_DYNAMIC(unsigned char, bytes);
  dia_stage<T> stage = dia_open_stage<T>(arrived, bytes, staged);
  unsigned long long segments = 0, distances = 0;
  unsigned unfit = 0;
  for (int64_t s = blockIdx.x; s < slices; s += gridDim.x) {
    dia_bounds b = dia_bounds_of(a.row_ptr, a.nrows, s);
    dia_walked walked = {WR_DIA_MOST + 1, 0, true};
    if (b.count <= MOST_ENTRIES)
      walked = dia_walk(dia_fetch<T>({a.col, a.val}, b.begin, (int)b.count, stage), b, s, slots.lists, s * slots.room,
                        slots.room);
    segments += (unsigned)walked.segments, distances += (unsigned)walked.distances;
    if (threadIdx.x == 0) slots.count[s] = walked.segments;
    if (walked.segments > WR_DIA_MOST) unfit |= DIA_TOO_MANY;
    if (!walked.finite) unfit |= DIA_NOT_FINITE;
  }
  if (unfit) atomicOr(&slots.sums->unfit, unfit);
  if (threadIdx.x) return;
  atomicAdd(&slots.sums->segments, segments);
  atomicAdd(&slots.sums->distances, distances);
}

/* Writes the values of a slice whose segments are in d. */
template <typename T, typename P>
static __device__ inline void dia_write_values(const dia_rows<T, P> &a, const wr_sliced_dia &d, int64_t slice,
                                               dia_stage<T> &stage) {
  int lane = (int)threadIdx.x;
  dia_bounds b = dia_bounds_of(a.row_ptr, a.nrows, slice);
  const T *val = dia_fetch<T>({nullptr, a.val}, b.begin, (int)b.count, stage).val;
  int64_t place = dia_place(b.begin, slice), next = dia_place(b.begin + b.count, slice + 1);
  if (lane == 0) d.place[slice] = place;
  if (lane == 0 && slice + 1 == d.slices) d.place[d.slices] = next;
  for (int64_t k = d.segment[slice], end = d.segment[slice + 1]; k < end; k += WR_WARP) {
    uint64_t own = k + lane < end ? d.mask[k + lane] : 0;
    for (int turn = 0; turn < (int)min(end - k, (int64_t)WR_WARP); turn++) {
      uint64_t mask = __shfl_sync((unsigned)WR_FULL_MASK, own, turn);
      for (int q = 0; q < Q; q++) {
        int r = q * WR_WARP + lane;
        if (mask >> r & 1) ((T *)d.val)[place + __popcll(mask & (((uint64_t)1 << r) - 1))] = val[b.at[q]++];
      }
      place += __popcll(mask);
    }
  }
  if (place + lane < next) ((T *)d.val)[place + lane] = (T)0;
}
static_assert(2 * (int)WR_DIA_ALIGN <= (int)WR_WARP, "a warp fills a gap at once");

/* Moves the segments from the slots to the format; of a slice with more than a slot has room for, finds them once more. `a`:
 * as dia_find had it; val: as they are stored. */
template <typename T, typename P>
__global__ void __launch_bounds__(WR_WARP)
    dia_pack(const dia_rows<T, P> a, const T *val, unsigned staged, const dia_slots<T> slots, const wr_sliced_dia d) {
  WR_SHARED(wr_copy_barrier, arrived, 1);
  WR_SHARED_DYNAMIC(unsigned char, bytes);
  dia_stage<T> stage = dia_open_stage<T>(arrived, bytes, staged);
  dia_lists<T> to = {d.difference, d.mask, (T *)d.value};
  for (int64_t s = blockIdx.x; s < d.slices; s += gridDim.x) {
    int64_t segment = d.segment[s], from = s * slots.room;
    int count = (int)(d.segment[s + 1] - segment);
    if (count > slots.room) {
      dia_bounds b = dia_bounds_of(a.row_ptr, a.nrows, s);
      dia_walk<T>({a.col + b.begin, a.val ? a.val + b.begin : nullptr}, b, s, to, segment, count);
    } else
      for (int k = (int)threadIdx.x; k < count; k += WR_WARP) {
        to.difference[segment + k] = slots.lists.difference[from + k];
        to.mask[segment + k] = slots.lists.mask[from + k];
        if (to.value) to.value[segment + k] = slots.lists.value[from + k];
      }
    __syncwarp(); /* all lanes see the masks */
    if (d.kind == WR_DIA_VALUES) dia_write_values(dia_rows<T, P>{a.nrows, a.row_ptr, a.col, val}, d, s, stage);
  }
}

/* ---- Host ---- */

static wr_status too_many(void) {
  return wr_fail(
      WR_EUNAVAILABLE,
      "%d neighbouring rows have entries at more than %d distances from the diagonal; this format is for regular "
      "grids. merbit takes any matrix",
      (int)WR_DIA_ROWS, (int)WR_DIA_MOST);
}

/* distances: of the slices, each counted in its own. */
static wr_status check_mean(double distances, double slices) {
  if (distances <= WR_DIA_MEAN * slices) return WR_OK;
  return wr_fail(
      WR_EUNAVAILABLE,
      "%d neighbouring rows have entries at %.1f distances from the diagonal on average; this format is for at most "
      "%d, as in regular grids. bsr_unrolled is for matrices of blocks, merbit takes any",
      (int)WR_DIA_ROWS, distances / slices, (int)WR_DIA_MEAN);
}

static wr_status check_least(double distances, double nnz) {
  if (WR_DIA_LEAST * distances <= nnz + 1024 * WR_DIA_LEAST) return WR_OK;
  return wr_fail(
      WR_EUNAVAILABLE,
      "only %.1f of %d neighbouring rows have an entry at the same distance from the diagonal; this format is for "
      "regular grids. merbit takes any matrix",
      nnz / distances, (int)WR_DIA_ROWS);
}

static bool are_few(double pairs, double distances) { return pairs <= WR_DIA_PAIRS_MOST * distances; }

/* A value's bits in a type. */
static uint64_t sampled_bits(double value, wr_type type) {
  uint64_t bits = 0;
  float single = fabs(value) <= FLT_MAX ? (float)value : INFINITY;
  memcpy(&bits, type == WR_F32 ? (const void *)&single : (const void *)&value, (size_t)wr_type_bytes(type));
  return bits;
}

/* The segments of a slice on the host, by distance; up to WR_DIA_MOST. */
struct sampled_list {
  struct {
    int64_t distance;
    uint64_t bits;
  } at[WR_DIA_MOST];
  int segments, distances;

  /* *place, where a row is in the list, goes forward. false: the list is full. */
  bool add(int *place, int64_t distance, uint64_t bits) {
    int p = *place;
    while (p < segments && at[p].distance < distance) p++;
    bool is_new = p == segments || at[p].distance != distance;
    *place = p;
    while (p < segments && at[p].distance == distance && at[p].bits != bits) p++;
    if (p < segments && at[p].distance == distance) return true;
    if (segments == WR_DIA_MOST) return false;
    memmove(at + p + 1, at + p, (size_t)(segments - p) * sizeof at[0]);
    at[p].distance = distance, at[p].bits = bits;
    segments++, distances += is_new;
    return true;
  }

  /* Makes the list of the slice; false: it has too many segments, or, in pairs, an infinite value. */
  bool fill(const wr_csr *A, wr_type type, int64_t slice, bool in_pairs) {
    int64_t first = slice * WR_DIA_ROWS, last = std::min(first + WR_DIA_ROWS, A->nrows);
    segments = distances = 0;
    for (int64_t i = first; i < last; i++) {
      int place = 0;
      for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
        if ((in_pairs && !isfinite(A->val[k])) ||
            !add(&place, A->col[k] - i, in_pairs ? sampled_bits(A->val[k], type) : 0))
          return false;
    }
    return true;
  }
};

/* The sample: slices with some 2^14 entries together, spread by the golden ratio, so that they do not all lie alike in a
 * grid. */
extern "C" wr_status wr_sliced_dia_estimate(const wr_csr *A, wr_type type, int with_pairs, wr_sliced_dia *d) {
  constexpr int64_t ENTRIES = 1 << 14, FEWEST = 8, MOST = 32;
  int64_t slices = (A->nrows + WR_DIA_ROWS - 1) / WR_DIA_ROWS, each = A->nnz / std::max(slices, (int64_t)1) + 1, count,
          seen = 0;
  double pairs = 0, distances = 0;
  bool in_pairs = A->val && with_pairs;
  sampled_list list;
  *d = {};
  count = std::min(slices, std::max(FEWEST, std::min(MOST, ENTRIES / each)));
  for (int64_t n = 0; n < count; n++) {
    int64_t slice = count == slices ? n : slices * (int64_t)((uint32_t)(n + 1) * 0x9e3779b9u) >> 32;
    in_pairs = in_pairs && list.fill(A, type, slice, true);
    if (!in_pairs && !list.fill(A, type, slice, false)) return too_many();
    pairs += list.segments, distances += list.distances;
    in_pairs = in_pairs && are_few(pairs, distances / (double)(n + 1) * (double)count); /* of all that will be seen */
    seen += A->row_ptr[std::min((slice + 1) * WR_DIA_ROWS, A->nrows)] - A->row_ptr[slice * WR_DIA_ROWS];
  }
  double scale = seen ? (double)A->nnz / (double)seen : 1;
  in_pairs = in_pairs && are_few(pairs, distances);
  d->nrows = A->nrows, d->ncols = A->ncols, d->nnz = A->nnz, d->type = type, d->slices = slices;
  d->kind = !A->val ? WR_DIA_PATTERN : in_pairs ? WR_DIA_PAIRS : WR_DIA_VALUES;
  d->segments = (int64_t)((in_pairs ? pairs : distances) * scale);
  d->values = d->kind == WR_DIA_VALUES ? dia_place(A->nnz, slices) : 0;
  PASS(check_mean(distances, (double)count));
  return check_least(distances * scale, (double)A->nnz);
}

/* What a build needs besides the format. */
template <typename T>
struct dia_scratch {
  dia_slots<T> slots;
  unsigned staged; /* entries that fit a block's shared memory */
};

template <typename T>
static size_t stage_bytes(const dia_scratch<T> &s) {
  return s.staged * (sizeof(T) + sizeof(int32_t));
}

/* One warp a block, as many as a multiprocessor holds. */
template <typename T>
static unsigned grid_for(const wr_env *env, const dia_scratch<T> &s, int64_t slices) {
  constexpr size_t MOST_BLOCKS = 32, SHARED = 227 << 10, OF_BLOCK = 1040; /* on sm_90; others queue their blocks */
  return wr_cuda_grid(env, slices, (int64_t)std::min(MOST_BLOCKS, SHARED / (stage_bytes(s) + OF_BLOCK)));
}

/* A slot has room for twice the segments of a slice whose rows are alike, and shared memory for a quarter more entries. Both
 * multiples of 32. */
template <typename T>
static wr_status open_scratch(wr_env *env, const wr_sliced_dia *d, dia_scratch<T> *s) {
  constexpr int64_t MOST_STAGED = 2048, MOST_ROOM = 128;
  int64_t length = d->slices ? d->nnz / d->nrows : 0,
          room = std::min(MOST_ROOM, 2 * length / WR_WARP * WR_WARP + WR_WARP);
  dia_slots<T> *slots = &s->slots;
  slots->room = (int)room;
  s->staged = (unsigned)std::min(MOST_STAGED, WR_DIA_ROWS * (length + length / 4 + 2));
  PASS(wr_device_alloc(env, &slots->lists.difference, d->slices * room, 4, "lists of segments"));
  PASS(wr_device_alloc(env, &slots->lists.mask, d->slices * room, 8, "lists of segments"));
  if (d->kind == WR_DIA_PAIRS)
    PASS(wr_device_alloc(env, &slots->lists.value, d->slices * room, sizeof(T), "lists of segments"));
  PASS(wr_device_alloc(env, &slots->count, d->slices, 4, "segments of slices"));
  return wr_device_alloc(env, &slots->sums, 1, sizeof(dia_sums), "segments of slices");
}

template <typename T>
static void free_scratch(wr_env *env, dia_scratch<T> *s) {
  void *const arrays[] = {s->slots.lists.difference, s->slots.lists.mask, s->slots.lists.value, s->slots.count,
                          s->slots.sums};
  for (void *array : arrays) wr_device_free(env, array);
}

/* Fills the slots. */
template <typename T, typename P>
static wr_status find(wr_env *env, const dia_rows<T, P> &a, int64_t slices, const dia_scratch<T> &s, dia_sums *sums) {
  *sums = {};
  PASS(wr_device_upload(env, s.slots.sums, sums, sizeof *sums / 4, WR_AS_4_BYTES));
  if (slices == 0) return WR_OK;
  PASS(WR_LAUNCH((dia_find<T, P>), grid_for(env, s, slices), WR_WARP, stage_bytes(s), env->stream, a, slices, s.staged,
                 s.slots));
  return wr_device_download(env, sums, s.slots.sums, sizeof *sums / 4, WR_AS_4_BYTES);
}

/* Finds the segments and settles the kind, for which d->kind is the first guess. *a := the rows as they were walked. */
template <typename T, typename P>
static wr_status find_all(wr_env *env, dia_rows<T, P> *a, dia_scratch<T> *s, wr_sliced_dia *d) {
  dia_sums sums;
  if (d->kind == WR_DIA_PAIRS) {
    PASS(find(env, *a, d->slices, *s, &sums));
    if (sums.unfit || !are_few((double)sums.segments, (double)sums.distances)) d->kind = WR_DIA_VALUES;
  }
  if (d->kind != WR_DIA_PAIRS) {
    a->val = nullptr, wr_device_free(env, s->slots.lists.value), s->slots.lists.value = nullptr;
    PASS(find(env, *a, d->slices, *s, &sums));
  }
  if (sums.unfit) return too_many();
  PASS(check_mean((double)sums.distances, (double)d->slices));
  return check_least((double)sums.distances, (double)d->nnz);
}

template <typename T, typename P>
static wr_status build_with(wr_env *env, const wr_csr_view *view, dia_scratch<T> *s, wr_sliced_dia *d) {
  const T *val = (const T *)view->val;
  dia_rows<T, P> a = {d->nrows, (const P *)view->row_ptr, view->col, val};
  PASS(open_scratch(env, d, s));
  PASS(find_all(env, &a, s, d));
  PASS(wr_device_alloc(env, &d->segment, d->slices + 1, 8, "segments of slices"));
  PASS(wr_device_scan(env, s->slots.count, 4, d->slices, d->segment, 8, &d->segments));
  PASS(wr_device_alloc(env, &d->difference, d->segments, 4, "distances of segments"));
  PASS(wr_device_alloc(env, &d->mask, d->segments, 8, "masks of segments"));
  if (d->kind == WR_DIA_PAIRS) PASS(wr_device_alloc(env, &d->value, d->segments, sizeof(T), "values of segments"));
  if (d->kind == WR_DIA_VALUES) {
    d->values = dia_place(d->nnz, d->slices);
    PASS(wr_device_alloc(env, &d->place, d->slices + 1, 8, "values of slices"));
    PASS(wr_device_alloc(env, &d->val, d->values, sizeof(T), "values"));
  }
  if (d->slices == 0) return WR_OK;
  if (d->kind != WR_DIA_VALUES) s->staged = 0;
  PASS(WR_LAUNCH((dia_pack<T, P>), grid_for(env, *s, d->slices), WR_WARP, stage_bytes(*s), env->stream, a, val,
                 s->staged, s->slots, *d));
  return env->ops->wait(env);
}

template <typename T, typename P>
static wr_status build(wr_env *env, const wr_csr_view *view, wr_sliced_dia *d) {
  dia_scratch<T> scratch = {};
  wr_status status = build_with<T, P>(env, view, &scratch, d);
  free_scratch(env, &scratch);
  return status;
}

extern "C" wr_status wr_sliced_dia_device_build(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz,
                                                const wr_csr_view *view, int with_pairs, wr_sliced_dia *d) {
  wr_status status;
  *d = {};
  d->nrows = nrows, d->ncols = ncols, d->nnz = nnz, d->type = env->type;
  d->kind = !view->val ? WR_DIA_PATTERN : with_pairs ? WR_DIA_PAIRS : WR_DIA_VALUES;
  d->slices = (nrows + WR_DIA_ROWS - 1) / WR_DIA_ROWS;
  TRY(wr_cuda_enter(env));
  if (env->type == WR_F32)
    TRY((view->wide ? build<float, int64_t> : build<float, int32_t>)(env, view, d));
  else
    TRY((view->wide ? build<double, int64_t> : build<double, int32_t>)(env, view, d));
done:
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
