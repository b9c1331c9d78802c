/* Vectors, and the table of vector operations that each place (host or device) has. Solvers use only this table, so their C
 * code is the same for both. Their scalars are stored at the place of the vectors (scalar.h), and a solver waits only when it
 * downloads.
 *
 * Arithmetic: whatever the type of the data, every sum and every scalar is f64; an element is rounded once, when stored,
 * and reductions see it as stored. The order of a sum depends on the length and a device's number of multiprocessors alone. */
#ifndef WR_VEC_H
#define WR_VEC_H

#include <float.h>
#include <stdint.h>

#include "config/status.h"
#include "spmv/device/scalar.h"

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
  void *data;      /* [n], 128-byte aligned, padded with zeros to 128 bytes, at `place`       */
  int reciprocal_bytes; /* 0: data has elements of `type`. Else a compact vector: data has unsigned integers of that */
                        /* many bytes; an element is the reciprocal of one, rounded to type, or 0 for 0. See compact */
  int room;        /* not 0: behind the n elements there is room for a halo; vectors made later have more (part_ops.h) */
} wr_vec;

typedef enum wr_reduction_kind {
  WR_NO_REDUCTION,
  WR_DOT,         /* sum of u[i] * z[i]                         */
  WR_NRM2SQ,      /* sum of u[i]^2                              */
  WR_L1DIFF,      /* sum of |u[i] - z[i]|                       */
  WR_SUM,         /* sum of u[i]                                */
  WR_SUM_UNSCALED, /* sum of u[i] where z[i] == 0: dangling mass */
  WR_NRM2SQ_SCALED, /* sum of (u[i] * z[i])^2                   */
  WR_DOT_HASH,     /* sum of u[i] * h[i], h being a vector of hashes (config/hash.h), which takes no memory. Of fused     */
                   /* operations alone: there the k-th sum of this kind, k from 0 to 3, has vector number 4 * hashes + k */
  WR_L1DIFF_UNSCALED /* sum of |u[i] - z[i]| / scale[i], or |u[i] - z[i]| where scale[i] is 0: the change of what was    */
                   /* multiplied by the scale to give u and z. A compact scale divides by being the integer, exactly. Of     */
                   /* epilogues alone (apply.h)                                                                              */
} wr_reduction_kind;

/* Whether a kind reads a second vector. */
static inline int wr_reduction_reads_z(wr_reduction_kind kind) {
  return kind == WR_DOT || kind == WR_L1DIFF || kind == WR_SUM_UNSCALED || kind == WR_NRM2SQ_SCALED ||
         kind == WR_L1DIFF_UNSCALED;
}

typedef struct wr_reduction {
  wr_reduction_kind kind;
  const wr_vec *of; /* u. In an epilogue NULL: y. In a fused operation: one of its inputs or outputs             */
  const wr_vec *z;  /* the second vector of kinds that have one. WR_SUM_UNSCALED: the mask (in an epilogue: its scale) */
  wr_scalar into;   /* overwritten                                                                               */
} wr_reduction;

enum {
  WR_MAX_REDUCTIONS = 3, /* of an apply, whose kernels keep all sums in registers beside a row */
  WR_MAX_INPUTS = 12, WR_MAX_OUTPUTS = 4, WR_FUSED_REDUCTIONS = 6, /* of a fused operation     */
  WR_FUSED_TERMS = WR_MAX_INPUTS + WR_MAX_OUTPUTS - 1              /* of one of its outputs    */
};

/* out[o] = sum_k c[o][k] * in[k] + sum_{q < o} c[o][WR_MAX_INPUTS + q] * out[q] (as stored);  then the reductions.
 * With times != NULL, in[0][i] * times[i] replaces in[0][i] in the sums. Outputs may be inputs: every element is read before
 * it is written. A reduction's vector must be an input, an output or times; of an output it uses the new value. Unused inputs
 * and outputs are NULL and come last. All vectors have one length, place and type. Then the step. If `when` has a bank and the
 * scalar there is 0, outputs and sums stay as they are and only the step runs; the step must not change that scalar.
 * On a device operations that read up to six vectors, have up to two outputs and three reductions are compiled for their
 * numbers of vectors; four kernels do all larger ones. */
typedef struct wr_fused {
  const wr_vec *in[WR_MAX_INPUTS];
  const wr_vec *times;
  wr_vec *out[WR_MAX_OUTPUTS];
  wr_coefficient c[WR_MAX_OUTPUTS][WR_FUSED_TERMS];
  wr_reduction reduce[WR_FUSED_REDUCTIONS];
  uint64_t hashes; /* the group of four vectors that WR_DOT_HASH takes */
  wr_scalar when;
  wr_then then;
} wr_fused;

