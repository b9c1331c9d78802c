/* What the choice of a backend looks at in a matrix (docs/auto.md), in samples of its rows and entries (feature_sample.h). */
#ifndef WR_MATRIX_FEATURES_H
#define WR_MATRIX_FEATURES_H

#include "spmv/device/env.h"
#include "spmv/matrix/csr.h"

WR_C_BEGIN

typedef struct wr_matrix_features {
  int64_t nrows, ncols, nnz;
  int valued;
  int64_t most;        /* entries of the longest row that was looked at                                            */
  double mean, spread; /* of the entries of a row, and their standard deviation                                    */
  double lockstep;     /* steps of 32 threads with a row each, 32 of which count as one an entry; 1: all rows alike */
  double gather;       /* different sectors of x an entry, of 32 consecutive entries                               */
  double row_gather;   /* the same of the k-th entries of 32 consecutive rows                                      */
  double tile_gather;  /* the same of 4096 consecutive entries                                                     */
  double narrow;       /* share of chunks of 256 consecutive entries whose columns lie in two ranges of 32 768      */
  double hubs;         /* share of the entries in WR_HUB_BYTES of x's most used elements, from below; 1: all of x   */
} wr_matrix_features;

enum { WR_HUB_BYTES = 192 << 10, WR_FEATURE_ROWS = 32 };

/* Looks at 262 144 rows and 32 blocks of 1/8192 of all rows, and at about 660 000 entries. A has host arrays. One
 * thread, as waking others takes about as long. Without entries ratios are 1 and gathers and `narrow` 0. WR_ENOMEM. */
wr_status wr_matrix_features_get(const wr_csr *A, wr_type type, wr_matrix_features *features);

/* The same of A's view on env's device, bit for bit; A needs no host arrays. Waits. WR_ENOMEM, WR_EDEVICE; WR_EUNAVAILABLE
 * without CUDA. */
wr_status wr_matrix_features_device(const wr_csr *A, wr_env *env, const wr_csr_view *view,
                                    wr_matrix_features *features);

WR_C_END
#endif
