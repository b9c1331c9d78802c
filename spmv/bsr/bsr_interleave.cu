/* From blocks in rows to blocks side by side (bsr_interleaved.h), on a device. */
#include "spmv/bsr/bsr_interleaved.h"
#include "spmv/bsr/bsr_rows.cuh"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/device/sort.h"
#include "spmv/kernel/warp.cuh"

constexpr int THREADS = 256, MOST_BLOCKS = 132 * 16;

/* The sizes that have kernels, and what they are cut into. */
static const struct size {
  int r, c, inner_r, inner_c;
} sizes[] = {
    {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3},   {4, 4, 4, 4},   {5, 5, 5, 5},
    {6, 6, 6, 6}, {8, 8, 8, 4}, {16, 16, 8, 4}, {16, 1, 16, 1}, {1, 16, 1, 8},
};

/* Inner blocks of a lane, and warps that a launch is to have before lanes get so many. More make it cheaper to join the
 * lanes, but lie farther apart in x. */
constexpr int EACH = 8;
constexpr int64_t ENOUGH_WARPS = 132 * 8;

static const struct size *size_of(int r, int c) {
  for (const struct size &s : sizes)
    if (s.r == r && s.c == c) return &s;
  return NULL;
}

extern "C" int wr_bsr_can_interleave(int r, int c, int64_t ncols) {
  const struct size *s = size_of(r, c);
  return s != NULL && s->inner_c <= ncols;
}

/* How many inner blocks a lane takes: about as many as asked for, else by the number of blocks; a multiple of at_a_time. */
static int choose_each(int64_t blocks, int at_a_time, int asked) {
  int each = asked ? asked : EACH;
  while (!asked && each > 1 && blocks / (WR_WARP * each) < ENOUGH_WARPS) each /= 2;
  return each < at_a_time ? at_a_time : each / at_a_time * at_a_time;
}

/* Where the inner blocks of an inner block row come from: `down` inner rows a block row, `across` inner blocks a row. */
struct cut {
  const void *row_ptr;
  int wide, down, across;
};

/* Inner blocks before inner block row i. */
static __device__ inline int64_t inner_start(const cut &k, int64_t i) {
  int64_t begin = wr_bsr_row_at(k.row_ptr, k.wide, i / k.down), end = wr_bsr_row_at(k.row_ptr, k.wide, i / k.down + 1);
  return k.across * (begin * k.down + i % k.down * (end - begin));
}

/* kinds[i] := 1 where inner block row i has blocks, else 0. */
__global__ void ib_kinds(const cut k, int64_t rows, uint8_t *kinds) {
  int64_t stride = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += stride) {
    int64_t row = i / k.down;
    kinds[i] = wr_bsr_row_at(k.row_ptr, k.wide, row + 1) > wr_bsr_row_at(k.row_ptr, k.wide, row);
  }
}

/* start[n] for the n-th row with blocks, and start[brows] := blocks. */
__global__ void ib_starts(const cut k, const wr_bsr_interleaved b) {
  int64_t stride = (int64_t)gridDim.x * blockDim.x;
  for (int64_t n = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; n <= b.brows; n += stride)
    b.start[n] = n < b.brows ? inner_start(k, b.row ? b.row[n] : n) : b.blocks;
}

