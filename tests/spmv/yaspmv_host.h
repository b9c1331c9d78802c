/* BCCOO (spmv/backends/yaspmv/yaspmv_format.h) built on the host from the definitions of its arrays, each place by itself: what
 * the builder on a device is compared with. */
#ifndef WR_TEST_YASPMV_HOST_H
#define WR_TEST_YASPMV_HOST_H

#include <algorithm>
#include <set>
#include <vector>

#include "config/memory.h"
#include "spmv/backends/yaspmv/yaspmv_build.h"
#include "tests/check.h"

struct bccoo_block {
  int64_t row;    /* block row, of all slices */
  int64_t column; /* block column             */
  int64_t first;  /* first block column of the row */
  int64_t rank;   /* rows with blocks before it    */
  bool ends;      /* last of its row               */
};

static inline std::vector<bccoo_block> bccoo_list(const wr_csr *A, const wr_bccoo_options *o, int slices) {
  std::vector<bccoo_block> blocks;
  int64_t brows = (A->nrows + o->r - 1) / o->r, bcols = (A->ncols + o->c - 1) / o->c, rank = 0;
  int64_t width = (bcols + slices - 1) / slices;
  for (int64_t s = 0; s < slices; s++)
    for (int64_t i = 0; i < brows; i++) {
      std::set<int64_t> columns;
      for (int64_t row = i * o->r; row < std::min((i + 1) * o->r, A->nrows); row++)
        for (int64_t k = A->row_ptr[row]; k < A->row_ptr[row + 1]; k++)
          if (A->col[k] / o->c / width == s) columns.insert(A->col[k] / o->c);
      for (int64_t j : columns) blocks.push_back({s * brows + i, j, *columns.begin(), rank, j == *columns.rbegin()});
      rank += !columns.empty();
    }
  return blocks;
}

/* The difference that is stored for block g. */
static inline int64_t bccoo_difference(const std::vector<bccoo_block> &blocks, int64_t g, int tile, bool as_paper) {
  const bccoo_block &b = blocks[(size_t)g];
  if (g % tile == 0) return b.column - (as_paper ? 0 : b.first);
  const bccoo_block &last = blocks[(size_t)g - 1];
  return b.column - (last.ends && !as_paper ? last.first : last.column);
}

/* The least difference of the best window: of those that begin at the edge of a bucket, are whole buckets, and contain 0, the
 * first with the most sampled differences. */
static inline int32_t bccoo_best_window(const std::vector<bccoo_block> &blocks, int tile, int64_t lanes,
                                        int64_t bcols) {
  int64_t each = std::max((int64_t)1, lanes / WR_BCCOO_SAMPLED_LANES), bucket = 1, most = -1, best = 0;
  std::vector<int64_t> sample;
  while (2 * bcols / bucket >= (int64_t)1 << WR_BCCOO_BUCKET_BITS) bucket *= 2;
  if (bucket > WR_BCCOO_ESCAPE) return -(1 << 15);
  for (int64_t g = 0; g < (int64_t)blocks.size(); g++)
    if (g / tile % each == 0) sample.push_back(bccoo_difference(blocks, g, tile, false));
  std::sort(sample.begin(), sample.end());
  int64_t width = WR_BCCOO_ESCAPE / bucket * bucket, zero = bcols / bucket * bucket - bcols;
  for (int64_t low = zero + bucket - width; low <= zero && low + width <= bcols + bucket; low += bucket) {
    int64_t count = std::lower_bound(sample.begin(), sample.end(), low + width) -
                    std::lower_bound(sample.begin(), sample.end(), low);
    if (count > most) most = count, best = low;
  }
  return (int32_t)best;
}

template <typename T>
static inline T *bccoo_array_of(int64_t count) {
  T *array = nullptr;
  CHECK_OK(wr_alloc_zeroed(&array, count > 0 ? count : 1, sizeof(T), "an array"));
  return array;
}

/* The 16-bit code of a difference; *escapes: whether it stands for another. */
static inline uint16_t bccoo_code_of(const wr_bccoo *b, int64_t difference, bool *escapes) {
  bool as_paper = b->columns == WR_BCCOO_PAPER;
  *escapes = difference < b->low || difference > b->low + (as_paper ? 65535 : 65534) || (as_paper && difference == -1);
  return (uint16_t)(*escapes ? (as_paper ? 32767 : 65535) : difference - b->low);
}

