/* Products of a resident loop that compute their x from the inputs of the operation before (spmv/loop/resident_rows.cuh): the
 * result is that of the same operations one by one, whether or not the two may be joined. With one thread block, as on the CPU,
 * no block lags behind, so a product that wrongly overwrites its x or y shows on a card alone. */
#define _DEFAULT_SOURCE
#include <float.h>

#include "spmv/loop/loop.h"
#include "spmv/steps/bicgstab_steps.h"
#include "spmv/steps/steps.h"
#include "tests/solvers/ground.h"

/* w = a + beta w' - beta omega y', w' and y' being of the part before; y = A w; a -= y. Flags choose forms in which the product
 * may compute w itself, and forms in which it must not. All numbers are small integers, so every sum is exact in any order. */
typedef struct arrangement {
  const char *name;
  int in_place;  /* w overwrites w', which others still read  */
  int same_y;    /* y overwrites y'                           */
  int shifted;   /* y += (sum of w) e, which the product reads */
  int own_sums, product_sums;
  int four;      /* e is an input too                          */
  int two;       /* there is a second output                  */
  int sometimes; /* it is left out at first                   */
} arrangement;

static const arrangement arrangements[] = {
    {.name = "joined"},
    {.name = "joined, a sum of x", .own_sums = 1},
    {.name = "joined, sums of both", .own_sums = 1, .product_sums = 2},
    {.name = "joined, two sums of x", .own_sums = 2, .product_sums = 1},
    {.name = "too many sums", .own_sums = 2, .product_sums = 2},
    {.name = "x in place", .in_place = 1, .own_sums = 1, .product_sums = 1},
    {.name = "y in place", .same_y = 1, .own_sums = 1, .product_sums = 1},
    {.name = "shifted by the sum of x", .shifted = 1, .own_sums = 1, .product_sums = 1},
    {.name = "four inputs", .four = 1, .product_sums = 1},
    {.name = "two outputs", .two = 1, .product_sums = 1},
    {.name = "with a condition", .sometimes = 1, .product_sums = 1},
};

enum { STAGE_VECTORS = 7 };

typedef struct stage {
  wr_vec vectors[STAGE_VECTORS]; /* a, e, w and w', y and y', the second output */
  wr_vec bank, log;
} stage;

static void open_stage(ground *g, stage *s, int64_t n, double rounds) {
  const wr_vecops *ops = g->env.ops;
  double *values = room_for(n, sizeof *values);
  wr_bicgstab_scalars c = {.solve = {.one = 1, .rr = 1, .huge = DBL_MAX, .largest = DBL_MAX, .last = rounds,
                                     .last_part = rounds, .every = 1e9, .patience = 1e9, .log_room = 10},
                           .rho = 1, .rho_next = 1, .alpha = 1, .omega = 1};
  *s = (stage){0};
  for (int k = 0; k < STAGE_VECTORS; k++) {
    CHECK_OK(ops->alloc(&g->env, n, g->env.type, "a vector", &s->vectors[k]));
    CHECK_OK(ops->fill(&g->env, &s->vectors[k], NAN)); /* beta is 0 at first */
  }
  for (int64_t i = 0; i < n; i++) values[i] = (double)(i * 7 % 5 - 2);
  CHECK_OK(ops->upload(&g->env, &s->vectors[0], values));
  for (int64_t i = 0; i < n; i++) values[i] = i % 500 == 1;
  CHECK_OK(ops->upload(&g->env, &s->vectors[1], values));
  CHECK_OK(ops->alloc(&g->env, WR_SCALAR_COUNT(wr_bicgstab_scalars), WR_F64, "a bank", &s->bank));
  CHECK_OK(ops->alloc(&g->env, 10, WR_F64, "a log", &s->log));
  CHECK_OK(ops->upload(&g->env, &s->bank, (double *)&c));
  free(values);
}

