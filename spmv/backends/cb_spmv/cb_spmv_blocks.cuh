/* A warp's blocks in shared memory (cb_spmv_format.h): staging them, and a function for each type that multiplies them.
 *
 * A warp computes a block row: lane l has half of the sum of row l % 16. In a dense block and in a single CSR block the two
 * lanes of a row share its entries; in a pair of CSR blocks each lane takes the row in one of them. In a COO block every lane
 * takes an entry; the lanes of a row are summed, and the first of them adds to the warp's `scattered` sums. A run of blocks
 * is multiplied together: consecutive CSR blocks of a block row, or two COO blocks of one with at most 32 entries in total. */
#ifndef WR_CB_SPMV_BLOCKS_CUH
#define WR_CB_SPMV_BLOCKS_CUH

#include "spmv/backends/cb_spmv/cb_spmv_plan.h"
#include "spmv/kernel/async_copy.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/warp.cuh"

constexpr unsigned CBM_FULL = (unsigned)WR_FULL_MASK;

static __device__ inline bool cbm_is_padding(double value) { return wr_is_padding_f64(value); }
static __device__ inline bool cbm_is_padding(float value) { return wr_is_padding_f32(value); }

/* Descriptor of a block in shared memory. place: bytes before its index and, in the upper half, before its values. what: its
 * entries, its type, whether it begins a block row, and the length of the run that begins with it, in 9 + 2 + 1 + 5 bits. */
struct alignas(8) cbm_block {
  uint32_t place, what;
};

/* Descriptors of a warp; the last block's is at WR_CB_STAGE_BLOCKS - 1, the end of the list may follow, and one more is read
 * but not used. */
constexpr int CBM_DESCRIBED = WR_CB_STAGE_BLOCKS + 2;

/* The value of `what` that marks the end of the list, where block rows end too. Its run length is 0. */
constexpr uint32_t CBM_END = 1u << 11;

static __device__ inline int cbm_count(cbm_block b) { return (int)(b.what & 511); }
static __device__ inline int cbm_kind(cbm_block b) { return (int)(b.what >> 9 & 3); }
static __device__ inline bool cbm_begins(cbm_block b) { return b.what >> 11 & 1; }
static __device__ inline int cbm_run(cbm_block b) { return (int)(b.what >> 12); }

/* Block rows that are stored at a time. */
constexpr int CBM_ROWS = 4;

/* A warp's shared memory besides its blocks. */
struct cbm_warp {
  wr_copy_barrier arrived;            /* of data                                                          */
  cbm_block blocks[CBM_DESCRIBED];    /* the staged blocks, and at a list's end CBM_END                   */
  double scattered[2 * WR_CB_SIDE];   /* sums of COO blocks by row, of the first and the second of a pair */
  double rows[CBM_ROWS * WR_CB_SIDE]; /* sums of block rows that are complete and not yet stored          */
  double head[WR_CB_SIDE];            /* sums of the block row that began before the list and ends in it  */
  double open[WR_CB_SIDE];            /* sums of the block row that is open at the list's end             */
  int64_t end;                        /* blocks before the list's end                                     */
  int32_t head_row;                   /* block row of head; -1: none                                      */
  int32_t last;                       /* block rows before this one end in the list or earlier            */
  int32_t ends;                       /* 0: some block row ends in the list, -1: none does                */
};

/* The memory in which a warp stages blocks, wr_cb_plan.stage units: their data from its start, their x up to its end. */
template <typename T>
struct cbm_stage {
  cbm_warp *own;
  uint8_t *data; /* of consecutive blocks, as in the format               */
  T *end;        /* the x of each block's columns, [blocks][16], end here */
};

/* The length of the run that begins with this lane's block, of `count` staged ones. what: the other bits of its descriptor.
 * All lanes call this. */
