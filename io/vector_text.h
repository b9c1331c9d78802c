/* Vectors as lines of text. Internal to io/. */
#ifndef WR_VECTOR_TEXT_H
#define WR_VECTOR_TEXT_H

#include "io/input_text.h"
#include "io/vector_file.h"

/* *values as of wr_vector_read; on failure it may hold memory. */
wr_status wr_vector_text_read(const wr_text *text, const wr_vector_need *need, double **values);

#endif
