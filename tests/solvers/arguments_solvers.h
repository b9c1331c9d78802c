/* Rows of test_arguments.c: solver.h, system.h, bicgstab.h, graph.h, pagerank.h, rank.h, windrow.h. */
#ifndef WR_ARGUMENTS_SOLVERS_H
#define WR_ARGUMENTS_SOLVERS_H

static void try_outcome_title(void) {
  CHECK(strcmp(wr_outcome_title((wr_outcome)99), "unknown outcome") == 0);
  CHECK(strcmp(wr_outcome_title((wr_outcome)-1), "unknown outcome") == 0);
}

static void try_outcome_exit_code(void) {
  CHECK(wr_outcome_exit_code((wr_outcome)99) == wr_status_exit_code(WR_EINTERNAL));
  CHECK(wr_outcome_exit_code((wr_outcome)-1) == wr_status_exit_code(WR_EINTERNAL));
}

static void try_history_add(void) { REFUSED("history is NULL", wr_history_add(NULL, 1, 1)); }

static void try_history_free(void) {
  wr_history none = {0};
  wr_history_free(NULL);
  wr_history_free(&none);
  CHECK(none.count == 0);
}

/* SIZE ones, to be taken over. */
static double *ones(void) {
  double *v = NULL;
  CHECK_OK(wr_alloc(&v, SIZE, sizeof *v, "a test"));
  for (int i = 0; v && i < SIZE; i++) v[i] = 1;
  return v;
}

/* ---- system.h, bicgstab.h ---- */

/* Both free the vectors that they take over also when they fail; the address sanitizer finds a leak. */
static void try_system_by(wr_status (*make)(wr_csr *A, double *b, double *guess, int random, int64_t seed,
                                            wr_scale scale, const wr_preconditioner *precond, double atol,
                                            wr_system *system)) {
  wr_system system;
  called = "wr_system_begin"; /* which refuses the argument */
  REFUSED("system is NULL", make(given.A, ones(), ones(), 0, 0, WR_SCALE_NONE, 0, 0, NULL));
  REFUSED("A is NULL", make(NULL, ones(), ones(), 0, 0, WR_SCALE_NONE, 0, 0, &system));
  REFUSED("A has no row_ptr", make(&given.bare, ones(), ones(), 0, 0, WR_SCALE_NONE, 0, 0, &system));
  REFUSED("atol is -1", make(given.A, ones(), ones(), 0, 0, WR_SCALE_NONE, 0, -1, &system));
  REFUSED("atol is nan", make(given.A, ones(), ones(), 0, 0, WR_SCALE_NONE, 0, (double)NAN, &system));
  REFUSED("atol is inf", make(given.A, ones(), ones(), 0, 0, WR_SCALE_NONE, 0, (double)INFINITY, &system));
  REFUSED("scale is 17", make(given.A, ones(), ones(), 0, 0, (wr_scale)17, 0, 0, &system));
  CHECK(system.A == NULL && system.b == NULL);
}

static void try_system_build(void) { try_system_by(wr_system_build); }
static wr_status begin_unwatched(wr_csr *A, double *b, double *guess, int random, int64_t seed, wr_scale scale,
                                 const wr_preconditioner *precond, double atol, wr_system *system) {
  return wr_system_begin(A, b, guess, random, seed, scale, precond, atol, NULL, system);
}
static void try_system_begin(void) { try_system_by(begin_unwatched); }

static void try_system_step(wr_status (*go_on)(wr_system *system, wr_env *device)) {
  wr_system system, none = {0};
  REFUSED("system is NULL", go_on(NULL, &given.env));
  REFUSED("system is not begun", go_on(&none, &given.env));
  CHECK_OK(wr_system_begin(given.A, ones(), NULL, 0, 0, WR_SCALE_EQUILIBRATE, 0, 0, NULL, &system));
  REFUSED("device is not open", go_on(&system, &given.closed));
  CHECK(system.A == NULL && system.b == NULL); /* after an error nothing is left to be freed */
}

static void try_system_upload(void) { try_system_step(wr_system_upload); }
static void try_system_finish(void) { try_system_step(wr_system_finish); }

static void try_system_free(void) {
  wr_system none = {0};
  wr_system_free(NULL);
  wr_system_free(&none);
  CHECK(none.b == NULL);
}

static void try_system_unscale(void) {
  double x[SIZE] = {1};
  wr_system none = {0};
  wr_system_unscale(NULL, x);
  wr_system_unscale(&none, NULL);
  CHECK(x[0] == 1);
}

static void try_system_scale_rows(void) {
  wr_system system, none = {0};
  double q[SIZE] = {1}, rows[SIZE] = {7};
  CHECK_OK(wr_system_build(given.A, NULL, NULL, 0, 0, WR_SCALE_NONE, 0, 0, &system));
  REFUSED("system is NULL", wr_system_scale_rows(NULL, q, rows));
  REFUSED("q is NULL", wr_system_scale_rows(&system, NULL, rows));
  REFUSED("rows is NULL", wr_system_scale_rows(&system, q, NULL));
  REFUSED("q and rows are one array", wr_system_scale_rows(&system, q, q));
  REFUSED("system is not built", wr_system_scale_rows(&none, q, rows));
  CHECK(rows[0] == 7);
  wr_system_free(&system);
}

/* Frees the vectors that it takes over also when it fails. */
static void try_system_set_rhs(void) {
  wr_system system, none = {0};
  CHECK_OK(wr_system_build(given.A, NULL, NULL, 0, 0, WR_SCALE_NONE, 0, 0, &system));
  REFUSED("system is NULL", wr_system_set_rhs(NULL, ones(), ones(), 0));
  REFUSED("system is not built", wr_system_set_rhs(&none, ones(), ones(), 0));
  REFUSED("b is NULL", wr_system_set_rhs(&system, NULL, ones(), 0));
  REFUSED("atol is -1", wr_system_set_rhs(&system, ones(), NULL, -1));
  REFUSED("atol is nan", wr_system_set_rhs(&system, ones(), NULL, (double)NAN));
  CHECK(system.b != NULL);
  wr_system_free(&system);
}

