/* Equilibration on a device, against the host's bit for bit: many shapes, both widths of row pointers, both types, patterns;
 * values that rounding to f32 brings to a power of two, and values that leave a type's normal range; systems that are begun on
 * the host and finished on the device; and failing allocations. */
#include <cuda_runtime.h>

#include <cfloat>
#include <cmath>
#include <cstring>

#include "config/memory.h"
#include "solvers/scaling/equilibrate.h"
#include "solvers/system.h"
#include "spmv/matrix/csr_device.h"
#include "spmv/matrix/scale.h"
#include "tests/kernels/row_shapes.h"
#ifdef WR_SIMT
#include "tests/simt/simt.h"
#endif

/* What values of a matrix look like. */
enum kind { NEAR_ONE, WIDE, BELOW_POWERS, WITH_ZEROS, KINDS };

static const char *const kind_names[KINDS] = {"near 1", "over the type's range", "just below powers of two", "zeros"};

/* Exponents go up to +-650 in f64, which is 1e+-195, and to +-125 in f32. */
static double value_of(kind what, wr_type type, int64_t i, int64_t j) {
  uint64_t h = hash(i * 7 + 1, j);
  int range = what == NEAR_ONE ? 3 : type == WR_F64 ? 1300 : 250;
  double value = 1 + (double)(h % 4096) / 4096;
  if (what == BELOW_POWERS)
    value = 1 - 0x1p-24 / (double)(1 << h % 6); /* 1 - 2^-24 stays in f32, the others become 1 */
  if (what == WITH_ZEROS && (h >> 13) % 3 == 0) return (h >> 16) % 2 ? 0.0 : -0.0;
  return ldexp((h >> 20) % 2 ? value : -value, (int)((h >> 24) % (uint64_t)range) - range / 2);
}

static void fill(matrix *m, kind what, wr_type type) {
  for (int64_t i = 0; i < m->A.nrows; i++)
    for (int64_t k = m->row_ptr[(size_t)i]; k < m->row_ptr[(size_t)i + 1]; k++)
      m->val[(size_t)k] = value_of(what, type, i, m->col[(size_t)k]);
}

/* The host's exponents of a matrix. */
struct exponents {
  std::vector<int> row, column;
  int sweeps = 0;
  explicit exponents(const wr_csr *A) : row((size_t)A->nrows, 77), column((size_t)A->ncols, 77) {}
};

static bool same(const exponents &a, const exponents &b) {
  return a.row == b.row && a.column == b.column && a.sweeps == b.sweeps;
}

/* A with values times powers of two, for wr_csr_free. */
static wr_csr *scaled_copy(const wr_csr *A, const exponents &e) {
  wr_csr *to = nullptr;
  CHECK_OK(wr_csr_create(A->nrows, A->ncols, A->nnz, 1, &to));
  memcpy(to->row_ptr, A->row_ptr, (size_t)(A->nrows + 1) * sizeof *A->row_ptr);
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      to->col[k] = A->col[k];
      to->val[k] = ldexp(A->val ? A->val[k] : 1, e.row[(size_t)i] + e.column[(size_t)A->col[k]]);
    }
  return to;
}

/* Values on the device are those on the host, rounded to env's type. */
static void check_values(wr_env *env, wr_csr *A) {
  wr_csr_view view;
  std::vector<double> val((size_t)A->nnz);
  int64_t wrong = 0;
  CHECK_OK(wr_csr_device_view(A, env, &view));
  CHECK_OK(wr_device_download(env, val.data(), view.val, A->nnz, env->type == WR_F64 ? WR_AS_8_BYTES : WR_F64_AS_F32));
  for (int64_t k = 0; k < A->nnz; k++) {
    double expected = env->type == WR_F64 ? A->val[k] : (double)(float)A->val[k];
    wrong += memcmp(&val[(size_t)k], &expected, sizeof expected) != 0;
  }
  CHECKF(wrong == 0, "%lld of %lld values", (long long)wrong, (long long)A->nnz);
}

