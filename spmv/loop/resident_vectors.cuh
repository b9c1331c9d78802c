/* Fused operations in a resident loop (resident_cuda.cu), each block doing neighbouring elements; and the state of a block. */
#ifndef WR_RESIDENT_VECTORS_CUH
#define WR_RESIDENT_VECTORS_CUH

#include "spmv/loop/resident_form.cuh"
#include "spmv/loop/resident_share.h"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/meet.cuh"

enum {
  THREADS = WR_SHARE_THREADS,
  MAX_STEPS = 40,
  MAX_BANK = 256,
  BATCH = 4 /* elements of x that a thread loads at a time */
};

template <typename T, class ROOM>
struct loop_args {
  const wr_resident_step<T, ROOM> *steps;
  int count, nbank;
  double *bank;     /* [nbank] */
  wr_record *records; /* [2][SUMS + 1][blocks]: sums of each block; barriers alternate between the two. Behind */
                           /* them *stop as read by the first block, so that all blocks use the same value          */
  const unsigned *stop;
  const wr_share *shares; /* [blocks]; NULL: the loop has no products  */
  const char *images;
  int side, value_bytes;  /* of a tile                                 */
  int share_bytes;        /* of shared memory for a share              */
};

/* 16 bytes, which are copied at once. */
struct alignas(16) copied {
  uint64_t words[2];
};

/* The state of a block. Arrays are in shared memory, unless stated otherwise, other members in registers. */
struct block_state {
  double *bank, *c;     /* c[OUTPUTS][TERMS]: coefficients of this step                                    */
  double *x;            /* [share.columns * side]: the elements of x that the share needs                 */
  double *slots;        /* [share.slots][side]                                                            */
  int *long_rows, *nlong; /* long rows of tiles, ascending, counted from share.first                      */
  int *going, *stop;    /* stop: *loop.stop as of the last barrier; not 0: the loop is to end              */
  const char *image, *from; /* what fits of the share's image; all of it, in global memory                */
  const uint16_t *row_slots; /* [share.rows + 1], in the image                                            */
  wr_share share;
  wr_share_layout at;
  int kept;             /* steps of the share that are in shared memory                                   */
  int first, nrows;     /* rows of the matrix: first, ..., first + nrows - 1                              */
  unsigned round;       /* grid barriers so far                                                           */
};

/* The block's copy of a scalar of the bank. */
template <typename T, class ROOM>
__device__ inline double *scalar_of(const loop_args<T, ROOM> &loop, const block_state &b, const double *at) {
  return b.bank + (at - loop.bank);
}

/* The coefficients of a step: c[OUTPUTS * TERMS], in shared memory. */
template <typename T, class ROOM>
__device__ inline const double *read_coefficients(const loop_args<T, ROOM> &loop, const block_state &b,
                                                  const wr_fused_args<T, ROOM> &f, double *) {
  int k = threadIdx.x;
  if (k < ROOM::OUTPUTS * ROOM::TERMS) {
    wr_device_coefficient from = f.c[k / ROOM::TERMS][k % ROOM::TERMS];
    b.c[k] = from.scalar ? from.factor * *scalar_of(loop, b, from.scalar) : from.factor;
  }
  __syncthreads();
  return b.c;
}

/* Those of a step with a form, the same in `own`, which each thread has in registers. */
template <typename T, int FORM>
__device__ inline const double *read_coefficients(const loop_args<T, wr_narrow> &loop, const block_state &b,
                                                  const wr_known_operation<T, FORM> &f, double *own) {
  constexpr wr_step_form form = WR_STEP_FORMS[FORM];
#pragma unroll
  for (int o = 0; o < form.nout; o++)
#pragma unroll
    for (int k = 0; k < wr_narrow::TERMS; k++)
      own[o * wr_narrow::TERMS + k] = form.ones[o] >> k & 1 ? 1
                                      : form.scaled[o] >> k & 1
                                          ? f.c[o][k].factor * *scalar_of(loop, b, f.c[o][k].scalar)
                                          : 0;
  return own;
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

/* Of a step with a form, with the same bits: a term that is left out would add 0 to a sum that is never -0. */
template <typename T, int FORM>
__device__ inline T output_of(const wr_known_operation<T, FORM> &, const double *c, int o,
                              const double (&v)[wr_narrow::SLOTS + wr_narrow::OUTPUTS]) {
  constexpr wr_step_form form = WR_STEP_FORMS[FORM];
  double sum = 0;
#pragma unroll
  for (int k = 0; k < wr_narrow::TERMS; k++)
    if ((form.ones[o] | form.scaled[o]) >> k & 1) add_term(c[o * wr_narrow::TERMS + k], v[k], sum);
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

/* share: elements of a block. OPERATION: wr_fused_args, or one with a form. */
template <typename T, class ROOM, class OPERATION>
__device__ inline void do_vectors(const loop_args<T, ROOM> &loop, const block_state &b, int share, const OPERATION &f,
                                  double (&sum)[ROOM::SUMS]) {
  double own[ROOM::OUTPUTS * ROOM::TERMS];
  int begin = share * (int)blockIdx.x, n = (int)f.n, end = begin + share < n ? begin + share : n;
  const double *c = read_coefficients(loop, b, f, own);
  for (int i = begin + (int)threadIdx.x; i < end; i += THREADS) {
    double v[ROOM::SLOTS + ROOM::OUTPUTS];
#pragma unroll
    for (int k = 0; k < ROOM::SLOTS; k++) v[k] = k < f.nin ? (double)__ldcg(f.in[k] + i) : 0;
#pragma unroll
    for (int o = 0; o < ROOM::OUTPUTS; o++) {
      v[ROOM::SLOTS + o] = 0;
      if (o >= f.nout) continue;
      T value = output_of(f, c, o, v);
      f.out[o][i] = value;
      v[ROOM::SLOTS + o] = (double)value;
    }
    add_sums(f, i, 0, v, sum);
  }
}

#endif
