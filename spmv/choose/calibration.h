/* How the times of a device differ from what the cost model expects: measured by spmv --calibrate, and kept in a file as of
 * tune_cache.h, an entry for each device, backend, type, and values or none. An entry counts for the model it was measured
 * against alone, so a new table of times needs a new calibration. */
#ifndef WR_CALIBRATION_H
#define WR_CALIBRATION_H

#include "spmv/spmv.h"

WR_C_BEGIN

/* Measured times divided by expected ones, from WR_LEAST_FACTOR to WR_MOST_FACTOR. */
typedef struct wr_calibration {
  double multiply, prepare;
} wr_calibration;

#define WR_LEAST_FACTOR 1e-3
#define WR_MOST_FACTOR 1e3

/* *factors := those of the device that env is open on, for env's type; both 1 where the file has none, or there is no file.
 * WR_EINPUT, and what helps: the file cannot be used, or has damaged lines; factors are then what is left. WR_ENOMEM. */
wr_status wr_calibration_find(const char *path, const wr_env *env, const wr_backend *backend, int valued,
                              wr_calibration *factors);

/* Keeps them, in place of earlier ones. The folder is there. WR_EUSAGE: a factor that is none. Else as wr_tune_cache_store. */
wr_status wr_calibration_store(const char *path, const wr_env *env, const wr_backend *backend, int valued,
                               const wr_calibration *factors);

WR_C_END
#endif
