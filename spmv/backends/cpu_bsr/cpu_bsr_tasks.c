#include "spmv/backends/cpu_bsr/cpu_bsr_tasks.h"

#include <omp.h>
#include <string.h>

#include "config/memory.h"
#include "spmv/device/epilogue_host.h"

/* REPORT_CHUNKS: chunks of a thread, in the report's table 1. TASK_BYTES: of the matrix; a task takes tens of microseconds.
 * FINISH_PIECE: rows of a piece of the loop that finishes shared sums, whatever the number of threads. */
enum { REPORT_CHUNKS = 8, TASK_BYTES = 128 << 10, FINISH_PIECE = 8 * WR_FINISH_ROWS };

/* total * k / parts without overflow; parts < 2^31. */
static int64_t part_of(int64_t total, int64_t k, int64_t parts) {
  return total / parts * k + total % parts * k / parts;
}

static inline int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- Tasks of the plan ---- */

int64_t wr_cpu_bsr_tasks(int64_t blocks, int64_t brows, int64_t block_bytes, int64_t chunks, int threads) {
  int64_t steps = blocks + brows, task = max(1, TASK_BYTES / block_bytes);
  int64_t tasks = chunks ? min(chunks * threads, steps) : (steps + task - 1) / task;
  return max(1, min(tasks, INT32_MAX - 1));
}

/* The block row in which step `step` lies: the number of block rows that end before it. */
static int64_t row_of_step(const wr_bsr *b, int64_t step) {
  int64_t low = 0, high = min(step, b->brows);
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (wr_cpu_bsr_before(b, middle + 1) + middle < step)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static wr_status cut(cpu_bsr_state *s, int64_t *bytes) {
  const wr_bsr *b = &s->matrix;
  int64_t n = s->ntasks;
  PASS(wr_alloc(&s->first_row, n + 1, sizeof *s->first_row, "tasks"));
  PASS(wr_alloc(&s->first_block, n + 1, sizeof *s->first_block, "tasks"));
  PASS(wr_alloc(&s->head, n * b->r, sizeof *s->head, "tasks"));
  PASS(wr_alloc(&s->tail, n * b->r, sizeof *s->tail, "tasks"));
  for (int64_t t = 0; t <= n; t++) {
    int64_t step = part_of(b->blocks + b->brows, t, n);
    s->first_row[t] = t < n ? row_of_step(b, step) : b->brows;
    s->first_block[t] = step - s->first_row[t];
  }
  *bytes += (n + 1) * 2 * (int64_t)sizeof *s->first_row + n * 2 * b->r * (int64_t)sizeof *s->head;
  return WR_OK;
}

/* First touched by the threads that finish these sums. */
static wr_status make_sums(cpu_bsr_state *s, int64_t *bytes) {
  int64_t n = s->matrix.brows * s->matrix.r;
  PASS(wr_alloc(&s->sums, n, sizeof *s->sums, "sums of rows"));
#pragma omp parallel for schedule(static) num_threads(s->threads)
  for (int64_t first = 0; first < n; first += FINISH_PIECE)
    memset(s->sums + first, 0, (size_t)min(FINISH_PIECE, n - first) * sizeof *s->sums);
  *bytes += n * (int64_t)sizeof *s->sums;
  return WR_OK;
}

wr_status wr_cpu_bsr_schedule(cpu_bsr_state *s, int64_t chunks, int64_t *bytes) {
  const wr_bsr *b = &s->matrix;
  int64_t pieces = (chunks ? chunks : REPORT_CHUNKS) * s->threads;
  int adds = s->schedule >= CPU_BSR_INTRA_ROW && s->schedule <= CPU_BSR_FIXED_TASK;
  s->task_blocks = max(1, b->blocks / pieces), s->ntasks = pieces;
  s->npartials = s->schedule == CPU_BSR_GRANULAR_ROW ? s->threads : 1;
  *bytes = 0;
  if (adds) {
    s->npartials = (b->nrows + FINISH_PIECE - 1) / FINISH_PIECE;
    PASS(make_sums(s, bytes));
  }
  if (s->schedule == CPU_BSR_PREPROCESSED) {
    int64_t block_bytes = 4 + (int64_t)b->r * b->c * wr_type_bytes(b->type);
    s->ntasks = wr_cpu_bsr_tasks(b->blocks, b->brows, block_bytes, chunks, s->threads);
    s->npartials = s->ntasks + 1;
    PASS(cut(s, bytes));
  }
  PASS(wr_alloc(&s->partials, s->npartials * WR_MAX_REDUCTIONS, sizeof *s->partials, "partial sums"));
  *bytes += s->npartials * WR_MAX_REDUCTIONS * (int64_t)sizeof *s->partials;
  return WR_OK;
}

void wr_cpu_bsr_unschedule(cpu_bsr_state *s) {
  wr_free(s->sums);
  wr_free(s->partials);
  wr_free(s->first_row);
  wr_free(s->first_block);
  wr_free(s->head);
  wr_free(s->tail);
}

/* ---- What the schedules share ---- */

/* The arguments of an apply, shared by all threads. */
typedef struct job {
  cpu_bsr_state *s;
  const wr_bsr *b;
  const wr_apply *request;
  cpu_bsr_x x;
} job;

static inline int64_t before(const job *j, int64_t brow) { return wr_cpu_bsr_before(j->b, brow); }

static double *partial_of(const job *j, int64_t p) {
  double *partial = j->s->partials + p * WR_MAX_REDUCTIONS;
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) partial[r] = 0;
  return partial;
}

