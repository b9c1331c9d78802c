/* Residuals by iteration as a table for other programs. */
#ifndef WR_HISTORY_FILE_H
#define WR_HISTORY_FILE_H

#include "config/status.h"
#include "solvers/solver.h"

/* One run's history under its label, which names the backend and its knobs as reports do: "merbit:sigma=9". */
typedef struct wr_history_series {
  const char *label;
  const wr_history *history;
} wr_history_series;

/* Writes CSV: the header `backend,iteration,measure`, then a line an entry, series after series; a measure is the
 * shortest decimal that reads back to the same bits, or inf, -inf, nan. The file is complete or does not exist, and "-" is
 * standard output, as in io/output_file.h. WR_EOUTPUT. */
wr_status wr_history_write(const char *path, const wr_history_series *series, int count);

#endif
