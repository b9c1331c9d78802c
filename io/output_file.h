/* Output files that appear under their name only when they are complete. They are written without a name, or where the file
 * system has no such files under another name, and get their name at the end. A device or a pipe is written directly, and "-"
 * is standard output.
 *
 *   wr_output_file out;
 *   TRY(wr_output_open(path, &out));
 *   fprintf(out.file, ...);            errors may be ignored: the stream remembers them
 *   return wr_output_commit(&out);     or wr_output_abandon(&out) when there is nothing to keep
 *
 * wr_output_append is for files of lines that grow from run to run: what is written between two flushes is appended whole or,
 * where the disk is full, not at all, and what has been flushed stays, whatever becomes of the process.
 *
 * A file that exists keeps its permissions. A symbolic link stays a link: what it leads to is replaced, or created if it is
 * absent. */
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
  int is_appended;            /* 1: `file` writes to memory, which a flush appends to fd */
  int fd;
  char *text;                 /* [size] that memory                                     */
  size_t size;
} wr_output_file;

/* path must stay valid until commit or abandon. WR_EOUTPUT: a folder, not writable, no such folder, name too long. */
wr_status wr_output_open(const char *path, wr_output_file *out);

/* Opens a file, which is created if it is absent, to write behind what it has; "-" is standard output. A last line without an
 * end, which a killed process may have left, is ended. Commit closes it, and abandon removes nothing. WR_EOUTPUT. */
wr_status wr_output_append(const char *path, wr_output_file *out);

/* Hands on what was written so far: another process sees it then. WR_EOUTPUT when anything written since the opening did not
 * arrive; a file of lines is then as long as before. */
wr_status wr_output_flush(wr_output_file *out);

/* WR_OK if wr_output_open would succeed, which is tried and undone; of a device or pipe only the permission is checked. For
 * programs that know their outputs long before they write. */
wr_status wr_output_check(const char *path);

/* Ends the output: flushed, closed (standard output stays open) and under its name. WR_EOUTPUT when anything written
 * since the opening did not arrive, a full disk for instance; no partial file is left, and an older one keeps its
 * contents. */
wr_status wr_output_commit(wr_output_file *out);

/* Removes what was written to a file. Fine after a commit, a failed open, and when zeroed. */
void wr_output_abandon(wr_output_file *out);

#endif
