/* The solvers' scalar programs compiled: an iteration on a small system waits for ninety steps, each of which an interpreter
 * fetches, decodes and keeps in shared memory. By themselves they are kernels of scalars_cuda.cu; behind the sums of another
 * kernel its last block runs them (finish.cuh). */
#ifndef WR_PROGRAMS_CUH
#define WR_PROGRAMS_CUH

#include <cuda_runtime.h>
#include <string.h>
#include <utility>

#include "spmv/device/cuda_state.h"
#include "spmv/device/scalar_step.h"

namespace bicgstab {
#include "spmv/steps/bicgstab_scalars.h"
}
namespace pagerank {
#include "spmv/steps/pagerank_scalars.h"
}

/* The programs that are compiled, a bit each: tests of bits stay branches, while a table of them would be read from memory. */
enum {
  WR_PROGRAM_UPDATE = 1,
  WR_PROGRAM_FIRST_PRODUCT = 2,
  WR_PROGRAM_SECOND_PRODUCT = 4,
  WR_PROGRAM_COLLECT = 8,
  WR_PROGRAM_RANKS = 16
};

/* A program that is compiled, and what it works on. */
typedef struct wr_scalar_program {
  int which; /* WR_PROGRAM_..., 0: none */
  double *bank, *log; /* [nbank], as many as the program wants; [room] */
  int64_t nbank;
  double room;
  wr_go go;
} wr_scalar_program;

static __device__ inline void wr_set_conditions(const wr_go &go, unsigned value) {
#if !defined(WR_SIMT) && CUDART_VERSION >= 12040
  for (int k = 0; k < go.conditions; k++) cudaGraphSetConditional((cudaGraphConditionalHandle)go.condition[k], value);
#else
  (void)go, (void)value;
#endif
}

/* Not 0: somebody wants the loop to end. From memory: asked for well before a program, which would wait for it at its end. */
static __device__ inline unsigned wr_program_wish(const wr_scalar_program &p) {
  return p.go.stop ? *(const volatile unsigned *)p.go.stop : 0;
}

static __device__ inline void wr_program_push(const wr_scalar_program &p, double at, double value) {
  if (at >= 0 && at < p.room) p.log[(int64_t)at] = value;
}

static __device__ inline void wr_program_go(const wr_scalar_program &p, bool goes_on) {
  if (p.go.conditions) wr_set_conditions(p.go, goes_on);
  if (p.go.tells) *p.go.going = goes_on;
}

/* Step by step. s: the bank, which only this thread has written in this kernel. */
static __device__ inline void wr_program_interpret(const wr_scalar_program &p, const wr_scalar_op *ops, int count,
                                                   unsigned wish, volatile double *s) {
#pragma unroll 1
  for (int k = 0; k < count; k++) {
    wr_scalar_op op = ops[k];
    double a = s[op.a], b = s[op.b], c = s[op.c];
    if (op.code == WR_S_PUSH && c != 0) wr_program_push(p, a, b);
    if (op.code == WR_S_GO) wr_program_go(p, a != 0 && wish == 0);
    s[op.dst] = wr_scalar_step(op.code, a, b, c);
  }
}

/* A program as a type. bank: how many scalars it has to do with. */
#define WR_PROGRAM_TYPE(space, program)                                                                          \
  struct space##_##program {                                                                                     \
    static constexpr int bank = space::SCALARS, count = sizeof space::program / sizeof *space::program;          \
    static __host__ __device__ constexpr wr_scalar_op op(int k) { return space::program[k]; }                    \
    static bool is(const wr_then &t) {                                                                           \
      return t.count == count && t.bank->n == bank && memcmp(t.ops, space::program, sizeof space::program) == 0; \
    }                                                                                                            \
  }
WR_PROGRAM_TYPE(pagerank, after_step);
WR_PROGRAM_TYPE(bicgstab, after_first_product);
WR_PROGRAM_TYPE(bicgstab, after_second_product);
WR_PROGRAM_TYPE(bicgstab, after_update);
WR_PROGRAM_TYPE(bicgstab, after_collect);
#undef WR_PROGRAM_TYPE

