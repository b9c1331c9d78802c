/* Row matching of maximum product, against all orders of the rows of small matrices, and against what holds for the answer: a
 * scaling in which the diagonal is about 1 and nothing is larger proves that no order has a larger product. */
#define _DEFAULT_SOURCE
#include "solvers/scaling/matching.h"
#include "tests/solvers/ground.h"

enum { SMALL = 7 };

static double value_at(const wr_csr *A, int64_t i, int64_t j) {
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
    if (A->col[k] == j) return A->val ? A->val[k] : 1;
  return 0;
}

/* Over all orders of the rows: the largest number of elements other than 0 on the diagonal, and the largest sum of the
 * exponents of these if it is n. All |values| are powers of two. */
typedef struct best_order {
  int rank;
  int64_t sum;
} best_order;

static void try_orders(const wr_csr *A, int64_t column, unsigned used, int rank, int64_t sum, best_order *best) {
  if (column == A->nrows) {
    if (rank > best->rank || (rank == best->rank && sum > best->sum)) *best = (best_order){rank, sum};
    return;
  }
  for (int64_t i = 0; i < A->nrows; i++) {
    if (used >> i & 1) continue;
    double value = value_at(A, i, column);
    int exponent = 0;
    if (value != 0) frexp(value, &exponent);
    try_orders(A, column + 1, used | 1u << i, rank + (value != 0), sum + (value != 0 ? exponent : 0), best);
  }
}

static int is_order(const wr_matching *m) {
  char *seen = room_for(m->n, 1);
  int fine = m->row_of != NULL;
  for (int64_t j = 0; fine && j < m->n; j++) {
    fine = m->row_of[j] >= 0 && m->row_of[j] < m->n && !seen[m->row_of[j]];
    if (fine) seen[m->row_of[j]] = 1;
  }
  free(seen);
  return fine;
}

/* What the scaling must hold, with logarithms in long double: rounding of the two exponents leaves a factor of 2, and the fixed
 * point of the logarithms 2^-18 of one more. */
static void check_scaling(const wr_csr *A, const wr_matching *m) {
  int64_t large = 0, off_diagonal = 0;
  const long double slack = 1 + 0x1p-18L;
  for (int64_t i = 0; i < m->n; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      long double size = fabsl((long double)(A->val ? A->val[k] : 1));
      size = ldexpl(size, m->row_exponent[i] + m->column_exponent[A->col[k]]);
      large += !(size <= 2 * slack);
      if (m->row_of[A->col[k]] == i) off_diagonal += !(size >= 0.5L / slack);
    }
  CHECKF(large == 0, "%lld elements are above 2", (long long)large);
  CHECKF(off_diagonal == 0, "%lld matched elements are below 1/2", (long long)off_diagonal);
}

static void check_found(const wr_csr *A, const wr_matching *m) {
  CHECKF(m->end == WR_MATCHING_FOUND && is_order(m), "end %d, deficiency %lld", m->end, (long long)m->deficiency);
  if (m->end != WR_MATCHING_FOUND || !is_order(m)) return;
  CHECK(m->deficiency == 0 && m->work > 0 && m->row_exponent && m->column_exponent);
  check_scaling(A, m);
}

/* 1 if the row belongs to beside + 1 rows with elements other than 0 in beside columns only. */
static int is_violator(const wr_csr *A, int64_t row, int64_t beside) {
  for (unsigned rows = 0; rows < 1u << A->nrows; rows++) {
    unsigned columns = 0;
    if (!(rows >> row & 1) || __builtin_popcount(rows) != beside + 1) continue;
    for (int64_t i = 0; i < A->nrows; i++)
      for (int64_t j = 0; j < A->ncols && rows >> i & 1; j++) columns |= (unsigned)(value_at(A, i, j) != 0) << j;
    if (__builtin_popcount(columns) <= beside) return 1;
  }
  return 0;
}

/* A matrix of n x n with this share of its elements, of them some explicit zeros; |values| are powers of two. */
static wr_csr *small_matrix(int64_t n, double share, int range, uint64_t *state) {
  entry entries[SMALL * SMALL];
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      if (random_in(state) >= share) continue;
      double value = ldexp(random_in(state) < 0.5 ? -1 : 1, (int)(random_in(state) * range) - range / 2);
      entries[count++] = (entry){i, j, random_in(state) < 0.1 ? 0 : value};
    }
  return matrix_of(n, entries, count, 1);
}

