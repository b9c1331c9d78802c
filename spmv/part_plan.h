/* The multiply of a part: any backend, with the halo of x around it.
 *
 * Devices that exchange with each other (spmv/device/peers.h) get the halo in a few microseconds, and then multiply all rows at
 * once. Where hosts exchange, the rows are cut into at most three pieces, each with a plan of its own on the very arrays of the
 * matrix:
 *
 *   above   rows that take elements of x from other parts, and what is between them
 *   inside  the longest run of rows that take none: they are multiplied while the halo travels
 *   below   as above
 *
 * Pieces begin at multiples of 32 rows, so that their vectors, parts of y, are aligned as vectors are. */
#ifndef WR_PART_PLAN_H
#define WR_PART_PLAN_H

#include "spmv/parts/halo.h"
#include "spmv/spmv.h"

typedef struct wr_part_plan wr_part_plan;

/* *plan := a prepared one for A, which is a part, with a backend's knobs, parsed. Adds its memory to info. The arguments are
 * trusted. WR_EUNAVAILABLE: the backend cannot multiply with the pieces. Collective. */
wr_status wr_part_plan_create(const wr_backend *backend, const void *knobs, wr_csr *A, wr_env *env, wr_plan_info *info,
                              wr_part_plan **plan);
void wr_part_plan_destroy(wr_part_plan *plan); /* NULL is fine */

/* 1: an apply does the epilogue, too. Where hosts exchange, it does not. */
int wr_part_plan_finishes(const wr_part_plan *plan);

/* y = alpha*A*x + beta*y. Collective. The request has no y_next, and no epilogue that an apply does not do. */
wr_status wr_part_plan_apply(wr_part_plan *plan, const wr_apply *request);

/* Where hosts exchange: the same for several vectors at once, without what follows the multiply; each other part gets one
 * message for all of them. WR_EUSAGE: ldx is above WR_MAX_COLUMNS. */
wr_status wr_part_plan_apply_many(wr_part_plan *plan, const wr_apply_many *request);

#endif
