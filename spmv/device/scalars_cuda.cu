/* Small programs over a bank of scalars, on a device: interpreted, and those of the solvers compiled: an iteration on
 * a small matrix waits for ninety steps, each of which the interpreter fetches, decodes and keeps in shared memory. */
#include <cuda_runtime.h>
#include <math.h>
#include <string.h>
#include <utility>

#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/warp.cuh"

namespace bicgstab {
#include "spmv/device/bicgstab_scalars.h"
}
namespace pagerank {
#include "spmv/device/pagerank_scalars.h"
}

typedef struct scalar_program {
  int count;
  wr_scalar_op ops[WR_MAX_SCALAR_OPS];
  double *bank, *log; /* [n], [room] */
  int64_t n, room;
  wr_go go;
} scalar_program;

enum { MAX_BANK = 256 }; /* scalars that a step can name; wr_scalars_check refuses larger banks */

static __device__ inline void set_conditions(const wr_go &go, unsigned value) {
#if !defined(WR_SIMT) && CUDART_VERSION >= 12040
  for (int k = 0; k < go.conditions; k++) cudaGraphSetConditional((cudaGraphConditionalHandle)go.condition[k], value);
#else
  (void)go, (void)value;
#endif
}

static __device__ inline double push(const scalar_program &p, double at, double value, double wanted) {
  if (wanted == 0) return at;
  if (at >= 0 && at < (double)p.room) p.log[(int64_t)at] = value;
  return at + 1;
}

static __device__ inline double go_on(const scalar_program &p, double a) {
  bool goes = a != 0;
  if (p.go.conditions) set_conditions(p.go, goes && *(const volatile unsigned *)p.go.stop == 0);
  return goes;
}

static __device__ inline double run_step(const scalar_program &p, wr_scalar_op op, double a, double b, double c) {
  switch (op.code) {
    case WR_S_COPY: return a;
    case WR_S_ADD: return a + b;
    case WR_S_SUB: return a - b;
    case WR_S_MUL: return a * b;
    case WR_S_DIV: return a / b;
    case WR_S_ABS: return fabs(a);
    case WR_S_LESS: return a < b;
    case WR_S_NONZERO: return a != 0 && isfinite(a);
    case WR_S_AND: return a != 0 && b != 0;
    case WR_S_OR: return a != 0 || b != 0;
    case WR_S_NOT: return a == 0;
    case WR_S_SQRT: return sqrt(a);
    case WR_S_PUSH: return push(p, a, b, c);
    case WR_S_GO: return go_on(p, a);
    default: return a != 0 ? b : c; /* WR_S_SELECT */
  }
}

/* One warp: the bank is copied to shared memory, where a step costs tens of cycles instead of hundreds. */
__global__ void __launch_bounds__(WR_WARP) run_program(WR_KERNEL_PARAMETER scalar_program program) {
  WR_SHARED(double, s, MAX_BANK);
  wr_begin_kernel();
  for (int64_t i = threadIdx.x; i < program.n; i += WR_WARP) s[i] = program.bank[i];
  __syncwarp();
  if (threadIdx.x == 0)
    for (int k = 0; k < program.count; k++) {
      wr_scalar_op op = program.ops[k];
      s[op.dst] = run_step(program, op, s[op.a], s[op.b], s[op.c]);
    }
  __syncwarp();
  for (int64_t i = threadIdx.x; i < program.n; i += WR_WARP) program.bank[i] = s[i];
}

/* ---- Compiled ---- */

/* A program as a type. bank: how many scalars it has to do with. */
#define PROGRAM(space, program)                                                                                  \
  struct space##_##program {                                                                                     \
    static constexpr int bank = space::SCALARS, count = sizeof space::program / sizeof *space::program;          \
    static __host__ __device__ constexpr wr_scalar_op op(int k) { return space::program[k]; }                    \
    static bool is(const scalar_program &p) {                                                                    \
      return p.count == count && p.n == bank && memcmp(p.ops, space::program, sizeof space::program) == 0;       \
    }                                                                                                            \
  }
