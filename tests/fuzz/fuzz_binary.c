/* Matrices saved in binary: whatever the bytes say, a file is refused with a sentence or gives rows that keep every promise
 * and can be saved again. Against libFuzzer most mutants get right checksums, without which nothing behind them would be
 * reached. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/checksum.h"
#include "io/reader.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/matrices.h"

/* What a read came to. */
typedef struct outcome {
  wr_status status;
  char message[1024]; /* without the name of the file */
  wr_csr *A;
  wr_binary_origin origin;
} outcome;

static void read_as(const char *path, int threads, int nonnegative, outcome *o) {
  wr_triplets triplets;
  wr_read_facts facts;
  *o = (outcome){.status = WR_OK};
  harness_begin();
  o->status = wr_read_matrix(path, &(wr_read_options){.threads = threads, .nonnegative = nonnegative}, &triplets, &o->A,
                             &o->origin, &facts);
  harness_judge(o->status, 1u << WR_EINPUT, path);
  if (o->status != WR_OK) {
    snprintf(o->message, sizeof o->message, "%s", wr_status_message() + strlen(path));
    REQUIRE(o->A == NULL && o->origin.ids.id == NULL && o->origin.ids.count == 0);
  }
  wr_triplets_free(&triplets);
}

static void forget(outcome *o) {
  wr_csr_free(o->A);
  wr_ids_free(&o->origin.ids);
}

static void check_ids(const wr_csr *A, const wr_ids *ids) {
  int64_t wrong = 0;
  REQUIRE(ids->count == 0 || ids->count == A->nrows);
  for (int64_t i = 0; i < ids->count; i++)
    wrong += wr_ids_at(ids, i) < 0 || (i > 0 && wr_ids_at(ids, i) <= wr_ids_at(ids, i - 1));
  REQUIREF(wrong == 0, "%lld ids do not ascend", (long long)wrong);
}

static void check_symmetry(const wr_csr *A) {
  wr_csr *T = NULL;
  if (!A->symmetric) return;
  REQUIREF(wr_csr_transpose(A, &T) == WR_OK, "%s", wr_status_message());
  REQUIRE(memcmp(A->row_ptr, T->row_ptr, (size_t)(A->nrows + 1) * sizeof *A->row_ptr) == 0);
  REQUIRE(A->nnz == 0 || memcmp(A->col, T->col, (size_t)A->nnz * sizeof *A->col) == 0);
  REQUIRE(A->nnz == 0 || A->val == NULL || memcmp(A->val, T->val, (size_t)A->nnz * sizeof *A->val) == 0);
  wr_csr_free(T);
}

static void read_other_ways(const uint8_t *bytes, size_t count, const outcome *first) {
  outcome o;
  const char *path = HARNESS_ONE_IN(4, bytes[count / 2]) ? harness_pipe(bytes, count) : NULL;
  if (path != NULL) {
    read_as(path, 1, 0, &o);
    REQUIREF(o.status == first->status && strcmp(o.message, first->message) == 0, "pipe: '%s' and '%s'", o.message,
             first->message);
    forget(&o);
    harness_pipe(NULL, 0);
  }
  if (first->status != WR_OK) return;
  int64_t negative = 0;
  for (int64_t k = 0; first->A->val != NULL && k < first->A->nnz; k++) negative += first->A->val[k] < 0;
  read_as(harness_file(bytes, count), 2, 1, &o);
  REQUIREF((o.status == WR_OK) == (negative == 0), "%lld negative values: '%s'", (long long)negative, o.message);
  forget(&o);
}

/* One matrix has one file of the newest version: what was read, and has just been saved again, has the same bytes. */
static void must_be_saved_so(const uint8_t *bytes, size_t count) {
  FILE *file = fopen(harness_path("saved.wrm"), "r");
  size_t at = 0;
  int byte = EOF;
  while (file != NULL && (byte = getc(file)) != EOF && at < count && byte == bytes[at]) at++;
  REQUIREF(file != NULL && byte == EOF && at == count, "byte %zu of %zu is another one", at, count);
  if (file != NULL) fclose(file);
}

FUZZ_TARGET(binary) {
  outcome o;
  if (count < 8 || (memcmp(bytes, WR_BINARY_MAGIC, 8) != 0 && memcmp(bytes, "\x1f\x8b", 2) != 0)) return 0;
  read_as(harness_file(bytes, count), 1, 0, &o);
  if (o.status == WR_OK && o.A == NULL) return 0; /* what was compressed is a text */
  if (bytes[0] != 0x1f)
    REQUIREF(harness_asked() <= (INT64_C(1) << 16) + 4 * (int64_t)count, "%lld", (long long)harness_asked());
  if (o.A != NULL) {
    matrices_check_rows(o.A);
    check_ids(o.A, &o.origin.ids);
    check_symmetry(o.A);
  }
  read_other_ways(bytes, count, &o);
  if (o.A != NULL) matrices_round_trip(o.A, &o.origin);
  if (o.A != NULL && bytes[0] != 0x1f && bytes[16] == WR_BINARY_VERSION) must_be_saved_so(bytes, count);
  forget(&o);
  return 0;
}

