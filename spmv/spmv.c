/* The wr_plan functions: they check arguments, track y_next, call the backend's table, and do in further passes what the
 * backend's capabilities lack. */
#include "spmv/spmv.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/memory.h"
#include "config/text.h"
#include "spmv/matrix/csr_device.h"
#include "spmv/device/columns.h"
#include "spmv/device/fused_many.h"
#include "spmv/device/testing.h"
#include "spmv/device/vec_argument.h"
#include "spmv/part_plan.h"
#include "spmv/plan_argument.h"

/* Times of applies. */
typedef struct stopwatch {
  int timing, paused; /* whether applies are stamped       */
  int pending;        /* pairs of stamps not yet collected */
  double *seconds;    /* [WR_MAX_TIMES]                    */
  int64_t applies;
  double total;
} stopwatch;

struct wr_plan {
  const wr_backend *backend;
  wr_csr *A;                 /* held                                                                        */
  int64_t nrows, ncols, nnz; /* of A when the plan was created; a matrix with new values must have the same */
  int64_t x_length;          /* of x: ncols, or if A is a part its own columns, without the halo            */
  wr_part_plan *parts;       /* if A is a part: what multiplies, in place of state; else NULL               */
  int has_values;            /* likewise: 0 if A was a pattern                                              */
  wr_env *env;
  void *knobs, *state;
  char knobs_text[256];
  wr_plan_info estimate, info; /* from the backend's plan; info has exact sizes after prepare */
  int prepared;
  uint64_t generation;     /* see wr_plan_generation                                                        */
  uint64_t values;         /* see wr_plan_matrix                                                            */
  wr_vec product;          /* alpha*A*x for backends without beta; else not allocated                       */
  int columns;             /* the most of an apply_many                                                     */
  wr_vec column_x, column_y; /* a column of X and of Y for backends without apply_many; else not allocated  */
  int is_copied;           /* 1: a resident loop was recorded, which has copied the values                  */
  int promised;            /* 1: the last apply had a y_next, so the next one must have beta == 0           */
  uint64_t next_id, next_writes; /* id and write count of the vector that the backend prepared; id 0: none  */
  stopwatch watch;
};

enum { PAIRS = WR_STAMPS / 2 }; /* applies that may be stamped between two collections of their times */

static wr_status check_caps(const wr_plan *plan) {
  const wr_backend *b = plan->backend;
  const wr_csr *A = plan->A;
  if (!(b->caps & (plan->env->type == WR_F32 ? WR_CAP_F32 : WR_CAP_F64)))
    return wr_fail(WR_EUNAVAILABLE, "%s does not compute in %s", b->name, plan->env->type == WR_F32 ? "f32" : "f64");
  if (!(b->caps & WR_CAP_PATTERN) && A->val == NULL)
    return wr_fail(WR_EUNAVAILABLE, "%s needs a matrix with values", b->name);
  if (!(b->caps & WR_CAP_RECTANGULAR) && A->halo)
    return wr_fail(WR_EUNAVAILABLE, "%s needs a square matrix, and the rows of a part are not one", b->name);
  if (!(b->caps & WR_CAP_RECTANGULAR) && A->nrows != A->ncols)
    return wr_fail(WR_EUNAVAILABLE, "%s needs a square matrix, not %lld x %lld", b->name, (long long)A->nrows,
                   (long long)A->ncols);
  return WR_OK;
}

/* Sets OpenMP's number of threads to that of the env, since formats are built by OpenMP loops. Returns the caller's number,
 * which is restored at the end of the call. */
static int take_threads(const wr_env *env) {
  int before = omp_get_max_threads();
  if (env->place == WR_HOST && env->threads > 0) omp_set_num_threads(env->threads);
  return before;
}

