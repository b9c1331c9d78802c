/* Out of memory at any point: every allocation of a whole solve fails once, alone and with all later ones. Each time the status
 * is WR_ENOMEM with a sentence, and no block leaks: freed blocks are counted, or with sanitizers, which replace free, the
 * sanitizer finds leaks. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <stdatomic.h>

#include "io/set_file.h"
#include "solvers/bicgstab.h"
#include "solvers/direct.h"
#include "solvers/pagerank.h"
#include "solvers/rank/gauss_seidel.h"
#include "solvers/rank/rank_sets.h"
#include "solvers/scores.h"
#include "solvers/api/auto_precond.h"
#include "solvers/api/source.h"
#include "solvers/api/windrow.h"
#include "solvers/verify.h"
#include "tests/solvers/ground.h"

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define COUNTS_FREES 1
#else
#define COUNTS_FREES 0
#endif

/* ---- The allocator under test ---- */

enum { SLOTS = 1 << 14 };
static _Atomic(void *) live[SLOTS];   /* blocks of wr_alloc, hashed by address       */
static atomic_long live_count;
static atomic_long granted = -1;      /* requests that still succeed; -1: all of them */
static atomic_int goes_on;            /* 1: all later ones fail too                   */
static atomic_long refused;

static size_t slot_of(const void *block) { return ((uintptr_t)block >> 7) * 2654435761u % SLOTS; }

static int is_refused(void) {
  long left = atomic_load(&granted);
  while (left > 0 && !atomic_compare_exchange_weak(&granted, &left, left - 1)) continue;
  if (left != 0) return 0;
  atomic_fetch_add(&refused, 1);
  if (!atomic_load(&goes_on)) atomic_store(&granted, -1);
  return 1;
}

/* In place of the C library's; wr_alloc has no other source. */
int posix_memalign(void **block, size_t alignment, size_t size) {
  if (is_refused()) return ENOMEM;
  *block = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (*block == NULL) return ENOMEM;
  if (!COUNTS_FREES) return 0;
  size_t slot = slot_of(*block);
  for (void *none = NULL; !atomic_compare_exchange_strong(&live[slot], &none, *block); none = NULL)
    slot = (slot + 1) % SLOTS;
  atomic_fetch_add(&live_count, 1);
  return 0;
}

#if COUNTS_FREES
extern void __libc_free(void *block);

/* In place of the C library's: takes the block out of the table. Others than wr_alloc's are not in it. */
void free(void *block) {
  size_t slot = slot_of(block);
  for (int tries = 0; block && tries < SLOTS; tries++, slot = (slot + 1) % SLOTS) {
    void *found = block;
    if (atomic_compare_exchange_strong(&live[slot], &found, NULL)) {
      atomic_fetch_sub(&live_count, 1);
      break;
    }
    if (tries > 64 && found == NULL) break;
  }
  __libc_free(block);
}
#endif

/* ---- The functions that run without memory ---- */

typedef struct trial {
  const char *name;
  wr_status (*run)(ground *g);
  int retries; /* 1: where one request fails it may ask for less, and succeed */
  int changes; /* 1: a change of the method asks for memory, and is left out without it */
} trial;

/* A function that fails to open frees what it holds, so this closes only what did open. */

static wr_status rank_opened(wr_pagerank *method, const wr_graph *graph, wr_rounding rounding, wr_verified level) {
  wr_status status;
  wr_result result;
  wr_verdict verdict;
  wr_history history = {0};
  double *ranks = NULL, *step = NULL, change, dangling;
  wr_pagerank_options options = {.damping = 0.85, .tolerance = 1e-5, .iterations = 100, .check_every = 1,
                                 .order = 3};
  TRY(wr_pagerank_solve(method, &options, &(wr_monitor){.history = &history}, &result));
  TRY(wr_alloc(&ranks, graph->n, sizeof *ranks, "a test"));
  TRY(wr_alloc(&step, graph->n, sizeof *step, "a test"));
  TRY(wr_pagerank_download(method, ranks));
  TRY(wr_pagerank_step(method, &options, step, &change, &dangling));
  TRY(wr_verify_pagerank(graph, 0.85, fmax(1e-5, result.measure), 0, rounding, ranks, step, change, dangling, level, 5,
                         &verdict));
  CHECK(result.outcome == WR_CONVERGED && verdict.multiplied_right && verdict.met_tolerance);
done:
  wr_free(ranks), wr_free(step);
  wr_history_free(&history);
  return status;
}

