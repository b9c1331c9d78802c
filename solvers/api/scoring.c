#include "solvers/api/scoring.h"

#include <math.h>

#include "config/defaults.h"
#include "config/elements.h"
#include "config/memory.h"
#include "solvers/hub_order.h"
#include "solvers/pagerank_parts.h"
#include "spmv/parts/comm.h"

void wr_scoring_complete(wr_scoring_options *options, wr_type type) {
  wr_pagerank_options *o = &options->iterate;
  if (o->tolerance == 0) o->tolerance = type == WR_F32 ? WR_PAGERANK_TOLERANCE_F32 : WR_PAGERANK_TOLERANCE_F64;
  if (o->iterations == 0) {
    double needed = o->damping > 0 ? 2 * log(o->tolerance * (1 - o->damping)) / log(o->damping) : 0;
    o->iterations = (int64_t)fmin(fmax(WR_PAGERANK_LEAST_ITERATIONS, ceil(needed)), 1e15);
  }
}

/* By the rate d, or the limit. */
static double steps_of(const wr_pagerank_options *o) {
  double needed = o->damping > 0 ? ceil(log(o->tolerance * (1 - o->damping)) / log(o->damping)) : 1;
  return fmin(needed, (double)o->iterations);
}

/* Chebyshev's method, for links that go both ways, takes as many steps as its rate says (39 of 39 on gen:road at 0.85). The
 * power method takes fewer than the rate d: 12 to 40 on graphs of gen: at 0.85, 29 to 105 on real ones, and 140 by d. */
wr_plan_use wr_scoring_use(const wr_scoring_options *options, const wr_graph *graph) {
  const wr_pagerank_options *o = &options->iterate;
  double d = o->damping, steps = steps_of(o), rate = d > 0 ? (1 - sqrt(1 - d * d)) / d : 0;
  int is_chebyshev =
      graph && graph->symmetric && (options->method == WR_RANK_AUTO || options->method == WR_RANK_CHEBYSHEV);
  if (is_chebyshev && rate > 0) steps = fmin(steps, ceil(log(o->tolerance * (1 - d)) / log(rate)));
  return (wr_plan_use){.multiplies = is_chebyshev ? steps : ceil(WR_POWER_SHARE * steps),
                       .resident = !o->no_graph && !o->no_resident};
}

double wr_scoring_work(const wr_scoring_options *options, wr_type type, int64_t nrows, int64_t nnz) {
  double step = 4.0 * (double)nnz + (double)(8 + 3 * wr_type_bytes(type)) * (double)nrows;
  double transposing = WR_READY_SECONDS * WR_CORE_BYTES_PER_SECOND * (double)nnz;
  return step * ceil(WR_POWER_SHARE * steps_of(&options->iterate)) + transposing;
}

wr_status wr_scoring_finish(wr_graph *graph, wr_env *device) {
  if (device) PASS(wr_graph_order(graph, WR_HUB_ORDER_NODES));
  return wr_graph_finish(graph, device);
}

wr_status wr_scoring_open(wr_scoring *r, const wr_scoring_options *options, const wr_graph *graph, wr_plan *plan,
                          wr_env *env) {
  *r = (wr_scoring){.options = *options, .graph = graph, .rounding = wr_rounding_of(env, plan)};
  PASS(wr_rank_open(&r->rank, graph, plan, env));
  r->rounding.term_unit = r->rank.iterated.term_unit;
  if (r->rank.iterated.sum_unit > 0) r->rounding.sum_unit = r->rank.iterated.sum_unit;
  return WR_OK;
}

void wr_scoring_close(wr_scoring *r) { wr_rank_close(&r->rank); }

wr_status wr_scoring_run(wr_scoring *r, const wr_monitor *monitor, wr_result *result) {
  const wr_pagerank_options *o = &r->options.iterate;
  wr_status status = wr_rank_solve(&r->rank, r->options.method, o, monitor, result);
  r->rounded = result->rounding, r->allowed = o->tolerance;
  if (o->order > 0 && result->outcome == WR_CONVERGED) r->allowed = fmax(r->allowed, result->measure);
  return status;
}

wr_status wr_scoring_answer(wr_scoring *r, double *x) { return wr_pagerank_download(&r->rank.iterated, x); }

wr_status wr_scoring_verify(wr_scoring *r, const double *x, wr_verified level, int64_t rows, wr_verdict *verdict) {
  wr_status status;
  const wr_pagerank_options *o = &r->options.iterate;
  double *step = NULL, change, dangling;
  *verdict = (wr_verdict){.level = level};
  if (level == WR_VERIFY_OFF) return WR_OK;
  TRY(wr_comm_agree(r->graph->comm, wr_alloc(&step, r->graph->n, sizeof *step, "verification")));
  TRY(wr_pagerank_step(&r->rank.iterated, o, step, &change, &dangling));
  TRY(wr_verify_pagerank(r->graph, o->damping, r->allowed, o->stop_on_change, r->rounding, x, step, change, dangling,
                         level, rows, verdict));
done:
  wr_free(step);
  return status;
}

wr_status wr_scoring_normalise(const wr_scoring *r, double *x) {
  const wr_graph *g = r->graph;
  int64_t lost = wr_first_not_finite(x, g->n) >= 0;
  PASS(wr_comm_max_counts(g->comm, &lost, 1));
  if (lost) return WR_OK; /* the outcome says non-finite */
  return wr_pagerank_normalise_part(g->comm, x, g->n, &r->options.iterate, r->rounded);
}

/* Links scatter into shared sums, which more threads do not make faster: 3 to 10 ns a page or link (16 threads of a Xeon,
 * 2026-11). */
double wr_scoring_verify_seconds(int64_t nrows, int64_t nnz, int threads) {
  (void)threads;
  return 8e-9 * (double)(nrows + nnz);
}

int64_t wr_scoring_checked_sets(int64_t nrows, int64_t nnz, int64_t sets) {
  return (int64_t)fmin((double)sets, 1 + WR_VERIFY_SECONDS / (WR_SETS_CHECK_SECONDS * (double)(nrows + nnz)));
}
