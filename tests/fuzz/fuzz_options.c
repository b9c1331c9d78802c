/* Command lines and option files of every program. The first byte chooses the program and what the rest is: an option file,
 * or a command line, a word a line. What is accepted must be written in a form that says the same when it is read. */
#define _DEFAULT_SOURCE /* open_memstream */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "solvers/program/settings.h"
#include "tests/fuzz/harness.h"

enum { WORDS = 64 };

/* Room for the settings of any program; wr_settings come first in all of them. */
typedef union settings {
  wr_settings common;
  wr_spmv_settings spmv;
} settings;

static const wr_option *table_of(int program) {
  static const wr_option *const tables[] = {wr_pagerank_table, wr_bicgstab_table, wr_spmv_options};
  return tables[program % 3];
}

static char *text_of(const wr_option *table, const settings *s, size_t *size) {
  char *text = NULL;
  FILE *out = open_memstream(&text, size);
  wr_options_write(table, s, out);
  fclose(out);
  return text;
}

/* Every value within what its row allows. */
static void check_ranges(const wr_option *table, const settings *s) {
  WR_EACH_OPTION(row, table) {
    const char *value = (const char *)s + row->offset;
    if (row->type == WR_OPTION_INT) {
      int64_t number = *(const int64_t *)(const void *)value;
      REQUIREF((double)number >= row->min && (double)number <= row->max, "%s = %lld", row->name, (long long)number);
    }
    if (row->type == WR_OPTION_REAL) {
      double number = *(const double *)(const void *)value;
      REQUIREF(number >= row->min && number <= row->max, "%s = %g", row->name, number);
      REQUIREF(!(row->below_max && number == row->max) && !(row->above_min && number == row->min), "%s", row->name);
    }
    if (row->type == WR_OPTION_FLAG) REQUIRE(*(const int *)(const void *)value >> 1 == 0);
    if (row->type == WR_OPTION_CHOICE) REQUIRE(*(const int *)(const void *)value >= 0);
  }
}

/* Written, read and written again: the same text. */
static void round_trip(const wr_option *table, const settings *s) {
  settings again;
  size_t size, size_again;
  char *text = text_of(table, s, &size), *text_again;
  REQUIREF(wr_options_default(table, &again) == WR_OK, "%s", wr_status_message());
  REQUIREF(wr_options_read(table, &again, harness_file(text, size)) == WR_OK, "%s\n%s", wr_status_message(), text);
  text_again = text_of(table, &again, &size_again);
  REQUIREF(size == size_again && memcmp(text, text_again, size) == 0, "%s\nand\n%s", text, text_again);
  free(text), free(text_again);
  wr_options_release(table, &again);
}

/* A row of words that end with line feeds; argv[argc] is NULL. */
static int split(char *text, char **argv) {
  int argc = 1;
  argv[0] = text; /* any word: a program's name is not looked at */
  for (char *at = text, *next; at != NULL && argc < WORDS; at = next) {
    next = strchr(at, '\n');
    if (next != NULL) *next++ = '\0';
    argv[argc++] = at;
  }
  argv[argc] = NULL;
  return argc;
}

/* --config may name anything: what it reads then must not wait for a terminal. */
static void close_standard_input(void) {
  static int done;
  if (done) return;
  int none = open("/dev/null", O_RDONLY);
  if (none >= 0) dup2(none, STDIN_FILENO), close(none);
  done = 1;
}

static wr_status parse(const wr_option *table, int is_file, char *text, size_t count, settings *s) {
  char *argv[WORDS + 1];
  int first;
  harness_begin();
  if (is_file) {
    const char *path = harness_file(text, count);
    wr_status status = wr_options_read(table, s, path);
    harness_judge(status, 1u << WR_EINPUT | 1u << WR_EUSAGE, path);
    return status;
  }
  close_standard_input();
  int argc = split(text, argv);
  wr_status status = wr_options_parse(table, s, argc, argv, &first);
  harness_judge(status, 1u << WR_EINPUT | 1u << WR_EUSAGE, NULL);
  if (status == WR_OK) REQUIREF(first >= 1 && first <= argc, "%d of %d", first, argc);
  return status;
}

FUZZ_TARGET(options) {
  settings s = {.common = {.config = NULL}};
  if (count == 0) return 0;
  const wr_option *table = table_of(bytes[0] / 2);
  char *text = malloc(count);
  memcpy(text, bytes + 1, count - 1);
  text[count - 1] = '\0';
  REQUIREF(wr_options_default(table, &s) == WR_OK, "%s", wr_status_message());
  wr_status status = parse(table, bytes[0] % 2, text, count - 1, &s);
  check_ranges(table, &s);
  if (status == WR_OK) {
    round_trip(table, &s);
    harness_begin();
    harness_judge(wr_settings_finish(&s.common), 1u << WR_EUSAGE, NULL);
  }
  wr_options_release(table, &s);
  free(text);
  return 0;
}
