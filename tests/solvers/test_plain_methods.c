/* windrow's methods beside a textbook's (plain_methods.h) in both types and in every way of repeating iterations, BiCGSTAB and
 * PageRank on every backend: their histories, their numbers of iterations and their answers differ by no more than rounding
 * explains. */
#define _DEFAULT_SOURCE
#include "config/defaults.h"
#include "solvers/bicgstab.h"
#include "solvers/pagerank.h"
#include "solvers/verify.h"
#include "tests/solvers/graph_cases.h"
#include "tests/solvers/plain_methods.h"

/* How iterations are repeated. On the host the first and third are all there is. */
typedef struct way {
  const char *name;
  int no_resident, no_graph, no_conditions;
  int64_t check_every;
} way;

static const way ways[] = {
    {.name = "by default", .check_every = 1},
    {.name = "in a graph", .no_resident = 1, .check_every = 1},
    {.name = "in a graph, a check every 8 iterations", .no_resident = 1, .check_every = 8},
    {.name = "in a graph without conditions", .no_resident = 1, .no_conditions = 1, .check_every = 1},
    {.name = "by the host", .no_graph = 1, .check_every = 1},
};
enum { WAYS = sizeof ways / sizeof *ways, MOST_ITERATIONS = 1000 };

static int is_way_of(const ground *g, int k) { return g->env.place == WR_CUDA || k == 0 || k == 2; }

/* Of a pair other than the first: kernels on the CPU take long, and test_methods.c compares the ways with each other. */
static int is_way_of_more(int k) { return k == 0 || k == 2; }

static double longest_row_of(const wr_csr *A) {
  int64_t longest = 0;
  for (int64_t i = 0; i < A->nrows; i++)
    if (A->row_ptr[i + 1] - A->row_ptr[i] > longest) longest = A->row_ptr[i + 1] - A->row_ptr[i];
  return (double)longest;
}

/* ---- Linear systems ---- */

/* A method by windrow and by the textbook. */
typedef struct method_pair {
  const char *name;
  const wr_method *method;
  plain_method *plain;
  int l;
  int multiplies; /* of an iteration */
  int applied;  /* 1: with Jacobi as a preconditioner that is applied */
  int positive; /* 1: for symmetric positive definite matrices        */
} method_pair;