/* The certificate for scores that are no scores of this graph, and what they mean. */
static wr_status certify(const wr_graph *graph) {
  wr_status status;
  double *scores = NULL;
  wr_score_bound bound;
  wr_score_reading reading;
  TRY(wr_alloc(&scores, graph->n, sizeof *scores, "a test"));
  for (int64_t i = 0; i < graph->n; i++) scores[i] = 1;
  TRY(wr_scores_certify(graph, 0.85, scores, &bound));
  TRY(wr_scores_explain(graph, 0.85, scores, &bound, &reading));
  CHECK(bound.bound > 1 && reading.bound < INFINITY);
done:
  wr_free(scores);
  return status;
}

/* A graph, ranked and verified. targets: personalised. mixed: in f64 by sweeps in f32. */
static wr_status rank(ground *g, wr_csr *links, int targets, wr_verified level, int mixed) {
  wr_status status;
  wr_graph graph;
  wr_env narrow_env;
  wr_plan *plan = NULL, *narrow = NULL;
  wr_pagerank method;
  double *teleport = NULL;
  int built = 0, opened = 0;
  if (targets) TRY(wr_alloc(&teleport, links->nrows, sizeof *teleport, "a test"));
  for (int64_t i = 0; targets && i < links->nrows; i++) teleport[i] = (double)(i % 3);
  TRY(wr_graph_build(links, 0, teleport, NULL, &graph));
  built = 1;
  TRY(wr_plan_create(g->backend, NULL, graph.flow, &g->env, &plan));
  TRY(wr_plan_prepare(plan));
  TRY(wr_pagerank_open(&method, &graph, plan, &g->env));
  opened = 1;
  if (mixed) {
    TRY(wr_env_with_type(&g->env, WR_F32, &narrow_env));
    TRY(wr_plan_create(g->backend, NULL, graph.flow, &narrow_env, &narrow));
    TRY(wr_plan_prepare(narrow));
    TRY(wr_pagerank_sweep_in(&method, narrow, &narrow_env));
  }
  TRY(wr_plan_time_start(plan));
  TRY(rank_opened(&method, &graph, (wr_rounding){wr_type_unit(g->env.type), 0x1p-53, 0}, level));
  if (g->env.place == WR_HOST) TRY(certify(&graph)); /* elsewhere the flow may be on the device alone */
done:
  if (opened) wr_pagerank_close(&method);
  wr_plan_destroy(narrow);
  wr_plan_destroy(plan);
  if (built) wr_graph_free(&graph);
  return status;
}

static wr_status solve_opened(wr_bicgstab *method, const wr_system *system, wr_rounding rounding) {
  wr_status status;
  wr_result result;
  wr_verdict verdict;
  wr_history history = {0};
  double *room = NULL;
  int64_t n = system->n;
  wr_bicgstab_options options = {
      .method = &wr_method_bicgstab, .tolerance = 1e-10, .iterations = 1000, .check_every = 1}; /* f32 is refined */
  TRY(wr_bicgstab_solve(method, &options, &(wr_monitor){.history = &history}, &result));
  TRY(wr_alloc(&room, 4 * n, sizeof *room, "a test"));
  double *x = room, *u = room + n, *b = room + 2 * n, *q = room + 3 * n;
  TRY(wr_bicgstab_download(method, x, NULL));
  wr_system_unscale(system, x);
  TRY(wr_bicgstab_last_product(method, u, b, q));
  const wr_solved solved = {x, u, b, q, result.measure * system->norm_b, NULL, 0};
  TRY(wr_verify_system(system, 1e-10, rounding, &solved, WR_VERIFY_FULL, 0, &verdict));
  CHECK(result.outcome == WR_CONVERGED && verdict.multiplied_right && verdict.met_tolerance);
done:
  wr_free(room);
  wr_history_free(&history);
  return status;
}

