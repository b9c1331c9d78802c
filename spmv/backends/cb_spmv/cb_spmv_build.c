#include "spmv/backends/cb_spmv/cb_spmv_build.h"

#include "config/memory.h"

enum {
  SAMPLES = 1024,     /* most block rows that an estimate reads, ...          */
  SAMPLED = 40000,    /* ... and most entries, at 5 ns each                   */
  LEAST_SAMPLES = 4
};

wr_status wr_cb_check(int64_t nrows, int64_t ncols, int64_t nnz, const wr_cb_options *o) {
  if (o->th0 < 0 || o->th0 > 100) return wr_fail(WR_EUSAGE, "th0 is %d, where 0 to 100 percent are possible", o->th0);
  if (o->th1 < 0 || o->th1 > o->th2 || o->th2 < 1 || o->th2 > WR_CB_PLACES + 1)
    return wr_fail(WR_EUSAGE, "th1 is %d and th2 %d, where 0 <= th1 <= th2 and 1 <= th2 <= %d", o->th1, o->th2,
                   WR_CB_PLACES + 1);
  if (o->list_bytes < 256 && o->list_bytes != 0)
    return wr_fail(WR_EUSAGE, "lists of %lld bytes, where 0, 256 and more are possible", (long long)o->list_bytes);
  if (nrows < 1 || nrows > WR_MAX_INDEX || ncols < 1 || ncols > WR_MAX_INDEX)
    return wr_fail(WR_EUNAVAILABLE, "a matrix of %lld x %lld, where cb_spmv takes 1 to %lld rows and columns",
                   (long long)nrows, (long long)ncols, (long long)WR_MAX_INDEX);
  if (nnz < 0 || nnz > WR_CB_MAX_NNZ)
    return wr_fail(WR_EUNAVAILABLE, "%lld entries, where cb_spmv takes 0 to %lld", (long long)nnz,
                   (long long)WR_CB_MAX_NNZ);
  return WR_OK;
}

wr_status wr_cb_alloc(wr_cb_format *f) {
  f->memory = NULL;
  wr_status status = wr_alloc(&f->memory, wr_cb_layout(f), 1, "blocks of 16 x 16");
  wr_cb_layout(f);
  return status;
}

void wr_cb_free(wr_cb_format *f) {
  wr_free(f->memory);
  f->memory = NULL;
  wr_cb_layout(f);
}

/* ---- Cursor over the blocks of a block row ---- */

static void read_until(const wr_csr *A, wr_block_rows *s, int64_t limit) {
  for (int i = 0; i < s->rows; i++)
    while (s->at[i] < s->end[i] && A->col[s->at[i]] < limit) s->at[i]++;
}

/* Entries of the next block of the rows; 0 if there is none. */
static int next_block(const wr_csr *A, int aggregated, wr_block_rows *s) {
  int64_t j = wr_block_rows_next(A, s), count = 0;
  for (int i = 0; i < s->rows; i++) count -= s->at[i];
  if (!aggregated) read_until(A, s, (j / WR_CB_SIDE + 1) * WR_CB_SIDE);
  for (int columns = 0; aggregated && j < A->ncols && columns < WR_CB_SIDE; columns++) {
    read_until(A, s, j + 1);
    j = wr_block_rows_next(A, s);
  }
  for (int i = 0; i < s->rows; i++) count += s->at[i];
  return (int)count;
}

/* ---- Counts ---- */

/* The two sets of thresholds between which the number of blocks decides (wr_cb_with_types); equal if th1 is given. */
enum { TYPES = 2 };

/* Sums over some block rows. */
typedef struct tally {
  int64_t blocks, super_sparse, heavy;
  int64_t units[TYPES]; /* with each set of thresholds */
  int64_t entries;      /* that were read              */
} tally;

/* What is counted, and how. */
typedef struct count_of {
  const wr_csr *A;
  wr_cb_options options[TYPES]; /* for up to 16 entries a block on average, and for more */
  wr_type type;
  int64_t brows;
} count_of;