static __device__ inline int cbm_run_length(uint32_t what, int count) {
  int lane = threadIdx.x % WR_WARP;
  uint32_t kind = what >> 9 & 3, next = __shfl_down_sync(CBM_FULL, what, 1u);
  bool follows = lane < count && kind == WR_CB_CSR && !(what >> 11 & 1);
  unsigned after = ~__ballot_sync(CBM_FULL, follows) >> 1 >> lane; /* bit i: block lane + 1 + i does not follow */
  if (kind == WR_CB_CSR) return __ffs((int)after);
  bool pairs = lane + 1 < count && next >> 9 == WR_CB_COO && kind == WR_CB_COO;
  return pairs && (what & 511) + (next & 511) <= WR_WARP ? 2 : 1;
}

/* The descriptor of the lane's block, of `count` staged ones, which begins `units` units after the staged data's start. All
 * lanes call this. */
template <typename T>
static __device__ inline cbm_block cbm_describe(uint64_t word, int units, bool begins, int count) {
  int n = wr_cb_count(word), kind = wr_cb_kind_of(word), data = units * WR_CB_UNIT;
  int val = data + wr_cb_index_bytes(kind, n, (int)sizeof(T));
  uint32_t what = (uint32_t)n | (uint32_t)kind << 9 | (uint32_t)begins << 11;
  return {(uint32_t)data | (uint32_t)val << 16, what | (uint32_t)cbm_run_length(what, count) << 12};
}

template <typename T>
static __device__ inline const uint8_t *cbm_data(const cbm_stage<T> &stage, cbm_block b) {
  return stage.data + (b.place & 0xffff);
}
template <typename T>
static __device__ inline const T *cbm_values(const cbm_stage<T> &stage, cbm_block b) {
  return (const T *)(stage.data + (b.place >> 16));
}

/* Words and offsets of the blocks from k on, one for each lane; `left` blocks of the list remain, and the offset after the
 * last one is loaded too. A list has less than 2^31 units. A wide offset stays in the two halves in which it was loaded,
 * because arithmetic on it would wait for the load. */
struct cbm_words {
  uint64_t word;
  uint32_t low, high; /* of the offset */
};

static __device__ inline cbm_words cbm_load_words(const wr_cb_format &f, int64_t k, int left) {
  int lane = threadIdx.x % WR_WARP;
  cbm_words w = {0, 0, 0};
  if (lane > WR_CB_STAGE_BLOCKS || lane > left) return w;
  const uint32_t *halves = (const uint32_t *)f.offset + ((k + lane) << f.wide);
  w.low = halves[0];
  if (f.wide) w.high = halves[1];
  if (lane < left) w.word = wr_load_stream(f.block + k + lane);
  return w;
}

/* The address of the data of the lane's block. */
static __device__ inline const uint8_t *cbm_source(const wr_cb_format &f, const cbm_words &w) {
  return f.data + ((uint64_t)w.high << 32 | w.low) * WR_CB_UNIT;
}

/* The lower 32 bits of the units before block i, which suffice for differences between staged blocks. All lanes call this. */
static __device__ inline uint32_t cbm_offset(const cbm_words &w, int i) { return __shfl_sync(CBM_FULL, w.low, i); }

/* The number of blocks that fit into `stage` units with their x; at least one if any are left. All lanes call this. */
template <typename T>
static __device__ inline int cbm_fits(const cbm_words &w, int left, int stage) {
  int lane = threadIdx.x % WR_WARP;
  uint32_t units = w.low - cbm_offset(w, 0) + (uint32_t)lane * sizeof(T); /* 16 elements of x take sizeof(T) units */
  bool fits = lane > 0 && lane <= WR_CB_STAGE_BLOCKS && lane <= left && units <= (uint32_t)stage;
  return __popc(__ballot_sync(CBM_FULL, fits));
}

/* Pairs of blocks of which a lane loads the columns together; these blocks are a group. */
constexpr int CBM_PAIRS = 4, CBM_GROUP = 2 * CBM_PAIRS;
static_assert(WR_CB_STAGE_BLOCKS <= 2 * CBM_GROUP, "more than two groups");

