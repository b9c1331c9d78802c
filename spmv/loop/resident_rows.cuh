/* Products with the matrix in a resident loop (resident_cuda.cu). Each thread block has a share of the rows
 * (resident_share.cuh). Its threads first bring the elements of x that the share needs to shared memory, then multiply, each
 * its own tiles, and last do the epilogue, a thread for each row, which adds up the slots of its row.
 *
 * For a joined product (WR_RESIDENT_JOINED) the inputs of the fused operation are read instead of x, the elements of x are
 * computed from them, and x[i] is stored when row i is finished. Other blocks may still read then, so no input of the
 * operation is x, y or scaled. */
#ifndef WR_RESIDENT_ROWS_CUH
#define WR_RESIDENT_ROWS_CUH

#include "spmv/loop/resident_vectors.cuh"
#include "spmv/kernel/warp.cuh"

/* Lists the block's long rows of tiles (more than WR_SHARE_LONG slots), in ascending order. */
__device__ inline void find_long_rows(const block_state &b) {
  WR_SHARED(int, before, THREADS / WR_WARP); /* number of long rows of each warp, in this turn */
  int warp = threadIdx.x / WR_WARP, lane = threadIdx.x % WR_WARP, count = 0;
  for (int turn = 0; turn < b.share.rows; turn += THREADS) {
    int i = turn + (int)threadIdx.x;
    bool is_long = i < b.share.rows && b.row_slots[i + 1] - b.row_slots[i] > WR_SHARE_LONG;
    unsigned among = __ballot_sync((unsigned)WR_FULL_MASK, is_long);
    if (lane == 0) before[warp] = __popc(among);
    __syncthreads();
    int at = count + __popc(among & ((1u << lane) - 1));
    for (int w = 0; w < THREADS / WR_WARP; w++) at += w < warp ? before[w] : 0, count += before[w];
    if (is_long) b.long_rows[at] = i;
    __syncthreads();
  }
  if (threadIdx.x == 0) *b.nlong = count;
  __syncthreads();
}

/* Copies as much of the block's share to shared memory as fits, once a launch. */
template <typename T, class ROOM>
__device__ inline void begin_rows(const loop_args<T, ROOM> &loop, block_state &b, char *room, int64_t nrows) {
  b.share = loop.shares[blockIdx.x], b.from = loop.images + b.share.at;
  constexpr int SUMS = ROOM::SUMS * THREADS * (int)sizeof(double);
  int beside = wr_share_beside(&b.share, loop.side, SUMS), slots = wr_share_x(&b.share, loop.side, SUMS);
  char *image = room + beside;
  b.image = image, b.x = (double *)room, b.slots = (double *)(room + slots);
  b.long_rows = (int *)(room + slots + wr_share_round(8 * loop.side * b.share.slots));
  b.at = wr_share_layout_of(&b.share, loop.value_bytes);
  int fits = b.at.step ? (loop.share_bytes - beside - b.at.first_step) / b.at.step : 0;
  b.kept = fits < b.share.steps ? fits : b.share.steps;
  int words = (b.at.first_step + b.kept * b.at.step) / 16;
#pragma unroll 4
  for (int k = threadIdx.x; k < words; k += THREADS) ((copied *)image)[k] = ((const copied *)b.from)[k];
  b.row_slots = (const uint16_t *)(image + b.at.row_slots);
  b.first = b.share.first * loop.side, b.nrows = b.share.rows * loop.side;
  if (b.nrows > nrows - b.first) b.nrows = (int)(nrows - b.first);
  __syncthreads();
  find_long_rows(b);
}

/* The vectors that a product gathers, and their coefficients. MAY_LACK: those whose coefficient is 0 are NULL. x alone:
 * gathered<T, 1, false>, without a coefficient. */
template <typename T, int INPUTS, bool MAY_LACK>
struct gathered {
  const T *in[INPUTS];
  double c[INPUTS];
};

