/* Several vectors in row-major order (wr_apply_many) as kernels see them: a lane has V neighbouring columns, which it loads by
 * one access of up to 16 bytes, and `each` neighbouring lanes have all columns of a row. Four columns in f64, or eight in f32,
 * then take one sector of 32 bytes. */
#ifndef WR_MANY_CUH
#define WR_MANY_CUH

#include "spmv/device/apply.h"
#include "spmv/device/columns.h"
#include "spmv/device/fused_many.h"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/stream.cuh"
#include "spmv/kernel/warp.cuh"

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

/* ---- What follows a multiply (wr_apply_many), in its pass ---- */

enum wr_many_follows { WR_FOLLOWS_NOTHING, WR_FOLLOWS_SUMS, WR_FOLLOWS_RANKS };
enum { WR_FOLLOW_SUMS = 2 }; /* of a column at most */

/* How many there are: (y, z) and (y, y), or the mass. PageRank's step that measures its change is left to the further pass. */
template <wr_many_follows FOLLOWS>
constexpr int wr_follow_sums = FOLLOWS == WR_FOLLOWS_NOTHING ? 0
                               : FOLLOWS == WR_FOLLOWS_RANKS ? 1
                                                             : 2;

/* A kernel parameter. */
template <typename T>
struct wr_many_follow {
  const T *z;           /* SUMS: [nrows][ldy]                                  */
  const T *scale;       /* RANKS: [nrows], NULL: it is compact                 */
  const void *divisors; /* [nrows] of divisor_bytes each                       */
  int divisor_bytes;
  const uint8_t *marks; /* RANKS: [nrows]; bit c: Y(i, c) has a jump           */
  double *partial;      /* [WR_FOLLOW_SUMS * WR_MAX_COLUMNS][parts]            */
  unsigned parts;       /* blocks of all kernels of the multiply               */
};

/* 1 / out-degree of a row, and the out-degree where the scale is compact. */
template <typename T>
struct wr_rank_scale {
  T by;
  uint32_t divisor;
  bool divides; /* there is no out-degree: a change is undone by a division */
};

template <typename T>
__device__ inline wr_rank_scale<T> wr_rank_scale_of(const T *scale, const void *divisors, int bytes, int64_t i) {
  if (scale) return {scale[i], 0, true};
  return {0, wr_divisor(divisors, bytes, i), false};
}

/* Completes what was loaded. It is a function of its own, so that several loads can be under way at a time. */
template <typename T>
__device__ inline void wr_rank_scale_invert(wr_rank_scale<T> &scale, int bytes) {
  if (!scale.divides) scale.by = wr_reciprocal_of<T>(scale.divisor, bytes);
}

/* An element of Y behind its jump: it is scaled, or a part of the mass. */
template <typename T>
__device__ inline void wr_rank_finish(const wr_rank_scale<T> &scale, T &y, double &mass) {
  if (scale.by != 0)
    y *= scale.by;
  else
    mass += (double)y;
}

/* Its part of the change from x. */
template <typename T>
__device__ inline double wr_rank_change(const wr_rank_scale<T> &scale, T y, T x) {
  double moved = fabs((double)y - (double)x);
  return scale.by == 0 ? moved : scale.divides ? moved / (double)scale.by : moved * (double)scale.divisor;
}

/* What a thread loads for V columns of a row before it finishes them. */
template <typename T, int V>
struct wr_many_ahead {
  wr_pack<T, V> z;
  wr_rank_scale<T> scale;
  unsigned marks;
};

template <wr_many_follows FOLLOWS, int V, typename T>
__device__ inline void wr_many_look_ahead(const wr_many<T> &c, const wr_many_follow<T> &f, int64_t i, int column,
                                          wr_many_ahead<T, V> &ahead) {
  if constexpr (FOLLOWS == WR_FOLLOWS_SUMS) {
    ahead.z = wr_load<T, V>(f.z + i * c.ldy + column, 0);
  } else {
    ahead.marks = (unsigned)f.marks[i] >> column;
    ahead.scale = wr_rank_scale_of<T>(f.scale, f.divisors, f.divisor_bytes, i);
  }
}

/* The same as wr_many_store where all columns are there (c.whole), and what follows. sum: of the thread, by column. */
template <wr_many_follows FOLLOWS, int V, typename T>
__device__ inline void wr_many_finish(const wr_many<T> &c, const wr_many_follow<T> &f, int64_t i, int column,
                                      wr_many_ahead<T, V> &ahead, const double (&product)[V],
                                      double (&sum)[wr_follow_sums<FOLLOWS>][V]) {
  T *at = c.y + i * c.ldy + column;
  wr_pack<T, V> y;
  if constexpr (FOLLOWS == WR_FOLLOWS_SUMS) {
#pragma unroll
    for (int v = 0; v < V; v++) {
      y.at[v] = (T)wr_finish_beta(c.alpha, c.beta, at, v, product[v]);
      sum[0][v] += (double)y.at[v] * (double)ahead.z.at[v], sum[1][v] += (double)y.at[v] * (double)y.at[v];
    }
  } else {
    wr_rank_scale_invert(ahead.scale, f.divisor_bytes);
#pragma unroll
    for (int v = 0; v < V; v++) {
      y.at[v] = (T)wr_finish_beta(c.alpha, ahead.marks >> v & 1, at, v, product[v]);
      wr_rank_finish(ahead.scale, y.at[v], sum[0][v]);
    }
  }
  wr_store(at, 0, y);
}

