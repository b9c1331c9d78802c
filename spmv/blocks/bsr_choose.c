/* Which block size takes the least memory. The number of blocks of a size is the number of entries times the mean of 1 /
 * (entries of the entry's block) over all entries. That mean is estimated from a sample of cells, each a rectangle of whole
 * blocks: entries are drawn evenly, and each contributes blocks / entries of its cell. Dense cells are drawn more often and
 * contribute less each time, so the estimate is unbiased whatever the lengths of rows and the density of parts. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "spmv/blocks/bsr_build.h"

enum {
  SIZES = 10,
  MOST_SIZES = 16, /* that a caller may ask for */
  SQUARES = 8, /* the first sizes; their sides are tried where one side is given */
  ALL = 1000, /* entries up to which every block is counted; a sample of more takes less time */
  CELLS = 64,
  JUDGED = 16,    /* of these, after which sizes that cannot win are dropped */
  CELL_ROWS = 16, /* and the entries of each row that a cell aims at ...     */
  CELL_ENTRIES = 32,
  CELL_MIN = 48,  /* ... with its width kept within these limits                                   */
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

/* The first entry of row i in column j or after. guess: entry that is tried first. */
static int64_t find_column(const wr_csr *A, int64_t i, int64_t j, int64_t guess) {
  int64_t low = A->row_ptr[i], high = A->row_ptr[i + 1];
  if (low < guess && guess < high && A->col[guess - 1] < j && A->col[guess] >= j) return guess;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (A->col[middle] < j)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The width in columns of about CELL_ENTRIES entries of row i around entry k. */
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
  if (r * c == 1) return 1;
  width = width / c * c;
  int64_t first = i / rows * rows, left = A->col[k] / width * width, blocks = 0, entries = 0, before = 0;
  uint32_t by_c = ((uint32_t)1 << 20) / (uint32_t)c + 1; /* exact for n < CELL_MAX, as 16 * CELL_MAX is below 2^20 */
  uint64_t seen[CELL_MAX / 64];                          /* bit set of a block row's block columns */
  for (i = first; i < first + rows && i < A->nrows; i++) {
    if ((i - first) % r == 0) memset(seen, 0, (size_t)(width / c + 63) / 64 * sizeof *seen);
    uint32_t last = UINT32_MAX;
    int64_t begin = find_column(A, i, left, A->row_ptr[i] + before);
    for (k = begin; k < A->row_ptr[i + 1] && A->col[k] < left + width; k++) {
      uint32_t j = (uint32_t)(A->col[k] - left) * by_c >> 20;
      if (j == last) continue;
      blocks += ~seen[j / 64] >> j % 64 & 1;
      seen[j / 64] |= (uint64_t)1 << j % 64;
      last = j;
    }
    before = begin - A->row_ptr[i], entries += k - begin; /* the next row's guess: rows are often alike */
  }
  return (double)blocks / (double)entries;
}

/* A pseudo-random entry of the cell-th of CELLS equal ranges of entries. */
static int64_t entry_of(const wr_csr *A, int64_t cell) {
  int64_t length = A->nnz / CELLS;
  uint64_t mixed = (uint64_t)(cell + 1) * UINT64_C(0x9e3779b97f4a7c15);
  return cell * length + (int64_t)((mixed >> 32) % (uint64_t)length);
}

/* AS_GOOD: ratio of bytes below which the estimate cannot tell two sizes apart. MOST_DOUBT: upper limit of doubt(). */
static const double AS_GOOD = 1.01, MOST_DOUBT = 0.3;

