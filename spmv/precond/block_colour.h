/* An order of rows by which triangular factors have few levels: by colours of blocks (Iwashita, Nakashima and Takahashi,
 * Algebraic block multi-color ordering method for parallel multi-threaded sparse triangular solver in ICCG method, IPDPS
 * 2012, section III). Blocks here are grown along large elements, since what couples rows of different colours weakens an
 * incomplete factorisation. */
#ifndef WR_BLOCK_COLOUR_H
#define WR_BLOCK_COLOUR_H

#include "config/watch.h"
#include "spmv/matrix/csr.h"

WR_C_BEGIN

enum { WR_MOST_BLOCK = 4096 };

typedef struct wr_block_colours {
  int64_t blocks, colours;
} wr_block_colours;

/* order[n] := the rows of the square matrix A by colours: blocks of one colour have no element that couples them, and follow
 * each other. A block begins with the first row of first[n] (a permutation; NULL: 0, 1, ...) that is in none, and takes that
 * neighbour, in A + A^T, whose elements in common with the block are largest in relation to their rows, until it has `block`
 * rows. Its rows stand by their distance from its middle, the farthest first, so a block has about half as many levels as it
 * is long. block 1: colours of single rows. The same on any number of threads. WR_ENOMEM; WR_EUNAVAILABLE: ended by the watch,
 * which may be NULL; WR_EUSAGE: A is not square, block not in [1, WR_MOST_BLOCK]. */
wr_status wr_block_colour(const wr_csr *A, const int32_t *first, int64_t block, const wr_watch *watch, int32_t *order,
                          wr_block_colours *found);

WR_C_END
#endif
