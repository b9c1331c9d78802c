/* MERBIT behind the interface: all its knobs give right sums, alternating buffers give right results whatever is done to them
 * in between, ordered sums have the same bits, scattered columns are recognised, and plans for counts beyond memory are
 * right. */
#include <string>

#include "spmv/device/device_memory.h"
#include "spmv/spmv.h"
#include "tests/kernels/merbit_cases.h"
#include "tests/kernels/on_device.h"

struct planned {
  wr_plan *plan = nullptr;
  planned(wr_env *env, matrix &m, const std::string &knobs) {
    const wr_backend *backend;
    CHECK_OK(wr_backend_find("merbit", &backend));
    CHECK_OK(wr_plan_create(backend, knobs.c_str(), &m.A, env, &plan));
    CHECK_OK(wr_plan_prepare(plan));
  }
  planned(const planned &) = delete;
  ~planned() { wr_plan_destroy(plan); }
  void apply(double alpha, double beta, guarded &x, guarded &y, guarded *next, const wr_epilogue *epilogue = nullptr) {
    wr_apply request = {};
    request.alpha = alpha, request.beta = beta, request.x = &x.v, request.y = &y.v;
    request.y_next = next ? &next->v : nullptr, request.epilogue = epilogue;
    CHECK_OK(wr_plan_apply(plan, &request));
  }
};

/* ---- Every knob ---- */

enum { KNOB_SETS = 24 };

static std::string knobs_of(int sigma, int set) {
  static const char *const ways[] = {"dual", "clear", "ordered"};
  return std::string("sigma=") + std::to_string(sigma) + ":gather=" + (set & 1 ? "scattered" : "local") +
         ":segmented=" + (set & 2 ? "off" : "on") + ":long_rows=" + (set & 4 ? "off" : "on") +
         ":commit=" + ways[set / 8] + ":completion=" +
         (sigma % 3 == 0   ? "auto"
          : sigma % 3 == 1 ? "block"
                           : "kernel");
}

/* Twice, so that the second multiply writes what the first may have cleared. */
static void test_knobs(wr_env *env, matrix &m, const std::string &knobs, guarded &x, const numbers &expected) {
  planned p(env, m, knobs);
  guarded a(env, numbers(expected.size(), NAN)), b(env, numbers(expected.size(), NAN));
  long failed = wr_test_failed;
  p.apply(1, 0, x, a, &b);
  p.apply(1, 0, x, b, nullptr);
  check_numbers("the first y", a.get(), expected);
  check_numbers("the second y", b.get(), expected);
  if (wr_test_failed > failed) fprintf(stderr, "  with %s\n", knobs.c_str());
}

static void test_all_knobs(wr_env *env) {
  static const int defaults[] = {WR_MERBIT_LOCAL_F64, WR_MERBIT_LOCAL_F32, WR_MERBIT_SCATTERED_F64,
                                 WR_MERBIT_SCATTERED_F32};
  matrix m(mixed, 900, 1), pattern(mixed, 900, 1, true);
  numbers x = make_numbers(m.A.ncols, 8, 6), y = m.multiply(x), y_pattern = pattern.multiply(x);
  guarded on_card(env, x);
  CASE("sigmas");
  for (int sigma = 1; sigma <= WR_MERBIT_KERNEL_SIGMA; sigma++)
    for (int c = 0; c < 3; c++) {
      int set = (sigma * 7 + c * 8) % KNOB_SETS;
      test_knobs(env, set & 4 ? m : pattern, knobs_of(sigma, set), on_card, set & 4 ? y : y_pattern);
    }
  CASE("all other knobs");
  for (int set = 0; set < KNOB_SETS; set++) test_knobs(env, m, knobs_of(defaults[set % 4], set), on_card, y);
}

/* ---- Buffers that alternate ---- */

enum { APPLIES = 14 };

/* What is done before apply k to the buffer that it writes, which was y_next of the apply before. */
static void disturb(wr_env *env, int k, planned *p, planned *other, guarded &x, guarded &y, guarded &read_already) {
  if (k == 3) wr_plan_forget(p->plan);
  if (k == 4) CHECK_OK(env->ops->fill(env, &y.v, 5));
  if (k == 5) y.set(numbers((size_t)y.v.n, 7));
  if (k == 6) other->apply(1, 0, x, y, &read_already); /* writes it  */
  if (k == 7) other->apply(1, 0, x, read_already, &y); /* prepares it by itself */
  if (k == 10) wr_plan_forget(p->plan);                /* and so beta may be anything */
}

