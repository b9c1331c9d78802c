/* Incomplete factors, the order of their rows, and substitution with them, compared with their definitions in long double. */
#define _DEFAULT_SOURCE
#include "solvers/precond.h"
#include "spmv/precond/block_colour.h"
#include "spmv/precond/ilu.h"
#include "spmv/precond/lu_host.h"
#include "spmv/precond/lu_slices.h"
#include "spmv/precond/rcm.h"
#include "tests/solvers/ground.h"

static const long double unit = 0x1p-53L;

/* ---- Matrices ---- */

static wr_csr *grid_of(int64_t width, int64_t height, uint64_t seed) {
  int64_t n = width * height, count = 0;
  int64_t *place = room_for(n, sizeof *place);
  entry *entries = room_for(5 * n, sizeof *entries);
  for (int64_t i = 0; i < n; i++) place[i] = i;
  for (int64_t i = n - 1; seed && i > 0; i--) {
    int64_t j = (int64_t)(random_in(&seed) * (double)(i + 1)), kept = place[i];
    place[i] = place[j], place[j] = kept;
  }
  for (int64_t i = 0; i < n; i++) {
    int64_t x = i % width, y = i / width;
    entries[count++] = (entry){place[i], place[i], 4.25};
    if (x > 0) entries[count++] = (entry){place[i], place[i - 1], -1.5};
    if (x + 1 < width) entries[count++] = (entry){place[i], place[i + 1], -0.5};
    if (y > 0) entries[count++] = (entry){place[i], place[i - width], -1};
    if (y + 1 < height) entries[count++] = (entry){place[i], place[i + width], -1};
  }
  wr_csr *A = matrix_of(n, entries, count, 1);
  free(entries), free(place);
  return A;
}

static wr_csr *band(int64_t n, int below, int above) {
  entry *entries = room_for(3 * n, sizeof *entries);
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) {
    entries[count++] = (entry){i, i, 3 + (double)(i % 4)};
    if (below && i > 0) entries[count++] = (entry){i, i - 1, -1 - (double)(i % 3) / 8};
    if (above && i + 1 < n) entries[count++] = (entry){i, i + 1, 1.25};
  }
  wr_csr *A = matrix_of(n, entries, count, 1);
  free(entries);
  return A;
}

/* A tree in which each node comes before its parent, so elimination fills nothing. */
static wr_csr *tree(int64_t n, uint64_t seed) {
  entry *entries = room_for(3 * n, sizeof *entries);
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) {
    entries[count++] = (entry){i, i, 8};
    if (i + 1 == n) break;
    int64_t parent = i + 1 + (int64_t)(random_in(&seed) * (double)(n - 1 - i));
    entries[count++] = (entry){i, parent, 2 * random_in(&seed) - 1};
    entries[count++] = (entry){parent, i, 2 * random_in(&seed) - 1};
  }
  wr_csr *A = matrix_of(n, entries, count, 1);
  free(entries);
  return A;
}

/* Rows of the second half refer to one of the first half: two levels on each side, in any number of pieces. */
static wr_csr *two_levels(int64_t n, uint64_t seed) {
  entry *entries = room_for(4 * n, sizeof *entries);
  int64_t count = 0, half = n / 2;
  for (int64_t i = 0; i < n; i++) {
    entries[count++] = (entry){i, i, 4 + random_in(&seed)};
    for (int k = 0; k < 3; k++) {
      int64_t j = (int64_t)(random_in(&seed) * (double)half);
      entries[count++] = (entry){i, i < half ? half + j : j, 2 * random_in(&seed) - 1};
    }
  }
  wr_csr *A = matrix_of(n, entries, count, 1);
  free(entries);
  return A;
}

/* ---- L U ---- */

static double element_of(const int64_t *ptr, const int32_t *col, const double *val, int64_t i, int64_t j) {
  for (int64_t k = ptr[i]; k < ptr[i + 1]; k++)
    if (col[k] == j) return val[k];
  return 0;
}

/* (L U)_ij, and *size := the sum of its terms' sizes, *terms their number. */
static long double product_at(const wr_lu *lu, int64_t i, int64_t j, long double *size, int64_t *terms) {
  long double sum = 0;
  *size = 0, *terms = 0;
  for (int64_t k = lu->l_ptr[i]; k < lu->l_ptr[i + 1]; k++) {
    int64_t m = lu->l_col[k];
    long double u = m == j  ? 1 / (long double)lu->inverse[m]
                    : m < j ? (long double)element_of(lu->u_ptr, lu->u_col, lu->u_val, m, j)
                            : 0;
    long double term = (long double)lu->l_val[k] * u;
    sum += term, *size += fabsl(term), *terms += u != 0;
  }
  long double last = i == j  ? 1 / (long double)lu->inverse[i]
                     : i < j ? (long double)element_of(lu->u_ptr, lu->u_col, lu->u_val, i, j)
                             : 0;
  sum += last, *size += fabsl(last), *terms += 1;
  return sum;
}

/* Each entry of B, and with all 1 each element, is (L U)_ij but for rounding: m terms subtracted one by one, the product and
 * the inverse of a pivot rounded besides, give at most (m + 4) u |L||U| (Higham 2002, lemma 8.4). */
static void check_product(const wr_csr *B, const wr_lu *lu, int all) {
  long double worst = 0;
  for (int64_t i = 0; i < B->nrows; i++)
    for (int64_t j = 0; j < B->nrows; j++) {
      int64_t at = wr_csr_find(B, i, j), terms;
      long double size;
      if (at < 0 && !all) continue;
      long double is = product_at(lu, i, j, &size, &terms), bound = (long double)(terms + 4) * unit * 1.001L * size;
      long double off = fabsl(is - (at < 0 ? 0 : B->val ? (long double)B->val[at] : 1));
      if (off > bound) worst = fmaxl(worst, bound > 0 ? off / bound : INFINITY);
    }
  CHECKF(worst == 0, "an element of L U is off by %Lg of its bound", worst);
}

/* Columns ascend on their side of the diagonal. */
static void check_triangles(const wr_lu *lu) {
  int64_t bad = 0;
  for (int64_t i = 0; i < lu->n; i++) {
    for (int64_t k = lu->l_ptr[i]; k < lu->l_ptr[i + 1]; k++)
      bad += lu->l_col[k] < 0 || lu->l_col[k] >= i || (k > lu->l_ptr[i] && lu->l_col[k] <= lu->l_col[k - 1]);
    for (int64_t k = lu->u_ptr[i]; k < lu->u_ptr[i + 1]; k++)
      bad += lu->u_col[k] <= i || lu->u_col[k] >= lu->n || (k > lu->u_ptr[i] && lu->u_col[k] <= lu->u_col[k - 1]);
  }
  CHECKF(bad == 0, "%lld columns", (long long)bad);
}

