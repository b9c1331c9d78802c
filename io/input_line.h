/* A line of a text, its words, and quotes of it in error messages. Internal to io/. */
#ifndef WR_INPUT_LINE_H
#define WR_INPUT_LINE_H

#include <stdint.h>

/* A line without its end, which is LF or CR LF, or at the very end of the text nothing or CR. */
typedef struct wr_input_line {
  const char *begin, *end; /* the characters of the line      */
  const char *next;        /* the next line's, or text's end  */
} wr_input_line;

wr_input_line wr_line_at(const char *begin, const char *text_end);

/* 1 and the next word [*word, *word_end) of a line between blanks and tabs; *at moves behind it. 0: no more words. */
int wr_line_word(const char **at, const char *line_end, const char **word, const char **word_end);

int wr_line_is_blank(const wr_input_line *line);

/* 1 if the word is `name`, letter case aside, in whatever locale. */
int wr_word_is(const char *word, const char *word_end, const char *name);

#define WR_WHERE 512

/* "name:line", which begins an error; of a very long name the end. Returns where. */
const char *wr_where(const char *name, int64_t line, char where[WR_WHERE]);

#define WR_QUOTE 64

/* [begin, end) for an error message: at most 40 characters of it, other than printable ASCII as \xNN. Returns text. */
const char *wr_quote(const char *begin, const char *end, char text[WR_QUOTE]);

#endif
