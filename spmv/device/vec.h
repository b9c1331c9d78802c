/* Vectors, scalars, and the one table of vector operations a place (host or device) has. A solver calls nothing else, so
 * it is the same C code on both; scalars live where the vectors live, and a solver waits only when it downloads.
 *
 * Arithmetic: whatever the type of the data, every sum and every scalar is f64; an element is rounded once, when stored,
 * and reductions see it as stored. The order of a sum depends on the length and a device's number of multiprocessors alone. */
#ifndef WR_VEC_H
#define WR_VEC_H

#include <float.h>
#include <stdint.h>

#include "config/status.h"

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

/* Small programs over one bank: s[dst] = s[a] op s[b]. IEEE arithmetic, NaN compares false. */
typedef enum wr_scalar_code {
  WR_S_COPY,   /* s[dst] = s[a]                            */
  WR_S_ADD,    /* s[a] + s[b]                              */
  WR_S_SUB,    /* s[a] - s[b]                              */
  WR_S_MUL,    /* s[a] * s[b]                              */
  WR_S_DIV,    /* s[a] / s[b]                              */
  WR_S_ABS,    /* |s[a]|                                   */
  WR_S_LESS,   /* s[a] < s[b] ? 1 : 0                      */
  WR_S_NONZERO,/* s[a] != 0 && s[a] is finite ? 1 : 0      */
  WR_S_AND,    /* s[a] != 0 && s[b] != 0 ? 1 : 0           */
  WR_S_OR,     /* s[a] != 0 || s[b] != 0 ? 1 : 0           */
  WR_S_NOT,    /* s[a] == 0 ? 1 : 0                        */
  WR_S_SELECT, /* s[a] != 0 ? s[b] : s[c]                  */
  WR_S_SQRT,   /* square root of s[a]                      */
  WR_S_PUSH,   /* s[c] != 0 ? s[a] + 1 : s[a], and in the former case log[s[a]] = s[b], unless that is outside the log */
  WR_S_GO      /* s[a] != 0 ? 1 : 0: at the end of a half of a loop, whether it goes on                                */
} wr_scalar_code;

typedef struct wr_scalar_op {
  uint8_t code, dst, a, b, c; /* wr_scalar_code; indices into the bank */
} wr_scalar_op;

enum { WR_MAX_SCALAR_OPS = 80 };

/* WR_PROGRAM name[] = {{code, dst, a, b, c}, ...}; in a header that C and CUDA share. */
#ifdef __cplusplus
#define WR_PROGRAM static constexpr wr_scalar_op
#else
#define WR_PROGRAM static const wr_scalar_op
#endif

/* A program that runs once the reductions of an operation are there: as a request of its own would, but the operation may do it
 * in the same pass, which is half of what either takes on a small system. ops NULL: none. */
typedef struct wr_then {
  const wr_scalar_op *ops;
  int count;
  wr_vec *bank, *log; /* as in wr_vecops.scalars */
} wr_then;

/* A program with its length, in C. */
#define WR_THEN(program, bank, log) ((wr_then){program, (int)(sizeof(program) / sizeof *(program)), bank, log})

/* out[0] = sum_k c[0][k] * in[k];  out[1] = sum_k c[1][k] * in[k] + c[1][5] * out[0] (as stored);  then the reductions.
 * With times != NULL, in[0][i] * times[i] stands wherever in[0] does in the sums. Outputs may be inputs: every element is
 * read before it is written. A reduction's vector that is an output means the new value; it must be an input, an output or
 * times. Unused inputs and outputs are NULL and come last. All vectors have one length, place and type. Then the program.
 * With a bank in `when`, and 0 there, outputs and sums stay as they are and only the program runs. */
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

/* What a loop is to be. A device that cannot decide by itself whether it goes on does a few halves too many before the host
 * has heard of the end: then `bank` and `left` are put back, and what else those halves write does not count. */
enum { WR_MAX_LEFT = 5 };