static void check_pattern(const wr_csr *B, const wr_lu *lu) {
  int64_t diagonals = 0, missing = 0;
  for (int64_t i = 0; i < B->nrows; i++) {
    diagonals += wr_csr_find(B, i, i) >= 0;
    for (int64_t k = lu->l_ptr[i]; k < lu->l_ptr[i + 1]; k++) missing += wr_csr_find(B, i, lu->l_col[k]) < 0;
    for (int64_t k = lu->u_ptr[i]; k < lu->u_ptr[i + 1]; k++) missing += wr_csr_find(B, i, lu->u_col[k]) < 0;
  }
  CHECKF(missing == 0 && lu->l_ptr[lu->n] + lu->u_ptr[lu->n] + diagonals == B->nnz, "%lld entries of no pattern",
         (long long)missing);
}

static void test_product(const char *name, wr_csr *A) {
  wr_ilu_shifts shifts;
  wr_lu lu = {0};
  CASE(name);
  CHECK_OK(wr_ilu0(A, 1e-8, NULL, &lu, &shifts));
  CHECKF(shifts.count == 0 && shifts.first_row == -1, "%lld pivots shifted", (long long)shifts.count);
  check_triangles(&lu);
  check_pattern(A, &lu);
  check_product(A, &lu, 0);
  wr_lu_free(&lu);
  CHECK_OK(wr_ilut(A, 0, A->nrows, 1e-8, NULL, &lu, &shifts)); /* the complete factors */
  CHECKF(shifts.count == 0, "%lld pivots shifted", (long long)shifts.count);
  check_triangles(&lu);
  check_product(A, &lu, 1);
  wr_lu_free(&lu);
  wr_csr_free(A);
}

/* Without fill both factorisations are the same, and complete. */
static void test_no_fill(const char *name, wr_csr *A) {
  wr_ilu_shifts shifts;
  wr_lu a = {0}, b = {0};
  CASE(name);
  CHECK_OK(wr_ilu0(A, 1e-8, NULL, &a, &shifts));
  CHECK_OK(wr_ilut(A, 0, 0, 1e-8, NULL, &b, &shifts));
  check_product(A, &a, 1);
  int64_t below = a.l_ptr[a.n], above = a.u_ptr[a.n];
  CHECK(b.l_ptr[b.n] == below && b.u_ptr[b.n] == above &&
        memcmp(a.l_val, b.l_val, (size_t)below * sizeof(double)) == 0 &&
        memcmp(a.u_val, b.u_val, (size_t)above * sizeof(double)) == 0 &&
        memcmp(a.inverse, b.inverse, (size_t)a.n * sizeof(double)) == 0);
  wr_lu_free(&a), wr_lu_free(&b);
  wr_csr_free(A);
}

/* ---- Pivots ---- */

typedef struct pivot_case {
  const char *name;
  double picture[9];
  double pattern[9]; /* 1: an entry, also where it is 0 */
  double least;
  int64_t shifts, first; /* rows from 0 */
  double inverse[3];
} pivot_case;

static const pivot_case pivots[] = {
    {"a pivot of 0, stored",
     {0, 1, 0, 1, 0, 0, 0, 0, 2},
     {1, 1, 0, 1, 1, 0, 0, 0, 1},
     0x1p-20,
     1,
     0,
     {8, -0.125, 0.5}},
    {"pivots that are no entries",
     {0, 1, 0, 1, 0, 0, 0, 0, 2},
     {0, 1, 0, 1, 0, 0, 0, 0, 1},
     0x1p-20,
     1,
     0,
     {8, -0.125, 0.5}},
    {"a tiny negative pivot",
     {4, 0, 0, 0, -0x1p-40, 8, 0, 0, 1},
     {1, 0, 0, 0, 1, 1, 0, 0, 1},
     0x1p-20,
     1,
     1,
     {0.25, -1, 1}},
    {"no tiny pivot by its row",
     {4, 0, 0, 0, -0x1p-40, 0, 0, 0, 1},
     {1, 0, 0, 0, 1, 0, 0, 0, 1},
     0x1p-20,
     0,
     -1,
     {0.25, -0x1p40, 1}},
    {"an elimination to 0", {2, 4, 0, 1, 2, 0, 0, 0, 1}, {1, 1, 0, 1, 1, 0, 0, 0, 1}, 0x1p-10, 1, 1, {0.5, 4, 1}},
    {"an empty row", {2, 0, 0, 0, 0, 0, 0, 0, 4}, {1, 0, 0, 0, 0, 0, 0, 0, 1}, 0x1p-10, 1, 1, {0.5, 1, 0.25}},
    {"a row of zeros", {2, 0, 0, 0, 0, 0, 0, 0, 4}, {1, 0, 0, 1, 1, 1, 0, 0, 1}, 0x1p-10, 1, 1, {0.5, 1, 0.25}},
    {"all of it", {0}, {0}, 0x1p-10, 3, 0, {1, 1, 1}},
};

static wr_csr *picture_of(const pivot_case *c) {
  entry entries[9];
  int64_t count = 0;
  for (int64_t k = 0; k < 9; k++)
    if (c->pattern[k] != 0) entries[count++] = (entry){k / 3, k % 3, c->picture[k]};
  return matrix_of(3, entries, count, 1);
}

static void test_pivots(void) {
  for (size_t p = 0; p < sizeof pivots / sizeof *pivots; p++) {
    const pivot_case *c = &pivots[p];
    wr_csr *A = picture_of(c);
    for (int threshold = 0; threshold < 2; threshold++) {
      wr_ilu_shifts shifts;
      wr_lu lu = {0};
      CASE(c->name);
      CHECK_OK(threshold ? wr_ilut(A, 0, 3, c->least, NULL, &lu, &shifts) : wr_ilu0(A, c->least, NULL, &lu, &shifts));
      CHECKF(shifts.count == c->shifts && shifts.first_row == c->first, "%lld, the first in row %lld",
             (long long)shifts.count, (long long)shifts.first_row);
      for (int i = 0; i < 3; i++) CHECKF(lu.inverse[i] == c->inverse[i], "%g, not %g", lu.inverse[i], c->inverse[i]);
      wr_lu_free(&lu);
    }
    wr_csr_free(A);
  }
}

/* With an order the first row is named by its index in A. */
static void test_pivot_in_order(void) {
  CASE("the row of a pivot in an order");
  const double picture[9] = {1, 0, 0, 0, 3, 0, 0, 5, 0};
  const int32_t order[] = {2, 0, 1};
  wr_csr *A = matrix_of_picture(3, picture), *B = NULL;
  wr_ilu_shifts shifts;
  wr_lu lu = {0};
  CHECK_OK(wr_alloc(&lu.order, 3, sizeof *lu.order, "a test"));
  memcpy(lu.order, order, sizeof order);
  CHECK_OK(wr_csr_reorder(A, order, &B));
  CHECK(B->nnz == 3 && B->col[0] == 2 && B->val[0] == 5 && B->val[1] == 1 && B->col[2] == 2 && B->val[2] == 3);
  CHECK_OK(wr_ilu0(B, 0.5, NULL, &lu, &shifts));
  CHECKF(shifts.count == 1 && shifts.first_row == 2 && lu.inverse[0] == 0.4, "%lld", (long long)shifts.first_row);
  wr_lu_free(&lu);
  wr_csr_free(A), wr_csr_free(B);
}

