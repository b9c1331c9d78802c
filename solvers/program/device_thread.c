#define _DEFAULT_SOURCE /* nanosleep, pthread_sigmask */
#include "solvers/program/device_thread.h"

#include <omp.h>
#include <signal.h>
#include <time.h>

#include "config/clock.h"

enum { PIECE = 1 << 19 }; /* rows and entries that are uploaded before the channel is read again: up to 10 MB */

static void drop(wr_device_thread *t) {
  wr_csr_upload_drop(t->upload);
  t->upload = NULL;
}

/* Uploads a piece. Returns 1 if some of these rows are left for the next one. Errors are dropped with the upload: they occur
 * again when the program makes the view itself, and are reported then. */
static int upload_piece(wr_device_thread *t, const wr_final_rows *now) {
  int left = 0;
  if (t->number != now->number) {
    drop(t);
    t->number = now->number;
    if (now->A != NULL) (void)wr_csr_upload_begin(now->A, t->env, &t->upload);
  }
  if (t->upload == NULL) return 0;
  if (wr_csr_upload_more(t->upload, now->rows, PIECE, &left) == WR_OK) return left;
  drop(t);
  return 0;
}

static void *work(void *device_thread) {
  wr_device_thread *t = device_thread;
  wr_final_rows now;
  omp_set_num_threads(1); /* in loops of this thread: the other processors make the rows */
  (void)wr_error_keep(&t->error, wr_env_open(t->env));
  t->open_seconds = wr_clock() - t->since;
  atomic_store(&t->opened, 1);
  while (t->error.status == WR_OK && wr_row_channel_take(&t->rows, &now)) {
    double begin = wr_clock();
    int left = upload_piece(t, &now);
    t->upload_seconds += wr_clock() - begin;
    wr_row_channel_release(&t->rows, left);
  }
  return NULL;
}

/* All signals are blocked in the new thread, so that the program's thread handles them. OpenMP is used here first because
 * libomp 14 with a tool relies on the first thread that uses it to stay to the end. */
int wr_device_thread_start(wr_device_thread *t, wr_env *env, int (*accepts)(void *context, const wr_csr *A),
                           void *context) {
  sigset_t all, before;
  *t = (wr_device_thread){.env = env, .since = wr_clock()};
  (void)omp_get_max_threads();
  if (wr_row_channel_open(&t->rows, accepts, context) != WR_OK) return t->env = NULL, 0;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  t->running = pthread_create(&t->thread, NULL, work, t) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!t->running) wr_device_thread_close(t);
  return t->running;
}

int wr_device_thread_wait(wr_device_thread *t, double most) {
  const struct timespec nap = {0, 200000};
  double begin = wr_clock();
  while (!atomic_load(&t->opened) && wr_clock() - begin < most) nanosleep(&nap, NULL);
  return atomic_load(&t->opened);
}

void wr_device_thread_stop(wr_device_thread *t) {
  if (!t->running) return;
  wr_row_channel_close(&t->rows);
  pthread_join(t->thread, NULL);
  t->running = 0;
}

void wr_device_thread_finish(wr_device_thread *t) {
  int left;
  if (t->upload == NULL) return;
  wr_final_rows last = wr_row_channel_last(&t->rows);
  int complete = t->number == last.number && last.A != NULL && last.rows == last.A->nrows;
  if (complete && wr_csr_upload_more(t->upload, last.rows, INT64_MAX / 2, &left) == WR_OK) {
    (void)wr_csr_upload_end(t->upload);
    t->upload = NULL;
  }
  drop(t);
}

void wr_device_thread_close(wr_device_thread *t) {
  if (t->env == NULL) return;
  wr_device_thread_stop(t);
  drop(t);
  wr_row_channel_free(&t->rows);
  *t = (wr_device_thread){0};
}
