#define _DEFAULT_SOURCE /* open_memstream */
#include "config/option.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "config/argument.h"
#include "config/memory.h"
#include "config/text.h"

enum {
  SHOWN = 64,             /* bytes of a user's text that an error repeats                         */
  LIST = 256,             /* bytes of a list of names in an error                                 */
  LONG_OPTION = 256,      /* getopt's code of the table's first row; letters are less             */
  WORD = 64,              /* bytes of a number as text, and of the words that wr_closest compares */
  WHERE = 4096 + 32,      /* bytes of "path:line": a longer path cannot be opened                 */
  LONGEST_LINE = 1 << 24, /* bytes                                                                */
  HELP_AT = 30            /* column at which the help phrases begin                               */
};

const wr_option *wr_option_find(const wr_option *table, const char *name) {
  WR_EACH_OPTION(row, table) {
    if (name != NULL && strcmp(row->name, name) == 0) return row;
  }
  return NULL;
}

/* ---- error sentences ---- */

static int is_control(char byte) { return (unsigned char)byte < ' ' || byte == 127; }

static int has_control(const char *text) {
  while (*text != '\0' && !is_control(*text)) text++;
  return *text != '\0';
}

/* The text as an error repeats it: control bytes as '?', cut (between characters of UTF-8) when long. */
static const char *shown(const char *text, char buffer[SHOWN]) {
  size_t length = 0;
  for (; text[length] != '\0' && length < SHOWN - 4; length++)
    buffer[length] = is_control(text[length]) ? '?' : text[length];
  int cut = text[length] != '\0';
  while (cut && length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) length--;
  memcpy(buffer + length, cut ? "..." : "", cut ? 4 : 1);
  return buffer;
}

/* Whether `where` is "--name", so that the sentence need not repeat the name. */
static int says_name(const char *where, const char *name) {
  return strncmp(where, "--", 2) == 0 && strcmp(where + 2, name) == 0;
}

static wr_status refuse(const wr_option *row, const char *where, const char *format, ...) WR_PRINTF(3, 4);

static wr_status refuse(const wr_option *row, const char *where, const char *format, ...) {
  char sentence[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  if (says_name(where, row->name)) return wr_fail(WR_EUSAGE, "%s: %s", where, sentence);
  return wr_fail(WR_EUSAGE, "%s: %s: %s", where, row->name, sentence);
}

static wr_status refuse_range(const wr_option *row, const char *where, const char *text) {
  char buffer[SHOWN], range[LIST];
  wr_option_range(row, range, sizeof range);
  return refuse(row, where, "%s is not %s", shown(text, buffer), range);
}

/* The names that begin with prefix[length], each after `dashes`; returns 0 when they do not all fit. */
static int list_names(const wr_option *table, const char *prefix, size_t length, const char *dashes, char list[LIST]) {
  size_t used = 0;
  list[0] = '\0';
  WR_EACH_OPTION(row, table) {
    if (strncmp(row->name, prefix, length) != 0) continue;
    const char *comma = used > 0 ? ", " : "";
    if (used + strlen(comma) + strlen(dashes) + strlen(row->name) + sizeof ", ..." > LIST) {
      snprintf(list + used, LIST - used, "%s...", comma);
      return 0;
    }
    used += (size_t)snprintf(list + used, LIST - used, "%s%s%s", comma, dashes, row->name);
  }
  return 1;
}

static wr_status unknown(const wr_option *table, const char *name, const char *where) {
  const char *close = NULL;
  WR_EACH_OPTION(row, table) {
    const char *pair[] = {row->name, row->name};
    if (close != NULL) pair[0] = close;
    close = wr_closest(name + strspn(name, "-"), pair, 2);
  }
  int on_command_line = says_name(where, name);
  char text[SHOWN], list[LIST], help[LIST + 32];
  if (close != NULL)
    snprintf(help, sizeof help, on_command_line ? "did you mean --%s?" : "did you mean '%s'?", close);
  else if (table == NULL || table->name == NULL)
    snprintf(help, sizeof help, "there are none");
  else if (list_names(table, "", 0, on_command_line ? "--" : "", list))
    snprintf(help, sizeof help, "there are: %s", list);
  else
    snprintf(help, sizeof help, "--help lists the options");
  if (on_command_line) return wr_fail(WR_EUSAGE, "--%s: unknown option (%s)", shown(name, text), help);
  return wr_fail(WR_EUSAGE, "%s: unknown name '%s' (%s)", where, shown(name, text), help);
}

/* ---- numbers ---- */

/* A decimal number's text: digits * 10^(exponent - nfraction). */
typedef struct decimal {
  const char *digits; /* the first digit, or the point before it           */
  int64_t ndigits;    /* without the point                                 */
  int64_t nfraction;  /* those after the point                             */
  int64_t exponent;   /* as written; far beyond any type it stops growing  */
  int negative;
} decimal;

/* Takes a text apart; 0 when it is not wholly a decimal number (blanks, hexadecimal, inf and nan are not). */
static int scan_decimal(const char *text, decimal *number) {
  *number = (decimal){.negative = *text == '-'};
  if (*text == '-' || *text == '+') text++;
  number->digits = text;
  for (int after_point = 0; (*text >= '0' && *text <= '9') || (*text == '.' && !after_point); text++) {
    if (*text == '.') {
      after_point = 1;
    } else {
      number->ndigits++;
      number->nfraction += after_point;
    }
  }
  if (number->ndigits == 0) return 0;
  if (*text != 'e' && *text != 'E') return *text == '\0';
  int falling = *++text == '-';
  if (*text == '-' || *text == '+') text++;
  if (*text == '\0') return 0;
  for (; *text >= '0' && *text <= '9'; text++)
    if (number->exponent < INT64_MAX / 100) number->exponent = 10 * number->exponent + (*text - '0');
  if (falling) number->exponent = -number->exponent;
  return *text == '\0';
}

/* *value := the number, exactly. 0 when it is not whole. One that does not fit is clamped and sets *overflow. */
static int integer_value(const decimal *number, int64_t *value, int *overflow) {
  int sign = number->negative ? -1 : 1;
  int64_t place = number->ndigits - 1 + number->exponent - number->nfraction; /* power of ten of the next digit */
  *value = 0;
  *overflow = 0;
  int64_t left = number->ndigits;
  for (const char *digit = number->digits; left > 0; digit++) {
    if (*digit == '.') continue;
    int units = sign * (*digit - '0');
    if (place < 0 && units != 0) return 0;
    if (place >= 0 && (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, units, value)))
      *overflow = 1;
    place--;
    left--;
  }
  for (; place >= 0 && *value != 0 && !*overflow; place--)
    if (__builtin_mul_overflow(*value, 10, value)) *overflow = 1;
  if (*overflow) *value = number->negative ? INT64_MIN : INT64_MAX;
  return 1;
}

