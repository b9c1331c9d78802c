/* Which file a path leads to, so that two paths to the same file are recognised. */
#ifndef WR_FILE_PLACE_H
#define WR_FILE_PLACE_H

#include <stdint.h>

enum { WR_PATH_ROOM = 4096 }; /* bytes of the longest path, its end included */

typedef struct wr_file_place {
  enum {
    WR_PLACE_OTHER,  /* a device or a folder; or no file can be there */
    WR_PLACE_FILE,   /* a regular file                                */
    WR_PLACE_PIPE,   /* a pipe, with a name or without                */
    WR_PLACE_VACANT  /* a file can be created there                   */
  } kind;
  uint64_t device, inode; /* of the file or pipe, or of the folder in which the new file would be */
  char name[256];         /* of the vacant place in its folder                  */
} wr_file_place;

/* The file that an output to `path` replaces or creates, or that reading `path` reads. */
wr_file_place wr_file_place_at(const char *path);

/* The same for an open file; WR_PLACE_OTHER if it is none. */
wr_file_place wr_file_place_open(int file);

/* 1 if both are the same file or pipe, whatever its names, or the same vacant place. */
int wr_file_place_is(const wr_file_place *a, const wr_file_place *b);

/* target := path, or what it leads to while it is a symbolic link. Returns 0, or errno: ELOOP, ENAMETOOLONG. */
int wr_file_follow(const char *path, char target[WR_PATH_ROOM]);

#endif
