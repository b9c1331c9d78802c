/* THE epilogue as device code: what happens to row i once its sum is known (spmv.h, wr_epilogue), and how the sums of all
 * blocks become one number in the same launch. Whatever completes rows includes this.
 *
 *   double shift = wr_finish_shift(finish), sum[WR_MAX_REDUCTIONS] = {0, 0, 0};
 *   for every row i that this thread completes:
 *     wr_finish_row(finish, shift, i, alpha * (A x)_i + beta * y_i, y, sum);
 *     and only now clear y_next[i], which may have been a z
 *   wr_sums_finish(finish.sums, sum);      every thread of every block, once, at the end
 */
#ifndef WR_FINISH_CUH
#define WR_FINISH_CUH

#include "spmv/device/cuda_state.h"
#include "spmv/kernel/async_copy.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/programs.cuh"
#include "spmv/kernel/spin.cuh"
#include "spmv/kernel/warp.cuh"
#include "spmv/spmv.h"

/* Where the reductions of a launch go: a kernel parameter. */
typedef struct wr_sums {
  int count;
  wr_reduction_kind kind[WR_MAX_REDUCTIONS]; /* [count] */
  double *into[WR_MAX_REDUCTIONS];           /* [count] */
  int64_t before;                            /* blocks of earlier launches that have left their part       */
  double *partial;                           /* [count][stride] a part a block, those of earlier launches first */
  int64_t stride;                            /* at least the blocks of all launches                        */
  unsigned *arrived;
  wr_scalar_program program; /* what the last block runs then */
} wr_sums;

/* Whether a kind reads a second vector. */
__host__ __device__ inline bool wr_reduction_has_z(wr_reduction_kind kind) {
  return kind == WR_DOT || kind == WR_L1DIFF || kind == WR_SUM_UNSCALED;
}

/* sum += the terms of V elements. z is read by the kinds that have one. */
template <int V>
__device__ inline void wr_sum_terms(wr_reduction_kind kind, const double (&u)[V], const double (&z)[V], double &sum) {
  switch (kind) {
    case WR_NO_REDUCTION: break;
    case WR_DOT:
      for (int e = 0; e < V; e++) sum += u[e] * z[e];
      break;
    case WR_NRM2SQ:
      for (int e = 0; e < V; e++) sum += u[e] * u[e];
      break;
    case WR_L1DIFF:
      for (int e = 0; e < V; e++) sum += fabs(u[e] - z[e]);
      break;
    case WR_SUM:
      for (int e = 0; e < V; e++) sum += u[e];
      break;
    case WR_SUM_UNSCALED:
      for (int e = 0; e < V; e++) sum += z[e] == 0 ? u[e] : 0;
      break;
  }
}

/* A part of each sum to its place. One thread. */
__device__ inline void wr_sums_store(const wr_sums &s, int64_t place, const double (&sum)[WR_MAX_REDUCTIONS]) {
#pragma unroll
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++)
    if (r < s.count) s.partial[r * s.stride + place] = sum[r];
}

/* Leaves a block's part of each sum, to be added up by a later launch with `before` set. Every thread of the block. */
__device__ inline void wr_sums_leave(const wr_sums &s, double (&sum)[WR_MAX_REDUCTIONS]) {
  if (s.count == 0) return;
  wr_block_sum(sum, s.count);
  if (threadIdx.x == 0) wr_sums_store(s, s.before + blockIdx.x, sum);
}

/* The same for each warp, `before` counting warps: nobody waits for a block's slowest warp. Every thread of the block. */
__device__ inline void wr_sums_leave_warp(const wr_sums &s, double (&sum)[WR_MAX_REDUCTIONS]) {
  int64_t warp = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WR_WARP;
  wr_warp_sums(sum, s.count);
  if (threadIdx.x % WR_WARP == 0) wr_sums_store(s, s.before + warp, sum);
}

/* Whether this is the last block of the grid to get here; it sees all that the threads of the others have written before. Every
 * thread of the block. What thread 0 of a block has seen written is visible before its arrival; the fence after it keeps the
 * last block from reading earlier. */
__device__ inline bool wr_is_last_block(unsigned *arrived) {
  WR_SHARED(int, is_last, 1);
  __syncthreads();
  if (threadIdx.x == 0) is_last[0] = wr_arrive(arrived) == gridDim.x - 1;
  __syncthreads();
  if (!is_last[0]) return false;
  __threadfence();
  return true;
}

/* sum += the parts first + thread, first + thread + threads, ... before `end`, in this order; a few of them are on their way at
 * a time, since a thread has little else to wait for. */
