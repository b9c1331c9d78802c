#include "solvers/report/history_file.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/check.h"

static char path[512];

static const char *contents(void) {
  static char text[4096];
  FILE *file = fopen(path, "r");
  if (!file) return "(absent)";
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

static void test_written(void) {
  CASE("several runs, every value back");
  int64_t iterations[] = {0, 1, INT64_C(9000000000000000000)};
  double measures[] = {1.0 / 3, 5e-324, 1e300}, odd[] = {NAN, INFINITY, -INFINITY};
  wr_history first = {.count = 3, .iteration = iterations, .measure = measures};
  wr_history none = {0};
  wr_history second = {.count = 3, .iteration = iterations, .measure = odd};
  wr_history_series series[] = {{"cpu_csr", &first}, {"cusparse", &none}, {"a,\"b\"", &second}};
  CHECK_OK(wr_history_write(path, series, 3));
  char backend[16], end;
  long long iteration;
  double measure;
  const char *at = contents();
  CHECKF(strncmp(at, "backend,iteration,measure\n", 26) == 0, "%s", at);
  at += 26;
  for (int k = 0; k < 3; k++) {
    int read = sscanf(at, "%15[^,],%lld,%lf%c", backend, &iteration, &measure, &end);
    CHECKF(read == 4 && end == '\n' && strcmp(backend, "cpu_csr") == 0, "%s", at);
    CHECKF(iteration == iterations[k] && measure == measures[k], "%lld %g", iteration, measure);
    at += strcspn(at, "\n") + 1;
  }
  CHECKF(strcmp(at, "\"a,\"\"b\"\"\",0,nan\n\"a,\"\"b\"\"\",1,inf\n\"a,\"\"b\"\"\",9000000000000000000,-inf\n") == 0,
         "%s", at);
  CHECK_OK(wr_history_write(path, NULL, 0));
  CHECK(strcmp(contents(), "backend,iteration,measure\n") == 0);
  unlink(path);
}

static void test_not_written(void) {
  CASE("outputs that cannot be written");
  CHECK_FAILS(WR_EOUTPUT, wr_history_write("/dev/full", NULL, 0));
  CHECK_MESSAGE("/dev/full");
  CHECK_FAILS(WR_EOUTPUT, wr_history_write("tests/no such folder/history.csv", NULL, 0));
  CHECK_MESSAGE("no such folder");
}

int main(void) {
  snprintf(path, sizeof path, "%s/windrow-history-%ld", wr_test_folder(), (long)getpid());
  test_written();
  test_not_written();
  return wr_test_report("history_file");
}
