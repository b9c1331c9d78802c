/* Vectors, scalars, and the table of vector operations that each place (host or device) has. A solver calls nothing else, so it
 * is the same C code on both; scalars are stored where the vectors are, and a solver waits only when it downloads.
 *
 * Arithmetic: whatever the type of the data, every sum and every scalar is f64; an element is rounded once, when stored,
 * and reductions see it as stored. The order of a sum depends on the length and a device's number of multiprocessors alone. */
#ifndef WR_VEC_H
#define WR_VEC_H

#include <float.h>
#include <stdint.h>

#include "config/status.h"
#include "spmv/steps/step.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wr_type { WR_F32, WR_F64 } wr_type;
typedef enum wr_place { WR_HOST, WR_CUDA } wr_place;

/* Sizes of an element in bytes; the rounding unit u: 2^-24, 2^-53. */
static inline int64_t wr_type_bytes(wr_type type) { return type == WR_F32 ? 4 : 8; }
static inline double wr_type_unit(wr_type type) { return type == WR_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2; }

typedef struct wr_vec {
  int64_t n;
  wr_type type;
  wr_place place;
  uint64_t id;     /* never used twice in a process; 0: not allocated                         */
  uint64_t writes; /* grows with every operation that may change the contents                 */
  void *data;      /* [n], 128-byte aligned, padded with zeros to 128 bytes, lives at `place` */
  int whole;       /* 0; else data has whole numbers of so many bytes, whose reciprocals, rounded to type, are the */
                   /* elements; 0 stands for 0. Made by `compact`, and good for what its comment says             */
} wr_vec;

/* One f64 in a bank of them: a WR_F64 vector whose elements are scalars. bank NULL: the constant 1 where a coefficient is
 * read, "nowhere" where a result would go. */
typedef struct wr_scalar {
  wr_vec *bank;
  int index;
} wr_scalar;

/* factor * (*scalar). A coefficient whose value is 0 leaves its term out: NaN or Inf in what it would multiply does no
 * harm. With factor 0 the vector may even be missing. */
typedef struct wr_coefficient {
  double factor;
  wr_scalar scalar;
} wr_coefficient;

typedef enum wr_reduction_kind {
  WR_NO_REDUCTION,
  WR_DOT,         /* sum of u[i] * z[i]                         */
  WR_NRM2SQ,      /* sum of u[i]^2                              */
  WR_L1DIFF,      /* sum of |u[i] - z[i]|                       */
  WR_SUM,         /* sum of u[i]                                */
  WR_SUM_UNSCALED /* sum of u[i] where z[i] == 0: dangling mass */
} wr_reduction_kind;

typedef struct wr_reduction {
  wr_reduction_kind kind;
  const wr_vec *of; /* u. In an epilogue NULL: y. In a fused operation: one of its inputs or outputs             */
  const wr_vec *z;  /* WR_DOT, WR_L1DIFF: the other vector. WR_SUM_UNSCALED: the mask (in an epilogue: its scale) */
  wr_scalar into;   /* overwritten                                                                               */
} wr_reduction;

enum { WR_MAX_INPUTS = 5, WR_MAX_OUTPUTS = 2, WR_MAX_REDUCTIONS = 3 };

/* out[0] = sum_k c[0][k] * in[k];  out[1] = sum_k c[1][k] * in[k] + c[1][5] * out[0] (as stored);  then the reductions.
 * With times != NULL, in[0][i] * times[i] stands wherever in[0] does in the sums. Outputs may be inputs: every element is
 * read before it is written. A reduction's vector that is an output means the new value; it must be an input, an output or
 * times. Unused inputs and outputs are NULL and come last. All vectors have one length, place and type. Then the step.
 * With a bank in `when`, and 0 there, outputs and sums stay as they are and only the step runs, which must not change `when`.
 */
typedef struct wr_fused {
  const wr_vec *in[WR_MAX_INPUTS];
  const wr_vec *times;
  wr_vec *out[WR_MAX_OUTPUTS];
  wr_coefficient c[WR_MAX_OUTPUTS][WR_MAX_INPUTS + 1];
  wr_reduction reduce[WR_MAX_REDUCTIONS];
  wr_scalar when;
  wr_then then;
} wr_fused;

struct wr_env;
struct wr_apply;
struct wr_csr_view;
struct wr_loop;
struct wr_loop_request;

/* The operations of a place. All but download and wait are asynchronous on a device. They refuse (WR_EUSAGE) what does not fit:
 * a vector of another place, type or length, an alias that the operation does not allow, a scalar outside its bank. Device
 * errors are WR_EDEVICE with the kernel's or call's name. */