/* knobs: as text, unless they are given parsed. */
static wr_status create(const wr_backend *backend, const char *knobs, const void *parsed, wr_csr *A, wr_env *env,
                        wr_plan **out) {
  wr_status status;
  wr_plan *plan = NULL;
  int threads = take_threads(env);
  *out = NULL;
  TRY(wr_alloc_zeroed(&plan, 1, sizeof *plan, "a plan"));
  plan->backend = backend, plan->A = A, plan->env = env;
  plan->nrows = A->nrows, plan->ncols = A->ncols, plan->nnz = A->nnz, plan->has_values = A->val != NULL;
  plan->x_length = A->halo ? A->nrows : A->ncols;
  wr_csr_hold(A);
  TRY(wr_alloc_zeroed(&plan->knobs, 1, backend->knobs_size, "knobs"));
  TRY(wr_alloc_zeroed(&plan->state, 1, backend->state_size, "a backend's state"));
  if (backend->plan == NULL) { /* a stub: its check fails with the reason */
    status = backend->check(env, A, plan->knobs);
    if (status == WR_OK)
      status = wr_refuse("wr_plan_create", "backend has no function plan, and its check does not refuse");
    goto done;
  }
  TRY(wr_env_check_open(env, "env", "wr_plan_create"));
  if (parsed == NULL) {
    TRY(wr_options_default(backend->knobs, plan->knobs));
    TRY(wr_knobs_parse(backend->knobs, plan->knobs, knobs, backend->name));
  } else if (backend->knobs_size > 0) {
    memcpy(plan->knobs, parsed, backend->knobs_size);
  }
  wr_knobs_text(backend->knobs, plan->knobs, plan->knobs_text, sizeof plan->knobs_text);
  if (backend->place != env->place)
    TRY(wr_fail(WR_EUNAVAILABLE, "%s runs on the %s", backend->name, backend->place == WR_CUDA ? "GPU" : "CPU"));
  TRY(check_caps(plan));
  if (!(backend->caps & WR_CAP_DEVICE_ROWS)) TRY(wr_csr_host(A, env));
  TRY(backend->check(env, A, plan->knobs));
  TRY(backend->plan(env, A, plan->knobs, &plan->info));
  plan->estimate = plan->info;
  if (env->deterministic && !plan->info.deterministic)
    TRY(wr_fail(WR_EUNAVAILABLE, "%s with %s cannot give the same bits from run to run", backend->name,
                plan->knobs_text[0] ? plan->knobs_text : "its defaults"));
  *out = plan;
done:
  omp_set_num_threads(threads);
  if (status != WR_OK) wr_plan_destroy(plan);
  return status;
}

wr_status wr_plan_create(const wr_backend *backend, const char *knobs, wr_csr *A, wr_env *env, wr_plan **plan) {
  WR_NEED(plan);
  *plan = NULL;
  WR_NEED(backend);
  int is_stub = backend->plan == NULL, is_complete = backend->prepare && backend->apply && backend->destroy;
  WR_REFUSE_IF(!backend->name || !backend->check || !(is_stub || is_complete),
               "backend lacks its name or a required function");
  WR_NEED(A);
  WR_REFUSE_IF(A->nrows < 1 || A->ncols < 1 || A->nrows > WR_MAX_INDEX || A->ncols > WR_MAX_INDEX || A->nnz < 0,
               "A is %lld x %lld with %lld entries", (long long)A->nrows, (long long)A->ncols, (long long)A->nnz);
  WR_REFUSE_IF(A->row_ptr == NULL && A->device == NULL, "A has neither host arrays nor a device view");
  WR_NEED(env);
  return create(backend, knobs, NULL, A, env, plan);
}

wr_status wr_plan_create_parsed(const wr_backend *backend, const void *knobs, wr_csr *A, wr_env *env, wr_plan **plan) {
  return create(backend, NULL, knobs, A, env, plan);
}

/* Frees what prepare has allocated and resets the plan to its state after wr_plan_create. */
static void unprepare(wr_plan *plan) {
  wr_part_plan_destroy(plan->parts);
  plan->parts = NULL;
  if (plan->backend->destroy) plan->backend->destroy(plan->state, plan->env);
  memset(plan->state, 0, plan->backend->state_size);
  wr_vec *const mine[] = {&plan->product, &plan->column_x, &plan->column_y};
  for (int v = 0; v < 3; v++)
    if (mine[v]->id) plan->env->ops->release(plan->env, mine[v]);
  plan->prepared = 0, plan->generation = 0;
  wr_plan_forget(plan);
}

/* Allocates the vectors for what the backend's capabilities lack. */
static wr_status prepare_vectors(wr_plan *plan) {
  wr_env *env = plan->env;
  int64_t size = wr_type_bytes(env->type);
  plan->columns = env->need_columns;
  if (plan->parts && !wr_exchange_is_direct(plan->info.exchange)) return WR_OK; /* its pieces have their own */
  if (env->need_beta && plan->parts == NULL && !(plan->backend->caps & WR_CAP_BETA)) {
    PASS(env->ops->alloc(env, plan->nrows, env->type, "a separate product", &plan->product));
    plan->info.extra_bytes += plan->nrows * size;
  }
  if (env->need_columns == 0 || (plan->backend->apply_many && plan->parts == NULL)) return WR_OK;
  PASS(env->ops->alloc(env, plan->x_length, env->type, "a column of X", &plan->column_x));
  PASS(env->ops->alloc(env, plan->nrows, env->type, "a column of Y", &plan->column_y));
  plan->info.extra_bytes += (plan->x_length + plan->nrows) * size;
  return WR_OK;
}

