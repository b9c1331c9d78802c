/* How an edge list begins, and one line of it. Lines of numbers have two parsers, as Matrix Market entries have (io/entry.h): a
 * fast one for lines as programs write them, and a careful one that is the policy of io/edge_list.h and gets the lines that the
 * fast one does not understand. Lists with names, quotes or one separator have the parser of io/edge_record.h. Internal to
 * io/. */
#ifndef WR_EDGE_H
#define WR_EDGE_H

#include <stdint.h>

#include "io/edge_choice.h"
#include "io/input_line.h"

/* The format of every line. Columns count from 0. */
typedef struct wr_edge_format {
  int columns;        /* of every line                          */
  int source, target; /* which columns have the ids             */
  int weight;         /* which one has the weight; -1: none has */
  int nonnegative;    /* 1: weights must not be below 0         */
  char separator;     /* of records (io/record.h); 0: lines of numbers between blanks, tabs and commas */
  int names;          /* 1: ids are names                       */
} wr_edge_format;

/* Edges in file order, with ids as the file says them. */
typedef struct wr_edge_chunk {
  int64_t count, capacity;
  int64_t *source, *target; /* [capacity] >= 0              */
  double *weight;           /* [capacity], or NULL: no weights */
} wr_edge_chunk;

typedef struct wr_edge {
  int64_t source, target;
  double weight; /* 1 where there are no weights */
} wr_edge;

/* 1: a blank line, or a comment: # or % is its first character other than blanks. */
int wr_edge_is_none(const wr_input_line *line);

/* Goes through the columns of a line, told apart by blanks or by a comma. */
typedef struct wr_edge_cursor {
  const char *at, *end;        /* the rest of the line               */
  const char *word, *word_end; /* the column taken last; may be empty */
  int taken;                   /* how many columns were taken        */
} wr_edge_cursor;

/* Takes the next column; 0: the line has no further one. */
int wr_edge_take(wr_edge_cursor *cursor);

/* Refuses what no line may have: a carriage return inside it, a quoted column. `where` begins the error; WR_EINPUT. */
wr_status wr_edge_check(const wr_input_line *line, const char *where);

/* The beginning of a list. */
typedef struct wr_edge_head {
  const char *name;     /* of the file, for errors                          */
  const char *at, *end; /* whole lines, of which the first has the number   */
  int64_t line;
  int whole;  /* 1: the list ends there                           */
  int is_csv; /* 1: the file's name ends in .csv, perhaps in .csv.gz */
} wr_edge_head;

/* Decides how a list is read, by the choice, by the first line that is no comment, and where that names columns, by the next
 * one: *format (nonnegative is left), and *body := where the first edge begins; NULL: there is none. *more := 1: longer lines,
 * or comments, than the head has (unless it is whole), and nothing is decided. WR_EINPUT: several meanings are possible, or
 * the choice names a column that the line does not have. io/edge_list.h has the rules. */
wr_status wr_edge_decide(const wr_edge_head *head, const wr_edge_choice *choice, wr_edge_format *format,
                         const char **body, int *more);

/* A line of names, as tables begin with: two or more words that begin with a letter, an underscore or a colon, quotes aside.
 * Between blanks, tabs and commas. */
int wr_edge_is_heading(const wr_input_line *line);

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
