/* A linear system A x = b prepared for a solver: b scaled to a norm of about 1; A if its values are very large or small, or its
 * rows reordered and scaled with its columns; and its columns if preconditioned.
 *
 * With a scaling, the solver's matrix is R P A C D^-1, where P reorders rows, and R and C are diagonal, of powers of two. Its
 * unknown u and its right-hand side rhs are
 *
 *     matrix u = rhs,   rhs = 2^(exponent + rhs_exponent) R P b,   x = 2^-(exponent + rhs_exponent) C D^-1 u
 *
 * Without one, R = 2^matrix_exponent, rhs_exponent = -matrix_exponent, P = C = 1. Norms are of rows of A, in the units of the
 * scaled b. */
#ifndef WR_SYSTEM_H
#define WR_SYSTEM_H

#include <stdint.h>

#include "solvers/precond.h"
#include "solvers/scaling/scaling.h"
#include "spmv/matrix/csr.h"

WR_C_BEGIN

struct wr_comm;

typedef struct wr_system {
  wr_csr *A;                /* as parsed, borrowed; only its device view may be dropped                           */
  wr_csr *matrix;           /* what the solver multiplies with; A itself where nothing is scaled                   */
  int owns_matrix;
  int positive;             /* set by a caller that has tested matrix, after the system is built: 1: it is         */
                            /* symmetric with a positive diagonal; -1: it is not; 0: not tested                    */
  struct wr_comm *comm;     /* of the parts of which A is one, each of which has a system of its rows: norms, exponents */
                            /* and numbers about rows are those of all; NULL: A is whole                           */
  int64_t n;                /* rows of A                                                                           */
  int64_t n_all;            /* rows of all parts                                                                   */
  double *b;                /* [n] right-hand side times 2^exponent, so that its largest element is in [1/2, 1)    */
  double *given;            /* [n] b as given, kept where an element is below 2^-1022 when scaled; NULL: b has all its digits */
  double *rhs;              /* [n] that of matrix: b itself without a scaling. Its largest element is in [1/2, 1)  */
  const wr_vec *there;      /* OPTIONAL, set by a caller after b: the right-hand side as given, f64, at the place of the   */
                            /* solve, which then need not be uploaded again                                        */
  double *guess;            /* [n] first guess of the solver's unknown u; NULL: 0                                 */
  double *inverse_diagonal; /* [n] or NULL: D = 1. D is a diagonal right preconditioner, as Jacobi's            */
  wr_scale asked;           /* how it was to be scaled                                                            */
  const wr_preconditioner *precond; /* D's; NULL: D = 1                                                           */
  wr_scaling scaling;       /* P, R and C                                                                         */
  double *row_weight;       /* [n] that bring a row of the residual of matrix to the units of b; NULL: ones. A change of   */
                            /* rhs_exponent by 1 halves or doubles all of them                                     */
  int weights_are_cut;      /* 1: some weights, in any part, would be beyond 2^-120 to 2^120 and are these         */
  int exponent;
  int rhs_exponent;
  int matrix_exponent;      /* 0 with D, with a scaling, and while the largest |value| of A is from                */
                            /* 2^-WR_SYSTEM_RANGE to 2^WR_SYSTEM_RANGE; else that times 2^matrix_exponent is in [1/2, 1) */
  double norm_b;            /* of the scaled b                                                                    */
  double absolute;          /* atol, scaled; DBL_MAX where that is beyond f64                                     */
  /* for bounds on rounding */
  double row_norm;          /* of matrix: 2-norm of the vector of its rows' sums of |values|, each times its weight */
  double weight_norm;       /* 2-norm of row_weight, or of n ones                                                 */
  int64_t longest_row;      /* entries                                                                            */
  double largest, smallest; /* |values| other than 0 of matrix, not scaled by 2^matrix_exponent; 0 and 0 if there are none */
} wr_system;

/* The matrix is scaled, which takes a copy, if its largest value is beyond 2^WR_SYSTEM_RANGE or below its inverse. A square of
 * ||A p|| then stays far from the ends of f64, and an element of A p or of the solution from those of f32. */
enum { WR_SYSTEM_RANGE = 40 };

/* A must outlive the system; b and guess ([n], wr_alloc'ed, guess may be NULL) are taken over, whatever happens. b NULL: A
 * times x, x being ones, or with random 1 uniform in [0, 1) by seed. scale: how rows and columns are scaled. precond: a
 * diagonal preconditioner M, of the matrix as scaled, by which the columns are then divided, or NULL: none; but matched columns
 * are always divided by their diagonal element, which makes it 1. WR_EINPUT: A not
 * square; a diagonal of M without an inverse, or a value that overflows when its column is scaled; numbers in b or guess that
 * are not finite. WR_EUSAGE: precond is not diagonal. WR_ENOMEM. */
wr_status wr_system_build(wr_csr *A, double *b, double *guess, int random, int64_t seed, wr_scale scale,
                          const wr_preconditioner *precond, double atol, wr_system *system);

/* The same in steps, of which the last two may equilibrate on a device, and leave the solver's matrix there. `begin` does the
 * rest on the host; where the watch, which may be NULL, ends the matching of rows, they are equilibrated. `upload`, optional,
 * uploads A if the device will equilibrate it, so that its time can be measured. `finish` equilibrates if that is left to be
 * done: on the device, or on the host if device is NULL or lacks the memory, if columns are divided by a preconditioner, or if
 * a value is beyond the normal range of the device's type. It drops A's device view, which no plan may borrow, unless A is what
 * the solver multiplies with. Both ways give the same bits. After an error of any of them
 * there is nothing to be freed. */
wr_status wr_system_begin(wr_csr *A, double *b, double *guess, int random, int64_t seed, wr_scale scale,
                          const wr_preconditioner *precond, double atol, const wr_watch *watch, wr_system *system);
wr_status wr_system_upload(wr_system *system, struct wr_env *device);
wr_status wr_system_finish(wr_system *system, struct wr_env *device);

/* Another right-hand side and first guess for a system that is built: what a solver has copied of the earlier ones it has to
 * copy again. b and guess ([n], wr_alloc'ed, guess may be NULL) are taken over, whatever happens. WR_EINPUT: a number that is
 * not finite, and the system is as it was. WR_EUSAGE; WR_ENOMEM: the system has no right-hand side then. */
wr_status wr_system_set_rhs(wr_system *system, double *b, double *guess, double atol);

/* Another first guess for a system that is built: x[n], an answer of A x = b, which is copied. WR_EINPUT: a number that is not
 * finite. WR_ENOMEM. After an error the guess is as it was. */
wr_status wr_system_set_guess(wr_system *system, const double *x);

void wr_system_free(wr_system *system); /* a zeroed one is fine */

/* The row of A that is row j of matrix. */
static inline int64_t wr_system_row(const wr_system *system, int64_t j) {
  return system->scaling.row_of ? system->scaling.row_of[j] : j;
}

/* x[n]: from the solver's unknown u to that of A x = b, in place. */
void wr_system_unscale(const wr_system *system, double *x);

/* rows[n] := q[n], of rows of A in the units of the scaled b, as rows of matrix u = rhs. WR_EUSAGE: an argument is NULL, both
 * are one array, or system is not built. */
wr_status wr_system_scale_rows(const wr_system *system, const double *q, double *rows);

/* Entries of A that matrix holds as numbers below the normal ones of f32, 1.2e-38: they keep few digits there, or none. */
int64_t wr_system_below_f32(const wr_system *system);

/* v[n] := vector number `seed` of hashes (config/hash.h). */
void wr_hash_shadow(double *v, int64_t n, int64_t seed);

WR_C_END
#endif
