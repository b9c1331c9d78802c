/* Rows of test_arguments.c: windrow.h. */
#ifndef WR_ARGUMENTS_API_H
#define WR_ARGUMENTS_API_H

/* [2 1; 1 2] as arrays. */
static const int32_t small_ptr[] = {0, 2, 4}, small_col[] = {0, 1, 0, 1}, small_row[] = {0, 0, 1, 1};
static const int64_t small_ptr64[] = {0, 2, 4}, small_col64[] = {0, 1, 0, 1}, small_row64[] = {0, 0, 1, 1};
static const double small_val[] = {2, 1, 1, 2};

static wr_matrix *small_matrix(void) {
  wr_matrix *A = NULL;
  CHECK_OK(wr_matrix_new_csr(2, 2, small_ptr, small_col, small_val, &A));
  return A;
}

static void try_backend_name(void) {
  CHECK(wr_backend_name(-1) == NULL && wr_backend_name(wr_backend_count()) == NULL && wr_backend_name(0) != NULL);
}

static void try_backend_check(void) {
  REFUSED("backend is NULL", wr_backend_check(NULL));
  CHECK_FAILS(WR_EUSAGE, wr_backend_check("cpu_crs"));
  CHECK_MESSAGE("did you mean 'cpu_csr'");
  CHECK_FAILS(WR_EUSAGE, wr_backend_check("cpu_csr,reference"));
  CHECK_OK(wr_backend_check("cpu_csr"));
}

static void try_built_with(void) { CHECK(!wr_built_with(NULL) && !wr_built_with("") && !wr_built_with("fortran")); }

static void try_read_by(wr_status (*read)(const char *name, wr_matrix **A)) {
  wr_matrix *A = (wr_matrix *)&given;
  REFUSED("A is NULL", read("gen:web", NULL));
  REFUSED("name is NULL", read(NULL, &A));
  CHECK(A == NULL);
}

static void try_read(void) { try_read_by(wr_read); }

static wr_status read_as(const char *name, wr_matrix **A) { return wr_read_as(name, NULL, A); }
static void try_read_as(void) {
  wr_matrix *A = NULL;
  wr_read_choice choice = {.size = 0};
  try_read_by(read_as);
  REFUSED("choice->size is 0", wr_read_as("gen:web", &choice, &A));
  WR_INIT(choice);
  choice.format = "csv";
  REFUSED("choice->format is 'csv', which is none of auto|mtx|edges", wr_read_as("gen:web", &choice, &A));
  WR_INIT(choice);
  choice.ids = "text";
  REFUSED("choice->ids is 'text', which is none of auto|numbers|names", wr_read_as("gen:web", &choice, &A));
  WR_INIT(choice);
  choice.separator = ",";
  REFUSED("choice->separator is ',', which is none of auto|tab|comma|semicolon|blank",
          wr_read_as("gen:web", &choice, &A));
  WR_INIT(choice);
  choice.header = "1";
  REFUSED("choice->header is '1', which is none of auto|yes|no", wr_read_as("gen:web", &choice, &A));
  WR_INIT(choice);
  choice.threads = -1;
  REFUSED("choice->threads is -1", wr_read_as("gen:web", &choice, &A));
  CHECK(A == NULL);
}

static void try_matrix_new_csr(void) {
  wr_matrix *A = NULL;
  REFUSED("A is NULL", wr_matrix_new_csr(2, 2, small_ptr, small_col, small_val, NULL));
  REFUSED("rows is 0", wr_matrix_new_csr(0, 2, small_ptr, small_col, small_val, &A));
  REFUSED("rows is -3", wr_matrix_new_csr(-3, 2, small_ptr, small_col, small_val, &A));
  REFUSED("columns is 0", wr_matrix_new_csr(2, 0, small_ptr, small_col, small_val, &A));
  REFUSED("columns is 2147483648", wr_matrix_new_csr(2, INT64_C(1) << 31, small_ptr, small_col, small_val, &A));
  REFUSED("row_ptr is NULL", wr_matrix_new_csr(2, 2, NULL, small_col, small_val, &A));
  REFUSED("col is NULL", wr_matrix_new_csr(2, 2, small_ptr, NULL, small_val, &A));
  CHECK(A == NULL);
}

