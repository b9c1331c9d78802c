/* A thread that opens a device, which takes 0.2 s, while the program reads its input, and then uploads the first rows of a
 * matrix while later ones are still being read and assembled. */
#ifndef WR_DEVICE_THREAD_H
#define WR_DEVICE_THREAD_H

#include <pthread.h>
#include <stdatomic.h>

#include "solvers/program/row_channel.h"
#include "spmv/matrix/csr_upload.h"
#include "spmv/device/env.h"

typedef struct wr_device_thread {
  int running;           /* 1: the thread runs, and it alone uses env and the members up to `number` */
  pthread_t thread;
  wr_env *env;
  wr_error error;        /* of opening env                                                           */
  double since;          /* when opening began, by wr_clock                                          */
  double open_seconds;   /* that opening took                                                        */
  double upload_seconds; /* that the uploads took                                                    */
  wr_csr_upload *upload; /* of matrix `number` of the channel; NULL: none, or it failed              */
  int64_t number;
  atomic_int opened;     /* 1: env is open, or has failed, and error and open_seconds are final          */
  wr_row_channel rows;
} wr_device_thread;

/* Starts the thread, which opens env, with its settings filled in. accepts(context, A) says in the thread that makes a matrix
 * whether its rows are to be uploaded. Returns 1; 0: there is no such thread, and nothing has happened. */
int wr_device_thread_start(wr_device_thread *t, wr_env *env, int (*accepts)(void *context, const wr_csr *A),
                           void *context);

/* Waits until env is open or has failed to, for so many seconds at most (INFINITY: without a limit). Returns 1 if it has. */
int wr_device_thread_wait(wr_device_thread *t, double most);

/* Ends the thread, once the device is open and the piece that it uploads is complete. Does nothing if it does not run. */
void wr_device_thread_stop(wr_device_thread *t);

/* After stop: uploads the rest of a complete matrix, with all threads; wr_csr_device_view finds it there. An upload that failed
 * or is of an incomplete matrix is dropped: wr_csr_device_view then uploads the matrix anew and reports the error. */
void wr_device_thread_finish(wr_device_thread *t);

/* Stops the thread and frees what it has, without uploading more. To be called before env is closed; a zeroed one is fine. */
void wr_device_thread_close(wr_device_thread *t);

#endif
