/* Other parts that do not answer: every call of a whole solve in parts, which are threads here, fails once as though the others
 * had stopped, from reading the matrix to the check of the answer. Each time all parts say so, and free what they have. */
#define _DEFAULT_SOURCE /* pthread_barrier_t */
#include <omp.h>

#include "config/memory.h"
#include "solvers/api/part_source.h"
#include "solvers/api/scoring.h"
#include "solvers/api/solving.h"
#include "solvers/rank/rank_sets.h"
#include "spmv/parts/halo.h"
#include "tests/check.h"
#include "tests/spmv/thread_comm.h"

enum { NEVER = -1, SETS = 3 }; /* SETS: teleport sets, or right-hand sides */

typedef struct scene scene;

/* What a part allocates for a solve; a member that was not reached is zero. */
typedef struct walk {
  wr_comm *comm;
  wr_env env;
  wr_csr *A;
  wr_problem_facts facts;
  wr_plan *plan;
  wr_system system;
  wr_solving solving;
  wr_run_precond report; /* solving keeps its address */
  wr_graph graph;
  wr_scoring scoring;
  double *x;
  wr_result result;
  int ended; /* sets or right-hand sides that have converged */
} walk;

struct scene {
  const char *what, *input;
  int transposed;
  wr_status (*solve)(walk *w);
  int64_t late_at; /* the call that fails, from 0; NEVER */
  /* found, by part */
  int64_t calls[MOST_PARTS];
  wr_status status[MOST_PARTS];
  wr_outcome outcome[MOST_PARTS];
  char message[MOST_PARTS][300];
};

/* ---- calls that fail ---- */

static _Thread_local int64_t calls, late_at;

static wr_status answer(wr_comm *comm, const char *what) {
  PASS(wr_error_raise(&comm->broken));
  return calls++ == late_at ? wr_comm_late(comm, what) : WR_OK;
}

static wr_status gather(wr_comm *comm, const char *what, const void *from, int64_t bytes, void *all) {
  PASS(answer(comm, what));
  return thread_ops.gather(comm, what, from, bytes, all);
}

static wr_status begin(wr_comm *comm, const wr_parcel *to, const wr_parcel *from) {
  PASS(wr_error_raise(&comm->broken));
  return thread_ops.begin(comm, to, from);
}

static wr_status end(wr_comm *comm, const char *what) {
  PASS(answer(comm, what));
  return thread_ops.end(comm, what);
}

static const wr_comm_ops late_ops = {.name = "threads", .gather = gather, .begin = begin, .end = end};

/* ---- what the programs do ---- */

static wr_status make_plan(walk *w, wr_csr *matrix) {
  const wr_backend *backend;
  PASS(wr_backend_find("cpu_csr", &backend));
  PASS(wr_comm_agree(w->comm, wr_plan_create(backend, NULL, matrix, &w->env, &w->plan)));
  PASS(wr_comm_agree(w->comm, wr_plan_prepare(w->plan)));
  return wr_alloc(&w->x, w->A->nrows, sizeof *w->x, "the answer");
}

static wr_status open_solving(walk *w, const wr_monitor *monitor, wr_scale scale, const char *precond) {
  wr_solving_options options = {.scale = scale};
  PASS(wr_solving_choose_precond(precond, &options));
  wr_solving_complete(&options, WR_F64);
  PASS(wr_solving_begin(&options, w->A, NULL, NULL, 0, 0, NULL, &w->system));
  PASS(wr_solving_finish(&w->system, NULL));
  PASS(make_plan(w, w->system.matrix));
  PASS(wr_comm_agree(w->comm, wr_solving_open(&w->solving, &options, &w->system, w->plan, &w->env)));
  return wr_comm_agree(w->comm, wr_solving_precondition(&w->solving, monitor, &w->report));
}

static wr_status run_solving(walk *w, const wr_monitor *monitor) {
  wr_verdict verdict;
  PASS(wr_solving_run(&w->solving, monitor, &w->result));
  PASS(wr_solving_answer(&w->solving, w->x));
  return wr_solving_verify(&w->solving, w->x, WR_VERIFY_FULL, 0, &verdict);
}

static wr_status solve_system(walk *w) {
  const wr_monitor monitor = {.comm = w->comm};
  PASS(open_solving(w, &monitor, WR_SCALE_AUTO, "auto"));
  return run_solving(w, &monitor);
}

static wr_status rank_pages(walk *w) {
  const wr_monitor monitor = {.comm = w->comm};
  wr_scoring_options options = {.iterate.damping = 0.85};
  wr_verdict verdict;
  wr_scoring_complete(&options, WR_F64);
  PASS(wr_graph_begin(w->A, 1, NULL, NULL, &w->graph));
  PASS(wr_scoring_finish(&w->graph, NULL));
  PASS(make_plan(w, w->graph.flow));
  PASS(wr_comm_agree(w->comm, wr_scoring_open(&w->scoring, &options, &w->graph, w->plan, &w->env)));
  PASS(wr_scoring_run(&w->scoring, &monitor, &w->result));
  PASS(wr_scoring_answer(&w->scoring, w->x));
  PASS(wr_scoring_verify(&w->scoring, w->x, WR_VERIFY_FULL, 0, &verdict));
  return wr_scoring_normalise(&w->scoring, w->x);
}

static wr_status count_set(void *context, const wr_set_ranks *found) {
  walk *w = context;
  w->ended += found->outcome == WR_CONVERGED;
  return WR_OK;
}

