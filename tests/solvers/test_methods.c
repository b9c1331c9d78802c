/* Every method for linear systems (solvers/krylov/method.h), with each way of applying Jacobi and each way of repeating
 * iterations, on small systems of many kinds, in both types: none claims to have converged where the residual, recomputed in
 * long double, is too large; each converges where theory says so, and the automatic choice wherever one method does; and the
 * loop of a device leaves the bits of the host's loop where the plan is deterministic. */
#define _DEFAULT_SOURCE
#include "solvers/iteration.h"
#include "solvers/krylov/method.h"
#include "spmv/steps/bicgstabl_steps.h"
#include "tests/solvers/solve_fixture.h"

/* ---- Methods ---- */

enum { BICGSTAB = 1, BICGSTAB_1 = 2, BICGSTAB_2 = 4, BICGSTAB_4 = 8, IDR = 16, CG = 32, AUTO = 64 };

typedef struct choice {
  const char *name;
  int mark; /* one of the above */
  const wr_method *method;
  int l;
} choice;

static const choice choices[] = {
    {.name = "bicgstab", .mark = BICGSTAB, .method = &wr_method_bicgstab},
    {.name = "bicgstabl, l = 1", .mark = BICGSTAB_1, .method = &wr_method_bicgstabl, .l = 1},
    {.name = "bicgstabl, l = 2", .mark = BICGSTAB_2, .method = &wr_method_bicgstabl, .l = 2},
    {.name = "bicgstabl, l = 4", .mark = BICGSTAB_4, .method = &wr_method_bicgstabl, .l = 4},
    {.name = "idr", .mark = IDR, .method = &wr_method_idr},
    {.name = "cg", .mark = CG, .method = &wr_method_cg},
    {.name = "auto", .mark = AUTO},
};
enum { CHOICES = sizeof choices / sizeof *choices };

/* ---- Systems ---- */

enum { N = 36, SIDE = 6 };

static wr_csr *from_entries(int64_t n, const entry *entries, int64_t count) {
  entry *copy = room_for(count, sizeof *copy);
  memcpy(copy, entries, (size_t)count * sizeof *copy);
  wr_csr *A = matrix_of(n, copy, count, 1);
  free(copy);
  return A;
}

static wr_csr *nonsymmetric(void) { return random_matrix(N, 5, 8, 1, 301); }

static wr_csr *huge_values(void) { return matrix_times(nonsymmetric(), 600); }
static wr_csr *tiny_values(void) { return matrix_times(nonsymmetric(), -600); }

/* Five points on a grid with fixed ends; free ends: rows sum to 0, so ones are the null space. */
static wr_csr *grid(int is_free, double shift) {
  entry entries[5 * SIDE * SIDE];
  int64_t count = 0;
  for (int64_t i = 0; i < SIDE * SIDE; i++) {
    int64_t first = count, x = i % SIDE, y = i / SIDE;
    if (x > 0) entries[count++] = (entry){i, i - 1, -1};
    if (x < SIDE - 1) entries[count++] = (entry){i, i + 1, -1};
    if (y > 0) entries[count++] = (entry){i, i - SIDE, -1};
    if (y < SIDE - 1) entries[count++] = (entry){i, i + SIDE, -1};
    entries[count] = (entry){i, i, (is_free ? (double)(count - first) : 4) - shift}, count++;
  }
  return from_entries(SIDE * SIDE, entries, count);
}
static wr_csr *laplacian(void) { return grid(0, 0); }
static wr_csr *free_laplacian(void) { return grid(1, 0); }
static wr_csr *indefinite(void) { return grid(0, 1.5); } /* eigenvalues from -1.1 to 6.1, the nearest to 0 at 0.06 */

/* v on the diagonal, and +-(1 + i % 3) beside it: eigenvalues v + i w. */
static wr_csr *skew(double v) {
  entry entries[3 * N];
  int64_t count = 0;
  for (int64_t i = 0; i < N; i++) {
    double value = (double)(1 + i % 3);
    if (v != 0) entries[count++] = (entry){i, i, v};
    if (i + 1 < N) entries[count++] = (entry){i, i + 1, value}, entries[count++] = (entry){i + 1, i, -value};
  }
  return from_entries(N, entries, count);
}
static wr_csr *skew_with_diagonal(void) { return skew(0.5); }
static wr_csr *pure_skew(void) { return skew(0); }

