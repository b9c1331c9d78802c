/* Products with plain rows in a loop that is one kernel (resident_cuda.cu): what a block knows, and how it does its rows. It
 * has neighbouring ones, with about as many entries as the others' have. It makes all products first, whoever's they are, then
 * adds up each row's, then finishes a row a thread. */
#ifndef WR_RESIDENT_ROWS_CUH
#define WR_RESIDENT_ROWS_CUH

#include "spmv/device/resident.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/warp.cuh"

enum {
  THREADS = 512,
  MAX_STEPS = 24,
  MAX_BANK = 256,
  LONG = 16,         /* entries for each lane beyond which a row is long, a warp's    */
  GIANT = 4096,      /* entries beyond which a row is all the block's                 */
  BATCH = 4,         /* entries of a thread on their way                              */
  ROW_WEIGHT = 4,    /* a row is as much work as so many entries                      */
  LEAST_PRODUCTS = 1024, MOST_PRODUCTS = 8192, /* that a block keeps at a time        */
  MOST_ROWS = 4096   /* of a block                                                    */
};

template <typename T>
struct loop_args {
  const wr_resident_step<T> *steps;
  int count, nbank;
  double *bank;     /* [nbank] */
  double *partial;  /* [2][WR_MAX_REDUCTIONS][blocks]: what blocks leave, by turns                          */
  unsigned *arrived;
  const unsigned *stop;
  unsigned *wish;   /* [2], by turns: stop, as the first block has seen it, so that all blocks see the same */
  int most_rows;    /* of a block                                                                           */
  int most_products;
};

/* What a block knows. But for what stands in registers, all is in shared memory. */
template <typename T>
struct block_state {
  const wr_resident_step<T> *steps;
  double *bank, *c;     /* c[WR_MAX_OUTPUTS][WR_FUSED_SLOTS + 1]: coefficients of this step                */
  double *products;     /* [most_products]                                                                */
  double *row_sums;     /* [most_rows]                                                                    */
  int *starts;          /* [most_rows + 1]: where its rows begin; their entries follow each other          */
  int *long_rows, *nlong, *ngiant; /* [most_rows] of its rows, counted from its first, ascending          */
  int *going;
  int first, nrows;     /* its rows                                                                       */
  int log_lanes;        /* 2^log_lanes lanes add up a row of it                                           */
  unsigned round;       /* how often it has met the others                                                */
};

/* The block's copy of a scalar of the bank. */
template <typename T>
__device__ inline double *scalar_of(const loop_args<T> &loop, const block_state<T> &b, const double *at) {
  return b.bank + (at - loop.bank);
}

template <typename T>
__device__ inline int64_t row_start(const wr_resident_rows<T> &a, int64_t i) {
  return __ldg(a.row_ptr + i);
}

/* By one warp: the first row of block `block`; nrows behind the last one. */
template <typename T>
__device__ inline int first_row(const wr_resident_rows<T> &a, int block) {
  int64_t whole = row_start(a, a.nrows) + ROW_WEIGHT * a.nrows, target = whole * block / gridDim.x;
  int lane = threadIdx.x % WR_WARP;
  int64_t low = 0, high = a.nrows; /* it is in [low, high] */
  while (low < high) {
    int64_t span = high - low, at = low + span * lane / WR_WARP;
    unsigned reached = __ballot_sync((unsigned)WR_FULL_MASK, row_start(a, at) + ROW_WEIGHT * at >= target);
    int before = reached ? __ffs((int)reached) - 1 : WR_WARP; /* lanes whose row is too early */
    if (before < WR_WARP) high = low + span * before / WR_WARP;
    if (before > 0) low = low + span * (before - 1) / WR_WARP + 1;
  }
  return (int)low;
}

