#include "spmv/choose/choose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/argument.h"
#include "config/user_cache.h"
#include "spmv/choose/calibration.h"
#include "spmv/choose/cost_model.h"
#include "spmv/choose/plan_time.h"

/* The candidates of each place, those with plain rows first. What the others would add is in docs/auto.md. */
static const char *const names[2][WR_MOST_CANDIDATES] = {
    [WR_HOST] = {"cpu_csr", "cpu_bsr"},
    [WR_CUDA] = {"csr_thread_unrolled", "csr_warp", "merge_csr", "merbit", "bsr_unrolled", "lane_csr", "sell",
                 "sell_coded", "sliced_dia"},
};

/* Where a resident loop runs (solvers/iteration.c, loop/resident_cuda.cu), the backend's own multiplies do not. */
static const double resident_bytes = 24e6;
enum { RESIDENT_ROW = 16384 };

/* Below so many seconds that cpu_csr is expected to take in all, planning blocks takes a large part of what they could gain. */
static const double worth_blocks = 5e-3;

/* Seconds that a solve on an unknown device is to take at least for measuring there: that takes some 14 ms. */
static const double worth_measuring = 20e-3;

/* Entries up to which a GPU's features are computed on the CPU, where a matrix has arrays there: that takes 0.4 ms for so many,
 * and as long on a GPU for any, which has to load its kernels for features first. */
enum { FEW_TO_READ = 50000 };

/* At env's place, where the solve needs the matrix anyway. On the CPU bytes alone decide, which takes the sizes. */
static wr_status look_at(wr_csr *A, wr_env *env, wr_matrix_features *features) {
  wr_csr_view view;
  if (env->place == WR_HOST) {
    PASS(wr_csr_host(A, env));
    *features = (wr_matrix_features){.nrows = A->nrows, .ncols = A->ncols, .nnz = A->nnz, .valued = A->val != NULL};
    features->mean = A->nrows > 0 ? (double)A->nnz / (double)A->nrows : 0;
    return WR_OK;
  }
  if (A->row_ptr && A->nnz <= FEW_TO_READ) return wr_matrix_features_get(A, env->type, features); /* the same bits */
  PASS(wr_csr_device_view(A, env, &view));
  return wr_matrix_features_device(A, env, &view, features);
}

typedef struct candidate {
  wr_plan *plan;
  wr_cost cost;
  double total;
} candidate;

typedef struct contest {
  const wr_env *env;
  const wr_plan_use *use;
  wr_matrix_features features;
  candidate at[WR_MOST_CANDIDATES]; /* ascending by total */
  int count;
  wr_calibration factors[WR_MOST_CANDIDATES]; /* in the order of names */
  int is_calibrated;
  int learns; /* 1: nothing is known of this device, and what is measured is kept */
} contest;

/* The cost times the factors of this device. */
static wr_cost calibrated(const contest *c, const wr_backend *backend, wr_cost cost) {
  for (int k = 0; c->is_calibrated && k < WR_MOST_CANDIDATES && names[c->env->place][k]; k++)
    if (strcmp(names[c->env->place][k], backend->name) == 0)
      cost.prepare *= c->factors[k].prepare, cost.multiply *= c->factors[k].multiply,
          cost.epilogue *= c->factors[k].multiply;
  return cost;
}

/* Backends without factors get the geometric mean of those that have some: another device is slower or faster for all. */
static void complete_factors(contest *c, int count) {
  double multiply = 0, prepare = 0, found = 0;
  for (int k = 0; k < count; k++)
    if (c->factors[k].multiply != 1 || c->factors[k].prepare != 1)
      multiply += log(c->factors[k].multiply), prepare += log(c->factors[k].prepare), found++;
  for (int k = 0; found > 0 && k < count; k++)
    if (c->factors[k].multiply == 1 && c->factors[k].prepare == 1)
      c->factors[k] = (wr_calibration){exp(multiply / found), exp(prepare / found)};
}

/* Takes the factors of this device from the file, unless the table knows the device itself, or the choice has to depend on the
 * matrix alone. What is wrong with the file becomes a warning. */
