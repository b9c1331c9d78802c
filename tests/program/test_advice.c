/* Advice after a failed solve: what is seen in which matrix, which remedy comes first, that commands are complete, and that
 * following the advice again and again comes to an end. The options are bicgstab's, and those of a table that has the scaling
 * and the methods that the remedies know, too. */
#define _DEFAULT_SOURCE
#include "solvers/program/advice.h"

#include <math.h>

#include "config/defaults.h"
#include "solvers/program/settings.h"
#include "tests/report/report_fixture.h"

typedef struct more_settings {
  int64_t iterations;
  int precision, precond, stop, scale, method, fallback;
  double tolerance;
  char *output;
} more_settings;

#define AT(member) .offset = offsetof(more_settings, member)

static const wr_option more_options[] = {
    {.name = "precision", .type = WR_OPTION_CHOICE, AT(precision), .choices = "f32|f64", .value = "f64"},
    {.name = "precond", .type = WR_OPTION_CHOICE, AT(precond), .choices = "none|jacobi|auto|ilut", .value = "none"},
    {.name = "stop", .type = WR_OPTION_CHOICE, AT(stop), .choices = "residual|backward", .value = "residual"},
    {.name = "scale", .type = WR_OPTION_CHOICE, AT(scale), .choices = "auto|none|equilibrate|match", .value = "auto"},
    {.name = "method", .type = WR_OPTION_CHOICE, AT(method), .choices = "auto|bicgstab|bicgstabl|idr|cg",
     .value = "auto"},
    {.name = "fallback", .type = WR_OPTION_CHOICE, AT(fallback), .choices = "none|direct", .value = "none"},
    {.name = "max-iterations", .type = WR_OPTION_INT, AT(iterations), .min = 0, .max = 1e15, .value = "0"},
    {.name = "tolerance", .type = WR_OPTION_REAL, AT(tolerance), .min = 0, .max = 1, .value = "0"},
    {.name = "output", .type = WR_OPTION_TEXT, AT(output)},
    {.name = NULL}};

/* A solve that failed, of a matrix without peculiarities. */
typedef struct failure {
  wr_problem_facts problem;
  wr_run run;
  wr_matrix_facts matrix;
  more_settings settings;
  int has_direct; /* of the build */
  wr_advice advice;
} failure;

static failure failure_of(wr_outcome outcome) {
  failure f = {.problem = fixture_problem("bicgstab"), .run = fixture_run(&fixture_cpu_csr, 0, 1, 1e-3)};
  f.run.result.outcome = outcome, f.run.result.measure = 1e-4;
  f.run.verdict.met_tolerance = outcome == WR_CONVERGED;
  f.matrix = (wr_matrix_facts){.n = 50000, .first_zero_diagonal = -1, .first_empty_row = -1, .first_empty_column = -1,
                               .positive_diagonals = 50000, .row_spread = 1, .column_spread = 1};
  CHECK_OK(wr_options_default(more_options, &f.settings));
  return f;
}

static void advise(failure *f) {
  const wr_advice_case c = {.options = more_options, .settings = &f->settings, .settings_size = sizeof f->settings,
                            .program = "bicgstab", .operand = "A.mtx",
                            .iterations = f->settings.iterations ? f->settings.iterations : WR_BICGSTAB_ITERATIONS,
                            .problem = &f->problem, .run = &f->run, .matrix = &f->matrix,
                            .has_direct = f->has_direct};
  CHECK_OK(wr_advice_find(&c, &f->advice));
}

static void expect_seen(failure *f, const char *seen) {
  advise(f);
  CHECKF(strcmp(f->advice.seen, seen) == 0, "'%s', not '%s'", f->advice.seen, seen);
}

