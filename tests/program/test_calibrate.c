/* spmv --calibrate measures no GPU whose times the model has. What it does elsewhere is in tests/cli/calibrate.sh. */
#include "solvers/program/calibrate.h"

#include "tests/check.h"

int main(void) {
  wr_apply_place places[2] = {{.env.place = WR_HOST}, {.env = {.place = WR_CUDA, .device_name = "NVIDIA H200"}}};
  char text[256] = "";
  FILE *out = tmpfile();
  CASE("a GPU that the model knows");
  CHECK(out != NULL);
  CHECK_OK(wr_calibrate(places, WR_CUDA, NULL));
  CHECK_OK(wr_calibrate(places, WR_CUDA, out));
  if (out) rewind(out);
  CHECK(out && fgets(text, sizeof text, out) != NULL);
  CHECKF(strcmp(text, "NVIDIA H200: the model has the times of an H200; there is nothing to measure\n") == 0, "'%s'",
         text);
  if (out) fclose(out);
  return wr_test_report("calibrate");
}
