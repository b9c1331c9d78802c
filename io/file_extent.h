/* How large the matrix in a file is, about, without reading it. */
#ifndef WR_FILE_EXTENT_H
#define WR_FILE_EXTENT_H

#include <stdint.h>

/* *nrows, *nnz := from the header of a Matrix Market file or of one saved in binary (at most as many entries as the file
 * has room for), else from the length of the text by what lines typically take, gzip at a typical rate. 0: nothing is
 * known, as of standard input, a pipe, an absent file, or one that begins with a defect. */
int wr_file_extent(const char *path, int64_t *nrows, int64_t *nnz);

#endif
