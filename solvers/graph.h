/* A graph made ready for PageRank: the matrix that ranks flow through, and what a page passes on to each of its links. */
#ifndef WR_GRAPH_H
#define WR_GRAPH_H

#include <stdint.h>

#include "spmv/csr.h"

typedef struct wr_graph {
  const wr_csr *links; /* as parsed, borrowed; entry (i, j) is i -> j, or j -> i with edges_in                         */
  int edges_in;
  wr_csr *flow;        /* row i: the pages that link to i. A pattern; with weights: weight / out-weight of the source   */
  int owns_flow;       /* 0: flow is the parsed matrix itself                                                           */
  int64_t n, dangling; /* pages, and pages without out-links (or with out-links of weight 0 only)                       */
  double *scale;       /* [n] what x = scale * r multiplies a rank with: 1/out-degree (with weights 1); 0: dangling      */
  double *out_weight;  /* [n] sum of the out-links' weights                                                             */
  double *teleport;    /* [n] where the surfer jumps to, sum 1; NULL: uniformly                                         */
  double *start;       /* [n] first guess, sum 1; NULL: the teleport                                                    */
} wr_graph;

/* links must outlive the graph; teleport and start ([n], >= 0, or NULL) are taken over and normalised, whatever happens.
 * WR_EINPUT: not square, a negative weight, a vector with a negative element or the sum 0. WR_ENOMEM. */
wr_status wr_graph_build(wr_csr *links, int edges_in, double *teleport, double *start, wr_graph *graph);
void wr_graph_free(wr_graph *graph); /* a zeroed one is fine */

#endif
