/* The multiply with blocks of 16 x 16 (cb_spmv_format.h), for one type T of values and vectors. A warp runs a list, staging
 * as many blocks at a time as fit its part of shared memory: a bulk copy loads their data, the lanes load their x. Sums of
 * complete block rows are buffered and stored to y several block rows at a time. The first and the last block row of a list
 * may be shared; the thread block joins these. */
#ifndef WR_CB_SPMV_KERNEL_CUH
#define WR_CB_SPMV_KERNEL_CUH

#include "spmv/backends/cb_spmv/cb_spmv_blocks.cuh"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/parts.cuh"

constexpr int CBM_THREADS = WR_CB_TEAM * WR_WARP;
/* Thread blocks of a multiprocessor, for the launch bounds. */
constexpr int CBM_BLOCKS = 4;

template <typename T>
struct cbm_args {
  wr_cb_plan p;
  const T *x; /* [ncols]                    */
  T *y;       /* [nrows]                    */
  T *y_next;  /* [nrows], NULL: not cleared */
  double alpha, beta;
  int ordered;  /* 1: parts of shared rows are stored in head and tail; 0: they are added to y */
};

/* Where complete rows are written. A thread keeps its sums for the epilogue's reductions in shared memory, as cbm_run_list
 * needs all registers. */
template <typename T>
struct cbm_output {
  const cbm_args<T> &a;
  const wr_finish<T> &finish;
  double *reduced; /* [WR_MAX_REDUCTIONS][CBM_THREADS] */
};

static __device__ inline void cbm_load_sums(const double *kept, double (&sum)[WR_MAX_REDUCTIONS]) {
#pragma unroll
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) sum[r] = kept[r * CBM_THREADS + threadIdx.x];
}
static __device__ inline void cbm_keep_sums(double *kept, const double (&sum)[WR_MAX_REDUCTIONS]) {
#pragma unroll
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) kept[r * CBM_THREADS + threadIdx.x] = sum[r];
}

/* Writes complete row i. */
template <typename T, bool PLAIN>
static __device__ inline void cbm_complete(const cbm_output<T> &out, int64_t i, double sum,
                                           double (&reduced)[WR_MAX_REDUCTIONS]) {
  const cbm_args<T> &a = out.a;
  if (i >= a.p.format.nrows) return;
  if (PLAIN)
    a.y[i] = (T)(a.alpha * sum);
  else
    wr_finish_row(out.finish, wr_finish_begin(out.finish), i, wr_finish_beta(a.alpha, a.beta, a.y, i, sum), a.y,
                  reduced);
}

/* Stores, or adds to y, a thread block's part of row i, which it shares with others. */
template <typename T>
static __device__ inline void cbm_store_part(const cbm_args<T> &a, int64_t i, double part, double *place) {
  if (i >= a.p.format.nrows) return;
  if (a.ordered)
    *place = part;
  else
    atomicAdd(a.y + i, (T)(a.alpha * part));
}

/* A warp's position in its list. */
struct cbm_list {
  int32_t row;  /* the open block row                               */
  int32_t kept; /* block rows before this one are stored or in head */
  double sum;   /* the lane's half of its row                       */
};

/* Stores the buffered block rows to y. */
template <typename T, bool PLAIN>
static __device__ inline void cbm_store(const cbm_output<T> &out, cbm_list &at, const double *rows) {
  int count = (at.row - at.kept) * WR_CB_SIDE;
  int64_t first = (int64_t)at.kept * WR_CB_SIDE;
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  if (!PLAIN) cbm_load_sums(out.reduced, reduced);
  __syncwarp();
#pragma unroll 1
  for (int q = threadIdx.x % WR_WARP; q < count; q += WR_WARP) cbm_complete<T, PLAIN>(out, first + q, rows[q], reduced);
  __syncwarp();
  if (!PLAIN) cbm_keep_sums(out.reduced, reduced);
  at.kept = at.row;
}

/* Closes the open block row; returns the sum of its row lane % 16. */
static __device__ inline double cbm_close(cbm_list &at, cbm_warp &own) {
  int lane = threadIdx.x % WR_WARP;
  double sum = at.sum + own.scattered[lane];
  at.sum = 0;
  own.scattered[lane] = 0;
  return sum + __shfl_xor_sync(CBM_FULL, sum, (unsigned)WR_CB_SIDE);
}

