/* Five numbers about the pattern of a matrix. */
#ifndef WR_ROW_STATISTICS_H
#define WR_ROW_STATISTICS_H

#include "spmv/matrix/csr.h"

typedef struct wr_row_statistics {
  int64_t least, most; /* entries of a row; 0 without rows                    */
  double mean;
  int64_t empty;       /* rows without an entry                               */
  int64_t bandwidth;   /* largest |i - j| of an entry; 0: diagonal, or empty  */
} wr_row_statistics;

wr_row_statistics wr_row_statistics_get(const wr_csr *A);

#endif
