/* Interleaved rows: the format read back, bit for bit; which columns become hubs; products with small integers, so that every
 * order of the sums gives the same bits, of one vector and of several: rows without entries, rows over many chunks, ends on the
 * boundaries of lanes, chunks and windows, with hubs and without. */
#include "spmv/backends/lane_csr/lane_csr_build.h"

#include <string.h>

#include <algorithm>
#include <string>
#include <vector>

#include "spmv/backends/lane_csr/lane_csr_kernel.h"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "tests/kernels/integer_applies.h"

/* Rows of given lengths; the n-th entry of all has column place(n), in ascending order within a row. */
template <typename Place>
static wr_csr *matrix_of(const std::vector<int64_t> &lengths, int64_t ncols, bool pattern, Place place) {
  wr_csr *A = nullptr;
  int64_t nnz = 0, at = 0;
  std::vector<std::vector<int32_t>> rows;
  for (int64_t length : lengths) {
    std::vector<int32_t> columns;
    for (int64_t n = 0; n < length; n++) columns.push_back((int32_t)(place(nnz + n) % ncols));
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    nnz += (int64_t)columns.size();
    rows.push_back(columns);
  }
  CHECK_OK(wr_csr_create((int64_t)lengths.size(), ncols, nnz, !pattern, &A));
  for (size_t i = 0; A && i < rows.size(); i++) {
    for (int32_t j : rows[i]) {
      if (A->val) A->val[at] = (double)(at * 7 % 13) - 6;
      A->col[at++] = j;
    }
    A->row_ptr[i + 1] = at;
  }
  return A;
}

static int64_t in_order(int64_t n) { return n; }

/* A third of the entries in 5 columns, the others anywhere. */
static int64_t with_hubs(int64_t n) { return n % 3 == 0 ? 100 * (n / 3 % 5) : (n * 2654435761u) % 4294967291u; }

/* Chunks within a row, and the most of them among WR_LANE_CROWD, from the lengths of the rows. */
static void check_crowds(const wr_lane_csr &there, const wr_csr *A) {
  std::vector<int64_t> within((size_t)there.chunks, 1), crowd((size_t)(there.chunks / WR_LANE_CROWD + 1));
  int64_t places = 0, count = 0;
  for (int64_t i = 0; i < A->nrows; i++) {
    places += std::max<int64_t>(A->row_ptr[i + 1] - A->row_ptr[i], 1);
    within[(size_t)((places - 1) / WR_LANE_CHUNK)] = 0; /* a row ends in it */
  }
  for (size_t w = 0; w < within.size(); w++) count += within[w], crowd[w / WR_LANE_CROWD] += within[w];
  const int64_t most = *std::max_element(crowd.begin(), crowd.end());
  CHECKF(there.within == count && there.crowded == most,
         "%lld chunks within rows, at most %lld together, not %lld and %lld", (long long)there.within,
         (long long)there.crowded, (long long)count, (long long)most);
}

/* Builds, reads back and compares. hubs, wide, value_bytes: how many there must be; -1: any number. Returns the far entries. */
static int64_t check_build(wr_env *env, wr_csr *A, wr_lane_choice choice, int64_t hubs, int64_t wide,
                           int value_bytes = -1) {
  wr_csr_view view;
  wr_lane_csr there, here;
  wr_csr *back = nullptr;
  CHECK_OK(wr_csr_device_view(A, env, &view));
  CHECK_OK(wr_lane_csr_device_build(env, A->nrows, A->ncols, A->nnz, &view, &choice, &there));
  CHECKF(hubs < 0 || there.hubs == hubs, "%lld hubs, not %lld", (long long)there.hubs, (long long)hubs);
  CHECKF(wide < 0 || (there.low && there.wide == wide), "%lld wide chunks, not %lld", (long long)there.wide,
         (long long)wide);
  CHECKF(value_bytes < 0 || there.value_bytes == value_bytes, "%d bytes a value, not %d", there.value_bytes,
         value_bytes);
  CHECK((there.code == nullptr) == (there.low != nullptr) || there.chunks == 0);
  check_crowds(there, A);
  CHECK_OK(wr_lane_csr_download(env, &there, &here));
  CHECK_OK(wr_lane_csr_decode(&here, &back));
  if (back) {
    CHECK(back->nnz == A->nnz && memcmp(back->row_ptr, A->row_ptr, (size_t)(A->nrows + 1) * sizeof *A->row_ptr) == 0);
    CHECK(memcmp(back->col, A->col, (size_t)A->nnz * sizeof *A->col) == 0);
    CHECK(!A->val || memcmp(back->val, A->val, (size_t)A->nnz * sizeof *A->val) == 0);
  }
  int64_t covered = 0;
  for (int64_t k = 0; k < A->nnz; k++) covered += std::binary_search(here.hub, here.hub + here.hubs, A->col[k]);
  CHECKF(covered == there.covered, "%lld entries in hubs, not %lld", (long long)there.covered, (long long)covered);
  const int64_t far = there.far;
  wr_csr_free(back);
  wr_lane_csr_free(&here);
  wr_lane_csr_device_free(env, &there);
  return far;
}

