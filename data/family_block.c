/* Matrices of dense or filled blocks. The last block of a side is cut off where n is not a multiple of it. */
#include "data/family.h"

#include <math.h>
#include <string.h>

#include "spmv/matrix/csr.h"

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t blocks_along(int64_t n, int64_t block) { return (n - 1) / block + 1; }

/* ---- band ---- */

typedef struct band {
  int64_t n, block, seed;
  double density;
  int64_t width; /* blocks of a row */
} band;

static const wr_option band_options[] = {
    {.name = "n", .type = WR_OPTION_INT, .offset = offsetof(band, n), .min = 1, .max = WR_MAX_INDEX, .value = "32000",
     .help = "rows"},
    {.name = "block", .type = WR_OPTION_INT, .offset = offsetof(band, block), .min = 1, .max = WR_MAX_INDEX,
     .value = "5", .help = "rows of a block"},
    {.name = "density", .type = WR_OPTION_REAL, .offset = offsetof(band, density), .min = 0, .max = 1, .value = "0.05",
     .help = "width of the band, of the whole; at least one block"},
    WR_SEED_ROW(band),
    {0}};

static wr_status band_prepare(void *settings, wr_family_shape *shape) {
  band *b = settings;
  b->width = wr_share(b->density, blocks_along(b->n, b->block));
  if (b->width < 1) b->width = 1;
  shape->n = b->n;
  shape->expected = wr_times(b->n, least(b->n, wr_times(b->width, b->block)));
  return WR_OK;
}

/* Columns [*begin, *end) of row i: whole blocks about the diagonal one, moved inwards at both ends. */
static void band_columns(const band *b, int64_t i, int64_t *begin, int64_t *end) {
  int64_t first = i / b->block - b->width / 2, last = blocks_along(b->n, b->block) - b->width;
  if (first < 0) first = 0;
  if (first > last) first = last;
  *begin = first * b->block;
  *end = least(b->n, (first + b->width) * b->block);
}

static int64_t band_length(const void *settings, int64_t i) {
  int64_t begin, end;
  band_columns(settings, i, &begin, &end);
  return end - begin;
}

/* Whole weights between 0.1 and 1.1 of 2^20, over their sum: one rounding an entry. */
static wr_status band_row(const void *settings, int64_t i, wr_rows *rows) {
  const band *b = settings;
  int64_t begin, end;
  band_columns(b, i, &begin, &end);
  PASS(wr_rows_reserve(rows, end - begin));
  uint64_t key = wr_hash((uint64_t)b->seed, (uint64_t)i), sum = 0;
  double *val = rows->val + rows->count;
  for (int64_t j = begin; j < end; j++) {
    uint64_t weight = 104858 + (wr_hash(key, (uint64_t)j) >> 44);
    rows->col[rows->count++] = (int32_t)j;
    val[j - begin] = (double)weight;
    sum += weight;
  }
  for (int64_t k = 0; k < end - begin; k++) val[k] /= (double)sum;
  return WR_OK;
}

const wr_family wr_family_band = {
    .name = "band",
    .summary = "dense blocks about the diagonal, row sums 1",
    .options = band_options,
    .settings_size = sizeof(band),
    .with_values = 1,
    .prepare = band_prepare,
    .length = band_length,
    .row = band_row,
};

/* ---- density ---- */

typedef struct density {
  int64_t n, block, seed;
  double density, fill;
  int64_t along;  /* blocks along a side                              */
  int64_t every;  /* blocks in every row of blocks,                   */
  int64_t extra;  /* and as many rows of blocks have one more         */
} density;

static const wr_option density_options[] = {
    {.name = "n", .type = WR_OPTION_INT, .offset = offsetof(density, n), .min = 1, .max = WR_MAX_INDEX,
     .value = "4096", .help = "rows"},
    {.name = "block", .type = WR_OPTION_INT, .offset = offsetof(density, block), .min = 1, .max = WR_MAX_INDEX,
     .value = "16", .help = "rows of a block"},
    {.name = "density", .type = WR_OPTION_REAL, .offset = offsetof(density, density), .min = 0, .max = 1,
     .value = "0.1", .help = "share of the blocks that are there"},
    {.name = "fill", .type = WR_OPTION_REAL, .offset = offsetof(density, fill), .min = 0, .max = 0x1p53, .above_min = 1,
     .value = "1", .help = "entries of each: a share up to 1, above 1 their number"},
    WR_SEED_ROW(density),
    {0}};

