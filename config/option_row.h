/* What the sources of option tables share (option.h): rows as sentences of errors name them, and their values as text. */
#ifndef WR_OPTION_ROW_H
#define WR_OPTION_ROW_H

#include <string.h>

#include "config/option.h"

enum {
  WR_OPTION_SHOWN = 64, /* bytes of a user's text that an error repeats */
  WR_OPTION_LIST = 256, /* bytes of a list of names in an error         */
  WR_OPTION_WORD = 64   /* bytes of a number as text                    */
};

static inline int wr_option_is_control(char byte) { return (unsigned char)byte < ' ' || byte == 127; }

/* Whether the row names an option file. */
static inline int wr_option_is_config(const wr_option *row) {
  return row->type == WR_OPTION_TEXT && strcmp(row->name, "config") == 0;
}

/* The text as an error repeats it: control bytes as '?', cut (between characters of UTF-8) when long. */
const char *wr_option_shown(const char *text, char buffer[WR_OPTION_SHOWN]);

/* WR_EUSAGE, with a sentence that begins with `where` and the row's name. */
wr_status wr_option_refuse(const wr_option *row, const char *where, const char *format, ...) WR_PRINTF(3, 4);

/* The names that begin with prefix[length], each after `dashes`; returns 0 when they do not all fit. */
int wr_option_list_names(const wr_option *table, const char *prefix, size_t length, const char *dashes,
                         char list[WR_OPTION_LIST]);

/* WR_EUSAGE: there is no such name; the closest one is named, or all of them. */
wr_status wr_option_unknown(const wr_option *table, const char *name, const char *where);

/* The one place where text becomes a value. NULL: a flag is yes, and other rows need a value. Errors as of wr_option_set. */
wr_status wr_option_set_row(const wr_option *row, void *settings, const char *text, const char *where);

/* The choice at a position as a slice of `choices`; NULL past the last. */
const char *wr_option_choice_at(const char *choices, int position, size_t *length);

/* A value as wr_option_set reads it, text as it is: length bytes, in `number` or elsewhere. NULL when it is not set. */
const char *wr_option_value_text(const wr_option *row, const void *settings, char number[WR_OPTION_WORD],
                                 size_t *length);

#endif
