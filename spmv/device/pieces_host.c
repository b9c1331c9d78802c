#include "spmv/device/pieces.h"

#include <math.h>
#include <string.h>

#include "spmv/device/team.h"
#include "spmv/device/vec_argument.h"

static wr_status check_vec(const wr_env *env, const wr_vec *v, const char *role) {
  if (v == NULL || v->id == 0 || v->data == NULL) return wr_fail(WR_EUSAGE, "%s is not an allocated vector", role);
  if (v->place != env->place) return wr_fail(WR_EUSAGE, "%s is at another place than the environment", role);
  return WR_OK;
}

static wr_status check_plain(const wr_env *env, const wr_vec *v, int64_t length, const char *role) {
  WR_NEED_OPEN(env);
  WR_NEED_OK(check_vec(env, v, role));
  if (v->reciprocal_bytes) return wr_fail(WR_EUSAGE, "%s is a compact vector", role);
  if (length < 1) return wr_fail(WR_EUSAGE, "pieces of %lld elements", (long long)length);
  return WR_OK;
}

wr_status wr_maxima_check(const wr_env *env, const wr_vec *v, const wr_vec *scale, int64_t length, const wr_vec *to) {
  WR_NEED_OK(check_plain(env, v, length, "the vector of which maxima are found"));
  WR_NEED_OK(check_vec(env, scale, "the scale of maxima"));
  WR_NEED_OK(check_vec(env, to, "the target of maxima"));
  if (scale->n != v->n || scale->type != v->type)
    return wr_fail(WR_EUSAGE, "the scale of maxima has another length or type than the vector");
  if (to->data == v->data || to->data == scale->data) return wr_fail(WR_EUSAGE, "maxima would overwrite their vector");
  if (to->type != WR_F64 || to->reciprocal_bytes || to->n != wr_pieces_of(v->n, length))
    return wr_fail(WR_EUSAGE, "maxima of %lld pieces need as many f64 numbers", (long long)wr_pieces_of(v->n, length));
  return WR_OK;
}

wr_status wr_pick_check(const wr_env *env, const wr_vec *v, int64_t length, const wr_vec *pieces, const wr_vec *to) {
  WR_NEED_OK(check_plain(env, v, length, "the vector that is picked from"));
  WR_NEED_OK(check_vec(env, pieces, "the list of pieces"));
  WR_NEED_OK(check_vec(env, to, "the target of picked pieces"));
  if (to->data == v->data || to->data == pieces->data)
    return wr_fail(WR_EUSAGE, "picked pieces would overwrite others");
  if (pieces->type != WR_F64 || pieces->reciprocal_bytes)
    return wr_fail(WR_EUSAGE, "the list of pieces does not have f64 numbers");
  if (to->type != v->type || to->reciprocal_bytes || to->n / length < pieces->n)
    return wr_fail(WR_EUSAGE, "the target of picked pieces has another type or lacks room");
  return WR_OK;
}

static double element(const wr_vec *v, int64_t i) {
  return v->type == WR_F32 ? (double)((const float *)v->data)[i] : ((const double *)v->data)[i];
}

/* The threads share groups of pieces, which have about 4096 elements. */
enum { GROUP_ELEMENTS = 4096 };

typedef struct finding {
  const wr_vec *v, *scale;
  int64_t length, group; /* group: pieces */
  double *to;
} finding;

static void find_in_group(void *context, int64_t g) {
  const finding *job = context;
  int64_t n = job->v->n, pieces = wr_pieces_of(n, job->length), end = (g + 1) * job->group;
  for (int64_t c = g * job->group; c < (end < pieces ? end : pieces); c++) {
    int64_t first = c * job->length, last = n - first < job->length ? n : first + job->length;
    double greatest = -INFINITY;
    for (int64_t i = first; i < last; i++) {
      double value = element(job->v, i), scale = element(job->scale, i);
      if (scale != 0) value /= scale;
      if (value > greatest) greatest = value;
    }
    job->to[c] = greatest;
  }
}

wr_status wr_host_maxima(wr_env *env, const wr_vec *v, const wr_vec *scale, int64_t length, wr_vec *to) {
  WR_NEED_OK(wr_maxima_check(env, v, scale, length, to));
  finding job = {.v = v, .scale = scale, .length = length, .to = to->data};
  job.group = 1 + (GROUP_ELEMENTS - 1) / length;
  to->writes++;
  wr_team_for(wr_env_team(env), wr_pieces_of(to->n, job.group), find_in_group, &job);
  return WR_OK;
}

