/* ILU(0) on a device has the bits of the same algorithm on the host. */
#include <cuda_runtime.h>
#include <math.h>
#include <string.h>

#include "config/defaults.h"
#include "spmv/device/device_memory.h"
#include "spmv/precond/factor_cuda.h"
#include "spmv/precond/ilu.h"
#include "tests/kernels/lu_shapes.h"
#include "tests/kernels/on_device.h"
#ifdef WR_SIMT
#include "tests/simt/simt.h"
#endif

static const double least = 1e-6;

/* Saad 2003, algorithm 10.4, row by row on dense rows of places. */
static int64_t factorise_on_host(factors &f, int64_t *first) {
  int64_t n = f.lu.n, shifted = 0;
  std::vector<double *> at((size_t)n);
  *first = -1;
  for (int64_t i = 0; i < n; i++) {
    double size = fabs(f.inverse[(size_t)i]);
    std::fill(at.begin(), at.end(), nullptr);
    at[(size_t)i] = &f.inverse[(size_t)i];
    for (int64_t k = f.l_ptr[(size_t)i]; k < f.l_ptr[(size_t)i + 1]; k++)
      at[(size_t)f.l_col[(size_t)k]] = &f.l_val[(size_t)k];
    for (int64_t k = f.u_ptr[(size_t)i]; k < f.u_ptr[(size_t)i + 1]; k++)
      at[(size_t)f.u_col[(size_t)k]] = &f.u_val[(size_t)k];
    for (const double *value : at) size = value && fabs(*value) > size ? fabs(*value) : size;
    for (int64_t k = f.l_ptr[(size_t)i]; k < f.l_ptr[(size_t)i + 1]; k++) {
      size_t above = (size_t)f.l_col[(size_t)k];
      double factor = f.l_val[(size_t)k] = f.l_val[(size_t)k] * f.inverse[above];
      for (int64_t e = f.u_ptr[above]; e < f.u_ptr[above + 1]; e++) {
        volatile double product = factor * f.u_val[(size_t)e]; /* rounded before the subtraction */
        if (at[(size_t)f.u_col[(size_t)e]]) *at[(size_t)f.u_col[(size_t)e]] -= product;
      }
    }
    double pivot = f.inverse[(size_t)i], bound = size > 0 ? least * size : 1;
    if (!(fabs(pivot) >= bound)) {
      double to = size > 0 ? WR_SHIFTED_PIVOT * size : 1;
      pivot = isnan(pivot) ? to : copysign(to, pivot);
      if (shifted++ == 0) *first = i;
    }
    f.inverse[(size_t)i] = 1 / pivot;
  }
  return shifted;
}

static bool same_bits(const std::vector<double> &a, const std::vector<double> &b) {
  return a.size() == b.size() && (a.empty() || memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0);
}

/* kind 0: diagonals of about the size of the rest; 1: zero and tiny ones among them; 2: rows of zeros, too. */
static void compare(wr_env *env, int64_t n, const lower_shape &shape, int kind) {
  factors host(n, shape, false), device(n, shape, false);
  for (factors *f : {&host, &device})
    for (int64_t i = 0; i < n; i++) {
      double &diagonal = f->inverse[(size_t)i];
      if (kind >= 1 && i % 5 == 1) diagonal = 0;
      if (kind >= 1 && i % 7 == 2) diagonal = -1e-200;
      for (int64_t k = f->l_ptr[(size_t)i]; kind == 2 && i % 6 == 1 && k < f->l_ptr[(size_t)i + 1]; k++)
        f->l_val[(size_t)k] = 0;
      for (int64_t k = f->u_ptr[(size_t)i]; kind == 2 && i % 6 == 1 && k < f->u_ptr[(size_t)i + 1]; k++)
        f->u_val[(size_t)k] = 0;
    }
  int64_t first, shifted, first_here, shifted_here = factorise_on_host(host, &first_here);
  CHECK_OK(wr_ilu0_cuda(&device.lu, least, env, &shifted, &first));
  CHECKF(shifted == shifted_here && first == first_here, "%lld pivots shifted, from row %lld; %lld, from row %lld",
         (long long)shifted, (long long)first, (long long)shifted_here, (long long)first_here);
  CHECK(kind < 2 || n < 10 || shifted > 0);
  CHECK(same_bits(host.l_val, device.l_val));
  CHECK(same_bits(host.u_val, device.u_val));
  CHECK(same_bits(host.inverse, device.inverse));
}

