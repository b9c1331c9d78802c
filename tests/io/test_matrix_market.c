/* Banner and size lines, from a FILE as mmio has it and out of memory, and back. */
#define _DEFAULT_SOURCE
#include "io/matrix_market.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/check.h"

/* A FILE that reads the text. */
static FILE *file_of(const char *text) {
  FILE *file = tmpfile();
  if (file == NULL || fputs(text, file) < 0) return NULL;
  rewind(file);
  return file;
}

static void test_typecodes(void) {
  CASE("typecodes");
  MM_typecode code;
  mm_initialize_typecode(&code);
  CHECK(memcmp(code, "   G", 4) == 0 && !mm_is_valid(code));
  mm_set_matrix(&code);
  mm_set_coordinate(&code);
  mm_set_real(&code);
  mm_set_symmetric(&code);
  CHECK(mm_is_matrix(code) && mm_is_coordinate(code) && mm_is_sparse(code) && mm_is_real(code) &&
        mm_is_symmetric(code));
  CHECK(!mm_is_array(code) && !mm_is_dense(code) && !mm_is_integer(code) && !mm_is_pattern(code) &&
        !mm_is_complex(code));
  CHECK(!mm_is_general(code) && !mm_is_skew(code) && !mm_is_hermitian(code));
  mm_set_dense(&code);
  mm_set_integer(&code);
  mm_set_skew(&code);
  CHECK(mm_is_array(code) && mm_is_integer(code) && mm_is_skew(code) && mm_is_valid(code));
  mm_set_sparse(&code);
  mm_set_complex(&code);
  mm_set_hermitian(&code);
  CHECK(mm_is_sparse(code) && mm_is_complex(code) && mm_is_hermitian(code) && mm_is_valid(code));
  char text[16];
  CHECK(strcmp(mm_typecode_to_str(code, text, sizeof text), "matrix coordina") == 0); /* as much as there is room for */
}

/* All 2 x 4 x 4 kinds: which exist follows from what the words mean. */
static void test_valid(void) {
  CASE("kinds that exist");
  int valid = 0;
  for (const char *format = "CA"; *format; format++)
    for (const char *field = "RIPC"; *field; field++)
      for (const char *symmetry = "GSKH"; *symmetry; symmetry++) {
        MM_typecode code = {'M', *format, *field, *symmetry};
        int sense = *field == 'P' ? *format == 'C' && (*symmetry == 'G' || *symmetry == 'S')
                                  : *symmetry != 'H' || *field == 'C';
        CHECKF(mm_is_valid(code) == sense, "M%c%c%c", *format, *field, *symmetry);
        valid += sense;
        if (!sense) continue;
        char text[64], banner[96];
        snprintf(banner, sizeof banner, "%s %s\n", MM_BANNER, mm_typecode_to_str(code, text, sizeof text));
        MM_typecode back;
        FILE *file = file_of(banner);
        CHECK_OK(mm_read_banner(file, &back));
        CHECKF(memcmp(code, back, 4) == 0, "%s", banner);
        fclose(file);
      }
  CHECK(valid == 2 * (3 + 3 + 4) + 2);
}

static void check_banner(const char *text, const char *why) {
  MM_typecode code;
  FILE *file = file_of(text);
  if (why == NULL) {
    CHECK_OK(mm_read_banner(file, &code));
    CHECK(mm_is_valid(code));
  } else {
    CHECK_FAILS(WR_EINPUT, mm_read_banner(file, &code));
    CHECK_MESSAGE(why);
  }
  fclose(file);
}

