/* In three passes. The first two merge the rows of every block row, a lane a row: the first counts the blocks, and when a scan
 * has turned the counts into places, the second writes the block columns. The third writes the values, a warp some blocks
 * that lie one after the other. Work is cut to pieces before each, so that neither short nor giant block rows matter. */
#include "spmv/bsr/bsr_build.h"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/device/sort.h"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/search.cuh"
#include "spmv/kernel/warp.cuh"

constexpr int THREADS = 256, WARPS = THREADS / WR_WARP;
constexpr unsigned FULL = (unsigned)WR_FULL_MASK;
constexpr int64_t MOST_BLOCKS = 1 << 20; /* of a launch; warps take what is left in turn */

/* A block row is a task, and one more for every TASK entries in which it begins and does not end. So tasks are numbered
 * without a scan: block row ib's first one is ib + row_ptr[ib * r] / TASK. */
constexpr int TASK = 2048;

/* Entries of a row that lie in shared memory at a time, a column each, and NONE behind them. */
constexpr int WINDOW = WR_WARP, STRIDE = WINDOW + 1;
constexpr uint32_t NONE = UINT32_MAX;

/* P: int32_t or int64_t, of row_ptr. */
template <typename P>
struct bsr_rows {
  int64_t nrows, brows, tasks;
  int r, c;
  int group; /* lanes that work on a task: r, rounded up to a power of two */
  const P *row_ptr;
  const int32_t *col;
};

template <typename P>
static __device__ inline int64_t entries_before(const bsr_rows<P> &a, int64_t ib) {
  int64_t i = ib * a.r;
  return a.row_ptr[i < a.nrows ? i : a.nrows];
}

template <typename P>
static __device__ inline int64_t first_task(const bsr_rows<P> &a, int64_t ib) {
  return ib + entries_before(a, ib) / TASK;
}

template <typename V>
static __device__ inline V group_min(V value, int group) {
  for (int distance = group / 2; distance > 0; distance /= 2) {
    V other = __shfl_xor_sync(FULL, value, distance);
    value = other < value ? other : value;
  }
  return value;
}

