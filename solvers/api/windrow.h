/* windrow: iterative solvers for sparse linear systems and PageRank, on the CPU or a GPU. C99 or later, C++11 or later.
 *
 *   wr_matrix *A = NULL;
 *   wr_solve_result result;
 *   WR_INIT(result);
 *   if (wr_read("A.mtx", &A) != WR_OK || wr_solve(A, b, x, NULL, &result) != WR_OK)
 *     fprintf(stderr, "%s\n", wr_status_message());
 *   else
 *     printf("%s: %s\n", wr_outcome_title(result.outcome), result.note);
 *   wr_matrix_free(A);
 *
 * Functions that can fail return a wr_status: WR_OK, or a code, and wr_status_message() then has a sentence for the calling
 * thread. Not converging is no error: the outcome in the result tells it. Every argument is checked; a pointer may be NULL only
 * where that is said. Indices begin at 0. Arrays are the caller's and are not kept behind a call, unless that is said.
 *
 * Different threads may use different handles at the same time, and all of them one wr_matrix. A wr_solver or a wr_operator
 * serves one call at a time. Callbacks are called by the thread that has called the library.
 *
 * Structs begin with their size, so that they can grow: WR_INIT(s) sets it, and all other members to 0, which is the default of
 * every option. A library that is newer than the caller takes the members that the caller knows and fills in no others; an
 * older one refuses options that it does not know and that are not 0. */
#ifndef WR_WINDROW_H
#define WR_WINDROW_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "config/errors.h"
#include "config/version.h"
#include "solvers/outcome.h"

WR_C_BEGIN

/* To be used on each of the structs here before its members are set. */
#define WR_INIT(s) ((void)memset(&(s), 0, sizeof(s)), (void)((s).size = sizeof(s)))

/* ---- What this library can do ---- */

/* Names of the backends: how a matrix is stored and multiplied with. NULL: there is none of that index. */
const char *wr_backend_name(int index);

/* WR_OK if a backend can be used here and now, or WR_EUNAVAILABLE with the reason: it is not built, or no GPU is found.
 * backend: a name, with its knobs or without. WR_EUSAGE: there is no such name. */
wr_status wr_backend_check(const char *backend);

/* 1 if the library was built with "cuda", "klu" (the direct solver), "zlib", "zstd" or "xz" (files that end in .gz, .zst, .xz);
 * else 0. */
int wr_built_with(const char *library);

/* ---- Matrices ---- */

typedef struct wr_matrix wr_matrix;

/* How wr_read_as reads. */
typedef struct wr_read_choice {
  size_t size;
  const char *format;  /* "auto" (NULL): by the name; "mtx", "edges"                                                 */
  const char *columns; /* of an edge list: "source,target" or "1,2,3"; NULL: by the names in its first line          */
  int is_graph;        /* 1: values are weights, and negative ones are refused                                       */
  int counts_once;     /* 1: an edge without weight that occurs several times counts once, as by the program         */
                       /* pagerank; 0: as often as it occurs                                                         */
  int threads;         /* 0: all                                                                                     */
  /* Of an edge list, as the options of the programs. */
  const char *ids;       /* "auto" (NULL): names unless both ids of the first edge are numbers; "numbers", "names"     */
  const char *separator; /* "auto" (NULL): by the first line; "tab", "comma", "semicolon", "blank"                     */
  const char *header;    /* "auto" (NULL): the first line has names of columns if it looks so; "yes", "no"             */
} wr_read_choice;

/* *A := a matrix from a file (Matrix Market or an edge list, also compressed; SciPy's .npz, GAP's .sg and .wsg, windrow's
 * binary), from standard input ("-") or from a generator ("gen:fem:n=20"). WR_EINPUT with the line at fault; WR_ENOMEM. */
wr_status wr_read(const char *name, wr_matrix **A);
wr_status wr_read_as(const char *name, const wr_read_choice *choice, wr_matrix **A);

