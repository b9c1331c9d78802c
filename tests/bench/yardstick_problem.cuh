/* The host's part: windrow's own reading and preparation, so that both solve the same problem, and the check of an answer in
 * f64 against the matrix. */
#ifndef WR_YARDSTICK_PROBLEM_CUH
#define WR_YARDSTICK_PROBLEM_CUH

#include <float.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config/defaults.h"
#include "config/memory.h"
#include "config/status.h"
#include "spmv/matrix/csr.h"
#include "spmv/device/vec.h"
#include "spmv/spmv.h"

extern "C" {
#include "solvers/graph.h"
#include "solvers/report/json.h"
#include "solvers/report/machine.h"
#include "solvers/api/source.h"
#include "solvers/report/statistics.h"
#include "solvers/system.h"
}

enum method { PAGERANK, BICGSTAB };

struct problem {
  enum method method;
  wr_csr *A;             /* as parsed                                                              */
  wr_graph graph;        /* PageRank                                                               */
  wr_system system;      /* BiCGSTAB                                                               */
  const wr_csr *matrix;  /* to multiply with                                                       */
  const double *factor;  /* [n] of its columns, or NULL                                            */
  double damping;
  wr_problem_facts facts;
};

/* What the answer was found to be. */
struct check {
  double measure; /* PageRank: the L1 change of one exact step; BiCGSTAB: ||b - A x|| / ||b|| */
  double limit;   /* what the programs allow for it                                           */
  int met;
};

inline wr_status open_problem(struct problem *p, enum method method, const char *source) {
  wr_status status;
  wr_ledger ledger;
  wr_source_options how = wr_source_options();
  *p = problem();
  p->method = method, p->damping = strtod(WR_DEFAULT_DAMPING, NULL);
  how.nonnegative = method == PAGERANK;
  how.duplicates = method == PAGERANK ? WR_DUPLICATES_ONCE : WR_DUPLICATES_SUM;
  wr_ledger_begin_process(&ledger);
  TRY(wr_source_load(source, &how, &ledger, &p->A, &p->facts));
  if (method == PAGERANK) {
    TRY(wr_graph_build(p->A, 0, NULL, NULL, &p->graph));
    p->matrix = p->graph.flow, p->factor = p->graph.scale;
  } else {
    TRY(wr_system_build(p->A, NULL, NULL, 0, 0, WR_SCALE_NONE, 0, 0, &p->system));
    p->matrix = p->system.matrix;
  }
done:
  return status;
}

inline void close_problem(struct problem *p) {
  if (p->method == PAGERANK)
    wr_graph_free(&p->graph);
  else
    wr_system_free(&p->system);
  wr_csr_free(p->A);
}

inline double default_tolerance(enum method method, wr_type type) {
  if (method == PAGERANK) return type == WR_F32 ? WR_PAGERANK_TOLERANCE_F32 : WR_PAGERANK_TOLERANCE_F64;
  return type == WR_F32 ? WR_BICGSTAB_TOLERANCE_F32 : WR_BICGSTAB_TOLERANCE_F64;
}

/* The change of a step at which pagerank stops: change d / (1 - d) within the tolerance less what rounding takes of it. */
inline double stopping_change(const struct problem *p, wr_type type) {
  double tolerance = default_tolerance(PAGERANK, type), rounding = 4 * wr_type_unit(type) / (1 - p->damping);
  if (rounding <= tolerance / 2) tolerance -= rounding;
  return tolerance * (1 - p->damping) / p->damping;
}

/* The square of the residual at which bicgstab stops, of the scaled system. */
inline double stopping_square(const struct problem *p, wr_type type) {
  double norm = default_tolerance(BICGSTAB, type) * p->system.norm_b;
  return norm * norm;
}

/* One exact step from the ranks r[n]. Mass that does not flow along links is handed out evenly, as dangling pages and
 * teleporting do. The limit is that of the programs for a multiply that sums rows in the stored type. */
inline struct check check_ranks(const struct problem *p, wr_type type, const double *r) {
  const wr_graph *g = &p->graph;
  const wr_csr *F = g->flow;
  struct check c = check();
  double unit = wr_type_unit(type), weight = 0, dangling = 0;
  for (int64_t i = 0; i < g->n; i++) dangling += wr_graph_out_weight(g, i) == 0 ? r[i] : 0;
  double jump = (p->damping * dangling + (1 - p->damping)) / (double)g->n;
  for (int64_t i = 0; i < g->n; i++) {
    double flow = 0;
    for (int64_t k = F->row_ptr[i]; k < F->row_ptr[i + 1]; k++)
      flow += (F->val ? F->val[k] : 1) * g->scale[F->col[k]] * r[F->col[k]];
    c.measure += fabs(p->damping * flow + jump - r[i]);
    weight += (double)(F->row_ptr[i + 1] - F->row_ptr[i]) * fabs(r[i]);
  }
  c.limit = (1 - p->damping) * default_tolerance(PAGERANK, type) + 8 * unit + unit * weight;
  c.met = c.measure <= c.limit;
  return c;
}

inline struct check check_solution(const struct problem *p, wr_type type, const double *x) {
  const wr_system *s = &p->system;
  const wr_csr *A = s->A;
  struct check c = check();
  double square = 0, allowed = 0;
  for (int64_t i = 0; i < s->n; i++) {
    double residual = s->b[i], magnitude = fabs(s->b[i]);
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      double term = (A->val ? A->val[k] : 1) * x[A->col[k]];
      residual -= term, magnitude += fabs(term);
    }
    square += residual * residual, allowed += magnitude * magnitude;
  }
  c.measure = sqrt(square) / s->norm_b;
  c.limit = 1.001 * default_tolerance(BICGSTAB, type) + 2 * wr_type_unit(type) * sqrt(allowed) / s->norm_b;
  c.met = c.measure <= c.limit;
  return c;
}

inline struct check check_answer(const struct problem *p, wr_type type, const double *answer) {
  return p->method == PAGERANK ? check_ranks(p, type, answer) : check_solution(p, type, answer);
}

#endif