static void try_system_set_guess(void) {
  double x[SIZE];
  wr_system system, none = {0};
  for (int i = 0; i < SIZE; i++) x[i] = 1;
  CHECK_OK(wr_system_build(given.A, NULL, NULL, 0, 0, WR_SCALE_NONE, 0, 0, &system));
  REFUSED("system is NULL", wr_system_set_guess(NULL, x));
  REFUSED("system is not built", wr_system_set_guess(&none, x));
  REFUSED("x is NULL", wr_system_set_guess(&system, NULL));
  CHECK_OK(wr_system_set_guess(&system, x));
  x[1] = (double)NAN;
  CHECK_FAILS(WR_EINPUT, wr_system_set_guess(&system, x));
  CHECK(system.guess && system.guess[0] == ldexp(1, system.exponent + system.rhs_exponent) &&
        system.guess[1] == system.guess[0]);
  wr_system_free(&system);
}

static void try_graph_set_start(void) {
  double scores[SIZE];
  wr_graph graph, none = {0};
  for (int i = 0; i < SIZE; i++) scores[i] = i == 0 ? -1 : 2;
  CHECK_OK(wr_graph_build(given.A, 0, NULL, NULL, &graph));
  REFUSED("graph is NULL", wr_graph_set_start(NULL, scores));
  REFUSED("graph is not begun", wr_graph_set_start(&none, scores));
  REFUSED("scores is NULL", wr_graph_set_start(&graph, NULL));
  CHECK_OK(wr_graph_set_start(&graph, scores));
  scores[1] = (double)NAN;
  CHECK_FAILS(WR_EINPUT, wr_graph_set_start(&graph, scores));
  CHECK(graph.start && graph.start[0] == 0 && graph.start[1] > 0 && graph.start[1] == graph.start[SIZE - 1]);
  wr_graph_free(&graph);
}

static void try_scaling_find(void) {
  wr_scaling scaling;
  REFUSED("A is NULL", wr_scaling_find(NULL, WR_SCALE_AUTO, &scaling));
  REFUSED("A has no row_ptr", wr_scaling_find(&given.bare, WR_SCALE_AUTO, &scaling));
  REFUSED("s is NULL", wr_scaling_find(given.A, WR_SCALE_AUTO, NULL));
  REFUSED("scale is 4", wr_scaling_find(given.A, (wr_scale)4, &scaling));
  CHECK(scaling.done == WR_SCALE_NONE && scaling.row_exponent == NULL);
}

static void try_scaling_free(void) {
  wr_scaling none = {0};
  wr_scaling_free(NULL);
  wr_scaling_free(&none);
  CHECK(none.row_of == NULL);
}

static void try_hash_shadow(void) {
  double x[SIZE] = {7};
  wr_hash_shadow(NULL, SIZE, 1);
  wr_hash_shadow(x, -1, 1);
  CHECK(x[0] == 7);
}

static void try_residual_row(void) {
  wr_system system, none = {0};
  const double x[SIZE] = {1};
  CHECK_OK(wr_system_build(given.A, NULL, NULL, 0, 0, WR_SCALE_NONE, 0, 0, &system));
  CHECK(isinf(wr_residual_row(NULL, x, 0).value) && isinf(wr_residual_row(&none, x, 0).value));
  CHECK(isinf(wr_residual_row(&system, NULL, 0).value));
  CHECK(isinf(wr_residual_row(&system, x, -1).value) && isinf(wr_residual_row(&system, x, SIZE).value));
  wr_system_free(&system);
}

static void try_residual_meets(void) {
  wr_residual none = {0}, infinite = {.norm = INFINITY};
  wr_system system = {.norm_b = 1, .absolute = DBL_MAX};
  CHECK(!wr_residual_meets(NULL, &none, 1, 0) && !wr_residual_meets(&system, NULL, 1, 0));
  CHECK(wr_residual_meets(&system, &none, 0, 0) && !wr_residual_meets(&system, &infinite, 1, 0));
}

static void try_residual_find(void) {
  wr_system system, none = {0};
  wr_residual found;
  const double x[SIZE] = {1};
  CHECK_OK(wr_system_build(given.A, NULL, NULL, 0, 0, WR_SCALE_NONE, 0, 0, &system));
  REFUSED("system is NULL", wr_residual_find(NULL, x, NULL, &found));
  REFUSED("system is not built", wr_residual_find(&none, x, NULL, &found));
  REFUSED("x is NULL", wr_residual_find(&system, NULL, NULL, &found));
  REFUSED("found is NULL", wr_residual_find(&system, x, NULL, NULL));
  wr_system_free(&system);
}

/* A build without KLU has the same checks in front. */
static void try_direct_solve(void) {
  wr_system system, none = {0};
  wr_direct_facts facts = {.entries = 7};
  wr_direct_options good = {.tolerance = 1e-8}, bad = {.tolerance = -1}, infinite = {.tolerance = (double)INFINITY};
  double x[SIZE] = {7};
  CHECK_OK(wr_system_build(given.A, NULL, NULL, 0, 0, WR_SCALE_NONE, 0, 0, &system));
  REFUSED("system is NULL", wr_direct_solve(NULL, &good, NULL, x, &facts));
  REFUSED("system is not built", wr_direct_solve(&none, &good, NULL, x, &facts));
  REFUSED("options is NULL", wr_direct_solve(&system, NULL, NULL, x, &facts));
  REFUSED("options->tolerance is -1", wr_direct_solve(&system, &bad, NULL, x, &facts));
  REFUSED("options->tolerance is inf", wr_direct_solve(&system, &infinite, NULL, x, &facts));
  bad.tolerance = (double)NAN;
  REFUSED("options->tolerance is nan", wr_direct_solve(&system, &bad, NULL, x, &facts));
  REFUSED("x is NULL", wr_direct_solve(&system, &good, NULL, NULL, &facts));
  REFUSED("facts is NULL", wr_direct_solve(&system, &good, NULL, x, NULL));
  CHECK(x[0] == 7 && facts.entries == 7);
  wr_system_free(&system);
}

