#include "io/file_extent.h"

#include <string.h>

#include "io/file_kind.h"
#include "io/gapbs.h"
#include "io/matrix_market.h"

/* INFLATED, LINE_BYTES and ROW_ENTRIES are medians over the files of the SuiteSparse collection. */
enum {
  HEAD = 1 << 16,  /* bytes to read: comments before a size line are rarely longer */
  INFLATED = 4,    /* bytes of text for one byte of gzip                           */
  LINE_BYTES = 16, /* bytes of a line                                              */
  ROW_ENTRIES = 6, /* entries of a row                                             */
  LEAST_LINE = 4,  /* bytes of the shortest line of a text, "1 1" and its end      */
  LEAST_ENTRY = 4  /* bytes of an entry of a saved matrix: a column's number       */
};

/* Sizes stand at the offsets that io/binary_file.h gives. */
static int from_binary(const char *head, int64_t count, int64_t file_bytes, int64_t *nrows, int64_t *nnz) {
  if (count < 48) return 0;
  memcpy(nrows, head + 24, sizeof *nrows);
  memcpy(nnz, head + 40, sizeof *nnz);
  return *nrows > 0 && *nnz >= 0 && *nrows <= file_bytes / 8 && *nnz <= file_bytes / LEAST_ENTRY;
}

static int from_header(const char *path, const char *head, int64_t count, int64_t file_bytes, int64_t *nrows,
                       int64_t *nnz) {
  mm_header header;
  const char *body;
  int64_t line;
  if (mm_parse_header(path, head, head + count, &header, &body, &line) != WR_OK) return 0;
  int64_t most = file_bytes / LEAST_LINE + 1, stored = header.nnz < most ? header.nnz : most;
  *nrows = header.nrows;
  *nnz = mm_is_general(header.matcode) ? stored : 2 * stored;
  return 1;
}

int wr_file_extent(const char *path, int64_t *nrows, int64_t *nnz) {
  char head[HEAD];
  int64_t size, count = wr_file_head(path, head, sizeof head, &size);
  *nrows = *nnz = 0;
  if (count < 2) return 0;
  wr_file_kind kind = wr_file_kind_of(head, count);
  if (kind == WR_FILE_BINARY) return from_binary(head, count, size, nrows, nnz);
  if (kind == WR_FILE_GAPBS) return wr_gapbs_head(head, count, nrows, nnz) && *nnz <= size / 4 && *nrows <= size / 8;
  if (kind == WR_FILE_MATRIX_MARKET && mm_has_header(head, head + count))
    return from_header(path, head, count, size, nrows, nnz);
  *nnz = (wr_file_is_packed(kind) ? INFLATED * size : size) / LINE_BYTES + 1;
  *nrows = *nnz / ROW_ENTRIES + 1;
  return 1;
}
