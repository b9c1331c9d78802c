/* What both solver programs do in turn: options, matrix, work, report. This file, process.c and the *_main.c print and decide
 * on the exit code. */
#include "solvers/program/program.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/defaults.h"
#include "config/elements.h"
#include "config/memory.h"
#include "config/text.h"
#include "io/output_file.h"
#include "io/vector_file.h"
#include "solvers/direct.h"
#include "solvers/program/advice.h"
#include "solvers/program/compare.h"
#include "solvers/program/launch_parts.h"
#include "solvers/program/matrix_list.h"
#include "solvers/program/opening.h"
#include "solvers/api/part_source.h"
#include "solvers/program/paths.h"
#include "solvers/program/process.h"
#include "solvers/program/progress.h"
#include "solvers/api/source.h"
#include "solvers/program/threads.h"
#include "solvers/report/history_file.h"
#include "solvers/report/figures.h"
#include "solvers/report/machine.h"
#include "solvers/report/page.h"
#include "solvers/report/report.h"
#include "solvers/report/report_text.h"

enum { MOST_SHOWN = 100 };   /* best nodes on a page */
enum { MOST_KEPT = 100000 }; /* iterations up to which a history is kept though no output asks for it: 16 bytes each */

/* All data of one call, freed at its end. */
typedef struct job {
  const wr_program *program;
  wr_settings settings;
  wr_settings asked; /* as the command line and the option file give them; its texts are those of settings */
  wr_matrix_list matrices; /* the one of the command line, or those of its list */
  const char *list;        /* LIST of @LIST; NULL: there is one matrix           */
  wr_output_file lines;    /* of --jsonl                                        */
  int threads;             /* of the CPU                                        */
  wr_comm *comm;           /* of the processes that run together, each with a part of the rows; NULL: there is one */
  wr_error failure;        /* with a comm: what is said at the end, by one part */
  const char *failed;      /* and the matrix that it is about, or NULL          */
  int reports;             /* printed so far                                    */
  /* -- of the matrix at hand */
  wr_ledger ledger;
  const char *operand;
  int by_default;    /* 1: the command line names no backend, or auto                */
  int automatic;     /* 1: the matrix is to choose a backend, as one alone is asked for */
  wr_error opening;  /* why the time of opening a device is not kept between runs, or was not used */
  int leaves;        /* 1: the process is to end without freeing: a device is open, or being opened */
  int late;          /* 1: the size asks for a device, which is to be opened when the iterations do so, too */
  int known;         /* 1: extent is that of the matrix, estimated before reading     */
  wr_extent extent;
  wr_csr *A;
  wr_ids ids; /* the names of its rows */
  wr_problem_facts facts;
  void *problem;
  wr_choice choices[WR_MAX_RUNS];
  wr_run runs[WR_MAX_RUNS];
  wr_history histories[WR_MAX_RUNS];
  wr_comparison comparison;
  wr_certificate certificate; /* of --check */
} job;

/* Part 0 writes, and prints. */
static int is_first(const job *j) { return j->comm == NULL || j->comm->rank == 0; }

/* Prints why there is no answer, or keeps it for the end, when one part says it for all. Returns the exit code. */
static int complain(job *j, const char *name, wr_status status) {
  if (j->comm == NULL) return wr_process_complain_of(j->program->name, name, status);
  if (j->failure.status == WR_OK) (void)wr_error_keep(&j->failure, status), j->failed = name;
  return wr_status_exit_code(status);
}

static void say_failure(void *of) {
  job *j = of;
  if (j->failure.status == WR_OK) return;
  (void)wr_process_complain_of(j->program->name, j->failed, wr_error_raise(&j->failure));
}

/* How many of the files of vectors, sets and parts are standard input. */
static int count_standard_inputs(const wr_settings *s) {
  const char *const paths[] = {s->guess, s->personalize, s->check, s->seeds, s->partition};
  int count = 0;
  for (int64_t k = 0; k < s->rhs_count; k++) count += strcmp(s->rhs_files[k], "-") == 0;
  for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) count += paths[k] && strcmp(paths[k], "-") == 0;
  return count;
}

/* What is for one process alone, whatever the program. */
static wr_status check_parts(job *j) {
  wr_settings *s = &j->settings;
  if (j->comm == NULL && s->partition)
    return wr_fail(WR_EUSAGE, "--partition is for several processes: start them by mpirun -n N, or on GPUs with -g N");
  if (j->comm == NULL) return WR_OK;
  const char *other = wr_first_given(
      (const wr_given[]){{"save-binary", s->save_binary != NULL}, {"tune-cache", s->tune_cache != NULL}, {NULL, 0}});
  if (other) return wr_fail(WR_EUNAVAILABLE, "--%s is for one process, not for several", other);
  if (count_standard_inputs(s) > 0)
    return wr_fail(WR_EUNAVAILABLE, "standard input (-) is read by one process, not by several: name a file");
  if (j->list) return wr_fail(WR_EUNAVAILABLE, "a list of matrices is for one process, not for several");
  if (s->backends && (strchr(s->backends, ',') || strncmp(s->backends, "auto:", 5) == 0))
    return wr_fail(WR_EUNAVAILABLE, "-k %s: several processes take one backend, and time none", s->backends);
  if (s->gpus > 1 && s->gpus != j->comm->size)
    return wr_fail(WR_EUSAGE, "-g %lld in %d processes: leave -g out where mpirun starts them", (long long)s->gpus,
                   j->comm->size);
  j->comm->patience = s->patience;
  if (s->device == WR_DEVICE_AUTO) s->device = WR_DEVICE_CPU;
  s->device_number += j->comm->neighbour, s->no_resident = 1;
  if (!is_first(j)) s->quiet = 1;
  return j->program->in_parts(s);
}

