/* The failure to report when several threads work on numbered pieces: that of the lowest piece, whichever thread failed first.
 * */
#ifndef WR_FAILURE_H
#define WR_FAILURE_H

#include <stdint.h>

#include "config/status.h"

typedef struct wr_failure {
  int64_t piece; /* the lowest piece that failed */
  wr_error error;
} wr_failure;

#define WR_NO_FAILURE {.piece = INT64_MAX}

/* Keeps the status of a piece and the calling thread's sentence if the piece is the lowest that failed; WR_OK changes
 * nothing. */
void wr_failure_note(wr_failure *failure, int64_t piece, wr_status status);

/* 1 if a lower piece has failed, so that this one need not be begun. */
int wr_failure_is_below(const wr_failure *failure, int64_t piece);

/* WR_OK if no piece has failed; else fails in the calling thread as that piece did. */
wr_status wr_failure_report(const wr_failure *failure);

#endif