static void try_direct_check(void) {
  wr_status status = wr_direct_check();
  CHECK(status == WR_OK || status == WR_EUNAVAILABLE);
}

static void try_bicgstab_last_product(void) {
  wr_bicgstab none = {0};
  double u[SIZE];
  REFUSED("s is NULL", wr_bicgstab_last_product(NULL, u, u, u));
  REFUSED("s is not open", wr_bicgstab_last_product(&none, u, u, u));
}

static void try_system_below_f32(void) {
  wr_system none = {0};
  CHECK(wr_system_below_f32(NULL) == 0 && wr_system_below_f32(&none) == 0);
}

/* Each exported method is in the list, once and by its own name. */
static void try_method(const wr_method *method, const char *name) {
  int times = 0;
  for (int k = 0; k < wr_method_count(); k++) times += wr_method_at(k) == method;
  CHECKF(times == 1, "%d times in the list", times);
  CHECK(strcmp(wr_method_name(method), name) == 0);
}

static void try_method_bicgstab(void) { try_method(&wr_method_bicgstab, "bicgstab"); }
static void try_method_bicgstabl(void) { try_method(&wr_method_bicgstabl, "bicgstabl"); }
static void try_method_idr(void) { try_method(&wr_method_idr, "idr"); }
static void try_method_cg(void) { try_method(&wr_method_cg, "cg"); }

static void try_method_count(void) {
  int64_t twice = 0;
  CHECK(wr_method_count() >= 4);
  for (int k = 0; k < wr_method_count(); k++)
    for (int j = 0; j < k; j++) twice += strcmp(wr_method_name(wr_method_at(j)), wr_method_name(wr_method_at(k))) == 0;
  CHECK(twice == 0);
}

static void try_method_at(void) {
  CHECK(wr_method_at(-1) == NULL && wr_method_at(wr_method_count()) == NULL && wr_method_at(INT_MAX) == NULL);
  CHECK(wr_method_at(0) != NULL && wr_method_at(wr_method_count() - 1) != NULL);
}

static void try_method_costs_of(void) {
  CHECK(wr_method_costs_of(NULL, -1).stored == 0 && wr_method_costs_of(&wr_method_bicgstabl, INT_MAX).moved == 0);
  wr_method_costs none = wr_method_costs_of(NULL, 0), bicgstab = wr_method_costs_of(&wr_method_bicgstab, 0);
  CHECK(none.multiplies == bicgstab.multiplies && none.moved == bicgstab.moved && none.stored == bicgstab.stored);
  CHECK(wr_method_costs_of(&wr_method_bicgstabl, 3).multiplies == 6 && bicgstab.multiplies == 2);
}

static void try_method_name(void) { CHECK(strcmp(wr_method_name(NULL), "") == 0); }

/* A system of A, and BiCGSTAB open on it. */
typedef struct solving {
  wr_system system;
  wr_bicgstab s;
} solving;

static void open_solving(solving *t) {
  CHECK_OK(wr_system_build(given.A, NULL, NULL, 0, 0, WR_SCALE_NONE, 0, 0, &t->system));
  CHECK_OK(wr_bicgstab_open(&t->s, &t->system, given.plan, &given.env));
}

static void close_solving(solving *t) {
  wr_bicgstab_close(&t->s);
  wr_system_free(&t->system);
}

static void try_bicgstab_open(void) {
  solving t;
  wr_bicgstab s;
  wr_system larger, none = {0};
  wr_env other = {.place = WR_HOST, .type = WR_F64, .threads = 1};
  CHECK_OK(wr_env_open(&other));
  CHECK_OK(wr_system_build(given.larger, NULL, NULL, 0, 0, WR_SCALE_NONE, 0, 0, &larger));
  open_solving(&t);
  REFUSED("s is NULL", wr_bicgstab_open(NULL, &t.system, given.plan, &given.env));
  REFUSED("system is NULL", wr_bicgstab_open(&s, NULL, given.plan, &given.env));
  REFUSED("system is not built", wr_bicgstab_open(&s, &none, given.plan, &given.env));
  REFUSED("plan is NULL", wr_bicgstab_open(&s, &t.system, NULL, &given.env));
  REFUSED("env is NULL", wr_bicgstab_open(&s, &t.system, given.plan, NULL));
  REFUSED("env is not open", wr_bicgstab_open(&s, &t.system, given.plan, &given.closed));
  REFUSED("plan was made for another env", wr_bicgstab_open(&s, &t.system, given.plan, &other));
  REFUSED("plan is of a matrix of 4 x 4", wr_bicgstab_open(&s, &larger, given.plan, &given.env));
  CHECK(s.env == NULL);
  close_solving(&t);
  wr_system_free(&larger);
  wr_env_close(&other);
}

static void try_bicgstab_close(void) {
  wr_bicgstab none = {0};
  wr_bicgstab_close(NULL);
  wr_bicgstab_close(&none);
  CHECK(none.env == NULL);
}

