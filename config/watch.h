/* By which long preparations find out that they are to end early, after a signal or at a time limit, and tell how far they
 * are. */
#ifndef WR_WATCH_H
#define WR_WATCH_H

#include <stddef.h>

#include "config/status.h"

typedef struct wr_watch {
  int (*ends)(void *context); /* 1: end as soon as possible. Called every few milliseconds. NULL: never */
  void *context;
  /* Called as often. what: "the incomplete factorisation"; share: how much of it is done, from 0 to 1; negative: that is not
   * known. NULL: not called. */
  void (*progress)(void *context, const char *what, double share);
} wr_watch;

/* Tells the watch of this share of `what`. WR_EUNAVAILABLE, with `what` in the sentence, if the watch says to end; NULL never
 * does. */
static inline wr_status wr_watch_check_at(const wr_watch *watch, const char *what, double share) {
  if (watch && watch->progress) watch->progress(watch->context, what, share);
  if (watch == NULL || watch->ends == NULL || !watch->ends(watch->context)) return WR_OK;
  return wr_fail(WR_EUNAVAILABLE, "%s was ended early, by a signal or at the time limit", what);
}

/* Likewise, where the share is not known. */
static inline wr_status wr_watch_check(const wr_watch *watch, const char *what) {
  return wr_watch_check_at(watch, what, -1);
}

#endif
