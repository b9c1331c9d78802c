/* The multiply of several vectors with interleaved rows. A lane loads its own columns, values and row ends, as for one
 * vector. Then c.each neighbouring lanes, a group, walk together over what they have loaded: each has its columns of X, gets
 * the entries from the others by shuffles, loads V elements of a row of X for each, and keeps V sums in registers. So one
 * sector of X serves all vectors. Sums of complete rows go to shared memory, from where a warp writes them to Y side by side:
 * stored as they arise, they took nearly half of all instructions. Sums that groups and chunks leave open are joined in the
 * order of the entries, so the bits are the same each time. */
#include "spmv/backends/lane_csr/lane_csr_chunk.cuh"
#include "spmv/backends/lane_csr/lane_csr_kernel.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/kernel/many.cuh"
#include "spmv/kernel/parts.cuh"

/* Threads of a block, and blocks of a multiprocessor: a thread has 128 registers, for eight rows of X in flight. */
constexpr int MANY_THREADS = 512, MANY_BLOCKS = 1, MANY_WARPS = MANY_THREADS / WR_WARP;
constexpr int HALF = EACH / 2;           /* rows of X that a lane loads at once */
constexpr int SLOTS = HALF + 1;          /* sums of rows that a group needs room for */
constexpr int ROOM = SLOTS * WR_WARP * 4; /* doubles of a warp: the slots of its groups, with up to 4 columns a lane */
constexpr int LAST_THREADS = 256, LAST_BLOCKS = 2; /* of the second kernel; blocks: of a multiprocessor */

template <typename T>
struct lane_many_args {
  wr_lane_csr format;
  double *head, *tail; /* [chunks][columns] as head and tail of wr_lane_plan */
};

/* What a lane is: with c.each - 1 others, from `leader` on, it is a group; it has V columns from `column` on. */
struct lane_group {
  int leader, column, width; /* width: columns of a group; some behind the last one may not be there */
};

/* Bits 0..7: which of the lane's places have no entry. Their columns become 0, so that loads need no condition: such a place
 * is a row by itself, or behind the last row, and lane_clear_empty corrects the sum of that row. */
static __device__ inline uint32_t lane_take_padding(int32_t (&code)[EACH]) {
  uint32_t padding = 0;
#pragma unroll
  for (int j = 0; j < EACH; j++) {
    padding |= code[j] < 0 ? 1u << j : 0;
    code[j] = max(code[j], 0);
  }
  return padding;
}

/* sums[row of the chunk][width] := 0 for the lane's rows without entries. end: the lane's own. */
static __device__ inline void lane_clear_empty(uint32_t padding, uint32_t end, int width, double *sums) {
  double *at = sums + (end >> 16) * width;
  for (int j = 0; j < EACH; j++) {
    if (!(end >> j & 1)) continue;
    for (int k = 0; (padding >> j & 1) && k < width; k++) at[k] = 0;
    at += width;
  }
}

/* A group's walk. x: X from the lane's columns on; stride: bytes of a row of it. code, value, end: the lane's own. The lane's
 * columns of the sums of the rows that end in the group go to at[0], at[width], ...; SHORT: n counts those since the last
 * flush, and the bits of `end` behind the row ends say which places have an entry. open: the sum behind the last end. */
template <bool VALUED, bool SHORT, int V, typename T>
struct lane_walk {
  const T *x;
  uint32_t stride, end;
  const int32_t (&code)[EACH];
  const T (&value)[EACH];
  int width, n;
  double *at;
  double (&open)[V];
};

/* Loads HALF rows of X, from the first-th entry of lane q on. All lanes of the warp call this together, and the next one. */
template <bool VALUED, bool SHORT, int V, typename T>
static __device__ inline void lane_load_rows(const lane_walk<VALUED, SHORT, V, T> &k, int q, int first,
                                             wr_pack<T, V> (&row)[HALF]) {
#pragma unroll
  for (int j = 0; j < HALF; j++) {
    uint64_t from = (uint64_t)(uint32_t)__shfl_sync((unsigned)WR_FULL_MASK, k.code[first + j], q) * k.stride;
    row[j] = wr_load<T, V>((const T *)((const char *)k.x + from), 0);
  }
}