static void close_stage(ground *g, stage *s) {
  for (int k = 0; k < STAGE_VECTORS; k++) g->env.ops->release(&g->env, &s->vectors[k]);
  g->env.ops->release(&g->env, &s->bank), g->env.ops->release(&g->env, &s->log);
}

#define SCALAR(member) ((wr_scalar){&s->bank, WR_SCALAR_INDEX(wr_bicgstab_scalars, member)})

/* The operations of a part, done or recorded. */
static wr_status do_part(ground *g, wr_plan *plan, stage *s, const arrangement *how, int part) {
  wr_status status;
  wr_vec *v = s->vectors, *a = &v[0], *e = &v[1], *w = &v[how->in_place ? 2 : 2 + part],
         *old_w = &v[how->in_place ? 2 : 3 - part], *y = &v[how->same_y ? 4 : 4 + part],
         *old_y = &v[how->same_y ? 4 : 5 - part];
  wr_fused make = {.in = {a, old_w, old_y, how->four ? e : NULL},
                   .out = {w, how->two ? &v[6] : NULL},
                   .c = {{{.factor = 1}, {1, SCALAR(beta)}, {-1, SCALAR(beta_omega)}, {0, {NULL, 0}}},
                         {{.factor = 2}}}};
  wr_epilogue epilogue = {.shift = {how->shifted ? &s->bank : NULL, WR_SCALAR_INDEX(wr_solve_scalars, qq)},
                          .shift_dir = how->shifted ? e : NULL};
  wr_fused last = {.in = {a, y},
                   .out = {a},
                   .c = {{{.factor = 1}, {.factor = -1}}},
                   .reduce = {{WR_NRM2SQ, a, NULL, SCALAR(tt)}},
                   .then = WR_THEN(bicgstab_after_update, &s->bank, &s->log)};
  const wr_reduction own[] = {{WR_SUM, w, NULL, SCALAR(solve.qq)}, {WR_DOT, w, a, SCALAR(ss)}},
                     product[] = {{WR_DOT, NULL, w, SCALAR(sigma)}, {WR_L1DIFF, NULL, a, SCALAR(vv)}};
  if (how->four) make.c[0][3] = (wr_coefficient){1, SCALAR(solve.one)};
  if (how->sometimes) make.when = SCALAR(beta);
  for (int k = 0; k < how->own_sums; k++) make.reduce[k] = own[k];
  for (int k = 0; k < how->product_sums; k++) epilogue.reduce[k] = product[k];
  TRY(g->env.ops->fused(&g->env, &make));
  TRY(wr_plan_apply(plan, &(wr_apply){.alpha = 1, .x = w, .y = y, .epilogue = &epilogue}));
  TRY(g->env.ops->fused(&g->env, &last));
done:
  return status;
}

/* Records both parts and runs them until their step ends the loop. */
static void run_stage(ground *g, wr_plan *plan, stage *s, const arrangement *how) {
  wr_status status;
  const wr_vecops *ops = g->env.ops;
  wr_loop *loop = NULL;
  wr_bicgstab_scalars scalars;
  int ended = 0;
  TRY(ops->loop_open(&g->env, &(wr_loop_request){.parts = 2, .resident = 1, .bank = &s->bank}, &loop));
  TRY(do_part(g, plan, s, how, 0));
  TRY(ops->loop_part(&g->env, loop));
  TRY(do_part(g, plan, s, how, 1));
  TRY(ops->loop_close(&g->env, loop));
  TRY(ops->loop_run(&g->env, loop));
  while (!ended) TRY(ops->loop_poll(&g->env, loop, &s->bank, (double *)&scalars, &ended));
done:
  CHECKF(status == WR_OK, "%s", wr_status_message());
  ops->loop_free(&g->env, loop);
}

