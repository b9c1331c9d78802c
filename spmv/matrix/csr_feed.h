/* Progress of a matrix that is being assembled: the assembling code reports which rows are final, so that a consumer, such as
 * an upload to a device, can start before the last row. */
#ifndef WR_CSR_FEED_H
#define WR_CSR_FEED_H

#include <stddef.h>
#include <stdint.h>

#include "spmv/matrix/csr.h"

WR_C_BEGIN

/* Callbacks, called by one thread at a time. Where a feed is an argument, NULL means that no progress is reported. */
typedef struct wr_csr_feed {
  void *context;
  /* The following reports are about A: its sizes, `symmetric` and whether it is a pattern are final, and its arrays have
   * their final addresses, but not their contents. NULL: assembling failed. When it returns, the matrix of the previous call
   * may be freed. */
  void (*begin)(void *context, wr_csr *A);
  /* The rows [0, rows) are final: row_ptr[0..rows], and all entries before row_ptr[rows]. rows never decreases; for a
   * complete matrix the last call has nrows. */
  void (*ready)(void *context, int64_t rows);
} wr_csr_feed;

static inline void wr_csr_feed_begin(const wr_csr_feed *feed, wr_csr *A) {
  if (feed != NULL) feed->begin(feed->context, A);
}

static inline void wr_csr_feed_ready(const wr_csr_feed *feed, int64_t rows) {
  if (feed != NULL) feed->ready(feed->context, rows);
}

/* Consecutive parts of the rows that threads complete in any order; reports the completed prefix to a feed. */
typedef struct wr_csr_prefix {
  const wr_csr_feed *feed;
  int64_t passed; /* number of leading parts that are all done */
  int64_t nparts;
  char *done;     /* [nparts]                                                     */
} wr_csr_prefix;

wr_status wr_csr_prefix_open(wr_csr_prefix *prefix, const wr_csr_feed *feed, int64_t nparts); /* WR_ENOMEM */

/* Marks part `part` as final. If the completed prefix grows, to n parts, the feed's `ready` gets rows_before(context, n), the
 * number of rows that lie in these parts. Any thread may call this. */
void wr_csr_prefix_pass(wr_csr_prefix *prefix, int64_t part, int64_t (*rows_before)(const void *context, int64_t n),
                        const void *context);
void wr_csr_prefix_close(wr_csr_prefix *prefix); /* also of a zeroed one */

/* The index of the first of count values that is beyond the range of f32; count if there is none. */
int64_t wr_first_beyond_f32(const double *values, int64_t count);

/* wr_csr_assemble with reports to a feed. If entries are repeated, `begin` is called again with the merged matrix; on failure
 * it is called with NULL. */
wr_status wr_csr_assemble_for(const wr_csr_feed *feed, wr_triplets *triplets, wr_duplicates duplicates, wr_csr **out,
                              int64_t *repeated);

WR_C_END
#endif