/* *A := a copy of a matrix in compressed sparse rows: row i has the entries row_ptr[i] to row_ptr[i + 1] - 1, with columns that
 * ascend and values. val NULL: all values are 1. WR_EINPUT names the first row that is not so; wr_matrix_new_coo sorts and
 * adds up. Sizes are from 1 to 2^31 - 1. Messages of all calls count rows, columns and elements from 0; those about a file that
 * cannot be read count as the file does. */
wr_status wr_matrix_new_csr(int64_t rows, int64_t columns, const int32_t *row_ptr, const int32_t *col,
                            const double *val, wr_matrix **A);
wr_status wr_matrix_new_csr64(int64_t rows, int64_t columns, const int64_t *row_ptr, const int64_t *col,
                              const double *val, wr_matrix **A);

/* *A := a matrix of `entries` entries in any order: entry k has row[k], col[k] and val[k]; val NULL: all are 1. Entries at the
 * same place are added; with counts_once 1 and val NULL they count once. */
wr_status wr_matrix_new_coo(int64_t rows, int64_t columns, int64_t entries, const int32_t *row, const int32_t *col,
                            const double *val, int counts_once, wr_matrix **A);
wr_status wr_matrix_new_coo64(int64_t rows, int64_t columns, int64_t entries, const int64_t *row, const int64_t *col,
                              const double *val, int counts_once, wr_matrix **A);

/* Solvers and operators made of A keep what they need of it. NULL is fine. */
void wr_matrix_free(wr_matrix *A);

int64_t wr_matrix_rows(const wr_matrix *A);    /* 0 for NULL */
int64_t wr_matrix_columns(const wr_matrix *A);
int64_t wr_matrix_entries(const wr_matrix *A);

/* The arrays of the matrix, to be read until wr_matrix_free: [rows + 1], [entries], [entries]. Where all values are 1, val is
 * NULL. NULL for NULL. */
const int64_t *wr_matrix_row_ptr(const wr_matrix *A);
const int32_t *wr_matrix_col(const wr_matrix *A);
const double *wr_matrix_val(const wr_matrix *A);

/* text[room] := the id of a row in the file that the matrix was read from, ended by a 0: "17", a name, or i + 1 where rows have
 * none. WR_EUSAGE where it does not fit. */
wr_status wr_matrix_id(const wr_matrix *A, int64_t i, char *text, size_t room);

/* *i := the row with an id; -1: none has it. */
wr_status wr_matrix_find(const wr_matrix *A, const char *id, int64_t *i);

/* ---- Callbacks ---- */

/* Called at each check of a solve: its iteration, the residual (PageRank: the change), and the value to be reached; while a GPU
 * iterates by itself, every 0.05 s; and, with iteration -1, while something is prepared: residual is then the share of it that
 * is done, or negative. A value other than 0 ends the solve with its best iterate and the outcome WR_INTERRUPTED. */
typedef int wr_progress_function(void *context, int64_t iteration, double residual, double target);

/* Called with sentences: which place and backend were chosen and why, what was prepared, why a solve ended. */
typedef void wr_log_function(void *context, const char *sentence);

/* z := M^-1 r, both [n], for the matrix as given, always with the same M; for "cg" a symmetric positive definite one. WR_OK, or
 * a failure by wr_fail, which ends the solve. */
typedef wr_status wr_precondition_function(void *context, int64_t n, const double *r, double *z);

/* The residuals of a solve at its checks: a handle that options name and that a query reads. */
typedef struct wr_trace wr_trace;
wr_status wr_trace_new(wr_trace **trace);
void wr_trace_free(wr_trace *trace); /* NULL is fine */

/* How many there are of the last solve; of several right-hand sides, of that column; 0 for NULL. *iterations and *residuals
 * (PageRank: changes) := arrays of so many, to be read until the trace is used again or freed; each pointer may be NULL. */
int64_t wr_trace_get(const wr_trace *trace, int64_t column, const int64_t **iterations, const double **residuals);

/* ---- Linear systems ---- */

