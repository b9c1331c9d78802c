/* Which configuration of BCCOO to take for a matrix: by expected bytes, or by measured time (yaSpMV, section 4). */
#ifndef WR_YASPMV_TUNE_H
#define WR_YASPMV_TUNE_H

#include "spmv/backends/yaspmv/yaspmv_build.h"
#include "spmv/backends/yaspmv/yaspmv_kernel.h"
#include "spmv/blocks/bsr_build.h"

WR_C_BEGIN

typedef enum wr_bccoo_tune { WR_BCCOO_UNTUNED, WR_BCCOO_QUICK, WR_BCCOO_FULL } wr_bccoo_tune;

typedef struct wr_bccoo_knobs {
  int64_t width, height, tile, threads, slices; /* 0: open */
  wr_bccoo_compress columns;
  wr_bccoo_tune tune;
  int early_check;
  int sums; /* 0: open, 1: for each row that ends, 2: for each block */
} wr_bccoo_knobs;

enum { WR_BCCOO_SIZES = WR_BCCOO_MAX_R * WR_BCCOO_MAX_C };

/* A block size with what it is expected to take, and the default configuration for it. */
typedef struct wr_bccoo_size {
  wr_bccoo_options options;
  wr_bsr_choice sample;
  double bytes; /* that a multiply reads of the format */
} wr_bccoo_size;

/* sizes[*count] := the sizes that the knobs leave open, the one to take first, the others by expected bytes. The same on any
 * number of threads. WR_ENOMEM. */
wr_status wr_bccoo_choose(const wr_env *env, const wr_csr *A, const wr_bccoo_knobs *k, wr_bccoo_size *sizes,
                          int *count);

/* What tuning has done. */
typedef struct wr_bccoo_tuned {
  int tried;      /* configurations, the first included      */
  double seconds; /* of a multiply by the one chosen         */
  double spent;   /* seconds of all tries, builds included   */
} wr_bccoo_tuned;

/* *p, a plan of the first size's options, := the fastest plan of the configurations that the knobs leave open; the first one
 * unless another is faster by more than a fiftieth. quick: other lengths of tiles and the second size, for as long as all
 * takes less than 60 multiplies. full: the paper's table 1 with its pruning: the four sizes of the fewest bytes with all
 * lengths of tiles and thread blocks, then slices, kinds of columns and sums for the best of them. Waits. WR_ENOMEM,
 * WR_EDEVICE. */
wr_status wr_bccoo_tune_plan(wr_env *env, const wr_csr *A, const wr_csr_view *view, const wr_bccoo_knobs *k,
                             const wr_bccoo_size *sizes, int count, wr_bccoo_plan *p, wr_bccoo_tuned *tuned);

/* key[room] := what requests have in common that may take the same configuration: windrow's version, the knobs as text,
 * type, values or none, rows, columns, entries, the fingerprint of their places (spmv/matrix/fingerprint.h), and the name,
 * compute capability and number of multiprocessors of the device. Waits. WR_ENOMEM, WR_EDEVICE. */
wr_status wr_bccoo_key(wr_env *env, const wr_csr *A, const wr_csr_view *view, const char *knobs, char *key,
                       size_t room);

/* A plan of one configuration; the caller closes it, also after an error. */
wr_status wr_bccoo_plan_make(wr_env *env, const wr_csr *A, const wr_csr_view *view, const wr_bccoo_options *o,
                             int early_check, wr_bccoo_plan *p);

WR_C_END
#endif