wr_status wr_plan_prepare(wr_plan *plan) {
  wr_status status;
  WR_NEED(plan);
  WR_REFUSE_IF(plan->env->need_columns < 0 || plan->env->need_columns > WR_MAX_COLUMNS, "env->need_columns is %d",
               plan->env->need_columns);
  if (plan->prepared) return wr_fail(WR_EUSAGE, "%s is prepared already", plan->backend->name);
  int threads = take_threads(plan->env);
  plan->info = plan->estimate; /* it may have been prepared before */
  if (plan->env->place == WR_HOST) TRY(wr_csr_check_range(plan->A, plan->env->type == WR_F32));
  TRY(plan->A->halo ? wr_part_plan_create(plan->backend, plan->knobs, plan->A, plan->env, &plan->info, &plan->parts)
                    : plan->backend->prepare(plan->state, plan->env, plan->A, plan->knobs, &plan->info));
  TRY(prepare_vectors(plan));
  TRY(plan->env->ops->wait(plan->env)); /* a kernel launched early may read the format before it waits */
  plan->prepared = 1, plan->generation = wr_vec_new_id(), plan->values = wr_vec_new_id();
done:
  omp_set_num_threads(threads);
  if (status != WR_OK) unprepare(plan);
  return status;
}

void wr_plan_destroy(wr_plan *plan) {
  if (plan == NULL) return;
  if (plan->state && plan->knobs) unprepare(plan);
  if (plan->knobs) wr_free(plan->knobs);
  wr_free(plan->state);
  wr_free(plan->watch.seconds);
  wr_csr_free(plan->A);
  wr_free(plan);
}

/* Puts the name of the function that refuses its arguments before the sentence. */
static wr_status refused_by(const char *function, wr_status status) {
  return status == WR_OK ? WR_OK : wr_fail(status, "%s: %s", function, wr_status_message());
}

/* A vector that may be compact: the scale of the epilogue. */
static wr_status check_any_vec(const wr_plan *plan, const wr_vec *v, int64_t n, const char *role) {
  if (v->id == 0 || v->data == NULL) return wr_fail(WR_EUSAGE, "%s is not allocated", role);
  if (v->place != plan->env->place) return wr_fail(WR_EUSAGE, "%s is not at the place where the plan runs", role);
  if (v->n != n)
    return wr_fail(WR_EUSAGE, "%s has %lld %s, not %lld", role, (long long)v->n, wr_plural(v->n, "element", "elements"),
                   (long long)n);
  if (v->type != plan->env->type) return wr_fail(WR_EUSAGE, "%s is of another type than the plan", role);
  return WR_OK;
}

static wr_status check_vec(const wr_plan *plan, const wr_vec *v, int64_t n, const char *role) {
  wr_status status = check_any_vec(plan, v, n, role);
  return status == WR_OK && v->reciprocal_bytes ? wr_fail(WR_EUSAGE, "%s is a compact vector", role) : status;
}

/* One vector under two names, or two descriptions of the same memory. */
static int is_same(const wr_vec *a, const wr_vec *b) { return a && b && (a == b || a->data == b->data); }

static wr_status check_bank(const wr_plan *plan, wr_scalar s, const char *role) {
  if (s.bank->place != plan->env->place || s.bank->type != WR_F64 || s.index < 0 || s.index >= s.bank->n)
    return wr_fail(WR_EUSAGE, "%s is not in a bank of f64 where the plan runs", role);
  return WR_OK;
}

static wr_status check_reductions(const wr_plan *plan, const wr_apply *request) {
  const wr_epilogue *e = request->epilogue;
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) {
    const wr_reduction *reduce = &e->reduce[r];
    if (reduce->kind == WR_NO_REDUCTION) continue;
    if ((unsigned)reduce->kind > WR_NRM2SQ_SCALED && reduce->kind != WR_L1DIFF_UNSCALED)
      return wr_fail(WR_EUSAGE, "%d is no kind of reduction", reduce->kind);
    if (reduce->of) return wr_fail(WR_EUSAGE, "reduction %d is of y; its `of` must be NULL", r);
    if (reduce->into.bank == NULL) return wr_fail(WR_EUSAGE, "reduction %d has no bank for its result", r);
    PASS(check_bank(plan, reduce->into, "a reduction's result"));
    if (is_same(reduce->into.bank, request->x) || is_same(reduce->into.bank, request->y))
      return wr_fail(WR_EUSAGE, "the result of reduction %d would overwrite x or y", r);
    if ((reduce->kind == WR_SUM_UNSCALED || reduce->kind == WR_L1DIFF_UNSCALED) && !e->scale)
      return wr_fail(WR_EUSAGE, "a sum of unscaled elements needs a scale");
    if (reduce->kind == WR_SUM_UNSCALED || !wr_reduction_reads_z(reduce->kind)) continue;
    if (!reduce->z) return wr_fail(WR_EUSAGE, "reduction %d needs a second vector", r);
    PASS(check_vec(plan, reduce->z, plan->A->nrows, "a reduction's vector"));
    if (is_same(reduce->z, request->y) || is_same(reduce->z, e->scaled))
      return wr_fail(WR_EUSAGE, "reduction %d reads what this apply writes", r);
  }
  return WR_OK;
}

