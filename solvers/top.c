#include "solvers/top.h"

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
