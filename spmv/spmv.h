/* THE interface: y = alpha*A*x + beta*y with an epilogue, by any backend. Read this file first.
 *
 *   wr_env env = {.place = WR_CUDA, .type = WR_F64};            where and how
 *   wr_env_open(&env);
 *   wr_backend_find("merbit", &backend);                        what
 *   wr_plan_create(backend, "sigma=11", A, &env, &plan);        checks and estimates: cheap, nothing is built
 *   wr_plan_prepare(plan);                                      builds the format
 *   wr_plan_apply(plan, &(wr_apply){.alpha = 1, .x = &x, .y = &y});   as often as wanted
 *   wr_plan_destroy(plan);
 *
 * A caller uses the wr_plan functions; they check every argument, keep the bookkeeping of y_next and supply what a backend
 * does not do itself. A backend is one const struct wr_backend. What is asked of one multiply: apply.h; vectors, and where to
 * compute: device/vec.h, device/env.h. Terms that are windrow's own are explained in docs/glossary.md. */
#ifndef WR_SPMV_H
#define WR_SPMV_H

#include <stdint.h>
#include <stdio.h>

#include "config/option.h"
#include "config/status.h"
#include "spmv/apply.h"
#include "spmv/device/env.h"
#include "spmv/device/env.h"
#include "spmv/matrix/csr.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {               /* what a backend can do; the core does the rest, or refuses                        */
  WR_CAP_BETA = 1,        /* beta != 0 in the same pass                                                  */
  WR_CAP_Y_NEXT = 2,      /* prepares y_next                                                             */
  WR_CAP_EPILOGUE = 4,    /* fuses the epilogue                                                          */
  WR_CAP_PATTERN = 8,     /* takes val == NULL                                                           */
  WR_CAP_RECTANGULAR = 16,
  WR_CAP_F32 = 32,
  WR_CAP_F64 = 64,
  WR_CAP_FINITE_X = 128,  /* a limit, not a capability, and for the vendor's kernels alone: they multiply padding by x,  */
                          /* so Inf or NaN in x may reach any row. Solvers keep x finite                                 */
  WR_CAP_DEVICE_ROWS = 256, /* but for update_values, decode and advise reads no host array of the matrix, only its      */
                          /* device view, sizes, and whether val is NULL: one made on the device need not come to the host */
  /* What programs and reports go by; the core does not look at these. */
  WR_CAP_PLAIN_ROWS = 512, /* a device's kernels read col and val in the order of CSR, each entry once                   */
  WR_CAP_VENDOR = 1024,   /* kernels of the vendor's library: the baseline of speed-ups                                  */
  WR_CAP_YARDSTICK = 2048 /* made for correct sums and not for speed: spmv times it only where -k names it               */
};

/* A plan's estimates, and after prepare its exact sizes. */
typedef struct wr_plan_info {
  double apply_bytes;     /* moved by one apply without epilogue: format, x once, y once         */
  int64_t format_bytes;   /* what the format itself takes, for the byte model                    */
  int64_t extra_bytes;    /* memory that this plan allocates where it runs                       */
  int64_t borrowed_bytes; /* of the matrix's own arrays that it uses                             */
  int deterministic;      /* 1: with these knobs every apply gives the same bits                 */
  double sum_unit;        /* rounding unit in which rows are summed; 0: f64's 2^-53              */
  double term_unit;       /* how much each term may be rounded besides, relative to it; 0: none  */
  int chosen[2];          /* what a backend's plan settles for its prepare: the sides of a block */
  char line[160];         /* one line: what was chosen and why                                   */
  const char *better;     /* a backend that would serve this matrix better; NULL: nobody knows one */
  char advice[160];       /* why: "merbit reads less: blocks of 2 x 2: fill 3.10, ..."           */
} wr_plan_info;

/* What a backend gets in apply: the checked request, and what the bookkeeping found. */
typedef struct wr_apply_args {
  wr_apply request;
  int y_prepared; /* 1: y is as this plan's apply left it in y_next. 0: clear what must be clear */
} wr_apply_args;

typedef struct wr_backend {
  const char *name;    /* what -k takes                       */
  const char *summary; /* one line                            */
  const char *source;  /* the paper, or whose library         */
  wr_place place;
  unsigned caps;
  const wr_knob *knobs; /* NULL: none                         */
  size_t knobs_size, state_size; /* the core allocates both, zeroed */
  /* REQUIRED. state: [state_size]; knobs: [knobs_size], parsed and in range; A NULL in check: in general.       */
  wr_status (*check)(const wr_env *env, const wr_csr *A, const void *knobs); /* can it run? WR_EUNAVAILABLE with  */
                                                                             /* why, and what would help          */
  wr_status (*plan)(const wr_env *env, const wr_csr *A, const void *knobs, wr_plan_info *info);
  wr_status (*prepare)(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_plan_info *info);
  wr_status (*apply)(void *state, wr_env *env, const wr_apply_args *args); /* asynchronous; never allocates or waits */
  void (*destroy)(void *state, wr_env *env); /* also after a prepare that failed, and with a zeroed state */
  /* OPTIONAL */
  wr_status (*decode)(void *state, wr_env *env, wr_csr **A); /* the format back to rows: the round-trip test */
  wr_status (*update_values)(void *state, wr_env *env, wr_csr *A, int *moved); /* A: the same pattern, its values new;     */
                                         /* nothing is under way. Writes them to where the old ones are. *moved := 1 when  */
                                         /* arrays that kernels were given are others now, so that recorded applies are    */
                                         /* void. WR_EUNAVAILABLE: this format cannot take these values: the core prepares */
                                         /* anew. After another error it destroys the state                                */
  wr_csr_view (*rows)(const void *state); /* on a device: the matrix's plain rows, if the plan has borrowed them: what a  */
                                          /* resident loop over a small system multiplies with (vec.h, loop_open)         */
  void (*advise)(const wr_env *env, const wr_csr *A, wr_plan_info *info); /* better and advice, where to know them takes */
                                         /* time that no apply needs; others say it in plan. A has its host arrays       */
} wr_backend;

