/* The best nodes, found by pieces at the place of a solve, against sorting all scores: with ties, negative scores, NaN and
 * infinities, of nodes with and without links, at every place. */
#define _DEFAULT_SOURCE
#include "solvers/candidates.h"

#include "spmv/device/pieces.h"
#include "tests/solvers/graph_cases.h"

/* ---- The operations ---- */

/* Pieces of every kind of length, of a vector with NaN, against a loop. */
static void test_pieces(ground *g) {
  static const int64_t sizes[] = {1, 31, 32, 33, 1000, 5003}, lengths[] = {1, 2, 31, 32, 100, 6000, INT64_MAX};
  wr_env *env = &g->env;
  uint64_t seed = 5;
  for (int s = 0; s < 6; s++)
    for (int l = 0; l < 7; l++) {
      int64_t n = sizes[s], length = lengths[l], pieces = wr_pieces_of(n, length), chosen = 0, wrong = 0;
      ground_case(g, "pieces of %lld in %lld elements", (long long)length, (long long)n);
      double *x = room_for(n, sizeof *x), *scale = room_for(n, sizeof *scale), *seen = room_for(pieces, sizeof *seen);
      double *numbers = room_for(pieces + 2, sizeof *numbers);
      wr_vec v, by, to, list, picked;
      for (int64_t i = 0; i < n; i++) {
        x[i] = i / length % 5 == 1 || random_in(&seed) < 0.1 ? (double)NAN : (double)(float)(random_in(&seed) - 0.7);
        scale[i] = i % 3 == 0 ? 0 : 1 / (double)(1 << i % 3); /* exact in f32 */
      }
      CHECK_OK(env->ops->alloc(env, n, env->type, "a test", &v));
      CHECK_OK(env->ops->upload(env, &v, x));
      CHECK_OK(env->ops->compact(env, n, scale, "a test", &by));
      CHECK_OK(env->ops->alloc(env, pieces, WR_F64, "a test", &to));
      CHECK_OK(env->ops->maxima(env, &v, &by, length, &to));
      CHECK_OK(env->ops->download(env, &to, seen));
      for (int64_t c = 0; c < pieces; c++) {
        double greatest = -INFINITY;
        for (int64_t i = c * length; i < n && i - c * length < length; i++)
          greatest = fmax(greatest, scale[i] != 0 ? x[i] / scale[i] : x[i]);
        wrong += seen[c] != greatest;
      }
      CHECKF(wrong == 0, "%lld of %lld maxima", (long long)wrong, (long long)pieces);
      if (length <= 6000) {
        for (int64_t c = pieces - 1; c >= 0; c -= 3) numbers[chosen++] = (double)c; /* and one that does not exist */
        numbers[chosen++] = pieces > 1 ? (double)pieces : -1;
        CHECK_OK(env->ops->alloc(env, chosen, WR_F64, "a test", &list));
        CHECK_OK(env->ops->alloc(env, chosen * length, env->type, "a test", &picked));
        CHECK_OK(env->ops->upload(env, &list, numbers));
        CHECK_OK(env->ops->pick(env, &v, length, &list, &picked));
        double *copies = room_for(chosen * length, sizeof *copies);
        CHECK_OK(env->ops->download(env, &picked, copies));
        for (int64_t at = 0; at < chosen * length; at++) {
          int64_t i = (int64_t)numbers[at / length] * length + at % length;
          double expected = i >= 0 && i < n && at / length < chosen - 1 ? x[i] : 0;
          wrong += !(copies[at] == expected || (isnan(copies[at]) && isnan(expected)));
        }
        CHECKF(wrong == 0, "%lld elements of the picked pieces", (long long)wrong);
        env->ops->release(env, &list), env->ops->release(env, &picked);
        free(copies);
      }
      env->ops->release(env, &v), env->ops->release(env, &by), env->ops->release(env, &to);
      free(x), free(scale), free(seen), free(numbers);
    }
}

/* ---- The best nodes ---- */

