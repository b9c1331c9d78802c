/* Real matrices against the numbers in tests/data/real/expected.tsv, which were computed elsewhere: the small ones always,
 * the rest when WR_MATRICES names a folder with real/NAME.mtx.gz. */
#define _DEFAULT_SOURCE
#include <float.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/memory.h"
#include "io/reader.h"
#include "io/vector_file.h"
#include "tests/check.h"

enum { FIELDS = 16 };

#ifdef WR_HAVE_ZLIB
enum { HAVE_ZLIB = 1 };
#else
enum { HAVE_ZLIB = 0 };
#endif

typedef struct expected {
  const char *name, *kind;
  long long nrows, ncols, stored, nnz;
  double sum, sum_abs, frobenius, y_sum, y_sum_abs, y_norm2;
  long long max_row, empty_rows; /* -1: not given */
} expected;

/* Splits a line of the table in place; 0: not a line with all fields. */
static int parse(char *line, expected *e) {
  char *field[FIELDS];
  int fields = 0;
  for (char *at = strtok_r(line, "\t\n", &line); at != NULL && fields < FIELDS; at = strtok_r(NULL, "\t\n", &line))
    field[fields++] = at;
  if (fields < FIELDS || strcmp(field[0], "name") == 0) return 0;
  *e = (expected){.name = field[0],
                  .kind = field[1],
                  .nrows = atoll(field[2]),
                  .ncols = atoll(field[3]),
                  .stored = atoll(field[4]),
                  .nnz = atoll(field[5]),
                  .sum = strtod(field[6], NULL),
                  .sum_abs = strtod(field[7], NULL),
                  .frobenius = strtod(field[8], NULL),
                  .y_sum = strtod(field[9], NULL),
                  .y_sum_abs = strtod(field[10], NULL),
                  .y_norm2 = strtod(field[11], NULL),
                  .max_row = *field[12] == '-' ? -1 : atoll(field[12]),
                  .empty_rows = *field[13] == '-' ? -1 : atoll(field[13])};
  return 1;
}

static void check_near(const expected *e, const char *what, long double found, double wanted, double bound) {
  CHECKF(fabsl(found - (long double)wanted) <= (long double)bound, "%s: %s is %.17Lg, not %.17g (bound %g)", e->name,
         what, found, wanted, bound);
}

/* The table's numbers are rounded once, from exact sums; y has the rounding of ordinary sums along rows, so it is known
 * within (longest row + 2) units of |A| |x|, and |x| < 2. Our own sums, in long double, add (count) of its units. */
static void check_sums(const expected *e, const wr_csr *A) {
  long double sum = 0, sum_abs = 0, squares = 0, y_sum = 0, y_abs = 0, y_squares = 0;
  for (int64_t i = 0; i < A->nrows; i++) {
    long double y = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      long double a = A->val != NULL ? A->val[k] : 1;
      sum += a, sum_abs += fabsl(a), squares += a * a;
      y += a * (1 + (long double)(A->col[k] % 97) / 97);
    }
    y_sum += y, y_abs += fabsl(y), y_squares += y * y;
  }
  double unit = DBL_EPSILON + 2 * (double)(A->nnz + A->nrows) * (double)LDBL_EPSILON;
  double rows = ((double)(e->max_row < 0 ? 1 : e->max_row) + 4) * DBL_EPSILON * 2 * e->sum_abs + unit * 2 * e->sum_abs;
  check_near(e, "sum", sum, e->sum, unit * e->sum_abs);
  check_near(e, "sum_abs", sum_abs, e->sum_abs, unit * e->sum_abs);
  check_near(e, "frobenius", sqrtl(squares), e->frobenius, 2 * unit * e->frobenius);
  check_near(e, "y_sum", y_sum, e->y_sum, rows);
  check_near(e, "y_sum_abs", y_abs, e->y_sum_abs, rows);
  check_near(e, "y_norm2", sqrtl(y_squares), e->y_norm2, rows + 2 * unit * e->y_norm2);
}

