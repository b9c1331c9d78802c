/* From text to values: one option, a command line. Knobs, files, printing and --help are in option_text.c. */
#include "config/option.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "config/argument.h"
#include "config/memory.h"

enum {
  SHOWN = 64,       /* bytes of a user's text that an error repeats            */
  LIST = 256,       /* bytes of a list of names in an error                    */
  LONG_OPTION = 256 /* getopt's code of the table's first row; letters are less */
};

const wr_option *wr_option_find(const wr_option *table, const char *name) {
  WR_EACH_OPTION(row, table) {
    if (name != NULL && strcmp(row->name, name) == 0) return row;
  }
  return NULL;
}

/* ---- error sentences ---- */

/* The text as an error repeats it: control bytes as '?', cut (between characters of UTF-8) when long. */
static const char *shown(const char *text, char buffer[SHOWN]) {
  size_t length = 0;
  for (; text[length] != '\0' && length < SHOWN - 4; length++)
    buffer[length] = (unsigned char)text[length] < ' ' || text[length] == 127 ? '?' : text[length];
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
static int whole_value(const decimal *number, int64_t *value, int *overflow) {
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

/* Compared as integers, since a double does not hold every int64; a bound beyond int64 is none. */
static int whole_in_range(const wr_option *row, int64_t value) {
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

static wr_status set_whole(const wr_option *row, int64_t *value, const char *text, const char *where) {
  char buffer[SHOWN];
  decimal number;
  int64_t parsed;
  int overflow;
  if (!scan_decimal(text, &number)) return refuse(row, where, "'%s' is not a number", shown(text, buffer));
  if (!whole_value(&number, &parsed, &overflow))
    return refuse(row, where, "%s is not a whole number", shown(text, buffer));
  if (!whole_in_range(row, parsed)) return refuse_range(row, where, text);
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

static wr_status set_text(char **value, const char *text) {
  size_t bytes = strlen(text) + 1;
  char *copy;
  wr_status status = wr_alloc(&copy, (int64_t)bytes, 1, "the text of an option");
  if (status != WR_OK) return status;
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
    case WR_OPTION_INT: return set_whole(row, value, text, where);
    case WR_OPTION_REAL: return set_real(row, value, text, where);
    case WR_OPTION_TEXT: return set_text(value, text);
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

/* What the settings held before is not looked at: they may be fresh memory. */
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
    wr_status status = set_row(row, settings, row->value, "a default of ours");
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

/* ---- the command line ---- */

/* The table as getopt_long wants it. */
typedef struct grammar {
  struct option *longs; /* a row each and a row of zeros                        */
  char *letters;        /* ":t:v": a missing argument is told from other errors */
} grammar;

static wr_status build_grammar(const wr_option *table, grammar *to) {
  int64_t nrows = 0;
  WR_EACH_OPTION(row, table) nrows++;
  wr_status status;
  TRY(wr_alloc_zeroed(&to->longs, nrows + 1, sizeof *to->longs, "the names of the options"));
  TRY(wr_alloc_zeroed(&to->letters, 2 * nrows + 2, 1, "the letters of the options"));
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
done:
  return status;
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
  opterr = 0; /* the sentences are ours */
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
    TRY(wr_option_set(table, settings, row->name, optarg, where));
  }
  *first_operand = optind;
done:
  opterr = callers_opterr, optind = callers_optind;
  wr_free(options.letters);
  wr_free(options.longs);
  return status;
}