static void test_seen(void) {
  CASE("what is seen");
  failure f = failure_of(WR_BREAKDOWN);
  expect_seen(&f, "");
  f.matrix.zero_diagonals = 27, f.matrix.first_zero_diagonal = 2025, f.matrix.row_spread = 3.5e12;
  expect_seen(&f, "27 diagonal elements are 0, the first in row 2026; rows differ in norm by 1e12");
  f.matrix.zero_diagonals = 1, f.matrix.row_spread = 999, f.matrix.column_spread = (double)INFINITY;
  expect_seen(&f, "1 diagonal element is 0, the first in row 2026; columns differ in norm by more than f64 holds");
  f.matrix.column_spread = 1, f.matrix.zero_diagonals = f.matrix.n;
  expect_seen(&f, "all diagonal elements are 0");
  f = failure_of(WR_BREAKDOWN);
  f.matrix.symmetric = 1;
  expect_seen(&f, "symmetric, with a positive diagonal");
  f.matrix.indefinite = 1;
  expect_seen(&f, "symmetric indefinite");
  f.matrix.positive_diagonals = 30, f.matrix.negative_diagonals = 12;
  expect_seen(&f, "symmetric indefinite (30 positive and 12 negative diagonal elements)");
  f = failure_of(WR_BREAKDOWN);
  f.matrix.zero_row_sums = 1;
  expect_seen(&f, "the elements of each row add up to 0: the matrix is singular");
  f.matrix.zero_row_sums = 0, f.matrix.zero_column_sums = 1;
  expect_seen(&f, "the elements of each column add up to 0: there is a solution only if those of b do, too");
  CHECKF(strncmp(f.advice.other, "a least-squares solver", 22) == 0, "'%s'", f.advice.other);
  f.has_direct = 1, f.settings.precond = 3, f.settings.scale = 3, f.settings.method = 2; /* no remedy is left */
  advise(&f);
  CHECKF(f.advice.command[0] == '\0' && strstr(f.advice.remedy, "a least-squares solver"), "'%s', '%s'",
         f.advice.command, f.advice.remedy);
  f = failure_of(WR_MAX_ITERATIONS);
  f.run.verdict.measure = 3e-6, f.run.verdict.attainable = 4e-6, f.problem.precision = "f32";
  expect_seen(&f, "the residual is 3e-6 ||b||, and rounding in f32 alone may come to 4e-6");
  f.run.verdict.attainable = 2e-6;
  expect_seen(&f, "");
  f.matrix.empty_rows = 2, f.matrix.first_empty_row = 4, f.matrix.empty_columns = 1, f.matrix.first_empty_column = 0;
  expect_seen(&f,
              "2 rows have no entries but 0, the first is 5: the matrix is singular; 1 column has no entries but 0, "
              "the first is 1: the matrix is singular");
}

static void expect_command(failure *f, const char *command) {
  advise(f);
  CHECKF(strcmp(f->advice.command, command) == 0, "'%s', not '%s'", f->advice.command, command);
  CHECK(f->advice.remedy[0] != '\0');
}

enum { F32, F64, JACOBI = 1, AUTO_PRECOND = 2, ILUT = 3, AUTO = 0, SCALE_NONE = 1, EQUILIBRATE = 2, MATCH = 3 };
enum { AUTO_METHOD, BICGSTAB, BICGSTABL, IDR };

