/* Solves with incomplete factors: by each method, with each scaling, in both types, on small systems of many kinds. None claims
 * to have converged where the residual, recomputed in long double, is too large; where the factors are complete one iteration
 * is enough; and conjugate gradients are chosen where matrix and factors are known to be positive definite. */
#define _DEFAULT_SOURCE
#include <float.h>

#include "solvers/krylov/method.h"
#include "spmv/precond/ilu.h"
#include "tests/solvers/solve_fixture.h"

enum { SIDE = 12, N = SIDE * SIDE };

/* Five points on a grid; wind 0: symmetric. */
static wr_csr *grid(double wind) {
  entry entries[5 * N];
  int64_t count = 0;
  for (int64_t i = 0; i < N; i++) {
    int64_t x = i % SIDE, y = i / SIDE;
    entries[count++] = (entry){i, i, 4};
    if (x > 0) entries[count++] = (entry){i, i - 1, -1 - wind};
    if (x + 1 < SIDE) entries[count++] = (entry){i, i + 1, -1 + wind};
    if (y > 0) entries[count++] = (entry){i, i - SIDE, -1};
    if (y + 1 < SIDE) entries[count++] = (entry){i, i + SIDE, -1};
  }
  return matrix_of(N, entries, count, 1);
}
static wr_csr *laplacian(void) { return grid(0); }
static wr_csr *convection(void) { return grid(0.5); }
static wr_csr *nonsymmetric(void) { return random_matrix(60, 5, 8, 1, 301); }
static wr_csr *random_diagonal(void) { return random_matrix(60, 5, 0, 1, 11); }

static wr_csr *tridiagonal(void) {
  entry entries[3 * 50];
  int64_t count = 0;
  for (int64_t i = 0; i < 50; i++) {
    entries[count++] = (entry){i, i, 3};
    if (i > 0) entries[count++] = (entry){i, i - 1, -2};
    if (i < 49) entries[count++] = (entry){i, i + 1, 0.5};
  }
  return matrix_of(50, entries, count, 1);
}

static wr_csr *one_by_one(void) { return matrix_of_picture(1, (const double[]){-3}); }

/* Zeros on the diagonal, so that pivots are shifted unless rows are matched. */
static wr_csr *zero_diagonal(void) {
  entry entries[2 * 40];
  for (int64_t i = 0; i < 40; i++) {
    entries[2 * i] = (entry){i, (i + 1) % 40, 2 + (double)(i % 3)};
    entries[2 * i + 1] = (entry){i, (i + 5) % 40, -0.5};
  }
  return matrix_of(40, entries, 80, 1);
}

static wr_csr *row_of_zeros(void) {
  wr_csr *A = nonsymmetric();
  for (int64_t k = A->row_ptr[7]; k < A->row_ptr[8]; k++) A->val[k] = 0;
  return A;
}

static wr_csr *huge_values(void) { return matrix_times(nonsymmetric(), 600); }
static wr_csr *tiny_values(void) { return matrix_times(nonsymmetric(), -600); }

static wr_csr *pattern(void) { return random_matrix(40, 3, 1, 0, 12); }

/* Kershaw 1978: positive definite, and the last pivot of the incomplete factorisation is -5. */
static wr_csr *kershaw(void) {
  static const double picture[16] = {3, -2, 0, 2, -2, 3, -2, 0, 0, -2, 3, -2, 2, 0, -2, 3};
  return matrix_of_picture(4, picture);
}

enum { SOLVES = 1, EXACT = 2, POSITIVE = 4 };

typedef struct system_case {
  const char *name;
  wr_csr *(*make)(void);
  int facts; /* SOLVES: every method but CG; EXACT: in one iteration; POSITIVE: CG, too, and by default */
} system_case;

static const system_case systems[] = {
    {"positive definite", laplacian, SOLVES | POSITIVE},
    {"convection", convection, SOLVES},
    {"random, nonsymmetric", nonsymmetric, SOLVES},
    {"random, diagonal as well", random_diagonal, 0},
    {"tridiagonal", tridiagonal, SOLVES | EXACT},
    {"1 x 1", one_by_one, SOLVES | EXACT},
    {"zero diagonal", zero_diagonal, 0},
    {"a row of zeros", row_of_zeros, 0},
    {"values of 2^600", huge_values, SOLVES},
    {"values of 2^-600", tiny_values, SOLVES},
    {"a pattern", pattern, 0},
    {"Kershaw's", kershaw, SOLVES | POSITIVE},
};

