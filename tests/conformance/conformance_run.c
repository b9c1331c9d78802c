/* The two ways of combining cases and settings. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "tests/conformance/cases.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/covering.h"

/* ---- Knobs ---- */

int conformance_knob_settings(const wr_backend *backend) { return backend->knobs && backend->knobs->name ? 3 : 1; }

/* text := the minimal or maximal value of a knob; "" for a text. */
static void extreme(const wr_knob *knob, int most, char *text, size_t size) {
  double real = most ? (knob->below_max ? nextafter(knob->max, -INFINITY) : knob->max)
                     : (knob->above_min ? nextafter(knob->min, INFINITY) : knob->min);
  long long whole = most ? (long long)knob->max - knob->below_max : (long long)knob->min + knob->above_min;
  const char *last = knob->choices ? strrchr(knob->choices, '|') : NULL;
  text[0] = '\0';
  switch (knob->type) {
    case WR_OPTION_FLAG: snprintf(text, size, "%s", most ? "yes" : "no"); break;
    case WR_OPTION_INT: snprintf(text, size, "%lld", whole); break;
    case WR_OPTION_REAL: snprintf(text, size, "%.17g", real); break;
    case WR_OPTION_TEXT: break;
    case WR_OPTION_CHOICE:
      if (most && last)
        snprintf(text, size, "%s", last + 1);
      else
        snprintf(text, size, "%.*s", (int)strcspn(knob->choices, "|"), knob->choices);
      break;
  }
}

void conformance_knobs(const wr_backend *backend, int setting, char *text, size_t size) {
  char value[64];
  text[0] = '\0';
  if (setting == 0) return;
  WR_EACH_OPTION(knob, backend->knobs) {
    size_t used = strlen(text);
    extreme(knob, setting == 2, value, sizeof value);
    if (value[0]) snprintf(text + used, size - used, "%s%s=%s", used ? ":" : "", knob->name, value);
  }
}

/* ---- One matrix ---- */

static trial make_trial(const wr_backend *backend, const char *name, wr_csr *A, wr_type type, const char *knobs,
                        findings *f) {
  return (trial){.backend = backend,
                 .knobs = knobs[0] ? knobs : NULL,
                 .name = name,
                 .A = A,
                 .findings = f,
                 .env = {.place = backend->place, .type = type, .need_beta = 1, .need_columns = WR_MAX_COLUMNS}};
}

static void apply_all(trial *t) {
  for (int alpha = 0; alpha < ALPHAS; alpha++)
    for (int beta = 0; beta < BETAS; beta++)
      for (int y_next = 0; y_next < 2; y_next++)
        for (int epilogue = 0; epilogue < EPILOGUES; epilogue++)
          conform_apply(t, (choice){.alpha = alpha, .beta = beta, .y_next = y_next, .epilogue = epilogue});
}

/* All checks but the applies with chosen parameters, the chains, and new values. */
static void check_the_rest(trial *t) {
  conform_nonfinite(t);
  conform_many(t);
  conform_decode(t);
  conform_freed(t);
  conform_need_beta(t);
  conform_repeats(t);
  conform_deterministic(t);
}

static wr_csr *build(const wr_backend *backend, const test_case *c, findings *f) {
  trial t = {.backend = backend, .name = c->name, .findings = f};
  wr_csr *A;
  wr_status status = case_build(c, &A);
  if (status == WR_OK) status = wr_csr_check(A);
  TRIAL_OK(&t, status);
  if (status == WR_OK) return A;
  wr_csr_free(A);
  return NULL;
}

/* A backend that refuses everything has not passed. */
static void expect_runs(const wr_backend *backend, const int runs[2], findings *f) {
  for (int type = WR_F32; type <= WR_F64; type++) {
    trial t = {.backend = backend, .name = "all cases", .env = {.type = (wr_type)type}, .findings = f};
    int claims = (backend->caps & (type == WR_F32 ? WR_CAP_F32 : WR_CAP_F64)) != 0;
    trial_expect(&t, runs[type] > 0 || !claims, "nothing was taken");
  }
}

static int enough(const findings *f) { return f->quiet && f->failed; }

