#include "io/binary_scan.h"

#include <float.h>
#include <string.h>

#include "config/failure.h"
#include "config/memory.h"

enum { PIECE = WR_BINARY_PIECE };

/* The work on the pieces, shared by the threads. */
typedef struct work {
  wr_binary_scan *scan;
  int64_t npieces;
  uint64_t *sums[WR_BINARY_SECTIONS]; /* [npieces] of each section that this work has, else NULL */
  wr_failure failure;
} work;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Reads piece p of a section of `total` elements of `width` bytes and sums it. */
static wr_status take(work *w, int section, int64_t p, int64_t total, size_t width, void *array) {
  int64_t begin = p * PIECE * (int64_t)width, bytes = smaller(PIECE, total - p * PIECE) * (int64_t)width;
  char *to = (char *)array + begin;
  wr_status status = WR_OK;
  if (w->scan->text != NULL) status = wr_text_read(w->scan->text, w->scan->offset[section] + begin, bytes, to);
  if (status == WR_OK) w->sums[section][p] = w->scan->checksum(to, bytes);
  return status;
}

static wr_status begin(work *w, wr_binary_scan *scan, int64_t elements, int first, int last) {
  wr_status status = WR_OK;
  *w = (work){.scan = scan, .npieces = (elements + PIECE - 1) / PIECE, .failure = WR_NO_FAILURE};
  for (int s = first; s <= last && status == WR_OK; s++)
    status = wr_alloc(&w->sums[s], w->npieces, sizeof **w->sums, "the checksums of a file");
  return status;
}

static wr_status end(work *w, wr_status status) {
  for (int s = 0; s < WR_BINARY_SECTIONS; s++) {
    if (w->sums[s] == NULL) continue;
    if (status == WR_OK) w->scan->sum[s] = w->scan->checksum(w->sums[s], w->npieces * (int64_t)sizeof **w->sums);
    wr_free(w->sums[s]);
  }
  return status;
}

static int ascend(const int64_t *numbers, int64_t begin, int64_t end, int strictly) {
  int wrong = 0;
  for (int64_t i = begin + 1; i < end; i++)
    wrong |= (numbers[i] < numbers[i - 1]) | (strictly & (numbers[i] == numbers[i - 1]));
  return !wrong;
}

/* A section of `total` numbers; *result := 1 when they do not ascend, or do not begin at 0 or more. */
static wr_status scan_ascending(wr_binary_scan *scan, int section, int64_t total, int strictly, int64_t *numbers,
                                int *result) {
  int wrong = 0;
  work w;
  wr_status status;
  TRY(begin(&w, scan, total, section, section));
#pragma omp parallel for num_threads(scan->threads) schedule(dynamic, 1) reduction(| : wrong)
  for (int64_t p = 0; p < w.npieces; p++) {
    if (wr_failure_is_below(&w.failure, p)) continue;
    wr_status taken = take(&w, section, p, total, sizeof *numbers, numbers);
    wr_failure_note(&w.failure, p, taken);
    if (taken == WR_OK) wrong |= !ascend(numbers, p * PIECE, smaller((p + 1) * PIECE, total), strictly);
  }
  TRY(wr_failure_report(&w.failure));
  for (int64_t p = 1; p < w.npieces; p++) wrong |= !ascend(numbers, p * PIECE - 1, p * PIECE + 1, strictly);
  *result = wrong || numbers[0] < 0;
done:
  return end(&w, status);
}

wr_status wr_binary_scan_rows(wr_binary_scan *scan) {
  const wr_csr *A = scan->A;
  PASS(scan_ascending(scan, WR_BINARY_ROWS, A->nrows + 1, 0, A->row_ptr, &scan->rows_wrong));
  scan->rows_wrong |= A->row_ptr[0] != 0 || A->row_ptr[A->nrows] != A->nnz;
  if (scan->id) PASS(scan_ascending(scan, WR_BINARY_IDS, A->nrows, 1, scan->id, &scan->ids_wrong));
  return WR_OK;
}

