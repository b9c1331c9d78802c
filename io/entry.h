/* One entry line of a Matrix Market file. Two parsers: a fast one for lines as programs write them, and a careful one that
 * is the policy of io/reader.h, word by word, and gets the lines that the fast one does not understand. Internal to io/. */
#ifndef WR_ENTRY_H
#define WR_ENTRY_H

#include <stdint.h>

#include "io/input_line.h"
#include "spmv/matrix/csr.h"

/* The format of every line. */
typedef struct wr_entry_format {
  int coordinate;  /* 1: row, column, value; 0: a value (array)        */
  int pattern;     /* 1: no value                                      */
  int integer;     /* 1: values are integers                           */
  int nonnegative; /* 1: values, mirrored ones too, must not be below 0 */
  wr_symmetry symmetry;
  int64_t nrows, ncols;
} wr_entry_format;

typedef struct wr_entry {
  int64_t row, col; /* 0-based; 0 in an array   */
  double value;     /* 1 in a pattern           */
  int is_inexact;   /* 1: the value is another number than in the file: 0 after underflow, or an integer beyond 2^53 rounded */
} wr_entry;

/* A line that is not blank. `where` begins the error; WR_EINPUT with the first word that is wrong. */
wr_status wr_entry_parse(const wr_entry_format *format, const wr_input_line *line, const char *where, wr_entry *entry);

/* Appends to the chunk (as far as it has capacity) the lines of [at, end) that are as programs write them. Returns the
 * beginning of the first line that it leaves: for the careful parser or for lack of room; or end. */
const char *wr_entries_scan(const wr_entry_format *format, const char *at, const char *end, wr_triplet_chunk *chunk);

/* Appends one entry; the chunk must have room. */
void wr_entry_append(const wr_entry_format *format, const wr_entry *entry, wr_triplet_chunk *chunk);

#endif
