/* What a user says about an edge list: its columns, and how they are to be understood. */
#ifndef WR_EDGE_CHOICE_H
#define WR_EDGE_CHOICE_H

#include <stddef.h>

#include "config/status.h"

enum { WR_EDGE_COLUMNS_MAX = 1000 };

/* In the order of the choices of --ids, --separator and --header. */
typedef enum wr_edge_ids { WR_IDS_AUTO, WR_IDS_NUMBERS, WR_IDS_NAMES } wr_edge_ids;
typedef enum wr_edge_separator {
  WR_SEPARATOR_AUTO,
  WR_SEPARATOR_TAB,
  WR_SEPARATOR_COMMA,
  WR_SEPARATOR_SEMICOLON,
  WR_SEPARATOR_BLANK
} wr_edge_separator;
typedef enum wr_edge_header { WR_HEADER_AUTO, WR_HEADER_YES, WR_HEADER_NO } wr_edge_header;

/* Where a list has its source, target and weight. */
typedef enum wr_edge_role { WR_EDGE_SOURCE, WR_EDGE_TARGET, WR_EDGE_WEIGHT, WR_EDGE_ROLES } wr_edge_role;

typedef struct wr_edge_column {
  int number;       /* from 1; 0: by name, or not chosen */
  const char *name; /* [length], or NULL                 */
  int length;
} wr_edge_column;

typedef struct wr_edge_choice {
  wr_edge_column
      column[WR_EDGE_ROLES]; /* none: the list's own names or its number of columns decide; with a source and a */
                             /* target chosen there may be no weight                                            */
  int bare_values; /* 1: of three columns without names the third is the value, between commas too. 0: between commas such */
  /* a list is refused, as its columns may just as well be a name, a source and a target                  */
  wr_edge_ids ids;
  wr_edge_separator separator;
  wr_edge_header header;
} wr_edge_choice;

/* 1: the user has chosen columns. */
static inline int wr_edge_is_chosen(const wr_edge_choice *choice) {
  return choice->column[WR_EDGE_SOURCE].number > 0 || choice->column[WR_EDGE_SOURCE].name != NULL;
}

/* 1: the user has said anything, as is said of edge lists alone. */
static inline int wr_edge_is_told(const wr_edge_choice *choice) {
  return wr_edge_is_chosen(choice) || choice->ids != WR_IDS_AUTO || choice->separator != WR_SEPARATOR_AUTO ||
         choice->header != WR_HEADER_AUTO;
}

/* Reads "1,2" or "1,2,3", numbers or names in any mixture: source, target and weight. Names are not copied. `where` begins the
 * error. WR_EUSAGE: other texts, a column twice. */
wr_status wr_edge_choice_parse(const char *text, const char *where, wr_edge_choice *choice);

#endif
