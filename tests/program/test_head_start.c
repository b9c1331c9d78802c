/* A solve that begins on the CPU while a device is being opened: it goes over, and the parts are joined; it stays where a
 * signal, the time limit or its end comes first; and it goes on on the CPU where the device does not open, or fails. With a
 * method made for this test, which iterates on the CPU until it is told to leave, and with those of the programs. In a build
 * without CUDA no device opens. */
#define _DEFAULT_SOURCE /* usleep */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/memory.h"
#include "config/defaults.h"
#include "solvers/program/head_start.h"
#include "tests/check.h"
#include "tests/program/two_programs.h"

enum { N = 50, HERE = 20, THERE = 5, NEVER = 1000000000 };

static volatile sig_atomic_t flag;

typedef struct method {
  wr_csr *A;
  int64_t ends;        /* iterations after which it has converged on the CPU              */
  int64_t signal;      /* iteration at which a signal comes                                */
  wr_status on_device; /* of a solve there                                                 */
  double handed;       /* x[0] as handed over; 0: nothing was                              */
  int64_t limit;       /* iterations of the settings of the last solve                     */
} method;

typedef struct solving {
  method *of;
  wr_place place;
} solving;

static wr_csr *matrix(void *problem) { return ((method *)problem)->A; }

static wr_status start(void *problem, const wr_settings *settings, wr_plan *plan, wr_env *env, void *solve) {
  method *m = problem;
  (void)plan;
  *(solving *)solve = (solving){m, env->place};
  m->limit = settings->iterations;
  return env->place == WR_CUDA && m->on_device != WR_OK ? wr_fail(m->on_device, "no room on the device") : WR_OK;
}

/* The measure does not fall before the last iteration. */
static wr_status run(void *solve, const wr_monitor *monitor, wr_result *result) {
  const solving *s = solve;
  method *m = s->of;
  int64_t most = s->place == WR_CUDA ? THERE : m->handed != 0 ? HERE : m->ends;
  *result = (wr_result){.outcome = WR_CONVERGED};
  for (int64_t k = 1; k <= most; k++) {
    usleep(200);
    if (k == m->signal) flag = SIGINT;
    result->iterations = k, result->multiplies = 2 * k;
    CHECK_OK(wr_monitor_keep(monitor, k, 1));
    wr_monitor_show(monitor, k, 1, 1e-9);
    int ends = wr_monitor_ends(monitor);
    if (ends && k < most) {
      result->outcome = (wr_outcome)ends;
      return WR_OK;
    }
  }
  return WR_OK;
}

static wr_status verify(void *solve, const double *x, wr_verified level, int64_t rows, wr_verdict *verdict) {
  (void)solve, (void)x, (void)rows;
  *verdict = (wr_verdict){.level = level, .multiplied_right = 1, .met_tolerance = 1};
  return WR_OK;
}

/* 7 + the place. */
static wr_status answer(void *solve, double *x) {
  for (int i = 0; i < N; i++) x[i] = 7 + ((solving *)solve)->place;
  return WR_OK;
}

static wr_status multiply(void *solve, int count) { return (void)solve, (void)count, WR_OK; }

static wr_status resume(void *problem, const double *x) {
  ((method *)problem)->handed = x[0];
  return WR_OK;
}

static void stop(void *solve) { (void)solve; }

static const wr_program program = {.name = "test",
                                   .values = "an answer",
                                   .solve_size = sizeof(solving),
                                   .matrix = matrix,
                                   .start = start,
                                   .run = run,
                                   .multiply = multiply,
                                   .verify = verify,
                                   .answer = answer,
                                   .resume = resume,
                                   .stop = stop};

static wr_csr *identity(void) {
  wr_csr *A = NULL;
  CHECK_OK(wr_csr_create(N, N, N, 1, &A));
  for (int i = 0; A && i < N; i++) A->row_ptr[i + 1] = i + 1, A->col[i] = i, A->val[i] = 1;
  return A;
}

static double sum_of(const wr_ledger *ledger) {
  double sum = 0;
  for (int p = 0; p < WR_PHASE_COUNT; p++) sum += ledger->seconds[p];
  return sum;
}

typedef struct found {
  wr_run run;
  wr_history history;
  wr_problem_facts facts;
  double x; /* the answer, or 0 */
  int tried; /* 1: a device was to be opened */
} found;

