/* The values of interleaved blocks, from rows. A thread block packs a tile, the consecutive inner blocks of some lanes of a
 * warp: it reads the rows' entries in order, stores the values at their places in shared memory, and writes the tile line by
 * line. So the matrix is read once, the blocks are written once, and all accesses are coalesced. If all blocks are full, the
 * matrix's columns are not read (bsr_pack_full.cuh); if they are full in the tile, or rows have no gaps in it, only the first
 * and last columns of rows are. */
#include "spmv/backends/bsr/bsr_pack_full.cuh"
#include "spmv/backends/bsr/bsr_pack_tile.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/kernel/async_copy.cuh"
#include "spmv/kernel/search.cuh"

constexpr int64_t MOST_BLOCKS = 1 << 20;

/* Column, in inner blocks, of the tile's p-th inner block. */
template <typename V>
static __device__ inline int32_t inner_column(const ib_cut &k, const wr_bsr_interleaved &b, const ib_tiling &s,
                                              const ib_tile<V> &t, int p) {
  int64_t g = t.g0 + p;
  if (!k.col) return known_column(b, s, t, p, k.log2_across);
  if (k.log2_across == 0) return k.col[g]; /* a size that is cut into inner blocks is always cut in columns */
  int64_t source = g >> k.log2_across;
  if (k.log2_down > 0) {
    int64_t n = (int64_t)t.row + row_of(t, p), i = b.row ? b.row[n] : n;
    source = wr_bsr_row_at(k.row_ptr, k.wide, i >> k.log2_down) + ((g - b.start[n]) >> k.log2_across);
  }
  return (k.col[source] << k.log2_across) + (int32_t)(g & ((1 << k.log2_across) - 1));
}

/* Computes the places of the tile's inner blocks and fills them with padding. */
template <typename V>
static __device__ inline void place_blocks(const ib_cut &k, const wr_bsr_interleaved &b, const ib_tiling &s,
                                           const ib_tile<V> &t) {
  for (int p = threadIdx.x; p < t.count; p += blockDim.x) {
    int lane = (int)wr_bsr_divide((unsigned)p, s.by_each), j = p - lane * b.each;
    int32_t inner = inner_column(k, b, s, t, p);
    t.inner[p] = inner;
    t.place[p] = (j * b.c + shift_of(b, inner)) * s.pitch + lane;
  }
  for (int at = threadIdx.x; at < b.each * b.c * s.pitch; at += blockDim.x) t.value[at] = -(V)0;
}

/* The first entry of begin..end - 1 in column j or after, which is expected at the fraction `share` of them. Looks at NEAR
 * entries around it first, with all loads in flight at a time, and searches by bisection only if that fails. */
template <typename P>
static __device__ inline P find_near(const int32_t *col, P begin, P end, uint32_t j, float share) {
  constexpr int NEAR = 32;
  P low = begin + (P)(share * (float)(end - begin)) - NEAR / 2;
  if (low > end - NEAR) low = end - NEAR;
  if (low < begin) low = begin;
  P high = end - low < NEAR ? end : low + NEAR;
  int before = 0;
#pragma unroll 16
  for (int u = 0; u < NEAR; u++) before += low + u < high && (uint32_t)col[low + u] < j;
  if (before == 0) return low == begin ? begin : wr_find_column(col, begin, low, j);
  return before < high - low ? low + before : wr_find_column(col, high, end, j);
}

/* A thread finds the entries in the tile of one scalar row, from the tile's row n0 on. Returns whether the row is plain:
 * it has all columns of its blocks, or it has no gaps and neither have its blocks. Then the first entry gives the places
 * of all. */
template <typename V, typename T, typename P>
static __device__ inline bool find_entries(const ib_rows<T, P> &a, const wr_bsr_interleaved &b, const ib_tiling &s,
                                           const ib_tile<V> &t, int n0, int parts) {
  if ((int)threadIdx.x >= parts) return true;
  int down = (int)wr_bsr_divide(threadIdx.x, s.by_r), low = t.edge[n0 + down], last = t.edge[n0 + down + 1] - 1;
  int64_t n = (int64_t)t.row + n0 + down, i = (b.row ? (int64_t)b.row[n] : n) * b.r + (int)threadIdx.x - down * b.r;
  P begin = 0, end = 0;
  if (i < b.nrows) begin = a.row_ptr[i], end = a.row_ptr[i + 1];
  int64_t g0 = b.start[n], g1 = b.start[n + 1];
  P from = begin, to = end;
  if (g0 < t.g0)
    from = find_near(a.col, begin, end, (uint32_t)t.inner[0] * (uint32_t)b.c, (float)(t.g0 - g0) / (float)(g1 - g0));
  if (g1 > t.g0 + t.count)
    to = find_near(a.col, begin, end, ((uint32_t)t.inner[t.count - 1] + 1) * (uint32_t)b.c,
                   (float)(t.g0 + t.count - g0) / (float)(g1 - g0));
  t.begin[threadIdx.x] = from, t.length[threadIdx.x] = (int32_t)(to - from), t.skip[threadIdx.x] = 0;
  if (from == to || to - from == (P)(last + 1 - low) * b.c) return true;
  int32_t first = a.col[from];
  t.skip[threadIdx.x] = first - t.inner[low] * b.c;
  return a.col[to - 1] - first == (int32_t)(to - from) - 1 && t.inner[last] - t.inner[low] == last - low;
}

