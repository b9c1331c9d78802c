#include "spmv/backends/cb_spmv/cb_spmv_rows.cuh"
#include "spmv/device/cuda_state.h"

/* ---- Bytes of aggregated blocks ---- */

template <typename P>
__global__ void __launch_bounds__(CB_THREADS)
    cb_measure(const cb_rows<P> a, int64_t blocks, int value_bytes, const cb_found found, int32_t *units) {
  for (int64_t run = cb_group() * CB_RUN; __any_sync(CB_FULL, run < blocks); run += cb_groups() * CB_RUN) {
    cb_piece<P> piece = {0, 0};
    for (int64_t k = run; k < run + CB_RUN; k++) {
      if (k < blocks) cb_open_block(a, found, blocks, k, k > run, &piece);
      int count = cb_sum(k < blocks ? piece.n : 0);
      if (k < blocks && threadIdx.x % WR_CB_SIDE == 0)
        units[k] = wr_cb_units(wr_cb_pick(&a.options, count), count, value_bytes);
    }
  }
}

/* ---- Blocks ---- */

/* What a lane copies at a time. */
struct alignas(WR_CB_UNIT) cb_unit {
  uint32_t word[WR_CB_UNIT / 4];
};

/* A block that is assembled in shared memory. */
template <typename T>
struct cb_target {
  int kind, units;
  cb_unit *unit;
  uint8_t *index;
  T *values;
};

template <typename T>
static __device__ inline void clear(const cb_target<T> &to) {
  int lane = threadIdx.x % WR_CB_SIDE;
  if (to.kind == WR_CB_DENSE)
    for (int at = lane; at < WR_CB_PLACES; at += WR_CB_SIDE) to.values[at] = -(T)0;
  else
    for (int u = lane; u < to.units; u += WR_CB_SIDE) to.unit[u] = {};
}

/* Stores the lane's row; `before` entries of the block precede it. columns: those of an aggregated block; NULL: its first
 * column is `left`. Two columns of a CSR block, maybe of two rows, share a byte, hence the atomic. Zeros of a dense block
 * become positive. */
template <typename T, typename P>
static __device__ inline void place_row(const cb_rows<P> &a, const T *val, const cb_piece<P> &piece, int before,
                                        const int32_t *columns, int32_t left, const cb_target<T> &to) {
  int lane = threadIdx.x % WR_CB_SIDE, j = 0;
  if (to.kind == WR_CB_CSR) to.index[lane] = (uint8_t)before;
#pragma unroll 4
  for (int n = 0; n < piece.n; n++) {
    int e = before + n;
    int32_t column = a.col[piece.first + n];
    T value = val ? val[piece.first + n] : (T)1;
    if (!columns) j = column - left;
    while (columns && columns[j] < column) j++;
    if (to.kind == WR_CB_DENSE) {
      to.values[j * WR_CB_SIDE + lane] = value == 0 ? (T)0 : value;
    } else {
      to.values[e] = value;
      if (to.kind == WR_CB_COO)
        to.index[e] = (uint8_t)(lane | j << 4);
      else
        atomicOr((unsigned *)to.index + WR_CB_SIDE / 4 + e / 8, (unsigned)j << e % 8 * 4);
    }
  }
}

/* The sum over the lanes before this one in its group. */
static __device__ inline int sum_before(int value) {
  int sum = value;
#pragma unroll
  for (int distance = 1; distance < WR_CB_SIDE; distance *= 2) {
    int other = __shfl_up_sync(CB_FULL, sum, distance, WR_CB_SIDE);
    if ((int)(threadIdx.x % WR_CB_SIDE) >= distance) sum += other;
  }
  return sum - value;
}

/* Assembles block k in the group's buffer and writes it. If found.offset is NULL, only the data are written. Groups with
 * `any` 0 only take part in the shuffles. */
template <typename T, typename P>
static __device__ inline void write_block(const wr_cb_format &f, const cb_rows<P> &a, const T *val,
                                          const cb_found &found, int64_t k, bool any, const cb_piece<P> &piece,
                                          int32_t *columns, cb_unit *buffer) {
  int lane = threadIdx.x % WR_CB_SIDE, n = any ? piece.n : 0, count = cb_sum(n), before = sum_before(n);
  bool known = found.offset == nullptr;
  int kind = !known ? wr_cb_pick(&a.options, count) : any ? wr_cb_kind_of(found.word[k]) : (int)WR_CB_COO;
  int index = wr_cb_index_bytes(kind, count, (int)sizeof(T));
  int units = any ? wr_cb_units(kind, count, (int)sizeof(T)) : 0;
  cb_target<T> to = {kind, units, buffer, (uint8_t *)buffer, (T *)((uint8_t *)buffer + index)};
  int64_t row = any ? wr_cb_row(found.word[k]) : 0, col = any ? wr_cb_col(found.word[k]) : 0;
  int64_t offset = !any ? 0 : known ? wr_cb_get(f.offset, f.wide, k) : found.offset[k];
  if (any) clear(to);
  if (any && f.aggregated) columns[lane] = found.restore_cols[k * WR_CB_SIDE + lane];
  if (any && f.aggregated && !known) f.restore_cols[k * WR_CB_SIDE + lane] = columns[lane];
  __syncwarp();
  if (any) place_row(a, val, piece, before, f.aggregated ? columns : nullptr, (int32_t)(col * WR_CB_SIDE), to);
  __syncwarp();
  cb_unit *data = (cb_unit *)f.data + offset;
  for (int u = lane; u < units; u += WR_CB_SIDE) data[u] = to.unit[u];
  if (any && !known && lane == 0) f.block[k] = wr_cb_word(row, col, count, kind);
  if (any && !known && lane == 0) wr_cb_set(f.offset, f.wide, k, offset);
  __syncwarp();
}

