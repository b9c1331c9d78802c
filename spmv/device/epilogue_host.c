#include "spmv/device/epilogue_host.h"

#include <math.h>

#include "config/wide.h"

WR_WIDE double wr_reduce_host(wr_reduction_kind kind, const double *u, const double *z, int64_t count) {
  double sum = 0;
  switch (kind) {
    case WR_DOT:
    case WR_DOT_HASH:
#pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < count; i++) sum += u[i] * z[i];
      break;
    case WR_NRM2SQ:
#pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < count; i++) sum += u[i] * u[i];
      break;
    case WR_L1DIFF:
#pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < count; i++) sum += fabs(u[i] - z[i]);
      break;
    case WR_SUM:
#pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < count; i++) sum += u[i];
      break;
    case WR_SUM_UNSCALED:
#pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < count; i++) sum += z[i] == 0 ? u[i] : 0;
      break;
    case WR_NRM2SQ_SCALED:
#pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < count; i++) sum += (u[i] * z[i]) * (u[i] * z[i]);
      break;
    case WR_L1DIFF_UNSCALED: /* of epilogues alone (epilogue_host_type.h) */
    case WR_NO_REDUCTION: break;
  }
  return sum;
}

#define T float
#define NAME(x) x##_f32
#include "spmv/device/epilogue_host_type.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "spmv/device/epilogue_host_type.h"
#undef T
#undef NAME

void wr_finish_rows_host(const wr_apply *request, int64_t first, int64_t count, double *sum, double *partial) {
  if (request->y->type == WR_F32)
    finish_f32(request, first, count, sum, partial);
  else
    finish_f64(request, first, count, sum, partial);
}

void wr_finish_reductions_host(const wr_apply *request, const double *partials, int64_t count) {
  if (request->epilogue == NULL) return;
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) {
    const wr_reduction *reduce = &request->epilogue->reduce[r];
    if (reduce->kind == WR_NO_REDUCTION) continue;
    double sum = 0;
    for (int64_t c = 0; c < count; c++) sum += partials[c * WR_MAX_REDUCTIONS + r];
    ((double *)reduce->into.bank->data)[reduce->into.index] = sum;
  }
}
