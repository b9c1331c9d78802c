/* The registry: its backends and their order, finding one by name, and the reasons of those that cannot be used. */
#define _GNU_SOURCE /* open_memstream */
#include <ctype.h>
#include <stdlib.h>

#include "config/memory.h"
#include "spmv/spmv.h"
#include "tests/check.h"

static const struct {
  const char *name;
  wr_place place;
} expected[] = {
    {"reference", WR_HOST},         {"cpu_csr", WR_HOST},         {"cpu_bsr", WR_HOST},
    {"cusparse", WR_CUDA},          {"cusparse_coo", WR_CUDA},    {"cusparse_sell", WR_CUDA},
    {"cusparse_bsr", WR_CUDA},      {"merbit", WR_CUDA},          {"merge_csr", WR_CUDA},
    {"csr_thread", WR_CUDA},        {"csr_thread_unrolled", WR_CUDA}, {"csr_warp", WR_CUDA},
    {"csr_warp_shared", WR_CUDA},   {"lane_csr", WR_CUDA},
    {"sell", WR_CUDA},              {"sell_coded", WR_CUDA},      {"sliced_dia", WR_CUDA},
    {"bsr_row_major", WR_CUDA},     {"bsr_private", WR_CUDA},
    {"bsr_team", WR_CUDA},          {"bsr_unrolled", WR_CUDA},    {"cb_spmv", WR_CUDA},
    {"yaspmv", WR_CUDA},
};
enum { EXPECTED = sizeof expected / sizeof *expected };

static void test_names(void) {
  CASE("names");
  CHECKF(wr_backend_count() == EXPECTED, "%d backends", wr_backend_count());
  for (int b = 0; b < EXPECTED && b < wr_backend_count(); b++) {
    const wr_backend *backend = wr_backend_at(b), *found = NULL;
    CASE(expected[b].name);
    CHECKF(strcmp(backend->name, expected[b].name) == 0, "number %d is %s", b, backend->name);
    CHECK(backend->place == expected[b].place);
    CHECK(backend->summary && backend->summary[0] && backend->source && backend->check);
    CHECK_OK(wr_backend_find(expected[b].name, &found));
    CHECK(found == backend);
  }
}

static void test_built(void) {
  for (int b = 0; b < wr_backend_count(); b++) {
    const wr_backend *backend = wr_backend_at(b);
    if (backend->plan == NULL) continue;
    CASE(backend->name);
    void *knobs = NULL;
    CHECK(backend->prepare && backend->apply && backend->destroy);
    CHECK(backend->caps & (WR_CAP_F32 | WR_CAP_F64));
    CHECK(backend->source[0] != '\0');
    CHECK_OK(wr_alloc_zeroed(&knobs, 1, backend->knobs_size, "knobs"));
    CHECK_OK(wr_options_default(backend->knobs, knobs));
    WR_EACH_OPTION(knob, backend->knobs) CHECKF(knob->help && knob->help[0], "knob %s has no help", knob->name);
    wr_free(knobs);
  }
  CASE("in every build");
  CHECK(wr_backend_at(0)->plan != NULL && wr_backend_at(1)->plan != NULL);
}

/* A default is a backend that this build can run; the CPU has one in every build. */
static void test_default(void) {
  CASE("default");
  const wr_backend *on_cpu = wr_backend_default(WR_HOST), *on_gpu = wr_backend_default(WR_CUDA);
  CHECK(on_cpu && on_cpu->plan && on_cpu->place == WR_HOST);
  CHECK(on_gpu == NULL || (on_gpu->plan && on_gpu->place == WR_CUDA));
  int built = 0;
  for (int b = 0; b < wr_backend_count(); b++)
    built += wr_backend_at(b)->place == WR_CUDA && wr_backend_at(b)->plan != NULL;
  CHECKF((on_gpu != NULL) == (built > 0), "%d backends for a GPU are built", built);
}

/* Only the vendor's kernels may need a finite x; windrow's own may not. */
static void test_finite_x(void) {
  enum { HOST, CUDA, VENDOR };
#define WR_BACKEND(id, state, where, what) state,
  static const int state[] = {
#include "spmv/backends.def"
  };
#undef WR_BACKEND
  CHECK(sizeof state / sizeof *state == EXPECTED);
  for (int b = 0; b < EXPECTED && b < wr_backend_count(); b++) {
    CASE(wr_backend_at(b)->name);
    CHECK(state[b] == VENDOR || !(wr_backend_at(b)->caps & (WR_CAP_FINITE_X | WR_CAP_VENDOR)));
    CHECK(state[b] != VENDOR || wr_backend_at(b)->plan == NULL || (wr_backend_at(b)->caps & WR_CAP_VENDOR));
  }
}

