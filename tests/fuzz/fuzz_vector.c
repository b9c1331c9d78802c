/* Vectors in every form: file and pipe must agree on values or on the defect; what was read is finite, and the same again when
 * it is written in any form and read. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/memory.h"
#include "io/vector_file.h"
#include "tests/fuzz/harness.h"

static int64_t listed[] = {0, 7, INT64_MAX};
static const wr_ids apart = {.count = 3, .id = listed};

/* Every input is read for each of these. */
static const wr_vector_need needs[] = {{.n = 1, .whose = "a test"},
                                       {.n = 2, .whose = "a test"},
                                       {.n = 3, .whose = "a test"},
                                       {.n = 3, .whose = "a test", .ids = &apart},
                                       {.n = 3, .whose = "a test", .ids = &apart, .subset = 1},
                                       {.n = 2, .whose = "a test", .complete = 1}};

enum { MOST = 3, NEEDS = sizeof needs / sizeof *needs };

/* What a read came to. */
typedef struct outcome {
  wr_status status;
  char message[1024]; /* without the name of the file */
  double values[MOST];
} outcome;

static void read_as(const char *path, const wr_vector_need *need, outcome *o) {
  double *values = NULL;
  *o = (outcome){.status = WR_OK};
  harness_begin();
  o->status = wr_vector_read(path, need, &values);
  harness_judge(o->status, 1u << WR_EINPUT, path);
  REQUIRE((o->status == WR_OK) == (values != NULL));
  if (o->status != WR_OK) snprintf(o->message, sizeof o->message, "%s", wr_status_message() + strlen(path));
  for (int64_t i = 0; values != NULL && i < need->n; i++) {
    REQUIREF(isfinite(values[i]), "value %lld is %g", (long long)i, values[i]);
    o->values[i] = values[i];
  }
  wr_free(values);
}

static void must_agree(const outcome *a, const outcome *b, const char *how) {
  REQUIREF(a->status == b->status && strcmp(a->message, b->message) == 0, "%s: '%s' and '%s'", how, a->message,
           b->message);
  REQUIREF(memcmp(a->values, b->values, sizeof a->values) == 0, "%s: other values", how);
}

static void write_and_read(const wr_vector_need *need, const outcome *o) {
  static const char *const how[WR_VECTOR_FORMATS] = {"mtx", "tsv", "csv", "txt", "npy"};
  for (int f = 0; f < WR_VECTOR_FORMATS; f++) {
    const char *path = harness_path("vector");
    outcome again;
    wr_status status = wr_vector_write(path, (wr_vector_format)f, need->ids, need->n, 1, o->values, NULL);
    REQUIREF(status == WR_OK, "%s: %s", how[f], wr_status_message());
    read_as(path, need, &again);
    must_agree(o, &again, how[f]);
  }
}

static void read_by(const wr_vector_need *need, const uint8_t *bytes, size_t count) {
  outcome o, other;
  read_as(harness_file(bytes, count), need, &o);
  int text = count < 2 || bytes[0] != 0x1f || bytes[1] != 0x8b;
  if (text) REQUIREF(harness_asked() <= (INT64_C(1) << 20) + 64 * (int64_t)count, "%lld", (long long)harness_asked());
  const char *path = HARNESS_ONE_IN(8, count) ? harness_pipe(bytes, count) : NULL;
  if (path != NULL) {
    read_as(path, need, &other);
    must_agree(&o, &other, "file and pipe");
    harness_pipe(NULL, 0);
  }
  if (o.status == WR_OK && HARNESS_ONE_IN(8, count)) write_and_read(need, &o);
}

FUZZ_TARGET(vector) {
  for (int k = 0; k < NEEDS; k++) read_by(&needs[k], bytes, count);
  return 0;
}
