#include "spmv/backends/bsr/bsr_report.cuh"

constexpr int MOST_THREADS = 1024;

/* Listing 17: teams of R * C threads take the blocks in turn. A thread has the same position in every block of its team,
 * hence one accumulator, which it adds to the thread block's sum at the end. Threads beyond the last complete team are idle.
 * A block in which a cut between two tasks lies is multiplied by the second task. */
template <typename T>
__global__ void __launch_bounds__(MOST_THREADS, 2) bsr_team(const wr_bsr_args<T> a, const wr_bsr_any_size size) {
  WR_SHARED(double, sums, WR_BSR_MAX_SIDE);
  unsigned side = (unsigned)(size.r() * size.c()), teams = size.by_block(blockDim.x), team = size.by_block(threadIdx.x);
  unsigned worker = threadIdx.x - team * side, row = size.by_c(worker), column = worker - row * (unsigned)size.c();
  auto add_up = [&](const wr_bsr_piece<T> &p) {
    wr_bsr_clear(size, sums);
    unsigned blocks = size.by_block(p.to);
    if (team < teams) {
      double sum = 0;
      for (unsigned block = team; block < blocks; block += teams)
        sum += (double)p.val[block * side + worker] * wr_bsr_x(a, size, p.col[block], column);
      atomicAdd(&sums[row], sum);
    }
    __syncthreads();
  };
  wr_bsr_run_task(a, size, sums, add_up, [&](int64_t i, double sum) { wr_bsr_store(a, i, sum); });
}

template <typename T>
static wr_status launch(wr_env *env, const wr_bsr_plan *p, const wr_apply *request) {
  wr_status status = WR_OK;
  wr_bsr_args<T> a = wr_bsr_args_make<T>(p, request);
  if (p->tasks.count)
    TRY(WR_LAUNCH((bsr_team<T>), (unsigned)p->tasks.count, p->threads, 0, env->stream, a,
                  wr_bsr_any_size_make(p->format.r, p->format.c)));
  TRY(wr_bsr_launch_rest(env, p, a, wr_finish<T>{}));
done:
  return status;
}

extern "C" wr_status wr_bsr_team_launch(wr_env *env, const wr_bsr_plan *p, const wr_apply *request) {
  wr_status status = wr_cuda_enter(env);
  if (status != WR_OK) return status;
  return env->type == WR_F32 ? launch<float>(env, p, request) : launch<double>(env, p, request);
}

extern "C" wr_status wr_bsr_team_resident(const wr_env *env, const wr_bsr_plan *p, int *blocks) {
  return env->type == WR_F32 ? wr_bsr_count_resident(env, bsr_team<float>, p->threads, blocks)
                             : wr_bsr_count_resident(env, bsr_team<double>, p->threads, blocks);
}