/* Compared as integers, since a double does not hold every int64; a bound beyond int64 does not limit. */
static int integer_in_range(const wr_option *row, int64_t value) {
  if (row->min > -0x1p63) {
    if (row->min >= 0x1p63) return 0;
    if (row->above_min ? value <= (int64_t)floor(row->min) : value < (int64_t)ceil(row->min)) return 0;
  }
  if (row->max < 0x1p63) {
    if (row->max < -0x1p63) return 0;
    if (row->below_max ? value >= (int64_t)ceil(row->max) : value > (int64_t)floor(row->max)) return 0;
  }
  return 1;
}

static wr_status set_integer(const wr_option *row, int64_t *value, const char *text, const char *where) {
  char buffer[SHOWN];
  decimal number;
  int64_t parsed;
  int overflow;
  if (strchr(text, ',') != NULL)
    return refuse(row, where, "'%s' is not one number: give one, and run once for each", shown(text, buffer));
  if (!scan_decimal(text, &number)) return refuse(row, where, "'%s' is not a number", shown(text, buffer));
  if (!integer_value(&number, &parsed, &overflow))
    return refuse(row, where, "%s is not a whole number", shown(text, buffer));
  if (!integer_in_range(row, parsed)) return refuse_range(row, where, text);
  if (overflow) return refuse(row, where, "%s does not fit in 64 bits", shown(text, buffer));
  *value = parsed;
  return WR_OK;
}

static wr_status set_real(const wr_option *row, double *value, const char *text, const char *where) {
  char buffer[SHOWN];
  decimal number;
  if (!scan_decimal(text, &number)) return refuse(row, where, "'%s' is not a number", shown(text, buffer));
  errno = 0;
  double parsed = strtod(text, NULL);
  if (parsed == 0 && errno == ERANGE) return refuse(row, where, "%s is too small for a double", shown(text, buffer));
  if (parsed < row->min || parsed > row->max || (row->above_min && parsed == row->min) ||
      (row->below_max && parsed == row->max))
    return refuse_range(row, where, text);
  if (!isfinite(parsed)) return refuse(row, where, "%s is too large for a double", shown(text, buffer));
  *value = parsed;
  return WR_OK;
}

/* ---- the other types ---- */

static wr_status set_flag(const wr_option *row, int *value, const char *text, const char *where) {
  char buffer[SHOWN];
  int yes = strcmp(text, "yes") == 0;
  if (!yes && strcmp(text, "no") != 0) return refuse(row, where, "'%s' is neither yes nor no", shown(text, buffer));
  *value = yes;
  return WR_OK;
}

static wr_status set_choice(const wr_option *row, int *value, const char *text, const char *where);

static wr_status set_text(const wr_option *row, char **value, const char *text, const char *where) {
  size_t bytes = strlen(text) + 1;
  if (row->choices != NULL) {
    char name[WORD];
    int position;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
    wr_status known = set_choice(row, &position, name, where);
    if (known != WR_OK) return known;
  }
  char *copy;
  PASS(wr_alloc(&copy, (int64_t)bytes, 1, "the text of an option"));
  memcpy(copy, text, bytes);
  wr_free(*value); /* only now: text may be part of it */
  *value = copy;
  return WR_OK;
}

