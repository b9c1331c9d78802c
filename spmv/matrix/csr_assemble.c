/* Assembles triplets to rows. Two stable counting sorts: into buckets of consecutive rows, which need memory for chunks times
 * buckets counters whatever the number of rows, and within each bucket by row; rows that are not in column order are sorted
 * last. Every step keeps entries of the same place in file order, so sums of duplicates do not depend on threads or chunks. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "config/argument.h"
#include "config/memory.h"
#include "config/text.h"
#include "spmv/matrix/csr_feed.h"
#include "spmv/matrix/row_sort.h"

enum {
  BUCKETS_MAX = 1024,     /* that many streams of stores still fit the caches */
  BUCKET_ENTRIES = 32768, /* entries of a bucket that fits a core's cache     */
  BUCKET_ROWS = 65536,
  THREAD_ENTRIES = 8192   /* entries and rows that are worth another thread            */
};

typedef struct assembly {
  wr_triplets *triplets;
  int threads;
  int mirror;  /* 1: an entry off the diagonal stands for two */
  double sign; /* of the value of the second                  */
  int shift;   /* row >> shift is its bucket                  */
  int64_t nbuckets;
  int64_t *next;  /* [nchunks * nbuckets] index of a chunk's next entry of a bucket             */
  int64_t *begin; /* [nbuckets + 1] first index of each bucket                                  */
  int32_t *row;   /* [nnz] the row of each entry, in the order of A->col, until rows are sorted */
  wr_csr *A;
  int64_t ntasks;
  int64_t *first;     /* [ntasks + 1] the first row of each task                                         */
  int64_t *distinct;  /* [ntasks + 1] entries of a task's rows less duplicates; then their sum before it */
  wr_csr_prefix prefix; /* the tasks with final rows                                                       */
} assembly;

static void free_chunk(wr_triplet_chunk *chunk) {
  wr_free(chunk->row);
  wr_free(chunk->col);
  wr_free(chunk->val);
  *chunk = (wr_triplet_chunk){.count = 0};
}

void wr_triplets_free(wr_triplets *triplets) {
  if (triplets == NULL) return;
  for (int64_t c = 0; c < triplets->nchunks; c++) free_chunk(&triplets->chunks[c]);
  wr_free(triplets->chunks);
  *triplets = (wr_triplets){.nrows = 0};
}

static wr_status out_of_scratch(const assembly *a) {
  return wr_fail(WR_ENOMEM, "out of memory: sorting the rows of a matrix with %lld %s", (long long)a->A->nnz,
                 wr_plural(a->A->nnz, "entry", "entries"));
}

/* Checks consistency. *values := 1 if the entries have values; *count := their number. */
static wr_status check_triplets(const wr_triplets *t, int *values, int64_t *count) {
  *values = 0, *count = 0;
  for (int64_t c = 0; c < t->nchunks; c++) {
    *count += t->chunks[c].count;
    if (t->chunks[c].val != NULL) *values = 1;
  }
  for (int64_t c = 0; c < t->nchunks; c++)
    if (*values && t->chunks[c].count > 0 && t->chunks[c].val == NULL)
      return wr_fail(WR_EUSAGE, "some triplets have values and some have none");
  if (t->symmetry != WR_GENERAL && t->nrows != t->ncols)
    return wr_fail(WR_EINPUT, "a symmetric matrix must be square (%lld x %lld)", (long long)t->nrows,
                   (long long)t->ncols);
  if (t->symmetry == WR_SKEW_SYMMETRIC && !*values && *count > 0)
    return wr_fail(WR_EINPUT, "a skew-symmetric matrix needs values");
  return WR_OK;
}

static void choose_buckets(assembly *a, int64_t count) {
  int64_t nrows = a->triplets->nrows, wanted = count / BUCKET_ENTRIES;
  if (wanted < nrows / BUCKET_ROWS) wanted = nrows / BUCKET_ROWS;
  if (wanted > BUCKETS_MAX) wanted = BUCKETS_MAX;
  a->shift = 0;
  while ((nrows - 1) >> a->shift > wanted) a->shift++;
  a->nbuckets = ((nrows - 1) >> a->shift) + 1;
}

/* Adds a chunk's entries to the counts of buckets; returns 0 if an entry lies outside the matrix. */
static int count_chunk(const assembly *a, const wr_triplet_chunk *chunk, int64_t *count) {
  uint32_t nrows = (uint32_t)a->triplets->nrows, ncols = (uint32_t)a->triplets->ncols;
  for (int64_t n = 0; n < chunk->count; n++) {
    int32_t i = chunk->row[n], j = chunk->col[n];
    if ((uint32_t)i >= nrows || (uint32_t)j >= ncols) return 0;
    count[i >> a->shift]++;
    if (a->mirror && i != j) count[j >> a->shift]++;
  }
  return 1;
}

