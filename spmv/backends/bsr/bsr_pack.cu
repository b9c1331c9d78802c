/* Packs rows into interleaved blocks (bsr_interleaved.h) on a device: first block rows and columns (bsr_columns.h), which
 * determine where everything is stored, then the values (bsr_pack_values.cu). */
#include "spmv/blocks/bsr_columns.h"
#include "spmv/backends/bsr/bsr_pack.cuh"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/device/sort.h"
#include "spmv/kernel/warp.cuh"

constexpr int THREADS = 256, BLOCKS = 16; /* blocks: of a launch, for each multiprocessor */

/* The block sizes that have kernels, and the inner blocks that they are cut into. */
static const struct size {
  int r, c, inner_r, inner_c;
} sizes[] = {
    {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3},   {4, 4, 4, 4},   {5, 5, 5, 5},
    {6, 6, 6, 6}, {8, 8, 8, 4}, {16, 16, 8, 4}, {16, 1, 16, 1}, {1, 16, 1, 8},
};

static int log2_of(int power) {
  int log2 = 0;
  while (1 << log2 < power) log2++;
  return log2;
}

/* EACH: inner blocks of a lane if the matrix has ENOUGH_WARPS times that. More of them make the reduction over lanes cheaper,
 * but spread the warp's accesses to x. */
constexpr int EACH = 8;
constexpr int64_t ENOUGH_WARPS = 11; /* for each multiprocessor */

static const struct size *size_of(int r, int c) {
  for (const struct size &s : sizes)
    if (s.r == r && s.c == c) return &s;
  return NULL;
}

extern "C" int wr_bsr_can_pack(int r, int c, int64_t ncols) {
  const struct size *s = size_of(r, c);
  return s != NULL && s->inner_c <= ncols;
}

/* Shared memory for the sums of all rows that may end in a thread block, in bytes. */
constexpr int MOST_SHARED = 200 << 10;

/* Bytes of f64 values up to which a lane has fewer blocks, as the second-level cache holds them: with 4 in place of 8 fem:n=24
 * takes 9.1 us and not 11.1, fem:n=27 15.0 and not 15.7. With more bytes, or in f32, 8 are as fast or faster (H100,
 * 2026-11-25). */
constexpr int64_t CACHED_BYTES = 40 << 20;

/* Inner blocks of a lane, a multiple of at_a_time: about `asked`, or by the number of blocks if that is 0. */
static int choose_each(const wr_env *env, const wr_bsr_interleaved *b, int asked) {
  const bool cached = b->stored == WR_F64 && b->r * b->c > 1 && b->blocks * b->r * b->c * 8 <= CACHED_BYTES;
  int each = asked    ? asked
             : cached ? EACH / 2
                      : EACH,
      most = MOST_SHARED / (WR_BSR_WARPS * WR_WARP * b->r * (int)sizeof(double));
  if (each > most) each = most;
  while (!asked && each > 1 && b->blocks / (WR_WARP * each) < ENOUGH_WARPS * wr_cuda_processors(env)) each /= 2;
  return each < b->at_a_time ? b->at_a_time : each / b->at_a_time * b->at_a_time;
}

/* kinds[i] := 1 if inner block row i has blocks, else 0. */
__global__ void ib_kinds(const ib_cut k, int64_t rows, uint8_t *kinds) {
  int64_t stride = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += stride) {
    int64_t row = i >> k.log2_down;
    kinds[i] = wr_bsr_row_at(k.row_ptr, k.wide, row + 1) > wr_bsr_row_at(k.row_ptr, k.wide, row);
  }
}