/* Values that are not finite, or become so, are refused with the row. */
static void test_overflow(void) {
  static const double pictures[][4] = {
      {1, 1e300, 1e300, 1}, {1, NAN, 1, 1}, {INFINITY, 1, 1, 1}, {1, 1, INFINITY, 1}, {1e-310, 0, 0, 1}};
  for (size_t p = 0; p < sizeof pictures / sizeof *pictures; p++)
    for (int threshold = 0; threshold < 2; threshold++) {
      wr_csr *A = matrix_of_picture(2, pictures[p]);
      wr_ilu_shifts shifts;
      wr_lu lu = {0};
      CASE("factors beyond f64");
      CHECK_FAILS(WR_ENUMERIC,
                  threshold ? wr_ilut(A, 0, 2, 1e-305, NULL, &lu, &shifts) : wr_ilu0(A, 1e-305, NULL, &lu, &shifts));
      CHECK_MESSAGE("beyond f64 in row ");
      wr_lu_free(&lu);
      wr_csr_free(A);
    }
}

/* Kershaw's matrix (1978), whose fourth pivot is negative, and a row of its own. With an ordinary element there a raised
 * diagonal has positive pivots; a large one overflows when it is raised, and the factors are those of the matrix itself. */
static void test_raise_overflows(void) {
  static const double picture[25] = {3, -2, 0, 2, 0, -2, 3, -2, 0, 0, 0, -2, 3, -2, 0, 2, 0, -2, 3, 0, 0, 0, 0, 0, 1};
  wr_env env = {.place = WR_HOST, .type = WR_F64, .threads = 1};
  CHECK_OK(wr_env_open(&env));
  for (int large = 0; large < 2; large++) {
    wr_csr *A = matrix_of_picture(5, picture);
    wr_precond *p = NULL;
    CASE("the diagonal cannot be raised");
    if (large) A->val[wr_csr_find(A, 4, 4)] = 1.7e308;
    CHECK_OK(wr_precond_create(&wr_precond_ilu0, "order=given:pivot=1e-12", A, &env, &p));
    if (p) CHECKF(wr_precond_get_info(p)->is_positive == !large, "%s", wr_precond_get_info(p)->line);
    wr_precond_destroy(p);
    wr_csr_free(A);
  }
  wr_env_close(&env);
}

/* Constraints without a diagonal element before the unknowns that they couple: as given their pivots are shifted, in the other
 * orders they come last and have pivots. */
static void test_constraints_last(void) {
  enum { CONSTRAINTS = 10, ALL = 60 };
  static const struct {
    const char *knobs;
    int64_t shifted;
  } orders[] = {{"order=given", CONSTRAINTS}, {"order=rcm", 0}, {"order=colour:block=4", 0}, {"order=auto", 0}};
  wr_env env = {.place = WR_HOST, .type = WR_F64, .threads = 1};
  entry entries[8 * ALL];
  int64_t count = 0;
  for (int64_t i = CONSTRAINTS; i < ALL; i++) {
    entries[count++] = (entry){i, i, 4};
    if (i + 1 < ALL) entries[count++] = (entry){i, i + 1, -1}, entries[count++] = (entry){i + 1, i, -1};
  }
  for (int64_t c = 0; c < CONSTRAINTS; c++) {
    if (c % 2) entries[count++] = (entry){c, c, 0}; /* stored or not */
    for (int64_t i = CONSTRAINTS + 5 * c, sign = 1; i < CONSTRAINTS + 5 * c + 4; i += 3, sign = -sign)
      entries[count++] = (entry){c, i, (double)sign}, entries[count++] = (entry){i, c, (double)sign};
  }
  wr_csr *A = matrix_of(ALL, entries, count, 1);
  CHECK_OK(wr_env_open(&env));
  for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
    wr_precond *p = NULL;
    CASE(orders[k].knobs);
    CHECK_OK(wr_precond_create(&wr_precond_ilu0, orders[k].knobs, A, &env, &p));
    if (p)
      CHECKF(wr_precond_get_info(p)->shifted == orders[k].shifted, "%lld pivots shifted",
             (long long)wr_precond_get_info(p)->shifted);
    wr_precond_destroy(p);
  }
  wr_env_close(&env);
  wr_csr_free(A);
}

/* ---- ILUT's rules ---- */

static void test_threshold(void) {
  wr_csr *A = random_matrix(80, 6, 9, 1, 77);
  wr_ilu_shifts shifts;
  for (int64_t fill = 0; fill < 4; fill++)
    for (double drop = 0; drop<0.2; drop = drop> 0 ? 10 * drop : 1e-3) {
      int64_t small = 0, long_rows = 0;
      wr_lu lu = {0};
      CASE("drop and fill");
      CHECK_OK(wr_ilut(A, drop, fill, 1e-8, NULL, &lu, &shifts));
      check_triangles(&lu);
      for (int64_t i = 0; i < A->nrows; i++) {
        double square = 0;
        int64_t below = 0, above = 0;
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
          square += A->val[k] * A->val[k], below += A->col[k]<i, above += A->col[k]> i;
        double bound = drop * sqrt(square) * (1 - 0x1p-40);
        for (int64_t k = lu.l_ptr[i]; k < lu.l_ptr[i + 1]; k++)
          small += drop > 0 && fabs(lu.l_val[k] / lu.inverse[lu.l_col[k]]) <= bound; /* as it was before the division */
        for (int64_t k = lu.u_ptr[i]; k < lu.u_ptr[i + 1]; k++) small += drop > 0 && fabs(lu.u_val[k]) <= bound;
        long_rows += lu.l_ptr[i + 1] - lu.l_ptr[i] > below + fill || lu.u_ptr[i + 1] - lu.u_ptr[i] > above + fill;
      }
      CHECKF(small == 0 && long_rows == 0, "drop %g, fill %lld: %lld small elements, %lld long rows", drop,
             (long long)fill, (long long)small, (long long)long_rows);
      CHECK(drop > 0 || fill == 0 || lu.l_ptr[lu.n] + lu.u_ptr[lu.n] + lu.n > A->nnz);
      wr_lu_free(&lu);
    }
  wr_csr_free(A);
}