typedef struct wr_solve_options {
  size_t size;
  const char *backend;   /* "merbit:sigma=16"; "auto" (NULL), "auto:measure=1": the matrix decides                    */
  const char *device;    /* "auto" (NULL): by the size of the problem; "cpu", "cuda", "cuda:N"                       */
  const char *precision; /* "f64" (NULL), "f32": of iterations; the answer is as accurate as the tolerance says      */
  const char *method;    /* "auto" (NULL), "bicgstab", "bicgstabl", "idr", "cg"                                      */
  const char *precond;   /* "auto" (NULL), "none", "jacobi", "ilu0:...", "ilut:drop=1e-3:fill=10"; with a method: none */
  const char *scale;     /* "auto" (NULL), "none", "equilibrate", "match"                                            */
  const char *fallback;  /* "none" (NULL), "direct": KLU where the iterations have failed                            */
  const char *stop;      /* "residual" (NULL), "backward": compare the componentwise backward error with tolerance   */
  const char *verify;    /* "auto" (NULL): of all rows where that takes little time, else of a sample; "full", "off" */
  double tolerance;      /* of ||b - A x|| / ||b||; 0: 1e-8 (f32: 1e-5), or atol alone where that is given            */
  double atol;           /* or ||b - A x|| at most this                                                              */
  double time_limit;     /* seconds of a call; 0: none                                                               */
  int64_t max_iterations; /* 0: 10000                                                                                */
  int64_t check_every;   /* iterations; 0: by size                                                                   */
  int ell;               /* of "bicgstabl"; 0: 2                                                                     */
  int threads;           /* 0: all                                                                                   */
  int deterministic;     /* 1: the same bits in every run                                                            */
  const double *x0;      /* [n] first guess; NULL: 0                                                                 */
  wr_precondition_function *precondition; /* M by a function, in place of precond; with scale "none" then            */
  wr_progress_function *progress;
  wr_log_function *log;
  void *context;         /* given to all three functions                                                             */
  wr_trace *trace;       /* gets the residuals; NULL: they are not kept                                              */
} wr_solve_options;

typedef struct wr_solve_result {
  size_t size;
  wr_status status;     /* of this right-hand side, as the call returns it                                           */
  wr_outcome outcome;   /* WR_NOT_SOLVED where status is an error                                                    */
  int verified;         /* 1: the host found every product that it checked right, and the tolerance met              */
  int on_host;          /* 1: residual was computed by the host from A, b and x                                       */
  int64_t iterations, multiplies;
  int64_t checked_rows; /* of the last product, computed again by the host                                           */
  double residual;      /* ||b - A x|| / ||b||; b = 0: ||A x||                                                        */
  double bound;         /* on the residual: max(tolerance, atol / ||b||)                                             */
  double attainable;    /* what rounding in this precision may add to the residual, at most; 0: not known            */
  double backward;      /* componentwise backward error, the largest of the checked rows                             */
  double prepare_seconds;  /* scaling, plan and preconditioner; of a wr_solver spent once, when it was made          */
  double transfer_seconds; /* to a device and back                                                                   */
  double solve_seconds, verify_seconds;
  double total_seconds; /* of the call; of wr_solver_solve without the preparation                                   */
  char method[16];      /* that ended the solve; "klu": the direct solver                                             */
  char backend[64];
  char device[128];
  char precond[128];
  char note[512];       /* why the solve ended so, and what would help; "" where there is nothing to say             */
  int doubtful;         /* 1: converged, but x may be useless; note says why                                         */
} wr_solve_result;

/* x[n] := the solution of A x = b, b[n]; x may be b. options NULL: the defaults. Where the result is not converged, x is the
 * best iterate. WR_EINPUT: A is not square, b or x0 has a NaN, A has an empty row where b is not 0. WR_EUNAVAILABLE: the
 * backend or device. WR_EUSAGE: an option. WR_EINTERNAL: a product was wrong. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_solve(const wr_matrix *A, const double *b, double *x, const wr_solve_options *options,
                   wr_solve_result *result);

/* The same for a matrix in arrays, as those of wr_matrix_new_csr and wr_matrix_new_csr64. */
wr_status wr_solve_csr(int64_t n, const int32_t *row_ptr, const int32_t *col, const double *val, const double *b,
                       double *x, const wr_solve_options *options, wr_solve_result *result);
