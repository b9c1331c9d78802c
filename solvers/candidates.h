/* The best nodes of an iterate, found where its vectors are: a solve that reviews their order does not download all scores.
 *
 * The vector is cut into pieces, and of each the greatest score is found there and downloaded. The k pieces with the greatest
 * maxima are downloaded, and the host sorts their nodes by exact scores. As each has a node, the k best nodes of all are no
 * worse than the k-th best of these, and only pieces whose maximum is no less can hold one of them: as a rule there are no
 * others, and else they are downloaded, too. With n nodes, pieces of sqrt(n / k) elements make both downloads about
 * sqrt(n k). */
#ifndef WR_CANDIDATES_H
#define WR_CANDIDATES_H

#include "solvers/graph.h"

typedef struct wr_candidate {
  double score;
  int64_t node;
} wr_candidate;

typedef struct wr_candidates {
  const wr_graph *graph;
  wr_env *env;
  int64_t wanted;         /* nodes, 0 to n                                                            */
  int64_t length, pieces; /* elements of a piece, and their number: `wanted` at least                */
  int64_t most;           /* pieces that there is room for: 4 * wanted, or those of 2^16 elements     */
  wr_vec maxima;          /* [pieces]                                                                 */
  wr_vec chosen;          /* [most] numbers of pieces                                                 */
  wr_vec picked;          /* [most][length] of them                                                   */
  double *greatest;       /* [pieces] maxima, downloaded                                              */
  double *numbers;        /* [most] chosen, to be uploaded                                            */
  double *values;         /* [most][length] picked, downloaded                                        */
  int64_t *best;          /* [wanted] pieces with the greatest maxima                                 */
  wr_candidate *found;    /* [most * length]                                                          */
  /* found: */
  int64_t *node;          /* [count] greatest score first, ties by number, NaN last                   */
  double *score;          /* [count] theirs, not normalised                                           */
  int64_t count;          /* 0: there were more pieces than there is room for                         */
  double least;           /* all nodes that are not among them have scores below this, or NaN         */
} wr_candidates;

/* wanted: all nodes if there are fewer; none are found if it is below 1. Allocates all that finding needs. WR_ENOMEM */
wr_status wr_candidates_open(wr_candidates *c, const wr_graph *graph, wr_env *env, int64_t wanted);
void wr_candidates_close(wr_candidates *c); /* a zeroed one is fine */

/* Finds the `wanted` best of x[n], of which scale[n] is 1 / out-degree, with weights 1, and 0 for nodes without links, both in
 * the order of the flow's rows, and all others that are no worse than the last of these. Waits. WR_EDEVICE */
wr_status wr_candidates_find(wr_candidates *c, const wr_vec *x, const wr_vec *scale);

/* After that, of the same x: all nodes whose scores are `least` or more. */
wr_status wr_candidates_down_to(wr_candidates *c, const wr_vec *x, double least);

#endif
