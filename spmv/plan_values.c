/* New values for a prepared plan: by the backend's update_values, or by preparing anew. */
#include "config/argument.h"
#include "spmv/matrix/csr_hold.h"
#include "spmv/matrix/csr_device.h"
#include "spmv/plan_state.h"

static wr_status check_pattern(const wr_plan *plan, wr_csr *A) {
  wr_status status;
  if (A->nrows != plan->nrows || A->ncols != plan->ncols || A->nnz != plan->nnz)
    return wr_fail(WR_EUSAGE,
                   "update_values: the new matrix has another pattern: %lld x %lld with %lld entries, not %lld x %lld "
                   "with %lld; create another plan for it",
                   (long long)A->nrows, (long long)A->ncols, (long long)A->nnz, (long long)plan->nrows,
                   (long long)plan->ncols, (long long)plan->nnz);
  if ((A->val != NULL) != plan->has_values)
    return wr_fail(WR_EUSAGE, "update_values: the new matrix has another pattern: it has %s, the plan's has %s",
                   A->val ? "values" : "none", A->val ? "none" : "values");
  TRY(wr_csr_host(A, plan->env));
  if (A == plan->A) return WR_OK;
  TRY(wr_csr_host(plan->A, plan->env));
  if (!wr_csr_same_pattern(A, plan->A))
    return wr_fail(WR_EUSAGE, "update_values: the new matrix has another pattern: its entries are at other places; "
                              "create another plan for it");
done:
  return status;
}

/* Waits first, since running applies still read the old values, which are overwritten. WR_EUNAVAILABLE: the backend has no
 * update_values, or it cannot take these values. */
static wr_status write_values(wr_plan *plan, wr_csr *A) {
  wr_status status;
  wr_env *env = plan->env;
  int moved = 0;
  if (plan->backend->update_values == NULL) return WR_EUNAVAILABLE;
  TRY(env->ops->wait(env));
  if (env->place == WR_HOST) TRY(wr_csr_check_range(A, env->type == WR_F32));
  TRY(plan->backend->update_values(plan->state, env, A, &moved));
  TRY(env->ops->wait(env)); /* a kernel launched early may read the format before it waits */
  if (moved) plan->generation = wr_vec_new_id();
done:
  return status;
}

wr_status wr_plan_update_values(wr_plan *plan, wr_csr *A) {
  wr_status status;
  wr_csr *before;
  WR_NEED(plan);
  WR_NEED(A);
  before = plan->A;
  if (!plan->prepared) return wr_fail(WR_EUSAGE, "update_values: %s is not prepared", plan->backend->name);
  TRY(check_pattern(plan, A));
  wr_plan_forget(plan);
  wr_csr_values_changed(A);
  if (A != before && plan->env->place == WR_CUDA) TRY(wr_csr_share_indices(before, A, plan->env));
  status = write_values(plan, A);
  wr_csr_hold(A);
  plan->A = A;
  if (status == WR_EUNAVAILABLE) {
    wr_plan_unprepare(plan);
    status = wr_plan_prepare(plan);
  }
  if (status != WR_OK) {
    if (plan->prepared) wr_plan_unprepare(plan);
    plan->A = before;
  }
  wr_csr_free(status == WR_OK ? before : A); /* the plan's hold on this matrix ends */
done:
  return status;
}
