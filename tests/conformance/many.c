/* Several vectors at once: wr_plan_apply_many, column by column against the same bounds as a single apply. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/memory.h"
#include "tests/conformance/cases.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/exact.h"

/* more_x, more_y: elements of a row that are no columns. spoilt: the column of X that has NaN in two rows; INFINITE: column 1
 * has an infinity. */
enum { NONE = -1, INFINITE = -2 };
typedef struct shape {
  int columns, more_x, more_y;
  double alpha, beta;
  int spoilt;
} shape;

/* For backends with an apply_many: every number of columns, rows with and without alignment, all parameters. */
static const shape thorough[] = {
    {1, 0, 0, 1, 0, NONE},    {2, 0, 0, 1, 0, NONE},   {3, 0, 0, 1, 0, NONE},   {4, 0, 0, 1, 0, NONE},
    {5, 0, 0, 1, 0, NONE},    {6, 0, 0, 1, 0, NONE},   {7, 0, 0, -2.5, 0, NONE}, {8, 0, 0, 1, 0, NONE},
    {3, 1, 1, 1, -0.5, 2},    {5, 3, 0, 1, 0, 4},      {1, 3, 1, -2.5, 1, 0},   {8, 8, 5, 1, 1, 7},
    {6, 2, 2, 0, -0.5, NONE}, {2, 2, 3, -2.5, -0.5, 1}, {4, 1, 4, 1, 0, INFINITE},     {7, 1, 1, 1, 1, 6},
};

/* For those without: copies of columns are the same for all of them. */
static const shape few[] = {{3, 1, 2, -2.5, -0.5, NONE}, {2, 0, 0, 1, 0, 1}};

/* One such apply, and the numbers of X and Y before it. */
typedef struct many {
  trial *t;
  shape s;
  int64_t ldx, ldy;
  guarded x, y;
  double *start;            /* [nrows * ldy] Y before            */
  double *x_of_1, *y_of_1;  /* [ncols], [nrows]: of one column   */
} many;

static wr_status apply(many *m) {
  wr_apply_many request = {.columns = m->s.columns, .alpha = m->s.alpha, .beta = m->s.beta, .x = &m->x.vec,
                           .y = &m->y.vec, .ldx = m->ldx, .ldy = m->ldy};
  wr_env *env = &m->t->env;
  wr_status status = guarded_set(env, &m->y, m->start, 0);
  if (status == WR_OK) status = guarded_read(env, &m->y);
  if (status == WR_OK) status = wr_plan_apply_many(m->t->plan, &request);
  if (status == WR_OK) status = env->ops->wait(env);
  if (status == WR_OK) status = guarded_read(env, &m->y);
  return status;
}

/* Elements of X that are no columns are NaN. */
static wr_status fill_x(many *m) {
  int64_t n = m->t->A->ncols;
  double *x;
  PASS(wr_alloc(&x, n * m->ldx, sizeof *x, "several vectors"));
  for (int64_t j = 0; j < n; j++)
    for (int64_t c = 0; c < m->ldx; c++) {
      int is_spoilt = c == m->s.spoilt && (j == n / 3 || j == n - 1);
      int is_infinite = m->s.spoilt == INFINITE && c == 1 && j == n / 2;
      x[j * m->ldx + c] = c >= m->s.columns || is_spoilt ? NAN
                          : is_infinite                  ? -INFINITY
                                                         : case_number(20 + (uint64_t)c, j);
    }
  wr_status status = guarded_set(&m->t->env, &m->x, x, 0);
  wr_free(x);
  return status == WR_OK ? guarded_read(&m->t->env, &m->x) : status;
}

