/* options.review, by which a solve changes its preconditioner, and --precond auto, which decides by it: on the host and, under
 * the shim, on a device. */
#define _DEFAULT_SOURCE
#include "config/hash.h"
#include "solvers/api/auto_precond.h"
#include "tests/solvers/solve_fixture.h"

static int64_t side = 40; /* WR_SHORT: 8 on a device, as kernels on the CPU take long */

/* As kernels on the CPU take long: fewer methods and smaller systems. */
static int is_short(const ground *g) { return g->env.place == WR_CUDA && getenv("WR_SHORT") != NULL; }

/* Five points on a grid with a diagonal of 4 + shift; wind 0: symmetric. */
static wr_csr *grid(double wind, double shift) {
  int64_t n = side * side;
  entry *entries = room_for(5 * n, sizeof *entries);
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t x = i % side, y = i / side;
    entries[count++] = (entry){i, i, 4 + shift};
    if (x > 0) entries[count++] = (entry){i, i - 1, -1 - wind};
    if (x + 1 < side) entries[count++] = (entry){i, i + 1, -1 + wind};
    if (y > 0) entries[count++] = (entry){i, i - side, -1};
    if (y + 1 < side) entries[count++] = (entry){i, i + side, -1};
  }
  wr_csr *A = matrix_of(n, entries, count, 1);
  free(entries);
  return A;
}

/* Flow through a porous medium in mixed form on a grid: the flux through each inner edge, then the pressure in each cell, whose
 * row sums the fluxes out of it and has no diagonal element. The permeability of an edge is between 10^-6 and 10^6. */
static wr_csr *darcy(void) {
  int64_t across = side * (side - 1), fluxes = 2 * across, count = 0;
  entry *entries = room_for(5 * fluxes, sizeof *entries);
  for (int64_t e = 0; e < fluxes; e++) {
    int64_t k = e % across, step = e < across ? 1 : side;
    int64_t cell = e < across ? k / (side - 1) * side + k % (side - 1) : k;
    double share = (double)(wr_hash(3, (uint64_t)e) >> 11) * 0x1p-53;
    entries[count++] = (entry){e, e, pow(10, 12 * share - 6)};
    for (int end = 0; end < 2; end++) {
      int64_t pressure = fluxes + cell + end * step;
      entries[count++] = (entry){e, pressure, end ? 1 : -1};
      entries[count++] = (entry){pressure, e, end ? 1 : -1};
    }
  }
  entries[count - 1].value = 1.5; /* else the pressure is known but for a constant */
  wr_csr *A = matrix_of(fluxes + side * side, entries, count, 1);
  free(entries);
  return A;
}

/* e_1 is no sum of columns: no method finds x. */
static wr_csr *nilpotent(void) {
  entry entries[29];
  for (int64_t i = 0; i < 29; i++) entries[i] = (entry){i + 1, i, 1};
  return matrix_of(30, entries, 29, 1);
}

/* A run with its system, as the program makes it. */
typedef struct work {
  ground *g;
  wr_system system;
  wr_plan *plan;
  wr_bicgstab method;
  wr_bicgstab_options options;
  wr_result result;
  wr_history history;
  double *x; /* [n] of the solver's unknown */
} work;

/* of_e1: b = e_1, else A times ones. */
static int work_open(work *w, ground *g, wr_csr *A, int of_e1) {
  double *b = NULL;
  *w = (work){.g = g, .options = {.tolerance = g->env.type == WR_F32 ? 1e-5 : 1e-8, .iterations = 4000}};
  if (of_e1) {
    CHECK_OK(wr_alloc_zeroed(&b, A->nrows, sizeof *b, "a test"));
    if (b) b[0] = 1;
  }
  CHECK_OK(wr_system_build(A, b, NULL, 0, 0, WR_SCALE_NONE, NULL, 0, &w->system));
  w->plan = ground_plan(g, w->system.matrix);
  if (w->plan == NULL) return 0;
  CHECK_OK(wr_bicgstab_open(&w->method, &w->system, w->plan, &g->env));
  w->x = room_for(A->nrows, sizeof *w->x);
  return 1;
}