/* Finishes rows first..first+count-1 from their products in sum: alpha, beta and the epilogue. */
static void finish(const job *j, int64_t first, int64_t count, double *sum, double *partial) {
  double alpha = j->request->alpha, beta = j->request->beta;
  const wr_vec *y = j->request->y;
  for (int64_t i = 0; i < count; i++) sum[i] *= alpha;
  if (beta != 0 && y->type == WR_F32)
    for (int64_t i = 0; i < count; i++) sum[i] += beta * (double)((const float *)y->data)[first + i];
  else if (beta != 0)
    for (int64_t i = 0; i < count; i++) sum[i] += beta * ((const double *)y->data)[first + i];
  wr_finish_rows_host(j->request, first, count, sum, partial);
}

/* Multiplies and finishes block rows [first, last), which no other thread adds to, some hundred rows at a time. */
static void run_rows(const job *j, int64_t first, int64_t last, double *partial) {
  double sum[WR_FINISH_ROWS];
  int r = j->b->r;
  for (int64_t count; first < last; first += count) {
    count = min(last - first, WR_FINISH_ROWS / r);
    wr_cpu_bsr_rows(&j->s->kernel, j->b, j->x, first, count, sum);
    finish(j, first * r, min(count * r, j->b->nrows - first * r), sum, partial);
  }
}

/* Adds to the shared sums of a block row. */
static void add_shared(const job *j, int64_t brow, const double *sum) {
  double *shared = j->s->sums + brow * j->b->r;
  for (int i = 0; i < j->b->r; i++) {
#pragma omp atomic
    shared[i] += sum[i];
  }
}

/* Adds the product of blocks [first, last) to them. */
static void add_range(const job *j, int64_t brow, int64_t first, int64_t last) {
  double sum[WR_BSR_MAX_SIDE];
  wr_cpu_bsr_range(&j->s->kernel, j->b, j->x, first, last, sum);
  add_shared(j, brow, sum);
}

/* Called by all threads after a barrier: finishes the shared sums and zeroes them for the next apply. */
static void finish_shared(const job *j) {
#pragma omp for schedule(static)
  for (int64_t p = 0; p < j->s->npartials; p++) {
    double sum[WR_FINISH_ROWS], *partial = partial_of(j, p);
    int64_t end = min((p + 1) * FINISH_PIECE, j->b->nrows);
    for (int64_t first = p * FINISH_PIECE, count; first < end; first += count) {
      count = min(end - first, WR_FINISH_ROWS);
      memcpy(sum, j->s->sums + first, (size_t)count * sizeof *sum);
      memset(j->s->sums + first, 0, (size_t)count * sizeof *sum);
      finish(j, first, count, sum, partial);
    }
  }
}