static wr_bsr_choice weigh(const wr_csr *A, wr_type type, int r, int c, double blocks) {
  double value = (double)wr_type_bytes(type), nnz = (double)A->nnz;
  wr_bsr shape = wr_bsr_shape(A->nrows, A->ncols, A->nnz, r, c, type);
  wr_bsr_choice choice = {.r = r, .c = c, .blocks = fmin(fmax(blocks, nnz / (r * c)), nnz)};
  choice.fill = A->nnz > 0 ? choice.blocks * (r * c) / nnz : 1;
  choice.bytes = choice.blocks * (4 + r * c * value) + ((double)shape.brows + 1) * (choice.blocks >= 0x1p31 ? 8 : 4);
  choice.csr_bytes = nnz * (4 + (A->val != NULL ? value : 0)) + ((double)A->nrows + 1) * (nnz >= 0x1p31 ? 8 : 4);
  return choice;
}

/* The candidate sizes and their expected bytes. */
typedef struct trial {
  const wr_csr *A;
  wr_type type;
  int count;
  int sides[MOST_SIZES][2];
  wr_bsr_choice choices[MOST_SIZES];
} trial;

/* Samples cells first..end - 1 of each CELLS / JUDGED; the threads of a parallel region share the loop. */
static void sample_cells(const trial *t, int first, int end, double (*parts)[MOST_SIZES]) {
  const wr_csr *A = t->A;
  int each = end - first;
#pragma omp for schedule(static)
  for (int n = 0; n < JUDGED * each; n++) {
    int64_t cell = n / each * (CELLS / JUDGED) + first + n % each, k = entry_of(A, cell), i = row_of(A, k);
    int64_t width = width_of(A, i, k);
    for (int size = 0; size < t->count; size++)
      parts[cell][size] = sample_cell(A, i, k, width, t->sides[size][0], t->sides[size][1]);
  }
}

/* Updates the choices from every step-th cell. */
static void weigh_cells(trial *t, int step, double (*parts)[MOST_SIZES]) {
  for (int size = 0; size < t->count; size++) {
    double sum = 0;
    for (int cell = 0; cell < CELLS; cell += step) sum += parts[cell][size];
    t->choices[size] =
        weigh(t->A, t->type, t->sides[size][0], t->sides[size][1], sum * step / CELLS * (double)t->A->nnz);
  }
}

/* Relative uncertainty of a size's bytes after the judged cells: three standard errors of their mean. */
static double doubt(double (*parts)[MOST_SIZES], int size) {
  double sum = 0, squares = 0;
  for (int cell = 0; cell < CELLS; cell += CELLS / JUDGED) sum += parts[cell][size];
  double mean = sum / JUDGED;
  for (int cell = 0; cell < CELLS; cell += CELLS / JUDGED)
    squares += (parts[cell][size] - mean) * (parts[cell][size] - mean);
  return mean > 0 ? 3 * sqrt(squares / (JUDGED * (JUDGED - 1))) / mean : 0;
}

/* Drops the sizes with bytes that, within the uncertainty, cannot be the least nor within AS_GOOD of it. */
static void drop_losers(trial *t, double (*parts)[MOST_SIZES]) {
  double most[MOST_SIZES], least = INFINITY;
  int left = 0;
  for (int size = 0; size < t->count; size++) {
    most[size] = (1 + fmin(MOST_DOUBT, doubt(parts, size))) * t->choices[size].bytes;
    if (most[size] < least) least = most[size];
  }
  for (int size = 0; size < t->count; size++) {
    double bytes = t->choices[size].bytes;
    if (2 * bytes - most[size] > AS_GOOD * least) continue;
    for (int cell = 0; cell < CELLS; cell += CELLS / JUDGED) parts[cell][left] = parts[cell][size];
    t->sides[left][0] = t->sides[size][0], t->sides[left][1] = t->sides[size][1];
    left++;
  }
  t->count = left;
}

/* drop: sizes that cannot win are left out after some of the cells. */
static void sample(trial *t, int drop) {
  double parts[CELLS][MOST_SIZES];
#pragma omp parallel
  {
    sample_cells(t, 0, 1, parts);
#pragma omp single
    {
      weigh_cells(t, CELLS / JUDGED, parts);
      if (drop) drop_losers(t, parts);
    }
    sample_cells(t, 1, CELLS / JUDGED, parts);
  }
  weigh_cells(t, 1, parts);
}

