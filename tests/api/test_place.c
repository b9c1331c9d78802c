/* The size of a problem before it is read, and the place and number of threads that are chosen by it. */
#define _DEFAULT_SOURCE
#include "solvers/api/place.h"

#include "config/defaults.h"
#include "data/generate.h"
#include "io/binary_file.h"
#include "io/file_extent.h"
#include "solvers/api/source.h"
#include "tests/solvers/ground.h"

static void test_place(void) {
  const double opening = WR_DEVICE_OPEN_SECONDS, around = opening + WR_DEVICE_CLOSE_SECONDS;
  char why[192];
  CASE("the place");
  for (int threads = 1; threads <= 64; threads *= 2) {
    double limit = around * WR_CORE_BYTES_PER_SECOND * (threads < WR_MEMORY_CORES ? threads : WR_MEMORY_CORES);
    CHECK(wr_place_for(0.99 * limit, threads, opening, why, sizeof why) == WR_HOST);
    CHECKF(strstr(why, "-d cuda") != NULL && strchr(why, '\n') == NULL && strlen(why) < sizeof why - 1, "'%s'", why);
    CHECK(wr_place_for(1.01 * limit, threads, opening, why, sizeof why) == WR_CUDA && why[0] == '\0');
  }
  CHECK(wr_place_for(0, 1, opening, why, sizeof why) == WR_HOST);
  CHECK(wr_place_for(INFINITY, 1, opening, why, sizeof why) == WR_CUDA);
  CHECK(wr_place_for(NAN, 1, opening, why, sizeof why) == WR_CUDA);
  CHECK(wr_cpu_seconds(WR_CORE_BYTES_PER_SECOND, 1) == 1 && wr_cpu_seconds(WR_CORE_BYTES_PER_SECOND, 2) == 0.5);
}

static void test_threads(void) {
  CASE("threads by entries");
  CHECK(wr_threads_for(0, 64) == 1 && wr_threads_for(WR_ENTRIES_PER_THREAD - 1, 64) == 1);
  CHECK(wr_threads_for(WR_ENTRIES_PER_THREAD, 64) == 2 && wr_threads_for(WR_ENTRIES_PER_THREAD, 1) == 1);
  CHECK(wr_threads_for((int64_t)63 * WR_ENTRIES_PER_THREAD, 64) == 64 && wr_threads_for(INT64_MAX, 64) == 64);
}

/* The estimate is within a factor of 2 of the generated matrix, and exact for some families. */
static void test_generated(void) {
  static const char *const names[] = {"gen:road:side=300",    "gen:web:n=30000",   "gen:rmat:scale=12,degree=20",
                                      "gen:hubs:n=30000,hubs=7", "gen:stencil:n=20", "gen:fem:n=8",
                                      "gen:band:n=1000",      "gen:chain:scale=13", "gen:uniform:n=5000"};
  wr_extent extent;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    wr_csr *A = NULL;
    CASE(names[k]);
    CHECK(wr_source_extent(names[k], &extent));
    CHECK_OK(wr_generate(names[k], 0, &A));
    if (A == NULL) continue;
    CHECKF(extent.nrows == A->nrows, "%lld rows, not %lld", (long long)extent.nrows, (long long)A->nrows);
    CHECKF(extent.nnz <= 2 * A->nnz && A->nnz <= 2 * extent.nnz, "%lld entries, not %lld", (long long)extent.nnz,
           (long long)A->nnz);
    wr_csr_free(A);
  }
  CASE("names that cannot be generated");
  CHECK(!wr_source_extent("gen:none", &extent) && !wr_source_extent("gen:stencil:n=0", &extent));
}

static char folder[512], path[1024];

static const char *put(const char *name, const char *text, int64_t size) {
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *out = fopen(path, "w");
  CHECKF(out != NULL && fwrite(text, 1, (size_t)size, out) == (size_t)size, "%s cannot be written", path);
  if (out) CHECK(fclose(out) == 0);
  return path;
}

static void check_file(const char *name, const char *text, int known, int64_t nrows, int64_t nnz) {
  wr_extent extent;
  CASE(name);
  CHECK(wr_source_extent(put(name, text, (int64_t)strlen(text)), &extent) == known);
  CHECKF(extent.nrows == nrows && extent.nnz == nnz, "%lld rows, %lld entries", (long long)extent.nrows,
         (long long)extent.nnz);
  unlink(path);
}

static void test_files(void) {
  static const char lines[] = "1 1\n2 2\n3 3\n4 4\n5 5\n6 6\n7 7\n";
  static const char banner[] = "%%MatrixMarket matrix coordinate";
  char text[256];
  snprintf(text, sizeof text, "%s pattern general\n%%comment\n\n9 8 7\n%s", banner, lines);
  check_file("general.mtx", text, 1, 9, 7);
  snprintf(text, sizeof text, "%s pattern symmetric\n9 9 7\n%s", banner, lines);
  check_file("symmetric.mtx", text, 1, 9, 14);
  snprintf(text, sizeof text, "%s pattern general\n2000000000 9 1000000000\n%s", banner, lines);
  check_file("more_than_there_is_room_for.mtx", text, 1, 2000000000, (int64_t)strlen(text) / 4 + 1);
  snprintf(text, sizeof text, "%s patern general\n1 1 1\n1 1\n", banner);
  check_file("damaged.mtx", text, 0, 0, 0);
  check_file("empty.mtx", "", 0, 0, 0);
  memset(text, '1', sizeof text - 1), text[sizeof text - 1] = '\0';
  check_file("lines.tsv", text, 1, 3, 16);
  check_file("cut_short.wrm", WR_BINARY_MAGIC, 0, 0, 0);
}

static void test_binary(void) {
  wr_csr *A = NULL;
  wr_extent extent;
  wr_binary_origin origin = {.ids = {.count = 0}};
  CASE("saved in binary");
  CHECK_OK(wr_generate("gen:stencil:n=9", 1, &A));
  snprintf(path, sizeof path, "%s/saved.wrm", folder);
  CHECK_OK(wr_binary_write(path, A, &origin, 1));
  CHECK(wr_source_extent(path, &extent) && extent.nrows == A->nrows && extent.nnz == A->nnz);
  unlink(path);
  wr_csr_free(A);
}

/* The estimate for a compressed file, by its length alone, is within a factor of four. */
static void test_compressed(void) {
  static const char *const names[] = {"jpwh_991", "add32", "as-22july06", "wiki-Vote"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    wr_extent extent;
    CASE(names[k]);
    if (real_path(names[k]) == NULL) continue;
    CHECK(wr_source_extent(real_path(names[k]), &extent));
    wr_csr *A = real_matrix(names[k], 0);
    if (A == NULL) continue;
    CHECKF(extent.nnz <= 4 * A->nnz && A->nnz <= 4 * extent.nnz, "%lld entries, not %lld", (long long)extent.nnz,
           (long long)A->nnz);
    wr_csr_free(A);
  }
}

static void test_others(void) {
  wr_extent extent;
  CASE("inputs without a length");
  CHECK(!wr_source_extent("-", &extent) && !wr_source_extent("/dev/null", &extent));
  CHECK(!wr_source_extent(folder, &extent) && !wr_source_extent("no such file", &extent));
}

int main(void) {
  snprintf(folder, sizeof folder, "%.400s/windrow-test-XXXXXX", wr_test_folder());
  CHECK(mkdtemp(folder) != NULL);
  test_place();
  test_threads();
  test_generated();
  test_files();
  test_binary();
  test_compressed();
  test_others();
  rmdir(folder);
  return wr_test_report("place");
}
