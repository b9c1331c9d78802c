#define _DEFAULT_SOURCE /* open_memstream */
/* spmv: how long one multiply y = A x takes by each backend, on any matrix, with every product checked. */
#include <stdio.h>
#include <string.h>

#include "config/memory.h"
#include "config/user_cache.h"
#include "config/text.h"
#include "io/output_file.h"
#include "solvers/program/comm_mpi.h"
#include "solvers/program/apply_time.h"
#include "solvers/program/calibrate.h"
#include "solvers/program/expected_runs.h"
#include "solvers/program/made_values.h"
#include "solvers/program/matrix_list.h"
#include "solvers/program/need.h"
#include "solvers/program/paths.h"
#include "solvers/program/process.h"
#include "solvers/report/figures.h"
#include "solvers/report/page.h"
#include "solvers/report/report.h"
#include "solvers/report/sectors.h"
#include "solvers/api/source.h"
#include "solvers/report/spmv_table.h"
#include "solvers/program/threads.h"
#include "spmv/choose/cost_model.h"

enum { VALUES_AS_GIVEN = 0, WITH_VALUES = 1, WITHOUT_VALUES = 2, MOST_LIST = 4096 };

/* Graphs are patterns: they are timed with made-up values and without values. */
typedef struct standard_matrix {
  const char *full, *small; /* small: under a million entries */
  int graph;
} standard_matrix;

static const standard_matrix standard[] = {
    {"gen:road", "gen:road:side=512", 1},
    {"gen:web", "gen:web:n=40000", 1},
    {"gen:rmat", "gen:rmat:scale=14", 1},
    {"gen:hubs", "gen:hubs:n=300000", 1},
    {"gen:stencil:n=200", "gen:stencil:n=50", 0},
    {"gen:fem:n=49", "gen:fem:n=16", 0},
    {"gen:fem:n=24", "gen:fem:n=8", 0},
    {"gen:band", "gen:band:n=4000", 0},
};
enum { STANDARD = sizeof standard / sizeof *standard };

typedef struct job {
  wr_spmv_settings s;
  wr_matrix_list matrices;
  wr_choice choices[WR_MAX_RUNS];
  int count, code; /* code: the worst exit code so far */
  wr_apply_place places[2];
  wr_run runs[WR_MAX_RUNS];
  wr_apply_times times[WR_MAX_RUNS];
  wr_output_file json_file, lines_file, csv_file, page_file; /* of --json, --jsonl, --csv, --report */
  FILE *outcome, *page; /* of the page its first sentences, and its sections, until the exit code is known; NULL: no page */
  char *outcome_text, *page_text;
  size_t outcome_size, page_size;
  wr_json json, lines;
  char *options;                                  /* the effective ones, as text */
  FILE *text; /* where tables go; NULL: nowhere */
} job;

static void note_code(job *j, int code) { j->code = wr_worse_exit_code(j->code, code); }

/* ---- one matrix ---- */

/* Drops device views, which hold the old values or none. */
static wr_status set_values(wr_csr *A, int variant, wr_problem_facts *facts) {
  const char *remark = NULL;
  if (variant == WITH_VALUES && A->val == NULL) {
    wr_csr_forget_device(A);
    PASS(wr_make_values(A));
    remark = "values made up";
  } else if (variant == WITHOUT_VALUES && A->val != NULL) {
    wr_csr_forget_device(A);
    wr_free(A->val);
    A->val = NULL;
    remark = "values left out";
  }
  if (remark) snprintf(facts->remark, sizeof facts->remark, "%s", remark);
  facts->has_values = A->val != NULL;
  return WR_OK;
}

/* A matrix that cannot be had or timed. Work goes on with the next one. The message names the matrix unless the sentence begins
 * with it. */
