/* Tests the checks themselves: a backend with every capability passes them all, and each fault planted in it is found. It is
 * also a minimal model of the contract: it adds into y, so y has to be cleared, which an apply with y_next does for the next
 * one. With fewer capabilities the core does the rest, and must pass as well. */
#define _GNU_SOURCE /* fork */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/memory.h"
#include "tests/check.h"
#include "tests/conformance/cases.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/covering.h"

#define FAULTS(X)                                                                     \
  X(NO_FAULT, "none")                                                                 \
  X(READS_OLD_Y, "multiplies the old y by a beta of 0")                               \
  X(IGNORES_BETA, "takes every beta for 1")                                           \
  X(IGNORES_ALPHA, "leaves alpha out")                                                \
  X(SKIPS_EMPTY_ROWS, "does not finish rows without entries")                         \
  X(SKIPS_LAST_ROW, "leaves the last row out")                                        \
  X(SKIPS_LAST_ENTRY, "leaves the last entry of long rows out")                       \
  X(WRITES_BEHIND_Y, "writes the element after y")                                    \
  X(WRITES_BEFORE_SCALED, "writes the element before scaled")                         \
  X(WRITES_BEHIND_NEXT, "clears too much of y_next")                                  \
  X(CHANGES_X, "uses x as room")                                                      \
  X(CHANGES_Z, "uses z as room")                                                      \
  X(SUMS_IN_F32, "sums rows in f32 without declaring it")                              \
  X(VALUES_IN_F32, "stores values in f32 whatever the type")                          \
  X(DROPS_ZEROS, "drops explicit zeros")                                  \
  X(FILLS_WITH_ZEROS, "multiplies zeros that are not entries by x")                   \
  X(READS_BESIDE_X, "reads beyond x")                                                 \
  X(NEVER_CLEARS, "expects a clear y")                                                \
  X(TRUSTS_ORDER, "assumes that y is the last y_next")                       \
  X(FORGETS_TO_CLEAR_NEXT, "leaves y_next as it was")                                 \
  X(CLEARS_NEXT_EARLY, "clears y_next before the epilogue has read it")               \
  X(CLEARS_BY_ZERO, "clears by multiplying by 0")                                     \
  X(SUMS_UNROUNDED, "reduces y before it is rounded")                                 \
  X(SUMS_SCALED, "reduces y after scale")                                             \
  X(SUMS_ADD_UP, "adds reductions to what was there")                                 \
  X(SUMS_THE_SCALED, "inverts the mask of unscaled elements")             \
  X(SHIFT_WITHOUT_DIRECTION, "leaves the shift's direction out")                      \
  X(SHIFT_TIMES_DIRECTION, "multiplies by a direction that is to be added")             \
  X(SCALES_BEFORE_SHIFT, "scales y before the shift")                                 \
  X(SCALES_BY_ZERO, "multiplies y by a scale of 0")                                   \
  X(CHANGE_OF_SCALED, "measures the change without dividing by the scale")            \
  X(CHANGE_OF_RELAXED, "measures the change after relaxing")                          \
  X(RELAXES_TO_Y, "does not relax")                                                   \
  X(OTHER_BITS, "gives different last bits in each apply")                          \
  X(BITS_BY_THREADS, "gives different last bits on other numbers of threads")             \
  X(KEEPS_OLD_VALUES, "does not take new values")                                     \
  X(DECODES_WRONG, "decodes a wrong column")                                       \
  X(MANY_BY_ROWS_OF_K, "takes rows of X to have as many elements as there are columns")  \
  X(MANY_FILLS_ROWS, "writes whole rows of Y, columns or not")                        \
  X(MANY_IN_PAIRS, "leaves out the last of an odd number of columns")                 \
  X(MANY_MIXES, "adds 0 times the neighbouring column")                               \
  X(MANY_READS_OLD_Y, "multiplies the old Y by a beta of 0")                          \
  X(MANY_SKIPS_EMPTY_ROWS, "leaves rows of Y without entries as they were")           \
  X(MANY_KEEPS_OLD_VALUES, "multiplies several vectors with the first values")        \
  X(MANY_OTHER_BITS, "gives different last bits for several vectors")                 \
  X(MANY_CHANGES_X, "uses X as room")                                                 \
  X(TELLS_NO_VALUES, "leaves the values out of format_bytes")                         \
  X(TELLS_NO_MEMORY, "leaves the format out of extra_bytes")                          \
  X(TELLS_X_AND_Y, "leaves the format out of apply_bytes")                            \
  X(REFUSES_ALL, "refuses everything, with a reason")                                 \
  X(REFUSES_SILENTLY, "refuses without a reason")

