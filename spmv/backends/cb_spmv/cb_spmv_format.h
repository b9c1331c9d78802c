/* The matrix in blocks of 16 x 16, each stored in the type that suits its number of entries (CB-SpMV, section 3). The upper
 * level is a list of the blocks in COO; the lower level is the data of all blocks in one array of bytes, each at its offset
 * (the paper's virtual pointer).
 *
 *   The 6x6 example of csr.h with blocks of 3 x 3, as 16 would not fit here, coordinates only below 5 entries:
 *
 *     a . b | . . .     block    (row, column, entries, type)   data: coordinates, padding, values
 *     . c . | . d .     0        (0, 0, 3, COO)                 (0,0) (0,2) (1,1) ..   a b c
 *     . . . | . . .     1        (0, 1, 1, COO)                 (1,1) ..               d
 *     ------+------     2        (1, 0, 2, COO)                 (0,0) (0,2) ..         e f
 *     e . f | g . h     3        (1, 1, 4, COO)                 (0,0) (0,2) (1,1) (2,2) ..   g h i j
 *     . . . | . i .
 *     . . . | . . j     In a block of type CSR:    where each row begins, columns, padding, values
 *                       In a block of type dense:  all values, column by column; a place without an entry is padding
 *
 *   Columns aggregated (section 3.3.1): empty columns of a block row are left out, so its blocks are fewer and fuller.
 *
 *     a . b | . .       0  (0, 0, 3, COO)   restore_cols [0 1 2]      the k-th group of restore_cols tells which columns
 *     . c . | d .       1  (0, 1, 1, COO)                [4 0 0]      block k has. The last of a block row may have fewer
 *     . . . | . .       2  (1, 0, 3, COO)                [0 2 3]      than a block's: 0 stands for those that it lacks.
 *     ------+----
 *     e f g | . h       3  (1, 1, 3, COO)                [4 5 0]      The paper has an array cols_offset for a block row's
 *     . . . | i .                                                     columns; here those of block k begin at 16 * k, so
 *     . . . | . j                                                     no such array has to be read.
 *
 * Bytes of a block, V those of a value, n its entries; padded with zeros to a multiple of V before the values, and to
 * WR_CB_UNIT at its end:
 *
 *     COO    n coordinates, row | column << 4, in the order of rows          padding   n values
 *     CSR    16 bytes: entries before each row; n columns of 4 bits, two     padding   n values
 *            to a byte, the lower half first
 *     dense                                                                            256 values, [column][row]
 *
 * COO and CSR take about the same bytes at 32 entries, and CSR fewer beyond that. Dense blocks are stored by columns: lanes,
 * one for each row, read consecutive values, and no sum crosses lanes until a block row ends.
 *
 * Values are f32 or f64. Padding of dense blocks is the negative zero, and a zero of the matrix is stored there as the
 * positive one. A kernel multiplies padding like any value; only if a row's sum is NaN does it sum again without padding,
 * because padding times an infinity or NaN in x must not reach rows that do not use that element of x.
 *
 * Balance (section 3.4). The paper deals blocks, the largest first, to thread blocks of 8 warps; blocks of a block row then
 * lie anywhere, and each is added to y separately. Here blocks stay in order, by block row and block column, and the sequence
 *
 *     blocks of block row 0, its end, blocks of block row 1, its end, ...
 *
 * is cut into lists, one for each warp and 8 for each thread block, that move the same number of bytes. Lists differ by at
 * most a block, which is as even as the paper's, and each list has one sum for each of its block rows. Without balance, the
 * lists have the same number of steps. The cuts depend only on the blocks and the number of lists.
 *
 * What a kernel reads: the warp of list w has blocks list_block[w]..list_block[w + 1] - 1, which are consecutive in block,
 * offset, restore_cols and data, so that a bulk copy can fetch them; and it completes block rows list_row[w]..list_row[w + 1]
 * - 1, empty ones too. A block row with blocks in several lists is completed by the last of them; the others hold parts of
 * it, as block[list_block[w]] and list_row[w + 1] tell. */
#ifndef WR_CB_SPMV_FORMAT_H
#define WR_CB_SPMV_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "spmv/blocks/block_rows.h"
#include "spmv/device/vec.h"

#ifdef __CUDACC__
#define WR_CB_INLINE static __host__ __device__ __forceinline__
#else
#define WR_CB_INLINE static inline
#endif