static void try_matrix_new_csr64(void) {
  wr_matrix *A = NULL;
  REFUSED("A is NULL", wr_matrix_new_csr64(2, 2, small_ptr64, small_col64, small_val, NULL));
  REFUSED("rows is 0", wr_matrix_new_csr64(0, 2, small_ptr64, small_col64, small_val, &A));
  REFUSED("columns is -1", wr_matrix_new_csr64(2, -1, small_ptr64, small_col64, small_val, &A));
  REFUSED("row_ptr is NULL", wr_matrix_new_csr64(2, 2, NULL, small_col64, small_val, &A));
  REFUSED("col is NULL", wr_matrix_new_csr64(2, 2, small_ptr64, NULL, small_val, &A));
  CHECK(A == NULL);
}

static void try_matrix_new_coo(void) {
  wr_matrix *A = NULL;
  REFUSED("A is NULL", wr_matrix_new_coo(2, 2, 4, small_row, small_col, small_val, 0, NULL));
  REFUSED("rows is 0", wr_matrix_new_coo(0, 2, 4, small_row, small_col, small_val, 0, &A));
  REFUSED("columns is 0", wr_matrix_new_coo(2, 0, 4, small_row, small_col, small_val, 0, &A));
  REFUSED("entries is -1", wr_matrix_new_coo(2, 2, -1, small_row, small_col, small_val, 0, &A));
  REFUSED("row is NULL", wr_matrix_new_coo(2, 2, 4, NULL, small_col, small_val, 0, &A));
  REFUSED("col is NULL", wr_matrix_new_coo(2, 2, 4, small_row, NULL, small_val, 0, &A));
  CHECK(A == NULL);
}

static void try_matrix_new_coo64(void) {
  wr_matrix *A = NULL;
  REFUSED("A is NULL", wr_matrix_new_coo64(2, 2, 4, small_row64, small_col64, small_val, 0, NULL));
  REFUSED("rows is 0", wr_matrix_new_coo64(0, 2, 4, small_row64, small_col64, small_val, 0, &A));
  REFUSED("entries is -1", wr_matrix_new_coo64(2, 2, -1, small_row64, small_col64, small_val, 0, &A));
  REFUSED("row is NULL", wr_matrix_new_coo64(2, 2, 4, NULL, small_col64, small_val, 0, &A));
  REFUSED("col is NULL", wr_matrix_new_coo64(2, 2, 4, small_row64, NULL, small_val, 0, &A));
  CHECK(A == NULL);
}

static void try_matrix_free(void) { wr_matrix_free(NULL); }
static void try_matrix_rows(void) { CHECK(wr_matrix_rows(NULL) == 0); }
static void try_matrix_columns(void) { CHECK(wr_matrix_columns(NULL) == 0); }
static void try_matrix_entries(void) { CHECK(wr_matrix_entries(NULL) == 0); }
static void try_matrix_row_ptr(void) { CHECK(wr_matrix_row_ptr(NULL) == NULL); }
static void try_matrix_col(void) { CHECK(wr_matrix_col(NULL) == NULL); }
static void try_matrix_val(void) { CHECK(wr_matrix_val(NULL) == NULL); }

static void try_matrix_id(void) {
  char text[8] = "before";
  wr_matrix *A = small_matrix();
  REFUSED("text is NULL", wr_matrix_id(A, 0, NULL, 8));
  REFUSED("A is NULL", wr_matrix_id(NULL, 0, text, 8));
  REFUSED("i is -1", wr_matrix_id(A, -1, text, 8));
  REFUSED("i is 2", wr_matrix_id(A, 2, text, 8));
  REFUSED("room is 0", wr_matrix_id(A, 0, text, 0));
  REFUSED("room is 1", wr_matrix_id(A, 0, text, 1));
  CHECK(text[0] == '\0');
  wr_matrix_free(A);
}

static void try_matrix_find(void) {
  int64_t i = 7;
  wr_matrix *A = small_matrix();
  REFUSED("i is NULL", wr_matrix_find(A, "1", NULL));
  REFUSED("A is NULL", wr_matrix_find(NULL, "1", &i));
  REFUSED("id is NULL", wr_matrix_find(A, NULL, &i));
  CHECK(i == -1);
  wr_matrix_free(A);
}