/* Rows that end before inner block g: the first whose end lies behind it. */
static __device__ inline int64_t ended_before(const wr_bsr_interleaved &b, int64_t g) {
  int64_t low = 0, high = b.brows;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (b.start[middle + 1] <= g)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Words, columns and values: a warp its own, a lane its own blocks. T: of the values; V: as what they are stored. */
template <typename T, typename V>
__global__ void __launch_bounds__(THREADS) ib_fill(const cut k, const wr_bsr from, const wr_bsr_interleaved b) {
  int lane = threadIdx.x % WR_WARP, down = k.down;
  int64_t warps = (int64_t)gridDim.x * (THREADS / WR_WARP);
  for (int64_t w = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WR_WARP; w < b.warps; w += warps) {
    int64_t g = (w * WR_WARP + lane) * b.each, row = ended_before(b, g);
    int64_t first = __shfl_sync((unsigned)WR_FULL_MASK, row, 0);
    uint32_t word = (uint32_t)(row - first) << b.each;
    if (lane == 0) b.first[w] = (int32_t)first;
    for (int j = 0; j < b.each; j++, g++) {
      int64_t line = w * b.each + j, at = line * WR_WARP + lane;
      V *val = (V *)b.val + line * b.r * b.c * WR_WARP + lane;
      if (g >= b.blocks) {
        b.col[at] = 0;
        for (int e = 0; e < b.r * b.c; e++) val[e * WR_WARP] = 0;
        continue;
      }
      int64_t i = b.row ? b.row[row] : row, s = g - b.start[row], source;
      source = wr_bsr_row_at(k.row_ptr, k.wide, i / down) + s / k.across;
      int top = (int)(i % down) * b.r, left = (int)(s % k.across) * b.c;
      const T *block = (const T *)from.val + source * from.r * from.c;
      int64_t column = (int64_t)from.col[source] * from.c + left, last = b.ncols - b.c;
      int64_t shift = column > last ? column - last : 0;
      b.col[at] = (int32_t)(column - shift);
      for (int c = 0; c < b.c; c++)
        for (int r = 0; r < b.r; r++)
          val[(c * b.r + r) * WR_WARP] = c < shift ? (V)-0.0 : (V)block[(top + r) * from.c + left + c - shift];
      if (g + 1 == b.start[row + 1]) word |= 1u << j, row++;
    }
    b.word[w * WR_WARP + lane] = word;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) b.first[b.warps] = (int32_t)b.brows;
}

/* *inexact := 1 when a value is none of f32's. Once one is found nobody looks further. */
__global__ void ib_inexact(const double *val, int64_t count, int *inexact) {
  int64_t stride = (int64_t)gridDim.x * blockDim.x;
  for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < count; k += stride) {
    if (*(volatile int *)inexact) return;
    if (!((double)(float)val[k] == val[k])) *(volatile int *)inexact = 1;
  }
}

/* origin of all thread blocks; most[0] := rows that end in one of them, most[1] := how far back one's origin lies. */
__global__ void ib_origins(const wr_bsr_interleaved b, int *most) {
  int64_t stride = (int64_t)gridDim.x * blockDim.x, per = (int64_t)WR_BSR_WARPS * WR_WARP * b.each;
  for (int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; t <= b.grid; t += stride) {
    int64_t w0 = t * WR_BSR_WARPS < b.warps ? t * WR_BSR_WARPS : b.warps, row = b.first[w0];
    int64_t w1 = w0 + WR_BSR_WARPS < b.warps ? w0 + WR_BSR_WARPS : b.warps;
    int64_t from = t < b.grid && row < b.brows ? b.start[row] / per : t;
    b.origin[t] = (int32_t)(from < t ? from : t);
    if (t < b.grid) atomicMax(most, (int)(b.first[w1] - row));
    if (from < t) atomicMax(most + 1, (int)(t - from));
  }
}

static unsigned grid_for(int64_t threads) {
  int64_t wanted = (threads + THREADS - 1) / THREADS;
  return wanted < 1 ? 1 : wanted < MOST_BLOCKS ? (unsigned)wanted : (unsigned)MOST_BLOCKS;
}

/* Which inner block rows have blocks. */
static wr_status sort_out_rows(wr_env *env, const cut &k, int64_t rows, wr_bsr_interleaved *b) {
  wr_status status;
  uint8_t *kinds = NULL;
  TRY(wr_device_alloc(env, &kinds, rows, 1, "kinds of block rows"));
  TRY(WR_LAUNCH((ib_kinds), grid_for(rows), THREADS, 0, env->stream, k, rows, kinds));
  TRY(wr_device_select(env, kinds, 0, rows, NULL, NULL, sizeof *b->row, &b->empty));
  b->brows = rows - b->empty;
  if (b->empty == 0) goto done;
  TRY(wr_device_alloc(env, &b->row, rows, sizeof *b->row, "block rows"));
  TRY(wr_device_alloc(env, &b->empty_row, rows, sizeof *b->empty_row, "empty block rows"));
  TRY(wr_device_select(env, kinds, 1, rows, NULL, b->row, sizeof *b->row, &b->brows));
  TRY(wr_device_select(env, kinds, 0, rows, NULL, b->empty_row, sizeof *b->empty_row, &b->empty));
done:
  wr_device_free(env->device, kinds);
  return status;
}

