/* Renumbering on a device, against the host's bit for bit: many shapes, both types, and failing allocations. */
#include <algorithm>
#include <cstring>
#include <vector>

#include "config/hash.h"
#include "config/memory.h"
#include "spmv/matrix/renumber.h"
#include "tests/kernels/row_shapes.h"
#ifdef WR_SIMT
#include "tests/simt/simt.h"
#endif

static bool same(const wr_csr *A, const wr_csr *B) {
  size_t nnz = (size_t)A->nnz;
  return A->nrows == B->nrows && A->ncols == B->ncols && A->nnz == B->nnz && A->symmetric == B->symmetric &&
         (A->val == nullptr) == (B->val == nullptr) &&
         memcmp(A->row_ptr, B->row_ptr, (size_t)(A->nrows + 1) * sizeof *A->row_ptr) == 0 &&
         memcmp(A->col, B->col, nnz * sizeof *A->col) == 0 &&
         (A->val == nullptr || memcmp(A->val, B->val, nnz * sizeof *A->val) == 0);
}

/* A permutation, shuffled by hashes (Fisher and Yates). */
static std::vector<int32_t> shuffled(int64_t n) {
  std::vector<int32_t> place((size_t)n);
  for (int64_t k = 0; k < n; k++) place[(size_t)k] = (int32_t)k;
  for (int64_t k = n - 1; k > 0; k--)
    std::swap(place[(size_t)k], place[(size_t)(wr_hash(7, (uint64_t)k) % (uint64_t)(k + 1))]);
  return place;
}

static void test_shapes(wr_env *env) {
  for (const row_shape &s : row_shapes)
    for (int values = 0; values < 2; values++) {
      CASE(s.name);
      int64_t n = std::min<int64_t>(std::max(s.nrows, s.ncols), 600);
      matrix m(s.next, n, n, values != 0);
      std::vector<int32_t> place = shuffled(n);
      wr_csr *expected = nullptr, *B = nullptr;
      if (m.A.val && env->type == WR_F32) {
        CHECK_FAILS(WR_EUSAGE, wr_csr_renumber_device(&m.A, env, place.data(), &B));
        continue;
      }
      CHECK_OK(wr_csr_renumber(&m.A, place.data(), &expected));
      CHECK_OK(wr_csr_renumber_device(&m.A, env, place.data(), &B));
      CHECK(B && B->row_ptr == nullptr);
      CHECK_OK(wr_csr_host(B, env));
      CHECK(B && expected && same(B, expected));
      wr_csr_free(expected), wr_csr_free(B);
      wr_csr_forget_device(&m.A);
    }
}

#ifdef WR_SIMT
/* Every allocation of device memory fails once, with all after it; nothing leaks. */
static void test_no_memory(wr_env *env) {
  CASE("failing allocations");
  matrix m(near, 300, 300, env->type == WR_F64);
  std::vector<int32_t> place = shuffled(300);
  int64_t live = wr_device_blocks();
  int failures = 0;
  for (bool refused = true; refused && failures < 100; failures += refused) {
    wr_csr impossible, *B = &impossible;
    (void)simt_memory_end(failures);
    wr_status status = wr_csr_renumber_device(&m.A, env, place.data(), &B);
    refused = simt_memory_end(-1);
    CHECKF(status == (refused ? WR_ENOMEM : WR_OK) && (B == nullptr) == refused, "block %d: %s", failures,
           wr_status_message());
    if (!refused) wr_csr_free(B);
    wr_csr_forget_device(&m.A);
    CHECKF(wr_device_blocks() == live, "block %d: %lld are left", failures, (long long)(wr_device_blocks() - live));
  }
  CHECKF(failures >= 7, "%d blocks", failures); /* of the view, of the result, of keys, places and sorting */
}
#endif

static void test_device(wr_env *env) {
  env->testing->poison = 1;
  test_shapes(env);
#ifdef WR_SIMT
  test_no_memory(env);
#endif
}

int main(void) {
  on_device(test_device);
  return wr_test_report("renumber_device");
}
