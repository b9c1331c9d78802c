#include "config/option.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "config/argument.h"
#include "config/closest.h"
#include "config/memory.h"
#include "config/option_row.h"

const wr_option *wr_option_find(const wr_option *table, const char *name) {
  WR_EACH_OPTION(row, table) {
    if (name != NULL && strcmp(row->name, name) == 0) return row;
  }
  return NULL;
}

/* ---- error sentences ---- */

const char *wr_option_shown(const char *text, char buffer[WR_OPTION_SHOWN]) {
  size_t length = 0;
  for (; text[length] != '\0' && length < WR_OPTION_SHOWN - 4; length++)
    buffer[length] = wr_option_is_control(text[length]) ? '?' : text[length];
  int cut = text[length] != '\0';
  while (cut && length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) length--;
  memcpy(buffer + length, cut ? "..." : "", cut ? 4 : 1);
  return buffer;
}

/* Whether `where` is "--name", so that the sentence need not repeat the name. */
static int says_name(const char *where, const char *name) {
  return strncmp(where, "--", 2) == 0 && strcmp(where + 2, name) == 0;
}

wr_status wr_option_refuse(const wr_option *row, const char *where, const char *format, ...) {
  char sentence[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  if (says_name(where, row->name)) return wr_fail(WR_EUSAGE, "%s: %s", where, sentence);
  return wr_fail(WR_EUSAGE, "%s: %s: %s", where, row->name, sentence);
}

static wr_status refuse_range(const wr_option *row, const char *where, const char *text) {
  char buffer[WR_OPTION_SHOWN], range[WR_OPTION_LIST];
  wr_option_range(row, range, sizeof range);
  return wr_option_refuse(row, where, "%s is not %s", wr_option_shown(text, buffer), range);
}

int wr_option_list_names(const wr_option *table, const char *prefix, size_t length, const char *dashes,
                         char list[WR_OPTION_LIST]) {
  size_t used = 0;
  list[0] = '\0';
  WR_EACH_OPTION(row, table) {
    if (strncmp(row->name, prefix, length) != 0) continue;
    const char *comma = used > 0 ? ", " : "";
    if (used + strlen(comma) + strlen(dashes) + strlen(row->name) + sizeof ", ..." > WR_OPTION_LIST) {
      snprintf(list + used, WR_OPTION_LIST - used, "%s...", comma);
      return 0;
    }
    used += (size_t)snprintf(list + used, WR_OPTION_LIST - used, "%s%s%s", comma, dashes, row->name);
  }
  return 1;
}

wr_status wr_option_unknown(const wr_option *table, const char *name, const char *where) {
  const char *close = NULL;
  WR_EACH_OPTION(row, table) {
    const char *pair[] = {row->name, row->name};
    if (close != NULL) pair[0] = close;
    close = wr_closest(name + strspn(name, "-"), pair, 2);
  }
  int on_command_line = says_name(where, name);
  char text[WR_OPTION_SHOWN], list[WR_OPTION_LIST], help[WR_OPTION_LIST + 32];
  if (close != NULL)
    snprintf(help, sizeof help, on_command_line ? "did you mean --%s?" : "did you mean '%s'?", close);
  else if (table == NULL || table->name == NULL)
    snprintf(help, sizeof help, "there are none");
  else if (wr_option_list_names(table, "", 0, on_command_line ? "--" : "", list))
    snprintf(help, sizeof help, "there are: %s", list);
  else
    snprintf(help, sizeof help, "--help lists the options");
  if (on_command_line) return wr_fail(WR_EUSAGE, "--%s: unknown option (%s)", wr_option_shown(name, text), help);
  return wr_fail(WR_EUSAGE, "%s: unknown name '%s' (%s)", where, wr_option_shown(name, text), help);
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
  char buffer[WR_OPTION_SHOWN];
  decimal number;
  int64_t parsed;
  int overflow;
  if (strchr(text, ',') != NULL)
    return wr_option_refuse(row, where, "'%s' is not one number: give one, and run once for each",
                            wr_option_shown(text, buffer));
  if (!scan_decimal(text, &number))
    return wr_option_refuse(row, where, "'%s' is not a number", wr_option_shown(text, buffer));
  if (!integer_value(&number, &parsed, &overflow))
    return wr_option_refuse(row, where, "%s is not a whole number", wr_option_shown(text, buffer));
  if (!integer_in_range(row, parsed)) return refuse_range(row, where, text);
  if (overflow) return wr_option_refuse(row, where, "%s does not fit in 64 bits", wr_option_shown(text, buffer));
  *value = parsed;
  return WR_OK;
}

static wr_status set_real(const wr_option *row, double *value, const char *text, const char *where) {
  char buffer[WR_OPTION_SHOWN];
  decimal number;
  if (!scan_decimal(text, &number))
    return wr_option_refuse(row, where, "'%s' is not a number", wr_option_shown(text, buffer));
  errno = 0;
  double parsed = strtod(text, NULL);
  if (parsed == 0 && errno == ERANGE)
    return wr_option_refuse(row, where, "%s is too small for a double", wr_option_shown(text, buffer));
  if (parsed < row->min || parsed > row->max || (row->above_min && parsed == row->min) ||
      (row->below_max && parsed == row->max))
    return refuse_range(row, where, text);
  if (!isfinite(parsed))
    return wr_option_refuse(row, where, "%s is too large for a double", wr_option_shown(text, buffer));
  *value = parsed;
  return WR_OK;
}

/* ---- the other types ---- */

static wr_status set_flag(const wr_option *row, int *value, const char *text, const char *where) {
  char buffer[WR_OPTION_SHOWN];
  int yes = strcmp(text, "yes") == 0;
  if (!yes && strcmp(text, "no") != 0)
    return wr_option_refuse(row, where, "'%s' is neither yes nor no", wr_option_shown(text, buffer));
  *value = yes;
  return WR_OK;
}

static wr_status set_choice(const wr_option *row, int *value, const char *text, const char *where);

static wr_status set_text(const wr_option *row, char **value, const char *text, const char *where) {
  size_t bytes = strlen(text) + 1;
  if (row->choices != NULL) {
    char name[WR_OPTION_WORD];
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
  char piece[WR_OPTION_SHOWN], best[WR_OPTION_SHOWN] = "", buffer[WR_OPTION_SHOWN], range[WR_OPTION_LIST];
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
  if (best[0] == '\0') return wr_option_refuse(row, where, "'%s' is not %s", wr_option_shown(text, buffer), range);
  return wr_option_refuse(row, where, "'%s' is not %s (did you mean '%s'?)", wr_option_shown(text, buffer), range,
                          best);
}

wr_status wr_option_set_row(const wr_option *row, void *settings, const char *text, const char *where) {
  if (text == NULL && row->type == WR_OPTION_FLAG) text = "yes";
  if (text == NULL) {
    char range[WR_OPTION_LIST];
    wr_option_range(row, range, sizeof range);
    return wr_option_refuse(row, where, "needs a value%s%s", range[0] != '\0' ? ", " : "", range);
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
  if (row == NULL) return wr_option_unknown(table, name, where);
  if (row->missing != NULL) return wr_option_refuse(row, where, "%s", row->missing);
  return wr_option_set_row(row, settings, text, where);
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
    wr_status status = wr_option_set_row(row, settings, row->value, "the default");
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
static void real_text(double value, char text[WR_OPTION_WORD]) {
  int is_short_integer = value == floor(value) && fabs(value) < 1e6;
  for (int digits = is_short_integer ? 6 : 1; digits <= DBL_DECIMAL_DIG; digits++) {
    snprintf(text, WR_OPTION_WORD, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  char *exponent = strchr(text, 'e');
  if (exponent != NULL) snprintf(exponent + 1, 8, "%d", atoi(exponent + 1));
}

void wr_option_range(const wr_option *row, char *text, size_t size) {
  char least[WR_OPTION_WORD], most[WR_OPTION_WORD];
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

const char *wr_option_choice_at(const char *choices, int position, size_t *length) {
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

const char *wr_option_value_text(const wr_option *row, const void *settings, char number[WR_OPTION_WORD],
                                 size_t *length) {
  const void *value = (const char *)settings + row->offset;
  const char *text = number;
  if (row->type == WR_OPTION_CHOICE) return wr_option_choice_at(row->choices, *(const int *)value, length);
  if (row->type == WR_OPTION_FLAG) text = *(const int *)value ? "yes" : "no";
  if (row->type == WR_OPTION_INT) snprintf(number, WR_OPTION_WORD, "%" PRId64, *(const int64_t *)value);
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
    char number[WR_OPTION_WORD];
    size_t length;
    const char *value = wr_option_value_text(row, knobs, number, &length);
    if (value == NULL || used >= size) continue;
    used += (size_t)snprintf(text + used, size - used, "%s%s=%.*s", used > 0 ? ":" : "", row->name, (int)length, value);
  }
}
