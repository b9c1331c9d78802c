#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/kernel/finish.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/warp.cuh"
#include "spmv/merbit/merbit_build.h"
#include "spmv/merbit/merbit_kernel.h"

constexpr int WARPS = WR_MERBIT_WARPS, THREADS = WARPS * WR_WARP;
constexpr int SHARED_WARPS = 8, SHARED_THREADS = SHARED_WARPS * WR_WARP, SHARED_BLOCKS = 132 * 8;

/* P: int32_t or int64_t, of tile_x and row_ptr; W: uint32_t or uint64_t, a lane's word. */
template <typename T, typename P, typename W, bool PATTERN>
struct merbit_args {
  int64_t tiles, blocks;
  int sigma;
  const P *tile_x;        /* [tiles + 1]     */
  const uint32_t *tile_y; /* [tiles + 1]     */
  const W *lane;          /* [tiles][32]     */
  const int32_t *col;     /* [nnz]           */
  const T *val;           /* [nnz]           */
  const T *x;             /* [ncols]         */
  T *y;                   /* [nrows]         */
  double alpha, beta;
  const int32_t *origin;  /* [blocks], and so are head and tail */
  double *head, *tail;
};

/* The part of the path that a thread block or a warp has: entries x0..x1, rows that end in it y0..y1. */
struct stretch {
  int64_t x0, x1, y0, y1;
};

template <typename A>
static __device__ inline stretch stretch_of(const A &a, int64_t tile, int64_t end) {
  return {(int64_t)a.tile_x[tile], (int64_t)a.tile_x[end], (int64_t)(a.tile_y[tile] & ~WR_MERBIT_LONG_ROW),
          (int64_t)(a.tile_y[end] & ~WR_MERBIT_LONG_ROW)};
}

template <typename T, typename P, typename W, bool PATTERN>
static __device__ inline double product(const merbit_args<T, P, W, PATTERN> &a, int64_t k) {
  double value = PATTERN ? 1 : (double)a.val[k];
  return value * (double)a.x[a.col[k]];
}

/* A lane's steps: what it adds up before its first step down goes to `head`, what after its last is returned; rows between
 * are whole and go to sums. Steps behind the end find no product. */
static __device__ inline double walk(uint64_t flags, int sigma, const double *product, const double *end, double *sums,
                                     double *head) {
  double sum = 0;
  bool first = true;
  for (int s = 0; s < sigma; s++) {
    if (flags >> s & 1) {
      *(first ? head : sums) = sum;
      first = false;
      sums++;
      sum = 0;
    } else if (product < end) {
      sum += *product++;
    }
  }
  return sum;
}

/* Sums over lanes up to the caller's, from the last lane on that has ended a row: section 4.2, without metadata. */
static __device__ inline double scan_open(double open, bool ends) {
  int lane = threadIdx.x % WR_WARP;
  for (int distance = 1; distance < WR_WARP; distance *= 2) {
    double before = __shfl_up_sync((unsigned)WR_FULL_MASK, open, (unsigned)distance);
    bool ended = __shfl_up_sync((unsigned)WR_FULL_MASK, (int)ends, (unsigned)distance) != 0;
    if (lane < distance) continue;
    if (!ends) open = before + open;
    ends = ends || ended;
  }
  return open;
}

/* One tile by one warp, in the block whose stretch is given. Returns, to all lanes, the sum of the row that is open at
 * its end. products and sums are the block's. */
template <typename T, typename P, typename W, bool PATTERN>
static __device__ inline double run_tile(const merbit_args<T, P, W, PATTERN> &a, int64_t tile, const stretch &block,
                                         double *products, double *sums) {
  int lane = threadIdx.x % WR_WARP;
  stretch at = stretch_of(a, tile, tile + 1);
  if (a.tile_y[tile] & WR_MERBIT_LONG_ROW) { /* one row, that does not end */
    double sum = 0;
    for (int64_t k = at.x0 + lane; k < at.x1; k += WR_WARP) sum += product(a, k);
    return wr_warp_sum(sum);
  }
  double *ended = sums + (at.y0 - block.y0), *staged = products + (at.x0 - block.x0);
  if (at.x0 == at.x1) { /* rows without entries */
    for (int64_t r = lane; r < at.y1 - at.y0; r += WR_WARP) ended[r] = 0;
    return 0;
  }
  for (int64_t k = at.x0 + lane; k < at.x1; k += WR_WARP) staged[k - at.x0] = product(a, k);
  __syncwarp();
  uint64_t word = a.lane[tile * WR_WARP + lane], flags = wr_merbit_flags(word, a.sigma);
  int row = wr_merbit_y(word, a.sigma), entry = lane * a.sigma - row;
  double head = 0, *mine = ended + row;
  double open = scan_open(walk(flags, a.sigma, staged + entry, staged + (at.x1 - at.x0), mine, &head), flags != 0);
  double before = __shfl_up_sync((unsigned)WR_FULL_MASK, open, 1u);
  if (flags != 0) mine[0] = lane == 0 ? head : before + head;
  return __shfl_sync((unsigned)WR_FULL_MASK, open, WR_WARP - 1);
}

