/* Several vectors in row-major order (wr_apply_many) as kernels see them: a lane has V neighbouring columns, which it loads by
 * one access of up to 16 bytes, and `each` neighbouring lanes have all columns of a row. Four columns in f64, or eight in f32,
 * then take one sector of 32 bytes. */
#ifndef WR_MANY_CUH
#define WR_MANY_CUH

#include "spmv/device/apply.h"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/stream.cuh"

/* A kernel parameter. */
template <typename T>
struct wr_many {
  const T *x;       /* [ncols][ldx] */
  T *y;             /* [nrows][ldy] */
  int64_t ldx, ldy;
  double alpha, beta;
  int columns, each; /* each: a power of two                                                               */
  int whole;         /* 1: all V columns of every lane exist and are aligned in Y, so one store writes them */
};

/* V columns of row j of X from `column` on. Those past the last column may hold anything. */
template <int V, typename T>
__device__ inline wr_pack<T, V> wr_many_load(const wr_many<T> &c, int64_t j, int column) {
  return wr_load<T, V>(c.x + j * c.ldx + column, 0);
}

/* V columns of row i of Y from `column` on := alpha * sum + beta * Y. */
template <int V, typename T>
__device__ inline void wr_many_store(const wr_many<T> &c, int64_t i, int column, const double (&sum)[V]) {
  T *y = c.y + i * c.ldy + column;
  wr_pack<T, V> result = {};
#pragma unroll
  for (int v = 0; v < V; v++)
    if (column + v < c.columns) result.at[v] = (T)wr_finish_beta(c.alpha, c.beta, y, v, sum[v]);
  if (c.whole) {
    wr_store(y, 0, result);
    return;
  }
#pragma unroll
  for (int v = 0; v < V; v++)
    if (column + v < c.columns) y[v] = result.at[v];
}

/* The kernel parameter of a checked request for lanes with V columns each. */
template <int V, typename T>
inline wr_many<T> wr_many_make(const wr_apply_many *r) {
  wr_many<T> c = {};
  c.x = (const T *)r->x->data, c.y = (T *)r->y->data;
  c.ldx = r->ldx, c.ldy = r->ldy, c.alpha = r->alpha, c.beta = r->beta;
  c.columns = r->columns, c.each = 1;
  while (c.each * V < r->columns) c.each *= 2;
  c.whole = r->columns % V == 0 && r->ldy % V == 0;
  return c;
}

/* Calls launch(columns, wr_many_width<V>()) with the widest V for which all rows of X are aligned and less than half of a load
 * is wasted. */
template <int V>
struct wr_many_width {
  static constexpr int value = V;
};

template <typename T, class Launch>
inline wr_status wr_many_dispatch(const wr_apply_many *r, Launch launch) {
  if constexpr (sizeof(T) == 4)
    if (r->ldx % 4 == 0 && r->columns > 2) return launch(wr_many_make<4, T>(r), wr_many_width<4>());
  if (r->ldx % 2 == 0 && r->columns > 1) return launch(wr_many_make<2, T>(r), wr_many_width<2>());
  return launch(wr_many_make<1, T>(r), wr_many_width<1>());
}

#endif
