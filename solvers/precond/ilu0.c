/* M = L U with the pattern of A (Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, section 10.3). */
#include <stddef.h>

#include "config/defaults.h"
#include "solvers/precond/factors.h"
#include "spmv/precond/block_colour.h"
#include "spmv/precond/ilu_common.h"

static const wr_knob knobs_of_ilu0[] = {
    {.name = "order", .type = WR_OPTION_CHOICE, .offset = offsetof(wr_factors_knobs, order),
     .choices = WR_ORDER_CHOICES, .value = "auto",
     .help = "rows as given, by reverse Cuthill-McKee, or by colours of blocks; auto: one with few levels"},
    {.name = "block", .type = WR_OPTION_INT, .offset = offsetof(wr_factors_knobs, block), .min = 1,
     .max = WR_MOST_BLOCK, .value = WR_DEFAULT_BLOCK, .help = "rows of a block in the order by colours"},
    {.name = "factors", .type = WR_OPTION_CHOICE, .offset = offsetof(wr_factors_knobs, factors),
     .choices = WR_FACTORS_CHOICES, .value = "auto",
     .help = "the type in which they are stored; auto: that of the solve"},
    {.name = "pivot", .type = WR_OPTION_REAL, .offset = offsetof(wr_factors_knobs, pivot), .min = 0, .above_min = 1,
     .max = 1, .below_max = 1, .value = WR_DEFAULT_PIVOT,
     .help = "smallest |pivot| relative to the largest element of the row of A"},
    {.name = "at", .type = WR_OPTION_CHOICE, .offset = offsetof(wr_factors_knobs, at), .choices = WR_ILU_AT_CHOICES,
     .value = "auto", .help = "where the factors for a device are made, with the same bits; auto: where it is faster"},
    {0}};

static wr_status factorise(const wr_csr *B, const wr_factors_knobs *knobs, wr_env *env, wr_lu *lu,
                           wr_ilu_shifts *shifts) {
  return wr_ilu0_at(B, knobs->pivot, (wr_ilu_at)knobs->at, env, lu, shifts);
}

static const wr_factoring factoring = {
    .name = "ilu0", .title = "ILU(0)", .has_pattern = 1, .keeps_symmetry = 1, .factorise = factorise};

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_precond_info *info) {
  return wr_factors_prepare(state, env, A, knobs, &factoring, info);
}

const wr_preconditioner wr_precond_ilu0 = {
    .name = "ilu0",
    .summary = "incomplete L U with the pattern of A",
    .source = "Saad 2003, section 10.3",
    .knobs = knobs_of_ilu0,
    .knobs_size = sizeof(wr_factors_knobs),
    .state_size = sizeof(wr_factors),
    .prepare = prepare,
    .apply = wr_factors_apply,
    .destroy = wr_factors_destroy,
};
