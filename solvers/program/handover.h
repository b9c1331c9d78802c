/* From the thread that makes a matrix to one that uses its rows meanwhile: what is final of which matrix, and that nobody frees
 * what the other still reads. */
#ifndef WR_HANDOVER_H
#define WR_HANDOVER_H

#include <pthread.h>

#include "spmv/matrix/csr_feed.h"

enum { WR_HANDOVER_WORTH = 1 << 19 }; /* rows and entries that are worth taking before the matrix is complete */

typedef struct wr_handover {
  wr_csr_feed feed; /* for who makes the matrix, as long as the handover is open */
  int (*wants)(void *context, const wr_csr *A); /* asked by who makes it, as it begins: are its rows of use? */
  void *context;                                /* of wants */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  wr_csr *A;      /* that is being made; NULL: none, or it is of no use      */
  int64_t number; /* of the matrix: 1, 2, ...; 0: none was begun             */
  int64_t rows;   /* of it that are final                                    */
  int64_t seen_number, seen_rows; /* what was taken last                     */
  int busy;       /* 1: what was taken is being read                         */
  int waiting;    /* 1: who makes it wants to free it, and nobody shall take it again */
  int left;       /* 1: what was taken last has not been read to its end     */
  int closed;     /* 1: nothing more is to be taken                          */
} wr_handover;

/* What there is to read. */
typedef struct wr_handed {
  wr_csr *A;      /* NULL: nothing */
  int64_t number; /* another one than before: another matrix; what was read of the one before is of no use */
  int64_t rows;   /* the first of A that are final */
} wr_handed;

wr_status wr_handover_open(wr_handover *h, int (*wants)(void *context, const wr_csr *A), void *context); /* WR_ENOMEM */

/* Waits for another matrix, for rows worth taking or for the last ones of it; at once if some were left. 0: the handover was
 * closed. Else what was taken may be read until it is given back, and the maker waits for that before it frees: not long.
 * left 1: there is more to be read of it. */
int wr_handover_take(wr_handover *h, wr_handed *now);
void wr_handover_give_back(wr_handover *h, int left);

void wr_handover_close(wr_handover *h); /* take returns 0 from now on; the feed may still be told things */

/* After close, with nobody in take: what there is. */
wr_handed wr_handover_last(const wr_handover *h);

void wr_handover_free(wr_handover *h); /* nobody uses the feed any more */

#endif