static void test_chain(wr_env *env, const char *knobs) {
  CASE(knobs);
  matrix m(mixed, 900, 1);
  planned p(env, m, knobs), other(env, m, "sigma=2:commit=dual");
  guarded a(env, numbers((size_t)m.A.nrows, NAN)), b(env, numbers((size_t)m.A.nrows, NAN)), *y = &a, *next = &b;
  guarded x(env, numbers((size_t)m.A.ncols));
  numbers before;
  for (int k = 0; k < APPLIES; k++) {
    numbers values = make_numbers(m.A.ncols, 8, 20 + (uint64_t)k), expected = m.multiply(values);
    double beta = k == 10 || k == 12 ? 2 : 0;
    disturb(env, k, &p, &other, x, *y, *next);
    if (beta != 0) {
      before = make_numbers(m.A.nrows, 40, 50);
      y->set(before);
      for (size_t i = 0; i < before.size(); i++) expected[i] += beta * before[i];
    }
    x.set(values);
    p.apply(1, beta, x, *y, k == 8 || k == 11 ? nullptr : next);
    check_numbers("y", y->get(), expected);
    std::swap(y, next);
  }
}

/* As a solver does: z = y_next in the epilogue, and y is the next x. */
static void test_loop(wr_env *env, const char *knobs) {
  CASE("a loop that reduces with y_next");
  matrix m(three, 2111, 1);
  planned p(env, m, knobs);
  numbers now = make_numbers(m.A.nrows, 3, 9), last, sums(2);
  guarded a(env, now), b(env, numbers(now.size(), 0)), *x = &a, *y = &b;
  wr_vec bank = {};
  guarded third(env, numbers(now.size(), NAN)), *next = &third;
  CHECK_OK(env->ops->alloc(env, 2, WR_F64, "scalars", &bank));
  for (int k = 0; k < 5; k++) {
    wr_epilogue e = {};
    numbers old = next->get();
    if (k > 0) e.reduce[0] = {.kind = WR_L1DIFF, .of = nullptr, .z = &next->v, .into = {&bank, 0}};
    e.reduce[1] = {.kind = WR_DOT, .of = nullptr, .z = &x->v, .into = {&bank, 1}};
    p.apply(1, 0, *x, *y, next, &e);
    numbers expected = m.multiply(now);
    double change = 0, dot = 0;
    for (size_t i = 0; i < now.size(); i++) change += fabs(expected[i] - old[i]), dot += expected[i] * now[i];
    check_numbers("y", y->get(), expected);
    CHECK_OK(env->ops->download(env, &bank, sums.data()));
    CHECKF(k == 0 || sums[0] == change, "%g, not %g", sums[0], change);
    CHECKF(sums[1] == dot, "%g, not %g", sums[1], dot);
    now = expected;
    guarded *free = x;
    x = y, y = next, next = free;
  }
  env->ops->release(env, &bank);
}

/* ---- The same bits ---- */

/* Numbers with sums that depend on the order of addition. */
static numbers make_rough(int64_t n, uint64_t seed) {
  numbers v((size_t)n);
  for (size_t k = 0; k < v.size(); k++) {
    uint64_t hash = hash_of(seed * 0x51ED27u + k);
    v[k] = ldexp((double)(hash >> 12) * 0x1p-52 - 0.5, (int)(hash % 16));
  }
  return v;
}