/* Columns of Y are NaN if beta is 0; elements that are none have numbers of their own. */
static wr_status open_many(many *m) {
  trial *t = m->t;
  int64_t rows = t->A->nrows, columns = t->A->ncols;
  PASS(guarded_open(&t->env, columns * m->ldx, t->env.type, NAN, &m->x));
  PASS(guarded_open(&t->env, rows * m->ldy, t->env.type, -7777.25, &m->y));
  PASS(wr_alloc(&m->start, rows * m->ldy, sizeof *m->start, "several vectors"));
  PASS(wr_alloc(&m->x_of_1, columns, sizeof *m->x_of_1, "a column"));
  PASS(wr_alloc(&m->y_of_1, rows, sizeof *m->y_of_1, "a column"));
  for (int64_t k = 0; k < rows * m->ldy; k++)
    m->start[k] = k % m->ldy < m->s.columns && m->s.beta == 0 ? NAN : case_number(30, k);
  return fill_x(m);
}

static void close_many(many *m) {
  guarded_close(&m->t->env, &m->x);
  guarded_close(&m->t->env, &m->y);
  wr_free(m->start), wr_free(m->x_of_1), wr_free(m->y_of_1);
}

/* Every element of column c of Y is within the bound of a single apply. */
static void check_column(many *m, int c) {
  trial *t = m->t;
  const wr_plan_info *info = wr_plan_get_info(t->plan);
  int is_apart = m->s.beta != 0 && !t->backend->apply_many && !(t->backend->caps & WR_CAP_BETA);
  exact_apply e = {.A = t->A, .type = t->env.type, .sum_unit = info->sum_unit, .term_unit = info->term_unit,
                   .alpha = m->s.alpha, .beta = m->s.beta, .x = m->x_of_1, .y = m->y_of_1, .product_stored = is_apart};
  const double *y = guarded_now(&m->y);
  for (int64_t j = 0; j < t->A->ncols; j++) m->x_of_1[j] = guarded_now(&m->x)[j * m->ldx + c];
  for (int64_t i = 0; i < t->A->nrows; i++) m->y_of_1[i] = guarded_before(&m->y)[i * m->ldy + c];
  int64_t i = 0, n = t->A->nrows;
  while (i < n && exact_accepts(exact_row(&e, i), y[i * m->ldy + c])) i++;
  exact_value expected = i < n ? exact_row(&e, i) : (exact_value){0, 0};
  trial_expect(t, i == n, "%d columns, ldx %d, ldy %d, alpha %g, beta %g: Y(%lld, %d) = %.17g, not %.17Lg +- %.2Lg",
               m->s.columns, (int)m->ldx, (int)m->ldy, m->s.alpha, m->s.beta, (long long)i, c,
               i < n ? y[i * m->ldy + c] : 0, expected.value, expected.bound);
}

/* What is no column of Y, beside the vectors, and X, has not changed. */
static void check_rest(many *m) {
  const double *y = guarded_now(&m->y), *before = guarded_before(&m->y);
  int64_t k = 0, all = m->t->A->nrows * m->ldy;
  while (k < all && (k % m->ldy < m->s.columns || memcmp(y + k, before + k, sizeof *y) == 0)) k++;
  trial_expect(m->t, k == all, "%d columns, ldy %d: element %lld, which is no column, became %.17g", m->s.columns,
               (int)m->ldy, (long long)k, k < all ? y[k] : 0);
  trial_expect(m->t, guarded_changed(&m->y, 0) == GUARDED_SAME, "%d columns: wrote beside Y", m->s.columns);
  TRIAL_OK(m->t, guarded_read(&m->t->env, &m->x));
  trial_expect(m->t, guarded_changed(&m->x, 1) == GUARDED_SAME, "%d columns: X has changed", m->s.columns);
}

/* 1: each apply gives the same bits, also to columns that the core multiplies one by one. */
static int repeats(const trial *t) { return t->backend->apply_many || wr_plan_get_info(t->plan)->deterministic; }

/* Another apply gives the same bits. */
static void check_bits(many *m) {
  size_t bytes = (size_t)(m->t->A->nrows * m->ldy) * sizeof *m->start;
  double *first;
  if (!repeats(m->t)) return;
  TRIAL_OK(m->t, wr_alloc(&first, (int64_t)bytes, 1, "results to compare"));
  if (first == NULL) return;
  memcpy(first, guarded_now(&m->y), bytes);
  TRIAL_OK(m->t, apply(m));
  trial_expect(m->t, memcmp(first, guarded_now(&m->y), bytes) == 0, "%d columns: two applies give different bits",
               m->s.columns);
  wr_free(first);
}