static void note_failure(job *j, const wr_problem_facts *facts, wr_status status) {
  wr_error error;
  (void)wr_error_keep(&error, status);
  int code = wr_process_complain_of("spmv", facts->source, status);
  if (j->json_file.file) wr_spmv_json_failure(&j->json, facts, &error);
  if (j->csv_file.file) wr_spmv_csv_failure(j->csv_file.file, facts, &error);
  if (j->page) wr_page_failure(j->outcome, facts, &error);
  if (j->lines_file.file) {
    wr_spmv_json_begin(&j->lines, j->options, j->places);
    wr_spmv_json_failure(&j->lines, facts, &error);
    wr_spmv_json_end(&j->lines, code);
  }
  note_code(j, code);
}

/* A line is complete: what was interrupted has none, and is measured again by a run that goes on. */
static wr_status write_results(job *j, const wr_spmv_table *table) {
  wr_writer text = {.file = j->text};
  if (j->text) wr_spmv_table_print(&text, table);
  if (j->json_file.file) wr_spmv_json_matrix(&j->json, table);
  if (j->csv_file.file) wr_spmv_csv_matrix(j->csv_file.file, table);
  if (j->page) wr_page_table(j->page, j->outcome, table);
  if (j->lines_file.file == NULL || *wr_process_interrupted()) return WR_OK;
  wr_spmv_json_begin(&j->lines, j->options, j->places);
  wr_spmv_json_matrix(&j->lines, table);
  wr_spmv_json_end(&j->lines, wr_report_exit_code(j->runs, j->count));
  return wr_output_flush(&j->lines_file);
}

static wr_status report_type(job *j, wr_csr *A, wr_type type, wr_problem_facts *facts, const wr_row_statistics *rows,
                             int is_calibrated) {
  int is_known, by_model = j->s.advise, on_device = by_model && j->places[WR_CUDA].env.ops != NULL;
  if (!j->s.common.quiet) wr_report_warnings(stderr, "spmv", j->runs, j->count);
  wr_spmv_table table = {.facts = facts, .A = A, .type = type, .rows = rows, .runs = j->runs, .times = j->times,
                         .count = j->count, .solves = j->s.solves, .by_model = by_model,
                         .is_calibrated = is_calibrated,
                         .times_of = on_device ? wr_cost_device(j->places[WR_CUDA].env.device_name, &is_known) : "",
                         .verbose = j->s.common.verbose,
                         .x_sectors = j->s.sectors ? wr_sectors_of_x(A, type) : -1};
  note_code(j, wr_report_exit_code(j->runs, j->count));
  return write_results(j, &table);
}

static wr_status time_type(job *j, wr_csr *A, wr_type type, wr_problem_facts *facts, const wr_row_statistics *rows) {
  wr_apply_settings how = {.batches = j->s.batches, .seconds = j->s.seconds, .batch_seconds = WR_APPLY_BATCH_SECONDS,
                           .vectors = j->s.vectors, .preparations = WR_APPLY_PREPARATIONS, .cold = j->s.cold,
                           .verify = j->s.common.verify,
                           .verify_rows = j->s.common.verify_rows, .interrupted = wr_process_interrupted()};
  facts->precision = type == WR_F32 ? "f32" : "f64";
  wr_status status = wr_apply_time(A, type, j->places, j->choices, j->count, &how, j->runs, j->times);
  if (status == WR_EUSAGE) return status;
  if (status != WR_OK) {
    note_failure(j, facts, status);
    return WR_OK;
  }
  return report_type(j, A, type, facts, rows, 0);
}

/* By the model of -k auto, at the place where a solve would run. */
static wr_status advise_type(job *j, wr_csr *A, wr_type type, wr_problem_facts *facts, const wr_row_statistics *rows) {
  wr_env *env = &j->places[j->places[WR_CUDA].env.ops ? WR_CUDA : WR_HOST].env;
  facts->precision = type == WR_F32 ? "f32" : "f64";
  env->type = type;
  int is_calibrated;
  char calibration[WR_USER_CACHE_ROOM];
  const char *from = wr_user_cache_path(WR_CALIBRATION_FILE, calibration) == WR_OK ? calibration : NULL;
  wr_status status = wr_expected_runs(A, env, from, j->runs, j->times, &j->count, &is_calibrated);
  if (status == WR_OK) return report_type(j, A, type, facts, rows, is_calibrated);
  note_failure(j, facts, status);
  return WR_OK;
}

