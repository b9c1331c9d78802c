#include "spmv/choose/calibration.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "spmv/choose/cost_model.h"
#include "spmv/tune_cache.h"

/* An entry is written and read as knobs are, so that what is not in range is refused. */
static const wr_knob rows[] = {
    {.name = "multiply", .type = WR_OPTION_REAL, .offset = offsetof(wr_calibration, multiply), .min = WR_LEAST_FACTOR,
     .max = WR_MOST_FACTOR, .value = "1", .help = "time of a multiply, measured / expected"},
    {.name = "prepare", .type = WR_OPTION_REAL, .offset = offsetof(wr_calibration, prepare), .min = WR_LEAST_FACTOR,
     .max = WR_MOST_FACTOR, .value = "1", .help = "the same of preparing"},
    {0}};

/* The name of the host says behind " (" what changes from run to run. */
static void make_key(const wr_env *env, const wr_backend *backend, int valued, char key[WR_TUNE_KEY_ROOM]) {
  const char *more = env->place == WR_HOST ? strstr(env->device_name, " (") : NULL;
  int length = (int)(more ? (size_t)(more - env->device_name) : strlen(env->device_name));
  snprintf(key, WR_TUNE_KEY_ROOM, "calibration of model %016" PRIx64 ", %.*s, %s, %s, %s",
           wr_cost_id(env->place == WR_CUDA ? env->device_name : NULL), length, env->device_name, backend->name,
           env->type == WR_F32 ? "f32" : "f64", valued ? "values" : "pattern");
}

wr_status wr_calibration_find(const char *path, const wr_env *env, const wr_backend *backend, int valued,
                              wr_calibration *factors) {
  char key[WR_TUNE_KEY_ROOM], text[WR_TUNE_KNOBS_ROOM];
  *factors = (wr_calibration){1, 1};
  make_key(env, backend, valued, key);
  wr_status status = wr_tune_cache_find(path, key, text);
  if (text[0] == '\0') return status;
  wr_calibration found = {1, 1};
  if (wr_knobs_parse(rows, &found, text, "a calibration") != WR_OK)
    return wr_fail(WR_EINPUT, "%.200s: the calibration of %s is damaged; spmv --calibrate makes it anew", path,
                   backend->name);
  *factors = found;
  return status;
}

wr_status wr_calibration_store(const char *path, const wr_env *env, const wr_backend *backend, int valued,
                               const wr_calibration *factors) {
  char key[WR_TUNE_KEY_ROOM], text[WR_TUNE_KNOBS_ROOM];
  const double each[] = {factors->multiply, factors->prepare};
  for (int k = 0; k < 2; k++)
    if (!(each[k] >= WR_LEAST_FACTOR && each[k] <= WR_MOST_FACTOR))
      return wr_fail(WR_EUSAGE, "a factor of a calibration is %g; it is from %g to %g", each[k], WR_LEAST_FACTOR,
                     WR_MOST_FACTOR);
  make_key(env, backend, valued, key);
  wr_knobs_text(rows, factors, text, sizeof text);
  return wr_tune_cache_store(path, key, text);
}
