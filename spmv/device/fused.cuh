/* A fused operation (vec.h) as a kernel parameter: for its own kernels (fused_cuda.cu) and for resident loops
 * (loop/resident_cuda.cu). */
#ifndef WR_FUSED_CUH
#define WR_FUSED_CUH

#include "spmv/kernel/epilogue.cuh"

enum { WR_FUSED_SLOTS = WR_MAX_INPUTS + 1 }; /* vectors that an operation reads: inputs and times */

typedef struct wr_device_coefficient {
  double factor;
  const double *scalar; /* NULL: 1 */
} wr_device_coefficient;

/* in: only the vectors that are read; times, if any, is in[1]. Terms and operands of reductions have the slot of their vector:
 * k for in[k], NIN + o for out[o]. */
template <typename T>
struct wr_fused_args {
  int64_t n, groups;
  const T *in[WR_FUSED_SLOTS];
  T *out[WR_MAX_OUTPUTS];
  int has_times;
  wr_device_coefficient c[WR_MAX_OUTPUTS][WR_FUSED_SLOTS + 1]; /* of in[k]; of out[0] at WR_FUSED_SLOTS. factor 0: no term */
  wr_sums sums;
  int u[WR_MAX_REDUCTIONS], z[WR_MAX_REDUCTIONS];
  const double *when; /* NULL: always done; *when 0: only the step is run */
};

#endif
