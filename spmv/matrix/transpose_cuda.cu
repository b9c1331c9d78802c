/* Transposes by sorting: keys are the entries' columns, values their rows. The matrix's values are sorted with a copy of the
 * same keys; the sort is stable, so both get the same order. */
#include "spmv/matrix/transpose.h"

#include "spmv/device/check.cuh"
#include "spmv/matrix/csr_device.h"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/device/sort.h"
#include "spmv/kernel/search.cuh"

constexpr int THREADS = 256;

static unsigned blocks_for(int64_t count) { return (unsigned)((count + THREADS - 1) / THREADS); }

static __device__ inline int64_t this_thread() { return (int64_t)blockIdx.x * THREADS + threadIdx.x; }

static cudaStream_t stream_of(const wr_env *env) { return (cudaStream_t)env->stream; }

/* ---- Rows of entries ---- */

template <typename P>
__global__ void __launch_bounds__(THREADS)
    entry_rows(int64_t nrows, const P *row_ptr, int64_t first, int64_t count, int32_t *row) {
  int64_t k = this_thread();
  if (k < count) row[k] = (int32_t)wr_find_row(row_ptr, nrows, first + k);
}

extern "C" wr_status wr_device_entry_rows(wr_env *env, int64_t nrows, const wr_csr_view *A, int64_t first,
                                          int64_t count, int32_t *row) {
  wr_status status = wr_cuda_enter(env);
  if (status != WR_OK || count == 0) return status;
  if (A->wide)
    return WR_LAUNCH((entry_rows<int64_t>), blocks_for(count), THREADS, 0, env->stream, nrows,
                     (const int64_t *)A->row_ptr, first, count, row);
  return WR_LAUNCH((entry_rows<int32_t>), blocks_for(count), THREADS, 0, env->stream, nrows,
                   (const int32_t *)A->row_ptr, first, count, row);
}

/* ---- Lengths of runs ---- */

/* lengths[key], initially 0, := the number of times that key occurs in the sorted keys. Each run adds twice, whatever its
 * length. */
__global__ void __launch_bounds__(THREADS) run_lengths(const uint32_t *keys, int64_t count, uint32_t *lengths) {
  int64_t k = this_thread();
  if (k >= count) return;
  uint32_t key = keys[k];
  if (k == 0 || keys[k - 1] != key) atomicAdd(&lengths[key], wr_run_begin(k));
  if (k + 1 == count || keys[k + 1] != key) atomicAdd(&lengths[key], wr_run_end(k + 1));
}

static wr_status count_runs(wr_env *env, const uint32_t *keys, int64_t count, int64_t nkeys, int32_t **lengths) {
  PASS(wr_device_alloc_zeroed(env, lengths, nkeys, sizeof **lengths, "entries of columns"));
  if (count > 0)
    PASS(WR_LAUNCH((run_lengths), blocks_for(count), THREADS, 0, env->stream, keys, count, (uint32_t *)*lengths));
  return WR_OK;
}

/* keys := a copy of the columns, as the sort is in place. */
static wr_status copy_columns(wr_env *env, const wr_csr_view *A, int64_t nnz, uint32_t *keys) {
  return WR_CUDA(cudaMemcpyAsync(keys, A->col, (size_t)nnz * sizeof *keys, cudaMemcpyDeviceToDevice, stream_of(env)));
}

/* ---- Transposing ---- */

static wr_status sort_values(wr_env *env, const wr_csr_view *A, int64_t ncols, int64_t nnz, uint32_t *keys, void *val) {
  size_t size = (size_t)wr_type_bytes(env->type);
  PASS(copy_columns(env, A, nnz, keys));
  PASS(WR_CUDA(cudaMemcpyAsync(val, A->val, (size_t)nnz * size, cudaMemcpyDeviceToDevice, stream_of(env))));
  return wr_device_sort_pairs(env, keys, sizeof *keys, val, size, nnz, 0, wr_key_bits((uint64_t)ncols - 1));
}

