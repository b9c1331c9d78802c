/* Options from text: every type with its range, unknown names, command lines. */
#define _DEFAULT_SOURCE /* mkstemp */
#include "config/option.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/check.h"
#include "config/memory.h"
#include "tests/config/option_table.h"

static void test_defaults(void) {
  CASE("defaults");
  settings s = fresh();
  CHECK(s.help == 0 && s.verbose == 0 && s.graph == 1 && s.device == 2 && s.stop == 0);
  CHECK(s.top == 10 && s.repeat == 0 && s.any == 0);
  CHECK(s.tolerance == 1e-9 && s.damping == 0.85 && s.real == 0);
  CHECK(s.config == NULL && s.output == NULL && s.title != NULL && strcmp(s.title, "no title") == 0);
  wr_options_release(table, &s);
  CHECK(s.title == NULL);
  wr_options_release(table, &s); /* twice is harmless */

  wr_option broken[] = {table[10], table[6], {0}};
  broken[1].value = "1e7";
  CHECK_FAILS(WR_EINTERNAL, wr_options_default(broken, &s));
  CHECK_MESSAGE("top: 1e7 is not in [0, 1e6]");
  CHECK(s.title == NULL); /* the text set before is given back */
  CHECK_OK(wr_options_default(NULL, &s));
  CHECK(wr_option_find(table, "top") == &table[6] && wr_option_find(table, "to") == NULL);
  CHECK(wr_option_find(NULL, "top") == NULL);
}

/* Sets table[name] := text, which must fail with a sentence that ends with what, or, if what is NULL, succeed. */
static void check_set(settings *s, const char *name, const char *text, const char *what) {
  char where[64], expected[400];
  snprintf(where, sizeof where, "--%s", name);
  if (what == NULL) {
    wr_status status = wr_option_set(table, s, name, text, where);
    CHECKF(status == WR_OK, "%s = %s: %s", name, text, wr_status_message());
    return;
  }
  settings before = *s;
  wr_status status = wr_option_set(table, s, name, text, where);
  CHECKF(status == WR_EUSAGE, "%s = %s: %s", name, text, wr_status_name(status));
  CHECKF(memcmp(&before, s, sizeof before) == 0, "%s = %s is refused and yet changes something", name, text);
  snprintf(expected, sizeof expected, "--%s: %s", name, what);
  CHECKF(strcmp(wr_status_message(), expected) == 0, "'%s', not '%s'", wr_status_message(), expected);
}

static void test_whole_numbers(void) {
  CASE("whole numbers");
  static const struct {
    const char *text;
    int64_t value;
  } good[] = {{"0", 0},
              {"-0", 0},
              {"+7", 7},
              {"007", 7},
              {"1e6", 1000000},
              {"1E+6", 1000000},
              {"1.5e3", 1500},
              {"-25e1", -250},
              {"1200e-2", 12},
              {"0e999999999999999999999", 0},
              {"0.000e-5", 0},
              {"9223372036854775807", INT64_MAX},
              {"-9223372036854775808", INT64_MIN},
              {"9007199254740993", INT64_C(9007199254740993)},
              {"922337203685477580.7e1", INT64_MAX},
              {"0.00000000000000000000001e25", 100}};
  settings s = fresh();
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    s.any = 77;
    check_set(&s, "any", good[i].text, NULL);
    CHECKF(s.any == good[i].value, "%s is read as %lld", good[i].text, (long long)s.any);
  }
  check_set(&s, "top", "1e6", NULL);
  check_set(&s, "top", "0", NULL);
  check_set(&s, "repeat", "9223372036854775807", NULL);
  wr_options_release(table, &s);
}

