#include "spmv/precond/lu_host.h"

#include "config/memory.h"
#include "spmv/device/apply.h"
#include "spmv/device/team.h"
#include "spmv/device/vec_argument.h"

enum {
  PIECE = 4096,  /* entries and rows of a piece of a wide level: some microseconds, as long as handing it out takes  */
  BLOCK = 4096   /* elements of a piece where vectors are permuted                                                   */
};

/* A triangle is stored by levels if so much of its work lies in levels that make pieces for a team: elsewhere the order of its
 * rows in memory costs more than threads gain. */
static const double wide_share = 0.75;

/* Positions [cut[first], cut[end]) in the order in which rows are solved: one stretch after the other if there is one cut, else
 * pieces that do not depend on each other. */
typedef struct phase {
  int64_t first, end;
} phase;

/* Rows of L or U by position. */
typedef struct triangle {
  int64_t n;
  int is_upper;
  int64_t *ptr;    /* [n + 1]                                                                */
  int32_t *col;    /* [ptr[n]] indices of rows                                               */
  void *val;       /* likewise, of the solver's type                                         */
  const void *inverse; /* [n] by row, of U                                                   */
  int32_t *row;    /* [n] the row at a position; NULL: rows in order, from the last one of U */
  int64_t *cut;    /* positions                                                              */
  phase *phases;
  int64_t nphases, ncuts;
} triangle;

struct wr_lu_host {
  int64_t n;
  wr_type type; /* of the values */
  triangle lower, upper;
  void *inverse;    /* [n] of `type`        */
  int32_t *order;   /* [n] or NULL          */
  double *work;     /* [n * columns] in the factors' order */
  int columns, ld;  /* the most of apply_many, or 1; those of this solve */
  int64_t bytes;
};

#define F float
#define NAME(x) x##_f32
#include "spmv/precond/lu_host_type.h"
#undef F
#undef NAME
#define F double
#define NAME(x) x##_f64
#include "spmv/precond/lu_host_type.h"
#undef F
#undef NAME

/* ---- phases ---- */

static int64_t work_of(const int64_t *ptr, int64_t row) { return ptr[row + 1] - ptr[row] + 1; }

static int64_t level_work(const int64_t *ptr, const wr_levels *levels, int64_t k) {
  int64_t work = 0;
  for (int64_t p = levels->ptr[k]; p < levels->ptr[k + 1]; p++) work += work_of(ptr, levels->row[p]);
  return work;
}

static int is_wide(int64_t work) { return work >= (int64_t)WR_TEAM_LEAST * PIECE; }

/* 1 if threads are worth it. *cuts := an upper bound on the cuts that phases need. */
static int pays(const int64_t *ptr, int64_t n, const wr_levels *levels, int64_t *cuts) {
  int64_t wide = 0, all = ptr[n] + n;
  *cuts = 2;
  for (int64_t k = 0; k < levels->count; k++) {
    int64_t work = level_work(ptr, levels, k);
    if (is_wide(work)) wide += work, *cuts += work / PIECE + 4;
  }
  return (double)wide >= wide_share * (double)all;
}

static void close_phase(triangle *t, int64_t first_cut, int64_t position) {
  t->cut[t->ncuts++] = position;
  t->phases[t->nphases++] = (phase){first_cut, t->ncuts - 1};
}

/* Phases from levels: each wide level is cut into pieces, and narrow ones that follow each other are one stretch. */
static void cut_levels(const int64_t *ptr, const wr_levels *levels, triangle *t) {
  int64_t narrow_from = 0;
  t->ncuts = t->nphases = 0;
  for (int64_t k = 0; k < levels->count; k++) {
    if (!is_wide(level_work(ptr, levels, k))) continue;
    int64_t begin = levels->ptr[k], end = levels->ptr[k + 1], work = 0;
    if (begin > narrow_from) {
      t->cut[t->ncuts++] = narrow_from;
      close_phase(t, t->ncuts - 1, begin);
    }
    int64_t first_cut = t->ncuts;
    t->cut[t->ncuts++] = begin;
    for (int64_t p = begin; p < end; p++) {
      work += work_of(ptr, levels->row[p]);
      if (work >= PIECE && p + 1 < end) t->cut[t->ncuts++] = p + 1, work = 0;
    }
    close_phase(t, first_cut, end);
    narrow_from = end;
  }
  if (narrow_from < t->n) {
    t->cut[t->ncuts++] = narrow_from;
    close_phase(t, t->ncuts - 1, t->n);
  }
}

/* ---- making one ---- */

/* *to := val[count] in the type of the solver; f64 takes the array over. */
static wr_status take_values(double **val, int64_t count, wr_type type, void **to) {
  float *narrow = NULL;
  if (type == WR_F64) {
    *to = *val, *val = NULL;
    return WR_OK;
  }
  PASS(wr_alloc(&narrow, count, sizeof *narrow, "factors in f32"));
  for (int64_t k = 0; k < count; k++) narrow[k] = (float)(*val)[k];
  *to = narrow;
  wr_free(*val), *val = NULL;
  return WR_OK;
}

