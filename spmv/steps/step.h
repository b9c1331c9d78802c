/* Steps: functions of a few scalars that run where the vectors are, so that a solver on a device waits for nothing between its
 * operations. The scalars of a method lie in a bank, an f64 vector with the members of a struct one after the other. A step is
 * written once, in plain C (bicgstab_steps.h), and compiled for the host, for the kernels and for tests/simt. */
#ifndef WR_STEP_H
#define WR_STEP_H

#include <stddef.h>

#include "config/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct wr_env;
struct wr_vec;
struct wr_then;

/* What a step asks for beside changing its scalars. All members are 0 before it runs. */
typedef struct wr_step_request {
  int logs;        /* 1: entry[0] goes to log[at] and entry[1] to log[at + 1], as far as the log has room */
  double at, entry[2];
  int decides;     /* 1: the step is at the end of a part of a loop, ... */
  int goes_on;     /* ... and the loop goes on (1) or ends (0)            */
} wr_step_request;

typedef struct wr_step {
  const char *name;
  int scalars;     /* that its bank has, at most WR_MAX_SCALARS */
  void (*run)(double *scalars, wr_step_request *request); /* on the host */
  unsigned bit;    /* of steps.h: kernels that add up sums run this step behind them; 0: it needs a kernel of its own, ... */
  wr_status (*launch)(struct wr_env *env, const struct wr_then *then); /* ... which this starts (kernel/steps.cuh), on a */
                                                                       /* device; NULL: the step runs on the host alone  */
} wr_step;

enum { WR_MAX_SCALARS = 256 };

/* A step with what it works on. It runs once the reductions of an operation are in the bank: as an operation of its own would,
 * but in the same kernel where that is possible, which on a small system is half of what either takes. step NULL: none. */
typedef struct wr_then {
  const wr_step *step;
  struct wr_vec *bank; /* [step->scalars] or more: the step has the first */
  struct wr_vec *log;  /* f64, of any length; NULL: entries are dropped   */
} wr_then;

/* The place of a scalar in its bank, and how many a bank has, from the struct of a method's scalars. */
#define WR_SCALAR_INDEX(scalars, member) ((int)(offsetof(scalars, member) / sizeof(double)))
#define WR_SCALAR_COUNT(scalars) ((int)(sizeof(scalars) / sizeof(double)))

#ifdef __cplusplus
}
#endif
#endif