typedef enum fault {
#define FAULT_ENUM(name, what) name,
  FAULTS(FAULT_ENUM)
#undef FAULT_ENUM
  FAULT_COUNT
} fault;

static fault planted; /* the fault that the backend has at present */
static int ending;      /* 0, or a signal that each apply raises */
static double rough;   /* 0, or how much it rounds each term; it declares ROUGH_TOLD then */
#define ROUGH_TOLD 0x1p-18

typedef struct model_state {
  int64_t nrows, ncols, nnz, applies;
  int64_t *row_ptr; /* [nrows + 1]                 */
  int32_t *col;     /* [nnz]                       */
  double *val;      /* [nnz], rounded to the type  */
  double *many_val; /* [nnz] the same              */
  int after_next;   /* the last apply had a y_next */
} model_state;

static double get(const wr_vec *v, int64_t i) {
  return v->type == WR_F32 ? (double)((const float *)v->data)[i] : ((const double *)v->data)[i];
}

static void put(wr_vec *v, int64_t i, double value) {
  if (v->type == WR_F32)
    ((float *)v->data)[i] = (float)value;
  else
    ((double *)v->data)[i] = value;
}

static wr_status check(const wr_env *env, const wr_csr *A, const void *knobs) {
  (void)env, (void)A, (void)knobs;
  if (planted == REFUSES_ALL) return wr_fail(WR_EUNAVAILABLE, "not today");
  if (planted == REFUSES_SILENTLY && A->nrows > 50) return wr_fail(WR_EUNAVAILABLE, "%s", "");
  return WR_OK;
}

static wr_status plan(const wr_env *env, const wr_csr *A, const void *knobs, wr_plan_info *info) {
  (void)knobs;
  *info = (wr_plan_info){.format_bytes = A->nnz * 12, .extra_bytes = A->nnz * 12, .deterministic = 1, .line = "rows"};
  info->apply_bytes = (double)(A->nnz * 12 + (A->nrows + A->ncols) * wr_type_bytes(env->type));
  if (planted == TELLS_NO_VALUES) info->format_bytes = A->nnz * 4;
  if (planted == TELLS_NO_MEMORY) info->extra_bytes = 0;
  if (planted == TELLS_X_AND_Y) info->apply_bytes -= (double)(A->nnz * 12);
  info->term_unit = rough > 0 ? ROUGH_TOLD : 0;
  return WR_OK;
}

/* The values of A in the order of the stored entries. */
static void copy_values(model_state *s, const wr_csr *A, wr_type type) {
  int f32 = type == WR_F32 || planted == VALUES_IN_F32;
  int64_t kept = 0;
  for (int64_t k = 0; k < A->nnz; k++) {
    double value = A->val ? A->val[k] : 1;
    if (planted == DROPS_ZEROS && value == 0) continue;
    s->val[kept++] = f32 ? (double)(float)value : value;
  }
  if (planted != MANY_KEEPS_OLD_VALUES || s->applies == 0)
    for (int64_t k = 0; k < kept; k++) s->many_val[k] = s->val[k];
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_plan_info *info) {
  wr_status status;
  model_state *s = state;
  (void)knobs, (void)info;
  s->nrows = A->nrows, s->ncols = A->ncols;
  TRY(wr_alloc(&s->row_ptr, A->nrows + 1, sizeof *s->row_ptr, "the model"));
  TRY(wr_alloc(&s->col, A->nnz, sizeof *s->col, "the model"));
  TRY(wr_alloc(&s->val, A->nnz, sizeof *s->val, "the model"));
  TRY(wr_alloc(&s->many_val, A->nnz, sizeof *s->many_val, "the model"));
  s->row_ptr[0] = 0;
  for (int64_t i = 0; i < A->nrows; i++) {
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      if (planted != DROPS_ZEROS || !A->val || A->val[k] != 0) s->col[s->nnz++] = A->col[k];
    s->row_ptr[i + 1] = s->nnz;
  }
  copy_values(s, A, env->type);
done:
  return status;
}