/* Standard input can be read once. */
static wr_status check_inputs(const job *j) {
  int count = count_standard_inputs(&j->settings);
  for (int64_t k = 0; k < j->matrices.count; k++) count += strcmp(j->matrices.name[k], "-") == 0;
  if (count > 1) return wr_fail(WR_EUSAGE, "standard input (-) can be one of the inputs only, not %d of them", count);
  return WR_OK;
}

/* What belongs to one matrix makes no sense with a list of them. */
static wr_status check_list(const job *j) {
  const wr_settings *s = &j->settings;
  if (s->json) return wr_fail(WR_EUSAGE, "--json has the report of one matrix: with a list of them use --jsonl");
  const wr_given others[] = {
      {"output", s->output != NULL}, {"history", s->history != NULL}, {"save-binary", s->save_binary != NULL},
      {"report", s->report != NULL}, {"rhs-file", s->rhs != NULL}, {"guess", s->guess != NULL},
      {"personalize", s->personalize != NULL}, {"check", s->check != NULL}, {"seeds", s->seeds != NULL}, {NULL, 0}};
  const char *other = wr_first_given(others);
  if (other) return wr_fail(WR_EUSAGE, "--%s is for one matrix: leave it out with a list of them", other);
  return WR_OK;
}

static wr_status parse(job *j, int argc, char **argv) {
  int first;
  const wr_option *options = j->program->options;
  PASS(wr_options_default(options, &j->settings));
  PASS(wr_options_parse(options, &j->settings, argc, argv, &first));
  j->asked = j->settings;
  PASS(wr_settings_finish(&j->settings));
  if (wr_process_is_action(&j->settings)) return WR_OK;
  if (first == argc)
    return wr_fail(WR_EUSAGE,
                   "no matrix is given: name a .mtx file, an edge list, - for standard input, gen:FAMILY, or @LIST");
  if (first + 1 < argc)
    return wr_fail(WR_EUSAGE, "one matrix at a time, or a list of them (@LIST): '%s' is too many", argv[first + 1]);
  PASS(wr_matrix_list_add(&j->matrices, argv[first]));
  if (argv[first][0] == '@') {
    j->list = argv[first] + 1;
    PASS(check_list(j));
  }
  PASS(check_inputs(j));
  if (j->settings.gpus > 0 && j->settings.device == WR_DEVICE_CPU)
    return wr_fail(WR_EUSAGE, "-g asks for GPUs and -d cpu for the CPU: leave one of them out");
  if (j->settings.gpus > 0) j->settings.device = WR_DEVICE_CUDA;
  if (j->settings.gpus > 1 && j->comm == NULL) return wr_launch_parts(j->settings.gpus, argv);
  PASS(check_parts(j));
  if (j->comm && j->settings.threads == 0) j->settings.threads = wr_threads_of_neighbour(j->comm->neighbours);
  char reason[WR_THREADS_REASON];
  if (wr_threads_settle(&j->settings.threads, reason) && !j->settings.quiet)
    fprintf(stderr, "%s: %s\n", j->program->name, reason);
  j->threads = omp_get_max_threads();
  j->program->complete(&j->settings);
  return WR_OK;
}

/* *choice := what stands at this place for -k auto or, by_default and not automatic, for the backend that
 * several sets or right-hand sides take: these are multiplied several at once, which few backends can do. */
static wr_status default_choice(const job *j, wr_place place, wr_choice *choice) {
  const wr_settings *s = &j->settings;
  if (j->automatic) return wr_choice_automatic("--backend", s->backends, place, s->deterministic, choice);
  return wr_choice_parse("--backend", (s->seeds ? wr_backend_default_many(place) : wr_backend_default(place))->name,
                         choice);
}

static wr_status take_default(job *j, wr_place place) {
  wr_comparison *c = &j->comparison;
  wr_choices_free(j->choices, &c->count);
  PASS(default_choice(j, place, &j->choices[0]));
  c->count = 1;
  return WR_OK;
}

/* 1 if the settings let a solve on the CPU go over to a device: one solve, at the place that takes the least time. */
static int settings_let_move(const job *j) {
  const wr_settings *s = &j->settings;
  int chooses_place = j->by_default && s->device == WR_DEVICE_AUTO && !s->deterministic && j->comm == NULL;
  int is_plain = s->seeds == NULL && s->repeat == 1 && s->precision != WR_PRECISION_MIXED &&
                 s->fallback == WR_FALLBACK_NONE && (s->backends == NULL || strcmp(s->backends, "auto") == 0);
  return chooses_place && is_plain && j->program->resume && wr_backend_default(WR_CUDA) != NULL;
}

/* Before the matrix is read: 1 if that takes so little time that a device may be opened when the iterations show that it pays:
 * how many a linear system takes is not known before. */
static int may_open_late(const job *j) {
  double reading = WR_READING_SECONDS * (double)j->extent.nnz / j->comparison.threads;
  return j->known && settings_let_move(j) && reading < WR_OPEN_LATE_READING * j->comparison.opening;
}

/* Without -k, or with -k auto: chooses the GPU if `open` succeeds and the problem is large enough, else the CPU, and notes why.
 * A build without backends for a GPU opens one only with -d cuda, to report what is missing. */
