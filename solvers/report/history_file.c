#include "solvers/report/history_file.h"

#include <inttypes.h>

#include "io/output_file.h"
#include "solvers/report/csv.h"

wr_status wr_history_write(const char *path, const wr_history_series *series, int count) {
  wr_output_file out;
  PASS(wr_output_open(path, &out));
  fputs("backend,iteration,measure\n", out.file);
  for (int s = 0; s < count; s++) {
    const wr_history *history = series[s].history;
    for (int64_t at = 0; at < history->count; at++) {
      wr_csv_text(out.file, series[s].label);
      fprintf(out.file, ",%" PRId64 ",", history->iteration[at]);
      wr_csv_real(out.file, history->measure[at]);
      fputc('\n', out.file);
    }
  }
  return wr_output_commit(&out);
}
