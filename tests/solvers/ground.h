/* What the solvers' tests share: the grounds to run on (every backend that this build and machine have, in both types),
 * matrices in memory and from files. A test program includes it once, after defining _DEFAULT_SOURCE. */
#ifndef WR_TEST_GROUND_H
#define WR_TEST_GROUND_H

#include <omp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/memory.h"
#include "io/reader.h"
#include "io/vector_file.h"
#include "spmv/device/testing.h"
#include "spmv/spmv.h"
#include "tests/check.h"

/* One backend and one type. env is open, with testing as its own. */
typedef struct ground {
  const wr_backend *backend;
  wr_env env;
  wr_testing testing;
} ground;

/* Names what the following checks are about, with the ground (or NULL) in front. */
static inline void ground_case(const ground *g, const char *format, ...) WR_PRINTF(2, 3);
static inline void ground_case(const ground *g, const char *format, ...) {
  static char text[256];
  va_list arguments;
  int used = 0;
  if (g) used = snprintf(text, sizeof text, "%s %s: ", g->backend->name, g->env.type == WR_F32 ? "f32" : "f64");
  va_start(arguments, format);
  vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
  va_end(arguments);
  CASE(text);
}

/* Opens the place. Returns 0 if this machine lacks it, which is a skip, or with WR_NEED_GPU a failure. */
static inline int ground_open(ground *g, const wr_backend *backend, wr_type type) {
  static int told;
  *g = (ground){.backend = backend,
                .env = {.place = backend->place, .type = type, .threads = 2, .testing = &g->testing},
                .testing = {.poison = 1}};
  wr_status status = wr_env_open(&g->env);
  if (status == WR_OK) return 1;
  if (status == WR_EUNAVAILABLE && backend->place == WR_CUDA && getenv("WR_NEED_GPU") == NULL) {
    if (!told++) SKIP("%s", wr_status_message());
    return 0;
  }
  CHECKF(0, "%s: %s", backend->name, wr_status_message());
  return 0;
}

/* Runs the tests of `body` on the named backend in both types. */
static inline void on_backend(const wr_backend *backend, void (*body)(ground *)) {
  ground g;
  for (int type = WR_F32; type <= WR_F64; type++) {
    ground_case(NULL, "%s", backend->name);
    if (!ground_open(&g, backend, (wr_type)type)) continue;
    body(&g);
    wr_env_close(&g.env);
  }
}

/* Whether tests run on the backend: it is built and takes any matrix, and WR_PLACE=cuda leaves out the backends of the CPU. */
static inline int ground_is_wanted(const wr_backend *backend) {
  const char *place = getenv("WR_PLACE");
  if (backend->caps & WR_CAP_FEW_MATRICES) return 0;
  return backend->plan && (place == NULL || strcmp(place, "cuda") != 0 || backend->place == WR_CUDA);
}

/* Runs `body` on every backend of this build in both types. With WR_NEED_GPU, a build without CUDA fails. */
static inline void on_every_ground(void (*body)(ground *)) {
  for (int k = 0; k < wr_backend_count(); k++)
    if (ground_is_wanted(wr_backend_at(k))) on_backend(wr_backend_at(k), body);
  CHECKF(wr_backend_default(WR_CUDA) || !getenv("WR_NEED_GPU"), "WR_NEED_GPU is set, and this build has no CUDA");
}

/* Runs `body` on three backends, for tests that take long: the defaults of CPU and GPU, and one that fuses the epilogue on the
 * GPU. */
static inline void on_default_grounds(void (*body)(ground *)) {
  const wr_backend *gpu = wr_backend_default(WR_CUDA), *fused = NULL;
  CHECK_OK(wr_backend_find("csr_warp", &fused));
  const wr_backend *const few[] = {wr_backend_default(WR_HOST), gpu, fused == gpu ? NULL : fused};
  for (int k = 0; k < 3; k++)
    if (few[k] && ground_is_wanted(few[k])) on_backend(few[k], body);
  CHECKF(gpu || !getenv("WR_NEED_GPU"), "WR_NEED_GPU is set, and this build has no CUDA");
}

/* Two OpenMP threads from n = 10000 on: on a busy machine two threads wait for each other much longer than a smaller problem
 * takes. */
static inline void ground_threads(int64_t n) { omp_set_num_threads(n < 10000 ? 1 : 2); }

/* A prepared plan; NULL, with a failed check, if that fails. */
static inline wr_plan *ground_plan(ground *g, wr_csr *A) {
  wr_plan *plan = NULL;
  wr_status status = wr_plan_create(g->backend, NULL, A, &g->env, &plan);
  if (status == WR_OK) status = wr_plan_prepare(plan);
  CHECKF(status == WR_OK, "%s", wr_status_message());
  if (status == WR_OK) return plan;
  wr_plan_destroy(plan);
  return NULL;
}

/* ---- Numbers and matrices ---- */

static inline void *room_for(int64_t count, size_t size) {
  void *room = calloc(count > 0 ? (size_t)count : 1, size);
  if (room == NULL) abort(); /* out of memory */
  return room;
}

/* Uniform in [0, 1), 53 bits. */
static inline double random_in(uint64_t *state) {
  *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
  return (double)(*state >> 11) * 0x1p-53;
}

/* A copy from wr_alloc, for functions that take over a vector; NULL stays NULL. */
static inline double *given(const double *values, int64_t n) {
  double *copy = NULL;
  if (values == NULL) return NULL;
  if (wr_alloc(&copy, n, sizeof *copy, "a test") != WR_OK) abort();
  memcpy(copy, values, (size_t)n * sizeof *copy);
  return copy;
}

typedef struct entry {
  int64_t row, col;
  double value;
} entry;

