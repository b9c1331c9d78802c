/* Makes the shares of a resident loop's matrix (resident_share.cuh) on the device. */
#ifndef WR_RESIDENT_SHARE_H
#define WR_RESIDENT_SHARE_H

#include "spmv/device/env.h"
#include "spmv/loop/resident_share.cuh"
#include "spmv/matrix/csr.h"

WR_C_BEGIN

enum {
  WR_SHARE_THREADS = 512,    /* of a thread block of the loop                             */
  WR_SHARE_MOST_ROWS = 8192, /* of a share                                                */
  WR_SHARE_ROW_WEIGHT = 4    /* work of a row beside that of its entries, in entries      */
};

/* The matrix of a view, with entries in env's type. */
typedef struct wr_share_matrix {
  int64_t nrows, ncols, nnz;
  wr_csr_view view; /* with 32-bit row pointers */
  int side;         /* 1 to WR_SHARE_SIDES; a pattern: 1 */
} wr_share_matrix;

typedef struct wr_shares {
  int count, sums, side, value_bytes; /* of a tile */
  wr_share *on_device;     /* [count] */
  char *images;            /* on the device */
  int64_t bytes;           /* of all images */
  int columns;             /* the most of a share */
  int64_t most_bytes, most_head; /* of shared memory for a share: for all of it; without the steps of its image */
  int most;                /* entries of the longest row */
} wr_shares;

/* *s := `count` shares, counted but without images; waits. WR_EUNAVAILABLE: their columns lie too far apart, or rows of
 * a share are too many, to be counted in shared memory. sums: of wr_share_x. */
wr_status wr_shares_count(wr_env *env, const wr_share_matrix *A, int count, int sums, wr_shares *s);

/* Makes the images. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_shares_fill(wr_env *env, const wr_share_matrix *A, wr_shares *s);
void wr_shares_free(wr_env *env, wr_shares *s); /* also zeroed ones */

WR_C_END
#endif
