/* The block columns of block rows whose rows have different ones: merged, a lane a row. */
#ifndef WR_BSR_MERGE_CUH
#define WR_BSR_MERGE_CUH

#include "spmv/blocks/bsr_group.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/search.cuh"

constexpr int THREADS = 256, WARPS = THREADS / WR_WARP;
constexpr unsigned FULL = (unsigned)WR_FULL_MASK;

/* A block row is a task, and one more for every so many entries in which it begins and does not end. So tasks are numbered
 * without a scan: block row ib's first one is ib + row_ptr[ib * r] / task, which is 2^LOG2_TASK for each lane of a group. */
constexpr int LOG2_TASK = 9;

/* Entries of a row that lie in shared memory at a time, a column each, and NONE behind them. */
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

/* What tasks have found: `count` blocks each, or one of these, and their columns from column[place] on. The place of one that
 * is EVEN is -1 - its block row. */
enum { DIFFERENT = -1, IN_PARTS = -2, EVEN = INT32_MAX };
struct bsr_found {
  int32_t *count;  /* [tasks]                                                               */
  int64_t *place;  /* [tasks]                                                               */
  int32_t *column; /* [nnz]: a block row has no more blocks than entries                    */
  int32_t *left;   /* [3] 1: some task is or was DIFFERENT; 1: ... IN_PARTS; 1: ... EVEN    */
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

/* A lane's row of task t, if there is any such task: entries *from..*to - 1; and the place where the task's blocks are to go,
 * the number of entries before it. */
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
  if (!wanted && part > 0) *from = *to; /* all is in the first part */
  return entries_before(a, low) + group_sum(*from - begin, a.group);
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

/* Block columns of the group's rows, ascending, to list; how many. Each round gives the next one: the least that any row of
 * the group has next. The whole warp, of which each group has its own rows. */
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
  __syncwarp(); /* the stage may be used again */
  return k;
}

/* The tasks whose rows do not look alike. */
template <typename P>
__global__ void __launch_bounds__(THREADS, 3) bsr_merge(WR_KERNEL_PARAMETER bsr_rows<P> a, const bsr_found found) {
  WR_SHARED(uint32_t, room, WARPS * WR_WARP * STRIDE);
  int lane = threadIdx.x % WR_WARP, groups = WR_WARP / a.group;
  uint32_t *stage = room + threadIdx.x / WR_WARP * (WR_WARP * STRIDE);
  int64_t warp = (int64_t)blockIdx.x * WARPS + threadIdx.x / WR_WARP, warps = (int64_t)gridDim.x * WARPS;
  if (found.left[0] == 0) return;
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

#endif
