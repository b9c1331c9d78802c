/* Rows of a matrix while they are being made: who makes them says which are final, so that somebody else, such as an upload to
 * a device, need not wait for the last one. */
#ifndef WR_CSR_FEED_H
#define WR_CSR_FEED_H

#include <stddef.h>
#include <stdint.h>

#include "spmv/matrix/csr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Both are called by one thread at a time. Where a feed is an argument, NULL says that nobody wants to know. */
typedef struct wr_csr_feed {
  void *context;
  /* From now on A: its sizes, `symmetric` and whether it is a pattern are final, its arrays are where they will stay, their
   * contents are yet to come. NULL: no matrix (one that failed). When it returns the matrix before may be freed. */
  void (*begin)(void *context, wr_csr *A);
  /* The rows [0, rows) are final: row_ptr[0..rows], and all entries before row_ptr[rows]. Never fewer than before; of a matrix
   * that is complete the last announcement says nrows. */
  void (*ready)(void *context, int64_t rows);
} wr_csr_feed;

static inline void wr_csr_feed_begin(const wr_csr_feed *feed, wr_csr *A) {
  if (feed != NULL) feed->begin(feed->context, A);
}

static inline void wr_csr_feed_ready(const wr_csr_feed *feed, int64_t rows) {
  if (feed != NULL) feed->ready(feed->context, rows);
}

/* Consecutive parts of the rows that threads make final in any order: what a feed may say of them. */
typedef struct wr_csr_front {
  const wr_csr_feed *feed;
  int64_t passed; /* so many parts are done, from the first one on without a gap */
  int64_t nparts;
  char *done;     /* [nparts]                                                     */
} wr_csr_front;

wr_status wr_csr_front_open(wr_csr_front *front, const wr_csr_feed *feed, int64_t nparts); /* WR_ENOMEM */

/* Part number `part` is final. Where that is news to the feed, it is told rows_before(context, n): the rows that lie wholly in
 * the first n parts. For any thread. */
void wr_csr_front_pass(wr_csr_front *front, int64_t part, int64_t (*rows_before)(const void *context, int64_t n),
                       const void *context);
void wr_csr_front_close(wr_csr_front *front); /* a zeroed one is fine */

/* The first of count values that is beyond f32; count: there is none. */
int64_t wr_first_beyond_f32(const double *values, int64_t count);

/* wr_csr_assemble, telling a feed. Where entries are repeated it begins again with the merged matrix. On failure it is told
 * that there is none. */
wr_status wr_csr_assemble_for(const wr_csr_feed *feed, wr_triplets *triplets, wr_duplicates duplicates, wr_csr **out,
                              int64_t *repeated);

#ifdef __cplusplus
}
#endif
#endif