/* A system, solved and verified. with_b: b = e1 and a guess, else b = A times ones and no guess. ilu: applied, or NULL. */
static wr_status solve_with(ground *g, wr_csr *A, int with_b, int jacobi, wr_scale scale,
                            const wr_preconditioner *ilu) {
  wr_status status;
  wr_system system;
  wr_plan *plan = NULL;
  wr_bicgstab method;
  wr_precond *precond = NULL;
  double *b = NULL, *guess = NULL;
  int built = 0, opened = 0;
  if (with_b) TRY(wr_alloc_zeroed(&b, A->nrows, sizeof *b, "a test"));
  if (with_b) b[0] = 1;
  if (with_b && (status = wr_alloc_zeroed(&guess, A->nrows, sizeof *guess, "a test")) != WR_OK) wr_free(b);
  if (with_b && status != WR_OK) return status;
  TRY(wr_system_build(A, b, guess, 0, 0, scale, jacobi ? &wr_precond_jacobi : NULL, 0, &system));
  built = 1;
  TRY(wr_plan_create(g->backend, NULL, system.matrix, &g->env, &plan));
  TRY(wr_plan_prepare(plan));
  TRY(wr_bicgstab_open(&method, &system, plan, &g->env));
  opened = 1;
  if (ilu) TRY(wr_precond_create(ilu, "order=rcm", system.matrix, &g->env, &precond));
  TRY(wr_bicgstab_precondition(&method, precond));
  TRY(solve_opened(&method, &system, (wr_rounding){wr_type_unit(g->env.type), 0x1p-53, 0}));
done:
  if (opened) wr_bicgstab_close(&method);
  wr_precond_destroy(precond);
  wr_plan_destroy(plan);
  if (built) wr_system_free(&system);
  return status;
}

static wr_status solve(ground *g, wr_csr *A, int with_b, int jacobi, wr_scale scale) {
  return solve_with(g, A, with_b, jacobi, scale, NULL);
}

/* A feed knows a matrix for as long as it is there. */
static void fed_begin(void *known, wr_csr *A) { *(const wr_csr **)known = A; }
static void fed_ready(void *known, int64_t rows) { CHECK(rows <= (*(const wr_csr **)known)->nrows); }

static wr_status load(const char *path, wr_csr **A) {
  wr_ledger ledger;
  wr_problem_facts facts = {0};
  const wr_csr *known = NULL;
  wr_csr_feed feed = {&known, fed_begin, fed_ready};
  wr_ledger_begin(&ledger, WR_PHASE_READ);
  wr_status status = wr_source_load(path, &(wr_source_options){.feed = &feed}, &ledger, A, &facts);
  CHECK(known == NULL ? status != WR_OK || strncmp(path, "gen:", 4) == 0 : known == *A);
  return status;
}

static wr_status rank_pattern(ground *g) {
  wr_csr *links = NULL;
  wr_status status = wr_csr_create(40, 40, 0, 0, &links);
  if (status == WR_OK) status = rank(g, links, 1, WR_VERIFY_SAMPLE, 0);
  wr_csr_free(links);
  return status;
}

static wr_status rank_generated(ground *g) {
  wr_csr *links = NULL;
  wr_status status = load("gen:road:side=8", &links);
  if (status == WR_OK) status = rank(g, links, 0, WR_VERIFY_FULL, 0);
  wr_csr_free(links);
  return status;
}

static wr_status rank_mixed(ground *g) {
  wr_csr *links = NULL;
  wr_status status = load("gen:road:side=8", &links);
  if (status == WR_OK) status = rank(g, links, 1, WR_VERIFY_FULL, g->env.type == WR_F64);
  wr_csr_free(links);
  return status;
}

static wr_status count_set(void *context, const wr_set_ranks *found) {
  *(int64_t *)context += found->outcome == WR_CONVERGED && !found->is_refuted;
  return WR_OK;
}

/* Teleport sets from a file, with the flow in another order, so that the host's check builds one of its own. */
static wr_status rank_teleports(ground *g) {
  wr_status status;
  wr_csr *links = NULL;
  wr_graph graph = {0};
  wr_plan *plan = NULL;
  wr_set_list list = {0};
  wr_rank_sets_facts facts;
  int64_t converged = 0;
  const wr_rank_sets_options options = {.damping = 0.85, .tolerance = 1e-4, .iterations = 100, .top = 3, .checks = 2};
  TRY(load("gen:road:side=8", &links));
  const wr_vector_need need = {.n = links->nrows, .whose = "a test"};
  TRY(wr_set_file_read("tests/data/sets/four.txt", &need, &list));
  TRY(wr_graph_begin(links, 0, NULL, NULL, &graph));
  TRY(wr_alloc(&graph.order, graph.n, sizeof *graph.order, "a test"));
  for (int64_t k = 0; k < graph.n; k++) graph.order[k] = (int32_t)(graph.n - 1 - k);
  TRY(wr_graph_finish(&graph, NULL));
  g->env.need_columns = wr_rank_sets_columns(&g->env);
  TRY(wr_plan_create(g->backend, NULL, graph.flow, &g->env, &plan));
  TRY(wr_plan_prepare(plan));
  const wr_teleport_sets sets = {list.count, list.first, list.node, list.weight};
  TRY(wr_rank_sets(&graph, plan, &g->env, &sets, &options, NULL, count_set, &converged, &facts));
  CHECKF(converged == 4 && facts.checked == 2, "%lld of 4 sets, %lld checked", (long long)converged,
         (long long)facts.checked);
done:
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
  wr_set_list_free(&list);
  wr_csr_free(links);
  return status;
}