static void work_close(work *w) {
  wr_bicgstab_close(&w->method);
  wr_plan_destroy(w->plan);
  wr_system_free(&w->system);
  wr_history_free(&w->history);
  free(w->x);
}

/* Solves, and checks that the outcome is true and the history one. */
static void work_solve(work *w) {
  const wr_monitor monitor = {.history = &w->history};
  w->history.count = 0;
  CHECK_OK(wr_bicgstab_solve(&w->method, &w->options, &monitor, &w->result));
  CHECK_OK(wr_bicgstab_download(&w->method, w->x, NULL));
  wr_system_unscale(&w->system, w->x);
  wr_residual found;
  CHECK_OK(wr_residual_find(&w->system, w->x, NULL, &found));
  double bound = w->options.tolerance * w->system.norm_b;
  if (w->result.outcome == WR_CONVERGED)
    CHECKF(found.norm - found.error <= bound, "converged with %g, asked for %g", found.norm, bound);
  for (int64_t k = 1; k < w->history.count; k++)
    CHECKF(w->history.iteration[k] >= w->history.iteration[k - 1], "entry %lld is a step back", (long long)k);
  CHECKF(w->result.iterations <= w->options.iterations, "%lld iterations", (long long)w->result.iterations);
}

/* ---- options.review ---- */

typedef struct asked {
  int looks, failures;
  int64_t last;        /* multiplies at the last review */
  int64_t at;          /* multiplies from which on M is `to` */
  wr_precond *to;
  const wr_method *by;
  wr_status status;
} asked;

static wr_status review(void *context, wr_bicgstab_review *at) {
  asked *a = context;
  a->looks++, a->failures += at->fails;
  CHECKF(at->multiplies >= a->last, "%lld multiplies after %lld", (long long)at->multiplies, (long long)a->last);
  CHECK(at->least <= at->first && at->target > 0);
  a->last = at->multiplies, at->next = 10;
  if (a->status != WR_OK) return wr_fail(a->status, "asked for");
  if (at->multiplies >= a->at) at->precond = a->to, at->method = a->by;
  return WR_OK;
}

/* Looks that change nothing change no bit. */
static void test_idle(ground *g) {
  wr_csr *A = grid(0.3, 0.05);
  work w;
  asked a = {.at = INT64_MAX};
  ground_case(g, "looks that change nothing");
  if (work_open(&w, g, A, 0)) {
    work_solve(&w);
    int64_t iterations = w.result.iterations;
    double measure = w.result.measure;
    w.options.review = review, w.options.review_context = &a, w.options.first_review = 10;
    work_solve(&w);
    CHECKF(a.looks > (is_short(g) ? 0 : 2) && a.failures == 0, "%d looks, %d failures", a.looks, a.failures);
    if (g->env.place == WR_HOST) CHECK(w.result.iterations == iterations && w.result.measure == measure);
    CHECK(w.result.changes[0] == '\0');
  }
  work_close(&w);
  wr_csr_free(A);
}

/* M changes after 20 multiplies, with each method that is asked for and each that the review names. */
static void test_change(ground *g) {
  wr_csr *A = grid(0.3, 0.05);
  work w;
  for (int k = -1; k < wr_method_count(); k++)
    for (int named = 0; named < 2; named++) {
      asked a = {.at = 20, .by = named ? &wr_method_idr : NULL};
      const wr_method *method = wr_method_at(k);
      if (method == &wr_method_cg || (is_short(g) && method != NULL)) continue;
      ground_case(g, "a change, %s%s", method ? wr_method_name(method) : "auto", named ? ", idr named" : "");
      if (work_open(&w, g, A, 0)) {
        CHECK_OK(wr_precond_create(&wr_precond_ilu0, NULL, w.system.matrix, &g->env, &a.to));
        w.options.method = method, w.options.review = review, w.options.review_context = &a,
        w.options.first_review = 20;
        work_solve(&w);
        CHECKF(w.result.outcome == WR_CONVERGED, "%s", wr_outcome_title(w.result.outcome));
        CHECKF(w.result.changes[0] != '\0' && w.result.multiplies >= w.result.iterations, "'%s', %lld multiplies",
               w.result.changes, (long long)w.result.multiplies);
        const char *expected = method ? wr_method_name(method) : named ? "idr" : "bicgstab";
        CHECKF(strcmp(w.result.method, expected) == 0, "ended with %s, not %s", w.result.method, expected);
        int64_t of_last = w.history.iteration[w.history.count - 1];
        CHECKF(of_last == w.result.iterations, "%lld, %lld", (long long)of_last, (long long)w.result.iterations);
        w.options.iterations = 25, a.last = 0;
        CHECK_OK(wr_bicgstab_precondition(&w.method, NULL));
        w.options.tolerance = 1e-300; /* cannot be met */
        work_solve(&w);
        CHECKF(w.result.outcome != WR_CONVERGED, "%s", wr_outcome_title(w.result.outcome));
        wr_precond_destroy(a.to);
      }
      work_close(&w);
    }
  wr_csr_free(A);
}

