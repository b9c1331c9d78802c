#include "solvers/verify.h"

#include <float.h>
#include <math.h>

#include "config/elements.h"
#include "config/memory.h"
#include "spmv/parts/halo.h"

wr_rounding wr_rounding_of(const wr_env *env, const wr_plan *plan) {
  const wr_plan_info *info = wr_plan_get_info(plan);
  return (wr_rounding){.unit = wr_type_unit(env->type),
                       .sum_unit = info->sum_unit > 0 ? info->sum_unit : wr_type_unit(WR_F64),
                       .term_unit = info->term_unit};
}

/* Nodes of a block: the sums of blocks are added in order, whatever the number of threads. */
enum { BLOCK = 1 << 16 };

static int64_t blocks_of(int64_t n) { return (n + BLOCK - 1) / BLOCK; }

/* An error divided by its bound. A NaN becomes infinity, so that it stays the worst. */
static double share_of(double error, double bound) {
  double ratio = error == 0 ? 0 : bound > 0 ? error / bound : INFINITY;
  return isnan(ratio) ? INFINITY : ratio;
}

/* Adds one checked row to the verdict: its error and the bound. */
static void judge_row(wr_verdict *verdict, double error, double bound) {
  verdict->rows++;
  verdict->worst_row = fmax(verdict->worst_row, share_of(error, bound));
}

/* Row k of a sample of `rows` out of n, spread evenly with both ends. */
static int64_t sample_row(int64_t k, int64_t rows, int64_t n) {
  return rows < 2 ? 0 : k * (n - 1) / (rows - 1); /* both below 2^31 */
}

/* The k of checked row i: the inverse of the function above. */
static int64_t place_in_sample(int64_t i, int64_t rows, int64_t n) {
  return rows < 2 ? 0 : (i * (rows - 1) + n - 2) / (n - 1); /* the first one at or after i */
}

/* flow[k] += the rank that the k-th page of a sample gets by all links, in the order of the links as parsed; length[k] += 1 for
 * each link. rows: size of the sample, and a bit for each of its pages; n and NULL: every page. */
static void follow_links(const wr_graph *g, const double *ranks, int64_t rows, const uint64_t *sampled, double *flow,
                         double *length) {
  const wr_csr *m = g->links;
#pragma omp parallel for schedule(guided)
  for (int64_t i = 0; i < m->nrows; i++)
    for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) {
      int64_t from = g->edges_in ? m->col[k] : i, to = g->edges_in ? i : m->col[k];
      if (sampled && !(sampled[to / 64] >> to % 64 & 1)) continue;
      int64_t place = sampled ? place_in_sample(to, rows, g->n) : to;
      double weight = wr_graph_out_weight(g, from);
      double share = weight > 0 ? (m->val ? m->val[k] : 1) / weight * ranks[from] : 0;
#pragma omp atomic
      flow[place] += share;
#pragma omp atomic
      length[place] += 1;
    }
}

/* The ranks of a block's dangling pages, compensated. */
static double dangling_of(const wr_graph *g, const double *ranks, int64_t block) {
  double sum = 0, correction = 0;
  for (int64_t i = block * BLOCK; i < g->n && i < (block + 1) * BLOCK; i++) {
    if (wr_graph_out_weight(g, i) != 0) continue;
    double y = ranks[i] - correction, next = sum + y;
    correction = (next - sum) - y;
    sum = next;
  }
  return sum;
}

/* The rank that teleporting gives to all pages together, from the device's dangling mass, which is checked here. */
static wr_status teleported(const wr_graph *g, double damping, const double *ranks, double dangling,
                            wr_verdict *verdict, double *jump) {
  wr_status status;
  double *sums = NULL, sum;
  TRY(wr_comm_agree(g->comm, wr_alloc(&sums, blocks_of(g->n), sizeof *sums, "verification")));
#pragma omp parallel for schedule(static) if (g->n > BLOCK)
  for (int64_t b = 0; b < blocks_of(g->n); b++) sums[b] = dangling_of(g, ranks, b);
  sum = wr_compensated_sum(sums, blocks_of(g->n));
  TRY(wr_comm_sum(g->comm, &sum, 1));
  judge_row(verdict, fabs(dangling - sum),
            (2048 + (double)g->n_all / 512 + (g->comm ? g->comm->size : 0)) * 0x1p-53 * sum);
  verdict->rows--; /* no row of the matrix */
  *jump = damping * dangling + (1 - damping);
done:
  wr_free(sums);
  return status;
}

static double teleport_of(const wr_graph *g, int64_t i) { return g->teleport ? g->teleport[i] : 1 / (double)g->n_all; }