static void conform_shape(trial *t, shape s) {
  many m = {.t = t, .s = s, .ldx = s.columns + s.more_x, .ldy = s.columns + s.more_y};
  wr_status status = open_many(&m);
  if (status == WR_OK) status = apply(&m);
  TRIAL_OK(t, status);
  for (int c = 0; c < s.columns && status == WR_OK; c++) check_column(&m, c);
  if (status == WR_OK) check_rest(&m);
  if (status == WR_OK) check_bits(&m);
  close_many(&m);
}

/* ---- What follows a multiply ---- */

/* Columns of rows of a power of two, and whether beta is 0. */
typedef struct follow {
  int columns, ld;
  double beta;
} follow;

static const follow follows[] = {{8, 8, 0}, {4, 4, -0.5}, {3, 4, 0}, {1, 1, 0}, {7, 8, 1}};

enum { STRIDE = 8, ROOM = 3 };

/* An array of the trial's type, with numbers of its own in the first columns of a row and 0 behind them. */
static wr_status open_array(trial *t, int64_t rows, int ld, int columns, uint64_t key, wr_vec *v, double **values) {
  PASS(wr_alloc_zeroed(values, rows * ld, sizeof **values, "several vectors"));
  for (int64_t k = 0; k < rows * ld; k++)
    if (k % ld < columns) (*values)[k] = (double)(float)case_number(key, k);
  PASS(t->env.ops->alloc(&t->env, rows * ld, t->env.type, "several vectors", v));
  return t->env.ops->upload(&t->env, v, *values);
}

/* Sums behind a multiply, in its pass or behind it: those of Y as it is found, and Y has the bits of the multiply alone. */
static void conform_sums(trial *t, follow s) {
  wr_status status;
  wr_env *env = &t->env;
  const wr_vecops *ops = env->ops;
  int64_t n = t->A->nrows;
  wr_vec x = {0}, y = {0}, z = {0}, bank = {0};
  double *of_x = NULL, *of_y = NULL, *of_z = NULL, *plain = NULL, *found = NULL, sums[WR_MAX_COLUMNS * STRIDE] = {0};
  TRY(open_array(t, t->A->ncols, s.ld, s.columns, 41, &x, &of_x));
  TRY(open_array(t, n, s.ld, s.columns, 42, &y, &of_y));
  TRY(open_array(t, n, s.ld, s.columns, 43, &z, &of_z));
  TRY(wr_alloc(&plain, n * s.ld, sizeof *plain, "several vectors"));
  TRY(wr_alloc(&found, n * s.ld, sizeof *found, "several vectors"));
  TRY(ops->alloc(env, WR_MAX_COLUMNS * STRIDE, WR_F64, "scalars", &bank));
  wr_apply_many request = {.columns = s.ld, .alpha = -2.5, .beta = s.beta, .x = &x, .y = &y, .ldx = s.ld, .ldy = s.ld};
  TRY(wr_plan_apply_many(t->plan, &request));
  TRY(ops->download(env, &y, plain));
  for (int order = 0; order < 3; order++) { /* (z, y) and (y, y), (y, z) alone, and two sums that no kernel knows */
    wr_fused_many f = {.columns = s.columns, .ld = s.ld, .in = {&z, &y}, .bank = &bank, .stride = STRIDE,
                       .sum = {{order == 1 ? &y : &z, order == 1 ? &z : &y, 0, 1},
                               {order == 1 ? NULL : order == 2 ? &z : &y, order == 2 ? &z : &y, 0, 2}}};
    TRY(ops->upload(env, &y, of_y));
    TRY(ops->upload(env, &bank, sums));
    request.sums = &f;
    TRY(wr_plan_apply_many(t->plan, &request));
    TRY(ops->download(env, &y, found));
    TRY(ops->download(env, &bank, sums));
    trial_expect(t, !repeats(t) || memcmp(plain, found, (size_t)(n * s.ld) * sizeof *found) == 0,
                 "%d columns of %d, sums behind them: Y has other bits", s.columns, s.ld);
    for (int c = 0; c < s.columns; c++) {
      long double dot = 0, square = 0, of_dot = 0, of_square = 0;
      for (int64_t i = 0; i < n; i++) {
        long double u = found[i * s.ld + c], v = of_z[i * s.ld + c], w = order == 2 ? v : u;
        dot += u * v, of_dot += fabsl(u * v), square += w * w, of_square += w * w;
      }
      long double error = (long double)(n + 8) * 0x1p-53L;
      double got = sums[c * STRIDE + 1], other = sums[c * STRIDE + 2];
      trial_expect(t, fabsl(got - dot) <= error * of_dot || !isfinite((double)dot),
                   "%d columns: (y, z) of %d is %g, not %Lg", s.columns, c, got, dot);
      trial_expect(t, order == 1 || fabsl(other - square) <= error * of_square || !isfinite((double)square),
                   "%d columns: the square of %d is %g, not %Lg", s.columns, c, other, square);
    }
  }
done:
  TRIAL_OK(t, status);
  wr_vec *const vectors[] = {&x, &y, &z, &bank};
  for (int k = 0; k < 4; k++) ops->release(env, vectors[k]);
  wr_free(of_x), wr_free(of_y), wr_free(of_z), wr_free(plain), wr_free(found);
}