static wr_status check_epilogue(const wr_plan *plan, const wr_apply *request) {
  const wr_epilogue *e = request->epilogue;
  const wr_vec *const others[] = {request->x, request->y, request->y_next};
  const wr_vec *const mine[] = {e->scaled, e->scale, e->shift_dir, e->relax_from};
  if (e->shift.bank) PASS(check_bank(plan, e->shift, "the shift"));
  if (!e->shift.bank && e->shift_dir) return wr_fail(WR_EUSAGE, "a direction without a shift");
  if (!e->shift_dir && e->adds_dir) return wr_fail(WR_EUSAGE, "a direction is to be added, and there is none");
  if (!e->scale && (e->scaled || e->scales_y)) return wr_fail(WR_EUSAGE, "scaled without scale");
  if (e->scaled && e->scales_y) return wr_fail(WR_EUSAGE, "y is scaled, and so is another vector");
  if (e->relax_from && !e->relaxation.bank) return wr_fail(WR_EUSAGE, "relax_from without a relaxation");
  if (e->relax_from) PASS(check_bank(plan, e->relaxation, "the relaxation"));
  for (int m = 0; m < 4; m++) {
    if (!mine[m]) continue;
    PASS(m == 1 ? check_any_vec(plan, e->scale, plan->A->nrows, "the scale of the epilogue")
                : check_vec(plan, mine[m], plan->A->nrows, "a vector of the epilogue"));
    for (int o = 0; o < (m == 3 ? 2 : 3); o++) /* relax_from may be y_next */
      if (is_same(mine[m], others[o])) return wr_fail(WR_EUSAGE, "a vector of the epilogue is x, y or y_next too");
    for (int k = 0; k < m; k++)
      if (is_same(mine[m], mine[k])) return wr_fail(WR_EUSAGE, "two vectors of the epilogue are the same one");
  }
  if (e->then.step) PASS(wr_step_check(plan->env, &e->then));
  return check_reductions(plan, request);
}

static wr_status check_request(const wr_plan *plan, const wr_apply *request) {
  if (!plan->prepared) return wr_fail(WR_EUSAGE, "%s is not prepared", plan->backend->name);
  if (!request->x || !request->y) return wr_fail(WR_EUSAGE, "x and y are needed");
  PASS(check_vec(plan, request->x, plan->x_length, "x"));
  PASS(check_vec(plan, request->y, plan->A->nrows, "y"));
  if (request->y_next) PASS(check_vec(plan, request->y_next, plan->A->nrows, "y_next"));
  if (is_same(request->x, request->y) || is_same(request->x, request->y_next) || is_same(request->y, request->y_next))
    return wr_fail(WR_EUSAGE, "x, y and y_next must be distinct vectors");
  if (request->beta != 0 && plan->promised)
    return wr_fail(WR_EUSAGE, "beta must be 0, since the last apply had a y_next");
  if (request->beta != 0 && !(plan->backend->caps & WR_CAP_BETA) && !plan->product.id && !plan->parts)
    return wr_fail(WR_EUSAGE, "beta != 0 needs need_beta in the plan's environment");
  if (request->epilogue) PASS(check_epilogue(plan, request));
  return WR_OK;
}

static void count_writes(const wr_apply *request) {
  request->y->writes++;
  if (request->y_next) request->y_next->writes++;
  if (request->epilogue == NULL) return;
  if (request->epilogue->scaled) request->epilogue->scaled->writes++;
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++)
    if (request->epilogue->reduce[r].kind != WR_NO_REDUCTION) request->epilogue->reduce[r].into.bank->writes++;
}