/* Blocks [0 w; -w 0], w = 1, 2, 3: eigenvalues +-i w, so that six multiplies are enough. */
static wr_csr *rotations(void) {
  entry entries[N];
  for (int64_t i = 0; i < N; i += 2) {
    double w = (double)(1 + i / 2 % 3);
    entries[i] = (entry){i, i + 1, w}, entries[i + 1] = (entry){i + 1, i, -w};
  }
  return from_entries(N, entries, N);
}

static wr_csr *one_by_one(void) { return from_entries(1, (entry[]){{0, 0, -3}}, 1); }
static wr_csr *two_by_two(void) { return from_entries(2, (entry[]){{0, 0, 1}, {0, 1, 2}, {1, 0, -1}, {1, 1, 3}}, 4); }

/* Element i of the diagonal is 1 + i % values, in column (i + shift) % N. */
static wr_csr *permuted(int values, int64_t shift) {
  entry entries[N];
  for (int64_t i = 0; i < N; i++) entries[i] = (entry){i, (i + shift) % N, (double)(1 + i % values)};
  return from_entries(N, entries, N);
}
static wr_csr *identity(void) { return permuted(1, 0); }
static wr_csr *three_values(void) { return permuted(3, 0); }
static wr_csr *six_values(void) { return permuted(6, 0); }
static wr_csr *permuted_diagonal(void) { return permuted(2, 1); }

static wr_csr *row_of_zeros(void) {
  wr_csr *A = nonsymmetric();
  for (int64_t k = A->row_ptr[7]; k < A->row_ptr[8]; k++) A->val[k] = 0;
  return A;
}

static void add_to_7(double *b) { b[7] += 1; }

/* b is A times ones, then changed. `solves`: those that must converge, by theory: 0 for none. Jacobi must not harm them. */
typedef struct system_case {
  const char *name;
  wr_csr *(*make)(void);
  void (*change)(double *b);
  int solves;
  int is_impossible; /* 1: no x has a small residual                      */
  int is_exact;      /* those that end after one iteration, perhaps in the middle of it, without a restart */
} system_case;

enum { ALL = 127, GENERAL = ALL - CG, NOT_1 = BICGSTAB_2 | BICGSTAB_4 | IDR | AUTO };

static const system_case systems[] = {
    {"random, nonsymmetric", nonsymmetric, NULL, GENERAL, 0, 0},
    {"values of 2^600", huge_values, NULL, GENERAL, 0, 0},
    {"values of 2^-600", tiny_values, NULL, GENERAL, 0, 0},
    {"positive definite", laplacian, NULL, ALL, 0, 0},
    {"symmetric indefinite", indefinite, NULL, NOT_1, 0, 0},
    {"skew-symmetric and a diagonal", skew_with_diagonal, NULL, NOT_1, 0, 0},
    {"skew-symmetric", pure_skew, NULL, NOT_1, 0, 0},
    {"rotations", rotations, NULL, NOT_1 | BICGSTAB_1, 0, 0},
    {"1 x 1", one_by_one, NULL, GENERAL, 0, GENERAL},
    {"2 x 2", two_by_two, NULL, GENERAL, 0, BICGSTAB_2 | BICGSTAB_4 | IDR},
    {"identity", identity, NULL, ALL, 0, ALL},
    {"three eigenvalues", three_values, NULL, ALL, 0, BICGSTAB_4 | IDR},
    {"six eigenvalues", six_values, NULL, ALL, 0, 0},
    {"permuted diagonal", permuted_diagonal, NULL, 0, 0, 0},
    {"singular, consistent", free_laplacian, NULL, ALL, 0, 0},
    {"singular, inconsistent", free_laplacian, add_to_7, 0, 1, 0},
    {"a row of zeros", row_of_zeros, NULL, 0, 0, 0},
    {"a row of zeros, inconsistent", row_of_zeros, add_to_7, 0, 1, 0},
};
enum { SYSTEMS = sizeof systems / sizeof *systems };

static double *right_hand_side(const system_case *c, const wr_csr *A) {
  double *b = room_for(A->nrows, sizeof *b);
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) b[i] += A->val[k] * (double)(1 + A->col[k] % 3);
  if (c->change) c->change(b);
  return b;
}

static int has_diagonal(const wr_csr *A) {
  int64_t count = 0;
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) count += A->col[k] == i && A->val[k] != 0;
  return count == A->nrows;
}

/* ---- Runs ---- */

