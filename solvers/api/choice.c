#include "solvers/api/choice.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "config/defaults.h"
#include "config/memory.h"
#include "config/user_cache.h"
#include "spmv/matrix/csr.h"
#include "spmv/parts/halo.h"
#include "spmv/plan_argument.h"

static wr_status parse_knobs(wr_choice *choice) {
  const wr_backend *backend = choice->backend;
  if (backend->plan == NULL) return WR_OK;
  PASS(wr_alloc_zeroed(&choice->values, 1, backend->knobs_size, "knobs"));
  PASS(wr_options_default(backend->knobs, choice->values));
  return wr_knobs_parse(backend->knobs, choice->values, choice->knobs, backend->name);
}

void wr_choice_free(wr_choice *choice) {
  if (choice->values) wr_options_release(choice->backend->knobs, choice->values);
  wr_free(choice->values);
  choice->values = NULL;
}

/* "merbit:sigma=11", in so many bytes at `at`. */
static wr_status parse_one(const char *option, const char *list, const char *at, size_t length, wr_choice *choice) {
  char name[64];
  size_t name_length = strcspn(at, ":,"), knobs_at = name_length < length ? name_length + 1 : length;
  if (name_length == 0) return wr_fail(WR_EUSAGE, "%s: an empty name in '%s'", option, list);
  if (name_length >= sizeof name || length - name_length >= sizeof choice->knobs)
    return wr_fail(WR_EUSAGE, "%s: '%.40s...' is too long", option, at);
  snprintf(name, sizeof name, "%.*s", (int)name_length, at);
  snprintf(choice->knobs, sizeof choice->knobs, "%.*s", (int)(length - knobs_at), at + knobs_at);
  if (wr_choice_is_auto(name))
    return wr_fail(WR_EUSAGE, "%s: auto, which chooses a backend for a solve, stands alone", option);
  wr_status status = wr_backend_find(name, &choice->backend);
  return status == WR_OK ? parse_knobs(choice) : status;
}

wr_status wr_choice_parse(const char *option, const char *text, wr_choice *choice) {
  *choice = (wr_choice){0};
  if (strchr(text, ',')) return wr_fail(WR_EUSAGE, "%s: '%.60s' names several backends, not one", option, text);
  wr_status status = parse_one(option, text, text, strlen(text), choice);
  if (status != WR_OK) wr_choice_free(choice);
  return status;
}

wr_status wr_choices_parse(const char *list, wr_choice *choices, int *count) {
  wr_status status;
  *count = 0;
  for (const char *at = list;; at++) {
    at += strspn(at, " ");
    size_t length = strcspn(at, ",");
    if (*count == WR_MAX_RUNS) TRY(wr_fail(WR_EUSAGE, "--backend: more than %d backends", WR_MAX_RUNS));
    choices[*count] = (wr_choice){0};
    TRY(parse_one("--backend", list, at, length, &choices[(*count)++]));
    at += length;
    if (*at == '\0') return WR_OK;
  }
done:
  wr_choices_free(choices, count);
  return status;
}

void wr_choices_free(wr_choice *choices, int *count) {
  for (int k = 0; k < *count; k++) wr_choice_free(&choices[k]);
  *count = 0;
}

wr_status wr_choice_plan(const wr_choice *choice, wr_csr *A, wr_env *env, wr_plan **plan) {
  if (choice->values == NULL) return wr_plan_create(choice->backend, choice->knobs, A, env, plan);
  return wr_plan_create_parsed(choice->backend, choice->values, A, env, plan);
}

int wr_choice_is_auto(const char *text) {
  return text && strncmp(text, "auto", 4) == 0 && (text[4] == '\0' || text[4] == ':');
}

typedef struct auto_knobs {
  int64_t measure;
} auto_knobs;

static const wr_knob auto_rows[] = {
    {.name = "measure", .type = WR_OPTION_INT, .offset = offsetof(auto_knobs, measure), .max = 1, .value = "0",
     .help = "1: times the two backends of which the model expects the least time, and takes the faster one"},
    {0}};

wr_status wr_choice_automatic(const char *option, const char *text, wr_place place, int deterministic,
                              wr_choice *choice) {
  auto_knobs knobs = {0};
  if (text == NULL) text = "auto";
  if (strchr(text, ','))
    return wr_fail(WR_EUSAGE, "%s: auto, which chooses a backend for a solve, stands alone", option);
  PASS(wr_knobs_parse(auto_rows, &knobs, text[4] == ':' ? text + 5 : NULL, "auto"));
  if (knobs.measure && deterministic)
    return wr_fail(WR_EUSAGE,
                   "%s: auto:measure=1 chooses by a clock, so two runs may choose differently, which deterministic "
                   "excludes; auto without it chooses by the matrix alone",
                   option);
  PASS(wr_choice_parse(option, wr_backend_default(place)->name, choice));
  choice->automatic = 1, choice->measure = knobs.measure != 0;
  return WR_OK;
}

