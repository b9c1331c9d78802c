/* The greatest elements, compared with sorting all. */
#define _DEFAULT_SOURCE
#include "solvers/top.h"
#include "tests/solvers/ground.h"

typedef struct scored {
  double score;
  int64_t index;
} scored;

static int better_first(const void *left, const void *right) {
  const scored *a = left, *b = right;
  if (a->score != b->score) return a->score > b->score ? -1 : 1;
  return a->index < b->index ? -1 : a->index > b->index;
}

static void compare_with_sorting(const double *x, int64_t n, int64_t count) {
  scored *all = room_for(n, sizeof *all);
  int64_t *best = room_for(count + 1, sizeof *best), wrong = 0;
  for (int64_t i = 0; i < n; i++) all[i] = (scored){x[i], i};
  qsort(all, (size_t)n, sizeof *all, better_first);
  best[count] = -7;
  wr_top(x, n, count, best);
  for (int64_t k = 0; k < count; k++) wrong += best[k] != all[k].index;
  CHECKF(wrong == 0, "%lld of the %lld best of %lld are wrong", (long long)wrong, (long long)count, (long long)n);
  CHECKF(best[count] == -7, "written past the %lld best", (long long)count);
  free(all);
  free(best);
}

/* levels: number of different values, so that many are equal. */
static void test_values(int64_t n, double levels) {
  uint64_t seed = 99 + (uint64_t)n;
  double *x = room_for(n, sizeof *x);
  for (int64_t i = 0; i < n; i++) x[i] = floor(random_in(&seed) * levels) / levels - 0.25;
  const int64_t counts[] = {0, 1, 2, 3, 10, n / 2, n - 1, n};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
    if (counts[c] >= 0 && counts[c] <= n) compare_with_sorting(x, n, counts[c]);
  free(x);
}

static void test_orders(void) {
  double x[300];
  for (int i = 0; i < 300; i++) x[i] = i;
  CASE("ascending");
  compare_with_sorting(x, 300, 17);
  for (int i = 0; i < 300; i++) x[i] = -i;
  CASE("descending");
  compare_with_sorting(x, 300, 17);
  for (int i = 0; i < 300; i++) x[i] = i % 2 ? INFINITY : -INFINITY;
  CASE("infinities");
  compare_with_sorting(x, 300, 200);
}

/* The order of NaNs is not defined, but all indices must be valid and different. */
static void test_nan(void) {
  double x[100];
  int seen[100] = {0}, bad = 0;
  int64_t best[40];
  for (int i = 0; i < 100; i++) x[i] = i % 3 ? i : NAN;
  CASE("NaN");
  wr_top(x, 100, 40, best);
  for (int k = 0; k < 40; k++) bad += best[k] < 0 || best[k] >= 100 || seen[best[k]]++;
  CHECKF(bad == 0, "%d places are none or used twice", bad);
}

int main(void) {
  static const double levels[] = {1, 3, 50, 1e15};
  for (int l = 0; l < 4; l++) {
    ground_case(NULL, "%g different values", levels[l]);
    for (int64_t n = 1; n < 40; n++) test_values(n, levels[l]);
    test_values(5000, levels[l]);
  }
  test_orders();
  test_nan();
  return wr_test_report("top");
}
