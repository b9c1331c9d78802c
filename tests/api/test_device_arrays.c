/* Arrays on a GPU in windrow.h: the same bits as with arrays of the host, and what is refused. */
#include <stdlib.h>

#include "solvers/api/windrow.h"
#include "spmv/device/env.h"
#include "tests/api/true_residual.h"
#include "tests/check.h"

enum { COLUMNS = 10, GAP = 3 }; /* more than are iterated together; elements between two columns */

/* ---- memory of the device, as another library would have it ---- */

static wr_env device = {.place = WR_CUDA, .type = WR_F64, .threads = 1};

static wr_vec place(const double *values, int64_t n) {
  wr_vec v = {0};
  CHECK_OK(device.ops->alloc(&device, n, WR_F64, "an array of the test", &v));
  if (values) CHECK_OK(device.ops->upload(&device, &v, values));
  CHECK_OK(device.ops->wait(&device));
  return v;
}

static void fetch(const wr_vec *v, double *values) { CHECK_OK(device.ops->download(&device, v, values)); }

static double *array(int64_t n) {
  double *values = n > 0 ? malloc((size_t)n * sizeof *values) : NULL;
  for (int64_t i = 0; values && i < n; i++) values[i] = sin(1 + 0.37 * (double)i);
  return values;
}

/* ---- solving ---- */

typedef struct example {
  const char *matrix, *precision, *method, *precond, *scale;
  double size; /* of b */
} example;

static const example examples[] = {
    {"gen:convect:n=9", "f64", NULL, NULL, NULL, 1},
    {"gen:convect:n=9", "f64", "bicgstab", "none", "none", 1e200},
    {"gen:convect:n=9", "f64", "bicgstab", "none", "none", 1e-305},
    {"gen:convect:n=9", "f32", "bicgstab", "none", "none", 3},
    {"gen:convect:n=9", "f32", "bicgstab", "none", "none", 0},
    {"gen:convect:n=9", "f64", "bicgstab", "ilu0", "none", 1},
    {"gen:convect:n=9", "f64", "bicgstab", "jacobi", "none", 1},
    {"gen:stencil:n=5,convection=0", "f64", "cg", "jacobi", "none", 1},
    {"gen:fem:n=2", "f64", NULL, NULL, "equilibrate", 1},
    {"gen:circuit:n=100", "f64", NULL, NULL, "match", 1},
};

/* An f32 solve to this tolerance is refined by the host, so that its x is not that of the device. */
static double tolerance_of(const example *e) { return strcmp(e->precision, "f32") == 0 ? 1e-9 : 1e-8; }

static wr_solver *solver_of(const wr_matrix *A, const example *e, const char *place) {
  wr_solver *solver = NULL;
  const wr_solve_options o = {.size = sizeof o, .device = place, .precision = e->precision, .method = e->method,
                              .precond = e->precond, .scale = e->scale, .tolerance = tolerance_of(e),
                              .deterministic = 1};
  CHECK_OK(wr_solver_new(A, &o, &solver));
  return solver;
}

static void compare(const wr_solve_result *there, const wr_solve_result *here) {
  CHECK(there->outcome == here->outcome && there->iterations == here->iterations);
  CHECK(there->residual == here->residual && there->verified == here->verified);
}

static void test_solve(const example *e) {
  wr_matrix *A = NULL;
  wr_solve_result here, there;
  static char text[160];
  snprintf(text, sizeof text, "%s in %s, %s, %s, b of %g", e->matrix, e->precision, e->precond ? e->precond : "auto",
           e->scale ? e->scale : "auto", e->size);
  CASE(text);
  CHECK_OK(wr_read(e->matrix, &A));
  int64_t n = wr_matrix_rows(A), stride = n + GAP, all = COLUMNS * stride;
  double *b = array(all), *x = array(all), *got = array(all), *guess = array(n);
  for (int64_t i = 0; i < all; i++) b[i] *= e->size, x[i] = 7;
  wr_solver *solver = solver_of(A, e, "cuda");
  wr_vec b_there = place(b, all), x_there = place(x, all), guess_there = place(guess, n);
  WR_INIT(here);
  WR_INIT(there);
  for (int given = 0; given < 2; given++) {
    const double *x0 = given ? guess : NULL, *x0_there = given ? guess_there.data : NULL;
    CHECK_OK(wr_solver_solve(solver, b, x0, x, &here));
    CHECK_OK(wr_solver_solve_device(solver, b_there.data, x0_there, x_there.data, &there));
    fetch(&x_there, got);
    compare(&there, &here);
    CHECK(here.outcome == WR_CONVERGED && memcmp(got, x, (size_t)n * sizeof *x) == 0);
    CHECK(residual(A, b, got) <= tolerance_of(e) && got[n] == 7);
  }
  CHECK_OK(wr_solver_solve_device(solver, b_there.data, NULL, b_there.data, &there)); /* x is b */
  fetch(&b_there, got);
  CHECK_OK(wr_solver_solve(solver, b, NULL, x, &here));
  CHECK(memcmp(got, x, (size_t)n * sizeof *x) == 0);
  CHECK_OK(device.ops->upload(&device, &b_there, b));
  CHECK_OK(device.ops->wait(&device));
  wr_solve_result many[COLUMNS], many_there[COLUMNS];
  for (int j = 0; j < COLUMNS; j++) WR_INIT(many[j]), WR_INIT(many_there[j]);
  CHECK_OK(wr_solver_solve_many(solver, COLUMNS, b, stride, x, stride, many));
  CHECK_OK(wr_solver_solve_many_device(solver, COLUMNS, b_there.data, stride, x_there.data, stride, many_there));
  fetch(&x_there, got);
  for (int j = 0; j < COLUMNS; j++) {
    compare(&many_there[j], &many[j]);
    CHECK(many[j].outcome == WR_CONVERGED && memcmp(got + j * stride, x + j * stride, (size_t)n * sizeof *x) == 0);
    CHECK(j + 1 == COLUMNS || got[j * stride + n] == 7);
  }
  device.ops->release(&device, &b_there), device.ops->release(&device, &x_there);
  device.ops->release(&device, &guess_there);
  wr_solver_free(solver);
  wr_matrix_free(A);
  free(b), free(x), free(got), free(guess);
}

