/* What one multiply is asked for: y = alpha*A*x + beta*y, and an epilogue on the rows while they are at hand. */
#ifndef WR_APPLY_H
#define WR_APPLY_H

#include "spmv/device/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What happens to row i once y[i] is known, while it is at hand, in this order:
 *   y[i] += *shift * shift_dir[i]     (shift_dir NULL: ones; PageRank's teleport, or b in a residual)
 *   scaled[i] = scale[i] * y[i]       (1/outdegree; scale alone is the mask of WR_SUM_UNSCALED)
 *   the reductions, which see y as stored: after beta and shift, before scale; and once they are complete, `then`
 * scaled, scale, shift_dir, each z, x and y are distinct vectors, except that z may be y_next, and x if A is square. Empty
 * rows get it all too. */
typedef struct wr_epilogue {
  wr_scalar shift; /* bank NULL: no shift */
  const wr_vec *shift_dir;
  const wr_vec *scale;
  wr_vec *scaled;
  wr_reduction reduce[WR_MAX_REDUCTIONS]; /* `of` is NULL: y */
  wr_then then; /* the core runs it unless the backend says, by env->then_done, that it has */
} wr_epilogue;

/* y = alpha*A*x + beta*y, then the epilogue. */
typedef struct wr_apply {
  double alpha, beta;           /* beta == 0: the old y is never read (NaN there is harmless). alpha == 0: whether    */
                                /* NaN in x matters is left open                                                      */
  const wr_vec *x;              /* [ncols], aliases neither y nor y_next                                              */
  wr_vec *y;                    /* [nrows]                                                                            */
  wr_vec *y_next;               /* [nrows] or NULL: the buffer that the NEXT apply of this plan writes, with beta     */
                                /* == 0. Its contents are undefined afterwards: the backend may prepare it now        */
                                /* (dual-buffer output, MERBIT section 3), so that no vector is cleared in a loop     */
  const wr_epilogue *epilogue;  /* or NULL                                                                            */
} wr_apply;

#ifdef __cplusplus
}
#endif
#endif
