/* One iteration of BiCGSTAB as operations on vectors, which bicgstab.c repeats. */
#ifndef WR_BICGSTAB_STEP_H
#define WR_BICGSTAB_STEP_H

#include "solvers/bicgstab.h"
#include "spmv/steps/bicgstab_steps.h"

/* A scalar of the solver by its name in wr_bicgstab_scalars. */
#define WR_BICGSTAB_SCALAR(s, member) ((wr_scalar){&(s)->bank, WR_SCALAR_INDEX(wr_bicgstab_scalars, member)})

/* to := x + d, the iterate, and its sum. */
wr_fused wr_bicgstab_collecting(wr_bicgstab *s, wr_vec *to);

/* x := x + d, the iterate, and d := 0: before a start and at the end. */
wr_status wr_bicgstab_settle_iterate(wr_bicgstab *s);

/* Vectors that an iteration reads and writes besides those of its two multiplies. */
enum { WR_BICGSTAB_VECTORS = 15 };

/* Requests one iteration of the solver, a wr_bicgstab. phase: 0 in even iterations and 1 in odd ones; A p goes to v[phase]. */
wr_status wr_bicgstab_step(void *solver, int phase);

#endif
