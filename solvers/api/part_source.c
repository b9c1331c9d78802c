#include "solvers/api/part_source.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/memory.h"
#include "data/generate.h"
#include "io/binary_file.h"
#include "io/edge_list.h"
#include "io/file_kind.h"
#include "io/vector_file.h"
#include "solvers/api/part_ids.h"
#include "spmv/parts/part_rows.h"
#include "spmv/parts/partition.h"

/* Where the rows of a part come from: their lengths are counted first, in equal slices, and then each part makes or reads its
 * own. */
typedef struct row_source {
  const char *name;
  int threads;
  int is_generated;
  int64_t n, ncols; /* rows and columns of the whole */
  wr_binary_ranges file;
} row_source;

/* *is_text := 1: a file of lines. WR_EUNAVAILABLE: what processes cannot read in ranges. */
static wr_status find_kind(const char *name, int *is_text) {
  char head[WR_FILE_HEAD];
  int64_t size, count = wr_file_head(name, head, sizeof head, &size);
  *is_text = 0;
  if (wr_generate_is_name(name)) return WR_OK;
  wr_file_kind kind = count >= 0 ? wr_file_kind_of(head, count) : WR_FILE_TEXT;
  if (count < 0 && strcmp(name, "-") != 0) {
    wr_text text;
    PASS(wr_text_open(name, WR_BINARY_MAGIC, &text)); /* a file that is not there is another failure */
    wr_text_close(&text);
  }
  if (count < 0 || (wr_file_is_matrix(kind) && kind != WR_FILE_BINARY))
    return wr_fail(WR_EUNAVAILABLE,
                   "%s: several processes take texts in files, matrices saved with --save-binary, and generated ones "
                   "(gen:...): save it, or start one process",
                   count < 0 && strcmp(name, "-") == 0 ? "standard input" : name);
  *is_text = kind != WR_FILE_BINARY;
  return WR_OK;
}

static wr_status open_source(const char *name, int threads, row_source *source) {
  int64_t entries;
  *source = (row_source){.name = name, .threads = threads, .is_generated = wr_generate_is_name(name)};
  if (source->is_generated) {
    PASS(wr_generate_extent(name, &source->n, &entries));
    source->ncols = source->n;
    return WR_OK;
  }
  PASS(wr_binary_ranges_open(name, &source->file));
  source->n = source->file.nrows, source->ncols = source->file.ncols;
  return WR_OK;
}

/* Whether the sums of all pieces of a section, count of which this part has, are right. Collective. */
static wr_status check_sums(const row_source *source, wr_comm *comm, int section, const uint64_t *sums, int64_t count) {
  wr_status status;
  uint64_t *all = NULL;
  int64_t *counts = NULL, *got, total = 0;
  TRY(wr_comm_agree(comm, wr_alloc_zeroed(&counts, 2 * comm->size, sizeof *counts, "checksums")));
  counts[0] = count, got = counts + comm->size;
  TRY(wr_comm_swap(comm, "checksums", sums, counts, sizeof *sums, &all, got));
  for (int r = 0; r < comm->size; r++) total += got[r];
  status = comm->rank == 0 ? wr_binary_ranges_check(&source->file, section, all, total) : WR_OK;
  TRY(wr_comm_agree(comm, status));
done:
  wr_free(counts);
  wr_free(all);
  return status;
}

/* Row pointers [first, end] of the file, which must ascend between those of the whole. */
static wr_status check_pointers(const row_source *source, int64_t first, int64_t end, const int64_t *row_ptr) {
  int64_t rows = end - first, wrong = row_ptr[0] < 0 || row_ptr[rows] > source->file.nnz;
  wrong |= (first == 0 && row_ptr[0] != 0) || (end == source->n && row_ptr[rows] != source->file.nnz);
  for (int64_t i = 0; i < rows; i++) wrong |= row_ptr[i + 1] < row_ptr[i];
  if (!wrong) return WR_OK;
  return wr_fail(WR_EINPUT, "%s: the row pointers from row %lld on are not in order", source->name,
                 (long long)first + 1);
}