/* Ends the open block row and the empty ones after it, up to block row `to`. over: the list ends here too. */
template <typename T, bool PLAIN>
static __device__ inline void cbm_end_rows(const cbm_output<T> &out, cbm_list &at, int32_t to, bool over,
                                           cbm_warp &own) {
  int lane = threadIdx.x % WR_WARP;
#pragma unroll 1
  while (at.row != to) {
    double sum = cbm_close(at, own);
    bool is_head = at.row == own.head_row;
    double *place = is_head ? own.head : own.rows + (at.row - at.kept) * WR_CB_SIDE;
    if (lane < WR_CB_SIDE) place[lane] = sum;
    at.row++;
    if (is_head) at.kept = at.row;
    if (at.row - at.kept == CBM_ROWS) cbm_store<T, PLAIN>(out, at, own.rows);
  }
  if (over) cbm_store<T, PLAIN>(out, at, own.rows);
  __syncwarp();
}

/* Multiplies the run of blocks that begins with `first`; `left` blocks are staged from it on. */
template <typename T>
static __device__ inline void cbm_multiply_run(cbm_list &at, const cbm_stage<T> &stage, const cbm_block *blocks,
                                               cbm_block first, int left) {
  int kind = cbm_kind(first);
  if (kind == WR_CB_CSR)
    cbm_csr(stage, blocks, left, cbm_run(first), at.sum);
  else if (kind == WR_CB_DENSE)
    at.sum += (double)cbm_dense(cbm_values(stage, first), cbm_x(stage, left));
  else
    cbm_coo(stage, first, blocks[1], left);
}

/* Multiplies the `count` staged blocks; over: the list ends after them. row: block row of the lane's block. */
template <typename T, bool PLAIN>
static __device__ inline void cbm_multiply(const cbm_output<T> &out, cbm_list &at, const cbm_stage<T> &stage,
                                           int32_t row, int count, bool over) {
  for (int left = count; left + over > 0;) {
    const cbm_block *blocks = stage.own->blocks + (WR_CB_STAGE_BLOCKS - left);
    cbm_block first = *blocks;
    bool is_end = cbm_run(first) == 0;
    if (cbm_begins(first)) {
      int32_t to = __shfl_sync(CBM_FULL, row, count - left);
      cbm_end_rows<T, PLAIN>(out, at, to, is_end, *stage.own);
    }
    if (is_end) break;
    cbm_multiply_run(at, stage, blocks, first, left);
    left -= cbm_run(first);
  }
}

/* Prefetches into L2 the data of the `count` blocks from k on, a cache line for each lane, and the columns of those from
 * `block` on. */
static __device__ inline void cbm_prefetch(const wr_cb_plan &p, const cbm_words &w, int64_t k, int count, int block) {
  constexpr int LINE_UNITS = 128 / WR_CB_UNIT, LINE_BLOCKS = 128 / (WR_CB_SIDE * (int)sizeof(int32_t));
  int lane = threadIdx.x % WR_WARP;
  block += lane * LINE_BLOCKS;
  uint32_t begin = cbm_offset(w, 0), end = cbm_offset(w, count), ahead = (uint32_t)lane * LINE_UNITS;
  uint32_t high = __shfl_sync(CBM_FULL, w.high, 0);
  cbm_words first = {0, begin, high};
  if (ahead < end - begin) wr_prefetch(cbm_source(p.format, first) + ahead * WR_CB_UNIT);
  if (p.format.aggregated && block < count) wr_prefetch(p.format.restore_cols + (k + block) * WR_CB_SIDE);
}

/* Writes the descriptors of the `count` staged blocks and, if over, of the list's end. Returns the block row of the lane's
 * block. */
template <typename T>
static __device__ inline int32_t cbm_describe_all(const cbm_list &at, cbm_warp &own, const cbm_words &w, int count,
                                                  bool over) {
  int lane = threadIdx.x % WR_WARP;
  int32_t row = (int32_t)wr_cb_row(w.word), before = __shfl_up_sync(CBM_FULL, row, 1u);
  bool begins = row != (lane ? before : at.row);
  cbm_block described = cbm_describe<T>(w.word, (int)(w.low - cbm_offset(w, 0)), begins, count);
  if (over && lane == count) row = own.last, described.what = CBM_END;
  if (lane < count + over) own.blocks[WR_CB_STAGE_BLOCKS - count + lane] = described;
  return row;
}

