/* The matrices that a command line names, those of its lists included. */
#ifndef WR_MATRIX_LIST_H
#define WR_MATRIX_LIST_H

#include <stdint.h>

#include "config/status.h"

typedef struct wr_matrix_list {
  char **name; /* [count], in the order of the command line and of the lists' lines */
  int64_t count, capacity;
} wr_matrix_list;

/* Adds a matrix's name, or for @LIST those of the file LIST: one a line, blank lines and what follows # left out.
 * WR_EINPUT: the list cannot be read or names none, a name in it is too long, or is itself a list; WR_ENOMEM. A zeroed struct
 * is an empty list. */
wr_status wr_matrix_list_add(wr_matrix_list *list, const char *operand);

void wr_matrix_list_free(wr_matrix_list *list);

#endif
