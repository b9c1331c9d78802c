/* Many teleport sets at once: the scores of each set against the independent answer within its bound, at every place; the same
 * bits in any company; sets that end at different times; what is refused. */
#define _DEFAULT_SOURCE
#include "solvers/rank/rank_sets.h"

#include "tests/solvers/graph_cases.h"
#include "tests/solvers/rank_fixture.h"

enum { MOST_SETS = 2000 };

/* Sets, and what was found for them. */
typedef struct recorded {
  int64_t n, count;
  int64_t *first, *page;
  double *weight;           /* NULL: 1 each                                */
  wr_rank_sets_options options;
  int reversed;             /* 1: the flow has the pages in descending order */
  int64_t stop_after;       /* sets after which the callback fails; 0: never */
  wr_monitor monitor;
  double spoil;             /* by which the scale of page 0 is multiplied; 0: it stays */
  /* found */
  wr_set_ranks *found;      /* [count]                            */
  int *times;               /* [count] how often it was handed on */
  int is_coarse;            /* 1: the plan sums in less than f64, or rounds terms more than once */
  double *scores;           /* [count][n], if all nodes are asked for */
  wr_rank_sets_facts facts;
} recorded;

/* Room for sets of up to `longest` pages. */
static recorded sets_of(const ground *g, int64_t n, int64_t count, int64_t longest) {
  double tolerance = g->env.type == WR_F32 ? WR_PAGERANK_TOLERANCE_F32 : WR_PAGERANK_TOLERANCE_F64;
  recorded s = {.n = n, .options = {.damping = 0.85, .tolerance = tolerance, .iterations = 1000, .top = n}};
  s.first = room_for(count + 1, sizeof *s.first), s.page = room_for(count * longest, sizeof *s.page);
  s.weight = room_for(count * longest, sizeof *s.weight);
  s.found = room_for(count, sizeof *s.found), s.times = room_for(count, sizeof *s.times);
  s.scores = room_for(count * n, sizeof *s.scores);
  return s;
}

static void free_sets(recorded *s) {
  free(s->first), free(s->page), free(s->weight), free(s->found), free(s->times), free(s->scores);
}

static void add_page(recorded *s, int64_t page, double weight) {
  s->page[s->first[s->count + 1]] = page, s->weight[s->first[s->count + 1]++] = weight;
}

/* Random sets of 1 to `longest` pages, of weights over 200 powers of ten. */
static recorded random_sets(const ground *g, int64_t n, int64_t count, int64_t longest, uint64_t seed) {
  recorded s = sets_of(g, n, count + 1, longest);
  for (int64_t k = 0; k < count; k++) {
    int64_t length = 1 + (int64_t)(random_in(&seed) * (double)longest), page = (int64_t)(random_in(&seed) * (double)n);
    s.first[k + 1] = s.first[k];
    for (int64_t p = 0; p < length && p < n; p++) {
      add_page(&s, page, (k % 3 ? 1 : 1e100 * random_in(&seed)) * (p == 0 || random_in(&seed) < 0.9));
      page = (page + 1 + (int64_t)(random_in(&seed) * (double)(n / (2 * longest)))) % n;
    }
    s.count++;
  }
  return s;
}

static wr_status record(void *context, const wr_set_ranks *found) {
  recorded *s = context;
  double last = INFINITY;
  CHECKF(found->set >= 0 && found->set < s->count, "set %lld", (long long)found->set);
  s->found[found->set] = *found, s->times[found->set]++;
  for (int64_t k = 0; k < found->count; k++) {
    CHECKF(found->score[k] > 0 && found->score[k] <= last, "score %lld of set %lld", (long long)k,
           (long long)found->set);
    last = found->score[k];
    s->scores[found->set * s->n + found->node[k]] += found->score[k];
  }
  return s->facts.done + 1 == s->stop_after ? wr_fail(WR_EOUTPUT, "enough") : WR_OK;
}

static wr_status rank_recorded(ground *g, wr_csr *links, int edges_in, recorded *s) {
  wr_status status;
  wr_graph graph = {0};
  wr_plan *plan = NULL;
  const wr_teleport_sets sets = {s->count, s->first, s->page, s->weight};
  ranking r = {.links = links, .edges_in = edges_in, .reversed = s->reversed};
  ground_threads(s->n);
  TRY(ranking_build(&r, &graph));
  g->env.need_columns = WR_MAX_COLUMNS;
  TRY(wr_plan_create(g->backend, NULL, graph.flow, &g->env, &plan));
  TRY(wr_plan_prepare(plan));
  const wr_plan_info *info = wr_plan_get_info(plan);
  s->is_coarse = info->sum_unit > 0 || info->term_unit > wr_type_unit(g->env.type);
  if (s->spoil) graph.scale[0] *= s->spoil;
  memset(s->scores, 0, (size_t)(s->count * s->n) * sizeof *s->scores);
  memset(s->times, 0, (size_t)s->count * sizeof *s->times);
  status = wr_rank_sets(&graph, plan, &g->env, &sets, &s->options, &s->monitor, record, s, &s->facts);
done:
  g->env.need_columns = 0;
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
  return status;
}