/* One solve. begun 1: the device is being opened; opening: s that this is expected to take; deadline: s from now, or 0. */
static void solve(method *m, int begun, double opening, double deadline, found *f) {
  static wr_choice choices[WR_MAX_RUNS];
  const wr_backend *there = wr_backend_default(WR_CUDA);
  wr_settings settings = {.precision = WR_F64, .repeat = 1, .verify = WR_VERIFY_FULL, .quiet = 1, .iterations = NEVER};
  wr_ledger process;
  *f = (found){.x = 0};
  flag = 0, m->handed = 0, m->A = identity();
  double begin = wr_clock();
  wr_ledger_begin(&process, WR_PHASE_TRANSFORM);
  wr_comparison c = {.program = &program, .settings = &settings, .facts = &f->facts, .problem = m, .process = &process,
                     .interrupted = &flag, .choices = choices, .runs = &f->run, .histories = &f->history, .may_move = 1,
                     .opening = opening};
  if (deadline > 0) c.deadline = begin + deadline;
  if (begun) (void)wr_comparison_begin_device(&c, 0);
  CHECK_OK(wr_choices_parse("cpu_csr", choices, &c.count));
  if (there) CHECK_OK(wr_choice_parse("-k", there->name, &c.later));
  CHECK_OK(wr_compare(&c));
  CHECK(sum_of(&f->run.ledger) <= wr_clock() - begin);
  f->x = c.answer ? c.answer[0] : 0, f->tried = c.env_tried[WR_CUDA];
  wr_choices_free(choices, &c.count);
  wr_comparison_close(&c);
  wr_csr_free(m->A);
}

static void check_moved(const found *f, const method *m) {
  int64_t before = f->run.moved.iterations, last = f->history.count - 1;
  CHECK(f->run.error.status == WR_OK && f->run.ran && f->run.result.outcome == WR_CONVERGED);
  CHECK(f->run.moved.backend && f->run.moved.backend->place == WR_HOST && before > 0 && f->run.moved.seconds > 0);
  CHECK(m->handed == 7 + WR_HOST && m->limit == NEVER - before);
  CHECK(f->facts.place[0] != '\0');
  for (int64_t k = 0; k <= last; k++)
    CHECKF(f->history.iteration[k] == k + 1, "%lld", (long long)f->history.iteration[k]);
}

/* Late: the device is opened only when the solve has taken a while. */
static void test_move(void) {
  for (int begun = 0; begun < 2; begun++) {
    CASE(begun ? "a device that is being opened" : "a device that is opened late");
    found f;
    method m = {.ends = NEVER};
    solve(&m, begun, 0.01, 0, &f);
    check_moved(&f, &m);
    CHECK(f.x == 7 + WR_CUDA && f.run.backend->place == WR_CUDA && f.run.moved.failure.status == WR_OK);
    CHECK(f.run.result.iterations == f.run.moved.iterations + THERE && f.history.count == f.run.result.iterations);
    CHECK(f.run.result.multiplies == 2 * f.run.result.iterations);
    wr_history_free(&f.history);
  }
}

static void test_failure(void) {
  static const wr_status failures[] = {WR_ENOMEM, WR_EDEVICE};
  for (int k = 0; k < 2; k++) {
    CASE("a device that cannot go on");
    found f;
    method m = {.ends = NEVER, .on_device = failures[k]};
    solve(&m, 1, 0.01, 0, &f);
    check_moved(&f, &m);
    CHECK(f.x == 7 + WR_HOST && f.run.backend->place == WR_HOST);
    CHECK(f.run.moved.failure.status == failures[k] && strstr(f.run.moved.failure.text, "no room on the device"));
    CHECK(f.run.result.iterations == f.run.moved.iterations + HERE);
    wr_history_free(&f.history);
  }
}

/* What ends a solve on the CPU before a device can take over, or where there is none. */
static void test_staying(void) {
  static const struct {
    const char *name;
    method m;
    double deadline;
    wr_outcome outcome;
  } cases[] = {{"an end before the device is tried", {.ends = 2}, 0, WR_CONVERGED},
               {"a signal", {.ends = NEVER, .signal = 3}, 0, WR_INTERRUPTED},
               {"the time limit", {.ends = NEVER}, 1e-9, WR_TIME_LIMIT}};
  for (int k = 0; k < 3; k++) {
    CASE(cases[k].name);
    found f;
    method m = cases[k].m;
    solve(&m, 0, 1000, cases[k].deadline, &f);
    CHECK(f.run.ran && f.run.result.outcome == cases[k].outcome && f.run.backend->place == WR_HOST &&
          f.x == 7 + WR_HOST);
    CHECK(f.run.moved.backend == NULL && m.handed == 0 && !f.tried);
    wr_history_free(&f.history);
  }
}

static void test_without_device(void) {
  CASE("a device that does not open");
  for (int begun = 0; begun < 2; begun++) {
    found f;
    method m = {.ends = 2000};
    solve(&m, begun, 0.01, 0, &f);
    CHECK(f.run.ran && f.run.result.outcome == WR_CONVERGED && f.run.result.iterations == 2000 && f.tried);
    CHECK(f.run.moved.backend == NULL && f.x == 7 + WR_HOST);
    wr_history_free(&f.history);
  }
}