typedef std::vector<int64_t> columns;

static void test_shapes(wr_env *env) {
  lower_shape nothing = [](int64_t) { return columns{}; };
  lower_shape chain = [](int64_t i) { return i > 0 ? columns{i - 1} : columns{}; };
  lower_shape grid = [](int64_t i) { /* with diagonals of the cells, so that updates find places off the diagonal */
                                     columns c;
                                     for (int64_t back : {1, 29, 30, 31})
                                       if (i >= back) c.push_back(i - back);
                                     return c;
  };
  lower_shape irregular = [](int64_t i) {
    columns c;
    for (int64_t k = i % 7 == 0 ? 0 : drawn(i, 40); k > 0 && i > 0; k--)
      c.push_back(i - 1 - drawn(i * 1009 + k, std::min<int64_t>(i, 300)));
    return c;
  };
  lower_shape full = [](int64_t i) {
    columns c;
    for (int64_t j = 0; j < i; j++) c.push_back(j);
    return c;
  };
  struct {
    const char *name;
    int64_t n;
    const lower_shape &shape;
  } const cases[] = {{"no rows", 0, nothing}, {"one row", 1, nothing},         {"diagonal", 500, nothing},
                     {"chain", 400, chain},   {"grid", 900, grid},             {"irregular", 1200, irregular},
                     {"full", 90, full}};
  for (const auto &c : cases)
    for (int kind = 0; kind < 3; kind++) CASE(c.name), compare(env, c.n, c.shape, kind);
}

/* A full matrix has no fill, so L U = A within the bound of Gaussian elimination, |L U - A| <= gamma_n |L| |U| (Higham,
 * Accuracy and Stability of Numerical Algorithms, theorem 9.3); U's diagonal is stored as its inverse, two roundings more. */
static void test_product(wr_env *env) {
  CASE("L U = A");
  const int64_t n = 60;
  lower_shape full = [](int64_t i) {
    columns c;
    for (int64_t j = 0; j < i; j++) c.push_back(j);
    return c;
  };
  factors of(n, full, false), given(n, full, false);
  int64_t shifted, first, wrong = 0;
  CHECK_OK(wr_ilu0_cuda(&of.lu, least, env, &shifted, &first));
  auto entry = [&](const factors &f, int64_t i, int64_t j) -> long double {
    if (j < i) return f.l_val[(size_t)(f.l_ptr[(size_t)i] + j)];
    return f.u_val[(size_t)(f.u_ptr[(size_t)i] + j - i - 1)];
  };
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      long double sum = 0, size = 0, a = i == j ? (long double)given.inverse[(size_t)i] : entry(given, i, j);
      for (int64_t k = 0; k <= std::min(i, j); k++) {
        long double l = k == i ? 1 : entry(of, i, k),
                    u = k == j ? 1 / (long double)of.inverse[(size_t)j] : entry(of, k, j);
        sum += l * u, size += fabsl(l * u);
      }
      wrong += !(fabsl(sum - a) <= (n + 3) * DBL_EPSILON * size);
    }
  CHECKF(shifted == 0 && wrong == 0, "%lld elements of L U differ, %lld pivots shifted", (long long)wrong,
         (long long)shifted);
}

/* ---- As a part of wr_ilu0_at ---- */

/* A matrix of n rows with entries at the given distances from the diagonal. */
struct band {
  std::vector<int64_t> row_ptr = {0};
  std::vector<int32_t> col;
  std::vector<double> val;
  wr_csr A = {};