/* PageRank's epilogue behind a multiply: every element of Y, and the sums of Y as it is found. */
typedef struct ranked {
  wr_vec x, y, scale, rows, values, sums, marks;
  double *of_x, *of_y, *of_scale, *found, *x_of_1, *y_of_1;
  double row[WR_MAX_COLUMNS * ROOM], value[WR_MAX_COLUMNS * ROOM], sum[2 * WR_MAX_COLUMNS];
} ranked;

static wr_status open_ranked(trial *t, follow s, int compact, ranked *r) {
  const wr_vecops *ops = t->env.ops;
  int64_t n = t->A->nrows;
  PASS(open_array(t, t->A->ncols, s.ld, s.columns, 51, &r->x, &r->of_x));
  PASS(open_array(t, n, s.ld, s.columns, 52, &r->y, &r->of_y));
  PASS(wr_alloc(&r->of_scale, n, sizeof *r->of_scale, "a scale"));
  PASS(wr_alloc(&r->found, n * s.ld, sizeof *r->found, "several vectors"));
  PASS(wr_alloc(&r->x_of_1, t->A->ncols, sizeof *r->x_of_1, "a column"));
  PASS(wr_alloc(&r->y_of_1, n, sizeof *r->y_of_1, "a column"));
  for (int64_t i = 0; i < n; i++) r->of_scale[i] = i % 3 == 1 ? 0 : compact ? 1 / (double)(1 + i % 11) : 0.75;
  PASS(ops->compact(&t->env, n, r->of_scale, "a scale", &r->scale));
  PASS(ops->download(&t->env, &r->x, r->of_x));
  if (!r->scale.reciprocal_bytes) PASS(ops->download(&t->env, &r->scale, r->of_scale));
  PASS(ops->alloc(&t->env, WR_MAX_COLUMNS * ROOM, WR_F64, "entries", &r->rows));
  PASS(ops->alloc(&t->env, WR_MAX_COLUMNS * ROOM, WR_F64, "entries", &r->values));
  PASS(ops->alloc(&t->env, 2 * WR_MAX_COLUMNS, WR_F64, "sums", &r->sums));
  PASS(ops->alloc(&t->env, n / 8 + 1, WR_F64, "marks", &r->marks));
  for (int k = 0; k < WR_MAX_COLUMNS * ROOM; k++) { /* the first row, one that columns share, and none */
    r->row[k] = k % ROOM == 0 ? 0 : k % ROOM == 1 && n > 1 ? (double)(1 + k / ROOM / 2 * 7 % (n - 1)) : -1;
    r->value[k] = 0.125 * (1 + k % 5);
  }
  for (int k = 0; k < 2 * WR_MAX_COLUMNS; k++) r->sum[k] = 0.25 * k;
  PASS(ops->upload(&t->env, &r->rows, r->row));
  return ops->upload(&t->env, &r->values, r->value);
}

