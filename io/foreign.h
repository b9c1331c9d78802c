/* Files that people have and that are not read here, told by their first bytes, so that the error can say what they are and
 * what would help. */
#ifndef WR_FOREIGN_H
#define WR_FOREIGN_H

#include <stdint.h>

#include "config/status.h"

enum { WR_FOREIGN_HEAD = 512 }; /* bytes from the beginning that tell them all */

/* 1: a file that begins with [begin, begin + count) is one of them. */
int wr_foreign_is(const char *begin, int64_t count);

/* WR_EINPUT for such a file: what it is and what would help. */
wr_status wr_foreign_check(const char *name, const char *begin, int64_t count);

#endif
