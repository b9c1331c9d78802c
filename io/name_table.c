#define _DEFAULT_SOURCE /* getentropy */
#include "io/name_table.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config/memory.h"
#include "spmv/matrix/csr.h"

enum { LEAST_NAMES = 1 << 10, LEAST_BYTES = 1 << 16 };

/* ---- SipHash ---- */

static inline uint64_t rotate(uint64_t v, int bits) { return v << bits | v >> (64 - bits); }

typedef struct sip {
  uint64_t a, b, c, d;
} sip;

static inline sip sip_round(sip v) {
  v.a += v.b, v.b = rotate(v.b, 13) ^ v.a, v.a = rotate(v.a, 32);
  v.c += v.d, v.d = rotate(v.d, 16) ^ v.c;
  v.a += v.d, v.d = rotate(v.d, 21) ^ v.a;
  v.c += v.b, v.b = rotate(v.b, 17) ^ v.c, v.c = rotate(v.c, 32);
  return v;
}

static inline sip sip_word(sip v, uint64_t word) {
  v.d ^= word;
  v = sip_round(v);
  v.a ^= word;
  return v;
}

void wr_name_key(uint64_t key[2]) {
  if (getentropy(key, 2 * sizeof *key) != 0) key[0] = (uint64_t)time(NULL), key[1] = (uint64_t)clock();
}

uint64_t wr_name_hash(const uint64_t key[2], const char *bytes, int64_t length) {
  sip v = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
           key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
  uint64_t word, last = (uint64_t)length << 56;
  int64_t k = 0;
  for (; k + 8 <= length; k += 8) {
    memcpy(&word, bytes + k, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    v = sip_word(v, word);
  }
  for (int shift = 0; k < length; k++, shift += 8) last |= (uint64_t)(unsigned char)bytes[k] << shift;
  v = sip_word(v, last);
  v.c ^= 0xff;
  v = sip_round(sip_round(sip_round(v)));
  return v.a ^ v.b ^ v.c ^ v.d;
}

/* ---- the table ---- */

/* The upper half of a hash and the number of a name; places are chosen by the lower half. */
static inline uint64_t slot_of(uint64_t hash, int64_t number) { return (hash >> 32) << 32 | (uint64_t)(number + 1); }

static void put_slot(const wr_name_table *t, int64_t number) {
  uint64_t mask = (uint64_t)t->slots - 1, at = t->hash[number] & mask;
  while (t->slot[at] != 0) at = (at + 1) & mask;
  t->slot[at] = slot_of(t->hash[number], number);
}

static wr_status grow_names(wr_name_table *t) {
  int64_t capacity = t->capacity == 0 ? LEAST_NAMES : 2 * t->capacity;
  uint64_t *slot;
  PASS(wr_resize(&t->hash, capacity * (int64_t)sizeof *t->hash, "the names of a graph"));
  PASS(wr_resize(&t->begin, (capacity + 1) * (int64_t)sizeof *t->begin, "the names of a graph"));
  PASS(wr_alloc_zeroed(&slot, 2 * capacity, sizeof *slot, "the names of a graph"));
  wr_free(t->slot);
  t->slot = slot, t->slots = 2 * capacity, t->capacity = capacity;
  for (int64_t k = 0; k < t->count; k++) put_slot(t, k);
  return WR_OK;
}

static wr_status reserve(wr_name_table *t, int64_t length) {
  int64_t used = t->count > 0 ? t->begin[t->count] : 0, room = t->room + t->room / 2;
  if (t->count >= WR_MAX_INDEX)
    return wr_fail(WR_ENOMEM, "more names than the %lld nodes that a 32-bit index reaches", (long long)WR_MAX_INDEX);
  if (t->count == t->capacity) PASS(grow_names(t));
  if (used + length <= t->room) return WR_OK;
  if (room < used + length) room = used + length;
  if (room < LEAST_BYTES) room = LEAST_BYTES;
  PASS(wr_resize(&t->bytes, room, "the names of a graph"));
  t->room = room;
  return WR_OK;
}

static inline int is_name(const wr_name_table *t, int64_t number, const char *bytes, int64_t length) {
  int64_t begin = t->begin[number];
  return t->begin[number + 1] - begin == length && memcmp(t->bytes + begin, bytes, (size_t)length) == 0;
}

wr_status wr_name_table_add(wr_name_table *t, uint64_t hash, const char *bytes, int64_t length, int64_t *number) {
  uint64_t mask = (uint64_t)t->slots - 1, upper = hash >> 32;
  for (uint64_t at = hash & mask; t->slots > 0 && t->slot[at] != 0; at = (at + 1) & mask) {
    *number = (int64_t)(t->slot[at] & UINT32_MAX) - 1;
    if (t->slot[at] >> 32 == upper && is_name(t, *number, bytes, length)) return WR_OK;
  }
  PASS(reserve(t, length));
  if (t->count == 0) t->begin[0] = 0;
  memcpy(t->bytes + t->begin[t->count], bytes, (size_t)length);
  t->begin[t->count + 1] = t->begin[t->count] + length;
  t->hash[t->count] = hash;
  *number = t->count++;
  put_slot(t, *number);
  return WR_OK;
}

void wr_name_table_prefetch(const wr_name_table *t, uint64_t hash, int step) {
  if (t->slots == 0) return;
  const uint64_t *slot = &t->slot[hash & ((uint64_t)t->slots - 1)];
  if (step == 0) {
    __builtin_prefetch(slot);
    return;
  }
  if (*slot == 0 || *slot >> 32 != hash >> 32) return; /* another name's: the table is half empty, so this is rare */
  int64_t number = (int64_t)(*slot & UINT32_MAX) - 1;
  if (step == 1) {
    __builtin_prefetch(&t->begin[number]);
    return;
  }
  __builtin_prefetch(t->bytes + t->begin[number]);
  __builtin_prefetch(t->bytes + t->begin[number + 1] - 1);
}

void wr_name_table_free(wr_name_table *t) {
  wr_free(t->hash);
  wr_free(t->begin);
  wr_free(t->bytes);
  wr_free(t->slot);
  *t = (wr_name_table){.count = 0};
}
