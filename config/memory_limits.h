/* How much memory this process can still have. Linux grants more than there is, and ends the process later, when it touches
 * the memory; so large requests are compared with what is available before they are made. */
#ifndef WR_MEMORY_LIMITS_H
#define WR_MEMORY_LIMITS_H

#include <stdint.h>

#include "config/status.h"

typedef struct wr_memory_room {
  int64_t bytes;     /* INT64_MAX: nothing limits them, or the system does not say */
  const char *limit; /* what sets it: "the machine", "ulimit -v"                   */
} wr_memory_room;

/* What can be had besides all that was allocated so far, touched or not: the least of MemAvailable, of what the memory
 * control groups of the process leave (file cache counts as free), both with free swap space added, and of the limits of the
 * address space and of data, less the stacks of OpenMP's threads. root: where /proc and /sys are looked for, "" but in
 * tests. */
wr_memory_room wr_memory_available(const char *root);

/* WR_ENOMEM, with both sizes, if `bytes` are more than is available: "out of memory: 17.2 GB asked for WHAT; 9.1 GB are
 * available (the machine)". */
wr_status wr_memory_check(int64_t bytes, const char *what);

/* The same for a block that is about to be allocated; small ones are not worth the tenth of a millisecond that it takes. */
wr_status wr_memory_check_block(int64_t bytes, const char *what);

/* Bytes of address space that the limits (ulimit -v, ulimit -d) leave; INT64_MAX: there is none. */
int64_t wr_address_space_left(void);

/* Bytes of the stack of each of OpenMP's threads: OMP_STACKSIZE or the system's default. */
int64_t wr_thread_stack_bytes(void);

#endif