wr_status wr_solve_csr64(int64_t n, const int64_t *row_ptr, const int64_t *col, const double *val, const double *b,
                         double *x, const wr_solve_options *options, wr_solve_result *result);

/* A matrix prepared for several right-hand sides: scaled, in the backend's format, with its preconditioner. Functions, context,
 * x0 and trace of the options must outlive it. Errors as of wr_solve; WR_EUNAVAILABLE also where options->progress ended it. */
typedef struct wr_solver wr_solver;
wr_status wr_solver_new(const wr_matrix *A, const wr_solve_options *options, wr_solver **solver);
void wr_solver_free(wr_solver *solver); /* NULL is fine */

/* x[n] := the solution of A x = b. x0[n]: first guess; NULL: that of the options. x may be b or x0. */
wr_status wr_solver_solve(wr_solver *solver, const double *b, const double *x0, double *x, wr_solve_result *result);

/* The same for `count` right-hand sides: that of column j begins at b[j * ldb], and its solution at x[j * ldx]; ldb and ldx
 * are n or more. results[count]: an outcome each. A column that fails does not end the others: its result has the status and,
 * as its note, the sentence; the first such status is returned. Of results, the first one's size holds for all. Conjugate
 * gradients and BiCGSTAB iterate up to 8 columns together, with any scaling and preconditioner, which then share each
 * reading of the matrix; the log has whether they did, or why not. */
wr_status wr_solver_solve_many(wr_solver *solver, int64_t count, const double *b, int64_t ldb, double *x, int64_t ldx,
                               wr_solve_result *results);

/* The same two with arrays on the GPU that the solver computes on: b, x0 and x are addresses there, of cudaMalloc or managed
 * memory; x0 of the options is one of the host. They are read after all work that was begun on the default stream, and x is
 * complete on return. The host checks the answer, so it gets a copy of b and of x; nothing goes back to the GPU but x0, and x
 * where rows and columns were scaled or the residual was refined. The GPU becomes the thread's current one. WR_EUSAGE: the
 * solver was made for the CPU, or an array is in the host's memory or on another GPU. WR_EUNAVAILABLE: a build without CUDA. */
wr_status wr_solver_solve_device(wr_solver *solver, const double *b, const double *x0, double *x,
                                 wr_solve_result *result);
wr_status wr_solver_solve_many_device(wr_solver *solver, int64_t count, const double *b, int64_t ldb, double *x,
                                      int64_t ldx, wr_solve_result *results);

/* ---- PageRank ---- */

typedef struct wr_rank_options {
  size_t size;
  const char *backend;   /* as in wr_solve_options                                                                   */
  const char *device;
  const char *precision; /* "f64" (NULL), "f32", "mixed": most sweeps in f32, the answer as in f64                   */
  const char *method;    /* "auto" (NULL), "power", "chebyshev", "idr", "gauss-seidel"                               */
  const char *stop;      /* "bound" (NULL), "change": compare the L1 change of a step with tolerance                 */
  const char *verify;    /* as in wr_solve_options                                                                   */
  double damping;        /* 0 < d < 1; 0: 0.85                                                                       */
  double tolerance;      /* of the bound on the L1 error of the scores; 0: 1e-9 (f32: 1e-5)                          */
  double time_limit;     /* seconds of the call; 0: none                                                             */
  int64_t max_iterations; /* 0: twice what the damping needs                                                         */
  int64_t check_every;   /* iterations; 0: by size                                                                   */
  int threads;           /* 0: all                                                                                   */
  int deterministic;     /* 1: the same bits in every run                                                            */
  int links_are_in;      /* 1: entry (i, j) is a link from j to i; 0: from i to j                                    */
  const double *personalize; /* [n] weights of the teleport, 0 or more, in any scale; NULL: equal ones               */
  const double *start;   /* [n] first guess; NULL: the teleport                                                      */
  wr_progress_function *progress;
  wr_log_function *log;
  void *context;         /* given to both functions                                                                  */
  wr_trace *trace;       /* gets the changes; NULL: they are not kept                                                */
} wr_rank_options;

