/* Strongly connected components: compared with which nodes reach which, found by following links one by one; and their
 * order. */
#define _DEFAULT_SOURCE
#include "solvers/graph.h"
#include "solvers/rank/components.h"
#include "tests/solvers/rank_shapes.h"

/* reaches[i * n + j]: 1 if a path of links leads from i to j; links of weight 0 are none. */
static char *paths_of(const wr_csr *links) {
  int64_t n = links->nrows, *queue = room_for(n, sizeof *queue);
  char *reaches = room_for(n * n, 1);
  for (int64_t from = 0; from < n; from++) {
    int64_t end = 0;
    reaches[from * n + from] = 1, queue[end++] = from;
    for (int64_t k = 0; k < end; k++)
      for (int64_t e = links->row_ptr[queue[k]]; e < links->row_ptr[queue[k] + 1]; e++) {
        int64_t to = links->col[e];
        if (reaches[from * n + to] || (links->val && links->val[e] == 0)) continue;
        reaches[from * n + to] = 1, queue[end++] = to;
      }
  }
  free(queue);
  return reaches;
}

/* Every condition of the declaration. */
static void check_components(const wr_csr *links, const wr_csr *flow) {
  int64_t n = links->nrows, wrong = 0, backwards = 0, misplaced = 0;
  wr_components c;
  int ended = 7;
  CHECK_OK(wr_components_find(flow, NULL, &c, &ended));
  CHECK(ended == 0 && c.n == n && c.count >= 1 && c.first[0] == 0 && c.first[c.count] == n);
  char *reaches = paths_of(links);
  int64_t *of = room_for(n, sizeof *of);
  for (int64_t b = 0; b < c.count; b++) {
    int64_t size = c.first[b + 1] - c.first[b];
    CHECKF(size > 0, "component %lld is empty", (long long)b);
    for (int64_t k = c.first[b]; k < c.first[b + 1]; k++) of[c.node[k]] = b;
  }
  for (int64_t k = 0; k < n; k++) misplaced += c.place[c.node[k]] != k;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) wrong += (of[i] == of[j]) != (reaches[i * n + j] && reaches[j * n + i]);
    for (int64_t e = links->row_ptr[i]; e < links->row_ptr[i + 1]; e++) {
      int64_t to = links->col[e];
      if (links->val && links->val[e] == 0) continue;
      backwards += of[i] > of[to];
    }
  }
  CHECKF(misplaced == 0, "%lld places are not the inverse of the nodes", (long long)misplaced);
  CHECKF(wrong == 0, "%lld pairs of nodes are together or apart by mistake", (long long)wrong);
  CHECKF(backwards == 0, "%lld links lead to earlier components", (long long)backwards);
  free(reaches), free(of);
  wr_components_free(&c);
}

static void test_shapes(void) {
  uint64_t seed = 271828;
  for (int k = 0; k < 400; k++) {
    wr_csr *links = random_shape(k < 200 ? 12 : 150, &seed), *flow = NULL;
    ground_case(NULL, "shape %d, %lld nodes", k, (long long)links->nrows);
    CHECK_OK(wr_csr_transpose(links, &flow));
    check_components(links, flow);
    wr_csr_free(links), wr_csr_free(flow);
  }
}

/* A path and a ring of a million nodes: recursion would need a stack of as many frames. */
static void test_depth(void) {
  enum { LONG = 1000000 };
  for (int closed = 0; closed < 2; closed++) {
    wr_csr *flow = NULL;
    wr_components c;
    int ended, increasing = 1;
    CHECK_OK(wr_csr_create(LONG, LONG, LONG - 1 + closed, 0, &flow));
    for (int64_t i = 0; i < LONG; i++) { /* row i: the node before it */
      int64_t before = flow->row_ptr[i];
      if (i > 0 || closed) flow->col[before++] = (int32_t)((i + LONG - 1) % LONG);
      flow->row_ptr[i + 1] = before;
    }
    CASE(closed ? "a ring" : "a path");
    CHECK_OK(wr_components_find(flow, NULL, &c, &ended));
    CHECKF(c.count == (closed ? 1 : LONG), "%lld components", (long long)c.count);
    for (int64_t k = 1; k < LONG; k++) increasing &= c.node[k] == (c.node[k - 1] + 1) % LONG;
    CHECK(increasing); /* along the links, in the ring from some node on */
    wr_components_free(&c);
    wr_csr_free(flow);
  }
}

static void test_ends(void) {
  wr_csr *flow = NULL;
  wr_components c;
  int ended = 0;
  const volatile sig_atomic_t set = 1;
  CASE("interrupted");
  CHECK_OK(wr_csr_create(1 << 18, 1 << 18, 0, 0, &flow));
  CHECK_OK(wr_components_find(flow, &(wr_monitor){.interrupted = &set}, &c, &ended));
  CHECK(ended == WR_INTERRUPTED && c.node == NULL && c.count == 0);
  wr_csr_free(flow);
}

static void test_refused(void) {
  wr_csr *flow = NULL, *wide = NULL, bare = {.nrows = 3, .ncols = 3};
  wr_components c = {0};
  int ended;
  CASE("arguments");
  CHECK_OK(wr_csr_create(4, 4, 0, 0, &flow));
  CHECK_OK(wr_csr_create(4, 5, 0, 0, &wide));
  CHECK_FAILS(WR_EUSAGE, wr_components_find(NULL, NULL, &c, &ended));
  CHECK_FAILS(WR_EUSAGE, wr_components_find(&bare, NULL, &c, &ended));
  CHECK_FAILS(WR_EUSAGE, wr_components_find(wide, NULL, &c, &ended));
  CHECK_MESSAGE("4 x 5");
  CHECK_FAILS(WR_EUSAGE, wr_components_find(flow, NULL, NULL, &ended));
  CHECK_FAILS(WR_EUSAGE, wr_components_find(flow, NULL, &c, NULL));
  CHECK_OK(wr_components_find(flow, NULL, &c, &ended));
  wr_components_free(&c), wr_components_free(&c), wr_components_free(NULL);
  CHECK(c.node == NULL);
  wr_csr_free(flow), wr_csr_free(wide);
}

int main(void) {
  test_shapes();
  test_depth();
  test_ends();
  test_refused();
  return wr_test_report("components");
}
