/* The counts of feature_sample.h, of a matrix on a device: five kernels and one small download. */
#include "spmv/choose/feature_sample.h"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/kernel/warp.cuh"

constexpr int THREADS = 256, WARPS = THREADS / WR_WARP, ZONE_THREADS = 1024;
typedef unsigned long long count; /* what atomics add to */

static_assert((int)WR_FEATURE_ROWS == (int)WR_WARP, "a lane for each row of a group");

static __device__ inline count warp_sum(count value) {
  for (int distance = WR_WARP / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync((unsigned)WR_FULL_MASK, value, distance);
  return value;
}

static __device__ inline count warp_max(count value) {
  for (int distance = WR_WARP / 2; distance > 0; distance /= 2) {
    count other = __shfl_xor_sync((unsigned)WR_FULL_MASK, value, distance);
    value = value > other ? value : other;
  }
  return value;
}

/* The warp's group of 32 rows, a lane a row, as add_group on the host. counts[WR_ROW_COUNTS] and most are the lane's own; steps
 * and most are the same in all lanes. */
template <typename P>
static __device__ void add_group(int64_t nrows, const P *row_ptr, int64_t first, count *counts, count *most) {
  int64_t i = first + threadIdx.x % WR_WARP;
  int64_t length = i < nrows ? (int64_t)(row_ptr[i + 1] - row_ptr[i]) : 0;
  count longest = warp_max((count)length);
  counts[WR_ROWS] += i < nrows, counts[WR_ENTRIES] += (count)length;
  counts[WR_SQUARES] += (count)(length * length) & UINT32_MAX,
      counts[WR_SQUARES_HIGH] += (count)(length * length) >> 32;
  if (threadIdx.x % WR_WARP == 0) counts[WR_STEPS] += longest;
  if (longest > *most) *most = longest;
}

/* A thread block for each zone: finds its heaviest block, then its warps take groups in turn. */
template <typename P>
__global__ void __launch_bounds__(ZONE_THREADS) count_zones(int64_t nrows, const P *row_ptr, count *counts) {
  WR_SHARED(count, heaviest_of, ZONE_THREADS / WR_WARP);
  int lane = threadIdx.x % WR_WARP, warp = threadIdx.x / WR_WARP;
  int64_t stride = wr_sampled_stride(nrows), blocks = wr_sampled_blocks(nrows);
  int64_t begin = wr_zone_begin(blocks, blockIdx.x), end = wr_zone_begin(blocks, blockIdx.x + 1),
          b = begin + threadIdx.x;
  count heavy = 0; /* the entries of a block above 9 bits, so that of equal ones the first is the greatest: counts < 2^54 */
  if (b < end)
    heavy = (count)(row_ptr[wr_block_begin(nrows, b + 1)] - row_ptr[wr_block_begin(nrows, b)]) << 9 |
            (count)(2 * WR_ZONE_BLOCKS - 1 - (b - begin));
  heavy = warp_max(heavy);
  if (lane == 0) heaviest_of[warp] = heavy;
  __syncthreads();
  heavy = warp_max(heaviest_of[lane]); /* there are as many warps as lanes */
  if (begin == end) return; /* fewer blocks than zones */
  int64_t heaviest = begin + 2 * WR_ZONE_BLOCKS - 1 - (int64_t)(heavy & (2 * WR_ZONE_BLOCKS - 1));
  count own[2 * WR_ROW_COUNTS] = {}, most = 0;
  for (int64_t other = begin + warp; other < end; other += ZONE_THREADS / WR_WARP)
    if (other != heaviest) add_group(nrows, row_ptr, wr_block_sample(nrows, other), own + WR_OTHERS, &most);
  for (int64_t first = heaviest * stride + (int64_t)warp * WR_WARP; first < wr_block_begin(nrows, heaviest + 1);
       first += ZONE_THREADS)
    add_group(nrows, row_ptr, first, own + WR_WALKED, &most);
  for (int k = 0; k < 2 * WR_ROW_COUNTS; k++) {
    count sum = warp_sum(own[k]);
    if (lane == 0 && sum > 0) atomicAdd(&counts[k], sum);
  }
  if (lane == 0) atomicMax(&counts[WR_MOST], most);
}

/* Adds 1 for each lane that has a column, and for each different sector among them. */
static __device__ inline void add_sectors(int32_t column, int32_t in_sector, count *entries, count *sectors) {
  unsigned all = (unsigned)WR_FULL_MASK;
  int32_t sector = column < 0 ? -1 : column / in_sector;
  unsigned same = __match_any_sync(all, sector), lower = (1u << threadIdx.x % WR_WARP) - 1;
  unsigned present = __ballot_sync(all, column >= 0), first = __ballot_sync(all, column >= 0 && (same & lower) == 0);
  if (threadIdx.x % WR_WARP != 0 || present == 0) return;
  atomicAdd(entries, (count)__popc(present));
  atomicAdd(sectors, (count)__popc(first));
}

/* A warp for 32 consecutive entries, and behind those a warp for the k-th entries of 32 rows. */
template <typename P>
__global__ void __launch_bounds__(THREADS)
    count_sectors(int64_t nrows, int64_t nnz, const P *row_ptr, const int32_t *col, int32_t in_sector, count *counts) {
  int64_t warp = (int64_t)blockIdx.x * WARPS + threadIdx.x / WR_WARP, lane = threadIdx.x % WR_WARP;
  int64_t pieces = wr_groups_of(nnz), gathers = wr_at_most(pieces, WR_GATHERS);
  int64_t groups = wr_groups_of(nrows), row_groups = wr_at_most(groups, WR_ROW_GROUPS);
  if (warp < gathers) {
    int64_t k = wr_sampled_group(warp, gathers, pieces) + lane;
    add_sectors(k < nnz ? col[k] : -1, in_sector, &counts[WR_GATHERED], &counts[WR_GATHER_SECTORS]);
    return;
  }
  int64_t group = (warp - gathers) / WR_GROUP_STEPS, step = (warp - gathers) % WR_GROUP_STEPS;
  if (group >= row_groups) return;
  int64_t i = wr_sampled_group(group, row_groups, groups) + lane;
  int has = i < nrows && row_ptr[i] + step < row_ptr[i + 1];
  add_sectors(has ? col[row_ptr[i] + step] : -1, in_sector, &counts[WR_ROW_GATHERED], &counts[WR_ROW_SECTORS]);
}

/* A thread block for each tile; its warps take chunks in turn. */
__global__ void __launch_bounds__(THREADS)
    count_tiles(int64_t nnz, const int32_t *col, int32_t in_sector, count *counts) {
  constexpr int EACH = WR_TILE_CHUNK / WR_WARP;
  WR_SHARED(uint32_t, set, WR_TILE_SLOTS);
  const unsigned all = (unsigned)WR_FULL_MASK;
  const int lane = threadIdx.x % WR_WARP;
  const int64_t first = wr_tile_begin(nnz, blockIdx.x), end = min(first + WR_TILE, nnz);
  for (int s = (int)threadIdx.x; s < WR_TILE_SLOTS; s += THREADS) set[s] = 0;
  __syncthreads();
  count different = 0, chunks = 0, narrow = 0;
  for (int64_t chunk = first + (int64_t)(threadIdx.x / WR_WARP) * WR_TILE_CHUNK; chunk < end;
       chunk += WARPS * WR_TILE_CHUNK) {
    int32_t column[EACH];
    int least = INT32_MAX, second = INT32_MAX;
    bool enough = true;
    for (int j = 0; j < EACH; j++) {
      int64_t k = chunk + j * WR_WARP + lane;
      column[j] = k < end ? col[k] : INT32_MAX;
      least = min(least, column[j]);
    }
    least = wr_warp_min(least);
    for (int j = 0; j < EACH; j++)
      if (column[j] - least >= WR_NARROW && column[j] < second) second = column[j];
    second = wr_warp_min(second);
    for (int j = 0; j < EACH; j++) {
      enough = enough && (column[j] == INT32_MAX || column[j] < second || column[j] - second < WR_NARROW - 1);
      if (column[j] == INT32_MAX) continue;
      uint32_t sector = (uint32_t)column[j] / (uint32_t)in_sector + 1, s = wr_tile_slot(sector), before;
      while ((before = atomicCAS(&set[s], 0u, sector)) != 0 && before != sector) s = (s + 1) % WR_TILE_SLOTS;
      different += before == 0;
    }
    narrow += __all_sync(all, enough), chunks++;
  }
  different = warp_sum(different);
  if (lane != 0) return;
  atomicAdd(&counts[WR_TILE_SECTORS], different);
  atomicAdd(&counts[WR_NARROW_CHUNKS], narrow);
  atomicAdd(&counts[WR_CHUNKED], chunks);
  if (threadIdx.x == 0) atomicAdd(&counts[WR_TILED], (count)(end - first));
}

/* The set as of find_hub on the host; where a column lies in it depends on the order of the threads, whether it does not. */
__global__ void __launch_bounds__(THREADS) draw_hubs(int64_t nnz, int64_t draws, const int32_t *col, int32_t *set) {
  int64_t n = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (n >= draws) return;
  int32_t column = col[wr_drawn_entry(nnz, n, draws)], before;
  uint32_t s = wr_hub_slot(column);
  while ((before = atomicCAS(&set[s], 0, column + 1)) != 0 && before != column + 1) s = (s + 1) % WR_HUB_SLOTS;
}

__global__ void __launch_bounds__(THREADS)
    test_hubs(int64_t nnz, const int32_t *col, const int32_t *set, count *found) {
  int64_t n = (int64_t)blockIdx.x * THREADS + threadIdx.x; /* WR_TESTED is a multiple of THREADS */
  int32_t column = col[wr_tested_entry(nnz, n)];
  uint32_t s = wr_hub_slot(column);
  while (set[s] != 0 && set[s] != column + 1) s = (s + 1) % WR_HUB_SLOTS;
  unsigned hits = __ballot_sync((unsigned)WR_FULL_MASK, set[s] != 0);
  if (threadIdx.x % WR_WARP == 0) atomicAdd(found, (count)__popc(hits));
}

template <typename P>
static wr_status launch(const wr_csr *A, wr_env *env, const wr_csr_view *view, int32_t *set, count *counts) {
  int32_t in_sector = (int32_t)(WR_SECTOR_BYTES / wr_type_bytes(env->type));
  int64_t draws = wr_hub_draws(A->ncols, A->nnz, env->type);
  int64_t gathers = wr_at_most(wr_groups_of(A->nnz), WR_GATHERS);
  int64_t warps = gathers + wr_at_most(wr_groups_of(A->nrows), WR_ROW_GROUPS) * WR_GROUP_STEPS;
  const P *row_ptr = (const P *)view->row_ptr;
  PASS(WR_LAUNCH((count_zones<P>), WR_ZONES, ZONE_THREADS, 0, env->stream, A->nrows, row_ptr, counts));
  if (A->nnz == 0) return WR_OK;
  PASS(WR_LAUNCH((count_sectors<P>), (unsigned)((warps + WARPS - 1) / WARPS), THREADS, 0, env->stream, A->nrows,
                 A->nnz, row_ptr, view->col, in_sector, counts));
  PASS(WR_LAUNCH((count_tiles), (unsigned)wr_at_most(wr_tiles_of(A->nnz), WR_TILES), THREADS, 0, env->stream, A->nnz,
                 view->col, in_sector, counts));
  if (draws == 0) return WR_OK;
  PASS(WR_LAUNCH((draw_hubs), (unsigned)((draws + THREADS - 1) / THREADS), THREADS, 0, env->stream, A->nnz, draws,
                 view->col, set));
  return WR_LAUNCH((test_hubs), WR_TESTED / THREADS, THREADS, 0, env->stream, A->nnz, view->col, set,
                   counts + WR_FOUND);
}

extern "C" wr_status wr_matrix_features_device(const wr_csr *A, wr_env *env, const wr_csr_view *view,
                                               wr_matrix_features *features) {
  wr_status status;
  count *counts = NULL;
  int32_t *set = NULL;
  int64_t downloaded[WR_FEATURE_COUNTS];
  TRY(wr_cuda_enter_now(env));
  TRY(wr_device_alloc_zeroed(env, &counts, WR_FEATURE_COUNTS, sizeof *counts, "counts of a matrix"));
  TRY(wr_device_alloc_zeroed(env, &set, WR_HUB_SLOTS, sizeof *set, "columns of a sample"));
  TRY(view->wide ? launch<int64_t>(A, env, view, set, counts) : launch<int32_t>(A, env, view, set, counts));
  TRY(wr_device_download(env, downloaded, counts, WR_FEATURE_COUNTS, WR_AS_8_BYTES));
  wr_features_of_counts(A, env->type, downloaded, features);
done:
  wr_device_free(env, set);
  wr_device_free(env, counts);
  return status;
}
