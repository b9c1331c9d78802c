/* CSR, cut into chunks of equal work along the merge path of rows and entries (rows + nnz steps: a step down ends a row, a
 * step right takes an entry), so that neither many empty rows nor one giant row burdens a single thread.
 *
 *   chunk c: steps c*STEPS .. (c+1)*STEPS-1, e.g. 6 steps a chunk on the 6x6 example (16 steps):
 *     a . b . . .   \ chunk 0: row 0 (a b |), row 1 (c d |)
 *     . c . . d .   /
 *     . . . . . .   \ chunk 1: row 2 (|), row 3 (e f g h |)
 *     e . f g . h   /
 *     . . . . i .   \ chunk 2: row 4 (i |), row 5 (j |)
 *     . . . . . j   /
 *
 * The cuts depend only on the matrix. A row that is cut is summed from its parts in the order of the chunks (Merrill and
 * Garland: Merge-based parallel sparse matrix-vector multiplication, section 3). */
#ifndef WR_CPU_CSR_FORMAT_H
#define WR_CPU_CSR_FORMAT_H

#include <stdint.h>

#include "spmv/spmv.h"

enum { WR_CPU_CSR_STEPS = 8192 }; /* a chunk: 32 to 100 KB of the matrix, some microseconds */

typedef struct cpu_csr_state {
  int64_t nrows, nnz;
  const int64_t *row_ptr; /* [nrows + 1] borrowed                                                          */
  const int32_t *col;     /* [nnz] borrowed                                                                */
  const void *val;        /* [nnz] of the plan's type: borrowed in f64, own_val in f32; NULL for a pattern */
  float *own_val;         /* [nnz] or NULL                                                                 */
  wr_type type;
  int is_local; /* neighbouring rows mostly begin with neighbouring columns */
  int64_t nchunks;
  int64_t *first_row;  /* [nchunks + 1] the row in which a chunk begins               */
  double *head, *tail; /* [nchunks] a chunk's parts of the rows that its two ends cut */
  double *partials;    /* [nchunks + 1][WR_MAX_REDUCTIONS]                            */
  int columns;         /* the most of an apply_many; 0: none                          */
  double *many_head, *many_tail; /* [nchunks][columns] as head and tail               */
} cpu_csr_state;

#endif
