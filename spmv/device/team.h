/* Threads that work off the pieces of a loop together, for what runs in every iteration. OpenMP's threads wait for each other
 * at the end of each loop, in gcc's library by looking for milliseconds. Where another process has taken the processor of
 * one of them, the others use up their own time that way, and a small problem took 30 to 100 times as long as on one thread.
 * Here
 *
 *   - a thread that has nothing to do looks for work for some microseconds (WR_TEAM_LOOK_NS) and then sleeps;
 *   - a thread that comes late is not waited for: the others do its pieces, and it finds the loop over. Only a thread that
 *     loses its processor in the middle of a piece keeps the others waiting;
 *   - results do not depend on which thread did a piece, as pieces are cut by sizes alone.
 *
 * What runs once (reading, assembling, building a format, verification) uses OpenMP. */
#ifndef WR_TEAM_H
#define WR_TEAM_H

#include <stdint.h>

#include "config/status.h"

enum {
  WR_TEAM_LOOK_NS = 50000, /* longer than the scalar work between two loops, shorter than a scheduler's time slice    */
  WR_TEAM_LEAST = 4        /* fewer pieces, of some ten microseconds each, are not worth waiting for another thread   */
};

typedef struct wr_team wr_team;
struct wr_env;

/* threads: with the calling one, 1 or more. adapts 1: where the calling thread mostly waits for the others it goes on with
 * fewer of them, and tries all again after a pause of up to a second. WR_ENOMEM. */
wr_status wr_team_open(int threads, int adapts, wr_team **team);
void wr_team_close(wr_team *team); /* ends its threads; NULL is fine */

/* Calls work(context, piece) for piece = 0..count-1, each once, in any order and on any of the team's threads; returns when
 * all are done. Each thread begins with its own run of neighbouring pieces, the same in each loop of the same count, and then
 * helps the others with theirs. One loop at a time, and work starts none. The first loop that needs the threads starts them,
 * with all signals blocked and, where OpenMP's are bound to processors (OMP_PROC_BIND), bound likewise; where the system gives
 * fewer, fewer do the work. With fewer than WR_TEAM_LEAST pieces, or team NULL: on the calling thread, in order. */
void wr_team_for(wr_team *team, int64_t count, void (*work)(void *context, int64_t piece), void *context);

int wr_team_threads(const wr_team *team);       /* as opened, or as many as the system gave           */
int wr_team_least_threads(const wr_team *team); /* the fewest that it has gone on with since it opened */

/* The team of an open environment of the host. */
wr_team *wr_env_team(const struct wr_env *env);

#endif
