/* Measures the read bandwidth of a place, with which the bytes a second of multiplies are compared. */
#define _DEFAULT_SOURCE /* _SC_LEVEL3_CACHE_SIZE */
#include <unistd.h>

#include "spmv/device/vec_argument.h"

enum { MEGABYTE = 1 << 20 };

/* `wanted` bytes in f64, but no more than it takes to exceed the caches: on the host 256 MB, or 512 MB if twice the last-level
 * cache is more, since touching new memory takes longer than reading it; on a device 1 GB or 1/64 of its memory. At least 1 MB:
 * with less, the time to start a sum would dominate. */
static wr_status choose_elements(wr_env *env, double wanted, int64_t *elements) {
  int64_t bytes = (env->place == WR_CUDA ? 1024 : 256) * (int64_t)MEGABYTE, free_bytes, total_bytes;
#ifdef _SC_LEVEL3_CACHE_SIZE
  int64_t cache = env->place == WR_HOST ? sysconf(_SC_LEVEL3_CACHE_SIZE) : 0;
  if (2 * cache > bytes) bytes = 512 * (int64_t)MEGABYTE;
#endif
  if (env->place == WR_CUDA) {
    PASS(env->ops->memory(env, &free_bytes, &total_bytes));
    if (total_bytes / 64 < bytes) bytes = total_bytes / 64;
  }
  if (wanted < (double)bytes) bytes = wanted > MEGABYTE ? (int64_t)wanted : MEGABYTE;
  *elements = bytes / 8;
  return WR_OK;
}

enum { SUMS = 5 };
static const double enough = 0.05; /* seconds of sums after which no other is timed */

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
  TRY(env->ops->fused(env, &sum)); /* untimed: it touches new memory */
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
