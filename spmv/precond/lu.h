/* L U ~ A(order, order): incomplete or complete triangular factors of a square matrix, on the host, and the levels by which
 * their rows can be solved in parallel (Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, section 12.4.3). */
#ifndef WR_LU_H
#define WR_LU_H

#include <stdint.h>

#include "config/status.h"

WR_C_BEGIN

/* Compressed rows; L has a unit diagonal, which is not stored. Columns are ascending in each row. */
typedef struct wr_lu {
  int64_t n;
  int64_t *l_ptr, *u_ptr; /* [n + 1]                                                                              */
  int32_t *l_col, *u_col; /* [l_ptr[n]] below the diagonal, [u_ptr[n]] above it                                   */
  double *l_val, *u_val;  /* likewise                                                                             */
  double *inverse;        /* [n] 1 / diagonal of U                                                                */
  int32_t *order;         /* [n] row and column i of the factors are those of index order[i] of A; NULL: i        */
} wr_lu;

void wr_lu_free(wr_lu *lu); /* frees the arrays, and zeroes the struct; a zeroed one is fine */

/* The first row of the factors with an element, or an inverse of the diagonal, that is finite in f64 and beyond f32; -1: there
 * is none, or lu is NULL. */
int64_t wr_lu_beyond_f32(const wr_lu *lu);

/* The rows of a triangular factor by levels. The level of a row is 0 if the row has no element beside the diagonal, else 1 +
 * the largest level of the rows that its elements refer to; so rows of one level do not depend on each other. */
typedef struct wr_levels {
  int64_t count; /* of levels; 0 for n = 0                             */
  int64_t *ptr;  /* [count + 1] row[ptr[k]..ptr[k + 1]) are of level k */
  int32_t *row;  /* [n] ascending within a level                       */
} wr_levels;

/* *lower, *upper := the levels of L and of U; either may be NULL. WR_ENOMEM; WR_EUSAGE: lu is NULL, or has no arrays. */
wr_status wr_lu_levels(const wr_lu *lu, wr_levels *lower, wr_levels *upper);
void wr_levels_free(wr_levels *levels); /* frees the arrays, and zeroes the struct; a zeroed one is fine */

WR_C_END
#endif
