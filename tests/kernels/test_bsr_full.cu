/* Matrices of full blocks, or of blocks that lack a single entry, for which the builders on a device have faster paths.
 * Blocks are compared with those of the host's builder, and interleaved blocks with these, value by value. */
#include <string.h>

#include "spmv/blocks/bsr_build.h"
#include "spmv/backends/bsr/bsr_interleaved.h"
#include "spmv/device/device_memory.h"
#include "tests/kernels/on_device.h"
#include "tests/kernels/rows_fixture.h"

/* A rule for the blocks of r x c, each with all its entries; every gap-th block row has none. */
struct pattern {
  const char *name;
  int64_t brows, bcols; /* in blocks                 */
  int one_in, gap;      /* pseudo-random; 0: no gaps */
};

static const int sides[][2] = {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {8, 8}, {16, 16}, {16, 1}, {1, 16}};
constexpr int SIDES = sizeof sides / sizeof *sides;

/* The rows of these blocks, from which the test may remove an entry. */
struct blocks_matrix {
  std::vector<int64_t> row_ptr;
  std::vector<int32_t> col;
  std::vector<double> val;
  wr_csr A = {};

  /* less: rows and columns of the last blocks that lie beyond the matrix. */
  blocks_matrix(const pattern &p, int r, int c, int less_rows, int less_cols, bool exact) : row_ptr(1) {
    A.nrows = p.brows * r - less_rows, A.ncols = p.bcols * c - less_cols;
    for (int64_t i = 0; i < A.nrows; i++) {
      for (int64_t jb = 0; jb < p.bcols && (p.gap == 0 || i / r % p.gap != 0); jb++) {
        if (hash(i / r, jb) % (uint64_t)p.one_in != 0 && jb != p.bcols - 1) continue;
        for (int64_t j = jb * c; j < (jb + 1) * c && j < A.ncols; j++) {
          col.push_back((int32_t)j);
          val.push_back(exact ? (double)((i * 7 + j * 3) % 50) - 20 : value_at(i, j));
        }
      }
      row_ptr.push_back((int64_t)col.size());
    }
    set();
  }
  void set() {
    A.nnz = (int64_t)col.size();
    A.row_ptr = row_ptr.data(), A.col = col.data(), A.val = val.data();
  }
  void take_out(int64_t k) {
    col.erase(col.begin() + k), val.erase(val.begin() + k);
    for (int64_t &before : row_ptr) before -= before > k;
    set();
  }
  /* Moves the first entry from k on for which it is possible to the next column, so that one of several equal rows differs. */
  void move(int64_t k) {
    while (k + 1 < A.nnz && col[k + 1] == col[k] + 1) k++;
    if (col[k] + 1 < A.ncols) col[k]++;
  }
};

/* ---- BSR ---- */

static void check_rows(wr_env *env, const wr_csr *A, const wr_csr_view *view, int r, int c) {
  wr_bsr there, here, wanted;
  CHECK_OK(wr_bsr_device_build(env, A->nrows, A->ncols, A->nnz, view, r, c, &there));
  CHECK_OK(wr_bsr_download(env, &there, &here));
  CHECK_OK(wr_bsr_build(A, r, c, env->type, 0, &wanted));
  CHECKF(here.blocks == wanted.blocks, "%d x %d: %lld blocks, not %lld", r, c, (long long)here.blocks,
         (long long)wanted.blocks);
  if (here.blocks == wanted.blocks) {
    size_t values = (size_t)(wanted.blocks * r * c * wr_type_bytes(env->type));
    CHECKF(memcmp(here.row_ptr, wanted.row_ptr, (size_t)(wanted.brows + 1) * (wanted.wide ? 8 : 4)) == 0, "%d x %d", r,
           c);
    CHECKF(memcmp(here.col, wanted.col, (size_t)wanted.blocks * sizeof *wanted.col) == 0, "%d x %d", r, c);
    CHECKF(memcmp(here.val, wanted.val, values) == 0, "%d x %d", r, c);
  }
  wr_bsr_free(&here);
  wr_bsr_free(&wanted);
  wr_bsr_device_free(env, &there);
}

/* ---- Interleaved blocks ---- */

/* The index of value v of row u of inner block g, with 32 lanes of `each` blocks. */
static size_t place_of(const wr_bsr_interleaved &b, int64_t g, int u, int v) {
  int64_t warp = g / (32 * b.each), lane = g / b.each % 32, j = g % b.each;
  return (size_t)((((warp * b.each + j) * b.c + v) * b.r + u) * 32 + lane);
}

