/* Preconditioners that are a pair of triangular factors (Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, 2003,
 * chapter 10): the order of the rows, the factorisation, the solves, and the line of the report. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "config/defaults.h"
#include "config/memory.h"
#include "solvers/precond.h"
#include "spmv/matrix/matrix_facts.h"
#include "spmv/parts/halo.h"
#include "spmv/precond/block_colour.h"
#include "spmv/precond/ilu.h"
#include "spmv/precond/lu_cuda.h"
#include "spmv/precond/lu_host.h"
#include "spmv/precond/rcm.h"

enum { ORDER_AUTO, ORDER_GIVEN, ORDER_RCM, ORDER_COLOUR }; /* choices of the knob `order`                     */
enum { FACTORS_AUTO, FACTORS_F32 };                        /* of the knob `factors`; AUTO: that of the solve  */

typedef struct factors_knobs {
  int order;
  int64_t block;   /* rows of a block of the order by colours */
  int factors;
  int at;          /* a wr_ilu_at, of ILU(0) alone            */
  double pivot;    /* see wr_ilu_shifts                       */
  double drop;     /* of ILUT alone                           */
  int64_t fill;
} factors_knobs;

typedef struct factors {
  wr_lu_host *host; /* by the place of the env, the other one is NULL */
  wr_lu_cuda *cuda;
} factors;

/* A factorisation. */
typedef struct factoring {
  const char *title;  /* for the line                                                                        */
  int has_pattern;    /* 1: the factors have the pattern of B, and so its levels                             */
  int keeps_symmetry; /* 1: the factors of a symmetric matrix are each other's transposes but for the pivots */
  wr_status (*factorise)(const wr_csr *B, const factors_knobs *knobs, wr_env *env, wr_lu *lu,
                         wr_ilu_shifts *shifts); /* asks env->watch */
} factoring;

/* Sums of the levels of both triangles of the matrix, in the order as given and in the others; 0: not found out. */
typedef struct orders {
  int64_t given, rcm, colour;
} orders;

/* A factorisation in one order. */
typedef struct attempt {
  wr_csr *B;            /* A in that order; NULL: A itself, or nothing   */
  wr_lu lu;
  wr_ilu_shifts shifts;
  int is_positive;      /* L U is symmetric positive definite but for rounding              */
  double raised;        /* the diagonal was raised by this share, so that all pivots are positive */
  wr_block_colours colours; /* of the order by colours                                          */
} attempt;

static void free_attempt(attempt *a) {
  wr_csr_free(a->B);
  wr_lu_free(&a->lu);
  *a = (attempt){0};
}

static wr_status count_levels(const wr_csr *A, const int32_t *order, int64_t *levels) {
  int64_t lower, upper;
  wr_status status = wr_ilu0_levels(A, order, &lower, &upper);
  if (status == WR_OK) *levels = lower + upper;
  return status;
}

static int has_positive_pivots(const wr_lu *lu) {
  for (int64_t i = 0; i < lu->n; i++)
    if (!(lu->inverse[i] > 0)) return 0;
  return 1;
}

/* Factorises B; one that may be positive definite with a raised diagonal if pivots are not positive otherwise (Manteuffel
 * 1980). Where the largest raise is not enough, the factors are those of B itself. */
static wr_status factorise_positive(const factoring *how, const wr_csr *B, const factors_knobs *knobs, wr_env *env,
                                    int may_be_positive, attempt *a) {
  wr_status status;
  static const double raises[] = {1e-3, 1e-2, 1e-1, 1};
  wr_csr *raised = NULL;
  attempt other = {0};
  TRY(how->factorise(B, knobs, env, &a->lu, &a->shifts));
  a->is_positive = may_be_positive && a->shifts.count == 0 && has_positive_pivots(&a->lu);
  for (size_t k = 0; B->val && may_be_positive && !a->is_positive && k < sizeof raises / sizeof *raises; k++) {
    wr_csr_free(raised), raised = NULL;
    TRY(wr_csr_copy(B, &raised));
    for (int64_t i = 0; i < B->nrows; i++) raised->val[wr_csr_find(B, i, i)] *= 1 + raises[k];
    status = how->factorise(raised, knobs, env, &other.lu, &other.shifts);
    if (status == WR_ENUMERIC) { /* a raised diagonal may be beyond f64 where that of B is not */
      free_attempt(&other), status = WR_OK;
      continue;
    }
    TRY(status);
    other.is_positive = other.shifts.count == 0 && has_positive_pivots(&other.lu);
    other.raised = raises[k];
    if (other.is_positive) {
      other.B = a->B, a->B = NULL, other.lu.order = a->lu.order, a->lu.order = NULL, other.colours = a->colours;
      free_attempt(a);
      *a = other, other = (attempt){0};
    }
    free_attempt(&other);
  }
done:
  free_attempt(&other);
  wr_csr_free(raised);
  return status;
}

