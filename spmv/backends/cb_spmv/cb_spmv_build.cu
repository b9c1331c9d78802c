/* Finds the blocks on a device. The rows of a block row are merged by half a warp, a lane for each row; nothing is sorted.
 * The first pass counts plain blocks and distinct columns, which decides on aggregation; the second writes the blocks' words
 * or, if aggregated, their columns. Then half a warp writes a block's bytes (cb_spmv_fill.cu). Long block rows are cut into
 * tasks, so that the length of block rows does not matter. */
#include "spmv/backends/cb_spmv/cb_spmv_rows.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/device/sort.h"

constexpr int WINDOW = 32; /* columns that one step of merging covers, two blocks: a bit each */

/* A block row has one task, and one more for each multiple of TASK entries that lies in it. So tasks are numbered without a
 * scan: block row ib's first one is ib + row_ptr[16 * ib] / TASK. */
constexpr int TASK = 2048;

template <typename P>
static __device__ inline int64_t entries_before(const cb_rows<P> &a, int64_t ib) {
  int64_t i = ib * WR_CB_SIDE;
  return a.row_ptr[i < a.nrows ? i : a.nrows];
}

template <typename P>
static __device__ inline int64_t first_task(const cb_rows<P> &a, int64_t ib) {
  return ib + entries_before(a, ib) / TASK;
}

