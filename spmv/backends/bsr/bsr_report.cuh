/* What the report's four kernels have in common (section 8.3): each thread block runs one task (listing 12), in which all its
 * threads work on one block row at a time. A kernel says how the values of a piece of a block row become its R sums, and what
 * is done with the sum of a complete row: wr_bsr_run_task(a, size, sums, <sums of a piece>, <use of a row's sum>). Within a
 * piece, values and blocks are counted in 32 bits (WR_BSR_TASK_VALUES), elsewhere in 64. */
#ifndef WR_BSR_REPORT_CUH
#define WR_BSR_REPORT_CUH

#include "spmv/backends/bsr/bsr_plan.h"
#include "spmv/blocks/bsr_rows.cuh"
#include "spmv/device/check.cuh"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/warp.cuh"

/* y = alpha*A*x + beta*y. T: float or double. */
template <typename T>
struct wr_bsr_args {
  const void *row_ptr; /* [brows + 1] int64_t if wide, else int32_t */
  int wide;
  const int32_t *col;   /* [blocks]                                          */
  const T *val;         /* [blocks][r][c]                                    */
  const int64_t *index; /* the tasks' arrays (bsr_tasks.h)                   */
  const int32_t *row;
  const int32_t *full;
  double *head, *tail;
  int64_t nrows;
  uint32_t ncols;
  const T *x; /* [ncols] */
  T *y;       /* [nrows] */
  double alpha, beta;
};

/* ---- The size of a block ---- */

/* Known at compile time, ... */
template <int R, int C>
struct wr_bsr_size {
  static constexpr int ROWS = R; /* the most that r() returns */
  __host__ __device__ static constexpr int r() { return R; }
  __host__ __device__ static constexpr int c() { return C; }
  __device__ static unsigned by_c(unsigned n) { return n / (unsigned)C; }
  __device__ static unsigned by_block(unsigned n) { return n / (unsigned)(R * C); }
};

/* ... or at launch: the specialisation for 0 x 0. */
template <>
struct wr_bsr_size<0, 0> {
  static constexpr int ROWS = WR_BSR_MAX_SIDE;
  int rows, columns;
  wr_bsr_divisor column, block;
  __host__ __device__ int r() const { return rows; }
  __host__ __device__ int c() const { return columns; }
  __device__ unsigned by_c(unsigned n) const { return wr_bsr_divide(n, column); }
  __device__ unsigned by_block(unsigned n) const { return wr_bsr_divide(n, block); }
};
typedef wr_bsr_size<0, 0> wr_bsr_any_size;

inline wr_bsr_any_size wr_bsr_any_size_make(int r, int c) {
  return {r, c, wr_bsr_divisor_make(c), wr_bsr_divisor_make(r * c)};
}

/* Calls use(size) with the compile-time size if r x c is a common one, else with a wr_bsr_any_size. */
template <typename Use>
inline wr_status wr_bsr_with_size(int r, int c, Use use) {
  if (r == 16 && c == 1) return use(wr_bsr_size<16, 1>());
  if (r == 1 && c == 16) return use(wr_bsr_size<1, 16>());
  switch (r == c ? r : 0) {
    case 1: return use(wr_bsr_size<1, 1>());
    case 2: return use(wr_bsr_size<2, 2>());
    case 3: return use(wr_bsr_size<3, 3>());
    case 4: return use(wr_bsr_size<4, 4>());
    case 5: return use(wr_bsr_size<5, 5>());
    case 6: return use(wr_bsr_size<6, 6>());
    case 8: return use(wr_bsr_size<8, 8>());
    case 16: return use(wr_bsr_size<16, 16>());
    default: return use(wr_bsr_any_size_make(r, c));
  }
}

/* Calls use(size) with a wr_bsr_any_size, for kernels that gain nothing from a compile-time size. */
template <typename Use>
inline wr_status wr_bsr_with_any_size(int r, int c, Use use) {
  return use(wr_bsr_any_size_make(r, c));
}

/* ---- Pieces ---- */

/* A task's part of a block row: values from..to - 1, counted from the beginning of the block in which it begins. */
template <typename T>
struct wr_bsr_piece {
  const int32_t *col; /* of that block, and of those after it  */
  const T *val;
  unsigned from, to; /* from < r * c; to < 2^30 + 2^8 */
};