static wr_status set_choice(const wr_option *row, int *value, const char *text, const char *where) {
  char piece[SHOWN], best[SHOWN] = "", buffer[SHOWN], range[LIST];
  int position = 0;
  for (const char *choice = row->choices; choice != NULL; position++) {
    size_t length = strcspn(choice, "|");
    if (strlen(text) == length && memcmp(text, choice, length) == 0) {
      *value = position;
      return WR_OK;
    }
    snprintf(piece, sizeof piece, "%.*s", (int)length, choice);
    const char *pair[] = {best, piece};
    const char *close = wr_closest(text, best[0] != '\0' ? pair : pair + 1, best[0] != '\0' ? 2 : 1);
    if (close == piece) memcpy(best, piece, sizeof best);
    choice = choice[length] == '|' ? choice + length + 1 : NULL;
  }
  wr_option_range(row, range, sizeof range);
  if (best[0] == '\0') return refuse(row, where, "'%s' is not %s", shown(text, buffer), range);
  return refuse(row, where, "'%s' is not %s (did you mean '%s'?)", shown(text, buffer), range, best);
}

/* The one place where text becomes a value. A flag without text is yes. */
static wr_status set_row(const wr_option *row, void *settings, const char *text, const char *where) {
  if (text == NULL && row->type == WR_OPTION_FLAG) text = "yes";
  if (text == NULL) {
    char range[LIST];
    wr_option_range(row, range, sizeof range);
    return refuse(row, where, "needs a value%s%s", range[0] != '\0' ? ", " : "", range);
  }
  void *value = (char *)settings + row->offset;
  switch (row->type) {
    case WR_OPTION_FLAG: return set_flag(row, value, text, where);
    case WR_OPTION_INT: return set_integer(row, value, text, where);
    case WR_OPTION_REAL: return set_real(row, value, text, where);
    case WR_OPTION_TEXT: return set_text(row, value, text, where);
    case WR_OPTION_CHOICE: return set_choice(row, value, text, where);
  }
  return wr_fail(WR_EINTERNAL, "%s: the row '%s' has no type", where, row->name);
}

wr_status wr_option_set(const wr_option *table, void *settings, const char *name, const char *text, const char *where) {
  if (table) WR_NEED(settings);
  WR_NEED(name);
  WR_NEED(where);
  const wr_option *row = wr_option_find(table, name);
  if (row == NULL) return unknown(table, name, where);
  if (row->missing != NULL) return refuse(row, where, "%s", row->missing);
  return set_row(row, settings, text, where);
}

/* The old contents of the settings are not read: they may be uninitialised memory. */
wr_status wr_options_default(const wr_option *table, void *settings) {
  static const size_t sizes[] = {[WR_OPTION_FLAG] = sizeof(int),
                                 [WR_OPTION_INT] = sizeof(int64_t),
                                 [WR_OPTION_REAL] = sizeof(double),
                                 [WR_OPTION_TEXT] = sizeof(char *),
                                 [WR_OPTION_CHOICE] = sizeof(int)};
  WR_EACH_OPTION(row, table) {
    WR_NEED(settings);
    WR_REFUSE_IF((unsigned)row->type > WR_OPTION_CHOICE, "the row '%s' of the table has no type", row->name);
    memset((char *)settings + row->offset, 0, sizes[row->type]);
  }
  WR_EACH_OPTION(row, table) {
    if (row->value == NULL) continue;
    wr_status status = set_row(row, settings, row->value, "the default");
    if (status == WR_OK) continue;
    wr_options_release(table, settings);
    return status == WR_EUSAGE ? wr_fail(WR_EINTERNAL, "%s", wr_status_message()) : status;
  }
  return WR_OK;
}

void wr_options_release(const wr_option *table, void *settings) {
  WR_EACH_OPTION(row, table) {
    if (row->type != WR_OPTION_TEXT || settings == NULL) continue;
    char **text = (char **)(void *)((char *)settings + row->offset);
    wr_free(*text);
    *text = NULL;
  }
}

/* ---- from values to text ---- */

