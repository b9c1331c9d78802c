#include "solvers/api/source.h"

#include <stdio.h>
#include <string.h>

#include "config/memory_limits.h"
#include "config/text.h"
#include "data/generate.h"
#include "io/edge_list.h"
#include "io/file_extent.h"
#include "io/reader.h"

int wr_source_extent(const char *name, wr_extent *extent) {
  *extent = (wr_extent){0};
  if (wr_generate_is_name(name)) return wr_generate_extent(name, &extent->nrows, &extent->nnz) == WR_OK;
  return wr_file_extent(name, &extent->nrows, &extent->nnz);
}

void wr_source_note(wr_problem_facts *facts, const char *text) {
  size_t used = strlen(facts->remark);
  snprintf(facts->remark + used, sizeof facts->remark - used, "%s%s", used > 0 ? "; " : "", text);
}

int wr_source_is_edge_list(const char *name, const wr_source_options *options) {
  return options->format == WR_INPUT_EDGES ||
         (options->format == WR_INPUT_AUTO && (wr_edge_is_told(&options->columns) || wr_edge_list_is_name(name)));
}

wr_status wr_source_check_columns(const char *name, const wr_source_options *options) {
  int none = wr_generate_is_name(name) || wr_binary_is_file(name) || !wr_source_is_edge_list(name, options);
  if (!wr_edge_is_told(&options->columns) || !none) return WR_OK;
  if (wr_edge_is_chosen(&options->columns))
    return wr_fail(WR_EUSAGE, "%s: columns (--columns) can be chosen of an edge list only, which this is not", name);
  return wr_fail(WR_EUSAGE, "%s: --header, --separator and --ids are for an edge list only, which this is not", name);
}

static void remark_ids(wr_problem_facts *facts, const wr_ids *ids) {
  char text[64];
  if (ids->names != NULL) return; /* the kind says it */
  snprintf(text, sizeof text, "ids %lld to %lld", (long long)ids->first, (long long)wr_ids_at(ids, ids->count - 1));
  wr_source_note(facts, text);
}

static void remark_repeats(wr_problem_facts *facts, const wr_binary_origin *origin) {
  char text[64];
  snprintf(text, sizeof text, "%lld repeated %s %s", (long long)origin->repeated,
           wr_plural(origin->repeated, "entry", "entries"),
           origin->repeats == WR_REPEATS_ONCE ? "counted once" : "summed");
  wr_source_note(facts, text);
}

static void remark_inexact(wr_problem_facts *facts, int64_t line) {
  char text[128];
  snprintf(text, sizeof text, "f64 cannot hold the value in line %lld: it became 0 or a rounded integer",
           (long long)line);
  wr_source_note(facts, text);
}

void wr_source_remark(wr_problem_facts *facts, const wr_binary_origin *origin) {
  if (origin->ids.count > 0) remark_ids(facts, &origin->ids);
  if (origin->repeated > 0) remark_repeats(facts, origin);
}

wr_status wr_source_check_origin(const char *name, const wr_source_options *options, const wr_binary_origin *origin) {
  int once = options->duplicates == WR_DUPLICATES_ONCE;
  wr_binary_repeats other = once ? WR_REPEATS_COUNTED : WR_REPEATS_ONCE;
  if (!options->nonnegative || origin->repeated == 0 || origin->repeats != other) return WR_OK;
  return wr_fail(WR_EINPUT, "%s: %lld repeated %s %s when it was saved; save it again with --duplicates %s", name,
                 (long long)origin->repeated, wr_plural(origin->repeated, "entry was", "entries were"),
                 once ? "counted as weights" : "counted once",
                 once ? "once, or use it with --duplicates sum" : "sum, or use it with --duplicates once");
}

static wr_binary_repeats repeats_of(const wr_triplets *triplets, wr_duplicates duplicates) {
  for (int64_t k = 0; k < triplets->nchunks; k++)
    if (triplets->chunks[k].val) return WR_REPEATS_ADDED;
  return duplicates == WR_DUPLICATES_ONCE ? WR_REPEATS_ONCE : WR_REPEATS_COUNTED;
}

/* held: bytes that will be allocated besides those of the caller. */
static wr_status check_room(const char *name, const wr_source_options *options, int64_t nrows, int64_t ncols,
                            int64_t nnz, int64_t held) {
  char what[128];
  int64_t bytes = held + nrows * options->row_bytes + ncols * options->column_bytes;
  if (nnz > nrows) bytes += (nnz - nrows) * options->entry_bytes;
  snprintf(what, sizeof what, "a matrix of %lld x %lld (stored entries: %lld) and the vectors of a run",
           (long long)nrows, (long long)ncols, (long long)nnz);
  wr_status status = wr_memory_check_block(bytes, what);
  if (status == WR_OK) return WR_OK;
  int64_t longest = nrows > ncols ? nrows : ncols;
  return wr_fail(status, "%s: %s%s", strcmp(name, "-") == 0 ? "standard input" : name, wr_status_message(),
                 nnz < longest / 2 ? "; most rows or columns are empty: leave them out and number the others anew"
                                   : "");
}

