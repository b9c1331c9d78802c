/* Files that are not read here: told by their first bytes, with what would help, before much of them is read. */
#define _DEFAULT_SOURCE
#include <fcntl.h>

#include "io/edge_list.h"
#include "io/file_kind.h"
#include "io/reader.h"
#include "tests/check.h"
#include "tests/io/input_fixture.h"

#define ZIP(length, name) "PK\3\4\24\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" length "\0\0\0" name

#define NULS_16 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define NULS_84 NULS_16 NULS_16 NULS_16 NULS_16 NULS_16 "\0\0\0\0"

typedef struct sample {
  const char *bytes;
  size_t count;
  const char *what, *help; /* what the sentence must say */
} sample;

#define SAMPLE(text, ...) {text, sizeof(text) - 1, __VA_ARGS__}

static const sample samples[] = {
    SAMPLE("BZh91AY&SY\0", "compressed with bzip2", "for an edge list PROGRAM --input-format edges -"),
    SAMPLE("\4\x22\x4d\x18", "compressed with lz4", "lz4 -dc"),
    SAMPLE("\x1f\x9d\x90", "compressed with compress", "gzip -dc"),
    SAMPLE("7z\xbc\xaf\x27\x1c\0\4", "a 7z archive", "7z x"),
    SAMPLE("Rar!\x1a\7\1\0", "a rar archive", "unrar x"),
    SAMPLE(ZIP("\23", "[Content_Types].xml"), "an Office document", "CSV"),
    SAMPLE(ZIP("\5", "a.mtx"), "a zip archive", "unzip FILE"),
    SAMPLE(ZIP("\xff", "cut"), "a zip archive", "unzip FILE"),
    SAMPLE("\223NUMPY\1\0v\0{'descr'", "a NumPy array (.npy), which is read as a vector only", "scipy.io.mmwrite"),
    SAMPLE("\x89HDF\r\n\x1a\n\0", "an HDF5 file", "scipy.io.mmwrite"),
    SAMPLE("MATLAB 5.0 MAT-file, Platform: GLNXA64", "a MATLAB file", "scipy.io.loadmat"),
    SAMPLE("MATLAB 7.3 MAT-file, Platform: GLNXA64", "a MATLAB file in HDF5", "-v7"),
    SAMPLE("PAR1\25\4\25", "a Parquet table", "pandas.read_parquet"),
    SAMPLE("ARROW1\0\0\xff", "an Arrow table", "pandas.read_feather"),
    SAMPLE("FEA1\0\0\0\0", "a Feather table", "pandas.read_feather"),
    SAMPLE("SQLite format 3\0\20", "an SQLite database", "sqlite3"),
    SAMPLE("\x80\4\x95\1\0", "a Python pickle", "scipy.io.mmwrite"),
    SAMPLE("\xff\xfe" "1\0 \0", "a text in UTF-16", "iconv"),
    SAMPLE("\xfe\xff\0" "1", "a text in UTF-16", "iconv"),
    SAMPLE("cages" NULS_84 NULS_84 NULS_84 "ustar", "a tar archive", "tar xf FILE")};

enum { SAMPLES = sizeof samples / sizeof *samples };

/* The sentence about an input must begin with its name, and say both. */
static void check_sentence(const char *name, const sample *s) {
  CHECKF(strncmp(wr_status_message(), name, strlen(name)) == 0, "'%s'", wr_status_message());
  CHECK_MESSAGE(s->what);
  CHECK_MESSAGE(s->help);
}

static void read_as_matrix(const char *path, const sample *s) {
  wr_triplets t;
  CHECK_FAILS(WR_EINPUT, wr_read_triplets(path, NULL, &t, NULL));
  check_sentence(path, s);
  CHECK(t.chunks == NULL);
}

static void read_as_edges(const char *path, const sample *s) {
  wr_triplets t;
  wr_ids ids;
  CHECK_FAILS(WR_EINPUT, wr_edge_list_read(path, NULL, &t, &ids, NULL));
  check_sentence(path, s);
  CHECK(t.chunks == NULL && ids.id == NULL);
}

static int is_refused(const char *begin, int64_t count) {
  wr_file_kind kind = wr_file_kind_of(begin, count);
  return kind == WR_FILE_FOREIGN || kind == WR_FILE_NPY;
}

static void test_samples(void) {
  CASE("told by their first bytes");
  for (int k = 0; k < SAMPLES; k++) {
    const char *path = fixture_put("sample", samples[k].bytes, samples[k].count);
    read_as_matrix(path, &samples[k]);
    read_as_edges(path, &samples[k]);
    for (int64_t count = 0; count <= (int64_t)samples[k].count; count++) /* a sanitizer sees what is read beyond them */
      CHECK(is_refused(samples[k].bytes, count) == (wr_file_check_foreign("", samples[k].bytes, count) != WR_OK));
    CHECK(!is_refused(samples[k].bytes, 1));
  }
}

static void test_pipes(void) {
  CASE("from a pipe");
  for (int k = 0; k < SAMPLES; k++)
    for (int edges = 0; edges < 2; edges++) {
      int ends[2];
      char path[64];
      CHECK(pipe(ends) == 0 && write(ends[1], samples[k].bytes, samples[k].count) == (ssize_t)samples[k].count);
      close(ends[1]);
      snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
      (edges ? read_as_edges : read_as_matrix)(path, &samples[k]);
      close(ends[0]);
    }
}

/* Reading, or making room for, all of such a file would take hours and a terabyte. */
static void test_size(void) {
  CASE("of a terabyte");
  const char *path = fixture_put("large", samples[0].bytes, samples[0].count);
  if (truncate(path, (off_t)1 << 40) != 0) {
    SKIP("no file of a terabyte can be made here");
    return;
  }
  read_as_matrix(path, &samples[0]);
  read_as_edges(path, &samples[0]);
}

static void test_texts(void) {
  CASE("texts that begin alike");
  static const char *const texts[] = {"", "1 2\n", "PAR1 PAR2\n", "PK 1\n", "BZh9 1\n", "ARROW1,to\n", "%%MatrixMarket",
                                      "7z\n", "SQLite\n", "MATLAB\n", "ustar\n"};
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
    CHECKF(!is_refused(texts[k], (int64_t)strlen(texts[k])), "%s", texts[k]);
}

int main(void) {
  fixture_begin();
  test_samples();
  test_pipes();
  test_size();
  test_texts();
  fixture_end();
  return wr_test_report("foreign");
}
