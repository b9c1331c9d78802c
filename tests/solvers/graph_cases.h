/* The graphs that several tests of PageRank rank. */
#ifndef WR_TEST_GRAPH_CASES_H
#define WR_TEST_GRAPH_CASES_H

#include "tests/solvers/ground.h"

enum { NODES = 700, BIG = 20000 }; /* nodes: enough for several threads and for rows that chunks cut through */

static inline wr_csr *pattern_of(int64_t n, entry *edges, int64_t count) { return matrix_of(n, edges, count, 0); }

static inline wr_csr *random_graph(void) { return random_matrix(NODES, 5, 0, 0, 11); }

/* Half of all edges end in node 7, one row of 10000, and half of all nodes dangle. */
static inline wr_csr *hub_graph(void) {
  uint64_t seed = 5;
  entry *edges = room_for(BIG, sizeof *edges);
  for (int64_t k = 0; k < BIG / 2; k++) {
    edges[2 * k] = (entry){2 * k, 7, 1};
    edges[2 * k + 1] = (entry){2 * k, (int64_t)(random_in(&seed) * BIG), 1};
  }
  wr_csr *links = pattern_of(BIG, edges, BIG);
  free(edges);
  return links;
}

/* Both directions of every edge, and targets that are not all alike. */
static inline wr_csr *undirected(void) {
  uint64_t seed = 3;
  entry *edges = room_for(2 * NODES, sizeof *edges);
  for (int64_t k = 0; k < NODES; k++) {
    int64_t i = (int64_t)(random_in(&seed) * 500), j = (int64_t)(random_in(&seed) * random_in(&seed) * 500);
    edges[2 * k] = (entry){i, j, 1}, edges[2 * k + 1] = (entry){j, i, 1};
  }
  wr_csr *links = pattern_of(500, edges, 2 * NODES);
  links->symmetric = 1;
  free(edges);
  return links;
}

static inline wr_csr *weighted_by(double least, double factor) {
  wr_csr *links = random_matrix(400, 6, 0, 1, 21);
  for (int64_t k = 0; k < links->nnz; k++) links->val[k] = least + factor * fabs(links->val[k]);
  return links;
}

static inline wr_csr *weighted(void) { return weighted_by(0.01, 1); }

#endif
