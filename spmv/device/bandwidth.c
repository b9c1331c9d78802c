/* The read bandwidth that a place really has: the yardstick for what a multiply reaches. */
#include "spmv/spmv.h"

/* Larger than the caches of a socket, and read in a blink. */
static int64_t elements(wr_place place) { return (place == WR_CUDA ? 1024 : 256) * (int64_t)(1 << 20) / 8; }

enum { SUMS = 5 };
static const double enough = 0.05; /* seconds; on a busy machine one sum takes longer, and then it has to do */

wr_status wr_env_read_bandwidth(wr_env *env, double *bytes_per_second) {
  wr_status status;
  wr_vec v = {0}, bank = {0};
  *bytes_per_second = 0;
  TRY(env->ops->alloc(env, elements(env->place), WR_F64, "measuring the read bandwidth", &v));
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