/* times[count] := what is expected of each candidate in all, by the part that takes longest; infinite: a part refuses it. */
static wr_status expect_in_parts(wr_comm *comm, const wr_expected *expected, int count, double multiplies,
                                 double *times) {
  for (int k = 0; k < count; k++)
    times[k] = expected[k].refusal.status != WR_OK ? INFINITY : wr_expected_total(&expected[k], multiplies);
  return wr_comm_max(comm, times, count);
}

static int least_of(const double *times, int count) {
  int best = 0;
  for (int k = 1; k < count; k++)
    if (times[k] < times[best]) best = k;
  return best;
}

/* All parts take the same backend: the one that the part which takes longest is expected to be done with first. One that a part
 * refuses, or has no memory for, makes room for the next one. */
static wr_status prepare_in_parts(wr_comm *comm, wr_csr *A, wr_env *env, const wr_plan_use *use, wr_plan **plan,
                                  wr_chosen *chosen) {
  wr_status status;
  wr_expected expected[WR_MOST_CANDIDATES];
  double times[WR_MOST_CANDIDATES];
  int count = 0;
  wr_error last = {WR_EUNAVAILABLE, "no backend of -k auto multiplies with all parts"};
  TRY(wr_comm_agree(comm, wr_plans_expect(A, env, use->calibration, expected, &count, &chosen->warning)));
  TRY(expect_in_parts(comm, expected, count, use->multiplies, times));
  for (;;) {
    int best = least_of(times, count), second;
    double total = times[best];
    if (!isfinite(total)) TRY(wr_error_raise(&last));
    times[best] = INFINITY, second = least_of(times, count);
    status = wr_comm_agree(comm, wr_plan_create(expected[best].backend, NULL, A, env, plan));
    if (status == WR_OK) status = wr_comm_agree(comm, wr_plan_prepare(*plan));
    if (status == WR_OK) {
      *chosen = (wr_chosen){.backend = expected[best].backend,
                            .multiplies = use->multiplies,
                            .warning = chosen->warning,
                            .prepare = expected[best].prepare + expected[best].first,
                            .multiply = expected[best].multiply + expected[best].epilogue,
                            .second = isfinite(times[second]) ? expected[second].backend : NULL,
                            .second_total = times[second]};
      snprintf(chosen->line, sizeof chosen->line,
               "%s is expected to take least in the part that takes longest: %.3g ms in all for %.0f multiplies",
               chosen->backend->name, 1e3 * total, use->multiplies);
      break;
    }
    (void)wr_error_keep(&last, status);
    wr_plan_destroy(*plan);
    *plan = NULL;
    if (status != WR_EUNAVAILABLE && status != WR_ENOMEM) goto done;
  }
done:
  wr_csr_device_free(A->device); /* the plan's pieces have their own */
  A->device = NULL;
  return status;
}

wr_status wr_choice_prepare(wr_choice *choice, wr_csr *A, wr_env *env, const wr_plan_use *use, wr_plan **plan,
                            wr_chosen *chosen) {
  *chosen = (wr_chosen){.backend = NULL};
  if (!choice->automatic) {
    PASS(wr_comm_agree(wr_csr_comm(A), wr_choice_plan(choice, A, env, plan)));
    return wr_plan_prepare(*plan);
  }
  char calibration[WR_USER_CACHE_ROOM];
  wr_plan_use completed = *use;
  completed.measure = choice->measure;
  if (wr_user_cache_path(WR_CALIBRATION_FILE, calibration) == WR_OK) completed.calibration = calibration;
  wr_comm *comm = wr_csr_comm(A);
  PASS(comm ? prepare_in_parts(comm, A, env, &completed, plan, chosen)
            : wr_plan_choose(A, env, &completed, plan, chosen));
  wr_choice_free(choice);
  *choice = (wr_choice){.backend = chosen->backend};
  return WR_OK;
}

/* Knobs are parsed: the first value of a choice is 0. */
const char *wr_choices_tune_nothing(const wr_choice *choices, int count, int deterministic) {
  if (deterministic) return "--deterministic tunes nothing";
  for (int k = 0; k < count; k++) {
    if (choices[k].backend->plan == NULL) return NULL; /* the reason is that it is not built, which its run says */
    const wr_knob *row = wr_option_find(choices[k].backend->knobs, "tune");
    if (row && choices[k].values && *(const int *)((const char *)choices[k].values + row->offset) != 0) return NULL;
  }
  return "no backend of -k tunes, as yaspmv:tune=quick would";
}
