/* The block columns of every block row, in four steps. (1) A group of lanes lists the block columns of the block row's first
 * row, which its lanes read side by side, and compares the other rows with that list: in most matrices that suit blocks all
 * rows agree. Block rows with many entries are cut into parts first, a warp each. (2) Block rows, or parts, with rows that
 * differ are marked DIFFERENT, and their rows are merged. (3) Each list is written where the entries of its block row begin,
 * so no count is needed beforehand; a scan over the lengths then gives the row pointers. (4) The lists are moved to their
 * final places. */
#include "spmv/blocks/bsr_columns.h"

#include "spmv/blocks/bsr_build.h"
#include "spmv/blocks/bsr_group.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/kernel/async_copy.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/search.cuh"

constexpr int THREADS = 256, WARPS = THREADS / WR_WARP;
constexpr int BLOCKS = 32;         /* of a launch, for each multiprocessor                   */
constexpr int STEPS = 4;           /* loads that a lane has in flight                          */
constexpr int CHUNK = 8 * THREADS; /* counts that a thread block adds up                       */
constexpr unsigned FULL = (unsigned)WR_FULL_MASK;

/* A block row has one task, and one more for each multiple of `task` entries that lies in it. So tasks are numbered without a
 * scan: the first one of block row ib is ib + row_ptr[ib * r] / task. A task has 2^LOG2_TASK entries for each lane of its
 * group. */
constexpr int LOG2_TASK = 9;

/* Columns of a row that are staged in shared memory at a time, and NONE after them. */
constexpr int WINDOW = WR_WARP, STRIDE = WINDOW + 1;
constexpr uint32_t NONE = WR_BSR_NONE;

/* P: int32_t or int64_t, of row_ptr. */
template <typename P>
struct bsr_rows {
  int64_t nrows, brows, tasks;
  int log2_task; /* entries */
  int r, c;
  int group; /* lanes that work on a task: r, rounded up to a power of two */
  const P *row_ptr;
  const int32_t *col;
  wr_bsr_divisor by_c;
};

/* The result of each task: `count` block columns from column[place] on, or one of these marks. An EVEN task, with rows that are
 * equally long and are to be compared entry by entry, has the place -1 - (its block row). */
enum { DIFFERENT = -1, IN_PARTS = -2, EVEN = INT32_MAX };
struct bsr_found {
  int32_t *count;   /* [tasks]                                                 */
  int64_t *place;   /* [tasks]                                                 */
  int32_t *column;  /* [nnz]: a block row has no more blocks than entries      */
  int32_t *pending; /* [3] 1 where a task is or was: DIFFERENT; IN_PARTS; EVEN */
};

template <typename P>
static __device__ inline int64_t entries_before(const bsr_rows<P> &a, int64_t ib) {
  int64_t i = ib * a.r;
  return a.row_ptr[i < a.nrows ? i : a.nrows];
}