static void test_rank(void) {
  CASE("which remedy comes first");
  failure f = failure_of(WR_BREAKDOWN);
  expect_command(&f, "bicgstab --precond auto A.mtx");
  f.settings.precision = F32;
  expect_command(&f, "bicgstab A.mtx"); /* f64 is the default */
  f.settings.precision = F64, f.settings.precond = JACOBI;
  expect_command(&f, "bicgstab --precond auto A.mtx");
  f.settings.precond = AUTO_PRECOND;
  expect_command(&f, "bicgstab --precond auto --scale match A.mtx");
  f.settings.scale = MATCH;
  expect_command(&f, "bicgstab --precond ilut --scale match A.mtx");
  f.settings.precond = ILUT;
  expect_command(&f, ""); /* the automatic method has tried all methods */
  f.settings.method = BICGSTAB;
  expect_command(&f, "bicgstab --precond ilut --scale match --method idr A.mtx");
  f.settings.method = IDR;
  expect_command(&f, "bicgstab --precond ilut --scale match --method bicgstabl A.mtx");
  f.settings.method = BICGSTABL;
  expect_command(&f, "");
  CHECKF(strstr(f.advice.remedy, "no option of this program is left") &&
             strstr(f.advice.remedy, "install libsuitesparse-dev") && strstr(f.advice.remedy, "--fallback direct"),
         "%s", f.advice.remedy);
  f.has_direct = 1;
  expect_command(&f, "bicgstab --precond ilut --scale match --method bicgstabl --fallback direct A.mtx");
  f.settings.fallback = 1, f.run.result.direct.tried = 1; /* which did not help */
  for (f.has_direct = 0; f.has_direct < 2; f.has_direct++) {
    expect_command(&f, "");
    CHECKF(strstr(f.advice.remedy, "no option of this program is left") &&
               strstr(f.advice.remedy, "sparse direct solver (LU"),
           "%s", f.advice.remedy);
  }
  CASE("a matrix that KLU has found to be singular");
  f.run.result.direct.outcome = WR_BREAKDOWN, f.run.result.direct.singular = 1;
  advise(&f);
  CHECKF(strstr(f.advice.remedy, "a least-squares solver") != NULL, "%s", f.advice.remedy);
  f.settings.precond = 0; /* so that a remedy is left */
  expect_command(&f, "bicgstab --precond auto --scale match --method bicgstabl --fallback direct A.mtx");
  CHECKF(strstr(f.advice.other, "a least-squares solver") == f.advice.other, "%s", f.advice.other);
  CASE("zeros on the diagonal");
  f = failure_of(WR_BREAKDOWN);
  f.matrix.zero_diagonals = 3, f.settings.scale = SCALE_NONE;
  expect_command(&f, "bicgstab --scale match A.mtx");
  f.settings.scale = MATCH, f.settings.precond = ILUT, f.settings.method = BICGSTAB;
  expect_command(&f, "bicgstab --precond ilut --scale match --method idr A.mtx");
  CASE("rows of different norm");
  f = failure_of(WR_STAGNATED);
  f.matrix.row_spread = 1e5, f.settings.scale = SCALE_NONE;
  expect_command(&f, "bicgstab --scale equilibrate A.mtx");
  CASE("a symmetric matrix");
  f = failure_of(WR_BREAKDOWN);
  f.matrix.symmetric = 1, f.settings.precond = AUTO_PRECOND, f.settings.method = BICGSTAB;
  expect_command(&f, "bicgstab --precond auto --method cg A.mtx");
  CASE("a doubtful answer");
  f = failure_of(WR_CONVERGED);
  f.run.verdict.backward_error = 0.5;
  expect_command(&f, "bicgstab --stop backward A.mtx");
  CASE("a singular matrix");
  f = failure_of(WR_BREAKDOWN);
  f.matrix.empty_rows = 1, f.matrix.first_empty_row = 0;
  expect_command(&f, "");
  CHECKF(strstr(f.advice.remedy, "a least-squares solver") == f.advice.remedy, "%s", f.advice.remedy);
  CASE("a small matrix");
  f = failure_of(WR_BREAKDOWN);
  f.matrix.n = WR_DENSE_ROWS;
  expect_command(&f, "bicgstab --precond auto A.mtx");
  CHECKF(strstr(f.advice.other, "a direct solver: install libsuitesparse-dev"), "%s", f.advice.other);
  f.has_direct = 1;
  advise(&f);
  CHECKF(strstr(f.advice.other, "a direct solver: --fallback direct,") && strstr(f.advice.other, "n = 2000"), "%s",
         f.advice.other);
  f.run.result.outcome = WR_CONVERGED, f.run.verdict.met_tolerance = 1, f.run.verdict.backward_error = 0.5;
  advise(&f); /* the fallback follows iterations that fail, which these do by that measure */
  CHECKF(strstr(f.advice.other, "--stop backward --fallback direct,") != NULL, "%s", f.advice.other);
  f.run.result.direct.tried = 1;
  advise(&f);
  CHECK(f.advice.other[0] == '\0');
  f = failure_of(WR_BREAKDOWN);
  f.matrix.n = WR_DENSE_ROWS;
  f.matrix.n++;
  advise(&f);
  CHECK(f.advice.other[0] == '\0');
}

