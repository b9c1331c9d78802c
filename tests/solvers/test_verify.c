/* Verification: right answers pass in both types, and each planted fault is found: one wrong element, a wrong row, a NaN, a
 * dangling sum that is off, an answer that does not meet the tolerance. */
#define _DEFAULT_SOURCE
#include "solvers/verify.h"
#include "tests/solvers/ground.h"

enum { N = 3000 };
static const wr_rounding roundings[] = {
    {0x1p-24, 0x1p-53, 0}, {0x1p-53, 0x1p-53, 0}, {0x1p-24, 0x1p-24, 0}, {0x1p-24, 0x1p-53, 3 * 0x1p-24}};
enum { ROUNDINGS = 3 };

static double stored(wr_rounding rounding, long double value) {
  return rounding.unit > 0x1p-40 ? (double)(float)value : (double)value;
}

/* ---- PageRank ---- */

/* A graph, ranks in the stored type, and one more step of them, computed in long double and rounded once. */
typedef struct ranked {
  wr_csr *links;
  wr_graph graph;
  double *ranks, *step;
  double dangling, change;
  double damping;
} ranked;

static long double dangling_mass(const ranked *r) {
  long double mass = 0;
  for (int64_t i = 0; i < N; i++)
    if (wr_graph_out_weight(&r->graph, i) == 0) mass += (long double)r->ranks[i];
  return mass;
}

/* step := the ranks after one more step; change := its L1 change. */
static void make_step(ranked *r, wr_rounding rounding) {
  const wr_csr *m = r->links;
  long double *flow = room_for(N, sizeof *flow), mass = dangling_mass(r), d = (long double)r->damping;
  for (int64_t i = 0; i < N; i++)
    for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) {
      int64_t from = r->graph.edges_in ? m->col[k] : i, to = r->graph.edges_in ? i : m->col[k];
      if (wr_graph_out_weight(&r->graph, from) > 0)
        flow[to] += (m->val ? (long double)m->val[k] : 1) / (long double)wr_graph_out_weight(&r->graph, from) *
                    (long double)r->ranks[from];
    }
  r->dangling = (double)mass, r->change = 0;
  for (int64_t i = 0; i < N; i++) {
    long double v = r->graph.teleport ? (long double)r->graph.teleport[i] : 1.0L / N;
    r->step[i] = stored(rounding, d * flow[i] + (d * mass + (1 - d)) * v);
    r->change += fabs(r->step[i] - r->ranks[i]);
  }
  free(flow);
}

/* The ranks after `steps` steps from the uniform vector. */
static ranked make_ranked(wr_rounding rounding, int variant, int steps) {
  ranked r = {.links = random_matrix(N, 4, 0, variant & 1, 17), .damping = 0.85};
  double *targets = variant & 2 ? given((const double[N]){3, 0, 1}, N) : NULL;
  for (int64_t k = 0; r.links->val && k < r.links->nnz; k++) r.links->val[k] = fabs(r.links->val[k]);
  for (int64_t i = 0; i < N; i += 11) /* weights of 0 are links too, but none that ranks flow through */
    for (int64_t k = r.links->row_ptr[i]; r.links->val && k < r.links->row_ptr[i + 1]; k++) r.links->val[k] = 0;
  CHECK_OK(wr_graph_build(r.links, variant >> 2 & 1, targets, NULL, &r.graph));
  r.ranks = room_for(N, sizeof *r.ranks), r.step = room_for(N, sizeof *r.step);
  for (int64_t i = 0; i < N; i++) r.ranks[i] = stored(rounding, 1.0L / N);
  make_step(&r, rounding);
  for (int k = 0; k < steps; k++) {
    memcpy(r.ranks, r.step, N * sizeof *r.ranks);
    make_step(&r, rounding);
  }
  return r;
}

static void free_ranked(ranked *r) {
  wr_graph_free(&r->graph);
  wr_csr_free(r->links);
  free(r->ranks);
  free(r->step);
}

static wr_verdict judge(const ranked *r, wr_rounding rounding, double tolerance, wr_verified level, int64_t rows) {
  wr_verdict verdict;
  CHECK_OK(wr_verify_pagerank(&r->graph, r->damping, tolerance, 0, rounding, r->ranks, r->step, r->change, r->dangling,
                              level, rows, &verdict));
  return verdict;
}