static __device__ inline int64_t group_sum(int64_t value, int group) {
  for (int distance = group / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(FULL, value, distance);
  return value;
}

static __device__ inline int64_t share(int64_t count, int64_t part, int64_t parts) {
  return count / parts * part + count % parts * part / parts;
}

/* Where in its row begin..end a lane's part of a block row begins: all lanes at the same block column, the last one before
 * which there are at most part / parts of the entries. Rows alone would split somewhere between the first and the last of
 * their own shares' ends: between these it is searched. Groups for which wanted is 0 come along and get anything. */
template <typename P>
static __device__ P split_rows(const bsr_rows<P> &a, P begin, P end, int64_t part, int64_t parts, bool wanted) {
  int64_t goal = share(group_sum(end - begin, a.group), part, parts);
  uint32_t low = NONE, high = NONE;
  if (wanted && begin < end) low = (uint32_t)a.col[begin + (P)share(end - begin, part, parts)] / (uint32_t)a.c;
  if (low != NONE) high = NONE - low;
  low = group_min(low, a.group), high = NONE - group_min(high, a.group);
  if (!wanted) low = high = 0;
  P first = begin, last = end;
  while (__any_sync(FULL, low < high)) {
    uint32_t middle = low + (high - low + 1) / 2;
    P place = wr_find_column(a.col, first, last, middle * (uint32_t)a.c);
    bool before = group_sum(place - begin, a.group) <= goal, searching = low < high;
    if (searching && before) low = middle, first = place;
    if (searching && !before) high = middle - 1, last = place;
  }
  return wr_find_column(a.col, first, last, low * (uint32_t)a.c);
}

/* What a lane has of its row: entries at..end - 1, of which the next WINDOW are staged, and read up to pos. */
template <typename P>
struct bsr_lane {
  P at, end;
  int pos;
};

/* The lane's row of task t, which is part of block row *ib; *part tells which. */
template <typename P>
static __device__ bsr_lane<P> open_row(const bsr_rows<P> &a, int64_t t, int row, int64_t *ib, int64_t *part) {
  int64_t low = 0, high = a.brows; /* first_task(low) <= t < first_task(high) */
  bool any = t < a.tasks;
  while (any && high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    if (first_task(a, middle) <= t)
      low = middle;
    else
      high = middle;
  }
  int64_t i = low * a.r + row, first = first_task(a, low), parts = first_task(a, low + 1) - first;
  P begin = 0, end = 0;
  if (any && row < a.r && i < a.nrows) begin = a.row_ptr[i], end = a.row_ptr[i + 1];
  *ib = low, *part = any ? t - first : 1;
  bool wanted = any && entries_before(a, low + 1) - entries_before(a, low) > TASK;
  P from = begin, to = end;
  if (__any_sync(FULL, wanted)) {
    bool inner = wanted && *part > 0, ends = wanted && *part + 1 < parts;
    P place = split_rows(a, begin, end, inner ? *part : 0, parts, inner);
    if (inner) from = place;
    place = split_rows(a, begin, end, ends ? *part + 1 : 0, parts, ends);
    if (ends) to = place;
  }
  if (!wanted && *part > 0) from = to; /* all is in the first part */
  P at = from / 8 * 8;                 /* columns come in sectors of 32 bytes */
  return {at, to, (int)(from - at)};
}

/* Stages the windows of the lanes in the mask: the warp reads one after the other, eight on their way at a time. */
template <typename P>
static __device__ inline void stage_windows(const int32_t *col, unsigned mask, const bsr_lane<P> &own,
                                            uint32_t *stage) {
  int lane = threadIdx.x % WR_WARP;
  __syncwarp();
  for (int l = 0; l < WR_WARP; l += 8) {
    uint32_t column[8];
    if ((mask >> l & 255) == 0) continue;
#pragma unroll
    for (int u = 0; u < 8; u++) {
      P at = __shfl_sync(FULL, own.at, l + u), end = __shfl_sync(FULL, own.end, l + u);
      column[u] = (mask >> (l + u) & 1) && lane < end - at ? (uint32_t)col[at + lane] : NONE;
    }
#pragma unroll
    for (int u = 0; u < 8; u++)
      if (mask >> (l + u) & 1) stage[(l + u) * STRIDE + lane] = column[u];
  }
  __syncwarp();
}

/* Each round gives the next block: the least block column that any row of the group has next. WRITE false: counts[t] := the
 * task's blocks. true: they go to block_col from offsets[t] on, and row_ptr is written. O: of row_ptr. */
template <typename P, typename O, bool WRITE>
__global__ void __launch_bounds__(THREADS)
    bsr_merge(const bsr_rows<P> a, int32_t *counts, const int64_t *offsets, int32_t *block_col, O *block_row_ptr) {
  WR_SHARED(uint32_t, room, WARPS * WR_WARP * STRIDE);
  int lane = threadIdx.x % WR_WARP, row = lane % a.group, groups = WR_WARP / a.group;
  uint32_t *stage = room + threadIdx.x / WR_WARP * (WR_WARP * STRIDE), *own = stage + lane * STRIDE;
  int64_t warp = (int64_t)blockIdx.x * WARPS + threadIdx.x / WR_WARP, warps = (int64_t)gridDim.x * WARPS;
  own[WINDOW] = NONE;
  for (int64_t t0 = warp * groups; t0 < a.tasks; t0 += warps * groups) {
    int64_t t = t0 + lane / a.group, ib, part, k = WRITE && t < a.tasks ? offsets[t] : 0;
    bsr_lane<P> mine = open_row(a, t, row, &ib, &part);
    if (WRITE && row == 0 && t < a.tasks && part == 0) block_row_ptr[ib] = (O)k;
    stage_windows(a.col, FULL, mine, stage);
    for (uint32_t least = 0, limit = 0;;) {
      while (own[mine.pos] < limit) mine.pos++;
      bool used_up = mine.pos == WINDOW && mine.end - mine.at > WINDOW;
      unsigned mask = __ballot_sync(FULL, used_up);
      if (used_up) mine.at += WINDOW, mine.pos = 0;
      if (mask) stage_windows(a.col, mask, mine, stage);
      if (mask) continue;
      least = group_min(own[mine.pos], a.group);
      if (!__any_sync(FULL, least != NONE)) break;
      if (least == NONE) continue;
      uint32_t j = least / (uint32_t)a.c;
      limit = (j + 1) * (uint32_t)a.c;
      if (WRITE && row == 0) block_col[k] = (int32_t)j;
      k++;
    }
    if (!WRITE && row == 0 && t < a.tasks) counts[t] = (int32_t)k;
  }
  if (WRITE && warp == 0 && lane == 0) block_row_ptr[a.brows] = (O)offsets[a.tasks];
}

/* Values that a warp puts together before it writes them, whole blocks; one place in 32 stays empty, so that lanes which
 * write lines of 16 values do not meet in a bank. */
constexpr int TILE_BYTES = 4096;
static_assert(TILE_BYTES >= WR_BSR_MAX_SIDE * WR_BSR_MAX_SIDE * 8, "a block fits");
static __device__ inline int skewed(int at) { return at + at / 32; }

/* The line of c values from tile place `at` on: those of a row's entries begin..end - 1 in columns left..left + c - 1. A zero
 * loses its sign: negative zeros are padding. */
template <typename T, typename P>
static __device__ inline void fill_line(const int32_t *col, const T *val, P begin, P end, int32_t left, int c, T *tile,
                                        int at) {
  for (int j = 0; j < c; j++) tile[skewed(at + j)] = -(T)0;
  P first = wr_find_column(col, begin, end, (uint32_t)left);
  int most = end - first < c ? (int)(end - first) : c;
#pragma unroll 4
  for (int n = 0; n < most; n++) {
    int32_t j = col[first + n] - left;
    if (j >= c) continue;
    T value = val ? val[first + n] : (T)1;
    tile[skewed(at + j)] = value == 0 ? (T)0 : value;
  }
}

/* A lane has one of `together` blocks (a power of two), and every so many of its lines. */
template <typename T, typename P, typename O>
__global__ void __launch_bounds__(THREADS)
    bsr_fill(const wr_bsr b, const P *row_ptr, const int32_t *col, const T *val, int together) {
  constexpr int TILE = TILE_BYTES / sizeof(T);
  WR_SHARED(T, room, WARPS *(TILE + TILE / 32));
  int lane = threadIdx.x % WR_WARP, own = lane % together, size = b.r * b.c;
  T *tile = room + threadIdx.x / WR_WARP * (TILE + TILE / 32), *out = (T *)b.val;
  int64_t warp = (int64_t)blockIdx.x * WARPS + threadIdx.x / WR_WARP, warps = (int64_t)gridDim.x * WARPS;
  const O *block_row_ptr = (const O *)b.row_ptr;
  for (int64_t k0 = warp * together; k0 < b.blocks; k0 += warps * together) {
    int64_t left = b.blocks - k0, low = 0, high = b.brows; /* row_ptr[low] <= k0 + own < row_ptr[high] */
    int count = left < together ? (int)left : together;
    while (own < count && high - low > 1) {
      int64_t middle = low + (high - low) / 2;
      if (block_row_ptr[middle] <= k0 + own)
        low = middle;
      else
        high = middle;
    }
    for (int n = lane / together; own < count && n < b.r; n += WR_WARP / together) {
      int64_t i = low * b.r + n;
      P begin = 0, end = 0;
      if (i < b.nrows) begin = row_ptr[i], end = row_ptr[i + 1];
      fill_line(col, val, begin, end, b.col[k0 + own] * b.c, b.c, tile, own * size + n * b.c);
    }
    __syncwarp();
    for (int at = lane; at < count * size; at += WR_WARP) out[k0 * size + at] = tile[skewed(at)];
    __syncwarp();
  }
}

static unsigned grid_for(int64_t work, int64_t a_warp) {
  int64_t blocks = (work - 1) / (a_warp * WARPS) + 1;
  return (unsigned)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS);
}

