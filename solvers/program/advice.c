#define _DEFAULT_SOURCE /* open_memstream */
#include "solvers/program/advice.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/defaults.h"
#include "config/memory.h"
#include "config/text.h"
#include "solvers/report/report_text.h"

/* Advice mentions norms of rows or columns that differ by more than this. */
static const double wide_spread = 1e3;

enum { TEXT_ROOM = 16, VALUE_ROOM = 32 };

/* ---- what was seen ---- */

static void add_separator(wr_line *line) { wr_line_add(line, "%s", line->length > 0 ? "; " : ""); }

static void add_diagonal(wr_line *line, const wr_matrix_facts *m) {
  if (m->zero_diagonals == 0) return;
  add_separator(line);
  if (m->zero_diagonals == m->n)
    wr_line_add(line, "all diagonal elements are 0");
  else
    wr_line_add(line, "%" PRId64 " diagonal %s 0, the first in row %" PRId64, m->zero_diagonals,
                wr_plural(m->zero_diagonals, "element is", "elements are"), m->first_zero_diagonal + 1);
}

static void add_empty(wr_line *line, int64_t count, int64_t first, const char *one, const char *many) {
  if (count == 0) return;
  add_separator(line);
  wr_line_add(line, "%" PRId64 " %s no entries but 0, the first is %" PRId64 ": the matrix is singular", count,
              wr_plural(count, one, many), first + 1);
}

static void add_spread(wr_line *line, double spread, const char *what) {
  if (!(spread > wide_spread)) return;
  add_separator(line);
  if (isfinite(spread))
    wr_line_add(line, "%s differ in norm by 1e%.0f", what, floor(log10(spread)));
  else
    wr_line_add(line, "%s differ in norm by more than f64 holds", what);
}

static void add_symmetry(wr_line *line, const wr_matrix_facts *m) {
  if (!m->symmetric) return;
  add_separator(line);
  if (m->indefinite && m->positive_diagonals > 0 && m->negative_diagonals > 0)
    wr_line_add(line, "symmetric indefinite (%" PRId64 " positive and %" PRId64 " negative diagonal elements)",
                m->positive_diagonals, m->negative_diagonals);
  else
    wr_line_add(line, "symmetric%s%s", m->indefinite ? " indefinite" : "",
                m->positive_diagonals == m->n && !m->indefinite ? ", with a positive diagonal" : "");
}

static void add_sums(wr_line *line, const wr_matrix_facts *m) {
  if (m->zero_row_sums) {
    add_separator(line);
    wr_line_add(line, "the elements of each row add up to 0: the matrix is singular");
  }
  if (m->zero_column_sums) {
    add_separator(line);
    wr_line_add(line, "the elements of each column add up to 0: there is a solution only if those of b do, too");
  }
}

/* 1 if the residual is no larger than what rounding adds to it, by a bound. */
static int is_at_rounding(const wr_run *run) {
  const wr_verdict *v = &run->verdict;
  return v->level != WR_VERIFY_OFF && v->attainable > 0 && v->measure <= v->attainable;
}

static void add_rounding(wr_line *line, const wr_advice_case *c) {
  char measure[TEXT_ROOM], bound[TEXT_ROOM];
  if (!is_at_rounding(c->run) || wr_run_exit_code(c->run) == 0) return;
  add_separator(line);
  wr_line_add(line, "the residual is %s ||b||, and rounding in %s alone may come to %s",
              wr_text_real(c->run->verdict.measure, measure), c->problem->precision,
              wr_text_real(c->run->verdict.attainable, bound));
}

static void find_seen(const wr_advice_case *c, wr_advice *advice) {
  const wr_matrix_facts *m = c->matrix;
  wr_line line = {0};
  add_empty(&line, m->empty_rows, m->first_empty_row, "row has", "rows have");
  add_empty(&line, m->empty_columns, m->first_empty_column, "column has", "columns have");
  add_sums(&line, m);
  add_diagonal(&line, m);
  add_spread(&line, m->row_spread, "rows");
  add_spread(&line, m->column_spread, "columns");
  add_symmetry(&line, m);
  add_rounding(&line, c);
  snprintf(advice->seen, sizeof advice->seen, "%.*s", (int)sizeof advice->seen - 1, line.text);
}

/* ---- what to try ---- */

