#include "solvers/program/auto_precond.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/memory.h"
#include "config/text.h"
#include "solvers/report/ledger.h"
#include "spmv/matrix/matrix_facts.h"

/* The cost model: on the host in multiplies of BiCGSTAB with the vectors that it moves (2 threads of an EPYC, 2026-11), on a
 * device in seconds (H200, 2026-11). */
static const double factorise_costs = 60, of_a_row = 4; /* ordering and factorisation: 60, and 4 for each entry of a mean row */
static const double host_applies = 2.7;                 /* an iteration with ILU(0) by the time of one without             */
static const double host_bandwidth = 2e10, device_bandwidth = 3e12, device_multiply = 4e-6, device_level = 1.4e-6;

/* A rate promises too many multiplies where convergence becomes faster. So often the cost of a factorisation must be promised;
 * fewer times where the promise has hardly shrunk since the last review. */
static const double doubt = 2.5, less_doubt = 1.7, hardly_shrunk = 0.9;

/* ILU(0) takes a fifth of the multiplies in the mean, so each may cost five times as much. */
static const double least_share = 0.2;

/* Where nothing was promised without ILU(0), it gets so many times its cost until its progress is judged. */
static const double patience = 1.5;

/* What is known of the diagonal of a matrix. */
typedef struct diagonal_facts {
  double spread;         /* largest / smallest |element|; infinity: one is 0                    */
  double plain, divided; /* cosine of the angle between the identity and A, and A D^-1, in the Frobenius inner product */
} diagonal_facts;

enum { ROWS = 4096 }; /* of a block, whose sums are added in one order, whatever the number of threads */

/* Sums over a block of rows. */
typedef struct block_sums {
  double trace, squares, divided;
} block_sums;

/* d[n] := the diagonal; its largest and smallest |element|. */
static void take_diagonal(const wr_csr *A, double *d, double *largest, double *smallest) {
  double least = INFINITY, most = 0;
#pragma omp parallel for schedule(static) reduction(min : least) reduction(max : most)
  for (int64_t i = 0; i < A->nrows; i++) {
    int64_t k = wr_csr_find(A, i, i);
    d[i] = k < 0 ? 0 : A->val ? A->val[k] : 1;
    least = fmin(least, fabs(d[i])), most = fmax(most, fabs(d[i]));
  }
  *largest = most, *smallest = least;
}

static block_sums add_rows(const wr_csr *A, const double *d, double most, int64_t from) {
  block_sums sums = {0};
  int64_t end = from + ROWS < A->nrows ? from + ROWS : A->nrows;
  for (int64_t i = from; i < end; i++) {
    sums.trace += d[i] / most;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      double value = A->val ? A->val[k] : 1, share = value / d[A->col[k]];
      sums.squares += value / most * (value / most), sums.divided += share * share;
    }
  }
  return sums;
}

static wr_status look_at_diagonal(const wr_csr *A, diagonal_facts *facts) {
  wr_status status;
  double *d = NULL, most, least, n = (double)A->nrows;
  block_sums *blocks = NULL, all = {0};
  int64_t count = (A->nrows + ROWS - 1) / ROWS;
  *facts = (diagonal_facts){.spread = INFINITY};
  TRY(wr_alloc(&d, A->nrows, sizeof *d, "a diagonal"));
  TRY(wr_alloc(&blocks, count, sizeof *blocks, "sums over a matrix"));
  take_diagonal(A, d, &most, &least);
  if (!(least > 0) || !isfinite(most) || !isfinite(1 / least)) goto done;
#pragma omp parallel for schedule(static)
  for (int64_t k = 0; k < count; k++) blocks[k] = add_rows(A, d, most, k * ROWS);
  for (int64_t k = 0; k < count; k++)
    all.trace += blocks[k].trace, all.squares += blocks[k].squares, all.divided += blocks[k].divided;
  *facts = (diagonal_facts){most / least, fabs(all.trace) / sqrt(n * all.squares), n / sqrt(n * all.divided)};
done:
  wr_free(d);
  wr_free(blocks);
  return status;
}

