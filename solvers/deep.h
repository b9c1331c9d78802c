/* The library from inside: each header needs those before it. After installation this is <windrow/deep.h>, with the headers
 * named here beside it. Backends, plans, vectors and solvers of one's own are made with these. They are UNSTABLE: any version
 * may change them. What stays is in windrow.h, which suffices for solving, ranking and multiplying.
 *
 *   errors.h, status.h     a wr_status and a sentence; TRY
 *   version.h    WR_VERSION, wr_version
 *   memory.h     wr_alloc, for arrays that the library takes over and frees
 *   csr.h        matrices: rows, or entries in any order that become rows
 *   vec.h, scalar.h, env.h    where to compute (wr_env), vectors and scalars there, and the operations with them
 *   step.h, loop.h    functions of scalars at that place, and iterations that a device repeats by itself
 *   option.h     tables of options; a backend's knobs are rows of one
 *   watch.h      by which a program ends a long preparation
 *   apply.h, spmv.h    plans: y = A x by any backend, also one of your own
 *   solver.h     the monitor and the result of a solve
 *   precond.h    preconditioners
 *   scaling.h, system.h, residual.h, bicgstab.h    linear systems, their scaling, the residual of an answer, and a solver
 *   direct.h     a direct solver, for systems that no iterative one solves
 *   graph.h, pagerank.h, rank.h     graphs; rank.h has all methods, pagerank.h those that iterate ranks
 *   rank_sets.h  PageRank for many teleport sets at once
 *   scores.h     a bound on the error of scores by any tool
 *
 * examples/own_backend.c and new_values.c use them. */
#ifndef WR_DEEP_H
#define WR_DEEP_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config/errors.h"
#include "config/status.h"
#include "config/version.h"
#include "config/memory.h"
#include "config/option.h"
#include "config/watch.h"
#include "spmv/matrix/csr.h"
#include "spmv/steps/step.h"
#include "spmv/device/scalar.h"
#include "spmv/device/vec.h"
#include "spmv/device/env.h"
#include "spmv/loop/loop.h"
#include "spmv/device/apply.h"
#include "spmv/spmv.h"

WR_C_BEGIN

#include "solvers/outcome.h"
#include "solvers/solver.h"
#include "solvers/precond.h"
#include "solvers/scaling/scaling.h"
#include "solvers/system.h"
#include "solvers/residual.h"
#include "solvers/bicgstab.h"
#include "solvers/direct.h"
#include "solvers/graph.h"
#include "solvers/pagerank.h"
#include "solvers/rank/rank.h"
#include "solvers/rank/rank_sets.h"
#include "solvers/scores.h"

WR_C_END
#endif