__device__ inline void wr_sums_add(const wr_sums &s, int64_t first, int64_t end, int64_t threads,
                                   double (&sum)[WR_MAX_REDUCTIONS]) {
  constexpr int AT_ONCE = 4;
  for (int64_t b = first; b < end; b += AT_ONCE * threads) {
    double part[AT_ONCE][WR_MAX_REDUCTIONS];
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++)
#pragma unroll
      for (int r = 0; r < WR_MAX_REDUCTIONS; r++)
        part[k][r] = r < s.count && b + k * threads < end ? __ldcg(s.partial + r * s.stride + b + k * threads) : 0;
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++)
#pragma unroll
      for (int r = 0; r < WR_MAX_REDUCTIONS; r++) sum[r] += part[k][r];
  }
}

/* By the last block: sum, and what `blocks` blocks have left from the first on, in the order of the blocks, so that the result
 * does not depend on who was last. Then the program: its scalars and the wish come from memory beside the sums, not behind
 * them. */
__device__ inline void wr_sums_end(const wr_sums &s, int64_t first, int64_t blocks, double (&sum)[WR_MAX_REDUCTIONS]) {
  WR_SHARED(double, bank, WR_PROGRAM_BANK);
  wr_program_fetch(s.program, bank);
  unsigned wish = threadIdx.x == 0 ? wr_program_wish(s.program) : 0;
  wr_sums_add(s, first + threadIdx.x, first + blocks, blockDim.x, sum);
  wr_block_sum(sum, s.count);
  if (threadIdx.x != 0) return;
#pragma unroll
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++)
    if (r < s.count) {
      bool near = s.program.which && s.into[r] >= s.program.bank && s.into[r] < s.program.bank + s.program.nbank;
      *s.into[r] = sum[r];
      if (near) bank[s.into[r] - s.program.bank] = sum[r];
    }
  *s.arrived = 0;
  wr_program_run<true>(s.program, wish, bank);
}

/* The last block to arrive ends the sums. Parts of earlier launches, of which there may be tens of thousands, are first spread
 * over this one's threads: one block alone took longer over 18 thousand of them than small multiplies take. */
__device__ inline void wr_sums_finish(const wr_sums &s, double (&sum)[WR_MAX_REDUCTIONS]) {
  if (s.count == 0) return;
  wr_sums_add(s, (int64_t)blockIdx.x * blockDim.x + threadIdx.x, s.before, (int64_t)gridDim.x * blockDim.x, sum);
  wr_sums_leave(s, sum);
  if (!wr_is_last_block(s.arrived)) return;
#pragma unroll
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) sum[r] = 0;
  wr_sums_end(s, s.before, gridDim.x, sum);
}

/* 1 / number, rounded correctly, without the branches of a division: an approximation that is right to the last place but one,
 * then a step of Newton's with fused operations, which rounds correctly unless all bits of the divisor's mantissa are ones
 * (Markstein 1990), of which a float has 24 and a double 53. number: below 2^16 in f32; 0 gives anything. */
static __device__ inline float wr_invert(uint32_t number, float) {
  float d = (float)number;
#if defined(WR_SIMT) || !defined(__CUDA_ARCH__)
  return 1 / d;
#else
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(d));
  return fmaf(r, fmaf(-d, r, 1.0f), r);
#endif
}

static __device__ inline double wr_invert(uint32_t number, double) {
  double d = (double)number;
#if defined(WR_SIMT) || !defined(__CUDA_ARCH__)
  return 1 / d;
#else
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(d)); /* right to 20 bits, then to 40, then to nearly all */
  for (int step = 0; step < 3; step++) r = fma(r, fma(-d, r, 1.0), r);
  return r;
#endif
}

/* Element i of a compact vector of whole numbers. */
template <typename T>
__device__ inline T wr_reciprocal(const void *whole, int bytes, int64_t i) {
  uint32_t number = bytes == 1   ? ((const uint8_t *)whole)[i]
                    : bytes == 2 ? ((const uint16_t *)whole)[i]
                                 : ((const uint32_t *)whole)[i];
  return number ? wr_invert(number, T()) : (T)0;
}

/* An epilogue as a kernel parameter. All members NULL or 0: nothing but y is stored. */
template <typename T>
struct wr_finish {
  const double *shift; /* NULL: no shift                                                  */
  const T *shift_dir;  /* [n], NULL: ones                                                 */
  const T *scale;      /* [n], NULL: none, or compact                                     */
  const void *whole;   /* [n] of whole_bytes each: the scale if it is compact             */
  int whole_bytes;
  T *scaled;           /* [n], NULL: none                                                 */
  const T *z[WR_MAX_REDUCTIONS]; /* [n] each, NULL where the kind needs none or has scale */
  wr_sums sums;
};

/* What the epilogues of the solvers' loops are, so that a kernel may be compiled for one of them: told at run time, an epilogue
 * of two sums takes as many instructions as the multiply of a short row. */
