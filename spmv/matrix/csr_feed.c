#include "spmv/matrix/csr_feed.h"

#include "config/memory.h"

wr_status wr_csr_prefix_open(wr_csr_prefix *prefix, const wr_csr_feed *feed, int64_t nparts) {
  *prefix = (wr_csr_prefix){.feed = feed, .nparts = nparts};
  return feed == NULL ? WR_OK : wr_alloc_zeroed(&prefix->done, nparts, 1, "flags of final rows");
}

void wr_csr_prefix_pass(wr_csr_prefix *prefix, int64_t part, int64_t (*rows_before)(const void *context, int64_t n),
                        const void *context) {
  if (prefix->feed == NULL) return;
#pragma omp critical(wr_csr_prefix)
  {
    int64_t before = prefix->passed;
    prefix->done[part] = 1;
    while (prefix->passed < prefix->nparts && prefix->done[prefix->passed]) prefix->passed++;
    if (prefix->passed > before) wr_csr_feed_ready(prefix->feed, rows_before(context, prefix->passed));
  }
}

void wr_csr_prefix_close(wr_csr_prefix *prefix) {
  wr_free(prefix->done);
  *prefix = (wr_csr_prefix){.feed = NULL};
}