static void check_hubs(wr_env *env, wr_csr *A, int64_t most_hubs, int64_t hubs) {
  check_build(env, A, {most_hubs, 0, 0, 0, 0, 0, 0, WR_LANE_FULL, 0}, hubs, -1);
}

static void check_windows(wr_env *env, wr_csr *A, int64_t wide) {
  check_build(env, A, {0, 0, 0, 1, 0, 0, 0, WR_LANE_FULL, 0}, 0, wide);
}

/* Y = 2 A X + beta Y for k columns in rows of ld elements, against sums on the host. X has an infinity and a NaN. */
static void check_columns(wr_plan *plan, wr_env *env, const wr_csr *A, int k, int64_t ld, double beta) {
  std::vector<double> in((size_t)(A->ncols * ld)), out((size_t)(A->nrows * ld), 5), got(out);
  wr_vec x = {}, y = {};
  for (size_t n = 0; n < in.size(); n++) in[n] = (double)(n * 5 % 13) - 6;
  in[(size_t)(A->ncols / 3 * ld)] = INFINITY, in[(size_t)(A->ncols * ld - ld)] = NAN;
  CHECK_OK(env->ops->alloc(env, A->ncols * ld, env->type, "X", &x));
  CHECK_OK(env->ops->alloc(env, A->nrows * ld, env->type, "Y", &y));
  CHECK_OK(env->ops->upload(env, &x, in.data()));
  CHECK_OK(env->ops->upload(env, &y, out.data()));
  wr_apply_many request = {};
  request.columns = k, request.alpha = 2, request.beta = beta;
  request.x = &x, request.y = &y, request.ldx = request.ldy = ld;
  CHECK_OK(wr_plan_apply_many(plan, &request));
  CHECK_OK(env->ops->download(env, &y, got.data()));
  for (int64_t i = 0; i < A->nrows; i++)
    for (int c = 0; c < k; c++) {
      double sum = 0;
      for (int64_t n = A->row_ptr[i]; n < A->row_ptr[i + 1]; n++)
        sum += (A->val ? A->val[n] : 1) * in[(size_t)(A->col[n] * ld + c)];
      out[(size_t)(i * ld + c)] = 2 * sum + beta * 5;
    }
  size_t wrong = 0; /* what is behind the last column stays */
  while (wrong < out.size() && (got[wrong] == out[wrong] || (isnan(got[wrong]) && isnan(out[wrong])))) wrong++;
  CHECKF(wrong == out.size(), "%s, %d columns in rows of %lld: Y[%zu] = %g, not %g", wr_plan_knobs(plan), k,
         (long long)ld, wrong, got[wrong], out[wrong]);
  env->ops->release(env, &x), env->ops->release(env, &y);
}

/* Several vectors: of all widths that a lane can have, and with columns that no lane has. most: what a plan is prepared for. */
static void check_many(wr_env *env, const char *knobs, wr_csr *A, int most) {
  const wr_backend *backend = nullptr;
  wr_plan *plan = nullptr;
  env->need_columns = most;
  CHECK_OK(wr_backend_find("lane_csr", &backend));
  CHECK_OK(wr_plan_create(backend, knobs, A, env, &plan));
  CHECK_OK(wr_plan_prepare(plan));
  for (int k : {1, 2, 3, 8})
    for (int64_t ld : {(int64_t)k, (int64_t)8})
      for (double beta : {0.0, -3.0})
        if (k <= most) check_columns(plan, env, A, k, ld, beta);
  wr_plan_destroy(plan);
  env->need_columns = 0;
}

