/* MPI starts and connects processes that each compute one part (spmv/parts/comm.h). NAME-mpi is the program NAME with
 * comm_mpi.c, which is linked with MPI; NAME itself has comm_launch.c, which turns a process that mpirun has started into one
 * of NAME-mpi. So neither the library nor a process that runs alone loads MPI, which takes 2.5 ms (2026-11). */
#ifndef WR_COMM_MPI_H
#define WR_COMM_MPI_H

#include "spmv/parts/comm.h"

/* *comm := the parts of this program, if mpirun or the like has started several processes of it; NULL: it runs alone.
 * WR_EUNAVAILABLE: it was started so, and there is no program NAME-mpi beside it; or the parts are of different builds, and
 * there is a *comm, by which all of them end. argv: of main. Called once, first of all. */
wr_status wr_comm_mpi_begin(char **argv, wr_comm **comm);

/* Called once, at the end of main, whether or not the part has failed. code: the exit code of this part. say, if not NULL, is
 * called by the first part that has an exit code other than 0, or by this part if the others do not arrive, as they wait for
 * something else; in that case it ends all parts and does not return. Returns the worst exit code of all parts. comm NULL, of a
 * process that runs alone: calls say if code is not 0 and returns code. */
int wr_comm_mpi_end(wr_comm *comm, int code, void (*say)(void *context), void *context);

#endif
