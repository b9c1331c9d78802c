/* The manual page of a program, or what a shell completes for it, from the program's table of options:
 *   PROGRAM --help | manual man|bash|zsh PROGRAM
 * What the table does not say (how it is called, what it does, examples) is what --help begins with, up to an empty line. */
#define _DEFAULT_SOURCE /* open_memstream */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/generate.h"
#include "solvers/settings.h"
#include "solvers/spmv_settings.h"
#include "solvers/solver.h"
#include "solvers/windrow.h"

enum { ROOM = 512, PIECES = 32 };

/* A program's table, and the lines above its options. */
typedef struct subject {
  const char *name;
  const wr_option *table;
  char usage[32][ROOM];
  int nlines;
} subject;

/* The words that may stand for an argument: "full|sample:N|device" gives full, sample: and device. */
typedef struct pieces {
  char word[PIECES][ROOM];
  int count;
} pieces;

static const char *argument_of(const wr_option *row) {
  static const char *const names[] = {
      [WR_OPTION_FLAG] = "", [WR_OPTION_INT] = "N", [WR_OPTION_REAL] = "REAL", [WR_OPTION_TEXT] = "TEXT"};
  if (row->argument != NULL) return row->argument;
  return row->type == WR_OPTION_CHOICE ? row->choices : names[row->type];
}

static int is_file(const wr_option *row) { return strcmp(argument_of(row), "FILE") == 0; }
static int is_backends(const wr_option *row) { return strcmp(row->name, "backend") == 0; }

static void add_word(pieces *to, const char *text, size_t length) {
  if (to->count < PIECES && length > 0) snprintf(to->word[to->count++], ROOM, "%.*s", (int)length, text);
}

static pieces words_of(const wr_option *row) {
  pieces words = {.count = 0};
  const char *text = argument_of(row);
  if (strchr(text, '|') == NULL) return words;
  for (; *text != '\0'; text += strcspn(text, "|"), text += *text == '|') {
    size_t length = strcspn(text, "|["), colon = strcspn(text, ":");
    add_word(&words, text, colon < length ? colon + 1 : length);
  }
  return words;
}

/* The backends that this build holds. */
static pieces backends(void) {
  pieces words = {.count = 0};
  for (int k = 0; k < wr_backend_count(); k++)
    if (wr_backend_at(k)->plan) add_word(&words, wr_backend_at(k)->name, ROOM - 1);
  return words;
}

/* gen:NAME of every family, as --list-generators begins its paragraphs. */
static pieces families(void) {
  pieces words = {.count = 0};
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL) return words;
  wr_generate_help(out);
  fclose(out);
  for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n'), line += line != NULL)
    if (strncmp(line, "gen:", 4) == 0) add_word(&words, line, 4 + strcspn(line + 4, ":\n"));
  free(text);
  return words;
}

static void print_words(const pieces *words, const char *between) {
  for (int k = 0; k < words->count; k++) printf("%s%s", k > 0 ? between : "", words->word[k]);
}

/* ---- the manual page (man 7 man) ---- */

/* Text for roff: a hyphen that can be copied, no escape, and no line that begins like a request. */
static void roff(const char *text) {
  if (*text == '.' || *text == '\'') printf("\\&");
  for (; *text != '\0'; text++) {
    if (*text == '-')
      printf("\\-");
    else if (*text == '\\')
      printf("\\e");
    else
      putchar(*text);
  }
}

static void heading(const char *text) {
  printf(".SH ");
  for (; *text != '\0'; text++) putchar(toupper((unsigned char)*text));
  printf("\n");
}

static void man_option(const wr_option *row) {
  char range[ROOM];
  wr_option_range(row, range, sizeof range);
  printf(".TP\n.B ");
  if (row->letter) printf("\\-%c\\fR, \\fB", row->letter);
  printf("\\-\\-");
  roff(row->name);
  if (row->type != WR_OPTION_FLAG) {
    printf("\\fR \\fI");
    roff(argument_of(row));
  }
  printf("\\fR\n");
  roff(row->help);
  if (row->value && row->type != WR_OPTION_FLAG) {
    printf("\n.br\nDefault: ");
    roff(row->value);
  }
  if ((row->type == WR_OPTION_INT || row->type == WR_OPTION_REAL) && range[0]) {
    printf("%s", row->value ? "; " : "\n.br\n");
    roff(range);
  }
  if (row->missing) {
    printf("\n.br\nNot available: ");
    roff(row->missing);
  }
  printf("\n");
}

static void man_options(const wr_option *table) {
  WR_EACH_OPTION(row, table) {
    if (row == table) heading("Options");
    if (row->group) {
      printf(".SS ");
      roff(row->group);
      printf("\n");
    }
    man_option(row);
  }
}

