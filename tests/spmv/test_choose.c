/* -k auto (spmv/choose): what it looks at in a matrix against counts of everything, what it expects against the table, and what
 * it chooses where there is no doubt. In builds that run kernels on the CPU also among the backends of a GPU. */
#define _GNU_SOURCE /* memalign, mkstemp */
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/memory.h"
#include "data/generate.h"
#include "spmv/choose/calibration.h"
#include "spmv/choose/choose.h"
#include "spmv/choose/cost_model.h"
#include "tests/check.h"

static atomic_int calls, refused = -1; /* this call of posix_memalign fails */

/* In place of the C library's; wr_alloc has no other source. */
int posix_memalign(void **block, size_t alignment, size_t bytes) {
  if (atomic_fetch_add(&calls, 1) == atomic_load(&refused)) return ENOMEM;
  *block = memalign(alignment, bytes);
  return *block != NULL ? 0 : ENOMEM;
}

static wr_csr *generated(const char *name, int as_pattern) {
  wr_csr *A = NULL;
  CASE(name);
  CHECK_OK(wr_generate(name, 0, &A));
  if (A == NULL) abort(); /* the matrix cannot be made */
  if (as_pattern) wr_free(A->val), A->val = NULL;
  return A;
}

/* ---- features ---- */

/* Different col / in_sector among `count` columns, all pairs compared. */
static int64_t count_sectors(const int32_t *col, int64_t count, int32_t in_sector) {
  int64_t different = 0;
  for (int64_t k = 0; k < count; k++) {
    int is_first = 1;
    for (int64_t before = 0; before < k; before++) is_first &= col[before] / in_sector != col[k] / in_sector;
    different += is_first;
  }
  return different;
}

/* Different col / in_sector of each `tile` consecutive entries, added up. */
static double count_tile_sectors(const wr_csr *A, int64_t tile, int32_t in_sector) {
  double different = 0;
  int64_t *last = malloc(((size_t)(A->ncols / in_sector) + 1) * sizeof *last); /* the tile that read a sector last */
  if (last == NULL) abort();
  for (int64_t s = 0; s <= A->ncols / in_sector; s++) last[s] = -1;
  for (int64_t k = 0; k < A->nnz; k++) {
    int64_t *sector = &last[A->col[k] / in_sector];
    different += *sector != k / tile;
    *sector = k / tile;
  }
  free(last);
  return different;
}

static int close_to(double a, double b) { return fabs(a - b) <= 1e-12 * fabs(b); }

/* Of a matrix so small that the sample is all of it: at most 2048 * 32 entries, 256 * 32 rows, 32 entries a row. */
static void check_whole(const wr_csr *A, wr_type type) {
  wr_matrix_features f;
  int32_t in_sector = type == WR_F32 ? 8 : 4, col[32];
  double squares = 0, steps = 0, sectors = 0, row_sectors = 0, most = 0;
  CHECK_OK(wr_matrix_features_get(A, type, &f));
  for (int64_t i = 0; i < A->nrows; i += 32) {
    int64_t longest = 0;
    for (int64_t r = i; r < i + 32 && r < A->nrows; r++) {
      int64_t length = A->row_ptr[r + 1] - A->row_ptr[r];
      if (length > longest) longest = length;
      squares += (double)(length * length);
    }
    most = fmax(most, (double)longest), steps += (double)longest;
    for (int64_t k = 0; k < longest; k++) {
      int64_t here = 0;
      for (int64_t r = i; r < i + 32 && r < A->nrows; r++)
        if (A->row_ptr[r] + k < A->row_ptr[r + 1]) col[here++] = A->col[A->row_ptr[r] + k];
      row_sectors += (double)count_sectors(col, here, in_sector);
    }
  }
  for (int64_t k = 0; k < A->nnz; k += 32)
    sectors += (double)count_sectors(A->col + k, k + 32 < A->nnz ? 32 : A->nnz - k, in_sector);
  double rows = (double)A->nrows, entries = (double)A->nnz, mean = entries / rows;
  CHECK(f.nrows == A->nrows && f.ncols == A->ncols && f.nnz == A->nnz && f.valued == (A->val != NULL));
  CHECK((double)f.most == most && close_to(f.mean, mean));
  CHECKF(fabs(f.spread - sqrt(squares / rows - mean * mean)) <= 1e-6 * mean, "spread %g", f.spread);
  CHECKF(close_to(f.lockstep, steps * 32 / entries), "lockstep %g, not %g", f.lockstep, steps * 32 / entries);
  CHECKF(close_to(f.gather, sectors / entries), "gather %g, not %g", f.gather, sectors / entries);
  CHECKF(close_to(f.row_gather, row_sectors / entries), "row_gather %g, not %g", f.row_gather, row_sectors / entries);
  double tiled = count_tile_sectors(A, 4096, in_sector);
  CHECKF(close_to(f.tile_gather, tiled / entries), "tile_gather %g, not %g", f.tile_gather, tiled / entries);
  CHECK(f.narrow == 1); /* no column is beyond the first window ... */
  CHECK(f.hubs == 1);   /* ... and x is smaller than what hubs may take */
}