static int has_pivot(const wr_csr *A, int64_t i, double least) {
  double size = 0, diagonal = 0;
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
    double value = A->val ? fabs(A->val[k]) : 1;
    size = fmax(size, value);
    if (A->col[k] == i) diagonal = value;
  }
  return diagonal >= least * size;
}

/* Moves rows whose diagonal element is too small for a pivot behind all others, keeping their order. Rows that are eliminated
 * before them then add to their diagonal, as in a saddle point problem with the constraints at the end (Benzi, Golub and
 * Liesen, Numerical solution of saddle point problems, Acta Numerica 14, 2005). */
static wr_status put_small_last(const wr_csr *A, double least, int32_t *order) {
  wr_status status;
  int32_t *small = NULL;
  int64_t kept = 0, moved = 0;
  TRY(wr_alloc(&small, A->nrows, sizeof *small, "the order of the factors"));
  for (int64_t k = 0; k < A->nrows; k++) {
    int32_t i = order[k];
    if (has_pivot(A, i, least))
      order[kept++] = i;
    else
      small[moved++] = i;
  }
  for (int64_t k = 0; k < moved; k++) order[kept + k] = small[k];
done:
  wr_free(small);
  return status;
}

/* a->lu.order := reverse Cuthill-McKee's, and *levels := those of A in it. */
static wr_status order_by_rcm(const wr_csr *A, double least, wr_env *env, int64_t *levels, attempt *a) {
  PASS(wr_alloc(&a->lu.order, A->nrows, sizeof *a->lu.order, "the order of the factors"));
  PASS(wr_rcm(A, env->watch, a->lu.order));
  PASS(put_small_last(A, least, a->lu.order));
  return count_levels(A, a->lu.order, levels);
}

/* a->lu.order := that by colours of blocks, which begin where reverse Cuthill-McKee's does. */
static wr_status order_by_colours(const wr_csr *A, int64_t block, double least, wr_env *env, const attempt *rcm,
                                  int64_t *levels, attempt *a) {
  PASS(wr_alloc(&a->lu.order, A->nrows, sizeof *a->lu.order, "the order of the factors"));
  PASS(wr_block_colour(A, rcm->lu.order, block, env->watch, a->lu.order, &a->colours));
  PASS(put_small_last(A, least, a->lu.order));
  return count_levels(A, a->lu.order, levels);
}

/* Microseconds of a device, measured on an H200 (2026-11): a level of a triangular solve takes 1.1 to 1.6, memory gives 3 to 4
 * MB each, and a multiply or a solve takes some for the launch alone. */
static const double level_us = 1.3, launch_us = 5, bytes_each_us = 3e6;

/* So many times the iterations of another order took the order by colours at most, of the systems in docs/decisions.md. */
static const double more_iterations = 4;

/* A multiply and an apply of M, which reads the entries of the factors and both maps of rows. */
static double iteration_us(const wr_csr *A, const wr_env *env, int64_t levels) {
  double type = (double)wr_type_bytes(env->type), entries = (double)A->nnz, rows = (double)A->nrows;
  return 2 * launch_us + level_us * (double)levels +
         ((4 + type) * 2 * entries + (20 + 8 * type) * rows) / bytes_each_us;
}

/* Levels from which an order by colours may pay on a device: if it had none at all. */
static int colours_may_pay(const wr_csr *A, const wr_env *env, int64_t levels, int64_t by_colours) {
  return env->place == WR_CUDA && iteration_us(A, env, levels) > more_iterations * iteration_us(A, env, by_colours);
}

/* The matrices in the orders that are to be tried. By default reverse Cuthill-McKee's is, where it lowers the levels, and on a
 * device that by colours where the levels of both others take much longer than all else. */
