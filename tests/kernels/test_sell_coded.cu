/* Coded SELL: the kind that is chosen, at the limit of the table too; the format read back, bit for bit; products with small
 * integers, so that every order of the sums gives the same bits; new values that have the same pairs, others, or too many. */
#include "spmv/backends/sell_coded/sell_coded_build.h"
#include "tests/kernels/grid_matrix.h"

/* Builds and decodes A; checks the kind and the table's size unless count is -1. */
static void check_build(wr_env *env, wr_csr *A, wr_coded_table table, wr_coded_kind kind, int count) {
  wr_csr_view view;
  wr_sell_coded there, here;
  wr_csr *back = nullptr;
  CHECK_OK(wr_csr_device_view(A, env, &view));
  CHECK_OK(wr_sell_coded_device_build(env, A->nrows, A->ncols, A->nnz, &view, table, &there));
  CHECKF(there.kind == kind, "kind %d, not %d", there.kind, kind);
  CHECKF(count < 0 || there.count == count, "%d places in the table, not %d", there.count, count);
  CHECK_OK(wr_sell_coded_download(env, &there, &here));
  CHECK_OK(wr_sell_coded_decode(&here, &back));
  if (back) {
    CHECK(back->nnz == A->nnz && memcmp(back->row_ptr, A->row_ptr, (size_t)(A->nrows + 1) * sizeof *A->row_ptr) == 0);
    CHECK(memcmp(back->col, A->col, (size_t)A->nnz * sizeof *A->col) == 0);
    CHECK((back->val != nullptr) == (A->val != nullptr) && (!A->val || same_bits(back->val, A->val, A->nnz)));
  }
  for (int n = 1; n < here.count; n++) CHECK(here.difference[n - 1] <= here.difference[n]);
  wr_csr_free(back);
  wr_sell_coded_free(&here);
  wr_sell_coded_device_free(env, &there);
}

static void check_products(wr_env *env, wr_csr *A) {
  check_choice(env, "sell_coded", "pairs=auto", A, true);
  check_choice(env, "sell_coded", "pairs=off", A, true);
  check_choice(env, "sell", "", A, true);
}

static void test_grids(wr_env *env) {
  for (const std::vector<int64_t> &distances : {three, seven, nine}) {
    CASE("a grid");
    int size = (int)distances.size();
    wr_csr *A = grid_matrix(321, 321, distances, false, constant),
           *B = grid_matrix(321, 300, distances, false, varying);
    wr_csr *P = grid_matrix(289, 321, distances, true, constant);
    check_build(env, A, WR_TABLE_OF_PAIRS, WR_CODED_PAIRS, size);
    check_build(env, A, WR_TABLE_OF_DISTANCES, WR_CODED_VALUES, size);
    check_build(env, B, WR_TABLE_OF_PAIRS, WR_CODED_VALUES, size);
    check_build(env, P, WR_TABLE_OF_PAIRS, WR_CODED_PATTERN, size);
    check_build(env, B, WR_TABLE_OF_NOTHING, WR_PLAIN_VALUES, 0);
    check_build(env, P, WR_TABLE_OF_NOTHING, WR_PLAIN_PATTERN, 0);
    for (wr_csr *M : {A, B, P}) check_products(env, M);
    for (wr_csr *M : {A, B, P}) wr_csr_free(M);
  }
}

/* Rows of 0 to 29 entries: several words, and slices without padding, with and without words. */
static void test_lengths(wr_env *env) {
  CASE("rows of many lengths");
  std::vector<int64_t> distances;
  for (int64_t d = 0; d < 29; d++) distances.push_back(d);
  wr_csr *A = grid_matrix(64, 40, distances, false, constant), *B = grid_matrix(40, 4, distances, false, varying);
  wr_csr *none = grid_matrix(70, 9, {100}, false, constant), *one = grid_matrix(1, 1, {0}, false, varying);
  for (wr_csr *M : {A, B, none, one}) check_products(env, M);
  check_build(env, none, WR_TABLE_OF_PAIRS, WR_CODED_PAIRS, 0);
  for (wr_csr *M : {A, B, none, one}) wr_csr_free(M);
}

/* The 255th pair fits, the 256th does not, wherever it is; likewise for distances, where the format then ends. */
static void test_limits(wr_env *env) {
  CASE("the table's limit");
  constexpr int64_t ROWS = 40000; /* more than the sample takes */
  for (int64_t odd : {(int64_t)-1, (int64_t)1, ROWS - 1}) {
    for (int most : {254, 255}) {
      wr_csr *A = grid_matrix(ROWS, ROWS, {0}, false,
                              [&](int64_t i, int64_t) { return i == odd ? 500.0 : (double)(i % most); });
      int count = most + (odd >= 0);
      check_build(env, A, WR_TABLE_OF_PAIRS, count <= 255 ? WR_CODED_PAIRS : WR_CODED_VALUES, count <= 255 ? count : 1);
      wr_csr_free(A);
    }
  }
  CASE("too many distances");
  for (int most : {255, 256}) {
    std::vector<int64_t> distances;
    for (int64_t d = 0; d < most; d++) distances.push_back(d);
    wr_csr *A = grid_matrix(300, 600, distances, true, constant);
    wr_csr_view view;
    wr_sell_coded c;
    CHECK_OK(wr_csr_device_view(A, env, &view));
    check_build(env, A, WR_TABLE_OF_NOTHING, WR_PLAIN_PATTERN, 0);
    if (most == 255)
      check_build(env, A, WR_TABLE_OF_PAIRS, WR_CODED_PATTERN, 255);
    else
      CHECK_FAILS(WR_EUNAVAILABLE,
                  wr_sell_coded_device_build(env, A->nrows, A->ncols, A->nnz, &view, WR_TABLE_OF_PAIRS, &c));
    wr_csr_free(A);
  }
}