static void try_trace_new(void) { REFUSED("trace is NULL", wr_trace_new(NULL)); }
static void try_trace_free(void) { wr_trace_free(NULL); }

static void try_trace_get(void) {
  wr_trace *trace = NULL;
  const int64_t *iterations = small_ptr64;
  const double *residuals = small_val;
  CHECK_OK(wr_trace_new(&trace));
  CHECK(wr_trace_get(NULL, 0, NULL, NULL) == 0 && wr_trace_get(trace, -1, NULL, NULL) == 0);
  CHECK(wr_trace_get(trace, 0, &iterations, &residuals) == 0 && iterations == NULL && residuals == NULL);
  wr_trace_free(trace);
}

/* Options that each function which takes them refuses. */
static const struct {
  wr_solve_options options;
  const char *text;
} wrong_solve[] = {
    {{.size = 0}, "options->size is 0; WR_INIT"},
    {{.size = sizeof(wr_solve_options), .device = "gpu"}, "options->device: 'gpu' is none of cpu, cuda, cuda:N, auto"},
    {{.size = sizeof(wr_solve_options), .precision = "f16"}, "options->precision is 'f16', which is none of f64|f32"},
    {{.size = sizeof(wr_solve_options), .method = "gmres"}, "options->method is 'gmres', which is none of auto|"},
    {{.size = sizeof(wr_solve_options), .precond = "ilu"}, "options->precond: there is no preconditioner 'ilu'"},
    {{.size = sizeof(wr_solve_options), .precond = "ilut:fill=-1"}, "options->precond:"},
    {{.size = sizeof(wr_solve_options), .scale = "all"}, "options->scale is 'all'"},
    {{.size = sizeof(wr_solve_options), .fallback = "lu"}, "options->fallback is 'lu'"},
    {{.size = sizeof(wr_solve_options), .stop = "never"}, "options->stop is 'never'"},
    {{.size = sizeof(wr_solve_options), .verify = "on"}, "options->verify is 'on'"},
    {{.size = sizeof(wr_solve_options), .tolerance = -1}, "options->tolerance is -1"},
    {{.size = sizeof(wr_solve_options), .tolerance = (double)NAN}, "options->tolerance is"},
    {{.size = sizeof(wr_solve_options), .tolerance = (double)INFINITY}, "options->tolerance is inf"},
    {{.size = sizeof(wr_solve_options), .atol = -1}, "options->atol is -1"},
    {{.size = sizeof(wr_solve_options), .atol = (double)NAN}, "options->atol is"},
    {{.size = sizeof(wr_solve_options), .time_limit = -1}, "options->time_limit is -1"},
    {{.size = sizeof(wr_solve_options), .time_limit = (double)NAN}, "options->time_limit is"},
    {{.size = sizeof(wr_solve_options), .max_iterations = -1}, "options->max_iterations is -1"},
    {{.size = sizeof(wr_solve_options), .check_every = -1}, "options->check_every is -1"},
    {{.size = sizeof(wr_solve_options), .ell = -1}, "options->ell is -1"},
    {{.size = sizeof(wr_solve_options), .threads = -1}, "options->threads is -1"},
    {{.size = sizeof(wr_solve_options), .backend = "cpu_crs"}, "unknown backend 'cpu_crs'"},
    {{.size = sizeof(wr_solve_options), .backend = "cpu_csr", .device = "cuda"}, "runs on the CPU"},
};
enum { WRONG_SOLVE = sizeof wrong_solve / sizeof *wrong_solve };

static void try_solver_new(void) {
  wr_solver *s = NULL;
  wr_matrix *A = small_matrix();
  REFUSED("solver is NULL", wr_solver_new(A, NULL, NULL));
  REFUSED("A is NULL", wr_solver_new(NULL, NULL, &s));
  for (int k = 0; k < WRONG_SOLVE; k++) REFUSED(wrong_solve[k].text, wr_solver_new(A, &wrong_solve[k].options, &s));
  CHECK(s == NULL);
  wr_matrix_free(A);
}

static void try_solver_free(void) { wr_solver_free(NULL); }

