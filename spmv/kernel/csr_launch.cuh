/* Makes a kernel's parameters from a matrix's device view and a request, with their types as template arguments. A kernel on
 * plain rows is a template over these types; its launcher calls
 *
 *   wr_csr_dispatch(env, A, request, [=](const auto &rows) { return launch(env, rows); });
 * / */
#ifndef WR_CSR_LAUNCH_CUH
#define WR_CSR_LAUNCH_CUH

#include <cuda_runtime.h>

#include "spmv/device/cuda_state.h"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/matrix/csr.h"

/* y = alpha*A*x + beta*y. T: float or double; P: int32_t or int64_t, of the row pointers. */
template <typename T, typename P, bool PATTERN>
struct wr_csr_rows {
  int64_t nrows;
  const P *row_ptr;   /* [nrows + 1]                 */
  const int32_t *col; /* [nnz]                       */
  const T *val;       /* [nnz], not used if PATTERN  */
  const T *x;         /* [ncols]                     */
  T *y;               /* [nrows]                     */
  double alpha, beta;
};

/* An entry of a pattern is 1. */
template <typename T, typename P, bool PATTERN>
__device__ inline double wr_csr_value(const wr_csr_rows<T, P, PATTERN> &a, int64_t k) {
  return PATTERN ? 1 : (double)a.val[k];
}

template <typename T, typename P, bool PATTERN>
__device__ inline double wr_csr_result(const wr_csr_rows<T, P, PATTERN> &a, int64_t i, double sum) {
  return wr_finish_beta(a.alpha, a.beta, a.y, i, sum);
}

template <typename T, typename P, bool PATTERN>
inline wr_csr_rows<T, P, PATTERN> wr_csr_rows_make(const wr_csr_view *A, const wr_apply *request) {
  wr_csr_rows<T, P, PATTERN> a = {};
  a.nrows = request->y->n;
  a.row_ptr = (const P *)A->row_ptr;
  a.col = A->col;
  a.val = (const T *)A->val;
  a.x = (const T *)request->x->data;
  a.y = (T *)request->y->data;
  a.alpha = request->alpha;
  a.beta = request->beta;
  return a;
}

template <typename T, typename Launch>
inline wr_status wr_csr_dispatch_rows(const wr_csr_view *A, const wr_apply *request, Launch launch) {
  if (A->wide)
    return A->val ? launch(wr_csr_rows_make<T, int64_t, false>(A, request))
                  : launch(wr_csr_rows_make<T, int64_t, true>(A, request));
  return A->val ? launch(wr_csr_rows_make<T, int32_t, false>(A, request))
                : launch(wr_csr_rows_make<T, int32_t, true>(A, request));
}

/* wr_finish_with_mask for kernels on plain rows. With 64-bit row pointers none is compiled for an epilogue of its own, as that
 * would double the code that a program loads. */
template <typename T, typename P, bool PATTERN, class Use>
inline wr_status wr_csr_with_mask(wr_finish_mask mask, Use use) {
  return wr_finish_with_mask<T, PATTERN, sizeof(P) == 4>(mask, use);
}

/* Calls launch(rows) with env's device as the current one, and returns its result. */
template <typename Launch>
inline wr_status wr_csr_dispatch(const wr_env *env, const wr_csr_view *A, const wr_apply *request, Launch launch) {
  PASS(wr_cuda_enter(env));
  return env->type == WR_F32 ? wr_csr_dispatch_rows<float>(A, request, launch)
                             : wr_csr_dispatch_rows<double>(A, request, launch);
}

#endif
