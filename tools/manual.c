/* The manual page of a program, or what a shell completes for it, from the program's texts and its table of options:
 *   manual man|bash|zsh PROGRAM */
#define _DEFAULT_SOURCE /* open_memstream */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/version.h"
#include "data/generate.h"
#include "solvers/program/settings.h"
#include "solvers/outcome.h"

enum { ROOM = 512, PIECES = 32 };

typedef struct subject {
  const char *name;
  const wr_program_text *text;
  const wr_option *table;
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
  const char *text = row->choices ? row->choices : argument_of(row);
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

/* Text for roff: a hyphen that can be copied, no escape, no quote that a macro would take as one, and no line that begins like
 * a request. The first blank from column `width` on becomes the end of a line. */
static void roff_lines(const char *text, int width) {
  for (int column = 0; *text != '\0'; text++, column++) {
    if (column == 0 && (*text == '.' || *text == '\'')) printf("\\&");
    if (*text == ' ' && column >= width)
      putchar('\n'), column = -1;
    else if (*text == '-')
      printf("\\-");
    else if (*text == '\\')
      printf("\\e");
    else if (*text == '"')
      printf("\\(dq");
    else
      putchar(*text);
  }
}

/* What is the argument of a macro, or stands in a line with other things. */
static void roff(const char *text) { roff_lines(text, ROOM); }

/* Lines of their own, which roff fills. */
static void prose(const char *text) {
  roff_lines(text, 55);
  printf("\n");
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
  prose(row->help);
  int has_default = row->value && row->type != WR_OPTION_FLAG;
  int has_range = (row->type == WR_OPTION_INT || row->type == WR_OPTION_REAL) && range[0];
  if (has_default) printf(".br\nDefault: "), roff(row->value);
  if (has_range) printf("%s", has_default ? "; " : ".br\n"), roff(range);
  if (has_default || has_range) printf("\n");
  if (row->missing) {
    printf(".br\nNot available:\n");
    prose(row->missing);
  }
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

static void man_knobs(const wr_knob *knobs) {
  WR_EACH_OPTION(row, knobs) {
    printf(".br\n");
    roff(row->name);
    printf("=%s:\n", row->value ? row->value : "0");
    prose(row->help);
  }
}

static void man_preconditioners(const wr_option *table) {
  if (wr_option_find(table, "precond") == NULL) return;
  heading("Preconditioners");
  prose("With their knobs.");
  for (int k = 0; k < wr_preconditioner_count(); k++) {
    const wr_preconditioner *of = wr_preconditioner_at(k);
    printf(".TP\n.B ");
    roff(of->name);
    printf("\n");
    prose(of->summary);
    man_knobs(of->knobs);
  }
}

static void man_backends(void) {
  heading("Backends");
  prose("Those of this build, with their knobs; --list-backends also says what others need.");
  for (int k = 0; k < wr_backend_count(); k++) {
    const wr_backend *backend = wr_backend_at(k);
    if (backend->plan == NULL) continue;
    printf(".TP\n.B ");
    roff(backend->name);
    printf("\n");
    prose(backend->summary);
    man_knobs(backend->knobs);
  }
}

/* A paragraph under a word; under none a plain one. */
static void man_phrase(const char *word, const char *text) {
  if (word[0] != '\0') {
    printf(".TP\n.B ");
    roff(word);
    printf("\n");
  } else {
    printf(".PP\n");
  }
  prose(text);
}

static void man_phrases(const wr_phrase *list) {
  for (const wr_phrase *p = list; p && p->word; p++) man_phrase(p->word, p->text);
}

/* The program's own words for a code, or where all programs mean the same by it the sentence of its status. */
static void man_exit_status(const wr_phrase *exits) {
  static const char *const sentences[] = {
#define STATUS_SENTENCE(name, exit_code, sentence) [exit_code] = sentence,
      WR_STATUS_LIST(STATUS_SENTENCE)
#undef STATUS_SENTENCE
  };
  heading("Exit status");
  for (const wr_phrase *p = exits; p->word; p++) {
    int code = atoi(p->word);
    int own = code == 0 || code == wr_status_exit_code(WR_ENUMERIC) || code == wr_status_exit_code(WR_EINTERNAL);
    int known = code < (int)(sizeof sentences / sizeof sentences[0]) && sentences[code] != NULL;
    int interrupted = code == wr_outcome_exit_code(WR_INTERRUPTED);
    man_phrase(p->word, interrupted     ? "interrupted; what was reached by then is written"
                        : own || !known ? p->text
                                        : sentences[code]);
  }
}

/* "Ranks the nodes of a graph." as the phrase of NAME: begun small, without the full stop. */
static void man_name(const subject *s) {
  char phrase[ROOM];
  snprintf(phrase, sizeof phrase, "%.*s", (int)strcspn(s->text->summary, "."), s->text->summary);
  phrase[0] = (char)tolower((unsigned char)phrase[0]);
  heading("Name");
  printf("%s \\- ", s->name);
  prose(phrase);
}

/* The day on which the page is made; SOURCE_DATE_EPOCH, seconds since 1970, makes it the same again. */
static void man_title(const subject *s) {
  char name[ROOM], day[sizeof "2000-01-01"] = "";
  const char *epoch = getenv("SOURCE_DATE_EPOCH");
  time_t now = epoch ? (time_t)strtoll(epoch, NULL, 10) : time(NULL);
  struct tm *parts = gmtime(&now);
  if (parts) strftime(day, sizeof day, "%Y-%m-%d", parts);
  for (size_t k = 0; k <= strlen(s->name) && k < ROOM; k++) name[k] = (char)toupper((unsigned char)s->name[k]);
  printf(".TH %s 1 \"%s\" \"windrow %s\" \"windrow\"\n", name, day, wr_version());
}

static int print_man(const subject *s) {
  man_title(s);
  man_name(s);
  heading("Synopsis");
  printf(".B %s\n", s->name);
  roff("[options] ");
  roff(s->text->operands);
  printf("\n");
  heading("Description");
  prose(s->text->summary);
  man_phrases(s->text->words);
  man_phrases(s->text->report);
  man_options(s->table);
  man_preconditioners(s->table);
  man_backends();
  man_exit_status(s->text->exits);
  heading("Examples");
  man_phrases(s->text->examples);
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

/* bash cuts words at = and at : before it calls the function. */
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

static int print_bash(const subject *s) {
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

static int print_zsh(const subject *s) {
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

int main(int argc, char **argv) {
  static const subject subjects[] = {{.name = "pagerank", .text = &wr_pagerank_text, .table = wr_pagerank_table},
                                     {.name = "bicgstab", .text = &wr_bicgstab_text, .table = wr_bicgstab_table},
                                     {.name = "spmv", .text = &wr_spmv_text, .table = wr_spmv_options}};
  static const struct {
    const char *name;
    int (*print)(const subject *s);
  } kinds[] = {{"man", print_man}, {"bash", print_bash}, {"zsh", print_zsh}};
  const subject *about = NULL;
  for (size_t k = 0; argc == 3 && k < sizeof subjects / sizeof subjects[0]; k++)
    if (strcmp(argv[2], subjects[k].name) == 0) about = &subjects[k];
  for (size_t k = 0; about && k < sizeof kinds / sizeof kinds[0]; k++)
    if (strcmp(argv[1], kinds[k].name) == 0) return kinds[k].print(about) || fflush(stdout) != 0;
  fprintf(stderr, "usage: manual man|bash|zsh PROGRAM; PROGRAM is one of");
  for (size_t k = 0; k < sizeof subjects / sizeof subjects[0]; k++) fprintf(stderr, " %s", subjects[k].name);
  fprintf(stderr, "; another one's table goes into tools/manual.c\n");
  return 1;
}
