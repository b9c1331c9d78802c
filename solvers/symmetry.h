/* Whether a matrix may be positive definite, so that conjugate gradients are worth a try. */
#ifndef WR_SYMMETRY_H
#define WR_SYMMETRY_H

#include "spmv/matrix/csr.h"

/* 1: A is square, each entry equals its mirror image, and all diagonal elements are there and positive. Ends at the first
 * entry that does not fit. 0 for NULL, and for a matrix without host arrays. Values NULL count as 1. */
int wr_is_symmetric_positive(const wr_csr *A);

#endif