/* How a system is changed before or while it is solved. */
enum { NO_PRECOND, JACOBI_IN_COLUMNS, JACOBI_APPLIED, EQUILIBRATED, MATCHED, MATCHED_APPLIED, PRECONDS };
static const char *const precond_names[] = {"", ", Jacobi in the columns", ", Jacobi applied",
                                            ", equilibrated", ", matched", ", matched, Jacobi applied"};

/* WR_SHORT, as kernels on the CPU take long: fewer iterations, so that slow methods may end at the limit. */
static int is_short(const ground *g) { return g->env.place == WR_CUDA && getenv("WR_SHORT") != NULL; }

typedef enum way { BY_HOST, BY_GRAPH, RESIDENT, WAYS } way;
static const char *const way_names[] = {"by the host", "in a graph", "resident"};

static int ways_of(const ground *g) { return g->env.place == WR_CUDA ? WAYS : 1; }

static solution solution_by(const ground *g, wr_csr *A, const double *b, const choice *m, int precond, way w) {
  solution s = solution_of(g, A);
  s.b = b, s.jacobi = precond == JACOBI_IN_COLUMNS, s.applied = precond == JACOBI_APPLIED || precond == MATCHED_APPLIED;
  if (precond >= EQUILIBRATED) s.scaling = 1 + (precond == EQUILIBRATED ? WR_SCALE_EQUILIBRATE : WR_SCALE_MATCH);
  s.options.method = m->method, s.options.l = m->l, s.options.iterations = is_short(g) ? 16 : 4000;
  s.options.no_graph = w == BY_HOST, s.options.no_resident = w != RESIDENT;
  return s;
}

/* The method that ended the solve has a name; one that was asked for is not changed. */
static void check_methods_named(const solution *s, const choice *m) {
  if (m->method)
    CHECKF(strcmp(s->result.method, m->method->name) == 0 && !s->result.changes[0], "'%s'", s->result.method);
  int known = 0;
  for (int k = 0; k < wr_method_count(); k++) known += strcmp(wr_method_at(k)->name, s->result.method) == 0;
  CHECKF(known == 1, "'%s'", s->result.method);
  CHECKF(s->result.multiplies >= s->result.iterations, "%lld multiplies in %lld iterations",
         (long long)s->result.multiplies, (long long)s->result.iterations);
}

static void check_theory(const ground *g, const solution *s, const system_case *c, const choice *m, int precond) {
  const wr_result *r = &s->result;
  int converged = r->outcome == WR_CONVERGED, is_cut = is_short(g) && r->outcome == WR_MAX_ITERATIONS;
  CHECKF(!converged || !c->is_impossible, "converged where no x has a small residual");
  if (precond >= EQUILIBRATED) return; /* another matrix, of which theory says nothing */
  if (c->solves & m->mark)
    CHECKF(converged || is_cut, "%s: %.3g after %lld iterations, %d restarts, '%s' '%s'", wr_outcome_title(r->outcome),
           r->measure, (long long)r->iterations, r->restarts, r->note, r->changes);
  if (c->is_exact & m->mark)
    CHECKF(r->iterations == 1 && r->restarts == 0 && r->refinements == 0,
           "%lld iterations, %d restarts, %d refinements", (long long)r->iterations, r->restarts, r->refinements);
  if ((c->solves & CG) && m->mark == CG && precond != JACOBI_IN_COLUMNS) /* in exact arithmetic n */
    CHECKF(r->iterations <= N + 4, "%lld iterations of CG", (long long)r->iterations);
}

static int converged_in(const solution *s) { return s->result.outcome == WR_CONVERGED; }

/* One method in every way. Returns 1 if it converged by the host. */
static int run_method(ground *g, const system_case *c, wr_csr *A, const double *b, const choice *m, int precond) {
  solution host = {0};
  for (int w = 0; w < ways_of(g); w++) {
    ground_case(g, "%s%s, %s, %s", m->name, precond_names[precond], c->name, way_names[w]);
    solution s = solution_by(g, A, b, m, precond, (way)w);
    solve_and_check(g, &s);
    check_methods_named(&s, m);
    check_theory(g, &s, c, m, precond);
    if (w == BY_GRAPH) check_same_run(&s, &host);
    if (w == BY_HOST)
      host = s;
    else
      solution_free(&s);
  }
  int converged = converged_in(&host);
  solution_free(&host);
  return converged;
}