static void test_whole(void) {
  static const char *const names[] = {"gen:stencil:n=9", "gen:fem:n=3", "gen:road:side=60",
                                      "gen:uniform:n=700,degree=9", "gen:chain:scale=9"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    wr_csr *A = generated(names[k], k % 2 == 1);
    int64_t longest = 0;
    for (int64_t i = 0; i < A->nrows; i++)
      if (A->row_ptr[i + 1] - A->row_ptr[i] > longest) longest = A->row_ptr[i + 1] - A->row_ptr[i];
    CHECK(A->nnz <= 2048 * 32 && A->nrows <= 256 * 32);
    if (longest <= 32) check_whole(A, WR_F32), check_whole(A, WR_F64);
    wr_csr_free(A);
  }
}

/* An entry a row: of four chunks of 256 entries, the first and the third lie in two windows of 32 768 columns, of which the
 * last column of the second is left out. */
static void test_narrow(void) {
  wr_csr *A = NULL;
  wr_matrix_features f;
  CASE("two windows");
  CHECK_OK(wr_csr_create(1024, 100000, 1024, 0, &A));
  if (A == NULL) abort();
  for (int32_t i = 0; i < 1024; i++) {
    const int32_t ends[4] = {50000 + 32766, 50000 + 32767, 32767, 99999}, k = i % 256;
    A->row_ptr[i + 1] = i + 1;
    A->col[i] = k == 0 ? 0 : k == 1 ? 32767 : k == 255 ? ends[i / 256] : i / 256 == 2 ? 100 : 50000;
  }
  CHECK_OK(wr_matrix_features_get(A, WR_F64, &f));
  CHECKF(f.narrow == 0.5, "narrow %g", f.narrow);
  wr_csr_free(A);
}

/* Each row has an entry in each of the first `hubs` columns, and so many others, which go round the other columns. */
static wr_csr *with_hubs(int64_t nrows, int64_t ncols, int64_t hubs, int64_t others) {
  wr_csr *A = NULL;
  CHECK_OK(wr_csr_create(nrows, ncols, nrows * (hubs + others), 0, &A));
  if (A == NULL) abort();
  for (int64_t i = 0, at = 0; i < nrows; i++) {
    for (int64_t k = 0; k < hubs; k++) A->col[at++] = (int32_t)k;
    for (int64_t k = 0; k < others; k++) A->col[at++] = (int32_t)(hubs + (i * others + k) % (ncols - hubs));
    int64_t begin = at - others; /* ascending again where the columns have wrapped around */
    for (int64_t a = begin + 1; a < at; a++)
      for (int64_t b = a; b > begin && A->col[b - 1] > A->col[b]; b--) {
        int32_t other = A->col[b - 1];
        A->col[b - 1] = A->col[b], A->col[b] = other;
      }
    A->row_ptr[i + 1] = at;
  }
  return A;
}

/* Of a row's entries 3 of 4 are in 3 columns; the others are spread evenly over 400 000. The sample's share is within four
 * standard deviations of 8192 draws, and of what 24 576 or 49 152 hubs have in the mean. */