/* Terms and result are rounded in the stored type, terms by term_unit besides, the sum in sum_unit; DBL_MIN and FLT_MIN cover
 * terms and results that underflow. */
double wr_row_bound(wr_rounding rounding, double length, double size, double x_sum) {
  int is_f32 = rounding.unit > 0x1p-40;
  double tiny = is_f32 ? (double)FLT_MIN : DBL_MIN, least = is_f32 ? (double)FLT_TRUE_MIN : DBL_TRUE_MIN;
  return (4 * rounding.unit + rounding.term_unit + (length + 2) * rounding.sum_unit) * size + (length + 2) * tiny +
         least * x_sum;
}

/* The largest error of page i after a step that multiplied right, which gives it a rank by `length` links whose terms have the
 * absolute sum `size`, as the rank has itself where no rank is below 0. The device
 * stores ranks divided by out-degrees, so ranks and step are products rounded on the host, which is 2 * 2^-53 in all, and what
 * is lost where an element underflows is lost as often as the page has links. */
static double page_bound(const wr_graph *g, wr_rounding rounding, int64_t i, double length, double size) {
  double links = g->links->val ? 0 : wr_graph_out_weight(g, i);
  rounding.term_unit += 2 * wr_type_unit(WR_F64);
  return wr_row_bound(rounding, length, size, length + links);
}

/* Sums over the rows of a block. */
typedef struct block_facts {
  double worst, change, weight;
} block_facts;

static block_facts look_at_block(const wr_graph *g, double damping, double jump, wr_rounding rounding,
                                 const double *ranks, const double *step, const double *flow, const double *sizes,
                                 const double *length, int64_t block) {
  block_facts f = {0, 0, 0};
  for (int64_t i = block * BLOCK; i < g->n && i < (block + 1) * BLOCK; i++) {
    double exact = damping * flow[i] + jump * teleport_of(g, i);
    double size = damping * sizes[i] + jump * teleport_of(g, i);
    f.worst = fmax(f.worst, share_of(fabs(step[i] - exact), page_bound(g, rounding, i, length[i], size)));
    f.change += fabs(exact - ranks[i]);
    f.weight += length[i] * fabs(ranks[i]);
  }
  return f;
}

/* *sizes := the same as flow, [rows], with the absolute values of ranks: flow itself where no rank is below 0, else *memory, to
 * be freed. Iterates of Chebyshev's method may be below 0. */
static wr_status find_sizes(const wr_graph *g, const double *ranks, int64_t rows, const uint64_t *sampled,
                            const double *flow, const double **sizes, double **memory) {
  wr_status status = WR_OK;
  double least = 0, *absolute = NULL, *length;
  int64_t n = g->links->ncols; /* of a part, with those of other parts */
  *sizes = flow, *memory = NULL;
#pragma omp parallel for schedule(static) reduction(min : least) if (n > BLOCK)
  for (int64_t i = 0; i < n; i++) least = fmin(least, ranks[i]);
  if (least == 0) return WR_OK;
  TRY(wr_alloc(&absolute, n, sizeof *absolute, "verification"));
  TRY(wr_alloc_zeroed(memory, 2 * rows, sizeof **memory, "verification"));
  length = *memory + rows;
  for (int64_t i = 0; i < n; i++) absolute[i] = fabs(ranks[i]);
  follow_links(g, absolute, rows, sampled, *memory, length);
  *sizes = *memory;
done:
  wr_free(absolute);
  return status;
}

/* *weight := the sum over links of the ranks that they reach. */
static wr_status verify_step(const wr_graph *g, double damping, double jump, wr_rounding rounding, const double *ranks,
                             const double *step, wr_verdict *verdict, double *weight) {
  wr_status status;
  double *flow = NULL, *length = NULL, *memory = NULL, change = 0;
  const double *sizes;
  block_facts *facts = NULL;
  TRY(wr_alloc(&flow, g->n, sizeof *flow, "verification"));
  TRY(wr_alloc(&length, g->n, sizeof *length, "verification"));
  TRY(wr_alloc(&facts, blocks_of(g->n), sizeof *facts, "verification"));
#pragma omp parallel for schedule(static) if (g->n > BLOCK)
  for (int64_t i = 0; i < g->n; i++) flow[i] = length[i] = 0; /* the first touch of a large block takes long */
  follow_links(g, ranks, g->n, NULL, flow, length);
  TRY(find_sizes(g, ranks, g->n, NULL, flow, &sizes, &memory));
#pragma omp parallel for schedule(static) if (g->n > BLOCK)
  for (int64_t b = 0; b < blocks_of(g->n); b++)
    facts[b] = look_at_block(g, damping, jump, rounding, ranks, step, flow, sizes, length, b);
  for (int64_t b = 0; b < blocks_of(g->n); b++) {
    verdict->worst_row = fmax(verdict->worst_row, facts[b].worst);
    change += facts[b].change, *weight += facts[b].weight;
  }
  verdict->rows += g->n;
  verdict->measure = change;
done:
  wr_free(flow);
  wr_free(length);
  wr_free(memory);
  wr_free(facts);
  return status;
}