static void try_solver_solve_by(wr_status (*solve)(wr_solver *, const double *, const double *, double *,
                                                   wr_solve_result *)) {
  wr_solver *s = NULL;
  wr_solve_result r, sizeless = {.size = 0};
  double b[2] = {1, 2}, x[2] = {7, 7};
  wr_matrix *A = small_matrix();
  CHECK_OK(wr_solver_new(A, NULL, &s));
  WR_INIT(r);
  REFUSED("solver is NULL", solve(NULL, b, NULL, x, &r));
  REFUSED("b is NULL", solve(s, NULL, NULL, x, &r));
  REFUSED("x is NULL", solve(s, b, NULL, NULL, &r));
  REFUSED("result is NULL", solve(s, b, NULL, x, NULL));
  REFUSED("result->size is 0", solve(s, b, NULL, x, &sizeless));
  CHECK(x[0] == 7);
  wr_solver_free(s);
  wr_matrix_free(A);
}

static void try_solver_solve(void) { try_solver_solve_by(wr_solver_solve); }
static void try_solver_solve_device(void) { try_solver_solve_by(wr_solver_solve_device); }

static void try_solver_solve_many_by(wr_status (*solve)(wr_solver *, int64_t, const double *, int64_t, double *,
                                                        int64_t, wr_solve_result *)) {
  wr_solver *s = NULL;
  wr_solve_result r, sizeless = {.size = 0};
  double b[2] = {1, 2}, x[2] = {7, 7};
  wr_matrix *A = small_matrix();
  CHECK_OK(wr_solver_new(A, NULL, &s));
  WR_INIT(r);
  REFUSED("solver is NULL", solve(NULL, 1, b, 2, x, 2, &r));
  REFUSED("count is 0", solve(s, 0, b, 2, x, 2, &r));
  REFUSED("b is NULL", solve(s, 1, NULL, 2, x, 2, &r));
  REFUSED("x is NULL", solve(s, 1, b, 2, NULL, 2, &r));
  REFUSED("ldb is 1", solve(s, 1, b, 1, x, 2, &r));
  REFUSED("ldx is -2", solve(s, 1, b, 2, x, -2, &r));
  REFUSED("results is NULL", solve(s, 1, b, 2, x, 2, NULL));
  REFUSED("results->size is 0", solve(s, 1, b, 2, x, 2, &sizeless));
  CHECK(x[0] == 7);
  wr_solver_free(s);
  wr_matrix_free(A);
}

static void try_solver_solve_many(void) { try_solver_solve_many_by(wr_solver_solve_many); }
static void try_solver_solve_many_device(void) { try_solver_solve_many_by(wr_solver_solve_many_device); }

static void try_solve(void) {
  wr_solve_result r, sizeless = {.size = 0};
  double b[2] = {1, 2}, x[2] = {7, 7};
  wr_matrix *A = small_matrix();
  WR_INIT(r);
  REFUSED("A is NULL", wr_solve(NULL, b, x, NULL, &r));
  REFUSED("b is NULL", wr_solve(A, NULL, x, NULL, &r));
  REFUSED("x is NULL", wr_solve(A, b, NULL, NULL, &r));
  REFUSED("result is NULL", wr_solve(A, b, x, NULL, NULL));
  REFUSED("result->size is 0", wr_solve(A, b, x, NULL, &sizeless));
  for (int k = 0; k < WRONG_SOLVE; k++) {
    REFUSED(wrong_solve[k].text, wr_solve(A, b, x, &wrong_solve[k].options, &r));
    CHECK(r.status == WR_EUSAGE && strcmp(r.note, wr_status_message()) == 0);
  }
  CHECK(x[0] == 7);
  wr_matrix_free(A);
}