/* Values in fewer bytes, with each way of storing columns. A has at most 13 different values, which f32 has. */
static void check_compact(wr_env *env, wr_csr *A) {
  for (const char *values : {"values=narrow", "values=coded"}) {
    for (const char *columns : {"hubs=0", "hubs=1", "columns=windows", "far=staged", "order=columns"})
      check_choice(env, "lane_csr", (std::string(values) + ":" + columns).c_str(), A, true);
    check_many(env, values, A, WR_MAX_COLUMNS);
  }
}

static void check_all(wr_env *env, const std::vector<int64_t> &lengths, int64_t ncols) {
  for (bool pattern : {false, true})
    for (bool hubs : {false, true}) {
      wr_csr *A = matrix_of(lengths, ncols, pattern, hubs ? with_hubs : in_order);
      check_hubs(env, A, 0, 0);
      check_hubs(env, A, 16, -1);
      check_build(env, A, {0, 0, 0, 1, 0, 0, 0, WR_LANE_FULL, 0}, 0, -1);
      check_build(env, A, {0, 0, 0, 0, 1, 0, 0, WR_LANE_FULL, 0}, 0, -1);
      check_build(env, A, {0, 0, 0, 0, 0, 1, 1, WR_LANE_FULL, 0}, 0, -1);
      check_build(env, A, {0, 0, 0, 0, 1, 1, 1, WR_LANE_FULL, 0}, 0, -1);
      check_choice(env, "lane_csr", "hubs=0", A, true);
      check_choice(env, "lane_csr", "hubs=1", A, true);
      check_choice(env, "lane_csr", "hubs=-1", A, true);
      check_choice(env, "lane_csr", "columns=windows", A, true);
      check_choice(env, "lane_csr", "hubs=0:shared_rows=after", A, true);
      check_choice(env, "lane_csr", "hubs=1:shared_rows=after", A, true);
      check_choice(env, "lane_csr", "hubs=0:order=columns", A, true);
      check_choice(env, "lane_csr", "columns=windows:order=columns", A, true);
      check_choice(env, "lane_csr", "far=staged", A, true);
      check_choice(env, "lane_csr", "far=staged:order=columns", A, true);
      if (!pattern && hubs && env->type == WR_F64) check_compact(env, A);
      check_many(env, "columns=full", A, WR_MAX_COLUMNS);
      check_many(env, hubs ? "hubs=1" : "columns=windows", A, WR_MAX_COLUMNS);
      check_many(env, "far=staged", A, 1);
      wr_csr_free(A);
    }
}

static void test_rows(wr_env *env) {
  constexpr int64_t CHUNK = WR_LANE_CHUNK, EACH = WR_LANE_EACH;
  CASE("no entries, one entry");
  check_all(env, {0}, 1);
  check_all(env, {1}, 1);
  check_all(env, std::vector<int64_t>(1000, 0), 3);
  CASE("ends on boundaries");
  for (int64_t length : {EACH - 1, EACH, EACH + 1, (int64_t)32, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK})
    check_all(env, {length, length, 1, length, 0, length}, 4 * CHUNK);
  CASE("rows over many chunks");
  check_all(env, {3, 20 * CHUNK + 5, 0, 0, 7, 9 * CHUNK, 2}, 40 * CHUNK);
  CASE("short rows, as many as several windows of a chunk");
  check_all(env, std::vector<int64_t>(1500, 1), 900);
  std::vector<int64_t> mixed;
  for (int64_t i = 0; i < 3000; i++) mixed.push_back(i % 97 == 0 ? i / 4 : i * 7919 % 5);
  check_all(env, mixed, 5000);
}

/* What a plan with default knobs says about its format. */
static std::string default_line(wr_env *env, wr_csr *A) {
  const wr_backend *backend = nullptr;
  wr_plan *plan = nullptr;
  std::string line;
  CHECK_OK(wr_backend_find("lane_csr", &backend));
  CHECK_OK(wr_plan_create(backend, nullptr, A, env, &plan));
  CHECK_OK(wr_plan_prepare(plan));
  if (plan) line = wr_plan_get_info(plan)->line;
  wr_plan_destroy(plan);
  return line;
}

