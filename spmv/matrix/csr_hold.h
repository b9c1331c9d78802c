/* Reference count of a matrix, for plans that borrow its arrays. */
#ifndef WR_CSR_HOLD_H
#define WR_CSR_HOLD_H

#include "spmv/matrix/csr.h"

/* Adds a holder: one more wr_csr_free is needed until A is freed. */
void wr_csr_hold(wr_csr *A);

#endif
