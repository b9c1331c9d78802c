#include "io/xxh3.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* The bytes that keys are read from, at any offset (doc/xxhash_spec.md of the xxHash project, "default secret"). */
static const unsigned char secret[192] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
};

/* Primes of 32 and of 64 bits, and the two multipliers that mix short inputs, as the specification names them. */
#define P32_1 UINT64_C(0x9e3779b1)
#define P32_2 UINT64_C(0x85ebca77)
#define P32_3 UINT64_C(0xc2b2ae3d)
#define P64_1 UINT64_C(0x9e3779b185ebca87)
#define P64_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define P64_3 UINT64_C(0x165667b19e3779f9)
#define P64_4 UINT64_C(0x85ebca77c2b2ae63)
#define P64_5 UINT64_C(0x27d4eb2f165667c5)
#define MIX_1 UINT64_C(0x165667919e3779f9)
#define MIX_2 UINT64_C(0x9fb21c651e98df25)

enum { PAIRS = 4, STRIPE = 64, STRIPES = 16, BLOCK = STRIPE * STRIPES };

/* Numbers of the format are little endian, as are all machines that windrow runs on. */
static inline uint64_t word64(const unsigned char *at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

static inline uint64_t word32(const unsigned char *at) {
  uint32_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

static inline uint64_t rotate_left(uint64_t x, int by) { return x << by | x >> (64 - by); }

/* Both halves of a product of 128 bits, one upon the other. */
static inline uint64_t fold(uint64_t a, uint64_t b) {
  __extension__ unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t finish(uint64_t h) {
  h = (h ^ h >> 37) * MIX_1;
  return h ^ h >> 32;
}

/* The last steps of the older XXH64, which inputs of up to 3 bytes take. */
static inline uint64_t finish_as_xxh64(uint64_t h) {
  h = (h ^ h >> 33) * P64_2;
  h = (h ^ h >> 29) * P64_3;
  return h ^ h >> 32;
}

static inline uint64_t mix16(const unsigned char *at, const unsigned char *key) {
  return fold(word64(at) ^ word64(key), word64(at + 8) ^ word64(key + 8));
}

static uint64_t up_to_16(const unsigned char *in, uint64_t count) {
  if (count > 8) {
    uint64_t low = word64(in) ^ word64(secret + 24) ^ word64(secret + 32);
    uint64_t high = word64(in + count - 8) ^ word64(secret + 40) ^ word64(secret + 48);
    return finish(count + __builtin_bswap64(low) + high + fold(low, high));
  }
  if (count >= 4) {
    uint64_t h = (word32(in) << 32 | word32(in + count - 4)) ^ word64(secret + 8) ^ word64(secret + 16);
    h = (h ^ rotate_left(h, 49) ^ rotate_left(h, 24)) * MIX_2;
    h = (h ^ ((h >> 35) + count)) * MIX_2;
    return h ^ h >> 28;
  }
  if (count == 0) return finish_as_xxh64(word64(secret + 56) ^ word64(secret + 64));
  uint64_t bytes = (uint64_t)in[0] << 16 | (uint64_t)in[count / 2] << 24 | in[count - 1] | count << 8;
  return finish_as_xxh64(bytes ^ word32(secret) ^ word32(secret + 4));
}

/* 17 to 128 bytes: pairs of 16 from both ends, the innermost first. */
static uint64_t up_to_128(const unsigned char *in, uint64_t count) {
  uint64_t h = count * P64_1;
  for (uint64_t k = (count - 1) / 32 + 1; k-- > 0;)
    h += mix16(in + 16 * k, secret + 32 * k) + mix16(in + count - 16 * (k + 1), secret + 32 * k + 16);
  return finish(h);
}

static uint64_t up_to_240(const unsigned char *in, uint64_t count) {
  uint64_t h = count * P64_1;
  for (uint64_t k = 0; k < 8; k++) h += mix16(in + 16 * k, secret + 16 * k);
  h = finish(h);
  for (uint64_t k = 8; k < count / 16; k++) h += mix16(in + 16 * k, secret + 16 * (k - 8) + 3);
  return finish(h + mix16(in + count - 16, secret + 136 - 17));
}

/* The lanes, two by two. */
typedef uint64_t pair __attribute__((vector_size(16)));

/* Of each word the lower half times the upper one: one instruction, which gcc 12 does not find by itself. */
static inline pair product_of_halves(pair word) {
#ifdef __SSE2__
  return (pair)_mm_mul_epu32((__m128i)word, (__m128i)(word >> 32));
#else
  return (word & UINT32_MAX) * (word >> 32);
#endif
}

/* A stripe of 64 bytes: each word goes to its neighbour's lane as it is and, under a key, as a product of its halves to its
 * own. */
static inline void add_stripe(pair *lane, const unsigned char *in, const unsigned char *key) {
  for (int k = 0; k < PAIRS; k++) {
    pair word, mixed;
    memcpy(&word, in + 16 * k, 16);
    memcpy(&mixed, key + 16 * k, 16);
    mixed ^= word;
    lane[k] += (pair){word[1], word[0]} + product_of_halves(mixed);
  }
}

static inline void scramble(pair *lane) {
  for (int k = 0; k < PAIRS; k++) {
    pair key;
    memcpy(&key, secret + sizeof secret - STRIPE + 16 * k, 16);
    lane[k] = (lane[k] ^ lane[k] >> 47 ^ key) * P32_1;
  }
}

/* Blocks of 16 stripes; the last one may be incomplete. At its end are the last 64 bytes, even if some of them were in a stripe
 * before. */
static uint64_t longer(const unsigned char *in, uint64_t count) {
  pair lane[PAIRS] = {{P32_3, P64_1}, {P64_2, P64_3}, {P64_4, P32_2}, {P64_5, P32_1}};
  const uint64_t blocks = (count - 1) / BLOCK, stripes = (count - 1) % BLOCK / STRIPE;
  for (uint64_t b = 0; b < blocks; b++) {
    for (int s = 0; s < STRIPES; s++) add_stripe(lane, in + b * BLOCK + s * STRIPE, secret + 8 * s);
    scramble(lane);
  }
  for (uint64_t s = 0; s < stripes; s++) add_stripe(lane, in + blocks * BLOCK + s * STRIPE, secret + 8 * s);
  add_stripe(lane, in + count - STRIPE, secret + sizeof secret - STRIPE - 7);
  uint64_t h = count * P64_1;
  for (int k = 0; k < PAIRS; k++)
    h += fold(lane[k][0] ^ word64(secret + 11 + 16 * k), lane[k][1] ^ word64(secret + 19 + 16 * k));
  return finish(h);
}

uint64_t wr_xxh3(const void *bytes, int64_t count) {
  const uint64_t length = (uint64_t)count;
  if (length <= 16) return up_to_16(bytes, length);
  if (length <= 128) return up_to_128(bytes, length);
  return length <= 240 ? up_to_240(bytes, length) : longer(bytes, length);
}
