/* The tuner of yaspmv: what it finds is printed in a form that gives an equal plan, and kept in a cache: found again for the
 * same matrix, type and knobs alone, and left out where it is impossible. The fingerprint is the sum that its header states. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string>

#include "config/hash.h"
#include "spmv/matrix/fingerprint.h"
#include "spmv/tune_cache.h"
#include "tests/kernels/integer_applies.h"

static int scattered(int64_t i, int64_t j) { return hash_of(i, j) % 20 == 0; }
static int moved(int64_t i, int64_t j) { return scattered(i, j == 17 ? 18 : j == 18 ? 17 : j); }
static int fours(int64_t i, int64_t j) { return j >= i % 40 && j < i % 40 + 16 && (j - i % 40) % 4 == 0; }
static int full(int64_t, int64_t) { return 1; }

static const shape some = {"scattered entries", 131, 143, scattered};
static const shape other = {"two columns exchanged", 131, 143, moved};
static const shape narrow = {"three columns", 40, 3, full}, one = {"one place", 1, 1, full};
static const shape blocks = {"four blocks a row", 160, 60, fours};

static char path[] = "/tmp/wr_test_yaspmv_tune_XXXXXX";

struct tuned_plan {
  wr_plan *plan = nullptr;
  wr_plan_info info = {};
  tuned_plan(wr_env *env, wr_csr *A, const std::string &knobs) {
    const wr_backend *backend = nullptr;
    CHECK_OK(wr_backend_find("yaspmv", &backend));
    CHECK_OK(wr_plan_create(backend, knobs.c_str(), A, env, &plan));
    if (plan) CHECK_OK(wr_plan_prepare(plan));
    if (plan) info = *wr_plan_get_info(plan);
  }
  ~tuned_plan() { wr_plan_destroy(plan); }
  bool is_tuned() const { return info.tuning.tried > 0 && !info.tuning.from && info.tuning.knobs[0]; }
  bool is_found() const { return info.tuning.tried == 0 && info.tuning.from == path && info.tuning.seconds == 0; }
};

/* A x for an x by chance: bits that depend on the order of the sums. */
static std::vector<double> product(wr_env *env, const wr_csr *A, wr_plan *plan) {
  vectors v(env, A);
  wr_apply request = {};
  for (size_t j = 0; j < v.in.size(); j++) v.in[j] = (double)(hash_of((int64_t)j, 3) + 1) / 3;
  CHECK_OK(env->ops->upload(env, &v.x, v.in.data()));
  request.alpha = 1, request.x = &v.x, request.y = &v.y[0];
  if (plan) CHECK_OK(wr_plan_apply(plan, &request));
  CHECK_OK(env->ops->download(env, &v.y[0], v.got.data()));
  return v.got;
}

/* Both plans have one format, and give the same bits. */
static void check_equal(wr_env *env, const wr_csr *A, const tuned_plan &a, const tuned_plan &b) {
  CHECKF(strcmp(a.info.line, b.info.line) == 0, "'%s' and '%s'", a.info.line, b.info.line);
  CHECK(a.info.format_bytes == b.info.format_bytes && a.info.extra_bytes == b.info.extra_bytes);
  CHECK(product(env, A, a.plan) == product(env, A, b.plan));
}

/* Whichever configuration is the fastest, it can be given back, and stands in the plan's line. */
static void test_given_back(wr_env *env) {
  for (const shape *s : {&some, &narrow, &one, &blocks})
    for (bool pattern : {false, true})
      for (const char *knobs :
           {"tune=quick", "tune=full:threads=64:width=1:height=1", "tune=quick:slices=32:columns=paper",
            "tune=quick:tile=7:check=off:threads=256", "tune=full:tile=8:slices=1:threads=64"}) {
        CASE(s->name);
        wr_csr *A = make_matrix(*s, pattern);
        {
          tuned_plan tuned(env, A, knobs), given(env, A, tuned.info.tuning.knobs);
          CHECKF(tuned.is_tuned(), "%s", knobs);
          CHECKF(tuned.info.tuning.seconds > 0 && tuned.info.tuning.multiply_seconds > 0, "%s", knobs);
          CHECKF(strstr(tuned.info.line, tuned.info.tuning.knobs) != nullptr, "'%s' is not in '%s'",
                 tuned.info.tuning.knobs, tuned.info.line);
          CHECK(!strstr(knobs, "check=off") == !strstr(tuned.info.tuning.knobs, "check=off"));
          CHECK(given.info.tuning.tried == 0 && given.info.tuning.knobs[0] == '\0');
          check_equal(env, A, tuned, given);
        }
        wr_csr_free(A);
      }
}