static void try_bicgstab_solve(void) {
  static const struct {
    wr_bicgstab_options options;
    const char *text;
  } wrong[] = {{{.tolerance = -1e-9, .iterations = 9}, "options->tolerance is -1e-09"},
               {{.tolerance = (double)NAN, .iterations = 9}, "options->tolerance is"},
               {{.tolerance = (double)INFINITY, .iterations = 9}, "options->tolerance is inf"},
               {{.tolerance = 1e-9, .iterations = -1}, "options->iterations is -1"},
               {{.tolerance = 1e-9, .iterations = 9, .check_every = -1}, "options->check_every is -1"},
               {{.tolerance = 1e-9, .iterations = 9, .first_review = -1}, "options->first_review is -1"},
               {{.tolerance = 1e-9, .iterations = 9, .l = -1}, "options->l is -1"},
               {{.tolerance = 1e-9, .iterations = 9, .l = 5}, "options->l is 5"}};
  const wr_bicgstab_options fine = {.tolerance = 1e-9, .iterations = 9};
  wr_bicgstab none = {0};
  wr_result result;
  wr_monitor monitor = {0};
  solving t;
  open_solving(&t);
  REFUSED("s is NULL", wr_bicgstab_solve(NULL, &fine, &monitor, &result));
  REFUSED("s is not open", wr_bicgstab_solve(&none, &fine, &monitor, &result));
  REFUSED("options is NULL", wr_bicgstab_solve(&t.s, NULL, &monitor, &result));
  REFUSED("result is NULL", wr_bicgstab_solve(&t.s, &fine, &monitor, NULL));
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
    REFUSED(wrong[k].text, wr_bicgstab_solve(&t.s, &wrong[k].options, &monitor, &result));
  CHECK_OK(wr_bicgstab_solve(&t.s, &fine, NULL, &result)); /* without a monitor */
  CHECK(result.outcome == WR_CONVERGED);
  close_solving(&t);
}

static void try_bicgstab_multiply(void) {
  wr_bicgstab none = {0};
  solving t;
  open_solving(&t);
  REFUSED("s is NULL", wr_bicgstab_multiply(NULL, 1));
  REFUSED("s is not open", wr_bicgstab_multiply(&none, 1));
  REFUSED("count is -1", wr_bicgstab_multiply(&t.s, -1));
  close_solving(&t);
}

static void try_bicgstab_download(void) {
  wr_bicgstab none = {0};
  double u[SIZE];
  REFUSED("s is NULL", wr_bicgstab_download(NULL, u, u));
  REFUSED("s is not open", wr_bicgstab_download(&none, u, u));
}

/* ---- graph.h, pagerank.h, rank.h ---- */

static void try_graph_by(wr_status (*make)(wr_csr *links, int edges_in, double *teleport, double *start,
                                           wr_graph *graph)) {
  wr_graph graph;
  called = "wr_graph_begin"; /* which refuses the argument */
  REFUSED("graph is NULL", make(given.A, 0, ones(), ones(), NULL));
  REFUSED("links is NULL", make(NULL, 0, ones(), ones(), &graph));
  REFUSED("links has no row_ptr", make(&given.bare, 0, ones(), ones(), &graph));
  CHECK(graph.links == NULL && graph.teleport == NULL);
}

static void try_graph_build(void) { try_graph_by(wr_graph_build); }
static void try_graph_begin(void) { try_graph_by(wr_graph_begin); }

static void try_graph_step(wr_status (*go_on)(wr_graph *graph, wr_env *device)) {
  wr_graph graph, none = {0};
  REFUSED("graph is NULL", go_on(NULL, &given.env));
  REFUSED("graph is not begun", go_on(&none, &given.env));
  CHECK_OK(wr_graph_begin(given.A, 0, ones(), NULL, &graph));
  REFUSED("device is not open", go_on(&graph, &given.closed));
  CHECK(graph.links == NULL && graph.teleport == NULL); /* after an error nothing is left to be freed */
}

static void try_graph_upload(void) { try_graph_step(wr_graph_upload); }
static void try_graph_finish(void) { try_graph_step(wr_graph_finish); }
static void try_graph_order(void) {
  wr_graph graph, none = {0};
  REFUSED("graph is NULL", wr_graph_order(NULL, 1));
  REFUSED("graph is not begun", wr_graph_order(&none, 1));
  CHECK_OK(wr_graph_build(given.A, 0, NULL, NULL, &graph));
  REFUSED("graph is finished", wr_graph_order(&graph, 1));
  wr_graph_free(&graph);
}

static void try_graph_arrange(void) {
  double by_page[SIZE] = {1}, by_row[SIZE] = {2};
  wr_graph graph = {.n = SIZE};
  wr_graph_arrange(NULL, by_page, by_row), wr_graph_arrange(&graph, NULL, by_row),
      wr_graph_arrange(&graph, by_page, NULL);
  CHECK(by_row[0] == 2);
}

static void try_graph_restore(void) {
  double by_page[SIZE] = {1}, by_row[SIZE] = {2};
  wr_graph graph = {.n = SIZE};
  wr_graph_restore(NULL, by_row, by_page), wr_graph_restore(&graph, NULL, by_page),
      wr_graph_restore(&graph, by_row, NULL);
  CHECK(by_page[0] == 1);
}

static void try_graph_place(void) {
  double by_page[SIZE] = {1};
  wr_graph graph = {.n = SIZE};
  wr_vec v = {0};
  REFUSED("graph is NULL", wr_graph_place(NULL, &given.env, by_page, &v));
  REFUSED("env is not open", wr_graph_place(&graph, &given.closed, by_page, &v));
  REFUSED("by_page is NULL", wr_graph_place(&graph, &given.env, NULL, &v));
  REFUSED("v is NULL", wr_graph_place(&graph, &given.env, by_page, NULL));
}

static void try_graph_sends_links(void) { CHECK(wr_graph_sends_links(NULL, 0, WR_F64, 1) == 0); }

static void try_graph_link_weight(void) {
  double ranks[SIZE] = {1};
  wr_graph none = {0};
  CHECK(wr_graph_link_weight(NULL, ranks) == 0);
  CHECK(wr_graph_link_weight(&none, ranks) == 0);
  CHECK(wr_graph_link_weight(&(wr_graph){.links = given.A}, NULL) == 0);
}

static void try_scores_certify(void) {
  double scores[SIZE] = {1};
  wr_score_bound found;
  wr_graph none = {0}, graph;
  REFUSED("graph is NULL", wr_scores_certify(NULL, 0.85, scores, &found));
  REFUSED("graph is not finished on the host", wr_scores_certify(&none, 0.85, scores, &found));
  CHECK_OK(wr_graph_build(given.A, 0, NULL, NULL, &graph));
  REFUSED("damping is 1", wr_scores_certify(&graph, 1, scores, &found));
  REFUSED("damping is nan", wr_scores_certify(&graph, (double)NAN, scores, &found));
  REFUSED("scores is NULL", wr_scores_certify(&graph, 0.85, NULL, &found));
  REFUSED("found is NULL", wr_scores_certify(&graph, 0.85, scores, NULL));
  CHECK_OK(wr_scores_certify(&graph, 0.85, scores, &found));
  wr_graph_free(&graph);
}