/* The rows of t in the order of levels, which take the place of those in their own order. */
static wr_status store_by_levels(triangle *t, wr_type type, wr_levels *levels) {
  wr_status status;
  int64_t *ptr = NULL, count = t->ptr[t->n];
  int32_t *col = NULL;
  void *val = NULL;
  TRY(wr_alloc(&ptr, t->n + 1, sizeof *ptr, "factors by levels"));
  TRY(wr_alloc(&col, count, sizeof *col, "factors by levels"));
  TRY(wr_alloc(&val, count, (size_t)wr_type_bytes(type), "factors by levels"));
  ptr[0] = 0;
  for (int64_t p = 0; p < t->n; p++) {
    int64_t from = t->ptr[levels->row[p]], length = t->ptr[levels->row[p] + 1] - from, to = ptr[p];
    for (int64_t k = 0; k < length; k++) {
      col[to + k] = t->col[from + k];
      if (type == WR_F32)
        ((float *)val)[to + k] = ((const float *)t->val)[from + k];
      else
        ((double *)val)[to + k] = ((const double *)t->val)[from + k];
    }
    ptr[p + 1] = to + length;
  }
  wr_free(t->ptr), wr_free(t->col), wr_free(t->val);
  t->ptr = ptr, t->col = col, t->val = val, t->row = levels->row;
  ptr = NULL, col = NULL, val = NULL, levels->row = NULL;
done:
  wr_free(ptr), wr_free(col), wr_free(val);
  return status;
}

static wr_status set_phases(triangle *t, wr_type type, int threads, wr_levels *levels) {
  int64_t cuts = 2;
  int by_levels = threads > 1 && pays(t->ptr, t->n, levels, &cuts);
  if (!by_levels) cuts = 2;
  PASS(wr_alloc(&t->cut, cuts, sizeof *t->cut, "the pieces of levels"));
  PASS(wr_alloc(&t->phases, cuts, sizeof *t->phases, "the pieces of levels"));
  if (by_levels) {
    cut_levels(t->ptr, levels, t);
    PASS(store_by_levels(t, type, levels));
  } else {
    t->cut[0] = 0, t->cut[1] = t->n, t->ncuts = 2;
    t->phases[0] = (phase){0, 1}, t->nphases = 1;
  }
  return WR_OK;
}

static void free_triangle(triangle *t) {
  wr_free(t->ptr), wr_free(t->col), wr_free(t->val), wr_free(t->row), wr_free(t->cut), wr_free(t->phases);
}

void wr_lu_host_destroy(wr_lu_host *s) {
  if (s == NULL) return;
  free_triangle(&s->lower);
  free_triangle(&s->upper);
  wr_free(s->inverse), wr_free(s->order), wr_free(s->work);
  wr_free(s);
}

wr_status wr_lu_host_create(wr_lu *lu, wr_env *env, wr_type values, wr_lu_host **solver) {
  wr_status status;
  wr_lu_host *s = NULL;
  wr_levels lower = {0}, upper = {0};
  WR_NEED(solver);
  *solver = NULL;
  WR_NEED(lu);
  WR_NEED_OPEN(env);
  int threads = wr_team_threads(wr_env_team(env));
  if (threads > 1) TRY(wr_lu_levels(lu, &lower, &upper));
  TRY(wr_alloc_zeroed(&s, 1, sizeof *s, "triangular solves"));
  int64_t below = lu->l_ptr[lu->n], above = lu->u_ptr[lu->n], n = lu->n;
  s->columns = env->need_columns > 1 ? WR_MAX_COLUMNS : 1;
  s->n = n, s->lower.n = s->upper.n = n, s->upper.is_upper = 1;
  s->type = values == WR_F32 && wr_lu_beyond_f32(lu) < 0 ? WR_F32 : WR_F64;
  int64_t value = wr_type_bytes(s->type);
  s->bytes = (below + above) * (4 + value) + n * (2 * 8 + value + (lu->order ? 8 : 0) + 4 * 8);
  s->lower.ptr = lu->l_ptr, s->lower.col = lu->l_col, s->upper.ptr = lu->u_ptr, s->upper.col = lu->u_col;
  s->order = lu->order;
  lu->l_ptr = lu->u_ptr = NULL, lu->l_col = lu->u_col = lu->order = NULL;
  TRY(take_values(&lu->l_val, below, s->type, &s->lower.val));
  TRY(take_values(&lu->u_val, above, s->type, &s->upper.val));
  TRY(take_values(&lu->inverse, n, s->type, &s->inverse));
  s->upper.inverse = s->inverse;
  TRY(wr_alloc_zeroed(&s->work, n * s->columns, sizeof *s->work, "triangular solves"));
  TRY(set_phases(&s->lower, s->type, threads, &lower));
  TRY(set_phases(&s->upper, s->type, threads, &upper));
  *solver = s, s = NULL;
done:
  wr_levels_free(&lower);
  wr_levels_free(&upper);
  wr_lu_free(lu);
  wr_lu_host_destroy(s);
  return status;
}