static void try_solve_csr(void) {
  wr_solve_result r;
  double b[2] = {1, 2}, x[2] = {7, 7};
  WR_INIT(r);
  REFUSED("b is NULL", wr_solve_csr(2, small_ptr, small_col, small_val, NULL, x, NULL, &r));
  REFUSED("x is NULL", wr_solve_csr(2, small_ptr, small_col, small_val, b, NULL, NULL, &r));
  REFUSED("result is NULL", wr_solve_csr(2, small_ptr, small_col, small_val, b, x, NULL, NULL));
  REFUSED("n is 0", wr_solve_csr(0, small_ptr, small_col, small_val, b, x, NULL, &r));
  REFUSED("n is -5", wr_solve_csr(-5, small_ptr, small_col, small_val, b, x, NULL, &r));
  REFUSED("row_ptr is NULL", wr_solve_csr(2, NULL, small_col, small_val, b, x, NULL, &r));
  REFUSED("col is NULL", wr_solve_csr(2, small_ptr, NULL, small_val, b, x, NULL, &r));
  CHECK(x[0] == 7);
}

static void try_solve_csr64(void) {
  wr_solve_result r;
  double b[2] = {1, 2}, x[2] = {7, 7};
  WR_INIT(r);
  REFUSED("b is NULL", wr_solve_csr64(2, small_ptr64, small_col64, small_val, NULL, x, NULL, &r));
  REFUSED("x is NULL", wr_solve_csr64(2, small_ptr64, small_col64, small_val, b, NULL, NULL, &r));
  REFUSED("result is NULL", wr_solve_csr64(2, small_ptr64, small_col64, small_val, b, x, NULL, NULL));
  REFUSED("n is 0", wr_solve_csr64(0, small_ptr64, small_col64, small_val, b, x, NULL, &r));
  REFUSED("row_ptr is NULL", wr_solve_csr64(2, NULL, small_col64, small_val, b, x, NULL, &r));
  REFUSED("col is NULL", wr_solve_csr64(2, small_ptr64, NULL, small_val, b, x, NULL, &r));
  CHECK(x[0] == 7);
}

static void try_rank(void) {
  static const struct {
    wr_rank_options options;
    const char *text;
  } wrong[] = {
      {{.size = 0}, "options->size is 0; WR_INIT"},
      {{.size = sizeof(wr_rank_options), .device = "cuda:x"}, "options->device: 'cuda:x' is none of"},
      {{.size = sizeof(wr_rank_options), .precision = "f16"}, "options->precision is 'f16', which is none of"},
      {{.size = sizeof(wr_rank_options), .method = "jacobi"}, "options->method is 'jacobi'"},
      {{.size = sizeof(wr_rank_options), .method = "idr", .precision = "mixed"}, "options->precision is mixed"},
      {{.size = sizeof(wr_rank_options), .stop = "order"}, "options->stop is 'order'"},
      {{.size = sizeof(wr_rank_options), .verify = "yes"}, "options->verify is 'yes'"},
      {{.size = sizeof(wr_rank_options), .damping = 1}, "options->damping is 1"},
      {{.size = sizeof(wr_rank_options), .damping = -0.5}, "options->damping is -0.5"},
      {{.size = sizeof(wr_rank_options), .damping = (double)NAN}, "options->damping is"},
      {{.size = sizeof(wr_rank_options), .tolerance = -1}, "options->tolerance is -1"},
      {{.size = sizeof(wr_rank_options), .tolerance = (double)NAN}, "options->tolerance is"},
      {{.size = sizeof(wr_rank_options), .time_limit = -1}, "options->time_limit is -1"},
      {{.size = sizeof(wr_rank_options), .max_iterations = -1}, "options->max_iterations is -1"},
      {{.size = sizeof(wr_rank_options), .check_every = -1}, "options->check_every is -1"},
      {{.size = sizeof(wr_rank_options), .threads = 5000}, "options->threads is 5000"},
      {{.size = sizeof(wr_rank_options), .backend = ""}, "options->backend: an empty name"},
  };
  wr_rank_result r, sizeless = {.size = 0};
  double scores[2] = {7, 7};
  wr_matrix *A = small_matrix();
  WR_INIT(r);
  REFUSED("A is NULL", wr_rank(NULL, scores, NULL, &r));
  REFUSED("scores is NULL", wr_rank(A, NULL, NULL, &r));
  REFUSED("result is NULL", wr_rank(A, scores, NULL, NULL));
  REFUSED("result->size is 0", wr_rank(A, scores, NULL, &sizeless));
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
    REFUSED(wrong[k].text, wr_rank(A, scores, &wrong[k].options, &r));
  CHECK(scores[0] == 7);
  wr_matrix_free(A);
}

