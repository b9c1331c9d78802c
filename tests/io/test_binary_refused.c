/* Binary files that must be refused: any byte changed, any length, sizes that lie, contents that break a promise though the
 * checksums are right. */
#define _DEFAULT_SOURCE
#include "io/binary_file.h"

#include <math.h>

#include "io/reader.h"
#include "tests/io/binary_image.h"
#include "tests/io/input_fixture.h"

static const wr_binary_origin plain;

/* The image must be refused with this in the sentence; frees it. */
static void check_refused(image m, int nonnegative, const char *why) {
  wr_csr *A;
  CHECK_FAILS(WR_EINPUT, read_image(&m, nonnegative, &A));
  CHECK_MESSAGE(why);
  CHECK(A == NULL);
  free(m.bytes);
}

static const wr_binary_origin named = {.ids = {3, 1, (int64_t[]){1, 2, 5}}};

static void test_every_byte(void) {
  CASE("a byte changed");
  for (int with_values = 0; with_values < 2; with_values++) {
    wr_csr *A = small(with_values), *B;
    image m = image_of(A, with_values ? &named : &plain);
    int64_t accepted = 0;
    for (int64_t k = 0; k < m.size; k++)
      for (int bit = 0; bit < 8; bit += k < PAGE && k > 200 ? 8 : 1) {
        m.bytes[k] ^= (char)(1 << bit);
        accepted += read_image(&m, 0, &B) != WR_EINPUT || B != NULL;
        m.bytes[k] ^= (char)(1 << bit);
      }
    CHECKF(accepted == 0, "%lld changes of %lld bytes accepted", (long long)accepted, (long long)m.size);
    CHECK_OK(read_image(&m, 0, &B));
    wr_csr_free(B);
    free(m.bytes);
    wr_csr_free(A);
  }
}

static void test_every_length(void) {
  CASE("another length");
  wr_csr *A = small(1), *B;
  image m = image_of(A, &plain);
  int64_t whole = m.size, accepted = 0;
  for (m.size = 0; m.size < whole; m.size++) accepted += read_image(&m, 0, &B) != WR_EINPUT || B != NULL;
  CHECKF(accepted == 0, "%lld of %lld shorter files accepted", (long long)accepted, (long long)whole);
  m.bytes = realloc(m.bytes, (size_t)whole + 2 * PAGE);
  memset(m.bytes + whole, 0, 2 * PAGE);
  for (int64_t more = 1; more <= 2 * PAGE; more = more < 9 ? more + 1 : more * 2) {
    m.size = whole + more;
    CHECK_FAILS(WR_EINPUT, read_image(&m, 0, &B));
    CHECK_MESSAGE("something was added at its end");
  }
  for (int64_t size = 0; size <= whole + 8; size += 512) { /* as files, told from their names or not at all */
    wr_binary_origin origin;
    wr_triplets t;
    wr_status status = wr_read_matrix(fixture_put("cut.wrm", m.bytes, (size_t)size), NULL, &t, &B, &origin, NULL);
    CHECKF(status == (size == whole ? WR_OK : WR_EINPUT), "%lld bytes: %s", (long long)size, wr_status_message());
    wr_csr_free(B);
  }
  free(m.bytes);
  wr_csr_free(A);
}

/* A header with another number in it, its checksum right. */
static void check_header(int64_t at, int64_t value, const char *why) {
  wr_csr *A = small(1), *B;
  image m = image_of(A, &plain);
  put64(&m, at, value);
  seal(&m);
  fixture_fail_after(0); /* refused before memory is asked for */
  wr_status status = read_image(&m, 0, &B);
  fixture_fail_never();
  CHECKF(status == WR_EINPUT && B == NULL, "%lld at %lld: %s", (long long)value, (long long)at, wr_status_name(status));
  CHECK_MESSAGE(why);
  free(m.bytes);
  wr_csr_free(A);
}

