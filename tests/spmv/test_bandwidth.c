/* The read bandwidth is measured on as many bytes as the problem moves, within limits. */
#include "spmv/spmv.h"
#include "tests/check.h"

static int64_t asked; /* elements of the last vector, whose allocation fails */

static wr_status refuse(wr_env *env, int64_t n, wr_type type, const char *what, wr_vec *v) {
  (void)env, (void)type;
  *v = (wr_vec){.n = 0};
  asked = n;
  return wr_fail(WR_ENOMEM, "out of memory: %s", what);
}

static int64_t bytes_for(wr_env *env, double bytes) {
  double rate = 1;
  CHECK_FAILS(WR_ENOMEM, wr_env_read_bandwidth(env, bytes, &rate));
  CHECK(rate == 0);
  return 8 * asked;
}

int main(void) {
  wr_env env = {.place = WR_HOST, .type = WR_F32, .threads = 1};
  double rate;
  CHECK_OK(wr_env_open(&env));
  const wr_vecops *whole = env.ops;
  wr_vecops without_memory = *whole;
  without_memory.alloc = refuse;
  env.ops = &without_memory;
  CASE("as many bytes as the problem moves");
  CHECK(bytes_for(&env, 24e6) == 24000000 && bytes_for(&env, 3 << 20) == 3 << 20);
  CASE("1 MB at least");
  CHECK(bytes_for(&env, 0) == 1 << 20 && bytes_for(&env, 100) == 1 << 20);
  CASE("256 MB at most, 512 where caches are large");
  CHECK(bytes_for(&env, INFINITY) == 256 << 20 || bytes_for(&env, INFINITY) == 512 << 20);
  CHECK(bytes_for(&env, 1e12) == bytes_for(&env, INFINITY));
  CASE("measured");
  env.ops = whole;
  CHECK_OK(wr_env_read_bandwidth(&env, 1e6, &rate));
  CHECKF(rate > 0 && rate < INFINITY, "%g bytes a second", rate);
  wr_env_close(&env);
  return wr_test_report("bandwidth");
}