/* NaN last, ties by number. */
static int better_first(const void *left, const void *right) {
  const wr_candidate *a = left, *b = right;
  int nan = isnan(a->score), other = isnan(b->score);
  if (nan != other) return nan - other;
  if (!nan && a->score != b->score) return a->score > b->score ? -1 : 1;
  return a->node < b->node ? -1 : a->node > b->node;
}

/* All nodes, best first. */
static wr_candidate *sorted(const wr_graph *graph, const wr_env *env, const double *x) {
  wr_candidate *all = room_for(graph->n, sizeof *all);
  for (int64_t i = 0; i < graph->n; i++) {
    int64_t node = graph->order ? graph->order[i] : i;
    double degree = (double)(graph->links->row_ptr[node + 1] - graph->links->row_ptr[node]);
    double stored = env->type == WR_F32 ? (double)(float)x[i] : x[i];
    all[i] = (wr_candidate){graph->links->val || degree == 0 ? stored : stored * degree, node};
  }
  qsort(all, (size_t)graph->n, sizeof *all, better_first);
  return all;
}

/* The list begins as that of all nodes does, and what is not in it is worse than its least. */
static void check_list(const wr_candidates *c, const wr_candidate *all, int64_t n, int64_t wanted) {
  int64_t wrong = 0;
  CHECKF(c->count >= (wanted < n ? wanted : n), "%lld found", (long long)c->count);
  for (int64_t k = 0; k < c->count && !isnan(c->score[k]); k++)
    wrong += c->node[k] != all[k].node || c->score[k] != all[k].score;
  CHECKF(wrong == 0, "%lld of %lld are wrong", (long long)wrong, (long long)c->count);
  CHECK(c->count >= n || isnan(all[c->count].score) || all[c->count].score < c->least ||
        isnan(c->score[c->count - 1])); /* NaN may be left out before others */
}

typedef enum kind { DISTINCT, TIES, NEGATIVE, WITH_NAN, WITH_INFINITY, EQUAL, SORTED, KINDS } kind;
static const char *const names[] = {"distinct", "ties", "negative", "NaN", "infinities", "all equal", "ascending"};

static double score_of(kind what, int64_t i, int64_t n, uint64_t *seed) {
  double any = random_in(seed);
  if (what == TIES) return floor(any * 7) / 8;
  if (what == NEGATIVE) return any - 1.25;
  if (what == WITH_NAN) return any < 0.3 ? (double)NAN : floor(any * 40) / 64;
  if (what == WITH_INFINITY) return any < 0.001 ? (double)INFINITY : any < 0.3 ? -(double)INFINITY : any;
  if (what == EQUAL) return 0.25;
  return what == SORTED ? (double)(i + 1) / (double)(2 * n) : any;
}

static void test_best(ground *g, const wr_graph *graph, kind what) {
  wr_env *env = &g->env;
  int64_t n = graph->n;
  uint64_t seed = 17 + (uint64_t)what;
  double *x = room_for(n, sizeof *x);
  wr_vec v, scale;
  for (int64_t i = 0; i < n; i++) {
    int64_t node = graph->order ? graph->order[i] : i;
    double out = graph->links->val ? 1 : (double)(graph->links->row_ptr[node + 1] - graph->links->row_ptr[node]);
    x[i] = score_of(what, i, n, &seed) / (out > 0 ? out : 1);
  }
  wr_candidate *all = sorted(graph, env, x);
  double *by_row = room_for(n, sizeof *by_row);
  wr_graph_arrange(graph, graph->scale, by_row);
  CHECK_OK(env->ops->alloc(env, n, env->type, "a test", &v));
  CHECK_OK(env->ops->upload(env, &v, x));
  CHECK_OK(env->ops->compact(env, n, by_row, "a test", &scale));
  const int64_t counts[] = {0, 1, 2, 11, n / 3, n - 1, n, n + 1, 10 * n};
  for (int k = 0; k < (n > 2000 ? 5 : 9); k++) {
    int64_t wanted = counts[k];
    wr_candidates c;
    ground_case(g, "%lld of %lld nodes, %s%s%s", (long long)wanted, (long long)n, names[what],
                graph->links->val ? ", weights" : "", graph->order ? ", another order" : "");
    CHECK_OK(wr_candidates_open(&c, graph, env, wanted));
    CHECK_OK(wr_candidates_find(&c, &v, &scale));
    if (wanted < 1) {
      CHECK(c.count == 0);
    } else if (c.most == c.pieces || what == DISTINCT) { /* else there may be too many */
      check_list(&c, all, n, wanted);
      double lower = all[n - 1 - n / 4].score;
      CHECK_OK(wr_candidates_down_to(&c, &v, lower));
      if (c.most == c.pieces && !isnan(lower)) check_list(&c, all, n, n - n / 4);
    } else if (c.count > 0) {
      check_list(&c, all, n, wanted);
    }
    wr_candidates_close(&c);
  }
  env->ops->release(env, &v), env->ops->release(env, &scale);
  free(x), free(all), free(by_row);
}