static wr_status choose_backend(job *j, wr_status (*open)(wr_comparison *c)) {
  wr_settings *s = &j->settings;
  wr_comparison *c = &j->comparison;
  wr_place place = s->device == WR_DEVICE_CPU || wr_backend_default(WR_CUDA) == NULL ? WR_HOST : WR_CUDA;
  double bytes = j->program->work(s, j->extent.nrows, j->extent.nnz);
  if (s->device == WR_DEVICE_AUTO && place == WR_CUDA && j->known && !c->env_tried[WR_CUDA])
    place = wr_place_for(bytes, c->threads, c->opening, j->facts.place, sizeof j->facts.place);
  j->late = place == WR_CUDA && !c->env_tried[WR_CUDA] && j->problem == NULL && may_open_late(j);
  if (j->late && c->threads >= WR_SPARED_FROM) c->threads--; /* as in begin_on_cpu */
  if (j->late) return take_default(j, WR_HOST);
  if (s->device == WR_DEVICE_CUDA || place == WR_CUDA) {
    wr_status status = open(c);
    if (status != WR_OK && s->device == WR_DEVICE_CUDA) return status;
    place = status == WR_OK ? WR_CUDA : WR_HOST;
  }
  return take_default(j, place);
}

/* Within 0.01 s the driver reports that a machine has no device. */
static wr_status begin_device(wr_comparison *c) { return wr_comparison_begin_device(c, 0.01); }

static wr_status open_device(wr_comparison *c) { return wr_comparison_open_place(c, WR_CUDA); }

/* Notes the size of the problem, if it is known, and sets the number of threads that read and verify it. */
static void note_extent(job *j) {
  j->known = j->A != NULL || wr_source_extent(j->operand, &j->extent);
  if (j->A) j->extent = (wr_extent){j->A->nrows, j->A->nnz};
  omp_set_num_threads(wr_threads_for(j->known ? j->extent.nnz : INT64_MAX, j->comparison.threads));
}

/* 1 if a solve on the CPU may go over to a device. */
static int may_move(const job *j) {
  const wr_comparison *c = &j->comparison;
  int is_single = j->program->sides == NULL || j->program->sides(j->problem) == 1;
  int has_device = !c->env_tried[WR_CUDA] || c->device.running;
  return settings_let_move(j) && is_single && has_device && j->A->nnz <= WR_HEAD_START_ENTRIES;
}

/* Lets the CPU begin while the device is being opened, if there is time for that beyond what making the problem ready takes,
 * and a device go on with a solve on the CPU. Opening has a core of its own: the threads of a solve wait for each other, and so
 * all for one that shares its core. */
static wr_status begin_on_cpu(job *j) {
  wr_comparison *c = &j->comparison;
  int is_opening = wr_comparison_is_opening(c);
  double ready = WR_READY_SECONDS * (double)j->A->nnz / c->threads;
  if (!may_move(j) && j->late) return choose_backend(j, open_device);
  if (!may_move(j) || (c->env_tried[WR_CUDA] && !is_opening)) return WR_OK;
  if (is_opening && wr_comparison_opening_left(c) < ready) return WR_OK;
  if (is_opening) PASS(take_default(j, WR_HOST));
  if (is_opening && c->threads >= WR_SPARED_FROM) c->threads--;
  PASS(default_choice(j, WR_CUDA, &c->later));
  c->may_move = 1;
  return WR_OK;
}

/* Completes the problem, on the device if all backends run there. */
static wr_status finish_problem(job *j) {
  int reads_rows;
  if (j->automatic && j->settings.backends == NULL && j->program->sides && j->program->sides(j->problem) > 1) {
    j->automatic = 0;
    PASS(take_default(j, j->choices[0].backend->place));
  }
  PASS(begin_on_cpu(j));
  wr_env *device = wr_comparison_only_device(&j->comparison, &reads_rows);
  if (device) {
    wr_ledger_enter(&j->ledger, WR_PHASE_UPLOAD);
    PASS(j->program->upload(j->problem, device));
    PASS(device->ops->wait(device));
    wr_ledger_enter(&j->ledger, WR_PHASE_TRANSFORM);
  }
  PASS(j->program->finish(j->problem, device, &j->facts));
  if (device && reads_rows) PASS(wr_csr_host(j->program->matrix(j->problem), device)); /* not in a backend's preparation */
  return WR_OK;
}

static int computes_on_host(const job *j) {
  for (int k = 0; k < j->comparison.count; k++)
    if (j->choices[k].backend->plan && j->choices[k].backend->place == WR_HOST) return 1;
  return 0;
}

static wr_status prepare_problem(job *j) {
  wr_status status;
  const wr_settings *s = &j->settings;
  wr_source_options how = {.threads = omp_get_max_threads(), .nonnegative = j->program->nonnegative,
                           .format = (wr_input_format)s->input_format, .columns = s->columns, .ids = &j->ids,
                           .row_bytes = j->program->row_bytes(s, computes_on_host(j)),
                           .entry_bytes = j->program->entry_bytes ? j->program->entry_bytes(s) : 0,
                           .partition = s->partition, .save = s->save_binary,
                           .feed = wr_comparison_feed(&j->comparison)};
  wr_progress progress = {0};
  const wr_monitor monitor = {.context = &progress, .deadline = j->comparison.deadline,
                              .preparing = s->quiet ? NULL : wr_progress_prepare};
  wr_watch watch;
  if (j->program->nonnegative && s->duplicates != WR_REPEATED_SUM) how.duplicates = WR_DUPLICATES_ONCE;
  if (j->comm) {
    int transposed = j->program->nonnegative && s->edges == WR_EDGES_OUT; /* as PageRank multiplies */
    TRY(wr_part_source_load(j->operand, j->comm, &how, transposed, &j->ledger, &j->A, &j->facts));
  } else {
    TRY(wr_source_load(j->operand, &how, &j->ledger, &j->A, &j->facts));
  }
  note_extent(j);
  if (s->duplicates == WR_REPEATED_ONCE && j->facts.has_values)
    TRY(wr_fail(WR_EUSAGE, "%s: --duplicates once is for edges without weights; the weights of repeated ones add up",
                j->facts.source));
  wr_ledger_enter(&j->ledger, WR_PHASE_TRANSFORM);
  if (j->facts.nrows != j->facts.ncols)
    TRY(wr_fail(WR_EINPUT, "%s: %s needs a square matrix, not %lld x %lld", j->facts.source, j->program->problem,
                (long long)j->facts.nrows, (long long)j->facts.ncols));
  TRY(wr_alloc_zeroed(&j->problem, 1, j->program->problem_size, j->program->problem));
  wr_progress_begin(&progress, stderr);
  watch = wr_monitor_watch(&monitor);
  TRY(j->program->open(s, j->A, &j->ids, &watch, &j->facts, j->problem));
  wr_progress_end(&progress);
  TRY(finish_problem(j));
done:
  wr_progress_end(&progress);
  return status;
}

