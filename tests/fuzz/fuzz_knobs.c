/* Lists of backends and knobs, as -k takes them, and a table with knobs of every type. What is accepted must be within its
 * range, and its text must say the same when it is parsed. */
#include <stdlib.h>
#include <string.h>

#include "solvers/api/choice.h"
#include "tests/fuzz/harness.h"

typedef struct knobs {
  int64_t sigma, wide;
  double share, any;
  int choice, flag;
  char *name;
} knobs;

static const wr_knob table[] = {
    {.name = "sigma", .type = WR_OPTION_INT, .offset = offsetof(knobs, sigma), .min = 2, .max = 22, .value = "9"},
    {.name = "wide", .type = WR_OPTION_INT, .offset = offsetof(knobs, wide), .min = -0x1p63, .max = 0x1p63},
    {.name = "share", .type = WR_OPTION_REAL, .offset = offsetof(knobs, share), .min = 0, .max = 1, .above_min = 1,
     .below_max = 1, .value = "0.5"},
    {.name = "any", .type = WR_OPTION_REAL, .offset = offsetof(knobs, any), .min = -1e308, .max = 1e308},
    {.name = "layout", .type = WR_OPTION_CHOICE, .offset = offsetof(knobs, choice),
     .choices = "paper|interleaved|auto"},
    {.name = "flag", .type = WR_OPTION_FLAG, .offset = offsetof(knobs, flag)},
    {.name = "name", .type = WR_OPTION_TEXT, .offset = offsetof(knobs, name)},
    {0},
};

static void try_table(const char *text) {
  knobs k, again;
  char said[8192], said_again[8192];
  REQUIREF(wr_options_default(table, &k) == WR_OK, "%s", wr_status_message());
  harness_begin();
  wr_status status = wr_knobs_parse(table, &k, text, "a test");
  harness_judge(status, 1u << WR_EUSAGE, NULL);
  REQUIREF(k.sigma >= 2 && k.sigma <= 22, "%lld", (long long)k.sigma);
  REQUIREF(k.share > 0 && k.share < 1, "%g", k.share);
  REQUIRE(k.any >= -1e308 && k.any <= 1e308 && k.choice >= 0 && k.choice < 3 && k.flag >> 1 == 0);
  if (status == WR_OK && (k.name == NULL || strlen(k.name) < 4096)) {
    wr_knobs_text(table, &k, said, sizeof said);
    REQUIREF(wr_options_default(table, &again) == WR_OK, "%s", wr_status_message());
    REQUIREF(wr_knobs_parse(table, &again, said, "a test") == WR_OK, "%s: %s", said, wr_status_message());
    wr_knobs_text(table, &again, said_again, sizeof said_again);
    REQUIREF(strcmp(said, said_again) == 0, "%s and %s", said, said_again);
    REQUIRE(k.sigma == again.sigma && k.wide == again.wide && k.choice == again.choice && k.flag == again.flag);
    REQUIRE(memcmp(&k.share, &again.share, sizeof k.share) == 0 && (k.any == again.any));
    wr_options_release(table, &again);
  }
  wr_options_release(table, &k);
}

static void try_list(const char *text) {
  wr_choice choices[WR_MAX_RUNS];
  int count = 0;
  harness_begin();
  wr_status status = wr_choices_parse(text, choices, &count);
  harness_judge(status, 1u << WR_EUSAGE, NULL);
  if (status != WR_OK) return;
  REQUIREF(count >= 1 && count <= WR_MAX_RUNS, "%d", count);
  for (int k = 0; k < count; k++) {
    REQUIRE(choices[k].backend != NULL && strlen(choices[k].knobs) < sizeof choices[k].knobs);
    REQUIRE((choices[k].values != NULL) == (choices[k].backend->plan != NULL));
  }
  wr_choices_free(choices, &count);
}

FUZZ_TARGET(knobs) {
  char *text = malloc(count + 1);
  if (count > 0) memcpy(text, bytes, count);
  text[count] = '\0';
  try_table(text);
  try_list(text);
  free(text);
  return 0;
}
