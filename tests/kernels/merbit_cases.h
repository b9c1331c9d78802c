/* Matrices of small integers, so that every sum of a multiply is exact in f32 whatever the order, and results can be compared
 * bit for bit. Their shapes are given in steps of MERBIT's path, as the cases differ in where rows begin and end relative to
 * thread blocks. */
#ifndef WR_MERBIT_CASES_H
#define WR_MERBIT_CASES_H

#include <algorithm>
#include <vector>

#include "spmv/matrix/csr.h"
#include "spmv/backends/merbit/merbit_kernel.h"
#include "tests/check.h"

typedef std::vector<double> numbers;

static inline uint64_t hash_of(uint64_t n) {
  n = (n + 1) * 0x9E3779B97F4A7C15u;
  n = (n ^ n >> 31) * 0xBF58476D1CE4E5B9u;
  return n ^ n >> 29;
}

/* ---- Shapes ---- */

/* Entries of row i; block, tile: the steps of each. */
typedef int64_t (*row_length)(int64_t i, int64_t nrows, int64_t block, int64_t tile);

static int64_t empty(int64_t, int64_t, int64_t, int64_t) { return 0; }
static int64_t two(int64_t, int64_t, int64_t, int64_t) { return 2; }
static int64_t three(int64_t, int64_t, int64_t, int64_t) { return 3; }
static int64_t six(int64_t, int64_t, int64_t, int64_t) { return 6; }
static int64_t huge(int64_t, int64_t, int64_t, int64_t) { return 100000; }
static int64_t whole_tiles(int64_t, int64_t, int64_t, int64_t tile) { return tile - 1; }
static int64_t whole_blocks(int64_t, int64_t, int64_t block, int64_t) { return block - 1; }
static int64_t begin_last(int64_t i, int64_t, int64_t block, int64_t) { return i ? block - 1 : block - 2; }
static int64_t end_first(int64_t i, int64_t, int64_t block, int64_t) { return i ? block - 1 : block; }
static int64_t long_first(int64_t i, int64_t, int64_t block, int64_t) { return i ? 0 : 3 * block + 17; }
static int64_t long_last(int64_t i, int64_t n, int64_t block, int64_t) { return i == n - 1 ? 2 * block + 5 : 0; }
static int64_t tile_filled(int64_t i, int64_t, int64_t, int64_t tile) { return i == 0 ? 1 : i == 1 ? tile - 2 : 0; }
static int64_t block_filled(int64_t i, int64_t, int64_t block, int64_t) { return i == 0 ? 1 : i == 1 ? block - 2 : 0; }
static int64_t empty_ends(int64_t i, int64_t n, int64_t, int64_t) { return i < n / 3 || i > n / 2 ? 0 : 1 + i % 15; }
static int64_t mixed(int64_t i, int64_t n, int64_t, int64_t) {
  uint64_t hash = hash_of((uint64_t)i);
  if (i == n / 2) return 6000;
  return (int64_t)(hash >> 40) % (hash >> 60 == 0 ? 900 : hash >> 61 < 4 ? 2 : 14);
}

typedef struct shape {
  const char *name;
  row_length length;
  int64_t nrows;
} shape;

/* The counts of rows are for 1280 steps a block. */
enum { SHAPE_SIGMA = 5 };
static const shape shapes[] = {{"one row over many blocks", huge, 1},
                               {"all rows empty", empty, 3000},
                               {"empty rows first and last", empty_ends, 3000},
                               {"fewer steps than a tile", two, 3},
                               {"one block", three, 320},
                               {"exactly three blocks", three, 960},
                               {"exactly seven blocks, rows across them", six, 1280},
                               {"a row a tile", whole_tiles, 20},
                               {"a row a block", whole_blocks, 4},
                               {"rows begin with a block's last step", begin_last, 5},
                               {"rows end with a block's first step", end_first, 5},
                               {"a long row, then blocks without entries", long_first, 4000},
                               {"blocks without entries, then a long row", long_last, 4000},
                               {"a tile without entries ends the row of the one before it", tile_filled, 600},
                               {"a block without entries ends the row of the one before it", block_filled, 4000},
                               {"mixed", mixed, 700}};

/* ---- Matrices ---- */

struct matrix {
  int64_t block; /* steps of a thread block */
  std::vector<int64_t> row_ptr;
  std::vector<int32_t> col;
  numbers val;
  wr_csr A = {};

