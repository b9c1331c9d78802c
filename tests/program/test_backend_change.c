/* -k auto in mid-run on the CPU. A file of calibration says that blocks take nearly no time, and as long to make as so many
 * multiplies by rows: a solve for which few multiplies are expected begins by rows, and goes on by blocks once it has taken
 * many. Whatever the methods do meanwhile, the answer is verified, and the change happens once; it does not where the choice is
 * not free, where too little is saved, where memory ends, or where a signal comes before. */
#define _GNU_SOURCE /* memalign, mkdtemp, setenv */
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/defaults.h"
#include "config/memory.h"
#include "config/user_cache.h"
#include "data/generate.h"
#include "solvers/program/backend_change.h"
#include "spmv/choose/calibration.h"
#include "spmv/device/testing.h"
#include "tests/check.h"
#include "tests/program/two_programs.h"

enum { EXPECTED = 10, PAYS_AT = 30 }; /* multiplies: expected, and after so many blocks have paid */

static atomic_int requests_left = -1; /* of memory that are granted; -1: all */

/* In place of the C library's; wr_alloc has no other source. */
int posix_memalign(void **block, size_t alignment, size_t bytes) {
  if (atomic_load(&requests_left) == 0) return ENOMEM;
  if (atomic_load(&requests_left) > 0) atomic_fetch_sub(&requests_left, 1);
  *block = memalign(alignment, bytes);
  return *block != NULL ? 0 : ENOMEM;
}

/* ---- What observes a solve ---- */

typedef enum event { NOTHING, SIGNAL, TIME_LIMIT, NO_MEMORY } event;

static struct {
  const wr_monitor *given;
  const wr_run *run;
  wr_testing testing;
  event event;
  int granted;       /* requests of memory during a rest with NO_MEMORY */
  int rests, ended;
  volatile sig_atomic_t flag;
} now;

static void rest(void *context) {
  now.rests++;
  if (now.event == NO_MEMORY) atomic_store(&requests_left, now.granted);
  now.given->rest(context);
  atomic_store(&requests_left, -1);
  int is_changed = now.run->changed.from != NULL;
  now.flag = is_changed && now.event == SIGNAL ? SIGINT : 0;
  now.ended = is_changed && now.event == TIME_LIMIT;
}

static wr_monitor passing(const wr_monitor *monitor, const wr_env *env) {
  wr_monitor own = *monitor;
  ((wr_env *)(uintptr_t)env)->testing = &now.testing;
  own.rest = rest, own.leaves = &now.ended, now.given = monitor;
  return own;
}

static wr_plan_use few(const wr_settings *settings, const void *problem) {
  return (void)settings, (void)problem, (wr_plan_use){.multiplies = EXPECTED};
}

/* ---- One solve ---- */

typedef struct found {
  wr_run run;
  wr_history history;
  double *x;
} found;

static void found_free(found *f) {
  wr_history_free(&f->history);
  wr_free(f->x);
}

/* backend NULL: auto. */
static void solve(const wr_program *of, void *problem, wr_settings settings, const char *backend, found *f) {
  static wr_choice choices[WR_MAX_RUNS];
  wr_program program = *of;
  wr_ledger process;
  wr_problem_facts facts = {0};
  program.use = few;
  *f = (found){.x = NULL};
  now.rests = now.ended = 0, now.flag = 0, now.run = &f->run;
  wr_ledger_begin(&process, WR_PHASE_TRANSFORM);
  wr_comparison c = {.program = &program, .settings = &settings, .facts = &facts, .problem = problem,
                     .process = &process, .interrupted = &now.flag, .choices = choices, .count = 1, .threads = 1,
                     .runs = &f->run, .histories = &f->history};
  if (backend)
    CHECK_OK(wr_choices_parse(backend, choices, &c.count));
  else
    CHECK_OK(wr_choice_automatic("-k", NULL, WR_HOST, settings.deterministic, &choices[0]));
  CHECK_OK(wr_compare(&c));
  f->x = c.answer, c.answer = NULL;
  wr_choices_free(choices, &c.count);
  wr_comparison_close(&c);
}

static const wr_settings usual = {.precision = WR_F64, .repeat = 1, .verify = WR_VERIFY_FULL, .quiet = 1,
                                  .iterations = 1000, .tolerance = 1e-10};

static int is_backend(const wr_backend *backend, const char *name) {
  return backend && strcmp(backend->name, name) == 0;
}