/* M for the beginning: the diagonal of a matrix that may be positive definite, for which it is nearly the best diagonal matrix
 * (van der Sluis 1969); of another where A D^-1 is nearer to a multiple of the identity than A. */
static wr_status choose_start(wr_auto_precond *a) {
  wr_status status;
  wr_csr *A = a->system->matrix;
  diagonal_facts f;
  TRY(look_at_diagonal(A, &f));
  if (isfinite(f.spread) && f.spread > 1.5 && (a->is_positive || f.divided > f.plain))
    TRY(wr_precond_create(&wr_precond_jacobi, NULL, A, a->env, &a->jacobi));
done:
  return status;
}

/* The costs of ILU(0), levels being those of L and U together. */
static void estimate(wr_auto_precond *a, double levels) {
  const wr_csr *A = a->system->matrix;
  double type = (double)wr_type_bytes(a->env->type), n = (double)A->nrows, nnz = (double)A->nnz;
  double bytes = (4 + type) * nnz + (8 + 2 * type) * n;
  a->worth = factorise_costs + of_a_row * nnz / fmax(n, 1), a->share = 1 / host_applies;
  if (a->env->place == WR_HOST) return;
  double multiply = bytes / device_bandwidth + device_multiply;
  a->worth *= bytes / host_bandwidth / multiply;
  a->share = multiply / (2 * multiply + levels * device_level);
}

wr_status wr_auto_begin(wr_auto_precond *a, wr_system *system, wr_env *env, wr_run_precond *report) {
  wr_status status = WR_OK;
  *a = (wr_auto_precond){.system = system, .env = env, .report = report};
  if (system->positive == 0) system->positive = wr_is_symmetric_positive(system->matrix) ? 1 : -1;
  a->is_positive = system->positive > 0;
  if (system->matrix->row_ptr) TRY(choose_start(a)); /* else a device has scaled it, and fetching it would cost time */
  estimate(a, 0);
  snprintf(report->name, sizeof report->name, "auto");
  if (a->jacobi) {
    const wr_precond_info *info = wr_precond_get_info(a->jacobi);
    report->bytes = info->extra_bytes, report->apply_bytes = info->apply_bytes;
  }
done:
  return status;
}

static const char *start_name(const wr_auto_precond *a) { return a->jacobi ? "jacobi" : "none"; }

static void report(wr_auto_precond *a, const char *format, ...) WR_PRINTF(2, 3);
static void report(wr_auto_precond *a, const char *format, ...) {
  char text[sizeof a->report->line];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  size_t used = strlen(a->report->line);
  if (used + 2 < sizeof a->report->line)
    snprintf(a->report->line + used, sizeof a->report->line - used, "%s%s", used ? "; " : "", text);
}

/* a->ilu := ILU(0), once; is_refused where there is none to go on with. */
static wr_status factorise(wr_auto_precond *a) {
  wr_watch watch = wr_monitor_watch(a->monitor);
  if (a->ilu || a->is_refused) return WR_OK;
  a->env->watch = &watch;
  double begin = wr_clock();
  wr_status status = wr_csr_host(a->system->matrix, a->env);
  if (status == WR_OK) status = wr_precond_create(&wr_precond_ilu0, NULL, a->system->matrix, a->env, &a->ilu);
  a->env->watch = NULL;
  a->report->seconds += wr_clock() - begin;
  if (status == WR_OK || status == WR_EDEVICE) return status;
  a->is_refused = !wr_monitor_ends(a->monitor);
  report(a, "no ilu0: %.150s", wr_status_message());
  return WR_OK;
}

/* Multiplies that take the residual from least to target, at the rate that took it in so many from first to least. */
static double promise(double multiplies, double first, double least, double target) {
  return least < first && target > 0 ? fmax(0, multiplies * log(least / target) / log(first / least)) : INFINITY;
}

