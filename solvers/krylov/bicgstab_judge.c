#include "solvers/krylov/bicgstab_judge.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/argument.h"
#include "config/elements.h"
#include "config/memory.h"
#include "solvers/krylov/method.h"
#include "solvers/verify.h"
#include "spmv/parts/halo.h"

wr_status wr_bicgstab_true_residual(wr_bicgstab *s, const wr_vec *x, double *norm) {
  double bank[WR_MAX_SCALARS];
  const wr_solve_scalars *scalars = (const wr_solve_scalars *)bank;
  wr_epilogue e = {.shift = WR_SOLVE_SCALAR(s, one),
                   .shift_dir = &s->b,
                   .reduce = {{WR_NRM2SQ, NULL, NULL, WR_SOLVE_SCALAR(s, qq)}}};
  if (s->weight.id) e.reduce[0].kind = WR_NRM2SQ_SCALED, e.reduce[0].z = &s->weight;
  wr_fused sum = {.in = {x}, .reduce = {{WR_SUM, x, NULL, WR_SOLVE_SCALAR(s, sum_x)}}};
  PASS(wr_plan_apply(s->plan, &(wr_apply){.alpha = -1, .x = x, .y = &s->t, .epilogue = &e}));
  PASS(s->env->ops->fused(s->env, &sum));
  PASS(s->env->ops->download(s->env, &s->bank, bank));
  *norm = isfinite(scalars->sum_x) ? sqrt(scalars->qq) : INFINITY;
  return WR_OK;
}

/* Largest |elements|: of the correction x, and of the unknown u = base + x. */
typedef struct extent {
  double correction, unknown;
} extent;

/* u := base + x, x being on the device. */
static wr_status take_unknown(wr_bicgstab *s, extent *e) {
  const wr_system *system = s->system;
  const wr_csr *A = system->A;
  const wr_scale_factor power = wr_scale_of(-system->exponent - system->rhs_exponent);
  const int *columns = system->scaling.column_exponent;
  int64_t n = system->n, beyond = n, below = n, big = n > 1 << 14;
  double correction = 0, unknown = 0;
  if (s->u == NULL) PASS(wr_comm_agree(system->comm, wr_alloc(&s->u, n, sizeof *s->u, "the solution")));
  PASS(s->env->ops->download(s->env, &s->x, s->u));
#pragma omp parallel for schedule(static) reduction(max : correction, unknown) reduction(min : beyond, below) if (big)
  for (int64_t i = 0; i < n; i++) {
    correction = fmax(correction, fabs(s->u[i]));
    if (s->refined) s->u[i] += s->base[i];
    double u = s->u[i], x = system->inverse_diagonal ? u * system->inverse_diagonal[i] : u;
    x = fabs(columns ? ldexp(x, power.exponent + columns[i]) : wr_scale_times(power, x));
    unknown = fmax(unknown, fabs(u));
    if (!isfinite(x) && i < beyond) beyond = i;
    if (x < DBL_MIN && u != 0 && i < below) below = i;
  }
  double most[] = {correction, unknown};
  int64_t first[] = {beyond < n ? -wr_csr_row_number(A, beyond) : INT64_MIN,
                     below < n ? -wr_csr_row_number(A, below) : INT64_MIN};
  PASS(wr_comm_max(system->comm, most, 2));
  PASS(wr_comm_max_counts(system->comm, first, 2));
  *e = (extent){most[0], most[1]};
  s->beyond = first[0] > INT64_MIN ? -first[0] : -1, s->below = first[1] > INT64_MIN ? -first[1] : -1;
  return WR_OK;
}

/* A bound on the error of the device's ||b - A u||. In a row the error is at most wr_row_bound of |A| |x| + |b|, and the sum of
 * |A| over a row times the largest |x| is at least |A| |x|. Then there is the rounding of base, of u and of the answer, all in
 * f64, and that of the sum of squares. */
