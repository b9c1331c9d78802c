/* From a name on the command line to a matrix: a file (text, or saved in binary), standard input, or a generator. */
#ifndef WR_SOURCE_H
#define WR_SOURCE_H

#include "io/binary_file.h"
#include "io/edge_choice.h"
#include "io/ids.h"
#include "solvers/api/place.h"
#include "solvers/report/run.h"
#include "spmv/matrix/csr_feed.h"

/* The format of an input file. A file saved in binary is recognised by its first bytes. */
typedef enum wr_input_format {
  WR_INPUT_AUTO,  /* by the ending of its name: an edge list or else Matrix Market */
  WR_INPUT_MTX,
  WR_INPUT_EDGES
} wr_input_format;

typedef struct wr_source_options {
  int threads;              /* 0: all                                               */
  int nonnegative;          /* values are weights: a negative one is a defect       */
  wr_duplicates duplicates;
  wr_input_format format;   /* of files and standard input                             */
  wr_edge_choice columns;   /* of an edge list; a choice makes any file with `auto` one     */
  wr_ids *ids;              /* gets the names of the rows, those of a file without: 1, 2, ...; may be NULL. To be freed. */
  int64_t row_bytes, column_bytes; /* of host memory that the caller will hold for each row and column of the matrix */
  int64_t entry_bytes;             /* likewise, for each entry beyond as many as there are rows                      */
  const char *partition;    /* in several processes: which rows each has; NULL: stretches of equal work. "metis", or a file  */
                            /* with the number of a part, from 0 on, for each row                                         */
  const char *save;         /* write the matrix there in binary; NULL: do not          */
  const wr_csr_feed *feed;  /* is called when rows of a file become final, and after a failure with no matrix; or NULL */
} wr_source_options;

/* *extent := an estimate of the size of a matrix that is not read yet. Returns 0 if there is none. */
int wr_source_extent(const char *name, wr_extent *extent);

/* 1: a file of this name is read as an edge list. WR_EUSAGE: a choice of columns for what has none. */
int wr_source_is_edge_list(const char *name, const wr_source_options *options);
wr_status wr_source_check_columns(const char *name, const wr_source_options *options);

/* A binary has its repeated edges merged. WR_EINPUT: the caller has chosen the other way of merging. */
wr_status wr_source_check_origin(const char *name, const wr_source_options *options, const wr_binary_origin *origin);

/* Adds a few words to facts->remark. */
void wr_source_note(wr_problem_facts *facts, const char *text);

/* Adds to facts->remark which ids there are, and how many entries were repeated. */
void wr_source_remark(wr_problem_facts *facts, const wr_binary_origin *origin);

/* A matrix is refused before memory of its size is allocated if row pointers, entries, row_bytes a row, column_bytes a
 * column and entry_bytes an entry exceed the available memory: a header can announce more rows than its file has entries.
 *
 * *A := the matrix; facts' source, kind, sizes, and in remark how many entries were repeated. Phases read and assemble of the
 * ledger, and write where it is saved. A binary has its repeated entries merged: of a graph (nonnegative) it is refused when
 * they were merged the other way. WR_EINPUT, WR_EUSAGE (an unknown gen: name, a choice of columns for what has none),
 * WR_EOUTPUT, WR_ENOMEM. */
wr_status wr_source_load(const char *name, const wr_source_options *options, wr_ledger *ledger, wr_csr **A,
                         wr_problem_facts *facts);

#endif