static wr_status time_matrix(job *j, const char *name, int with_values, int without) {
  wr_status status, stop = WR_OK;
  wr_csr *A = NULL;
  wr_ledger ledger = {0};
  wr_problem_facts facts = {.program = "spmv", .source = name, .precision = ""};
  int variants[] = {with_values ? WITH_VALUES : VALUES_AS_GIVEN, without ? WITHOUT_VALUES : VALUES_AS_GIVEN};
  int first = without && !with_values, last = without;
  if (*wr_process_interrupted()) return WR_OK;
  wr_type narrow = j->s.precision == WR_SPMV_BOTH ? WR_F32 : (wr_type)j->s.precision;
  int on_host = j->places[WR_HOST].error.status == WR_OK && j->places[WR_HOST].env.ops != NULL;
  wr_source_options how = {.threads = (int)j->s.common.threads,
                           .format = (wr_input_format)j->s.common.input_format,
                           .columns = j->s.common.columns,
                           .row_bytes = j->s.vectors * wr_spmv_row_bytes(&j->s.common, narrow, on_host),
                           .column_bytes = j->s.vectors * wr_spmv_column_bytes(narrow, on_host)};
  TRY(wr_source_load(name, &how, &ledger, &A, &facts));
  if (j->page) wr_page_matrix(j->page, name);
  wr_row_statistics rows = wr_row_statistics_get(A);
  for (int v = first; v <= last; v++) {
    TRY(set_values(A, variants[v], &facts));
    for (int type = WR_F32; type <= WR_F64; type++) {
      if (*wr_process_interrupted() || (j->s.precision != WR_SPMV_BOTH && j->s.precision != type)) continue;
      if (stop == WR_OK) stop = (j->s.advise ? advise_type : time_type)(j, A, (wr_type)type, &facts, &rows);
    }
  }
  if (j->page) TRY(wr_figure_matrix(j->page, A, 3));
done:
  if (status != WR_OK) note_failure(j, &facts, status);
  wr_csr_free(A);
  return stop;
}

static wr_status time_standard(job *j) {
  int full = j->places[WR_CUDA].env.ops != NULL;
  for (int k = 0; k < STANDARD; k++) {
    int given = j->s.values || j->s.pattern; /* given options hold for all matrices */
    int with_values = given ? j->s.values : standard[k].graph, without = given ? j->s.pattern : standard[k].graph;
    PASS(time_matrix(j, full ? standard[k].full : standard[k].small, with_values, without));
  }
  return WR_OK;
}

/* ---- all of them ---- */

/* Opens a place, unless -d excludes it or no backend of the list needs it. */
static void open_place(job *j, wr_place place) {
  const wr_settings *s = &j->s.common;
  wr_apply_place *p = &j->places[place];
  int wanted = s->backends == NULL, allowed = s->device != (place == WR_CUDA ? WR_DEVICE_CPU : WR_DEVICE_CUDA);
  for (int k = 0; k < j->count; k++)
    wanted |= j->choices[k].backend->place == place && j->choices[k].backend->plan != NULL;
  p->error.status = WR_EUNAVAILABLE;
  if (!allowed)
    snprintf(p->error.text, sizeof p->error.text, "excluded by --device %s", s->device_text);
  else if (!wanted)
    snprintf(p->error.text, sizeof p->error.text, "no backend of the list needs it");
  else
    wr_apply_place_open(p, (wr_env){.place = place,
                                    .device = s->device_number,
                                    .type = WR_F64,
                                    .threads = (int)s->threads,
                                    .deterministic = s->deterministic,
                                    .tune_cache = s->tune_cache});
}

