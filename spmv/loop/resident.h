/* Loops that are one kernel: what loop_cuda.cu and the operations that are recorded call (resident_cuda.cu). */
#ifndef WR_RESIDENT_H
#define WR_RESIDENT_H

#include "spmv/apply.h"
#include "spmv/loop/loop.h"
#include "spmv/matrix/csr.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wr_resident wr_resident;

/* From now on operations of env are recorded. bank: of all their scalars. WR_EUNAVAILABLE with the reason. */
wr_status wr_resident_open(wr_env *env, const wr_vec *bank, wr_resident **resident);

/* A product with rows as the next step. WR_EUNAVAILABLE: it cannot be one. */
wr_status wr_resident_rows_add(wr_env *env, const wr_csr_view *A, int64_t nnz, const wr_apply *request);

wr_status wr_resident_part(wr_resident *resident);                /* what was recorded last ends a part */
wr_status wr_resident_close(wr_env *env, wr_resident *resident);  /* nothing is recorded any more       */

/* Asynchronous. stop, on the device: not 0: the host asks the loop to end. */
wr_status wr_resident_run(wr_env *env, wr_resident *resident, const unsigned *stop);
void wr_resident_free(wr_env *env, wr_resident *resident); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
