/* Products with plain rows in a resident loop (resident_cuda.cu). Each block has neighbouring rows, with about the same
 * number of entries. Its threads first compute the products of all entries, then add them up by rows, then do the epilogue,
 * a thread for each row.
 *
 * For a joined product (WR_RESIDENT_JOINED) each thread gathers the inputs of the fused operation, computes the element of x
 * that it needs, and stores x[i] when it finishes row i. Other blocks may still gather then, so no input of the operation is
 * x, y or scaled. */
#ifndef WR_RESIDENT_ROWS_CUH
#define WR_RESIDENT_ROWS_CUH

#include "spmv/loop/resident_vectors.cuh"
#include "spmv/kernel/warp.cuh"

template <typename T>
__device__ inline int64_t row_start(const wr_resident_rows<T> &a, int64_t i) {
  return __ldg(a.row_ptr + i);
}

/* By one warp: the first row of block `block`; nrows if block is the number of blocks. */
template <typename T>
__device__ inline int first_row(const wr_resident_rows<T> &a, int block) {
  int64_t total = row_start(a, a.nrows) + ROW_WEIGHT * a.nrows, target = total * block / gridDim.x;
  int lane = threadIdx.x % WR_WARP;
  int64_t low = 0, high = a.nrows; /* the row is in [low, high] */
  while (low < high) {
    int64_t span = high - low, at = low + span * lane / WR_WARP;
    unsigned reached = __ballot_sync((unsigned)WR_FULL_MASK, row_start(a, at) + ROW_WEIGHT * at >= target);
    int before = reached ? __ffs((int)reached) - 1 : WR_WARP; /* lanes with a row before it */
    if (before < WR_WARP) high = low + span * before / WR_WARP;
    if (before > 0) low = low + span * (before - 1) / WR_WARP + 1;
  }
  return (int)low;
}

