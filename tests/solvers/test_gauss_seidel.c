/* PageRank by components: compared with LU factors in long double on random graphs of every shape; the bound is never smaller
 * than the error; the bits do not depend on threads; ends, limits and arguments. */
#define _DEFAULT_SOURCE
#include <float.h>

#include "solvers/rank/gauss_seidel.h"
#include "tests/solvers/graph_cases.h"
#include "tests/solvers/rank_fixture.h"
#include "tests/solvers/rank_shapes.h"

/* ---- A solve, and what must hold ---- */

typedef struct solved {
  double *scores;
  wr_gauss_seidel_found found;
  wr_gauss_seidel_options options;
} solved;

static solved solve_by_components(const ranking *r, wr_team *team, const wr_monitor *monitor, int64_t multiplies) {
  wr_graph graph = {0};
  int64_t n = r->links->nrows;
  double d = r->options.damping;
  solved s = {.scores = room_for(n, sizeof *s.scores)};
  s.options =
      (wr_gauss_seidel_options){.damping = d, .change = (1 - d) * r->options.tolerance, .multiplies = multiplies};
  CHECK_OK(wr_graph_build(r->links, r->edges_in, given(r->teleport, n), given(r->start, n), &graph));
  if (graph.flow == NULL) return s;
  CHECK_OK(wr_gauss_seidel_solve(&graph, &s.options, graph.start, team, monitor, s.scores, &s.found));
  wr_graph_free(&graph);
  return s;
}

static long double check_bound(const solved *s, const exact_ranks *exact) {
  long double distance = 0, sum = 0;
  double least = 1;
  for (int64_t i = 0; i < exact->n; i++) {
    distance += fabsl((long double)s->scores[i] - exact->score[i]), sum += (long double)s->scores[i];
    if (!(s->scores[i] >= least)) least = s->scores[i];
  }
  CHECKF(distance <= (long double)s->found.bound.bound + exact->error, "L1 error %.3Lg, bound %.3g", distance,
         s->found.bound.bound);
  CHECKF(fabsl(sum - 1) <= (long double)(exact->n + 2) * 0x1p-53L, "the sum is %.18Lg", sum);
  CHECKF(least >= 0, "a score is %g", least);
  CHECKF(s->found.met == (s->found.bound.residual <= s->options.change), "met %d: %g of %g", s->found.met,
         s->found.bound.residual, s->options.change);
  return distance;
}

static void check_met(const ranking *r, const solved *s, const exact_ranks *exact) {
  long double distance = check_bound(s, exact);
  CHECKF(s->found.met == 1, "the change is %g of %g after %g multiplies", s->found.bound.residual, s->options.change,
         s->found.multiplies);
  CHECKF(distance <= (long double)r->options.tolerance + exact->error, "L1 error %.3Lg", distance);
}

static void test_shapes(void) {
  static const double dampings[] = {0, 0.5, 0.85, 0.99, 0.999, 0.9999};
  uint64_t seed = 31415926;
  int dense = 0, swept = 0, single = 0;
  for (int k = 0; k < 500; k++) {
    wr_csr *links = random_shape(k % 4 == 0 ? 160 : k % 4 == 1 ? 80 : 40, &seed);
    int64_t n = links->nrows;
    double *targets = room_for(n, sizeof *targets), *guess = room_for(n, sizeof *guess);
    for (int64_t i = 0; i < n; i++)
      targets[i] = chance(&seed, 3) == 0 ? random_in(&seed) : 0, guess[i] = random_in(&seed);
    targets[chance(&seed, n)] += 0.1, guess[chance(&seed, n)] += 1;
    ranking r = {.links = links,
                 .edges_in = chance(&seed, 2) == 0,
                 .teleport = chance(&seed, 2) ? targets : NULL,
                 .start = chance(&seed, 3) ? NULL : guess};
    r.options.damping = dampings[k % 6], r.options.tolerance = k % 7 == 0 ? 1e-6 : 1e-10;
    ground_case(NULL, "shape %d, %lld nodes, damping %g", k, (long long)n, r.options.damping);
    exact_ranks exact = dense_ranks(&r);
    solved s = solve_by_components(&r, NULL, NULL, 100000);
    check_met(&r, &s, &exact);
    dense += s.found.dense > 0, single += s.found.single > 0, swept += s.found.largest > 32;
    free(exact.score), free(s.scores), free(targets), free(guess);
    wr_csr_free(links);
  }
  CASE("what the shapes had");
  CHECKF(dense > 100 && single > 100 && swept > 50, "%d dense, %d single, %d swept", dense, single, swept);
}

