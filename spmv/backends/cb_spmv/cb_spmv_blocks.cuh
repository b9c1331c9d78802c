/* A warp's blocks in shared memory (cb_spmv_format.h): how they get there, and what they come to, a function a type.
 *
 * A warp holds a block row: lane l has half of the sum of row l % 16. Blocks of CSR and of dense type leave a row's entries to
 * its two lanes; of two CSR blocks, each gives a row to one lane. One of COO type gives every lane an entry; lanes of one row
 * add up, and the first of them adds to the warp's `scattered` sums. Two COO blocks of a block row are taken at once, if they
 * have no more than 32 entries together, and CSR blocks for as long as they follow each other. */
#ifndef WR_CB_SPMV_BLOCKS_CUH
#define WR_CB_SPMV_BLOCKS_CUH

#include "spmv/backends/cb_spmv/cb_spmv_plan.h"
#include "spmv/kernel/async_copy.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/warp.cuh"

constexpr unsigned CBM_FULL = (unsigned)WR_FULL_MASK;

static __device__ inline bool cbm_is_padding(double value) { return wr_is_padding_f64(value); }
static __device__ inline bool cbm_is_padding(float value) { return wr_is_padding_f32(value); }

/* What a block in shared memory is known by. place: bytes before its index and, in the upper half, before its values. what: its
 * entries, type, whether it begins a block row, and how many blocks are taken together from it on, in 9 + 2 + 1 + 5 bits. */
struct alignas(8) cbm_block {
  uint32_t place, what;
};

/* Room for them, the last one at WR_CB_ROOM_BLOCKS - 1: the list's end may follow, and behind it one is read that nobody
 * heeds. */
constexpr int CBM_DESCRIBED = WR_CB_ROOM_BLOCKS + 2;

/* In place of what else is known: block rows end here, and with them the list. Nothing is taken from here on. */
constexpr uint32_t CBM_END = 1u << 11;

static __device__ inline int cbm_count(cbm_block b) { return (int)(b.what & 511); }
static __device__ inline int cbm_kind(cbm_block b) { return (int)(b.what >> 9 & 3); }
static __device__ inline bool cbm_begins(cbm_block b) { return b.what >> 11 & 1; }
static __device__ inline int cbm_run(cbm_block b) { return (int)(b.what >> 12); }

/* Block rows that are stored at a time. */
constexpr int CBM_ROWS = 4;

/* What a warp has in shared memory besides its blocks. */
struct cbm_warp {
  wr_copy_barrier arrived;               /* of data                                                     */
  cbm_block blocks[CBM_DESCRIBED];       /* the room's, and at a list's end CBM_END                     */
  double scattered[2 * WR_CB_SIDE];      /* sums of COO blocks by row, of the first and the second one  */
  double rows[CBM_ROWS * WR_CB_SIDE];    /* sums of block rows that are complete and not yet stored     */
  double head[WR_CB_SIDE];               /* of the one that has begun before the list and ends in it    */
  double open[WR_CB_SIDE];               /* of the one that is open at the list's end                   */
  int64_t end;                           /* blocks before the list's end                                */
  int32_t head_row;                      /* which one head belongs to; -1: to none                      */
  int32_t last;                          /* block rows before this one end in the list, or before it    */
  int32_t ends;                          /* 0: some block row ends in the list, -1: none does           */
};

/* A warp's part of shared memory. Data and x share its `stage` units: data grows from where they begin, x ends where they
 * end. */
template <typename T>
struct cbm_room {
  cbm_warp *own;
  uint8_t *data; /* of some blocks, as it is in the format             */
  T *end;        /* before it: x of each block's columns, [blocks][16] */
};

/* How many blocks are taken together from lane i's on, of `count` in the room: CSR blocks of a block row, or two of COO type if
 * their entries fit a warp. what: all that is known of them besides. Every lane. */
static __device__ inline int cbm_together(uint32_t what, int count) {
  int lane = threadIdx.x % WR_WARP;
  uint32_t kind = what >> 9 & 3, next = __shfl_down_sync(CBM_FULL, what, 1u);
  bool follows = lane < count && kind == WR_CB_CSR && !(what >> 11 & 1);
  unsigned after = ~__ballot_sync(CBM_FULL, follows) >> 1 >> lane; /* bit i: block lane + 1 + i does not follow */
  if (kind == WR_CB_CSR) return __ffs((int)after);
  bool pairs = lane + 1 < count && next >> 9 == WR_CB_COO && kind == WR_CB_COO;
  return pairs && (what & 511) + (next & 511) <= WR_WARP ? 2 : 1;
}