static void test_wrong_whole_numbers(void) {
  CASE("wrong whole numbers");
  static const struct {
    const char *text, *what;
  } bad[] = {{"", "'' is not a number"},
             {"x", "'x' is not a number"},
             {"1,2", "'1,2' is not one number: give one, and run once for each"},
             {"-", "'-' is not a number"},
             {"1 ", "'1 ' is not a number"},
             {" 1", "' 1' is not a number"},
             {"0x10", "'0x10' is not a number"},
             {"10k", "'10k' is not a number"},
             {"1e", "'1e' is not a number"},
             {"1e+", "'1e+' is not a number"},
             {"e3", "'e3' is not a number"},
             {"--1", "'--1' is not a number"},
             {"1.2.3", "'1.2.3' is not a number"},
             {".", "'.' is not a number"},
             {"nan", "'nan' is not a number"},
             {"inf", "'inf' is not a number"},
             {"1.5", "1.5 is not a whole number"},
             {"15e-1", "15e-1 is not a whole number"},
             {"1e-99999999999999999999", "1e-99999999999999999999 is not a whole number"},
             {"9223372036854775808", "9223372036854775808 does not fit in 64 bits"},
             {"-9223372036854775809", "-9223372036854775809 does not fit in 64 bits"},
             {"1e19", "1e19 does not fit in 64 bits"},
             {"1e999999999999999999999", "1e999999999999999999999 does not fit in 64 bits"},
             {"a\x1b[2Jb\n", "'a?[2Jb?' is not a number"}};
  settings s = fresh();
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) check_set(&s, "any", bad[i].text, bad[i].what);
  check_set(&s, "top", "-1", "-1 is not in [0, 1e6]");
  check_set(&s, "top", "1000001", "1000001 is not in [0, 1e6]");
  check_set(&s, "top", "99999999999999999999", "99999999999999999999 is not in [0, 1e6]");
  check_set(&s, "repeat", "0", "0 is not at least 1");
  wr_options_release(table, &s);
}

static void test_whole_bounds(void) {
  CASE("bounds that a double holds and its neighbours do not");
  wr_option row[] = {{.name = "n", .type = WR_OPTION_INT, .min = -0x1p53, .max = 0x1p53}, {0}};
  int64_t value = 0;
  CHECK_OK(wr_option_set(row, &value, "n", "9007199254740992", "n"));
  CHECK_FAILS(WR_EUSAGE, wr_option_set(row, &value, "n", "9007199254740993", "n"));
  CHECK_OK(wr_option_set(row, &value, "n", "-9007199254740992", "n"));
  CHECK_FAILS(WR_EUSAGE, wr_option_set(row, &value, "n", "-9007199254740993", "n"));
  row[0].above_min = row[0].below_max = 1;
  CHECK_FAILS(WR_EUSAGE, wr_option_set(row, &value, "n", "9007199254740992", "n"));
  CHECK_FAILS(WR_EUSAGE, wr_option_set(row, &value, "n", "-9007199254740992", "n"));
  CHECK_MESSAGE("-9007199254740992 is not in (-9007199254740992, 9007199254740992)");
  row[0] = (wr_option){.name = "n", .type = WR_OPTION_INT, .min = 0.5, .max = 2.5};
  CHECK_FAILS(WR_EUSAGE, wr_option_set(row, &value, "n", "0", "n"));
  CHECK_FAILS(WR_EUSAGE, wr_option_set(row, &value, "n", "3", "n"));
  CHECK_OK(wr_option_set(row, &value, "n", "2", "n"));
  CHECK(value == 2);
}

static void test_reals(void) {
  CASE("reals");
  settings s = fresh();
  static const char *const good[] = {"0",
                                     "-0",
                                     "1",
                                     "+1.",
                                     ".5",
                                     "1e-300",
                                     "4.9406564584124654e-324",
                                     "-1E+308",
                                     "1.7976931348623157e308",
                                     "0.1000000000000000055511151231257827",
                                     "0e99999"};
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    double expected = strtod(good[i], NULL);
    s.real = 77;
    check_set(&s, "real", good[i], NULL);
    CHECKF(memcmp(&s.real, &expected, sizeof expected) == 0, "%s is read as %.17g", good[i], s.real);
  }
  static const char *const bad[] = {"",   "inf", "-inf", "nan", "NAN(1)", "infinity", "0x1p3", "1,5",
                                    "1e", "1d3", " 1",   "1 ",  "1f",     "-",        "+-1",   "1..2"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    char what[64];
    snprintf(what, sizeof what, "'%s' is not a number", bad[i]);
    check_set(&s, "real", bad[i], what);
  }
  check_set(&s, "real", "1e309", "1e309 is too large for a double");
  check_set(&s, "real", "-1e999999", "-1e999999 is too large for a double");
  check_set(&s, "real", "1e-400", "1e-400 is too small for a double");
  check_set(&s, "damping", "1.2", "1.2 is not in [0, 1)");
  check_set(&s, "damping", "1", "1 is not in [0, 1)");
  check_set(&s, "damping", "-1e-300", "-1e-300 is not in [0, 1)");
  check_set(&s, "damping", "1e999", "1e999 is not in [0, 1)");
  check_set(&s, "damping", "0", NULL);
  check_set(&s, "damping", "0.9999999999999999", NULL);
  check_set(&s, "tolerance", "0", "0 is not in (0, 1]");
  check_set(&s, "tolerance", "1.0000000000000002", "1.0000000000000002 is not in (0, 1]");
  check_set(&s, "tolerance", "1", NULL);
  CHECK(s.tolerance == 1);
  wr_options_release(table, &s);
}

