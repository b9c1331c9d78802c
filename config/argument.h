/* How public functions check their arguments: in front of everything else, a line for each argument. */
#ifndef WR_ARGUMENT_H
#define WR_ARGUMENT_H

#include "config/status.h"

WR_C_BEGIN

/* WR_EUSAGE with "function: what is wrong with which argument". */
wr_status wr_refuse(const char *function, const char *format, ...) WR_PRINTF(2, 3);

WR_C_END

/* Leaves the function with WR_EUSAGE where a condition holds; what follows is wr_fail's sentence without the function. */
#define WR_REFUSE_IF(wrong, ...)                             \
  do {                                                       \
    if (wrong) return wr_refuse(__func__, __VA_ARGS__);      \
  } while (0)

#define WR_NEED(pointer) WR_REFUSE_IF((pointer) == NULL, "%s is NULL", #pointer)

/* Leaves the function with what another check answers. */
#define WR_NEED_OK(check)                         \
  do {                                            \
    wr_status wr_checked = (check);               \
    if (wr_checked != WR_OK) return wr_checked;   \
  } while (0)

#endif
