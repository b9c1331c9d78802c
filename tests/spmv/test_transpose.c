/* wr_csr_transpose against a transposition column by column: many shapes, the same bits on any number of threads. */
#define _GNU_SOURCE /* posix_memalign, memalign */
#include <errno.h>
#include <malloc.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "config/memory.h"
#include "data/family.h"
#include "spmv/matrix/csr.h"
#include "tests/check.h"

static atomic_int calls, refused = -1; /* the number of the call of posix_memalign that fails */

int posix_memalign(void **block, size_t alignment, size_t bytes) {
  if (atomic_fetch_add(&calls, 1) == atomic_load(&refused)) return ENOMEM;
  *block = memalign(alignment, bytes);
  return *block != NULL ? 0 : ENOMEM;
}

/* Rows with gaps of 1..2*gap-1 between columns; every `skip`th row is empty, row `giant` (-1: none) has every column. */
typedef struct shape {
  const char *name;
  int64_t nrows, ncols, gap, skip, giant;
} shape;

static const shape shapes[] = {
    {"1x1", 1, 1, 1, 0, -1},
    {"1x1 without entries", 1, 1, 5, 1, -1},
    {"no entries", 300, 700, 5, 1, -1},
    {"one row", 1, 1000, 1, 0, -1},
    {"one column", 1000, 1, 1, 0, -1},
    {"dense", 70, 70, 1, 0, -1},
    {"512 columns", 900, 512, 9, 4, -1},
    {"513 columns", 900, 513, 9, 4, -1},
    {"1024 columns", 300, 1024, 30, 3, 17},
    {"1025 columns", 300, 1025, 30, 3, 0},
    {"first row full", 2000, 500, 400, 2, 0},
    {"last row full", 2000, 500, 400, 2, 1999},
    {"more than one chunk", 3000, 3000, 40, 7, 1500},
    {"chunks and one giant row", 10, 400000, 100000, 2, 5},
    {"tall chunks", 300000, 40, 45, 5, -1},
    {"a million columns", 50, 1000000, 60000, 6, -1},
    {"a million rows", 1000000, 900, 700, 3, -1},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* The entries of row i into col, or just counted. */
static int64_t make_row(const shape *s, int64_t i, int32_t *col) {
  int64_t count = 0, j = s->gap > 1 ? wr_below(wr_hash((uint64_t)i, 0), s->gap) : 0;
  if (i == s->giant) j = 0;
  if (i != s->giant && s->skip && i % s->skip == 0) return 0;
  while (j < s->ncols) {
    if (col) col[count] = (int32_t)j;
    count++;
    j += i == s->giant ? 1 : 1 + wr_below(wr_hash((uint64_t)i, (uint64_t)count), 2 * s->gap - 1);
  }
  return count;
}

static wr_csr *make(const shape *s, int with_values) {
  wr_csr *A;
  int64_t nnz = 0;
  for (int64_t i = 0; i < s->nrows; i++) nnz += make_row(s, i, NULL);
  CHECK_OK(wr_csr_create(s->nrows, s->ncols, nnz, with_values, &A));
  if (A == NULL) exit(wr_test_report("transpose"));
  for (int64_t i = 0; i < s->nrows; i++) A->row_ptr[i + 1] = A->row_ptr[i] + make_row(s, i, A->col + A->row_ptr[i]);
  for (int64_t k = 0; k < nnz && with_values; k++) A->val[k] = (double)(k + 1); /* each its own */
  CHECK_OK(wr_csr_check(A));
  return A;
}

/* The reference: count the entries of each column, then place them in row order. */
static wr_csr *naive(const wr_csr *A) {
  wr_csr *T;
  CHECK_OK(wr_csr_create(A->ncols, A->nrows, A->nnz, A->val != NULL, &T));
  int64_t *next = calloc((size_t)A->ncols + 1, sizeof *next);
  if (T == NULL || next == NULL) exit(wr_test_report("transpose"));
  for (int64_t k = 0; k < A->nnz; k++) T->row_ptr[A->col[k] + 1]++;
  for (int64_t j = 0; j < A->ncols; j++) next[j + 1] = T->row_ptr[j + 1] += T->row_ptr[j];
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      int64_t place = next[A->col[k]]++;
      T->col[place] = (int32_t)i;
      if (A->val) T->val[place] = A->val[k];
    }
  free(next);
  return T;
}

static int same(const wr_csr *A, const wr_csr *B) {
  if (A->nrows != B->nrows || A->ncols != B->ncols || A->nnz != B->nnz || A->symmetric != B->symmetric) return 0;
  if ((A->val == NULL) != (B->val == NULL)) return 0;
  return memcmp(A->row_ptr, B->row_ptr, (size_t)(A->nrows + 1) * sizeof *A->row_ptr) == 0 &&
         memcmp(A->col, B->col, (size_t)A->nnz * sizeof *A->col) == 0 &&
         (A->val == NULL || memcmp(A->val, B->val, (size_t)A->nnz * sizeof *A->val) == 0);
}

static void check_shape(const wr_csr *A) {
  static const int threads[] = {1, 2, 5};
  int before = omp_get_max_threads();
  wr_csr *expected = naive(A);
  for (int t = 0; t < 3; t++) {
    wr_csr *T = NULL, *back = NULL;
    omp_set_num_threads(threads[t]);
    CHECK_OK(wr_csr_transpose(A, &T));
    if (T == NULL) continue;
    CHECKF(same(T, expected), "wrong on %d threads", threads[t]);
    CHECK_OK(wr_csr_check(T));
    CHECK_OK(wr_csr_transpose(T, &back));
    CHECKF(back && same(back, A), "transposed twice it is another matrix, on %d threads", threads[t]);
    wr_csr_free(T);
    wr_csr_free(back);
  }
  omp_set_num_threads(before);
  wr_csr_free(expected);
}

static void test_shapes(void) {
  for (int s = 0; s < SHAPES; s++)
    for (int values = 0; values < 2; values++) {
      CASE(shapes[s].name);
      wr_csr *A = make(&shapes[s], values);
      check_shape(A);
      wr_csr_free(A);
    }
}

static void test_symmetric(void) {
  CASE("the mark of a symmetric matrix stays");
  wr_csr *A = make(&shapes[5], 1), *T = NULL;
  A->symmetric = 1;
  CHECK_OK(wr_csr_transpose(A, &T));
  CHECK(T != NULL && T->symmetric == 1);
  wr_csr_free(A);
  wr_csr_free(T);
}

/* Every allocation fails once; the matrix is left as it was. */
static void test_no_memory(void) {
  CASE("no memory");
  wr_csr *A = make(&shapes[8], 1), *copy = NULL;
  CHECK_OK(wr_csr_copy(A, &copy));
  int failures = 0;
  for (;; failures++) {
    wr_csr impossible, *T = &impossible;
    atomic_store(&calls, 0);
    atomic_store(&refused, failures);
    wr_status status = wr_csr_transpose(A, &T);
    atomic_store(&refused, -1);
    if (status == WR_OK) {
      wr_csr_free(T);
      break;
    }
    CHECKF(status == WR_ENOMEM && T == NULL, "call %d: %s", failures, wr_status_message());
  }
  CHECKF(failures >= 7, "%d allocations", failures); /* four arrays of the result, and some of its own */
  CHECK(copy != NULL && same(A, copy));
  wr_csr_free(A);
  wr_csr_free(copy);
}

int main(void) {
  test_shapes();
  test_symmetric();
  test_no_memory();
  return wr_test_report("transpose");
}
