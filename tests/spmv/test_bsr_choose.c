/* Which block size is chosen (spmv/blocks/bsr_choose.c): for generated matrices whose blocks are known, or were counted. */
#include <omp.h>
#include <stdlib.h>

#include "config/memory.h"
#include "data/generate.h"
#include "spmv/blocks/bsr_build.h"
#include "tests/check.h"

static wr_csr *generated(const char *name) {
  wr_csr *A = NULL;
  CASE(name);
  CHECK_OK(wr_generate(name, 0, &A));
  if (A == NULL) abort(); /* the matrix cannot be made */
  return A;
}

static double counted(const wr_csr *A, int r, int c) {
  int64_t blocks = -1;
  CHECK_OK(wr_bsr_count(A, r, c, &blocks));
  return (double)blocks;
}

/* The arithmetic of a choice, from its blocks. */
static void check_model(const wr_csr *A, wr_type type, const wr_bsr_choice *choice) {
  double value = type == WR_F64 ? 8 : 4, places = choice->r * choice->c;
  double brows = (double)((A->nrows + choice->r - 1) / choice->r);
  double bytes = choice->blocks * (4 + places * value) + 4 * (brows + 1);
  double csr_bytes = (double)A->nnz * (A->val == NULL ? 4 : 4 + value) + 4 * ((double)A->nrows + 1);
  char line[120];
  CHECK(fabs(choice->bytes - bytes) <= 1e-12 * bytes && fabs(choice->csr_bytes - csr_bytes) <= 1e-12 * csr_bytes);
  CHECK(A->nnz == 0 || fabs(choice->fill - choice->blocks * places / (double)A->nnz) <= 1e-12 * choice->fill);
  CHECK(choice->fill >= 1 && choice->blocks <= (double)A->nnz);
  CHECK(wr_bsr_pays(choice) == (choice->bytes < choice->csr_bytes));
  snprintf(line, sizeof line, "blocks of %d x %d: fill %.2f, %.2f of the bytes of rows", choice->r, choice->c,
           choice->fill, choice->bytes / choice->csr_bytes);
  CHECKF(strcmp(choice->line, line) == 0, "'%s', not '%s'", choice->line, line);
}

/* Matrices whose blocks are all alike: the estimate from a sample is the count itself. */
static void test_blocked(const char *name, int r, int c, int pays) {
  wr_csr *A = generated(name);
  for (int type = WR_F32; type <= WR_F64; type++) {
    wr_bsr_choice choice;
    CHECK_OK(wr_bsr_choose(A, (wr_type)type, 0, 0, &choice));
    CHECKF(choice.r == r && choice.c == c, "%d x %d", choice.r, choice.c);
    double blocks = counted(A, r, c);
    CHECKF(fabs(choice.blocks - blocks) <= 1e-12 * blocks, "%g blocks, not %g", choice.blocks, blocks);
    CHECK(wr_bsr_pays(&choice) == pays);
    check_model(A, (wr_type)type, &choice);
  }
  wr_csr_free(A);
}

static void test_sizes(void) {
  test_blocked("gen:fem:n=6", 3, 3, 1); /* counted */
  test_blocked("gen:fem:n=14", 3, 3, 1);
  test_blocked("gen:band:n=400,block=5", 5, 5, 1);
  test_blocked("gen:band:n=4000,block=5", 5, 5, 1);
  test_blocked("gen:density:n=2048,block=16,density=0.1,fill=1", 16, 16, 1);
  test_blocked("gen:density:n=1536,block=6,density=0.1,fill=1", 6, 6, 1);
  test_blocked("gen:uniform:n=60000,degree=4", 1, 1, 0);
}

static void test_given(void) {
  static const int given[][2] = {{3, 0}, {0, 3}, {7, 0}, {0, 7}, {2, 5}, {16, 16}, {1, 1}, {7, 11}};
  wr_csr *A = generated("gen:fem:n=14");
  wr_bsr_choice choice;
  for (size_t n = 0; n < sizeof given / sizeof *given; n++) {
    int r = given[n][0], c = given[n][1];
    CHECK_OK(wr_bsr_choose(A, WR_F64, r, c, &choice));
    CHECKF((r == 0 || choice.r == r) && (c == 0 || choice.c == c), "%d x %d", choice.r, choice.c);
    check_model(A, WR_F64, &choice);
  }
  CHECK_OK(wr_bsr_choose(A, WR_F64, 3, 0, &choice));
  CHECKF(choice.c == 3, "3 x %d", choice.c);
  CHECK_OK(wr_bsr_choose(A, WR_F64, 0, 3, &choice));
  CHECKF(choice.r == 3, "%d x 3", choice.r);
  CHECK_FAILS(WR_EUSAGE, wr_bsr_choose(A, WR_F64, 17, 0, &choice));
  CHECK_FAILS(WR_EUSAGE, wr_bsr_choose(A, WR_F64, 0, -1, &choice));
  CHECK_FAILS(WR_EUSAGE, wr_bsr_choose(A, WR_F64, 3, 17, &choice));
  wr_csr_free(A);
}

/* A row with half of all entries and a diagonal with the others. Each cell stands for its 1/64 of the entries; all but the
 * few where the one meets the other say what their blocks are. */
