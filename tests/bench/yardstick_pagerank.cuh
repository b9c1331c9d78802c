/* PageRank's power method by cuSPARSE and cuBLAS. The matrix carries d-free shares (1 / out-degree), so that a step is
 *
 *   y = d F r                     cusparseSpMV                    matrix, r; writes y
 *   m = sum of y                  asum                            y
 *   y += (1 - m) v                axpy; v = 1/n throughout        y, v; writes y
 *   change = sum of |y - r|       axpy into r, then asum          y, r; writes r;  r
 *
 * Ranks sum to 1, so 1 - m is what teleporting and dangling pages hand out together (Kamvar, Haveliwala, Manning, Golub:
 * Extrapolation Methods for Accelerating PageRank Computations, algorithm 1): less to read than a mask of dangling pages. */
#ifndef WR_YARDSTICK_PAGERANK_CUH
#define WR_YARDSTICK_PAGERANK_CUH

#include "tests/bench/yardstick.cuh"

/* Judges the step before, counts this one. */
template <typename T>
__global__ void make_shift(scalars<T> *s) {
  if (s->converged == 0 && s->change <= s->target) s->converged = s->iterations;
  s->iterations++;
  s->shift = 1 - s->sum;
}

template <typename T>
struct pagerank {
  device<T> *d;
  vector<T> rank[2], teleport;
  int now, lazy; /* lazy: the change is measured where it is checked, not in every step */
  double damping, target;

  void open(device<T> *on, double d_, double change, int lazy_) {
    d = on, damping = d_, target = change, lazy = lazy_, now = 0;
    for (vector<T> *v : {&rank[0], &rank[1], &teleport}) open_vector(d, v);
    double *share;
    must(wr_alloc(&share, d->n, sizeof *share, "the teleport vector"));
    for (int i = 0; i < d->n; i++) share[i] = 1 / (double)d->n;
    upload(share, d->n, teleport.data);
    wr_free(share);
  }

  void close() {
    for (vector<T> *v : {&rank[0], &rank[1], &teleport}) close_vector(v);
  }

  void start() {
    *d->first = scalars<T>();
    d->first->target = target, d->first->change = (T)INFINITY;
    now = 0;
    copy(d, &rank[0], &teleport);
    start_scalars(d);
  }

  void iterate(int check_follows) {
    vector<T> *r = &rank[now], *y = &rank[1 - now];
    now = 1 - now;
    multiply(d, (T)damping, r, y);
    must(asum(d->blas, d->n, y->data, &d->s->sum));
    must(WR_LAUNCH((make_shift<T>), 1, 1, 0, d->stream, d->s));
    must(axpy(d->blas, d->n, &d->s->shift, teleport.data, y->data));
    if (lazy && !check_follows) return;
    must(axpy(d->blas, d->n, &d->s->minus_one, y->data, r->data));
    must(asum(d->blas, d->n, r->data, &d->s->change));
  }

  /* What the device judges one step later. */
  static void judge(scalars<T> *s) {
    if (s->converged == 0 && s->change <= s->target) s->converged = s->iterations;
    s->broken = !isfinite((double)s->change);
  }

  const vector<T> *answer() const { return &rank[now]; }
};

#endif
