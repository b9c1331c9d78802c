/* From the names that each thread has numbered by itself to nodes: the same names of several threads become one, and nodes are
 * numbered in the order of the names' bytes. So the result depends neither on hashes nor on threads. Internal to io/. */
#ifndef WR_NAME_NUMBER_H
#define WR_NAME_NUMBER_H

#include "io/ids.h"
#include "io/name_table.h"

/* nodes[t][k] := the node of name k of table t; *ids := all names. The arrays nodes[t] are allocated here, and the caller's to
 * free also on failure; nodes has an element for each table, NULL before. The tables become empty, so that names are held
 * twice no longer than needed. There must be a name. name begins the errors. WR_EINPUT: more than WR_MAX_INDEX names;
 * WR_ENOMEM. */
wr_status wr_names_number(const char *name, wr_name_table *tables, int ntables, int threads, int32_t **nodes,
                          wr_ids *ids);

#endif
