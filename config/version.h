/* The version of windrow. */
#ifndef WR_VERSION_H
#define WR_VERSION_H

#include "config/errors.h"

WR_C_BEGIN

/* Of these headers. */
#define WR_VERSION "0.1.0"

/* "0.1.0": of the library that runs, which may be newer than the headers. */
const char *wr_version(void);

WR_C_END
#endif
