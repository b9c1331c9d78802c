/* A thread that opens a device, which takes a fifth of a second, and then brings rows there while later ones are still being
 * read and assembled. */
#ifndef WR_OPENER_H
#define WR_OPENER_H

#include <pthread.h>
#include <stdatomic.h>

#include "solvers/program/handover.h"
#include "spmv/matrix/csr_upload.h"
#include "spmv/device/vec.h"

typedef struct wr_opener {
  int running;           /* the thread is there and alone uses env, and what is below up to rows */
  pthread_t thread;
  wr_env *env;
  wr_error error;        /* of opening it                                   */
  double open_seconds;   /* that opening took                               */
  double upload_seconds; /* that bringing rows there took                   */
  wr_csr_upload *upload; /* of matrix `number`; NULL: none, or it failed    */
  int64_t number;
  atomic_int opened;     /* 1: env is open, or has failed: error is final */
  wr_handover rows;
} wr_opener;

/* Begins to open env, whose settings are filled in. wants(context, A) is asked by the thread that makes a matrix whether the
 * device will be given that very one. 0: there is no such thread, and nothing has happened. */
int wr_opener_start(wr_opener *o, wr_env *env, int (*wants)(void *context, const wr_csr *A), void *context);

/* Waits until env is open or has failed, for so many seconds at most (INFINITY: as long as it takes); 1: it is. */
int wr_opener_wait(wr_opener *o, double most);

/* Ends the thread, which waits for the device to open and for the piece that is on its way. Does nothing if there is none. */
void wr_opener_stop(wr_opener *o);

/* After stop: brings the rest of a complete matrix to the device, with all threads, so that wr_csr_device_view finds it there.
 * What was not complete, or has failed, is dropped: it is made anew and tells the reason then. */
void wr_opener_finish(wr_opener *o);

/* The same without a view, stopping the thread if it runs; to be called before env is closed. A zeroed one is fine. */
void wr_opener_close(wr_opener *o);

#endif
