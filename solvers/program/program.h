/* What the programs have in common, from the command line to the exit code: a program is a table of what its method does. */
#ifndef WR_PROGRAM_H
#define WR_PROGRAM_H

#include "io/ids.h"
#include "solvers/program/settings.h"
#include "solvers/report/run.h"
#include "solvers/solver.h"
#include "spmv/spmv.h"

typedef struct wr_program {
  const char *name;
  const wr_program_text *text;
  const wr_option *options;
  wr_measure measure;
  int nonnegative;          /* values are weights                                             */
  /* Fills in what the settings leave to the method: tolerance, iterations. */
  void (*complete)(wr_settings *settings);
  /* Host memory that a run takes for each row of the matrix, at least (solvers/program/need.h). */
  int64_t (*row_bytes)(const wr_settings *settings, int on_host);
  /* Bytes of matrix and vectors that a solve with so many rows and entries moves, with the most iterations that are
   * expected. */
  double (*work)(const wr_settings *settings, int64_t nrows, int64_t nnz);
  /* The problem on the host, from the parsed matrix, which outlives it, and the ids of its rows, by which vectors may name
   * their elements; may add to facts->remark. */
  wr_status (*open)(const wr_settings *settings, wr_csr *A, const wr_ids *ids, wr_problem_facts *facts, void **problem);
  /* What may be done on a device where all that runs is there, both or none (NULL): upload brings what it takes to the device,
   * finish does it there, or with NULL on the host; it may add to facts->remark. After an error the problem is to be closed. */
  wr_status (*upload)(void *problem, wr_env *device);
  wr_status (*finish)(void *problem, wr_env *device, wr_problem_facts *facts);
  /* Whether the device will be given A itself, as loaded (so far only its sizes, `symmetric` and whether it is a pattern are
   * known), so that rows may go there while others are read. all_there: all that run are on the device. NULL: never. */
  int (*uploads_input)(const wr_settings *settings, const wr_csr *A, int all_there);
  void (*close)(void *problem);
  wr_csr *(*matrix)(void *problem); /* that plans are made of */
  /* One backend's solve: vectors, iteration, answer ([*n], wr_alloc'ed), checking, end. */
  wr_status (*start)(void *problem, const wr_settings *settings, wr_plan *plan, wr_env *env, void **solve);
  wr_status (*run)(void *solve, const wr_monitor *monitor, wr_result *result);
  wr_status (*multiply)(void *solve, int count); /* as in its iterations; the answer is lost */
  double (*verify_seconds)(int64_t nrows, int64_t nnz, int threads); /* what full verification will take, by measurement */
  /* Downloads the answer; checks it, as it is; brings it into the form in which it is given out (NULL: it is). */
  wr_status (*answer)(void *solve, double **x, int64_t *n);
  wr_status (*verify)(void *solve, const double *x, wr_verified level, int64_t rows, wr_verdict *verdict);
  wr_status (*normalise)(void *solve, double *x);
  void (*stop)(void *solve); /* NULL is fine */
  /* Distance of two answers, as reports give it. */
  double (*difference)(const double *a, const double *b, int64_t n);
  /* Prints what people want to see of the answer (the best pages), with the names of its elements; may be NULL. */
  wr_status (*present)(FILE *out, const wr_settings *settings, const wr_ids *ids, const double *x, int64_t n);
} wr_program;

/* Runs it; returns the exit code. */
int wr_program_run(const wr_program *program, int argc, char **argv);

#endif