/* The unit of A changes no choice: the factors of 2^k A are L and 2^k U. */
static void test_unit_of_threshold(void) {
  CASE("a matrix in another unit");
  wr_csr *A = random_matrix(80, 6, 9, 1, 77);
  wr_ilu_shifts shifts;
  wr_lu lu = {0}, scaled = {0};
  CHECK_OK(wr_ilut(A, 0.01, 3, 1e-8, NULL, &lu, &shifts));
  for (int power = -30; power <= 30; power += 60) {
    for (int64_t k = 0; k < A->nnz; k++) A->val[k] = ldexp(A->val[k], power);
    CHECK_OK(wr_ilut(A, 0.01, 3, 1e-8, NULL, &scaled, &shifts));
    int64_t lower = lu.l_ptr[lu.n], upper = lu.u_ptr[lu.n];
    if (scaled.l_ptr[lu.n] == lower && scaled.u_ptr[lu.n] == upper) {
      CHECK(memcmp(scaled.l_val, lu.l_val, (size_t)lower * sizeof(double)) == 0);
      for (int64_t k = 0; k < upper; k++) CHECK(scaled.u_val[k] == ldexp(lu.u_val[k], power));
    } else {
      CHECKF(0, "2^%d A: %lld entries of L, not %lld; %lld of U, not %lld", power, (long long)scaled.l_ptr[lu.n],
             (long long)lower, (long long)scaled.u_ptr[lu.n], (long long)upper);
    }
    for (int64_t k = 0; k < A->nnz; k++) A->val[k] = ldexp(A->val[k], -power);
    wr_lu_free(&scaled);
  }
  wr_lu_free(&lu);
  wr_csr_free(A);
}

/* Two elements of a row would be kept, and one may be: the larger one. */
static void test_largest_kept(void) {
  CASE("the largest element is kept");
  const double picture[16] = {1, 0, 3, -4, 0, 1, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1};
  wr_csr *A = matrix_of_picture(4, picture);
  wr_ilu_shifts shifts;
  wr_lu lu = {0};
  CHECK_OK(wr_ilut(A, 0, 0, 1e-8, NULL, &lu, &shifts)); /* row 3: L 1, 1, and -3 for column 2; two of them are kept */
  CHECK(lu.l_ptr[4] == 2 && lu.l_col[0] == 0 && lu.l_col[1] == 2 && lu.l_val[1] == -3 && lu.inverse[3] == 0.2);
  wr_lu_free(&lu);
  wr_csr_free(A);
}

static void test_memory_limit(void) {
  CASE("more fill than memory");
  wr_csr *A = band(2000000, 0, 0);
  wr_ilu_shifts shifts;
  wr_lu lu = {0};
  CHECK_FAILS(WR_ENOMEM, wr_ilut(A, 0, 1000000, 1e-8, NULL, &lu, &shifts)); /* up to 36 TB */
  CHECK_MESSAGE("a smaller fill takes less, and so does --precond ilu0");
  wr_lu_free(&lu);
  CHECK_OK(wr_ilut(A, 0, 10, 1e-8, NULL, &lu, &shifts));
  CHECK(lu.l_ptr[lu.n] == 0 && lu.u_ptr[lu.n] == 0);
  wr_lu_free(&lu);
  wr_csr_free(A);
}

/* ---- Levels ---- */

static void check_levels(const wr_levels *levels, const int64_t *ptr, const int32_t *col, int64_t n) {
  int64_t *level = room_for(n, sizeof *level), bad = 0, seen = 0;
  for (int64_t k = 0; k < levels->count; k++)
    for (int64_t p = levels->ptr[k]; p < levels->ptr[k + 1]; p++, seen++) {
      level[levels->row[p]] = k;
      bad += p > levels->ptr[k] && levels->row[p] <= levels->row[p - 1];
    }
  for (int64_t i = 0; i < n; i++) {
    int64_t least = 0;
    for (int64_t k = ptr[i]; k < ptr[i + 1]; k++)
      if (level[col[k]] >= least) least = level[col[k]] + 1;
    bad += level[i] != least;
  }
  CHECKF(bad == 0 && seen == n && levels->ptr[0] == 0 && levels->ptr[levels->count] == n, "%lld of %lld rows",
         (long long)bad, (long long)seen);
  free(level);
}

/* Levels of A in an order, and of A after it was reordered. */
static void test_levels_in_order(const wr_csr *A) {
  int64_t lower, upper, reordered_lower, reordered_upper, n = A->nrows;
  int32_t *order = room_for(n, sizeof *order);
  wr_csr *B = NULL;
  for (int64_t i = 0; i < n; i++) order[i] = (int32_t)(i % 2 ? i / 2 : n - 1 - i / 2);
  CHECK_OK(wr_csr_reorder(A, order, &B));
  CHECK_OK(wr_ilu0_levels(A, order, &lower, &upper));
  CHECK_OK(wr_ilu0_levels(B, NULL, &reordered_lower, &reordered_upper));
  CHECKF(lower == reordered_lower && upper == reordered_upper, "%lld and %lld, not %lld and %lld", (long long)lower,
         (long long)upper, (long long)reordered_lower, (long long)reordered_upper);
  wr_csr_free(B);
  free(order);
}

static void test_levels(const char *name, wr_csr *A, int64_t expected_lower, int64_t expected_upper) {
  wr_ilu_shifts shifts;
  wr_lu lu = {0};
  wr_levels lower, upper;
  int64_t counted_lower, counted_upper;
  CASE(name);
  CHECK_OK(wr_ilu0(A, 1e-8, NULL, &lu, &shifts));
  CHECK_OK(wr_lu_levels(&lu, &lower, &upper));
  CHECK_OK(wr_ilu0_levels(A, NULL, &counted_lower, &counted_upper));
  test_levels_in_order(A);
  CHECKF(lower.count == counted_lower && upper.count == counted_upper, "%lld and %lld", (long long)counted_lower,
         (long long)counted_upper);
  if (expected_lower)
    CHECKF(lower.count == expected_lower && upper.count == expected_upper, "%lld and %lld", (long long)lower.count,
           (long long)upper.count);
  check_levels(&lower, lu.l_ptr, lu.l_col, lu.n);
  check_levels(&upper, lu.u_ptr, lu.u_col, lu.n);
  wr_levels_free(&lower), wr_levels_free(&upper);
  wr_lu_free(&lu);
  wr_csr_free(A);
}

static void test_no_rows(void) {
  CASE("no rows");
  int64_t zero = 0;
  int32_t none = 0;
  const wr_lu lu = {.l_ptr = &zero, .u_ptr = &zero, .l_col = &none, .u_col = &none};
  wr_levels lower, upper;
  CHECK_OK(wr_lu_levels(&lu, &lower, &upper));
  CHECK(lower.count == 0 && upper.count == 0 && lower.ptr[0] == 0);
  CHECK(wr_lu_beyond_f32(&lu) == -1 && wr_lu_beyond_f32(NULL) == -1);
  wr_levels_free(&lower), wr_levels_free(&upper);
  CHECK_FAILS(WR_EUSAGE, wr_lu_levels(NULL, &lower, NULL));
  CHECK_FAILS(WR_EUSAGE, wr_lu_levels(&(wr_lu){0}, NULL, &upper));
  wr_lu_free(NULL), wr_lu_free(&(wr_lu){0}), wr_levels_free(NULL);
}

