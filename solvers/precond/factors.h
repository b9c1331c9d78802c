/* What preconditioners that are a pair of triangular factors share: the order of the rows, the solves, and the line of the
 * report. */
#ifndef WR_FACTORS_H
#define WR_FACTORS_H

#include "solvers/precond.h"
#include "spmv/precond/ilu.h"
#include "spmv/precond/lu_cuda.h"
#include "spmv/precond/lu_host.h"

/* Choices of the knob `order`. */
enum { WR_ORDER_AUTO, WR_ORDER_GIVEN, WR_ORDER_RCM, WR_ORDER_COLOUR };
#define WR_ORDER_CHOICES "auto|given|rcm|colour"

/* Choices of the knob `factors`: in which type they are stored. AUTO: that of the solve. */
enum { WR_FACTORS_AUTO, WR_FACTORS_F32 };
#define WR_FACTORS_CHOICES "auto|f32"

/* Choices of the knob `at`, a wr_ilu_at. */
#define WR_ILU_AT_CHOICES "auto|host|device"

typedef struct wr_factors_knobs {
  int order;
  int64_t block;   /* rows of a block of the order by colours */
  int factors;
  int at;          /* of ILU(0) alone             */
  double pivot;    /* see wr_ilu_shifts           */
  double drop;     /* of ILUT alone               */
  int64_t fill;
} wr_factors_knobs;

typedef struct wr_factors {
  wr_lu_host *host; /* by the place of the env, the other one is NULL */
  wr_lu_cuda *cuda;
} wr_factors;

/* A factorisation. */
typedef struct wr_factoring {
  const char *name, *title; /* of the preconditioner; for the line                                          */
  int has_pattern;          /* 1: the factors have the pattern of B, and so its levels                      */
  int keeps_symmetry;       /* 1: the factors of a symmetric matrix are each other's transposes but for the pivots */
  wr_status (*factorise)(const wr_csr *B, const wr_factors_knobs *knobs, wr_env *env, wr_lu *lu,
                         wr_ilu_shifts *shifts); /* asks env->watch */
} wr_factoring;

/* wr_preconditioner.prepare, apply and destroy, with a wr_factors as state. */
wr_status wr_factors_prepare(wr_factors *f, wr_env *env, wr_csr *A, const wr_factors_knobs *knobs,
                             const wr_factoring *how, wr_precond_info *info);
wr_status wr_factors_apply(void *state, wr_env *env, const wr_precond_request *request);
void wr_factors_destroy(void *state, wr_env *env);

#endif
