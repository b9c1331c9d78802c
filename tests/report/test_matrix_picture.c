#define _DEFAULT_SOURCE /* barriers of pthread */
#include "solvers/report/matrix_picture.h"

#include <omp.h>
#include <string.h>

#include "config/memory.h"
#include "data/generate.h"
#include "spmv/parts/halo.h"
#include "spmv/parts/partition.h"
#include "tests/check.h"
#include "tests/spmv/thread_comm.h"

static wr_matrix_picture picture, other;

/* The cell of an index, by its definition and not by the arithmetic of the picture. */
static int part_of(int64_t index, int64_t n, int parts) {
  int part = 0;
  while (part + 1 < parts && index * parts >= (part + 1) * n) part++;
  return part;
}

static void check_matrix(const wr_csr *A) {
  int64_t cells[WR_PICTURE_CELLS][WR_PICTURE_CELLS] = {{0}}, rows = 0, filled = 0;
  CHECK_OK(wr_matrix_picture_draw(A, &picture));
  CHECK(picture.rows == (A->nrows < WR_PICTURE_CELLS ? A->nrows : WR_PICTURE_CELLS));
  CHECK(picture.cols == (A->ncols < WR_PICTURE_CELLS ? A->ncols : WR_PICTURE_CELLS));
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      cells[part_of(i, A->nrows, picture.rows)][part_of(A->col[k], A->ncols, picture.cols)]++;
  CHECK(memcmp(cells, picture.cell, sizeof cells) == 0);
  int64_t least = 0, most = 0;
  for (int g = 0; g < WR_PICTURE_CELLS; g++)
    for (int h = 0; h < WR_PICTURE_CELLS; h++) {
      if (cells[g][h] == 0) continue;
      least = filled++ == 0 || cells[g][h] < least ? cells[g][h] : least;
      most = cells[g][h] > most ? cells[g][h] : most;
    }
  CHECK(picture.filled == filled && picture.least == least && picture.most == most);
  for (int bar = 0; bar < picture.bars; bar++) {
    int64_t count = 0;
    for (int64_t i = 0; i < A->nrows; i++) {
      int64_t length = A->row_ptr[i + 1] - A->row_ptr[i];
      count += length >= picture.from[bar] && length <= picture.to[bar];
    }
    CHECK(count == picture.count[bar]);
    CHECK(bar == 0 || picture.from[bar] == picture.to[bar - 1] + 1);
    rows += count;
  }
  CHECK(rows == A->nrows);
}

static void test_generated(void) {
  static const char *const names[] = {"gen:web:n=3000", "gen:hubs:n=20000", "gen:stencil:n=9", "gen:band:n=97",
                                      "gen:rmat:scale=9", "gen:chain:scale=5"};
  CASE("generated matrices");
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    wr_csr *A = NULL;
    CHECK_OK(wr_generate(names[k], 1, &A));
    if (A) check_matrix(A);
    wr_csr_free(A);
  }
}

/* Sizes around the grid's, square and not, with a row that is full and others that are empty. */
static void test_sizes(void) {
  static const int64_t sizes[] = {1, 2, 95, 96, 97, 191, 192, 193, 1000};
  CASE("sizes");
  for (size_t a = 0; a < sizeof sizes / sizeof *sizes; a++)
    for (size_t b = 0; b < sizeof sizes / sizeof *sizes; b++) {
      wr_csr *A = NULL;
      int64_t full = sizes[a] / 2;
      CHECK_OK(wr_csr_create(sizes[a], sizes[b], sizes[b], 0, &A));
      for (int64_t i = full; i < sizes[a]; i++) A->row_ptr[i + 1] = sizes[b];
      for (int64_t k = 0; k < sizes[b]; k++) A->col[k] = (int32_t)k;
      check_matrix(A);
      wr_csr_free(A);
    }
}

static void test_threads(void) {
  CASE("one thread and three");
  wr_csr *A = NULL;
  CHECK_OK(wr_generate("gen:web:n=3000", 1, &A));
  omp_set_num_threads(1);
  CHECK_OK(wr_matrix_picture_draw(A, &picture));
  omp_set_num_threads(3);
  CHECK_OK(wr_matrix_picture_draw(A, &other));
  CHECK(memcmp(&picture, &other, sizeof picture) == 0);
  wr_csr_free(A);
}

/* Rows of a part, of equal slices. */
static wr_status draw_slice(wr_comm *comm, const wr_csr *A, wr_csr **part, wr_matrix_picture *drawn) {
  int64_t starts[MOST_PARTS + 1];
  for (int r = 0; r <= comm->size; r++) starts[r] = wr_partition_slice(A->nrows, r, comm->size);
  int64_t first = starts[comm->rank], rows = starts[comm->rank + 1] - first, entry = A->row_ptr[first];
  PASS(wr_csr_create(rows, A->ncols, A->row_ptr[first + rows] - entry, 0, part));
  for (int64_t i = 0; i <= rows; i++) (*part)->row_ptr[i] = A->row_ptr[first + i] - entry;
  memcpy((*part)->col, A->col + entry, (size_t)(*part)->nnz * sizeof *A->col);
  PASS(wr_halo_make(comm, starts, NULL, *part));
  return wr_matrix_picture_draw(*part, drawn);
}

typedef struct drawing {
  const wr_csr *A;
  int differs[MOST_PARTS];
} drawing;

static void draw_part(wr_comm *comm, void *context) {
  drawing *d = context;
  wr_csr *part = NULL;
  wr_matrix_picture *drawn = NULL;
  wr_status status = wr_alloc(&drawn, 1, sizeof *drawn, "a picture");
  if (status == WR_OK) status = draw_slice(comm, d->A, &part, drawn);
  d->differs[comm->rank] = status != WR_OK || memcmp(drawn, &picture, sizeof picture) != 0;
  wr_csr_free(part);
  wr_free(drawn);
}

static void test_parts(void) {
  static const char *const names[] = {"gen:web:n=3000", "gen:stencil:n=9", "gen:chain:scale=5"};
  CASE("parts have the picture of the whole");
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    drawing d = {0};
    wr_csr *A = NULL;
    CHECK_OK(wr_generate(names[k], 1, &A));
    d.A = A;
    CHECK_OK(wr_matrix_picture_draw(A, &picture));
    for (int size = 1; size <= 5; size += 2) {
      in_parts(size, draw_part, &d);
      for (int r = 0; r < size; r++) CHECKF(!d.differs[r], "%s: part %d of %d", names[k], r, size);
    }
    wr_csr_free(A);
  }
}

static void test_nothing(void) {
  CASE("nothing to draw");
  const wr_csr none = {0};
  wr_csr *empty = NULL;
  CHECK_OK(wr_matrix_picture_draw(NULL, &picture));
  CHECK(picture.rows == 0 && picture.bars == 0);
  CHECK_OK(wr_matrix_picture_draw(&none, &picture));
  CHECK(picture.rows == 0 && picture.bars == 0);
  CHECK_OK(wr_csr_create(7, 5, 0, 0, &empty));
  CHECK_OK(wr_matrix_picture_draw(empty, &picture));
  CHECK(picture.rows == 7 && picture.cols == 5 && picture.filled == 0 && picture.most == 0);
  CHECK(picture.bars == 1 && picture.from[0] == 0 && picture.to[0] == 0 && picture.count[0] == 7);
  wr_csr_free(empty);
}

int main(void) {
  test_generated();
  test_sizes();
  test_threads();
  test_parts();
  test_nothing();
  return wr_test_report("matrix_picture");
}
