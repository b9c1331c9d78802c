/* Groups of lanes of a warp that read a row side by side, and find where blocks begin in it. */
#ifndef WR_BSR_GROUP_CUH
#define WR_BSR_GROUP_CUH

#include "spmv/blocks/bsr_rows.cuh"
#include "spmv/kernel/warp.cuh"

/* The column that stands for "no entry" after the end of a row. */
constexpr uint32_t WR_BSR_NONE = UINT32_MAX;

/* 8, 16 or 32 consecutive lanes. All groups of a warp run in step, and votes and shuffles use the full mask: masks that are
 * not known at compile time cost several times as much. */
struct wr_bsr_group {
  int lanes, lane;
  int first; /* the group's first lane in the warp */
};

static __device__ inline wr_bsr_group wr_bsr_group_make(int lanes) {
  int in_warp = threadIdx.x % WR_WARP, lane = in_warp % lanes;
  return {lanes, lane, in_warp - lane};
}

/* Bit k: is_true of the group's lane k. */
static __device__ inline unsigned wr_bsr_group_ballot(const wr_bsr_group &g, bool is_true) {
  unsigned all = (unsigned)WR_FULL_MASK >> (WR_WARP - g.lanes);
  return __ballot_sync((unsigned)WR_FULL_MASK, is_true) >> g.first & all;
}

/* Lanes of a group for the matrix's mean row length. */
inline int wr_bsr_group_lanes(int64_t nrows, int64_t nnz) { return nnz <= 8 * nrows ? 8 : nnz <= 16 * nrows ? 16 : 32; }

/* Bit k: the group's lane k has the first entry of a block in its row, that is, its block differs from that of the lane
 * before. last: the block before the group's first lane; becomes that of its last lane. */
static __device__ inline unsigned wr_bsr_group_starts(const wr_bsr_group &g, uint32_t block, uint32_t &last) {
  uint32_t before = __shfl_up_sync((unsigned)WR_FULL_MASK, block, 1u, g.lanes);
  if (g.lane == 0) before = last;
  unsigned starts = wr_bsr_group_ballot(g, block != WR_BSR_NONE && block != before);
  last = __shfl_sync((unsigned)WR_FULL_MASK, block, g.lanes - 1, g.lanes);
  return starts;
}

static __device__ inline uint32_t wr_bsr_block_of(uint32_t column, wr_bsr_divisor by_c) {
  return column == WR_BSR_NONE ? WR_BSR_NONE : wr_bsr_divide(column, by_c);
}

#endif
