/* Vectors in lines and as NumPy arrays: what is taken, what is refused and where, and that every form that is written is read
 * again with the same bits. */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <float.h>
#include <stdlib.h>

#include "config/memory.h"
#include "io/vector_file.h"
#include "tests/check.h"
#include "tests/io/input_fixture.h"

static int64_t listed[] = {3, 7, INT64_MAX};
static const wr_ids apart = {.count = 3, .first = 3, .id = listed}; /* ids with gaps */

static wr_status read_bytes(const char *bytes, size_t count, const wr_vector_need *need, double **values) {
  return wr_vector_read(fixture_put("vector", bytes, count), need, values);
}

static void check_values(const char *bytes, size_t count, const wr_vector_need *need, const double *expected) {
  double *values;
  wr_status status = read_bytes(bytes, count, need, &values);
  CHECKF(status == WR_OK, "%.60s: %s", bytes, wr_status_message());
  for (int64_t i = 0; status == WR_OK && i < need->n; i++)
    CHECKF(memcmp(&values[i], &expected[i], sizeof *values) == 0, "%.60s: value %lld is %g", bytes, (long long)i,
           values[i]);
  wr_free(values);
}

static void check_refused(const char *bytes, size_t count, const wr_vector_need *need, const char *why) {
  double *values;
  CHECK_FAILS(WR_EINPUT, read_bytes(bytes, count, need, &values));
  CHECK_MESSAGE(why);
  CHECK(values == NULL);
}

#define PLAIN(length) (&(wr_vector_need){.n = (length), .whose = "the test"})
#define NAMED (&(wr_vector_need){.n = 3, .whose = "the test", .ids = &apart})
#define SUBSET (&(wr_vector_need){.n = 3, .whose = "the test", .ids = &apart, .subset = 1})
#define TAKES(text, need, ...) check_values(text, sizeof(text) - 1, need, (double[]){__VA_ARGS__})
#define REFUSES(text, need, why) check_refused(text, sizeof(text) - 1, need, "vector:" why)

static void test_plain_lines(void) {
  CASE("lines of a number");
  TAKES("1\n2.5\n-3e-2\n", PLAIN(3), 1, 2.5, -0.03);
  TAKES("# numpy.savetxt writes this\n% or this\n\n 1 \r\n\t-0\n.5d1", PLAIN(3), 1, -0.0, 5);
  TAKES("7", PLAIN(1), 7);
  TAKES("4\n5\n6\n", NAMED, 4, 5, 6);
  TAKES("4\n5\n6\n", SUBSET, 4, 5, 6);
  REFUSES("", PLAIN(2), "1: the file ends after 0 values, where 2 are needed for the test");
  REFUSES("# c\n\n", PLAIN(2), "3: the file ends after 0 values");
  REFUSES("1\n", PLAIN(2), "2: the file ends after 1 values, where 2 are needed");
  REFUSES("1\n\n", SUBSET, "3: the file ends after 1 values, where 3 are needed");
  REFUSES("1\n2\n\n3\n", PLAIN(2), "4: more values than the 2 of the test");
  REFUSES("1\nnan\n", PLAIN(2), "2: the value is not a number ('nan')");
  REFUSES("1\n-inf\n", PLAIN(2), "2: the value is not a number ('-inf')");
  REFUSES("1\n0x1\n", PLAIN(2), "2: the value is not a number ('0x1')");
  REFUSES("1\n1e400\n", PLAIN(2), "2: the value is too big for a double (1e400)");
  REFUSES("1\n2 3\n", PLAIN(2), "2: more columns than the 1 of the first line (' 3')");
  REFUSES("1\n2,\n", PLAIN(2), "2: more columns than the 1 of the first line (',')");
  REFUSES("1\r2\n", PLAIN(2), "1: a carriage return inside a line");
  REFUSES("score\n1\n", PLAIN(1), "1: the value is not a number ('score')");
  REFUSES("1 2 3\n", PLAIN(3), "1: 3 columns, where a vector has a number in each line, or an id and a number");
}

