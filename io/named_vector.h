/* Vectors whose elements have names: records of a name and a value. Internal to io/. */
#ifndef WR_NAMED_VECTOR_H
#define WR_NAMED_VECTOR_H

#include "io/vector_file.h"
#include "io/input_text.h"

/* *values as of wr_vector_read, of a text with two columns; *is_named := 0 and no values if its first line has one column. The
 * text is held in memory. On failure *values may hold memory. */
wr_status wr_named_vector_read(const wr_text *text, const wr_vector_need *need, double **values, int *is_named);

#endif
