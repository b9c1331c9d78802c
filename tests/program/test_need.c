/* The bound on the memory of a row compared with what a run allocates: posix_memalign and free of this test keep the sum of
 * large blocks. By that bound a header is refused before memory of its size is allocated. */
#define _DEFAULT_SOURCE
#include "solvers/program/need.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "solvers/program/apply_time.h"
#include "solvers/bicgstab.h"
#include "solvers/program/compare.h"
#include "solvers/rank/rank.h"
#include "solvers/api/source.h"
#include "solvers/verify.h"
#include "tests/solvers/ground.h"

/* --method of pagerank is a wr_rank_method. */
static void test_ranking_methods(void) {
  char names[256] = "";
  CASE("the choices of pagerank's --method");
  for (int k = 0; wr_rank_method_name((wr_rank_method)k)[0]; k++)
    snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", k ? "|" : "",
             wr_rank_method_name((wr_rank_method)k));
  const wr_option *row = wr_pagerank_table;
  while (row->name && strcmp(row->name, "method") != 0) row++;
  CHECKF(row->name && strcmp(row->choices, names) == 0, "%s, not %s", row->name ? row->choices : "none", names);
}

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)

/* --precond is auto, or the name of one in the list of preconditioners. */
static void test_preconditioners(void) {
  char names[256] = "auto";
  CASE("the choices of --precond");
  for (int k = 0; k < wr_preconditioner_count(); k++)
    snprintf(names + strlen(names), sizeof names - strlen(names), "|%s", wr_preconditioner_at(k)->name);
  const wr_option *row = wr_bicgstab_table;
  while (row->name && strcmp(row->name, "precond") != 0) row++;
  CHECKF(row->name && strcmp(row->choices, names) == 0, "%s, not %s", row->name ? row->choices : "none", names);
}

/* --method is 0 for automatic, or 1 more than the number of one in the list of methods. */
static void test_methods(void) {
  char names[256] = "auto";
  CASE("the choices of --method");
  for (int k = 0; k < wr_method_count(); k++)
    snprintf(names + strlen(names), sizeof names - strlen(names), "|%s", wr_method_name(wr_method_at(k)));
  const wr_option *row = wr_bicgstab_table;
  while (row->name && strcmp(row->name, "method") != 0) row++;
  CHECKF(row->name && strcmp(row->choices, names) == 0, "%s, not %s", row->name ? row->choices : "none", names);
}

int main(void) {
  SKIP("blocks cannot be counted with this C library or sanitizer");
  test_preconditioners();
  test_methods();
  test_ranking_methods();
  return wr_test_report("need");
}

#else

enum { N = 1 << 20, COUNTED = 1 << 20 }; /* rows; bytes from which a block is counted */

extern void __libc_free(void *block);
static atomic_long live, most;

int posix_memalign(void **block, size_t alignment, size_t size) {
  *block = memalign(alignment, size);
  if (*block == NULL) return ENOMEM;
  if (size < COUNTED) return 0;
  long now = atomic_fetch_add(&live, (long)malloc_usable_size(*block)) + (long)malloc_usable_size(*block);
  if (now > atomic_load(&most)) atomic_store(&most, now);
  return 0;
}

void free(void *block) {
  if (block && malloc_usable_size(block) >= COUNTED) atomic_fetch_sub(&live, (long)malloc_usable_size(block));
  __libc_free(block);
}

/* N x N with one entry. */
static wr_csr *nearly_empty(int with_values) {
  wr_csr *A = NULL;
  CHECK_OK(wr_csr_create(N, N, 1, with_values, &A));
  A->col[0] = 5;
  if (with_values) A->val[0] = 2;
  for (int64_t i = 6; i <= N; i++) A->row_ptr[i] = 1;
  return A;
}

static double *ones(void) {
  double *v = NULL;
  CHECK_OK(wr_alloc(&v, N, sizeof *v, "a test"));
  for (int64_t i = 0; i < N; i++) v[i] = 1;
  return v;
}

