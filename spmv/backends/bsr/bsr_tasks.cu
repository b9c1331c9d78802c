#include "spmv/blocks/bsr_rows.cuh"
#include "spmv/backends/bsr/bsr_tasks.h"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/device/sort.h"
#include "spmv/kernel/launch.cuh"

constexpr int THREADS = 256, BLOCKS = 8; /* blocks: of a launch, for each multiprocessor */

/* kinds[i] := 1 if block row i has blocks, else 0. */
__global__ void bsr_tasks_kinds(const wr_bsr b, uint8_t *kinds) {
  int64_t stride = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < b.brows; i += stride)
    kinds[i] = wr_bsr_row_at(b.row_ptr, b.wide, i) < wr_bsr_row_at(b.row_ptr, b.wide, i + 1);
}

/* floor(values * t / count) without overflow in 64 bits: count < 2^31. */
static __device__ inline int64_t cut_at(int64_t values, int64_t count, int64_t t) {
  return values / count * t + values % count * t / count;
}

/* The position, in `full`, of the block row in which a value lies; nfull for values past the last. */
static __device__ inline int64_t row_of(const wr_bsr &b, const wr_bsr_tasks &tasks, int64_t value) {
  int64_t low = 0, high = tasks.nfull, side = (int64_t)b.r * b.c;
  while (low < high) {
    int64_t middle = low + (high - low) / 2, i = tasks.full ? tasks.full[middle] : middle;
    if (wr_bsr_row_at(b.row_ptr, b.wide, i + 1) * side <= value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The task, among 0..last, that has a value. */
static __device__ inline int64_t task_of(int64_t values, int64_t count, int64_t last, int64_t value) {
  int64_t low = 0;
  while (low < last) {
    int64_t middle = low + (last - low + 1) / 2;
    if (cut_at(values, count, middle) <= value)
      low = middle;
    else
      last = middle - 1;
  }
  return low;
}

/* One thread for each cut between tasks. */
__global__ void bsr_tasks_cut(const wr_bsr b, const wr_bsr_tasks tasks) {
  int64_t stride = (int64_t)gridDim.x * blockDim.x, side = (int64_t)b.r * b.c, values = b.blocks * side;
  for (int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; t <= tasks.count; t += stride) {
    int64_t start = cut_at(values, tasks.count, t), row = row_of(b, tasks, start);
    tasks.index[t] = start;
    tasks.row[t] = (int32_t)row;
    if (t == tasks.count) continue;
    int64_t i = tasks.full ? tasks.full[row] : row;
    int64_t begin = wr_bsr_row_at(b.row_ptr, b.wide, i) * side, end = wr_bsr_row_at(b.row_ptr, b.wide, i + 1) * side;
    bool shared = begin < start && end <= cut_at(values, tasks.count, t + 1);
    tasks.origin[t] = (int32_t)(shared ? task_of(values, tasks.count, t, begin) : t);
  }
}

static unsigned grid_for(const wr_env *env, int64_t threads) {
  return wr_cuda_grid(env, (threads + THREADS - 1) / THREADS, BLOCKS);
}

/* Sets nfull and nempty, and makes both lists if some block rows are empty. */
static wr_status list_rows(wr_env *env, const wr_bsr *b, wr_bsr_tasks *tasks) {
  wr_status status;
  uint8_t *kinds = NULL;
  TRY(wr_device_alloc(env, &kinds, b->brows, sizeof *kinds, "kinds of block rows"));
  TRY(WR_LAUNCH((bsr_tasks_kinds), grid_for(env, b->brows), THREADS, 0, env->stream, *b, kinds));
  TRY(wr_device_select(env, kinds, 0, b->brows, NULL, NULL, sizeof *tasks->empty, &tasks->nempty));
  tasks->nfull = b->brows - tasks->nempty;
  if (tasks->nempty == 0) goto done;
  TRY(wr_device_alloc(env, &tasks->empty, tasks->nempty, sizeof *tasks->empty, "block rows without blocks"));
  TRY(wr_device_select(env, kinds, 0, b->brows, NULL, tasks->empty, sizeof *tasks->empty, &tasks->nempty));
  TRY(wr_device_alloc(env, &tasks->full, tasks->nfull, sizeof *tasks->full, "block rows with blocks"));
  TRY(wr_device_select(env, kinds, 1, b->brows, NULL, tasks->full, sizeof *tasks->full, &tasks->nfull));
done:
  wr_device_free(env, kinds);
  return status;
}

static int64_t count_for(int64_t values, int64_t wanted) {
  int64_t least = (values + WR_BSR_TASK_VALUES - 1) / WR_BSR_TASK_VALUES;
  if (wanted > INT32_MAX) wanted = INT32_MAX; /* the most thread blocks of a launch */
  if (wanted > values) wanted = values;
  return wanted < least ? least : wanted;
}

extern "C" wr_status wr_bsr_tasks_build(wr_env *env, const wr_bsr *b, int64_t wanted, wr_bsr_tasks *tasks) {
  wr_status status;
  *tasks = {};
  TRY(wr_cuda_enter(env));
  tasks->r = b->r;
  tasks->count = count_for(b->blocks * b->r * b->c, wanted);
  TRY(list_rows(env, b, tasks));
  TRY(wr_device_alloc(env, &tasks->index, tasks->count + 1, sizeof *tasks->index, "tasks' values"));
  TRY(wr_device_alloc(env, &tasks->row, tasks->count + 1, sizeof *tasks->row, "tasks' block rows"));
  TRY(wr_device_alloc(env, &tasks->origin, tasks->count, sizeof *tasks->origin, "where shared block rows begin"));
  TRY(wr_device_alloc_zeroed(env, &tasks->head, tasks->count * b->r, sizeof *tasks->head, "parts of block rows"));
  TRY(wr_device_alloc_zeroed(env, &tasks->tail, tasks->count * b->r, sizeof *tasks->tail, "parts of block rows"));
  if (tasks->count)
    TRY(WR_LAUNCH((bsr_tasks_cut), grid_for(env, tasks->count + 1), THREADS, 0, env->stream, *b, *tasks));
done:
  if (status != WR_OK) wr_bsr_tasks_free(env, tasks);
  return status;
}

extern "C" void wr_bsr_tasks_free(wr_env *env, wr_bsr_tasks *tasks) {
  wr_device_free(env, tasks->index);
  wr_device_free(env, tasks->row);
  wr_device_free(env, tasks->origin);
  wr_device_free(env, tasks->full);
  wr_device_free(env, tasks->empty);
  wr_device_free(env, tasks->head);
  wr_device_free(env, tasks->tail);
  *tasks = {};
}

extern "C" int64_t wr_bsr_tasks_bytes(const wr_bsr_tasks *tasks) {
  int64_t bytes = wr_device_bytes(tasks->count + 1, sizeof *tasks->index) +
                  wr_device_bytes(tasks->count + 1, sizeof *tasks->row) +
                  wr_device_bytes(tasks->count, sizeof *tasks->origin) +
                  2 * wr_device_bytes(tasks->count * tasks->r, sizeof *tasks->head);
  if (tasks->nempty)
    bytes += wr_device_bytes(tasks->nempty, sizeof *tasks->empty) + wr_device_bytes(tasks->nfull, sizeof *tasks->full);
  return bytes;
}
