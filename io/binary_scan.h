/* A binary file's pieces: read (or, for writing, found in memory), summed and checked by all threads. Internal to io/. */
#ifndef WR_BINARY_SCAN_H
#define WR_BINARY_SCAN_H

#include "io/binary_file.h"
#include "io/checksum.h"

typedef struct wr_binary_scan {
  const wr_text *text;                   /* where to read; NULL: the arrays are filled already            */
  int64_t offset[WR_BINARY_SECTIONS];    /* of the sections in the text                                   */
  wr_csr *A;                             /* with room in its arrays                                       */
  int64_t *id;                           /* [nrows], or NULL: there are none                              */
  wr_checksum *checksum;                 /* that of the file's version                                    */
  int threads, nonnegative;
  const wr_csr_feed *feed;               /* told of rows whenever their entries are read, before checks   */
  /* Results. */
  uint64_t sum[WR_BINARY_SECTIONS];      /* the sections' checksums                                       */
  int rows_wrong, ids_wrong, columns_wrong, values_wrong, mirror_wrong; /* 1: a promise is broken */
} wr_binary_scan;

/* The row pointers and ids; then, only if they are right, columns and values. WR_EINPUT: cannot be read, or ends early;
 * WR_ENOMEM. Wrong contents are no failure here: they are noted in the struct. */
wr_status wr_binary_scan_rows(wr_binary_scan *scan);
wr_status wr_binary_scan_entries(wr_binary_scan *scan);

#endif
