/* wr_plan: creating, preparing, new values, decoding, times, no memory. Applies: test_plan_apply.c. */
#define _GNU_SOURCE /* posix_memalign, memalign */
#include <errno.h>
#include <malloc.h>

#include "tests/spmv/recorder.h"

static int allocations_left = -1; /* before one fails; -1: none does */

int posix_memalign(void **block, size_t alignment, size_t bytes) {
  if (allocations_left == 0) return ENOMEM;
  if (allocations_left > 0) allocations_left--;
  *block = memalign(alignment, bytes);
  return *block != NULL ? 0 : ENOMEM;
}

/* ---- create ---- */

static void test_knobs(void) {
  static const struct {
    const char *text, *effective;
    int64_t level;
    int mode;
  } ways[] = {{NULL, "level=2:mode=slow", 2, 0},
              {"", "level=2:mode=slow", 2, 0},
              {"level=9", "level=9:mode=slow", 9, 0},
              {"mode=fast:level=0", "level=0:mode=fast", 0, 1}};
  for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
    CASE(ways[w].effective);
    fixture f = open_fixture(EVERYTHING, WR_F64, 0);
    CHECK_OK(wr_plan_create(&f.backend, ways[w].text, f.A, &f.env, &f.plan));
    CHECK(strcmp(wr_plan_knobs(f.plan), ways[w].effective) == 0 && wr_plan_backend(f.plan) == &f.backend);
    CHECK(seen.prepares == 0 && wr_plan_get_info(f.plan)->extra_bytes == 1000);
    CHECK_OK(wr_plan_prepare(f.plan));
    CHECK(seen.level == ways[w].level && seen.mode == ways[w].mode && seen.dirty_prepares == 0);
    close_fixture(&f);
  }
}

/* After a refused creation: a sentence, no plan, and the backend was called with a zeroed state at most. */
static void check_refused(fixture *f, const char *knobs, wr_status expected, const char *says) {
  wr_plan *plan = (wr_plan *)&f->env; /* overwritten, whatever happens */
  CHECK_FAILS(expected, wr_plan_create(&f->backend, knobs, f->A, &f->env, &plan));
  CHECK(plan == NULL && seen.destroys == 0 && seen.prepares == 0);
  CHECK_MESSAGE(says);
}

static void test_create_refusals(void) {
  fixture f = open_fixture(EVERYTHING, WR_F64, 0);
  CASE("knobs");
  check_refused(&f, "levle=3", WR_EUSAGE, "'level'");
  check_refused(&f, "level=10", WR_EUSAGE, "[0, 9]");
  check_refused(&f, "mode=medium", WR_EUSAGE, "slow|fast");
  CASE("place");
  f.backend.place = WR_CUDA;
  check_refused(&f, NULL, WR_EUNAVAILABLE, "runs on the GPU");
  f.backend.place = WR_HOST;
  CASE("check and plan");
  seen.check = WR_EUNAVAILABLE;
  check_refused(&f, NULL, WR_EUNAVAILABLE, "check was told to fail");
  seen.check = WR_OK, seen.plan = WR_ENOMEM;
  check_refused(&f, NULL, WR_ENOMEM, "plan was told to fail");
  seen.plan = WR_OK;
  CASE("deterministic");
  f.env.deterministic = 1, seen.deterministic = 0;
  check_refused(&f, "level=3", WR_EUNAVAILABLE, "recorder with level=3:mode=slow cannot give the same bits");
  seen.deterministic = 1;
  CHECK_OK(wr_plan_create(&f.backend, NULL, f.A, &f.env, &f.plan));
  close_fixture(&f);
}

