/* From a name to the rows of one part of a generated or saved matrix: each process makes or reads its own rows, and none ever
 * holds the whole matrix. */
#ifndef WR_PART_SOURCE_H
#define WR_PART_SOURCE_H

#include "solvers/report/run.h"
#include "spmv/parts/halo.h"

typedef struct wr_part_options {
  int threads;
  int nonnegative; /* 1: a negative value is refused                                */
  int transposed;  /* 1: the rows of the transposed matrix are wanted, as PageRank multiplies */
} wr_part_options;

/* *A := the rows of this part, with its halo, cut so that the parts have about equal work (spmv/parts/partition.h); facts'
 * source, kind and sizes, those of all parts. Phases read and assemble of the ledger. Collective: after an error all parts have
 * the same one. WR_EUNAVAILABLE: a text, or a matrix with ids; WR_EINPUT; WR_EUSAGE; WR_ENOMEM. */
wr_status wr_part_source_load(const char *name, wr_comm *comm, const wr_part_options *options, wr_ledger *ledger,
                              wr_csr **A, wr_problem_facts *facts);

#endif