static wr_status calibrate(contest *c, const char *path, wr_error *warning) {
  int is_known = 0, k = 0;
  if (c->env->place == WR_CUDA) (void)wr_cost_device(c->env->device_name, &is_known);
  if (path == NULL || is_known || c->env->deterministic) return WR_OK;
  for (; k < WR_MOST_CANDIDATES && names[c->env->place][k]; k++) {
    const wr_backend *backend;
    PASS(wr_backend_find(names[c->env->place][k], &backend));
    wr_status status = wr_calibration_find(path, c->env, backend, c->features.valued, &c->factors[k]);
    if (status == WR_EINPUT && warning->status == WR_OK) (void)wr_error_keep(warning, status);
    if (status != WR_EINPUT) PASS(status);
    c->is_calibrated |= c->factors[k].multiply != 1 || c->factors[k].prepare != 1;
  }
  if (c->env->place == WR_CUDA) complete_factors(c, k);
  c->learns = c->env->place == WR_CUDA && !c->is_calibrated && warning->status == WR_OK;
  return WR_OK;
}

static int expect(const contest *c, const wr_backend *backend, const wr_plan_info *info, wr_cost *cost) {
  if (c->env->place == WR_HOST)
    *cost = wr_cost_expect_host(info, &c->features, c->env->type);
  else if (!wr_cost_expect(c->env->device_name, backend, info, &c->features, c->env->type, cost))
    return 0;
  *cost = calibrated(c, backend, *cost);
  return 1;
}

static double total_of(wr_cost cost, double multiplies) {
  return cost.prepare + cost.first + multiplies * (cost.multiply + cost.epilogue);
}

static int may_be_resident(const contest *c, const wr_plan *plan) {
  return c->use->resident && !c->env->deterministic && wr_plan_backend(plan)->rows &&
         c->features.most <= RESIDENT_ROW && wr_plan_get_info(plan)->apply_bytes < resident_bytes;
}

/* 1 if the backend cannot win whatever its plan would say: planning reads samples of the matrix. */
static int is_beaten(const contest *c, const wr_backend *backend) {
  if (c->count == 0) return 0;
  int on_host = c->env->place == WR_HOST;
  if (on_host && c->use->measure) return 0;
  if (on_host && c->at[0].total < worth_blocks) return 1;
  if (backend->rows == NULL && may_be_resident(c, c->at[0].plan)) return 1;
  wr_cost least = on_host ? wr_cost_least_host(&c->features, c->env->type)
                          : wr_cost_least(c->env->device_name, backend, &c->features, c->env->type);
  least = calibrated(c, backend, least);
  return total_of(least, c->use->multiplies) >= c->at[0].total;
}

/* Takes over the plan. */
static void enter(contest *c, wr_plan *plan, wr_cost cost) {
  int place = c->count++;
  double total = total_of(cost, c->use->multiplies);
  for (; place > 0 && c->at[place - 1].total > total; place--) c->at[place] = c->at[place - 1];
  c->at[place] = (candidate){plan, cost, total};
}

/* WR_EUNAVAILABLE and WR_ENOMEM are of one backend; others concern any. */
static int is_refusal(wr_status status) { return status == WR_EUNAVAILABLE || status == WR_ENOMEM; }

/* 0 if the backend reads rows on the host, and they are on the device alone, where they are to stay. */
static int finds_rows(const wr_csr *A, const wr_env *env, const wr_backend *backend) {
  return A->row_ptr != NULL || env->place == WR_HOST || (backend->caps & WR_CAP_DEVICE_ROWS);
}

static wr_status invite(contest *c, wr_csr *A, wr_env *env, const char *name, wr_error *refusal) {
  const wr_backend *backend;
  wr_plan *plan = NULL;
  wr_cost cost;
  PASS(wr_backend_find(name, &backend));
  if (backend->plan == NULL || !finds_rows(A, env, backend) || is_beaten(c, backend)) return WR_OK;
  wr_status status = wr_plan_create(backend, NULL, A, env, &plan);
  if (is_refusal(status)) {
    (void)wr_error_keep(refusal, status);
    return WR_OK;
  }
  PASS(status);
  if (expect(c, backend, wr_plan_get_info(plan), &cost))
    enter(c, plan, cost);
  else
    wr_plan_destroy(plan);
  return WR_OK;
}

/* Which places of the contest are compared in the end; second: c->count where there is no other. */
typedef struct finalists {
  int won, second;
  const char *untimed; /* why they were not timed, a clause; NULL: nothing to say */
} finalists;

/* *at := the first place from there on whose plan could be prepared, or c->count. Plans that could not are destroyed, as their
 * memory is the next one's. */