/* A view with 64-bit row pointers. wr_csr_forget_device frees it. */
static void make_wide(wr_env *env, wr_csr *A) {
  struct wr_csr_device *view = nullptr;
  bool f64 = env->type == WR_F64;
  CHECK_OK(wr_alloc_zeroed(&view, 1, sizeof *view, "a view"));
  view->device = env->device, view->wide = 1;
  CHECK_OK(wr_device_alloc_shared(env, &view->row_ptr, A->nrows + 1, 8, "row pointers"));
  CHECK_OK(wr_device_alloc_shared(env, &view->col, A->nnz, 4, "columns"));
  CHECK_OK(wr_device_upload(env, view->row_ptr, A->row_ptr, A->nrows + 1, WR_AS_8_BYTES));
  CHECK_OK(wr_device_upload(env, view->col, A->col, A->nnz, WR_AS_4_BYTES));
  if (A->val) {
    CHECK_OK(wr_device_alloc_shared(env, &view->val[env->type], A->nnz, f64 ? 8 : 4, "values"));
    CHECK_OK(wr_device_upload(env, view->val[env->type], A->val, A->nnz, f64 ? WR_AS_8_BYTES : WR_F64_AS_F32));
  }
  A->device = view;
}

/* 1 if every value of `to`, but for those that were 0 before, is a normal number of this type. */
static bool is_normal(const wr_csr *A, const wr_csr *to, wr_type type) {
  double least = type == WR_F32 ? (double)FLT_MIN : DBL_MIN, most = type == WR_F32 ? (double)FLT_MAX : DBL_MAX;
  for (int64_t k = 0; k < to->nnz; k++)
    if ((!A->val || A->val[k] != 0) && !(fabs(to->val[k]) >= least && fabs(to->val[k]) <= most)) return false;
  return true;
}

static int kept, dropped; /* matrices whose scaled values are those of the device, or have left the normal range */

static void check_matrix(wr_env *env, wr_csr *A, int wide) {
  exponents here(A), there(A);
  if (wide) make_wide(env, A);
  CHECK_OK(wr_equilibrate(A, here.row.data(), here.column.data(), &here.sweeps));
  CHECK_OK(wr_csr_equilibrate_device(A, env, there.row.data(), there.column.data(), &there.sweeps));
  CHECKF(same(here, there), "%d sweeps, not %d", there.sweeps, here.sweeps);
  wr_csr *to = scaled_copy(A, here);
  bool normal = is_normal(A, to, env->type);
  void *val = A->device->val[env->type];
  CHECK_OK(wr_csr_scale_device(A, env, here.row.data(), here.column.data(), to));
  CHECK(to->device != nullptr && to->device->col == A->device->col && to->device->wide == wide);
  CHECK(A->device->val[env->type] == nullptr);
  if (to->device == nullptr) return wr_csr_free(to);
  CHECKF((to->device->val[env->type] != nullptr) == normal, "the values were %s", normal ? "dropped" : "kept");
  if (A->val && normal) CHECK(to->device->val[env->type] == val);
  kept += normal, dropped += !normal;
  check_values(env, to);
  CHECK_FAILS(WR_EUSAGE, wr_csr_scale_device(A, env, here.row.data(), here.column.data(), to)); /* it has a view */
  if (A->val) check_values(env, A);                                                             /* uploaded anew */
  wr_csr_forget_device(A);
  check_values(env, to); /* which outlive A's view */
  wr_csr_free(to);
}

static void test_shapes(wr_env *env) {
  char name[160];
  kept = dropped = 0;
  for (const row_shape &s : row_shapes)
    for (int what = 0; what <= KINDS; what++) {
      snprintf(name, sizeof name, "%s, %s", s.name, what < KINDS ? kind_names[what] : "a pattern");
      CASE(name);
      matrix m(s.next, s.nrows, s.ncols, what < KINDS);
      if (what < KINDS) fill(&m, (kind)what, env->type);
      check_matrix(env, &m.A, what % 2);
    }
  CHECKF(kept > 50 && dropped > 5, "%d kept, %d dropped", kept, dropped);
}

/* A scaled value beyond the normal range is rounded by the host. */
static void test_range(wr_env *env) {
  static const struct {
    double value;
    int f32, f64; /* exponents */
  } cases[] = {
      {1.5, -127, -1023}, {1 + 0x1p-23, -128, -1024}, {1.5, 128, 1024}, {1.5, -200, -1080}, {-1.25, 999, 2000}};
  for (const auto &c : cases)
    for (int other = 0; other < 2; other++) {
      int exponent = env->type == WR_F64 ? c.f64 : c.f32;
      int64_t row_ptr[] = {0, 1, 2, 2};
      int32_t col[] = {1, 0};
      double val[] = {1, c.value};
      wr_csr A = {};
      CASE("beyond the normal range");
      A.nrows = 3, A.ncols = 2, A.nnz = 2, A.row_ptr = row_ptr, A.col = col, A.val = val;
      exponents e(&A);
      e.row = {0, other ? 0 : exponent, 0}, e.column = {other ? exponent : 0, 0};
      wr_csr *to = scaled_copy(&A, e);
      CHECK_OK(wr_csr_scale_device(&A, env, e.row.data(), e.column.data(), to));
      CHECK(to->device != nullptr && to->device->val[env->type] == nullptr);
      if (exponent < 0 || env->type == WR_F64) check_values(env, to);
      CHECK(A.device->val[env->type] == nullptr);
      wr_csr_forget_device(&A);
      wr_csr_free(to);
    }
}

