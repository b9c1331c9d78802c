/* NumPy arrays in files (.npy, versions 1 to 3 of what numpy.lib.format documents): vectors of f8, f4, i8 or i4, little
 * endian. Internal to io/. */
#ifndef WR_NPY_H
#define WR_NPY_H

#include <stdint.h>
#include <stdio.h>

#include "io/input_text.h"
#include "io/vector_file.h"

/* What the description of an array says. */
typedef struct wr_npy_array {
  char type[8]; /* "<f8" */
  int has_type, has_order, dimensions;
  int by_columns;   /* 1: Fortran's order          */
  int64_t shape[2]; /* of the first two dimensions */
  int64_t data;     /* where the elements begin    */
} wr_npy_array;

/* *array := what the text says. WR_EINPUT: it is none, or is not understood. */
wr_status wr_npy_describe(const wr_text *text, wr_npy_array *array);

/* *values as of wr_vector_read, of an array with the shape (n,), (n, 1), (1, n) or, where several vectors are allowed, (n, k);
 * on failure it may hold memory. */
wr_status wr_npy_read(const wr_text *text, const wr_vector_need *need, double **values);

/* Version 1, f8, shape (n,), or (n, columns) of values[columns][n]. Errors are those of the stream: ferror. */
void wr_npy_write(FILE *file, int64_t n, int64_t columns, const double *values);

#endif