static void test_limits(void) {
  CASE("iterations and tolerance");
  failure f = failure_of(WR_MAX_ITERATIONS);
  f.settings.iterations = 2;
  expect_command(&f, "bicgstab A.mtx"); /* as many as by default */
  f.settings = (more_settings){.precision = F64, .precond = ILUT, .scale = MATCH, .method = BICGSTABL};
  expect_command(&f, "bicgstab --precond ilut --scale match --method bicgstabl --max-iterations 100000 A.mtx");
  f.settings.iterations = 100000;
  expect_command(&f, "");
  f.settings.iterations = 0, f.run.result.measure = 0.5; /* which does not fall */
  expect_command(&f, "");
  f = failure_of(WR_STAGNATED);
  f.settings =
      (more_settings){.precision = F64, .precond = ILUT, .scale = MATCH, .method = BICGSTABL, .tolerance = 1e-9};
  f.run.result.measure = 1.2e-8;
  expect_command(&f, "bicgstab --precond ilut --scale match --method bicgstabl --tolerance 3e-8 A.mtx");
  f.run.result.measure = 0.01;
  expect_command(&f, "");
}

/* The command, with every value that differs from its default, as a shell takes it. */
static void test_words(void) {
  CASE("words of a command");
  failure f = failure_of(WR_BREAKDOWN);
  f.settings.output = (char[]){"it's x.mtx"};
  expect_command(&f, "bicgstab --precond auto --output 'it'\\''s x.mtx' A.mtx");
  char longest[1100];
  memset(longest, 'a', sizeof longest);
  longest[sizeof longest - 1] = '\0';
  f.settings.output = longest;
  expect_command(&f, ""); /* half a command is none */
  f.settings.output = NULL;
  const wr_advice_case c = {.options = more_options, .settings = &f.settings, .settings_size = sizeof f.settings,
                            .program = "bicgstab", .operand = "-A b.mtx", .iterations = 1, .problem = &f.problem,
                            .run = &f.run, .matrix = &f.matrix};
  CHECK_OK(wr_advice_find(&c, &f.advice));
  CHECKF(strcmp(f.advice.command, "bicgstab --precond auto -- '-A b.mtx'") == 0, "%s", f.advice.command);
}

/* Sets the options that the command names, as the parser of a command line does. */
static void follow(const wr_option *options, void *settings, const char *command) {
  char text[1024], *argv[64];
  int argc = 0, first;
  snprintf(text, sizeof text, "%s", command);
  for (char *word = text, *end; word && argc < 63; word = end) {
    end = strchr(word, ' ');
    if (end) *end++ = '\0';
    argv[argc++] = word;
  }
  argv[argc] = NULL;
  CHECK_OK(wr_options_default(options, settings));
  CHECK_OK(wr_options_parse(options, settings, argc, argv, &first));
  CHECKF(first == argc - 1 && strcmp(argv[first], "A.mtx") == 0, "%s", command);
}

/* Whatever the failure, following the advice comes to an end, and no command comes twice. */
static void test_end(void) {
  int longest = 0;
  for (int outcome = WR_CONVERGED; outcome <= WR_NON_FINITE; outcome++)
    for (int kind = 0; kind < 128; kind++) {
      char seen[32][128];
      int count = 0;
      failure f = failure_of((wr_outcome)outcome);
      f.run.verdict.backward_error = 0.9;
      f.matrix.zero_diagonals = kind & 1, f.matrix.row_spread = kind & 2 ? 1e6 : 1,
      f.matrix.symmetric = (kind & 4) != 0;
      f.settings.precision = kind & 8 ? F32 : F64;
      f.has_direct = (kind & 64) != 0;
      f.settings.scale = kind & 16 ? SCALE_NONE : AUTO, f.settings.method = (kind & 32) != 0;
      CASE("advice that is followed");
      for (advise(&f); f.advice.command[0] && count < 32; advise(&f)) {
        snprintf(seen[count], sizeof seen[count], "%s", f.advice.command);
        for (int k = 0; k < count; k++) CHECKF(strcmp(seen[k], seen[count]) != 0, "again: %s", seen[k]);
        follow(more_options, &f.settings, seen[count++]);
      }
      CHECKF((strstr(seen[count - 1], "--fallback direct") != NULL) == f.has_direct, "%s", seen[count - 1]);
      CHECKF(count > 0 && count <= 13, "outcome %d, kind %d: %d commands", outcome, kind, count);
      CHECKF(strstr(f.advice.remedy, "direct solver") != NULL, "%s", f.advice.remedy);
      longest = count > longest ? count : longest;
    }
  CHECKF(longest >= 5, "%d: this shows little", longest);
}