template <typename P>
static __device__ inline int64_t first_task(const bsr_rows<P> &a, int64_t ib) {
  return ib + (entries_before(a, ib) >> a.log2_task);
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

/* ---- Parts of block rows, and their rows merged ---- */

/* The entry of row begin..end at which a lane's part of a block row begins. All lanes split at the same block column: the
 * last one that has at most part / parts of the block row's entries before it. It lies between the least and the greatest of
 * the columns at which the rows would be split one by one, so the search is over these. Groups with `wanted` 0 only take
 * part in the shuffles, and their result is undefined. */
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

/* What a lane has left to read of its row: entries at..end - 1. The next WINDOW of these are staged, of which it has read
 * `pos`. */
template <typename P>
struct bsr_lane {
  P at, end;
  int pos;
};

/* *from, *to := the entries of a lane's row in task t (`any`: there is such a task). Returns the number of entries before the
 * task, which is where its list is written. */
template <typename P>
static __device__ int64_t open_row(const bsr_rows<P> &a, int64_t t, bool any, int row, P *from, P *to) {
  int64_t low = 0, high = a.brows; /* first_task(low) <= t < first_task(high) */
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
  int64_t part = any ? t - first : 1;
  bool wanted = any && entries_before(a, low + 1) - entries_before(a, low) > (int64_t)1 << a.log2_task;
  *from = begin, *to = end;
  if (__any_sync(FULL, wanted)) {
    bool inner = wanted && part > 0, ends = wanted && part + 1 < parts;
    P at = split_rows(a, begin, end, inner ? part : 0, parts, inner);
    if (inner) *from = at;
    at = split_rows(a, begin, end, ends ? part + 1 : 0, parts, ends);
    if (ends) *to = at;
  }
  if (!wanted && part > 0) *from = *to; /* the first part has all entries */
  return entries_before(a, low) + group_sum(*from - begin, a.group);
}

/* Stages the windows of the lanes in the mask. The whole warp reads one window after the other, eight loads in flight at a
 * time. */
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

/* list := the block columns of the group's rows, ascending; returns their number. Each round appends the least block column
 * that any row of the group has not passed. All groups of the warp run this together, each on its own rows. */
template <typename P>
static __device__ int32_t merge_rows(const bsr_rows<P> &a, P from, P to, uint32_t *stage, int32_t *list) {
  int lane = threadIdx.x % WR_WARP, row = lane % a.group;
  uint32_t *own = stage + lane * STRIDE;
  int32_t k = 0;
  P at = from / 8 * 8; /* columns come in sectors of 32 bytes */
  bsr_lane<P> reader = {at, to, (int)(from - at)};
  own[WINDOW] = NONE;
  stage_windows(a.col, FULL, reader, stage);
  for (uint32_t least = 0, limit = 0;;) {
    while (own[reader.pos] < limit) reader.pos++;
    bool used_up = reader.pos == WINDOW && reader.end - reader.at > WINDOW;
    unsigned mask = __ballot_sync(FULL, used_up);
    if (used_up) reader.at += WINDOW, reader.pos = 0;
    if (mask) stage_windows(a.col, mask, reader, stage);
    if (mask) continue;
    least = group_min(own[reader.pos], a.group);
    if (!__any_sync(FULL, least != NONE)) break;
    if (least == NONE) continue;
    uint32_t j = wr_bsr_divide(least, a.by_c);
    limit = (j + 1) * (uint32_t)a.c;
    if (row == 0) list[k] = (int32_t)j;
    k++;
  }
  __syncwarp(); /* the caller may stage other rows now */
  return k;
}

/* Step 2: the DIFFERENT tasks, a group of lanes each. */
template <typename P>
__global__ void __launch_bounds__(THREADS, 3) bsr_merge(WR_KERNEL_PARAMETER bsr_rows<P> a, const bsr_found found) {
  WR_SHARED(uint32_t, stages, WARPS * WR_WARP * STRIDE);
  int lane = threadIdx.x % WR_WARP, groups = WR_WARP / a.group;
  uint32_t *stage = stages + threadIdx.x / WR_WARP * (WR_WARP * STRIDE);
  int64_t warp = (int64_t)blockIdx.x * WARPS + threadIdx.x / WR_WARP, warps = (int64_t)gridDim.x * WARPS;
  if (found.pending[0] == 0) return;
  for (int64_t t0 = warp * groups; t0 < a.tasks; t0 += warps * groups) {
    int64_t t = t0 + lane / a.group;
    bool wanted = t < a.tasks && found.count[t] == DIFFERENT;
    if (!__any_sync(FULL, wanted)) continue;
    P from, to;
    int64_t place = open_row(a, t, wanted, lane % a.group, &from, &to);
    int32_t count = merge_rows(a, from, to, stage, found.column + place);
    if (wanted && lane % a.group == 0) found.count[t] = count, found.place[t] = place;
  }
}

/* ---- Rows that are equally long, or have no gaps ---- */

/* A lane has EVEN_ROWS * EVEN_STEPS loads in flight, EVEN_STEPS of each row; together the lanes read PIECE entries of a row.
 * Parts are multiples of PIECE, except for the last one of a row. */
constexpr int EVEN_ROWS = 4, EVEN_STEPS = 4, PIECE = EVEN_STEPS * WR_WARP;

/* What the first and last entries of a block row's rows tell about its block columns. */
struct bsr_span {
  bool same_ends;       /* all rows begin in the same block column and end in the same one */
  bool contiguous;      /* the block columns are first, first + 1, ..., last               */
  uint32_t first, last; /* valid if contiguous                                             */
};

/* Columns ascend, so a row has no gaps if its last column minus its first is its number of entries - 1. If no row has gaps,
 * and no row begins more than one block column after another one's end, the block columns together have no gaps. */
template <typename P>
static __device__ inline bsr_span span_of(const bsr_rows<P> &a, const wr_bsr_group &g, const P *row_ptr, int rows) {
  uint32_t first = NONE, before_last = NONE, least_first = NONE, least_last = NONE; /* these two hold NONE - 1 - column */
  bool has_gaps = false, is_empty = false;
  for (int i = g.lane; i < rows; i += g.lanes) {
    P begin = row_ptr[i], end = row_ptr[i + 1];
    is_empty = is_empty || begin == end;
    if (begin == end) continue;
    uint32_t left = (uint32_t)a.col[begin], right = (uint32_t)a.col[end - 1];
    has_gaps = has_gaps || (P)(right - left) != end - begin - 1;
    left = wr_bsr_divide(left, a.by_c), right = wr_bsr_divide(right, a.by_c);
    first = min(first, left), least_first = min(least_first, NONE - 1 - left);
    before_last = min(before_last, right), least_last = min(least_last, NONE - 1 - right);
  }
  first = group_min(first, g.lanes), before_last = group_min(before_last, g.lanes);
  uint32_t latest = NONE - 1 - group_min(least_first, g.lanes), last = NONE - 1 - group_min(least_last, g.lanes);
  bool some_gaps = wr_bsr_group_ballot(g, has_gaps) != 0, some_empty = wr_bsr_group_ballot(g, is_empty) != 0;
  if (first == NONE) return {true, false, 0, 0}; /* no entries */
  return {!some_empty && first == latest && before_last == last, !some_gaps && latest <= before_last + 1, first, last};
}

constexpr int EVEN_BLOCKS = 8; /* of a launch, for each multiprocessor; few, as in most matrices no block row is EVEN */

/* list := block columns that begin in entries col[0] to col[count - 1] of the first row, except `last`. Returns their number,
 * or DIFFERENT if another row, each `length` entries after the one before, has another column there. Run by a warp. */
static __device__ inline int list_even_part(wr_bsr_divisor by_c, const wr_bsr_group &g, int rows, const int32_t *col,
                                            int64_t length, int count, uint32_t last, int32_t *list) {
  int listed = 0;
  bool alike = true;
  for (int k = g.lane; __any_sync(FULL, k < count); k += PIECE) {
    int32_t column[EVEN_STEPS];
    for (int i = 0; i < rows; i += EVEN_ROWS) {
      int32_t other[EVEN_ROWS][EVEN_STEPS];
#pragma unroll
      for (int v = 0; v < EVEN_ROWS; v++) {
        const int32_t *row = col + (i + v < rows ? i + v : 0) * length;
#pragma unroll
        for (int u = 0; u < EVEN_STEPS; u++)
          other[v][u] = wr_load_stream_if(i + v < rows, row + min(k + u * WR_WARP, count - 1));
      }
#pragma unroll
      for (int u = 0; u < EVEN_STEPS; u++) {
        if (i == 0) column[u] = other[0][u];
#pragma unroll
        for (int v = 0; v < EVEN_ROWS; v++) alike = alike & ((i + v >= rows) | (other[v][u] == column[u]));
      }
    }
#pragma unroll
    for (int u = 0; u < EVEN_STEPS; u++) {
      uint32_t block = k + u * WR_WARP < count ? wr_bsr_divide((unsigned)column[u], by_c) : NONE;
      unsigned starts = wr_bsr_group_starts(g, block, last);
      if (starts >> g.lane & 1) list[listed + __popc(starts & ((1u << g.lane) - 1))] = (int32_t)block;
      listed += __popc(starts);
    }
    if (!__all_sync(FULL, alike)) return DIFFERENT;
  }
  return listed;
}

/* The EVEN tasks, a warp each. If one finds a difference, all tasks of its block row become IN_PARTS; that is below any
 * count, so atomicMin gives the same result in any order. */
template <typename P>
__global__ void __launch_bounds__(THREADS, 4) bsr_list_even(WR_KERNEL_PARAMETER bsr_rows<P> a, const bsr_found found) {
  wr_bsr_group g = wr_bsr_group_make(WR_WARP);
  int64_t warps = (int64_t)gridDim.x * WARPS;
  if (found.pending[2] == 0) return;
  for (int64_t t = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WR_WARP; t < a.tasks; t += warps) {
    int64_t ib = -1 - found.place[t];
    if (ib < 0) continue;
    __syncwarp(); /* before the place is changed */
    int rows = a.nrows - ib * a.r < a.r ? (int)(a.nrows - ib * a.r) : a.r;
    int64_t begin = entries_before(a, ib), length = (entries_before(a, ib + 1) - begin) / rows;
    int64_t first = first_task(a, ib), next = first_task(a, ib + 1), pieces = (length + PIECE - 1) / PIECE;
    int64_t from = share(pieces, t - first, next - first) * PIECE,
            to = share(pieces, t - first + 1, next - first) * PIECE;
    const int32_t *col = a.col + begin + from;
    int count = (int)((to < length ? to : length) - from);
    uint32_t last = from > 0 && count > 0 ? wr_bsr_divide((unsigned)col[-1], a.by_c) : NONE;
    int64_t place = begin + from * rows;
    count = list_even_part(a.by_c, g, rows, col, length, count, last, found.column + place);
    for (int64_t other = first + g.lane; count == DIFFERENT && other < next; other += WR_WARP)
      atomicMin(found.count + other, (int)IN_PARTS);
    if (g.lane != 0) continue;
    if (count == DIFFERENT)
      found.pending[1] = 1;
    else
      atomicMin(found.count + t, count);
    found.place[t] = place;
  }
}

/* ---- Rows with the same block columns ---- */

/* Entries of a row. With length 0, col[0] may still be read. */
struct bsr_part {
  const int32_t *col;
  int length;
};

template <typename P>
static __device__ inline bsr_part part_of(const bsr_rows<P> &a, P begin, P end) {
  return {begin < end ? a.col + begin : a.col, (int)(end - begin)};
}

/* The number of block columns of a row. KEEP: writes them to list; else: *alike := false if they differ from the `listed`
 * ones of list. All groups of a warp call this together; those without a row pass length 0. */
template <bool KEEP>
static __device__ inline int read_row(const bsr_part &row, wr_bsr_divisor by_c, const wr_bsr_group &g, int32_t *list,
                                      int listed, bool *alike) {
  int n = 0, end = row.length - 1;
  uint32_t last = NONE;
  for (int k = g.lane; __any_sync(FULL, k - g.lane <= end); k += STEPS * g.lanes) {
    uint32_t block[STEPS];
    int place[STEPS];
#pragma unroll
    for (int u = 0; u < STEPS; u++) {
      int at = k + u * g.lanes;
      block[u] = (uint32_t)wr_load_stream(row.col + (at < end ? at : end > 0 ? end : 0));
      if (at > end) block[u] = NONE;
    }
#pragma unroll
    for (int u = 0; u < STEPS; u++) {
      block[u] = wr_bsr_block_of(block[u], by_c);
      unsigned starts = wr_bsr_group_starts(g, block[u], last);
      place[u] = starts >> g.lane & 1 ? n + __popc(starts & ((1u << g.lane) - 1)) : -1;
      n += __popc(starts);
    }
    if constexpr (KEEP) {
#pragma unroll
      for (int u = 0; u < STEPS; u++)
        if (place[u] >= 0) list[place[u]] = (int32_t)block[u];
    } else {
      uint32_t other[STEPS];
#pragma unroll
      for (int u = 0; u < STEPS; u++)
        other[u] = place[u] >= 0 ? place[u] < listed ? (uint32_t)list[place[u]] : NONE : block[u];
#pragma unroll
      for (int u = 0; u < STEPS; u++) *alike = *alike && other[u] == block[u];
    }
  }
  return n;
}

/* list := the block columns of `rows` <= r rows, entries row(i). Returns their number, or DIFFERENT if the rows differ. */
template <typename Row>
static __device__ inline int list_rows(wr_bsr_divisor by_c, const wr_bsr_group &g, int r, int rows, bsr_part none,
                                       int32_t *list, Row row) {
  bool alike = true;
  int listed = read_row<true>(rows > 0 ? row(0) : none, by_c, g, list, 0, &alike);
  __syncwarp();
  for (int i = 1; i < r && __any_sync(FULL, alike); i++) {
    bool is_row = alike && i < rows;
    int count = read_row<false>(is_row ? row(i) : none, by_c, g, list, listed, &alike);
    alike = wr_bsr_group_ballot(g, !alike || (is_row && count != listed)) == 0;
  }
  return alike ? listed : DIFFERENT;
}

/* As list_rows, for rows that are all `length` entries long, the first of them col[0] to col[length - 1], and that may have
 * the same columns entry by entry, as full blocks do. Compares columns instead of block columns, those of all rows in one
 * step. */
static __device__ inline int list_same_rows(wr_bsr_divisor by_c, const wr_bsr_group &g, int r, int rows,
                                            const int32_t *col, int length, int32_t *list) {
  int listed = 0, end = length > 0 ? length - 1 : 0;
  uint32_t last = NONE;
  bool alike = true;
  for (int k = g.lane; __any_sync(FULL, k - g.lane < length); k += STEPS * g.lanes) {
    int32_t column[STEPS];
#pragma unroll
    for (int u = 0; u < STEPS; u++) column[u] = wr_load_stream(col + min(k + u * g.lanes, end));
#pragma unroll 2
    for (int i = 1; i < r; i++) {
      const int32_t *other = col + (i < rows ? i : 0) * (int64_t)length;
#pragma unroll
      for (int u = 0; u < STEPS; u++) alike = (wr_load_stream(other + min(k + u * g.lanes, end)) == column[u]) & alike;
    }
#pragma unroll
    for (int u = 0; u < STEPS; u++) {
      if (!__any_sync(FULL, k - g.lane + u * g.lanes < length)) break;
      uint32_t block = k + u * g.lanes < length ? wr_bsr_divide((unsigned)column[u], by_c) : NONE;
      unsigned starts = wr_bsr_group_starts(g, block, last);
      if (starts >> g.lane & 1) list[listed + __popc(starts & ((1u << g.lane) - 1))] = (int32_t)block;
      listed += __popc(starts);
    }
    if (!__any_sync(FULL, alike)) break;
  }
  return wr_bsr_group_ballot(g, !alike) == 0 ? listed : DIFFERENT;
}

/* Whether row_ptr[0..rows] are `length` apart. */
template <typename P>
static __device__ inline bool even_rows(const wr_bsr_group &g, const P *row_ptr, int rows, int64_t length) {
  bool even = true;
  for (int i = g.lane; i < rows; i += g.lanes) even = even && (int64_t)(row_ptr[i + 1] - row_ptr[i]) == length;
  return wr_bsr_group_ballot(g, !even) == 0;
}

/* Step 1: lists block rows that are one part, and longer ones without gaps, a group each. The tasks of the others are marked
 * for the kernels that follow. */
template <typename P>
__global__ void __launch_bounds__(THREADS, 4)
    bsr_list(WR_KERNEL_PARAMETER bsr_rows<P> a, const bsr_found found, int lanes) {
  wr_bsr_group g = wr_bsr_group_make(lanes);
  int64_t groups = (int64_t)gridDim.x * (THREADS / lanes), own = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / lanes;
  for (int64_t ib = own; ib - g.first / lanes < a.brows; ib += groups) { /* all groups of a warp leave the loop together */
    int64_t i0 = ib * a.r, begin = 0, end = 0;
    int rows = ib >= a.brows ? 0 : a.nrows - i0 < a.r ? (int)(a.nrows - i0) : a.r;
    if (rows > 0) begin = entries_before(a, ib), end = entries_before(a, ib + 1);
    bool in_parts = end - begin > (int64_t)1 << a.log2_task;
    int listed = in_parts ? 0 : rows, length = rows > 0 ? (int)((end - begin) / rows) : 0;
    bool even = even_rows(g, a.row_ptr + i0, rows, length);
    const int32_t *col = a.col + (length > 0 ? begin : 0);
    int count = list_same_rows(a.by_c, g, a.r, listed, col, even && listed ? length : 0, found.column + begin);
    if (!even && listed) count = DIFFERENT;
    if (__any_sync(FULL, count == DIFFERENT)) {
      int again =
          list_rows(a.by_c, g, a.r, count == DIFFERENT ? listed : 0, part_of(a, (P)0, (P)0), found.column + begin,
                    [&](int i) { return part_of(a, a.row_ptr[i0 + i], a.row_ptr[i0 + i + 1]); });
      if (count == DIFFERENT) count = again;
    }
    bsr_span span = {};
    if (__any_sync(FULL, in_parts)) span = span_of(a, g, a.row_ptr + i0, in_parts ? rows : 0);
    int blocks = span.contiguous ? (int)(span.last - span.first) + 1 : 0;
    if (in_parts)
      count = span.contiguous ? blocks : !span.same_ends ? (int)DIFFERENT : even ? (int)EVEN : (int)IN_PARTS;
    int64_t first = ib + (begin >> a.log2_task), next = rows > 0 ? ib + 1 + (end >> a.log2_task) : first;
    for (int64_t t = first + g.lane; t < next; t += lanes) {
      int64_t from = share(blocks, t - first, next - first), upto = share(blocks, t - first + 1, next - first);
      found.count[t] = span.contiguous ? (int)(upto - from) : in_parts || t == first ? count : 0;
      found.place[t] = count == EVEN ? -1 - ib : begin + from;
    }
    for (int k = g.lane; k < blocks; k += lanes) found.column[begin + k] = (int32_t)span.first + k;
    if (g.lane == 0 && ((in_parts && !span.contiguous) || count < 0))
      found.pending[count == EVEN ? 2 : count == IN_PARTS ? 1 : 0] = 1;
  }
}

/* The IN_PARTS tasks, a warp each. */
template <typename P>
__global__ void __launch_bounds__(THREADS, 4) bsr_list_parts(WR_KERNEL_PARAMETER bsr_rows<P> a, const bsr_found found) {
  wr_bsr_group g = wr_bsr_group_make(WR_WARP);
  int64_t warps = (int64_t)gridDim.x * WARPS;
  if (found.pending[1] == 0) return;
  for (int64_t t = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WR_WARP; t < a.tasks; t += warps) {
    P from, to;
    if (found.count[t] != IN_PARTS) continue;
    __syncwarp(); /* before the count is changed */
    int64_t place = open_row(a, t, true, g.lane % a.group, &from, &to);
    int count = list_rows(a.by_c, g, a.r, a.r, part_of(a, (P)0, (P)0), found.column + place,
                          [&](int i) { return part_of(a, __shfl_sync(FULL, from, i), __shfl_sync(FULL, to, i)); });
    if (g.lane != 0) continue;
    found.count[t] = count, found.place[t] = place;
    if (count == DIFFERENT) found.pending[0] = 1;
  }
}

/* ---- Steps 3 and 4: where the lists belong ---- */

/* Inclusive prefix sums over the thread block; *total := the sum over all threads. */
static __device__ inline int64_t block_scan(int64_t value, int64_t *total) {
  WR_SHARED(int64_t, sums, WARPS);
  int lane = threadIdx.x % WR_WARP, warp = threadIdx.x / WR_WARP;
  for (int distance = 1; distance < WR_WARP; distance *= 2) {
    int64_t before = __shfl_up_sync(FULL, value, (unsigned)distance);
    if (lane >= distance) value += before;
  }
  __syncthreads();
  if (lane == WR_WARP - 1) sums[warp] = value;
  __syncthreads();
  *total = 0;
  for (int w = 0; w < WARPS; w++) {
    if (w == warp) value += *total;
    *total += sums[w];
  }
  return value;
}

/* sums[b] := the blocks of the b-th CHUNK of tasks; numbers[1] += the empty block rows. count NULL: only the latter. */
template <typename P>
__global__ void __launch_bounds__(THREADS)
    bsr_add_up(WR_KERNEL_PARAMETER bsr_rows<P> a, const int32_t *count, int64_t *sums, unsigned long long *numbers) {
  int64_t blocks = 0, empty = 0, begin = (int64_t)blockIdx.x * CHUNK + threadIdx.x;
#pragma unroll
  for (int n = 0; n < CHUNK / THREADS; n++) {
    int64_t t = begin + n * THREADS;
    if (count && t < a.tasks) blocks += count[t];
    if (t < a.brows) empty += entries_before(a, t) == entries_before(a, t + 1);
  }
  block_scan(blocks, &blocks);
  block_scan(empty, &empty);
  if (threadIdx.x != 0) return;
  if (count) sums[blockIdx.x] = blocks;
  if (empty) atomicAdd(numbers + 1, (unsigned long long)empty);
}

/* before[t] := blocks before task t; before[tasks] and numbers[0] := all blocks. */
static __global__ void __launch_bounds__(THREADS)
    bsr_scan(int64_t tasks, const int32_t *count, const int64_t *sums, int64_t *before, unsigned long long *numbers) {
  int64_t sum = 0, total, begin = (int64_t)blockIdx.x * CHUNK + threadIdx.x;
  for (int64_t b = threadIdx.x; b < blockIdx.x; b += THREADS) sum += sums[b];
  block_scan(sum, &sum);
#pragma unroll 1
  for (int n = 0; n < CHUNK / THREADS; n++) {
    int64_t t = begin + n * THREADS, own = t < tasks ? count[t] : 0, upto = block_scan(own, &total);
    if (t < tasks) before[t] = sum + upto - own;
    sum += total;
  }
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) before[tasks] = sum, numbers[0] = (unsigned long long)sum;
}

