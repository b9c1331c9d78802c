/* What the tests of binary files share: a second implementation of the format, from the words of docs/wrm.md; small
 * matrices; reading out of memory. */
#ifndef WR_BINARY_IMAGE_H
#define WR_BINARY_IMAGE_H

#include <float.h>
#include <stdlib.h>

#include "io/binary_file.h"
#include "io/xxh3.h"
#include "tests/check.h"
#include "tests/spmv/feed_recorder.h"

enum { PAGE = 4096, PIECE = 65536 };

static inline uint64_t turn(uint64_t x, int by) { return x << by | x >> (64 - by); }

static inline uint64_t sum_by_definition(const void *bytes, int64_t count) {
  const uint64_t p = UINT64_C(0x510e527fade682d1), q = UINT64_C(0x9b05688c2b3e6c1f);
  uint64_t lane[4] = {1, 2, 3, 4}, sum = (uint64_t)count * p;
  for (int64_t k = 0; 8 * k < count; k++) {
    uint64_t word = 0;
    memcpy(&word, (const char *)bytes + 8 * k, (size_t)(count - 8 * k < 8 ? count - 8 * k : 8));
    lane[k % 4] = turn(lane[k % 4] + word * p, 31) * q;
  }
  for (int k = 0; k < 4; k++) sum = (turn(sum, 27) ^ lane[k]) * q;
  sum = (sum ^ sum >> 32) * p;
  return sum ^ sum >> 29;
}

typedef struct image {
  int64_t size;
  char *bytes;
} image;

/* Of the images that are made next. XXH3 has its own test (test_checksum.c). */
static int image_version = 2;

static inline uint64_t image_sum(const void *bytes, int64_t count) {
  return image_version == 1 ? sum_by_definition(bytes, count) : wr_xxh3(bytes, count);
}

static inline void put64(image *m, int64_t at, int64_t value) { memcpy(m->bytes + at, &value, 8); }

static inline void seal(image *m) { put64(m, PAGE - 8, (int64_t)image_sum(m->bytes, PAGE - 8)); }

static inline void put_section(image *m, int section, const void *array, int64_t count, int64_t width) {
  int64_t npieces = (count + PIECE - 1) / PIECE;
  uint64_t *sums = calloc((size_t)npieces + 1, sizeof *sums);
  for (int64_t k = 0; k < npieces; k++)
    sums[k] = image_sum((const char *)array + k * PIECE * width,
                                (count - k * PIECE < PIECE ? count - k * PIECE : PIECE) * width);
  put64(m, 64 + 24 * section, m->size);
  put64(m, 72 + 24 * section, count * width);
  put64(m, 80 + 24 * section, (int64_t)image_sum(sums, npieces * 8));
  if (count > 0) memcpy(m->bytes + m->size, array, (size_t)(count * width));
  m->size += (count * width + PAGE - 1) / PAGE * PAGE;
  free(sums);
}

/* What saving A should give with image_version 2, whether A keeps its promises or not. */
static inline image image_of(const wr_csr *A, const wr_binary_origin *origin) {
  image m = {PAGE, calloc(1, (size_t)(5 * PAGE + 16 * (A->nrows + 1) + 12 * A->nnz))};
  int merged = origin->repeats == WR_REPEATS_ONCE ? 8 : origin->repeats == WR_REPEATS_COUNTED ? 4 : 0;
  int ids = origin->ids.count > 0 ? (origin->ids.id ? 48 : 16) : 0;
  uint32_t words[2] = {(uint32_t)image_version, (uint32_t)(merged | ids | (A->symmetric ? 1 : 0) | (A->val ? 2 : 0))};
  memcpy(m.bytes, "\x89WRM\r\n\x1a\n", 8);
  put64(&m, 8, INT64_C(0x0102030405060708));
  memcpy(m.bytes + 16, words, 8);
  put64(&m, 24, A->nrows), put64(&m, 32, A->ncols), put64(&m, 40, A->nnz), put64(&m, 48, origin->repeated);
  put_section(&m, 0, A->row_ptr, A->nrows + 1, 8);
  put_section(&m, 1, A->col, A->nnz, 4);
  if (A->val) put_section(&m, 2, A->val, A->nnz, 8);
  if (origin->ids.id) put_section(&m, 3, origin->ids.id, A->nrows, 8);
  put64(&m, 160, origin->ids.id ? origin->ids.id[0] : origin->ids.first);
  put64(&m, 56, m.size);
  seal(&m);
  return m;
}

static inline wr_csr *make(int64_t nrows, int64_t ncols, const int64_t *row_ptr, const int32_t *col,
                           const double *val) {
  wr_csr *A = NULL;
  int64_t nnz = row_ptr[nrows];
  CHECK_OK(wr_csr_create(nrows, ncols, nnz, val != NULL, &A));
  memcpy(A->row_ptr, row_ptr, (size_t)(nrows + 1) * 8);
  if (nnz > 0) memcpy(A->col, col, (size_t)nnz * 4);
  if (val && nnz > 0) memcpy(A->val, val, (size_t)nnz * 8);
  return A;
}

/* [a . b; . . .; . c .], or without values */
static inline wr_csr *small(int with_values) {
  static const double val[] = {-0.0, 0x1p-1074, DBL_MAX};
  return make(3, 3, (int64_t[]){0, 2, 2, 3}, (int32_t[]){0, 2, 1}, with_values ? val : NULL);
}

static inline wr_status read_image(const image *m, int nonnegative, wr_csr **A) {
  wr_text text = {.name = "image", .size = m->size, .memory = m->bytes, .held = m->size, .file = -1};
  wr_binary_origin origin;
  *A = NULL;
  if (wr_file_kind_of(m->bytes, m->size) != WR_FILE_BINARY) return wr_fail(WR_EINPUT, "image: not told from a text");
  recorder r;
  recorder_open(&r);
  wr_status status = wr_binary_read(&text, m->size > 5 * PAGE ? 2 : 1, nonnegative, &r.feed, A, &origin);
  recorder_check(&r, *A);
  if (status != WR_OK && origin.ids.id) CHECKF(0, "ids of a file that was refused");
  wr_ids_free(&origin.ids);
  return status;
}

#endif
