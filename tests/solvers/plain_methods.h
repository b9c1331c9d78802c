/* Both methods as a textbook has them: sequential loops over plain arrays of double on the host. They call none of windrow's
 * solvers, plans, vectors or steps, and recover from no breakdown. test_plain_methods.c compares windrow's loops with them. */
#ifndef WR_TEST_PLAIN_METHODS_H
#define WR_TEST_PLAIN_METHODS_H

#include "spmv/matrix/csr.h"
#include "tests/solvers/ground.h"

typedef struct plain_run {
  int64_t iterations;
  int converged;
  double *history; /* [iterations] BiCGSTAB: ||r|| / ||b|| after each; PageRank: L1 change of each */
} plain_run;

static inline void plain_run_free(plain_run *run) {
  free(run->history);
  *run = (plain_run){0};
}

static inline double plain_dot(int64_t n, const double *x, const double *y) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

static inline double plain_norm(int64_t n, const double *x) { return sqrt(plain_dot(n, x, x)); }

/* An error of each entry in each product, drawn anew every time, so that a test can see what rounding does to a method. */
typedef struct plain_noise {
  double relative; /* an entry is multiplied by a number in [1 - relative, 1 + relative) */
  uint64_t seed;
} plain_noise;

/* y = A x; noise NULL: none. */
static inline void plain_multiply(const wr_csr *A, const double *x, double *y, plain_noise *noise) {
  for (int64_t i = 0; i < A->nrows; i++) {
    y[i] = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      double value = A->val ? A->val[k] : 1;
      if (noise) value *= 1 + noise->relative * (2 * random_in(&noise->seed) - 1);
      y[i] += value * x[A->col[k]];
    }
  }
}

/* Solves A x = b by BiCGSTAB (H. A. van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992), page 631ff) without a
 * preconditioner: Jacobi from the right is a matrix with scaled columns. x[n]: the first guess, then the answer. Ends where
 * ||r|| <= tolerance * ||b||, also where the half step to s is enough, after `limit` iterations at most. noise is that of the
 * products, or NULL. */
static inline plain_run plain_bicgstab(const wr_csr *A, const double *b, double tolerance, int64_t limit, double *x,
                                       plain_noise *noise) {
  int64_t n = A->nrows;
  plain_run run = {.history = room_for(limit, sizeof(double))};
  double *r = room_for(n, sizeof *r), *shadow = room_for(n, sizeof *r), *p = room_for(n, sizeof *r);
  double *v = room_for(n, sizeof *r), *s = room_for(n, sizeof *r), *t = room_for(n, sizeof *r);
  double rho = 1, alpha = 1, omega = 1, norm_b = plain_norm(n, b);

  plain_multiply(A, x, r, noise);
  for (int64_t i = 0; i < n; i++) {
    r[i] = b[i] - r[i];
    shadow[i] = r[i];
  }
  while (!run.converged && run.iterations < limit) {
    double rho_before = rho;
    rho = plain_dot(n, shadow, r);
    double beta = (rho / rho_before) * (alpha / omega);
    for (int64_t i = 0; i < n; i++) p[i] = r[i] + beta * (p[i] - omega * v[i]);
    plain_multiply(A, p, v, noise);
    alpha = rho / plain_dot(n, shadow, v);
    for (int64_t i = 0; i < n; i++) s[i] = r[i] - alpha * v[i];
    if (plain_norm(n, s) <= tolerance * norm_b) {
      omega = 0; /* the half step is the last one */
    } else {
      plain_multiply(A, s, t, noise);
      omega = plain_dot(n, t, s) / plain_dot(n, t, t);
    }
    for (int64_t i = 0; i < n; i++) {
      x[i] += alpha * p[i] + omega * s[i];
      r[i] = s[i] - omega * t[i];
    }
    double norm_r = plain_norm(n, r);
    run.history[run.iterations++] = norm_r / norm_b;
    run.converged = norm_r <= tolerance * norm_b;
  }
  free(r), free(shadow), free(p), free(v), free(s), free(t);
  return run;
}

/* Ranks by the power method from the teleport vector:
 *   r <- damping * (P^T r + (sum of the ranks of dangling pages) v) + (1 - damping) * v
 * where page i passes its rank on to its links in proportion to their weights, and v is where the surfer jumps to: the
 * teleport vector divided by its sum, or 1/n everywhere if that is NULL. Entry (i, j) of links is a link i -> j, with
 * edges_in j -> i. Ends where ||r_new - r||_1 <= target, after `limit` iterations at most. rank[n]: the answer. */
static inline plain_run plain_pagerank(const wr_csr *links, int edges_in, const double *teleport, double damping,
                                       double target, int64_t limit, double *rank) {
  int64_t n = links->nrows;
  plain_run run = {.history = room_for(limit, sizeof(double))};
  double *v = room_for(n, sizeof *v), *out_weight = room_for(n, sizeof *v), *next = room_for(n, sizeof *v);
  double teleport_sum = 0;

  for (int64_t i = 0; i < n; i++) teleport_sum += teleport ? teleport[i] : 1;
  for (int64_t i = 0; i < n; i++) {
    v[i] = (teleport ? teleport[i] : 1) / teleport_sum;
    rank[i] = v[i];
    for (int64_t k = links->row_ptr[i]; k < links->row_ptr[i + 1]; k++)
      out_weight[edges_in ? links->col[k] : i] += links->val ? links->val[k] : 1;
  }
  while (!run.converged && run.iterations < limit) {
    double dangling = 0, change = 0;
    for (int64_t i = 0; i < n; i++) {
      next[i] = 0;
      if (out_weight[i] == 0) dangling += rank[i];
    }
    for (int64_t i = 0; i < n; i++)
      for (int64_t k = links->row_ptr[i]; k < links->row_ptr[i + 1]; k++) {
        int64_t from = edges_in ? links->col[k] : i, to = edges_in ? i : links->col[k];
        double weight = links->val ? links->val[k] : 1;
        if (out_weight[from] > 0) next[to] += rank[from] * weight / out_weight[from];
      }
    for (int64_t i = 0; i < n; i++) {
      next[i] = damping * (next[i] + dangling * v[i]) + (1 - damping) * v[i];
      change += fabs(next[i] - rank[i]);
      rank[i] = next[i];
    }
    run.history[run.iterations++] = change;
    run.converged = change <= target;
  }
  free(v), free(out_weight), free(next);
  return run;
}

#endif
