/* What the generated families of systems promise: aniso, jump, convect, saddle, circuit. Every number here follows from the
 * family's definition, by another way than there. That a matrix is nonsingular is computed exactly: doubles are whole
 * numbers times powers of two, so they have a residue modulo a prime, and where the determinant's residue is not 0, the
 * determinant is not. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/generate.h"
#include "tests/check.h"

static wr_csr *make(const char *name) {
  wr_csr *A = NULL;
  CASE(name);
  CHECK_OK(wr_generate(name, 2, &A));
  if (A == NULL) exit(wr_test_report("families_systems"));
  CHECK_OK(wr_csr_check(A));
  CHECK(A->nrows == A->ncols && A->val != NULL);
  int64_t rows, entries;
  CHECK_OK(wr_generate_extent(name, &rows, &entries));
  CHECK(rows == A->nrows);
  CHECKF(A->nnz <= entries + entries / 10 + 10 && (A->nrows < 1000 || A->nnz >= entries - entries / 10),
         "%lld entries, %lld expected", (long long)A->nnz, (long long)entries);
  return A;
}

/* Entry (i, j), or 0 where there is none. */
static double at(const wr_csr *A, int64_t i, int64_t j) {
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
    if (A->col[k] == j) return A->val[k];
  return 0;
}

static int64_t length(const wr_csr *A, int64_t i) { return A->row_ptr[i + 1] - A->row_ptr[i]; }

static wr_csr *transposed(const wr_csr *A) {
  wr_csr *T = NULL;
  CHECK_OK(wr_csr_transpose(A, &T));
  if (T == NULL) exit(wr_test_report("families_systems"));
  return T;
}

static int same_pattern(const wr_csr *A, const wr_csr *B) {
  return A->nnz == B->nnz && memcmp(A->row_ptr, B->row_ptr, (size_t)(A->nrows + 1) * sizeof *A->row_ptr) == 0 &&
         memcmp(A->col, B->col, (size_t)A->nnz * sizeof *A->col) == 0;
}

/* The flag, and the truth, bit for bit. */
static void check_symmetric(const wr_csr *A, int expected) {
  wr_csr *T = transposed(A);
  int equal = same_pattern(A, T) && memcmp(A->val, T->val, (size_t)A->nnz * sizeof *A->val) == 0;
  CHECKF(A->symmetric == expected && equal == expected, "flag %d, equal %d", A->symmetric, equal);
  wr_csr_free(T);
}

/* Rows of the first n in which the diagonal is not above the sum of the sizes of the other entries in the first n columns. The
 * sum has a relative error below 2^-49; wr_dominant leaves 2^-48. */
static int64_t weak_rows(const wr_csr *A, int64_t begin, int64_t n) {
  int64_t weak = 0;
  for (int64_t i = begin; i < n; i++) {
    double sum = 0, diagonal = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      if (A->col[k] == i)
        diagonal = A->val[k];
      else if (A->col[k] < n)
        sum += fabs(A->val[k]);
    }
    weak += !(diagonal >= sum * (1 + 0x1p-49)) || diagonal == 0;
  }
  return weak;
}

/* Entries outside of the diagonal that are not negative. */
static int64_t not_negative(const wr_csr *A) {
  int64_t count = 0;
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) count += A->col[k] != i && !(A->val[k] < 0);
  return count;
}

static double row_sum(const wr_csr *A, int64_t i, double *sizes) {
  double sum = 0;
  *sizes = 0;
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
    sum += A->val[k];
    *sizes += fabs(A->val[k]);
  }
  return sum;
}

static int64_t grid_points(int64_t n, int dims) { return dims == 2 ? n * n : n * n * n; }

static int64_t grid_entries(int64_t n, int dims) { return dims == 2 ? 5 * n * n - 4 * n : 7 * n * n * n - 6 * n * n; }

/* Whether point i is away from the walls. */
static int is_inner(int64_t i, int64_t n, int dims) {
  for (int d = 0; d < dims; d++, i /= n)
    if (i % n == 0 || i % n == n - 1) return 0;
  return 1;
}

/* Axis along which j is the next point after i, or -1 if it is not. */
static int axis_to(int64_t i, int64_t j, int64_t n, int dims) {
  int64_t stride = 1;
  for (int d = 0; d < dims; d++, stride *= n)
    if (j - i == stride && i / stride % n + 1 < n) return d;
  return -1;
}