/* The fewest digits that strtod reads back to the same bits; 100 and 1e-9, not 1e+02 and 1e-09. */
static void real_text(double value, char text[WORD]) {
  int is_short_integer = value == floor(value) && fabs(value) < 1e6;
  for (int digits = is_short_integer ? 6 : 1; digits <= DBL_DECIMAL_DIG; digits++) {
    snprintf(text, WORD, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  char *exponent = strchr(text, 'e');
  if (exponent != NULL) snprintf(exponent + 1, 8, "%d", atoi(exponent + 1));
}

void wr_option_range(const wr_option *row, char *text, size_t size) {
  char least[WORD], most[WORD];
  if (text == NULL || size == 0) return;
  text[0] = '\0';
  if (row == NULL) return;
  double unlimited = row->type == WR_OPTION_INT ? 0x1p63 : DBL_MAX;
  if (row->type == WR_OPTION_FLAG) snprintf(text, size, "yes or no");
  if (row->type == WR_OPTION_CHOICE) snprintf(text, size, "one of %s", row->choices != NULL ? row->choices : "nothing");
  if (row->type == WR_OPTION_TEXT && row->choices != NULL) snprintf(text, size, "one of %s", row->choices);
  if (row->type != WR_OPTION_INT && row->type != WR_OPTION_REAL) return;
  int has_least = row->min > -unlimited, has_most = row->max < unlimited;
  if (has_least) real_text(row->min, least);
  if (has_most) real_text(row->max, most);
  if (has_least && has_most)
    snprintf(text, size, "in %c%s, %s%c", row->above_min ? '(' : '[', least, most, row->below_max ? ')' : ']');
  else if (has_least)
    snprintf(text, size, "%s %s", row->above_min ? "above" : "at least", least);
  else if (has_most)
    snprintf(text, size, "%s %s", row->below_max ? "below" : "at most", most);
}

/* The choice at a position as a slice of `choices`; NULL past the last. */
static const char *choice_at(const char *choices, int position, size_t *length) {
  for (; choices != NULL; position--) {
    *length = strcspn(choices, "|");
    if (position == 0) return choices;
    choices = choices[*length] == '|' ? choices + *length + 1 : NULL;
  }
  return NULL;
}

/* A number that is 0 although its range refuses 0, and that has no default, was never set: the program chooses its value. */
static int is_unset(const wr_option *row, const char *text) {
  int is_number = row->type == WR_OPTION_INT || row->type == WR_OPTION_REAL;
  int refuses_0 =
      row->min > 0 || row->max < 0 || (row->above_min && row->min == 0) || (row->below_max && row->max == 0);
  return is_number && row->value == NULL && refuses_0 && strcmp(text, "0") == 0;
}

/* A value as wr_option_set reads it, text as it is: length bytes, in `number` or elsewhere. NULL when it is not set. */
static const char *value_text(const wr_option *row, const void *settings, char number[WORD], size_t *length) {
  const void *value = (const char *)settings + row->offset;
  const char *text = number;
  if (row->type == WR_OPTION_CHOICE) return choice_at(row->choices, *(const int *)value, length);
  if (row->type == WR_OPTION_FLAG) text = *(const int *)value ? "yes" : "no";
  if (row->type == WR_OPTION_INT) snprintf(number, WORD, "%" PRId64, *(const int64_t *)value);
  if (row->type == WR_OPTION_REAL) real_text(*(const double *)value, number);
  if (row->type == WR_OPTION_TEXT) text = *(char *const *)value;
  if (text == NULL || is_unset(row, text)) return NULL;
  *length = strlen(text);
  return text;
}

/* ---- knobs ---- */

/* Whether the first `length` bytes of a list of knobs have one of this name. */
static int has_knob(const char *list, size_t length, const char *name) {
  for (const char *at = list; at < list + length; at += strcspn(at, ":") + 1)
    if (strncmp(at, name, strlen(name)) == 0 && strchr("=:", at[strlen(name)]) != NULL) return 1;
  return 0;
}

wr_status wr_knobs_parse(const wr_knob *table, void *knobs, const char *text, const char *owner) {
  if (text == NULL || text[0] == '\0') return WR_OK;
  if (table) WR_NEED(knobs);
  WR_NEED(owner);
  char where[256], *copy;
  snprintf(where, sizeof where, "knob of %s", owner);
  size_t bytes = strlen(text) + 1;
  wr_status status = wr_alloc(&copy, (int64_t)bytes, 1, "a list of knobs");
  if (status != WR_OK) return status;
  memcpy(copy, text, bytes);
  for (char *knob = copy, *next; status == WR_OK && knob != NULL; knob = next) {
    next = strchr(knob, ':');
    if (next != NULL) *next++ = '\0';
    char *value = strchr(knob, '=');
    if (value != NULL) *value++ = '\0';
    if (knob[0] == '\0')
      status = wr_fail(WR_EUSAGE, "%s: a name is missing (they are written name=value:name=value)", where);
    else if (has_knob(text, (size_t)(knob - copy), knob))
      status = wr_fail(WR_EUSAGE, "%s: %s is given twice in '%s'; give it once", where, knob, text);
    else
      status = wr_option_set(table, knobs, knob, value, where);
  }
  wr_free(copy);
  return status;
}

void wr_knobs_text(const wr_knob *table, const void *knobs, char *text, size_t size) {
  size_t used = 0;
  if (text == NULL || size == 0) return;
  text[0] = '\0';
  if (knobs == NULL) return;
  WR_EACH_OPTION(row, table) {
    char number[WORD];
    size_t length;
    const char *value = value_text(row, knobs, number, &length);
    if (value == NULL || used >= size) continue;
    used += (size_t)snprintf(text + used, size - used, "%s%s=%.*s", used > 0 ? ":" : "", row->name, (int)length, value);
  }
}

/* ---- the command line ---- */

/* The table in getopt_long's form. */
typedef struct grammar {
  struct option *longs; /* a row each and a row of zeros                        */
  char *letters;        /* ":t:v"; the first colon sets a missing argument apart */
  char *given;          /* behind the letters, a row each: 1 once it was met     */
} grammar;

static wr_status build_grammar(const wr_option *table, grammar *to) {
  int64_t nrows = 0;
  WR_EACH_OPTION(row, table) nrows++;
  PASS(wr_alloc_zeroed(&to->longs, nrows + 1, sizeof *to->longs, "the names of the options"));
  PASS(wr_alloc_zeroed(&to->letters, 3 * nrows + 2, 1, "the letters of the options"));
  to->given = to->letters + 2 * nrows + 2;
  char *letter = to->letters;
  *letter++ = ':';
  WR_EACH_OPTION(row, table) {
    int at = (int)(row - table), flag = row->type == WR_OPTION_FLAG; /* --flag=no takes a file's yes back */
    to->longs[at] = (struct option){
        .name = row->name, .has_arg = flag ? optional_argument : required_argument, .val = LONG_OPTION + at};
    if (row->letter == '\0') continue;
    *letter++ = row->letter;
    if (!flag) *letter++ = ':';
  }
  return WR_OK;
}

static const wr_option *row_of_code(const wr_option *table, int code) {
  if (code >= LONG_OPTION) return table + (code - LONG_OPTION);
  WR_EACH_OPTION(row, table) {
    if (row->letter == (char)code) return row;
  }
  return NULL;
}

/* What getopt_long would have printed; word is the argument at which it stopped, and loses its "=value". */
static wr_status refuse_option(const wr_option *table, char *word) {
  char list[LIST], text[SHOWN];
  if (optopt != 0) { /* a letter: a long name leaves it 0 */
    int printable = optopt > ' ' && optopt < 127;
    snprintf(text, sizeof text, printable ? "%c" : "\\x%02X", optopt & 0xFF);
    return wr_fail(WR_EUSAGE, "-%s: unknown option (--help lists the options)", text);
  }
  word += 2;
  word[strcspn(word, "=")] = '\0';
  int matches = 0;
  WR_EACH_OPTION(row, table) matches += strncmp(row->name, word, strlen(word)) == 0;
  if (matches > 1) {
    list_names(table, word, strlen(word), "--", list);
    return wr_fail(WR_EUSAGE, "--%s: ambiguous, one of %s", shown(word, text), list);
  }
  return unknown(table, word, word - 2);
}

/* *row := the next option's row, NULL after the last; where := "--name"; the option's argument is in optarg. */
static wr_status next_option(const wr_option *table, const grammar *from, int argc, char **argv, const wr_option **row,
                             char where[LIST]) {
  int code = getopt_long(argc, argv, from->letters, from->longs, NULL);
  *row = NULL;
  if (code == -1) return WR_OK;
  if (code == '?') return refuse_option(table, argv[optind - 1]);
  *row = row_of_code(table, code == ':' ? optopt : code);
  snprintf(where, LIST, "--%s", (*row)->name);
  return code == ':' ? set_row(*row, NULL, NULL, where) : WR_OK; /* which says what is needed */
}

/* *path := the argument of --config, NULL when it is not given. */
static wr_status find_config(const wr_option *table, const grammar *from, int argc, char **argv, const char **path) {
  char where[LIST];
  *path = NULL;
  optind = 0;
  for (;;) {
    const wr_option *row;
    wr_status status = next_option(table, from, argc, argv, &row, where);
    if (status != WR_OK || row == NULL) return status;
    if (row->type != WR_OPTION_TEXT || strcmp(row->name, "config") != 0) continue;
    if (*path != NULL) return refuse(row, "--config", "given twice; one file can be read");
    *path = optarg;
  }
}

/* The text of a row that has one := both, with a line's end between them. */
static wr_status add_text(const wr_option *row, void *settings, const char *text, const char *where) {
  char *joined, **value = (char **)(void *)((char *)settings + row->offset);
  size_t bytes = strlen(*value) + strlen(text) + 2;
  PASS(wr_alloc(&joined, (int64_t)bytes, 1, "the texts of an option"));
  snprintf(joined, bytes, "%s\n%s", *value, text);
  wr_status status = set_row(row, settings, joined, where);
  wr_free(joined);
  return status;
}

wr_status wr_option_split(const char *joined, char ***texts, int64_t *count) {
  WR_NEED(texts);
  WR_NEED(count);
  *texts = NULL, *count = 0;
  if (joined == NULL) return WR_OK;
  int64_t most = 1;
  for (const char *at = joined; *at; at++) most += *at == '\n';
  size_t bytes = strlen(joined) + 1;
  PASS(wr_alloc(texts, most * (int64_t)sizeof **texts + (int64_t)bytes, 1, "the texts of an option"));
  char *text = memcpy(*texts + most, joined, bytes);
  for (char *end; text; text = end) {
    end = strchr(text, '\n');
    if (end) *end++ = '\0';
    (*texts)[(*count)++] = text;
  }
  return WR_OK;
}

wr_status wr_options_parse(const wr_option *table, void *settings, int argc, char **argv, int *first_operand) {
  grammar options = {0};
  const char *path;
  char where[LIST];
  const wr_option *row;
  wr_status status;
  int callers_opterr = opterr, callers_optind = optind; /* the caller may use getopt for something else */
  if (table) WR_NEED(settings);
  WR_NEED(first_operand);
  WR_REFUSE_IF(argc < 0 || (argv == NULL && argc > 0), "argv has %d words and is %s", argc, argv ? "there" : "NULL");
  *first_operand = argc;
  opterr = 0; /* getopt_long prints nothing itself */
  TRY(build_grammar(table, &options));
  TRY(find_config(table, &options, argc, argv, &path));
  if (path != NULL) {
    TRY(wr_option_set(table, settings, "config", path, "--config"));
    TRY(wr_options_read(table, settings, path));
  }
  optind = 0; /* getopt begins anew; its first pass has moved the operands, so this one sees the same options */
  for (;;) {
    TRY(next_option(table, &options, argc, argv, &row, where));
    if (row == NULL) break;
    char *given = &options.given[row - table];
    TRY(row->repeats && *given ? add_text(row, settings, optarg, where)
                               : wr_option_set(table, settings, row->name, optarg, where));
    *given = 1;
  }
  *first_operand = optind;
done:
  opterr = callers_opterr, optind = callers_optind;
  wr_free(options.letters);
  wr_free(options.longs);
  return status;
}

/* ---- option files ---- */

typedef struct line {
  char *text; /* [room] */
  size_t length, room;
  long long number; /* from 1 */
} line;

static wr_status append(line *to, char byte) {
  if (to->length == to->room) {
    size_t room = to->room > 0 ? 2 * to->room : WORD;
    char *text;
    PASS(wr_alloc(&text, (int64_t)room, 1, "a line of an option file"));
    if (to->length > 0) memcpy(text, to->text, to->length);
    wr_free(to->text);
    to->text = text;
    to->room = room;
  }
  to->text[to->length++] = byte;
  return WR_OK;
}

/* Reads the next line, without its end (LF, CR LF or the file's). *more is 0 after the last. */
static wr_status next_line(FILE *in, const char *path, line *to, int *more) {
  int byte;
  to->length = 0;
  to->number++;
  errno = 0;
  while ((byte = getc(in)) != EOF && byte != '\n') {
    if (byte == '\0')
      return wr_fail(WR_EINPUT, "%s:%lld: a NUL byte: options are read from text files", path, to->number);
    if (to->length == LONGEST_LINE)
      return wr_fail(WR_EINPUT, "%s:%lld: a line longer than %d bytes", path, to->number, LONGEST_LINE);
    PASS(append(to, (char)byte));
  }
  if (ferror(in)) return wr_fail(WR_EINPUT, "%s:%lld: cannot be read (%s)", path, to->number, strerror(errno));
  *more = byte != EOF || to->length > 0;
  if (to->length > 0 && to->text[to->length - 1] == '\r') to->length--;
  return append(to, '\0');
}

static char *skip_blanks(char *text) { return text + strspn(text, " \t"); }

/* The end of text[length] without the blanks that it ends with. */
static char *trimmed_end(char *text, size_t length) {
  while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) length--;
  return text + length;
}

/* The byte of a backslash, an x and two hexadecimal digits at the beginning of text, or 0: it is something else. */
static char hexadecimal(const char *text) {
  char digits[3] = "";
  if (text[1] != 'x' || !isxdigit((unsigned char)text[2]) || !isxdigit((unsigned char)text[3])) return 0;
  memcpy(digits, text + 2, 2);
  return (char)strtol(digits, NULL, 16);
}

/* Replaces the quoted text by what it says; *rest is what follows the closing quote. */
static wr_status unquote(char *text, char **rest, const char *where) {
  char *to = text;
  for (char *from = text + 1; *from != '\0'; from++) {
    if (*from == '"') {
      *to = '\0';
      *rest = from + 1;
      return WR_OK;
    }
    char byte = *from;
    if (byte == '\\') {
      static const char escapes[] = "\"\\nr", meant[] = "\"\\\n\r";
      const char *escape = from[1] != '\0' ? strchr(escapes, from[1]) : NULL;
      byte = escape ? meant[escape - escapes] : hexadecimal(from);
      if (byte == '\0') return wr_fail(WR_EINPUT, "%s: in quotes a backslash is written \\\\", where);
      from += escape ? 1 : 3;
    }
    *to++ = byte;
  }
  return wr_fail(WR_EINPUT, "%s: the closing quote is missing", where);
}

/* Takes "value # comment" apart in place. A # inside unquoted text may be meant either way, so it is refused. */
static wr_status parse_value(const wr_option *row, char *value, const char *where) {
  if (value[0] == '"') {
    char *rest = NULL;
    PASS(unquote(value, &rest, where));
    rest = skip_blanks(rest);
    if (*rest == '\0' || *rest == '#') return WR_OK;
    return wr_fail(WR_EINPUT, "%s: something follows the closing quote (a quote in quotes is written \\\")", where);
  }
  size_t length = strcspn(value, "#");
  char *end = trimmed_end(value, length);
  if (end == value) return wr_fail(WR_EINPUT, "%s: %s has no value (the empty text is \"\")", where, row->name);
  if (value[length] == '#' && end == value + length && row->type == WR_OPTION_TEXT)
    return wr_fail(WR_EINPUT, "%s: a # within text: put the text in quotes, or a blank before the comment", where);
  *end = '\0';
  return WR_OK;
}

static int is_config(const wr_option *row) { return row->type == WR_OPTION_TEXT && strcmp(row->name, "config") == 0; }

static wr_status parse_line(const wr_option *table, void *settings, char *name, const char *where) {
  name = skip_blanks(name);
  if (*name == '\0' || *name == '#') return WR_OK;
  size_t length = strcspn(name, "=#");
  char *end = trimmed_end(name, length);
  if (name[length] != '=' || end == name) return wr_fail(WR_EINPUT, "%s: the line is not name = value", where);
  char *value = skip_blanks(name + length + 1);
  *end = '\0';
  const wr_option *row = wr_option_find(table, name);
  if (row != NULL) {
    if (is_config(row)) return wr_fail(WR_EUSAGE, "%s: config: an option file cannot name another", where);
    if (row->command) return wr_fail(WR_EUSAGE, "%s: %s: an action is for the command line alone", where, name);
    PASS(parse_value(row, value, where));
  }
  return wr_option_set(table, settings, name, value, where);
}

wr_status wr_options_read(const wr_option *table, void *settings, const char *path) {
  if (table) WR_NEED(settings);
  WR_NEED(path);
  FILE *in = fopen(path, "r");
  if (in == NULL) return wr_fail(WR_EINPUT, "%s: cannot be opened (%s)", path, strerror(errno));
  char where[WHERE];
  line current = {0};
  int more = 0;
  wr_status status;
  for (;;) {
    TRY(next_line(in, path, &current, &more));
    if (!more) break;
    static const char mark[] = "\xEF\xBB\xBF"; /* some editors begin UTF-8 files with it */
    int marked = current.number == 1 && strncmp(current.text, mark, 3) == 0;
    snprintf(where, sizeof where, "%s:%lld", path, current.number);
    TRY(parse_line(table, settings, current.text + (marked ? 3 : 0), where));
  }
done:
  fclose(in);
  wr_free(current.text);
  return status;
}

static void write_quoted(const char *text, FILE *out) {
  fputc('"', out);
  for (; *text != '\0'; text++) {
    int has_letter = strchr("\"\\\n\r", *text) != NULL;
    if (!has_letter && is_control(*text)) {
      fprintf(out, "\\x%02x", (unsigned char)*text);
      continue;
    }
    if (has_letter) fputc('\\', out);
    fputc(*text == '\n' ? 'n' : *text == '\r' ? 'r' : *text, out);
  }
  fputc('"', out);
}

/* Rows that a file may not name are left out too: config, and those of parts that this build lacks. */
void wr_options_write(const wr_option *table, const void *settings, FILE *out) {
  WR_EACH_OPTION(row, table) {
    char number[WORD];
    size_t length;
    if (settings == NULL || out == NULL) return;
    const char *value = value_text(row, settings, number, &length);
    if (value == NULL || row->command || row->missing != NULL || is_config(row)) continue;
    fprintf(out, "%s = ", row->name);
    if (row->type == WR_OPTION_TEXT)
      write_quoted(value, out);
    else
      fwrite(value, 1, length, out);
    fputc('\n', out);
  }
}

void wr_options_word(const char *word, FILE *out) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,@%+-";
  if (word == NULL || out == NULL) return;
  if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
    fputs(word, out);
    return;
  }
  int is_escaped = has_control(word);
  fputs(is_escaped ? "$'" : "'", out);
  for (; *word != '\0'; word++)
    if (is_escaped && (is_control(*word) || *word == '\\' || *word == '\''))
      fprintf(out, "\\%03o", (unsigned char)*word);
    else if (*word == '\'')
      fputs("'\\''", out);
    else
      fputc(*word, out);
  fputc('\'', out);
}