static double row_sum(const model_state *s, const wr_apply *request, int64_t i) {
  double sum = 0;
  int64_t end = s->row_ptr[i + 1];
  if (planted == SKIPS_LAST_ENTRY && end - s->row_ptr[i] > 100) end--;
  for (int64_t k = s->row_ptr[i]; k < end; k++) {
    sum += s->val[k] * get(request->x, s->col[k]) * (1 + rough);
    if (planted == SUMS_IN_F32) sum = (double)(float)sum;
  }
  if (planted == FILLS_WITH_ZEROS) sum += 0 * get(request->x, 0);
  if (planted == READS_BESIDE_X) sum += 0 * get(request->x, s->ncols + 64);
  if (planted == OTHER_BITS && s->applies % 2) sum *= 1 + 0x1p-52;
  return sum;
}

static double term(const wr_reduction *reduce, double y, double z) {
  switch (reduce->kind) {
    case WR_DOT: return y * z;
    case WR_NRM2SQ: return y * y;
    case WR_L1DIFF: return fabs(y - z);
    case WR_SUM: return y;
    case WR_SUM_UNSCALED: return (planted == SUMS_THE_SCALED ? z != 0 : z == 0) ? y : 0;
    case WR_NRM2SQ_SCALED: return y * z * (y * z);
    case WR_L1DIFF_UNSCALED: /* finish_row */
    case WR_DOT_HASH: /* of fused operations alone */
    case WR_NO_REDUCTION: break;
  }
  return 0;
}

/* Finishes row i from its sum: shift, y, scaled, and its terms of the reductions. */
static void finish_row(const wr_apply *request, int64_t i, double value, double sum[WR_MAX_REDUCTIONS]) {
  const wr_epilogue *e = request->epilogue;
  double unshifted = value;
  if (e && e->shift.bank) {
    double shift = get(e->shift.bank, e->shift.index);
    if (e->adds_dir && planted != SHIFT_TIMES_DIRECTION)
      value += shift + get(e->shift_dir, i);
    else
      value += e->shift_dir && planted != SHIFT_WITHOUT_DIRECTION ? shift * get(e->shift_dir, i) : shift;
  }
  double scale = e && e->scale ? get(e->scale, i) : 0, divisor = scale != 0 && planted != CHANGE_OF_SCALED ? scale : 1;
  if (e && e->scales_y && (scale != 0 || planted == SCALES_BY_ZERO))
    value = scale * (planted == SCALES_BEFORE_SHIFT ? unshifted : value);
  put(request->y, i, value);
  double before = get(request->y, i);
  if (e && e->relax_from && planted != RELAXES_TO_Y) {
    double from = get(e->relax_from, i);
    value = from + get(e->relaxation.bank, e->relaxation.index) * (value - from);
    put(request->y, i, value);
  }
  if (e == NULL) return;
  if (planted == CHANGE_OF_RELAXED) before = get(request->y, i);
  double y = planted == SUMS_UNROUNDED ? value : get(request->y, i);
  double unscaled = planted == SCALES_BEFORE_SHIFT ? unshifted : get(request->y, i);
  if (e->scaled) put(e->scaled, i, get(e->scale, i) * unscaled);
  if (e->scaled && planted == SUMS_SCALED) y = get(e->scaled, i);
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) {
    const wr_vec *z = e->reduce[r].kind == WR_SUM_UNSCALED ? e->scale : e->reduce[r].z;
    if (e->reduce[r].kind == WR_L1DIFF_UNSCALED)
      sum[r] += fabs(before - get(z, i)) / divisor;
    else
      sum[r] += term(&e->reduce[r], y, z ? get(z, i) : 0);
    if (z && planted == CHANGES_Z && z != e->scale && z != request->x) put((wr_vec *)z, i, 0);
  }
}