/* ---- exact nonsingularity ---- */

static const uint64_t prime = (UINT64_C(1) << 61) - 1; /* 2^61 = 1, so powers of two are rotations */
__extension__ typedef unsigned __int128 wide;

static uint64_t product(uint64_t a, uint64_t b) { return (uint64_t)((wide)a * b % prime); }

static uint64_t residue(double x) {
  int exponent;
  int64_t whole = (int64_t)(frexp(x, &exponent) * 0x1p53);
  int turn = ((exponent - 53) % 61 + 61) % 61;
  uint64_t size = product((uint64_t)(whole < 0 ? -whole : whole) % prime, UINT64_C(1) << turn);
  return whole < 0 && size > 0 ? prime - size : size;
}

static uint64_t inverse(uint64_t a) { /* a^(prime - 2) */
  uint64_t result = 1, power = prime - 2;
  for (; power > 0; power >>= 1, a = product(a, a))
    if (power & 1) result = product(result, a);
  return result;
}

/* Whether elimination modulo the prime finds a pivot in each column. M is n x n by rows, and destroyed. */
static int is_nonsingular(uint64_t *M, int64_t n) {
  for (int64_t c = 0; c < n; c++) {
    int64_t pivot = c;
    while (pivot < n && M[pivot * n + c] == 0) pivot++;
    if (pivot == n) return 0;
    for (int64_t j = c; j < n; j++) {
      uint64_t other = M[c * n + j];
      M[c * n + j] = M[pivot * n + j];
      M[pivot * n + j] = other;
    }
    uint64_t factor = inverse(M[c * n + c]);
    for (int64_t i = c + 1; i < n; i++) {
      uint64_t times = product(M[i * n + c], factor);
      for (int64_t j = c; times != 0 && j < n; j++)
        M[i * n + j] = (M[i * n + j] + prime - product(times, M[c * n + j])) % prime;
    }
  }
  return 1;
}

static void check_nonsingular(const char *name) {
  wr_csr *A = make(name);
  uint64_t *M = calloc((size_t)(A->nrows * A->nrows), sizeof *M);
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) M[i * A->nrows + A->col[k]] = residue(A->val[k]);
  CHECK(is_nonsingular(M, A->nrows));
  free(M);
  wr_csr_free(A);
}

static void test_nonsingular(void) {
  static const char *const names[] = {
      "gen:aniso:n=1", "gen:aniso:n=12,ratio=1e9", "gen:aniso:n=5,dims=3",
      "gen:jump:n=1,contrast=1", "gen:jump:n=12,domains=4,contrast=1e15", "gen:jump:n=5,dims=3,domains=9",
      "gen:convect:n=1", "gen:convect:n=12,peclet=1e6", "gen:convect:n=12,peclet=1e6,scheme=central",
      "gen:convect:n=12,flow=vortex,stretch=1e6", "gen:convect:n=12,flow=vortex,scheme=central,stretch=1e6",
      "gen:convect:n=5,dims=3,scheme=central,peclet=100", "gen:convect:n=5,dims=3,flow=vortex,stretch=10",
      "gen:saddle:n=1", "gen:saddle:n=2", "gen:saddle:n=8,viscosity=1e-9", "gen:saddle:n=7,convection=0.99",
      "gen:saddle:n=1,dims=3", "gen:saddle:n=4,dims=3,viscosity=1e9", "gen:saddle:n=3,dims=3,convection=0.1",
      "gen:circuit:n=2,rails=1", "gen:circuit:n=3,rails=2,sources=1", "gen:circuit:n=200",
      "gen:circuit:n=150,rails=1,sources=1,active=1,spread=1e15", "gen:circuit:n=150,rails=140,sources=1",
      "gen:circuit:n=201,rails=2,sources=0.5,active=1,seed=5", "gen:circuit:n=200,sources=0,active=0,spread=1"};
  CASE("residues"); /* a sum of row residues that is 0 is found, whatever the powers of two */
  uint64_t M[9] = {residue(0x1p-40), residue(-0x1p-40), 0, residue(-3), residue(5), residue(-2), 0, residue(-7e20),
                   residue(7e20)};
  CHECK(!is_nonsingular(M, 3));
  uint64_t N[9] = {residue(0x1p-40), residue(-0x1p-40), 0, residue(-3), residue(5), residue(-2), 0, residue(-7e20),
                   residue(7e20 + 0x1p20)};
  CHECK(is_nonsingular(N, 3));
  for (size_t m = 0; m < sizeof names / sizeof names[0]; m++) check_nonsingular(names[m]);
}