static void man_backends(void) {
  heading("Backends");
  roff("Those of this build, with their knobs; --list-backends also says what others need.\n");
  for (int k = 0; k < wr_backend_count(); k++) {
    const wr_backend *backend = wr_backend_at(k);
    if (backend->plan == NULL) continue;
    printf(".TP\n.B ");
    roff(backend->name);
    printf("\n");
    roff(backend->summary);
    printf("\n");
    WR_EACH_OPTION(row, backend->knobs) {
      printf(".br\n");
      roff(row->name);
      printf("=%s: ", row->value ? row->value : "0");
      roff(row->help);
      printf("\n");
    }
  }
}

/* What the exit codes of statuses mean for a program, with those of outcomes among them. */
static void man_exit_status(void) {
  static const char *const codes[] = {
#define STATUS_CODE(name, exit_code, sentence) [exit_code] = sentence,
      WR_STATUS_LIST(STATUS_CODE)
#undef STATUS_CODE
  };
  heading("Exit status");
  for (int code = 0; code < (int)(sizeof codes / sizeof codes[0]); code++) {
    const char *more = "";
    if (code == wr_outcome_exit_code(WR_BREAKDOWN)) more = ", or a breakdown of the method";
    if (code == wr_status_exit_code(WR_EINTERNAL)) more = ", or the answer failed verification";
    if (codes[code])
      printf(".TP\n.B %d\n%s%s\n", code, codes[code], more);
    else if (code == wr_outcome_exit_code(WR_MAX_ITERATIONS))
      printf(".TP\n.B %d\nnot converged\n", code);
  }
  printf(".TP\n.B %d\ninterrupted; what was reached by then is written\n", wr_outcome_exit_code(WR_INTERRUPTED));
}

/* "Ranks the nodes of a graph." as the phrase of NAME: begun small, without the full stop. */
static void man_name(const subject *s) {
  char phrase[ROOM] = "";
  if (s->nlines > 1) snprintf(phrase, sizeof phrase, "%.*s", (int)strcspn(s->usage[1], "."), s->usage[1]);
  phrase[0] = (char)tolower((unsigned char)phrase[0]);
  heading("Name");
  printf("%s \\- %s\n", s->name, phrase);
}

/* "  pagerank web.mtx      the ten best pages": the command, then what it does. */
static void man_example(char *line) {
  line += strspn(line, " ");
  char *phrase = strstr(line, "  ");
  if (phrase != NULL) *phrase = '\0', phrase += 1 + strspn(phrase + 1, " ");
  printf(".TP\n.B ");
  roff(line);
  printf("\n");
  if (phrase != NULL) roff(phrase);
  printf("\n");
}

static int is_example(const char *line) { return line[0] == ' '; }

static int print_man(subject *s) {
  printf(".TH %s 1 \"\" \"windrow %s\" \"windrow\"\n", s->name, wr_version());
  man_name(s);
  heading("Synopsis");
  printf(".B ");
  roff(s->nlines > 0 ? s->usage[0] + strlen("usage: ") : s->name);
  printf("\n");
  heading("Description");
  for (int k = 1; k < s->nlines && !is_example(s->usage[k]); k++) {
    if (k > 1) printf(".PP\n");
    roff(s->usage[k]);
    printf("\n");
  }
  man_options(s->table);
  man_backends();
  man_exit_status();
  heading("Examples");
  for (int k = 1; k < s->nlines && strncmp(s->usage[k], "Exit:", 5) != 0; k++)
    if (is_example(s->usage[k])) man_example(s->usage[k]);
  return 0;
}

/* ---- bash ---- */

static void bash_names(const wr_option *row) {
  if (row->letter) printf("-%c|", row->letter);
  printf("--%s", row->name);
}

static void bash_argument(const wr_option *row) {
  pieces words = words_of(row);
  printf("    ");
  bash_names(row);
  if (is_file(row)) {
    printf(") _windrow_files \"$cur\"; return ;;\n");
  } else if (is_backends(row)) {
    pieces names = backends();
    printf(") [[ $cur != *,* ]] || before=${cur%%,*},; words='");
    print_words(&names, " ");
    printf("' ;;\n");
  } else {
    printf(") words='");
    print_words(&words, " ");
    printf("' ;;\n");
  }
}

/* bash cuts words at = and at : before it asks. */
static const char bash_begin[] =
    "_windrow_files() { mapfile -t COMPREPLY < <(compgen -f -- \"$1\"); compopt -o filenames 2>/dev/null; }\n"
    "_windrow_%s() {\n"
    "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} before= words=\n"
    "  COMPREPLY=()\n"
    "  if [[ $cur == [:=] ]]; then cur=; elif [[ $prev == [:=] ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
    "  case $prev in\n";
