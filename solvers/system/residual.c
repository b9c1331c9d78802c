#include "solvers/residual.h"

#include <math.h>

#include "config/argument.h"
#include "config/elements.h"
#include "config/memory.h"
#include "spmv/parts/halo.h"

/* Rows that one thread adds up; the blocks' sums are added in their order, whatever the number of threads. */
enum { BLOCK = 1 << 12 };

/* A sum of squares below it may consist of underflow alone: the norm is then at most sqrt(n) times the largest element. */
static const double least_sum = 0x1p-900;

typedef struct block_sums {
  double squares, errors, sizes, largest, backward;
  int64_t backward_row;
} block_sums;

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
 * what is below 2^-1022, beside a b of about 1, is lost. */
static double_sum subtract_product(double_sum r, double value, double x, int exponent, double *size) {
  int of_value, of_x;
  double a = frexp(value, &of_value), u = frexp(x, &of_x), product = a * u, error = fma(a, u, -product);
  int power = of_value + of_x + exponent;
  *size += ldexp(fabs(product), power);
  return correct(add(r, -ldexp(product, power)), -ldexp(error, power));
}

static wr_row_residual row_of(const wr_system *s, const double *x, int64_t i, wr_scale_factor of_matrix,
                              wr_scale_factor of_x) {
  const wr_csr *A = s->A;
  double_sum r = {.sum = s->b[i]};
  double size = fabs(s->b[i]), length = (double)(A->row_ptr[i + 1] - A->row_ptr[i]);
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
  double value = r.sum + r.correction;
  return (wr_row_residual){isfinite(value) ? value : INFINITY, (2 * length + 2) * 0x1p-53 * r.pieces, size};
}

wr_row_residual wr_residual_row(const wr_system *s, const double *x, int64_t i) {
  if (s == NULL || s->A == NULL || x == NULL || i < 0 || i >= s->n)
    return (wr_row_residual){INFINITY, INFINITY, INFINITY};
  return row_of(s, x, i, wr_scale_of(s->matrix_exponent), wr_scale_of(s->exponent - s->matrix_exponent));
}

double wr_residual_backward(const wr_row_residual *row) {
  if (row == NULL || !isfinite(row->value) || !isfinite(row->size)) return INFINITY;
  return row->size > 0 ? fabs(row->value) / row->size : 0;
}

static block_sums sum_block(const wr_system *s, const double *x, double *q, int64_t block) {
  const wr_scale_factor of_matrix = wr_scale_of(s->matrix_exponent),
                        of_x = wr_scale_of(s->exponent - s->matrix_exponent);
  block_sums sums = {.backward_row = block * BLOCK};
  for (int64_t i = block * BLOCK; i < s->n && i < (block + 1) * BLOCK; i++) {
    wr_row_residual row = row_of(s, x, i, of_matrix, of_x);
    sums.squares += row.value * row.value;
    sums.errors += row.error * row.error;
    sums.largest = fmax(sums.largest, fabs(row.value));
    sums.sizes += row.size * row.size;
    double backward = wr_residual_backward(&row);
    if (backward > sums.backward) sums.backward = backward, sums.backward_row = i;
    if (q) q[i] = row.value;
  }
  return sums;
}

/* all := the sums over the rows of all parts. */
static wr_status join_sums(const wr_csr *A, block_sums *all) {
  wr_comm *comm = wr_csr_comm(A);
  double sums[] = {all->squares, all->errors, all->sizes}, most[] = {all->largest, all->backward};
  int64_t row = wr_csr_row_number(A, all->backward_row);
  PASS(wr_comm_sum(comm, sums, 3));
  PASS(wr_comm_max(comm, most, 2));
  row = all->backward == most[1] ? -row : INT64_MIN; /* the first of those that have it */
  PASS(wr_comm_max_counts(comm, &row, 1));
  all->squares = sums[0], all->errors = sums[1], all->sizes = sums[2], all->largest = most[0], all->backward = most[1];
  all->backward_row = -row;
  return WR_OK;
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
  for (int64_t k = 0; k < count; k++) {
    all.squares += blocks[k].squares, all.errors += blocks[k].errors, all.sizes += blocks[k].sizes;
    all.largest = fmax(all.largest, blocks[k].largest);
    if (blocks[k].backward > all.backward) all.backward = blocks[k].backward, all.backward_row = blocks[k].backward_row;
  }
  if (system->comm) TRY(join_sums(system->A, &all));
  double norm = all.squares > least_sum ? sqrt(all.squares) : sqrt((double)system->n_all) * all.largest;
  *found = (wr_residual){norm, sqrt(all.errors), sqrt(all.sizes), all.backward, all.backward_row};
done:
  wr_free(extended);
  wr_free(blocks);
  return status;
}
