/* ILU(0) on a device has the bits of the same algorithm on the host. */
#include <math.h>
#include <string.h>

#include "spmv/precond/factor_cuda.h"
#include "tests/kernels/lu_shapes.h"
#include "tests/kernels/on_device.h"

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
      pivot = isnan(pivot) ? bound : copysign(bound, pivot);
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

static void test_all(wr_env *env) {
  test_shapes(env);
  test_product(env);
}

int main(void) {
  on_device(test_all);
  return wr_test_report("factor_cuda");
}