static int is_default_of(const ground *g) { return g->backend == wr_backend_default(g->env.place); }

static void test_system(ground *g, const system_case *c) {
  wr_csr *A = c->make();
  double *b = right_hand_side(c, A);
  for (int precond = 0; precond < PRECONDS; precond++) {
    int solved = 0;
    if (precond != NO_PRECOND && precond != EQUILIBRATED && precond != MATCHED && !has_diagonal(A)) continue;
    if (is_short(g) && (precond == JACOBI_IN_COLUMNS || precond == EQUILIBRATED || (precond && (c - systems) % 4)))
      continue;
    for (int k = 0; k < CHOICES; k++) {
      const choice *m = &choices[k];
      if (m->mark == CG && precond == JACOBI_IN_COLUMNS) continue; /* A M^-1 is not symmetric */
      int converged = run_method(g, c, A, b, m, precond);
      CHECKF(m->mark != AUTO || converged || !solved || is_short(g), "methods of marks %d converged", solved);
      if (converged) solved |= m->mark;
    }
  }
  free(b);
  wr_csr_free(A);
}

/* ---- Looks, limits, interruptions, and a solver that changes its method ---- */

/* How often the host checks changes no iterate. */
static void test_looks(ground *g, const choice *m) {
  static const int64_t distances[] = {1, 3, 8};
  wr_csr *A = laplacian();
  for (int w = 0; w < ways_of(g); w++) {
    solution first = {0};
    for (int k = 0; k < 3; k++) {
      solution s = solution_by(g, A, NULL, m, NO_PRECOND, (way)w);
      s.options.check_every = distances[k], s.options.iterations = 1000;
      ground_case(g, "%s, %s, a check every %lld", m->name, way_names[w], (long long)distances[k]);
      expect_outcome(g, &s, WR_CONVERGED);
      if (k > 0 && w != RESIDENT) check_same_run(&s, &first);
      if (k == 0)
        first = s;
      else
        solution_free(&s);
    }
    solution_free(&first);
  }
  wr_csr_free(A);
}

/* The answer at the limit is no worse than the last iterate, nor than 0. Where the method's own residual is near to rounding,
 * it is no longer that of the iterate. */
static void test_limits(ground *g, const choice *m) {
  wr_csr *A = indefinite();
  for (int w = 0; w < ways_of(g); w++)
    for (int64_t most = is_short(g) ? 7 : 0; most <= 21; most += is_short(g) ? 14 : 1) {
      solution s = solution_by(g, A, NULL, m, NO_PRECOND, (way)w);
      s.options.iterations = most, s.options.tolerance = 0;
      ground_case(g, "%s, %s, at most %lld iterations", m->name, way_names[w], (long long)most);
      solve_and_check(g, &s);
      CHECKF(s.result.outcome != WR_CONVERGED || s.final == 0, "%.3g", s.result.measure);
      double last = s.history.count > 0 ? s.history.measure[s.history.count - 1] : 1;
      if (last > sqrt(wr_type_unit(g->env.type)))
        CHECKF(s.final <= (long double)last * 1.001L + s.final_slack, "%.3Lg, the last iterate's is %.3g", s.final,
               last);
      solution_free(&s);
    }
  wr_csr_free(A);
}

/* The iterate is that of the reported iteration: a solve by the host that is limited to as many has the same one. */
static void test_interrupted(ground *g, const choice *m) {
  wr_csr *A = random_matrix(300, 5, 6, 1, 31);
  volatile sig_atomic_t interrupted = 1;
  for (int w = 0; w < ways_of(g); w++) {
    solution s = solution_by(g, A, NULL, m, NO_PRECOND, (way)w), host = solution_by(g, A, NULL, m, NO_PRECOND, BY_HOST);
    s.options.tolerance = host.options.tolerance = 1e-300, s.options.iterations = 1000000;
    s.monitor.interrupted = &interrupted;
    ground_case(g, "%s, %s, interrupted", m->name, way_names[w]);
    solve_and_check(g, &s);
    CHECKF(s.result.outcome == WR_INTERRUPTED && s.result.iterations > 0, "%s", wr_outcome_title(s.result.outcome));
    host.options.iterations = s.result.iterations;
    solve_and_check(g, &host);
    if (w != RESIDENT && host.result.outcome == WR_MAX_ITERATIONS && s.result.restarts == 0) check_same_run(&s, &host);
    solution_free(&s), solution_free(&host);
  }
  wr_csr_free(A);
}