/* Every set was handed on once, and its scores are within the bound, which is within the tolerance. */
static void check_truth(wr_csr *links, int edges_in, const recorded *s) {
  double *teleport = room_for(s->n, sizeof *teleport);
  for (int64_t k = 0; k < s->count; k++) {
    const wr_set_ranks *found = &s->found[k];
    memset(teleport, 0, (size_t)s->n * sizeof *teleport);
    for (int64_t p = s->first[k]; p < s->first[k + 1]; p++) teleport[s->page[p]] = s->weight[p];
    ranking r = {
        .links = links, .edges_in = edges_in, .teleport = teleport, .options = {.damping = s->options.damping}};
    exact_ranks exact = exact_ranks_of(&r);
    long double distance = 0;
    for (int64_t i = 0; i < s->n; i++) distance += fabsl(exact.score[i] - (long double)s->scores[k * s->n + i]);
    CHECKF(s->times[k] == 1, "set %lld was handed on %d times", (long long)k, s->times[k]);
    CHECKF(distance <= (long double)found->bound + exact.error, "set %lld: error %.3Lg, bound %.3g", (long long)k,
           distance, found->bound);
    int is_missed = s->is_coarse && !s->options.stop_on_change && found->bound > s->options.tolerance;
    CHECKF(found->outcome == (is_missed ? WR_STAGNATED : WR_CONVERGED), "set %lld: %s with %g of %g", (long long)k,
           wr_outcome_title(found->outcome), found->bound, s->options.tolerance);
    CHECKF(found->bound <= 1.05 * s->options.tolerance || s->is_coarse, "set %lld: bound %g", (long long)k,
           found->bound);
    free(exact.score);
  }
  CHECKF(s->facts.done == s->count, "%lld sets done", (long long)s->facts.done);
  free(teleport);
}

static void try_graph(ground *g, const char *name, wr_csr *links, int edges_in, int reversed) {
  ground_case(g, "sets on a graph: %s", name);
  recorded s = random_sets(g, links->nrows, 9, 5, 77);
  s.reversed = reversed, s.options.checks = 3;
  CHECK_OK(rank_recorded(g, links, edges_in, &s));
  check_truth(links, edges_in, &s);
  CHECKF(s.facts.checked == 3 && s.facts.refuted == 0, "%lld checked, %lld refuted", (long long)s.facts.checked,
         (long long)s.facts.refuted);
  free_sets(&s);
  wr_csr_free(links);
}

/* Pages of odd numbers have no links. */
static wr_csr *half_dangling(void) {
  uint64_t seed = 17;
  entry *edges = room_for(3 * NODES, sizeof *edges);
  for (int64_t k = 0; k < 3 * NODES; k++) edges[k] = (entry){k % NODES / 2 * 2, (int64_t)(random_in(&seed) * NODES), 1};
  wr_csr *links = pattern_of(NODES, edges, 3 * NODES);
  free(edges);
  return links;
}

static void test_truth(ground *g) {
  try_graph(g, "random", random_graph(), 0, 0);
  try_graph(g, "half of the pages dangle", half_dangling(), 0, 0);
  try_graph(g, "reversed order", random_graph(), 0, 1);
  try_graph(g, "edges in", random_graph(), 1, 0);
  try_graph(g, "weights", weighted(), 0, 0);
  try_graph(g, "undirected", undirected(), 0, 0);
}

static void test_hub(ground *g) { try_graph(g, "a hub", hub_graph(), 0, 0); }

/* The facts of a set are the same bits. */
static void check_same(const recorded *a, int64_t k, const recorded *b, int64_t l) {
  const wr_set_ranks *x = &a->found[k], *y = &b->found[l];
  CHECKF(x->iterations == y->iterations && x->change == y->change && x->bound == y->bound && x->outcome == y->outcome,
         "set %lld: %lld sweeps to %g, and %lld to %g", (long long)k, (long long)x->iterations, x->change,
         (long long)y->iterations, y->change);
  CHECKF(memcmp(a->scores + k * a->n, b->scores + l * b->n, (size_t)a->n * sizeof *a->scores) == 0,
         "set %lld has other scores", (long long)k);
}

