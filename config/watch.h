/* By which long preparations find out that they are to end early: after a signal, or at a time limit. */
#ifndef WR_WATCH_H
#define WR_WATCH_H

#include <stddef.h>

#include "config/status.h"

typedef struct wr_watch {
  int (*ends)(void *context); /* 1: end as soon as possible. Called every few milliseconds */
  void *context;
} wr_watch;

/* WR_EUNAVAILABLE, with `what` in the sentence, if the watch says to end; NULL never does. */
static inline wr_status wr_watch_check(const wr_watch *watch, const char *what) {
  if (watch == NULL || watch->ends == NULL || !watch->ends(watch->context)) return WR_OK;
  return wr_fail(WR_EUNAVAILABLE, "%s was ended early, by a signal or at the time limit", what);
}

#endif