static int is_doubtful(const wr_advice_case *c) { return wr_run_is_doubtful(c->problem, c->run); }

/* The residual has fallen, so that going on may help. */
static int falls(const wr_advice_case *c) { return c->run->result.measure < 0.1; }

static int ended_by(const wr_advice_case *c, wr_outcome outcome) { return c->run->result.outcome == outcome; }

static int has_few_iterations(const wr_advice_case *c) {
  return ended_by(c, WR_MAX_ITERATIONS) && c->iterations < WR_BICGSTAB_ITERATIONS;
}

static int may_need_iterations(const wr_advice_case *c) {
  return ended_by(c, WR_MAX_ITERATIONS) && c->iterations < 10 * WR_BICGSTAB_ITERATIONS && falls(c);
}

static int has_zero_diagonals(const wr_advice_case *c) { return c->matrix->zero_diagonals > 0; }

static int is_badly_scaled(const wr_advice_case *c) {
  return has_zero_diagonals(c) || c->matrix->row_spread > wide_spread || c->matrix->column_spread > wide_spread;
}

static int has_diagonal(const wr_advice_case *c) { return !has_zero_diagonals(c) && c->matrix->n > 1; }

static int may_be_definite(const wr_advice_case *c) {
  const wr_matrix_facts *m = c->matrix;
  return m->symmetric && !m->indefinite && m->positive_diagonals == m->n;
}

static int has_failed(const wr_advice_case *c) { return !is_doubtful(c); }

/* Only where it stagnates near the tolerance: a larger one than 1e-2 is of no use. */
static int may_take_larger_tolerance(const wr_advice_case *c) {
  return ended_by(c, WR_STAGNATED) && !c->run->result.by_backward && c->run->result.measure > 0 &&
         c->run->result.measure < 1e-3 && c->run->result.measure < 100 * c->problem->tolerance;
}

static void more_iterations(const wr_advice_case *c, char *value) {
  snprintf(value, VALUE_ROOM, "%" PRId64, 10 * c->iterations);
}

/* Twice the residual that was reached, in one digit, rounded up. */
static void larger_tolerance(const wr_advice_case *c, char *value) {
  double twice = 2 * c->run->result.measure, power = pow(10, floor(log10(twice)));
  snprintf(value, VALUE_ROOM, "%.0e", ceil(twice / power) * power);
}

static int may_need_time(const wr_advice_case *c) { return ended_by(c, WR_TIME_LIMIT) && falls(c); }

static void more_time(const wr_advice_case *c, char *value) {
  const wr_option *row = wr_option_find(c->options, "time-limit");
  snprintf(value, VALUE_ROOM, "%.3g", 10 * *(const double *)((const char *)c->settings + row->offset));
}

static int may_take_ilut(const wr_advice_case *c);

typedef struct remedy {
  const char *option;
  const char *from; /* its values from which this is a step forward, between bars; NULL: any                       */
  const char *to;   /* NULL: `value` makes it                                                                      */
  void (*value)(const wr_advice_case *c, char *value); /* [VALUE_ROOM] */
  int (*may_help)(const wr_advice_case *c);
  const char *what; /* the option does, as a clause */
} remedy;

/* By rank. A row whose option the program's table lacks is passed over, as is one whose value it does not accept. No row leads
 * from the automatic method to one by name: the solve has tried them, and the last one with incomplete factors. */
static const remedy remedies[] = {
    {"max-iterations", NULL, "0", NULL, has_few_iterations, "as many iterations as by default"},
    {"scale", "none|equilibrate", "match", NULL, has_zero_diagonals,
     "rows permuted so that the diagonal is large, and scaled"},
    {"scale", "none", "equilibrate", NULL, is_badly_scaled, "rows and columns scaled to norms of about 1"},
    {"stop", "residual", "backward", NULL, is_doubtful, "iterating until the backward error is small"},
    {"precision", "f32", "f64", NULL, NULL, "vectors and values in f64"},
    {"precond", "none|jacobi", "auto", NULL, NULL, "incomplete factors where they pay"},
    {"precond", "none", "jacobi", NULL, has_diagonal, "the columns scaled by the diagonal"},
    {"method", "bicgstab", "cg", NULL, may_be_definite, "the method for symmetric positive definite matrices"},
    {"scale", "none|equilibrate|auto", "match", NULL, NULL, "rows permuted so that the diagonal is large, and scaled"},
    {"precond", "auto|ilu0", "ilut", NULL, may_take_ilut, "incomplete factors with more entries"},
    {"method", "bicgstab|cg", "idr", NULL, has_failed, "a method that breaks down less often"},
    {"method", "idr", "bicgstabl", NULL, has_failed, "a method for eigenvalues far from the real axis"},
    {"max-iterations", NULL, NULL, more_iterations, may_need_iterations, "ten times as many iterations"},
    {"time-limit", NULL, NULL, more_time, may_need_time, "ten times as much time"},
    {"tolerance", NULL, NULL, larger_tolerance, may_take_larger_tolerance,
     "the tolerance that this precision attains here"},
};

