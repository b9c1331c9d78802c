/* The common part of pagerank and bicgstab, from the command line to the exit code. A program is a table of functions of its
 * method. Matrices are square; others are refused. */
#ifndef WR_PROGRAM_H
#define WR_PROGRAM_H

#include "io/ids.h"
#include "solvers/program/settings.h"
#include "solvers/report/run.h"
#include "solvers/report/writer.h"
#include "spmv/choose/choose.h"
#include "spmv/parts/comm.h"

typedef struct wr_program {
  const char *name;
  const wr_program_text *text;
  const wr_option *options;
  wr_measure measure;
  int nonnegative;          /* values are weights                                             */
  /* How several processes begin and end that run together, each with a part of the rows (solvers/program/comm_mpi.h). */
  wr_status (*begin_parts)(char **argv, wr_comm **comm);
  int (*end_parts)(wr_comm *comm, int code, void (*say)(void *context), void *context);
  /* WR_EUNAVAILABLE: what of the settings is for one process alone. */
  wr_status (*in_parts)(const wr_settings *settings);
  const char *problem, *values;    /* "a graph", "the scores": for messages                   */
  size_t problem_size, solve_size; /* of a problem, and of a solve of it: allocated zeroed    */
  /* Fills in settings with a default that depends on the method: tolerance, iterations. */
  void (*complete)(wr_settings *settings);
  /* A lower bound on the host memory of a run, in bytes a row of the matrix (solvers/program/need.h). */
  int64_t (*row_bytes)(const wr_settings *settings, int on_host);
  int64_t (*entry_bytes)(const wr_settings *settings); /* NULL: 0 */
  /* Bytes of matrix and vectors that a solve with so many rows and entries moves, by the largest expected number of
   * iterations. */
  double (*work)(const wr_settings *settings, int64_t nrows, int64_t nnz);
  /* What -k auto chooses a backend for; NULL: one multiply. problem NULL: it is not known yet. */
  wr_plan_use (*use)(const wr_settings *settings, const void *problem);
  /* How many iterations a solve of the problem usually takes, as far as its size and the settings tell; NULL:
   * WR_EXPECTED_MULTIPLIES. */
  double (*usual)(const wr_settings *settings, const void *problem);
  /* Makes the problem on the host from the parsed matrix, which outlives it. Vectors may name their elements by the ids of the
   * matrix's rows. watch: of the time limit. May add to facts->remark. */
  wr_status (*open)(const wr_settings *settings, wr_csr *A, const wr_ids *ids, const wr_watch *watch,
                    wr_problem_facts *facts, void *problem);
  /* The part of making the problem that a device can do if all backends run there: upload uploads its input, finish does it on
   * the device, or with NULL on the host, and may add to facts->remark. */
  wr_status (*upload)(void *problem, wr_env *device);
  wr_status (*finish)(void *problem, wr_env *device, wr_problem_facts *facts);
  /* 1 if the device needs A itself, as loaded, so that rows may be uploaded while others are read. Only sizes of A, `symmetric`
   * and whether it is a pattern may be read. all_on_device: all backends run on the device. NULL: never. */
  int (*uploads_input)(const wr_settings *settings, const wr_csr *A, int all_on_device);
  void (*close)(void *problem); /* frees what it holds; also after open has failed */
  wr_csr *(*matrix)(void *problem); /* that plans are made of */
  /* One backend's solve: vectors, iteration, answer, checking, end. */
  wr_status (*start)(void *problem, const wr_settings *settings, wr_plan *plan, wr_env *env, void *solve);
  /* In mixed precision, after start: a prepared plan of the same matrix in f32. NULL: there is no such precision. */
  wr_status (*sweep_in)(void *solve, wr_plan *plan, wr_env *env);
  /* Makes the preconditioner, if one is asked for, and describes it; ends early, without one, where the monitor says so. NULL:
   * there is never one. */
  wr_status (*precondition)(void *solve, const wr_monitor *monitor, wr_run_precond *precond);
  wr_status (*run)(void *solve, const wr_monitor *monitor, wr_result *result);
  wr_status (*multiply)(void *solve, int count); /* as in its iterations; destroys the answer */
  double (*verify_seconds)(int64_t nrows, int64_t nnz, int threads); /* estimate of full verification */
  /* x[rows of the matrix] := the answer; checks it as downloaded; brings it into the form for outputs (NULL: it is in that
   * form). */
  wr_status (*answer)(void *solve, double *x);
  wr_status (*verify)(void *solve, const double *x, wr_verified level, int64_t rows, wr_verdict *verdict);
  wr_status (*normalise)(void *solve, double *x);
  void (*stop)(void *solve); /* frees what it holds; also after start has failed */
  /* Instead of solving: checks the x of settings->check. */
  wr_status (*check)(void *problem, const wr_settings *settings, const wr_ids *ids, wr_certificate *certificate);
  /* A solve goes on elsewhere: the problem, which is finished, begins with this x[rows], an answer so far. It is copied.
   * NULL: a solve stays where it begins. */
  wr_status (*resume)(void *problem, const double *x);
  /* Distance of two answers, as reports give it. */
  double (*difference)(const double *a, const double *b, int64_t n);
  /* run->order := how far the order of its answer x[n] is proven; NULL: it has none. Of parts: n is all, in one of them. */
  wr_status (*find_order)(void *problem, const wr_settings *settings, const double *x, int64_t n, wr_run *run);
  /* Prints an excerpt of this run's answer (the best pages) with the ids of its elements; may be NULL. Where
   * settings->top_format asks for another form than the report's, a text gets the excerpt alone, for other programs. */
  wr_status (*present)(wr_writer *out, void *problem, const wr_settings *settings, const wr_ids *ids, const double *x,
                       int64_t n, const wr_run *run);
  /* All or none, NULL: there is always one right-hand side. How many; makes one of them that of the problem, before start;
   * makes one that of a solve, after precondition, as wr_solving_side does; how they were solved. */
  int64_t (*sides)(const void *problem);
  wr_status (*set_side)(void *problem, int64_t side);
  wr_status (*take_side)(void *problem, void *solve, int64_t side, const wr_monitor *monitor, double *moved);
  void (*describe_sides)(const void *solve, char *text, size_t size);
  /* All or none, NULL: with settings->seeds, in place of start and all that follows it. So many vectors at once; the work,
   * which fills in the run; its results as a file (--output, --format) and, without one, on the terminal. */
  int (*columns)(const wr_settings *settings, const wr_env *env);
  wr_status (*run_sets)(void *problem, const wr_settings *settings, wr_plan *plan, wr_env *env,
                        const wr_monitor *monitor, wr_run *run);
  wr_status (*write_sets)(void *problem, const wr_settings *settings, const wr_ids *ids);
  void (*print_sets)(FILE *out, void *problem, const wr_ids *ids);
} wr_program;

/* Runs it; returns the exit code. */
int wr_program_run(const wr_program *program, int argc, char **argv);

#endif