/* Adds what the tiles have left open to the rows that end in the block; returns what the block leaves open. One thread. */
template <typename A>
static __device__ inline double join_tiles(const A &a, int64_t tile, int64_t end, const stretch &block,
                                           const double *open, double *sums) {
  double tail = 0;
  for (int w = 0; tile + w < end; w++) {
    int64_t row = a.tile_y[tile + w + 1] & ~WR_MERBIT_LONG_ROW;
    if (row < block.y1)
      sums[row - block.y0] = open[w] + sums[row - block.y0];
    else
      tail += open[w];
  }
  return tail;
}

/* y = alpha*A*x + beta*y for the rows that lie in one block's part of the path (section 4.2, algorithm 3): a warp a tile.
 * Columns and values are read 32 neighbours at a time, products and sums go through shared memory, y is written in order.
 * Shared rows leave their parts in head and tail. */
template <typename T, typename P, typename W, bool PATTERN>
__global__ void __launch_bounds__(THREADS) merbit(const merbit_args<T, P, W, PATTERN> a, const wr_finish<T> finish) {
  WR_SHARED_DYNAMIC(double, products); /* [entries of the block], then [rows that end in it] */
  WR_SHARED(double, open, WARPS);
  int warp = threadIdx.x / WR_WARP;
  int64_t tile = (int64_t)blockIdx.x * WARPS, end = tile + WARPS < a.tiles ? tile + WARPS : a.tiles;
  stretch block = stretch_of(a, tile, end);
  double *sums = products + (block.x1 - block.x0), reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  double shift = wr_finish_shift(finish);
  bool is_shared = a.origin[blockIdx.x] != (int32_t)blockIdx.x;
  if (tile + warp < end) {
    double sum = run_tile(a, tile + warp, block, products, sums);
    if (threadIdx.x % WR_WARP == 0) open[warp] = sum;
  }
  __syncthreads();
  if (threadIdx.x == 0) a.tail[blockIdx.x] = join_tiles(a, tile, end, block, open, sums);
  __syncthreads();
  for (int64_t r = threadIdx.x; r < block.y1 - block.y0; r += THREADS) {
    int64_t i = block.y0 + r;
    if (r == 0 && is_shared)
      a.head[blockIdx.x] = sums[0];
    else
      wr_finish_row(finish, shift, i, wr_finish_beta(a.alpha, a.beta, a.y, i, sums[r]), a.y, reduced);
  }
  wr_sums_finish(finish.sums, reduced);
}

/* The shared rows: a warp each adds up its parts, in the order of the blocks, and completes it. */
template <typename T, typename P, typename W, bool PATTERN>
__global__ void __launch_bounds__(SHARED_THREADS)
    merbit_shared(const merbit_args<T, P, W, PATTERN> a, const wr_finish<T> finish) {
  int lane = threadIdx.x % WR_WARP;
  int64_t warp = (int64_t)blockIdx.x * SHARED_WARPS + threadIdx.x / WR_WARP, warps = (int64_t)gridDim.x * SHARED_WARPS;
  double shift = wr_finish_shift(finish), reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  for (int64_t b = warp; b < a.blocks; b += warps) {
    int64_t from = a.origin[b];
    if (from == b) continue;
    double sum = 0;
    for (int64_t k = from + lane; k < b; k += WR_WARP) sum += a.tail[k];
    sum = wr_warp_sum(sum) + a.head[b];
    int64_t i = a.tile_y[b * WARPS] & ~WR_MERBIT_LONG_ROW;
    if (lane == 0) wr_finish_row(finish, shift, i, wr_finish_beta(a.alpha, a.beta, a.y, i, sum), a.y, reduced);
  }
  wr_sums_finish(finish.sums, reduced);
}

/* origin[b] for all blocks. */
template <typename P>
__global__ void merbit_origins(const wr_merbit_format f, const P *row_ptr, int64_t blocks, int32_t *origin) {
  for (int64_t b = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; b < blocks; b += (int64_t)gridDim.x * blockDim.x) {
    int64_t tile = b * WARPS, end = tile + WARPS < f.tiles ? tile + WARPS : f.tiles;
    int64_t row = f.tile_y[tile] & ~WR_MERBIT_LONG_ROW, ended = f.tile_y[end] & ~WR_MERBIT_LONG_ROW;
    int64_t step = row < ended ? row_ptr[row] + row : 0; /* the row's first */
    int64_t first = step / ((int64_t)THREADS * f.sigma);
    origin[b] = (int32_t)(row < ended && first < b ? first : b);
  }
}

int64_t wr_merbit_blocks(const wr_merbit_format *shape) { return (shape->tiles + WARPS - 1) / WARPS; }