/* Adds what was loaded. ends: of lane q. */
template <bool VALUED, bool SHORT, int V, typename T>
static __device__ inline void lane_add_rows(lane_walk<VALUED, SHORT, V, T> &k, int q, int first, uint32_t ends,
                                            const wr_pack<T, V> (&row)[HALF]) {
#pragma unroll
  for (int j = 0; j < HALF; j++) {
    double times = VALUED ? (double)__shfl_sync((unsigned)WR_FULL_MASK, k.value[first + j], q) : 1;
    if (!SHORT || (ends >> (EACH + first + j) & 1))
#pragma unroll
      for (int v = 0; v < V; v++)
        k.open[v] = VALUED ? k.open[v] + times * (double)row[j].at[v] : k.open[v] + (double)row[j].at[v];
    if (!(ends >> (first + j) & 1)) continue;
    wr_pack<double, V> sum;
#pragma unroll
    for (int v = 0; v < V; v++) sum.at[v] = k.open[v], k.open[v] = 0;
    wr_store(k.at, 0, sum);
    k.at += k.width;
    if (SHORT) k.n++;
  }
}

/* The sum of a row in shared memory. */
template <int V>
struct lane_sum {
  double of[V];
  __device__ explicit lane_sum(const double *at) {
    wr_pack<double, V> found = wr_load<double, V>(at, 0);
#pragma unroll
    for (int v = 0; v < V; v++) of[v] = found.at[v];
  }
};

/* Writes the sums behind the first to Y, to the rows after `row`, which becomes the last of them. */
template <bool VALUED, int V, typename T>
static __device__ inline void lane_flush(lane_walk<VALUED, true, V, T> &k, const lane_group &g, const wr_many<T> &c,
                                         double *first, int64_t &row) {
  if (k.n <= 1) return;
  for (k.at = first + k.width; k.n > 1; k.n--, k.at += k.width) {
    row++;
    if (g.column < c.columns) wr_many_store(c, row, g.column, lane_sum<V>(k.at).of);
  }
  k.at = first + k.width;
}

/* Walks over a group's entries. The next rows of X are in flight while the last ones are added. SHORT: sums go to Y after
 * each HALF entries, but for that of the group's first row, `row`, which stays at its place: other groups may have parts of
 * it. */
template <bool VALUED, bool SHORT, int V, typename T>
static __device__ inline void lane_walk_group(lane_walk<VALUED, SHORT, V, T> &k, const lane_group &g,
                                              const wr_many<T> &c, int64_t row) {
  wr_pack<T, V> even[HALF], odd[HALF];
  double *first = k.at;
#pragma unroll
  for (int v = 0; v < V; v++) k.open[v] = 0;
  lane_load_rows(k, g.leader, 0, even);
#pragma unroll 1
  for (int q = g.leader; q < g.leader + c.each; q++) {
    uint32_t ends = __shfl_sync((unsigned)WR_FULL_MASK, k.end, q);
    lane_load_rows(k, q, HALF, odd);
    lane_add_rows(k, q, 0, ends, even);
    if constexpr (SHORT) lane_flush(k, g, c, first, row);
    if (q + 1 < g.leader + c.each) lane_load_rows(k, q + 1, 0, even);
    lane_add_rows(k, q, HALF, ends, odd);
    if constexpr (SHORT) lane_flush(k, g, c, first, row);
  }
}

/* Writes the lane's columns of the r-th row of chunk w, whose sum is at `at`: to Y, or to a.head if an earlier chunk has a part
 * of that row. row: the chunk's first. */
template <int V, typename T>
static __device__ inline void lane_put(const lane_many_args<T> &a, const wr_many<T> &c, int64_t w, int64_t row, int r,
                                       int column, bool has_head, const double *at) {
  const lane_sum<V> sum(at);
  if (r > 0 || !has_head) {
    wr_many_store(c, row + r, column, sum.of);
    return;
  }
#pragma unroll
  for (int v = 0; v < V; v++)
    if (column + v < c.columns) a.head[w * c.columns + column + v] = sum.of[v];
}