/* Columns with the most entries are hubs, and none of those with as many as the first one that does not fit. */
static void test_choice_of_hubs(wr_env *env) {
  CASE("which columns are hubs");
  std::vector<int64_t> lengths(4000, 3);
  wr_csr *A = matrix_of(lengths, 1000, true, [](int64_t n) {
    return n % 3 == 0 ? n / 3 % 2 : n % 3 == 1 ? 10 + n / 3 % 40 : 100 + n % 900;
  });
  check_hubs(env, A, 1, 0);   /* two columns with 2000 entries each */
  check_hubs(env, A, 2, 2);
  check_hubs(env, A, 41, 2);  /* 40 more with 100 */
  check_hubs(env, A, 42, 42);
  wr_csr_free(A);
  CASE("hubs are taken by the share of those that no cache keeps anyway");
  const struct {
    int64_t share, columns;
    bool hubs;
  } cases[] = {{2, 4800, true}, {8, 2500, false}, {2, 300, false}};
  for (const auto &of : cases) { /* a half or an eighth of the entries in so many columns, the others in one column each */
    A = matrix_of(std::vector<int64_t>(12000, 4), 60000, true,
                  [&](int64_t n) { return n % of.share == 0 ? n / of.share % of.columns * 2 : 10001 + n; });
    check_build(env, A, {22000, 2000, 0.15, 0, 0, 0, 0, WR_LANE_FULL, 0}, of.hubs ? of.columns : 0, -1);
    CHECKF(strstr(default_line(env, A).c_str(), "hub columns") == nullptr, "%s", default_line(env, A).c_str());
    wr_csr_free(A);
  }
}

/* Sets the multiprocessors of env and returns how many there were. */
static int set_processors(wr_env *env, int processors) {
  wr_cuda_state *state = (wr_cuda_state *)env->state;
  const int before = state->processors;
  state->processors = processors;
  return before;
}

/* Chunks are ordered by default where 3 of 10 or more lie within a row and x has 1 MB or more, but not where one kernel
 * completes all rows, as a warp has few chunks. */
static void test_choice_of_order(wr_env *env) {
  CASE("the default orders chunks of long rows where x is large");
  const struct {
    int64_t ncols, length;
    int processors;
    bool ordered;
  } cases[] = {{1100000, 60000, 1, true}, {1100000, 60000, 8, false}, {100000, 99000, 1, false}};
  for (const auto &of : cases) { /* one row is long, and as many entries are in rows of one */
    std::vector<int64_t> lengths((size_t)of.length + 1, 1);
    lengths[0] = of.length;
    wr_csr *A = matrix_of(lengths, of.ncols, true, [](int64_t n) { return n * 997; });
    const int before = set_processors(env, of.processors);
    const std::string line = default_line(env, A);
    set_processors(env, before);
    CHECKF((line.find("order of columns") != std::string::npos) == of.ordered, "%s", line.c_str());
    wr_csr_free(A);
  }
}

static bool is_alone(wr_env *env, wr_csr *A, int processors,
                     wr_lane_choice choice = {0, 0, 0, 0, 0, 0, 0, WR_LANE_FULL, 0}) {
  wr_csr_view view;
  wr_lane_csr there;
  CHECK_OK(wr_csr_device_view(A, env, &view));
  CHECK_OK(wr_lane_csr_device_build(env, A->nrows, A->ncols, A->nnz, &view, &choice, &there));
  const int before = set_processors(env, processors);
  const bool alone = wr_lane_is_alone(env, &there);
  set_processors(env, before);
  wr_lane_csr_device_free(env, &there);
  return alone;
}

