/* Finds the distinct values of a matrix on a device, or its distinct pairs of a value and a distance, if they are at most 255:
 * kernels add pairs to a set (pair_set_add), the host gives the pairs codes (pair_set_codes), and kernels find the codes
 * (pair_code_of). Values are told apart by their bits: 0 and -0 are two values, as are two NaNs. */
#ifndef WR_PAIR_TABLE_CUH
#define WR_PAIR_TABLE_CUH

#include <stdint.h>
#include <string.h>

#include <algorithm>

#include "spmv/device/vec.h"
#include "spmv/kernel/launch.cuh"

constexpr int MOST_PAIRS = 255; /* that get codes */

/* Slots of the set on the device, with room for pairs that several threads add when it is full; slots of the table with which
 * codes are found. */
constexpr int SET_SLOTS = 1024, FIND_SLOTS = 512, NO_CODE = -1;

/* bits: of the value, 0 for a difference alone; difference: of a column and its row, 0 for a value alone. */
struct value_pair {
  uint64_t bits;
  int32_t difference;
};

struct pair_set {
  unsigned long long key[SET_SLOTS]; /* hash of the pair in the slot; 0: none */
  uint64_t bits[SET_SLOTS];
  int32_t difference[SET_SLOTS];
  int count;
  int missed; /* bit n: the n-th pass over all entries has met one without a code */
};

/* The pairs found, in the order of their codes, and a hash table of the codes. */
struct pair_codes {
  uint64_t bits[MOST_PAIRS];
  int32_t difference[MOST_PAIRS];
  int16_t code[FIND_SLOTS];
};

static __host__ __device__ inline bool operator==(const value_pair &a, const value_pair &b) {
  return a.bits == b.bits && a.difference == b.difference;
}

/* Not 0. */
static __host__ __device__ inline uint64_t pair_hash(const value_pair &p) {
  uint64_t h = (p.bits ^ (uint64_t)(uint32_t)p.difference * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
  h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
  h ^= h >> 29;
  return h ? h : 1;
}

/* There are more pairs than can have codes. */
static __device__ inline bool pair_set_is_full(const pair_set *set) {
  return *(const volatile int *)&set->count > MOST_PAIRS;
}

/* Adds a pair unless it is there. Of more than 255 it adds a few, and sets the count beyond 255. Of two pairs with the same
 * hash it adds one; the other never gets a code. A full set is not counted on: atomic additions of all threads to one count
 * wait for each other (gen:fem:n=24, 3 M different values: 85 ms on an H200). */
static __device__ inline void pair_set_add(pair_set *set, const value_pair &p) {
  unsigned long long key = pair_hash(p);
  for (int n = 0, slot = (int)(key % SET_SLOTS); n < SET_SLOTS; n++, slot = (slot + 1) % SET_SLOTS) {
    unsigned long long found = *(volatile unsigned long long *)&set->key[slot];
    if (found == 0 && pair_set_is_full(set)) return;
    if (found == 0) found = atomicCAS(&set->key[slot], 0ull, key);
    if (found == key) return;
    if (found && n % 8 == 7 && pair_set_is_full(set)) return; /* in a crowded set a search would be long */
    if (found) continue;
    if (atomicAdd(&set->count, 1) > MOST_PAIRS) return;
    set->bits[slot] = p.bits, set->difference[slot] = p.difference;
    return;
  }
}

/* The code of a pair; NO_CODE: it has none. */
static __device__ inline int pair_code_of(const pair_codes *codes, const value_pair &p) {
  for (int slot = (int)(pair_hash(p) % FIND_SLOTS);; slot = (slot + 1) % FIND_SLOTS) {
    int code = codes->code[slot];
    if (code == NO_CODE || value_pair{codes->bits[code], codes->difference[code]} == p) return code;
  }
}

/* *codes := those of a set of at most 255 pairs, on the host; returns their number. The codes are in the order of the
 * differences, then of the bits, so they do not depend on the order in which threads found the pairs. */
static inline int pair_set_codes(const pair_set &set, pair_codes *codes) {
  value_pair pairs[SET_SLOTS];
  int count = 0;
  for (int slot = 0; slot < SET_SLOTS; slot++)
    if (set.key[slot]) pairs[count++] = {set.bits[slot], set.difference[slot]};
  std::sort(pairs, pairs + count, [](const value_pair &a, const value_pair &b) {
    return a.difference != b.difference ? a.difference < b.difference : a.bits < b.bits;
  });
  *codes = {};
  std::fill(codes->code, codes->code + FIND_SLOTS, (int16_t)NO_CODE);
  for (int n = 0; n < count; n++) {
    int slot = (int)(pair_hash(pairs[n]) % FIND_SLOTS);
    while (codes->code[slot] != NO_CODE) slot = (slot + 1) % FIND_SLOTS;
    codes->code[slot] = (int16_t)n, codes->bits[n] = pairs[n].bits, codes->difference[n] = pairs[n].difference;
  }
  return count;
}

/* A value of a type, given by its bits, as f64. */
static inline double value_of_bits(uint64_t bits, wr_type type) {
  float single;
  double value;
  memcpy(&single, &bits, sizeof single), memcpy(&value, &bits, sizeof value);
  return type == WR_F32 ? (double)single : value;
}

#endif