/* The bound is at most what was allocated, and at least half of it. */
static void check_most(int64_t row_bytes) {
  int64_t said = (int64_t)N * (row_bytes + (int64_t)sizeof(int64_t)), counted = atomic_load(&most);
  CHECKF(said <= counted && counted <= 2 * said, "the bound is %lld bytes a row, and %.1f were allocated",
         (long long)row_bytes + 8, (double)counted / N);
  CHECKF(atomic_load(&live) == 0, "%ld bytes are left", atomic_load(&live));
  atomic_store(&most, 0);
}

/* narrow: of the plan in f32, or NULL. */
static void rank_and_check(wr_env *env, wr_graph *graph, wr_plan *plan, wr_rank_method by, wr_plan *narrow,
                           wr_env *narrow_env) {
  wr_ranking rank;
  wr_result result;
  wr_verdict verdict;
  double *ranks = NULL, *step = NULL, change, dangling;
  wr_pagerank_options options = {.damping = 0.85, .tolerance = 1e-5, .iterations = 100, .check_every = 1};
  CHECK_OK(wr_rank_open(&rank, graph, plan, env));
  if (narrow) CHECK_OK(wr_pagerank_sweep_in(&rank.iterated, narrow, narrow_env));
  CHECK_OK(wr_rank_solve(&rank, by, &options, &(wr_monitor){0}, &result));
  CHECK_OK(wr_alloc(&ranks, N, sizeof *ranks, "a test"));
  CHECK_OK(wr_alloc(&step, N, sizeof *step, "a test"));
  CHECK_OK(wr_pagerank_download(&rank.iterated, ranks));
  CHECK_OK(wr_pagerank_step(&rank.iterated, &options, step, &change, &dangling));
  wr_rounding rounding = {wr_type_unit(env->type), 0x1p-53, 0};
  CHECK_OK(
      wr_verify_pagerank(graph, 0.85, 1e-5, 0, rounding, ranks, step, change, dangling, WR_VERIFY_FULL, 0, &verdict));
  wr_free(ranks), wr_free(step);
  wr_rank_close(&rank);
}

static void test_pagerank(const wr_backend *backend, int precision, int given, wr_rank_method by) {
  int mixed = precision == WR_PRECISION_MIXED;
  wr_type type = mixed ? WR_F64 : (wr_type)precision;
  ground_case(NULL, "PageRank, %s, in %s%s", wr_rank_method_name(by),
              mixed            ? "mixed precision"
              : type == WR_F32 ? "f32"
                               : "f64",
              given ? ", personalised and with a guess" : "");
  wr_env env = {.place = WR_HOST, .type = type, .threads = 1}, narrow_env;
  wr_settings settings = {.precision = precision, .personalize = given ? "p" : NULL, .guess = given ? "g" : NULL,
                          .ranking = (int)by};
  wr_graph graph;
  wr_plan *plan = NULL, *narrow = NULL;
  CHECK_OK(wr_env_open(&env));
  wr_csr *links = nearly_empty(0);
  CHECK_OK(wr_graph_build(links, 0, given ? ones() : NULL, given ? ones() : NULL, &graph));
  CHECK_OK(wr_plan_create(backend, NULL, graph.flow, &env, &plan));
  CHECK_OK(wr_plan_prepare(plan));
  CHECK_OK(wr_env_with_type(&env, WR_F32, &narrow_env));
  if (mixed) CHECK_OK(wr_plan_create(backend, NULL, graph.flow, &narrow_env, &narrow));
  if (mixed) CHECK_OK(wr_plan_prepare(narrow));
  rank_and_check(&env, &graph, plan, by, narrow, &narrow_env);
  wr_plan_destroy(narrow);
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
  wr_csr_free(links);
  wr_env_close(&env);
  check_most(wr_pagerank_row_bytes(&settings, 1));
}

