/* Wall-clock time by phase. Every moment since the process began belongs to exactly one phase, and entering a phase ends the
 * one before. The time that the process used before main counts as init. */
#ifndef WR_LEDGER_H
#define WR_LEDGER_H

#include <stdint.h>

#include "config/clock.h"
#include "config/status.h"

/* name, title, part of end to end. The order is the order of the reports. */
#define WR_PHASE_LIST(X)                                                                           \
  X(INIT, "init", 1)            /* process start, context, modules, library handles              */ \
  X(READ, "read", 1)            /* file to triplets, or generating                               */ \
  X(ASSEMBLE, "assemble", 1)    /* triplets to rows                                              */ \
  X(TRANSFORM, "transform", 1)  /* transpose, degrees, right-hand side; on the CPU a solve's vectors */ \
  X(UPLOAD, "upload", 1)        /* matrix and vectors to a device                                */ \
  X(PREPARE, "prepare", 1)      /* the backend's format, tuning included                         */ \
  X(SOLVE, "solve", 1)          /* the iteration; wr_plan_times has its applies                  */ \
  X(DOWNLOAD, "download", 1)    /* the answer back from a device                                 */ \
  X(WRITE, "write", 1)          /* files                                                         */ \
  X(VERIFY, "verify", 0)        /* checking the answer                                           */ \
  X(CALIBRATE, "calibrate", 0)  /* measuring bandwidth and the like: no part of any total        */

typedef enum wr_phase {
#define WR_PHASE_ENUM(name, title, counted) WR_PHASE_##name,
  WR_PHASE_LIST(WR_PHASE_ENUM)
#undef WR_PHASE_ENUM
  WR_PHASE_COUNT
} wr_phase;

typedef struct wr_ledger {
  double seconds[WR_PHASE_COUNT];
  double hidden[WR_PHASE_COUNT]; /* work done by another thread during other phases; in no total              */
  int64_t peak[WR_PHASE_COUNT];  /* bytes: peak host memory of the process when the phase ended last; 0: it never ended */
  wr_phase phase;                /* the current one                                                           */
  double since;                  /* when it began (stopped: when it ended), seconds of the monotonic clock    */
  int running;
} wr_ledger;

/* A ledger of the whole process, in phase init, with the processor time used before main (loading libraries). */
void wr_ledger_begin_process(wr_ledger *ledger);

/* An empty ledger that begins now in phase; for the phases of one backend. */
void wr_ledger_begin(wr_ledger *ledger, wr_phase phase);

void wr_ledger_enter(wr_ledger *ledger, wr_phase phase); /* ends the current phase, begins this one  */
void wr_ledger_stop(wr_ledger *ledger);                  /* ends the current phase; enter begins anew */

/* Adds the times of part, hidden ones too. The current phase of a running part is not booked yet: stop part before. */
void wr_ledger_add(wr_ledger *sum, const wr_ledger *part);

double wr_ledger_end_to_end(const wr_ledger *ledger);       /* all counted phases              */
double wr_ledger_to_verified(const wr_ledger *ledger);      /* and verify                      */
const char *wr_phase_title(wr_phase phase);
int wr_phase_counted(wr_phase phase);
int64_t wr_ledger_peak(const wr_ledger *ledger, wr_phase last); /* when the phases up to `last` had ended; 0: unknown */

#endif