static void test_fingerprint(wr_env *env) {
  for (const shape *s : {&some, &other, &narrow, &one}) {
    CASE(s->name);
    wr_csr *A = make_matrix(*s, true);
    wr_csr_view view;
    uint64_t expected = 0, got = 0;
    for (int64_t k = 0; k < A->nnz; k++) expected += wr_hash((uint64_t)A->col[k], (uint64_t)k);
    for (int64_t i = 0; i <= A->nrows; i++) expected += wr_hash((uint64_t)A->row_ptr[i], (uint64_t)(A->nnz + i));
    CHECK_OK(wr_csr_device_view(A, env, &view));
    CHECK_OK(wr_csr_fingerprint(env, A->nrows, A->nnz, &view, &got));
    CHECKF(got == expected, "%llx, not %llx", (unsigned long long)got, (unsigned long long)expected);
    wr_csr_free(A);
  }
}

static void test_cache(wr_env *env) {
  wr_csr *A = make_matrix(some, false), *same = make_matrix(some, false), *B = make_matrix(other, false),
         *pattern = make_matrix(some, true);
  for (int64_t k = 0; k < same->nnz; k++) same->val[k] += 1;
  env->tune_cache = path;
  unlink(path);
  {
    CASE("found again");
    tuned_plan first(env, A, "tune=quick"), second(env, A, "tune=quick"), values(env, same, "tune=quick");
    CHECK(first.is_tuned() && second.is_found() && values.is_found());
    CHECKF(first.info.tuning.warning[0] == '\0', "%s", first.info.tuning.warning);
    CHECK(strcmp(first.info.tuning.knobs, second.info.tuning.knobs) == 0);
    check_equal(env, A, first, second);
    check_choice(env, "yaspmv", "tune=quick", A, true);
  }
  CASE("another matrix, a pattern, and other knobs are other requests");
  CHECK(tuned_plan(env, B, "tune=quick").is_tuned() && tuned_plan(env, B, "tune=quick").is_found());
  CHECK(tuned_plan(env, pattern, "tune=quick").is_tuned() && tuned_plan(env, pattern, "tune=quick").is_found());
  for (const char *knobs : {"tune=full:threads=64:tile=8", "tune=quick:threads=64:tile=8", "tune=quick:width=2",
                            "tune=quick:tile=7:slices=32:check=off"})
    CHECKF(tuned_plan(env, A, knobs).is_tuned() && tuned_plan(env, A, knobs).is_found(), "%s", knobs);
  CHECK(tuned_plan(env, A, "tune=quick").is_found());
  CASE("another type is another request");
  wr_env with_type;
  CHECK_OK(wr_env_with_type(env, env->type == WR_F32 ? WR_F64 : WR_F32, &with_type));
  CHECK(tuned_plan(&with_type, A, "tune=quick").is_tuned() && tuned_plan(&with_type, A, "tune=quick").is_found());
  CASE("without tuning");
  CHECK(tuned_plan(env, A, "tune=none").info.tuning.knobs[0] == '\0');
  env->deterministic = 1;
  tuned_plan strict(env, A, "tune=quick");
  CHECK(strict.info.tuning.knobs[0] == '\0' && !strict.info.tuning.from && strict.info.tuning.tried == 0);
  env->deterministic = 0, env->tune_cache = nullptr;
  CHECK(tuned_plan(env, A, "tune=quick").is_tuned());
  for (wr_csr *each : {A, same, B, pattern}) wr_csr_free(each);
  unlink(path);
}

/* The first line of the cache behind its heading, without its knobs. */
static std::string first_key() {
  char line[1024] = "";
  FILE *in = fopen(path, "r");
  for (int k = 0; in && k < 2; k++)
    if (fgets(line, sizeof line, in) == nullptr) line[0] = '\0';
  if (in) fclose(in);
  return std::string(line, strcspn(line, "\t"));
}

/* An entry that cannot be used: the reason is said, the plan is tuned, and its configuration replaces the entry. */
static void check_left_out(wr_env *env, wr_csr *A, const char *knobs, const std::string &entry, const char *reason) {
  unlink(path);
  CHECK(tuned_plan(env, A, knobs).is_tuned());
  std::string key = first_key();
  CHECK_OK(wr_tune_cache_store(path, key.c_str(), entry.c_str()));
  tuned_plan tuned(env, A, knobs);
  const char *warning = tuned.info.tuning.warning;
  CHECKF(tuned.is_tuned() && strstr(warning, "for this matrix is left out: ") && strstr(warning, path) == warning &&
             strstr(warning, reason),
         "%s with %s: '%s'", knobs, entry.c_str(), warning);
  tuned_plan again(env, A, knobs);
  CHECKF(again.is_found() && again.info.tuning.warning[0] == '\0', "%s with %s: %s", knobs, entry.c_str(),
         again.info.tuning.warning);
}

