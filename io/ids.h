/* Ids of nodes: integers from 0 to 2^63 - 1, or names, which are one byte or more of any values. In ascending order of the ids,
 * nodes are rows 0, 1, 2, ... of a matrix; names are in the order of their bytes. There is a node for each id that occurs in
 * an edge, and for no other. */
#ifndef WR_IDS_H
#define WR_IDS_H

#include <stdint.h>

#include "config/status.h"

typedef struct wr_ids {
  int64_t count;  /* of nodes                                                          */
  int64_t first;  /* the id of node 0                                                  */
  int64_t *id;    /* [count] ascending, or NULL: they follow one another, first + node */
  char *names;    /* all names one behind another, or NULL: ids are integers           */
  int64_t *begin; /* [count + 1] where each name begins in them, and where all end    */
} wr_ids;

/* The id of a node, 0 <= node < count; of names, which have no integers, the node's number from 1. */
int64_t wr_ids_at(const wr_ids *ids, int64_t node);

/* The node with an id, or -1: none has it. */
int64_t wr_ids_place(const wr_ids *ids, int64_t id);

/* The name of a node, of *length bytes; ids must be names. */
const char *wr_ids_name(const wr_ids *ids, int64_t node, int64_t *length);

/* The node with a name, or -1: none has it, or ids are integers. */
int64_t wr_ids_find(const wr_ids *ids, const char *name, int64_t length);

/* *all (zeroed) := the names of a and of b, each once, in the order of their bytes; a and b may have none. WR_ENOMEM, with *all
 * zeroed. */
wr_status wr_ids_unite(const wr_ids *a, const wr_ids *b, wr_ids *all);

/* place[some->count] := the nodes that have the names of `some` in `all`, which has them all. */
void wr_ids_find_all(const wr_ids *some, const wr_ids *all, int32_t *place);

enum { WR_ID_TEXT = 256 };

/* The id of a node for people: an integer, or a name with control characters as \xNN, cut behind about 200 bytes. Returns
 * text. */
const char *wr_ids_text(const wr_ids *ids, int64_t node, char text[WR_ID_TEXT]);

void wr_ids_free(wr_ids *ids); /* frees what it holds, not the struct; a zeroed one is fine */

#endif