static void test_banner(void) {
  CASE("banners");
  check_banner("%%MatrixMarket matrix coordinate real general\n", NULL);
  check_banner("%%MATRIXmarket\tMatrix  COORDINATE Real   GENERAL \r\n", NULL);
  check_banner("%%MatrixMarket matrix array complex hermitian", NULL);
  check_banner("", "empty");
  check_banner("\n", "no Matrix Market banner");
  check_banner("%MatrixMarket matrix coordinate real general\n", "no Matrix Market banner");
  check_banner(" %%MatrixMarket matrix coordinate real general\n", "no Matrix Market banner");
  check_banner("%%MatrixMarketing matrix coordinate real general\n", "no Matrix Market banner");
  check_banner("\xef\xbb\xbf%%MatrixMarket matrix coordinate real general\n", "byte order mark");
  check_banner("%%MatrixMarket\n", "before the object");
  check_banner("%%MatrixMarket vector coordinate real general\n", "object 'vector'");
  check_banner("%%MatrixMarket matrix csr real general\n", "format 'csr'");
  check_banner("%%MatrixMarket matrix coordinate quaternion general\n", "field 'quaternion'");
  check_banner("%%MatrixMarket matrix coordinate real triangular\n", "symmetry 'triangular'");
  check_banner("%%MatrixMarket matrix coordinate real\n", "before the symmetry");
  check_banner("%%MatrixMarket matrix coordinate real general please\n", "'please'");
  check_banner("%%MatrixMarket matrix array pattern general\n", "no such kind");
  check_banner("%%MatrixMarket matrix coordinate pattern skew-symmetric\n", "no such kind");
  check_banner("%%MatrixMarket matrix coordinate real hermitian\n", "no such kind");
  check_banner("%%MatrixMarket matrix coordinate real general\r1 1 1\r", "carriage return");
  check_banner("%%MatrixMarket matrix coordinate re\x01l general\n", "re\\x01l");
  char text[MM_MAX_LINE_LENGTH + 64];
  snprintf(text, sizeof text, "%%%%MatrixMarket matrix coordinate real general%*s\n", MM_MAX_LINE_LENGTH, "");
  check_banner(text, "longer than");
}

static void test_sizes(void) {
  CASE("size lines of a FILE");
  int64_t nrows, ncols, nnz;
  FILE *file = file_of("% one\n%%two\n   \n\n\t3  4 9223372036854775807 \r\nrest");
  CHECK_OK(mm_read_mtx_crd_size(file, &nrows, &ncols, &nnz));
  CHECK(nrows == 3 && ncols == 4 && nnz == INT64_MAX);
  char rest[8] = "";
  CHECK(fgets(rest, sizeof rest, file) != NULL && strcmp(rest, "rest") == 0);
  fclose(file);
  char text[3 * MM_MAX_LINE_LENGTH];
  snprintf(text, sizeof text, "%%%*s\n7 5", 2 * MM_MAX_LINE_LENGTH, "x"); /* a long comment, and no newline at the end */
  file = file_of(text);
  CHECK_OK(mm_read_mtx_array_size(file, &nrows, &ncols));
  CHECK(nrows == 7 && ncols == 5);
  fclose(file);
  snprintf(text, sizeof text, "7 %*s5\n", 2 * MM_MAX_LINE_LENGTH, "");
  file = file_of(text);
  CHECK_FAILS(WR_EINPUT, mm_read_mtx_array_size(file, &nrows, &ncols));
  CHECK_MESSAGE("longer than");
  fclose(file);
  file = file_of("% only comments\n%\n");
  CHECK_FAILS(WR_EINPUT, mm_read_mtx_crd_size(file, &nrows, &ncols, &nnz));
  CHECK_MESSAGE("ends before");
  fclose(file);
}

static void check_size(const char *line, const char *why) {
  int64_t nrows, ncols, nnz;
  FILE *file = file_of(line);
  CHECK_FAILS(WR_EINPUT, mm_read_mtx_crd_size(file, &nrows, &ncols, &nnz));
  CHECK_MESSAGE(why);
  fclose(file);
}

static void test_bad_sizes(void) {
  CASE("bad size lines");
  check_size("3 3\n", "needs 3 numbers, not 2");
  check_size("3 3 3 3\n", "more than its 3 numbers");
  check_size("3 three 3\n", "'three'");
  check_size("3.0 3 3\n", "'3.0'");
  check_size("-3 3 3\n", "negative");
  check_size("0 3 3\n", "zero");
  check_size("3 0 3\n", "zero");
  check_size("3 3 -1\n", "negative");
  check_size("3 3 9223372036854775808\n", "64 bits");
  check_size("%\r3 3 3\n", "ends before"); /* a comment: CR alone ends no line */
  check_size("3 3\r3\n", "'3\\x0d3'");
}

