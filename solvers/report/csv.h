/* Fields of CSV (RFC 4180). The caller writes commas and line ends. */
#ifndef WR_CSV_H
#define WR_CSV_H

#include <stdio.h>

/* A field with a comma, a quote or a line end stands in quotes, inner quotes doubled (section 2). */
void wr_csv_text(FILE *file, const char *text);

/* The fewest digits that read back to the same bits; nan, inf, -inf. */
void wr_csv_real(FILE *file, double value);

#endif
