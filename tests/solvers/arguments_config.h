/* Rows of test_arguments.c: status.h, memory.h, option.h. */
#ifndef WR_ARGUMENTS_CONFIG_H
#define WR_ARGUMENTS_CONFIG_H

typedef struct some_settings {
  int64_t number;
  char *text;
} some_settings;

static const wr_option some_options[] = {
    {.name = "number", .type = WR_OPTION_INT, .offset = offsetof(some_settings, number), .max = 9, .value = "3"},
    {.name = "text", .type = WR_OPTION_TEXT, .offset = offsetof(some_settings, text)},
    {0}};

static void try_fail(void) {
  CHECK(wr_fail(WR_EDEVICE, NULL) == WR_EDEVICE);
  CHECK(wr_status_message()[0] == '\0');
}

static void try_status_message(void) { CHECK(wr_status_message() != NULL); }

static void try_error_keep(void) { CHECK(wr_error_keep(NULL, WR_EDEVICE) == WR_EDEVICE); }

static void try_error_raise(void) { REFUSED("error is NULL", wr_error_raise(NULL)); }

static void try_status_name(void) {
  CHECK(strcmp(wr_status_name((wr_status)99), "unknown status") == 0);
  CHECK(strcmp(wr_status_name((wr_status)-1), "unknown status") == 0);
}

static void try_status_sentence(void) {
  CHECK(strcmp(wr_status_sentence((wr_status)99), "unknown status") == 0);
  CHECK(strcmp(wr_status_sentence((wr_status)-1), "unknown status") == 0);
}

static void try_status_exit_code(void) {
  CHECK(wr_status_exit_code((wr_status)99) == wr_status_exit_code(WR_EINTERNAL));
  CHECK(wr_status_exit_code((wr_status)-1) == wr_status_exit_code(WR_EINTERNAL));
}

static void try_alloc_by(wr_status (*alloc)(void *block, int64_t count, size_t size, const char *what)) {
  void *block = &block;
  REFUSED("block is NULL", alloc(NULL, 1, 1, "a test"));
  REFUSED("what is NULL", alloc(&block, 1, 1, NULL));
  CHECK(block == NULL);
  block = &block;
  CHECK_FAILS(WR_ENOMEM, alloc(&block, -1, 8, "a test"));
  CHECK(block == NULL);
}

static void try_alloc(void) { try_alloc_by(wr_alloc); }

static void try_alloc_zeroed(void) {
  called = "wr_alloc"; /* which refuses the argument */
  try_alloc_by(wr_alloc_zeroed);
}

static void try_resize(void) {
  void *block = NULL;
  REFUSED("block is NULL", wr_resize(NULL, 1, "a test"));
  REFUSED("what is NULL", wr_resize(&block, 1, NULL));
  CHECK_FAILS(WR_ENOMEM, wr_resize(&block, -1, "a test"));
  CHECK(block == NULL);
}

static void try_free(void) {
  wr_free(NULL);
  CHECK(wr_status_message() != NULL);
}

static void try_option_find(void) {
  CHECK(wr_option_find(some_options, NULL) == NULL);
  CHECK(wr_option_find(NULL, "number") == NULL);
}

static void try_option_range(void) {
  char text[8] = "before";
  wr_option_range(&some_options[0], NULL, 8);
  wr_option_range(&some_options[0], text, 0);
  CHECK(strcmp(text, "before") == 0);
  wr_option_range(NULL, text, sizeof text);
  CHECK(text[0] == '\0');
}

static void try_options_default(void) {
  static const wr_option broken[] = {{.name = "odd", .type = (wr_option_type)77}, {0}};
  some_settings settings;
  REFUSED("settings is NULL", wr_options_default(some_options, NULL));
  REFUSED("the row 'odd' of the table has no type", wr_options_default(broken, &settings));
  CHECK_OK(wr_options_default(NULL, NULL));
}

static void try_option_set(void) {
  some_settings settings = {0};
  REFUSED("settings is NULL", wr_option_set(some_options, NULL, "number", "1", "a test"));
  REFUSED("name is NULL", wr_option_set(some_options, &settings, NULL, "1", "a test"));
  REFUSED("where is NULL", wr_option_set(some_options, &settings, "number", "1", NULL));
  CHECK_FAILS(WR_EUSAGE, wr_option_set(some_options, &settings, "number", NULL, "a test"));
  CHECK_FAILS(WR_EUSAGE, wr_option_set(NULL, &settings, "number", "1", "a test"));
}

static void try_option_split(void) {
  char **texts;
  int64_t count;
  REFUSED("texts is NULL", wr_option_split("a", NULL, &count));
  REFUSED("count is NULL", wr_option_split("a", &texts, NULL));
  CHECK_OK(wr_option_split(NULL, &texts, &count));
  CHECK(texts == NULL && count == 0);
}