static void test_other_types(void) {
  CASE("flags, choices, text");
  settings s = fresh();
  check_set(&s, "graph", "no", NULL);
  CHECK(s.graph == 0);
  check_set(&s, "graph", NULL, NULL);
  CHECK(s.graph == 1);
  check_set(&s, "graph", "true", "'true' is neither yes nor no");
  check_set(&s, "device", "cuda", NULL);
  CHECK(s.device == 1);
  check_set(&s, "device", "cpu", NULL);
  CHECK(s.device == 0);
  check_set(&s, "device", "CPU", "'CPU' is not one of cpu|cuda|auto");
  check_set(&s, "device", "cud", "'cud' is not one of cpu|cuda|auto (did you mean 'cuda'?)");
  check_set(&s, "device", "", "'' is not one of cpu|cuda|auto");
  check_set(&s, "device", "cpu|cuda", "'cpu|cuda' is not one of cpu|cuda|auto");
  check_set(&s, "device", NULL, "needs a value, one of cpu|cuda|auto");
  check_set(&s, "tolerance", NULL, "needs a value, in (0, 1]");
  check_set(&s, "output", NULL, "needs a value");
  check_set(&s, "binary", "x", "there is no binary yet");
  char text[] = "first";
  check_set(&s, "output", text, NULL);
  text[0] = 'F';
  CHECK(s.output != text && strcmp(s.output, "first") == 0); /* a copy */
  check_set(&s, "output", s.output + 1, NULL);               /* part of what it replaces */
  CHECK(strcmp(s.output, "irst") == 0);
  check_set(&s, "output", "", NULL);
  CHECK(s.output != NULL && s.output[0] == '\0');
  wr_options_release(table, &s);
}

static void test_unknown(void) {
  CASE("unknown names");
  settings s = fresh();
  CHECK_FAILS(WR_EUSAGE, wr_option_set(table, &s, "toleranse", "1", "run.conf:3"));
  CHECK(strcmp(wr_status_message(), "run.conf:3: unknown name 'toleranse' (did you mean 'tolerance'?)") == 0);
  CHECK_FAILS(WR_EUSAGE, wr_option_set(table, &s, "dampign", "1", "--dampign"));
  CHECK(strcmp(wr_status_message(), "--dampign: unknown option (did you mean --damping?)") == 0);
  CHECK_FAILS(WR_EUSAGE, wr_option_set(table, &s, "xyzzy", "1", "run.conf:3"));
  CHECK_MESSAGE("there are: device, graph, tolerance");
  CHECK_FAILS(WR_EUSAGE, wr_option_set(NULL, &s, "xyzzy", "1", "knob of reference"));
  CHECK_MESSAGE("knob of reference: unknown name 'xyzzy' (there are none)");
  CHECK_FAILS(WR_EUSAGE, wr_option_set(table, &s, "damping", "2", "run.conf:3"));
  CHECK(strcmp(wr_status_message(), "run.conf:3: damping: 2 is not in [0, 1)") == 0);
  char longer[5000];
  memset(longer, 'y', sizeof longer);
  longer[sizeof longer - 1] = '\0';
  CHECK_FAILS(WR_EUSAGE, wr_option_set(table, &s, longer, "1", "run.conf:3"));
  CHECK_MESSAGE("yyy...' (there are");
  CHECK_FAILS(WR_EUSAGE, wr_option_set(table, &s, "top", longer, "run.conf:3"));
  CHECK_MESSAGE("yyy...' is not a number");
  wr_options_release(table, &s);
}

/* A command line of at most 15 words, parsed into fresh settings. argv is the permuted copy. */
typedef struct command {
  settings s;
  wr_status status;
  int first_operand, argc;
  char words[15][128], *argv[16];
} command;