/* The default, of so many bytes. */
static const char *usual_text(const wr_option *row, size_t *length) {
  static const char *const unset[] = {
      [WR_OPTION_FLAG] = "no", [WR_OPTION_INT] = "0", [WR_OPTION_REAL] = "0", [WR_OPTION_TEXT] = ""};
  if (row->value == NULL && row->type == WR_OPTION_CHOICE) return choice_at(row->choices, 0, length);
  const char *text = row->value ? row->value : unset[row->type];
  *length = strlen(text);
  return text;
}

/* Without memory to take the texts apart the option is left out. */
static void write_repeated(const wr_option *row, const char *value, FILE *out) {
  char **texts;
  int64_t count;
  if (wr_option_split(value, &texts, &count) != WR_OK) return;
  for (int64_t k = 0; k < count; k++) {
    fprintf(out, " --%s ", row->name);
    wr_options_word(texts[k], out);
  }
  wr_free(texts);
}

/* A value that is written otherwise than its default in the table counts as different, which does no harm. */
void wr_options_command(const wr_option *table, const void *settings, FILE *out) {
  WR_EACH_OPTION(row, table) {
    char number[WORD], word[WORD];
    size_t length;
    if (settings == NULL || out == NULL) return;
    const char *value = value_text(row, settings, number, &length);
    size_t usual_length = 0;
    const char *usual = usual_text(row, &usual_length);
    if (value == NULL || row->command || row->missing != NULL || is_config(row)) continue;
    if (length == usual_length && strncmp(value, usual, length) == 0) continue;
    if (row->repeats) {
      write_repeated(row, value, out);
      continue;
    }
    fprintf(out, " --%s", row->name);
    if (row->type == WR_OPTION_FLAG) continue;
    fputc(' ', out);
    snprintf(word, sizeof word, "%.*s", (int)length, value);
    wr_options_word(row->type == WR_OPTION_TEXT ? value : word, out);
  }
}