static void test_capabilities(void) {
  static const struct {
    unsigned without;
    const char *says;
  } ways[] = {{WR_CAP_F64, "does not compute in f64"}, {WR_CAP_PATTERN, "with values"},
              {WR_CAP_RECTANGULAR, "square matrix, not 3 x 4"}, {WR_CAP_F32, "does not compute in f32"}};
  for (int w = 0; w < 4; w++) {
    CASE(ways[w].says);
    fixture f = open_fixture(EVERYTHING & ~ways[w].without, w == 3 ? WR_F32 : WR_F64, 0);
    double *val = f.A->val;
    if (w == 1) f.A->val = NULL;
    if (w == 2) f.A->nrows = 3, f.A->nnz = 4;
    check_refused(&f, NULL, WR_EUNAVAILABLE, ways[w].says);
    CHECK_MESSAGE("recorder");
    CHECK(seen.checks == 0);
    f.A->val = val;
    close_fixture(&f);
  }
}

/* ---- prepare ---- */

static void test_prepare_fails(void) {
  CASE("a prepare that fails");
  fixture f = open_fixture(EVERYTHING, WR_F64, 0);
  wr_apply request = {.alpha = 1, .x = &f.x, .y = &f.y[0]};
  CHECK_OK(wr_plan_create(&f.backend, NULL, f.A, &f.env, &f.plan));
  seen.prepare = WR_ENOMEM;
  CHECK_FAILS(WR_ENOMEM, wr_plan_prepare(f.plan));
  CHECK_MESSAGE("prepare was told to fail");
  CHECK(seen.destroys == 1);
  CHECK_FAILS(WR_EUSAGE, wr_plan_apply(f.plan, &request));
  CHECK_MESSAGE("recorder is not prepared");
  seen.prepare = WR_OK;
  CHECK_OK(wr_plan_prepare(f.plan)); /* the state is zeroed again */
  CHECK(seen.prepares == 2 && seen.dirty_prepares == 0);
  CHECK(wr_plan_get_info(f.plan)->extra_bytes == 1010);
  CHECK_FAILS(WR_EUSAGE, wr_plan_prepare(f.plan));
  CHECK_MESSAGE("prepared already");
  CHECK(seen.prepares == 2 && seen.destroys == 1);
  CHECK_OK(wr_plan_apply(f.plan, &request));
  close_fixture(&f);
  CHECK(seen.destroys == 2); /* once for each prepare */
}

static void test_prepare_range(void) {
  CASE("a value beyond f32");
  fixture f = open_fixture(EVERYTHING, WR_F32, 0);
  f.A->val[3] = 1e39;
  CHECK_OK(wr_plan_create(&f.backend, NULL, f.A, &f.env, &f.plan));
  CHECK_FAILS(WR_ENUMERIC, wr_plan_prepare(f.plan));
  CHECK_MESSAGE("row 3, column 4");
  CHECK(seen.prepares == 0 && seen.destroys == 0);
  close_fixture(&f);
}

/* The core allocates a vector for alpha*A*x, and counts its bytes, if an apply may need it. */
static void test_product(void) {
  for (int way = 0; way < 8; way++) {
    int has_beta = way & 1, need_beta = way >> 1 & 1, f32 = way >> 2;
    CASE("room for the product");
    fixture f = open_fixture(has_beta ? EVERYTHING : EVERYTHING & ~WR_CAP_BETA, f32 ? WR_F32 : WR_F64, need_beta);
    make_plan(&f);
    int64_t expected = 1010 + (need_beta && !has_beta ? N * (f32 ? 4 : 8) : 0);
    CHECKF(wr_plan_get_info(f.plan)->extra_bytes == expected, "way %d: %lld bytes", way,
           (long long)wr_plan_get_info(f.plan)->extra_bytes);
    close_fixture(&f);
  }
}

/* ---- new values, decode ---- */

static void test_update_own(void) {
  CASE("new values by the backend itself");
  fixture f = open_fixture(EVERYTHING, WR_F64, 0);
  wr_csr *B = small_matrix();
  B->val[0] = 7;
  CHECK_OK(wr_plan_create(&f.backend, NULL, f.A, &f.env, &f.plan));
  CHECK_FAILS(WR_EUSAGE, wr_plan_update_values(f.plan, B));
  CHECK_MESSAGE("not prepared");
  CHECK_OK(wr_plan_prepare(f.plan));
  CHECK_OK(wr_plan_update_values(f.plan, B));
  CHECK(seen.updates == 1 && seen.prepares == 1 && seen.destroys == 0);
  CHECK_OK(wr_plan_apply(f.plan, &(wr_apply){.alpha = 1, .x = &f.x, .y = &f.y[0]}));
  CHECK(holds(&f.y[0], 11, 0, -2, 44));
  close_fixture(&f);
  wr_csr_free(B);
}

