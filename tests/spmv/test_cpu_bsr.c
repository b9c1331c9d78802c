/* cpu_bsr with every block size and every schedule, its plan's line, and how schedule=preprocessed cuts tasks. Conformance
 * tests the first and the last schedule alone, with the default block size and 16 x 16. */
#include <stdlib.h>

#include "data/generate.h"
#include "spmv/blocks/bsr_build.h"
#include "spmv/backends/cpu_bsr/cpu_bsr_tasks.h"
#include "tests/check.h"
#include "tests/conformance/cases.h"
#include "tests/conformance/conformance.h"

static const char *const schedules[] = {"sequential", "granular_row", "intra_row",   "intra_row_nowait",
                                        "max_task",   "fixed_task",   "preprocessed"};
enum { SCHEDULES = sizeof schedules / sizeof *schedules };

static const wr_backend *backend(void) {
  const wr_backend *found = NULL;
  CHECK_OK(wr_backend_find("cpu_bsr", &found));
  return found;
}

/* ---- matrices ---- */

/* Every eighth place is an entry, except for 32 empty rows, one full row, and empty columns. */
static int has_entry(int64_t i, int64_t j) {
  if (i >= 32 && i < 64) return 0;
  return i == 70 || (j % 40 > 3 && (case_number((uint64_t)i + 7, j) > 0.75));
}

static wr_csr *make_ragged(int64_t nrows, int64_t ncols) {
  wr_csr *A = NULL;
  int64_t nnz = 0;
  for (int64_t i = 0; i < nrows; i++)
    for (int64_t j = 0; j < ncols; j++) nnz += has_entry(i, j);
  CHECK_OK(wr_csr_create(nrows, ncols, nnz, 1, &A));
  if (A == NULL) exit(wr_test_report("cpu_bsr"));
  for (int64_t i = 0, k = 0; i < nrows; i++) {
    for (int64_t j = 0; j < ncols; j++)
      if (has_entry(i, j)) A->col[k] = (int32_t)j, A->val[k] = k % 13 ? case_number(1, k) : 0, k++;
    A->row_ptr[i + 1] = k;
  }
  return A;
}

static wr_csr *generate(const char *name) {
  wr_csr *A = NULL;
  CHECK_OK(wr_generate(name, 0, &A));
  if (A == NULL) exit(wr_test_report("cpu_bsr"));
  return A;
}

/* ---- products ---- */

static void try_plan(wr_csr *A, const char *knobs, wr_type type, int threads, findings *f) {
  trial t = {.backend = backend(), .knobs = knobs, .name = "blocks", .A = A, .findings = f,
             .env = {.place = WR_HOST, .type = type, .need_beta = 1, .threads = threads}};
  int opened = trial_open(&t);
  trial_expect(&t, opened, "not taken");
  if (opened) {
    trial_fill(&t, 0);
    conform_apply(&t, (choice){.alpha = 0, .beta = 0, .epilogue = EPILOGUE_NONE});
    conform_apply(&t, (choice){.alpha = 1, .beta = 2, .epilogue = EPILOGUE_ALL});
    conform_nonfinite(&t);
    conform_repeats(&t);
  }
  trial_close(&t);
}

static void count(const findings *f) {
  CHECKF(f->passed > 0, "nothing was checked");
  wr_test_passed += f->passed, wr_test_failed += f->failed;
}

/* Each block size in one type; the next matrix takes the other type. */
static void try_sizes(wr_csr *A, int turn, findings *f) {
  static const int longer[][2] = {{16, 16}, {16, 1}, {1, 16}, {16, 15}, {9, 16}, {11, 7}, {3, 13}};
  char knobs[64];
  for (int r = 1; r <= 8; r++)
    for (int c = 1; c <= 8; c++) {
      snprintf(knobs, sizeof knobs, "r=%d:c=%d", r, c);
      try_plan(A, knobs, (wr_type)(turn % 2), 2, f);
    }
  for (size_t k = 0; k < sizeof longer / sizeof *longer; k++) {
    snprintf(knobs, sizeof knobs, "r=%d:c=%d:chunks=%d", longer[k][0], longer[k][1], turn / 2 * 4);
    try_plan(A, knobs, (wr_type)(turn % 2), 2, f);
  }
}

