/* Reads a Matrix Market file into triplets: read and parsed by all threads at once, checked in every detail. gzip is
 * recognised by its first two bytes whatever the name; "-" is standard input.
 *
 * Policy: coordinate and array x real, integer, pattern x general, symmetric, skew-symmetric; no pattern array and no
 * skew-symmetric pattern, which mean nothing. Comments and blank lines before the size line; after it blank lines only.
 * Lines end with LF or CR LF. One entry a line with exactly its number of tokens. Numbers are correctly rounded, whatever
 * their length; plus signs, missing digits on one side of the point and Fortran's D exponents are fine; nan, inf, hex and
 * overflow are refused; underflow gives 0 or a denormal. Integers are refused beyond 64 bits and beyond 2^53 become the
 * nearest double. The facts have the first line with a value that became 0 or was rounded so. Nothing is allocated from
 * the header alone. A defect is WR_EINPUT with `file:line: what (value)`; with
 * several, the one on the earliest line; what is missing at the end is on the line after the last. Of a file without a
 * readable text (absent, a directory, a damaged gzip stream, written to while it is read) it is `file: what`. */
#ifndef WR_READER_H
#define WR_READER_H

#include "io/binary_file.h"
#include "io/edge_choice.h"
#include "io/input_text.h"

/* One of several equal shares of a text's lines, each of which another process reads: those that begin in a range of bytes. The
 * shares have all entries once, in file order, and an error is that of the first share that has one. A compressed file is
 * unpacked twice, since only its end tells how long the text is, and no more than the share is held of it. Of standard input,
 * pipes and binary kinds WR_EUNAVAILABLE. */
typedef struct wr_read_share {
  int index, count;
  /* A Matrix Market file declares its entries: its reader calls this once in each share, whether or not that has a defect.
   * *before := the entries of the shares before this one, *all := those of all. What it returns ends the reading. */
  wr_status (*join)(void *context, int64_t entries, int64_t *before, int64_t *all);
  void *context;
} wr_read_share;

typedef struct wr_read_options {
  int threads;      /* 0: all that OpenMP would use                                                           */
  int nonnegative;  /* 1: a negative value is a defect of its line (weights of edges)                          */
  wr_edge_choice columns;  /* of an edge list (io/edge_list.h)                                                */
  const wr_csr_feed *feed; /* wr_read_matrix announces a saved matrix's rows to it (io/binary_file.h), or NULL  */
  const wr_read_share *share; /* NULL: everything is read                                                     */
} wr_read_options;

/* What was read, for the reports. */
typedef struct wr_read_facts {
  int64_t bytes;       /* of text, after inflating      */
  int64_t stored;      /* entry lines, of the share     */
  int compressed;      /* 1: gzip, zstd or xz           */
  char kind[64];       /* "coordinate real general"     */
  int64_t inexact_line; /* the first line, of the share, with a value that became 0 or was rounded; 0: none */
} wr_read_facts;

/* Besides Matrix Market texts these read matrices of SciPy (io/npz.h) and serialised graphs (io/gapbs.h).
 *
 * *triplets is filled on WR_OK and zeroed otherwise. An array file gives all its entries, zeros too (a symmetric one its
 * lower triangle). options and facts may be NULL. WR_EINPUT, also for more than WR_MAX_INDEX rows or columns; WR_ENOMEM. */
wr_status wr_read_triplets(const char *path, const wr_read_options *options, wr_triplets *triplets,
                           wr_read_facts *facts);

/* The same of a text that is open, and stays so. */
wr_status wr_read_opened(wr_text *text, const wr_read_options *options, wr_triplets *triplets, wr_read_facts *facts);

/* The same as wr_read_triplets, and a file that was saved in binary (io/binary_file.h), too: then *A := the matrix, *origin
 * is filled and there are no triplets; of others *A := NULL, and origin->ids count from 0 for square matrices whose format
 * does. */
wr_status wr_read_matrix(const char *path, const wr_read_options *options, wr_triplets *triplets, wr_csr **A,
                         wr_binary_origin *origin, wr_read_facts *facts);

#endif
