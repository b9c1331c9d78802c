/* Threads that share the pieces of a loop, for loops that run in every iteration. OpenMP's threads wait for each other at the
 * end of each loop; gcc's library polls for milliseconds. If another process occupies the processor of one thread, the others
 * use up their own time by polling, and a small problem took 30 to 100 times as long as on one thread. Here
 *
 *   - a thread without work polls for some microseconds (WR_TEAM_POLL_NS) and then sleeps;
 *   - the others do the pieces of a late thread, and do not wait for it. They wait only for a thread that has begun a piece;
 *   - results do not depend on which thread does a piece, since the cuts depend on sizes alone.
 *
 * What runs once (reading, assembling, building a format, verification) uses OpenMP. */
#ifndef WR_TEAM_H
#define WR_TEAM_H

#include <stdint.h>

#include "config/status.h"

enum {
  WR_TEAM_POLL_NS = 50000, /* of polling: longer than the scalar work between two loops, shorter than a time slice    */
  WR_TEAM_LEAST = 4        /* pieces: a loop of fewer, of some ten microseconds each, runs on the calling thread      */
};

typedef struct wr_team wr_team;
struct wr_env;

/* threads: 1 or more, the calling thread included. adapts 1: if the calling thread spends most of the time waiting for the
 * others, the team uses fewer threads, and all again after a pause of up to a second. WR_ENOMEM. */
wr_status wr_team_open(int threads, int adapts, wr_team **team);
void wr_team_close(wr_team *team); /* ends its threads; also takes NULL */

/* Calls work(context, piece) for piece = 0..count-1, each once, in any order and on any of the team's threads; returns when
 * all are done. Each thread begins with its own range of neighbouring pieces, the same in each loop of the same count, and then
 * takes pieces of the other ranges. One loop at a time; work must not start another. The first loop that needs the threads
 * starts them, with all signals blocked and, if OpenMP's are bound to processors (OMP_PROC_BIND), bound likewise; if the system
 * starts fewer, the team has fewer. With fewer than WR_TEAM_LEAST pieces, or team NULL: on the calling thread, in order. */
void wr_team_for(wr_team *team, int64_t count, void (*work)(void *context, int64_t piece), void *context);

int wr_team_threads(const wr_team *team);       /* as opened, or as many as the system has started    */
int wr_team_least_threads(const wr_team *team); /* the fewest that it has used since it was opened     */

/* The team of an open environment of the host. */
wr_team *wr_env_team(const struct wr_env *env);

#endif
