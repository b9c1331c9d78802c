/* A fused operation (vec.h) as a kernel parameter: for its own kernels (fused_cuda.cu) and for resident loops
 * (loop/resident_cuda.cu). */
#ifndef WR_FUSED_CUH
#define WR_FUSED_CUH

#include "config/hash.h"
#include "spmv/kernel/epilogue.cuh"

/* How many vectors and sums the kernel parameter of an operation has room for. Parameters and registers for more would make
 * the operations that most methods use slower. SLOTS: vectors that are read, times included. */
struct wr_narrow {
  static constexpr int SLOTS = 6, OUTPUTS = 2, SUMS = WR_MAX_REDUCTIONS, TERMS = SLOTS + OUTPUTS - 1,
                       STEPS = WR_AFTER_VECTORS;
  static constexpr bool IS_EXACT = true; /* a kernel is compiled for the very numbers of an operation's vectors */
};
struct wr_wide {
  static constexpr int SLOTS = WR_MAX_INPUTS + 1, OUTPUTS = WR_MAX_OUTPUTS, SUMS = WR_FUSED_REDUCTIONS,
                       TERMS = SLOTS + OUTPUTS - 1, STEPS = WR_AFTER_MANY;
  static constexpr bool IS_EXACT = false; /* for at most so many */
};

typedef struct wr_device_coefficient {
  double factor;
  const double *scalar; /* NULL: 1 */
} wr_device_coefficient;

/* in[nin]: only the vectors that are read; times, if any, is in[1]. Operands of reductions have the slot of their vector: k for
 * in[k], and for out[o] SLOTS + o, or NIN + o in a kernel that is compiled for NIN inputs. */
template <typename T, class ROOM>
struct wr_fused_args {
  int64_t n, groups;
  const T *in[ROOM::SLOTS];
  T *out[ROOM::OUTPUTS];
  int nin, nout, has_times;
  unsigned terms[ROOM::OUTPUTS]; /* bit k: c[o][k] is a term */
  wr_device_coefficient c[ROOM::OUTPUTS][ROOM::TERMS]; /* of in[k]; of out[q] at SLOTS + q. factor 0: no term */
  wr_sums_of<ROOM::SUMS> sums;
  int u[ROOM::SUMS], z[ROOM::SUMS]; /* z -1: the kind reads no second vector; of WR_DOT_HASH: the lane */
  int hashed;        /* sums of this kind: in wr_wide alone */
  uint64_t hash_key; /* of all hashed vectors */
  const double *when; /* NULL: always done; *when 0: only the step is run */
};

#endif
