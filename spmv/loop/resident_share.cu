/* Makes the shares of a resident loop's matrix: one thread block a share numbers the columns that the share needs, by a bit for
 * each column between the least and the greatest, and lays out the image. It runs twice, first to count. */
#include <cuda_runtime.h>
#include <string.h>

#include "config/memory.h"
#include "spmv/device/check.cuh"
#include "spmv/device/device_memory.h"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/warp.cuh"
#include "spmv/loop/resident_share.h"

enum { THREADS = WR_SHARE_THREADS };

template <typename T>
struct source {
  int64_t nrows;
  const int32_t *row_ptr, *col;
  const T *val; /* NULL: a pattern */
  int words, most_rows; /* room in shared memory: words of 32 columns, rows of tiles */
};

/* Arrays in shared memory. */
struct numbering {
  unsigned *bits; /* [words]: bit c % 32 of word c / 32: column low + c is needed */
  int *rank;      /* [words]: needed columns before the word's                    */
  int *starts;    /* [most_rows + 1]: tiles before each row                       */
  int low;
};

/* Entries before row `row` of tiles. */
template <int SIDE, typename T>
__device__ inline int entries_before(const source<T> &a, int64_t row) {
  return __ldg(a.row_ptr + (row * SIDE < a.nrows ? row * SIDE : a.nrows));
}

template <int SIDE, typename T>
__device__ inline int64_t work_before(const source<T> &a, int64_t row) {
  return entries_before<SIDE>(a, row) + (int64_t)WR_SHARE_ROW_WEIGHT * SIDE * row;
}

/* By one warp: the first row of tiles of share `share`; the number of rows of tiles if share is the number of shares. Of the
 * two rows between which the share's work would begin, the one that is nearer, so that a long row makes its share as little
 * larger than the others as possible. */
template <int SIDE, typename T>
__device__ inline int first_row(const source<T> &a, int share) {
  int64_t rows = (a.nrows + SIDE - 1) / SIDE, target = work_before<SIDE>(a, rows) * share / gridDim.x;
  int lane = threadIdx.x % WR_WARP;
  int64_t low = 0, high = rows; /* the row is in [low, high] */
  while (low < high) {
    int64_t span = high - low, at = low + span * lane / WR_WARP;
    unsigned reached = __ballot_sync((unsigned)WR_FULL_MASK, work_before<SIDE>(a, at) >= target);
    int before = reached ? __ffs((int)reached) - 1 : WR_WARP; /* lanes with a row before it */
    if (before < WR_WARP) high = low + span * before / WR_WARP;
    if (before > 0) low = low + span * (before - 1) / WR_WARP + 1;
  }
  bool sooner = low > 0 && target - work_before<SIDE>(a, low - 1) < work_before<SIDE>(a, low) - target;
  return (int)(sooner ? low - 1 : low);
}

/* The sum of `value` over the threads before this one; *total := over all. Every thread of the block. */
__device__ inline int sum_before(int value, int *total) {
  WR_SHARED(int, warps, WR_WARP);
  int lane = threadIdx.x % WR_WARP, warp = threadIdx.x / WR_WARP, sum = value, before = 0;
  for (int distance = 1; distance < WR_WARP; distance *= 2) {
    int other = __shfl_up_sync((unsigned)WR_FULL_MASK, sum, (unsigned)distance);
    if (lane >= distance) sum += other;
  }
  if (lane == WR_WARP - 1) warps[warp] = sum;
  __syncthreads();
  *total = 0;
  for (int w = 0; w < THREADS / WR_WARP; w++) before += w < warp ? warps[w] : 0, *total += warps[w];
  __syncthreads();
  return before + sum - value;
}

