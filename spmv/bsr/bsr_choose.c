/* Which block size takes the least memory. The blocks of a size are the entries times the mean, over all entries, of one
 * part of their block each: 1 / (entries of the block). Instead of blocks the sample takes cells, which are whole blocks of a
 * stretch of rows and of columns: entries are drawn evenly, and each stands for blocks / entries of its cell. So dense cells
 * are drawn more often and say less each, which evens out; no long row and no dense corner misleads. */
#include <stdio.h>
#include <string.h>

#include "spmv/bsr/bsr_build.h"

enum {
  SIZES = 10,
  SQUARES = 8,    /* the first sizes, whose sides are those that are tried where one side is given */
  ALL = 30000,    /* entries up to which every block is counted                                    */
  CELLS = 64,
  CELL_ROWS = 16, /* and the entries of a row that a cell is to have, about ...                    */
  CELL_ENTRIES = 32,
  CELL_MIN = 48,  /* ... within these limits for its columns                                       */
  CELL_MAX = 4096
};

static const struct {
  int r, c;
} sizes[SIZES] = {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {8, 8}, {16, 16}, {16, 1}, {1, 16}};

static int64_t row_of(const wr_csr *A, int64_t k) {
  int64_t low = 0, high = A->nrows; /* row_ptr[low] <= k < row_ptr[high] */
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    if (A->row_ptr[middle] <= k)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static int64_t find_column(const wr_csr *A, int64_t i, int64_t j) {
  int64_t low = A->row_ptr[i], high = A->row_ptr[i + 1];
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (A->col[middle] < j)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The columns that about CELL_ENTRIES entries of row i span around entry k. */
static int64_t width_of(const wr_csr *A, int64_t i, int64_t k) {
  int64_t low = k - CELL_ENTRIES / 2, high = k + CELL_ENTRIES / 2;
  if (low < A->row_ptr[i]) low = A->row_ptr[i];
  if (high >= A->row_ptr[i + 1]) high = A->row_ptr[i + 1] - 1;
  int64_t width = high > low ? (A->col[high] - (int64_t)A->col[low]) * CELL_ENTRIES / (high - low) : CELL_MAX;
  return width < CELL_MIN ? CELL_MIN : width > CELL_MAX ? CELL_MAX : width;
}

/* Blocks / entries of the cell of blocks of r x c that entry k of row i lies in. */
static double sample_cell(const wr_csr *A, int64_t i, int64_t k, int64_t width, int r, int c) {
  int64_t rows = CELL_ROWS / r * r;
  width = width / c * c;
  int64_t first = i / rows * rows, left = A->col[k] / width * width, blocks = 0, entries = 0;
  uint64_t seen[CELL_MAX / 64]; /* block columns of a block row */
  for (i = first; i < first + rows && i < A->nrows; i++) {
    if ((i - first) % r == 0) memset(seen, 0, (size_t)(width / c + 63) / 64 * sizeof *seen);
    for (k = find_column(A, i, left); k < A->row_ptr[i + 1] && A->col[k] < left + width; k++, entries++) {
      uint32_t j = (uint32_t)(A->col[k] - left) / (uint32_t)c;
      blocks += ~seen[j / 64] >> j % 64 & 1;
      seen[j / 64] |= (uint64_t)1 << j % 64;
    }
  }
  return (double)blocks / (double)entries;
}

/* An entry out of the cell-th of CELLS stretches of entries, at a place in it that looks like chance. */
static int64_t entry_of(const wr_csr *A, int64_t cell) {
  int64_t length = A->nnz / CELLS;
  uint64_t mixed = (uint64_t)(cell + 1) * UINT64_C(0x9e3779b97f4a7c15);
  return cell * length + (int64_t)((mixed >> 32) % (uint64_t)length);
}

static void sample(const wr_csr *A, int count, const int (*sides)[2], double *blocks) {
  double parts[CELLS][SIZES];
#pragma omp parallel for schedule(static)
  for (int64_t cell = 0; cell < CELLS; cell++) {
    int64_t k = entry_of(A, cell), i = row_of(A, k), width = width_of(A, i, k);
    for (int n = 0; n < count; n++) parts[cell][n] = sample_cell(A, i, k, width, sides[n][0], sides[n][1]);
  }
  for (int n = 0; n < count; n++) {
    double sum = 0;
    for (int cell = 0; cell < CELLS; cell++) sum += parts[cell][n];
    blocks[n] = sum / CELLS * (double)A->nnz;
  }
}

static wr_status count_all(const wr_csr *A, int count, const int (*sides)[2], double *blocks) {
  wr_status status = WR_OK;
  for (int n = 0; n < count && status == WR_OK; n++) {
    int64_t exact;
    status = wr_bsr_count(A, sides[n][0], sides[n][1], &exact);
    blocks[n] = (double)exact;
  }
  return status;
}

static double clamp(double value, double low, double high) { return value < low ? low : value > high ? high : value; }

static wr_bsr_choice weigh(const wr_csr *A, wr_type type, int r, int c, double blocks) {
  double value = (double)wr_type_bytes(type), nnz = (double)A->nnz;
  wr_bsr shape = wr_bsr_shape(A->nrows, A->ncols, A->nnz, r, c, type);
  wr_bsr_choice choice = {.r = r, .c = c, .blocks = clamp(blocks, nnz / (r * c), nnz)};
  choice.fill = A->nnz > 0 ? choice.blocks * (r * c) / nnz : 1;
  choice.bytes = choice.blocks * (4 + r * c * value) + ((double)shape.brows + 1) * (choice.blocks >= 0x1p31 ? 8 : 4);
  choice.csr_bytes = nnz * (4 + (A->val != NULL ? value : 0)) + ((double)A->nrows + 1) * (nnz >= 0x1p31 ? 8 : 4);
  return choice;
}

/* The least bytes; sizes whose bytes are within a hundredth of that differ by less than is known, and there padding, which
 * is multiplied as well, decides if it differs by a thousandth. */
static wr_bsr_choice best(int count, const wr_bsr_choice *choices) {
  wr_bsr_choice least = choices[0];
  for (int n = 1; n < count; n++)
    if (choices[n].bytes < least.bytes) least = choices[n];
  wr_bsr_choice chosen = least;
  for (int n = 0; n < count; n++)
    if (choices[n].bytes <= 1.01 * least.bytes && choices[n].fill < chosen.fill - 1e-3) chosen = choices[n];
  return chosen;
}

wr_status wr_bsr_choose(const wr_csr *A, wr_type type, int r, int c, wr_bsr_choice *choice) {
  int count = r && c ? 1 : r || c ? SQUARES : SIZES, sides[SIZES][2];
  double blocks[SIZES] = {0};
  wr_bsr_choice choices[SIZES];
  *choice = (wr_bsr_choice){.r = 1, .c = 1};
  for (int n = 0; n < count; n++) sides[n][0] = r ? r : sizes[n].r, sides[n][1] = c ? c : sizes[n].c;
  wr_status status = wr_bsr_check(A->nrows, A->ncols, 0, sides[0][0], sides[0][1]);
  if (status != WR_OK) return status;
  if (A->nnz > ALL)
    sample(A, count, (const int(*)[2])sides, blocks);
  else
    status = count_all(A, count, (const int(*)[2])sides, blocks);
  if (status != WR_OK) return status;
  for (int n = 0; n < count; n++) choices[n] = weigh(A, type, sides[n][0], sides[n][1], blocks[n]);
  *choice = best(count, choices);
  snprintf(choice->line, sizeof choice->line, "blocks of %d x %d: fill %.2f, %.2f of the bytes of rows", choice->r,
           choice->c, choice->fill, choice->bytes / choice->csr_bytes);
  return WR_OK;
}

int wr_bsr_pays(const wr_bsr_choice *choice) { return choice->bytes < choice->csr_bytes; }