/* x at column j of block column `at`; 0 past the last column. */
template <typename T, typename S>
static __device__ inline double wr_bsr_x(const wr_bsr_args<T> &a, const S &size, int32_t at, unsigned j) {
  uint32_t column = (uint32_t)at * (uint32_t)size.c() + j;
  return column < a.ncols ? (double)a.x[column] : 0;
}

/* sums[r] := 0. The barrier before it waits for readers of the last piece's sums. */
template <typename S>
static __device__ inline void wr_bsr_clear(const S &size, double *sums) {
  __syncthreads();
  if ((int)threadIdx.x < size.r()) sums[threadIdx.x] = 0;
  __syncthreads();
}

/* What lane k of 32 has of the sum of row `in` of block row i, without padding. */
template <typename T, typename S>
static __device__ inline double wr_bsr_entries(const wr_bsr_args<T> &a, const S &size, int64_t i, int in) {
  int64_t end = wr_bsr_row_at(a.row_ptr, a.wide, i + 1);
  double sum = 0;
  for (int64_t k = wr_bsr_row_at(a.row_ptr, a.wide, i) + threadIdx.x % WR_WARP; k < end; k += WR_WARP)
    for (int j = 0; j < size.c(); j++) {
      T value = a.val[(k * size.r() + in) * size.c() + j];
      if (!wr_is_padding(value)) sum += (double)value * wr_bsr_x(a, size, a.col[k], (unsigned)j);
    }
  return sum;
}

/* The sum of lane's row of block row i as it should be: where it is NaN, which padding may have brought in, the warp adds the
 * row up once more. All lanes of a warp; those from r on have no row. */
template <typename T, typename S>
static __device__ inline double wr_bsr_checked(const wr_bsr_args<T> &a, const S &size, int64_t i, double sum) {
  int lane = threadIdx.x % WR_WARP;
  unsigned wrong = __ballot_sync((unsigned)WR_FULL_MASK, lane < size.r() && sum != sum);
  for (; wrong; wrong &= wrong - 1) {
    int in = __ffs((int)wrong) - 1;
    double again = wr_warp_sum(wr_bsr_entries(a, size, i, in));
    if (lane == in) sum = again;
  }
  return sum;
}

/* complete(row of the matrix, its sum) for all rows of block row i that the matrix has. */
template <typename T, typename S, typename Complete>
static __device__ inline void wr_bsr_complete(const wr_bsr_args<T> &a, const S &size, int64_t i, double sum,
                                              Complete complete) {
  int lane = threadIdx.x % WR_WARP;
  int64_t row = i * size.r() + lane;
  sum = wr_bsr_checked(a, size, i, sum);
  if (lane < size.r() && row < a.nrows) complete(row, sum);
}

/* Runs one task (listing 12). All threads call add_up(piece) for each of its pieces, one for each block row; afterwards the
 * first warp sees the R sums in sums. That warp calls complete for the rows that lie in this task alone, and stores the parts
 * of the others in head or tail. */
template <typename T, typename S, typename AddUp, typename Complete>
static __device__ inline void wr_bsr_run_task(const wr_bsr_args<T> &a, const S &size, const double *sums, AddUp add_up,
                                              Complete complete) {
  int64_t task = blockIdx.x, first = a.index[task], start = first, stop = a.index[task + 1], side = size.r() * size.c();
  int lane = threadIdx.x;
  for (int64_t row = a.row[task]; start < stop; row++) {
    int64_t i = a.full ? a.full[row] : row;
    int64_t from = wr_bsr_row_at(a.row_ptr, a.wide, i), end = wr_bsr_row_at(a.row_ptr, a.wide, i + 1) * side;
    int64_t block = start > from * side ? start / side : from, to = end < stop ? end : stop;
    wr_bsr_piece<T> piece = {a.col + block, a.val + block * side, (unsigned)(start - block * side),
                             (unsigned)(to - block * side)};
    add_up(piece);
    if (lane < WR_WARP) {
      double sum = lane < size.r() ? sums[lane] : 0;
      if (end <= stop && from * side >= first)
        wr_bsr_complete(a, size, i, sum, complete);
      else if (lane < size.r())
        (end <= stop ? a.head : a.tail)[task * size.r() + lane] = sum;
    }
    start = to;
  }
}

