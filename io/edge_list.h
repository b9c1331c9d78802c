/* Reads an edge list into triplets: a text with an edge a line, its source's id, its target's and perhaps a weight, read and
 * parsed by all threads at once. gzip is recognised by its first two bytes; "-" is standard input.
 *
 * Policy: lines that begin with # or % are comments, and like blank lines may stand anywhere; among names comments stand above
 * the first edge only. The first other line may be a heading: it is if it names a source and a target (io/edge_columns.c has
 * the names), or if it is words above numbers; which columns it names is all that is used of it. Without one there are two
 * columns, source and target, or three, of which the last is the weight; three columns between commas that begin with a number
 * are refused unless wr_edge_choice.bare_values says that the third is a value. Columns that the user has chosen override all
 * this. Columns that are not read may hold anything. All lines must have equally many columns.
 *
 * Ids are numbers if those of the first edge are, else names; the user may say which. Numbers are integers from 0 to 2^63 - 1;
 * negative ones are refused. Names are the bytes of a column, without blanks around it. Nodes are the ids that occur. Weights
 * and ends of lines are as in Matrix Market files (io/reader.h).
 *
 * Numbers between blanks, tabs and commas (one, among any blanks), in any mixture, are read line by line. Names, lists with
 * quotes, with semicolons, or with columns that are not read, have one separator, which the first line shows or the user gives,
 * and are read record by record (io/record.h): columns may be quoted, and have separators and ends of lines inside. To find out
 * where records begin in the middle of such a text takes a pass more (io/edge_record.h). A byte order mark is left out. An
 * empty list is refused, and so is a Matrix Market file, since its size line would be read as an edge.
 *
 * A defect is WR_EINPUT with `file:line: what (value)`; with several, the one on the earliest line. */
#ifndef WR_EDGE_LIST_H
#define WR_EDGE_LIST_H

#include "io/ids.h"
#include "io/reader.h"
#include "spmv/matrix/csr.h"

/* 1 if a file of this name is read as an edge list: .tsv .txt .el .csv, each also with .gz, .zst or .xz behind it, in any
 * letter case. */
int wr_edge_list_is_name(const char *path);

/* *triplets := the edges, row the source's place among all ids, column the target's, square; values if there are weights.
 * *ids := the ids by place. Both are zeroed on failure. options and facts (kind "edge list" or "edge list with weights", or
 * with the columns that were read where they are not the usual ones) may be NULL. WR_EINPUT, also for more than WR_MAX_INDEX
 * nodes; WR_ENOMEM. Memory follows the length of the text alone. Of a share (wr_read_options) *ids are those of its edges
 * alone, none if it has none; of quotes with ends of lines inside WR_EUNAVAILABLE. */
wr_status wr_edge_list_read(const char *path, const wr_read_options *options, wr_triplets *triplets, wr_ids *ids,
                            wr_read_facts *facts);

#endif
