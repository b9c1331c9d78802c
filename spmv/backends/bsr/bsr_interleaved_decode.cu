/* From interleaved blocks back to rows, on the host, for the round-trip test. */
#include "config/memory.h"
#include "spmv/backends/bsr/bsr_interleaved.h"
#include "spmv/device/device_memory.h"

/* The arrays of a format, copied to the host. */
struct copies {
  int64_t *start;
  int32_t *col, *row, *first;
  uint32_t *word;
  void *val;
};

static void free_copies(struct copies *h) {
  wr_free(h->start);
  wr_free(h->col);
  wr_free(h->row);
  wr_free(h->first);
  wr_free(h->word);
  wr_free(h->val);
}

template <typename V>
static wr_status copy(wr_env *env, const V *from, int64_t count, size_t size, V **to) {
  char *bytes = NULL;
  PASS(wr_alloc(&bytes, (count > 0 ? count : 1) * (int64_t)size, 1, "blocks on the host"));
  *to = (V *)(void *)bytes;
  return wr_device_download(env, bytes, from, count, size == 4 ? WR_AS_4_BYTES : WR_AS_8_BYTES);
}

static wr_status make_copies(wr_env *env, const wr_bsr_interleaved *b, struct copies *h) {
  int64_t lanes = b->warps * 32, lines = lanes * b->each;
  PASS(copy(env, b->start, b->brows + 1, 8, &h->start));
  PASS(copy(env, b->col, lines, 4, &h->col));
  PASS(copy(env, b->first, b->warps + 1, 4, &h->first));
  PASS(copy(env, b->word, lanes, 4, &h->word));
  PASS(copy(env, (const char *)b->val, lines * b->r * b->c, (size_t)wr_type_bytes(b->stored), (char **)&h->val));
  if (b->row) PASS(copy(env, b->row, b->brows, 4, &h->row));
  return WR_OK;
}

/* *value := value (r, c) of inner block g. Returns 1 unless it is padding. */
static int value_at(const wr_bsr_interleaved *b, const struct copies *h, int64_t g, int r, int c, double *value) {
  int64_t line = g / (32 * b->each) * b->each + g % b->each,
          at = ((line * b->c + c) * b->r + r) * 32 + g / b->each % 32;
  if (b->stored == WR_F32) {
    float v = ((const float *)h->val)[at];
    *value = (double)v;
    return !wr_is_padding_f32(v);
  }
  *value = ((const double *)h->val)[at];
  return !wr_is_padding_f64(*value);
}

/* Appends the entries of row r of inner block row n to A, from entry *k on; A->col NULL: only counts them. */
static void decode_row(const wr_bsr_interleaved *b, const struct copies *h, int64_t n, int r, wr_csr *A, int64_t *k) {
  double value;
  for (int64_t g = h->start[n]; g < h->start[n + 1]; g++)
    for (int c = 0; c < b->c; c++) {
      if (!value_at(b, h, g, r, c, &value)) continue;
      int64_t at = g / (32 * b->each) * b->each + g % b->each;
      if (A->col) A->col[*k] = h->col[at * 32 + g / b->each % 32] + c;
      if (A->val) A->val[*k] = value;
      ++*k;
    }
}

static void decode_rows(const wr_bsr_interleaved *b, const struct copies *h, int64_t *row_ptr, wr_csr *A) {
  int64_t k = 0, i = 0;
  for (int64_t n = 0; n < b->brows; n++)
    for (int r = 0; r < b->r; r++) {
      int64_t at = (h->row ? (int64_t)h->row[n] : n) * b->r + r;
      if (at >= b->nrows) break;
      for (; i <= at; i++) row_ptr[i] = k;
      decode_row(b, h, n, r, A, &k);
    }
  for (; i <= b->nrows; i++) row_ptr[i] = k;
}

/* Checks flags and row counts in the lanes' words against start. */
static wr_status check_words(const wr_bsr_interleaved *b, const struct copies *h) {
  int64_t n = 0, before = 0;
  for (int64_t g = 0; g < b->blocks; g++) {
    int64_t lane = g / b->each;
    if (lane % 32 == 0 && g % b->each == 0) before = n;
    uint32_t word = h->word[lane];
    int ends = g + 1 == h->start[n + 1];
    if ((int)(word >> g % b->each & 1) != ends || h->first[lane / 32] != before ||
        (g % b->each == 0 && (int64_t)(word >> b->each) != n - before))
      return wr_fail(WR_EINTERNAL, "block %lld: its lane's word does not match row %lld", (long long)g, (long long)n);
    n += ends;
  }
  return WR_OK;
}

extern "C" wr_status wr_bsr_interleaved_decode(wr_env *env, const wr_bsr_interleaved *b, int as_pattern, wr_csr **A) {
  wr_status status;
  struct copies h = {};
  wr_csr none = {};
  int64_t *row_ptr = NULL;
  *A = NULL;
  TRY(make_copies(env, b, &h));
  TRY(check_words(b, &h));
  TRY(wr_alloc(&row_ptr, b->nrows + 1, sizeof *row_ptr, "row pointers"));
  decode_rows(b, &h, row_ptr, &none);
  TRY(wr_csr_create(b->nrows, b->ncols, row_ptr[b->nrows], !as_pattern, A));
  decode_rows(b, &h, (*A)->row_ptr, *A);
done:
  wr_free(row_ptr);
  free_copies(&h);
  return status;
}