/* WR_SHORT, as kernels on the CPU take long: fewer systems, scalings and iterations. */
static int is_short(const ground *g) { return g->env.place == WR_CUDA && getenv("WR_SHORT") != NULL; }

static solution solution_with(const ground *g, wr_csr *A, const wr_preconditioner *of, const wr_method *method,
                              int scaling) {
  solution s = solution_of(g, A);
  s.precond = of, s.options.method = method, s.scaling = scaling;
  s.options.iterations = is_short(g) ? 20 : 2000;
  return s;
}

static void test_system(ground *g, const system_case *c, const wr_preconditioner *of, const char *knobs) {
  wr_csr *A = c->make();
  int is_exact = (c->facts & EXACT) && knobs == NULL; /* colours of blocks and f32 are not */
  for (int scaling = 0; scaling <= 1 + WR_SCALE_MATCH; scaling += is_short(g) ? 1 + WR_SCALE_MATCH : 1)
    for (int k = -1; k < wr_method_count(); k++) {
      const wr_method *method = wr_method_at(k);
      solution s = solution_with(g, A, of, method, scaling);
      s.knobs = knobs;
      ground_case(g, "%s:%s, %s, %s, scaling %d", of->name, knobs ? knobs : "", c->name, method ? method->name : "auto",
                  scaling);
      solve_and_check(g, &s);
      int converged = s.result.outcome == WR_CONVERGED, is_cg = method == &wr_method_cg;
      int is_plain = scaling <= 1 + WR_SCALE_NONE, is_positive = (c->facts & POSITIVE) && of == &wr_precond_ilu0;
      if (((c->facts & SOLVES) && !is_cg) || (is_positive && is_plain))
        CHECKF(converged || (is_short(g) && s.result.outcome == WR_MAX_ITERATIONS),
               "%s: %.3g after %lld iterations, '%s'", wr_outcome_title(s.result.outcome), s.result.measure,
               (long long)s.result.iterations, s.result.note);
      if (is_exact && !is_cg)
        CHECKF(s.result.iterations == 1 && s.result.restarts == 0, "%lld iterations", (long long)s.result.iterations);
      if (is_plain) CHECKF(s.is_positive == is_positive, "is_positive %d", s.is_positive);
      if (method == NULL && is_plain)
        CHECKF(!converged || s.result.changes[0] || (strcmp(s.result.method, "cg") == 0) == is_positive, "%s",
               s.result.method);
      solution_free(&s);
    }
  wr_csr_free(A);
}

/* Fewer iterations than without, since the eigenvalues of A M^-1 are closer together (Saad 2003, section 10.3). */
static void test_fewer(ground *g) {
  wr_csr *A = laplacian();
  solution plain = solution_with(g, A, NULL, &wr_method_bicgstab, 0);
  ground_case(g, "without a preconditioner");
  expect_outcome(g, &plain, WR_CONVERGED);
  const wr_preconditioner *const all[] = {&wr_precond_ilu0, &wr_precond_ilut};
  for (int k = 0; k < 2; k++) {
    solution s = solution_with(g, A, all[k], &wr_method_bicgstab, 0);
    ground_case(g, "%s", all[k]->name);
    expect_outcome(g, &s, WR_CONVERGED);
    CHECKF(s.result.iterations < plain.result.iterations, "%lld iterations, %lld without",
           (long long)s.result.iterations, (long long)plain.result.iterations);
    solution_free(&s);
  }
  solution_free(&plain);
  wr_csr_free(A);
}