static void close_ranked(trial *t, ranked *r) {
  wr_vec *const vectors[] = {&r->x, &r->y, &r->scale, &r->rows, &r->values, &r->sums, &r->marks};
  double *const arrays[] = {r->of_x, r->of_y, r->of_scale, r->found, r->x_of_1, r->y_of_1};
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) t->env.ops->release(&t->env, vectors[k]);
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) wr_free(arrays[k]);
}

/* Element i of column c before it is scaled is that of the multiply and its jump; scaling rounds three times. */
static void check_ranked(trial *t, follow s, ranked *r, const double *before, int measures) {
  const wr_plan_info *info = wr_plan_get_info(t->plan);
  double unit = wr_type_unit(t->env.type);
  for (int c = 0; c < s.columns; c++) {
    exact_apply e = {.A = t->A, .type = t->env.type, .sum_unit = info->sum_unit, .term_unit = info->term_unit,
                     .alpha = 0.5, .x = r->x_of_1, .y = r->y_of_1};
    long double change = 0, mass = 0, of_change = 0, of_mass = 0;
    int64_t wrong = -1, n = t->A->nrows;
    for (int64_t j = 0; j < t->A->ncols; j++) r->x_of_1[j] = r->of_x[j * s.ld + c];
    for (int64_t i = 0; i < n; i++) {
      exact_value y = exact_row(&e, i);
      y.bound += 4 * unit * fabsl(y.value);
      double scale = r->of_scale[i], got = r->found[i * s.ld + c], jump = 0.5 * before[WR_MAX_COLUMNS + c] + 0.125;
      for (int k = c * ROOM; k < (c + 1) * ROOM; k++)
        if (r->row[k] == (double)i) y.bound += 4 * unit * fabsl(jump * r->value[k]), y.value += jump * r->value[k];
      long double by = scale != 0 ? scale : 1, expected = y.value * by;
      long double bound = y.bound * by + 4 * unit * (fabsl(y.value) + y.bound) * by;
      if (!(fabsl(got - expected) <= bound) && wrong < 0) wrong = i;
      long double moved = fabsl((long double)got - r->of_x[i * s.ld + c]) / by;
      change += moved, of_change += moved;
      if (scale == 0) mass += got, of_mass += fabsl((long double)got);
    }
    long double error = (long double)(n + 8) * 0x1p-53L + (r->scale.reciprocal_bytes ? 2 * unit : 0);
    trial_expect(t, wrong < 0, "%d columns of %d, ranks behind them: Y(%lld, %d) = %.17g is wrong", s.columns, s.ld,
                 (long long)wrong, c, wrong < 0 ? 0 : r->found[wrong * s.ld + c]);
    trial_expect(t, fabsl(r->sum[WR_MAX_COLUMNS + c] - mass) <= error * of_mass, "the mass of column %d is %g, not %Lg",
                 c, r->sum[WR_MAX_COLUMNS + c], mass);
    if (measures)
      trial_expect(t, fabsl(r->sum[c] - change) <= error * of_change, "the change of column %d is %g, not %Lg", c,
                   r->sum[c], change);
    else
      trial_expect(t, r->sum[c] == before[c], "the change of column %d was not asked for", c);
  }
}

