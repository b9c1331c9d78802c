/* Renumbers by sorting: the key of an entry is its new row and its new column. */
#include "spmv/matrix/renumber.h"

#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/device/sort.h"
#include "spmv/kernel/launch.cuh"
#include "spmv/matrix/csr_device.h"
#include "spmv/matrix/transpose.h"

constexpr int THREADS = 256;

static unsigned blocks_for(int64_t count) { return (unsigned)((count + THREADS - 1) / THREADS); }

static __device__ inline int64_t this_thread() { return (int64_t)blockIdx.x * THREADS + threadIdx.x; }

/* key[k] := place[row] << bits | place[column]; row[count] has the rows of the entries. */
__global__ void __launch_bounds__(THREADS)
    new_places(int64_t count, const int32_t *row, const int32_t *col, const int32_t *place, int bits, uint64_t *key) {
  int64_t k = this_thread();
  if (k < count) key[k] = (uint64_t)place[row[k]] << bits | (uint64_t)place[col[k]];
}

__global__ void __launch_bounds__(THREADS) take_columns(int64_t count, const uint64_t *key, int bits, int32_t *col) {
  int64_t k = this_thread();
  if (k < count) col[k] = (int32_t)(key[k] & (((uint64_t)1 << bits) - 1));
}

/* row_ptr[i] := the first of the sorted keys whose row is i or more, for 0 <= i <= nrows. */
template <typename P>
__global__ void __launch_bounds__(THREADS)
    find_rows(int64_t nrows, int64_t count, const uint64_t *key, int bits, P *row_ptr) {
  int64_t i = this_thread(), low = 0, high = count;
  if (i > nrows) return;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if ((int64_t)(key[middle] >> bits) < i)
      low = middle + 1;
    else
      high = middle;
  }
  row_ptr[i] = (P)low;
}

/* Fills the arrays of `to` with those of A's view `from`. */
static wr_status renumber(wr_env *env, const wr_csr *A, const wr_csr_view *from, const int32_t *place,
                          struct wr_csr_device *to) {
  wr_status status;
  int32_t *places = NULL;
  uint64_t *key = NULL;
  int bits = wr_key_bits((uint64_t)A->nrows - 1);
  int64_t nnz = A->nnz, rows = A->nrows + 1;
  TRY(wr_device_alloc(env, &places, A->nrows, sizeof *places, "renumbering"));
  TRY(wr_device_alloc(env, &key, nnz, sizeof *key, "renumbering"));
  TRY(wr_device_upload(env, places, place, A->nrows, WR_AS_4_BYTES));
  if (nnz > 0) {
    TRY(wr_device_entry_rows(env, A->nrows, from, 0, nnz, to->col)); /* until the columns are known */
    TRY(WR_LAUNCH((new_places), blocks_for(nnz), THREADS, 0, env->stream, nnz, to->col, from->col, places, bits, key));
    if (A->val)
      TRY(WR_CUDA(cudaMemcpyAsync(to->val[WR_F64], from->val, (size_t)nnz * sizeof(double), cudaMemcpyDeviceToDevice,
                                  (cudaStream_t)env->stream)));
    TRY(wr_device_sort_pairs(env, key, sizeof *key, A->val ? to->val[WR_F64] : NULL, sizeof(double), nnz, 0, 2 * bits));
    TRY(WR_LAUNCH((take_columns), blocks_for(nnz), THREADS, 0, env->stream, nnz, key, bits, to->col));
  }
  if (to->wide)
    TRY(WR_LAUNCH((find_rows<int64_t>), blocks_for(rows), THREADS, 0, env->stream, A->nrows, nnz, key, bits,
                  (int64_t *)to->row_ptr));
  else
    TRY(WR_LAUNCH((find_rows<int32_t>), blocks_for(rows), THREADS, 0, env->stream, A->nrows, nnz, key, bits,
                  (int32_t *)to->row_ptr));
  TRY(WR_CUDA(cudaStreamSynchronize((cudaStream_t)env->stream)));
done:
  wr_device_free(env, places);
  wr_device_free(env, key);
  return status;
}

extern "C" wr_status wr_csr_renumber_device(wr_csr *A, wr_env *env, const int32_t *place, wr_csr **out) {
  wr_status status;
  wr_csr *B = NULL;
  wr_csr_view view;
  *out = NULL;
  if (A->val && env->type != WR_F64) return wr_fail(WR_EUSAGE, "values can be renumbered on a device in f64 only");
  TRY(wr_cuda_enter(env));
  TRY(wr_csr_device_view(A, env, &view));
  TRY(wr_csr_create_on_device(env, A->nrows, A->ncols, A->nnz, A->val != NULL, view.wide, &B));
  B->symmetric = A->symmetric;
  TRY(renumber(env, A, &view, place, B->device));
  *out = B, B = NULL;
done:
  wr_csr_free(B);
  return status;
}