/* Component by component, of which one has more nodes than a dense system takes. */
static wr_status rank_components(ground *g) {
  wr_status status;
  wr_csr *links = NULL;
  wr_graph graph = {0};
  wr_history history = {0};
  double *scores = NULL;
  wr_gauss_seidel_found found;
  const wr_gauss_seidel_options options = {.damping = 0.85, .change = 1e-10, .multiplies = 1000};
  (void)g;
  TRY(load("gen:road:side=8", &links));
  TRY(wr_graph_build(links, 0, NULL, NULL, &graph));
  TRY(wr_alloc(&scores, graph.n, sizeof *scores, "a test"));
  TRY(wr_gauss_seidel_solve(&graph, &options, NULL, NULL, &(wr_monitor){.history = &history}, scores, &found));
  CHECKF(found.met && found.largest > 32, "%d, %lld nodes", found.met, (long long)found.largest);
done:
  wr_free(scores);
  wr_history_free(&history);
  wr_graph_free(&graph);
  wr_csr_free(links);
  return status;
}

/* Read, assembled, transposed, divided by out-weights. */
static wr_status rank_file(ground *g) {
  wr_csr *links = NULL;
  wr_status status = load("tests/data/bad/duplicates.mtx", &links);
  if (status == WR_OK) status = rank(g, links, 0, WR_VERIFY_FULL, 0);
  wr_csr_free(links);
  return status;
}

/* A cyclic permutation. */
static wr_status solve_cyclic(ground *g, wr_scale scale) {
  wr_csr *A = NULL;
  wr_status status = wr_csr_create(3, 3, 3, 1, &A);
  if (status == WR_OK) {
    for (int i = 0; i < 3; i++) A->row_ptr[i + 1] = i + 1, A->col[i] = (i + 1) % 3, A->val[i] = 1;
    status = solve(g, A, 1, 0, scale);
  }
  wr_csr_free(A);
  return status;
}

/* An exact breakdown, as sigma is 0, so that the room for a shadow that is not r is asked for too. */
static wr_status solve_breakdown(ground *g) { return solve_cyclic(g, WR_SCALE_NONE); }

static wr_status solve_matched(ground *g) { return solve_cyclic(g, WR_SCALE_MATCH); }

/* Rows of very different norm. */
static wr_status solve_equilibrated(ground *g) {
  wr_csr *A = NULL;
  wr_status status = wr_csr_create(3, 3, 3, 1, &A);
  if (status == WR_OK) {
    for (int i = 0; i < 3; i++) A->row_ptr[i + 1] = i + 1, A->col[i] = i, A->val[i] = i == 1 ? 1e7 : 1;
    status = solve(g, A, 1, 0, WR_SCALE_AUTO);
  }
  wr_csr_free(A);
  return status;
}

static wr_status solve_file(ground *g) {
  wr_csr *A = NULL;
  wr_status status = load("tests/data/real/bar.mtx.gz", &A);
  if (status == WR_OK) status = solve(g, A, 0, 1, WR_SCALE_NONE);
  wr_csr_free(A);
  return status;
}

static int unchanged; /* solves in which the method did not change */

/* By the automatic method, which changes where it breaks down or, without memory for the next one, ends by itself. Either way
 * the outcome is true. */
