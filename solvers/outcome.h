/* How a solve ended. */
#ifndef WR_OUTCOME_H
#define WR_OUTCOME_H

#include "config/errors.h"

WR_C_BEGIN

/* Not converging is a result, not an error. NOT_SOLVED: the call has failed, as its status says. name, title, exit code */
#define WR_OUTCOME_LIST(X)                   \
  X(CONVERGED, "converged", 0)               \
  X(MAX_ITERATIONS, "max-iterations", 2)     \
  X(TIME_LIMIT, "time-limit", 2)             \
  X(STAGNATED, "stagnated", 2)               \
  X(BREAKDOWN, "breakdown", 5)               \
  X(NON_FINITE, "non-finite", 5)             \
  X(INTERRUPTED, "interrupted", 130)         \
  X(NOT_SOLVED, "not-solved", 7)

typedef enum wr_outcome {
#define WR_OUTCOME_ENUM(name, title, exit_code) WR_##name,
  WR_OUTCOME_LIST(WR_OUTCOME_ENUM)
#undef WR_OUTCOME_ENUM
} wr_outcome;

/* Of a value that is not in the list: "unknown outcome", and the exit code of WR_EINTERNAL. */
const char *wr_outcome_title(wr_outcome outcome);
int wr_outcome_exit_code(wr_outcome outcome);

WR_C_END
#endif
