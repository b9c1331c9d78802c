/* wr_generate: names and keys, errors, the same bits on any number of threads, no memory; and the tools that families
 * share. What each family promises about its matrices: test_families.c, test_families_values.c. */
#define _GNU_SOURCE /* posix_memalign, memalign, open_memstream */
#include "data/generate.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "config/memory.h"
#include "data/family.h"
#include "tests/check.h"

static atomic_long calls;
static atomic_long refused = -1; /* this call of posix_memalign finds no memory */

int posix_memalign(void **block, size_t alignment, size_t bytes) {
  if (atomic_fetch_add(&calls, 1) == refused || bytes > (size_t)1 << 32) return ENOMEM;
  *block = memalign(alignment, bytes);
  return *block != NULL ? 0 : ENOMEM;
}

static const char *const small[] = {
    "gen:road:side=50",
    "gen:road:side=64,keep=1",
    "gen:web:n=3000",
    "gen:web:n=6000,dmin=40,alpha=1.2",
    "gen:rmat:scale=10,degree=20",
    "gen:hubs:n=30000,hubs=7",
    "gen:stencil:n=20,points=27",
    "gen:stencil:n=70,points=5",
    "gen:fem:n=8",
    "gen:band:n=1003,block=5,density=0.2",
    "gen:chain:scale=13",
    "gen:uniform:n=5000,degree=100",
    "gen:density:n=500,block=7,density=0.3,fill=0.4",
    "gen:density:n=500,block=20,density=0.3,fill=9",
    "gen:aniso:n=70",
    "gen:jump:n=17,dims=3,domains=5",
    "gen:convect:n=70,flow=vortex,stretch=100",
    "gen:convect:n=17,dims=3,scheme=central",
    "gen:saddle:n=12,dims=3",
    "gen:circuit:n=9000,rails=3",
};
enum { SMALL = sizeof small / sizeof small[0] };

static int same(const wr_csr *A, const wr_csr *B) {
  if (A->nrows != B->nrows || A->ncols != B->ncols || A->nnz != B->nnz || A->symmetric != B->symmetric) return 0;
  if ((A->val == NULL) != (B->val == NULL)) return 0;
  if (memcmp(A->row_ptr, B->row_ptr, (size_t)(A->nrows + 1) * sizeof *A->row_ptr) != 0) return 0;
  if (memcmp(A->col, B->col, (size_t)A->nnz * sizeof *A->col) != 0) return 0;
  return A->val == NULL || memcmp(A->val, B->val, (size_t)A->nnz * sizeof *A->val) == 0;
}

static void test_threads(void) {
  static const int threads[] = {2, 5, 0};
  for (int m = 0; m < SMALL; m++) {
    CASE(small[m]);
    wr_csr *one = NULL;
    CHECK_OK(wr_generate(small[m], 1, &one));
    if (one == NULL) continue;
    CHECK_OK(wr_csr_check(one));
    CHECK(one->nnz > one->nrows / 2);
    for (int t = 0; t < 3; t++) {
      wr_csr *other = NULL;
      CHECK_OK(wr_generate(small[m], threads[t], &other));
      CHECKF(other != NULL && same(one, other), "differs on %d threads", threads[t]);
      wr_csr_free(other);
    }
    wr_csr_free(one);
  }
}

static void test_seeds(void) {
  static const char *const certain[] = {"stencil", "keep=1", "aniso", "convect", "saddle"};
  for (int m = 0; m < SMALL; m++) {
    int by_chance = 1;
    for (size_t c = 0; c < sizeof certain / sizeof certain[0]; c++) by_chance &= strstr(small[m], certain[c]) == NULL;
    CASE(small[m]);
    char name[3][80];
    wr_csr *A[3] = {NULL, NULL, NULL};
    for (int s = 0; s < 3; s++) {
      snprintf(name[s], sizeof name[s], "%s,seed=%d", small[m], s == 2 ? 12 : 1);
      if (s == 0) snprintf(name[s], sizeof name[s], "%s", small[m]); /* seed 1 is the default */
      CHECK_OK(wr_generate(name[s], 2, &A[s]));
    }
    if (A[0] != NULL && A[1] != NULL && A[2] != NULL) {
      CHECK(same(A[0], A[1]));
      CHECK(same(A[0], A[2]) != by_chance);
    }
    for (int s = 0; s < 3; s++) wr_csr_free(A[s]);
  }
}

