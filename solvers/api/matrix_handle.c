/* Matrices of windrow.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/argument.h"
#include "config/memory.h"
#include "io/number.h"
#include "solvers/api/session.h"
#include "solvers/api/source.h"
#include "solvers/report/ledger.h"
#include "spmv/matrix/csr_argument.h"

/* *A := a handle that takes over both. */
static wr_status wrap(wr_csr *csr, wr_ids *ids, wr_matrix **A) {
  wr_status status = wr_alloc_zeroed(A, 1, sizeof **A, "a matrix");
  if (status != WR_OK) {
    wr_csr_free(csr);
    wr_ids_free(ids);
    return status;
  }
  csr->from_zero = 1;
  **A = (wr_matrix){.csr = csr, .ids = *ids, .holders = 1};
  return WR_OK;
}

void wr_matrix_free(wr_matrix *A) {
  if (A == NULL || __atomic_sub_fetch(&A->holders, 1, __ATOMIC_ACQ_REL) > 0) return;
  wr_csr_free(A->csr);
  wr_ids_free(&A->ids);
  wr_free(A);
}

wr_status wr_matrix_check(const char *function, const wr_matrix *A) {
  return A == NULL ? wr_refuse(function, "A is NULL") : WR_OK;
}

wr_matrix *wr_matrix_hold(const wr_matrix *A, wr_csr *rows) {
  wr_matrix *held = (wr_matrix *)A; /* of what a caller sees nothing changes */
  __atomic_add_fetch(&held->holders, 1, __ATOMIC_RELAXED);
  *rows = *A->csr;
  rows->device = NULL, rows->holders = 0;
  return held;
}

/* ---- from files ---- */

wr_status wr_read_as(const char *name, const wr_read_choice *choice, wr_matrix **A) {
  wr_status status;
  wr_read_choice c;
  wr_ledger ledger = {0};
  wr_problem_facts facts = {.kind = ""};
  wr_csr *csr = NULL;
  wr_ids ids = {0};
  int format, list_ids, separator, header, before = 0;
  WR_NEED(A);
  *A = NULL;
  WR_NEED(name);
  TRY(wr_struct_take(__func__, "choice", choice, &c, sizeof c));
  TRY(wr_word_choose(__func__, "choice->format", c.format, "auto|mtx|edges", &format));
  TRY(wr_word_choose(__func__, "choice->ids", c.ids, "auto|numbers|names", &list_ids));
  TRY(wr_word_choose(__func__, "choice->separator", c.separator, "auto|tab|comma|semicolon|blank", &separator));
  TRY(wr_word_choose(__func__, "choice->header", c.header, "auto|yes|no", &header));
  TRY(wr_threads_enter(__func__, "choice->threads", INT64_MAX, &c.threads, &before));
  wr_source_options options = {.threads = c.threads, .nonnegative = c.is_graph, .format = (wr_input_format)format,
                               .duplicates = c.counts_once ? WR_DUPLICATES_ONCE : WR_DUPLICATES_SUM, .ids = &ids};
  if (c.columns) TRY(wr_edge_choice_parse(c.columns, "choice->columns", &options.columns));
  options.columns.ids = (wr_edge_ids)list_ids;
  options.columns.separator = (wr_edge_separator)separator;
  options.columns.header = (wr_edge_header)header;
  TRY(wr_source_load(name, &options, &ledger, &csr, &facts));
  status = wrap(csr, &ids, A);
done:
  wr_threads_leave(before);
  return status;
}

wr_status wr_read(const char *name, wr_matrix **A) {
  WR_NEED(A);
  *A = NULL;
  WR_NEED(name);
  return wr_read_as(name, NULL, A);
}

/* ---- from arrays ---- */

static wr_status check_sizes(const char *function, int64_t rows, int64_t columns, int64_t entries) {
  if (rows < 1 || rows > WR_MAX_INDEX)
    return wr_refuse(function, "rows is %" PRId64 "; it is from 1 to %d", rows, WR_MAX_INDEX);
  if (columns < 1 || columns > WR_MAX_INDEX)
    return wr_refuse(function, "columns is %" PRId64 "; it is from 1 to %d", columns, WR_MAX_INDEX);
  return entries < 0 ? wr_refuse(function, "entries is %" PRId64, entries) : WR_OK;
}

static inline int64_t at(wr_integers v, int64_t k) { return v.narrow ? v.narrow[k] : v.wide[k]; }

static wr_status check_values(const double *val, int64_t entries) {
  for (int64_t k = 0; val && k < entries; k++)
    if (!isfinite(val[k])) return wr_fail(WR_EINPUT, "val[%" PRId64 "] is %g", k, val[k]);
  return WR_OK;
}

