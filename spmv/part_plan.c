#include "spmv/part_plan.h"

#include <math.h>
#include <string.h>

#include "config/memory.h"
#include "spmv/device/peers.h"
#include "spmv/parts/part_ops.h"
#include "spmv/plan_argument.h"

enum { PIECES = 3, ALIGNED = WR_ALIGNMENT / 4 }; /* rows */

/* Rows [first, first + rows.nrows) of the part. */
typedef struct piece {
  int64_t first;
  wr_csr rows; /* its row_ptr is its own, its entries are the part's */
  wr_plan *plan;
} piece;

struct wr_part_plan {
  wr_csr *A;
  wr_env *env, alone; /* alone: for the pieces, whose sums are their own */
  int count;
  piece pieces[PIECES];
  int inside;          /* the piece that needs no halo; -1: none                               */
  int64_t last_above;  /* own elements of x that other pieces take are those before this one ... */
  int64_t first_below; /* ... and those from this one on                                       */
  int64_t width;       /* the most vectors side by side for which the following have room      */
  wr_vec all;          /* [ncols * width] x and its halo, for the other pieces; not allocated: there is no halo */
  double *sent, *received; /* where hosts exchange, on a device: x and its halo on the host; else NULL */
  wr_peer_halo *peer;  /* where devices exchange: then there is one piece; else NULL           */
  int room;            /* then: of a vector behind which the halo has room                     */
};

/* *first, *end := the longest run of rows without an element of the halo. */
static void find_inside(const wr_csr *A, int64_t *first, int64_t *end) {
  int64_t begin = 0;
  *first = *end = 0;
  for (int64_t i = 0; i <= A->nrows; i++) {
    int is_inside = i < A->nrows;
    if (is_inside && A->row_ptr[i + 1] > A->row_ptr[i]) is_inside = A->col[A->row_ptr[i + 1] - 1] < A->nrows;
    if (is_inside) continue;
    if (i - begin > *end - *first) *first = begin, *end = i;
    begin = i + 1;
  }
  *first = (*first + ALIGNED - 1) / ALIGNED * ALIGNED;
  if (*end < A->nrows) *end = *end / ALIGNED * ALIGNED;
}

/* Own elements that rows [first, end) take, which lie on one side of the run inside or, if they reach over it, on both. */
static void find_taken(wr_part_plan *p, int64_t first, int64_t end) {
  const wr_csr *A = p->A;
  int64_t middle = (first + end) / 2 < A->nrows / 2 ? A->nrows : 0;
  for (int64_t k = A->row_ptr[first]; k < A->row_ptr[end]; k++) {
    int64_t j = A->col[k];
    if (j >= A->nrows) continue;
    if (j < middle && j >= p->last_above) p->last_above = j + 1;
    if (j >= middle && j < p->first_below) p->first_below = j;
  }
}

static wr_status add_piece(wr_part_plan *p, int64_t first, int64_t end, int is_inside) {
  const wr_csr *A = p->A;
  if (first == end) return WR_OK;
  piece *part = &p->pieces[p->count];
  int64_t entry = A->row_ptr[first];
  part->first = first;
  part->rows = (wr_csr){.nrows = end - first, .ncols = is_inside ? A->nrows : A->ncols, .nnz = A->row_ptr[end] - entry,
                        .col = A->col + entry, .val = A->val ? A->val + entry : NULL};
  PASS(wr_alloc(&part->rows.row_ptr, end - first + 1, sizeof *part->rows.row_ptr, "rows of a piece"));
  for (int64_t i = first; i <= end; i++) part->rows.row_ptr[i - first] = A->row_ptr[i] - entry;
  if (is_inside)
    p->inside = p->count;
  else
    find_taken(p, first, end);
  p->count++;
  return WR_OK;
}

static wr_status cut(wr_part_plan *p) {
  int64_t first, end;
  find_inside(p->A, &first, &end);
  p->inside = -1, p->last_above = 0, p->first_below = p->A->nrows;
  if (end - first < p->A->nrows / 8) return add_piece(p, 0, p->A->nrows, 0); /* no more than a piece costs */
  PASS(add_piece(p, 0, first, 0));
  PASS(add_piece(p, first, end, 1));
  return add_piece(p, end, p->A->nrows, 0);
}

static wr_status prepare_pieces(wr_part_plan *p, const wr_backend *backend, const void *knobs, wr_plan_info *info) {
  int64_t largest = 0;
  for (int k = 0; k < p->count; k++) {
    piece *part = &p->pieces[k];
    PASS(wr_plan_create_parsed(backend, knobs, &part->rows, &p->alone, &part->plan));
    PASS(wr_plan_prepare(part->plan));
    const wr_plan_info *of = wr_plan_get_info(part->plan);
    if (p->count == 1) info->format_bytes = of->format_bytes, info->apply_bytes = of->apply_bytes;
    if (part->rows.nrows >= largest) memcpy(info->line, of->line, sizeof info->line), largest = part->rows.nrows;
    info->extra_bytes += of->extra_bytes + (part->rows.nrows + 1) * (int64_t)sizeof *part->rows.row_ptr;
    info->deterministic &= of->deterministic;
    info->sum_unit = fmax(info->sum_unit, of->sum_unit), info->term_unit = fmax(info->term_unit, of->term_unit);
  }
  return WR_OK;
}