template <typename T>
static inline void bccoo_values_on_host(const wr_csr *A, const std::vector<bccoo_block> &blocks, wr_bccoo *b) {
  int64_t places = wr_bccoo_warps(b) * 32 * b->tile, row, at;
  T *val = bccoo_array_of<T>(places * b->r * b->c);
  for (int64_t g = 0; g < places; g++)
    for (int r = 0; r < b->r; r++)
      for (int c = 0; c < b->c; c++) {
        T value = -(T)0;
        if (g < (int64_t)blocks.size()) {
          int64_t left = std::min(blocks[(size_t)g].column * b->c, b->ncols - b->c);
          row = blocks[(size_t)g].row % b->all_rows * b->r + r;
          at = row < b->nrows && (left + c) / b->c == blocks[(size_t)g].column ? wr_csr_find(A, row, left + c) : -1;
          if (at >= 0) value = A->val ? (T)A->val[at] : (T)1;
          if (at >= 0 && value == 0) value = 0;
        }
        int64_t warp = g / b->tile / 32, k = g % b->tile;
        val[(((warp * b->tile + k) * b->c + c) * b->r + r) * 32 + g / b->tile % 32] = value;
      }
  b->val = val;
}

static inline void bccoo_columns_on_host(const std::vector<bccoo_block> &blocks, wr_bccoo *b) {
  int64_t warps = wr_bccoo_warps(b), places = warps * 32 * b->tile;
  bool as_paper = b->columns == WR_BCCOO_PAPER, differences = wr_bccoo_has_differences(b), escapes;
  std::vector<int32_t> escaped;
  uint16_t *code = bccoo_array_of<uint16_t>(places);
  int32_t *wide = bccoo_array_of<int32_t>(places);
  if (b->columns == WR_BCCOO_DIFFERENCES) {
    b->base = bccoo_array_of<int32_t>(warps * 32), b->escape_from = bccoo_array_of<int64_t>(warps + 1);
    for (int64_t g = 0; g < (int64_t)blocks.size(); g += b->tile)
      b->base[g / b->tile] = (int32_t)blocks[(size_t)g].first;
  }
  for (int64_t place = 0; place < places; place++) {
    int64_t warp = place / 32 / b->tile, k = place / 32 % b->tile, g = (warp * 32 + place % 32) * b->tile + k;
    bool is_block = g < (int64_t)blocks.size();
    int64_t column = is_block ? blocks[(size_t)g].column : 0;
    wide[place] = (int32_t)column, code[place] = (uint16_t)column;
    if (!differences) continue;
    code[place] = bccoo_code_of(b, is_block ? bccoo_difference(blocks, g, b->tile, as_paper) : 0, &escapes);
    if (escapes && is_block && !as_paper) escaped.push_back((int32_t)column);
    if (!as_paper && (place + 1) % (32 * b->tile) == 0) b->escape_from[warp + 1] = (int64_t)escaped.size();
  }
  b->escapes = (int64_t)escaped.size();
  b->escaped = bccoo_array_of<int32_t>(b->escapes);
  std::copy(escaped.begin(), escaped.end(), b->escaped);
  b->code = code;
  if (b->columns == WR_BCCOO_WIDE) b->code = wide, wr_free(code);
  if (b->columns == WR_BCCOO_PAPER)
    b->full = wide;
  else if (b->columns != WR_BCCOO_WIDE)
    wr_free(wide);
}

/* Drops what differences need. */
static inline void bccoo_drop_columns(wr_bccoo *b) {
  void *const arrays[] = {b->code, b->base, b->escape_from, b->escaped, b->full};
  for (void *array : arrays) wr_free(array);
  b->code = NULL, b->base = NULL, b->escape_from = NULL, b->escaped = NULL, b->full = NULL, b->escapes = 0;
}