template <typename T, class ROOM>
__device__ inline gathered<T, WR_JOINED_INPUTS, true> gathered_for(const wr_fused_args<T, ROOM> &f, const double *c) {
  gathered<T, WR_JOINED_INPUTS, true> g;
#pragma unroll
  for (int s = 0; s < WR_JOINED_INPUTS; s++) {
    g.c[s] = c[s];
    g.in[s] = s < f.nin && g.c[s] != 0 ? f.in[s] : NULL;
  }
  return g;
}

template <typename T, int FORM>
__device__ inline gathered<T, WR_STEP_FORMS[FORM].nin, false> gathered_for(const wr_known_operation<T, FORM> &f,
                                                                           const double *c) {
  gathered<T, WR_STEP_FORMS[FORM].nin, false> g;
#pragma unroll
  for (int s = 0; s < WR_STEP_FORMS[FORM].nin; s++) g.c[s] = c[s], g.in[s] = f.in[s];
  return g;
}

/* The element of x, with the same bits as from output_of. */
template <typename T, int INPUTS, bool MAY_LACK>
__device__ inline double element_of(const gathered<T, INPUTS, MAY_LACK> &g, const T (&v)[INPUTS]) {
  double sum = 0;
#pragma unroll
  for (int s = 0; s < INPUTS; s++) add_term(g.c[s], (double)v[s], sum);
  return (double)(T)sum;
}

template <typename T>
__device__ inline double element_of(const gathered<T, 1, false> &, const T (&v)[1]) {
  return (double)v[0];
}

/* b.x := the elements of x that the share needs. */
template <int SIDE, typename T, int INPUTS, bool MAY_LACK>
__device__ inline void gather(const block_state &b, const gathered<T, INPUTS, MAY_LACK> &from, int n) {
  const int32_t *columns = (const int32_t *)b.image;
  int count = b.share.columns * SIDE;
  for (int k = threadIdx.x; k < count; k += BATCH * THREADS) {
    int col[BATCH];
    T x[BATCH][INPUTS];
#pragma unroll
    for (int e = 0; e < BATCH; e++) {
      int at = k + e * THREADS;
      col[e] = at < count ? columns[at / SIDE] * SIDE + at % SIDE : -1;
      if (SIDE > 1 && col[e] >= n) col[e] = -1; /* the last tiles may reach beyond the matrix */
    }
#pragma unroll
    for (int e = 0; e < BATCH; e++)
#pragma unroll
      for (int s = 0; s < INPUTS; s++)
        x[e][s] = col[e] >= 0 && (!MAY_LACK || from.in[s]) ? __ldcg(from.in[s] + col[e]) : (T)0;
#pragma unroll
    for (int e = 0; e < BATCH; e++)
      if (k + e * THREADS < count) b.x[k + e * THREADS] = element_of(from, x[e]);
  }
}

/* Multiplies the steps from, ..., to - 1 of this thread, AT_ONCE of them at a time; `steps` is where step 0 lies. */
template <int SIDE, bool HAS_VALUES, int AT_ONCE, typename T>
__device__ inline void multiply_steps(const block_state &b, const char *steps, int from, int to, int &slot,
                                      double (&sum)[SIDE]) {
  int width = b.share.width;
  for (int k = from; k < to; k += AT_ONCE) {
    unsigned column[AT_ONCE];
    T value[AT_ONCE][SIDE * SIDE];
#pragma unroll
    for (int e = 0; e < AT_ONCE; e++) {
      const char *step = steps + (int64_t)(k + e) * b.at.step;
      bool is_there = k + e < to;
      column[e] = is_there ? ((const uint16_t *)(step + b.at.column))[threadIdx.x] : 0;
#pragma unroll
      for (int v = 0; v < SIDE * SIDE; v++)
        value[e][v] = !HAS_VALUES ? (T)1 : is_there ? ((const T *)step)[v * width + (int)threadIdx.x] : (T)0;
    }
#pragma unroll
    for (int e = 0; e < AT_ONCE; e++) {
      if (k + e >= to) break;
      const double *x = b.x + (column[e] & WR_SHARE_COLUMN) * SIDE;
#pragma unroll
      for (int j = 0; j < SIDE; j++) {
        double element = x[j];
#pragma unroll
        for (int r = 0; r < SIDE; r++)
          sum[r] = HAS_VALUES ? sum[r] + (double)value[e][r * SIDE + j] * element : sum[r] + element;
      }
      if (column[e] & WR_SHARE_ENDS) {
#pragma unroll
        for (int r = 0; r < SIDE; r++) b.slots[slot * SIDE + r] = sum[r], sum[r] = 0;
        slot++;
      }
    }
  }
}