static void solve_and_check(wr_env *env, wr_system *system, wr_plan *plan, const wr_method *by,
                            const wr_preconditioner *of) {
  wr_bicgstab method;
  wr_result result;
  double *u = NULL, *q = NULL;
  wr_bicgstab_options options = {.tolerance = 1e-5, .iterations = 100, .check_every = 1, .method = by};
  int stored = 6, said = wr_method_costs_of(by, 0).stored; /* the vectors that all methods have, and their own */
  wr_precond *precond = NULL;
  CHECK_OK(wr_bicgstab_open(&method, system, plan, env));
  if (of) CHECK_OK(wr_precond_create(of, NULL, system->matrix, env, &precond));
  if (of) CHECK_OK(wr_bicgstab_precondition(&method, precond));
  CHECK_OK(wr_bicgstab_solve(&method, &options, &(wr_monitor){0}, &result));
  CHECK_OK(wr_alloc(&u, N, sizeof *u, "a test"));
  CHECK_OK(wr_alloc(&q, N, sizeof *q, "a test"));
  CHECK_OK(wr_bicgstab_download(&method, u, q));
  for (int k = 0; k < WR_METHOD_VECTORS; k++) stored += method.own[k].id != 0;
  CHECKF(by == &wr_method_bicgstab && !of ? stored == said : stored >= said, "%d vectors, not %d", stored, said);
  wr_free(u), wr_free(q);
  wr_bicgstab_close(&method);
  wr_precond_destroy(precond);
}

static void test_bicgstab(const wr_backend *backend, wr_type type, int given, int by, int precond) {
  const wr_method *method = wr_method_at(by - 1);
  const wr_preconditioner *of = precond ? wr_preconditioner_at(precond) : NULL;
  ground_case(NULL, "method %d, %s, in %s%s%s%s", by, wr_method_name(method), type == WR_F32 ? "f32" : "f64",
              given ? " with a guess" : "", of ? ", " : "", of ? of->name : "");
  wr_env env = {.place = WR_HOST, .type = type, .threads = 1};
  wr_settings settings = {.precision = type, .guess = given ? "g" : NULL, .method = by, .precond = precond};
  wr_system system;
  wr_plan *plan = NULL;
  CHECK_OK(wr_env_open(&env));
  wr_csr *A = nearly_empty(1);
  CHECK_OK(wr_system_build(A, NULL, given ? ones() : NULL, 0, 0, WR_SCALE_NONE, 0, 0, &system));
  CHECK_OK(wr_plan_create(backend, NULL, system.matrix, &env, &plan));
  CHECK_OK(wr_plan_prepare(plan));
  solve_and_check(&env, &system, plan, method, of);
  wr_plan_destroy(plan);
  wr_system_free(&system);
  wr_csr_free(A);
  wr_env_close(&env);
  check_most(wr_bicgstab_row_bytes(&settings, 1));
}

static void test_spmv(const wr_backend *backend, wr_type type) {
  ground_case(NULL, "spmv in %s", type == WR_F32 ? "f32" : "f64");
  wr_apply_place places[2] = {[WR_CUDA] = {.error.status = WR_EUNAVAILABLE}};
  wr_apply_settings how = {.batches = 1, .batch_seconds = 1e-9, .preparations = 1, .verify = WR_VERIFY_FULL};
  wr_settings settings = {.verify = WR_VERIFY_FULL};
  wr_choice choice = {.backend = backend};
  wr_run run = {0};
  wr_apply_times times = {0};
  places[WR_HOST].env = (wr_env){.place = WR_HOST, .type = WR_F64, .threads = 1};
  CHECK_OK(wr_env_open(&places[WR_HOST].env));
  wr_csr *A = nearly_empty(1);
  CHECK_OK(wr_apply_time(A, type, places, &choice, 1, &how, &run, &times));
  CHECKF(run.error.status == WR_OK, "%s", run.error.text);
  wr_csr_free(A);
  wr_env_close(&places[WR_HOST].env);
  check_most(wr_spmv_row_bytes(&settings, type, 1) + wr_spmv_column_bytes(type, 1));
}