static wr_status take_ilu(wr_auto_precond *a, wr_bicgstab_review *at, wr_auto_state state) {
  wr_status status;
  TRY(factorise(a));
  const wr_precond_info *info = wr_precond_get_info(a->ilu);
  if (info == NULL || (a->is_cg && !info->is_positive)) goto done;
  estimate(a, (double)info->levels);
  if (state == WR_AUTO_ILU && a->share < least_share) {
    report(a, "no ilu0: its %" PRId64 " levels cost more than it saves", info->levels);
    goto done;
  }
  a->report->bytes = info->extra_bytes, a->report->apply_bytes = info->apply_bytes;
  at->precond = a->ilu;
  at->method = info->is_positive && state == WR_AUTO_ILU ? NULL : &wr_method_idr;
  a->state = state, a->since = at->multiplies, a->least = at->least;
done:
  return status;
}

/* What is left of the residual after a multiply, in the mean. */
static double fall(double multiplies, double first, double least) {
  return multiplies > 0 && first > 0 ? pow(least / first, 1 / multiplies) : 1;
}

static wr_status review_start(wr_auto_precond *a, wr_bicgstab_review *at) {
  wr_status status = WR_OK;
  double used = (double)at->multiplies, left = promise(used, at->first, at->least, at->target);
  double believed = left >= hardly_shrunk * a->promised ? less_doubt : doubt;
  a->promised = left;
  if (left <= believed * a->worth) {
    at->next = (int64_t)a->worth;
    return WR_OK;
  }
  TRY(take_ilu(a, at, WR_AUTO_ILU));
  if (a->state != WR_AUTO_ILU) goto done;
  at->next = (int64_t)(isfinite(left) ? a->worth : patience * a->worth);
  snprintf(at->cause, sizeof at->cause, " with ilu0");
  report(a, "ilu0 from multiply %" PRId64 " on, as with %s a multiply took the residual to %.3g of itself: %s",
         at->multiplies, start_name(a), fall(used, at->first, at->least), wr_precond_get_info(a->ilu)->line);
done:
  return status;
}

static void go_back(wr_auto_precond *a, wr_bicgstab_review *at, const char *why) {
  at->precond = a->jacobi, at->method = NULL, at->next = -1;
  a->state = WR_AUTO_BACK;
  snprintf(at->cause, sizeof at->cause, " without ilu0");
  report(a, "%s from multiply %" PRId64 " on, as %s", start_name(a), at->multiplies, why);
}

static void review_ilu(wr_auto_precond *a, wr_bicgstab_review *at) {
  double used = (double)(at->multiplies - a->since), left = promise(used, a->least, at->least, at->target);
  int is_poor = isfinite(a->promised) ? left > a->promised * a->share : !(at->least < a->least / 2);
  if (is_poor)
    go_back(a, at, "ilu0 was no faster");
  else
    at->next = (int64_t)used;
}

static wr_status review(void *context, wr_bicgstab_review *at) {
  wr_status status = WR_OK;
  wr_auto_precond *a = context;
  if (at->fails && a->state == WR_AUTO_ILU) {
    go_back(a, at, "ilu0 got no further");
  } else if (at->fails && a->state != WR_AUTO_LAST) {
    TRY(take_ilu(a, at, WR_AUTO_LAST));
    if (a->state == WR_AUTO_LAST) {
      snprintf(at->cause, sizeof at->cause, " with ilu0, as nothing else converged");
      report(a, "at last ilu0 from multiply %" PRId64 " on", at->multiplies);
    }
  } else if (!at->fails && a->state == WR_AUTO_START) {
    TRY(review_start(a, at));
  } else if (!at->fails && a->state == WR_AUTO_ILU) {
    review_ilu(a, at);
  }
done:
  return status;
}

wr_status wr_auto_solve(wr_auto_precond *a, const wr_monitor *monitor, wr_bicgstab_options *options,
                        wr_bicgstab *method) {
  a->monitor = monitor, a->state = WR_AUTO_START, a->promised = INFINITY;
  a->report->line[0] = '\0';
  report(a, "%s to begin with", start_name(a));
  estimate(a, 0);
  a->is_cg = options->method == &wr_method_cg;
  options->review = review, options->review_context = a;
  options->first_review = a->is_positive ? 0 : (int64_t)fmax(1, a->worth);
  return wr_bicgstab_precondition(method, a->jacobi);
}

void wr_auto_end(wr_auto_precond *a) {
  wr_precond_destroy(a->jacobi);
  wr_precond_destroy(a->ilu);
}
