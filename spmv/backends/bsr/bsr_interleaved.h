/* Interleaved blocks: bsr_unrolled's layout for the common sizes. A lane multiplies `each` consecutive blocks. The values at
 * the same position of the j-th blocks of all 32 lanes are adjacent in memory, so every load is coalesced and only sums of
 * rows go through shared memory (the transposed blocks of yaSpMV, section 3.2, applied to BSR). wr_bsr_pack (bsr_pack.cu)
 * makes it; packing is BLIS' term for copying a matrix into the order in which a kernel reads it.
 *
 *   Blocks A B C D E F G of 2 x 1, each = 2, and 3 lanes for 32; the rows end after C, D and G:
 *
 *     lane          0     1     2     0     1     2
 *     blocks       A B   C D   E F   G .   . .   . .
 *     flags        0 0   1 1   0 0   1 0   0 0   0 0     bit j: block j is the last of its block row
 *     row           0     0     2     0                  block rows ended in the warp before the lane
 *     val          A0 C0 E0 A1 C1 E1 | B0 D0 F0 B1 D1 F1 | G0 . . G1 . . | . . . . . .
 *     col          A C E | B D F | G . . | . . .
 *
 * Larger blocks are cut into inner blocks of some of their rows and columns. Block rows without blocks are stored in a list
 * of their own. A block that would reach past the last column is shifted left by as much, with padding on its left, so
 * kernels need no bounds check on x. */
#ifndef WR_BSR_INTERLEAVED_H
#define WR_BSR_INTERLEAVED_H

#include "spmv/blocks/bsr_format.h"
#include "spmv/spmv.h"

WR_C_BEGIN

enum {
  WR_BSR_WARPS = 4, /* of a thread block */
  WR_BSR_EACH = 16  /* a lane's flags and its row count share a word of 32 bits */
};

typedef enum wr_bsr_commit {
  WR_BSR_DUAL,   /* thread blocks add their parts of shared rows to y atomically; the one in which the row ends clears y_next */
  WR_BSR_ORDERED /* parts are stored in arrays and added in order by a second launch                           */
} wr_bsr_commit;

/* On a device. */
typedef struct wr_bsr_interleaved {
  int64_t nrows, ncols;
  int r, c;           /* of an inner block                                                                                   */
  int each;           /* inner blocks of a lane, at most WR_BSR_EACH                                                         */
  int at_a_time;      /* inner blocks that a lane multiplies at a time; divides each                                         */
  int terms;          /* terms of a row summed in the vectors' type before they are added to f64                             */
  int64_t blocks;     /* inner blocks                                                                                        */
  int64_t brows;      /* inner block rows with blocks; just `rows` below                                                     */
  int64_t empty;      /* inner block rows without blocks                                                                     */
  int64_t warps;      /* blocks / (32 * each), rounded up                                                                    */
  int64_t grid;       /* thread blocks: warps / WR_BSR_WARPS, rounded up                                                     */
  int shared_rows;    /* most rows that end in one thread block                                                              */
  int longest;        /* most thread blocks that share a row, minus one                                                      */
  int32_t *col;       /* [warps][each][32] first column of an inner block, 0 past the end                                    */
  void *val;          /* [warps][each][c][r][32] of type `stored`, 0 past the end; padding as in bsr_format.h                */
  uint32_t *word;     /* [warps][32] flags; from bit `each` on: rows that end in the warp before the lane                    */
  int32_t *first;     /* [warps + 1] rows that end before the warp                                                           */
  int64_t *start;     /* [brows + 1] inner blocks before the row                                                             */
  int32_t *row;       /* [brows] index of the inner block row; NULL: all have blocks                                         */
  int32_t *empty_row; /* [empty] indices of the inner block rows without blocks                                              */
  int32_t *origin;    /* [grid + 1] thread block in which the row begins that is open at this one's start; itself if none is */
  double *head;       /* [grid][r] WR_BSR_ORDERED: part of the row that ends first in the thread block                       */
  double *tail;       /* [grid][r] WR_BSR_ORDERED: part of the row that is open at its end                                   */
  wr_type type;       /* of the vectors                                                                                      */
  wr_type stored;     /* of val: f32 although type is f64 if every value is exact in f32, which halves the bytes             */
  wr_bsr_commit commit;
} wr_bsr_interleaved;

/* 1 if there is a kernel for blocks of r x c, which are 1..6, 8 and 16 square, 16x1 and 1x16, in a matrix with at least as
 * many columns as an inner block. */
int wr_bsr_can_pack(int r, int c, int64_t ncols);

/* *to := a matrix, given with its view, in interleaved blocks of r x c; the caller sets to->commit. each: about how many
 * inner blocks a lane takes, 0 for a choice by size. narrow: store f64 values as f32 if that is exact. *shape := the blocks'
 * numbers, without arrays. Waits. WR_EUNAVAILABLE for other sizes and for more than 2^31 - 1 thread blocks; wr_bsr_check,
 * WR_ENOMEM, WR_EDEVICE. */
wr_status wr_bsr_pack(wr_env *env, const wr_csr *A, const wr_csr_view *view, int r, int c, int each, int narrow,
                      wr_bsr *shape, wr_bsr_interleaved *to);

/* b's values := those of a matrix of the same pattern, given with its view, on env's stream; r, c and narrow as given to
 * wr_bsr_pack. WR_EUNAVAILABLE if the values have to be stored in another type, which needs other arrays; b is then
 * unchanged. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_bsr_interleaved_refill(wr_env *env, const wr_csr *A, const wr_csr_view *view, int r, int c, int narrow,
                                    const wr_bsr_interleaved *b);
void wr_bsr_interleaved_free(wr_env *env, wr_bsr_interleaved *b); /* also of a zeroed one */
int64_t wr_bsr_interleaved_bytes(const wr_bsr_interleaved *b);    /* bytes of the arrays, padding included */

/* *A := the rows, without padding; waits. WR_ENOMEM, WR_EDEVICE, and WR_EINTERNAL where the flags disagree with start. */
wr_status wr_bsr_interleaved_decode(wr_env *env, const wr_bsr_interleaved *b, int as_pattern, wr_csr **A);

/* Thread blocks of the second launch, which completes shared and empty rows. */
unsigned wr_bsr_interleaved_last_grid(const wr_env *env, const wr_bsr_interleaved *b);

/* y = alpha*A*x + beta*y and the epilogue of a checked request, on env's stream; beta != 0 always runs as WR_BSR_ORDERED.
 * Needs a workspace for grid + last_grid blocks. WR_EDEVICE. */
wr_status wr_bsr_interleaved_launch(wr_env *env, const wr_bsr_interleaved *b, const wr_apply_args *args);

wr_status wr_bsr_interleaved_launch_f32(wr_env *env, const wr_bsr_interleaved *b, const wr_apply *request);
wr_status wr_bsr_interleaved_launch_narrow(wr_env *env, const wr_bsr_interleaved *b, const wr_apply *request);
wr_status wr_bsr_interleaved_launch_f64(wr_env *env, const wr_bsr_interleaved *b, const wr_apply *request);

WR_C_END
#endif