/* Lists the block's rows that a few lanes would be long busy with, in their order. */
template <typename T>
__device__ inline void find_long_rows(const block_state<T> &b) {
  WR_SHARED(int, before, THREADS / WR_WARP); /* long rows of each warp, in this turn */
  int warp = threadIdx.x / WR_WARP, lane = threadIdx.x % WR_WARP, count = 0, giant = 0;
  for (int turn = 0; turn < b.nrows; turn += THREADS) {
    int i = turn + (int)threadIdx.x, length = i < b.nrows ? b.starts[i + 1] - b.starts[i] : 0;
    bool is_long = length > LONG << b.log_lanes;
    unsigned among = __ballot_sync((unsigned)WR_FULL_MASK, is_long);
    if (lane == 0) before[warp] = __popc(among);
    __syncthreads();
    int at = count + __popc(among & ((1u << lane) - 1));
    for (int w = 0; w < THREADS / WR_WARP; w++) at += w < warp ? before[w] : 0, count += before[w];
    if (is_long) b.long_rows[at] = i, giant |= length > GIANT;
    __syncthreads();
  }
  giant = __syncthreads_or(giant);
  if (threadIdx.x == 0) *b.nlong = count, *b.ngiant = giant;
  __syncthreads();
}

/* Which rows are the block's, once a launch. */
template <typename T>
__device__ inline void begin_rows(const wr_resident_rows<T> &a, block_state<T> &b) {
  WR_SHARED(int, bounds, 2);
  int warp = threadIdx.x / WR_WARP;
  if (warp < 2) {
    int row = first_row(a, (int)blockIdx.x + warp);
    if (threadIdx.x % WR_WARP == 0) bounds[warp] = row;
  }
  __syncthreads();
  b.first = bounds[0], b.nrows = bounds[1] - bounds[0];
  while (1 << b.log_lanes < WR_WARP && b.nrows << (b.log_lanes + 1) <= THREADS) b.log_lanes++;
  for (int i = threadIdx.x; i <= b.nrows; i += THREADS) b.starts[i] = (int)row_start(a, b.first + i);
  __syncthreads();
  find_long_rows(b);
}

/* products := those of entries [begin, end). */
template <typename T>
__device__ inline void make_products(const wr_resident_rows<T> &a, const block_state<T> &b, int begin, int end) {
  for (int k = begin + (int)threadIdx.x; k < end; k += BATCH * THREADS) {
    int col[BATCH];
    T val[BATCH], x[BATCH];
#pragma unroll
    for (int e = 0; e < BATCH; e++) {
      bool is_there = k + e * THREADS < end;
      col[e] = is_there ? __ldg(a.col + k + e * THREADS) : -1;
      val[e] = is_there && a.val ? __ldg(a.val + k + e * THREADS) : (T)1;
    }
#pragma unroll
    for (int e = 0; e < BATCH; e++) x[e] = col[e] >= 0 ? __ldcg(a.x + col[e]) : (T)0;
#pragma unroll
    for (int e = 0; e < BATCH; e++)
      if (col[e] >= 0) b.products[k - begin + e * THREADS] = (double)val[e] * (double)x[e];
  }
}

/* The part of the block's row i that lies in [begin, end): where its products are. */
template <typename T>
__device__ inline void part_of(const block_state<T> &b, int i, int begin, int end, int &from, int &to) {
  from = b.starts[i] < begin ? 0 : b.starts[i] - begin;
  to = (b.starts[i + 1] < end ? b.starts[i + 1] : end) - begin;
}

/* Adds up products from `from` on below `to`, every stride-th. */
__device__ inline double add_up(const double *products, int from, int to, int stride) {
  double sum = 0;
#pragma unroll 4
  for (int k = from; k < to; k += stride) sum += products[k];
  return sum;
}