/* ---- With the methods of the programs ---- */

enum { SIDE = 20, ROWS = SIDE * SIDE, OPEN = 7, LEAVES = OPEN + WR_JUDGED_ITERATIONS };

static wr_comparison *compared;

/* The monitor of a solve on the CPU, but the device is open at iteration OPEN. From there on iterations take 1 ms and are
 * said to be far from the end. */
static void wait_and_look(void *context, int64_t iteration, double measure, double target) {
  const wr_monitor *monitor = context;
  if (iteration == OPEN)
    for (int k = 0; k < 10 || wr_comparison_is_opening(compared); k++) usleep(1000);
  if (iteration < OPEN) return;
  usleep(1000);
  monitor->progress(monitor->context, iteration, 1, 1e-9);
  (void)measure, (void)target;
}

static wr_monitor passing(const wr_monitor *monitor, const wr_env *env) {
  wr_monitor own = *monitor;
  if (env->place == WR_HOST) own.progress = wait_and_look, own.context = (void *)(uintptr_t)monitor;
  return own;
}

/* The problem begins on the CPU and goes over. The answer is verified, and takes fewer iterations there than from the start. */
static void check_problem(const wr_program *of, void *problem, wr_type type) {
  static wr_choice choices[WR_MAX_RUNS];
  wr_settings settings = {.precision = (int)type, .repeat = 1, .verify = WR_VERIFY_FULL, .quiet = 1, .iterations = 1000,
                          .tolerance = 1e-10};
  int64_t iterations[2];
  for (int moves = 0; moves < 2; moves++) {
    wr_ledger process;
    wr_run run = {0};
    wr_problem_facts facts = {0};
    flag = 0;
    wr_ledger_begin(&process, WR_PHASE_TRANSFORM);
    wr_comparison c = {.program = of, .settings = &settings, .facts = &facts, .problem = problem, .process = &process,
                       .interrupted = &flag, .choices = choices, .runs = &run, .may_move = moves, .opening = 10};
    compared = &c;
    if (moves) CHECK_OK(wr_comparison_begin_device(&c, 0));
    CHECK_OK(wr_choices_parse(moves ? "cpu_csr" : "csr_warp", choices, &c.count));
    if (moves) CHECK_OK(wr_choice_parse("-k", "csr_warp", &c.later));
    CHECK_OK(wr_compare(&c));
    CHECKF(run.error.status == WR_OK && run.result.outcome == WR_CONVERGED, "%s %s", run.error.text, run.result.note);
    CHECK(run.verdict.multiplied_right && run.verdict.met_tolerance && run.backend->place == WR_CUDA);
    CHECKF(run.moved.iterations == (moves ? LEAVES : 0), "%lld", (long long)run.moved.iterations);
    iterations[moves] = run.result.iterations - run.moved.iterations;
    wr_choices_free(choices, &c.count);
    wr_comparison_close(&c);
  }
  CHECKF(iterations[1] < iterations[0], "%lld of %lld", (long long)iterations[1], (long long)iterations[0]);
}

/* A grid whose rows are multiplied by powers of 2, which scaling undoes, so that unknowns are scaled too. */
static void test_system(void) {
  for (int scaled = 0; scaled < 2; scaled++) {
    CASE(scaled ? "a system that is scaled" : "a system");
    wr_csr *A = NULL;
    wr_system system;
    CHECK_OK(wr_csr_create(ROWS, ROWS, 5 * ROWS, 1, &A));
    int64_t count = 0;
    for (int i = 0; i < ROWS; i++) {
      const int beside[] = {i >= SIDE ? i - SIDE : -1, i % SIDE > 0 ? i - 1 : -1, i, i % SIDE < SIDE - 1 ? i + 1 : -1,
                            i < ROWS - SIDE ? i + SIDE : -1};
      for (int k = 0; k < 5; k++) {
        if (beside[k] < 0) continue;
        double value = (k == 2 ? 5 : -1) * (scaled ? ldexp(1, i % 3 * 15 + beside[k] % 2 * 12) : 1);
        A->col[count] = beside[k], A->val[count++] = value;
      }
      A->row_ptr[i + 1] = count;
    }
    A->nnz = count;
    CHECK_OK(wr_system_build(A, NULL, NULL, 1, 3, WR_SCALE_AUTO, NULL, 0, &system));
    CHECK((system.scaling.done != WR_SCALE_NONE) == scaled);
    check_problem(&system_program, &system, WR_F64);
    wr_system_free(&system);
    wr_csr_free(A);
  }
}

