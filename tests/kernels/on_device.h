/* Runs a test on a device, in both types; without one it is skipped or, with WR_NEED_GPU, fails. */
#ifndef WR_ON_DEVICE_H
#define WR_ON_DEVICE_H

#include <stdlib.h>

#include "spmv/device/env.h"
#include "spmv/device/testing.h"
#include "tests/check.h"

static inline void on_device(void (*body)(wr_env *env)) {
  for (int type = WR_F32; type <= WR_F64; type++) {
    wr_env env = {};
    wr_testing testing = {};
    env.place = WR_CUDA, env.type = (wr_type)type, env.testing = &testing;
    CASE("a device");
    wr_status status = wr_env_open(&env);
    if (status != WR_OK && getenv("WR_NEED_GPU") == nullptr) {
      SKIP("%s", wr_status_message());
      continue;
    }
    CHECK_OK(status);
    if (status != WR_OK) continue;
    body(&env);
    wr_env_close(&env);
  }
}

#endif
