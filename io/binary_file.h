/* Matrices saved in binary: the rows in the form in which they are used, so that they are read as fast as the disk delivers
 * them. Version 2 is written, versions 1 and 2 are read:
 *
 *      0  +--------------------------------------------+   magic: 0x89 "WRM" CR LF 0x1a LF
 *         | header, one page                           |   byte order, version, flags, sizes
 *         |   sections:  offset, bytes, checksum  x 4  |   all zeros where there is none
 *         |   zeros ... checksum of the bytes before   |
 *   4096  +--------------------------------------------+
 *         | row_ptr   int64 [nrows + 1]                |   each section begins at a multiple of 4096 and is
 *         +--------------------------------------------+   filled up with zeros to the next one
 *         | col       int32 [nnz]                      |
 *         +--------------------------------------------+
 *         | val       f64   [nnz]; none for a pattern  |
 *         +--------------------------------------------+
 *         | id        int64 [nrows], if nodes have ids |   ascending; none when they follow one another
 *         +--------------------------------------------+   the end: one byte more or less and it is refused
 *
 * docs/wrm.md has it byte by byte. Versions differ in the checksum alone (io/checksum.h). That of a section is the checksum of
 * the checksums of its pieces of WR_BINARY_PIECE elements each, so that threads read, sum and check pieces in any order and the
 * bytes do not depend on how many there were.
 *
 * Reading trusts nothing. The sizes must give the very length that the file has before any memory is asked for; checksums
 * must be right; and then, since another program may have written the file: rows in order, columns in range and ascending,
 * values finite (as in text, where nan and inf are refused; all other bits are kept: -0, denormals), ids ascending, a
 * symmetric matrix symmetric (told by a sum of hashes of entries minus that of their mirror images).
 *
 * Pieces are aligned to pages in the file and read straight to their place in the array; a feed gets the number of rows in
 * memory. make_room in binary_file.c allocates the arrays, if they are ever to lie elsewhere (in pinned memory, say). */
#ifndef WR_BINARY_FILE_H
#define WR_BINARY_FILE_H

#include "io/ids.h"
#include "io/input_text.h"
#include "spmv/matrix/csr_feed.h"

enum { WR_BINARY_VERSION = 2, WR_BINARY_PAGE = 4096, WR_BINARY_PIECE = 1 << 16 };

/* How entries that the source gave more than once were merged. */
typedef enum wr_binary_repeats {
  WR_REPEATS_ADDED,   /* values were added, or nothing was repeated             */
  WR_REPEATS_COUNTED, /* of a pattern: values now say how often                */
  WR_REPEATS_ONCE     /* of a pattern: one of them was kept                    */
} wr_binary_repeats;

/* What a saved matrix has besides its arrays. */
typedef struct wr_binary_origin {
  int64_t repeated; /* entries merged away                                                     */
  wr_binary_repeats repeats;
  wr_ids ids;       /* of the nodes that rows are; count 0: they have none, else it is nrows   */
} wr_binary_origin;

/* Writes the matrix to path ("-": standard output), whole or not at all (io/output_file.h). The same bytes for any number
 * of threads (0: all). WR_EOUTPUT; WR_EINPUT when the matrix breaks a promise of wr_csr or has a value that is not finite;
 * WR_ENOMEM. */
wr_status wr_binary_write(const char *path, const wr_csr *A, const wr_binary_origin *origin, int threads);

/* 1 if path is a file that is a matrix in binary by its first bytes, also one of another program (io/file_kind.h). 0 for what
 * can be read once only, such as a pipe, which is not opened. */
int wr_binary_is_file(const char *path);

/* *A := the matrix of an opened file, or of what a pipe or a gzip stream held. nonnegative 1: a negative value is refused.
 * WR_EINPUT with `file: what`: damaged, cut short, longer than it says, of another version or byte order, changed while
 * it was read; WR_ENOMEM. origin->ids are the caller's to free; on failure *A is NULL and there are none. The feed (may be
 * NULL) is told of rows once their entries are in memory, before all checks are done, and after a failure that there is no
 * matrix. */
wr_status wr_binary_read(const wr_text *text, int threads, int nonnegative, const wr_csr_feed *feed, wr_csr **A,
                         wr_binary_origin *origin);

/* A saved matrix that several processes read, each some ranges of its sections. The promises about the contents, but for the
 * checksums, are the caller's to check. */
enum { WR_BINARY_ROWS, WR_BINARY_COLUMNS, WR_BINARY_VALUES, WR_BINARY_IDS, WR_BINARY_SECTIONS };

typedef struct wr_binary_ranges {
  wr_text text;
  int64_t nrows, ncols, nnz;
  int64_t repeated; /* as in wr_binary_origin, as `repeats` */
  wr_binary_repeats repeats;
  int has_values, has_ids, lists_ids; /* lists_ids 0: ids follow one another */
  int64_t first_id;                   /* of row 0                            */
  int64_t offset[WR_BINARY_SECTIONS];
  uint64_t sum[WR_BINARY_SECTIONS]; /* the checksum of a section as the file has it */
  int version;
} wr_binary_ranges;

/* Reads the header and checks it. WR_EINPUT, also for a compressed file, of which no range can be read. */
wr_status wr_binary_ranges_open(const char *path, wr_binary_ranges *file);
void wr_binary_ranges_close(wr_binary_ranges *file); /* a zeroed one is fine */

/* Pieces that begin at elements [first, end). */
int64_t wr_binary_ranges_pieces(int64_t first, int64_t end);

/* to[end - first] := elements [first, end) of a section: row pointers or ids (int64_t), column indices (int32_t) or values
 * (double). sums[wr_binary_ranges_pieces(first, summed)] := the checksums of the pieces that begin in [first, summed), summed
 * being at most end; so ranges that follow one another give those of all pieces. WR_EINPUT, WR_ENOMEM. */
wr_status wr_binary_ranges_read(const wr_binary_ranges *file, int of, int64_t first, int64_t end, void *to,
                                int64_t summed, uint64_t *sums);

/* WR_EINPUT: the checksums of all pieces of a section are not those of the file. sums: [count]. */
wr_status wr_binary_ranges_check(const wr_binary_ranges *file, int of, const uint64_t *sums, int64_t count);

/* *ids := those of all rows, count 0 if the file has none. They are checked as wr_binary_read does. WR_EINPUT, WR_ENOMEM, with
 * *ids zeroed. */
wr_status wr_binary_ranges_ids(const wr_binary_ranges *file, wr_ids *ids);

#endif