static wr_status write_answer(job *j) {
  const wr_comparison *c = &j->comparison;
  char comment[640];
  if (j->settings.seeds && j->settings.sets_form != WR_TOP_TABLE)
    return j->runs[0].ran && is_first(j) ? j->program->write_sets(j->problem, &j->settings, &j->ids) : WR_OK;
  if (j->settings.output == NULL || c->answer == NULL || !is_first(j)) return WR_OK;
  const wr_run *run = &c->runs[c->answer_run];
  int named = j->ids.id != NULL || j->ids.names != NULL || j->ids.first != 1;
  const char *order = named ? "\nin ascending order of ids" : "";
  const char *direct = run->result.direct.used ? ", then directly by KLU in f64" : "";
  snprintf(comment, sizeof comment, "%s of %.400s\nby %s in %s: %s, %lld %s%s%s", j->program->name, j->operand,
           run->backend->name, j->facts.precision, wr_outcome_title(run->result.outcome),
           (long long)run->result.iterations, wr_plural(run->result.iterations, "iteration", "iterations"), direct,
           order);
  return wr_vector_write(j->settings.output, j->settings.output_format, &j->ids, c->answer_n / c->answer_columns,
                         c->answer_columns, c->answer, comment);
}

static wr_status write_history(job *j) {
  wr_history_series series[WR_MAX_RUNS];
  char labels[WR_MAX_RUNS][256];
  if (j->settings.history == NULL || !is_first(j)) return WR_OK;
  for (int k = 0; k < j->comparison.count; k++)
    series[k] = (wr_history_series){wr_run_label(&j->runs[k], labels[k], sizeof labels[k]), &j->histories[k]};
  return wr_history_write(j->settings.history, series, j->comparison.count);
}

static int has_json(const job *j) { return j->settings.json != NULL || j->settings.jsonl != NULL; }

static wr_status write_json(job *j) {
  wr_status status;
  char *text = NULL;
  int count = j->comparison.count;
  if (!has_json(j) || !is_first(j)) return WR_OK;
  TRY(wr_options_text(j->program->options, &j->settings, &text));
  if (j->settings.json) TRY(wr_report_json(j->settings.json, &j->facts, j->runs, count, text, &j->ledger));
  if (j->lines.file) TRY(wr_report_json_line(&j->lines, &j->facts, j->runs, count, text, &j->ledger));
done:
  wr_free(text);
  return status;
}

static int exit_code_of(const job *j) {
  if (*j->comparison.interrupted != 0) return wr_outcome_exit_code(WR_INTERRUPTED);
  return wr_report_exit_code(j->runs, j->comparison.count);
}

/* The page of --report, if it is asked for. failure: why there is no result; NULL: there are runs. */
static wr_status write_page(job *j, const wr_error *failure) {
  wr_status status;
  const wr_comparison *c = &j->comparison;
  wr_output_file out = {0};
  char *settings = NULL;
  int code = failure ? wr_status_exit_code(failure->status) : exit_code_of(j), is_checked = 1, is_doubtful = 0;
  if (j->settings.report == NULL || (failure && !is_first(j))) return WR_OK;
  if (!is_first(j)) return wr_figure_matrix(NULL, j->A, 2);
  for (int k = 0; k < c->count; k++) {
    is_checked &= !j->runs[k].ran || j->runs[k].verdict.level != WR_VERIFY_OFF;
    is_doubtful |= j->runs[k].ran && wr_run_is_doubtful(&j->facts, &j->runs[k]);
  }
  wr_page_verdict verdict = wr_page_verdict_of(code, is_checked);
  if (code == 0 && is_doubtful) verdict = (wr_page_verdict){"Converged, but x may be useless", "doubt"};
  TRY(wr_options_text(j->program->options, &j->settings, &settings));
  TRY(wr_output_open(j->settings.report, &out));
  wr_page_begin(out.file, j->program->name, j->facts.source, verdict);
  if (failure) {
    wr_page_failure(out.file, &j->facts, failure);
    wr_page_outcome_end(out.file);
  } else {
    wr_page_solve(out.file, &j->facts, j->runs, c->count);
  }
  if (failure == NULL && c->answer && j->program->present) {
    wr_settings shown = j->settings;
    if (shown.top > MOST_SHOWN) shown.top = MOST_SHOWN;
    wr_writer page = {.file = out.file, .is_html = 1};
    TRY(j->program->present(&page, j->problem, &shown, &j->ids, c->answer, c->answer_n, &c->runs[c->answer_run]));
  }
  if (failure == NULL || j->comm == NULL) TRY(wr_figure_matrix(out.file, j->A, 2)); /* the parts do not fail together */
  wr_page_end(out.file, settings);
  TRY(wr_output_commit(&out));
done:
  wr_output_abandon(&out);
  wr_free(settings);
  return status;
}

