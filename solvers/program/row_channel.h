/* A channel from the thread that makes a matrix to one that reads its rows before the matrix is complete. It says which rows of
 * which matrix are final, and keeps a matrix from being freed while the other thread reads it. */
#ifndef WR_ROW_CHANNEL_H
#define WR_ROW_CHANNEL_H

#include <pthread.h>

#include "spmv/matrix/csr_feed.h"

enum { WR_ROW_CHANNEL_LEAST = 1 << 19 }; /* rows and entries that are worth reading before the matrix is complete */

typedef struct wr_row_channel {
  wr_csr_feed feed; /* for the maker, while the channel is open                            */
  int (*accepts)(void *context, const wr_csr *A); /* called in the maker's thread: are rows of A of use? */
  void *context;                                  /* of accepts                                */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  wr_csr *A;      /* that is being made; NULL: none, or one that was not accepted          */
  int64_t number; /* of the matrix: 1, 2, ...; 0: none was begun                           */
  int64_t rows;   /* of it that are final                                                  */
  int64_t seen_number, seen_rows; /* number and rows as the reader took them last          */
  int reading;    /* 1: the reader has taken rows and has not released them                */
  int freeing;    /* 1: the maker waits to free the matrix; the reader may not take it     */
  int left;       /* 1: the reader has released rows that it will read later               */
  int closed;     /* 1: take returns 0                                                     */
} wr_row_channel;

/* The rows of a matrix that are final. */
typedef struct wr_final_rows {
  wr_csr *A;      /* NULL: there is no matrix                                              */
  int64_t number; /* of the matrix; when it changes, what was read before is void          */
  int64_t rows;   /* rows 0 to rows - 1 are final                                          */
} wr_final_rows;

wr_status wr_row_channel_open(wr_row_channel *c, int (*accepts)(void *context, const wr_csr *A), void *context); /* WR_ENOMEM */

/* For the reader: waits until there is another matrix, WR_ROW_CHANNEL_LEAST more rows and entries, or the last rows of a
 * matrix; returns at once if rows were left. 1: *now may be read until it is released; the maker waits for that before it frees
 * the matrix. 0: the channel is closed. */
int wr_row_channel_take(wr_row_channel *c, wr_final_rows *now);
void wr_row_channel_release(wr_row_channel *c, int left); /* left 1: some of these rows are still to be read */

void wr_row_channel_close(wr_row_channel *c); /* take returns 0 from now on; the maker may go on using the feed */

/* What was announced last. For after close, when no thread is in take. */
wr_final_rows wr_row_channel_last(const wr_row_channel *c);

void wr_row_channel_free(wr_row_channel *c); /* no thread may use the feed any more */

#endif
