/* A graph made ready for PageRank: the matrix that ranks flow through, and what a page passes on to each of its links. */
#ifndef WR_GRAPH_H
#define WR_GRAPH_H

#include <stdint.h>

#include "spmv/matrix/csr.h"
#include "spmv/device/env.h"

typedef struct wr_graph {
  wr_csr *links;       /* as parsed, borrowed; entry (i, j) is i -> j, or j -> i with edges_in                          */
  int edges_in;
  wr_csr *flow;        /* row i: the pages that link to i. A pattern; with weights: weight / out-weight of the source.  */
                       /* It may be on the device alone (csr.h)                                                         */
  int owns_flow;       /* 0: flow is the parsed matrix itself                                                           */
  int64_t n, dangling; /* pages, and pages without out-links (or with out-links of weight 0 only)                       */
  double *scale;       /* [n] what x = scale * r multiplies a rank with: 1/out-degree (with weights 1); 0: dangling      */
  double *out_weight;  /* [n] sum of the out-links' weights; NULL: their number, the length of a row of the links        */
  double *teleport;    /* [n] where the surfer jumps to, sum 1; NULL: uniformly                                         */
  double *start;       /* [n] first guess, sum 1; NULL: the teleport                                                    */
} wr_graph;

/* links must outlive the graph; teleport and start ([n], >= 0, or NULL) are taken over and normalised, whatever happens.
 * WR_EINPUT: not square, a negative weight, a vector with a negative element or the sum 0. WR_ENOMEM. */
wr_status wr_graph_build(wr_csr *links, int edges_in, double *teleport, double *start, wr_graph *graph);

/* The same in steps, of which the last two may work on a device and leave the flow there. `begin` is what is done on the host
 * in any case. `upload`, optional, brings the links to the device, so that one can tell how long that takes.
 * `finish` makes the rest, on the device unless that is NULL, lacks the memory, or is of no use: values in f32 are those of
 * f64, divided and then rounded, and weighted links whose rows are the flow's already need no transposing, so both are done
 * on the host. It drops the links' device view, which no plan may borrow, unless it is the flow's. The flow is the same either
 * way, bit for bit. After an error of any of them nothing is left to be freed. */
wr_status wr_graph_begin(wr_csr *links, int edges_in, double *teleport, double *start, wr_graph *graph);
wr_status wr_graph_upload(wr_graph *graph, struct wr_env *device);
wr_status wr_graph_finish(wr_graph *graph, struct wr_env *device);

/* Whether the links themselves go to a device of this type: to be finished there (all_there: finish is given it), or since they
 * are the flow. Told by what is known before their entries are: sizes, `symmetric`, whether they are a pattern. */
int wr_graph_sends_links(const wr_csr *links, int edges_in, wr_type type, int all_there);

/* The sum of |ranks[i]| over all links that end in page i, walking the links as parsed: the same on any number of threads. */
double wr_graph_link_weight(const wr_graph *graph, const double *ranks);

/* The sum of the weights of page i's out-links. */
static inline double wr_graph_out_weight(const wr_graph *graph, int64_t i) {
  if (graph->out_weight) return graph->out_weight[i];
  return (double)(graph->links->row_ptr[i + 1] - graph->links->row_ptr[i]);
}

void wr_graph_free(wr_graph *graph); /* a zeroed one is fine */

#endif