static void test_refused(wr_env *env) {
  CASE("matrices that are refused");
  matrix m(near, 20, 30, true), smaller(near, 20, 29, true);
  exponents e(&m.A);
  fill(&m, NEAR_ONE, env->type);
  fill(&smaller, NEAR_ONE, env->type);
  e.row.assign(20, 0), e.column.assign(30, 0);
  CHECK_FAILS(WR_EUSAGE, wr_csr_scale_device(&m.A, env, e.row.data(), e.column.data(), &smaller.A));
  wr_csr pattern = m.A;
  pattern.val = nullptr, pattern.device = nullptr;
  CHECK_FAILS(WR_EUSAGE, wr_csr_scale_device(&m.A, env, e.row.data(), e.column.data(), &pattern));
  CHECK(m.A.device->val[env->type] != nullptr && pattern.device == nullptr);
  if (env->type == WR_F32) {
    wr_csr_forget_device(&m.A);
    m.val[3] = 1e39;
    CHECK_FAILS(WR_ENUMERIC, wr_csr_equilibrate_device(&m.A, env, e.row.data(), e.column.data(), nullptr));
  }
  wr_csr_forget_device(&m.A);
}

/* ---- Systems ---- */

/* A system in two ways. */
struct pair {
  wr_system host, device;
};

static double *right_side(int64_t n) {
  double *b = nullptr;
  CHECK_OK(wr_alloc(&b, n, sizeof *b, "b"));
  for (int64_t i = 0; i < n; i++) b[i] = value_of(NEAR_ONE, WR_F64, i, 3);
  return b;
}

template <typename T>
static bool equal(const T *a, const T *b, int64_t n) {
  return (a == nullptr) == (b == nullptr) && (a == nullptr || memcmp(a, b, (size_t)n * sizeof(T)) == 0);
}

static void check_same(const wr_system *a, const wr_system *b) {
  int64_t n = a->n, nnz = a->matrix->nnz;
  CHECK(a->scaling.done == b->scaling.done && strcmp(a->scaling.sentence, b->scaling.sentence) == 0);
  CHECK(equal(a->scaling.row_exponent, b->scaling.row_exponent, n));
  CHECK(equal(a->scaling.column_exponent, b->scaling.column_exponent, n));
  CHECK(equal(a->matrix->row_ptr, b->matrix->row_ptr, n + 1) && equal(a->matrix->col, b->matrix->col, nnz));
  CHECK(equal(a->matrix->val, b->matrix->val, nnz) && equal(a->rhs, b->rhs, n) && equal(a->guess, b->guess, n));
  CHECK(equal(a->row_weight, b->row_weight, n) && a->row_norm == b->row_norm && a->weight_norm == b->weight_norm);
  CHECK(a->largest == b->largest && a->smallest == b->smallest && a->longest_row == b->longest_row);
}

/* there: the device equilibrates, and keeps its indices; uploaded: A is there before. */
static void check_system(wr_env *env, wr_csr *A, wr_scale scale, const wr_preconditioner *precond, bool uploaded,
                         bool there) {
  pair s;
  wr_csr_view view;
  const int32_t *col = nullptr;
  int64_t n = A->nrows;
  CHECK_OK(wr_system_build(A, right_side(n), right_side(n), 0, 0, scale, precond, 0, &s.host));
  CHECK_OK(wr_system_begin(A, right_side(n), right_side(n), 0, 0, scale, precond, 0, nullptr, &s.device));
  if (uploaded && wr_csr_device_view(A, env, &view) == WR_OK) col = view.col;
  if (!uploaded) CHECK_OK(wr_system_upload(&s.device, env));
  CHECK((A->device != nullptr) == (there || uploaded));
  CHECK_OK(wr_system_finish(&s.device, env));
  check_same(&s.host, &s.device);
  wr_csr *matrix = s.device.matrix;
  if (matrix != A) CHECKF(A->device == nullptr, "A still has a view");
  CHECKF((matrix->device != nullptr) == (there || (matrix == A && uploaded)), "the matrix has %s view",
         matrix->device ? "a" : "no");
  if (there && uploaded && matrix->device) CHECK(matrix->device->col == col);
  CHECK_OK(wr_system_finish(&s.device, env)); /* again: nothing is left to be done */
  CHECK((matrix->device != nullptr) == (there || (matrix == A && uploaded)));
  check_values(env, matrix);
  wr_system_free(&s.host);
  wr_system_free(&s.device);
  wr_csr_forget_device(A);
}

