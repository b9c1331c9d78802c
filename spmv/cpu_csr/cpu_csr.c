#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "config/memory.h"
#include "config/text.h"
#include "spmv/bsr/bsr_build.h"
#include "spmv/cpu_csr/cpu_csr_format.h"
#include "spmv/device/finish_host.h"

/* The entry at which chunk c begins: the chunk's first step less the rows that ended before it. */
static inline int64_t chunk_entry(const cpu_csr_state *s, int64_t c) {
  return c == s->nchunks ? s->nnz : c * WR_CPU_CSR_STEPS - s->first_row[c];
}

/* Four numbers in a register where the processor has one as wide (gcc and clang). */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are handed to inlined functions of this file alone */
#elif defined(__clang__)
#pragma clang diagnostic ignored "-Wpsabi"
#endif
typedef double four __attribute__((vector_size(4 * sizeof(double))));
typedef int64_t four_bits __attribute__((vector_size(4 * sizeof(int64_t))));

enum { AHEAD = 512 }; /* entries to look ahead: 32 to 64 cache lines */

#define T float
#define NAME(x) x##_f32
#include "spmv/cpu_csr/cpu_csr_kernel.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "spmv/cpu_csr/cpu_csr_kernel.h"
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

/* Each thread touches first the pages that it will read later: the same static split as in apply. */
static wr_status copy_values(cpu_csr_state *s, const double *val) {
  wr_status status = wr_alloc(&s->own_val, s->nnz, sizeof *s->own_val, "values in f32");
  if (status != WR_OK) return status;
  s->val = s->own_val;
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < s->nchunks; c++)
    for (int64_t k = chunk_entry(s, c); k < chunk_entry(s, c + 1); k++) s->own_val[k] = (float)val[k];
  return WR_OK;
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_plan_info *info) {
  wr_status status;
  cpu_csr_state *s = state;
  (void)knobs;
  *s = (cpu_csr_state){.nrows = A->nrows, .nnz = A->nnz, .row_ptr = A->row_ptr, .col = A->col, .val = A->val,
                       .type = env->type};
  s->nchunks = (A->nrows + A->nnz + WR_CPU_CSR_STEPS - 1) / WR_CPU_CSR_STEPS;
  s->nshares = s->nchunks < omp_get_max_threads() ? (int)s->nchunks : omp_get_max_threads();
  TRY(wr_alloc_zeroed(&s->shares, s->nshares, sizeof *s->shares, "chunks"));
  TRY(wr_alloc(&s->first_row, s->nchunks + 1, sizeof *s->first_row, "chunks"));
  TRY(wr_alloc(&s->head, s->nchunks, sizeof *s->head, "chunks"));
  TRY(wr_alloc(&s->tail, s->nchunks, sizeof *s->tail, "chunks"));
  TRY(wr_alloc(&s->partials, (s->nchunks + 1) * WR_MAX_REDUCTIONS, sizeof *s->partials, "partial sums"));
  for (int64_t c = 0; c < s->nchunks; c++) s->first_row[c] = row_of_step(s, c * WR_CPU_CSR_STEPS);
  s->first_row[s->nchunks] = s->nrows;
  if (A->val && env->type == WR_F32) TRY(copy_values(s, A->val));
  info->extra_bytes += s->nchunks * (int64_t)(sizeof *s->first_row + 2 * sizeof *s->head);
done:
  return status;
}

/* Four loops out of one source: with and without values, in f32 and f64. */
static void run_chunk(const cpu_csr_state *s, const wr_apply *request, int64_t c) {
  if (s->type == WR_F32 && s->val)
    run_chunk_f32(s, request, c, s->val);
  else if (s->type == WR_F32)
    run_chunk_f32(s, request, c, NULL);
  else if (s->val)
    run_chunk_f64(s, request, c, s->val);
  else
    run_chunk_f64(s, request, c, NULL);
}

/* Every thread gets neighbouring chunks, the same at each apply, whose pages it was the first to touch. */
static void deal_chunks(cpu_csr_state *s) {
  for (int t = 0; t < s->nshares; t++) {
    atomic_store_explicit(&s->shares[t].next, s->nchunks * t / s->nshares, memory_order_relaxed);
    s->shares[t].end = s->nchunks * (t + 1) / s->nshares;
  }
}

/* A thread works off its own share and then helps the others with theirs: on a busy machine one of them is always late (16
 * threads of a shared Xeon, 2026-11: 10 to 60% of the time won). Results do not depend on who did a chunk. */
static void run_shares(cpu_csr_state *s, const wr_apply *request, int me) {
  for (int k = 0; k < s->nshares; k++) {
    cpu_csr_share *share = &s->shares[(me + k) % s->nshares];
    for (int64_t c; (c = atomic_fetch_add_explicit(&share->next, 1, memory_order_relaxed)) < share->end;)
      run_chunk(s, request, c);
  }
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  cpu_csr_state *s = state;
  const wr_apply *request = &args->request;
  (void)env;
  deal_chunks(s);
#pragma omp parallel num_threads(s->nshares) if (s->nchunks > 1)
  run_shares(s, request, omp_get_thread_num());
  if (s->type == WR_F32)
    join_chunks_f32(s, request);
  else
    join_chunks_f64(s, request);
  wr_finish_reductions_host(request, s->partials, s->nchunks + 1);
  return WR_OK;
}

static void destroy(void *state, wr_env *env) {
  cpu_csr_state *s = state;
  (void)env;
  wr_free(s->own_val);
  wr_free(s->shares);
  wr_free(s->first_row);
  wr_free(s->head);
  wr_free(s->tail);
  wr_free(s->partials);
}

const wr_backend wr_backend_cpu_csr = {
    .name = "cpu_csr",
    .summary = "CSR with OpenMP, balanced over nonzeros; the default without a GPU",
    .source = "chunks along the merge path: Merrill and Garland 2016, section 3",
    .place = WR_HOST,
    .caps = WR_CAP_BETA | WR_CAP_EPILOGUE | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64,
    .state_size = sizeof(cpu_csr_state),
    .check = check,
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .destroy = destroy,
    .advise = advise,
};