static void expect_same(const char *name, const char *as) {
  CASE(name);
  wr_csr *A = NULL, *B = NULL;
  CHECK_OK(wr_generate(name, 2, &A));
  CHECK_OK(wr_generate(as, 2, &B));
  CHECK(A != NULL && B != NULL && same(A, B));
  wr_csr_free(A);
  wr_csr_free(B);
}

static void test_names(void) {
  CASE("names");
  CHECK(wr_generate_is_name("gen:road") && wr_generate_is_name("gen:"));
  CHECK(!wr_generate_is_name("gen") && !wr_generate_is_name("") && !wr_generate_is_name("a/gen:road"));
  CHECK(!wr_generate_is_name("Gen:road"));
  expect_same("gen:density:", "gen:density");
  expect_same("gen:density", "gen:density:fill=1,density=0.1,block=16,n=4096,seed=1");
  expect_same("gen:hubs:hubs=2,n=10", "gen:hubs:n=1e1,hubs=2");
}

static void test_errors(void) {
  static const struct {
    const char *name, *says;
  } bad[] = {
      {"road", "road"}, {"", "not the name"}, {"gen:", "there are: road, web"},
      {"gen:stensil", "'stencil'"}, {"gen:roads:side=4", "'road'"}, {"gen:qqqqqqqq", "density"},
      {"gen:ROAD", "gen:ROAD"},
      {"gen:road:sde=4", "'side'"}, {"gen:web:danglin=0", "'dangling'"}, {"gen:fem:qqqqqqq=1", "qqqqqqq"},
      {"gen:road:=4", "gen:road"}, {"gen:road: side=4", "' side'"},
      {"gen:road:side", "side needs a value"}, {"gen:road:side=", "side"}, {"gen:road:side=4=4", "4=4"},
      {"gen:road:side=4,side=4", "side is given twice"}, {"gen:road:side=4,keep=0.5,side=5", "side is given twice"},
      {"gen:road:side=4,", "comma"}, {"gen:road:,side=4", "comma"}, {"gen:road:side=4,,keep=1", "comma"},
      {"gen:road:,", "comma"}, {"gen:road:side=4:keep=1", "4:keep=1"},
      {"gen:road:side=four", "four"}, {"gen:road:side=4.5", "4.5"}, {"gen:road:side=0", "[1, 46340]"},
      {"gen:road:side=46341", "46340"}, {"gen:road:keep=1.01", "[0, 1]"}, {"gen:road:keep=nan", "nan"},
      {"gen:road:seed=-1", "seed"}, {"gen:road:side=99999999999999999999", "46340"},
      {"gen:web:n=0", "n"}, {"gen:web:n=2147483648", "2147483647"}, {"gen:web:dmin=9,dmax=8", "dmin=9 is above dmax=8"},
      {"gen:rmat:scale=31", "30"}, {"gen:rmat:degree=0", "degree"}, {"gen:chain:scale=31", "30"},
      {"gen:chain:scale=-1", "scale"}, {"gen:hubs:n=10,hubs=11", "hubs=11"}, {"gen:hubs:n=10", "n=10"},
      {"gen:hubs:hubs=0", "hubs"}, {"gen:stencil:points=9", "5|7|27"}, {"gen:stencil:convection=1", "[0, 1)"},
      {"gen:stencil:n=1291", "2147483647"}, {"gen:stencil:n=46340,points=27", "1290"},
      {"gen:stencil:n=46341,points=5", "46340"}, {"gen:fem:n=895", "894"}, {"gen:fem:n=0", "894"},
      {"gen:band:block=0", "block"}, {"gen:band:density=-0.1", "density"}, {"gen:uniform:degree=-1", "degree"},
      {"gen:anis", "'aniso'"}, {"gen:aniso:dims=4", "2|3"}, {"gen:aniso:ratio=0.5", "ratio"},
      {"gen:aniso:n=1291,dims=3", "2147483647"}, {"gen:aniso:n=46341", "46340"}, {"gen:jump:contrast=0", "contrast"},
      {"gen:jump:domains=0", "domains"}, {"gen:jump:n=1291,dims=3", "2147483647"},
      {"gen:convect:stretch=0.9", "stretch"},
      {"gen:convect:scheme=down", "central|upwind"}, {"gen:convect:n=1291,dims=3", "2147483647"},
      {"gen:saddle:n=26755", "2147483647"}, {"gen:saddle:n=813,dims=3", "2147483647"},
      {"gen:saddle:viscosity=0", "viscosity"},
      {"gen:circuit:n=10,rails=10", "rails=10"}, {"gen:circuit:n=1", "n"}, {"gen:circuit:sources=2", "sources"},
      {"gen:circuit:n=2147483647", "2147483647"},
      {"gen:density:fill=0", "fill"}, {"gen:density:fill=2.5", "2.5"}, {"gen:density:density=2", "density"},
  };
  for (size_t b = 0; b < sizeof bad / sizeof bad[0]; b++) {
    CASE(bad[b].name);
    wr_csr impossible, *A = &impossible;
    CHECK_FAILS(WR_EUSAGE, wr_generate(bad[b].name, 1, &A));
    CHECK_MESSAGE(bad[b].says);
    CHECK(A == NULL);
  }
}