/* Columns of a group of staged blocks: j[i] is the lane's column in its block of pair i, one of 16. k: the first staged
 * block, with its word in lane 0. A column past the last one is replaced by the last one, as its x is multiplied by padding
 * only. All lanes call this. */
template <bool AGGREGATED>
static __device__ inline void cbm_columns(const wr_cb_format &f, uint64_t word, int64_t k, int group, int count,
                                          int32_t (&j)[CBM_PAIRS]) {
  int lane = threadIdx.x % WR_WARP, b = group * CBM_GROUP + lane / WR_CB_SIDE;
  const int32_t *cols = f.restore_cols + (AGGREGATED ? (k + group * CBM_GROUP) * WR_CB_SIDE + lane : 0);
  uint32_t first = (uint32_t)wr_cb_col(word) * WR_CB_SIDE, last = (uint32_t)f.ncols - 1;
#pragma unroll
  for (int i = 0; i < CBM_PAIRS; i++) {
    if (AGGREGATED) {
      j[i] = wr_load_stream_if(b + 2 * i < count, cols + i * WR_WARP);
    } else {
      uint32_t column = __shfl_sync(CBM_FULL, first, b + 2 * i) + lane % WR_CB_SIDE;
      j[i] = (int32_t)(column < last ? column : last);
    }
  }
}

/* Starts the copies of x at these columns to `to`, where the x of `count` blocks begin. */
template <typename T>
static __device__ inline void cbm_gather(const T *x, const int32_t (&j)[CBM_PAIRS], int group, int count, T *to) {
  int lane = threadIdx.x % WR_WARP, b = group * CBM_GROUP + lane / WR_CB_SIDE;
  to += group * CBM_GROUP * WR_CB_SIDE + lane;
#pragma unroll
  for (int i = 0; i < CBM_PAIRS; i++) wr_copy_element_if(b + 2 * i < count, to + i * WR_WARP, x + j[i]);
}

/* ---- Products of a block: the lane's half of its row ---- */

/* If the sum is NaN, which padding times an infinity may have caused, it is computed again without padding. */
template <typename T>
static __device__ inline T cbm_dense(const T *val, const T *x) {
  int lane = threadIdx.x % WR_WARP, half = lane / WR_CB_SIDE;
  T part = 0;
#pragma unroll
  for (int c = 0; c < WR_CB_SIDE / 2; c++) part += val[c * WR_WARP + lane] * x[2 * c + half];
  if (!isnan(part)) return part;
  part = 0;
#pragma unroll 1
  for (int c = 0; c < WR_CB_SIDE / 2; c++)
    if (!cbm_is_padding(val[c * WR_WARP + lane])) part += val[c * WR_WARP + lane] * x[2 * c + half];
  return part;
}

/* The x of the staged block that is followed by `left` - 1 more. */
template <typename T>
static __device__ inline const T *cbm_x(const cbm_stage<T> &stage, int left) {
  return stage.end - left * WR_CB_SIDE;
}

/* The 4-bit columns of 16 entries of a CSR block from entry e on, the first one lowest. They always lie within three words;
 * past the block's last column these hold values. */
static __device__ inline uint64_t cbm_row_columns(const uint8_t *columns, unsigned e) {
  const uint32_t *words = (const uint32_t *)columns + e / 8;
  unsigned shift = e % 8 * 4;
  uint32_t low = (uint32_t)(((uint64_t)words[1] << 32 | words[0]) >> shift);
  uint32_t high = (uint32_t)(((uint64_t)words[2] << 32 | words[1]) >> shift);
  return (uint64_t)high << 32 | low;
}

/* The sum of entries e..end - 1 of a CSR block, at most 16, two at a time. x: position of the block's x relative to `x_end`,
 * a multiple of 16. */