static void test_lines_with_ids(void) {
  CASE("lines of id and number");
  TAKES("1 10\n2 20\n", PLAIN(2), 10, 20);
  TAKES("2\t20\n1\t10\n", PLAIN(2), 10, 20);
  TAKES("# c\nid,value\n9223372036854775807,-1\r\n\n7 , 2\n3,0", NAMED, 0, 2, -1);
  TAKES("\"node\" 'Score'\n3 1\n7 2\n9223372036854775807 3\n", NAMED, 1, 2, 3);
  TAKES("7 2\n", SUBSET, 0, 2, 0);
  TAKES("id,weight\n9223372036854775807,4\n3,5\n", SUBSET, 5, 0, 4);
  REFUSES("1 10\n", PLAIN(2), "2: the file ends without a value for id 2, one of the test (1 of 2 have one)");
  REFUSES("3 1\n9223372036854775807 1\n", NAMED, "3: the file ends without a value for id 7");
  REFUSES("1 10\n1 20\n", PLAIN(2), "2: id 1 has a value already");
  REFUSES("7 10\n7 20\n", SUBSET, "2: id 7 has a value already");
  REFUSES("0 10\n1 20\n", PLAIN(2), "1: id 0 is none of the test");
  REFUSES("1 10\n3 20\n", PLAIN(2), "2: id 3 is none of the test");
  REFUSES("-1 10\n", SUBSET, "1: id -1 is none of the test");
  REFUSES("4 10\n", SUBSET, "1: id 4 is none of the test");
  REFUSES("9223372036854775808 1\n", SUBSET, "1: id 9223372036854775808 is none of the test");
  REFUSES("1.5 10\n", PLAIN(2), "1: the id is not an integer ('1.5')");
  REFUSES("1 10\nx 20\n", PLAIN(2), "2: the id is not an integer ('x')");
  REFUSES("1 10\n2\n", PLAIN(2), "2: the value is missing");
  REFUSES("1 10\n2,\n", PLAIN(2), "2: the value is missing");
  REFUSES("1 nan\n", PLAIN(2), "1: the value is not a number ('nan')");
  REFUSES("1 10 3\n", PLAIN(2), "1: 3 columns");
  REFUSES("1 10\n2 20 3\n", PLAIN(2), "2: more columns than the 2 of the first line (' 3')");
  REFUSES("value,id\n1,1\n2,2\n", PLAIN(2), "1: the names of columns must be id and value, not 'value,id'");
  REFUSES("id,value,more\n1,1,1\n", PLAIN(2), "1: the names of columns must be id and value");
  REFUSES("id,value\n", SUBSET, "2: the file ends after 0 values");
  REFUSES("id,value\n1\n", PLAIN(1), "2: the value is missing");
  REFUSES("1 \"10\"\n", PLAIN(1), "1: a quoted column");
}

#define MATRIX "%%MatrixMarket matrix coordinate real general\n"
#define COMPLETE(length) (&(wr_vector_need){.n = (length), .whose = "the test", .complete = 1})
#define REFUSES_MATRIX(text, need, why) check_refused(MATRIX text, sizeof(MATRIX text) - 1, need, "vector: " why)

static void test_complete(void) {
  CASE("a coordinate file that has to have each element once");
  TAKES(MATRIX "3 1 3\n3 1 30\n1 1 10\n2 1 0\n", COMPLETE(3), 10, 0, 30);
  TAKES(MATRIX "1 3 3\n1 3 30\n1 1 10\n1 2 -20\n", COMPLETE(3), 10, -20, 30);
  TAKES(MATRIX "1 1 1\n1 1 7\n", COMPLETE(1), 7);
  TAKES("1\n2\n", COMPLETE(2), 1, 2);
  TAKES(MATRIX "3 1 2\n3 1 30\n3 1 1\n", PLAIN(3), 0, 0, 31);
  REFUSES_MATRIX("3 1 2\n3 1 30\n1 1 10\n", COMPLETE(3), "element 2, one of the test, has no entry (2 of 3 have one)");
  REFUSES_MATRIX("3 1 0\n", COMPLETE(3), "element 1, one of the test, has no entry (0 of 3 have one)");
  REFUSES_MATRIX("3 1 3\n1 1 30\n2 1 10\n1 1 -30\n", COMPLETE(3), "element 1 has two entries");
  REFUSES_MATRIX("1 3 4\n1 1 1\n1 2 1\n1 3 1\n1 2 1\n", COMPLETE(3), "element 2 has two entries");
}

static void test_long_files(void) {
  CASE("many lines");
  enum { N = 60000 };
  char *text = malloc(N * 32);
  double *expected = malloc(N * sizeof *expected);
  size_t length = 0;
  for (int k = 0; k < N; k++) { /* ids in another order: 7919 is prime to N */
    int id = (int)((int64_t)k * 7919 % N);
    length += (size_t)snprintf(text + length, 32, "%d\t%d.25\n", id + 1, id);
    expected[id] = id + 0.25;
  }
  check_values(text, length, PLAIN(N), expected);
  char why[96];
  snprintf(why, sizeof why, "vector:%d: id 1 has a value already", N + 1);
  length += (size_t)snprintf(text + length, 32, "1 1\n");
  check_refused(text, length, PLAIN(N), why);
  free(text);
  free(expected);
}