/* Solves with an open solver as with a new one. */
static void solve_again(ground *g, wr_bicgstab *method, const wr_system *system, wr_plan *plan, wr_csr *A,
                        const choice *m, int applied, way w) {
  solution fresh = solution_by(g, A, NULL, m, applied ? JACOBI_APPLIED : NO_PRECOND, w), again = fresh;
  ground_case(g, "again: %s%s, %s", m->name, applied ? precond_names[JACOBI_APPLIED] : "", way_names[w]);
  expect_outcome(g, &fresh, WR_CONVERGED);
  again.x = room_for(A->nrows, sizeof *again.x), again.used_b = room_for(A->nrows, sizeof *again.used_b);
  memcpy(again.used_b, fresh.used_b, (size_t)A->nrows * sizeof *again.used_b);
  again.monitor.history = &again.history, again.deterministic = fresh.deterministic;
  CHECK_OK(solution_find(&again, method, system, wr_rounding_of(&g->env, plan)));
  check_solution(&again);
  CHECKF(strcmp(again.result.method, fresh.result.method) == 0 && again.result.repeats.by == fresh.result.repeats.by &&
             again.history.count == fresh.history.count,
         "%s by %d, %lld checks; by a new solver %s by %d, %lld", again.result.method, (int)again.result.repeats.by,
         (long long)again.history.count, fresh.result.method, (int)fresh.result.repeats.by,
         (long long)fresh.history.count);
  check_same_run(&again, &fresh);
  solution_free(&again), solution_free(&fresh);
}

/* One solver by one method after another, each the second time with Jacobi: loops are recorded anew. */
static void test_again(ground *g) {
  static const int order[] = {6, 0, 4, 1, 5, 3, 2, 4, 6};
  wr_csr *A = laplacian();
  wr_system system = {0};
  wr_bicgstab method = {0};
  wr_precond *precond = NULL;
  CHECK_OK(wr_system_build(A, NULL, NULL, 0, 0, WR_SCALE_NONE, NULL, 0, &system));
  wr_plan *plan = ground_plan(g, system.matrix);
  CHECK_OK(wr_bicgstab_open(&method, &system, plan, &g->env));
  CHECK_OK(wr_precond_create(&wr_precond_jacobi, NULL, system.matrix, &g->env, &precond));
  for (size_t k = is_short(g) ? 4 : 0; k < sizeof order / sizeof *order; k++)
    for (int applied = 0; applied < 2; applied++) {
      CHECK_OK(wr_bicgstab_precondition(&method, applied ? precond : NULL));
      for (int w = 0; w < ways_of(g); w++)
        solve_again(g, &method, &system, plan, A, &choices[order[k]], applied, (way)w);
    }
  wr_bicgstab_close(&method);
  wr_precond_destroy(precond);
  wr_plan_destroy(plan);
  wr_system_free(&system);
  wr_csr_free(A);
}

/* ---- gamma_l of BiCGSTAB(l) ---- */

/* r_1, ..., r_l are orthogonal, with norms 1, 2, ..., and have these cosines with r_0, whose norm is 3. */
static wr_bicgstabl_scalars scalars_of_cosines(int l, const double *cosines) {
  wr_bicgstabl_scalars c = {.solve = {.bound = 1e-20, .huge = DBL_MAX, .largest = 0x1p106}, .l = l, .bb = 9,
                            .least_cos2 = 64 * 0x1p-106};
  for (int j = 1; j <= l; j++) c.gram[j][j] = (double)j * j, c.gram[0][j] = 3 * j * cosines[j - 1];
  return c;
}

