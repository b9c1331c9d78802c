/* Preconditioners: z := M^-1 r, M being close to A and easily inverted. A preconditioner is one const struct
 * wr_preconditioner, as a backend is; a solver uses it through the functions below and knows no names. */
#ifndef WR_PRECOND_H
#define WR_PRECOND_H

#include <stddef.h>
#include <stdint.h>

#include "config/option.h"
#include "spmv/device/env.h"
#include "spmv/matrix/csr.h"

WR_C_BEGIN

/* z := M^-1 r, then the reductions, which see z as stored, then the step. */
typedef struct wr_precond_request {
  const wr_vec *r;                        /* [n]                                         */
  wr_vec *z;                              /* [n], another vector                         */
  wr_reduction reduce[WR_MAX_REDUCTIONS]; /* `of` NULL: z; the other vector may be r. Not WR_DOT_HASH */
  wr_then then;
} wr_precond_request;

/* What prepare finds. */
typedef struct wr_precond_info {
  double apply_bytes;  /* that one apply moves, r and z included     */
  int64_t extra_bytes; /* memory that it holds at the place of env   */
  int is_positive;     /* 1: M is known to be symmetric positive definite if A is, so that conjugate gradients may use it */
  int64_t shifted, first_shifted; /* small pivots that were shifted (spmv/precond/ilu.h), the row of A of the first from 0 */
  int64_t levels;      /* that an apply computes one after the other, or 0; levels of triangular factors                   */
  char line[240];      /* one line: what was chosen and why; without the shifts, since A may be a reordered matrix         */
} wr_precond_info;

typedef struct wr_preconditioner {
  const char *name;    /* what --precond takes  */
  const char *summary; /* one line              */
  const char *source;  /* paper, section        */
  const wr_knob *knobs; /* NULL: none           */
  size_t knobs_size, state_size; /* the functions below allocate both, zeroed */
  /* OPTIONAL: M is diagonal: inverse[n] := the diagonal of M^-1. A solver may then multiply the columns of A by it beforehand
   * and needs no apply. knobs may be NULL, as wr_system_build passes it: the defaults. WR_EINPUT naming the row of an
   * element without inverse */
  wr_status (*diagonal)(const wr_csr *A, const void *knobs, double *inverse);
  const wr_vec *(*inverse)(const void *state); /* OPTIONAL, with diagonal: that vector, as prepare has stored it */
  /* OPTIONAL, all or none (NULL: M = 1). prepare: A has its host arrays. For a part (spmv/parts/halo.h) M is that of its own
   * rows and columns, so that M of all parts is block diagonal; not collective. WR_EUNAVAILABLE with the reason and what
   * would help, also where env->watch has ended it.
   * apply: asynchronous on a device, allocates nothing, can be recorded in a loop. destroy: also after a prepare that failed */
  wr_status (*prepare)(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_precond_info *info);
  wr_status (*apply)(void *state, wr_env *env, const wr_precond_request *request);
  /* OPTIONAL: z := M^-1 r for several vectors, the columns of r and z [n * ld], row-major, ld 2, 4 or 8, if prepare found
   * need_columns of 2 or more; a column has the bits of apply. *done := 0, and nothing is done, where that is not possible */
  wr_status (*apply_many)(void *state, wr_env *env, int ld, const wr_vec *r, wr_vec *z, int *done);
  void (*destroy)(void *state, wr_env *env);
} wr_preconditioner;

extern const wr_preconditioner wr_precond_none;
extern const wr_preconditioner wr_precond_jacobi;
extern const wr_preconditioner wr_precond_ilu0;
extern const wr_preconditioner wr_precond_ilut;

/* For the apply of a diagonal M: z := inverse[i] * r[i], or z := r with NULL, and the rest of the request. */
wr_status wr_precond_scale(wr_env *env, const wr_vec *inverse, const wr_precond_request *request);

/* All of them, `none` first. */
int wr_preconditioner_count(void);
const wr_preconditioner *wr_preconditioner_at(int index);                         /* NULL: there is none of that index */
wr_status wr_preconditioner_find(const char *name, const wr_preconditioner **of); /* WR_EUSAGE, naming the closest     */

/* One that is prepared for a matrix at the place of env. */
typedef struct wr_precond wr_precond;

/* Prepares it. env must outlive it, A need not. knobs as "drop=1e-3:fill=10" or NULL. Waits. WR_EUSAGE: an unknown knob, or A
 * is not square. WR_ENOMEM; errors of prepare. */
wr_status wr_precond_create(const wr_preconditioner *of, const char *knobs, wr_csr *A, wr_env *env,
                            wr_precond **precond);

/* As wr_preconditioner.apply, its state being the caller's context. */
typedef wr_status wr_precond_function(void *context, wr_env *env, const wr_precond_request *request);

/* One by a function of the caller's. n: the length of its vectors. */
wr_status wr_precond_of_function(wr_precond_function *apply, void *context, int64_t n, wr_env *env,
                                 wr_precond **precond);

wr_status wr_precond_apply(wr_precond *precond, const wr_precond_request *request); /* WR_EUSAGE for what does not fit */
/* Several vectors at once, as wr_preconditioner.apply_many: *done is 0 where it has none. */
wr_status wr_precond_apply_many(wr_precond *precond, int ld, const wr_vec *r, wr_vec *z, int *done);
void wr_precond_destroy(wr_precond *precond);                                       /* NULL is fine                    */

const wr_precond_info *wr_precond_get_info(const wr_precond *precond);
int64_t wr_precond_size(const wr_precond *precond);  /* n */
int wr_precond_is_diagonal(const wr_precond *precond); /* 1: M is known to be diagonal, with the signs of A's diagonal */
const wr_vec *wr_precond_inverse(const wr_precond *precond); /* [n] the diagonal of M^-1; NULL: M is not known to be diagonal */
uint64_t wr_precond_id(const wr_precond *precond);   /* never used twice in a process; 0: NULL */

WR_C_END
#endif