template <typename T, typename P, typename O>
static wr_status fill(wr_env *env, const wr_csr_view *view, const wr_bsr *b) {
  int together = WR_WARP;
  while (together * b->r * b->c * (int)sizeof(T) > TILE_BYTES) together /= 2;
  if (b->blocks == 0) return WR_OK;
  return WR_LAUNCH((bsr_fill<T, P, O>), grid_for(b->blocks, together), THREADS, 0, env->stream, *b,
                   (const P *)view->row_ptr, view->col, (const T *)view->val, together);
}

/* Columns and values, when the blocks before every task are known. */
template <typename P, typename O>
static wr_status write_blocks(wr_env *env, const wr_csr_view *view, const bsr_rows<P> &a, const int64_t *offsets,
                              const wr_bsr *b) {
  wr_status status = WR_LAUNCH((bsr_merge<P, O, true>), grid_for(a.tasks, WR_WARP / a.group), THREADS, 0, env->stream,
                               a, (int32_t *)nullptr, offsets, b->col, (O *)b->row_ptr);
  if (status != WR_OK) return status;
  return b->type == WR_F64 ? fill<double, P, O>(env, view, b) : fill<float, P, O>(env, view, b);
}

static wr_status allocate(wr_env *env, wr_bsr *b) {
  wr_status status;
  TRY(wr_device_alloc(env, &b->row_ptr, b->brows + 1, b->wide ? 8 : 4, "block row pointers"));
  TRY(wr_device_alloc(env, &b->col, b->blocks, sizeof *b->col, "block columns"));
  TRY(wr_device_alloc(env, &b->val, b->blocks * b->r * b->c, (size_t)wr_type_bytes(b->type), "the blocks' values"));
done:
  return status;
}

