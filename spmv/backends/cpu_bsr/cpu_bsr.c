/* BSR on the CPU: blocks (spmv/blocks/bsr_format.h) are multiplied under one of seven schedules (cpu_bsr_tasks.h). */
#include <stddef.h>
#include <stdio.h>

#include "spmv/blocks/bsr_build.h"
#include "spmv/backends/cpu_bsr/cpu_bsr_tasks.h"

typedef struct cpu_bsr_knobs {
  int64_t r, c, chunks;
  int schedule;
} cpu_bsr_knobs;

enum { MOST_CHUNKS = 4096 };

static const wr_knob knobs[] = {
    {.name = "r", .type = WR_OPTION_INT, .offset = offsetof(cpu_bsr_knobs, r), .min = 0, .max = WR_BSR_MAX_SIDE,
     .value = "0", .help = "rows of a block; 0: as few bytes as possible"},
    {.name = "c", .type = WR_OPTION_INT, .offset = offsetof(cpu_bsr_knobs, c), .min = 0, .max = WR_BSR_MAX_SIDE,
     .value = "0", .help = "columns of a block; 0: as few bytes as possible"},
    {.name = "schedule", .type = WR_OPTION_CHOICE, .offset = offsetof(cpu_bsr_knobs, schedule),
     .choices = CPU_BSR_SCHEDULES, .value = "preprocessed", .help = "how blocks are assigned to threads"},
    {.name = "chunks", .type = WR_OPTION_INT, .offset = offsetof(cpu_bsr_knobs, chunks), .min = 0, .max = MOST_CHUNKS,
     .value = "0", .help = "pieces of work for each thread; 0: 8, with preprocessed: by the matrix only"},
    {.name = NULL},
};

static wr_status check(const wr_env *env, const wr_csr *A, const void *k) {
  const cpu_bsr_knobs *knob = k;
  (void)env;
  if (A == NULL) return WR_OK;
  return wr_bsr_check(A->nrows, A->ncols, A->nnz, knob->r ? (int)knob->r : 1, knob->c ? (int)knob->c : 1);
}

static wr_status plan(const wr_env *env, const wr_csr *A, const void *k, wr_plan_info *info) {
  const cpu_bsr_knobs *knob = k;
  wr_bsr_choice choice;
  /* The assignment of rows to threads must depend neither on the number of threads nor on their timing. */
  int deterministic =
      knob->schedule == CPU_BSR_SEQUENTIAL || (knob->schedule == CPU_BSR_PREPROCESSED && knob->chunks == 0);
  PASS(wr_bsr_choose(A, env->type, (int)knob->r, (int)knob->c, &choice));
  *info = (wr_plan_info){.format_bytes = (int64_t)choice.bytes,
                         .extra_bytes = (int64_t)choice.bytes,
                         .deterministic = deterministic,
                         .chosen = {choice.r, choice.c}};
  info->apply_bytes = choice.bytes + (double)((A->nrows + A->ncols) * wr_type_bytes(env->type));
  snprintf(info->line, sizeof info->line, "%s", choice.line);
  wr_bsr_advise_rows(&choice, "cpu_csr", info);
  return WR_OK;
}

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *k, wr_plan_info *info) {
  cpu_bsr_state *s = state;
  const cpu_bsr_knobs *knob = k;
  int64_t bytes;
  s->schedule = (cpu_bsr_schedule)knob->schedule, s->as_pattern = A->val == NULL;
  s->team = wr_env_team(env), s->threads = wr_team_threads(s->team);
  PASS(wr_bsr_build(A, info->chosen[0], info->chosen[1], env->type, 0, &s->matrix));
  s->kernel = wr_cpu_bsr_kernel(&s->matrix);
  PASS(wr_cpu_bsr_schedule(s, knob->chunks, &bytes));
  info->format_bytes = wr_bsr_bytes(&s->matrix);
  info->extra_bytes = info->format_bytes + bytes;
  info->apply_bytes = (double)(info->format_bytes + (A->nrows + A->ncols) * wr_type_bytes(env->type));
  return WR_OK;
}

static wr_status apply(void *state, wr_env *env, const wr_apply_args *args) {
  (void)env;
  wr_cpu_bsr_run(state, &args->request);
  return WR_OK;
}

static void destroy(void *state, wr_env *env) {
  cpu_bsr_state *s = state;
  (void)env;
  wr_cpu_bsr_unschedule(s);
  wr_bsr_free(&s->matrix);
}

static wr_status decode(void *state, wr_env *env, wr_csr **A) {
  const cpu_bsr_state *s = state;
  (void)env;
  return wr_bsr_decode(&s->matrix, s->as_pattern, A);
}

/* Only the values are rewritten; blocks and tasks stay. */
static wr_status update_values(void *state, wr_env *env, wr_csr *A, int *moved) {
  const cpu_bsr_state *s = state;
  (void)env, (void)moved;
  if (!s->as_pattern) wr_bsr_refill(A, &s->matrix);
  return WR_OK;
}

const wr_backend wr_backend_cpu_bsr = {
    .name = "cpu_bsr",
    .summary = "BSR with seven schedules",
    .source = "Chirila 2025 (research report, Politehnica Bucharest), section 6.2",
    .place = WR_HOST,
    .caps = WR_CAP_BETA | WR_CAP_EPILOGUE | WR_CAP_PATTERN | WR_CAP_RECTANGULAR | WR_CAP_F32 | WR_CAP_F64,
    .knobs = knobs,
    .knobs_size = sizeof(cpu_bsr_knobs),
    .state_size = sizeof(cpu_bsr_state),
    .check = check,
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .destroy = destroy,
    .decode = decode,
    .update_values = update_values,
};
