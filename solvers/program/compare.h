/* Runs one problem with several backends, each on the same matrix and, on a device, on the same uploaded arrays. */
#ifndef WR_COMPARE_H
#define WR_COMPARE_H

#include <signal.h>

#include "solvers/program/choice.h"
#include "solvers/program/device_thread.h"
#include "solvers/program/program.h"

typedef struct wr_comparison {
  const wr_program *program;
  const wr_settings *settings;
  wr_problem_facts *facts;
  void *problem;
  wr_ledger *process;                       /* of the program: its phases so far are every run's      */
  const volatile sig_atomic_t *interrupted;
  const wr_choice *choices;
  int count;
  int threads;                              /* of the CPU, for solving; 0: as many as it has          */
  wr_run *runs;                             /* [count], filled in                                     */
  wr_history *histories;                    /* [count] or NULL                                        */
  double *answer;                           /* of the first run that has one; [answer_n]              */
  int64_t answer_n;
  int answer_run;                           /* its number, -1: none                                   */
  wr_env env[2];                            /* by place: opened once                                  */
  wr_error env_error[2];                    /* why it does not open                                   */
  int env_tried[2];
  wr_ledger place_ledger[2];                /* opening a place and uploading the matrix there         */
  wr_device_thread device;                  /* opens the device and uploads rows while the program reads  */
  double bandwidth[2];                      /* read bandwidth, 0: not measured                        */
} wr_comparison;

/* Fills in runs. An error of one backend is in its run; what is returned concerns all (WR_ENOMEM on the host). */
wr_status wr_compare(wr_comparison *c);
void wr_comparison_close(wr_comparison *c);

/* Begins to open the device, which takes a fifth of a second, while something else is done. What is known after `most` seconds
 * is the answer; WR_OK: it is open, or that will turn out. From then on its env is another thread's, until one of the next two
 * asks for it. A build without backends for a device answers WR_EUNAVAILABLE at once. */
wr_status wr_comparison_begin_device(wr_comparison *c, double most);

/* The device, if all that run at all run there and it opens, which is waited for; else NULL. *reads_rows := whether one of them
 * reads the matrix on the host. */
wr_env *wr_comparison_only_device(wr_comparison *c, int *reads_rows);

/* For who reads the matrix meanwhile: its rows go to the device while later ones are still being made, if that very matrix
 * will be wanted there (wr_program.uploads_input). NULL: nothing is being opened. */
const wr_csr_feed *wr_comparison_feed(wr_comparison *c);

/* Opens a place once, or waits until it is; later calls repeat the answer. */
wr_status wr_comparison_open_place(wr_comparison *c, wr_place place);

#endif