/* partial[(s * WR_MAX_COLUMNS + column) * parts + part] := the block's sums, always in the same order: those of a warp, then
 * the warps. each: neighbouring lanes that have all columns, V of them each. Every thread of the block. */
template <int THREADS, int V, int SUMS>
__device__ inline void wr_many_sums_leave(int each, double (&sum)[SUMS][V], double *partial, int64_t parts,
                                          int64_t part) {
  constexpr int WARPS = THREADS / WR_WARP;
  static_assert(SUMS * WR_MAX_COLUMNS <= THREADS, "a thread for each sum");
  WR_SHARED(double, of_warp, SUMS *WARPS *WR_MAX_COLUMNS); /* [sum][warp][column] */
  int lane = threadIdx.x % WR_WARP, warp = threadIdx.x / WR_WARP;
#pragma unroll
  for (int s = 0; s < SUMS; s++)
#pragma unroll
    for (int v = 0; v < V; v++) {
      for (int distance = WR_WARP / 2; distance >= each; distance /= 2)
        sum[s][v] += __shfl_xor_sync((unsigned)WR_FULL_MASK, sum[s][v], distance);
      if (lane < each) of_warp[(s * WARPS + warp) * WR_MAX_COLUMNS + lane * V + v] = sum[s][v];
    }
  __syncthreads();
  int s = (int)threadIdx.x / WR_MAX_COLUMNS, column = (int)threadIdx.x % WR_MAX_COLUMNS;
  if (s >= SUMS || column >= each * V) return;
  double total = 0;
  for (int w = 0; w < WARPS; w++) total += of_warp[(s * WARPS + w) * WR_MAX_COLUMNS + column];
  partial[(int64_t)(s * WR_MAX_COLUMNS + column) * parts + part] = total;
}

/* z if the sums of a request are (y, z) and perhaps (y, y), else NULL. */
inline const wr_vec *wr_many_sums_factor(const wr_apply_many *r) {
  const wr_fused_many *f = r->sums;
  if (f == NULL || f->ld != r->ldy || f->sum[0].u == NULL || f->sum[0].is_scaled || f->sum[1].is_scaled) return NULL;
  const wr_many_sum *first = &f->sum[0], *second = &f->sum[1];
  if (second->u && (second->u != r->y || second->z != r->y)) return NULL;
  const wr_vec *z = first->u == r->y ? first->z : first->z == r->y ? first->u : NULL;
  return z == r->y ? NULL : z;
}

/* What of a request with these parameters a kernel can do in its pass. */
template <typename T>
inline wr_many_follows wr_many_follows_of(const wr_apply_many *r, const wr_many<T> &c) {
  if (!c.whole) return WR_FOLLOWS_NOTHING;
  if (wr_many_sums_factor(r)) return WR_FOLLOWS_SUMS;
  return r->ranks && r->ranks->marks && r->ranks->x == NULL ? WR_FOLLOWS_RANKS : WR_FOLLOWS_NOTHING;
}

/* The kernel parameter, and what precedes the multiply. parts: blocks of all its kernels. */
template <typename T>
inline wr_status wr_many_follow_begin(wr_env *env, const wr_apply_many *r, wr_many_follows follows, unsigned parts,
                                      wr_many_follow<T> *f) {
  wr_workspace workspace;
  *f = {};
  if (follows == WR_FOLLOWS_NOTHING) return WR_OK;
  PASS(wr_workspace_reserve(env, (int64_t)parts * WR_FOLLOW_SUMS * WR_MAX_COLUMNS / WR_FUSED_REDUCTIONS + 1,
                            &workspace));
  f->partial = workspace.partial, f->parts = parts;
  if (follows == WR_FOLLOWS_SUMS) {
    f->z = (const T *)wr_many_sums_factor(r)->data;
    return WR_OK;
  }
  const wr_epilogue_many *e = r->ranks;
  if (e->scale->reciprocal_bytes)
    f->divisors = e->scale->data, f->divisor_bytes = e->scale->reciprocal_bytes;
  else
    f->scale = (const T *)e->scale->data;
  f->marks = (const uint8_t *)e->marks->data;
  return wr_cuda_ranks_begin(env, e);
}

/* Adds up what the kernels have left. */
template <typename T>
inline wr_status wr_many_follow_end(wr_env *env, const wr_apply_many *r, wr_many_follows follows,
                                    const wr_many_follow<T> &f) {
  if (follows == WR_FOLLOWS_NOTHING) return WR_OK;
  env->many_done = 1;
  return follows == WR_FOLLOWS_SUMS ? wr_cuda_many_sums_end(env, r->sums, f.partial, f.parts)
                                    : wr_cuda_ranks_end(env, r->ranks, f.partial, f.parts);
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
