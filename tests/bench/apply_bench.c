/* apply_bench: how long one multiply takes by each backend, on any matrices. Without operands the matrices of
 * docs/benchmarks, at full size where there is a GPU. */
#define _DEFAULT_SOURCE /* sigaction, gmtime_r */
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/memory.h"
#include "data/family.h"
#include "data/generate.h"
#include "io/output_file.h"
#include "solvers/settings.h"
#include "solvers/source.h"
#include "tests/bench/apply_json.h"
#include "tests/bench/apply_table.h"

static const char usage[] =
    "usage: apply_bench [options] [MATRIX...]\n"
    "Times one multiply y = A x by several backends in turn and checks every product.\n"
    "MATRIX: a Matrix Market file (gzip too), gen:FAMILY:key=value,..., or @FILE, a file with one of\n"
    "        these a line. Without any: a standard set, at full size where there is a GPU.\n"
    "  apply_bench -k cusparse,csr_warp -p f64 gen:web\n"
    "  apply_bench --values --pattern --cold --json out.json @matrices.txt\n"
    "prepare, first: medians over a few preparations. hot: median of batches, +- its 95% interval.\n"
    "GB/s, read: by the format's own bytes, and their share of what can be read. speed-up, pays at:\n"
    "against the first backend of the list; = where the intervals are not apart by over 2%; multiplies\n"
    "after which the preparation has paid, or, for a slower one, up to which it is ahead (to N).\n"
    "Exit: 0 all is right, 7 a product is wrong, else as pagerank and bicgstab.\n";

enum { PRECISION_BOTH = 2, VALUES_AS_GIVEN = 0, WITH_VALUES = 1, WITHOUT_VALUES = 2, MOST_LIST = 4096 };

typedef struct settings {
  wr_settings common;
  int precision, cold, values, pattern;
  int64_t batches;
  double seconds;
} settings;

#define AT(field) offsetof(settings, field)
static const wr_option options[] = {
    {.name = "backend", .letter = 'k', .type = WR_OPTION_TEXT, .offset = AT(common.backends), .argument = "LIST",
     .group = "What to run",
     .help = "backends with their knobs, as for the programs; default: all that run here but reference"},
    {.name = "device", .letter = 'd', .type = WR_OPTION_TEXT, .offset = AT(common.device_text), .value = "auto",
     .argument = "cpu|cuda[:N]|auto", .help = "leaves out what runs elsewhere"},
    {.name = "precision", .letter = 'p', .type = WR_OPTION_CHOICE, .offset = AT(precision), .choices = "f32|f64|both",
     .value = "both", .help = "type of vectors and stored values"},
    {.name = "values", .type = WR_OPTION_FLAG, .offset = AT(values),
     .help = "with values: those of the matrix, or made-up ones for a pattern"},
    {.name = "pattern", .type = WR_OPTION_FLAG, .offset = AT(pattern),
     .help = "without values (after the run with values if both are asked for)"},
    {.name = "threads", .type = WR_OPTION_INT, .offset = AT(common.threads), .min = 0, .max = 4096, .value = "0",
     .help = "CPU threads; 0: all"},
    {.name = "deterministic", .type = WR_OPTION_FLAG, .offset = AT(common.deterministic),
     .help = "the same bits from run to run"},
    {.name = "batches", .type = WR_OPTION_INT, .offset = AT(batches), .min = 1, .max = 1e5, .value = "31",
     .group = "How to measure", .help = "hot batches of a millisecond or more, and cold multiplies, for each backend"},
    {.name = "seconds", .type = WR_OPTION_REAL, .offset = AT(seconds), .min = 0, .max = 1e6, .value = WR_APPLY_SECONDS,
     .help = "a slow backend is timed no longer for each of these, but seven batches"},
    {.name = "cold", .type = WR_OPTION_FLAG, .offset = AT(cold),
     .help = "also single multiplies, each after twice the last cache was overwritten"},
    {.name = "verify", .type = WR_OPTION_TEXT, .offset = AT(common.verify_text), .value = "full",
     .argument = "full|sample:N|off", .help = "rows of every product that are checked"},
    {.name = "json", .type = WR_OPTION_TEXT, .offset = AT(common.json), .argument = "FILE", .group = "Files",
     .help = "write everything as JSON; - is standard output, the tables then go to standard error"},
    {.name = "config", .type = WR_OPTION_TEXT, .offset = AT(common.config), .argument = "FILE",
     .help = "read options from a file; the command line wins"},
    {.name = "list-backends", .type = WR_OPTION_FLAG, .offset = AT(common.list_backends), .command = 1,
     .group = "Help", .help = "all backends, what they need, and why one is not available"},
    {.name = "list-generators", .type = WR_OPTION_FLAG, .offset = AT(common.list_generators), .command = 1,
     .help = "the matrices that gen: makes"},
    {.name = "help", .letter = 'h', .type = WR_OPTION_FLAG, .offset = AT(common.help), .command = 1,
     .help = "print this"},
    {0}};

