/* Records of a run of one backend and of the problem, which programs fill in and reports print, and comparisons of runs. */
#ifndef WR_RUN_H
#define WR_RUN_H

#include <stdint.h>

#include "solvers/report/ledger.h"
#include "solvers/report/statistics.h"
#include "solvers/solver.h"
#include "solvers/verify.h"
#include "spmv/choose/choose.h"
#include "spmv/spmv.h"

enum { WR_MAX_RUNS = 64 }; /* of one command */

/* For a run that failed, or whose answer may be useless. "": nothing. */
typedef struct wr_advice {
  char seen[640];     /* in the matrix and the residual, clauses                          */
  char remedy[320];   /* what the command does, or which kind of solver to take            */
  char command[1024]; /* a complete one; "": none                                          */
  char other[160];    /* another kind of solver that would do as well; "": none             */
} wr_advice;

/* The preconditioner that a run applied. */
typedef struct wr_run_precond {
  char name[128];      /* with its knobs: "ilu0:order=auto:pivot=1e-8"; "": none            */
  char line[400];      /* what was chosen and why                                           */
  double seconds;      /* that making it took, a part of the phase prepare                  */
  int64_t bytes;       /* of memory                                                         */
  double apply_bytes;  /* that an application moves                                         */
} wr_run_precond;

/* How far the order of the best nodes is proven (solvers/order.h). */
typedef struct wr_run_order {
  int known;             /* 0: not tested                                                   */
  int64_t ranks, proven; /* of so many best nodes, the order of the first so many is proven */
  int64_t ties;          /* of one of them and the next one, proven to be equal             */
} wr_run_order;

/* Of many teleport sets (solvers/rank/rank_sets.h). The result has the largest bound, and the iterations of all sets. */
typedef struct wr_run_sets {
  int64_t count;         /* 0: there are none, and all else is 0                                         */
  int64_t done, converged;
  int64_t fewest, most;  /* iterations of a set                                                          */
  int64_t worst;         /* the first one that has the largest bound, from 1; 0: none is done            */
  int64_t checked, refuted; /* bounds that the host computed again; found to be wrong                    */
  int columns;           /* sets at once                                                                 */
} wr_run_sets;

/* What the CPU did of a run before a device took over (docs/auto.md). */
typedef struct wr_run_moved {
  const wr_backend *backend;      /* NULL: the run stayed where it began, and all else is 0                  */
  int64_t iterations, multiplies; /* part of those of the result                                             */
  double seconds;                 /* of its iterations: part of the phase solve                              */
  wr_error failure;               /* why the device could not go on, and the CPU did; WR_OK: the device did  */
} wr_run_moved;

/* A change of -k auto's backend while a solve went on (docs/auto.md). */
typedef struct wr_run_changed {
  const wr_backend *from;         /* NULL: the run kept the backend that it began with                       */
  const wr_backend *to;           /* NULL: no other one was tried, and all else is 0                         */
  int64_t iterations, multiplies; /* before it, at the same place: part of those of the result               */
  double left;                    /* multiplies that were likely to be left                                  */
  double multiply;                /* s of a multiply before it, the mean                                     */
  double to_multiply, to_prepare; /* s that were expected of `to`                                            */
  double took;                    /* s of preparing `to`, the expectations included: part of the phase prepare */
  wr_error failure;               /* why `to` could not go on; WR_OK: it did                                 */
} wr_run_changed;

/* What was found for one of several right-hand sides. */
typedef struct wr_run_side {
  wr_result result;
  wr_verdict verdict;
  double seconds; /* of its iterations */
} wr_run_side;

/* One backend's run. With several right-hand sides result and verdict are those of the worst: of the worst exit code, and of
 * these of the largest measure. */
typedef struct wr_run {
  const wr_backend *backend;
  char knobs[128];         /* effective, "alg=1"; "" none                                             */
  wr_error error;          /* why it did not run, or broke off                                        */
  int ran;                 /* 1: there is a result                                                    */
  wr_run_moved moved;
  wr_chosen chosen;        /* of -k auto; its backend is NULL if the user named one                   */
  wr_run_changed changed;  /* then `backend`, `info` and times of applies are of the last one         */
  wr_plan_info info;
  wr_run_precond precond;
  char device_name[128];
  wr_ledger ledger;        /* phases that all runs share (read, ...) and those of this run             */
  double apply_total, apply_median, apply_low, apply_high, apply_first; /* s; median with 95% interval */
  int64_t applies;
  double waited, waited_halo; /* s: as in wr_part_facts                                              */
  int timed_afterwards;    /* 1: the device repeated the iterations, and applies were timed afterwards */
  double setup;            /* s: prepare with tuning, for break-even                                  */
  double warm;             /* s: a second solve with the prepared plan; 0: not measured               */
  double warm_solve;       /* s: its iterations alone, without downloading the answer                 */
  double read_bandwidth;   /* bytes/s measured at its place; 0: not measured                          */
  int fused_epilogue;
  wr_result result;
  const wr_history *history; /* NULL: not kept; JSON has it if wr_problem_facts.keeps_history says so    */
  wr_verdict verdict;
  wr_run_order order;
  wr_run_sets sets;
  int64_t side_count;      /* 0: there is one right-hand side                                         */
  wr_run_side *sides;      /* [side_count], for wr_free                                               */
  char together[240];      /* how they were solved: a clause                                          */
  wr_advice advice;
  double difference;       /* L1 (PageRank) or relative 2-norm (BiCGSTAB) distance to the first run's answer */
} wr_run;

