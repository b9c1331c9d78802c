/* From a name to the rows of one part of a matrix: each process makes or reads its own rows, or of a text its share of the
 * lines, and none ever holds the whole matrix. */
#ifndef WR_PART_SOURCE_H
#define WR_PART_SOURCE_H

#include "solvers/api/source.h"
#include "solvers/report/run.h"
#include "spmv/parts/halo.h"

/* *A := the rows of this part, or with `transposed` those of the transposed matrix, with its halo, cut so that the parts have
 * about equal work (spmv/parts/partition.h), or as options->partition says; facts' source, kind, sizes and remark, those of all
 * parts, as wr_source_load has them. Of the options those about memory, saving and feeding are not used. Phases read and
 * assemble of the ledger. Collective: after an error all parts have the same one, of a text with the line that one process
 * would name. WR_EUNAVAILABLE: no METIS; compressed or standard input, ids that are names, a saved matrix with ids, binary
 * files of other programs; WR_EINPUT; WR_EUSAGE; WR_ENOMEM. */
wr_status wr_part_source_load(const char *name, wr_comm *comm, const wr_source_options *options, int transposed,
                              wr_ledger *ledger, wr_csr **A, wr_problem_facts *facts);

#endif