/* Graphs come as patterns: they are timed with made-up values and without. */
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

static volatile sig_atomic_t interrupted;
static void on_signal(int number) { interrupted = number; }

typedef struct job {
  settings s;
  wr_choice choices[WR_MAX_RUNS];
  int count, code; /* code: the worst exit code so far */
  wr_apply_place places[2];
  wr_run runs[WR_MAX_RUNS];
  wr_apply_times times[WR_MAX_RUNS];
  wr_output_file out;
  wr_json json;
  FILE *text; /* where tables go */
} job;

/* Keeps the worst exit code, in the order of wr_report_exit_code; a matrix that no backend took is the mildest. */
static void note_code(job *j, int code) {
  static const int worst_first[] = {130, 7, 9, 5, 6, 8, 3, 1, 2, 4, 0};
  for (size_t k = 0; k < sizeof worst_first / sizeof *worst_first; k++)
    if (code == worst_first[k] || j->code == worst_first[k]) {
      j->code = worst_first[k];
      return;
    }
}

/* ---- one matrix ---- */

/* In (0, 1], and the same number in f32. */
static wr_status make_values(wr_csr *A) {
  wr_status status = wr_alloc(&A->val, A->nnz, sizeof *A->val, "made-up values");
  if (status != WR_OK) return status;
#pragma omp parallel for schedule(static)
  for (int64_t k = 0; k < A->nnz; k++) A->val[k] = (double)((wr_hash(2, (uint64_t)k) >> 41) + 1) * 0x1p-23;
  return WR_OK;
}

/* Device views hold the old values or none: they go. */
static wr_status set_values(wr_csr *A, int variant, wr_problem_facts *facts) {
  wr_status status = WR_OK;
  const char *remark = NULL;
  if (variant == WITH_VALUES && A->val == NULL) {
    wr_csr_forget_device(A);
    TRY(make_values(A));
    remark = "values made up";
  } else if (variant == WITHOUT_VALUES && A->val != NULL) {
    wr_csr_forget_device(A);
    wr_free(A->val);
    A->val = NULL;
    remark = "values left out";
  }
  if (remark) snprintf(facts->remark, sizeof facts->remark, "%s", remark);
  facts->has_values = A->val != NULL;
done:
  return status;
}

static void show_failure(job *j, const wr_problem_facts *facts, wr_status status) {
  fprintf(j->text, "%s: %s\n\n", facts->source, wr_status_message());
  if (j->out.file) json_matrix(&j->json, facts, status, NULL, NULL, 0);
  note_code(j, wr_status_exit_code(status));
}

static wr_status time_type(job *j, wr_csr *A, wr_type type, wr_problem_facts *facts) {
  wr_apply_settings how = {.batches = j->s.batches, .seconds = j->s.seconds, .batch_seconds = WR_APPLY_BATCH_SECONDS,
                           .preparations = WR_APPLY_PREPARATIONS, .cold = j->s.cold, .verify = j->s.common.verify,
                           .verify_rows = j->s.common.verify_rows, .interrupted = &interrupted};
  facts->precision = type == WR_F32 ? "f32" : "f64";
  wr_status status = wr_apply_time(A, type, j->places, j->choices, j->count, &how, j->runs, j->times);
  if (status == WR_EUSAGE) return status;
  if (status != WR_OK) {
    show_failure(j, facts, status);
    return WR_OK;
  }
  print_apply_table(j->text, &(apply_table){facts, j->runs, j->times, j->count, j->s.cold});
  if (j->out.file) json_matrix(&j->json, facts, WR_OK, j->runs, j->times, j->count);
  note_code(j, wr_report_exit_code(j->runs, j->count));
  return WR_OK;
}

