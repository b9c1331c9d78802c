/* Text to number and back: correctly rounded, independent of the locale, nothing accepted by accident. */
#ifndef WR_NUMBER_H
#define WR_NUMBER_H

#include <stdint.h>

typedef enum wr_number_status {
  WR_NUMBER_OK,
  WR_NUMBER_BAD,      /* not a number of this kind (nan, inf and hex are none) */
  WR_NUMBER_OVERFLOW  /* a number, but beyond the type                         */
} wr_number_status;

/* The token [text, end) is one decimal floating-point number: sign, digits with at most one point, an exponent with e, E, d
 * or D. Underflow gives a denormal or 0. */
wr_number_status wr_number_real(const char *text, const char *end, double *value);

/* The same at the beginning of [text, end): *stop := the first character that does not belong to the number. */
wr_number_status wr_number_scan(const char *text, const char *end, double *value, const char **stop);

/* 1: the number at the beginning of [text, end), which was read as `value`, is not 0, but so close to it that it became 0. */
int wr_number_vanished(const char *text, const char *end, double value);

/* The token [text, end) is one integer: a sign and digits. */
wr_number_status wr_number_integer(const char *text, const char *end, int64_t *value);

/* The shortest decimal that strtod reads back to the same bits, nearest to it where there are several; returns its length.
 * text has room for 32 characters. Plain from 1e-5 up to 17 digits, else d.ddde-N; "nan", "inf". */
int wr_number_text(double value, char *text);

#endif