static wr_status prepare_from(contest *c, int *at, wr_error *refusal) {
  for (; *at < c->count; ++*at) {
    wr_status status = wr_plan_prepare(c->at[*at].plan);
    if (!is_refusal(status)) return status;
    (void)wr_error_keep(refusal, status);
    wr_plan_destroy(c->at[*at].plan), c->at[*at].plan = NULL;
  }
  return WR_OK;
}

/* Prepares the second finalist too, times both, and exchanges them if the second multiplies faster: by now both are prepared,
 * so preparation does not count any more. */
static wr_status measure(contest *c, const wr_csr *A, wr_env *env, finalists *f, wr_chosen *chosen) {
  double seconds[2];
  wr_error refusal = {0};
  if (may_be_resident(c, c->at[f->won].plan)) {
    f->untimed = "not timed: the solver may do all iterations in one kernel, without the backend's multiply";
    return WR_OK;
  }
  PASS(prepare_from(c, &f->second, &refusal));
  f->untimed = "not timed: no second backend could be prepared";
  if (f->second == c->count) return WR_OK;
  wr_status status = wr_plans_time(A, env, (wr_plan *const[]){c->at[f->won].plan, c->at[f->second].plan}, seconds);
  f->untimed = "not timed: no memory is left for the vectors of a multiply";
  if (status == WR_ENOMEM) return WR_OK;
  PASS(status);
  f->untimed = NULL;
  int is_second = seconds[1] < seconds[0], first = f->won;
  chosen->timed = seconds[is_second], chosen->second_timed = seconds[!is_second];
  if (is_second) f->won = f->second, f->second = first;
  return WR_OK;
}

/* Keeps how the times of the two that were measured differ from those expected. What goes wrong becomes a warning. */
static wr_status learn(const contest *c, const char *path, const finalists *f, wr_chosen *chosen) {
  const double seconds[] = {chosen->timed, chosen->second_timed};
  const int places[] = {f->won, f->second};
  wr_status status = wr_user_cache_make(path);
  for (int k = 0; k < 2 && status == WR_OK; k++) {
    const candidate *at = &c->at[places[k]];
    double factor = fmin(fmax(seconds[k] / at->cost.multiply, WR_LEAST_FACTOR), WR_MOST_FACTOR);
    status =
        wr_calibration_store(path, c->env, wr_plan_backend(at->plan), c->features.valued, &(wr_calibration){factor, 1});
  }
  return status == WR_ENOMEM ? status : (wr_error_keep(&chosen->warning, status), WR_OK);
}

static void describe(const contest *c, const finalists *final, wr_chosen *chosen) {
  int is_known = 1;
  char second[96] = "", sectors[96] = "", other[96] = "", timed[128] = "";
  const candidate *won = &c->at[final->won];
  const wr_matrix_features *f = &c->features;
  const char *class = c->env->place == WR_CUDA ? wr_cost_device(c->env->device_name, &is_known) : "";
  if (chosen->second)
    snprintf(second, sizeof second, ", %.3g ms in all, where %s takes %.3g", won->total * 1e3, chosen->second->name,
             chosen->second_total * 1e3);
  if (c->env->place == WR_CUDA)
    snprintf(sectors, sizeof sectors, ", %lld at most, each reads %.2f sectors of x", (long long)f->most, f->gather);
  else if (!chosen->second)
    snprintf(sectors, sizeof sectors, "; there is too little to do for another one to pay");
  if (c->is_calibrated)
    snprintf(other, sizeof other, "; calibrated on this device");
  else if (c->learns && chosen->timed > 0)
    snprintf(other, sizeof other, "; measured on this device for the first time, and kept");
  else if (!is_known)
    snprintf(other, sizeof other, "; by the times of an %s, as spmv --calibrate has not measured this one", class);
  if (final->untimed) snprintf(timed, sizeof timed, "; %s", final->untimed);
  if (chosen->timed > 0)
    snprintf(timed, sizeof timed, "; timed, a multiply took %.3g us, and %.3g us by %s", chosen->timed * 1e6,
             chosen->second_timed * 1e6, chosen->second->name);
  snprintf(chosen->line, sizeof chosen->line,
           "%s has the %s expected time for %.0f multiplies: %.3g ms to prepare and %.3g us each%s; rows have %.1f "
           "entries%s%s%s",
           chosen->backend->name, final->won < final->second ? "least" : "second least", c->use->multiplies,
           chosen->prepare * 1e3, chosen->multiply * 1e6, second, f->mean, sectors, other, timed);
}