static wr_status find_orders(const factoring *how, const wr_csr *A, const factors_knobs *knobs, wr_env *env,
                             orders *levels, attempt *rcm, attempt *colour) {
  int choice = knobs->order;
  if (choice == ORDER_GIVEN) return WR_OK;
  PASS(count_levels(A, NULL, &levels->given));
  PASS(order_by_rcm(A, knobs->pivot, env, &levels->rcm, rcm));
  int64_t fewest = levels->rcm < levels->given ? levels->rcm : levels->given;
  int tries_colours = how->has_pattern && choice == ORDER_AUTO && colours_may_pay(A, env, fewest, 0);
  if (choice == ORDER_COLOUR || tries_colours)
    PASS(order_by_colours(A, knobs->block, knobs->pivot, env, rcm, &levels->colour, colour));
  if (choice == ORDER_COLOUR || (choice == ORDER_AUTO && levels->rcm >= levels->given)) free_attempt(rcm);
  if (tries_colours && !colours_may_pay(A, env, fewest, levels->colour)) free_attempt(colour), levels->colour = 0;
  if (rcm->lu.order) PASS(wr_csr_reorder(A, rcm->lu.order, &rcm->B));
  if (colour->lu.order) PASS(wr_csr_reorder(A, colour->lu.order, &colour->B));
  return WR_OK;
}

static int is_better(const attempt *a, const attempt *b) {
  return a->is_positive > b->is_positive || (a->is_positive == b->is_positive && a->shifts.count < b->shifts.count);
}

/* The factors in the order that the knobs ask for. By default an order other than the given one is left again if it has more
 * small pivots, since their shifts make a preconditioner that may be worse than none. */
static wr_status choose(const factoring *how, const wr_csr *A, const factors_knobs *knobs, wr_env *env, orders *levels,
                        attempt *best) {
  wr_status status;
  attempt tries[3] = {0}; /* by colours, in reverse Cuthill-McKee's order, as given */
  attempt *chosen = NULL;
  int may_be_positive = how->keeps_symmetry && wr_is_symmetric_positive(A), is_auto = knobs->order == ORDER_AUTO;
  TRY(find_orders(how, A, knobs, env, levels, &tries[1], &tries[0]));
  for (int k = 0; k < 3; k++) {
    attempt *a = &tries[k];
    if (k < 2 ? a->B == NULL : !is_auto && knobs->order != ORDER_GIVEN) continue;
    status = factorise_positive(how, a->B ? a->B : A, knobs, env, may_be_positive, a);
    if (status == WR_ENUMERIC && (chosen || (is_auto && k < 2))) {
      status = WR_OK;
      continue;
    }
    TRY(status);
    if (chosen == NULL || is_better(a, chosen)) chosen = a;
    if (a->shifts.count == 0 && (a->is_positive || !may_be_positive)) break;
  }
  *best = *chosen, *chosen = (attempt){0};
done:
  for (int k = 0; k < 3; k++) free_attempt(&tries[k]);
  return status;
}

/* "ILU(0): 1234 entries in L and U, 34 + 35 levels in reverse Cuthill-McKee order (levels of the matrix: 9000 as given, 68 in
 * that one)" */
static wr_status describe(const attempt *a, const char *title, int64_t block, const orders *levels, int beyond_f32,
                          wr_precond_info *info) {
  wr_status status;
  const wr_lu *lu = &a->lu;
  wr_levels lower = {0}, upper = {0};
  char other[80] = "", raised[80] = "", order[64] = "the order as given";
  TRY(wr_lu_levels(lu, &lower, &upper));
  if (levels->given > 0 && levels->rcm > 0)
    snprintf(other, sizeof other, " (levels of the matrix: %" PRId64 " as given, %" PRId64 " %s)", levels->given,
             levels->rcm, lu->order && !a->colours.blocks ? "in that one" : "in reverse Cuthill-McKee's");
  if (a->colours.blocks)
    snprintf(order, sizeof order, "%" PRId64 " colours of blocks of %" PRId64, a->colours.colours, block);
  else if (lu->order)
    snprintf(order, sizeof order, "reverse Cuthill-McKee order");
  if (a->raised > 0) snprintf(raised, sizeof raised, "; the diagonal raised by %g for positive pivots", a->raised);
  info->levels = lower.count + upper.count;
  snprintf(info->line, sizeof info->line,
           "%s: %" PRId64 " entries in L and U, %" PRId64 " + %" PRId64 " levels in %s%s%s%s", title,
           lu->l_ptr[lu->n] + lu->u_ptr[lu->n] + lu->n, lower.count, upper.count, order, other, raised,
           beyond_f32 ? "; kept in f64, since f32 does not hold them" : "");
done:
  wr_levels_free(&lower);
  wr_levels_free(&upper);
  return status;
}