/* --advise and --calibrate: opens the place where a solve would run, a GPU first. */
static wr_status open_advised(job *j) {
  const wr_settings *s = &j->s.common;
  for (int place = WR_CUDA; place >= WR_HOST; place--) {
    wr_apply_place *p = &j->places[place];
    int allowed = s->device != (place == WR_CUDA ? WR_DEVICE_CPU : WR_DEVICE_CUDA);
    p->env = (wr_env){.place = place, .device = s->device_number, .type = WR_F64, .threads = (int)s->threads,
                      .deterministic = s->deterministic};
    p->error = (wr_error){WR_EUNAVAILABLE, "left out: this is about the place where a solve would run"};
    if (!allowed) continue;
    wr_status status = wr_env_open(&p->env);
    if (status == WR_OK) p->error = (wr_error){WR_OK};
    if (status == WR_OK || s->device == (place == WR_CUDA ? WR_DEVICE_CUDA : WR_DEVICE_CPU)) return status;
    (void)wr_error_keep(&p->error, status);
  }
  return wr_error_raise(&j->places[WR_HOST].error);
}

/* --calibrate has matrices of its own and writes no report. */
static wr_status check_calibrate(const job *j, int operands) {
  const wr_settings *s = &j->s.common;
  int reports = s->json || s->jsonl || s->report || j->s.csv;
  if (j->s.calibrate && (operands > 0 || s->backends || j->s.standard || j->s.advise || reports))
    return wr_fail(WR_EUSAGE, "--calibrate has matrices and backends of its own and writes no report: give at most -d, "
                              "--threads and -q with it");
  return WR_OK;
}

/* --advise times nothing, so what belongs to times is refused. */
static wr_status check_advise(wr_spmv_settings *s) {
  const char *other = s->common.backends ? "--backend"
                      : s->vectors > 1   ? "--vectors"
                      : s->cold          ? "--cold"
                      : s->common.report ? "--report"
                                         : NULL;
  if (!s->advise) return WR_OK;
  if (s->solves == 0) s->solves = 1;
  if (other)
    return wr_fail(WR_EUSAGE,
                   "--advise times nothing and has backends of its own; for %s leave it out: --solves alone "
                   "advises by measured times",
                   other);
  return WR_OK;
}

/* All backends of this machine that are made for speed, a GPU's first; the first of them is the baseline of the table. */
static wr_status choose_backends(job *j) {
  static const wr_place order[] = {WR_CUDA, WR_HOST};
  char list[MOST_LIST] = "";
  size_t used = 0;
  for (int p = 0; p < 2; p++)
    for (int k = 0; k < wr_backend_count(); k++) {
      const wr_backend *backend = wr_backend_at(k);
      if (backend->plan == NULL || backend->place != order[p] || (backend->caps & WR_CAP_YARDSTICK)) continue;
      if (j->places[order[p]].error.status != WR_OK) continue;
      used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? "," : "", backend->name);
    }
  if (used == 0)
    return wr_fail(WR_EUNAVAILABLE, "no backend runs here: %s",
                   j->places[j->s.common.device == WR_DEVICE_CUDA].error.text);
  wr_status status = wr_option_set(wr_spmv_options, &j->s, "backend", list, "--backend");
  return status == WR_OK ? wr_choices_parse(list, j->choices, &j->count) : status;
}

/* Refuses a single backend that is not available before a matrix is read. In a table or JSON it is a row. */
static wr_status check_single(const job *j) {
  if (j->s.advise) return WR_OK;
  const wr_backend *only = j->choices[0].backend;
  const wr_apply_place *place = &j->places[only->place];
  if (j->count > 1 || j->s.common.json || j->s.common.jsonl || j->s.csv) return WR_OK;
  if (only->plan == NULL) {
    wr_status status = only->check(&place->env, NULL, NULL);
    return status == WR_OK ? WR_OK : wr_fail(status, "%s: %s", only->name, wr_status_message());
  }
  return place->error.status == WR_OK ? WR_OK : wr_fail(place->error.status, "%s: %s", only->name, place->error.text);
}

