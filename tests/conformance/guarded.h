/* Vectors that detect accesses outside them: a part in the middle of a larger vector, with known numbers on both sides, and
 * zeros up to the next 128 bytes as the contract of wr_vec says. For host and device. */
#ifndef WR_GUARDED_H
#define WR_GUARDED_H

#include <stdint.h>

#include "spmv/device/env.h"

typedef struct guarded {
  wr_vec vec;     /* n elements, for the plan                                                               */
  wr_vec room;    /* GUARDS elements, those of vec, zeros up to 128 bytes, GUARDS elements                  */
  double guard;   /* NaN beside a vector that is read, so that stray reads are seen; a number beside others */
  double *now;    /* [room.n] as last read                                                                  */
  double *before; /* [room.n] as read before that                                                           */
} guarded;

enum { GUARDS = 64 }; /* a multiple of 128 bytes in f32 and in f64 */

wr_status guarded_open(wr_env *env, int64_t n, wr_type type, double guard, guarded *g);
void guarded_close(wr_env *env, guarded *g); /* also of a zeroed one */

/* The elements := values[n]; NULL: all := value. Restores the guards. */
wr_status guarded_set(wr_env *env, guarded *g, const double *values, double value);

/* Downloads everything to `now`; the previous contents become `before`. */
wr_status guarded_read(wr_env *env, guarded *g);

/* Downloaded elements. */
static inline const double *guarded_now(const guarded *g) { return g->now + GUARDS; }
static inline const double *guarded_before(const guarded *g) { return g->before + GUARDS; }

/* The index in vec of the first number with bits that differ from the previous reading, or GUARDED_SAME. Guards have indices
 * below 0 or from vec.n on; inside: elements are compared too. */
#define GUARDED_SAME INT64_MIN
int64_t guarded_changed(const guarded *g, int inside);

#endif
