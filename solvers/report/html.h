/* Text in pages of HTML, also as the value of an attribute in double quotes. */
#ifndef WR_HTML_H
#define WR_HTML_H

#include <stdio.h>

#include "config/status.h"

/* Writes text so that a browser shows its characters and takes none as markup: & < > " ' become references. Bytes that are no
 * UTF-8, characters that HTML or XML forbid, and those that change the direction of text become U+FFFD; control characters
 * become their pictures, a line's end for instance U+240A. */
void wr_html_text(FILE *file, const char *text);

/* The same; a word of at most 24 bytes with a hyphen, such as 1e-8 or --scale, is in a <span class="whole">, so that the style
 * can keep it on one line. */
void wr_html_sentence(FILE *file, const char *text);

/* wr_html_text of printf's result, at most 4000 bytes of it. */
void wr_html_print(FILE *file, const char *format, ...) WR_PRINTF(2, 3);

#endif
