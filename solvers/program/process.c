#define _DEFAULT_SOURCE /* sigaction */
#include "solvers/program/process.h"

#include "config/text.h"
#include "data/generate.h"
#include "solvers/windrow.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int number) { interrupted = number; }

void wr_process_catch_signals(void) {
  static const int numbers[] = {SIGINT, SIGTERM};
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND}, before;
  sigemptyset(&action.sa_mask);
  for (int k = 0; k < 2; k++)
    if (sigaction(numbers[k], NULL, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(numbers[k], &action, NULL);
}

const volatile sig_atomic_t *wr_process_interrupted(void) { return &interrupted; }

wr_status wr_process_flush(FILE *out) {
  return fflush(out) != 0 || ferror(out) ? wr_fail(WR_EOUTPUT, "standard output takes no more") : WR_OK;
}

int wr_process_complain(const char *program, wr_status status) {
  wr_text_message(stderr, "%s: %s", program, wr_status_message());
  if (status == WR_EUSAGE) fprintf(stderr, "%s --help shows the options\n", program);
  return wr_status_exit_code(status);
}

int wr_process_is_action(const wr_settings *s) {
  return s->help || s->version || s->list_backends || s->list_generators;
}

wr_status wr_process_act(const char *program, const wr_program_text *text, const wr_option *options,
                         const wr_settings *s) {
  if (s->help) {
    wr_program_help(program, text, options, stdout);
  } else if (s->version) {
    printf("%s (windrow) %s\n", program, WR_VERSION);
  } else if (s->list_backends) {
    wr_backends_print(stdout);
  } else {
    wr_generate_help(stdout);
  }
  return wr_process_flush(stdout);
}
