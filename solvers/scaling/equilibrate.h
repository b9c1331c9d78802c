/* Equilibration: powers of two for rows and columns that bring the largest element of each to about 1 (Ruiz, A scaling
 * algorithm to equilibrate both rows and columns norms in matrices, RAL-TR-2001-034, in the infinity norm). */
#ifndef WR_EQUILIBRATE_H
#define WR_EQUILIBRATE_H

#include <stdint.h>

#include "spmv/matrix/csr.h"

WR_C_BEGIN

/* A: with host arrays and finite values. row_exponent[nrows], column_exponent[ncols] := exponents for which the largest
 * |a_ij| 2^(row_exponent[i] + column_exponent[j]) of each row and column, rounded to the 24 digits of f32, is in [1/2, 2), or
 * about that after the last sweep; 0 where all elements are 0. A matrix that equals its transpose gets the same exponents for
 * both. *sweeps, if not NULL: passes over A. The same on any number of threads, and of parts; for a part
 * collective. WR_ENOMEM. */
wr_status wr_equilibrate(const wr_csr *A, int *row_exponent, int *column_exponent, int *sweeps);

/* *rows, *columns := binary digits by which the largest elements of rows, and of columns, differ at most; rows and columns
 * without elements other than 0 do not count. Of all parts, if A is one. A as above. WR_ENOMEM. */
wr_status wr_exponent_spread(const wr_csr *A, int *rows, int *columns);

WR_C_END
#endif