/* ---- The two ways ---- */

/* The chains: all kinds or, with WR_SHORT, one of them in turn. */
static void chain_all(trial *t, int turn) {
  for (int kind = 0; kind < CHAIN_KINDS; kind++)
    if (!getenv("WR_SHORT") || kind == turn % CHAIN_KINDS) conform_chain(t, (chain_kind)kind, 50);
}

/* CUSPARSE_SPMV_CSR_ALG1, even without this library, multiplies this matrix wrong about once in 100 000 times while other
 * processes use the card through the multi-process service: tests/bench/cusparse_race.cu, docs/reliability.md. */
static int library_is_wrong(const wr_backend *backend, const test_case *c, wr_type type, const char *knobs) {
  return getenv("CUDA_MPS_PIPE_DIRECTORY") && type == WR_F64 && strcmp(backend->name, "cusparse") == 0 &&
         strcmp(knobs, "alg=2") != 0 && strcmp(c->name, "dense") == 0;
}

static void run_small_case(const wr_backend *backend, const test_case *c, int runs[2], findings *f) {
  wr_csr *A = build(backend, c, f);
  if (A == NULL) return;
  for (int type = WR_F32; type <= WR_F64; type++)
    for (int setting = 0; setting < conformance_knob_settings(backend) && !enough(f); setting++) {
      char knobs[256];
      conformance_knobs(backend, setting, knobs, sizeof knobs);
      if (library_is_wrong(backend, c, (wr_type)type, knobs)) {
        CASE("cusparse, f64, dense");
        SKIP("cuSPARSE multiplies this matrix wrong while other processes use the card (docs/reliability.md)");
        continue;
      }
      trial t = make_trial(backend, c->name, A, (wr_type)type, knobs, f);
      if (trial_open(&t)) {
        runs[type]++;
        trial_fill(&t, 0);
        apply_all(&t);
        chain_all(&t, runs[0] + runs[1]);
        check_the_rest(&t);
        if (!getenv("WR_SHORT") || (runs[0] + runs[1]) % 3 == 0) conform_update_values(&t);
      }
      trial_close(&t);
    }
  wr_csr_free(A);
}

void conformance_small(const wr_backend *backend, findings *f) {
  case_list list;
  int runs[2] = {0, 0};
  trial t = {.backend = backend, .name = "small cases", .findings = f};
  TRIAL_OK(&t, cases_small(&list));
  for (int c = 0; c < list.count && !enough(f); c++) run_small_case(backend, &list.cases[c], runs, f);
  if (!enough(f)) expect_runs(backend, runs, f);
  cases_free(&list);
}

/* The order of the parameters: rows of the covering with equal first three parameters are consecutive and share a plan. */
enum { CASE_OF, TYPE_OF, KNOBS_OF, ALPHA_OF, BETA_OF, NEXT_OF, EPILOGUE_OF, PARAMETERS };

/* With WR_SHORT, a format of so many bytes (large blocks, mostly padding) is applied once. */
static int is_heavy(const trial *t) {
  return getenv("WR_SHORT") && wr_plan_get_info(t->plan)->format_bytes > (int64_t)16 << 20;
}

/* Runs all rows from r on with the same case, type and knobs; returns the next row. */
static int run_large_group(const wr_backend *backend, const test_case *c, wr_csr *A, const covering *cover, int r,
                           int runs[2], findings *f) {
  const int *row = cover->row[r];
  char knobs[256];
  conformance_knobs(backend, row[KNOBS_OF], knobs, sizeof knobs);
  trial t = make_trial(backend, c->name, A, (wr_type)row[TYPE_OF], knobs, f);
  int opened = A && trial_open(&t), heavy = opened && is_heavy(&t), end = r;
  if (opened) trial_fill(&t, 0);
  for (; end < cover->count && memcmp(cover->row[end], row, ALPHA_OF * sizeof *row) == 0; end++) {
    const int *p = cover->row[end];
    if (opened && (!heavy || end == r))
      conform_apply(&t, (choice){p[ALPHA_OF], p[BETA_OF], p[NEXT_OF], p[EPILOGUE_OF]});
  }
  if (opened) runs[row[TYPE_OF]]++;
  if (opened && !heavy) { /* with WR_SHORT one of the three, in turn */
    int is_short = getenv("WR_SHORT") != NULL, turn = (row[CASE_OF] + row[TYPE_OF] + row[KNOBS_OF]) % 3;
    if (!is_short || turn == 0)
      conform_chain(&t, (chain_kind)((row[CASE_OF] + row[TYPE_OF]) % CHAIN_KINDS), is_short ? 7 : 14);
    if (!is_short || turn == 1) check_the_rest(&t);
    if (!is_short || turn == 2) conform_update_values(&t);
  }
  if (A) trial_close(&t);
  return end;
}