/* Rows of 1 to 4 entries, 3200 of each length and all of one level, need no padding in the form for a device. */
static void test_no_padding(void) {
  enum { N = 4 + 4 * 3200 };
  wr_ilu_shifts shifts;
  wr_lu lu = {0};
  wr_lu_slices slices;
  entry *entries = room_for(5 * N, sizeof *entries);
  int64_t count = 0;
  CASE("rows of few lengths are stored without padding");
  for (int64_t i = 0; i < N; i++) {
    for (int64_t j = 0; i >= 4 && j <= i % 4; j++) entries[count++] = (entry){i, j, -0.125};
    entries[count++] = (entry){i, i, 1};
  }
  wr_csr *A = matrix_of(N, entries, count, 1);
  CHECK_OK(wr_ilu0(A, 1e-8, NULL, &lu, &shifts));
  CHECK_OK(wr_lu_slices_make(&lu, 1, WR_LU_GATE_LEVEL, &slices));
  CHECKF(32 * slices.groups == lu.l_ptr[N] && lu.l_ptr[N] == count - N, "%lld elements for %lld entries",
         (long long)(32 * slices.groups), (long long)lu.l_ptr[N]);
  wr_lu_slices_free(&slices);
  wr_lu_free(&lu);
  wr_csr_free(A);
  free(entries);
}

/* ---- Reverse Cuthill-McKee ---- */

static int64_t bandwidth(const wr_csr *A, const int32_t *order) {
  int64_t *place = room_for(A->nrows, sizeof *place), most = 0;
  for (int64_t i = 0; i < A->nrows; i++) place[order ? order[i] : i] = i;
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      if (llabs(place[i] - place[A->col[k]]) > most) most = llabs(place[i] - place[A->col[k]]);
  free(place);
  return most;
}

static void check_permutation(const int32_t *order, int64_t n) {
  char *seen = room_for(n, 1);
  int64_t bad = 0;
  for (int64_t i = 0; i < n; i++) {
    int fits = order[i] >= 0 && order[i] < n && !seen[order[i]];
    if (fits) seen[order[i]] = 1;
    bad += !fits;
  }
  CHECKF(bad == 0, "%lld indices", (long long)bad);
  free(seen);
}

/* most: the bandwidth expected at most; 0: any. */
static void test_order(const char *name, wr_csr *A, int64_t most) {
  CASE(name);
  int32_t *order = room_for(A->nrows, sizeof *order), *again = room_for(A->nrows, sizeof *again);
  CHECK_OK(wr_rcm(A, NULL, order));
  check_permutation(order, A->nrows);
  if (most > 0) CHECKF(bandwidth(A, order) <= most, "%lld", (long long)bandwidth(A, order));
  omp_set_num_threads(3);
  CHECK_OK(wr_rcm(A, NULL, again));
  omp_set_num_threads(1);
  CHECK(memcmp(order, again, (size_t)A->nrows * sizeof *order) == 0);
  free(order), free(again);
  wr_csr_free(A);
}

/* A path from one end to the other has bandwidth 1; of a grid two neighbouring levels, from a corner, have at most twice its
 * shorter side. One-sided entries count as if both were there. */
static void test_orders(void) {
  wr_csr *shuffled = grid_of(40, 25, 9);
  CASE("a shuffled grid");
  CHECKF(bandwidth(shuffled, NULL) > 500, "%lld: the test shows little", (long long)bandwidth(shuffled, NULL));
  test_order("a shuffled grid", shuffled, 2 * 25);
  entry path[99];
  for (int64_t i = 0; i < 99; i++) path[i] = (entry){i * 37 % 100, (i + 1) * 37 % 100, 1};
  test_order("a shuffled path, one-sided", matrix_of(100, path, 99, 0), 1);
  test_order("no entries", matrix_of(7, NULL, 0, 1), 0);
  test_order("1 x 1", band(1, 0, 0), 0);
  test_order("a diagonal", band(50, 0, 0), 0);
  test_order("random, several components", random_matrix(300, 1, 0, 1, 4), 0);
  test_order("random", random_matrix(300, 8, 3, 1, 5), 0);
  entry star[99];
  for (int64_t i = 0; i < 99; i++) star[i] = (entry){50, i < 50 ? i : i + 1, 1};
  test_order("a star", matrix_of(100, star, 99, 1), 0);
}

/* ---- Colours of blocks ---- */

/* A block that is a path has at most block / 2 + 1 levels, any block at most as many as rows. colours: expected; 0: any. */
static void test_colours(const char *name, wr_csr *A, int64_t block, int64_t colours, int is_path) {
  CASE(name);
  int64_t n = A->nrows, lower, upper, in_block = is_path ? block / 2 + 1 : block;
  int32_t *order = room_for(n, sizeof *order), *again = room_for(n, sizeof *again);
  wr_block_colours found;
  wr_ilu_shifts shifts;
  wr_lu lu = {0};
  wr_csr *B = NULL;
  CHECK_OK(wr_block_colour(A, NULL, block, NULL, order, &found));
  check_permutation(order, n);
  CHECKF(found.blocks >= (n + block - 1) / block && found.blocks <= n && found.colours <= found.blocks,
         "%lld blocks, %lld colours", (long long)found.blocks, (long long)found.colours);
  if (colours > 0) CHECKF(found.colours == colours, "%lld colours", (long long)found.colours);
  CHECK_OK(wr_csr_reorder(A, order, &B));
  CHECK_OK(wr_ilu0_levels(B, NULL, &lower, &upper));
  CHECKF(lower <= found.colours * in_block && upper <= found.colours * in_block, "%lld + %lld levels, %lld colours",
         (long long)lower, (long long)upper, (long long)found.colours);
  if (block == 1)
    CHECKF(lower == found.colours, "%lld levels, %lld colours", (long long)lower, (long long)found.colours);
  wr_status status = wr_ilu0(B, 1e-8, NULL, &lu, &shifts);
  CHECKF(status == WR_OK || strstr(name, "NaN"), "%s", wr_status_message());
  if (status == WR_OK && A->val && shifts.count == 0) check_pattern(B, &lu), check_product(B, &lu, 0);
  omp_set_num_threads(3);
  CHECK_OK(wr_block_colour(A, NULL, block, NULL, again, &found));
  omp_set_num_threads(1);
  CHECK(memcmp(order, again, (size_t)n * sizeof *order) == 0);
  free(order), free(again);
  wr_lu_free(&lu);
  wr_csr_free(A), wr_csr_free(B);
}

/* Of a grid whose couplings along x are larger, every block is a piece of one line. */
static void test_strong_blocks(void) {
  CASE("blocks along large elements");
  enum { WIDTH = 40, HEIGHT = 7, BLOCK = 8 };
  wr_csr *A = grid_of(WIDTH, HEIGHT, 0);
  int32_t order[WIDTH * HEIGHT];
  int64_t broken = 0;
  wr_block_colours found;
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      if (llabs(A->col[k] - i) == WIDTH) A->val[k] = -0.01;
  CHECK_OK(wr_block_colour(A, NULL, BLOCK, NULL, order, &found));
  for (int64_t i = 0; i < A->nrows; i++) broken += order[i] / WIDTH != order[i / BLOCK * BLOCK] / WIDTH;
  CHECKF(broken == 0 && found.blocks == A->nrows / BLOCK, "%lld rows, %lld blocks", (long long)broken,
         (long long)found.blocks);
  wr_csr_free(A);
}

