/* Random graphs of every shape, for tests of methods that look at the components of a graph: blocks of nodes that are dense,
 * rings, chains, single nodes, links between them, self links, nodes without links, weights that are 0 or far apart. */
#ifndef WR_TEST_RANK_SHAPES_H
#define WR_TEST_RANK_SHAPES_H

#include "tests/solvers/ground.h"

typedef struct shape_edges {
  entry *edge;
  int64_t count, room;
  int weights; /* 0: none; 1: in (0, 1); 2: also 0, and from 1e-30 to 1e30 */
  uint64_t *seed;
} shape_edges;

static inline int64_t chance(uint64_t *seed, int64_t below) { return (int64_t)(random_in(seed) * (double)below); }

static inline void add_edge(shape_edges *s, int64_t from, int64_t to) {
  double value = random_in(s->seed) + 1e-3;
  if (s->weights == 2) {
    int64_t kind = chance(s->seed, 6);
    value = kind == 0 ? 0 : kind == 1 ? 1e-30 * value : kind == 2 ? 1e30 * value : value;
  }
  if (s->count < s->room) s->edge[s->count++] = (entry){from, to, value};
}

/* Nodes first..first + m - 1: a ring, a chain there and back, random links, or none. */
static inline void add_group(shape_edges *s, int64_t first, int64_t m, int64_t kind) {
  for (int64_t k = 0; k < m; k++) {
    if (kind == 0) add_edge(s, first + k, first + (k + 1) % m);
    if (kind == 1 && k + 1 < m) add_edge(s, first + k, first + k + 1), add_edge(s, first + k + 1, first + k);
    for (int j = 0; kind == 2 && j < 3; j++) add_edge(s, first + k, first + chance(s->seed, m));
    if (kind == 3 && k > 0) add_edge(s, first + k, first + chance(s->seed, k));
    if (chance(s->seed, 15) == 0) add_edge(s, first + k, first + k);
  }
}

/* A graph of at most `most` nodes, 1 at least; nodes are renumbered at random. */
static inline wr_csr *random_shape(int64_t most, uint64_t *seed) {
  int64_t n = 1 + chance(seed, most), groups = 0, first[65] = {0};
  shape_edges s = {.room = 8 * n + 64, .weights = (int)chance(seed, 3), .seed = seed};
  s.edge = room_for(s.room, sizeof *s.edge);
  while (groups < 64 && first[groups] < n) {
    int64_t left = n - first[groups],
            m = groups == 63 || chance(seed, 4) == 0 ? left : 1 + chance(seed, left < 40 ? left : 40);
    add_group(&s, first[groups], m, chance(seed, 5));
    first[groups + 1] = first[groups] + m;
    groups++;
  }
  for (int64_t k = chance(seed, n + 1); k > 0;
       k--) { /* from earlier to later nodes mostly: few of the groups are joined */
    int64_t a = chance(seed, n), b = chance(seed, n);
    int against = chance(seed, 30) == 0;
    add_edge(&s, (a < b) != against ? a : b, (a < b) != against ? b : a);
  }
  int64_t *name = room_for(n, sizeof *name);
  for (int64_t i = 0; i < n; i++) name[i] = i;
  for (int64_t i = n - 1; i > 0; i--) {
    int64_t j = chance(seed, i + 1), other = name[i];
    name[i] = name[j], name[j] = other;
  }
  for (int64_t k = 0; k < s.count; k++) s.edge[k].row = name[s.edge[k].row], s.edge[k].col = name[s.edge[k].col];
  wr_csr *A = matrix_of(n, s.edge, s.count, s.weights != 0);
  free(s.edge);
  free(name);
  return A;
}

#endif