static wr_status solve_by_several(ground *g, wr_csr *A) {
  wr_status status;
  wr_system system;
  wr_plan *plan = NULL;
  wr_bicgstab method;
  wr_result result;
  wr_verdict verdict;
  double *room = NULL;
  int64_t n = A->nrows;
  int built = 0, opened = 0;
  const wr_bicgstab_options options = {.tolerance = 1e-10, .iterations = 2000, .check_every = 1};
  TRY(wr_system_build(A, NULL, NULL, 0, 0, WR_SCALE_NONE, NULL, 0, &system));
  built = 1;
  TRY(wr_plan_create(g->backend, NULL, system.matrix, &g->env, &plan));
  TRY(wr_plan_prepare(plan));
  TRY(wr_bicgstab_open(&method, &system, plan, &g->env));
  opened = 1;
  TRY(wr_bicgstab_solve(&method, &options, NULL, &result));
  TRY(wr_alloc(&room, 4 * n, sizeof *room, "a test"));
  double *x = room, *u = room + n, *b = room + 2 * n, *q = room + 3 * n;
  TRY(wr_bicgstab_download(&method, x, NULL));
  wr_system_unscale(&system, x);
  TRY(wr_bicgstab_last_product(&method, u, b, q));
  const wr_solved solved = {x, u, b, q, result.measure * system.norm_b, NULL, 0};
  const wr_rounding rounding = {wr_type_unit(g->env.type), 0x1p-53, 0};
  TRY(wr_verify_system(&system, options.tolerance, rounding, &solved, WR_VERIFY_FULL, 0, &verdict));
  CHECKF(verdict.met_tolerance == (result.outcome == WR_CONVERGED) && verdict.multiplied_right, "%s, residual %g",
         wr_outcome_title(result.outcome), result.measure);
  CHECKF(result.outcome == WR_CONVERGED || (result.outcome == WR_BREAKDOWN && result.note[0]), "%s, '%s'",
         wr_outcome_title(result.outcome), result.note);
  unchanged += result.changes[0] == '\0';
done:
  wr_free(room);
  if (opened) wr_bicgstab_close(&method);
  wr_plan_destroy(plan);
  if (built) wr_system_free(&system);
  return status;
}

/* Symmetric with a positive diagonal, but indefinite: conjugate gradients break down. BiCGSTAB has its vectors by then. */
static wr_status solve_after_cg(ground *g) {
  wr_csr *A = NULL;
  wr_status status = wr_csr_create(2, 2, 4, 1, &A);
  if (status == WR_OK) {
    for (int i = 0; i < 2; i++) A->row_ptr[i + 1] = 2 * i + 2;
    for (int k = 0; k < 4; k++) A->col[k] = k % 2, A->val[k] = k == 0 ? 1 : k < 3 ? 3 : 2;
    status = solve_by_several(g, A);
  }
  wr_csr_free(A);
  return status;
}

/* A grid with convection about its middle, for which the automatic choice changes to ILU(0) in mid-solve; without memory for
 * that it goes on as before. */
static wr_status solve_by_choice(ground *g) {
  enum { SIDE = 20, N = SIDE * SIDE };
  wr_status status;
  wr_csr *A = NULL;
  wr_system system = {0};
  wr_plan *plan = NULL;
  wr_bicgstab method = {0};
  wr_auto_precond choice = {0};
  wr_run_precond report = {.name = ""};
  wr_bicgstab_options options = {.tolerance = 1e-4, .iterations = 20000};
  wr_result result;
  double *x = NULL;
  wr_residual found;
  int64_t k = 0;
  TRY(wr_csr_create(N, N, 5 * N - 4 * SIDE, 1, &A));
  for (int i = 0; i < N; i++) {
    int column = i % SIDE, row = i / SIDE;
    double u = 10 * (2.0 * row / SIDE - 1), v = 10 * (1 - 2.0 * column / SIDE);
    if (row > 0) A->col[k] = i - SIDE, A->val[k++] = -1 - v;
    if (column > 0) A->col[k] = i - 1, A->val[k++] = -1 - u;
    A->col[k] = i, A->val[k++] = 4;
    if (column + 1 < SIDE) A->col[k] = i + 1, A->val[k++] = -1 + u;
    if (row + 1 < SIDE) A->col[k] = i + SIDE, A->val[k++] = -1 + v;
    A->row_ptr[i + 1] = k;
  }
  TRY(wr_system_build(A, NULL, NULL, 0, 0, WR_SCALE_NONE, NULL, 0, &system));
  TRY(wr_plan_create(g->backend, NULL, system.matrix, &g->env, &plan));
  TRY(wr_plan_prepare(plan));
  TRY(wr_bicgstab_open(&method, &system, plan, &g->env));
  TRY(wr_auto_begin(&choice, &system, &g->env, &report));
  TRY(wr_auto_solve(&choice, NULL, &options, &method));
  TRY(wr_bicgstab_solve(&method, &options, NULL, &result));
  CHECKF(result.outcome == WR_CONVERGED, "%s: %s", wr_outcome_title(result.outcome), report.line);
  int has_factors = strstr(report.line, "; ilu0 from multiply ") != NULL && strstr(report.line, "; but with") == NULL;
  int has_none =
      strstr(report.line, "; no ilu0: out of memory") != NULL || strstr(report.line, "; but with none") != NULL;
  CHECKF(has_factors != has_none, "%s", report.line);
  unchanged += has_none;
  TRY(wr_alloc(&x, N, sizeof *x, "a test"));
  TRY(wr_bicgstab_download(&method, x, NULL));
  wr_system_unscale(&system, x);
  TRY(wr_residual_find(&system, x, NULL, &found));
  CHECKF(found.norm <= 1e-4 * system.norm_b + found.error, "%g of %g", found.norm, system.norm_b);
done:
  wr_free(x);
  wr_bicgstab_close(&method);
  wr_auto_end(&choice);
  wr_plan_destroy(plan);
  wr_system_free(&system);
  wr_csr_free(A);
  return status;
}

