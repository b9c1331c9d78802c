#include <stdio.h>
#include <string.h>

#include "config/memory.h"
#include "config/text.h"
#include "config/wide.h"
#include "spmv/blocks/bsr_build.h"
#include "spmv/backends/cpu_csr/cpu_csr_format.h"
#include "spmv/device/epilogue_host.h"
#include "spmv/device/team.h"

/* The entry at which chunk c begins: its first step minus the rows that end before it. */
static inline int64_t chunk_entry(const cpu_csr_state *s, int64_t c) {
  return c == s->nchunks ? s->nnz : c * WR_CPU_CSR_STEPS - s->first_row[c];
}

/* Vectors of gcc and clang: one register where the processor has one as wide. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are passed only to inlined functions of this file */
#elif defined(__clang__)
#pragma clang diagnostic ignored "-Wpsabi"
#endif
typedef double four __attribute__((vector_size(4 * sizeof(double))));
typedef int64_t four_bits __attribute__((vector_size(4 * sizeof(int64_t))));

enum { AHEAD = 512 }; /* prefetch distance in entries: 32 to 64 cache lines */

#define T float
#define NAME(x) x##_f32
#include "spmv/backends/cpu_csr/cpu_csr_kernel.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "spmv/backends/cpu_csr/cpu_csr_kernel.h"
#undef T
#undef NAME

static wr_status check(const wr_env *env, const wr_csr *A, const void *knobs) {
  (void)env, (void)A, (void)knobs;
  return WR_OK;
}

static wr_status plan(const wr_env *env, const wr_csr *A, const void *knobs, wr_plan_info *info) {
  (void)knobs;
  int64_t value_bytes = A->val ? A->nnz * wr_type_bytes(env->type) : 0;
  int64_t row_bytes = (A->nrows + 1) * (int64_t)sizeof *A->row_ptr, col_bytes = A->nnz * (int64_t)sizeof *A->col;
  int own = A->val && env->type == WR_F32;
  *info = (wr_plan_info){.format_bytes = row_bytes + col_bytes + value_bytes,
                         .extra_bytes = own ? value_bytes : 0,
                         .borrowed_bytes = row_bytes + col_bytes + (own ? 0 : value_bytes),
                         .deterministic = 1};
  info->apply_bytes = (double)(info->format_bytes + (A->nrows + A->ncols) * wr_type_bytes(env->type));
  int64_t chunks = (A->nrows + A->nnz) / WR_CPU_CSR_STEPS + 1;
  snprintf(info->line, sizeof info->line, "CSR, %lld %s of %d steps along the merge path, sums in f64",
           (long long)chunks, wr_plural(chunks, "chunk", "chunks"), WR_CPU_CSR_STEPS);
  return WR_OK;
}

static void advise(const wr_env *env, const wr_csr *A, wr_plan_info *info) {
  wr_bsr_advise_blocks(A, env->type, "cpu_bsr", info);
}