/* b.slots := the sums of the share's tiles. */
template <int SIDE, bool HAS_VALUES, typename T>
__device__ inline void multiply_share(const block_state &b) {
  constexpr int AT_ONCE = SIDE == 1 ? 4 : SIDE == 2 ? 2 : 1;
  int t = threadIdx.x, end = b.share.tiles - t * b.share.steps;
  if (t >= b.share.width) return;
  if (end > b.share.steps) end = b.share.steps;
  double sum[SIDE] = {};
  int slot = ((const uint16_t *)(b.image + b.at.thread_slots))[t];
  multiply_steps<SIDE, HAS_VALUES, AT_ONCE, T>(b, b.image + b.at.first_step, 0, end < b.kept ? end : b.kept, slot, sum);
  multiply_steps<SIDE, HAS_VALUES, AT_ONCE, T>(b, b.from + b.at.first_step, b.kept, end, slot, sum);
}

/* The first slot of each long row := the sum of its slots; by a warp a row. */
__device__ inline void add_long_rows(const block_state &b, int side) {
  int lane = threadIdx.x % WR_WARP;
  for (int k = threadIdx.x / WR_WARP; k < *b.nlong; k += THREADS / WR_WARP) {
    int i = b.long_rows[k], from = b.row_slots[i], to = b.row_slots[i + 1];
    for (int r = 0; r < side; r++) {
      double total = 0;
      for (int slot = from + lane; slot < to; slot += WR_WARP) total += b.slots[slot * side + r];
      __syncwarp();
      total = wr_warp_sum(total);
      if (lane == 0) b.slots[from * side + r] = total;
    }
  }
}

/* The product of row i of the block. */
__device__ inline double row_sum(const block_state &b, int side, int i) {
  int row = side == 1 ? i : i / side, r = i - row * side;
  int from = b.row_slots[row], to = b.row_slots[row + 1];
  double sum = 0;
  if (to - from > WR_SHARE_LONG) return b.slots[from * side + r];
#pragma unroll 4
  for (int slot = from; slot < to; slot++) sum += b.slots[slot * side + r];
  return sum;
}

/* Loads what row i needs beside its product, from L2, since another block may have written it. ROWS: wr_resident_rows with any
 * epilogue. */
template <class ROWS, typename T>
__device__ inline void load_finish(const ROWS &a, int64_t i, wr_finish_rows<T, 1> &row) {
  wr_finish_load<true>(a.finish, i, row);
  row.value[0] = a.beta == 0 ? 0 : a.beta * (double)__ldcg(a.y + i);
}

/* Loads element i of the inputs of a joined operation, from which the block of row i computes and stores x[i]. */
template <typename T, class OPERATION>
__device__ inline void load_own(const OPERATION &f, int64_t i, T (&own)[WR_JOINED_INPUTS]) {
#pragma unroll
  for (int s = 0; s < WR_JOINED_INPUTS; s++) own[s] = s < f.nin ? __ldcg(f.in[s] + i) : (T)0;
}

/* Computes and stores x[i], adds its terms to the operation's sums, and puts it into each z of the row that is x, since z was
 * loaded before x[i] was computed. */