PROGRAM(pagerank, after_step);
PROGRAM(bicgstab, after_first_product);
PROGRAM(bicgstab, after_second_product);
PROGRAM(bicgstab, after_update);
#undef PROGRAM

template <int CODE, int DST, int A, int B, int C>
static __device__ inline void compiled_step(const scalar_program &p, double *s) {
  s[DST] = run_step(p, wr_scalar_op{CODE, DST, A, B, C}, s[A], s[B], s[C]);
}

template <typename P, size_t... K>
static __device__ inline void compiled_steps(const scalar_program &p, double *s, std::index_sequence<K...>) {
  (compiled_step<P::op(K).code, P::op(K).dst, P::op(K).a, P::op(K).b, P::op(K).c>(p, s), ...);
}

/* One thread, the bank in its registers. */
template <typename P>
__global__ void __launch_bounds__(WR_WARP) compiled(WR_KERNEL_PARAMETER scalar_program program) {
  double s[P::bank];
  wr_begin_kernel();
  if (threadIdx.x != 0) return;
#pragma unroll
  for (int i = 0; i < P::bank; i++) s[i] = program.bank[i];
  compiled_steps<P>(program, s, std::make_index_sequence<P::count>{});
#pragma unroll
  for (int i = 0; i < P::bank; i++) program.bank[i] = s[i];
}

template <typename P>
static wr_status launch_compiled(wr_env *env, const scalar_program &p) {
  return WR_LAUNCH_EARLY(env, (compiled<P>), 1, WR_WARP, 0, p);
}

static wr_status launch(wr_env *env, const scalar_program &p) {
  if (pagerank_after_step::is(p)) return launch_compiled<pagerank_after_step>(env, p);
  if (bicgstab_after_first_product::is(p)) return launch_compiled<bicgstab_after_first_product>(env, p);
  if (bicgstab_after_second_product::is(p)) return launch_compiled<bicgstab_after_second_product>(env, p);
  if (bicgstab_after_update::is(p)) return launch_compiled<bicgstab_after_update>(env, p);
  return WR_LAUNCH_EARLY(env, (run_program), 1, WR_WARP, 0, p);
}

extern "C" wr_status wr_cuda_scalars(wr_env *env, wr_vec *bank, wr_vec *log, const wr_scalar_op *ops, int count) {
  wr_status status;
  scalar_program program;
  TRY(wr_cuda_enter(env));
  TRY(wr_scalars_check(env, bank, log, ops, count));
  memset(&program, 0, sizeof program);
  program.count = count;
  if (count > 0) memcpy(program.ops, ops, (size_t)count * sizeof *ops);
  program.bank = (double *)bank->data, program.n = bank->n;
  if (log) program.log = (double *)log->data, program.room = log->n;
  program.go = ((wr_cuda_state *)env->state)->go;
  bank->writes++;
  if (log) log->writes++;
  TRY(launch(env, program));
done:
  return status;
}

extern "C" wr_status wr_cuda_check_image(const wr_env *env) {
  cudaFuncAttributes attributes;
  cudaError_t error = cudaFuncGetAttributes(&attributes, run_program);
  /* Code for older cards, translated for this one, does not wait. */
  ((wr_cuda_state *)env->state)->early = error == cudaSuccess && attributes.ptxVersion >= 90;
  if (error != cudaErrorNoKernelImageForDevice && error != cudaErrorInvalidDeviceFunction)
    return wr_cuda_check(error, "cudaFuncGetAttributes");
  (void)cudaGetLastError();
  return wr_fail(WR_EUNAVAILABLE,
                 "this build has no code for %s (CUDA device %d); run make again with CUDA_ARCH set to its "
                 "architecture (such as sm_90)",
                 env->device_name, env->device);
}
