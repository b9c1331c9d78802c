/* From rows to BCCOO (yaspmv_format.h) on a device, and back. */
#ifndef WR_YASPMV_BUILD_H
#define WR_YASPMV_BUILD_H

#include "spmv/backends/yaspmv/yaspmv_format.h"
#include "spmv/device/env.h"
#include "spmv/matrix/csr.h"

WR_C_BEGIN

typedef enum wr_bccoo_compress {
  WR_BCCOO_AUTO, /* 16-bit columns where they suffice, else differences unless 32-bit columns take fewer bytes */
  WR_BCCOO_NEVER,
  WR_BCCOO_ALWAYS, /* differences in any case               */
  WR_BCCOO_AS_PAPER /* the paper's differences, in any case */
} wr_bccoo_compress;

typedef struct wr_bccoo_options {
  int r, c;    /* of a block, 1..4 */
  int tile;    /* blocks of a lane, 1..WR_BCCOO_MAX_TILE                     */
  int threads; /* of a thread block: 64, 128, 256 or 512                      */
  int slices;  /* 1..WR_BCCOO_MAX_SLICES; no more are made than there are block columns */
  wr_bccoo_compress compress;
  int all_sums; /* for the multiply: wr_bccoo_plan.all_sums */
} wr_bccoo_options;

/* WR_OK if such a format is possible, else WR_EUSAGE for options out of range or c > ncols, and WR_EUNAVAILABLE for too many
 * entries. */
wr_status wr_bccoo_check(int64_t nrows, int64_t ncols, int64_t nnz, const wr_bccoo_options *options);

/* The least difference of the window with the most samples, which contains the difference 0. histogram: [buckets] of 2^shift
 * differences each, the first from -limit on. */
int32_t wr_bccoo_window(const uint32_t *histogram, int64_t buckets, int shift, int64_t limit);

/* Differences are sampled by lanes, about this many of them; bits of a bucket's number. */
enum { WR_BCCOO_SAMPLED_LANES = 4096, WR_BCCOO_BUCKET_BITS = 16 };

/* *b := the view's matrix on env's device, in env's type, all on env's stream; waits. Errors: wr_bccoo_check, WR_EUSAGE for
 * 2^31 entries with a narrow view, WR_ENOMEM, WR_EDEVICE; *b is then without arrays. */
wr_status wr_bccoo_device_build(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz, const wr_csr_view *view,
                                const wr_bccoo_options *options, wr_bccoo *b);

/* b's values := those of a view of the same pattern, on env's stream. WR_EDEVICE. */
wr_status wr_bccoo_device_refill(wr_env *env, const wr_csr_view *view, const wr_bccoo *b);
void wr_bccoo_device_free(wr_env *env, wr_bccoo *b); /* also of a zeroed one */
int64_t wr_bccoo_device_bytes(const wr_bccoo *b);   /* bytes of the arrays on a device, padding included */

/* *to := a copy on the host; waits. WR_ENOMEM, WR_EDEVICE; *to is then without arrays. */
wr_status wr_bccoo_download(wr_env *env, const wr_bccoo *b, wr_bccoo *to);
void wr_bccoo_free(wr_bccoo *b); /* of arrays on the host; zeroed ones are fine */

/* *A := the rows of a format on the host, without padding; values in f64, or a pattern. What is stored is checked on the way:
 * WR_EINTERNAL where flags, counts and escapes disagree. WR_ENOMEM. */
wr_status wr_bccoo_decode(const wr_bccoo *b, int as_pattern, wr_csr **A);

WR_C_END
#endif
