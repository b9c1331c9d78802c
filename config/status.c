#include "config/status.h"

#include <stdarg.h>
#include <stdio.h>

#include "config/argument.h"

/* A sentence per thread, as errno is a number per thread: parallel readers fail independently of each other. */
static _Thread_local char message[1024];

/* A sentence may repeat what a file or a user wrote. Without control characters it stays one line and controls no terminal. */
static void make_printable(char *text) {
  for (; *text != '\0'; text++)
    if ((unsigned char)*text < ' ' || *text == 127) *text = '?';
}

wr_status wr_fail(wr_status code, const char *format, ...) {
  char text[sizeof message] = ""; /* the arguments may include the current message */
  va_list arguments;
  va_start(arguments, format);
  if (format) vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  make_printable(text);
  snprintf(message, sizeof message, "%s", text);
  return code;
}

wr_status wr_refuse(const char *function, const char *format, ...) {
  char text[sizeof message];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return wr_fail(WR_EUSAGE, "%s: %s", function, text);
}

const char *wr_status_message(void) { return message; }

wr_status wr_error_keep(wr_error *error, wr_status status) {
  if (error == NULL) return status;
  error->status = status;
  snprintf(error->text, sizeof error->text, "%s", status == WR_OK ? "" : message);
  return status;
}

wr_status wr_error_raise(const wr_error *error) {
  WR_NEED(error);
  return error->status == WR_OK ? WR_OK : wr_fail(error->status, "%s", error->text);
}

#define NAME(name, exit_code, sentence) #name,
#define SENTENCE(name, exit_code, sentence) sentence,
#define EXIT_CODE(name, exit_code, sentence) exit_code,
static const char *const names[] = {WR_STATUS_LIST(NAME)};
static const char *const sentences[] = {WR_STATUS_LIST(SENTENCE)};
static const int exit_codes[] = {WR_STATUS_LIST(EXIT_CODE)};

static int is_status(wr_status code) { return (int)code >= 0 && (size_t)code < sizeof names / sizeof *names; }

const char *wr_status_name(wr_status code) { return is_status(code) ? names[code] : "unknown status"; }
const char *wr_status_sentence(wr_status code) { return is_status(code) ? sentences[code] : "unknown status"; }
int wr_status_exit_code(wr_status code) { return exit_codes[is_status(code) ? code : WR_EINTERNAL]; }
