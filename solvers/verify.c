#include "solvers/verify.h"

#include <float.h>
#include <math.h>

#include "config/memory.h"

wr_rounding wr_rounding_of(const wr_env *env, const wr_plan *plan) {
  const wr_plan_info *info = wr_plan_get_info(plan);
  return (wr_rounding){.unit = wr_type_unit(env->type),
                       .sum_unit = info->sum_unit > 0 ? info->sum_unit : wr_type_unit(WR_F64),
                       .term_unit = info->term_unit};
}

/* Adds one checked row to the verdict: error and what it may be. A NaN is an infinite error, so that it stays the worst. */
static void judge_row(wr_verdict *verdict, double error, double bound) {
  double ratio = error == 0 ? 0 : bound > 0 ? error / bound : INFINITY;
  verdict->rows++;
  if (!(ratio <= verdict->worst_row)) verdict->worst_row = isnan(ratio) ? INFINITY : ratio;
}

/* Row k of a sample of `rows` out of n, spread evenly with both ends. */
static int64_t sample_row(int64_t k, int64_t rows, int64_t n) {
  return rows < 2 ? 0 : k * (n - 1) / (rows - 1); /* both below 2^31 */
}

/* Which of the sampled rows row i is, or -1: none. */
static int64_t place_in_sample(int64_t i, int64_t rows, int64_t n) {
  int64_t k = rows < 2 ? 0 : (i * (rows - 1) + n - 2) / (n - 1); /* the first one at or after i */
  return sample_row(k, rows, n) == i ? k : -1;
}

/* flow[k] += what the page that is k-th of a sample gets from all links, walking the links as parsed; length[k] += 1 for
 * each. rows: of the sample; all n: every page. */
static void follow_links(const wr_graph *g, const double *ranks, int64_t rows, double *flow, double *length) {
  const wr_csr *m = g->links;
#pragma omp parallel for schedule(guided)
  for (int64_t i = 0; i < m->nrows; i++)
    for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) {
      int64_t from = g->edges_in ? m->col[k] : i, to = g->edges_in ? i : m->col[k];
      int64_t place = rows == g->n ? to : place_in_sample(to, rows, g->n);
      if (place < 0) continue;
      double weight = wr_graph_out_weight(g, from);
      double share = weight > 0 ? (m->val ? m->val[k] : 1) / weight * ranks[from] : 0;
#pragma omp atomic
      flow[place] += share;
#pragma omp atomic
      length[place] += 1;
    }
}

/* What all pages together get by teleporting, from the device's own dangling mass, which is checked here. */
static double teleported(const wr_graph *g, double damping, const double *ranks, double dangling, wr_verdict *verdict) {
  double sum = 0, correction = 0; /* compensated */
  for (int64_t i = 0; i < g->n; i++) {
    if (wr_graph_out_weight(g, i) != 0) continue;
    double y = ranks[i] - correction, next = sum + y;
    correction = (next - sum) - y;
    sum = next;
  }
  judge_row(verdict, fabs(dangling - sum), (2048 + (double)g->n / 512) * 0x1p-53 * sum);
  verdict->rows--; /* no row of the matrix */
  return damping * dangling + (1 - damping);
}

static double teleport_of(const wr_graph *g, int64_t i) { return g->teleport ? g->teleport[i] : 1 / (double)g->n; }

/* Bound of a row's error: terms and result are rounded in the stored type, terms by term_unit besides, the sum in
 * sum_unit; DBL_MIN and FLT_MIN cover what underflows. */
static double row_bound(wr_rounding rounding, double length, double magnitude) {
  double tiny = rounding.unit > 0x1p-40 ? FLT_MIN : DBL_MIN;
  return (4 * rounding.unit + rounding.term_unit + (length + 2) * rounding.sum_unit) * magnitude + (length + 2) * tiny;
}

static wr_status verify_step(const wr_graph *g, double damping, double jump, wr_rounding rounding, const double *ranks,
                             const double *step, wr_verdict *verdict, double *allowance) {
  wr_status status;
  double *flow = NULL, *length = NULL, change = 0, weight = 0;
  TRY(wr_alloc_zeroed(&flow, g->n, sizeof *flow, "verification"));
  TRY(wr_alloc_zeroed(&length, g->n, sizeof *length, "verification"));
  follow_links(g, ranks, g->n, flow, length);
  for (int64_t i = 0; i < g->n; i++) {
    double exact = damping * flow[i] + jump * teleport_of(g, i);
    judge_row(verdict, fabs(step[i] - exact), row_bound(rounding, length[i], exact));
    change += fabs(exact - ranks[i]);
    weight += length[i] * fabs(ranks[i]);
  }
  verdict->measure = change;
  *allowance = rounding.sum_unit * weight;
done:
  wr_free(flow);
  wr_free(length);
  return status;
}