static void test_all_orders(void) {
  static const double shares[] = {1, 0.6, 0.35, 0.2};
  static const int ranges[] = {1, 3, 40, 2000};
  uint64_t state = 17;
  int found = 0, singular = 0;
  CASE("all orders of the rows");
  for (int n = 1; n <= SMALL; n++)
    for (int k = 0; k < 48; k++) {
      wr_csr *A = small_matrix(n, shares[k % 4], ranges[k / 4 % 4], &state);
      best_order best = {0, 0};
      wr_matching m;
      try_orders(A, 0, 0, 0, 0, &best);
      CHECK_OK(wr_matching_find(A, INT64_MAX / 2, NULL, &m));
      if (best.rank == n) {
        int64_t sum = 0;
        found++;
        check_found(A, &m);
        for (int64_t j = 0; m.end == WR_MATCHING_FOUND && j < n; j++) {
          int exponent;
          frexp(value_at(A, m.row_of[j], j), &exponent);
          sum += exponent;
        }
        CHECKF(sum == best.sum, "n = %d: the product is 2^%lld, not 2^%lld", n, (long long)sum, (long long)best.sum);
      } else {
        singular++;
        CHECKF(m.end == WR_MATCHING_SINGULAR && m.deficiency == n - best.rank,
               "n = %d: end %d, deficiency %lld, not %d", n, m.end, (long long)m.deficiency, n - best.rank);
        CHECKF(is_violator(A, m.row, m.rows_beside), "row %lld with %lld others has a column for each",
               (long long)m.row, (long long)m.rows_beside);
        CHECK(m.row_exponent == NULL && m.column_exponent == NULL);
      }
      wr_matching_free(&m);
      wr_csr_free(A);
    }
  CHECKF(found > 50 && singular > 50, "%d found, %d singular: the cases do not cover both", found, singular);
}

/* n rows with their diagonal elsewhere, and `degree` others a row: 2^(range * uniform) in size. */
static wr_csr *shuffled_matrix(int64_t n, int degree, double range, int shuffle, uint64_t seed) {
  entry *entries = room_for(n * (degree + 1), sizeof *entries);
  int64_t *place = room_for(n, sizeof *place), count = 0;
  uint64_t state = seed;
  for (int64_t i = 0; i < n; i++) place[i] = i;
  for (int64_t i = n - 1; shuffle && i > 0; i--) {
    int64_t j = (int64_t)(random_in(&state) * (double)(i + 1)), kept = place[i];
    place[i] = place[j], place[j] = kept;
  }
  for (int64_t i = 0; i < n; i++)
    for (int k = 0; k <= degree; k++) {
      int64_t j = k == 0 ? place[i] : (int64_t)(random_in(&state) * (double)n);
      double value = exp2(range * (random_in(&state) - 0.5));
      entries[count++] = (entry){i, j, random_in(&state) < 0.5 ? -value : value};
    }
  wr_csr *A = matrix_of(n, entries, count, 1);
  free(entries);
  free(place);
  return A;
}

static void test_large(void) {
  static const double ranges[] = {0, 1, 30, 1900};
  for (int k = 0; k < 8; k++) {
    wr_csr *A = shuffled_matrix(3000, 1 + k % 4, ranges[k / 2], 1, 40 + (uint64_t)k);
    wr_matching m, again;
    ground_case(NULL, "3000 rows with values over 2^%g", ranges[k / 2]);
    omp_set_num_threads(1);
    CHECK_OK(wr_matching_find(A, INT64_MAX / 2, NULL, &m));
    check_found(A, &m);
    omp_set_num_threads(4);
    CHECK_OK(wr_matching_find(A, INT64_MAX / 2, NULL, &again));
    CHECK(m.row_of && again.row_of && memcmp(m.row_of, again.row_of, 3000 * sizeof *m.row_of) == 0);
    CHECK(m.row_exponent && again.row_exponent &&
          memcmp(m.row_exponent, again.row_exponent, 3000 * sizeof *m.row_exponent) == 0);
    wr_matching_free(&m), wr_matching_free(&again);
    wr_csr_free(A);
  }
}

/* A permuted diagonal has one order only; its elements may lie anywhere in f64. */
static void test_permuted_diagonal(void) {
  enum { N = 500 };
  entry entries[N];
  wr_matching m;
  static const double sizes[] = {1e-200, 1e200, 3, 5e-324, 1.7e308, 1e-310};
  CASE("a permuted diagonal");
  for (int64_t i = 0; i < N; i++) entries[i] = (entry){i, (i * 7 + 3) % N, (i % 2 ? -1 : 1) * sizes[i % 6]};
  wr_csr *A = matrix_of(N, entries, N, 1);
  CHECK_OK(wr_matching_find(A, 0, NULL, &m));
  check_found(A, &m);
  for (int64_t i = 0; m.row_of && i < N; i++)
    CHECKF(m.row_of[(i * 7 + 3) % N] == i, "column %lld has row %d", (long long)((i * 7 + 3) % N),
           m.row_of[(i * 7 + 3) % N]);
  CHECKF(m.cheap == N, "%lld rows without a search", (long long)m.cheap);
  wr_matching_free(&m);
  wr_csr_free(A);
}