/* Keeps the first failure of several steps that do not depend on each other. */
static void keep_first(wr_error *first, wr_status status) {
  if (first->status == WR_OK) (void)wr_error_keep(first, status);
}

/* The best nodes for other programs, on standard output. */
static wr_status write_excerpt(job *j) {
  const wr_comparison *c = &j->comparison;
  if (j->settings.top_format == WR_TOP_TABLE || c->answer == NULL || j->program->present == NULL || !is_first(j))
    return WR_OK;
  if (wr_first_not_finite(c->answer, c->answer_n) >= 0) return WR_OK; /* the exit code and the report say non-finite */
  wr_writer text = {.file = stdout};
  PASS(j->program->present(&text, j->problem, &j->settings, &j->ids, c->answer, c->answer_n, &c->runs[c->answer_run]));
  return wr_process_flush(stdout);
}

/* facts.parts := the facts of each, in all parts. */
static wr_status collect_parts(job *j) {
  const wr_halo *halo = j->A->halo;
  wr_comm *comm = j->comm;
  wr_part_facts mine;
  if (comm == NULL) return WR_OK;
  memset(&mine, 0, sizeof mine);
  mine.rows = j->A->nrows, mine.entries = j->A->nnz, mine.halo = halo->count;
  mine.sent = halo->whole ? (comm->size - 1) * halo->own : halo->to[comm->size];
  mine.waited = j->runs[0].waited, mine.waited_halo = j->runs[0].waited_halo;
  mine.solve = j->runs[0].ledger.seconds[WR_PHASE_SOLVE];
  PASS(wr_comm_agree(comm, wr_alloc(&j->facts.parts, comm->size, sizeof mine, "facts about parts")));
  j->facts.part_count = comm->size;
  return comm->ops->gather(comm, "facts about parts", &mine, sizeof mine, j->facts.parts);
}

/* c->answer := that of all parts, in part 0; elsewhere none, if all is needed. */
static wr_status collect_answer(job *j) {
  wr_status status = WR_OK;
  wr_comparison *c = &j->comparison;
  double *all = NULL;
  int is_needed = j->settings.output != NULL || (j->program->present && j->settings.top > 0);
  if (j->comm == NULL || !is_needed || c->answer == NULL) return WR_OK;
  int64_t own = c->answer_n / c->answer_columns, n = j->facts.nrows;
  if (is_first(j)) status = wr_alloc(&all, n * c->answer_columns, sizeof *all, j->program->values);
  TRY(wr_comm_agree(j->comm, status));
  for (int64_t k = 0; k < c->answer_columns; k++)
    TRY(wr_halo_collect(j->A, c->answer + k * own, all ? all + k * n : NULL));
  wr_free(c->answer);
  c->answer = all, c->answer_n = n * c->answer_columns, all = NULL;
done:
  wr_free(all);
  return status;
}

/* Writes all outputs; if one fails, the others are still written. The time is booked for the run that gave the answer. */
static wr_status write_all(job *j) {
  wr_error first = {0};
  double before = j->ledger.seconds[WR_PHASE_WRITE]; /* saving the matrix is booked for all runs */
  if (j->settings.output || j->settings.history) wr_ledger_enter(&j->ledger, WR_PHASE_WRITE);
  keep_first(&first, write_answer(j));
  keep_first(&first, write_history(j));
  keep_first(&first, write_excerpt(j));
  wr_ledger_stop(&j->ledger);
  if (j->comparison.answer_run >= 0)
    j->runs[j->comparison.answer_run].ledger.seconds[WR_PHASE_WRITE] += j->ledger.seconds[WR_PHASE_WRITE] - before;
  keep_first(&first, write_json(j));
  keep_first(&first, write_page(j, NULL));
  return wr_error_raise(&first);
}

/* How many outputs go to standard output. If one does, reports go to standard error. */
static int count_standard_outputs(const wr_settings *s) {
  return wr_path_is_standard_output(s->output) + wr_path_is_standard_output(s->json) +
         wr_path_is_standard_output(s->jsonl) + wr_path_is_standard_output(s->history) +
         wr_path_is_standard_output(s->report) + wr_path_is_standard_output(s->save_binary) +
         (s->top_format != WR_TOP_TABLE);
}

/* Before anything is read: no output may replace an input or another output, and each must be writable. */
static wr_status check_paths(const job *j) {
  wr_status status;
  const wr_settings *s = &j->settings;
  int direct = count_standard_outputs(s); /* otherwise the report goes there, unless --quiet */
  const wr_path given[] = {
      {"--output", s->output, 1}, {"--json", s->json, 1}, {"--jsonl", s->jsonl, 1}, {"--history", s->history, 1},
      {"--report", s->report, 1},
      {"--save-binary", s->save_binary, 1}, {"--tune-cache", s->tune_cache, 1},
      {"standard output", direct || s->quiet ? NULL : "-", 1},
      {"the list", j->list, 0}, {"--guess", s->guess, 0},
      {"--personalize", s->personalize, 0}, {"--seeds", s->seeds, 0}, {"--check", s->check, 0},
      {"--partition", s->partition && strcmp(s->partition, "metis") != 0 ? s->partition : NULL, 0},
      {"--config", s->config, 0}};
  enum { GIVEN = sizeof given / sizeof *given };
  wr_path *paths = NULL;
  if (direct > 1)
    TRY(wr_fail(
        WR_EUSAGE,
        "only one of --output, --json, --jsonl, --report, --history, --save-binary and the best nodes (--format "
        "without --output) can go to standard output"));
  int64_t count = GIVEN;
  TRY(wr_alloc(&paths, GIVEN + s->rhs_count + j->matrices.count, sizeof *paths, "the names of files"));
  memcpy(paths, given, sizeof given);
  for (int64_t k = 0; k < s->rhs_count; k++) paths[count++] = (wr_path){"--rhs-file", s->rhs_files[k], 0};
  for (int64_t k = 0; k < j->matrices.count; k++) paths[count++] = (wr_path){"the matrix", j->matrices.name[k], 0};
  TRY(wr_paths_check(paths, count));
  for (int k = 0; k < GIVEN; k++) { /* without a tuning cache a solve goes on */
    int may_fail = given[k].path == s->jsonl || given[k].path == s->tune_cache;
    if (given[k].path && given[k].is_output && !may_fail) TRY(wr_output_check(given[k].path));
  }
done:
  wr_free(paths);
  return status;
}