static void test_hubs(void) {
  wr_matrix_features f;
  CASE("hubs");
  wr_csr *A = with_hubs(400000, 400000, 3, 1);
  for (int type = WR_F32; type <= WR_F64; type++) {
    double hubs = type == WR_F32 ? 49152 : 24576, deviation = sqrt(0.75 * 0.25 / 8192);
    CHECK_OK(wr_matrix_features_get(A, (wr_type)type, &f));
    CHECKF(f.hubs >= 0.75 - 4 * deviation && f.hubs <= 0.75 + 0.25 * hubs / 4e5 + 4 * deviation, "hubs %g", f.hubs);
  }
  wr_csr_free(A);
  CASE("no hubs");
  A = with_hubs(400000, 400000, 0, 4);
  CHECK_OK(wr_matrix_features_get(A, WR_F64, &f));
  CHECKF(f.hubs <= 24576 / 4e5 + 4 * sqrt(0.0625 / 8192), "hubs %g", f.hubs);
  CHECK(f.lockstep == 1 && f.spread == 0 && f.most == 4);
  wr_csr_free(A);
}

/* Rows of 0 to 3 entries in turn, and one of `longest` at `at`; columns ascend from 0. */
static wr_csr *with_long_row(int64_t nrows, int64_t at, int64_t longest) {
  wr_csr *A = NULL;
  CHECK_OK(wr_csr_create(nrows, longest, nrows / 4 * 6 + longest, 0, &A));
  if (A == NULL) abort();
  for (int64_t i = 0; i < nrows; i++) {
    int64_t length = i == at ? longest : i % 4;
    for (int64_t k = 0; k < length; k++) A->col[A->row_ptr[i] + k] = (int32_t)k;
    A->row_ptr[i + 1] = A->row_ptr[i] + length;
  }
  A->nnz = A->row_ptr[nrows];
  return A;
}

/* Far more rows than are looked at: of 3 M rows the blocks have 384. A long row is found wherever it is, as its block is the
 * heaviest of its zone, and counts once: the sample of the other rows is exact, since these repeat every 4 rows. */
static void test_long_row(void) {
  const int64_t n = 3 << 20, longest = 5000;
  static const int64_t places[] = {0, 31, 32, 383, 384, 1234567, (3 << 20) - 1};
  CASE("a long row");
  for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
    wr_matrix_features f;
    wr_csr *A = with_long_row(n, places[k], longest);
    CHECK_OK(wr_matrix_features_get(A, WR_F64, &f));
    double rows = (double)n, squares = rows / 4 * 14 + (double)(longest * longest), mean = (double)A->nnz / rows;
    squares -= (double)(places[k] % 4 * (places[k] % 4)); /* the long row stands for one of them */
    CHECKF(f.most == longest, "row %lld: %lld", (long long)places[k], (long long)f.most);
    CHECKF(fabs(f.spread / sqrt(squares / rows - mean * mean) - 1) < 1e-6, "row %lld: spread %g", (long long)places[k],
           f.spread);
    double steps = (rows / 32 - 1) * 3 + (double)longest;
    CHECKF(fabs(f.lockstep / (steps * 32 / (double)A->nnz) - 1) < 1e-6, "row %lld: lockstep %g", (long long)places[k],
           f.lockstep);
    wr_csr_free(A);
  }
}

static void test_nothing(void) {
  wr_csr *A = NULL;
  wr_matrix_features f;
  CASE("no entries");
  CHECK_OK(wr_csr_create(5, 70000, 0, 1, &A));
  CHECK_OK(wr_matrix_features_get(A, WR_F64, &f));
  CHECK(f.most == 0 && f.mean == 0 && f.spread == 0 && f.lockstep == 1 && f.gather == 0);
  CHECK(f.row_gather == 0 && f.hubs == 1);
  wr_csr_free(A);
}

/* ---- the cost model ---- */

