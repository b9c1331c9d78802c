#include "spmv/backends/cb_spmv/cb_spmv_build.h"

#include <omp.h>
#include <string.h>

#include "config/memory.h"

enum {
  THREAD_WORK = 8192, /* entries and block rows that are worth another thread */
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

/* A block; its row i is entries first[i]..first[i] + n[i] - 1 of A. */
typedef struct block {
  int64_t left; /* its first column, unless aggregated      */
  int columns;  /* aggregated: number of cols, which ascend */
  int32_t cols[WR_CB_SIDE];
  int count;
  int64_t first[WR_CB_SIDE];
  int n[WR_CB_SIDE];
} block;

static void read_until(const wr_csr *A, wr_block_rows *s, int64_t limit) {
  for (int i = 0; i < s->rows; i++)
    while (s->at[i] < s->end[i] && A->col[s->at[i]] < limit) s->at[i]++;
}

/* *b := the next block of the rows; 0 if there is none. */
static int next_block(const wr_csr *A, int aggregated, wr_block_rows *s, block *b) {
  int64_t j = wr_block_rows_next(A, s);
  if (j == A->ncols) return 0;
  *b = (block){.left = j / WR_CB_SIDE * WR_CB_SIDE};
  for (int i = 0; i < s->rows; i++) b->first[i] = s->at[i];
  if (!aggregated) read_until(A, s, b->left + WR_CB_SIDE);
  while (aggregated && j < A->ncols && b->columns < WR_CB_SIDE) {
    b->cols[b->columns++] = (int32_t)j;
    read_until(A, s, j + 1);
    j = wr_block_rows_next(A, s);
  }
  for (int i = 0; i < s->rows; i++) b->count += b->n[i] = (int)(s->at[i] - b->first[i]);
  return 1;
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

/* Runs of consecutive block rows of about equal work; each run is a task. */
typedef struct tasks {
  const wr_csr *A;
  wr_cb_options options[TYPES]; /* for up to 16 entries a block on average, and for more */
  wr_type type;
  int64_t brows;
  int count;
  tally *begin; /* [count + 1] sums before each task */
} tasks;

/* The first block row of a task. Work is counted in entries and block rows. */
static int64_t first_of(const tasks *t, int task) {
  int64_t total = t->A->nnz + t->brows, low = 0, high = t->brows;
  int64_t goal = total / t->count * task + total % t->count * task / t->count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (t->A->row_ptr[middle * WR_CB_SIDE] + middle >= goal)
      high = middle;
    else
      low = middle + 1;
  }
  return task == t->count ? t->brows : low;
}

/* The index of the set that applies to a format of so many blocks. */
static int types_of(const tasks *t, int64_t blocks) { return t->A->nnz > blocks * WR_CB_SIDE; }

static void set_types(const wr_cb_options *options, tasks *t) {
  t->options[0] = wr_cb_with_types(options, 0, 1);
  t->options[1] = wr_cb_with_types(options, 1, 0);
}

static wr_status open_tasks(const wr_csr *A, const wr_cb_options *options, wr_type type, tasks *t) {
  *t = (tasks){.A = A, .type = type, .count = omp_get_max_threads()};
  set_types(options, t);
  t->brows = (A->nrows + WR_CB_SIDE - 1) / WR_CB_SIDE;
  int64_t useful = 1 + (A->nnz + t->brows) / THREAD_WORK;
  if (t->count > useful) t->count = (int)useful;
  return wr_alloc_zeroed(&t->begin, t->count + 1, sizeof *t->begin, "counting blocks");
}

/* Adds the blocks of block row ib to sum, until they have `most` entries. */
static tally count_block_row(const tasks *t, int aggregated, int64_t ib, int64_t most, tally sum) {
  int value_bytes = (int)wr_type_bytes(t->type);
  wr_block_rows s = wr_block_rows_open(t->A, ib * WR_CB_SIDE, WR_CB_SIDE);
  most += sum.entries;
  for (block b; sum.entries < most && next_block(t->A, aggregated, &s, &b);) {
    sum.entries += b.count;
    sum.blocks++;
    for (int n = 0; n < TYPES; n++)
      sum.units[n] += wr_cb_units(wr_cb_pick(&t->options[n], b.count), b.count, value_bytes);
    sum.super_sparse += b.count < WR_CB_SUPER_SPARSE;
    sum.heavy += b.count > WR_CB_SUPER_SPARSE ? b.count : 0;
  }
  return sum;
}

/* Returns the sums over the matrix, and fills begin. */
static tally count_blocks(const tasks *t, int aggregated) {
#pragma omp parallel for num_threads(t->count) schedule(static, 1)
  for (int task = 0; task < t->count; task++) {
    int64_t end = first_of(t, task + 1);
    tally sum = {0};
    for (int64_t ib = first_of(t, task); ib < end; ib++) sum = count_block_row(t, aggregated, ib, INT64_MAX / 2, sum);
    t->begin[task + 1] = sum;
  }
  for (int task = 0; task < t->count; task++) {
    tally *before = &t->begin[task], *after = before + 1;
    after->blocks += before->blocks;
    for (int n = 0; n < TYPES; n++) after->units[n] += before->units[n];
    after->super_sparse += before->super_sparse, after->heavy += before->heavy;
  }
  return t->begin[t->count];
}

/* Sets f's counts from those of plain blocks, which also decide on aggregation, or of aggregated ones. */
static void set_counts(wr_cb_format *f, const tasks *t, tally sum, int aggregated) {
  if (!aggregated) f->plain = (wr_cb_fill){sum.blocks, sum.super_sparse, sum.heavy};
  if (!aggregated) f->aggregated = wr_cb_aggregates(t->options, &f->plain);
  f->blocks = sum.blocks, f->units = sum.units[types_of(t, sum.blocks)];
}

static int64_t scale(int64_t counted, int64_t part, int64_t whole) {
  return (int64_t)((double)counted * ((double)whole / (double)part) + 0.5);
}

/* An estimate reads one block row of each `step`. */
static int64_t sample_step(const tasks *t) {
  double samples = (double)SAMPLED * (double)t->brows / (double)(t->A->nnz + 1);
  if (samples > SAMPLES) samples = SAMPLES;
  if (samples < LEAST_SAMPLES) samples = LEAST_SAMPLES;
  return t->A->nnz <= SAMPLED && t->brows <= SAMPLES ? 1 : (int64_t)((double)t->brows / samples) + 1;
}

/* Counts the sampled block rows, or the first entries of long ones, and scales the counts up to the matrix. */
static tally sample_blocks(const tasks *t, int aggregated) {
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
  tasks t = {.A = A, .type = type};
  set_types(options, &t);
  *shape = wr_cb_shape(1, 1, 0, type);
  wr_status status = wr_cb_check(A->nrows, A->ncols, A->nnz, options);
  if (status != WR_OK) return status;
  *shape = wr_cb_shape(A->nrows, A->ncols, A->nnz, type);
  t.brows = shape->brows;
  set_counts(shape, &t, sample_blocks(&t, 0), 0);
  if (shape->aggregated) set_counts(shape, &t, sample_blocks(&t, 1), 1);
  wr_cb_settle(shape, options);
  return WR_OK;
}

/* ---- Bytes ---- */

static void put(wr_type type, uint8_t *values, int at, double value) {
  if (type == WR_F64)
    ((double *)values)[at] = value;
  else
    ((float *)values)[at] = (float)value;
}

static void write_data(const wr_csr *A, const block *b, int kind, wr_type type, uint8_t *to) {
  int value_bytes = (int)wr_type_bytes(type), e = 0;
  uint8_t *values = to + wr_cb_index_bytes(kind, b->count, value_bytes);
  memset(to, 0, (size_t)wr_cb_units(kind, b->count, value_bytes) * WR_CB_UNIT);
  for (int at = 0; kind == WR_CB_DENSE && at < WR_CB_PLACES; at++) put(type, values, at, -0.0);
  for (int i = 0; i < WR_CB_SIDE; i++) {
    if (kind == WR_CB_CSR) to[i] = (uint8_t)e;
    for (int64_t k = b->first[i], j = 0; k < b->first[i] + b->n[i]; k++, e++) {
      double value = A->val != NULL ? A->val[k] : 1;
      if (b->columns == 0) j = A->col[k] - b->left;
      while (b->columns > 0 && b->cols[j] < A->col[k]) j++;
      if (kind == WR_CB_DENSE) { /* also a zero that a value becomes in f32 is positive, because -0 is padding */
        if (type == WR_F32) value = (float)value;
        put(type, values, (int)j * WR_CB_SIDE + i, value == 0 ? 0 : value);
        continue;
      }
      if (kind == WR_CB_COO)
        to[e] = (uint8_t)(i | j << 4);
      else
        to[WR_CB_SIDE + e / 2] |= (uint8_t)(j << 4 * (e % 2));
      put(type, values, e, value);
    }
  }
}

static void write_block_row(const tasks *t, int64_t ib, wr_cb_format *f, int64_t *k, int64_t *units) {
  wr_block_rows s = wr_block_rows_open(t->A, ib * WR_CB_SIDE, WR_CB_SIDE);
  int64_t col = 0;
  for (block b; next_block(t->A, f->aggregated, &s, &b); ++*k, col++) {
    int kind = wr_cb_pick(&t->options[types_of(t, f->blocks)], b.count);
    f->block[*k] = wr_cb_word(ib, f->aggregated ? col : b.left / WR_CB_SIDE, b.count, kind);
    wr_cb_set(f->offset, f->wide, *k, *units);
    if (f->aggregated) memcpy(f->restore_cols + *k * WR_CB_SIDE, b.cols, sizeof b.cols);
    write_data(t->A, &b, kind, f->type, f->data + *units * WR_CB_UNIT);
    *units += wr_cb_units(kind, b.count, (int)wr_type_bytes(f->type));
  }
}

static void write_lists(wr_cb_format *f) {
#pragma omp parallel for schedule(static)
  for (int64_t w = 0; w <= f->lists; w++) {
    int64_t first, row;
    wr_cb_cut(f, w, &first, &row);
    wr_cb_set(f->list_block, f->wide, w, first);
    f->list_row[w] = (int32_t)row;
  }
}

wr_status wr_cb_build(const wr_csr *A, const wr_cb_options *options, wr_type type, wr_cb_format *f) {
  wr_status status;
  tasks t = {0};
  *f = wr_cb_shape(1, 1, 0, type);
  TRY(wr_cb_check(A->nrows, A->ncols, A->nnz, options));
  TRY(wr_csr_check_range(A, type == WR_F32));
  *f = wr_cb_shape(A->nrows, A->ncols, A->nnz, type);
  TRY(open_tasks(A, options, type, &t));
  set_counts(f, &t, count_blocks(&t, 0), 0);
  if (f->aggregated) set_counts(f, &t, count_blocks(&t, 1), 1);
  wr_cb_settle(f, options);
  TRY(wr_cb_alloc(f));
#pragma omp parallel for num_threads(t.count) schedule(static, 1)
  for (int task = 0; task < t.count; task++) {
    int64_t k = t.begin[task].blocks, units = t.begin[task].units[types_of(&t, f->blocks)],
            end = first_of(&t, task + 1);
    for (int64_t ib = first_of(&t, task); ib < end; ib++) write_block_row(&t, ib, f, &k, &units);
  }
  wr_cb_set(f->offset, f->wide, f->blocks, f->units);
  write_lists(f);
done:
  wr_free(t.begin);
  return status;
}