/* A set alone, in the middle of others, in another order and, on the host, in batches of another width. */
static void test_company(ground *g) {
  wr_csr *links = half_dangling();
  recorded all = random_sets(g, links->nrows, 11, 300, 5), turned = random_sets(g, links->nrows, 11, 300, 5);
  int64_t at = 0, different = 0;
  ground_case(g, "sets in company");
  all.options.check_every = turned.options.check_every = 1;
  CHECK_OK(rank_recorded(g, links, 0, &all));
  for (int64_t k = 0; k < all.count; k++) { /* the last set first */
    int64_t from = all.count - 1 - k;
    turned.first[k] = at;
    for (int64_t p = all.first[from]; p < all.first[from + 1]; p++, at++)
      turned.page[at] = all.page[p], turned.weight[at] = all.weight[p];
  }
  turned.first[all.count] = at;
  CHECK_OK(rank_recorded(g, links, 0, &turned));
  for (int64_t k = 0; k < all.count; k++) check_same(&all, k, &turned, all.count - 1 - k);
  for (int64_t k = 1; k < all.count; k++) different += all.found[k].iterations != all.found[0].iterations;
  CHECKF(different > 0, "all sets took %lld sweeps", (long long)all.found[0].iterations);
  for (int width = 1; width <= WR_MAX_COLUMNS; width *= 2) {
    if (g->env.place == WR_CUDA && width != wr_rank_sets_columns(&g->env)) continue;
    for (int64_t k = 0; k < all.count; k += 3) {
      recorded one = sets_of(g, links->nrows, 2, 300);
      one.options.columns = width, one.options.check_every = 1;
      for (int64_t p = all.first[k]; p < all.first[k + 1]; p++) {
        one.page[one.first[1]] = all.page[p], one.weight[one.first[1]++] = all.weight[p];
      }
      one.count = 1;
      CHECK_OK(rank_recorded(g, links, 0, &one));
      check_same(&all, k, &one, 0);
      free_sets(&one);
    }
  }
  free_sets(&all), free_sets(&turned);
  wr_csr_free(links);
}

/* 2000 sets on five nodes, of which each is one of five; on a device, which the shim may simulate, 200. */
static void test_queue(ground *g) {
  entry edges[] = {{0, 1, 1}, {1, 2, 1}, {2, 0, 1}, {2, 3, 1}, {3, 0, 1}};
  wr_csr *links = pattern_of(5, edges, 5);
  int64_t most = g->env.place == WR_HOST ? MOST_SETS : MOST_SETS / 10;
  recorded s = sets_of(g, 5, MOST_SETS, 1);
  ground_case(g, "%lld sets on five nodes", (long long)most);
  for (int64_t k = 0; k < most; k++) s.first[k + 1] = k + 1, s.page[k] = k * k % 5, s.weight[k] = 1 + (double)k;
  s.count = 10;
  CHECK_OK(rank_recorded(g, links, 0, &s));
  check_truth(links, 0, &s);
  s.count = most;
  CHECK_OK(rank_recorded(g, links, 0, &s));
  for (int64_t k = 0; k < most; k++) {
    CHECKF(s.times[k] == 1, "set %lld was handed on %d times", (long long)k, s.times[k]);
    for (int64_t l = 0; l < 10; l++)
      if (s.page[l] == s.page[k]) check_same(&s, l, &s, k);
  }
  free_sets(&s);
  wr_csr_free(links);
}

