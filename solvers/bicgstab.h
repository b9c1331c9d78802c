/* Linear systems by Krylov subspace methods (krylov/method.h), right preconditioned, with all scalars where the vectors are. */
#ifndef WR_BICGSTAB_H
#define WR_BICGSTAB_H

#include "solvers/precond.h"
#include "solvers/residual.h"
#include "solvers/solver.h"
#include "solvers/system.h"
#include "spmv/spmv.h"

/* A method, and all of them, in the order in which --method lists them. */
typedef struct wr_method wr_method;
extern const wr_method wr_method_bicgstab;  /* one declaration each: so the names to export are found */
extern const wr_method wr_method_bicgstabl;
extern const wr_method wr_method_idr;
extern const wr_method wr_method_cg;
int wr_method_count(void);
const wr_method *wr_method_at(int index);           /* NULL: there is none of that index */
const char *wr_method_name(const wr_method *method); /* "" for NULL */

/* Of an iteration: multiplies, and vectors that it moves besides them; and vectors that a solver has allocated. */
typedef struct wr_method_costs {
  int multiplies, moved, stored;
} wr_method_costs;

/* For estimates before a solve: without a preconditioner and scaled rows. l as in wr_bicgstab_options; method NULL: BiCGSTAB.
 * All 0 for an l that is none. */
wr_method_costs wr_method_costs_of(const wr_method *method, int l);

/* What is known of a solve when it asks whether another preconditioner is to go on. Norms are of residuals, scaled as b is. */
typedef struct wr_bicgstab_review {
  int64_t multiplies;    /* by the iterations so far                                                              */
  double first, least;   /* norms: of the first residual, and the least since                                     */
  double target;         /* the norm to be reached                                                                */
  int fails;             /* 1: the solve is about to end without converging                                       */
  wr_precond *precond;   /* M now; the function may set another one, which must outlive the solve, or NULL: M = 1 */
  const wr_method *method; /* NULL; with another M the function may set which method goes on. Not read if          */
                           /* options.method is set                                                               */
  int64_t next;          /* -1: no further review before the solve fails; the function may set multiplies from now on */
  char cause[80];        /* "": the function may say why M changes, a clause for result.changes                    */
} wr_bicgstab_review;

typedef struct wr_bicgstab_options {
  const wr_method *method; /* NULL: chosen by wr_bicgstab_solve, which also changes it where progress stops */
  int l;               /* of BiCGSTAB(l), 1 to WR_MOST_L; 0: WR_BICGSTAB_L              */
  double tolerance;    /* stop at ||r|| <= max(tolerance * ||b||, wr_system.absolute, which is atol); 0: at atol alone */
  int64_t iterations;  /* at most; an iteration has the multiplies of its method        */
  int64_t check_every; /* iterations between two checks of the residual; 0: see wr_iteration_every */
  int no_graph;        /* 1: the host requests every iteration                          */
  int no_resident;     /* 1: a device repeats them as a graph, also for small systems   */
  int by_backward;     /* 1: stop where the largest |b - A x| / (|A| |x| + |b|) of a row, the componentwise backward error */
                       /* (Oettli and Prager 1964), is at most tolerance, or ||b - A x|| at most the system's absolute     */
  /* OPTIONAL: asked after about first_review multiplies, when it says, and, at most three times, where the solve fails, or
   * where the last method has used half of the iterations that it had. With another M the solve goes on from the best iterate.
   * An error of it ends the solve. */
  wr_status (*review)(void *context, wr_bicgstab_review *review);
  void *review_context;
  int64_t first_review;  /* 0: only where the solve fails */
} wr_bicgstab_options;

/* Where a solve goes on that has begun elsewhere (lockstep.h). */
typedef struct wr_bicgstab_begun {
  wr_vec d;            /* [n] added to the guess; not allocated: 0, and the solve begins here */
  int64_t iterations, multiplies; /* taken so far                                             */
} wr_bicgstab_begun;

enum { WR_METHOD_VECTORS = 16 };