/* The block of this word, so many units behind the room's beginning, which is lane i's of `count`. Every lane. */
template <typename T>
static __device__ inline cbm_block cbm_describe(uint64_t word, int units, bool begins, int count) {
  int n = wr_cb_count(word), kind = wr_cb_kind_of(word), data = units * WR_CB_UNIT;
  int val = data + wr_cb_index_bytes(kind, n, (int)sizeof(T));
  uint32_t what = (uint32_t)n | (uint32_t)kind << 9 | (uint32_t)begins << 11;
  return {(uint32_t)data | (uint32_t)val << 16, what | (uint32_t)cbm_together(what, count) << 12};
}

template <typename T>
static __device__ inline const uint8_t *cbm_data(const cbm_room<T> &room, cbm_block b) {
  return room.data + (b.place & 0xffff);
}
template <typename T>
static __device__ inline const T *cbm_values(const cbm_room<T> &room, cbm_block b) {
  return (const T *)(room.data + (b.place >> 16));
}

/* Words and offsets of the blocks from k on, in lanes; `left` of them are in the list, and the offset of what follows ends the
 * last one. A list of so few bytes has less than 2^31 blocks. An offset stays in halves as it was read, since what computes
 * with it would wait for it. */
struct cbm_words {
  uint64_t word;
  uint32_t low, high; /* of the offset */
};

static __device__ inline cbm_words cbm_load_words(const wr_cb_format &f, int64_t k, int left) {
  int lane = threadIdx.x % WR_WARP;
  cbm_words w = {0, 0, 0};
  if (lane > WR_CB_ROOM_BLOCKS || lane > left) return w;
  const uint32_t *halves = (const uint32_t *)f.offset + ((k + lane) << f.wide);
  w.low = halves[0];
  if (f.wide) w.high = halves[1];
  if (lane < left) w.word = wr_load_stream(f.block + k + lane);
  return w;
}

/* Where the data of the lane's block lies. */
static __device__ inline const uint8_t *cbm_source(const wr_cb_format &f, const cbm_words &w) {
  return f.data + ((uint64_t)w.high << 32 | w.low) * WR_CB_UNIT;
}

/* Units before block i, but for what is beyond 32 bits: differences within a room are right. Every lane. */
static __device__ inline uint32_t cbm_offset(const cbm_words &w, int i) { return __shfl_sync(CBM_FULL, w.low, i); }

/* How many blocks fit into a room of so many units, with their x: one at least, if any is left. Every lane. */
template <typename T>
static __device__ inline int cbm_fits(const cbm_words &w, int left, int stage) {
  int lane = threadIdx.x % WR_WARP;
  uint32_t units = w.low - cbm_offset(w, 0) + (uint32_t)lane * sizeof(T); /* 16 of T are as many units */
  bool fits = lane > 0 && lane <= WR_CB_ROOM_BLOCKS && lane <= left && units <= (uint32_t)stage;
  return __popc(__ballot_sync(CBM_FULL, fits));
}

/* Columns that a lane loads together: for so many pairs of blocks, a group. */
constexpr int CBM_PAIRS = 4, CBM_GROUP = 2 * CBM_PAIRS;
static_assert(WR_CB_ROOM_BLOCKS <= 2 * CBM_GROUP, "more than two groups");

/* Columns of a group of the room's blocks, a pair of them in a lane's j: the lane's one of the 16 in blocks b, b + 2, ... of
 * `count`. k: the room's first block, which has this word in lane 0. A column beyond the last one stands for that: what is
 * multiplied with its x is padding. Every lane. */
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

/* Asks for x at these columns. room: of the first of `count` blocks. */
template <typename T>
static __device__ inline void cbm_gather(const T *x, const int32_t (&j)[CBM_PAIRS], int group, int count, T *room) {
  int lane = threadIdx.x % WR_WARP, b = group * CBM_GROUP + lane / WR_CB_SIDE;
  room += group * CBM_GROUP * WR_CB_SIDE + lane;
#pragma unroll
  for (int i = 0; i < CBM_PAIRS; i++) wr_copy_element_if(b + 2 * i < count, room + i * WR_WARP, x + j[i]);
}

/* ---- What a block comes to: the lane's half of its row ---- */

/* A sum that comes out as NaN is added up once more without padding, as padding times an infinity may have done it. */
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

/* x of the block after which the room has `left` - 1 more. */
template <typename T>
static __device__ inline const T *cbm_x(const cbm_room<T> &room, int left) {
  return room.end - left * WR_CB_SIDE;
}