static void test_all_colours(void) {
  test_colours("colours of a grid's points", grid_of(40, 25, 0), 1, 2, 0);
  test_colours("colours of a shuffled grid", grid_of(40, 25, 9), 16, 0, 0);
  test_colours("colours of a path", band(500, 1, 1), 32, 2, 1);
  test_colours("colours of a path, one-sided", band(500, 0, 1), 7, 2, 1);
  test_colours("colours of a diagonal", band(50, 0, 0), 32, 1, 0);
  test_colours("colours of 1 x 1", band(1, 0, 0), 32, 1, 0);
  test_colours("colours of no entries", matrix_of(7, NULL, 0, 1), 3, 1, 0);
  test_colours("colours of a random matrix", random_matrix(300, 8, 3, 1, 5), 10, 0, 0);
  test_colours("colours of a pattern", random_matrix(300, 3, 3, 0, 6), 4096, 0, 0);
  entry star[298];
  for (int64_t i = 0; i < 149; i++) {
    star[2 * i] = (entry){75, i < 75 ? i : i + 1, NAN};
    star[2 * i + 1] = (entry){i < 75 ? i : i + 1, 75, i % 2 ? 0 : INFINITY};
  }
  test_colours("colours of a star of NaN, 0 and infinity", matrix_of(150, star, 298, 1), 9, 0, 0);
  test_strong_blocks();
}

/* ---- Substitution ---- */

static wr_lu copy_of(const wr_lu *lu) {
  wr_lu to = {.n = lu->n};
  int64_t below = lu->l_ptr[lu->n], above = lu->u_ptr[lu->n];
#define COPY(member, count)                                                           \
  do {                                                                                \
    if (wr_alloc(&to.member, (count), sizeof *to.member, "a test") != WR_OK) abort(); \
    memcpy(to.member, lu->member, (size_t)(count) * sizeof *to.member);               \
  } while (0)
  COPY(l_ptr, lu->n + 1);
  COPY(u_ptr, lu->n + 1);
  COPY(l_col, below);
  COPY(l_val, below);
  COPY(u_col, above);
  COPY(u_val, above);
  COPY(inverse, lu->n);
  if (lu->order) COPY(order, lu->n);
#undef COPY
  return to;
}

/* Columns that are r times powers of two, in rows of 2, 4 and 8, give z times these, in all bits. */
static void solve_columns(wr_lu_host *solver, wr_env *env, const wr_vec *r, const wr_vec *z) {
  double *given = room_for(8 * z->n, sizeof *given), *found = room_for(8 * z->n, sizeof *found);
  CHECK(wr_lu_host_columns(solver) == 8);
  for (int ld = 2; ld <= 8; ld *= 2) {
    wr_vec from = {0}, to = {0};
    int64_t wrong = 0;
    CHECK_OK(env->ops->alloc(env, ld * z->n, env->type, "a test", &from));
    CHECK_OK(env->ops->alloc(env, ld * z->n, env->type, "a test", &to));
    CHECK_OK(env->ops->download(env, r, given + 7 * z->n));
    for (int64_t i = 0; i < ld * z->n; i++) found[i] = ldexp(given[7 * z->n + i / ld], (int)(i % ld) - 3);
    CHECK_OK(env->ops->upload(env, &from, found));
    CHECK_OK(wr_lu_host_apply_many(solver, env, ld, &from, &to));
    CHECK_OK(env->ops->download(env, &to, found));
    CHECK_OK(env->ops->download(env, z, given));
    for (int64_t i = 0; i < ld * z->n; i++) wrong += found[i] != ldexp(given[i / ld], (int)(i % ld) - 3);
    CHECKF(wrong == 0, "%d columns: %lld elements have other bits", ld, (long long)wrong);
    CHECK_FAILS(WR_EUSAGE, wr_lu_host_apply_many(solver, env, 3, &from, &to));
    CHECK_FAILS(WR_EUSAGE, wr_lu_host_apply_many(solver, env, ld, &from, &from));
    CHECK_FAILS(WR_EUSAGE, wr_lu_host_apply_many(solver, env, ld, z, &to));
    CHECK_FAILS(WR_EUSAGE, wr_lu_host_apply_many(NULL, env, ld, &from, &to));
    env->ops->release(env, &from), env->ops->release(env, &to);
  }
  free(given), free(found);
}

/* z := M^-1 r by a team of so many threads. Returns whether levels were shared. */
static int solve_by(const wr_lu *lu, wr_type type, wr_type values, int threads, const double *r, double *z) {
  wr_env env = {.place = WR_HOST, .type = type, .threads = threads, .deterministic = 1, .need_columns = 8};
  wr_vec from = {0}, to = {0};
  wr_lu_host *solver = NULL;
  wr_lu copy = copy_of(lu);
  CHECK_OK(wr_env_open(&env));
  CHECK_OK(env.ops->alloc(&env, lu->n, type, "a test", &from));
  CHECK_OK(env.ops->alloc(&env, lu->n, type, "a test", &to));
  CHECK_OK(env.ops->upload(&env, &from, r));
  CHECK_OK(wr_lu_host_create(&copy, &env, values, &solver));
  CHECK(copy.l_ptr == NULL && copy.inverse == NULL);
  for (int k = 0; k < 3; k++) CHECK_OK(wr_lu_host_apply(solver, &env, &from, &to));
  CHECK_OK(env.ops->download(&env, &to, z));
  solve_columns(solver, &env, &from, &to);
  int by_levels = wr_lu_host_by_levels(solver);
  CHECK(wr_lu_host_bytes(solver) > 0);
  wr_lu_host_destroy(solver);
  env.ops->release(&env, &from), env.ops->release(&env, &to);
  wr_env_close(&env);
  return by_levels;
}

/* U P z = y and L y = P r, row by row, but for rounding: rows of m terms, each with a rounded product, in factors that are
 * rounded to the type, and z is stored in it (Higham 2002, theorem 8.5). */
static void check_solved(const wr_lu *lu, wr_type type, const double *r, const double *z) {
  int64_t n = lu->n, bad = 0;
  long double stored = (long double)wr_type_unit(type), value = type == WR_F32 ? stored : 0;
  long double *y = room_for(n, sizeof *y), *size = room_for(n, sizeof *size);
  for (int64_t i = 0; i < n; i++) { /* y := U P z, with the sum of sizes */
    int64_t at = lu->order ? lu->order[i] : i;
    y[i] = (long double)z[at] / (long double)lu->inverse[i], size[i] = fabsl(y[i]);
    for (int64_t k = lu->u_ptr[i]; k < lu->u_ptr[i + 1]; k++) {
      long double term = (long double)lu->u_val[k] * (long double)z[lu->order ? lu->order[lu->u_col[k]] : lu->u_col[k]];
      y[i] += term, size[i] += fabsl(term);
    }
  }
  for (int64_t i = 0; i < n; i++) { /* L y against P r */
    long double sum = y[i], all = size[i],
                length = (long double)(lu->u_ptr[i + 1] - lu->u_ptr[i] + lu->l_ptr[i + 1] - lu->l_ptr[i]);
    for (int64_t k = lu->l_ptr[i]; k < lu->l_ptr[i + 1]; k++) {
      sum += (long double)lu->l_val[k] * y[lu->l_col[k]];
      all += fabsl((long double)lu->l_val[k]) * size[lu->l_col[k]];
      length = fmaxl(length, (long double)(lu->u_ptr[lu->l_col[k] + 1] - lu->u_ptr[lu->l_col[k]]));
    }
    long double bound = (2 * (length + 4) * unit + 2 * stored + 3 * value) * 1.01L * all;
    bad += !(fabsl(sum - (long double)r[lu->order ? lu->order[i] : i]) <= bound);
  }
  CHECKF(bad == 0, "%lld rows of L U z are not r", (long long)bad);
  free(y), free(size);
}

