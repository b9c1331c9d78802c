#include "solvers/api/auto_precond.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/clock.h"
#include "config/memory.h"
#include "spmv/device/team.h"
#include "spmv/matrix/matrix_facts.h"
#include "spmv/parts/halo.h"

/* The cost model. On the host in serial multiplies of BiCGSTAB with the vectors that it moves: one thread makes reverse
 * Cuthill-McKee's order and the factors, for about 60, and 2 for each entry of a mean row; an application of L and U costs 1.8,
 * and the team's gain times that where threads share a multiply, but the levels of L and U are too small for them (EPYC,
 * 2026-11). On a device in seconds (H200, 2026-11). */
static const double factorise_costs = 60, of_a_row = 2, apply_costs = 1.8, gain_of_a_thread = 0.7;
static const double host_bandwidth = 2e10, device_bandwidth = 3e12, device_multiply = 4e-6, device_level = 1.4e-6;
enum { CHUNK = 32768, WIDE_LEVEL = 16384 }; /* rows and entries from which a thread, or threads in a level, are worth it */

/* --deterministic: the choice is that of so many threads, whatever their number. */
enum { ASSUMED_THREADS = 2 };

/* Factors are made after a solve has taken so many times their cost, so that in vain they cost a quarter of it at most. A
 * residual that stays where it is tells little: many solves on grids converge after a long time without any progress. */
static const double first_after = 4;

/* And where the rate so far promises so many times their cost: convergence often becomes faster towards the end. */
static const double doubt = 4;

/* ILU(0) takes a fifth of the multiplies in the mean, so each may cost five times as much. */
static const double least_share = 0.2;

/* Factors are unstable where A M^-1 takes a vector so far from itself (Chow and Saad 1997 look at M^-1 alone). In 15 systems
 * that they solved it was 1e-2 to 1e3, in 7 that they did not, 3e7 to 1e63 and infinite. */
static const double most_change = 1e5;

/* Multiplies with ILU(0) until its residual must have been halved, and until its rate is judged: IDR(4)'s grows at first. */
enum { FIRST_TRIAL = 200, WHOLE_TRIAL = 400 };

/* ---- what to begin with ---- */

/* What a sample of rows tells of the diagonal D. */
typedef struct diagonal_facts {
  double spread;         /* largest / smallest |element|; infinity: one is 0 or has no inverse                          */
  double plain, divided; /* cosine of the angle between the identity and A, and D^-1 A, in the Frobenius inner product */
} diagonal_facts;

enum { SAMPLE = 2048 }; /* rows of a part: a small part of what a short solve costs */

static double diagonal_element(const wr_csr *A, int64_t i) {
  int64_t at = wr_csr_find(A, i, i);
  return at < 0 ? 0 : A->val ? A->val[at] : 1;
}

/* Rows count as divided by the size of the first diagonal element, of all parts the largest such, so that squares overflow
 * later. */
static wr_status look_at_diagonal(const wr_csr *A, diagonal_facts *f) {
  int64_t count = A->nrows < SAMPLE ? A->nrows : SAMPLE;
  double first = count > 0 ? fabs(diagonal_element(A, 0)) : 0, least = INFINITY, most = 0;
  double trace = 0, squares = 0, divided = 0;
  PASS(wr_comm_max(wr_csr_comm(A), &first, 1));
  for (int64_t s = 0; s < count && least > 0; s++) {
    int64_t i = s * A->nrows / count;
    double d = diagonal_element(A, i);
    least = isfinite(d) && isfinite(1 / d) ? fmin(least, fabs(d)) : 0;
    most = fmax(most, fabs(d)), trace += d / first;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      double value = A->val ? A->val[k] : 1;
      squares += value / first * (value / first), divided += value / d * (value / d);
    }
  }
  double ends[] = {most, -least}, sums[] = {trace, squares, divided, (double)count};
  PASS(wr_comm_max(wr_csr_comm(A), ends, 2));
  PASS(wr_comm_sum(wr_csr_comm(A), sums, 4));
  *f = (diagonal_facts){ends[1] < 0 ? ends[0] / -ends[1] : INFINITY, fabs(sums[0]) / sqrt(sums[3] * sums[1]),
                        sqrt(sums[3] / sums[2])};
  return WR_OK;
}

/* *M := such a preconditioner; in all parts, or in none. */
static wr_status create(const wr_auto_precond *a, const wr_preconditioner *kind, wr_precond **M) {
  wr_status status = wr_csr_host(a->system->matrix, a->env);
  if (status == WR_OK) status = wr_precond_create(kind, NULL, a->system->matrix, a->env, M);
  status = wr_comm_agree(a->env->comm, status);
  if (status != WR_OK) wr_precond_destroy(*M), *M = NULL;
  return status;
}