static const char bash_end[] = "  esac\n"
                               "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -P \"$before\" -- \"${cur##*,}\")\n"
                               "  [[ ${COMPREPLY[*]} != *: ]] || compopt -o nospace 2>/dev/null\n"
                               "}\n"
                               "complete -F _windrow_%s %s\n";

static int print_bash(subject *s) {
  pieces names = families();
  printf(bash_begin, s->name);
  WR_EACH_OPTION(row, s->table) {
    if (row->type != WR_OPTION_FLAG && !row->missing) bash_argument(row);
  }
  printf("    gen) words='");
  for (int k = 0; k < names.count; k++) printf("%s%s", k > 0 ? " " : "", names.word[k] + strlen("gen:"));
  printf("' ;;\n"
         "    *)\n"
         "      if [[ $cur != -* ]]; then\n"
         "        _windrow_files \"$cur\"\n"
         "        [[ -z $cur || gen: != \"$cur\"* ]] || COMPREPLY+=(gen:)\n"
         "        return\n"
         "      fi\n"
         "      words='");
  WR_EACH_OPTION(row, s->table) {
    if (!row->missing) printf("%s--%s", row == s->table ? "" : " ", row->name);
  }
  printf("' ;;\n");
  printf(bash_end, s->name, s->name);
  return 0;
}

/* ---- zsh ---- */

/* Text within '...[here]...', or as one of (these words). */
static void zsh_text(const char *text) {
  for (; *text != '\0'; text++) {
    if (*text == '\'')
      printf("'\\''");
    else
      printf(strchr("[]:\\", *text) ? "\\%c" : "%c", *text);
  }
}

static void zsh_argument(const wr_option *row) {
  pieces words = words_of(row);
  printf(":%s:", row->name);
  if (is_file(row)) {
    printf("_files");
  } else if (is_backends(row)) {
    printf("_windrow_backends");
  } else if (words.count > 0) {
    printf("(");
    for (int k = 0; k < words.count; k++) {
      printf(k > 0 ? " " : "");
      zsh_text(words.word[k]);
    }
    printf(")");
  }
}

static void zsh_option(const wr_option *row) {
  int flag = row->type == WR_OPTION_FLAG;
  if (row->letter)
    printf(" \\\n  '(-%c --%s)'{-%c%s,--%s%s}'[", row->letter, row->name, row->letter, flag ? "" : "+", row->name,
           flag ? "" : "=");
  else
    printf(" \\\n  '--%s%s[", row->name, flag ? "" : "=");
  zsh_text(row->help);
  printf("]");
  if (!flag) zsh_argument(row);
  printf("'");
}

static int print_zsh(subject *s) {
  pieces names = backends(), made = families();
  printf("#compdef %s\n_windrow_backends() { compset -P '*,'; compadd -S '' -- ", s->name);
  print_words(&names, " ");
  printf("; }\n_windrow_matrix() { _files; compadd -S '' -- ");
  print_words(&made, " ");
  printf("; }\n_arguments -s -S");
  WR_EACH_OPTION(row, s->table) {
    if (!row->missing) zsh_option(row);
  }
  printf(" \\\n  '*:matrix:_windrow_matrix'\n");
  return 0;
}

/* ---- */

static void read_usage(subject *s) {
  char line[ROOM];
  while (s->nlines < 32 && fgets(line, sizeof line, stdin) && line[0] != '\n') {
    line[strcspn(line, "\n")] = '\0';
    snprintf(s->usage[s->nlines++], ROOM, "%s", line);
  }
  while (fgets(line, sizeof line, stdin)) continue; /* so that who writes sees no closed pipe */
}

int main(int argc, char **argv) {
  static subject subjects[] = {{.name = "pagerank", .table = wr_pagerank_table},
                               {.name = "bicgstab", .table = wr_bicgstab_table},
                               {.name = "spmv", .table = wr_spmv_options}};
  static const struct {
    const char *name;
    int (*print)(subject *s);
  } kinds[] = {{"man", print_man}, {"bash", print_bash}, {"zsh", print_zsh}};
  subject *about = NULL;
  for (size_t k = 0; argc == 3 && k < sizeof subjects / sizeof subjects[0]; k++)
    if (strcmp(argv[2], subjects[k].name) == 0) about = &subjects[k];
  if (about) read_usage(about);
  for (size_t k = 0; about && k < sizeof kinds / sizeof kinds[0]; k++)
    if (strcmp(argv[1], kinds[k].name) == 0) return kinds[k].print(about) || fflush(stdout) != 0;
  fprintf(stderr, "usage: PROGRAM --help | manual man|bash|zsh PROGRAM; PROGRAM is one of");
  for (size_t k = 0; k < sizeof subjects / sizeof subjects[0]; k++) fprintf(stderr, " %s", subjects[k].name);
  fprintf(stderr, "; another one's table goes into tools/manual.c\n");
  return 1;
}
