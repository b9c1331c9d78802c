/* The list of steps that are compiled into the kernels that add up sums. */
#ifndef WR_STEPS_H
#define WR_STEPS_H

#include "spmv/steps/step.h"

/* X(name, scalars): the function wr_name of a struct wr_scalars. */
#define WR_STEP_LIST(X)                               \
  X(bicgstab_after_update, bicgstab_scalars)          \
  X(bicgstab_after_first_product, bicgstab_scalars)   \
  X(bicgstab_after_second_product, bicgstab_scalars)  \
  X(bicgstab_after_collect, bicgstab_scalars)         \
  X(pagerank_after_iteration, pagerank_scalars)       \
  X(pagerank_find_shift, pagerank_scalars)

#ifdef __cplusplus
extern "C" {
#endif

#define WR_STEP_DECLARE(name, scalars) extern const wr_step wr_step_##name;
WR_STEP_LIST(WR_STEP_DECLARE)
#undef WR_STEP_DECLARE

#ifdef __cplusplus
}
#endif

/* A bit for each step: nvcc compiles tests of bits to branches, but a switch over numbers to a table in memory. */
#define WR_STEP_NUMBER(name, scalars) WR_STEP_NUMBER_##name,
enum { WR_STEP_LIST(WR_STEP_NUMBER) WR_STEP_COUNT };
#undef WR_STEP_NUMBER
#define WR_STEP_BIT(name) (1u << WR_STEP_NUMBER_##name)

/* In C, the wr_then of a step, by its name. */
#define WR_THEN(name, bank, log) ((wr_then){&wr_step_##name, bank, log})

#endif
