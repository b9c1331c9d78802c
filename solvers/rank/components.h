/* The strongly connected components of a graph's links, in topological order: links lead from a component to itself or to later
 * ones. Scores of a component depend on those of earlier components alone, so they can be computed one after another
 * (gauss_seidel.h). */
#ifndef WR_COMPONENTS_H
#define WR_COMPONENTS_H

#include <stdint.h>

#include "solvers/solver.h"
#include "spmv/matrix/csr.h"

typedef struct wr_components {
  int64_t n, count; /* nodes, components                                                                   */
  int32_t *node;    /* [n] the nodes, component after component. Within one in the order in which a depth-first search */
                    /* against the links finishes them, so that most links lead forwards                    */
  int32_t *place;   /* [n] the inverse: node[place[i]] = i                                                  */
  int32_t *first;   /* [count + 1] the place of a component's first node; first[count] = n                  */
} wr_components;

/* flow: row i has the nodes that link to i, as wr_graph.flow; entries of the value 0 are no links. By Pearce (A space-efficient
 * algorithm for finding strongly connected components, Inf. Process. Lett. 116, 2016), in time proportional to nodes and links,
 * without recursion. Memory: 8 n bytes and 4 for each component are kept; 21 n more while it works. *ended := 0, or the
 * outcome after which monitor (NULL is fine) ended the search; components is then zeroed. WR_ENOMEM, WR_EUSAGE. */
wr_status wr_components_find(const wr_csr *flow, const wr_monitor *monitor, wr_components *components, int *ended);
void wr_components_free(wr_components *components); /* a zeroed one is fine */

#endif