/* Sides that divide the matrix and that do not; x ends behind a whole number of 128 bytes, and not. */
static void test_sizes(void) {
  static const int64_t sizes[][2] = {{97, 83}, {81, 83}, {80, 96}, {96, 128}, {71, 1}, {72, 2}};
  findings f = {0};
  CASE("block sizes");
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    wr_csr *A = make_ragged(sizes[k][0], sizes[k][1]);
    try_sizes(A, (int)k, &f);
    wr_csr_free(A);
  }
  count(&f);
}

/* The default, several pieces a thread, and more than there are blocks; 1 to 3 threads. */
static void try_schedules(wr_csr *A, const char *sides, findings *f) {
  static const int chunks[] = {0, 7, 4096};
  char knobs[96];
  for (int schedule = 0; schedule < SCHEDULES; schedule++)
    for (int turn = 0; turn < 4; turn++) {
      snprintf(knobs, sizeof knobs, "%s:schedule=%s:chunks=%d", sides, schedules[schedule], chunks[turn % 3]);
      try_plan(A, knobs, (wr_type)(turn % 2), 1 + (turn + schedule) % 3, f);
    }
}

static void test_schedules(void) {
  static const char *const names[] = {"gen:fem:n=4", "gen:hubs:n=300,hubs=2", "gen:stencil:n=11,points=5"};
  findings f = {0};
  CASE("schedules");
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    wr_csr *A = generate(names[k]);
    try_schedules(A, "r=0:c=0", &f);
    try_schedules(A, "r=2:c=5", &f);
    wr_csr_free(A);
  }
  wr_csr *A = make_ragged(97, 83);
  try_schedules(A, "r=16:c=1", &f); /* block rows 2 and 3 are empty */
  try_schedules(A, "r=3:c=3", &f);
  wr_csr_free(A);
  count(&f);
}

/* One block row holds all blocks and is cut many times. */
static void test_one_row(void) {
  findings f = {0};
  wr_csr *A = NULL;
  CASE("one block row");
  CHECK_OK(wr_csr_create(3, 4001, 3 * 3999, 0, &A));
  for (int64_t i = 0, k = 0; A && i < 3; i++) {
    for (int32_t j = 1; j < 4000; j++) A->col[k++] = j;
    A->row_ptr[i + 1] = k;
  }
  if (A) try_schedules(A, "r=3:c=3", &f);
  if (A) try_schedules(A, "r=16:c=16", &f);
  wr_csr_free(A);
  count(&f);
}

/* ---- the same bits ---- */

static void test_deterministic(void) {
  wr_csr *A = generate("gen:fem:n=12");
  wr_env env = {.place = WR_HOST, .type = WR_F64, .deterministic = 1};
  findings f = {0};
  char knobs[64];
  CHECK_OK(wr_env_open(&env));
  for (int s = 0; s < SCHEDULES; s++)
    for (int chunks = 0; chunks < 9; chunks += 8) {
      wr_plan *plan = NULL;
      int same = strcmp(schedules[s], "sequential") == 0 || (strcmp(schedules[s], "preprocessed") == 0 && chunks == 0);
      CASE(schedules[s]);
      snprintf(knobs, sizeof knobs, "schedule=%s:chunks=%d", schedules[s], chunks);
      wr_status status = wr_plan_create(backend(), knobs, A, &env, &plan);
      CHECKF(status == (same ? WR_OK : WR_EUNAVAILABLE), "%s: %s", knobs, wr_status_message());
      if (status != WR_OK) CHECK_MESSAGE(schedules[s]);
      wr_plan_destroy(plan);
      trial like = {.backend = backend(), .knobs = knobs, .name = "deterministic", .A = A, .findings = &f,
                    .env = {.place = WR_HOST, .type = WR_F64}};
      if (same) conform_deterministic(&like);
    }
  wr_env_close(&env);
  wr_csr_free(A);
  count(&f);
}

/* ---- what the plan says ---- */

