#include "solvers/rank/components.h"

#include "config/argument.h"
#include "config/memory.h"

enum { LOOK_EVERY = 1 << 16 }; /* nodes between two looks at the monitor: some milliseconds */

/* A depth-first search against the links. Two stacks share one array: nodes in progress from its front, and from its back nodes
 * that are finished and whose component is not complete. Together they have at most n nodes. */
typedef struct search {
  const wr_csr *flow;
  uint32_t *mark;     /* [n] 0: not visited. Of a visited node: the least number known to be reachable from it. Of a node   */
                      /* whose component is complete: n - that component, above all numbers in use                      */
  int32_t *stack;     /* [n]                                                                                            */
  int64_t *next;      /* [n] the entry at which a node in progress goes on                                              */
  uint64_t *not_root; /* [n / 64 + 1] a bit for each node: an earlier node is reachable from it, and reaches it         */
  int64_t depth;      /* nodes in progress                                                                              */
  int64_t waiting;    /* finished nodes on the stack                                                                    */
  int64_t numbers;    /* in use: nodes on both stacks, and 1                                                            */
} search;

static void begin_node(search *s, int64_t i) {
  s->mark[i] = (uint32_t)s->numbers++;
  s->next[i] = s->flow->row_ptr[i];
  s->stack[s->depth++] = (int32_t)i;
}

/* Takes over from node j, which node i links to against the direction of links, the least number reachable. */
static void reach(search *s, int64_t i, int64_t j) {
  if (s->mark[j] >= s->mark[i]) return;
  s->mark[i] = s->mark[j];
  s->not_root[i / 64] |= (uint64_t)1 << i % 64;
}

/* Node i is the first visited one of its component: those that wait and cannot reach an earlier node are the others. They
 * are output in the order in which they were finished. */
static void complete(search *s, int64_t i, wr_components *c) {
  int64_t n = c->n, begin = n - s->waiting, end = begin, out = c->first[c->count];
  while (end < n && s->mark[s->stack[end]] >= s->mark[i]) end++;
  uint32_t number = (uint32_t)(n - c->count);
  for (int64_t k = end - 1; k >= begin; k--) {
    s->mark[s->stack[k]] = number;
    c->node[out++] = s->stack[k];
  }
  s->mark[i] = number;
  c->node[out++] = (int32_t)i;
  s->waiting -= end - begin, s->numbers -= end - begin + 1;
  c->first[++c->count] = (int32_t)out;
}

static void finish_node(search *s, int64_t i, wr_components *c) {
  s->depth--;
  if (s->not_root[i / 64] >> i % 64 & 1)
    s->stack[c->n - ++s->waiting] = (int32_t)i;
  else
    complete(s, i, c);
  if (s->depth > 0) reach(s, s->stack[s->depth - 1], i);
}

/* Goes on with the node in progress that was begun last: to the next node that was not visited, or to its end. */
static void go_on(search *s, wr_components *c) {
  const wr_csr *m = s->flow;
  int64_t i = s->stack[s->depth - 1], end = m->row_ptr[i + 1];
  for (int64_t k = s->next[i]; k < end; k++) {
    int64_t j = m->col[k];
    if (m->val && m->val[k] == 0) continue;
    if (s->mark[j] == 0) {
      s->next[i] = k + 1;
      begin_node(s, j);
      return;
    }
    reach(s, i, j);
  }
  finish_node(s, i, c);
}

wr_status wr_components_find(const wr_csr *flow, const wr_monitor *monitor, wr_components *components, int *ended) {
  wr_status status;
  search s = {.flow = flow, .numbers = 1};
  WR_NEED(components);
  WR_NEED(ended);
  *components = (wr_components){0}, *ended = 0;
  WR_REFUSE_IF(flow == NULL || flow->row_ptr == NULL, "flow %s", flow ? "has no host arrays" : "is NULL");
  WR_REFUSE_IF(flow->nrows != flow->ncols, "flow has %lld x %lld elements", (long long)flow->nrows,
               (long long)flow->ncols);
  int64_t n = components->n = flow->nrows, steps = 0;
  TRY(wr_alloc(&components->node, n, sizeof *components->node, "components"));
  TRY(wr_alloc(&components->place, n, sizeof *components->place, "components"));
  TRY(wr_alloc(&components->first, n + 1, sizeof *components->first, "components"));
  TRY(wr_alloc_zeroed(&s.mark, n, sizeof *s.mark, "a search for components"));
  TRY(wr_alloc(&s.stack, n, sizeof *s.stack, "a search for components"));
  TRY(wr_alloc(&s.next, n, sizeof *s.next, "a search for components"));
  TRY(wr_alloc_zeroed(&s.not_root, n / 64 + 1, sizeof *s.not_root, "a search for components"));
  components->first[0] = 0;
  for (int64_t i = 0; i < n; i++) {
    if (s.mark[i] != 0) continue;
    begin_node(&s, i);
    while (s.depth > 0) {
      go_on(&s, components);
      if (++steps % LOOK_EVERY == 0 && (*ended = wr_monitor_ends(monitor))) goto done;
    }
  }
  for (int64_t k = 0; k < n; k++) components->place[components->node[k]] = (int32_t)k;
  TRY(wr_resize(&components->first, (components->count + 1) * (int64_t)sizeof *components->first, "components"));
done:
  wr_free(s.mark);
  wr_free(s.stack);
  wr_free(s.next);
  wr_free(s.not_root);
  if (status != WR_OK || *ended) wr_components_free(components);
  return status;
}

void wr_components_free(wr_components *components) {
  if (components == NULL) return;
  wr_free(components->node);
  wr_free(components->place);
  wr_free(components->first);
  *components = (wr_components){0};
}
