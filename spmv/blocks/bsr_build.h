/* From rows to blocks and back (bsr_format.h), and which block size to take. The builders give the same bytes on the host,
 * with any number of threads, and on a device. */
#ifndef WR_BSR_BUILD_H
#define WR_BSR_BUILD_H

#include "spmv/blocks/bsr_format.h"
#include "spmv/spmv.h"

WR_C_BEGIN

/* WR_OK when blocks of r x c can be made of such a matrix: sides in 1..WR_BSR_MAX_SIDE, else WR_EUSAGE; nrows and ncols in
 * 1..WR_MAX_INDEX, nnz >= 0, and blocks * r * c at most WR_BSR_MAX_VALUES even if every entry were a block of its own, else
 * WR_EUNAVAILABLE. */
wr_status wr_bsr_check(int64_t nrows, int64_t ncols, int64_t nnz, int r, int c);

/* *blocks := the blocks of r x c with an entry. In parallel over block rows. Errors: wr_bsr_check, WR_ENOMEM. */
wr_status wr_bsr_count(const wr_csr *A, int r, int c, int64_t *blocks);

/* *b := A in blocks, on the host, in parallel over block rows. wide 1: 64-bit row_ptr even where 32 bits would do.
 * Errors: wr_bsr_check, WR_ENOMEM, WR_ENUMERIC when a value is beyond f32; *b is then without arrays. */
wr_status wr_bsr_build(const wr_csr *A, int r, int c, wr_type type, int wide, wr_bsr *b);

/* b's values := those of a matrix of the same pattern, none of them beyond b's type; blocks stay. In parallel over block
 * rows. */
void wr_bsr_refill(const wr_csr *A, const wr_bsr *b);
void wr_bsr_free(wr_bsr *b); /* frees the arrays; zeroed ones are fine */

/* The arrays of a shape (wr_bsr_shape with blocks and wide), on the host, not filled. WR_ENOMEM; *b is then without. */
wr_status wr_bsr_alloc(wr_bsr *b);

/* *A := the rows of blocks on the host, without padding; values in f64, or a pattern if asked for (then every entry that is
 * not padding must be 1, else WR_EINTERNAL). What is stored is checked on the way: WR_EINTERNAL with the first place where
 * row_ptr, col, or padding beyond the matrix is not as bsr_format.h says. WR_ENOMEM. */
wr_status wr_bsr_decode(const wr_bsr *b, int as_pattern, wr_csr **A);

/* ---- Which size ---- */

/* A block size and its expected cost, from a sample of about 30 thousand entries, each drawn with its neighbours
 * (bsr_choose.c), or from all entries of a small matrix. */
typedef struct wr_bsr_choice {
  int r, c;
  double blocks;    /* expected                                                         */
  double fill;      /* stored values per entry of the matrix, 1 and more                */
  double bytes;     /* of the format, expected: values, columns and row pointers        */
  double csr_bytes; /* of plain rows with 32-bit columns (of a pattern: without values) */
  char line[120];   /* "blocks of 3 x 3: fill 1.02, 0.70 of the bytes of rows", for -v  */
} wr_bsr_choice;

/* The size with the least expected bytes (within a hundredth: with the least padding), among 1..6, 8 and 16 square,
 * 16x1 and 1x16; with one side given, among 1..6, 8 and 16 for the other. r or c 0 leaves that side open. The same on
 * any number of threads. WR_EUSAGE for sides beyond WR_BSR_MAX_SIDE, WR_ENOMEM. */
wr_status wr_bsr_choose(const wr_csr *A, wr_type type, int r, int c, wr_bsr_choice *choice);

/* choices[count] := what blocks of the sizes sides[count], at most 16 of them, are expected to take, from the same sample. The
 * same on any number of threads. WR_EUSAGE for other counts and for sides beyond WR_BSR_MAX_SIDE, WR_ENOMEM. */
wr_status wr_bsr_weigh(const wr_csr *A, wr_type type, int count, const int (*sides)[2], wr_bsr_choice *choices);

/* 1 if blocks take fewer bytes than rows. */
int wr_bsr_pays(const wr_bsr_choice *choice);

/* For a plan that uses blocks: if they do not pay, info->advice names the fill and `rows`, a backend that reads plain rows. */
void wr_bsr_advise_rows(const wr_bsr_choice *choice, const char *rows, wr_plan_info *info);

/* For a plan that reads plain rows: if blocks would save more than a tenth of the bytes, info->advice names `blocks`, a
 * backend that uses them. Only for matrices with at least WR_BSR_ADVISED entries, as smaller ones are multiplied in
 * microseconds in any format. Reads a sample of the entries, as wr_bsr_choose does. */
enum { WR_BSR_ADVISED = 10000 };
void wr_bsr_advise_blocks(const wr_csr *A, wr_type type, const char *blocks, wr_plan_info *info);

/* ---- In builds with CUDA, and where kernels run on the CPU ---- */

/* *b := the view's matrix in blocks on env's device, in env's type, all on env's stream; waits for the number of blocks.
 * row_ptr has 64 bits if blocks >= 2^31. Errors: wr_bsr_check, WR_EUSAGE for 2^31 entries with a narrow view, WR_ENOMEM,
 * WR_EDEVICE; *b is then without arrays. */
wr_status wr_bsr_device_build(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz, const wr_csr_view *view, int r,
                              int c, wr_bsr *b);

/* b's values := those of a view of the same pattern, in env's type, on env's stream; blocks stay. WR_EDEVICE. */
wr_status wr_bsr_device_refill(wr_env *env, const wr_csr_view *view, const wr_bsr *b);
void wr_bsr_device_free(wr_env *env, wr_bsr *b); /* frees the arrays; zeroed ones are fine */
int64_t wr_bsr_device_bytes(const wr_bsr *b);   /* bytes of the arrays on a device, padding included */

/* *to := a copy on the host; waits. WR_ENOMEM, WR_EDEVICE; *to is then without arrays. */
wr_status wr_bsr_download(wr_env *env, const wr_bsr *b, wr_bsr *to);

WR_C_END
#endif