/* Row pointers are checked before arrays of their length are read. */
static wr_status check_rows(int64_t rows, wr_integers row_ptr) {
  if (at(row_ptr, 0) != 0) return wr_fail(WR_EINPUT, "row_ptr[0] is %" PRId64 ", not 0", at(row_ptr, 0));
  for (int64_t i = 0; i < rows; i++)
    if (at(row_ptr, i + 1) < at(row_ptr, i))
      return wr_fail(WR_EINPUT, "row_ptr[%" PRId64 "] is %" PRId64 ", less than the one before it", i + 1,
                     at(row_ptr, i + 1));
  return WR_OK;
}

static wr_status check_columns(int64_t rows, int64_t columns, wr_integers row_ptr, wr_integers col) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t k = at(row_ptr, i); k < at(row_ptr, i + 1); k++) {
      int64_t j = at(col, k);
      if (j < 0 || j >= columns)
        return wr_fail(WR_EINPUT,
                       "col[%" PRId64 "], in row %" PRId64 ", is %" PRId64 "; columns are from 0 to %" PRId64, k, i, j,
                       columns - 1);
      if (k > at(row_ptr, i) && j <= at(col, k - 1))
        return wr_fail(WR_EINPUT,
                       "row %" PRId64 " has column %" PRId64 " behind column %" PRId64
                       ": columns ascend within a row; wr_matrix_new_coo sorts entries and adds up repeated ones",
                       i, j, at(col, k - 1));
    }
  return WR_OK;
}

/* What is wrong with the arrays, in the name of the public function. */
static wr_status in_name_of(const char *function, wr_status status) {
  return status == WR_EINPUT ? wr_fail(status, "%s: %s", function, wr_status_message()) : status;
}

wr_status wr_matrix_of_rows(const char *function, int64_t rows, int64_t columns, wr_integers row_ptr, wr_integers col,
                            const double *val, wr_matrix **A) {
  wr_csr *csr = NULL;
  wr_ids ids = {.count = rows, .first = 1};
  if (A == NULL) return wr_refuse(function, "A is NULL");
  *A = NULL;
  PASS(check_sizes(function, rows, columns, 0));
  if (row_ptr.narrow == NULL && row_ptr.wide == NULL) return wr_refuse(function, "row_ptr is NULL");
  PASS(in_name_of(function, check_rows(rows, row_ptr)));
  int64_t entries = at(row_ptr, rows);
  if (col.narrow == NULL && col.wide == NULL && entries > 0) return wr_refuse(function, "col is NULL");
  PASS(in_name_of(function, check_columns(rows, columns, row_ptr, col)));
  PASS(in_name_of(function, check_values(val, entries)));
  PASS(wr_csr_create(rows, columns, entries, val != NULL, &csr));
  for (int64_t i = 0; i <= rows; i++) csr->row_ptr[i] = at(row_ptr, i);
  for (int64_t k = 0; k < entries; k++) csr->col[k] = (int32_t)at(col, k);
  if (val && entries > 0) memcpy(csr->val, val, (size_t)entries * sizeof *val);
  return wrap(csr, &ids, A);
}

wr_status wr_matrix_new_csr(int64_t rows, int64_t columns, const int32_t *row_ptr, const int32_t *col,
                            const double *val, wr_matrix **A) {
  return wr_matrix_of_rows(__func__, rows, columns, (wr_integers){.narrow = row_ptr}, (wr_integers){.narrow = col}, val,
                           A);
}

wr_status wr_matrix_new_csr64(int64_t rows, int64_t columns, const int64_t *row_ptr, const int64_t *col,
                              const double *val, wr_matrix **A) {
  return wr_matrix_of_rows(__func__, rows, columns, (wr_integers){.wide = row_ptr}, (wr_integers){.wide = col}, val, A);
}

static wr_status check_places(int64_t rows, int64_t columns, int64_t entries, wr_integers row, wr_integers col) {
  for (int64_t k = 0; k < entries; k++) {
    if (at(row, k) < 0 || at(row, k) >= rows)
      return wr_fail(WR_EINPUT, "row[%" PRId64 "] is %" PRId64 "; rows are from 0 to %" PRId64, k, at(row, k),
                     rows - 1);
    if (at(col, k) < 0 || at(col, k) >= columns)
      return wr_fail(WR_EINPUT, "col[%" PRId64 "] is %" PRId64 "; columns are from 0 to %" PRId64, k, at(col, k),
                     columns - 1);
  }
  return WR_OK;
}