/* A program's scalars in registers; is: those that differ from 0. Of each the compiler keeps what is asked for later. */
template <int BANK>
struct wr_scalars {
  double value[BANK];
  bool is[BANK];
};

/* 0 or 1, without the conversion of a whole number, which takes ten times as long. */
static __device__ inline double wr_flag(bool is) {
#if defined(WR_SIMT) || !defined(__CUDA_ARCH__)
  return is;
#else
  return __hiloint2double(is ? 0x3ff00000 : 0, 0);
#endif
}

/* Whether |x| is in [2^-900, 2^901). */
static __device__ inline bool wr_is_ordinary(double x) {
  unsigned high = (unsigned)(__double_as_longlong(x) >> 32) & 0x7fffffff, least = (1023 - 900) << 20;
  return high - least < 1801u << 20;
}

/* a / b as div.rn.f64 does it while nothing on the way comes near the ends of the range: the same steps, hence the same bits.
 * But without its branch to other steps, so that several divisions overlap. fine: becomes false if it is not to be used. Of
 * +0 these steps make the right zero too, and of 0 / 0 NaN: what iterations behind the last one that counts divide. */
static __device__ inline double wr_quotient(double a, double b, bool &fine) {
#if defined(WR_SIMT) || !defined(__CUDA_ARCH__)
  double q = a / b;
#else
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(b));
  r = __hiloint2double(__double2hiint(r), 1);
  double e = fma(-b, r, 1.0);
  r = fma(r, fma(e, e, e), r);
  r = fma(r, fma(-b, r, 1.0), r);
  double q = __dmul_rn(a, r);
  q = fma(r, fma(-b, q, a), q);
#endif
  bool a_fine = wr_is_ordinary(a), b_fine = wr_is_ordinary(b), q_fine = wr_is_ordinary(q);
  bool nothing = (__double_as_longlong(a) == 0) & ((b == 0) | b_fine);
  fine = fine & (nothing | (a_fine & b_fine & q_fine)); /* & and |, because && and || would branch */
  return q;
}

/* A step in registers. What it does beside, it leaves while a quotient before it is not fine. */
template <int BANK>
static __device__ inline void wr_compiled_step(const wr_scalar_program &p, wr_scalar_op op, unsigned wish,
                                               wr_scalars<BANK> &s, bool &fine) {
  double a = s.value[op.a], b = s.value[op.b], c = s.value[op.c];
  bool is_a = s.is[op.a], is_c = s.is[op.c];
  if (op.code == WR_S_PUSH && (fine & is_c)) wr_program_push(p, a, b);
  if (op.code == WR_S_GO && fine) wr_program_go(p, is_a & (wish == 0));
  if (wr_scalar_is_flag(op.code)) {
    s.is[op.dst] = wr_scalar_flag(op.code, a, b, is_a, s.is[op.b]);
    s.value[op.dst] = wr_flag(s.is[op.dst]);
  } else {
    s.value[op.dst] = op.code == WR_S_DIV   ? wr_quotient(a, b, fine)
                      : op.code == WR_S_MUL ? __dmul_rn(a, b) /* never part of a fused operation: as interpreted */
                                            : wr_scalar_value(op.code, a, b, c, is_a, is_c);
    s.is[op.dst] = s.value[op.dst] != 0;
  }
}

template <typename P, size_t... K>
static __device__ inline void wr_compiled_steps(const wr_scalar_program &p, unsigned wish, wr_scalars<P::bank> &s,
                                                bool &fine, std::index_sequence<K...>) {
  (wr_compiled_step(p, P::op(K), wish, s, fine), ...);
}

typedef struct wr_program_steps {
  const wr_scalar_op *ops; /* [count] */
  int count;
} wr_program_steps;

/* The program where a kernel can look at its steps one after the other. */
template <typename P, size_t... K>
static __device__ inline const wr_scalar_op *wr_program_table(std::index_sequence<K...>) {
  static const wr_scalar_op table[] = {P::op(K)...};
  return table;
}

template <typename P>
static __host__ __device__ constexpr bool wr_program_writes(int scalar) {
  for (int k = 0; k < P::count; k++)
    if (P::op(k).dst == scalar) return true;
  return false;
}

