/* Reads a matrix and solves for several right-hand sides with what is prepared once:  several_sides A.mtx [cuda] */
#include <stdio.h>
#include <stdlib.h>
#include <windrow/windrow.h>

enum { SIDES = 3 };

/* Ctrl-C could be asked for here: a value other than 0 ends the solve. */
static int show(void *context, int64_t iteration, double residual, double target) {
  if (iteration % 100 == 0) fprintf(context, "%lld: %.1e > %.1e\n", (long long)iteration, residual, target);
  return 0;
}

int main(int argc, char **argv) {
  wr_matrix *A = NULL;
  wr_solver *solver = NULL;
  wr_solve_options options;
  wr_solve_result results[SIDES];
  double *b = NULL, *x = NULL;
  WR_INIT(options);
  options.device = argc > 2 ? argv[2] : "cpu", options.progress = show, options.context = stderr;
  wr_status status = wr_read(argc > 1 ? argv[1] : "gen:convect:n=30", &A);
  if (status == WR_OK) status = wr_solver_new(A, &options, &solver);
  int64_t n = wr_matrix_rows(A);
  if (status == WR_OK) b = malloc(sizeof *b * SIDES * (size_t)n), x = malloc(sizeof *x * SIDES * (size_t)n);
  if (b && x) {
    for (int64_t k = 0; k < SIDES * n; k++) b[k] = k % n == k / n ? 1 : 0; /* a source in cell 0, in cell 1, ... */
    for (int j = 0; j < SIDES; j++) WR_INIT(results[j]);
    status = wr_solver_solve_many(solver, SIDES, b, n, x, n, results);
    for (int j = 0; j < SIDES; j++)
      printf("side %d  %s  residual %.1e%s\n", j, wr_outcome_title(results[j].outcome), results[j].residual,
             results[j].verified ? "  verified" : "");
  }
  if (status != WR_OK) fprintf(stderr, "several_sides: %s\n", wr_status_message());
  wr_solver_free(solver);
  wr_matrix_free(A);
  free(b);
  free(x);
  return wr_status_exit_code(status);
}
