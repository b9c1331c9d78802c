/* What a file is, decided here alone: by its first bytes, whatever its name. Formats that are not read are known too, so that
 * the error can say what the file is and what would help. */
#ifndef WR_FILE_KIND_H
#define WR_FILE_KIND_H

#include <stdint.h>

#include "config/status.h"

/* How files begin: Matrix Market (letter case aside), a saved matrix (io/binary_file.h), a NumPy array (io/npy.h). */
#define MM_BANNER "%%MatrixMarket"
#define WR_BINARY_MAGIC "\211WRM\r\n\032\n"
#define WR_NPY_MAGIC "\223NUMPY"

enum { WR_FILE_HEAD = 512 }; /* bytes from the beginning that tell every kind */

typedef enum wr_file_kind {
  WR_FILE_TEXT, /* none of the others: an edge list, lines of a vector, or a defect */
  WR_FILE_MATRIX_MARKET,
  WR_FILE_BINARY, /* a saved matrix (io/binary_file.h) */
  WR_FILE_NPY,    /* a NumPy array                     */
  WR_FILE_NPZ,    /* NumPy arrays in a zip archive, as SciPy saves a sparse matrix (io/npz.h) */
  WR_FILE_GAPBS,  /* a serialised graph (io/gapbs.h) */
  WR_FILE_GZIP,
  WR_FILE_ZSTD,
  WR_FILE_XZ,
  WR_FILE_FOREIGN /* another format, which is not read */
} wr_file_kind;

/* The kind of a file that begins with [begin, begin + count). */
wr_file_kind wr_file_kind_of(const char *begin, int64_t count);

/* 1: compressed, and unpacked while it is read (io/input_stream.h). */
static inline int wr_file_is_packed(wr_file_kind kind) {
  return kind == WR_FILE_GZIP || kind == WR_FILE_ZSTD || kind == WR_FILE_XZ;
}

/* 1: a matrix in binary: saved here, by SciPy, or a serialised graph. */
static inline int wr_file_is_matrix(wr_file_kind kind) {
  return kind == WR_FILE_BINARY || kind == WR_FILE_NPZ || kind == WR_FILE_GAPBS;
}

/* WR_EINPUT for a foreign file, and for a NumPy array, which is no matrix: what it is and what would help. */
wr_status wr_file_check_foreign(const char *name, const char *begin, int64_t count);

/* Reads up to `room` bytes from the beginning of a regular file into head; *size := the file's length. Returns how many were
 * read; -1 for standard input, a pipe, a folder, a file that is absent or cannot be read. */
int64_t wr_file_head(const char *path, char *head, int64_t room, int64_t *size);

#endif
