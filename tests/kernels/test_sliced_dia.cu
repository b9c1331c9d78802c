/* Sliced DIA: the kind that is chosen; the format read back, bit for bit, with its least number of segments; products with
 * small integers, so that every order of the sums gives the same bits; new values of another kind; refused matrices. */
#include "spmv/backends/sliced_dia/sliced_dia_build.h"

#include "tests/kernels/grid_matrix.h"

/* Builds and decodes A; checks the kind and, unless it is -1, the number of segments. */
static void check_build(wr_env *env, wr_csr *A, int with_pairs, wr_dia_kind kind, int64_t segments) {
  wr_csr_view view;
  wr_sliced_dia there, here;
  wr_csr *back = nullptr;
  CHECK_OK(wr_csr_device_view(A, env, &view));
  CHECK_OK(wr_sliced_dia_device_build(env, A->nrows, A->ncols, A->nnz, &view, with_pairs, &there));
  CHECKF(there.kind == kind, "kind %d, not %d", there.kind, kind);
  CHECKF(segments < 0 || there.segments == segments, "%lld segments, not %lld", (long long)there.segments,
         (long long)segments);
  CHECK_OK(wr_sliced_dia_download(env, &there, &here));
  CHECK_OK(wr_sliced_dia_decode(&here, &back));
  if (back) {
    CHECK(back->nnz == A->nnz && memcmp(back->row_ptr, A->row_ptr, (size_t)(A->nrows + 1) * sizeof *A->row_ptr) == 0);
    CHECK(memcmp(back->col, A->col, (size_t)A->nnz * sizeof *A->col) == 0);
    CHECK((back->val != nullptr) == (A->val != nullptr) && (!A->val || same_bits(back->val, A->val, A->nnz)));
  }
  wr_csr_free(back);
  wr_sliced_dia_free(&here);
  wr_sliced_dia_device_free(env, &there);
}

static void check_products(wr_env *env, wr_csr *A) {
  check_choice(env, "sliced_dia", "pairs=auto", A, true);
  check_choice(env, "sliced_dia", "pairs=off", A, true);
}

/* The distances that occur in each slice, and the rows' values if `told_apart`, counted one slice after the other. */
static int64_t count_segments(const wr_csr *A, bool told_apart) {
  int64_t count = 0;
  for (int64_t first = 0; first < A->nrows; first += WR_DIA_ROWS) {
    std::vector<std::pair<int64_t, double>> seen;
    for (int64_t i = first; i < A->nrows && i < first + WR_DIA_ROWS; i++)
      for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
        std::pair<int64_t, double> entry = {A->col[k] - i, told_apart ? A->val[k] : 0};
        bool is_new = true;
        for (const auto &other : seen) is_new = is_new && other != entry;
        if (is_new) seen.push_back(entry);
      }
    count += (int64_t)seen.size();
  }
  return count;
}

static void test_grids(wr_env *env) {
  for (const std::vector<int64_t> &distances : {three, seven, nine}) {
    CASE("a grid");
    wr_csr *A = grid_matrix(321, 321, distances, false, constant);
    wr_csr *B = grid_matrix(321, 300, distances, false, varying), *P = grid_matrix(289, 321, distances, true, constant);
    check_build(env, A, 1, WR_DIA_PAIRS, count_segments(A, true));
    check_build(env, A, 0, WR_DIA_VALUES, count_segments(A, false));
    check_build(env, B, 1, WR_DIA_VALUES, count_segments(B, false));
    check_build(env, P, 1, WR_DIA_PATTERN, count_segments(P, false));
    for (wr_csr *M : {A, B, P}) check_products(env, M);
    for (wr_csr *M : {A, B, P}) wr_csr_free(M);
  }
}

/* Lists of 0 to 64 segments: several turns of 32, and of 4 and 8 at a time; slices of one row, and of none. */
static void test_lists(wr_env *env) {
  CASE("lists of many lengths");
  wr_csr *none = grid_matrix(70, 9, {100}, false, constant), *one = grid_matrix(1, 1, {0}, false, varying);
  check_build(env, none, 1, WR_DIA_PAIRS, 0);
  check_build(env, one, 1, WR_DIA_PAIRS, 1);
  check_products(env, none);
  check_products(env, one);
  for (int64_t length : {4, 5, 12, 13, 29, 31, 32, 33, 63, 64}) {
    std::vector<int64_t> distances;
    for (int64_t d = 0; d < length; d++) distances.push_back(2 * d - 3);
    wr_csr *A = grid_matrix(150, 211, distances, false, constant), *B = grid_matrix(65, 300, distances, false, varying);
    check_build(env, A, 1, WR_DIA_PAIRS, count_segments(A, true));
    check_build(env, B, 1, WR_DIA_VALUES, count_segments(B, false));
    check_products(env, A);
    check_products(env, B);
    wr_csr_free(A), wr_csr_free(B);
  }
  wr_csr_free(none), wr_csr_free(one);
}