static double device_error(const wr_bicgstab *s, const extent *e, double norm) {
  const wr_system *system = s->system;
  wr_rounding rounding = wr_rounding_of(s->env, s->plan);
  double length = (double)system->longest_row, n = (double)system->n_all, unit = 0x1p-53;
  double size = system->row_norm * e->correction + (s->refined ? s->found.norm : system->norm_b);
  double rows = wr_row_bound(rounding, length, size, 0);
  double rest = wr_row_bound(rounding, length, 0, length * e->correction);
  return rows + system->weight_norm * rest + 6 * unit * system->row_norm * e->unknown + (2048 + n / 512) * unit * norm;
}

/* Computes the residual of u on the host. */
static wr_status find_on_host(wr_bicgstab *s, double *norm) {
  wr_status status;
  const wr_system *system = s->system;
  double *x = NULL;
  status = wr_alloc(&x, system->n, sizeof *x, "judging a residual");
  if (status == WR_OK && s->residual == NULL)
    status = wr_alloc(&s->residual, system->n, sizeof *s->residual, "a residual");
  TRY(wr_comm_agree(system->comm, status));
  memcpy(x, s->u, (size_t)system->n * sizeof *x);
  wr_system_unscale(system, x);
  TRY(wr_residual_find(system, x, s->residual, &s->found));
  s->on_host = 1;
  *norm = s->found.norm + s->found.error;
done:
  wr_free(x);
  return status;
}

wr_status wr_bicgstab_judge_on_host(wr_bicgstab *s, double *norm) {
  extent e;
  wr_status status = take_unknown(s, &e);
  return status == WR_OK ? find_on_host(s, norm) : status;
}

wr_status wr_bicgstab_judge(wr_bicgstab *s, double bound, double *norm) {
  extent e;
  PASS(take_unknown(s, &e));
  double error = device_error(s, &e, *norm);
  int is_met = *norm + error <= bound, is_missed = *norm - error > bound && error <= *norm / 1000;
  s->on_host = 0;
  if (s->beyond >= 0 || s->below >= 0 || !(is_met || is_missed)) PASS(find_on_host(s, norm));
  return WR_OK;
}

wr_status wr_bicgstab_refine(wr_bicgstab *s) {
  const wr_vecops *ops = s->env->ops;
  int64_t n = s->system->n;
  wr_status status = s->base ? WR_OK : wr_alloc(&s->base, n, sizeof *s->base, "a refinement");
  if (status == WR_OK && s->rhs == NULL) status = wr_alloc(&s->rhs, n, sizeof *s->rhs, "a refinement");
  PASS(wr_comm_agree(s->system->comm, status));
  memcpy(s->base, s->u, (size_t)n * sizeof *s->base);
  PASS(wr_system_scale_rows(s->system, s->residual, s->rhs));
  s->refined = 1;
  PASS(ops->upload(s->env, &s->b, s->rhs));
  PASS(ops->upload(s->env, &s->t, s->rhs));
  PASS(ops->fill(s->env, &s->x, 0));
  PASS(ops->fill(s->env, &s->d, 0));
  return ops->fill(s->env, &s->snapshot, 0);
}

wr_status wr_bicgstab_forget_refinement(wr_bicgstab *s) {
  if (!s->refined) return WR_OK;
  s->refined = 0;
  return wr_bicgstab_place_rhs(s);
}

static void add_to_note(wr_result *result, const char *format, ...) WR_PRINTF(2, 3);
static void add_to_note(wr_result *result, const char *format, ...) {
  char clause[sizeof result->note], before[sizeof result->note];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(clause, sizeof clause, format, arguments);
  va_end(arguments);
  snprintf(before, sizeof before, "%s", result->note);
  snprintf(result->note, sizeof result->note, "%.180s%s%.218s", before, before[0] ? "; " : "", clause);
}

double wr_bicgstab_rounded(const wr_bicgstab *s) {
  wr_rounding rounding = wr_rounding_of(s->env, s->plan);
  return (2 * rounding.unit + rounding.term_unit) * s->found.size;
}

