/* The matrices that every backend must get right. */
#ifndef WR_CASES_H
#define WR_CASES_H

#include <glob.h>
#include <stdint.h>

#include "config/status.h"
#include "spmv/matrix/csr.h"

struct case_entries; /* a matrix under construction: cases.c */

/* A row of the tables in cases.c. */
typedef struct test_case {
  const char *name; /* without `fill` it says all: a file, or "gen:..." */
  int64_t nrows, ncols;
  int pattern;
  void (*fill)(struct case_entries *e);
} test_case;

typedef struct case_list {
  int count;
  test_case *cases; /* [count] */
  glob_t files;     /* owns the names of those that are files */
} case_list;

#ifdef WR_HAVE_ZLIB
#define WR_CASES_GZIP 1
#else
#define WR_CASES_GZIP 0 /* compressed files are left out */
#endif

/* small: at most some thousand entries each, for the product of all parameters. large: rows and columns longer than
 * what a backend does in one go, generated matrices of up to 200000 entries, tests/data/real, and *.mtx and *.mtx.gz
 * of the folder that the environment names by WR_MATRICES and of its `real`. WR_SHORT in the environment, for
 * where kernels run on the CPU: the largest with fewer rows. WR_EVERY=k: every k-th of the small ones, for tools that take
 * long. WR_ENOMEM. */
wr_status cases_small(case_list *list);
wr_status cases_large(case_list *list);
void cases_free(case_list *list);

wr_status case_build(const test_case *c, wr_csr **A);

/* A number in (-1, 1), never 0, all of its 53 bits in use; the same for the same key and i. */
double case_number(uint64_t key, int64_t i);

#endif