static wr_status solve_factorised(ground *g, const wr_preconditioner *ilu) {
  wr_csr *A = NULL;
  wr_status status = load("gen:stencil:n=4,convection=0.4", &A);
  if (status == WR_OK) status = solve_with(g, A, 0, 0, WR_SCALE_NONE, ilu);
  wr_csr_free(A);
  return status;
}

/* Skew-symmetric: BiCGSTAB breaks down again and again. */
static wr_status solve_after_bicgstab(ground *g) {
  enum { N = 36 };
  wr_csr *A = NULL;
  wr_status status = wr_csr_create(N, N, 2 * (N - 1), 1, &A);
  if (status == WR_OK) {
    int64_t k = 0;
    for (int i = 0; i < N; i++) {
      if (i > 0) A->col[k] = i - 1, A->val[k++] = -1 - (i - 1) % 3;
      if (i + 1 < N) A->col[k] = i + 1, A->val[k++] = 1 + i % 3;
      A->row_ptr[i + 1] = k;
    }
    status = solve_by_several(g, A);
  }
  wr_csr_free(A);
  return status;
}

/* The allocations of KLU, too, which are made in a thread of its own. */
static wr_status solve_directly(ground *g) {
  wr_status status;
  wr_csr *A = NULL;
  wr_system system;
  wr_direct_facts facts;
  double *x = NULL;
  int built = 0;
  const wr_direct_options options = {.tolerance = 1e-10};
  (void)g;
  TRY(load("gen:stencil:n=4", &A));
  TRY(wr_system_build(A, NULL, NULL, 0, 0, WR_SCALE_EQUILIBRATE, NULL, 0, &system));
  built = 1;
  TRY(wr_alloc(&x, system.n, sizeof *x, "a test"));
  TRY(wr_direct_solve(&system, &options, NULL, x, &facts));
  CHECK(facts.outcome == WR_CONVERGED);
done:
  if (built) wr_system_free(&system);
  wr_free(x);
  wr_csr_free(A);
  return status;
}

static wr_status solve_ilu0(ground *g) { return solve_factorised(g, &wr_precond_ilu0); }

static wr_status solve_ilut(ground *g) { return solve_factorised(g, &wr_precond_ilut); }

static wr_status factorise_by_colours(ground *g) {
  wr_status status;
  wr_csr *A = NULL;
  wr_precond *precond = NULL;
  TRY(load("gen:stencil:n=4,convection=0.4", &A));
  TRY(wr_precond_create(&wr_precond_ilu0, "order=colour:block=5:factors=f32", A, &g->env, &precond));
done:
  wr_precond_destroy(precond);
  wr_csr_free(A);
  return status;
}

/* ---- The flat interface ---- */

static const int32_t some_row[] = {0, 0, 1, 2, 2}, some_col[] = {1, 0, 1, 0, 2};
static const double some_val[] = {1, 4, 3, 1, 5};