static void check_shape(const expected *e, const wr_csr *A) {
  int64_t longest = 0, empty = 0;
  for (int64_t i = 0; i < A->nrows; i++) {
    int64_t length = A->row_ptr[i + 1] - A->row_ptr[i];
    if (length > longest) longest = length;
    empty += length == 0;
  }
  CHECKF(A->nrows == e->nrows && A->ncols == e->ncols && A->nnz == e->nnz, "%s: %lld x %lld, %lld entries", e->name,
         (long long)A->nrows, (long long)A->ncols, (long long)A->nnz);
  if (e->max_row >= 0) CHECKF(longest == e->max_row, "%s: longest row %lld", e->name, (long long)longest);
  if (e->empty_rows >= 0) CHECKF(empty == e->empty_rows, "%s: %lld empty rows", e->name, (long long)empty);
}

static void check_vector(const expected *e, const char *path, const wr_csr *A) {
  double *values;
  CHECK_OK(wr_vector_read(path, &(wr_vector_need){.n = e->nrows, .whose = "the test"}, &values));
  int64_t wrong = 0;
  for (int64_t i = 0; values != NULL && i < e->nrows; i++) wrong += values[i] != A->val[i];
  CHECKF(wrong == 0, "%s: %lld values differ", e->name, (long long)wrong);
  wr_free(values);
}

static void check_file(const expected *e, const char *path, int threads) {
  wr_triplets t;
  wr_read_facts facts = {.bytes = 0};
  wr_read_options options = {.threads = threads};
  wr_csr *A = NULL;
  int64_t repeated = -1;
  CHECK_OK(wr_read_triplets(path, &options, &t, &facts));
  CHECKF(facts.stored == e->stored && strcmp(facts.kind, e->kind) == 0 && facts.compressed, "%s: %lld lines, %s",
         e->name, (long long)facts.stored, facts.kind);
  CHECK_OK(wr_csr_assemble(&t, WR_DUPLICATES_SUM, &A, &repeated));
  wr_triplets_free(&t);
  if (A == NULL) return;
  CHECK_OK(wr_csr_check(A));
  CHECKF(repeated == 0, "%s: %lld repeated", e->name, (long long)repeated);
  CHECK((A->val == NULL) == (strstr(e->kind, "pattern") != NULL));
  CHECK(A->symmetric == (strstr(e->kind, " symmetric") != NULL));
  check_shape(e, A);
  check_sums(e, A);
  if (strncmp(e->kind, "array", 5) == 0) check_vector(e, path, A);
  wr_csr_free(A);
}

/* 1 if the file is there. */
static int check_in(const char *folder, const expected *e) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.mtx.gz", folder, e->name);
  if (access(path, F_OK) != 0) return 0;
  if (!HAVE_ZLIB) return 1;
  for (int threads = 1; threads <= 2; threads++) check_file(e, path, threads);
  return 1;
}

int main(void) {
  char line[2048], folder[1024];
  const char *more = getenv("WR_MATRICES");
  int files = 0, absent = 0;
  snprintf(folder, sizeof folder, "%s/real", more != NULL ? more : "");
  FILE *table = fopen("tests/data/real/expected.tsv", "r");
  CHECKF(table != NULL, "tests/data/real/expected.tsv is missing: run from the repository's root");
  while (table != NULL && fgets(line, sizeof line, table) != NULL) {
    expected e;
    if (!parse(line, &e)) continue;
    CASE(e.name);
    int here = check_in("tests/data/real", &e), there = more != NULL && !here && check_in(folder, &e);
    if (more != NULL) CHECKF(here || there, "%s is in neither folder", e.name);
    absent += !here && !there;
    files += here;
  }
  if (table != NULL) fclose(table);
  CASE("real files");
  CHECKF(files == 9, "%d files in tests/data/real", files);
  if (!HAVE_ZLIB) SKIP("all files are compressed with gzip: built without zlib");
  if (absent > 0) SKIP("%d larger files: WR_MATRICES=DIR says where DIR/real/NAME.mtx.gz are", absent);
  return wr_test_report("real_files");
}
