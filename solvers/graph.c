#include "solvers/graph.h"

#include <math.h>
#include <omp.h>
#include <stddef.h>

#include "config/elements.h"
#include "config/memory.h"
#include "solvers/hub_order.h"
#include "spmv/device/vec_argument.h"
#include "spmv/matrix/csr_argument.h"
#include "spmv/matrix/matrix_facts.h"
#include "spmv/matrix/renumber.h"
#include "spmv/matrix/transpose.h"
#include "spmv/parts/halo.h"

enum { PARALLEL_FROM = 1 << 14, PARTS = 256 }; /* elements from which waking threads pays; parts of a sum */

/* The first element that is not a weight (finite and >= 0); n: all are. */
static int64_t first_bad(const double *v, int64_t n) {
  int64_t first = n;
#pragma omp parallel for reduction(min : first) schedule(static) if (n > PARALLEL_FROM)
  for (int64_t i = 0; i < n; i++)
    if (!(v[i] >= 0 && isfinite(v[i])) && i < first) first = i;
  return first;
}

static wr_status check_links(const wr_csr *links) {
  if (links->halo == NULL && links->nrows != links->ncols)
    return wr_fail(WR_EINPUT, "a graph needs a square matrix, not %lld x %lld", (long long)links->nrows,
                   (long long)links->ncols);
  if (links->val == NULL) return WR_OK;
  int64_t i = 0, bad = first_bad(links->val, links->nnz);
  if (bad == links->nnz) return WR_OK;
  while (links->row_ptr[i + 1] <= bad) i++;
  return wr_fail(WR_EINPUT, "entry (%lld, %lld) has the weight %g; weights of edges are finite and not negative",
                 (long long)(wr_csr_row_number(links, i) + wr_csr_first(links)),
                 (long long)(wr_csr_column_number(links, links->col[bad]) + wr_csr_first(links)), links->val[bad]);
}

/* v := v / sum(v), also if the sum of the elements overflows. v[n] is this part's; the sum is that of all. */
static wr_status normalise(const wr_graph *g, double *v, const char *what) {
  wr_status status = WR_OK;
  double largest = 0;
  int64_t n = g->n;
  if (v == NULL) return WR_OK;
  int64_t bad = first_bad(v, n);
  if (bad < n)
    status = wr_fail(WR_EINPUT, "%s: element %lld is %g; they must be finite and not negative", what,
                     (long long)(wr_csr_row_number(g->links, bad) + wr_csr_first(g->links)), v[bad]);
  PASS(wr_comm_agree(g->comm, status));
#pragma omp parallel for reduction(max : largest) schedule(static) if (n > PARALLEL_FROM)
  for (int64_t i = 0; i < n; i++)
    if (v[i] > largest) largest = v[i];
  PASS(wr_comm_max(g->comm, &largest, 1));
  if (largest == 0) return wr_fail(WR_EINPUT, "%s: all elements are 0; their sum must be positive", what);
#pragma omp parallel for schedule(static) if (n > PARALLEL_FROM)
  for (int64_t i = 0; i < n; i++) v[i] /= largest;
  double sum = wr_compensated_sum(v, n);
  PASS(wr_comm_sum(g->comm, &sum, 1));
#pragma omp parallel for schedule(static) if (n > PARALLEL_FROM)
  for (int64_t i = 0; i < n; i++) v[i] /= sum;
  return WR_OK;
}

/* ---- Out-weights ---- */

/* 1 if the out-links of a page are a column of the links and not a row. */
static int by_columns(const wr_graph *g) { return g->edges_in && !g->links->symmetric; }

static void add_rows(const wr_csr *m, double *weight) {
#pragma omp parallel for schedule(static) if (m->nnz > PARALLEL_FROM)
  for (int64_t i = 0; i < m->nrows; i++) {
    double sum = 0;
    for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) sum += m->val[k];
    weight[i] = sum;
  }
}

/* The sum of a column's weights depends on their order, so one thread adds them. A count does not, but two threads that add
 * atomically take longer than one that does not: 290 ms for 220 of 16 M links (2026-11-27). */
static void add_columns(const wr_csr *m, double *weight) {
  int by_all = m->val == NULL && m->nnz > PARALLEL_FROM && omp_get_max_threads() >= 4;
  for (int64_t j = 0; j < m->ncols; j++) weight[j] = 0;
  for (int64_t k = 0; k < m->nnz && !by_all; k++) weight[m->col[k]] += m->val ? m->val[k] : 1;
  if (!by_all) return;
#pragma omp parallel for schedule(static)
  for (int64_t k = 0; k < m->nnz; k++) {
#pragma omp atomic
    weight[m->col[k]] += 1;
  }
}