/* ---- One thread for each block row ---- */

static void run_sequential(const job *j) { run_rows(j, 0, j->b->brows, partial_of(j, 0)); }

static void run_granular_row(const job *j) {
  for (int64_t p = 0; p < j->s->npartials; p++) partial_of(j, p);
#pragma omp parallel num_threads(j->s->threads)
  {
    double partial[WR_MAX_REDUCTIONS] = {0};
#pragma omp for schedule(dynamic, 1) nowait
    for (int64_t i = 0; i < j->b->brows; i++) run_rows(j, i, i + 1, partial);
    memcpy(j->s->partials + omp_get_thread_num() * WR_MAX_REDUCTIONS, partial, sizeof partial);
  }
}

/* ---- All threads on each block row ---- */

/* A thread's blocks of a block row: consecutive ones not multiplied yet, and the sums of those before. OpenMP assigns block
 * by block; this joins consecutive blocks again. */
typedef struct assigned {
  int64_t first, last;
  double sum[WR_BSR_MAX_SIDE];
  int any;
} assigned;

static void multiply_assigned(const job *j, assigned *d) {
  double sum[WR_BSR_MAX_SIDE];
  if (d->first == d->last) return;
  wr_cpu_bsr_range(&j->s->kernel, j->b, j->x, d->first, d->last, sum);
  for (int i = 0; i < j->b->r; i++) d->sum[i] += sum[i];
  d->any = 1;
}

static inline void assign_block(const job *j, int64_t k, assigned *d) {
  if (k != d->last) {
    multiply_assigned(j, d);
    d->first = k;
  }
  d->last = k + 1;
}

static void run_intra_row(const job *j) {
#pragma omp parallel num_threads(j->s->threads)
  {
    for (int64_t i = 0; i < j->b->brows; i++) {
      assigned d = {0};
#pragma omp for schedule(guided, 1)
      for (int64_t k = before(j, i); k < before(j, i + 1); k++) assign_block(j, k, &d);
      multiply_assigned(j, &d);
      add_shared(j, i, d.sum);
    }
#pragma omp barrier
    finish_shared(j);
  }
}

static void run_intra_row_nowait(const job *j) {
  int64_t piece = j->s->task_blocks;
#pragma omp parallel num_threads(j->s->threads)
  {
    for (int64_t i = 0; i < j->b->brows; i++) {
      assigned d = {0};
#pragma omp for schedule(guided, piece) nowait
      for (int64_t k = before(j, i); k < before(j, i + 1); k++) assign_block(j, k, &d);
      multiply_assigned(j, &d);
      if (d.any) add_shared(j, i, d.sum);
    }
#pragma omp barrier
    finish_shared(j);
  }
}

/* ---- Tasks created during the multiply ---- */

/* For functions that create tasks. They write a task's arguments to memory that an earlier task of another thread may have
 * used; the OpenMP library orders the two, but the thread sanitizer does not see it. The tasks themselves are still checked. */
#ifdef __clang__
#define MAKES_TASKS __attribute__((no_sanitize("thread")))
#else
#define MAKES_TASKS
#endif

MAKES_TASKS static void make_tasks_of_row(const job *j, int64_t i) {
  int64_t piece = j->s->task_blocks, end = before(j, i + 1);
  for (int64_t first = before(j, i); first < end; first += piece) {
#pragma omp task firstprivate(j, i, first, end, piece)
    add_range(j, i, first, min(first + piece, end));
  }
}

static void run_max_task(const job *j) {
#pragma omp parallel num_threads(j->s->threads)
  {
#pragma omp for schedule(dynamic, 1)
    for (int64_t i = 0; i < j->b->brows; i++) make_tasks_of_row(j, i);
    finish_shared(j);
  }
}