/* Columns of 16 entries of a CSR block from entry e on, 4 bits each, the first one lowest. They lie in three words, whatever
 * e is; beyond the block's last column these reach into its values. */
static __device__ inline uint64_t cbm_row_columns(const uint8_t *columns, unsigned e) {
  const uint32_t *words = (const uint32_t *)columns + e / 8;
  unsigned shift = e % 8 * 4;
  uint32_t low = (uint32_t)(((uint64_t)words[1] << 32 | words[0]) >> shift);
  uint32_t high = (uint32_t)(((uint64_t)words[2] << 32 | words[1]) >> shift);
  return (uint64_t)high << 32 | low;
}

/* Entries e..end - 1 of a CSR block, 16 at most, two at a time. x: a multiple of 16, the block's, counted from `behind`. */
template <typename T>
static __device__ inline T cbm_entries(const uint8_t *columns, const T *val, const T *behind, int x, unsigned e,
                                       unsigned end) {
  uint64_t places = cbm_row_columns(columns, e);
  T part = 0;
  val += e;
#pragma unroll 1
  for (int left = (int)(end - e); left > 0; left -= 2, places >>= 8, val += 2) {
    part += val[0] * behind[((int)places & 15) | x];
    if (left > 1) part += val[1] * behind[((int)places >> 4 & 15) | x];
  }
  return part;
}

/* A CSR block's row lane % 16. whole: all of it; else the lane's half. x: see cbm_entries. */
template <typename T>
static __device__ inline T cbm_csr_row(const cbm_room<T> &room, cbm_block block, int x, bool whole) {
  int lane = threadIdx.x % WR_WARP, row = lane % WR_CB_SIDE;
  const uint8_t *data = cbm_data(room, block);
  unsigned e = data[row], after = data[row + 1], end = row + 1 < WR_CB_SIDE ? after : (unsigned)cbm_count(block);
  if (!whole) {
    unsigned middle = (e + end) / 2;
    lane < WR_CB_SIDE ? end = middle : e = middle;
  }
  return cbm_entries(data + WR_CB_SIDE, cbm_values(room, block), room.end, x, e, end);
}

/* `run` blocks of CSR type, with `left` in the room from the first one on: two at a time, a lane a row of each; of the last,
 * if it is alone, half of a row's entries for each lane. Adds to sum. */
template <typename T>
static __device__ inline void cbm_csr(const cbm_room<T> &room, const cbm_block *blocks, int left, int run,
                                      double &sum) {
  int half = threadIdx.x % WR_WARP / WR_CB_SIDE, x = (half - left) * WR_CB_SIDE;
  blocks += half;
#pragma unroll 1
  for (; run > 1; run -= 2, blocks += 2, x += 2 * WR_CB_SIDE) sum += (double)cbm_csr_row(room, *blocks, x, true);
  if (run > 0) sum += (double)cbm_csr_row(room, *(blocks - half), x - half * WR_CB_SIDE, false);
}

/* Adds the products of lanes with the same key, which are neighbours, into the first of them. last: the last of the lane's
 * key, where it has an entry. */
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

/* A block of COO type, with `left` in the room from it on, and if it is taken together with the next one, that as well: its
 * entries follow in the same lanes. */
template <typename T>
static __device__ inline void cbm_coo(const cbm_room<T> &room, cbm_block block, cbm_block next, int left) {
  int lane = threadIdx.x % WR_WARP, entries = cbm_count(block);
  bool second = cbm_run(block) > 1 && lane >= entries;
  cbm_block chosen = second ? next : block;
  int n = cbm_count(chosen);
  const uint8_t *data = cbm_data(room, chosen);
  const T *val = cbm_values(room, chosen);
  const T *x = cbm_x(room, second ? left - 1 : left);
  for (int done = 0, e = second ? lane - entries : lane; done < entries; done += WR_WARP, e += WR_WARP) {
    bool on = e < n;
    int place = on ? data[e] : 0, key = on ? second << 4 | (place & 15) : -1;
    T product = on ? val[e] * x[place >> 4] : (T)0;
    bool begins = __shfl_up_sync(CBM_FULL, key, 1u) != key || lane == 0;
    unsigned after = __ballot_sync(CBM_FULL, begins) >> lane >> 1 | 0x80000000u >> lane;
    product = cbm_join(product, on, lane + __ffs((int)after) - 1);
    if (on && begins) room.own->scattered[key] += (double)product;
    __syncwarp();
  }
}

#endif