/* The same graphs as the power method's, by an independent power method. */
static void test_graphs(void) {
  wr_csr *(*const make[])(void) = {random_graph, hub_graph, undirected, weighted};
  for (int k = 0; k < 4; k++) {
    ranking r = {.links = make[k](), .options = {.damping = 0.85, .tolerance = 1e-11}};
    ground_case(NULL, "graph %d", k);
    exact_ranks exact = exact_ranks_of(&r);
    solved s = solve_by_components(&r, NULL, NULL, 100000);
    check_met(&r, &s, &exact);
    free(exact.score), free(s.scores);
    wr_csr_free(r.links);
  }
}

/* A component of several blocks: all bits are the same with and without threads. */
static void test_threads(void) {
  wr_csr *patterns[] = {random_matrix(BIG, 12, 0, 0, 5), random_matrix(BIG, 12, 0, 1, 6)};
  for (int kind = 0; kind < 2; kind++) {
    wr_csr *links = patterns[kind];
    for (int64_t k = 0; links->val && k < links->nnz; k++) links->val[k] = fabs(links->val[k]);
    ranking r = {.links = links, .options = {.damping = 0.99, .tolerance = 1e-10}};
    solved alone = solve_by_components(&r, NULL, NULL, 100000);
    ground_case(NULL, "%s, threads", kind ? "weights" : "a pattern");
    CHECKF(alone.found.met && alone.found.largest > BIG / 2, "%lld nodes", (long long)alone.found.largest);
    for (int threads = 1; threads < 5; threads++) {
      wr_team *team = NULL;
      CHECK_OK(wr_team_open(threads, 1, &team));
      solved with = solve_by_components(&r, team, NULL, 100000);
      CHECKF(memcmp(with.scores, alone.scores, BIG * sizeof *alone.scores) == 0, "%d threads", threads);
      CHECK(memcmp(&with.found, &alone.found, sizeof with.found) == 0);
      free(with.scores);
      wr_team_close(team);
    }
    exact_ranks exact = exact_ranks_of(&r);
    check_met(&r, &alone, &exact);
    free(exact.score), free(alone.scores);
    wr_csr_free(links);
  }
}

/* A tolerance below what f64 has: no loop without an end, and the bound holds. */
static void test_rounding(void) {
  uint64_t seed = 77;
  for (int k = 0; k < 40; k++) {
    ranking r = {.links = random_shape(120, &seed), .options = {.damping = k % 2 ? 0.999 : 0.85, .tolerance = 1e-17}};
    ground_case(NULL, "a tolerance of 1e-17, shape %d", k);
    exact_ranks exact = dense_ranks(&r);
    solved s = solve_by_components(&r, NULL, NULL, 100000);
    long double distance = check_bound(&s, &exact);
    CHECKF(distance <= 1e-10L, "%Lg", distance);
    free(exact.score), free(s.scores);
    wr_csr_free(r.links);
  }
}

static wr_csr *
ring_with_a_tail(void) { /* a ring of 300, in which links are few and slow to converge, and 300 nodes behind it */
  entry edges[700];
  int64_t count = 0;
  for (int64_t k = 0; k < 300; k++) edges[count++] = (entry){k, (k + 1) % 300, 1};
  for (int64_t k = 0; k < 300; k += 3) edges[count++] = (entry){(k + 7) % 300, k, 1};
  for (int64_t k = 300; k < 600; k++) edges[count++] = (entry){k - 1, k, 1};
  return pattern_of(600, edges, count);
}

static int told;
static void note_progress(void *context, int64_t iteration, double measure, double target) {
  (void)context;
  CHECKF(iteration >= 0 && measure >= 0 && target == 5, "%lld, %g of %g", (long long)iteration, measure, target);
  told++;
}

