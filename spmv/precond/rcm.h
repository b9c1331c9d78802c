/* Reverse Cuthill-McKee: an order of rows and columns that brings entries close to the diagonal (Cuthill and McKee 1969;
 * George and Liu, Computer Solution of Large Sparse Positive Definite Systems, 1981, chapter 4). */
#ifndef WR_RCM_H
#define WR_RCM_H

#include <stdint.h>

#include "config/watch.h"
#include "spmv/matrix/csr.h"

WR_C_BEGIN

/* order[n] := the index of A that comes i-th, by the pattern of A + A^T. A: square, with host arrays. Each component begins at
 * a node that is about as far from others as any (George and Liu 1979); ties go to the smaller degree, then to the smaller
 * index, so the result depends on the pattern alone. Time and memory grow as the number of entries. WR_ENOMEM; WR_EUSAGE: A is
 * not square; WR_EUNAVAILABLE: ended by the watch, which may be NULL. */
wr_status wr_rcm(const wr_csr *A, const wr_watch *watch, int32_t *order);

WR_C_END
#endif
