#include "solvers/top.h"

#include "config/memory.h"

static int is_better(const double *x, int64_t a, int64_t b) { return x[a] > x[b] || (x[a] == x[b] && a < b); }

static void swap(int64_t *heap, int64_t a, int64_t b) {
  int64_t kept = heap[a];
  heap[a] = heap[b], heap[b] = kept;
}

/* The worst is on top: a parent is never better than its children. */
static void sift_down(const double *x, int64_t *heap, int64_t count) {
  for (int64_t at = 0;;) {
    int64_t worst = at;
    for (int64_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
      if (is_better(x, heap[worst], heap[child])) worst = child;
    if (worst == at) return;
    swap(heap, at, worst);
    at = worst;
  }
}

static void sift_up(const double *x, int64_t *heap, int64_t at) {
  for (int64_t parent; at > 0 && is_better(x, heap[(parent = (at - 1) / 2)], heap[at]); at = parent)
    swap(heap, at, parent);
}

void wr_top(const double *x, int64_t n, int64_t count, int64_t *best) {
  if (count < 1) return;
  for (int64_t i = 0; i < n; i++) {
    if (i < count) {
      best[i] = i;
      sift_up(x, best, i);
    } else if (is_better(x, i, best[0])) {
      best[0] = i;
      sift_down(x, best, count);
    }
  }
  for (int64_t size = count - 1; size > 0; size--) { /* heap sort: the worst of the heap goes behind it */
    swap(best, 0, size);
    sift_down(x, best, size);
  }
}

/* Few ranks are apart as a rule: as many are sorted as are needed. Rounding a difference is monotone, so that one that is
 * rounded to more than gap is more than gap. */
wr_status wr_top_separated(const double *x, int64_t n, double gap, int64_t *ranks) {
  wr_status status = WR_OK;
  int64_t *best = NULL, apart = 0, count = 0;
  while (apart + 1 >= count && count < n) {
    count = count == 0 ? 1 << 10 : count * 32; /* n is below 2^31 */
    if (count > n) count = n;
    wr_free(best), best = NULL;
    TRY(wr_alloc(&best, count, sizeof *best, "the best nodes"));
    wr_top(x, n, count, best);
    while (apart + 1 < count && x[best[apart]] - x[best[apart + 1]] > gap) apart++;
    if (apart + 1 < count) break;
  }
  *ranks = apart + 1 == n ? n : apart;
done:
  wr_free(best);
  return status;
}
