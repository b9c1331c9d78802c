/* The vector operations fill and fused, whose kernels are in fused_kernel.cuh. */
#include <cuda_runtime.h>
#include <math.h>
#include <string.h>

#include "spmv/device/apply.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/fused_plan.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/stream.cuh"

static wr_cuda_state *state_of(const wr_env *env) { return (wr_cuda_state *)env->state; }

/* ---- fill ---- */

template <typename T>
__global__ void __launch_bounds__(WR_STREAM_THREADS) fill_with(int64_t n, int64_t groups, T *out, T value) {
  constexpr int V = WR_PACK_BYTES / sizeof(T);
  int64_t thread = wr_stream_thread(), threads = wr_stream_threads();
  wr_pack<T, V> values;
  for (int e = 0; e < V; e++) values.at[e] = value;
  for (int64_t g = thread; g < groups; g += threads) wr_store<T, V>(out, g, values);
  for (int64_t i = groups * V + thread; i < n; i += threads) out[i] = value;
}

template <typename T>
static wr_status launch_fill(wr_env *env, wr_vec *v, double value) {
  int64_t groups = wr_is_aligned(v->data) ? v->n / (int64_t)(WR_PACK_BYTES / sizeof(T)) : 0;
  return WR_LAUNCH((fill_with<T>), wr_stream_blocks(env, groups ? groups : v->n), WR_STREAM_THREADS, 0, env->stream,
                   v->n, groups, (T *)v->data, (T)value);
}

extern "C" wr_status wr_cuda_fill(wr_env *env, wr_vec *v, double value) {
  PASS(wr_cuda_enter_now(env));
  PASS(wr_cuda_check_vec(env, v, "the target of a fill"));
  if (v->reciprocal_bytes) return wr_fail(WR_EUSAGE, "the target of a fill is a compact vector");
  v->writes++;
  if (value == 0 && !signbit(value))
    PASS(WR_CUDA(cudaMemsetAsync(v->data, 0, (size_t)(v->n * wr_type_bytes(v->type)), state_of(env)->stream)));
  else
    PASS(v->type == WR_F32 ? launch_fill<float>(env, v, value) : launch_fill<double>(env, v, value));
  return WR_OK;
}

/* ---- fused ---- */

static bool is_term(const wr_fused *f, int k) {
  for (int o = 0; o < WR_MAX_OUTPUTS; o++)
    if (f->out[o] && f->c[o][k].factor != 0) return true;
  return false;
}

static bool is_output(const wr_fused *f, const wr_vec *v) {
  bool found = false;
  for (int o = 0; o < WR_MAX_OUTPUTS; o++) found |= v == f->out[o];
  return found;
}

/* Adds a slot for a vector that a reduction reads, unless it is an output or has a slot. */
static void add_operand(wr_fused_plan *p, const wr_fused *f, const wr_vec *v) {
  if (is_output(f, v)) return;
  for (int s = 0; s < p->nin; s++)
    if (p->in[s] == v) return;
  p->in[p->nin++] = v;
}

static wr_fused_plan make_plan(const wr_fused *f) {
  wr_fused_plan p;
  memset(&p, 0, sizeof p);
  while (p.nout < WR_MAX_OUTPUTS && f->out[p.nout]) p.nout++;
  for (int k = 0; k < WR_MAX_INPUTS; k++) {
    p.slot_of[k] = -1;
    if (f->in[k] == NULL || !is_term(f, k)) continue;
    p.slot_of[k] = p.nin;
    p.in[p.nin++] = f->in[k];
    if (k == 0 && f->times) {
      p.has_times = 1;
      p.in[p.nin++] = f->times;
    }
  }
  for (int r = 0; r < WR_FUSED_REDUCTIONS; r++) {
    const wr_reduction *reduce = &f->reduce[r];
    if (reduce->kind == WR_NO_REDUCTION) continue;
    p.nsums++;
    p.has_hashes |= reduce->kind == WR_DOT_HASH;
    add_operand(&p, f, reduce->of);
    if (wr_reduction_reads_z(reduce->kind)) add_operand(&p, f, reduce->z);
  }
  return p;
}

extern "C" wr_status wr_cuda_fused(wr_env *env, const wr_fused *f) {
  wr_fused_plan plan;
  const wr_vec *any;
  PASS(wr_cuda_enter(env));
  PASS(wr_fused_check(env, f));
  env->then_done = 0;
  plan = make_plan(f);
  any = plan.nin ? plan.in[0] : f->out[0];
  if (any != NULL) /* else there is only the step */
    PASS((any->type == WR_F32 ? wr_fused_launch_f32 : wr_fused_launch_f64)(env, &plan, f, any->n));
  return wr_then_run(env, &f->then);
}
