#include "spmv/backends/bsr/bsr_report.cuh"

constexpr int MOST_THREADS = 1024;

/* Listing 14: consecutive threads take consecutive values and add them atomically to the R sums of the thread block. */
template <typename T>
__global__ void __launch_bounds__(MOST_THREADS, 2) bsr_row_major(const wr_bsr_args<T> a, const wr_bsr_any_size size) {
  WR_SHARED(double, sums, WR_BSR_MAX_SIDE);
  auto add_up = [&](const wr_bsr_piece<T> &p) {
    wr_bsr_clear(size, sums);
    for (unsigned n = p.from + threadIdx.x; n < p.to; n += blockDim.x) {
      unsigned block = size.by_block(n), in = n - block * (unsigned)(size.r() * size.c());
      unsigned row = size.by_c(in), column = in - row * (unsigned)size.c();
      atomicAdd(&sums[row], (double)p.val[n] * wr_bsr_x(a, size, p.col[block], column));
    }
    __syncthreads();
  };
  wr_bsr_run_task(a, size, sums, add_up, [&](int64_t row, double sum) { wr_bsr_store(a, row, sum); });
}

template <typename T>
static wr_status launch(wr_env *env, const wr_bsr_plan *p, const wr_apply *request) {
  wr_status status = WR_OK;
  wr_bsr_args<T> a = wr_bsr_args_make<T>(p, request);
  if (p->tasks.count)
    TRY(WR_LAUNCH((bsr_row_major<T>), (unsigned)p->tasks.count, p->threads, 0, env->stream, a,
                  wr_bsr_any_size_make(p->format.r, p->format.c)));
  TRY(wr_bsr_launch_rest(env, p, a, wr_finish<T>{}));
done:
  return status;
}

extern "C" wr_status wr_bsr_row_major_launch(wr_env *env, const wr_bsr_plan *p, const wr_apply *request) {
  wr_status status = wr_cuda_enter(env);
  if (status != WR_OK) return status;
  return env->type == WR_F32 ? launch<float>(env, p, request) : launch<double>(env, p, request);
}

extern "C" wr_status wr_bsr_row_major_resident(const wr_env *env, const wr_bsr_plan *p, int *blocks) {
  return env->type == WR_F32 ? wr_bsr_count_resident(env, bsr_row_major<float>, p->threads, blocks)
                             : wr_bsr_count_resident(env, bsr_row_major<double>, p->threads, blocks);
}
