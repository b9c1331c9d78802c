/* What the two parts of the device builder share: cb_spmv_build.cu finds the blocks, cb_spmv_fill.cu writes their bytes. A
 * group of 16 lanes, half a warp, works on a block or a block row, a lane for each row. */
#ifndef WR_CB_SPMV_ROWS_CUH
#define WR_CB_SPMV_ROWS_CUH

#include "spmv/backends/cb_spmv/cb_spmv_build.h"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/search.cuh"
#include "spmv/kernel/warp.cuh"

constexpr int CB_THREADS = 256, CB_GROUPS = CB_THREADS / WR_CB_SIDE;
constexpr unsigned CB_FULL = (unsigned)WR_FULL_MASK;
constexpr uint32_t CB_NONE = UINT32_MAX;

/* Thread blocks of a launch for so many groups, at most as many as the device holds; groups loop over the rest. */
static inline unsigned cb_grid(const wr_env *env, int64_t groups) {
  return wr_cuda_grid(env, (groups + CB_GROUPS - 1) / CB_GROUPS, 8);
}

static __device__ inline int64_t cb_group() { return (int64_t)blockIdx.x * CB_GROUPS + threadIdx.x / WR_CB_SIDE; }
static __device__ inline int64_t cb_groups() { return (int64_t)gridDim.x * CB_GROUPS; }

/* P: int32_t or int64_t, of row_ptr. */
template <typename P>
struct cb_rows {
  int64_t nrows, brows, tasks;
  const P *row_ptr;
  const int32_t *col;
  wr_cb_options options;
};

template <typename V>
static __device__ inline V cb_sum(V value) {
#pragma unroll
  for (int distance = WR_CB_SIDE / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(CB_FULL, value, distance);
  return value;
}

/* A lane's row in a block: entries first..first + n - 1. */
template <typename P>
struct cb_piece {
  P first;
  int n;
};

/* The result of the first part, on the device, in order of blocks. */
typedef struct cb_found {
  uint64_t *word;        /* [blocks] row and column; entries and type too unless aggregated                                  */
  int64_t *offset;       /* [blocks + 1] units before a block; NULL: `word` is the format's own, which has offsets and types */
  int32_t *restore_cols; /* [blocks][16]; NULL: not aggregated                                                               */
} cb_found;

/* Consecutive blocks of a group: where a block ends in a row, the next one begins. */
constexpr int CB_RUN = 8;

/* *piece := the lane's row in block k. goes_on: *piece is its row in block k - 1. */
template <typename P>
static __device__ inline void cb_open_block(const cb_rows<P> &a, const cb_found &found, int64_t blocks, int64_t k,
                                            bool goes_on, cb_piece<P> *piece) {
  int64_t ib = wr_cb_row(found.word[k]), i = ib * WR_CB_SIDE + threadIdx.x % WR_CB_SIDE;
  uint32_t left = (uint32_t)wr_cb_col(found.word[k]) * WR_CB_SIDE, limit = left + WR_CB_SIDE;
  bool first = k == 0 || wr_cb_row(found.word[k - 1]) != ib,
       last = k + 1 == blocks || wr_cb_row(found.word[k + 1]) != ib;
  if (found.restore_cols) {
    left = (uint32_t)found.restore_cols[k * WR_CB_SIDE];
    limit = last ? CB_NONE : (uint32_t)found.restore_cols[(k + 1) * WR_CB_SIDE];
  }
  piece->first += piece->n;
  piece->n = 0;
  if (i >= a.nrows) return;
  P end = a.row_ptr[i + 1];
  if (first)
    piece->first = a.row_ptr[i];
  else if (!goes_on)
    piece->first = wr_find_column(a.col, a.row_ptr[i], end, left);
  while (piece->n < WR_CB_SIDE && piece->first + piece->n < end && (uint32_t)a.col[piece->first + piece->n] < limit)
    piece->n++;
}

/* units[k] := the units of aggregated block k. */
wr_status wr_cb_measure(wr_env *env, const wr_csr_view *view, const wr_cb_options *options, const wr_cb_format *format,
                        const cb_found *found, int32_t *units);

/* Fills all arrays of a format with its memory allocated. */
wr_status wr_cb_fill_arrays(wr_env *env, const wr_csr_view *view, const wr_cb_options *options,
                            const wr_cb_format *format, const cb_found *found);

#endif