static void test_update_anew(void) {
  CASE("new values by preparing anew");
  fixture f = open_fixture(EVERYTHING & ~WR_CAP_BETA, WR_F64, 1);
  wr_apply request = {.alpha = 1, .x = &f.x, .y = &f.y[0], .y_next = &f.y[1]};
  wr_csr *B = small_matrix();
  B->val[0] = 7;
  f.backend.update_values = NULL;
  make_plan(&f);
  int64_t bytes = wr_plan_get_info(f.plan)->extra_bytes;
  CHECK_OK(wr_plan_apply(f.plan, &request));
  for (int turn = 0; turn < 3; turn++) CHECK_OK(wr_plan_update_values(f.plan, B));
  CHECK(seen.prepares == 4 && seen.destroys == 3 && seen.dirty_prepares == 0);
  CHECKF(wr_plan_get_info(f.plan)->extra_bytes == bytes, "%lld bytes became %lld", (long long)bytes,
         (long long)wr_plan_get_info(f.plan)->extra_bytes);
  request = (wr_apply){.alpha = 1, .beta = 1, .x = &f.x, .y = &f.y[1]}; /* y_next of the old format does not count any more */
  CHECK_OK(wr_plan_apply(f.plan, &request));
  CHECK(holds(&f.y[1], 111, 200, 298, 444) && seen.y_prepared == 0);
  seen.prepare = WR_ENUMERIC;
  CHECK_FAILS(WR_ENUMERIC, wr_plan_update_values(f.plan, B));
  CHECK_FAILS(WR_EUSAGE, wr_plan_apply(f.plan, &request));
  close_fixture(&f);
  CHECK(seen.destroys == 5);
  wr_csr_free(B);
}

/* By what update_values returns: no array has moved, arrays have moved, it cannot take these values, or it fails. */
static void test_update_answers(void) {
  CASE("generations of a plan");
  fixture f = open_fixture(EVERYTHING, WR_F64, 0);
  CHECK_OK(wr_plan_create(&f.backend, NULL, f.A, &f.env, &f.plan));
  CHECK(wr_plan_generation(f.plan) == 0);
  CHECK_OK(wr_plan_prepare(f.plan));
  uint64_t first = wr_plan_generation(f.plan), second;
  CHECK_OK(wr_plan_update_values(f.plan, f.A));
  CHECK(first != 0 && wr_plan_generation(f.plan) == first);
  seen.moved = 1;
  CHECK_OK(wr_plan_update_values(f.plan, f.A));
  second = wr_plan_generation(f.plan);
  CHECK(second != 0 && second != first && seen.prepares == 1);
  CASE("new values that a backend cannot take");
  seen.moved = 0, seen.update = WR_EUNAVAILABLE;
  CHECK_OK(wr_plan_update_values(f.plan, f.A));
  CHECK(seen.updates == 3 && seen.prepares == 2 && seen.destroys == 1 && seen.dirty_prepares == 0);
  CHECK(wr_plan_generation(f.plan) != 0 && wr_plan_generation(f.plan) != second);
  CASE("new values that a backend fails with");
  wr_csr *B = small_matrix();
  seen.update = WR_EDEVICE;
  CHECK_FAILS(WR_EDEVICE, wr_plan_update_values(f.plan, B));
  CHECK(seen.destroys == 2 && wr_plan_generation(f.plan) == 0);
  CHECK_FAILS(WR_EUSAGE, wr_plan_apply(f.plan, &(wr_apply){.alpha = 1, .x = &f.x, .y = &f.y[0]}));
  wr_csr_free(B);
  CHECK_OK(wr_plan_prepare(f.plan)); /* of the matrix that it had */
  CHECK_OK(wr_plan_apply(f.plan, &(wr_apply){.alpha = 1, .x = &f.x, .y = &f.y[0]}));
  CHECK(holds(&f.y[0], 6, 0, -2, 44));
  close_fixture(&f);
}

