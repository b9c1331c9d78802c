/* What both methods of the yardstick stand on: the libraries' handles, the matrix as cuSPARSE sees it, vectors with their
 * descriptors, scalars on the device, and cuBLAS level 1 by type. A failure ends the program with its sentence. */
#ifndef WR_YARDSTICK_CUH
#define WR_YARDSTICK_CUH

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusparse.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <initializer_list>

#include "config/memory.h"
#include "spmv/matrix/csr.h"
#include "spmv/device/check.cuh"
#include "spmv/kernel/launch.cuh"

inline wr_status check_cublas(cublasStatus_t error, const char *call) {
  if (error == CUBLAS_STATUS_SUCCESS) return WR_OK;
  return wr_fail(error == CUBLAS_STATUS_ALLOC_FAILED ? WR_ENOMEM : WR_EDEVICE, "%s: %s", call,
                 cublasGetStatusString(error));
}
#define WR_CUBLAS(call) check_cublas((call), #call)

inline void must(wr_status status) {
  if (status == WR_OK) return;
  fprintf(stderr, "yardstick: %s\n", wr_status_message());
  exit(wr_status_exit_code(status));
}

/* Level 1 by type: x, y [n], unit strides; scalars and results on the device. */
typedef cublasHandle_t handle;
inline wr_status dot(handle h, int n, const double *x, const double *y, double *result) {
  return WR_CUBLAS(cublasDdot(h, n, x, 1, y, 1, result));
}
inline wr_status dot(handle h, int n, const float *x, const float *y, float *result) {
  return WR_CUBLAS(cublasSdot(h, n, x, 1, y, 1, result));
}
inline wr_status asum(handle h, int n, const double *x, double *result) {
  return WR_CUBLAS(cublasDasum(h, n, x, 1, result));
}
inline wr_status asum(handle h, int n, const float *x, float *result) {
  return WR_CUBLAS(cublasSasum(h, n, x, 1, result));
}
inline wr_status axpy(handle h, int n, const double *a, const double *x, double *y) {
  return WR_CUBLAS(cublasDaxpy(h, n, a, x, 1, y, 1));
}
inline wr_status axpy(handle h, int n, const float *a, const float *x, float *y) {
  return WR_CUBLAS(cublasSaxpy(h, n, a, x, 1, y, 1));
}
inline wr_status scal(handle h, int n, const double *a, double *x) { return WR_CUBLAS(cublasDscal(h, n, a, x, 1)); }
inline wr_status scal(handle h, int n, const float *a, float *x) { return WR_CUBLAS(cublasSscal(h, n, a, x, 1)); }

/* On the device, and on the host for checks. Results of cuBLAS have the type of the vectors. */
template <typename T>
struct scalars {
  T one, minus_one;
  T sum, shift, change;                                                              /* PageRank */
  T rho, rho_next, sigma, alpha, minus_alpha, ts, tt, omega, minus_omega, rr, beta; /* BiCGSTAB */
  double target;        /* change or rr, whichever the method has, is to come down to this */
  long long iterations; /* done                                                            */
  long long converged;  /* the iteration that met the target; 0: none yet                  */
  int broken;           /* 1: not finite any more                                          */
};

template <typename T>
struct vector {
  T *data;                    /* [n] on the device */
  cusparseDnVecDescr_t dense; /* made once         */
};

/* The matrix with one algorithm's preprocessing, for which a descriptor remembers the buffer. */
struct multiplier {
  cusparseSpMVAlg_t algorithm;
  cusparseSpMatDescr_t matrix;
  void *buffer;
};

enum { ALGORITHMS = 2 };

template <typename T>
struct device {
  cudaStream_t stream;
  cusparseHandle_t sparse; /* its scalars, which never change, are passed by value: nothing waits for that */
  cublasHandle_t blas;     /* its scalars are on the device                                                 */
  cudaEvent_t from, to;
  int n, nnz;
  int32_t *row_ptr, *col; /* [n + 1], [nnz] on the device */
  T *val;                 /* [nnz] on the device          */
  multiplier ways[ALGORITHMS], *way;
  scalars<T> *s;               /* on the device              */
  scalars<T> *first, *checked; /* pinned: the start, and [2] */
};