/* M for the beginning: the diagonal of a matrix that may be positive definite, for which it is nearly the best diagonal matrix
 * (van der Sluis 1969); of another where D^-1 A, which is similar to A D^-1, is nearer to a multiple of the identity than A. */
static wr_status choose_start(wr_auto_precond *a) {
  diagonal_facts f;
  PASS(look_at_diagonal(a->system->matrix, &f));
  if (!(isfinite(f.spread) && f.spread > 1.5 && (a->is_positive || f.divided > f.plain))) return WR_OK;
  a->spread = f.spread;
  wr_status status = create(a, &wr_precond_jacobi, &a->jacobi);
  return status == WR_EDEVICE ? status : WR_OK; /* an element beside the sample may be 0 */
}

/* ---- what ILU(0) costs ---- */

/* How many times as fast as on one thread a multiply is. */
static double team_gain(const wr_auto_precond *a) {
  const wr_csr *A = a->system->matrix;
  int64_t chunks = (A->nrows + A->nnz + CHUNK - 1) / CHUNK;
  int threads = a->env->deterministic ? ASSUMED_THREADS : wr_team_threads(wr_env_team(a->env));
  if (chunks < WR_TEAM_LEAST) return 1;
  return fmax(1, gain_of_a_thread * (double)(chunks < threads ? chunks : threads));
}

/* levels: of L and U together; 0: not known. Parts count what costs the most in one of them; that the halo of a multiply
 * travels, and that of an application does not, counts for nothing. */
static wr_status estimate(wr_auto_precond *a, double levels) {
  const wr_csr *A = a->system->matrix;
  double type = (double)wr_type_bytes(a->env->type), n = (double)A->nrows, nnz = (double)A->nnz;
  double bytes = (4 + type) * nnz + (8 + 2 * type) * n;
  a->worth = factorise_costs + of_a_row * nnz / fmax(n, 1);
  if (a->env->place == WR_HOST) {
    double gain = team_gain(a), of_factors = levels > 0 && (n + nnz) / levels >= WIDE_LEVEL ? 1 : gain;
    a->worth *= gain, a->share = 1 / (1 + apply_costs * of_factors);
  } else {
    double multiply = bytes / device_bandwidth + device_multiply;
    a->worth *= bytes / host_bandwidth / multiply;
    a->share = multiply / (2 * multiply + levels * device_level);
  }
  double costs[] = {a->worth, -a->share};
  PASS(wr_comm_max(a->env->comm, costs, 2));
  a->worth = costs[0], a->share = -costs[1];
  return WR_OK;
}

wr_status wr_auto_begin(wr_auto_precond *a, wr_system *system, wr_env *env, wr_run_precond *report) {
  *a = (wr_auto_precond){.system = system, .env = env, .report = report};
  if (system->positive == 0) system->positive = wr_is_symmetric_positive(system->matrix) ? 1 : -1;
  a->is_positive = system->positive > 0;
  if (system->matrix->row_ptr) PASS(choose_start(a)); /* else a device has scaled it, and fetching it would cost time */
  snprintf(report->name, sizeof report->name, "auto");
  if (a->jacobi) {
    const wr_precond_info *info = wr_precond_get_info(a->jacobi);
    report->bytes = info->extra_bytes, report->apply_bytes = info->apply_bytes;
  }
  return WR_OK;
}

/* ---- the choice ---- */

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

/* *M := such factors, once; *is_refused := 1 where there are none to go on with. */
static wr_status factorise(wr_auto_precond *a, const wr_preconditioner *kind, wr_precond **M, int *is_refused) {
  wr_watch watch = wr_monitor_watch(a->monitor);
  if (*M || *is_refused) return WR_OK;
  a->env->watch = &watch;
  double begin = wr_clock();
  wr_status status = create(a, kind, M);
  a->env->watch = NULL;
  a->report->seconds += wr_clock() - begin;
  if (status == WR_OK || status == WR_EDEVICE) return status;
  *is_refused = !wr_monitor_ends(a->monitor);
  report(a, "no %s: %.150s", kind->name, wr_status_message());
  return WR_OK;
}

/* u[n] := M^-1 v. */
static wr_status apply_ilu(const wr_auto_precond *a, const double *v, double *u) {
  wr_status status;
  wr_env *env = a->env;
  wr_vec r = {0}, z = {0};
  TRY(env->ops->alloc(env, a->system->n, env->type, "a check of the factors", &r));
  TRY(env->ops->alloc(env, a->system->n, env->type, "a check of the factors", &z));
  TRY(env->ops->upload(env, &r, v));
  TRY(wr_precond_apply(a->ilu, &(wr_precond_request){.r = &r, .z = &z}));
  TRY(env->ops->download(env, &z, u));
done:
  env->ops->release(env, &r);
  env->ops->release(env, &z);
  return status;
}