/* A backend that this build lacks: its check, and a plan of it, are refused with a reason of one line. */
static void test_stubs(void) {
  wr_csr *A = NULL;
  CHECK_OK(wr_csr_create(1, 1, 0, 0, &A));
  for (int b = 0; b < wr_backend_count(); b++) {
    const wr_backend *backend = wr_backend_at(b);
    wr_env env = {.place = backend->place, .type = WR_F64};
    wr_plan *plan = NULL;
    if (backend->plan) continue;
    CASE(backend->name);
    CHECK_FAILS(WR_EUNAVAILABLE, backend->check(&env, NULL, NULL));
    CHECKF(strlen(wr_status_message()) > 30 && strchr(wr_status_message(), '\n') == NULL, "'%s'", wr_status_message());
    wr_fail(WR_OK, "nothing");
    CHECK_FAILS(WR_EUNAVAILABLE, wr_plan_create(backend, NULL, A, &env, &plan));
    CHECK(plan == NULL && strlen(wr_status_message()) > 30);
  }
  wr_csr_free(A);
}

static void test_closest(void) {
  static const struct {
    const char *name, *says;
  } wrong[] = {
      {"referense", "did you mean 'reference'"},
      {"cpu-csr", "did you mean 'cpu_csr'"},
      {"cuspars", "did you mean 'cusparse'"},
      {"merbitt", "did you mean 'merbit'"},
      {"cb-spmv", "did you mean 'cb_spmv'"},
      {"csr_wrap", "did you mean 'csr_warp'"},
      {"bsr_unroled", "did you mean 'bsr_unrolled'"},
      {"yaspm", "did you mean 'yaspmv'"},
      {"ellpack", "'ellpack'; --list-backends"},
      {"", "''; --list-backends"},
      {"q", "'q'; --list-backends"},
  };
  for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
    CASE(wrong[w].name);
    const wr_backend *backend = wr_backend_at(0);
    CHECK_FAILS(WR_EUSAGE, wr_backend_find(wrong[w].name, &backend));
    CHECK(backend == NULL);
    CHECK_MESSAGE(wrong[w].says);
  }
}

/* The heading of the section where the line at `at` stands: the last line before it that begins with a capital. */
static const char *heading_of(const char *text, const char *at) {
  const char *heading = text;
  for (const char *line = text; line < at; line = strchr(line + 1, '\n'))
    if (isupper((unsigned char)line[1])) heading = line + 1;
  return heading;
}

/* The text of one backend: from its name at the beginning of a line up to the next line that is not indented. */
static void check_listed(const char *text, const wr_backend *backend) {
  char head[64];
  snprintf(head, sizeof head, "\n%s ", backend->name);
  const char *begin = strstr(text, head), *end = begin ? begin + 1 : NULL;
  CHECKF(begin != NULL, "'%s' is not listed", backend->name);
  if (begin == NULL) return;
  CHECKF(strstr(begin + 1, head) == NULL, "'%s' is listed twice", backend->name);
  while ((end = strchr(end, '\n')) != NULL && end[1] == ' ') end++;
  char part[4000], *to = part;
  for (const char *at = begin; *at && at != end; at++) /* each run of blanks becomes one */
    if (!isspace((unsigned char)*at) || to == part || to[-1] != ' ') *to++ = isspace((unsigned char)*at) ? ' ' : *at;
  *to = '\0';
  CHECK(strstr(part, backend->summary) != NULL);
  CHECK(strstr(part, backend->place == WR_HOST ? " CPU " : " GPU ") != NULL);
  CHECK(backend->source[0] == '\0' || strstr(part, backend->source) != NULL);
  WR_EACH_OPTION(knob, backend->knobs) CHECKF(strstr(part, knob->help) != NULL, "knob %s is not listed", knob->name);
  CHECK(!(backend->caps & WR_CAP_FINITE_X) == !strstr(part, "needs finite x"));
  CHECK(!(backend->caps & WR_CAP_FEW_MATRICES) == !strstr(part, "refuses many matrices"));
  const char *heading = heading_of(text, begin);
  if (backend->plan == NULL) CHECK(strncmp(heading, "Not available here: ", 20) == 0);
  if (backend->plan && backend->place == WR_HOST) CHECK(strncmp(heading, "Available here\n", 15) == 0);
}

/* A reason that several backends share is printed once, and no line is wider than 80 columns. */
static void check_headings(const char *text) {
  CASE("the list's lines");
  char seen[20][100] = {""};
  int count = 0;
  for (const char *line = text + 1; *line; line += strcspn(line, "\n") + 1) {
    int length = (int)strcspn(line, "\n");
    CHECKF(length <= 80, "%.*s", length, line);
    if (!isupper((unsigned char)*line) || count == 20) continue;
    snprintf(seen[count], sizeof seen[count], "%.*s", length, line);
    for (int k = 0; k < count; k++) CHECKF(strcmp(seen[k], seen[count]) != 0, "'%s' twice", seen[k]);
    count++;
  }
  CHECKF(count >= 1 && count < 20, "%d headings", count); /* one where all run */
}

static void test_list(void) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL) exit(wr_test_report("registry"));
  fputc('\n', out);
  wr_backends_print(out);
  fclose(out);
  for (int b = 0; b < wr_backend_count(); b++) {
    CASE(wr_backend_at(b)->name);
    check_listed(text, wr_backend_at(b));
  }
  check_headings(text);
  free(text);
}

int main(void) {
  test_names();
  test_built();
  test_default();
  test_finite_x();
  test_stubs();
  test_closest();
  test_list();
  return wr_test_report("registry");
}
