/* Rows interleaved over lanes, for irregular matrices: 32 lanes times `each` consecutive entries are a chunk, which a warp
 * multiplies. In memory the lanes take turns after every 16 bytes, so each load of a warp is coalesced and of 16 bytes a lane,
 * and products stay in registers. A bit an entry says whether it is the last of its row. A row without entries has one place of
 * padding, so rows need no numbers: the n-th end is that of row n. (As BCCOO in blocks of 1 x 1, yaSpMV section 2, with columns
 * that need no neighbour to be decoded.)
 *
 * A column is stored in one of three ways, the same for the whole matrix:
 *   full      the column, in 32 bits
 *   hubs      the same, but the columns with the most entries are *hubs*: a thread block keeps their elements of x in shared
 *             memory, and their entries have the code ~h for the h-th hub
 *   windows   16 bits, where most chunks have all their columns in two windows of 32 768: the top bit tells the window, the
 *             others the place in it. Any other chunk stores the low and the high halves of its columns.
 *
 * Full columns may have *far* entries, those that read a part of x which few entries near them read, so that a multiply would
 * fetch a line of memory for each. A kernel before the multiply *stages* their elements of x: x is cut into slabs that fit
 * shared memory, and staged elements lie by slab, within a slab in the order of the entries. A far entry has the code ncols + p
 * for the p-th staged element. (Propagation blocking, Beamer, Asanovic and Patterson, IPDPS 2017, for elements of x in place of
 * products, so that sums stay in the order of the entries.)
 *
 * Values of f64 are stored in one of three ways, the same for the whole matrix; those of f32 as they are:
 *   full      in 8 bytes
 *   narrow    as f32, if f32 has all of them exactly
 *   coded     as a byte each, their place in a table, if at most 255 are different; the last place, of 0, is that of padding
 *
 * Chunks are multiplied in any order, since each leaves its parts of rows in places of its own.
 *
 *   The 6x6 example of csr.h with each = 3, 2 lanes for 32, and column 0 as the only hub (~0 is -1)
 *     entries      a b . c d e f g h i j .      in rows: a b | (none) | c d e | ...
 *     chunk 0      lane 0: the first three, lane 1: the next three                                                       */
#ifndef WR_LANE_CSR_FORMAT_H
#define WR_LANE_CSR_FORMAT_H

#include "spmv/device/vec.h"

enum {
  WR_LANE_EACH = 8,            /* entries of a lane                                                    */
  WR_LANE_CHUNK = 32 * WR_LANE_EACH,
  WR_LANE_PADDING = INT32_MIN, /* the code of a place without an entry                                 */
  WR_LANE_WINDOW = 1 << 15,    /* columns of a window; the last of the second is left out for padding  */
  WR_LANE_NONE = 0xffff,       /* padding in 16 bits                                                   */
  WR_LANE_WIDE = INT32_MIN,    /* in place of the second window: the chunk has halves of columns       */
  WR_LANE_SLAB_BYTES = 96 << 10, /* of x; two thread blocks on a multiprocessor have one each          */
  WR_LANE_PIECE = 1 << 16,     /* the most staged elements of a piece                                  */
  WR_LANE_CROWD = 128,         /* chunks of a stretch (wr_lane_csr.crowded)                            */
  WR_LANE_NO_VALUE = 255       /* the code of a value in padding                                       */
};
#define WR_LANE_OPEN 0x80000000u

/* Columns of a slab; the last slab has fewer. */
static inline int64_t wr_lane_slab(wr_type type) { return WR_LANE_SLAB_BYTES / wr_type_bytes(type); }

/* Staged elements of one slab, which a thread block gathers. */
typedef struct wr_lane_piece {
  int64_t first;       /* of the staged elements */
  int32_t count, slab;
} wr_lane_piece;

