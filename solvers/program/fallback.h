/* --fallback: what follows a solve that has ended without meeting the tolerance. */
#ifndef WR_FALLBACK_H
#define WR_FALLBACK_H

#include "solvers/program/settings.h"
#include "solvers/solver.h"
#include "solvers/system.h"

/* Does what --fallback asks for if result says that the iterations have failed. *x: NULL, or [n] with an answer that takes the
 * place of the iterate, for wr_free: one that meets the tolerance, or has the smaller residual. result: its outcome, measure,
 * note and `direct` are then those of this answer. A factorisation that fails is no error: result->direct says why, and the
 * iterate stays the answer. */
wr_status wr_fallback(const wr_settings *settings, const wr_system *system, const wr_monitor *monitor,
                      wr_result *result, double **x);

#endif
