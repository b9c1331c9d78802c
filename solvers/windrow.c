#include "solvers/windrow.h"

const char *wr_version(void) { return WR_VERSION; }
