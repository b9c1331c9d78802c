/* What a multiply needs besides the format: the rows that thread blocks share, and whether columns are scattered. */
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/warp.cuh"
#include "spmv/backends/merbit/merbit_build.h"
#include "spmv/backends/merbit/merbit_kernel.h"

constexpr int THREADS = 256, BLOCKS = 8; /* blocks: of a launch, for each multiprocessor */

static __device__ inline int64_t row_before(const wr_merbit_format &f, int64_t block) {
  int64_t tile = block * WR_MERBIT_WARPS;
  return f.tile_y[tile < f.tiles ? tile : f.tiles] & ~WR_MERBIT_LONG_ROW;
}

/* Fills origin and row. At a block's start, the row that ends next is open if its first step lies in an earlier block; at the
 * end of the path no row is open. P: int32_t or int64_t, of row_ptr. */
template <typename P>
__global__ void merbit_origins(const wr_merbit_format f, const P *row_ptr, int64_t blocks, int32_t *origin,
                               int32_t *row) {
  int64_t stride = (int64_t)gridDim.x * blockDim.x, steps = (int64_t)WR_MERBIT_WARPS * WR_MERBIT_LANES * f.sigma;
  for (int64_t b = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; b <= blocks; b += stride) {
    int64_t i = row_before(f, b), from = b;
    if (b < blocks && i < f.nrows) from = (row_ptr[i] + i) / steps; /* the row's first step */
    origin[b] = (int32_t)(from < b ? from : b);
    if (b < blocks) row[b] = from < b && row_before(f, b + 1) > i ? (int32_t)i : -1;
  }
}

template <typename T>
__global__ void merbit_clear(int64_t blocks, const int32_t *row, T *y) {
  int64_t stride = (int64_t)gridDim.x * blockDim.x;
  for (int64_t b = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; b < blocks; b += stride)
    if (row[b] >= 0) y[row[b]] = 0;
}

static unsigned grid_for(const wr_env *env, int64_t threads) {
  return wr_cuda_grid(env, (threads + THREADS - 1) / THREADS, BLOCKS);
}

int64_t wr_merbit_blocks(const wr_merbit_format *shape) {
  return (shape->tiles + WR_MERBIT_WARPS - 1) / WR_MERBIT_WARPS;
}

/* One allocation for all arrays, because an allocation takes longer than the kernels for a small format. */
static wr_status allocate(wr_env *env, wr_merbit_plan *p) {
  int64_t parts = wr_device_bytes(p->blocks, sizeof *p->head), rows = wr_device_bytes(p->blocks, sizeof *p->row);
  int64_t origins = wr_device_bytes(p->blocks + 1, sizeof *p->origin);
  char *memory = NULL;
  PASS(wr_device_alloc(env, &memory, wr_merbit_plan_bytes(p), 1, "tiles and shared rows"));
  wr_merbit_device_place(&p->format, memory);
  memory += wr_merbit_device_bytes(&p->format);
  p->head = (double *)(void *)memory;
  p->tail = (double *)(void *)(memory + parts);
  p->row = (int32_t *)(void *)(memory + 2 * parts);
  p->origin = (int32_t *)(void *)(memory + 2 * parts + rows);
  memory += 2 * parts + rows + origins;
  p->many_head = (double *)(void *)memory;
  p->many_tail = (double *)(void *)(memory + wr_device_bytes(p->blocks * p->columns, sizeof *p->many_head));
  return WR_OK;
}

static wr_status find_origins(wr_env *env, const wr_merbit_plan *p) {
  unsigned grid = grid_for(env, p->blocks + 1);
  if (p->view.wide)
    return WR_LAUNCH((merbit_origins<int64_t>), grid, THREADS, 0, env->stream, p->format,
                     (const int64_t *)p->view.row_ptr, p->blocks, p->origin, p->row);
  return WR_LAUNCH((merbit_origins<int32_t>), grid, THREADS, 0, env->stream, p->format,
                   (const int32_t *)p->view.row_ptr, p->blocks, p->origin, p->row);
}

extern "C" wr_status wr_merbit_plan_open(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz, int sigma,
                                         wr_merbit_plan *p) {
  wr_workspace workspace;
  PASS(wr_cuda_enter(env));
  PASS(wr_merbit_check(nrows, ncols, nnz, sigma, p->view.wide));
  p->format = wr_merbit_shape(nrows, ncols, nnz, sigma);
  p->format.wide = p->view.wide != 0;
  p->blocks = wr_merbit_blocks(&p->format);
  p->columns = env->need_columns;
  PASS(allocate(env, p));
  PASS(wr_merbit_device_fill(env, &p->format, &p->view));
  PASS(find_origins(env, p));
  return wr_workspace_reserve(env, p->blocks + WR_MERBIT_LAST_BLOCKS * wr_cuda_processors(env), &workspace);
}

