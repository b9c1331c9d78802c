/* compare.c with a method made for this test: backends that cannot run, the distance of answers, and ledgers, in which no
 * moment is counted twice. And the parsing of -k. */
#include <stdlib.h>

#include "config/memory.h"
#include "solvers/program/compare.h"
#include "tests/check.h"

enum { N = 50 };

/* A method that answers with the number of its solves so far. */
typedef struct method {
  wr_csr *A;
  int solves, stops;
} method;

/* A solve of it. */
typedef struct solving {
  method *of;
} solving;

static wr_csr *matrix(void *problem) { return ((method *)problem)->A; }

static wr_status start(void *problem, const wr_settings *settings, wr_plan *plan, wr_env *env, void *solve) {
  (void)settings, (void)plan, (void)env;
  ((solving *)solve)->of = problem;
  return WR_OK;
}

static wr_status run(void *solve, const wr_monitor *monitor, wr_result *result) {
  (void)monitor;
  ((solving *)solve)->of->solves++;
  *result = (wr_result){.outcome = WR_CONVERGED, .iterations = 3};
  return WR_OK;
}

static wr_status verify(void *solve, const double *x, wr_verified level, int64_t rows, wr_verdict *verdict) {
  (void)rows;
  CHECK(x[0] == ((solving *)solve)->of->solves); /* as it was downloaded */
  *verdict = (wr_verdict){.level = level, .multiplied_right = 1, .met_tolerance = 1};
  return WR_OK;
}

static wr_status answer(void *solve, double *x) {
  for (int i = 0; i < N; i++) x[i] = ((solving *)solve)->of->solves;
  return WR_OK;
}

static wr_status normalise(void *solve, double *x) {
  (void)solve;
  for (int i = 0; i < N; i++) x[i] *= 2;
  return WR_OK;
}

static void stop(void *solve) { ((solving *)solve)->of->stops++; }

static double difference(const double *a, const double *b, int64_t n) { return n == N ? a[0] - b[0] : -1; }

static const wr_program program = {.name = "test",
                                   .values = "an answer",
                                   .solve_size = sizeof(solving),
                                   .matrix = matrix,
                                   .start = start,
                                   .run = run,
                                   .verify = verify,
                                   .answer = answer,
                                   .normalise = normalise,
                                   .stop = stop,
                                   .difference = difference};

static wr_status refuse(const wr_env *env, const wr_csr *A, const void *knobs, wr_plan_info *info) {
  (void)env, (void)A, (void)knobs, (void)info;
  return wr_fail(WR_EUNAVAILABLE, "never called");
}

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

static void compare(const char *list, wr_settings *settings, wr_run *runs, method *m, wr_comparison *c) {
  static wr_choice choices[WR_MAX_RUNS];
  static volatile sig_atomic_t never;
  static wr_problem_facts facts;
  static wr_ledger process;
  wr_ledger_begin(&process, WR_PHASE_TRANSFORM);
  *c = (wr_comparison){.program = &program, .settings = settings, .facts = &facts, .problem = m, .process = &process,
                       .interrupted = &never, .choices = choices, .runs = runs};
  CHECK_OK(wr_choices_parse(list, choices, &c->count));
  CHECK_OK(wr_compare(c));
  int count = c->count;
  wr_choices_free(choices, &count);
}

static void test_runs(void) {
  CASE("a list of three");
  wr_run runs[WR_MAX_RUNS];
  wr_comparison c;
  method m = {.A = identity()};
  wr_settings settings = {.precision = WR_F64, .device = WR_DEVICE_CPU, .repeat = 3, .verify = WR_VERIFY_FULL};
  double begin = wr_clock();
  compare("cpu_csr,cusparse,reference", &settings, runs, &m, &c);
  double elapsed = wr_clock() - begin;
  CHECK(runs[0].ran && runs[0].error.status == WR_OK && runs[2].ran && runs[2].error.status == WR_OK);
  CHECK(!runs[1].ran && runs[1].error.status == WR_EUNAVAILABLE && runs[1].error.text[0]);
  CHECKF(m.solves == 6 && m.stops == 2, "%d solves, %d stops", m.solves, m.stops); /* each once, and twice for --repeat 3 */
  CHECK(c.answer_run == 0 && c.answer[0] == 2);
  CHECKF(runs[2].difference == 6, "%g", runs[2].difference); /* twice the fourth solve's answer less the first's */
  CHECK(runs[0].warm > 0 && runs[2].warm > 0);
  CHECKF(sum_of(c.process) + sum_of(&c.place_ledger[WR_HOST]) <= elapsed, "no moment is counted twice");
  CHECKF(sum_of(&runs[0].ledger) <= elapsed && sum_of(&runs[2].ledger) <= elapsed, "nor in a run");
  double own = 0; /* phases of each run alone, without those that all runs share */
  for (int k = 0; k < 3; k += 2) own += sum_of(&runs[k].ledger) - sum_of(&c.place_ledger[WR_HOST]);
  CHECKF(own - sum_of(c.process) <= elapsed, "own parts %g s in %g s", own, elapsed);
  wr_comparison_close(&c);
  wr_csr_free(m.A);
}

