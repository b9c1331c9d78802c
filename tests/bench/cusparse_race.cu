/* Counts wrong products of cuSPARSE's CSR multiply (CUSPARSE_SPMV_CSR_ALG1), by the library's calls alone: no code of
 * windrow is linked. The matrix is dense, n x n, and all its products are whole numbers that f64 holds, so that every sum is
 * exact in any order. Numbers beside y show stray writes. The products are right while the program has the card to itself;
 * run it beside many other processes under CUDA's multi-process service to see wrong ones (docs/reliability.md).
 *
 *   cusparse_race [seconds [n]]      10 seconds of a 32 x 32 matrix
 *
 * Prints the first wrong products and a count. Exit status: 0 all were right, 1 some were wrong, 2 a call failed. */
#include <cuda_runtime.h>
#include <cusparse.h>
#include <stdio.h>
#include <stdlib.h>

#include <chrono>
#include <vector>

#define CHECK(call)                                                \
  do {                                                             \
    int code = (int)(call);                                        \
    if (code != 0) printf("%s: error %d\n", #call, code), exit(2); \
  } while (0)

enum {
  GUARDS = 64,
  BATCH = 16,
  SHOWN = 4
}; /* numbers on each side of a y, multiplies between two checks, lines printed */

template <typename T>
static T *to_device(const std::vector<T> &values) {
  T *there;
  CHECK(cudaMalloc(&there, values.size() * sizeof(T) + 256));
  CHECK(cudaMemset(there, 0, values.size() * sizeof(T) + 256));
  CHECK(cudaMemcpy(there, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return there;
}

/* The first number of one guarded y that is not what it must be, or -1. */
static int first_wrong(const double *y, const std::vector<double> &expected) {
  for (size_t k = 0; k < expected.size(); k++)
    if (y[k] != expected[k]) return (int)k;
  return -1;
}

int main(int count, char **argument) {
  double seconds = count > 1 ? atof(argument[1]) : 10;
  int n = count > 2 ? atoi(argument[2]) : 32;
  const double one = 1, zero = 0;
  const size_t width = n + 2 * GUARDS;
  std::vector<int> row_ptr(n + 1), col((size_t)n * n);
  std::vector<double> val((size_t)n * n), x(n), before(BATCH * width, -7777.25), after(BATCH * width),
      expected(width, -7777.25);
  for (int i = 0; i <= n; i++) row_ptr[i] = i * n;
  for (int i = 0; i < n; i++) x[i] = 1 + i % 5, expected[GUARDS + i] = 0;
  for (int k = 0; k < n * n; k++) {
    col[k] = k % n, val[k] = 1 + k * 7919ll % 1009;
    expected[GUARDS + k / n] += val[k] * x[k % n];
  }
  int *there_ptr = to_device(row_ptr), *there_col = to_device(col);
  double *there_val = to_device(val), *there_x = to_device(x), *there_y = to_device(before);
  cudaStream_t stream;
  cusparseHandle_t handle;
  cusparseSpMatDescr_t A;
  cusparseDnVecDescr_t vec_x, vec_y;
  size_t bytes;
  void *buffer;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cusparseCreate(&handle));
  CHECK(cusparseSetStream(handle, stream));
  CHECK(cusparseCreateCsr(&A, n, n, (int64_t)n * n, there_ptr, there_col, there_val, CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  CHECK(cusparseCreateDnVec(&vec_x, n, there_x, CUDA_R_64F));
  CHECK(cusparseCreateDnVec(&vec_y, n, there_y + GUARDS, CUDA_R_64F));
  CHECK(cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, A, vec_x, &zero, vec_y, CUDA_R_64F,
                                CUSPARSE_SPMV_CSR_ALG1, &bytes));
  CHECK(cudaMalloc(&buffer, bytes + 256));
  CHECK(cusparseSpMV_preprocess(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, A, vec_x, &zero, vec_y, CUDA_R_64F,
                                CUSPARSE_SPMV_CSR_ALG1, buffer));
  long multiplies = 0, wrong = 0;
  auto begin = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds) {
    CHECK(cudaMemcpyAsync(there_y, before.data(), before.size() * sizeof(double), cudaMemcpyHostToDevice, stream));
    for (int q = 0; q < BATCH; q++) {
      CHECK(cusparseDnVecSetValues(vec_y, there_y + q * width + GUARDS));
      CHECK(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, A, vec_x, &zero, vec_y, CUDA_R_64F,
                         CUSPARSE_SPMV_CSR_ALG1, buffer));
    }
    CHECK(cudaMemcpyAsync(after.data(), there_y, after.size() * sizeof(double), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    multiplies += BATCH;
    for (int q = 0; q < BATCH; q++) {
      const double *y = &after[q * width];
      int k = first_wrong(y, expected);
      if (k >= 0 && wrong < SHOWN)
        printf("multiply %ld: y[%d] = %.17g, not %.17g\n", multiplies - BATCH + q, k - GUARDS, y[k], expected[k]);
      wrong += k >= 0;
    }
  }
  printf("n %d: %ld multiplies, %ld wrong\n", n, multiplies, wrong);
  CHECK(cusparseDestroyDnVec(vec_x));
  CHECK(cusparseDestroyDnVec(vec_y));
  CHECK(cusparseDestroySpMat(A));
  CHECK(cusparseDestroy(handle));
  for (void *block :
       {(void *)there_ptr, (void *)there_col, (void *)there_val, (void *)there_x, (void *)there_y, buffer})
    CHECK(cudaFree(block));
  return wrong > 0;
}