static void clear(wr_vec *v, int64_t i) { put(v, i, planted == CLEARS_BY_ZERO ? 0 * get(v, i) : 0); }

static void store_sums(const wr_epilogue *e, const double sum[WR_MAX_REDUCTIONS]) {
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) {
    wr_scalar into = e->reduce[r].into;
    if (e->reduce[r].kind == WR_NO_REDUCTION) continue;
    put(into.bank, into.index, sum[r] + (planted == SUMS_ADD_UP ? get(into.bank, into.index) : 0));
  }
}

/* Faults that consist of stray writes. */
static void stray(const model_state *s, const wr_apply *request) {
  const wr_epilogue *e = request->epilogue;
  if (planted == WRITES_BEHIND_Y) put(request->y, s->nrows, 1);
  if (planted == WRITES_BEFORE_SCALED && e && e->scaled) put(e->scaled, -1, 1);
  if (planted == WRITES_BEHIND_NEXT && request->y_next) put(request->y_next, s->nrows + 40, 0);
  if (planted == CHANGES_X) put((wr_vec *)request->x, 0, 0);
}

static int is_clear(const model_state *s, const wr_apply_args *args) {
  if (planted == NEVER_CLEARS) return 1;
  return planted == TRUSTS_ORDER && s->after_next ? 1 : args->y_prepared;
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  model_state *s = state;
  const wr_apply *request = &args->request;
  if (ending) raise(ending);
  double sum[WR_MAX_REDUCTIONS] = {0}, alpha = planted == IGNORES_ALPHA ? 1 : request->alpha, beta = request->beta;
  if (beta == 0 && planted != READS_OLD_Y) {
    for (int64_t i = 0; i < s->nrows && !is_clear(s, args); i++) clear(request->y, i);
    beta = 1;
  }
  if (planted == BITS_BY_THREADS && env->threads > 1) alpha *= 1 + 0x1p-52;
  for (int64_t i = 0; i < s->nrows && request->y_next && planted == CLEARS_NEXT_EARLY; i++) clear(request->y_next, i);
  for (int64_t i = 0; i < s->nrows - (planted == SKIPS_LAST_ROW); i++) {
    if (planted == SKIPS_EMPTY_ROWS && s->row_ptr[i] == s->row_ptr[i + 1]) continue;
    double before = (planted == IGNORES_BETA ? 1 : beta) * get(request->y, i);
    finish_row(request, i, alpha * row_sum(s, request, i) + before, sum);
    if (request->y_next && planted != FORGETS_TO_CLEAR_NEXT) clear(request->y_next, i);
  }
  if (request->epilogue) store_sums(request->epilogue, sum);
  stray(s, request);
  s->after_next = request->y_next != NULL;
  s->applies++;
  return WR_OK;
}

/* Row i of column c. */
static double sum_of_column(const model_state *s, const wr_apply_many *r, int64_t i, int64_t c) {
  int64_t ld = planted == MANY_BY_ROWS_OF_K ? r->columns : r->ldx, next = (c + 1) % r->columns;
  double sum = 0;
  for (int64_t k = s->row_ptr[i]; k < s->row_ptr[i + 1]; k++) {
    sum += s->many_val[k] * get(r->x, s->col[k] * ld + c) * (1 + rough);
    if (planted == MANY_MIXES) sum += 0 * get(r->x, s->col[k] * ld + next);
  }
  return planted == MANY_OTHER_BITS && s->applies % 2 ? sum * (1 + 0x1p-52) : sum;
}

