#include "config/status.h"

#include <stdarg.h>
#include <stdio.h>

/* A sentence per thread, as errno is a number per thread: parallel readers fail independently of each other. */
static _Thread_local char message[1024];

/* A sentence may repeat what a file or a user wrote. It stays one line, and commands no terminal. */
static void make_printable(char *text) {
  for (; *text != '\0'; text++)
    if ((unsigned char)*text < ' ' || *text == 127) *text = '?';
}

wr_status wr_fail(wr_status code, const char *format, ...) {
  char text[sizeof message]; /* the arguments may include the current message */
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  make_printable(text);
  snprintf(message, sizeof message, "%s", text);
  return code;
}

const char *wr_status_message(void) { return message; }

#define NAME(name, exit_code, sentence) #name,
#define SENTENCE(name, exit_code, sentence) sentence,
#define EXIT_CODE(name, exit_code, sentence) exit_code,
static const char *const names[] = {WR_STATUS_LIST(NAME)};
static const char *const sentences[] = {WR_STATUS_LIST(SENTENCE)};
static const int exit_codes[] = {WR_STATUS_LIST(EXIT_CODE)};

const char *wr_status_name(wr_status code) { return names[code]; }
const char *wr_status_sentence(wr_status code) { return sentences[code]; }
int wr_status_exit_code(wr_status code) { return exit_codes[code]; }