static void test_table(void) {
  static const char *const names[] = {"csr_thread_unrolled", "csr_warp", "merge_csr", "merbit", "bsr_unrolled",
                                      "lane_csr", "sell", "sell_coded", "sliced_dia"};
  int is_known;
  CASE("classes of devices");
  CHECK(strcmp(wr_cost_device("NVIDIA H200", &is_known), "H200") == 0 && is_known);
  CHECK(wr_cost_device("another card", &is_known) != NULL && !is_known);
  CASE("what is expected");
  wr_matrix_features f = {.nrows = 1000, .ncols = 1000, .nnz = 5000, .most = 9, .mean = 5, .spread = 1, .lockstep = 1.5,
                          .gather = 0.3, .row_gather = 0.4, .hubs = 1};
  const wr_plan_info info = {.apply_bytes = 80000, .format_bytes = 60000, .chosen = {1, 1}};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    for (int type = WR_F32; type <= WR_F64; type++)
      for (f.valued = 0; f.valued <= 1; f.valued++) {
        const wr_backend *backend;
        wr_cost cost = {0}, larger = {0}, least;
        wr_matrix_features more = f;
        wr_plan_info more_info = info;
        CHECK_OK(wr_backend_find(names[k], &backend));
        CHECKF(wr_cost_expect("H200", backend, &info, &f, (wr_type)type, &cost), "no row of %s", names[k]);
        least = wr_cost_least("H200", backend, &f, (wr_type)type);
        CHECKF(cost.multiply >= least.multiply && least.multiply > 1e-7, "%s: %g", names[k], least.multiply);
        CHECK(cost.prepare >= least.prepare && least.prepare >= 0);
        CHECK(cost.epilogue == least.epilogue && cost.epilogue > 1e-6 && cost.epilogue < 1e-4);
        CHECK(cost.multiply < 1e-4 && cost.prepare < 1e-2); /* so small a matrix */
        more.nrows *= 1000, more.ncols *= 1000, more.nnz *= 1000;
        more_info.apply_bytes *= 1000, more_info.format_bytes *= 1000;
        CHECK(wr_cost_expect("H200", backend, &more_info, &more, (wr_type)type, &larger));
        CHECKF(larger.multiply > cost.multiply && larger.prepare >= cost.prepare, "%s", names[k]);
        CHECKF(larger.epilogue > cost.epilogue, "%s", names[k]);
      }
  const wr_backend *unknown;
  wr_cost cost;
  CHECK_OK(wr_backend_find("reference", &unknown));
  CHECK(wr_cost_expect("H200", unknown, &info, &f, WR_F64, &cost) == 0);
}

/* ---- choices ---- */

/* Multiplies with ones, and compares with row sums. */
static void check_product(const wr_csr *A, wr_env *env, wr_plan *plan) {
  wr_vec x = {0}, y = {0};
  double *ones = NULL, *sums = NULL;
  CHECK_OK(wr_alloc(&ones, A->ncols, sizeof *ones, "ones"));
  CHECK_OK(wr_alloc(&sums, A->nrows, sizeof *sums, "sums"));
  for (int64_t j = 0; j < A->ncols; j++) ones[j] = 1;
  CHECK_OK(env->ops->alloc(env, A->ncols, env->type, "x", &x));
  CHECK_OK(env->ops->alloc(env, A->nrows, env->type, "y", &y));
  CHECK_OK(env->ops->upload(env, &x, ones));
  CHECK_OK(wr_plan_apply(plan, &(wr_apply){.alpha = 1, .x = &x, .y = &y}));
  CHECK_OK(env->ops->download(env, &y, sums));
  int64_t wrong = 0;
  for (int64_t i = 0; i < A->nrows; i++) {
    double sum = 0, size = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      sum += A->val ? A->val[k] : 1, size += fabs(A->val ? A->val[k] : 1);
    /* A value, its product and the result are rounded in the type; the sums on both sides in f64, once an entry. */
    double length = (double)(A->row_ptr[i + 1] - A->row_ptr[i]);
    wrong += !(fabs(sums[i] - sum) <= (3.1 * wr_type_unit(env->type) + 2 * length * wr_type_unit(WR_F64)) * size);
  }
  CHECKF(wrong == 0, "%lld rows", (long long)wrong);
  env->ops->release(env, &x);
  env->ops->release(env, &y);
  wr_free(ones);
  wr_free(sums);
}

/* Frees A. *chosen of a device's string is valid for good: names are constants. */
static const char *choice_of(wr_csr *A, wr_env *env, wr_plan_use use) {
  wr_plan *plan = NULL;
  wr_chosen chosen;
  CHECK_OK(wr_plan_choose(A, env, &use, &plan, &chosen));
  if (plan == NULL) return "none";
  CHECK(chosen.backend == wr_plan_backend(plan) && chosen.multiplies == use.multiplies);
  CHECK(strstr(chosen.line, chosen.backend->name) == chosen.line);
  CHECK(chosen.second == NULL || (chosen.second != chosen.backend && strstr(chosen.line, chosen.second->name)));
  if (use.measure == 0)
    CHECKF(chosen.second == NULL || chosen.second_total >= chosen.prepare + use.multiplies * chosen.multiply, "%s",
           chosen.line);
  CHECKF((chosen.timed > 0) == (use.measure && chosen.second && strstr(chosen.line, "not timed") == NULL), "%s",
         chosen.line);
  CHECKF(chosen.timed <= chosen.second_timed, "%s", chosen.line); /* both are 0 where nothing was timed */
  check_product(A, env, plan);
  wr_plan_destroy(plan);
  wr_csr_free(A);
  return chosen.backend->name;
}