/* The row in which step `step` of the merge path lies: the number of rows that end before it. */
static int64_t row_of_step(const cpu_csr_state *s, int64_t step) {
  int64_t low = 0, high = step < s->nrows ? step : s->nrows;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (s->row_ptr[middle + 1] + middle < step)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Whether most of 128 neighbouring rows at equal distances have first columns less than 16 apart. */
static int is_local(const wr_csr *A) {
  enum { PAIRS = 128, NEAR = 16 };
  int64_t near = 0, pairs = 0;
  for (int64_t n = 0; n < PAIRS && A->nrows > 1; n++) {
    int64_t i = n * (A->nrows - 1) / PAIRS, k = A->row_ptr[i], next = A->row_ptr[i + 1];
    if (k == next || next == A->row_ptr[i + 2]) continue;
    int64_t apart = (int64_t)A->col[next] - A->col[k];
    near += apart < NEAR && apart > -NEAR, pairs++;
  }
  return 2 * near > pairs;
}

/* The arguments of a loop over chunks. */
typedef struct job {
  const cpu_csr_state *s;
  const wr_apply *request;
  const wr_apply_many *many;
  const double *val; /* copy_chunk: values to be copied in f32 */
} job;

static void copy_chunk(void *context, int64_t c) {
  const job *j = context;
  for (int64_t k = chunk_entry(j->s, c); k < chunk_entry(j->s, c + 1); k++) j->s->own_val[k] = (float)j->val[k];
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_plan_info *info) {
  cpu_csr_state *s = state;
  (void)knobs;
  *s = (cpu_csr_state){.nrows = A->nrows, .nnz = A->nnz, .row_ptr = A->row_ptr, .col = A->col, .val = A->val,
                       .type = env->type, .is_local = is_local(A)};
  s->nchunks = (A->nrows + A->nnz + WR_CPU_CSR_STEPS - 1) / WR_CPU_CSR_STEPS;
  PASS(wr_alloc(&s->first_row, s->nchunks + 1, sizeof *s->first_row, "chunks"));
  PASS(wr_alloc(&s->head, s->nchunks, sizeof *s->head, "chunks"));
  PASS(wr_alloc(&s->tail, s->nchunks, sizeof *s->tail, "chunks"));
  PASS(wr_alloc(&s->partials, (s->nchunks + 1) * WR_MAX_REDUCTIONS, sizeof *s->partials, "partial sums"));
  s->columns = env->need_columns;
  if (s->columns > 0) {
    PASS(wr_alloc(&s->many_head, s->nchunks * s->columns, sizeof *s->many_head, "chunks"));
    PASS(wr_alloc(&s->many_tail, s->nchunks * s->columns, sizeof *s->many_tail, "chunks"));
  }
  for (int64_t c = 0; c < s->nchunks; c++) s->first_row[c] = row_of_step(s, c * WR_CPU_CSR_STEPS);
  s->first_row[s->nchunks] = s->nrows;
  if (A->val && env->type == WR_F32) { /* each thread first touches the pages of its own chunks */
    PASS(wr_alloc(&s->own_val, s->nnz, sizeof *s->own_val, "values in f32"));
    s->val = s->own_val;
    wr_team_for(wr_env_team(env), s->nchunks, copy_chunk, &(job){.s = s, .val = A->val});
  }
  info->extra_bytes += s->nchunks * (int64_t)(sizeof *s->first_row + 2 * (1 + (size_t)s->columns) * sizeof *s->head);
  return WR_OK;
}

/* The four instances: with and without values, in f32 and f64. */
static void run_chunk(void *context, int64_t c) {
  const job *j = context;
  const cpu_csr_state *s = j->s;
  if (s->type == WR_F32 && s->val)
    run_chunk_f32(s, j->request, c, s->val);
  else if (s->type == WR_F32)
    run_chunk_f32(s, j->request, c, NULL);
  else if (s->val)
    run_chunk_f64(s, j->request, c, s->val);
  else
    run_chunk_f64(s, j->request, c, NULL);
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  cpu_csr_state *s = state;
  const wr_apply *request = &args->request;
  wr_team_for(wr_env_team(env), s->nchunks, run_chunk, &(job){.s = s, .request = request});
  if (s->type == WR_F32)
    join_chunks_f32(s, request);
  else
    join_chunks_f64(s, request);
  wr_finish_reductions_host(request, s->partials, s->nchunks + 1);
  return WR_OK;
}

static void run_chunk_many(void *context, int64_t c) {
  const job *j = context;
  (j->s->type == WR_F32 ? run_columns_f32 : run_columns_f64)(j->s, j->many, c);
}

static wr_status apply_many(void *state, wr_env *env, const wr_apply_many *request) {
  cpu_csr_state *s = state;
  wr_team_for(wr_env_team(env), s->nchunks, run_chunk_many, &(job){.s = s, .many = request});
  (s->type == WR_F32 ? join_columns_f32 : join_columns_f64)(s, request);
  return WR_OK;
}

static void destroy(void *state, wr_env *env) {
  cpu_csr_state *s = state;
  (void)env;
  wr_free(s->own_val);
  wr_free(s->first_row);
  wr_free(s->head);
  wr_free(s->tail);
  wr_free(s->partials);
  wr_free(s->many_head);
  wr_free(s->many_tail);
}

const wr_backend wr_backend_cpu_csr = {
    .name = "cpu_csr",
    .summary = "CSR on all threads, balanced over nonzeros",
    .source = "chunks along the merge path: Merrill and Garland 2016, section 3",
    .place = WR_HOST,
    .caps = WR_CAP_BETA | WR_CAP_EPILOGUE | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64,
    .state_size = sizeof(cpu_csr_state),
    .check = check,
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .destroy = destroy,
    .apply_many = apply_many,
    .advise = advise,
};
