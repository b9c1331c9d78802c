/* BiCGSTAB (van der Vorst 1992) by cuSPARSE and cuBLAS, from x = 0, with r in the place of s. Vectors of n that a step moves
 * beyond the two multiplies' matrix, x and y:
 *
 *   v = A p;  alpha = rho / (shadow, v)               dot              reads 2
 *   r -= alpha v                                      axpy             reads 2, writes 1
 *   t = A r;  omega = (t, r) / (t, t)                 dot, dot         reads 3
 *   x += alpha p;  x += omega r;  r -= omega t        axpy, thrice     reads 6, writes 3
 *   (r, r);  rho' = (shadow, r)                       dot, dot         reads 3
 *   p = r + beta (p - omega v)                        axpy, scal, axpy reads 5, writes 3
 *
 * 21 reads and 7 writes. Once the target is met alpha, omega and beta are 0: surplus steps leave x and r as they are. */
#ifndef WR_YARDSTICK_BICGSTAB_CUH
#define WR_YARDSTICK_BICGSTAB_CUH

#include "tests/bench/yardstick.cuh"

template <typename T>
__global__ void make_alpha(scalars<T> *s) {
  s->alpha = s->converged || s->broken ? 0 : s->rho / s->sigma;
  s->minus_alpha = -s->alpha;
}

template <typename T>
__global__ void make_omega(scalars<T> *s) {
  s->omega = s->converged || s->broken || s->tt == 0 ? 0 : s->ts / s->tt;
  s->minus_omega = -s->omega;
}

template <typename T>
__global__ void make_beta(scalars<T> *s) {
  int ended = s->converged || s->broken;
  s->iterations++;
  if (!ended && !isfinite((double)s->rr)) s->broken = 1;
  if (!ended && s->rr <= s->target) s->converged = s->iterations;
  s->beta = s->converged || s->broken ? 0 : s->rho_next / s->rho * (s->alpha / s->omega);
  s->rho = s->rho_next;
}

template <typename T>
struct bicgstab {
  device<T> *d;
  vector<T> b, x, r, shadow, p, v, t;
  double target; /* of (r, r) */

  void open(device<T> *on, const double *right, double square) {
    d = on, target = square;
    for (vector<T> *u : {&b, &x, &r, &shadow, &p, &v, &t}) open_vector(d, u);
    upload(right, d->n, b.data);
  }

  void close() {
    for (vector<T> *u : {&b, &x, &r, &shadow, &p, &v, &t}) close_vector(u);
  }

  void start() {
    *d->first = scalars<T>();
    d->first->target = target;
    start_scalars(d);
    must(WR_CUDA(cudaMemsetAsync(x.data, 0, (size_t)d->n * sizeof(T), d->stream)));
    for (vector<T> *u : {&r, &shadow, &p}) copy(d, u, &b);
    must(dot(d->blas, d->n, r.data, r.data, &d->s->rho));
  }

  void iterate(int) {
    int n = d->n;
    scalars<T> *s = d->s;
    multiply(d, (T)1, &p, &v);
    must(dot(d->blas, n, shadow.data, v.data, &s->sigma));
    must(WR_LAUNCH((make_alpha<T>), 1, 1, 0, d->stream, s));
    must(axpy(d->blas, n, &s->minus_alpha, v.data, r.data));
    multiply(d, (T)1, &r, &t);
    must(dot(d->blas, n, t.data, r.data, &s->ts));
    must(dot(d->blas, n, t.data, t.data, &s->tt));
    must(WR_LAUNCH((make_omega<T>), 1, 1, 0, d->stream, s));
    must(axpy(d->blas, n, &s->alpha, p.data, x.data));
    must(axpy(d->blas, n, &s->omega, r.data, x.data));
    must(axpy(d->blas, n, &s->minus_omega, t.data, r.data));
    must(dot(d->blas, n, r.data, r.data, &s->rr));
    must(dot(d->blas, n, shadow.data, r.data, &s->rho_next));
    must(WR_LAUNCH((make_beta<T>), 1, 1, 0, d->stream, s));
    must(axpy(d->blas, n, &s->minus_omega, v.data, p.data));
    must(scal(d->blas, n, &s->beta, p.data));
    must(axpy(d->blas, n, &s->one, r.data, p.data));
  }

  static void judge(scalars<T> *) {} /* it has been, on the device */

  const vector<T> *answer() const { return &x; }
};

#endif