/* What a method stops by, and in which norm reports give the distance of two answers. */
typedef enum wr_measure {
  WR_MEASURE_RESIDUAL, /* ||b - A x|| / ||b||; relative 2-norm                                               */
  WR_MEASURE_L1_ERROR  /* a bound on the L1 error of the scores, or the L1 change of a step; L1 norm         */
} wr_measure;

/* A part of the rows, which a process of its own has. */
typedef struct wr_part_facts {
  int64_t rows, entries;
  int64_t halo, sent; /* elements of x that it gets from the others for a multiply, and that it sends to them            */
  double waited;      /* s of the solve in exchanges and sums with the others, of which most is waiting                  */
  double waited_halo; /* of waited, s for elements of x; of an exchange beside a sum what it takes longer than that      */
  double solve;       /* s of the solve                                                                                  */
} wr_part_facts;

/* The share of their solves, 0 to 1, that all parts together have not waited: parallel efficiency is no more than this. NaN:
 * there are no parts, or no times. */
double wr_parts_busy(const wr_part_facts *parts, int64_t count);

/* The problem, for headings. */
typedef struct wr_problem_facts {
  const char *program;     /* "pagerank"                                                              */
  wr_measure measure;
  const char *source;      /* file or gen: name                                                       */
  char kind[64];           /* "coordinate pattern general"                                            */
  int64_t nrows, ncols, nnz, bytes;
  int has_values;
  const char *precision;   /* "f64"                                                                   */
  double tolerance;
  int keeps_history;       /* 1: JSON reports have the history of each run                            */
  int interrupted;         /* 1: a signal ended the program early                                     */
  char place[320];         /* "the CPU: ...", why the program chose it, or what was done where; "": the user chose */
  int64_t part_count;      /* 0: one process has all rows                                             */
  wr_part_facts *parts;    /* [part_count], for wr_free                                               */
  char remark[512];        /* "b = A*ones", "undirected: no transpose needed", "" ...                 */
} wr_problem_facts;

/* What --check found of PageRank scores besides. */
typedef struct wr_score_facts {
  double damping, sum;      /* d, and the sum of the scores                                      */
  double bound;             /* (residual + error) / (1 - d), on the L1 error                     */
  int64_t nodes, proven;    /* of so many ranks from the first on, the order is proven, ...      */
  int64_t ties;             /* ... so many of them being equal to the next one                   */
  int normalised;           /* 1: by a bound for the scores divided by their sum                 */
  double order_bound;       /* that bound, or the one above                                      */
  int64_t worst;            /* the id of the node that a step changes most                       */
  char worst_name[256];     /* the same where ids are names, else ""                             */
  double worst_score, worst_change;
  char reading[256];        /* another definition of PageRank that the scores satisfy; "": none was found */
  double reading_damping, reading_factor, reading_bound;
} wr_score_facts;

/* What --check found of an x: numbers relative to ||b||, or as they are if b = 0. For scores the residual's norm is the L1
 * norm, the limit is on scores.bound, or with by_change on measure + error, and members about b and rows are 0. */
typedef struct wr_certificate {
  const char *x;            /* its file                                                          */
  double measure, error;    /* ||b - A x||, and a bound on its error                              */
  double limit;             /* on measure + error                                                */
  double attainable;        /* 2 u || |A||x| + |b| ||: by so much rounding A, b and x may change the residual */
  double backward;          /* componentwise, over all rows                                      */
  int64_t backward_row;     /* the first row that has it                                         */
  int by_backward;          /* 1: the backward error was compared with the tolerance             */
  int is_relative;          /* 0: b = 0                                                          */
  int met;                  /* 1: x meets the tolerance                                          */
  int by_change;            /* 1: the L1 change of a step was compared with the tolerance        */
  wr_score_facts scores;    /* of pagerank                                                       */
} wr_certificate;

/* 0, or the code of a solve that did not converge. */
int wr_certificate_exit_code(const wr_certificate *certificate);

/* 1 if x meets the tolerance, but is doubtful as that of a run. */
int wr_certificate_is_doubtful(const wr_problem_facts *problem, const wr_certificate *certificate);

/* Measurements of spmv besides those in wr_run. The first preparation in a process also loads code and fills pools, which would
 * count against the backend measured first; so run.setup and run.apply_first are medians over all preparations. */