/* As what values are stored. */
static wr_status choose_stored(wr_env *env, const wr_bsr *from, int narrow, wr_bsr_interleaved *b) {
  wr_status status = WR_OK;
  int *inexact = NULL;
  int32_t found = 0;
  int64_t count = from->blocks * from->r * from->c;
  b->stored = b->type;
  if (!narrow || b->type != WR_F64) return WR_OK;
  TRY(wr_device_alloc_zeroed(env, &inexact, 1, sizeof *inexact, "a mark of values"));
  TRY(WR_LAUNCH((ib_inexact), grid_for(count), THREADS, 0, env->stream, (const double *)from->val, count, inexact));
  TRY(wr_device_download(env, &found, inexact, 1, WR_AS_4_BYTES));
  if (!found) b->stored = WR_F32;
done:
  wr_device_free(env->device, inexact);
  return status;
}

static wr_status allocate(wr_env *env, wr_bsr_interleaved *b) {
  wr_status status;
  int64_t lines = b->warps * b->each * WR_WARP;
  TRY(wr_device_alloc(env, &b->start, b->brows + 1, sizeof *b->start, "block rows"));
  TRY(wr_device_alloc(env, &b->col, lines, sizeof *b->col, "block columns"));
  TRY(wr_device_alloc(env, &b->val, lines * b->r * b->c, (size_t)wr_type_bytes(b->stored), "blocks"));
  TRY(wr_device_alloc(env, &b->word, b->warps * WR_WARP, sizeof *b->word, "lanes' words"));
  TRY(wr_device_alloc(env, &b->first, b->warps + 1, sizeof *b->first, "warps' rows"));
  TRY(wr_device_alloc(env, &b->origin, b->grid + 1, sizeof *b->origin, "where shared rows begin"));
  TRY(wr_device_alloc_zeroed(env, &b->head, b->grid * b->r, sizeof *b->head, "parts of shared rows"));
  TRY(wr_device_alloc_zeroed(env, &b->tail, b->grid * b->r, sizeof *b->tail, "parts of shared rows"));
done:
  return status;
}

static wr_status fill(wr_env *env, const cut &k, const wr_bsr *from, wr_bsr_interleaved *b) {
  wr_status status;
  int *most = NULL;
  int32_t found[2] = {0, 0};
  unsigned grid = grid_for(b->warps * WR_WARP);
  TRY(wr_device_alloc_zeroed(env, &most, 2, sizeof *most, "rows of a thread block"));
  TRY(WR_LAUNCH((ib_starts), grid_for(b->brows + 1), THREADS, 0, env->stream, k, *b));
  if (b->type == WR_F32)
    TRY(WR_LAUNCH((ib_fill<float, float>), grid, THREADS, 0, env->stream, k, *from, *b));
  else if (b->stored == WR_F32)
    TRY(WR_LAUNCH((ib_fill<double, float>), grid, THREADS, 0, env->stream, k, *from, *b));
  else
    TRY(WR_LAUNCH((ib_fill<double, double>), grid, THREADS, 0, env->stream, k, *from, *b));
  TRY(WR_LAUNCH((ib_origins), grid_for(b->grid + 1), THREADS, 0, env->stream, *b, most));
  TRY(wr_device_download(env, found, most, 2, WR_AS_4_BYTES));
  b->shared_rows = (int)found[0], b->longest = (int)found[1];
done:
  wr_device_free(env->device, most);
  return status;
}