int64_t wr_lu_host_bytes(const wr_lu_host *s) { return s ? s->bytes : 0; }
int wr_lu_host_columns(const wr_lu_host *s) { return s ? s->columns : 1; }
int wr_lu_host_by_levels(const wr_lu_host *s) { return s && (s->lower.row || s->upper.row); }

/* ---- solving ---- */

typedef struct solving {
  const wr_lu_host *s;
  const triangle *t;
  int64_t first_cut;
  const wr_vec *r;
  wr_vec *z;
} solving;

static void solve_stretch(const wr_lu_host *s, const triangle *t, int64_t first, int64_t end) {
  if (s->ld > 1)
    (s->type == WR_F32 ? columns_f32 : columns_f64)(t, s->work, first, end, s->ld);
  else if (s->type == WR_F32)
    (t->is_upper ? upper_rows_f32 : lower_rows_f32)(t, s->work, first, end);
  else
    (t->is_upper ? upper_rows_f64 : lower_rows_f64)(t, s->work, first, end);
}

static void solve_piece(void *context, int64_t piece) {
  const solving *job = context;
  const int64_t *cut = job->t->cut + job->first_cut + piece;
  solve_stretch(job->s, job->t, cut[0], cut[1]);
}

static void solve_triangle(const wr_lu_host *s, const triangle *t, wr_team *team) {
  for (int64_t k = 0; k < t->nphases; k++) {
    phase p = t->phases[k];
    if (p.end - p.first == 1)
      solve_stretch(s, t, t->cut[p.first], t->cut[p.end]);
    else
      wr_team_for(team, p.end - p.first, solve_piece, &(solving){.s = s, .t = t, .first_cut = p.first});
  }
}

static int64_t end_of(int64_t n, int64_t block) { return n - block * BLOCK < BLOCK ? n : (block + 1) * BLOCK; }

/* work := P r */
static void gather_block(void *context, int64_t b) {
  const solving *job = context;
  const wr_lu_host *s = job->s;
  const void *data = job->r->data;
  for (int64_t i = b * BLOCK; i < end_of(s->n, b); i++) {
    int64_t from = (s->order ? s->order[i] : i) * s->ld;
    for (int c = 0; c < s->ld; c++)
      s->work[i * s->ld + c] =
          job->r->type == WR_F32 ? (double)((const float *)data)[from + c] : ((const double *)data)[from + c];
  }
}

/* z := P^T work */
static void scatter_block(void *context, int64_t b) {
  const solving *job = context;
  const wr_lu_host *s = job->s;
  void *data = job->z->data;
  for (int64_t i = b * BLOCK; i < end_of(s->n, b); i++) {
    int64_t to = (s->order ? s->order[i] : i) * s->ld;
    for (int c = 0; c < s->ld; c++)
      if (job->z->type == WR_F32)
        ((float *)data)[to + c] = (float)s->work[i * s->ld + c];
      else
        ((double *)data)[to + c] = s->work[i * s->ld + c];
  }
}

static wr_status run(const char *function, wr_lu_host *s, wr_env *env, int ld, const wr_vec *r, wr_vec *z) {
  WR_NEED_OPEN(env);
  long long n = (long long)s->n * ld;
  if (r == NULL || r->n != n || r->place != WR_HOST)
    return wr_refuse(function, "r is no vector of %lld on the host", n);
  if (z == NULL || z->n != n || z->place != WR_HOST || z == r)
    return wr_refuse(function, "z is no other vector of %lld on the host", n);
  wr_team *team = wr_env_team(env);
  solving job = {.s = s, .r = r, .z = z};
  int64_t blocks = (s->n + BLOCK - 1) / BLOCK;
  s->ld = ld;
  wr_team_for(team, blocks, gather_block, &job);
  solve_triangle(s, &s->lower, team);
  solve_triangle(s, &s->upper, team);
  wr_team_for(team, blocks, scatter_block, &job);
  z->writes++;
  return WR_OK;
}

wr_status wr_lu_host_apply(wr_lu_host *s, wr_env *env, const wr_vec *r, wr_vec *z) {
  WR_NEED(s);
  return run(__func__, s, env, 1, r, z);
}

wr_status wr_lu_host_apply_many(wr_lu_host *s, wr_env *env, int ld, const wr_vec *r, wr_vec *z) {
  WR_NEED(s);
  WR_REFUSE_IF((ld != 2 && ld != 4 && ld != 8) || ld > s->columns, "rows of %d elements; there is room for %d", ld,
               s->columns);
  return run(__func__, s, env, ld, r, z);
}