/* Largest error that row i of the step may have, as solvers/verify.h says: without what covers underflow. */
static double bound_of_row(const ranked *r, wr_rounding rounding, int64_t i) {
  const wr_csr *flow = r->graph.flow;
  double length = (double)(flow->row_ptr[i + 1] - flow->row_ptr[i]);
  return (4 * rounding.unit + rounding.term_unit + (length + 2) * rounding.sum_unit) * r->step[i];
}

static void test_right_step(wr_rounding rounding, int variant) {
  ranked r = make_ranked(rounding, variant, 100);
  wr_verdict verdict = judge(&r, rounding, 1e-5, WR_VERIFY_FULL, 0);
  CHECKF(verdict.multiplied_right && verdict.worst_row <= 1 && verdict.rows == N, "error %g of its bound in %lld rows",
         verdict.worst_row, (long long)verdict.rows);
  CHECKF(verdict.met_tolerance && verdict.measure <= verdict.limit, "%g of %g", verdict.measure, verdict.limit);
  CHECKF(verdict.limit >= 0.15e-5 &&
             verdict.limit <= 0.15e-5 + 8 * rounding.unit + rounding.term_unit + 40 * rounding.sum_unit,
         "%g", verdict.limit);
  CHECK(verdict.level == WR_VERIFY_FULL);
  verdict = judge(&r, rounding, 1e-5, WR_VERIFY_SAMPLE, 100);
  CHECKF(verdict.multiplied_right && verdict.met_tolerance && verdict.rows == 100, "error %g, change %g of %g",
         verdict.worst_row, verdict.measure, verdict.limit);
  CHECK(verdict.measure == r.change);
  verdict = judge(&r, rounding, 1e-5, WR_VERIFY_SAMPLE, 10 * N);
  CHECKF(verdict.rows == N, "%lld rows", (long long)verdict.rows);
  verdict = judge(&r, rounding, 1e-5, WR_VERIFY_DEVICE, 100);
  CHECKF(verdict.multiplied_right && verdict.met_tolerance && verdict.rows == 0, "%lld rows", (long long)verdict.rows);
  verdict = judge(&r, rounding, 1e-5, WR_VERIFY_OFF, 100);
  CHECKF(verdict.level == WR_VERIFY_OFF && verdict.rows == 0, "%lld rows", (long long)verdict.rows);
  free_ranked(&r);
}

/* A fault planted in one element must be found by each level that checks its row. */
static void expect_wrong(const ranked *r, wr_rounding rounding, const char *fault) {
  wr_verdict full = judge(r, rounding, 1e-5, WR_VERIFY_FULL, 0);
  wr_verdict sample = judge(r, rounding, 1e-5, WR_VERIFY_SAMPLE, N);
  CHECKF(!full.multiplied_right && !(full.worst_row <= 1), "%s: full finds an error of %g", fault, full.worst_row);
  CHECKF(!sample.multiplied_right && !(sample.worst_row <= 1), "%s: a sample of all finds %g", fault, sample.worst_row);
}

static void test_wrong_step(wr_rounding rounding, int variant) {
  static const int64_t places[] = {0, 1, N / 2, N - 1};
  ranked r = make_ranked(rounding, variant, 30);
  for (int p = 0; p < 4; p++) {
    int64_t i = places[p];
    double right = r.step[i], bound = bound_of_row(&r, rounding, i);
    r.step[i] = right + 3 * bound, expect_wrong(&r, rounding, "too much");
    r.step[i] = right - 3 * bound, expect_wrong(&r, rounding, "too little");
    r.step[i] = NAN, expect_wrong(&r, rounding, "NaN");
    r.step[i] = INFINITY, expect_wrong(&r, rounding, "Inf");
    r.step[i] = 0, expect_wrong(&r, rounding, "0");
    r.step[i] = right;
  }
  double kept = r.step[0];
  r.step[0] = r.step[1], r.step[1] = kept;
  expect_wrong(&r, rounding, "two rows swapped");
  r.step[1] = r.step[0], r.step[0] = kept;
  CHECK(judge(&r, rounding, 1e-5, WR_VERIFY_FULL, 0).multiplied_right);
  r.step[0] = NAN; /* the ends are in every sample */
  CHECK(!judge(&r, rounding, 1e-5, WR_VERIFY_SAMPLE, 2).multiplied_right);
  CHECK(!judge(&r, rounding, 1e-5, WR_VERIFY_SAMPLE, 1).multiplied_right);
  r.step[0] = kept, r.step[N - 1] = NAN;
  CHECK(!judge(&r, rounding, 1e-5, WR_VERIFY_SAMPLE, 2).multiplied_right);
  free_ranked(&r);
}

