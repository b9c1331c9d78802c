/* Steps: functions of a few scalars that run at the place of the vectors, so that a solver does not wait for the device
 * between operations. The scalars of a method are in a bank, an f64 vector with the members of a struct as its elements. A
 * step is written once, in plain C (bicgstab_steps.h), and compiled for the host, for kernels and for tests/simt. */
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

/* What a step requests beside changing its scalars. All members are 0 before it runs. */
typedef struct wr_step_request {
  int logs;        /* 1: log[at] := entry[0] and log[at + 1] := entry[1], unless beyond the log's end */
  double at, entry[2];
  int decides;     /* 1: the step is at the end of a part of a loop, ... */
  int goes_on;     /* ... and the loop goes on (1) or ends (0)            */
} wr_step_request;

typedef struct wr_step {
  const char *name;
  int scalars;     /* of its bank, at most WR_MAX_SCALARS */
  void (*run)(double *scalars, wr_step_request *request); /* on the host */
  unsigned bit;    /* of steps.h: kernels that add up sums can run this step; 0: it needs a separate kernel, ... */
  unsigned where;  /* which of these kernels                                                                    */
  wr_status (*launch)(struct wr_env *env, const struct wr_then *then); /* ... which this launches (kernel/steps.cuh);     */
                                                                       /* NULL: the step runs on the host alone           */
} wr_step;

enum { WR_MAX_SCALARS = 256 };

/* The index of a scalar in its bank, and the size of a bank, from the struct of a method's scalars. */
#define WR_SCALAR_INDEX(scalars, member) ((int)(offsetof(scalars, member) / sizeof(double)))
#define WR_SCALAR_COUNT(scalars) ((int)(sizeof(scalars) / sizeof(double)))

#ifdef __cplusplus
}
#endif
#endif