static wr_status verify_step_sample(const wr_graph *g, double damping, double jump, wr_rounding rounding,
                                    const double *ranks, const double *step, int64_t rows, wr_verdict *verdict) {
  wr_status status;
  double *flow = NULL, *length = NULL;
  TRY(wr_alloc_zeroed(&flow, rows, sizeof *flow, "verification"));
  TRY(wr_alloc_zeroed(&length, rows, sizeof *length, "verification"));
  if (rows > 0) follow_links(g, ranks, rows, flow, length);
  for (int64_t k = 0; k < rows; k++) {
    int64_t i = sample_row(k, rows, g->n);
    double exact = damping * flow[k] + jump * teleport_of(g, i);
    judge_row(verdict, fabs(step[i] - exact), row_bound(rounding, length[k], exact));
  }
done:
  wr_free(flow);
  wr_free(length);
  return status;
}

wr_status wr_verify_pagerank(const wr_graph *graph, double damping, double tolerance, int stop_on_change,
                             wr_rounding rounding, const double *ranks, const double *step, double device_change,
                             double dangling, wr_verified level, int64_t rows, wr_verdict *verdict) {
  wr_status status = WR_OK;
  double allowance = 0;
  *verdict = (wr_verdict){.level = level, .measure = device_change};
  if (level == WR_VERIFY_OFF) return WR_OK;
  double jump = teleported(graph, damping, ranks, dangling, verdict);
  if (level == WR_VERIFY_FULL)
    TRY(verify_step(graph, damping, jump, rounding, ranks, step, verdict, &allowance));
  else if (level == WR_VERIFY_SAMPLE)
    TRY(verify_step_sample(graph, damping, jump, rounding, ranks, step, rows < graph->n ? rows : graph->n, verdict));
  if (level != WR_VERIFY_FULL) allowance = rounding.sum_unit * wr_graph_link_weight(graph, ranks);
  verdict->limit =
      (stop_on_change ? tolerance : (1 - damping) * tolerance) + 8 * rounding.unit + rounding.term_unit + allowance;
  verdict->multiplied_right = verdict->worst_row <= 1;
  verdict->met_tolerance = isfinite(verdict->measure) && verdict->measure <= verdict->limit;
done:
  return status;
}

/* One row of the system on the host: the residual, and |A||u| + |b|. */
typedef struct row_facts {
  double residual, magnitude, length;
} row_facts;

static row_facts look_at_row(const wr_system *s, const double *u, int64_t i) {
  const wr_csr *A = s->A;
  row_facts f = {s->b[i], fabs(s->b[i]), (double)(A->row_ptr[i + 1] - A->row_ptr[i])};
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
    int64_t j = A->col[k];
    double x = s->inverse_diagonal ? u[j] * s->inverse_diagonal[j] : u[j];
    double term = (A->val ? A->val[k] : 1) * x;
    f.residual -= term;
    f.magnitude += fabs(term);
  }
  return f;
}

wr_status wr_verify_system(const wr_system *system, double tolerance, wr_rounding rounding, const double *u,
                           const double *q, double device_norm, wr_verified level, int64_t rows, wr_verdict *verdict) {
  wr_status status = WR_OK;
  double residual = 0, magnitude = 0, backward = 0, *error = NULL, *bound = NULL;
  int64_t n = system->n, count = level == WR_VERIFY_FULL ? n : level != WR_VERIFY_SAMPLE ? 0 : rows < n ? rows : n;
  *verdict = (wr_verdict){.level = level, .measure = device_norm};
  if (level == WR_VERIFY_OFF) return WR_OK;
  TRY(wr_alloc(&error, count, sizeof *error, "verification"));
  TRY(wr_alloc(&bound, count, sizeof *bound, "verification"));
#pragma omp parallel for schedule(guided) reduction(+ : residual, magnitude) reduction(max : backward)
  for (int64_t k = 0; k < count; k++) {
    int64_t i = level == WR_VERIFY_FULL ? k : sample_row(k, count, n);
    row_facts f = look_at_row(system, u, i);
    error[k] = fabs(f.residual - q[i]);
    bound[k] = row_bound(rounding, f.length, f.magnitude);
    residual += f.residual * f.residual;
    magnitude += f.magnitude * f.magnitude;
    if (f.magnitude > 0) backward = fmax(backward, fabs(f.residual) / f.magnitude);
  }
  for (int64_t k = 0; k < count; k++) judge_row(verdict, error[k], bound[k]);
  if (level == WR_VERIFY_FULL) verdict->measure = sqrt(residual);
  verdict->backward_error = backward;
  verdict->limit = 1.001 * fmax(tolerance * system->norm_b, system->absolute) +
                   (2 * rounding.unit + rounding.term_unit) * sqrt(magnitude);
  verdict->multiplied_right = verdict->worst_row <= 1;
  verdict->met_tolerance = isfinite(verdict->measure) && verdict->measure <= verdict->limit;
done:
  wr_free(error);
  wr_free(bound);
  return status;
}