#define CHOSEN(text, A, use)                                                    \
  do {                                                                          \
    const char *name = choice_of(A, env, use);                                  \
    CHECKF(strstr(text, name) != NULL, "%s in place of %s", name, text);        \
  } while (0)

static void test_host(wr_env *env) {
  const wr_plan_use one = {.multiplies = 1}, many = {.multiplies = 1e4};
  CHOSEN("cpu_bsr", generated("gen:fem:n=8", 0), many);
  CHOSEN("cpu_csr", generated("gen:fem:n=8", 0), one);
  CHOSEN("cpu_csr", generated("gen:web:n=2000", 0), many);
  CHOSEN("cpu_csr", generated("gen:stencil:n=12", 0), many);
}

/* The sizes of a GPU's clear cases are small, as kernels may run on the CPU; the multiplies make up for that. */
static void test_device(wr_env *env) {
  const wr_plan_use one = {.multiplies = 1}, many = {.multiplies = 1e6}, small = {.multiplies = 1e6, .resident = 1};
  CHOSEN("sliced_dia sell_coded", generated("gen:stencil:n=24,points=27", 0), many);
  CHOSEN("bsr_unrolled", generated("gen:fem:n=20", 0), many);
  CHOSEN("lane_csr merbit merge_csr", generated("gen:rmat:scale=14,degree=32", 1), many);
  CHOSEN("csr_thread_unrolled csr_warp merge_csr", generated("gen:stencil:n=10", 0), one);
  CHOSEN("csr_thread_unrolled csr_warp merge_csr merbit", generated("gen:fem:n=8", 0), small); /* with plain rows */
}

/* Two backends are timed, and the one with the shorter time stays, whichever that is. */
static void test_measured(wr_env *env) {
  const wr_plan_use use = {.multiplies = 200, .measure = 1},
                    resident = {.multiplies = 200, .measure = 1, .resident = 1};
  wr_csr *A = generated("gen:fem:n=8", 0);
  wr_plan *plan = NULL;
  wr_chosen chosen;
  CHECK_OK(wr_plan_choose(A, env, &use, &plan, &chosen));
  CHECKF(chosen.timed > 0 && chosen.second && strstr(chosen.line, "timed, a multiply took"), "%s", chosen.line);
  wr_plan_destroy(plan);
  if (env->place == WR_CUDA) {
    CHECK_OK(wr_plan_choose(A, env, &resident, &plan, &chosen));
    CHECKF(chosen.timed == 0 && strstr(chosen.line, "not timed: the solver may do all"), "%s", chosen.line);
    wr_plan_destroy(plan);
  }
  wr_csr_free(A);
  (void)choice_of(generated("gen:fem:n=8", 0), env, use);
  (void)choice_of(generated("gen:stencil:n=9", 0), env, use);
}

/* The first backend's memory is there and the second's is not: the first one is taken without being timed. */
static void test_unmeasured(wr_env *env) {
  const wr_plan_use use = {.multiplies = 1e4, .measure = 1};
  int untimed = 0, done = 0;
  wr_csr *A = generated("gen:fem:n=5", 0);
  CASE("allocations that fail before a measurement");
  for (int failing = 0; !done && failing < 1000; failing++) {
    wr_plan *plan = NULL;
    wr_chosen chosen;
    atomic_store(&calls, 0), atomic_store(&refused, failing);
    wr_status status = wr_plan_choose(A, env, &use, &plan, &chosen);
    done = atomic_load(&calls) <= failing;
    atomic_store(&refused, -1);
    CHECKF(status == WR_OK || status == WR_ENOMEM, "allocation %d: %s", failing, wr_status_message());
    CHECK((plan != NULL) == (status == WR_OK));
    if (plan && chosen.timed == 0) untimed += strstr(chosen.line, "not timed: no memory") != NULL;
    if (plan && !done) check_product(A, env, plan);
    wr_plan_destroy(plan);
  }
  CHECKF(done && untimed > 0, "%d times", untimed);
  wr_csr_free(A);
}

/* ---- calibration ---- */

static char calibration[] = "/tmp/wr_test_choose_XXXXXX";