/* 1 if the choice is in the list. */
static int is_among(const char *list, const char *choice, size_t length) {
  for (const char *at = list; at; at = strchr(at, '|'), at += at != NULL)
    if (strcspn(at, "|") == length && strncmp(at, choice, length) == 0) return 1;
  return 0;
}

/* 1 if the row is a choice, or a text, that held one of these values in the run. */
static int has_value(const wr_option *row, const wr_advice_case *c, const char *from) {
  const void *settings = c->effective ? c->effective : c->settings;
  const char *at = row->choices;
  if (row->type == WR_OPTION_TEXT) {
    const char *text = *(char *const *)(const void *)((const char *)settings + row->offset);
    return text != NULL && is_among(from, text, strlen(text));
  }
  if (row->type != WR_OPTION_CHOICE) return 0;
  for (int k = *(const int *)((const char *)settings + row->offset); k > 0 && at; k--)
    at = strchr(at, '|'), at += at != NULL;
  return at != NULL && is_among(from, at, strcspn(at, "|"));
}

/* M by ILUT is not symmetric. The automatic choice may have tried it. */
static int may_take_ilut(const wr_advice_case *c) {
  const wr_option *method = wr_option_find(c->options, "method");
  return has_failed(c) && !(method && has_value(method, c, "cg")) && strstr(c->run->precond.line, "ilut") == NULL;
}

/* settings, a copy of c->settings byte for byte, := with the remedy, 1 if it is one that may help. A text that it sets is the
 * copy's own; all others are those of c->settings. */
static int apply_remedy(const remedy *r, const wr_advice_case *c, void *settings) {
  char value[VALUE_ROOM];
  const wr_option *row = wr_option_find(c->options, r->option);
  if (row == NULL || (r->from && !has_value(row, c, r->from)) || (r->may_help && !r->may_help(c))) return 0;
  if (r->to && row->type == WR_OPTION_CHOICE && !is_among(row->choices, r->to, strlen(r->to))) return 0;
  snprintf(value, sizeof value, "%s", r->to ? r->to : "");
  if (r->value) r->value(c, value);
  if (row->type == WR_OPTION_TEXT) *(char **)(void *)((char *)settings + row->offset) = NULL;
  return wr_option_set(c->options, settings, r->option, value, "advice") == WR_OK;
}

/* "bicgstab --precond jacobi A.mtx" */
static wr_status write_command(const wr_advice_case *c, const void *settings, wr_advice *advice) {
  wr_status status = WR_OK;
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL) return wr_fail(WR_ENOMEM, "out of memory: the text of a command");
  fputs(c->program, out);
  wr_options_command(c->options, settings, out);
  fputc(' ', out);
  if (c->operand[0] == '-' && c->operand[1] != '\0') fputs("-- ", out);
  wr_options_word(c->operand, out);
  int failed = ferror(out);
  if (fclose(out) != 0 || failed)
    status = wr_fail(WR_ENOMEM, "out of memory: the text of a command");
  else if (size < sizeof advice->command) /* half a command is none */
    snprintf(advice->command, sizeof advice->command, "%s", text);
  wr_free(text);
  return status;
}

/* Where no other remedy is left. */
static const remedy last_remedy = {"fallback", "none", "direct", NULL, NULL, NULL};

static int has_empty(const wr_matrix_facts *m) { return m->empty_rows > 0 || m->empty_columns > 0; }

static int has_zero_sums(const wr_matrix_facts *m) { return m->zero_row_sums || m->zero_column_sums; }

