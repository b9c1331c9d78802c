/* The pattern of a matrix in numbers that a page can draw: nonzeros by place, and rows by their length. */
#ifndef WR_MATRIX_PICTURE_H
#define WR_MATRIX_PICTURE_H

#include "spmv/matrix/csr.h"

enum { WR_PICTURE_CELLS = 96, WR_PICTURE_BARS = 40 };

typedef struct wr_matrix_picture {
  int64_t nrows, ncols; /* of the matrix, of all its parts                              */
  int rows, cols; /* of the grid: those of the matrix, at most WR_PICTURE_CELLS each   */
  int64_t cell[WR_PICTURE_CELLS]
              [WR_PICTURE_CELLS]; /* [rows][cols] nonzeros; cell (g, h) begins at row ceil(g nrows / rows)
                                                       and column ceil(h ncols / cols)                                  */
  int64_t least, most;            /* of the cells that are not empty; 0: all are empty                 */
  int filled;                     /* cells that are not empty                                          */
  int bars;                       /* of the histogram: lengths one by one, or 0, 1, 2-3, 4-7, ... if    */
                                  /* more than 24 different ones are possible                          */
  int64_t from[WR_PICTURE_BARS], to[WR_PICTURE_BARS],
      count[WR_PICTURE_BARS]; /* [bars] rows with from to `to` entries   */
} wr_matrix_picture;

/* Reads each column index once; on all threads, with the same result for any number of them. Without host arrays, or without
 * rows or columns, there are no cells and no bars. If A is a part, all parts get the picture of the whole: collective, and
 * WR_EDEVICE where another part does not answer. */
wr_status wr_matrix_picture_draw(const wr_csr *A, wr_matrix_picture *picture);

#endif
