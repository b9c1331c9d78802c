/* The table of backends, made from backends.def, with a stub for each backend that is not in this build. */
#include <string.h>

#include "config/argument.h"
#include "config/closest.h"
#include "config/text.h"
#include "spmv/spmv.h"

#if !defined(WR_HAVE_CUDA)
static wr_status check_no_cuda(const wr_env *env, const wr_csr *A, const void *knobs) {
  (void)env, (void)A, (void)knobs;
  return wr_fail(WR_EUNAVAILABLE, "this build has no CUDA parts: install the CUDA toolkit (nvcc 12.4 or newer), "
                                  "then make clean and make");
}
#elif !defined(WR_HAVE_CUSPARSE)
static wr_status check_no_vendor(const wr_env *env, const wr_csr *A, const void *knobs) {
  (void)env, (void)A, (void)knobs;
  return wr_fail(WR_EUNAVAILABLE, "NVIDIA's libraries need a GPU, and this build runs kernels on the CPU");
}
#endif

#define STUB(id, where, what, refuse)                                                                         \
  static const wr_backend stub_##id = {                                                                       \
      .name = #id, .summary = what, .source = "", .place = where, .check = refuse};
#define DECLARE(id) extern const wr_backend wr_backend_##id;

/* First pass: declarations and stubs. */
#define DEFINE_HOST(id, where, what) DECLARE(id)
#ifdef WR_HAVE_CUDA
#define DEFINE_CUDA(id, where, what) DECLARE(id)
#else
#define DEFINE_CUDA(id, where, what) STUB(id, where, what, check_no_cuda)
#endif
#if defined(WR_HAVE_CUSPARSE)
#define DEFINE_VENDOR(id, where, what) DECLARE(id)
#elif defined(WR_HAVE_CUDA)
#define DEFINE_VENDOR(id, where, what) STUB(id, where, what, check_no_vendor)
#else
#define DEFINE_VENDOR(id, where, what) STUB(id, where, what, check_no_cuda)
#endif
#define WR_BACKEND(id, state, where, what) DEFINE_##state(id, where, what)
#include "spmv/backends.def"
#undef WR_BACKEND

/* Second pass: the table. */
#define ROW_HOST(id) &wr_backend_##id,
#ifdef WR_HAVE_CUDA
#define ROW_CUDA(id) &wr_backend_##id,
#else
#define ROW_CUDA(id) &stub_##id,
#endif
#ifdef WR_HAVE_CUSPARSE
#define ROW_VENDOR(id) &wr_backend_##id,
#else
#define ROW_VENDOR(id) &stub_##id,
#endif
#define WR_BACKEND(id, state, where, what) ROW_##state(id)
static const wr_backend *const table[] = {
#include "spmv/backends.def"
};
#undef WR_BACKEND

enum { COUNT = sizeof table / sizeof table[0] };

int wr_backend_count(void) { return COUNT; }

const wr_backend *wr_backend_at(int index) { return index >= 0 && index < COUNT ? table[index] : NULL; }

wr_status wr_backend_find(const char *name, const wr_backend **backend) {
  const char *names[COUNT];
  WR_NEED(backend);
  *backend = NULL;
  WR_NEED(name);
  for (int b = 0; b < COUNT; b++) {
    names[b] = table[b]->name;
    if (strcmp(name, names[b]) == 0) {
      *backend = table[b];
      return WR_OK;
    }
  }
  const char *closest = wr_closest(name, names, COUNT);
  if (closest) return wr_fail(WR_EUSAGE, "unknown backend '%s'; did you mean '%s'? (--list-backends)", name, closest);
  return wr_fail(WR_EUSAGE, "unknown backend '%s'; --list-backends shows them all", name);
}

/* The first of two backends that this build has; NULL: neither. */
static const wr_backend *first_of(const char *const names[2]) {
  const wr_backend *backend = NULL;
  for (int k = 0; k < 2; k++)
    if (wr_backend_find(names[k], &backend) == WR_OK && backend->plan) return backend;
  return NULL;
}

const wr_backend *wr_backend_default(wr_place place) {
  static const char *const on_gpu[] = {"merbit", "csr_warp"}, *const on_cpu[] = {"cpu_csr", "reference"};
  if ((unsigned)place > WR_CUDA) return NULL;
  return first_of(place == WR_CUDA ? on_gpu : on_cpu);
}

const wr_backend *wr_backend_default_many(wr_place place) {
  static const char *const on_gpu[] = {"lane_csr", "merbit"};
  return place == WR_CUDA ? first_of(on_gpu) : wr_backend_default(place);
}

/* The reason for which a backend cannot be used now, or "". The text is valid until the next call. */
static const char *unavailable(const wr_backend *backend, const wr_env *env, wr_status env_status,
                               const char *env_reason) {
  if (backend->plan == NULL) return backend->check(env, NULL, NULL) == WR_OK ? "" : wr_status_message();
  return env_status == WR_OK ? "" : env_reason;
}

static void print_detail(FILE *out, const char *what, const char *text) {
  fprintf(out, "%10s: ", what);
  wr_text_wrap(out, text, 12, 12);
}

static void print_backend(FILE *out, const wr_backend *backend) {
  char text[1024], range[256];
  fprintf(out, "%-20s %-4s  ", backend->name, backend->place == WR_HOST ? "CPU" : "GPU");
  wr_text_wrap(out, backend->summary, 27, 27);
  if (backend->source[0]) print_detail(out, "from", backend->source);
  WR_EACH_OPTION(k, backend->knobs) {
    wr_option_range(k, range, sizeof range);
    const char *value = k->value ? k->value : "0", *blank = range[0] ? " (" : "", *end = range[0] ? ")" : "";
    snprintf(text, sizeof text, "%s=%s: %s%s%s%s", k->name, value, k->help, blank, range, end);
    print_detail(out, "knob", text);
  }
  if (backend->caps & WR_CAP_FINITE_X)
    print_detail(out, "limit", "needs finite x: Inf or NaN there may reach rows that do not use it");
  if (backend->caps & WR_CAP_FEW_MATRICES)
    print_detail(out, "limit", "refuses many matrices, by where their entries are");
}

/* Prints a section for each different reason. An available backend has the reason "". */
void wr_backends_print(FILE *out) {
  wr_env cuda = {.place = WR_CUDA, .type = WR_F64};
  char reason[512] = "", texts[COUNT][512], heading[600];
  const char *reasons[COUNT];
  if (out == NULL) return;
  wr_status cuda_status = wr_env_open(&cuda);
  if (cuda_status != WR_OK) snprintf(reason, sizeof reason, "%s", wr_status_message());
  for (int b = 0; b < COUNT; b++) {
    const char *why = unavailable(table[b], &cuda, table[b]->place == WR_HOST ? WR_OK : cuda_status, reason);
    snprintf(texts[b], sizeof texts[b], "%s", why);
    reasons[b] = texts[b];
  }
  for (int first = 0; first < COUNT; first++) {
    if (!wr_text_is_first(reasons, first)) continue;
    snprintf(heading, sizeof heading, reasons[first][0] ? "Not available here: %s" : "Available here%s",
             reasons[first]);
    if (first > 0) fputc('\n', out);
    wr_text_wrap(out, heading, 0, 2);
    for (int b = first; b < COUNT; b++)
      if (strcmp(reasons[b], reasons[first]) == 0) print_backend(out, table[b]);
  }
  wr_env_close(&cuda);
}