wr_status wr_plan_choose(wr_csr *A, wr_env *env, const wr_plan_use *use, wr_plan **plan, wr_chosen *chosen) {
  wr_status status;
  wr_error refusal = {0};
  finalists final = {0};
  contest c = {.env = env, .use = use};
  WR_NEED(plan);
  *plan = NULL;
  WR_NEED(A);
  WR_NEED(env);
  WR_NEED(use);
  WR_NEED(chosen);
  *chosen = (wr_chosen){.multiplies = use->multiplies};
  TRY(look_at(A, env, &c.features));
  TRY(calibrate(&c, use->calibration, &chosen->warning));
  for (int k = 0; k < WR_MOST_CANDIDATES && names[env->place][k]; k++)
    TRY(invite(&c, A, env, names[env->place][k], &refusal));
  TRY(prepare_from(&c, &final.won, &refusal));
  if (final.won == c.count) TRY(wr_error_raise(&refusal));
  final.second = final.won + 1;
  int learns = c.learns && c.at[final.won].total >= worth_measuring && !may_be_resident(&c, c.at[final.won].plan);
  if (use->measure || learns) TRY(measure(&c, A, env, &final, chosen));
  if (!use->measure && chosen->timed == 0) final.untimed = NULL;
  if (c.learns && chosen->timed > 0) TRY(learn(&c, use->calibration, &final, chosen));
  candidate *won = &c.at[final.won], *second = final.second < c.count ? &c.at[final.second] : NULL;
  chosen->backend = wr_plan_backend(won->plan), chosen->prepare = won->cost.prepare + won->cost.first;
  chosen->multiply = won->cost.multiply + won->cost.epilogue;
  if (second) chosen->second = wr_plan_backend(second->plan), chosen->second_total = second->total;
  describe(&c, &final, chosen);
  *plan = won->plan, won->plan = NULL;
done:
  for (int k = 0; k < c.count; k++) wr_plan_destroy(c.at[k].plan);
  return status;
}

/* e := what is expected of its backend. */
static wr_status expect_one(const contest *c, wr_csr *A, wr_env *env, wr_expected *e) {
  wr_cost cost;
  wr_plan *plan = NULL;
  wr_status status = finds_rows(A, env, e->backend)
                         ? wr_plan_create(e->backend, NULL, A, env, &plan)
                         : wr_fail(WR_EUNAVAILABLE, "it reads rows on the host, and they are on the device alone");
  if (is_refusal(status)) {
    (void)wr_error_keep(&e->refusal, status);
    return WR_OK;
  }
  PASS(status);
  e->info = *wr_plan_get_info(plan);
  if (expect(c, e->backend, &e->info, &cost))
    e->prepare = cost.prepare, e->multiply = cost.multiply, e->epilogue = cost.epilogue, e->first = cost.first;
  else
    (void)wr_error_keep(&e->refusal, wr_fail(WR_EUNAVAILABLE, "the model has no times of it for such a matrix"));
  wr_plan_destroy(plan);
  return WR_OK;
}

double wr_expected_total(const wr_expected *e, double multiplies) {
  return total_of((wr_cost){e->prepare, e->multiply, e->epilogue, e->first}, multiplies);
}

wr_status wr_plans_expect(wr_csr *A, wr_env *env, const char *calibration, wr_expected expected[WR_MOST_CANDIDATES],
                          int *count, wr_error *warning) {
  contest c = {.env = env};
  WR_NEED(count);
  *count = 0;
  WR_NEED(A);
  WR_NEED(env);
  WR_NEED(expected);
  WR_NEED(warning);
  *warning = (wr_error){WR_OK};
  PASS(look_at(A, env, &c.features));
  PASS(calibrate(&c, calibration, warning));
  for (int others = 0; others < 2; others++)
    for (int k = 0; k < WR_MOST_CANDIDATES && names[env->place][k]; k++) {
      const wr_backend *backend;
      PASS(wr_backend_find(names[env->place][k], &backend));
      if (backend->plan == NULL || (backend != wr_backend_default(env->place)) != others) continue;
      expected[*count] = (wr_expected){.backend = backend, .is_calibrated = c.is_calibrated};
      PASS(expect_one(&c, A, env, &expected[(*count)++]));
    }
  return WR_OK;
}
