/* Iterations that a device repeats by itself, compared with the same iterations launched one by one by the host: the same bits,
 * every way to end, an interruption, memory after a thousand solves, two solves at once; also with graphs without conditional
 * nodes, of which test_plain_loop.c has more. On the CPU the host launches both, and they must agree as well. Besides, steps
 * that follow the sums of an operation. */
#define _DEFAULT_SOURCE
#include <pthread.h>

#include "solvers/iteration.h"
#include "solvers/pagerank.h"
#include "spmv/device/device_memory.h"
#include "tests/counting.h"
#include "tests/solvers/solve_fixture.h"
#include "tests/solvers/three_phases.h"

static void check_same_history(const wr_history *device, const wr_history *host) {
  CHECKF(device->count == host->count, "%lld checks by the device, %lld by the host", (long long)device->count,
         (long long)host->count);
  for (int64_t k = 0; k < device->count && k < host->count; k++) {
    int same = device->iteration[k] == host->iteration[k] &&
               memcmp(&device->measure[k], &host->measure[k], sizeof *host->measure) == 0;
    CHECKF(same, "check %lld: %lld %.17g by the device, %lld %.17g by the host", (long long)k,
           (long long)device->iteration[k], device->measure[k], (long long)host->iteration[k], host->measure[k]);
    if (!same) return;
  }
}

/* Whether this plan gives the same bits every time, so that two runs can be compared bit by bit. */
static int is_deterministic(ground *g, wr_csr *A) {
  wr_plan *plan = ground_plan(g, A);
  int answer = plan && wr_plan_get_info(plan)->deterministic;
  wr_plan_destroy(plan);
  return answer;
}

/* ---- BiCGSTAB ---- */

static void solve_both(ground *g, solution *device, solution *host, wr_outcome outcome) {
  device->options.no_resident = 1; /* a resident loop adds in another order: test_resident.c */
  host->options.no_graph = 1;
  solution_run(g, device), solution_run(g, host);
  check_solution(device), check_solution(host);
  CHECKF(device->result.outcome == outcome && host->result.outcome == outcome, "%s by the device, %s by the host",
         wr_outcome_title(device->result.outcome), wr_outcome_title(host->result.outcome));
  CHECK(host->result.repeats.by == WR_BY_HOST);
  if (!is_deterministic(g, host->A)) return;
  check_same_history(&device->history, &host->history);
  CHECKF(device->result.iterations == host->result.iterations && device->result.restarts == host->result.restarts &&
             device->result.refinements == host->result.refinements && device->result.measure == host->result.measure,
         "%lld iterations, %d restarts, %g by the device; %lld, %d, %g by the host",
         (long long)device->result.iterations, device->result.restarts, device->result.measure,
         (long long)host->result.iterations, host->result.restarts, host->result.measure);
  CHECKF(memcmp(device->x, host->x, (size_t)host->A->nrows * sizeof *host->x) == 0, "the answers differ");
}

/* Looks at every distance. A loop for an odd distance has two parts and may end after the first; for an even one it has one
 * part. Beyond eight iterations a part is a divisor of the distance, or one iteration if there is none up to eight. */
static void test_solve(ground *g) {
  static const int64_t distances[] = {0, 1, 2, 3, 4, 7, 8, 9, 11, 12, 20};
  int long_enough = 0;
  wr_csr *A = random_matrix(3000, 6, 2.2, 1, 31);
  for (size_t k = 0; k < sizeof distances / sizeof *distances; k++) {
    solution device = solution_of(g, A), host = device;
    device.options.check_every = host.options.check_every = distances[k];
    ground_case(g, "a check every %lld", (long long)distances[k]);
    solve_both(g, &device, &host, WR_CONVERGED);
    /* the host launches the first one or two parts */
    if (device.result.iterations > 2 * (distances[k] ? distances[k] : 8))
      CHECKF((device.result.repeats.by != WR_BY_HOST) == (g->env.place == WR_CUDA), "by %d after %lld iterations",
             (int)device.result.repeats.by, (long long)device.result.iterations);
    long_enough += device.result.iterations > 16;
    CHECKF(device.result.multiplies >= 2 * device.result.iterations - 1, "%lld multiplies",
           (long long)device.result.multiplies);
    solution_free(&device), solution_free(&host);
  }
  if (g->env.type == WR_F64)
    CHECKF(long_enough == (int)(sizeof distances / sizeof *distances), "%d are long", long_enough);
  wr_csr_free(A);
}

