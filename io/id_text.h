/* Ids as programs read them: fields of tables, and JSON. Errors are those of the stream: ferror. */
#ifndef WR_ID_TEXT_H
#define WR_ID_TEXT_H

#include <stdio.h>

#include "io/ids.h"

/* The id of a node as a field of a table with this separator. A name is put into quotes, those in it doubled, where it would
 * not be read back as it is: where it has the separator, ends of lines or quotation marks, begins or ends with a blank, or
 * begins with # or %. ids NULL: 1, 2, ... */
void wr_id_put_field(FILE *file, const wr_ids *ids, int64_t node, char separator);

/* The id as a JSON value: a number, or a string in which bytes that are no UTF-8 are U+FFFD. */
void wr_id_put_json(FILE *file, const wr_ids *ids, int64_t node);

#endif