static void test_writing(void) {
  CASE("writing");
  MM_typecode code = {'M', 'C', 'I', 'K'}, back;
  int64_t nrows, ncols, nnz;
  FILE *file = tmpfile();
  CHECK_OK(mm_write_banner(file, code));
  CHECK_OK(mm_write_mtx_crd_size(file, 5, 6, INT64_C(5000000000)));
  CHECK_OK(mm_write_mtx_array_size(file, 7, 8));
  rewind(file);
  CHECK_OK(mm_read_banner(file, &back));
  CHECK(memcmp(code, back, 4) == 0);
  CHECK_OK(mm_read_mtx_crd_size(file, &nrows, &ncols, &nnz));
  CHECK(nrows == 5 && ncols == 6 && nnz == INT64_C(5000000000));
  CHECK_OK(mm_read_mtx_array_size(file, &nrows, &ncols));
  CHECK(nrows == 7 && ncols == 8);
  fclose(file);
  if (access("/dev/full", W_OK) != 0) {
    SKIP("there is no /dev/full");
    return;
  }
  file = fopen("/dev/full", "w");
  setvbuf(file, NULL, _IONBF, 0);
  CHECK_FAILS(WR_EOUTPUT, mm_write_banner(file, code));
  CHECK_FAILS(WR_EOUTPUT, mm_write_mtx_crd_size(file, 1, 1, 1));
  CHECK_FAILS(WR_EOUTPUT, mm_write_mtx_array_size(file, 1, 1));
  fclose(file);
}

static wr_status parse(const char *text, mm_header *header, const char **body, int64_t *line) {
  return mm_parse_header("file.mtx", text, text + strlen(text), header, body, line);
}

static void test_header(void) {
  CASE("headers in memory");
  mm_header h;
  const char *body, *text = "%%MatrixMarket matrix coordinate real general\r\n%\n\n% c\n3 4 5\r\n1 1 1\n";
  int64_t line;
  CHECK_OK(parse(text, &h, &body, &line));
  CHECK(mm_is_coordinate(h.matcode) && h.nrows == 3 && h.ncols == 4 && h.nnz == 5 && line == 6);
  CHECK(strcmp(body, "1 1 1\n") == 0);
  CHECK_OK(parse("%%MatrixMarket matrix array real general\n3 4", &h, &body, &line));
  CHECK(h.nnz == 12 && line == 3 && *body == 0);
  CHECK_OK(parse("%%MatrixMarket matrix array real symmetric\n4 4\n", &h, &body, &line));
  CHECK(h.nnz == 10);
  CHECK_OK(parse("%%MatrixMarket matrix array integer skew-symmetric\n4 4\n", &h, &body, &line));
  CHECK(h.nnz == 6);
  CHECK_OK(parse("%%MatrixMarket matrix array integer skew-symmetric\n1 1\n", &h, &body, &line));
  CHECK(h.nnz == 0);
  CHECK_OK(parse("%%MatrixMarket matrix array real general\n3037000499 3037000499\n", &h, &body, &line));
  CHECK(h.nnz == INT64_C(3037000499) * 3037000499);
}

static void check_header(const char *text, const char *why) {
  mm_header h;
  const char *body;
  int64_t line;
  CHECK_FAILS(WR_EINPUT, parse(text, &h, &body, &line));
  CHECK_MESSAGE(why);
}

static void test_bad_headers(void) {
  CASE("bad headers");
  check_header("", "file.mtx:1: ");
  check_header("3 3 3\n", "file.mtx:1: ");
  check_header("%%MatrixMarket matrix coordinate complex general\n1 x\n", "file.mtx:1: complex");
  check_header("%%MatrixMarket matrix coordinate complex hermitian\n", "file.mtx:1: complex");
  check_header("%%MatrixMarket matrix coordinate real general", "file.mtx:2: ");
  check_header("%%MatrixMarket matrix coordinate real general\n%\n\n", "file.mtx:4: ");
  check_header("%%MatrixMarket matrix coordinate real general\n%\n%", "file.mtx:4: ");
  check_header("%%MatrixMarket matrix coordinate real general\n\n3 3\n", "file.mtx:3: ");
  check_header("%%MatrixMarket matrix coordinate real symmetric\n3 4 1\n", "file.mtx:2: a symmetric kind");
  check_header("%%MatrixMarket matrix array real skew-symmetric\n3 4\n", "file.mtx:2: a symmetric kind");
  check_header("%%MatrixMarket matrix array real general\n3037000500 3037000500\n", "file.mtx:2: more values");
  check_header("%%MatrixMarket matrix array real symmetric\n9223372036854775807 9223372036854775807\n", "file.mtx:2: ");
}

int main(void) {
  test_typecodes();
  test_valid();
  test_banner();
  test_sizes();
  test_bad_sizes();
  test_writing();
  test_header();
  test_bad_headers();
  return wr_test_report("matrix_market");
}
