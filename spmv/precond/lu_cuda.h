/* Triangular factors on a device: z := U^-1 L^-1 r, rows and columns permuted, by one kernel. */
#ifndef WR_LU_CUDA_H
#define WR_LU_CUDA_H

#include "spmv/device/env.h"
#include "spmv/precond/lu_slices.h"

WR_C_BEGIN

typedef struct wr_lu_cuda wr_lu_cuda;

/* How the blocks of the kernel wait for rows that other blocks solve. */
typedef enum wr_lu_way {
  WR_LU_VALUES,   /* a row waits until each of its inputs is there                              */
  WR_LU_BARRIERS, /* grid barriers between levels                                               */
  WR_LU_LAUNCHES  /* a kernel for each level, so blocks need not run at the same time           */
} wr_lu_way;

typedef struct wr_lu_cuda_options {
  wr_lu_way way;
  int blocks;        /* 0: one for each multiprocessor     */
  wr_lu_gates gates; /* for WR_LU_VALUES                   */
  int in_f32;        /* 1: stored in f32 where f32 holds them, also if env is f64; sums then are rounded to f32 */
} wr_lu_cuda_options;

typedef struct wr_lu_cuda_info {
  int64_t lower_levels, upper_levels;
  int64_t entries, padding; /* stored elements of both factors without the diagonal; those beside them */
  int64_t phases, runs;     /* parts of the kernel; those in which one block takes small levels        */
  int64_t blocks;
  double bytes;             /* on the device                                                           */
} wr_lu_cuda_info;

/* Uploads the factors in the order of their levels (lu_slices.h), and waits. They are stored in env's type or f32, or in f64
 * where f32 does not hold them (wr_lu_beyond_f32); r and z are of env's type. options NULL: the defaults. The solver does not
 * refer to lu. WR_ENOMEM, with the bytes of all of it; WR_EUNAVAILABLE: 2^30 rows or more, a build without CUDA, or ended by
 * env->watch. */
wr_status wr_lu_cuda_create_as(const wr_lu *lu, wr_env *env, const wr_lu_cuda_options *options, wr_lu_cuda **solver);
wr_status wr_lu_cuda_create(const wr_lu *lu, wr_env *env, wr_lu_cuda **solver);

/* z := U^-1 L^-1 r. Both have n elements and are different vectors. Asynchronous; allocates nothing; can be recorded in a
 * loop that is not resident (loop.h). The sum of a row is added in f64 in an order that follows from the factors, so each
 * run gives the same bits; a row with more than 512 elements is added up in parts that are rounded to the stored type. */
wr_status wr_lu_cuda_apply(wr_lu_cuda *solver, wr_env *env, const wr_vec *r, wr_vec *z);

const wr_lu_cuda_info *wr_lu_cuda_get_info(const wr_lu_cuda *solver);
void wr_lu_cuda_destroy(wr_lu_cuda *solver, wr_env *env); /* NULL is fine */

WR_C_END
#endif