/* ---- Launching ---- */

template <typename T>
inline wr_bsr_args<T> wr_bsr_args_make(const wr_bsr_plan *p, const wr_apply *request) {
  wr_bsr_args<T> a = {};
  a.row_ptr = p->format.row_ptr, a.wide = p->format.wide;
  a.col = p->format.col, a.val = (const T *)p->format.val;
  a.index = p->tasks.index, a.row = p->tasks.row, a.full = p->tasks.full;
  a.head = p->tasks.head, a.tail = p->tasks.tail;
  a.nrows = p->format.nrows, a.ncols = (uint32_t)p->format.ncols;
  a.x = (const T *)request->x->data, a.y = (T *)request->y->data;
  a.alpha = request->alpha, a.beta = request->beta;
  return a;
}

/* *blocks := thread blocks of the kernel that env's device holds at a time. */
template <typename Kernel>
inline wr_status wr_bsr_count_resident(const wr_env *env, Kernel kernel, int threads, int *blocks) {
  wr_status status;
  int each = 0, processors = 0;
  TRY(wr_cuda_enter(env));
  TRY(WR_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, 0)));
  TRY(WR_CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, env->device)));
  *blocks = each * processors;
done:
  return status;
}

/* The second launch: completes the rows that tasks share from head and tail, completes those of block rows without blocks,
 * and finishes the reductions, to which the first launch has contributed if it computes an epilogue (finish.sums.before).
 * Instances for float and double are in bsr_report.cu. */
template <typename T>
wr_status wr_bsr_launch_rest(wr_env *env, const wr_bsr_plan *p, const wr_bsr_args<T> &a, const wr_finish<T> &finish);

/* For kernels without an epilogue: y[row] := alpha * sum + beta * y[row]. */
template <typename T>
static __device__ inline void wr_bsr_store(const wr_bsr_args<T> &a, int64_t row, double sum) {
  a.y[row] = (T)wr_finish_beta(a.alpha, a.beta, a.y, row, sum);
}

/* Defines wr_bsr_NAME_launch and wr_bsr_NAME_resident (bsr_plan.h) for the kernel bsr_NAME, a template of T and the type of the
 * size. with_size: one of the two functions above that choose it. */
#define WR_BSR_REPORT_KERNEL(name, with_size)                                                                          \
  template <typename T>                                                                                                \
  static wr_status launch(wr_env *env, const wr_bsr_plan *p, const wr_apply *request) {                                \
    wr_status status = WR_OK;                                                                                          \
    wr_bsr_args<T> a = wr_bsr_args_make<T>(p, request);                                                                \
    if (p->tasks.count)                                                                                                \
      TRY(with_size(p->format.r, p->format.c, [=](auto size) {                                                         \
        return WR_LAUNCH((bsr_##name<T, decltype(size)>), (unsigned)p->tasks.count, p->threads, 0,             \
                         env->stream, a, size);                                                                         \
      }));                                                                                                             \
    TRY(wr_bsr_launch_rest(env, p, a, wr_finish<T>{}));                                                                \
  done:                                                                                                                \
    return status;                                                                                                     \
  }                                                                                                                    \
  template <typename T>                                                                                                \
  static wr_status resident(const wr_env *env, const wr_bsr_plan *p, int *blocks) {                                    \
    return with_size(p->format.r, p->format.c, [=](auto size) {                                                        \
      return wr_bsr_count_resident(env, bsr_##name<T, decltype(size)>, p->threads, blocks);                            \
    });                                                                                                                \
  }                                                                                                                    \
  extern "C" wr_status wr_bsr_##name##_launch(wr_env *env, const wr_bsr_plan *p, const wr_apply *request) {            \
    wr_status status = wr_cuda_enter(env);                                                                             \
    if (status != WR_OK) return status;                                                                                \
    return env->type == WR_F32 ? launch<float>(env, p, request) : launch<double>(env, p, request);                     \
  }                                                                                                                    \
  extern "C" wr_status wr_bsr_##name##_resident(const wr_env *env, const wr_bsr_plan *p, int *blocks) {                \
    return env->type == WR_F32 ? resident<float>(env, p, blocks) : resident<double>(env, p, blocks);                   \
  }

#endif