template <typename T>
constexpr cudaDataType_t data_type = sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_64F;

template <typename T>
T *device_room(int64_t count) {
  void *room;
  must(WR_CUDA(cudaMalloc(&room, (size_t)count * sizeof(T))));
  return (T *)room;
}

/* [n] of the device := the host's, rounded to T. */
template <typename T>
void upload(const double *from, int64_t n, T *to) {
  T *room;
  must(wr_alloc(&room, n, sizeof *room, "an upload"));
  for (int64_t i = 0; i < n; i++) room[i] = (T)from[i];
  must(WR_CUDA(cudaMemcpy(to, room, (size_t)n * sizeof *room, cudaMemcpyHostToDevice)));
  wr_free(room);
}

template <typename T>
void download(const T *from, int64_t n, double *to) {
  T *room;
  must(wr_alloc(&room, n, sizeof *room, "a download"));
  must(WR_CUDA(cudaMemcpy(room, from, (size_t)n * sizeof *room, cudaMemcpyDeviceToHost)));
  for (int64_t i = 0; i < n; i++) to[i] = room[i];
  wr_free(room);
}

template <typename T>
void open_vector(device<T> *d, vector<T> *v) {
  v->data = device_room<T>(d->n);
  must(WR_CUDA(cudaMemset(v->data, 0, (size_t)d->n * sizeof(T))));
  must(WR_CUSPARSE(cusparseCreateDnVec(&v->dense, d->n, v->data, data_type<T>)));
}

template <typename T>
void close_vector(vector<T> *v) {
  must(WR_CUSPARSE(cusparseDestroyDnVec(v->dense)));
  must(WR_CUDA(cudaFree(v->data)));
}

/* to := from, in the order of the stream. */
template <typename T>
void copy(device<T> *d, vector<T> *to, const vector<T> *from) {
  must(WR_CUDA(cudaMemcpyAsync(to->data, from->data, (size_t)d->n * sizeof(T), cudaMemcpyDeviceToDevice, d->stream)));
}

/* y := alpha A x. */
template <typename T>
void multiply(device<T> *d, T alpha, const vector<T> *x, vector<T> *y) {
  const T zero = 0;
  must(WR_CUSPARSE(cusparseSpMV(d->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, d->way->matrix, x->dense, &zero,
                                y->dense, data_type<T>, d->way->algorithm, d->way->buffer)));
}

/* Rows of A, every entry multiplied by factor[column] where factor, [ncols], is not NULL; a pattern's entries are 1. */
template <typename T>
void upload_matrix(device<T> *d, const wr_csr *A, const double *factor) {
  int32_t *row_ptr;
  double *val;
  must(wr_alloc(&row_ptr, A->nrows + 1, sizeof *row_ptr, "row pointers"));
  must(wr_alloc(&val, A->nnz, sizeof *val, "values"));
  for (int64_t i = 0; i <= A->nrows; i++) row_ptr[i] = (int32_t)A->row_ptr[i];
  for (int64_t k = 0; k < A->nnz; k++) val[k] = (A->val ? A->val[k] : 1) * (factor ? factor[A->col[k]] : 1);
  d->row_ptr = device_room<int32_t>(A->nrows + 1);
  d->col = device_room<int32_t>(A->nnz);
  d->val = device_room<T>(A->nnz);
  size_t rows = (size_t)(A->nrows + 1), entries = (size_t)A->nnz;
  must(WR_CUDA(cudaMemcpy(d->row_ptr, row_ptr, rows * sizeof *row_ptr, cudaMemcpyHostToDevice)));
  must(WR_CUDA(cudaMemcpy(d->col, A->col, entries * sizeof *A->col, cudaMemcpyHostToDevice)));
  upload(val, A->nnz, d->val);
  wr_free(row_ptr);
  wr_free(val);
}

