/* The shares of a resident loop's matrix (spmv/loop/resident_share.cuh), made on a device: they hold each entry once, and the
 * steps of all threads, done on the host as the loop does them, give the product. */
#include <vector>

#include "spmv/loop/resident_share.h"
#include "tests/kernels/row_shapes.h"

/* Values and elements of x are small integers, so every sum is exact. */
static double small(int64_t i, int64_t j) { return (double)(hash(i, j) % 7) - 3; }

/* All images, as the host sees them. */
struct cut {
  wr_shares s = {};
  std::vector<wr_share> shares;
  std::vector<char> images;
  std::vector<int> times; /* [nnz] how often each entry was found */
  std::vector<double> y;
};

template <typename N>
static N read_at(const char *from, int64_t index) {
  N value;
  memcpy(&value, from + index * (int64_t)sizeof value, sizeof value);
  return value;
}

/* Counts the entry and returns what it is to be; 0 for padding, which lies where the matrix has no entry. */
static double find_entry(const wr_csr *A, cut *c, int64_t i, int64_t j) {
  int64_t at = i < A->nrows && j < A->ncols ? wr_csr_find(A, i, j) : -1;
  if (at < 0) return 0;
  c->times[(size_t)at]++;
  return A->val ? A->val[at] : 1;
}

template <typename T>
static void check_share(const wr_csr *A, cut *c, const wr_share *share) {
  int side = c->s.side, wrong = 0, used = 0;
  wr_share_layout at = wr_share_layout_of(share, c->s.value_bytes);
  const char *image = c->images.data() + share->at, *columns = image, *row_slots = image + at.row_slots;
  std::vector<double> slots((size_t)share->slots * (size_t)side);
  std::vector<int64_t> tile_row;
  CHECK(share->steps * share->width >= share->tiles && share->width <= WR_SHARE_THREADS);
  for (int k = 0; k < share->columns; k++)
    wrong += k && read_at<int32_t>(columns, k) <= read_at<int32_t>(columns, k - 1);
  CHECKF(wrong == 0, "columns do not ascend at %d places", wrong);
  /* The row of a tile is known only from the slots of the rows, which follow each other. */
  std::vector<int> row_of_slot((size_t)share->slots);
  for (int i = 0; i < share->rows; i++)
    for (int k = read_at<uint16_t>(row_slots, i); k < read_at<uint16_t>(row_slots, i + 1); k++)
      row_of_slot[(size_t)k] = i;
  CHECKF(read_at<uint16_t>(row_slots, share->rows) == share->slots, "%d slots", share->slots);
  for (int t = 0; t < share->width; t++) {
    int slot = read_at<uint16_t>(image + at.thread_slots, t);
    for (int k = 0; k < share->steps && t * share->steps + k < share->tiles; k++) {
      const char *step = image + at.first_step + (int64_t)k * at.step;
      int column = read_at<uint16_t>(step + at.column, t), number = column & WR_SHARE_COLUMN;
      CHECKF(slot < share->slots && number < share->columns, "slot %d, column %d", slot, number);
      if (slot >= share->slots || number >= share->columns) return;
      for (int r = 0; r < side; r++)
        for (int j = 0; j < side; j++) {
          int64_t row = (int64_t)(share->first + row_of_slot[(size_t)slot]) * side + r;
          int64_t col = (int64_t)read_at<int32_t>(columns, number) * side + j;
          double value = c->s.value_bytes ? (double)read_at<T>(step, (r * side + j) * share->width + t) : 1;
          wrong += value != find_entry(A, c, row, col);
          slots[(size_t)(slot * side + r)] += col < A->ncols ? value * small(7, col) : 0;
        }
      if (column & WR_SHARE_ENDS) slot++, used++;
    }
  }
  CHECKF(wrong == 0, "%d values are wrong", wrong);
  CHECKF(used == share->slots, "%d of %d slots are used", used, share->slots);
  for (int k = 0; k < share->slots; k++)
    for (int r = 0; r < side; r++) {
      int64_t row = (int64_t)(share->first + row_of_slot[(size_t)k]) * side + r;
      if (row < A->nrows) c->y[(size_t)row] += slots[(size_t)(k * side + r)];
    }
}

/* How far the work before row `row` of tiles is from that of the first `share` of `count` shares. */
static int64_t off_target(const wr_csr *A, int side, int64_t row, int64_t share, int64_t count) {
  int64_t rows = (A->nrows + side - 1) / side, from = row * side < A->nrows ? row * side : A->nrows;
  int64_t work = A->nnz + (int64_t)WR_SHARE_ROW_WEIGHT * side * rows;
  return llabs(A->row_ptr[from] + (int64_t)WR_SHARE_ROW_WEIGHT * side * row - work * share / count);
}

