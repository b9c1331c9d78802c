/* The fused operation of several vectors against loops in long double: each element within its rounding, each sum within that
 * of its terms; sums of a column are the same bits on the host, however many columns are beside it. */
#define _DEFAULT_SOURCE
#include "tests/solvers/ground.h"

#include "config/hash.h"
#include "spmv/steps/cg_steps.h"
#include "spmv/steps/steps.h"

enum { STRIDE = 80, INPUTS = 3 };

static double number(uint64_t vector, int64_t index) {
  return wr_hash_value(wr_hash(wr_hash_key(vector), (uint64_t)index), 0);
}

typedef struct arrays {
  wr_vec in[INPUTS], out[2], scaled, times, bank;
  double *host[INPUTS], *weight, scalars[WR_MAX_COLUMNS * STRIDE];
} arrays;

static void open_arrays(ground *g, arrays *a, int64_t rows, int columns, int ld) {
  const wr_vecops *ops = g->env.ops;
  int64_t n = rows * ld;
  for (int k = 0; k < INPUTS; k++) {
    a->host[k] = calloc((size_t)n, sizeof(double));
    for (int64_t i = 0; i < rows; i++)
      for (int c = 0; c < columns; c++) a->host[k][i * ld + c] = (double)(float)number((uint64_t)(4 * k), 8 * i + c);
    CHECK_OK(ops->alloc(&g->env, n, g->env.type, "a test", &a->in[k]));
    CHECK_OK(ops->upload(&g->env, &a->in[k], a->host[k]));
  }
  a->weight = calloc((size_t)rows, sizeof(double));
  for (int64_t i = 0; i < rows; i++) a->weight[i] = (double)(float)number(40, i);
  CHECK_OK(ops->alloc(&g->env, rows, g->env.type, "a test", &a->times));
  CHECK_OK(ops->upload(&g->env, &a->times, a->weight));
  for (int o = 0; o < 2; o++) CHECK_OK(ops->alloc(&g->env, n, g->env.type, "a test", &a->out[o]));
  CHECK_OK(ops->alloc(&g->env, n, g->env.type, "a test", &a->scaled));
  CHECK_OK(ops->alloc(&g->env, WR_MAX_COLUMNS * STRIDE, WR_F64, "a test", &a->bank));
  for (int k = 0; k < WR_MAX_COLUMNS * STRIDE; k++) a->scalars[k] = number(50, k);
  CHECK_OK(ops->upload(&g->env, &a->bank, a->scalars));
}

static void close_arrays(ground *g, arrays *a) {
  const wr_vecops *ops = g->env.ops;
  for (int k = 0; k < INPUTS; k++) ops->release(&g->env, &a->in[k]), free(a->host[k]);
  for (int o = 0; o < 2; o++) ops->release(&g->env, &a->out[o]);
  ops->release(&g->env, &a->scaled), ops->release(&g->env, &a->times), ops->release(&g->env, &a->bank);
  free(a->weight);
}