static inline int compare_entries(const void *left, const void *right) {
  const entry *a = left, *b = right;
  if (a->row != b->row) return a->row < b->row ? -1 : 1;
  return a->col < b->col ? -1 : a->col > b->col;
}

/* The n x n matrix of these entries. Sorts them; of several at one place it keeps one. */
static inline wr_csr *matrix_of(int64_t n, entry *entries, int64_t count, int with_values) {
  wr_csr *A = NULL;
  if (count > 1) qsort(entries, (size_t)count, sizeof *entries, compare_entries);
  if (wr_csr_create(n, n, count, with_values, &A) != WR_OK) abort();
  A->nnz = 0;
  for (int64_t k = 0; k < count; k++) {
    if (k > 0 && compare_entries(&entries[k - 1], &entries[k]) == 0) continue;
    A->col[A->nnz] = (int32_t)entries[k].col;
    if (with_values) A->val[A->nnz] = entries[k].value;
    A->row_ptr[entries[k].row + 1] = ++A->nnz;
  }
  for (int64_t i = 0; i < n; i++)
    if (A->row_ptr[i + 1] == 0) A->row_ptr[i + 1] = A->row_ptr[i];
  CHECK_OK(wr_csr_check(A));
  return A;
}

/* Five points on a grid of side x side: diffusion, and convection by central differences, about the middle of the grid or
 * straight across it. */
static inline wr_csr *convection_on(int64_t side, double strength, int is_straight) {
  int64_t n = side * side, count = 0;
  entry *entries = room_for(5 * n, sizeof *entries);
  for (int64_t i = 0; i < n; i++) {
    int64_t x = i % side, y = i / side;
    double u = is_straight ? strength : strength * (2 * (double)y / (double)side - 1);
    double v = is_straight ? strength : strength * (1 - 2 * (double)x / (double)side);
    entries[count++] = (entry){i, i, 4};
    if (x > 0) entries[count++] = (entry){i, i - 1, -1 - u};
    if (x + 1 < side) entries[count++] = (entry){i, i + 1, -1 + u};
    if (y > 0) entries[count++] = (entry){i, i - side, -1 - v};
    if (y + 1 < side) entries[count++] = (entry){i, i + side, -1 + v};
  }
  wr_csr *A = matrix_of(n, entries, count, 1);
  free(entries);
  return A;
}

/* From its picture, row by row; zeros are left out. */
static inline wr_csr *matrix_of_picture(int64_t n, const double *picture) {
  entry *entries = room_for(n * n, sizeof *entries);
  int64_t count = 0;
  for (int64_t k = 0; k < n * n; k++)
    if (picture[k] != 0) entries[count++] = (entry){k / n, k % n, picture[k]};
  wr_csr *A = matrix_of(n, entries, count, 1);
  free(entries);
  return A;
}

/* About `degree` random entries a row, values in [-1, 1), or with_values 0: a pattern. diagonal: the value of every diagonal
 * element; 0: the diagonal is as random as the rest. */
static inline wr_csr *random_matrix(int64_t n, int64_t degree, double diagonal, int with_values, uint64_t seed) {
  entry *entries = room_for(n * (degree + 1), sizeof *entries);
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) {
    if (diagonal != 0) entries[count++] = (entry){i, i, diagonal};
    for (int64_t k = 0; k < degree; k++) {
      int64_t j = (int64_t)(random_in(&seed) * (double)n);
      double value = 2 * random_in(&seed) - 1;
      if (diagonal == 0 || j != i) entries[count++] = (entry){i, j, value};
    }
  }
  wr_csr *A = matrix_of(n, entries, count, with_values);
  free(entries);
  return A;
}

/* A, its values times 2^exponent. */
static inline wr_csr *matrix_times(wr_csr *A, int exponent) {
  for (int64_t k = 0; k < A->nnz; k++) A->val[k] = ldexp(A->val[k], exponent);
  return A;
}

/* ---- Real files ---- */

/* The path of NAME.mtx.gz in tests/data/real, or else in the folder real of the folder that WR_MATRICES names. NULL: neither
 * has it. The text is valid until the next call. */
static inline const char *real_path(const char *name) {
  static char path[1024];
  const char *more = getenv("WR_MATRICES");
  snprintf(path, sizeof path, "tests/data/real/%.100s.mtx.gz", name);
  if (access(path, R_OK) == 0) return path;
  if (more == NULL) return NULL;
  snprintf(path, sizeof path, "%.800s/real/%.100s.mtx.gz", more, name);
  return access(path, R_OK) == 0 ? path : NULL;
}

/* The matrix of that file. NULL: no folder has it (a failure if it is a small one, a skip if WR_MATRICES is set), or it cannot
 * be read, as without zlib. */
static inline wr_csr *real_matrix(const char *name, int small) {
  wr_csr *A = NULL;
  wr_triplets triplets = {0};
  const char *path = real_path(name);
  if (path == NULL) {
    CHECKF(!small, "%s is not in tests/data/real", name);
    if (getenv("WR_MATRICES")) SKIP("%s is not in the folder that WR_MATRICES names", name);
    return NULL;
  }
  wr_status status = wr_read_triplets(path, NULL, &triplets, NULL);
  if (status == WR_EINPUT && strstr(wr_status_message(), "zlib")) {
    SKIP("%s", wr_status_message());
    return NULL;
  }
  CHECKF(status == WR_OK, "%s", wr_status_message());
  if (status != WR_OK) return NULL;
  CHECK_OK(wr_csr_assemble(&triplets, WR_DUPLICATES_SUM, &A, NULL));
  wr_triplets_free(&triplets);
  return A;
}

#endif