enum {
  WR_CB_SIDE = 16,
  WR_CB_PLACES = WR_CB_SIDE * WR_CB_SIDE,
  WR_CB_UNIT = 16,         /* bytes: the unit of offsets, and the alignment of bulk copies */
  WR_CB_TEAM = 8,          /* lists, and warps, of a thread block                          */
  WR_CB_SUPER_SPARSE = 32, /* a block with fewer entries is super-sparse (section 3.3.1)   */
  WR_CB_ALIGNMENT = 128            /* of each array in the one allocation                           */
};
#define WR_CB_MAX_NNZ ((int64_t)1 << 52)  /* even with a block for each entry, all bytes fit 60 bits    */
#define WR_CB_MAX_LISTS ((int64_t)1 << 30)

typedef enum wr_cb_kind { WR_CB_COO, WR_CB_CSR, WR_CB_DENSE } wr_cb_kind;

typedef enum wr_cb_choice { WR_CB_BY_SHARE = -1, WR_CB_NEVER, WR_CB_ALWAYS } wr_cb_choice;

typedef struct wr_cb_options {
  wr_cb_choice aggregate; /* by share: if more than th0 percent of the blocks are super-sparse */
  int formats;            /* 0: all blocks are COO                                             */
  int balance;            /* 0: lists have equal numbers of steps                              */
  int th0;                /* percent                                                           */
  int th1, th2;           /* COO below th1 entries, dense from th2 on; th1 0: wr_cb_with_types */
  int64_t list_bytes;     /* bytes that a list moves, about; 0: by the matrix's size           */
  int wide;               /* 1: 64-bit offsets even where 32 bits would do                     */
} wr_cb_options;

/* The paper's thresholds. list_bytes gives each of 8448 warps, the most on an H200, one list of a matrix of 3 million
 * entries. */
static inline wr_cb_options wr_cb_defaults(void) {
  wr_cb_options o;
  o.aggregate = WR_CB_BY_SHARE, o.formats = 1, o.balance = 1;
  o.th0 = 15, o.th1 = 32, o.th2 = 128;
  o.list_bytes = 4096, o.wide = 0;
  return o;
}

/* Counts of blocks before aggregation. */
typedef struct wr_cb_fill {
  int64_t blocks;       /* with at least one entry                      */
  int64_t super_sparse; /* of these, with fewer than WR_CB_SUPER_SPARSE */
  int64_t heavy;        /* entries in blocks of at least 33 entries     */
} wr_cb_fill;

typedef struct wr_cb_format {
  int64_t nrows, ncols, nnz; /* of the matrix                                                                  */
  int64_t brows, bcols;      /* nrows / 16 and ncols / 16, rounded up                                          */
  wr_cb_fill plain;          /* the counts that decide on aggregation                                          */
  int64_t blocks;            /* stored                                                                         */
  int64_t units;             /* of data, in WR_CB_UNIT bytes                                                   */
  int64_t lists;             /* a multiple of WR_CB_TEAM, at least one team                                    */
  wr_type type;              /* of values                                                                      */
  int wide;                  /* 0: offset and list_block are int32_t; 1: int64_t, as needed from 2^31 units on */
  int aggregated, balanced;  /* 0 or 1                                                                         */
  void *memory;              /* one allocation with all arrays, in this order                                  */
  uint64_t *block;           /* [blocks] wr_cb_word, strictly ascending by row, then column                    */
  void *offset;              /* [blocks + 1] units before a block's data; the last one is units                */
  int32_t *restore_cols;     /* [blocks][16] if aggregated: columns of the matrix, ascending, then 0; else [0] */
  void *list_block;          /* [lists + 1] blocks before a list                                               */
  int32_t *list_row;         /* [lists + 1] block rows that end before a list                                  */
  uint8_t *data;             /* [units][16]                                                                    */
} wr_cb_format;

/* ---- A block's word: row, column, entries, type in 27 + 27 + 8 + 2 bits ---- */

WR_CB_INLINE uint64_t wr_cb_word(int64_t row, int64_t col, int count, int kind) {
  return (uint64_t)row << 37 | (uint64_t)col << 10 | (uint64_t)kind << 8 | (uint64_t)(count - 1);
}
WR_CB_INLINE int64_t wr_cb_row(uint64_t word) { return (int64_t)(word >> 37); }
WR_CB_INLINE int64_t wr_cb_col(uint64_t word) { return (int64_t)(word >> 10 & 0x7ffffff); }
WR_CB_INLINE int wr_cb_count(uint64_t word) { return (int)(word & 255) + 1; }
WR_CB_INLINE int wr_cb_kind_of(uint64_t word) { return (int)(word >> 8 & 3); }

/* The options with th1 chosen, for nnz entries in `blocks` stored blocks. Two COO blocks of a block row fit a warp's lanes
 * while they have 16 entries each; fuller ones take a warp one by one, but two CSR blocks of any fill are done at once. So
 * with more than 16 entries on average all blocks are CSR, as single COO blocks among them would break up such pairs; else
 * th1 is the paper's threshold. */