static void check_line(const char *name, const char *knobs, const char *says, int names_other) {
  wr_csr *A = generate(name);
  wr_env env = {.place = WR_HOST, .type = WR_F64};
  wr_plan *plan = NULL;
  CASE(name);
  CHECK_OK(wr_env_open(&env));
  CHECK_OK(wr_plan_create(backend(), knobs, A, &env, &plan));
  if (plan) {
    wr_plan_info before = *wr_plan_get_info(plan);
    CHECKF(strstr(before.line, says) && strstr(before.line, "fill"), "'%s' lacks '%s'", before.line, says);
    CHECKF(!strstr(before.advice, "cpu_csr") == !names_other && !before.better == !names_other, "'%s'", before.advice);
    CHECK_OK(wr_plan_prepare(plan));
    const wr_plan_info *after = wr_plan_get_info(plan);
    CHECKF(after->format_bytes > before.format_bytes / 2 && after->format_bytes < before.format_bytes * 2,
           "%lld bytes, %lld expected", (long long)after->format_bytes, (long long)before.format_bytes);
    CHECK(after->extra_bytes > after->format_bytes && after->borrowed_bytes == 0);
  }
  wr_plan_destroy(plan);
  wr_env_close(&env);
  wr_csr_free(A);
}

static void test_line(void) {
  check_line("gen:fem:n=6", NULL, "3 x 3", 0);
  check_line("gen:band:n=500", NULL, "5 x 5", 0);
  check_line("gen:fem:n=6", "r=16:c=16", "16 x 16", 1);
  check_line("gen:uniform:n=3000,degree=5", "r=4:c=4", "4 x 4", 1);
}

/* ---- tasks ---- */

/* Every block row ends in one task, every block lies in one, and none has more steps than its share. */
static void check_tasks(const wr_csr *A, int side, int64_t chunks, int threads) {
  cpu_bsr_state s = {.schedule = CPU_BSR_PREPROCESSED, .threads = threads};
  const wr_bsr *b = &s.matrix;
  int64_t bytes = 0, wrong = 0;
  CHECK_OK(wr_bsr_build(A, side, side, WR_F64, threads % 2, &s.matrix));
  CHECK_OK(wr_cpu_bsr_schedule(&s, chunks, &bytes));
  int64_t steps = b->blocks + b->brows, share = (steps + s.ntasks - 1) / s.ntasks;
  CHECK(bytes > 0 && s.ntasks >= 1);
  CHECK(chunks == 0 || s.ntasks == (chunks * threads < steps ? chunks * threads : steps));
  CHECK(s.first_row[0] == 0 && s.first_block[0] == 0);
  CHECK(s.first_row[s.ntasks] == b->brows && s.first_block[s.ntasks] == b->blocks);
  for (int64_t t = 0; t < s.ntasks; t++) {
    int64_t rows = s.first_row[t + 1] - s.first_row[t], blocks = s.first_block[t + 1] - s.first_block[t];
    wrong += rows < 0 || blocks < 0 || rows + blocks > share;
    if (t == 0) continue;
    wrong += s.first_block[t] < wr_cpu_bsr_before(b, s.first_row[t]);
    wrong += s.first_row[t] < b->brows && s.first_block[t] > wr_cpu_bsr_before(b, s.first_row[t] + 1);
  }
  CHECKF(wrong == 0, "%lld of %lld tasks", (long long)wrong, (long long)s.ntasks);
  wr_cpu_bsr_unschedule(&s);
  wr_bsr_free(&s.matrix);
}

static void test_tasks(void) {
  wr_csr *ragged = make_ragged(97, 83), *hubs = generate("gen:hubs:n=3000,hubs=2"), *fem = generate("gen:fem:n=12");
  CASE("tasks");
  for (int threads = 1; threads < 4; threads++)
    for (int64_t chunks = 0; chunks < 2000; chunks = 3 * chunks + 1) {
      check_tasks(ragged, 2, chunks, threads);
      check_tasks(hubs, 1, chunks, threads);
      check_tasks(fem, 3, chunks, threads);
    }
  CHECK(wr_cpu_bsr_tasks(0, 1, 12, 0, 4) == 1);
  CHECK(wr_cpu_bsr_tasks(0, 1, 12, 4096, 4) == 1);
  CHECK(wr_cpu_bsr_tasks((int64_t)1 << 46, (int64_t)1 << 30, 12, 0, 4) == INT32_MAX - 1);
  CHECK(wr_cpu_bsr_tasks(1 << 20, 1 << 14, 204, 0, 1) == wr_cpu_bsr_tasks(1 << 20, 1 << 14, 204, 0, 64));
  wr_csr_free(ragged);
  wr_csr_free(hubs);
  wr_csr_free(fem);
}

int main(void) {
  test_sizes();
  test_schedules();
  test_one_row();
  test_deterministic();
  test_line();
  test_tasks();
  return wr_test_report("cpu_bsr");
}
