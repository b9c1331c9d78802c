/* Option tables. One row is an option's documentation, its parser and its range check at once: a table writes --help,
 * parses a command line with getopt_long, reads --config files and prints the effective settings in that same form.
 * A backend's knobs are rows of the same type. Values land in a struct of the caller's at the row's offset. */
#ifndef WR_OPTION_H
#define WR_OPTION_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config/status.h"

WR_C_BEGIN

typedef enum wr_option_type {
  WR_OPTION_FLAG,   /* int: 0, or 1 when given; in a file: name = yes | no                                */
  WR_OPTION_INT,    /* int64_t in [min, max]                                                              */
  WR_OPTION_REAL,   /* double in [min, max]; inf and nan are never accepted                               */
  WR_OPTION_TEXT,   /* char *, owned by the settings (wr_options_release frees it); NULL when not given   */
  WR_OPTION_CHOICE  /* int: position in `choices`                                                         */
} wr_option_type;

/* The end of a table is a row without a name. */
typedef struct wr_option {
  const char *name;     /* long name, without dashes: "max-iterations"                                     */
  char letter;          /* short name, or 0                                                                */
  wr_option_type type;
  size_t offset;        /* of the value in the settings                                                    */
  double min, max;      /* WR_OPTION_INT, WR_OPTION_REAL: inclusive                                        */
  int above_min;        /* 1: min itself is refused                                                        */
  int below_max;        /* 1: max itself is refused                                                        */
  const char *choices;  /* WR_OPTION_CHOICE: "cpu|cuda|auto". WR_OPTION_TEXT: what the text is up to its first */
                        /* colon, behind which knobs may follow; NULL: anything                            */
  const char *value;    /* the default as text, parsed like any other; NULL: 0, "" or not given            */
  const char *argument; /* what --help calls the argument: "FILE"; NULL: derived from the type             */
  const char *help;     /* one phrase                                                                      */
  const char *group;    /* heading in --help; NULL: the heading of the row before                          */
  const char *missing;  /* not NULL: this build lacks the part, and the option is refused with this        */
  int repeats;          /* WR_OPTION_TEXT, 1: given again on a command line, another text is added behind a line's end */
  int command;          /* 1: an action (--help, --version): not in config files nor among the settings    */
} wr_option;

typedef wr_option wr_knob;

/* The loop over a table's rows. A table may be NULL: it then has no rows, here and below. */
#define WR_EACH_OPTION(row, table) for (const wr_option *row = (table); row != NULL && row->name != NULL; row++)

/* The row of this name, or NULL. */
const wr_option *wr_option_find(const wr_option *table, const char *name);

/* Prints what the row accepts into text[size]: "in (0, 1]", "at least 1", "one of cpu|cuda"; "" for any. */
void wr_option_range(const wr_option *row, char *text, size_t size);

/* Sets every value of the table to its default. A default that its own row refuses is WR_EINTERNAL. */
wr_status wr_options_default(const wr_option *table, void *settings);

/* Sets one option by name from text; `where` begins the error sentence ("--tolerance", "run.conf:3", "knob of cusparse").
 * WR_EUSAGE: unknown name (the closest one is named), not a number, out of range (the range is named), not a choice. */
wr_status wr_option_set(const wr_option *table, void *settings, const char *name, const char *text, const char *where);

/* Parses a command line: first the --config file if one is given, then the options in order, so that the command line
 * wins. Operands are moved to the end of argv (getopt's way); *first_operand is the index of the first. WR_EUSAGE as
 * wr_option_set, and for an option without its argument; WR_EINPUT when the file cannot be read. */
wr_status wr_options_parse(const wr_option *table, void *settings, int argc, char **argv, int *first_operand);

/* Reads `name = value` lines; # begins a comment, blank lines are skipped, a flag is yes or no, text may be quoted with
 * double quotes: a backslash escapes " and \, \n and \r are line ends, and \xHH any other byte but 0. Errors begin with
 * `path:line: `. */
wr_status wr_options_read(const wr_option *table, void *settings, const char *path);

/* Prints the settings as wr_options_read reads them, a line each, in table order; unset text and actions are left out. */
void wr_options_write(const wr_option *table, const void *settings, FILE *out);

/* *text := what wr_options_write prints, to be freed with wr_free. WR_ENOMEM; *text is then NULL or to be freed, too. */
wr_status wr_options_text(const wr_option *table, const void *settings, char **text);

/* Prints the options that differ from their defaults as a shell takes them, each with a blank before it:
 * " --precond jacobi --output 'a b.mtx'". Actions are left out, and the option file, as its settings are among them. */
void wr_options_command(const wr_option *table, const void *settings, FILE *out);

/* Prints the word as a shell takes it: in single quotes unless it has letters, digits and ordinary marks alone; with control
 * characters as $'a\033b', which bash, zsh and ksh take, so that they control no terminal. */
void wr_options_word(const char *word, FILE *out);

/* Prints the options by groups: names, argument, help, default and range, no wider than wr_text_width(out). */
void wr_options_help(const wr_option *table, FILE *out);

/* *texts := the texts of a row that repeats, *count of them, in one block for wr_free; none (NULL) of NULL. WR_ENOMEM */
wr_status wr_option_split(const char *joined, char ***texts, int64_t *count);

/* Frees the texts of the settings. */
void wr_options_release(const wr_option *table, void *settings);

/* Knobs: "sigma=11:layout=paper" (may be NULL or empty). owner names the backend in errors. WR_EUSAGE as wr_option_set, and
 * for a knob that is given twice. */
wr_status wr_knobs_parse(const wr_knob *table, void *knobs, const char *text, const char *owner);

/* Prints "sigma=11:layout=paper" (every knob with its effective value) into text[size]. */
void wr_knobs_text(const wr_knob *table, const void *knobs, char *text, size_t size);

WR_C_END
#endif
