#include "spmv/blocks/bsr_build.h"

#include <omp.h>

#include "config/memory.h"

enum { THREAD_WORK = 8192 }; /* entries and block rows that are worth another thread */

wr_status wr_bsr_check(int64_t nrows, int64_t ncols, int64_t nnz, int r, int c) {
  if (r < 1 || r > WR_BSR_MAX_SIDE || c < 1 || c > WR_BSR_MAX_SIDE)
    return wr_fail(WR_EUSAGE, "blocks of %d x %d, where sides of 1 to %d are possible", r, c, WR_BSR_MAX_SIDE);
  if (nrows < 1 || nrows > WR_MAX_INDEX || ncols < 1 || ncols > WR_MAX_INDEX)
    return wr_fail(WR_EUNAVAILABLE, "a matrix of %lld x %lld, where blocks take 1 to %lld rows and columns",
                   (long long)nrows, (long long)ncols, (long long)WR_MAX_INDEX);
  wr_bsr shape = wr_bsr_shape(nrows, ncols, nnz, r, c, WR_F64);
  int64_t places = shape.brows * shape.bcols, most = nnz < places ? nnz : places;
  if (nnz < 0 || most > WR_BSR_MAX_VALUES / (r * c))
    return wr_fail(WR_EUNAVAILABLE,
                   "%lld entries might fill blocks of %d x %d with more than 2^59 values; smaller "
                   "blocks or a backend of rows would do",
                   (long long)nnz, r, c);
  return WR_OK;
}

wr_status wr_bsr_alloc(wr_bsr *b) {
  wr_status status;
  b->row_ptr = NULL, b->col = NULL, b->val = NULL;
  TRY(wr_alloc(&b->row_ptr, b->brows + 1, b->wide ? 8 : 4, "block row pointers"));
  TRY(wr_alloc(&b->col, b->blocks, sizeof *b->col, "block columns"));
  TRY(wr_alloc(&b->val, b->blocks * b->r * b->c, (size_t)wr_type_bytes(b->type), "the blocks' values"));
done:
  if (status != WR_OK) wr_bsr_free(b);
  return status;
}

void wr_bsr_free(wr_bsr *b) {
  wr_free(b->row_ptr);
  wr_free(b->col);
  wr_free(b->val);
  b->row_ptr = NULL, b->col = NULL, b->val = NULL;
}

static int64_t get_ptr(const wr_bsr *b, int64_t ib) {
  return b->wide ? ((const int64_t *)b->row_ptr)[ib] : ((const int32_t *)b->row_ptr)[ib];
}

static void set_ptr(const wr_bsr *b, int64_t ib, int64_t k) {
  if (b->wide)
    ((int64_t *)b->row_ptr)[ib] = k;
  else
    ((int32_t *)b->row_ptr)[ib] = (int32_t)k;
}

/* ---- From rows ---- */

/* A zero, also one that a value becomes in f32, is stored as positive zero, because negative zeros are padding. */
static inline void put(const wr_bsr *b, int64_t at, double value) {
  if (b->type == WR_F64) {
    ((double *)b->val)[at] = value == 0 ? 0 : value;
  } else {
    float narrow = (float)value;
    ((float *)b->val)[at] = narrow == 0 ? 0 : narrow;
  }
}

/* Makes block k of the rows' entries before column `limit`, and advances the cursor past them. */
static void fill_block(const wr_csr *A, wr_block_rows *s, const wr_bsr *b, int64_t k, int64_t limit) {
  int64_t size = b->r * b->c, line = k * size, left = limit - b->c;
  b->col[k] = (int32_t)(left / b->c);
  for (int64_t at = line; at < line + size; at++)
    if (b->type == WR_F64)
      ((double *)b->val)[at] = -0.0;
    else
      ((float *)b->val)[at] = -0.0f;
  for (int i = 0; i < s->rows; i++, line += b->c)
    for (; s->at[i] < s->end[i] && A->col[s->at[i]] < limit; s->at[i]++)
      put(b, line + A->col[s->at[i]] - left, A->val != NULL ? A->val[s->at[i]] : 1);
}

/* Merges the rows of a block row into blocks k, k + 1, ...; b NULL: only counts them. Returns the index after the last. */
static int64_t merge_rows(const wr_csr *A, int r, int c, int64_t ib, const wr_bsr *b, int64_t k) {
  wr_block_rows s = wr_block_rows_open(A, ib * r, r);
  for (int64_t j; (j = wr_block_rows_next(A, &s)) < A->ncols; k++) {
    int64_t limit = (j / c + 1) * c;
    if (b != NULL)
      fill_block(A, &s, b, k, limit);
    else
      for (int i = 0; i < s.rows; i++)
        while (s.at[i] < s.end[i] && A->col[s.at[i]] < limit) s.at[i]++;
  }
  return k;
}

