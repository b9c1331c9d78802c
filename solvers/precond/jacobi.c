/* M = the diagonal of A (Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, section 10.2). */
#include <math.h>

#include "config/memory.h"
#include "solvers/precond.h"
#include "spmv/parts/halo.h"

typedef struct jacobi {
  wr_vec inverse; /* [n] */
} jacobi;

static wr_status diagonal(const wr_csr *A, const void *knobs, double *inverse) {
  (void)knobs;
  for (int64_t i = 0; i < A->nrows; i++) {
    double d = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      if (A->col[k] == i) d = A->val ? A->val[k] : 1;
    inverse[i] = 1 / d;
    if (d == 0 || !isfinite(inverse[i]))
      return wr_fail(WR_EINPUT, "--precond jacobi: the diagonal element of row %lld is %g; use --precond none",
                     (long long)(wr_csr_row_number(A, i) + wr_csr_first(A)), d);
  }
  return WR_OK;
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_precond_info *info) {
  wr_status status;
  jacobi *j = state;
  double *inverse = NULL;
  TRY(wr_alloc(&inverse, A->nrows, sizeof *inverse, "the inverse of a diagonal"));
  TRY(diagonal(A, knobs, inverse));
  TRY(env->ops->alloc(env, A->nrows, env->type, "the inverse of a diagonal", &j->inverse));
  TRY(env->ops->upload(env, &j->inverse, inverse));
  TRY(env->ops->wait(env));
  info->extra_bytes = A->nrows * wr_type_bytes(env->type);
  info->apply_bytes = 3 * (double)info->extra_bytes;
done:
  wr_free(inverse);
  return status;
}

static wr_status apply(void *state, wr_env *env, const wr_precond_request *request) {
  return wr_precond_scale(env, &((jacobi *)state)->inverse, request);
}

static const wr_vec *inverse_of(const void *state) { return &((const jacobi *)state)->inverse; }

static void destroy(void *state, wr_env *env) { env->ops->release(env, &((jacobi *)state)->inverse); }

const wr_preconditioner wr_precond_jacobi = {
    .name = "jacobi",
    .summary = "the diagonal of A",
    .source = "Saad 2003, section 10.2",
    .state_size = sizeof(jacobi),
    .diagonal = diagonal,
    .inverse = inverse_of,
    .prepare = prepare,
    .apply = apply,
    .destroy = destroy,
};