enum wr_finish_shape {
  WR_FINISH_ANY,
  WR_FINISH_NONE, /* y alone                                                                   */
  WR_FINISH_SUMS, /* dot with a vector and norm: the products of BiCGSTAB                      */
  WR_FINISH_RANKS /* shift, scale, change and dangling sum: a step of PageRank, not personal   */
};

template <typename T>
inline wr_finish_shape wr_finish_shape_of(const wr_finish<T> &f) {
  bool none = !f.sums.count && !f.shift && !f.scaled;
  bool two = f.sums.count == 2 && f.z[0] && !f.z[1] && !f.shift_dir, scales = f.scale || f.whole;
  if (none) return WR_FINISH_NONE;
  wr_reduction_kind first = f.sums.kind[0], second = f.sums.kind[1];
  if (two && !f.shift && !scales && !f.scaled && first == WR_DOT && second == WR_NRM2SQ) return WR_FINISH_SUMS;
  if (two && f.shift && scales && f.scaled && first == WR_L1DIFF && second == WR_SUM_UNSCALED) return WR_FINISH_RANKS;
  return WR_FINISH_ANY;
}

/* f, of which the compiler then knows what SHAPE says. */
template <wr_finish_shape SHAPE, typename T>
__device__ inline wr_finish<T> wr_finish_known(const wr_finish<T> &f) {
  wr_finish<T> known = f;
  if (SHAPE == WR_FINISH_ANY) return known;
  known.shift_dir = nullptr, known.z[1] = known.z[2] = nullptr, known.sums.count = 2;
  if (SHAPE != WR_FINISH_RANKS)
    known.shift = nullptr, known.scale = nullptr, known.whole = nullptr, known.scaled = nullptr;
  if (SHAPE == WR_FINISH_NONE) {
    known.z[0] = nullptr, known.sums.count = 0;
    return known;
  }
  if (SHAPE == WR_FINISH_SUMS) {
    known.sums.kind[0] = WR_DOT, known.sums.kind[1] = WR_NRM2SQ;
  } else {
    if (!known.shift || !known.scaled) __builtin_unreachable();
    known.sums.kind[0] = WR_L1DIFF, known.sums.kind[1] = WR_SUM_UNSCALED;
  }
  if (!known.z[0]) __builtin_unreachable();
  return known;
}

template <typename T>
__device__ inline double wr_finish_shift(const wr_finish<T> &f) {
  return f.shift ? *f.shift : 0;
}

/* Asks for what the epilogue of `rows` rows from `first` on will read, while their sums are still to be found; the threads
 * of the block share the work. */
template <typename T>
__device__ inline void wr_finish_prefetch(const wr_finish<T> &f, int64_t first, int64_t rows) {
  constexpr int64_t LINE = 128 / sizeof(T);
  for (int64_t k = (int64_t)threadIdx.x * LINE; k < rows; k += (int64_t)blockDim.x * LINE) {
    if (f.shift_dir) wr_prefetch(f.shift_dir + first + k);
    if (f.scale) wr_prefetch(f.scale + first + k);
    if (f.whole) wr_prefetch((const char *)f.whole + (first + k) * f.whole_bytes);
#pragma unroll
    for (int r = 0; r < WR_MAX_REDUCTIONS; r++)
      if (f.z[r]) wr_prefetch(f.z[r] + first + k);
  }
}

/* What an element of y becomes before its epilogue, given the row's sum and, unless beta is 0, what it was. */
__device__ inline double wr_finish_sum(double alpha, double beta, double old, double sum) {
  return beta == 0 ? alpha * sum : alpha * sum + beta * old;
}

/* The same for y[i], which is read only if beta needs it. */
template <typename T>
__device__ inline double wr_finish_beta(double alpha, double beta, const T *y, int64_t i, double sum) {
  return wr_finish_sum(alpha, beta, beta == 0 ? 0 : (double)y[i], sum);
}

/* V rows on their way: their sums in f64, and what an epilogue reads of them, 0 where it has no vector. */
template <typename T, int V>
struct wr_finish_rows {
  double value[V];
  T shift_dir[V], scale[V], z[WR_MAX_REDUCTIONS][V];
};

