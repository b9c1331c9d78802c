/* -g N: a program starts itself again as N processes, each with a GPU of this machine. */
#ifndef WR_LAUNCH_PARTS_H
#define WR_LAUNCH_PARTS_H

#include <stdint.h>

#include "config/status.h"

/* Becomes mpirun, which starts the program of this process with the same arguments `count` times. Returns only with
 * WR_EUNAVAILABLE: there is no mpirun, or it has started this very process, which does not know it. argv: of main. */
wr_status wr_launch_parts(int64_t count, char **argv);

#endif
