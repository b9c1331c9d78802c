/* The steps that are compiled into kernels that add up sums. */
#ifndef WR_STEPS_H
#define WR_STEPS_H

#include "spmv/steps/step.h"

/* In which kernels a step is compiled: those of an apply, of fused operations with room in wr_narrow, and of larger ones; in a
 * resident loop all are. Behind another operation a step has a kernel of its own. */
enum { WR_AFTER_PRODUCT = 1, WR_AFTER_VECTORS = 2, WR_AFTER_MANY = 4, WR_AFTER_ANY = 7 };

/* X(name, scalars, where): the function wr_name of a struct wr_scalars. */
#define WR_STEP_LIST(X)                                                                \
  X(bicgstab_after_update, bicgstab_scalars, WR_AFTER_VECTORS | WR_AFTER_MANY)         \
  X(bicgstab_after_first_product, bicgstab_scalars, WR_AFTER_PRODUCT)                  \
  X(bicgstab_after_second_product, bicgstab_scalars, WR_AFTER_PRODUCT)                 \
  X(solve_after_collect, solve_scalars, WR_AFTER_VECTORS)                              \
  X(pagerank_after_iteration, pagerank_scalars, WR_AFTER_PRODUCT)                      \
  X(pagerank_find_shift, pagerank_scalars, WR_AFTER_VECTORS)                           \
  X(cg_after_product, cg_scalars, WR_AFTER_PRODUCT)                                    \
  X(cg_after_update, cg_scalars, WR_AFTER_VECTORS)                                     \
  X(bicgstabl_after_search, bicgstabl_scalars, WR_AFTER_PRODUCT)                       \
  X(bicgstabl_after_residual, bicgstabl_scalars, WR_AFTER_PRODUCT)                     \
  X(bicgstabl_after_gram, bicgstabl_scalars, WR_AFTER_MANY)                            \
  X(bicgstabl_after_update, bicgstabl_scalars, WR_AFTER_MANY)                          \
  X(idr_after_direction, idr_scalars, WR_AFTER_MANY)                                   \
  X(idr_after_residual, idr_scalars, WR_AFTER_MANY)                                    \
  X(idr_after_update, idr_scalars, WR_AFTER_MANY)

#ifdef __cplusplus
extern "C" {
#endif

#define WR_STEP_DECLARE(name, scalars, where) extern const wr_step wr_step_##name;
WR_STEP_LIST(WR_STEP_DECLARE)
#undef WR_STEP_DECLARE

#ifdef __cplusplus
}
#endif

/* A bit for each step: nvcc compiles tests of bits to branches, but a switch over numbers to a table in memory. */
#define WR_STEP_NUMBER(name, scalars, where) WR_STEP_NUMBER_##name,
enum { WR_STEP_LIST(WR_STEP_NUMBER) WR_STEP_COUNT };
#undef WR_STEP_NUMBER
#define WR_STEP_BIT(name) (1u << WR_STEP_NUMBER_##name)

/* In C, the wr_then of a step, by its name. */
#define WR_THEN(name, bank, log) ((wr_then){&wr_step_##name, bank, log})

#endif