wr_status wr_options_text(const wr_option *table, const void *settings, char **text) {
  size_t size;
  WR_NEED(text);
  *text = NULL;
  WR_NEED(settings);
  FILE *stream = open_memstream(text, &size);
  if (stream == NULL) return wr_fail(WR_ENOMEM, "out of memory: the text of the options");
  wr_options_write(table, settings, stream);
  return fclose(stream) == 0 ? WR_OK : wr_fail(WR_ENOMEM, "out of memory: the text of the options");
}

/* ---- --help ---- */

static const char *argument_name(const wr_option *row) {
  static const char *const names[] = {
      [WR_OPTION_FLAG] = "", [WR_OPTION_INT] = "N", [WR_OPTION_REAL] = "REAL", [WR_OPTION_TEXT] = "TEXT"};
  if (row->argument != NULL) return row->argument;
  return row->type == WR_OPTION_CHOICE ? row->choices : names[row->type];
}

/* "(default 1e-9, in (0, 1])", as far as there is something to say. */
static void notes_text(const wr_option *row, char *text, size_t size) {
  char range[512] = "";
  int shows_choices = row->type == WR_OPTION_CHOICE && row->argument == NULL;
  if (row->type != WR_OPTION_FLAG && !shows_choices) wr_option_range(row, range, sizeof range);
  const char *value = row->value, *comma = range[0] != '\0' ? ", " : "";
  if (row->type == WR_OPTION_FLAG && value != NULL && strcmp(value, "no") == 0) value = NULL;
  text[0] = '\0';
  if (row->missing != NULL)
    snprintf(text, size, " (not available)");
  else if (value != NULL)
    snprintf(text, size, " (default %s%s%s)", value, comma, range);
  else if (range[0] != '\0')
    snprintf(text, size, " (%s)", range);
}

