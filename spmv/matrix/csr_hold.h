/* How plans keep a matrix whose arrays they may borrow. */
#ifndef WR_CSR_HOLD_H
#define WR_CSR_HOLD_H

#include "spmv/matrix/csr.h"

/* From now on one more wr_csr_free is needed until A is freed: the holder's. */
void wr_csr_hold(wr_csr *A);

#endif