static void check_answered(const found *f) {
  CHECKF(f->run.error.status == WR_OK && f->run.ran && f->x, "%s", f->run.error.text);
  CHECKF(f->run.result.outcome == WR_CONVERGED, "%s", f->run.result.note);
  CHECK(f->run.verdict.multiplied_right && f->run.verdict.met_tolerance);
  for (int64_t k = 1; k < f->history.count; k++) CHECK(f->history.iteration[k] > f->history.iteration[k - 1]);
  int64_t last = f->history.count - 1;
  CHECK(last >= 0 && f->history.iteration[last] <= f->run.result.iterations);
}

static void check_kept(const found *f) { CHECK(f->run.changed.from == NULL && is_backend(f->run.backend, "cpu_csr")); }

/* Blocks take a thousandth of what the model expects, and `multiplies` by rows to make. */
static void calibrate(wr_csr *A, double factor, double multiplies) {
  int count;
  wr_error warning;
  wr_expected expected[WR_MOST_CANDIDATES];
  char path[WR_USER_CACHE_ROOM];
  wr_env env = {.place = WR_HOST, .type = WR_F64, .threads = 1};
  CHECK_OK(wr_env_open(&env));
  CHECK_OK(wr_plans_expect(A, &env, NULL, expected, &count, &warning));
  CHECK(count == 2 && is_backend(expected[0].backend, "cpu_csr") && is_backend(expected[1].backend, "cpu_bsr"));
  double prepare = multiplies * expected[0].multiply / expected[1].prepare;
  CHECK_OK(wr_user_cache_path(WR_CALIBRATION_FILE, path));
  CHECK_OK(wr_user_cache_make(path));
  CHECK_OK(wr_calibration_store(path, &env, expected[1].backend, A->val != NULL, &(wr_calibration){factor, prepare}));
  wr_env_close(&env);
}

/* The first look behind so many multiplies that making blocks and a thousandth of the multiplies are nine tenths of them. */
static void check_changed(const found *f, int64_t per_look) {
  const wr_run_changed *changed = &f->run.changed;
  CHECK(is_backend(changed->from, "cpu_csr") && is_backend(changed->to, "cpu_bsr"));
  CHECK(changed->failure.status == WR_OK && is_backend(f->run.backend, "cpu_bsr"));
  CHECK(is_backend(f->run.chosen.backend, "cpu_csr") && f->run.chosen.multiplies == EXPECTED);
  double least = PAYS_AT / (1 - WR_CHANGE_SHARE);
  CHECKF((double)changed->multiplies >= least && changed->left >= least, "%lld, %g", (long long)changed->multiplies,
         changed->left);
  if (per_look)
    CHECKF((double)changed->multiplies <= 1.01 * least + (double)per_look, "%lld", (long long)changed->multiplies);
  CHECK(changed->iterations > 0 && changed->iterations < f->run.result.iterations);
  CHECK(f->run.applies > 0 && f->run.applies + changed->multiplies >= f->run.result.multiplies);
  CHECK(changed->took > 0 && f->run.ledger.seconds[WR_PHASE_PREPARE] >= changed->took);
}

/* ---- Problems ---- */

typedef struct ground {
  wr_csr *A;
  wr_system system;
  wr_graph graph;
} ground;

static ground open_system(void) {
  ground g = {0};
  CHECK_OK(wr_generate("gen:stencil:n=60,points=5,convection=0", 0, &g.A));
  CHECK_OK(wr_system_build(g.A, NULL, NULL, 1, 3, WR_SCALE_AUTO, NULL, 0, &g.system));
  calibrate(g.system.matrix, 0.001, PAYS_AT);
  return g;
}

static void close_system(ground *g) {
  wr_system_free(&g->system);
  wr_csr_free(g->A);
}

static void test_system(void) {
  static const wr_method *const methods[] = {&wr_method_cg, &wr_method_bicgstab, &wr_method_bicgstabl,
                                             &wr_method_idr, NULL};
  ground g = open_system();
  now.event = NOTHING;
  for (int m = 0; m < 5; m++) {
    found auto_run, rows;
    CASE(methods[m] ? wr_method_name(methods[m]) : "a method that is chosen");
    solving_options.iterate.method = methods[m];
    solve(&system_program, &g.system, usual, NULL, &auto_run);
    solve(&system_program, &g.system, usual, "cpu_csr", &rows);
    check_answered(&auto_run);
    check_changed(&auto_run, methods[m] == &wr_method_cg ? 1 : 0);
    check_answered(&rows);
    check_kept(&rows);
    CHECK(rows.run.changed.to == NULL);
    found_free(&auto_run);
    found_free(&rows);
  }
  solving_options.iterate.method = &wr_method_cg;
  close_system(&g);
}