typedef struct wr_rank_result {
  size_t size;
  wr_status status;     /* as the call returns it                                                                    */
  wr_outcome outcome;   /* WR_NOT_SOLVED where status is an error                                                    */
  int verified;         /* 1: the host found every product that it checked right, and the tolerance met              */
  int64_t iterations;   /* multiplies                                                                                */
  int64_t checked_rows; /* of the last step, computed again by the host                                              */
  int64_t dangling;     /* nodes without links                                                                       */
  double bound;         /* a proven bound on the L1 error of the scores                                              */
  double change;        /* of the last step                                                                          */
  double prepare_seconds;  /* the transposed matrix and the plan                                                     */
  double transfer_seconds; /* to a device and back                                                                   */
  double solve_seconds, verify_seconds;
  double total_seconds;
  char method[16];
  char backend[64];
  char device[128];
  char note[512];       /* why the solve ended so, and what would help                                               */
} wr_rank_result;

/* scores[n] := PageRank of the graph whose links are the entries of A, with their values as weights; they add up to 1. options
 * NULL: the defaults. Errors as of wr_solve; WR_EINPUT also for a negative weight. */
wr_status wr_rank(const wr_matrix *A, double *scores, const wr_rank_options *options, wr_rank_result *result);

/* The same with arrays on the GPU that the call computes on, as those of wr_solver_solve_device, with its errors: scores, and
 * of the options personalize and start. The host gets copies of these two, and gives the scores, which it has checked and made
 * to add up to 1. device NULL: the first GPU. */
wr_status wr_rank_device(const wr_matrix *A, double *scores, const wr_rank_options *options, wr_rank_result *result);

/* PageRank for many teleport sets by one prepared matrix, several sets a multiply. Set k teleports to node[first[k]] to
 * node[first[k + 1] - 1], none of them twice, in proportion to their weights; weight NULL: to all alike. first[sets + 1]
 * ascends from 0. best[sets * top] and scores[sets * top] get the nodes of each set that have the greatest scores, greatest
 * first; -1 and 0 stand behind the last one that has a score. bounds[sets], or NULL, gets proven bounds on the L1 error of all
 * scores of each set; INFINITY: it was not finished. Of the options, method is NULL or "power", precision "f64" or "f32", and
 * personalize, start and trace are NULL. The result has the worst outcome, the largest bound and the iterations of all sets; it
 * is verified if bounds that the host computed itself (of all sets with verify "full") do not contradict. Errors as of wr_rank;
 * WR_EINPUT names the first set that is not as said. */
wr_status wr_rank_many(const wr_matrix *A, int64_t sets, const int64_t *first, const int64_t *node,
                       const double *weight, int64_t top, int64_t *best, double *scores, double *bounds,
                       const wr_rank_options *options, wr_rank_result *result);

/* best[count] := the nodes with the greatest scores[n], greatest first, equal ones by number; count <= n. */
wr_status wr_rank_best(const double *scores, int64_t n, int64_t count, int64_t *best);

/* ---- Multiplying ---- */

typedef struct wr_operator_options {
  size_t size;
  const char *backend;   /* as in wr_solve_options                              */
  const char *device;    /* "auto" (NULL) is "cpu"; "cuda", "cuda:N"             */
  const char *precision; /* "f64" (NULL), "f32": of the stored values and x      */
  int threads;           /* 0: all                                              */
  int deterministic;     /* 1: the same bits in every run                       */
} wr_operator_options;

/* A matrix in a backend's format. */
typedef struct wr_operator wr_operator;
wr_status wr_operator_new(const wr_matrix *A, const wr_operator_options *options, wr_operator **op);
void wr_operator_free(wr_operator *op); /* NULL is fine */

/* y[rows] := alpha A x + beta y, x[columns] another array. With beta 0 the old y is not read. */
wr_status wr_operator_apply(wr_operator *op, double alpha, const double *x, double beta, double *y);

/* The same with x and y as addresses on the GPU that the operator computes on, and without the host: as those of
 * wr_solver_solve_device, with its errors. */
wr_status wr_operator_apply_device(wr_operator *op, double alpha, const double *x, double beta, double *y);

WR_C_END
#endif