typedef struct wr_lane_csr {
  int64_t nrows, ncols, nnz;
  wr_type type;      /* of val and of the vectors                                                                  */
  int value_bytes;   /* of an element of val: those of type, or, of f64, 4 if narrow and 1 if coded; 0: a pattern  */
  int64_t places;    /* nnz and one for each row without entries                                                   */
  int64_t chunks;    /* places / (32 * each), rounded up                                                           */
  int64_t hubs;      /* columns in shared memory                                                                   */
  int64_t covered;   /* entries in those columns                                                                   */
  int64_t longest;   /* the most chunks over which a row goes                                                      */
  int64_t within;    /* chunks that lie within a row                                                               */
  int64_t crowded;   /* the most of these in one stretch of WR_LANE_CROWD chunks                                   */
  int64_t wide;      /* chunks with halves of columns                                                              */
  int64_t far;       /* far entries, and staged elements of x                                                      */
  int64_t pieces;    /* of staged elements                                                                         */
  int32_t *code;     /* [places of chunks] column, ~hub, ncols + staged element, or WR_LANE_PADDING; NULL: windows */
  uint16_t *low;     /* [places of chunks] window and place in it, or the low half of a column; NULL: full columns */
  uint16_t *high;    /* [places of `wide` chunks] the high halves; WR_LANE_NONE in both: padding                   */
  int32_t *window;   /* [chunks][2] first column of the first window, and of the second minus WR_LANE_WINDOW; or:  */
                     /* the number of the chunk among the wide ones, and WR_LANE_WIDE                              */
  void *val;         /* [places of chunks] values or codes; 0 or WR_LANE_NO_VALUE in padding                       */
  double *table;     /* [256] values by code, 0 behind the last one; NULL: not coded                               */
  uint32_t *end;     /* [chunks][32] bits 0..15: bit j: the j-th entry is the last of its row; bits 16..31: rows   */
                     /* that end in the chunk before the lane                                                      */
  uint32_t *row;     /* [chunks + 1] rows that end before the chunk; WR_LANE_OPEN: the next one began before it    */
  int64_t *origin;   /* [chunks] chunk in which the row begins that is open at the chunk's start; itself if none is */
  int32_t *hub;      /* [hubs] their columns, ascending                                                            */
  int32_t *order;    /* [chunks] the order in which they are multiplied; NULL: as they lie                         */
  uint16_t *in_slab; /* [far] the columns of staged elements, counted from the first of the slab                   */
  wr_lane_piece *piece; /* [pieces]                                                                                */
} wr_lane_csr;

#ifdef __CUDACC__
#define WR_LANE_INLINE static __host__ __device__ inline
#else
#define WR_LANE_INLINE static inline
#endif

/* Where the j-th element of a lane of chunk w lies, for elements of so many bytes: the lanes take turns after 16 bytes, or
 * after all their elements. */
WR_LANE_INLINE int64_t wr_lane_place(int64_t w, int lane, int j, int bytes) {
  int together = bytes == 1 ? WR_LANE_EACH : 16 / bytes;
  return w * WR_LANE_CHUNK + (j / together * 32 + lane) * together + j % together;
}

/* Whether values have fewer bytes than the type. */
static inline int wr_lane_is_compact(const wr_lane_csr *c) {
  return c->value_bytes != 0 && c->value_bytes != wr_type_bytes(c->type);
}

/* Whether chunks of long rows lie side by side: of some WR_LANE_CROWD consecutive ones a much larger share lies within a row
 * than of all. Elements of x for such chunks lie far apart, so thread blocks that have them take longer than others. */
static inline int wr_lane_is_crowded(const wr_lane_csr *c) {
  return c->chunks > 0 && (double)c->crowded / WR_LANE_CROWD - (double)c->within / (double)c->chunks > 0.75;
}

/* Bytes that a multiply reads of the format. */
static inline int64_t wr_lane_csr_bytes(const wr_lane_csr *c) {
  int64_t column = c->low ? 2 : 4;
  return c->chunks * (WR_LANE_CHUNK * (column + c->value_bytes) + 32 * 4 + 4 + 8 + (c->low ? 8 : 0)) + 4 +
         c->wide * WR_LANE_CHUNK * 2 + c->hubs * 4 + (c->order ? c->chunks * 4 : 0) + c->far * 2 +
         c->pieces * (int64_t)sizeof *c->piece + (c->table ? 256 * 8 : 0);
}

#endif