/* Sizes that are allowed but that no machine holds end before any work. */
static void test_too_large(void) {
  static const char *const large[] = {
      "gen:uniform:n=2147483647,degree=2147483647", "gen:rmat:scale=30,degree=1000000", "gen:fem:n=894",
      "gen:web:n=2147483647,dmin=1000000,dmax=1000000", "gen:density:n=2147483647,block=1,density=1",
      "gen:density:n=2147483647,block=2147483647,density=1", "gen:band:n=2147483647,density=1",
      "gen:hubs:n=2147483647", "gen:chain:scale=30", "gen:aniso:n=46340", "gen:jump:n=1290,dims=3",
      "gen:convect:n=46340", "gen:saddle:n=26754", "gen:saddle:n=812,dims=3", "gen:circuit:n=2000000000",
      "gen:stencil:n=1290", "gen:road:side=46340"};
  for (size_t m = 0; m < sizeof large / sizeof large[0]; m++) {
    CASE(large[m]);
    wr_csr impossible, *A = &impossible;
    CHECK_FAILS(WR_ENOMEM, wr_generate(large[m], 2, &A));
    CHECK_MESSAGE("entries of gen:");
    CHECK(A == NULL);
  }
}

/* Every allocation fails once, the first, the second...: a clean refusal each time, until none is left to fail. */
static void test_no_memory(void) {
  static const char *const names[] = {"gen:web:n=1000,dmin=60", "gen:hubs:n=40000,hubs=3",
                                      "gen:density:n=300,block=7", "gen:fem:n=6",
                                      "gen:convect:n=30",        "gen:circuit:n=3000"};
  for (size_t m = 0; m < sizeof names / sizeof names[0]; m++) {
    CASE(names[m]);
    for (int threads = 1; threads <= 2; threads++) {
      wr_csr *A = NULL;
      long at = 0, wrong = 0;
      for (;; at++) {
        calls = 0;
        refused = at;
        wr_status status = wr_generate(names[m], threads, &A);
        if (status == WR_OK || at == 10000) break;
        wrong += status != WR_ENOMEM || A != NULL || strstr(wr_status_message(), "out of memory") == NULL;
      }
      refused = -1;
      CHECKF(at > 8 && wrong == 0, "%ld of %ld failures: %s", wrong, at, wr_status_message());
      CHECK(A != NULL && wr_csr_check(A) == WR_OK);
      wr_csr_free(A);
    }
  }
}

