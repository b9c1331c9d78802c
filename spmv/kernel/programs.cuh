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
#include "spmv/device/bicgstab_scalars.h"
}
namespace pagerank {
#include "spmv/device/pagerank_scalars.h"
}

/* A program that is compiled, and what it works on. */
typedef struct wr_program {
  int which; /* its place among the known ones, from 1 on; 0: none */
  double *bank, *log; /* [nbank], as many as the program wants; [room] */
  int64_t nbank, room;
  wr_go go;
} wr_program;

static __device__ inline void wr_set_conditions(const wr_go &go, unsigned value) {
#if !defined(WR_SIMT) && CUDART_VERSION >= 12040
  for (int k = 0; k < go.conditions; k++) cudaGraphSetConditional((cudaGraphConditionalHandle)go.condition[k], value);
#else
  (void)go, (void)value;
#endif
}

static __device__ inline double wr_program_step(const wr_program &p, wr_scalar_op op, double a, double b, double c) {
  if (op.code == WR_S_PUSH && c != 0 && a >= 0 && a < (double)p.room) p.log[(int64_t)a] = b;
  if (op.code == WR_S_GO && p.go.conditions)
    wr_set_conditions(p.go, a != 0 && *(const volatile unsigned *)p.go.stop == 0);
  if (op.code == WR_S_GO && p.go.going) *p.go.going = a != 0 && *(const volatile unsigned *)p.go.stop == 0;
  return wr_scalar_step(op.code, a, b, c);
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

template <typename P, size_t... K>
static __device__ inline void wr_program_steps(const wr_program &p, double *s, std::index_sequence<K...>) {
  ((s[P::op(K).dst] = wr_program_step(p, P::op(K), s[P::op(K).a], s[P::op(K).b], s[P::op(K).c])), ...);
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

/* By one thread, the bank in its registers: loads that nobody needs the compiler drops. NEAR: from a copy in shared memory. */
template <typename P, bool NEAR>
static __device__ inline void wr_program_compiled(const wr_program &p, const double *copy) {
  double s[P::bank];
#pragma unroll
  for (int i = 0; i < P::bank; i++) s[i] = NEAR ? copy[i] : __ldcg(p.bank + i);
  wr_program_steps<P>(p, s, std::make_index_sequence<P::count>{});
  wr_program_store<P>(p.bank, s, std::make_index_sequence<P::bank>{});
}

/* One thread. What others have stored in the bank is to be visible to it. copy: of the bank as it is, in shared memory; NULL:
 * there is none. */
template <bool NEAR = false>
static __device__ inline void wr_program_run(const wr_program &p, const double *copy = nullptr) {
  switch (p.which) {
    case 1: return wr_program_compiled<pagerank_after_step, NEAR>(p, copy);
    case 2: return wr_program_compiled<bicgstab_after_first_product, NEAR>(p, copy);
    case 3: return wr_program_compiled<bicgstab_after_second_product, NEAR>(p, copy);
    case 4: return wr_program_compiled<bicgstab_after_update, NEAR>(p, copy);
    case 5: return wr_program_compiled<bicgstab_after_collect, NEAR>(p, copy);
  }
}

/* copy[WR_PROGRAM_BANK] := the bank, by the threads of a block; ready behind the next __syncthreads. */
static __device__ inline void wr_program_fetch(const wr_program &p, double *copy) {
  if (p.which == 0) return;
  for (int k = threadIdx.x; k < (int)p.nbank; k += blockDim.x) copy[k] = __ldcg(p.bank + k);
}

/* The program of a request for a kernel of env; which is 0 if it is not among the known. */
inline wr_program wr_program_find(const wr_env *env, const wr_then &then) {
  wr_program p = {};
  if (then.bank == NULL) return p;
  p.which = pagerank_after_step::is(then)             ? 1
            : bicgstab_after_first_product::is(then)  ? 2
            : bicgstab_after_second_product::is(then) ? 3
            : bicgstab_after_update::is(then)         ? 4
            : bicgstab_after_collect::is(then)        ? 5
                                                      : 0;
  p.bank = (double *)then.bank->data, p.nbank = then.bank->n;
  if (then.log) p.log = (double *)then.log->data, p.room = then.log->n;
  p.go = ((const wr_cuda_state *)env->state)->go;
  return p;
}

#endif