static int reads_y_next(const wr_apply *request) {
  if (request->epilogue == NULL || request->y_next == NULL) return 0;
  if (request->epilogue->relax_from == request->y_next) return 1;
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++)
    if (request->epilogue->reduce[r].kind != WR_NO_REDUCTION && request->epilogue->reduce[r].z == request->y_next)
      return 1;
  return 0;
}

/* y = alpha*A*x + beta*y for a backend without WR_CAP_BETA. */
static wr_status multiply_then_add(wr_plan *plan, wr_apply_args *args) {
  wr_vec *y = args->request.y;
  wr_fused add = {.in = {&plan->product, y}, .out = {y}, .c = {{{.factor = 1}, {.factor = args->request.beta}}}};
  args->request.y = &plan->product, args->request.y_next = NULL, args->request.beta = 0, args->y_prepared = 0;
  PASS(plan->backend->apply(plan->state, plan->env, args));
  return plan->env->ops->fused(plan->env, &add);
}

/* Removes from the request what the backend has no capability for, calls it, and does the rest in further passes. */
static wr_status run(wr_plan *plan, const wr_apply *request) {
  unsigned caps = plan->backend->caps;
  if (plan->parts) caps = (caps & ~(unsigned)(WR_CAP_EPILOGUE | WR_CAP_Y_NEXT)) | WR_CAP_BETA;
  if (plan->parts && wr_part_plan_finishes(plan->parts)) caps |= WR_CAP_EPILOGUE;
  const wr_testing *testing = plan->env->testing;
  wr_apply_args args = {.request = *request};
  int add_separately = request->beta != 0 && !(caps & WR_CAP_BETA);
  int finish_separately = request->epilogue && (!(caps & WR_CAP_EPILOGUE) || add_separately);
  args.y_prepared = plan->next_id == request->y->id && plan->next_writes == request->y->writes;
  if (finish_separately) args.request.epilogue = NULL;
  if (!(caps & WR_CAP_Y_NEXT) || (finish_separately && reads_y_next(request))) args.request.y_next = NULL;
  int prepares = args.request.y_next != NULL && !add_separately;
  wr_plan_forget(plan); /* also if this apply fails: the last y_next has no effect on later applies */
  plan->env->then_done = 0;
  count_writes(request);
  PASS(plan->parts      ? wr_part_plan_apply(plan->parts, &args.request)
       : add_separately ? multiply_then_add(plan, &args)
                        : plan->backend->apply(plan->state, plan->env, &args));
  if (finish_separately) PASS(plan->env->ops->epilogue(plan->env, request));
  if (request->epilogue) PASS(wr_then_run(plan->env, &request->epilogue->then));
  if (request->y_next && !prepares && testing && testing->poison)
    PASS(plan->env->ops->fill(plan->env, request->y_next, NAN));
  plan->promised = request->y_next != NULL;
  if (prepares) plan->next_id = request->y_next->id, plan->next_writes = request->y_next->writes;
  return WR_OK;
}

int wr_plan_resident_side(const wr_plan *plan) {
  if (plan == NULL || !plan->prepared || plan->parts || plan->env->place != WR_CUDA) return 0;
  return plan->backend->rows ? 1 : plan->backend->side ? plan->backend->side(plan->state) : 0;
}

/* Records the apply as a product of a resident loop, which computes all of y and prepares nothing in y_next. */
static wr_status record_rows(wr_plan *plan, const wr_apply *request) {
  wr_env *env = plan->env;
  wr_csr_view view;
  int side = wr_plan_resident_side(plan);
  if (side == 0) return wr_fail(WR_EUNAVAILABLE, "a resident loop cannot multiply as %s does", plan->backend->name);
  if (plan->backend->rows)
    view = plan->backend->rows(plan->state);
  else
    PASS(wr_csr_device_view(plan->A, env, &view));
  wr_plan_forget(plan);
  env->then_done = 0;
  count_writes(request);
  PASS(env->ops->loop_rows(env, &view, plan->A->nnz, side, request));
  if (request->epilogue) PASS(wr_then_run(env, &request->epilogue->then));
  plan->promised = request->y_next != NULL;
  plan->is_copied = 1;
  return WR_OK;
}

/* Stamps before and after an apply that is timed. */
static wr_status time_begin(wr_plan *plan) {
  if (!plan->watch.timing || plan->watch.paused) return WR_OK;
  if (plan->watch.pending == PAIRS) PASS(wr_plan_time_collect(plan));
  return plan->env->ops->stamp(plan->env, 2 * plan->watch.pending);
}

static wr_status time_end(wr_plan *plan) {
  if (!plan->watch.timing || plan->watch.paused) return WR_OK;
  PASS(plan->env->ops->stamp(plan->env, 2 * plan->watch.pending + 1));
  plan->watch.pending++;
  return WR_OK;
}