template <class ROOM, typename T, class OPERATION>
__device__ inline void finish_own(const OPERATION &f, const wr_resident_rows<T> &a, const double *c, int64_t i,
                                  const T (&own)[WR_JOINED_INPUTS], wr_finish_rows<T, 1> &row,
                                  double (&sum)[ROOM::SUMS]) {
  double v[ROOM::SLOTS + ROOM::OUTPUTS] = {};
#pragma unroll
  for (int s = 0; s < WR_JOINED_INPUTS; s++) v[s] = (double)own[s];
  T value = output_of(f, c, 0, v);
  f.out[0][i] = value;
  v[ROOM::SLOTS] = (double)value;
  add_sums(f, (int)i, a.finish.sums.count, v, sum);
#pragma unroll
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++)
    if (a.finish.z[r] == a.x) row.z[r][0] = value;
}

template <int SIDE, bool HAS_VALUES, typename T, class GATHERED>
__device__ inline void gather_and_multiply(const block_state &b, const GATHERED &from, int n) {
  gather<SIDE>(b, from, n);
  __syncthreads();
  multiply_share<SIDE, HAS_VALUES, T>(b);
}

/* b.slots := the sums of the share's tiles. */
template <typename T, class ROOM, class GATHERED>
__device__ inline void multiply(const loop_args<T, ROOM> &loop, const block_state &b, const GATHERED &from, int n) {
  if (loop.value_bytes == 0)
    gather_and_multiply<1, false, T>(b, from, n);
  else if (loop.side == 1)
    gather_and_multiply<1, true, T>(b, from, n);
  else if (loop.side == 2)
    gather_and_multiply<2, true, T>(b, from, n);
  else if (loop.side == 3)
    gather_and_multiply<3, true, T>(b, from, n);
  else
    gather_and_multiply<4, true, T>(b, from, n);
  __syncthreads();
  if (*b.nlong == 0) return;
  add_long_rows(b, loop.side);
  __syncthreads();
}

/* Does one product. JOINED: `f` is the operation that computes x, wr_fused_args or one with a form; else x is in memory. */
template <bool JOINED, typename T, class ROOM, class ROWS, class OPERATION>
__device__ inline void do_rows(const loop_args<T, ROOM> &loop, const block_state &b, const ROWS &a, const OPERATION &f,
                               double (&sum)[ROOM::SUMS]) {
  bool shifts = wr_finish_has<WR_HOLDS_SHIFT>(a.finish, a.finish.shift),
       relaxes = wr_finish_has<WR_HOLDS_RELAXATION>(a.finish, a.finish.relaxation);
  wr_finish_scalars scalars = {shifts ? *scalar_of(loop, b, a.finish.shift) : 0,
                               relaxes ? *scalar_of(loop, b, a.finish.relaxation) : 1};
  wr_finish_rows<T, 1> row = {};
  T own[WR_JOINED_INPUTS] = {};
  double room[ROOM::OUTPUTS * ROOM::TERMS];
  const double *c = NULL;
  if ((int)threadIdx.x < b.nrows) { /* loads that overlap the product */
    load_finish(a, b.first + (int)threadIdx.x, row);
    if (JOINED) load_own(f, b.first + (int)threadIdx.x, own);
  }
  if constexpr (JOINED) {
    c = read_coefficients(loop, b, f, room);
    multiply(loop, b, gathered_for(f, c), (int)a.nrows);
  } else {
    multiply(loop, b, gathered<T, 1, false>{{a.x}, {}}, (int)a.nrows);
  }
  for (int i = threadIdx.x; i < b.nrows; i += THREADS) {
    if (i >= THREADS) load_finish(a, b.first + i, row);
    if (i >= THREADS && JOINED) load_own(f, b.first + i, own);
    row.value[0] += a.alpha * row_sum(b, loop.side, i);
    if constexpr (JOINED) finish_own<ROOM>(f, a, c, b.first + i, own, row, sum);
    wr_finish_store(a.finish, scalars, b.first + i, row, a.y, sum);
  }
}

#endif
