/* Ids of nodes: any integers from 0 to 2^63 - 1. In ascending order of the ids, nodes are rows 0, 1, 2, ... of a matrix. There
 * is a node for each id that occurs in an edge, and for no other integer. */
#ifndef WR_IDS_H
#define WR_IDS_H

#include <stdint.h>

typedef struct wr_ids {
  int64_t count; /* of nodes                                                          */
  int64_t first; /* the id of node 0                                                  */
  int64_t *id;   /* [count] ascending, or NULL: they follow one another, first + node */
} wr_ids;

/* The id of a node, 0 <= node < count. */
int64_t wr_ids_at(const wr_ids *ids, int64_t node);

/* The node with an id, or -1: none has it. */
int64_t wr_ids_place(const wr_ids *ids, int64_t id);

void wr_ids_free(wr_ids *ids); /* frees what it holds, not the struct; a zeroed one is fine */

#endif