static void test_help(void) {
  CASE("help");
  static const char *const words[] = {
      "gen:road:side=4096,keep=0.57,seed=1\n", "gen:web:n=3000000,dmin=7,alpha=1.6,dangling=0.1,dmax=5000,local=3000,",
      "gen:rmat:scale=20,degree=48,", "gen:hubs:n=10000000,hubs=1000,", "gen:stencil:n=200,points=7,convection=0.4,",
      "gen:fem:n=49,", "gen:band:n=32000,block=5,density=0.05,", "gen:chain:scale=24,",
      "gen:uniform:n=4000000,degree=12,", "gen:density:n=4096,block=16,density=0.1,fill=1,", "5|7|27",
      "gen:aniso:n=1000,dims=2,ratio=1000,", "gen:jump:n=1000,dims=2,domains=8,contrast=1e6,",
      "gen:convect:n=1000,dims=2,peclet=20,scheme=upwind,flow=through,stretch=1,",
      "gen:saddle:n=500,dims=2,viscosity=1,convection=0,",
      "gen:circuit:n=1000000,rails=8,sources=0.05,active=0.2,spread=1e6,"};
  char *text = NULL;
  size_t size = 0, column = 0, widest = 0;
  FILE *out = open_memstream(&text, &size);
  wr_generate_help(out);
  fclose(out);
  for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) CHECKF(strstr(text, words[w]) != NULL, "%s", words[w]);
  for (size_t c = 0; c < size; c++) {
    column = text[c] == '\n' ? 0 : column + 1;
    if (column > widest) widest = column;
  }
  CHECKF(widest <= 100, "a line of %zu columns", widest);
  free(text);
}

/* ---- tools ---- */

static void test_chance(void) {
  CASE("hash"); /* the outputs of SplitMix64 from 1234567, as published with its test programs */
  static const uint64_t published[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                                       UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
                                       UINT64_C(16408922859458223821)};
  for (uint64_t k = 0; k < 5; k++) CHECK(wr_hash(1234567, k) == published[k]);
  CASE("shares and limits");
  CHECK(wr_below(UINT64_MAX, 10) == 9 && wr_below(0, 10) == 0 && wr_below(UINT64_MAX, INT32_MAX) == INT32_MAX - 1);
  CHECK(wr_unit(UINT64_MAX) < wr_chance(1) && wr_unit(0) >= wr_chance(0) && wr_chance(0.5) == UINT64_C(1) << 52);
  CHECK(wr_share(0.29, 100) == 29 && wr_share(0.07, 100) == 7 && wr_share(0.5, 5) == 3 && wr_share(0, 9) == 0);
  CHECK(wr_share(1, INT64_C(1) << 62) == INT64_C(1) << 62 && wr_share(0.25, INT64_C(1) << 62) == INT64_C(1) << 60);
  CHECK(wr_times(3, 4) == 12 && wr_times(0, INT64_MAX) == 0);
  CHECK(wr_times(INT64_C(1) << 32, INT64_C(1) << 31) == INT64_MAX && wr_times(INT64_MAX, 1) == INT64_MAX);
}

static void test_permutation(void) {
  static const int64_t sizes[] = {1, 2, 3, 4, 5, 16, 17, 1000, 65536, 100003};
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
    CASE("permutation");
    int64_t size = sizes[s], wrong = 0, fixed = 0;
    char *seen = calloc((size_t)size, 1);
    wr_permutation p = wr_permutation_of(size, 77);
    for (int64_t place = 0; place < size; place++) {
      int64_t image = wr_permutation_apply(&p, place);
      if (image < 0 || image >= size || seen[image]++ || wr_permutation_invert(&p, image) != place) wrong++;
      fixed += image == place;
    }
    CHECKF(wrong == 0, "%lld of %lld places", (long long)wrong, (long long)size);
    /* a random permutation has one fixed place on average, k or more with a chance below 1/k! */
    CHECKF(fixed <= (size < 12 ? size : 12), "%lld fixed of %lld", (long long)fixed, (long long)size);
    free(seen);
  }
  wr_permutation large = wr_permutation_of((INT64_C(1) << 62) - 5, 3);
  for (int64_t place = 0; place < 100; place++)
    CHECK(wr_permutation_invert(&large, wr_permutation_apply(&large, place << 55)) == place << 55);
}