static wr_status apply_many(void *state, wr_env *env, const wr_apply_many *r) {
  model_state *s = state;
  int64_t columns = planted == MANY_IN_PAIRS && r->columns > 1 ? r->columns / 2 * 2 : r->columns;
  (void)env;
  for (int64_t i = 0; i < s->nrows; i++) {
    if (planted == MANY_SKIPS_EMPTY_ROWS && s->row_ptr[i] == s->row_ptr[i + 1]) continue;
    for (int64_t c = 0; c < columns; c++) {
      double before = r->beta != 0 || planted == MANY_READS_OLD_Y ? r->beta * get(r->y, i * r->ldy + c) : 0;
      put(r->y, i * r->ldy + c, r->alpha * sum_of_column(s, r, i, c) + before);
    }
    for (int64_t c = columns; c < r->ldy && planted == MANY_FILLS_ROWS; c++) put(r->y, i * r->ldy + c, 0);
  }
  if (planted == MANY_CHANGES_X) put((wr_vec *)r->x, 0, 0);
  s->applies++;
  return WR_OK;
}

static void destroy(void *state, wr_env *env) {
  model_state *s = state;
  (void)env;
  wr_free(s->row_ptr), wr_free(s->col), wr_free(s->val), wr_free(s->many_val);
}

static wr_status decode(void *state, wr_env *env, wr_csr **A) {
  const model_state *s = state;
  (void)env;
  wr_status status = wr_csr_create(s->nrows, s->ncols, s->nnz, 1, A);
  if (status != WR_OK) return status;
  memcpy((*A)->row_ptr, s->row_ptr, (size_t)(s->nrows + 1) * sizeof *s->row_ptr);
  memcpy((*A)->col, s->col, (size_t)s->nnz * sizeof *s->col);
  memcpy((*A)->val, s->val, (size_t)s->nnz * sizeof *s->val);
  if (planted == DECODES_WRONG && s->nnz > 20) (*A)->col[20] ^= 1;
  return WR_OK;
}

static wr_status update_values(void *state, wr_env *env, wr_csr *A, int *moved) {
  (void)moved;
  if (planted != KEEPS_OLD_VALUES) copy_values(state, A, env->type);
  return WR_OK;
}

static const wr_backend model = {
    .name = "model",
    .summary = "adds rows into y, which the apply before has cleared",
    .source = "",
    .place = WR_HOST,
    .caps = WR_CAP_BETA | WR_CAP_Y_NEXT | WR_CAP_EPILOGUE | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 |
            WR_CAP_F64,
    .state_size = sizeof(model_state),
    .check = check,
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .apply_many = apply_many,
    .destroy = destroy,
    .decode = decode,
    .update_values = update_values,
};

static findings run(const wr_backend *backend, fault what) {
  findings f = {.quiet = 1};
  planted = what;
  conformance_small(backend, &f);
  planted = NO_FAULT;
  return f;
}

static void test_faults(void) {
  static const char *const sentences[] = {
#define FAULT_SENTENCE(name, what) what,
      FAULTS(FAULT_SENTENCE)
#undef FAULT_SENTENCE
  };
  for (int what = NO_FAULT; what < FAULT_COUNT; what++) {
    CASE(sentences[what]);
    findings f = run(&model, (fault)what);
    if (what == NO_FAULT)
      CHECKF(f.failed == 0, "%s", f.first);
    else
      CHECKF(f.failed > 0, "%ld checks passed and none failed", f.passed);
  }
}

/* Without a capability the core does the work, or refuses; without the optional functions there are defaults. */
static void test_capabilities(void) {
  static const struct {
    const char *name;
    unsigned without;
  } fewer[] = {{"no beta", WR_CAP_BETA}, {"no y_next", WR_CAP_Y_NEXT}, {"no epilogue", WR_CAP_EPILOGUE},
               {"no pattern", WR_CAP_PATTERN}, {"square only", WR_CAP_RECTANGULAR}, {"f64 only", WR_CAP_F32},
               {"f32 only", WR_CAP_F64}, {"nothing in the same pass", WR_CAP_BETA | WR_CAP_Y_NEXT | WR_CAP_EPILOGUE},
               {"y_next alone", WR_CAP_BETA | WR_CAP_EPILOGUE}};
  for (size_t k = 0; k < sizeof fewer / sizeof *fewer; k++) {
    CASE(fewer[k].name);
    wr_backend backend = model;
    backend.caps &= ~fewer[k].without;
    if (k % 2) backend.decode = NULL, backend.update_values = NULL, backend.apply_many = NULL;
    findings f = run(&backend, NO_FAULT);
    CHECKF(f.failed == 0 && f.passed > 1000, "%ld passed; %s", f.passed, f.first);
  }
}

