/* Checks the files of a command line: no output may overwrite an input or another output. */
#ifndef WR_PATHS_H
#define WR_PATHS_H

#include <stdint.h>

#include "config/status.h"

typedef struct wr_path {
  const char *name; /* for messages: "--output", "the matrix"                             */
  const char *path; /* as given, "-" for standard input or output; NULL: there is none    */
  int is_output;    /* 1: it is written                                                   */
} wr_path;

/* WR_EUSAGE, naming both, when an output and another path of the list lead to one file, by whatever name or link, or to one
 * place where a file will be. Two outputs may not share a pipe either; an input and an output may. Devices such as
 * /dev/null may be shared by all. */
wr_status wr_paths_check(const wr_path *paths, int64_t count);

/* 1 if what is written to path (NULL: nothing is) becomes part of standard output. */
int wr_path_is_standard_output(const char *path);

#endif
