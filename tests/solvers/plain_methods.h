/* The methods as textbooks and papers have them: sequential loops over plain arrays of double on the host. They call none of
 * windrow's solvers, plans, vectors or steps, and recover from no breakdown. test_plain_methods.c compares windrow's loops with
 * them. */
#ifndef WR_TEST_PLAIN_METHODS_H
#define WR_TEST_PLAIN_METHODS_H

#include "solvers/system.h"
#include "spmv/matrix/csr.h"
#include "tests/solvers/ground.h"

typedef struct plain_run {
  int64_t iterations;
  int converged;
  double *history; /* [iterations] systems: ||r|| / ||b|| after each; PageRank: L1 change of each */
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

/* A system A x = b, and how it is solved: until ||r|| <= tolerance * ||b||, also where r is that small within an iteration, or
 * for `limit` iterations. */
typedef struct plain_problem {
  const wr_csr *A;
  const double *b;       /* [n] */
  const double *inverse; /* [n] the diagonal of M^-1; NULL: M = 1 */
  int l;                 /* of BiCGSTAB(l) */
  double tolerance;
  int64_t limit;
  plain_noise *noise;    /* of the products, or NULL */
} plain_problem;

/* x[n]: the first guess, then the answer. */
typedef plain_run plain_method(const plain_problem *p, double *x);

/* A term of a sum of vectors: sums of large terms lose digits, as products do. */
static inline double plain_term(const plain_problem *p, double term) {
  return p->noise ? term * (1 + p->noise->relative * (2 * random_in(&p->noise->seed) - 1)) : term;
}

/* z = M^-1 r */
static inline void plain_precondition(const plain_problem *p, const double *r, double *z) {
  for (int64_t i = 0; i < p->A->nrows; i++) z[i] = p->inverse ? p->inverse[i] * r[i] : r[i];
}

/* y = A M^-1 x; room[n] */
static inline void plain_product(const plain_problem *p, const double *x, double *y, double *room) {
  plain_precondition(p, x, room);
  plain_multiply(p->A, room, y, p->noise);
}

/* r = b - A x */
static inline void plain_residual(const plain_problem *p, const double *x, double *r) {
  plain_multiply(p->A, x, r, p->noise);
  for (int64_t i = 0; i < p->A->nrows; i++) r[i] = p->b[i] - r[i];
}

static inline int plain_is_enough(const plain_problem *p, const double *r) {
  return plain_norm(p->A->nrows, r) <= p->tolerance * plain_norm(p->A->nrows, p->b);
}

/* At the end of an iteration. */
static inline void plain_note(const plain_problem *p, plain_run *run, const double *r) {
  run->history[run->iterations++] = plain_norm(p->A->nrows, r) / plain_norm(p->A->nrows, p->b);
  run->converged = plain_is_enough(p, r);
}

/* BiCGSTAB (H. A. van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992), page 631ff), preconditioned from the right: it solves
 * A M^-1 d = r for the first residual r, and x += M^-1 d. */
static inline plain_run plain_bicgstab(const plain_problem *q, double *x) {
  int64_t n = q->A->nrows;
  plain_run run = {.history = room_for(q->limit, sizeof(double))};
  double *vectors = room_for(8 * n, sizeof(double)), *r = vectors, *shadow = r + n, *p = shadow + n, *v = p + n;
  double *s = v + n, *t = s + n, *d = t + n, *room = d + n;
  double rho = 1, alpha = 1, omega = 1;

  plain_residual(q, x, r);
  memcpy(shadow, r, (size_t)n * sizeof *r);
  while (!run.converged && run.iterations < q->limit) {
    double rho_before = rho;
    rho = plain_dot(n, shadow, r);
    double beta = (rho / rho_before) * (alpha / omega);
    for (int64_t i = 0; i < n; i++) p[i] = r[i] + beta * (p[i] - omega * v[i]);
    plain_product(q, p, v, room);
    alpha = rho / plain_dot(n, shadow, v);
    for (int64_t i = 0; i < n; i++) s[i] = r[i] - alpha * v[i];
    if (plain_is_enough(q, s)) {
      omega = 0; /* the half step is the last one */
    } else {
      plain_product(q, s, t, room);
      omega = plain_dot(n, t, s) / plain_dot(n, t, t);
    }
    for (int64_t i = 0; i < n; i++) {
      d[i] += alpha * p[i] + omega * s[i];
      r[i] = s[i] - omega * t[i];
    }
    plain_note(q, &run, r);
  }
  plain_precondition(q, d, room);
  for (int64_t i = 0; i < n; i++) x[i] += room[i];
  free(vectors);
  return run;
}

/* Conjugate gradients (Hestenes and Stiefel 1952; with M as in Saad, Iterative Methods for Sparse Linear Systems, algorithm
 * 9.1). */
static inline plain_run plain_cg(const plain_problem *q, double *x) {
  int64_t n = q->A->nrows;
  plain_run run = {.history = room_for(q->limit, sizeof(double))};
  double *vectors = room_for(4 * n, sizeof(double)), *r = vectors, *z = r + n, *p = z + n, *product = p + n;

  plain_residual(q, x, r);
  plain_precondition(q, r, z);
  memcpy(p, z, (size_t)n * sizeof *p);
  while (!run.converged && run.iterations < q->limit) {
    double rz = plain_dot(n, r, z);
    plain_multiply(q->A, p, product, q->noise);
    double alpha = rz / plain_dot(n, product, p);
    for (int64_t i = 0; i < n; i++) {
      x[i] += alpha * p[i];
      r[i] -= alpha * product[i];
    }
    plain_precondition(q, r, z);
    double beta = plain_dot(n, r, z) / rz;
    for (int64_t i = 0; i < n; i++) p[i] = z[i] + beta * p[i];
    plain_note(q, &run, r);
  }
  free(vectors);
  return run;
}

/* The second part of an iteration of BiCGSTAB(l): d and r_0 by the least residual, after the modified Gram-Schmidt method has
 * made r_1 ... r_l orthogonal. r and u are [l + 1][n]. Returns omega, that is gamma_l. */
static inline double plain_reduce(int l, int64_t n, double **r, double **u, double *d) {
  double tau[5][5], sigma[5], first[5], gamma[6] = {0}, second;
  for (int j = 1; j <= l; j++) {
    for (int i = 1; i < j; i++) {
      tau[i][j] = plain_dot(n, r[j], r[i]) / sigma[i];
      for (int64_t k = 0; k < n; k++) r[j][k] -= tau[i][j] * r[i][k];
    }
    sigma[j] = plain_dot(n, r[j], r[j]);
    first[j] = plain_dot(n, r[0], r[j]) / sigma[j];
  }
  for (int j = l; j >= 1; j--) {
    gamma[j] = first[j];
    for (int i = j + 1; i <= l; i++) gamma[j] -= tau[j][i] * gamma[i];
  }
  for (int j = 0; j < l; j++) {
    second = gamma[j + 1];
    for (int i = j + 1; i < l && j > 0; i++) second += tau[j][i] * gamma[i + 1];
    for (int64_t k = 0; k < n; k++) d[k] += second * r[j][k];
  }
  for (int j = 1; j <= l; j++)
    for (int64_t k = 0; k < n; k++) {
      r[0][k] -= first[j] * r[j][k];
      u[0][k] -= gamma[j] * u[j][k];
    }
  return gamma[l];
}

/* BiCGSTAB(l) (Sleijpen and Fokkema, Electron. Trans. Numer. Anal. 1 (1993), algorithm 3.1), preconditioned from the right as
 * above. */
static inline plain_run plain_bicgstabl(const plain_problem *q, double *x) {
  int64_t n = q->A->nrows;
  plain_run run = {.history = room_for(q->limit, sizeof(double))};
  double *vectors = room_for(13 * n, sizeof(double)), *r[5], *u[5];
  double *shadow = vectors + 10 * n, *d = shadow + n, *room = d + n, rho = 1, alpha = 0, omega = 1;

  for (int j = 0; j <= 4; j++) r[j] = vectors + j * n, u[j] = vectors + (5 + j) * n;
  plain_residual(q, x, r[0]);
  memcpy(shadow, r[0], (size_t)n * sizeof *shadow);
  while (!run.converged && run.iterations < q->limit) {
    int is_enough = 0;
    rho *= -omega;
    for (int j = 0; j < q->l && !is_enough; j++) {
      double rho_before = rho;
      rho = plain_dot(n, r[j], shadow);
      double beta = alpha * rho / rho_before;
      for (int i = 0; i <= j; i++)
        for (int64_t k = 0; k < n; k++) u[i][k] = plain_term(q, r[i][k]) - plain_term(q, beta * u[i][k]);
      plain_product(q, u[j], u[j + 1], room);
      alpha = rho / plain_dot(n, u[j + 1], shadow);
      for (int i = 0; i <= j; i++)
        for (int64_t k = 0; k < n; k++) r[i][k] -= plain_term(q, alpha * u[i + 1][k]);
      for (int64_t k = 0; k < n; k++) d[k] += alpha * u[0][k];
      is_enough = plain_is_enough(q, r[0]);
      if (!is_enough) plain_product(q, r[j], r[j + 1], room);
    }
    if (!is_enough) omega = plain_reduce(q->l, n, r, u, d);
    plain_note(q, &run, r[0]);
  }
  plain_precondition(q, d, room);
  for (int64_t i = 0; i < n; i++) x[i] += room[i];
  free(vectors);
  return run;
}

enum { PLAIN_S = 4 };

/* Direction k of IDR: u_k and g_k = A u_k, orthogonal to p_i for i < k, from v = r - sum c_i g_i; column k of M. */
static inline void plain_direction(const plain_problem *q, int k, double omega, const double *r, double **P, double **G,
                                   double **U, double M[PLAIN_S][PLAIN_S], const double *f, double *room) {
  int64_t n = q->A->nrows;
  double c[PLAIN_S] = {0}, *v = room, *z = room + n;
  for (int i = k; i < PLAIN_S; i++) {
    c[i] = f[i];
    for (int j = k; j < i; j++) c[i] -= M[i][j] * c[j];
    c[i] /= M[i][i];
  }
  for (int64_t m = 0; m < n; m++) {
    v[m] = r[m];
    for (int i = k; i < PLAIN_S; i++) v[m] -= plain_term(q, c[i] * G[i][m]);
  }
  plain_precondition(q, v, z);
  for (int64_t m = 0; m < n; m++) {
    double sum = omega * z[m];
    for (int i = k; i < PLAIN_S; i++) sum += plain_term(q, c[i] * U[i][m]);
    U[k][m] = sum;
  }
  plain_multiply(q->A, U[k], G[k], q->noise);
  for (int i = 0; i < k; i++) {
    double alpha = plain_dot(n, P[i], G[k]) / M[i][i];
    for (int64_t m = 0; m < n; m++) {
      G[k][m] -= plain_term(q, alpha * G[i][m]);
      U[k][m] -= plain_term(q, alpha * U[i][m]);
    }
  }
  for (int i = k; i < PLAIN_S; i++) M[i][k] = plain_dot(n, P[i], G[k]);
}

/* IDR(4) with biorthogonality (van Gijzen and Sonneveld, ACM Trans. Math. Softw. 38 (2011), figure 2), where P is what
 * wr_hash_shadow makes of the seeds 0 to 3, and omega is found as in Sleijpen and van der Vorst (1995), with 0.7. */
static inline plain_run plain_idr(const plain_problem *q, double *x) {
  int64_t n = q->A->nrows;
  plain_run run = {.history = room_for(q->limit, sizeof(double))};
  double *vectors = room_for((3 * PLAIN_S + 4) * n, sizeof(double)), *P[PLAIN_S], *G[PLAIN_S], *U[PLAIN_S];
  double *r = vectors + (ptrdiff_t)3 * PLAIN_S * n, *t = r + n, *room = t + n, M[PLAIN_S][PLAIN_S] = {{0}}, f[PLAIN_S];
  double omega = 1;

  for (int k = 0; k < PLAIN_S; k++) {
    P[k] = vectors + k * n, G[k] = P[k] + PLAIN_S * n, U[k] = G[k] + PLAIN_S * n;
    M[k][k] = 1;
    wr_hash_shadow(P[k], n, k);
  }
  plain_residual(q, x, r);
  while (!run.converged && run.iterations < q->limit) {
    int is_enough = 0;
    for (int i = 0; i < PLAIN_S; i++) f[i] = plain_dot(n, P[i], r);
    for (int k = 0; k < PLAIN_S && !is_enough; k++) {
      plain_direction(q, k, omega, r, P, G, U, M, f, room);
      double beta = f[k] / M[k][k];
      for (int64_t m = 0; m < n; m++) {
        r[m] -= plain_term(q, beta * G[k][m]);
        x[m] += beta * U[k][m];
      }
      for (int i = k; i < PLAIN_S; i++) f[i] -= beta * M[i][k];
      is_enough = plain_is_enough(q, r);
    }
    if (!is_enough) {
      double *z = room + n;
      plain_product(q, r, t, z);
      double tr = plain_dot(n, t, r), cosine = fabs(tr) / (plain_norm(n, t) * plain_norm(n, r));
      omega = tr / plain_dot(n, t, t);
      if (cosine < 0.7) omega *= 0.7 / cosine;
      for (int64_t m = 0; m < n; m++) {
        x[m] += omega * z[m];
        r[m] -= omega * t[m];
      }
    }
    plain_note(q, &run, r);
  }
  free(vectors);
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