/* s->first, rows, most; and n->low, returning the number of columns from there to the greatest. */
template <int SIDE, typename T>
__device__ inline int find_rows(const source<T> &a, wr_share *s, numbering *n) {
  WR_SHARED(int, found, 5); /* both rows; the least and the greatest column; the longest row */
  int warp = threadIdx.x / WR_WARP;
  if (threadIdx.x == 0) found[2] = INT32_MAX, found[3] = -1, found[4] = 0;
  if (warp < 2) {
    int row = first_row<SIDE>(a, (int)blockIdx.x + warp);
    if (threadIdx.x % WR_WARP == 0) found[warp] = row;
  }
  __syncthreads();
  s->first = found[0], s->rows = found[1] - found[0];
  int64_t end = (int64_t)found[1] * SIDE < a.nrows ? (int64_t)found[1] * SIDE : a.nrows;
  int least = INT32_MAX, greatest = -1, longest = 0;
  for (int64_t i = (int64_t)s->first * SIDE + threadIdx.x; i < end; i += THREADS) {
    int from = __ldg(a.row_ptr + i), to = __ldg(a.row_ptr + i + 1);
    if (from == to) continue;
    least = min(least, __ldg(a.col + from) / SIDE), greatest = max(greatest, __ldg(a.col + to - 1) / SIDE);
    longest = max(longest, to - from);
  }
  atomicMin(&found[2], least), atomicMax(&found[3], greatest), atomicMax(&found[4], longest);
  __syncthreads();
  n->low = found[3] < 0 ? 0 : found[2], s->most = found[4];
  return found[3] < 0 ? 1 : found[3] - found[2] + 1;
}

/* Numbers the columns of the share's entries [begin, end). */
template <int SIDE, typename T>
__device__ inline int number_columns(const source<T> &a, int begin, int end, int words, const numbering &n) {
  int count = 0, total;
  for (int w = threadIdx.x; w < words; w += THREADS) n.bits[w] = 0;
  __syncthreads();
  for (int e = begin + (int)threadIdx.x; e < end; e += THREADS) {
    unsigned c = (unsigned)(__ldg(a.col + e) / SIDE - n.low), bit = 1u << c % 32;
    if (!(*(volatile unsigned *)&n.bits[c / 32] & bit)) atomicOr(&n.bits[c / 32], bit);
  }
  __syncthreads();
  for (int first = 0; first < words; first += THREADS) {
    int w = first + (int)threadIdx.x, before = sum_before(w < words ? __popc(n.bits[w]) : 0, &total);
    if (w < words) n.rank[w] = count + before;
    count += total;
  }
  __syncthreads();
  return count;
}

__device__ inline int number_of(const numbering &n, int column) {
  unsigned c = (unsigned)(column - n.low);
  return n.rank[c / 32] + __popc(n.bits[c / 32] & ((1u << c % 32) - 1));
}

/* A cursor over the entries of a row of tiles. */
template <int SIDE>
struct row_cursor {
  int at[SIDE], end[SIDE];
};

template <int SIDE, typename T>
__device__ inline row_cursor<SIDE> open_row(const source<T> &a, int64_t row) {
  row_cursor<SIDE> c;
#pragma unroll
  for (int r = 0; r < SIDE; r++) {
    int64_t i = row * SIDE + r;
    c.at[r] = i < a.nrows ? __ldg(a.row_ptr + i) : 0, c.end[r] = i < a.nrows ? __ldg(a.row_ptr + i + 1) : 0;
  }
  return c;
}

/* The column of the next tile; -1: there is none. */
template <int SIDE, typename T>
__device__ inline int next_tile(const source<T> &a, const row_cursor<SIDE> &c) {
  int least = INT32_MAX;
#pragma unroll
  for (int r = 0; r < SIDE; r++)
    if (c.at[r] < c.end[r]) least = min(least, __ldg(a.col + c.at[r]) / SIDE);
  return least == INT32_MAX ? -1 : least;
}

/* Moves the cursor over the tile of a column, with its values in value[SIDE * SIDE], 0 where it has no entry. */
template <int SIDE, typename T>
__device__ inline void take_tile(const source<T> &a, int column, row_cursor<SIDE> &c, T (&value)[SIDE * SIDE]) {
#pragma unroll
  for (int v = 0; v < SIDE * SIDE; v++) value[v] = 0;
#pragma unroll
  for (int r = 0; r < SIDE; r++)
    for (int k = 0; k < SIDE; k++) {
      int within = c.at[r] < c.end[r] ? __ldg(a.col + c.at[r]) - column * SIDE : SIDE;
      if (within >= SIDE) break;
#pragma unroll
      for (int j = 0; j < SIDE; j++)
        if (j == within && a.val) value[r * SIDE + j] = __ldg(a.val + c.at[r]);
      c.at[r]++;
    }
}