static wr_status count_columns(wr_graph *g, wr_env *device) {
  wr_status status;
  int32_t *counts = NULL;
  TRY(wr_alloc(&counts, g->n, sizeof *counts, "out-degrees"));
  TRY(wr_csr_count_columns_device(g->links, device, counts));
#pragma omp parallel for schedule(static) if (g->n > PARALLEL_FROM)
  for (int64_t j = 0; j < g->n; j++) g->out_weight[j] = counts[j];
done:
  wr_free(counts);
  return status;
}

/* scale, and the number of dangling pages. */
static wr_status make_scale(wr_graph *g) {
  int weighted = g->links->val != NULL;
  int64_t dangling = 0, beyond = g->n;
#pragma omp parallel for reduction(+ : dangling) reduction(min : beyond) schedule(static) if (g->n > PARALLEL_FROM)
  for (int64_t i = 0; i < g->n; i++) {
    double w = wr_graph_out_weight(g, i);
    g->scale[i] = w == 0 ? 0 : weighted ? 1 : 1 / w;
    dangling += w == 0;
    if (!isfinite(w) && i < beyond) beyond = i;
  }
  g->dangling = dangling;
  if (beyond == g->n) return WR_OK;
  return wr_fail(WR_EINPUT, "the weights of the edges out of node %lld have a sum beyond f64: scale them down",
                 (long long)(wr_csr_row_number(g->links, beyond) + wr_csr_first(g->links)));
}

/* ---- Flow ---- */

/* 1 if row i of the links has the pages that link to i, as the flow does, so that it need not be transposed. */
static int is_transposed(const wr_graph *g) { return g->edges_in || g->links->symmetric; }

/* The flow matrix is the transpose of the links; with weights, divided by the out-weight of the page that they leave, so that
 * weights of any size fit the precision of the solve. */
static wr_status make_flow(wr_graph *g) {
  PASS(is_transposed(g) ? wr_csr_copy(g->links, &g->flow) : wr_csr_transpose(g->links, &g->flow));
  g->owns_flow = 1;
  wr_csr *flow = g->flow;
  flow->halo = wr_halo_hold(g->links->halo);
  if (flow->val == NULL) return WR_OK;
#pragma omp parallel for schedule(static) if (flow->nnz > PARALLEL_FROM)
  for (int64_t k = 0; k < flow->nnz; k++) {
    double w = g->out_weight[flow->col[k]];
    flow->val[k] = w == 0 ? 0 : flow->val[k] / w;
  }
  return WR_OK;
}

static wr_status make_flow_there(wr_graph *g, wr_env *device) {
  wr_status status;
  wr_csr *flow = NULL;
  TRY(wr_csr_transpose_device(g->links, device, &flow));
  if (flow->val) TRY(wr_csr_divide_columns_device(flow, device, g->out_weight));
  g->flow = flow, g->owns_flow = 1;
  flow = NULL;
done:
  wr_csr_free(flow);
  return status;
}

/* ---- Together ---- */

/* A pattern that is the flow itself goes to the device in any case. */
int wr_graph_sends_links(const wr_csr *links, int edges_in, wr_type type, int all_there) {
  if (links == NULL) return 0;
  int transposed = edges_in || links->symmetric;
  if (!all_there) return transposed && links->val == NULL;
  return links->val == NULL || (!transposed && type == WR_F64);
}

static int device_serves(const wr_graph *g, const wr_env *device) {
  return device != NULL && g->comm == NULL && wr_graph_sends_links(g->links, g->edges_in, device->type, 1);
}

/* The out-weights of all pages to which the links of this part refer, and what follows from them: each part adds up its
 * columns, of which the others have elements, too. */
static wr_status begin_part(wr_graph *g) {
  wr_csr *links = g->links;
  wr_status status = wr_alloc(&g->out_weight, links->ncols, sizeof *g->out_weight, "out-weights");
  PASS(wr_comm_agree(g->comm, status));
  add_columns(links, g->out_weight);
  PASS(wr_halo_sum(links, g->out_weight));
  PASS(wr_comm_agree(g->comm, make_scale(g)));
  return wr_comm_sum_counts(g->comm, &g->dangling, 1);
}

