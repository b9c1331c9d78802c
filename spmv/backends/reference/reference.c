/* The results that other backends are compared with: one plain loop that sums each row as if in twice the precision (Ogita,
 * Rump, Oishi: Accurate sum and dot product, algorithm Dot2), so that its error is only the final rounding. */
#include <math.h>
#include <stdio.h>

#include "spmv/spmv.h"

typedef struct reference_state {
  const wr_csr *A; /* borrowed */
  wr_type type;
} reference_state;

static wr_status check(const wr_env *env, const wr_csr *A, const void *knobs) {
  (void)env, (void)A, (void)knobs;
  return WR_OK;
}

static wr_status plan(const wr_env *env, const wr_csr *A, const void *knobs, wr_plan_info *info) {
  (void)knobs;
  int64_t format = A->nnz * (A->val ? 12 : 4) + (A->nrows + 1) * 8;
  *info = (wr_plan_info){.format_bytes = format, .borrowed_bytes = format, .deterministic = 1};
  info->apply_bytes = (double)(format + (A->nrows + A->ncols) * wr_type_bytes(env->type));
  snprintf(info->line, sizeof info->line, "plain rows, one thread, compensated sums");
  return WR_OK;
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_plan_info *info) {
  (void)knobs, (void)info;
  *(reference_state *)state = (reference_state){.A = A, .type = env->type};
  return WR_OK;
}

static double element(const wr_vec *v, int64_t i) {
  return v->type == WR_F32 ? (double)((const float *)v->data)[i] : ((const double *)v->data)[i];
}

/* A NaN or Inf makes the correction NaN as well; the plain sum then tells which of the two it is. */
static double row_dot(const reference_state *s, const wr_vec *x, int64_t i) {
  double sum = 0, correction = 0;
  for (int64_t k = s->A->row_ptr[i]; k < s->A->row_ptr[i + 1]; k++) {
    double a = s->A->val ? s->A->val[k] : 1, b = element(x, s->A->col[k]);
    if (s->type == WR_F32) a = (double)(float)a;
    double product = a * b, product_error = fma(a, b, -product);
    double next = sum + product, part = next - sum;
    correction += ((sum - (next - part)) + (product - part)) + product_error;
    sum = next;
  }
  return isfinite(correction) ? sum + correction : sum;
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  const reference_state *s = state;
  const wr_apply *request = &args->request;
  (void)env;
  for (int64_t i = 0; i < s->A->nrows; i++) {
    double y = request->alpha * row_dot(s, request->x, i);
    if (request->beta != 0) y += request->beta * element(request->y, i);
    if (s->type == WR_F32)
      ((float *)request->y->data)[i] = (float)y;
    else
      ((double *)request->y->data)[i] = y;
  }
  return WR_OK;
}

static void destroy(void *state, wr_env *env) { (void)state, (void)env; }

const wr_backend wr_backend_reference = {
    .name = "reference",
    .summary = "plain loop, compensated sums: the yardstick of correctness",
    .source = "Ogita, Rump, Oishi 2005, algorithm Dot2",
    .place = WR_HOST,
    .caps = WR_CAP_BETA | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64 | WR_CAP_YARDSTICK,
    .state_size = sizeof(reference_state),
    .check = check,
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .destroy = destroy,
};
