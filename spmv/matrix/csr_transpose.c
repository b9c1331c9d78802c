/* Transposes in two stable passes, so that the result depends only on the matrix: entries are scattered to buckets of
 * consecutive columns with counters that fit a cache; then each bucket is counting-sorted by column. Both passes keep row order
 * within a column, which is the ascending order that the transposed rows need. */
#include <omp.h>

#include "config/memory.h"
#include "spmv/matrix/csr_argument.h"

enum { MAX_BUCKETS = 512 };

typedef struct place {
  int32_t row, col;
} place;

typedef struct transposer {
  const wr_csr *A;
  wr_csr *T;
  int shift;         /* bucket of column j: j >> shift                                                  */
  int64_t nbuckets;
  int64_t nchunks;     /* runs of rows with about equal numbers of entries              */
  int64_t *chunk_row;  /* [nchunks + 1] first row of each                               */
  int64_t *at;         /* [nchunks][nbuckets] index of a chunk's next entry of a bucket */
  int64_t *bucket_ptr; /* [nbuckets + 1]                                                */
  place *entry;        /* [nnz] in order of buckets                                     */
  double *val;         /* [nnz] their values, or NULL                                   */
} transposer;

/* First row with entries that begin at or after k. */
static int64_t row_at(const wr_csr *A, int64_t k) {
  int64_t low = 0, high = A->nrows;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (A->row_ptr[middle] < k)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static wr_status open_transposer(transposer *t, const wr_csr *A) {
  t->A = A;
  while ((A->ncols - 1) >> t->shift >= MAX_BUCKETS) t->shift++;
  t->nbuckets = ((A->ncols - 1) >> t->shift) + 1;
  t->nchunks = A->nnz < 100000 ? 1 : 4 * (int64_t)omp_get_max_threads();
  PASS(wr_csr_create(A->ncols, A->nrows, A->nnz, A->val != NULL, &t->T));
  PASS(wr_alloc(&t->chunk_row, t->nchunks + 1, sizeof *t->chunk_row, "transposing"));
  PASS(wr_alloc_zeroed(&t->at, t->nchunks * t->nbuckets, sizeof *t->at, "transposing"));
  PASS(wr_alloc(&t->bucket_ptr, t->nbuckets + 1, sizeof *t->bucket_ptr, "transposing"));
  PASS(wr_alloc(&t->entry, A->nnz, sizeof *t->entry, "transposing"));
  if (A->val) PASS(wr_alloc(&t->val, A->nnz, sizeof *t->val, "transposing"));
  for (int64_t c = 0; c < t->nchunks; c++)
    t->chunk_row[c] = row_at(A, A->nnz / t->nchunks * c + A->nnz % t->nchunks * c / t->nchunks);
  t->chunk_row[0] = 0, t->chunk_row[t->nchunks] = A->nrows;
  return WR_OK;
}

/* Turns counts into first indices: bucket by bucket, within a bucket chunk by chunk. */
static void place_chunks(const transposer *t) {
  int64_t begin = 0;
  for (int64_t b = 0; b < t->nbuckets; b++) {
    t->bucket_ptr[b] = begin;
    for (int64_t c = 0; c < t->nchunks; c++) {
      int64_t count = t->at[c * t->nbuckets + b];
      t->at[c * t->nbuckets + b] = begin;
      begin += count;
    }
  }
  t->bucket_ptr[t->nbuckets] = begin;
}

static void scatter_chunk(const transposer *t, int64_t c) {
  const wr_csr *A = t->A;
  int64_t *at = t->at + c * t->nbuckets;
  for (int64_t i = t->chunk_row[c]; i < t->chunk_row[c + 1]; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      int64_t to = at[A->col[k] >> t->shift]++;
      t->entry[to] = (place){(int32_t)i, A->col[k]};
      if (A->val) t->val[to] = A->val[k];
    }
}

/* Sorts one bucket by column into the result. T->row_ptr + 1 serves as the counters: it holds counts, then the rows' first
 * indices, which grow to the rows' ends, as row_ptr needs. */
static void sort_bucket(const transposer *t, int64_t b) {
  int64_t first = (int64_t)b << t->shift, last = first + ((int64_t)1 << t->shift);
  if (last > t->A->ncols) last = t->A->ncols;
  int64_t *end = t->T->row_ptr + 1; /* end[j]: counts, then starts, then ends of the transposed row j */
  for (int64_t p = t->bucket_ptr[b]; p < t->bucket_ptr[b + 1]; p++) end[t->entry[p].col]++;
  int64_t begin = t->bucket_ptr[b];
  for (int64_t j = first; j < last; j++) {
    int64_t count = end[j];
    end[j] = begin;
    begin += count;
  }
  for (int64_t p = t->bucket_ptr[b]; p < t->bucket_ptr[b + 1]; p++) {
    int64_t k = end[t->entry[p].col]++;
    t->T->col[k] = t->entry[p].row;
    if (t->val) t->T->val[k] = t->val[p];
  }
}

wr_status wr_csr_transpose(const wr_csr *A, wr_csr **out) {
  wr_status status;
  transposer t = {0};
  WR_NEED(out);
  *out = NULL;
  WR_NEED_HOST(A);
  TRY(open_transposer(&t, A));
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t c = 0; c < t.nchunks; c++)
    for (int64_t k = A->row_ptr[t.chunk_row[c]]; k < A->row_ptr[t.chunk_row[c + 1]]; k++)
      t.at[c * t.nbuckets + (A->col[k] >> t.shift)]++;
  place_chunks(&t);
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t c = 0; c < t.nchunks; c++) scatter_chunk(&t, c);
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t b = 0; b < t.nbuckets; b++) sort_bucket(&t, b);
  t.T->symmetric = A->symmetric;
  *out = t.T, t.T = NULL;
done:
  wr_csr_free(t.T);
  wr_free(t.chunk_row), wr_free(t.at), wr_free(t.bucket_ptr);
  wr_free(t.entry), wr_free(t.val);
  return status;
}