/* Adds the blocks of block row ib to sum, until they have `most` entries. */
static tally count_block_row(const count_of *t, int aggregated, int64_t ib, int64_t most, tally sum) {
  int value_bytes = (int)wr_type_bytes(t->type);
  wr_block_rows s = wr_block_rows_open(t->A, ib * WR_CB_SIDE, WR_CB_SIDE);
  most += sum.entries;
  for (int count; sum.entries < most && (count = next_block(t->A, aggregated, &s)) > 0;) {
    sum.entries += count;
    sum.blocks++;
    for (int n = 0; n < TYPES; n++) sum.units[n] += wr_cb_units(wr_cb_pick(&t->options[n], count), count, value_bytes);
    sum.super_sparse += count < WR_CB_SUPER_SPARSE;
    sum.heavy += count > WR_CB_SUPER_SPARSE ? count : 0;
  }
  return sum;
}

/* Sets f's counts from those of plain blocks, which also decide on aggregation, or of aggregated ones. */
static void set_counts(wr_cb_format *f, const count_of *t, tally sum, int aggregated) {
  if (!aggregated) f->plain = (wr_cb_fill){sum.blocks, sum.super_sparse, sum.heavy};
  if (!aggregated) f->aggregated = wr_cb_aggregates(t->options, &f->plain);
  int fuller = t->A->nnz > sum.blocks * WR_CB_SIDE; /* than 16 entries a block */
  f->blocks = sum.blocks, f->units = sum.units[fuller];
}

static int64_t scale(int64_t counted, int64_t part, int64_t whole) {
  return (int64_t)((double)counted * ((double)whole / (double)part) + 0.5);
}

/* An estimate reads one block row of each `step`. */
static int64_t sample_step(const count_of *t) {
  double samples = (double)SAMPLED * (double)t->brows / (double)(t->A->nnz + 1);
  if (samples > SAMPLES) samples = SAMPLES;
  if (samples < LEAST_SAMPLES) samples = LEAST_SAMPLES;
  return t->A->nnz <= SAMPLED && t->brows <= SAMPLES ? 1 : (int64_t)((double)t->brows / samples) + 1;
}

/* Counts the sampled block rows, or the first entries of long ones, and scales the counts up to the matrix. */
static tally sample_blocks(const count_of *t, int aggregated) {
  int64_t step = sample_step(t), most = step == 1 ? INT64_MAX / 2 : SAMPLED / LEAST_SAMPLES;
  tally sum = {0};
  for (int64_t ib = 0; ib + step <= t->brows || ib == 0; ib += step) {
    /* A pseudo-random one of the next `step` block rows, as a fixed stride may meet a period of the matrix. */
    uint64_t mixed = (uint64_t)(ib + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    int64_t sampled = ib + (int64_t)(mixed % (uint64_t)(step < t->brows ? step : t->brows));
    sum = count_block_row(t, aggregated, sampled, most, sum);
  }
  int64_t part = sum.entries > 0 ? sum.entries : 1, all = sum.entries > 0 ? t->A->nnz : 1;
  sum.blocks = scale(sum.blocks, part, all);
  for (int n = 0; n < TYPES; n++) sum.units[n] = scale(sum.units[n], part, all);
  sum.super_sparse = scale(sum.super_sparse, part, all), sum.heavy = scale(sum.heavy, part, all);
  return sum;
}

wr_status wr_cb_estimate(const wr_csr *A, const wr_cb_options *options, wr_type type, wr_cb_format *shape) {
  count_of t = {.A = A,
                .options = {wr_cb_with_types(options, 0, 1), wr_cb_with_types(options, 1, 0)},
                .type = type,
                .brows = (A->nrows + WR_CB_SIDE - 1) / WR_CB_SIDE};
  *shape = wr_cb_shape(1, 1, 0, type);
  PASS(wr_cb_check(A->nrows, A->ncols, A->nnz, options));
  *shape = wr_cb_shape(A->nrows, A->ncols, A->nnz, type);
  set_counts(shape, &t, sample_blocks(&t, 0), 0);
  if (shape->aggregated) set_counts(shape, &t, sample_blocks(&t, 1), 1);
  wr_cb_settle(shape, options);
  return WR_OK;
}
