/* One line of an edge list. Two parsers, as for Matrix Market entries (io/entry.h): a fast one for lines as programs write
 * them, and a careful one that is the policy of io/edge_list.h; what the first does not understand the second decides.
 * Internal to io/. */
#ifndef WR_EDGE_H
#define WR_EDGE_H

#include <stdint.h>

#include "io/input_text.h"

/* What a line has to look like. */
typedef struct wr_edge_format {
  int weighted;    /* 1: a third column                */
  int nonnegative; /* 1: weights must not be below 0   */
} wr_edge_format;

/* Edges in file order, with ids as the file says them. */
typedef struct wr_edge_chunk {
  int64_t count, capacity;
  int64_t *source, *target; /* [capacity] >= 0                       */
  double *weight;           /* [capacity], or NULL: no third column  */
} wr_edge_chunk;

typedef struct wr_edge {
  int64_t source, target;
  double weight; /* 1 without a third column */
} wr_edge;

/* 1: a blank line, or a comment: # or % is its first character other than blanks. */
int wr_edge_is_none(const wr_input_line *line);

/* 1: a line of names, as tables begin with: each of its words, quotes aside, begins with a letter. */
int wr_edge_is_heading(const wr_input_line *line);

/* How many words the line has, told apart by blanks or by a comma. */
int wr_edge_columns(const wr_input_line *line);

/* A line that holds an edge. `where` begins the error; WR_EINPUT with the first word that is wrong. */
wr_status wr_edge_parse(const wr_edge_format *format, const wr_input_line *line, const char *where, wr_edge *edge);

/* Appends to the chunk (as far as it has capacity) the lines of [at, end) that are as programs write them. Returns the
 * beginning of the first line that it leaves: for the careful parser or for lack of room; or end. */
const char *wr_edges_scan(const wr_edge_format *format, const char *at, const char *end, wr_edge_chunk *chunk);

/* Appends one edge; the chunk must have room. */
void wr_edge_append(const wr_edge_format *format, const wr_edge *edge, wr_edge_chunk *chunk);

/* Frees a chunk's arrays. */
void wr_edge_chunk_free(wr_edge_chunk *chunk);

#endif
