/* A thread that opens a device and uploads rows while others are made: the matrix has a complete view, or none. Without a
 * device: the thread that fails to open one. */
#include "solvers/program/device_thread.h"

#include <math.h>
#include <stdlib.h>

#include "spmv/device/device_memory.h"
#include "tests/program/feed_cases.h"

static int accepted = 1;

static int accepts(void *context, const wr_csr *A) { return (void)context, (void)A, accepted; }

static wr_env env_of(wr_type type) { return (wr_env){.place = WR_CUDA, .type = type}; }

/* The view has the entries of the matrix. */
static void check_view(wr_csr *A, wr_env *env) {
  wr_csr_view view;
  int64_t wrong = 0;
  int64_t *row_ptr = calloc((size_t)A->nrows + 1, sizeof *row_ptr);
  int32_t *col = calloc((size_t)A->nnz + 1, sizeof *col);
  double *val = calloc((size_t)A->nnz + 1, sizeof *val);
  CHECK_OK(wr_csr_device_view(A, env, &view));
  CHECK_OK(wr_device_download(env, row_ptr, view.row_ptr, A->nrows + 1, view.wide ? WR_AS_8_BYTES : WR_I64_AS_I32));
  CHECK_OK(wr_device_download(env, col, view.col, A->nnz, WR_AS_4_BYTES));
  wr_conversion how = env->type == WR_F32 ? WR_F64_AS_F32 : WR_AS_8_BYTES;
  if (A->val) CHECK_OK(wr_device_download(env, val, view.val, A->nnz, how));
  for (int64_t i = 0; i <= A->nrows; i++) wrong += row_ptr[i] != A->row_ptr[i];
  for (int64_t k = 0; k < A->nnz; k++) {
    wrong += col[k] != A->col[k];
    if (A->val) wrong += val[k] != (env->type == WR_F32 ? (double)(float)A->val[k] : A->val[k]);
  }
  CHECKF(wrong == 0 && (view.val != NULL) == (A->val != NULL), "%lld differ", (long long)wrong);
  free(row_ptr), free(col), free(val);
}

/* Waits until the thread has uploaded all rows that were announced. */
static void wait_for_uploads(wr_device_thread *t, int64_t rows) {
  for (int over = 0; !over;) {
    pthread_mutex_lock(&t->rows.lock);
    over = t->rows.seen_number == t->rows.number && t->rows.seen_rows == rows && !t->rows.reading && !t->rows.left;
    pthread_mutex_unlock(&t->rows.lock);
  }
}

/* works 1: waits until all is uploaded; 0: ends the thread as soon as the matrix is assembled. */
static void check_case(const feed_case *f, wr_type type, int works) {
  wr_env env = env_of(type);
  wr_device_thread t;
  wr_csr *A = NULL;
  int64_t live = wr_device_blocks();
  wr_triplets triplets = feed_triplets(f);
  CHECK(wr_device_thread_start(&t, &env, accepts, NULL));
  if (works) CHECK(wr_device_thread_wait(&t, INFINITY));
  CHECK_OK(wr_csr_assemble_for(&t.rows.feed, &triplets, WR_DUPLICATES_SUM, &A, NULL));
  CHECK(A->device == NULL);
  if (works && accepted) wait_for_uploads(&t, A->nrows);
  wr_device_thread_stop(&t);
  CHECK(t.error.status == WR_OK && !t.running && t.open_seconds > 0);
  CHECK((t.upload != NULL) == accepted || !works);
  CHECK_OK(env.ops->wait(&env));
  wr_device_thread_finish(&t);
  CHECK(t.upload == NULL && ((A->device != NULL) == accepted || !works));
  const void *made = A->device;
  check_view(A, &env);
  CHECK(made == NULL || A->device == made);
  wr_device_thread_close(&t);
  wr_env_close(&env);
  wr_csr_free(A);
  wr_triplets_free(&triplets);
  CHECKF(wr_device_blocks() == live, "%lld blocks are left", (long long)(wr_device_blocks() - live));
}

static void test_cases(void) {
  for (int k = 0; k < FEED_CASES; k++)
    for (int type = WR_F32; type <= WR_F64; type++) {
      CASE(feed_cases[k].name);
      check_case(&feed_cases[k], (wr_type)type, 1);
      check_case(&feed_cases[k], (wr_type)type, 0);
    }
  CASE("rows that are not accepted");
  accepted = 0;
  check_case(&feed_cases[0], WR_F64, 1);
  accepted = 1;
}

/* Uploads that are dropped: of a matrix that failed, is not complete, or has a value beyond f32; and a thread that is closed
 * without stop. */
static void test_dropped(void) {
  static const char *const names[] = {"failed", "not complete", "beyond f32", "ended"};
  for (int k = 0; k < 4; k++) {
    CASE(names[k]);
    wr_env env = env_of(WR_F32);
    wr_device_thread t;
    wr_csr *A = NULL;
    int64_t live = wr_device_blocks();
    CHECK_OK(wr_csr_create(3, 3, 3, 1, &A));
    for (int i = 0; i < 3; i++) A->row_ptr[i + 1] = i + 1, A->col[i] = i, A->val[i] = k == 2 && i == 1 ? 1e39 : i;
    CHECK(wr_device_thread_start(&t, &env, accepts, NULL));
    CHECK(wr_device_thread_wait(&t, INFINITY));
    const wr_csr_feed *feed = &t.rows.feed;
    feed->begin(feed->context, A);
    feed->ready(feed->context, k == 1 ? 2 : 3);
    if (k != 1) wait_for_uploads(&t, 3);
    if (k == 0) feed->begin(feed->context, NULL);
    if (k < 3) wr_device_thread_stop(&t);
    if (k < 3) wr_device_thread_finish(&t);
    CHECK(A->device == NULL);
    wr_device_thread_close(&t);
    CHECK(!t.running && t.upload == NULL && t.env == NULL);
    wr_env_close(&env);
    wr_csr_free(A);
    CHECKF(wr_device_blocks() == live, "%lld blocks are left", (long long)(wr_device_blocks() - live));
  }
}

/* A device that does not open: the error stays, and no rows are uploaded. */
static void test_none(void) {
  CASE("no such device");
  wr_env env = env_of(WR_F64);
  wr_device_thread t;
  wr_csr *A = NULL;
  wr_triplets triplets = feed_triplets(&feed_cases[1]);
  env.device = 1000;
  CHECK(wr_device_thread_start(&t, &env, accepts, NULL));
  CHECK_OK(wr_csr_assemble_for(&t.rows.feed, &triplets, WR_DUPLICATES_SUM, &A, NULL));
  CHECK(wr_device_thread_wait(&t, INFINITY) && wr_device_thread_wait(&t, 0));
  CHECK(t.error.status == WR_EUNAVAILABLE && t.error.text[0] != '\0');
  wr_device_thread_stop(&t);
  wr_device_thread_stop(&t);
  wr_device_thread_finish(&t);
  CHECK(t.upload == NULL && A && A->device == NULL);
  wr_device_thread_close(&t);
  wr_device_thread_close(&t);
  wr_csr_free(A);
  wr_triplets_free(&triplets);
}

int main(void) {
  wr_env env = env_of(WR_F64);
  wr_status status = wr_env_open(&env);
  wr_env_close(&env);
  if (status == WR_OK) {
    test_cases();
    test_dropped();
  }
  test_none();
  return wr_test_report("device_thread");
}
