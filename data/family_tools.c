#include "data/family.h"

#include <stddef.h>
#include <string.h>

#include "config/memory.h"
#include "spmv/matrix/csr.h"

__extension__ typedef unsigned __int128 wide;

enum { FIRST_CAPACITY = 1 << 15, SHORT = 48, DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

static wr_status grow(void *block, int64_t count, int64_t capacity, size_t size) {
  void **old = (void **)block, *bigger;
  PASS(wr_alloc(&bigger, capacity, size, "generated rows"));
  if (count > 0) memcpy(bigger, *old, (size_t)count * size);
  wr_free(*old);
  *old = bigger;
  return WR_OK;
}

wr_status wr_rows_reserve(wr_rows *rows, int64_t more) {
  if (rows->col != NULL && more <= rows->capacity - rows->count) return WR_OK;
  int64_t capacity = rows->capacity < FIRST_CAPACITY ? FIRST_CAPACITY : 2 * rows->capacity;
  if (capacity - rows->count < more) capacity = rows->count + more;
  PASS(grow(&rows->col, rows->count, capacity, sizeof *rows->col));
  if (rows->with_values) PASS(grow(&rows->val, rows->count, capacity, sizeof *rows->val));
  rows->capacity = capacity;
  return WR_OK;
}

void wr_rows_release(wr_rows *rows) {
  wr_free(rows->col);
  wr_free(rows->val);
  wr_free(rows->spare);
}

static int is_ascending(const int32_t *col, int64_t n) {
  for (int64_t k = 1; k < n; k++)
    if (col[k - 1] >= col[k]) return 0;
  return 1;
}

static void sort_short(int32_t *col, int64_t n) {
  for (int64_t k = 1; k < n; k++) {
    int32_t j = col[k];
    int64_t at = k;
    for (; at > 0 && col[at - 1] > j; at--) col[at] = col[at - 1];
    col[at] = j;
  }
}

/* One pass of a radix sort, from -> to, stable, by the digit at shift. */
static void sort_digit(const int32_t *from, int32_t *to, int64_t n, int shift) {
  int64_t place[DIGITS] = {0};
  for (int64_t k = 0; k < n; k++) place[from[k] >> shift & (DIGITS - 1)]++;
  int64_t sum = 0;
  for (int digit = 0; digit < DIGITS; digit++) {
    int64_t count = place[digit];
    place[digit] = sum;
    sum += count;
  }
  for (int64_t k = 0; k < n; k++) to[place[from[k] >> shift & (DIGITS - 1)]++] = from[k];
}

static wr_status sort_long(wr_rows *rows, int32_t *col, int64_t n) {
  if (rows->spare_capacity < n) {
    PASS(grow(&rows->spare, 0, rows->capacity, sizeof *rows->spare));
    rows->spare_capacity = rows->capacity;
  }
  int32_t highest = 0;
  for (int64_t k = 0; k < n; k++) highest |= col[k];
  int32_t *from = col, *to = rows->spare;
  for (int shift = 0; shift < 31 && highest >> shift != 0; shift += DIGIT_BITS) {
    sort_digit(from, to, n, shift);
    int32_t *other = from;
    from = to;
    to = other;
  }
  if (from != col) memcpy(col, from, (size_t)n * sizeof *col);
  return WR_OK;
}

wr_status wr_rows_merge(wr_rows *rows, int64_t first) {
  int64_t n = rows->count - first;
  if (n < 2) return WR_OK;
  int32_t *col = rows->col + first;
  if (is_ascending(col, n)) return WR_OK;
  if (n <= SHORT) {
    sort_short(col, n);
  } else {
    PASS(sort_long(rows, col, n));
  }
  int64_t kept = 1;
  for (int64_t k = 1; k < n; k++)
    if (col[k] != col[kept - 1]) col[kept++] = col[k];
  rows->count = first + kept;
  return WR_OK;
}

int64_t wr_share(double p, int64_t count) {
  return (int64_t)(((wide)wr_chance(p) * (wide)count + (UINT64_C(1) << 52)) >> 53);
}

int64_t wr_times(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

wr_status wr_grid_make(const char *family, int64_t n, int dims, int64_t unknowns, wr_grid *grid, int64_t *rows) {
  *grid = (wr_grid){.n = n, .dims = dims, .stride = {1, n, n * n}, .points = dims == 2 ? n * n : n * n * n};
  *rows = wr_times(grid->points, unknowns);
  if (*rows <= WR_MAX_INDEX) return WR_OK;
  return wr_fail(WR_EUSAGE, "gen:%s: n=%lld with dims=%d gives %lld rows, over %d", family, (long long)n, dims,
                 (long long)*rows, WR_MAX_INDEX);
}

int wr_grid_degree(const wr_grid *grid, int64_t point) {
  int degree = 0;
  for (int axis = 0; axis < grid->dims; axis++) {
    int64_t at = wr_grid_at(grid, point, axis);
    degree += (at > 0) + (at + 1 < grid->n);
  }
  return degree;
}

/* Odd, so that multiplying modulo a power of two can be undone: inverse[r] * multiplier[r] = 1 modulo 2^64. */
static const uint64_t multiplier[WR_PERMUTATION_ROUNDS] = {
    UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xbf58476d1ce4e5b9), UINT64_C(0x94d049bb133111eb),
    UINT64_C(0xd6e8feb86659fd93)};
static const uint64_t inverse[WR_PERMUTATION_ROUNDS] = {
    UINT64_C(0xf1de83e19937733d), UINT64_C(0x96de1b173f119089), UINT64_C(0x319642b2d24d8ec3),
    UINT64_C(0xcfee444d8b59a89b)};

/* Each round multiplies and adds, which carries from low bits to high ones, and folds the high half onto the low. */
wr_permutation wr_permutation_of(int64_t size, uint64_t key) {
  wr_permutation permutation = {.size = (uint64_t)size};
  int bits = 0;
  while ((permutation.size - 1) >> bits != 0) bits++;
  permutation.mask = (UINT64_C(1) << bits) - 1;
  permutation.shift = (bits + 1) / 2;
  for (int r = 0; r < WR_PERMUTATION_ROUNDS; r++) permutation.key[r] = wr_hash(key, (uint64_t)r);
  return permutation;
}

/* Images outside 0..size-1 are mapped again until one is inside; on average that takes less than twice. */
int64_t wr_permutation_apply(const wr_permutation *permutation, int64_t place) {
  uint64_t x = (uint64_t)place;
  do {
    for (int r = 0; r < WR_PERMUTATION_ROUNDS; r++) {
      x = (x * multiplier[r] + permutation->key[r]) & permutation->mask;
      x ^= x >> permutation->shift;
    }
  } while (x >= permutation->size);
  return (int64_t)x;
}

/* The fold undoes itself: it changes only the low half, out of the high one. */
int64_t wr_permutation_invert(const wr_permutation *permutation, int64_t image) {
  uint64_t x = (uint64_t)image;
  do {
    for (int r = WR_PERMUTATION_ROUNDS - 1; r >= 0; r--) {
      x ^= x >> permutation->shift;
      x = ((x - permutation->key[r]) * inverse[r]) & permutation->mask;
    }
  } while (x >= permutation->size);
  return (int64_t)x;
}
