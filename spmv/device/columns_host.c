#include "spmv/device/columns.h"

#include <math.h>
#include <string.h>

#include "spmv/device/team.h"
#include "spmv/device/vec_argument.h"

/* ---- Arguments ---- */

static wr_status check_vec(const wr_env *env, const wr_vec *v, const char *role) {
  if (v == NULL || v->id == 0 || v->data == NULL) return wr_fail(WR_EUSAGE, "%s is not an allocated vector", role);
  if (v->place != env->place) return wr_fail(WR_EUSAGE, "%s is at another place than the environment", role);
  return WR_OK;
}

static wr_status check_numbers(const wr_env *env, const wr_vec *v, int64_t least, const char *role) {
  WR_NEED_OK(check_vec(env, v, role));
  if (v->type == WR_F64 && !v->reciprocal_bytes && v->n >= least) return WR_OK;
  return wr_fail(WR_EUSAGE, "%s are not %lld f64 numbers", role, (long long)least);
}

static wr_status check_rows(const wr_env *env, const wr_vec *v, int64_t n, int64_t ld, wr_type type, const char *role) {
  WR_NEED_OK(check_vec(env, v, role));
  if (ld != 1 && ld != 2 && ld != 4 && ld != 8)
    return wr_fail(WR_EUSAGE, "%s has rows of %lld elements, not of 1, 2, 4 or 8", role, (long long)ld);
  if (v->reciprocal_bytes || v->type != type || v->n != n * ld)
    return wr_fail(WR_EUSAGE, "%s has not the type of the scale and its number of rows", role);
  return WR_OK;
}

wr_status wr_epilogue_many_check(const wr_env *env, const wr_epilogue_many *e) {
  WR_NEED_OPEN(env);
  WR_NEED(e);
  WR_NEED_OK(check_vec(env, e->scale, "the scale of columns"));
  WR_NEED_OK(check_rows(env, e->y, e->scale->n, e->ldy, e->scale->type, "the y of columns"));
  if (e->columns < 1 || e->columns > e->ldy)
    return wr_fail(WR_EUSAGE, "%d columns in rows of %lld elements", e->columns, (long long)e->ldy);
  if (e->x) {
    WR_NEED_OK(check_rows(env, e->x, e->scale->n, e->ldx, e->scale->type, "the x of columns"));
    if (e->columns > e->ldx || e->x->data == e->y->data)
      return wr_fail(WR_EUSAGE, "the x of columns has fewer of them, or is their y");
  }
  if (e->room < 1 || e->room > INT64_MAX / WR_MAX_COLUMNS)
    return wr_fail(WR_EUSAGE, "room for %lld entries of a column", (long long)e->room);
  WR_NEED_OK(check_numbers(env, e->rows, WR_MAX_COLUMNS * e->room, "the rows of entries"));
  WR_NEED_OK(check_numbers(env, e->values, WR_MAX_COLUMNS * e->room, "the values of entries"));
  WR_NEED_OK(check_numbers(env, e->sums, WR_COLUMN_SUMS, "the sums of columns"));
  if (e->marks) WR_NEED_OK(check_numbers(env, e->marks, e->scale->n / 8 + 1, "the marks of rows"));
  return WR_OK;
}

wr_status wr_start_column_check(const wr_env *env, const wr_epilogue_many *e, int c) {
  PASS(wr_epilogue_many_check(env, e));
  if (c >= 0 && c < e->columns) return WR_OK;
  return wr_fail(WR_EUSAGE, "column %d of %d", c, e->columns);
}

/* ---- The host ---- */

enum { BLOCK_ROWS = 1024 }; /* of which sums are taken, one row after the other; blocks are added in their order */

typedef struct finishing {
  const wr_epilogue_many *e;
  double *partials; /* [blocks][2 * columns] */
} finishing;

#define T float
#define NAME(x) x##_f32
#include "spmv/device/columns_host_type.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "spmv/device/columns_host_type.h"
#undef T
#undef NAME

static void finish_block(void *context, int64_t b) {
  const finishing *job = context;
  (job->e->y->type == WR_F32 ? finish_f32 : finish_f64)(job->e, b, job->partials + 2 * b * job->e->columns);
}

void wr_host_columns(wr_env *env, const wr_epilogue_many *e, double *partials) {
  int64_t n = e->scale->n, blocks = n / BLOCK_ROWS + (n % BLOCK_ROWS != 0);
  double *change = e->sums->data, *mass = change + WR_MAX_COLUMNS;
  e->y->writes++, e->sums->writes++;
  for (int c = 0; c < e->columns; c++) (e->y->type == WR_F32 ? jump_f32 : jump_f64)(e, c, e->times * mass[c] + e->plus);
  wr_team_for(wr_env_team(env), blocks, finish_block, &(finishing){e, partials});
  for (int c = 0; c < e->columns; c++) {
    double sum[2] = {0, 0};
    for (int64_t b = 0; b < blocks; b++)
      for (int s = 0; s < 2; s++) sum[s] += partials[2 * (b * e->columns + c) + s];
    if (e->x) change[c] = sum[0];
    mass[c] = sum[1];
  }
}

void wr_host_start_column(const wr_epilogue_many *e, int c) {
  double *mass = (double *)e->sums->data + WR_MAX_COLUMNS;
  e->y->writes++, e->sums->writes++;
  mass[c] = (e->y->type == WR_F32 ? start_f32 : start_f64)(e, c);
}
