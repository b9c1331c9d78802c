/* The user's cache folder: by which variable it is found, what is made of it, and what cannot be. */
#define _GNU_SOURCE /* mkdtemp, setenv */
#include "config/user_cache.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/check.h"

static char folder[] = "/tmp/wr_test_user_cache_XXXXXX";

static void set(const char *name, const char *value) { CHECK((value ? setenv(name, value, 1) : unsetenv(name)) == 0); }

static void check_path(const char *cache, const char *home, const char *expected) {
  char path[WR_USER_CACHE_ROOM] = "x";
  set("XDG_CACHE_HOME", cache), set("HOME", home);
  if (expected) {
    CHECK_OK(wr_user_cache_path("a", path));
    CHECKF(strcmp(path, expected) == 0, "'%s', not '%s'", path, expected);
  } else {
    CHECK_FAILS(WR_EUNAVAILABLE, wr_user_cache_path("a", path));
    CHECK(path[0] == '\0');
  }
}

static void test_path(void) {
  char longest[2 * WR_USER_CACHE_ROOM];
  CASE("the path");
  check_path("/c", "/home/u", "/c/windrow/a");
  check_path(NULL, "/home/u", "/home/u/.cache/windrow/a");
  check_path("", "/home/u", "/home/u/.cache/windrow/a");
  check_path("relative", "/home/u", "/home/u/.cache/windrow/a");
  check_path(NULL, NULL, NULL);
  CHECK_MESSAGE("set XDG_CACHE_HOME or HOME to an absolute path");
  check_path(NULL, "home", NULL);
  memset(longest, 'a', sizeof longest - 1);
  longest[0] = '/', longest[sizeof longest - 1] = '\0';
  check_path(longest, NULL, NULL);
  CHECK_MESSAGE("too long");
  longest[WR_USER_CACHE_ROOM - 1 - strlen("/windrow/a")] = '\0'; /* the longest one that fits */
  char expected[2 * WR_USER_CACHE_ROOM];
  snprintf(expected, sizeof expected, "%s/windrow/a", longest);
  check_path(longest, NULL, expected);
}

static int is_folder(const char *path) {
  struct stat facts;
  return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode) && (facts.st_mode & 0777) == 0700;
}

static void test_make(void) {
  char path[256], part[256];
  CASE("making it");
  CHECK(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/one/two/file", folder);
  CHECK_OK(wr_user_cache_make(path));
  CHECK_OK(wr_user_cache_make(path));
  snprintf(part, sizeof part, "%s/one/two", folder);
  CHECK(is_folder(part) && access(path, F_OK) != 0);
  FILE *file = fopen(path, "w");
  CHECK(file != NULL && fclose(file) == 0);
  snprintf(path, sizeof path, "%s/one/two/file/three/four", folder);
  CHECK_FAILS(WR_EOUTPUT, wr_user_cache_make(path)); /* a file where a folder has to be */
  CHECK_MESSAGE("cannot be made");
  snprintf(path, sizeof path, "%s/one/two/file", folder);
  CHECK(unlink(path) == 0 && rmdir(part) == 0);
  snprintf(part, sizeof part, "%s/one", folder);
  CHECK(rmdir(part) == 0 && rmdir(folder) == 0);
}

int main(void) {
  test_path();
  test_make();
  return wr_test_report("user_cache");
}
