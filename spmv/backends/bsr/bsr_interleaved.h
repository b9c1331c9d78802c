/* Blocks side by side: bsr_unrolled's layout for the common sizes. A lane multiplies `each` consecutive blocks, and
 * value v of block j of all 32 lanes lies side by side, so every load is coalesced and nothing but sums of rows goes
 * through shared memory (the transposed blocks of yaSpMV, section 3.2, with BSR's blocks).
 *
 *   Blocks A B C D E F G of 2 x 1, each = 2, and 3 lanes for 32; the rows end behind C, D and G:
 *
 *     lane          0     1     2     0     1     2
 *     blocks       A B   C D   E F   G .   . .   . .
 *     flags        0 0   1 1   0 0   1 0   0 0   0 0     bit j: block j is the last of its block row
 *     row           0     0     2     0                  block rows ended in the warp before the lane
 *     val          A0 C0 E0 A1 C1 E1 | B0 D0 F0 B1 D1 F1 | G0 . . G1 . . | . . . . . .
 *     col          A C E | B D F | G . . | . . .
 *
 * Larger blocks are cut into inner ones, a part of their rows and columns; block rows without blocks are left out, and
 * listed. A block that would reach beyond the last column begins so much further left, with padding there: no kernel has to
 * look where x ends. */
#ifndef WR_BSR_INTERLEAVED_H
#define WR_BSR_INTERLEAVED_H

#include "spmv/blocks/bsr_format.h"
#include "spmv/matrix/csr.h"
#include "spmv/spmv.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  WR_BSR_WARPS = 4, /* of a thread block */
  WR_BSR_EACH = 16  /* a lane's flags and the rows before it have to fit into 32 bits */
};

typedef enum wr_bsr_commit {
  WR_BSR_DUAL,   /* parts of shared rows are added to y atomically; who completes the row clears it in y_next */
  WR_BSR_ORDERED /* they are left in an array and added up in order                                            */
} wr_bsr_commit;

/* On a device. */
typedef struct wr_bsr_interleaved {
  int64_t nrows, ncols;
  int r, c;           /* of an inner block                                                              */
  int each;           /* inner blocks of a lane, at most WR_BSR_EACH                                    */
  int at_a_time;      /* of these it multiplies so many at a time                                       */
  int terms;          /* of a row, that are summed in the vectors' type at a time                       */
  int64_t blocks;     /* inner                                                                          */
  int64_t brows;      /* inner block rows with a block: rows, from here on                              */
  int64_t empty;      /* inner block rows without                                                       */
  int64_t warps;      /* blocks / (32 * each), rounded up                                               */
  int64_t grid;       /* thread blocks: warps / WR_BSR_WARPS, rounded up                                */
  int shared_rows;    /* most rows that end in one thread block                                         */
  int longest;        /* most thread blocks, but one, that share a row                                  */
  int32_t *col;       /* [warps][each][32] first column of an inner block, 0 behind the end             */
  void *val;          /* [warps][each][c][r][32] of `stored`, 0 behind the end; padding as in bsr_format.h */
  uint32_t *word;     /* [warps][32] flags, and from bit `each` on the rows ended in the warp before    */
  int32_t *first;     /* [warps + 1] rows ended before the warp                                         */
  int64_t *start;     /* [brows + 1] inner blocks before a row                                          */
  int32_t *row;       /* [brows] which inner block row a row is; NULL: all have blocks                  */
  int32_t *empty_row; /* [empty] those without                                                          */
  int32_t *origin;    /* [grid + 1] thread block where the row begins that is open where this one begins; itself: none */
  double *head;       /* [grid][r] ordered: the part of the row that ends first in the block            */
  double *tail;       /* [grid][r] ordered: the part of the row that is open at its end                 */
  wr_type type;       /* of the vectors                                                                 */
  wr_type stored;     /* of val: f32 too where type is f64 and every value is one of f32's: half the bytes */
  wr_bsr_commit commit;
} wr_bsr_interleaved;

/* 1 when there is a kernel for blocks of r x c: 1..6, 8 and 16 square, 16x1, 1x16, in a matrix of no fewer columns than an
 * inner block. */
int wr_bsr_can_pack(int r, int c, int64_t ncols);

/* *to := the rows of a matrix and its view, in blocks of r x c, side by side; how parts come together is the caller's to set.
 * each: 0, or about how many inner blocks a lane is to take. narrow: store f64 values as f32 if that is exact. *shape := as
 * which the blocks would lie in rows, without arrays. Waits. WR_EUNAVAILABLE for other sizes and for more than 2^31 - 1 thread
 * blocks; wr_bsr_check, WR_ENOMEM, WR_EDEVICE. */
wr_status wr_bsr_pack(wr_env *env, const wr_csr *A, const wr_csr_view *view, int r, int c, int each, int narrow,
                      wr_bsr *shape, wr_bsr_interleaved *to);

/* b's values := those of a matrix of the same pattern and its view; r, c and narrow as they were given to wr_bsr_pack, on
 * env's stream. WR_EUNAVAILABLE, and b is as it was: the values have to be stored in another type, which takes other blocks of
 * memory. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_bsr_interleaved_refill(wr_env *env, const wr_csr *A, const wr_csr_view *view, int r, int c, int narrow,
                                    const wr_bsr_interleaved *b);
void wr_bsr_interleaved_free(wr_env *env, wr_bsr_interleaved *b); /* a zeroed one is fine */
int64_t wr_bsr_interleaved_bytes(const wr_bsr_interleaved *b);    /* on the device, padding included */

/* *A := the rows, without padding; waits. WR_ENOMEM, WR_EDEVICE, and WR_EINTERNAL where a row's end is not flagged. */
wr_status wr_bsr_interleaved_decode(wr_env *env, const wr_bsr_interleaved *b, int as_pattern, wr_csr **A);

/* Blocks of the launch that completes shared and empty rows. */
unsigned wr_bsr_interleaved_last_grid(const wr_env *env, const wr_bsr_interleaved *b);

/* y = alpha*A*x + beta*y and the epilogue of a checked request, on env's stream; beta != 0 goes by the ordered way. Needs a
 * workspace for grid + last_grid blocks. WR_EDEVICE. */
wr_status wr_bsr_interleaved_launch(wr_env *env, const wr_bsr_interleaved *b, const wr_apply_args *args);

wr_status wr_bsr_interleaved_launch_f32(wr_env *env, const wr_bsr_interleaved *b, const wr_apply *request);
wr_status wr_bsr_interleaved_launch_narrow(wr_env *env, const wr_bsr_interleaved *b, const wr_apply *request);
wr_status wr_bsr_interleaved_launch_f64(wr_env *env, const wr_bsr_interleaved *b, const wr_apply *request);

#ifdef __cplusplus
}
#endif
#endif