static void test_wrong_dangling(wr_rounding rounding, int variant) {
  ranked r = make_ranked(rounding, variant, 30);
  double right = r.dangling;
  for (wr_verified level = WR_VERIFY_DEVICE; level <= WR_VERIFY_FULL; level++) {
    CHECK(judge(&r, rounding, 1e-5, level, 10).multiplied_right);
    r.dangling = right * (1 + 1e-11) + 1e-300;
    CHECKF(!judge(&r, rounding, 1e-5, level, 10).multiplied_right, "level %d: a dangling mass off by 1e-11",
           (int)level);
    r.dangling = NAN;
    CHECKF(!judge(&r, rounding, 1e-5, level, 10).multiplied_right, "level %d: a dangling mass of NaN", (int)level);
    r.dangling = right;
  }
  free_ranked(&r);
}

/* Ranks that have not converged: multiplied right, tolerance not met. Only a sample relies on the change from the device. */
static void test_far_ranks(wr_rounding rounding, int variant) {
  ranked r = make_ranked(rounding, variant, 2);
  wr_verdict verdict = judge(&r, rounding, 1e-5, WR_VERIFY_FULL, 0);
  CHECKF(verdict.multiplied_right && !verdict.met_tolerance, "error %g, change %g of %g", verdict.worst_row,
         verdict.measure, verdict.limit);
  CHECKF(fabs(verdict.measure - r.change) <= 1e-5, "%g, not %g", verdict.measure, r.change);
  verdict = judge(&r, rounding, 1e-5, WR_VERIFY_SAMPLE, 10);
  CHECK(!verdict.met_tolerance);
  r.change = 0;
  CHECK(!judge(&r, rounding, 1e-5, WR_VERIFY_FULL, 0).met_tolerance);
  r.change = NAN;
  CHECK(!judge(&r, rounding, 1e-5, WR_VERIFY_SAMPLE, 10).met_tolerance);
  r.ranks[5] = NAN;
  verdict = judge(&r, rounding, 1e-5, WR_VERIFY_FULL, 0);
  CHECK(!verdict.met_tolerance && !verdict.multiplied_right);
  free_ranked(&r);
}

/* ---- BiCGSTAB ---- */

/* A system, some x near its solution in the stored type, and the residual, computed in long double and rounded once. */
typedef struct solved {
  wr_csr *A;
  wr_system system;
  wr_rounding rounding;
  double *u, *q, *bound;
  double *x; /* of A x = b */
  double norm;
} solved;

static void make_residual(solved *s) {
  const wr_csr *A = s->A;
  s->norm = 0;
  for (int64_t i = 0; i < N; i++) {
    long double r = (long double)s->system.b[i], size = fabsl(r);
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      long double x = (long double)s->u[A->col[k]];
      if (s->system.inverse_diagonal) x *= (long double)s->system.inverse_diagonal[A->col[k]];
      r -= (long double)A->val[k] * x, size += fabsl((long double)A->val[k] * x);
    }
    s->q[i] = stored(s->rounding, r);
    double terms = 4 * s->rounding.unit + s->rounding.term_unit, length = (double)(A->row_ptr[i + 1] - A->row_ptr[i]);
    s->bound[i] = (terms + (length + 2) * s->rounding.sum_unit) * (double)size;
    s->norm += s->q[i] * s->q[i];
  }
  s->norm = sqrt(s->norm);
}

