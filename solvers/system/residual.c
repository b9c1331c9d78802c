#include "solvers/residual.h"

#include <limits.h>
#include <math.h>

#include "config/argument.h"
#include "config/elements.h"
#include "config/memory.h"
#include "spmv/parts/halo.h"

/* Rows that one thread adds up; the blocks' sums are added in their order, whatever the number of threads. */
enum { BLOCK = 1 << 12 };

/* A sum of squares in three parts, none of which overflows or loses what matters: of values below 2^-SQUARE_RANGE times
 * 2^SQUARE_SHIFT, of ordinary ones, and of those above 2^SQUARE_RANGE times 2^-SQUARE_SHIFT (Blue 1978). */
typedef struct square_sum {
  double small, ordinary, large;
} square_sum;

enum { SQUARE_SHIFT = 600 };
#define SQUARE_RANGE 0x1p480

typedef struct block_sums {
  square_sum values, errors, sizes;
  double backward;
  int64_t backward_row;
} block_sums;

static void add_square(square_sum *s, double value) {
  if (fabs(value) > SQUARE_RANGE)
    value = ldexp(value, -SQUARE_SHIFT), s->large += value * value;
  else if (fabs(value) < 1 / SQUARE_RANGE)
    value = value == 0 ? 0 : ldexp(value, SQUARE_SHIFT), s->small += value * value;
  else
    s->ordinary += value * value;
}

static void join_squares(square_sum *s, const square_sum *more) {
  s->small += more->small, s->ordinary += more->ordinary, s->large += more->large;
}

/* NaN for a sum of NaN. */
static double root_of(const square_sum *s) {
  if (s->large != 0) return ldexp(sqrt(s->large + ldexp(s->ordinary, -2 * SQUARE_SHIFT)), SQUARE_SHIFT);
  if (s->ordinary != 0) return sqrt(s->ordinary + ldexp(s->small, -2 * SQUARE_SHIFT));
  return ldexp(sqrt(s->small), -SQUARE_SHIFT);
}

/* sum + correction is the sum so far, but for the rounding of the correction; pieces: the sum of |values| added to it. */
typedef struct double_sum {
  double sum, correction, pieces;
} double_sum;

static double_sum correct(double_sum s, double piece) {
  return (double_sum){s.sum, s.correction + piece, s.pieces + fabs(piece)};
}

static double_sum add(double_sum s, double value) { /* Knuth's two-sum */
  double next = s.sum + value, part = next - s.sum, piece = (s.sum - (next - part)) + (value - part);
  s.sum = next;
  return correct(s, piece);
}

/* Factors in this range have a product, and an error of it, that are far from the ends of f64. */
static int is_ordinary(double value) { return fabs(value) >= 0x1p-450 && fabs(value) <= 0x1p450; }

/* r - value x 2^exponent where the factors, scaled one by one, could be over an end of f64 although their product is not. Only
 * what is below 2^-1022 is lost. */
static double_sum subtract_product(double_sum r, double value, double x, int exponent, double *size) {
  int of_value, of_x;
  double a = frexp(value, &of_value), u = frexp(x, &of_x), product = a * u, error = fma(a, u, -product);
  int power = of_value + of_x + exponent;
  *size += ldexp(fabs(product), power);
  return correct(add(r, -ldexp(product, power)), -ldexp(error, power));
}

static const wr_row_residual infinite = {INFINITY, INFINITY, INFINITY, INFINITY};

static double error_of(const double_sum *r, int64_t length) { return (2 * (double)length + 2) * 0x1p-53 * r->pieces; }

/* As row_of, for a row that may underflow or overflow in the units of the scaled b: in units in which its largest term is about
 * 1. */
static wr_row_residual row_in_own_units(const wr_system *s, const double *x, int64_t i) {
  const wr_csr *A = s->A;
  const double b = s->given ? s->given[i] : s->b[i];
  const int of_given = s->given ? 0 : -s->exponent;
  int most = INT_MIN, of_value, of_x;
  if (b != 0) frexp(b, &most), most += of_given;
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
    double value = A->val ? A->val[k] : 1, x_k = x[A->col[k]];
    if (!isfinite(value) || !isfinite(x_k)) return infinite;
    if (value == 0 || x_k == 0) continue;
    frexp(value, &of_value), frexp(x_k, &of_x);
    if (of_value + of_x > most) most = of_value + of_x;
  }
  if (most == INT_MIN) return (wr_row_residual){0}; /* all terms are 0 */
  double_sum r = {.sum = ldexp(b, of_given - most)};
  double size = fabs(r.sum);
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
    double value = A->val ? A->val[k] : 1, x_k = x[A->col[k]];
    if (value != 0 && x_k != 0) r = subtract_product(r, value, x_k, -most, &size);
  }
  double value = r.sum + r.correction, error = error_of(&r, A->row_ptr[i + 1] - A->row_ptr[i]);
  int power = most + s->exponent;
  return (wr_row_residual){ldexp(value, power), ldexp(error, power), ldexp(size, power), fabs(value) / size};
}

