/* Runs one problem with several backends, each on the same matrix and, on a device, on the same uploaded arrays. */
#ifndef WR_COMPARE_H
#define WR_COMPARE_H

#include <signal.h>

#include "solvers/api/choice.h"
#include "solvers/program/device_thread.h"
#include "solvers/program/program.h"
#include "spmv/parts/comm.h"

typedef struct wr_comparison {
  const wr_program *program;
  const wr_settings *settings;
  wr_problem_facts *facts;
  void *problem;
  wr_ledger *process;                       /* of the program: every run has its phases so far        */
  const volatile sig_atomic_t *interrupted;
  double deadline;                          /* of wr_clock: no iteration begins after it; 0: none     */
  wr_choice *choices;                       /* those of auto become what it finds                     */
  int count;
  int may_move;                             /* 1: a solve on the CPU may go over to a device by `later`   */
  wr_choice later;                          /* to be freed here; values NULL: there is none               */
  double opening, opening_took;             /* s that opening the device is expected to take, and took; 0: not known */
  wr_comm *comm;                            /* of the processes that run together; NULL: there is one     */
  int threads;                              /* of the CPU, for solving; 0: as many as it has          */
  wr_run *runs;                             /* [count], filled in                                     */
  wr_history *histories;                    /* [count] or NULL                                        */
  double *answer;                           /* of the first run that has one; [answer_n]              */
  int64_t answer_n;
  int64_t answer_columns;                   /* right-hand sides; answer_n is of all, one after the other */
  int answer_run;                           /* its number, -1: none                                   */
  double *iterate;                          /* with which a solve is to go on elsewhere; NULL: none      */
  wr_env env[2];                            /* by place: opened once                                  */
  wr_error env_error[2];                    /* why it does not open                                   */
  int env_tried[2];
  wr_ledger place_ledger[2];                /* opening a place and uploading the matrix there         */
  wr_device_thread device;                  /* opens the device and uploads rows while the program reads  */
  double bandwidth[2];                      /* read bandwidth, 0: not measured                        */
} wr_comparison;

/* Fills in runs. With may_move there is one, which begins on the CPU. While it iterates a device is opened, if one is not being
 * opened yet and the solve takes longer than expected; where it then saves time, the solve goes on there, or where the device
 * fails, again on the CPU. facts->place says so. An error of one backend is in its run; what is returned concerns all
 * (WR_ENOMEM on the host). */
wr_status wr_compare(wr_comparison *c);
void wr_comparison_close(wr_comparison *c);

/* Starts a thread that opens the device, which takes 0.2 s, and waits for it at most so many seconds. WR_OK: it is open, or
 * still being opened. From then on env[WR_CUDA] belongs to that thread, until one of the next two functions waits for it. A
 * build without backends for a device returns WR_EUNAVAILABLE at once. */
wr_status wr_comparison_begin_device(wr_comparison *c, double most);

/* 1 while the device is being opened. */
int wr_comparison_is_opening(const wr_comparison *c);

/* The seconds for which that should go on, by what is expected of it; where it takes longer already, a tenth of that longer. */
double wr_comparison_opening_left(const wr_comparison *c);

/* The device, opened, if all backends that will run do so there; else NULL. *reads_rows := 1 if one of them reads the matrix on
 * the host. Waits until the device is open. */
wr_env *wr_comparison_only_device(wr_comparison *c, int *reads_rows);

/* The feed for reading the matrix: rows that are final are uploaded while later ones are made, if wr_program.uploads_input says
 * so. NULL: no device is being opened. */
const wr_csr_feed *wr_comparison_feed(wr_comparison *c);

/* Opens a place, or waits until it is open. Later calls return the same result. */
wr_status wr_comparison_open_place(wr_comparison *c, wr_place place);

#endif