/* ---- aniso ---- */

static void test_aniso(int64_t n, int dims, double ratio) {
  char name[100];
  snprintf(name, sizeof name, "gen:aniso:n=%lld,dims=%d,ratio=%.17g", (long long)n, dims, ratio);
  wr_csr *A = make(name);
  int64_t wrong = 0;
  CHECK(A->nrows == grid_points(n, dims) && A->nnz == grid_entries(n, dims));
  check_symmetric(A, 1);
  for (int64_t i = 0; i < A->nrows; i++) {
    double diagonal = at(A, i, i), sizes, sum = row_sum(A, i, &sizes);
    wrong += diagonal != 2 * ratio + 2 * (dims - 1) || (is_inner(i, n, dims) ? sum != 0 : sum <= 0);
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      int64_t j = A->col[k];
      if (j == i) continue;
      int axis = j > i ? axis_to(i, j, n, dims) : axis_to(j, i, n, dims);
      wrong += axis < 0 || A->val[k] != (axis == 0 ? -ratio : -1);
    }
  }
  CHECKF(wrong == 0, "%lld", (long long)wrong);
  wr_csr_free(A);
}

/* A ratio with an endless binary fraction: rows inside still sum to 0, exactly. */
static void test_aniso_sums(void) {
  wr_csr *A = make("gen:aniso:n=9,dims=3,ratio=123456.7");
  int64_t wrong = 0;
  for (int64_t i = 0; i < A->nrows; i++) {
    double sizes;
    wrong += row_sum(A, i, &sizes) != 0 && is_inner(i, 9, 3);
  }
  CHECKF(wrong == 0, "%lld", (long long)wrong);
  CHECK(fabs(at(A, 0, 1) + 123456.7) <= 0x1p-21);
  wr_csr_free(A);
}

/* ---- jump ---- */

/* Minus the entry between two points in the middle of the same subdomain is the coefficient; n is a multiple of 3 domains. */
static double coefficient_at(const wr_csr *A, int64_t point, int64_t n, int64_t domains, int dims) {
  int64_t side = n / domains, middle = 0, stride = 1;
  for (int d = 0; d < dims; d++, stride *= n) middle += (point / stride % n / side * side + 1) * stride;
  return -at(A, middle, middle + 1);
}

static void test_jump(int64_t domains, int dims, double contrast, int powers) {
  int64_t n = 3 * domains, wrong = 0, inside = 0, high = 0;
  char name[100];
  snprintf(name, sizeof name, "gen:jump:n=%lld,dims=%d,domains=%lld,contrast=%g", (long long)n, dims,
           (long long)domains, contrast);
  wr_csr *A = make(name);
  CHECK(A->nrows == grid_points(n, dims) && A->nnz == grid_entries(n, dims) && not_negative(A) == 0);
  check_symmetric(A, 1);
  CHECK(weak_rows(A, 0, A->nrows) == 0);
  for (int64_t i = 0; i < A->nrows; i++) {
    double a = coefficient_at(A, i, n, domains, dims), sizes, sum = row_sum(A, i, &sizes);
    int exponent;
    wrong += frexp(a, &exponent) != 0.5 || exponent < 1 || exponent > powers + 1;
    high += exponent - 1 > powers / 2;
    if (is_inner(i, n, dims)) wrong += sum > 0x1p-46 * sizes, inside++;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      if (A->col[k] == i) continue;
      double b = coefficient_at(A, A->col[k], n, domains, dims), resistance = (1 / a + 1 / b) / 2;
      wrong += fabs(-A->val[k] * resistance - 1) > 8 * 0x1p-53;
    }
  }
  CHECKF(wrong == 0, "%lld", (long long)wrong);
  CHECK(inside == (n > 2 ? grid_points(n - 2, dims) : 0));
  /* of k levels, about half are high; a binomial number of subdomains */
  double count = (double)grid_points(domains, dims), share = (double)(powers - powers / 2) / (powers + 1);
  double found = (double)high / (double)grid_points(3, dims);
  CHECKF(fabs(found - share * count) <= 6 * sqrt(share * (1 - share) * count), "%g of %g subdomains", found, count);
  wr_csr_free(A);
}

