#include "solvers/api/session.h"

#include <math.h>
#include <omp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/argument.h"
#include "config/clock.h"
#include "config/defaults.h"
#include "config/memory.h"
#include "solvers/direct.h"
#include "spmv/device/processors.h"

/* ---- structs that may grow ---- */

static size_t size_of(const void *given) {
  size_t size;
  memcpy(&size, given, sizeof size);
  return size;
}

static int has_size(const void *given) { return given && size_of(given) > sizeof(size_t) && size_of(given) <= 1 << 16; }

wr_status wr_struct_check(const char *function, const char *name, const void *given) {
  if (given == NULL) return wr_refuse(function, "%s is NULL", name);
  if (has_size(given)) return WR_OK;
  return wr_refuse(function, "%s->size is %zu; WR_INIT sets it before other members are set", name, size_of(given));
}

wr_status wr_struct_take(const char *function, const char *name, const void *given, void *own, size_t own_size) {
  memset(own, 0, own_size);
  if (given == NULL) return WR_OK;
  PASS(wr_struct_check(function, name, given));
  size_t size = size_of(given);
  for (size_t k = own_size; k < size; k++)
    if (((const char *)given)[k] != 0)
      return wr_refuse(function,
                       "%s has members that windrow %s does not know, at byte %zu: it was compiled for a newer one",
                       name, wr_version(), k);
  memcpy(own, given, size < own_size ? size : own_size);
  return WR_OK;
}

void wr_struct_give(void *given, const void *own, size_t own_size) {
  if (!has_size(given)) return;
  size_t size = size_of(given);
  memcpy((char *)given + sizeof size, (const char *)own + sizeof size,
         (size < own_size ? size : own_size) - sizeof size);
}

wr_status wr_word_choose(const char *function, const char *member, const char *text, const char *words, int *index) {
  *index = 0;
  if (text == NULL) return WR_OK;
  int k = 0;
  for (const char *at = words; *at; at += *at == '|', k++) {
    size_t length = strcspn(at, "|");
    if (strlen(text) == length && strncmp(at, text, length) == 0) {
      *index = k;
      return WR_OK;
    }
    at += length;
  }
  return wr_refuse(function, "%s is '%.40s', which is none of %s", member, text, words);
}

/* ---- callbacks ---- */

wr_status wr_trace_new(wr_trace **trace) {
  WR_NEED(trace);
  *trace = NULL;
  return wr_alloc_zeroed(trace, 1, sizeof **trace, "a trace");
}

static void free_columns(wr_trace *trace, int64_t from) {
  for (int64_t k = from; k < trace->count; k++) wr_history_free(&trace->columns[k]);
  if (from < trace->count) trace->count = from;
}

void wr_trace_free(wr_trace *trace) {
  if (trace == NULL) return;
  free_columns(trace, 0);
  wr_free(trace->columns);
  wr_free(trace);
}

int64_t wr_trace_get(const wr_trace *trace, int64_t column, const int64_t **iterations, const double **residuals) {
  static const wr_history none = {0};
  const wr_history *h = trace && column >= 0 && column < trace->count ? &trace->columns[column] : &none;
  if (iterations) *iterations = h->iteration;
  if (residuals) *residuals = h->measure;
  return h->count;
}

wr_status wr_trace_begin(wr_trace *trace, int64_t column, wr_history **history) {
  *history = NULL;
  if (trace == NULL) return WR_OK;
  free_columns(trace, column);
  PASS(wr_resize(&trace->columns, (column + 1) * (int64_t)sizeof *trace->columns, "a trace"));
  while (trace->count <= column) trace->columns[trace->count++] = (wr_history){0}; /* columns before it may have failed */
  *history = &trace->columns[column];
  return WR_OK;
}

static void show_progress(void *context, int64_t iteration, double measure, double target) {
  wr_listener *l = context;
  if (l->progress && l->progress(l->context, iteration, measure, target) != 0) l->stopped = 1;
}

static void show_preparing(void *context, const char *what, double share) {
  (void)what;
  show_progress(context, -1, share, 0);
}

void wr_listener_begin(wr_listener *l) {
  l->stopped = 0;
  l->deadline = l->time_limit > 0 ? wr_clock() + l->time_limit : 0;
}

wr_monitor wr_listener_monitor(wr_listener *l, wr_history *history) {
  return (wr_monitor){.progress = show_progress,
                      .preparing = show_preparing,
                      .context = l,
                      .interrupted = &l->stopped,
                      .deadline = l->deadline,
                      .history = history};
}

void wr_listener_say(const wr_listener *l, const char *format, ...) {
  char sentence[1024];
  va_list values;
  if (l == NULL || l->log == NULL) return;
  va_start(values, format);
  vsnprintf(sentence, sizeof sentence, format, values);
  va_end(values);
  if (sentence[0]) l->log(l->context, sentence);
}

/* ---- a place to compute ---- */

static wr_status open_env(const wr_place_options *o, wr_place place, int number, wr_env *env) {
  *env = (wr_env){.place = place, .device = number, .type = o->type, .threads = o->threads,
                  .deterministic = o->deterministic, .need_beta = o->need_beta};
  return wr_env_open(env);
}

/* A backend that is named decides on the place. */
static wr_status open_named(const char *function, const wr_place_options *o, wr_device device, int number,
                            wr_session *s) {
  wr_status status = wr_choice_parse("options->backend", o->backend, &s->choice);
  if (status != WR_OK) return wr_fail(status, "%s: %s", function, wr_status_message());
  const wr_backend *backend = s->choice.backend;
  if (device == (backend->place == WR_CUDA ? WR_DEVICE_CPU : WR_DEVICE_CUDA))
    return wr_refuse(function, "options->backend, %s, runs on the %s, which options->device excludes", backend->name,
                     backend->place == WR_CUDA ? "GPU" : "CPU");
  if (backend->plan == NULL) {
    status = backend->check(&s->env, NULL, NULL);
    return wr_fail(status, "%s: %s: %s", function, backend->name, wr_status_message());
  }
  return open_env(o, backend->place, number, &s->env);
}

