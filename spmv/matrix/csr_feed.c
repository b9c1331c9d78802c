#include "spmv/matrix/csr_feed.h"

#include "config/memory.h"

wr_status wr_csr_front_open(wr_csr_front *front, const wr_csr_feed *feed, int64_t nparts) {
  *front = (wr_csr_front){.feed = feed, .nparts = nparts};
  return feed == NULL ? WR_OK : wr_alloc_zeroed(&front->done, nparts, 1, "flags of final rows");
}

void wr_csr_front_pass(wr_csr_front *front, int64_t part, int64_t (*rows_before)(const void *context, int64_t n),
                       const void *context) {
  if (front->feed == NULL) return;
#pragma omp critical(wr_csr_front)
  {
    int64_t before = front->passed;
    front->done[part] = 1;
    while (front->passed < front->nparts && front->done[front->passed]) front->passed++;
    if (front->passed > before) wr_csr_feed_ready(front->feed, rows_before(context, front->passed));
  }
}

void wr_csr_front_close(wr_csr_front *front) {
  wr_free(front->done);
  *front = (wr_csr_front){.feed = NULL};
}