static wr_row_residual row_of(const wr_system *s, const double *x, int64_t i, wr_scale_factor of_matrix,
                              wr_scale_factor of_x) {
  const wr_csr *A = s->A;
  double_sum r = {.sum = s->b[i]};
  double size = fabs(s->b[i]);
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
    double value = A->val ? A->val[k] : 1, x_k = x[A->col[k]];
    double a = wr_scale_times(of_matrix, value), u = wr_scale_times(of_x, x_k);
    if (!(is_ordinary(a) && is_ordinary(u)) && isfinite(value) && isfinite(x_k)) {
      if (value != 0 && x_k != 0) r = subtract_product(r, value, x_k, s->exponent, &size);
      continue;
    }
    double product = a * u;
    r = correct(add(r, -product), -fma(a, u, -product));
    size += fabs(product);
  }
  if (!(size >= 0x1p-900 && size <= 0x1p900)) return row_in_own_units(s, x, i);
  double value = r.sum + r.correction, error = error_of(&r, A->row_ptr[i + 1] - A->row_ptr[i]);
  return (wr_row_residual){value, error, size, fabs(value) / size};
}

wr_row_residual wr_residual_row(const wr_system *s, const double *x, int64_t i) {
  if (s == NULL || s->A == NULL || x == NULL || i < 0 || i >= s->n) return infinite;
  return row_of(s, x, i, wr_scale_of(s->matrix_exponent), wr_scale_of(s->exponent - s->matrix_exponent));
}

/* Without an atol a residual that underflows to 0 may be one of a wrong x. */
int wr_residual_meets(const wr_system *s, const wr_residual *found, double tolerance, int by_backward) {
  if (s == NULL || found == NULL || !isfinite(found->norm + found->error)) return 0;
  double most = found->norm + found->error;
  if (s->absolute > 0 && most <= s->absolute) return 1;
  return by_backward ? found->backward <= tolerance : most <= tolerance * s->norm_b;
}

static block_sums sum_block(const wr_system *s, const double *x, double *q, int64_t block) {
  const wr_scale_factor of_matrix = wr_scale_of(s->matrix_exponent),
                        of_x = wr_scale_of(s->exponent - s->matrix_exponent);
  block_sums sums = {.backward_row = block * BLOCK};
  for (int64_t i = block * BLOCK; i < s->n && i < (block + 1) * BLOCK; i++) {
    /* An element of x may be in no row. */
    wr_row_residual row = isfinite(x[i]) ? row_of(s, x, i, of_matrix, of_x) : infinite;
    add_square(&sums.values, row.value);
    add_square(&sums.errors, row.error);
    add_square(&sums.sizes, row.size);
    if (row.backward > sums.backward) sums.backward = row.backward, sums.backward_row = i;
    if (q) q[i] = row.value;
  }
  return sums;
}

static void join_blocks(block_sums *all, const block_sums *block) {
  join_squares(&all->values, &block->values);
  join_squares(&all->errors, &block->errors);
  join_squares(&all->sizes, &block->sizes);
  if (block->backward > all->backward) all->backward = block->backward, all->backward_row = block->backward_row;
}

/* all := the sums over the rows of all parts. */
static wr_status join_sums(const wr_csr *A, block_sums *all) {
  square_sum sums[] = {all->values, all->errors, all->sizes};
  PASS(wr_comm_sum(wr_csr_comm(A), (double *)sums, 3 * 3));
  all->values = sums[0], all->errors = sums[1], all->sizes = sums[2];
  return wr_csr_join_most(A, &all->backward, &all->backward_row);
}

wr_status wr_residual_find(const wr_system *system, const double *x, double *q, wr_residual *found) {
  wr_status status;
  int64_t count;
  block_sums *blocks = NULL, all = {0};
  double *extended = NULL;
  WR_NEED(system);
  WR_NEED(x);
  WR_NEED(found);
  WR_REFUSE_IF(system->A == NULL, "system is not built");
  count = (system->n + BLOCK - 1) / BLOCK;
  TRY(wr_comm_agree(system->comm, wr_alloc(&blocks, count, sizeof *blocks, "sums of a residual")));
  if (system->comm) {
    TRY(wr_halo_extend(system->A, x, &extended));
    x = extended;
  }
#pragma omp parallel for schedule(dynamic) if (system->n > BLOCK)
  for (int64_t k = 0; k < count; k++) blocks[k] = sum_block(system, x, q, k);
  for (int64_t k = 0; k < count; k++) join_blocks(&all, &blocks[k]);
  if (system->comm) TRY(join_sums(system->A, &all));
  *found = (wr_residual){root_of(&all.values), root_of(&all.errors), root_of(&all.sizes), all.backward,
                         all.backward_row};
done:
  wr_free(extended);
  wr_free(blocks);
  return status;
}
