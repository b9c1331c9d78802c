/* THE interface: y = alpha*A*x + beta*y with an epilogue, by any backend. Read this file first.
 *
 *   wr_env env = {.place = WR_CUDA, .type = WR_F64};            where and how
 *   wr_env_open(&env);
 *   wr_backend_find("merbit", &backend);                        what
 *   wr_plan_create(backend, "sigma=11", A, &env, &plan);        checks and estimates: cheap, nothing is built
 *   wr_plan_prepare(plan);                                      builds the format
 *   wr_plan_apply(plan, &(wr_apply){.alpha = 1, .x = &x, .y = &y});   as often as needed
 *   wr_plan_apply_many(plan, &(wr_apply_many){.columns = 3, .alpha = 1, .x = &X, .y = &Y, .ldx = 3, .ldy = 3});
 *                                 3 vectors at once, row-major in X and Y; needs env.need_columns = 3 before prepare; at most 8
 *   wr_plan_destroy(plan);
 *
 * Callers use the wr_plan functions. These check every argument, track which vector is prepared as y_next, and do in further
 * passes what a backend cannot do in its own. A backend is one const struct wr_backend. The arguments of a multiply: apply.h;
 * vectors: device/vec.h; place, type and threads: device/env.h. docs/glossary.md explains windrow's own terms. */
#ifndef WR_SPMV_H
#define WR_SPMV_H

#include <stdint.h>
#include <stdio.h>

#include "config/option.h"
#include "config/status.h"
#include "spmv/device/apply.h"
#include "spmv/device/env.h"
#include "spmv/device/vec.h"
#include "spmv/matrix/csr.h"

WR_C_BEGIN

enum {               /* what a backend can do; spmv.c does the rest in further passes, or refuses the matrix */
  WR_CAP_BETA = 1,        /* beta != 0 in the same pass                                                  */
  WR_CAP_Y_NEXT = 2,      /* clears y_next for the next apply (wr_apply)                                 */
  WR_CAP_EPILOGUE = 4,    /* does the epilogue in the same pass                                          */
  WR_CAP_PATTERN = 8,     /* multiplies with a pattern: val == NULL, each entry is 1                     */
  WR_CAP_RECTANGULAR = 16,
  WR_CAP_F32 = 32,
  WR_CAP_F64 = 64,
  WR_CAP_FINITE_X = 128,  /* a limit, set for cuSPARSE's kernels alone: they multiply padding by x, so Inf or NaN in x   */
                          /* may reach any row. Solvers keep x finite                                                    */
  WR_CAP_DEVICE_ROWS = 256, /* plan, prepare and apply read only the matrix's device view, its sizes and whether val is  */
                          /* NULL, so a matrix made on the device is not copied to the host for them                     */
  /* For programs and reports; the core does not read these. */
  WR_CAP_PLAIN_ROWS = 512, /* a device's kernels read col and val in the order of CSR, each entry once                   */
  WR_CAP_VENDOR = 1024,   /* kernels of the vendor's library: the baseline of speed-ups                                  */
  WR_CAP_YARDSTICK = 2048, /* made for correct sums and not for speed: spmv times it only where -k names it              */
  WR_CAP_FEW_MATRICES = 4096 /* a limit: check and prepare refuse many matrices, by where their entries are              */
};

/* What a backend's tuner did in prepare; all 0 without one. */
typedef struct wr_tuning {
  char knobs[128];         /* the configuration as knobs, to be given in place of tuning; "": nothing was tuned            */
  const char *from;        /* env's tune_cache, if the configuration is from there and nothing was timed; NULL: it was timed */
  int tried;               /* configurations timed                                                                          */
  double seconds;          /* that timing them took, their formats included                                                 */
  double multiply_seconds; /* of one multiply by the configuration                                                          */
  char warning[384];       /* a sentence: why the tune_cache, or what it says of this matrix, was not used; "": there is none */
} wr_tuning;

/* A plan's estimates, and after prepare its exact sizes. */
typedef struct wr_plan_info {
  double apply_bytes;     /* moved by one apply without epilogue: format, x once, y once         */
  int64_t format_bytes;   /* of the format itself, which one apply reads                         */
  int64_t extra_bytes;    /* memory that this plan allocates at its place (host or device)       */
  int64_t borrowed_bytes; /* of the matrix's arrays that the plan uses without a copy            */
  int deterministic;      /* 1: with these knobs every apply gives the same bits                 */
  double sum_unit;        /* rounding unit in which rows are summed; 0: f64's 2^-53              */
  double term_unit;       /* rounding unit of each product besides, before it is added; 0: none */
  wr_exchange exchange;   /* of a part on a device, after prepare: peers, NCCL or hosts; else auto */
  int chosen[2];          /* sides of a block, chosen by the backend's plan for its prepare      */
  char line[200];         /* one line: what was chosen and why                                   */
  wr_tuning tuning;
  const char *better;     /* name of a backend that would read fewer bytes; NULL: none is known    */
  char advice[160];       /* why: "merbit reads less: blocks of 2 x 2: fill 3.10, ..."           */
} wr_plan_info;