static void test_same_bits(wr_env *env, const char *knobs) {
  CASE(knobs);
  matrix m(mixed, 900, 1);
  numbers x = make_rough(m.A.ncols, 1), first_y, first_scaled, first_sums, sums(4);
  m.val = make_rough(m.A.nnz, 2), m.A.val = m.val.data();
  planned p(env, m, knobs);
  CHECK(wr_plan_get_info(p.plan)->deterministic);
  guarded on_card(env, x), a(env, numbers((size_t)m.A.nrows, NAN)), b(env, numbers((size_t)m.A.nrows, NAN));
  guarded z(env, make_rough(m.A.nrows, 3)), scaled(env, numbers((size_t)m.A.nrows, 0));
  wr_vec bank = {};
  CHECK_OK(env->ops->alloc(env, 4, WR_F64, "scalars", &bank));
  wr_epilogue e = {};
  e.scale = &z.v, e.scaled = &scaled.v;
  e.reduce[0] = {.kind = WR_DOT, .of = nullptr, .z = &z.v, .into = {&bank, 1}};
  e.reduce[1] = {.kind = WR_NRM2SQ, .of = nullptr, .z = nullptr, .into = {&bank, 2}};
  e.reduce[2] = {.kind = WR_SUM, .of = nullptr, .z = nullptr, .into = {&bank, 3}};
  for (int k = 0; k < 7; k++) { /* in all orders of the shim, each at least twice */
    guarded &y = k % 2 ? b : a, &next = k % 2 ? a : b;
    p.apply(1.1, 0, on_card, y, &next, &e);
    CHECK_OK(env->ops->download(env, &bank, sums.data()));
    if (k == 0) first_y = y.get(), first_scaled = scaled.get(), first_sums = sums;
    check_numbers("y", y.get(), first_y);
    check_numbers("scaled", scaled.get(), first_scaled);
    check_numbers("sums", sums, first_sums);
  }
  env->ops->release(env, &bank);
}

/* --deterministic selects ordered sums, and refuses knobs that cannot be deterministic. */
static void test_deterministic(wr_env *env) {
  static const struct {
    const char *knobs;
    int same;
  } all[] = {{"commit=ordered", 1}, {"commit=ordered:segmented=off", 0}, {"commit=dual", 0}, {"commit=clear", 0}};
  CASE("deterministic");
  matrix m(mixed, 900, 1);
  const wr_backend *backend;
  wr_env strict = *env;
  wr_plan *plan;
  strict.deterministic = 1;
  CHECK_OK(wr_backend_find("merbit", &backend));
  for (const auto &one : all) {
    CHECK_OK(wr_plan_create(backend, one.knobs, &m.A, env, &plan));
    CHECKF(plan && wr_plan_get_info(plan)->deterministic == one.same, "%s", one.knobs);
    wr_plan_destroy(plan);
    wr_status status = wr_plan_create(backend, one.knobs, &m.A, &strict, &plan);
    CHECKF(status == (one.same ? WR_OK : WR_EUNAVAILABLE), "%s: %s", one.knobs, wr_status_name(status));
    wr_plan_destroy(plan);
  }
  test_same_bits(env, "commit=ordered:sigma=2");
  test_same_bits(&strict, "sigma=1:gather=scattered");
}

/* ---- Scattered columns ---- */

enum { WINDOW = 1024, MOST_WINDOWS = 512 };

/* As merbit_kernel.h defines it, by sorting. */
static double count_scatter(const std::vector<int32_t> &col, int line) {
  int64_t nnz = (int64_t)col.size(), windows = std::min(nnz / WINDOW, (int64_t)MOST_WINDOWS), found = 0;
  int64_t distance = windows > 1 ? (nnz - WINDOW) / (windows - 1) : 0;
  std::vector<int32_t> lines(WINDOW);
  for (int64_t w = 0; w < windows; w++) {
    for (int64_t k = 0; k < WINDOW; k++) lines[(size_t)k] = col[(size_t)(w * distance + k)] / line;
    std::sort(lines.begin(), lines.end());
    found += std::unique(lines.begin(), lines.end()) - lines.begin();
  }
  return (double)found / ((double)windows * WINDOW);
}

static double scatter_of(wr_env *env, const std::vector<int32_t> &col, int64_t ncols) {
  wr_csr_view view = {};
  int32_t *there = nullptr;
  double share = NAN;
  CHECK_OK(wr_device_alloc(env, &there, (int64_t)col.size(), sizeof *there, "columns"));
  CHECK_OK(wr_device_upload(env, there, col.data(), (int64_t)col.size(), WR_AS_4_BYTES));
  view.col = there;
  CHECK_OK(wr_merbit_scatter(env, &view, ncols, (int64_t)col.size(), &share));
  wr_device_free(env, there);
  return share;
}