static wr_status time_matrix(job *j, const char *name, int with_values, int without) {
  wr_status status;
  wr_csr *A = NULL;
  wr_ledger ledger = {0};
  wr_problem_facts facts = {.program = "apply_bench", .source = name, .precision = ""};
  int variants[] = {with_values ? WITH_VALUES : VALUES_AS_GIVEN, without ? WITHOUT_VALUES : VALUES_AS_GIVEN};
  int first = without && !with_values, last = without;
  if (interrupted) return WR_OK;
  TRY(wr_source_load(name, &(wr_source_options){.threads = (int)j->s.common.threads}, &ledger, &A, &facts));
  for (int v = first; v <= last; v++) {
    TRY(set_values(A, variants[v], &facts));
    for (int type = WR_F32; type <= WR_F64; type++) {
      if (interrupted || (j->s.precision != PRECISION_BOTH && j->s.precision != type)) continue;
      status = time_type(j, A, (wr_type)type, &facts);
      if (status != WR_OK) {
        wr_csr_free(A);
        return status;
      }
    }
  }
done:
  if (status != WR_OK) show_failure(j, &facts, status);
  wr_csr_free(A);
  return WR_OK;
}

/* A matrix a line; blank lines and what follows # are skipped. */
static wr_status time_list(job *j, const char *path) {
  char line[MOST_LIST];
  wr_status status = WR_OK;
  FILE *file = fopen(path, "r");
  if (file == NULL) return wr_fail(WR_EINPUT, "%s: the list of matrices cannot be read", path);
  while (status == WR_OK && fgets(line, sizeof line, file)) {
    line[strcspn(line, "#\r\n")] = '\0';
    char *name = line + strspn(line, " \t"), *end = name + strlen(name);
    while (end > name && (end[-1] == ' ' || end[-1] == '\t')) *--end = '\0';
    if (*name) status = time_matrix(j, name, j->s.values, j->s.pattern);
  }
  if (status == WR_OK && ferror(file)) status = wr_fail(WR_EINPUT, "%s: reading the list of matrices failed", path);
  fclose(file);
  return status;
}

static wr_status time_standard(job *j) {
  wr_status status = WR_OK;
  int full = j->places[WR_CUDA].env.ops != NULL;
  for (int k = 0; k < STANDARD; k++) {
    int given = j->s.values || j->s.pattern; /* what is asked for goes for all */
    int with_values = given ? j->s.values : standard[k].graph, without = given ? j->s.pattern : standard[k].graph;
    TRY(time_matrix(j, full ? standard[k].full : standard[k].small, with_values, without));
  }
done:
  return status;
}

/* ---- all of them ---- */

/* Opens a place, unless -d is against it or no backend of the list needs it. */
static void open_place(job *j, wr_place place) {
  const wr_settings *s = &j->s.common;
  wr_apply_place *p = &j->places[place];
  int wanted = s->backends == NULL, allowed = s->device != (place == WR_CUDA ? WR_DEVICE_CPU : WR_DEVICE_CUDA);
  for (int k = 0; k < j->count; k++)
    wanted |= j->choices[k].backend->place == place && j->choices[k].backend->plan != NULL;
  p->status = WR_EUNAVAILABLE;
  if (!allowed)
    snprintf(p->reason, sizeof p->reason, "--device %s leaves it out", s->device_text);
  else if (!wanted)
    snprintf(p->reason, sizeof p->reason, "no backend of the list runs there");
  else
    wr_apply_place_open(p, (wr_env){.place = place,
                                    .device = s->device_number,
                                    .type = WR_F64,
                                    .threads = (int)s->threads,
                                    .deterministic = s->deterministic});
}

/* All that run here but reference, a GPU's first: they are compared with the first, cusparse. */
static wr_status choose_backends(job *j) {
  static const wr_place order[] = {WR_CUDA, WR_HOST};
  char list[MOST_LIST] = "";
  size_t used = 0;
  for (int p = 0; p < 2; p++)
    for (int k = 0; k < wr_backend_count(); k++) {
      const wr_backend *backend = wr_backend_at(k);
      if (backend->plan == NULL || backend->place != order[p] || strcmp(backend->name, "reference") == 0) continue;
      if (j->places[order[p]].status != WR_OK) continue;
      used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? "," : "", backend->name);
    }
  if (used == 0)
    return wr_fail(WR_EUNAVAILABLE, "no backend runs here: %s", j->places[j->s.common.device == WR_DEVICE_CUDA].reason);
  wr_status status = wr_option_set(options, &j->s, "backend", list, "--backend");
  return status == WR_OK ? wr_choices_parse(list, j->choices, &j->count) : status;
}