extern "C" wr_status wr_bsr_interleave(wr_env *env, const wr_bsr *from, int each, int narrow, wr_bsr_interleaved *b) {
  wr_status status;
  const struct size *s = size_of(from->r, from->c);
  *b = {};
  if (!wr_bsr_can_interleave(from->r, from->c, from->ncols))
    return wr_fail(WR_EUNAVAILABLE,
                   "layout=interleaved has no kernel for blocks of %d x %d in %lld columns; layout=report has", from->r,
                   from->c, (long long)from->ncols);
  cut k = {from->row_ptr, from->wide, from->r / s->inner_r, from->c / s->inner_c};
  b->nrows = from->nrows, b->ncols = from->ncols, b->r = s->inner_r, b->c = s->inner_c, b->type = from->type;
  b->blocks = from->blocks * k.down * k.across;
  TRY(wr_cuda_enter(env));
  TRY(choose_stored(env, from, narrow, b));
  b->at_a_time = wr_bsr_at_a_time(b->r, b->c, (size_t)wr_type_bytes(b->stored));
  b->terms = wr_bsr_terms(b->c, b->at_a_time);
  b->each = choose_each(b->blocks, b->at_a_time, each);
  b->warps = (b->blocks + WR_WARP * b->each - 1) / (WR_WARP * b->each);
  b->grid = (b->warps + WR_BSR_WARPS - 1) / WR_BSR_WARPS;
  if (b->grid > INT32_MAX || from->brows * k.down > INT32_MAX || from->bcols * k.across > INT32_MAX)
    return wr_fail(WR_EUNAVAILABLE, "layout=interleaved has no room for %lld blocks; layout=report has",
                   (long long)from->blocks);
  TRY(sort_out_rows(env, k, from->brows * k.down, b));
  TRY(allocate(env, b));
  TRY(fill(env, k, from, b));
done:
  if (status != WR_OK) wr_bsr_interleaved_free(env, b);
  return status;
}

extern "C" void wr_bsr_interleaved_free(wr_env *env, wr_bsr_interleaved *b) {
  void *const arrays[] = {b->col, b->val,       b->word,   b->first, b->start,
                          b->row, b->empty_row, b->origin, b->head,  b->tail};
  for (void *array : arrays) wr_device_free(env->device, array);
  *b = {};
}

extern "C" int64_t wr_bsr_interleaved_bytes(const wr_bsr_interleaved *b) {
  int64_t lines = b->warps * b->each * WR_WARP, rows = b->brows + b->empty;
  return wr_device_bytes(b->brows + 1, sizeof *b->start) + wr_device_bytes(lines, sizeof *b->col) +
         wr_device_bytes(lines * b->r * b->c, (size_t)wr_type_bytes(b->stored)) +
         wr_device_bytes(b->warps * WR_WARP, sizeof *b->word) + wr_device_bytes(b->warps + 1, sizeof *b->first) +
         wr_device_bytes(b->grid + 1, sizeof *b->origin) + 2 * wr_device_bytes(b->grid * b->r, sizeof *b->head) +
         (b->empty ? 2 * wr_device_bytes(rows, sizeof *b->row) : 0);
}

extern "C" unsigned wr_bsr_interleaved_last_grid(const wr_bsr_interleaved *b) {
  int64_t shared = b->grid * b->r, empty = b->empty * b->r, each = WR_BSR_WARPS * WR_WARP;
  int64_t wanted = ((shared > empty ? shared : empty) + each - 1) / each;
  return wanted < 1 ? 1 : wanted < MOST_BLOCKS ? (unsigned)wanted : (unsigned)MOST_BLOCKS;
}

/* y[i] := 0 for the scalar rows i that are completed from parts. */
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
  wr_status status;
  const wr_vec *y = args->request.y;
  unsigned grid = grid_for(b->grid * b->r);
  TRY(wr_cuda_enter(env));
  if (b->commit == WR_BSR_DUAL && args->request.beta == 0 && !args->y_prepared) {
    if (b->type == WR_F32)
      TRY(WR_LAUNCH((ib_clear<float>), grid, THREADS, 0, env->stream, *b, (float *)y->data));
    else
      TRY(WR_LAUNCH((ib_clear<double>), grid, THREADS, 0, env->stream, *b, (double *)y->data));
  }
  if (b->type == WR_F32)
    TRY(wr_bsr_interleaved_launch_f32(env, b, &args->request));
  else if (b->stored == WR_F32)
    TRY(wr_bsr_interleaved_launch_narrow(env, b, &args->request));
  else
    TRY(wr_bsr_interleaved_launch_f64(env, b, &args->request));
done:
  return status;
}
