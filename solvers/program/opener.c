#define _DEFAULT_SOURCE /* nanosleep, pthread_sigmask */
#include "solvers/program/opener.h"

#include <omp.h>
#include <signal.h>
#include <time.h>

#include "solvers/report/ledger.h"

enum { PIECE = 1 << 19 }; /* rows and entries between two looks at what the program wants: up to 10 MB */

static void drop(wr_opener *o) {
  wr_csr_upload_drop(o->upload);
  o->upload = NULL;
}

/* Brings a piece there; 1: there is more of what was handed over. An error is met again by who makes the view in the ordinary
 * way, and that reports it. */
static int bring(wr_opener *o, const wr_handed *now) {
  int left = 0;
  if (o->number != now->number) {
    drop(o);
    o->number = now->number;
    if (now->A != NULL) (void)wr_csr_upload_begin(now->A, o->env, &o->upload);
  }
  if (o->upload == NULL) return 0;
  if (wr_csr_upload_more(o->upload, now->rows, PIECE, &left) == WR_OK) return left;
  drop(o);
  return 0;
}

static void *work(void *opener) {
  wr_opener *o = opener;
  wr_handed now;
  omp_set_num_threads(1); /* of this thread's loops: the processors are busy with what makes the rows */
  double begin = wr_clock();
  (void)wr_error_keep(&o->error, wr_env_open(o->env));
  o->open_seconds = wr_clock() - begin;
  atomic_store(&o->opened, 1);
  while (o->error.status == WR_OK && wr_handover_take(&o->rows, &now)) {
    begin = wr_clock();
    int left = bring(o, &now);
    o->upload_seconds += wr_clock() - begin;
    wr_handover_give_back(&o->rows, left);
  }
  return NULL;
}

/* Signals stay the program's. The program's thread meets OpenMP first: libomp 14 with a tool takes it for granted that the
 * first thread is there to the end. */
int wr_opener_start(wr_opener *o, wr_env *env, int (*wants)(void *context, const wr_csr *A), void *context) {
  sigset_t all, before;
  *o = (wr_opener){.env = env};
  (void)omp_get_max_threads();
  if (wr_handover_open(&o->rows, wants, context) != WR_OK) return o->env = NULL, 0;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  o->running = pthread_create(&o->thread, NULL, work, o) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!o->running) wr_opener_close(o);
  return o->running;
}

int wr_opener_wait(wr_opener *o, double most) {
  const struct timespec nap = {0, 200000};
  double begin = wr_clock();
  while (!atomic_load(&o->opened) && wr_clock() - begin < most) nanosleep(&nap, NULL);
  return atomic_load(&o->opened);
}

void wr_opener_stop(wr_opener *o) {
  if (!o->running) return;
  wr_handover_close(&o->rows);
  pthread_join(o->thread, NULL);
  o->running = 0;
}

void wr_opener_finish(wr_opener *o) {
  int left;
  if (o->upload == NULL) return;
  wr_handed last = wr_handover_last(&o->rows);
  int whole = o->number == last.number && last.A != NULL && last.rows == last.A->nrows;
  if (whole && wr_csr_upload_more(o->upload, last.rows, INT64_MAX / 2, &left) == WR_OK) {
    (void)wr_csr_upload_end(o->upload);
    o->upload = NULL;
  }
  drop(o);
}

void wr_opener_close(wr_opener *o) {
  if (o->env == NULL) return;
  wr_opener_stop(o);
  drop(o);
  wr_handover_free(&o->rows);
  *o = (wr_opener){0};
}