/* *change := ||A M^-1 v - v|| / ||v|| for a vector v of hashes. */
static wr_status measure_change(const wr_auto_precond *a, double *change) {
  wr_status status;
  const wr_csr *A = a->system->matrix;
  double *v = NULL, *u = NULL, sums[2] = {0}; /* of squares of v, and of A M^-1 v - v */
  status = wr_alloc(&v, 2 * A->nrows, sizeof *v, "a check of the factors");
  if (status == WR_OK) {
    wr_hash_shadow(v, A->nrows, 1);
    status = apply_ilu(a, v, v + A->nrows);
  }
  TRY(wr_comm_agree(a->env->comm, status));
  TRY(wr_halo_extend(A, v + A->nrows, &u));
  for (int64_t i = 0; i < A->nrows; i++) {
    double sum = -v[i];
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) sum += (A->val ? A->val[k] : 1) * u[A->col[k]];
    sums[0] += v[i] * v[i], sums[1] += sum * sum;
  }
  TRY(wr_comm_sum(a->env->comm, sums, 2));
  *change = sqrt(sums[1] / sums[0]);
done:
  wr_free(v);
  wr_free(u);
  return status;
}

/* Whether ILU(0) is worth a trial. */
static wr_status check_ilu(wr_auto_precond *a, int64_t levels, int *is_fine) {
  wr_status status = WR_OK;
  double change;
  *is_fine = 0;
  if (a->share < least_share) {
    report(a, "no ilu0: its %" PRId64 " levels cost more than it saves", levels);
    return WR_OK;
  }
  status = measure_change(a, &change);
  if (status == WR_ENOMEM) report(a, "no ilu0: %.150s", wr_status_message());
  if (status != WR_OK) return status == WR_ENOMEM ? WR_OK : status;
  *is_fine = change <= most_change; /* not if it is NaN */
  a->is_unstable = !*is_fine;
  if (!*is_fine)
    report(a, "no ilu0: its factors are unstable, as A M^-1 changes a vector by %.1g times its norm", change);
  return WR_OK;
}

/* Multiplies that take the residual from least to target, at the rate that took it in so many from first to least. */
static double promise(double multiplies, double first, double least, double target) {
  return least < first && target > 0 ? fmax(0, multiplies * log(least / target) / log(first / least)) : INFINITY;
}

static wr_status take_ilu(wr_auto_precond *a, wr_bicgstab_review *at, wr_auto_state state) {
  PASS(factorise(a, &wr_precond_ilu0, &a->ilu, &a->is_refused));
  const wr_precond_info *info = wr_precond_get_info(a->ilu);
  if (info == NULL || a->is_refused) return WR_OK;
  int64_t most[] = {info->levels, !info->is_positive}; /* of all parts */
  PASS(wr_comm_max_counts(a->env->comm, most, 2));
  int is_positive = !most[1], is_fine = state == WR_AUTO_LAST;
  if (a->is_cg && !is_positive) return WR_OK;
  PASS(estimate(a, (double)most[0]));
  if (!is_fine) PASS(check_ilu(a, most[0], &is_fine));
  if (!is_fine) return WR_OK;
  a->report->bytes = info->extra_bytes, a->report->apply_bytes = info->apply_bytes;
  at->precond = a->ilu;
  at->method = is_positive && state == WR_AUTO_ILU ? NULL : &wr_method_idr;
  a->state = state, a->since = at->multiplies, a->least = at->least;
  return WR_OK;
}

/* Where ILU(0) has failed, its pattern may be what is missing: on saddle points that are equilibrated, for instance, it shifts
 * all pivots that are 0 in A, and ILUT fills them. */
static wr_status take_ilut(wr_auto_precond *a, wr_bicgstab_review *at) {
  if (a->is_cg || a->state == WR_AUTO_ILUT) return WR_OK; /* CG takes a symmetric M alone */
  PASS(factorise(a, &wr_precond_ilut, &a->ilut, &a->has_no_ilut));
  const wr_precond_info *info = wr_precond_get_info(a->ilut);
  if (info == NULL || a->has_no_ilut) return WR_OK;
  a->report->bytes = info->extra_bytes, a->report->apply_bytes = info->apply_bytes;
  at->precond = a->ilut, at->method = &wr_method_idr;
  a->state = WR_AUTO_ILUT;
  snprintf(at->cause, sizeof at->cause, " with ilut, as nothing else converged");
  report(a, "at last ilut from multiply %" PRId64 " on", at->multiplies);
  return WR_OK;
}

/* What is left of the residual after a multiply, in the mean. */
static double fall(double multiplies, double first, double least) {
  return multiplies > 0 && first > 0 ? pow(least / first, 1 / multiplies) : 1;
}