static wr_status count_all(trial *t) {
  wr_status status = WR_OK;
  for (int size = 0; size < t->count && status == WR_OK; size++) {
    int r = t->sides[size][0], c = t->sides[size][1];
    int64_t blocks;
    status = wr_bsr_count(t->A, r, c, &blocks);
    t->choices[size] = weigh(t->A, t->type, r, c, (double)blocks);
  }
  return status;
}

/* The size with the least bytes; among those within AS_GOOD of it, the one with the least padding, which is multiplied as
 * well, if its fill is less by more than a thousandth. */
static wr_bsr_choice best(int count, const wr_bsr_choice *choices) {
  wr_bsr_choice least = choices[0];
  for (int n = 1; n < count; n++)
    if (choices[n].bytes < least.bytes) least = choices[n];
  wr_bsr_choice chosen = least;
  for (int n = 0; n < count; n++)
    if (choices[n].bytes <= AS_GOOD * least.bytes && choices[n].fill < chosen.fill - 1e-3) chosen = choices[n];
  return chosen;
}

wr_status wr_bsr_choose(const wr_csr *A, wr_type type, int r, int c, wr_bsr_choice *choice) {
  trial t = {.A = A, .type = type, .count = r && c ? 1 : r || c ? SQUARES : SIZES};
  *choice = (wr_bsr_choice){.r = 1, .c = 1};
  for (int n = 0; n < t.count; n++) t.sides[n][0] = r ? r : sizes[n].r, t.sides[n][1] = c ? c : sizes[n].c;
  PASS(wr_bsr_check(A->nrows, A->ncols, 0, t.sides[0][0], t.sides[0][1]));
  if (A->nnz > ALL)
    sample(&t, 1);
  else
    PASS(count_all(&t));
  *choice = best(t.count, t.choices);
  snprintf(choice->line, sizeof choice->line, "blocks of %d x %d: fill %.2f, %.2f of the bytes of rows", choice->r,
           choice->c, choice->fill, choice->bytes / choice->csr_bytes);
  return WR_OK;
}

wr_status wr_bsr_weigh(const wr_csr *A, wr_type type, int count, const int (*sides)[2], wr_bsr_choice *choices) {
  wr_status status = WR_OK;
  trial t = {.A = A, .type = type, .count = count};
  if (count < 1 || count > MOST_SIZES)
    return wr_fail(WR_EUSAGE, "%d block sizes, where 1 to %d are possible", count, MOST_SIZES);
  for (int n = 0; n < count; n++) {
    TRY(wr_bsr_check(A->nrows, A->ncols, 0, sides[n][0], sides[n][1]));
    t.sides[n][0] = sides[n][0], t.sides[n][1] = sides[n][1];
  }
  if (A->nnz > ALL)
    sample(&t, 0);
  else
    TRY(count_all(&t));
  memcpy(choices, t.choices, (size_t)count * sizeof *choices);
done:
  return status;
}

int wr_bsr_pays(const wr_bsr_choice *choice) { return choice->bytes < choice->csr_bytes; }

static void advise(const char *backend, const wr_bsr_choice *choice, wr_plan_info *info) {
  info->better = backend;
  snprintf(info->advice, sizeof info->advice, "%s reads less: %s", backend, choice->line);
}

void wr_bsr_advise_rows(const wr_bsr_choice *choice, const char *rows, wr_plan_info *info) {
  if (!wr_bsr_pays(choice)) advise(rows, choice, info);
}

void wr_bsr_advise_blocks(const wr_csr *A, wr_type type, const char *blocks, wr_plan_info *info) {
  wr_bsr_choice choice;
  if (A->val && A->nnz >= WR_BSR_ADVISED && wr_bsr_choose(A, type, 0, 0, &choice) == WR_OK &&
      choice.bytes < 0.9 * choice.csr_bytes)
    advise(blocks, &choice, info);
}
