#define _DEFAULT_SOURCE /* readlink */
#include "solvers/program/comm_mpi.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By these variables a launcher tells a process how many it has started: Open MPI's, and that of MPICH and others. */
static const char *launched(void) {
  const char *processes = getenv("OMPI_COMM_WORLD_SIZE");
  return processes ? processes : getenv("PMI_SIZE");
}

wr_status wr_comm_mpi_begin(char **argv, wr_comm **comm) {
  const char *processes = launched();
  char path[4096];
  *comm = NULL;
  if (processes == NULL || strcmp(processes, "1") == 0) return WR_OK;
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 5);
  if (length > 0) {
    snprintf(path + length, 5, "-mpi");
    execv(path, argv);
  }
  return wr_fail(
      WR_EUNAVAILABLE,
      "%s processes were started together, and there is no %s to connect them (%s): make deps, then make; or "
      "start one process",
      processes, length > 0 ? path : "program with MPI", strerror(errno));
}

int wr_comm_mpi_end(wr_comm *comm, int code, void (*say)(void *context), void *context) {
  (void)comm;
  if (code != 0 && say) say(context);
  return code;
}
