/* From rows to interleaved rows (lane_csr_format.h) on a device, and back. */
#ifndef WR_LANE_CSR_BUILD_H
#define WR_LANE_CSR_BUILD_H

#include "spmv/backends/lane_csr/lane_csr_format.h"
#include "spmv/device/env.h"
#include "spmv/matrix/csr.h"

WR_C_BEGIN

enum { WR_LANE_TILE = 16384 }; /* chunks that are near each other by default (lane_csr_stage.cu) */

/* How values of f64 are to be stored. */
typedef enum wr_lane_values {
  WR_LANE_FULL,
  WR_LANE_NARROW, /* as f32 if that is exact              */
  WR_LANE_CODED,  /* as a byte if at most 255 are different */
  WR_LANE_COMPACT /* where the entries are so many that it pays: coded if up to 16 are different, else narrow, else   */
                  /* coded; not coded with hubs, as the look-ups of values would add to those of elements of x        */
} wr_lane_values;

/* How columns and values are to be stored. */
typedef struct wr_lane_choice {
  int64_t most_hubs;  /* the most columns that may be hubs                                                           */
  int64_t cached;     /* so many of them a first-level cache keeps by itself                                         */
  double least_share; /* of all entries that the other hubs must have at least, else there are none; by a sample     */
  int windows;        /* 1: windows, and no hubs; 0: none; -1: where there are no hubs, the entries are so many that it  */
                      /* pays, and most chunks have all their columns in two windows, by a sample                    */
  int by_columns;     /* 1: chunks have an order (wr_lane_csr.order); 0: none; -1: where 3 of 10 or more lie within a row, x  */
                      /* is large, there are no hubs and the multiply is not alone (wr_lane_is_alone)                  */
  int staged;         /* 1: far entries are staged, if any; 0: none; -1: where that pays (lane_csr_stage.cu). There are no  */
                      /* hubs and windows besides: with 1 both must be 0                                               */
  int64_t tile;       /* chunks that are near each other; 0: WR_LANE_TILE                                              */
  wr_lane_values values; /* with another type than f64: WR_LANE_FULL                                                  */
  int any_size;       /* 1: windows and compact values are taken as if the entries were many                          */
} wr_lane_choice;

/* *c := the view's matrix on env's device, in env's type, on env's stream; waits. Of columns with equally many entries all are
 * hubs or none. WR_ENOMEM, WR_EDEVICE; *c is then without arrays. */
wr_status wr_lane_csr_device_build(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz, const wr_csr_view *view,
                                   const wr_lane_choice *choice, wr_lane_csr *c);
/* For wr_lane_csr_device_build: stages far entries of a format with full columns, or leaves it as it is. WR_ENOMEM,
 * WR_EDEVICE. */
wr_status wr_lane_csr_stage(wr_env *env, const wr_lane_choice *choice, wr_lane_csr *c);

void wr_lane_csr_device_free(wr_env *env, wr_lane_csr *c); /* also of a zeroed one */
int64_t wr_lane_csr_device_bytes(const wr_lane_csr *c);    /* bytes of the arrays, padding included */

/* *to := a copy on the host; waits. WR_ENOMEM, WR_EDEVICE; *to is then without arrays. */
wr_status wr_lane_csr_download(wr_env *env, const wr_lane_csr *c, wr_lane_csr *to);
void wr_lane_csr_free(wr_lane_csr *c); /* of arrays on the host; zeroed ones are fine */

/* *A := the rows of a format on the host. WR_EINTERNAL where rows, columns or what is derived from them do not fit together.
 * WR_ENOMEM. */
wr_status wr_lane_csr_decode(const wr_lane_csr *c, wr_csr **A);

WR_C_END
#endif
