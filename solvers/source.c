#include "solvers/source.h"

#include <stdio.h>
#include <string.h>

#include "data/generate.h"
#include "io/reader.h"

static int ends_with(const char *name, const char *ending) {
  size_t n = strlen(name), m = strlen(ending);
  return n >= m && strcmp(name + n - m, ending) == 0;
}

static int is_edge_list(const char *name) {
  static const char *const endings[] = {".tsv", ".txt", ".el", ".csv"};
  for (size_t e = 0; e < sizeof endings / sizeof endings[0]; e++)
    if (ends_with(name, endings[e])) return 1;
  return 0;
}

static wr_status load_file(const char *name, const wr_source_options *options, wr_ledger *ledger, wr_csr **A,
                           wr_problem_facts *facts) {
  wr_status status;
  wr_triplets triplets = {0};
  wr_read_facts read = {0};
  int64_t repeated = 0;
  wr_read_options how = {.threads = options->threads, .nonnegative = options->nonnegative};
  TRY(wr_read_triplets(name, &how, &triplets, &read));
  wr_ledger_enter(ledger, WR_PHASE_ASSEMBLE);
  status = wr_csr_assemble(&triplets, options->duplicates, A, &repeated);
  if (status != WR_OK) TRY(wr_fail(status, "%s: %s", name, wr_status_message()));
  facts->bytes = read.bytes;
  snprintf(facts->kind, sizeof facts->kind, "%s", read.kind);
  if (repeated > 0)
    snprintf(facts->remark, sizeof facts->remark, "%lld repeated entries %s", (long long)repeated,
             (*A)->val ? "summed" : "counted once");
done:
  wr_triplets_free(&triplets);
  return status;
}

wr_status wr_source_load(const char *name, const wr_source_options *options, wr_ledger *ledger, wr_csr **A,
                         wr_problem_facts *facts) {
  wr_status status;
  *A = NULL;
  wr_ledger_enter(ledger, WR_PHASE_READ);
  facts->source = name;
  if (wr_generate_is_name(name)) {
    TRY(wr_generate(name, options->threads, A));
    snprintf(facts->kind, sizeof facts->kind, "generated %s", (*A)->val ? "real" : "pattern");
  } else if (is_edge_list(name)) {
    TRY(wr_fail(WR_EUSAGE, "%s: edge lists are not read yet; give the graph as a Matrix Market file", name));
  } else {
    TRY(load_file(name, options, ledger, A, facts));
  }
  facts->nrows = (*A)->nrows, facts->ncols = (*A)->ncols, facts->nnz = (*A)->nnz;
  facts->has_values = (*A)->val != NULL;
done:
  return status;
}