/* How many outputs go to standard output. If one does, tables go to standard error. */
static int count_standard_outputs(const job *j) {
  const wr_settings *s = &j->s.common;
  return wr_path_is_standard_output(s->json) + wr_path_is_standard_output(s->jsonl) +
         wr_path_is_standard_output(j->s.csv) + wr_path_is_standard_output(s->report);
}

/* Before any matrix is read: no output may replace an input or another output. */
static wr_status check_paths(const job *j, int count, char **names) {
  wr_status status;
  const wr_settings *s = &j->s.common;
  int64_t used = 0;
  wr_path *paths = NULL;
  if (count_standard_outputs(j) > 1)
    TRY(wr_fail(WR_EUSAGE, "only one of --json, --jsonl, --csv and --report can go to standard output"));
  TRY(wr_alloc(&paths, 7 + count + j->matrices.count, sizeof *paths, "the names of files"));
  paths[used++] = (wr_path){"--json", s->json, 1};
  paths[used++] = (wr_path){"--jsonl", s->jsonl, 1};
  paths[used++] = (wr_path){"--csv", j->s.csv, 1};
  paths[used++] = (wr_path){"--report", s->report, 1};
  paths[used++] = (wr_path){"standard output", s->quiet || count_standard_outputs(j) ? NULL : "-", 1};
  paths[used++] = (wr_path){"--config", s->config, 0};
  paths[used++] = (wr_path){"--tune-cache", s->tune_cache, 1};
  for (int k = 0; k < count; k++)
    if (names[k][0] == '@') paths[used++] = (wr_path){"the list", names[k] + 1, 0};
  for (int64_t k = 0; k < j->matrices.count; k++) paths[used++] = (wr_path){"the matrix", j->matrices.name[k], 0};
  TRY(wr_paths_check(paths, used));
  if (s->json) TRY(wr_output_check(s->json));
  if (j->s.csv) TRY(wr_output_check(j->s.csv));
  if (s->report) TRY(wr_output_check(s->report));
done:
  wr_free(paths);
  return status;
}

/* Checks the operands before any matrix is read. */
static wr_status check_operands(job *j, int count, char **names) {
  int inputs = 0;
  if (count > 0 && j->s.standard)
    return wr_fail(WR_EUSAGE, "--standard has matrices of its own: '%s' is too many", names[0]);
  if (count == 0 && !j->s.standard)
    return wr_fail(WR_EUSAGE,
                   "no matrix is given: name a .mtx file, - for standard input, gen:FAMILY, @LIST, or --standard");
  for (int k = 0; k < count; k++) PASS(wr_matrix_list_add(&j->matrices, names[k]));
  for (int64_t k = 0; k < j->matrices.count; k++) inputs += strcmp(j->matrices.name[k], "-") == 0;
  if (inputs > 1) return wr_fail(WR_EUSAGE, "standard input (-) can be read once, not %d times", inputs);
  return check_paths(j, count, names);
}

static wr_status open_outputs(job *j) {
  const wr_settings *s = &j->s.common;
  if (s->json) {
    PASS(wr_output_open(s->json, &j->json_file));
    j->json = (wr_json){.file = j->json_file.file};
    wr_spmv_json_begin(&j->json, j->options, j->places);
  }
  if (j->s.csv) {
    PASS(wr_output_open(j->s.csv, &j->csv_file));
    wr_spmv_csv_begin(j->csv_file.file);
  }
  if (s->report) {
    PASS(wr_output_open(s->report, &j->page_file));
    j->outcome = open_memstream(&j->outcome_text, &j->outcome_size);
    j->page = open_memstream(&j->page_text, &j->page_size);
    if (j->outcome == NULL || j->page == NULL) return wr_fail(WR_ENOMEM, "no memory is left for the page of --report");
  }
  if (s->jsonl) {
    PASS(wr_output_append(s->jsonl, &j->lines_file));
    j->lines = (wr_json){.file = j->lines_file.file, .one_line = 1};
  }
  return WR_OK;
}