/* The registry: rows of backends.def, in its order; also those that are not built or not there yet, whose check says so. */
int wr_backend_count(void);
const wr_backend *wr_backend_at(int index);
wr_status wr_backend_find(const char *name, const wr_backend **backend); /* WR_EUSAGE, naming the closest */

/* What a program takes when the user names no backend: the first of a short list that this build holds. NULL: this build
 * has none of them for that place. */
const wr_backend *wr_backend_default(wr_place place);

/* Every name with what it is, what it needs and, if it is not available, why. */
void wr_backends_print(FILE *out);

typedef struct wr_plan wr_plan;

/* Checks that the backend can serve A under env and makes the estimates. env must outlive the plan. The plan holds A, whatever
 * the backend: wr_csr_free(A) may come before wr_plan_destroy, and then takes effect with that. Until then nothing but its
 * values may change, and these are told by wr_plan_update_values. knobs as "sigma=11:layout=paper" or NULL. WR_EUSAGE: unknown
 * knob or value. WR_EUNAVAILABLE: the backend cannot, with the reason. */
wr_status wr_plan_create(const wr_backend *backend, const char *knobs, wr_csr *A, wr_env *env, wr_plan **plan);
wr_status wr_plan_prepare(wr_plan *plan); /* waits; WR_ENOMEM, WR_EDEVICE, WR_ENUMERIC (a value does not fit env's type) */

/* Asynchronous on a device. WR_EUSAGE for what does not fit; nothing is computed then. */
wr_status wr_plan_apply(wr_plan *plan, const wr_apply *request);

/* Forgets what y_next of the last apply was prepared for, and its promise. */
void wr_plan_forget(wr_plan *plan);
void wr_plan_destroy(wr_plan *plan); /* NULL is fine */

wr_status wr_plan_decode(wr_plan *plan, wr_csr **A);          /* WR_EUNAVAILABLE where the backend has none */

/* The same pattern with new values: the plan's own matrix, whose values were changed in place, or another one, which then takes
 * its place and is held instead of it. Values alone are uploaded, into the arrays where the old
 * ones were if the matrix has been on the device before; a plan that borrows these arrays, too, sees them from then on, and any
 * other plan of that matrix once it is told by this function. A backend that cannot keep its format prepares anew. The next
 * apply is as if there was none before. Waits. WR_EUSAGE, and nothing has changed: other sizes, entries at other places, values
 * where there were none or the other way round. Errors of wr_plan_prepare: the plan is not prepared, and of the matrix that it
 * was of before. */
wr_status wr_plan_update_values(wr_plan *plan, wr_csr *A);

/* A number that no other plan of the process has, nor this one at another time, from prepare until arrays that its applies gave
 * to kernels may have been replaced or freed: by update_values, by another prepare. What has recorded applies, as a CUDA graph
 * does, records them anew when the number is another. 0: not prepared. */
uint64_t wr_plan_generation(const wr_plan *plan);

const wr_backend *wr_plan_backend(const wr_plan *plan);
const wr_plan_info *wr_plan_get_info(const wr_plan *plan);
const wr_plan_info *wr_plan_advise(wr_plan *plan); /* the same, with advice: takes a look at the matrix, up to a few ms */
const char *wr_plan_knobs(const wr_plan *plan); /* "alg=1": every knob with its effective value */

/* Apply times: from now on every apply is stamped. collect waits for those in flight; call it where the solver waits
 * anyway. Seconds of each apply since the start, in order (the first WR_MAX_TIMES of them), and the sum of all. */
enum { WR_MAX_TIMES = 65536 };
typedef struct wr_plan_times {
  int64_t applies; /* counted                                  */
  int64_t count;   /* in `seconds`: min(applies, WR_MAX_TIMES) */
  const double *seconds;
  double total;    /* of all applies */
} wr_plan_times;
wr_status wr_plan_time_start(wr_plan *plan);
wr_status wr_plan_time_collect(wr_plan *plan);
int wr_plan_time_pause(wr_plan *plan, int paused); /* 1: applies are not stamped for a while. Returns what it was */
wr_plan_times wr_plan_get_times(const wr_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
