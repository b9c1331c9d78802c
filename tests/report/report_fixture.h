/* Runs for tests of reports: backends that have but a name, and records with round numbers. */
#ifndef WR_REPORT_FIXTURE_H
#define WR_REPORT_FIXTURE_H

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solvers/report/report.h"
#include "tests/check.h"

typedef struct fixture_knobs {
  int64_t alg;
  int layout;
} fixture_knobs;

static const wr_knob fixture_table[] = {
    {.name = "alg", .type = WR_OPTION_INT, .offset = offsetof(fixture_knobs, alg), .min = 1, .max = 9, .value = "1"},
    {.name = "layout", .type = WR_OPTION_CHOICE, .offset = offsetof(fixture_knobs, layout), .choices = "paper|packed",
     .value = "paper"},
    {.name = NULL},
};

/* An array of characters := text. */
#define SET_TEXT(array, text) snprintf(array, sizeof(array), "%s", text)

static const wr_backend fixture_reference = {.name = "reference", .summary = "plain loop", .place = WR_HOST};
static const wr_backend fixture_cpu_csr = {.name = "cpu_csr", .summary = "rows", .place = WR_HOST};
static const wr_backend fixture_cusparse = {
    .name = "cusparse", .summary = "vendor", .place = WR_CUDA, .caps = WR_CAP_VENDOR,
    .knobs = fixture_table, .knobs_size = sizeof(fixture_knobs)};
static const wr_backend fixture_cusparse_coo = {
    .name = "cusparse_coo", .summary = "vendor", .place = WR_CUDA, .caps = WR_CAP_VENDOR};

/* A verified run of 54 iterations that took `solve` seconds, 1 second to read, and `apply` seconds a multiply. */
static inline wr_run fixture_run(const wr_backend *backend, double prepare, double solve, double apply) {
  wr_run run = {.backend = backend, .ran = 1};
  run.ledger.seconds[WR_PHASE_READ] = 1;
  run.ledger.seconds[WR_PHASE_PREPARE] = prepare;
  run.ledger.seconds[WR_PHASE_SOLVE] = solve;
  run.ledger.seconds[WR_PHASE_VERIFY] = 0.25;
  run.setup = prepare;
  run.applies = 55;
  run.apply_total = 55 * apply;
  run.apply_median = run.apply_first = apply;
  run.apply_low = 0.995 * apply;
  run.apply_high = 1.005 * apply;
  run.read_bandwidth = 4e12;
  run.info = (wr_plan_info){
      .apply_bytes = 2e12 * apply, .format_bytes = 1234, .extra_bytes = 1500000000, .deterministic = 1};
  run.result = (wr_result){.outcome = WR_CONVERGED, .iterations = 54,
                           .measure = 8.125e-10, .change = 1.4375e-10, .bound = 8.125e-10};
  run.verdict = (wr_verdict){.level = WR_VERIFY_FULL, .rows = 281903, .multiplied_right = 1, .worst_row = 0.125,
                             .met_tolerance = 1, .measure = 6e-11, .limit = 1.5e-10};
  return run;
}

/* A run that is not available. */
static inline wr_run fixture_absent(const wr_backend *backend, const char *reason) {
  wr_run run = {.backend = backend, .error.status = WR_EUNAVAILABLE};
  snprintf(run.error.text, sizeof run.error.text, "%s", reason);
  return run;
}

static inline wr_problem_facts fixture_problem(const char *program) {
  int is_pagerank = strcmp(program, "pagerank") == 0;
  wr_problem_facts problem = {.program = program, .measure = is_pagerank ? WR_MEASURE_L1_ERROR : WR_MEASURE_RESIDUAL,
                              .source = "web.mtx", .nrows = 281903, .ncols = 281903, .nnz = 2312497,
                              .bytes = 31000000, .has_values = 0, .precision = "f64", .tolerance = 1e-9};
  SET_TEXT(problem.kind, "coordinate pattern general");
  return problem;
}

/* All text of a file, which is closed; the caller frees the text. */
static inline char *fixture_text(FILE *file) {
  long size = ftell(file);
  char *text = calloc((size_t)size + 1, 1);
  rewind(file);
  if (text && fread(text, 1, (size_t)size, file) != (size_t)size) text[0] = '\0';
  fclose(file);
  return text;
}

/* Changes the text to one line with single blanks; other tests check where lines break. */
static inline char *fixture_flat(char *text) {
  char *out = text;
  for (const char *at = text; *at; at++)
    if (!isspace((unsigned char)*at))
      *out++ = *at;
    else if (out > text && out[-1] != ' ')
      *out++ = ' ';
  *out = '\0';
  return text;
}

/* Sets the width of reports in columns; it is 80 at first. */
static int fixture_width = 80;
static inline void fixture_set_width(int columns) {
  char text[16];
  snprintf(text, sizeof text, "%d", columns);
  setenv("COLUMNS", text, 1);
  fixture_width = columns;
}

/* 1 if no line of the text has more bytes than fixture_width, none has a control character, and the last one ends. */
static inline int fixture_lines_fit(const char *text) {
  size_t length = strlen(text);
  if (length == 0 || text[length - 1] != '\n') return 0;
  for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
    size_t bytes = strcspn(line, "\n");
    if ((int)bytes > fixture_width) return 0;
    for (size_t k = 0; k < bytes; k++)
      if ((unsigned char)line[k] < ' ' || line[k] == 127) return 0;
  }
  return 1;
}

#define CHECK_HAS(text, part) CHECKF(strstr(text, part) != NULL, "lacks '%s':\n%s", part, text)
#define CHECK_LACKS(text, part) CHECKF(strstr(text, part) == NULL, "has '%s':\n%s", part, text)

#endif
