/* Parts that are threads of one process, for tests of what runs in parts without MPI. */
#ifndef WR_THREAD_COMM_H
#define WR_THREAD_COMM_H

#include <pthread.h>
#include <string.h>

#include "spmv/parts/comm.h"

enum { MOST_PARTS = 8 };

typedef struct thread_parts {
  pthread_barrier_t barrier;
  const void *mine[MOST_PARTS];
  const wr_parcel *send[MOST_PARTS], *receive[MOST_PARTS];
  wr_comm comm[MOST_PARTS];
  void (*work)(wr_comm *comm, void *context);
  void *context;
} thread_parts;

static wr_status gather_threads(wr_comm *comm, const char *what, const void *mine, int64_t bytes, void *all) {
  thread_parts *parts = comm->state;
  (void)what;
  parts->mine[comm->rank] = mine;
  pthread_barrier_wait(&parts->barrier);
  for (int r = 0; r < comm->size; r++) memcpy((char *)all + r * bytes, parts->mine[r], (size_t)bytes);
  pthread_barrier_wait(&parts->barrier);
  return WR_OK;
}

static wr_status begin_threads(wr_comm *comm, const wr_parcel *send, const wr_parcel *receive) {
  thread_parts *parts = comm->state;
  parts->send[comm->rank] = send, parts->receive[comm->rank] = receive;
  return WR_OK;
}

static wr_status end_threads(wr_comm *comm, const char *what) {
  thread_parts *parts = comm->state;
  const wr_parcel *receive = parts->receive[comm->rank];
  wr_status status = WR_OK;
  pthread_barrier_wait(&parts->barrier);
  for (int r = 0; r < comm->size; r++) {
    const wr_parcel *from = &parts->send[r][comm->rank];
    if (from->bytes != receive[r].bytes) status = wr_fail(WR_EINTERNAL, "%s: lengths differ", what);
    if (from->bytes == receive[r].bytes && from->bytes > 0) memcpy(receive[r].data, from->data, (size_t)from->bytes);
  }
  pthread_barrier_wait(&parts->barrier);
  return status;
}

static const wr_comm_ops thread_ops = {
    .name = "threads", .gather = gather_threads, .begin = begin_threads, .end = end_threads};

static void *run_part(void *of) {
  wr_comm *comm = of;
  thread_parts *parts = comm->state;
  parts->work(comm, parts->context);
  return NULL;
}

/* work(comm, context) in each of so many parts at a time. */
static inline void in_parts(int size, void (*work)(wr_comm *comm, void *context), void *context) {
  thread_parts parts = {.work = work, .context = context};
  pthread_t threads[MOST_PARTS];
  pthread_barrier_init(&parts.barrier, NULL, (unsigned)size);
  for (int r = 0; r < size; r++) {
    parts.comm[r] = (wr_comm){.ops = &thread_ops, .rank = r, .size = size, .neighbours = size, .state = &parts};
    pthread_create(&threads[r], NULL, run_part, &parts.comm[r]);
  }
  for (int r = 0; r < size; r++) pthread_join(threads[r], NULL);
  pthread_barrier_destroy(&parts.barrier);
}

#endif
