/* Errors as the library's own code handles them: kept for a record, and handed on by PASS and TRY. The codes and the sentence
 * of a thread are in config/errors.h. */
#ifndef WR_STATUS_H
#define WR_STATUS_H

#include "config/errors.h"

WR_C_BEGIN

/* A failure with its sentence, to be kept for a record or to be reported by another thread. */
typedef struct wr_error {
  wr_status status; /* WR_OK: there is none */
  char text[512];   /* "" with WR_OK        */
} wr_error;

/* *error := status and, unless it is WR_OK, the sentence of this thread's last failure. Returns status. */
wr_status wr_error_keep(wr_error *error, wr_status status);

/* Makes a kept failure the last one of this thread, and returns its status; WR_OK, and no more, if it is none. */
wr_status wr_error_raise(const wr_error *error);

WR_C_END

/* Runs a call; on failure the function returns its status at once. For functions that have nothing to free. */
#define PASS(call)                                 \
  do {                                             \
    wr_status passed = (call);                     \
    if (passed != WR_OK) return passed;            \
  } while (0)

/* Runs a call; on failure leaves for the function's one exit, the label done, which frees, with `status` set. */
#define TRY(call)                                  \
  do {                                             \
    if ((status = (call)) != WR_OK) goto done;     \
  } while (0)

#endif
