/* Whether a machine has a GPU, with or without software to use it. */
#define _DEFAULT_SOURCE /* mkdtemp */
#include "solvers/report/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/check.h"

static void make_file(const char *folder, const char *name, char path[600]) {
  snprintf(path, 600, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  CHECKF(file != NULL, "%s", path);
  if (file) fclose(file);
}

static void test_gpu(void) {
  static const struct {
    const char *name;
    int is_gpu;
  } cases[] = {{"nvidia0", 1}, {"nvidia7", 1}, {"nvidia15", 1}, {"nvidiactl", 0}, {"nvidia-uvm", 0}, {"sda", 0}};
  char folder[512], path[600];
  CASE("device files");
  snprintf(folder, sizeof folder, "%s/windrow.XXXXXX", wr_test_folder());
  if (mkdtemp(folder) == NULL) {
    SKIP("no folder can be made in %s", wr_test_folder());
    return;
  }
  CHECK(!wr_machine_has_gpu(folder));
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    make_file(folder, cases[k].name, path);
    CHECKF(wr_machine_has_gpu(folder) == cases[k].is_gpu, "%s", cases[k].name);
    unlink(path);
  }
  rmdir(folder);
  CHECK(!wr_machine_has_gpu(folder));
}

int main(void) {
  test_gpu();
  return wr_test_report("machine");
}
