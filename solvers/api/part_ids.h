/* Nodes of an edge list that several processes have read, each a share of the edges. */
#ifndef WR_PART_IDS_H
#define WR_PART_IDS_H

#include "io/ids.h"
#include "spmv/matrix/csr.h"
#include "spmv/parts/comm.h"

/* *ids, those of this part's edges, become the ids of all parts' edges, in each part; rows and columns of the triplets, which
 * are places in the former, become places in the latter, and nrows and ncols their number. The ids of all parts are numbers,
 * or names. Collective: after an error all parts have the same one. WR_EINPUT, beginning with name: more than WR_MAX_INDEX
 * nodes; WR_ENOMEM. */
wr_status wr_part_ids_number(wr_comm *comm, const char *name, wr_triplets *triplets, wr_ids *ids);

#endif