typedef int64_t (*column)(uint64_t k);
static int64_t neighbours(uint64_t k) { return (int64_t)k; }
static int64_t everywhere(uint64_t k) { return (int64_t)(hash_of(k) >> 33); }
static int64_t one_line(uint64_t k) { return 70000 + (int64_t)(k % 16); }
static int64_t by_33(uint64_t k) { return (int64_t)(k * 33 % 2000003); }
static int64_t by_lines(uint64_t k) { return (int64_t)(k % 60000 * 32768); }
static int64_t in_halves(uint64_t k) { return (int64_t)(k % 2 ? hash_of(k) >> 33 : k / 2); }
static int64_t late(uint64_t k) { return (int64_t)(k > 100000 ? hash_of(k) >> 33 : k); }

/* Two lines may share a bit of the table: the count may be too low, never too high. */
static void test_scatter(wr_env *env) {
  static const struct {
    const char *name;
    column of;
    int64_t nnz;
    double least, most; /* of the share, in f32 and f64 */
  } cases[] = {{"neighbours", neighbours, 200000, 0.03, 0.07},
               {"everywhere", everywhere, 200000, 0.94, 1},
               {"a single line", one_line, 5000, 0, 0.001},
               {"distance 33", by_33, 100000, 0.94, 1},
               {"distance of many lines", by_lines, 60000, 0.94, 1},
               {"halves", in_halves, 100000, 0.48, 0.55},
               {"neighbours, then everywhere", late, 200000, 0.45, 0.55},
               {"one window", everywhere, 1024, 0.94, 1},
               {"two windows", late, 2047 + 1, 0.03, 0.07},
               {"a rest", everywhere, 3000, 0.94, 1},
               {"more windows than the sample has", late, 700000, 0.8, 0.9}};
  int line = env->type == WR_F32 ? 32 : 16;
  for (const auto &c : cases) {
    CASE(c.name);
    std::vector<int32_t> col((size_t)c.nnz);
    for (size_t k = 0; k < col.size(); k++) col[k] = (int32_t)c.of(k);
    double got = scatter_of(env, col, WR_MAX_INDEX), exact = count_scatter(col, line);
    CHECKF(got <= exact && got >= 0.95 * exact, "%.4f, by counting %.4f", got, exact);
    CHECKF(exact >= c.least && exact <= c.most, "%.4f", exact);
  }
  CASE("too few entries, or an x that fits a cache");
  std::vector<int32_t> few(1023, 5), enough(1024, 5);
  int64_t fits = 196608 / wr_type_bytes(env->type);
  CHECK(scatter_of(env, few, WR_MAX_INDEX) == 0 && scatter_of(env, enough, fits) == 0);
  CHECK(scatter_of(env, enough, fits + 1) == 1.0 / 1024);
  CHECK(scatter_of(env, std::vector<int32_t>(), WR_MAX_INDEX) == 0);
}

/* The choices of prepare: sigma, and the knob that overrides the sample. */
static void test_gather(wr_env *env) {
  static const char *const knobs[] = {"gather=auto", "gather=local", "gather=scattered"};
  matrix m(three, 2000, 1);
  m.A.ncols = 60000;
  for (int scattered = 0; scattered < 2; scattered++) {
    for (size_t k = 0; k < m.col.size(); k++)
      m.col[k] = (int32_t)(k % 3 * 20000 + (scattered ? hash_of(k) % 20000 : k / 3));
    wr_csr_forget_device(&m.A);
    for (int k = 0; k < 3; k++) {
      CASE(knobs[k]);
      planned p(env, m, knobs[k]);
      const char *line = wr_plan_get_info(p.plan)->line;
      int expected = k == 0 ? scattered : k == 2;
      int sigma = !expected ? WR_MERBIT_SMALL : env->type == WR_F32 ? WR_MERBIT_SCATTERED_F32 : WR_MERBIT_SCATTERED_F64;
      CHECKF((strstr(line, "most cache left to x") != nullptr) == expected, "%s", line);
      CHECKF(strstr(line, ("32 x " + std::to_string(sigma)).c_str()) != nullptr, "%s", line);
    }
  }
}

/* ---- Counts beyond memory ---- */

typedef __int128 wide_int;

