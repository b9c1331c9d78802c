/* The matrix as all code outside backends sees it: compressed sparse rows, with host arrays and, made on demand, a device
 * view. Plans may borrow its arrays, and hold it (wr_csr_free).
 *
 *   6x6 example used in every format picture:      row_ptr [0 2 4 4 8 9 10]
 *     a . b . . .                                  col     [0 2 | 1 4 | | 0 2 3 5 | 4 | 5]
 *     . c . . d .                                  val     [a b | c d | | e f g h | i | j]
 *     . . . . . .
 *     e . f g . h
 *     . . . . i .
 *     . . . . . j
 * */
#ifndef WR_CSR_H
#define WR_CSR_H

#include <stdint.h>

#include "config/status.h"

WR_C_BEGIN

struct wr_env;
struct wr_csr_device;
struct wr_halo;

#define WR_MAX_INDEX INT32_MAX /* most rows, and most columns: a column index fits 32 bits; counts of entries are 64-bit */

typedef struct wr_csr {
  int64_t nrows, ncols, nnz;
  int64_t *row_ptr;             /* [nrows + 1], row_ptr[0] = 0, ascending                                         */
  int32_t *col;                 /* [nnz], within a row strictly ascending                                         */
  double *val;                  /* [nnz], or NULL: a pattern, every entry 1. NULL is the only sign of a pattern.  */
  int symmetric;                /* 1: known to equal its transpose (a symmetric file), which saves transposing it */
  int from_zero;                /* 1: messages count rows and columns from 0, as a caller of the library does; 0: from 1   */
  struct wr_csr_device *device; /* cached device views; NULL until the first is made. Freed by wr_csr_free.       */
  struct wr_halo *halo;         /* the matrix is a part of one, with its own columns and others behind them          */
                                /* (spmv/parts/halo.h); NULL: it is whole. Freed by wr_csr_free                      */
  int holders;                  /* plans that hold it; 0 in a struct that a caller fills in                       */
} wr_csr;

/* The number of row 0 and column 0 in messages. */
static inline int64_t wr_csr_first(const wr_csr *A) { return A && A->from_zero ? 0 : 1; }

/* A matrix that was made on a device (a graph's flow) has no host arrays until wr_csr_host makes them: till then row_ptr and
 * col are NULL, and val, unless it is a pattern, is allocated but not filled. Code that reads host arrays of a matrix that it
 * has not made itself calls wr_csr_host first; wr_plan_create does so for backends. No other function here does. */

/* The entries of a file or a caller, before they become rows: chunks in file order, each filled by one thread. */
typedef struct wr_triplet_chunk {
  int64_t count, capacity;
  int32_t *row, *col; /* [count], 0-based                            */
  double *val;        /* [count], or NULL in every chunk: a pattern  */
} wr_triplet_chunk;

typedef enum wr_symmetry { WR_GENERAL, WR_SYMMETRIC, WR_SKEW_SYMMETRIC } wr_symmetry;

typedef enum wr_duplicates {
  WR_DUPLICATES_SUM, /* entries at the same place are added, in file order; a pattern with any becomes counts */
  WR_DUPLICATES_ONCE /* a pattern keeps one of them and stays a pattern; values are added as above            */
} wr_duplicates;

typedef struct wr_triplets {
  int64_t nrows, ncols;
  wr_symmetry symmetry; /* symmetric kinds hold the lower triangle; wr_csr_assemble adds the other */
  int from_zero;        /* as of wr_csr */
  int64_t nchunks;
  wr_triplet_chunk *chunks; /* [nchunks] */
} wr_triplets;

void wr_triplets_free(wr_triplets *triplets); /* frees what it holds, not the struct; also of a zeroed one */