static void put_row(FILE *out, const wr_option *row) {
  char name[512], notes[1024], text[4096];
  const char *argument = argument_name(row), *blank = argument[0] != '\0' ? " " : "";
  int length = row->letter != '\0'
                   ? snprintf(name, sizeof name, "  -%c, --%s%s%s", row->letter, row->name, blank, argument)
                   : snprintf(name, sizeof name, "      --%s%s%s", row->name, blank, argument);
  notes_text(row, notes, sizeof notes);
  snprintf(text, sizeof text, "%s%s", row->help != NULL ? row->help : "", notes);
  if (length > HELP_AT - 2) {
    int begin = (int)strspn(name, " ");
    fprintf(out, "%*s", begin, "");
    wr_text_wrap(out, name, begin, begin + 4);
    length = snprintf(name, sizeof name, "%s", "");
  }
  fprintf(out, "%s%*s", name, text[0] != '\0' ? HELP_AT - length : 0, "");
  wr_text_wrap(out, text, HELP_AT, HELP_AT);
}

void wr_options_help(const wr_option *table, FILE *out) {
  const char *group = NULL;
  if (out == NULL) return;
  WR_EACH_OPTION(row, table) {
    const char *heading = row->group != NULL ? row->group : group != NULL ? group : "Options";
    if (group == NULL || strcmp(group, heading) != 0) fprintf(out, "%s%s:\n", group != NULL ? "\n" : "", heading);
    group = heading;
    put_row(out, row);
  }
}

