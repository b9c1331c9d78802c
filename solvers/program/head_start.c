#include "solvers/program/head_start.h"

#include <math.h>

#include "config/defaults.h"

void wr_head_start_begin(wr_head_start *h, const wr_csr *A, wr_type type, double usual, double opening, double now) {
  double value = (double)wr_type_bytes(type), n = (double)A->nrows;
  double bytes = (4 + (A->val ? value : 0)) * (double)A->nnz + 8 * n, vectors = 8 * value * n;
  *h = (wr_head_start){.opening = opening, .usual = usual, .timed = {.time = now}};
  h->move = WR_MOVE_SECONDS + (bytes + vectors) / WR_UPLOAD_BYTES_PER_SECOND;
  h->iteration = WR_DEVICE_ITERATION_SECONDS + 2 * (bytes + vectors) / WR_DEVICE_BYTES_PER_SECOND;
}

void wr_head_start_keep(wr_head_start *h, wr_progress_mark now) { wr_progress_keep(&h->from, &h->last, now); }

void wr_head_start_opened(wr_head_start *h, wr_progress_mark now) { h->timed = now; }

double wr_head_start_left(const wr_head_start *h, wr_progress_mark now, double target) {
  int64_t fell = now.iteration - h->from.iteration;
  double so_far = (double)now.iteration, usual = fmax(h->usual - so_far, so_far);
  if (fell < 1) return usual;
  double left = wr_progress_left(&h->from, &now, target) * (double)fell / (now.time - h->from.time);
  return left < 0 ? usual : fmin(left, usual);
}

double wr_head_start_gain(const wr_head_start *h, wr_progress_mark now, double target, double wait) {
  int64_t timed = now.iteration - h->timed.iteration, fell = now.iteration - h->from.iteration;
  if (timed < WR_JUDGED_ITERATIONS || fell < 1) return -wait - h->move;
  double here = (now.time - h->timed.time) / (double)timed; /* s of an iteration */
  if (!(here > h->iteration)) return -wait - h->move;
  return wr_head_start_left(h, now, target) * (here - h->iteration) - h->move - wait;
}