static wr_status call_solver(ground *g) {
  wr_status status;
  wr_matrix *A = NULL;
  wr_solver *solver = NULL;
  wr_trace *trace = NULL;
  wr_solve_result results[2];
  double b[6] = {1, 2, 3, 4, 5, 6}, x[6];
  TRY(wr_trace_new(&trace));
  TRY(wr_matrix_new_coo(3, 3, 5, some_row, some_col, some_val, 0, &A));
  const wr_solve_options options = {.size = sizeof options, .backend = g->backend->name, .precond = "jacobi", .x0 = b,
                                    .precision = g->env.type == WR_F32 ? "f32" : NULL, .threads = g->env.threads,
                                    .trace = trace, .scale = "equilibrate"};
  TRY(wr_solver_new(A, &options, &solver));
  for (int j = 0; j < 2; j++) WR_INIT(results[j]);
  TRY(wr_solver_solve_many(solver, 2, b, 3, x, 3, results));
  for (int j = 0; j < 2; j++) CHECK(results[j].outcome == WR_CONVERGED && results[j].verified);
done:
  wr_solver_free(solver);
  wr_matrix_free(A);
  wr_trace_free(trace);
  return status;
}

static wr_status call_rank(ground *g) {
  wr_status status;
  wr_matrix *A = NULL;
  wr_rank_result result;
  double scores[3], weights[3] = {1, 0, 2};
  wr_rank_options options = {.size = sizeof options, .backend = g->backend->name, .personalize = weights,
                             .threads = g->env.threads, .precision = g->env.type == WR_F32 ? "f32" : "mixed",
                             .method = "power"};
  TRY(wr_matrix_new_coo(3, 3, 5, some_row, some_col, some_val, 0, &A));
  WR_INIT(result);
  TRY(wr_rank(A, scores, &options, &result));
  CHECK(result.outcome == WR_CONVERGED && result.verified);
  const int64_t first[] = {0, 1, 3}, node[] = {1, 0, 2};
  int64_t best[4];
  options.personalize = NULL, options.precision = g->env.type == WR_F32 ? "f32" : "f64";
  TRY(wr_rank_many(A, 2, first, node, NULL, 2, best, (double[4]){0}, NULL, &options, &result));
  CHECK(result.outcome == WR_CONVERGED && result.verified);
done:
  wr_matrix_free(A);
  return status;
}

static wr_status call_operator(ground *g) {
  wr_status status;
  wr_matrix *A = NULL;
  wr_operator *op = NULL;
  double x[3] = {1, 2, 3}, y[3];
  const wr_operator_options options = {.size = sizeof options, .backend = g->backend->name, .threads = g->env.threads};
  TRY(wr_matrix_new_coo(3, 3, 5, some_row, some_col, some_val, 0, &A));
  TRY(wr_operator_new(A, &options, &op));
  TRY(wr_operator_apply(op, 1, x, 0, y));
  CHECK(y[0] == 6 && y[1] == 6 && y[2] == 16);
done:
  wr_operator_free(op);
  wr_matrix_free(A);
  return status;
}

/* Counts requests from wr_env_open on. With one thread their order is always the same; with two it may vary. */
static wr_status with_ground(const trial *t, const wr_backend *backend, wr_type type) {
  ground g = {.backend = backend, .env = {.place = WR_HOST, .type = type, .threads = type == WR_F32 ? 2 : 1}};
  wr_status status = wr_env_open(&g.env);
  if (status == WR_OK) status = t->run(&g);
  wr_env_close(&g.env);
  return status;
}

/* Fails request number `at`. Returns 0 once `at` is beyond the last request. */
static int fail_at(const trial *t, const wr_backend *backend, wr_type type, long at, int all_later) {
  long before = atomic_load(&live_count);
  wr_fail(WR_OK, "nothing was said");
  atomic_store(&refused, 0);
  atomic_store(&goes_on, all_later);
  atomic_store(&granted, at);
  wr_status status = with_ground(t, backend, type);
  atomic_store(&granted, -1);
  long left = atomic_load(&live_count) - before;
  CHECKF(!COUNTS_FREES || left == 0, "request %ld: %ld blocks are left behind (%s)", at, left, wr_status_message());
  if (atomic_load(&refused) == 0) {
    CHECKF(status == WR_OK, "nothing failed, but %s: %s", wr_status_name(status), wr_status_message());
    return 0;
  }
  if (t->retries && !all_later && status == WR_OK) return 1;
  CHECKF(status == WR_ENOMEM, "request %ld: %s: %s", at, wr_status_name(status), wr_status_message());
  CHECKF(strstr(wr_status_message(), "out of memory") != NULL, "request %ld: '%s'", at, wr_status_message());
  return 1;
}

