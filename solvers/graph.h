/* A graph prepared for PageRank: the matrix of the iteration, and the share of its rank that a page gives to each link. */
#ifndef WR_GRAPH_H
#define WR_GRAPH_H

#include <stdint.h>

#include "spmv/matrix/csr.h"
#include "spmv/device/env.h"

typedef struct wr_graph {
  wr_csr *links;      /* as parsed, borrowed; entry (i, j) is i -> j, or j -> i with edges_in                      */
  int edges_in;
  int symmetric;      /* 1: each link has its mirror image, of the same weight; set by finish                      */
  wr_csr *flow;       /* row i: the pages that link to i. A pattern; with weights: weight / out-weight of the      */
                      /* source. It may be on the device alone (csr.h)                                             */
  int owns_flow;      /* 0: flow is the parsed matrix itself                                                       */
  int64_t n;          /* pages; of a part, those that it has                                                       */
  int64_t n_all;      /* pages of all parts                                                                        */
  struct wr_comm *comm; /* of the parts of which the links are one; NULL: they are whole                           */
  int64_t dangling;   /* pages without out-links, or with out-links of weight 0 alone, of all parts                */
  double *scale;      /* [n] by page: x = scale * r is what it gives to each link: 1 / out-degree, with weights 1; */
                      /* 0: dangling, and x = r                                                                    */
  double *out_weight; /* [n] sum of the out-links' weights; NULL: their number, the length of a row of the links;  */
                      /* of a part: [links->ncols], never NULL                                                     */
  double *teleport;   /* [n] where the surfer jumps to, sum 1; NULL: uniformly                                     */
  double *start;      /* [n] first guess, sum 1; NULL: the teleport                                                */
  int32_t *order;     /* [n] the page of each row and column of the flow; NULL: they have the numbers of the pages */
} wr_graph;

/* links must outlive the graph; teleport and start ([n], >= 0, or NULL) are taken over and normalised, whatever happens.
 * WR_EINPUT: not square, a negative weight, a vector with a negative element or the sum 0. WR_ENOMEM. Links that are a part
 * (spmv/parts/halo.h) have edges_in set: they are the rows of the pages that the part has, as the flow is. Begin and finish are
 * collective then, on the host, and the vectors have the part's elements. */
wr_status wr_graph_build(wr_csr *links, int edges_in, double *teleport, double *start, wr_graph *graph);

/* The same in steps, of which the last two may work on a device and leave the flow there. `begin` does the part that is always
 * done on the host. `upload`, optional, uploads the links, so that its time can be measured. `finish` does the rest: on the
 * device, or on the host if device is NULL or lacks the memory, if values are stored in f32 (they are divided in f64 and then
 * rounded), or if the links have weights and need not be transposed. It drops the links' device view, which no plan may borrow,
 * unless it is the flow's. Both ways give the same bits. After an error of any of them there is nothing to be freed. */
wr_status wr_graph_begin(wr_csr *links, int edges_in, double *teleport, double *start, wr_graph *graph);
wr_status wr_graph_upload(wr_graph *graph, struct wr_env *device);

/* Optional, between begin and finish: lets finish renumber the flow's rows and columns by hubs (hub_order.h), if the graph has
 * from_nodes pages or more and a sample of its links says that this pays. Only graph->order and the flow depend on it. Pages
 * stay as they are where edges_in is set and the links are not known to be symmetric, and after WR_ENOMEM. */
wr_status wr_graph_order(wr_graph *graph, int64_t from_nodes);
wr_status wr_graph_finish(wr_graph *graph, struct wr_env *device);

/* 1 if the links as parsed are uploaded to a device that stores this type: to be finished there (all_there: finish will get the
 * device), or because they are the flow. Only sizes of links, `symmetric` and whether it is a pattern are read. */
int wr_graph_sends_links(const wr_csr *links, int edges_in, wr_type type, int all_there);

/* Another first guess for a graph that is built: scores[n] by page, which are copied and normalised, those below 0 as 0.
 * WR_EINPUT: a number that is not finite, or the sum is 0. WR_ENOMEM. After an error the guess is as it was. */
wr_status wr_graph_set_start(wr_graph *graph, const double *scores);

/* The sum of |ranks[i]| over all links that end in page i, walking the links as parsed: the same on any number of threads. Of a
 * part: over its links. */
double wr_graph_link_weight(const wr_graph *graph, const double *ranks);

/* The sum of the weights of page i's out-links. */
static inline double wr_graph_out_weight(const wr_graph *graph, int64_t i) {
  if (graph->out_weight) return graph->out_weight[i];
  return (double)(graph->links->row_ptr[i + 1] - graph->links->row_ptr[i]);
}

/* The rank of page i, of which x is what an iteration stores: x = scale * rank, or the rank itself where scale is 0. */
static inline double wr_graph_rank(const wr_graph *graph, int64_t i, double x) {
  return graph->links->val == NULL && graph->scale[i] != 0 ? x * wr_graph_out_weight(graph, i) : x;
}

/* by_row[n] := by_page[n] in the order of the flow's rows, and back. The arrays are disjoint. */
void wr_graph_arrange(const wr_graph *graph, const double *by_page, double *by_row);
void wr_graph_restore(const wr_graph *graph, const double *by_row, double *by_page);

/* v[n] := by_page[n] in the order of the flow's rows. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_graph_place(const wr_graph *graph, struct wr_env *env, const double *by_page, wr_vec *v);

void wr_graph_free(wr_graph *graph); /* a zeroed one is fine */

#endif
