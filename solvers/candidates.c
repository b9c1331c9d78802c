#include "solvers/candidates.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "config/memory.h"
#include "solvers/top.h"
#include "spmv/device/pieces.h"

enum {
  EVEN = 32,             /* lengths from here on are multiples of it, which a warp reads at once                     */
  LEAST_ROOM = 1 << 16,  /* elements: nodes of equal scores fill many pieces; of small graphs all are found that way */
  ROOM = 4               /* times as many pieces as nodes that are wanted                                            */
};

/* Pieces are as many as `wanted` at least: sqrt(q) <= q = n / wanted, and rounding up from 32 on at most doubles it. */
static int64_t choose_length(int64_t n, int64_t wanted) {
  int64_t length = (int64_t)sqrt((double)n / (double)wanted);
  if (length < 1) return 1;
  return length < EVEN ? length : (length + EVEN - 1) / EVEN * EVEN;
}

wr_status wr_candidates_open(wr_candidates *c, const wr_graph *graph, wr_env *env, int64_t wanted) {
  wr_status status;
  int64_t n = graph->n, length, most;
  if (wanted > n) wanted = n;
  *c = (wr_candidates){0};
  if (wanted < 1) return WR_OK; /* there are none to be found */
  length = choose_length(n, wanted);
  *c = (wr_candidates){.graph = graph, .env = env, .wanted = wanted, .length = length};
  c->pieces = wr_pieces_of(n, length);
  most = ROOM * wanted > LEAST_ROOM / length ? ROOM * wanted : LEAST_ROOM / length;
  c->most = most < c->pieces ? most : c->pieces;
  TRY(env->ops->alloc(env, c->pieces, WR_F64, "the greatest scores of pieces", &c->maxima));
  TRY(env->ops->alloc(env, c->most, WR_F64, "numbers of pieces", &c->chosen));
  TRY(env->ops->alloc(env, c->most * length, env->type, "pieces with the best nodes", &c->picked));
  TRY(wr_alloc(&c->greatest, c->pieces, sizeof *c->greatest, "the greatest scores of pieces"));
  TRY(wr_alloc(&c->numbers, c->most, sizeof *c->numbers, "numbers of pieces"));
  TRY(wr_alloc(&c->values, c->most * length, sizeof *c->values, "pieces with the best nodes"));
  TRY(wr_alloc(&c->best, wanted, sizeof *c->best, "the best pieces"));
  TRY(wr_alloc(&c->found, c->most * length, sizeof *c->found, "the best nodes"));
  TRY(wr_alloc(&c->node, c->most * length, sizeof *c->node, "the best nodes"));
  TRY(wr_alloc(&c->score, c->most * length, sizeof *c->score, "the best nodes"));
done:
  if (status != WR_OK) wr_candidates_close(c);
  return status;
}

void wr_candidates_close(wr_candidates *c) {
  wr_vec *const vectors[] = {&c->maxima, &c->chosen, &c->picked};
  void *const arrays[] = {c->greatest, c->numbers, c->values, c->best, c->found, c->node, c->score};
  for (size_t v = 0; c->env && v < sizeof vectors / sizeof *vectors; v++) c->env->ops->release(c->env, vectors[v]);
  for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++) wr_free(arrays[a]);
  *c = (wr_candidates){0};
}

/* A maximum is within 4 units of the score that it stands for; 16 cover its distance from another one, and DBL_MIN that of
 * subnormal numbers. */
static double below(const wr_candidates *c, double score) {
  return isfinite(score) ? score - 16 * wr_type_unit(c->env->type) * fabs(score) - DBL_MIN : score;
}

/* A total order: NaN last, ties by number. */
static int better_first(const void *left, const void *right) {
  const wr_candidate *a = left, *b = right;
  if (a->score > b->score) return -1;
  if (a->score < b->score) return 1;
  if (isnan(a->score) != isnan(b->score)) return isnan(a->score) ? 1 : -1;
  return a->node < b->node ? -1 : a->node > b->node;
}