#ifdef WR_LIBFUZZER

enum { PAGE = WR_BINARY_PAGE, PIECE = WR_BINARY_PIECE };

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t count, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t count, size_t room, unsigned seed);

static int64_t get64(const uint8_t *bytes, int64_t at) {
  int64_t value;
  memcpy(&value, bytes + at, 8);
  return value;
}

static void put64(uint8_t *bytes, int64_t at, int64_t value) { memcpy(bytes + at, &value, 8); }

/* Where section s begins and how long it is, as far as the file has it. */
static int64_t section(const uint8_t *bytes, int64_t size, int s, int64_t *offset) {
  int64_t length = get64(bytes, 72 + 24 * s);
  *offset = get64(bytes, 64 + 24 * s);
  if (*offset < PAGE || *offset > size || length < 0) return 0;
  return length < size - *offset ? length : size - *offset;
}

/* Right checksums for what the header says is there. */
static void seal(uint8_t *bytes, int64_t size) {
  static const int64_t widths[4] = {8, 4, 8, 8};
  wr_checksum *checksum = bytes[16] == 1 ? wr_checksum_1 : wr_checksum_2;
  for (int s = 0; s < 4; s++) {
    uint64_t sums[64];
    int64_t offset, length = section(bytes, size, s, &offset), npieces = 0, step = PIECE * widths[s];
    for (int64_t at = 0; at < length && npieces < 64; at += step)
      sums[npieces++] = checksum(bytes + offset + at, length - at < step ? length - at : step);
    if (offset > 0) put64(bytes, 80 + 24 * s, (int64_t)checksum(sums, npieces * 8));
  }
  put64(bytes, PAGE - 8, (int64_t)checksum(bytes, PAGE - 8));
}

/* Sizes and flags by chance, with sections where they then have to be. */
static size_t lay_out(uint8_t *bytes, size_t room, unsigned seed) {
  int64_t nrows = 1 + seed % 5, ncols = seed & 64 ? nrows : 1 + seed / 5 % 7, nnz = seed / 128 % (nrows * ncols + 1);
  uint32_t flags = seed >> 16 & 63, words[2] = {seed >> 22 & 1 ? 1 : WR_BINARY_VERSION, flags};
  const int64_t length[4] = {(nrows + 1) * 8, nnz * 4, flags & 2 ? nnz * 8 : 0, (flags & 48) == 48 ? nrows * 8 : 0};
  int64_t size = PAGE;
  memset(bytes, 0, room < 5 * PAGE ? room : 5 * PAGE);
  memcpy(bytes, WR_BINARY_MAGIC, 8);
  put64(bytes, 8, INT64_C(0x0102030405060708));
  memcpy(bytes + 16, words, 8);
  put64(bytes, 24, nrows), put64(bytes, 32, ncols), put64(bytes, 40, nnz);
  for (int s = 0; s < 4; s++) {
    int there = s < 2 || (s == 2 ? flags & 2 : (flags & 48) == 48);
    put64(bytes, 64 + 24 * s, there ? size : 0), put64(bytes, 72 + 24 * s, length[s]);
    size += length[s] > 0 ? PAGE : 0;
  }
  for (int64_t i = 0; i <= nrows; i++) put64(bytes, PAGE + 8 * i, i * nnz / nrows);
  for (int64_t k = 0; k < nnz; k++) bytes[get64(bytes, 88) + 4 * k] = (uint8_t)(k % ncols);
  for (int64_t i = 0; length[3] > 0 && i < nrows; i++) put64(bytes, get64(bytes, 136) + 8 * i, i * i);
  put64(bytes, 56, size);
  return (size_t)size;
}

/* A mutation within the header, or within the used part of one section, sealed as a rule. */
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t count, size_t room, unsigned seed) {
  uint8_t piece[1024];
  if (room < 5 * PAGE) return 0;
  if (count < PAGE || memcmp(bytes, WR_BINARY_MAGIC, 8) != 0 || seed % 64 == 1) count = lay_out(bytes, room, seed >> 6);
  if (seed % 64 == 2) return LLVMFuzzerMutate(bytes, count, room);
  int64_t at = 8, length = 160;
  int s = (int)(seed >> 6 & 7);
  if (s < 4) length = section(bytes, (int64_t)count, s, &at);
  if (length <= 0) at = 8, length = 160;
  if (length > (int64_t)sizeof piece) length = sizeof piece;
  memcpy(piece, bytes + at, (size_t)length);
  size_t got = LLVMFuzzerMutate(piece, (size_t)length, (size_t)length);
  memcpy(bytes + at, piece, got);
  if (seed % 16 != 3) seal(bytes, (int64_t)count);
  return count;
}

#endif