  matrix(row_length length, int64_t nrows, int sigma, bool pattern = false)
      : block((int64_t)WR_MERBIT_WARPS * WR_MERBIT_LANES * sigma), row_ptr((size_t)nrows + 1) {
    int64_t longest = 0;
    for (int64_t i = 0; i < nrows; i++) {
      int64_t entries = length(i, nrows, block, block / WR_MERBIT_WARPS);
      row_ptr[(size_t)i + 1] = row_ptr[(size_t)i] + entries;
      longest = std::max(longest, entries);
    }
    A.nrows = nrows, A.ncols = std::max(longest, (int64_t)2111), A.nnz = row_ptr[(size_t)nrows];
    for (int64_t i = 0; i < nrows; i++) place(i, row_ptr[(size_t)i + 1] - row_ptr[(size_t)i]);
    A.row_ptr = row_ptr.data(), A.col = col.data(), A.val = pattern ? nullptr : val.data();
  }
  matrix(const shape &s, bool pattern = false) : matrix(s.length, s.nrows, SHAPE_SIGMA, pattern) {}
  matrix(const matrix &) = delete;
  ~matrix() { wr_csr_forget_device(&A); }

  /* Columns at equal distances; values -4..4 without 0. */
  void place(int64_t i, int64_t entries) {
    int64_t distance = entries ? std::min(A.ncols / entries, (int64_t)1 + i % 5) : 1;
    int64_t first = (int64_t)(hash_of((uint64_t)i) % (uint64_t)(A.ncols - (entries - 1) * distance * (entries > 0)));
    for (int64_t k = 0; k < entries; k++) {
      int value = (int)(hash_of(col.size()) % 8) - 4;
      col.push_back((int32_t)(first + k * distance));
      val.push_back(value < 0 ? value : value + 1);
    }
  }

  /* Rows with their first and last steps in different blocks. */
  bool is_shared(int64_t i) const { return (row_ptr[(size_t)i] + i) / block != (row_ptr[(size_t)i + 1] + i) / block; }

  numbers multiply(const numbers &x) const {
    numbers y((size_t)A.nrows);
    for (int64_t i = 0; i < A.nrows; i++)
      for (int64_t k = row_ptr[(size_t)i]; k < row_ptr[(size_t)i + 1]; k++)
        y[(size_t)i] += (A.val ? val[(size_t)k] : 1) * x[(size_t)col[(size_t)k]];
    return y;
  }
};

/* [n] pseudo-random integers in -range..range. */
static inline numbers make_numbers(int64_t n, int range, uint64_t seed) {
  numbers v((size_t)n);
  for (size_t k = 0; k < v.size(); k++)
    v[k] = (double)(hash_of(seed * 0x51ED27u + k) % (uint64_t)(2 * range + 1)) - range;
  return v;
}

/* ---- Vectors on the device ---- */

/* A vector with guard elements before and after it. */
struct guarded {
  enum { ROOM = 64, MARK = -12321 };
  wr_env *env;
  wr_vec all = {}, v = {};

  guarded(wr_env *env, const numbers &values) : env(env) {
    int64_t n = (int64_t)values.size();
    CHECK_OK(env->ops->alloc(env, n + 2 * ROOM, env->type, "a guarded vector", &all));
    v = all;
    v.n = n, v.data = (char *)all.data + ROOM * wr_type_bytes(env->type);
    set(values);
  }
  guarded(const guarded &) = delete;
  ~guarded() { env->ops->release(env, &all); }

  void set(const numbers &values) {
    numbers with_marks((size_t)all.n, (double)MARK);
    std::copy(values.begin(), values.end(), with_marks.begin() + ROOM);
    CHECK_OK(env->ops->upload(env, &all, with_marks.data()));
    v.writes++;
  }
  numbers get() {
    numbers values((size_t)all.n);
    CHECK_OK(env->ops->download(env, &all, values.data()));
    int64_t damaged = 0;
    for (int64_t k = 0; k < ROOM; k++)
      damaged += (values[(size_t)k] != (double)MARK) + (values[(size_t)(ROOM + v.n + k)] != (double)MARK);
    CHECKF(damaged == 0, "%lld guard elements were overwritten", (long long)damaged);
    return numbers(values.begin() + ROOM, values.end() - ROOM);
  }
};

/* Checks that all are equal or both NaN; reports the first that differs. */
static inline void check_numbers(const char *what, const numbers &got, const numbers &expected) {
  size_t at = 0, n = expected.size();
  while (at < n && (got[at] == expected[at] || (isnan(got[at]) && isnan(expected[at])))) at++;
  CHECKF(got.size() == n && at == n, "%s[%zu] of %zu is %g, not %g", what, at, n, at < n ? got[at] : 0,
         at < n ? expected[at] : 0);
}

#endif