/* The block row with first_task(it) <= t < first_task(it + 1). */
template <typename P>
static __device__ inline int64_t block_row_of(const cb_rows<P> &a, int64_t t) {
  int64_t low = 0, high = a.brows;
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    if (first_task(a, middle) <= t)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static __device__ inline uint32_t group_min(uint32_t value) {
#pragma unroll
  for (int distance = WR_CB_SIDE / 2; distance > 0; distance /= 2) {
    uint32_t other = __shfl_xor_sync(CB_FULL, value, distance);
    value = other < value ? other : value;
  }
  return value;
}

static __device__ inline uint32_t group_or(uint32_t value) {
#pragma unroll
  for (int distance = WR_CB_SIDE / 2; distance > 0; distance /= 2) value |= __shfl_xor_sync(CB_FULL, value, distance);
  return value;
}

static __device__ inline int64_t share(int64_t count, int64_t part, int64_t parts) {
  return count / parts * part + count % parts * part / parts;
}

/* The entry of row begin..end at which a lane's part of a block row begins. All lanes split at the same window: the last one
 * that has at most part / parts of the entries before it. Groups with `wanted` 0 only take part in the shuffles and get
 * their end. */
template <typename P>
static __device__ P split_rows(const cb_rows<P> &a, P begin, P end, int64_t part, int64_t parts, bool wanted) {
  uint32_t low = 0, high = wanted ? (uint32_t)WR_MAX_INDEX / WINDOW : 0;
  int64_t goal = share(cb_sum((int64_t)(end - begin)), part, parts);
  P first = begin, last = end;
  while (__any_sync(CB_FULL, low < high)) {
    uint32_t middle = low + (high - low + 1) / 2;
    P place = wr_find_column(a.col, first, last, middle * WINDOW);
    bool before = cb_sum((int64_t)(place - begin)) <= goal, searching = low < high;
    if (searching && before) low = middle, first = place;
    if (searching && !before) high = middle - 1, last = place;
  }
  return wanted ? wr_find_column(a.col, first, last, low * WINDOW) : end;
}

/* What a lane has left to read of its row: entries at..end - 1, of which the first is in column `next`; CB_NONE: no entries. */
template <typename P>
struct cb_lane {
  P at, end;
  uint32_t next;
};

/* The lane's row of task t of block row ib. */
template <typename P>
static __device__ cb_lane<P> open_row(const cb_rows<P> &a, int64_t t, int64_t ib) {
  bool any = t < a.tasks;
  int64_t i = ib * WR_CB_SIDE + threadIdx.x % WR_CB_SIDE, part = any ? t - first_task(a, ib) : 0;
  int64_t parts = any ? first_task(a, ib + 1) - first_task(a, ib) : 1;
  P begin = 0, end = 0;
  if (any && i < a.nrows) begin = a.row_ptr[i], end = a.row_ptr[i + 1];
  P from = begin, to = end;
  if (__any_sync(CB_FULL, parts > 1)) {
    P place = split_rows(a, begin, end, part, parts, part > 0);
    if (part > 0) from = place;
    place = split_rows(a, begin, end, part + 1, parts, part + 1 < parts);
    if (part + 1 < parts) to = place;
  }
  return {from, to, from < to ? (uint32_t)a.col[from] : CB_NONE};
}

/* Reads the row up to the end of a window; returns which of its columns the row has. */
template <typename P>
static __device__ inline uint32_t read_window(const int32_t *col, cb_lane<P> *mine, uint32_t window) {
  uint32_t mask = 0, limit = (window + 1) * WINDOW;
  while (mine->next < limit) {
    mask |= 1u << mine->next % WINDOW;
    mine->at++;
    mine->next = mine->at < mine->end ? (uint32_t)col[mine->at] : CB_NONE;
  }
  return mask;
}

/* Entries of the group's rows in the two blocks of a window. */
static __device__ inline void count_halves(uint32_t mask, int *left, int *right) {
  int both = cb_sum(__popc(mask & 0xffff) | __popc(mask >> 16) << 16);
  *left = both & 0xffff, *right = both >> 16;
}

/* columns[t], blocks[t] := the task's numbers of distinct columns and of plain blocks; *total += the sums over all blocks. */
template <typename P>
__global__ void __launch_bounds__(CB_THREADS)
    cb_count(const cb_rows<P> a, int32_t *columns, int32_t *blocks, wr_cb_fill *total) {
  int64_t group = cb_group(), groups = cb_groups();
  bool writes = threadIdx.x % WR_CB_SIDE == 0;
  unsigned long long all_blocks = 0, sparse = 0, heavy = 0;
  for (int64_t t = group; __any_sync(CB_FULL, t < a.tasks); t += groups) {
    cb_lane<P> mine = open_row(a, t, t < a.tasks ? block_row_of(a, t) : 0);
    int distinct = 0, found = 0;
    for (uint32_t least; least = group_min(mine.next), __any_sync(CB_FULL, least != CB_NONE);) {
      uint32_t mask = read_window(a.col, &mine, least == CB_NONE ? 0 : least / WINDOW);
      int left, right;
      count_halves(mask, &left, &right);
      distinct += __popc(group_or(mask));
      found += (left > 0) + (right > 0);
      sparse += (left > 0 && left < WR_CB_SUPER_SPARSE) + (right > 0 && right < WR_CB_SUPER_SPARSE);
      heavy += (left > WR_CB_SUPER_SPARSE ? left : 0) + (right > WR_CB_SUPER_SPARSE ? right : 0);
    }
    if (writes && t < a.tasks) columns[t] = distinct, blocks[t] = found;
    all_blocks += (unsigned)found;
  }
  if (!writes) return;
  atomicAdd((unsigned long long *)&total->blocks, all_blocks);
  atomicAdd((unsigned long long *)&total->super_sparse, sparse);
  atomicAdd((unsigned long long *)&total->heavy, heavy);
}

/* *word, *units := those of a plain block. */
static __device__ inline void write_word(const wr_cb_options &o, int64_t row, int64_t col, int count, int value_bytes,
                                         uint64_t *word, int32_t *units) {
  int kind = wr_cb_pick(&o, count);
  *word = wr_cb_word(row, col, count, kind);
  *units = wr_cb_units(kind, count, value_bytes);
}

/* Words and units of all plain blocks. offsets[t]: blocks before task t. */
template <typename P>
__global__ void __launch_bounds__(CB_THREADS)
    cb_plain(const cb_rows<P> a, const int64_t *offsets, int value_bytes, uint64_t *word, int32_t *units) {
  int64_t group = cb_group(), groups = cb_groups();
  bool writes = threadIdx.x % WR_CB_SIDE == 0;
  for (int64_t t = group; __any_sync(CB_FULL, t < a.tasks); t += groups) {
    int64_t ib = t < a.tasks ? block_row_of(a, t) : 0, k = t < a.tasks ? offsets[t] : 0;
    cb_lane<P> mine = open_row(a, t, ib);
    for (uint32_t least; least = group_min(mine.next), __any_sync(CB_FULL, least != CB_NONE);) {
      int64_t col = (int64_t)(least / WINDOW) * 2;
      int left, right;
      count_halves(read_window(a.col, &mine, least == CB_NONE ? 0 : least / WINDOW), &left, &right);
      if (writes && left) write_word(a.options, ib, col, left, value_bytes, word + k, units + k);
      k += left > 0;
      if (writes && right) write_word(a.options, ib, col + 1, right, value_bytes, word + k, units + k);
      k += right > 0;
    }
  }
}

/* counts[ib] := aggregated blocks of block row ib. offsets[t]: distinct columns before task t, of all block rows. */
template <typename P>
__global__ void __launch_bounds__(CB_THREADS)
    cb_size_rows(const cb_rows<P> a, const int64_t *offsets, int32_t *counts) {
  int64_t threads = (int64_t)gridDim.x * CB_THREADS;
  for (int64_t ib = (int64_t)blockIdx.x * CB_THREADS + threadIdx.x; ib < a.brows; ib += threads) {
    int64_t columns = offsets[first_task(a, ib + 1)] - offsets[first_task(a, ib)];
    counts[ib] = (int32_t)((columns + WR_CB_SIDE - 1) / WR_CB_SIDE);
  }
}

/* restore_cols and words of aggregated blocks; entries and types in the words are set later. begin[ib]: blocks before a block
 * row. */
template <typename P>
__global__ void __launch_bounds__(CB_THREADS)
    cb_aggregate(const cb_rows<P> a, const int64_t *offsets, const int64_t *begin, uint64_t *word,
                 int32_t *restore_cols) {
  int64_t group = cb_group(), groups = cb_groups();
  int lane = threadIdx.x % WR_CB_SIDE;
  for (int64_t t = group; __any_sync(CB_FULL, t < a.tasks); t += groups) {
    int64_t ib = t < a.tasks ? block_row_of(a, t) : 0, rank = 0, k = 0;
    if (t < a.tasks) rank = offsets[t] - offsets[first_task(a, ib)], k = begin[ib];
    cb_lane<P> mine = open_row(a, t, ib);
    for (uint32_t least; least = group_min(mine.next), __any_sync(CB_FULL, least != CB_NONE);) {
      uint32_t window = least == CB_NONE ? 0 : least / WINDOW, mask = group_or(read_window(a.col, &mine, window));
      for (int bit = lane; bit < WINDOW; bit += WR_CB_SIDE) {
        if (!(mask >> bit & 1)) continue;
        int64_t place = rank + __popc(mask & ((1u << bit) - 1));
        restore_cols[k * WR_CB_SIDE + place] = (int32_t)(window * WINDOW + bit);
        if (place % WR_CB_SIDE == 0) word[k + place / WR_CB_SIDE] = wr_cb_word(ib, place / WR_CB_SIDE, 1, WR_CB_COO);
      }
      rank += __popc(mask);
    }
  }
}

/* ---- From the view to the format ---- */

/* Temporary device memory. Two allocations for all arrays, because an allocation takes longer than some of the kernels. */
typedef struct cb_scratch {
  void *of_tasks, *of_blocks;
  wr_cb_fill *total;
  int32_t *columns, *blocks; /* [tasks] distinct columns, and plain blocks */
  int64_t *offsets;          /* [tasks + 1] prefix sums of one of these    */
  int32_t *of_row;           /* [brows] aggregated blocks                  */
  int64_t *begin;            /* [brows + 1] prefix sums of of_row          */
  int32_t *units;            /* [blocks]                                   */
  cb_found found;
} cb_scratch;

/* The place of an array of count elements at offset *at of memory, which is NULL while sizes are added up. */
static void *take(void *memory, int64_t *at, int64_t count, size_t size) {
  char *place = memory ? (char *)memory + *at : nullptr;
  *at += wr_device_bytes(count, size);
  return place;
}

static int64_t lay_out_tasks(cb_scratch *s, int64_t tasks, int64_t brows) {
  int64_t bytes = 0;
  s->total = (wr_cb_fill *)take(s->of_tasks, &bytes, 1, sizeof *s->total);
  s->columns = (int32_t *)take(s->of_tasks, &bytes, tasks, sizeof *s->columns);
  s->blocks = (int32_t *)take(s->of_tasks, &bytes, tasks, sizeof *s->blocks);
  s->offsets = (int64_t *)take(s->of_tasks, &bytes, tasks + 1, sizeof *s->offsets);
  s->of_row = (int32_t *)take(s->of_tasks, &bytes, brows, sizeof *s->of_row);
  s->begin = (int64_t *)take(s->of_tasks, &bytes, brows + 1, sizeof *s->begin);
  return bytes;
}

static int64_t lay_out_blocks(cb_scratch *s, const wr_cb_format *f) {
  int64_t bytes = 0, columns = f->aggregated ? f->blocks * WR_CB_SIDE : 0;
  s->units = (int32_t *)take(s->of_blocks, &bytes, f->blocks, sizeof *s->units);
  s->found.word = (uint64_t *)take(s->of_blocks, &bytes, f->blocks, sizeof *s->found.word);
  s->found.offset = (int64_t *)take(s->of_blocks, &bytes, f->blocks + 1, sizeof *s->found.offset);
  s->found.restore_cols = (int32_t *)take(s->of_blocks, &bytes, columns, sizeof *s->found.restore_cols);
  if (!f->aggregated) s->found.restore_cols = nullptr;
  return bytes;
}

/* Zeroed if aggregated: the last block of a block row may have fewer than 16 columns. */
static wr_status allocate_blocks(wr_env *env, const wr_cb_format *f, cb_scratch *s) {
  wr_status (*alloc)(wr_env *, void *, int64_t, size_t, const char *) =
      f->aggregated ? wr_device_alloc_zeroed : wr_device_alloc;
  wr_status status = alloc(env, &s->of_blocks, lay_out_blocks(s, f), 1, "finding blocks");
  lay_out_blocks(s, f);
  return status;
}

template <typename P>
static wr_status count_tasks(wr_env *env, const cb_rows<P> &a, cb_scratch *s, wr_cb_fill *plain) {
  PASS(wr_device_alloc_zeroed(env, &s->of_tasks, lay_out_tasks(s, a.tasks, a.brows), 1, "counting blocks"));
  lay_out_tasks(s, a.tasks, a.brows);
  PASS(WR_LAUNCH((cb_count<P>), cb_grid(env, a.tasks), CB_THREADS, 0, env->stream, a, s->columns, s->blocks, s->total));
  return wr_device_download(env, plain, s->total, sizeof *plain / 8, WR_AS_8_BYTES);
}

/* Chooses th1 in a.options, now that the number of blocks is known. */
template <typename P>
static wr_status find_plain(wr_env *env, cb_rows<P> &a, cb_scratch *s, wr_cb_format *f) {
  PASS(wr_device_scan(env, s->blocks, sizeof *s->blocks, a.tasks, s->offsets, sizeof *s->offsets, &f->blocks));
  a.options = wr_cb_with_types(&a.options, f->nnz, f->blocks);
  PASS(allocate_blocks(env, f, s));
  return WR_LAUNCH((cb_plain<P>), cb_grid(env, a.tasks), CB_THREADS, 0, env->stream, a, (const int64_t *)s->offsets,
                   (int)wr_type_bytes(f->type), s->found.word, s->units);
}

template <typename P>
static wr_status find_aggregated(wr_env *env, const wr_csr_view *view, cb_rows<P> &a, cb_scratch *s, wr_cb_format *f) {
  const int64_t *offsets = s->offsets;
  PASS(wr_device_scan(env, s->columns, sizeof *s->columns, a.tasks, s->offsets, sizeof *s->offsets, nullptr));
  PASS(WR_LAUNCH((cb_size_rows<P>), cb_grid(env, a.brows / WR_CB_SIDE + 1), CB_THREADS, 0, env->stream, a, offsets,
                 s->of_row));
  PASS(wr_device_scan(env, s->of_row, sizeof *s->of_row, a.brows, s->begin, sizeof *s->begin, &f->blocks));
  a.options = wr_cb_with_types(&a.options, f->nnz, f->blocks);
  PASS(allocate_blocks(env, f, s));
  PASS(WR_LAUNCH((cb_aggregate<P>), cb_grid(env, a.tasks), CB_THREADS, 0, env->stream, a, offsets,
                 (const int64_t *)s->begin, s->found.word, s->found.restore_cols));
  return wr_cb_measure(env, view, &a.options, f, &s->found, s->units);
}

template <typename P>
static wr_status build(wr_env *env, const wr_csr_view *view, const wr_cb_options *options, wr_cb_format *f) {
  wr_status status;
  cb_scratch s = {};
  cb_rows<P> a = {f->nrows, f->brows, f->brows + f->nnz / TASK, (const P *)view->row_ptr, view->col, *options};
  TRY(count_tasks(env, a, &s, &f->plain));
  f->aggregated = wr_cb_aggregates(options, &f->plain);
  TRY(f->aggregated ? find_aggregated(env, view, a, &s, f) : find_plain(env, a, &s, f));
  TRY(wr_device_scan(env, s.units, sizeof *s.units, f->blocks, s.found.offset, sizeof *s.found.offset, &f->units));
  wr_cb_settle(f, options);
  TRY(wr_device_alloc(env, &f->memory, wr_cb_layout(f), 1, "blocks of 16 x 16"));
  wr_cb_layout(f);
  TRY(wr_cb_fill_arrays(env, view, &a.options, f, &s.found));
done:
  wr_device_free(env, s.of_tasks);
  wr_device_free(env, s.of_blocks);
  return status;
}

extern "C" wr_status wr_cb_device_build(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz, const wr_csr_view *view,
                                        const wr_cb_options *options, wr_cb_format *f) {
  wr_status status;
  *f = wr_cb_shape(1, 1, 0, env->type);
  TRY(wr_cuda_enter(env));
  TRY(wr_cb_check(nrows, ncols, nnz, options));
  *f = wr_cb_shape(nrows, ncols, nnz, env->type);
  if (!view->wide && nnz > INT32_MAX)
    TRY(wr_fail(WR_EUSAGE, "%lld entries with row pointers of 32 bits", (long long)nnz));
  TRY(view->wide ? build<int64_t>(env, view, options, f) : build<int32_t>(env, view, options, f));
done:
  if (status != WR_OK) wr_cb_device_free(env, f);
  return status;
}

extern "C" void wr_cb_device_free(wr_env *env, wr_cb_format *f) {
  wr_device_free(env, f->memory);
  f->memory = nullptr;
  wr_cb_layout(f);
}

extern "C" int64_t wr_cb_device_bytes(const wr_cb_format *f) {
  wr_cb_format same = *f;
  return wr_device_bytes(wr_cb_layout(&same), 1);
}

extern "C" wr_status wr_cb_download(wr_env *env, const wr_cb_format *f, wr_cb_format *to) {
  wr_status status;
  wr_conversion position = f->wide ? WR_AS_8_BYTES : WR_AS_4_BYTES;
  int64_t columns = f->aggregated ? f->blocks * WR_CB_SIDE : 0;
  *to = *f;
  TRY(wr_cb_alloc(to));
  TRY(wr_device_download(env, to->block, f->block, f->blocks, WR_AS_8_BYTES));
  TRY(wr_device_download(env, to->offset, f->offset, f->blocks + 1, position));
  TRY(wr_device_download(env, to->restore_cols, f->restore_cols, columns, WR_AS_4_BYTES));
  TRY(wr_device_download(env, to->list_block, f->list_block, f->lists + 1, position));
  TRY(wr_device_download(env, to->list_row, f->list_row, f->lists + 1, WR_AS_4_BYTES));
  TRY(wr_device_download(env, to->data, f->data, f->units * (WR_CB_UNIT / 8), WR_AS_8_BYTES));
done:
  if (status != WR_OK) wr_cb_free(to);
  return status;
}