/* row_ptr[end - first + 1] := where the rows of this part's slice begin in it. Collective. */
static wr_status read_lengths(const row_source *source, wr_comm *comm, int64_t first, int64_t end, int64_t *row_ptr) {
  wr_status status;
  uint64_t *sums = NULL;
  int64_t summed = end == source->n ? end + 1 : end, pieces = wr_binary_ranges_pieces(first, summed);
  status = wr_alloc(&sums, pieces, sizeof *sums, "checksums");
  if (status == WR_OK)
    status = wr_binary_ranges_read(&source->file, WR_BINARY_ROWS, first, end + 1, row_ptr, summed, sums);
  TRY(wr_comm_agree(comm, status));
  TRY(check_sums(source, comm, WR_BINARY_ROWS, sums, pieces));
  TRY(wr_comm_agree(comm, check_pointers(source, first, end, row_ptr)));
  for (int64_t i = end - first; i >= 0; i--) row_ptr[i] -= row_ptr[0];
done:
  wr_free(sums);
  return status;
}

/* A section's elements for the entries of this part. Collective. */
static wr_status read_entries(const row_source *source, wr_comm *comm, int section, int64_t first, int64_t end,
                              void *to) {
  wr_status status;
  uint64_t *sums = NULL;
  int64_t pieces = wr_binary_ranges_pieces(first, end);
  status = wr_alloc(&sums, pieces, sizeof *sums, "checksums");
  if (status == WR_OK) status = wr_binary_ranges_read(&source->file, section, first, end, to, end, sums);
  TRY(wr_comm_agree(comm, status));
  TRY(check_sums(source, comm, section, sums, pieces));
done:
  wr_free(sums);
  return status;
}

/* Row 0 of A is row `first`. */
static wr_status check_values(const wr_source_options *o, int64_t first, const wr_csr *A) {
  for (int64_t i = 0, k = 0; A->val && i < A->nrows; i++)
    for (; k < A->row_ptr[i + 1]; k++) {
      long long row = (long long)(first + i) + 1, column = (long long)A->col[k] + 1;
      if (!isfinite(A->val[k]))
        return wr_fail(WR_EINPUT, "entry (%lld, %lld) has the value %g, which is not finite", row, column, A->val[k]);
      if (o->nonnegative && A->val[k] < 0)
        return wr_fail(WR_EINPUT, "entry (%lld, %lld) has the weight %g; weights of edges are finite and not negative",
                       row, column, A->val[k]);
    }
  return WR_OK;
}

/* *A := rows [first, end) of the file. Collective. */
static wr_status read_rows(const row_source *source, wr_comm *comm, int64_t first, int64_t end, wr_csr **A) {
  wr_status status;
  const wr_binary_ranges *file = &source->file;
  int64_t rows = end - first, *row_ptr = NULL;
  status = wr_alloc(&row_ptr, rows + 1, sizeof *row_ptr, "row pointers");
  if (status == WR_OK) status = wr_binary_ranges_read(file, WR_BINARY_ROWS, first, end + 1, row_ptr, first, NULL);
  if (status == WR_OK) status = check_pointers(source, first, end, row_ptr);
  if (status == WR_OK) status = wr_csr_create(rows, source->ncols, row_ptr[rows] - row_ptr[0], file->has_values, A);
  TRY(wr_comm_agree(comm, status));
  for (int64_t i = 0; i <= rows; i++) (*A)->row_ptr[i] = row_ptr[i] - row_ptr[0];
  TRY(read_entries(source, comm, WR_BINARY_COLUMNS, row_ptr[0], row_ptr[rows], (*A)->col));
  if (file->has_values) TRY(read_entries(source, comm, WR_BINARY_VALUES, row_ptr[0], row_ptr[rows], (*A)->val));
  status = wr_csr_check(*A);
  if (status != WR_OK)
    status =
        wr_fail(status, "%s: of the rows from %lld on: %s", source->name, (long long)first + 1, wr_status_message());
  TRY(wr_comm_agree(comm, status));
done:
  wr_free(row_ptr);
  return status;
}

