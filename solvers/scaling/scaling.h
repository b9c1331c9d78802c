/* How a linear system is scaled before it is solved: by a row order and powers of two for rows and columns. */
#ifndef WR_SCALING_H
#define WR_SCALING_H

#include <stdint.h>

#include "spmv/matrix/csr.h"

typedef enum wr_scale {
  WR_SCALE_AUTO,        /* match where a diagonal element is 0 or tiny, but equilibrate a saddle point where the moved rows */
                        /* would be far from dominant; else equilibrate where rows or columns differ much          */
  WR_SCALE_NONE,
  WR_SCALE_EQUILIBRATE, /* powers of two that bring the largest element of each row and column to about 1 */
  WR_SCALE_MATCH        /* rows reordered, so that the diagonal has the largest product, and scaled to it; in parts, rows */
                        /* of each part so, as far as they have such a diagonal, and all equilibrated                     */
} wr_scale;

/* Row j of the scaled matrix is row row_of[j] of A; its element in column k is a 2^(row_exponent[row_of[j]] +
 * column_exponent[k]). */
typedef struct wr_scaling {
  wr_scale done;         /* never auto; with none, the arrays are NULL             */
  int32_t *row_of;       /* [n] or NULL: rows keep their order                     */
  int *row_exponent;     /* [n] of a row of A                                      */
  int *column_exponent;  /* [n]                                                    */
  int near_one;          /* 1: |diagonal elements| of the scaled matrix are in about [1/2, 2], and others at most about 2 */
  double smallest;       /* |value| of A other than 0; 0 if scale is none or A is not finite                             */
  char sentence[240];    /* what was done and why; "" where auto has left A as it is */
} wr_scaling;

/* Finds the scaling of a square A, which has host arrays. A matrix that is not finite is left as it is. One that is
 * structurally singular, or takes too much work to match, is equilibrated. WR_ENOMEM; WR_EUSAGE: A not square, scale not in its
 * enum. */
wr_status wr_scaling_find(const wr_csr *A, wr_scale scale, wr_scaling *scaling);
void wr_scaling_free(wr_scaling *scaling); /* a zeroed one is fine */

#endif
