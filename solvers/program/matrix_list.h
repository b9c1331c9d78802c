/* The matrices that a command line names, those of its lists included, and how work on them ended. */
#ifndef WR_MATRIX_LIST_H
#define WR_MATRIX_LIST_H

#include <stdint.h>
#include <stdio.h>

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

/* Zeroed before the first matrix. */
typedef struct wr_matrix_tally {
  int64_t begun, good; /* matrices; good: those that ended with exit code 0 */
  int code;            /* the worst exit code                               */
  const char *worst;   /* the first matrix that had it; NULL: code is 0     */
} wr_matrix_tally;

void wr_matrix_tally_add(wr_matrix_tally *tally, const char *name, int code);

/* Prints "199 of 200 converged; worst exit code 3: a.mtx", where `good` is "converged", and how many matrices were not begun.
 * Nothing for a list of one. */
void wr_matrix_tally_print(FILE *out, const wr_matrix_list *list, const wr_matrix_tally *tally, const char *good);

#endif