/* row_ptr, and the tasks' lists moved to their places in col, a group of lanes a list. O: type of row_ptr. */
template <typename P, typename O>
__global__ void __launch_bounds__(THREADS) bsr_move(WR_KERNEL_PARAMETER bsr_rows<P> a, const bsr_found found,
                                                    const int64_t *before, O *row_ptr, int32_t *col, int lanes) {
  int lane = threadIdx.x % lanes;
  int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x, threads = (int64_t)gridDim.x * THREADS;
  for (int64_t ib = thread; ib <= a.brows; ib += threads)
    row_ptr[ib] = (O)before[ib < a.brows ? first_task(a, ib) : a.tasks];
  for (int64_t t = thread / lanes; t < a.tasks; t += threads / lanes) {
    int32_t count = found.count[t];
    const int32_t *list = found.column + found.place[t];
    for (int32_t k = lane; k < count; k += lanes) col[before[t] + k] = list[k];
  }
}

/* ---- The host's side ---- */

static unsigned grid_for(const wr_env *env, int64_t threads) {
  return wr_cuda_grid(env, (threads + THREADS - 1) / THREADS, BLOCKS);
}

/* Pointers into the buffers of a wr_bsr_columns. */
struct bsr_workspace {
  bsr_found found;
  int64_t *sums, *before;
  unsigned long long *numbers; /* [2] blocks, empty block rows; found.pending follows, in the next 2 */
};