static void test_substitution(const char *name, wr_csr *A, int reorder, int expects_levels) {
  wr_ilu_shifts shifts;
  wr_lu lu = {0};
  wr_csr *B = NULL;
  uint64_t seed = 12345;
  int64_t n = A->nrows;
  CASE(name);
  if (reorder) {
    CHECK_OK(wr_alloc(&lu.order, n, sizeof *lu.order, "a test"));
    CHECK_OK(wr_rcm(A, NULL, lu.order));
  }
  CHECK_OK(wr_csr_reorder(A, lu.order, &B));
  CHECK_OK(wr_ilu0(B, 1e-8, NULL, &lu, &shifts));
  double *r = room_for(n, sizeof *r), *one = room_for(n, sizeof *one), *z = room_for(n, sizeof *z);
  for (int64_t i = 0; i < n; i++) r[i] = (double)(float)(2 * random_in(&seed) - 1);
  for (int k = 0; k < 3; k++) { /* in f32; in f64 with factors in f32; in f64 */
    wr_type type = k == 0 ? WR_F32 : WR_F64, values = k < 2 ? WR_F32 : WR_F64;
    CHECK(solve_by(&lu, type, values, 1, r, one) == 0);
    check_solved(&lu, values, r, one);
    for (int threads = 2; threads <= 7; threads += 5) {
      CHECKF(solve_by(&lu, type, values, threads, r, z) == expects_levels, "%d threads", threads);
      CHECKF(memcmp(one, z, (size_t)n * sizeof *z) == 0, "other bits with %d threads", threads);
    }
  }
  free(r), free(one), free(z);
  wr_lu_free(&lu);
  wr_csr_free(A), wr_csr_free(B);
}

/* Elements that f32 does not hold are kept in f64, for vectors of f32. */
static void test_beyond_f32(void) {
  CASE("factors beyond f32");
  const double picture[4] = {0x1p-70, 0x1p70, 0x1p-70, 0x1p71};
  double z[2];
  wr_csr *A = matrix_of_picture(2, picture);
  wr_ilu_shifts shifts;
  wr_lu lu = {0};
  CHECK_OK(wr_ilu0(A, 0x1p-200, NULL, &lu, &shifts)); /* L = 1; U = 2^-70, 2^70, 2^70 */
  CHECK(wr_lu_beyond_f32(&lu) == -1);
  lu.inverse[0] = 0x1p140;
  CHECK(wr_lu_beyond_f32(&lu) == 0);
  lu.inverse[0] = 0x1p70, lu.u_val[0] = 0x1p128, lu.inverse[1] = 0x1p-70;
  CHECK(wr_lu_beyond_f32(&lu) == 0);
  lu.u_val[0] = 0x1p127;
  CHECK(wr_lu_beyond_f32(&lu) == -1);
  lu.u_val[0] = 0x1p140, lu.inverse[0] = 0x1p-140;
  (void)solve_by(&lu, WR_F32, WR_F32, 1, (const double[]){0x1p70, 0x1p71}, z); /* y = 2^70, 2^70; z = 2^-70 - 1, 1 */
  CHECKF(z[1] == 1 && z[0] == -1, "%g, %g", z[0], z[1]);
  wr_lu_free(&lu);
  wr_csr_free(A);
}

/* ---- As a preconditioner: sums, the step, and ending early ---- */

static void test_reductions(const wr_preconditioner *of, wr_type type) {
  wr_env env = {.place = WR_HOST, .type = type, .threads = 2};
  wr_vec r = {0}, z = {0}, bank = {0};
  wr_precond *p = NULL;
  wr_csr *A = band(50, 1, 1);
  double sums[3], *values = room_for(50, sizeof *values), *in = room_for(50, sizeof *in);
  long double dot = 0, square = 0, size = 0;
  CASE(of->name);
  for (int64_t i = 0; i < 50; i++) in[i] = (double)(i % 7 - 3);
  CHECK_OK(wr_env_open(&env));
  CHECK_OK(env.ops->alloc(&env, 50, type, "a test", &r));
  CHECK_OK(env.ops->alloc(&env, 50, type, "a test", &z));
  CHECK_OK(env.ops->alloc(&env, 3, WR_F64, "a test", &bank));
  CHECK_OK(env.ops->upload(&env, &r, in));
  CHECK_OK(wr_precond_create(of, NULL, A, &env, &p));
  uint64_t writes = z.writes;
  CHECK_OK(wr_precond_apply(p, &(wr_precond_request){.r = &r,
                                                     .z = &z,
                                                     .reduce = {{WR_DOT, NULL, &r, {&bank, 0}},
                                                                {WR_NRM2SQ, NULL, NULL, {&bank, 1}},
                                                                {WR_SUM, &r, NULL, {&bank, 2}}}}));
  CHECK(z.writes > writes);
  CHECK_OK(env.ops->download(&env, &z, values));
  CHECK_OK(env.ops->download(&env, &bank, sums));
  for (int64_t i = 0; i < 50; i++) {
    dot += (long double)values[i] * (long double)in[i], square += (long double)values[i] * (long double)values[i];
    size += fabsl((long double)values[i] * (long double)in[i]);
  }
  CHECKF(fabsl((long double)sums[0] - dot) <= 51 * unit * size, "%g, not %Lg", sums[0], dot);
  CHECKF(fabsl((long double)sums[1] - square) <= 51 * unit * square, "%g, not %Lg", sums[1], square);
  CHECKF(sums[2] == -3, "%g", sums[2]); /* seven times 0, and -3 */
  const wr_precond_info *info = wr_precond_get_info(p);
  CHECKF(strstr(info->line, "entries in L and U") && info->apply_bytes > 0 && info->extra_bytes > 0, "%s", info->line);
  wr_precond_destroy(p);
  env.ops->release(&env, &r), env.ops->release(&env, &z), env.ops->release(&env, &bank);
  wr_env_close(&env);
  wr_csr_free(A);
  free(values), free(in);
}

typedef struct countdown {
  int left;
  int stages, told; /* different names of work, and how often one was told    */
  const char *what; /* the last one                                           */
  double share;     /* of it: does not fall                                   */
} countdown;

static int counts_down(void *context) { return ((countdown *)context)->left-- <= 0; }