static void try_rank_device(void) {
  wr_rank_result r;
  double scores[2] = {7, 7};
  const wr_rank_options wrong = {.size = sizeof wrong, .damping = 2};
  wr_matrix *A = small_matrix();
  WR_INIT(r);
  REFUSED("A is NULL", wr_rank_device(NULL, scores, NULL, &r));
  REFUSED("scores is NULL", wr_rank_device(A, NULL, NULL, &r));
  REFUSED("result is NULL", wr_rank_device(A, scores, NULL, NULL));
  REFUSED("options->damping is 2", wr_rank_device(A, scores, &wrong, &r));
  CHECK(scores[0] == 7);
  wr_matrix_free(A);
}

static void try_rank_many(void) {
  static const struct {
    wr_rank_options options;
    const char *text;
  } wrong[] = {{{.size = 0}, "options->size is 0"},
               {{.size = sizeof(wr_rank_options), .method = "idr"}, "options->method is 'idr'; many sets"},
               {{.size = sizeof(wr_rank_options), .precision = "mixed"}, "options->precision is 'mixed'; many sets"},
               {{.size = sizeof(wr_rank_options), .personalize = small_val}, "options->personalize is not NULL"},
               {{.size = sizeof(wr_rank_options), .start = small_val}, "options->start is not NULL"},
               {{.size = sizeof(wr_rank_options), .damping = 2}, "options->damping is 2"},
               {{.size = sizeof(wr_rank_options), .threads = -1}, "options->threads is -1"}};
  wr_rank_result r, sizeless = {.size = 0};
  const int64_t first[] = {0, 1}, node[] = {1};
  int64_t best[2] = {7, 7};
  double scores[2] = {7, 7};
  wr_matrix *A = small_matrix();
  WR_INIT(r);
  REFUSED("A is NULL", wr_rank_many(NULL, 1, first, node, NULL, 2, best, scores, NULL, NULL, &r));
  REFUSED("sets is 0", wr_rank_many(A, 0, first, node, NULL, 2, best, scores, NULL, NULL, &r));
  REFUSED("first is NULL", wr_rank_many(A, 1, NULL, node, NULL, 2, best, scores, NULL, NULL, &r));
  REFUSED("node is NULL", wr_rank_many(A, 1, first, NULL, NULL, 2, best, scores, NULL, NULL, &r));
  REFUSED("top is 0", wr_rank_many(A, 1, first, node, NULL, 0, best, scores, NULL, NULL, &r));
  REFUSED("top is 92233720368547758", wr_rank_many(A, 1, first, node, NULL, INT64_MAX, best, scores, NULL, NULL, &r));
  REFUSED("best is NULL", wr_rank_many(A, 1, first, node, NULL, 2, NULL, scores, NULL, NULL, &r));
  REFUSED("scores is NULL", wr_rank_many(A, 1, first, node, NULL, 2, best, NULL, NULL, NULL, &r));
  REFUSED("result is NULL", wr_rank_many(A, 1, first, node, NULL, 2, best, scores, NULL, NULL, NULL));
  REFUSED("result->size is 0", wr_rank_many(A, 1, first, node, NULL, 2, best, scores, NULL, NULL, &sizeless));
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
    REFUSED(wrong[k].text, wr_rank_many(A, 1, first, node, NULL, 2, best, scores, NULL, &wrong[k].options, &r));
  CHECK(best[0] == 7 && scores[0] == 7);
  wr_matrix_free(A);
}

static void try_rank_best(void) {
  int64_t best[2] = {7, 7};
  const double scores[2] = {1, 2};
  REFUSED("scores is NULL", wr_rank_best(NULL, 2, 1, best));
  REFUSED("n is 0", wr_rank_best(scores, 0, 0, best));
  REFUSED("count is -1", wr_rank_best(scores, 2, -1, best));
  REFUSED("count is 3", wr_rank_best(scores, 2, 3, best));
  REFUSED("best is NULL", wr_rank_best(scores, 2, 1, NULL));
  CHECK(best[0] == 7);
}