static wr_status find_origins(wr_env *env, wr_merbit_plan *p) {
  unsigned grid =
      (unsigned)(p->blocks < SHARED_BLOCKS * SHARED_THREADS ? (p->blocks + SHARED_THREADS - 1) / SHARED_THREADS
                                                            : SHARED_BLOCKS);
  if (p->view.wide)
    return WR_LAUNCH((merbit_origins<int64_t>), grid, SHARED_THREADS, 0, env->stream, p->format,
                     (const int64_t *)p->view.row_ptr, p->blocks, p->origin);
  return WR_LAUNCH((merbit_origins<int32_t>), grid, SHARED_THREADS, 0, env->stream, p->format,
                   (const int32_t *)p->view.row_ptr, p->blocks, p->origin);
}

extern "C" wr_status wr_merbit_plan_open(wr_env *env, wr_merbit_plan *p) {
  wr_status status;
  wr_workspace workspace;
  p->blocks = wr_merbit_blocks(&p->format);
  TRY(wr_device_alloc(env, &p->origin, p->blocks, sizeof *p->origin, "where shared rows begin"));
  TRY(wr_device_alloc_zeroed(env, &p->head, p->blocks, sizeof *p->head, "parts of shared rows"));
  TRY(wr_device_alloc_zeroed(env, &p->tail, p->blocks, sizeof *p->tail, "parts of shared rows"));
  TRY(wr_device_alloc_zeroed(env, &p->sums, WR_MAX_REDUCTIONS, sizeof *p->sums, "sums over rows"));
  TRY(wr_workspace_reserve(env, p->blocks > SHARED_BLOCKS ? p->blocks : SHARED_BLOCKS, &workspace));
  TRY(find_origins(env, p));
done:
  return status;
}

extern "C" void wr_merbit_plan_close(wr_env *env, wr_merbit_plan *p) {
  wr_merbit_device_free(env->device, &p->format);
  wr_device_free(env->device, p->origin);
  wr_device_free(env->device, p->head);
  wr_device_free(env->device, p->tail);
  wr_device_free(env->device, p->sums);
}

template <typename T, typename P, typename W, bool PATTERN>
static merbit_args<T, P, W, PATTERN> make_args(const wr_merbit_plan *p, const wr_apply *request) {
  merbit_args<T, P, W, PATTERN> a = {};
  a.tiles = p->format.tiles, a.blocks = p->blocks, a.sigma = p->format.sigma;
  a.tile_x = (const P *)p->format.tile_x, a.tile_y = p->format.tile_y, a.lane = (const W *)p->format.lane;
  a.col = p->view.col, a.val = (const T *)p->view.val;
  a.x = (const T *)request->x->data, a.y = (T *)request->y->data;
  a.alpha = request->alpha, a.beta = request->beta;
  a.origin = p->origin, a.head = p->head, a.tail = p->tail;
  return a;
}

/* The first launch leaves its reductions in sums, the second adds them to its own. */
template <typename T, typename P, typename W, bool PATTERN>
static wr_status launch(wr_env *env, const wr_merbit_plan *p, const wr_apply *request) {
  wr_status status;
  merbit_args<T, P, W, PATTERN> a = make_args<T, P, W, PATTERN>(p, request);
  wr_finish<T> last = wr_finish_make<T>(request->epilogue, &((wr_cuda_state *)env->state)->workspace), first = last;
  size_t shared = (size_t)THREADS * (size_t)a.sigma * sizeof(double);
  int64_t wanted = (a.blocks + SHARED_WARPS - 1) / SHARED_WARPS;
  unsigned grid = (unsigned)(wanted < SHARED_BLOCKS ? wanted : SHARED_BLOCKS);
  for (int r = 0; r < last.sums.count; r++) first.sums.into[r] = p->sums + r, last.sums.before[r] = p->sums + r;
  TRY(WR_LAUNCH((merbit<T, P, W, PATTERN>), (unsigned)a.blocks, THREADS, shared, env->stream, a, first));
  TRY(WR_LAUNCH((merbit_shared<T, P, W, PATTERN>), grid, SHARED_THREADS, 0, env->stream, a, last));
done:
  return status;
}

template <typename T, typename P, bool PATTERN>
static wr_status launch_words(wr_env *env, const wr_merbit_plan *p, const wr_apply *request) {
  return wr_merbit_lane_bytes(p->format.sigma) == 4 ? launch<T, P, uint32_t, PATTERN>(env, p, request)
                                                    : launch<T, P, uint64_t, PATTERN>(env, p, request);
}

template <typename T>
static wr_status launch_type(wr_env *env, const wr_merbit_plan *p, const wr_apply *request) {
  if (p->format.wide)
    return p->view.val ? launch_words<T, int64_t, false>(env, p, request)
                       : launch_words<T, int64_t, true>(env, p, request);
  return p->view.val ? launch_words<T, int32_t, false>(env, p, request)
                     : launch_words<T, int32_t, true>(env, p, request);
}

extern "C" wr_status wr_merbit_launch(wr_env *env, const wr_merbit_plan *plan, const wr_apply *request) {
  wr_status status = wr_cuda_enter(env);
  if (status != WR_OK) return status;
  return env->type == WR_F32 ? launch_type<float>(env, plan, request) : launch_type<double>(env, plan, request);
}