static inline wr_cb_options wr_cb_with_types(const wr_cb_options *o, int64_t nnz, int64_t blocks) {
  wr_cb_options settled = *o;
  if (o->th1 > 0) return settled;
  settled.th1 = o->th2 < WR_CB_SUPER_SPARSE ? o->th2 : WR_CB_SUPER_SPARSE;
  if (nnz > blocks * WR_CB_SIDE) settled.th1 = 1;
  return settled;
}

WR_CB_INLINE int wr_cb_pick(const wr_cb_options *o, int count) {
  if (!o->formats || count < o->th1) return WR_CB_COO;
  return count < o->th2 ? WR_CB_CSR : WR_CB_DENSE;
}

/* ---- A block's bytes ---- */

/* Bytes before the values, padded to a multiple of value_bytes. */
WR_CB_INLINE int wr_cb_index_bytes(int kind, int count, int value_bytes) {
  int bytes = kind == WR_CB_COO ? count : kind == WR_CB_CSR ? WR_CB_SIDE + (count + 1) / 2 : 0;
  return (bytes + value_bytes - 1) / value_bytes * value_bytes;
}

WR_CB_INLINE int wr_cb_units(int kind, int count, int value_bytes) {
  int values = kind == WR_CB_DENSE ? WR_CB_PLACES : count;
  return (wr_cb_index_bytes(kind, count, value_bytes) + values * value_bytes + WR_CB_UNIT - 1) / WR_CB_UNIT;
}

/* ---- Lists ---- */

WR_CB_INLINE int64_t wr_cb_get(const void *positions, int wide, int64_t at) {
  return wide ? ((const int64_t *)positions)[at] : ((const int32_t *)positions)[at];
}
WR_CB_INLINE void wr_cb_set(void *positions, int wide, int64_t at, int64_t value) {
  if (wide)
    ((int64_t *)positions)[at] = value;
  else
    ((int32_t *)positions)[at] = (int32_t)value;
}

/* Bytes that a block moves besides its data (word, offset, columns and x), and that the end of a block row moves (y). */
WR_CB_INLINE int64_t wr_cb_block_cost(const wr_cb_format *f) {
  return 12 + WR_CB_SIDE * ((f->type == WR_F64 ? 8 : 4) + (f->aggregated ? 4 : 0));
}
WR_CB_INLINE int64_t wr_cb_row_cost(const wr_cb_format *f) { return WR_CB_SIDE * (f->type == WR_F64 ? 8 : 4); }

WR_CB_INLINE int64_t wr_cb_path_bytes(const wr_cb_format *f) {
  return f->units * WR_CB_UNIT + f->blocks * wr_cb_block_cost(f) + f->brows * wr_cb_row_cost(f);
}

/* The position of block k on the path, in bytes or steps, after the ends of `rows` block rows. */
WR_CB_INLINE int64_t wr_cb_path(const wr_cb_format *f, int64_t k, int64_t units, int64_t rows) {
  if (!f->balanced) return k + rows;
  return units * WR_CB_UNIT + k * wr_cb_block_cost(f) + rows * wr_cb_row_cost(f);
}

WR_CB_INLINE int64_t wr_cb_rows_before(const wr_cb_format *f, int64_t k) {
  return k < f->blocks ? wr_cb_row(f->block[k]) : f->brows;
}

/* *block, *row := the start of list w, for w up to lists. Each list has a part of the path, and the blocks and ends of
 * block rows that begin in it. Reads block and offset. */
WR_CB_INLINE void wr_cb_cut(const wr_cb_format *f, int64_t w, int64_t *block, int64_t *row) {
  int64_t total = wr_cb_path(f, f->blocks, f->units, f->brows), low = 0, high = f->blocks;
  int64_t goal = total / f->lists * w + total % f->lists * w / f->lists;
  while (low < high) { /* the first block that begins at the goal or after */
    int64_t middle = low + (high - low) / 2;
    if (wr_cb_path(f, middle, wr_cb_get(f->offset, f->wide, middle), wr_cb_rows_before(f, middle)) >= goal)
      high = middle;
    else
      low = middle + 1;
  }
  int64_t from = low > 0 ? wr_cb_row(f->block[low - 1]) : 0, most = wr_cb_rows_before(f, low) - from;
  int64_t left = goal - wr_cb_path(f, low, wr_cb_get(f->offset, f->wide, low), from);
  int64_t cost = f->balanced ? wr_cb_row_cost(f) : 1, rows = left > 0 ? (left + cost - 1) / cost : 0;
  *block = low, *row = from + (rows < most ? rows : most);
}

/* ---- Counts and bytes ---- */

