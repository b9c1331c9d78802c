/* Every host backend when memory runs out: each allocation of creating and preparing a plan fails once. The status says so,
 * nothing leaks (the address sanitizer watches), and the same plan works when memory is available again. */
#define _GNU_SOURCE /* posix_memalign, memalign */
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tests/check.h"
#include "tests/conformance/cases.h"
#include "tests/conformance/conformance.h"

static atomic_int calls, refused = -1; /* this call of posix_memalign fails */

int posix_memalign(void **block, size_t alignment, size_t bytes) {
  if (atomic_fetch_add(&calls, 1) == atomic_load(&refused)) return ENOMEM;
  *block = memalign(alignment, bytes);
  return *block != NULL ? 0 : ENOMEM;
}

/* Returns 1 if there were fewer calls than the one that was to fail. */
static int try_plan(const wr_backend *backend, wr_csr *A, wr_env *env, int failing) {
  wr_plan *plan = (wr_plan *)env; /* to be overwritten */
  wr_vec x = {0}, y = {0};
  CHECK_OK(env->ops->alloc(env, A->ncols, env->type, "x", &x));
  CHECK_OK(env->ops->alloc(env, A->nrows, env->type, "y", &y));
  atomic_store(&calls, 0);
  atomic_store(&refused, failing);
  wr_status created = wr_plan_create(backend, NULL, A, env, &plan);
  wr_status prepared = created == WR_OK ? wr_plan_prepare(plan) : created;
  int done = atomic_load(&calls) <= failing;
  atomic_store(&refused, -1);
  CHECKF(prepared == (done ? WR_OK : WR_ENOMEM), "allocation %d: %s", failing, wr_status_name(prepared));
  if (!done) CHECK_MESSAGE("out of memory");
  CHECK((plan != NULL) == (created == WR_OK));
  if (plan && prepared != WR_OK) CHECK_OK(wr_plan_prepare(plan));
  if (plan) CHECK_OK(wr_plan_apply(plan, &(wr_apply){.alpha = 1, .x = &x, .y = &y}));
  wr_plan_destroy(plan);
  env->ops->release(env, &x);
  env->ops->release(env, &y);
  return done;
}

static void run(const wr_backend *backend, wr_csr *A, wr_type type) {
  wr_env env = {.place = WR_HOST, .type = type, .need_beta = 1, .need_columns = 2};
  int failing = 0;
  CHECK_OK(wr_env_open(&env));
  while (failing < 1000 && !try_plan(backend, A, &env, failing)) failing++;
  CHECKF(failing >= 3 && failing < 1000, "%d allocations; a plan, its knobs and its state are three", failing);
  wr_env_close(&env);
}

int main(void) {
  case_list list;
  CHECK_OK(cases_small(&list));
  for (int c = 0; c < list.count; c++) {
    wr_csr *A;
    CHECK_OK(case_build(&list.cases[c], &A));
    for (int b = 0; A && b < wr_backend_count(); b++) {
      const wr_backend *backend = wr_backend_at(b);
      CASE(backend->name);
      if (backend->plan == NULL || backend->place != WR_HOST) continue;
      for (int type = WR_F32; type <= WR_F64; type++)
        if (wr_csr_check_range(A, type == WR_F32) == WR_OK) run(backend, A, (wr_type)type);
    }
    wr_csr_free(A);
  }
  cases_free(&list);
  return wr_test_report("conformance_memory");
}