static void test_padding(wr_env *env) {
  CASE("one long row in each slice");
  std::vector<int64_t> distances;
  wr_csr_view view;
  wr_sell_coded c;
  wr_csr *A = nullptr;
  constexpr int64_t ROWS = 64000, LONG = 200;
  CHECK_OK(wr_csr_create(ROWS, LONG, ROWS / 32 * LONG, 0, &A));
  for (int64_t i = 0, at = 0; A && i < ROWS; i++) {
    for (int64_t j = 0; i % 32 == 0 && j < LONG; j++) A->col[at++] = (int32_t)j;
    A->row_ptr[i + 1] = at;
  }
  CHECK_OK(wr_csr_device_view(A, env, &view));
  CHECK_FAILS(WR_EUNAVAILABLE,
              wr_sell_coded_device_build(env, A->nrows, A->ncols, A->nnz, &view, WR_TABLE_OF_PAIRS, &c));
  CHECK_MESSAGE("unlike length");
  CHECK_FAILS(WR_EUNAVAILABLE, wr_sell_coded_estimate(A, env->type, WR_TABLE_OF_PAIRS, &c));
  CHECK_FAILS(WR_EUNAVAILABLE,
              wr_sell_coded_device_build(env, A->nrows, A->ncols, A->nnz, &view, WR_TABLE_OF_NOTHING, &c));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_sell_coded_estimate(A, env->type, WR_TABLE_OF_NOTHING, &c));
  wr_csr_free(A);
}

/* Columns anywhere, in rows of 0 to 40 entries: as they are, in steps of eight entries and with rests of all lengths. */
static void test_plain(wr_env *env) {
  CASE("columns anywhere");
  for (bool with_values : {false, true}) {
    wr_csr *A = nullptr;
    constexpr int64_t ROWS = 333, COLUMNS = 100003;
    CHECK_OK(wr_csr_create(ROWS, COLUMNS, ROWS * 41, with_values, &A));
    int64_t at = 0;
    for (int64_t i = 0; A && i < ROWS; i++) {
      int64_t length = (i / 32 * 7 + i % 3) % 41;
      for (int64_t k = 0; k < length; k++, at++) {
        A->col[at] = (int32_t)((k * (COLUMNS / 41) + i * 37 % 2000) % COLUMNS);
        if (A->val) A->val[at] = (double)((i + 3 * k) % 5 - 2);
      }
      A->row_ptr[i + 1] = at;
    }
    A->nnz = at;
    check_build(env, A, WR_TABLE_OF_NOTHING, with_values ? WR_PLAIN_VALUES : WR_PLAIN_PATTERN, 0);
    check_choice(env, "sell", "", A, true);
    wr_csr_free(A);
  }
}

/* Values that compare as equal or not at all are told apart by their bits, and come back with them. */
static void test_bits(wr_env *env) {
  static const uint64_t special[] = {0, 0x8000000000000000u, 0x7ff0000000000000u, 0x7ff8000000000000u,
                                     0xfff8000020000000u};
  CASE("zeros, infinities and NaNs");
  wr_csr *A = grid_matrix(200, 200, three, false, [](int64_t i, int64_t k) {
    double value;
    memcpy(&value, &special[(i + k) % 5], sizeof value);
    return value;
  });
  if (env->type == WR_F64) check_build(env, A, WR_TABLE_OF_PAIRS, WR_CODED_PAIRS, 15);
  wr_csr_free(A);
}

/* New values: of the same pairs, of new pairs, too many for the table, and few again. */
static void test_new_values(wr_env *env) {
  const wr_backend *backend = nullptr;
  wr_plan *plan = nullptr;
  CASE("new values");
  CHECK_OK(wr_backend_find("sell_coded", &backend));
  wr_csr *A = grid_matrix(999, 999, seven, false, constant);
  CHECK_OK(wr_plan_create(backend, nullptr, A, env, &plan));
  CHECK_OK(wr_plan_prepare(plan));
  for (int turn = 0; turn < 5; turn++) {
    bool few = turn < 2 || turn == 4;
    for (int64_t k = 0; k < A->nnz; k++) A->val[k] = few ? (double)((k + turn) % 3) : varying(k * turn, 1);
    CHECK_OK(wr_plan_update_values(plan, A));
    check_sums(env, plan, A);
    const char *line = wr_plan_get_info(plan)->line;
    CHECKF(strstr(line, few ? "pairs of distance" : "values stored"), "turn %d: %s", turn, line);
  }
  wr_plan_destroy(plan);
  plan = nullptr;
  CASE("new values beside plain columns");
  CHECK_OK(wr_backend_find("sell", &backend));
  CHECK_OK(wr_plan_create(backend, "", A, env, &plan));
  CHECK_OK(wr_plan_prepare(plan));
  for (int64_t k = 0; k < A->nnz; k++) A->val[k] = varying(k, 1);
  CHECK_OK(wr_plan_update_values(plan, A));
  check_sums(env, plan, A);
  wr_plan_destroy(plan);
  wr_csr_free(A);
}

static void test_device(wr_env *env) {
  test_grids(env);
  test_lengths(env);
  test_limits(env);
  test_padding(env);
  test_plain(env);
  test_bits(env);
  test_new_values(env);
}

int main(void) {
  on_device(test_device);
  return wr_test_report("sell_coded");
}
