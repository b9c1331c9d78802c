/* A matrix's device view made piece by piece, while its last rows are still being made (csr_feed.h). What comes of it is
 * what wr_csr_device_view would have made, bit for bit, and that finds it. */
#ifndef WR_CSR_UPLOAD_H
#define WR_CSR_UPLOAD_H

#include <stdint.h>

#include "spmv/matrix/csr.h"

#ifdef __cplusplus
extern "C" {
#endif

struct wr_csr_device;

typedef struct wr_csr_upload {
  wr_csr *A;
  struct wr_env *env;
  struct wr_csr_device *view; /* to be                       */
  int64_t pointers, entries;  /* of A that it has, from the first on */
} wr_csr_upload;

/* *upload := room on env's device for A, whose sizes are final, with values in env's type. Until it ends env must stay open and
 * nobody else use it; its arrays must stay readable while `more` runs. A has no view on that device. WR_ENOMEM, WR_EDEVICE;
 * WR_EUNAVAILABLE without CUDA. */
wr_status wr_csr_upload_begin(wr_csr *A, struct wr_env *env, wr_csr_upload **upload);

/* Takes over of the first `rows` rows, which are final, what it does not have, but at most `most` (> 0) row pointers and as
 * many entries; *left := 1 if there is more of them. WR_ENUMERIC when a value does not fit env's type, WR_EDEVICE: the upload
 * is then good for wr_csr_upload_drop alone. */
wr_status wr_csr_upload_more(wr_csr_upload *upload, int64_t rows, int64_t most, int *left);

/* The view becomes one of A's, once all rows are taken over. WR_EUSAGE if they are not, WR_EDEVICE. Frees the upload in any
 * case, and on failure what it has made. */
wr_status wr_csr_upload_end(wr_csr_upload *upload);
void wr_csr_upload_drop(wr_csr_upload *upload); /* the same without a view; A may be gone. NULL is fine. */

#ifdef __cplusplus
}
#endif
#endif