/* The solver at the place of env. */
static wr_status hold(factors *f, wr_env *env, wr_lu *lu, wr_type values, wr_precond_info *info) {
  if (env->place == WR_HOST) {
    PASS(wr_lu_host_create(lu, env, values, &f->host));
    info->extra_bytes = wr_lu_host_bytes(f->host);
  } else {
    PASS(wr_watch_check(env->watch, "the incomplete factorisation"));
    wr_status status = wr_lu_cuda_create_as(lu, env, &(wr_lu_cuda_options){.in_f32 = values == WR_F32}, &f->cuda);
    if (status == WR_ENOMEM) status = wr_fail(status, "%s; --precond none needs no factors", wr_status_message());
    PASS(status);
    info->extra_bytes = (int64_t)wr_lu_cuda_get_info(f->cuda)->bytes;
  }
  return WR_OK;
}

static wr_status prepare(factors *f, wr_env *env, wr_csr *A, const factors_knobs *knobs, const factoring *how,
                         wr_precond_info *info) {
  wr_status status;
  attempt a = {0};
  orders levels = {0};
  wr_csr *own = NULL;
  char title[80];
  snprintf(title, sizeof title, "%s", how->title);
  if (A->halo) {
    const wr_comm *comm = A->halo->comm;
    snprintf(title, sizeof title, "block Jacobi of %d parts, in part %d %s", comm->size, comm->rank + 1, how->title);
    TRY(wr_halo_block(A, &own));
    A = own;
  }
  TRY(choose(how, A, knobs, env, &levels, &a));
  wr_type values = knobs->factors == FACTORS_F32 ? WR_F32 : env->type;
  int is_beyond = values == WR_F32 && wr_lu_beyond_f32(&a.lu) >= 0;
  TRY(describe(&a, title, knobs->block, &levels, is_beyond, info));
  info->is_positive = a.is_positive;
  info->shifted = a.shifts.count, info->first_shifted = a.shifts.first_row;
  TRY(hold(f, env, &a.lu, values, info));
  info->apply_bytes = (double)(info->extra_bytes + 2 * A->nrows * wr_type_bytes(env->type));
done:
  free_attempt(&a);
  wr_csr_free(own);
  return status;
}

/* The sums and the step follow as an operation on the stored z. */
static wr_status finish(wr_env *env, const wr_precond_request *request) {
  wr_fused f = {.in = {request->z}, .then = request->then};
  int inputs = 1, sums = 0;
  for (int k = 0; k < WR_MAX_REDUCTIONS; k++) {
    wr_reduction r = request->reduce[k];
    if (r.kind == WR_NO_REDUCTION) continue;
    if (r.of == NULL) r.of = request->z;
    const wr_vec *const reads[] = {r.of, wr_reduction_reads_z(r.kind) ? r.z : NULL};
    for (int v = 0; v < 2; v++) {
      int in = 0;
      while (in < inputs && f.in[in] != reads[v]) in++;
      if (reads[v] && in == inputs) f.in[inputs++] = reads[v];
    }
    f.reduce[sums++] = r;
  }
  if (sums > 0) return env->ops->fused(env, &f);
  return request->then.step ? env->ops->step(env, &request->then) : WR_OK;
}

static wr_status apply(void *state, wr_env *env, const wr_precond_request *request) {
  const factors *f = state;
  if (env->resident) return wr_fail(WR_EUNAVAILABLE, "a loop of one kernel has no triangular solves");
  PASS(f->cuda ? wr_lu_cuda_apply(f->cuda, env, request->r, request->z)
               : wr_lu_host_apply(f->host, env, request->r, request->z));
  return finish(env, request);
}

/* On a device one after the other: there rows wait for others, a vector at a time (docs/decisions.md). */
static wr_status apply_many(void *state, wr_env *env, int ld, const wr_vec *r, wr_vec *z, int *done) {
  const factors *f = state;
  if (f->cuda || ld > wr_lu_host_columns(f->host)) return WR_OK;
  *done = 1;
  return wr_lu_host_apply_many(f->host, env, ld, r, z);
}

static void destroy(void *state, wr_env *env) {
  factors *f = state;
  wr_lu_host_destroy(f->host);
  wr_lu_cuda_destroy(f->cuda, env);
}

