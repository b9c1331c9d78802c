/* Fused operations in a resident loop (resident_cuda.cu), each block doing neighbouring elements; and the state of a block. */
#ifndef WR_RESIDENT_VECTORS_CUH
#define WR_RESIDENT_VECTORS_CUH

#include "spmv/loop/resident.cuh"
#include "spmv/kernel/launch.cuh"

enum {
  THREADS = 512,
  MAX_STEPS = 24,
  MAX_BANK = 256,
  LONG = 16,         /* entries for each lane above which a row is long: done by a warp */
  GIANT = 4096,      /* entries above which a row is giant: done by the whole block     */
  BATCH = 4,         /* entries that a thread loads at a time                           */
  ROW_WEIGHT = 4,    /* work of a row beside that of its entries, in entries            */
  LEAST_PRODUCTS = 1024, MOST_PRODUCTS = 8192, /* in a block's shared memory           */
  MOST_ROWS = 4096   /* of a block                                                      */
};

template <typename T, class ROOM>
struct loop_args {
  const wr_resident_step<T, ROOM> *steps;
  int count, nbank;
  double *bank;     /* [nbank] */
  double *partial;  /* [2][SUMS][blocks]: sums of each block; barriers alternate between the two  */
  unsigned *arrived;
  const unsigned *stop;
  unsigned *stops;  /* [2], alternating: *stop as read by the first block, so that all blocks use the same value */
  int most_rows;    /* of a block                                                                            */
  int most_products;
};

/* The state of a block. Arrays are in shared memory, other members in registers. */
struct block_state {
  double *bank, *c;     /* c[OUTPUTS][TERMS]: coefficients of this step                                    */
  double *products;     /* [most_products]                                                                */
  double *row_sums;     /* [most_rows]                                                                    */
  int *starts;          /* [most_rows + 1]: index of the first entry of each of its rows, and their end   */
  int *long_rows, *nlong, *ngiant; /* long_rows[most_rows]: long rows, counted from `first`, ascending    */
  int *going;
  int first, nrows;     /* its rows: first, ..., first + nrows - 1                                        */
  int log_lanes;        /* 2^log_lanes lanes add up a row                                                 */
  unsigned round;       /* grid barriers so far                                                           */
  unsigned stop;        /* of thread 0: loop.stops as read at the last barrier; not 0: the loop is to end */
};

/* The block's copy of a scalar of the bank. */
template <typename T, class ROOM>
__device__ inline double *scalar_of(const loop_args<T, ROOM> &loop, const block_state &b, const double *at) {
  return b.bank + (at - loop.bank);
}

template <typename T, class ROOM>
__device__ inline void read_coefficients(const loop_args<T, ROOM> &loop, const block_state &b,
                                         const wr_fused_args<T, ROOM> &f) {
  int k = threadIdx.x;
  if (k < ROOM::OUTPUTS * ROOM::TERMS) {
    wr_device_coefficient from = f.c[k / ROOM::TERMS][k % ROOM::TERMS];
    b.c[k] = from.scalar ? from.factor * *scalar_of(loop, b, from.scalar) : from.factor;
  }
  __syncthreads();
}

/* v[slot]; the slot is the same for all threads. */
template <int COUNT>
__device__ inline double pick(const double (&v)[COUNT], int slot) {
  double value = 0;
#pragma unroll
  for (int s = 0; s < COUNT; s++)
    if (s == slot) value = v[s];
  return value;
}

/* sum += factor * value, without a branch; a term with factor 0 is not added, even if value is NaN. */
__device__ inline void add_term(double factor, double value, double &sum) {
  double term = factor * value;
  sum += factor != 0 ? term : 0;
}

/* Output o of one element, from the inputs and the earlier outputs in v. */
template <typename T, class ROOM>
__device__ inline T output_of(const wr_fused_args<T, ROOM> &f, const double *c, int o,
                              const double (&v)[ROOM::SLOTS + ROOM::OUTPUTS]) {
  double sum = 0;
#pragma unroll
  for (int k = 0; k < ROOM::SLOTS + o; k++)
    add_term(c[o * ROOM::TERMS + k], k == 0 && f.has_times ? v[0] * v[1] : v[k], sum);
  return (T)sum;
}

/* Adds the terms of element i to the operation's sums. Sums before `first` are the joined product's, and are not changed. */
template <typename T, class ROOM>
__device__ inline void add_sums(const wr_fused_args<T, ROOM> &f, int i, int first,
                                const double (&v)[ROOM::SLOTS + ROOM::OUTPUTS], double (&sum)[ROOM::SUMS]) {
#pragma unroll
  for (int r = 0; r < ROOM::SUMS; r++)
    if (r >= first && r < f.sums.count) {
      double u[1] = {pick(v, f.u[r])}, z[1] = {pick(v, f.z[r])};
      if (!ROOM::IS_EXACT && f.sums.kind[r] == WR_DOT_HASH)
        z[0] = wr_hash_value(wr_hash(f.hash_key, (uint64_t)i), f.z[r]);
      wr_sum_terms(f.sums.kind[r], u, z, sum[r]);
    }
}

template <typename T, class ROOM>
__device__ inline void do_vectors(const loop_args<T, ROOM> &loop, const block_state &b,
                                  const wr_resident_step<T, ROOM> &step, double (&sum)[ROOM::SUMS]) {
  const wr_fused_args<T, ROOM> &f = step.vectors;
  int begin = step.share * (int)blockIdx.x, n = (int)f.n, end = begin + step.share < n ? begin + step.share : n;
  read_coefficients(loop, b, f);
  for (int i = begin + (int)threadIdx.x; i < end; i += THREADS) {
    double v[ROOM::SLOTS + ROOM::OUTPUTS];
#pragma unroll
    for (int k = 0; k < ROOM::SLOTS; k++) v[k] = k < f.nin ? (double)__ldcg(f.in[k] + i) : 0;
#pragma unroll
    for (int o = 0; o < ROOM::OUTPUTS; o++) {
      v[ROOM::SLOTS + o] = 0;
      if (o >= f.nout) continue;
      T value = output_of(f, b.c, o, v);
      f.out[o][i] = value;
      v[ROOM::SLOTS + o] = (double)value;
    }
    add_sums(f, i, 0, v, sum);
  }
}

#endif
