#include "config/version.h"

const char *wr_version(void) { return WR_VERSION; }
