/* Finds the block rows that thread blocks share, on the device, and launches the multiply (cb_spmv_plan.h). */
#include "spmv/backends/cb_spmv/cb_spmv_plan.h"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/kernel/launch.cuh"

constexpr int THREADS = 256, BLOCKS = 16; /* blocks: of a launch, for each multiprocessor */

static unsigned grid_for(const wr_env *env, int64_t threads) {
  return wr_cuda_grid(env, (threads + THREADS - 1) / THREADS, BLOCKS);
}

extern "C" unsigned wr_cb_last_grid(const wr_env *env, const wr_cb_plan *p) {
  return grid_for(env, p->grid * WR_CB_SIDE);
}

/* Blocks before thread block c. */
static __device__ inline int64_t blocks_before(const wr_cb_format &f, int64_t c) {
  return wr_cb_get(f.list_block, f.wide, c * WR_CB_TEAM);
}

/* The first of blocks low..high - 1 in block row `row` or after it; high: none is. */
static __device__ inline int64_t first_block(const wr_cb_format &f, int64_t row, int64_t low, int64_t high) {
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (wr_cb_row(f.block[middle]) < row)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The thread block, at most c, that works on block k. */
static __device__ inline int64_t thread_block_of(const wr_cb_format &f, int64_t k, int64_t c) {
  int64_t low = 0, high = c;
  while (low < high) {
    int64_t middle = low + (high - low + 1) / 2;
    if (blocks_before(f, middle) <= k)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* Fills origin. found[0] := block rows that end in another thread block than they begin in; found[1] := the greatest distance
 * between the two. */
__global__ void __launch_bounds__(THREADS) cb_origins(WR_KERNEL_PARAMETER wr_cb_plan p, unsigned long long *found) {
  const wr_cb_format &f = p.format;
  int64_t stride = (int64_t)gridDim.x * THREADS;
  for (int64_t c = (int64_t)blockIdx.x * THREADS + threadIdx.x; c <= p.grid; c += stride) {
    int64_t k = blocks_before(f, c), row = f.list_row[c * WR_CB_TEAM], from = c;
    bool is_open = k > 0 && row < f.brows && wr_cb_row(f.block[k - 1]) == row;
    if (is_open) from = thread_block_of(f, first_block(f, row, 0, f.blocks), c);
    p.origin[c] = (int32_t)from;
    if (from == c || f.list_row[(c + 1) * WR_CB_TEAM] == row) continue; /* so c < grid, as no row is open at the end */
    atomicAdd(&found[0], 1ull);
    atomicMax(&found[1], (unsigned long long)(c - from));
  }
}

/* Fills start. */
__global__ void __launch_bounds__(THREADS) cb_starts(WR_KERNEL_PARAMETER wr_cb_plan p) {
  const wr_cb_format &f = p.format;
  int64_t stride = (int64_t)gridDim.x * THREADS, x = f.type == WR_F32 ? 4 : 8; /* units of a block's x */
  for (int64_t w = (int64_t)blockIdx.x * THREADS + threadIdx.x; w < f.lists; w += stride) {
    int64_t k = wr_cb_get(f.list_block, f.wide, w), to = wr_cb_get(f.list_block, f.wide, w + 1), n = 0, units = 0;
    int32_t row = f.list_row[w], last = f.list_row[w + 1];
    int64_t offset = wr_cb_get(f.offset, f.wide, k);
    for (; n < WR_CB_STAGE_BLOCKS && k + n < to; n++) {
      int64_t more = wr_cb_get(f.offset, f.wide, k + n + 1) - offset;
      if (more + (n + 1) * x > p.stage) break;
      units = more;
    }
    bool has_head = k > 0 && last > row && wr_cb_row(f.block[k - 1]) == row;
    p.start[w] = {k, offset, (int32_t)(to - k), row, last, (int16_t)units, (int8_t)n, (int8_t)has_head};
  }
}

/* y := 0 in the rows that several thread blocks share. */
template <typename T>
__global__ void __launch_bounds__(THREADS) cb_clear(WR_KERNEL_PARAMETER wr_cb_plan p, T *y) {
  int64_t stride = (int64_t)gridDim.x * THREADS;
  for (int64_t q = (int64_t)blockIdx.x * THREADS + threadIdx.x; q < p.grid * WR_CB_SIDE; q += stride) {
    int64_t c = q / WR_CB_SIDE, row = p.format.list_row[c * WR_CB_TEAM], i = row * WR_CB_SIDE + q % WR_CB_SIDE;
    if (p.origin[c] != c && p.format.list_row[(c + 1) * WR_CB_TEAM] > row && i < p.format.nrows) y[i] = 0;
  }
}

/* Points the arrays into memory, which is NULL while bytes are counted; returns the bytes. */
static int64_t lay_out(wr_cb_plan *p, void *memory) {
  char *base = (char *)memory;
  int64_t parts = wr_device_bytes(p->grid * WR_CB_SIDE, sizeof *p->head);
  int64_t starts = wr_device_bytes(p->grid * WR_CB_TEAM, sizeof *p->start);
  p->head = (double *)base;
  p->tail = base ? (double *)(base + parts) : NULL;
  p->start = base ? (wr_cb_start *)(base + 2 * parts) : NULL;
  p->origin = base ? (int32_t *)(base + 2 * parts + starts) : NULL;
  return 2 * parts + starts + wr_device_bytes(p->grid + 1, sizeof *p->origin);
}

extern "C" int64_t wr_cb_plan_bytes(const wr_cb_plan *p) {
  wr_cb_plan same = *p;
  return wr_cb_device_bytes(&p->format) + lay_out(&same, NULL);
}

extern "C" wr_status wr_cb_plan_prepare(wr_env *env, int64_t stage, int prefetch, wr_cb_plan *p) {
  wr_status status;
  wr_workspace workspace;
  void *memory = NULL;
  unsigned long long *found = NULL;
  int64_t shared[2] = {0, 0};
  p->grid = p->format.lists / WR_CB_TEAM;
  p->stage = (int)(stage / WR_CB_UNIT);
  p->prefetch = prefetch;
  TRY(env->type == WR_F32 ? wr_cb_ready_f32() : wr_cb_ready_f64());
  TRY(wr_device_alloc_zeroed(env, &memory, lay_out(p, NULL), 1, "parts of shared rows"));
  lay_out(p, memory);
  TRY(WR_LAUNCH((cb_starts), grid_for(env, p->format.lists), THREADS, 0, env->stream, *p));
  TRY(wr_device_alloc_zeroed(env, &found, 2, sizeof *found, "counts of shared rows"));
  TRY(WR_LAUNCH((cb_origins), grid_for(env, p->grid + 1), THREADS, 0, env->stream, *p, found));
  TRY(wr_device_download(env, shared, found, 2, WR_AS_8_BYTES));
  p->shared = shared[0], p->longest = shared[1];
  TRY(wr_workspace_reserve(env, p->grid + wr_cb_last_grid(env, p), &workspace));
done:
  wr_device_free(env, found);
  return status;
}

extern "C" void wr_cb_plan_free(wr_env *env, wr_cb_plan *p) {
  if (p->format.memory) wr_cb_device_free(env, &p->format);
  wr_device_free(env, p->head);
  *p = {};
}

static wr_status clear(wr_env *env, const wr_cb_plan *p, const wr_vec *y) {
  unsigned grid = wr_cb_last_grid(env, p);
  if (p->format.type == WR_F32)
    return WR_LAUNCH((cb_clear<float>), grid, THREADS, 0, env->stream, *p, (float *)y->data);
  return WR_LAUNCH((cb_clear<double>), grid, THREADS, 0, env->stream, *p, (double *)y->data);
}

extern "C" wr_status wr_cb_launch(wr_env *env, const wr_cb_plan *p, const wr_apply_args *args) {
  const wr_apply *request = &args->request;
  PASS(wr_cuda_enter(env));
  if (p->commit == WR_CB_DUAL && request->beta == 0 && !args->y_prepared && p->shared) PASS(clear(env, p, request->y));
  return p->format.type == WR_F32 ? wr_cb_launch_f32(env, p, request) : wr_cb_launch_f64(env, p, request);
}