/* The same for several vectors at once, the columns of row-major arrays [n * ld] (wr_apply_many), each with coefficients, sums
 * and a step of its own. A scalar of column c is `stride` times c elements behind that of column 0 in the bank.
 *   out[o](i, c) = sum_k c[o][k](c) * in[k](i, c), where times_first makes in[0](i, c) times[i] * in[0](i, c)
 *   scaled(i, c) = times[i] * out[0](i, c)
 *   sum[s](c)    = sum over i of u(i, c) * z(i, c), times times[i] to the power of is_scaled
 * Outputs may be inputs; a sum uses the new values of outputs. Then the step runs for the part of the bank that each column
 * has. Sums of a column depend on its elements and n alone, in all bits, on a device on ld and, within a multiply, the plan and
 * its number of columns. Elements behind the columns of a row are written, and are 0 if they were. */
enum { WR_MANY_INPUTS = 6, WR_MANY_OUTPUTS = 2, WR_MANY_SUMS = 2 };

typedef struct wr_many_sum {
  const wr_vec *u, *z; /* u NULL: no sum, and none behind it */
  int is_scaled;       /* 0, 1, or 2: of weighted rows       */
  int into;            /* index of column 0's in the bank    */
} wr_many_sum;

typedef struct wr_many_coefficient {
  double factor;       /* 0: no such term                                        */
  int scalar;          /* index of column 0's factor in the bank; 0: there is none. The first scalar is none */
} wr_many_coefficient;

typedef struct wr_fused_many {
  int columns, ld;     /* 1 <= columns <= ld; ld is 1, 2, 4 or 8                 */
  const wr_vec *in[WR_MANY_INPUTS]; /* those behind the last one are NULL       */
  wr_vec *out[WR_MANY_OUTPUTS], *scaled;
  const wr_vec *times; /* [n], or NULL                                           */
  int times_first;
  wr_many_coefficient c[WR_MANY_OUTPUTS][WR_MANY_INPUTS];
  wr_many_sum sum[WR_MANY_SUMS];
  wr_vec *bank;        /* f64                                                    */
  int64_t stride;
  const struct wr_step *step; /* NULL: none                                      */
} wr_fused_many;

/* out[i] = (c[0] * in[0][i] + c[1] * in[1][i]) / over[i], computed in f64 and rounded to the type of out. over NULL, or an
 * element of it 0: not divided. in[1] may be NULL. The only operation whose vectors may have different types. All have one
 * length; over may be compact; out is none of the others, except that it may be an input of its own type. sum, if it has a
 * bank: the sum of what out is rounded from; then out may be NULL. */
typedef struct wr_recast {
  const wr_vec *in[2], *over;
  double c[2];
  wr_vec *out;
  wr_scalar sum;
} wr_recast;

struct wr_env;
struct wr_apply;
struct wr_epilogue_many;
struct wr_csr_view;
struct wr_loop;
struct wr_loop_request;

/* The operations of a place. All but download and wait are asynchronous on a device. WR_EUSAGE: a
 * vector of another place, type or length, an alias that the operation does not allow, a scalar outside its bank. WR_EDEVICE,
 * with the name of the kernel or call: a device error. */