static wr_status report(job *j) {
  const wr_comparison *c = &j->comparison;
  FILE *out = count_standard_outputs(&j->settings) ? stderr : stdout;
  wr_writer text = wr_writer_of_text(out);
  if (j->settings.quiet) return WR_OK;
  if (j->reports++ > 0) fprintf(out, "\n");
  if (j->settings.verbose) {
    fprintf(out, "# effective options\n");
    wr_options_write(j->program->options, &j->settings, out);
    fprintf(out, "\n");
  }
  if (c->count == 1)
    wr_report_run(&text, &j->facts, &j->runs[0], j->settings.verbose);
  else
    wr_report_table(&text, &j->facts, j->runs, c->count);
  if (j->settings.verbose && c->count > 1)
    for (int k = 0; k < c->count; k++) {
      fprintf(out, "\n");
      wr_report_run(&text, &j->facts, &j->runs[k], 1);
    }
  if (c->answer && j->program->present && j->settings.top_format == WR_TOP_TABLE)
    PASS(
        j->program->present(&text, j->problem, &j->settings, &j->ids, c->answer, c->answer_n, &c->runs[c->answer_run]));
  if (j->settings.seeds && j->settings.sets_form == WR_TOP_TABLE && j->settings.top > 0 && j->runs[0].ran)
    j->program->print_sets(out, j->problem, &j->ids);
  return wr_process_flush(out);
}

/* Before anything is read: refuses a single backend that is not available, and begins to open a device that will be used. */
static wr_status check_choices(job *j) {
  wr_status status = WR_OK;
  wr_comparison *c = &j->comparison;
  if (c->count > 1 || has_json(j)) { /* a table and a JSON report have a row that says so */
    for (int k = 0; k < c->count; k++)
      if (j->choices[k].backend->place == WR_CUDA && j->choices[k].backend->plan && j->settings.device != WR_DEVICE_CPU)
        (void)wr_comparison_begin_device(c, 0);
    return WR_OK;
  }
  const wr_backend *only = j->choices[0].backend;
  if (only->plan == NULL)
    status = only->check(&c->env[only->place], NULL, NULL);
  else if (j->settings.device != (only->place == WR_CUDA ? WR_DEVICE_CPU : WR_DEVICE_CUDA))
    status = only->place == WR_CUDA ? begin_device(c) : wr_comparison_open_place(c, WR_HOST);
  return status == WR_OK ? WR_OK : wr_fail(status, "%s: %s", only->name, wr_status_message());
}

/* Finds advice for runs that failed or whose answer is doubtful, by facts about the matrix. */
static wr_status advise(job *j) {
  wr_matrix_facts matrix;
  int due = 0, is_shown = (!j->settings.quiet || has_json(j) || j->settings.report) && !j->settings.seeds;
  for (int k = 0; k < j->comparison.count && is_shown; k++) {
    if (!wr_advice_is_due(&j->facts, &j->runs[k])) continue;
    if (!due++) PASS(wr_matrix_facts_find(j->A, &matrix));
    const wr_advice_case c = {.options = j->program->options, .settings = &j->asked, .settings_size = sizeof j->asked,
                              .effective = &j->settings,
                              .program = j->program->name, .operand = j->operand, .iterations = j->settings.iterations,
                              .problem = &j->facts, .run = &j->runs[k], .matrix = &matrix,
                              .has_direct = wr_direct_check() == WR_OK};
    PASS(wr_advice_find(&c, &j->runs[k].advice));
  }
  return WR_OK;
}

static wr_status report_check(const job *j) {
  wr_status status = WR_OK;
  const wr_settings *s = &j->settings;
  FILE *out = count_standard_outputs(s) ? stderr : stdout;
  wr_writer writer = wr_writer_of_text(out);
  char *text = NULL;
  if (!is_first(j)) return WR_OK;
  if (s->json) {
    TRY(wr_options_text(j->program->options, s, &text));
    TRY(wr_report_check_json(s->json, &j->facts, &j->certificate, text, &j->ledger));
  }
  if (!s->quiet) wr_report_check(&writer, &j->facts, &j->certificate, &j->ledger);
  TRY(wr_process_flush(out));
  if (s->quiet && !j->certificate.met)
    wr_text_message(stderr, "%s: %s does not meet the tolerance", j->program->name, s->check);
done:
  wr_free(text);
  return status;
}

/* --check: loads the problem, and computes on the host alone. */
static wr_status work_check(job *j) {
  note_extent(j);
  PASS(prepare_problem(j));
  wr_ledger_enter(&j->ledger, WR_PHASE_VERIFY);
  PASS(j->program->check(j->problem, &j->settings, &j->ids, &j->certificate));
  wr_ledger_stop(&j->ledger);
  return report_check(j);
}

/* After the work: learns how long opening takes; without -k the effective option is the backend that gave the answer. Says why
 * a device was not used; where the machine has no GPU that needs no message. */
