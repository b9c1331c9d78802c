#include "spmv/precond/lu.h"

#include <float.h>
#include <math.h>

#include "config/argument.h"
#include "config/memory.h"

void wr_lu_free(wr_lu *lu) {
  if (lu == NULL) return;
  void *const blocks[] = {lu->l_ptr, lu->u_ptr, lu->l_col, lu->u_col, lu->l_val, lu->u_val, lu->inverse, lu->order};
  for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) wr_free(blocks[k]);
  *lu = (wr_lu){0};
}

/* 1 if v is finite and becomes infinite as a float: from the largest float plus half a unit of its last digit on. */
static int is_beyond_f32(double v) { return isfinite(v) && isinf((float)v); }

static int any_beyond_f32(const double *val, int64_t first, int64_t end) {
  for (int64_t k = first; k < end; k++)
    if (is_beyond_f32(val[k])) return 1;
  return 0;
}

int64_t wr_lu_beyond_f32(const wr_lu *lu) {
  for (int64_t i = 0; lu && i < lu->n; i++)
    if (is_beyond_f32(lu->inverse[i]) || any_beyond_f32(lu->l_val, lu->l_ptr[i], lu->l_ptr[i + 1]) ||
        any_beyond_f32(lu->u_val, lu->u_ptr[i], lu->u_ptr[i + 1]))
      return i;
  return -1;
}

/* level[i] := that of each row, from the first row on for L, from the last one on for U. Returns the number of levels. */
static int64_t find_level_of_rows(int64_t n, const int64_t *ptr, const int32_t *col, int is_upper, int32_t *level) {
  int64_t count = 0;
  for (int64_t step = 0; step < n; step++) {
    int64_t i = is_upper ? n - 1 - step : step;
    int32_t own = 0;
    for (int64_t k = ptr[i]; k < ptr[i + 1]; k++)
      if (level[col[k]] >= own) own = level[col[k]] + 1;
    level[i] = own;
    if (own >= count) count = (int64_t)own + 1;
  }
  return count;
}

static wr_status find_levels(int64_t n, const int64_t *ptr, const int32_t *col, int is_upper, wr_levels *levels) {
  wr_status status;
  int32_t *level = NULL;
  *levels = (wr_levels){0};
  TRY(wr_alloc(&level, n, sizeof *level, "the levels of a triangular factor"));
  TRY(wr_alloc(&levels->row, n, sizeof *levels->row, "the levels of a triangular factor"));
  levels->count = find_level_of_rows(n, ptr, col, is_upper, level);
  TRY(wr_alloc_zeroed(&levels->ptr, levels->count + 1, sizeof *levels->ptr, "the levels of a triangular factor"));
  for (int64_t i = 0; i < n; i++) levels->ptr[level[i] + 1]++;
  for (int64_t k = 0; k < levels->count; k++) levels->ptr[k + 1] += levels->ptr[k];
  for (int64_t i = 0; i < n; i++) levels->row[levels->ptr[level[i]]++] = (int32_t)i;
  for (int64_t k = levels->count; k > 0; k--) levels->ptr[k] = levels->ptr[k - 1]; /* they were moved to the ends */
  levels->ptr[0] = 0;
done:
  wr_free(level);
  if (status != WR_OK) wr_levels_free(levels);
  return status;
}

wr_status wr_lu_levels(const wr_lu *lu, wr_levels *lower, wr_levels *upper) {
  wr_status status = WR_OK;
  if (lower) *lower = (wr_levels){0};
  if (upper) *upper = (wr_levels){0};
  WR_NEED(lu);
  WR_REFUSE_IF(lu->l_ptr == NULL || lu->l_col == NULL || lu->u_ptr == NULL || lu->u_col == NULL, "lu has no arrays");
  if (lower) TRY(find_levels(lu->n, lu->l_ptr, lu->l_col, 0, lower));
  if (upper) TRY(find_levels(lu->n, lu->u_ptr, lu->u_col, 1, upper));
done:
  if (status != WR_OK && lower) wr_levels_free(lower);
  return status;
}

void wr_levels_free(wr_levels *levels) {
  if (levels == NULL) return;
  wr_free(levels->ptr);
  wr_free(levels->row);
  *levels = (wr_levels){0};
}
