/* Text for users to read: how wide it may be, paragraphs that are broken at blanks, and nouns that agree with a count. */
#ifndef WR_TEXT_H
#define WR_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include "config/status.h"

WR_C_BEGIN

enum { WR_LEAST_WIDTH = 80 };

/* The columns that a line written to this stream may have: those of the terminal that the stream is, else the
 * environment's COLUMNS if that is a whole number from 1 to 10000, else 80. Never less than 80. */
int wr_text_width(FILE *out);

/* Prints text as a paragraph and ends the line. Column `at` is where the first line goes on, column `indent` where the
 * others begin; both leave at least half of the stream's width. No line is wider than wr_text_width(out), counted in bytes,
 * of which a character of UTF-8 has at least as many as columns. Lines end at blanks, but where it can be avoided not between
 * a number and its unit or the word before it ("solve 15.0 ms", "3 x 3"), nor within "[0, 1]" or beside the sign of
 * "b = A x". Only a word that is wider than a whole line is broken, behind one of : , / ; = | if possible. Control characters
 * print as blanks. */
void wr_text_wrap(FILE *out, const char *text, int at, int indent);

/* The last place in a text up to `at` where no character of UTF-8 (at most 4 bytes) is cut in two. */
size_t wr_text_cut(const char *text, size_t at);

/* Bytes of the well-formed UTF-8 character at text[0..length-1] (RFC 3629, section 4: no overlong forms, no surrogates, at
 * most U+10FFFF), or 0. The byte 0 is a character of one byte. */
int wr_text_character(const char *text, int64_t length);

/* A message of a program, at most 8000 bytes of it: a paragraph where the stream is a terminal, else one line, which suits
 * log files and grep. Control characters print as blanks. */
void wr_text_message(FILE *out, const char *format, ...) WR_PRINTF(2, 3);

/* Things that have a reason in common, the reason said once: "not available: merbit, csr_warp: no CUDA device on this
 * machine", a paragraph for each different reason in the order of its first thing. names[count], reasons[count]. */
void wr_text_reasons(FILE *out, const char *begin, const char *const *names, const char *const *reasons, int count);

/* 1 if none of texts[0..k-1] is the same as texts[k]. */
int wr_text_is_first(const char *const *texts, int k);

/* The noun that goes with a count: wr_plural(n, "entry", "entries"). */
static inline const char *wr_plural(int64_t count, const char *one, const char *many) {
  return count == 1 ? one : many;
}

WR_C_END
#endif