static int by_column(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static void test_merge(void) {
  static const int64_t lengths[] = {0, 1, 2, 47, 48, 49, 300, 70000};
  static const int64_t limits[] = {1, 3, 256, 257, 65536, 1 << 24, INT32_MAX};
  CASE("merge");
  for (size_t t = 0; t < sizeof lengths / sizeof lengths[0] * 7; t++) {
    int64_t n = lengths[t / 7], limit = limits[t % 7], kept = 0;
    wr_rows rows = {.count = 0};
    int32_t *expected = malloc((size_t)(n + 1) * sizeof *expected);
    CHECK_OK(wr_rows_reserve(&rows, n + 3));
    for (; rows.count < 3; rows.count++) rows.col[rows.count] = 9; /* a row before, which stays as it is */
    for (int64_t k = 0; k < n; k++) {
      expected[k] = k == n / 2 ? (int32_t)limit - 1 : (int32_t)wr_below(wr_hash(t, (uint64_t)k), limit);
      rows.col[rows.count++] = expected[k];
    }
    qsort(expected, (size_t)n, sizeof *expected, by_column);
    for (int64_t k = 0; k < n; k++)
      if (k == 0 || expected[k] != expected[kept - 1]) expected[kept++] = expected[k];
    CHECK_OK(wr_rows_merge(&rows, 3));
    CHECKF(rows.count == 3 + kept && memcmp(rows.col + 3, expected, (size_t)kept * sizeof *expected) == 0 &&
               rows.col[0] == 9 && rows.col[2] == 9,
           "%lld columns below %lld", (long long)n, (long long)limit);
    wr_rows_release(&rows);
    free(expected);
  }
}

/* Rows of A from `first` on are those of B, and their lengths are as told. */
static int has_rows(const wr_csr *A, int64_t first, const wr_csr *B, const int64_t *row_ptr) {
  int64_t entry = A->row_ptr[first];
  if (B->ncols != A->ncols || (B->val == NULL) != (A->val == NULL)) return 0;
  for (int64_t i = 0; i <= B->nrows; i++)
    if (B->row_ptr[i] != A->row_ptr[first + i] - entry || B->row_ptr[i] != row_ptr[i]) return 0;
  if (memcmp(A->col + entry, B->col, (size_t)B->nnz * sizeof *B->col) != 0) return 0;
  return A->val == NULL || memcmp(A->val + entry, B->val, (size_t)B->nnz * sizeof *B->val) == 0;
}

static void test_rows(void) {
  for (int m = 0; m < SMALL; m++) {
    wr_csr *A = NULL;
    int64_t row_ptr[30001];
    CASE(small[m]);
    CHECK_OK(wr_generate(small[m], 1, &A));
    const int64_t cuts[] = {0, 1, A->nrows / 3, A->nrows / 2, A->nrows - 1, A->nrows};
    for (int c = 0; c < 5; c++) {
      wr_csr *B = NULL;
      CHECK_OK(wr_generate_rows(small[m], 2, cuts[c], cuts[c + 1], &B));
      CHECK_OK(wr_generate_lengths(small[m], 2, cuts[c], cuts[c + 1], row_ptr));
      CHECKF(B && has_rows(A, cuts[c], B, row_ptr), "rows from %lld on", (long long)cuts[c]);
      wr_csr_free(B);
    }
    for (int64_t first = -1; first <= A->nrows; first += A->nrows + 1) {
      wr_csr *B = NULL;
      CHECK_FAILS(WR_EUSAGE, wr_generate_rows(small[m], 1, first, first + 2, &B));
      CHECK_FAILS(WR_EUSAGE, wr_generate_lengths(small[m], 1, first, first + 2, row_ptr));
    }
    wr_csr_free(A);
  }
}

int main(void) {
  test_rows();
  test_names();
  test_errors();
  test_too_large();
  test_threads();
  test_seeds();
  test_no_memory();
  test_help();
  test_chance();
  test_permutation();
  test_merge();
  return wr_test_report("generate");
}
