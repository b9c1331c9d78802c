/* One backend with one matrix in one type under one setting of its knobs, and the checked apply of which all checks consist. */
#ifndef WR_TRIAL_H
#define WR_TRIAL_H

#include "spmv/spmv.h"
#include "tests/conformance/guarded.h"

/* Results of many trials. */
typedef struct findings {
  long passed, failed;
  int quiet;       /* 1: failures are counted and not printed */
  char first[520]; /* the first failure                       */
} findings;

typedef enum z_source { Z_OWN, Z_X, Z_NEXT } z_source;

/* An epilogue to test; `own` vectors replace x if the matrix is not square, and y_next if there is none. */
typedef struct epilogue_kind {
  const char *name;
  enum { SHIFT_NONE, SHIFT_ONES, SHIFT_ALONG, SHIFT_BESIDE } shift; /* SHIFT_BESIDE: adds_dir */
  enum { SCALE_NONE, SCALE_ANOTHER, SCALE_Y } scale; /* SCALE_ANOTHER: into `scaled` */
  int relaxes; /* 1: from y_next */
  struct {
    wr_reduction_kind kind;
    z_source z;
  } reduce[WR_MAX_REDUCTIONS];
} epilogue_kind;

enum { EPILOGUE_NONE, EPILOGUE_PAGERANK = 5, EPILOGUE_ALL = 8, EPILOGUE_CHEBYSHEV = 11, EPILOGUES = 15 };
extern const epilogue_kind epilogue_kinds[EPILOGUES];

typedef struct trial {
  /* Set by the caller before trial_open: */
  const wr_backend *backend;
  const char *knobs; /* or NULL     */
  const char *name;  /* of the case */
  wr_csr *A;
  wr_env env;
  findings *findings;
  /* Then ready for use: */
  wr_plan *plan;
  guarded x[2];                              /* [ncols] */
  guarded y[3], scaled, scale, direction, z; /* [nrows] */
  guarded bank;                 /* f64: the shift, three results, one that must stay unchanged, the relaxation */
  wr_vec compact;                            /* compact copy of scale for epilogues; not allocated: they get scale */
} trial;

/* 1: the plan is prepared. 0: it is not, either correctly (the backend does not claim to take this, or gives a reason why it
 * cannot; a value is beyond f32), or the failure is among the findings. Either way trial_close follows. */
int trial_open(trial *t);
void trial_close(trial *t);

/* From now on a signal that ends the process, of a crash or of a test that takes too long, first has the name of the trial that
 * was opened last printed to standard error. */
void trial_name_crashes(void);

/* All vectors := pseudo-random numbers that depend on key. Every fifth element of scale is 0; in half of all trials the
 * others are reciprocals of whole numbers of one, two or four bytes, and there is a compact scale. */
void trial_fill(trial *t, uint64_t key);

/* One of them: pseudo-random, or a number (NaN where it must not be read). */
void trial_fill_one(trial *t, guarded *g, uint64_t key);
void trial_set(trial *t, guarded *g, double value);
void trial_set_scale(trial *t, const double *values); /* which then has no compact copy */

/* One apply, with vectors of the trial. */
typedef struct step {
  double alpha, beta;
  int epilogue;                     /* of epilogue_kinds */
  guarded *x, *y, *y_next, *scaled; /* y_next: or NULL   */
} step;

#define TRIAL_SHIFT 0.15
#define TRIAL_RELAXATION 1.3

/* Runs an apply and checks the contract: every y, scaled and reduction is within its error bound, all inputs are unchanged,
 * and nothing outside the vectors is touched. */
void trial_step(trial *t, const step *s);

/* Counts a check; the sentence is shown if it failed. */
void trial_expect(trial *t, int passed, const char *format, ...) WR_PRINTF(3, 4);

/* A call of vecops or of a plan that must succeed. */
#define TRIAL_OK(t, call) trial_expect((t), (call) == WR_OK, "%s: %s", #call, wr_status_message())

#endif
