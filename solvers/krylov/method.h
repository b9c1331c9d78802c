/* Iterative methods for linear systems: each is one const struct wr_method with its mathematics in one file, NAME_step.c, and
 * its scalars in spmv/steps/NAME_steps.h. bicgstab.c starts a method, judges its answers, restarts and changes it. */
#ifndef WR_METHOD_H
#define WR_METHOD_H

#include "solvers/bicgstab.h"
#include "solvers/iteration.h"
#include "spmv/steps/solve_steps.h"

struct wr_method {
  const char *name;    /* what --method takes   */
  const char *summary; /* one line              */
  const char *source;  /* paper, section        */
  int scalars;         /* of its bank; the first ones are a wr_solve_scalars                  */
  int phases;          /* iterations after which its buffers are where they were (iteration.h) */
  const wr_method *next; /* goes on where this one gets no further, unless a method was asked for; NULL: none */
  int knows_noise;     /* 1: its steps tell slow progress from a residual that is rounding; 0: a stall ends a start   */
  int fits_or_not;     /* 1: a breakdown says that the matrix is not one for this method, and restarts do not help    */
  int hashes;          /* 1: its operations name vectors of hashes by s->seed, so a loop is recorded for one seed     */
  const char *const *breakdowns; /* sentences by wr_solve_scalars.breakdown, from number 1 on   */
  /* By s->l, precond, weight and separate alone: the costs of an iteration (stored stays 0); whether it uses own[index]. */
  wr_method_costs (*costs)(const wr_bicgstab *s);
  int (*uses)(const wr_bicgstab *s, int index);
  /* A start from s->r: sets own vectors and scalars. common: as they are in the bank already. seed 0: the usual auxiliary
   * vectors; else others, drawn with this seed, since the last ones led to a breakdown; with `hashes` it is s->seed. */
  wr_status (*begin)(wr_bicgstab *s, const wr_solve_scalars *common, int seed);
  wr_status (*step)(void *solver, int phase); /* requests one iteration of the solver, a wr_bicgstab */
  /* left[WR_MAX_LEFT] := the vectors of s->own that the iteration of this phase needs from the one before */
  void (*left)(wr_bicgstab *s, int phase, const wr_vec **left);
};

/* In the table of a method: its functions, which have the names of these members in each file. */
#define WR_METHOD_FUNCTIONS .costs = costs, .uses = uses, .begin = begin, .step = step, .left = left

/* A scalar of the bank by its name in wr_solve_scalars, or in the struct of a method. */
#define WR_SOLVE_SCALAR(s, member) ((wr_scalar){&(s)->bank, WR_SCALAR_INDEX(wr_solve_scalars, member)})
#define WR_METHOD_SCALAR(s, scalars, member) ((wr_scalar){&(s)->bank, WR_SCALAR_INDEX(scalars, member)})

/* The scalars with which s->method starts at a residual of this norm, counters and limits being 0. may_change: another method
 * may go on where this one gets no further. */
wr_solve_scalars wr_method_scalars(const wr_bicgstab *s, double norm, double target, int may_change, int64_t every);

/* Iterations for a method of those that are left: half of them where another one, or another M, may follow, unless they are
 * few. Conjugate gradients have all where no other M may follow: where they gain slowly, the other methods gain less by a
 * multiply. */
double wr_method_share(const wr_method *method, int may_change, int may_change_precond, double left);

/* 0: rounding alone keeps the residual of the guess, of this norm, above the bound, so that a solve begins with 0 instead. */
int wr_bicgstab_trusts_guess(const wr_bicgstab *s, double norm, double bound);

/* Before a loop is recorded: allocates the vectors of s->own that s->method uses and that are not allocated yet. */
wr_status wr_method_place(wr_bicgstab *s);

/* v := hashes of index and seed (wr_hash_shadow), through the host. */
wr_status wr_method_hash(wr_bicgstab *s, wr_vec *v, int64_t seed);

/* to := from */
wr_status wr_method_copy(wr_bicgstab *s, wr_vec *to, const wr_vec *from);

/* Adds a vector with a coefficient to output o of f; the same vector again has one place among the inputs. */
void wr_method_add_term(wr_fused *f, int o, const wr_vec *v, double factor, wr_scalar scalar);

/* Where the rows of the system are scaled: adds to f the sum of the squares of r in the rows as given, r being an output. */
void wr_method_add_weighted(wr_bicgstab *s, wr_fused *f, const wr_vec *r, wr_scalar into);

/* *result := M^-1 from, in s->own[to]; without M `from` itself. */
wr_status wr_method_precondition(wr_bicgstab *s, const wr_vec *from, int to, const wr_vec **result);

/* x := x + d, the iterate, and d := 0: before a start and at the end. */
wr_status wr_method_settle_iterate(wr_bicgstab *s);

/* The last operations of an iteration: snapshot := the iterate, if one is due and all of it is finite. Uses t. */
wr_status wr_method_snapshot(wr_bicgstab *s);

#endif