/* Where hosts exchange. */
static wr_status prepare_room(wr_part_plan *p) {
  PASS(wr_halo_make_room(p->A->halo, p->width * (int64_t)sizeof(double)));
  if (p->env->place == WR_HOST) return WR_OK;
  PASS(wr_alloc(&p->sent, p->A->nrows * p->width, sizeof *p->sent, "x for other parts"));
  return wr_alloc(&p->received, p->A->halo->count * p->width, sizeof *p->received, "the halo");
}

/* What is decided by the bytes of a multiply must be the same in all parts. Vectors that were allocated before have no room for
 * a halo, so `all` is there for them. */
static wr_status prepare(wr_part_plan *p, const wr_backend *backend, const void *knobs, wr_plan_info *info) {
  wr_peers *peers;
  wr_env *env = p->env;
  const wr_halo *halo = p->A->halo;
  PASS(wr_part_ops_connect(env, &peers));
  if (peers) p->alone.need_columns = 0;
  p->width = p->alone.need_columns > 0 ? WR_MAX_COLUMNS : 1;
  wr_status status = peers ? add_piece(p, 0, p->A->nrows, 0) : cut(p);
  if (status == WR_OK) status = prepare_pieces(p, backend, knobs, info);
  if (status == WR_OK && halo->count > 0)
    status = env->ops->alloc(env, p->A->ncols * p->width, env->type, "x and its halo", &p->all);
  if (status == WR_OK && !peers) status = prepare_room(p);
  PASS(wr_comm_agree(env->comm, status));
  PASS(wr_comm_max(env->comm, &info->apply_bytes, 1));
  if (peers) PASS(wr_peer_halo_open(peers, env, halo, &p->peer));
  if (peers) PASS(wr_part_ops_make_room(env, p->A->nrows, halo->count, &p->room));
  info->exchange = env->place == WR_HOST ? WR_EXCHANGE_AUTO : wr_peers_exchange(peers);
  if (p->all.id) info->extra_bytes += p->all.n * wr_type_bytes(env->type);
  return WR_OK;
}

wr_status wr_part_plan_create(const wr_backend *backend, const void *knobs, wr_csr *A, wr_env *env, wr_plan_info *info,
                              wr_part_plan **out) {
  wr_status status;
  wr_part_plan *p = NULL;
  *out = NULL;
  status = wr_alloc_zeroed(&p, 1, sizeof *p, "a plan");
  if (p) p->A = A, p->env = env; /* as destroying needs them */
  TRY(wr_comm_agree(env->comm, status));
  info->extra_bytes = 0;
  wr_part_ops_inner(env, &p->alone);
  TRY(prepare(p, backend, knobs, info));
  *out = p, p = NULL;
done:
  wr_part_plan_destroy(p);
  return status;
}

void wr_part_plan_destroy(wr_part_plan *p) {
  if (p == NULL) return;
  for (int k = 0; k < PIECES; k++) {
    wr_plan_destroy(p->pieces[k].plan);
    wr_csr_device_free(p->pieces[k].rows.device);
    wr_free(p->pieces[k].rows.row_ptr);
  }
  p->env->ops->release(p->env, &p->all);
  wr_peer_halo_close(p->peer);
  wr_free(p->sent);
  wr_free(p->received);
  wr_free(p);
}

int wr_part_plan_finishes(const wr_part_plan *p) { return p->peer != NULL; }

/* Elements [first, first + count) of a vector. */
static wr_vec window(const wr_vec *v, int64_t first, int64_t count) {
  wr_vec part = *v;
  part.n = count, part.data = (char *)v->data + first * wr_type_bytes(v->type);
  return part;
}

/* ---- by hosts ---- */

/* A multiply of one vector, or of several whose elements of a row lie side by side. */
typedef struct product {
  const wr_apply *one; /* NULL: there are several */
  const wr_apply_many *many;
  const wr_vec *x;
  int64_t ld; /* elements of a row of x */
  wr_vec all; /* x and its halo, or x if there is none */
} product;

/* Rows [first, end) of x, as part of `all`. */
static wr_status copy(const wr_part_plan *p, const product *m, int64_t first, int64_t end) {
  if (first >= end) return WR_OK;
  wr_vec from = window(m->x, first * m->ld, (end - first) * m->ld);
  wr_vec to = window(&m->all, first * m->ld, (end - first) * m->ld);
  return p->env->ops->fused(p->env, &(wr_fused){.in = {&from}, .out = {&to}, .c = {{{.factor = 1}}}});
}

