#include "solvers/windrow.h"

#include "solvers/machine.h"

const char *wr_version(void) { return WR_VERSION; }