static void try_scores_explain(void) {
  double scores[SIZE] = {1};
  wr_score_bound asked = {.sum = 1, .bound = 2};
  wr_score_reading reading;
  wr_graph none = {0}, graph;
  REFUSED("graph is NULL", wr_scores_explain(NULL, 0.85, scores, &asked, &reading));
  REFUSED("graph is not finished on the host", wr_scores_explain(&none, 0.85, scores, &asked, &reading));
  CHECK_OK(wr_graph_build(given.A, 0, NULL, NULL, &graph));
  REFUSED("damping is -1", wr_scores_explain(&graph, -1, scores, &asked, &reading));
  REFUSED("scores is NULL", wr_scores_explain(&graph, 0.85, NULL, &asked, &reading));
  REFUSED("asked is NULL", wr_scores_explain(&graph, 0.85, scores, NULL, &reading));
  REFUSED("reading is NULL", wr_scores_explain(&graph, 0.85, scores, &asked, NULL));
  CHECK_OK(wr_scores_explain(&graph, 0.85, scores, &asked, &reading));
  wr_graph_free(&graph);
}

static void try_graph_free(void) {
  wr_graph none = {0};
  wr_graph_free(NULL);
  wr_graph_free(&none);
  CHECK(none.links == NULL);
}

/* The links are the rows of A: a page each that links to itself. */
typedef struct ranking {
  wr_graph graph;
  wr_plan *plan;
  wr_pagerank p;
} ranking;

static void open_ranking(ranking *t) {
  CHECK_OK(wr_graph_build(given.A, 0, NULL, NULL, &t->graph));
  CHECK_OK(wr_plan_create(wr_plan_backend(given.plan), NULL, t->graph.flow, &given.env, &t->plan));
  CHECK_OK(wr_plan_prepare(t->plan));
  CHECK_OK(wr_pagerank_open(&t->p, &t->graph, t->plan, &given.env));
}

static void close_ranking(ranking *t) {
  wr_pagerank_close(&t->p);
  wr_plan_destroy(t->plan);
  wr_graph_free(&t->graph);
}

static const wr_pagerank_options fine_ranking = {.damping = 0.85, .tolerance = 1e-9, .iterations = 99};

static const struct {
  wr_pagerank_options options;
  const char *text;
} wrong_ranking[] = {
    {{.damping = 1, .tolerance = 1e-9}, "options->damping is 1;"},
    {{.damping = -0.1, .tolerance = 1e-9}, "options->damping is -0.1;"},
    {{.damping = (double)NAN, .tolerance = 1e-9}, "options->damping is"},
    {{.damping = 0.85, .tolerance = 0}, "options->tolerance is 0;"},
    {{.damping = 0.85, .tolerance = -1}, "options->tolerance is -1;"},
    {{.damping = 0.85, .tolerance = (double)NAN}, "options->tolerance is"},
    {{.damping = 0.85, .tolerance = (double)INFINITY}, "options->tolerance is inf"},
    {{.damping = 0.85, .tolerance = 1e-9, .iterations = -1}, "options->iterations is -1"},
    {{.damping = 0.85, .tolerance = 1e-9, .check_every = -8}, "options->check_every is -8"},
    {{.method = (wr_pagerank_method)7, .damping = 0.85, .tolerance = 1e-9}, "options->method is 7"},
    {{.damping = 0.85, .tolerance = 1e-9, .order = -2}, "options->order is -2"},
};
enum { WRONG_RANKING = sizeof wrong_ranking / sizeof *wrong_ranking };

static void try_pagerank_open(void) {
  ranking t;
  wr_pagerank p;
  wr_graph larger, none = {0};
  open_ranking(&t);
  CHECK_OK(wr_graph_build(given.larger, 0, NULL, NULL, &larger));
  REFUSED("p is NULL", wr_pagerank_open(NULL, &t.graph, t.plan, &given.env));
  REFUSED("graph is NULL", wr_pagerank_open(&p, NULL, t.plan, &given.env));
  REFUSED("graph is not finished", wr_pagerank_open(&p, &none, t.plan, &given.env));
  REFUSED("plan is NULL", wr_pagerank_open(&p, &t.graph, NULL, &given.env));
  REFUSED("plan is of a matrix of 4 x 4", wr_pagerank_open(&p, &larger, t.plan, &given.env));
  REFUSED("env is NULL", wr_pagerank_open(&p, &t.graph, t.plan, NULL));
  REFUSED("env is not open", wr_pagerank_open(&p, &t.graph, t.plan, &given.closed));
  CHECK(p.env == NULL);
  wr_graph_free(&larger);
  close_ranking(&t);
}

static void try_pagerank_close(void) {
  wr_pagerank none = {0};
  wr_pagerank_close(NULL);
  wr_pagerank_close(&none);
  CHECK(none.env == NULL);
}

