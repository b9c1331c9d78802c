/* The matrices on which every backend is tested. */
#ifndef WR_CASES_H
#define WR_CASES_H

#include <glob.h>
#include <stdint.h>

#include "config/status.h"
#include "spmv/matrix/csr.h"

struct case_entries; /* a matrix under construction: cases.c */

/* A row of the tables in cases.c. */
typedef struct test_case {
  const char *name; /* without `fill`: a file, or "gen:..." */
  int64_t nrows, ncols;
  int pattern;
  void (*fill)(struct case_entries *e);
} test_case;

typedef struct case_list {
  int count;
  test_case *cases; /* [count]                 */
  glob_t files;     /* owns the names of files */
} case_list;

#ifdef WR_HAVE_ZLIB
#define WR_CASES_GZIP 1
#else
#define WR_CASES_GZIP 0 /* compressed files are left out */
#endif

/* small: at most some thousand entries each, for the product of all parameters. large: rows and columns longer than what a
 * backend processes in one step, generated matrices of up to 200000 entries, tests/data/real, and *.mtx and *.mtx.gz of the
 * folder WR_MATRICES (environment) and of its subfolder `real`. WR_SHORT in the environment, for kernels that run on the CPU:
 * the largest have fewer rows. WR_EVERY=k: every k-th of the small ones, for slow tools. WR_ENOMEM. */
wr_status cases_small(case_list *list);
wr_status cases_large(case_list *list);
void cases_free(case_list *list);

wr_status case_build(const test_case *c, wr_csr **A);

/* A number in (-1, 1), never 0, that uses all 53 bits; a function of key and i. */
double case_number(uint64_t key, int64_t i);

#endif
