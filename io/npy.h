/* NumPy arrays in files (.npy, versions 1 to 3 of what numpy.lib.format documents): vectors of f8, f4, i8 or i4, little
 * endian. Internal to io/. */
#ifndef WR_NPY_H
#define WR_NPY_H

#include <stdint.h>
#include <stdio.h>

#include "io/input_text.h"
#include "io/vector_file.h"

/* *values as of wr_vector_read, of an array with the shape (n,), (n, 1) or (1, n); on failure it may hold memory. */
wr_status wr_npy_read(const wr_text *text, const wr_vector_need *need, double **values);

/* Version 1, shape (n,), f8. Errors are those of the stream: ferror. */
void wr_npy_write(FILE *file, int64_t n, const double *values);

#endif