/* ---- The preconditioners ---- */

#define ORDER_KNOB(text)                                                                             \
  {.name = "order", .type = WR_OPTION_CHOICE, .offset = offsetof(factors_knobs, order),             \
   .choices = "auto|given|rcm|colour", .value = "auto",                                             \
   .help = "rows as given, by reverse Cuthill-McKee, or by colours of blocks; auto: " text}

#define SHARED_KNOBS                                                                                                 \
  {.name = "block", .type = WR_OPTION_INT, .offset = offsetof(factors_knobs, block), .min = 1,                      \
   .max = WR_MOST_BLOCK, .value = WR_DEFAULT_BLOCK, .help = "rows of a block in the order by colours"},             \
  {.name = "factors", .type = WR_OPTION_CHOICE, .offset = offsetof(factors_knobs, factors), .choices = "auto|f32",  \
   .value = "auto", .help = "the type in which they are stored; auto: that of the solve"},                          \
  {.name = "pivot", .type = WR_OPTION_REAL, .offset = offsetof(factors_knobs, pivot), .min = 0, .above_min = 1,     \
   .max = 1, .below_max = 1, .value = WR_DEFAULT_PIVOT,                                                             \
   .help = "smallest |pivot| relative to the largest element of the row of A"}

static const wr_knob knobs_of_ilu0[] = {
    ORDER_KNOB("one with few levels"), SHARED_KNOBS,
    {.name = "at", .type = WR_OPTION_CHOICE, .offset = offsetof(factors_knobs, at), .choices = "auto|host|device",
     .value = "auto", .help = "where the factors for a device are made, with the same bits; auto: where it is faster"},
    {0}};

static const wr_knob knobs_of_ilut[] = {
    {.name = "drop", .type = WR_OPTION_REAL, .offset = offsetof(factors_knobs, drop), .min = 0, .max = 1,
     .value = WR_DEFAULT_DROP, .help = "elements up to this share of the norm of their row are left out"},
    {.name = "fill", .type = WR_OPTION_INT, .offset = offsetof(factors_knobs, fill), .min = 0, .max = 1e6,
     .value = WR_DEFAULT_FILL, .help = "most elements of a row of L, and of U, more than the row of A has there"},
    ORDER_KNOB("as given or by reverse Cuthill-McKee"), SHARED_KNOBS, {0}};

static wr_status by_ilu0(const wr_csr *B, const factors_knobs *knobs, wr_env *env, wr_lu *lu, wr_ilu_shifts *shifts) {
  return wr_ilu0_at(B, knobs->pivot, (wr_ilu_at)knobs->at, env, lu, shifts);
}

static wr_status by_ilut(const wr_csr *B, const factors_knobs *knobs, wr_env *env, wr_lu *lu, wr_ilu_shifts *shifts) {
  return wr_ilut(B, knobs->drop, knobs->fill, knobs->pivot, env->watch, lu, shifts);
}

static wr_status prepare_ilu0(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_precond_info *info) {
  static const factoring ilu0 = {"ILU(0)", .has_pattern = 1, .keeps_symmetry = 1, .factorise = by_ilu0};
  return prepare(state, env, A, knobs, &ilu0, info);
}

/* ILUT leaves out elements of a row by the size of the row, so M is not symmetric where A is. */
static wr_status prepare_ilut(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_precond_info *info) {
  static const factoring ilut = {"ILUT", .has_pattern = 0, .keeps_symmetry = 0, .factorise = by_ilut};
  return prepare(state, env, A, knobs, &ilut, info);
}

const wr_preconditioner wr_precond_ilu0 = {
    .name = "ilu0",
    .summary = "incomplete L U with the pattern of A",
    .source = "Saad 2003, section 10.3",
    .knobs = knobs_of_ilu0,
    .knobs_size = sizeof(factors_knobs),
    .state_size = sizeof(factors),
    .prepare = prepare_ilu0,
    .apply = apply,
    .apply_many = apply_many,
    .destroy = destroy,
};

const wr_preconditioner wr_precond_ilut = {
    .name = "ilut",
    .summary = "incomplete L U by a drop tolerance and a limit of fill",
    .source = "Saad 2003, section 10.4",
    .knobs = knobs_of_ilut,
    .knobs_size = sizeof(factors_knobs),
    .state_size = sizeof(factors),
    .prepare = prepare_ilut,
    .apply = apply,
    .apply_many = apply_many,
    .destroy = destroy,
};