/* The time of opening a place is booked for the place and not for the program. */
static void test_place(void) {
  CASE("opening a place");
  static volatile sig_atomic_t never;
  wr_settings settings = {.precision = WR_F64};
  wr_ledger process;
  wr_comparison c = {.program = &program, .settings = &settings, .process = &process, .interrupted = &never};
  double begin = wr_clock();
  wr_ledger_begin(&process, WR_PHASE_TRANSFORM);
  CHECK_OK(wr_comparison_open_place(&c, WR_HOST));
  CHECK(process.running && process.phase == WR_PHASE_TRANSFORM);
  wr_ledger_stop(&process);
  double elapsed = wr_clock() - begin, place = sum_of(&c.place_ledger[WR_HOST]);
  CHECK(place > 0 && sum_of(&process) + place <= elapsed);
  CHECK_OK(wr_comparison_open_place(&c, WR_HOST)); /* it is opened once */
  CHECK(sum_of(&c.place_ledger[WR_HOST]) == place);
  wr_comparison_close(&c);
}

static void test_device(void) {
  CASE("-d cuda excludes the CPU");
  wr_run runs[WR_MAX_RUNS];
  wr_comparison c;
  method m = {.A = identity()};
  wr_settings settings = {.precision = WR_F64, .repeat = 1, .device = WR_DEVICE_CUDA};
  compare("cpu_csr", &settings, runs, &m, &c);
  CHECK(!runs[0].ran && runs[0].error.status == WR_EUNAVAILABLE && strstr(runs[0].error.text, "--device cuda"));
  CHECK(m.solves == 0 && c.answer == NULL && c.answer_run == -1);
  wr_comparison_close(&c);
  wr_csr_free(m.A);
}

static void test_choices(void) {
  CASE("-k as text");
  wr_choice choices[WR_MAX_RUNS];
  int count;
  CHECK_OK(wr_choices_parse("reference", choices, &count));
  CHECK(count == 1 && strcmp(choices[0].backend->name, "reference") == 0 && choices[0].knobs[0] == '\0');
  wr_choices_free(choices, &count);
  CHECK(count == 0 && choices[0].values == NULL);
  CHECK_OK(wr_choices_parse("cpu_csr, merbit:sigma=11:layout=paper,cpu_csr", choices, &count));
  CHECK(count == 3 && strcmp(choices[1].knobs, "sigma=11:layout=paper") == 0);
  CHECK(strcmp(choices[1].backend->name, "merbit") == 0 && strcmp(choices[2].backend->name, "cpu_csr") == 0);
  wr_choices_free(choices, &count);
  CHECK_FAILS(WR_EUSAGE, wr_choices_parse("", choices, &count));
  CHECK_FAILS(WR_EUSAGE, wr_choices_parse("cpu_csr,", choices, &count));
  CHECK_FAILS(WR_EUSAGE, wr_choices_parse(",cpu_csr", choices, &count));
  CHECK_FAILS(WR_EUSAGE, wr_choices_parse("cpu_cs", choices, &count));
  CHECK_MESSAGE("did you mean 'cpu_csr'");
  char list[(WR_MAX_RUNS + 1) * 10 + 1] = ""; /* one more than there is room for */
  for (int k = 0; k <= WR_MAX_RUNS; k++) memcpy(list + 10 * k, k < WR_MAX_RUNS ? "reference," : "reference", 10);
  CHECK_FAILS(WR_EUSAGE, wr_choices_parse(list, choices, &count));
  CHECK_MESSAGE("more than 64");
  CHECK_FAILS(WR_EUSAGE, wr_choices_parse("cpu_csr,reference:x=1", choices, &count));
  CHECK(count == 0);
  const wr_backend *vendor = NULL;
  CHECK_OK(wr_backend_find("cusparse", &vendor));
  if (vendor && vendor->plan == NULL) { /* not built, and so without knobs */
    CHECK_OK(wr_choices_parse("cusparse:x=1", choices, &count));
    CHECK(choices[0].values == NULL && strcmp(choices[0].knobs, "x=1") == 0);
    wr_choices_free(choices, &count);
  }
  wr_csr *A = identity();
  wr_env env = {.place = WR_HOST, .type = WR_F64};
  wr_plan *plan = NULL;
  CHECK_OK(wr_choices_parse("reference,cpu_bsr:r=2:c=5", choices, &count));
  choices[1].knobs[0] = '\0'; /* the text is not read again */
  CHECK_OK(wr_env_open(&env));
  CHECK_OK(wr_choice_plan(&choices[1], A, &env, &plan));
  CHECKF(strncmp(wr_plan_knobs(plan), "r=2:c=5:", 8) == 0, "%s", wr_plan_knobs(plan));
  wr_plan_destroy(plan);
  wr_env_close(&env);
  wr_csr_free(A);
  wr_choices_free(choices, &count);
}