/* The page begins with the outcome, so what was gathered follows now. */
static wr_status end_page(job *j) {
  char title[64];
  const char *name = j->matrices.count == 1 ? j->matrices.name[0] : title;
  int is_checked = j->s.common.verify != WR_VERIFY_OFF;
  if (j->page == NULL) return WR_OK;
  int failed = fclose(j->page) != 0;
  failed |= fclose(j->outcome) != 0;
  j->page = j->outcome = NULL;
  if (failed) return wr_fail(WR_ENOMEM, "no memory is left for the page of --report");
  snprintf(title, sizeof title, "%lld matrices", (long long)(j->s.standard ? STANDARD : j->matrices.count));
  wr_page_verdict verdict = wr_page_verdict_of(j->code, is_checked);
  if (j->code == 0) verdict.words = is_checked ? "Measured, and every product right" : "Measured, products not checked";
  wr_page_begin(j->page_file.file, "spmv", name, verdict);
  fwrite(j->outcome_text, 1, j->outcome_size, j->page_file.file);
  wr_page_outcome_end(j->page_file.file);
  fwrite(j->page_text, 1, j->page_size, j->page_file.file);
  wr_page_end(j->page_file.file, j->options);
  return wr_output_commit(&j->page_file);
}

static wr_status begin_reports(job *j) {
  const wr_settings *s = &j->s.common;
  PASS(wr_options_text(wr_spmv_options, &j->s, &j->options));
  PASS(check_single(j));
  PASS(open_outputs(j));
  j->text = s->quiet ? NULL : count_standard_outputs(j) ? stderr : stdout;
  if (s->verbose) fprintf(j->text, "# effective options\n%s\n", j->options);
  for (int place = 0; place < 2 && j->text; place++)
    if (j->places[place].env.ops && j->places[place].read_bandwidth > 0)
      fprintf(j->text, "%s: reads %.1f GB/s\n", j->places[place].env.device_name,
              1e-9 * j->places[place].read_bandwidth);
  if (j->text) fprintf(j->text, "\n"), fflush(j->text);
  return WR_OK;
}

static wr_status set_up(job *j, int argc, char **argv, int *first) {
  wr_settings *s = &j->s.common;
  PASS(wr_options_default(wr_spmv_options, &j->s));
  PASS(wr_options_parse(wr_spmv_options, &j->s, argc, argv, first));
  PASS(wr_settings_finish(s));
  if (s->verify == WR_VERIFY_DEVICE)
    return wr_fail(WR_EUSAGE, "--verify: device is not for spmv, which checks products on the host");
  if (j->s.sectors && j->s.vectors > 1)
    return wr_fail(WR_EUSAGE, "--sectors counts a multiply of one vector: leave out --vectors %d", (int)j->s.vectors);
  if (wr_process_is_action(s)) return WR_OK;
  PASS(check_advise(&j->s));
  PASS(check_calibrate(j, argc - *first));
  if (!j->s.calibrate) PASS(check_operands(j, argc - *first, argv + *first));
  char reason[WR_THREADS_REASON];
  if (wr_threads_settle(&s->threads, reason) && !s->quiet) fprintf(stderr, "spmv: %s\n", reason);
  if (j->s.advise || j->s.calibrate) return open_advised(j);
  if (s->backends) PASS(wr_choices_parse(s->backends, j->choices, &j->count));
  for (int place = 0; place < 2; place++) open_place(j, (wr_place)place);
  if (s->backends == NULL) PASS(choose_backends(j));
  return WR_OK;
}