/* Version, description (its length is put before it) and elements. */
static size_t make_npy(char *bytes, int version, const char *description, const void *elements, size_t size) {
  size_t length = strlen(description), at = version == 1 ? 10 : 12;
  memcpy(bytes, "\223NUMPY\0\0\0\0\0\0", 12);
  bytes[6] = (char)version;
  bytes[8] = (char)(length & 255), bytes[9] = (char)(length >> 8);
  memcpy(bytes + at, description, length);
  memcpy(bytes + at + length, elements, size);
  return at + length + size;
}

static void check_npy(int version, const char *description, const void *elements, size_t size, int64_t n,
                      const double *expected) {
  char bytes[1024];
  size_t count = make_npy(bytes, version, description, elements, size);
  check_values(bytes, count, PLAIN(n), expected);
}

static void refuse_npy(int version, const char *description, size_t size, int64_t n, const char *why) {
  static const char zeros[256];
  char bytes[1024];
  size_t count = make_npy(bytes, version, description, zeros, size);
  check_refused(bytes, count, PLAIN(n), why);
}

#define DESCRIPTION(type, order, shape) "{'descr': '" type "', 'fortran_order': " order ", 'shape': " shape ", }   \n"

/* Elements are written out byte by byte, as the format has them: little endian. */
static void test_npy(void) {
  CASE("NumPy arrays");
  static const char f8[] = "\0\0\0\0\0\0\xf8\x3f\0\0\0\0\0\0\0\x80", f4[] = "\0\0\xc0\x3f\0\0\0\x80";
  static const char i8[] = "\xfe\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\1\0\0\0", i4[] = "\xfe\xff\xff\xff\0\0\0\1";
  static const double reals[] = {1.5, -0.0}, longs[] = {-2, 4294967296.0}, ints[] = {-2, 16777216};
  check_npy(1, DESCRIPTION("<f8", "False", "(2,)"), f8, 16, 2, reals);
  check_npy(2, DESCRIPTION("<f8", "False", "(2, 1)"), f8, 16, 2, reals);
  check_npy(3, DESCRIPTION("<f8", "True", "(1, 2)"), f8, 16, 2, reals);
  check_npy(1, DESCRIPTION("<f4", "False", "(2,)"), f4, 8, 2, reals);
  check_npy(1, DESCRIPTION("<i8", "False", "(2,)"), i8, 16, 2, longs);
  check_npy(1, DESCRIPTION("<i4", "False", "(2,)"), i4, 8, 2, ints);
  check_npy(1, "{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"<f8\"}", f8, 16, 2, reals);
  check_npy(1, DESCRIPTION("<f8", "False", "(1, 1)"), f8, 8, 1, reals);
  refuse_npy(1, DESCRIPTION(">f8", "False", "(2,)"), 16, 2, "of '>f8'; <f8, <f4, <i8 and <i4 are read");
  refuse_npy(1, DESCRIPTION("<c16", "False", "(2,)"), 32, 2, "of '<c16'");
  refuse_npy(1, DESCRIPTION("|O", "False", "(2,)"), 16, 2, "of '|O'");
  refuse_npy(1, DESCRIPTION("<f8<f8<f8", "False", "(2,)"), 16, 2, "of '<f8<f8<'");
  refuse_npy(1, "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }", 16, 2, "is not understood");
  refuse_npy(1, DESCRIPTION("<f8", "False", "()"), 8, 1, "of 0 dimensions");
  refuse_npy(1, DESCRIPTION("<f8", "False", "(1, 1, 2)"), 16, 2, "of 3 dimensions");
  refuse_npy(1, DESCRIPTION("<f8", "False", "(2, 2)"), 32, 4, "not a matrix of 2 x 2");
  refuse_npy(1, DESCRIPTION("<f8", "False", "(3,)"), 24, 2, "a vector of 3 values, where 2 are needed for the test");
  refuse_npy(1, DESCRIPTION("<f8", "False", "(1000000000000,)"), 16, 2, "a vector of 1000000000000 values");
  refuse_npy(1, DESCRIPTION("<f8", "False", "(1000000000000,)"), 16, 1000000000000, "16 bytes behind the description");
  refuse_npy(1, DESCRIPTION("<f8", "False", "(99999999999999999999,)"), 16, 2, "is not understood");
  refuse_npy(1, DESCRIPTION("<f8", "False", "(-2,)"), 16, 2, "is not understood");
  refuse_npy(1, DESCRIPTION("<f8", "False", "(2"), 16, 2, "is not understood");
  refuse_npy(1, DESCRIPTION("<f8", "Maybe", "(2,)"), 16, 2, "is not understood");
  refuse_npy(1, "{'descr': '<f8', 'shape': (2,)}", 16, 2, "is not understood");
  refuse_npy(1, "{'descr': '<f8', 'shape': (2,), 'fortran_order': False, 'more': 1}", 16, 2, "is not understood");
  refuse_npy(1, "", 16, 2, "is not understood");
  refuse_npy(1, DESCRIPTION("<f8", "False", "(2,)"), 15, 2, "15 bytes behind the description");
  refuse_npy(1, DESCRIPTION("<f8", "False", "(2,)"), 17, 2, "17 bytes behind the description");
  refuse_npy(0, DESCRIPTION("<f8", "False", "(2,)"), 16, 2, "of version 0 of the format");
  refuse_npy(4, DESCRIPTION("<f8", "False", "(2,)"), 16, 2, "of version 4 of the format");
}