/* The row that holds entry k: the last one that begins at or before it and is not empty. */
static int64_t row_of(const wr_csr *A, int64_t k) {
  int64_t low = 0, high = A->nrows - 1; /* the first row that ends behind k */
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (A->row_ptr[middle + 1] > k)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* Columns of the entries [begin, end), without looking at the one before. In a row they ascend: where they do not, a row
 * begins, so that the descents of all entries are as many as those where rows begin. */
static int columns_are_right(const wr_csr *A, int64_t begin, int64_t end) {
  const int32_t *col = A->col;
  uint32_t largest = 0;
  int64_t descents = 0;
  for (int64_t k = begin; k < end; k++) largest = (uint32_t)col[k] > largest ? (uint32_t)col[k] : largest;
  for (int64_t k = begin + 1; k < end; k++) descents += col[k] <= col[k - 1];
  for (int64_t i = row_of(A, begin); i < A->nrows && A->row_ptr[i] < end; i++) {
    int64_t k = A->row_ptr[i];
    if (k > begin && k < A->row_ptr[i + 1]) descents -= col[k] <= col[k - 1];
  }
  return largest < (uint64_t)A->ncols && descents == 0;
}

/* The first entry of a piece, beside the last of the piece before. */
static int borders_are_right(const wr_csr *A) {
  for (int64_t k = PIECE; k < A->nnz; k += PIECE)
    if (A->col[k] <= A->col[k - 1] && A->row_ptr[row_of(A, k)] != k) return 0;
  return 1;
}

static int values_are_right(const double *val, int64_t begin, int64_t end, int nonnegative) {
  int wrong = 0;
  double least = nonnegative ? 0 : -DBL_MAX;
  for (int64_t k = begin; k < end; k++) wrong |= !(val[k] >= least) | !(val[k] <= DBL_MAX);
  return !wrong;
}

static uint64_t hash_entry(int64_t i, int64_t j, uint64_t value) {
  uint64_t h = ((uint64_t)i << 32 | (uint64_t)j) * UINT64_C(0x510e527fade682d1);
  h = ((h ^ h >> 32) + value) * UINT64_C(0x9b05688c2b3e6c1f);
  h = (h ^ h >> 29) * UINT64_C(0x510e527fade682d1);
  return h ^ h >> 32;
}

/* Hashes of the entries minus those of their mirror images: over a whole symmetric matrix, 0. */
static uint64_t mirror_sum(const wr_csr *A, int64_t begin, int64_t end) {
  uint64_t sum = 0;
  for (int64_t i = row_of(A, begin), k = begin; k < end; i++)
    for (; k < end && k < A->row_ptr[i + 1]; k++) {
      uint64_t value = 0;
      if (A->val != NULL) memcpy(&value, &A->val[k], sizeof value);
      sum += hash_entry(i, A->col[k], value) - hash_entry(A->col[k], i, value);
    }
  return sum;
}

/* What is wrong with the entries of a piece, as bits. */
enum { COLUMNS = 1, VALUES = 2 };

static wr_status take_entries(work *w, int64_t p, int *wrong, uint64_t *mirror) {
  const wr_csr *A = w->scan->A;
  int64_t begin = p * PIECE, end = smaller(begin + PIECE, A->nnz);
  PASS(take(w, WR_BINARY_COLUMNS, p, A->nnz, sizeof *A->col, A->col));
  if (A->val != NULL) PASS(take(w, WR_BINARY_VALUES, p, A->nnz, sizeof *A->val, A->val));
  if (!columns_are_right(A, begin, end)) *wrong |= COLUMNS;
  if (A->val != NULL && !values_are_right(A->val, begin, end, w->scan->nonnegative)) *wrong |= VALUES;
  if (A->symmetric) *mirror += mirror_sum(A, begin, end);
  return WR_OK;
}

/* The rows that lie in the first `pieces`: of the last one, those without entries, too. */
static int64_t rows_in(const void *matrix, int64_t pieces) {
  const wr_csr *A = matrix;
  return pieces * PIECE >= A->nnz ? A->nrows : row_of(A, pieces * PIECE);
}

wr_status wr_binary_scan_entries(wr_binary_scan *scan) {
  wr_csr *A = scan->A;
  wr_csr_prefix prefix;
  int wrong = 0;
  uint64_t mirror = 0;
  work w;
  wr_status status;
  TRY(begin(&w, scan, A->nnz, WR_BINARY_COLUMNS, A->val != NULL ? WR_BINARY_VALUES : WR_BINARY_COLUMNS));
  TRY(wr_csr_prefix_open(&prefix, scan->feed, w.npieces));
  wr_csr_feed_begin(scan->feed, A);
  if (w.npieces == 0) wr_csr_feed_ready(scan->feed, A->nrows);
#pragma omp parallel for num_threads(scan->threads) schedule(dynamic, 1) reduction(| : wrong) reduction(+ : mirror)
  for (int64_t p = 0; p < w.npieces; p++) {
    if (wr_failure_is_below(&w.failure, p)) continue;
    wr_status taken = take_entries(&w, p, &wrong, &mirror);
    wr_failure_note(&w.failure, p, taken);
    if (taken == WR_OK) wr_csr_prefix_pass(&prefix, p, rows_in, A);
  }
  wr_csr_prefix_close(&prefix);
  TRY(wr_failure_report(&w.failure));
  scan->columns_wrong = (wrong & COLUMNS) || !borders_are_right(A);
  scan->values_wrong = (wrong & VALUES) != 0;
  scan->mirror_wrong = mirror != 0;
done:
  return end(&w, status);
}