extern "C" void wr_merbit_plan_close(wr_env *env, wr_merbit_plan *p) {
  wr_merbit_device_free(env, &p->format); /* all arrays are in this allocation */
}

extern "C" int64_t wr_merbit_plan_bytes(const wr_merbit_plan *p) {
  return wr_merbit_device_bytes(&p->format) + wr_device_bytes(p->blocks + 1, sizeof *p->origin) +
         wr_device_bytes(p->blocks, sizeof *p->row) + wr_device_bytes(p->blocks, sizeof *p->head) +
         wr_device_bytes(p->blocks, sizeof *p->tail) +
         (p->columns ? 2 * wr_device_bytes(p->blocks * p->columns, sizeof *p->many_head) : 0);
}

/* If parts are added to y, its shared rows have to be 0 first; the last multiply has cleared them, or this does. */
static wr_status clear(wr_env *env, const wr_merbit_plan *p, const wr_apply_args *args) {
  const wr_vec *y = args->request.y;
  unsigned grid = grid_for(env, p->blocks);
  if (args->request.beta != 0 || p->commit == WR_MERBIT_ORDERED) return WR_OK;
  if (p->commit == WR_MERBIT_CLEAR)
    return WR_CUDA(cudaMemsetAsync(y->data, 0, (size_t)(y->n * wr_type_bytes(y->type)), (cudaStream_t)env->stream));
  if (args->y_prepared) return WR_OK;
  if (y->type == WR_F32)
    return WR_LAUNCH((merbit_clear<float>), grid, THREADS, 0, env->stream, p->blocks, p->row, (float *)y->data);
  return WR_LAUNCH((merbit_clear<double>), grid, THREADS, 0, env->stream, p->blocks, p->row, (double *)y->data);
}

extern "C" wr_status wr_merbit_launch(wr_env *env, const wr_merbit_plan *plan, const wr_apply_args *args) {
  PASS(wr_cuda_enter(env));
  PASS(clear(env, plan, args));
  return env->type == WR_F32 ? wr_merbit_launch_f32(env, plan, &args->request)
                             : wr_merbit_launch_f64(env, plan, &args->request);
}

/* ---- Scattered columns ---- */

constexpr int WINDOW = 1024, WINDOWS = 512, HASH_BITS = 15, CACHE_BYTES = 192 << 10;

/* *lines += the distinct lines of x that a window reads, one window for each block. Each line sets a bit of a hash table of
 * 32 bits for each entry; two lines that share a bit count once, which is rare. line_shift: log2 of the columns of a line. */
__global__ void __launch_bounds__(THREADS)
    merbit_lines(const int32_t *col, int64_t nnz, int line_shift, unsigned long long *lines) {
  WR_SHARED(unsigned, bits, 1 << (HASH_BITS - 5));
  int64_t from = (nnz - WINDOW) / (gridDim.x > 1 ? gridDim.x - 1 : 1) * blockIdx.x;
  unsigned found = 0;
  for (int w = threadIdx.x; w < 1 << (HASH_BITS - 5); w += THREADS) bits[w] = 0;
  __syncthreads();
  for (int k = threadIdx.x; k < WINDOW; k += THREADS) {
    unsigned hash = ((unsigned)col[from + k] >> line_shift) * 0x9E3779B1u >> (32 - HASH_BITS);
    found += !(atomicOr(&bits[hash / 32], 1u << hash % 32) >> hash % 32 & 1);
  }
  for (int distance = WR_WARP / 2; distance > 0; distance /= 2)
    found += __shfl_xor_sync((unsigned)WR_FULL_MASK, found, distance);
  if (threadIdx.x % WR_WARP == 0) atomicAdd(lines, (unsigned long long)found);
}

extern "C" wr_status wr_merbit_scatter(wr_env *env, const wr_csr_view *view, int64_t ncols, int64_t nnz,
                                       double *share) {
  unsigned long long *lines; /* in the workspace, as an allocation would take longer than the count */
  wr_workspace workspace;
  int64_t windows = nnz / WINDOW < WINDOWS ? nnz / WINDOW : WINDOWS;
  uint64_t found;
  *share = 0;
  if (windows == 0 || ncols * wr_type_bytes(env->type) <= CACHE_BYTES) return WR_OK;
  PASS(wr_workspace_reserve(env, 1, &workspace));
  lines = (unsigned long long *)(void *)workspace.partial;
  PASS(WR_CUDA(cudaMemsetAsync(lines, 0, sizeof *lines, (cudaStream_t)env->stream)));
  PASS(WR_LAUNCH((merbit_lines), (unsigned)windows, THREADS, 0, env->stream, view->col, nnz,
                 env->type == WR_F32 ? 5 : 4, lines));
  PASS(wr_device_download(env, &found, lines, 1, WR_AS_8_BYTES));
  *share = (double)found / ((double)windows * WINDOW);
  return WR_OK;
}