static wr_status note_place(job *j) {
  const wr_comparison *c = &j->comparison;
  const wr_error *failure = &c->runs[0].moved.failure, *unopened = &c->env_error[WR_CUDA];
  const char *program = j->program->name;
  wr_error unkept = {0};
  if (c->opening_took > 0 && !j->settings.deterministic)
    wr_opening_learn(j->settings.device_number, c->opening_took, &unkept);
  if (j->opening.status == WR_OK) j->opening = unkept;
  if (!j->by_default) return WR_OK;
  if (unopened->status != WR_OK && !j->settings.quiet && wr_machine_has_gpu("/dev"))
    wr_text_message(stderr, "%s: computing on the CPU: %s", program, unopened->text);
  else if (failure->status != WR_OK && !j->settings.quiet)
    wr_text_message(stderr, "%s: going on on the CPU: %s", program, failure->text);
  if (j->settings.backends && j->automatic) return WR_OK;
  return wr_option_set(j->program->options, &j->settings, "backend",
                       j->automatic ? "auto" : c->choices[0].backend->name, "--backend");
}

static wr_status work(job *j) {
  wr_comparison *c = &j->comparison;
  note_extent(j);
  j->by_default = j->settings.backends == NULL || wr_choice_is_auto(j->settings.backends);
  j->automatic = j->by_default && j->settings.seeds == NULL;
  c->opening = WR_DEVICE_OPEN_SECONDS;
  if (j->by_default && !j->settings.deterministic)
    c->opening = wr_opening_expected(j->settings.device_number, &j->opening);
  PASS(wr_comm_agree(j->comm, j->by_default ? choose_backend(j, begin_device)
                                            : wr_choices_parse(j->settings.backends, j->choices, &c->count)));
  PASS(wr_comm_agree(j->comm, check_choices(j)));
  PASS(prepare_problem(j));
  /* Now its sizes are known, and whether the device works. */
  if (j->by_default && !c->may_move) PASS(wr_comm_agree(j->comm, choose_backend(j, open_device)));
  c->problem = j->problem, c->facts = &j->facts;
  j->facts.keeps_history = j->settings.history != NULL;
  if (j->settings.history || j->settings.report || j->settings.iterations <= MOST_KEPT) c->histories = j->histories;
  wr_process_catch_signals(); /* the iterate of an interrupted solve is written */
  PASS(wr_compare(c));
  PASS(note_place(j));
  j->facts.interrupted = *c->interrupted != 0;
  PASS(collect_parts(j));
  PASS(collect_answer(j));
  if (c->answer && j->program->find_order && has_json(j) && is_first(j))
    PASS(j->program->find_order(j->problem, &j->settings, c->answer, c->answer_n, &c->runs[c->answer_run]));
  wr_ledger_enter(&j->ledger, WR_PHASE_CALIBRATE);
  if (j->comm == NULL && advise(j) != WR_OK) /* without memory for it there is no advice; the answer is still written */
    for (int k = 0; k < c->count; k++) j->runs[k].advice = (wr_advice){.seen = ""};
  wr_ledger_stop(&j->ledger);
  wr_error first = {0};
  keep_first(&first, write_all(j));
  keep_first(&first, report(j)); /* an answer that could not be written is still shown */
  return wr_error_raise(&first);
}

/* Prints errors of runs that no report shows. */
static void complain_of_runs(const job *j) {
  char label[256];
  const wr_comparison *c = &j->comparison;
  const char *idle = wr_choices_tune_nothing(c->choices, c->count, j->settings.deterministic);
  int is_first = j->operand == j->matrices.name[0]; /* of a list: the reason is the same for the others */
  if (j->settings.tune_cache && idle && is_first && !j->settings.quiet)
    wr_text_message(stderr, "%s: --tune-cache is not used: %s", j->program->name, idle);
  if (j->opening.status != WR_OK && !j->settings.quiet)
    wr_text_message(stderr, "%s: %s", j->program->name, j->opening.text);
  if (!j->settings.quiet) wr_report_warnings(stderr, j->program->name, j->runs, c->count);
  for (int k = 0; k < j->comparison.count; k++) {
    const wr_run *run = &j->runs[k];
    wr_run_label(run, label, sizeof label);
    if (run->error.status != WR_OK && (j->comparison.count == 1 || j->settings.quiet))
      wr_text_message(stderr, "%s: %s: %s", j->program->name, label, run->error.text);
    else if (j->settings.quiet && wr_run_exit_code(run) != 0)
      wr_text_message(
          stderr, "%s: %s: %s%s", j->program->name, label, wr_outcome_title(run->result.outcome),
          run->verdict.level != WR_VERIFY_OFF && !run->verdict.multiplied_right ? ", and verification failed" : "");
  }
}

/* When the process began, or with a list this matrix, by wr_clock. */
static double begun(const wr_ledger *process) {
  double before = process->since;
  for (int phase = 0; phase < WR_PHASE_COUNT; phase++) before -= process->seconds[phase];
  return before;
}

static void begin_matrix(job *j, const char *name) {
  const wr_program *program = j->program;
  j->operand = name;
  j->facts = (wr_problem_facts){.program = program->name, .measure = program->measure, .source = name, .kind = "",
                                .precision = wr_settings_precision(&j->settings), .tolerance = j->settings.tolerance};
  j->comparison = (wr_comparison){.program = program, .settings = &j->settings, .process = &j->ledger,
                                  .interrupted = wr_process_interrupted(), .choices = j->choices, .runs = j->runs,
                                  .answer_run = -1, .threads = j->threads, .comm = j->comm};
  if (j->settings.time_limit > 0) j->comparison.deadline = begun(&j->ledger) + j->settings.time_limit;
}

