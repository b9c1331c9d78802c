/* Builds BCCOO on a device. Block columns come from spmv/blocks/bsr_columns.h; then a thread a lane of the format walks that
 * lane's blocks, once for the flags, once for a sample of differences, once to count escapes, and once to write columns. A
 * last kernel writes the values. All stores are coalesced, as the format has the blocks of 32 lanes side by side. */
#include "spmv/backends/yaspmv/yaspmv_build.h"
#include "spmv/backends/yaspmv/yaspmv_lanes.cuh"
#include "spmv/blocks/bsr_columns.h"
#include "spmv/blocks/bsr_build.h"
#include "spmv/blocks/bsr_rows.cuh"
#include "config/memory.h"
#include "spmv/device/array_list.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/device/sort.h"
#include "spmv/kernel/async_copy.cuh"
#include "spmv/kernel/search.cuh"
#include "spmv/kernel/warp.cuh"

constexpr int THREADS = 256, BLOCKS = 16; /* blocks: of a launch, for each multiprocessor */

/* Blocks in rows, of all slices one after the other. */
struct bccoo_rows {
  const void *row_ptr; /* [rows + 1]             */
  const int32_t *col;  /* [blocks] block columns */
  int wide;            /* of row_ptr             */
  int64_t rows;        /* slices * block rows    */
};

static __device__ inline int64_t row_at(const bccoo_rows &a, int64_t i) { return wr_bsr_row_at(a.row_ptr, a.wide, i); }