/* Sets next and begin; *nnz := the number of entries, mirrored ones included. */
static wr_status count_all(assembly *a, int64_t *nnz) {
  const wr_triplets *t = a->triplets;
  int outside = 0;
#pragma omp parallel for num_threads(a->threads) schedule(dynamic, 1) reduction(+ : outside)
  for (int64_t c = 0; c < t->nchunks; c++) outside += !count_chunk(a, &t->chunks[c], a->next + c * a->nbuckets);
  if (outside > 0) return wr_fail(WR_EUSAGE, "a triplet lies outside its matrix");
  int64_t sum = 0;
  for (int64_t b = 0; b < a->nbuckets; b++) {
    a->begin[b] = sum;
    for (int64_t c = 0; c < t->nchunks; c++) {
      int64_t count = a->next[c * a->nbuckets + b];
      a->next[c * a->nbuckets + b] = sum;
      sum += count;
    }
  }
  *nnz = a->begin[a->nbuckets] = sum;
  return WR_OK;
}

static inline void put(const assembly *a, int64_t *next, int32_t i, int32_t j, double value) {
  int64_t k = next[i >> a->shift]++;
  a->row[k] = i;
  a->A->col[k] = j;
  if (a->A->val != NULL) a->A->val[k] = value;
}

/* Moves all entries to their buckets, and frees each chunk when it is done. */
static void scatter(const assembly *a) {
#pragma omp parallel for num_threads(a->threads) schedule(dynamic, 1)
  for (int64_t c = 0; c < a->triplets->nchunks; c++) {
    wr_triplet_chunk *chunk = &a->triplets->chunks[c];
    int64_t *next = a->next + c * a->nbuckets;
    for (int64_t n = 0; n < chunk->count; n++) {
      int32_t i = chunk->row[n], j = chunk->col[n];
      double value = chunk->val != NULL ? chunk->val[n] : 1;
      put(a, next, i, j, value);
      if (a->mirror && i != j) put(a, next, j, i, a->sign * value);
    }
    free_chunk(chunk);
  }
}

/* Fills row_ptr for the bucket's rows; returns 1 if its entries are in row order already. */
static int count_rows(const assembly *a, int64_t b) {
  int64_t low = a->begin[b], high = a->begin[b + 1], *row_ptr = a->A->row_ptr;
  int64_t last = (b + 1) << a->shift, sum = low;
  int ordered = 1;
  for (int64_t k = low; k < high; k++) {
    row_ptr[a->row[k] + 1]++;
    if (k > low && a->row[k] < a->row[k - 1]) ordered = 0;
  }
  if (last > a->A->nrows) last = a->A->nrows;
  for (int64_t i = b << a->shift; i < last; i++) sum = row_ptr[i + 1] += sum;
  return ordered;
}

/* Orders a bucket by row. Goes from the last entry to the first, so that the rows' ends in row_ptr serve as write positions;
 * they end up as the rows' starts, and shifting these by one place restores the ends. */
static wr_status order_bucket(const assembly *a, int64_t b, wr_row_scratch *s) {
  if (count_rows(a, b)) return WR_OK;
  wr_csr *A = a->A;
  int64_t low = a->begin[b], high = a->begin[b + 1], *end = A->row_ptr + 1;
  PASS(wr_row_scratch_reserve(s, high - low, A->val != NULL));
  for (int64_t k = high - 1; k >= low; k--) {
    int64_t place = --end[a->row[k]];
    s->col[place - low] = A->col[k];
    if (A->val != NULL) s->val[place - low] = A->val[k];
  }
  memcpy(A->col + low, s->col, (size_t)(high - low) * sizeof *s->col);
  if (A->val != NULL) memcpy(A->val + low, s->val, (size_t)(high - low) * sizeof *s->val);
  int64_t first = b << a->shift, last = (b + 1) << a->shift;
  if (last > A->nrows) last = A->nrows;
  memmove(end + first, end + first + 1, (size_t)(last - first - 1) * sizeof *end);
  end[last - 1] = high;
  return WR_OK;
}

static wr_status order_buckets(const assembly *a) {
  int failed = 0;
#pragma omp parallel num_threads(a->threads) reduction(+ : failed)
  {
    wr_row_scratch s = {.capacity = 0};
#pragma omp for schedule(dynamic, 1)
    for (int64_t b = 0; b < a->nbuckets; b++) failed += order_bucket(a, b, &s) != WR_OK;
    wr_row_scratch_free(&s);
  }
  return failed > 0 ? out_of_scratch(a) : WR_OK;
}

