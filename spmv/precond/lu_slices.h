/* Triangular factors in the form in which a device solves with them (lu_cuda.cu): rows in the order of their levels, cut
 * into slices, of which one warp takes one at a time.
 *
 * Unknowns: w[0..lower) are those of L in the order of their levels, w[lower..unknowns) those of U. An unknown is
 *
 *   w[k] = r[source[k]] - sum of val * w[col]                              of L
 *   w[k] = (w[source[k]] - sum of val * w[col]) * inverse[k - lower]       of U; also z[into[k - lower]] := w[k]
 *
 * Row i of the factors is one unknown of L and one of U. A row with more than WR_LU_LONGEST entries has further unknowns,
 * each a sum over some of the entries, without a source: w[k] = -sum. The row adds these up with entries of value -1.
 *
 * Storage: entry e of lane l of a slice is at 32 * (group + e) + l, so that a warp reads 32 neighbours at a time. Unknown
 * j of a slice, first + j, has the 2^log_lanes lanes from j * 2^log_lanes on; they take its entries in turn. Lanes
 * without an entry have WR_LU_NONE as the column. Unknowns of a level are sorted by their number of entries, so that
 * little of this is padding. */
#ifndef WR_LU_SLICES_H
#define WR_LU_SLICES_H

#include "spmv/precond/lu.h"

WR_C_BEGIN

enum {
  WR_LU_LONGEST = 512,     /* entries of an unknown: 16 for each lane of a warp                                       */
  WR_LU_WARPS = 16,        /* warps of a thread block, which together take the levels of a run                        */
  WR_LU_MOST_SLOTS = 16384 /* values of a run that a block keeps in shared memory: 128 KiB of f64                     */
};
#define WR_LU_NONE INT32_MIN

/* Which unknown is the gate of a slice outside of runs: a warp that polls a single place takes less of the bandwidth of L2 than
 * one that polls all its inputs. */
typedef enum wr_lu_gates {
  WR_LU_GATE_LEVEL, /* the last one two levels before */
  WR_LU_GATE_INPUT, /* the last one of its inputs     */
  WR_LU_GATE_NONE
} wr_lu_gates;

typedef struct wr_lu_slice {
  uint32_t group;
  int32_t first; /* unknown                                                                                        */
  int32_t gate; /* an unknown; before it is known, the slice need not look for its inputs. -1: none */
  uint32_t shape; /* entries of a lane in bits 0-7, unknowns - 1 in bits 8-12, log_lanes in bits 13-15, U in bit 16 */
} wr_lu_slice;

/* Slices [begin, end), in one of two ways. levels = 0: all blocks share them, so they are of one level, or if unknowns wait for
 * each other, of several. Else a run: levels of at most WR_LU_WARPS slices each, which one block takes, one after another. */
typedef struct wr_lu_phase {
  int32_t begin, end;
  int32_t level, levels; /* of a run: the first one, and their number */
} wr_lu_phase;

/* A negative column, except WR_LU_NONE, is ~(place in shared memory) of an unknown of the same run: its number modulo slots. */
typedef struct wr_lu_slices {
  int64_t n, lower, unknowns;
  int64_t lower_levels, upper_levels;
  int64_t slices, phases, groups;
  int64_t slots;        /* of shared memory, a power of two; 0: there is no run */
  wr_lu_slice *slice;   /* [slices] in the order of levels                      */
  wr_lu_phase *phase;   /* [phases]                                             */
  int32_t *level_slice; /* [lower_levels + upper_levels + 1] first slices       */
  int32_t *source;      /* [unknowns] -1: none                                  */
  int32_t *into;        /* [unknowns - lower] -1: none                          */
  double *inverse;      /* [unknowns - lower] 1 where there is none             */
  int32_t *col;         /* [32 * groups]                                        */
  double *val;          /* [32 * groups]                                        */
} wr_lu_slices;

/* merged: unknowns wait for each other, so neighbouring levels that are no run are one phase. WR_ENOMEM; WR_EUNAVAILABLE: more
 * than 2^31 - 1 unknowns. */
wr_status wr_lu_slices_make(const wr_lu *lu, int merged, wr_lu_gates gates, wr_lu_slices *slices);
void wr_lu_slices_free(wr_lu_slices *slices); /* frees the arrays, and zeroes the struct; a zeroed one is fine */

WR_C_END
#endif
