#include "config/user_cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

wr_status wr_user_cache_path(const char *name, char path[WR_USER_CACHE_ROOM]) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int length = -1;
  path[0] = '\0';
  if (cache && cache[0] == '/')
    length = snprintf(path, WR_USER_CACHE_ROOM, "%s/windrow/%s", cache, name);
  else if (home && home[0] == '/')
    length = snprintf(path, WR_USER_CACHE_ROOM, "%s/.cache/windrow/%s", home, name);
  if (length > 0 && length < WR_USER_CACHE_ROOM) return WR_OK;
  path[0] = '\0';
  return wr_fail(WR_EUNAVAILABLE,
                 length > 0 ? "the path of the user's cache folder is too long; set XDG_CACHE_HOME to a shorter one"
                            : "there is no cache folder for this user: set XDG_CACHE_HOME or HOME to an absolute path");
}

wr_status wr_user_cache_make(const char *path) {
  char folder[WR_USER_CACHE_ROOM];
  snprintf(folder, sizeof folder, "%s", path);
  for (char *at = strchr(folder + 1, '/'); at; at = strchr(at + 1, '/')) {
    *at = '\0';
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
      return wr_fail(WR_EOUTPUT, "%.200s cannot be made: %s", folder, strerror(errno));
    *at = '/';
  }
  return WR_OK;
}