static wr_status send(wr_part_plan *p, const product *m) {
  wr_env *env = p->env;
  int64_t size = m->ld * wr_type_bytes(env->type);
  if (env->place == WR_HOST) {
    char *into = p->all.data;
    return wr_halo_begin(p->A->halo, m->x->data, size, into ? into + p->A->nrows * size : into);
  }
  PASS(env->ops->download(env, m->x, p->sent));
  return wr_halo_begin(p->A->halo, p->sent, m->ld * (int64_t)sizeof *p->sent, p->received);
}

static wr_status receive(wr_part_plan *p, const product *m) {
  wr_env *env = p->env;
  wr_halo *halo = p->A->halo;
  PASS(wr_halo_end(halo));
  p->all.writes++;
  if (env->place == WR_HOST || halo->count == 0) return WR_OK;
  wr_vec to = window(&p->all, p->A->nrows * m->ld, halo->count * m->ld);
  return env->ops->upload(env, &to, p->received);
}

static wr_status multiply(const piece *part, const wr_vec *x, const product *m) {
  if (m->one) {
    wr_vec y = window(m->one->y, part->first, part->rows.nrows);
    return wr_plan_apply(part->plan, &(wr_apply){.alpha = m->one->alpha, .beta = m->one->beta, .x = x, .y = &y});
  }
  wr_apply_many request = *m->many;
  wr_vec y = window(request.y, part->first * request.ldy, part->rows.nrows * request.ldy);
  request.x = x, request.y = &y, request.ranks = NULL, request.sums = NULL;
  return wr_plan_apply_many(part->plan, &request);
}

static wr_status apply_by_hosts(wr_part_plan *p, product *m) {
  int64_t middle = p->last_above > p->first_below ? p->A->nrows : p->last_above; /* one copy if both overlap */
  m->all = p->all.id ? window(&p->all, 0, p->A->ncols * m->ld) : *m->x;
  PASS(send(p, m));
  if (p->inside >= 0) PASS(multiply(&p->pieces[p->inside], m->x, m));
  if (p->all.id) PASS(copy(p, m, 0, middle));
  if (p->all.id && middle < p->A->nrows) PASS(copy(p, m, p->first_below, p->A->nrows));
  PASS(receive(p, m));
  for (int k = 0; k < p->count; k++)
    if (k != p->inside) PASS(multiply(&p->pieces[k], &m->all, m));
  return WR_OK;
}

/* ---- by devices ---- */

static int has_room(const wr_part_plan *p, const wr_vec *v) { return v->room >= p->room; }

/* 1, in all parts: y gets its halo before it becomes x. */
static int comes_early(const wr_part_plan *p, const wr_apply *request) {
  return request->feeds_next && request->epilogue && has_room(p, request->x) && has_room(p, request->y);
}

/* The sums of the multiply are those of this part, and the step runs once those of all are known. The halo goes behind x,
 * unless x was allocated without room for it. */
static wr_status apply_by_devices(wr_part_plan *p, const wr_apply *request) {
  wr_env *env = p->env;
  wr_epilogue epilogue;
  wr_apply mine = *request;
  wr_vec wide = p->A->halo->count == 0 || has_room(p, request->x) ? *request->x : p->all;
  int early = comes_early(p, request);
  wide.n = p->A->ncols;
  if (request->epilogue) {
    epilogue = *request->epilogue;
    epilogue.then = (wr_then){0}, mine.epilogue = &epilogue;
    if (early) epilogue.outbox = wr_peer_halo_outbox(p->peer);
  }
  mine.x = &wide, mine.y_next = NULL;
  PASS(wr_peer_halo_exchange(p->peer, env, request->x, &wide, early));
  p->alone.sent = 0;
  PASS(wr_plan_apply(p->pieces[0].plan, &mine));
  if (request->epilogue == NULL) return WR_OK;
  const wr_then *then = &request->epilogue->then;
  return early ? wr_peer_halo_sum(p->peer, env, epilogue.reduce, WR_MAX_REDUCTIONS, then, p->alone.sent, request->y)
               : wr_part_ops_sum(env, epilogue.reduce, WR_MAX_REDUCTIONS, then);
}

wr_status wr_part_plan_apply(wr_part_plan *p, const wr_apply *request) {
  if (p->peer) return apply_by_devices(p, request);
  return apply_by_hosts(p, &(product){.one = request, .x = request->x, .ld = 1});
}

wr_status wr_part_plan_apply_many(wr_part_plan *p, const wr_apply_many *request) {
  if (request->ldx > p->width)
    return wr_fail(WR_EUSAGE, "x has rows of %lld elements; in parts they have at most %lld", (long long)request->ldx,
                   (long long)p->width);
  return apply_by_hosts(p, &(product){.many = request, .x = request->x, .ld = request->ldx});
}
