/* From edges with ids to rows and columns, in two steps: each part of a list as soon as it is parsed, then all of them.
 * Internal to io/. */
#ifndef WR_IDS_NUMBER_H
#define WR_IDS_NUMBER_H

#include "io/edge.h"
#include "io/ids.h"
#include "spmv/matrix/csr.h"

/* The ids of a part. As long as they fit the rows and columns of its triplets they are these themselves; else a list of
 * distinct ids, ascending, in which rows and columns are places. */
typedef struct wr_id_part {
  int64_t least, most;
  int listed;
  int64_t count; /* of the list */
  int64_t *id;   /* [count]     */
} wr_id_part;

void wr_id_part_free(wr_id_part *part); /* a zeroed one is fine */

/* A thread's room for sorting. Zeroed before the first use. */
typedef struct wr_id_sorter {
  int64_t capacity;
  int64_t *key[2];    /* [capacity] */
  uint32_t *place[2]; /* [capacity] */
} wr_id_sorter;

void wr_id_sorter_free(wr_id_sorter *sorter);

/* *triplets and *part (both zeroed) := the edges. What they hold is the caller's to free, also after WR_ENOMEM. */
wr_status wr_ids_take(const wr_edge_chunk *edges, wr_id_sorter *sorter, wr_triplet_chunk *triplets, wr_id_part *part);

/* *ids := the nodes of all parts (as many as triplets->chunks); rows and columns of the triplets become nodes. The result does
 * not depend on the parts nor on the number of threads. WR_EINPUT, beginning with name: more than WR_MAX_INDEX nodes;
 * WR_ENOMEM. There must be an edge. */
wr_status wr_ids_number(const char *name, wr_id_part *parts, int threads, wr_triplets *triplets, wr_ids *ids);

#endif