static void test_npy_values(void) {
  CASE("NumPy arrays with other than numbers");
  char bytes[1024];
  const double values[] = {1, NAN}, big[] = {-INFINITY, 1};
  size_t count = make_npy(bytes, 1, DESCRIPTION("<f8", "False", "(2,)"), values, sizeof values);
  check_refused(bytes, count, PLAIN(2), "value 2 is not finite (nan)");
  for (size_t cut = 6; cut < count; cut++) check_refused(bytes, cut, PLAIN(2), "vector: ");
  count = make_npy(bytes, 1, DESCRIPTION("<f8", "False", "(2,)"), big, sizeof big);
  check_refused(bytes, count, PLAIN(2), "value 1 is not finite (-inf)");
  bytes[9] = (char)0xff; /* a description beyond the file */
  check_refused(bytes, count, PLAIN(2), "a NumPy array that ends early");
  count = make_npy(bytes, 2, DESCRIPTION("<f8", "False", "(2,)"), big, sizeof big);
  bytes[11] = (char)0xff; /* 4 GB of description */
  check_refused(bytes, count, PLAIN(2), "with a description that is too long");
}

static void test_other_files(void) {
  CASE("other files");
  REFUSES("BZh91AY&SY", PLAIN(2), " compressed with bzip2");
  REFUSES("\211WRM\r\n\032\n", PLAIN(2), " a matrix saved in binary, where a vector is needed");
  REFUSES("%%MatrixMarket matrix array real general\n1000000000000 1\n1\n", PLAIN(2), "2: more rows than");
  double *values;
  CHECK_FAILS(WR_EINPUT, wr_vector_read(fixture_path("absent"), PLAIN(1), &values));
  CHECK(values == NULL);
}

enum { MANY = 3000 };

static void check_round_trip(wr_vector_format format, const double *values) {
  const char *path = fixture_path("trip");
  double *back;
  int64_t wrong = 0;
  const wr_ids ids = {.count = MANY, .first = 42};
  CHECK_OK(wr_vector_write(path, format, &ids, MANY, 1, values, "made up"));
  CHECK_OK(wr_vector_read(path, &(wr_vector_need){.n = MANY, .whose = "the test", .ids = &ids}, &back));
  for (int64_t i = 0; back != NULL && i < MANY; i++) wrong += memcmp(&back[i], &values[i], sizeof *back) != 0;
  CHECKF(wrong == 0, "form %d: %lld values differ", (int)format, (long long)wrong);
  wr_free(back);
  if (format == WR_VECTOR_MTX || format == WR_VECTOR_TXT || format == WR_VECTOR_NPY) return;
  CHECK_FAILS(WR_EINPUT, wr_vector_read(path, PLAIN(MANY), &back)); /* ids from 1 are others */
  CHECK_OK(wr_vector_write(path, format, NULL, MANY, 1, values, NULL));
  CHECK_OK(wr_vector_read(path, PLAIN(MANY), &back));
  wr_free(back);
}