/* ---- convect ---- */

/* The entry of the central scheme's row for its neighbours below and above along an axis, on an even grid. */
static void test_convect_even(int upwind, int dims) {
  char name[100];
  double p = 3;
  int64_t n = 6, wrong = 0, stride = 1;
  snprintf(name, sizeof name, "gen:convect:n=6,dims=%d,peclet=3,scheme=%s", dims, upwind ? "upwind" : "central");
  wr_csr *A = make(name);
  CHECK(A->nrows == grid_points(n, dims) && A->nnz == grid_entries(n, dims));
  for (int d = 0; d < dims; d++, stride *= n)
    for (int64_t i = 0; i < A->nrows; i++) {
      int away = 1; /* two points from every wall, where cells are 1 wide */
      for (int64_t e = 0, rest = i; e < dims; e++, rest /= n) away &= rest % n > 1 && rest % n < n - 2;
      double speed = ldexp(p, -d);
      if (!away) continue;
      wrong += at(A, i, i - stride) != (upwind ? -speed - 1 : -speed / 2 - 1);
      wrong += at(A, i, i + stride) != (upwind ? -1 : speed / 2 - 1);
    }
  CHECKF(wrong == 0, "%lld", (long long)wrong);
  wr_csr_free(A);
}

/* Spacings shrink by stretch^(1/n), as the entries of pure diffusion along x tell: -(width along y) / spacing. */
static void test_convect_spacing(int64_t n, double stretch) {
  char name[100];
  snprintf(name, sizeof name, "gen:convect:n=%lld,peclet=0,stretch=%.17g", (long long)n, stretch);
  wr_csr *A = make(name);
  int64_t wrong = 0;
  double factor = pow(stretch, 1 / (double)n);
  check_symmetric(A, 1);
  for (int64_t i = 0; i + 2 < n; i++) wrong += fabs(at(A, i + 1, i + 2) / at(A, i, i + 1) / factor - 1) > 1e-13;
  CHECKF(wrong == 0, "%lld", (long long)wrong);
  wr_csr_free(A);
}

static void test_convect_flow(const char *name, int64_t n, int dims, int upwind) {
  wr_csr *A = make(name), *T = transposed(A);
  int64_t wrong = 0;
  check_symmetric(A, 0);
  CHECK(same_pattern(A, T));
  if (upwind) {
    CHECK(not_negative(A) == 0);
    CHECK(weak_rows(T, 0, T->nrows) == 0); /* by columns */
  } else {
    CHECK(not_negative(A) > 0);
    for (int64_t k = 0; k < A->nnz; k++) A->val[k] = A->val[k] / 2 + T->val[k] / 2;
    CHECK(not_negative(A) == 0);
    CHECK(weak_rows(A, 0, A->nrows) == 0); /* the symmetric part */
    for (int64_t k = 0; k < A->nnz; k++) A->val[k] = 2 * A->val[k] - T->val[k];
  }
  for (int64_t i = 0; i < A->nrows; i++) { /* inside, a constant is neither moved nor smoothed */
    double sizes, sum = row_sum(A, i, &sizes);
    wrong += is_inner(i, n, dims) && fabs(sum) > 1e-10 * sizes;
  }
  CHECKF(wrong == 0, "%lld inner rows do not sum to 0", (long long)wrong);
  wr_csr_free(T);
  wr_csr_free(A);
}

/* In the middle of a wall the vortex has the speed `peclet`; opposite walls have opposite directions, in the order in which
 * the stream function turns: along +x below the middle. */
