/* Launches on a card with few multiprocessors: no more blocks than these hold, and the same products. */
#include <cuda_runtime.h>
#include <stdlib.h>

#include "spmv/device/cuda_state.h"
#include "spmv/spmv.h"
#include "tests/check.h"
#include "tests/simt/simt.h"

enum { PROCESSORS = 3, ROWS = 5000 };

/* Row i has the value 2 at column ROWS - 1 - i. */
static wr_csr *make_matrix(void) {
  wr_csr *A = nullptr;
  CHECK_OK(wr_csr_create(ROWS, ROWS, ROWS, 1, &A));
  for (int i = 0; i < ROWS; i++) A->row_ptr[i + 1] = i + 1, A->col[i] = ROWS - 1 - i, A->val[i] = 2;
  return A;
}

static void test_grid(const wr_env *env) {
  CASE("blocks of a launch");
  CHECKF(wr_cuda_processors(env) == PROCESSORS, "%lld", (long long)wr_cuda_processors(env));
  CHECK(wr_cuda_grid(env, 0, 8) == 1 && wr_cuda_grid(env, -1, 8) == 1);
  CHECK(wr_cuda_grid(env, 23, 8) == 23 && wr_cuda_grid(env, 24, 8) == 24 && wr_cuda_grid(env, 25, 8) == 24);
  CHECK(wr_cuda_grid(env, INT64_MAX, 64) == 64 * PROCESSORS);
}

/* y = A x by a backend; the launch before has left its grid in gridDim. */
static void test_multiply(wr_env *env, wr_csr *A, const char *name, unsigned most) {
  const wr_backend *backend;
  wr_plan *plan = nullptr;
  wr_vec x = {}, y = {};
  static double values[ROWS];
  int64_t wrong = 0;
  CASE(name);
  for (int i = 0; i < ROWS; i++) values[i] = i;
  CHECK_OK(wr_backend_find(name, &backend));
  CHECK_OK(wr_plan_create(backend, nullptr, A, env, &plan));
  CHECK_OK(wr_plan_prepare(plan));
  CHECK_OK(env->ops->alloc(env, ROWS, WR_F64, "x", &x));
  CHECK_OK(env->ops->alloc(env, ROWS, WR_F64, "y", &y));
  CHECK_OK(env->ops->upload(env, &x, values));
  wr_apply request = {};
  request.alpha = 1, request.x = &x, request.y = &y;
  CHECK_OK(wr_plan_apply(plan, &request));
  CHECKF(gridDim.x == most, "%u blocks, not %u", gridDim.x, most);
  CHECK_OK(env->ops->download(env, &y, values));
  for (int i = 0; i < ROWS; i++) wrong += values[i] != 2.0 * (ROWS - 1 - i);
  CHECKF(wrong == 0, "%lld elements are wrong", (long long)wrong);
  env->ops->release(env, &x);
  env->ops->release(env, &y);
  wr_plan_destroy(plan);
}

int main(void) {
  setenv("WR_SIMT", "processors=3", 1);
  wr_env env = {};
  env.place = WR_CUDA, env.type = WR_F64;
  CHECK_OK(wr_env_open(&env));
  wr_csr *A = make_matrix();
  test_grid(&env);
  test_multiply(&env, A, "csr_warp", 8 * PROCESSORS);         /* of 625 */
  test_multiply(&env, A, "csr_warp_shared", 64 * PROCESSORS); /* of 2500 */
  wr_csr_free(A);
  wr_env_close(&env);
  return wr_test_report("simt_processors");
}