/* A device that a second thread opens: every call returns what opening it directly returns, and no moment is counted twice. */
static void test_beside(void) {
  static const double waits[] = {0, 0.01, 10};
  static volatile sig_atomic_t never;
  wr_settings settings = {.precision = WR_F64};
  wr_env at_once = {.place = WR_CUDA, .type = WR_F64};
  wr_status expected = wr_env_open(&at_once);
  char reason[512];
  snprintf(reason, sizeof reason, "%s", expected == WR_OK ? "" : wr_status_message());
  wr_env_close(&at_once);
  for (int k = 0; k < 4; k++) {
    CASE(k < 3 ? "a device opened by a second thread" : "closed while it opens");
    wr_ledger process = {0};
    wr_comparison c = {.program = &program, .settings = &settings, .process = &process, .interrupted = &never};
    wr_ledger *ledger = &c.place_ledger[WR_CUDA];
    double begin = wr_clock();
    wr_ledger_begin(&process, WR_PHASE_READ);
    wr_status first = wr_comparison_begin_device(&c, waits[k % 3]);
    CHECK(first == WR_OK || first == expected);
    if (wr_backend_default(WR_CUDA) == NULL) CHECK(first == expected && !c.device.running); /* no thread is needed */
    CHECK(process.running && process.phase == WR_PHASE_READ);
    for (int again = 0; k < 3 && again < 2; again++) {
      wr_status status = wr_comparison_open_place(&c, WR_CUDA);
      CHECKF(status == expected, "%d, not %d", (int)status, (int)expected);
      CHECKF(status == WR_OK || strcmp(wr_status_message(), reason) == 0, "'%s', not '%s'", wr_status_message(),
             reason);
      CHECK(wr_comparison_begin_device(&c, 0) == expected && !c.device.running);
    }
    wr_ledger_stop(&process);
    double elapsed = wr_clock() - begin;
    CHECK(sum_of(&process) + sum_of(ledger) <= elapsed);
    CHECKF(ledger->hidden[WR_PHASE_INIT] >= 0 && ledger->hidden[WR_PHASE_INIT] <= elapsed, "%g s beside %g",
           ledger->hidden[WR_PHASE_INIT], elapsed);
    wr_comparison_close(&c);
    CHECK(!c.device.running);
  }
}

static int all_on_device_given;

static int uploads_input(const wr_settings *settings, const wr_csr *A, int all_on_device) {
  (void)settings;
  all_on_device_given = all_on_device;
  return A->nrows == N;
}

/* Rows that are announced after the device is open, before, or not to the end: a complete matrix has a view, and no moment is
 * counted twice. */
