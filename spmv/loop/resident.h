/* Resident loops, which are one kernel: functions for loop_cuda.cu and for operations while they are recorded. */
#ifndef WR_RESIDENT_H
#define WR_RESIDENT_H

#include "spmv/device/apply.h"
#include "spmv/loop/loop.h"
#include "spmv/matrix/csr.h"

WR_C_BEGIN

typedef struct wr_resident wr_resident;

/* Begins to record operations of env; all their scalars must be in bank. WR_EUNAVAILABLE, with the reason. */
wr_status wr_resident_open(wr_env *env, const wr_vec *bank, wr_resident **resident);

/* Adds a product with the view's matrix, in blocks of side x side, as the next step; close copies the matrix. WR_EUNAVAILABLE,
 * with the reason. */
wr_status wr_resident_rows_add(wr_env *env, const wr_csr_view *A, int64_t nnz, int side, const wr_apply *request);

wr_status wr_resident_part(wr_resident *resident);                /* the last recorded step ends a part */
wr_status wr_resident_close(wr_env *env, wr_resident *resident);  /* ends recording                     */

/* Asynchronous. *stop, on the device, not 0: the next step that decides ends the loop. */
wr_status wr_resident_run(wr_env *env, wr_resident *resident, const unsigned *stop);
void wr_resident_free(wr_env *env, wr_resident *resident); /* also takes NULL */

WR_C_END
#endif
