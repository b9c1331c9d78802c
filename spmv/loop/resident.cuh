/* The steps of a resident loop (loop.h), which is one kernel: each is a fused operation or a product with the matrix, in the
 * order in which they were recorded. resident_cuda.cu launches the kernel. */
#ifndef WR_RESIDENT_CUH
#define WR_RESIDENT_CUH

#include "spmv/device/fused.cuh"
#include "spmv/loop/resident.h"
#include "spmv/kernel/epilogue.cuh"

/* JOINED: a fused operation with one output, which is the x of the product in the next step. The product gathers the inputs
 * of the operation and computes the elements of x itself, which saves a grid barrier between the two. */
enum wr_resident_kind { WR_RESIDENT_VECTORS, WR_RESIDENT_ROWS, WR_RESIDENT_JOINED };

enum { WR_JOINED_INPUTS = 3 }; /* of a joined operation at most: they are gathered for each entry */

/* y = alpha*A*x + beta*y and its epilogue. */
template <typename T, class FINISH = wr_finish<T>>
struct wr_resident_rows {
  int64_t nrows;
  const T *x;
  T *y;
  double alpha, beta;
  FINISH finish;
};

/* ROOM: wr_wide while steps are recorded, and wr_narrow for the kernel if all of them fit. Output o of a fused operation has
 * the slot SLOTS + o as an operand of a reduction. */
template <typename T, class ROOM>
struct wr_resident_step {
  wr_resident_kind kind;
  int share;      /* of a fused operation: elements of one block                                                           */
  int ends_part;  /* 1: the step ends a part, so the loop may end behind it                                                */
  int form;       /* of WR_STEP_FORMS (resident_form.cuh); 0: none of them. With wr_narrow alone                            */
  /* JOINED: vectors.sums has the product's sums, then the operation's, and the product's step; ends_part is the product's. */
  union {
    wr_fused_args<T, ROOM> vectors;
    wr_resident_rows<T> rows;
  };
};

/* Adds a fused operation as the next step of the loop. WR_EUNAVAILABLE: it has a scalar in another bank, or a step that is
 * not in WR_STEP_LIST. */
template <typename T>
wr_status wr_resident_add_vectors(wr_env *env, const wr_fused_args<T, wr_wide> &args, const wr_then &then);

#endif
