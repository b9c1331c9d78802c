/* MERBIT's format (spmv/backends/merbit/merbit_format.h): the builder of the tests, with which that on a device is compared,
 * against a path that is written down step by step; decoding, damaged formats, counts beyond 2^31, no memory. */
#define _GNU_SOURCE /* posix_memalign, memalign */

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "tests/spmv/merbit_host.h"

static int calls, refused = -1; /* the number of the call of posix_memalign that fails */

int posix_memalign(void **block, size_t alignment, size_t bytes) {
  if (calls++ == refused) return ENOMEM;
  *block = memalign(alignment, bytes);
  return *block != NULL ? 0 : ENOMEM;
}

static const int sigmas[] = {1, 2, 7, 13, 14, 21, 22, 23, 52, WR_MERBIT_MAX_SIGMA};
enum { SIGMAS = sizeof sigmas / sizeof *sigmas };

static void *room(size_t count, size_t size) {
  void *block = calloc(count + 1, size);
  if (block == NULL) abort(); /* out of memory */
  return block;
}

/* ---- Shapes ---- */

typedef int64_t (*row_length)(int64_t i, int64_t nrows);

static int64_t empty(int64_t i, int64_t n) { return (void)i, (void)n, 0; }
static int64_t one(int64_t i, int64_t n) { return (void)i, (void)n, 1; }
static int64_t giant(int64_t i, int64_t n) { return i == n / 2 ? 7001 : 0; }
static int64_t giant_first(int64_t i, int64_t n) { return (void)n, i == 0 ? 5000 : i % 3; }
static int64_t giant_last(int64_t i, int64_t n) { return i == n - 1 ? 5000 : i % 2; }
static int64_t full_tiles(int64_t i, int64_t n) { return (void)n, (void)i, 32 * 14 - 1; } /* rows end with tiles */
static int64_t empty_ends(int64_t i, int64_t n) { return i < n / 3 || i > n / 2 ? 0 : 1 + i % 5; }
static int64_t alternating(int64_t i, int64_t n) { return (void)n, i % 2 ? 0 : 33; }
static int64_t mixed(int64_t i, int64_t n) {
  uint64_t hash = ((uint64_t)i + 1) * 0x9E3779B97F4A7C15u;
  return (void)n, (int64_t)(hash >> 40) % (hash >> 61 == 0 ? 900 : hash >> 61 < 4 ? 2 : 12);
}