/* One kernel completes all rows where a warp has up to seven chunks, or one and a half if those of long rows lie together. */
static void test_choice_of_alone(wr_env *env) {
  CASE("which matrices have one kernel");
  auto column = [](int64_t n) { return n * 997; };
  wr_csr *A = matrix_of(std::vector<int64_t>(7 * 64 * WR_LANE_CHUNK, 1), 1000, false, column);
  CHECK(is_alone(env, A, 2) && !is_alone(env, A, 1));
  CHECK(!is_alone(env, A, 2, {0, 0, 0, 1, 0, 0, 0, WR_LANE_FULL, 0}));
  CHECK(!is_alone(env, A, 2, {1000, 0, 0, 0, 0, 0, 0, WR_LANE_FULL, 0}));
  CHECK(env->type == WR_F32 || !is_alone(env, A, 2, {0, 0, 0, 0, 0, 0, 0, WR_LANE_CODED, 1}));
  wr_csr_free(A);
  A = matrix_of(std::vector<int64_t>(7 * 64 * WR_LANE_CHUNK + 1, 1), 1000, true, column);
  CHECK(!is_alone(env, A, 2));
  wr_csr_free(A);
  for (bool together : {true, false}) { /* four long rows with a seventh of the chunks, and rows of one entry */
    std::vector<int64_t> lengths(200004, 1);
    for (size_t n = 0; n < 4; n++) lengths[together ? n : n * 50001] = 8000;
    A = matrix_of(lengths, 1100000, true, column);
    check_build(env, A, {0, 0, 0, 0, 0, 0, 0, WR_LANE_FULL, 0}, 0, -1);
    CHECK(is_alone(env, A, 18) != together); /* 1.6 chunks a warp */
    CHECK(is_alone(env, A, 19));
    wr_csr_free(A);
  }
  for (int64_t chunks : {1535, 1537}) { /* a row over so many warps */
    A = matrix_of({chunks * WR_LANE_CHUNK}, 1000000, true, [](int64_t n) { return n; });
    CHECK(is_alone(env, A, 100) == (chunks < 1536));
    wr_csr_free(A);
  }
}

/* A row of columns in a matrix of 2^31 - 1 columns is a chunk, at most. */
static wr_csr *row_of_columns(const std::vector<int32_t> &columns) {
  wr_csr *A = nullptr;
  CHECK_OK(wr_csr_create(1, INT32_MAX, (int64_t)columns.size(), 0, &A));
  if (A) std::copy(columns.begin(), columns.end(), A->col), A->row_ptr[1] = (int64_t)columns.size();
  return A;
}

static bool has_windows(wr_env *env, wr_csr *A, const wr_lane_choice &choice) {
  wr_csr_view view;
  wr_lane_csr there;
  CHECK_OK(wr_csr_device_view(A, env, &view));
  CHECK_OK(wr_lane_csr_device_build(env, A->nrows, A->ncols, A->nnz, &view, &choice, &there));
  const bool has = there.low != nullptr;
  wr_lane_csr_device_free(env, &there);
  return has;
}

static void test_windows(wr_env *env) {
  constexpr int32_t W = WR_LANE_WINDOW, LAST = INT32_MAX - 1;
  CASE("two windows, and what does not fit in them");
  const struct {
    std::vector<int32_t> columns;
    int64_t wide;
  } rows[] = {
      {{0}, 0},
      {{LAST}, 0},
      {{0, LAST}, 0},
      {{0, W - 1, W}, 0},
      {{7, 7 + W - 1, 7 + W, 7 + 2 * W - 2}, 0},
      {{7, 7 + W - 1, 7 + W, 7 + 2 * W - 1}, 1}, /* its place would be that of padding */
      {{0, W, 2 * W - 2}, 0},
      {{0, W, 2 * W}, 1},
      {{0, 1000000, LAST}, 1},
      {{65535, 1000000, LAST}, 1}, /* a low half like that of padding */
      {{LAST - W + 1, LAST}, 0},
  };
  for (const auto &row : rows) {
    wr_csr *A = row_of_columns(row.columns);
    check_windows(env, A, row.wide);
    wr_csr_free(A);
  }
  CASE("windows are taken where most chunks fit");
  for (int far : {0, 5, 2}) { /* no chunk, a fifth of the chunks, a half */
    constexpr int64_t ROWS = 20 * WR_LANE_CHUNK;
    wr_csr *A = matrix_of(std::vector<int64_t>(ROWS, 1), 200000, false, [=](int64_t n) {
      int64_t chunk = n / WR_LANE_CHUNK;
      return far && chunk % far == 0 ? n * 7919 : chunk * 5000 + n % 3000 + n % 2 * 60000;
    });
    check_windows(env, A, far ? (20 + far - 1) / far : 0);
    check_choice(env, "lane_csr", "columns=windows", A, true);
    check_choice(env, "lane_csr", "columns=full", A, true);
    for (int any_size : {0, 1})
      CHECK(has_windows(env, A, {0, 0, 0, -1, 0, 0, 0, WR_LANE_FULL, any_size}) == (any_size && far != 2));
    wr_csr_free(A);
  }
}