/* Blocks [first, last), from block row `row` on. */
static void add_blocks(const job *j, int64_t row, int64_t first, int64_t last) {
  for (int64_t end; first < last; first = end, row++) {
    end = min(last, before(j, row + 1));
    if (first < end) add_range(j, row, first, end);
  }
}

MAKES_TASKS static void make_equal_tasks(const job *j) {
  int64_t row = 0, blocks = j->b->blocks, ntasks = j->s->ntasks;
  for (int64_t t = 0; t < ntasks; t++) {
    int64_t first = part_of(blocks, t, ntasks), last = part_of(blocks, t + 1, ntasks);
    if (first == last) continue;
    while (before(j, row + 1) <= first) row++;
#pragma omp task firstprivate(j, row, first, last)
    add_blocks(j, row, first, last);
  }
}

static void run_fixed_task(const job *j) {
#pragma omp parallel num_threads(j->s->threads)
  {
#pragma omp single
    make_equal_tasks(j);
    finish_shared(j);
  }
}

/* ---- Tasks of the plan, run ---- */

static inline int is_cut(const job *j, int64_t t) {
  const cpu_bsr_state *s = j->s;
  return s->first_row[t] < s->first_row[t + 1] && s->first_block[t] > before(j, s->first_row[t]);
}

/* Finishes the block rows that lie in the task, and stores its parts of the block rows that are cut. */
static void run_task(void *context, int64_t t) {
  const job *j = context;
  const cpu_bsr_state *s = j->s;
  int r = j->b->r;
  int64_t row = s->first_row[t], last_row = s->first_row[t + 1], tail = s->first_block[t];
  double *partial = partial_of(j, t);
  if (is_cut(j, t)) wr_cpu_bsr_range(&s->kernel, j->b, j->x, tail, before(j, row + 1), s->head + t * r);
  run_rows(j, row + is_cut(j, t), last_row, partial);
  if (row < last_row) tail = before(j, last_row);
  wr_cpu_bsr_range(&s->kernel, j->b, j->x, tail, s->first_block[t + 1], s->tail + t * r);
}

/* Finishes the block rows that are cut, from their parts in the order of the tasks. */
static void join_tasks(const job *j) {
  const cpu_bsr_state *s = j->s;
  int r = j->b->r;
  double carry[WR_BSR_MAX_SIDE] = {0}, *partial = partial_of(j, s->ntasks);
  for (int64_t t = 0; t < s->ntasks; t++) {
    int64_t row = s->first_row[t];
    const double *head = s->head + t * r, *tail = s->tail + t * r;
    if (is_cut(j, t)) {
      for (int i = 0; i < r; i++) carry[i] += head[i];
      finish(j, row * r, min(r, j->b->nrows - row * r), carry, partial);
    }
    for (int i = 0; i < r; i++) carry[i] = row < s->first_row[t + 1] ? tail[i] : carry[i] + tail[i];
  }
}

static void run_preprocessed(const job *j) {
  job mine = *j;
  wr_team_for(j->s->team, j->s->ntasks, run_task, &mine);
  join_tasks(j);
}

/* ---- One apply ---- */

void wr_cpu_bsr_run(cpu_bsr_state *s, const wr_apply *request) {
  static void (*const run[])(const job *j) = {
      [CPU_BSR_SEQUENTIAL] = run_sequential, [CPU_BSR_GRANULAR_ROW] = run_granular_row,
      [CPU_BSR_INTRA_ROW] = run_intra_row,   [CPU_BSR_INTRA_ROW_NOWAIT] = run_intra_row_nowait,
      [CPU_BSR_MAX_TASK] = run_max_task,     [CPU_BSR_FIXED_TASK] = run_fixed_task,
      [CPU_BSR_PREPROCESSED] = run_preprocessed,
  };
  job j = {.s = s, .b = &s->matrix, .request = request, .x = wr_cpu_bsr_x(&s->matrix, request->x->data, s->x_end)};
  run[s->schedule](&j);
  wr_finish_reductions_host(request, s->partials, s->npartials);
}
