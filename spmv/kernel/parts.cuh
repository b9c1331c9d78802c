/* Sums of rows of which several lanes, warps or thread blocks have a part; parts are always added in the same order. */
#ifndef WR_PARTS_CUH
#define WR_PARTS_CUH

#include "spmv/kernel/warp.cuh"

/* The sum of the row that is unfinished at the end of the lane's entries: the lane's own open sum, and those of the lanes
 * before it, back to the last lane in which a row ends. ended: the lanes in which one does. Every lane of the warp must
 * arrive. (MERBIT, section 4.2: a segmented scan in registers.) each: that many neighbouring lanes, a power of two, have the
 * same entries and sums of their own; `ended` then has the first lane of each group alone. */
static __device__ inline double wr_scan_open(double open, unsigned ended, int each = 1) {
  int lane = threadIdx.x % WR_WARP;
  unsigned upto = ended & ((unsigned)WR_FULL_MASK >> (WR_WARP - 1 - lane)); /* ends in lanes up to this one */
  int reach = upto ? lane - (WR_WARP - 1 - __clz((int)upto)) : lane;        /* lanes since the last of them  */
  unsigned reaches = ~ended & ~1u; /* the lanes whose reach is at least `distance`, if each is 1 */
#pragma unroll
  for (int distance = each; distance < WR_WARP; distance *= 2) {
    if (each == 1 && reaches == 0) break;
    reaches &= reaches << distance;
    double before = __shfl_up_sync((unsigned)WR_FULL_MASK, open, (unsigned)distance);
    if (distance <= reach) open = before + open;
  }
  return open;
}

/* The part that the warps before `warp` of a thread block have of the row that ends first in it. open[w * stride]: the open
 * sum of warp w; first[w]: the row that ends first in warp w; -1: none does. */
static __device__ inline double wr_open_before(const double *open, int stride, const int *first, int warp) {
  double sum = 0;
  for (int w = warp - 1; w >= 0; w--) {
    sum = open[w * stride] + sum;
    if (first[w] >= 0) break;
  }
  return sum;
}

/* Joins the lanes of a warp that have parts of block rows of R rows: adds the sums that earlier lanes left open to own[R], the
 * sums of the row that ends first in this lane. open := in every lane, what the warp leaves open. ends: whether a row ends in
 * this lane; ended: the lanes in which one does. skip: rows end in all lanes, so no part has to be passed on by two lanes and
 * the scan is left out; the same for the whole warp. Every lane of the warp must arrive. */
template <int R>
static __device__ inline void wr_join_lanes(bool ends, unsigned ended, double *own, double (&open)[R],
                                            bool skip = false) {
  int lane = threadIdx.x % WR_WARP;
#pragma unroll
  for (int r = 0; r < R; r++) {
    double sum = skip ? open[r] : wr_scan_open(open[r], ended);
    double before = __shfl_up_sync((unsigned)WR_FULL_MASK, sum, 1u);
    if (ends && lane > 0) own[r] = before + own[r];
    open[r] = __shfl_sync((unsigned)WR_FULL_MASK, sum, WR_WARP - 1);
  }
}

/* Joins the warps of a thread block: adds the sums open[warps][R] that earlier warps left open to the row that ends first in
 * a warp, in sums[][R]. Returns in thread warps * R + r what the thread block leaves open. first[w]: the row that ends first
 * in warp w, counted from the thread block's first; -1: none does. */
template <int R>
static __device__ inline double wr_join_warps(int warps, const double *open, const int *first, double *sums) {
  int warp = (int)threadIdx.x / R, r = (int)threadIdx.x % R;
  if (warp > warps) return 0;
  double sum = wr_open_before(open + r, R, first, warp);
  if (warp < warps && first[warp] >= 0) sums[first[warp] * R + r] += sum;
  return sum;
}

/* The sum of part[k * stride] for from <= k < to: each lane has its own range, which may be empty. A lane adds up to 16
 * parts by itself; more are added by the whole warp. Every lane of the warp must arrive. */
static __device__ inline double wr_parts_sum(const double *part, int64_t stride, int64_t from, int64_t to) {
  constexpr int64_t FEW = 16;
  int lane = threadIdx.x % WR_WARP;
  double sum = 0;
  if (to - from <= FEW)
    for (int64_t k = from; k < to; k++) sum += part[k * stride];
  for (unsigned many = __ballot_sync((unsigned)WR_FULL_MASK, to - from > FEW); many; many &= many - 1) {
    int owner = __ffs((int)many) - 1;
    int64_t begin = __shfl_sync((unsigned)WR_FULL_MASK, from, owner),
            end = __shfl_sync((unsigned)WR_FULL_MASK, to, owner);
    uint64_t base = __shfl_sync((unsigned)WR_FULL_MASK, (uint64_t)(uintptr_t)part, owner);
    double some = wr_warp_sum(wr_sum_every<16>(
        begin + lane, end, WR_WARP, [&](int64_t k) { return ((const double *)(uintptr_t)base)[k * stride]; }));
    if (lane == owner) sum = some;
  }
  return sum;
}

#endif