template <typename T>
void open_way(device<T> *d, multiplier *w, cusparseSpMVAlg_t algorithm) {
  const T one = 1, zero = 0;
  const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  vector<T> x, y;
  size_t bytes = 0;
  open_vector(d, &x);
  open_vector(d, &y);
  w->algorithm = algorithm;
  must(WR_CUSPARSE(cusparseCreateCsr(&w->matrix, d->n, d->n, d->nnz, d->row_ptr, d->col, d->val, CUSPARSE_INDEX_32I,
                                     CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, data_type<T>)));
  must(WR_CUSPARSE(cusparseSpMV_bufferSize(d->sparse, plain, &one, w->matrix, x.dense, &zero, y.dense, data_type<T>,
                                           algorithm, &bytes)));
  w->buffer = device_room<char>((int64_t)bytes + 1);
  must(WR_CUSPARSE(cusparseSpMV_preprocess(d->sparse, plain, &one, w->matrix, x.dense, &zero, y.dense, data_type<T>,
                                           algorithm, w->buffer)));
  must(WR_CUDA(cudaStreamSynchronize(d->stream)));
  close_vector(&x);
  close_vector(&y);
}

template <typename T>
void open_device(device<T> *d, const wr_csr *A, const double *factor) {
  void *room;
  if (A->nnz == 0 || A->nnz > INT32_MAX)
    must(wr_fail(WR_EINPUT, "%lld entries: cuSPARSE takes from 1 to 2^31 - 1 with 32-bit indices", (long long)A->nnz));
  d->n = (int)A->nrows, d->nnz = (int)A->nnz;
  must(WR_CUDA(cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking)));
  must(WR_CUDA(cudaEventCreate(&d->from)));
  must(WR_CUDA(cudaEventCreate(&d->to)));
  must(WR_CUSPARSE(cusparseCreate(&d->sparse)));
  must(WR_CUSPARSE(cusparseSetStream(d->sparse, d->stream)));
  must(WR_CUBLAS(cublasCreate(&d->blas)));
  must(WR_CUBLAS(cublasSetStream(d->blas, d->stream)));
  must(WR_CUBLAS(cublasSetPointerMode(d->blas, CUBLAS_POINTER_MODE_DEVICE)));
  upload_matrix(d, A, factor);
  open_way(d, &d->ways[0], CUSPARSE_SPMV_CSR_ALG1);
  open_way(d, &d->ways[1], CUSPARSE_SPMV_CSR_ALG2);
  d->way = &d->ways[0];
  d->s = device_room<scalars<T>>(1);
  must(WR_CUDA(cudaHostAlloc(&room, 3 * sizeof(scalars<T>), cudaHostAllocDefault)));
  d->first = (scalars<T> *)room, d->checked = d->first + 1;
}

template <typename T>
void close_device(device<T> *d) {
  for (int k = 0; k < ALGORITHMS; k++) {
    must(WR_CUSPARSE(cusparseDestroySpMat(d->ways[k].matrix)));
    must(WR_CUDA(cudaFree(d->ways[k].buffer)));
  }
  void *const rooms[] = {d->row_ptr, d->col, d->val, d->s};
  for (void *room : rooms) must(WR_CUDA(cudaFree(room)));
  must(WR_CUDA(cudaFreeHost(d->first)));
  must(WR_CUBLAS(cublasDestroy(d->blas)));
  must(WR_CUSPARSE(cusparseDestroy(d->sparse)));
  must(WR_CUDA(cudaEventDestroy(d->from)));
  must(WR_CUDA(cudaEventDestroy(d->to)));
  must(WR_CUDA(cudaStreamDestroy(d->stream)));
}

/* The scalars of a start: all 0 but what a method has set in *d->first. */
template <typename T>
void start_scalars(device<T> *d) {
  d->first->one = 1, d->first->minus_one = -1;
  must(WR_CUDA(cudaMemcpyAsync(d->s, d->first, sizeof *d->first, cudaMemcpyHostToDevice, d->stream)));
}

template <typename T>
void begin_time(device<T> *d) {
  must(WR_CUDA(cudaEventRecord(d->from, d->stream)));
}

/* Seconds since begin_time, when everything is done. */
template <typename T>
double end_time(device<T> *d) {
  float milliseconds;
  must(WR_CUDA(cudaEventRecord(d->to, d->stream)));
  must(WR_CUDA(cudaEventSynchronize(d->to)));
  must(WR_CUDA(cudaEventElapsedTime(&milliseconds, d->from, d->to)));
  return milliseconds / 1e3;
}

#endif