/* Each score within both bounds. Steps of several methods, one behind the other, are parts of one solve. */
static void test_graph(void) {
  static const wr_rank_method methods[] = {WR_RANK_AUTO, WR_RANK_POWER, WR_RANK_CHEBYSHEV, WR_RANK_IDR};
  static char name[80];
  static const char *const graphs[] = {"gen:road:side=30", "gen:band:n=2000"};
  now.event = NOTHING;
  scoring_options.iterate.damping = 0.995, scoring_options.iterate.iterations = 10000;
  for (int k = 0; k < 2; k++) {
    ground g = {0};
    CHECK_OK(wr_generate(graphs[k], 0, &g.A));
    CHECK_OK(wr_graph_build(g.A, 0, NULL, NULL, &g.graph));
    calibrate(g.graph.flow, 0.001, PAYS_AT);
    for (int m = 0; m < 4; m++) {
      double distance = 0;
      found auto_run, rows;
      if (methods[m] == WR_RANK_CHEBYSHEV && !g.graph.symmetric) continue;
      snprintf(name, sizeof name, "%s by %s", graphs[k], wr_rank_method_name(methods[m]));
      CASE(name);
      scoring_options.method = methods[m];
      solve(&graph_program, &g.graph, usual, NULL, &auto_run);
      solve(&graph_program, &g.graph, usual, "cpu_csr", &rows);
      check_answered(&auto_run);
      int multiplies_few = strcmp(auto_run.run.result.method, wr_rank_method_name(WR_RANK_GAUSS_SEIDEL)) == 0;
      if (!multiplies_few) check_changed(&auto_run, methods[m] == WR_RANK_POWER ? 1 : 0);
      check_answered(&rows);
      for (int64_t i = 0; auto_run.x && rows.x && i < g.graph.n; i++) distance += fabs(auto_run.x[i] - rows.x[i]);
      CHECKF(distance <= auto_run.run.result.bound + rows.run.result.bound, "%g", distance);
      found_free(&auto_run);
      found_free(&rows);
    }
    wr_graph_free(&g.graph);
    wr_csr_free(g.A);
  }
}

/* ---- No change ---- */

static void test_kept(void) {
  wr_settings deterministic = usual, twice = usual;
  deterministic.deterministic = 1, twice.repeat = 2;
  const struct {
    const char *name;
    wr_settings settings;
    const char *backend;
    double factor, multiplies;
    int may_rest; /* 1: it looks at the candidates */
  } cases[] = {{"deterministic", deterministic, NULL, 0.001, PAYS_AT, 0},
               {"repeated", twice, NULL, 0.001, PAYS_AT, 0},
               {"a backend by name", usual, "cpu_csr", 0.001, PAYS_AT, 0},
               {"slow blocks", usual, NULL, 1, PAYS_AT, 1},
               {"blocks that never pay", usual, NULL, 0.001, 10000, 1}};
  ground g = open_system();
  now.event = NOTHING;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    found f;
    CASE(cases[k].name);
    calibrate(g.system.matrix, cases[k].factor, cases[k].multiplies);
    solve(&system_program, &g.system, cases[k].settings, cases[k].backend, &f);
    check_answered(&f);
    check_kept(&f);
    CHECKF(f.run.changed.to == NULL && now.rests == cases[k].may_rest, "%d", now.rests);
    found_free(&f);
  }
  close_system(&g);
}

/* Fewer and fewer requests for memory fail while the candidates are planned and one is prepared, until none does. */
static void test_no_memory(void) {
  ground g = open_system();
  int changed = 0, refused = 0;
  now.event = NO_MEMORY;
  for (now.granted = 0; !changed && now.granted < 1000; now.granted++) {
    found f;
    CASE("no memory");
    solve(&system_program, &g.system, usual, NULL, &f);
    check_answered(&f);
    changed = f.run.changed.from != NULL;
    if (!changed) check_kept(&f);
    if (f.run.changed.to && !changed) {
      refused++;
      CHECK(f.run.changed.failure.status == WR_ENOMEM && f.run.changed.multiplies > 0);
    }
    found_free(&f);
  }
  CHECKF(changed && refused > 0, "%d of %d", refused, now.granted);
  now.event = NOTHING;
  close_system(&g);
}

/* At the first look behind the change. */
static void test_ended(void) {
  ground g = open_system();
  for (int by_signal = 0; by_signal < 2; by_signal++) {
    found f;
    CASE(by_signal ? "a signal" : "the time limit");
    now.event = by_signal ? SIGNAL : TIME_LIMIT;
    solve(&system_program, &g.system, usual, NULL, &f);
    CHECK(f.run.ran && f.run.result.outcome == (by_signal ? WR_INTERRUPTED : WR_TIME_LIMIT));
    CHECK(f.x && f.run.verdict.multiplied_right && is_backend(f.run.changed.from, "cpu_csr"));
    CHECK(f.run.result.iterations == f.run.changed.iterations + 1);
    found_free(&f);
  }
  now.event = NOTHING;
  close_system(&g);
}