static void test_headers(void) {
  CASE("headers");
  check_header(8, INT64_C(0x0807060504030201), "other byte order");
  check_header(8, 0, "the mark of its byte order is none");
  check_header(16, INT64_C(2) << 32 | 3, "is of version 3, and this program reads versions 1 to 2");
  check_header(16, INT64_C(2) << 32, "is of version 0, ");
  check_header(16, INT64_C(66) << 32 | image_version, "flags that this version does not know (0x42)");
  check_header(16, INT64_C(14) << 32 | image_version, "flags that this version does not know (0xe)");
  check_header(16, INT64_C(0) << 32 | image_version,
               image_version == 1 ? "where version 1 has them" : "where version 2 has them");
  check_header(16, INT64_C(34) << 32 | image_version, "flags that this version does not know (0x22)");
  check_header(24, 0, "a matrix of 0 x 3 is outside 1..2147483647");
  check_header(24, INT64_C(1) << 31, "outside 1..2147483647");
  check_header(32, -1, "a matrix of 3 x -1 is outside");
  check_header(32, INT64_MIN, "is outside");
  check_header(40, 10, "10 entries (and 0 repeated) cannot be in a matrix of 3 x 3");
  check_header(40, -1, "-1 entries");
  check_header(40, INT64_MAX, "cannot be in a matrix");
  check_header(48, -1, "cannot be in a matrix");
  check_header(56, 5 * PAGE, "its sections are not where");
  check_header(64, 0, "its sections are not where");
  check_header(96, 16, "its sections are not where");
  check_header(112, INT64_MIN, "its sections are not where");
  check_header(136, 1, "its sections are not where");
  check_header(160, 1, "its sections are not where");
  check_header(PAGE - 16, 1, "its sections are not where");
}

/* By one process, and by each of several; frees the image. */
static void check_ids_refused(image m, const char *why) {
  wr_binary_ranges file;
  wr_ids ids = {0};
  wr_status status = wr_binary_ranges_open(fixture_put("ids.wrm", m.bytes, (size_t)m.size), &file);
  if (status == WR_OK) status = wr_binary_ranges_ids(&file, &ids);
  CHECK_FAILS(WR_EINPUT, status);
  CHECK_MESSAGE(why);
  CHECK(ids.id == NULL && ids.count == 0);
  wr_binary_ranges_close(&file);
  check_refused(m, 0, why);
}

static void check_ids(wr_csr *A, wr_binary_origin origin, const char *why) {
  check_ids_refused(image_of(A, &origin), why);
  CHECK_FAILS(WR_EINPUT, wr_binary_write(fixture_path("never.wrm"), A, &origin, 1));
  CHECK_MESSAGE(why);
  wr_csr_free(A);
}

static void test_ids(void) {
  CASE("ids");
  check_ids(small(0), (wr_binary_origin){.ids = {3, -1, NULL}},
            "ids from -1 on cannot be those of 3 x 3 nodes");
  check_ids(small(0), (wr_binary_origin){.ids = {3, INT64_MAX - 1, NULL}}, "cannot be those of 3 x 3 nodes");
  check_ids(small(0), (wr_binary_origin){.ids = {3, 0, (int64_t[]){1, 1, 2}}}, "ids do not ascend");
  check_ids(small(0), (wr_binary_origin){.ids = {3, 0, (int64_t[]){1, 3, 2}}}, "ids do not ascend");
  check_ids(small(0), (wr_binary_origin){.ids = {3, 0, (int64_t[]){-1, 3, 4}}},
            "ids from -1 on cannot be those");
  check_ids(small(0), (wr_binary_origin){.ids = {3, 0, (int64_t[]){1, INT64_MIN, INT64_MIN}}},
            "ids do not ascend");
  wr_csr *A = small(0);
  image m = image_of(A, &named);
  put64(&m, 160, 0); /* the first one is 1 */
  seal(&m);
  check_ids_refused(m, "ids do not ascend from the first one on");
  m = image_of(A, &named);
  m.bytes[m.size - PAGE] ^= 1;
  check_ids_refused(m, "damaged: the checksum of its ids differs");
  wr_csr_free(A);
  wr_csr *wide = make(1, 2, (int64_t[]){0, 1}, (int32_t[]){0}, NULL);
  check_ids(wide, (wr_binary_origin){.ids = {.count = 1}}, "ids from 0 on cannot be those of 1 x 2 nodes");
}