/* A backend that declares that it needs finite x may multiply padding by x; every other fault is still found. */
static void test_finite_x(void) {
  static const fault others[] = {READS_BESIDE_X, READS_OLD_Y, DROPS_ZEROS, CLEARS_BY_ZERO};
  wr_backend backend = model;
  backend.caps |= WR_CAP_FINITE_X;
  CASE("needs finite x");
  findings f = run(&backend, FILLS_WITH_ZEROS);
  CHECKF(f.failed == 0 && f.passed > 1000, "%ld passed; %s", f.passed, f.first);
  for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
    f = run(&backend, others[k]);
    CHECKF(f.failed > 0, "fault %d: %ld checks passed and none failed", (int)others[k], f.passed);
  }
}

/* A backend may round each term by what it declares, and by no more. */
static void test_rough_terms(void) {
  CASE("rounds terms");
  rough = 0.9 * ROUGH_TOLD;
  findings f = run(&model, NO_FAULT);
  CHECKF(f.failed == 0 && f.passed > 1000, "%ld passed; %s", f.passed, f.first);
  rough = 1.2 * ROUGH_TOLD;
  f = run(&model, NO_FAULT);
  CHECKF(f.failed > 0, "%ld checks passed and none failed", f.passed);
  rough = 0;
}

/* What ends the process names the case. A child process runs the backend, before this one has other threads. */
static void test_crash(int number) {
  char text[500] = "";
  int ends[2], how;
  case_list list;
  CASE("a crash");
  CHECK_OK(cases_small(&list));
  CHECK(pipe(ends) == 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    trial_name_crashes();
    ending = number;
    run(&model, NO_FAULT);
    _exit(0);
  }
  close(ends[1]);
  ssize_t length = 0, got;
  while ((got = read(ends[0], text + length, sizeof text - 1 - (size_t)length)) > 0) length += got;
  close(ends[0]);
  CHECK(child > 0 && waitpid(child, &how, 0) == child && WIFSIGNALED(how) && WTERMSIG(how) == number);
  CHECKF(strstr(text, "[model, f32, ") && strstr(text, list.cases[0].name), "standard error has '%s'", text);
  cases_free(&list);
}

/* Every pair of values of two parameters is in some row, and there are few rows: at least as many as the product of the two
 * largest numbers of values. */
static void test_covering(void) {
  static const int levels[4][COVERING_PARAMETERS] = {
      {2, 2}, {5, 3, 2, 2, 4}, {30, 2, 3, 3, 3, 2, 9}, {1, 7, 1, 1, 1, 1, 1, 6}};
  static const int parameters[] = {2, 5, 7, 8}, least[] = {2 * 2, 5 * 4, 30 * 9, 7 * 6};
  for (int l = 0; l < 4; l++) {
    CASE("covering");
    covering c;
    int missing = 0;
    CHECK_OK(covering_make(levels[l], parameters[l], &c));
    for (int p = 0; p < parameters[l]; p++)
      for (int q = 0; q < p; q++)
        for (int pair = 0; pair < levels[l][p] * levels[l][q]; pair++) {
          int r = 0, a = pair / levels[l][q], b = pair % levels[l][q];
          while (r < c.count && (c.row[r][p] != a || c.row[r][q] != b)) r++;
          missing += r == c.count;
        }
    CHECKF(missing == 0, "%d pairs are missing", missing);
    CHECKF(c.count <= 2 * least[l], "%d rows, twice what is needed and more", c.count);
    covering_free(&c);
  }
}

int main(void) {
  test_crash(SIGABRT);
  test_crash(SIGTERM);
  test_covering();
  test_faults();
  test_capabilities();
  test_finite_x();
  test_rough_terms();
  return wr_test_report("conformance_faults");
}
