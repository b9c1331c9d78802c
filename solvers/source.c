#include "solvers/source.h"

#include <stdio.h>
#include <string.h>

#include "data/generate.h"
#include "io/edge_list.h"
#include "io/file_extent.h"
#include "io/reader.h"

int wr_source_extent(const char *name, wr_extent *extent) {
  *extent = (wr_extent){0};
  if (wr_generate_is_name(name)) return wr_generate_extent(name, &extent->nrows, &extent->nnz) == WR_OK;
  return wr_file_extent(name, &extent->nrows, &extent->nnz);
}

static void remark(wr_problem_facts *facts, const char *text) {
  size_t used = strlen(facts->remark);
  snprintf(facts->remark + used, sizeof facts->remark - used, "%s%s", used > 0 ? "; " : "", text);
}

static int is_edge_list(const char *name, wr_input_format format) {
  return format == WR_INPUT_EDGES || (format == WR_INPUT_AUTO && wr_edge_list_is_name(name));
}

static void remark_ids(wr_problem_facts *facts, const wr_ids *ids) {
  char text[64];
  snprintf(text, sizeof text, "ids %lld to %lld", (long long)ids->first, (long long)wr_ids_at(ids, ids->count - 1));
  remark(facts, text);
}

static void remark_repeats(wr_problem_facts *facts, const wr_binary_origin *origin) {
  char text[64];
  snprintf(text, sizeof text, "%lld repeated entries %s", (long long)origin->repeated,
           origin->repeats == WR_REPEATS_ONCE ? "counted once" : "summed");
  remark(facts, text);
}

/* Of a graph, how repeated edges count is the caller's choice, which comes too late for a binary. */
static wr_status check_origin(const char *name, const wr_source_options *options, const wr_binary_origin *origin) {
  int once = options->duplicates == WR_DUPLICATES_ONCE;
  wr_binary_repeats other = once ? WR_REPEATS_COUNTED : WR_REPEATS_ONCE;
  if (!options->nonnegative || origin->repeated == 0 || origin->repeats != other) return WR_OK;
  return wr_fail(WR_EINPUT, "%s: %lld repeated entries were %s when it was saved; save it again with --duplicates %s",
                 name, (long long)origin->repeated, once ? "counted as weights" : "counted once",
                 once ? "once, or use it with --duplicates sum" : "sum, or use it with --duplicates once");
}

static wr_binary_repeats repeats_of(const wr_triplets *triplets, wr_duplicates duplicates) {
  for (int64_t k = 0; k < triplets->nchunks; k++)
    if (triplets->chunks[k].val) return WR_REPEATS_ADDED;
  return duplicates == WR_DUPLICATES_ONCE ? WR_REPEATS_ONCE : WR_REPEATS_COUNTED;
}

static wr_status load_file(const char *name, const wr_source_options *options, wr_ledger *ledger, wr_csr **A,
                           wr_binary_origin *origin, wr_problem_facts *facts) {
  wr_status status;
  wr_triplets triplets = {0};
  wr_read_facts read = {0};
  wr_read_options how = {.threads = options->threads, .nonnegative = options->nonnegative, .feed = options->feed};
  if (is_edge_list(name, options->format) && !wr_binary_is_file(name))
    TRY(wr_edge_list_read(name, &how, &triplets, &origin->ids, &read));
  else
    TRY(wr_read_matrix(name, &how, &triplets, A, origin, &read));
  if (*A) {
    TRY(check_origin(name, options, origin));
  } else {
    wr_ledger_enter(ledger, WR_PHASE_ASSEMBLE);
    origin->repeats = repeats_of(&triplets, options->duplicates);
    status = wr_csr_assemble_for(options->feed, &triplets, options->duplicates, A, &origin->repeated);
    if (status != WR_OK) TRY(wr_fail(status, "%s: %s", name, wr_status_message()));
  }
  facts->bytes = read.bytes;
  snprintf(facts->kind, sizeof facts->kind, "%s", read.kind);
  if (origin->ids.count > 0) remark_ids(facts, &origin->ids);
  if (origin->repeated > 0) remark_repeats(facts, origin);
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
  if (wr_generate_is_name(name)) {
    TRY(wr_generate(name, options->threads, A));
    snprintf(facts->kind, sizeof facts->kind, "generated %s", (*A)->val ? "real" : "pattern");
  } else {
    TRY(load_file(name, options, ledger, A, &origin, facts));
  }
  facts->nrows = (*A)->nrows, facts->ncols = (*A)->ncols, facts->nnz = (*A)->nnz;
  facts->has_values = (*A)->val != NULL;
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
