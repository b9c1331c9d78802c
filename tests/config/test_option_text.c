/* Options as text: --help, knobs, the closest name, the fewest digits of a real. */
#define _GNU_SOURCE /* open_memstream */
#include <stdlib.h>
#include <string.h>

#include "config/closest.h"
#include "config/option.h"
#include "tests/check.h"
#include "tests/config/option_table.h"

static void test_help(void) {
  CASE("--help");
  static const char *const expected[] = {
      "Computing:\n  -d, --device cpu|cuda|auto  where to compute (default auto)\n",
      "\n\nStopping:\n  -t, --tolerance REAL ",
      ("\n  -t, --tolerance REAL        bound on the error of the scores (default 1e-9, in\n"
       "                              (0, 1])\n"),
      "\n      --damping REAL          damping factor (default 0.85, in [0, 1))\n",
      ("\n      --stop THE-STOPPING-RULE\n"
       "                              what stops the iteration (one of error|change)\n"),
      "  any number\n",
      "solves (at least 1)\n",
      "      --binary TEXT           prepared matrix (not available)\n",
      "capture the loop (default yes)\n",
      "  -v, --verbose               say more\n",
      "Output:\n  -n, --top N                 pages listed, "};
  char *help = NULL;
  size_t size;
  FILE *out = open_memstream(&help, &size);
  wr_options_help(table, out);
  fclose(out);
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
    CHECKF(strstr(help, expected[i]) != NULL, "'%s' is not in\n%s", expected[i], help);
  int folded = 0;
  for (char *line = help; *line != '\0'; line += strcspn(line, "\n") + 1) {
    size_t columns = strcspn(line, "\n");
    int right = columns <= 80 && (columns == 0 || line[columns - 1] != ' ');
    CHECKF(right, "%zu columns: %.*s", columns, (int)columns, line);
    folded += strncmp(line, "                              ", 30) == 0;
  }
  char *to = help;
  for (char *from = help; *from != '\0'; from++) { /* each run of blanks becomes one */
    int blank = *from == ' ' || *from == '\n';
    if (!blank || to == help || to[-1] != ' ') *to++ = blank ? ' ' : *from;
  }
  *to = '\0';
  WR_EACH_OPTION(row, table) CHECKF(strstr(help, row->help) != NULL, "the words of --%s are cut", row->name);
  CHECKF(folded >= 3, "%d lines go on", folded); /* two of --top's and one of --stop's */
  free(help);

  char word[251]; /* a word longer than a line is cut, between its characters */
  for (int k = 0; k < 250; k += 2) memcpy(word + k, "\xC3\xA9", 3);
  wr_option row[] = {{.name = "x", .type = WR_OPTION_TEXT, .help = word}, {0}};
  out = open_memstream(&help, &size);
  wr_options_help(row, out);
  fclose(out);
  CHECK(strstr(help, "Options:\n      --x TEXT") == help);
  int characters = 0, widest = 0, column = 0;
  for (char *at = help; *at != '\0'; at++) {
    column = *at == '\n' ? 0 : column + (((unsigned char)*at & 0xC0) != 0x80);
    widest = column > widest ? column : widest;
    characters += *at == '\xC3' && at[1] == '\xA9';
  }
  CHECKF(characters == 125 && widest <= 80, "%d characters in lines of %d", characters, widest);
  free(help);
}

/* The phrases begin at column 30, so that 39 letters, a blank and 10 more fill a line of 80. */
static void test_full_lines(void) {
  CASE("lines of --help filled to the last column");
  for (int letters = 30; letters < 50; letters++) {
    char phrase[100], *help = NULL;
    size_t size;
    FILE *out = open_memstream(&help, &size);
    memset(phrase, 'a', sizeof phrase);
    snprintf(phrase + letters, sizeof phrase - (size_t)letters, " bbbbbbbbbb");
    const wr_option row[] = {{.name = "x", .type = WR_OPTION_FLAG, .help = phrase}, {0}};
    wr_options_help(row, out);
    fclose(out);
    CHECKF((strstr(help, phrase) != NULL) == (letters <= 39), "%d letters:\n%s", letters, help);
    CHECKF(strstr(help, " bbbbbbbbbb\n") != NULL, "%d letters:\n%s", letters, help);
    free(help);
  }
}