/* A format with no blocks and no memory. */
static inline wr_cb_format wr_cb_shape(int64_t nrows, int64_t ncols, int64_t nnz, wr_type type) {
  wr_cb_format f;
  f.nrows = nrows, f.ncols = ncols, f.nnz = nnz, f.type = type;
  f.brows = (nrows + WR_CB_SIDE - 1) / WR_CB_SIDE, f.bcols = (ncols + WR_CB_SIDE - 1) / WR_CB_SIDE;
  f.plain.blocks = f.plain.super_sparse = f.plain.heavy = 0;
  f.blocks = f.units = f.lists = 0;
  f.wide = f.aggregated = f.balanced = 0;
  f.memory = NULL, f.block = NULL, f.offset = NULL, f.restore_cols = NULL;
  f.list_block = NULL, f.list_row = NULL, f.data = NULL;
  return f;
}

static inline int wr_cb_aggregates(const wr_cb_options *o, const wr_cb_fill *plain) {
  if (o->aggregate != WR_CB_BY_SHARE) return o->aggregate == WR_CB_ALWAYS;
  return plain->super_sparse * 100 > plain->blocks * o->th0;
}

/* The default bytes of a list. All of the 4224 warps that an H200 runs of the multiply take equally many lists, so that all
 * end together: one each, or more where lists would be longer than 32 KB, because warps that are ahead need lists to take,
 * while short lists spend more on starting and ending. With 16 entries a block or fewer (`sparse`) times differ more, and the
 * limit is 16 KB. The minimum pays for the start of a list. */
static inline int64_t wr_cb_list_bytes(int64_t path_bytes, int sparse) {
  const int64_t warps = 4224, most = sparse ? 16384 : 32768, least = 2048;
  int64_t rounds = (path_bytes - 1) / (warps * most) + 1, lists = warps * rounds;
  int64_t bytes = path_bytes / lists + (path_bytes % lists != 0);
  return bytes < least ? least : bytes;
}

/* Sets the members that follow from blocks and units: wide, balanced, lists. */
static inline void wr_cb_settle(wr_cb_format *f, const wr_cb_options *o) {
  int sparse = f->nnz <= f->blocks * WR_CB_SIDE;
  int64_t path = wr_cb_path_bytes(f), list = o->list_bytes ? o->list_bytes : wr_cb_list_bytes(path, sparse);
  f->wide = o->wide || f->units > INT32_MAX || f->blocks > INT32_MAX;
  f->balanced = o->balance != 0;
  f->lists = (path - 1) / list / WR_CB_TEAM * WR_CB_TEAM + WR_CB_TEAM;
  if (f->lists > WR_CB_MAX_LISTS) f->lists = WR_CB_MAX_LISTS;
}

/* Returns the next array in the allocation, and advances *bytes past it. */
static inline void *wr_cb_take(const wr_cb_format *f, int64_t *bytes, int64_t count, int64_t size) {
  void *place = f->memory != NULL ? (char *)f->memory + *bytes : NULL;
  *bytes += (count * size + WR_CB_ALIGNMENT - 1) / WR_CB_ALIGNMENT * WR_CB_ALIGNMENT;
  return place;
}

/* Points the arrays into memory, if it is not NULL; returns the bytes that it needs. */
static inline int64_t wr_cb_layout(wr_cb_format *f) {
  int64_t bytes = 0, position = f->wide ? 8 : 4;
  f->block = (uint64_t *)wr_cb_take(f, &bytes, f->blocks, 8);
  f->offset = wr_cb_take(f, &bytes, f->blocks + 1, position);
  f->restore_cols = (int32_t *)wr_cb_take(f, &bytes, f->aggregated ? f->blocks * WR_CB_SIDE : 0, 4);
  f->list_block = wr_cb_take(f, &bytes, f->lists + 1, position);
  f->list_row = (int32_t *)wr_cb_take(f, &bytes, f->lists + 1, 4);
  f->data = (uint8_t *)wr_cb_take(f, &bytes, f->units, WR_CB_UNIT);
  return bytes;
}

/* Bytes of the arrays without the padding between them. */
static inline int64_t wr_cb_bytes(const wr_cb_format *f) {
  int64_t position = f->wide ? 8 : 4;
  return f->blocks * (8 + (f->aggregated ? 4 * WR_CB_SIDE : 0)) + (f->blocks + 1) * position +
         (f->lists + 1) * (position + 4) + f->units * WR_CB_UNIT;
}

/* Bytes that a multiply moves at least: the format, x and y, each once. */
static inline int64_t wr_cb_apply_bytes(const wr_cb_format *f) {
  return wr_cb_bytes(f) + (f->nrows + f->ncols) * wr_type_bytes(f->type);
}

#endif
