/* Loops over small systems as one kernel that stays on the device (loop.h): what it does one after the other, its
 * steps, each a fused operation or a product with plain rows, as they are recorded. resident_cuda.cu runs them. */
#ifndef WR_RESIDENT_CUH
#define WR_RESIDENT_CUH

#include "spmv/matrix/csr.h"
#include "spmv/device/fused.cuh"
#include "spmv/loop/resident.h"
#include "spmv/kernel/epilogue.cuh"

/* What a step is. JOINED: a fused operation whose one output is the x of the product that is the next step. That makes it as it
 * goes, from what is gathered instead of x, so the blocks need not meet in between. */
enum wr_resident_kind { WR_RESIDENT_VECTORS, WR_RESIDENT_ROWS, WR_RESIDENT_JOINED };

enum { WR_JOINED_INPUTS = 3 }; /* at most: that many vectors are gathered for each entry */

/* y = alpha*A*x + beta*y and its epilogue. */
template <typename T>
struct wr_resident_rows {
  int64_t nrows;
  const int32_t *row_ptr; /* [nrows + 1]                                        */
  const int32_t *col;
  const T *val;        /* NULL: a pattern                                       */
  const T *x;
  T *y;
  double alpha, beta;
  wr_finish<T> finish;
};

template <typename T>
struct wr_resident_step {
  wr_resident_kind kind;
  int nin, nout;  /* of vectors: inputs, times among them, and outputs. An operand of a reduction that is output o has the */
                  /* slot WR_FUSED_SLOTS + o                                                                               */
  int share;      /* of vectors: elements of a block                                                                       */
  int ends_part;  /* behind it the loop may end                                                                            */
  /* Of JOINED: vectors.sums are the product's, then the operation's own, and the product's step; ends_part is its too. */
  union {
    wr_fused_args<T> vectors;
    wr_resident_rows<T> rows;
  };
};

/* What was recorded last becomes the next step. WR_EUNAVAILABLE: it cannot, as it has a scalar elsewhere or a step that is
 * not compiled in. */
template <typename T>
wr_status wr_resident_add_vectors(wr_env *env, const wr_fused_args<T> &args, int nin, int nout, const wr_then &then);

#endif