static void save(const char *text) {
  FILE *out = fopen(calibration, "w");
  CHECK(out != NULL);
  if (out == NULL) return;
  CHECK(fputs(text, out) >= 0);
  CHECK(fclose(out) == 0);
}

/* The choice for `many` multiplies with the file, and whether there is a warning that says so; "": there is none. */
static const char *calibrated_choice(wr_csr *A, wr_env *env, const char *warning) {
  /* On a GPU too few for measuring to pay, on the CPU so many that blocks may. */
  const wr_plan_use use = {.multiplies = env->place == WR_CUDA ? 1000 : 1e6, .calibration = calibration};
  wr_plan *plan = NULL;
  wr_chosen chosen;
  CHECK_OK(wr_plan_choose(A, env, &use, &plan, &chosen));
  CHECKF(warning[0] ? strstr(chosen.warning.text, warning) != NULL : chosen.warning.status == WR_OK, "'%s', not '%s'",
         chosen.warning.text, warning);
  CHECKF(chosen.warning.status == (warning[0] ? WR_EINPUT : WR_OK), "%d", (int)chosen.warning.status);
  int is_used = strstr(chosen.line, "calibrated on this device") != NULL;
  wr_plan_destroy(plan);
  return is_used ? chosen.backend->name : "";
}

/* Under the name of a device that the table does not know. */
/* On a device of which nothing is known the two best are timed once, and what was found is kept. */
static void test_learning(wr_env *env) {
  wr_csr *A = generated("gen:fem:n=6", 0);
  wr_plan_use use = {.multiplies = 1e6, .calibration = calibration};
  char before[sizeof env->device_name];
  snprintf(before, sizeof before, "%s", env->device_name);
  snprintf(env->device_name, sizeof env->device_name, "another card");
  CASE("a device that nothing is known of");
  for (int time = 0; time < 5; time++) { /* with --deterministic, for a short solve, once, again, and without a folder */
    wr_plan *plan = NULL;
    wr_chosen chosen;
    wr_calibration got = {1, 1};
    if (time == 4) {
      CHECK(unlink(calibration) == 0);
      use.calibration = "/dev/null/windrow/calibration";
    }
    env->deterministic = time == 0, use.multiplies = time == 1 ? 100 : 1e6;
    CHECK_OK(wr_plan_choose(A, env, &use, &plan, &chosen));
    wr_plan_destroy(plan);
    int measured = time == 2;
    CHECKF((chosen.timed > 0) == measured && (chosen.warning.status != WR_OK) == (time == 4), "%d: %s %s", time,
           chosen.line, chosen.warning.text);
    CHECKF((strstr(chosen.line, "measured on this device for the first time") != NULL) == measured, "%s", chosen.line);
    CHECKF((strstr(chosen.line, "; calibrated on this device") != NULL) == (time == 3), "%s", chosen.line);
    if (chosen.backend && time < 4) CHECK_OK(wr_calibration_find(calibration, env, chosen.backend, 1, &got));
    CHECK(time == 3 || (got.multiply != 1) == (time == 2)); /* later another one may be expected to be faster */
    CHECK((access(calibration, F_OK) == 0) == (time == 2 || time == 3));
  }
  env->deterministic = 0;
  snprintf(env->device_name, sizeof env->device_name, "%s", before);
  wr_csr_free(A);
}