/* Sorts row i by column; *distinct grows by the number of its columns. */
static wr_status sort_row(const wr_csr *A, int64_t i, wr_row_scratch *s, int64_t *distinct) {
  int64_t begin = A->row_ptr[i], count = A->row_ptr[i + 1] - begin;
  int32_t *col = A->col + begin;
  double *val = A->val != NULL ? A->val + begin : NULL;
  PASS(wr_row_sort(col, val, count, s));
  *distinct += count > 0;
  for (int64_t k = 1; k < count; k++) *distinct += col[k] != col[k - 1];
  return WR_OK;
}

/* Tasks are runs of rows with about equal numbers of rows and entries together. */
static void choose_tasks(assembly *a) {
  const wr_csr *A = a->A;
  int64_t total = A->nrows + A->nnz;
  for (int64_t t = 0; t <= a->ntasks; t++) {
    int64_t goal = total / a->ntasks * t, low = 0, high = A->nrows; /* the first row with row_ptr[i] + i >= goal */
    while (low < high) {
      int64_t middle = low + (high - low) / 2;
      if (A->row_ptr[middle] + middle >= goal)
        high = middle;
      else
        low = middle + 1;
    }
    a->first[t] = t == a->ntasks ? A->nrows : low;
  }
}

/* Announces A, of which no row is final yet. */
static void begin_prefix(assembly *a, wr_csr *A) {
  if (a->prefix.feed == NULL) return;
  memset(a->prefix.done, 0, (size_t)a->ntasks);
  a->prefix.passed = 0;
  wr_csr_feed_begin(a->prefix.feed, A);
}

static int64_t first_row(const void *context, int64_t task) { return ((const assembly *)context)->first[task]; }

/* Sorts all rows by column. Rows before the first duplicate are final then. */
static wr_status sort_rows(assembly *a) {
  int failed = 0;
  const int64_t *row_ptr = a->A->row_ptr;
  choose_tasks(a);
#pragma omp parallel num_threads(a->threads) reduction(+ : failed)
  {
    wr_row_scratch s = {.capacity = 0};
#pragma omp for schedule(dynamic, 1)
    for (int64_t t = 0; t < a->ntasks; t++) {
      for (int64_t i = a->first[t]; i < a->first[t + 1]; i++) failed += sort_row(a->A, i, &s, &a->distinct[t]) != WR_OK;
      if (a->distinct[t] == row_ptr[a->first[t + 1]] - row_ptr[a->first[t]])
        wr_csr_prefix_pass(&a->prefix, t, first_row, a);
    }
    wr_row_scratch_free(&s);
  }
  if (failed > 0) return out_of_scratch(a);
  int64_t sum = 0;
  for (int64_t t = 0; t <= a->ntasks; t++) {
    int64_t here = a->distinct[t];
    a->distinct[t] = sum;
    sum += here;
  }
  return WR_OK;
}

/* Copies row i of A, duplicates merged, to index k of B; returns the next index. *finite := 0 if a sum is not finite. */
static int64_t merge_row(const wr_csr *A, int64_t i, wr_csr *B, int64_t k, int *finite) {
  for (int64_t n = A->row_ptr[i], first = n; n < A->row_ptr[i + 1]; first = n, k++) {
    int32_t col = A->col[n];
    double sum = A->val != NULL ? A->val[n] : 1;
    for (n++; n < A->row_ptr[i + 1] && A->col[n] == col; n++) sum += A->val != NULL ? A->val[n] : 1;
    B->col[k] = col;
    if (B->val != NULL) B->val[k] = sum;
    if (n - first > 1 && !isfinite(sum)) *finite = 0;
  }
  return k;
}

static wr_status merge(assembly *a, wr_duplicates duplicates) {
  wr_csr *A = a->A, *B;
  int values = A->val != NULL || duplicates == WR_DUPLICATES_SUM;
  PASS(wr_csr_create(A->nrows, A->ncols, a->distinct[a->ntasks], values, &B));
  B->symmetric = A->symmetric, B->from_zero = A->from_zero;
  begin_prefix(a, B);
  int64_t overflow = A->nrows; /* the first row with a sum that overflows */
#pragma omp parallel for num_threads(a->threads) schedule(dynamic, 1) reduction(min : overflow)
  for (int64_t t = 0; t < a->ntasks; t++) {
    int64_t k = a->distinct[t];
    for (int64_t i = a->first[t]; i < a->first[t + 1]; i++) {
      int finite = 1;
      B->row_ptr[i + 1] = k = merge_row(A, i, B, k, &finite);
      if (!finite && i < overflow) overflow = i;
    }
    wr_csr_prefix_pass(&a->prefix, t, first_row, a);
  }
  wr_csr_free(A);
  a->A = B;
  if (overflow == B->nrows) return WR_OK;
  return wr_fail(WR_EINPUT, "row %lld: the sum of several entries at one place overflows",
                 (long long)(overflow + wr_csr_first(B)));
}

