#include "solvers/program/threads.h"

#include <malloc.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/memory.h"
#include "config/memory_limits.h"
#include "spmv/device/processors.h"

enum { MOST_ANYWHERE = 64, MOST_A_PROCESSOR = 4 };

static void *wait_for_end(void *gate) {
  pthread_mutex_lock(gate);
  pthread_mutex_unlock(gate);
  return NULL;
}

/* Creates up to count threads, which exist at the same time, and ends them. Returns how many could be created. */
static int try_to_create(int count, int64_t stack) {
  pthread_t *threads;
  pthread_attr_t attributes;
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  int created = 0;
  if (wr_alloc(&threads, count, sizeof *threads, "threads") != WR_OK) return 0;
  if (pthread_attr_init(&attributes) == 0) {
    (void)pthread_attr_setstacksize(&attributes, (size_t)stack); /* a stack that is too small is refused, as in OpenMP */
    pthread_mutex_lock(&gate);
    while (created < count && pthread_create(&threads[created], &attributes, wait_for_end, &gate) == 0) created++;
    pthread_mutex_unlock(&gate);
    for (int k = 0; k < created; k++) pthread_join(threads[k], NULL);
    pthread_attr_destroy(&attributes);
  }
  wr_free(threads);
  return created;
}

static int smaller(int a, int64_t b) { return a < b ? a : (int)b; }

/* Under a limit of the address space one thread's allocations must not reserve 64 MiB for each, as the C library does to keep
 * threads apart. */
static void share_the_heap(void) {
#ifdef M_ARENA_MAX
  mallopt(M_ARENA_MAX, 1);
#endif
}

int wr_threads_settle(int64_t *threads, char reason[WR_THREADS_REASON]) {
  int wanted = *threads > 0 ? (int)*threads : omp_get_max_threads(), processors = omp_get_num_procs();
  int most = processors > MOST_ANYWHERE / MOST_A_PROCESSOR ? MOST_A_PROCESSOR * processors : MOST_ANYWHERE;
  int count = smaller(*threads > 0 ? wanted : wr_default_threads(), most);
  int64_t space = wr_address_space_left(), stack = wr_thread_stack_bytes();
  reason[0] = '\0';
  if (most < wanted)
    snprintf(reason, WR_THREADS_REASON, "%d threads instead of %d: more do not help on %d processor%s", count, wanted,
             processors, processors == 1 ? "" : "s");
  if (space < INT64_MAX) share_the_heap();
  int fit = smaller(count, 1 + space / 4 / stack);
  if (fit < count)
    snprintf(
        reason, WR_THREADS_REASON,
        "%d thread%s instead of %d: the limit of the address space (ulimit -v) leaves no room for the stacks of more",
        fit, fit == 1 ? "" : "s", wanted);
  count = fit;
  int created = count > 1 ? try_to_create(count - 1, stack) : 0;
  if (created < count - 1) { /* the rest is left for a device's driver and other programs of the user */
    count = 1 + created * 3 / 4;
    snprintf(reason, WR_THREADS_REASON, "%d thread%s instead of %d: the system does not let this process create more",
             count, count == 1 ? "" : "s", wanted);
  }
  if (*threads == 0 && reason[0] == '\0' && wr_default_threads_try()) {
    snprintf(reason, WR_THREADS_REASON,
             "%d threads instead of %d, which take long to start here: --threads says how many", wr_default_threads(),
             count);
    count = wr_default_threads();
  }
  if (count != omp_get_max_threads()) omp_set_num_threads(count);
  if (*threads > 0) *threads = count;
  return reason[0] != '\0';
}

int64_t wr_threads_of_neighbour(int neighbours) {
  int64_t all = sysconf(_SC_NPROCESSORS_ONLN);
  if (getenv("OMP_NUM_THREADS") != NULL || omp_get_num_procs() < all) return wr_default_threads();
  return all / neighbours > 1 ? all / neighbours : 1;
}
