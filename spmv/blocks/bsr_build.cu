/* Block rows and block columns come from bsr_columns.cu; then each warp writes the values of some consecutive blocks, so that
 * the length of block rows does not matter. */
#include "spmv/blocks/bsr_build.h"
#include "spmv/blocks/bsr_columns.h"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/search.cuh"
#include "spmv/kernel/warp.cuh"

constexpr int THREADS = 256, WARPS = THREADS / WR_WARP;
constexpr int64_t MOST_BLOCKS = 1 << 20; /* of a launch; warps loop over the blocks beyond that */

/* A warp assembles whole blocks in a tile of shared memory before it writes them. After every 32 values one place stays
 * empty, so that lanes that write lines of 16 values use different banks. */
constexpr int TILE_BYTES = 4096;
static_assert(TILE_BYTES >= WR_BSR_MAX_SIDE * WR_BSR_MAX_SIDE * 8, "a block fits");
static __device__ inline int skewed(int at) { return at + at / 32; }

/* Fills the c values of a block's row, from tile place `at` on, with the entries begin..end - 1 of a row in columns
 * left..left + c - 1. A zero of the matrix becomes the positive one, because negative zeros are padding. */
template <typename T, typename P>
static __device__ inline void fill_line(const int32_t *col, const T *val, P begin, P end, int32_t left, int c, T *tile,
                                        int at) {
  for (int j = 0; j < c; j++) tile[skewed(at + j)] = -(T)0;
  P first = wr_find_column(col, begin, end, (uint32_t)left);
  int most = end - first < c ? (int)(end - first) : c;
#pragma unroll 4
  for (int n = 0; n < most; n++) {
    int32_t j = col[first + n] - left;
    if (j >= c) continue;
    T value = val ? val[first + n] : (T)1;
    tile[skewed(at + j)] = value == 0 ? (T)0 : value;
  }
}

/* A warp fills `together` blocks, a power of two, at a time; several lanes share a block and take its rows in turn. */
template <typename T, typename P, typename O>
__global__ void __launch_bounds__(THREADS)
    bsr_fill(const wr_bsr b, const P *row_ptr, const int32_t *col, const T *val, int together) {
  constexpr int TILE = TILE_BYTES / sizeof(T);
  WR_SHARED(T, tiles, WARPS *(TILE + TILE / 32));
  int lane = threadIdx.x % WR_WARP, own = lane % together, size = b.r * b.c;
  T *tile = tiles + threadIdx.x / WR_WARP * (TILE + TILE / 32), *out = (T *)b.val;
  int64_t warp = (int64_t)blockIdx.x * WARPS + threadIdx.x / WR_WARP, warps = (int64_t)gridDim.x * WARPS;
  const O *block_row_ptr = (const O *)b.row_ptr;
  for (int64_t k0 = warp * together; k0 < b.blocks; k0 += warps * together) {
    int64_t left = b.blocks - k0, low = 0, high = b.brows; /* row_ptr[low] <= k0 + own < row_ptr[high] */
    int count = left < together ? (int)left : together;
    while (own < count && high - low > 1) {
      int64_t middle = low + (high - low) / 2;
      if (block_row_ptr[middle] <= k0 + own)
        low = middle;
      else
        high = middle;
    }
    for (int n = lane / together; own < count && n < b.r; n += WR_WARP / together) {
      int64_t i = low * b.r + n;
      P begin = 0, end = 0;
      if (i < b.nrows) begin = row_ptr[i], end = row_ptr[i + 1];
      fill_line(col, val, begin, end, b.col[k0 + own] * b.c, b.c, tile, own * size + n * b.c);
    }
    __syncwarp();
    for (int at = lane; at < count * size; at += WR_WARP) out[k0 * size + at] = tile[skewed(at)];
    __syncwarp();
  }
}

static unsigned grid_for(int64_t work, int64_t a_warp) {
  int64_t blocks = (work - 1) / (a_warp * WARPS) + 1;
  return (unsigned)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS);
}

template <typename T, typename P, typename O>
static wr_status fill(wr_env *env, const wr_csr_view *view, const wr_bsr *b) {
  int together = WR_WARP;
  while (together * b->r * b->c * (int)sizeof(T) > TILE_BYTES) together /= 2;
  if (b->blocks == 0) return WR_OK;
  return WR_LAUNCH((bsr_fill<T, P, O>), grid_for(b->blocks, together), THREADS, 0, env->stream, *b,
                   (const P *)view->row_ptr, view->col, (const T *)view->val, together);
}

template <typename P>
static wr_status fill_rows(wr_env *env, const wr_csr_view *view, const wr_bsr *b) {
  if (b->type == WR_F64) return (b->wide ? fill<double, P, int64_t> : fill<double, P, int32_t>)(env, view, b);
  return (b->wide ? fill<float, P, int64_t> : fill<float, P, int32_t>)(env, view, b);
}

extern "C" wr_status wr_bsr_device_refill(wr_env *env, const wr_csr_view *view, const wr_bsr *b) {
  PASS(wr_cuda_enter(env));
  return view->wide ? fill_rows<int64_t>(env, view, b) : fill_rows<int32_t>(env, view, b);
}

extern "C" wr_status wr_bsr_device_build(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz,
                                         const wr_csr_view *view, int r, int c, wr_bsr *b) {
  wr_status status;
  wr_bsr_columns columns = {};
  *b = {};
  TRY(wr_bsr_columns_build(env, nrows, ncols, nnz, view, r, c, 0, &columns));
  *b = columns.shape;
  TRY(wr_device_alloc(env, &b->val, b->blocks * b->r * b->c, (size_t)wr_type_bytes(b->type), "the blocks' values"));
  TRY(wr_bsr_device_refill(env, view, b));
done:
  wr_bsr_columns_free_workspace(env, &columns);
  if (status != WR_OK) wr_bsr_device_free(env, b);
  return status;
}

extern "C" void wr_bsr_device_free(wr_env *env, wr_bsr *b) {
  wr_device_free(env, b->row_ptr);
  wr_device_free(env, b->col);
  wr_device_free(env, b->val);
  b->row_ptr = NULL, b->col = NULL, b->val = NULL;
}

extern "C" int64_t wr_bsr_device_bytes(const wr_bsr *b) {
  return wr_device_bytes(b->brows + 1, b->wide ? 8 : 4) + wr_device_bytes(b->blocks, sizeof *b->col) +
         wr_device_bytes(b->blocks * b->r * b->c, (size_t)wr_type_bytes(b->type));
}

extern "C" wr_status wr_bsr_download(wr_env *env, const wr_bsr *b, wr_bsr *to) {
  wr_status status;
  *to = *b;
  TRY(wr_bsr_alloc(to));
  TRY(wr_device_download(env, to->row_ptr, b->row_ptr, b->brows + 1, b->wide ? WR_AS_8_BYTES : WR_AS_4_BYTES));
  TRY(wr_device_download(env, to->col, b->col, b->blocks, WR_AS_4_BYTES));
  TRY(wr_device_download(env, to->val, b->val, b->blocks * b->r * b->c,
                         b->type == WR_F64 ? WR_AS_8_BYTES : WR_AS_4_BYTES));
done:
  if (status != WR_OK) wr_bsr_free(to);
  return status;
}