/* Sizes far beyond the file, each header consistent in itself. */
static void test_huge(void) {
  CASE("huge sizes");
  static const int64_t sizes[][2] = {{WR_MAX_INDEX, 3},
                                     {WR_MAX_INDEX, INT64_C(1) << 40},
                                     {WR_MAX_INDEX, INT64_C(1) << 56},
                                     {1 << 20, (INT64_C(1) << 31) + 5}};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    wr_csr *A = small(1), *B;
    image m = image_of(A, &plain);
    int64_t at = PAGE, bytes[3] = {(sizes[k][0] + 1) * 8, sizes[k][1] * 4, sizes[k][1] * 8};
    put64(&m, 24, sizes[k][0]), put64(&m, 32, WR_MAX_INDEX), put64(&m, 40, sizes[k][1]);
    for (int s = 0; s < 3; s++) {
      put64(&m, 64 + 24 * s, at), put64(&m, 72 + 24 * s, bytes[s]);
      at += (bytes[s] + PAGE - 1) / PAGE * PAGE;
    }
    put64(&m, 56, at);
    seal(&m);
    fixture_fail_after(0);
    wr_status status = read_image(&m, 0, &B);
    fixture_fail_never();
    CHECKF(status == WR_EINPUT, "%s", wr_status_message());
    CHECK_MESSAGE("it was cut short");
    free(m.bytes);
    wr_csr_free(A);
  }
}

/* ---- contents that break a promise, with right checksums ---- */

static void check_contents(wr_csr *A, int nonnegative, const char *why) {
  check_refused(image_of(A, &plain), nonnegative, why);
  if (!nonnegative) {
    CHECK_FAILS(WR_EINPUT, wr_binary_write(fixture_path("never.wrm"), A, &plain, 2));
    CHECK_MESSAGE(strncmp(why, "image: ", 7) == 0 ? why + 7 : why);
    CHECK(access(fixture_path("never.wrm"), F_OK) != 0);
  }
  wr_csr_free(A);
}

static wr_csr *with_row(int64_t i, int64_t value) {
  wr_csr *A = small(0);
  A->row_ptr[i] = value;
  return A;
}

static wr_csr *with_column(int64_t k, int32_t value) {
  wr_csr *A = small(0);
  A->col[k] = value;
  return A;
}

static wr_csr *with_value(int64_t k, double value) {
  wr_csr *A = small(1);
  A->val[k] = value;
  return A;
}

static wr_csr *marked_symmetric(double a, double b) {
  wr_csr *A = make(2, 2, (int64_t[]){0, 1, 2}, (int32_t[]){1, 0}, a == 0 ? NULL : (double[]){a, b});
  if (a == 0) A->col[1] = 1;
  A->symmetric = 1;
  return A;
}

static void test_contents(void) {
  CASE("contents");
  check_contents(with_row(0, 1), 0, "row pointers run from 1 to 3, not from 0 to 3");
  check_contents(with_row(3, 2), 0, "row pointers run from 0 to 2, not from 0 to 3");
  check_contents(with_row(1, INT64_MAX), 0, "row 0 ends at 9223372036854775807");
  check_contents(with_row(1, -1), 0, "row 0 ends at -1");
  check_contents(with_row(2, 1), 0, "row 1 ends at 1, before it begins at 2");
  check_contents(with_column(0, -1), 0, "row 0: column -1 is outside 0..2");
  check_contents(with_column(2, 3), 0, "row 2: column 3 is outside 0..2");
  check_contents(with_column(1, 0), 0, "row 0: column 0 follows column 0");
  check_contents(with_column(0, INT32_MIN), 0, "is outside 0..2");
  check_contents(with_value(1, (double)NAN), 0, "row 1, column 3: a value that is not finite (");
  check_contents(with_value(2, -(double)INFINITY), 0, "row 3, column 2: a value that is not finite (-inf)");
  check_contents(with_value(0, (double)INFINITY), 0, "row 1, column 1: a value that is not finite (inf)");
  check_contents(with_value(1, -1e-300), 1, "row 1, column 3: a negative value where none may be (-1e-300)");
  wr_csr *short_rows = marked_symmetric(1, 1);
  short_rows->row_ptr[2] = 1;
  check_contents(short_rows, 0, "row pointers run from 0 to 1, not from 0 to 2");
  check_contents(marked_symmetric(1, 2), 0, "is marked as symmetric and is not");
  check_contents(marked_symmetric(0, 0), 0, "is marked as symmetric and is not");
  wr_csr *B, *A = small(1); /* -0 is not negative */
  image m = image_of(A, &plain);
  CHECK_OK(read_image(&m, 1, &B));
  wr_csr_free(B);
  free(m.bytes);
  wr_csr_free(A);
  A = make(1, 2, (int64_t[]){0, 1}, (int32_t[]){0}, NULL);
  A->symmetric = 1;
  m = image_of(A, &plain);
  wr_csr_free(A);
  check_refused(m, 0, "is marked as symmetric and is not square (1 x 2)");
}