static void conform_ranks(trial *t, follow s, int compact) {
  wr_status status;
  wr_env *env = &t->env;
  ranked r = {0};
  double *marks = NULL;
  TRY(open_ranked(t, s, compact, &r));
  TRY(wr_alloc(&marks, r.marks.n, sizeof *marks, "marks"));
  for (int k = 0; k < 4; k++) {
    double before[2 * WR_MAX_COLUMNS];
    memcpy(before, r.sum, sizeof before);
    TRY(env->ops->upload(env, &r.sums, r.sum));
    const wr_epilogue_many e = {.columns = s.columns, .y = &r.y, .ldy = s.ld, .x = k % 2 ? &r.x : NULL, .ldx = s.ld,
                                .scale = &r.scale, .room = ROOM, .rows = &r.rows, .values = &r.values, .times = 0.5,
                                .plus = 0.125, .sums = &r.sums, .marks = k < 2 ? &r.marks : NULL};
    TRY(wr_plan_apply_many(
        t->plan, &(wr_apply_many){
                     .columns = s.columns, .alpha = 0.5, .x = &r.x, .y = &r.y, .ldx = s.ld, .ldy = s.ld, .ranks = &e}));
    TRY(env->ops->download(env, &r.y, r.found));
    TRY(env->ops->download(env, &r.sums, r.sum));
    TRY(env->ops->download(env, &r.marks, marks));
    check_ranked(t, s, &r, before, k % 2);
    int64_t set = 0;
    for (int64_t i = 0; i < r.marks.n; i++) set += marks[i] != 0;
    trial_expect(t, set == 0, "%lld rows are still marked", (long long)set);
  }
done:
  TRIAL_OK(t, status);
  close_ranked(t, &r);
  wr_free(marks);
}

static void check_bytes(trial *t) {
  double vectors = (double)((t->A->nrows + t->A->ncols) * wr_type_bytes(t->env.type));
  double one = wr_plan_many_bytes(t->plan, 1), eight = wr_plan_many_bytes(t->plan, WR_MAX_COLUMNS);
  double once = wr_plan_get_info(t->plan)->apply_bytes;
  int own = t->backend->apply_many != NULL;
  trial_expect(t, one == (own ? once : once + 2 * vectors) && eight == (own ? once + 7 * vectors : 8 * one),
               "an apply moves %g bytes, one of 1 column %g, one of 8 columns %g", once, one, eight);
  trial_expect(t, wr_plan_many_bytes(t->plan, 0) == 0 && wr_plan_many_bytes(t->plan, WR_MAX_COLUMNS + 1) == 0,
               "bytes of no columns, or too many");
}

/* So large that a kernel on the CPU takes long for it. */
static int is_big(const trial *t) { return t->A->nnz + t->A->nrows > 5000; }

void conform_many(trial *t) {
  int own = t->backend->apply_many != NULL, is_large = is_big(t);
  int shapes = own ? sizeof thorough / sizeof *thorough : sizeof few / sizeof *few;
  int every = !is_large ? 1 : getenv("WR_SHORT") ? 8 : 5, first = (int)(t->A->nnz % every);
  check_bytes(t);
  if (is_large && !own) return;
  for (int s = first; s < shapes; s += every) {
    shape one = (own ? thorough : few)[s];
    if (t->backend->caps & WR_CAP_FINITE_X) one.spoilt = NONE;
    conform_shape(t, one);
  }
  int cases = own ? sizeof follows / sizeof *follows : 1;
  for (int s = is_large ? first % cases : 0; s < cases; s += every) {
    conform_sums(t, own ? follows[s] : follows[2]);
    if (t->A->nrows == t->A->ncols && t->A->val == NULL)
      for (int compact = 0; compact < 2; compact++) conform_ranks(t, own ? follows[s] : follows[2], compact);
  }
}

void conform_many_bits(trial *t, double *bits) {
  many m = {.t = t, .s = {3, 1, 0, -2.5, -0.5, NONE}, .ldx = 4, .ldy = 3};
  if (t->backend->apply_many == NULL || (is_big(t) && getenv("WR_SHORT"))) return;
  TRIAL_OK(t, open_many(&m));
  TRIAL_OK(t, apply(&m));
  memcpy(bits, guarded_now(&m.y), (size_t)(3 * t->A->nrows) * sizeof *bits);
  close_many(&m);
}