/* starts[size + 1] := the cuts. */
static wr_status cut(const row_source *source, wr_comm *comm, int64_t *starts) {
  wr_status status;
  int64_t *row_ptr = NULL;
  int64_t first = wr_partition_slice(source->n, comm->rank, comm->size);
  int64_t end = wr_partition_slice(source->n, comm->rank + 1, comm->size);
  TRY(wr_comm_agree(comm, wr_alloc_zeroed(&row_ptr, end - first + 1, sizeof *row_ptr, "the lengths of rows")));
  if (!source->is_generated)
    TRY(read_lengths(source, comm, first, end, row_ptr));
  else if (end > first)
    status = wr_generate_lengths(source->name, source->threads, first, end, row_ptr);
  TRY(wr_comm_agree(comm, status));
  TRY(wr_partition_cut(comm, source->n, row_ptr, starts));
done:
  wr_free(row_ptr);
  return status;
}

static wr_status check_square(const char *name, int64_t nrows, int64_t ncols) {
  if (nrows == ncols) return WR_OK;
  return wr_fail(WR_EINPUT, "%s: several processes take a square matrix, not %lld x %lld", name, (long long)nrows,
                 (long long)ncols);
}

/* Leaves those that the file has to the caller. */
static void give_ids(const wr_source_options *o, wr_ids *ids) {
  if (o->ids && ids->count > 0) *o->ids = *ids, *ids = (wr_ids){0};
}

/* *A := this part's rows of a generated or saved matrix, with columns of the whole. */
static wr_status take_rows(const char *name, wr_comm *comm, const wr_source_options *o, int transposed, int64_t *starts,
                           wr_ledger *ledger, wr_csr **A, wr_problem_facts *facts) {
  wr_status status;
  row_source source = {0};
  wr_binary_origin origin = {0};
  status = open_source(name, o->threads, &source);
  origin.repeated = source.file.repeated, origin.repeats = source.file.repeats;
  if (status == WR_OK) status = wr_source_check_origin(name, o, &origin);
  if (status == WR_OK) status = check_square(name, source.n, source.ncols);
  if (status == WR_OK) status = wr_binary_ranges_ids(&source.file, &origin.ids);
  TRY(wr_comm_agree(comm, status));
  TRY(cut(&source, comm, starts));
  int64_t first = starts[comm->rank], end = starts[comm->rank + 1];
  if (source.is_generated)
    TRY(wr_comm_agree(comm, wr_generate_rows(name, o->threads, first, end, A)));
  else
    TRY(read_rows(&source, comm, first, end, A));
  TRY(wr_comm_agree(comm, check_values(o, first, *A)));
  facts->bytes = source.is_generated ? 0 : source.file.text.size;
  snprintf(facts->kind, sizeof facts->kind, "%s %s", source.is_generated ? "generated" : "saved",
           (*A)->val ? "real" : "pattern");
  wr_source_remark(facts, &origin);
  wr_ledger_enter(ledger, WR_PHASE_ASSEMBLE);
  if (transposed) TRY(wr_part_transpose(comm, starts, A));
  give_ids(o, &origin.ids);
done:
  wr_ids_free(&origin.ids);
  wr_binary_ranges_close(&source.file);
  return status;
}

/* ---- texts ---- */

/* Joins the numbers of entries once, whether its share has been read or not. */
typedef struct joint {
  wr_comm *comm;
  int is_made;
} joint;

static wr_status join_entries(void *of, int64_t entries, int64_t *before, int64_t *all) {
  wr_status status;
  joint *j = of;
  int64_t *counts = NULL;
  j->is_made = 1;
  TRY(wr_alloc(&counts, j->comm->size, sizeof *counts, "numbers of entries"));
  TRY(j->comm->ops->gather(j->comm, "numbers of entries", &entries, sizeof entries, counts));
  *before = *all = 0;
  for (int r = 0; r < j->comm->size; r++) *before += r < j->comm->rank ? counts[r] : 0, *all += counts[r];
done:
  wr_free(counts);
  return status;
}

