/* Values for a matrix that has none. */
#ifndef WR_MADE_VALUES_H
#define WR_MADE_VALUES_H

#include "spmv/matrix/csr.h"

/* A->val[nnz] := values in (0, 1] by the place of an entry. They have 53 bits, as those of most matrices: some formats store
 * values that f32 has exactly in fewer bytes. A has host arrays and no values; its device views must be forgotten. WR_ENOMEM.
 */
wr_status wr_make_values(wr_csr *A);

#endif