/* off: how far u is from the solution, in proportion. */
static solved make_solved(wr_rounding rounding, int jacobi, double off) {
  solved s = {.A = random_matrix(N, 6, 9, 1, 23), .rounding = rounding};
  uint64_t seed = 77;
  CHECK_OK(wr_system_build(s.A, NULL, NULL, 0, 0, WR_SCALE_NONE, jacobi ? &wr_precond_jacobi : NULL, 0, &s.system));
  s.u = room_for(N, sizeof *s.u), s.q = room_for(N, sizeof *s.q), s.bound = room_for(N, sizeof *s.bound);
  s.x = room_for(N, sizeof *s.x);
  for (int64_t i = 0; i < N; i++) {
    double x = ldexp(1 + off * (2 * random_in(&seed) - 1), s.system.exponent);
    s.u[i] = stored(rounding, (long double)(s.system.inverse_diagonal ? x / s.system.inverse_diagonal[i] : x));
  }
  make_residual(&s);
  memcpy(s.x, s.u, N * sizeof *s.x);
  wr_system_unscale(&s.system, s.x);
  return s;
}

static void free_solved(solved *s) {
  wr_system_free(&s->system);
  wr_csr_free(s->A);
  free(s->u);
  free(s->q);
  free(s->bound);
  free(s->x);
}

static wr_verdict judge_solved(const solved *s, wr_verified level, int64_t rows) {
  wr_verdict verdict;
  const wr_solved what = {s->x, s->u, s->system.b, s->q, s->norm, NULL, 0};
  CHECK_OK(wr_verify_system(&s->system, 1e-5, s->rounding, &what, level, rows, &verdict));
  return verdict;
}

static void test_right_residual(wr_rounding rounding, int jacobi) {
  solved s = make_solved(rounding, jacobi, 1e-6);
  wr_verdict verdict = judge_solved(&s, WR_VERIFY_FULL, 0);
  CHECKF(verdict.multiplied_right && verdict.worst_row <= 1 && verdict.rows == N, "error %g of its bound in %lld rows",
         verdict.worst_row, (long long)verdict.rows);
  CHECKF(verdict.met_tolerance, "%g of %g", verdict.measure, verdict.limit);
  CHECKF(verdict.limit == 1e-5 * s.system.norm_b, "%g", verdict.limit);
  double attainable = verdict.attainable / (2 * rounding.unit + rounding.term_unit); /* || |A||x| + |b| || */
  CHECKF(attainable >= s.system.norm_b && attainable <= 3 * s.system.norm_b, "%g", attainable);
  CHECKF(fabs(verdict.measure - s.norm) <= 1e-6 * s.norm + 2 * rounding.unit * 3 * s.system.norm_b, "%g, not %g",
         verdict.measure, s.norm);
  CHECKF(verdict.backward_error > 1e-9 && verdict.backward_error < 1e-5, "%g", verdict.backward_error);
  verdict = judge_solved(&s, WR_VERIFY_SAMPLE, 50);
  CHECKF(verdict.multiplied_right && verdict.met_tolerance && verdict.rows == 50, "error %g", verdict.worst_row);
  verdict = judge_solved(&s, WR_VERIFY_DEVICE, 50);
  CHECKF(verdict.multiplied_right && verdict.met_tolerance && verdict.rows == 0, "%lld", (long long)verdict.rows);
  CHECK(verdict.measure == s.norm);
  CHECK(judge_solved(&s, WR_VERIFY_OFF, 50).level == WR_VERIFY_OFF);
  free_solved(&s);
}

static void expect_wrong_residual(const solved *s, const char *fault) {
  wr_verdict full = judge_solved(s, WR_VERIFY_FULL, 0), sample = judge_solved(s, WR_VERIFY_SAMPLE, N);
  CHECKF(!full.multiplied_right && !(full.worst_row <= 1), "%s: full finds an error of %g", fault, full.worst_row);
  CHECKF(!sample.multiplied_right && !(sample.worst_row <= 1), "%s: a sample of all finds %g", fault, sample.worst_row);
}

