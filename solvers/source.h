/* From a name on the command line to a matrix: a file, standard input, or a generator. */
#ifndef WR_SOURCE_H
#define WR_SOURCE_H

#include "solvers/ledger.h"
#include "solvers/report.h"
#include "spmv/csr.h"

typedef struct wr_source_options {
  int threads;              /* 0: all                                               */
  int nonnegative;          /* values are weights: a negative one is a defect       */
  wr_duplicates duplicates;
} wr_source_options;

/* *A := the matrix; facts' source, kind, sizes, and in remark how many entries were repeated. Phases read and assemble of the
 * ledger. WR_EINPUT, WR_EUSAGE (an edge list, an unknown gen: name), WR_ENOMEM. */
wr_status wr_source_load(const char *name, const wr_source_options *options, wr_ledger *ledger, wr_csr **A,
                         wr_problem_facts *facts);

#endif