/* Node i has i % 4 links, so that some have none. */
static wr_csr *links_of(int64_t n, int weighted) {
  entry *edges = room_for(3 * n, sizeof *edges);
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < i % 4 && k < n; k++) edges[count++] = (entry){i, (i * 7 + k) % n, 0.5 + (double)k};
  wr_csr *links = matrix_of(n, edges, count, weighted);
  free(edges);
  return links;
}

/* From about 2^16 elements on there is not room for all pieces. */
static void test_graphs(ground *g) {
  static const int64_t sizes[] = {1, 2, 3, 40, 1500, 100000};
  for (int s = 0; s < 6; s++)
    for (int other = 0; other < 3; other++) {
      int64_t n = sizes[s];
      if (n > 2000 && (other > 0 || g->env.place == WR_CUDA)) continue; /* kernels on the CPU take long */
      wr_graph graph = {0};
      wr_csr *links = links_of(n, other == 1);
      CHECK_OK(wr_graph_begin(links, 0, NULL, NULL, &graph));
      if (other == 2) CHECK_OK(wr_alloc(&graph.order, n, sizeof *graph.order, "an order"));
      for (int64_t k = 0; other == 2 && k < n; k++) graph.order[k] = (int32_t)(n - 1 - k);
      CHECK_OK(wr_graph_finish(&graph, NULL));
      for (int what = 0; what < KINDS; what++) test_best(g, &graph, (kind)what);
      wr_graph_free(&graph);
      wr_csr_free(links);
    }
}

/* Where more nodes are equal than there is room for, none are found; one that stands out is found. */
static void test_crowded(ground *g) {
  enum { N = 150000 };
  wr_env *env = &g->env;
  wr_csr *links = pattern_of(N, NULL, 0);
  wr_graph graph = {0};
  double *x = room_for(N, sizeof *x);
  wr_vec v, scale;
  wr_candidates c;
  ground_case(g, "too many equal nodes");
  for (int64_t i = 0; i < N; i++) x[i] = 0.25;
  x[77777] = 0.5;
  CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &graph));
  CHECK_OK(env->ops->alloc(env, N, env->type, "a test", &v));
  CHECK_OK(env->ops->upload(env, &v, x));
  CHECK_OK(env->ops->compact(env, N, graph.scale, "a test", &scale));
  for (int64_t wanted = 1; wanted < 3; wanted++) {
    CHECK_OK(wr_candidates_open(&c, &graph, env, wanted));
    CHECK(c.most < c.pieces);
    CHECK_OK(wr_candidates_find(&c, &v, &scale));
    CHECKF(c.count == (wanted == 1), "%lld of %lld", (long long)c.count, (long long)wanted);
    if (wanted == 1) CHECK(c.node[0] == 77777 && c.score[0] == 0.5 && c.least <= 0.5 && c.least > 0.25);
    CHECK_OK(wr_candidates_down_to(&c, &v, 0.25));
    CHECK(c.count == 0 && c.least == INFINITY);
    wr_candidates_close(&c);
  }
  env->ops->release(env, &v), env->ops->release(env, &scale);
  wr_graph_free(&graph);
  wr_csr_free(links);
  free(x);
}

static void test_place(ground *g) {
  test_pieces(g);
  test_graphs(g);
  test_crowded(g);
}

int main(void) {
  on_default_grounds(test_place);
  return wr_test_report("candidates");
}