static void parse(command *c, const char *line) {
  memset(c, 0, sizeof *c);
  c->s = fresh();
  for (line += strspn(line, " "); *line != '\0'; line += strspn(line, " ")) {
    size_t length = strcspn(line, " ");
    snprintf(c->words[c->argc], sizeof c->words[0], "%.*s", (int)length, line);
    c->argv[c->argc] = c->words[c->argc];
    c->argc++;
    line += length;
  }
  c->status = wr_options_parse(table, &c->s, c->argc, c->argv, &c->first_operand);
}

/* Parses a line that must be right; the settings stay until release. */
static void parse_right(command *c, const char *line, const char *operands) {
  parse(c, line);
  CHECKF(c->status == WR_OK, "%s: %s", line, wr_status_message());
  char rest[300] = "";
  for (int i = c->first_operand; i < c->argc; i++)
    snprintf(rest + strlen(rest), sizeof rest - strlen(rest), "%s%s", rest[0] != '\0' ? " " : "", c->argv[i]);
  CHECKF(strcmp(rest, operands) == 0, "%s: operands '%s'", line, rest);
}

static void test_command_line(void) {
  CASE("command lines");
  command c;
  parse_right(&c, "p", "");
  CHECK(c.first_operand == 1 && c.s.top == 10 && c.s.verbose == 0);
  wr_options_release(table, &c.s);
  parse_right(&c, "p a.mtx -t 1e-3 -n5 b.mtx --output=x -vq --graph=no --device cuda --real -5", "a.mtx b.mtx");
  CHECK(c.s.tolerance == 1e-3 && c.s.top == 5 && c.s.verbose && c.s.quiet && !c.s.graph && c.s.device == 1);
  CHECK(c.s.real == -5 && strcmp(c.s.output, "x") == 0);
  wr_options_release(table, &c.s);
  parse_right(&c, "p -v -- -q --top", "-q --top");
  CHECK(c.s.verbose && !c.s.quiet);
  wr_options_release(table, &c.s);
  parse_right(&c, "p -o one --output two --output=three -", "-");
  CHECK(strcmp(c.s.output, "three") == 0);
  wr_options_release(table, &c.s);
  parse_right(&c, "p --damp 0.5 --tol=0.25 --verb x --gr=no --help", "x");
  CHECK(c.s.damping == 0.5 && c.s.tolerance == 0.25 && c.s.verbose && !c.s.graph && c.s.help);
  wr_options_release(table, &c.s);
  parse_right(&c, "p --output= --title=a=b", "");
  CHECK(c.s.output[0] == '\0' && strcmp(c.s.title, "a=b") == 0);
  wr_options_release(table, &c.s);
  int first = 7;
  char *none[] = {NULL};
  CHECK_OK(wr_options_parse(table, &c.s, 0, none, &first));
  CHECK(first == 0);
  char name[] = "p", operand[] = "x", *argv[] = {name, operand, NULL};
  CHECK_OK(wr_options_parse(NULL, NULL, 2, argv, &first));
  CHECK(first == 1);
}

static void test_repeated(void) {
  CASE("options that are given again");
  static const wr_option rows[] = {
      {.name = "file", .letter = 'f', .type = WR_OPTION_TEXT, .offset = 0, .repeats = 1, .help = "a file"}, {0}};
  char program[] = "p", letter[] = "-f", first[] = "a b", operand[] = "x", joined[] = "--file=c", last[] = "d",
       other[] = "z";
  char *line[] = {program, letter, first, operand, joined, letter, last, NULL},
       *again[] = {program, letter, other, NULL};
  char *file, *text, *written, **texts;
  int operands;
  size_t size;
  int64_t count;
  CHECK_OK(wr_options_default(rows, &file));
  CHECK_OK(wr_options_parse(rows, &file, 7, line, &operands));
  CHECK(strcmp(file, "a b\nc\nd") == 0 && operands == 6);
  CHECK_OK(wr_option_split(file, &texts, &count));
  CHECK(count == 3 && strcmp(texts[0], "a b") == 0 && strcmp(texts[1], "c") == 0 && strcmp(texts[2], "d") == 0);
  wr_free(texts);
  CHECK_OK(wr_options_text(rows, &file, &text));
  CHECKF(strcmp(text, "file = \"a b\\nc\\nd\"\n") == 0, "%s", text);
  FILE *out = open_memstream(&written, &size);
  wr_options_command(rows, &file, out);
  fclose(out);
  CHECKF(strcmp(written, " --file 'a b' --file c --file d") == 0, "%s", written);
  CHECK_OK(wr_options_parse(rows, &file, 3, again, &operands)); /* what was there before the line gives way */
  CHECK(strcmp(file, "z") == 0);
  CHECK_OK(wr_option_split(NULL, &texts, &count));
  CHECK(texts == NULL && count == 0);
  CHECK_OK(wr_option_split("", &texts, &count));
  CHECK(count == 1 && texts[0][0] == '\0');
  wr_free(texts), wr_free(text), free(written);
  wr_options_release(rows, &file);
}