/* bicgstab's own options have the rows that the remedies name and that exist yet. */
static void test_options_exist(void) {
  CASE("the options of bicgstab");
  static const char *const names[] = {"max-iterations", "stop",       "precision", "precond",
                                      "method",         "scale",      "time-limit", "tolerance", "fallback"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    CHECKF(wr_option_find(wr_bicgstab_table, names[k]) != NULL, "%s", names[k]);
  failure f = failure_of(WR_TIME_LIMIT);
  wr_settings settings;
  CHECK_OK(wr_options_default(wr_bicgstab_table, &settings));
  CHECK_OK(wr_option_set(wr_bicgstab_table, &settings, "precond", "ilut", "a test"));
  settings.time_limit = 2, settings.scale = MATCH, settings.method = BICGSTABL;
  const wr_advice_case c = {.options = wr_bicgstab_table, .settings = &settings, .settings_size = sizeof settings,
                            .program = "bicgstab", .operand = "A.mtx", .iterations = 10000, .problem = &f.problem,
                            .run = &f.run, .matrix = &f.matrix};
  CHECK_OK(wr_advice_find(&c, &f.advice));
  CHECKF(strstr(f.advice.command, "--time-limit 20 ") != NULL, "%s", f.advice.command);
  CASE("factors with fill where those without have failed, unless conjugate gradients were asked for");
  CHECK_OK(wr_option_set(wr_bicgstab_table, &settings, "precond", "ilu0", "a test"));
  CHECK_OK(wr_option_set(wr_bicgstab_table, &settings, "scale", "match", "a test"));
  CHECK_OK(wr_advice_find(&c, &f.advice));
  CHECKF(strstr(f.advice.command, "--precond ilut ") != NULL, "%s", f.advice.command);
  CHECK_OK(wr_option_set(wr_bicgstab_table, &settings, "method", "cg", "a test"));
  CHECK_OK(wr_advice_find(&c, &f.advice));
  CHECKF(strstr(f.advice.command, "ilut") == NULL, "%s", f.advice.command);
  CASE("factors with fill that the automatic choice has tried");
  CHECK_OK(wr_option_set(wr_bicgstab_table, &settings, "method", "auto", "a test"));
  CHECK_OK(wr_option_set(wr_bicgstab_table, &settings, "precond", "auto", "a test"));
  CHECK_OK(wr_advice_find(&c, &f.advice));
  CHECKF(strstr(f.advice.command, "ilut") != NULL, "%s", f.advice.command);
  snprintf(f.run.precond.line, sizeof f.run.precond.line, "none to begin with; at last ilut from multiply 9 on");
  CHECK_OK(wr_advice_find(&c, &f.advice));
  CHECKF(strstr(f.advice.command, "ilut") == NULL, "%s", f.advice.command);
  wr_options_release(wr_bicgstab_table, &settings);
}

static void test_due(void) {
  CASE("for which runs there is advice");
  for (int outcome = WR_CONVERGED; outcome <= WR_INTERRUPTED; outcome++) {
    failure f = failure_of((wr_outcome)outcome);
    int failed = outcome != WR_CONVERGED && outcome != WR_INTERRUPTED;
    CHECKF(wr_advice_is_due(&f.problem, &f.run) == failed, "%d", outcome);
    f.run.verdict.backward_error = 0.5;
    CHECKF(wr_advice_is_due(&f.problem, &f.run) == (outcome != WR_INTERRUPTED), "%d", outcome);
    f.run.verdict.multiplied_right = 0; /* a defect, which no option mends */
    CHECK(!wr_advice_is_due(&f.problem, &f.run) || outcome == WR_NON_FINITE);
    f.problem.measure = WR_MEASURE_L1_ERROR;
    CHECK(!wr_advice_is_due(&f.problem, &f.run));
  }
  failure f = failure_of(WR_TIME_LIMIT);
  f.run.result.iterations = 0;
  CHECK(!wr_advice_is_due(&f.problem, &f.run));
  wr_run absent = fixture_absent(&fixture_cusparse, "no device");
  CHECK(!wr_advice_is_due(&f.problem, &absent));
}

int main(void) {
  test_seen();
  test_rank();
  test_limits();
  test_words();
  test_end();
  test_options_exist();
  test_due();
  return wr_test_report("advice");
}