/* The limit of iterations, reached in either part; a tolerance that cannot be met; a breakdown and its restarts. */
static void test_ends(ground *g) {
  wr_csr *A = random_matrix(2000, 5, 10, 1, 77);
  for (int64_t most = 1; most <= 18; most++) {
    solution device = solution_of(g, A), host;
    device.options.iterations = most, device.options.tolerance = 1e-30;
    device.options.check_every = most <= 6 ? 1 : most <= 12 ? 4 : 3; /* the host launches a remainder */
    host = device;
    ground_case(g, "at most %lld iterations, a check every %lld", (long long)most,
                (long long)device.options.check_every);
    solve_both(g, &device, &host, WR_MAX_ITERATIONS);
    solution_free(&device), solution_free(&host);
  }
  solution device = solution_of(g, A), host;
  device.options.tolerance = wr_type_unit(WR_F64) / 100; /* x is returned in f64, whatever is stored */
  host = device;
  ground_case(g, "a tolerance below rounding");
  solve_both(g, &device, &host, WR_STAGNATED);
  solution_free(&device), solution_free(&host);
  wr_csr_free(A);
  A = matrix_of_picture(2, (const double[]){0, 1, -1, 0}); /* (r, A r) = 0 for every r */
  device = solution_of(g, A), host = device;
  ground_case(g, "a breakdown at once");
  solution_run(g, &device);
  host.options.no_graph = 1;
  solution_run(g, &host);
  CHECKF(device.result.outcome == host.result.outcome && device.result.restarts == host.result.restarts &&
             host.result.restarts > 0,
         "%s after %d restarts by the device, %s after %d by the host", wr_outcome_title(device.result.outcome),
         device.result.restarts, wr_outcome_title(host.result.outcome), host.result.restarts);
  check_solution(&device);
  solution_free(&device), solution_free(&host);
  wr_csr_free(A);
}

/* The interruption is requested before the solve starts: the loop ends, and its iterate is the answer. */
static void test_interrupted(ground *g, int no_resident) {
  wr_csr *A = random_matrix(3000, 6, 4, 1, 31);
  volatile sig_atomic_t interrupted = 1;
  solution s = solution_of(g, A);
  s.options.tolerance = 1e-300, s.options.iterations = 100000000;
  s.monitor.interrupted = &interrupted;
  s.options.no_resident = no_resident;
  ground_case(g, "interrupted, resident loops %s", no_resident ? "off" : "on");
  solution_run(g, &s);
  CHECKF(s.result.outcome == WR_INTERRUPTED, "%s", wr_outcome_title(s.result.outcome));
  CHECKF(s.result.iterations >= 1, "%lld iterations", (long long)s.result.iterations);
  check_solution(&s);
  solution_free(&s);
  wr_csr_free(A);
}

/* ---- PageRank: a history longer than the log ---- */

static wr_graph graph_of(wr_csr *links) {
  wr_graph graph = {0};
  CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &graph));
  return graph;
}

static void test_long_history(ground *g) {
  wr_csr *links = random_matrix(500, 4, 0, 0, 5);
  wr_graph graph = graph_of(links);
  wr_history histories[2] = {{0}};
  wr_result results[2];
  wr_pagerank_options o = {.damping = 0.999, .tolerance = 1e-300, .iterations = WR_LOG_ROOM + 77, .check_every = 1};
  ground_case(g, "a history longer than the log");
  wr_plan *plan = ground_plan(g, graph.flow);
  for (int k = 0; plan && k < 2; k++) {
    wr_pagerank method;
    o.no_graph = k, o.no_resident = 1;
    wr_monitor monitor = {.history = &histories[k]};
    CHECK_OK(wr_pagerank_open(&method, &graph, plan, &g->env));
    CHECK_OK(wr_pagerank_solve(&method, &o, &monitor, &results[k]));
    wr_pagerank_close(&method);
    CHECKF(histories[k].count == results[k].iterations, "%lld checks in %lld iterations", (long long)histories[k].count,
           (long long)results[k].iterations);
  }
  if (plan && wr_plan_get_info(plan)->deterministic) check_same_history(&histories[0], &histories[1]);
  for (int k = 0; k < 2; k++) wr_history_free(&histories[k]);
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
  wr_csr_free(links);
}