static void test_update_beyond_f32(void) {
  CASE("new values beyond f32");
  fixture f = open_fixture(EVERYTHING, WR_F32, 0);
  make_plan(&f);
  f.A->val[3] = 1e39;
  CHECK_FAILS(WR_ENUMERIC, wr_plan_update_values(f.plan, f.A));
  CHECK_MESSAGE("row 3, column 4");
  CHECK(seen.updates == 0 && seen.destroys == 1);
  close_fixture(&f);
}

/* The plan compares with the pattern that it was created for, also if the matrix has been changed in place. */
static void test_update_in_place_refusals(void) {
  CASE("another pattern in place");
  fixture f = open_fixture(EVERYTHING, WR_F64, 0);
  wr_csr *B = small_matrix();
  make_plan(&f);
  f.A->nnz--;
  CHECK_FAILS(WR_EUSAGE, wr_plan_update_values(f.plan, f.A));
  CHECK_MESSAGE("5 entries, not 4 x 4 with 6");
  f.A->nnz++;
  double *values = f.A->val;
  f.A->val = NULL;
  CHECK_FAILS(WR_EUSAGE, wr_plan_update_values(f.plan, f.A));
  CHECK_MESSAGE("it has none, the plan's has values");
  f.A->val = values;
  B->col[0] = 1;
  CHECK_FAILS(WR_EUSAGE, wr_plan_update_values(f.plan, B));
  CHECK_MESSAGE("at other places");
  B->col[0] = 0, B->row_ptr[1] = B->row_ptr[2] = 1;
  CHECK_FAILS(WR_EUSAGE, wr_plan_update_values(f.plan, B));
  CHECK(seen.updates == 0 && seen.prepares == 1 && seen.destroys == 0);
  close_fixture(&f);
  wr_csr_free(B);
}

static void test_update_refusals(void) {
  fixture f = open_fixture(EVERYTHING, WR_F64, 0);
  make_plan(&f);
  for (int way = 0; way < 4; way++) {
    CASE("new values for another pattern");
    wr_csr B = *f.A;
    if (way == 0) B.nrows--;
    if (way == 1) B.ncols++;
    if (way == 2) B.nnz--;
    if (way == 3) B.val = NULL;
    CHECK_FAILS(WR_EUSAGE, wr_plan_update_values(f.plan, &B));
    CHECK_MESSAGE("another pattern");
  }
  CHECK(seen.updates == 0 && seen.prepares == 1 && seen.destroys == 0);
  close_fixture(&f);
}

static void test_decode(void) {
  CASE("decode");
  fixture f = open_fixture(EVERYTHING, WR_F64, 0);
  wr_csr *B = f.A;
  CHECK_OK(wr_plan_create(&f.backend, NULL, f.A, &f.env, &f.plan));
  CHECK_FAILS(WR_EUSAGE, wr_plan_decode(f.plan, &B));
  CHECK(B == NULL);
  CHECK_OK(wr_plan_prepare(f.plan));
  CHECK_OK(wr_plan_decode(f.plan, &B));
  CHECK(seen.decodes == 1 && B != NULL && B->nnz == 6);
  wr_csr_free(B);
  f.backend.decode = NULL;
  B = f.A;
  CHECK_FAILS(WR_EUNAVAILABLE, wr_plan_decode(f.plan, &B));
  CHECK(B == NULL);
  close_fixture(&f);
}

/* ---- times: how many, never how long ---- */

