#include "spmv/device/left_sums.cuh"

constexpr int THREADS = 256, BLOCKS = 2; /* of a multiprocessor; few, as the last block sums over the others */

__global__ void __launch_bounds__(THREADS) left_sums(const wr_sums sums) {
  double none[WR_MAX_REDUCTIONS] = {0, 0, 0};
  wr_begin_kernel();
  wr_sums_finish(sums, none);
}

static unsigned blocks_for(const wr_env *env, int64_t parts) {
  return wr_cuda_grid(env, (parts + THREADS - 1) / THREADS, BLOCKS);
}

wr_status wr_left_sums_reserve(wr_env *env, int64_t parts) {
  wr_workspace workspace;
  return wr_workspace_reserve(env, parts + blocks_for(env, parts), &workspace);
}

wr_status wr_left_sums_launch(wr_env *env, wr_sums sums, int64_t parts) {
  if (sums.count == 0) return WR_OK;
  sums.before = parts;
  return WR_LAUNCH_EARLY(env, (left_sums), blocks_for(env, parts), THREADS, 0, sums);
}
