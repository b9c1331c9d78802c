/* Reads an edge list into triplets: a text with an edge a line, its source's id, its target's and perhaps a weight, read and
 * parsed by all threads at once. gzip is recognised by its first two bytes; "-" is standard input.
 *
 * Policy: columns are separated by blanks, tabs or a comma (one, among any blanks), in any mixture. Lines that begin with # or
 * % are comments, and like blank lines may stand anywhere. The first other line may be a heading: two or more words that all
 * begin with a letter. It must name a source and a target, may name a weight, and nothing else, in any order
 * (io/edge_columns.c has the names). Without a heading there are two columns, source and target, or three, of which the last
 * is the weight; three columns between commas are refused unless wr_edge_choice.bare_values says that the third is a value.
 * Columns that the user has chosen override all this, and the other columns are skipped. All lines must have equally many
 * columns. Ids are integers from 0 to 2^63 - 1; negative ones are refused. Nodes are the ids that occur, and no integers
 * between them. Weights and ends of lines are as in Matrix Market files (io/reader.h). An empty list is refused, and so is a
 * Matrix Market file, since its size line would be read as an edge.
 * A defect is WR_EINPUT with `file:line: what (value)`; with several, the one on the earliest line. */
#ifndef WR_EDGE_LIST_H
#define WR_EDGE_LIST_H

#include "io/ids.h"
#include "io/reader.h"
#include "spmv/matrix/csr.h"

/* 1 if a file of this name is read as an edge list: .tsv .txt .el .csv, each also with .gz behind it, in any letter case. */
int wr_edge_list_is_name(const char *path);

/* *triplets := the edges, row the source's place among all ids, column the target's, square; values if there are weights.
 * *ids := the ids by place. Both are zeroed on failure. options and facts (kind "edge list" or "edge list with weights", or
 * with the columns that were read where they are not the usual ones) may be NULL. WR_EINPUT, also for more than WR_MAX_INDEX
 * nodes; WR_ENOMEM. Memory follows the length of the text alone. */
wr_status wr_edge_list_read(const char *path, const wr_read_options *options, wr_triplets *triplets, wr_ids *ids,
                            wr_read_facts *facts);

#endif
