/* NumPy arrays in files (.npy, versions 1 to 3 of what numpy.lib.format documents): vectors of f8, f4, i8 or i4, little
 * endian. Internal to io/. */
#ifndef WR_NPY_H
#define WR_NPY_H

#include <stdint.h>
#include <stdio.h>

#include "io/input_text.h"
#include "io/vector_file.h"

/* *values as of wr_vector_read, of an array with the shape (n,), (n, 1), (1, n) or, where several vectors are allowed, (n, k);
 * on failure it may hold memory. */
wr_status wr_npy_read(const wr_text *text, const wr_vector_need *need, double **values);

/* Version 1, f8, shape (n,), or (n, columns) of values[columns][n]. Errors are those of the stream: ferror. */
void wr_npy_write(FILE *file, int64_t n, int64_t columns, const double *values);

#endif