/* A solve that fails asks at most twice; an error of the review is one of the solve. */
static void test_failing(ground *g) {
  wr_csr *A = nilpotent();
  work w;
  asked a = {.at = INT64_MAX}, broken = {.status = WR_EINTERNAL};
  ground_case(g, "a solve that fails");
  if (work_open(&w, g, A, 1)) {
    w.options.method = &wr_method_bicgstab, w.options.review = review, w.options.review_context = &a;
    work_solve(&w);
    CHECKF(a.failures == 1 && w.result.outcome != WR_CONVERGED, "%d, %s", a.failures,
           wr_outcome_title(w.result.outcome));
    w.options.review_context = &broken;
    CHECK_FAILS(WR_EINTERNAL, wr_bicgstab_solve(&w.method, &w.options, NULL, &w.result));
  }
  work_close(&w);
  wr_csr_free(A);
}

/* ---- --precond auto ---- */

/* Solves A by it. repeat: twice, which must be the same. */
static void solve_auto(ground *g, wr_csr *A, int of_e1, const wr_monitor *monitor, wr_run_precond *report,
                       wr_result *result) {
  work w;
  wr_auto_precond a = {0};
  *report = (wr_run_precond){.name = ""};
  if (work_open(&w, g, A, of_e1)) {
    CHECK_OK(wr_auto_begin(&a, &w.system, &g->env, report));
    CHECK_OK(wr_auto_solve(&a, monitor, &w.options, &w.method));
    work_solve(&w);
    char line[sizeof report->line];
    wr_result first = w.result;
    snprintf(line, sizeof line, "%s", report->line);
    CHECK_OK(wr_auto_solve(&a, monitor, &w.options, &w.method));
    work_solve(&w);
    CHECKF(strncmp(line, report->line, 60) == 0, "'%s', then '%s'", line, report->line);
    CHECKF(w.result.outcome == first.outcome && w.result.iterations == first.iterations, "%lld iterations, then %lld",
           (long long)first.iterations, (long long)w.result.iterations);
    *result = w.result;
  }
  wr_bicgstab_close(&w.method);
  wr_auto_end(&a);
  w.method = (wr_bicgstab){0};
  work_close(&w);
}