/* The expected col and val. blocks: in BSR, of the stored type. Compared as bytes, because of negative zeros. */
template <typename V>
static void lay_out(const wr_bsr &blocks, const wr_bsr_interleaved &b, std::vector<int32_t> &col, std::vector<V> &val) {
  int64_t lines = b.warps * b.each * 32, g = 0;
  const int32_t *row_ptr = (const int32_t *)blocks.row_ptr;
  const V *from = (const V *)blocks.val;
  col.assign((size_t)lines, 0), val.assign((size_t)(lines * b.r * b.c), 0);
  for (int64_t ib = 0; ib < blocks.brows; ib++)
    for (int above = 0; above < blocks.r; above += b.r)
      for (int64_t n = row_ptr[ib]; n < row_ptr[ib + 1]; n++)
        for (int left = 0; left < blocks.c; left += b.c, g++) {
          int64_t j = (int64_t)blocks.col[n] * blocks.c + left, begin = j < b.ncols - b.c ? j : b.ncols - b.c;
          int64_t warp = g / (32 * b.each), lane = g / b.each % 32;
          col[(size_t)((warp * b.each + g % b.each) * 32 + lane)] = (int32_t)begin;
          for (int u = 0; u < b.r; u++)
            for (int v = 0; v < b.c; v++) {
              int64_t at = ((n * blocks.r) + above + u) * blocks.c + left + (begin + v - j);
              val[place_of(b, g, u, v)] = begin + v < j ? -(V)0 : from[at];
            }
        }
}

template <typename V>
static void check_values(wr_env *env, const wr_bsr &blocks, const wr_bsr_interleaved &b) {
  std::vector<int32_t> col, col_there = downloaded<int32_t>(env, b.col, b.warps * b.each * 32);
  std::vector<V> val, val_there = downloaded<V>(env, b.val, b.warps * b.each * 32 * b.r * b.c);
  lay_out(blocks, b, col, val);
  size_t wrong = 0;
  while (wrong < val.size() && memcmp(&val[wrong], &val_there[wrong], sizeof(V)) == 0) wrong++;
  CHECKF(wrong == val.size(), "%d x %d, %d each: value %zu is %g, not %g", blocks.r, blocks.c, b.each, wrong,
         (double)val_there[wrong], (double)val[wrong]);
  CHECKF(memcmp(col.data(), col_there.data(), col.size() * sizeof(int32_t)) == 0, "%d x %d, %d each", blocks.r,
         blocks.c, b.each);
}

/* The decoder checks the words. */
static void check_interleaved(wr_env *env, const wr_csr *A, const wr_csr_view *view, int r, int c, int each) {
  wr_bsr_interleaved b;
  wr_bsr shape, blocks;
  wr_csr *B = nullptr;
  if (!wr_bsr_can_pack(r, c, A->ncols)) return;
  CHECK_OK(wr_bsr_pack(env, A, view, r, c, each, 1, &shape, &b));
  CHECK_OK(wr_bsr_build(A, r, c, b.stored, 0, &blocks));
  CHECK(b.blocks * b.r * b.c == blocks.blocks * r * c && !blocks.wide);
  if (b.stored == WR_F32)
    check_values<float>(env, blocks, b);
  else
    check_values<double>(env, blocks, b);
  CHECK_OK(wr_bsr_interleaved_decode(env, &b, A->val == nullptr, &B));
  CHECK(B && B->nnz == A->nnz && memcmp(A->row_ptr, B->row_ptr, (size_t)(A->nrows + 1) * sizeof *A->row_ptr) == 0);
  CHECK(B && B->nnz == A->nnz && memcmp(A->col, B->col, (size_t)A->nnz * sizeof *A->col) == 0);
  wr_csr_free(B);
  wr_bsr_free(&blocks);
  wr_bsr_interleaved_free(env, &b);
}

static void check_both(wr_env *env, blocks_matrix &m, int r, int c, bool is_pattern, int wide) {
  if (is_pattern) m.A.val = nullptr;
  wr_csr_view view = make_view(env, &m.A, wide);
  if (!is_pattern) check_rows(env, &m.A, &view, r, c);
  check_interleaved(env, &m.A, &view, r, c, wide ? 0 : 8);
  free_view(env, &view);
  m.set();
}

/* ---- Cases ---- */

/* Tiles with many rows, tiles with a part of one row, and tiles that end within a row or a block. */
static const pattern patterns[] = {
    {"many rows", 91, 20, 4, 0}, {"few rows", 7, 60, 1, 0}, {"rows between", 31, 40, 3, 5}};

static void test_full(wr_env *env) {
  for (const pattern &p : patterns) {
    CASE(p.name);
    for (int n = 0; n < SIDES; n++) {
      int r = sides[n][0], c = sides[n][1], wide = (n + (env->type == WR_F64)) % 2;
      for (int kind = 0; kind < 3; kind++) { /* any values, values exact in f32, a pattern */
        blocks_matrix m(p, r, c, 0, 0, kind == 1);
        check_both(env, m, r, c, kind == 2, wide);
      }
    }
  }
}