static void test_calibrated(wr_env *env) {
  wr_csr *A = generated("gen:fem:n=6", 0);
  const wr_backend *slow, *fast;
  const char *names[2][2] = {[WR_HOST] = {"cpu_bsr", "cpu_csr"}, [WR_CUDA] = {"bsr_unrolled", "merbit"}};
  char before[sizeof env->device_name];
  wr_calibration got;
  snprintf(before, sizeof before, "%s", env->device_name);
  if (env->place == WR_CUDA) snprintf(env->device_name, sizeof env->device_name, "another card");
  CHECK_OK(wr_backend_find(names[env->place][0], &slow));
  CHECK_OK(wr_backend_find(names[env->place][1], &fast));
  CASE("a calibration");
  int file = mkstemp(calibration);
  CHECK(file >= 0 && close(file) == 0);
  CHECKF(strcmp(calibrated_choice(A, env, ""), "") == 0, "an empty file");
  CHECK_OK(wr_calibration_store(calibration, env, slow, 1, &(wr_calibration){1000, 1}));
  CHECK_OK(wr_calibration_store(calibration, env, fast, 1, &(wr_calibration){0.002, 0.5}));
  CHECK_OK(wr_calibration_find(calibration, env, fast, 1, &got));
  CHECK(got.multiply == 0.002 && got.prepare == 0.5);
  CHECK_OK(wr_calibration_find(calibration, env, fast, 0, &got)); /* a pattern has its own */
  CHECK(got.multiply == 1 && got.prepare == 1);
  CHECKF(strcmp(calibrated_choice(A, env, ""), fast->name) == 0, "%s", calibrated_choice(A, env, ""));
  env->deterministic = 1;
  CHECKF(strcmp(calibrated_choice(A, env, ""), "") == 0, "deterministic");
  env->deterministic = 0;
  snprintf(env->device_name, sizeof env->device_name, "%s", env->place == WR_CUDA ? "NVIDIA H200" : "CPU, 77 threads");
  CHECKF(strcmp(calibrated_choice(A, env, ""), "") == 0, "another device");
  snprintf(env->device_name, sizeof env->device_name, "%s", env->place == WR_CUDA ? "another card" : before);

  CASE("files that are no calibration");
  CHECK_OK(wr_calibration_store(calibration, env, slow, 1, &(wr_calibration){1000, 1}));
  char text[4096] = "", line[1024];
  size_t used = 0;
  FILE *in = fopen(calibration, "r");
  CHECK(in != NULL);
  while (in && fgets(line, sizeof line, in))
    if (strstr(line, slow->name) || strstr(line, "windrow"))
      used += (size_t)snprintf(text + used, sizeof text - used, "%s", line);
  if (in) fclose(in);
  char *number = strstr(text, "multiply=1000");
  CHECK(number != NULL);
  static const char *const wrong[] = {"multiply=9999", "multiply=-100", "multiply= nan",
                                      "multiply=1e-9", "multiplx=1000", "multiply=1000:multiply=1000:prepare=1"};
  for (size_t k = 0; number && k < sizeof wrong / sizeof *wrong; k++) {
    char damaged[8192];
    snprintf(damaged, sizeof damaged, "%.*s%s%s", (int)(number - text), text, wrong[k],
             number + strlen("multiply=1000"));
    save(damaged);
    CHECKF(strcmp(calibrated_choice(A, env, "is damaged; spmv --calibrate makes it anew"), "") == 0, "%s", wrong[k]);
  }
  save("windrow tuning cache 1\nno entry at all\n");
  CHECKF(strcmp(calibrated_choice(A, env, "has 1 damaged line, left out"), "") == 0, "a damaged line");
  save("a letter\n");
  CHECKF(strcmp(calibrated_choice(A, env, "is no tuning cache"), "") == 0, "a foreign file");
  save("windrow tuning cache 2\n");
  CHECKF(strcmp(calibrated_choice(A, env, "of another version of windrow"), "") == 0, "another version");
  CHECK(unlink(calibration) == 0 && mkdir(calibration, 0700) == 0);
  CHECKF(strcmp(calibrated_choice(A, env, "no regular file"), "") == 0, "a folder");
  CHECK(rmdir(calibration) == 0);
  CHECKF(strcmp(calibrated_choice(A, env, ""), "") == 0, "no file");
  if (env->place == WR_CUDA) test_learning(env);
  CHECK_FAILS(WR_EUSAGE, wr_calibration_store(calibration, env, slow, 1, &(wr_calibration){0, 1}));
  CHECK_FAILS(WR_EUSAGE, wr_calibration_store(calibration, env, slow, 1, &(wr_calibration){1, (double)NAN}));
  snprintf(calibration, sizeof calibration, "/tmp/wr_test_choose_XXXXXX");
  snprintf(env->device_name, sizeof env->device_name, "%s", before);
  wr_csr_free(A);
}