/* The place of column j of a block row's first scalar row. The block row's inner blocks are the tile's low..high - 1. */
template <typename V>
static __device__ inline V *find_place(const ib_tiling &s, const ib_tile<V> &t, int low, int high, uint32_t j) {
  uint32_t inner = wr_bsr_divide(j, s.by_c);
  int p = wr_find_column(t.inner, low, high, inner);
  return t.value + t.place[p] + (int)(j - inner * (uint32_t)s.c) * s.pitch;
}

/* Stores entry e of each of the r scalar rows of the tile's row n, with parts those of threads first..first + r - 1. N
 * rows at a time, with all loads in flight; a row without such an entry loads entry 0 and drops it. PLAIN: find_entries
 * returned true for all of these rows; e then counts the columns of the row's blocks. Otherwise the place that e would have
 * in full blocks is tried, and a search finds it if the column differs. Zeros become positive, because negative zeros are
 * padding. */
template <int N, bool PLAIN, typename V, typename T, typename P>
static __device__ inline void fill_entries(const ib_rows<T, P> &a, int r, const ib_tiling &s, const ib_tile<V> &t,
                                           int n, int first, int e) {
  int low = t.edge[n], high = t.edge[n + 1], p = low + (int)wr_bsr_divide((unsigned)e, s.by_c);
  int across = e - (p - low) * s.c;
  uint32_t likely = WR_BSR_NONE;
  V *to = t.value;
  if (p < high) likely = (uint32_t)t.inner[p] * (uint32_t)s.c + (uint32_t)across, to += t.place[p] + across * s.pitch;
  for (int r0 = 0; r0 < r; r0 += N) {
    uint32_t column[N];
    T value[N];
    bool is_entry[N], as_likely = true;
#pragma unroll
    for (int u = 0; u < N; u++) {
      int at = e - (PLAIN ? t.skip[first + r0 + u] : 0);
      is_entry[u] = at >= 0 && at < t.length[first + r0 + u];
      int64_t k = t.begin[first + r0 + u] + at;
      k = is_entry[u] ? k : 0;
      column[u] = PLAIN ? likely : (uint32_t)wr_load_stream(a.col + k);
      value[u] = a.val ? wr_load_stream(a.val + k) : (T)1;
    }
#pragma unroll
    for (int u = 0; u < N; u++) as_likely = as_likely & (!is_entry[u] | (column[u] == likely));
#pragma unroll
    for (int u = 0; u < N; u++) {
      V *place = as_likely || !is_entry[u] ? to : find_place(s, t, low, high, column[u]);
      if (is_entry[u]) place[(r0 + u) * s.lanes] = value[u] == 0 ? (V)0 : (V)value[u];
    }
  }
}

/* Stores the entries of `rows` rows of the tile, from n0 on. With many rows, each is one group's; with few, all groups share
 * each. N: divides r. */
