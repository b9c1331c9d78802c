/* Sorting the entries of a row by column. */
#ifndef WR_ROW_SORT_H
#define WR_ROW_SORT_H

#include <stdint.h>

#include "config/status.h"

/* A thread's own room, which grows as needed; a zeroed one is fine. */
typedef struct wr_row_room {
  int64_t capacity;
  int32_t *col; /* [capacity]                         */
  double *val;  /* [capacity] once values were wanted */
} wr_row_room;

/* Makes room for count entries, with values or without; what was in it is lost. WR_ENOMEM. */
wr_status wr_row_room_reserve(wr_row_room *room, int64_t count, int values);
void wr_row_room_free(wr_row_room *room);

/* For wr_row_sort: of a row that is not in order. */
wr_status wr_row_sort_anew(int32_t *col, double *val, int64_t count, wr_row_room *room);

/* Sorts col[count] and with it val[count] (NULL: a pattern) by column; stable. WR_ENOMEM, and the order is as it was. Most rows
 * of a file are in order and short: no call for these. */
static inline wr_status wr_row_sort(int32_t *col, double *val, int64_t count, wr_row_room *room) {
  int64_t k = 1;
  while (k < count && col[k] >= col[k - 1]) k++;
  return k >= count ? WR_OK : wr_row_sort_anew(col, val, count, room);
}

#endif
