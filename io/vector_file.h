/* Dense vectors in files. A file is told by its content, whatever its name, gzip and "-" included:
 *
 *   Matrix Market   n x 1 array real|integer general; a 1 x n one and a coordinate one are taken too, missing entries being 0
 *   NumPy           .npy with a vector of f8, f4, i8 or i4, little endian
 *   lines           a number each: the elements in order
 *   lines           an id and a number each, between blanks, tabs or a comma, in any order; perhaps below a line of names
 *
 * In lines, blank ones and those that begin with # or % are skipped. Numbers are as in Matrix Market files (io/reader.h): nan
 * and inf are refused. docs/formats.md says the same to users. */
#ifndef WR_VECTOR_FILE_H
#define WR_VECTOR_FILE_H

#include <stdint.h>

#include "config/status.h"
#include "io/ids.h"
#include "io/number.h"

/* What a vector is read for. */
typedef struct wr_vector_need {
  int64_t n;          /* elements                                                               */
  const char *whose;  /* what they belong to: "the matrix's rows"                               */
  const wr_ids *ids;  /* [n] what they are called in lines of id and value; NULL: 1, 2, ...     */
  int subset;         /* 1: such lines may leave out elements, which are 0; else it is a defect */
  int complete;       /* 1: a coordinate file has each element once; else missing ones are 0, repeated ones added */
  int64_t *columns;   /* NULL: a file has one vector. Else a Matrix Market or NumPy file may have several, as the columns of  */
                      /* an array n x k: *columns := k, and the values are [k][n], one vector after the other                 */
} wr_vector_need;

/* *values (wr_alloc'ed, [n]) := the vector in the file; NULL on failure. WR_EINPUT with the line where there is one: as the
 * reader, another number of values than n, an id twice or not among ids; WR_ENOMEM. What the file claims to hold
 * costs no memory: n does. */
wr_status wr_vector_read(const char *path, const wr_vector_need *need, double **values);

typedef enum wr_vector_format {
  WR_VECTOR_MTX, /* Matrix Market array, n x 1           */
  WR_VECTOR_TSV, /* lines of id, tab, value              */
  WR_VECTOR_CSV, /* lines of id,value below their names  */
  WR_VECTOR_TXT, /* lines of a value                     */
  WR_VECTOR_NPY, /* NumPy, [n] of f8                     */
  WR_VECTOR_FORMATS /* none of them            */
} wr_vector_format;

/* What the ending of the name says, in any letter case: .mtx .tsv .csv .txt .npy; WR_VECTOR_FORMATS: it has none of these. */
wr_vector_format wr_vector_format_named(const char *path);

/* *format := what is asked for, or with WR_VECTOR_FORMATS what the ending of the name says; Matrix Market without an
 * ending, as of standard output ("-"). WR_EUSAGE: another ending, or one that denies what is asked for (.txt may be any
 * text). */
wr_status wr_vector_format_choose(const char *path, wr_vector_format asked, wr_vector_format *format);

/* Writes vectors, values[columns][n], as the columns of an array n x columns, as text each number in the shortest decimal that
 * reads back to the same bits. In lines of text the elements of several vectors lie side by side, below the names value1,
 * value2, ... of a table. ids (at least n; NULL: 1, 2, ...) are what elements are called in lines of id and value; comment (may
 * be NULL, may have several lines) goes behind the banner of a Matrix Market file. "-" is standard output. A file appears under
 * its name only when it is complete (io/output_file.h); a device or pipe is written directly. WR_EOUTPUT; WR_ENUMERIC, and
 * nothing is written, when a value is not finite, as most forms cannot say it; WR_EUSAGE for n or columns < 1. */
wr_status wr_vector_write(const char *path, wr_vector_format format, const wr_ids *ids, int64_t n, int64_t columns,
                          const double *values, const char *comment);

#endif