static void test_long_row(void) {
  enum { N = 50000, LONG = 30000, MEET = 3 };
  wr_csr *A;
  wr_bsr_choice choice;
  CASE("a long row");
  CHECK_OK(wr_csr_create(N, N, 2 * N - 1, 1, &A));
  for (int64_t i = 0, k = 0; i < N; i++) {
    for (int64_t j = i == LONG ? 0 : i; j < (i == LONG ? N : i + 1); j++) A->col[k] = (int32_t)j, A->val[k++] = 1;
    A->row_ptr[i + 1] = k;
  }
  for (int c = 2; c <= 16; c *= 2) {
    CHECK_OK(wr_bsr_choose(A, WR_F64, 1, c, &choice));
    double blocks = counted(A, 1, c), bound = MEET / 64.0 * (double)A->nnz;
    CHECKF(fabs(choice.blocks - blocks) <= bound, "1 x %d: %g blocks, not %g", c, choice.blocks, blocks);
    CHECK(!wr_bsr_pays(&choice) == (c > 1));
  }
  wr_csr_free(A);
}

static void test_threads(void) {
  wr_csr *A = generated("gen:web:n=20000");
  wr_bsr_choice first, choice;
  omp_set_num_threads(1);
  CHECK_OK(wr_bsr_choose(A, WR_F64, 2, 2, &first));
  for (int threads = 2; threads <= 4; threads++) {
    omp_set_num_threads(threads);
    CHECK_OK(wr_bsr_choose(A, WR_F64, 2, 2, &choice));
    CHECK(choice.blocks == first.blocks && choice.bytes == first.bytes && strcmp(choice.line, first.line) == 0);
  }
  CHECK(A->val == NULL); /* a pattern: values would be stored that rows do without */
  check_model(A, WR_F64, &choice);
  wr_csr_free(A);
}

static void test_small(void) {
  wr_bsr_choice choice;
  for (int entries = 0; entries <= 1; entries++) {
    wr_csr *A;
    CASE("a row and a column");
    CHECK_OK(wr_csr_create(1, 1, entries, 1, &A));
    A->row_ptr[1] = entries;
    if (entries) A->col[0] = 0, A->val[0] = 5;
    CHECK_OK(wr_bsr_choose(A, WR_F64, 0, 0, &choice));
    CHECK(choice.r == 1 && choice.c == 1 && choice.blocks == entries && choice.fill == 1 && !wr_bsr_pays(&choice));
    check_model(A, WR_F64, &choice);
    CHECK_OK(wr_bsr_choose(A, WR_F64, 16, 16, &choice));
    CHECK(choice.r == 16 && choice.c == 16 && choice.blocks == entries);
    check_model(A, WR_F64, &choice);
    wr_csr_free(A);
  }
  CASE("no entries");
  wr_csr *A;
  CHECK_OK(wr_csr_create(1000, 1000, 0, 0, &A));
  CHECK_OK(wr_bsr_choose(A, WR_F32, 0, 0, &choice));
  CHECK(choice.blocks == 0 && choice.fill == 1);
  check_model(A, WR_F32, &choice);
  wr_csr_free(A);
}

/* The lines by which a plan of rows recommends blocks, and a plan of blocks recommends rows. */
static void test_advice(void) {
  static const struct {
    const char *name;
    int blocks_save; /* more than a tenth */
  } cases[] = {{"gen:fem:n=6", 1}, {"gen:band:n=4000,block=5", 1}, {"gen:stencil:n=20", 0}, {"gen:web:n=2000", 0}};
  int ill_suited = 0;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    wr_csr *A = generated(cases[k].name);
    wr_bsr_choice choice;
    wr_plan_info info = {0};
    wr_bsr_advise_blocks(A, WR_F64, "blocks", &info);
    CHECK((info.better != NULL) == cases[k].blocks_save && (info.advice[0] != '\0') == cases[k].blocks_save);
    CHECK_OK(wr_bsr_choose(A, WR_F64, 0, 0, &choice));
    if (info.better) {
      CHECK(strcmp(info.better, "blocks") == 0 && choice.bytes < 0.9 * choice.csr_bytes);
      CHECKF(strncmp(info.advice, "blocks reads less: ", 19) == 0 && strcmp(info.advice + 19, choice.line) == 0, "%s",
             info.advice);
    }
    info = (wr_plan_info){0};
    wr_bsr_advise_rows(&choice, "rows", &info);
    CHECK((info.better == NULL) == wr_bsr_pays(&choice));
    CHECK_OK(wr_bsr_choose(A, WR_F64, 1, 16, &choice)); /* a size that suits few */
    wr_bsr_advise_rows(&choice, "rows", &info);
    CHECKF((info.better != NULL) == !wr_bsr_pays(&choice), "fill %g", choice.fill);
    if (info.better) {
      CHECK(strcmp(info.better, "rows") == 0 && choice.fill > 1.5);
      CHECKF(strncmp(info.advice, "rows reads less: ", 17) == 0 && strcmp(info.advice + 17, choice.line) == 0, "%s",
             info.advice);
    }
    ill_suited += info.better != NULL;
    wr_csr_free(A);
  }
  CHECKF(ill_suited == 3, "%d", ill_suited); /* all but the band, in which all entries are neighbours */
}

int main(void) {
  test_sizes();
  test_given();
  test_long_row();
  test_threads();
  test_small();
  test_advice();
  return wr_test_report("bsr_choose");
}