/* Starts the bulk copy of the next blocks' data: `units` units from `source`. */
template <typename T>
static __device__ inline void cbm_copy_data(const cbm_stage<T> &stage, const uint8_t *source, unsigned units) {
  if (threadIdx.x % WR_WARP) return;
  wr_copy_expect(&stage.own->arrived, units * WR_CB_UNIT);
  wr_copy_bulk(stage.data, source, units * WR_CB_UNIT, &stage.own->arrived);
}

/* Multiplies the blocks of the warp's list; w: the words of the first ones. A step waits for its data, and loads its x
 * meanwhile; words and columns of the next step are in flight during this wait and the multiply. With an epilogue, columns
 * are loaded only when needed, because the registers that would hold them are in use. */
template <typename T, bool PLAIN, bool AGGREGATED>
static __device__ inline void cbm_multiply_list(const cbm_output<T> &out, cbm_list &at, const cbm_stage<T> &stage,
                                                const wr_cb_start &start, cbm_words w) {
  constexpr bool AHEAD = AGGREGATED && PLAIN;
  const wr_cb_plan &p = out.a.p;
  unsigned parity = 0;
  int32_t cols[CBM_PAIRS];
  int next = start.first, left = start.blocks;
  cbm_copy_data(stage, p.format.data + start.offset * WR_CB_UNIT, (unsigned)start.units);
  if (AHEAD) cbm_columns<AGGREGATED>(p.format, w.word, start.block, 0, next, cols);
  for (bool over = false; !over; parity ^= 1) {
    int count = next;
    int64_t k = stage.own->end - left;
    if (!AHEAD) cbm_columns<AGGREGATED>(p.format, w.word, k, 0, count, cols);
    left -= count;
    over = left == 0;
    T *x = stage.end - count * WR_CB_SIDE;
    bool more = count > CBM_GROUP;
    int32_t later[CBM_PAIRS]; /* columns of the second group: in flight while x of the first is requested */
    if (more) cbm_columns<AGGREGATED>(p.format, w.word, k, 1, count, later);
    cbm_words ahead = cbm_load_words(p.format, k + count, left);
    cbm_gather(out.a.x, cols, 0, count, x);
    int32_t row = cbm_describe_all<T>(at, *stage.own, w, count, over);
    if (more) cbm_gather(out.a.x, later, 1, count, x);
    k += count, w = ahead, next = cbm_fits<T>(w, left, p.stage);
    if (AHEAD) cbm_columns<AGGREGATED>(p.format, w.word, k, 0, next, cols);
    if (p.prefetch && !over) cbm_prefetch(p, w, k, next, AHEAD ? CBM_GROUP : 0);
    wr_copy_wait(&stage.own->arrived, parity);
    wr_copy_elements_wait();
    __syncwarp();
    cbm_multiply<T, PLAIN>(out, at, stage, row, count, over);
    unsigned units = cbm_offset(w, next) - cbm_offset(w, 0);
    __syncwarp();
    if (!over) cbm_copy_data(stage, cbm_source(p.format, w), units);
  }
}

/* Runs the list of one warp. Its start takes three dependent rounds of memory: the start record; data, words and columns of
 * the first blocks; and their x. */
template <typename T, bool PLAIN, bool AGGREGATED>
static __device__ inline void cbm_run_list(const cbm_output<T> &out, const cbm_stage<T> &stage) {
  const wr_cb_plan &p = out.a.p;
  cbm_warp &own = *stage.own;
  int lane = threadIdx.x % WR_WARP;
  int64_t list = (int64_t)blockIdx.x * WR_CB_TEAM + threadIdx.x / WR_WARP;
  wr_cb_start start = p.start[list];
  cbm_words w = cbm_load_words(p.format, start.block, start.blocks);
  cbm_list at = {start.row, start.row, 0};
  own.scattered[lane] = 0;
  if (lane == 0) {
    wr_copy_barrier_init(&own.arrived);
    own.ends = start.last > start.row ? 0 : -1;
    own.head_row = start.has_head ? start.row : -1;
    own.last = start.last, own.end = start.block + start.blocks;
  }
  __syncwarp();
  cbm_multiply_list<T, PLAIN, AGGREGATED>(out, at, stage, start, w);
  double open = cbm_close(at, own);
  if (lane < WR_CB_SIDE) own.open[lane] = open;
}

