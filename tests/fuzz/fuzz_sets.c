/* Sets of nodes: file and pipe must agree on the sets or on the defect; each set that was read has nodes that exist, none
 * twice, and weights that can be normalised. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/set_file.h"
#include "tests/fuzz/harness.h"

static int64_t listed[] = {0, 7, INT64_MAX}, begin[] = {0, 1, 4, 7};
static char names[] = "aa:1b c";
static const wr_ids apart = {.count = 3, .id = listed}, named = {.count = 3, .names = names, .begin = begin};

/* Every input is read for each of these. */
static const wr_vector_need needs[] = {{.n = 3, .whose = "a test"},
                                       {.n = 3, .whose = "a test", .ids = &apart},
                                       {.n = 3, .whose = "a test", .ids = &named}};

/* What a read came to. */
typedef struct outcome {
  wr_status status;
  char message[1024]; /* without the name of the file */
  int64_t count, members;
  double sum;
} outcome;

static void look_at(const wr_set_list *sets, int64_t n, outcome *o) {
  REQUIRE(sets->count > 0 && sets->first[0] == 0);
  o->count = sets->count, o->members = sets->first[sets->count];
  for (int64_t k = 0; k < sets->count; k++) {
    int64_t first = sets->first[k], end = sets->first[k + 1], seen = 0;
    double largest = 0;
    REQUIRE(first < end && (k == 0 || sets->line[k] > sets->line[k - 1]));
    for (int64_t p = first; p < end; p++) {
      int64_t node = sets->node[p];
      REQUIREF(node >= 0 && node < n && !(seen >> node & 1), "node %lld", (long long)node);
      REQUIREF(sets->weight[p] >= 0 && isfinite(sets->weight[p]), "weight %g", sets->weight[p]);
      seen |= INT64_C(1) << node;
      largest = fmax(largest, sets->weight[p]);
      o->sum += ldexp(sets->weight[p], -1020) * (double)(node + 1);
    }
    REQUIRE(largest > 0);
  }
}

static void read_as(const char *path, const wr_vector_need *need, outcome *o) {
  wr_set_list sets;
  *o = (outcome){.status = WR_OK};
  harness_begin();
  o->status = wr_set_file_read(path, need, &sets);
  harness_judge(o->status, 1u << WR_EINPUT, path);
  if (o->status == WR_OK)
    look_at(&sets, need->n, o);
  else
    snprintf(o->message, sizeof o->message, "%s", wr_status_message() + strlen(path));
  REQUIRE((o->status == WR_OK) == (sets.count > 0));
  wr_set_list_free(&sets);
}

FUZZ_TARGET(sets) {
  for (size_t k = 0; k < sizeof needs / sizeof *needs; k++) {
    outcome o, other;
    read_as(harness_file(bytes, count), &needs[k], &o);
    int text = count < 2 || bytes[0] != 0x1f || bytes[1] != 0x8b;
    if (text)
      REQUIREF(harness_asked() <= (INT64_C(1) << 20) + 128 * (int64_t)count, "%lld", (long long)harness_asked());
    const char *path = HARNESS_ONE_IN(8, count) ? harness_pipe(bytes, count) : NULL;
    if (path == NULL) continue;
    read_as(path, &needs[k], &other);
    REQUIREF(o.status == other.status && strcmp(o.message, other.message) == 0, "'%s' and '%s'", o.message,
             other.message);
    REQUIRE(o.count == other.count && o.members == other.members && o.sum == other.sum);
    harness_pipe(NULL, 0);
  }
  return 0;
}