/* The places of a small matrix: value + 1, or 0 where there is no entry. */
static int is_symmetric(const wr_csr *A) {
  double place[5][5] = {{0}};
  int same = 1;
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) place[i][A->col[k]] = (A->val ? A->val[k] : 0) + 1;
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < i; j++) same &= place[i][j] == place[j][i];
  return same;
}

static int64_t below(uint64_t *state, int64_t n) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int64_t)(*state >> 33) % n;
}

/* Most of them wrong in something. */
static wr_csr *by_chance(uint64_t *s) {
  wr_csr *A = NULL;
  int64_t n = 1 + below(s, 5), nnz = below(s, 2) ? below(s, 4) : below(s, n * n + 1);
  CHECK_OK(wr_csr_create(n, n, nnz, (int)below(s, 2), &A));
  A->symmetric = (int)below(s, 2);
  for (int64_t i = 1; i <= n; i++) A->row_ptr[i] = A->row_ptr[i - 1] + below(s, 4);
  if (below(s, 9) == 0) A->row_ptr[below(s, n)]--;
  if (below(s, 9)) A->row_ptr[n] = nnz;
  for (int64_t k = 0; k < nnz; k++)
    A->col[k] = (int32_t)(k > 0 && below(s, 9) ? (A->col[k - 1] + 1) % n : below(s, n + 1));
  for (int64_t k = 0; A->val && k < nnz; k++) A->val[k] = below(s, 9) ? 1 : 2;
  return A;
}

static void test_by_chance(void) {
  CASE("by chance: read if and only if all promises are kept");
  uint64_t state = 1;
  int64_t right = 0, symmetric = 0, falsely = 0;
  for (int trial = 0; trial < 20000; trial++) {
    wr_csr *A = by_chance(&state), *B;
    int keeps = wr_csr_check(A) == WR_OK, good = keeps && (!A->symmetric || is_symmetric(A));
    image m = image_of(A, &plain);
    wr_status status = read_image(&m, 0, &B);
    CHECKF(status == (good ? WR_OK : WR_EINPUT), "trial %d: %s", trial, status ? wr_status_message() : "accepted");
    right += good, symmetric += good && A->symmetric && A->nnz > 1, falsely += keeps && !good;
    wr_csr_free(B), wr_csr_free(A), free(m.bytes);
  }
  CHECKF(right > 1000 && symmetric > 100 && falsely > 100, "%lld right, %lld of them symmetric; %lld falsely so",
         (long long)right, (long long)symmetric, (long long)falsely);
}

/* One wrong column beside the border of two pieces, or on it; a row that begins there makes it right. */
static void test_borders(void) {
  CASE("borders of pieces");
  for (int64_t k = PIECE - 1; k <= PIECE + 1; k++)
    for (int right = 0; right < 2; right++) {
      wr_csr *A = NULL, *B;
      CHECK_OK(wr_csr_create(3, 3 * PIECE, 2 * PIECE, 0, &A));
      A->row_ptr[1] = right ? k : 5;
      A->row_ptr[2] = A->row_ptr[3] = 2 * PIECE;
      for (int64_t e = 0; e < 2 * PIECE; e++) A->col[e] = (int32_t)(e < k ? e + 2 : right ? e - k : e + 3);
      if (!right) A->col[k] = A->col[k - 1];
      image m = image_of(A, &plain);
      CHECKF(read_image(&m, 0, &B) == (right ? WR_OK : WR_EINPUT), "%lld, %d", (long long)k, right);
      if (!right) CHECK_MESSAGE("columns must ascend");
      wr_csr_free(B);
      wr_csr_free(A);
      free(m.bytes);
    }
  CASE("row pointers at the border of two pieces");
  wr_csr *A = NULL;
  CHECK_OK(wr_csr_create(2 * PIECE, 9, 2, 0, &A));
  for (int64_t i = 0; i <= 2 * PIECE; i++) A->row_ptr[i] = i < PIECE && i > 0 ? 1 : 0;
  A->row_ptr[2 * PIECE] = 2, A->col[0] = 0, A->col[1] = 1;
  check_contents(A, 0, "row 65535 ends at 0, before it begins at 1");
}

int main(void) {
  fixture_begin();
  for (image_version = 1; image_version <= 2; image_version++) {
    test_every_byte();
    test_every_length();
    test_headers();
    test_ids();
    test_huge();
    test_contents();
    test_by_chance();
    test_borders();
  }
  fixture_end();
  return wr_test_report("binary_refused");
}
