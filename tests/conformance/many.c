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

/* Another apply gives the same bits. */
static void check_bits(many *m) {
  size_t bytes = (size_t)(m->t->A->nrows * m->ldy) * sizeof *m->start;
  double *first;
  if (!m->t->backend->apply_many && !wr_plan_get_info(m->t->plan)->deterministic) return;
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
}

void conform_many_bits(trial *t, double *bits) {
  many m = {.t = t, .s = {3, 1, 0, -2.5, -0.5, NONE}, .ldx = 4, .ldy = 3};
  if (t->backend->apply_many == NULL || (is_big(t) && getenv("WR_SHORT"))) return;
  TRIAL_OK(t, open_many(&m));
  TRIAL_OK(t, apply(&m));
  memcpy(bits, guarded_now(&m.y), (size_t)(3 * t->A->nrows) * sizeof *bits);
  close_many(&m);
}