/* The sum that lists before that of `warp` left open in row r of the block row that ends next. */
static __device__ inline double cbm_open_before(const cbm_warp *warps, int warp, int r) {
  double sum = 0;
  for (int w = warp - 1; w >= 0; w--) {
    sum = warps[w].open[r] + sum;
    if (warps[w].ends >= 0) break;
  }
  return sum;
}

/* The block row that is open at the thread block's start or, for the threads that store the last part, at its end. */
struct cbm_edge {
  int32_t row, origin; /* see wr_cb_plan */
};

static __device__ inline cbm_edge cbm_load_edge(const wr_cb_plan &p) {
  int64_t c = (int64_t)blockIdx.x + (threadIdx.x / WR_CB_SIDE == WR_CB_TEAM);
  return {p.format.list_row[c * WR_CB_TEAM], p.origin[c]};
}

/* Completes the block rows that warps of the thread block share, and stores the parts of those that it shares with others. */
template <typename T, bool PLAIN>
static __device__ inline void cbm_join_lists(const cbm_output<T> &out, const cbm_warp *warps, cbm_edge edge,
                                             double (&reduced)[WR_MAX_REDUCTIONS]) {
  const cbm_args<T> &a = out.a;
  const wr_cb_plan &p = a.p;
  int64_t block = blockIdx.x;
  int warp = threadIdx.x / WR_CB_SIDE, r = threadIdx.x % WR_CB_SIDE;
  if (warp > WR_CB_TEAM) return;
  double sum = cbm_open_before(warps, warp, r);
  if (warp == WR_CB_TEAM) {
    if (edge.origin == block + 1) return;
    int64_t i = (int64_t)edge.row * WR_CB_SIDE + r;
    cbm_store_part(a, i, sum, p.tail + block * WR_CB_SIDE + r);
    return;
  }
  int32_t row = warps[warp].head_row;
  int64_t i = (int64_t)row * WR_CB_SIDE + r;
  if (row < 0) return;
  sum += warps[warp].head[r];
  if (edge.origin == block || row != edge.row) {
    cbm_complete<T, PLAIN>(out, i, sum, reduced);
    return;
  }
  cbm_store_part(a, i, sum, p.head + block * WR_CB_SIDE + r);
  if (PLAIN && a.y_next && i < p.format.nrows) a.y_next[i] = 0;
}

/* y = alpha*A*x + beta*y for the block rows of a thread block's lists. PLAIN: beta is 0 and there is no epilogue. */
template <typename T, bool PLAIN, bool AGGREGATED>
__global__ void __launch_bounds__(CBM_THREADS, CBM_BLOCKS)
    cb_spmv(WR_KERNEL_PARAMETER cbm_args<T> a, WR_KERNEL_PARAMETER wr_finish<T> finish) {
  WR_SHARED_DYNAMIC(uint8_t, stages); /* [WR_CB_TEAM] of `stage` units */
  WR_SHARED(cbm_warp, warps, WR_CB_TEAM);
  WR_SHARED(double, sums, PLAIN ? 1 : WR_MAX_REDUCTIONS * CBM_THREADS);
  int warp = threadIdx.x / WR_WARP, bytes = a.p.stage * WR_CB_UNIT;
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  if (!PLAIN) cbm_keep_sums(sums, reduced);
  cbm_output<T> out = {a, finish, sums};
  uint8_t *data = stages + warp * bytes;
  cbm_stage<T> stage = {warps + warp, data, (T *)(data + bytes)};
  cbm_run_list<T, PLAIN, AGGREGATED>(out, stage);
  if (!PLAIN) cbm_load_sums(sums, reduced);
  cbm_edge edge = cbm_load_edge(a.p); /* in flight during the barrier */
  __syncthreads();
  cbm_join_lists<T, PLAIN>(out, warps, edge, reduced);
  if (!PLAIN) wr_sums_leave(finish.sums, reduced);
}