/* Runs of consecutive block rows of about equal work; each run is a task. */
typedef struct tasks {
  const wr_csr *A;
  int r, c;
  int64_t brows;
  int count;
  int64_t *begin; /* [count + 1] blocks before each task */
} tasks;

/* The first block row of a task. Work is counted in entries and block rows. */
static int64_t first_of(const tasks *t, int task) {
  int64_t total = t->A->nnz + t->brows, low = 0, high = t->brows;
  int64_t goal = total / t->count * task + total % t->count * task / t->count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (t->A->row_ptr[middle * t->r] + middle >= goal)
      high = middle;
    else
      low = middle + 1;
  }
  return task == t->count ? t->brows : low;
}

static wr_status count_tasks(const wr_csr *A, int r, int c, tasks *t) {
  wr_status status = wr_bsr_check(A->nrows, A->ncols, A->nnz, r, c);
  *t = (tasks){.A = A, .r = r, .c = c, .count = omp_get_max_threads()};
  if (status != WR_OK) return status;
  t->brows = wr_bsr_shape(A->nrows, A->ncols, A->nnz, r, c, WR_F64).brows;
  int64_t useful = 1 + (A->nnz + t->brows) / THREAD_WORK;
  if (t->count > useful) t->count = (int)useful;
  PASS(wr_alloc_zeroed(&t->begin, t->count + 1, sizeof *t->begin, "counting blocks"));
#pragma omp parallel for num_threads(t->count) schedule(static, 1)
  for (int task = 0; task < t->count; task++) {
    int64_t end = first_of(t, task + 1), blocks = 0;
    for (int64_t ib = first_of(t, task); ib < end; ib++) blocks = merge_rows(A, r, c, ib, NULL, blocks);
    t->begin[task + 1] = blocks;
  }
  for (int task = 0; task < t->count; task++) t->begin[task + 1] += t->begin[task];
  return WR_OK;
}

wr_status wr_bsr_count(const wr_csr *A, int r, int c, int64_t *blocks) {
  tasks t;
  *blocks = 0;
  wr_status status = count_tasks(A, r, c, &t);
  if (status == WR_OK) *blocks = t.begin[t.count];
  wr_free(t.begin);
  return status;
}

wr_status wr_bsr_build(const wr_csr *A, int r, int c, wr_type type, int wide, wr_bsr *b) {
  wr_status status;
  tasks t = {0};
  *b = (wr_bsr){0};
  TRY(count_tasks(A, r, c, &t));
  TRY(wr_csr_check_range(A, type == WR_F32));
  *b = wr_bsr_shape(A->nrows, A->ncols, A->nnz, r, c, type);
  b->blocks = t.begin[t.count];
  b->wide = wide || b->blocks > INT32_MAX;
  TRY(wr_bsr_alloc(b));
#pragma omp parallel for num_threads(t.count) schedule(static, 1)
  for (int task = 0; task < t.count; task++) {
    int64_t k = t.begin[task], end = first_of(&t, task + 1);
    for (int64_t ib = first_of(&t, task); ib < end; ib++) {
      set_ptr(b, ib, k);
      k = merge_rows(A, r, c, ib, b, k);
    }
  }
  set_ptr(b, b->brows, b->blocks);
done:
  wr_free(t.begin);
  return status;
}

/* Writes the columns once more; they stay the same. */
void wr_bsr_refill(const wr_csr *A, const wr_bsr *b) {
#pragma omp parallel for schedule(guided) if (A->nnz > THREAD_WORK)
  for (int64_t ib = 0; ib < b->brows; ib++) merge_rows(A, b->r, b->c, ib, b, get_ptr(b, ib));
}

/* ---- Back to rows ---- */

static double get(const wr_bsr *b, int64_t at, int *padding) {
  if (b->type == WR_F64) {
    double value = ((const double *)b->val)[at];
    return *padding = wr_is_padding_f64(value), value;
  }
  float value = ((const float *)b->val)[at];
  return *padding = wr_is_padding_f32(value), value;
}

