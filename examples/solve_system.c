/* Solves A x = b, both held in memory:  solve_system [cuda]
 * A is heat carried by a wind along a row of cells: cell i depends more on the cell before it than on the one behind. */
#include <math.h>
#include <stdio.h>
#include <windrow/windrow.h>

enum { N = 1000 };

int main(int argc, char **argv) {
  static int32_t row_ptr[N + 1], col[3 * N];
  static double val[3 * N], b[N], x[N];
  double error = 0;
  wr_solve_options options;
  wr_solve_result result;
  for (int i = 0, k = 0; i < N; i++) { /* b is A times the x with x[i] = i + 1, so that the answer is known */
    for (int j = i > 0 ? i - 1 : 0; j < N && j <= i + 1; j++, k++) {
      col[k] = j, val[k] = j < i ? -1.5 : j > i ? -0.5 : 2.5;
      b[i] += val[k] * (j + 1);
    }
    row_ptr[i + 1] = k;
  }
  WR_INIT(options);
  WR_INIT(result);
  options.tolerance = 1e-12;
  options.device = argc > 1 ? argv[1] : "cpu";
  if (wr_solve_csr(N, row_ptr, col, val, b, x, &options, &result) != WR_OK) {
    fprintf(stderr, "solve_system: %s\n", wr_status_message());
    return 1;
  }
  for (int i = 0; i < N; i++) error = fmax(error, fabs(x[i] - (i + 1)));
  printf("%s after %lld iterations, largest error %.1e\n", wr_outcome_title(result.outcome),
         (long long)result.iterations, error);
  return 0;
}