/* The limit leaves room for the row pointers, so that a reader could allocate these. */
static int load_in_little_room(const char *name) {
  struct rlimit limit;
  wr_csr *A = NULL;
  wr_ledger ledger;
  wr_problem_facts facts = {0};
  int64_t row_pointers = (4 * (int64_t)N + 1) * (int64_t)sizeof(int64_t), page = sysconf(_SC_PAGESIZE), pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%lld", (long long *)&pages) != 1) return 1;
  fclose(file);
  limit.rlim_cur = limit.rlim_max = (rlim_t)(pages * page + 3 * row_pointers);
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
  wr_ledger_begin(&ledger, WR_PHASE_READ);
  wr_source_options how = {.threads = 1, .row_bytes = 30};
  if (wr_source_load(name, &how, &ledger, &A, &facts) != WR_ENOMEM || A != NULL) return 3;
  if (strstr(wr_status_message(), "are available (ulimit)") == NULL) return 4;
  return atomic_load(&most) == 0 ? 0 : 5;
}

/* A stencil has four entries beside the diagonal in most rows. */
static void test_entry_bytes(void) {
  CASE("bytes for each entry beyond one of each row");
  for (int large = 0; large < 2; large++) {
    wr_csr *A = NULL;
    wr_ledger ledger;
    wr_problem_facts facts = {0};
    wr_ledger_begin(&ledger, WR_PHASE_READ);
    wr_source_options how = {.threads = 1, .entry_bytes = large ? (int64_t)1 << 40 : 1};
    CHECK_FAILS(large ? WR_ENOMEM : WR_OK, wr_source_load("gen:stencil:n=9", &how, &ledger, &A, &facts));
    CHECK((A == NULL) == large);
    wr_csr_free(A);
  }
  const wr_settings with = {.precond = 2}, without = {.precond = 0}, automatic = {.precond = 2, .precond_auto = 1};
  CHECK(strcmp(wr_preconditioner_at(2)->name, "ilu0") == 0);
  CHECK(wr_bicgstab_entry_bytes(&with) == 12 && wr_bicgstab_entry_bytes(&without) == 0);
  CHECK(wr_bicgstab_entry_bytes(&automatic) == 0);
}

static void test_refused(void) {
  char text[] = "/tmp/windrow-need-XXXXXX";
  int file = mkstemp(text);
  CHECK(file >= 0);
  dprintf(file, "%%%%MatrixMarket matrix coordinate real general\n%d %d 1\n5 6 2\n", 4 * N, 4 * N);
  close(file);
  const char *const names[] = {text, "gen:uniform:n=4194304,degree=0"};
  for (int k = 0; k < 2; k++) {
    ground_case(NULL, "%s is refused before anything of its size is allocated", names[k]);
    pid_t child = fork();
    if (child == 0) _exit(load_in_little_room(names[k]));
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECKF(WEXITSTATUS(status) == 0, "check %d failed", WEXITSTATUS(status));
  }
  unlink(text);
}

int main(void) {
  const wr_backend *backend;
  test_ranking_methods();
  test_refused(); /* before OpenMP creates threads, which a child process would not have */
  CHECK_OK(wr_backend_find("cpu_csr", &backend));
  test_entry_bytes();
  for (int given = 0; given < 2; given++) test_pagerank(backend, WR_PRECISION_MIXED, given, WR_RANK_POWER);
  for (int type = WR_F32; type <= WR_F64; type++) {
    for (int given = 0; given < 2; given++) {
      test_pagerank(backend, type, given, WR_RANK_AUTO);
      test_pagerank(backend, type, given, WR_RANK_IDR);
      test_pagerank(backend, type, given, WR_RANK_GAUSS_SEIDEL);
      test_bicgstab(backend, (wr_type)type, given, 0, 0);
    }
    test_spmv(backend, (wr_type)type);
    for (int by = 1; by <= wr_method_count(); by++) test_bicgstab(backend, (wr_type)type, 0, by, 0);
    for (int k = 1; k < wr_preconditioner_count(); k++)
      if (wr_preconditioner_at(k)->diagonal == NULL) test_bicgstab(backend, (wr_type)type, 0, 1, k);
  }
  return wr_test_report("need");
}

#endif