/* Rows stay where they are if the diagonal is as large as any order's; also without values, where all elements are 1. No search
 * is needed, so the limit does not matter. */
static void test_rows_stay(void) {
  for (int with_values = 0; with_values < 2; with_values++) {
    wr_csr *A = random_matrix(2000, 5, 12, with_values, 5);
    wr_matching m;
    ground_case(NULL, "a large diagonal, %s values", with_values ? "with" : "without");
    for (int64_t i = 0; with_values && i < A->nrows; i++)
      for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) A->val[k] = A->col[k] == i ? 12 : A->val[k];
    CHECK_OK(wr_matching_find(A, 0, NULL, &m));
    check_found(A, &m);
    int64_t moved = 0;
    for (int64_t j = 0; m.row_of && j < m.n; j++) moved += m.row_of[j] != j;
    CHECKF(moved == 0, "%lld rows moved", (long long)moved);
    wr_matching_free(&m);
    wr_csr_free(A);
  }
}

/* The size of a maximum matching by augmenting paths alone (Kuhn), as the structural rank. */
static int give_column(const wr_csr *A, int64_t i, int64_t *row_of, int64_t *mark, int64_t root) {
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
    int64_t j = A->col[k];
    if (mark[j] == root) continue;
    mark[j] = root;
    if (row_of[j] >= 0 && !give_column(A, row_of[j], row_of, mark, root)) continue;
    row_of[j] = i;
    return 1;
  }
  return 0;
}

static int64_t structural_rank(const wr_csr *A) {
  int64_t rank = 0, *row_of = room_for(A->ncols, sizeof *row_of), *mark = room_for(A->ncols, sizeof *mark);
  for (int64_t j = 0; j < A->ncols; j++) row_of[j] = mark[j] = -1;
  for (int64_t i = 0; i < A->nrows; i++) rank += give_column(A, i, row_of, mark, i);
  free(row_of);
  free(mark);
  return rank;
}

/* Each row has entries near the diagonal, of six decades; some have none on it, and some one in the first column. */
static wr_csr *band_of_decades(int64_t n, uint64_t state) {
  entry *entries = room_for(6 * n, sizeof *entries);
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) {
    if (i % 17 != 0) entries[count++] = (entry){i, i, pow(10, random_in(&state) * 6 - 3)};
    for (int k = 0; k < 3; k++) {
      int64_t j = i + (int64_t)((random_in(&state) + random_in(&state) + random_in(&state) - 1.5) * 100);
      entries[count++] = (entry){i, j < 0 ? 0 : j < n ? j : n - 1, pow(10, random_in(&state) * 4 - 3)};
    }
    if (i % 50 == 0) entries[count++] = (entry){i, 0, 1}, entries[count++] = (entry){0, i, 0.5};
  }
  wr_csr *A = matrix_of(n, entries, count, 1);
  free(entries);
  return A;
}

/* Rows without a column among large ones with very different values: searches end at columns that earlier ones have left out,
 * whose duals do not fit those of rows any more. */
static void test_left_out(void) {
  for (int k = 0; k < 2; k++) {
    wr_csr *A = band_of_decades(20000, 400 + (uint64_t)k);
    wr_matching m;
    int64_t deficiency = A->nrows - structural_rank(A), matched = 0;
    ground_case(NULL, "columns that were left out, case %d", k);
    CHECK_OK(wr_matching_find(A, INT64_MAX / 2, NULL, &m));
    CHECKF(deficiency > 0 && m.deficiency == deficiency, "deficiency %lld, not %lld", (long long)m.deficiency,
           (long long)deficiency);
    CHECK(m.end == WR_MATCHING_SINGULAR);
    for (int64_t j = 0; m.row_of && j < m.n; j++) matched += m.row_of[j] >= 0;
    CHECKF(matched == A->nrows - deficiency, "%lld matched", (long long)matched);
    wr_matching_free(&m);
    wr_csr_free(A);
  }
}

static void test_deficiency(void) {
  int singular = 0;
  for (int k = 0; k < 12; k++) {
    wr_csr *A = random_matrix(400, 1 + k % 4, 0, k % 2, 60 + (uint64_t)k);
    for (int64_t e = 0; A->val && e < A->nnz; e++) A->val[e] = A->val[e] == 0 ? 1 : A->val[e];
    wr_matching m;
    int64_t deficiency = A->nrows - structural_rank(A);
    ground_case(NULL, "structural rank, case %d", k);
    CHECK_OK(wr_matching_find(A, INT64_MAX / 2, NULL, &m));
    CHECKF(m.deficiency == deficiency, "deficiency %lld, not %lld", (long long)m.deficiency, (long long)deficiency);
    CHECK(m.end == (deficiency > 0 ? WR_MATCHING_SINGULAR : WR_MATCHING_FOUND));
    singular += deficiency > 0;
    wr_matching_free(&m);
    wr_csr_free(A);
  }
  CHECKF(singular > 5, "%d cases are singular", singular);
}

