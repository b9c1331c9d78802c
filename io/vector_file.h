/* Dense vectors as Matrix Market arrays (n x 1 array real|integer general; on reading a 1 x n one and a coordinate n x 1 one
 * are taken too, missing entries being 0), gzip and "-" included. */
#ifndef WR_VECTOR_FILE_H
#define WR_VECTOR_FILE_H

#include <stdint.h>

#include "config/status.h"
#include "io/ids.h"

/* *values (wr_alloc'ed, [n]) := the vector in the file. WR_EINPUT: as the reader, and when its length is not n
 * (both are named; expected_for says what n belongs to: "the matrix's 991 rows"). Entries at the same place are added. */
wr_status wr_vector_read(const char *path, int64_t n, const char *expected_for, double **values);

/* Writes values[n], each as the shortest decimal that reads back to the same bits, with `comment` (may be NULL, may have
 * several lines) behind the banner. "-" is standard output. A file appears under its name only when it is complete
 * (io/output_file.h); a device or pipe is written directly. WR_EOUTPUT; WR_ENUMERIC, and nothing is written, when a value
 * is not finite, as a file cannot say it; WR_EUSAGE for n < 1. */
wr_status wr_vector_write(const char *path, int64_t n, const double *values, const char *comment);

/* The same values as lines of id, tab, value, without a heading: for edge lists the ids that they had. ids has at least n. */
wr_status wr_vector_write_tsv(const char *path, const wr_ids *ids, int64_t n, const double *values);

/* The shortest decimal that strtod reads back to the same bits, nearest to it where there are several; returns its length.
 * text has room for 32 characters. Plain from 1e-5 up to 17 digits, else d.ddde-N; "nan", "inf". */
int wr_number_text(double value, char *text);

#endif