static wr_status read_share(const char *name, wr_comm *comm, const wr_source_options *o, wr_triplets *triplets,
                            wr_ids *ids, wr_read_facts *read) {
  int64_t before, all;
  joint joined = {.comm = comm};
  const wr_read_share share = {.index = comm->rank, .count = comm->size, .join = join_entries, .context = &joined};
  wr_read_options how = {.threads = o->threads, .nonnegative = o->nonnegative, .columns = o->columns, .share = &share};
  how.columns.bare_values = !o->nonnegative;
  if (wr_source_is_edge_list(name, o)) {
    PASS(wr_comm_agree(comm, wr_edge_list_read(name, &how, triplets, ids, read)));
    return wr_part_ids_number(comm, name, triplets, ids);
  }
  wr_status status = wr_read_triplets(name, &how, triplets, read);
  if (!joined.is_made) { /* a failure before, which the others do not know of yet */
    wr_error error;
    (void)wr_error_keep(&error, status);
    PASS(join_entries(&joined, 0, &before, &all));
    status = wr_error_raise(&error);
  }
  PASS(wr_comm_agree(comm, status));
  return check_square(name, triplets->nrows, triplets->ncols);
}

/* *A := this part's rows of the matrix in a text, with columns of the whole. */
static wr_status take_text(const char *name, wr_comm *comm, const wr_source_options *o, int transposed, int64_t *starts,
                           wr_ledger *ledger, wr_csr **A, wr_problem_facts *facts) {
  wr_status status;
  wr_triplets triplets = {0};
  wr_read_facts read = {0};
  wr_binary_origin origin = {0};
  const wr_part_assembly how = {.transposed = transposed, .duplicates = o->duplicates};
  int64_t has_values = 0;
  TRY(read_share(name, comm, o, &triplets, &origin.ids, &read));
  for (int64_t c = 0; c < triplets.nchunks; c++) has_values |= triplets.chunks[c].val != NULL;
  TRY(wr_comm_max_counts(comm, &has_values, 1));
  wr_ledger_enter(ledger, WR_PHASE_ASSEMBLE);
  status = wr_part_assemble(comm, &triplets, &how, starts, A, &origin.repeated);
  if (status == WR_EINPUT || status == WR_ENOMEM) status = wr_fail(status, "%s: %s", name, wr_status_message());
  TRY(status);
  origin.repeats = has_values                            ? WR_REPEATS_ADDED
                   : o->duplicates == WR_DUPLICATES_ONCE ? WR_REPEATS_ONCE
                                                         : WR_REPEATS_COUNTED;
  facts->bytes = read.bytes;
  snprintf(facts->kind, sizeof facts->kind, "%s", read.kind);
  wr_source_remark(facts, &origin);
  give_ids(o, &origin.ids);
done:
  wr_ids_free(&origin.ids);
  wr_triplets_free(&triplets);
  return status;
}

/* ---- which rows a part has, if not a stretch ---- */

/* part[n] := the numbers in the file. */
static wr_status read_partition(const wr_source_options *o, int64_t n, int32_t *part) {
  double *numbers = NULL;
  const wr_vector_need need = {.n = n, .whose = "the matrix's rows", .ids = o->ids && o->ids->count ? o->ids : NULL};
  PASS(wr_vector_read(o->partition, &need, &numbers));
  wr_status status = WR_OK;
  for (int64_t i = 0; i < n && status == WR_OK; i++) {
    int is_number = numbers[i] >= 0 && numbers[i] < INT32_MAX && numbers[i] == floor(numbers[i]);
    part[i] = is_number ? (int32_t)numbers[i] : -1;
    if (!is_number)
      status = wr_fail(WR_EINPUT, "%s: row %lld has %g, which is no number of a process (0, 1, ...)", o->partition,
                       (long long)i + 1, numbers[i]);
  }
  wr_free(numbers);
  return status;
}

