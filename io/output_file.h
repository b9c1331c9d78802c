/* Output files that are complete or not there: written without a name, or where a file system has no such files under
 * another one, and renamed when all is well. What is no regular file (a device, a pipe) is written directly, and "-" is
 * standard output.
 *
 *   wr_output_file out;
 *   TRY(wr_output_open(path, &out));
 *   fprintf(out.file, ...);            errors may be ignored: the stream remembers them
 *   return wr_output_commit(&out);     or wr_output_abandon(&out) when there is nothing to keep
 *
 * A file that exists keeps its permissions. A symbolic link stays a link: what it leads to is replaced, or created if it is
 * not there yet. */
#ifndef WR_OUTPUT_FILE_H
#define WR_OUTPUT_FILE_H

#include <stdio.h>

#include "config/status.h"
#include "io/file_place.h"

typedef struct wr_output_file {
  FILE *file;                 /* write here; NULL when not open                         */
  const char *name;           /* for messages: the path as given, or "standard output"  */
  char target[WR_PATH_ROOM];  /* what partial becomes, links followed                   */
  char partial[WR_PATH_ROOM]; /* being written, in the same folder; "": none yet        */
  int unnamed;                /* 1: it gets a name when it is committed                 */
} wr_output_file;

/* path must stay valid until commit or abandon. WR_EOUTPUT: a folder, not writable, no such folder, name too long. */
wr_status wr_output_open(const char *path, wr_output_file *out);

/* WR_OK if wr_output_open would do, tried and undone; a device or pipe is only looked at. For a program that knows its outputs
 * long before it has something to write. */
wr_status wr_output_check(const char *path);

/* Ends the output: flushed, closed (standard output stays open) and under its name. WR_EOUTPUT when anything written
 * since the opening did not arrive, a full disk for instance; no partial file is left, and an older one keeps its
 * contents. */
wr_status wr_output_commit(wr_output_file *out);

/* Removes what was written, as far as it can be taken back. Fine after a commit, a failed open, and when zeroed. */
void wr_output_abandon(wr_output_file *out);

#endif