static void try_pagerank_sweep_in(void) {
  ranking t = {0};
  wr_pagerank none = {0};
  wr_env narrow, other = {.place = WR_HOST, .type = WR_F32, .threads = 1};
  wr_plan *plan = NULL;
  open_ranking(&t);
  CHECK_OK(wr_env_with_type(&given.env, WR_F32, &narrow));
  CHECK_OK(wr_plan_create(wr_plan_backend(given.plan), NULL, t.graph.flow, &narrow, &plan));
  CHECK_OK(wr_plan_prepare(plan));
  REFUSED("p is NULL", wr_pagerank_sweep_in(NULL, plan, &narrow));
  REFUSED("p is not open", wr_pagerank_sweep_in(&none, plan, &narrow));
  REFUSED("env is NULL", wr_pagerank_sweep_in(&t.p, plan, NULL));
  REFUSED("env is not open", wr_pagerank_sweep_in(&t.p, plan, &given.closed));
  REFUSED("env is not of f32", wr_pagerank_sweep_in(&t.p, t.plan, &given.env));
  CHECK_OK(wr_env_open(&other));
  REFUSED("env does not share the memory of p's", wr_pagerank_sweep_in(&t.p, plan, &other));
  wr_env_close(&other);
  REFUSED("plan is NULL", wr_pagerank_sweep_in(&t.p, NULL, &narrow));
  REFUSED("plan was made for another env", wr_pagerank_sweep_in(&t.p, t.plan, &narrow));
  CHECK_OK(wr_pagerank_sweep_in(&t.p, plan, &narrow));
  REFUSED("p sweeps in f32 already", wr_pagerank_sweep_in(&t.p, plan, &narrow));
  wr_pagerank_close(&t.p);
  wr_plan_destroy(plan);
  close_ranking(&t);
}

static void try_pagerank_solve(void) {
  ranking t;
  wr_pagerank none = {0};
  wr_result result;
  wr_monitor monitor = {0};
  open_ranking(&t);
  REFUSED("p is NULL", wr_pagerank_solve(NULL, &fine_ranking, &monitor, &result));
  REFUSED("p is not open", wr_pagerank_solve(&none, &fine_ranking, &monitor, &result));
  REFUSED("options is NULL", wr_pagerank_solve(&t.p, NULL, &monitor, &result));
  REFUSED("result is NULL", wr_pagerank_solve(&t.p, &fine_ranking, &monitor, NULL));
  for (int k = 0; k < WRONG_RANKING; k++)
    REFUSED(wrong_ranking[k].text, wr_pagerank_solve(&t.p, &wrong_ranking[k].options, &monitor, &result));
  CHECK_OK(wr_pagerank_solve(&t.p, &fine_ranking, NULL, &result)); /* without a monitor */
  CHECK(result.outcome == WR_CONVERGED);
  close_ranking(&t);
}

static void try_pagerank_ranks(void) {
  ranking t;
  wr_pagerank none = {0};
  wr_vec ranks = {0};
  open_ranking(&t);
  REFUSED("p is NULL", wr_pagerank_ranks(NULL, &ranks));
  REFUSED("p is not open", wr_pagerank_ranks(&none, &ranks));
  REFUSED("ranks is NULL", wr_pagerank_ranks(&t.p, NULL));
  CHECK(wr_pagerank_ranks(&t.p, &ranks) == WR_EUSAGE); /* not allocated */
  close_ranking(&t);
}

static void try_pagerank_check(void) {
  REFUSED("options is NULL", wr_pagerank_check(NULL, called));
  for (int k = 0; k < WRONG_RANKING; k++)
    REFUSED(wrong_ranking[k].text, wr_pagerank_check(&wrong_ranking[k].options, called));
  CHECK_OK(wr_pagerank_check(&fine_ranking, called));
}

static void try_pagerank_target(void) {
  ranking t;
  wr_pagerank none = {0};
  open_ranking(&t);
  CHECK(wr_pagerank_target(NULL, &fine_ranking) == 0 && wr_pagerank_target(&none, &fine_ranking) == 0);
  CHECK(wr_pagerank_target(&t.p, NULL) == 0);
  for (int k = 0; k < WRONG_RANKING; k++) CHECK(wr_pagerank_target(&t.p, &wrong_ranking[k].options) == 0);
  CHECK(wr_pagerank_target(&t.p, &fine_ranking) > 0);
  close_ranking(&t);
}

static void try_pagerank_download(void) {
  ranking t;
  wr_pagerank none = {0};
  double scores[SIZE];
  open_ranking(&t);
  REFUSED("p is NULL", wr_pagerank_download(NULL, scores));
  REFUSED("p is not open", wr_pagerank_download(&none, scores));
  REFUSED("scores is NULL", wr_pagerank_download(&t.p, NULL));
  close_ranking(&t);
}

static void try_pagerank_step(void) {
  ranking t;
  wr_pagerank none = {0};
  double scores[SIZE], change, dangling;
  open_ranking(&t);
  REFUSED("p is NULL", wr_pagerank_step(NULL, &fine_ranking, scores, &change, &dangling));
  REFUSED("p is not open", wr_pagerank_step(&none, &fine_ranking, scores, &change, &dangling));
  REFUSED("options is NULL", wr_pagerank_step(&t.p, NULL, scores, &change, &dangling));
  REFUSED("scores is NULL", wr_pagerank_step(&t.p, &fine_ranking, NULL, &change, &dangling));
  REFUSED("change is NULL", wr_pagerank_step(&t.p, &fine_ranking, scores, NULL, &dangling));
  REFUSED("dangling is NULL", wr_pagerank_step(&t.p, &fine_ranking, scores, &change, NULL));
  for (int k = 0; k < WRONG_RANKING; k++)
    REFUSED(wrong_ranking[k].text, wr_pagerank_step(&t.p, &wrong_ranking[k].options, scores, &change, &dangling));
  close_ranking(&t);
}

static void try_pagerank_multiply(void) {
  ranking t;
  wr_pagerank none = {0};
  open_ranking(&t);
  REFUSED("p is NULL", wr_pagerank_multiply(NULL, 1));
  REFUSED("p is not open", wr_pagerank_multiply(&none, 1));
  REFUSED("count is -2", wr_pagerank_multiply(&t.p, -2));
  close_ranking(&t);
}