  band(
      int64_t n, const columns &distances, const std::function<double(int64_t i, int64_t j)> &value,
      const std::function<bool(int64_t i, int64_t j)> &has = [](int64_t, int64_t) { return true; }) {
    for (int64_t i = 0; i < n; i++) {
      for (int64_t distance : distances)
        if (i + distance >= 0 && i + distance < n && has(i, i + distance))
          col.push_back((int32_t)(i + distance)), val.push_back(value(i, i + distance));
      row_ptr.push_back((int64_t)col.size());
    }
    A.nrows = A.ncols = n, A.nnz = (int64_t)col.size();
    A.row_ptr = row_ptr.data(), A.col = col.data(), A.val = val.data();
  }
  band(const band &) = delete;
};

static bool same_factors(const wr_lu &a, const wr_lu &b) {
  size_t n = (size_t)a.n, below = (size_t)a.l_ptr[n], above = (size_t)a.u_ptr[n];
  return a.n == b.n && memcmp(a.l_ptr, b.l_ptr, (n + 1) * sizeof *a.l_ptr) == 0 &&
         memcmp(a.u_ptr, b.u_ptr, (n + 1) * sizeof *a.u_ptr) == 0 &&
         memcmp(a.l_col, b.l_col, below * sizeof *a.l_col) == 0 &&
         memcmp(a.u_col, b.u_col, above * sizeof *a.u_col) == 0 &&
         memcmp(a.l_val, b.l_val, below * sizeof *a.l_val) == 0 &&
         memcmp(a.u_val, b.u_val, above * sizeof *a.u_val) == 0 &&
         memcmp(a.inverse, b.inverse, n * sizeof *a.inverse) == 0;
}

/* At all places: the factors, shifts and failures of wr_ilu0, bit for bit and word for word. */
static void compare_places(wr_env *env, const band &m, wr_status expected) {
  wr_lu host = {};
  wr_ilu_shifts shifts;
  char sentence[300] = "";
  CHECK_FAILS(expected, wr_ilu0(&m.A, least, nullptr, &host, &shifts));
  if (expected != WR_OK) snprintf(sentence, sizeof sentence, "%s", wr_status_message());
  for (wr_ilu_at at : {WR_ILU_AT_AUTO, WR_ILU_AT_HOST, WR_ILU_AT_DEVICE}) {
    wr_lu lu = {};
    wr_ilu_shifts here;
    CHECK_FAILS(expected, wr_ilu0_at(&m.A, least, at, env, &lu, &here));
    if (expected != WR_OK)
      CHECKF(strcmp(wr_status_message(), sentence) == 0, "'%s', not '%s'", wr_status_message(), sentence);
    else
      CHECKF(same_factors(lu, host) && here.count == shifts.count && here.first_row == shifts.first_row, "at %d", at);
    wr_lu_free(&lu);
  }
  wr_lu_free(&host);
}

static void test_places(wr_env *env) {
  const columns nine = {-31, -30, -29, -1, 0, 1, 29, 30, 31};
  auto usual = [](int64_t i, int64_t j) { return i == j ? 3.0 : (double)(drawn(i * 1009 + j, 201) - 100) / 100; };
  CASE("at both places");
  compare_places(env, band(900, nine, usual), WR_OK);
  CASE("at both places, pivots shifted");
  compare_places(env, band(900, nine, [&](int64_t i, int64_t j) { return i == j && i % 7 == 3 ? 0.0 : usual(i, j); }),
                 WR_OK);
  CASE("at both places, an element overflows");
  compare_places(env,
                 band(900, nine,
                      [&](int64_t i, int64_t j) {
                        return usual(i, j) * (i == 200 ? 1e300 : i == 170 ? 1e-300 : 1);
                      }),
                 WR_ENUMERIC);
  CASE("at both places, a pivot overflows");
  const double picture[2][2] = {{1, 5e5}, {1e305, 1}};
  compare_places(env, band(2, {-1, 0, 1}, [&](int64_t i, int64_t j) { return picture[i][j]; }), WR_ENUMERIC);
  CASE("at both places, an inverse overflows");
  compare_places(env, band(300, {-1, 0}, [](int64_t i, int64_t) { return i == 77 ? 1e-320 : 1; }), WR_ENUMERIC);
}