template <int SIDE, typename T>
__device__ inline int count_tiles(const source<T> &a, int64_t row) {
  T value[SIDE * SIDE];
  int count = 0;
  if (SIDE == 1) return entries_before<SIDE>(a, row + 1) - entries_before<SIDE>(a, row);
  row_cursor<SIDE> c = open_row<SIDE>(a, row);
  for (int column; (column = next_tile<SIDE>(a, c)) >= 0; count++) take_tile<SIDE>(a, column, c, value);
  return count;
}

/* n.starts, and s->tiles, steps, width. */
template <int SIDE, typename T>
__device__ inline void count_rows(const source<T> &a, wr_share *s, const numbering &n) {
  int count = 0, total;
  for (int first = 0; first < s->rows; first += THREADS) {
    int i = first + (int)threadIdx.x;
    int before = sum_before(i < s->rows ? count_tiles<SIDE>(a, s->first + i) : 0, &total);
    if (i < s->rows) n.starts[i] = count + before;
    count += total;
  }
  if (threadIdx.x == 0) n.starts[s->rows] = count;
  s->tiles = count, s->steps = (count + THREADS - 1) / THREADS;
  s->width = s->steps ? (count + s->steps - 1) / s->steps : 0;
  __syncthreads();
}

/* Slots of row i. */
__device__ inline int slots_of(const wr_share &s, const numbering &n, int i) {
  int from = n.starts[i], to = n.starts[i + 1];
  return from == to ? 0 : (to - 1) / s.steps - from / s.steps + 1;
}

/* s->slots; and the first slot of each row, if `slots` is not NULL. */
__device__ inline void count_slots(wr_share *s, const numbering &n, uint16_t *slots) {
  int count = 0, total;
  for (int first = 0; first < s->rows; first += THREADS) {
    int i = first + (int)threadIdx.x, before = sum_before(i < s->rows ? slots_of(*s, n, i) : 0, &total);
    if (i < s->rows && slots) slots[i] = (uint16_t)(count + before);
    count += total;
  }
  if (threadIdx.x == 0 && slots) slots[s->rows] = (uint16_t)count;
  s->slots = count;
  __syncthreads();
}