static void is_told(void *context, const char *what, double share) {
  countdown *count = context;
  if (count->what == NULL || strcmp(what, count->what) != 0) count->what = what, count->share = -1, count->stages++;
  CHECKF(share <= 1 && share >= count->share, "%s: %g after %g", what, share, count->share);
  count->share = share, count->told++;
}

/* However late the watch ends it, the work stops with a sentence, and all is freed; in the end it is not asked any more. */
static void test_watch(const wr_preconditioner *of, const char *knobs) {
  wr_env env = {.place = WR_HOST, .type = WR_F64, .threads = 1};
  wr_csr *A = grid_of(300, 200, 0);
  CASE(of->name);
  CHECK_OK(wr_env_open(&env));
  wr_status status = WR_EUNAVAILABLE;
  int asked = 0;
  for (; asked < 1000 && status == WR_EUNAVAILABLE; asked++) {
    countdown count = {.left = asked};
    wr_watch watch = {counts_down, &count, is_told};
    wr_precond *p = NULL;
    env.watch = &watch;
    status = wr_precond_create(of, knobs, A, &env, &p);
    CHECKF(status == WR_OK || status == WR_EUNAVAILABLE, "%s", wr_status_message());
    if (status != WR_OK) CHECK_MESSAGE("was ended early");
    CHECK((status == WR_OK) == (p != NULL));
    if (status == WR_OK)
      CHECKF(count.stages == (knobs == NULL             ? 2
                              : strstr(knobs, "colour") ? 4
                                                        : 1) &&
                 count.told >= 3 && count.share > 0,
             "%d stages, told %d times", count.stages, count.told);
    wr_precond_destroy(p);
  }
  CHECKF(asked >= 3 && status == WR_OK, "asked %d times", asked);
  wr_env_close(&env);
  wr_csr_free(A);
}

static void test_refusals(void) {
  CASE("arguments");
  wr_csr *A = band(4, 1, 1), *B = NULL;
  wr_ilu_shifts shifts;
  wr_lu lu = {0};
  int32_t order[4];
  int64_t levels;
  CHECK_FAILS(WR_EUSAGE, wr_rcm(NULL, NULL, order));
  CHECK_FAILS(WR_EUSAGE, wr_rcm(A, NULL, NULL));
  wr_block_colours found;
  CHECK_FAILS(WR_EUSAGE, wr_block_colour(NULL, NULL, 8, NULL, order, &found));
  CHECK_FAILS(WR_EUSAGE, wr_block_colour(A, NULL, 8, NULL, NULL, &found));
  CHECK_FAILS(WR_EUSAGE, wr_block_colour(A, NULL, 8, NULL, order, NULL));
  CHECK_FAILS(WR_EUSAGE, wr_block_colour(A, NULL, 0, NULL, order, &found));
  CHECK_FAILS(WR_EUSAGE, wr_block_colour(A, NULL, WR_MOST_BLOCK + 1, NULL, order, &found));
  CHECK_FAILS(WR_EUSAGE, wr_csr_reorder(NULL, NULL, &B));
  CHECK_FAILS(WR_EUSAGE, wr_csr_reorder(A, NULL, NULL));
  CHECK_FAILS(WR_EUSAGE, wr_ilu0_levels(A, NULL, &levels, NULL));
  CHECK_FAILS(WR_EUSAGE, wr_ilu0(NULL, 0.5, NULL, &lu, &shifts));
  CHECK_FAILS(WR_EUSAGE, wr_ilu0(A, 0.5, NULL, NULL, &shifts));
  CHECK_FAILS(WR_EUSAGE, wr_ilu0(A, 0, NULL, &lu, &shifts));
  CHECK_FAILS(WR_EUSAGE, wr_ilu0(A, NAN, NULL, &lu, &shifts));
  CHECK_FAILS(WR_EUSAGE, wr_ilut(A, -1, 0, 0.5, NULL, &lu, &shifts));
  CHECK_FAILS(WR_EUSAGE, wr_ilut(A, 0, -1, 0.5, NULL, &lu, &shifts));
  CHECK_FAILS(WR_EUSAGE, wr_ilut(A, NAN, 0, 0.5, NULL, &lu, &shifts));
  CHECK_FAILS(WR_EUSAGE, wr_ilut(A, 0, 0, 1, NULL, &lu, &shifts));
  A->ncols = 5;
  CHECK_FAILS(WR_EUSAGE, wr_rcm(A, NULL, order));
  CHECK_FAILS(WR_EUSAGE, wr_block_colour(A, NULL, 8, NULL, order, &found));
  CHECK_FAILS(WR_EUSAGE, wr_csr_reorder(A, NULL, &B));
  CHECK_FAILS(WR_EUSAGE, wr_ilu0(A, 0.5, NULL, &lu, &shifts));
  CHECK_FAILS(WR_EUSAGE, wr_ilut(A, 0, 0, 0.5, NULL, &lu, &shifts));
  A->ncols = 4;
  wr_lu_free(&lu);
  wr_csr_free(A);
}

int main(void) {
  omp_set_num_threads(1);
  test_product("tridiagonal", band(30, 1, 1));
  test_product("a grid", grid_of(9, 7, 0));
  test_product("a shuffled grid", grid_of(9, 7, 3));
  test_product("random", random_matrix(60, 7, 9, 1, 5));
  test_product("1 x 1", band(1, 0, 0));
  test_no_fill("tridiagonal, without fill", band(200, 1, 1));
  test_no_fill("a tree, without fill", tree(200, 8));
  test_no_fill("a triangle", band(20, 1, 0));
  test_pivots();
  test_pivot_in_order();
  test_overflow();
  test_raise_overflows();
  test_constraints_last();
  test_threshold();
  test_unit_of_threshold();
  test_largest_kept();
  test_memory_limit();
  test_levels("a diagonal has one level", band(40, 0, 0), 1, 1);
  test_levels("a bidiagonal matrix has n levels", band(40, 1, 0), 40, 1);
  test_levels("above the diagonal, too", band(40, 0, 1), 1, 40);
  test_levels("a grid has its diagonals as levels", grid_of(9, 7, 0), 15, 15);
  test_levels("levels of a random matrix", random_matrix(300, 5, 9, 1, 6), 0, 0);
  test_no_rows();
  test_no_padding();
  test_orders();
  test_all_colours();
  test_substitution("one row", band(1, 0, 0), 0, 0);
  test_substitution("tridiagonal, solved", band(500, 1, 1), 0, 0);
  test_substitution("a grid, in reverse Cuthill-McKee's order", grid_of(60, 50, 7), 1, 0);
  test_substitution("two levels, shared by threads", two_levels(30000, 21), 0, 1);
  test_beyond_f32();
  for (int type = WR_F32; type <= WR_F64; type++) {
    test_reductions(&wr_precond_ilu0, (wr_type)type);
    test_reductions(&wr_precond_ilut, (wr_type)type);
  }
  test_watch(&wr_precond_ilu0, NULL);
  test_watch(&wr_precond_ilut, "order=given");
  test_watch(&wr_precond_ilu0, "order=colour:block=5");
  test_refusals();
  return wr_test_report("ilu");
}