/* The last blocks reach past the last row, the last column, or both. */
static void test_edges(wr_env *env) {
  CASE("blocks that reach past the matrix");
  for (const pattern &p : patterns)
    for (int n = 1; n < SIDES; n++)
      for (int which = 1; which < 4; which++) {
        int r = sides[n][0], c = sides[n][1];
        blocks_matrix m(p, r, c, which & 1 ? (r + 1) / 2 % r : 0, which & 2 ? (c + 1) / 2 % c : 0, which == 2);
        check_both(env, m, r, c, false, which == 3);
      }
}

/* An entry is missing, in one of many tiles. */
static void test_missing(wr_env *env) {
  CASE("an entry is missing");
  for (const pattern &p : patterns)
    for (int n = 1; n < SIDES; n++)
      for (int share = 0; share < 3; share++) {
        blocks_matrix m(p, sides[n][0], sides[n][1], 0, 0, share == 1);
        m.take_out(share * (m.A.nnz - 1) / 2);
        check_both(env, m, sides[n][0], sides[n][1], share == 2, n % 2);
      }
}

/* ---- Block rows that are cut into parts ---- */

enum { MOVED, TAKEN, MOVED_IN_BLOCK, KINDS };

/* Changes one of a block row's rows at a fraction of its entries: its columns or its length then differ from the others'. */
static void spoil(blocks_matrix &m, int r, int64_t block_row, int row, int kind, double share) {
  int64_t i = block_row * r, entries = m.row_ptr[(size_t)i + 1] - m.row_ptr[(size_t)i];
  int64_t k = (int64_t)(share * (double)(entries - 2));
  if (kind == TAKEN) m.take_out(m.row_ptr[(size_t)(i + row)] + k);
  if (kind == MOVED) m.move(m.row_ptr[(size_t)(i + row)] + k);
  for (int n = 0; kind == MOVED_IN_BLOCK && n < r; n++) m.take_out(m.row_ptr[(size_t)(i + n)] + k + (n == row));
}

/* Four block rows and part of a fifth, of more than three parts each: 512 entries a row, more if r is no power of two. */
static pattern long_rows(int r, int c) {
  int group = 1;
  while (group < r) group *= 2;
  return {"long rows", 5, 2 * (3 * 512 * group / r + 100) / c, 2, 0};
}

static void test_long(wr_env *env) {
  static const int some[][2] = {{16, 16}, {3, 3}, {1, 16}, {8, 8}, {16, 1}, {5, 2}, {1, 1}};
  static const double shares[] = {0, 0.3, 0.6, 0.9};
  CASE("long rows");
  for (const auto &side : some) {
    int r = side[0], c = side[1];
    pattern p = long_rows(r, c);
    for (int at = -1; at < 4 * KINDS; at++) {
      blocks_matrix m(p, r, c, r / 2, at % 2 ? c / 2 : 0, true);
      int row = at % 3 == 1 ? 0 : (at * 5 + 14) % r;
      if (at >= 0) spoil(m, r, 1 + at % 3, row, at / 4, shares[at % 4]);
      wr_csr_view view = make_view(env, &m.A, at % 2 != 0);
      check_rows(env, &m.A, &view, r, c);
      if (at < 0) check_interleaved(env, &m.A, &view, r, c, 8);
      free_view(env, &view);
    }
  }
}

/* Rows of equal length, of which every fifth begins a column later than the one before it. */
static int64_t slanted(int64_t i, int64_t last, int64_t ncols) {
  return last < 0 ? i / 5 : last < i / 5 + 1999 ? last + 1 : ncols;
}

/* Rows without gaps: odd ones begin right after the end of the even ones, or `distance` columns later; the eighth is empty. */
static int64_t distance;
static int64_t adjacent(int64_t i, int64_t last, int64_t ncols) {
  int64_t begin = i % 2 * (2000 + distance);
  return i == 7 || last == begin + 1999 ? ncols : last < 0 ? begin : last + 1;
}

static void check_band(wr_env *env, const wr_csr *A) {
  wr_csr_view view = make_view(env, A, 0);
  check_rows(env, A, &view, 5, 4);
  check_rows(env, A, &view, 16, 16);
  check_interleaved(env, A, &view, 4, 4, 8);
  check_interleaved(env, A, &view, 16, 16, 0);
  free_view(env, &view);
}

static void test_band(wr_env *env) {
  CASE("bands");
  matrix slant(slanted, 45, 3000, true);
  check_band(env, &slant.A);
  for (distance = 0; distance < 40; distance += 13) {
    matrix m(adjacent, 45, 5000, true);
    check_band(env, &m.A);
  }
}

static void test_device(wr_env *env) {
  test_long(env);
  test_band(env);
  test_full(env);
  test_edges(env);
  test_missing(env);
}

int main(void) {
  on_device(test_device);
  return wr_test_report("bsr_full");
}
