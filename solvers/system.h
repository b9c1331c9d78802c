/* A linear system A x = b prepared for a solver: b scaled to a norm of about 1, A if its values are very large or small, and
 * its columns if preconditioned. */
#ifndef WR_SYSTEM_H
#define WR_SYSTEM_H

#include <stdint.h>

#include "solvers/precond.h"
#include "spmv/matrix/csr.h"

typedef struct wr_system {
  const wr_csr *A;          /* as parsed, borrowed                                                                */
  wr_csr *matrix;           /* what the solver multiplies with: A D^-1 or 2^matrix_exponent A, or A itself         */
  int owns_matrix;
  int64_t n;
  double *b;                /* [n] right-hand side times 2^exponent, so that its largest element is in [1/2, 1)    */
  double *guess;            /* [n] first guess of the solver's unknown u; NULL: 0                                 */
  double *inverse_diagonal; /* [n] or NULL: D = 1. D is a diagonal right preconditioner, as Jacobi's            */
  int exponent;
  int matrix_exponent;      /* 0 with D, and while the largest |value| of A is from 2^-WR_SYSTEM_RANGE to    */
                            /* 2^WR_SYSTEM_RANGE; else that value times 2^matrix_exponent is in [1/2, 1)          */
  double norm_b;            /* of the scaled b                                                                    */
  double absolute;          /* atol, scaled                                                                       */
  /* for bounds on rounding */
  double row_norm;          /* of matrix: 2-norm of the vector of its rows' sums of |values|                      */
  int64_t longest_row;      /* entries                                                                            */
  double largest, smallest; /* |values| other than 0 of A D^-1, not scaled; 0 and 0 if there are none             */
} wr_system;

/* The matrix is scaled, which takes a copy, if its largest value is beyond 2^WR_SYSTEM_RANGE or below its inverse. A square of
 * ||A p|| then stays far from the ends of f64, and an element of A p or of the solution from those of f32. */
enum { WR_SYSTEM_RANGE = 40 };

/* A must outlive the system; b and guess ([n], wr_alloc'ed, guess may be NULL) are taken over, whatever happens. b NULL: A
 * times x, x being ones, or with random 1 uniform in [0, 1) by seed. scaling: a diagonal preconditioner M by which the columns
 * are scaled, or NULL: none. WR_EINPUT: A not square; a diagonal of M without an inverse, or a value that overflows when its
 * column is scaled; numbers in b or guess that are not finite. WR_EUSAGE: scaling is not diagonal. WR_ENOMEM. */
wr_status wr_system_build(wr_csr *A, double *b, double *guess, int random, int64_t seed,
                          const wr_preconditioner *scaling, double atol, wr_system *system);
void wr_system_free(wr_system *system); /* a zeroed one is fine */

/* x[n]: from the solver's unknown u to that of A x = b, in place: x = 2^(matrix_exponent - exponent) D^-1 u. */
void wr_system_unscale(const wr_system *system, double *x);

/* Entries of A that matrix holds as numbers below the normal ones of f32, 1.2e-38: they keep few digits there, or none. */
int64_t wr_system_below_f32(const wr_system *system);

/* v[n] := numbers of [-1, -1/2) and [1/2, 1) by a hash of index and seed. Unlike signs alone they are orthogonal to hardly any
 * vector of a few small integers. */
void wr_hash_shadow(double *v, int64_t n, int64_t seed);

#endif
