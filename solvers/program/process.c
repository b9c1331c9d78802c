#define _DEFAULT_SOURCE /* sigaction, _exit */
#include "solvers/program/process.h"

#include <string.h>
#include <unistd.h>

#include "config/text.h"
#include "config/version.h"
#include "data/generate.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int number) { interrupted = number; }

void wr_process_begin(void) { (void)signal(SIGXFSZ, SIG_IGN); }

/* One lost terminal sends SIGHUP several times, and a limit on CPU time SIGXCPU every second: only a user's second signal says
 * that the first one was not enough. */
void wr_process_catch_signals(void) {
  static const struct {
    int number, flags;
  } signals[] = {{SIGINT, SA_RESETHAND}, {SIGTERM, SA_RESETHAND}, {SIGHUP, 0}, {SIGXCPU, 0}};
  struct sigaction before;
  for (size_t k = 0; k < sizeof signals / sizeof *signals; k++) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = signals[k].flags};
    sigemptyset(&action.sa_mask);
    if (sigaction(signals[k].number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
      sigaction(signals[k].number, &action, NULL);
  }
}

const volatile sig_atomic_t *wr_process_interrupted(void) { return &interrupted; }

wr_status wr_process_flush(FILE *out) {
  return fflush(out) != 0 || ferror(out) ? wr_fail(WR_EOUTPUT, "standard output could not be written") : WR_OK;
}

void wr_process_leave(int code) {
  (void)fflush(NULL);
  _exit(code);
}

int wr_process_complain(const char *program, wr_status status) {
  wr_text_message(stderr, "%s: %s", program, wr_status_message());
  if (status == WR_EUSAGE) fprintf(stderr, "%s --help shows the options\n", program);
  return wr_status_exit_code(status);
}

int wr_process_complain_of(const char *program, const char *name, wr_status status) {
  const char *message = wr_status_message();
  if (name == NULL || strncmp(message, name, strlen(name)) == 0) return wr_process_complain(program, status);
  wr_text_message(stderr, "%s: %s: %s", program, name, message);
  return wr_status_exit_code(status);
}

int wr_process_is_action(const wr_settings *s) {
  return s->help || s->version || s->list_backends || s->list_generators;
}

/* Words, and behind the longest of them a column of what they mean; text with the word "" goes from edge to edge. */
static void put_list(FILE *out, int left, const wr_phrase *list) {
  int widest = 0;
  for (const wr_phrase *p = list; p->word; p++) widest = (int)strlen(p->word) > widest ? (int)strlen(p->word) : widest;
  for (const wr_phrase *p = list; p->word; p++) {
    if (p->word[0] == '\0')
      wr_text_wrap(out, p->text, 0, 0);
    else
      wr_text_wrap(out, p->text, fprintf(out, "%*s%-*s  ", left, "", widest, p->word), left + widest + 2);
  }
}

static void print_help(const char *name, const wr_program_text *text, const wr_option *options, FILE *out) {
  fprintf(out, "usage: %s [options] %s\n%s\n", name, text->operands, text->summary);
  for (const wr_phrase *p = text->words; p->word; p++)
    wr_text_wrap(out, p->text, fprintf(out, "%s: ", p->word), (int)strlen(p->word) + 2);
  if (text->report) put_list(out, 0, text->report);
  put_list(out, 2, text->examples);
  char exits[1024] = "";
  for (const wr_phrase *p = text->exits; p->word; p++) {
    size_t used = strlen(exits);
    snprintf(exits + used, sizeof exits - used, "%s %s%s", p->word, p->text, p[1].word ? ", " : ".");
  }
  int column = fprintf(out, "Exit: ");
  wr_text_wrap(out, exits, column, column);
  fprintf(out, "\n");
  wr_options_help(options, out);
}

wr_status wr_process_act(const char *program, const wr_program_text *text, const wr_option *options,
                         const wr_settings *s) {
  if (s->help) {
    print_help(program, text, options, stdout);
  } else if (s->version) {
    printf("%s (windrow) %s\n", program, WR_VERSION);
  } else if (s->list_backends) {
    wr_backends_print(stdout);
  } else {
    wr_generate_help(stdout);
  }
  return wr_process_flush(stdout);
}