/* What ends sets early, or none; and the few best nodes. */
static void test_ends(ground *g) {
  wr_csr *links = random_graph();
  static volatile sig_atomic_t signalled = 1;
  recorded s = random_sets(g, links->nrows, 9, 3, 9), all = random_sets(g, links->nrows, 9, 3, 9);
  ground_case(g, "ends");
  CHECK_OK(rank_recorded(g, links, 0, &all));
  s.options.top = 3;
  CHECK_OK(rank_recorded(g, links, 0, &s));
  for (int64_t k = 0; k < s.count; k++) {
    double third = 0, rest = 0;
    CHECKF(s.found[k].count == 3, "%lld nodes", (long long)s.found[k].count);
    for (int64_t i = 0; i < s.n; i++) {
      double score = s.scores[k * s.n + i], same = all.scores[k * s.n + i];
      CHECKF(score == 0 || score == same, "set %lld: score %g of %g", (long long)k, score, same);
      if (score > 0 && (third == 0 || score < third)) third = score;
      if (score == 0) rest = fmax(rest, same);
    }
    CHECKF(rest <= third, "set %lld: a score of %g is not among the best, down to %g", (long long)k, rest, third);
  }
  s.options.iterations = 2, s.options.check_every = 2;
  CHECK_OK(rank_recorded(g, links, 0, &s));
  for (int64_t k = 0; k < s.count; k++)
    CHECKF(s.found[k].outcome == WR_MAX_ITERATIONS && s.found[k].iterations == 2 && s.found[k].bound > 0.01, "%s, %g",
           wr_outcome_title(s.found[k].outcome), s.found[k].bound);
  s.options.iterations = 5000, s.options.tolerance = 1e-300;
  CHECK_OK(rank_recorded(g, links, 0, &s));
  for (int64_t k = 0; k < s.count; k++)
    CHECKF(s.found[k].outcome == WR_STAGNATED || s.found[k].change == 0, "%s", wr_outcome_title(s.found[k].outcome));
  s.monitor.interrupted = &signalled;
  CHECK_OK(rank_recorded(g, links, 0, &s));
  CHECKF(s.facts.ended == WR_INTERRUPTED && s.facts.done == s.facts.columns && s.facts.done < s.count, "%lld sets",
         (long long)s.facts.done);
  s.monitor.interrupted = NULL, s.stop_after = 2, s.options.tolerance = 1e-3;
  CHECK_FAILS(WR_EOUTPUT, rank_recorded(g, links, 0, &s));
  s.stop_after = 0, s.count = 0;
  CHECK_OK(rank_recorded(g, links, 0, &s));
  CHECKF(s.facts.done == 0 && s.facts.multiplies == 0, "%lld sets", (long long)s.facts.done);
  free_sets(&s), free_sets(&all);
  wr_csr_free(links);
}

/* A multiply that is wrong is seen by the host's check. */
static void test_refuted(ground *g) {
  wr_csr *links = random_graph();
  recorded s = sets_of(g, links->nrows, 2, 1);
  ground_case(g, "a wrong multiply");
  s.first[1] = s.count = 1, s.weight[0] = 1, s.options.checks = 1, s.spoil = 0.5;
  CHECK_OK(rank_recorded(g, links, 0, &s));
  CHECKF(s.facts.checked == 1 && s.facts.refuted == 1 && s.found[0].is_refuted, "host %g, device %g",
         s.found[0].checked, s.found[0].bound);
  free_sets(&s);
  wr_csr_free(links);
}

static void test_refusals(ground *g) {
  static const struct {
    int64_t page[2];
    double weight[2];
    int64_t first, second; /* pages of the two sets */
    const char *text;
  } cases[] = {
      {{0, 1}, {1, 1}, 2, 0, "set 2 has no page"},
      {{0, 700}, {1, 1}, 1, 1, "set 2: there is no page 700"},
      {{-1, 0}, {1, 1}, 1, 1, "set 1: there is no page -1"},
      {{3, 3}, {1, 1}, 2, 0, "set 1 has page 3 twice"},
      {{3, 4}, {1, -1}, 1, 1, "set 2 has the weight -1"},
      {{3, 4}, {(double)NAN, 1}, 1, 1, "set 1 has the weight nan"},
      {{3, 4}, {(double)INFINITY, 1}, 1, 1, "set 1 has the weight inf"},
      {{3, 4}, {0, 0}, 2, 0, "set 1: all weights are 0"},
  };
  wr_csr *links = random_graph();
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    recorded s = sets_of(g, links->nrows, 3, 2);
    ground_case(g, "refusal: %s", cases[k].text);
    memcpy(s.page, cases[k].page, sizeof cases[k].page), memcpy(s.weight, cases[k].weight, sizeof cases[k].weight);
    s.first[1] = cases[k].first, s.first[2] = cases[k].first + cases[k].second, s.count = 2;
    CHECK_FAILS(WR_EINPUT, rank_recorded(g, links, 0, &s));
    CHECK_MESSAGE(cases[k].text);
    free_sets(&s);
  }
  wr_csr_free(links);
}

static void test_all(ground *g) {
  test_truth(g);
  test_company(g);
  test_queue(g);
}

static void test_defaults(ground *g) {
  test_all(g);
  test_hub(g);
  test_ends(g);
  test_refuted(g);
  test_refusals(g);
}

static void test_others(ground *g) {
  if (g->backend == wr_backend_default(g->backend->place) || strcmp(g->backend->name, "csr_warp") == 0) return;
  try_graph(g, "random", random_graph(), 0, 0);
}

int main(void) {
  on_default_grounds(test_defaults);
  on_every_ground(test_others);
  return wr_test_report("rank_sets");
}