/* For a cosine of 0 the residual grows to at most 1.22 times its norm; for any other it is the least one. */
static void test_gamma(void) {
  static const double cosines[][WR_MOST_L] = {
      {0, 0, 0, 0}, {0.6, 0.3, -0.2, 0}, {0.5, 0.1, 1e-3, -0.2}, {0.5, 1e-17, -1e-17, 0.1}};
  for (int k = 0; k < 4; k++)
    for (int l = 1; l <= WR_MOST_L; l++) {
      double rest = 1, last = cosines[k][l - 1];
      wr_bicgstabl_scalars c = scalars_of_cosines(l, cosines[k]);
      ground_case(NULL, "cosines %d, l = %d", k, l);
      wr_bicgstabl_after_gram(&c, NULL);
      CHECKF(c.solve.breakdown == 0, "breakdown %g", c.solve.breakdown);
      for (int j = 1; j < l; j++) {
        CHECKF(fabs(c.gamma[j] - 3 * cosines[k][j - 1] / j) <= 1e-15, "gamma_%d = %g", j, c.gamma[j]);
        rest -= cosines[k][j - 1] * cosines[k][j - 1];
      }
      double gamma = fabs(last) > 1e-10 ? last : copysign(0.7 * sqrt(rest), last);
      CHECKF(fabs(c.gamma[l] - 3 * gamma / l) <= 1e-15, "gamma_%d = %g, not %g", l, c.gamma[l], 3 * gamma / l);
    }
  ground_case(NULL, "r_1 = 0");
  wr_bicgstabl_scalars c = scalars_of_cosines(1, cosines[0]);
  c.gram[1][1] = 0;
  wr_bicgstabl_after_gram(&c, NULL);
  CHECK(c.solve.breakdown == WR_BICGSTABL_BAD_GAMMA && c.gamma[1] == 0);
}