static wr_status allocate(assembly *a, const wr_csr_feed *feed, int64_t count) {
  choose_buckets(a, count);
  a->threads = omp_get_max_threads();
  int64_t work = count + a->triplets->nrows;
  if (a->threads > 1 + work / THREAD_ENTRIES) a->threads = (int)(1 + work / THREAD_ENTRIES);
  a->ntasks = 16 * (int64_t)a->threads;
  PASS(wr_alloc_zeroed(&a->next, a->triplets->nchunks * a->nbuckets, sizeof *a->next, "counting entries"));
  PASS(wr_alloc_zeroed(&a->begin, a->nbuckets + 1, sizeof *a->begin, "counting entries"));
  PASS(wr_alloc_zeroed(&a->first, a->ntasks + 1, sizeof *a->first, "counting entries"));
  PASS(wr_alloc_zeroed(&a->distinct, a->ntasks + 1, sizeof *a->distinct, "counting entries"));
  return wr_csr_prefix_open(&a->prefix, feed, a->ntasks);
}

wr_status wr_csr_assemble_for(const wr_csr_feed *feed, wr_triplets *triplets, wr_duplicates duplicates, wr_csr **out,
                              int64_t *repeated) {
  assembly a = {.triplets = triplets, .mirror = triplets->symmetry != WR_GENERAL,
                .sign = triplets->symmetry == WR_SKEW_SYMMETRIC ? -1 : 1};
  int values;
  int64_t count, nnz = 0;
  *out = NULL;
  wr_status status = check_triplets(triplets, &values, &count);
  if (status != WR_OK) return status;
  TRY(allocate(&a, feed, count));
  TRY(count_all(&a, &nnz));
  TRY(wr_csr_create(triplets->nrows, triplets->ncols, nnz, values, &a.A));
  a.A->symmetric = triplets->symmetry == WR_SYMMETRIC, a.A->from_zero = triplets->from_zero;
  begin_prefix(&a, a.A);
  TRY(wr_alloc(&a.row, nnz, sizeof *a.row, "the rows of the entries"));
  scatter(&a);
  TRY(order_buckets(&a));
  wr_free(a.row);
  a.row = NULL;
  TRY(sort_rows(&a));
  if (repeated != NULL) *repeated = nnz - a.distinct[a.ntasks];
  if (a.distinct[a.ntasks] < nnz) TRY(merge(&a, duplicates));
  *out = a.A;
  a.A = NULL;
done:
  if (status != WR_OK) wr_csr_feed_begin(feed, NULL);
  wr_csr_free(a.A);
  wr_free(a.row);
  wr_free(a.next);
  wr_free(a.begin);
  wr_free(a.first);
  wr_free(a.distinct);
  wr_csr_prefix_close(&a.prefix);
  return status;
}

wr_status wr_csr_assemble(wr_triplets *triplets, wr_duplicates duplicates, wr_csr **out, int64_t *repeated) {
  WR_NEED(out);
  *out = NULL;
  WR_NEED(triplets);
  const wr_triplets *t = triplets;
  WR_REFUSE_IF(t->nrows < 1 || t->ncols < 1 || t->nrows > WR_MAX_INDEX || t->ncols > WR_MAX_INDEX,
               "triplets of a matrix of %lld x %lld, outside 1..%lld rows and columns", (long long)t->nrows,
               (long long)t->ncols, (long long)WR_MAX_INDEX);
  WR_REFUSE_IF((unsigned)t->symmetry > WR_SKEW_SYMMETRIC, "triplets->symmetry is %d", (int)t->symmetry);
  WR_REFUSE_IF((unsigned)duplicates > WR_DUPLICATES_ONCE, "duplicates is %d", (int)duplicates);
  WR_REFUSE_IF(t->nchunks < 0 || (t->nchunks > 0 && t->chunks == NULL), "triplets has %lld chunks%s",
               (long long)t->nchunks, t->chunks ? "" : ", and chunks is NULL");
  for (int64_t c = 0; c < t->nchunks; c++)
    WR_REFUSE_IF(t->chunks[c].count < 0 || (t->chunks[c].count > 0 && !(t->chunks[c].row && t->chunks[c].col)),
                 "chunk %lld of triplets has %lld entries and lacks row or col", (long long)c,
                 (long long)t->chunks[c].count);
  return wr_csr_assemble_for(NULL, triplets, duplicates, out, repeated);
}
