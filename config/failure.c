#include "config/failure.h"

#include <stdio.h>

void wr_failure_note(wr_failure *failure, int64_t piece, wr_status status) {
  if (status == WR_OK) return;
#pragma omp critical(wr_failure)
  if (piece < failure->piece) {
    failure->status = status;
    snprintf(failure->message, sizeof failure->message, "%s", wr_status_message());
#pragma omp atomic write
    failure->piece = piece;
  }
}

int wr_failure_is_below(const wr_failure *failure, int64_t piece) {
  int64_t lowest;
#pragma omp atomic read
  lowest = failure->piece;
  return lowest < piece;
}

wr_status wr_failure_report(const wr_failure *failure) {
  return failure->piece == INT64_MAX ? WR_OK : wr_fail(failure->status, "%s", failure->message);
}
