/* Command lines, by way of getopt_long. */
#define _DEFAULT_SOURCE /* getopt_long */
#include <getopt.h>

#include "config/argument.h"
#include "config/memory.h"
#include "config/option_row.h"

enum { LONG_OPTION = 256 }; /* getopt's code of the table's first row; letters are less */

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
  char list[WR_OPTION_LIST], text[WR_OPTION_SHOWN];
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
    wr_option_list_names(table, word, strlen(word), "--", list);
    return wr_fail(WR_EUSAGE, "--%s: ambiguous, one of %s", wr_option_shown(word, text), list);
  }
  return wr_option_unknown(table, word, word - 2);
}

/* *row := the next option's row, NULL after the last; where := "--name"; the option's argument is in optarg. */
static wr_status next_option(const wr_option *table, const grammar *from, int argc, char **argv, const wr_option **row,
                             char where[WR_OPTION_LIST]) {
  int code = getopt_long(argc, argv, from->letters, from->longs, NULL);
  *row = NULL;
  if (code == -1) return WR_OK;
  if (code == '?') return refuse_option(table, argv[optind - 1]);
  *row = row_of_code(table, code == ':' ? optopt : code);
  snprintf(where, WR_OPTION_LIST, "--%s", (*row)->name);
  return code == ':' ? wr_option_set_row(*row, NULL, NULL, where) : WR_OK; /* which says what is needed */
}

/* *path := the argument of --config, NULL when it is not given. */
static wr_status find_config(const wr_option *table, const grammar *from, int argc, char **argv, const char **path) {
  char where[WR_OPTION_LIST];
  *path = NULL;
  optind = 0;
  for (;;) {
    const wr_option *row;
    wr_status status = next_option(table, from, argc, argv, &row, where);
    if (status != WR_OK || row == NULL) return status;
    if (!wr_option_is_config(row)) continue;
    if (*path != NULL) return wr_option_refuse(row, "--config", "given twice; one file can be read");
    *path = optarg;
  }
}

/* The text of a row that has one := both, with a line's end between them. */
static wr_status add_text(const wr_option *row, void *settings, const char *text, const char *where) {
  char *joined, **value = (char **)(void *)((char *)settings + row->offset);
  size_t bytes = strlen(*value) + strlen(text) + 2;
  PASS(wr_alloc(&joined, (int64_t)bytes, 1, "the texts of an option"));
  snprintf(joined, bytes, "%s\n%s", *value, text);
  wr_status status = wr_option_set_row(row, settings, joined, where);
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
  char where[WR_OPTION_LIST];
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