static wr_status set_up(job *j, int argc, char **argv, int *first) {
  wr_status status;
  wr_settings *s = &j->s.common;
  TRY(wr_options_default(options, &j->s));
  TRY(wr_options_parse(options, &j->s, argc, argv, first));
  TRY(wr_settings_finish(s));
  if (s->verify == WR_VERIFY_DEVICE) TRY(wr_fail(WR_EUSAGE, "--verify: products are checked on the host, or not"));
  if (s->help || s->list_backends || s->list_generators) goto done;
  if (s->threads > 0) omp_set_num_threads((int)s->threads);
  if (s->json) TRY(wr_output_check(s->json));
  if (s->backends) TRY(wr_choices_parse(s->backends, j->choices, &j->count));
  for (int k = 0; k < j->count; k++) TRY(wr_choice_check(&j->choices[k]));
  for (int place = 0; place < 2; place++) open_place(j, (wr_place)place);
  if (s->backends == NULL) TRY(choose_backends(j));
done:
  return status;
}

static wr_status begin_json(job *j) {
  wr_status status;
  char *text = NULL;
  size_t size;
  j->text = stdout;
  if (j->s.common.json == NULL) return WR_OK;
  TRY(wr_output_open(j->s.common.json, &j->out));
  j->json = (wr_json){.file = j->out.file};
  if (j->out.file == stdout) j->text = stderr;
  FILE *stream = open_memstream(&text, &size);
  if (stream == NULL) TRY(wr_fail(WR_ENOMEM, "out of memory: the text of the options"));
  wr_options_write(options, &j->s, stream);
  fclose(stream);
  json_head(&j->json, text, j->places);
done:
  free(text);
  return status;
}

static wr_status work(job *j, int count, char **names) {
  wr_status status;
  TRY(begin_json(j));
  for (int place = 0; place < 2; place++)
    if (j->places[place].env.ops)
      fprintf(j->text, "%s: reads %.1f GB/s\n", j->places[place].env.device_name,
              1e-9 * j->places[place].read_bandwidth);
  fprintf(j->text, "\n");
  if (count == 0) TRY(time_standard(j));
  for (int k = 0; k < count; k++)
    TRY(names[k][0] == '@' ? time_list(j, names[k] + 1) : time_matrix(j, names[k], j->s.values, j->s.pattern));
  if (interrupted) note_code(j, 130);
  if (j->out.file) json_tail(&j->json, j->code);
  if (j->out.file) TRY(wr_output_commit(&j->out));
  if (fflush(stdout) != 0 || ferror(stdout)) TRY(wr_fail(WR_EOUTPUT, "standard output takes no more"));
done:
  wr_output_abandon(&j->out);
  return status;
}

static wr_status run(job *j, int argc, char **argv) {
  wr_status status;
  const wr_settings *s = &j->s.common;
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};
  int first = argc;
  TRY(set_up(j, argc, argv, &first));
  if (s->help) {
    printf("%s\n", usage);
    wr_options_help(options, stdout);
  } else if (s->list_backends) {
    wr_backends_print(stdout);
  } else if (s->list_generators) {
    wr_generate_help(stdout);
  } else {
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    TRY(work(j, argc - first, argv + first));
  }
done:
  return status;
}

int main(int argc, char **argv) {
  job *j = NULL;
  wr_status status = wr_alloc_zeroed(&j, 1, sizeof *j, "the bench");
  if (status == WR_OK) status = run(j, argc, argv);
  if (status != WR_OK) fprintf(stderr, "apply_bench: %s\n", wr_status_message());
  int code = status != WR_OK ? wr_status_exit_code(status) : j->code;
  if (j == NULL) return code;
  for (int place = 0; place < 2; place++) wr_apply_place_close(&j->places[place]);
  wr_options_release(options, &j->s);
  wr_free(j);
  return code;
}
