/* BiCGSTAB with ILU(0) as right preconditioner by cuSPARSE and cuBLAS: as yardstick_bicgstab.cuh, with v = A (M^-1 p) and
 * t = A (M^-1 r), and M^-1 by two calls of cusparseSpSV. The factors are windrow's, of the matrix with its rows and columns in
 * their order, so that no solve permutes a vector. */
#ifndef WR_YARDSTICK_ILU_CUH
#define WR_YARDSTICK_ILU_CUH

#include <string.h>

#include "spmv/precond/block_colour.h"
#include "spmv/precond/ilu.h"
#include "spmv/precond/rcm.h"
#include "tests/bench/yardstick_bicgstab.cuh"
#include "tests/bench/yardstick_problem.cuh"

/* The reordered matrix, its factors and right-hand side. */
struct factored {
  const char *order; /* given, rcm or colour */
  wr_csr *matrix;
  wr_lu lu;
  wr_ilu_shifts shifts;
  int64_t lower, upper; /* levels */
  double *b;            /* [n]    */
};

inline void close_factored(struct factored *f) {
  wr_csr_free(f->matrix);
  wr_lu_free(&f->lu);
  wr_free(f->b);
  *f = factored();
}

/* choice: given, rcm, colour, or auto: rcm if it has fewer levels than the order as given. */
inline void open_factored(struct factored *f, const struct problem *p, const char *choice) {
  const wr_csr *A = p->matrix;
  int64_t n = A->nrows, lower, upper;
  wr_block_colours colours;
  *f = factored();
  must(wr_ilu0_levels(A, NULL, &lower, &upper));
  must(wr_alloc(&f->lu.order, n, sizeof *f->lu.order, "an order"));
  must(wr_alloc(&f->b, n, sizeof *f->b, "the right-hand side"));
  must(wr_rcm(A, NULL, f->lu.order));
  f->order = strcmp(choice, "auto") == 0 ? "rcm" : choice;
  if (strcmp(choice, "colour") == 0) {
    int32_t *by_colours;
    must(wr_alloc(&by_colours, n, sizeof *by_colours, "an order"));
    must(wr_block_colour(A, f->lu.order, strtoll(WR_DEFAULT_BLOCK, NULL, 10), NULL, by_colours, &colours));
    wr_free(f->lu.order);
    f->lu.order = by_colours;
  }
  must(wr_csr_reorder(A, f->lu.order, &f->matrix));
  must(wr_ilu0_levels(f->matrix, NULL, &f->lower, &f->upper));
  if (strcmp(choice, "given") == 0 || (strcmp(choice, "auto") == 0 && f->lower + f->upper >= lower + upper)) {
    for (int64_t i = 0; i < n; i++) f->lu.order[i] = (int32_t)i;
    wr_csr_free(f->matrix);
    must(wr_csr_reorder(A, f->lu.order, &f->matrix));
    f->order = "given", f->lower = lower, f->upper = upper;
  }
  must(wr_ilu0(f->matrix, strtod(WR_DEFAULT_PIVOT, NULL), NULL, &f->lu, &f->shifts));
  for (int64_t i = 0; i < n; i++) f->b[i] = p->system.rhs[f->lu.order[i]];
}

/* A triangle as cuSPARSE has it, analysed. */
template <typename T>
struct triangle {
  cusparseSpMatDescr_t matrix;
  cusparseSpSVDescr_t solver;
  int32_t *ptr, *col;
  T *val;
  void *room;
};