template <typename P>
static wr_status build(wr_env *env, const wr_csr_view *view, wr_bsr *b) {
  wr_status status;
  bsr_rows<P> a = {b->nrows, b->brows, b->brows + b->nnz / TASK, b->r, b->c, 1, (const P *)view->row_ptr, view->col};
  int32_t *counts = nullptr;
  int64_t *offsets = nullptr;
  while (a.group < a.r) a.group *= 2;
  TRY(wr_device_alloc(env, &counts, a.tasks, sizeof *counts, "counting blocks"));
  TRY(wr_device_alloc(env, &offsets, a.tasks + 1, sizeof *offsets, "counting blocks"));
  TRY(WR_LAUNCH((bsr_merge<P, int32_t, false>), grid_for(a.tasks, WR_WARP / a.group), THREADS, 0, env->stream, a,
                counts, (const int64_t *)nullptr, (int32_t *)nullptr, (int32_t *)nullptr));
  TRY(wr_device_scan(env, counts, sizeof *counts, a.tasks, offsets, sizeof *offsets, &b->blocks));
  b->wide = b->blocks > INT32_MAX;
  TRY(allocate(env, b));
  TRY((b->wide ? write_blocks<P, int64_t> : write_blocks<P, int32_t>)(env, view, a, offsets, b));
done:
  wr_device_free(env->device, counts);
  wr_device_free(env->device, offsets);
  return status;
}

extern "C" wr_status wr_bsr_device_build(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz,
                                         const wr_csr_view *view, int r, int c, wr_bsr *b) {
  wr_status status;
  *b = {};
  TRY(wr_cuda_enter(env));
  TRY(wr_bsr_check(nrows, ncols, nnz, r, c));
  *b = wr_bsr_shape(nrows, ncols, nnz, r, c, env->type);
  if (!view->wide && nnz > INT32_MAX)
    TRY(wr_fail(WR_EUSAGE, "%lld entries with row pointers of 32 bits", (long long)nnz));
  TRY(view->wide ? build<int64_t>(env, view, b) : build<int32_t>(env, view, b));
done:
  if (status != WR_OK) wr_bsr_device_free(env->device, b);
  return status;
}

extern "C" void wr_bsr_device_free(int device, wr_bsr *b) {
  wr_device_free(device, b->row_ptr);
  wr_device_free(device, b->col);
  wr_device_free(device, b->val);
  b->row_ptr = NULL, b->col = NULL, b->val = NULL;
}

extern "C" int64_t wr_bsr_device_bytes(const wr_bsr *b) {
  return wr_device_bytes(b->brows + 1, b->wide ? 8 : 4) + wr_device_bytes(b->blocks, sizeof *b->col) +
         wr_device_bytes(b->blocks * b->r * b->c, (size_t)wr_type_bytes(b->type));
}

extern "C" wr_status wr_bsr_download(wr_env *env, const wr_bsr *b, wr_bsr *to) {
  wr_status status;
  *to = *b;
  TRY(wr_bsr_alloc(to));
  TRY(wr_device_download(env, to->row_ptr, b->row_ptr, b->brows + 1, b->wide ? WR_AS_8_BYTES : WR_AS_4_BYTES));
  TRY(wr_device_download(env, to->col, b->col, b->blocks, WR_AS_4_BYTES));
  TRY(wr_device_download(env, to->val, b->val, b->blocks * b->r * b->c,
                         b->type == WR_F64 ? WR_AS_8_BYTES : WR_AS_4_BYTES));
done:
  if (status != WR_OK) wr_bsr_free(to);
  return status;
}