/* Where A is skew-symmetric, (r_0, r_l) vanishes in each iteration with an odd l. */
static void test_odd_l(ground *g) {
  static const struct {
    const char *name;
    wr_csr *(*make)(void);
    int l;
  } cases[] = {{"rotations", rotations, 1}, {"rotations", rotations, 2}, {"rotations", rotations, 3},
               {"skew-symmetric", pure_skew, 2}, {"skew-symmetric", pure_skew, 3}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
    for (int w = 0; w < ways_of(g); w++) {
      const choice by = {.name = "bicgstabl", .method = &wr_method_bicgstabl, .l = cases[k].l};
      wr_csr *A = cases[k].make();
      solution s = solution_by(g, A, NULL, &by, NO_PRECOND, (way)w);
      s.options.iterations = 200;
      ground_case(g, "%s, l = %d, %s", cases[k].name, cases[k].l, way_names[w]);
      expect_outcome(g, &s, WR_CONVERGED);
      solution_free(&s);
      wr_csr_free(A);
    }
}

/* Two solves by one solver take the same iterations. */
static void expect_same_again(ground *g, const solution *s) {
  wr_system system = {0};
  wr_bicgstab method = {0};
  wr_result result[2] = {{0}, {0}};
  CHECK_OK(wr_system_build(s->A, given(s->b, s->A->nrows), NULL, 0, 0, WR_SCALE_NONE, NULL, 0, &system));
  wr_plan *plan = system.matrix ? ground_plan(g, system.matrix) : NULL;
  if (plan) {
    CHECK_OK(wr_bicgstab_open(&method, &system, plan, &g->env));
    for (int time = 0; time < 2; time++) CHECK_OK(wr_bicgstab_solve(&method, &s->options, NULL, &result[time]));
    if (s->deterministic)
      CHECKF(result[0].iterations == result[1].iterations && result[0].measure == result[1].measure,
             "%lld iterations to %g, then %lld to %g", (long long)result[0].iterations, result[0].measure,
             (long long)result[1].iterations, result[1].measure);
    wr_bicgstab_close(&method);
  }
  wr_plan_destroy(plan);
  wr_system_free(&system);
}

/* Restarts of IDR(4) with other hashes, of singular systems without a solution: a loop that was recorded before has the new
 * ones, too, and a second solve by the same solver has the first ones again. */
static void test_restarts_of_idr(ground *g) {
  static const entry skew[] = {{0, 1, 1}, {1, 0, -1}, {1, 2, 1}, {2, 1, -1}};
  static const entry deficient[] = {{0, 0, -2}, {0, 2, -1}, {1, 0, -1}, {2, 0, -2}};
  static const struct {
    const char *name;
    const entry *entries;
    double b[3];
  } cases[] = {{"singular, skew-symmetric", skew, {-0.26449557260146084, 0.21058931975529793, -0.55028799900224601}},
               {"an empty column", deficient, {-0.7082212553217293, -0.71036261270456658, 0.52491418791732158}}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const choice by = {.name = "idr", .method = &wr_method_idr};
    wr_csr *A = from_entries(3, cases[k].entries, 4);
    solution host = {0};
    for (int w = 0; w < ways_of(g); w++) {
      solution s = solution_by(g, A, cases[k].b, &by, NO_PRECOND, (way)w);
      s.options.iterations = 200;
      ground_case(g, "%s, %s", cases[k].name, way_names[w]);
      solve_and_check(g, &s);
      CHECKF(s.result.restarts > 1, "%d restarts", s.result.restarts); /* the second one has other hashes */
      if (w == BY_GRAPH) check_same_run(&s, &host);
      expect_same_again(g, &s);
      if (w == BY_HOST)
        host = s;
      else
        solution_free(&s);
    }
    solution_free(&host);
    wr_csr_free(A);
  }
}

/* All changes of the automatic method are named, the last one, too. */
static void test_changes(ground *g) {
  static const entry ones[] = {{0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}};
  static const double b[] = {1, 2};
  char last[80];
  wr_csr *A = from_entries(2, ones, 4);
  solution s = solution_by(g, A, b, &(choice){.name = "auto"}, NO_PRECOND, BY_HOST);
  s.options.iterations = 500;
  ground_case(g, "changes of the method");
  expect_outcome(g, &s, WR_BREAKDOWN);
  snprintf(last, sizeof last, " on %s, as ", s.result.method);
  CHECKF(strcmp(s.result.method, "bicgstabl") == 0 && strstr(s.result.changes, last), "%s: %s", s.result.method,
         s.result.changes);
  solution_free(&s);
  wr_csr_free(A);
}

/* ---- The look for symmetry ---- */

/* Solves with the open solver by the method that it chooses. */
static void expect_method(ground *g, wr_bicgstab *method, const wr_method *expected, const char *when) {
  wr_result result;
  wr_bicgstab_options options = {.tolerance = g->env.type == WR_F32 ? 1e-4 : 1e-9, .iterations = 500};
  ground_case(g, "chosen %s", when);
  CHECK_OK(wr_bicgstab_solve(method, &options, NULL, &result));
  CHECKF(result.outcome == WR_CONVERGED && strcmp(result.method, expected->name) == 0, "%s by %s, not %s",
         wr_outcome_title(result.outcome), result.method, expected->name);
}

/* New values, in place or in another matrix: the method is chosen by those that the plan has, and by what a caller has found
 * only while they are those of the system as built. */
static void test_symmetry(ground *g) {
  for (int found = -1; found <= 1; found++) {
    wr_csr *A = laplacian(), *other = NULL;
    wr_system system = {0};
    wr_bicgstab method = {0};
    CHECK_OK(wr_csr_copy(A, &other));
    CHECK_OK(wr_system_build(A, NULL, NULL, 0, 0, WR_SCALE_NONE, NULL, 0, &system));
    if (system.matrix != A) return;
    system.positive = found;
    wr_plan *plan = ground_plan(g, A);
    if (plan) {
      CHECK_OK(wr_bicgstab_open(&method, &system, plan, &g->env));
      for (int time = 0; time < 2; time++)
        expect_method(g, &method, found < 0 ? &wr_method_bicgstab : &wr_method_cg, "at first");
      A->val[1] *= 0.5, other->val[1] *= 0.5; /* an element beside the diagonal */
      CHECK_OK(wr_plan_update_values(plan, A));
      for (int time = 0; time < 2; time++) expect_method(g, &method, &wr_method_bicgstab, "after a value has changed");
      A->val[1] *= 2, other->val[1] *= 2;
      CHECK_OK(wr_plan_update_values(plan, other));
      for (int time = 0; time < 2; time++) expect_method(g, &method, &wr_method_cg, "after it has changed back");
      wr_bicgstab_close(&method);
    }
    wr_plan_destroy(plan);
    wr_system_free(&system);
    wr_csr_free(A);
    wr_csr_free(other);
  }
}

static void test_all(ground *g) {
  test_restarts_of_idr(g); /* by all backends: short tests have one of them alone, which is not deterministic */
  if (is_short(g) && !is_default_of(g)) return;
  g->testing.no_conditions = g->env.place == WR_CUDA;
  test_changes(g);
  for (int k = 0; k < SYSTEMS; k++) test_system(g, &systems[k]);
  for (int k = 0; k < CHOICES; k++) {
    test_looks(g, &choices[k]);
    test_limits(g, &choices[k]);
    if (choices[k].mark != CG) test_interrupted(g, &choices[k]);
  }
  test_again(g);
  test_symmetry(g);
  test_odd_l(g);
  g->testing.no_conditions = 0;
}

int main(void) {
  test_gamma();
  on_default_grounds(test_all);
  return wr_test_report("methods");
}
