/* The multiply of several vectors with interleaved rows. A lane loads its own columns, values and row ends, as for one
 * vector. Then c.each neighbouring lanes, a group, walk together over what they have loaded: each has its columns of X, gets
 * the entries from the others by shuffles, loads V elements of a row of X for each, and keeps V sums in registers. So one
 * sector of X serves all vectors. Sums of complete rows go to shared memory, from where a warp writes them to Y side by side:
 * stored as they arise, they took nearly half of all instructions. Sums that groups and chunks leave open are joined in the
 * order of the entries, so the bits are the same each time. What follows the multiply (wr_many_follows) is done where rows are
 * written to Y; a thread's sums are in shared memory, since the walk takes all registers. */
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

/* The rounds after which thread blocks take turns. With one vector and full columns, four in a row gained up to 5% over one
 * (gen:web); with windows or hubs they cost 1 to 3% (gen:road, gen:rmat). */
template <lane_columns COLUMNS>
constexpr int lane_turn = COLUMNS == FULL ? 4 : 1;

/* The places of a warp among all chunks: in each of its thread block's rounds one, next to those of the other warps. Thread
 * blocks take turns after lane_turn rounds, and after each round once there are too few for turns. */
struct lane_rounds {
  int round, bulk; /* the round; rounds in turns */
  int p;           /* the place                  */
};

static __device__ inline void lane_after_turns(lane_rounds &r) {
  r.p = (r.bulk * (int)gridDim.x + (int)blockIdx.x) * MANY_WARPS + (int)threadIdx.x / WR_WARP;
}

template <int TURN>
static __device__ inline lane_rounds lane_begin(int64_t chunks) {
  lane_rounds r = {0, (int)chunks / (MANY_WARPS * TURN * (int)gridDim.x) * TURN, 0};
  if (r.bulk == 0)
    lane_after_turns(r);
  else
    r.p = (int)blockIdx.x * TURN * MANY_WARPS + (int)threadIdx.x / WR_WARP;
  return r;
}

template <int TURN>
static __device__ inline void lane_advance(lane_rounds &r) {
  r.round++;
  if (r.round == r.bulk)
    lane_after_turns(r);
  else if (r.round > r.bulk)
    r.p += (int)gridDim.x * MANY_WARPS;
  else
    r.p += r.round % TURN ? MANY_WARPS : (((int)gridDim.x - 1) * TURN + 1) * MANY_WARPS;
}

template <typename T>
struct lane_many_args {
  wr_lane_csr format;
  double *head, *tail; /* [chunks][columns] as head and tail of wr_lane_plan */
};

template <int SUMS, int V>
static __device__ inline void lane_add_sums(const double (&sum)[SUMS][V], double *sums) {
#pragma unroll
  for (int s = 0; s < SUMS; s++)
#pragma unroll
    for (int v = 0; v < V; v++) sums[(s * V + v) * MANY_THREADS] += sum[s][v];
}

/* Writes V columns of row i of Y, with what follows. sums: those of the thread, MANY_THREADS apart. */
template <wr_many_follows FOLLOWS, int V, typename T>
static __device__ inline void lane_store(const wr_many<T> &c, const wr_many_follow<T> &f, int64_t i, int column,
                                         const double (&product)[V], double *sums) {
  if constexpr (FOLLOWS == WR_FOLLOWS_NOTHING) {
    wr_many_store(c, i, column, product);
  } else {
    double sum[wr_follow_sums<FOLLOWS>][V] = {};
    wr_many_ahead<T, V> ahead;
    wr_many_look_ahead<FOLLOWS>(c, f, i, column, ahead);
    wr_many_finish<FOLLOWS>(c, f, i, column, ahead, product, sum);
    lane_add_sums(sum, sums);
  }
}

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
template <wr_many_follows FOLLOWS, bool VALUED, int V, typename T>
static __device__ inline void lane_flush(lane_walk<VALUED, true, V, T> &k, const lane_group &g, const wr_many<T> &c,
                                         const wr_many_follow<T> &f, double *sums, double *first, int64_t &row) {
  if (k.n <= 1) return;
  for (k.at = first + k.width; k.n > 1; k.n--, k.at += k.width) {
    row++;
    if (g.column < c.columns) lane_store<FOLLOWS>(c, f, row, g.column, lane_sum<V>(k.at).of, sums);
  }
  k.at = first + k.width;
}