typedef struct wr_vecops {
  const char *name;
  /* REQUIRED. Device, stream, workspace; WR_EUNAVAILABLE with the reason */
  wr_status (*open)(struct wr_env *env);
  void (*close)(struct wr_env *env);
  /* REQUIRED: memory. alloc zeroes and may answer WR_ENOMEM; release takes a zeroed wr_vec, too, and zeroes its own */
  wr_status (*alloc)(struct wr_env *env, int64_t n, wr_type type, const char *what, wr_vec *v);
  void (*release)(struct wr_env *env, wr_vec *v);
  wr_status (*memory)(struct wr_env *env, int64_t *free_bytes, int64_t *total_bytes);
  /* REQUIRED: copies of n elements. upload rounds each to the type of v; download waits */
  wr_status (*upload)(struct wr_env *env, wr_vec *v, const double *values);
  wr_status (*download)(struct wr_env *env, const wr_vec *v, double *values);
  wr_status (*fill)(struct wr_env *env, wr_vec *v, double value);
  /* REQUIRED. compact: *v := a vector of env's type with these elements, each 0 or more, stored in one or two bytes an element
   * where they are reciprocals of small integers, such as those of out-degrees. Only `widen` and, as its scale, an epilogue
   * read it. WR_ENOMEM. widen: to := the elements of from */
  wr_status (*compact)(struct wr_env *env, int64_t n, const double *values, const char *what, wr_vec *v);
  wr_status (*widen)(struct wr_env *env, const wr_vec *from, wr_vec *to);
  /* REQUIRED: computing. step: then->step is not NULL. epilogue: that of apply.h as a pass of its own over y, for backends that
   * do not fuse it */
  wr_status (*fused)(struct wr_env *env, const wr_fused *f);
  wr_status (*step)(struct wr_env *env, const wr_then *then);
  wr_status (*epilogue)(struct wr_env *env, const struct wr_apply *apply);
  /* REQUIRED: time. wait: until all that was asked for is done; reports what failed meanwhile. stamp marks a moment in the
   * order of the work, 0 <= slot < WR_STAMPS; elapsed gives the seconds between two marks and waits */
  wr_status (*wait)(struct wr_env *env);
  wr_status (*stamp)(struct wr_env *env, int slot);
  wr_status (*elapsed)(struct wr_env *env, int from, int to, double *seconds);
  /* OPTIONAL, all or none (NULL: the host asks for every iteration): loops, in the order of their use (loop/loop.h).
   * WR_EUNAVAILABLE where the driver has none. loop_rows, while a resident loop is recorded: y = alpha*A*x + beta*y with its
   * epilogue, A having nnz entries; WR_EUNAVAILABLE: not in a resident loop. loop_decide, while a loop is recorded: with 0,
   * steps decide nothing from here on, until it is called with 1. loop_poll waits a little; *ended: whether the loop is over;
   * scalars[bank->n] := the bank as it is then, or was at some moment. loop_stop is asynchronous: the next step that decides
   * ends the loop. loop_free takes NULL, too */
  wr_status (*loop_open)(struct wr_env *env, const struct wr_loop_request *request, struct wr_loop **loop);
  wr_status (*loop_rows)(struct wr_env *env, const struct wr_csr_view *A, int64_t nnz, const struct wr_apply *request);
  wr_status (*loop_decide)(struct wr_env *env, struct wr_loop *loop, int decides);
  wr_status (*loop_part)(struct wr_env *env, struct wr_loop *loop);
  wr_status (*loop_close)(struct wr_env *env, struct wr_loop *loop);
  wr_status (*loop_run)(struct wr_env *env, struct wr_loop *loop);
  wr_status (*loop_poll)(struct wr_env *env, struct wr_loop *loop, const wr_vec *bank, double *scalars, int *ended);
  wr_status (*loop_stop)(struct wr_env *env, struct wr_loop *loop);
  void (*loop_free)(struct wr_env *env, struct wr_loop *loop);
} wr_vecops;

enum { WR_STAMPS = 256 };

extern const wr_vecops wr_vecops_host;
extern const wr_vecops wr_vecops_cuda; /* without CUDA: open answers WR_EUNAVAILABLE */

/* A number that was never given out before in this process, from 1 on: for the ids of vectors, and for plans. */
uint64_t wr_vec_new_id(void);

/* The checks that tables share: WR_OK, or WR_EUSAGE with what does not fit. */
wr_status wr_fused_check(const struct wr_env *env, const wr_fused *f);
wr_status wr_step_check(const struct wr_env *env, const wr_then *then);

/* Runs the step of an operation that was asked for just before, unless the operation has run it. */
wr_status wr_then_run(struct wr_env *env, const wr_then *then);

#ifdef __cplusplus
}
#endif
#endif