typedef struct wr_loop_request {
  int halves;         /* 1 or 2                                                                                       */
  int resident;       /* 1: it is to be resident                                                                      */
  const wr_vec *bank; /* of all scalars                                                                               */
  const wr_vec *left[2][WR_MAX_LEFT]; /* the vectors that the first and the second half leave to what follows, but for */
                                      /* the log; NULLs last                                                          */
} wr_loop_request;

/* Work that was recorded once and that a device repeats by itself: a first half, a second half, and so on, or just one of them,
 * until a WR_S_GO says 0, which it must at the end of some half.
 *
 *   loop_open(env, &request, &loop);  what is asked for from here on is recorded and not done: no upload, download, wait
 *                                     or stamp
 *   ... the first half ..., a program with WR_S_GO at its end; others in between behind loop_decide(env, loop, 0)
 *   loop_half(env, loop);           if there are two
 *   ... the second half ..., likewise
 *   loop_close(env, loop);
 *   loop_run(env, loop);      asynchronous, as often as wanted
 *   do { loop_poll(env, loop, &bank, scalars, &ended); } while (!ended);
 *   loop_free(env, loop);     after a failure of any of these too
 *
 * A resident loop is one kernel that does fused operations and, where an apply would be, products with plain rows (loop_rows).
 * On a small system that takes half to two thirds of the time. The sums of a resident loop are added up in another order. */
typedef struct wr_loop wr_loop;

/* All of these are asynchronous on a device but download and wait. They refuse (WR_EUSAGE) what does not fit: a vector of
 * another place, type or length, an alias that the operation does not allow, a scalar outside its bank. Device errors are
 * WR_EDEVICE with the kernel's or call's name. */
typedef struct wr_vecops {
  const char *name;
  wr_status (*open)(struct wr_env *env);   /* device, stream, workspace; WR_EUNAVAILABLE with the reason */
  void (*close)(struct wr_env *env);
  wr_status (*alloc)(struct wr_env *env, int64_t n, wr_type type, const char *what, wr_vec *v); /* zeroed; WR_ENOMEM  */
  void (*release)(struct wr_env *env, wr_vec *v);             /* a zeroed wr_vec is fine; zeroes it                   */
  wr_status (*upload)(struct wr_env *env, wr_vec *v, const double *values);   /* [n], each rounded to v's type        */
  wr_status (*download)(struct wr_env *env, const wr_vec *v, double *values); /* [n]; waits                           */
  wr_status (*fill)(struct wr_env *env, wr_vec *v, double value);
  /* *v := a vector of env's type with these elements, each 0 or more, that an epilogue's scale may be, and `widen` read, and
   * nothing else: reciprocals of out-degrees take one or two bytes each on a device. WR_ENOMEM */
  wr_status (*compact)(struct wr_env *env, int64_t n, const double *values, const char *what, wr_vec *v);
  wr_status (*widen)(struct wr_env *env, const wr_vec *from, wr_vec *to); /* to := the elements, one by one */
  wr_status (*fused)(struct wr_env *env, const wr_fused *f);
  /* log: an f64 vector for WR_S_PUSH, or NULL */
  wr_status (*scalars)(struct wr_env *env, wr_vec *bank, wr_vec *log, const wr_scalar_op *ops, int count);
  /* The epilogue of spmv.h as a pass of its own over y, for backends that do not fuse it. */
  wr_status (*epilogue)(struct wr_env *env, const struct wr_apply *apply);
  wr_status (*wait)(struct wr_env *env); /* until all that was asked for is done; reports what failed meanwhile */
  /* Time: stamp(slot) marks a moment in the order of the work, elapsed gives the seconds between two marks (waits). */
  wr_status (*stamp)(struct wr_env *env, int slot); /* 0 <= slot < WR_STAMPS */
  wr_status (*elapsed)(struct wr_env *env, int from, int to, double *seconds);
  wr_status (*memory)(struct wr_env *env, int64_t *free_bytes, int64_t *total_bytes);
  /* OPTIONAL, all or none (NULL): loops. WR_EUNAVAILABLE where the driver has none. */
  wr_status (*loop_open)(struct wr_env *env, const wr_loop_request *request, wr_loop **loop);
  /* While a resident one is recorded: y = alpha*A*x + beta*y with its epilogue; nnz entries. WR_EUNAVAILABLE: not in one */
  wr_status (*loop_rows)(struct wr_env *env, const struct wr_csr_view *A, int64_t nnz, const struct wr_apply *request);
  wr_status (*loop_decide)(struct wr_env *env, wr_loop *loop, int decides); /* 0: a WR_S_GO is just its result, till further */
  wr_status (*loop_half)(struct wr_env *env, wr_loop *loop);
  wr_status (*loop_close)(struct wr_env *env, wr_loop *loop);
  wr_status (*loop_run)(struct wr_env *env, wr_loop *loop);
  /* Waits a little. *ended: whether the loop is over; scalars[bank->n] := the bank as it is then, or at some moment now. */
  wr_status (*loop_poll)(struct wr_env *env, wr_loop *loop, const wr_vec *bank, double *scalars, int *ended);
  wr_status (*loop_stop)(struct wr_env *env, wr_loop *loop); /* the next WR_S_GO is the last; asynchronous */
  void (*loop_free)(struct wr_env *env, wr_loop *loop);      /* NULL is fine */
} wr_vecops;