static wr_status open_default(const wr_place_options *o, wr_device device, int number, wr_session *s) {
  char why[192] = "";
  wr_place place = device == WR_DEVICE_CPU || wr_backend_default(WR_CUDA) == NULL ? WR_HOST : WR_CUDA;
  if (device == WR_DEVICE_AUTO && place == WR_CUDA)
    place = wr_place_for(o->bytes, o->threads, WR_DEVICE_OPEN_SECONDS, why, sizeof why);
  if (why[0]) wr_listener_say(o->listener, "%s", why);
  if (device == WR_DEVICE_CUDA) place = WR_CUDA;
  wr_status status = open_env(o, place, number, &s->env);
  if (status != WR_OK && place == WR_CUDA && device == WR_DEVICE_AUTO) {
    wr_listener_say(o->listener, "computing on the CPU: %s", wr_status_message());
    place = WR_HOST;
    status = open_env(o, place, number, &s->env);
  }
  PASS(status);
  if (o->several) return wr_choice_parse("options->backend", wr_backend_default_many(place)->name, &s->choice);
  return wr_choice_automatic("options->backend", o->backend, place, o->deterministic, &s->choice);
}

wr_status wr_session_open(const char *function, const wr_place_options *o, wr_session *s) {
  wr_device device;
  int number;
  *s = (wr_session){0};
  wr_status status = wr_device_parse("options->device", o->device ? o->device : "auto", &device, &number);
  if (status != WR_OK) return wr_fail(status, "%s: %s", function, wr_status_message());
  return o->backend && !wr_choice_is_auto(o->backend) ? open_named(function, o, device, number, s)
                                                      : open_default(o, device, number, s);
}

wr_status wr_session_plan(wr_session *s, wr_csr *A, const wr_plan_use *use, const wr_listener *listener,
                          wr_plan **plan) {
  wr_chosen chosen;
  PASS(wr_choice_prepare(&s->choice, A, &s->env, use, plan, &chosen));
  wr_listener_say(listener, "%s", chosen.line);
  wr_listener_say(listener, "%s", chosen.warning.text);
  return WR_OK;
}

wr_status wr_session_check_arrays(const char *function, wr_session *s, int count, const double *const *arrays,
                                  const char *const *names) {
  wr_status status = WR_OK;
  if (wr_backend_default(WR_CUDA) == NULL)
    return wr_fail(WR_EUNAVAILABLE, "%s: this build has no CUDA parts, and so no arrays on a GPU", function);
  if (s->env.place != WR_CUDA)
    return wr_refuse(function, "it was made for the CPU: with options->device \"cuda\" it takes arrays on a GPU");
  for (int k = 0; k < count && status == WR_OK; k++)
    if (arrays[k]) status = s->env.ops->check_address(&s->env, arrays[k], names[k]);
  return status == WR_OK ? WR_OK : wr_fail(status, "%s: %s", function, wr_status_message());
}

void wr_session_close(wr_session *s) {
  wr_choice_free(&s->choice);
  wr_env_close(&s->env);
}

wr_status wr_threads_enter(const char *function, const char *member, int64_t entries, int *threads, int *before) {
  enum { MOST = 4096 };
  *before = 0;
  if (*threads < 0 || *threads > MOST)
    return wr_refuse(function, "%s is %d; it is 0, for all, or at most %d", member, *threads, MOST);
  if (*threads == 0 && wr_threads_for(entries, wr_default_threads()) > 1) (void)wr_default_threads_try();
  if (*threads == 0) *threads = wr_default_threads();
  *before = omp_get_max_threads();
  omp_set_num_threads(wr_threads_for(entries, *threads));
  return WR_OK;
}

void wr_threads_leave(int before) {
  if (before > 0) omp_set_num_threads(before);
}

wr_verified wr_level_choose(int word, double full_seconds, double run_seconds) {
  return word == 0 ? wr_verified_for(full_seconds, run_seconds) : word == 1 ? WR_VERIFY_FULL : WR_VERIFY_OFF;
}

/* ---- what this library can do ---- */

const char *wr_backend_name(int index) {
  const wr_backend *backend = wr_backend_at(index);
  return backend ? backend->name : NULL;
}

wr_status wr_backend_check(const char *backend) {
  wr_status status;
  wr_session s = {0};
  WR_NEED(backend);
  TRY(wr_session_open(__func__, &(wr_place_options){.backend = backend, .type = WR_F64, .threads = 1}, &s));
done:
  wr_session_close(&s);
  return status;
}

int wr_built_with(const char *library) {
  static const char *const readers[] = {
      "",
#ifdef WR_HAVE_ZLIB
      "zlib",
#endif
#ifdef WR_HAVE_ZSTD
      "zstd",
#endif
#ifdef WR_HAVE_XZ
      "xz",
#endif
  };
  if (library == NULL) return 0;
  if (strcmp(library, "cuda") == 0) return wr_backend_default(WR_CUDA) != NULL;
  if (strcmp(library, "klu") == 0) return wr_direct_check() == WR_OK;
  for (size_t k = 1; k < sizeof readers / sizeof *readers; k++)
    if (strcmp(library, readers[k]) == 0) return 1;
  return 0;
}