/* 1 if this program could go on with a direct solver, and was not asked to. */
static int may_be_direct(const wr_advice_case *c) {
  const wr_option *row = wr_option_find(c->options, last_remedy.option);
  return row != NULL && has_value(row, c, last_remedy.from) && !has_empty(c->matrix) && !has_zero_sums(c->matrix);
}

/* The kind of solver where no remedy is left, or beside one for a small matrix or a singular one. */
static void name_other_solver(const wr_advice_case *c, wr_line *line) {
  const wr_matrix_facts *m = c->matrix;
  const wr_direct_facts *direct = &c->run->result.direct;
  if (has_empty(m) || has_zero_sums(m) || direct->singular)
    wr_line_add(line, "a least-squares solver (sparse QR, LSQR), as the matrix is singular");
  else if (may_be_direct(c) && !c->has_direct)
    wr_line_add(line,
                "a direct solver: install libsuitesparse-dev (KLU), make windrow again, and use --fallback direct");
  else if (may_be_direct(c))
    wr_line_add(line, "a direct solver: %s--fallback direct, which takes a moment at n = %" PRId64,
                is_doubtful(c) ? "--stop backward " : "", m->n);
  else if (m->n <= WR_DENSE_ROWS)
    wr_line_add(line, "a direct solver, which takes a moment at n = %" PRId64 " (dense LU, as LAPACK's dgesv)", m->n);
  else if (m->symmetric)
    wr_line_add(line, "a sparse direct solver for symmetric matrices (%s)",
                may_be_definite(c) ? "Cholesky, as CHOLMOD" : "LDL^T, as MUMPS or PARDISO");
  else
    wr_line_add(line, "a sparse direct solver (LU, as SuperLU, UMFPACK or MUMPS)");
}

static wr_status find_remedy(const wr_advice_case *c, wr_advice *advice) {
  wr_status status = WR_OK;
  char *settings = NULL;
  wr_line line = {0}, other = {0};
  int has_answer = !has_empty(c->matrix);
  TRY(wr_alloc(&settings, c->settings_size, 1, "settings"));
  for (size_t k = 0; k < sizeof remedies / sizeof *remedies && has_answer && line.length == 0; k++) {
    memcpy(settings, c->settings, (size_t)c->settings_size);
    if (!apply_remedy(&remedies[k], c, settings)) continue;
    wr_line_add(&line, "%s", remedies[k].what);
    status = write_command(c, settings, advice);
    const wr_option *row = wr_option_find(c->options, remedies[k].option);
    if (row->type == WR_OPTION_TEXT) wr_free(*(char **)(void *)(settings + row->offset));
    TRY(status);
  }
  if (line.length == 0 && may_be_direct(c) && c->has_direct) {
    memcpy(settings, c->settings, (size_t)c->settings_size);
    if (apply_remedy(&last_remedy, c, settings)) {
      wr_line_add(&line,
                  "a direct solver, LU factors by KLU, since no other option of this program is left that may help");
      TRY(write_command(c, settings, advice));
    }
  } else if (line.length == 0) {
    wr_line_add(&line, "%s", has_answer ? "no option of this program is left that may help: " : "");
    name_other_solver(c, &line);
  } else if (has_zero_sums(c->matrix) || c->run->result.direct.singular ||
             (c->matrix->n <= WR_DENSE_ROWS && !c->run->result.direct.tried)) {
    name_other_solver(c, &other);
  }
  snprintf(advice->remedy, sizeof advice->remedy, "%.*s", (int)sizeof advice->remedy - 1, line.text);
  snprintf(advice->other, sizeof advice->other, "%.*s", (int)sizeof advice->other - 1, other.text);
done:
  wr_free(settings);
  return status;
}

int wr_advice_is_due(const wr_problem_facts *problem, const wr_run *run) {
  wr_outcome outcome = run->result.outcome;
  if (problem->measure != WR_MEASURE_RESIDUAL || !wr_run_counts(run) || outcome == WR_INTERRUPTED) return 0;
  if (outcome == WR_TIME_LIMIT && run->result.iterations == 0) return 0; /* nothing was tried */
  return wr_run_exit_code(run) != 0 || wr_run_is_doubtful(problem, run);
}

wr_status wr_advice_find(const wr_advice_case *c, wr_advice *advice) {
  *advice = (wr_advice){.seen = ""};
  find_seen(c, advice);
  return find_remedy(c, advice);
}