/* What a backend gets in apply: the checked request, and whether its y is prepared. */
typedef struct wr_apply_args {
  wr_apply request;
  int y_prepared; /* 1: y holds what this plan's last apply wrote to it as y_next. 0: the backend clears y itself */
} wr_apply_args;

typedef struct wr_backend {
  const char *name;    /* what -k takes                       */
  const char *summary; /* one line                            */
  const char *source;  /* the paper, or the library and its vendor */
  wr_place place;
  unsigned caps;
  const wr_knob *knobs; /* NULL: none                         */
  size_t knobs_size, state_size; /* spmv.c allocates both, zeroed */
  /* REQUIRED. state: [state_size]; knobs: [knobs_size], parsed and in range. check with A NULL: for any matrix. */
  wr_status (*check)(const wr_env *env, const wr_csr *A, const void *knobs); /* WR_OK: it can run; else           */
                                                       /* WR_EUNAVAILABLE with the reason and what would help     */
  wr_status (*plan)(const wr_env *env, const wr_csr *A, const void *knobs, wr_plan_info *info);
  wr_status (*prepare)(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_plan_info *info);
  wr_status (*apply)(void *state, wr_env *env, const wr_apply_args *args); /* asynchronous; never allocates or waits */
  void (*destroy)(void *state, wr_env *env); /* also after a prepare that failed, and with a zeroed state */
  /* OPTIONAL */
  wr_status (*decode)(void *state, wr_env *env, wr_csr **A); /* the format back to rows: the round-trip test */
  wr_status (*update_values)(void *state, wr_env *env, wr_csr *A, int *moved); /* A: the same pattern, its values new. No  */
                                         /* apply is running. Overwrites the old values. *moved := 1 if an array that      */
                                         /* kernels get as an argument has another address now, which makes recorded       */
                                         /* applies invalid. WR_EUNAVAILABLE: the format cannot take these values, and     */
                                         /* spmv.c prepares anew. After another error spmv.c destroys the state            */
  wr_status (*apply_many)(void *state, wr_env *env, const wr_apply_many *request); /* as apply, always with the same bits;  */
                                         /* any beta, ldx and ldy, and up to env->need_columns columns, for which prepare  */
                                         /* has made room. NULL: spmv.c multiplies column by column                        */
  wr_csr_view (*rows)(const void *state); /* on a device: the matrix's plain rows, if the plan has borrowed them. A        */
                                          /* resident loop over a small system copies them (loop/loop.h)                  */
  int (*side)(const void *state); /* on a device, without rows: rows and columns of the blocks in which a resident loop is */
                                  /* to multiply; 0: none that it has                                                     */
  void (*advise)(const wr_env *env, const wr_csr *A, wr_plan_info *info); /* sets better and advice by an analysis that  */
                                         /* is too slow for plan. A has its host arrays                                  */
} wr_backend;

/* The registry: rows of backends.def, in its order. A backend that is not built or not written has a row too; its check fails
 * with the reason. */
int wr_backend_count(void);
const wr_backend *wr_backend_at(int index);
wr_status wr_backend_find(const char *name, const wr_backend **backend); /* WR_EUSAGE, naming the closest */

/* The backend that a program uses when the user names none: the first of a short list that is built. NULL: none of the list is
 * built for that place. */
const wr_backend *wr_backend_default(wr_place place);

/* The same for work that multiplies several vectors at once, of a matrix without values above all (docs/lane_csr.md). */
const wr_backend *wr_backend_default_many(wr_place place);

/* Prints every backend with its summary, source, knobs and limits and, if it is not available, the reason. */
void wr_backends_print(FILE *out);

typedef struct wr_plan wr_plan;

/* Checks that the backend can multiply with A under env and makes the estimates. env must outlive the plan. The plan holds A:
 * wr_csr_free(A) may be called before wr_plan_destroy, and the memory stays until then. Of A only the values may change, and
 * wr_plan_update_values must be called after that. knobs as "sigma=11:layout=paper" or NULL. WR_EUSAGE: unknown knob or value.
 * WR_EUNAVAILABLE, with the reason: the backend cannot multiply with A. */
wr_status wr_plan_create(const wr_backend *backend, const char *knobs, wr_csr *A, wr_env *env, wr_plan **plan);
/* Builds the format, and waits. WR_ENOMEM, WR_EDEVICE, WR_ENUMERIC (a value does not fit env's type); WR_EUNAVAILABLE, with the
 * reason, if only the whole matrix shows that the backend cannot multiply with it, where create had looked at a sample. */
