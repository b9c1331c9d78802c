#include "solvers/program/handover.h"

static void begin(void *handover, wr_csr *A) {
  wr_handover *h = handover;
  pthread_mutex_lock(&h->lock);
  h->waiting = 1;
  while (h->busy) pthread_cond_wait(&h->changed, &h->lock);
  h->waiting = 0;
  h->A = A != NULL && h->wants(h->context, A) ? A : NULL;
  h->number++;
  h->rows = 0, h->left = 0;
  pthread_cond_broadcast(&h->changed);
  pthread_mutex_unlock(&h->lock);
}

/* Is there enough that has not been taken yet? */
static int is_worth_it(const wr_handover *h) {
  if (h->number != h->seen_number) return 1;
  if (h->A == NULL || h->rows == h->seen_rows) return h->left;
  const int64_t *row_ptr = h->A->row_ptr;
  int64_t more = h->rows - h->seen_rows + row_ptr[h->rows] - (h->seen_rows > 0 ? row_ptr[h->seen_rows] : 0);
  return h->left || h->rows == h->A->nrows || more >= WR_HANDOVER_WORTH;
}

static void ready(void *handover, int64_t rows) {
  wr_handover *h = handover;
  pthread_mutex_lock(&h->lock);
  if (h->A != NULL) h->rows = rows;
  if (is_worth_it(h)) pthread_cond_broadcast(&h->changed);
  pthread_mutex_unlock(&h->lock);
}

wr_status wr_handover_open(wr_handover *h, int (*wants)(void *context, const wr_csr *A), void *context) {
  *h = (wr_handover){.feed = {h, begin, ready}, .wants = wants, .context = context};
  if (pthread_mutex_init(&h->lock, NULL) != 0) return wr_fail(WR_ENOMEM, "out of memory: a lock");
  if (pthread_cond_init(&h->changed, NULL) == 0) return WR_OK;
  pthread_mutex_destroy(&h->lock);
  return wr_fail(WR_ENOMEM, "out of memory: a lock");
}

int wr_handover_take(wr_handover *h, wr_handed *now) {
  pthread_mutex_lock(&h->lock);
  while (!h->closed && (h->waiting || !is_worth_it(h))) pthread_cond_wait(&h->changed, &h->lock);
  int going = !h->closed;
  *now = wr_handover_last(h);
  if (going) h->busy = 1, h->left = 0, h->seen_number = h->number, h->seen_rows = h->rows;
  pthread_mutex_unlock(&h->lock);
  return going;
}

void wr_handover_give_back(wr_handover *h, int left) {
  pthread_mutex_lock(&h->lock);
  h->busy = 0, h->left = left;
  pthread_cond_broadcast(&h->changed);
  pthread_mutex_unlock(&h->lock);
}

void wr_handover_close(wr_handover *h) {
  pthread_mutex_lock(&h->lock);
  h->closed = 1;
  pthread_cond_broadcast(&h->changed);
  pthread_mutex_unlock(&h->lock);
}

wr_handed wr_handover_last(const wr_handover *h) { return (wr_handed){h->A, h->number, h->rows}; }

void wr_handover_free(wr_handover *h) {
  pthread_cond_destroy(&h->changed);
  pthread_mutex_destroy(&h->lock);
}