template <typename T, typename P>
__global__ void __launch_bounds__(CB_THREADS)
    cb_fill(const wr_cb_format f, const cb_rows<P> a, const T *val, const cb_found found) {
  constexpr int UNITS = WR_CB_PLACES * (1 + (int)sizeof(T)) / WR_CB_UNIT; /* a full COO block is the largest */
  WR_SHARED(cb_unit, buffers, CB_GROUPS * UNITS);
  WR_SHARED(int32_t, columns, CB_THREADS);
  int group = threadIdx.x / WR_CB_SIDE;
  for (int64_t run = cb_group() * CB_RUN; __any_sync(CB_FULL, run < f.blocks); run += cb_groups() * CB_RUN) {
    cb_piece<P> piece = {0, 0};
    for (int64_t k = run; k < run + CB_RUN; k++) {
      bool any = k < f.blocks;
      if (any) cb_open_block(a, found, f.blocks, k, k > run, &piece);
      write_block(f, a, val, found, k, any, piece, columns + group * WR_CB_SIDE, buffers + group * UNITS);
    }
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) wr_cb_set(f.offset, f.wide, f.blocks, f.units);
}

/* ---- Lists ---- */

__global__ void __launch_bounds__(CB_THREADS) cb_lists(const wr_cb_format f) {
  int64_t threads = (int64_t)gridDim.x * CB_THREADS;
  for (int64_t w = (int64_t)blockIdx.x * CB_THREADS + threadIdx.x; w <= f.lists; w += threads) {
    int64_t block, row;
    wr_cb_cut(&f, w, &block, &row);
    wr_cb_set(f.list_block, f.wide, w, block);
    f.list_row[w] = (int32_t)row;
  }
}

/* ---- Launches ---- */

template <typename P>
static cb_rows<P> rows_of(const wr_csr_view *view, const wr_cb_options *options, const wr_cb_format *f) {
  return {f->nrows, f->brows, 0, (const P *)view->row_ptr, view->col, *options};
}

wr_status wr_cb_measure(wr_env *env, const wr_csr_view *view, const wr_cb_options *options, const wr_cb_format *f,
                        const cb_found *found, int32_t *units) {
  int value_bytes = (int)wr_type_bytes(f->type);
  if (view->wide)
    return WR_LAUNCH((cb_measure<int64_t>), cb_grid(env, f->blocks / CB_RUN + 1), CB_THREADS, 0, env->stream,
                     rows_of<int64_t>(view, options, f), f->blocks, value_bytes, *found, units);
  return WR_LAUNCH((cb_measure<int32_t>), cb_grid(env, f->blocks / CB_RUN + 1), CB_THREADS, 0, env->stream,
                   rows_of<int32_t>(view, options, f), f->blocks, value_bytes, *found, units);
}

template <typename T, typename P>
static wr_status fill(wr_env *env, const wr_csr_view *view, const wr_cb_options *options, const wr_cb_format *f,
                      const cb_found *found) {
  return WR_LAUNCH((cb_fill<T, P>), cb_grid(env, f->blocks / CB_RUN + 1), CB_THREADS, 0, env->stream, *f,
                   rows_of<P>(view, options, f), (const T *)view->val, *found);
}

static wr_status fill_data(wr_env *env, const wr_csr_view *view, const wr_cb_options *options, const wr_cb_format *f,
                           const cb_found *found) {
  bool f64 = f->type == WR_F64;
  if (view->wide) return (f64 ? fill<double, int64_t> : fill<float, int64_t>)(env, view, options, f, found);
  return (f64 ? fill<double, int32_t> : fill<float, int32_t>)(env, view, options, f, found);
}

extern "C" wr_status wr_cb_device_refill(wr_env *env, const wr_csr_view *view, const wr_cb_format *f) {
  wr_cb_options none = {};
  cb_found known = {f->block, nullptr, f->aggregated ? f->restore_cols : nullptr};
  PASS(wr_cuda_enter(env));
  return fill_data(env, view, &none, f, &known);
}

wr_status wr_cb_fill_arrays(wr_env *env, const wr_csr_view *view, const wr_cb_options *options, const wr_cb_format *f,
                            const cb_found *found) {
  PASS(fill_data(env, view, options, f, found));
  return WR_LAUNCH((cb_lists), cb_grid(env, f->lists / WR_CB_SIDE + 1), CB_THREADS, 0, env->stream, *f);
}
