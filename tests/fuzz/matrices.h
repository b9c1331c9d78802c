/* What must hold of every matrix that was read, whatever the text was. */
#ifndef WR_MATRICES_H
#define WR_MATRICES_H

#include "io/binary_file.h"
#include "io/ids.h"
#include "spmv/matrix/csr.h"

/* Larger matrices are read but not assembled: rows cost memory even without entries. */
enum { MATRICES_ROWS = 1 << 13, MATRICES_ENTRIES = 1 << 13 };

/* Triplets without chunks. */
typedef struct wr_entries {
  int64_t nrows, ncols, count;
  wr_symmetry symmetry;
  int32_t *row, *col; /* [count] */
  double *val;        /* [count], or NULL: a pattern */
} wr_entries;

/* Indices in range, values finite, of symmetric kinds the lower triangle. *entries := a copy; to be freed. */
void matrices_take(const wr_triplets *triplets, wr_entries *entries);
void matrices_free(wr_entries *entries);

/* The same sizes, and the same entries in the same order with the same bits. */
int matrices_equal(const wr_entries *a, const wr_entries *b);

/* Rows that keep the promises of wr_csr, values finite. */
void matrices_check_rows(const wr_csr *A);

/* Saves and reads again, which must give the same, and the same bytes from another number of threads. */
void matrices_round_trip(const wr_csr *A, const wr_binary_origin *origin);

/* Assembles the triplets (which are used up): every entry must be there. Then the round trip. Nothing if it is too large. */
void matrices_assemble(wr_triplets *triplets, const wr_entries *entries, const wr_ids *ids);

#endif
