/* What an iterative solver needs to know of a matrix: before a solve, whether conjugate gradients are worth a try and whether
 * rows without entries leave the system without a solution; after one that failed, for advice, zeros on the diagonal, rows and
 * columns of very different norm, symmetry, rows and columns without entries. */
#ifndef WR_MATRIX_FACTS_H
#define WR_MATRIX_FACTS_H

#include "spmv/matrix/csr.h"

/* Rows and columns count from 0. An entry with the value 0 counts as none. */
typedef struct wr_matrix_facts {
  int64_t n;
  int64_t zero_diagonals, first_zero_diagonal;      /* elements that are 0 or no entries; the first is -1 if there is none */
  int64_t empty_rows, first_empty_row;              /* likewise                                                            */
  int64_t empty_columns, first_empty_column;
  int64_t positive_diagonals, negative_diagonals;
  double row_spread, column_spread; /* largest / smallest norm of a row (column) that is not empty, the norm being its */
                                    /* largest |value|; 1 without entries                                              */
  int zero_row_sums, zero_column_sums; /* 1: no row (column) is empty, and the elements of each add up to 0 but for rounding, */
                                       /* so that A is singular                                                              */
  int symmetric;  /* 1: A is its transpose, each value being equal                                                     */
  int indefinite; /* 1: symmetric, and a diagonal element of each sign, or a minor a_ii a_jj - a_ij^2 < 0, shows that  */
                  /* eigenvalues of both signs exist                                                                   */
} wr_matrix_facts;

/* A is square and has its host arrays. Takes a few passes over A, and for the symmetry a binary search an entry. WR_ENOMEM */
wr_status wr_matrix_facts_find(const wr_csr *A, wr_matrix_facts *facts);

/* Whether A may be positive definite. 1: it is square, all diagonal elements are positive, and entries (i, j) and (j, i), of
 * which either may be missing, differ by at most 1e-12 sqrt(a_ii a_jj): rounding leaves less where a program adds up both in
 * different order. Ends at the first entry that does not fit. 0 for NULL, and without host arrays. Values NULL count as 1. */
int wr_is_symmetric_positive(const wr_csr *A);

/* The same with any numbers on the diagonal; at once 1 where A->symmetric says so. */
int wr_is_symmetric(const wr_csr *A);

/* In a row of A with entries of 0 alone, or without any, the residual is b[i] whatever x is. WR_EINPUT, with the first such
 * row, if these elements of b alone keep ||b - A x|| above both tolerance * ||b|| and atol. b: [A->nrows]. One pass over the
 * rows. */
wr_status wr_check_empty_rows(const wr_csr *A, const double *b, double tolerance, double atol);

#endif