static void test_choices(ground *g) {
  wr_run_precond report;
  wr_result result = {0};
  int is_host = g->env.place == WR_HOST;
  wr_csr *easy = grid(0.3, 4), *hard = convection_on(side, 4, 0), *symmetric = grid(0, 0), *hopeless = nilpotent();
  wr_csr *varied = grid(0, 0);
  ground_case(g, "an easy system");
  solve_auto(g, easy, 0, NULL, &report, &result);
  CHECKF(result.outcome == WR_CONVERGED && strcmp(report.line, "none to begin with") == 0, "%s", report.line);
  CHECKF(result.changes[0] == '\0', "%s", result.changes);
  ground_case(g, "a symmetric system with a positive diagonal");
  solve_auto(g, symmetric, 0, NULL, &report, &result);
  CHECKF(result.outcome == WR_CONVERGED && strstr(report.line, "ilu0") == NULL, "%s", report.line);
  for (int64_t i = 0; i < varied->nrows; i++) varied->val[wr_csr_find(varied, i, i)] = (double)(4 + i % 7);
  ground_case(g, "a diagonal that differs");
  solve_auto(g, varied, 0, NULL, &report, &result);
  CHECKF(result.outcome == WR_CONVERGED && strncmp(report.line, "jacobi to begin with", 20) == 0, "%s", report.line);
  ground_case(g, "a system that needs factors");
  solve_auto(g, hard, 0, NULL, &report, &result);
  CHECKF(result.outcome == WR_CONVERGED, "%s", wr_outcome_title(result.outcome));
  if (is_host) CHECKF(strstr(report.line, "; ilu0 from multiply ") != NULL, "%s", report.line);
  if (is_host) CHECKF(strstr(result.changes, "idr with ilu0") != NULL, "%s", result.changes);
  ground_case(g, "a system without a solution");
  solve_auto(g, hopeless, 1, NULL, &report, &result);
  CHECK(result.outcome != WR_CONVERGED);
  if (is_host || result.outcome == WR_BREAKDOWN) /* rounding on a device may let the methods go on to the limit */
    CHECKF(strstr(report.line, "at last ilut from multiply ") != NULL, "%s", report.line);
  ground_case(g, "a deadline before the factorisation");
  solve_auto(g, hard, 0, &(wr_monitor){.deadline = 1e-9}, &report, &result);
  CHECKF(strstr(report.line, "ilu0 from") == NULL, "%s", report.line);
  wr_csr_free(easy), wr_csr_free(hard), wr_csr_free(symmetric), wr_csr_free(varied), wr_csr_free(hopeless);
}

/* A system that is solved by ILUT after all else. */
static void test_last(ground *g) {
  wr_run_precond report;
  wr_result result = {0};
  wr_csr *A = darcy();
  ground_case(g, "flow through a porous medium");
  solve_auto(g, A, 0, NULL, &report, &result);
  CHECKF(result.outcome == WR_CONVERGED && strstr(report.line, "at last ilut from multiply "), "%s: %s",
         wr_outcome_title(result.outcome), report.line);
  CHECKF(strstr(result.changes, "idr with ilut, as nothing else converged") != NULL, "%s", result.changes);
  wr_csr_free(A);
}

/* Straight convection by central differences has factors that are far from A. */
static void test_unstable(ground *g) {
  wr_run_precond report;
  wr_result result = {0};
  wr_csr *A = convection_on(side, 20, 1);
  ground_case(g, "unstable factors");
  solve_auto(g, A, 0, NULL, &report, &result);
  CHECKF(strstr(report.line, "; no ilu0: its factors are unstable") != NULL, "%s", report.line);
  CHECKF(strstr(report.line, "ilu0 from") == NULL, "%s", report.line);
  wr_csr_free(A);
}

/* A symmetric system, one with a diagonal that differs, and a small one: the same start wherever it is solved. */
static void test_start(ground *g) {
  for (int k = 0; k < 3; k++) {
    wr_run_precond report;
    wr_result result = {0};
    wr_csr *A = grid(0, 0); /* a device keeps the values of each */
    if (k > 0)
      for (int64_t i = 0; i < A->nrows; i++) A->val[wr_csr_find(A, i, i)] = (double)(4 + i % 7);
    if (k == 2) A->val[wr_csr_find(A, 0, 1)] = -1.5; /* not symmetric now */
    ground_case(g, "the start %d", k);
    solve_auto(g, A, 0, NULL, &report, &result);
    const char *expected = k ? "jacobi to begin with, as the diagonal varies by 2.5" : "none to begin with";
    CHECKF(strcmp(report.line, expected) == 0, "'%s', not '%s'", report.line, expected);
    CHECKF(strcmp(result.method, k < 2 ? "cg" : "bicgstab") == 0, "%s", result.method);
    wr_csr_free(A);
  }
}