/* Walks over a group's entries. The next rows of X are in flight while the last ones are added. SHORT: sums go to Y after
 * each HALF entries, but for that of the group's first row, `row`, which stays at its place: other groups may have parts of
 * it. */
template <wr_many_follows FOLLOWS, bool VALUED, bool SHORT, int V, typename T>
static __device__ inline void lane_walk_group(lane_walk<VALUED, SHORT, V, T> &k, const lane_group &g,
                                              const wr_many<T> &c, const wr_many_follow<T> &f, double *sums,
                                              int64_t row) {
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
    if constexpr (SHORT) lane_flush<FOLLOWS>(k, g, c, f, sums, first, row);
    if (q + 1 < g.leader + c.each) lane_load_rows(k, q + 1, 0, even);
    lane_add_rows(k, q, HALF, ends, odd);
    if constexpr (SHORT) lane_flush<FOLLOWS>(k, g, c, f, sums, first, row);
  }
}

/* Writes the lane's columns of the r-th row of chunk w, whose sum is at `at`: to Y, or to a.head if an earlier chunk has a part
 * of that row. row: the chunk's first. */
template <wr_many_follows FOLLOWS, int V, typename T>
static __device__ inline void lane_put(const lane_many_args<T> &a, const wr_many<T> &c, const wr_many_follow<T> &f,
                                       double *sums, int64_t w, int64_t row, int r, int column, bool has_head,
                                       const double *at) {
  const lane_sum<V> sum(at);
  if (r > 0 || !has_head) {
    lane_store<FOLLOWS>(c, f, row + r, column, sum.of, sums);
    return;
  }
#pragma unroll
  for (int v = 0; v < V; v++)
    if (column + v < c.columns) a.head[w * c.columns + column + v] = sum.of[v];
}

/* Writes rows of chunk w, of which this lane has `first`, `first + step`, ..., with what follows. It reads what AHEAD of them
 * need at a time: waiting for each row took a quarter of the multiply. of_chunk: the lane's columns of the sums. */
template <wr_many_follows FOLLOWS, int V, typename T>
static __device__ inline void lane_put_rows(const lane_many_args<T> &a, const wr_many<T> &c, const wr_many_follow<T> &f,
                                            double *sums, int64_t w, int64_t row, int first, int step, int rows,
                                            const lane_group &g, bool has_head, const double *of_chunk) {
  constexpr int AHEAD = 4;
  if constexpr (FOLLOWS == WR_FOLLOWS_NOTHING) {
    for (int r = first; r < rows; r += step)
      lane_put<FOLLOWS, V>(a, c, f, sums, w, row, r, g.column, has_head, of_chunk + r * g.width);
  } else {
    double sum[wr_follow_sums<FOLLOWS>][V] = {};
    if (first == 0 && has_head && rows > 0) {
      lane_put<FOLLOWS, V>(a, c, f, sums, w, row, 0, g.column, true, of_chunk);
      first += step;
    }
#pragma unroll 1
    for (; first < rows; first += AHEAD * step) {
      wr_many_ahead<T, V> ahead[AHEAD];
#pragma unroll
      for (int k = 0; k < AHEAD; k++)
        if (first + k * step < rows) wr_many_look_ahead<FOLLOWS>(c, f, row + first + k * step, g.column, ahead[k]);
#pragma unroll
      for (int k = 0; k < AHEAD; k++) {
        int r = first + k * step;
        if (r < rows)
          wr_many_finish<FOLLOWS>(c, f, row + r, g.column, ahead[k], lane_sum<V>(of_chunk + r * g.width).of, sum);
      }
    }
    lane_add_sums(sum, sums);
  }
}