static void test_ends(void) {
  ranking r = {.links = ring_with_a_tail(), .options = {.damping = 0.999, .tolerance = 1e-10}};
  exact_ranks exact = dense_ranks(&r);
  volatile sig_atomic_t set = 1;
  wr_history history = {0};
  CASE("interrupted");
  solved s = solve_by_components(&r, NULL, &(wr_monitor){.interrupted = &set}, 100000);
  check_bound(&s, &exact);
  CHECK(s.found.interrupted == WR_INTERRUPTED && s.found.met == 0);
  free(s.scores);
  CASE("a deadline that has passed");
  s = solve_by_components(&r, NULL, &(wr_monitor){.deadline = 1e-9}, 100000);
  check_bound(&s, &exact);
  CHECK(s.found.interrupted == WR_TIME_LIMIT && s.found.met == 0);
  free(s.scores);
  for (int64_t most = 0; most < 6; most++) {
    ground_case(NULL, "%lld multiplies", (long long)most);
    s = solve_by_components(&r, NULL, NULL, most);
    check_bound(&s, &exact);
    CHECKF(s.found.met == 0 && s.found.interrupted == 0 && s.found.multiplies <= (double)most + 6, "%g multiplies",
           s.found.multiplies);
    free(s.scores);
  }
  CASE("progress and history");
  wr_graph graph = {0};
  double *scores = room_for(600, sizeof *scores);
  wr_gauss_seidel_found found;
  wr_gauss_seidel_options o = {.damping = 0.999, .change = 1e-13, .multiplies = 100000, .scale = 1, .target = 5};
  CHECK_OK(wr_graph_build(r.links, 0, NULL, NULL, &graph));
  told = 0;
  CHECK_OK(wr_gauss_seidel_solve(&graph, &o, NULL, NULL, &(wr_monitor){.progress = note_progress, .history = &history},
                                 scores, &found));
  CHECKF(told > 2, "told %d times", told);
  CHECK(history.count == 1 && history.measure[0] == found.bound.residual);
  CHECK((double)history.iteration[0] >= found.multiplies && (double)history.iteration[0] < found.multiplies + 1);
  wr_history_free(&history);
  wr_graph_free(&graph);
  free(scores), free(exact.score);
  wr_csr_free(r.links);
}

static void test_refused(void) {
  wr_csr *links = random_graph();
  wr_graph graph = {0}, none = {0};
  wr_gauss_seidel_found found;
  const wr_gauss_seidel_options fine = {.damping = 0.5, .change = 1e-9, .multiplies = 9};
  static const struct {
    wr_gauss_seidel_options options;
    const char *text;
  } wrong[] = {{{.damping = 1, .change = 1e-9}, "options->damping is 1;"},
               {{.damping = (double)NAN, .change = 1e-9}, "options->damping is"},
               {{.damping = 0.5, .change = 0}, "options->change is 0;"},
               {{.damping = 0.5, .change = (double)INFINITY}, "options->change is inf;"},
               {{.damping = 0.5, .change = (double)NAN}, "options->change is"},
               {{.damping = 0.5, .change = 1e-9, .multiplies = -1}, "options->multiplies is -1"}};
  double *scores = room_for(NODES, sizeof *scores);
  CASE("arguments");
  CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &graph));
  CHECK_FAILS(WR_EUSAGE, wr_gauss_seidel_solve(NULL, &fine, NULL, NULL, NULL, scores, &found));
  CHECK_FAILS(WR_EUSAGE, wr_gauss_seidel_solve(&none, &fine, NULL, NULL, NULL, scores, &found));
  none = graph, none.order = &(int32_t){0};
  CHECK_FAILS(WR_EUSAGE, wr_gauss_seidel_solve(&none, &fine, NULL, NULL, NULL, scores, &found));
  CHECK_MESSAGE("renumbered");
  CHECK_FAILS(WR_EUSAGE, wr_gauss_seidel_solve(&graph, NULL, NULL, NULL, NULL, scores, &found));
  CHECK_FAILS(WR_EUSAGE, wr_gauss_seidel_solve(&graph, &fine, NULL, NULL, NULL, NULL, &found));
  CHECK_FAILS(WR_EUSAGE, wr_gauss_seidel_solve(&graph, &fine, NULL, NULL, NULL, scores, NULL));
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    CHECK_FAILS(WR_EUSAGE, wr_gauss_seidel_solve(&graph, &wrong[k].options, NULL, NULL, NULL, scores, &found));
    CHECK_MESSAGE(wrong[k].text);
  }
  free(scores);
  wr_graph_free(&graph);
  wr_csr_free(links);
}

int main(void) {
  test_shapes();
  test_graphs();
  test_threads();
  test_rounding();
  test_ends();
  test_refused();
  return wr_test_report("gauss_seidel");
}