wr_status wr_graph_begin(wr_csr *links, int edges_in, double *teleport, double *start, wr_graph *graph) {
  wr_graph nowhere; /* so that teleport and start are freed without a graph, too */
  wr_status status = graph ? WR_OK : wr_refuse(__func__, "graph is NULL");
  if (graph == NULL) graph = &nowhere;
  *graph = (wr_graph){.links = links, .edges_in = edges_in, .teleport = teleport, .start = start};
  TRY(status);
  TRY(wr_csr_check_host(links, "links", __func__));
  if (links->halo && !edges_in) TRY(wr_refuse(__func__, "links are a part, and edges_in is 0"));
  graph->n = links->nrows, graph->n_all = wr_csr_all_rows(links), graph->comm = wr_csr_comm(links);
  TRY(wr_comm_agree(graph->comm, check_links(links)));
  TRY(normalise(graph, teleport, "the teleport vector"));
  TRY(normalise(graph, start, "the first guess"));
  status = wr_alloc(&graph->scale, graph->n, sizeof *graph->scale, "inverse out-degrees");
  TRY(wr_comm_agree(graph->comm, status));
  if (graph->comm) TRY(begin_part(graph));
  if (graph->comm) return WR_OK;
  if (links->val || by_columns(graph))
    TRY(wr_alloc(&graph->out_weight, graph->n, sizeof *graph->out_weight, "out-weights"));
  if (by_columns(graph)) return WR_OK; /* finish may add them up on a device */
  if (links->val) add_rows(links, graph->out_weight);
  TRY(make_scale(graph));
done:
  if (status != WR_OK) wr_graph_free(graph);
  return status;
}

wr_status wr_graph_set_start(wr_graph *graph, const double *scores) {
  wr_status status;
  double *start = NULL;
  WR_REFUSE_IF(graph == NULL || graph->links == NULL, "graph is %s", graph ? "not begun" : "NULL");
  WR_NEED(scores);
  TRY(wr_alloc(&start, graph->n, sizeof *start, "the first guess"));
  for (int64_t i = 0; i < graph->n; i++) start[i] = scores[i] < 0 && isfinite(scores[i]) ? 0 : scores[i];
  TRY(normalise(graph, start, "the first guess"));
  wr_free(graph->start);
  graph->start = start, start = NULL;
done:
  wr_free(start);
  return status;
}

wr_status wr_graph_upload(wr_graph *graph, wr_env *device) {
  wr_csr_view view;
  WR_REFUSE_IF(graph == NULL || graph->links == NULL, "graph is %s", graph ? "not begun" : "NULL");
  wr_status status = device ? wr_env_check_open(device, "device", __func__) : WR_OK;
  TRY(status);
  if (device_serves(graph, device)) TRY(wr_csr_device_view(graph->links, device, &view));
done:
  if (status == WR_OK || status == WR_ENOMEM) return WR_OK; /* without memory on the device, finish works on the host */
  wr_csr_forget_device(graph->links);
  wr_graph_free(graph);
  return status;
}

static wr_status finish_there(wr_graph *g, wr_env *device) {
  if (by_columns(g)) PASS(count_columns(g, device));
  if (!is_transposed(g)) PASS(make_flow_there(g, device));
  return WR_OK;
}

static wr_status finish_part(wr_graph *g) { return g->links->val ? wr_comm_agree(g->comm, make_flow(g)) : WR_OK; }

static wr_status finish_here(wr_graph *g) {
  if (by_columns(g)) add_columns(g->links, g->out_weight);
  if (!is_transposed(g) || g->links->val) PASS(make_flow(g));
  return WR_OK;
}

wr_status wr_graph_order(wr_graph *graph, int64_t from_nodes) {
  WR_REFUSE_IF(graph == NULL || graph->links == NULL, "graph is %s", graph ? "not begun" : "NULL");
  WR_REFUSE_IF(graph->flow, "graph is finished");
  WR_REFUSE_IF(graph->order, "graph has an order");
  return by_columns(graph) || graph->comm ? WR_OK : wr_hub_order_find(graph->links, from_nodes, &graph->order);
}