static void test_round_trips(void) {
  CASE("written and read back");
  double *values = malloc(MANY * sizeof *values);
  for (int i = 0; i < MANY; i++) values[i] = ldexp(1 + i / 4096.0, i - 1500 < 1000 ? i - 1500 : 0);
  values[0] = -0.0, values[1] = DBL_MAX, values[2] = -0x1p-1074;
  for (int format = 0; format < WR_VECTOR_FORMATS; format++) check_round_trip((wr_vector_format)format, values);
  free(values);
}

/* ---- Several vectors ---- */

static void check_columns(const char *bytes, size_t count, int64_t columns, const double *expected) {
  double *values;
  int64_t found = 0;
  const wr_vector_need need = {.n = 2, .whose = "the test", .columns = &found};
  CHECK_OK(read_bytes(bytes, count, &need, &values));
  CHECKF(found == columns, "%.60s: %lld columns", bytes, (long long)found);
  for (int64_t k = 0; values && k < 2 * columns; k++)
    CHECKF(values[k] == expected[k], "%.60s: value %lld is %g", bytes, (long long)k, values[k]);
  wr_free(values);
}

static void check_columns_npy(const char *order, const char *shape, int64_t columns, const double *expected) {
  static const int32_t elements[] = {1, 2, 3, 4, 5, 6};
  char bytes[1024], description[128];
  snprintf(description, sizeof description, "{'descr': '<i4', 'fortran_order': %s, 'shape': %s, }\n", order, shape);
  check_columns(bytes, make_npy(bytes, 1, description, elements, (size_t)(2 * columns) * sizeof *elements), columns,
                expected);
}

/* values[columns][n] in every form; those that are read as columns have the same bits. */
static void check_columns_trip(wr_vector_format format, const char *text) {
  static const double values[] = {1, -0.0, 0.1, 1e300, 3, 4};
  const char *path = fixture_path("columns");
  char content[1024] = "";
  double *back = NULL;
  int64_t found = 0;
  CHECK_OK(wr_vector_write(path, format, NULL, 2, 3, values, NULL));
  FILE *file = fopen(path, "rb");
  size_t length = file ? fread(content, 1, sizeof content - 1, file) : 0;
  if (file) fclose(file);
  CHECKF(text == NULL || (length == strlen(text) && strcmp(content, text) == 0), "form %d: %s", (int)format, content);
  const wr_vector_need need = {.n = 2, .whose = "the test", .columns = &found};
  if (text) return;
  CHECK_OK(wr_vector_read(path, &need, &back));
  CHECKF(found == 3 && back && memcmp(back, values, sizeof values) == 0, "form %d: %lld columns", (int)format,
         (long long)found);
  wr_free(back);
}

static void test_columns(void) {
  static const char header[] = "%%MatrixMarket matrix array real general\n";
  char text[256];
  const double six[] = {1, 2, 3, 4, 5, 6}, by_rows[] = {1, 4, 2, 5, 3, 6};
  CASE("several vectors");
  snprintf(text, sizeof text, "%s2 3\n1\n2\n3\n4\n5\n6\n", header);
  check_columns(text, strlen(text), 3, six);
  snprintf(text, sizeof text, "%s2 1\n1\n2\n", header);
  check_columns(text, strlen(text), 1, six);
  snprintf(text, sizeof text, "%s1 2\n1\n2\n", header);
  check_columns(text, strlen(text), 1, six);
  snprintf(text, sizeof text, "%%%%MatrixMarket matrix coordinate real general\n2 3 2\n2 1 7\n1 3 8\n");
  check_columns(text, strlen(text), 3, (double[]){0, 7, 0, 0, 8, 0});
  check_columns("1\n2\n", 4, 1, six);
  check_columns("2 1\n1 3\n", 8, 1, (double[]){3, 1});
  check_columns_npy("True", "(2, 3)", 3, six);
  check_columns_npy("False", "(2, 3)", 3, by_rows);
  check_columns_npy("False", "(2,)", 1, six);
  check_columns_npy("False", "(1, 2)", 1, six);
  check_columns_trip(WR_VECTOR_MTX, NULL);
  check_columns_trip(WR_VECTOR_NPY, NULL);
  check_columns_trip(WR_VECTOR_TSV, "1\t1\t0.1\t3\n2\t-0\t1e300\t4\n");
  check_columns_trip(WR_VECTOR_CSV, "id,value1,value2,value3\n1,1,0.1,3\n2,-0,1e300,4\n");
  check_columns_trip(WR_VECTOR_TXT, "1 0.1 3\n-0 1e300 4\n");
  CHECK_FAILS(WR_EUSAGE, wr_vector_write(fixture_path("columns"), WR_VECTOR_TXT, NULL, 2, 0, six, NULL));
  snprintf(text, sizeof text, "%s2 3\n1\n2\n3\n4\n5\n6\n", header);
  check_refused(text, strlen(text), PLAIN(2), "vector: a vector has one column, not a matrix of 2 x 3");
  refuse_npy(1, DESCRIPTION("<i4", "False", "(2, 3)"), 24, 2, "a vector has one column, not a matrix of 2 x 3");
  int64_t found;
  double *values;
  snprintf(text, sizeof text, "%s3 2\n1\n2\n3\n4\n5\n6\n", header);
  CHECK_FAILS(WR_EINPUT,
              read_bytes(text, strlen(text), &(wr_vector_need){.n = 2, .whose = "a", .columns = &found}, &values));
  CHECK_MESSAGE("a vector has one column, not a matrix of 3 x 2");
}