template <typename P, size_t... I>
static __device__ inline void wr_program_store(double *bank, const double *s, std::index_sequence<I...>) {
  ((wr_program_writes<P>(I) ? (void)(bank[I] = s[I]) : (void)0), ...);
}

/* Scalars of the compiled programs at most. */
constexpr int WR_PROGRAM_BANK = (int)bicgstab::SCALARS > (int)pagerank::SCALARS ? (int)bicgstab::SCALARS
                                                                                : (int)pagerank::SCALARS;

/* By one thread, the bank in its registers: loads that nobody needs the compiler drops. NEAR: from a copy in shared memory.
 * If a quotient is out of the ordinary, all steps once more, as nothing has been stored. */
template <typename P, bool NEAR>
static __device__ inline void wr_program_compiled(const wr_scalar_program &p, unsigned wish, const double *copy,
                                                  wr_program_steps &again) {
  wr_scalars<P::bank> s;
  bool fine = true;
#pragma unroll
  for (int i = 0; i < P::bank; i++) s.value[i] = NEAR ? copy[i] : __ldcg(p.bank + i), s.is[i] = s.value[i] != 0;
  wr_compiled_steps<P>(p, wish, s, fine, std::make_index_sequence<P::count>{});
  if (fine)
    wr_program_store<P>(p.bank, s.value, std::make_index_sequence<P::bank>{});
  else
    again = {wr_program_table<P>(std::make_index_sequence<P::count>{}), P::count};
}

/* One thread. What others have stored in the bank is to be visible to it. wish: what wr_program_wish said. copy: of the bank as
 * it is, in shared memory; NULL: there is none. */
template <bool NEAR = false>
static __device__ inline void wr_program_run(const wr_scalar_program &p, unsigned wish, const double *copy = nullptr) {
  wr_program_steps again = {nullptr, 0};
  if (p.which & WR_PROGRAM_UPDATE)
    wr_program_compiled<bicgstab_after_update, NEAR>(p, wish, copy, again);
  else if (p.which & WR_PROGRAM_FIRST_PRODUCT)
    wr_program_compiled<bicgstab_after_first_product, NEAR>(p, wish, copy, again);
  else if (p.which & WR_PROGRAM_SECOND_PRODUCT)
    wr_program_compiled<bicgstab_after_second_product, NEAR>(p, wish, copy, again);
  else if (p.which & WR_PROGRAM_COLLECT)
    wr_program_compiled<bicgstab_after_collect, NEAR>(p, wish, copy, again);
  else if (p.which & WR_PROGRAM_RANKS)
    wr_program_compiled<pagerank_after_step, NEAR>(p, wish, copy, again);
  if (again.count) wr_program_interpret(p, again.ops, again.count, wish, p.bank);
}

/* copy[WR_PROGRAM_BANK] := the bank, by the threads of a block; ready behind the next __syncthreads. */
static __device__ inline void wr_program_fetch(const wr_scalar_program &p, double *copy) {
  if (p.which == 0) return;
  for (int k = threadIdx.x; k < (int)p.nbank; k += blockDim.x) copy[k] = __ldcg(p.bank + k);
}

/* The program of a request for a kernel of env; which is 0 if it is not among the known. */
inline wr_scalar_program wr_program_find(const wr_env *env, const wr_then &then) {
  wr_scalar_program p = {};
  if (then.bank == NULL) return p;
  p.which = bicgstab_after_update::is(then)           ? WR_PROGRAM_UPDATE
            : bicgstab_after_first_product::is(then)  ? WR_PROGRAM_FIRST_PRODUCT
            : bicgstab_after_second_product::is(then) ? WR_PROGRAM_SECOND_PRODUCT
            : bicgstab_after_collect::is(then)        ? WR_PROGRAM_COLLECT
            : pagerank_after_step::is(then)           ? WR_PROGRAM_RANKS
                                                      : 0;
  p.bank = (double *)then.bank->data, p.nbank = then.bank->n;
  if (then.log) p.log = (double *)then.log->data, p.room = (double)then.log->n;
  p.go = ((const wr_cuda_state *)env->state)->go;
  return p;
}

#endif