static void test_closest(void) {
  CASE("the closest name");
  static const char *const names[] = {"cusparse", "cusparse_coo", "cpu_csr", "merbit", "csr_warp", "top"};
  static const struct {
    const char *word, *closest;
  } cases[] = {{"merbit", "merbit"},
               {"merbti", "merbit"},
               {"mrbit", "merbit"},
               {"merrbit", "merbit"},
               {"nerbit", "merbit"},
               {"nerbid", "merbit"},
               {"nerbid0", NULL},
               {"cusparce", "cusparse"},
               {"cusparsecoo", "cusparse_coo"},
               {"tpo", "top"},
               {"to", "top"},
               {"pot", NULL},
               {"", NULL},
               {"xxxxxxxx", NULL},
               {"cpu_cs", "cpu_csr"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *found = wr_closest(cases[i].word, names, 6);
    int same = found == NULL || cases[i].closest == NULL ? found == cases[i].closest : !strcmp(found, cases[i].closest);
    CHECKF(same, "'%s' is closest to %s", cases[i].word, found != NULL ? found : "nothing");
  }
  CHECK(wr_closest("merbit", names, 0) == NULL);
  static const char *const tied[] = {"abcx", "abcy"};
  CHECK(wr_closest("abcz", tied, 2) == tied[0]);
  char longer[300];
  memset(longer, 'm', sizeof longer);
  longer[sizeof longer - 1] = '\0';
  CHECK(wr_closest(longer, names, 6) == NULL);
  CHECK(wr_closest(NULL, names, 6) == NULL && wr_closest("merbit", NULL, 2) == NULL);
  CHECK(wr_closest("merbit", names, -1) == NULL);
  static const char *const with_none[] = {NULL, "abcy"};
  CHECK(wr_closest("abcz", with_none, 2) == with_none[1]);
}

typedef struct knobs {
  int64_t sigma;
  int layout, dual;
  double share;
  char *note;
} knobs;

static void test_knobs(void) {
  CASE("knobs");
  static const wr_knob rows[] = {
      {.name = "sigma", .type = WR_OPTION_INT, .offset = offsetof(knobs, sigma), .min = 1, .max = 32, .value = "7"},
      {.name = "layout", .type = WR_OPTION_CHOICE, .offset = offsetof(knobs, layout), .choices = "auto|paper|packed"},
      {.name = "dual", .type = WR_OPTION_FLAG, .offset = offsetof(knobs, dual)},
      {.name = "share", .type = WR_OPTION_REAL, .offset = offsetof(knobs, share), .max = 1, .above_min = 1},
      {.name = "note", .type = WR_OPTION_TEXT, .offset = offsetof(knobs, note)},
      {0}};
  knobs k;
  char text[100];
  CHECK_OK(wr_options_default(rows, &k));
  CHECK_OK(wr_knobs_parse(rows, &k, NULL, "merbit"));
  CHECK_OK(wr_knobs_parse(rows, &k, "", "merbit"));
  wr_knobs_text(rows, &k, text, sizeof text);
  CHECKF(strcmp(text, "sigma=7:layout=auto:dual=no") == 0, "%s", text); /* share and note are not set */
  CHECK_OK(wr_knobs_parse(rows, &k, "layout=paper:sigma=1e1:dual:share=0.1:note=a=b", "merbit"));
  CHECK(k.sigma == 10 && k.layout == 1 && k.dual == 1 && k.share == 0.1 && strcmp(k.note, "a=b") == 0);
  wr_knobs_text(rows, &k, text, sizeof text);
  CHECKF(strcmp(text, "sigma=10:layout=paper:dual=yes:share=0.1:note=a=b") == 0, "%s", text);
  for (size_t size = 1; size <= sizeof text; size++) { /* cut, never overrun */
    char *exact = malloc(size), whole[] = "sigma=10:layout=paper:dual=yes:share=0.1:note=a=b";
    wr_knobs_text(rows, &k, exact, size);
    if (size < sizeof whole) whole[size - 1] = '\0';
    CHECKF(strcmp(exact, whole) == 0, "in %zu bytes: %s", size, exact);
    free(exact);
  }
  wr_knobs_text(NULL, NULL, text, sizeof text);
  CHECK(text[0] == '\0');
  static const char *const bad[][2] = {{"sigm=3", "knob of merbit: unknown name 'sigm' (did you mean 'sigma'?)"},
                                       {"zz=3", "unknown name 'zz' (there are: sigma, layout, dual, share, note)"},
                                       {"sigma=33", "sigma: 33 is not in [1, 32]"},
                                       {"sigma", "knob of merbit: sigma: needs a value, in [1, 32]"},
                                       {"sigma=", "sigma: '' is not a number"},
                                       {"layout=papers", "did you mean 'paper'?"},
                                       {"sigma=3:sigma=4", "sigma is given twice in 'sigma=3:sigma=4'; give it once"},
                                       {"sigma=3:dual:sigma=3", "knob of merbit: sigma is given twice"},
                                       {"dual:layout=paper:dual", "knob of merbit: dual is given twice"},
                                       {":", "a name is missing"},
                                       {"sigma=3:", "a name is missing"},
                                       {"=3", "a name"}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    CHECK_FAILS(WR_EUSAGE, wr_knobs_parse(rows, &k, bad[i][0], "merbit"));
    CHECK_MESSAGE(bad[i][1]);
  }
  CHECK_FAILS(WR_EUSAGE, wr_knobs_parse(NULL, NULL, "sigma=3", "reference"));
  CHECK_MESSAGE("there are none");
  wr_options_release(rows, &k);
}

static uint64_t next_random(uint64_t *state) { /* splitmix64 */
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static void test_fewest_digits(void) {
  CASE("reals have the fewest digits");
  static const wr_knob row[] = {{.name = "r", .type = WR_OPTION_REAL, .min = -INFINITY, .max = INFINITY}, {0}};
  static const struct {
    double value;
    const char *text;
  } cases[] = {{0.1, "r=0.1"},         {1e-9, "r=1e-9"},     {1e22, "r=1e22"},   {100, "r=100"},
               {-250000, "r=-250000"}, {1e6, "r=1e6"},       {0.85, "r=0.85"},   {1e-5, "r=1e-5"},
               {0.0001, "r=0.0001"},   {5e-324, "r=5e-324"}, {1e100, "r=1e100"}, {-0.0, "r=-0"}};
  char text[64], shorter[400];
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    wr_knobs_text(row, &cases[i].value, text, sizeof text);
    CHECKF(strcmp(text, cases[i].text) == 0, "%s, not %s", text, cases[i].text);
  }
  uint64_t state = 2;
  for (int i = 0; i < 1000; i++) {
    double value = ldexp((double)(next_random(&state) >> 11), (int)(next_random(&state) % 200) - 150);
    wr_knobs_text(row, &value, text, sizeof text);
    CHECKF(strtod(text + 2, NULL) == value, "%a is printed as %s", value, text);
    int digits = 0;
    for (char *at = text + 2; *at != '\0' && *at != 'e'; at++)
      digits += *at >= '0' && *at <= '9' && (digits > 0 || *at > '0');
    if (digits < 2) continue;
    snprintf(shorter, sizeof shorter, "%.*g", digits - 1, value);
    CHECKF(strtod(shorter, NULL) != value, "%s would do for %s", shorter, text);
  }
}

int main(void) {
  test_help();
  test_full_lines();
  test_closest();
  test_knobs();
  test_fewest_digits();
  return wr_test_report("option_text");
}