template <typename T, bool VALUED, lane_columns COLUMNS, int V>
__global__ void __launch_bounds__(MANY_THREADS, MANY_BLOCKS)
    lane_csr_many(WR_KERNEL_PARAMETER lane_many_args<T> a, WR_KERNEL_PARAMETER wr_many<T> c) {
  WR_SHARED_DYNAMIC(double, all_sums); /* [MANY_WARPS][ROOM] */
  const wr_lane_csr &f = a.format;
  int lane = threadIdx.x % WR_WARP, group = lane / c.each;
  const lane_group g = {group * c.each, lane % c.each * V, c.each * V};
  const unsigned leaders = 0xFFFFFFFFu / ((1u << c.each) - 1), members = ((1u << c.each) - 1) << g.leader;
  const bool used = g.column < c.columns;
  double *sums = all_sums + threadIdx.x / WR_WARP * ROOM + g.column; /* the lane's columns */
  const T *x = c.x + (used ? g.column : 0);
  const uint32_t stride = (uint32_t)(c.ldx * (int64_t)sizeof(T));
  wr_let_next_begin();
  lane_rounds at = lane_begin(f.chunks, lane_turn<COLUMNS>, (int)blockIdx.x, MANY_WARPS);
  int next = lane_chunk(f, at.p);
  lane_codes<COLUMNS> codes;
  lane_ahead(f, next, codes);
  wr_wait_for_earlier();
  while (at.p < f.chunks) {
    const int64_t w = next;
    const uint32_t begin = __ldg(f.row + w), after = __ldg(f.row + w + 1), end = codes.end;
    lane_advance(at, lane_turn<COLUMNS>, (int)blockIdx.x, MANY_WARPS);
    next = lane_chunk(f, at.p);
    int64_t row = begin & ~WR_LANE_OPEN;
    T value[EACH];
    int32_t code[EACH];
    if constexpr (VALUED) lane_load((const T *)f.val, w, value);
    lane_columns_of(f, codes, code);
    if constexpr (COLUMNS == HUBS) {
#pragma unroll
      for (int j = 0; j < EACH; j++)
        if (code[j] < 0 && code[j] != WR_LANE_PADDING) code[j] = __ldg(f.hub + ~code[j]);
    }
    uint32_t padding = lane_take_padding(code);
    lane_ahead(f, next, codes);
    int rows = (int)((after & ~WR_LANE_OPEN) - (begin & ~WR_LANE_OPEN));
    int own = (int)(__shfl_sync((unsigned)WR_FULL_MASK, end, g.leader) >> 16);
    unsigned with_ends = __ballot_sync((unsigned)WR_FULL_MASK, (end & 0xffff) != 0);
    bool ends = with_ends & members, has_head = rows > 0 && (begin & WR_LANE_OPEN), is_short = rows > ROOM / g.width;
    unsigned ended = __ballot_sync((unsigned)WR_FULL_MASK, ends) & leaders;
    double *first = sums + (is_short ? group * SLOTS : own) * g.width;
    double open[V];
    if (is_short) {
      uint32_t bits = (end & ~(0xffu << EACH)) | (~padding & 0xff) << EACH;
      lane_walk<VALUED, true, V, T> k = {x, stride, bits, code, value, g.width, 0, first, open};
      lane_walk_group(k, g, c, row + own);
    } else {
      lane_walk<VALUED, false, V, T> k = {x, stride, end, code, value, g.width, 0, first, open};
      lane_walk_group(k, g, c, row + own);
    }
#pragma unroll
    for (int v = 0; v < V; v++) {
      open[v] = wr_scan_open(open[v], ended, c.each);
      double before = __shfl_up_sync((unsigned)WR_FULL_MASK, open[v], (unsigned)c.each);
      if (g.leader == WR_WARP - c.each && (after & WR_LANE_OPEN) && g.column + v < c.columns)
        a.tail[w * c.columns + g.column + v] = open[v];
      if (ends && g.leader > 0) first[v] += before; /* the lane's own place */
    }
    if (is_short) {
      if (ends && used) lane_put<V>(a, c, w, row, own, g.column, has_head, first);
    } else {
      __syncwarp();
      if (__ballot_sync((unsigned)WR_FULL_MASK, padding != 0)) {
        lane_clear_empty(padding, end, g.width, sums - g.column);
        __syncwarp();
      }
      for (int r = group; r < rows && used; r += WR_WARP / c.each)
        lane_put<V>(a, c, w, row, r, g.column, has_head, sums + r * g.width);
    }
    __syncwarp();
  }
}

