/* The graph of A + A^T, for orders of the rows of triangular factors. */
#ifndef WR_ADJACENCY_H
#define WR_ADJACENCY_H

#include "spmv/matrix/csr.h"

WR_C_BEGIN

/* Neighbours of each node, without the node itself. */
typedef struct wr_adjacency {
  int64_t n;
  int64_t *ptr;    /* [n + 1]                                                                       */
  int32_t *to;     /* [ptr[n]] ascending in each node                                               */
  float *strength; /* [ptr[n]] of (i, j): |a_ij| / largest of row i + |a_ji| / largest of row j; the */
                   /* largest beside the diagonal. NULL: not asked for                              */
} wr_adjacency;

/* A is square, with host arrays. what: for messages. WR_ENOMEM; g owns what was allocated also after a failure. */
wr_status wr_adjacency_make(const wr_csr *A, int with_strength, const char *what, wr_adjacency *g);
void wr_adjacency_free(wr_adjacency *g); /* frees the arrays, and zeroes the struct; a zeroed one is fine */

WR_C_END
#endif