/* The bits do not depend on the number of threads. */
static void test_threads(wr_type type) {
  const wr_backend *backend = wr_backend_default(WR_HOST);
  wr_csr *A = random_matrix(20000, 4, 7, 1, 99);
  solution first = {0};
  static const int threads[] = {1, 2, 7};
  for (int k = 0; k < 3; k++) {
    ground g = {.backend = backend, .env = {.place = WR_HOST, .type = type, .threads = threads[k], .deterministic = 1}};
    CHECK_OK(wr_env_open(&g.env));
    solution s = solution_with(&g, A, &wr_precond_ilu0, NULL, 0);
    ground_case(&g, "%d threads", threads[k]);
    expect_outcome(&g, &s, WR_CONVERGED);
    if (k > 0) check_same_run(&s, &first);
    if (k == 0)
      first = s;
    else
      solution_free(&s);
    wr_env_close(&g.env);
  }
  solution_free(&first);
  wr_csr_free(A);
}

/* ---- On a device ---- */

/* y[i], size[i] := row i of the factor times v, and |row i| times `of`. */
static void multiply_row(long double diagonal, const int32_t *col, const double *val, int64_t count, int64_t i,
                         const long double *v, const long double *of, long double *y, long double *size) {
  y[i] = diagonal * v[i], size[i] = fabsl(diagonal) * of[i];
  for (int64_t k = 0; k < count; k++)
    y[i] += (long double)val[k] * v[col[k]], size[i] += fabsl((long double)val[k]) * of[col[k]];
}

/* L U z = r but for the rounding of two substitutions: |L U z - r| <= (2 g + g^2) |L| |U| |z|, where g is 8 + the longest row
 * times the unit (Higham, Accuracy and Stability of Numerical Algorithms, theorem 8.5; elements, sums and z are rounded). */
static void check_substitution(const wr_lu *lu, const double *r, const double *z, double unit) {
  int64_t n = lu->n, longest = 0, wrong = 0;
  long double *room = room_for(5 * n, sizeof *room), *v = room, *t = room + n, *u = room + 2 * n, *w = room + 3 * n,
              *size = room + 4 * n;
  for (int64_t i = 0; i < n; i++) v[i] = (long double)z[i], w[i] = fabsl(v[i]);
  for (int64_t i = 0; i < n; i++) {
    int64_t below = lu->l_ptr[i + 1] - lu->l_ptr[i], above = lu->u_ptr[i + 1] - lu->u_ptr[i];
    longest = below > longest ? below : longest, longest = above > longest ? above : longest;
    multiply_row(1 / (long double)lu->inverse[i], lu->u_col + lu->u_ptr[i], lu->u_val + lu->u_ptr[i], above, i, v, w, t,
                 size);
  }
  for (int64_t i = 0; i < n; i++) w[i] = size[i];
  for (int64_t i = 0; i < n; i++)
    multiply_row(1, lu->l_col + lu->l_ptr[i], lu->l_val + lu->l_ptr[i], lu->l_ptr[i + 1] - lu->l_ptr[i], i, t, w, u,
                 size);
  long double g = (long double)(longest + 8) * (long double)unit;
  for (int64_t i = 0; i < n; i++) wrong += !(fabsl(u[i] - (long double)r[i]) <= (2 * g + g * g) * size[i]);
  CHECKF(wrong == 0, "%lld elements of L U z are not those of r", (long long)wrong);
  free(room);
}

/* A preconditioner of the env, applied to r. */
static wr_precond_info applied(wr_env *env, const wr_preconditioner *of, const char *knobs, wr_csr *A, const double *r,
                               double *z) {
  wr_precond *p = NULL;
  wr_vec from = {0}, to = {0};
  wr_precond_info info = {0};
  CHECK_OK(env->ops->alloc(env, A->nrows, env->type, "r", &from));
  CHECK_OK(env->ops->alloc(env, A->nrows, env->type, "z", &to));
  CHECK_OK(wr_precond_create(of, knobs, A, env, &p));
  if (p) {
    info = *wr_precond_get_info(p);
    CHECK_OK(env->ops->upload(env, &from, r));
    CHECK_OK(wr_precond_apply(p, &(wr_precond_request){.r = &from, .z = &to}));
    CHECK_OK(env->ops->download(env, &to, z));
  }
  wr_precond_destroy(p);
  env->ops->release(env, &from);
  env->ops->release(env, &to);
  return info;
}