wr_status wr_plan_apply(wr_plan *plan, const wr_apply *request) {
  WR_NEED(plan);
  WR_NEED(request);
  PASS(refused_by("wr_plan_apply", check_request(plan, request)));
  if (plan->env->resident) return record_rows(plan, request);
  PASS(time_begin(plan));
  PASS(run(plan, request));
  return time_end(plan);
}

/* ---- Several vectors at once ---- */

/* X or Y: `rows` rows of ld elements, k of which are used. */
static wr_status check_columns(const wr_plan *plan, const wr_vec *v, int64_t rows, int64_t ld, int k,
                               const char *role) {
  if (ld < k || ld > WR_MAX_INDEX)
    return wr_fail(WR_EUSAGE, "%s has rows of %lld elements, for %d %s", role, (long long)ld, k,
                   wr_plural(k, "column", "columns"));
  return check_vec(plan, v, rows * ld, role); /* both below 2^31 */
}

/* The epilogue and the sums of an apply_many are of its own vectors. */
static wr_status check_what_follows(const wr_plan *plan, const wr_apply_many *r) {
  const wr_epilogue_many *e = r->ranks;
  const wr_fused_many *f = r->sums;
  if (e && f) return wr_fail(WR_EUSAGE, "an epilogue and sums behind one multiply");
  if (e) {
    PASS(wr_epilogue_many_check(plan->env, e));
    if (e->y != r->y || e->ldy != r->ldy || e->columns != r->columns || r->beta != 0 ||
        (e->x && (e->x != r->x || e->ldx != r->ldx)))
      return wr_fail(WR_EUSAGE, "the epilogue is of other vectors than the multiply, or beta is not 0");
  }
  if (f) {
    PASS(wr_fused_many_check(plan->env, f));
    if (f->out[0] || f->ld != r->ldy || f->columns > r->columns || wr_many_slot(f, r->y) < 0)
      return wr_fail(WR_EUSAGE, "sums behind a multiply have outputs, other columns, or not its y");
  }
  return WR_OK;
}

static wr_status check_many(const wr_plan *plan, const wr_apply_many *r) {
  if (!plan->prepared) return wr_fail(WR_EUSAGE, "%s is not prepared", plan->backend->name);
  if (r->columns < 1 || r->columns > plan->columns)
    return wr_fail(WR_EUSAGE, "%d columns; the plan was prepared for %d (need_columns)", r->columns, plan->columns);
  if (!r->x || !r->y) return wr_fail(WR_EUSAGE, "x and y are needed");
  PASS(check_columns(plan, r->x, plan->x_length, r->ldx, r->columns, "x"));
  PASS(check_columns(plan, r->y, plan->nrows, r->ldy, r->columns, "y"));
  if (is_same(r->x, r->y)) return wr_fail(WR_EUSAGE, "x and y must be distinct vectors");
  if (r->beta != 0 && !plan->backend->apply_many && !(plan->backend->caps & WR_CAP_BETA) && !plan->product.id &&
      !plan->parts)
    return wr_fail(WR_EUSAGE, "beta != 0 needs need_beta in the plan's environment");
  PASS(check_what_follows(plan, r));
  if (plan->env->resident) return wr_fail(WR_EUNAVAILABLE, "not possible in a resident loop");
  return WR_OK;
}

static wr_status run_columns(wr_plan *plan, const wr_apply_many *r) {
  wr_env *env = plan->env;
  wr_apply one = {.alpha = r->alpha, .beta = r->beta, .x = &plan->column_x, .y = &plan->column_y};
  for (int64_t c = 0; c < r->columns; c++) {
    PASS(env->ops->copy_column(env, r->x, r->ldx, c, &plan->column_x, 1, 0));
    if (r->beta != 0) PASS(env->ops->copy_column(env, r->y, r->ldy, c, &plan->column_y, 1, 0));
    PASS(run(plan, &one));
    PASS(env->ops->copy_column(env, &plan->column_y, 1, 0, r->y, r->ldy, c));
  }
  return WR_OK;
}

wr_status wr_plan_apply_many(wr_plan *plan, const wr_apply_many *request) {
  WR_NEED(plan);
  WR_NEED(request);
  PASS(refused_by("wr_plan_apply_many", check_many(plan, request)));
  wr_plan_forget(plan);
  request->y->writes++;
  PASS(time_begin(plan));
  wr_env *env = plan->env;
  env->many_done = 0;
  PASS(plan->column_x.id ? run_columns(plan, request)
       : plan->parts     ? wr_part_plan_apply_many(plan->parts, request)
                         : plan->backend->apply_many(plan->state, env, request));
  if (request->ranks && !env->many_done) PASS(env->ops->epilogue_many(env, request->ranks));
  if (request->sums && !env->many_done) PASS(env->ops->fused_many(env, request->sums));
  return time_end(plan);
}