static int ends(void *left) { return (*(int *)left)-- == 0; }

/* A chain of 2000 levels is asked about every 256 of them, and nothing is left on the device when it ends. */
static void test_watch(wr_env *env) {
  CASE("ended by the watch");
  band m(2000, {-1, 0, 1}, [](int64_t i, int64_t j) { return i == j ? 3 : -1; });
  int64_t live = wr_device_blocks();
  int asked = 0;
  for (wr_status status = WR_EUNAVAILABLE; status != WR_OK && asked < 100; asked++) {
    wr_lu lu = {};
    wr_ilu_shifts shifts;
    int left = asked;
    const wr_watch watch = {ends, &left, nullptr};
    env->watch = &watch;
    status = wr_ilu0_at(&m.A, least, WR_ILU_AT_DEVICE, env, &lu, &shifts);
    env->watch = nullptr;
    if (status != WR_OK) CHECK(status == WR_EUNAVAILABLE);
    if (status != WR_OK) CHECK_MESSAGE("was ended early, by a signal or at the time limit");
    CHECK(wr_device_blocks() == live);
    wr_lu_free(&lu);
  }
  CHECKF(asked == 2000 / 256 + 1, "asked %d times", asked - 1);
}

#ifdef WR_SIMT
/* 1: the device factorises m, since it asks for memory. */
static int is_made_there(wr_env *env, const band &m) {
  wr_lu lu = {};
  wr_ilu_shifts shifts;
  (void)simt_memory_end(0);
  wr_status status = wr_ilu0_at(&m.A, least, WR_ILU_AT_AUTO, env, &lu, &shifts);
  int asked = simt_memory_end(-1);
  CHECK_OK(status); /* without the memory the host makes them */
  CHECK(lu.n == m.A.nrows && lu.inverse[0] * m.A.val[0] == 1);
  wr_lu_free(&lu);
  return asked;
}

/* Full blocks, of which each row has many updates, go to the device; a grid of five points, and a chain, do not. */
static void test_choice(wr_env *env) {
  CASE("where the shorter time is expected");
  const int64_t width = 40;
  columns near;
  for (int64_t d = 1 - width; d < width; d++) near.push_back(d);
  auto value = [](int64_t i, int64_t j) { return i == j ? 100.0 : 1.0; };
  band blocks(200 * width, near, value, [&](int64_t i, int64_t j) { return i / width == j / width; });
  CHECK(is_made_there(env, blocks));
  CHECK(!is_made_there(env, band(10000, {-100, -1, 0, 1, 100}, value)));
  CHECK(!is_made_there(env, band(10000, {-1, 0}, value)));
  env->testing->poison = 0;
}

static void test_no_memory(wr_env *env) {
  CASE("failing allocations");
  env->testing->poison = 1; /* freed blocks are not kept */
  band m(500, {-20, -1, 0, 1, 20}, [](int64_t i, int64_t j) { return i == j ? 5 : -1; });
  int64_t live = wr_device_blocks();
  int failures = 0;
  for (bool refused = true; refused && failures < 100; failures += refused) {
    wr_lu lu = {};
    wr_ilu_shifts shifts;
    (void)simt_memory_end(failures);
    wr_status status = wr_ilu0_at(&m.A, least, WR_ILU_AT_DEVICE, env, &lu, &shifts);
    refused = simt_memory_end(-1);
    CHECKF(status == (refused ? WR_ENOMEM : WR_OK), "%s", wr_status_message());
    CHECKF(wr_device_blocks() == live, "%lld allocations are left", (long long)(wr_device_blocks() - live));
    wr_lu_free(&lu);
  }
  CHECKF(failures == 10, "%d allocations", failures);
}
#endif

static void test_all(wr_env *env) {
#ifdef WR_SIMT
  test_no_memory(env); /* before there are blocks that were kept */
  test_choice(env);
#endif
  test_shapes(env);
  test_product(env);
  test_places(env);
  test_watch(env);
}

int main(void) {
  on_device(test_all);
  return wr_test_report("factor_cuda");
}