static void check_choice(const char *path, wr_vector_format asked, wr_vector_format expected) {
  wr_vector_format format;
  CHECK_OK(wr_vector_format_choose(path, asked, &format));
  CHECKF(format == expected, "%s: %d", path, (int)format);
}

static void test_choices(void) {
  CASE("forms by names");
  static const char *const others[] = {"x.json", "x.mtx.gz", "a.b/x.1", "x."};
  const wr_vector_format none = WR_VECTOR_FORMATS;
  wr_vector_format format;
  check_choice("x.mtx", none, WR_VECTOR_MTX);
  check_choice("x.TSV", none, WR_VECTOR_TSV);
  check_choice("a/b.c.csv", none, WR_VECTOR_CSV);
  check_choice("x.txt", none, WR_VECTOR_TXT);
  check_choice("x.npy", none, WR_VECTOR_NPY);
  check_choice("-", none, WR_VECTOR_MTX);
  check_choice("/dev/stdout", none, WR_VECTOR_MTX);
  check_choice("a.csv/x", none, WR_VECTOR_MTX);
  check_choice(".csv", none, WR_VECTOR_MTX);
  check_choice("-", WR_VECTOR_NPY, WR_VECTOR_NPY);
  check_choice("x.json", WR_VECTOR_CSV, WR_VECTOR_CSV);
  check_choice("x.csv", WR_VECTOR_CSV, WR_VECTOR_CSV);
  check_choice("x.txt", WR_VECTOR_TSV, WR_VECTOR_TSV);
  for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
    CHECK_FAILS(WR_EUSAGE, wr_vector_format_choose(others[k], none, &format));
    CHECK_MESSAGE("results end in .mtx, .tsv, .csv, .txt or .npy");
  }
  CHECK_FAILS(WR_EUSAGE, wr_vector_format_choose("x.mtx", WR_VECTOR_TSV, &format));
  CHECK_MESSAGE("x.mtx: the name ends in '.mtx', and --format asks for tsv");
  CHECK_FAILS(WR_EUSAGE, wr_vector_format_choose("x.txt", WR_VECTOR_NPY, &format));
}

/* Every request for memory fails once. */
static void check_no_memory(const char *bytes, size_t count) {
  const char *path = fixture_put("vector", bytes, count);
  double *values = NULL;
  int failures = 0;
  for (int allowed = 0; allowed < 100; allowed++) {
    fixture_fail_after(allowed);
    wr_status status = wr_vector_read(path, PLAIN(2), &values);
    fixture_fail_never();
    if (status == WR_OK) break;
    failures++;
    CHECKF(status == WR_ENOMEM && values == NULL, "%s", wr_status_message());
  }
  CHECKF(failures >= 2 && failures < 100 && values != NULL, "%d failures", failures);
  wr_free(values);
}

static void test_no_memory(void) {
  CASE("no memory");
  char bytes[256];
  check_no_memory("1\n2\n", 4);
  check_no_memory("1 1\n2 2\n", 8);
  check_no_memory(bytes, make_npy(bytes, 1, DESCRIPTION("<f8", "False", "(2,)"), (double[]){1, 2}, 16));
}

int main(void) {
  fixture_begin();
  test_plain_lines();
  test_lines_with_ids();
  test_complete();
  test_long_files();
  test_npy();
  test_npy_values();
  test_other_files();
  test_round_trips();
  test_columns();
  test_choices();
  test_no_memory();
  fixture_end();
  return wr_test_report("vector_forms");
}
