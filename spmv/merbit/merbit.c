/* MERBIT: the merge path in tiles of bit fields (merbit_format.h), with the epilogue in the same pass. */
#include <stddef.h>
#include <stdio.h>

#include "spmv/csr_model.h"
#include "spmv/device/device_memory.h"
#include "spmv/merbit/merbit_build.h"
#include "spmv/merbit/merbit_kernel.h"

typedef struct merbit_knobs {
  int64_t sigma;
} merbit_knobs;

typedef struct merbit_state {
  wr_merbit_plan plan;
  const wr_csr *A; /* for decode */
} merbit_state;

static const wr_knob knobs[] = {
    {.name = "sigma", .type = WR_OPTION_INT, .offset = offsetof(merbit_knobs, sigma), .min = 0,
     .max = WR_MERBIT_KERNEL_SIGMA, .value = "0", .help = "steps of a lane; 0: 14"},
    {.name = NULL},
};

/* The best of 5, 7, 10, 14 and 20 on most matrices, in both precisions (H200, 2026-11-21), and the largest that the paper's
 * words with two offsets hold. */
enum { DEFAULT_SIGMA = 14 };

static int sigma_of(const void *k) {
  int64_t sigma = ((const merbit_knobs *)k)->sigma;
  return sigma ? (int)sigma : DEFAULT_SIGMA;
}

static wr_status check(const wr_env *env, const wr_csr *A, const void *k) {
  wr_status status = WR_OK;
  (void)env;
  if (A == NULL) return WR_OK;
  wr_merbit_format shape = wr_merbit_shape(A->nrows, A->ncols, A->nnz, sigma_of(k));
  TRY(wr_merbit_check(A->nrows, A->ncols, A->nnz, shape.sigma, shape.wide));
  if (wr_merbit_blocks(&shape) > INT32_MAX) /* a launch has no more */
    return wr_fail(WR_EUNAVAILABLE,
                   "merbit:sigma=%d needs %lld thread blocks for this matrix; a larger sigma needs fewer", shape.sigma,
                   (long long)wr_merbit_blocks(&shape));
done:
  return status;
}

static wr_status plan(const wr_env *env, const wr_csr *A, const void *k, wr_plan_info *info) {
  wr_merbit_format shape = wr_merbit_shape(A->nrows, A->ncols, A->nnz, sigma_of(k));
  int64_t entries = A->nnz * ((int64_t)sizeof *A->col + (A->val ? wr_type_bytes(env->type) : 0));
  wr_csr_estimate(env, A, info);
  info->format_bytes = wr_merbit_bytes(&shape) + entries;
  info->extra_bytes = wr_merbit_bytes(&shape) + wr_merbit_blocks(&shape) * 20;
  info->apply_bytes = (double)(info->format_bytes + (A->nrows + A->ncols) * wr_type_bytes(env->type));
  info->deterministic = 1;
  snprintf(info->line, sizeof info->line, "%lld tiles of 32 x %d steps; rows that blocks share are added up in order",
           (long long)shape.tiles, shape.sigma);
  return WR_OK;
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *k, wr_plan_info *info) {
  wr_status status;
  merbit_state *s = state;
  wr_merbit_plan *p = &s->plan;
  s->A = A;
  TRY(wr_csr_borrow(A, env, &p->view, info));
  TRY(wr_merbit_device_build(env, A->nrows, A->ncols, A->nnz, &p->view, sigma_of(k), &p->format));
  TRY(wr_merbit_plan_open(env, p));
  info->extra_bytes = wr_merbit_device_bytes(&p->format) + wr_device_bytes(p->blocks, sizeof *p->origin) +
                      wr_device_bytes(p->blocks, sizeof *p->head) + wr_device_bytes(p->blocks, sizeof *p->tail) +
                      wr_device_bytes(WR_MAX_REDUCTIONS, sizeof *p->sums);
done:
  return status;
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  const merbit_state *s = state;
  return wr_merbit_launch(env, &s->plan, &args->request);
}

static void destroy(void *state, wr_env *env) {
  merbit_state *s = state;
  wr_merbit_plan_close(env, &s->plan);
}

/* Rows from the path as it is on the device; columns and values are the matrix's own, in env's type. */
static wr_status decode(void *state, wr_env *env, wr_csr **A) {
  wr_status status;
  const merbit_state *s = state;
  wr_merbit_format host = {0};
  *A = NULL;
  TRY(wr_csr_copy(s->A, A));
  TRY(wr_merbit_download(env, &s->plan.format, &host));
  TRY(wr_merbit_decode_rows(&host, (*A)->row_ptr));
  for (int64_t e = 0; (*A)->val && env->type == WR_F32 && e < (*A)->nnz; e++)
    (*A)->val[e] = (double)(float)(*A)->val[e];
done:
  wr_merbit_free(&host);
  if (status != WR_OK) wr_csr_free(*A), *A = NULL;
  return status;
}

const wr_backend wr_backend_merbit = {
    .name = "merbit",
    .summary = "merge-path bit-field tiles",
    .source = "MERBIT: A GPU-Based SpMV Method for Iterative Workloads",
    .place = WR_CUDA,
    .caps = WR_CAP_BETA | WR_CAP_EPILOGUE | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64,
    .knobs = knobs,
    .knobs_size = sizeof(merbit_knobs),
    .state_size = sizeof(merbit_state),
    .check = check,
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .destroy = destroy,
    .decode = decode,
};
