/* The multiply with BCCOO: each block size, slices, kinds of columns and length of tile, rows over many thread blocks, rows
 * that end exactly where a lane or thread block does, and tuned plans. Values and x are small integers, so every order of the
 * sums gives the same bits. */
#include <stdio.h>
#include <string.h>

#include "spmv/device/cuda_state.h"
#include "tests/kernels/integer_applies.h"

static int scattered(int64_t i, int64_t j) { return hash_of(i, j) % 20 == 0; }
static int mostly_empty(int64_t i, int64_t j) { return (i < 3 || i == 210) && j > 8; }
static int full(int64_t, int64_t) { return 1; }
static int nothing(int64_t, int64_t) { return 0; }
static int fours(int64_t i, int64_t j) { return j >= i % 40 && j < i % 40 + 16 && (j - i % 40) % 4 == 0; }
static int left(int64_t i, int64_t j) { return j == 300 - i || j == 299 - i; } /* differences of -1 */
static int two_long(int64_t i, int64_t) { return i == 1 || i == 3; }

static const shape shapes[] = {{"scattered entries", 131, 143, scattered}, {"empty rows", 211, 33, mostly_empty},
                               {"dense", 37, 50, full},                    {"one place", 1, 1, full},
                               {"no entries", 40, 7, nothing},             {"four blocks a row", 160, 60, fours},
                               {"rows that move left", 290, 301, left},    {"long rows", 5, 4099, two_long}};

/* Each is given with several block sizes, and without one. */
static const char *const choices[] = {"tile=4:threads=64", "tile=8:threads=64:slices=2:columns=differences",
                                      "tile=16:threads=64:columns=paper", "threads=64:tile=40:columns=wide:slices=32",
                                      "tile=1:threads=64:check=off:columns=differences",
                                      "tile=21:threads=64:sums=all:columns=differences",
                                      "tile=64:threads=64:sums=all:slices=2"};
constexpr int CHOICES = 7;

static void test_shapes(wr_env *env) {
  int n = 0;
  for (const shape &s : shapes) {
    CASE(s.name);
    wr_csr *A[2] = {make_matrix(s, false), make_matrix(s, true)};
    for (int width = 1; width <= 4; width++)
      for (int height = 1; height <= 4; height++, n++) {
        char knobs[96];
        snprintf(knobs, sizeof knobs, "width=%d:height=%d:%s", width, height, choices[n % CHOICES]);
        check_choice(env, "yaspmv", knobs, A[n / CHOICES % 2], true);
      }
    for (const char *knobs : choices)
      for (wr_csr *B : A) check_choice(env, "yaspmv", knobs, B, true);
    for (wr_csr *B : A) wr_csr_free(B);
  }
}

/* Rows of `length` entries, each shifted by one. */
static wr_csr *rows_alike(int64_t nrows, int length) {
  wr_csr *A = nullptr;
  CHECK_OK(wr_csr_create(nrows, nrows + length, nrows * length, 1, &A));
  for (int64_t k = 0; A && k < nrows * length; k++) {
    A->col[k] = (int32_t)(k / length + k % length), A->val[k] = hash_of(k, 1) % 17 - 8;
    A->row_ptr[k / length + 1] = k + 1;
  }
  return A;
}

/* By default a lane of a large matrix whose rows are alike has whole rows, which takes batches of 6 to 9 entries. */
static void test_whole_rows(wr_env *env) {
  static const struct { int length, tile; } usual[] = {{5, 30}, {7, 28}, {9, 27}, {12, 24}, {11, 24}};
  const wr_backend *backend = nullptr;
  CASE("lanes of whole rows");
  CHECK_OK(wr_backend_find("yaspmv", &backend));
  for (const auto &u : usual) {
    wr_plan *plan = nullptr;
    wr_csr *A = rows_alike((int64_t)wr_cuda_processors(env) * 8 * 32 * 24 / u.length + 1, u.length);
    CHECK_OK(wr_plan_create(backend, "width=1:height=1", A, env, &plan));
    char expected[16];
    snprintf(expected, sizeof expected, ":tile=%d:", u.tile);
    const char *line = plan ? wr_plan_get_info(plan)->line : "";
    CHECKF(strstr(line, expected), "rows of %d: %s", u.length, line);
    wr_plan_destroy(plan);
    check_choice(env, "yaspmv", "width=1:height=1", A, true);
    wr_csr_free(A);
  }
}

