/* lane_csr alone on a card with few multiprocessors, so that a warp has several chunks of a small matrix: rows over several
 * warps and thread blocks, with the bits of a second kernel. */
#include <stdlib.h>

#include <vector>

#include "spmv/backends/lane_csr/lane_csr_format.h"
#include "spmv/device/cuda_state.h"
#include "tests/kernels/integer_applies.h"
#include "tests/simt/simt.h"

enum { PROCESSORS = 3, WARPS = 32 * PROCESSORS };

/* Rows of given lengths; columns and values repeat in odd periods. */
static wr_csr *matrix_of(const std::vector<int64_t> &lengths, bool pattern) {
  wr_csr *A = nullptr;
  int64_t nnz = 0, ncols = 1, at = 0;
  for (int64_t length : lengths) nnz += length, ncols = length > ncols ? length : ncols;
  CHECK_OK(wr_csr_create((int64_t)lengths.size(), 3 * ncols, nnz, !pattern, &A));
  for (size_t i = 0; A && i < lengths.size(); i++) {
    for (int64_t k = 0; k < lengths[i]; k++, at++) {
      A->col[at] = (int32_t)(3 * k + (int64_t)i % 3);
      if (A->val) A->val[at] = (double)(at * 7 % 13) - 6;
    }
    A->row_ptr[i + 1] = at;
  }
  return A;
}

/* Short rows, and in between rows of `length` entries, until the matrix has so many chunks. */
static std::vector<int64_t> lengths_of(int64_t chunks, int64_t length) {
  std::vector<int64_t> lengths;
  for (int64_t places = 0, i = 0; places < chunks * WR_LANE_CHUNK; i++) {
    lengths.push_back(i % 400 == 399 ? length : i % 5);
    places += lengths.back() > 0 ? lengths.back() : 1;
  }
  return lengths;
}

static void check_alone(wr_env *env, const std::vector<int64_t> &lengths) {
  for (bool pattern : {false, true}) {
    wr_csr *A = matrix_of(lengths, pattern);
    check_choice(env, "lane_csr", "hubs=0:columns=full:order=rows", A, true);
    check_choice(env, "lane_csr", "hubs=0:columns=full:order=rows:shared_rows=after", A, true);
    wr_csr_free(A);
  }
}

static void test_shares(wr_env *env) {
  CASE("one to seven chunks a warp, and eight, with a second kernel");
  for (int64_t chunks : {WARPS / 2, WARPS - 1, WARPS + 1, 2 * WARPS, 3 * WARPS - 1, 6 * WARPS - 2, 7 * WARPS + 9})
    for (int64_t length : {3, 700, 9000}) check_alone(env, lengths_of(chunks, length));
}

/* A lane adds up what several shares have of the row, with its loads in flight together. */
static void test_long_row(wr_env *env) {
  wr_cuda_state *state = (wr_cuda_state *)env->state;
  CASE("a row over 340 shares, of one chunk and of two");
  state->processors = 12;
  for (int64_t each : {1, 2}) {
    std::vector<int64_t> lengths(4000, 1);
    lengths[100] = 340 * each * WR_LANE_CHUNK;
    check_alone(env, lengths);
  }
  state->processors = PROCESSORS;
}

int main(void) {
  setenv("WR_SIMT", "processors=3", 1);
  for (wr_type type : {WR_F32, WR_F64}) {
    wr_env env = {};
    env.place = WR_CUDA, env.type = type;
    CHECK_OK(wr_env_open(&env));
    test_shares(&env);
    test_long_row(&env);
    wr_env_close(&env);
  }
  return wr_test_report("simt_alone");
}
