/* All steps give the same bits in bank and log on the device and on the host, for any scalars: in a separate kernel, behind the
 * sums of an operation, and behind an operation that is left out because its `when` is 0. */
#include <float.h>

#include "spmv/kernel/steps.cuh"
#include "tests/kernels/on_device.h"

enum { ROOM = 8, LENGTH = 8, RUNS = 60 };

static uint64_t state = 20261122;

static uint64_t random_bits(void) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}

/* In [-1, 1). */
static double random_value(void) { return (double)(random_bits() >> 11) * 0x1p-52 - 1; }

/* A scalar for a test. tame: 0, 1 or in [0.5, 5.5), so that conditions of steps are true as often as false. */
static double random_scalar(bool tame) {
  static const double known[] = {
      0,   1,   2,        3,         7,          -1,     0.5,     1e-5,   -0.0,     NAN, INFINITY, -INFINITY,
      1e300, -1e-300, 0x1p-900, 0x1p901, -0x1p-901, 5e-324, DBL_MAX, DBL_MIN};
  int kind = (int)(random_bits() >> 40) % 3;
  if (tame) return kind == 0 ? 0 : kind == 1 ? 1 : 3 + 2.5 * random_value();
  if (kind == 0) return known[(random_bits() >> 40) % (sizeof known / sizeof *known)];
  return kind == 1 ? random_value() : ldexp(random_value(), (int)(random_bits() >> 40) % 2100 - 1050);
}

static bool same(double a, double b) { return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0; }

/* A bank, a log and a vector at the place of env, for one step. */
typedef struct field {
  wr_env *env;
  wr_vec bank, log, x;
} field;

static field new_field(wr_env *env, const double *bank, int nbank, const double *log) {
  field f = {env, {}, {}, {}};
  CHECK_OK(env->ops->alloc(env, nbank, WR_F64, "a bank", &f.bank));
  CHECK_OK(env->ops->alloc(env, ROOM, WR_F64, "a log", &f.log));
  CHECK_OK(env->ops->alloc(env, LENGTH, env->type, "a vector", &f.x));
  CHECK_OK(env->ops->upload(env, &f.bank, bank));
  CHECK_OK(env->ops->upload(env, &f.log, log));
  CHECK_OK(env->ops->fill(env, &f.x, 0.25));
  return f;
}

static void take_field(field *f, double *bank, double *log) {
  CHECK_OK(f->env->ops->download(f->env, &f->bank, bank));
  CHECK_OK(f->env->ops->download(f->env, &f->log, log));
  f->env->ops->release(f->env, &f->bank), f->env->ops->release(f->env, &f->log), f->env->ops->release(f->env, &f->x);
}

enum way { ALONE, BEHIND_SUMS, LEFT_OUT, WAYS };

/* Runs the step on bank[step->scalars] and log[ROOM]. Behind sums, the first scalar is the sum. */
static void run(wr_env *env, const wr_step *step, enum way way, double *bank, double *log) {
  field f = new_field(env, bank, step->scalars, log);
  wr_vec never = {};
  wr_then then = {step, &f.bank, &f.log};
  if (way == ALONE) {
    CHECK_OK(env->ops->step(env, &then));
  } else {
    wr_fused sum = {};
    CHECK_OK(env->ops->alloc(env, 1, WR_F64, "a condition", &never));
    sum.in[0] = &f.x, sum.reduce[0] = {WR_SUM, &f.x, nullptr, {&f.bank, 0}}, sum.then = then;
    if (way == LEFT_OUT) sum.when = {&never, 0};
    CHECK_OK(env->ops->fused(env, &sum));
  }
  take_field(&f, bank, log);
  env->ops->release(env, &never);
}

static void test_step(wr_env *env, wr_env *host, const wr_step *step, bool tame) {
  static const char *const names[WAYS] = {"alone", "behind sums", "left out"};
  double start[WR_MAX_SCALARS], log[ROOM];
  CASE(step->name);
  for (int k = 0; k < step->scalars; k++) start[k] = random_scalar(tame);
  for (int k = 0; k < ROOM; k++) log[k] = -k;
  for (int way = 0; way < WAYS; way++) {
    double banks[2][WR_MAX_SCALARS], logs[2][ROOM];
    for (int k = 0; k < 2; k++) {
      memcpy(banks[k], start, sizeof start), memcpy(logs[k], log, sizeof log);
      run(k ? env : host, step, (enum way)way, banks[k], logs[k]);
    }
    for (int k = 0; k < step->scalars; k++)
      CHECKF(same(banks[0][k], banks[1][k]), "%s: scalar %d is %a, by the host %a", names[way], k, banks[1][k],
             banks[0][k]);
    for (int k = 0; k < ROOM; k++)
      CHECKF(same(logs[0][k], logs[1][k]), "%s: entry %d of the log is %a, by the host %a", names[way], k, logs[1][k],
             logs[0][k]);
  }
}

/* A step that is not in WR_STEP_LIST, with a separate kernel. */
typedef struct doubling_scalars {
  double sum, doubled;
} doubling_scalars;

WR_STEP void wr_doubling(doubling_scalars *s, wr_step_request *request) {
  s->doubled = 2 * s->sum;
  wr_step_log(request, 1, &s->sum, s->doubled, 7);
}
WR_STEP_KERNEL(doubling, doubling_scalars);

static void test_steps(wr_env *env) {
  static const wr_step host_alone = {"host_alone", 2, run_doubling, 0, 0, nullptr};
#define WR_STEP_ADDRESS(name, scalars, where) &wr_step_##name,
  const wr_step *const steps[] = {WR_STEP_LIST(WR_STEP_ADDRESS) & wr_step_doubling};
  wr_env host = {};
  host.place = WR_HOST, host.type = env->type, host.threads = 1;
  CHECK_OK(wr_env_open(&host));
  for (int run = 0; run < RUNS; run++)
    for (const wr_step *step : steps) test_step(env, &host, step, run % 2);
  wr_env_close(&host);
  CASE("a step without a kernel");
  double bank[2] = {1, 2}, log[ROOM] = {0};
  field f = new_field(env, bank, 2, log);
  wr_then then = {&host_alone, &f.bank, &f.log};
  CHECK_FAILS(WR_EUNAVAILABLE, env->ops->step(env, &then));
  CHECK_MESSAGE("host_alone");
  take_field(&f, bank, log);
}

int main(void) {
  on_device(test_steps);
  return wr_test_report("steps");
}