static void test_convect_vortex(void) {
  int64_t n = 101;
  double speed[2], h = 1.0 / (double)(n + 1);
  wr_csr *A = make("gen:convect:n=101,peclet=40,scheme=central,flow=vortex");
  for (int side = 0; side < 2; side++) { /* along x, between the middle point and the next, in the rows next to the walls */
    int64_t i = (side == 0 ? 1 : n - 2) * n + n / 2;
    speed[side] = at(A, i, i + 1) - at(A, i + 1, i);
  }
  /* the mean over the face, 3/2 to 5/2 points off the wall, of 4 p x (1 - x) (1 - 2 y); x is half a point off the middle */
  double x = 0.5 + h / 2, expected = 160 * x * (1 - x) * (1 - 4 * h);
  CHECKF(fabs(speed[0] / expected - 1) < 1e-10 && fabs(speed[1] / -expected - 1) < 1e-10, "%.15g %.15g, not +- %.15g",
         speed[0], speed[1], expected);
  wr_csr_free(A);
}

/* ---- saddle ---- */

/* Entry (i, j) by the definition. */
static double saddle_entry(int64_t i, int64_t j, int64_t n, int dims, double viscosity, double convection) {
  int64_t points = grid_points(n, dims), I = i / points, J = j / points, c = i % points, o = j % points;
  if (I == dims && J == dims) return 0;
  if (I == dims) return saddle_entry(j, i, n, dims, viscosity, convection);
  if (J == dims) return o == c ? 1 : axis_to(c, o, n, dims) == I ? -1 : 0;
  if (I != J) return 0;
  if (c == o) return 2 * dims * viscosity;
  if (axis_to(c, o, n, dims) >= 0) return -viscosity * (1 - convection);
  return axis_to(o, c, n, dims) >= 0 ? -viscosity * (1 + convection) : 0;
}

static void test_saddle(int64_t n, int dims, double viscosity, double convection) {
  char name[100];
  snprintf(name, sizeof name, "gen:saddle:n=%lld,dims=%d,viscosity=%g,convection=%g", (long long)n, dims, viscosity,
           convection);
  wr_csr *A = make(name);
  int64_t wrong = 0, zeros = 0;
  CHECK(A->nrows == (dims + 1) * grid_points(n, dims));
  for (int64_t i = 0; i < A->nrows; i++) {
    for (int64_t j = 0; j < A->nrows; j++) wrong += at(A, i, j) != saddle_entry(i, j, n, dims, viscosity, convection);
    zeros += at(A, i, i) == 0;
  }
  for (int64_t k = 0; k < A->nnz; k++) wrong += A->val[k] == 0;
  CHECKF(wrong == 0, "%lld entries", (long long)wrong);
  CHECK(zeros == grid_points(n, dims));
  check_symmetric(A, convection == 0 || n == 1);
  wr_csr_free(A);
}

/* ---- circuit ---- */

typedef struct counts {
  int64_t floating, dense, active;
  double least, most; /* sum of sizes of a node's row, sources apart */
} counts;

/* The rows of sources: the same values as their columns, and either a rail or a pair of nodes. */
static void check_sources(const wr_csr *A, const wr_csr *T, int64_t n, int64_t rails) {
  int64_t wrong = 0, *taken = calloc((size_t)n, sizeof *taken);
  for (int64_t i = n; i < A->nrows; i++) {
    int64_t k = A->row_ptr[i], a = A->col[k];
    wrong += length(A, i) != length(T, i) || A->val[k] != 1 || taken[a]++ != 0;
    for (int64_t e = 0; e < length(A, i); e++)
      wrong += A->col[k + e] != T->col[T->row_ptr[i] + e] || A->val[k + e] != T->val[T->row_ptr[i] + e];
    if (i < n + rails)
      wrong += length(A, i) != 1 || a != i - n;
    else
      wrong += length(A, i) != 2 || a < rails || (a - rails) % 2 != 0 || A->col[k + 1] != a + 1 || A->val[k + 1] != -1;
  }
  CHECKF(wrong == 0, "%lld", (long long)wrong);
  free(taken);
}

static counts count_circuit(const wr_csr *A, int64_t n, int64_t rails) {
  counts found = {.least = INFINITY};
  found.floating = A->nrows - n - rails;
  for (int64_t i = rails; i < n; i++) {
    double sizes = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      if (A->col[k] >= n) continue;
      sizes += fabs(A->val[k]);
      found.active += A->col[k] != i && A->val[k] > 0;
    }
    found.least = fmin(found.least, sizes);
    found.most = fmax(found.most, sizes);
  }
  for (int64_t r = 0; r < rails; r++) found.dense += length(A, r) - 2; /* its diagonal and its source apart */
  return found;
}