template <typename T, bool VALUED, lane_columns COLUMNS, int V, wr_many_follows FOLLOWS>
__global__ void __launch_bounds__(MANY_THREADS, MANY_BLOCKS)
    lane_csr_many(WR_KERNEL_PARAMETER lane_many_args<T> a, WR_KERNEL_PARAMETER wr_many<T> c,
                  WR_KERNEL_PARAMETER wr_many_follow<T> follow) {
  WR_SHARED_DYNAMIC(double, all_sums); /* [MANY_WARPS][ROOM], then [SUMS * V][MANY_THREADS] */
  const wr_lane_csr &f = a.format;
  int lane = threadIdx.x % WR_WARP, group = lane / c.each;
  const lane_group g = {group * c.each, lane % c.each * V, c.each * V};
  const unsigned leaders = 0xFFFFFFFFu / ((1u << c.each) - 1), members = ((1u << c.each) - 1) << g.leader;
  const bool used = g.column < c.columns;
  double *sums = all_sums + threadIdx.x / WR_WARP * ROOM + g.column; /* the lane's columns */
  const T *x = c.x + (used ? g.column : 0);
  const uint32_t stride = (uint32_t)(c.ldx * (int64_t)sizeof(T));
  double *of_thread = all_sums + MANY_WARPS * ROOM + threadIdx.x;
  constexpr int SUMS = wr_follow_sums<FOLLOWS>;
  for (int s = 0; s < SUMS * V; s++) of_thread[s * MANY_THREADS] = 0;
  wr_let_next_begin();
  lane_rounds at = lane_begin<lane_turn<COLUMNS>>(f.chunks);
  int next = lane_chunk(f, at.p);
  lane_codes<COLUMNS> codes;
  lane_ahead(f, next, codes);
  wr_wait_for_earlier();
  while (at.p < f.chunks) {
    const int64_t w = next;
    const uint32_t begin = __ldg(f.row + w), after = __ldg(f.row + w + 1), end = codes.end;
    lane_advance<lane_turn<COLUMNS>>(at);
    next = lane_chunk(f, at.p);
    int64_t row = begin & ~WR_LANE_OPEN;
    T value[EACH];
    int32_t code[EACH];
    if constexpr (VALUED) lane_load_values(f, (int)w, value);
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
      lane_walk_group<FOLLOWS>(k, g, c, follow, of_thread, row + own);
    } else {
      lane_walk<VALUED, false, V, T> k = {x, stride, end, code, value, g.width, 0, first, open};
      lane_walk_group<FOLLOWS>(k, g, c, follow, of_thread, row + own);
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
      if (ends && used) lane_put<FOLLOWS, V>(a, c, follow, of_thread, w, row, own, g.column, has_head, first);
    } else {
      __syncwarp();
      if (__ballot_sync((unsigned)WR_FULL_MASK, padding != 0)) {
        lane_clear_empty(padding, end, g.width, sums - g.column);
        __syncwarp();
      }
      if (used)
        lane_put_rows<FOLLOWS, V>(a, c, follow, of_thread, w, row, group, WR_WARP / c.each, rows, g, has_head, sums);
    }
    __syncwarp();
  }
  if constexpr (FOLLOWS != WR_FOLLOWS_NOTHING) {
    double sum[SUMS][V];
#pragma unroll
    for (int s = 0; s < SUMS * V; s++) sum[s / V][s % V] = of_thread[s * MANY_THREADS];
    wr_many_sums_leave<MANY_THREADS>(c.each, sum, follow.partial, follow.parts, blockIdx.x);
  }
}

/* Completes the rows that several chunks share, a thread for each of their columns: that of the chunk in which the row ends.
 * width: a power of two, at least the number of columns. part: that of the first block. */
template <typename T, wr_many_follows FOLLOWS>
__global__ void __launch_bounds__(LAST_THREADS)
    lane_csr_many_last(WR_KERNEL_PARAMETER lane_many_args<T> a, WR_KERNEL_PARAMETER wr_many<T> c,
                       WR_KERNEL_PARAMETER wr_many_follow<T> follow, int width, unsigned part) {
  wr_begin_kernel();
  const wr_lane_csr &f = a.format;
  int lane = threadIdx.x % WR_WARP, column = lane % width;
  int64_t all = f.chunks * width, threads = (int64_t)gridDim.x * LAST_THREADS;
  double follows[wr_follow_sums<FOLLOWS> + (FOLLOWS == WR_FOLLOWS_NOTHING)][1] = {};
  for (int64_t k = (int64_t)blockIdx.x * LAST_THREADS + threadIdx.x - lane; k < all; k += threads) {
    int64_t w = column < c.columns ? (k + lane) / width : f.chunks, from = w;
    uint32_t begin = w < f.chunks ? f.row[w] : 0, after = w < f.chunks ? f.row[w + 1] : 0;
    bool ends = (begin & WR_LANE_OPEN) && (after & ~WR_LANE_OPEN) > (begin & ~WR_LANE_OPEN);
    if (ends) from = f.origin[w];
    double sum[1] = {wr_parts_sum(a.tail + column, c.columns, from, w)};
    if (!ends) continue;
    sum[0] += a.head[w * c.columns + column];
    wr_many<T> one = c;
    one.whole = 0;
    if constexpr (FOLLOWS == WR_FOLLOWS_NOTHING) {
      wr_many_store(one, begin & ~WR_LANE_OPEN, column, sum);
    } else {
      wr_many_ahead<T, 1> ahead;
      wr_many_look_ahead<FOLLOWS>(c, follow, begin & ~WR_LANE_OPEN, column, ahead);
      wr_many_finish<FOLLOWS>(c, follow, begin & ~WR_LANE_OPEN, column, ahead, sum, follows);
    }
  }
  if constexpr (FOLLOWS != WR_FOLLOWS_NOTHING)
    wr_many_sums_leave<LAST_THREADS>(width, follows, follow.partial, follow.parts, part + blockIdx.x);
}