static void try_pagerank_normalise(void) {
  double scores[] = {0.5, 0.5};
  REFUSED("scores is NULL", wr_pagerank_normalise(NULL, 2, &fine_ranking, 0));
  REFUSED("n is 0", wr_pagerank_normalise(scores, 0, &fine_ranking, 0));
  REFUSED("options is NULL", wr_pagerank_normalise(scores, 2, NULL, 0));
  REFUSED("rounding is -1;", wr_pagerank_normalise(scores, 2, &fine_ranking, -1));
  REFUSED("rounding is", wr_pagerank_normalise(scores, 2, &fine_ranking, (double)NAN));
  for (int k = 0; k < WRONG_RANKING; k++)
    REFUSED(wrong_ranking[k].text, wr_pagerank_normalise(scores, 2, &wrong_ranking[k].options, 0));
  CHECK(scores[0] == 0.5 && scores[1] == 0.5);
}

static void try_rank_method_name(void) {
  CHECK(strcmp(wr_rank_method_name(WR_RANK_AUTO), "auto") == 0 && strcmp(wr_rank_method_name(WR_RANK_IDR), "idr") == 0);
  CHECK(wr_rank_method_name((wr_rank_method)99)[0] == '\0' && wr_rank_method_name((wr_rank_method)-1)[0] == '\0');
}

static void try_rank_open(void) {
  ranking t;
  wr_ranking rank;
  wr_graph none = {0};
  open_ranking(&t);
  REFUSED("rank is NULL", wr_rank_open(NULL, &t.graph, t.plan, &given.env));
  REFUSED("graph is NULL", wr_rank_open(&rank, NULL, t.plan, &given.env));
  REFUSED("graph is not finished", wr_rank_open(&rank, &none, t.plan, &given.env));
  REFUSED("plan is NULL", wr_rank_open(&rank, &t.graph, NULL, &given.env));
  REFUSED("env is not open", wr_rank_open(&rank, &t.graph, t.plan, &given.closed));
  wr_rank_close(&rank); /* after it has failed */
  close_ranking(&t);
}

static void try_rank_close(void) {
  wr_ranking none = {0};
  wr_rank_close(NULL);
  wr_rank_close(&none);
  CHECK(none.iterated.env == NULL);
}

static void try_rank_solve(void) {
  ranking t;
  wr_ranking rank, none = {0};
  wr_result result;
  open_ranking(&t);
  CHECK_OK(wr_rank_open(&rank, &t.graph, t.plan, &given.env));
  REFUSED("rank is NULL", wr_rank_solve(NULL, WR_RANK_AUTO, &fine_ranking, NULL, &result));
  REFUSED("rank is not open", wr_rank_solve(&none, WR_RANK_AUTO, &fine_ranking, NULL, &result));
  REFUSED("method is 77", wr_rank_solve(&rank, (wr_rank_method)77, &fine_ranking, NULL, &result));
  REFUSED("options is NULL", wr_rank_solve(&rank, WR_RANK_AUTO, NULL, NULL, &result));
  REFUSED("result is NULL", wr_rank_solve(&rank, WR_RANK_AUTO, &fine_ranking, NULL, NULL));
  for (int k = 0; k < WRONG_RANKING; k++)
    for (int method = WR_RANK_AUTO; wrong_ranking[k].options.method == 0 && method <= WR_RANK_GAUSS_SEIDEL; method++)
      REFUSED(wrong_ranking[k].text,
              wr_rank_solve(&rank, (wr_rank_method)method, &wrong_ranking[k].options, NULL, &result));
  CHECK_OK(wr_rank_solve(&rank, WR_RANK_IDR, &fine_ranking, NULL, &result)); /* without a monitor */
  CHECK(result.outcome == WR_CONVERGED);
  wr_rank_close(&rank);
  close_ranking(&t);
}

static void try_rank_sets_columns(void) {
  wr_env narrow = given.env;
  narrow.type = WR_F32;
  CHECK(wr_rank_sets_columns(NULL) == 0);
  CHECK(wr_rank_sets_columns(&given.env) == (given.env.place == WR_CUDA ? 8 : 4));
  CHECK(wr_rank_sets_columns(&narrow) == 8);
}

static wr_status count_set(void *context, const wr_set_ranks *found) {
  *(int64_t *)context += found->set + 1;
  return WR_OK;
}

static void try_rank_sets(void) {
  static const wr_rank_sets_options fine = {.damping = 0.85, .tolerance = 1e-9, .iterations = 99, .columns = 2};
  static const struct {
    wr_rank_sets_options options;
    const char *text;
  } wrong[] = {
      {{.damping = 1, .tolerance = 1e-9, .iterations = 9}, "options->damping is 1;"},
      {{.damping = (double)NAN, .tolerance = 1e-9, .iterations = 9}, "options->damping is"},
      {{.damping = 0.85, .tolerance = 0, .iterations = 9}, "options->tolerance is 0;"},
      {{.damping = 0.85, .tolerance = (double)INFINITY, .iterations = 9}, "options->tolerance is inf"},
      {{.damping = 0.85, .tolerance = 1e-9}, "options->iterations is 0"},
      {{.damping = 0.85, .tolerance = 1e-9, .iterations = 9, .check_every = -1}, "options->check_every is -1"},
      {{.damping = 0.85, .tolerance = 1e-9, .iterations = 9, .columns = 3}, "options->columns is 3;"},
      {{.damping = 0.85, .tolerance = 1e-9, .iterations = 9, .top = -1}, "options->top is -1"},
      {{.damping = 0.85, .tolerance = 1e-9, .iterations = 9, .checks = -1}, "options->checks is -1"},
  };
  ranking t;
  wr_graph none = {0};
  wr_plan *plan = NULL;
  wr_rank_sets_facts facts;
  const int64_t first[] = {0, 1, 3}, page[] = {1, 0, 2};
  const wr_teleport_sets sets = {2, first, page, NULL}, negative = {-1, first, page, NULL},
                         no_pages = {2, first, NULL, NULL};
  int64_t seen = 0;
  open_ranking(&t);
  given.env.need_columns = 2;
  CHECK_OK(wr_plan_create(wr_plan_backend(given.plan), NULL, t.graph.flow, &given.env, &plan));
  CHECK_OK(wr_plan_prepare(plan));
  given.env.need_columns = 0;
#define SETS(graph, plan, env, sets, options, done, facts) \
  wr_rank_sets(graph, plan, env, sets, options, NULL, done, &seen, facts)
  REFUSED("graph is NULL", SETS(NULL, plan, &given.env, &sets, &fine, count_set, &facts));
  REFUSED("graph is not finished", SETS(&none, plan, &given.env, &sets, &fine, count_set, &facts));
  REFUSED("plan is NULL", SETS(&t.graph, NULL, &given.env, &sets, &fine, count_set, &facts));
  REFUSED("env is NULL", SETS(&t.graph, plan, NULL, &sets, &fine, count_set, &facts));
  REFUSED("env is not open", SETS(&t.graph, plan, &given.closed, &sets, &fine, count_set, &facts));
  REFUSED("sets is NULL", SETS(&t.graph, plan, &given.env, NULL, &fine, count_set, &facts));
  REFUSED("sets is incomplete", SETS(&t.graph, plan, &given.env, &negative, &fine, count_set, &facts));
  REFUSED("sets is incomplete", SETS(&t.graph, plan, &given.env, &no_pages, &fine, count_set, &facts));
  REFUSED("options is NULL", SETS(&t.graph, plan, &given.env, &sets, NULL, count_set, &facts));
  REFUSED("done is NULL", SETS(&t.graph, plan, &given.env, &sets, &fine, NULL, &facts));
  REFUSED("facts is NULL", SETS(&t.graph, plan, &given.env, &sets, &fine, count_set, NULL));
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
    REFUSED(wrong[k].text, SETS(&t.graph, plan, &given.env, &sets, &wrong[k].options, count_set, &facts));
  CHECK(seen == 0);
  CHECK_OK(SETS(&t.graph, plan, &given.env, &sets, &fine, count_set, &facts));
  CHECK(seen == 3 && facts.done == 2);
#undef SETS
  wr_plan_destroy(plan);
  close_ranking(&t);
}

