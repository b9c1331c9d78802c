#include "solvers/program/row_channel.h"

static void begin(void *channel, wr_csr *A) {
  wr_row_channel *c = channel;
  pthread_mutex_lock(&c->lock);
  c->freeing = 1;
  while (c->reading) pthread_cond_wait(&c->changed, &c->lock);
  c->freeing = 0;
  c->A = A != NULL && c->accepts(c->context, A) ? A : NULL;
  c->number++;
  c->rows = 0, c->left = 0;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
}

/* 1 if take need not wait. */
static int has_enough(const wr_row_channel *c) {
  if (c->number != c->seen_number) return 1;
  if (c->A == NULL || c->rows == c->seen_rows) return c->left;
  const int64_t *row_ptr = c->A->row_ptr;
  int64_t more = c->rows - c->seen_rows + row_ptr[c->rows] - (c->seen_rows > 0 ? row_ptr[c->seen_rows] : 0);
  return c->left || c->rows == c->A->nrows || more >= WR_ROW_CHANNEL_LEAST;
}

static void ready(void *channel, int64_t rows) {
  wr_row_channel *c = channel;
  pthread_mutex_lock(&c->lock);
  if (c->A != NULL) c->rows = rows;
  if (has_enough(c)) pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
}

wr_status wr_row_channel_open(wr_row_channel *c, int (*accepts)(void *context, const wr_csr *A), void *context) {
  *c = (wr_row_channel){.feed = {c, begin, ready}, .accepts = accepts, .context = context};
  if (pthread_mutex_init(&c->lock, NULL) != 0) return wr_fail(WR_ENOMEM, "out of memory: a lock");
  if (pthread_cond_init(&c->changed, NULL) == 0) return WR_OK;
  pthread_mutex_destroy(&c->lock);
  return wr_fail(WR_ENOMEM, "out of memory: a lock");
}

int wr_row_channel_take(wr_row_channel *c, wr_final_rows *now) {
  pthread_mutex_lock(&c->lock);
  while (!c->closed && (c->freeing || !has_enough(c))) pthread_cond_wait(&c->changed, &c->lock);
  int open = !c->closed;
  *now = wr_row_channel_last(c);
  if (open) c->reading = 1, c->left = 0, c->seen_number = c->number, c->seen_rows = c->rows;
  pthread_mutex_unlock(&c->lock);
  return open;
}

void wr_row_channel_release(wr_row_channel *c, int left) {
  pthread_mutex_lock(&c->lock);
  c->reading = 0, c->left = left;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
}

void wr_row_channel_close(wr_row_channel *c) {
  pthread_mutex_lock(&c->lock);
  c->closed = 1;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
}

wr_final_rows wr_row_channel_last(const wr_row_channel *c) { return (wr_final_rows){c->A, c->number, c->rows}; }

void wr_row_channel_free(wr_row_channel *c) {
  pthread_cond_destroy(&c->changed);
  pthread_mutex_destroy(&c->lock);
}