template <wr_many_follows FOLLOWS, bool VALUED, int V, typename T>
static wr_status launch_both(wr_env *env, const wr_lane_plan *p, const wr_many<T> &c, const wr_apply_many *r) {
  const wr_lane_csr &f = p->format;
  lane_many_args<T> a = {f, p->many_head, p->many_tail};
  wr_many_follow<T> follow;
  int width = c.each * V;
  unsigned grid = wr_cuda_grid(env, (f.chunks + MANY_WARPS - 1) / MANY_WARPS, MANY_BLOCKS);
  unsigned last = wr_cuda_grid(env, (f.chunks * width + LAST_THREADS - 1) / LAST_THREADS, LAST_BLOCKS);
  auto many = f.low ? lane_csr_many<T, VALUED, WINDOWS, V, FOLLOWS> : lane_csr_many<T, VALUED, FULL, V, FOLLOWS>;
  if constexpr (FOLLOWS == WR_FOLLOWS_NOTHING)
    if (f.hubs) many = lane_csr_many<T, VALUED, HUBS, V, FOLLOWS>;
  constexpr int BYTES = (MANY_WARPS * ROOM + wr_follow_sums<FOLLOWS> * V * MANY_THREADS) * (int)sizeof(double);
  PASS(wr_many_follow_begin(env, r, FOLLOWS, grid + last, &follow));
  PASS(WR_CUDA(cudaFuncSetAttribute(many, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES)));
  PASS(WR_LAUNCH_EARLY(env, (many), grid, MANY_THREADS, BYTES, a, c, follow));
  PASS(WR_LAUNCH_EARLY(env, (lane_csr_many_last<T, FOLLOWS>), last, LAST_THREADS, 0, a, c, follow, width, grid));
  return wr_many_follow_end(env, r, FOLLOWS, follow);
}

/* What follows has kernels where it occurs and pays: in f64, sums with values and PageRank's steps without, for full loads and
 * without hubs (docs/lane_csr.md). */
template <int V, typename T>
static wr_status launch(wr_env *env, const wr_lane_plan *p, const wr_many<T> &c, const wr_apply_many *r) {
  if constexpr (sizeof(T) == sizeof(double) && V * sizeof(T) == WR_PACK_BYTES) {
    wr_many_follows follows = p->format.hubs ? WR_FOLLOWS_NOTHING : wr_many_follows_of(r, c);
    if (follows == WR_FOLLOWS_SUMS && p->format.value_bytes) return launch_both<WR_FOLLOWS_SUMS, true, V>(env, p, c, r);
    if (follows == WR_FOLLOWS_RANKS && !p->format.value_bytes)
      return launch_both<WR_FOLLOWS_RANKS, false, V>(env, p, c, r);
  }
  return p->format.value_bytes ? launch_both<WR_FOLLOWS_NOTHING, true, V>(env, p, c, r)
                               : launch_both<WR_FOLLOWS_NOTHING, false, V>(env, p, c, r);
}

template <typename T>
static wr_status choose(wr_env *env, const wr_lane_plan *p, const wr_apply_many *r) {
  return wr_many_dispatch<T>(r,
                             [=](const auto &c, auto width) { return launch<decltype(width)::value>(env, p, c, r); });
}

extern "C" wr_status wr_lane_csr_many_launch(wr_env *env, const wr_lane_plan *p, const wr_apply_many *r) {
  if (r->ldx > (int64_t)(UINT32_MAX / sizeof(double)))
    return wr_fail(WR_EUSAGE, "x has rows of %lld elements; lane_csr takes up to 2^29 - 1", (long long)r->ldx);
  PASS(wr_cuda_enter(env));
  return env->type == WR_F32 ? choose<float>(env, p, r) : choose<double>(env, p, r);
}
