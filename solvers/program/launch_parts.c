#define _DEFAULT_SOURCE /* readlink, setenv */
#include "solvers/program/launch_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/memory.h"

static const char mark[] = "WINDROW_PARTS"; /* set in processes that were started here */

/* What users would otherwise have to write: Open MPI does not start processes as root, nor more of them than it counts
 * processors, and says at length that a process has not exited with 0. MPICH asks for none of this. */
static const char *const allowed[] = {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                                      "OMPI_MCA_rmaps_base_oversubscribe", "OMPI_MCA_orte_execute_quiet"};

wr_status wr_launch_parts(int64_t count, char **argv) {
  wr_status status;
  char number[32], path[4096];
  char **words = NULL;
  int given = 0, at = 0;
  if (getenv(mark))
    return wr_fail(WR_EUNAVAILABLE,
                   "mpirun has started this process without telling it of the others: is its MPI the one "
                   "that windrow was built with?");
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) return wr_fail(WR_EUNAVAILABLE, "/proc/self/exe does not say which program this is");
  path[length] = '\0';
  while (argv[given]) given++;
  PASS(wr_alloc(&words, given + 8, sizeof *words, "a command"));
  snprintf(number, sizeof number, "%lld", (long long)count);
  char *const first[] = {"mpirun", "--bind-to", "none", "-n", number, path};
  for (size_t k = 0; k < sizeof first / sizeof *first; k++) words[at++] = first[k];
  for (int k = 1; k < given; k++) words[at++] = argv[k];
  words[at] = NULL;
  for (size_t k = 0; k < sizeof allowed / sizeof *allowed; k++) (void)setenv(allowed[k], "1", 0);
  (void)setenv(mark, "1", 1);
  execvp(words[0], words);
  status = wr_fail(WR_EUNAVAILABLE, "-g %lld takes mpirun, which does not start (%s): make deps, then make",
                   (long long)count, strerror(errno));
  wr_free(words);
  return status;
}