/* Five entries a row; the k-th has the value of(k). */
static wr_csr *with_values(int64_t nrows, double (*of)(int64_t k)) {
  wr_csr *A = matrix_of(std::vector<int64_t>((size_t)nrows, 5), 30000, false, [](int64_t n) { return n * 7919; });
  for (int64_t k = 0; A && k < A->nnz; k++) A->val[k] = of(k);
  return A;
}

/* In how many bytes values are stored, and that they come back bit for bit. */
static void test_values(wr_env *env) {
  const int64_t FEW = 8000, MANY = 80000; /* rows: of MANY every second entry is in the sample, those with even k */
  const struct {
    const char *what;
    int64_t nrows;
    double (*of)(int64_t k);
    int narrow, coded, compact; /* bytes */
  } cases[] = {
      {"a value that f32 does not have", FEW, [](int64_t) { return 0.1; }, 8, 1, 1},
      {"16 values", FEW, [](int64_t k) { return (double)(k % 16); }, 4, 1, 1},
      {"17 values", FEW, [](int64_t k) { return (double)(k % 17); }, 4, 1, 4},
      {"255 values that f32 does not have", FEW, [](int64_t k) { return (double)(k % 255) / 3 + 1e-3; }, 8, 1, 1},
      {"256 values that f32 does not have", FEW, [](int64_t k) { return (double)(k % 256) / 3 + 1e-3; }, 8, 8, 8},
      {"many values that f32 has", FEW, [](int64_t k) { return (double)k; }, 4, 8, 4},
      {"zeros of both signs, an infinity and a NaN", FEW,
       [](int64_t k) { return k % 4 == 0 ? -0.0 : k % 4 == 1 ? 0.0 : k % 4 == 2 ? INFINITY : (double)NAN; }, 4, 1, 1},
      {"beyond the range of f32", FEW, [](int64_t k) { return k % 2 ? 1e300 : 1e-300; }, 8, 1, 1},
      {"a third value that the sample has missed", MANY,
       [](int64_t k) { return k == 99999 ? 3.0 : (double)(k % 4 / 2); }, 4, 1, 1},
      {"many values, and one that f32 does not have, missed", MANY,
       [](int64_t k) { return k == 99999 ? 0.1 : (double)k; }, 8, 8, 8},
      {"250 values, and 250 others that the sample has missed", MANY,
       [](int64_t k) { return (double)(k % 500) / 3 + 1e-3; }, 8, 8, 8},
  };
  if (env->type != WR_F64) return; /* values of f32 are stored as they are */
  for (const auto &of : cases) {
    CASE(of.what);
    wr_csr *A = with_values(of.nrows, of.of);
    auto check = [&](wr_lane_values values, int any_size, int bytes) {
      check_build(env, A, {0, 0, 0, 0, 0, 0, 0, values, any_size}, 0, -1, bytes);
    };
    check(WR_LANE_FULL, 1, 8);
    check(WR_LANE_NARROW, 0, of.narrow), check(WR_LANE_CODED, 0, of.coded), check(WR_LANE_COMPACT, 1, of.compact);
    check(WR_LANE_COMPACT, 0, 8); /* the second-level cache holds the entries */
    wr_csr_free(A);
  }
}

/* Entries are far if their tile has few others in their page. */
static void test_staged(wr_env *env) {
  const int64_t slab = wr_lane_slab(env->type);
  CASE("far entries are staged, by slab");
  for (bool pattern : {false, true}) {
    /* Of every four entries one is in any of five slabs, the others are near each other. */
    wr_csr *A = matrix_of(std::vector<int64_t>(20000, 4), 5 * slab + 7, pattern,
                          [=](int64_t n) { return n % 4 == 0 ? n * 2654435761u : n / 1000 * 700 + n % 701; });
    const int64_t far = check_build(env, A, {0, 0, 0, 0, 0, 1, 8, WR_LANE_FULL, 0}, 0, -1);
    CHECKF(far > A->nnz / 5 && far < A->nnz / 3, "%lld of %lld entries are far", (long long)far, (long long)A->nnz);
    check_choice(env, "lane_csr", "far=staged", A, true);
    check_choice(env, "lane_csr", "far=direct", A, true);
    CHECK(check_build(env, A, {0, 0, 0, 0, 0, -1, 8, WR_LANE_FULL, 0}, 0, -1) == 0); /* the second-level cache holds x */
    wr_csr_free(A);
  }
  CASE("a slab with more far entries than a piece has");
  wr_csr *A = matrix_of(std::vector<int64_t>(45000, 2), slab, true, [](int64_t n) { return n * 2654435761u; });
  CHECK(check_build(env, A, {0, 0, 0, 0, 0, 1, 1, WR_LANE_FULL, 0}, 0, -1) > WR_LANE_PIECE);
  wr_csr_free(A);
}