/* The device says of its factors what the host says, and both z are those of the factors. */
static void test_apply(ground *g, const system_case *c, const wr_preconditioner *of, const char *knobs) {
  wr_env host = {.place = WR_HOST, .type = g->env.type, .threads = 1};
  wr_csr *A = c->make();
  int64_t n = A->nrows, bad = 0;
  double *r = room_for(3 * n, sizeof *r), *z[2] = {r + n, r + 2 * n};
  wr_lu lu = {0};
  wr_ilu_shifts shifts;
  ground_case(g, "%s:%s, %s, applied", of->name, knobs, c->name);
  for (int64_t i = 0; i < n; i++) r[i] = (double)(i % 17 - 8) / 4;
  CHECK_OK(wr_env_open(&host));
  const wr_precond_info there = applied(&g->env, of, knobs, A, r, z[0]), here = applied(&host, of, knobs, A, r, z[1]);
  CHECKF(strcmp(there.line, here.line) == 0, "'%s', on the host '%s'", there.line, here.line);
  CHECK(there.shifted == here.shifted && there.first_shifted == here.first_shifted);
  CHECK(there.is_positive == here.is_positive && there.extra_bytes > 0 && there.apply_bytes > 0);
  if (of == &wr_precond_ilu0)
    CHECK_OK(wr_ilu0(A, atof(WR_DEFAULT_PIVOT), NULL, &lu, &shifts));
  else
    CHECK_OK(wr_ilut(A, atof(WR_DEFAULT_DROP), atoi(WR_DEFAULT_FILL), atof(WR_DEFAULT_PIVOT), NULL, &lu, &shifts));
  for (int64_t i = 0; i < n; i++) /* beyond the type, or with few digits */
    for (int k = 0; k < 2; k++) bad += !isfinite(z[k][i]) || (fabs(z[k][i]) < FLT_MIN && r[i] != 0);
  for (int k = 0; k < 2 && bad == 0 && strstr(here.line, "raised") == NULL; k++)
    check_substitution(&lu, r, z[k], wr_type_unit(g->env.type));
  wr_lu_free(&lu);
  wr_env_close(&host);
  free(r);
  wr_csr_free(A);
}

/* Loops as graphs, of launches ahead of what is known, and by the host: the same bits. None is a resident kernel. */
static void test_loops(ground *g, const wr_preconditioner *of, const wr_method *method) {
  wr_csr *A = method == &wr_method_cg ? laplacian() : convection();
  solution s[3];
  for (int k = 0; k < 3; k++) {
    ground_case(g, "%s, %s, loop %d", of->name, method->name, k);
    s[k] = solution_with(g, A, of, method, 0);
    s[k].options.no_graph = k == 2, s[k].options.iterations = 12;
    if (of == &wr_precond_ilu0) s[k].knobs = "at=device";
    g->testing.no_conditions = k == 1;
    solve_and_check(g, &s[k]);
    g->testing.no_conditions = 0;
    CHECKF(s[k].result.repeats.by == (k == 2 ? WR_BY_HOST : WR_BY_GRAPH) || s[k].result.iterations < 4, "by %d",
           (int)s[k].result.repeats.by);
    check_same_run(&s[k], &s[0]);
  }
  for (int k = 0; k < 3; k++) solution_free(&s[k]);
  wr_csr_free(A);
}

/* In f32 the factors of a solve in f64 take less memory. */
static void test_stored(ground *g) {
  wr_csr *A = convection();
  int64_t bytes[2] = {0, 0};
  for (int k = 0; k < 2; k++) {
    wr_precond *p = NULL;
    ground_case(g, "factors in %s", k ? "f32" : "the type of the solve");
    CHECK_OK(wr_precond_create(&wr_precond_ilu0, k ? "factors=f32" : NULL, A, &g->env, &p));
    if (p) bytes[k] = wr_precond_get_info(p)->extra_bytes;
    wr_precond_destroy(p);
  }
  CHECKF(g->env.type == WR_F64 ? bytes[1] < bytes[0] : bytes[1] == bytes[0], "%lld bytes, in f32 %lld",
         (long long)bytes[0], (long long)bytes[1]);
  wr_csr_free(A);
}