enum { WR_STAMPS = 256 };

extern const wr_vecops wr_vecops_host;
extern const wr_vecops wr_vecops_cuda; /* without CUDA: open answers WR_EUNAVAILABLE */

/* Version of the CUDA toolkit of this build, 1000 * major + 10 * minor; 0: built without CUDA. */
int wr_cuda_toolkit(void);

/* Where and how to compute: filled in by the caller up to the line, opened by wr_env_open. One env serves one solve at a
 * time: its stream orders everything. */
typedef struct wr_env {
  wr_place place;
  int device;        /* WR_CUDA: number of the card                                                    */
  wr_type type;      /* of the vectors and the stored values                                           */
  int threads;       /* WR_HOST: 0: the processors that this process may use (OMP_NUM_THREADS, quotas) */
  int deterministic; /* 1: bit-identical results from run to run                                       */
  int need_beta;     /* 1: applies with beta != 0 will come                                            */
  int poison;        /* 1 (tests): every y_next is filled with NaN where its contents are undefined    */
  int no_conditions; /* 1 (tests): loops as with a driver whose graphs have no conditional nodes       */
  /* -- set by operations and backends */
  int then_done;     /* 1: the last one has run its `then` itself                                      */
  struct wr_resident *resident; /* the resident loop that is being recorded                            */
  /* -- set by wr_env_open */
  const wr_vecops *ops;
  void *stream;      /* WR_CUDA: cudaStream_t                                                          */
  void *state;       /* of ops                                                                         */
  char device_name[128];
} wr_env;

wr_status wr_env_open(wr_env *env);  /* WR_EUNAVAILABLE with the reason and what would help; WR_ENOMEM */
void wr_env_close(wr_env *env);      /* a zeroed or unopened one is fine */

/* A number that was never given out before in this process, from 1 on: for the ids of vectors, and for plans. */
uint64_t wr_vec_new_id(void);

/* The checks shared by the tables: WR_OK, or WR_EUSAGE with what does not fit. */
wr_status wr_fused_check(const wr_env *env, const wr_fused *f);
wr_status wr_scalars_check(const wr_env *env, const wr_vec *bank, const wr_vec *log, const wr_scalar_op *ops,
                           int count);

/* Runs what an operation that has just been asked for did not run itself. */
wr_status wr_then_run(wr_env *env, const wr_then *then);

#ifdef __cplusplus
}
#endif
#endif