static wr_status allocate(wr_env *env, int64_t tasks, int64_t nnz, wr_bsr_columns *columns, bsr_workspace *workspace) {
  int64_t chunks = (tasks + CHUNK - 1) / CHUNK;
  int64_t wide = wr_device_bytes(2 * tasks + 1 + chunks, 8), narrow = wr_device_bytes(tasks, 4);
  PASS(wr_device_alloc_zeroed(env, &columns->numbers, 5, sizeof *workspace->numbers, "numbers of blocks"));
  workspace->numbers = (unsigned long long *)columns->numbers;
  if (columns->borrowed) return WR_OK;
  PASS(wr_device_alloc(env, &columns->workspace, wide + narrow + wr_device_bytes(nnz, 4), 1, "block columns"));
  workspace->found.place = (int64_t *)columns->workspace, workspace->before = workspace->found.place + tasks;
  workspace->sums = workspace->before + tasks + 1;
  workspace->found.count = (int32_t *)(void *)((char *)columns->workspace + wide);
  workspace->found.column = (int32_t *)(void *)((char *)columns->workspace + wide + narrow);
  workspace->found.pending = (int32_t *)(void *)(workspace->numbers + 2);
  return WR_OK;
}

template <typename P>
static wr_status list(wr_env *env, const bsr_rows<P> &a, int lanes, const bsr_workspace &workspace) {
  unsigned tasks = grid_for(env, a.tasks * a.group), chunks = (unsigned)((a.tasks + CHUNK - 1) / CHUNK);
  unsigned parts = wr_cuda_grid(env, (a.tasks + WARPS - 1) / WARPS, EVEN_BLOCKS);
  PASS(WR_LAUNCH((bsr_list<P>), grid_for(env, a.brows * lanes), THREADS, 0, env->stream, a, workspace.found, lanes));
  PASS(WR_LAUNCH((bsr_list_even<P>), parts, THREADS, 0, env->stream, a, workspace.found));
  PASS(WR_LAUNCH((bsr_list_parts<P>), tasks, THREADS, 0, env->stream, a, workspace.found));
  PASS(WR_LAUNCH((bsr_merge<P>), tasks, THREADS, 0, env->stream, a, workspace.found));
  PASS(WR_LAUNCH((bsr_add_up<P>), chunks, THREADS, 0, env->stream, a, (const int32_t *)workspace.found.count,
                 workspace.sums, workspace.numbers));
  return WR_LAUNCH((bsr_scan), chunks, THREADS, 0, env->stream, a.tasks, (const int32_t *)workspace.found.count,
                   (const int64_t *)workspace.sums, workspace.before, workspace.numbers);
}

