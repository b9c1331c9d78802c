/* A linear system A x = b made ready to be solved: scaled to ||b|| about 1, columns scaled if preconditioned. */
#ifndef WR_SYSTEM_H
#define WR_SYSTEM_H

#include <stdint.h>

#include "spmv/csr.h"

typedef struct wr_system {
  const wr_csr *A;          /* as parsed, borrowed                                                                */
  wr_csr *matrix;           /* what the solver multiplies with: A, or A D^-1 (right preconditioned by Jacobi)      */
  int owns_matrix;
  int64_t n;
  double *b;                /* [n] right-hand side times 2^exponent, so that its largest element is in [1/2, 1)    */
  double *guess;            /* [n] first guess in the solver's unknown u = D x 2^exponent; NULL: 0                 */
  double *inverse_diagonal; /* [n] or NULL: D = 1                                                                 */
  int exponent;
  double norm_b;            /* of the scaled b                                                                    */
  double absolute;          /* atol, scaled                                                                       */
} wr_system;

/* A must outlive the system; b and guess ([n], wr_alloc'ed, guess may be NULL) are taken over, whatever happens. b NULL: A
 * times x, x being ones, or with random 1 uniform in [0, 1) by seed. WR_EINPUT: A not square; jacobi with a zero or missing
 * diagonal element; numbers in b or guess that are not finite. WR_ENOMEM. */
wr_status wr_system_build(wr_csr *A, double *b, double *guess, int random, int64_t seed, int jacobi, double atol,
                          wr_system *system);
void wr_system_free(wr_system *system); /* a zeroed one is fine */

/* x[n]: from the solver's unknown to that of A x = b, in place. */
void wr_system_unscale(const wr_system *system, double *x);

/* v[n] := 1 or -1 by a hash of index and seed. */
void wr_hash_signs(double *v, int64_t n, int64_t seed);

#endif