void conformance_large(const wr_backend *backend, findings *f) {
  case_list list;
  covering cover;
  wr_csr *A = NULL;
  int runs[2] = {0, 0}, built = -1;
  trial t = {.backend = backend, .name = "large cases", .findings = f};
  TRIAL_OK(&t, cases_large(&list));
  int levels[PARAMETERS] = {list.count, 2, conformance_knob_settings(backend), ALPHAS, BETAS, 2, EPILOGUES};
  TRIAL_OK(&t, covering_make(levels, PARAMETERS, &cover));
  for (int r = 0; r < cover.count;) {
    const test_case *c = &list.cases[cover.row[r][CASE_OF]];
    if (cover.row[r][CASE_OF] != built) {
      wr_csr_free(A);
      A = build(backend, c, f);
      built = cover.row[r][CASE_OF];
    }
    r = run_large_group(backend, c, A, &cover, r, runs, f);
  }
  expect_runs(backend, runs, f);
  wr_csr_free(A);
  covering_free(&cover);
  cases_free(&list);
}

/* ---- Main ---- */

static wr_status try_cuda(void) {
  wr_env env = {.place = WR_CUDA, .type = WR_F64};
  wr_status status = wr_env_open(&env);
  wr_env_close(&env);
  return status;
}

typedef void (*conformance)(const wr_backend *backend, findings *f);

static void run_backend(const wr_backend *backend, conformance run, findings *f) {
  long passed = f->passed, failed = f->failed;
  run(backend, f);
  printf("%-20s %8ld passed, %ld failed\n", backend->name, f->passed - passed, f->failed - failed);
}

static void run_all(conformance run, int cuda, findings *f) {
  int on_host = 0;
  for (int b = 0; b < wr_backend_count(); b++) {
    const wr_backend *backend = wr_backend_at(b);
    if (backend->plan == NULL || (backend->place == WR_CUDA && !cuda)) continue;
    run_backend(backend, run, f);
    on_host += backend->place == WR_HOST;
  }
  CASE("backends");
  CHECKF(on_host >= 2, "%d backends on the host; reference and cpu_csr are in every build", on_host);
}

static void run_named(const char *name, conformance run, int cuda, findings *f) {
  const wr_backend *backend;
  CASE(name);
  CHECK_OK(wr_backend_find(name, &backend));
  if (backend == NULL) return;
  CHECKF(backend->plan && (cuda || backend->place == WR_HOST), "%s cannot run here", name);
  if (backend->plan && (cuda || backend->place == WR_HOST)) run_backend(backend, run, f);
}

int conformance_main(int argc, char **argv, const char *name, conformance run) {
  findings f = {0};
  trial_name_crashes();
  int cuda = try_cuda() == WR_OK;
  CASE("GPU");
  if (!cuda && getenv("WR_NEED_GPU"))
    CHECKF(0, "WR_NEED_GPU is set, and none can be used: %s", wr_status_message());
  else if (!cuda)
    SKIP("%s", wr_status_message());
  if (argc == 1) run_all(run, cuda, &f);
  for (int a = 1; a < argc; a++) run_named(argv[a], run, cuda, &f);
  if (!WR_CASES_GZIP && run == conformance_large) SKIP("compressed matrices: this build has no zlib");
  wr_test_passed += f.passed, wr_test_failed += f.failed;
  return wr_test_report(name);
}