/* Moves the lists to arrays of the final size. */
template <typename P>
static wr_status keep(wr_env *env, const bsr_rows<P> &a, int lanes, const bsr_workspace &workspace, wr_bsr *b) {
  unsigned grid = grid_for(env, a.tasks * lanes);
  const int64_t *before = workspace.before;
  b->wide = b->blocks > INT32_MAX;
  PASS(wr_device_alloc(env, &b->row_ptr, b->brows + 1, b->wide ? 8 : 4, "block row pointers"));
  PASS(wr_device_alloc(env, &b->col, b->blocks, sizeof *b->col, "block columns"));
  if (b->wide)
    PASS(WR_LAUNCH((bsr_move<P, int64_t>), grid, THREADS, 0, env->stream, a, workspace.found, before,
                   (int64_t *)b->row_ptr, b->col, lanes));
  else
    PASS(WR_LAUNCH((bsr_move<P, int32_t>), grid, THREADS, 0, env->stream, a, workspace.found, before,
                   (int32_t *)b->row_ptr, b->col, lanes));
  return WR_OK;
}

template <typename P>
static wr_status build(wr_env *env, const wr_csr_view *view, wr_bsr_columns *columns) {
  wr_bsr *b = &columns->shape;
  bsr_rows<P> a = {b->nrows, b->brows, 0, 0, b->r, b->c, 1, (const P *)view->row_ptr, view->col,
                   wr_bsr_divisor_make(b->c)};
  bsr_workspace workspace = {};
  int64_t numbers[2];
  int lanes = wr_bsr_group_lanes(b->nrows, b->nnz);
  for (a.log2_task = LOG2_TASK; a.group < a.r; a.log2_task++) a.group *= 2;
  a.tasks = b->brows + (b->nnz >> a.log2_task);
  PASS(allocate(env, a.tasks, b->nnz, columns, &workspace));
  if (columns->borrowed)
    PASS(WR_LAUNCH((bsr_add_up<P>), (unsigned)((a.brows + CHUNK - 1) / CHUNK), THREADS, 0, env->stream, a,
                   (const int32_t *)nullptr, workspace.sums, workspace.numbers));
  else
    PASS(list(env, a, lanes, workspace));
  PASS(wr_device_download(env, numbers, workspace.numbers, 2, WR_AS_8_BYTES));
  b->blocks = columns->borrowed ? b->nnz : numbers[0], columns->empty = numbers[1];
  if (columns->borrowed)
    b->row_ptr = (void *)view->row_ptr, b->col = (int32_t *)view->col, b->wide = view->wide;
  else
    PASS(keep(env, a, lanes, workspace, b));
  return WR_OK;
}