/* Checks the sums (y, z) and (y, y) of y = A x against those of the host, bit for bit. */
static void check_sums(wr_env *env, const char *knobs, wr_csr *A) {
  const wr_backend *backend = nullptr;
  wr_plan *plan = nullptr;
  CHECK_OK(wr_backend_find("lane_csr", &backend));
  CHECK_OK(wr_plan_create(backend, knobs, A, env, &plan));
  if (plan == nullptr) return;
  CHECK_OK(wr_plan_prepare(plan));
  vectors v(env, A);
  wr_vec bank = {};
  double got[2], dot = 0, square = 0;
  CHECK_OK(env->ops->alloc(env, 2, WR_F64, "scalars", &bank));
  set_x(A, v, false);
  CHECK_OK(env->ops->upload(env, &v.y[1], v.before.data()));
  for (size_t i = 0; i < v.sums.size(); i++) dot += v.sums[i] * v.before[i], square += v.sums[i] * v.sums[i];
  wr_epilogue e = {};
  e.reduce[0] = {.kind = WR_DOT, .of = nullptr, .z = &v.y[1], .into = {&bank, 0}};
  e.reduce[1] = {.kind = WR_NRM2SQ, .of = nullptr, .z = nullptr, .into = {&bank, 1}};
  wr_apply request = {};
  request.alpha = 1, request.x = &v.x, request.y = &v.y[0], request.epilogue = &e;
  for (int n = 0; n < 3; n++) {
    CHECK_OK(wr_plan_apply(plan, &request));
    check_result(plan, v, &v.y[0], 1, 0);
    CHECK_OK(env->ops->download(env, &bank, got));
    CHECKF(got[0] == dot && got[1] == square, "%s: sums %g and %g, not %g and %g", knobs, got[0], got[1], dot, square);
  }
  env->ops->release(env, &bank);
  wr_plan_destroy(plan);
}

/* Few multiprocessors, so that thread blocks take many turns, with shares of several chunks and, at the end, of one. Long rows
 * have parts in one share, two and many. */
static void test_turns(wr_env *env) {
  wr_cuda_state *state = (wr_cuda_state *)env->state;
  const int processors = state->processors;
  CASE("thread blocks take turns");
  std::vector<int64_t> lengths(14000, 5);
  for (size_t i = 0; i < lengths.size(); i += 900) lengths[i] = i % 1800 ? 0 : 300 + (int64_t)i * 3 / 4;
  for (bool pattern : {false, true}) {
    wr_csr *A = matrix_of(lengths, 60000, pattern, [](int64_t n) { return n * 2654435761u; });
    for (int few : {1, 2}) {
      state->processors = few;
      for (const char *knobs : {"far=direct", "far=staged", "hubs=1", "columns=windows", "order=columns"}) {
        for (const char *values : {"", ":values=narrow", ":values=coded"}) {
          const std::string both = std::string(knobs) + values;
          check_choice(env, "lane_csr", both.c_str(), A, true);
          check_sums(env, both.c_str(), A);
        }
      }
    }
    state->processors = processors;
    check_sums(env, "far=direct", A); /* each warp has one chunk at most */
    wr_csr_free(A);
  }
}

static void test_device(wr_env *env) {
  test_turns(env);
  test_staged(env);
  test_values(env);
  test_rows(env);
  test_windows(env);
  test_choice_of_hubs(env);
  test_choice_of_order(env);
  test_choice_of_alone(env);
}

int main(void) {
  on_device(test_device);
  return wr_test_report("lane_csr");
}