static wr_status check_shape(const wr_bsr *b) {
  wr_status status = wr_bsr_check(b->nrows, b->ncols, b->nnz, b->r, b->c);
  if (status != WR_OK) return wr_fail(WR_EINTERNAL, "blocks of no matrix's shape (%s)", wr_status_message());
  wr_bsr shape = wr_bsr_shape(b->nrows, b->ncols, b->nnz, b->r, b->c, b->type);
  if (b->brows != shape.brows || b->bcols != shape.bcols || (b->type != WR_F32 && b->type != WR_F64))
    return wr_fail(WR_EINTERNAL, "%lld x %lld blocks of %d x %d do not fit a matrix of %lld x %lld",
                   (long long)b->brows, (long long)b->bcols, b->r, b->c, (long long)b->nrows, (long long)b->ncols);
  if (b->blocks < 0 || b->blocks > b->nnz || b->blocks > b->brows * b->bcols || b->nnz > b->blocks * b->r * b->c)
    return wr_fail(WR_EINTERNAL, "%lld blocks of %d x %d cannot hold %lld entries", (long long)b->blocks, b->r, b->c,
                   (long long)b->nnz);
  if (get_ptr(b, 0) != 0 || get_ptr(b, b->brows) != b->blocks)
    return wr_fail(WR_EINTERNAL, "block row pointers run from %lld to %lld, not from 0 to %lld",
                   (long long)get_ptr(b, 0), (long long)get_ptr(b, b->brows), (long long)b->blocks);
  for (int64_t ib = 0; ib < b->brows; ib++)
    if (get_ptr(b, ib + 1) < get_ptr(b, ib))
      return wr_fail(WR_EINTERNAL, "block row %lld ends at block %lld, before it begins at %lld", (long long)ib,
                     (long long)get_ptr(b, ib + 1), (long long)get_ptr(b, ib));
  return WR_OK;
}

/* Checks block k of block row ib, and counts its entries by row. */
static wr_status count_block(const wr_bsr *b, int64_t ib, int64_t k, int as_pattern, int64_t *counts) {
  int64_t j = b->col[k], found = 0;
  if (j < 0 || j >= b->bcols || (k > get_ptr(b, ib) && j <= b->col[k - 1]))
    return wr_fail(WR_EINTERNAL, "block row %lld: block column %lld is outside 0..%lld or does not ascend",
                   (long long)ib, (long long)j, (long long)b->bcols - 1);
  for (int at = 0; at < b->r * b->c; at++) {
    int64_t row = ib * b->r + at / b->c, column = j * b->c + at % b->c;
    int padding;
    double value = get(b, k * b->r * b->c + at, &padding);
    if (padding) continue;
    if (row >= b->nrows || column >= b->ncols)
      return wr_fail(WR_EINTERNAL, "block %lld holds %g at row %lld, column %lld, beyond the matrix", (long long)k,
                     value, (long long)row, (long long)column);
    if (as_pattern && value != 1)
      return wr_fail(WR_EINTERNAL, "row %lld, column %lld of a pattern holds %g", (long long)row, (long long)column,
                     value);
    counts[row]++, found++;
  }
  if (found > 0) return WR_OK;
  return wr_fail(WR_EINTERNAL, "block %lld, in block row %lld and column %lld, holds nothing but padding", (long long)k,
                 (long long)ib, (long long)j);
}

/* Copies the entries of block row ib to its rows, one row after the other. */
static void copy_block_row(const wr_bsr *b, int64_t ib, wr_csr *A) {
  for (int i = 0; i < b->r && ib * b->r + i < b->nrows; i++) {
    int64_t to = A->row_ptr[ib * b->r + i];
    for (int64_t k = get_ptr(b, ib); k < get_ptr(b, ib + 1); k++)
      for (int j = 0; j < b->c; j++) {
        int padding;
        double value = get(b, (k * b->r + i) * b->c + j, &padding);
        if (padding) continue;
        A->col[to] = (int32_t)((int64_t)b->col[k] * b->c + j);
        if (A->val != NULL) A->val[to] = value;
        to++;
      }
  }
}

wr_status wr_bsr_decode(const wr_bsr *b, int as_pattern, wr_csr **A) {
  wr_status status;
  wr_csr *rows = NULL;
  *A = NULL;
  TRY(check_shape(b));
  TRY(wr_csr_create(b->nrows, b->ncols, b->nnz, !as_pattern, &rows));
  for (int64_t ib = 0; ib < b->brows; ib++)
    for (int64_t k = get_ptr(b, ib); k < get_ptr(b, ib + 1); k++)
      TRY(count_block(b, ib, k, as_pattern, rows->row_ptr + 1));
  for (int64_t i = 0; i < b->nrows; i++) rows->row_ptr[i + 1] += rows->row_ptr[i];
  if (rows->row_ptr[b->nrows] != b->nnz)
    TRY(wr_fail(WR_EINTERNAL, "the blocks hold %lld entries, not %lld", (long long)rows->row_ptr[b->nrows],
                (long long)b->nnz));
  for (int64_t ib = 0; ib < b->brows; ib++) copy_block_row(b, ib, rows);
  *A = rows;
  rows = NULL;
done:
  wr_csr_free(rows);
  return status;
}