/* What is expected of all candidates: the least of them is what is chosen. */
static void test_expected(wr_env *env) {
  const wr_plan_use use = {.multiplies = 1000};
  wr_csr *A = generated("gen:fem:n=8", 0);
  wr_expected expected[WR_MOST_CANDIDATES];
  wr_chosen chosen;
  wr_error warning;
  wr_plan *plan = NULL;
  double least = INFINITY;
  int count, known = 0;
  CHECK_OK(wr_plans_expect(A, env, NULL, expected, &count, &warning));
  CHECK_OK(wr_plan_choose(A, env, &use, &plan, &chosen));
  CHECK(count > 1 && count <= WR_MOST_CANDIDATES && expected[0].backend == wr_backend_default(env->place));
  for (int k = 0; k < count; k++) {
    const wr_expected *e = &expected[k];
    if (e->refusal.status != WR_OK) continue;
    known++;
    least = fmin(least, wr_expected_total(e, use.multiplies));
    if (e->backend == chosen.backend)
      CHECK(e->prepare + e->first == chosen.prepare && e->multiply + e->epilogue == chosen.multiply);
  }
  CHECKF(known > 1 && least == chosen.prepare + use.multiplies * chosen.multiply, "%d candidates, %g", known, least);
  wr_plan_destroy(plan);
  wr_csr_free(A);
  CHECK_FAILS(WR_EUSAGE, wr_plans_expect(NULL, env, NULL, expected, &count, &warning));
  CHECK_MESSAGE("A is NULL");
  CHECK(count == 0);
}

static void test_any(wr_env *env) {
  const wr_plan_use use = {.multiplies = 200};
  wr_csr *A = NULL;
  CASE("1 x 1");
  CHECK_OK(wr_csr_create(1, 1, 1, 1, &A));
  A->row_ptr[1] = 1, A->col[0] = 0, A->val[0] = 3;
  (void)choice_of(A, env, use);
  CASE("no entries");
  CHECK_OK(wr_csr_create(40, 7, 0, 0, &A));
  (void)choice_of(A, env, use);
}

/* Each allocation fails once. Where it is one of the first backend's own, the second takes its place. */
static void test_refused(wr_env *env) {
  const wr_plan_use use = {.multiplies = 1e4};
  int others = 0, done = 0;
  wr_csr *A = generated("gen:fem:n=5", 0);
  wr_chosen first;
  wr_plan *plan = NULL;
  CHECK_OK(wr_plan_choose(A, env, &use, &plan, &first));
  wr_plan_destroy(plan);
  CASE("allocations that fail");
  for (int failing = 0; !done && failing < 1000; failing++) {
    wr_chosen chosen;
    atomic_store(&calls, 0), atomic_store(&refused, failing);
    wr_status status = wr_plan_choose(A, env, &use, &plan, &chosen);
    done = atomic_load(&calls) <= failing;
    atomic_store(&refused, -1);
    CHECKF(status == WR_OK || status == WR_ENOMEM, "allocation %d: %s", failing, wr_status_message());
    CHECK((plan != NULL) == (status == WR_OK));
    CHECK(!done || chosen.backend == first.backend);
    if (plan && chosen.backend != first.backend) {
      others++;
      check_product(A, env, plan);
    }
    wr_plan_destroy(plan);
  }
  CHECKF(done && others > 0, "%d times the second", others);
  wr_csr_free(A);
}

static void test_arguments(wr_env *env) {
  wr_plan *plan = (wr_plan *)env; /* to be overwritten */
  wr_chosen chosen;
  CASE("arguments");
  CHECK_FAILS(WR_EUSAGE, wr_plan_choose(NULL, env, &(wr_plan_use){.multiplies = 1}, &plan, &chosen));
  CHECK_MESSAGE("A is NULL");
  CHECK(plan == NULL);
}

int main(void) {
  test_whole();
  test_narrow();
  test_hubs();
  test_long_row();
  test_nothing();
  test_table();
  for (int type = WR_F32; type <= WR_F64; type++) {
    wr_env host = {.place = WR_HOST, .type = (wr_type)type, .threads = 2};
    wr_env cuda = {.place = WR_CUDA, .type = (wr_type)type};
    CHECK_OK(wr_env_open(&host));
    test_host(&host);
    test_any(&host);
    test_refused(&host);
    test_measured(&host);
    test_unmeasured(&host);
    test_expected(&host);
    test_calibrated(&host);
    test_arguments(&host);
    wr_env_close(&host);
    wr_status status = wr_env_open(&cuda);
    if (status != WR_OK && getenv("WR_NEED_GPU") == NULL) {
      SKIP("%s", wr_status_message());
      continue;
    }
    CHECK_OK(status);
    test_device(&cuda);
    test_measured(&cuda);
    test_expected(&cuda);
    test_calibrated(&cuda);
    test_any(&cuda);
    wr_env_close(&cuda);
  }
  return wr_test_report("choose");
}
