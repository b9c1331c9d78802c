/* Where programs keep between runs what they can measure again: windrow's folder in the user's cache folder. */
#ifndef WR_USER_CACHE_H
#define WR_USER_CACHE_H

#include "config/status.h"

WR_C_BEGIN

enum { WR_USER_CACHE_ROOM = 1024 };

/* path := the file `name` in $XDG_CACHE_HOME/windrow, or where that is not set in $HOME/.cache/windrow (XDG Base Directory
 * Specification: a path that is not absolute counts as not set). Nothing is made or looked for. WR_EUNAVAILABLE: neither
 * variable is set to an absolute path, or the path is too long. */
wr_status wr_user_cache_path(const char *name, char path[WR_USER_CACHE_ROOM]);

/* Makes the folders above such a file, as far as they are not there, for this user alone. WR_EOUTPUT, with the reason. */
wr_status wr_user_cache_make(const char *path);

WR_C_END
#endif