/* Completes the rows that several chunks share, a thread for each of their columns: that of the chunk in which the row ends. */
template <typename T>
__global__ void __launch_bounds__(LAST_THREADS)
    lane_csr_many_last(WR_KERNEL_PARAMETER lane_many_args<T> a, WR_KERNEL_PARAMETER wr_many<T> c) {
  wr_begin_kernel();
  const wr_lane_csr &f = a.format;
  int lane = threadIdx.x % WR_WARP;
  int64_t all = f.chunks * c.columns, threads = (int64_t)gridDim.x * LAST_THREADS;
  for (int64_t k = (int64_t)blockIdx.x * LAST_THREADS + threadIdx.x - lane; k < all; k += threads) {
    int64_t w = (k + lane) / c.columns, from = w;
    int column = (int)((k + lane) % c.columns);
    uint32_t begin = w < f.chunks ? f.row[w] : 0, after = w < f.chunks ? f.row[w + 1] : 0;
    bool ends = (begin & WR_LANE_OPEN) && (after & ~WR_LANE_OPEN) > (begin & ~WR_LANE_OPEN);
    if (ends) from = f.origin[w];
    double sum[1] = {wr_parts_sum(a.tail + column, c.columns, from, w)};
    if (!ends) continue;
    sum[0] += a.head[w * c.columns + column];
    wr_many<T> one = c;
    one.whole = 0;
    wr_many_store(one, begin & ~WR_LANE_OPEN, column, sum);
  }
}

template <typename T, bool VALUED, int V>
static wr_status launch_columns(wr_env *env, unsigned grid, const lane_many_args<T> &a, const wr_many<T> &c) {
  const wr_lane_csr &f = a.format;
  auto many = f.low    ? lane_csr_many<T, VALUED, WINDOWS, V>
              : f.hubs ? lane_csr_many<T, VALUED, HUBS, V>
                       : lane_csr_many<T, VALUED, FULL, V>;
  constexpr int BYTES = MANY_WARPS * ROOM * (int)sizeof(double);
  PASS(WR_CUDA(cudaFuncSetAttribute(many, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES)));
  return WR_LAUNCH_EARLY(env, (many), grid, MANY_THREADS, BYTES, a, c);
}

template <int V, typename T>
static wr_status launch(wr_env *env, const wr_lane_plan *p, const wr_many<T> &c) {
  lane_many_args<T> a = {p->format, p->many_head, p->many_tail};
  int64_t chunks = p->format.chunks;
  unsigned grid = wr_cuda_grid(env, (chunks + MANY_WARPS - 1) / MANY_WARPS, MANY_BLOCKS);
  PASS((p->format.valued ? launch_columns<T, true, V> : launch_columns<T, false, V>)(env, grid, a, c));
  grid = wr_cuda_grid(env, (chunks * c.columns + LAST_THREADS - 1) / LAST_THREADS, LAST_BLOCKS);
  return WR_LAUNCH_EARLY(env, (lane_csr_many_last<T>), grid, LAST_THREADS, 0, a, c);
}

template <typename T>
static wr_status choose(wr_env *env, const wr_lane_plan *p, const wr_apply_many *r) {
  return wr_many_dispatch<T>(r, [=](const auto &c, auto width) { return launch<decltype(width)::value>(env, p, c); });
}

extern "C" wr_status wr_lane_csr_many_launch(wr_env *env, const wr_lane_plan *p, const wr_apply_many *r) {
  if (r->ldx > (int64_t)(UINT32_MAX / sizeof(double)))
    return wr_fail(WR_EUSAGE, "x has rows of %lld elements; lane_csr takes up to 2^29 - 1", (long long)r->ldx);
  PASS(wr_cuda_enter(env));
  return env->type == WR_F32 ? choose<float>(env, p, r) : choose<double>(env, p, r);
}