static void test_fed(void) {
  static const wr_backend on_device = {.name = "on_device", .place = WR_CUDA, .plan = refuse},
                          on_host = {.name = "on_host", .place = WR_HOST, .plan = refuse};
  static volatile sig_atomic_t never;
  wr_program own = program;
  own.uploads_input = uploads_input;
  wr_settings settings = {.precision = WR_F64};
  for (int k = 0; k < 6; k++) {
    CASE(k % 3 == 0 ? "fed at once" : k % 3 == 1 ? "fed when it is open" : "never fed to the end");
    wr_choice choices[] = {{.backend = &on_device}, {.backend = &on_host}};
    wr_ledger process = {0};
    wr_csr *A = identity();
    wr_comparison c = {.program = &own, .settings = &settings, .process = &process, .interrupted = &never,
                       .choices = choices, .count = 1 + (k > 2)};
    CHECK(wr_comparison_feed(&c) == NULL);
    double begin = wr_clock();
    wr_ledger_begin(&process, WR_PHASE_READ);
    int there = wr_comparison_begin_device(&c, k % 3 == 0 ? 0 : 10) == WR_OK;
    const wr_csr_feed *feed = wr_comparison_feed(&c);
    CHECK((feed != NULL) == there);
    wr_csr_feed_begin(feed, A);
    CHECK(!there || all_on_device_given == (k < 3));
    wr_csr_feed_ready(feed, k % 3 == 2 ? N - 1 : N);
    there = wr_comparison_open_place(&c, WR_CUDA) == WR_OK;
    CHECK(wr_comparison_feed(&c) == NULL);
    wr_ledger_stop(&process);
    double elapsed = wr_clock() - begin, hidden = c.place_ledger[WR_CUDA].hidden[WR_PHASE_UPLOAD];
    CHECK(sum_of(&process) + sum_of(&c.place_ledger[WR_CUDA]) <= elapsed && hidden >= 0 && hidden <= elapsed);
    CHECK(A->device == NULL || (there && k % 3 != 2));
    CHECK(c.device.upload == NULL);
    wr_comparison_close(&c);
    wr_csr_free(A);
  }
}

/* wr_comparison_only_device: all backends run on the device, and it opens. */
static void test_only_device(void) {
  static const wr_backend on_host = {.name = "on_host", .place = WR_HOST, .plan = refuse},
                          on_device = {.name = "on_device", .place = WR_CUDA, .plan = refuse},
                          no_rows = {.name = "no_rows", .place = WR_CUDA, .plan = refuse, .caps = WR_CAP_DEVICE_ROWS},
                          later = {.name = "later", .place = WR_CUDA};
  static const struct {
    const char *name;
    const wr_backend *list[3];
    int device; /* of -d */
    wr_status opened;
    int expected, rows;
  } cases[] = {
      {"one", {&on_device}, WR_DEVICE_AUTO, WR_OK, 1, 1},
      {"one that does not read rows on the host", {&no_rows, &later}, WR_DEVICE_AUTO, WR_OK, 1, 0},
      {"two", {&on_device, &no_rows}, WR_DEVICE_AUTO, WR_OK, 1, 1},
      {"the host", {&on_host}, WR_DEVICE_AUTO, WR_OK, 0, 0},
      {"device and host", {&on_device, &on_host}, WR_DEVICE_AUTO, WR_OK, 0, 0},
      {"device and host, which -d excludes", {&on_host, &no_rows}, WR_DEVICE_CUDA, WR_OK, 1, 0},
      {"excluded by -d", {&on_device}, WR_DEVICE_CPU, WR_OK, 0, 0},
      {"a stub", {&later}, WR_DEVICE_AUTO, WR_OK, 0, 0},
      {"a stub and a device", {&later, &on_device}, WR_DEVICE_AUTO, WR_OK, 1, 1},
      {"a device that does not open", {&on_device}, WR_DEVICE_AUTO, WR_EUNAVAILABLE, 0, 0},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    CASE(cases[k].name);
    static wr_choice choices[WR_MAX_RUNS];
    wr_settings settings = {.device = cases[k].device};
    wr_comparison c = {.program = &program, .settings = &settings, .choices = choices};
    for (; c.count < 3 && cases[k].list[c.count]; c.count++) choices[c.count].backend = cases[k].list[c.count];
    c.env_tried[WR_CUDA] = 1, c.env_error[WR_CUDA].status = cases[k].opened;
    int rows = -1, expected = cases[k].expected;
    CHECK(wr_comparison_only_device(&c, &rows) == (expected ? &c.env[WR_CUDA] : NULL));
    CHECK(!expected || rows == cases[k].rows);
  }
}

int main(void) {
  test_only_device();
  test_runs();
  test_place();
  test_beside();
  test_fed();
  test_device();
  test_choices();
  return wr_test_report("compare");
}