static void test_systems(wr_env *env) {
  matrix m(near, 300, 300, true);
  fill(&m, WIDE, env->type);
  for (int64_t i = 0; i < 300; i++) /* a diagonal that needs no matching */
    for (int64_t k = m.row_ptr[(size_t)i]; k < m.row_ptr[(size_t)i + 1]; k++)
      if (m.val[(size_t)k] == 0) m.val[(size_t)k] = 1;
  for (int uploaded = 0; uploaded < 2; uploaded++) {
    CASE("a system that is equilibrated");
    check_system(env, &m.A, WR_SCALE_EQUILIBRATE, nullptr, uploaded, true);
    CASE("a system that is not scaled");
    fill(&m, NEAR_ONE, env->type);
    check_system(env, &m.A, WR_SCALE_NONE, nullptr, uploaded, false);
    CASE("a system that is matched");
    check_system(env, &m.A, WR_SCALE_MATCH, nullptr, uploaded, false);
    fill(&m, WIDE, env->type);
  }
  CASE("a pattern");
  matrix pattern(all, 40, 40, false);
  check_system(env, &pattern.A, WR_SCALE_EQUILIBRATE, nullptr, true, true);
  CASE("columns divided by the diagonal");
  matrix dense(all, 40, 40, true);
  fill(&dense, NEAR_ONE, env->type);
  check_system(env, &dense.A, WR_SCALE_EQUILIBRATE, &wr_precond_jacobi, true, false);
  CASE("a diagonal in two units");
  matrix d(diagonal, 40, 40, true);
  for (int64_t i = 0; i < 40; i++) d.val[(size_t)i] = i % 2 ? 1e-9 : 3;
  check_system(env, &d.A, WR_SCALE_AUTO, nullptr, true, true);
  if (env->type == WR_F64) return;
  CASE("a value that f32 holds with few digits");
  d.val[7] = 1e-40;
  check_system(env, &d.A, WR_SCALE_EQUILIBRATE, nullptr, true, false);
  check_system(env, &d.A, WR_SCALE_EQUILIBRATE, nullptr, false, false);
}

#ifdef WR_SIMT
/* Every allocation of device memory fails once, with all after it: the system is finished on the host, nothing leaks, and the
 * matrix is uploaded later. */
static void test_no_memory(wr_env *env) {
  CASE("failing allocations");
  matrix m(near, 200, 200, true);
  fill(&m, WIDE, env->type);
  int64_t live = wr_device_blocks();
  int failures = 0;
  for (bool refused = true; refused && failures < 100; failures += refused) {
    pair s;
    CHECK_OK(wr_system_build(&m.A, right_side(200), nullptr, 0, 0, WR_SCALE_EQUILIBRATE, nullptr, 0, &s.host));
    CHECK_OK(
        wr_system_begin(&m.A, right_side(200), nullptr, 0, 0, WR_SCALE_EQUILIBRATE, nullptr, 0, nullptr, &s.device));
    (void)simt_memory_end(failures);
    CHECK_OK(wr_system_upload(&s.device, env));
    CHECK_OK(wr_system_finish(&s.device, env));
    refused = simt_memory_end(-1);
    check_same(&s.host, &s.device);
    check_values(env, s.device.matrix);
    wr_system_free(&s.host);
    wr_system_free(&s.device);
    CHECKF(wr_device_blocks() == live, "block %d: %lld are left", failures, (long long)(wr_device_blocks() - live));
  }
  CHECKF(failures >= 4, "%d blocks", failures); /* three of the view, and those that env has not kept from before */
}
#endif

static void test_device(wr_env *env) {
  test_shapes(env);
  test_range(env);
  test_refused(env);
  test_systems(env);
#ifdef WR_SIMT
  test_no_memory(env);
#endif
}

int main() {
  on_device(test_device);
  return wr_test_report("scale_device");
}