/* Lists the block's long rows (more than LONG entries a lane), in ascending order. */
__device__ inline void find_long_rows(const block_state &b) {
  WR_SHARED(int, before, THREADS / WR_WARP); /* number of long rows of each warp, in this turn */
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

/* Finds the rows of the block, once a launch. */
template <typename T>
__device__ inline void begin_rows(const wr_resident_rows<T> &a, block_state &b) {
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

/* The vectors that a joined product gathers instead of x, NULL if unused, and their coefficients. Not joined: x in in[0]. */
template <typename T>
struct gathered {
  const T *in[WR_JOINED_INPUTS];
  double c[WR_JOINED_INPUTS];
};

template <typename T, class ROOM>
__device__ inline gathered<T> gathered_for(const block_state &b, const wr_resident_step<T, ROOM> &joined) {
  gathered<T> g;
#pragma unroll
  for (int s = 0; s < WR_JOINED_INPUTS; s++) {
    g.c[s] = b.c[s];
    g.in[s] = s < joined.vectors.nin && g.c[s] != 0 ? joined.vectors.in[s] : NULL;
  }
  return g;
}

/* The element of x, with the same bits as from output_of. */
template <typename T>
__device__ inline double element_of(const gathered<T> &g, const T (&v)[WR_JOINED_INPUTS]) {
  double sum = 0;
#pragma unroll
  for (int s = 0; s < WR_JOINED_INPUTS; s++) add_term(g.c[s], (double)v[s], sum);
  return (double)(T)sum;
}

template <typename T>
__device__ inline double element_of(const gathered<T> &, const T (&v)[1]) {
  return (double)v[0];
}

/* b.products := val * x of entries [begin, end). INPUTS: the number of vectors that are gathered. */
template <int INPUTS, typename T>
__device__ inline void make_products(const wr_resident_rows<T> &a, const block_state &b, const gathered<T> &from,
                                     int begin, int end) {
  for (int k = begin + (int)threadIdx.x; k < end; k += BATCH * THREADS) {
    int col[BATCH];
    T val[BATCH], x[BATCH][INPUTS];
#pragma unroll
    for (int e = 0; e < BATCH; e++) {
      bool is_there = k + e * THREADS < end;
      col[e] = is_there ? __ldg(a.col + k + e * THREADS) : -1;
      val[e] = is_there && a.val ? __ldg(a.val + k + e * THREADS) : (T)1;
    }
#pragma unroll
    for (int e = 0; e < BATCH; e++)
#pragma unroll
      for (int s = 0; s < INPUTS; s++)
        x[e][s] = col[e] >= 0 && (INPUTS == 1 || from.in[s]) ? __ldcg(from.in[s] + col[e]) : (T)0;
#pragma unroll
    for (int e = 0; e < BATCH; e++)
      if (col[e] >= 0) b.products[k - begin + e * THREADS] = (double)val[e] * element_of(from, x[e]);
  }
}

/* [from, to) := the indices in b.products of the entries of the block's row i within [begin, end). */
__device__ inline void part_of(const block_state &b, int i, int begin, int end, int &from, int &to) {
  from = b.starts[i] < begin ? 0 : b.starts[i] - begin;
  to = (b.starts[i + 1] < end ? b.starts[i + 1] : end) - begin;
}

/* The sum of products[from], products[from + stride], ... below `to`. */
__device__ inline double add_up(const double *products, int from, int to, int stride) {
  double sum = 0;
#pragma unroll 4
  for (int k = from; k < to; k += stride) sum += products[k];
  return sum;
}

/* Adds the products of entries [begin, end) to row_sums: by 2^log_lanes lanes for a row, a warp for a long row, the block for
 * a giant one. */
__device__ inline void add_rows(const block_state &b, int begin, int end) {
  int lane = threadIdx.x & ((1 << b.log_lanes) - 1), from, to;
  for (int first = 0; first < b.nrows; first += THREADS >> b.log_lanes) {
    int i = first + (int)(threadIdx.x >> b.log_lanes);
    double total = 0;
    bool is_short = i < b.nrows && b.starts[i + 1] - b.starts[i] <= LONG << b.log_lanes;
    if (is_short) part_of(b, i, begin, end, from, to), total = add_up(b.products, from + lane, to, 1 << b.log_lanes);
    __syncwarp(); /* as in add_lanes: the shuffles below are slow if lanes have diverged */
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

/* Loads what the epilogue of row i reads, from L2, since another block may have written it. */
template <typename T>
__device__ inline void load_finish(const wr_resident_rows<T> &a, int64_t i, wr_finish_rows<T, 1> &row) {
  const wr_finish<T> &f = a.finish;
  row.shift_dir[0] = f.shift_dir ? __ldcg(f.shift_dir + i) : (T)0;
  row.divisor[0] = f.divisors ? wr_divisor(f.divisors, f.divisor_bytes, i) : 0;
  row.scale[0] = f.scale ? __ldcg(f.scale + i) : (T)0;
  row.relax_from[0] = f.relax_from ? __ldcg(f.relax_from + i) : (T)0;
  row.value[0] = a.beta == 0 ? 0 : a.beta * (double)__ldcg(a.y + i);
#pragma unroll
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) row.z[r][0] = f.z[r] ? __ldcg(f.z[r] + i) : (T)0;
}

/* Loads element i of the inputs of a joined operation, from which the block of row i computes and stores x[i]. */
template <typename T, class ROOM>
__device__ inline void load_own(const wr_resident_step<T, ROOM> &joined, int64_t i, T (&own)[WR_JOINED_INPUTS]) {
#pragma unroll
  for (int s = 0; s < WR_JOINED_INPUTS; s++) own[s] = s < joined.vectors.nin ? __ldcg(joined.vectors.in[s] + i) : (T)0;
}

/* Computes and stores x[i], adds its terms to the operation's sums, and puts it into each z of the row that is x, since z was
 * loaded before x[i] was computed. */
template <typename T, class ROOM>
__device__ inline void finish_own(const wr_resident_step<T, ROOM> &joined, const wr_resident_rows<T> &a,
                                  const block_state &b, int64_t i, const T (&own)[WR_JOINED_INPUTS],
                                  wr_finish_rows<T, 1> &row, double (&sum)[ROOM::SUMS]) {
  const wr_fused_args<T, ROOM> &f = joined.vectors;
  double v[ROOM::SLOTS + ROOM::OUTPUTS] = {};
#pragma unroll
  for (int s = 0; s < WR_JOINED_INPUTS; s++) v[s] = (double)own[s];
  T value = output_of(f, b.c, 0, v);
  f.out[0][i] = value;
  v[ROOM::SLOTS] = (double)value;
  add_sums(f, (int)i, a.finish.sums.count, v, sum);
#pragma unroll
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++)
    if (a.finish.z[r] == a.x) row.z[r][0] = value;
}

/* Does one product. JOINED: `joined` is the operation that computes x; else x is in memory. */
template <bool JOINED, typename T, class ROOM>
__device__ inline void do_rows(const loop_args<T, ROOM> &loop, const block_state &b, const wr_resident_rows<T> &a,
                               const wr_resident_step<T, ROOM> &joined, double (&sum)[ROOM::SUMS]) {
  int begin = b.starts[0], end = b.starts[b.nrows];
  wr_finish_scalars scalars = {a.finish.shift ? *scalar_of(loop, b, a.finish.shift) : 0,
                               a.finish.relaxation ? *scalar_of(loop, b, a.finish.relaxation) : 1};
  wr_finish_rows<T, 1> row = {};
  T own[WR_JOINED_INPUTS] = {};
  gathered<T> from = {{a.x}, {}};
  if ((int)threadIdx.x < b.nrows) { /* loads that overlap the products */
    load_finish(a, b.first + (int)threadIdx.x, row);
    if (JOINED) load_own(joined, b.first + (int)threadIdx.x, own);
  }
  if (JOINED) read_coefficients(loop, b, joined.vectors), from = gathered_for(b, joined);
  for (int i = threadIdx.x; i < b.nrows; i += THREADS) b.row_sums[i] = 0;
  for (; begin < end; begin += loop.most_products) {
    int below = end - begin < loop.most_products ? end : begin + loop.most_products;
    make_products<JOINED ? WR_JOINED_INPUTS : 1>(a, b, from, begin, below);
    __syncthreads();
    add_rows(b, begin, below);
    __syncthreads();
  }
  for (int i = threadIdx.x; i < b.nrows; i += THREADS) {
    if (i >= THREADS) load_finish(a, b.first + i, row);
    if (i >= THREADS && JOINED) load_own(joined, b.first + i, own);
    row.value[0] += a.alpha * b.row_sums[i];
    if (JOINED) finish_own(joined, a, b, b.first + i, own, row, sum);
    wr_finish_store(a.finish, scalars, b.first + i, row, a.y, sum);
  }
}

#endif