void wr_bicgstab_explain_stagnation(const wr_bicgstab *s, double norm, wr_result *result) {
  int is_f32 = s->env->type == WR_F32;
  double of_b = s->system->norm_b > 0 ? s->system->norm_b : 1;
  double rounded = wr_bicgstab_rounded(s);
  result->outcome = WR_STAGNATED, result->note[0] = '\0';
  if (s->beyond >= 0) {
    result->outcome = WR_NON_FINITE;
    add_to_note(result, "element %lld of the solution is beyond f64: scale the right-hand side",
                (long long)(s->beyond + wr_csr_first(s->system->A)));
  } else if (s->below >= 0) {
    add_to_note(result,
                "element %lld of the solution is below the normal numbers of f64, 2.2e-308, and loses digits: "
                "scale the right-hand side",
                (long long)(s->below + wr_csr_first(s->system->A)));
  } else if (norm <= rounded) {
    add_to_note(result,
                "%.3g ||b|| is what %s attains here, where rounding comes to up to %.3g: %sa larger tolerance "
                "would help",
                norm / of_b, is_f32 ? "f32" : "f64", rounded / of_b, is_f32 ? "-p f64 or " : "");
  } else {
    add_to_note(result,
                "the true residual stays at %.3g ||b|| while that of the iteration falls: the matrix is singular, "
                "or its condition is too large for %s",
                norm / of_b, is_f32 ? "f32; -p f64 may help" : "f64");
  }
}

/* x is rounded to f64, so that no backward error much below its unit can be asked for. */
void wr_bicgstab_explain_backward(const wr_bicgstab *s, int is_residual_met, wr_result *result) {
  const double attained = 64 * 0x1p-53;
  result->note[0] = '\0';
  if (s->found.backward <= attained)
    add_to_note(result, "a backward error of %.3g is what f64 attains here: a larger tolerance would help",
                s->found.backward);
  else
    add_to_note(result, "%sthe backward error stays at %.3g, that of row %lld",
                is_residual_met ? "the residual meets the tolerance, but " : "", s->found.backward,
                (long long)(s->found.backward_row + wr_csr_first(s->system->A)));
}

/* 1 if some values are so small beside the largest one that products with them, or their squares, underflow. */
static int is_range_too_wide(const wr_bicgstab *s) {
  double share = s->env->type == WR_F32 ? (double)FLT_MIN : 0x1p-400;
  return s->system->smallest > 0 && s->system->smallest < s->system->largest * share;
}

void wr_bicgstab_explain(const wr_bicgstab *s, double guess_norm, wr_result *result) {
  const wr_system *system = s->system;
  int is_f32 = s->env->type == WR_F32;
  if (wr_outcome_exit_code(result->outcome) == 5 && is_range_too_wide(s))
    add_to_note(result, "the values of %s range from %.3g to %.3g, and products with them overflow or underflow %s%s%s",
                system->inverse_diagonal ? "A D^-1" : "the matrix", system->smallest, system->largest,
                is_f32 ? "f32" : "f64", system->scaling.done == WR_SCALE_NONE ? ": --scale equilibrate" : "",
                !is_f32                                 ? ""
                : system->scaling.done == WR_SCALE_NONE ? ", or -p f64"
                                                        : ": -p f64");
  if (s->from_zero)
    add_to_note(result, "the first guess was replaced by 0, as its residual is %.3g ||b||",
                guess_norm / system->norm_b);
}

wr_status wr_bicgstab_last_product(wr_bicgstab *s, double *u, double *b, double *q) {
  WR_REFUSE_IF(s == NULL || s->env == NULL, "s is %s", s ? "not open" : "NULL");
  WR_NEED(u);
  WR_NEED(b);
  WR_NEED(q);
  PASS(s->env->ops->download(s->env, &s->x, u));
  PASS(s->env->ops->download(s->env, &s->t, q));
  memcpy(b, s->refined ? s->rhs : s->system->rhs, (size_t)s->system->n * sizeof *b);
  return WR_OK;
}