/* sums[2 * columns]: as found. */
static void check_one(ground *g, int64_t rows, int columns, int ld, double *sums) {
  arrays a = {0};
  double *found[3], after[WR_MAX_COLUMNS * STRIDE], unit = 2 * wr_type_unit(g->env.type);
  ground_case(g, "%lld rows of %d columns in %d", (long long)rows, columns, ld);
  open_arrays(g, &a, rows, columns, ld);
  wr_fused_many f = {.columns = columns, .ld = ld, .in = {&a.in[0], &a.in[1], &a.in[2]}, .out = {&a.out[0], &a.out[1]},
                     .scaled = &a.scaled, .times = &a.times, .times_first = 1,
                     .c = {{{1, 3}, {-2, 0}}, {{0}, {1, 5}, {1, 7}}},
                     .sum = {{&a.out[0], &a.in[2], 0, 9}, {&a.out[1], &a.out[1], 1, 11}},
                     .bank = &a.bank, .stride = STRIDE};
  CHECK_OK(g->env.ops->fused_many(&g->env, &f));
  wr_vec *const results[] = {&a.out[0], &a.out[1], &a.scaled};
  for (int o = 0; o < 3; o++) {
    found[o] = calloc((size_t)(rows * ld), sizeof(double));
    CHECK_OK(g->env.ops->download(&g->env, results[o], found[o]));
  }
  CHECK_OK(g->env.ops->download(&g->env, &a.bank, after));
  int64_t wrong = 0;
  for (int c = 0; c < ld; c++) {
    const double *own = a.scalars + c * STRIDE;
    long double sum[2] = {0}, size[2] = {0};
    for (int64_t i = 0; i < rows; i++) {
      int64_t e = i * ld + c;
      long double w = a.weight[i], x = a.host[0][e], y = a.host[1][e], z = a.host[2][e];
      long double first = own[3] * w * x - 2 * y, second = own[5] * y + own[7] * z;
      if (c >= columns) {
        wrong += found[0][e] != 0 || found[1][e] != 0 || found[2][e] != 0;
        continue;
      }
      wrong += !(fabsl(found[0][e] - first) <= 2 * unit * (fabsl(own[3] * w * x) + fabsl(2 * y)));
      wrong += !(fabsl(found[1][e] - second) <= 2 * unit * (fabsl(own[5] * y) + fabsl(own[7] * z)));
      wrong += !(fabsl(found[2][e] - w * found[0][e]) <= unit * fabsl(w * found[0][e]));
      sum[0] += (long double)found[0][e] * z, size[0] += fabsl(found[0][e] * z);
      sum[1] += (long double)found[1][e] * found[1][e] * w, size[1] += fabsl(found[1][e] * found[1][e] * w);
    }
    for (int s = 0; s < 2 && c < columns; s++) {
      double got = after[c * STRIDE + 9 + 2 * s];
      CHECK(fabsl(got - sum[s]) <= (long double)(rows + 4) * 0x1p-53L * size[s]);
      sums[2 * c + s] = got;
    }
    for (int k = 0; k < STRIDE; k++)
      if ((k != 9 && k != 11) || c >= columns) CHECK(after[c * STRIDE + k] == own[k]);
  }
  CHECKF(wrong == 0, "%lld elements are wrong", (long long)wrong);
  for (int o = 0; o < 3; o++) free(found[o]);
  close_arrays(g, &a);
}

/* Each column's step gets its own part of the bank. */
static void check_steps(ground *g) {
  arrays a = {0};
  double after[WR_MAX_COLUMNS * STRIDE];
  ground_case(g, "a step for each column");
  open_arrays(g, &a, 700, 3, 4);
  for (int c = 0; c < 3; c++) {
    wr_cg_scalars own = {.solve = {.huge = 1e300, .done = c == 1}, .rz = 3 + c};
    memset(a.scalars + c * STRIDE, 0, STRIDE * sizeof(double));
    memcpy(a.scalars + c * STRIDE, &own, sizeof own);
  }
  CHECK_OK(g->env.ops->upload(&g->env, &a.bank, a.scalars));
  wr_fused_many f = {.columns = 3, .ld = 4, .in = {&a.in[0]},
                     .sum = {{&a.in[0], &a.in[0], 0, WR_SCALAR_INDEX(wr_cg_scalars, pq)}},
                     .bank = &a.bank, .stride = STRIDE, .step = &wr_step_cg_after_product};
  CHECK_OK(g->env.ops->fused_many(&g->env, &f));
  CHECK_OK(g->env.ops->download(&g->env, &a.bank, after));
  for (int c = 0; c < 3; c++) {
    const wr_cg_scalars *own = (const wr_cg_scalars *)(after + c * STRIDE);
    CHECK(own->pq > 0 && own->solve.active == (c != 1));
    CHECK(own->alpha == (c == 1 ? 0 : (3 + c) / own->pq));
  }
  close_arrays(g, &a);
}

static void test_ground(ground *g) {
  static const int64_t rows[] = {1, 7, 1024, 1025, 5003};
  double sums[2 * WR_MAX_COLUMNS], others[2 * WR_MAX_COLUMNS];
  for (int k = 0; k < 5; k++) {
    check_one(g, rows[k], 8, 8, sums);
    for (int ld = 1; ld <= 8; ld *= 2)
      for (int columns = ld / 2 + 1; columns <= ld; columns++) {
        check_one(g, rows[k], columns, ld, others);
        if (g->env.place == WR_HOST) CHECK(memcmp(sums, others, (size_t)(2 * columns) * sizeof *sums) == 0);
      }
  }
  check_steps(g);
}

int main(void) {
  on_backend(wr_backend_default(WR_HOST), test_ground);
  if (wr_backend_default(WR_CUDA) && ground_is_wanted(wr_backend_default(WR_CUDA)))
    on_backend(wr_backend_default(WR_CUDA), test_ground);
  return wr_test_report("fused_many");
}