/* Rows over hundreds of thread blocks, each of which waits for the one before, while a second stream keeps the device busy with
 * the same: every multiply gives the same bits and all words that pass sums are free again. */
static void test_under_load(wr_env *env) {
  constexpr int MULTIPLIES = 60, BUFFERS = 2;
  const wr_backend *backend = nullptr;
  wr_env other = {};
  CASE("two streams");
  CHECK_OK(wr_backend_find("yaspmv", &backend));
  other.place = WR_CUDA, other.type = env->type;
  CHECK_OK(wr_env_open(&other));
  wr_csr *A = make_matrix({"long rows", 5, 65536, two_long}, false);
  wr_env *const envs[] = {env, &other};
  wr_plan *plans[2] = {};
  {
    vectors first(env, A), second(&other, A);
    vectors *const v[] = {&first, &second};
    for (int e = 0; e < 2; e++) {
      CHECK_OK(wr_plan_create(backend, "width=1:height=1:tile=6:threads=64", A, envs[e], &plans[e]));
      CHECK_OK(wr_plan_prepare(plans[e]));
      set_x(A, *v[e], false);
    }
    for (int n = 0; n < MULTIPLIES; n++)
      for (int e = 0; e < 2; e++) {
        wr_apply request = {};
        request.alpha = 1, request.x = &v[e]->x, request.y = &v[e]->y[n % BUFFERS];
        CHECK_OK(wr_plan_apply(plans[e], &request));
        if (n >= MULTIPLIES - BUFFERS) check_result(plans[e], *v[e], request.y, 1, 0);
      }
    for (wr_plan *plan : plans) wr_plan_destroy(plan);
  }
  wr_csr_free(A);
  wr_env_close(&other);
}

/* Another backend is named where blocks take more bytes than rows, with both reasons. */
static void test_advice(wr_env *env) {
  const wr_backend *backend = nullptr;
  CASE("advice");
  CHECK_OK(wr_backend_find("yaspmv", &backend));
  for (const char *knobs : {"", "width=4:height=4"}) {
    wr_plan *plan = nullptr;
    wr_csr *A = make_matrix(shapes[0], false);
    CHECK_OK(wr_plan_create(backend, knobs, A, env, &plan));
    const wr_plan_info *info = wr_plan_get_info(plan);
    bool is_padded = knobs[0] != '\0';
    CHECKF((plan && info->better) == is_padded, "'%s': %s", knobs, plan ? info->advice : "");
    if (plan && is_padded)
      CHECKF(strstr(info->advice, "merbit reads less: blocks of 4 x 4: fill 1"), "%s", info->advice);
    wr_plan_destroy(plan);
    wr_csr_free(A);
  }
}

/* Products of tuned plans; what the tuner says is tested in test_yaspmv_tune.cu. */
static void test_tuned(wr_env *env) {
  CASE("tuned");
  wr_csr *A = make_matrix(shapes[0], false);
  for (const char *knobs : {"tune=quick", "tune=full:threads=64:width=2:height=2", "tune=full:tile=8:slices=1"})
    check_choice(env, "yaspmv", knobs, A, true);
  wr_csr_free(A);
}

static void test_device(wr_env *env) {
  test_shapes(env);
  test_whole_rows(env);
  test_under_load(env);
  test_tuned(env);
  test_advice(env);
}

int main(void) {
  on_device(test_device);
  return wr_test_report("yaspmv_kernels");
}