/* Replaces the flow by one in g->order; device NULL: on the host. */
static wr_status renumber_flow(wr_graph *g, wr_env *device) {
  wr_status status;
  wr_csr *flow = NULL;
  int32_t *place = NULL;
  TRY(wr_alloc(&place, g->n, sizeof *place, "an order of nodes"));
#pragma omp parallel for schedule(static) if (g->n > PARALLEL_FROM)
  for (int64_t k = 0; k < g->n; k++) place[g->order[k]] = (int32_t)k;
  TRY(device ? wr_csr_renumber_device(g->flow, device, place, &flow) : wr_csr_renumber(g->flow, place, &flow));
  if (g->owns_flow) wr_csr_free(g->flow);
  g->flow = flow, g->owns_flow = 1;
done:
  wr_free(place);
  if (status != WR_ENOMEM) return status;
  wr_free(g->order), g->order = NULL; /* the flow serves as it is */
  return WR_OK;
}

wr_status wr_graph_finish(wr_graph *graph, wr_env *device) {
  WR_REFUSE_IF(graph == NULL || graph->links == NULL, "graph is %s", graph ? "not begun" : "NULL");
  wr_status status = device ? wr_env_check_open(device, "device", __func__) : WR_OK;
  if (status != WR_OK) return wr_graph_free(graph), status;
  int there = device_serves(graph, device), is_part = graph->comm != NULL;
  status = is_part ? finish_part(graph) : there ? finish_there(graph, device) : finish_here(graph);
  if (there && status == WR_ENOMEM) status = finish_here(graph);
  if (status == WR_OK && !is_part && by_columns(graph)) status = make_scale(graph);
  if (graph->flow == NULL && status == WR_OK) graph->flow = graph->links;
  if (graph->order && status == WR_OK) status = renumber_flow(graph, graph->flow->row_ptr && !there ? NULL : device);
  if (status == WR_OK) status = wr_halo_is_symmetric(graph->links, &graph->symmetric);
  if (device && graph->flow != graph->links) wr_csr_forget_device(graph->links);
  if (status != WR_OK) wr_graph_free(graph);
  return status;
}

wr_status wr_graph_build(wr_csr *links, int edges_in, double *teleport, double *start, wr_graph *graph) {
  PASS(wr_graph_begin(links, edges_in, teleport, start, graph));
  return wr_graph_finish(graph, NULL);
}

double wr_graph_link_weight(const wr_graph *g, const double *ranks) {
  if (g == NULL || g->links == NULL || ranks == NULL) return 0;
  const wr_csr *m = g->links;
  double parts[PARTS] = {0};
#pragma omp parallel for schedule(dynamic, 1) if (m->nnz > PARALLEL_FROM)
  for (int p = 0; p < PARTS; p++) {
    int64_t first = m->nrows * p / PARTS, last = m->nrows * (p + 1) / PARTS; /* below 2^31 rows: no overflow */
    double sum = 0;
    for (int64_t i = first; i < last; i++)
      for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) sum += fabs(ranks[g->edges_in ? i : m->col[k]]);
    parts[p] = sum;
  }
  return wr_compensated_sum(parts, PARTS);
}

void wr_graph_arrange(const wr_graph *g, const double *by_page, double *by_row) {
  if (g == NULL || by_page == NULL || by_row == NULL) return;
#pragma omp parallel for schedule(static) if (g->n > PARALLEL_FROM)
  for (int64_t k = 0; k < g->n; k++) by_row[k] = by_page[g->order ? g->order[k] : k];
}

void wr_graph_restore(const wr_graph *g, const double *by_row, double *by_page) {
  if (g == NULL || by_page == NULL || by_row == NULL) return;
#pragma omp parallel for schedule(static) if (g->n > PARALLEL_FROM)
  for (int64_t k = 0; k < g->n; k++) by_page[g->order ? g->order[k] : k] = by_row[k];
}

wr_status wr_graph_place(const wr_graph *graph, wr_env *env, const double *by_page, wr_vec *v) {
  wr_status status;
  double *by_row = NULL;
  WR_NEED(graph);
  WR_NEED_OPEN(env);
  WR_NEED(by_page);
  WR_NEED(v);
  if (graph->order) {
    TRY(wr_alloc(&by_row, graph->n, sizeof *by_row, "a vector in the order of hubs"));
    wr_graph_arrange(graph, by_page, by_row);
  }
  TRY(env->ops->upload(env, v, by_row ? by_row : by_page));
done:
  wr_free(by_row);
  return status;
}

void wr_graph_free(wr_graph *graph) {
  if (graph == NULL) return;
  if (graph->owns_flow) wr_csr_free(graph->flow);
  wr_free(graph->scale);
  wr_free(graph->out_weight);
  wr_free(graph->teleport);
  wr_free(graph->start);
  wr_free(graph->order);
  *graph = (wr_graph){0};
}