static void check_times(const fixture *f, int64_t applies) {
  wr_plan_times times = wr_plan_get_times(f->plan);
  int64_t kept = applies < WR_MAX_TIMES ? applies : WR_MAX_TIMES, negative = 0;
  double sum = 0;
  CHECKF(times.applies == applies && times.count == kept, "%lld applies, %lld times; not %lld",
         (long long)times.applies, (long long)times.count, (long long)applies);
  for (int64_t k = 0; k < times.count; k++) {
    negative += !(times.seconds[k] >= 0);
    sum += times.seconds[k];
  }
  CHECKF(negative == 0, "%lld times are negative", (long long)negative);
  CHECK(applies > WR_MAX_TIMES ? times.total >= sum : times.total == sum);
}

static void apply_many(const fixture *f, wr_apply *request, int64_t count) {
  int64_t failed = 0;
  for (int64_t k = 0; k < count; k++) failed += wr_plan_apply(f->plan, request) != WR_OK;
  CHECKF(failed == 0, "%lld applies of %lld failed", (long long)failed, (long long)count);
}

static void test_times(void) {
  CASE("times");
  fixture f = open_fixture(EVERYTHING, WR_F64, 0);
  wr_apply request = {.alpha = 1, .x = &f.x, .y = &f.y[0]}, refused = {.alpha = 1, .x = &f.x};
  make_plan(&f);
  apply_many(&f, &request, 3);
  check_times(&f, 0);
  CHECK_OK(wr_plan_time_start(f.plan));
  apply_many(&f, &request, 5);
  CHECK_OK(wr_plan_time_collect(f.plan));
  check_times(&f, 5);
  CHECK_OK(wr_plan_time_collect(f.plan)); /* nothing new */
  check_times(&f, 5);
  CHECK_FAILS(WR_EUSAGE, wr_plan_apply(f.plan, &refused));
  seen.apply = WR_EDEVICE;
  CHECK_FAILS(WR_EDEVICE, wr_plan_apply(f.plan, &request));
  seen.apply = WR_OK;
  apply_many(&f, &request, 300); /* more than may be in flight */
  CHECK_OK(wr_plan_time_collect(f.plan));
  check_times(&f, 305);
  apply_many(&f, &request, 7); /* in flight, then gone */
  CHECK_OK(wr_plan_time_start(f.plan));
  check_times(&f, 0);
  apply_many(&f, &request, WR_MAX_TIMES + 100);
  CHECK_OK(wr_plan_time_collect(f.plan));
  check_times(&f, WR_MAX_TIMES + 100);
  close_fixture(&f);
}

/* ---- swap ---- */

/* Knobs, format and generation are those of the other plan; times stay; nothing is prepared or promised. */
static void test_swap(void) {
  CASE("two plans swapped");
  fixture f = open_fixture(EVERYTHING, WR_F64, 0);
  wr_plan *other = NULL;
  wr_apply first_one = {.alpha = 1, .x = &f.x, .y = &f.y[0], .y_next = &f.y[1]};
  wr_apply adding = {.alpha = 1, .beta = 1, .x = &f.x, .y = &f.y[1]}; /* refused while the last y_next has an effect */
  make_plan(&f);
  CHECK_OK(wr_plan_create(&f.backend, "level=5", f.A, &f.env, &other));
  CHECK_FAILS(WR_EUSAGE, wr_plan_swap(f.plan, other));
  CHECK_MESSAGE("not prepared");
  CHECK_OK(wr_plan_prepare(other));
  uint64_t generations[] = {wr_plan_generation(f.plan), wr_plan_generation(other)};
  CHECK_OK(wr_plan_time_start(f.plan));
  for (int turn = 1; turn <= 3; turn++) { /* there, back, and there */
    int mine = turn % 2;
    apply_many(&f, &first_one, 1);
    CHECK_OK(wr_plan_swap(f.plan, other));
    CHECK(wr_plan_generation(f.plan) == generations[mine] && wr_plan_generation(other) == generations[1 - mine]);
    CHECK(strcmp(wr_plan_knobs(f.plan), mine ? "level=5:mode=slow" : "level=2:mode=slow") == 0);
    CHECK(strcmp(wr_plan_knobs(other), mine ? "level=2:mode=slow" : "level=5:mode=slow") == 0);
    CHECK_OK(f.env.ops->fill(&f.env, &f.y[1], 1));
    CHECK_OK(wr_plan_apply(f.plan, &adding));
    CHECK(seen.y_prepared == 0 && holds(&f.y[1], 7, 1, -1, 45));
    CHECK_OK(wr_plan_time_collect(f.plan));
    check_times(&f, 2 * turn);
    CHECK(wr_plan_get_times(other).applies == 0);
  }
  wr_plan_destroy(other);
  CHECK_OK(wr_plan_apply(f.plan, &adding)); /* after the format that it had is gone */
  close_fixture(&f);
}

