#include "solvers/program/metis_parts.h"

#include <string.h>

#include "config/memory.h"
#include "spmv/parts/part_rows.h"

#ifdef WR_HAVE_METIS

#include <metis.h>

/* METIS's graph. A vertex is a run of rows with the same columns. */
typedef struct graph {
  idx_t vertices;
  int32_t *vertex; /* [n] of each row                         */
  idx_t *weight;   /* [vertices] work of its rows             */
  idx_t *begin;    /* [vertices + 1] its edges in `edge`      */
  idx_t *edge;     /* both directions, no loops and no doubles */
} graph;

static void free_graph(graph *g) {
  wr_free(g->vertex);
  wr_free(g->weight);
  wr_free(g->begin);
  wr_free(g->edge);
}

static int same_columns(const wr_csr *P, int64_t i, int64_t j) {
  int64_t count = P->row_ptr[i + 1] - P->row_ptr[i];
  return P->row_ptr[j + 1] - P->row_ptr[j] == count &&
         memcmp(P->col + P->row_ptr[i], P->col + P->row_ptr[j], (size_t)count * sizeof *P->col) == 0;
}

/* Finds the vertices, and their weights in a unit in which their sum is far from the end of idx_t. */
static wr_status find_vertices(const wr_csr *P, graph *g) {
  const int64_t unit = 1 + (P->nrows + P->nnz) / (1 << 29);
  PASS(wr_alloc(&g->vertex, P->nrows, sizeof *g->vertex, "the graph of a matrix"));
  PASS(wr_alloc_zeroed(&g->weight, P->nrows, sizeof *g->weight, "the graph of a matrix"));
  for (int64_t i = 0; i < P->nrows; i++) {
    if (i == 0 || P->row_ptr[i + 1] == P->row_ptr[i] || !same_columns(P, i, i - 1)) g->vertices++;
    g->vertex[i] = (int32_t)(g->vertices - 1);
    g->weight[g->vertices - 1] += (idx_t)((unit + P->row_ptr[i + 1] - P->row_ptr[i]) / unit);
  }
  return WR_OK;
}

/* *links := the pattern between vertices, without loops; each row of P's that begins a vertex has its columns. */
static wr_status link_vertices(const wr_csr *P, const graph *g, wr_csr **links) {
  int64_t to = 0;
  PASS(wr_csr_create(g->vertices, g->vertices, P->nnz, 0, links));
  for (int64_t i = 0; i < P->nrows; i++) {
    int32_t v = g->vertex[i], last = -1;
    if (i > 0 && g->vertex[i - 1] == v) continue;
    for (int64_t k = P->row_ptr[i]; k < P->row_ptr[i + 1]; k++) {
      int32_t u = g->vertex[P->col[k]];
      if (u != v && u != last) (*links)->col[to++] = u;
      last = u;
    }
    (*links)->row_ptr[v + 1] = to;
  }
  (*links)->nnz = to;
  return WR_OK;
}

/* edges[..] := the union of row v of both, which ascend; returns how many. edges NULL: they are counted. */
static int64_t unite(const wr_csr *A, const wr_csr *B, int64_t v, idx_t *edges) {
  int64_t a = A->row_ptr[v], b = B->row_ptr[v], count = 0;
  while (a < A->row_ptr[v + 1] || b < B->row_ptr[v + 1]) {
    int32_t x = a < A->row_ptr[v + 1] ? A->col[a] : INT32_MAX, y = b < B->row_ptr[v + 1] ? B->col[b] : INT32_MAX;
    if (edges) edges[count] = x < y ? x : y;
    a += x <= y, b += y <= x, count++;
  }
  return count;
}

static wr_status unite_directions(const wr_csr *links, graph *g) {
  wr_status status;
  wr_csr *back = NULL;
  int64_t edges = 0;
  TRY(wr_csr_transpose(links, &back));
  for (int64_t v = 0; v < g->vertices; v++) edges += unite(links, back, v, NULL);
  if (sizeof(idx_t) < sizeof edges && (edges > INT32_MAX || g->vertices > INT32_MAX / 2))
    TRY(wr_fail(WR_EUNAVAILABLE,
                "the graph of the matrix has %lld vertices and %lld edges, and METIS here counts with 32 bits: leave "
                "--partition out, or give the parts in a file",
                (long long)g->vertices, (long long)edges));
  TRY(wr_alloc_zeroed(&g->begin, (int64_t)g->vertices + 1, sizeof *g->begin, "the graph of a matrix"));
  TRY(wr_alloc(&g->edge, edges, sizeof *g->edge, "the graph of a matrix"));
  for (int64_t v = 0; v < g->vertices; v++)
    g->begin[v + 1] = (idx_t)(g->begin[v] + unite(links, back, v, g->edge + g->begin[v]));
done:
  wr_csr_free(back);
  return status;
}

/* *P is freed on the way. */
static wr_status make_graph(wr_csr **P, graph *g) {
  wr_status status;
  wr_csr *links = NULL;
  TRY(find_vertices(*P, g));
  TRY(link_vertices(*P, g, &links));
  wr_csr_free(*P), *P = NULL;
  TRY(unite_directions(links, g));
done:
  wr_csr_free(links);
  return status;
}

static wr_status partition(graph *g, int parts, int64_t n, int32_t *part) {
  wr_status status;
  idx_t *of_vertex = NULL, options[METIS_NOPTIONS], constraints = 1, count = parts, cut;
  TRY(wr_alloc_zeroed(&of_vertex, g->vertices, sizeof *of_vertex, "a partition"));
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = 1;
  if (parts > 1) {
    int error = METIS_PartGraphKway(&g->vertices, &constraints, g->begin, g->edge, g->weight, NULL, NULL, &count, NULL,
                                    NULL, options, &cut, of_vertex);
    if (error == METIS_ERROR_MEMORY) TRY(wr_fail(WR_ENOMEM, "out of memory: METIS, for the graph of a matrix"));
    if (error != METIS_OK) TRY(wr_fail(WR_EINTERNAL, "METIS fails with its error %d", error));
  }
  for (int64_t i = 0; i < n; i++) part[i] = (int32_t)of_vertex[g->vertex[i]];
done:
  wr_free(of_vertex);
  return status;
}

wr_status wr_metis_parts(wr_comm *comm, const int64_t *starts, const wr_csr *A, int32_t *part) {
  wr_status status;
  graph g = {0};
  wr_csr *all = NULL;
  int64_t n = starts[comm->size];
  TRY(wr_part_gather_pattern(comm, starts, A, &all));
  if (comm->rank == 0) status = make_graph(&all, &g);
  if (comm->rank == 0 && status == WR_OK) status = partition(&g, comm->size, n, part);
  TRY(wr_comm_agree(comm, status));
  TRY(wr_comm_spread(comm, "a partition", 0, part, n * (int64_t)sizeof *part));
done:
  free_graph(&g);
  wr_csr_free(all);
  return status;
}

#endif
