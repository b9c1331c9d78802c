/* Systems without a solution because of rows without entries. */
#ifndef WR_EMPTY_ROWS_H
#define WR_EMPTY_ROWS_H

#include "spmv/matrix/csr.h"

/* In a row of A with entries of 0 alone, or without any, the residual is b[i] whatever x is. WR_EINPUT, with the first such
 * row, if these elements of b alone keep ||b - A x|| above both tolerance * ||b|| and atol. b: [A->nrows]. One pass over the
 * rows. */
wr_status wr_check_empty_rows(const wr_csr *A, const double *b, double tolerance, double atol);

#endif