/* Entries of a block with so many places: the share, rounded, but at least one; or the number, as far as it fits. */
static int64_t fill_of(const density *d, int64_t area) {
  if (d->fill > 1) return d->fill < (double)area ? (int64_t)d->fill : area;
  int64_t entries = wr_share(d->fill, area);
  return entries > 0 ? entries : 1;
}

static wr_status density_prepare(void *settings, wr_family_shape *shape) {
  density *d = settings;
  if (d->fill > 1 && d->fill != floor(d->fill))
    return wr_fail(WR_EUSAGE, "gen:density: fill=%.17g is neither a share (up to 1) nor a whole number of entries",
                   d->fill);
  d->block = least(d->block, d->n);
  d->along = blocks_along(d->n, d->block);
  int64_t blocks = wr_share(d->density, d->along * d->along);
  d->every = blocks / d->along;
  d->extra = blocks % d->along;
  shape->n = d->n;
  shape->expected = wr_times(blocks, fill_of(d, d->block * d->block));
  return WR_OK;
}

/* Blocks in row I of blocks: the extra ones are spread evenly. */
static int64_t blocks_in(const density *d, int64_t I) {
  return d->every + (I + 1) * d->extra / d->along - I * d->extra / d->along;
}

typedef struct cut {
  int64_t row, height; /* of row i in its block, and of the block */
  int64_t first, width; /* column, and columns, of the block       */
} cut;

/* Appends the entries of one row of a block: of the `fill` places that are taken, those in this row. */
static void append_block(const cut *c, int64_t fill, uint64_t key, wr_rows *rows) {
  wr_permutation place = wr_permutation_of(c->height * c->width, key);
  if (fill < c->width) { /* the places taken are computed */
    for (int64_t k = 0; k < fill; k++) {
      int64_t at = wr_permutation_apply(&place, k);
      if (at / c->width == c->row) rows->col[rows->count++] = (int32_t)(c->first + at % c->width);
    }
  } else { /* each place is tested */
    int64_t at = c->row * c->width;
    for (int64_t j = 0; j < c->width; j++)
      if (wr_permutation_apply(&place, at + j) < fill) rows->col[rows->count++] = (int32_t)(c->first + j);
  }
}

/* Multiples of 2^-52 in (-1, 1), never 0. */
static double entry(uint64_t bits) { return (double)((int64_t)(bits >> 11 | 1) - (INT64_C(1) << 52)) * 0x1p-52; }

/* Appends the numbers of the blocks in row I of blocks, then, behind them, their entries; and closes the gap. */
static wr_status density_row(const void *settings, int64_t i, wr_rows *rows) {
  const density *d = settings;
  int64_t I = i / d->block, blocks = blocks_in(d, I), first = rows->count;
  cut c = {.row = i % d->block, .height = least(d->block, d->n - I * d->block)};
  PASS(wr_rows_reserve(rows, blocks + blocks * d->block));
  uint64_t key = wr_hash(wr_hash((uint64_t)d->seed, 0), (uint64_t)I);
  wr_permutation chosen = wr_permutation_of(d->along, key);
  for (int64_t k = 0; k < blocks; k++) rows->col[rows->count++] = (int32_t)wr_permutation_apply(&chosen, k);
  PASS(wr_rows_merge(rows, first));
  for (int64_t k = first; k < first + blocks; k++) {
    c.first = rows->col[k] * d->block;
    c.width = least(d->block, d->n - c.first);
    append_block(&c, fill_of(d, c.height * c.width), wr_hash(key, (uint64_t)rows->col[k]), rows);
  }
  rows->count -= blocks;
  memmove(rows->col + first, rows->col + first + blocks, (size_t)(rows->count - first) * sizeof *rows->col);
  PASS(wr_rows_merge(rows, first));
  uint64_t value_key = wr_hash(wr_hash((uint64_t)d->seed, 1), (uint64_t)i);
  for (int64_t k = first; k < rows->count; k++) rows->val[k] = entry(wr_hash(value_key, (uint64_t)rows->col[k]));
  return WR_OK;
}

const wr_family wr_family_density = {
    .name = "density",
    .summary = "random blocks, each with the same number of entries at random places",
    .options = density_options,
    .settings_size = sizeof(density),
    .with_values = 1,
    .prepare = density_prepare,
    .row = density_row,
};