/* Frees what is of this matrix, and makes the settings what they were before it. */
static void end_matrix(job *j) {
  int is_last = j->operand == j->matrices.name[j->matrices.count - 1];
  int has_device = j->comparison.env_tried[WR_CUDA] && wr_machine_has_gpu("/dev");
  j->leaves = is_last && (wr_comparison_is_opening(&j->comparison) || (has_device && j->comm == NULL));
  if (j->leaves) return; /* a thread uses all that there is, or the driver frees it in less time */
  wr_comparison_close(&j->comparison);
  wr_choices_free(j->choices, &j->comparison.count);
  for (int k = 0; k < WR_MAX_RUNS; k++) wr_history_free(&j->histories[k]), wr_free(j->runs[k].sides);
  memset(j->runs, 0, sizeof j->runs);
  if (j->problem) j->program->close(j->problem);
  wr_free(j->problem);
  wr_csr_free(j->A);
  wr_free(j->facts.parts);
  wr_ids_free(&j->ids);
  j->problem = NULL, j->A = NULL, j->facts.parts = NULL;
  if (j->asked.backends) return; /* else they are what the program has chosen */
  wr_free(j->settings.backends);
  j->settings.backends = NULL;
}

/* Prints why there is no answer, and adds a line that says so. Returns the exit code. */
static int fail_matrix(job *j, wr_status status) {
  wr_error error;
  char *text = NULL;
  (void)wr_error_keep(&error, status);
  int code = complain(j, j->list ? j->operand : NULL, status);
  wr_status page = j->A && status != WR_EOUTPUT ? write_page(j, &error) : WR_OK; /* only once the matrix was read */
  if (page != WR_OK) code = wr_worse_exit_code(code, wr_process_complain(j->program->name, page));
  if (j->lines.file == NULL || status == WR_EOUTPUT) return code;
  status = wr_options_text(j->program->options, &j->settings, &text);
  if (status == WR_OK) status = wr_report_json_failure(&j->lines, &j->facts, &error, text, &j->ledger);
  wr_free(text);
  return status == WR_OK ? code : wr_process_complain(j->program->name, status);
}

/* One matrix, from reading it to its report. Returns the exit code. */
static int process_matrix(job *j, const char *name) {
  begin_matrix(j, name);
  wr_status status = j->settings.check ? work_check(j) : work(j);
  int code;
  if (status != WR_OK) {
    code = fail_matrix(j, status);
    int is_late = *wr_process_interrupted() && !j->facts.interrupted; /* a signal while the outputs were written */
    if (is_late) code = wr_worse_exit_code(code, wr_outcome_exit_code(WR_INTERRUPTED));
  } else if (j->settings.check) {
    code = wr_certificate_exit_code(&j->certificate);
  } else {
    if (is_first(j)) complain_of_runs(j);
    code = exit_code_of(j);
  }
  end_matrix(j);
  return code;
}

/* The last line of a list, since a failure among many reports is easily missed. */
static wr_status report_list(const job *j, const wr_matrix_tally *tally) {
  FILE *out = count_standard_outputs(&j->settings) ? stderr : stdout;
  if (j->settings.quiet || j->matrices.count < 2) return WR_OK;
  if (j->reports > 0) fprintf(out, "\n");
  wr_matrix_tally_print(out, &j->matrices, tally, "converged");
  return wr_process_flush(out);
}

/* All matrices in turn; *code := the worst exit code. An output that cannot be written ends it. */
static wr_status process_matrices(job *j, int *code) {
  wr_matrix_tally tally = {0};
  PASS(wr_comm_agree(j->comm, is_first(j) ? check_paths(j) : WR_OK));
  if (j->settings.jsonl && is_first(j)) PASS(wr_output_append(j->settings.jsonl, &j->lines));
  for (int64_t k = 0; k < j->matrices.count && !*wr_process_interrupted(); k++) {
    if (k > 0) wr_ledger_begin(&j->ledger, WR_PHASE_INIT);
    int one = process_matrix(j, j->matrices.name[k]);
    wr_matrix_tally_add(&tally, j->matrices.name[k], one);
    if (one != wr_status_exit_code(WR_EOUTPUT)) continue;
    wr_output_abandon(&j->lines); /* which output was lost has been said */
    break;
  }
  *code = tally.code;
  if (tally.begun < j->matrices.count && *wr_process_interrupted()) /* perhaps between two matrices */
    *code = wr_worse_exit_code(*code, wr_outcome_exit_code(WR_INTERRUPTED));
  PASS(report_list(j, &tally));
  return j->lines.file ? wr_output_commit(&j->lines) : WR_OK;
}

int wr_program_run(const wr_program *program, int argc, char **argv) {
  job *j = NULL;
  wr_ledger ledger;
  wr_ledger_begin_process(&ledger);
  wr_process_begin();
  if (wr_alloc_zeroed(&j, 1, sizeof *j, "the program") != WR_OK) return wr_process_complain(program->name, WR_ENOMEM);
  j->program = program, j->ledger = ledger;
  wr_status status = program->begin_parts(argv, &j->comm);
  int code = 0;
  if (status == WR_OK) status = parse(j, argc, argv);
  if (status == WR_OK && wr_process_is_action(&j->settings) && !is_first(j))
    code = 0;
  else if (status == WR_OK && wr_process_is_action(&j->settings))
    status = wr_process_act(program->name, program->text, program->options, &j->settings);
  else if (status == WR_OK)
    status = process_matrices(j, &code);
  if (status != WR_OK) code = wr_worse_exit_code(code, complain(j, NULL, status));
  code = program->end_parts(j->comm, code, j->comm ? say_failure : NULL, j);
  if (j->leaves) wr_process_leave(code);
  wr_output_abandon(&j->lines);
  wr_matrix_list_free(&j->matrices);
  wr_options_release(program->options, &j->settings);
  wr_free(j->settings.rhs_files);
  wr_free(j);
  return code;
}