/* Share k begins at the row at which its work is nearest to an equal part. */
static void check_cut(const wr_csr *A, int side, const std::vector<wr_share> &shares) {
  int64_t count = (int64_t)shares.size(), rows = (A->nrows + side - 1) / side;
  for (int64_t k = 1; k < count; k++) {
    int64_t row = shares[(size_t)k].first, off = off_target(A, side, row, k, count);
    CHECKF((row == 0 || off <= off_target(A, side, row - 1, k, count)) &&
               (row == rows || off <= off_target(A, side, row + 1, k, count)),
           "share %lld begins at row %lld, %lld from its part", (long long)k, (long long)row, (long long)off);
  }
}

static void check_shares(wr_env *env, const wr_csr *A, const wr_csr_view *view, int side, int count) {
  wr_share_matrix m = {A->nrows, A->ncols, A->nnz, *view, side};
  cut c;
  c.times.resize((size_t)A->nnz), c.y.resize((size_t)A->nrows);
  CHECK_OK(wr_shares_count(env, &m, count, 4096, &c.s));
  CHECK_OK(wr_shares_fill(env, &m, &c.s));
  c.shares.resize((size_t)count);
  CHECK_OK(
      wr_device_download(env, c.shares.data(), c.s.on_device, count * (int64_t)(sizeof(wr_share) / 8), WR_AS_8_BYTES));
  CHECK(c.s.bytes % 8 == 0);
  std::vector<int64_t> words = downloaded<int64_t>(env, c.s.images, c.s.bytes / 8);
  c.images.assign((const char *)words.data(), (const char *)(words.data() + words.size()));
  int64_t next = 0, place = 0;
  for (const wr_share &share : c.shares) {
    CHECKF(share.first == next && share.at == place, "a share begins at row %d, byte %lld", share.first,
           (long long)share.at);
    next += share.rows, place += wr_share_bytes(&share, c.s.value_bytes);
    CHECK(share.columns <= c.s.columns);
    CHECK(wr_share_bytes(&share, c.s.value_bytes) + wr_share_beside(&share, side, 4096) <= c.s.most_bytes);
    env->type == WR_F32 ? check_share<float>(A, &c, &share) : check_share<double>(A, &c, &share);
  }
  check_cut(A, side, c.shares);
  CHECKF(next == (A->nrows + side - 1) / side && place == c.s.bytes, "%lld rows of tiles", (long long)next);
  int64_t longest = 0, wrong = 0, off = 0;
  for (int64_t i = 0; i < A->nrows; i++) {
    double sum = 0;
    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
      sum += (A->val ? A->val[e] : 1) * small(7, A->col[e]), wrong += c.times[(size_t)e] != 1;
    off += sum != c.y[(size_t)i];
    if (A->row_ptr[i + 1] - A->row_ptr[i] > longest) longest = A->row_ptr[i + 1] - A->row_ptr[i];
  }
  CHECKF(wrong == 0 && off == 0, "%lld entries are not there once, %lld rows are wrong", (long long)wrong,
         (long long)off);
  CHECKF(c.s.most == longest, "the longest row has %d entries, not %lld", c.s.most, (long long)longest);
  wr_shares_free(env, &c.s);
  CHECK(c.s.on_device == nullptr && c.s.images == nullptr);
}

static void test_shape(wr_env *env, const row_shape *shape, bool with_values) {
  static const int counts[] = {1, 2, 7, 132};
  char name[200];
  matrix m(shape->next, shape->nrows, shape->ncols, with_values);
  for (int64_t i = 0; i < m.A.nrows && with_values; i++)
    for (int64_t e = m.A.row_ptr[i]; e < m.A.row_ptr[i + 1]; e++) m.val[(size_t)e] = small(i, m.A.col[e]);
  wr_csr_view view = make_view(env, &m.A, 0);
  for (int count : counts)
    for (int side = 1; side <= (with_values ? (int)WR_SHARE_SIDES : 1); side++) {
      snprintf(name, sizeof name, "%s, %s, %d shares of tiles of %d", shape->name, with_values ? "values" : "a pattern",
               count, side);
      CASE(name);
      check_shares(env, &m.A, &view, side, count);
    }
  free_view(env, &view);
}

/* A share with columns further apart than can be counted is refused. */
static void test_refused(wr_env *env) {
  int64_t n = 1000000;
  matrix m(
      [](int64_t i, int64_t last, int64_t ncols) {
        return i ? ncols : last < 0 ? 0 : last == 0 ? ncols - 1 : ncols;
      },
      n, n, true);
  wr_csr_view view = make_view(env, &m.A, 0);
  wr_share_matrix a = {n, n, m.A.nnz, view, 1};
  wr_shares s;
  CASE("columns too far apart");
  CHECK(wr_shares_count(env, &a, 132, 0, &s) == WR_EUNAVAILABLE);
  CHECK(s.on_device == nullptr);
  free_view(env, &view);
}

static void test_device(wr_env *env) {
  for (const row_shape &shape : row_shapes)
    for (int with_values = 0; with_values < 2; with_values++)
      if (shape.ncols <= 100000) test_shape(env, &shape, with_values);
  test_refused(env);
}

int main(void) {
  on_device(test_device);
  return wr_test_report("resident_share");
}