/* A plan of a matrix without arrays: exact estimates, or refused. */
static void test_count(wr_env *env, int64_t nrows, int64_t nnz, int sigma) {
  double value = 1;
  int64_t row_ptr = 0;
  wr_csr A = {};
  A.row_ptr = &row_ptr; /* not read */
  A.nrows = nrows, A.ncols = WR_MAX_INDEX, A.nnz = nnz, A.val = &value;
  const wr_backend *backend;
  wr_plan *plan = nullptr;
  wide_int tiles = ((wide_int)nrows + nnz + 32 * sigma - 1) / (32 * sigma), blocks = (tiles + 7) / 8;
  int fits = nnz >= 0 && nnz <= WR_MERBIT_MAX_NNZ && blocks <= INT32_MAX;
  CHECK_OK(wr_backend_find("merbit", &backend));
  wr_status status = wr_plan_create(backend, ("sigma=" + std::to_string(sigma)).c_str(), &A, env, &plan);
  CHECKF(status == (fits      ? WR_OK
                    : nnz < 0 ? WR_EUSAGE
                              : WR_EUNAVAILABLE),
         "%lld rows, %lld entries, sigma %d: %s", (long long)nrows, (long long)nnz, sigma, wr_status_name(status));
  if (fits && plan) {
    const wr_plan_info *info = wr_plan_get_info(plan);
    wide_int arrays = (tiles + 1) * (nnz > INT32_MAX ? 12 : 8) + tiles * 32 * (sigma <= 22 ? 4 : 8);
    wide_int entries = (wide_int)nnz * (4 + wr_type_bytes(env->type)), vectors = (wide_int)nrows + WR_MAX_INDEX;
    CHECKF(info->format_bytes == arrays + entries, "%lld bytes", (long long)info->format_bytes);
    CHECKF(info->extra_bytes == arrays + blocks * 24, "%lld bytes", (long long)info->extra_bytes);
    CHECK(info->apply_bytes == (double)(arrays + entries + vectors * wr_type_bytes(env->type)));
  }
  wr_plan_destroy(plan);
}

static void test_counts(wr_env *env) {
  static const int64_t rows[] = {1, 5, 1000003, WR_MAX_INDEX};
  const int64_t power31 = (int64_t)1 << 31, power32 = (int64_t)1 << 32;
  CASE("rows + nnz near 2^31, 2^32 and the most thread blocks");
  for (int64_t nrows : rows)
    for (int sigma : {1, 7, 22, 23, 32}) {
      const int64_t most = (int64_t)INT32_MAX * WR_MERBIT_WARPS * WR_MERBIT_LANES * sigma - nrows; /* fills a grid */
      for (int64_t near : {power31 - nrows, power31, power32 - nrows, power32, most})
        for (int64_t d = -2; d <= 2; d++) test_count(env, nrows, near + d, sigma);
      for (int64_t nnz : {WR_MERBIT_MAX_NNZ - 1, WR_MERBIT_MAX_NNZ, WR_MERBIT_MAX_NNZ + 1, INT64_MAX, (int64_t)-1})
        test_count(env, nrows, nnz, sigma);
    }
  CASE("thread blocks");
  for (int64_t tiles :
       {(int64_t)1, (int64_t)8, (int64_t)9, power31 * 8 - 8, power31 * 8, power31 * 8 + 1, power32 * 8}) {
    wr_merbit_format shape = wr_merbit_shape(1, 1, tiles * 32 - 1, 1);
    int64_t blocks = wr_merbit_blocks(&shape);
    CHECKF(shape.tiles == tiles && (blocks - 1) * 8 < tiles && tiles <= blocks * 8, "%lld", (long long)blocks);
  }
  wr_merbit_format most = wr_merbit_shape(WR_MAX_INDEX, 1, WR_MERBIT_MAX_NNZ, 1);
  CHECK(wr_merbit_blocks(&most) == ((int64_t)1 << 48) + ((int64_t)1 << 23));
}

static void test_device(wr_env *env) {
  test_scatter(env);
  test_gather(env);
  test_counts(env);
  test_all_knobs(env);
  test_chain(env, "sigma=1:commit=dual");
  test_chain(env, "sigma=3:commit=dual:segmented=off:long_rows=off");
  test_chain(env, "sigma=1:commit=clear");
  test_chain(env, "sigma=1:commit=ordered");
  test_chain(env, "sigma=1:commit=dual:completion=kernel");
  test_chain(env, "sigma=1:commit=ordered:completion=kernel");
  test_loop(env, "sigma=1:commit=dual");
  test_loop(env, "sigma=2:commit=ordered");
  test_loop(env, "sigma=2:commit=ordered:completion=kernel");
  test_deterministic(env);
}

int main(void) {
  on_device(test_device);
  return wr_test_report("merbit_knobs");
}