/* inverse: 1 / the diagonal of U, which is stored; NULL: L. */
template <typename T>
void open_triangle(device<T> *d, triangle<T> *t, const int64_t *ptr, const int32_t *col, const double *val,
                   const double *inverse, const vector<T> *from, const vector<T> *to) {
  const T one = 1;
  const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const cusparseFillMode_t fill = inverse ? CUSPARSE_FILL_MODE_UPPER : CUSPARSE_FILL_MODE_LOWER;
  const cusparseDiagType_t diagonal = inverse ? CUSPARSE_DIAG_TYPE_NON_UNIT : CUSPARSE_DIAG_TYPE_UNIT;
  int64_t n = d->n, count = ptr[n] + (inverse ? n : 0), at = 0;
  int32_t *p, *c;
  double *v;
  size_t bytes = 0;
  must(wr_alloc(&p, n + 1, sizeof *p, "a triangle"));
  must(wr_alloc(&c, count, sizeof *c, "a triangle"));
  must(wr_alloc(&v, count, sizeof *v, "a triangle"));
  p[0] = 0;
  for (int64_t i = 0; i < n; i++) {
    if (inverse) c[at] = (int32_t)i, v[at++] = 1 / inverse[i];
    for (int64_t k = ptr[i]; k < ptr[i + 1]; k++) c[at] = col[k], v[at++] = val[k];
    p[i + 1] = (int32_t)at;
  }
  t->ptr = device_room<int32_t>(n + 1), t->col = device_room<int32_t>(count + 1), t->val = device_room<T>(count + 1);
  must(WR_CUDA(cudaMemcpy(t->ptr, p, (size_t)(n + 1) * sizeof *p, cudaMemcpyHostToDevice)));
  must(WR_CUDA(cudaMemcpy(t->col, c, (size_t)count * sizeof *c, cudaMemcpyHostToDevice)));
  upload(v, count, t->val);
  wr_free(p), wr_free(c), wr_free(v);
  must(WR_CUSPARSE(cusparseCreateCsr(&t->matrix, n, n, count, t->ptr, t->col, t->val, CUSPARSE_INDEX_32I,
                                     CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, data_type<T>)));
  must(WR_CUSPARSE(cusparseSpMatSetAttribute(t->matrix, CUSPARSE_SPMAT_FILL_MODE, (void *)&fill, sizeof fill)));
  must(WR_CUSPARSE(cusparseSpMatSetAttribute(t->matrix, CUSPARSE_SPMAT_DIAG_TYPE, (void *)&diagonal, sizeof diagonal)));
  must(WR_CUSPARSE(cusparseSpSV_createDescr(&t->solver)));
  must(WR_CUSPARSE(cusparseSpSV_bufferSize(d->sparse, plain, &one, t->matrix, from->dense, to->dense, data_type<T>,
                                           CUSPARSE_SPSV_ALG_DEFAULT, t->solver, &bytes)));
  t->room = device_room<char>((int64_t)bytes + 1);
  must(WR_CUSPARSE(cusparseSpSV_analysis(d->sparse, plain, &one, t->matrix, from->dense, to->dense, data_type<T>,
                                         CUSPARSE_SPSV_ALG_DEFAULT, t->solver, t->room)));
}

template <typename T>
void close_triangle(triangle<T> *t) {
  must(WR_CUSPARSE(cusparseSpSV_destroyDescr(t->solver)));
  must(WR_CUSPARSE(cusparseDestroySpMat(t->matrix)));
  void *const rooms[] = {t->ptr, t->col, t->val, t->room};
  for (void *room : rooms) must(WR_CUDA(cudaFree(room)));
}

template <typename T>
void solve_triangle(device<T> *d, const triangle<T> *t, const vector<T> *from, vector<T> *to) {
  const T one = 1;
  must(WR_CUSPARSE(cusparseSpSV_solve(d->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, t->matrix, from->dense,
                                      to->dense, data_type<T>, CUSPARSE_SPSV_ALG_DEFAULT, t->solver)));
}

template <typename T>
struct bicgstab_ilu : bicgstab<T> {
  triangle<T> lower, upper;
  vector<T> between, direction; /* L^-1 of a vector; M^-1 of it */

  void open_ilu(device<T> *on, const struct factored *f, double square) {
    this->open(on, f->b, square);
    open_vector(on, &between);
    open_vector(on, &direction);
    const wr_lu *lu = &f->lu;
    open_triangle<T>(on, &lower, lu->l_ptr, lu->l_col, lu->l_val, NULL, &this->p, &between);
    open_triangle<T>(on, &upper, lu->u_ptr, lu->u_col, lu->u_val, lu->inverse, &between, &direction);
    must(WR_CUDA(cudaStreamSynchronize(on->stream)));
  }

  void close_ilu() {
    close_triangle(&lower);
    close_triangle(&upper);
    close_vector(&between);
    close_vector(&direction);
    this->close();
  }

  /* direction := M^-1 from */
  void precondition(const vector<T> *from) {
    solve_triangle(this->d, &lower, from, &between);
    solve_triangle(this->d, &upper, &between, &direction);
  }

  void iterate(int) {
    device<T> *d = this->d;
    int n = d->n;
    scalars<T> *s = d->s;
    T *r = this->r.data, *p = this->p.data, *v = this->v.data, *t = this->t.data, *shadow = this->shadow.data;
    precondition(&this->p);
    multiply(d, (T)1, &direction, &this->v);
    must(dot(d->blas, n, shadow, v, &s->sigma));
    must(WR_LAUNCH((make_alpha<T>), 1, 1, 0, d->stream, s));
    must(axpy(d->blas, n, &s->alpha, direction.data, this->x.data));
    must(axpy(d->blas, n, &s->minus_alpha, v, r));
    precondition(&this->r);
    multiply(d, (T)1, &direction, &this->t);
    must(dot(d->blas, n, t, r, &s->ts));
    must(dot(d->blas, n, t, t, &s->tt));
    must(WR_LAUNCH((make_omega<T>), 1, 1, 0, d->stream, s));
    must(axpy(d->blas, n, &s->omega, direction.data, this->x.data));
    must(axpy(d->blas, n, &s->minus_omega, t, r));
    must(dot(d->blas, n, r, r, &s->rr));
    must(dot(d->blas, n, shadow, r, &s->rho_next));
    must(WR_LAUNCH((make_beta<T>), 1, 1, 0, d->stream, s));
    must(axpy(d->blas, n, &s->minus_omega, v, p));
    must(scal(d->blas, n, &s->beta, p));
    must(axpy(d->blas, n, &s->one, r, p));
  }
};

#endif