/* Copies chosen pieces, `chosen` of them, to the host. */
static wr_status fetch(wr_candidates *c, const wr_vec *x, int64_t chosen) {
  wr_status status;
  const wr_vecops *ops = c->env->ops;
  wr_vec numbers = c->chosen, picked = c->picked; /* as long as they are used now */
  numbers.n = chosen, picked.n = chosen * c->length;
  TRY(ops->upload(c->env, &numbers, c->numbers));
  TRY(ops->pick(c->env, x, c->length, &numbers, &picked));
  TRY(ops->download(c->env, &picked, c->values));
done:
  c->chosen.writes = numbers.writes, c->picked.writes = picked.writes;
  return status;
}

/* Found: the nodes of `chosen` pieces whose scores are `least` or more. */
static wr_status collect(wr_candidates *c, const wr_vec *x, int64_t chosen, double least) {
  int64_t n = c->graph->n;
  const int32_t *order = c->graph->order;
  c->count = 0, c->least = INFINITY;
  PASS(fetch(c, x, chosen));
  for (int64_t k = 0; k < chosen; k++) {
    int64_t first = (int64_t)c->numbers[k] * c->length, end = first + c->length < n ? first + c->length : n;
    for (int64_t i = first; i < end; i++) {
      int64_t node = order ? order[i] : i;
      double score = wr_graph_rank(c->graph, node, c->values[k * c->length + i - first]);
      if (!(score < least)) c->found[c->count++] = (wr_candidate){score, node};
    }
  }
  qsort(c->found, (size_t)c->count, sizeof *c->found, better_first);
  for (int64_t k = 0; k < c->count; k++) c->node[k] = c->found[k].node, c->score[k] = c->found[k].score;
  c->least = least;
  return WR_OK;
}

static int64_t count_pieces(const wr_candidates *c, double least) {
  int64_t count = 0;
  double from = below(c, least);
  for (int64_t piece = 0; piece < c->pieces; piece++) count += c->greatest[piece] >= from;
  return count;
}

wr_status wr_candidates_down_to(wr_candidates *c, const wr_vec *x, double least) {
  int64_t chosen = 0;
  double from = below(c, least);
  c->count = 0, c->least = INFINITY;
  if (count_pieces(c, least) > c->most) return WR_OK;
  for (int64_t piece = 0; piece < c->pieces; piece++)
    if (c->greatest[piece] >= from) c->numbers[chosen++] = (double)piece;
  if (chosen > 0) PASS(collect(c, x, chosen, least));
  return WR_OK;
}

/* The best pieces first: they have as many nodes as are wanted, so the last of these is a better bound than their maxima, and
 * as a rule no other piece can hold one that is no worse. If no more pieces reach it than these, they are the only ones. */
wr_status wr_candidates_find(wr_candidates *c, const wr_vec *x, const wr_vec *scale) {
  if (c->wanted == 0) return WR_OK;
  PASS(c->env->ops->maxima(c->env, x, scale, c->length, &c->maxima));
  PASS(c->env->ops->download(c->env, &c->maxima, c->greatest));
  wr_top(c->greatest, c->pieces, c->wanted, c->best);
  for (int64_t k = 0; k < c->wanted; k++) c->numbers[k] = (double)c->best[k];
  PASS(collect(c, x, c->wanted, below(c, c->greatest[c->best[c->wanted - 1]])));
  if (c->count >= c->wanted) {
    double last = c->score[c->wanted - 1], least = isnan(last) ? -INFINITY : last;
    if (count_pieces(c, least) > c->wanted) PASS(wr_candidates_down_to(c, x, least));
    if (c->count > 0) c->least = least;
    while (c->count > c->wanted && c->score[c->count - 1] < least) c->count--;
  }
  if (c->count < c->wanted) c->count = 0, c->least = INFINITY; /* scores near infinity alone */
  return WR_OK;
}
