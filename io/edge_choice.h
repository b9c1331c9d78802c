/* What a user says about the columns of an edge list. */
#ifndef WR_EDGE_CHOICE_H
#define WR_EDGE_CHOICE_H

#include "config/status.h"

enum { WR_EDGE_COLUMNS_MAX = 1000 };

typedef struct wr_edge_choice {
  int source, target; /* columns, counted from 1; 0: the list's own names or its number of columns decide              */
  int weight;         /* likewise; 0: with a source and a target chosen there is none                                  */
  int bare_values;    /* 1: of three columns without names the third is the value, between commas too. 0: between      */
                      /* commas such a list is refused, as its columns may just as well be a name, a source and a target */
} wr_edge_choice;

/* Reads "1,2" or "1,2,3": source, target and weight. `where` begins the error. WR_EUSAGE: other texts, a column twice. */
wr_status wr_edge_choice_parse(const char *text, const char *where, wr_edge_choice *choice);

#endif