static void run_trial(const trial *t, const wr_backend *backend, wr_type type) {
  ground_case(NULL, "%s, %s, %s", t->name, backend->name, type == WR_F32 ? "f32" : "f64");
  unchanged = 0;
  wr_status status = with_ground(t, backend, type);
  if (status == WR_EUNAVAILABLE && t->run == solve_directly) {
    SKIP("%s", wr_status_message());
    return;
  }
  if (status != WR_OK) {
    if (strstr(wr_status_message(), "zlib")) SKIP("%s", wr_status_message());
    CHECKF(strstr(wr_status_message(), "zlib") != NULL, "%s", wr_status_message());
    return;
  }
  CHECKF(unchanged == 0, "the method did not change with all memory");
  for (int all_later = 0; all_later < 2; all_later++) {
    long at = 0;
    while (at < 2000 && fail_at(t, backend, type, at, all_later)) at++;
    CHECKF(at > 10 && at < 2000, "%ld requests", at);
    if (all_later == 0) CHECKF((unchanged > 0) == t->changes, "%d solves without a change of the method", unchanged);
  }
}

/* A failed allocation of a vector leaves the vectors before it usable: sums over them still work. */
static void test_vectors_after_failure(void) {
  wr_env env = {.place = WR_HOST, .type = WR_F64, .threads = 1};
  wr_vec small = {0}, large = {0}, bank = {0};
  double sum = 0;
  CASE("vectors after a failed allocation");
  CHECK_OK(wr_env_open(&env));
  CHECK_OK(env.ops->alloc(&env, 100, WR_F64, "a small vector", &small));
  CHECK_OK(env.ops->alloc(&env, 1, WR_F64, "a bank", &bank));
  CHECK_OK(env.ops->fill(&env, &small, 2));
  for (long at = 0; at < 2; at++) { /* the partial sums, then the vector itself */
    atomic_store(&granted, at);
    CHECK_FAILS(WR_ENOMEM, env.ops->alloc(&env, 100000, WR_F64, "a large vector", &large));
    atomic_store(&granted, -1);
    CHECK(large.id == 0 && large.data == NULL);
    wr_fused f = {.in = {&small}, .reduce = {{WR_SUM, &small, NULL, {&bank, 0}}}};
    CHECK_OK(env.ops->fused(&env, &f));
    CHECK_OK(env.ops->download(&env, &bank, &sum));
    CHECKF(sum == 200, "the sum is %g", sum);
    CHECK_OK(env.ops->fill(&env, &bank, 0));
  }
  env.ops->release(&env, &small);
  env.ops->release(&env, &bank);
  wr_env_close(&env);
}

int main(void) {
  static const trial trials[] = {
      {.name = "ranks without links", .run = rank_pattern},
      {.name = "ranks of a generated graph", .run = rank_generated},
      {.name = "ranks of a file", .run = rank_file},
      {.name = "ranks by sweeps in f32", .run = rank_mixed},
      {.name = "ranks by components", .run = rank_components},
      {.name = "teleport sets", .run = rank_teleports, .retries = 1},
      {.name = "a breakdown", .run = solve_breakdown},
      {.name = "matched rows", .run = solve_matched},
      {.name = "equilibrated rows", .run = solve_equilibrated},
      {.name = "the solution of a file", .run = solve_file, .retries = 1},
      {.name = "another method after conjugate gradients", .run = solve_after_cg, .retries = 1},
      {.name = "another method after BiCGSTAB", .run = solve_after_bicgstab, .retries = 1, .changes = 1},
      {.name = "a direct solution", .run = solve_directly},
      {.name = "ILU(0)", .run = solve_ilu0, .retries = 1},
      {.name = "ILUT", .run = solve_ilut, .retries = 1},
      {.name = "the automatic choice", .run = solve_by_choice, .retries = 1, .changes = 1},
      {.name = "ILU(0) by colours", .run = factorise_by_colours},
      {.name = "a call for several right-hand sides", .run = call_solver, .retries = 1},
      {.name = "a call for ranks", .run = call_rank, .retries = 1},
      {.name = "a call for a product", .run = call_operator},
  };
  const wr_backend *cpu_csr, *reference;
  CHECK_OK(wr_backend_find("cpu_csr", &cpu_csr));
  CHECK_OK(wr_backend_find("reference", &reference));
  test_vectors_after_failure();
  for (size_t t = 0; t < sizeof trials / sizeof *trials; t++) {
    run_trial(&trials[t], cpu_csr, WR_F32);
    run_trial(&trials[t], cpu_csr, WR_F64);
    run_trial(&trials[t], reference, WR_F64);
  }
  return wr_test_report("alloc_failure");
}