typedef struct wr_vecops {
  const char *name;
  /* REQUIRED. Device, stream, workspace; WR_EUNAVAILABLE with the reason */
  wr_status (*open)(struct wr_env *env);
  void (*close)(struct wr_env *env);
  /* REQUIRED: memory. alloc sets the elements to 0; WR_ENOMEM. release also takes a zeroed wr_vec, and zeroes the struct */
  wr_status (*alloc)(struct wr_env *env, int64_t n, wr_type type, const char *what, wr_vec *v);
  void (*release)(struct wr_env *env, wr_vec *v);
  wr_status (*memory)(struct wr_env *env, int64_t *free_bytes, int64_t *total_bytes);
  /* REQUIRED: copies of n elements. upload rounds each to the type of v; download waits */
  wr_status (*upload)(struct wr_env *env, wr_vec *v, const double *values);
  wr_status (*download)(struct wr_env *env, const wr_vec *v, double *values);
  wr_status (*fill)(struct wr_env *env, wr_vec *v, double value);
  /* REQUIRED: arrays of a caller's own at this place, of f64, as v has to be. check_address: WR_EUSAGE if that is no memory of
   * this very device; role says what it is. take: v := the n elements there, after all that was begun on the default stream.
   * give: the n elements there := v, after that, too; waits */
  wr_status (*check_address)(struct wr_env *env, const void *address, const char *role);
  wr_status (*take)(struct wr_env *env, wr_vec *v, const double *address);
  wr_status (*give)(struct wr_env *env, const wr_vec *v, double *address);
  /* REQUIRED. compact: *v := a vector of env's type with these elements, each 0 or more, stored in 1, 2 or 4 bytes each if
   * all are reciprocals of small integers such as out-degrees. Only `widen`, and an epilogue as its scale, may read a compact
   * vector. WR_ENOMEM. widen: to := the elements of from */
  wr_status (*compact)(struct wr_env *env, int64_t n, const double *values, const char *what, wr_vec *v);
  wr_status (*widen)(struct wr_env *env, const wr_vec *from, wr_vec *to);
  /* REQUIRED: computing. step: then->step is not NULL. epilogue: that of apply.h as a separate pass over y, for backends
   * without WR_CAP_EPILOGUE. recast: between types */
  wr_status (*fused)(struct wr_env *env, const wr_fused *f);
  wr_status (*step)(struct wr_env *env, const wr_then *then);
  wr_status (*epilogue)(struct wr_env *env, const struct wr_apply *apply);
  wr_status (*recast)(struct wr_env *env, const wr_recast *recast);
  /* REQUIRED: for the greatest elements of a long vector (solvers/candidates.h), in pieces of `length` elements. maxima: to[c],
   * f64, := the greatest of v[i] / scale[i], or of v[i] where scale[i] is 0, over piece c, with a relative error of 4 units of
   * v's type at most; -infinity if all are NaN. The scale may be compact. pick: the k-th piece of `to` := piece pieces[k] of v,
   * with zeros behind its end; pieces has f64 numbers, and `to` room for as many pieces. to is none of the others */
  wr_status (*maxima)(struct wr_env *env, const wr_vec *v, const wr_vec *scale, int64_t length, wr_vec *to);
  wr_status (*pick)(struct wr_env *env, const wr_vec *v, int64_t length, const wr_vec *pieces, wr_vec *to);
  /* REQUIRED: a column of several vectors in row-major order (wr_apply_many): to[i * to_ld + to_column] :=
   * from[i * from_ld + from_column] for each row i. from has from_ld elements a row, `to` has to_ld, both for as many rows */
  wr_status (*copy_column)(struct wr_env *env, const wr_vec *from, int64_t from_ld, int64_t from_column, wr_vec *to,
                           int64_t to_ld, int64_t to_column);
  /* REQUIRED: to[n] := column `column` of from [n * ld], which becomes 0 */
  wr_status (*move_column)(struct wr_env *env, wr_vec *from, int64_t ld, int64_t column, wr_vec *to);
  /* REQUIRED: the epilogue of several vectors (apply.h). start_column: column c of y, which is 0, := plus * v_c, scaled, and
   * mass[c] := its rank of unscaled rows; it touches the entries of v_c alone, and reads neither `times` nor x */
  wr_status (*epilogue_many)(struct wr_env *env, const struct wr_epilogue_many *epilogue);
  wr_status (*start_column)(struct wr_env *env, const struct wr_epilogue_many *epilogue, int c);
  /* REQUIRED: a fused operation of several vectors */
  wr_status (*fused_many)(struct wr_env *env, const wr_fused_many *f);
  /* REQUIRED: time. wait: until all operations are done; returns an error of any of them. stamp marks a moment between two
   * operations, 0 <= slot < WR_STAMPS; elapsed waits and gives the seconds between two stamps */
  wr_status (*wait)(struct wr_env *env);
  wr_status (*stamp)(struct wr_env *env, int slot);
  wr_status (*elapsed)(struct wr_env *env, int from, int to, double *seconds);
  /* OPTIONAL, all or none (NULL: the host calls the operations of every iteration): loops, in the order of their use
   * (loop/loop.h). WR_EUNAVAILABLE: the driver has no loops. loop_rows, while a resident loop is recorded: y = alpha*A*x +
   * beta*y with its epilogue, A having nnz entries, multiplied in blocks of side x side; WR_EUNAVAILABLE: not possible in a
   * resident loop. loop_decide(0), while a
   * loop is recorded: steps recorded from here on do not end the loop, until loop_decide(1). loop_poll waits up to 0.05 s;
   * *ended: whether the loop has ended; scalars[bank->n] := the bank at the end or, before, at some moment. loop_stop is
   * asynchronous: the next step that decides ends the loop. loop_free also takes NULL */
  wr_status (*loop_open)(struct wr_env *env, const struct wr_loop_request *request, struct wr_loop **loop);
  wr_status (*loop_rows)(struct wr_env *env, const struct wr_csr_view *A, int64_t nnz, int side,
                         const struct wr_apply *request);
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
extern const wr_vecops wr_vecops_cuda; /* in a build without CUDA, open returns WR_EUNAVAILABLE */

/* A new number, unique in this process, 1 or more: for the ids of vectors and the generations of plans. */
uint64_t wr_vec_new_id(void);

/* Checks of arguments for both tables. WR_EUSAGE names the argument that does not fit. */
wr_status wr_fused_check(const struct wr_env *env, const wr_fused *f);
wr_status wr_step_check(const struct wr_env *env, const wr_then *then);
wr_status wr_recast_check(const struct wr_env *env, const wr_recast *r);

/* Runs the step of the last operation, unless the operation has run it (env->then_done). */
wr_status wr_then_run(struct wr_env *env, const wr_then *then);

#ifdef __cplusplus
}
#endif
#endif