/* Two thousand levels, so that a device takes an order by colours. The host does not. */
static void test_chosen_order(ground *g) {
  enum { LONG = 2000 };
  entry *entries = room_for(3 * LONG, sizeof *entries);
  int64_t count = 0;
  for (int64_t i = 0; i < LONG; i++) {
    entries[count++] = (entry){i, i, 3};
    if (i > 0) entries[count++] = (entry){i, i - 1, -1};
    if (i + 1 < LONG) entries[count++] = (entry){i, i + 1, -1};
  }
  wr_csr *A = matrix_of(LONG, entries, count, 1);
  const wr_preconditioner *const all[] = {&wr_precond_ilu0, &wr_precond_ilut};
  for (int k = 0; k < 2; k++) {
    wr_precond *p = NULL;
    ground_case(g, "%s, the order that is chosen", all[k]->name);
    CHECK_OK(wr_precond_create(all[k], NULL, A, &g->env, &p));
    if (p) {
      const wr_precond_info *info = wr_precond_get_info(p);
      int by_colours = g->env.place == WR_CUDA && k == 0;
      CHECKF((strstr(info->line, " levels in 2 colours of blocks of 32 ") != NULL) == by_colours, "%s", info->line);
      CHECKF(by_colours ? info->levels <= 2 * 2 * 17 : info->levels == 2 * LONG, "%lld levels",
             (long long)info->levels);
    }
    wr_precond_destroy(p);
  }
  free(entries);
  wr_csr_free(A);
}

static int ends(void *left) { return (*(int *)left)-- == 0; }

/* Whenever the watch ends it, there is no preconditioner, and the next one is made as if nothing had been. */
static void test_ended(ground *g, const wr_preconditioner *of) {
  wr_csr *A = random_matrix(3000, 4, 7, 1, 99);
  int asked = 0;
  ground_case(g, "%s, ended", of->name);
  for (wr_status status = WR_EUNAVAILABLE; status != WR_OK && asked < 1000; asked++) {
    wr_precond *p = NULL;
    int left = asked;
    const wr_watch watch = {.ends = ends, .context = &left};
    g->env.watch = &watch;
    status = wr_precond_create(of, of == &wr_precond_ilu0 ? "at=device" : NULL, A, &g->env, &p);
    g->env.watch = NULL;
    CHECK((status == WR_OK) == (p != NULL) && (status == WR_OK || status == WR_EUNAVAILABLE));
    if (status != WR_OK) CHECK_MESSAGE("was ended early, by a signal or at the time limit");
    wr_precond_destroy(p);
  }
  CHECKF(asked > 1 && asked < 1000, "asked %d times", asked - 1);
  wr_csr_free(A);
}

static void test_device(ground *g) {
  const wr_preconditioner *const all[] = {&wr_precond_ilu0, &wr_precond_ilut};
  for (int p = 0; p < 2; p++) {
    for (int k = 0; k < wr_method_count(); k++) test_loops(g, all[p], wr_method_at(k));
    if (g->backend != wr_backend_default(WR_CUDA)) continue; /* the rest does not multiply by A */
    for (size_t k = 0; k < sizeof systems / sizeof *systems; k++) test_apply(g, &systems[k], all[p], "order=given");
    test_ended(g, all[p]);
  }
}

static void test_all(ground *g) {
  for (size_t k = 0; k < sizeof systems / sizeof *systems; k++) {
    if (is_short(g) && k % 3 != 0) continue;
    test_system(g, &systems[k], &wr_precond_ilu0, NULL);
    test_system(g, &systems[k], &wr_precond_ilut, NULL);
    if (!is_short(g) || k == 0) test_system(g, &systems[k], &wr_precond_ilu0, "order=colour:block=5:factors=f32");
  }
  test_stored(g);
  if (!is_short(g)) test_chosen_order(g);
  if (!is_short(g)) test_fewer(g);
  if (g->env.place == WR_CUDA) test_device(g);
}

int main(void) {
  on_default_grounds(test_all);
  test_threads(WR_F32);
  test_threads(WR_F64);
  return wr_test_report("ilu_solve");
}