/* The number of rows that end before inner block g: a binary search for the first that ends after it. */
static __device__ inline int64_t ended_before(const ib_cut &k, const wr_bsr_interleaved &b, int64_t g) {
  int64_t low = 0, high = b.brows;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (ib_start(k, b, middle + 1) <= g)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Fills start, first and origin; most[1] := the greatest number of thread blocks from an origin to its block. */
__global__ void __launch_bounds__(THREADS, 4)
    ib_index(WR_KERNEL_PARAMETER ib_cut k, WR_KERNEL_PARAMETER wr_bsr_interleaved b, int *most) {
  int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x, stride = (int64_t)gridDim.x * THREADS;
  int64_t per = (int64_t)WR_BSR_WARPS * WR_WARP * b.each;
  for (int64_t w = thread; w < b.warps; w += stride) {
    int64_t row = ended_before(k, b, w * WR_WARP * b.each), t = w / WR_BSR_WARPS;
    b.first[w] = (int32_t)row;
    if (w % WR_BSR_WARPS != 0) continue;
    int64_t from = ib_start(k, b, row) / per; /* the row has block w * 32 * each, or ends after it */
    b.origin[t] = (int32_t)(from < t ? from : t);
    if (from < t) atomicMax(most + 1, (int)(t - from));
  }
  if (thread == 0) b.first[b.warps] = (int32_t)b.brows, b.origin[b.grid] = (int32_t)b.grid;
  for (int64_t n = thread; n <= b.brows; n += stride) b.start[n] = ib_start(k, b, n);
}

/* *inexact := 1 if a value is not exact in f32. */
__global__ void __launch_bounds__(THREADS) ib_inexact(const double *val, int64_t count, int *inexact) {
  int64_t stride = (int64_t)gridDim.x * THREADS;
  bool found = false;
#pragma unroll 4
  for (int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x; k < count; k += stride)
    found = found || !((double)(float)val[k] == val[k]);
  if (found) *inexact = 1;
}

static unsigned grid_for(const wr_env *env, int64_t threads) {
  return wr_cuda_grid(env, (threads + THREADS - 1) / THREADS, BLOCKS);
}

/* Lists the inner block rows with and without blocks; their numbers are known. */
static wr_status list_rows(wr_env *env, const ib_cut &k, wr_bsr_interleaved *b) {
  wr_status status = WR_OK;
  uint8_t *kinds = NULL;
  int64_t rows = b->brows + b->empty;
  if (b->empty == 0) return WR_OK;
  TRY(wr_device_alloc(env, &kinds, rows, 1, "kinds of block rows"));
  TRY(wr_device_alloc(env, &b->row, rows, sizeof *b->row, "block rows"));
  TRY(wr_device_alloc(env, &b->empty_row, rows, sizeof *b->empty_row, "empty block rows"));
  TRY(WR_LAUNCH((ib_kinds), grid_for(env, rows), THREADS, 0, env->stream, k, rows, kinds));
  TRY(wr_device_select(env, kinds, 1, rows, NULL, b->row, sizeof *b->row, &b->brows));
  TRY(wr_device_select(env, kinds, 0, rows, NULL, b->empty_row, sizeof *b->empty_row, &b->empty));
done:
  wr_device_free(env, kinds);
  return status;
}

/* Values that the host checks first, as in most matrices one of them is not exact in f32. */
constexpr int64_t SAMPLED = 256;

static bool is_sample_exact(const wr_csr *A) {
  int64_t step = A->nnz > SAMPLED ? A->nnz / SAMPLED : 1;
  for (int64_t k = 0; k < A->nnz; k += step)
    if (!((double)(float)A->val[k] == A->val[k])) return false;
  return true;
}

/* Chooses the type in which values are stored. */
static wr_status choose_stored(wr_env *env, const wr_csr *A, const wr_csr_view *view, int narrow,
                               wr_bsr_interleaved *b) {
  wr_status status = WR_OK;
  int *inexact = NULL;
  int32_t found = 0;
  b->stored = b->type;
  if (!narrow || b->type != WR_F64 || (A->val && !is_sample_exact(A))) return WR_OK;
  if (A->val) {
    TRY(wr_device_alloc_zeroed(env, &inexact, 1, sizeof *inexact, "a flag of the values"));
    TRY(WR_LAUNCH((ib_inexact), grid_for(env, A->nnz), THREADS, 0, env->stream, (const double *)view->val, A->nnz,
                  inexact));
    TRY(wr_device_download(env, &found, inexact, 1, WR_AS_4_BYTES));
  }
  if (!found) b->stored = WR_F32;
done:
  wr_device_free(env, inexact);
  return status;
}

/* Bytes of the small arrays, which share one allocation. */
struct small_arrays {
  int64_t start, word, first, origin, part; /* part: of head, and of tail */
  int64_t all;
};

static small_arrays sizes_of(const wr_bsr_interleaved *b) {
  small_arrays s = {};
  s.start = wr_device_bytes(b->brows + 1, sizeof *b->start);
  s.word = wr_device_bytes(b->warps * WR_WARP, sizeof *b->word);
  s.first = wr_device_bytes(b->warps + 1, sizeof *b->first);
  s.origin = wr_device_bytes(b->grid + 1, sizeof *b->origin);
  s.part = wr_device_bytes(b->grid * b->r, sizeof *b->head);
  s.all = s.start + s.word + s.first + s.origin + 2 * s.part;
  return s;
}

static wr_status allocate(wr_env *env, wr_bsr_interleaved *b) {
  int64_t lines = b->warps * b->each * WR_WARP;
  small_arrays s = sizes_of(b);
  char *next;
  PASS(wr_device_alloc(env, &b->start, s.all, 1, "block rows"));
  PASS(wr_device_alloc(env, &b->col, lines, sizeof *b->col, "block columns"));
  PASS(wr_device_alloc(env, &b->val, lines * b->r * b->c, (size_t)wr_type_bytes(b->stored), "blocks"));
  next = (char *)b->start + s.start;
  b->word = (uint32_t *)(void *)next, next += s.word;
  b->first = (int32_t *)(void *)next, next += s.first;
  b->origin = (int32_t *)(void *)next, next += s.origin;
  b->head = (double *)(void *)next, next += s.part;
  b->tail = (double *)(void *)next;
  return WR_OK;
}

/* Fills all arrays; most: [2] on the device, zeroed. */
static wr_status fill(wr_env *env, const ib_cut &k, const wr_csr_view *view, int64_t nnz, int *most,
                      wr_bsr_interleaved *b) {
  int32_t found[2] = {0, 0};
  int64_t threads = b->brows + 1 > b->warps ? b->brows + 1 : b->warps;
  PASS(WR_LAUNCH((ib_index), grid_for(env, threads), THREADS, 0, env->stream, k, *b, most));
  PASS(wr_bsr_pack_values(env, k, view, nnz, b, most));
  PASS(wr_device_download(env, found, most, 2, WR_AS_4_BYTES));
  b->shared_rows = (int)found[0], b->longest = (int)found[1];
  return WR_OK;
}

/* Sets the sizes that follow from the number of blocks. */
static wr_status measure(const wr_env *env, const wr_bsr_columns *from, const struct size *s, int each,
                         wr_bsr_interleaved *b) {
  const wr_bsr *shape = &from->shape;
  int down = shape->r / s->inner_r, across = shape->c / s->inner_c;
  b->nrows = shape->nrows, b->ncols = shape->ncols, b->r = s->inner_r, b->c = s->inner_c;
  b->blocks = shape->blocks * down * across;
  b->empty = from->empty * down, b->brows = shape->brows * down - b->empty;
  b->at_a_time = wr_bsr_at_a_time(b->r, b->c, (size_t)wr_type_bytes(b->stored));
  b->terms = wr_bsr_terms(b->c, b->at_a_time);
  b->each = choose_each(env, b, each);
  b->warps = (b->blocks + WR_WARP * b->each - 1) / (WR_WARP * b->each);
  b->grid = (b->warps + WR_BSR_WARPS - 1) / WR_BSR_WARPS;
  if (b->grid > INT32_MAX || shape->brows * down > INT32_MAX || shape->bcols * across > INT32_MAX)
    return wr_fail(WR_EUNAVAILABLE, "layout=interleaved cannot number %lld blocks; use layout=report",
                   (long long)shape->blocks);
  return WR_OK;
}

extern "C" wr_status wr_bsr_pack(wr_env *env, const wr_csr *A, const wr_csr_view *view, int r, int c, int each,
                                 int narrow, wr_bsr *shape, wr_bsr_interleaved *b) {
  wr_status status;
  const struct size *s = size_of(r, c);
  wr_bsr_columns columns = {};
  ib_cut k = {};
  *b = {};
  if (!wr_bsr_can_pack(r, c, A->ncols))
    return wr_fail(WR_EUNAVAILABLE,
                   "layout=interleaved has no kernel for blocks of %d x %d in %lld columns; use layout=report", r, c,
                   (long long)A->ncols);
  b->type = env->type;
  TRY(wr_cuda_enter(env));
  TRY(choose_stored(env, A, view, narrow, b));
  TRY(wr_bsr_columns_build(env, A->nrows, A->ncols, A->nnz, view, r, c, 1, &columns));
  TRY(measure(env, &columns, s, each, b));
  k = {columns.shape.row_ptr, columns.shape.col, columns.shape.wide, log2_of(r / s->inner_r), log2_of(c / s->inner_c)};
  TRY(list_rows(env, k, b));
  TRY(allocate(env, b));
  TRY(fill(env, k, view, A->nnz, (int *)(columns.numbers + 4), b));
  *shape = columns.shape;
  shape->row_ptr = NULL, shape->col = NULL;
done:
  wr_bsr_columns_free(env, &columns);
  if (status != WR_OK) wr_bsr_interleaved_free(env, b);
  return status;
}

extern "C" wr_status wr_bsr_interleaved_refill(wr_env *env, const wr_csr *A, const wr_csr_view *view, int r, int c,
                                               int narrow, const wr_bsr_interleaved *b) {
  wr_bsr_interleaved other = *b;
  ib_cut k = {nullptr, nullptr, 0, log2_of(r / b->r), log2_of(c / b->c)};
  PASS(wr_cuda_enter(env));
  PASS(choose_stored(env, A, view, narrow, &other));
  if (other.stored != b->stored)
    return wr_fail(WR_EUNAVAILABLE, "values are stored in f32 where all of them are f32's, and else not");
  return wr_bsr_pack_values(env, k, view, A->nnz, b, nullptr);
}

extern "C" void wr_bsr_interleaved_free(wr_env *env, wr_bsr_interleaved *b) {
  void *const arrays[] = {b->start, b->col, b->val, b->row, b->empty_row}; /* the other arrays share start's allocation */
  for (void *array : arrays) wr_device_free(env, array);
  *b = {};
}

extern "C" int64_t wr_bsr_interleaved_bytes(const wr_bsr_interleaved *b) {
  int64_t lines = b->warps * b->each * WR_WARP, rows = b->brows + b->empty;
  return sizes_of(b).all + wr_device_bytes(lines, sizeof *b->col) +
         wr_device_bytes(lines * b->r * b->c, (size_t)wr_type_bytes(b->stored)) +
         (b->empty ? 2 * wr_device_bytes(rows, sizeof *b->row) : 0);
}

extern "C" unsigned wr_bsr_interleaved_last_grid(const wr_env *env, const wr_bsr_interleaved *b) {
  int64_t shared = b->grid * b->r, empty = b->empty * b->r, each = WR_BSR_WARPS * WR_WARP;
  return wr_cuda_grid(env, ((shared > empty ? shared : empty) + each - 1) / each, BLOCKS);
}

/* y[i] := 0 for the scalar rows i that several thread blocks share. */
template <typename T>
__global__ void ib_clear(const wr_bsr_interleaved b, T *y) {
  int64_t stride = (int64_t)gridDim.x * blockDim.x;
  for (int64_t q = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; q < b.grid * b.r; q += stride) {
    int64_t t = q / b.r, w1 = (t + 1) * WR_BSR_WARPS < b.warps ? (t + 1) * WR_BSR_WARPS : b.warps;
    int64_t row = b.first[t * WR_BSR_WARPS];
    if (b.origin[t] == t || b.first[w1] == row) continue;
    int64_t i = (b.row ? (int64_t)b.row[row] : row) * b.r + q % b.r;
    if (i < b.nrows) y[i] = 0;
  }
}

extern "C" wr_status wr_bsr_interleaved_launch(wr_env *env, const wr_bsr_interleaved *b, const wr_apply_args *args) {
  const wr_vec *y = args->request.y;
  unsigned grid = grid_for(env, b->grid * b->r);
  PASS(wr_cuda_enter(env));
  if (b->commit == WR_BSR_DUAL && args->request.beta == 0 && !args->y_prepared) {
    if (b->type == WR_F32)
      PASS(WR_LAUNCH((ib_clear<float>), grid, THREADS, 0, env->stream, *b, (float *)y->data));
    else
      PASS(WR_LAUNCH((ib_clear<double>), grid, THREADS, 0, env->stream, *b, (double *)y->data));
  }
  if (b->type == WR_F32)
    PASS(wr_bsr_interleaved_launch_f32(env, b, &args->request));
  else if (b->stored == WR_F32)
    PASS(wr_bsr_interleaved_launch_narrow(env, b, &args->request));
  else
    PASS(wr_bsr_interleaved_launch_f64(env, b, &args->request));
  return WR_OK;
}
