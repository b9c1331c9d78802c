/* The block columns of long block rows, of which something is known before they are cut into parts. Rows without gaps need not
 * be read. If rows are as long as each other, it is known where each part begins in them, if these have the same columns entry
 * by entry, as those of full blocks. Whether they have is seen while they are listed; if not, the parts do not fit together,
 * and the whole block row is cut by a search (bsr_merge.cuh). */
#ifndef WR_BSR_EVEN_CUH
#define WR_BSR_EVEN_CUH

#include "spmv/blocks/bsr_group.cuh"
#include "spmv/blocks/bsr_merge.cuh"
#include "spmv/kernel/async_copy.cuh"

/* Loads of a lane that are under way at a time: of so many rows, and so many of each, which together are a piece of a row.
 * Parts are whole pieces, but for what the last one lacks. */
constexpr int EVEN_ROWS = 4, EVEN_STEPS = 4, PIECE = EVEN_STEPS * WR_WARP;

/* What the ends of a block row's rows say of the block columns between them. */
struct bsr_reach {
  bool same;            /* all rows begin and end with the same ones, which most that look different do not */
  bool whole;           /* they are first, first + 1, ... last                                               */
  uint32_t first, last; /* least and greatest, if whole                                                      */
};

/* Columns ascend: a row whose first and last are as far apart as it has entries has all between them. If all rows have, and
 * none begins more than a block column behind the end of another, so have they together. */
template <typename P>
static __device__ inline bsr_reach reach_of(const bsr_rows<P> &a, const wr_bsr_group &g, const P *row_ptr, int rows) {
  uint32_t first = NONE, before_last = NONE, least_first = NONE, least_last = NONE; /* the latter two of NONE - 1 - them */
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

constexpr int EVEN_BLOCKS = 8; /* of a launch, for each multiprocessor, which mostly finds that there is nothing to do */

/* Block columns to list that are not `last` and begin in col[0] to col[count - 1] of the first row; how many, or DIFFERENT
 * where one of the rows, each `length` behind the one before it, has another column. A warp. */
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

/* The parts of block rows that are EVEN, a warp each. Where one finds a difference all of the block row are IN_PARTS, which is
 * less than any count: whoever comes last. */
template <typename P>
__global__ void __launch_bounds__(THREADS, 4) bsr_list_even(WR_KERNEL_PARAMETER bsr_rows<P> a, const bsr_found found) {
  wr_bsr_group g = wr_bsr_group_make(WR_WARP);
  int64_t warps = (int64_t)gridDim.x * WARPS;
  if (found.left[2] == 0) return;
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
      found.left[1] = 1;
    else
      atomicMin(found.count + t, count);
    found.place[t] = place;
  }
}

#endif