static wr_status work(job *j) {
  wr_status status;
  wr_matrix_tally tally = {0};
  const wr_settings *s = &j->s.common;
  const char *done = j->s.advise ? "judged by the model" : "measured, and every product right";
  const char *idle = wr_choices_tune_nothing(j->choices, j->count, s->deterministic);
  if (s->tune_cache && idle && !s->quiet) wr_text_message(stderr, "spmv: --tune-cache is not used: %s", idle);
  TRY(begin_reports(j));
  if (j->s.standard) TRY(time_standard(j));
  for (int64_t k = 0; k < j->matrices.count && !*wr_process_interrupted(); k++) {
    j->code = 0;
    TRY(time_matrix(j, j->matrices.name[k], j->s.values, j->s.pattern));
    if (*wr_process_interrupted()) note_code(j, wr_outcome_exit_code(WR_INTERRUPTED)); /* it is not complete */
    wr_matrix_tally_add(&tally, j->matrices.name[k], j->code);
  }
  if (j->matrices.count > 0) j->code = tally.code;
  if (*wr_process_interrupted()) note_code(j, wr_outcome_exit_code(WR_INTERRUPTED));
  if (j->text) wr_matrix_tally_print(j->text, &j->matrices, &tally, done);
  if (j->json_file.file) {
    wr_spmv_json_end(&j->json, j->code);
    TRY(wr_output_commit(&j->json_file));
  }
  if (j->csv_file.file) TRY(wr_output_commit(&j->csv_file));
  TRY(end_page(j));
  if (j->lines_file.file) TRY(wr_output_commit(&j->lines_file));
  TRY(wr_process_flush(stdout));
done:
  wr_output_abandon(&j->json_file);
  wr_output_abandon(&j->csv_file);
  wr_output_abandon(&j->page_file);
  if (j->page) fclose(j->page);
  if (j->outcome) fclose(j->outcome);
  wr_free(j->page_text);
  wr_free(j->outcome_text);
  wr_output_abandon(&j->lines_file);
  return status;
}

static void complain_of_parts(void *unused) {
  (void)unused;
  (void)wr_process_complain("spmv", WR_EUNAVAILABLE);
}

int main(int argc, char **argv) {
  job *j = NULL;
  int first = argc;
  wr_comm *comm;
  wr_process_begin();
  wr_status status = wr_comm_mpi_begin(argv, &comm);
  if (comm) (void)wr_fail(WR_EUNAVAILABLE, "spmv does not run in several processes: start one");
  if (comm) return wr_comm_mpi_end(comm, wr_status_exit_code(WR_EUNAVAILABLE), complain_of_parts, NULL);
  if (status == WR_OK) status = wr_alloc_zeroed(&j, 1, sizeof *j, "the program");
  if (status == WR_OK) status = set_up(j, argc, argv, &first);
  if (status == WR_OK && wr_process_is_action(&j->s.common)) {
    status = wr_process_act("spmv", &wr_spmv_text, wr_spmv_options, &j->s.common);
  } else if (status == WR_OK) {
    wr_process_catch_signals(); /* what was measured until then is reported */
    wr_place place = j->places[WR_CUDA].env.ops ? WR_CUDA : WR_HOST;
    status = j->s.calibrate ? wr_calibrate(j->places, place, j->s.common.quiet ? NULL : stdout) : work(j);
    if (status == WR_OK && j->s.calibrate) status = wr_process_flush(stdout);
  }
  int code = status != WR_OK ? wr_process_complain("spmv", status) : j->code;
  if (*wr_process_interrupted()) code = wr_worse_exit_code(code, wr_outcome_exit_code(WR_INTERRUPTED));
  if (j == NULL) return code;
  for (int place = 0; place < 2; place++) wr_apply_place_close(&j->places[place]);
  wr_choices_free(j->choices, &j->count);
  wr_matrix_list_free(&j->matrices);
  wr_options_release(wr_spmv_options, &j->s);
  wr_free(j->options);
  wr_free(j);
  return code;
}