/* 1 if every part has a row. */
static int has_all_parts(const int32_t *part, int64_t n, int parts, uint8_t *seen) {
  int64_t found = 0;
  for (int64_t i = 0; i < n; i++) found += !seen[part[i]], seen[part[i]] = 1;
  return found == parts;
}

/* METIS may leave a part without rows, of a small or dense matrix above all. Then part[n] := the stretches that the parts have
 * without METIS, and *is_kept := 0. */
static wr_status mend_parts(wr_comm *comm, const int64_t *starts, int32_t *part, int *is_kept) {
  uint8_t *seen = NULL;
  PASS(wr_comm_agree(comm, wr_alloc_zeroed(&seen, comm->size, sizeof *seen, "a partition")));
  *is_kept = has_all_parts(part, starts[comm->size], comm->size, seen);
  wr_free(seen);
  for (int p = 0; p < comm->size && !*is_kept; p++)
    for (int64_t i = starts[p]; i < starts[p + 1]; i++) part[i] = p;
  return WR_OK;
}

/* Gives the rows to the parts as o->partition says, and makes the halo. */
static wr_status deal_rows(wr_comm *comm, const wr_source_options *o, int64_t *starts, wr_csr **A,
                           wr_problem_facts *facts) {
  wr_status status;
  int64_t n = starts[comm->size];
  int32_t *part = NULL, *numbers = NULL;
  int by_metis = strcmp(o->partition, "metis") == 0, is_kept = 1;
  if (by_metis && comm->ops->divide == NULL)
    TRY(wr_fail(WR_EUNAVAILABLE,
                "--partition metis needs METIS, which this build lacks: install libmetis-dev, then make "
                "again, or give the parts in a file"));
  TRY(wr_comm_agree(comm, wr_alloc(&part, n, sizeof *part, "a partition")));
  TRY(by_metis ? comm->ops->divide(comm, starts, *A, part) : wr_comm_agree(comm, read_partition(o, n, part)));
  if (by_metis) TRY(mend_parts(comm, starts, part, &is_kept));
  status = wr_part_deal(comm, part, starts, A, &numbers);
  if (status == WR_EINPUT)
    status = wr_fail(status, "--partition %s: %s%s", o->partition, wr_status_message(),
                     by_metis ? "; leave --partition out" : "");
  TRY(status);
  TRY(wr_halo_make(comm, starts, NULL, *A));
  TRY(wr_comm_agree(comm, wr_halo_keep_numbers((*A)->halo, numbers)));
  wr_source_note(facts, !by_metis ? "parts by a file"
                        : is_kept ? "parts by METIS"
                                  : "parts of consecutive rows, as METIS left one without rows");
done:
  wr_free(part);
  wr_free(numbers);
  return status;
}

wr_status wr_part_source_load(const char *name, wr_comm *comm, const wr_source_options *o, int transposed,
                              wr_ledger *ledger, wr_csr **A, wr_problem_facts *facts) {
  wr_status status;
  int64_t *starts = NULL;
  int is_text = 0;
  *A = NULL;
  wr_ledger_enter(ledger, WR_PHASE_READ);
  facts->source = name;
  status = wr_source_check_columns(name, o);
  if (status == WR_OK) status = find_kind(name, &is_text);
  if (status == WR_OK) status = wr_alloc(&starts, comm->size + 1, sizeof *starts, "a partition");
  TRY(wr_comm_agree(comm, status));
  TRY(is_text ? take_text(name, comm, o, transposed, starts, ledger, A, facts)
              : take_rows(name, comm, o, transposed, starts, ledger, A, facts));
  TRY(o->partition ? deal_rows(comm, o, starts, A, facts) : wr_halo_make(comm, starts, NULL, *A));
  facts->nrows = facts->ncols = wr_csr_all_rows(*A), facts->nnz = wr_csr_all_entries(*A);
  facts->has_values = (*A)->val != NULL;
  if (o->ids && o->ids->count == 0) *o->ids = (wr_ids){.count = facts->nrows, .first = 1};
done:
  wr_free(starts);
  if (status != WR_OK) wr_csr_free(*A), *A = NULL;
  return status;
}
