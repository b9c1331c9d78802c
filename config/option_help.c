/* What users read of a table: --help, and settings as words of a shell. */
#include "config/memory.h"
#include "config/option_row.h"
#include "config/text.h"

enum { HELP_AT = 30 }; /* column at which the help phrases begin */

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

/* ---- as a shell takes them ---- */

static int has_control(const char *text) {
  while (*text != '\0' && !wr_option_is_control(*text)) text++;
  return *text != '\0';
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
    if (is_escaped && (wr_option_is_control(*word) || *word == '\\' || *word == '\''))
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
  if (row->value == NULL && row->type == WR_OPTION_CHOICE) return wr_option_choice_at(row->choices, 0, length);
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
    char number[WR_OPTION_WORD], word[WR_OPTION_WORD];
    size_t length;
    if (settings == NULL || out == NULL) return;
    const char *value = wr_option_value_text(row, settings, number, &length);
    size_t usual_length = 0;
    const char *usual = usual_text(row, &usual_length);
    if (value == NULL || row->command || row->missing != NULL || wr_option_is_config(row)) continue;
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