/* The row with tile p: the last one with starts[row] <= p. */
__device__ inline int row_of(const wr_share &s, const numbering &n, int p) {
  int low = 0, high = s.rows - 1;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (n.starts[middle] <= p)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* Stores tile p, the last of its row or not. */
template <int SIDE, typename T>
__device__ inline void store_tile(const wr_share &s, const wr_share_layout &at, char *image, int p, bool ends_row,
                                  int number, bool is_pattern, const T (&value)[SIDE * SIDE]) {
  int t = p / s.steps, k = p % s.steps;
  char *step = image + at.first_step + (int64_t)k * at.step;
  bool ends = ends_row || k == s.steps - 1;
  ((uint16_t *)(step + at.column))[t] = (uint16_t)(number | (ends ? WR_SHARE_ENDS : 0));
  if (is_pattern) return;
#pragma unroll
  for (int v = 0; v < SIDE * SIDE; v++) ((T *)step)[v * s.width + t] = value[v];
}

/* Single entries, by the thread that will multiply them. */
template <typename T>
__device__ inline void store_entries(const source<T> &a, const wr_share &s, const wr_share_layout &at,
                                     const numbering &n, int begin, char *image) {
  int t = threadIdx.x, p = t * s.steps, end = p + s.steps < s.tiles ? p + s.steps : s.tiles;
  if (t >= s.width) return;
  for (int row = row_of(s, n, p); p < end; p++) {
    while (n.starts[row + 1] <= p) row++;
    T value[1] = {a.val ? __ldg(a.val + begin + p) : (T)1};
    store_tile<1>(s, at, image, p, n.starts[row + 1] == p + 1, number_of(n, __ldg(a.col + begin + p)), a.val == NULL,
                  value);
  }
}

/* Tiles of more than one entry, by a thread a row. */
template <int SIDE, typename T>
__device__ inline void store_tiles(const source<T> &a, const wr_share &s, const wr_share_layout &at, const numbering &n,
                                   char *image) {
  for (int i = threadIdx.x; i < s.rows; i += THREADS) {
    row_cursor<SIDE> c = open_row<SIDE>(a, s.first + i);
    for (int p = n.starts[i]; p < n.starts[i + 1]; p++) {
      T value[SIDE * SIDE];
      int column = next_tile<SIDE>(a, c);
      take_tile<SIDE>(a, column, c, value);
      store_tile<SIDE>(s, at, image, p, p + 1 == n.starts[i + 1], number_of(n, column), a.val == NULL, value);
    }
  }
}

template <int SIDE, typename T>
__device__ inline void store_share(const source<T> &a, wr_share *s, const numbering &n, int words, int begin,
                                   char *image) {
  wr_share_layout at = wr_share_layout_of(s, a.val ? SIDE * SIDE * (int)sizeof(T) : 0);
  uint16_t *row_slots = (uint16_t *)(image + at.row_slots), *thread_slots = (uint16_t *)(image + at.thread_slots);
  for (int w = threadIdx.x; w < words; w += THREADS) {
    int number = n.rank[w];
    for (unsigned bits = n.bits[w]; bits; bits &= bits - 1)
      ((int32_t *)image)[number++] = n.low + 32 * w + __ffs((int)bits) - 1;
  }
  count_slots(s, n, row_slots);
  for (int t = threadIdx.x; t < s->width; t += THREADS) {
    int row = row_of(*s, n, t * s->steps);
    while (n.starts[row + 1] <= t * s->steps) row++; /* over empty rows */
    thread_slots[t] = (uint16_t)(row_slots[row] + t - n.starts[row] / s->steps);
  }
  if (SIDE == 1)
    store_entries(a, *s, at, n, begin, image);
  else
    store_tiles<SIDE>(a, *s, at, n, image);
}

/* images NULL: counts alone, into shares[blockIdx.x]. */
template <int SIDE, typename T>
__global__ void __launch_bounds__(THREADS) make_shares(source<T> a, wr_share *shares, char *images) {
  WR_SHARED_DYNAMIC(unsigned, room);
  numbering n = {room, (int *)room + a.words, (int *)room + 2 * a.words, 0};
  wr_share s = {};
  int span = find_rows<SIDE>(a, &s, &n), words = (span + 31) / 32;
  if (words > a.words || s.rows > a.most_rows) {
    if (threadIdx.x == 0) s.columns = -1, shares[blockIdx.x] = s;
    return;
  }
  int begin = entries_before<SIDE>(a, s.first), end = entries_before<SIDE>(a, s.first + s.rows);
  s.columns = number_columns<SIDE>(a, begin, end, words, n);
  count_rows<SIDE>(a, &s, n);
  if (images) {
    store_share<SIDE>(a, &s, n, words, begin, images + shares[blockIdx.x].at);
  } else {
    count_slots(&s, n, NULL);
    if (threadIdx.x == 0) shares[blockIdx.x] = s;
  }
}

/* ---- On the host ---- */

/* Room for the columns of 800 thousand rows. */
enum { WORDS = 25000 };

static size_t room_bytes(const wr_share_matrix *A, const wr_shares *s, int *words, int *rows) {
  int64_t tiles = (A->nrows + A->side - 1) / A->side, needed = ((A->ncols + A->side - 1) / A->side + 31) / 32;
  int64_t work = (A->nnz + WR_SHARE_ROW_WEIGHT * (A->nrows + A->side)) / s->count + 1,
          most = work / (WR_SHARE_ROW_WEIGHT * A->side) + 3;
  *words = needed < WORDS ? (int)needed : (int)WORDS;
  *rows = (int)(most < tiles ? most : tiles);
  if (*rows > WR_SHARE_MOST_ROWS) *rows = WR_SHARE_MOST_ROWS;
  return (2 * (size_t)*words + (size_t)*rows + 1) * sizeof(int);
}

template <int SIDE, typename T>
static wr_status make(wr_env *env, const wr_share_matrix *A, wr_shares *s) {
  source<T> a = {A->nrows, (const int32_t *)A->view.row_ptr, A->view.col, (const T *)A->view.val, 0, 0};
  size_t room = room_bytes(A, s, &a.words, &a.most_rows);
  PASS(WR_CUDA(cudaFuncSetAttribute((const void *)make_shares<SIDE, T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    (int)room)));
  return WR_LAUNCH((make_shares<SIDE, T>), (unsigned)s->count, THREADS, room, env->stream, a, s->on_device, s->images);
}

template <typename T>
static wr_status make_of_type(wr_env *env, const wr_share_matrix *A, wr_shares *s) {
  return A->side == 1   ? make<1, T>(env, A, s)
         : A->side == 2 ? make<2, T>(env, A, s)
         : A->side == 3 ? make<3, T>(env, A, s)
                        : make<4, T>(env, A, s);
}

static wr_status make_of_env(wr_env *env, const wr_share_matrix *A, wr_shares *s) {
  return env->type == WR_F32 ? make_of_type<float>(env, A, s) : make_of_type<double>(env, A, s);
}

/* The sums and maxima over all shares, and the places of their images. */
static wr_status add_up(wr_shares *s, wr_share *shares) {
  for (int k = 0; k < s->count; k++) {
    wr_share *one = &shares[k];
    if (one->columns < 0) return wr_fail(WR_EUNAVAILABLE, "the columns of a part of the matrix lie too far apart");
    int64_t bytes = wr_share_bytes(one, s->value_bytes), beside = wr_share_beside(one, s->side, s->sums);
    int64_t head = wr_share_layout_of(one, s->value_bytes).first_step;
    one->at = s->bytes, s->bytes += bytes;
    if (beside + bytes > s->most_bytes) s->most_bytes = beside + bytes;
    if (beside + head > s->most_head) s->most_head = beside + head;
    if (one->columns > s->columns) s->columns = one->columns;
    if (one->most > s->most) s->most = one->most;
  }
  return WR_OK;
}

extern "C" wr_status wr_shares_count(wr_env *env, const wr_share_matrix *A, int count, int sums, wr_shares *out) {
  wr_status status;
  wr_share *shares = NULL;
  wr_shares s = {};
  s.count = count, s.sums = sums, s.side = A->side,
  s.value_bytes = A->view.val ? A->side * A->side * (int)wr_type_bytes(env->type) : 0;
  memset(out, 0, sizeof *out);
  TRY(wr_alloc(&shares, count, sizeof *shares, "shares of a matrix"));
  TRY(wr_device_alloc(env, &s.on_device, count, sizeof *shares, "shares of a matrix"));
  TRY(make_of_env(env, A, &s));
  TRY(wr_device_download(env, shares, s.on_device, count * (int64_t)(sizeof *shares / 8), WR_AS_8_BYTES));
  TRY(add_up(&s, shares));
  TRY(wr_device_upload(env, s.on_device, shares, count * (int64_t)(sizeof *shares / 8), WR_AS_8_BYTES));
  *out = s, s.on_device = NULL;
done:
  wr_device_free(env, s.on_device);
  wr_free(shares);
  return status;
}

extern "C" wr_status wr_shares_fill(wr_env *env, const wr_share_matrix *A, wr_shares *s) {
  PASS(wr_device_alloc_zeroed(env, &s->images, s->bytes > 0 ? s->bytes : 1, 1, "shares of a matrix"));
  return make_of_env(env, A, s);
}

extern "C" void wr_shares_free(wr_env *env, wr_shares *s) {
  wr_device_free(env, s->on_device);
  wr_device_free(env, s->images);
  memset(s, 0, sizeof *s);
}