int wr_auto_goes_on(void *context, wr_bicgstab_review *at) {
  wr_auto_precond *a = context;
  a->promised = promise((double)at->multiplies, at->first, at->least, at->target);
  at->next = (int64_t)a->worth;
  return a->promised <= doubt * a->worth;
}

static wr_status review_start(wr_auto_precond *a, wr_bicgstab_review *at) {
  double used = (double)at->multiplies;
  if (wr_auto_goes_on(a, at)) return WR_OK;
  at->next = -1;
  PASS(take_ilu(a, at, WR_AUTO_ILU));
  if (a->state != WR_AUTO_ILU) return WR_OK;
  at->next = FIRST_TRIAL;
  snprintf(at->cause, sizeof at->cause, " with ilu0");
  report(a, "ilu0 from multiply %" PRId64 " on, as with %s a multiply took the residual to %.3g of itself: %s",
         at->multiplies, start_name(a), fall(used, at->first, at->least), wr_precond_get_info(a->ilu)->line);
  return WR_OK;
}

static void go_back(wr_auto_precond *a, wr_bicgstab_review *at, const char *why) {
  at->precond = a->jacobi, at->method = NULL, at->next = -1;
  a->state = WR_AUTO_BACK;
  snprintf(at->cause, sizeof at->cause, " without ilu0");
  report(a, "%s from multiply %" PRId64 " on, as %s", start_name(a), at->multiplies, why);
}

static void review_ilu(wr_auto_precond *a, wr_bicgstab_review *at) {
  double used = (double)(at->multiplies - a->since), left = promise(used, a->least, at->least, at->target);
  int is_whole = used >= WHOLE_TRIAL;
  int is_poor = !(at->least < a->least / 2) || (is_whole && isfinite(a->promised) && left > a->promised * a->share);
  if (is_poor)
    go_back(a, at, "ilu0 was no faster");
  else
    at->next = is_whole ? (int64_t)used : WHOLE_TRIAL - FIRST_TRIAL;
}

/* The solver had no memory for the vectors of ILU(0), and goes on with what it had. */
static int was_refused(wr_auto_precond *a, const wr_bicgstab_review *at) {
  const wr_precond *taken = a->state == WR_AUTO_ILUT ? a->ilut : a->ilu;
  if (a->state == WR_AUTO_START || a->state == WR_AUTO_BACK || at->precond == taken) return 0;
  report(a, "but with %s all the same, as there is no memory for its vectors", start_name(a));
  a->is_refused = a->has_no_ilut = 1, a->state = WR_AUTO_BACK;
  return 1;
}

static wr_status review(void *context, wr_bicgstab_review *at) {
  wr_auto_precond *a = context;
  if (was_refused(a, at)) {
    at->next = -1;
  } else if (at->fails && a->state == WR_AUTO_ILU) {
    go_back(a, at, "ilu0 got no further");
  } else if (at->fails && (a->state != WR_AUTO_START || a->is_unstable)) {
    PASS(take_ilut(a, at));
  } else if (at->fails && a->state == WR_AUTO_START) {
    PASS(take_ilu(a, at, WR_AUTO_LAST));
    if (a->state == WR_AUTO_LAST) {
      snprintf(at->cause, sizeof at->cause, " with ilu0, as nothing else converged");
      report(a, "at last ilu0 from multiply %" PRId64 " on", at->multiplies);
    } else {
      PASS(take_ilut(a, at));
    }
  } else if (!at->fails && a->state == WR_AUTO_START) {
    PASS(review_start(a, at));
  } else if (!at->fails && a->state == WR_AUTO_ILU) {
    review_ilu(a, at);
  }
  return WR_OK;
}

wr_status wr_auto_solve(wr_auto_precond *a, const wr_monitor *monitor, wr_bicgstab_options *options,
                        wr_bicgstab *method) {
  a->monitor = monitor, a->state = WR_AUTO_START, a->promised = INFINITY, a->is_unstable = 0;
  a->report->line[0] = '\0';
  if (a->jacobi)
    report(a, "jacobi to begin with, as the diagonal varies by %.3g", a->spread);
  else
    report(a, "none to begin with");
  PASS(estimate(a, 0));
  a->is_cg = options->method == &wr_method_cg;
  options->review = review, options->review_context = a;
  options->first_review = a->is_positive ? 0 : (int64_t)fmax(1, first_after * a->worth);
  return wr_bicgstab_precondition(method, a->jacobi);
}

void wr_auto_end(wr_auto_precond *a) {
  wr_precond_destroy(a->jacobi);
  wr_precond_destroy(a->ilu);
  wr_precond_destroy(a->ilut);
}