double wr_plan_many_bytes(const wr_plan *plan, int columns) {
  if (plan == NULL || columns < 1 || columns > WR_MAX_COLUMNS) return 0;
  double vectors = (double)((plan->nrows + plan->ncols) * wr_type_bytes(plan->env->type));
  if (plan->backend->apply_many) return plan->info.apply_bytes + (columns - 1) * vectors;
  return columns * (plan->info.apply_bytes + 2 * vectors); /* each copy reads and writes */
}

void wr_plan_forget(wr_plan *plan) {
  if (plan == NULL) return;
  plan->promised = 0;
  plan->next_id = 0, plan->next_writes = 0;
}

wr_status wr_plan_decode(wr_plan *plan, wr_csr **A) {
  WR_NEED(A);
  *A = NULL;
  WR_NEED(plan);
  if (!plan->prepared) return wr_fail(WR_EUSAGE, "decode: %s is not prepared", plan->backend->name);
  if (plan->parts) return wr_fail(WR_EUNAVAILABLE, "decode: not of a matrix in parts");
  if (!plan->backend->decode) return wr_fail(WR_EUNAVAILABLE, "%s has no format of its own", plan->backend->name);
  PASS(wr_csr_host(plan->A, plan->env));
  return plan->backend->decode(plan->state, plan->env, A);
}

/* ---- New values ---- */

static wr_status check_pattern(const wr_plan *plan, wr_csr *A) {
  if (A->nrows != plan->nrows || A->ncols != plan->ncols || A->nnz != plan->nnz)
    return wr_fail(WR_EUSAGE,
                   "update_values: the new matrix has another pattern: %lld x %lld with %lld entries, not %lld x %lld "
                   "with %lld; create another plan for it",
                   (long long)A->nrows, (long long)A->ncols, (long long)A->nnz, (long long)plan->nrows,
                   (long long)plan->ncols, (long long)plan->nnz);
  if ((A->val != NULL) != plan->has_values)
    return wr_fail(WR_EUSAGE, "update_values: the new matrix has another pattern: it has %s, the plan's has %s",
                   A->val ? "values" : "none", A->val ? "none" : "values");
  PASS(wr_csr_host(A, plan->env));
  if (A == plan->A) return WR_OK;
  PASS(wr_csr_host(plan->A, plan->env));
  if (!wr_csr_same_pattern(A, plan->A))
    return wr_fail(WR_EUSAGE, "update_values: the new matrix has another pattern: its entries are at other places; "
                              "create another plan for it");
  return WR_OK;
}

/* Waits first, since running applies still read the old values, which are overwritten. WR_EUNAVAILABLE: the backend has no
 * update_values, or it cannot take these values. */
static wr_status write_values(wr_plan *plan, wr_csr *A) {
  wr_env *env = plan->env;
  int moved = 0;
  if (plan->backend->update_values == NULL) return WR_EUNAVAILABLE;
  PASS(env->ops->wait(env));
  if (env->place == WR_HOST) PASS(wr_csr_check_range(A, env->type == WR_F32));
  PASS(plan->backend->update_values(plan->state, env, A, &moved));
  PASS(env->ops->wait(env)); /* a kernel launched early may read the format before it waits */
  if (moved || plan->is_copied) plan->generation = wr_vec_new_id();
  plan->is_copied = 0;
  return WR_OK;
}

wr_status wr_plan_update_values(wr_plan *plan, wr_csr *A) {
  wr_status status;
  wr_csr *before;
  WR_NEED(plan);
  WR_NEED(A);
  before = plan->A;
  if (!plan->prepared) return wr_fail(WR_EUSAGE, "update_values: %s is not prepared", plan->backend->name);
  if (plan->parts) return wr_fail(WR_EUNAVAILABLE, "update_values: not of a matrix in parts");
  TRY(check_pattern(plan, A));
  wr_plan_forget(plan);
  wr_csr_values_changed(A);
  if (A != before && plan->env->place == WR_CUDA) TRY(wr_csr_share_indices(before, A, plan->env));
  status = write_values(plan, A);
  wr_csr_hold(A);
  plan->A = A;
  if (status == WR_EUNAVAILABLE) {
    unprepare(plan);
    status = wr_plan_prepare(plan);
  }
  if (status != WR_OK) {
    if (plan->prepared) unprepare(plan);
    plan->A = before;
  }
  plan->values = wr_vec_new_id(); /* also after an error: values may have been changed in place */
  wr_csr_free(status == WR_OK ? before : A); /* the plan's hold on this matrix ends */
done:
  return status;
}

