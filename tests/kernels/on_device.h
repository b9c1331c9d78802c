/* A device to run on, in both types; without one a skip, and with WR_NEED_GPU a failure. */
#ifndef WR_ON_DEVICE_H
#define WR_ON_DEVICE_H

#include <stdlib.h>

#include "spmv/device/env.h"
#include "tests/check.h"

static inline void on_device(void (*body)(wr_env *env)) {
  for (int type = WR_F32; type <= WR_F64; type++) {
    wr_env env = {};
    env.place = WR_CUDA, env.type = (wr_type)type;
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