/* Slices of rows with three distances, but `length` in the rows of slice `odd`; value(i, k): of the k-th distance. */
template <typename Value>
static wr_csr *odd_slice(int64_t slices, int64_t odd, int64_t length, bool pattern, Value value) {
  wr_csr *A = nullptr;
  int64_t nrows = slices * WR_DIA_ROWS, at = 0;
  CHECK_OK(wr_csr_create(nrows, nrows + length, (nrows - WR_DIA_ROWS) * 3 + WR_DIA_ROWS * length, !pattern, &A));
  for (int64_t i = 0; A && i < nrows; A->row_ptr[++i] = at)
    for (int64_t k = 0; k < (i / WR_DIA_ROWS == odd ? length : 3); k++) {
      if (A->val) A->val[at] = value(i, k);
      A->col[at++] = (int32_t)(i + k);
    }
  return A;
}

/* A slice with more segments than its slot has room for, up to the most that there may be; its entries do not fit shared
 * memory from 140 distances on. */
static void test_long_lists(wr_env *env) {
  for (int64_t length : {32, 33, 65, 140, 512}) {
    CASE("a slice of many distances");
    wr_csr *A = odd_slice(20, 5, length, false, constant), *B = odd_slice(21, 20, length, false, varying);
    wr_csr *P = odd_slice(22, 0, length, true, constant);
    check_build(env, A, 1, WR_DIA_PAIRS, count_segments(A, true));
    check_build(env, B, 1, WR_DIA_VALUES, count_segments(B, false));
    check_build(env, P, 1, WR_DIA_PATTERN, count_segments(P, false));
    for (wr_csr *M : {A, B, P}) check_products(env, M);
    for (wr_csr *M : {A, B, P}) wr_csr_free(M);
  }
}

/* A slice of many values for each distance, which the sample sees in slice 6 and does not see in slice 1. */
static void test_odd_values(wr_env *env) {
  for (int64_t odd : {6, 1})
    for (int64_t length : {8, 9}) {
      CASE("a slice of many values");
      wr_csr *A = odd_slice(200, odd, length, false, [&](int64_t i, int64_t k) {
        return i / WR_DIA_ROWS == odd ? (double)(i % WR_DIA_ROWS + 1) : (double)(k + 1);
      });
      bool fits = length * WR_DIA_ROWS <= WR_DIA_MOST;
      wr_sliced_dia expected;
      CHECK_OK(wr_sliced_dia_estimate(A, env->type, 1, &expected));
      CHECK(expected.kind == (odd == 1 ? WR_DIA_PAIRS : WR_DIA_VALUES));
      check_build(env, A, 1, fits ? WR_DIA_PAIRS : WR_DIA_VALUES, count_segments(A, fits));
      check_products(env, A);
      wr_csr_free(A);
    }
}

/* Values of a segment that are not alike split it, up to three segments for each distance. */
static void test_split(wr_env *env) {
  for (int64_t values : {1, 2, 3, 4}) {
    CASE("several values of a distance");
    wr_csr *A = grid_matrix(640, 640, {0}, false, [&](int64_t i, int64_t) { return (double)(i % values + 1); });
    check_build(env, A, 1, values <= 3 ? WR_DIA_PAIRS : WR_DIA_VALUES, values <= 3 ? 10 * values : 10);
    check_products(env, A);
    wr_csr_free(A);
  }
}

/* Values are told apart by their bits; with one that is not finite all are stored. */
static void test_bits(wr_env *env) {
  static const uint64_t special[] = {0, 0x8000000000000000u, 0x7ff0000000000000u, 0x7ff8000000000000u};
  CASE("zeros, infinities and NaNs");
  for (uint64_t bits : special)
    for (int64_t odd : {0, 77, 199}) {
      wr_csr *A = grid_matrix(200, 200, three, false, [&](int64_t i, int64_t k) {
        double value = 1;
        if (i == odd && k == 1) memcpy(&value, &bits, sizeof value);
        return value;
      });
      bool finite = bits << 1 == 0;
      if (env->type == WR_F64) check_build(env, A, 1, finite ? WR_DIA_PAIRS : WR_DIA_VALUES, finite ? 13 : 12);
      wr_csr_free(A);
    }
}