wr_status wr_plan_swap(wr_plan *plan, wr_plan *other) {
  WR_NEED(plan);
  WR_NEED(other);
  WR_REFUSE_IF(plan->A != other->A || plan->env != other->env, "the plans are of different matrices or envs");
  WR_REFUSE_IF(!plan->prepared || !other->prepared, "a plan is not prepared");
  if (other->info.sum_unit > plan->info.sum_unit || other->info.term_unit > plan->info.term_unit)
    return wr_fail(WR_EUNAVAILABLE, "%s rounds more than %s", other->backend->name, plan->backend->name);
  wr_plan_forget(plan);
  wr_plan_forget(other);
  wr_plan before = *plan;
  *plan = *other, *other = before;
  other->watch = plan->watch, plan->watch = before.watch;
  return WR_OK;
}

/* ---- What a plan tells ---- */

uint64_t wr_plan_generation(const wr_plan *plan) { return plan ? plan->generation : 0; }

const wr_csr *wr_plan_matrix(const wr_plan *plan, uint64_t *values) {
  *values = plan->values;
  return plan->A;
}

const wr_backend *wr_plan_backend(const wr_plan *plan) { return plan ? plan->backend : NULL; }
const wr_plan_info *wr_plan_get_info(const wr_plan *plan) { return plan ? &plan->info : NULL; }

const wr_plan_info *wr_plan_advise(wr_plan *plan) {
  if (plan == NULL) return NULL;
  int has_host_arrays = plan->A->row_ptr != NULL; /* 0: the matrix is on a device alone */
  int threads = take_threads(plan->env);
  if (plan->backend->advise && has_host_arrays && plan->A->nnz > 0 && plan->parts == NULL)
    plan->backend->advise(plan->env, plan->A, &plan->info);
  omp_set_num_threads(threads);
  return &plan->info;
}

const char *wr_plan_knobs(const wr_plan *plan) { return plan ? plan->knobs_text : ""; }

wr_status wr_plan_check_match(const wr_plan *plan, const wr_csr *A, const wr_env *env, const char *function) {
  if (plan == NULL) return wr_refuse(function, "plan is NULL");
  if (plan->env != env) return wr_refuse(function, "plan was made for another env");
  if (plan->A->nrows != A->nrows || plan->A->ncols != A->ncols || plan->A->nnz != A->nnz)
    return wr_refuse(function, "plan is of a matrix of %lld x %lld with %lld entries, not %lld x %lld with %lld",
                     (long long)plan->A->nrows, (long long)plan->A->ncols, (long long)plan->A->nnz, (long long)A->nrows,
                     (long long)A->ncols, (long long)A->nnz);
  return WR_OK;
}

/* ---- Times of applies ---- */

wr_status wr_plan_time_start(wr_plan *plan) {
  WR_NEED(plan);
  stopwatch *watch = &plan->watch;
  if (!watch->seconds) PASS(wr_alloc(&watch->seconds, WR_MAX_TIMES, sizeof *watch->seconds, "apply times"));
  watch->applies = 0, watch->total = 0, watch->pending = 0;
  watch->timing = 1;
  return WR_OK;
}

wr_status wr_plan_time_collect(wr_plan *plan) {
  wr_status status = WR_OK;
  WR_NEED(plan);
  stopwatch *watch = &plan->watch;
  for (int p = 0; p < watch->pending; p++) {
    double seconds;
    TRY(plan->env->ops->elapsed(plan->env, 2 * p, 2 * p + 1, &seconds));
    if (watch->applies < WR_MAX_TIMES) watch->seconds[watch->applies] = seconds;
    watch->applies++;
    watch->total += seconds;
  }
done:
  watch->pending = 0;
  return status;
}

int wr_plan_time_pause(wr_plan *plan, int paused) {
  if (plan == NULL) return 0;
  int before = plan->watch.paused;
  plan->watch.paused = paused;
  return before;
}

wr_plan_times wr_plan_get_times(const wr_plan *plan) {
  if (plan == NULL) return (wr_plan_times){0};
  const stopwatch *watch = &plan->watch;
  return (wr_plan_times){.applies = watch->applies,
                         .count = watch->applies < WR_MAX_TIMES ? watch->applies : WR_MAX_TIMES,
                         .seconds = watch->seconds,
                         .total = watch->total};
}