/* An empty row is named rather than another one that has no column; explicit zeros make a row empty. */
static void test_empty_row(void) {
  wr_matching m;
  CASE("an empty row");
  entry entries[] = {{0, 0, 1}, {1, 0, 2}, {2, 1, 5}, {3, 1, 0}, {3, 3, 0}};
  wr_csr *A = matrix_of(4, entries, 5, 1);
  CHECK_OK(wr_matching_find(A, 1000, NULL, &m));
  CHECKF(m.end == WR_MATCHING_SINGULAR && m.deficiency == 2, "end %d, deficiency %lld", m.end, (long long)m.deficiency);
  CHECKF(m.row == 3 && m.rows_beside == 0, "row %lld beside %lld", (long long)m.row, (long long)m.rows_beside);
  wr_matching_free(&m);
  wr_csr_free(A);
}

static int ends_at_once(void *asked) { return ++*(int *)asked; }

static void test_limit(void) {
  wr_csr *A = shuffled_matrix(3000, 3, 30, 1, 91), *larger = NULL, *wide = NULL;
  wr_matching m;
  CASE("the limit of work");
  CHECK_OK(wr_matching_find(A, INT64_MAX / 2, NULL, &m));
  CHECKF(m.end == WR_MATCHING_FOUND && m.cheap < 3000, "%lld rows without a search", (long long)m.cheap);
  int64_t all = m.work;
  wr_matching_free(&m);
  CHECK_OK(wr_matching_find(A, 100, NULL, &m));
  CHECKF(m.end == WR_MATCHING_GIVEN_UP && m.work < all, "end %d, work %lld", m.end, (long long)m.work);
  CHECK(m.row_exponent == NULL && m.column_exponent == NULL);
  wr_matching_free(&m);
  CHECK_OK(wr_matching_find(A, -5, NULL, &m));
  CHECK(m.end == WR_MATCHING_GIVEN_UP);
  wr_matching_free(&m);
  /* A row more than the limit at most: its entries, each of which may reach a column. The first assignment is not counted. */
  for (int64_t limit = 1000; limit <= 100000; limit *= 10) {
    int64_t beyond, longest = 0;
    for (int64_t i = 0; i < A->nrows; i++)
      longest = A->row_ptr[i + 1] - A->row_ptr[i] > longest ? A->row_ptr[i + 1] - A->row_ptr[i] : longest;
    CHECK_OK(wr_matching_find(A, limit, NULL, &m));
    beyond = m.work - 5 * A->nnz - limit;
    CHECKF(m.end == WR_MATCHING_GIVEN_UP && beyond > 0 && beyond <= 12 + 13 * longest, "end %d, %lld beyond %lld",
           m.end, (long long)beyond, (long long)limit);
    wr_matching_free(&m);
  }
  CHECK_OK(wr_matching_find(A, all - 5 * A->nnz, NULL, &m));
  CHECKF(m.end == WR_MATCHING_FOUND && m.work == all, "end %d, work %lld", m.end, (long long)m.work);
  wr_matching_free(&m);
  larger = shuffled_matrix(300000, 3, 30, 1, 92);
  int asked = 0;
  const wr_watch at_once = {.ends = ends_at_once, .context = &asked};
  CHECK_OK(wr_matching_find(larger, INT64_MAX / 2, &at_once, &m));
  CHECKF(m.end == WR_MATCHING_ENDED && asked == 1 && m.row_exponent == NULL, "end %d, asked %d times", m.end, asked);
  wr_matching_free(&m);
  CHECK(wr_matching_limit(NULL) == 0 && wr_matching_limit(A) > 0 && wr_matching_limit(larger) > wr_matching_limit(A));
  if (wr_csr_create(2, 3, 1, 1, &wide) != WR_OK) abort();
  CHECK_FAILS(WR_EUSAGE, wr_matching_find(wide, 1, NULL, &m));
  CHECK_FAILS(WR_EUSAGE, wr_matching_find(NULL, 1, NULL, &m));
  CHECK_FAILS(WR_EUSAGE, wr_matching_find(A, 1, NULL, NULL));
  wr_matching_free(NULL);
  wr_csr_free(A), wr_csr_free(larger), wr_csr_free(wide);
}

int main(void) {
  test_all_orders();
  test_large();
  test_permuted_diagonal();
  test_rows_stay();
  test_deficiency();
  test_left_out();
  test_empty_row();
  test_limit();
  return wr_test_report("test_matching");
}
