/* Files of sets of nodes: a line is a set, `id[:weight] id[:weight] ...`, between blanks or tabs, numbers also between commas;
 * a weight that is left out is 1. Blank lines and those that begin with # or % are skipped. Names may have colons: a word that
 * is an id as a whole has no weight, and else the weight is behind its last colon. A name may stand in quotes, those in it
 * doubled, and must where it has blanks or tabs. docs/formats.md says the same to users. */
#ifndef WR_SET_FILE_H
#define WR_SET_FILE_H

#include <stdint.h>

#include "config/status.h"
#include "io/vector_file.h"

typedef struct wr_set_list {
  int64_t count;
  int64_t *first;  /* [count + 1] set k has the places first[k] to first[k + 1] - 1 */
  int64_t *line;   /* [count] of the file, from 1                                  */
  int64_t *node;   /* [first[count]] from 0                                        */
  double *weight;  /* [first[count]]                                               */
} wr_set_list;

/* *sets := the sets in a file, "-": standard input. WR_EINPUT: no sets at all; and with the line: an id that is none of
 * need->ids or that the set has already, a weight that is missing behind its colon, no number, negative or not finite, weights
 * whose sum is 0. WR_ENOMEM. */
wr_status wr_set_file_read(const char *path, const wr_vector_need *need, wr_set_list *sets);

void wr_set_list_free(wr_set_list *sets); /* a zeroed one is fine */

#endif
