/* What the programs tell: the answer of one run, the comparison of several, JSON for machines. Numbers come from wr_run
 * records that compare.c fills in; nothing is measured or decided here but break-even and speed-up. */
#ifndef WR_REPORT_H
#define WR_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "solvers/ledger.h"
#include "solvers/solver.h"
#include "spmv/spmv.h"

typedef enum wr_verified { WR_VERIFY_OFF, WR_VERIFY_DEVICE, WR_VERIFY_SAMPLE, WR_VERIFY_FULL } wr_verified;

/* The two questions of verification and their answers. */
typedef struct wr_verdict {
  wr_verified level;
  int64_t rows;            /* checked on the host                                                     */
  int multiplied_right;    /* 1: every checked row is within the rounding bound                       */
  double worst_row;        /* largest error / bound over the checked rows                             */
  int met_tolerance;       /* 1: the answer meets what was asked for                                  */
  double measure, limit;   /* the true residual (or change of an exact step), and what it may be      */
  int on_host;             /* BiCGSTAB: measure is the host's, over the matrix as parsed; else the device's */
  double attainable;       /* BiCGSTAB: what rounding in this precision may add to the residual; 0: not known */
  double backward_error;   /* BiCGSTAB: componentwise                                                 */
} wr_verdict;

/* One backend's run. */
typedef struct wr_run {
  const wr_backend *backend;
  char knobs[128];         /* effective, "alg=1"; "" none                                             */
  wr_status status;        /* not WR_OK: did not run, or broke off; then `reason` says why            */
  char reason[512];
  int ran;                 /* 1: there is a result                                                    */
  wr_plan_info info;
  char device_name[128];
  wr_ledger ledger;        /* the whole way of this run: what is shared (read...) and its own          */
  double apply_total, apply_median, apply_low, apply_high, apply_first; /* s; median with 95% interval */
  int64_t applies;
  int timed_apart;         /* 1: the device repeated the iterations; applies were timed one by one afterwards */
  double setup;            /* s: prepare with tuning, for break-even                                  */
  double warm;             /* s: a second solve with the prepared plan; 0: not measured               */
  double warm_solve;       /* s: its iterations alone, without the answer's way back                  */
  double read_bandwidth;   /* bytes/s measured at its place; 0: not measured                          */
  int fused_epilogue;
  wr_result result;
  wr_verdict verdict;
  double difference;       /* L1 (PageRank) or relative 2-norm (BiCGSTAB) distance to the first run's answer */
} wr_run;

/* The problem, for headings. */
typedef struct wr_problem_facts {
  const char *program;     /* "pagerank"                                                              */
  const char *source;      /* file or gen: name                                                       */
  char kind[64];           /* "coordinate pattern general"                                            */
  int64_t nrows, ncols, nnz, bytes;
  int has_values;
  const char *precision;   /* "f64"                                                                   */
  double tolerance;
  int interrupted;         /* 1: a signal ended the program before it was through                     */
  char place[192];         /* "the CPU: ...", why it was chosen by the problem's size; "": it was not     */
  char remark[256];        /* "b = A*ones", "undirected: no transpose needed", "" ...                 */
} wr_problem_facts;

/* The baseline of speed-up and break-even: the cusparse run with the least total if one ran, else the first that ran;
 * NULL if none did. A run that failed or multiplied wrong is no baseline. */
const wr_run *wr_baseline(const wr_run *runs, int count);

/* Multiplies after which run has paid for its preparation against base: ceil(((S - S0) + (f - f0)) / (t0 - t)); 0 when
 * it never costs more; -1 when it never pays. S setup, f first apply less the median, t the median apply. A run that
 * is cheaper to prepare and slower to apply has 0 while it is ahead after its own `applies`, -1 when it has been
 * overtaken by then. -1 also when a time is not finite. */
int64_t wr_break_even(const wr_run *run, const wr_run *base);

/* One run in words: outcome, iterations, times by phase, verification. verbose adds the plan's line and byte model. */
void wr_report_run(FILE *out, const wr_problem_facts *problem, const wr_run *run, int verbose);

/* The comparison: a table as wide as the stream, a row for each run that has a result, the reason why others have none, and
 * one sentence on what it shows. */
void wr_report_table(FILE *out, const wr_problem_facts *problem, const wr_run *runs, int count);

/* Everything as JSON (schema version 1), settings_text being the effective options. Strings are escaped; non-finite
 * numbers become null. WR_EOUTPUT. */
wr_status wr_report_json(const char *path, const wr_problem_facts *problem, const wr_run *runs, int count,
                         const char *settings_text, const wr_ledger *process);

/* 1 if a's apply is faster than b's beyond doubt: both were timed more than WR_LEAST_SAMPLE times (the first one is
 * in no interval), and b's 95% interval begins more than 2% above the end of a's. */
int wr_faster(const wr_run *a, const wr_run *b);

/* Exit code of one run: its status's if that is no success, else its outcome's; verification that failed is 7
 * (multiplied wrong) or, where the outcome is converged, 2 (tolerance not met). Non-finite and interrupted runs keep 5
 * and 130: there is nothing to verify. */
int wr_run_exit_code(const wr_run *run);

/* Of all runs: with one its own; with several 130 if one was interrupted, else the worst in the order 7, 9, 5, 6, 8, 3, 1, 2,
 * 0, rows that were not available left out; WR_EUNAVAILABLE's if none is left. */
int wr_report_exit_code(const wr_run *runs, int count);

/* Numbers for people, in three digits: 1234567 -> "1.23 M" (999999 and below in full); 0.000123 -> "123 us"; 1.5e9 ->
 * "1.50 GB"; 1e-09 -> "1e-9". What does not fit the largest unit has an exponent, NaN is "nan". text has room for 16.
 * Return text. wr_text_bound rounds up, so that what is printed is a bound too. */
char *wr_text_count(int64_t value, char *text);
char *wr_text_seconds(double value, char *text);
char *wr_text_bytes(double value, char *text);
char *wr_text_real(double value, char *text);
char *wr_text_bound(double value, char *text);

#endif
