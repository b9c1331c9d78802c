/* From interleaved rows back to rows, on the host, for the round-trip test; checks what the kernels rely on. */
#include "config/memory.h"
#include "spmv/backends/lane_csr/lane_csr_build.h"

static wr_status broken(int64_t chunk, const char *what) {
  return wr_fail(WR_EINTERNAL, "chunk %lld: %s", (long long)chunk, what);
}

/* The code of full columns that a place has. *right: whether windows and halves can be read. */
static int32_t code_at(const wr_lane_csr *c, int64_t w, int lane, int j, int *right) {
  int64_t place = wr_lane_place(w, lane, j, 2);
  *right = 1;
  if (c->code) return c->code[wr_lane_place(w, lane, j, 4)];
  int32_t low = c->low[place], first = c->window[2 * w], second = c->window[2 * w + 1];
  if (second != WR_LANE_WIDE)
    return low == WR_LANE_NONE ? WR_LANE_PADDING : low + (low < WR_LANE_WINDOW ? first : second);
  *right = 0 <= first && first < c->wide;
  if (!*right) return WR_LANE_PADDING;
  uint32_t column = (uint32_t)c->high[wr_lane_place(first, lane, j, 2)] << 16 | (uint32_t)low;
  return column == UINT32_MAX ? WR_LANE_PADDING : (int32_t)column;
}

static double value_at(const wr_lane_csr *c, int64_t w, int lane, int j) {
  const int64_t place = wr_lane_place(w, lane, j, c->value_bytes);
  switch (c->value_bytes) {
    case 1: return c->table[((const uint8_t *)c->val)[place]];
    case 4: return (double)((const float *)c->val)[place];
    default: return ((const double *)c->val)[place];
  }
}

/* The column of far entries whose codes begin at ncols; -1: there is no such staged element. */
static int64_t column_of_staged(const wr_lane_csr *c, int64_t p) {
  int64_t from = 0, to = c->pieces;
  if (p >= c->far) return -1;
  while (to - from > 1) {
    int64_t middle = from + (to - from) / 2;
    if (c->piece[middle].first <= p)
      from = middle;
    else
      to = middle;
  }
  return c->pieces ? c->piece[from].slab * wr_lane_slab(c->type) + c->in_slab[p] : -1;
}

/* Pieces must follow each other from the first staged element to the last, by slab. */
static wr_status check_pieces(const wr_lane_csr *c) {
  int64_t at = 0;
  int32_t slab = 0;
  for (int64_t k = 0; k < c->pieces; at += c->piece[k].count, slab = c->piece[k++].slab)
    if (c->piece[k].first != at || c->piece[k].count < 1 || c->piece[k].count > WR_LANE_PIECE ||
        c->piece[k].slab < slab)
      return broken(k, "a piece of staged elements out of order");
  return at == c->far ? WR_OK : broken(c->pieces, "another number of staged elements");
}

/* Walks over all places in the order of the rows. A NULL: only checks and *nnz := the entries. */
static wr_status walk(const wr_lane_csr *c, int64_t *nnz, wr_csr *A) {
  int64_t i = 0, origin = 0, at = 0; /* the row, the chunk in which it begins, the entries before */
  int open = 0;
  for (int64_t p = 0; p < c->chunks * WR_LANE_CHUNK; p++) {
    int64_t w = p / WR_LANE_CHUNK;
    int lane = (int)(p % WR_LANE_CHUNK / WR_LANE_EACH), j = (int)(p % WR_LANE_EACH), right;
    int32_t code = code_at(c, w, lane, j, &right);
    uint32_t end = c->end[w * 32 + lane];
    if (!right) return broken(w, "another number of wide chunks");
    if (p % WR_LANE_CHUNK == 0) {
      if (c->row[w] != ((uint32_t)i | (open ? WR_LANE_OPEN : 0))) return broken(w, "another row than counted");
      if (c->origin[w] != (open ? origin : w)) return broken(w, "another origin than counted");
    }
    if (j == 0 && (end >> 16) != (uint32_t)i - (c->row[w] & ~WR_LANE_OPEN)) return broken(w, "rows before a lane");
    if (code == WR_LANE_PADDING && c->value_bytes == 1 &&
        ((const uint8_t *)c->val)[wr_lane_place(w, lane, j, 1)] != WR_LANE_NO_VALUE)
      return broken(w, "a value without an entry");
    if (p >= c->places) {
      if (code != WR_LANE_PADDING || (end >> j & 1)) return broken(w, "an entry behind the last row");
      continue;
    }
    if (!open) origin = w;
    if (code != WR_LANE_PADDING) {
      int64_t column = code >= c->ncols  ? column_of_staged(c, code - c->ncols)
                       : code >= 0       ? code
                       : ~code < c->hubs ? c->hub[~code]
                                         : -1;
      if (column < 0 || column >= c->ncols) return broken(w, "a column beyond the matrix");
      if (A) A->col[at] = (int32_t)column;
      if (A && A->val) A->val[at] = value_at(c, w, lane, j);
      at++;
    }
    open = !(end >> j & 1);
    if (open) continue;
    if (++i > c->nrows) return broken(w, "more rows than the matrix has");
    if (A) A->row_ptr[i] = at;
  }
  if (i != c->nrows || open || c->row[c->chunks] != (uint32_t)i) return broken(c->chunks, "not all rows end");
  *nnz = at;
  return WR_OK;
}

/* Whether the order has each chunk once. */
static wr_status check_order(const wr_lane_csr *c) {
  wr_status status = WR_OK;
  char *seen = NULL;
  if (c->order == NULL) return WR_OK;
  TRY(wr_alloc_zeroed(&seen, c->chunks, 1, "marks of chunks"));
  for (int64_t p = 0; p < c->chunks; p++) {
    int64_t w = c->order[p];
    if (w < 0 || w >= c->chunks || seen[w]) TRY(broken(p, "an order that is no permutation"));
    seen[w] = 1;
  }
done:
  wr_free(seen);
  return status;
}

wr_status wr_lane_csr_decode(const wr_lane_csr *c, wr_csr **A) {
  wr_status status;
  int64_t nnz;
  *A = NULL;
  TRY(check_order(c));
  TRY(check_pieces(c));
  if (c->table && c->table[WR_LANE_NO_VALUE] != 0) TRY(broken(0, "padding with a value"));
  TRY(walk(c, &nnz, NULL));
  TRY(wr_csr_create(c->nrows, c->ncols, nnz, c->value_bytes != 0, A));
  TRY(walk(c, &nnz, *A));
done:
  if (status != WR_OK) wr_csr_free(*A), *A = NULL;
  return status;
}
