#define _POSIX_C_SOURCE 200809L /* gethostname */
#include "solvers/program/opening.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "config/defaults.h"
#include "config/option.h"
#include "config/user_cache.h"
#include "spmv/spmv.h"
#include "spmv/tune_cache.h"

typedef struct opening {
  double seconds;
} opening;

/* Written and read as knobs are, so that what is not in range is refused. */
static const wr_knob rows[] = {{.name = "seconds", .type = WR_OPTION_REAL, .offset = offsetof(opening, seconds),
                                .min = 1e-6, .max = 60, .value = "0.2", .help = "that opening a device takes"},
                               {0}};

static void make_key(int device, char key[WR_TUNE_KEY_ROOM]) {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0')
    snprintf(name, sizeof name, "a machine without a name");
  snprintf(key, WR_TUNE_KEY_ROOM, "opening of device %d of %s", device, name);
}

/* *found := the entry, or 0. */
static wr_status find(const char *path, const char *key, double *found) {
  char text[WR_TUNE_KNOBS_ROOM];
  opening entry = {0};
  *found = 0;
  wr_status status = wr_tune_cache_find(path, key, text);
  if (text[0] == '\0') return status;
  if (wr_knobs_parse(rows, &entry, text, "the time of opening") != WR_OK)
    return wr_fail(WR_EINPUT, "%.200s: the time of opening a GPU is damaged; remove the file", path);
  *found = entry.seconds;
  return status;
}

double wr_opening_expected(int device, wr_error *warning) {
  char path[WR_USER_CACHE_ROOM], key[WR_TUNE_KEY_ROOM];
  double seconds = 0;
  *warning = (wr_error){0};
  if (wr_user_cache_path(WR_OPENING_FILE, path) != WR_OK) return WR_DEVICE_OPEN_SECONDS;
  make_key(device, key);
  (void)wr_error_keep(warning, find(path, key, &seconds));
  return seconds > 0 ? seconds : WR_DEVICE_OPEN_SECONDS;
}

void wr_opening_learn(int device, double seconds, wr_error *warning) {
  char path[WR_USER_CACHE_ROOM], key[WR_TUNE_KEY_ROOM], text[WR_TUNE_KNOBS_ROOM];
  double before;
  *warning = (wr_error){0};
  if (!(seconds >= 1e-6 && seconds <= 60) || wr_user_cache_path(WR_OPENING_FILE, path) != WR_OK) return;
  make_key(device, key);
  wr_status status = find(path, key, &before);
  opening entry = {before > 0 ? (before + seconds) / 2 : seconds};
  if (status == WR_OK && fabs(entry.seconds - before) <= before / 10) return;
  wr_knobs_text(rows, &entry, text, sizeof text);
  status = wr_user_cache_make(path);
  if (status == WR_OK) status = wr_tune_cache_store(path, key, text);
  (void)wr_error_keep(warning, status);
}
