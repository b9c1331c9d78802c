#define _DEFAULT_SOURCE /* readlink, lstat */
#include "io/file_place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40 }; /* symbolic links that Linux follows in one path */

/* Bytes of the folder's part of a path, the last slash included. */
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

int wr_file_follow(const char *path, char target[WR_PATH_ROOM]) {
  struct stat facts;
  char link[WR_PATH_ROOM];
  size_t length = strlen(path);
  if (length >= WR_PATH_ROOM) return ENAMETOOLONG;
  memcpy(target, path, length + 1);
  for (int links = 0; lstat(target, &facts) == 0 && S_ISLNK(facts.st_mode); links++) {
    if (links == MOST_LINKS) return ELOOP;
    ssize_t count = readlink(target, link, sizeof link);
    if (count < 0) return errno;
    size_t kept = link[0] == '/' ? 0 : folder_length(target);
    if (kept + (size_t)count >= WR_PATH_ROOM) return ENAMETOOLONG;
    memcpy(target + kept, link, (size_t)count);
    target[kept + (size_t)count] = '\0';
  }
  return 0;
}

static wr_file_place place_of(const struct stat *facts) {
  wr_file_place place = {.kind = WR_PLACE_OTHER, .device = facts->st_dev, .inode = facts->st_ino};
  if (S_ISREG(facts->st_mode)) place.kind = WR_PLACE_FILE;
  if (S_ISFIFO(facts->st_mode)) place.kind = WR_PLACE_PIPE;
  return place;
}

static wr_file_place vacant_place(const char *path) {
  wr_file_place place = {.kind = WR_PLACE_OTHER};
  struct stat facts;
  char target[WR_PATH_ROOM], folder[WR_PATH_ROOM + 2];
  if (wr_file_follow(path, target) != 0) return place;
  size_t length = folder_length(target), name_length = strlen(target + length);
  if (name_length == 0 || name_length >= sizeof place.name) return place;
  snprintf(folder, sizeof folder, "%.*s.", (int)length, target);
  if (stat(folder, &facts) != 0) return place;
  place.kind = WR_PLACE_VACANT, place.device = facts.st_dev, place.inode = facts.st_ino;
  memcpy(place.name, target + length, name_length + 1);
  return place;
}

wr_file_place wr_file_place_at(const char *path) {
  struct stat facts;
  if (stat(path, &facts) == 0) return place_of(&facts);
  return errno == ENOENT ? vacant_place(path) : (wr_file_place){.kind = WR_PLACE_OTHER};
}

wr_file_place wr_file_place_open(int file) {
  struct stat facts;
  return fstat(file, &facts) == 0 ? place_of(&facts) : (wr_file_place){.kind = WR_PLACE_OTHER};
}

int wr_file_place_is(const wr_file_place *a, const wr_file_place *b) {
  return a->kind != WR_PLACE_OTHER && a->kind == b->kind && a->device == b->device && a->inode == b->inode &&
         strcmp(a->name, b->name) == 0;
}
