/* PageRank by the method that suits the graph: which one, in which order, and the certificate that ends each of them.
 *
 * All methods end in steps of the power method or of Chebyshev's (pagerank.h); one step suffices after IDR and Gauss-Seidel if
 * these have met their tolerance. So the ranks, the bound on their error, verification and a second solve are those of
 * wr_pagerank; where another method fails, the power method goes on from the best ranks, and the result says so. */
#ifndef WR_RANK_H
#define WR_RANK_H

#include "solvers/pagerank.h"

/* In the order of the choices of --method. */
typedef enum wr_rank_method {
  WR_RANK_AUTO,
  WR_RANK_POWER,
  WR_RANK_CHEBYSHEV,
  WR_RANK_IDR,
  WR_RANK_GAUSS_SEIDEL
} wr_rank_method;

const char *wr_rank_method_name(wr_rank_method method); /* "" for a value that is not in the list */

typedef struct wr_ranking {
  wr_pagerank iterated;   /* has the answer after a solve: wr_pagerank_download, _step, _multiply are for it */
  struct wr_rank_linear *linear; /* of IDR; NULL: not used yet */
  wr_vec ranks;           /* [n] that methods hand over; not allocated: likewise */
} wr_ranking;

/* As wr_pagerank_open. What only some methods need is allocated when they begin. */
wr_status wr_rank_open(wr_ranking *rank, const wr_graph *graph, wr_plan *plan, wr_env *env);
void wr_rank_close(wr_ranking *rank); /* a zeroed one is fine */

/* As wr_pagerank_solve; options->method is not read, but must be valid. AUTO chooses by the graph, the damping and the
 * rate at which the first steps converge (docs/ranking.md), never by a clock: with env->deterministic all bits are the same
 * from run to run. With options->start, which Chebyshev's method does not take, AUTO begins with the power method. Iterations
 * of the result, of its history and of options->iterations are multiplies. result->choice says why the method was chosen, and
 * result->changes which other ones were used. WR_EUSAGE: CHEBYSHEV for a graph whose links are not symmetric, or with
 * options->start. WR_EUNAVAILABLE: GAUSS_SEIDEL, which computes on the host, with vectors on a device, or for a graph in
 * parts. WR_ENOMEM: there is no memory for a method; AUTO then goes on without. */
wr_status wr_rank_solve(wr_ranking *rank, wr_rank_method method, const wr_pagerank_options *options,
                        const wr_monitor *monitor, wr_result *result);

#endif