typedef struct wr_bicgstab {
  const wr_system *system;
  wr_plan *plan; /* of system->matrix */
  wr_env *env;
  const wr_method *method;   /* that is used now                                                                  */
  int l;                     /* of BiCGSTAB(l)                                                                    */
  int symmetric;             /* 1: the matrix is symmetric with a positive diagonal                               */
  uint64_t symmetric_for;    /* with which values of the plan (wr_plan_matrix) that was found; 0: not found out yet */
  wr_vec b, r, t;            /* t: b - A x of a start, and between iterations free for snapshots                  */
  wr_vec weight;             /* not allocated: 1. Factors from r to the residual of the rows as given             */
  int weight_exponent;       /* the system's rhs_exponent for which these hold; INT_MIN: none have been uploaded  */
  wr_vec own[WR_METHOD_VECTORS]; /* of the method, numbered in its file                                           */
  int seed;                  /* IDR: of the hashed vectors p_i                                                    */
  int separate;              /* BiCGSTAB and CG: 1: p and s have vectors of their own, since a resident loop      */
                             /* computes them within the products that follow; 0: they overwrite their inputs     */
  wr_precond *precond;       /* M, or NULL: M = 1 (a diagonal M may be part of system->matrix instead)            */
  wr_vec x, d;               /* the iterate is x + d: x of the last start, d the sum of updates since, so that    */
                             /* rounding them costs digits of d alone, as refinements need                        */
  wr_vec snapshot;           /* the iterate of the least residual so far                                         */
  wr_vec bank;               /* scalars */
  double *room;              /* [n] on the host, for a shadow that is not r */
  /* The iterate is base + x + d once the solve was refined, and b on the device is the residual of base. */
  double *base, *rhs;        /* [n] on the host; NULL: no solve was refined yet. rhs: what was uploaded as b              */
  int refined;               /* 0: base counts as 0 and rhs as the system's b                                             */
  double *u;                 /* [n] on the host: base + x when its residual was computed last                             */
  double *residual;          /* [n] on the host: the residual of u, if the host computed it; NULL: it never did           */
  wr_residual found;         /* that residual's norm                                                                      */
  int on_host;               /* 1: found and residual are those of u; 0: the device's residual was accurate enough        */
  int64_t beyond, below;     /* the first element of the answer that is not finite, and the first below the least normal  */
                             /* number of f64; -1: none                                                                   */
  int from_zero;             /* 1: the guess was replaced by 0                                                            */
  wr_bicgstab_begun begun;   /* where the next solves go on; close releases its vector                                    */
  struct wr_iteration *loop;
  /* OPTIONAL, and for IDR alone: y := A x in place of the plan's apply, y_next being as in wr_apply. */
  wr_status (*multiply)(void *context, const wr_vec *x, wr_vec *y, wr_vec *y_next);
  void *context;
} wr_bicgstab;

/* Allocates the vectors and uploads b. plan: of system->matrix, which is another matrix than A where A was scaled. */
wr_status wr_bicgstab_open(wr_bicgstab *s, const wr_system *system, wr_plan *plan, wr_env *env);
void wr_bicgstab_close(wr_bicgstab *s); /* a zeroed one is fine */

/* From now on solves are right preconditioned by M = precond, of A in the type and at the place of the solve; NULL: M = 1.
 * precond must outlive the solves. Errors: WR_EUSAGE for another size, WR_ENOMEM. */
wr_status wr_bicgstab_precondition(wr_bicgstab *s, wr_precond *precond);

/* Iterates from the system's guess, or from 0 if rounding alone keeps the residual of the guess above the tolerance, which the
 * note then says. result->outcome is WR_CONVERGED if and only if ||b - A x|| <= max(tolerance ||b||, atol), A
 * and b being as given and x what wr_system_unscale makes of the download: the host computes that residual wherever the
 * rounding of the device's could matter. Where it is too large, it becomes the right-hand side of a correction (Wilkinson
 * 1963), so that storage in f32 bounds the accuracy of a correction and not that of x. With by_backward the host computes the
 * backward error where the residual meets that bound. If it is above tolerance, the solve goes on with corrections to smaller
 * residuals (Skeel 1980), as long as one of the two is halved. Not converging and breaking down are in the result; the iterate
 * is then the best one seen. Errors: WR_ENOMEM, WR_EDEVICE and the like. */
wr_status wr_bicgstab_solve(wr_bicgstab *s, const wr_bicgstab_options *options, const wr_monitor *monitor,
                            wr_result *result);

/* `count` multiplies as in the iterations, for their times; after a solve, once its answer is not needed. Asynchronous. */
wr_status wr_bicgstab_multiply(wr_bicgstab *s, int count);

/* u[n]: the solver's unknown (wr_system_unscale gives x); q[n]: the residual b - A u of the scaled system as the device
 * computed it at the end. Either may be NULL. Waits. */
wr_status wr_bicgstab_download(wr_bicgstab *s, double *u, double *q);

/* The last product of a solve, for checking: q = b - A u as the device computed it, in the solver's unknowns, all [n]. After
 * refinements u is a correction, and b the residual that it is to remove. Waits. */
wr_status wr_bicgstab_last_product(wr_bicgstab *s, double *u, double *b, double *q);

#endif
