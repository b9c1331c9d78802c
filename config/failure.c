#include "config/failure.h"

void wr_failure_note(wr_failure *failure, int64_t piece, wr_status status) {
  if (status == WR_OK) return;
#pragma omp critical(wr_failure)
  if (piece < failure->piece) {
    wr_error_keep(&failure->error, status);
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

wr_status wr_failure_report(const wr_failure *failure) { return wr_error_raise(&failure->error); }
