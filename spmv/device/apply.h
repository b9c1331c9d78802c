/* The arguments of one multiply: y = alpha*A*x + beta*y, and an epilogue on each row while its result is in a register. */
#ifndef WR_APPLY_H
#define WR_APPLY_H

#include "spmv/device/vec.h"

WR_C_BEGIN

/* What is done with row i once y[i] is known, in this order:
 *   y[i] += *shift * shift_dir[i]     (shift_dir NULL: ones; PageRank's teleport, or b in a residual), or
 *   y[i] += *shift + shift_dir[i]     (with adds_dir: a residual to be solved for, and the same to every page)
 *   y[i] *= scale[i]                  (with scales_y, and unless scale[i] is 0: 1/outdegree, which dangling pages have not)
 *   y[i] = relax_from[i] + *relaxation * (y[i] - relax_from[i])   (relax_from NULL: not; Chebyshev's method)
 *   scaled[i] = scale[i] * y[i]       (scale without scaled and scales_y is the mask of WR_SUM_UNSCALED)
 *   the reductions of y as stored; but WR_L1DIFF_UNSCALED is of y before relax_from, rounded; once they are complete, `then`
 * scaled, scale, shift_dir, relax_from, each z, x and y are distinct vectors, except that z may be x if A is square, and that
 * z or relax_from may be y_next. Empty rows have the epilogue too. */
typedef struct wr_epilogue {
  wr_scalar shift; /* bank NULL: no shift */
  const wr_vec *shift_dir;
  int adds_dir;
  const wr_vec *scale;
  int scales_y;              /* 1: y itself is scaled; then there is no `scaled` */
  const wr_vec *relax_from;  /* [nrows]; not read where *relaxation is 1, so NaN does no harm there */
  wr_scalar relaxation;      /* has a bank if relax_from is given */
  wr_vec *scaled;
  wr_reduction reduce[WR_MAX_REDUCTIONS]; /* `of` is NULL: y */
  wr_then then; /* run by the backend, which then sets env->then_done, else by spmv.c */
  const struct wr_outbox *outbox; /* OPTIONAL, set by part_plan.c: a kernel may send elements of y to other cards while it */
                /* computes them (kernel/outbox.cuh); a backend that has done so sets env->sent                       */
} wr_epilogue;

/* y = alpha*A*x + beta*y, then the epilogue. */
typedef struct wr_apply {
  double alpha, beta;           /* beta == 0: the old y is never read (NaN there is harmless). alpha == 0: a NaN in x */
                                /* may or may not reach y                                                             */
  const wr_vec *x;              /* [ncols], aliases neither y nor y_next                                              */
  wr_vec *y;                    /* [nrows]                                                                            */
  wr_vec *y_next;               /* [nrows] or NULL: the y of the NEXT apply of this plan, which must have beta == 0.  */
                                /* Undefined after this apply: the backend may set elements to 0 now (dual-buffer     */
                                /* output, MERBIT section 3), so that a loop needs no pass that clears y              */
  const wr_epilogue *epilogue;  /* or NULL                                                                            */
  int feeds_next;               /* 1: y will be x of the next apply of this plan, and is not written until then, so   */
                                /* cards may exchange it meanwhile. In a recorded loop that holds from the last apply */
                                /* to the first one                                                                   */
} wr_apply;

enum { WR_MAX_COLUMNS = 8 }; /* of one wr_apply_many: 64 bytes of f64, the most that a thread holds sums for */

/* Y = alpha*A*X + beta*Y for several vectors, the columns of X and Y. Both are row-major: the elements of a row lie side by
 * side, so that an entry of A, which multiplies one row of X, reads neighbouring bytes for all columns. */
typedef struct wr_apply_many {
  int columns;        /* k: 1 to the need_columns of the env, as of the plan's prepare                                     */
  double alpha, beta; /* as in wr_apply                                                                                    */
  const wr_vec *x;    /* [ncols * ldx], another vector than y: X(j, c) is x[j * ldx + c], 0 <= c < k                       */
  wr_vec *y;          /* [nrows * ldy]: Y(i, c) is y[i * ldy + c]                                                          */
  int64_t ldx, ldy;   /* k or more, each. Elements c >= k of a row have no effect and are not written. Fastest are 2, 4    */
                      /* and 8: rows of X then begin at multiples of 16 bytes and lie in the fewest sectors of 32 bytes    */
  /* OPTIONAL, one of them at most: what is done with Y behind the multiply. A backend that does it while rows of Y are in  */
  /* registers sets env->many_done; for others spmv.c makes a further pass                                                */
  const struct wr_epilogue_many *ranks; /* of this Y and of k columns; its x is NULL or this X; beta is 0                 */
  const struct wr_fused_many *sums;     /* sums of Y's columns, of k or fewer, without outputs                            */
} wr_apply_many;

/* What PageRank does with each column behind a wr_apply_many, as a pass over Y (wr_vecops.epilogue_many) or within the
 * multiply. v is a sparse vector of each column, the teleport set:
 *   Y(i, c) += (times * mass[c] + plus) * v_c(i)     (computed in f64, then rounded to the type of y; within a multiply the
 *                                                     summand is rounded to it first, and the product only with the sum)
 *   Y(i, c) *= scale[i]                               (unless scale[i] is 0, as of a page without links)
 *   change[c] = sum over i of |Y(i, c) - X(i, c)| / scale[i], or without the division where that is 0
 *   mass[c]   = sum over i of Y(i, c) where scale[i] is 0
 * The sums of a column depend on that column alone, in all bits, on n, on the device and, there, on ldy: not on its place
 * among the columns, nor on their number. Within a multiply they depend on the plan and on the number of columns, too. */
typedef struct wr_epilogue_many {
  int columns;          /* k: 1 to ldy                                                                               */
  wr_vec *y;            /* [n * ldy]: Y(i, c) is y[i * ldy + c]                                                       */
  int64_t ldy;          /* 1, 2, 4 or 8, as for x                                                                     */
  const wr_vec *x;      /* [n * ldx]; NULL: no change is measured, and `change` stays as it is                        */
  int64_t ldx;
  const wr_vec *scale;  /* [n], may be compact                                                                        */
  int64_t room;         /* entries that a column's v has room for, 1 or more                                          */
  const wr_vec *rows;   /* [WR_MAX_COLUMNS * room] f64: i of each entry of v_c, from c * room on. None occurs twice in a */
                        /* column, and one that is not in 0..n-1 is no entry                                          */
  const wr_vec *values; /* likewise, f64                                                                              */
  double times, plus;
  wr_vec *sums;         /* [2 * WR_MAX_COLUMNS] f64: change[c] is sums[c], mass[c] that behind WR_MAX_COLUMNS more     */
  wr_vec *marks;        /* [n / 8 + 1] f64, all 0 before and after: a byte for each row, which a multiply needs that does */
                        /* all this in its pass. NULL: none does                                                      */
} wr_epilogue_many;

WR_C_END
#endif