static void test_wrong_residual(wr_rounding rounding, int jacobi) {
  static const int64_t places[] = {0, 1, N / 2, N - 1};
  solved s = make_solved(rounding, jacobi, 1e-6);
  for (int p = 0; p < 4; p++) {
    int64_t i = places[p];
    double right = s.q[i];
    s.q[i] = right + 3 * s.bound[i], expect_wrong_residual(&s, "too much");
    s.q[i] = right - 3 * s.bound[i], expect_wrong_residual(&s, "too little");
    s.q[i] = NAN, expect_wrong_residual(&s, "NaN");
    s.q[i] = -INFINITY, expect_wrong_residual(&s, "-Inf");
    s.q[i] = right;
  }
  CHECK(judge_solved(&s, WR_VERIFY_FULL, 0).multiplied_right);
  double last = s.q[N - 1];
  s.q[N - 1] = NAN; /* the ends are in every sample */
  CHECK(!judge_solved(&s, WR_VERIFY_SAMPLE, 2).multiplied_right);
  s.q[N - 1] = last, s.q[0] = NAN;
  CHECK(!judge_solved(&s, WR_VERIFY_SAMPLE, 2).multiplied_right);
  s.q[0] = 0, s.A->val[0] *= 1.01; /* as if the device had another value in that row */
  CHECK(!judge_solved(&s, WR_VERIFY_FULL, 0).multiplied_right);
  free_solved(&s);
}

static void test_far_solution(wr_rounding rounding, int jacobi) {
  solved s = make_solved(rounding, jacobi, 1e-3);
  wr_verdict verdict = judge_solved(&s, WR_VERIFY_FULL, 0);
  CHECKF(verdict.multiplied_right && !verdict.met_tolerance, "error %g, residual %g of %g", verdict.worst_row,
         verdict.measure, verdict.limit);
  CHECK(!judge_solved(&s, WR_VERIFY_SAMPLE, 10).met_tolerance);
  s.norm = 0; /* a wrong norm, which the host's own residual does not depend on */
  CHECK(!judge_solved(&s, WR_VERIFY_FULL, 0).met_tolerance);
  s.u[7] = s.x[7] = NAN;
  verdict = judge_solved(&s, WR_VERIFY_FULL, 0);
  CHECK(!verdict.met_tolerance && !verdict.multiplied_right);
  s.u[7] = s.x[7] = INFINITY;
  verdict = judge_solved(&s, WR_VERIFY_FULL, 0);
  CHECK(!verdict.met_tolerance && !verdict.multiplied_right);
  s.norm = NAN;
  CHECK(!judge_solved(&s, WR_VERIFY_SAMPLE, 2).met_tolerance);
  CHECK(!judge_solved(&s, WR_VERIFY_DEVICE, 2).met_tolerance);
  free_solved(&s);
}

/* Rows without entries, a system of one row, b = 0: nothing is divided by 0. */
static void test_small(void) {
  wr_csr *A = matrix_of(1, NULL, 0, 1);
  wr_system system;
  wr_verdict verdict;
  const double zero[] = {0}, one[] = {1};
  ground_case(NULL, "an empty row");
  CHECK_OK(wr_system_build(A, given((const double[]){0}, 1), NULL, 0, 0, WR_SCALE_NONE, 0, 0, &system));
  wr_solved right = {zero, zero, zero, zero, 0, NULL, 0}, wrong = {zero, zero, zero, one, 0, NULL, 0};
  CHECK_OK(wr_verify_system(&system, 1e-5, roundings[0], &right, WR_VERIFY_FULL, 0, &verdict));
  CHECKF(verdict.multiplied_right && verdict.met_tolerance && verdict.backward_error == 0, "backward error %g",
         verdict.backward_error);
  CHECK_OK(wr_verify_system(&system, 1e-5, roundings[0], &wrong, WR_VERIFY_FULL, 0, &verdict));
  CHECK(!verdict.multiplied_right);
  wr_system_free(&system);
  wr_csr_free(A);
}