/* ---- Memory, and two at once ---- */

/* One solve from plan to end; its outcome. */
static wr_outcome one_solve(ground *g, wr_csr *A) {
  wr_system system;
  wr_bicgstab method = {0};
  wr_result result = {.outcome = WR_NON_FINITE};
  wr_bicgstab_options options = solution_of(g, A).options;
  if (wr_system_build(A, NULL, NULL, 0, 0, WR_SCALE_NONE, 0, 0, &system) != WR_OK) return WR_NON_FINITE;
  wr_plan *plan = ground_plan(g, system.matrix);
  if (plan && wr_bicgstab_open(&method, &system, plan, &g->env) == WR_OK)
    CHECK_OK(wr_bicgstab_solve(&method, &options, &(wr_monitor){0}, &result));
  wr_bicgstab_close(&method);
  wr_plan_destroy(plan);
  wr_system_free(&system);
  return result.outcome;
}

/* Bytes of this process in memory. */
static int64_t resident(void) {
  long long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL) return 0;
  if (fscanf(file, "%*d %lld", &pages) != 1) pages = 0;
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

/* A solve frees all that it allocates: on the device every block; on the host, where allocators keep memory, less than 8000
 * bytes a solve may remain. A vector is 16000 bytes in f64. */
static void test_leaks(ground *g) {
  enum { SOLVES = 1000, WARM = 100 };
  wr_csr *A = random_matrix(2000, 3, 5, 1, 9);
  int64_t device = 0, host = 0;
  int wrong = 0, solves = g->env.place == WR_CUDA ? SOLVES : 2 * WARM;
  ground_case(g, "%d solves", solves);
  g->testing.poison = 0;
  for (int k = 0; k < solves; k++) {
    if (k == WARM) device = wr_device_blocks(), host = resident();
    wrong += one_solve(g, A) != WR_CONVERGED;
  }
  g->testing.poison = 1;
  CHECKF(wrong == 0, "%d did not converge", wrong);
  CHECKF(wr_device_blocks() == device, "%lld blocks on the device, %lld before", (long long)wr_device_blocks(),
         (long long)device);
  if (g->env.place == WR_CUDA) /* on the host the address sanitizer sees more, and keeps what was freed */
    CHECKF(resident() - host < (int64_t)(solves - WARM) * 8000, "%lld bytes more on the host",
           (long long)(resident() - host));
  wr_csr_free(A);
}

typedef struct worker {
  const wr_backend *backend;
  wr_type type;
  wr_csr *A;
  int right;
} worker;

/* Without CHECK, whose counters belong to the main thread. */
static void work_once(wr_env *env, worker *w, wr_bicgstab_options options) {
  wr_system system = {0};
  wr_bicgstab method = {0};
  wr_plan *plan = NULL;
  wr_result result = {.outcome = WR_NON_FINITE};
  if (wr_system_build(w->A, NULL, NULL, 0, 0, WR_SCALE_NONE, 0, 0, &system) == WR_OK &&
      wr_plan_create(w->backend, NULL, system.matrix, env, &plan) == WR_OK && wr_plan_prepare(plan) == WR_OK &&
      wr_bicgstab_open(&method, &system, plan, env) == WR_OK &&
      wr_bicgstab_solve(&method, &options, &(wr_monitor){0}, &result) == WR_OK)
    w->right += result.outcome == WR_CONVERGED;
  wr_bicgstab_close(&method);
  wr_plan_destroy(plan);
  wr_system_free(&system);
}

enum { ROUNDS_AT_ONCE = 20 };

static void *work(void *argument) {
  worker *w = argument;
  ground g = {.backend = w->backend, .env = {.place = w->backend->place, .type = w->type, .threads = 1}};
  if (wr_env_open(&g.env) != WR_OK) return NULL;
  for (int round = 0; round < ROUNDS_AT_ONCE; round++) work_once(&g.env, w, solution_of(&g, NULL).options);
  wr_env_close(&g.env);
  return NULL;
}