/* ---- the closest name ---- */

static int lesser(int a, int b) { return a < b ? a : b; }

/* Edits that make one word the other: a letter put in, left out or replaced, two neighbours exchanged. */
static int edit_distance(const char *a, int na, const char *b, int nb) {
  int rows[3][WORD]; /* of i mod 3: from the first i letters of a to the first j of b */
  for (int j = 0; j <= nb; j++) rows[0][j] = j;
  for (int i = 1; i <= na; i++) {
    int *now = rows[i % 3], *before = rows[(i + 2) % 3], *two_before = rows[(i + 1) % 3];
    now[0] = i;
    for (int j = 1; j <= nb; j++) {
      now[j] = lesser(lesser(now[j - 1], before[j]) + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
      int exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) now[j] = lesser(now[j], two_before[j - 2] + 1);
    }
  }
  return rows[na % 3][nb];
}

/* Words of WORD letters or more are close to no other word. */
const char *wr_closest(const char *word, const char *const *candidates, int count) {
  const char *best = NULL;
  int least = WORD;
  if (word == NULL || candidates == NULL) return NULL;
  size_t length = strlen(word);
  for (int i = 0; i < count; i++) {
    if (candidates[i] == NULL) continue;
    size_t other = strlen(candidates[i]);
    if (length >= WORD || other >= WORD) continue;
    int distance = edit_distance(word, (int)length, candidates[i], (int)other);
    if (distance >= least || 3 * distance > (int)(length > other ? length : other)) continue;
    best = candidates[i];
    least = distance;
  }
  return best;
}