static void test_swap_refusals(void) {
  CASE("a swap that is refused");
  fixture f = open_fixture(EVERYTHING, WR_F64, 0);
  wr_csr *B = small_matrix();
  wr_plan *others[2] = {NULL, NULL}; /* of another matrix; one that rounds more */
  make_plan(&f);
  seen.term_unit = 1e-9;
  for (int k = 0; k < 2; k++) {
    CHECK_OK(wr_plan_create(&f.backend, "level=5", k == 0 ? B : f.A, &f.env, &others[k]));
    CHECK_OK(wr_plan_prepare(others[k]));
    CHECK_FAILS(k == 0 ? WR_EUSAGE : WR_EUNAVAILABLE, wr_plan_swap(f.plan, others[k]));
    CHECK_MESSAGE(k == 0 ? "different matrices" : "rounds more");
    CHECK(strcmp(wr_plan_knobs(f.plan), "level=2:mode=slow") == 0);
  }
  CHECK_OK(wr_plan_swap(others[1], f.plan));
  CHECK(strcmp(wr_plan_knobs(f.plan), "level=5:mode=slow") == 0);
  for (int k = 0; k < 2; k++) wr_plan_destroy(others[k]);
  close_fixture(&f);
  wr_csr_free(B);
}

/* ---- no memory ---- */

/* Every allocation of a plan's life fails once. */
static void test_no_memory(void) {
  int failures = 0;
  for (int done = 0; !done; failures++) {
    CASE("no memory");
    fixture f = open_fixture(EVERYTHING & ~WR_CAP_BETA, WR_F64, 1);
    wr_apply request = {.alpha = 1, .x = &f.x, .y = &f.y[0]};
    allocations_left = failures;
    wr_status created = wr_plan_create(&f.backend, NULL, f.A, &f.env, &f.plan);
    wr_status prepared = created == WR_OK ? wr_plan_prepare(f.plan) : WR_OK;
    wr_status timed = created == WR_OK && prepared == WR_OK ? wr_plan_time_start(f.plan) : WR_OK;
    allocations_left = -1;
    done = created == WR_OK && prepared == WR_OK && timed == WR_OK;
    if (!done) CHECK_MESSAGE("out of memory");
    CHECK((created == WR_OK) == (f.plan != NULL));
    if (f.plan && prepared != WR_OK) CHECK_OK(wr_plan_prepare(f.plan));
    if (f.plan) {
      apply_many(&f, &request, 200);
      CHECK_OK(wr_plan_time_collect(f.plan));
      check_times(&f, done ? 200 : 0);
    }
    close_fixture(&f);
    CHECK(seen.prepares == seen.destroys);
  }
  CHECKF(failures - 1 >= 5, "%d allocations", failures - 1); /* plan, knobs, state, product, times */
}

int main(void) {
  wr_plan_destroy(NULL);
  test_knobs();
  test_create_refusals();
  test_capabilities();
  test_prepare_fails();
  test_prepare_range();
  test_product();
  test_update_own();
  test_update_anew();
  test_update_answers();
  test_update_beyond_f32();
  test_update_in_place_refusals();
  test_update_refusals();
  test_decode();
  test_times();
  test_swap();
  test_swap_refusals();
  test_no_memory();
  return wr_test_report("plan");
}
