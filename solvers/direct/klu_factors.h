/* LU factors of a sparse matrix by KLU (Davis and Palamadai Natarajan 2010, "Algorithm 907: KLU, a direct sparse solver for
 * circuit simulation problems"): the matrix is permuted to block triangular form, each block ordered by approximate minimum
 * degree (AMD) and factorised with partial pivoting. klu_factors.c is the only file that includes KLU's headers. */
#ifndef WR_KLU_FACTORS_H
#define WR_KLU_FACTORS_H

#include "solvers/solver.h"
#include "spmv/matrix/csr.h"

typedef struct wr_klu_factors wr_klu_factors;

/* WR_OK, or WR_EUNAVAILABLE: this build has no KLU. */
wr_status wr_klu_check(void);

/* *factors := those of the square A with n > 0; NULL unless facts->outcome is WR_CONVERGED. Fills in facts but for the
 * refinements and norms. All of KLU's memory is had from wr_alloc. For outcomes and errors see wr_direct_solve. */
wr_status wr_klu_factorise(const wr_csr *A, const wr_monitor *monitor, wr_klu_factors **factors,
                           wr_direct_facts *facts);

/* x[n] := A^-1 x. WR_EINTERNAL where KLU refuses the factors. */
wr_status wr_klu_solve(wr_klu_factors *factors, double *x);

void wr_klu_free(wr_klu_factors *factors); /* NULL is fine */

#endif