/* ---- Decisions by hand ---- */

/* Looks that must not, or must, call for a rest: of a plan that has multiplied so often that 100 times as long is worth a
 * change. */
static void test_looks(void) {
  wr_env env = {.place = WR_HOST, .type = WR_F64, .threads = 1};
  wr_vec x, y;
  wr_csr *A = NULL;
  wr_plan *plan;
  const wr_backend *rows;
  enum { APPLIES = 50 };
  CASE("looks");
  CHECK_OK(wr_env_open(&env));
  CHECK_OK(wr_generate("gen:stencil:n=24,points=5", 0, &A));
  CHECK_OK(wr_backend_find("cpu_csr", &rows));
  CHECK_OK(wr_plan_create(rows, NULL, A, &env, &plan));
  CHECK_OK(wr_plan_prepare(plan));
  CHECK_OK(env.ops->alloc(&env, A->ncols, WR_F64, "x", &x));
  CHECK_OK(env.ops->alloc(&env, A->nrows, WR_F64, "y", &y));
  CHECK_OK(env.ops->fill(&env, &x, 1));
  wr_chosen chosen = {.multiplies = EXPECTED, .multiply = 1};
  wr_backend_change b = {.plan = plan, .A = A, .env = &env, .chosen = &chosen};
  wr_backend_change_look(&b, APPLIES, 1e9);
  CHECK(!b.due); /* nothing was timed */
  CHECK_OK(wr_plan_time_start(plan));
  for (int k = 0; k < APPLIES; k++) CHECK_OK(wr_plan_apply(plan, &(wr_apply){.alpha = 1, .x = &x, .y = &y}));
  CHECK_OK(wr_plan_time_collect(plan));
  double total = wr_plan_get_times(plan).total, each = total / APPLIES;
  CHECK(total > 0);
  env.testing = &(wr_testing){.hasty = 1};
  wr_backend_change_look(&b, WR_JUDGED_ITERATIONS - 1, 1e9);
  CHECK(!b.due); /* too early */
  wr_backend_change_look(&b, APPLIES / 2, 1e9);
  CHECK(b.due && b.per_iteration == 2 && b.left == APPLIES); /* no more than were done */
  wr_backend_change_look(&b, APPLIES / 2, 5);
  CHECK(b.due && b.left == 10);
  chosen.multiplies = APPLIES + 10;
  wr_backend_change_look(&b, APPLIES / 2, 5);
  CHECK(!b.due); /* as many as expected */
  env.testing = NULL, chosen.multiplies = EXPECTED;
  wr_backend_change_look(&b, APPLIES / 2, 0.4 * WR_CHANGE_SECONDS / each); /* two multiplies each */
  CHECK(!b.due);
  b.expected[0] = (wr_expected){.backend = wr_backend_at(0), .multiply = 1e-3}, b.count = 1;
  if (b.expected[0].backend == rows) b.expected[0].backend = wr_backend_at(1);
  env.testing = &(wr_testing){.hasty = 1};
  for (int saves = 0; saves < 2; saves++) { /* 40 multiplies by chosen.multiply, of which a tenth is to be saved */
    b.expected[0].prepare = 40 * (1 - WR_CHANGE_SHARE) - 40e-3 + (saves ? -1e-6 : 1e-6);
    wr_backend_change_look(&b, APPLIES, 40);
    CHECKF(b.due == saves, "%d", saves);
    b.expected[0].first = 2e-6; /* counts, too */
    wr_backend_change_look(&b, APPLIES, 40);
    CHECK(!b.due);
    b.expected[0].first = 0;
  }
  b.expected[0].info.term_unit = 1e-9;
  wr_backend_change_look(&b, APPLIES, 40);
  CHECK(!b.due); /* it rounds more */
  env.ops->release(&env, &x);
  env.ops->release(&env, &y);
  wr_plan_destroy(plan);
  wr_csr_free(A);
  wr_env_close(&env);
}

int main(void) {
  char folder[440], path[480];
  snprintf(folder, sizeof folder, "%.400s/windrow-test-XXXXXX", wr_test_folder());
  if (mkdtemp(folder) == NULL || setenv("XDG_CACHE_HOME", folder, 1) != 0) return 1;
  test_looks();
  now.testing.hasty = 1;
  test_system();
  test_graph();
  test_kept();
  test_no_memory();
  test_ended();
  snprintf(path, sizeof path, "%s/windrow/" WR_CALIBRATION_FILE, folder);
  CHECK(unlink(path) == 0);
  snprintf(path, sizeof path, "%s/windrow", folder);
  CHECK(rmdir(path) == 0 && rmdir(folder) == 0);
  return wr_test_report("backend_change");
}