static void check_chance(const char *what, double count, double mean, double variance) {
  CHECKF(fabs(count - mean) <= 6 * sqrt(variance) + 1, "%s: %g, expected %g +- %g", what, count, mean, sqrt(variance));
}

static void test_circuit(const char *name, int64_t n, int64_t rails, double sources, double active, double spread) {
  wr_csr *A = make(name), *T = transposed(A);
  double nodes = (double)(n - rails);
  counts found = count_circuit(A, n, rails);
  CHECKF((double)found.floating == floor(sources * floor(nodes / 2) + 0.5), "%lld", (long long)found.floating);
  check_sources(A, T, n, rails);
  int64_t zeros = 0;
  for (int64_t i = 0; i < A->nrows; i++) zeros += at(A, i, i) == 0;
  CHECK(zeros == rails + found.floating);
  CHECKF(weak_rows(A, rails, n) == 0, "%lld rows", (long long)weak_rows(A, rails, n));
  check_symmetric(A, active == 0);
  if (active > 0) CHECK(!same_pattern(A, T));
  check_chance("supplied nodes", (double)found.dense, nodes / 2, nodes / 4);
  for (int64_t r = 0; r < rails; r++) {
    check_chance("nodes of a rail", (double)length(A, r) - 2, nodes / (double)rails / 2, nodes / (double)rails / 4);
    CHECK(length(T, r) >= length(A, r)); /* its column has them, too */
  }
  /* a control of no node, of the node itself, or at the end of a smaller wire does not count: fewer than one in 30 */
  check_chance("active nodes", (double)found.active, nodes * active * 59 / 60,
               nodes * active * (1 - active) + pow(nodes * active / 360, 2));
  CHECKF(found.most / found.least >= spread, "rows of nodes from %g to %g", found.least, found.most);
  wr_csr_free(T);
  wr_csr_free(A);
}

int main(void) {
  test_nonsingular();
  for (int dims = 2; dims <= 3; dims++) {
    test_aniso(1, dims, 1);
    test_aniso(2, dims, 1000);
    test_aniso(9, dims, 1048577);
    test_jump(1, dims, 1000, 9);
    test_jump(6, dims, 1e6, 19);
    test_jump(5, dims, 1, 0);
    test_jump(7, dims, 1e15, 49);
    test_convect_even(0, dims);
    test_convect_even(1, dims);
    test_saddle(1, dims, 1, 0);
    test_saddle(2, dims, 0.5, 0.25);
    test_saddle(4, dims, 3, 0);
    test_saddle(4, dims, 3, 0.75);
    test_saddle(3, dims, 0.7, 0.3);
  }
  test_aniso_sums();
  test_convect_spacing(3, 1);
  test_convect_spacing(40, 1000);
  test_convect_spacing(37, 1e6);
  test_convect_vortex();
  test_convect_flow("gen:convect:n=40", 40, 2, 1);
  test_convect_flow("gen:convect:n=40,flow=vortex,peclet=1e6", 40, 2, 1);
  test_convect_flow("gen:convect:n=40,flow=vortex,stretch=1000", 40, 2, 1);
  test_convect_flow("gen:convect:n=11,dims=3,flow=vortex,stretch=10", 11, 3, 1);
  test_convect_flow("gen:convect:n=11,dims=3,stretch=10", 11, 3, 1);
  test_convect_flow("gen:convect:n=40,scheme=central", 40, 2, 0);
  test_convect_flow("gen:convect:n=40,scheme=central,flow=vortex,peclet=1e6", 40, 2, 0);
  test_convect_flow("gen:convect:n=40,scheme=central,flow=vortex,stretch=1000", 40, 2, 0);
  test_convect_flow("gen:convect:n=11,dims=3,scheme=central,stretch=10", 11, 3, 0);
  test_circuit("gen:circuit:n=20000", 20000, 8, 0.05, 0.2, 1e6);
  test_circuit("gen:circuit:n=20001,rails=3,sources=1,active=1,spread=1e12", 20001, 3, 1, 1, 1e12);
  test_circuit("gen:circuit:n=5000,rails=100,sources=0,active=0,spread=1,seed=9", 5000, 100, 0, 0, 1);
  return wr_test_report("families_systems");
}
