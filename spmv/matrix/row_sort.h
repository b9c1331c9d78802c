/* Sorting the entries of a row by column. */
#ifndef WR_ROW_SORT_H
#define WR_ROW_SORT_H

#include <stdint.h>

#include "config/status.h"

/* A thread's scratch arrays, which grow as needed; initially zeroed. */
typedef struct wr_row_scratch {
  int64_t capacity;
  int32_t *col; /* [capacity]                         */
  double *val;  /* [capacity] if reserved with values */
} wr_row_scratch;

/* Makes the arrays large enough for count entries, with values or without; their contents are lost. WR_ENOMEM. */
wr_status wr_row_scratch_reserve(wr_row_scratch *scratch, int64_t count, int values);
void wr_row_scratch_free(wr_row_scratch *scratch);

/* For wr_row_sort: sorts a row that is not in order. */
wr_status wr_row_sort_unordered(int32_t *col, double *val, int64_t count, wr_row_scratch *scratch);

/* Sorts col[count] and with it val[count] (NULL: a pattern) by column; stable. WR_ENOMEM, and the order is as it was. Inlined
 * for rows that are in order, as most rows of files are. */
static inline wr_status wr_row_sort(int32_t *col, double *val, int64_t count, wr_row_scratch *scratch) {
  int64_t k = 1;
  while (k < count && col[k] >= col[k - 1]) k++;
  return k >= count ? WR_OK : wr_row_sort_unordered(col, val, count, scratch);
}

#endif
