#include "solvers/api/part_source.h"

#include <stdio.h>

#include "config/memory.h"
#include "data/generate.h"
#include "spmv/parts/partition.h"

/* Where the rows of a part come from: their lengths are counted once, in equal slices, and then each part makes its own. */
typedef struct row_source {
  const char *name;
  int threads;
  int64_t n; /* rows, and columns, of the whole */
} row_source;

static wr_status open_source(const char *name, int threads, row_source *source) {
  int64_t entries;
  *source = (row_source){.name = name, .threads = threads};
  if (wr_generate_is_name(name)) return wr_generate_extent(name, &source->n, &entries);
  return wr_fail(WR_EUNAVAILABLE, "%s: several processes solve generated matrices (gen:...) alone; start one process",
                 name);
}

/* starts[size + 1] := the cuts. */
static wr_status cut(const row_source *source, wr_comm *comm, int64_t *starts) {
  wr_status status;
  int64_t *row_ptr = NULL;
  int64_t first = wr_partition_slice(source->n, comm->rank, comm->size);
  int64_t end = wr_partition_slice(source->n, comm->rank + 1, comm->size);
  status = wr_alloc(&row_ptr, end - first + 1, sizeof *row_ptr, "the lengths of rows");
  if (status == WR_OK && end > first)
    status = wr_generate_lengths(source->name, source->threads, first, end, row_ptr);
  else if (status == WR_OK)
    row_ptr[0] = 0;
  TRY(wr_comm_agree(comm, status));
  TRY(wr_partition_cut(comm, source->n, row_ptr, starts));
done:
  wr_free(row_ptr);
  return status;
}

wr_status wr_part_source_load(const char *name, wr_comm *comm, int threads, wr_ledger *ledger, wr_csr **A,
                              wr_problem_facts *facts) {
  wr_status status;
  row_source source;
  int64_t *starts = NULL;
  *A = NULL;
  wr_ledger_enter(ledger, WR_PHASE_READ);
  facts->source = name;
  status = open_source(name, threads, &source);
  if (status == WR_OK) status = wr_alloc(&starts, comm->size + 1, sizeof *starts, "a partition");
  TRY(wr_comm_agree(comm, status));
  TRY(cut(&source, comm, starts));
  int64_t first = starts[comm->rank], end = starts[comm->rank + 1];
  TRY(wr_comm_agree(comm, wr_generate_rows(name, threads, first, end, A)));
  wr_ledger_enter(ledger, WR_PHASE_ASSEMBLE);
  TRY(wr_halo_make(comm, starts, NULL, *A));
  snprintf(facts->kind, sizeof facts->kind, "generated %s", (*A)->val ? "real" : "pattern");
  facts->nrows = facts->ncols = source.n, facts->nnz = (*A)->halo->nnz_all, facts->has_values = (*A)->val != NULL;
done:
  wr_free(starts);
  if (status != WR_OK) wr_csr_free(*A), *A = NULL;
  return status;
}