extern "C" wr_status wr_bsr_columns_build(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz,
                                          const wr_csr_view *view, int r, int c, int may_borrow,
                                          wr_bsr_columns *columns) {
  wr_status status;
  *columns = {};
  TRY(wr_cuda_enter(env));
  TRY(wr_bsr_check(nrows, ncols, nnz, r, c));
  columns->shape = wr_bsr_shape(nrows, ncols, nnz, r, c, env->type);
  columns->borrowed = may_borrow && r == 1 && c == 1;
  if (!view->wide && nnz > INT32_MAX)
    TRY(wr_fail(WR_EUSAGE, "%lld entries with row pointers of 32 bits", (long long)nnz));
  TRY(view->wide ? build<int64_t>(env, view, columns) : build<int32_t>(env, view, columns));
done:
  if (status != WR_OK) wr_bsr_columns_free(env, columns);
  return status;
}

extern "C" void wr_bsr_columns_free(wr_env *env, wr_bsr_columns *columns) {
  if (!columns->borrowed) wr_bsr_device_free(env, &columns->shape);
  wr_bsr_columns_free_workspace(env, columns);
  *columns = {};
}

extern "C" void wr_bsr_columns_free_workspace(wr_env *env, wr_bsr_columns *columns) {
  wr_device_free(env, columns->workspace);
  wr_device_free(env, columns->numbers);
  columns->workspace = NULL, columns->numbers = NULL;
}
