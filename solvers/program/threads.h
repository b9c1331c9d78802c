/* How many CPU threads a program may use. OpenMP's runtime ends the process when it cannot create a thread, so the number is
 * settled, and tried, before the first parallel loop. */
#ifndef WR_THREADS_H
#define WR_THREADS_H

#include <stdint.h>

enum { WR_THREADS_REASON = 160 };

/* Sets the number of threads of OpenMP's loops to *threads (0: to wr_default_threads), or to fewer: at most 64, or four a
 * processor where that is more; at most so many that their stacks fit into a quarter of the address space that is left
 * (ulimit -v); so many as the system lets this process create; and by default so many as start soon
 * (wr_default_threads_try). Returns 1 if they are fewer: reason then says so in a
 * sentence, and *threads is their number, unless it was 0. */
int wr_threads_settle(int64_t *threads, char reason[WR_THREADS_REASON]);

/* Threads of one of so many processes on this machine: its share of the processors, unless it is bound to some of them, or
 * OMP_NUM_THREADS is set. */
int64_t wr_threads_of_neighbour(int neighbours);

#endif
