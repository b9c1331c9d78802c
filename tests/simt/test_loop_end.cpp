/* How a loop on a device ends otherwise than by itself: stopped by the host, and freed when the device is lost. */
#include <cuda_runtime.h>

#include "spmv/device/device_memory.h"
#include "spmv/loop/loop.h"
#include "tests/check.h"
#include "tests/counting.h"
#include "tests/simt/simt.h"

/* A loop that counts in its bank as far as LIMIT says. */
static wr_loop *open_loop(wr_env *env, wr_vec *bank) {
  wr_loop *loop = nullptr;
  wr_loop_request request = {};
  const wr_then then = {&wr_step_pagerank_after_iteration, bank, nullptr};
  CHECK_OK(env->ops->alloc(env, WR_SCALAR_COUNT(wr_pagerank_scalars), WR_F64, "a bank", bank));
  request.parts = 1, request.bank = bank;
  CHECK_OK(env->ops->loop_open(env, &request, &loop));
  CHECK_OK(env->ops->step(env, &then));
  CHECK_OK(env->ops->loop_close(env, loop));
  return loop;
}

/* The host asks for the end once, right behind the call that starts the loop. The shim ends the process if the stream that
 * clears the flag of an earlier run does not do so before the flag is set. */
static void test_stop_at_once(wr_env *env) {
  wr_vec bank = {};
  wr_pagerank_scalars start = counting_from(0, 1e9), seen;
  CASE("a loop that is to stop before it has begun");
  wr_loop *loop = open_loop(env, &bank);
  for (int run = 0; run < 2; run++) {
    int ended = 0;
    CHECK_OK(env->ops->upload(env, &bank, (const double *)&start));
    CHECK_OK(env->ops->loop_run(env, loop));
    CHECK_OK(env->ops->loop_stop(env, loop));
    for (int polls = 0; !ended && polls < 100; polls++)
      CHECK_OK(env->ops->loop_poll(env, loop, &bank, (double *)&seen, &ended));
    CHECK(ended);
    CHECKF(seen.steps == 1 + run, "it has counted to %g", seen.steps);
    start = seen;
  }
  env->ops->loop_free(env, loop);
  env->ops->release(env, &bank);
}

/* Nothing can be asked of the device any more, and what the process holds is freed all the same. */
static void test_lost_device(wr_env *env) {
  wr_vec bank = {};
  CASE("a loop that is freed when its device is lost");
  int64_t before = wr_device_blocks();
  wr_loop *loop = open_loop(env, &bank);
  CHECK(wr_device_blocks() > before + 1);
  wr_fail(WR_EDEVICE, "what went wrong");
  simt_lose_device(true);
  env->ops->loop_free(env, loop);
  simt_lose_device(false);
  CHECK_MESSAGE("what went wrong");
  CHECKF(wr_device_blocks() == before + 1, "%lld blocks are left", (long long)(wr_device_blocks() - before - 1));
  env->ops->release(env, &bank);
}

int main(void) {
  wr_env env = {};
  env.place = WR_CUDA, env.type = WR_F64;
  CHECK_OK(wr_env_open(&env));
  test_stop_at_once(&env);
  test_lost_device(&env);
  wr_env_close(&env);
  return wr_test_report("simt_loop_end");
}
