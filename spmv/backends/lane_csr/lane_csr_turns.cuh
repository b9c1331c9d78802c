/* Which warp multiplies which chunks. Thread blocks take turns from a counter in device memory, so they all are near each other
 * at any time, and a line of x that several of them read is still in the second-level cache. (Blocks that have their turns from
 * the beginning drift apart; docs/lane_csr.md.) In a turn each warp of the block has a share of LANE_ROUNDS chunks: in each
 * round one, next to those of the other warps. In the last turns a share is one chunk, so that all blocks end at about the same
 * time. Warps take shares from a counter in shared memory. Since the warp that gets a share depends on the course, each share
 * leaves its own part of the epilogue's sums. */
#ifndef WR_LANE_CSR_TURNS_CUH
#define WR_LANE_CSR_TURNS_CUH

#include <algorithm>

#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/spin.cuh"
#include "spmv/kernel/warp.cuh"

constexpr int LANE_ROUNDS = 4;  /* chunks of a share */
constexpr int LANE_SINGLES = 4; /* turns with shares of one chunk that a block has at least */

struct lane_shares {
  int bulk, all; /* shares of LANE_ROUNDS chunks, a multiple of the warps of a block; all shares */
};

/* For `chunks` chunks and a grid of blocks of `warps` warps. */
static inline lane_shares lane_shares_of(int64_t chunks, unsigned grid, int warps) {
  const int64_t singles = (int64_t)LANE_SINGLES * grid * warps,
                turns = std::max((int64_t)0, chunks - singles) / (LANE_ROUNDS * warps), bulk = turns * warps;
  return {(int)bulk, (int)(chunks - bulk * (LANE_ROUNDS - 1))};
}

/* A warp's share: the place of its next chunk among all chunks, and how many it has from there on. */
struct lane_share {
  int p, left;
};

/* number: from 0; at least `all`: no chunk has the place. warps: of a block. */
static __device__ inline lane_share lane_share_of(const lane_shares &s, int number, int warps) {
  if (number >= s.bulk) return {number + s.bulk * (LANE_ROUNDS - 1), 1};
  return {number / warps * (LANE_ROUNDS - 1) * warps + number, LANE_ROUNDS};
}

/* How the warps of a block take shares, in shared memory. Both are accessed by atomic functions alone. */
struct lane_taking {
  unsigned taken; /* the turn times LANE_TAKEN, plus the shares that were taken of it; those beyond `warps` do not exist */
  int next;       /* the next turn; negative: it is being taken                                                          */
};
constexpr unsigned LANE_TAKEN = 128; /* more than two for each warp of a block */

/* The block's first turn is its number. One thread; the others wait for it before they take. */
static __device__ inline void lane_begin_taking(lane_taking *taking, int block, int warps) {
  taking->taken = (unsigned)block * LANE_TAKEN + (unsigned)warps; /* each warp has its first share */
  taking->next = -1;
}

/* Takes the block's next turn, before it is needed, as that takes about a microsecond. turns: those taken beyond the first ones
 * of all blocks. One thread. */
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
