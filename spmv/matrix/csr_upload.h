/* Makes a matrix's device view piece by piece, while its last rows are still being assembled (csr_feed.h). The result is the
 * same, bit for bit, as that of wr_csr_device_view, which then finds it. */
#ifndef WR_CSR_UPLOAD_H
#define WR_CSR_UPLOAD_H

#include <stdint.h>

#include "spmv/matrix/csr.h"

WR_C_BEGIN

struct wr_csr_device;

typedef struct wr_csr_upload {
  wr_csr *A;
  struct wr_env *env;
  struct wr_csr_device *view; /* not one of A's yet                                            */
  int64_t pointers, entries;  /* numbers of leading row pointers and entries that are uploaded */
} wr_csr_upload;

/* *upload := memory on env's device for A, with values in env's type; A's sizes are final. Until it ends env must stay open
 * and unused otherwise; A's arrays must be readable during wr_csr_upload_more. A has no view on that device. WR_ENOMEM,
 * WR_EDEVICE; WR_EUNAVAILABLE without CUDA. */
wr_status wr_csr_upload_begin(wr_csr *A, struct wr_env *env, wr_csr_upload **upload);

/* Uploads what is missing of the first `rows` rows, which are final, but at most `most` (> 0) row pointers and as many
 * entries; *left := 1 if more is missing. On WR_ENUMERIC, when a value does not fit env's type, and on WR_EDEVICE, only
 * wr_csr_upload_drop may follow. */
wr_status wr_csr_upload_more(wr_csr_upload *upload, int64_t rows, int64_t most, int *left);

/* The view becomes one of A's. WR_EUSAGE if rows are missing, WR_EDEVICE. Frees the upload in any case, and on failure the
 * view too. */
wr_status wr_csr_upload_end(wr_csr_upload *upload);
void wr_csr_upload_drop(wr_csr_upload *upload); /* frees the upload and its view; A may be freed already. NULL is allowed. */

WR_C_END
#endif
