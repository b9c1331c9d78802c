#include "io/vector_file.h"

#include <math.h>
#include <string.h>

#include "config/memory.h"
#include "config/text.h"
#include "io/binary_scan.h"
#include "io/matrix_market.h"
#include "io/npy.h"
#include "io/reader.h"
#include "io/vector_text.h"

/* By file order, so that entries at the same place are added in it. */
static wr_status gather(const char *name, const wr_triplets *t, double *values) {
  int row = t->nrows == 1 && t->ncols > 1;
  for (int64_t c = 0; c < t->nchunks; c++) {
    const wr_triplet_chunk *chunk = &t->chunks[c];
    for (int64_t k = 0; k < chunk->count; k++) {
      double *at = &values[row ? chunk->col[k] : chunk->row[k]];
      double value = chunk->val != NULL ? chunk->val[k] : 1;
      *at = *at == 0 ? value : *at + value; /* so that -0 stays what it is */
      if (!isfinite(*at))
        return wr_fail(WR_EINPUT, "%s: the sum of values at place %lld overflows", name, (long long)(at - values) + 1);
    }
  }
  return WR_OK;
}

static wr_status read_matrix_market(wr_text *text, const wr_vector_need *need, double **values) {
  wr_triplets t;
  wr_status status = wr_read_opened(text, NULL, &t, NULL);
  if (status != WR_OK) return status;
  int64_t length = t.nrows == 1 ? t.ncols : t.nrows;
  if (t.nrows != 1 && t.ncols != 1)
    TRY(wr_fail(WR_EINPUT, "%s: a vector has one column, not a matrix of %lld x %lld", text->name, (long long)t.nrows,
                (long long)t.ncols));
  if (length != need->n)
    TRY(wr_fail(WR_EINPUT, "%s: a vector of %lld %s, where %lld %s needed for %s", text->name, (long long)length,
                wr_plural(length, "value", "values"), (long long)need->n, wr_plural(need->n, "is", "are"),
                need->whose));
  TRY(wr_alloc_zeroed(values, need->n, sizeof **values, "a vector"));
  TRY(gather(text->name, &t, *values));
done:
  wr_triplets_free(&t);
  return status;
}

static wr_status read_any(wr_text *text, const wr_vector_need *need, double **values) {
  char head[WR_FILE_HEAD];
  int64_t count = text->size < WR_FILE_HEAD ? text->size : WR_FILE_HEAD;
  wr_status status;
  switch (text->kind) {
    case WR_FILE_NPY: return wr_npy_read(text, need, values);
    case WR_FILE_MATRIX_MARKET: return read_matrix_market(text, need, values);
    case WR_FILE_BINARY:
      return wr_fail(WR_EINPUT, "%s: a matrix saved in binary, where a vector is needed", text->name);
    case WR_FILE_FOREIGN:
      status = wr_binary_load(text, 0, count, head);
      return status == WR_OK ? wr_file_check_foreign(text->name, head, count) : status;
    default: return wr_vector_text_read(text, need, values);
  }
}

wr_status wr_vector_read(const char *path, const wr_vector_need *need, double **values) {
  wr_vector_need complete = *need;
  wr_ids counted = {.count = need->n, .first = 1};
  wr_text text;
  *values = NULL;
  if (complete.ids == NULL) complete.ids = &counted;
  wr_status status = wr_text_open(path, NULL, &text);
  if (status != WR_OK) return status;
  status = read_any(&text, &complete, values);
  wr_text_close(&text);
  if (status == WR_OK) return WR_OK;
  wr_free(*values);
  *values = NULL;
  return status;
}