/* A value that becomes denormal in f32 is off by up to 2^-150, which may be all of it, times its element of u. */
static void test_denormal_value(void) {
  wr_csr *A = matrix_of_picture(2, (const double[]){1e-12, 0, 1.23e-42, 1e-12});
  wr_system system;
  wr_verdict verdict;
  ground_case(NULL, "a value that is denormal in f32");
  CHECK_OK(wr_system_build(A, given((const double[]){1, 0}, 2), NULL, 0, 0, WR_SCALE_NONE, 0, 0, &system));
  const double u[] = {(double)(float)5e11, 0};
  double q[2], x[] = {u[0], u[1]};
  for (int i = 0; i < 2; i++) q[i] = (double)(float)(system.b[i] - (double)(float)A->val[i] * u[0]);
  wr_system_unscale(&system, x);
  CHECKF(fabs(q[1] + 1.23e-42 * u[0]) > 1e-4 * 1.23e-42 * u[0], "f32 holds 1.23e-42 well: %g", q[1]);
  const wr_solved right = {x, u, system.b, q, 0, NULL, 0};
  CHECK_OK(wr_verify_system(&system, 1e-5, roundings[0], &right, WR_VERIFY_FULL, 0, &verdict));
  CHECKF(verdict.multiplied_right, "error %g of its bound", verdict.worst_row);
  q[1] = -2 * 1.23e-42 * u[0]; /* off by 600 times the spacing of f32 there */
  CHECK_OK(wr_verify_system(&system, 1e-5, roundings[0], &right, WR_VERIFY_FULL, 0, &verdict));
  CHECK(!verdict.multiplied_right);
  wr_system_free(&system);
  wr_csr_free(A);
}

/* Cancellation: the residual is 0.3, but 0 if computed in plain f64. */
static void test_cancelling_residual(void) {
  wr_csr *A = matrix_of_picture(
      2, (const double[]){1.4267320568177375, 1.8024103068486483, -0.04946939502386516, -0.06249536977774123});
  wr_system system;
  wr_verdict verdict;
  CHECK_OK(wr_system_build(A, given((const double[]){1, 0}, 2), NULL, 0, 0, WR_SCALE_NONE, 0, 0, &system));
  uint64_t seed = 3;
  int seen = 0;
  for (int trial = 0; trial < 1000; trial++) {
    double x[2] = {4.5e15 * (1 + random_in(&seed))}, u[2], q[2];
    x[1] = -x[0] * A->val[0] / A->val[1];
    long double norm = 0;
    for (int i = 0; i < 2; i++) {
      long double r = i == 0;
      for (int j = 0; j < 2; j++) r -= (long double)A->val[2 * i + j] * (long double)x[j];
      u[i] = ldexp(x[i], system.exponent), norm += r * r;
    }
    for (int i = 0; i < 2; i++) q[i] = system.b[i] - (A->val[2 * i] * u[0] + A->val[2 * i + 1] * u[1]);
    const wr_solved what = {x, u, system.b, q, 0, NULL, 0};
    CHECK_OK(wr_verify_system(&system, 1e-8, roundings[1], &what, WR_VERIFY_FULL, 0, &verdict));
    double plain = hypot(q[0], q[1]) / system.norm_b, truth = (double)sqrtl(norm);
    seen += plain < 1e-8 && truth > 0.1;
    ground_case(NULL, "x = (%.17g, %.17g)", x[0], x[1]);
    CHECKF(verdict.multiplied_right && !verdict.met_tolerance, "residual %g, in truth %g", verdict.measure, truth);
    /* long double is off by 2^-64 of terms of 1.3e16, and of their sums */
    CHECKF(fabs(verdict.measure / system.norm_b - truth) <= 4 * 1.3e16 * 0x1p-63, "%.17g, in truth %.17g",
           verdict.measure / system.norm_b, truth);
  }
  CHECKF(seen > 0, "plain arithmetic was never deceived: this shows little");
  wr_system_free(&system);
  wr_csr_free(A);
}

int main(void) {
  ground_threads(N);
  test_denormal_value();
  test_cancelling_residual();
  for (int k = 0; k < ROUNDINGS; k++) {
    for (int variant = 0; variant < 8; variant++) {
      ground_case(NULL, "PageRank, rounding %d, variant %d", k, variant);
      test_right_step(roundings[k], variant);
      test_wrong_step(roundings[k], variant);
      test_wrong_dangling(roundings[k], variant);
      test_far_ranks(roundings[k], variant);
    }
    for (int jacobi = 0; jacobi < 2; jacobi++) {
      ground_case(NULL, "BiCGSTAB, rounding %d%s", k, jacobi ? ", jacobi" : "");
      test_right_residual(roundings[k], jacobi);
      test_wrong_residual(roundings[k], jacobi);
      test_far_solution(roundings[k], jacobi);
    }
  }
  test_small();
  return wr_test_report("verify");
}