template <typename T>
static __device__ inline T cbm_entries(const uint8_t *columns, const T *val, const T *x_end, int x, unsigned e,
                                       unsigned end) {
  uint64_t places = cbm_row_columns(columns, e);
  T part = 0;
  val += e;
#pragma unroll 1
  for (int left = (int)(end - e); left > 0; left -= 2, places >>= 8, val += 2) {
    part += val[0] * x_end[((int)places & 15) | x];
    if (left > 1) part += val[1] * x_end[((int)places >> 4 & 15) | x];
  }
  return part;
}

/* The sum of row lane % 16 of a CSR block, or the lane's half of it unless `whole`. x: see cbm_entries. */
template <typename T>
static __device__ inline T cbm_csr_row(const cbm_stage<T> &stage, cbm_block block, int x, bool whole) {
  int lane = threadIdx.x % WR_WARP, row = lane % WR_CB_SIDE;
  const uint8_t *data = cbm_data(stage, block);
  unsigned e = data[row], after = data[row + 1], end = row + 1 < WR_CB_SIDE ? after : (unsigned)cbm_count(block);
  if (!whole) {
    unsigned middle = (e + end) / 2;
    lane < WR_CB_SIDE ? end = middle : e = middle;
  }
  return cbm_entries(data + WR_CB_SIDE, cbm_values(stage, block), stage.end, x, e, end);
}

/* Adds a run of CSR blocks to sum; `left` blocks are staged from the first one on. Two blocks at a time, a lane for a row of
 * each; if the last is single, its rows are halved between lanes. */
template <typename T>
static __device__ inline void cbm_csr(const cbm_stage<T> &stage, const cbm_block *blocks, int left, int run,
                                      double &sum) {
  int half = threadIdx.x % WR_WARP / WR_CB_SIDE, x = (half - left) * WR_CB_SIDE;
  blocks += half;
#pragma unroll 1
  for (; run > 1; run -= 2, blocks += 2, x += 2 * WR_CB_SIDE) sum += (double)cbm_csr_row(stage, *blocks, x, true);
  if (run > 0) sum += (double)cbm_csr_row(stage, *(blocks - half), x - half * WR_CB_SIDE, false);
}

/* Sums the products of neighbouring lanes with the same key into the first of them. last: the last lane with this lane's key;
 * on: the lane has an entry. */
template <typename T>
static __device__ inline T cbm_join(T product, bool on, int last) {
  int lane = threadIdx.x % WR_WARP;
  for (int distance = 1;; distance *= 2) {
    bool more = on && lane + distance <= last;
    if (!__any_sync(CBM_FULL, more)) return product;
    T other = __shfl_down_sync(CBM_FULL, product, (unsigned)distance);
    if (more) product += other;
  }
}

/* Adds a COO block and, if its run is 2, the next one, with its entries in the lanes after. `left` blocks are staged
 * from it on. */
template <typename T>
static __device__ inline void cbm_coo(const cbm_stage<T> &stage, cbm_block block, cbm_block next, int left) {
  int lane = threadIdx.x % WR_WARP, entries = cbm_count(block);
  bool second = cbm_run(block) > 1 && lane >= entries;
  cbm_block chosen = second ? next : block;
  int n = cbm_count(chosen);
  const uint8_t *data = cbm_data(stage, chosen);
  const T *val = cbm_values(stage, chosen);
  const T *x = cbm_x(stage, second ? left - 1 : left);
  for (int done = 0, e = second ? lane - entries : lane; done < entries; done += WR_WARP, e += WR_WARP) {
    bool on = e < n;
    int place = on ? data[e] : 0, key = on ? second << 4 | (place & 15) : -1;
    T product = on ? val[e] * x[place >> 4] : (T)0;
    bool begins = __shfl_up_sync(CBM_FULL, key, 1u) != key || lane == 0;
    unsigned after = __ballot_sync(CBM_FULL, begins) >> lane >> 1 | 0x80000000u >> lane;
    product = cbm_join(product, on, lane + __ffs((int)after) - 1);
    if (on && begins) stage.own->scattered[key] += (double)product;
    __syncwarp();
  }
}

#endif
