/* Rows that one thread reads while others make them: rows that were taken do not change, and no matrix is freed while it is
 * read. */
#include "solvers/program/row_channel.h"

#include <omp.h>
#include <stdlib.h>

#include "tests/program/feed_cases.h"

static int accepted;

static int accepts(void *context, const wr_csr *A) {
  CHECK(context == &accepted && A != NULL);
  return accepted;
}

/* What a reader has copied of the matrix that it took last; it copies at most `most` rows at a time. */
typedef struct reader {
  wr_row_channel *c;
  int64_t most, number, rows, takes;
  int64_t *row_ptr;
  int32_t *col;
  double *val;
} reader;

static void reader_forget(reader *r) {
  free(r->row_ptr), free(r->col), free(r->val);
  r->row_ptr = NULL, r->col = NULL, r->val = NULL;
  r->rows = 0;
}

static void copy_rows(reader *r, const wr_csr *A, int64_t last) {
  for (int64_t i = r->rows; i < last; i++) {
    r->row_ptr[i + 1] = A->row_ptr[i + 1];
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      r->col[k] = A->col[k];
      if (A->val) r->val[k] = A->val[k];
    }
  }
  r->rows = last;
}

static void *read_all(void *context) {
  reader *r = context;
  wr_final_rows now;
  while (wr_row_channel_take(r->c, &now)) {
    r->takes++;
    if (now.number != r->number) {
      reader_forget(r);
      r->number = now.number;
      if (now.A) {
        r->row_ptr = calloc((size_t)now.A->nrows + 1, sizeof *r->row_ptr);
        r->col = calloc((size_t)now.A->nnz + 1, sizeof *r->col);
        r->val = calloc((size_t)now.A->nnz + 1, sizeof *r->val);
      }
    }
    if (now.A) copy_rows(r, now.A, now.rows - r->rows > r->most ? r->rows + r->most : now.rows);
    wr_row_channel_release(r->c, r->rows < now.rows);
  }
  return NULL;
}

static int same(const reader *r, const wr_csr *A) {
  size_t nnz = (size_t)A->row_ptr[r->rows];
  return memcmp(r->row_ptr, A->row_ptr, ((size_t)r->rows + 1) * sizeof *A->row_ptr) == 0 &&
         (nnz == 0 || memcmp(r->col, A->col, nnz * sizeof *A->col) == 0) &&
         (nnz == 0 || A->val == NULL || memcmp(r->val, A->val, nnz * sizeof *A->val) == 0);
}

/* to_the_end: waits until the reader has taken all rows before the channel is closed. */
static void check_case(const feed_case *f, int threads, int64_t most, int to_the_end) {
  wr_row_channel c;
  pthread_t thread;
  wr_csr *A = NULL;
  reader r = {.c = &c, .most = most};
  wr_triplets t = feed_triplets(f);
  omp_set_num_threads(threads);
  CHECK_OK(wr_row_channel_open(&c, accepts, &accepted));
  CHECK(pthread_create(&thread, NULL, read_all, &r) == 0);
  CHECK_OK(wr_csr_assemble_for(&c.feed, &t, WR_DUPLICATES_SUM, &A, NULL));
  for (int over = !to_the_end || !accepted; !over;) {
    pthread_mutex_lock(&c.lock);
    over = c.seen_number == c.number && c.seen_rows == A->nrows && !c.reading && !c.left;
    pthread_mutex_unlock(&c.lock);
  }
  wr_row_channel_close(&c);
  CHECK(pthread_join(thread, NULL) == 0);
  wr_final_rows last = wr_row_channel_last(&c);
  CHECK(last.A == (accepted ? A : NULL) && last.rows == (accepted ? A->nrows : 0) && last.number == 1 + f->duplicate);
  if (to_the_end && accepted) CHECK(r.number == last.number && r.rows == A->nrows);
  if (r.number == last.number && accepted) CHECK(same(&r, A));
  if (!accepted) CHECKF(r.rows == 0 && r.takes <= 1 + f->duplicate, "%lld takes", (long long)r.takes);
  reader_forget(&r);
  wr_row_channel_free(&c);
  wr_csr_free(A);
  wr_triplets_free(&t);
}

