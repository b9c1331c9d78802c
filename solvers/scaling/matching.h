/* Row matching of maximum product with dual scaling: which row becomes row j, so that the product of the |diagonal elements| is
 * as large as any order of the rows makes it, and powers of two that then bring the diagonal to about 1 and all else to at most
 * about 1 (Duff and Koster, On algorithms for permuting large entries to the diagonal of a sparse matrix, SIAM J. Matrix Anal.
 * Appl. 22, 2001, section 4; Olschowka and Neumaier 1996). */
#ifndef WR_MATCHING_H
#define WR_MATCHING_H

#include <stdint.h>

#include "config/watch.h"
#include "spmv/matrix/csr.h"

typedef enum wr_matching_end {
  WR_MATCHING_FOUND,
  WR_MATCHING_SINGULAR, /* A is structurally singular: no order of the rows has a diagonal without 0 */
  WR_MATCHING_GIVEN_UP, /* the work was more than the limit                                        */
  WR_MATCHING_ENDED     /* by the watch                                                            */
} wr_matching_end;

typedef struct wr_matching {
  wr_matching_end end;
  int64_t n;
  int32_t *row_of; /* [n] the row that becomes row j; unless it was found, -1 for some */
  /* [n] each, if it was found: |a_ij| 2^(row_exponent[i] + column_exponent[j]) is in [1/2, 2] for i = row_of[j], and at most 2
   * for all others. */
  int *row_exponent, *column_exponent;
  /* if A is structurally singular */
  int64_t deficiency;    /* n less the largest number of elements other than 0 of which no two share a row or column */
  int64_t row;           /* from 0: this row and rows_beside others have elements other than 0 in rows_beside columns only */
  int64_t rows_beside;
  /* the work */
  int64_t cheap;         /* rows matched without a search */
  int64_t work;          /* entries looked at, and 12 for each row that a search goes on from and for each time that it */
                         /* reaches a column by a shorter path: what they cost in time, about 10 ns a unit              */
} wr_matching;

/* The limit of work that windrow sets. 0 if A is NULL. */
int64_t wr_matching_limit(const wr_csr *A);

/* A: square, with host arrays and finite values; entries of 0 count as none. limit: of the work of searches for augmenting
 * paths, which begin where a first assignment, in five passes over A, has left rows without a column; they end with the row at
 * which their work exceeds it. The result is the same on any number of threads. watch: asked during searches; it may be NULL.
 * WR_ENOMEM; WR_EUSAGE: A not square. */
wr_status wr_matching_find(const wr_csr *A, int64_t limit, const wr_watch *watch, wr_matching *matching);
void wr_matching_free(wr_matching *matching); /* a zeroed one is fine */

#endif