static wr_status rank_sets(walk *w) {
  static const int64_t first[SETS + 1] = {0, 2, 3, 5}, page[] = {3, 70, 150, 1, 299};
  const wr_rank_sets_options options = {
      .damping = 0.85, .tolerance = 1e-8, .iterations = 500, .top = 4, .checks = SETS};
  const wr_teleport_sets sets = {SETS, first, page, NULL};
  wr_rank_sets_facts facts;
  w->env.need_columns = wr_rank_sets_columns(&w->env);
  PASS(wr_graph_begin(w->A, 1, NULL, NULL, &w->graph));
  PASS(wr_scoring_finish(&w->graph, NULL));
  PASS(make_plan(w, w->graph.flow));
  PASS(wr_rank_sets(&w->graph, w->plan, &w->env, &sets, &options, NULL, count_set, w, &facts));
  w->result.outcome = w->ended == SETS ? WR_CONVERGED : WR_NOT_SOLVED;
  return WR_OK;
}

static wr_status set_side(void *of, int64_t side) {
  wr_system *system = of;
  double *b;
  PASS(wr_alloc(&b, system->n, sizeof *b, "a right-hand side"));
  for (int64_t i = 0; i < system->n; i++) b[i] = (double)(1 + (i + side) % 3);
  return wr_system_set_rhs(system, b, NULL, 0);
}

/* Several right-hand sides, which are iterated together. */
static wr_status solve_sides(walk *w) {
  const wr_monitor monitor = {.comm = w->comm};
  double moved;
  w->env.need_columns = WR_MAX_COLUMNS;
  PASS(open_solving(w, &monitor, WR_SCALE_NONE, "none"));
  const wr_sides sides = {.count = SETS, .set = set_side, .of = &w->system};
  for (int64_t side = 0; side < SETS; side++) {
    PASS(wr_solving_side(&w->solving, &sides, side, &monitor, &moved));
    PASS(run_solving(w, &monitor));
    w->ended += w->result.outcome == WR_CONVERGED;
  }
  CHECKF(w->solving.shared == SETS, "%lld right-hand sides together: %s", (long long)w->solving.shared,
         w->solving.why_alone);
  if (w->ended != SETS) w->result.outcome = WR_NOT_SOLVED;
  return WR_OK;
}

static wr_status read_and_solve(walk *w, const scene *s) {
  const wr_source_options how = {.threads = 1};
  wr_ledger ledger;
  wr_ledger_begin(&ledger, WR_PHASE_INIT);
  PASS(wr_comm_agree(w->comm, wr_env_open(&w->env)));
  PASS(wr_part_source_load(s->input, w->comm, &how, s->transposed, &ledger, &w->A, &w->facts));
  return s->solve(w);
}

static void work(wr_comm *comm, void *context) {
  scene *s = context;
  int rank = comm->rank;
  walk w = {.comm = comm, .env = {.type = WR_F64, .threads = 1, .deterministic = 1, .comm = comm}};
  omp_set_num_threads(1);
  comm->ops = &late_ops, calls = 0, late_at = s->late_at;
  s->status[rank] = read_and_solve(&w, s);
  s->calls[rank] = calls, s->outcome[rank] = w.result.outcome;
  snprintf(s->message[rank], sizeof *s->message, "%s", s->status[rank] == WR_OK ? "" : wr_status_message());
  wr_scoring_close(&w.scoring);
  wr_solving_close(&w.solving);
  wr_plan_destroy(w.plan);
  wr_graph_free(&w.graph);
  wr_system_free(&w.system);
  wr_csr_free(w.A);
  wr_free(w.x);
  wr_env_close(&w.env);
}

static void test(scene s, int size) {
  s.late_at = NEVER;
  in_parts(size, work, &s);
  int64_t count = s.calls[0];
  for (int r = 0; r < size; r++) {
    CHECKF(s.status[r] == WR_OK && s.outcome[r] == WR_CONVERGED, "%s, part %d of %d: %s", s.what, r, size,
           s.message[r]);
    CHECKF(s.calls[r] == count && count > 20, "%s, part %d: %lld calls, not %lld", s.what, r, (long long)s.calls[r],
           (long long)count);
  }
  for (s.late_at = 0; s.late_at < count; s.late_at++) {
    in_parts(size, work, &s);
    for (int r = 0; r < size; r++)
      CHECKF(s.status[r] == WR_EDEVICE && strstr(s.message[r], "has waited"), "%s, call %lld, part %d of %d: %s '%s'",
             s.what, (long long)s.late_at, r, size, wr_status_name(s.status[r]), s.message[r]);
  }
}

int main(void) {
  static const scene scenes[] = {
      {.what = "a system that is made", .input = "gen:stencil:n=10", .solve = solve_system},
      {.what = "a system from a file", .input = "tests/data/edges/system.tsv", .solve = solve_system},
      {.what = "a graph that is made", .input = "gen:web:n=300", .transposed = 1, .solve = rank_pages},
      {.what = "a graph from a file", .input = "tests/data/edges/numbered.csv", .transposed = 1, .solve = rank_pages},
      {.what = "teleport sets", .input = "gen:web:n=300", .transposed = 1, .solve = rank_sets},
      {.what = "right-hand sides", .input = "gen:stencil:n=6", .solve = solve_sides},
  };
  for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++) test(scenes[k], 2);
  return wr_test_report("late_parts");
}
