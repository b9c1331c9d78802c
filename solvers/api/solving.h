/* A linear system solved as options say, on one backend: its scaling, the preconditioner, the iterations, what follows where
 * they fail, and the check of the answer. bicgstab and wr_solve (windrow.h) are made of these functions. */
#ifndef WR_SOLVING_H
#define WR_SOLVING_H

#include "solvers/api/auto_precond.h"
#include "solvers/lockstep.h"
#include "solvers/verify.h"
#include "spmv/choose/choose.h"

typedef struct wr_solving_options {
  wr_bicgstab_options iterate;     /* tolerance 0: by precision; iterations 0: WR_BICGSTAB_ITERATIONS (wr_solving_complete) */
  double atol;
  wr_scale scale;
  const wr_preconditioner *precond; /* M; never NULL: none of them is &wr_precond_none          */
  const char *precond_text;        /* for reports: "ilut:fill=20"                              */
  const char *precond_knobs;       /* "fill=20", or NULL                                       */
  int precond_auto;                /* 1: --precond auto, and precond is none                   */
  wr_precond_function *function;   /* M by a function of the caller's, for A as given; NULL: none. Not with a device's loops  */
  void *function_context;
  int fallback_direct;             /* 1: KLU where the iterations have failed                  */
} wr_solving_options;

/* Fills in the members that are chosen by a text "auto", "ilut:fill=20" or NULL, which stands for auto, or for none where
 * iterate.method is named. The knobs are parsed, so that mistakes are found here; options keep the text. WR_EUSAGE. */
wr_status wr_solving_choose_precond(const char *text, wr_solving_options *options);

/* Tolerance and iterations, where they are 0, by the type. */
void wr_solving_complete(wr_solving_options *options, wr_type type);

/* Bytes of matrix and vectors that a solve of such a size moves, if it takes as many iterations as a square grid of so many
 * points has on a side. */
double wr_solving_work(const wr_solving_options *options, wr_type type, int64_t nrows, int64_t nnz);

/* What -k auto chooses a backend for: WR_EXPECTED_MULTIPLIES, or as many as the iterations take if these are fewer. */
wr_plan_use wr_solving_use(const wr_solving_options *options);

/* The system, as wr_system_begin and wr_system_finish make it: its columns are scaled once by a diagonal M, unless conjugate
 * gradients may be taken, which need a symmetric matrix. */
wr_status wr_solving_begin(const wr_solving_options *options, wr_csr *A, double *b, double *guess, int random,
                           int64_t seed, const wr_watch *watch, wr_system *system);
wr_status wr_solving_finish(wr_system *system, wr_env *device);

/* Right-hand sides of one system. */
typedef struct wr_sides {
  int64_t count;
  wr_status (*set)(void *of, int64_t side); /* gives the system right-hand side `side`, from 0, and its guess */
  void *of;
} wr_sides;

/* A solve in progress. */
typedef struct wr_solving {
  wr_bicgstab method;
  wr_solving_options options;
  wr_system *system;
  wr_plan *plan;
  wr_env *env;
  wr_rounding rounding;
  wr_precond *precond; /* applied in each iteration; NULL: none, or part of the system's matrix */
  wr_auto_precond chosen; /* of precond_auto */
  double *x;   /* [n] by the fallback; NULL: the answer is the iterate */
  wr_lockstep_column together[WR_MAX_COLUMNS]; /* of right-hand sides that were iterated together                     */
  int64_t first_side;        /* that of together[0]                                                               */
  int64_t shared, alone;     /* right-hand sides that were iterated together, and those that were then to be solved alone */
  double share;              /* seconds of iterating together, by the number of right-hand sides                  */
  char why_alone[160];       /* a clause: why none are iterated together; "": they are                            */
  double norm; /* of the final residual, as the device computed it, of the scaled system */
} wr_solving;

/* system, plan and env must outlive it. Each of the following errors leaves it open, for wr_solving_close. */
wr_status wr_solving_open(wr_solving *r, const wr_solving_options *options, wr_system *system, wr_plan *plan,
                          wr_env *env);
void wr_solving_close(wr_solving *r); /* also after open has failed; a zeroed one is fine */

/* Makes the preconditioner and describes it; ends early, without one, where the monitor says so. */
wr_status wr_solving_precondition(wr_solving *r, const wr_monitor *monitor, wr_run_precond *precond);

/* Gives the system right-hand side `side`: what follows is for it. They are asked for in their order. The next ones, up to
 * WR_MAX_COLUMNS, are iterated together where method, preconditioner and plan allow it (why_alone), and each is finished by the
 * run that follows, from where it is then. *moved: seconds to be added to those of this call, so that each has its share
 * of that. Errors of sides->set. */
wr_status wr_solving_side(wr_solving *r, const wr_sides *sides, int64_t side, const wr_monitor *monitor, double *moved);

/* How several right-hand sides were solved: a clause of at most `size` characters. */
void wr_solving_describe_sides(const wr_solving *r, char *text, size_t size);

/* Iterates, and falls back where the options say so. Any number of times. */
wr_status wr_solving_run(wr_solving *r, const wr_monitor *monitor, wr_result *result);

/* x[n] := the answer of the last run. */
wr_status wr_solving_answer(wr_solving *r, double *x);

/* to (f64) := that answer, x[n] on the host, at the place of the solve: from the iterate there where it is the answer but for a
 * power of two, which gives the same bits. */
wr_status wr_solving_place_answer(wr_solving *r, const double *x, wr_vec *to);

/* Checks that answer as wr_verify_system does, with measure, limit and attainable relative to ||b||. */
wr_status wr_solving_verify(wr_solving *r, const double *x, wr_verified level, int64_t rows, wr_verdict *verdict);

/* Seconds that full verification takes. */
double wr_solving_verify_seconds(int64_t nrows, int64_t nnz, int threads);

#endif