wr_status wr_host_pick(wr_env *env, const wr_vec *v, int64_t length, const wr_vec *pieces, wr_vec *to) {
  WR_NEED_OK(wr_pick_check(env, v, length, pieces, to));
  size_t size = (size_t)wr_type_bytes(v->type);
  to->writes++;
  for (int64_t k = 0; k < pieces->n; k++) {
    double c = ((const double *)pieces->data)[k];
    int64_t first = c >= 0 && c < (double)wr_pieces_of(v->n, length) ? (int64_t)c * length : v->n;
    int64_t count = v->n - first < length ? v->n - first : length;
    char *at = (char *)to->data + (size_t)(k * length) * size;
    memcpy(at, (const char *)v->data + (size_t)first * size, (size_t)count * size);
    memset(at + (size_t)count * size, 0, (size_t)(length - count) * size);
  }
  return WR_OK;
}

/* ---- Columns ---- */

static wr_status check_column(const wr_env *env, const wr_vec *v, int64_t ld, int64_t column, const char *role) {
  WR_NEED_OK(check_vec(env, v, role));
  if (v->reciprocal_bytes) return wr_fail(WR_EUSAGE, "%s is a compact vector", role);
  if (ld < 1 || column < 0 || column >= ld || v->n % ld != 0)
    return wr_fail(WR_EUSAGE, "%s: column %lld of rows of %lld, in %lld elements", role, (long long)column,
                   (long long)ld, (long long)v->n);
  return WR_OK;
}

wr_status wr_copy_column_check(const wr_env *env, const wr_vec *from, int64_t from_ld, int64_t from_column,
                               const wr_vec *to, int64_t to_ld, int64_t to_column) {
  WR_NEED_OPEN(env);
  WR_NEED_OK(check_column(env, from, from_ld, from_column, "the source of a column"));
  WR_NEED_OK(check_column(env, to, to_ld, to_column, "the target of a column"));
  if (from->type != to->type || from->n / from_ld != to->n / to_ld)
    return wr_fail(WR_EUSAGE, "the target of a column has another type or number of rows than its source");
  if (from->data == to->data) return wr_fail(WR_EUSAGE, "a column would be copied within one vector");
  return WR_OK;
}

/* The threads share blocks of rows. */
enum { BLOCK_ROWS = 4096 };

typedef struct copying {
  const wr_vec *from;
  wr_vec *to;
  int64_t rows, from_ld, from_column, to_ld, to_column;
  int clears; /* 1: from becomes 0 */
} copying;

static void copy_block(void *context, int64_t b) {
  const copying *c = context;
  int64_t first = b * BLOCK_ROWS, end = c->rows - first < BLOCK_ROWS ? c->rows : first + BLOCK_ROWS;
  if (c->from->type == WR_F32) {
    float *from = (float *)c->from->data + c->from_column, *to = (float *)c->to->data + c->to_column;
    for (int64_t i = first; i < end; i++) to[i * c->to_ld] = from[i * c->from_ld];
    for (int64_t i = first; i < end && c->clears; i++) from[i * c->from_ld] = 0;
  } else {
    double *from = (double *)c->from->data + c->from_column, *to = (double *)c->to->data + c->to_column;
    for (int64_t i = first; i < end; i++) to[i * c->to_ld] = from[i * c->from_ld];
    for (int64_t i = first; i < end && c->clears; i++) from[i * c->from_ld] = 0;
  }
}

wr_status wr_host_copy_column(wr_env *env, const wr_vec *from, int64_t from_ld, int64_t from_column, wr_vec *to,
                              int64_t to_ld, int64_t to_column) {
  WR_NEED_OK(wr_copy_column_check(env, from, from_ld, from_column, to, to_ld, to_column));
  copying job = {from, to, from->n / from_ld, from_ld, from_column, to_ld, to_column, 0};
  to->writes++;
  wr_team_for(wr_env_team(env), wr_pieces_of(job.rows, BLOCK_ROWS), copy_block, &job);
  return WR_OK;
}

wr_status wr_host_move_column(wr_env *env, wr_vec *from, int64_t ld, int64_t column, wr_vec *to) {
  WR_NEED_OK(wr_copy_column_check(env, from, ld, column, to, 1, 0));
  copying job = {from, to, to->n, ld, column, 1, 0, 1};
  from->writes++, to->writes++;
  wr_team_for(wr_env_team(env), wr_pieces_of(job.rows, BLOCK_ROWS), copy_block, &job);
  return WR_OK;
}
