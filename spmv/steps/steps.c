#include "spmv/steps/steps.h"

#include "spmv/steps/bicgstab_steps.h"
#include "spmv/steps/bicgstabl_steps.h"
#include "spmv/steps/cg_steps.h"
#include "spmv/steps/idr_steps.h"
#include "spmv/steps/pagerank_steps.h"

#define WR_STEP_DEFINE(name, scalars, where)                                               \
  static void run_##name(double *bank, wr_step_request *request) {                         \
    wr_##name((wr_##scalars *)bank, request);                                              \
  }                                                                                        \
  const wr_step wr_step_##name = {                                                         \
      #name, WR_SCALAR_COUNT(wr_##scalars), run_##name, WR_STEP_BIT(name), where, NULL};
WR_STEP_LIST(WR_STEP_DEFINE)
