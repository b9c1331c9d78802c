#include "spmv/backends/bsr/bsr_plan.h"

#include <stdio.h>
#include <string.h>

#include "config/text.h"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"

/* Threads and thread blocks that a current multiprocessor holds at a time, for the estimate. */
constexpr int64_t PROCESSOR_THREADS = 2048, PROCESSOR_BLOCKS = 32;

static int threads_of(const wr_bsr_kernel *kernel, const wr_bsr_knobs *k, int r, int c) {
  int threads = 32 << k->block, least = (r * c + 31) / 32 * 32;
  return kernel->thread_per_value && threads < least ? least : threads;
}

/* The number of tasks: oversubscription times the resident thread blocks, but so few that each thread has at least 4 values
 * of each row of a block, as a task ends with a sum over its threads. */
static int64_t tasks_wanted(const wr_bsr_knobs *k, int64_t resident, int64_t values, int r, int threads) {
  int64_t wanted = (int64_t)((double)resident * k->oversubscription), useful = values / (4 * (int64_t)r * threads);
  if (wanted > useful) wanted = useful;
  return wanted < 1 ? 1 : wanted;
}

extern "C" wr_status wr_bsr_plan_check(const wr_env *, const wr_csr *A, const void *knobs) {
  const wr_bsr_knobs *k = (const wr_bsr_knobs *)knobs;
  if (A == NULL) return WR_OK;
  return wr_bsr_check(A->nrows, A->ncols, A->nnz, k->r ? (int)k->r : 1, k->c ? (int)k->c : 1);
}

extern "C" wr_status wr_bsr_plan_blocks(const wr_env *env, const wr_csr *A, const wr_bsr_knobs *k, wr_plan_info *info,
                                        wr_bsr_choice *choice) {
  PASS(wr_bsr_choose(A, env->type, (int)k->r, (int)k->c, choice));
  *info = {};
  info->chosen[0] = choice->r, info->chosen[1] = choice->c;
  info->format_bytes = info->extra_bytes = (int64_t)choice->bytes;
  info->apply_bytes = choice->bytes + (double)((A->nrows + A->ncols) * wr_type_bytes(env->type));
  snprintf(info->line, sizeof info->line, "%s", choice->line);
  wr_bsr_advise_rows(choice, "merbit", info);
  return WR_OK;
}

extern "C" void wr_bsr_plan_add_tasks(const wr_env *env, const wr_bsr_knobs *k, const wr_bsr_kernel *kernel,
                                      const wr_bsr_choice *choice, wr_plan_info *info) {
  int threads = threads_of(kernel, k, choice->r, choice->c);
  int64_t each = PROCESSOR_THREADS / threads < PROCESSOR_BLOCKS ? PROCESSOR_THREADS / threads : PROCESSOR_BLOCKS;
  int64_t values = (int64_t)(choice->blocks * choice->r * choice->c);
  int64_t tasks = tasks_wanted(k, wr_cuda_processors(env) * each, values, choice->r, threads);
  size_t length = strlen(info->line);
  info->extra_bytes += tasks * (16 + 16 * choice->r);
  info->deterministic = threads <= kernel->deterministic_upto;
  snprintf(info->line + length, sizeof info->line - length, "; tasks of %d %s", threads,
           wr_plural(threads, "thread", "threads"));
}

extern "C" wr_status wr_bsr_plan_estimate(const wr_env *env, const wr_csr *A, const wr_bsr_knobs *k,
                                          const wr_bsr_kernel *kernel, wr_plan_info *info) {
  wr_bsr_choice choice;
  PASS(wr_bsr_plan_blocks(env, A, k, info, &choice));
  wr_bsr_plan_add_tasks(env, k, kernel, &choice, info);
  return WR_OK;
}

static wr_status make_tasks(wr_bsr_plan *p, wr_env *env, const wr_bsr_knobs *k, const wr_bsr_kernel *kernel) {
  wr_workspace workspace;
  int resident = 0;
  int64_t values = p->format.blocks * p->format.r * p->format.c;
  PASS(kernel->resident(env, p, &resident));
  PASS(wr_bsr_tasks_build(env, &p->format, tasks_wanted(k, resident, values, p->format.r, p->threads), &p->tasks));
  if (kernel->fuses) PASS(wr_workspace_reserve(env, p->tasks.count + wr_bsr_rest_grid(env, &p->tasks), &workspace));
  return WR_OK;
}

extern "C" wr_status wr_bsr_plan_prepare(wr_bsr_plan *p, wr_env *env, wr_csr *A, const wr_bsr_knobs *k,
                                         const wr_bsr_kernel *kernel, wr_plan_info *info) {
  wr_csr_view view;
  int r = info->chosen[0], c = info->chosen[1];
  p->threads = threads_of(kernel, k, r, c);
  p->rows_at_once = 1 << k->rows_at_once;
  p->pattern = A->val == NULL;
  PASS(wr_csr_device_view(A, env, &view));
  PASS(wr_bsr_device_build(env, A->nrows, A->ncols, A->nnz, &view, r, c, &p->format));
  PASS(make_tasks(p, env, k, kernel));
  info->format_bytes = wr_bsr_bytes(&p->format);
  info->extra_bytes = wr_bsr_device_bytes(&p->format) + wr_bsr_tasks_bytes(&p->tasks);
  info->apply_bytes = (double)(info->format_bytes + (A->nrows + A->ncols) * wr_type_bytes(env->type));
  return WR_OK;
}

extern "C" void wr_bsr_plan_destroy(void *state, wr_env *env) {
  wr_bsr_plan *p = (wr_bsr_plan *)state;
  wr_bsr_device_free(env, &p->format);
  wr_bsr_tasks_free(env, &p->tasks);
}

extern "C" wr_status wr_bsr_plan_decode(void *state, wr_env *env, wr_csr **A) {
  const wr_bsr_plan *p = (const wr_bsr_plan *)state;
  wr_status status;
  wr_bsr host = {};
  *A = NULL;
  TRY(wr_bsr_download(env, &p->format, &host));
  TRY(wr_bsr_decode(&host, p->pattern, A));
done:
  wr_bsr_free(&host);
  return status;
}

/* Overwrites the old values; a pattern stores none. */
extern "C" wr_status wr_bsr_plan_update_values(void *state, wr_env *env, wr_csr *A, int *) {
  const wr_bsr_plan *p = (const wr_bsr_plan *)state;
  wr_csr_view view;
  if (p->pattern) return WR_OK;
  PASS(wr_csr_device_view(A, env, &view));
  return wr_bsr_device_refill(env, &view, &p->format);
}