/* ---- ranking ---- */

/* Scores by arrays there are those by arrays here, with and without teleport and first guess. */
static void test_rank(const char *precision) {
  enum { NODES = 2000 };
  wr_matrix *A = NULL;
  static char text[80];
  snprintf(text, sizeof text, "ranks in %s", precision);
  CASE(text);
  CHECK_OK(wr_read("gen:web:n=2000", &A));
  double *teleport = array(NODES), *start = array(NODES), *scores = array(NODES), *got = array(NODES);
  for (int i = 0; i < NODES; i++) teleport[i] = fabs(teleport[i]), start[i] = 1 + 0.5 * start[i];
  wr_vec teleport_there = place(teleport, NODES), start_there = place(start, NODES), there = place(got, NODES);
  for (int given = 0; given < 4; given++) {
    wr_rank_result here = {0}, of_there = {0};
    WR_INIT(here), WR_INIT(of_there);
    wr_rank_options o = {.size = sizeof o, .device = "cuda", .precision = precision, .deterministic = 1};
    if (given & 1) o.personalize = teleport;
    if (given & 2) o.start = start;
    CHECK_OK(wr_rank(A, scores, &o, &here));
    if (given & 1) o.personalize = teleport_there.data;
    if (given & 2) o.start = start_there.data;
    if (given == 0) o.device = NULL; /* the GPU all the same */
    CHECK_OK(wr_rank_device(A, there.data, &o, &of_there));
    fetch(&there, got);
    CHECK(memcmp(got, scores, NODES * sizeof *got) == 0 && of_there.verified && of_there.bound == here.bound);
  }
  device.ops->release(&device, &teleport_there), device.ops->release(&device, &start_there);
  device.ops->release(&device, &there);
  wr_matrix_free(A);
  free(teleport), free(start), free(scores), free(got);
}

/* ---- multiplying ---- */

static void test_multiply(const char *precision) {
  wr_matrix *A = NULL;
  wr_operator *op = NULL;
  CASE(precision);
  const wr_operator_options o = {.size = sizeof o, .device = "cuda", .precision = precision, .deterministic = 1};
  CHECK_OK(wr_read("gen:convect:n=9", &A));
  CHECK_OK(wr_operator_new(A, &o, &op));
  int64_t n = wr_matrix_rows(A);
  double *x = array(n), *y = array(n), *got = array(n);
  for (int64_t i = 0; i < n; i++) y[i] = got[i] = (double)i / 3;
  wr_vec x_there = place(x, n), y_there = place(y, n);
  for (int k = 0; k < 3; k++) {
    const double alpha = 1 + k, beta = k - 1;
    CHECK_OK(wr_operator_apply(op, alpha, x, beta, y));
    CHECK_OK(wr_operator_apply_device(op, alpha, x_there.data, beta, y_there.data));
    fetch(&y_there, got);
    CHECK(memcmp(got, y, (size_t)n * sizeof *y) == 0);
  }
  device.ops->release(&device, &x_there), device.ops->release(&device, &y_there);
  wr_operator_free(op);
  wr_matrix_free(A);
  free(x), free(y), free(got);
}

/* ---- what is refused ---- */

