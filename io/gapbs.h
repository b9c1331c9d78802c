/* Graphs as the GAP Benchmark Suite serialises them (.sg, and .wsg with weights; its src/writer.h): told by the first bytes,
 * which no text has, and by the length.
 *
 *   0  directed, a byte: 0 or 1       1  edges m, 64 bits       9  nodes n, 64 bits
 *   17 offsets of the nodes' edges, 64 bits [n + 1], and the targets, 32 bits [m], or pairs of target and weight, 32 bits each;
 *      of a directed graph then the same of the edges that come in, which is not read. Little endian.
 *
 * Of an undirected graph each edge is there in both directions. Internal to io/. */
#ifndef WR_GAPBS_H
#define WR_GAPBS_H

#include "io/reader.h"

/* *nodes, *edges := of a file that begins with these bytes. 0: it is none. */
int wr_gapbs_head(const char *begin, int64_t count, int64_t *nodes, int64_t *edges);

/* *triplets as of wr_read_triplets. WR_EINPUT with `file: what`: of another length than its sizes demand, offsets that do not
 * ascend, nodes beyond n, a negative weight where none may be, more than WR_MAX_INDEX nodes; WR_ENOMEM. */
wr_status wr_gapbs_read(const wr_text *text, const wr_read_options *options, wr_triplets *triplets,
                        wr_read_facts *facts);

#endif