typedef struct wr_apply_times {
  wr_sample hot, cold;             /* s a multiply; count 0: not measured. run.apply_... are the hot ones    */
  int64_t repeat;                  /* multiplies in the last hot batch                                       */
  int64_t preparations;
  double setup_once, first_once;   /* s: the very first preparation and apply                                */
  int dual;                        /* 1: y and y_next alternated, as in a solver                             */
  int64_t vectors;                 /* that a multiply takes at once; 1: one                                  */
} wr_apply_times;

/* A place to compute at, opened once for all matrices. */
typedef struct wr_apply_place {
  wr_env env;
  wr_error error;        /* why it does not open                                   */
  double read_bandwidth; /* bytes/s; 0: there was no memory to measure it          */
} wr_apply_place;

/* Bytes of the format and of the matrix's own arrays that it uses; at most INT64_MAX. */
int64_t wr_run_memory(const wr_run *run);

/* 1 if the run has an answer and no error. */
int wr_run_answered(const wr_run *run);

/* 1 if it also passed the check of its multiplies, so that its times can be compared. */
int wr_run_counts(const wr_run *run);

/* The baseline of speed-up and break-even: the run of WR_CAP_VENDOR with the least total if one ran, else the first that ran;
 * NULL if none did. A run that failed or multiplied wrong is no baseline. */
const wr_run *wr_baseline(const wr_run *runs, int count);

/* The number of multiplies from which on run takes less time than base, preparation included: ceil(((S - S0) + (f - f0)) / (t0
 * - t)); 0 when it never costs more; -1 when it never pays. S setup, f first apply less the median, t the median apply. A run
 * that takes less to prepare and more to apply has 0 if it takes less time than base for its own `applies`, else -1. -1 also
 * if a time is not finite. */
int64_t wr_break_even(const wr_run *run, const wr_run *base);

/* 1 if a's apply is faster than b's by more than the measuring error: both were timed more than WR_LEAST_SAMPLE times (the
 * first one is in no interval), and b's 95% interval begins more than 2% above the end of a's. */
int wr_faster(const wr_run *a, const wr_run *b);

/* Exit code of one run: its status's if that is no success, else its outcome's; verification that failed is 7
 * (multiplied wrong) or, where the outcome is converged, 2 (tolerance not met). Non-finite and interrupted runs keep 5
 * and 130: there is nothing to verify. */
int wr_run_exit_code(const wr_run *run);

/* 1 for a backward error above WR_DOUBTFUL_BACKWARD and the tolerance: x may then be wrong in all digits. */
int wr_backward_is_large(double backward_error, double tolerance);

/* Of an answer that meets the tolerance: 1 if its backward error is large or, where that was compared with the tolerance, its
 * residual is larger than that of x = 0, and than atol. measure and limit are in units of ||b||. */
int wr_verdict_is_doubtful(const wr_verdict *verdict, double tolerance, int by_backward);

/* 1 for an answer that meets the tolerance and is doubtful. Its exit code is 0. */
int wr_run_is_doubtful(const wr_problem_facts *problem, const wr_run *run);

/* The worse of two exit codes: the one that comes first in 130 (interrupted), 7, 9, 5, 6, 8, 3, 1, 2, 4, 0. */
int wr_worse_exit_code(int a, int b);

/* The outcome with the worse exit code; of two with the same, a. */
wr_outcome wr_worse_outcome(wr_outcome a, wr_outcome b);

/* Of all runs: the worst of theirs, runs that were not available left out; WR_EUNAVAILABLE's if none is left. */
int wr_report_exit_code(const wr_run *runs, int count);

/* The baseline of spmv: the first run that can be compared, or NULL. */
const wr_run *wr_apply_base(const wr_run *runs, int count);

typedef struct wr_apply_standing {
  int known;           /* 0: there is no comparison: it did not run, multiplied wrong, or there is no base  */
  double speed_up;     /* base's hot median / its own                                                      */
  int faster, slower;  /* by wr_faster; neither: the difference is within the measuring error ...          */
  int has_intervals;   /* ... or, if this is 0, unknown: one of the two was timed too few times            */
  int64_t pays_at;     /* wr_break_even's for one that is faster in the median; -1: never                  */
  int64_t ahead_until; /* slower, but takes less to prepare: it takes less in all for so many multiplies; 0: none; -1: any */
} wr_apply_standing;

wr_apply_standing wr_apply_compare(const wr_run *run, const wr_run *base); /* base may be NULL */

/* 1 if, preparation included, run takes less time than base for so many multiplies, and their difference is beyond the
 * measuring error. */
int wr_apply_is_worth(const wr_run *run, const wr_run *base, double multiplies);

/* ---- the backend that takes the least time, preparation included, for a number of multiplies ---- */

/* For `from` multiplies, and more up to the next stretch, this run takes the least time. */
typedef struct wr_stretch {
  const wr_run *run;
  int64_t from; /* 1 for the first stretch */
} wr_stretch;

/* Into stretches[count], by ascending `from`. The first is the run with the least time for one multiply. Another follows at
 * its wr_break_even, if it multiplies faster (wr_faster). Returns how many there are: 0 if no run was right and timed often
 * enough for an interval. */
int wr_suggest(const wr_run *runs, int count, wr_stretch *stretches);

#endif
