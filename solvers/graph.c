#include "solvers/graph.h"

#include <math.h>
#include <stddef.h>

#include "config/memory.h"

static wr_status check_links(const wr_csr *links) {
  if (links->nrows != links->ncols)
    return wr_fail(WR_EINPUT, "a graph needs a square matrix, not %lld x %lld", (long long)links->nrows,
                   (long long)links->ncols);
  if (links->val == NULL) return WR_OK;
  for (int64_t i = 0; i < links->nrows; i++)
    for (int64_t k = links->row_ptr[i]; k < links->row_ptr[i + 1]; k++)
      if (!(links->val[k] >= 0 && isfinite(links->val[k])))
        return wr_fail(WR_EINPUT, "entry (%lld, %lld) has the weight %g; weights of edges are finite and not negative",
                       (long long)i + 1, (long long)links->col[k] + 1, links->val[k]);
  return WR_OK;
}

/* v := v / sum(v), safe for elements whose sum overflows. */
static wr_status normalise(double *v, int64_t n, const char *what) {
  double largest = 0, sum = 0;
  for (int64_t i = 0; v && i < n; i++) {
    if (!(v[i] >= 0 && isfinite(v[i])))
      return wr_fail(WR_EINPUT, "%s: element %lld is %g; they must be finite and not negative", what, (long long)i + 1,
                     v[i]);
    if (v[i] > largest) largest = v[i];
  }
  if (v == NULL) return WR_OK;
  if (largest == 0) return wr_fail(WR_EINPUT, "%s: all elements are 0; their sum must be positive", what);
  for (int64_t i = 0; i < n; i++) sum += v[i] / largest;
  for (int64_t i = 0; i < n; i++) v[i] = v[i] / largest / sum;
  return WR_OK;
}

/* Out-weights from the rows of the flow matrix: entry (i, j) carries weight from page j. */
static wr_status sum_out_weights(wr_graph *g) {
  wr_status status;
  TRY(wr_alloc_zeroed(&g->out_weight, g->n, sizeof *g->out_weight, "out-weights"));
  const wr_csr *m = g->links;
  if (!g->edges_in) {
#pragma omp parallel for schedule(static) if (m->nnz > 1 << 14)
    for (int64_t i = 0; i < m->nrows; i++) {
      double sum = 0;
      for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) sum += m->val ? m->val[k] : 1;
      g->out_weight[i] = sum;
    }
  } else {
    for (int64_t k = 0; k < m->nnz; k++) g->out_weight[m->col[k]] += m->val ? m->val[k] : 1;
  }
  for (int64_t i = 0; i < g->n; i++)
    if (!isfinite(g->out_weight[i]))
      return wr_fail(WR_EINPUT, "the weights of the edges out of node %lld have a sum beyond f64: scale them down",
                     (long long)i + 1);
done:
  return status;
}

static wr_status make_scale(wr_graph *g) {
  wr_status status;
  int weighted = g->links->val != NULL;
  TRY(wr_alloc(&g->scale, g->n, sizeof *g->scale, "inverse out-degrees"));
  for (int64_t i = 0; i < g->n; i++) {
    double w = g->out_weight[i];
    g->scale[i] = w == 0 ? 0 : weighted ? 1 : 1 / w;
    g->dangling += w == 0;
  }
done:
  return status;
}

/* The flow matrix is the transpose of the links; with weights, divided by the out-weight of the page that they leave, so that
 * weights of any size fit the precision of the solve. */
static wr_status make_flow(wr_graph *g, wr_csr *links) {
  wr_status status = WR_OK;
  int transposed = g->edges_in || links->symmetric;
  if (transposed && links->val == NULL) {
    g->flow = links;
    return WR_OK;
  }
  if (transposed)
    TRY(wr_csr_copy(links, &g->flow));
  else
    TRY(wr_csr_transpose(links, &g->flow));
  g->owns_flow = 1;
  wr_csr *flow = g->flow;
  if (flow->val == NULL) return WR_OK;
#pragma omp parallel for schedule(static) if (flow->nnz > 1 << 14)
  for (int64_t k = 0; k < flow->nnz; k++) {
    double w = g->out_weight[flow->col[k]];
    flow->val[k] = w == 0 ? 0 : flow->val[k] / w;
  }
done:
  return status;
}

wr_status wr_graph_build(wr_csr *links, int edges_in, double *teleport, double *start, wr_graph *graph) {
  wr_status status;
  *graph = (wr_graph){.links = links, .edges_in = edges_in, .n = links->nrows, .teleport = teleport, .start = start};
  TRY(check_links(links));
  TRY(normalise(teleport, graph->n, "the teleport vector"));
  TRY(normalise(start, graph->n, "the first guess"));
  TRY(sum_out_weights(graph));
  TRY(make_scale(graph));
  TRY(make_flow(graph, links));
done:
  if (status != WR_OK) wr_graph_free(graph);
  return status;
}

void wr_graph_free(wr_graph *graph) {
  if (graph->owns_flow) wr_csr_free(graph->flow);
  wr_free(graph->scale);
  wr_free(graph->out_weight);
  wr_free(graph->teleport);
  wr_free(graph->start);
  *graph = (wr_graph){0};
}