/* A is refused, as `says` says, by the plan if the sample sees it, and always by a build. */
static void check_refused(wr_env *env, wr_csr *A, bool seen, const char *says) {
  wr_csr_view view;
  wr_sliced_dia d;
  wr_plan *plan = nullptr;
  const wr_backend *backend = nullptr;
  CHECK_OK(wr_backend_find("sliced_dia", &backend));
  if (seen) {
    CHECK_FAILS(WR_EUNAVAILABLE, wr_plan_create(backend, nullptr, A, env, &plan));
  } else {
    CHECK_OK(wr_plan_create(backend, nullptr, A, env, &plan));
    CHECK_FAILS(WR_EUNAVAILABLE, wr_plan_prepare(plan));
  }
  CHECK_MESSAGE(says);
  wr_plan_destroy(plan);
  CHECK_OK(wr_csr_device_view(A, env, &view));
  for (int with_pairs : {0, 1}) {
    CHECK_FAILS(WR_EUNAVAILABLE, wr_sliced_dia_device_build(env, A->nrows, A->ncols, A->nnz, &view, with_pairs, &d));
    CHECK_MESSAGE(says);
    CHECK(!d.segment && !d.difference && !d.mask && !d.value && !d.val);
  }
  wr_csr_free(A);
}

static void test_many_distances(wr_env *env) {
  std::vector<int64_t> distances;
  for (int64_t d = 0; d < 65; d++) distances.push_back(d);
  for (bool pattern : {false, true}) {
    CASE("more than 64 distances on average");
    check_refused(env, grid_matrix(640, 740, distances, pattern, constant), true, "65.0 distances from the diagonal");
    CASE("rows of more entries than a slice may have distances");
    check_refused(env, odd_slice(200, 1, 513, pattern, varying), false, "more than 512 distances");
    check_refused(env, odd_slice(200, 6, 513, pattern, constant), true, "more than 512 distances");
  }
  CASE("rows of few entries, and many distances together");
  wr_csr *A = odd_slice(200, 1, 9, true, constant);
  for (int64_t i = WR_DIA_ROWS, at = A ? A->row_ptr[i] : 0; A && i < 2 * WR_DIA_ROWS; i++)
    for (int64_t k = 0; k < 9; k++) A->col[at++] = (int32_t)(i * 3 + k * 640); /* 9 distances that no other row has */
  check_refused(env, A, false, "more than 512 distances");
}

static void test_refused(wr_env *env) {
  CASE("few entries at the same distance");
  wr_csr_view view;
  wr_sliced_dia d;
  wr_csr *A = nullptr;
  constexpr int64_t ROWS = 64000;
  CHECK_OK(wr_csr_create(ROWS, ROWS, ROWS, 0, &A));
  for (int64_t i = 0; A && i < ROWS; i++) A->col[i] = (int32_t)(i * 7919 % ROWS), A->row_ptr[i + 1] = i + 1;
  CHECK_OK(wr_csr_device_view(A, env, &view));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_sliced_dia_device_build(env, A->nrows, A->ncols, A->nnz, &view, 1, &d));
  CHECK_MESSAGE("merbit takes any matrix");
  CHECK_FAILS(WR_EUNAVAILABLE, wr_sliced_dia_estimate(A, env->type, 1, &d));
  wr_csr_free(A);
}

/* New values: constant, others, and constant again. */
static void test_new_values(wr_env *env) {
  const wr_backend *backend = nullptr;
  wr_plan *plan = nullptr;
  CASE("new values");
  CHECK_OK(wr_backend_find("sliced_dia", &backend));
  wr_csr *A = grid_matrix(999, 999, seven, false, constant);
  CHECK_OK(wr_plan_create(backend, nullptr, A, env, &plan));
  CHECK_OK(wr_plan_prepare(plan));
  for (int turn = 0; turn < 5; turn++) {
    bool alike = turn < 2 || turn == 4;
    for (int64_t i = 0, k = 0; i < A->nrows; i++)
      for (; k < A->row_ptr[i + 1]; k++)
        A->val[k] = alike ? (double)((A->col[k] - i + 40) % 3 + turn) : varying(k * turn, 1);
    CHECK_OK(wr_plan_update_values(plan, A));
    check_sums(env, plan, A);
    const char *line = wr_plan_get_info(plan)->line;
    CHECKF(strstr(line, alike ? "a value each" : "values stored"), "turn %d: %s", turn, line);
  }
  wr_plan_destroy(plan);
  wr_csr_free(A);
}

static void test_device(wr_env *env) {
  test_grids(env);
  test_lists(env);
  test_long_lists(env);
  test_odd_values(env);
  test_split(env);
  test_bits(env);
  test_many_distances(env);
  test_refused(env);
  test_new_values(env);
}

int main(void) {
  on_device(test_device);
  return wr_test_report("sliced_dia");
}
