/* Different names, numbered in the order in which they come. Names are bytes: any, and any number of them. A table of hashes
 * finds them; bytes decide whether two are the same. Internal to io/. */
#ifndef WR_NAME_TABLE_H
#define WR_NAME_TABLE_H

#include <stdint.h>

#include "config/status.h"

/* key := random numbers of the system, or of the time where it has none. */
void wr_name_key(uint64_t key[2]);

/* SipHash-1-3 (Aumasson and Bernstein, SipHash: a fast short-input PRF, 2012) of the bytes, for a secret key: without it no
 * names can be made whose hashes meet. */
uint64_t wr_name_hash(const uint64_t key[2], const char *bytes, int64_t length);

/* Zeroed but for its key before the first use. */
typedef struct wr_name_table {
  uint64_t key[2];
  int64_t count;    /* of names                                                        */
  int64_t capacity; /* names that there is room for                                    */
  uint64_t *hash;   /* [capacity]                                                      */
  int64_t *begin;   /* [capacity + 1] where names begin; begin[count]: all their bytes */
  int64_t room;     /* bytes that there is room for                                    */
  char *bytes;      /* [room]                                                          */
  int64_t slots;    /* a power of two, at least 2 * capacity                           */
  uint64_t *slot;   /* [slots] half of a hash, and a name's number + 1; 0: none        */
} wr_name_table;

/* *number := that of the name with this hash, which is added if it is new. WR_ENOMEM, also for
 * more than WR_MAX_INDEX names. */
wr_status wr_name_table_add(wr_name_table *table, uint64_t hash, const char *bytes, int64_t length, int64_t *number);

/* Asks for the memory that adding a name will read, in the order 0, 1, 2 with other work between them: a large table is not in
 * a cache, so that names that are added one by one take several times longer. */
void wr_name_table_prefetch(const wr_name_table *table, uint64_t hash, int step);

void wr_name_table_free(wr_name_table *table); /* a zeroed one is fine */

#endif
