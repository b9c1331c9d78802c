#include "spmv/backends/bsr/bsr_interleaved_kernel.cuh"

extern "C" wr_status wr_bsr_interleaved_launch_narrow(wr_env *env, const wr_bsr_interleaved *b,
                                                      const wr_apply *request) {
  return ib_launch_all<double, float>(env, b, request);
}