static wr_status verify_step_sample(const wr_graph *g, double damping, double jump, wr_rounding rounding,
                                    const double *ranks, const double *step, int64_t rows, wr_verdict *verdict) {
  wr_status status;
  double *flow = NULL, *length = NULL, *memory = NULL;
  const double *sizes = NULL;
  uint64_t *sampled = NULL;
  TRY(wr_alloc_zeroed(&flow, rows, sizeof *flow, "verification"));
  TRY(wr_alloc_zeroed(&length, rows, sizeof *length, "verification"));
  TRY(wr_alloc_zeroed(&sampled, g->n / 64 + 1, sizeof *sampled, "verification"));
  for (int64_t k = 0; k < rows; k++) {
    int64_t i = sample_row(k, rows, g->n);
    sampled[i / 64] |= (uint64_t)1 << i % 64;
  }
  if (rows > 0) {
    follow_links(g, ranks, rows, sampled, flow, length);
    TRY(find_sizes(g, ranks, rows, sampled, flow, &sizes, &memory));
  }
  for (int64_t k = 0; k < rows; k++) {
    int64_t i = sample_row(k, rows, g->n);
    double jumped = jump * teleport_of(g, i), exact = damping * flow[k] + jumped, size = damping * sizes[k] + jumped;
    judge_row(verdict, fabs(step[i] - exact), page_bound(g, rounding, i, length[k], size));
  }
done:
  wr_free(flow);
  wr_free(length);
  wr_free(memory);
  wr_free(sampled);
  return status;
}

/* What all parts have found; *weight, and of full verification the change, are sums. */
static wr_status join_pages(wr_comm *comm, wr_verdict *verdict, double *weight) {
  double sums[] = {*weight, verdict->measure};
  PASS(wr_comm_sum_counts(comm, &verdict->rows, 1));
  PASS(wr_comm_max(comm, &verdict->worst_row, 1));
  PASS(wr_comm_sum(comm, sums, 2));
  *weight = sums[0];
  if (verdict->level == WR_VERIFY_FULL) verdict->measure = sums[1];
  return WR_OK;
}

/* ranks: of a part, with those of other parts behind its own. */
static wr_status verify_pages(const wr_graph *g, double damping, double jump, wr_rounding rounding, const double *ranks,
                              const double *step, int64_t rows, wr_verdict *verdict, double *weight) {
  wr_status status = WR_OK;
  if (verdict->level == WR_VERIFY_FULL)
    status = verify_step(g, damping, jump, rounding, ranks, step, verdict, weight);
  else if (verdict->level == WR_VERIFY_SAMPLE)
    status = verify_step_sample(g, damping, jump, rounding, ranks, step, rows < g->n ? rows : g->n, verdict);
  if (verdict->level != WR_VERIFY_FULL) *weight = wr_graph_link_weight(g, ranks);
  return wr_comm_agree(g->comm, status);
}

wr_status wr_verify_pagerank(const wr_graph *graph, double damping, double tolerance, int stop_on_change,
                             wr_rounding rounding, const double *ranks, const double *step, double device_change,
                             double dangling, wr_verified level, int64_t rows, wr_verdict *verdict) {
  wr_status status;
  double weight = 0, jump, *all = NULL;
  *verdict = (wr_verdict){.level = level, .measure = device_change};
  if (level == WR_VERIFY_OFF) return WR_OK;
  TRY(teleported(graph, damping, ranks, dangling, verdict, &jump));
  if (graph->comm) TRY(wr_halo_extend(graph->links, ranks, &all));
  TRY(verify_pages(graph, damping, jump, rounding, all ? all : ranks, step, rows, verdict, &weight));
  if (graph->comm) TRY(join_pages(graph->comm, verdict, &weight));
  verdict->limit = (stop_on_change ? tolerance : (1 - damping) * tolerance) + 8 * rounding.unit + rounding.term_unit +
                   rounding.sum_unit * weight;
  verdict->multiplied_right = verdict->worst_row <= 1;
  verdict->met_tolerance = isfinite(verdict->measure) && verdict->measure <= verdict->limit;
done:
  wr_free(all);
  return status;
}