static void check_same(ground *g, const wr_vec *found, const wr_vec *expected, const char *what, int which) {
  double *a = room_for(found->n, sizeof *a), *b = room_for(found->n, sizeof *b);
  int64_t other = 0;
  CHECK_OK(g->env.ops->download(&g->env, found, a));
  CHECK_OK(g->env.ops->download(&g->env, expected, b));
  for (int64_t i = 0; i < found->n; i++) other += !(a[i] == b[i] || (isnan(a[i]) && isnan(b[i])));
  CHECKF(other == 0, "%lld elements of %s %d differ", (long long)other, what, which);
  free(a), free(b);
}

/* Rows of a few entries of 1 or, with values, -1 too, in all n columns; each eleventh is empty. */
static wr_csr *whole_matrix(int64_t n, int with_values) {
  uint64_t seed = 99;
  entry *entries = room_for(n * 3, sizeof *entries);
  int64_t count = 0;
  for (int64_t k = 0; k < n * 3; k++)
    if (k / 3 % 11 != 4)
      entries[count++] = (entry){k / 3, (int64_t)(random_in(&seed) * (double)n), random_in(&seed) < 0.5 ? -1 : 1};
  wr_csr *A = matrix_of(n, entries, count, with_values);
  free(entries);
  return A;
}

static void test_arrangement(ground *g, wr_plan *plan, const arrangement *how, int64_t n, int rounds) {
  stage found, expected;
  open_stage(g, &found, n, rounds), open_stage(g, &expected, n, rounds);
  run_stage(g, plan, &found, how);
  for (int k = 0; k < rounds; k++) CHECK_OK(do_part(g, plan, &expected, how, k % 2));
  for (int k = 0; k < STAGE_VECTORS; k++) check_same(g, &found.vectors[k], &expected.vectors[k], "vector", k);
  check_same(g, &found.bank, &expected.bank, "the bank", rounds);
  close_stage(g, &found), close_stage(g, &expected);
}

static void test_arrangements(ground *g, const char *knobs, int64_t n, int with_values) {
  static const int rounds[] = {1, 2, 5};
  wr_csr *A = whole_matrix(n, with_values);
  wr_plan *plan = NULL;
  CHECK_OK(wr_plan_create(g->backend, knobs, A, &g->env, &plan));
  wr_status status = plan ? wr_plan_prepare(plan) : WR_EUSAGE;
  CHECKF(status == WR_OK, "%s", wr_status_message());
  for (size_t j = 0; status == WR_OK && j < 3 * sizeof arrangements / sizeof *arrangements; j++) {
    if (knobs && arrangements[j / 3].sometimes) continue; /* x is NaN at first, which padding of blocks brings to more rows */
    ground_case(g, "%s, %s, %lld rows, %d rounds", knobs ? knobs : "rows", arrangements[j / 3].name, (long long)n,
                rounds[j % 3]);
    test_arrangement(g, plan, &arrangements[j / 3], n, rounds[j % 3]);
  }
  wr_plan_destroy(plan);
  wr_csr_free(A);
}

static void test_rows(ground *g) {
  static const int64_t lengths[] = {1, 40, 599, 600, 3500};
  if (g->env.place != WR_CUDA || g->backend->rows == NULL) return;
  for (int k = 0; k < 5; k++) test_arrangements(g, NULL, lengths[k], k % 2 == 0);
}

/* Blocks of the sizes that a loop multiplies with, of sizes that it divides, and of others, which become single entries. */
static void test_blocks(ground *g) {
  static const char *const sizes[] = {"r=2:c=2", "r=3:c=3", "r=4:c=4", "r=6:c=6", "r=16:c=1"};
  for (int k = 0; k < 5; k++) test_arrangements(g, sizes[k], 599 + k, 1);
  test_arrangements(g, "r=3:c=3", 600, 0);
}

int main(void) {
  const wr_backend *blocks;
  on_default_grounds(test_rows);
  CHECK_OK(wr_backend_find("bsr_unrolled", &blocks));
  if (blocks->plan) on_backend(blocks, test_blocks);
  return wr_test_report("resident_joined");
}
