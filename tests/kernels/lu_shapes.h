/* Triangular factors with given shapes of levels, for the tests of solves on a device. */
#ifndef WR_TEST_LU_SHAPES_H
#define WR_TEST_LU_SHAPES_H

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "spmv/precond/lu.h"

/* A number of [0, below), the same for the same key. */
static inline int64_t drawn(int64_t key, int64_t below) {
  uint64_t z = ((uint64_t)key + 1) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
  return (int64_t)((z ^ z >> 32) % (uint64_t)below);
}

/* The columns below i of row i of L. */
typedef std::function<std::vector<int64_t>(int64_t i)> lower_shape;

struct factors {
  std::vector<int64_t> l_ptr, u_ptr;
  std::vector<int32_t> l_col, u_col, order;
  std::vector<double> l_val, u_val, inverse;
  wr_lu lu = {};

  /* U has the pattern of L with rows and columns in reverse. The sum of |values| of a row is at most 1/2 times the diagonal, so
   * errors do not grow. */
  factors(int64_t n, const lower_shape &shape, bool with_order) : l_ptr(1), u_ptr(1) {
    for (int64_t i = 0; i < n; i++) {
      add_row(i, shape(i), 1, l_col, l_val), l_ptr.push_back((int64_t)l_col.size());
      std::vector<int64_t> mirrored;
      for (int64_t j : shape(n - 1 - i)) mirrored.push_back(n - 1 - j);
      double diagonal = 1 + 0.25 * (double)drawn(i + 77, 9);
      add_row(i + n, mirrored, diagonal, u_col, u_val), u_ptr.push_back((int64_t)u_col.size());
      inverse.push_back((i % 3 == 0 ? -1 : 1) / diagonal);
      order.push_back((int32_t)i);
    }
    for (int64_t i = n - 1; i > 0; i--) std::swap(order[(size_t)i], order[(size_t)drawn(i + 5, i + 1)]);
    l_col.reserve(1), u_col.reserve(1); /* so that there are arrays even if they are empty */
    lu.n = n, lu.l_ptr = l_ptr.data(), lu.u_ptr = u_ptr.data(), lu.l_col = l_col.data(), lu.u_col = u_col.data();
    lu.l_val = l_val.data(), lu.u_val = u_val.data(), lu.inverse = inverse.data();
    lu.order = with_order ? order.data() : nullptr;
  }
  factors(const factors &) = delete;

  static void add_row(int64_t key, std::vector<int64_t> columns, double most, std::vector<int32_t> &col,
                      std::vector<double> &val) {
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    for (int64_t j : columns) {
      col.push_back((int32_t)j);
      val.push_back(most * (double)(drawn(key * 1000003 + j, 2001) - 1000) / 2000 / (double)columns.size());
    }
  }
};

#endif