static wr_status check_triplets(const char *name, const wr_source_options *options, const wr_triplets *t) {
  int64_t nnz = 0;
  int values = 0;
  for (int64_t k = 0; k < t->nchunks; k++) nnz += t->chunks[k].count, values |= t->chunks[k].val != NULL;
  int64_t entry_bytes = (int64_t)sizeof(int32_t) + (values ? (int64_t)sizeof(double) : 0);
  int64_t held = (t->nrows + 1) * (int64_t)sizeof(int64_t) + nnz * entry_bytes;
  return check_room(name, options, t->nrows, t->ncols, nnz, held);
}

static wr_status load_file(const char *name, const wr_source_options *options, wr_ledger *ledger, wr_csr **A,
                           wr_binary_origin *origin, wr_problem_facts *facts) {
  wr_status status;
  wr_triplets triplets = {0};
  wr_read_facts read = {0};
  wr_read_options how = {.threads = options->threads,
                         .nonnegative = options->nonnegative,
                         .columns = options->columns,
                         .feed = options->feed};
  how.columns.bare_values = !options->nonnegative; /* a third column may be no weights in a graph */
  if (wr_source_is_edge_list(name, options) && !wr_binary_is_file(name))
    TRY(wr_edge_list_read(name, &how, &triplets, &origin->ids, &read));
  else
    TRY(wr_read_matrix(name, &how, &triplets, A, origin, &read));
  if (*A) {
    TRY(wr_source_check_origin(name, options, origin));
    TRY(check_room(name, options, (*A)->nrows, (*A)->ncols, (*A)->nnz, 0));
  } else {
    TRY(check_triplets(name, options, &triplets));
    wr_ledger_enter(ledger, WR_PHASE_ASSEMBLE);
    origin->repeats = repeats_of(&triplets, options->duplicates);
    status = wr_csr_assemble_for(options->feed, &triplets, options->duplicates, A, &origin->repeated);
    if (status != WR_OK) TRY(wr_fail(status, "%s: %s", name, wr_status_message()));
  }
  facts->bytes = read.bytes;
  snprintf(facts->kind, sizeof facts->kind, "%s", read.kind);
  wr_source_remark(facts, origin);
  if (read.inexact_line > 0) remark_inexact(facts, read.inexact_line);
done:
  wr_triplets_free(&triplets);
  return status;
}

wr_status wr_source_load(const char *name, const wr_source_options *options, wr_ledger *ledger, wr_csr **A,
                         wr_problem_facts *facts) {
  wr_status status;
  wr_binary_origin origin = {0};
  *A = NULL;
  wr_ledger_enter(ledger, WR_PHASE_READ);
  facts->source = name;
  TRY(wr_source_check_columns(name, options));
  if (wr_generate_is_name(name)) {
    TRY(wr_generate_beside(name, options->threads, options->row_bytes + options->column_bytes, A));
    if (options->entry_bytes > 0) TRY(check_room(name, options, (*A)->nrows, (*A)->ncols, (*A)->nnz, 0));
    snprintf(facts->kind, sizeof facts->kind, "generated %s", (*A)->val ? "real" : "pattern");
  } else {
    TRY(load_file(name, options, ledger, A, &origin, facts));
  }
  facts->nrows = (*A)->nrows, facts->ncols = (*A)->ncols, facts->nnz = (*A)->nnz;
  facts->has_values = (*A)->val != NULL;
  if (options->save && origin.ids.names != NULL)
    TRY(wr_fail(WR_EUSAGE, "%s: its ids are names, which --save-binary does not keep; number the nodes first", name));
  if (options->save) {
    wr_ledger_enter(ledger, WR_PHASE_WRITE);
    TRY(wr_binary_write(options->save, *A, &origin, options->threads));
  }
  if (origin.ids.count == 0) origin.ids = (wr_ids){.count = (*A)->nrows, .first = 1};
  if (options->ids != NULL) {
    *options->ids = origin.ids;
    origin.ids = (wr_ids){0};
  }
done:
  wr_ids_free(&origin.ids);
  if (status != WR_OK) {
    wr_csr_feed_begin(options->feed, NULL);
    wr_csr_free(*A), *A = NULL;
  }
  return status;
}