/* An element of matrix from that of A: entry k, which is in row i. */
static double scaled_value(const wr_system *s, int64_t i, int64_t k, wr_scale_factor power) {
  int32_t column = s->A->col[k];
  double value = s->A->val ? s->A->val[k] : 1;
  value = s->scaling.done == WR_SCALE_NONE
              ? wr_scale_times(power, value)
              : ldexp(value, s->scaling.row_exponent[i] + s->scaling.column_exponent[column]);
  return s->inverse_diagonal ? value * s->inverse_diagonal[column] : value;
}

/* The error of row j of the last product, divided by its bound. */
static double share_of_row(const wr_system *s, wr_rounding rounding, const wr_solved *solved, int64_t j) {
  const wr_csr *A = s->A;
  const wr_scale_factor power = wr_scale_of(s->matrix_exponent);
  int64_t i = wr_system_row(s, j);
  double exact = solved->b[j], size = fabs(exact), x_sum = 0;
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
    double u = solved->u[A->col[k]], term = scaled_value(s, i, k, power) * u;
    exact -= term;
    size += fabs(term), x_sum += fabs(u);
  }
  double length = (double)(A->row_ptr[i + 1] - A->row_ptr[i]);
  return share_of(fabs(exact - solved->q[j]), wr_row_bound(rounding, length, size, x_sum));
}

/* Checks a sample of the rows. */
static void find_backward(const wr_system *s, const double *x, int64_t rows, wr_residual *found) {
  for (int64_t k = 0; k < rows; k++) {
    int64_t i = sample_row(k, rows, s->n);
    wr_row_residual row = wr_residual_row(s, x, i);
    if (row.backward > found->backward) found->backward = row.backward, found->backward_row = i;
  }
}

/* verdict->rows and worst_row := those of all parts. */
static wr_status join_rows(wr_comm *comm, wr_verdict *verdict) {
  PASS(wr_comm_sum_counts(comm, &verdict->rows, 1));
  return wr_comm_max(comm, &verdict->worst_row, 1);
}

static wr_status verify_system(const wr_system *system, double tolerance, wr_rounding rounding, const wr_solved *solved,
                               wr_verified level, int64_t rows, wr_verdict *verdict) {
  wr_residual found = {0};
  double worst = 0, unit = 2 * rounding.unit + rounding.term_unit;
  int64_t n = system->n, count = level == WR_VERIFY_FULL ? n : level != WR_VERIFY_SAMPLE ? 0 : rows < n ? rows : n;
  *verdict = (wr_verdict){.level = level, .measure = solved->norm};
  if (level == WR_VERIFY_OFF) return WR_OK;
#pragma omp parallel for schedule(guided) reduction(max : worst)
  for (int64_t k = 0; k < count; k++) {
    int64_t i = level == WR_VERIFY_FULL ? k : sample_row(k, count, n);
    worst = fmax(worst, share_of_row(system, rounding, solved, i));
  }
  verdict->rows = count, verdict->worst_row = worst;
  verdict->on_host = solved->found || level == WR_VERIFY_FULL;
  if (solved->found)
    found = *solved->found;
  else if (level == WR_VERIFY_FULL)
    PASS(wr_residual_find(system, solved->x, NULL, &found));
  else
    found.norm = solved->norm, find_backward(system, solved->x, count, &found);
  PASS(join_rows(system->comm, verdict));
  if (!verdict->on_host) PASS(wr_csr_join_most(system->A, &found.backward, &found.backward_row));
  verdict->measure = found.norm, verdict->backward_error = found.backward, verdict->backward_row = found.backward_row;
  verdict->backward_rows = verdict->on_host ? system->n_all : verdict->rows;
  verdict->attainable = unit * found.size;
  verdict->limit = fmax(tolerance * system->norm_b, system->absolute);
  verdict->multiplied_right = verdict->worst_row <= 1;
  if (!verdict->on_host) found.backward = INFINITY; /* that of a sample is not that of all rows */
  verdict->met_tolerance = wr_residual_meets(system, &found, tolerance, solved->by_backward);
  return WR_OK;
}

wr_status wr_verify_system(const wr_system *system, double tolerance, wr_rounding rounding, const wr_solved *solved,
                           wr_verified level, int64_t rows, wr_verdict *verdict) {
  wr_status status;
  wr_solved all = *solved;
  double *x = NULL, *u = NULL;
  if (system->comm == NULL || level == WR_VERIFY_OFF)
    return verify_system(system, tolerance, rounding, solved, level, rows, verdict);
  TRY(wr_halo_extend(system->A, solved->x, &x));
  TRY(wr_halo_extend(system->A, solved->u, &u));
  all.x = x, all.u = u;
  TRY(verify_system(system, tolerance, rounding, &all, level, rows, verdict));
done:
  wr_free(x);
  wr_free(u);
  return status;
}
