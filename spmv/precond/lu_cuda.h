/* Triangular factors on a device: z := U^-1 L^-1 r, rows and columns permuted, by one kernel. */
#ifndef WR_LU_CUDA_H
#define WR_LU_CUDA_H

#include "spmv/device/env.h"
#include "spmv/precond/lu_slices.h"

WR_C_BEGIN

typedef struct wr_lu_cuda wr_lu_cuda;

typedef struct wr_lu_cuda_info {
  int64_t lower_levels, upper_levels;
  int64_t entries, padding; /* stored elements of both factors without the diagonal; those beside them */
  int64_t phases, runs;     /* parts of the kernel; those in which one block takes small levels        */
  int64_t blocks;
  double bytes;             /* on the device                                                           */
} wr_lu_cuda_info;

/* Uploads the factors in the order of their levels (lu_slices.h), and waits. They are stored in env's type, or if in_f32 in
 * f32, to which sums then are rounded; in f64 where f32 does not hold them (wr_lu_beyond_f32). r and z are of env's type. The
 * solver does not refer to lu. WR_ENOMEM, with the bytes of all of it; WR_EUNAVAILABLE: 2^30 rows or more, a build without
 * CUDA, or ended by env->watch. */
wr_status wr_lu_cuda_create(const wr_lu *lu, wr_env *env, int in_f32, wr_lu_cuda **solver);

/* z := U^-1 L^-1 r. Both have n elements and are different vectors. Asynchronous; allocates nothing; can be recorded in a
 * loop that is not resident (loop.h). The sum of a row is added in f64 in an order that follows from the factors, so each
 * run gives the same bits; a row with more than 512 elements is added up in parts that are rounded to the stored type. */
wr_status wr_lu_cuda_apply(wr_lu_cuda *solver, wr_env *env, const wr_vec *r, wr_vec *z);

const wr_lu_cuda_info *wr_lu_cuda_get_info(const wr_lu_cuda *solver);
void wr_lu_cuda_destroy(wr_lu_cuda *solver, wr_env *env); /* NULL is fine */

WR_C_END
#endif