static void try_options_parse(void) {
  some_settings settings = {0};
  char name[] = "a test", *words[] = {name, NULL};
  int first;
  opterr = 1, optind = 5; /* getopt's, which the caller may be using */
  CHECK_OK(wr_options_parse(some_options, &settings, 1, words, &first));
  CHECKF(opterr == 1 && optind == 5, "opterr is %d and optind %d", opterr, optind);
  REFUSED("settings is NULL", wr_options_parse(some_options, NULL, 1, words, &first));
  REFUSED("first_operand is NULL", wr_options_parse(some_options, &settings, 1, words, NULL));
  REFUSED("argv has 1 words and is NULL", wr_options_parse(some_options, &settings, 1, NULL, &first));
  REFUSED("argv has -1 words", wr_options_parse(some_options, &settings, -1, words, &first));
}

static void try_options_read(void) {
  some_settings settings = {0};
  REFUSED("settings is NULL", wr_options_read(some_options, NULL, "/dev/null"));
  REFUSED("path is NULL", wr_options_read(some_options, &settings, NULL));
}

static void try_options_write(void) {
  some_settings settings = {0};
  FILE *out = tmpfile();
  wr_options_write(some_options, &settings, NULL);
  if (out) wr_options_write(some_options, NULL, out);
  CHECK(out == NULL || ftell(out) == 0);
  if (out) fclose(out);
}

static void try_options_text(void) {
  some_settings settings = {0};
  char *text = (char *)&settings;
  REFUSED("text is NULL", wr_options_text(some_options, &settings, NULL));
  REFUSED("settings is NULL", wr_options_text(some_options, NULL, &text));
  CHECK(text == NULL);
}

static void try_options_command(void) {
  some_settings settings = {0};
  FILE *out = tmpfile();
  wr_options_command(some_options, NULL, out);
  wr_options_command(NULL, &settings, out);
  wr_options_command(some_options, &settings, NULL);
  CHECK(out && ftell(out) == 0);
  if (out) fclose(out);
}

static void try_options_word(void) {
  FILE *out = tmpfile();
  wr_options_word(NULL, out);
  wr_options_word("word", NULL);
  CHECK(out && ftell(out) == 0);
  if (out) fclose(out);
}

static void try_options_help(void) {
  wr_options_help(some_options, NULL);
  wr_options_help(NULL, NULL);
  CHECK(wr_status_message() != NULL);
}

static void try_options_release(void) {
  some_settings settings = {0};
  wr_options_release(some_options, NULL);
  wr_options_release(NULL, &settings);
  CHECK(settings.text == NULL);
}

static void try_knobs_parse(void) {
  some_settings knobs = {0};
  REFUSED("knobs is NULL", wr_knobs_parse(some_options, NULL, "number=1", "a test"));
  REFUSED("owner is NULL", wr_knobs_parse(some_options, &knobs, "number=1", NULL));
  CHECK_OK(wr_knobs_parse(some_options, NULL, NULL, NULL));
}

static void try_knobs_text(void) {
  some_settings knobs = {0};
  char text[8] = "before";
  wr_knobs_text(some_options, &knobs, NULL, 8);
  wr_knobs_text(some_options, &knobs, text, 0);
  CHECK(strcmp(text, "before") == 0);
  wr_knobs_text(some_options, NULL, text, sizeof text);
  CHECK(text[0] == '\0');
}

#define ARGUMENTS_CONFIG                                                                             \
  {"wr_fail", try_fail}, {"wr_status_message", try_status_message}, {"wr_status_name", try_status_name}, \
      {"wr_error_keep", try_error_keep}, {"wr_error_raise", try_error_raise},                              \
      {"wr_status_sentence", try_status_sentence}, {"wr_status_exit_code", try_status_exit_code},    \
      {"wr_alloc", try_alloc}, {"wr_alloc_zeroed", try_alloc_zeroed}, {"wr_free", try_free},         \
      {"wr_resize", try_resize}, {"wr_options_text", try_options_text},                                        \
      {"wr_options_command", try_options_command}, {"wr_options_word", try_options_word},            \
      {"wr_option_find", try_option_find}, {"wr_option_range", try_option_range},                    \
      {"wr_options_default", try_options_default}, {"wr_option_set", try_option_set},                \
      {"wr_option_split", try_option_split},                                                         \
      {"wr_options_parse", try_options_parse}, {"wr_options_read", try_options_read},                \
      {"wr_options_write", try_options_write}, {"wr_options_help", try_options_help},                \
      {"wr_options_release", try_options_release}, {"wr_knobs_parse", try_knobs_parse},              \
      {"wr_knobs_text", try_knobs_text},

#endif