static void try_operator_new(void) {
  wr_operator *op = NULL;
  wr_operator_options o;
  wr_matrix *A = small_matrix();
  REFUSED("op is NULL", wr_operator_new(A, NULL, NULL));
  REFUSED("A is NULL", wr_operator_new(NULL, NULL, &op));
  memset(&o, 0, sizeof o);
  REFUSED("options->size is 0", wr_operator_new(A, &o, &op));
  WR_INIT(o);
  o.precision = "mixed";
  REFUSED("options->precision is 'mixed'", wr_operator_new(A, &o, &op));
  WR_INIT(o);
  o.threads = -2;
  REFUSED("options->threads is -2", wr_operator_new(A, &o, &op));
  WR_INIT(o);
  o.device = "tpu";
  REFUSED("options->device: 'tpu'", wr_operator_new(A, &o, &op));
  CHECK(op == NULL);
  wr_matrix_free(A);
}

static void try_operator_free(void) { wr_operator_free(NULL); }

static void try_operator_apply_by(wr_status (*apply)(wr_operator *, double, const double *, double, double *)) {
  wr_operator *op = NULL;
  double x[2] = {1, 2}, y[2] = {7, 7};
  wr_matrix *A = small_matrix();
  CHECK_OK(wr_operator_new(A, NULL, &op));
  REFUSED("op is NULL", apply(NULL, 1, x, 0, y));
  REFUSED("alpha is inf", apply(op, (double)INFINITY, x, 0, y));
  REFUSED("beta is", apply(op, 1, x, (double)NAN, y));
  REFUSED("x is NULL", apply(op, 1, NULL, 0, y));
  REFUSED("y is NULL", apply(op, 1, x, 0, NULL));
  REFUSED("x and y are one array", apply(op, 1, y, 0, y));
  CHECK(y[0] == 7);
  wr_operator_free(op);
  wr_matrix_free(A);
}

static void try_operator_apply(void) { try_operator_apply_by(wr_operator_apply); }
static void try_operator_apply_device(void) { try_operator_apply_by(wr_operator_apply_device); }

#define ARGUMENTS_API                                                                                   \
  {"wr_backend_name", try_backend_name}, {"wr_backend_check", try_backend_check},                       \
      {"wr_built_with", try_built_with}, {"wr_read", try_read}, {"wr_read_as", try_read_as},            \
      {"wr_matrix_new_csr", try_matrix_new_csr}, {"wr_matrix_new_csr64", try_matrix_new_csr64},         \
      {"wr_matrix_new_coo", try_matrix_new_coo}, {"wr_matrix_new_coo64", try_matrix_new_coo64},         \
      {"wr_matrix_free", try_matrix_free}, {"wr_matrix_rows", try_matrix_rows},                         \
      {"wr_matrix_columns", try_matrix_columns}, {"wr_matrix_entries", try_matrix_entries},             \
      {"wr_matrix_row_ptr", try_matrix_row_ptr}, {"wr_matrix_col", try_matrix_col},                     \
      {"wr_matrix_val", try_matrix_val}, {"wr_matrix_id", try_matrix_id},                               \
      {"wr_matrix_find", try_matrix_find}, {"wr_trace_new", try_trace_new},                             \
      {"wr_trace_free", try_trace_free}, {"wr_trace_get", try_trace_get}, {"wr_solve", try_solve},      \
      {"wr_solve_csr", try_solve_csr}, {"wr_solve_csr64", try_solve_csr64},                             \
      {"wr_solver_new", try_solver_new}, {"wr_solver_free", try_solver_free},                           \
      {"wr_solver_solve", try_solver_solve}, {"wr_solver_solve_many", try_solver_solve_many},           \
      {"wr_solver_solve_device", try_solver_solve_device},                                              \
      {"wr_solver_solve_many_device", try_solver_solve_many_device},                                    \
      {"wr_rank", try_rank}, {"wr_rank_many", try_rank_many}, {"wr_rank_best", try_rank_best},          \
      {"wr_rank_device", try_rank_device},                                                              \
      {"wr_operator_new", try_operator_new},                                                            \
      {"wr_operator_free", try_operator_free}, {"wr_operator_apply", try_operator_apply},         \
      {"wr_operator_apply_device", try_operator_apply_device},

#endif