static void test_refused(void) {
  wr_matrix *A = NULL;
  wr_operator *op = NULL;
  wr_solve_result r;
  CASE("arrays of the host");
  WR_INIT(r);
  CHECK_OK(wr_read("gen:convect:n=9", &A));
  int64_t n = wr_matrix_rows(A);
  double *host = array(n), *other = array(n), *got = array(n);
  wr_solver *solver = solver_of(A, &examples[0], "cuda");
  wr_vec there = place(host, n), more = place(host, n);
  CHECK_FAILS(WR_EUSAGE, wr_solver_solve_device(solver, host, NULL, there.data, &r));
  CHECK_MESSAGE("wr_solver_solve_device: b is in the memory of the host, and not of CUDA device 0");
  CHECK_FAILS(WR_EUSAGE, wr_solver_solve_device(solver, there.data, host, more.data, &r));
  CHECK_MESSAGE("x0 is in the memory of the host");
  CHECK_FAILS(WR_EUSAGE, wr_solver_solve_device(solver, there.data, NULL, host, &r));
  CHECK_MESSAGE("x is in the memory of the host");
  CHECK_FAILS(WR_EUSAGE, wr_solver_solve_many_device(solver, 1, there.data, n, host, n, &r));
  CHECK_MESSAGE("wr_solver_solve_many_device: x is in the memory of the host");
  CASE("a right-hand side with a NaN; the solver stays usable");
  host[4] = (double)NAN;
  CHECK_OK(device.ops->upload(&device, &more, host));
  CHECK_OK(device.ops->wait(&device));
  CHECK_FAILS(WR_EINPUT, wr_solver_solve_device(solver, more.data, NULL, more.data, &r));
  CHECK_MESSAGE("element 4 is nan");
  CHECK(r.status == WR_EINPUT);
  CHECK_OK(wr_solver_solve_device(solver, there.data, NULL, more.data, &r));
  fetch(&there, host), fetch(&more, got);
  CHECK(r.outcome == WR_CONVERGED && residual(A, host, got) <= 1e-8);
  CHECK_OK(wr_solver_solve(solver, host, NULL, other, &r)); /* and for arrays of the host */
  CHECK(memcmp(got, other, (size_t)n * sizeof *got) == 0);
  CASE("ranks in arrays of the host");
  wr_rank_result ranked;
  WR_INIT(ranked);
  CHECK_FAILS(WR_EUSAGE, wr_rank_device(A, host, NULL, &ranked));
  CHECK_MESSAGE("wr_rank_device: scores is in the memory of the host, and not of CUDA device 0");
  const wr_rank_options from_host = {.size = sizeof from_host, .personalize = host};
  CHECK_FAILS(WR_EUSAGE, wr_rank_device(A, there.data, &from_host, &ranked));
  CHECK_MESSAGE("options->personalize is in the memory of the host");
  CASE("operators");
  CHECK_OK(wr_operator_new(A, &(wr_operator_options){.size = sizeof(wr_operator_options), .device = "cuda"}, &op));
  CHECK_FAILS(WR_EUSAGE, wr_operator_apply_device(op, 1, host, 0, there.data));
  CHECK_MESSAGE("wr_operator_apply_device: x is in the memory of the host");
  CHECK_FAILS(WR_EUSAGE, wr_operator_apply_device(op, 1, there.data, 0, host));
  CHECK_MESSAGE("y is in the memory of the host");
  wr_operator_free(op);
  wr_solver_free(solver);
  device.ops->release(&device, &there), device.ops->release(&device, &more);
  wr_matrix_free(A);
  free(host), free(other), free(got);
}

/* What was made for the CPU, in every build. */
static void test_on_cpu(void) {
  const int has_cuda = wr_built_with("cuda");
  const wr_status refused = has_cuda ? WR_EUSAGE : WR_EUNAVAILABLE;
  const char *why =
      has_cuda ? "it was made for the CPU: with options->device \"cuda\"" : "this build has no CUDA parts";
  wr_matrix *A = NULL;
  wr_operator *op = NULL;
  wr_solve_result r;
  CASE("a solver and an operator of the CPU");
  WR_INIT(r);
  CHECK_OK(wr_read("gen:convect:n=9", &A));
  wr_solver *solver = solver_of(A, &examples[0], "cpu");
  CHECK_OK(wr_operator_new(A, NULL, &op));
  double *b = array(wr_matrix_rows(A)), *x = array(wr_matrix_rows(A));
  CHECK_FAILS(refused, wr_solver_solve_device(solver, b, NULL, x, &r));
  CHECK_MESSAGE(why);
  CHECK_FAILS(refused, wr_solver_solve_many_device(solver, 1, b, 81, x, 81, &r));
  CHECK_MESSAGE(why);
  CHECK_FAILS(refused, wr_operator_apply_device(op, 1, b, 0, x));
  CHECK_MESSAGE(why);
  wr_rank_result ranked;
  WR_INIT(ranked);
  const wr_rank_options on_cpu = {.size = sizeof on_cpu, .device = "cpu"};
  CHECK_FAILS(refused, wr_rank_device(A, x, &on_cpu, &ranked));
  CHECK_MESSAGE(why);
  free(b), free(x);
  wr_operator_free(op);
  wr_solver_free(solver);
  wr_matrix_free(A);
}

int main(void) {
  test_on_cpu();
  CASE("on a GPU");
  if (wr_env_open(&device) != WR_OK) {
    SKIP("%s", wr_status_message());
    return wr_test_report("device_arrays");
  }
  for (size_t k = 0; k < sizeof examples / sizeof *examples; k++) test_solve(&examples[k]);
  test_rank("f64");
  test_rank("f32");
  test_multiply("f64");
  test_multiply("f32");
  test_refused();
  wr_env_close(&device);
  return wr_test_report("device_arrays");
}