extern "C" wr_status wr_device_transpose(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz, const wr_csr_view *A,
                                         void *row_ptr, int32_t *col, void *val) {
  wr_status status;
  uint32_t *keys = NULL;
  int32_t *lengths = NULL;
  TRY(wr_cuda_enter(env));
  TRY(wr_device_alloc(env, &keys, nnz, sizeof *keys, "transposing"));
  TRY(copy_columns(env, A, nnz, keys));
  TRY(wr_device_entry_rows(env, nrows, A, 0, nnz, col));
  TRY(wr_device_sort_pairs(env, keys, sizeof *keys, col, sizeof *col, nnz, 0, wr_key_bits((uint64_t)ncols - 1)));
  TRY(count_runs(env, keys, nnz, ncols, &lengths));
  TRY(wr_device_scan(env, lengths, sizeof *lengths, ncols, row_ptr, A->wide ? 8 : 4, NULL));
  if (A->val) TRY(sort_values(env, A, ncols, nnz, keys, val));
  TRY(WR_CUDA(cudaStreamSynchronize(stream_of(env))));
done:
  wr_device_free(env, keys);
  wr_device_free(env, lengths);
  return status;
}

extern "C" wr_status wr_csr_transpose_device(wr_csr *A, wr_env *env, wr_csr **out) {
  wr_status status;
  wr_csr *T = NULL;
  wr_csr_view view;
  *out = NULL;
  if (A->val && env->type != WR_F64) return wr_fail(WR_EUSAGE, "values can be transposed on a device in f64 only");
  TRY(wr_csr_device_view(A, env, &view));
  TRY(wr_csr_create_on_device(env, A->ncols, A->nrows, A->nnz, A->val != NULL, view.wide, &T));
  T->symmetric = A->symmetric;
  TRY(wr_device_transpose(env, A->nrows, A->ncols, A->nnz, &view, T->device->row_ptr, T->device->col,
                          T->device->val[WR_F64]));
  *out = T, T = NULL;
done:
  wr_csr_free(T);
  return status;
}

/* ---- Columns ---- */

__global__ void __launch_bounds__(THREADS)
    divide_columns(int64_t nnz, const int32_t *col, const double *by, double *val) {
  int64_t k = this_thread();
  if (k >= nnz) return;
  double divisor = by[col[k]];
  val[k] = divisor == 0 ? 0 : val[k] / divisor;
}

extern "C" wr_status wr_csr_divide_columns_device(wr_csr *A, wr_env *env, const double *by) {
  wr_status status;
  double *divisors = NULL;
  TRY(wr_cuda_enter(env));
  if (A->row_ptr || A->val == NULL || A->device->device != env->device)
    return wr_fail(WR_EUSAGE, "columns can be divided only of a matrix with values that is on this device only");
  TRY(wr_device_alloc(env, &divisors, A->ncols, sizeof *divisors, "divisors of columns"));
  TRY(wr_device_upload(env, divisors, by, A->ncols, WR_AS_8_BYTES));
  if (A->nnz > 0)
    TRY(WR_LAUNCH((divide_columns), blocks_for(A->nnz), THREADS, 0, env->stream, A->nnz, A->device->col, divisors,
                  (double *)A->device->val[WR_F64]));
  TRY(WR_CUDA(cudaStreamSynchronize(stream_of(env))));
done:
  wr_device_free(env, divisors);
  return status;
}

extern "C" wr_status wr_csr_count_columns_device(wr_csr *A, wr_env *env, int32_t *counts) {
  wr_status status;
  wr_csr_view view;
  uint32_t *keys = NULL;
  int32_t *lengths = NULL;
  TRY(wr_csr_device_view(A, env, &view));
  TRY(wr_device_alloc(env, &keys, A->nnz, sizeof *keys, "counting columns"));
  TRY(copy_columns(env, &view, A->nnz, keys));
  TRY(wr_device_sort_pairs(env, keys, sizeof *keys, NULL, 0, A->nnz, 0, wr_key_bits((uint64_t)A->ncols - 1)));
  TRY(count_runs(env, keys, A->nnz, A->ncols, &lengths));
  TRY(wr_device_download(env, counts, lengths, A->ncols, WR_AS_4_BYTES));
done:
  wr_device_free(env, keys);
  wr_device_free(env, lengths);
  return status;
}
