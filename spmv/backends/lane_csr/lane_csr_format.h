/* Rows interleaved over lanes, for irregular matrices: 32 lanes times `each` consecutive entries are a chunk, which a warp
 * multiplies; the j-th entries of its lanes lie together, so every load is coalesced and products stay in registers. A bit an
 * entry says whether it is the last of its row. A row without entries has one place of padding, so rows need no numbers: the
 * n-th end is that of row n. (As BCCOO in blocks of 1 x 1, yaSpMV section 2, with full columns and without differences.)
 *
 * The columns with the most entries may be *hubs*: a thread block keeps their elements of x in shared memory, and their entries
 * have the code ~h for the h-th hub in place of the column.
 *
 *   The 6x6 example of csr.h with each = 3, 2 lanes for 32, and column 0 as the only hub (~0 is -1)
 *     entries      a b . c d e f g h i j .      in rows: a b | (none) | c d e | ...
 *     chunk 0      lane 0: first three, lane 1: the next three; code: line j has the j-th ones of both lanes            */
#ifndef WR_LANE_CSR_FORMAT_H
#define WR_LANE_CSR_FORMAT_H

#include "spmv/device/vec.h"

enum {
  WR_LANE_EACH = 8,           /* entries of a lane                                                   */
  WR_LANE_CHUNK = 32 * WR_LANE_EACH,
  WR_LANE_PADDING = INT32_MIN /* the code of a place without an entry                                */
};
#define WR_LANE_OPEN 0x80000000u

typedef struct wr_lane_csr {
  int64_t nrows, ncols, nnz;
  wr_type type;      /* of val and of the vectors                                                                  */
  int valued;        /* 0: a pattern                                                                               */
  int64_t places;    /* nnz and one for each row without entries                                                   */
  int64_t chunks;    /* places / (32 * each), rounded up                                                           */
  int64_t hubs;      /* columns in shared memory                                                                   */
  int64_t covered;   /* entries in those columns                                                                   */
  int32_t *code;     /* [chunks][each][32] column, ~hub, or WR_LANE_PADDING                                        */
  void *val;         /* [chunks][each][32] of type if valued; 0 in padding                                         */
  uint32_t *end;     /* [chunks][32] bits 0..15: bit j: the j-th entry is the last of its row; bits 16..31: rows   */
                     /* that end in the chunk before the lane                                                      */
  uint32_t *row;     /* [chunks + 1] rows that end before the chunk; WR_LANE_OPEN: the next one began before it    */
  int64_t *origin;   /* [chunks] chunk in which the row begins that is open at the chunk's start; itself if none is */
  int32_t *hub;      /* [hubs] their columns, ascending                                                            */
} wr_lane_csr;

/* Bytes that a multiply reads of the format. */
static inline int64_t wr_lane_csr_bytes(const wr_lane_csr *c) {
  int64_t place = 4 + (c->valued ? wr_type_bytes(c->type) : 0);
  return c->chunks * (WR_LANE_CHUNK * place + 32 * 4 + 4 + 8) + 4 + c->hubs * 4;
}

#endif