/* The block row that ends in thread block c and began in an earlier one; -1: there is none. */
static __device__ inline int64_t cbm_shared_row(const wr_cb_plan &p, int64_t c) {
  int32_t row = p.format.list_row[c * WR_CB_TEAM];
  return p.origin[c] != c && p.format.list_row[(c + 1) * WR_CB_TEAM] > row ? row : -1;
}

/* Completes the rows that thread blocks share, one thread for each. */
template <typename T>
__global__ void __launch_bounds__(CBM_THREADS)
    cb_spmv_last(WR_KERNEL_PARAMETER cbm_args<T> a, WR_KERNEL_PARAMETER wr_finish<T> finish) {
  const wr_cb_plan &p = a.p;
  wr_finish_scalars scalars = wr_finish_begin(finish);
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  int64_t stride = (int64_t)gridDim.x * CBM_THREADS, lane = threadIdx.x % WR_WARP, rows = p.grid * WR_CB_SIDE;
  for (int64_t base = (int64_t)blockIdx.x * CBM_THREADS + threadIdx.x - lane; base < rows; base += stride) {
    int64_t q = base + lane, block = q / WR_CB_SIDE, i = p.format.nrows, from = block;
    if (q < rows) i = cbm_shared_row(p, block) * WR_CB_SIDE + q % WR_CB_SIDE;
    if (q < rows && i >= 0 && i < p.format.nrows) from = p.origin[block];
    double sum = a.ordered ? wr_parts_sum(p.tail + q % WR_CB_SIDE, WR_CB_SIDE, from, block) : 0;
    if (from == block) continue;
    double value = a.ordered ? wr_finish_beta(a.alpha, a.beta, a.y, i, sum + p.head[q]) : (double)a.y[i];
    wr_finish_row(finish, scalars, i, value, a.y, reduced);
    if (a.y_next) a.y_next[i] = 0;
  }
  wr_sums_finish(finish.sums, reduced);
}

/* ---- Launches ---- */

/* Calls use(kernel) with the kernel's instance. */
template <typename T, class Use>
static wr_status cbm_with(bool plain, bool aggregated, Use use) {
  if (plain) return aggregated ? use(cb_spmv<T, true, true>) : use(cb_spmv<T, true, false>);
  return aggregated ? use(cb_spmv<T, false, true>) : use(cb_spmv<T, false, false>);
}

template <typename T>
static wr_status cbm_ready(void) {
  wr_status status = WR_OK;
  int most = WR_CB_TEAM * WR_CB_MOST_STAGE;
  for (int instance = 0; instance < 4 && status == WR_OK; instance++)
    status = cbm_with<T>(instance / 2, instance % 2, [=](auto kernel) {
      return WR_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
    });
  return status;
}

template <typename T>
static wr_status cbm_launch(wr_env *env, const wr_cb_plan *p, const wr_apply *request) {
  wr_status status;
  cbm_args<T> a = {};
  wr_finish<T> finish = wr_finish_make<T>(env, request->epilogue);
  bool plain = request->beta == 0 && request->epilogue == NULL;
  size_t shared = (size_t)p->stage * WR_CB_UNIT * WR_CB_TEAM;
  a.p = *p, a.x = (const T *)request->x->data, a.y = (T *)request->y->data;
  a.alpha = request->alpha, a.beta = request->beta;
  a.ordered = request->beta != 0 || p->commit == WR_CB_ORDERED;
  if (request->y_next && p->commit == WR_CB_DUAL) a.y_next = (T *)request->y_next->data;
  TRY(cbm_with<T>(plain, p->format.aggregated, [&](auto cb_spmv_kernel) {
    return WR_LAUNCH((cb_spmv_kernel), (unsigned)p->grid, CBM_THREADS, shared, env->stream, a, finish);
  }));
  finish.sums.before = p->grid;
  if (a.ordered || !plain)
    TRY(WR_LAUNCH((cb_spmv_last<T>), wr_cb_last_grid(env, p), CBM_THREADS, 0, env->stream, a, finish));
done:
  return status;
}

#endif