static const struct {
  const char *name;
  row_length length;
} shapes[] = {{"empty rows", empty},         {"diagonal", one},         {"giant row", giant},
              {"giant row first", giant_first}, {"giant row last", giant_last}, {"rows as long as tiles", full_tiles},
              {"empty rows first and last", empty_ends}, {"alternating", alternating}, {"mixed", mixed}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static const int64_t row_counts[] = {1, 2, 3, 31, 32, 33, 100, 500};
enum { ROW_COUNTS = sizeof row_counts / sizeof *row_counts };

/* A matrix with row_ptr alone: the builder reads nothing else. */
static wr_csr make_rows(row_length length, int64_t nrows) {
  wr_csr A = {.nrows = nrows, .ncols = WR_MAX_INDEX, .row_ptr = room((size_t)nrows + 1, sizeof *A.row_ptr)};
  for (int64_t i = 0; i < nrows; i++) A.row_ptr[i + 1] = A.row_ptr[i] + length(i, nrows);
  A.nnz = A.row_ptr[nrows];
  return A;
}

/* ---- The path, step by step ---- */

/* [nrows + nnz] 1: a step down. */
static unsigned char *write_path(const wr_csr *A) {
  unsigned char *path = room((size_t)(A->nrows + A->nnz), 1);
  int64_t step = 0;
  for (int64_t i = 0; i < A->nrows; i++) {
    step += A->row_ptr[i + 1] - A->row_ptr[i];
    path[step++] = 1;
  }
  return path;
}

static uint64_t word_of(const wr_merbit_format *f, int64_t at) {
  return f->sigma <= 22 ? ((const uint32_t *)f->lane)[at] : ((const uint64_t *)f->lane)[at];
}

static int64_t x_of(const wr_merbit_format *f, int64_t tile) {
  return f->wide ? ((const int64_t *)f->tile_x)[tile] : ((const int32_t *)f->tile_x)[tile];
}

/* Goes down the path once, counting, and compares what is stored on the way; the number of tiles that differ. */
static int64_t compare_with_path(const wr_csr *A, const wr_merbit_format *f, int64_t *long_rows) {
  unsigned char *path = write_path(A);
  int64_t steps = A->nrows + A->nnz, x = 0, y = 0, step = 0, tile = 0, wrong = 0;
  for (*long_rows = 0; step < steps; tile++) {
    int64_t tile_x = x, tile_y = y;
    int bad = 0;
    for (int lane = 0; lane < 32; lane++) {
      uint64_t word = (uint64_t)(y - tile_y), bit = 1;
      for (int s = 0; s < f->sigma; s++) word *= 2;
      for (int s = 0; s < f->sigma; s++, step++, bit *= 2) {
        if (step >= steps) continue;
        word += path[step] ? bit : 0;
        y += path[step], x += !path[step];
      }
      bad |= word_of(f, tile * 32 + lane) != word;
    }
    *long_rows += y == tile_y;
    bad |= x_of(f, tile) != tile_x || f->tile_y[tile] != (uint32_t)tile_y + (y == tile_y ? 1u << 31 : 0);
    wrong += bad;
  }
  CHECKF(tile == f->tiles, "%lld tiles, not %lld", (long long)f->tiles, (long long)tile);
  CHECK(x_of(f, tile) == A->nnz && f->tile_y[tile] == A->nrows);
  free(path);
  return wrong;
}

static int64_t test_one(const wr_csr *A, int sigma, int wide) {
  wr_merbit_format f;
  int64_t long_rows, *row_ptr = room((size_t)A->nrows + 1, sizeof *row_ptr);
  build_on_host(A, sigma, wide, &f);
  CHECK(f.nrows == A->nrows && f.ncols == A->ncols && f.nnz == A->nnz && f.sigma == sigma && f.wide == wide);
  int64_t wrong = compare_with_path(A, &f, &long_rows);
  CHECKF(wrong == 0, "sigma %d, %lld rows: %lld tiles of %lld differ", sigma, (long long)A->nrows, (long long)wrong,
         (long long)f.tiles);
  memset(row_ptr, -1, (size_t)(A->nrows + 1) * sizeof *row_ptr);
  CHECK_OK(wr_merbit_decode_rows(&f, row_ptr));
  CHECK(memcmp(row_ptr, A->row_ptr, (size_t)(A->nrows + 1) * sizeof *row_ptr) == 0);
  wr_merbit_free(&f);
  CHECK(f.tile_x == NULL && f.tile_y == NULL && f.lane == NULL);
  free(row_ptr);
  return long_rows;
}

static void test_shapes(void) {
  for (int shape = 0; shape < SHAPES; shape++)
    for (int count = 0; count < ROW_COUNTS; count++) {
      CASE(shapes[shape].name);
      wr_csr A = make_rows(shapes[shape].length, row_counts[count]);
      for (int s = 0; s < SIGMAS; s++) test_one(&A, sigmas[s], s % 2);
      free(A.row_ptr);
    }
}

/* Formats whose tiles are known without walking the path. */
static void test_long_rows(void) {
  CASE("long rows");
  wr_csr A = make_rows(giant, 1); /* 7001 entries and a step down: 218 full tiles of 32, and 26 steps */
  CHECK(test_one(&A, 1, 0) == 218);
  CHECK(test_one(&A, 14, 1) == 15);
  A.row_ptr[1] = A.nnz = 64; /* the step down is alone in the third tile */
  CHECK(test_one(&A, 1, 0) == 2);
  A.row_ptr[1] = A.nnz = 63;
  CHECK(test_one(&A, 1, 0) == 1);
  A.row_ptr[1] = A.nnz = 1;
  CHECK(test_one(&A, 1, 0) == 0);
  free(A.row_ptr);
}

/* ---- Damage ---- */

/* Each bit of an array is flipped in turn; every flip must be found. */
static void flip_all(const wr_merbit_format *f, void *array, int64_t bytes, int64_t *row_ptr) {
  int64_t unnoticed = 0;
  for (int64_t bit = 0; bit < 8 * bytes; bit++) {
    unsigned char *at = (unsigned char *)array + bit / 8, mask = (unsigned char)(1 << bit % 8);
    *at ^= mask;
    unnoticed += wr_merbit_decode_rows(f, row_ptr) != WR_EINTERNAL;
    *at ^= mask;
  }
  CHECKF(unnoticed == 0, "%lld of %lld bits", (long long)unnoticed, (long long)(8 * bytes));
}

static void test_damage(int sigma, int wide) {
  CASE("a bit is wrong");
  wr_csr A = make_rows(mixed, 60);
  wr_merbit_format f;
  int64_t *row_ptr = room((size_t)A.nrows + 1, sizeof *row_ptr);
  build_on_host(&A, sigma, wide, &f);
  flip_all(&f, f.tile_x, (f.tiles + 1) * (wide ? 8 : 4), row_ptr);
  flip_all(&f, f.tile_y, (f.tiles + 1) * 4, row_ptr);
  flip_all(&f, f.lane, f.tiles * 32 * (sigma <= 22 ? 4 : 8), row_ptr);
  CHECK_OK(wr_merbit_decode_rows(&f, row_ptr));
  wr_merbit_free(&f);
  free(row_ptr);
  free(A.row_ptr);
}

/* ---- Counts ---- */

static void test_words(void) {
  CASE("a tile's fields in a word");
  for (int sigma = 1; sigma <= WR_MERBIT_MAX_SIGMA; sigma++) {
    int64_t most = 31 * sigma;
    int bits = wr_merbit_offset_bits(sigma);
    CHECKF(most >> bits == 0 && most >> (bits - 1) == 1, "%d bits for %lld", bits, (long long)most);
    CHECKF(wr_merbit_lane_bytes(sigma) == (sigma <= 22 ? 4 : 8) && sigma + bits <= 64, "sigma %d", sigma);
    uint64_t all = UINT64_MAX >> (64 - sigma), word = wr_merbit_pack(all, most, sigma);
    CHECK(wr_merbit_flags(word, sigma) == all && wr_merbit_y(word, sigma) == most);
    CHECK(sigma > 22 || word <= UINT32_MAX);
    word = wr_merbit_pack(0, most, sigma);
    CHECK(wr_merbit_flags(word, sigma) == 0 && wr_merbit_y(word, sigma) == most);
  }
  CHECK(WR_MERBIT_MAX_SIGMA + 1 + wr_merbit_offset_bits(WR_MERBIT_MAX_SIGMA + 1) > 64);
}

static void test_tile_counts(void) {
  static const int64_t rows[] = {1, 31, 1000000, WR_MAX_INDEX - 1, WR_MAX_INDEX};
  static const int64_t entries[] = {0, 1, INT32_MAX - 1, INT32_MAX, (int64_t)INT32_MAX + 1, UINT32_MAX,
                                    (int64_t)1 << 32, ((int64_t)1 << 40) - 1, ((int64_t)1 << 40) + 1,
                                    WR_MERBIT_MAX_NNZ, INT64_MAX};
  CASE("counts of tiles");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (size_t k = 0; k < sizeof entries / sizeof *entries; k++)
      for (int s = 0; s < SIGMAS; s++) {
        uint64_t steps = (uint64_t)rows[i] + (uint64_t)entries[k], tile = 32 * (uint64_t)sigmas[s];
        int64_t tiles = wr_merbit_tiles(rows[i], entries[k], sigmas[s]);
        CHECKF(tiles > 0 && (uint64_t)(tiles - 1) * tile < steps && steps <= (uint64_t)tiles * tile,
               "%lld rows, %lld entries, sigma %d: %lld tiles", (long long)rows[i], (long long)entries[k], sigmas[s],
               (long long)tiles);
        if (entries[k] > WR_MERBIT_MAX_NNZ) continue;
        wr_merbit_format shape = wr_merbit_shape(rows[i], 5, entries[k], sigmas[s]);
        double bytes = (double)tiles * (32 * (sigmas[s] <= 22 ? 4 : 8)) + ((double)tiles + 1) * (shape.wide ? 12 : 8);
        CHECK(shape.tiles == tiles && shape.wide == (entries[k] >= (int64_t)1 << 31));
        CHECK(fabs((double)wr_merbit_bytes(&shape) - bytes) <= 1e-15 * bytes);
        CHECK((uint64_t)wr_merbit_lane_step(tiles, 0, sigmas[s]) == (uint64_t)tiles * tile);
      }
}

static void test_refusals(void) {
  CASE("refusals");
  CHECK_FAILS(WR_EUSAGE, wr_merbit_check(6, 6, 10, 0, 0));
  CHECK_FAILS(WR_EUSAGE, wr_merbit_check(6, 6, 10, WR_MERBIT_MAX_SIGMA + 1, 0));
  CHECK_MESSAGE("sigma is 54");
  CHECK_FAILS(WR_EUNAVAILABLE, wr_merbit_check(0, 6, 0, 14, 0));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_merbit_check((int64_t)WR_MAX_INDEX + 1, 6, 0, 14, 0));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_merbit_check(6, (int64_t)WR_MAX_INDEX + 1, 0, 14, 0));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_merbit_check(6, 6, -1, 14, 1));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_merbit_check(6, 6, WR_MERBIT_MAX_NNZ + 1, 14, 1));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_merbit_check(6, 6, (int64_t)INT32_MAX + 1, 14, 0));
  CHECK_MESSAGE("2147483648 entries");
  CHECK_OK(wr_merbit_check(6, 6, (int64_t)INT32_MAX + 1, 14, 1));
  CHECK_OK(wr_merbit_check(WR_MAX_INDEX, WR_MAX_INDEX, INT32_MAX, WR_MERBIT_MAX_SIGMA, 0));
}