static __device__ inline int64_t this_thread() { return (int64_t)blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ inline int64_t all_threads() { return (int64_t)gridDim.x * blockDim.x; }

/* ---- Slices ---- */

/* counts[s * brows + i] := blocks of block row i in slice s, whose block columns are s * width..(s + 1) * width - 1. With
 * `starts`, the offsets of these counts, copies the columns instead. */
__global__ void bccoo_slice(const bccoo_rows a, int64_t slices, int64_t width, int32_t *counts, const int64_t *starts,
                            int32_t *col) {
  for (int64_t q = this_thread(); q < a.rows * slices; q += all_threads()) {
    int64_t i = q % a.rows, s = q / a.rows, begin = row_at(a, i), end = row_at(a, i + 1);
    int64_t from = wr_find_column(a.col, begin, end, (uint32_t)(s * width));
    int64_t to = s + 1 < slices ? wr_find_column(a.col, from, end, (uint32_t)((s + 1) * width)) : end;
    if (!starts) counts[q] = (int32_t)(to - from);
    for (int64_t k = from; starts && k < to; k++) col[starts[q] + (k - from)] = a.col[k];
  }
}

/* ---- Flags ---- */

/* Sets the bit of the last block of every row; the flags are zeroed before. */
__global__ void bccoo_mark(const bccoo_rows a, const wr_bccoo b) {
  int bytes = wr_bccoo_flag_bytes(b.tile), words = wr_bccoo_flag_words(b.tile);
  for (int64_t i = this_thread(); i < a.rows; i += all_threads()) {
    int64_t begin = row_at(a, i), g = row_at(a, i + 1) - 1;
    if (g < begin) continue;
    int64_t lane = g / b.tile, k = g - lane * b.tile;
    int64_t byte = (((lane / WR_WARP) * words + k / 32) * WR_WARP + lane % WR_WARP) * bytes + k % 32 / 8;
    atomicOr((uint32_t *)b.flag + byte / 4, 1u << (byte % 4 * 8 + k % 8)); /* words are little-endian */
  }
}

/* counts[lane] := rows that end in the lane. */
__global__ void bccoo_count_rows(const wr_bccoo b, int32_t *counts) {
  int64_t lanes = wr_bccoo_warps(&b) * WR_WARP;
  int bytes = wr_bccoo_flag_bytes(b.tile), words = wr_bccoo_flag_words(b.tile);
  for (int64_t lane = this_thread(); lane < lanes; lane += all_threads()) {
    int count = 0;
    for (int word = 0; word < words; word++)
      count += __popc(bccoo_load_flags(b.flag, bytes, ((lane / WR_WARP) * words + word) * WR_WARP + lane % WR_WARP));
    counts[lane] = count;
  }
}

/* The row in which a lane begins. ended: [lanes + 1] rows that end before each lane. */
static __device__ inline int64_t row_of_lane(const wr_bccoo &b, int64_t lane, const int32_t *ended) {
  return b.row ? b.row[ended[lane]] : ended[lane];
}

/* Writes entry and first; *most := shared_rows. */
__global__ void bccoo_entries(const bccoo_rows a, const wr_bccoo b, const int32_t *ended, int *most) {
  int64_t lanes = wr_bccoo_warps(&b) * WR_WARP;
  for (int64_t lane = this_thread(); lane < lanes; lane += all_threads()) {
    int64_t t = lane / b.threads, g = lane * b.tile;
    int32_t before = ended[t * b.threads];
    b.entry[lane] = (uint16_t)(ended[lane] - before);
    if (lane % b.threads != 0) continue;
    b.first[t] = (uint32_t)before | (g < b.blocks && row_at(a, row_of_lane(b, lane, ended)) < g ? WR_BCCOO_OPEN : 0);
    atomicMax(most, ended[lane + b.threads] - before);
  }
  if (this_thread() == 0) b.first[b.grid] = (uint32_t)ended[lanes];
}

/* kinds[i] := 1 if row i has blocks, else 0. */
__global__ void bccoo_kinds(const bccoo_rows a, uint8_t *kinds) {
  for (int64_t i = this_thread(); i < a.rows; i += all_threads()) kinds[i] = row_at(a, i + 1) > row_at(a, i);
}

/* ---- Columns ---- */

/* Calls use(k, block column or -1 past the end, difference) for each place of a lane. */
template <class Use>
static __device__ inline void walk(const bccoo_rows &a, const wr_bccoo &b, int64_t lane, int32_t base, Use use) {
  int bytes = wr_bccoo_flag_bytes(b.tile), words = wr_bccoo_flag_words(b.tile);
  bccoo_reference at = bccoo_begin(base);
  int64_t g = lane * b.tile;
  uint32_t flags = 0;
  for (int k = 0; k < b.tile; k++, g++) {
    if (k % 32 == 0)
      flags = bccoo_load_flags(b.flag, bytes, ((lane / WR_WARP) * words + k / 32) * WR_WARP + lane % WR_WARP);
    int32_t column = g < b.blocks ? a.col[g] : at.column;
    use(k, g < b.blocks ? column : -1, column - at.column);
    bccoo_step(at, column, flags >> k % 32 & 1, b.columns == WR_BCCOO_PAPER);
  }
}

static __device__ inline int32_t base_of(const bccoo_rows &a, const wr_bccoo &b, int64_t lane, const int32_t *ended) {
  if (b.columns == WR_BCCOO_PAPER || lane * b.tile >= b.blocks) return 0;
  return a.col[row_at(a, row_of_lane(b, lane, ended))];
}

__global__ void bccoo_sample(const bccoo_rows a, const wr_bccoo b, const int32_t *ended, int64_t each, int shift,
                             int64_t limit, uint32_t *histogram) {
  int64_t lanes = wr_bccoo_warps(&b) * WR_WARP;
  for (int64_t lane = this_thread() * each; lane < lanes; lane += all_threads() * each)
    walk(a, b, lane, base_of(a, b, lane, ended), [&](int, int32_t column, int32_t difference) {
      if (column >= 0) atomicAdd(histogram + ((difference + limit) >> shift), 1u);
    });
}

/* escapes[warp] := number of escapes in its lanes. A warp a warp of the format. */
__global__ void bccoo_count(const bccoo_rows a, const wr_bccoo b, const int32_t *ended, int32_t *escapes) {
  int64_t lanes = wr_bccoo_warps(&b) * WR_WARP;
  for (int64_t lane = this_thread(); lane < lanes; lane += all_threads()) {
    int count = 0;
    walk(a, b, lane, base_of(a, b, lane, ended), [&](int, int32_t column, int32_t difference) {
      count += column >= 0 && bccoo_code(b.columns, b.low, difference) == bccoo_escape(b.columns);
    });
    for (int distance = WR_WARP / 2; distance > 0; distance /= 2)
      count += __shfl_xor_sync((unsigned)WR_FULL_MASK, count, distance);
    if (lane % WR_WARP == 0) escapes[lane / WR_WARP] = count;
  }
}

/* Writes codes, base and escaped columns. A warp a warp of the format. */
__global__ void bccoo_columns(const bccoo_rows a, const wr_bccoo b, const int32_t *ended) {
  int64_t lanes = wr_bccoo_warps(&b) * WR_WARP;
  unsigned before = (1u << threadIdx.x % WR_WARP) - 1;
  for (int64_t lane = this_thread(); lane < lanes; lane += all_threads()) {
    int64_t warp = lane / WR_WARP, place = warp * b.tile * WR_WARP + lane % WR_WARP;
    int64_t next = b.escape_from ? b.escape_from[warp] : 0;
    int32_t base = wr_bccoo_has_differences(&b) ? base_of(a, b, lane, ended) : 0;
    if (b.base) b.base[lane] = base;
    walk(a, b, lane, base, [&](int k, int32_t column, int32_t difference) {
      int64_t to = place + (int64_t)k * WR_WARP;
      if (b.full) b.full[to] = column < 0 ? 0 : column;
      if (b.columns == WR_BCCOO_WIDE) ((int32_t *)b.code)[to] = column < 0 ? 0 : column;
      if (b.columns == WR_BCCOO_NARROW) ((uint16_t *)b.code)[to] = (uint16_t)(column < 0 ? 0 : column);
      if (!wr_bccoo_has_differences(&b)) return;
      uint16_t code = bccoo_code(b.columns, b.low, column < 0 ? 0 : difference);
      ((uint16_t *)b.code)[to] = code;
      unsigned out = __ballot_sync((unsigned)WR_FULL_MASK, b.escaped && column >= 0 && code == bccoo_escape(b.columns));
      if (out >> threadIdx.x % WR_WARP & 1) b.escaped[next + __popc(out & before)] = column;
      next += __popc(out);
    });
  }
}

/* ---- Values ---- */

/* The matrix's rows. T: of the values; P: of the row pointers. */
template <typename T, typename P>
struct bccoo_entries_of {
  const P *row_ptr;
  const int32_t *col;
  const T *val; /* NULL: ones */
};

/* Writes all values. The columns are decoded from what is packed, so that a refill needs the rows of the new values alone. A
 * warp a warp of the format; its lanes follow the rows of their blocks. */
template <typename T, typename P>
__global__ void bccoo_values(const bccoo_entries_of<T, P> m, WR_KERNEL_PARAMETER wr_bccoo b) {
  int64_t lanes = wr_bccoo_warps(&b) * WR_WARP;
  for (int64_t lane = this_thread(); lane < lanes; lane += all_threads()) {
    int64_t warp = lane / WR_WARP, g = lane * b.tile, t = lane / b.threads;
    int64_t n = (int64_t)(b.first[t] & ~WR_BCCOO_OPEN) + b.entry[lane];
    P at[WR_BCCOO_MAX_R] = {0, 0, 0, 0}, end[WR_BCCOO_MAX_R] = {0, 0, 0, 0};
    bccoo_reader reader = bccoo_open(b, warp, threadIdx.x % WR_WARP);
    bool fresh = true;
    T *to = (T *)b.val + (warp * b.tile * b.c * b.r) * WR_WARP + threadIdx.x % WR_WARP;
    for (int k = 0; k < b.tile; k++, g++) {
      bool ends;
      int32_t j = bccoo_read(b, reader, warp, threadIdx.x % WR_WARP, k, &ends);
      int64_t left = bccoo_first_column(b.c, b.ncols, j);
      if (fresh && g < b.blocks) {
        int64_t i = ((b.row ? (int64_t)b.row[n] : n) % b.all_rows) * b.r;
#pragma unroll
        for (int r = 0; r < WR_BCCOO_MAX_R; r++) {
          bool is_row = r < b.r && i + r < b.nrows;
          at[r] = is_row ? m.row_ptr[i + r] : 0, end[r] = is_row ? m.row_ptr[i + r + 1] : 0;
          at[r] = wr_find_column(m.col, at[r], end[r], (uint32_t)j * (uint32_t)b.c);
        }
      }
      fresh = ends, n += ends;
      for (int c = 0; c < b.c; c++)
#pragma unroll
        for (int r = 0; r < WR_BCCOO_MAX_R; r++) {
          if (r >= b.r) continue;
          T value = -(T)0;
          if (g < b.blocks && at[r] < end[r] && m.col[at[r]] == left + c) {
            value = m.val ? m.val[at[r]] : (T)1;
            if (value == 0) value = 0; /* the negative zero is padding */
            at[r]++;
          }
          to[((int64_t)(k * b.c + c) * b.r + r) * WR_WARP] = value;
        }
    }
  }
}

/* ---- Host ---- */

static unsigned grid_for(const wr_env *env, int64_t threads) {
  return wr_cuda_grid(env, (threads + THREADS - 1) / THREADS, BLOCKS);
}

extern "C" wr_status wr_bccoo_check(int64_t nrows, int64_t ncols, int64_t nnz, const wr_bccoo_options *o) {
  bool threads = o->threads == 64 || o->threads == 128 || o->threads == 256 || o->threads == 512;
  if (o->r < 1 || o->r > WR_BCCOO_MAX_R || o->c < 1 || o->c > WR_BCCOO_MAX_C)
    return wr_fail(WR_EUSAGE, "blocks of %d x %d; sides of 1 to %d are possible", o->r, o->c, WR_BCCOO_MAX_R);
  if (o->c > ncols) return wr_fail(WR_EUSAGE, "blocks of %d columns of a matrix of %lld", o->c, (long long)ncols);
  if (o->tile < 1 || o->tile > WR_BCCOO_MAX_TILE || !threads || o->slices < 1 || o->slices > WR_BCCOO_MAX_SLICES)
    return wr_fail(WR_EUSAGE, "%d threads of %d blocks, %d slices", o->threads, o->tile, o->slices);
  PASS(wr_bsr_check(nrows, ncols, nnz, o->r, o->c));
  if ((nrows + o->r - 1) / o->r * o->slices > INT32_MAX || nnz / ((int64_t)o->tile * o->threads) >= INT32_MAX)
    return wr_fail(WR_EUNAVAILABLE, "%lld rows in %d slices with %lld entries are more than BCCOO can number",
                   (long long)nrows, o->slices, (long long)nnz);
  return WR_OK;
}

extern "C" int32_t wr_bccoo_window(const uint32_t *histogram, int64_t buckets, int shift, int64_t limit) {
  int64_t width = WR_BCCOO_ESCAPE >> shift, zero = limit >> shift, first = zero - width + 1, best = zero;
  uint64_t sum = 0, most = 0;
  if (width < 1) return -(1 << 15);
  /* Windows of buckets last - width + 1..last that contain the bucket of 0. */
  for (int64_t last = first; last < zero + width && last < buckets; last++) {
    if (last >= 0) sum += histogram[last];
    if (last - width >= first && last - width >= 0) sum -= histogram[last - width];
    if (last < zero || (last > zero && sum <= most)) continue;
    most = sum, best = last;
  }
  return (int32_t)((best - width + 1) * ((int64_t)1 << shift) - limit);
}

/* What a build allocates besides the format. */
struct scratch {
  int32_t *counts, *ended;        /* [lanes], [lanes + 1]                 */
  int *most;                      /* [1]                                  */
  int64_t *starts;                /* [rows + 1] of sliced rows            */
  int32_t *col;                   /* [blocks] of sliced rows              */
  uint32_t *histogram;
  int32_t *escapes;               /* [warps]                              */
  uint8_t *kinds;                 /* [rows]                               */
};

static void free_scratch(wr_env *env, scratch *s) {
  void *const arrays[] = {s->counts, s->ended, s->most, s->starts, s->col, s->histogram, s->escapes, s->kinds};
  for (void *array : arrays) wr_device_free(env, array);
}

/* a := the rows of `slices` slices. */
static wr_status cut_slices(wr_env *env, int slices, int64_t bcols, int64_t blocks, scratch *s, bccoo_rows *a) {
  int64_t rows = a->rows * slices, width = (bcols + slices - 1) / slices;
  if (slices == 1) return WR_OK;
  PASS(wr_device_alloc(env, &s->counts, rows, 4, "blocks of sliced rows"));
  PASS(wr_device_alloc(env, &s->starts, rows + 1, 8, "sliced rows"));
  PASS(wr_device_alloc(env, &s->col, blocks, 4, "columns of sliced rows"));
  PASS(WR_LAUNCH((bccoo_slice), grid_for(env, rows), THREADS, 0, env->stream, *a, slices, width, s->counts,
                 (const int64_t *)nullptr, (int32_t *)nullptr));
  PASS(wr_device_scan(env, s->counts, 4, rows, s->starts, 8, NULL));
  PASS(WR_LAUNCH((bccoo_slice), grid_for(env, rows), THREADS, 0, env->stream, *a, slices, width, (int32_t *)nullptr,
                 (const int64_t *)s->starts, s->col));
  *a = {s->starts, s->col, 1, rows};
  wr_device_free(env, s->counts);
  s->counts = NULL;
  return WR_OK;
}

static wr_status list_rows(wr_env *env, const bccoo_rows &a, scratch *s, wr_bccoo *b) {
  if (b->empty == 0) return WR_OK;
  PASS(wr_device_alloc(env, &s->kinds, a.rows, 1, "kinds of block rows"));
  PASS(WR_LAUNCH((bccoo_kinds), grid_for(env, a.rows), THREADS, 0, env->stream, a, s->kinds));
  PASS(wr_device_alloc(env, &b->row, a.rows, 4, "block rows"));
  PASS(wr_device_select(env, s->kinds, 1, a.rows, NULL, b->row, 4, &b->brows));
  if (b->slices > 1) {
    b->empty = 0;
    return WR_OK;
  }
  PASS(wr_device_alloc(env, &b->empty_row, a.rows, 4, "empty block rows"));
  return wr_device_select(env, s->kinds, 0, a.rows, NULL, b->empty_row, 4, &b->empty);
}

static wr_status make_flags(wr_env *env, const bccoo_rows &a, scratch *s, wr_bccoo *b) {
  int64_t warps = wr_bccoo_warps(b), lanes = warps * WR_WARP, words = wr_bccoo_flag_words(b->tile) * lanes;
  int32_t most = 0;
  int64_t ended = 0;
  PASS(wr_device_alloc_zeroed(env, &b->flag, words, (size_t)wr_bccoo_flag_bytes(b->tile), "bit flags"));
  PASS(wr_device_alloc(env, &b->entry, lanes, 2, "first results"));
  PASS(wr_device_alloc(env, &b->first, b->grid + 1, 4, "first results of thread blocks"));
  PASS(wr_device_alloc(env, &s->counts, lanes, 4, "rows of lanes"));
  PASS(wr_device_alloc(env, &s->ended, lanes + 1, 4, "rows before lanes"));
  PASS(wr_device_alloc_zeroed(env, &s->most, 1, 4, "a count of rows"));
  PASS(WR_LAUNCH((bccoo_mark), grid_for(env, a.rows), THREADS, 0, env->stream, a, *b));
  PASS(WR_LAUNCH((bccoo_count_rows), grid_for(env, lanes), THREADS, 0, env->stream, *b, s->counts));
  PASS(wr_device_scan(env, s->counts, 4, lanes, s->ended, 4, &ended));
  b->brows = ended, b->empty = a.rows - ended;
  PASS(list_rows(env, a, s, b));
  PASS(WR_LAUNCH((bccoo_entries), grid_for(env, lanes), THREADS, 0, env->stream, a, *b, s->ended, s->most));
  PASS(wr_device_download(env, &most, s->most, 1, WR_AS_4_BYTES));
  b->shared_rows = most;
  return WR_OK;
}

/* Chooses the window of differences from a sample of lanes. */
static wr_status choose_window(wr_env *env, const bccoo_rows &a, int64_t bcols, scratch *s, wr_bccoo *b) {
  wr_status status;
  int64_t lanes = wr_bccoo_warps(b) * WR_WARP, limit = bcols, buckets;
  int64_t each = lanes > WR_BCCOO_SAMPLED_LANES ? lanes / WR_BCCOO_SAMPLED_LANES : 1;
  int shift = 0;
  uint32_t *histogram = NULL;
  while ((2 * limit >> shift) >> WR_BCCOO_BUCKET_BITS) shift++;
  buckets = (2 * limit >> shift) + 1;
  TRY(wr_alloc(&histogram, buckets, sizeof *histogram, "a histogram of differences"));
  TRY(wr_device_alloc_zeroed(env, &s->histogram, buckets, 4, "a histogram of differences"));
  TRY(WR_LAUNCH((bccoo_sample), grid_for(env, (lanes + each - 1) / each), THREADS, 0, env->stream, a, *b, s->ended,
                each, shift, limit, s->histogram));
  TRY(wr_device_download(env, histogram, s->histogram, buckets, WR_AS_4_BYTES));
  b->low = wr_bccoo_window(histogram, buckets, shift, limit);
done:
  wr_free(histogram);
  return status;
}

/* Counts escapes, and returns to 32-bit columns if those take fewer bytes and `may` is set. */
static wr_status count_escapes(wr_env *env, const bccoo_rows &a, bool may, scratch *s, wr_bccoo *b) {
  int64_t warps = wr_bccoo_warps(b), lanes = warps * WR_WARP;
  PASS(wr_device_alloc(env, &s->escapes, warps, 4, "escapes of warps"));
  PASS(wr_device_alloc(env, &b->escape_from, warps + 1, 8, "escapes"));
  if (warps) PASS(WR_LAUNCH((bccoo_count), grid_for(env, lanes), THREADS, 0, env->stream, a, *b, s->ended, s->escapes));
  PASS(wr_device_scan(env, s->escapes, 4, warps, b->escape_from, 8, &b->escapes));
  if (may && 4 * (b->escapes + lanes) > 2 * lanes * b->tile) {
    wr_device_free(env, b->escape_from);
    b->escape_from = NULL, b->columns = WR_BCCOO_WIDE, b->low = 0, b->escapes = 0;
  }
  return WR_OK;
}

static wr_status make_columns(wr_env *env, const bccoo_rows &a, int64_t bcols, wr_bccoo_compress compress, scratch *s,
                              wr_bccoo *b) {
  int64_t warps = wr_bccoo_warps(b), lanes = warps * WR_WARP, places = lanes * b->tile;
  bool narrow = bcols <= WR_BCCOO_NARROW_COLUMNS;
  b->columns = compress == WR_BCCOO_AS_PAPER         ? WR_BCCOO_PAPER
               : compress == WR_BCCOO_NEVER          ? WR_BCCOO_WIDE
               : compress == WR_BCCOO_AUTO && narrow ? WR_BCCOO_NARROW
                                                     : WR_BCCOO_DIFFERENCES;
  if (b->columns == WR_BCCOO_PAPER) b->low = -(1 << 15);
  if (b->columns == WR_BCCOO_DIFFERENCES) {
    PASS(choose_window(env, a, bcols, s, b));
    PASS(count_escapes(env, a, compress == WR_BCCOO_AUTO, s, b));
  }
  if (b->columns == WR_BCCOO_DIFFERENCES) {
    PASS(wr_device_alloc(env, &b->base, lanes, 4, "first columns of lanes"));
    PASS(wr_device_alloc(env, &b->escaped, b->escapes, 4, "escaped columns"));
  }
  PASS(wr_device_alloc(env, &b->code, places, b->columns == WR_BCCOO_WIDE ? 4 : 2, "block columns"));
  if (b->columns == WR_BCCOO_PAPER) PASS(wr_device_alloc(env, &b->full, places, 4, "block columns"));
  if (lanes) PASS(WR_LAUNCH((bccoo_columns), grid_for(env, lanes), THREADS, 0, env->stream, a, *b, s->ended));
  return WR_OK;
}

template <typename T>
static wr_status fill_values(wr_env *env, const wr_csr_view *view, const wr_bccoo *b) {
  int64_t lanes = wr_bccoo_warps(b) * WR_WARP;
  if (lanes == 0 || !b->valued) return WR_OK;
  if (view->wide)
    return WR_LAUNCH((bccoo_values<T, int64_t>), grid_for(env, lanes), THREADS, 0, env->stream,
                     bccoo_entries_of<T, int64_t>{(const int64_t *)view->row_ptr, view->col, (const T *)view->val}, *b);
  return WR_LAUNCH((bccoo_values<T, int32_t>), grid_for(env, lanes), THREADS, 0, env->stream,
                   bccoo_entries_of<T, int32_t>{(const int32_t *)view->row_ptr, view->col, (const T *)view->val}, *b);
}

extern "C" wr_status wr_bccoo_device_refill(wr_env *env, const wr_csr_view *view, const wr_bccoo *b) {
  PASS(wr_cuda_enter(env));
  return b->type == WR_F32 ? fill_values<float>(env, view, b) : fill_values<double>(env, view, b);
}

/* Sets the sizes that follow from the number of blocks. */
static void measure(int64_t nrows, int64_t ncols, wr_type type, bool has_values, const wr_bccoo_options *o,
                    const wr_bsr *shape, wr_bccoo *b) {
  int64_t per = (int64_t)o->tile * o->threads;
  b->nrows = nrows, b->ncols = ncols, b->type = type;
  b->r = o->r, b->c = o->c, b->tile = o->tile, b->threads = o->threads;
  b->slices = o->slices < shape->bcols ? o->slices : (int)shape->bcols;
  b->valued = has_values || o->r * o->c > 1;
  b->all_rows = shape->brows, b->blocks = shape->blocks;
  b->grid = (b->blocks + per - 1) / per;
}

extern "C" wr_status wr_bccoo_device_build(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz,
                                           const wr_csr_view *view, const wr_bccoo_options *o, wr_bccoo *b) {
  wr_status status;
  wr_bsr_columns columns = {};
  scratch s = {};
  bccoo_rows a;
  *b = {};
  TRY(wr_bccoo_check(nrows, ncols, nnz, o));
  TRY(wr_cuda_enter(env));
  TRY(wr_bsr_columns_build(env, nrows, ncols, nnz, view, o->r, o->c, 1, &columns));
  measure(nrows, ncols, env->type, view->val != NULL, o, &columns.shape, b);
  a = {columns.shape.row_ptr, columns.shape.col, columns.shape.wide, columns.shape.brows};
  TRY(cut_slices(env, b->slices, columns.shape.bcols, b->blocks, &s, &a));
  TRY(make_flags(env, a, &s, b));
  TRY(make_columns(env, a, columns.shape.bcols, o->compress, &s, b));
  if (b->valued)
    TRY(wr_device_alloc(env, &b->val, wr_bccoo_warps(b) * WR_WARP * b->tile * b->r * b->c,
                        (size_t)wr_type_bytes(b->type), "blocks"));
  TRY(wr_bccoo_device_refill(env, view, b));
done:
  free_scratch(env, &s);
  wr_bsr_columns_free(env, &columns);
  if (status != WR_OK) wr_bccoo_device_free(env, b);
  return status;
}

/* The arrays of a format, whose sizes depend on its numbers alone. */
static std::array<wr_listed_array, 11> list_arrays(wr_bccoo *b) {
  int64_t warps = wr_bccoo_warps(b), lanes = warps * WR_WARP, places = lanes * b->tile;
  return {{
      {&b->val, places * b->r * b->c, (size_t)wr_type_bytes(b->type)},
      {&b->code, places, b->columns == WR_BCCOO_WIDE ? 4u : 2u},
      {&b->flag, lanes * wr_bccoo_flag_words(b->tile), (size_t)wr_bccoo_flag_bytes(b->tile)},
      {(void **)&b->entry, lanes, 2},
      {(void **)&b->first, b->grid + 1, 4},
      {(void **)&b->base, lanes, 4},
      {(void **)&b->escape_from, warps + 1, 8},
      {(void **)&b->escaped, b->escapes, 4},
      {(void **)&b->full, places, 4},
      {(void **)&b->row, b->brows, 4},
      {(void **)&b->empty_row, b->empty, 4},
  }};
}

extern "C" void wr_bccoo_device_free(wr_env *env, wr_bccoo *b) { wr_format_free_device(env, b, list_arrays); }

extern "C" void wr_bccoo_free(wr_bccoo *b) { wr_format_free_host(b, list_arrays); }

extern "C" int64_t wr_bccoo_device_bytes(const wr_bccoo *b) {
  wr_bccoo copy = *b;
  auto arrays = list_arrays(&copy);
  for (wr_listed_array &array : arrays)
    if (array.at == (void **)&copy.row || array.at == (void **)&copy.empty_row)
      array.count = b->all_rows * b->slices; /* lists of rows have room for all */
  return wr_arrays_device_bytes(arrays.data(), (int)arrays.size());
}

extern "C" wr_status wr_bccoo_download(wr_env *env, const wr_bccoo *b, wr_bccoo *to) {
  return wr_format_download(env, *b, to, list_arrays);
}