static void test_wrong_command_lines(void) {
  CASE("wrong command lines");
  static const struct {
    const char *line, *what;
  } cases[] = {{"p --dampign 0.5", "--dampign: unknown option (did you mean --damping?)"},
               {"p --dampign=0.5 x", "--dampign: unknown option (did you mean --damping?)"},
               {"p x --xyzzy y", "--xyzzy: unknown option ("},
               {"p --t 3", "--t: ambiguous, one of --tolerance, --top, --title"},
               {"p x --to=3", "--to: ambiguous, one of --tolerance, --top"},
               {"p -z", "-z: unknown option"},
               {"p -vzq", "-z: unknown option"},
               {"p -:", "-:: unknown option"},
               {"p -\xC3\xA9", "-\\xC3: unknown option"},
               {"p -t", "--tolerance: needs a value, in (0, 1]"},
               {"p x -vt", "--tolerance: needs a value, in (0, 1]"},
               {"p --top", "--top: needs a value, in [0, 1e6]"},
               {"p --out", "--output: needs a value"},
               {"p --device gpu", "--device: 'gpu' is not one of cpu|cuda|auto (did you mean 'cpu'?)"},
               {"p --damping 1.2", "--damping: 1.2 is not in [0, 1)"},
               {"p -n1.5", "--top: 1.5 is not a whole number"},
               {"p --verbose=maybe", "--verbose: 'maybe' is neither yes nor no"},
               {"p --binary x", "--binary: there is no binary yet"},
               {"p --config", "--config: needs a value"},
               {"p --config a -c b", "--config: given twice"},
               {"p --config=", ": cannot be opened"},
               {"p --=x", "--: ambiguous, one of --device, --graph"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    command c;
    parse(&c, cases[i].line);
    wr_status expected = strstr(cases[i].what, "opened") != NULL ? WR_EINPUT : WR_EUSAGE;
    CHECKF(c.status == expected, "%s: %s", cases[i].line, wr_status_name(c.status));
    CHECKF(strncmp(wr_status_message(), cases[i].what, strlen(cases[i].what)) == 0, "%s: '%s', not '%s'", cases[i].line,
           wr_status_message(), cases[i].what);
    wr_options_release(table, &c.s);
    parse_right(&c, "p x -v", "x"); /* nothing is left over from the failure */
    CHECK(c.s.verbose);
    wr_options_release(table, &c.s);
  }
}

static void test_silence(void) {
  CASE("getopt prints nothing itself");
  char path[] = "/tmp/wr_test_option_XXXXXX", byte;
  int file = mkstemp(path), kept = dup(STDERR_FILENO);
  CHECK(file >= 0 && kept >= 0);
  if (file < 0 || kept < 0) return;
  fflush(stderr);
  dup2(file, STDERR_FILENO);
  command c;
  static const char *const lines[] = {"p --nonsense", "p -z", "p --t", "p -t"};
  int failed = 0;
  for (int i = 0; i < 4; i++) {
    parse(&c, lines[i]);
    failed += c.status == WR_EUSAGE;
    wr_options_release(table, &c.s);
  }
  fflush(stderr);
  dup2(kept, STDERR_FILENO);
  CHECK(failed == 4);
  CHECK(lseek(file, 0, SEEK_SET) == 0 && read(file, &byte, 1) == 0);
  close(kept);
  close(file);
  unlink(path);
}

int main(void) {
  test_defaults();
  test_whole_numbers();
  test_wrong_whole_numbers();
  test_whole_bounds();
  test_reals();
  test_other_types();
  test_unknown();
  test_command_line();
  test_repeated();
  test_wrong_command_lines();
  test_silence();
  return wr_test_report("option");
}
