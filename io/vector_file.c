#include "io/vector_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/memory.h"
#include "config/text.h"
#include "io/matrix_market.h"
#include "io/output_file.h"
#include "io/reader.h"

/* By file order, so that entries at the same place are added in it. */
static wr_status gather(const char *path, const wr_triplets *t, double *values) {
  int row = t->nrows == 1 && t->ncols > 1;
  for (int64_t c = 0; c < t->nchunks; c++) {
    const wr_triplet_chunk *chunk = &t->chunks[c];
    for (int64_t k = 0; k < chunk->count; k++) {
      double *at = &values[row ? chunk->col[k] : chunk->row[k]];
      double value = chunk->val != NULL ? chunk->val[k] : 1;
      *at = *at == 0 ? value : *at + value; /* so that -0 stays what it is */
      if (!isfinite(*at))
        return wr_fail(WR_EINPUT, "%s: the sum of values at place %lld overflows", path, (long long)(at - values) + 1);
    }
  }
  return WR_OK;
}

wr_status wr_vector_read(const char *path, int64_t n, const char *expected_for, double **values) {
  wr_triplets t;
  *values = NULL;
  wr_status status = wr_read_triplets(path, NULL, &t, NULL);
  if (status != WR_OK) return status;
  int64_t length = t.nrows == 1 ? t.ncols : t.nrows;
  if (t.nrows != 1 && t.ncols != 1)
    TRY(wr_fail(WR_EINPUT, "%s: a vector has one column, not a matrix of %lld x %lld", path, (long long)t.nrows,
                (long long)t.ncols));
  if (length != n)
    TRY(wr_fail(WR_EINPUT, "%s: a vector of %lld %s, where %lld %s needed for %s", path, (long long)length,
                wr_plural(length, "value", "values"), (long long)n, wr_plural(n, "is", "are"), expected_for));
  TRY(wr_alloc_zeroed(values, n, sizeof **values, "a vector"));
  TRY(gather(path, &t, *values));
done:
  if (status != WR_OK) {
    wr_free(*values);
    *values = NULL;
  }
  wr_triplets_free(&t);
  return status;
}

static void write_comment(FILE *file, const char *comment) {
  while (comment != NULL && *comment != 0) {
    int length = (int)strcspn(comment, "\r\n");
    fprintf(file, "%% %.*s\n", length, comment);
    comment += length;
    comment += strspn(comment, "\r\n");
  }
}

static int put_id(int64_t id, char *text) {
  char digits[20];
  int count = 0, first = (int)sizeof digits;
  do digits[--first] = (char)('0' + id % 10);
  while ((id /= 10) > 0);
  for (; first < (int)sizeof digits; first++) text[count++] = digits[first];
  text[count++] = '\t';
  return count;
}

/* Errors are the stream's to remember and the commit's to report, here and below. ids NULL: values alone. */
static void write_values(FILE *file, const wr_ids *ids, int64_t n, const double *values) {
  char block[8192];
  size_t used = 0;
  for (int64_t i = 0; i < n; i++) {
    if (ids != NULL) used += (size_t)put_id(wr_ids_at(ids, i), block + used);
    used += (size_t)wr_number_text(values[i], block + used);
    block[used++] = '\n';
    if (used < sizeof block - 64 && i + 1 < n) continue;
    if (fwrite(block, 1, used, file) != used) return;
    used = 0;
  }
}

static wr_status check_values(const char *path, int64_t n, const double *values) {
  if (n < 1) return wr_fail(WR_EUSAGE, "%s: a vector of %lld values cannot be written", path, (long long)n);
  for (int64_t i = 0; i < n; i++)
    if (!isfinite(values[i]))
      return wr_fail(WR_ENUMERIC, "%s: not written: value %lld is not finite (%g)", path, (long long)i + 1, values[i]);
  return WR_OK;
}

wr_status wr_vector_write(const char *path, int64_t n, const double *values, const char *comment) {
  MM_typecode kind;
  wr_output_file out;
  wr_status status = check_values(path, n, values);
  if (status != WR_OK) return status;
  mm_initialize_typecode(&kind);
  mm_set_matrix(&kind);
  mm_set_array(&kind);
  mm_set_real(&kind);
  if ((status = wr_output_open(path, &out)) != WR_OK) return status;
  mm_write_banner(out.file, kind);
  write_comment(out.file, comment);
  mm_write_mtx_array_size(out.file, n, 1);
  write_values(out.file, NULL, n, values);
  return wr_output_commit(&out);
}

wr_status wr_vector_write_tsv(const char *path, const wr_ids *ids, int64_t n, const double *values) {
  wr_output_file out;
  wr_status status = check_values(path, n, values);
  if (status != WR_OK || (status = wr_output_open(path, &out)) != WR_OK) return status;
  write_values(out.file, ids, n, values);
  return wr_output_commit(&out);
}