static wr_status new_coo(const char *function, int64_t rows, int64_t columns, int64_t entries, wr_integers row,
                         wr_integers col, const double *val, int counts_once, wr_matrix **A) {
  wr_status status;
  wr_csr *csr = NULL;
  wr_ids ids = {.count = rows, .first = 1};
  wr_triplet_chunk chunk = {.count = entries, .capacity = entries};
  wr_triplets triplets = {.nrows = rows, .ncols = columns, .from_zero = 1};
  if (A == NULL) return wr_refuse(function, "A is NULL");
  *A = NULL;
  TRY(check_sizes(function, rows, columns, entries));
  if (row.narrow == NULL && row.wide == NULL && entries > 0) TRY(wr_refuse(function, "row is NULL"));
  if (col.narrow == NULL && col.wide == NULL && entries > 0) TRY(wr_refuse(function, "col is NULL"));
  TRY(check_places(rows, columns, entries, row, col));
  TRY(check_values(val, entries));
  TRY(wr_alloc(&chunk.row, entries, sizeof *chunk.row, "the entries of a matrix"));
  TRY(wr_alloc(&chunk.col, entries, sizeof *chunk.col, "the entries of a matrix"));
  if (val) TRY(wr_alloc(&chunk.val, entries, sizeof *chunk.val, "the entries of a matrix"));
  for (int64_t k = 0; k < entries; k++) chunk.row[k] = (int32_t)at(row, k), chunk.col[k] = (int32_t)at(col, k);
  if (val && entries > 0) memcpy(chunk.val, val, (size_t)entries * sizeof *val);
  TRY(wr_alloc(&triplets.chunks, 1, sizeof chunk, "the entries of a matrix"));
  triplets.chunks[0] = chunk, triplets.nchunks = 1;
  chunk = (wr_triplet_chunk){0};
  TRY(wr_csr_assemble(&triplets, counts_once ? WR_DUPLICATES_ONCE : WR_DUPLICATES_SUM, &csr, NULL));
  status = wrap(csr, &ids, A);
done:
  wr_triplets_free(&triplets);
  wr_free(chunk.row);
  wr_free(chunk.col);
  wr_free(chunk.val);
  return in_name_of(function, status);
}

wr_status wr_matrix_new_coo(int64_t rows, int64_t columns, int64_t entries, const int32_t *row, const int32_t *col,
                            const double *val, int counts_once, wr_matrix **A) {
  return new_coo(__func__, rows, columns, entries, (wr_integers){.narrow = row}, (wr_integers){.narrow = col}, val,
                 counts_once, A);
}

wr_status wr_matrix_new_coo64(int64_t rows, int64_t columns, int64_t entries, const int64_t *row, const int64_t *col,
                              const double *val, int counts_once, wr_matrix **A) {
  return new_coo(__func__, rows, columns, entries, (wr_integers){.wide = row}, (wr_integers){.wide = col}, val,
                 counts_once, A);
}

/* ---- queries ---- */

int64_t wr_matrix_rows(const wr_matrix *A) { return A ? A->csr->nrows : 0; }
int64_t wr_matrix_columns(const wr_matrix *A) { return A ? A->csr->ncols : 0; }
int64_t wr_matrix_entries(const wr_matrix *A) { return A ? A->csr->nnz : 0; }
const int64_t *wr_matrix_row_ptr(const wr_matrix *A) { return A ? A->csr->row_ptr : NULL; }
const int32_t *wr_matrix_col(const wr_matrix *A) { return A ? A->csr->col : NULL; }
const double *wr_matrix_val(const wr_matrix *A) { return A ? A->csr->val : NULL; }

wr_status wr_matrix_id(const wr_matrix *A, int64_t i, char *text, size_t room) {
  WR_NEED(text);
  if (room > 0) text[0] = '\0';
  WR_NEED_OK(wr_matrix_check(__func__, A));
  WR_REFUSE_IF(i < 0 || i >= A->csr->nrows, "i is %" PRId64 "; rows are from 0 to %" PRId64, i, A->csr->nrows - 1);
  char number[32];
  const char *id = number;
  int64_t length = snprintf(number, sizeof number, "%" PRId64, wr_ids_at(&A->ids, i));
  if (A->ids.names != NULL) id = wr_ids_name(&A->ids, i, &length);
  WR_REFUSE_IF((size_t)length >= room, "room is %zu; the id has %" PRId64 " characters", room, length);
  memcpy(text, id, (size_t)length);
  text[length] = '\0';
  return WR_OK;
}

wr_status wr_matrix_find(const wr_matrix *A, const char *id, int64_t *i) {
  int64_t number;
  WR_NEED(i);
  *i = -1;
  WR_NEED_OK(wr_matrix_check(__func__, A));
  WR_NEED(id);
  if (A->ids.names != NULL)
    *i = wr_ids_find(&A->ids, id, (int64_t)strlen(id));
  else if (*id != '\0' && wr_number_integer(id, id + strlen(id), &number) == WR_NUMBER_OK)
    *i = wr_ids_place(&A->ids, number);
  return WR_OK;
}