wr_status wr_plan_prepare(wr_plan *plan);

/* Asynchronous on a device. WR_EUSAGE, and nothing is computed, if a vector or scalar does not fit. */
wr_status wr_plan_apply(wr_plan *plan, const wr_apply *request);

/* Several vectors at once (wr_apply_many), asynchronous on a device: each column of Y as by wr_plan_apply of that column of X,
 * within the same error bound, but not always with the same bits. env->need_columns must have been at least request->columns
 * when the plan was prepared. The effect of an earlier y_next ends. Where the backend has no apply_many, or devices exchange
 * the halo of a part, each column takes a copy of a column of X, an apply, and a copy to Y (before that one from Y if beta is
 * not 0), through two vectors of the plan; so k columns take no less time than k applies. WR_EUSAGE, and nothing is computed,
 * if a vector or number does not fit. WR_EUNAVAILABLE while a resident loop is recorded. */
wr_status wr_plan_apply_many(wr_plan *plan, const wr_apply_many *request);

/* Bytes that one such call moves with beta 0: the format once, and X and Y once; or, column by column, as many as `columns`
 * applies and the copies. columns: 1 to WR_MAX_COLUMNS, else 0 is returned, as for plan NULL. */
double wr_plan_many_bytes(const wr_plan *plan, int columns);

/* Ends the effect of the last apply's y_next: the next apply may have any y and any beta. */
void wr_plan_forget(wr_plan *plan);
void wr_plan_destroy(wr_plan *plan); /* NULL is fine */

wr_status wr_plan_decode(wr_plan *plan, wr_csr **A);          /* WR_EUNAVAILABLE where the backend has none */

/* New values for the same pattern. A is the plan's own matrix after its values were changed in place, or another matrix, which
 * the plan then holds instead. Only values are uploaded, into the arrays of the old ones if the matrix has been on the device
 * before. Another plan that borrows these arrays sees the new values at once, any other plan of that matrix sees them once
 * this function is called for it. A backend that cannot keep its format prepares anew. The effect of an earlier y_next ends.
 * Waits. WR_EUSAGE, and nothing has changed: A has other sizes, entries at other places, or values where the plan's matrix
 * is a pattern, or the reverse. After an error of wr_plan_prepare the plan is not prepared and holds its earlier matrix. */
wr_status wr_plan_update_values(wr_plan *plan, wr_csr *A);

/* Swaps backend and format of two prepared plans of the same matrix and env while no multiply runs: applies of `plan` are
 * then by what `other` was. Times of applies stay with each, the effect of an earlier y_next ends, and generations differ.
 * WR_EUNAVAILABLE: `other` rounds more (sum_unit, term_unit), which bounds that were made for `plan` leave no room for. */
wr_status wr_plan_swap(wr_plan *plan, wr_plan *other);

/* A number, unique in the process, that prepare sets and that changes when arrays that applies pass to kernels may have been
 * replaced or freed (update_values, another prepare). Code that has recorded applies, in a CUDA graph for instance, must record
 * them again when the number differs. 0: not prepared. */
uint64_t wr_plan_generation(const wr_plan *plan);

/* Rows and columns of the blocks in which a resident loop multiplies with the plan's matrix; 0: there can be no such loop, or
 * the plan is not prepared. */
int wr_plan_resident_side(const wr_plan *plan);

const wr_backend *wr_plan_backend(const wr_plan *plan);
const wr_plan_info *wr_plan_get_info(const wr_plan *plan);
const wr_plan_info *wr_plan_advise(wr_plan *plan); /* the same, with advice: analyses the matrix, up to a few ms */
const char *wr_plan_knobs(const wr_plan *plan); /* "alg=1": every knob with its effective value */

/* Times of applies: after start every apply is stamped, an apply_many as one. collect waits for the applies that are running,
 * so call it where the solver waits anyway. get_times: seconds of each apply since start, in order (at most WR_MAX_TIMES), and
 * the sum of all. */
enum { WR_MAX_TIMES = 65536 };
typedef struct wr_plan_times {
  int64_t applies; /* counted                                  */
  int64_t count;   /* in `seconds`: min(applies, WR_MAX_TIMES) */
  const double *seconds;
  double total;    /* of all applies */
} wr_plan_times;
wr_status wr_plan_time_start(wr_plan *plan);
wr_status wr_plan_time_collect(wr_plan *plan);
int wr_plan_time_pause(wr_plan *plan, int paused); /* 1: applies are not stamped until 0. Returns the old value */
wr_plan_times wr_plan_get_times(const wr_plan *plan);

WR_C_END
#endif