/* Each solve has its own env, and so its own stream. */
static void test_two_at_once(ground *g) {
  worker workers[2] = {{g->backend, g->env.type, random_matrix(3000, 5, 6, 1, 11), 0},
                       {g->backend, g->env.type, random_matrix(2000, 9, 8, 1, 12), 0}};
  pthread_t threads[2];
  ground_case(g, "two solves at once");
  for (int k = 0; k < 2; k++) CHECK(pthread_create(&threads[k], NULL, work, &workers[k]) == 0);
  for (int k = 0; k < 2; k++) pthread_join(threads[k], NULL);
  for (int k = 0; k < 2; k++) {
    CHECKF(workers[k].right == ROUNDS_AT_ONCE, "%d of %d converged", workers[k].right, ROUNDS_AT_ONCE);
    wr_csr_free(workers[k].A);
  }
}

/* ---- Steps after an operation's sums ---- */

/* The step runs once, after the sum: of an apply, whether or not the backend fuses the epilogue, and of a fused operation. */
static void test_then(ground *g) {
  wr_pagerank_scalars numbers = counting_from(0, 3);
  wr_csr *A = random_matrix(700, 5, 3, 1, 3);
  wr_vec x = {0}, y = {0}, bank = {0};
  const wr_vecops *ops = g->env.ops;
  wr_plan *plan = ground_plan(g, A);
  ground_case(g, "a step after sums");
  CHECK_OK(ops->alloc(&g->env, 700, g->env.type, "x", &x));
  CHECK_OK(ops->alloc(&g->env, 700, g->env.type, "y", &y));
  CHECK_OK(ops->alloc(&g->env, WR_SCALAR_COUNT(wr_pagerank_scalars), WR_F64, "a bank", &bank));
  CHECK_OK(ops->fill(&g->env, &x, 0.5));
  CHECK_OK(ops->upload(&g->env, &bank, (double *)&numbers));
  wr_reduction norm = {WR_NRM2SQ, NULL, NULL, {&bank, WR_SCALAR_INDEX(wr_pagerank_scalars, dangling)}};
  wr_epilogue epilogue = {.reduce = {norm}, .then = WR_THEN(pagerank_after_iteration, &bank, NULL)};
  for (int time = 1; plan && time <= 2; time++) {
    CHECK_OK(wr_plan_apply(plan, &(wr_apply){.alpha = time, .x = &x, .y = &y, .epilogue = &epilogue}));
    CHECK_OK(ops->download(&g->env, &bank, (double *)&numbers));
    CHECKF(numbers.steps == time && numbers.dangling > 0 && numbers.goes_on == 1, "%g times, sum %g, %g", numbers.steps,
           numbers.dangling, numbers.goes_on);
  }
  norm.of = &x;
  wr_fused fused = {.in = {&x}, .reduce = {norm}, .then = WR_THEN(pagerank_after_iteration, &bank, NULL)};
  CHECK_OK(ops->fused(&g->env, &fused));
  CHECK_OK(ops->download(&g->env, &bank, (double *)&numbers));
  CHECKF(numbers.steps == (plan ? 3 : 1) && numbers.dangling == 175 && numbers.goes_on == (plan ? 0 : 1),
         "%g times, sum %g, %g", numbers.steps, numbers.dangling, numbers.goes_on);
  wr_plan_destroy(plan);
  ops->release(&g->env, &x), ops->release(&g->env, &y), ops->release(&g->env, &bank);
  wr_csr_free(A);
}

static void test_graphs(ground *g) {
  test_solve(g);
  test_ends(g);
  test_interrupted(g, 1);
  test_long_history(g);
}

/* With conditional nodes, and without. */
static void test_all(ground *g) {
  test_graphs(g);
  test_interrupted(g, 0);
  test_then(g);
  test_three_phases(g);
  g->testing.no_conditions = 1;
  if (g->env.place == WR_CUDA) test_graphs(g);
}

static void test_few(ground *g) {
  test_leaks(g);
  g->testing.no_conditions = 1;
  if (g->env.place == WR_CUDA) test_leaks(g);
  g->testing.no_conditions = 0;
  test_two_at_once(g);
}

int main(void) {
  on_every_ground(test_all);
  on_default_grounds(test_few);
  return wr_test_report("loops");
}