static inline void bccoo_flags_on_host(const std::vector<bccoo_block> &blocks, wr_bccoo *b) {
  int64_t warps = wr_bccoo_warps(b), lanes = warps * 32, count = (int64_t)blocks.size();
  int bytes = wr_bccoo_flag_bytes(b->tile), words = wr_bccoo_flag_words(b->tile);
  uint8_t *flag = bccoo_array_of<uint8_t>(lanes * words * bytes); /* little-endian words */
  b->entry = bccoo_array_of<uint16_t>(lanes), b->first = bccoo_array_of<uint32_t>(b->grid + 1);
  auto rank = [&](int64_t g) { return g < count ? blocks[(size_t)g].rank : b->brows; };
  for (int64_t g = 0; g < count; g++) {
    int64_t lane = g / b->tile, k = g % b->tile, word = (lane / 32 * words + k / 32) * 32 + lane % 32;
    if (blocks[(size_t)g].ends) flag[word * bytes + k % 32 / 8] |= (uint8_t)(1 << k % 8);
  }
  for (int64_t t = 0; t <= b->grid; t++) {
    int64_t g = t * b->threads * b->tile;
    bool open = 0 < g && g < count && !blocks[(size_t)g - 1].ends;
    b->first[t] = (uint32_t)rank(g) | (open ? WR_BCCOO_OPEN : 0);
    if (t < b->grid)
      b->shared_rows = std::max(b->shared_rows, (int)(rank(g + (int64_t)b->threads * b->tile) - rank(g)));
  }
  for (int64_t lane = 0; lane < lanes; lane++)
    b->entry[lane] = (uint16_t)(rank(lane * b->tile) - rank(lane / b->threads * b->threads * b->tile));
  b->flag = flag;
}

static inline void bccoo_rows_on_host(const std::vector<bccoo_block> &blocks, wr_bccoo *b) {
  int64_t rows = b->all_rows * b->slices, last = -1;
  std::vector<int32_t> with, without;
  for (const bccoo_block &block : blocks) {
    if (block.row == last) continue;
    for (int64_t i = last + 1; i < block.row; i++) without.push_back((int32_t)i);
    with.push_back((int32_t)(last = block.row));
  }
  for (int64_t i = last + 1; i < rows; i++) without.push_back((int32_t)i);
  b->brows = (int64_t)with.size();
  if (without.empty()) return;
  b->row = bccoo_array_of<int32_t>(b->brows);
  std::copy(with.begin(), with.end(), b->row);
  if (b->slices > 1) return;
  b->empty = (int64_t)without.size(), b->empty_row = bccoo_array_of<int32_t>(b->empty);
  std::copy(without.begin(), without.end(), b->empty_row);
}

static inline void bccoo_on_host(const wr_csr *A, const wr_bccoo_options *o, wr_type type, wr_bccoo *b) {
  int64_t bcols = (A->ncols + o->c - 1) / o->c, per = (int64_t)o->tile * o->threads;
  *b = {};
  b->nrows = A->nrows, b->ncols = A->ncols, b->type = type;
  b->r = o->r, b->c = o->c, b->tile = o->tile, b->threads = o->threads;
  b->slices = (int)std::min((int64_t)o->slices, bcols), b->all_rows = (A->nrows + o->r - 1) / o->r;
  std::vector<bccoo_block> blocks = bccoo_list(A, o, b->slices);
  b->blocks = (int64_t)blocks.size(), b->grid = (b->blocks + per - 1) / per;
  int64_t lanes = wr_bccoo_warps(b) * 32;
  bccoo_rows_on_host(blocks, b);
  bccoo_flags_on_host(blocks, b);
  b->columns = o->compress == WR_BCCOO_NEVER                    ? WR_BCCOO_WIDE
               : o->compress == WR_BCCOO_AS_PAPER               ? WR_BCCOO_PAPER
               : o->compress == WR_BCCOO_AUTO && bcols <= 65536 ? WR_BCCOO_NARROW
                                                                : WR_BCCOO_DIFFERENCES;
  if (b->columns == WR_BCCOO_PAPER) b->low = -32768;
  if (b->columns == WR_BCCOO_DIFFERENCES) b->low = bccoo_best_window(blocks, b->tile, lanes, bcols);
  bccoo_columns_on_host(blocks, b);
  if (o->compress == WR_BCCOO_AUTO && b->columns == WR_BCCOO_DIFFERENCES &&
      4 * (b->escapes + lanes) > 2 * lanes * b->tile) {
    bccoo_drop_columns(b);
    b->columns = WR_BCCOO_WIDE, b->low = 0;
    bccoo_columns_on_host(blocks, b);
  }
  b->valued = A->val != nullptr || b->r * b->c > 1;
  if (!b->valued) return;
  if (type == WR_F32)
    bccoo_values_on_host<float>(A, blocks, b);
  else
    bccoo_values_on_host<double>(A, blocks, b);
}

#endif
