/* BiCGSTAB on real matrices: those known to be safe converge, verified, within twice the iterations that another program
 * needed; of the others the reported outcome must be true. Large ones need WR_MATRICES, which names their folder. */
#define _DEFAULT_SOURCE
#include "tests/solvers/solve_fixture.h"

/* What a run must achieve, besides an outcome that is true. */
enum { ANY, CONVERGES, FAILS };

typedef struct real_system {
  const char *name, *rhs; /* rhs NULL: b = A times ones                                                              */
  int f64, f32;           /* what is asked in each type                                                              */
  int64_t needed;         /* iterations of scipy's bicgstab in f64 (tests/data/real/README.md); 0: not to be counted */
  int64_t most;           /* iterations allowed, where many teach nothing; 0: the default                            */
} real_system;

static const real_system systems[] = {
    {"sherman5", NULL, CONVERGES, ANY, 1992, 0},
    {"sherman5", "sherman5_b", CONVERGES, ANY, 3237, 0},
    {"steam2", NULL, CONVERGES, CONVERGES, 136, 0},
    {"add32", NULL, CONVERGES, CONVERGES, 51, 0},
    {"bar", NULL, CONVERGES, CONVERGES, 111, 0},
    {"memplus", NULL, CONVERGES, CONVERGES, 1178, 0},
    {"memplus", "memplus_b", CONVERGES, CONVERGES, 1171, 0}, /* norm 2e-11 */
    {"cage10", NULL, CONVERGES, CONVERGES, 11, 0},
    {"lsc_F_2", NULL, CONVERGES, CONVERGES, 130, 0},
    {"ldg_diffusion", NULL, CONVERGES, CONVERGES, 180, 0},
    {"bcsstk16", NULL, CONVERGES, CONVERGES, 204, 0},
    {"orsreg_1", NULL, ANY, ANY, 0, 0},
    {"jpwh_991", NULL, ANY, ANY, 0, 0},
    {"west0479", NULL, FAILS, FAILS, 0, 0},
    {"bayer10", NULL, FAILS, FAILS, 0, 0},
    {"plskz362", NULL, ANY, ANY, 0, 0},
    {"nsjac", NULL, ANY, ANY, 0, 0}, /* chaotic: no iterations are counted */
    {"nsjac", "nsjac_b", ANY, ANY, 0, 0},
    {"e20r0000", "e20r0000_b", ANY, ANY, 0, 2000},
    {"fidapex6", NULL, ANY, ANY, 0, 2000},
    {"adder_dcop_05", NULL, ANY, ANY, 0, 2000},
    {"c-62", NULL, ANY, ANY, 0, 300},
};

static int is_small(const char *name) {
  static const char *const small[] = {"sherman5", "steam2", "add32", "bar", "orsreg_1", "jpwh_991"};
  for (size_t k = 0; k < sizeof small / sizeof *small; k++)
    if (strcmp(name, small[k]) == 0) return 1;
  return 0;
}

static void check_asked(const solution *s, int asked, int64_t needed) {
  const char *title = wr_outcome_title(s->result.outcome);
  int converged = s->result.outcome == WR_CONVERGED;
  if (asked == CONVERGES)
    CHECKF(converged, "%s, %.3g after %lld, %d restarts, '%s'", title, s->result.measure,
           (long long)s->result.iterations, s->result.restarts, s->result.note);
  if (asked == FAILS) CHECKF(!converged, "converged after %lld", (long long)s->result.iterations);
  if (asked == CONVERGES && needed > 0)
    CHECKF(s->result.iterations <= 2 * needed, "%lld iterations, where %lld do", (long long)s->result.iterations,
           (long long)needed);
}

static void test_system(ground *g, const real_system *system) {
  double *b = NULL;
  wr_csr *A = real_matrix(system->name, is_small(system->name));
  if (A == NULL) return;
  ground_case(g, "%s%s%s", system->name, system->rhs ? ", " : "", system->rhs ? system->rhs : "");
  const char *path = system->rhs ? real_path(system->rhs) : NULL;
  if (path) CHECK_OK(wr_vector_read(path, &(wr_vector_need){.n = A->nrows, .whose = "the matrix's rows"}, &b));
  if (system->rhs == NULL || b) {
    solution s = solution_of(g, A);
    s.b = b;
    if (system->most) s.options.iterations = system->most;
    solve_and_check(g, &s);
    check_asked(&s, g->env.type == WR_F64 ? system->f64 : system->f32, g->env.type == WR_F64 ? system->needed : 0);
    solution_free(&s);
  } else {
    CHECKF(!is_small(system->name), "%s is not there", system->rhs);
  }
  wr_free(b);
  wr_csr_free(A);
}

/* Jacobi on matrices without a zero on the diagonal: converged with a residual within the bound, or an outcome that is true. */
static void test_jacobi(ground *g) {
  static const char *const names[] = {"orsreg_1", "steam2", "add32", "bar"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    wr_csr *A = real_matrix(names[k], 1);
    if (A == NULL) continue;
    solution s = solution_of(g, A);
    s.jacobi = 1;
    ground_case(g, "%s, jacobi", names[k]);
    solve_and_check(g, &s);
    if (g->env.type == WR_F64) check_asked(&s, CONVERGES, 0);
    solution_free(&s);
    wr_csr_free(A);
  }
}

/* sherman5's residual goes up and down by orders of magnitude. At any limit of iterations the answer is about the best iterate,
 * since a snapshot is taken whenever the residual is below a tenth of that of the last snapshot. */
static void test_best_so_far(ground *g) {
  wr_csr *A = real_matrix("sherman5", 1);
  int worse = 0;
  for (int64_t most = 40; A && g->env.type == WR_F64 && most <= 1000; most += 40) {
    solution s = solution_of(g, A);
    s.options.iterations = most;
    ground_case(g, "sherman5, at most %lld iterations", (long long)most);
    expect_outcome(g, &s, WR_MAX_ITERATIONS);
    double best = 1, last = s.history.measure[s.history.count - 1];
    for (int64_t k = 0; k < s.history.count; k++) best = fmin(best, s.history.measure[k]);
    CHECKF(s.final <= 10.01L * (long double)best + s.final_slack, "%.3Lg, where %.3g was seen", s.final, best);
    worse += last > 20 * best;
    solution_free(&s);
  }
  CHECKF(worse > 0 || A == NULL || g->env.type != WR_F64,
         "the last residual is always among the best: nothing is shown");
  wr_csr_free(A);
}

/* The distance of checks does not change how good the answer is. */
static void test_check_every(ground *g) {
  wr_csr *A = real_matrix("add32", 1);
  for (int64_t every = 2; A && every <= 7; every++) {
    solution s = solution_of(g, A);
    s.options.check_every = every;
    ground_case(g, "add32, a check every %lld", (long long)every);
    expect_outcome(g, &s, WR_CONVERGED);
    CHECKF(s.result.iterations <= 102, "%lld iterations", (long long)s.result.iterations);
    solution_free(&s);
  }
  wr_csr_free(A);
}

static void test_all(ground *g) {
  for (size_t k = 0; k < sizeof systems / sizeof *systems; k++) test_system(g, &systems[k]);
  test_jacobi(g);
  test_best_so_far(g);
  test_check_every(g);
}

int main(void) {
  on_default_grounds(test_all);
  return wr_test_report("bicgstab_real");
}