/* Adds to row_sums what rows have among entries [begin, end): some lanes a row, a warp a long one, all the block a giant. */
template <typename T>
__device__ inline void add_rows(const block_state<T> &b, int begin, int end) {
  int lane = threadIdx.x & ((1 << b.log_lanes) - 1), from, to;
  for (int first = 0; first < b.nrows; first += THREADS >> b.log_lanes) {
    int i = first + (int)(threadIdx.x >> b.log_lanes);
    double total = 0;
    bool is_short = i < b.nrows && b.starts[i + 1] - b.starts[i] <= LONG << b.log_lanes;
    if (is_short) part_of(b, i, begin, end, from, to), total = add_up(b.products, from + lane, to, 1 << b.log_lanes);
    __syncwarp(); /* as in add_lanes */
#pragma unroll
    for (int distance = WR_WARP / 2; distance > 0; distance /= 2)
      if (distance < 1 << b.log_lanes) total += __shfl_xor_sync((unsigned)WR_FULL_MASK, total, distance);
    if (is_short && lane == 0) b.row_sums[i] += total;
  }
  lane = threadIdx.x % WR_WARP;
  for (int k = threadIdx.x / WR_WARP; k < *b.nlong; k += THREADS / WR_WARP) {
    int i = b.long_rows[k];
    if (b.starts[i + 1] - b.starts[i] > GIANT) continue;
    part_of(b, i, begin, end, from, to);
    double total = add_up(b.products, from + lane, to, WR_WARP);
    __syncwarp();
    total = wr_warp_sum(total);
    if (lane == 0) b.row_sums[i] += total;
  }
  for (int k = 0; *b.ngiant && k < *b.nlong; k++) {
    int i = b.long_rows[k];
    if (b.starts[i + 1] - b.starts[i] <= GIANT) continue;
    part_of(b, i, begin, end, from, to);
    double total[1] = {add_up(b.products, from + (int)threadIdx.x, to, THREADS)};
    __syncwarp();
    wr_block_sum(total);
    if (threadIdx.x == 0) b.row_sums[i] += total[0];
  }
}

/* What the epilogue of row i reads; all of it may have been written by another block. */
template <typename T>
__device__ inline void load_finish(const wr_resident_rows<T> &a, int64_t i, wr_finish_rows<T, 1> &row) {
  const wr_finish<T> &f = a.finish;
  row.shift_dir[0] = f.shift_dir ? __ldcg(f.shift_dir + i) : (T)0;
  row.scale[0] = f.scale ? __ldcg(f.scale + i) : f.whole ? wr_reciprocal<T>(f.whole, f.whole_bytes, i) : (T)0;
  row.value[0] = a.beta == 0 ? 0 : a.beta * (double)__ldcg(a.y + i);
#pragma unroll
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) row.z[r][0] = f.z[r] ? __ldcg(f.z[r] + i) : (T)0;
}

template <typename T>
__device__ inline void do_rows(const loop_args<T> &loop, const block_state<T> &b, const wr_resident_rows<T> &a,
                               double (&sum)[WR_MAX_REDUCTIONS]) {
  int begin = b.starts[0], end = b.starts[b.nrows];
  double shift = a.finish.shift ? *scalar_of(loop, b, a.finish.shift) : 0;
  wr_finish_rows<T, 1> row = {};
  if ((int)threadIdx.x < b.nrows) load_finish(a, b.first + (int)threadIdx.x, row); /* under way meanwhile */
  for (int i = threadIdx.x; i < b.nrows; i += THREADS) b.row_sums[i] = 0;
  for (; begin < end; begin += loop.most_products) {
    int below = end - begin < loop.most_products ? end : begin + loop.most_products;
    make_products(a, b, begin, below);
    __syncthreads();
    add_rows(b, begin, below);
    __syncthreads();
  }
  for (int i = threadIdx.x; i < b.nrows; i += THREADS) {
    if (i >= THREADS) load_finish(a, b.first + i, row);
    row.value[0] += a.alpha * b.row_sums[i];
    wr_finish_store(a.finish, shift, b.first + i, row, a.y, sum);
  }
}

#endif
