#include "tests/fuzz/matrices.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/reader.h"
#include "tests/fuzz/harness.h"

static int same_bits(const double *a, const double *b, int64_t count) {
  if (a == NULL || b == NULL) return a == b;
  return count == 0 || memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

static void copy_chunk(const wr_triplet_chunk *chunk, wr_entries *to) {
  if (chunk->count == 0) return;
  memcpy(to->row + to->count, chunk->row, (size_t)chunk->count * sizeof *to->row);
  memcpy(to->col + to->count, chunk->col, (size_t)chunk->count * sizeof *to->col);
  if (chunk->val != NULL && to->val != NULL)
    memcpy(to->val + to->count, chunk->val, (size_t)chunk->count * sizeof *to->val);
  to->count += chunk->count;
}

static int in_place(const wr_entries *e, int64_t k) {
  int64_t i = e->row[k], j = e->col[k];
  if (i < 0 || j < 0 || i >= e->nrows || j >= e->ncols) return 0;
  return e->symmetry == WR_GENERAL || i > j || (i == j && e->symmetry == WR_SYMMETRIC);
}

void matrices_take(const wr_triplets *t, wr_entries *e) {
  int64_t total = 0, wrong = 0, values = 0;
  *e = (wr_entries){.nrows = t->nrows, .ncols = t->ncols, .symmetry = t->symmetry};
  REQUIRE(t->nrows >= 1 && t->ncols >= 1 && t->nrows <= WR_MAX_INDEX && t->ncols <= WR_MAX_INDEX);
  REQUIRE(t->symmetry == WR_GENERAL || t->nrows == t->ncols);
  for (int64_t c = 0; c < t->nchunks; c++) total += t->chunks[c].count;
  for (int64_t c = 0; c < t->nchunks; c++) values += t->chunks[c].count > 0 && t->chunks[c].val != NULL;
  e->row = malloc((size_t)total * sizeof *e->row + 1);
  e->col = malloc((size_t)total * sizeof *e->col + 1);
  if (values > 0) e->val = malloc((size_t)total * sizeof *e->val);
  for (int64_t c = 0; c < t->nchunks; c++) {
    const wr_triplet_chunk *chunk = &t->chunks[c];
    REQUIRE(chunk->count >= 0 && chunk->count <= chunk->capacity && (chunk->count == 0 || !chunk->val == !e->val));
    copy_chunk(chunk, e);
  }
  for (int64_t k = 0; k < e->count; k++) wrong += !in_place(e, k) || (e->val != NULL && !isfinite(e->val[k]));
  REQUIREF(wrong == 0, "%lld entries are out of place or not finite", (long long)wrong);
}

void matrices_free(wr_entries *e) {
  free(e->row), free(e->col), free(e->val);
  *e = (wr_entries){.count = 0};
}

int matrices_equal(const wr_entries *a, const wr_entries *b) {
  if (a->nrows != b->nrows || a->ncols != b->ncols || a->count != b->count || a->symmetry != b->symmetry) return 0;
  if (a->count == 0) return 1;
  size_t bytes = (size_t)a->count * sizeof *a->row;
  return memcmp(a->row, b->row, bytes) == 0 && memcmp(a->col, b->col, bytes) == 0 &&
         same_bits(a->val, b->val, a->count);
}

void matrices_check_rows(const wr_csr *A) {
  int64_t wrong = 0;
  REQUIREF(wr_csr_check(A) == WR_OK, "%s", wr_status_message());
  for (int64_t k = 0; A->val != NULL && k < A->nnz; k++) wrong += !isfinite(A->val[k]);
  REQUIREF(wrong == 0, "%lld values are not finite", (long long)wrong);
}

static int same_rows(const wr_csr *A, const wr_csr *B) {
  if (A->nrows != B->nrows || A->ncols != B->ncols || A->nnz != B->nnz || A->symmetric != B->symmetric) return 0;
  if (memcmp(A->row_ptr, B->row_ptr, (size_t)(A->nrows + 1) * sizeof *A->row_ptr) != 0) return 0;
  if (A->nnz > 0 && memcmp(A->col, B->col, (size_t)A->nnz * sizeof *A->col) != 0) return 0;
  return same_bits(A->val, B->val, A->nnz);
}

static int same_origin(const wr_binary_origin *a, const wr_binary_origin *b) {
  if (a->repeated != b->repeated || a->repeats != b->repeats || a->ids.count != b->ids.count) return 0;
  for (int64_t k = 0; k < a->ids.count; k++)
    if (wr_ids_at(&a->ids, k) != wr_ids_at(&b->ids, k)) return 0;
  return 1;
}

static int same_files(const char *one, const char *other) {
  FILE *a = fopen(one, "r"), *b = fopen(other, "r");
  int same = a != NULL && b != NULL;
  while (same) {
    int x = getc(a), y = getc(b);
    same = x == y;
    if (x == EOF) break;
  }
  if (a != NULL) fclose(a);
  if (b != NULL) fclose(b);
  return same;
}

void matrices_round_trip(const wr_csr *A, const wr_binary_origin *origin) {
  wr_triplets none;
  wr_csr *B = NULL;
  wr_binary_origin back = {0};
  const char *saved = harness_path("saved.wrm"), *again = harness_path("again.wrm");
  wr_status status = wr_binary_write(saved, A, origin, 1);
  REQUIREF(status == WR_OK, "%s", wr_status_message());
  if (status != WR_OK) return;
  status = wr_read_matrix(saved, &(wr_read_options){.threads = 2}, &none, &B, &back, NULL);
  REQUIREF(status == WR_OK && B != NULL, "%s", wr_status_message());
  if (status == WR_OK && B != NULL) {
    REQUIRE(same_rows(A, B));
    REQUIRE(same_origin(origin, &back));
    REQUIREF(wr_binary_write(again, B, &back, 2) == WR_OK, "%s", wr_status_message());
    REQUIRE(same_files(saved, again));
  }
  wr_csr_free(B);
  wr_ids_free(&back.ids);
}

/* The place of column j in row i, or -1. */
static int64_t find(const wr_csr *A, int64_t i, int32_t j) {
  for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
    if (A->col[k] == j) return k;
  return -1;
}

/* Whether an entry, and its mirror image, is in the rows: with its value, unless it may be one of several. */
static int is_there(const wr_csr *A, const wr_entries *e, int64_t k, int64_t repeated) {
  int64_t here = find(A, e->row[k], e->col[k]);
  int64_t there = e->symmetry == WR_GENERAL ? here : find(A, e->col[k], e->row[k]);
  if (here < 0 || there < 0) return 0;
  if (e->val == NULL || repeated > 0) return 1;
  double mirrored = e->symmetry == WR_SKEW_SYMMETRIC ? -e->val[k] : e->val[k];
  return same_bits(&A->val[here], &e->val[k], 1) && same_bits(&A->val[there], &mirrored, 1);
}

void matrices_assemble(wr_triplets *t, const wr_entries *e, const wr_ids *ids) {
  wr_csr *A = NULL;
  wr_binary_origin origin = {.repeats = e->val == NULL ? WR_REPEATS_ONCE : WR_REPEATS_ADDED};
  if (t->nrows > MATRICES_ROWS || t->ncols > MATRICES_ROWS || e->count > MATRICES_ENTRIES) return;
  wr_status status = wr_csr_assemble(t, WR_DUPLICATES_ONCE, &A, &origin.repeated);
  if (status != WR_OK) { /* a sum of repeated entries may overflow */
    harness_judge(status, 1u << WR_EINPUT, NULL);
    REQUIREF(strstr(wr_status_message(), "overflows") != NULL, "%s", wr_status_message());
    return;
  }
  matrices_check_rows(A);
  int64_t missing = 0, off = 0;
  for (int64_t k = 0; k < e->count; k++) missing += !is_there(A, e, k, origin.repeated);
  for (int64_t k = 0; k < e->count; k++) off += e->symmetry != WR_GENERAL && e->row[k] != e->col[k];
  REQUIREF(missing == 0, "%lld entries are not in the rows", (long long)missing);
  REQUIRE(A->nnz + origin.repeated == e->count + off);
  if (ids != NULL) origin.ids = *ids;
  if (HARNESS_ONE_IN(4, (uint64_t)e->count + (uint64_t)e->nrows)) matrices_round_trip(A, &origin);
  wr_csr_free(A);
}