/* --deterministic: the choice and the answer do not depend on the number of threads, of which a larger matrix has several. */
static void test_threads(void) {
  enum { RUNS = 4 };
  const int threads[RUNS] = {2, 1, 3, 2};
  const int64_t before = side;
  wr_run_precond reports[RUNS];
  wr_result results[RUNS] = {{0}};
  side = 170;
  wr_csr *A = convection_on(side, 3, 0);
  for (int k = 0; k < RUNS; k++) {
    ground g = {.env = {.place = WR_HOST, .type = WR_F64, .threads = threads[k], .deterministic = 1}};
    CHECK_OK(wr_backend_find("cpu_csr", &g.backend));
    CHECK_OK(wr_env_open(&g.env));
    ground_case(&g, "%d threads", threads[k]);
    solve_auto(&g, A, 0, NULL, &reports[k], &results[k]);
    CHECKF(strstr(reports[k].line, "; ilu0 from multiply ") != NULL, "%s", reports[k].line);
    CHECKF(strcmp(reports[k].line, reports[0].line) == 0, "'%s', not '%s'", reports[k].line, reports[0].line);
    CHECKF(results[k].iterations == results[0].iterations && results[k].measure == results[0].measure,
           "%lld iterations to %.17g, not %lld to %.17g", (long long)results[k].iterations, results[k].measure,
           (long long)results[0].iterations, results[0].measure);
    wr_env_close(&g.env);
  }
  side = before;
  wr_csr_free(A);
}

/* Interrupts a solve at a check. */
typedef struct alarm_clock {
  int64_t calls, at;
  volatile sig_atomic_t rings;
} alarm_clock;

static void tick(void *context, int64_t iteration, double measure, double target) {
  alarm_clock *a = context;
  (void)iteration, (void)measure, (void)target;
  if (++a->calls >= a->at) a->rings = 1;
}

/* A signal before, at and after the change to ILU(0): the solve ends with its best iterate, and the next one is whole. */
static void test_interrupted(ground *g) {
  wr_csr *A = convection_on(side, 4, 0);
  wr_run_precond report = {.name = ""};
  wr_auto_precond a = {0};
  work w;
  int changed = 0, unchanged = 0;
  ground_case(g, "interrupted");
  if (work_open(&w, g, A, 0)) {
    CHECK_OK(wr_auto_begin(&a, &w.system, &g->env, &report));
    for (int64_t at = 130; at < 149; at += 2) {
      alarm_clock bell = {.at = at};
      const wr_monitor monitor = {.progress = tick, .context = &bell, .interrupted = &bell.rings};
      wr_residual found;
      CHECK_OK(wr_auto_solve(&a, &monitor, &w.options, &w.method));
      CHECK_OK(wr_bicgstab_solve(&w.method, &w.options, &monitor, &w.result));
      CHECKF(w.result.outcome == WR_INTERRUPTED, "%s", wr_outcome_title(w.result.outcome));
      CHECK_OK(wr_bicgstab_download(&w.method, w.x, NULL));
      wr_system_unscale(&w.system, w.x);
      CHECK_OK(wr_residual_find(&w.system, w.x, NULL, &found));
      CHECKF(found.norm <= w.system.norm_b, "%g, and %g at the start", found.norm, w.system.norm_b);
      int has = strstr(report.line, "; ilu0 from multiply") != NULL;
      changed += has, unchanged += !has;
      CHECKF((w.result.changes[0] != '\0') == has, "'%s' and '%s'", w.result.changes, report.line);
    }
    CHECKF(changed > 0 && unchanged > 0, "%d and %d: this shows little", changed, unchanged);
    CHECK_OK(wr_auto_solve(&a, NULL, &w.options, &w.method));
    work_solve(&w);
    CHECKF(w.result.outcome == WR_CONVERGED, "%s", wr_outcome_title(w.result.outcome));
  }
  wr_bicgstab_close(&w.method);
  wr_auto_end(&a);
  w.method = (wr_bicgstab){0};
  work_close(&w);
  wr_csr_free(A);
}

static void test_all(ground *g) {
  side = is_short(g) ? 8 : 40;
  test_idle(g);
  test_change(g);
  test_failing(g);
  test_start(g);
  if (!is_short(g)) test_choices(g);
  if (g->env.place == WR_HOST) test_unstable(g);
  if (g->env.place == WR_HOST && g->env.type == WR_F64) test_last(g);
  if (g->env.place == WR_HOST) test_interrupted(g);
}

int main(void) {
  test_threads();
  on_default_grounds(test_all);
  return wr_test_report("auto_precond");
}