static void test_cases(void) {
  int most = omp_get_max_threads();
  for (int k = 0; k < FEED_CASES; k++)
    for (int threads = 1; threads <= 4; threads += 3) {
      CASE(feed_cases[k].name);
      accepted = 1;
      check_case(&feed_cases[k], threads, INT64_MAX, 1);
      check_case(&feed_cases[k], threads, 1000, threads == 1);
      accepted = 0;
      check_case(&feed_cases[k], threads, INT64_MAX, 1);
    }
  omp_set_num_threads(most);
}

/* One matrix after another, each freed as soon as the next one, or none, is begun. */
static void test_freed(void) {
  CASE("freed while another thread reads");
  wr_row_channel c;
  pthread_t thread;
  reader r = {.c = &c, .most = 7};
  accepted = 1;
  CHECK_OK(wr_row_channel_open(&c, accepts, &accepted));
  CHECK(pthread_create(&thread, NULL, read_all, &r) == 0);
  wr_csr *before = NULL;
  for (int k = 0; k < 300; k++) {
    wr_csr *A = NULL;
    CHECK_OK(wr_csr_create(500, 500, 500, 1, &A));
    c.feed.begin(c.feed.context, A);
    wr_csr_free(before);
    for (int i = 0; i < 500; i++) {
      A->row_ptr[i + 1] = i + 1, A->col[i] = i, A->val[i] = k;
      if (i % 100 == 99) c.feed.ready(c.feed.context, i + 1);
    }
    before = A;
    if (k % 3 == 0) {
      c.feed.begin(c.feed.context, NULL);
      wr_csr_free(A);
      before = NULL;
    }
  }
  c.feed.begin(c.feed.context, NULL);
  wr_csr_free(before);
  wr_row_channel_close(&c);
  CHECK(pthread_join(thread, NULL) == 0);
  wr_final_rows last = wr_row_channel_last(&c);
  CHECK(last.A == NULL && last.rows == 0);
  reader_forget(&r);
  wr_row_channel_free(&c);
}

/* take returns another matrix at once, rows from WR_ROW_CHANNEL_LEAST on, and the last rows in any case. */
static void test_worth(void) {
  CASE("when take returns");
  enum { N = WR_ROW_CHANNEL_LEAST };
  wr_row_channel c;
  wr_final_rows now;
  wr_csr *A = NULL;
  accepted = 1;
  CHECK_OK(wr_csr_create(2 * N, 5, 0, 0, &A));
  CHECK_OK(wr_row_channel_open(&c, accepts, &accepted));
  c.feed.ready(c.feed.context, 5); /* without a matrix */
  c.feed.begin(c.feed.context, A);
  CHECK(wr_row_channel_take(&c, &now) && now.A == A && now.number == 1 && now.rows == 0);
  wr_row_channel_release(&c, 0);
  c.feed.ready(c.feed.context, N);
  CHECK(wr_row_channel_take(&c, &now) && now.rows == N && now.number == 1);
  wr_row_channel_release(&c, 1);
  CHECK(wr_row_channel_take(&c, &now) && now.rows == N); /* some were left */
  wr_row_channel_release(&c, 0);
  c.feed.ready(c.feed.context, N + 1); /* too few */
  c.feed.ready(c.feed.context, 2 * N);
  CHECK(wr_row_channel_take(&c, &now) && now.rows == 2 * N);
  wr_row_channel_release(&c, 0);
  c.feed.begin(c.feed.context, NULL);
  CHECK(wr_row_channel_take(&c, &now) && now.A == NULL && now.number == 2);
  wr_row_channel_release(&c, 0);
  wr_row_channel_close(&c);
  CHECK(!wr_row_channel_take(&c, &now));
  c.feed.begin(c.feed.context, A);
  c.feed.ready(c.feed.context, 2 * N);
  now = wr_row_channel_last(&c);
  CHECK(!wr_row_channel_take(&c, &now) && now.A == A && now.rows == 2 * N && now.number == 3);
  wr_row_channel_free(&c);
  wr_csr_free(A);
}

int main(void) {
  test_worth();
  test_cases();
  test_freed();
  return wr_test_report("row_channel");
}
