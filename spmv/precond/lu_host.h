/* z := M^-1 r = P^T U^-1 L^-1 P r on the host: substitution by one thread, or by levels over the threads of the env where
 * enough of the work lies in wide levels. Every row is one sum in f64 in ascending order of columns, so the bits of z do not
 * depend on the number of threads, nor on which of the two ways is taken. */
#ifndef WR_LU_HOST_H
#define WR_LU_HOST_H

#include "spmv/device/env.h"
#include "spmv/precond/lu.h"

WR_C_BEGIN

typedef struct wr_lu_host wr_lu_host;

/* Takes over the arrays of lu, whatever happens, and zeroes it. env is on the host. values: the type in which they are stored,
 * f32 only if none is beyond it. WR_ENOMEM. */
wr_status wr_lu_host_create(wr_lu *lu, wr_env *env, wr_type values, wr_lu_host **solver);

/* r and z: [n], of env's type, not the same. Allocates nothing. */
wr_status wr_lu_host_apply(wr_lu_host *solver, wr_env *env, const wr_vec *r, wr_vec *z);

/* The same for several vectors, the columns of r and z: [n * ld], row-major, ld 2, 4 or 8 and at most need_columns of the env
 * at create. The factors are read once for all of them, and a column has the bits that it has alone. */
wr_status wr_lu_host_apply_many(wr_lu_host *solver, wr_env *env, int ld, const wr_vec *r, wr_vec *z);
void wr_lu_host_destroy(wr_lu_host *solver); /* NULL is fine */

int64_t wr_lu_host_bytes(const wr_lu_host *solver);    /* that the factors take, and one apply reads of them */
int wr_lu_host_columns(const wr_lu_host *solver);      /* the largest ld that apply_many takes; 1: none */
int wr_lu_host_by_levels(const wr_lu_host *solver);    /* 1: levels are shared among threads                 */

WR_C_END
#endif