static void test_graph(void) {
  for (int both = 0; both < 2; both++) {
    CASE(both ? "a graph of links that go both ways" : "a graph");
    wr_csr *A = NULL;
    wr_graph graph;
    CHECK_OK(wr_csr_create(ROWS, ROWS, 4 * ROWS, 0, &A));
    int64_t count = 0;
    for (int i = 0; i < ROWS; i++) {
      for (int k = -2; k <= 2; k++) {
        int to = both ? i + k : (int)((i * 7L + k * k * 31L + k) % ROWS);
        if (k != 0 && to >= 0 && to < ROWS && (both || i % 9 != 0)) A->col[count++] = to;
      }
      A->row_ptr[i + 1] = count;
    }
    A->nnz = count;
    for (int i = 0; i < ROWS; i++)
      for (int64_t k = A->row_ptr[i] + 1; k < A->row_ptr[i + 1]; k++)
        for (int64_t m = k; m > A->row_ptr[i] && A->col[m] < A->col[m - 1]; m--) {
          int32_t later = A->col[m];
          A->col[m] = A->col[m - 1], A->col[m - 1] = later;
        }
    CHECK_OK(wr_graph_build(A, 0, NULL, NULL, &graph));
    CHECK(graph.symmetric == both);
    check_problem(&graph_program, &graph, WR_F64);
    wr_graph_free(&graph);
    wr_csr_free(A);
  }
}

/* Gains by hand: iterations that take 1 ms here, and the measure falls to a tenth in each. */
static void test_gain(void) {
  CASE("what a device gains");
  wr_csr A = {.nrows = 1000, .ncols = 1000, .nnz = 5000};
  wr_head_start h;
  wr_head_start_begin(&h, &A, WR_F64, WR_EXPECTED_MULTIPLIES, 0.2, 0);
  CHECK(h.move > 0 && h.iteration > 0 && h.iteration < 1e-3);
  wr_progress_mark now = {0};
  for (int k = 1; k <= 8; k++) {
    now = (wr_progress_mark){.time = 1e-3 * k, .iteration = k, .measure = pow(0.1, k)};
    wr_head_start_keep(&h, now);
    CHECKF((wr_head_start_gain(&h, now, 1e-308, 0) > 0) == (k >= WR_JUDGED_ITERATIONS), "%d", k);
  }
  double each = 1e-3 - h.iteration;
  CHECK(fabs(wr_head_start_gain(&h, now, 1e-108, 0) - (100 * each - h.move)) < 1e-9);
  CHECK(fabs(wr_head_start_gain(&h, now, 1e-108, 0.05) - (100 * each - h.move - 0.05)) < 1e-9);
  CHECK(wr_head_start_gain(&h, now, 1e-9, 0) < 0);
  now.measure = 1;
  CHECK(fabs(wr_head_start_gain(&h, now, 1e-9, 0.05) - ((h.usual - 8) * each - h.move - 0.05)) < 1e-9);
  now.iteration = 1000000; /* so short that a device would take longer */
  CHECK(wr_head_start_gain(&h, now, 1e-300, 0) < 0);
  wr_head_start_begin(&h, &A, WR_F64, 50, 0.2, 0);
  for (int k = 1; k <= 8; k++) {
    now = (wr_progress_mark){.time = 1e-3 * k, .iteration = k, .measure = pow(0.1, k)};
    wr_head_start_keep(&h, now);
  }
  CHECK(fabs(wr_head_start_left(&h, now, 1e-18) - 10) < 1e-9 && wr_head_start_left(&h, now, 1e-108) == 50 - 8);
  wr_head_start_begin(&h, &A, WR_F64, WR_EXPECTED_MULTIPLIES, 0.2, 0);
  for (int k = 1; k <= 12; k++) { /* ten times as slow beside the opening, which ends with the sixth iteration */
    double time = k <= 6 ? 1e-2 * k : 6e-2 + 1e-3 * (k - 6);
    now = (wr_progress_mark){.time = time, .iteration = k, .measure = pow(0.1, k)};
    wr_head_start_keep(&h, now);
    if (k == 6) wr_head_start_opened(&h, now);
    if (k >= 6 && k < 6 + WR_JUDGED_ITERATIONS) CHECK(wr_head_start_gain(&h, now, 1e-308, 0) < 0);
  }
  CHECK(fabs(wr_head_start_gain(&h, now, 1e-112, 0) - (100 * each - h.move)) < 1e-9);
  now.iteration = 400, now.time += 1e-3 * 388; /* as many as so far: more than is usual */
  CHECK(fabs(wr_head_start_gain(&h, now, 1e-300, 0) - (400 * each - h.move)) < 1e-9);
}

int main(void) {
  wr_env env = {.place = WR_CUDA, .type = WR_F64};
  int there = wr_env_open(&env) == WR_OK;
  wr_env_close(&env);
  test_gain();
  test_staying();
  if (there) test_move();
  if (there) test_failure();
  if (there) test_system();
  if (there) test_graph();
  if (!there) test_without_device();
  return wr_test_report("head_start");
}