static void test_impossible(wr_env *env) {
  static const struct {
    const char *knobs, *reason;
  } entries[] = {{"width=9:height=1:tile=8:threads=64:slices=1:sums=ends", "width: 9 is not in [0, 4]"},
                 {"width=1:height=5:tile=8:threads=64:slices=1:sums=ends", "height: 5 is not in"},
                 {"width=1:height=1:tile=129:threads=64:slices=1:sums=ends", "tile: 129 is not in"},
                 {"width=1:height=1:tile=8:threads=96:slices=1:sums=ends", "threads: '96' is not one of"},
                 {"width=1:height=1:tile=8:threads=64:slices=3:sums=ends", "slices: '3' is not one of"},
                 {"width=1:height=1:tile=8:threads=64:slices=1:sums=none", "sums: 'none' is not one of"},
                 {"width=1e30:height=1:tile=8:threads=64:slices=1:sums=ends", "width: 1e30 is not in"},
                 {"width=nan:height=1:tile=8:threads=64:slices=1:sums=ends", "not a number"},
                 {"width=1:height=1:tile=11:threads=64:slices=1:sums=ends", "is not possible"}, /* no kernel has such lanes */
                 {"width=4:height=4:tile=128:threads=512:slices=1:sums=ends", "is not possible"}, /* too much memory */
                 {"width=1:height=1:tile=0:threads=64:slices=1:sums=ends", "is no whole configuration"},
                 {"width=1:height=1:tile=8:threads=auto:slices=1:sums=ends", "is no whole configuration"},
                 {"width=1:height=1:tile=8:threads=64:slices=1", "is no whole configuration"},
                 {"width=1:height=1:tile=8:threads=64:slices=1:sums=ends:tune=full", "is no whole configuration"},
                 {"width=1:width=1:height=1:tile=8:threads=64:slices=1:sums=ends", "twice"},
                 {"sigma=3", "sigma"}, {"nonsense", "nonsense"}, {":", ""}, {"=", ""}, {"width", "width"}};
  wr_csr *A = make_matrix(some, false), *B = make_matrix(narrow, false);
  env->tune_cache = path;
  CASE("impossible configurations");
  for (const auto &e : entries) check_left_out(env, A, "tune=quick", e.knobs, e.reason);
  CASE("wider than the matrix");
  check_left_out(env, B, "tune=quick", "width=4:height=1:tile=8:threads=64:slices=1:sums=ends", "is not possible");
  CASE("other than the given knobs");
  const std::string whole = "width=1:height=1:tile=8:threads=128:slices=1:sums=ends";
  for (const char *given : {"tune=quick:width=2", "tune=quick:threads=64", "tune=quick:tile=40", "tune=quick:slices=2",
                            "tune=quick:sums=all", "tune=quick:height=3"})
    check_left_out(env, A, given, whole, "is not possible for this matrix and these knobs");
  CASE("a file that is no cache, and one that cannot be made");
  FILE *out = fopen(path, "w");
  CHECK(out && fputs("x\n", out) >= 0 && fclose(out) == 0);
  for (int k = 0; k < 2; k++) {
    tuned_plan tuned(env, A, "tune=quick");
    CHECKF(tuned.is_tuned() && strstr(tuned.info.tuning.warning, "is no tuning cache"), "%s",
           tuned.info.tuning.warning);
  }
  env->tune_cache = "/nonexistent/cache";
  tuned_plan tuned(env, A, "tune=quick");
  CHECKF(tuned.is_tuned() && strstr(tuned.info.tuning.warning, "cannot be written"), "%s", tuned.info.tuning.warning);
  env->tune_cache = nullptr;
  wr_csr_free(A), wr_csr_free(B);
  unlink(path);
}

static void test_device(wr_env *env) {
  test_given_back(env);
  test_fingerprint(env);
  test_cache(env);
  test_impossible(env);
}

int main(void) {
  int file = mkstemp(path);
  if (file < 0 || close(file) != 0) return 1;
  on_device(test_device);
  unlink(path);
  return wr_test_report("yaspmv_tune");
}