/* *out := the rows of the triplets: expanded by symmetry, columns sorted, duplicates treated as `duplicates` says, explicit
 * zeros kept. Parallel, and bit for bit the same on any number of threads. Chunks are freed as soon as they are used up.
 * WR_ENOMEM; WR_EINPUT when a sum of duplicates overflows. *repeated, if not NULL, := the number of entries merged away.
 * WR_EUSAGE: an entry outside the matrix, values in some chunks only. */
wr_status wr_csr_assemble(wr_triplets *triplets, wr_duplicates duplicates, wr_csr **out, int64_t *repeated);

/* *out := an nrows x ncols matrix with memory for nnz entries, row_ptr zeroed, col and val not filled; with_values 0: a
 * pattern. WR_EUSAGE for sizes outside 1..WR_MAX_INDEX or nnz < 0, WR_ENOMEM. */
wr_status wr_csr_create(int64_t nrows, int64_t ncols, int64_t nnz, int with_values, wr_csr **out);

wr_status wr_csr_copy(const wr_csr *A, wr_csr **out); /* host arrays; WR_ENOMEM */

/* Frees device views too; A may be NULL. While plans hold A, it and its arrays stay until the last of these is destroyed, but
 * its owner must not use it any more. Any thread may call this. */
void wr_csr_free(wr_csr *A);

/* The index of entry (row, col) in col and val, on the host; -1: there is none. */
static inline int64_t wr_csr_find(const wr_csr *A, int64_t row, int64_t col) {
  int64_t low = A->row_ptr[row], high = A->row_ptr[row + 1], end = high;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (A->col[middle] < col)
      low = middle + 1;
    else
      high = middle;
  }
  return low < end && A->col[low] == col ? low : -1;
}

/* Makes the host arrays of a matrix that has none; otherwise does nothing. Uses env if it is open on that device, else (also
 * for NULL) opens one for the call. WR_ENOMEM, WR_EDEVICE, and the matrix is unchanged. */
wr_status wr_csr_host(wr_csr *A, struct wr_env *env);

/* Frees the device views, unless the matrix has no host arrays. No plan may borrow one. */
void wr_csr_forget_device(wr_csr *A);

/* Marks host values as changed: the next wr_csr_device_view uploads them into the existing arrays. wr_plan_update_values does
 * both. */
void wr_csr_values_changed(wr_csr *A);

/* 1 when two matrices with host arrays have their entries at the same places; 0 also if either is NULL or has none. */
int wr_csr_same_pattern(const wr_csr *A, const wr_csr *B);

/* *out := A transposed, entries of a row in ascending column order; stable, parallel, and bit for bit the same on any
 * number of threads. WR_ENOMEM. */
wr_status wr_csr_transpose(const wr_csr *A, wr_csr **out);

/* WR_OK, or WR_EINPUT with the first condition of the struct above that A violates. For matrices from outside. */
wr_status wr_csr_check(const wr_csr *A);

/* f32 1: WR_ENUMERIC, with the place, if a value is beyond the range of f32; 0: always WR_OK. */
wr_status wr_csr_check_range(const wr_csr *A, int f32);

/* The matrix on a device, in the type of env: made at the first call, then cached with A. Arrays are aligned to 128 bytes and
 * padded with zeros to a multiple of 128, and the padding may be read. */
typedef struct wr_csr_view {
  int wide;            /* 0: row_ptr is int32_t (nnz < 2^31); 1: int64_t        */
  const void *row_ptr; /* [nrows + 1] on the device                             */
  const int32_t *col;  /* [nnz] on the device                                   */
  const void *val;     /* [nnz] of env's type on the device, or NULL: a pattern */
  int64_t bytes;       /* bytes of these arrays, padding included               */
} wr_csr_view;

/* WR_ENOMEM, WR_EDEVICE; WR_EUNAVAILABLE without CUDA; WR_ENUMERIC when a value does not fit env's type. */
wr_status wr_csr_device_view(wr_csr *A, struct wr_env *env, wr_csr_view *view);
void wr_csr_device_free(struct wr_csr_device *device); /* for wr_csr_free; device may be NULL */

WR_C_END
#endif