static const method_pair pairs[] = {
    {.name = "BiCGSTAB", .method = &wr_method_bicgstab, .multiplies = 2, .plain = plain_bicgstab},
    {.name = "BiCGSTAB, Jacobi applied", .method = &wr_method_bicgstab, .multiplies = 2, .plain = plain_bicgstab,
     .applied = 1},
    {.name = "BiCGSTAB(1)", .method = &wr_method_bicgstabl, .multiplies = 2, .plain = plain_bicgstabl, .l = 1},
    {.name = "BiCGSTAB(2)", .method = &wr_method_bicgstabl, .multiplies = 4, .plain = plain_bicgstabl, .l = 2},
    {.name = "BiCGSTAB(2), Jacobi applied", .method = &wr_method_bicgstabl, .multiplies = 4, .plain = plain_bicgstabl,
     .l = 2, .applied = 1},
    {.name = "BiCGSTAB(4)", .method = &wr_method_bicgstabl, .multiplies = 8, .plain = plain_bicgstabl, .l = 4},
    {.name = "IDR", .method = &wr_method_idr, .multiplies = 5, .plain = plain_idr},
    {.name = "IDR, Jacobi applied", .method = &wr_method_idr, .multiplies = 5, .plain = plain_idr, .applied = 1},
    {.name = "CG", .method = &wr_method_cg, .multiplies = 1, .plain = plain_cg, .positive = 1},
    {.name = "CG, Jacobi applied", .method = &wr_method_cg, .multiplies = 1, .plain = plain_cg, .applied = 1,
     .positive = 1},
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

typedef struct system_case {
  const char *name;
  wr_csr *(*make)(void);
  int jacobi, with_guess;
  int positive;  /* 1: symmetric positive definite                                          */
  int host_only; /* large enough for two threads; kernels on the CPU take too long for it */
} system_case;

static wr_csr *one_row(void) { return matrix_of_picture(1, (const double[]){3}); }
static wr_csr *two_rows(void) { return matrix_of_picture(2, (const double[]){3, 1, -1, 2}); }
static wr_csr *small_system(void) { return random_matrix(300, 6, 12, 1, 101); }
static wr_csr *larger_system(void) { return random_matrix(1500, 5, 7, 1, 102); }
static wr_csr *parallel_system(void) { return random_matrix(12000, 3, 5, 1, 103); }

/* Values far from 1, which wr_system_build scales. */
static wr_csr *large_values(void) {
  wr_csr *A = random_matrix(500, 4, 6, 1, 104);
  for (int64_t k = 0; k < A->nnz; k++) A->val[k] *= 1e30;
  return A;
}

/* Columns of sizes between e^-6 and e^6, for Jacobi. */
static wr_csr *uneven_columns(void) {
  wr_csr *A = random_matrix(1000, 6, 9, 1, 105);
  for (int64_t k = 0; k < A->nnz; k++) A->val[k] *= exp((double)(A->col[k] * 7 % 13 - 6));
  return A;
}

/* Convection and diffusion on a grid of 20 x 25 points: 5 entries a row, not symmetric. */
static wr_csr *convection(void) {
  enum { WIDTH = 20, HEIGHT = 25 };
  entry *entries = room_for(5 * WIDTH * HEIGHT, sizeof *entries);
  int64_t count = 0;
  for (int64_t i = 0; i < WIDTH * HEIGHT; i++) {
    entries[count++] = (entry){i, i, 4.25};
    if (i % WIDTH > 0) entries[count++] = (entry){i, i - 1, -1.4};
    if (i % WIDTH < WIDTH - 1) entries[count++] = (entry){i, i + 1, -0.6};
    if (i >= WIDTH) entries[count++] = (entry){i, i - WIDTH, -1.2};
    if (i < WIDTH * (HEIGHT - 1)) entries[count++] = (entry){i, i + WIDTH, -0.8};
  }
  wr_csr *A = matrix_of(WIDTH * HEIGHT, entries, count, 1);
  free(entries);
  return A;
}

/* Diffusion on a grid of 20 x 25 points, and more of it at some of them: symmetric and diagonally dominant. */
static wr_csr *diffusion(void) {
  enum { WIDTH = 20, HEIGHT = 25 };
  entry *entries = room_for(5 * WIDTH * HEIGHT, sizeof *entries);
  int64_t count = 0;
  for (int64_t i = 0; i < WIDTH * HEIGHT; i++) {
    entries[count++] = (entry){i, i, 6 + (i % 7 == 0 ? (double)(i % 11) : 0)};
    if (i % WIDTH > 0) entries[count++] = (entry){i, i - 1, -1};
    if (i % WIDTH < WIDTH - 1) entries[count++] = (entry){i, i + 1, -1};
    if (i >= WIDTH) entries[count++] = (entry){i, i - WIDTH, -1};
    if (i < WIDTH * (HEIGHT - 1)) entries[count++] = (entry){i, i + WIDTH, -1};
  }
  wr_csr *A = matrix_of(WIDTH * HEIGHT, entries, count, 1);
  free(entries);
  return A;
}

static const system_case systems[] = {
    {.name = "one row", .make = one_row, .positive = 1},
    {.name = "two rows", .make = two_rows},
    {.name = "300 rows", .make = small_system},
    {.name = "300 rows, a first guess", .make = small_system, .with_guess = 1},
    {.name = "1500 rows", .make = larger_system},
    {.name = "12000 rows", .make = parallel_system, .host_only = 1},
    {.name = "large values", .make = large_values},
    {.name = "uneven columns, Jacobi", .make = uneven_columns, .jacobi = 1},
    {.name = "convection and diffusion", .make = convection},
    {.name = "diffusion", .make = diffusion, .positive = 1},
    {.name = "diffusion, a first guess", .make = diffusion, .positive = 1, .with_guess = 1},
};

static double *random_vector(int64_t n, uint64_t seed) {
  double *v = room_for(n, sizeof *v);
  for (int64_t i = 0; i < n; i++) v[i] = 2 * random_in(&seed) - 1;
  return v;
}

/* What the plain method finds, and how far rounding may take windrow from it.
 *
 * The rounding of one of windrow's products is that of an exact product with another matrix (backward error): values of A, its
 * factor p or s and its result v or t are stored in the type of unit u, and so is r, and with M the diagonal of M^-1 and the
 * factor before M^-1; a product rounds its terms by term_unit
 * and each addition of a row by sum_unit; a sum over a vector of n is off by n units of f64 at most, there or in the plain
 * method. Together every entry of A is off by relative_rounding below, and by something else in each product. What this does to
 * a history is found by the plain method itself: it solves the system SAMPLES times with random noise of that size in b and in
 * every product. A few samples are not the worst one, so the noise is MARGIN times as large. windrow's history may be as far
 * from the plain one as that of any sample, besides the rounding of the last iteration by itself, which is relative to the
 * residual that it begins with. windrow may take as few iterations as the shortest sample and as many as the longest. */
enum { SAMPLES = 8, MARGIN = 4 };

typedef struct expectation {
  plain_run run;
  double *u;            /* [n] the plain method's answer                                      */
  double *allowed;      /* [run.iterations] on the difference of windrow's history and run's  */
  int64_t fewest, most; /* iterations                                                         */
} expectation;

static double relative_rounding(const wr_csr *A, wr_rounding rounding, int applied) {
  return (applied ? 9 : 7) * rounding.unit + 2 * rounding.term_unit + 2 * (longest_row_of(A) + 2) * rounding.sum_unit +
         (double)A->nrows * 0x1p-53;
}

static double *guess_or_zeros(const wr_system *system) {
  double *u = room_for(system->n, sizeof *u);
  if (system->guess) memcpy(u, system->guess, (size_t)system->n * sizeof *u);
  return u;
}

static void add_sample(expectation *e, const wr_system *system, const method_pair *m, plain_problem p, double relative,
                       uint64_t seed) {
  plain_noise noise = {.relative = relative, .seed = seed};
  double *b = room_for(system->n, sizeof *b), *u = guess_or_zeros(system);
  for (int64_t i = 0; i < system->n; i++) b[i] = system->b[i] * (1 + relative * (2 * random_in(&noise.seed) - 1));
  p.b = b, p.noise = &noise;
  plain_run run = m->plain(&p, u);
  if (run.iterations < e->fewest) e->fewest = run.iterations;
  if (run.iterations > e->most) e->most = run.iterations;
  for (int64_t k = 0; k < e->run.iterations && k < run.iterations; k++)
    e->allowed[k] = fmax(e->allowed[k], fabs(run.history[k] - e->run.history[k]));
  plain_run_free(&run);
  free(b), free(u);
}

static double *inverse_diagonal(const wr_csr *A) {
  double *inverse = room_for(A->nrows, sizeof *inverse);
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      if (A->col[k] == i) inverse[i] = 1 / A->val[k];
  return inverse;
}

static expectation expect_system(const wr_system *system, const method_pair *m, double tolerance,
                                 wr_rounding rounding) {
  expectation e = {.u = guess_or_zeros(system)};
  double relative = MARGIN * relative_rounding(system->matrix, rounding, m->applied);
  double *inverse = m->applied ? inverse_diagonal(system->matrix) : NULL;
  plain_problem p = {.A = system->matrix, .b = system->b, .inverse = inverse, .l = m->l, .tolerance = tolerance,
                     .limit = MOST_ITERATIONS};
  e.run = m->plain(&p, e.u);
  CHECKF(e.run.converged, "the plain method did not converge");
  e.allowed = room_for(e.run.iterations, sizeof *e.allowed);
  e.fewest = e.most = e.run.iterations;
  for (int k = 0; k < SAMPLES; k++) add_sample(&e, system, m, p, relative, (uint64_t)k + 1);
  for (int64_t k = 0; k < e.run.iterations; k++) e.allowed[k] += relative * (k > 0 ? e.run.history[k - 1] : 1);
  free(inverse);
  return e;
}

/* A comparison that allows much shows little: 0.001 at most in f64. In f32 rounding changes a history soon, so that is 0.02 in
 * the first four multiplies, and in a first iteration that takes more of them 0.1 ||b||. */
static void check_sharp(const ground *g, const expectation *e, const method_pair *m) {
  int is_f64 = g->env.type == WR_F64, is_short = m->multiplies <= 4;
  for (int64_t k = 0; k < e->fewest - 1 && (is_f64 || k < (is_short ? 4 / m->multiplies : 1)); k++) {
    double sharp = is_f64 ? 1e-3 * e->run.history[k] : is_short ? 2e-2 * e->run.history[k] : 0.1;
    CHECKF(e->allowed[k] <= sharp, "iteration %lld: rounding explains %g of %g", (long long)k + 1, e->allowed[k],
           e->run.history[k]);
  }
}

static void expectation_free(expectation *e) {
  plain_run_free(&e->run);
  free(e->u), free(e->allowed);
}

/* Compares up to the iteration that all samples have. If the half step ends a solve, its last residual is that of s, in windrow
 * as in the plain method. In longer iterations the two may end at different residuals that meet the tolerance. */
static void check_residuals(const expectation *e, const wr_history *history, const method_pair *m, double tolerance) {
  for (int64_t k = 0; k < history->count && history->iteration[k] <= e->fewest; k++) {
    int64_t at = history->iteration[k] - 1;
    if (m->multiplies > 2 && history->measure[k] <= tolerance && e->run.history[at] <= tolerance) continue;
    double off = fabs(history->measure[k] - e->run.history[at]);
    CHECKF(off <= e->allowed[at], "iteration %lld: residual %.17g, the plain method's %.17g, off by %.3g of %.3g",
           (long long)at + 1, history->measure[k], e->run.history[at], off, e->allowed[at]);
  }
}

/* Of the iteration that met the tolerance first, whether or not a refinement followed. */
static void check_count(const expectation *e, const wr_history *history, double tolerance) {
  int64_t k = 0;
  while (k + 1 < history->count && history->measure[k] > tolerance * (1 + 0x1p-50)) k++;
  int64_t count = history->count > 0 ? history->iteration[k] : 0;
  CHECKF(count >= e->fewest && count <= e->most, "%lld iterations, not %lld to %lld", (long long)count,
         (long long)e->fewest, (long long)e->most);
}

/* Both answers have residuals of tolerance * ||b|| at most, but for the rounding of the plain one's recurrence in f64, and so
 * ||A (u - plain u)|| is at most twice that. With rows that are dominated by their diagonal by `gap` at least, no element of
 * u - plain u is larger than that divided by gap (Varah 1975). */
static void check_answer(const expectation *e, const wr_system *system, double tolerance, const double *u) {
  const wr_csr *A = system->matrix;
  double gap = INFINITY, largest_u = 0, largest = 0, *off = room_for(system->n, sizeof *off);
  double *product = room_for(system->n, sizeof *product);
  for (int64_t i = 0; i < system->n; i++) {
    double dominance = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      dominance += A->col[k] == i ? fabs(A->val[k]) : -fabs(A->val[k]);
    off[i] = u[i] - e->u[i];
    gap = fmin(gap, dominance), largest_u = fmax(largest_u, fabs(u[i])), largest = fmax(largest, fabs(off[i]));
  }
  plain_multiply(A, off, product, NULL);
  double rounding = 4 * ((double)e->run.iterations + longest_row_of(A)) * 0x1p-53 * system->row_norm * largest_u;
  double allowed = 2 * tolerance * system->norm_b + rounding, found = plain_norm(system->n, product);
  CHECKF(found <= allowed, "the residuals of the answers differ by %g, %g is allowed", found, allowed);
  CHECKF(gap > 0 && largest <= allowed / gap, "an element differs by %g, %g is allowed", largest, allowed / gap);
  free(off), free(product);
}

static void compare_solve(ground *g, const wr_system *system, wr_plan *plan, const method_pair *m, const expectation *e,
                          const way *w, double tolerance) {
  wr_bicgstab method = {0};
  wr_history history = {0};
  wr_result result = {.outcome = WR_NON_FINITE};
  wr_bicgstab_options options = {.method = m->method, .l = m->l, .tolerance = tolerance, .iterations = MOST_ITERATIONS,
                                 .check_every = w->check_every, .no_graph = w->no_graph,
                                 .no_resident = w->no_resident};
  double *u = room_for(system->n, sizeof *u);
  wr_precond *precond = NULL;
  g->testing.no_conditions = w->no_conditions;
  CHECK_OK(wr_bicgstab_open(&method, system, plan, &g->env));
  if (m->applied) CHECK_OK(wr_precond_create(&wr_precond_jacobi, NULL, system->matrix, &g->env, &precond));
  CHECK_OK(wr_bicgstab_precondition(&method, precond));
  CHECK_OK(wr_bicgstab_solve(&method, &options, &(wr_monitor){.history = &history}, &result));
  CHECK_OK(wr_bicgstab_download(&method, u, NULL));
  CHECKF(result.outcome == WR_CONVERGED && result.restarts == 0, "%s after %d restarts",
         wr_outcome_title(result.outcome), result.restarts);
  check_residuals(e, &history, m, tolerance);
  check_count(e, &history, tolerance);
  check_answer(e, system, tolerance, u);
  g->testing.no_conditions = 0;
  wr_bicgstab_close(&method);
  wr_precond_destroy(precond);
  wr_history_free(&history);
  free(u);
}

static void compare_pair(ground *g, const system_case *c, const wr_system *system, wr_plan *plan, const method_pair *m,
                         int all_ways, double tolerance) {
  ground_case(g, "%s, %s", m->name, c->name);
  expectation e = expect_system(system, m, tolerance, wr_rounding_of(&g->env, plan));
  check_sharp(g, &e, m);
  for (int k = 0; k < (all_ways ? WAYS : 1); k++) {
    ground_case(g, "%s, %s, %s", m->name, c->name, ways[k].name);
    if (is_way_of(g, k) && (m == pairs || is_way_of_more(k)))
      compare_solve(g, system, plan, m, &e, &ways[k], tolerance);
  }
  expectation_free(&e);
}

/* A backend multiplies for every method alike, so methods other than BiCGSTAB run on the default ones only. */
static int is_pair_for(const ground *g, const method_pair *m, const system_case *c) {
  int is_default = g->backend == wr_backend_default(WR_CUDA) || g->backend == wr_backend_default(WR_HOST);
  return (m == pairs || is_default) && (c->positive || !m->positive) && !(m->applied && c->jacobi);
}

static void test_system(ground *g, const system_case *c, int all_ways) {
  wr_csr *A = c->make();
  wr_system system = {0};
  double tolerance = g->env.type == WR_F32 ? WR_BICGSTAB_TOLERANCE_F32 : WR_BICGSTAB_TOLERANCE_F64;
  double *b = random_vector(A->nrows, 7), *guess = c->with_guess ? random_vector(A->nrows, 8) : NULL;
  ground_case(g, "%s", c->name);
  ground_threads(A->nrows);
  CHECK_OK(wr_system_build(A, given(b, A->nrows), given(guess, A->nrows), 0, 0, WR_SCALE_NONE,
                           c->jacobi ? &wr_precond_jacobi : NULL, 0, &system));
  wr_plan *plan = ground_plan(g, system.matrix);
  if (plan) {
    for (int p = 0; p < PAIRS; p++)
      if (is_pair_for(g, &pairs[p], c)) compare_pair(g, c, &system, plan, &pairs[p], all_ways, tolerance);
  }
  wr_plan_destroy(plan);
  wr_system_free(&system);
  wr_csr_free(A);
  free(b), free(guess);
}

/* ---- PageRank ---- */

typedef struct graph_case {
  const char *name;
  wr_csr *(*make)(void);
  int edges_in, personalised;
  double damping;
} graph_case;

/* Weights, of which every tenth page has none but 0, so that it dangles. */
static wr_csr *some_weights(void) {
  wr_csr *links = weighted();
  for (int64_t i = 0; i < links->nrows; i += 10)
    for (int64_t k = links->row_ptr[i]; k < links->row_ptr[i + 1]; k++) links->val[k] = 0;
  return links;
}

/* Most pages dangle. */
static wr_csr *few_links(void) {
  uint64_t seed = 106;
  entry edges[300];
  for (int k = 0; k < 300; k++) {
    int64_t from = (int64_t)(random_in(&seed) * 200);
    edges[k] = (entry){from, (int64_t)(random_in(&seed) * 600), 1};
  }
  return pattern_of(600, edges, 300);
}

/* Half of all links end in page 7. */
static wr_csr *links_to_one(void) {
  enum { PAGES = 500 };
  uint64_t seed = 107;
  entry edges[PAGES];
  for (int k = 0; k < PAGES; k++) edges[k] = (entry){k / 2, k % 2 ? 7 : (int64_t)(random_in(&seed) * PAGES), 1};
  return pattern_of(PAGES, edges, PAGES);
}

static wr_csr *single_page(void) { return pattern_of(1, NULL, 0); }

static const graph_case graphs[] = {
    {.name = "one page", .make = single_page, .damping = 0.85},
    {.name = "random", .make = random_graph, .damping = 0.85},
    {.name = "random, edges in, personalised", .make = random_graph, .edges_in = 1, .personalised = 1, .damping = 0.95},
    {.name = "few links", .make = few_links, .damping = 0.85},
    {.name = "few links, personalised", .make = few_links, .personalised = 1, .damping = 0.85},
    {.name = "undirected", .make = undirected, .damping = 0.5},
    {.name = "weights", .make = some_weights, .damping = 0.85},
    {.name = "weights, edges in", .make = some_weights, .edges_in = 1, .damping = 0.85},
    {.name = "weights, personalised", .make = some_weights, .personalised = 1, .damping = 0.9},
    {.name = "a hub", .make = links_to_one, .damping = 0.85},
    {.name = "a hub, personalised", .make = links_to_one, .personalised = 1, .damping = 0.85},
};

/* What the plain method finds, and how far rounding may take windrow from it.
 *
 * An exact step brings two vectors of ranks nearer by the factor d in L1. Each computed one is off by `step` at most, in units
 * of the ranks' sum, 1: the ranks and what they are multiplied by, weights or 1/out-degree, are stored in the type of unit u,
 * and so are the result and the teleport vector; a product rounds its terms by term_unit and its sums by sum_unit each
 * addition; the sum over dangling pages is off by n units of f64 at most, and the plain method is off by as much as that and
 * its sums of rows. So after k steps the two differ by error(k) <= d error(k-1) + step, error(0) being u as the start is
 * stored, and their changes by error(k) + error(k-1). */
typedef struct ranks_expectation {
  plain_run run;        /* beyond the target, as far as windrow may go on */
  double *ranks;        /* [n]                                            */
  double *allowed;      /* [run.iterations] on the difference of changes  */
  double target;        /* on the change                                  */
  double error;         /* bound of error(k) for all k                    */
  int64_t fewest, most; /* iterations                                     */
} ranks_expectation;

/* The target is what rounding can move the change by, several times, so that rounding shifts the end by a few steps. */
static ranks_expectation expect_ranks(const graph_case *c, const wr_csr *links, const wr_csr *flow,
                                      const double *teleport, wr_rounding rounding) {
  int64_t n = links->nrows;
  double f64 = (double)n + longest_row_of(links) + longest_row_of(flow) + 8;
  double step =
      4 * rounding.unit + rounding.term_unit + (longest_row_of(flow) + 2) * rounding.sum_unit + 2 * f64 * 0x1p-53;
  double error = rounding.unit, before;
  ranks_expectation e = {.ranks = room_for(n, sizeof *e.ranks), .error = rounding.unit + step / (1 - c->damping)};
  e.target = fmax(1e-10, 8 * e.error);
  e.run = plain_pagerank(links, c->edges_in, teleport, c->damping, e.target / 2, MOST_ITERATIONS, e.ranks);
  CHECKF(e.run.converged, "the plain method did not converge");
  e.allowed = room_for(e.run.iterations, sizeof *e.allowed);
  for (int64_t k = 0; k < e.run.iterations; k++) {
    before = error, error = c->damping * before + step;
    e.allowed[k] = before + error;
    if (e.fewest == 0 && e.run.history[k] - e.allowed[k] <= e.target) e.fewest = k + 1;
    if (e.most == 0 && e.run.history[k] + e.allowed[k] <= e.target) e.most = k + 1;
  }
  return e;
}

static void check_changes(const ranks_expectation *e, const wr_history *history) {
  for (int64_t k = 0; k < history->count && history->iteration[k] <= e->run.iterations; k++) {
    int64_t at = history->iteration[k] - 1;
    double off = fabs(history->measure[k] - e->run.history[at]);
    CHECKF(off <= e->allowed[at], "iteration %lld: change %.17g, the plain method's %.17g, off by %.3g of %.3g",
           (long long)at + 1, history->measure[k], e->run.history[at], off, e->allowed[at]);
  }
}

/* Ranks whose last change was c are off the exact ones by c d / (1 - d) at most, and by their rounding; dividing them by their
 * sum moves neither away by more than it was off. */
static void check_ranks(const ranks_expectation *e, const graph_case *c, double change, const double *ranks,
                        int64_t n) {
  double distance = 0, last = e->run.history[e->run.iterations - 1];
  double allowed = (change + last) * c->damping / (1 - c->damping) + e->error;
  for (int64_t i = 0; i < n; i++) distance += fabs(ranks[i] - e->ranks[i]);
  CHECKF(distance <= allowed, "the ranks differ by %g, %g is allowed", distance, allowed);
}

/* The host ends a solve only at a check, so the end is at the next multiple of check_every. */
static int64_t next_look(int64_t iterations, int64_t every) { return (iterations + every - 1) / every * every; }

static void compare_ranking(ground *g, const wr_graph *graph, wr_plan *plan, const graph_case *c,
                            const ranks_expectation *e, const way *w) {
  wr_pagerank method = {0};
  wr_history history = {0};
  wr_result result = {.outcome = WR_NON_FINITE};
  wr_pagerank_options options = {.damping = c->damping, .tolerance = e->target, .stop_on_change = 1,
                                 .iterations = MOST_ITERATIONS, .check_every = w->check_every, .no_graph = w->no_graph,
                                 .no_resident = w->no_resident};
  double *ranks = room_for(graph->n, sizeof *ranks);
  g->testing.no_conditions = w->no_conditions;
  CHECK_OK(wr_pagerank_open(&method, graph, plan, &g->env));
  CHECK_OK(wr_pagerank_solve(&method, &options, &(wr_monitor){.history = &history}, &result));
  CHECK_OK(wr_pagerank_download(&method, ranks));
  CHECKF(result.outcome == WR_CONVERGED, "%s", wr_outcome_title(result.outcome));
  check_changes(e, &history);
  int64_t fewest = next_look(e->fewest, w->check_every), most = next_look(e->most, w->check_every);
  CHECKF(result.iterations >= fewest && result.iterations <= most, "%lld iterations, not %lld to %lld",
         (long long)result.iterations, (long long)fewest, (long long)most);
  check_ranks(e, c, result.change, ranks, graph->n);
  g->testing.no_conditions = 0;
  wr_pagerank_close(&method);
  wr_history_free(&history);
  free(ranks);
}

static void test_graph(ground *g, const graph_case *c, int all_ways) {
  wr_csr *links = c->make();
  wr_graph graph = {0};
  double *teleport = c->personalised ? room_for(links->nrows, sizeof *teleport) : NULL;
  for (int64_t i = 0; teleport && i < links->nrows; i += 1 + links->nrows / 7) teleport[i] = (double)(1 + i % 5);
  ground_case(g, "%s", c->name);
  ground_threads(links->nrows);
  CHECK_OK(wr_graph_build(links, c->edges_in, given(teleport, links->nrows), NULL, &graph));
  wr_plan *plan = ground_plan(g, graph.flow);
  if (plan) {
    ranks_expectation e = expect_ranks(c, links, graph.flow, teleport, wr_rounding_of(&g->env, plan));
    for (int k = 0; k < (all_ways ? WAYS : 1); k++) {
      ground_case(g, "%s, %s", c->name, ways[k].name);
      if (is_way_of(g, k)) compare_ranking(g, &graph, plan, c, &e, &ways[k]);
    }
    plain_run_free(&e.run);
    free(e.ranks), free(e.allowed);
  }
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
  wr_csr_free(links);
  free(teleport);
}

/* Every way on the host and with the GPU's default backend, the first one with all others. */
static void test_all(ground *g) {
  int all_ways = g->env.place == WR_HOST || g->backend == wr_backend_default(WR_CUDA);
  for (size_t k = 0; k < sizeof systems / sizeof *systems; k++)
    if (g->env.place == WR_HOST || !systems[k].host_only) test_system(g, &systems[k], all_ways);
  for (size_t k = 0; k < sizeof graphs / sizeof *graphs; k++) test_graph(g, &graphs[k], all_ways);
}

int main(void) {
  on_every_ground(test_all);
  return wr_test_report("plain_methods");
}
