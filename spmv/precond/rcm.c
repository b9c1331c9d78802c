#include "spmv/precond/rcm.h"

#include "config/memory.h"
#include "spmv/matrix/csr_argument.h"
#include "spmv/precond/adjacency.h"

enum {
  STRIDE = 1 << 13, /* nodes between two questions to the watch                                   */
  SEARCHES = 8      /* for a far node of a component; two or three suffice for nearly all meshes  */
};

static const char what[] = "the reverse Cuthill-McKee order";

typedef wr_adjacency graph;

static int64_t degree(const graph *g, int32_t v) { return g->ptr[v + 1] - g->ptr[v]; }

/* by_degree[n] := the nodes by ascending degree, then index. */
static wr_status sort_by_degree(const graph *g, int32_t *by_degree) {
  wr_status status;
  int64_t *first = NULL;
  TRY(wr_alloc_zeroed(&first, g->n + 1, sizeof *first, what));
  for (int64_t v = 0; v < g->n; v++) first[degree(g, (int32_t)v) + 1]++; /* a degree is below n */
  for (int64_t d = 0; d < g->n; d++) first[d + 1] += first[d];
  for (int64_t v = 0; v < g->n; v++) by_degree[first[degree(g, (int32_t)v)]++] = (int32_t)v;
done:
  wr_free(first);
  return status;
}

/* Sorts the neighbours of each node as by_degree is: nodes in this order append themselves to those of their neighbours. */
static wr_status sort_neighbours(graph *g, const int32_t *by_degree) {
  wr_status status;
  int64_t *next = NULL;
  int32_t *sorted = NULL;
  TRY(wr_alloc(&next, g->n, sizeof *next, what));
  TRY(wr_alloc(&sorted, g->ptr[g->n], sizeof *sorted, what));
  for (int64_t v = 0; v < g->n; v++) next[v] = g->ptr[v];
  for (int64_t i = 0; i < g->n; i++) {
    int32_t v = by_degree[i];
    for (int64_t k = g->ptr[v]; k < g->ptr[v + 1]; k++) sorted[next[g->to[k]]++] = v;
  }
  wr_free(g->to);
  g->to = sorted, sorted = NULL;
done:
  wr_free(next);
  wr_free(sorted);
  return status;
}

/* One breadth-first search of a component. */
typedef struct search {
  int32_t *queue;     /* the nodes in the order in which they were found */
  int64_t count;      /* of the component                                */
  int64_t last_level; /* queue[last_level..count) are the farthest       */
  int64_t depth;      /* levels behind the first                         */
} search;

/* From root, into s->queue. seen[n]: 0 for nodes of the component, which become 1. */
static wr_status run_search(const graph *g, int32_t root, char *seen, const wr_watch *watch, search *s) {
  int64_t level_end = 1;
  s->queue[0] = root, s->count = 1, s->last_level = 0, s->depth = 0, seen[root] = 1;
  for (int64_t k = 0; k < s->count; k++) {
    int32_t v = s->queue[k];
    if (k == level_end) s->last_level = k, level_end = s->count, s->depth++;
    if (k % STRIDE == STRIDE - 1) PASS(wr_watch_check(watch, what));
    for (int64_t e = g->ptr[v]; e < g->ptr[v + 1]; e++)
      if (!seen[g->to[e]]) seen[g->to[e]] = 1, s->queue[s->count++] = g->to[e];
  }
  return WR_OK;
}

/* s := the search of root's component from a pseudo-peripheral node: one of least degree among the farthest from the one
 * before, as long as that lengthens the search. */
static wr_status search_from_far(const graph *g, int32_t root, char *seen, const wr_watch *watch, search *s) {
  PASS(run_search(g, root, seen, watch, s));
  for (int k = 0; k < SEARCHES && s->count > 1; k++) {
    int64_t depth = s->depth;
    int32_t far = s->queue[s->last_level];
    for (int64_t i = s->last_level + 1; i < s->count; i++)
      if (degree(g, s->queue[i]) < degree(g, far)) far = s->queue[i];
    for (int64_t i = 0; i < s->count; i++) seen[s->queue[i]] = 0;
    PASS(run_search(g, far, seen, watch, s));
    if (s->depth <= depth) break;
  }
  return WR_OK;
}

wr_status wr_rcm(const wr_csr *A, const wr_watch *watch, int32_t *order) {
  wr_status status;
  graph g = {0};
  int32_t *by_degree = NULL;
  char *seen = NULL;
  WR_NEED_HOST(A);
  WR_NEED(order);
  WR_REFUSE_IF(A->nrows != A->ncols, "A is %lld x %lld", (long long)A->nrows, (long long)A->ncols);
  TRY(wr_adjacency_make(A, 0, what, &g));
  TRY(wr_watch_check(watch, what));
  TRY(wr_alloc(&by_degree, g.n, sizeof *by_degree, what));
  TRY(wr_alloc_zeroed(&seen, g.n, 1, what));
  TRY(sort_by_degree(&g, by_degree));
  TRY(sort_neighbours(&g, by_degree));
  int64_t found = 0;
  for (int64_t i = 0; i < g.n; i++) {
    search s = {.queue = order + found};
    if (seen[by_degree[i]]) continue;
    TRY(search_from_far(&g, by_degree[i], seen, watch, &s));
    found += s.count;
  }
  for (int64_t i = 0, j = g.n - 1; i < j; i++, j--) {
    int32_t v = order[i];
    order[i] = order[j], order[j] = v;
  }
done:
  wr_adjacency_free(&g);
  wr_free(by_degree);
  wr_free(seen);
  return status;
}
