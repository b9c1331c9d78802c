/* The order of the best nodes, proven by a bound on the L1 error of the scores, and a solve that ends as soon as it is.
 *
 * Theorem. Let r be exact scores and y computed ones with ||y - r||_1 <= B. If y_i - y_j > B, then r_i > r_j: with e = y - r,
 * r_i - r_j = (y_i - y_j) - (e_i - e_j) >= (y_i - y_j) - (|e_i| + |e_j|) >= (y_i - y_j) - B > 0. Where B bounds the error of y
 * and scores are printed as x = y / s, s their sum: |s - 1| = |sum of e| <= B, so that x_i - x_j > B / (1 - B) implies
 * y_i - y_j > B. A rank is *apart* from the next one if its score exceeds the next one's by more than that gap. The first k
 * nodes are the exact first k, in the exact order, if each of the ranks 1 to k is apart from the next one. No smaller gap will
 * do: errors of B/2 and -B/2 at i and j, and 0 elsewhere, let r_i = r_j.
 *
 * No bound tells equal scores apart, and a graph may have many. Most are of nodes that get links from the same nodes, of the
 * same weights, and the same part of the jumps: r_i = d sum_k P_ki r_k + c v_i then is r_j. Such a pair is *tied*, which is
 * proven as well; its ranks are *settled*, as those that are apart are. The first k nodes are the exact first k, in the exact
 * order up to ties, if the ranks 1 to k - 1 are settled and rank k is apart from all nodes behind it but those tied with it. To
 * be tied with the next one is not enough: the score of a third one, a little smaller, may in truth exceed both. */
#ifndef WR_ORDER_H
#define WR_ORDER_H

#include <stdint.h>

#include "config/status.h"
#include "solvers/candidates.h"

/* The difference of two scores by which their order is proven: B / (1 - B), and 2^-20 of it for the rounding of bounds and
 * quotients; INFINITY for a bound of 1/2 or more, or NaN. */
double wr_order_gap(double bound);

/* tied[k] := 1 if tied[k] was 1 and nodes[k] and nodes[k + 1] have the same exact score for certain, k < pairs, else 0. The
 * nodes are different ones. Walks the links as parsed, all of them where their rows are out-links. WR_ENOMEM */
wr_status wr_order_find_ties(const wr_graph *graph, const int64_t *nodes, int64_t pairs, unsigned char *tied);

/* What scores show of the order of their greatest. */
typedef struct wr_order {
  int64_t ranks;   /* tested                                                                        */
  int64_t settled; /* of the first so many, each is apart from the next one or tied with it        */
  int64_t proven;  /* the first so many are in the exact order, up to ties                         */
  int64_t ties;    /* of a rank up to `ranks` and the next one, proven                             */
  double least;    /* of the differences of a rank up to `ranks` to the next one that is not tied, and of the last */
                   /* rank to a node behind that is neither tied nor apart; INFINITY: none                         */
} wr_order;

/* score[]: the greatest of the scores of n nodes, in order, so many as there are up to ranks + 1; tied: as wr_order_find_ties
 * has found of their nodes, for the pairs of the first `ranks` and the next one, or NULL. Ranks up to the last one that are
 * tied with the next are not taken for proven. */
wr_order wr_order_of(const double *score, int64_t n, int64_t ranks, double gap, const unsigned char *tied);

/* The same with the ties, which it finds among pairs that are not apart and differ by 1e-6 of the score at most, more than
 * rounding makes of equal scores: in tied[] for the pairs above. best[]: the indices of the greatest elements of x[n], as
 * wr_top gives them, so many as above. Looks at all nodes behind the last rank if that is tied with the next one. WR_ENOMEM */
wr_status wr_order_find(const wr_graph *graph, const double *x, const int64_t *best, int64_t ranks, double gap,
                        unsigned char *tied, wr_order *order);

/* *ranks := the greatest number of first ranks that are proven, the last one being apart from the next; n: all. *ties := as in
 * wr_order, of these ranks. x[n] >= 0. Of a part x has the scores of its nodes and ranks are those of all parts, of which the
 * first one sorts all scores; ties are not looked for. Collective then. WR_ENOMEM */
wr_status wr_order_prove(const wr_graph *graph, const double *x, double gap, int64_t *ranks, int64_t *ties);

/* ---- A solve that ends when the order of the first ranks is proven ---- */

typedef struct wr_order_watch {
  int64_t ranks;              /* of n at most             */
  wr_candidates best;         /* ranks + 1 nodes, or all; of a part its own */
  unsigned char *tied;        /* [ranks], of these        */
  int64_t n;                  /* nodes, of all parts      */
  double *of_parts;           /* [parts + 1][ranks + 1] in several parts: the greatest scores of each, by rank; else NULL */
  const double *score;        /* [count] the greatest scores of all, in order */
  int64_t count;              /* 0: too many nodes had about the same score   */
  wr_order found;             /* in the last review; proven and settled may be less than an ending one finds, ties more */
  int64_t reviews;            /* so far                   */
  int64_t crowded;            /* of them those in which too many nodes had about the same score: nothing was found */
  double steps, change, rate; /* of the last review; the change's factor a step since the review before, 0: not known */
} wr_order_watch;

/* ranks: to be proven, 1 or more; all nodes if there are fewer. Allocates what reviews need at the place of env. Collective
 * where the graph is a part, as are reviews, which find the same in all parts; ties are not looked for then. WR_ENOMEM */
wr_status wr_order_watch_open(wr_order_watch *w, const wr_graph *graph, wr_env *env, int64_t ranks);
void wr_order_watch_close(wr_order_watch *w); /* a zeroed one is fine */

/* The bound from which on a first review is worthwhile: differences of K ranks and the next one are K (K + 1) / 2 of the least
 * one at least in sum, each score counting those below it, and scores have the sum 1. */
double wr_order_first_bound(const wr_order_watch *w);

/* Tests the order of the iterate x (with its scale, as wr_candidates_find takes them), of which `bound` bounds the L1 error,
 * after so many steps, of which the last changed the scores by `change`. *next := 0 if the order is proven: then it is for the
 * scores divided by their sum, too. Else the bound at which another review is worthwhile. That is the least difference seen,
 * which is what the order needs if it stays so, but no less than 1/32 of the bound now, below which the difference is not
 * known; or than 1/1024, where the scores of all these ranks together are so close that 1/32 promises nothing. A review at
 * the steps of the last one counts with it. ends 0: another review may follow, so less may be found to be proven than could be.
 * WR_ENOMEM, WR_EDEVICE */
wr_status wr_order_review(wr_order_watch *w, const wr_vec *x, const wr_vec *scale, double bound, double steps,
                          double change, int ends, double *next);

/* At the end of a solve whose last review found more candidates than there is room for (w->count is 0): tests the order of
 * scores x[n] of all nodes, by node, not normalised, in one pass of a thread. WR_ENOMEM */
wr_status wr_order_review_all(wr_order_watch *w, const double *x, double bound);

/* The multiplies that a solve would take besides until its change is `target`, by the rate of the last reviews, or where that
 * is not known by `rate`; 0 if the order is not proven. */
int64_t wr_order_spared(const wr_order_watch *w, double target, double rate);

#endif
