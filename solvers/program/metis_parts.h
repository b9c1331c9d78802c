/* A partition by METIS (Karypis and Kumar 1998, "A fast and high quality multilevel scheme for partitioning irregular graphs").
 * metis_parts.c is the only file that includes METIS's header. It is linked to the programs that run over MPI and to nothing
 * else, and defines nothing where METIS is not found. */
#ifndef WR_METIS_PARTS_H
#define WR_METIS_PARTS_H

#include "spmv/matrix/csr.h"
#include "spmv/parts/comm.h"

/* As wr_comm_ops has `divide`; the same from run to run. Rows below each other with the same columns stay together, so that
 * blocks do. The work of a row is that of wr_partition_cut. Part 0 holds the pattern of the whole, and its graph: up to 32
 * bytes a row and 16 an entry. */
wr_status wr_metis_parts(wr_comm *comm, const int64_t *starts, const wr_csr *A, int32_t *part);

#endif
