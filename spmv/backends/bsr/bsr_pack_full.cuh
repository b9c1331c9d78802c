/* Tiles of full blocks: the place of a value follows from its index alone, so the matrix's columns are not read. */
#ifndef WR_BSR_PACK_FULL_CUH
#define WR_BSR_PACK_FULL_CUH

#include "spmv/backends/bsr/bsr_pack_tile.cuh"
#include "spmv/kernel/async_copy.cuh"

/* The tile's first and last row may begin before the tile and end after it. */
struct ib_full {
  bool is_full;       /* all blocks of the tile's rows are full                                      */
  int64_t entry;      /* the first entry of the tile's first row                                     */
  int before, after; /* inner blocks of the first row before the tile, and of the last row after it */
};

/* A row has at most as many entries as its blocks have columns, so if the tile's rows have as many entries as their blocks
 * have values, each block is full. Block rows between them are empty, so their entries are contiguous. A block that reaches
 * past the matrix's last row or column is not full. All threads get the same result. */
template <typename V, typename T, typename P>
static __device__ inline ib_full find_full(const ib_rows<T, P> &a, const wr_bsr_interleaved &b, const ib_tile<V> &t) {
  if (t.rows == 0) return {};
  int64_t n0 = t.row, n1 = n0 + t.rows - 1, start = b.start[n0], end = b.start[n1 + 1];
  int64_t i0 = (b.row ? b.row[n0] : n0) * b.r, i1 = ((b.row ? b.row[n1] : n1) + 1) * b.r;
  int64_t from = a.row_ptr[i0], to = a.row_ptr[i1 < b.nrows ? i1 : b.nrows];
  return {to - from == (end - start) * (b.r * b.c), from, (int)(t.g0 - start), (int)(end - t.g0 - t.count)};
}

/* Where the values of the tile's rows come from. Value x of the first scalar row of each block row, c values an inner block,
 * counted across the tile, is entry begin[p] + x with p = x / c; the next scalar rows follow at distances of place[p]
 * entries. Starts the copies of block columns to `inner`. */
template <typename V>
static __device__ inline void place_full(const ib_cut &k, const wr_bsr_interleaved &b, const ib_tile<V> &t,
                                         const ib_full &f) {
  for (int p = threadIdx.x; p < t.count; p += blockDim.x) {
    int n = b.r == 1 ? 0 : row_of(t, p); /* rows of 1 x c blocks are contiguous, as if they were one row */
    int low = t.edge[n] - (n == 0 ? f.before : 0), high = t.edge[n + 1] + (n == t.rows - 1 ? f.after : 0);
    int64_t g = t.g0 + p;
    t.begin[p] = f.entry + (int64_t)(low + f.before) * (b.r * b.c) - (int64_t)low * b.c;
    t.place[p] = (high - low) * b.c;
    if (k.log2_down > 0) { /* minus the inner blocks of the inner rows above in the same block row */
      int above = (t.row + n) & ((1 << k.log2_down) - 1);
      g = ((t.g0 + low - (int64_t)above * (high - low)) >> k.log2_down) + p - low;
    }
    if (k.col) wr_copy_element_if(true, t.inner + p, k.col + (g >> k.log2_across));
  }
}

/* value[u][v] := value x0 + u * blockDim.x of the tile's scalar row v, or the last one; all loads are in flight at a time. */
template <int N, int R, typename V, typename T>
static __device__ inline void load_full(const T *val, const ib_tiling &s, const ib_tile<V> &t, int x0, int last,
                                        T (&value)[N][R]) {
#pragma unroll
  for (int u = 0; u < N; u++) {
    int x = min(x0 + u * (int)blockDim.x, last), p = (int)wr_bsr_divide((unsigned)x, s.by_c), next = t.place[p];
    const T *from = val + (t.begin[p] + x);
#pragma unroll
    for (int v = 0; v < R; v++) value[u][v] = wr_load_stream(from + (int64_t)v * next);
  }
}

/* Copies the values to their places, R rows at a time, with about THREAD_VALUES registers. Zeros become positive. */
template <int R, typename V, typename T, typename P>
static __device__ inline void fill_full(const ib_rows<T, P> &a, const wr_bsr_interleaved &b, const ib_tiling &s,
                                        const ib_tile<V> &t) {
  constexpr int MOST = THREAD_VALUES * 4 / (int)sizeof(T) / R, N = MOST > 1 ? MOST : 1;
  int all = t.count * b.c, turn = b.each * b.c * s.pitch - 1;
  T value[N][R];
  if (!a.val)
    for (int i = 0; i < N * R; i++) value[i / R][i % R] = 1;
  for (int x0 = threadIdx.x; x0 < all; x0 += N * blockDim.x) {
    if (a.val) load_full(a.val, s, t, x0, all - 1, value);
#pragma unroll
    for (int u = 0; u < N; u++) {
      int x = x0 + u * (int)blockDim.x, lane = (int)wr_bsr_divide((unsigned)x, s.by_lane);
      V *to = t.value + (x * s.pitch - lane * turn);
#pragma unroll
      for (int v = 0; v < R; v++)
        if (x < all) to[v * s.lanes] = value[u][v] == 0 ? (V)0 : (V)value[u][v];
    }
  }
}

#endif
