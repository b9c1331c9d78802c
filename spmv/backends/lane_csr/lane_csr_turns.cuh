/* Which warp multiplies which chunks. Thread blocks take turns from a counter in device memory, so they all are near each other
 * at any time, and a line of x that several of them read is still in the second-level cache. (Blocks that have their turns from
 * the beginning drift apart; docs/lane_csr.md.) In a turn each warp of the block has a share of LANE_SHARE consecutive
 * chunks, through which it carries the sum of an open row. In the last turns a share is one chunk, so that all blocks end at
 * about the same time. Warps take shares from a counter in shared memory. Since the warp that gets a share depends on the
 * course, each share leaves its own parts of rows and of the epilogue's sums. */
#ifndef WR_LANE_CSR_TURNS_CUH
#define WR_LANE_CSR_TURNS_CUH

#include <algorithm>

#include "spmv/backends/lane_csr/lane_csr_format.h"
#include "spmv/device/cuda_state.h"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/spin.cuh"
#include "spmv/kernel/warp.cuh"

constexpr int LANE_SHARE = 4;        /* chunks */
constexpr int LANE_SINGLES = 4 * 32; /* times the number of multiprocessors: the last chunks, which are shares by themselves */
constexpr int LANE_FEW = 6 * 32;     /* the same: fewer chunks are all shares by themselves                                  */

struct lane_shares {
  int bulk, all; /* shares of LANE_SHARE chunks; all shares */
};

/* A warp's share: the place of its next chunk among all chunks, and how many it has from there on. */
struct lane_share {
  int p, left;
};

/* If chunks have an order of their own, all shares have one chunk. So they have if chunks are few, as a block's first turn, of
 * long rows alone, could otherwise take longer than all others (gen:circuit: 32 us in place of 24 in f64, H200). */
static inline lane_shares lane_shares_of(const wr_env *env, const wr_lane_csr &c) {
  const int64_t processors = wr_cuda_processors(env), singles = LANE_SINGLES * processors;
  const int64_t bulk = c.order || c.chunks < LANE_FEW * processors ? 0 : (c.chunks - singles) / LANE_SHARE;
  return {(int)bulk, (int)(c.chunks - bulk * (LANE_SHARE - 1))};
}

/* number: from 0; at least `all`: no chunk has the place. */
static __device__ inline lane_share lane_share_of(const lane_shares &s, int number) {
  if (number >= s.bulk) return {number + s.bulk * (LANE_SHARE - 1), 1};
  return {number * LANE_SHARE, LANE_SHARE};
}

/* The number of the share that has place p. */
static __device__ inline int lane_share_with(const lane_shares &s, int p) {
  return p >= s.bulk * LANE_SHARE ? p - s.bulk * (LANE_SHARE - 1) : p / LANE_SHARE;
}

/* How the warps of a block take shares, in shared memory. While they do, atomic functions alone access it. */
struct lane_taking {
  unsigned taken; /* the turn times LANE_TAKEN, plus how often a warp has asked for a share of it */
  int next;       /* the next turn; negative: it is being taken                                   */
};
constexpr unsigned LANE_TAKEN = 128; /* more than two for each warp of a block */

/* A block's first turn is its number, and each warp has a share of it. One thread, before a barrier of the block. */
static __device__ inline void lane_begin_taking(lane_taking *taking, int block, int warps) {
  taking->taken = (unsigned)block * LANE_TAKEN + (unsigned)warps;
  taking->next = -1;
}

/* Takes the block's next turn, before it is needed, as that takes about a microsecond. *turns counts those that blocks have
 * taken after their first ones. One thread. */
static __device__ inline void lane_take_turn(lane_taking *taking, unsigned *turns) {
  const int turn = (int)(gridDim.x + atomicAdd(turns, 1u));
  atomicExch(&taking->next, turn);
}

/* The number of the warp's next share. Every lane of the warp. */
static __device__ inline int lane_take_share(lane_taking *taking, unsigned *turns, int warps) {
  int share = 0;
  if (threadIdx.x % WR_WARP == 0) {
    int turn, n;
    do {
      const unsigned before = atomicAdd(&taking->taken, 1u);
      turn = (int)(before / LANE_TAKEN), n = (int)(before % LANE_TAKEN);
      if (n > warps) /* another warp begins the next turn */
        wr_spin_busily([&] { return (int)(atomicAdd(&taking->taken, 0u) / LANE_TAKEN) != turn; });
    } while (n > warps);
    const bool begins = n == warps;
    if (begins) {
      wr_spin_busily([&] { return (turn = atomicExch(&taking->next, -1)) >= 0; });
      atomicExch(&taking->taken, (unsigned)turn * LANE_TAKEN + 1), n = 0;
    }
    share = turn * warps + n;
    if (begins) lane_take_turn(taking, turns);
  }
  return __shfl_sync((unsigned)WR_FULL_MASK, share, 0);
}

#endif