/* The arithmetic of V rows: y and scaled as they are to be stored, and the rows' terms added to sum. */
template <typename T, int V>
__device__ inline void wr_finish_values(const wr_finish<T> &f, double shift, const wr_finish_rows<T, V> &row, T (&y)[V],
                                        T (&scaled)[V], double (&sum)[WR_MAX_REDUCTIONS]) {
  double stored[V], z[V];
#pragma unroll
  for (int e = 0; e < V; e++) {
    double added = f.shift_dir ? shift * (double)row.shift_dir[e] : shift;
    y[e] = (T)(f.shift ? row.value[e] + added : row.value[e]);
    stored[e] = (double)y[e];
    scaled[e] = row.scale[e] * y[e]; /* in f32 what the exact product would be rounded to, without conversions */
  }
#pragma unroll
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++)
    if (r < f.sums.count) {
      wr_reduction_kind kind = f.sums.kind[r];
      if (kind == WR_SUM_UNSCALED) {
        for (int e = 0; e < V; e++) sum[r] += row.scale[e] == 0 ? stored[e] : 0;
        continue;
      }
      for (int e = 0; e < V; e++) z[e] = (double)row.z[r][e];
      wr_sum_terms(kind, stored, z, sum[r]);
    }
}

/* What an epilogue reads of row i, beside its sum. Apart from the rest so that a thread with several rows can have all of it on
 * its way before it stores the first. */
template <typename T>
__device__ inline void wr_finish_load(const wr_finish<T> &f, int64_t i, wr_finish_rows<T, 1> &row) {
  row.shift_dir[0] = f.shift_dir ? f.shift_dir[i] : (T)0;
  row.scale[0] = f.scale ? f.scale[i] : f.whole ? wr_reciprocal<T>(f.whole, f.whole_bytes, i) : (T)0;
#pragma unroll
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) row.z[r][0] = f.z[r] ? f.z[r][i] : (T)0;
}

/* All that is stored for row i, from what was read of it and row.value. */
template <typename T>
__device__ inline void wr_finish_store(const wr_finish<T> &f, double shift, int64_t i, const wr_finish_rows<T, 1> &row,
                                       T *y, double (&sum)[WR_MAX_REDUCTIONS]) {
  T stored[1], scaled[1];
  wr_finish_values(f, shift, row, stored, scaled, sum);
  y[i] = stored[0];
  if (f.scaled) f.scaled[i] = scaled[0];
}

/* Row i from its sum in f64 to all that is stored for it. */
template <typename T>
__device__ inline void wr_finish_row(const wr_finish<T> &f, double shift, int64_t i, double value, T *y,
                                     double (&sum)[WR_MAX_REDUCTIONS]) {
  wr_finish_rows<T, 1> row;
  wr_finish_load(f, i, row);
  row.value[0] = value;
  wr_finish_store(f, shift, i, row, y, sum);
}

/* The parameter for one reduction more; those with nowhere to go are left out. */
inline int wr_sums_add(wr_sums *s, const wr_reduction *r) {
  if (r->kind == WR_NO_REDUCTION || r->into.bank == NULL) return -1;
  s->kind[s->count] = r->kind;
  s->into[s->count] = (double *)r->into.bank->data + r->into.index;
  r->into.bank->writes++;
  return s->count++;
}

inline wr_sums wr_sums_make(const wr_workspace *workspace) {
  wr_sums s = {};
  s.partial = workspace->partial;
  s.stride = workspace->max_blocks;
  s.arrived = workspace->arrived;
  return s;
}

/* The last kernel of an operation will run the program behind its sums, if it is one of those that are compiled. */
inline void wr_sums_then(wr_sums *s, wr_env *env, const wr_then &then) {
  if (s->count == 0 || then.ops == NULL) return;
  s->program = wr_program_find(env, then);
  if (s->program.which == 0) return;
  env->then_done = 1;
  then.bank->writes++;
  if (then.log) then.log->writes++;
}

/* The parameter for a request that was checked, whose last kernel ends in wr_sums_finish or wr_sums_end; counts the writes of
 * what it will change. epilogue NULL: just y. */
template <typename T>
inline wr_finish<T> wr_finish_make(wr_env *env, const wr_epilogue *e) {
  wr_finish<T> f = {};
  f.sums = wr_sums_make(&((const wr_cuda_state *)env->state)->workspace);
  if (e == NULL) return f;
  if (e->shift.bank) f.shift = (const double *)e->shift.bank->data + e->shift.index;
  if (f.shift && e->shift_dir) f.shift_dir = (const T *)e->shift_dir->data;
  if (e->scale && e->scale->whole) f.whole = e->scale->data, f.whole_bytes = e->scale->whole;
  if (e->scale && !e->scale->whole) f.scale = (const T *)e->scale->data;
  if (e->scaled) {
    f.scaled = (T *)e->scaled->data;
    e->scaled->writes++;
  }
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) {
    int at = wr_sums_add(&f.sums, &e->reduce[r]);
    wr_reduction_kind kind = e->reduce[r].kind;
    if (at >= 0 && wr_reduction_has_z(kind) && kind != WR_SUM_UNSCALED) f.z[at] = (const T *)e->reduce[r].z->data;
  }
  wr_sums_then(&f.sums, env, e->then);
  return f;
}

#endif
