/* The solvers' programs of scalars, compiled, against the host's interpreter: the same bits in bank and log, whatever the
 * scalars are. Alone, a step longer, so that the device interprets them too, and behind the sums of an operation. */
#include <float.h>

#include "spmv/kernel/programs.cuh"
#include "tests/kernels/on_device.h"

enum { ROOM = 8, LENGTH = 8, RUNS = 60 };

static uint64_t state = 20261122;

static uint64_t random_bits(void) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}

/* In [-1, 1). */
static double random_value(void) { return (double)(random_bits() >> 11) * 0x1p-52 - 1; }

/* A scalar of a tame bank is 0, 1 or ordinary, so that conditions come out both ways. */
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

/* One place's bank and log around a program. */
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

enum way { ALONE, LONGER, BEHIND_SUMS, WAYS };

/* bank[nbank] and log[ROOM] are changed. Behind sums, the first scalar is one. */
static void run(wr_env *env, const wr_scalar_op *ops, int count, enum way way, double *bank, int nbank, double *log) {
  wr_scalar_op more[WR_MAX_SCALAR_OPS];
  field f = new_field(env, bank, nbank, log);
  memcpy(more, ops, (size_t)count * sizeof *ops);
  more[count] = {WR_S_COPY, 0, 0, 0, 0};
  if (way == BEHIND_SUMS) {
    wr_fused sum = {};
    sum.in[0] = &f.x, sum.reduce[0] = {WR_SUM, &f.x, nullptr, {&f.bank, 0}}, sum.then = {ops, count, &f.bank, &f.log};
    CHECK_OK(env->ops->fused(env, &sum));
  } else {
    CHECK_OK(env->ops->scalars(env, &f.bank, &f.log, more, count + (way == LONGER)));
  }
  take_field(&f, bank, log);
}

static void test_program(wr_env *env, wr_env *host, const wr_scalar_op *ops, int count, int nbank, bool tame) {
  static const char *const names[WAYS] = {"alone", "interpreted", "behind sums"};
  double start[WR_PROGRAM_BANK], log[ROOM];
  for (int k = 0; k < nbank; k++) start[k] = random_scalar(tame);
  for (int k = 0; k < ROOM; k++) log[k] = -k;
  for (int way = 0; way < WAYS; way++) {
    double banks[2][WR_PROGRAM_BANK], logs[2][ROOM];
    for (int k = 0; k < 2; k++) {
      memcpy(banks[k], start, sizeof start), memcpy(logs[k], log, sizeof log);
      run(k ? env : host, ops, count, (enum way)way, banks[k], nbank, logs[k]);
    }
    for (int k = 0; k < nbank; k++)
      CHECKF(same(banks[0][k], banks[1][k]), "%s: scalar %d is %a, by the host %a", names[way], k, banks[1][k],
             banks[0][k]);
    for (int k = 0; k < ROOM; k++)
      CHECKF(same(logs[0][k], logs[1][k]), "%s: entry %d of the log is %a, by the host %a", names[way], k, logs[1][k],
             logs[0][k]);
  }
}

#define TEST_PROGRAM(space, program) \
  test_program(env, &host, space::program, sizeof space::program / sizeof *space::program, space::SCALARS, run % 2)

static void test_programs(wr_env *env) {
  wr_env host = {};
  host.place = WR_HOST, host.type = env->type, host.threads = 1;
  CHECK_OK(wr_env_open(&host));
  for (int run = 0; run < RUNS; run++) {
    CASE("behind the first product");
    TEST_PROGRAM(bicgstab, after_first_product);
    CASE("behind the second product");
    TEST_PROGRAM(bicgstab, after_second_product);
    CASE("behind the update");
    TEST_PROGRAM(bicgstab, after_update);
    CASE("behind a snapshot");
    TEST_PROGRAM(bicgstab, after_collect);
    CASE("behind a step of PageRank");
    TEST_PROGRAM(pagerank, after_step);
  }
  wr_env_close(&host);
}

int main(void) {
  on_device(test_programs);
  return wr_test_report("programs");
}
