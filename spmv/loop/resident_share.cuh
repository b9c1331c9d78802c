/* The matrix of a resident loop, cut into shares: neighbouring rows for each thread block, with columns that are numbered anew
 * among those that the block needs. A block copies its share to shared memory once a launch and multiplies from there; what
 * does not fit is read from global memory. resident_share.cu makes the shares, resident_rows.cuh multiplies with them.
 *
 * The matrix is stored in blocks of side x side, here called tiles to tell them from thread blocks; side 1: single entries.
 * The tiles of a share are numbered along its rows of tiles. Thread t has the tiles t * steps, ..., t * steps + steps - 1; so
 * all threads have the same work whatever the lengths of rows. Step k of all threads lies together, so that lanes read
 * neighbouring words. The sums of a thread go to slots, one for each row of tiles of which it has a part; the slots of a row
 * follow each other, and are added up in this order. */
#ifndef WR_RESIDENT_SHARE_CUH
#define WR_RESIDENT_SHARE_CUH

#include <stdint.h>

enum {
  WR_SHARE_ENDS = 1 << 15,   /* of a tile's 16-bit column: the tile is the last of its row that its thread has */
  WR_SHARE_COLUMN = WR_SHARE_ENDS - 1,
  WR_SHARE_SIDES = 4,        /* the largest side */
  WR_SHARE_LONG = 32         /* slots above which a row is long: added up by a warp */
};

/* Rows, columns and slots are counted in tiles. */
typedef struct wr_share {
  int first, rows;  /* rows of tiles: first, ..., first + rows - 1                          */
  int tiles;
  int columns;      /* different ones; -1: more than could be counted                       */
  int steps, width; /* tiles of a thread; threads that have any                             */
  int slots;
  int most;         /* entries of the longest row                                           */
  int64_t at;       /* bytes of images before its own                                       */
} wr_share;

/* Offsets in the image of a share, in bytes. The image begins with columns: int32_t[columns], ascending. */
typedef struct wr_share_layout {
  int row_slots;    /* uint16_t[rows + 1]: the first slot of each row                       */
  int thread_slots; /* uint16_t[width]: the first slot of each thread                       */
  int first_step;   /* of the tiles of step 0                                               */
  int column;       /* within a step, uint16_t[width]: behind the values, T[side * side][width] */
  int step;         /* bytes of a step                                                      */
} wr_share_layout;

#ifdef __CUDACC__
#define WR_SHARE_INLINE static __host__ __device__ inline
#else
#define WR_SHARE_INLINE static inline
#endif

WR_SHARE_INLINE int wr_share_round(int bytes) { return (bytes + 15) / 16 * 16; }

/* value_bytes: of the values of a tile; 0: the matrix is a pattern. */
WR_SHARE_INLINE wr_share_layout wr_share_layout_of(const wr_share *s, int value_bytes) {
  wr_share_layout at;
  at.row_slots = wr_share_round(4 * s->columns);
  at.thread_slots = at.row_slots + wr_share_round(2 * (s->rows + 1));
  at.first_step = at.thread_slots + wr_share_round(2 * s->width);
  at.column = wr_share_round(value_bytes * s->width);
  at.step = at.column + wr_share_round(2 * s->width);
  return at;
}

/* Bytes for the elements of x that a share needs, in f64; at least `sums`, for the sums of all threads take the same place. */
WR_SHARE_INLINE int wr_share_x(const wr_share *s, int side, int sums) {
  int bytes = wr_share_round(8 * side * s->columns);
  return bytes > sums ? bytes : sums;
}

/* Bytes of shared memory that a block needs beside the image: its elements of x and its slots, in f64, and its long rows, each
 * array rounded up to 16. */
WR_SHARE_INLINE int wr_share_beside(const wr_share *s, int side, int sums) {
  return wr_share_x(s, side, sums) + wr_share_round(8 * side * s->slots) +
         wr_share_round(4 * (s->slots / WR_SHARE_LONG + 1));
}

WR_SHARE_INLINE int64_t wr_share_bytes(const wr_share *s, int value_bytes) {
  wr_share_layout at = wr_share_layout_of(s, value_bytes);
  return at.first_step + (int64_t)s->steps * at.step;
}

#endif
