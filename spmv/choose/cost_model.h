/* What a backend is expected to take: sums of terms (cost_terms in cost_model.c) with coefficients that
 * tests/bench/auto_fit.py has fitted to measured times and written to cost_table.h, by class of device. */
#ifndef WR_COST_MODEL_H
#define WR_COST_MODEL_H

#include "spmv/choose/matrix_features.h"
#include "spmv/spmv.h"

WR_C_BEGIN

enum { WR_HOT_TERMS = 14, WR_PREPARE_TERMS = 6, WR_COST_GROUPS = 6 };

typedef struct wr_cost {
  double prepare, multiply; /* s; a multiply with the matrix in the caches as far as it fits          */
  double epilogue;          /* s that a solver's epilogue adds to a multiply, with a cache that its vectors share */
  double first;             /* s that the first use in a process takes besides: its kernels are loaded */
} wr_cost;

/* One backend with one of its layouts (wr_cost_layout). Coefficients are us a unit of each term, none below 0. Those of a
 * multiply are for a group of matrices: 0, 1, 2: small ones with short, middling, long rows; 3, 4, 5: large ones (their bounds
 * are in cost_table.h). */
typedef struct wr_cost_row {
  const char *backend;
  char layout;
  wr_type type;
  int valued;
  float prepare[WR_PREPARE_TERMS], hot[WR_COST_GROUPS][WR_HOT_TERMS];
} wr_cost_row;

/* What decides on the kernel that a plan of this backend takes, which has coefficients of its own: '1' or 'b', blocks of
 * 1 x 1 or larger; 'v' or 'c', values are stored or only codes; 'w', columns have 16 bits, 'h', the most used elements of x lie
 * in shared memory, 'n', neither; '-' where there is one kernel. */
char wr_cost_layout(const wr_backend *backend, const wr_plan_info *info, const wr_matrix_features *features,
                    wr_type type);

/* The class of a device by its name; the first one if it is in no class. *is_known := whether it is in one. */
const char *wr_cost_device(const char *device_name, int *is_known);

/* A number that changes with what the model says: of the class of that device, or for NULL of the CPU. */
uint64_t wr_cost_id(const char *device_name);

/* CPU: the bytes of a multiply decide, of which blocks read more in a time than rows do; those of 1 x 1 must save a tenth
 * of them, as they take as much memory again. Blocks are made in the time of 15 multiplies by rows (docs/auto.md). */
wr_cost wr_cost_expect_host(const wr_plan_info *info, const wr_matrix_features *features, wr_type type);

/* The least that blocks of any size take there: all entries are made blocks, and nothing but their values is read. */
wr_cost wr_cost_least_host(const wr_matrix_features *features, wr_type type);

/* *cost := what is expected by the table of that class. 0: the table does not have the backend in this layout. */
int wr_cost_expect(const char *device_name, const wr_backend *backend, const wr_plan_info *info,
                   const wr_matrix_features *features, wr_type type, wr_cost *cost);

/* The least that any matrix of such a size takes: the vectors and, but where codes stand for them, the values are read, in the
 * layout that takes least; and `first` has the time of a plan besides. Zeros: the table does not have the backend. */
wr_cost wr_cost_least(const char *device_name, const wr_backend *backend, const wr_matrix_features *features,
                      wr_type type);

WR_C_END
#endif
