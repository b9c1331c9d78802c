/* An order of a graph's nodes by hubs. PageRank gathers an element for each link, and a node with a single link is gathered by
 * one row alone: where the links of a hub come from all over the graph, its row reads a sector of 32 bytes for each of them. If
 * the nodes of a hub are consecutive, its row reads them as a stream. */
#ifndef WR_HUB_ORDER_H
#define WR_HUB_ORDER_H

#include <stdint.h>

#include "spmv/matrix/csr.h"

/* Nodes from which the order may pay: below, what is gathered fits the caches. */
#define WR_HUB_ORDER_NODES (INT64_C(1) << 20)

/* *order[nrows] := the node of each place: first the nodes that are no leaves of a hub, then the leaves hub by hub, each group
 * in ascending order. links: square, entry (i, j) is a link from i to j. *order := NULL, and WR_OK, where a sample of the links
 * says that this would not pay: with fewer than from_nodes nodes; where less than a quarter of the links lead from nodes with
 * at most two links to hubs; or where leaves of one hub are consecutive as it is. The same on any number of threads. *order is
 * freed by wr_free. WR_ENOMEM. */
wr_status wr_hub_order_find(const wr_csr *links, int64_t from_nodes, int32_t **order);

#endif