static void try_version(void) { CHECK(wr_version() != NULL && wr_version()[0] != '\0'); }

#define ARGUMENTS_SOLVERS                                                                             \
  {"wr_outcome_title", try_outcome_title}, {"wr_outcome_exit_code", try_outcome_exit_code},           \
      {"wr_history_add", try_history_add}, {"wr_history_free", try_history_free},                     \
      {"wr_system_scale_rows", try_system_scale_rows}, {"wr_scaling_find", try_scaling_find},         \
      {"wr_scaling_free", try_scaling_free}, {"wr_system_set_rhs", try_system_set_rhs},                  \
      {"wr_system_set_guess", try_system_set_guess}, {"wr_graph_set_start", try_graph_set_start},     \
      {"wr_system_build", try_system_build}, {"wr_system_free", try_system_free},                     \
      {"wr_system_begin", try_system_begin}, {"wr_system_upload", try_system_upload},                 \
      {"wr_system_finish", try_system_finish},                                                        \
      {"wr_system_unscale", try_system_unscale}, {"wr_hash_shadow", try_hash_shadow},                 \
      {"wr_bicgstab_last_product", try_bicgstab_last_product},                                        \
      {"wr_system_below_f32", try_system_below_f32},                                                  \
      {"wr_residual_meets", try_residual_meets},                                                \
      {"wr_direct_check", try_direct_check}, {"wr_direct_solve", try_direct_solve},                 \
      {"wr_residual_row", try_residual_row}, {"wr_residual_find", try_residual_find},                 \
      {"wr_method_bicgstab", try_method_bicgstab}, {"wr_method_bicgstabl", try_method_bicgstabl},     \
      {"wr_method_idr", try_method_idr}, {"wr_method_cg", try_method_cg},                             \
      {"wr_method_count", try_method_count}, {"wr_method_at", try_method_at},                         \
      {"wr_method_name", try_method_name}, {"wr_method_costs_of", try_method_costs_of},               \
      {"wr_bicgstab_open", try_bicgstab_open}, {"wr_bicgstab_close", try_bicgstab_close},             \
      {"wr_bicgstab_solve", try_bicgstab_solve}, {"wr_bicgstab_multiply", try_bicgstab_multiply},     \
      {"wr_bicgstab_download", try_bicgstab_download}, {"wr_graph_build", try_graph_build},           \
      {"wr_graph_begin", try_graph_begin}, {"wr_graph_upload", try_graph_upload},                     \
      {"wr_graph_finish", try_graph_finish}, {"wr_graph_sends_links", try_graph_sends_links},         \
      {"wr_graph_order", try_graph_order}, {"wr_graph_arrange", try_graph_arrange},                      \
      {"wr_graph_restore", try_graph_restore}, {"wr_graph_place", try_graph_place},              \
      {"wr_graph_link_weight", try_graph_link_weight}, {"wr_graph_free", try_graph_free},             \
      {"wr_scores_certify", try_scores_certify}, {"wr_scores_explain", try_scores_explain},           \
      {"wr_pagerank_open", try_pagerank_open}, {"wr_pagerank_close", try_pagerank_close},             \
      {"wr_pagerank_solve", try_pagerank_solve}, {"wr_pagerank_download", try_pagerank_download},     \
      {"wr_pagerank_step", try_pagerank_step}, {"wr_pagerank_multiply", try_pagerank_multiply},       \
      {"wr_pagerank_ranks", try_pagerank_ranks}, {"wr_pagerank_target", try_pagerank_target},         \
      {"wr_pagerank_check", try_pagerank_check}, {"wr_pagerank_sweep_in", try_pagerank_sweep_in},     \
      {"wr_rank_method_name", try_rank_method_name}, {"wr_rank_open", try_rank_open},                 \
      {"wr_rank_close", try_rank_close}, {"wr_rank_solve", try_rank_solve},                           \
      {"wr_rank_sets_columns", try_rank_sets_columns}, {"wr_rank_sets", try_rank_sets},               \
      {"wr_pagerank_normalise", try_pagerank_normalise}, {"wr_version", try_version},

#endif
