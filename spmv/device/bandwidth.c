/* The read bandwidth that a place really has: the yardstick for what a multiply reaches. */
#define _DEFAULT_SOURCE /* _SC_LEVEL3_CACHE_SIZE */
#include <unistd.h>

#include "config/argument.h"
#include "spmv/device/vec_argument.h"
#include "spmv/apply.h"
#include "spmv/device/env.h"

enum { MEGABYTE = 1 << 20 };

/* As many as `wanted`, but what is more than caches hold tells nothing new: on the host twice the last one or 256 MB, 512 MB at
 * most, since touching new memory takes longer than reading it; on a device 1 GB, and no more than the 64th part of its memory.
 * Less than 1 MB would measure how long a sum takes to begin. */
static wr_status choose_elements(wr_env *env, double wanted, int64_t *elements) {
  wr_status status = WR_OK;
  int64_t bytes = (env->place == WR_CUDA ? 1024 : 256) * (int64_t)MEGABYTE, free_bytes, total_bytes;
#ifdef _SC_LEVEL3_CACHE_SIZE
  int64_t cache = env->place == WR_HOST ? sysconf(_SC_LEVEL3_CACHE_SIZE) : 0;
  if (2 * cache > bytes) bytes = 512 * (int64_t)MEGABYTE;
#endif
  if (env->place == WR_CUDA) {
    TRY(env->ops->memory(env, &free_bytes, &total_bytes));
    if (total_bytes / 64 < bytes) bytes = total_bytes / 64;
  }
  if (wanted < (double)bytes) bytes = wanted > MEGABYTE ? (int64_t)wanted : MEGABYTE;
  *elements = bytes / 8;
done:
  return status;
}

enum { SUMS = 5 };
static const double enough = 0.05; /* seconds; on a busy machine one sum takes longer, and then it has to do */

wr_status wr_env_read_bandwidth(wr_env *env, double bytes, double *bytes_per_second) {
  wr_status status;
  wr_vec v = {0}, bank = {0};
  int64_t elements;
  WR_NEED(bytes_per_second);
  *bytes_per_second = 0;
  WR_NEED_OPEN(env);
  TRY(choose_elements(env, bytes, &elements));
  TRY(env->ops->alloc(env, elements, WR_F64, "measuring the read bandwidth", &v));
  TRY(env->ops->alloc(env, 1, WR_F64, "measuring the read bandwidth", &bank));
  wr_fused sum = {.in = {&v}, .reduce = {{WR_SUM, &v, NULL, {&bank, 0}}}};
  TRY(env->ops->fused(env, &sum)); /* the first touch is not counted */
  double total = 0;
  for (int k = 0; k < SUMS && total < enough; k++) {
    double seconds;
    TRY(env->ops->stamp(env, 0));
    TRY(env->ops->fused(env, &sum));
    TRY(env->ops->stamp(env, 1));
    TRY(env->ops->elapsed(env, 0, 1, &seconds));
    total += seconds;
    if (seconds > 0 && (double)v.n * 8 / seconds > *bytes_per_second) *bytes_per_second = (double)v.n * 8 / seconds;
  }
done:
  env->ops->release(env, &v);
  env->ops->release(env, &bank);
  return status;
}