/* Search and walk near the step `around`, against counting. */
static void check_place(const void *row_ptr, int wide, const int64_t *ends, int64_t nrows, int64_t around) {
  for (int64_t step = around > 70 ? around - 70 : 0; step < around + 5; step++) {
    int64_t before = 0, after = 0;
    uint64_t flags = 0;
    for (int64_t i = 0; i < nrows; i++) {
      int64_t down = ends[i] + i - step;
      before += down < 0, after += down < WR_MERBIT_MAX_SIGMA;
      if (down >= 0 && down < WR_MERBIT_MAX_SIGMA) flags += (uint64_t)1 << down;
    }
    int64_t y = wr_merbit_search(row_ptr, wide, 0, nrows, step);
    CHECKF(y == before, "step %lld: %lld rows ended, not %lld", (long long)step, (long long)y, (long long)before);
    CHECK(merbit_walk(row_ptr, wide, nrows, step, WR_MERBIT_MAX_SIGMA, &y) == flags && y == after);
  }
}

static void test_far_places(void) {
  static const int64_t far[] = {0, INT32_MAX - 2, INT32_MAX, (int64_t)1 << 31, ((int64_t)1 << 31) + 1, UINT32_MAX,
                                ((int64_t)1 << 32) + 7, (int64_t)1 << 40, (int64_t)1 << 40, ((int64_t)1 << 40) + 60,
                                WR_MERBIT_MAX_NNZ};
  static const int32_t near[] = {0,             5,         INT32_MAX - 50, INT32_MAX - 3, INT32_MAX - 3,
                                 INT32_MAX - 1, INT32_MAX, INT32_MAX};
  enum { FAR_ROWS = sizeof far / sizeof *far - 1, NEAR_ROWS = sizeof near / sizeof *near - 1 };
  int64_t ends[NEAR_ROWS];
  CASE("places beyond 2^31");
  for (int i = 0; i < FAR_ROWS; i++) check_place(far, 1, far + 1, FAR_ROWS, far[i + 1] + i);
  CASE("places beyond 2^31, row pointers of 32 bits");
  for (int i = 0; i < NEAR_ROWS; i++) ends[i] = near[i + 1];
  for (int i = 0; i < NEAR_ROWS; i++) check_place(near, 0, ends, NEAR_ROWS, ends[i] + i);
}

/* Every allocation fails once. */
static void test_no_memory(void) {
  CASE("no memory");
  wr_merbit_format f = wr_merbit_shape(6, 6, 6, 14);
  for (int at = 0; at < 3; at++) {
    calls = 0, refused = at;
    CHECK_FAILS(WR_ENOMEM, wr_merbit_alloc(&f));
    refused = -1;
    CHECK(f.tile_x == NULL && f.tile_y == NULL && f.lane == NULL);
  }
  calls = 0;
  CHECK_OK(wr_merbit_alloc(&f));
  CHECKF(calls == 3, "%d allocations, of which 3 failed above", calls);
  wr_merbit_free(&f);
}

int main(void) {
  test_shapes();
  test_long_rows();
  test_damage(3, 0);
  test_damage(22, 1);
  test_damage(23, 0);
  test_words();
  test_tile_counts();
  test_refusals();
  test_far_places();
  test_no_memory();
  return wr_test_report("merbit_format");
}
