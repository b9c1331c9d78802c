/* M = L U without small elements (Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, section 10.4). */
#include <stddef.h>

#include "config/defaults.h"
#include "solvers/precond/factors.h"
#include "spmv/precond/block_colour.h"

static const wr_knob knobs_of_ilut[] = {
    {.name = "drop", .type = WR_OPTION_REAL, .offset = offsetof(wr_factors_knobs, drop), .min = 0, .max = 1,
     .value = WR_DEFAULT_DROP, .help = "elements up to this share of the norm of their row are left out"},
    {.name = "fill", .type = WR_OPTION_INT, .offset = offsetof(wr_factors_knobs, fill), .min = 0, .max = 1e6,
     .value = WR_DEFAULT_FILL, .help = "most elements of a row of L, and of U, more than the row of A has there"},
    {.name = "order", .type = WR_OPTION_CHOICE, .offset = offsetof(wr_factors_knobs, order),
     .choices = WR_ORDER_CHOICES, .value = "auto",
     .help = "rows as given, by reverse Cuthill-McKee, or by colours of blocks; auto: as given or by reverse "
             "Cuthill-McKee"},
    {.name = "block", .type = WR_OPTION_INT, .offset = offsetof(wr_factors_knobs, block), .min = 1,
     .max = WR_MOST_BLOCK, .value = WR_DEFAULT_BLOCK, .help = "rows of a block in the order by colours"},
    {.name = "factors", .type = WR_OPTION_CHOICE, .offset = offsetof(wr_factors_knobs, factors),
     .choices = WR_FACTORS_CHOICES, .value = "auto",
     .help = "the type in which they are stored; auto: that of the solve"},
    {.name = "pivot", .type = WR_OPTION_REAL, .offset = offsetof(wr_factors_knobs, pivot), .min = 0, .above_min = 1,
     .max = 1, .below_max = 1, .value = WR_DEFAULT_PIVOT,
     .help = "smallest |pivot| relative to the largest element of the row of A"},
    {0}};

static wr_status factorise(const wr_csr *B, const wr_factors_knobs *knobs, wr_env *env, wr_lu *lu,
                           wr_ilu_shifts *shifts) {
  return wr_ilut(B, knobs->drop, knobs->fill, knobs->pivot, env->watch, lu, shifts);
}

/* Elements of a row are left out by the size of the row, so M is not symmetric where A is. */
static const wr_factoring factoring = {
    .name = "ilut", .title = "ILUT", .keeps_symmetry = 0, .factorise = factorise};

static wr_status prepare(void *state, wr_env *env, wr_csr *A, const void *knobs, wr_precond_info *info) {
  return wr_factors_prepare(state, env, A, knobs, &factoring, info);
}

const wr_preconditioner wr_precond_ilut = {
    .name = "ilut",
    .summary = "incomplete L U by a drop tolerance and a limit of fill",
    .source = "Saad 2003, section 10.4",
    .knobs = knobs_of_ilut,
    .knobs_size = sizeof(wr_factors_knobs),
    .state_size = sizeof(wr_factors),
    .prepare = prepare,
    .apply = wr_factors_apply,
    .destroy = wr_factors_destroy,
};
