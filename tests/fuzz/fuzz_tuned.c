/* Files of tuned configurations. Whatever a file holds, it is read without harm; a file that is no cache stays as it is; after
 * an entry was added it is found, and so is what was found before; what is written has no damaged lines. The bytes are taken as
 * they are and, since few begin as a cache does, behind its first line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spmv/tune_cache.h"
#include "tests/fuzz/harness.h"

#define FIRST "windrow tuning cache 1\n"

static const char *const keys[] = {"a", "b",
                                   "windrow 0.1.0 yaspmv:width=0 f64 values 10 10 30 0123456789abcdef 9.0 132 card"};
enum { KEYS = sizeof keys / sizeof *keys };
typedef char knobs_text[WR_TUNE_KNOBS_ROOM];

static void save(const char *path, const void *bytes, size_t count) {
  FILE *out = fopen(path, "w");
  REQUIREF(out != NULL && fwrite(bytes, 1, count, out) == count, "%s cannot be written", path);
  if (out) fclose(out);
}

/* 1 if the file is just these bytes. */
static int is_unchanged(const char *path, const void *bytes, size_t count) {
  char *now = malloc(count + 2);
  FILE *in = fopen(path, "r");
  size_t got = in ? fread(now, 1, count + 1, in) : 0;
  int same = in && got == count && (count == 0 || memcmp(now, bytes, count) == 0);
  if (in) fclose(in);
  free(now);
  return same;
}

static wr_status find_all(const char *path, knobs_text found[KEYS]) {
  wr_status status = WR_OK;
  for (int k = 0; k < KEYS; k++) {
    harness_begin();
    status = wr_tune_cache_find(path, keys[k], found[k]);
    harness_judge(status, 1u << WR_EINPUT, NULL);
    REQUIREF(strlen(found[k]) < sizeof found[k], "knobs of %zu bytes", strlen(found[k]));
  }
  return status;
}

static void try_bytes(const void *bytes, size_t count) {
  knobs_text before[KEYS], after[KEYS];
  const char *path = harness_path("tuned");
  save(path, bytes, count);
  (void)find_all(path, before);
  harness_begin();
  wr_status status = wr_tune_cache_store(path, keys[0], "width=1:tile=24");
  harness_judge(status, 1u << WR_EINPUT, NULL);
  if (status != WR_OK) {
    REQUIREF(is_unchanged(path, bytes, count), "a file that is no cache has changed");
    return;
  }
  REQUIREF(find_all(path, after) == WR_OK, "%s", wr_status_message());
  REQUIREF(strcmp(after[0], "width=1:tile=24") == 0, "'%s'", after[0]);
  for (int k = 1; k < KEYS; k++) REQUIREF(strcmp(before[k], after[k]) == 0, "'%s' became '%s'", before[k], after[k]);
}

FUZZ_TARGET(tuned) {
  char *cache = malloc(sizeof FIRST + count);
  memcpy(cache, FIRST, strlen(FIRST));
  if (count > 0) memcpy(cache + strlen(FIRST), bytes, count);
  try_bytes(bytes, count);
  try_bytes(cache, strlen(FIRST) + count);
  free(cache);
  return 0;
}