template <int N, bool PLAIN, typename V, typename T, typename P>
static __device__ inline void fill_rows(const ib_rows<T, P> &a, int r, const ib_tiling &s, const ib_tile<V> &t, int n0,
                                        int rows) {
  int groups = (int)blockDim.x / s.group, own = threadIdx.x / s.group, lane = threadIdx.x % s.group;
  bool alone = rows >= groups;
  for (int n = alone ? own : 0; n < rows; n += alone ? groups : 1) {
    int most = 0;
    for (int k = 0; k < r; k++) most = max(most, t.length[n * r + k] + (PLAIN ? t.skip[n * r + k] : 0));
    for (int e = (alone ? 0 : (own + n) % groups * s.group) + lane; e < most; e += (alone ? 1 : groups) * s.group)
      fill_entries<N, PLAIN>(a, r, s, t, n0 + n, n * r, e);
  }
}
/* R: rows of an inner block; fill_entries takes N of them at a time. */
template <int R, typename V, typename T, typename P>
__global__ void __launch_bounds__(MOST_THREADS, 4)
    ib_fill(WR_KERNEL_PARAMETER ib_cut k, WR_KERNEL_PARAMETER ib_rows<T, P> a, WR_KERNEL_PARAMETER wr_bsr_interleaved b,
            WR_KERNEL_PARAMETER ib_tiling s, int *most) {
  WR_SHARED_DYNAMIC(unsigned char, buffer);
  constexpr int N = R % 4 == 0 ? 4 : R % 3 == 0 ? 3 : R;
  ib_tile<V> t = make_tile<V>(b, s, buffer);
  int batch = s.threads / R;
  for (t.number = blockIdx.x; t.number < b.warps * (WR_WARP / s.lanes); t.number += gridDim.x) {
    t.g0 = t.number * s.lanes * b.each;
    int64_t left = b.blocks - t.g0;
    t.count = left < 0 ? 0 : left < s.lanes * b.each ? (int)left : s.lanes * b.each;
    find_rows(b, s, t);
    ib_full full = find_full(a, b, t);
    mark_rows(b, s, t);
    if (full.is_full) {
      place_full(k, b, t, full);
      __syncthreads();
      fill_full<R>(a, b, s, t);
      wr_copy_elements_wait();
    } else {
      place_blocks(k, b, s, t);
      __syncthreads();
      for (int n = 0; n < t.rows; n += batch) {
        int rows = t.rows - n < batch ? t.rows - n : batch;
        bool all_plain = __syncthreads_count(!find_entries(a, b, s, t, n, rows * R)) == 0;
        if (all_plain)
          fill_rows<N, true>(a, R, s, t, n, rows);
        else
          fill_rows<N, false>(a, R, s, t, n, rows);
        __syncthreads();
      }
    }
    __syncthreads();
    write_values(b, s, t);
    if (k.col) {
      write_columns(b, s, t, full.is_full ? k.log2_across : 0);
      count_rows(b, s, t, most);
    }
    __syncthreads();
  }
}

template <typename V, typename T, typename P>
static wr_status fill(wr_env *env, const ib_cut &k, const wr_csr_view *view, int64_t nnz, const wr_bsr_interleaved *b,
                      int *most) {
  ib_rows<T, P> a = {(const P *)view->row_ptr, view->col, (const T *)view->val};
  ib_tiling s = {};
  s.by_c = wr_bsr_divisor_make(b->c), s.by_r = wr_bsr_divisor_make(b->r), s.by_each = wr_bsr_divisor_make(b->each);
  s.by_lane = wr_bsr_divisor_make(b->each * b->c);
  s.c = b->c, s.group = wr_bsr_group_lanes(b->nrows, nnz);
  for (s.lanes = WR_WARP, s.log2_lanes = 5;; s.lanes /= 2, s.log2_lanes--) {
    s.pitch = b->r * s.lanes + 1;
    if (tile_bytes(b, s, sizeof(V)) <= TILE_BYTES || s.lanes == 4) break;
  }
  s.threads = WR_WARP;
  while (s.threads < MOST_THREADS && s.threads * THREAD_VALUES < s.lanes * b->each * b->r * b->c) s.threads *= 2;
  int64_t tiles = b->warps * (WR_WARP / s.lanes);
  if (tiles == 0) return WR_OK;
  unsigned grid = (unsigned)(tiles < MOST_BLOCKS ? tiles : MOST_BLOCKS), threads = (unsigned)s.threads;
  size_t bytes = tile_bytes(b, s, sizeof(V));
#define FILL(R) \
  case R: return WR_LAUNCH((ib_fill<R, V, T, P>), grid, threads, bytes, env->stream, k, a, *b, s, most)
  switch (b->r) {
    FILL(1);
    FILL(2);
    FILL(3);
    FILL(4);
    FILL(5);
    FILL(6);
    FILL(8);
    FILL(16);
  }
#undef FILL
  return wr_fail(WR_EINTERNAL, "no kernel that fills inner blocks of %d rows", b->r);
}

template <typename P>
static wr_status fill_as(wr_env *env, const ib_cut &k, const wr_csr_view *view, int64_t nnz,
                         const wr_bsr_interleaved *b, int *most) {
  if (b->type == WR_F32) return fill<float, float, P>(env, k, view, nnz, b, most);
  if (b->stored == WR_F32) return fill<float, double, P>(env, k, view, nnz, b, most);
  return fill<double, double, P>(env, k, view, nnz, b, most);
}

wr_status wr_bsr_pack_values(wr_env *env, const ib_cut &k, const wr_csr_view *view, int64_t nnz,
                             const wr_bsr_interleaved *b, int *most) {
  if (view->wide) return fill_as<int64_t>(env, k, view, nnz, b, most);
  return fill_as<int32_t>(env, k, view, nnz, b, most);
}
