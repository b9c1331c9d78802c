/* Where the time went. Every moment since the process began belongs to one phase: wall clock, exclusive. Entering a
 * phase ends the one before. The time that the process used before main is counted to init. */
#ifndef WR_LEDGER_H
#define WR_LEDGER_H

#include <stdint.h>

#include "config/status.h"

/* name, title, part of end to end. The order is the order of the reports. */
#define WR_PHASE_LIST(X)                                                                           \
  X(INIT, "init", 1)            /* process start, context, modules, library handles              */ \
  X(READ, "read", 1)            /* file to triplets, or generating                               */ \
  X(ASSEMBLE, "assemble", 1)    /* triplets to rows                                              */ \
  X(TRANSFORM, "transform", 1)  /* transpose, degrees, right-hand side; on the CPU a solve's vectors */ \
  X(UPLOAD, "upload", 1)        /* matrix and vectors to a device                                */ \
  X(PREPARE, "prepare", 1)      /* the backend's format, tuning included                         */ \
  X(SOLVE, "solve", 1)          /* the iteration; its applies are told apart by wr_plan_times    */ \
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
  double hidden[WR_PHASE_COUNT]; /* work done behind another phase, for the reader's information; in no total */
  int64_t peak[WR_PHASE_COUNT];  /* bytes: the most host memory of the process until the phase ended last; 0: it did not */
  wr_phase phase;                /* the current one                                                           */
  double since;                  /* when it began (stopped: when it ended), seconds of the monotonic clock    */
  int running;
} wr_ledger;

/* The program's own: begins in init with the processor time used before main (loading libraries). */
void wr_ledger_begin_process(wr_ledger *ledger);

/* A zeroed ledger that begins now in phase; for one backend's share. */
void wr_ledger_begin(wr_ledger *ledger, wr_phase phase);

void wr_ledger_enter(wr_ledger *ledger, wr_phase phase); /* ends the current phase, begins this one  */
void wr_ledger_stop(wr_ledger *ledger);                  /* ends the current phase; enter begins anew */

/* Adds what part has booked, hidden work too. A running part's current phase is booked when it ends: stop
 * part before. */
void wr_ledger_add(wr_ledger *sum, const wr_ledger *part);

double wr_ledger_end_to_end(const wr_ledger *ledger);       /* all counted phases              */
double wr_ledger_to_verified(const wr_ledger *ledger);      /* and verify                      */
const char *wr_phase_title(wr_phase phase);
int wr_phase_counted(wr_phase phase);
int64_t wr_ledger_peak(const wr_ledger *ledger, wr_phase last); /* until the phases up to `last` had ended; 0: unknown */
double wr_clock(void); /* seconds of the monotonic clock */

#endif
