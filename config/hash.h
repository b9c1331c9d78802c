/* Random numbers that are functions of a key and an index, the same on the host and on a device. */
#ifndef WR_HASH_H
#define WR_HASH_H

#include <stdint.h>
#include <string.h>

#if defined(__CUDACC__) || defined(WR_SIMT)
#define WR_HASH static __host__ __device__ inline
#else
#define WR_HASH static inline
#endif

/* 64 random bits, the same for the same key and count: the count-th output of SplitMix64 begun at key (Steele, Lea,
 * Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014). A hash is a key again, so hashes nest. */
WR_HASH uint64_t wr_hash(uint64_t key, uint64_t count) {
  uint64_t z = key + (count + 1) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* A vector of hashes: its elements are in (-1, -1/2] and [1/2, 1), multiples of 2^-16. Unlike signs alone they are orthogonal
 * to hardly any vector of a few small integers. Four vectors, 4 k to 4 k + 3, share the 64 bits that an index has. */
enum { WR_HASH_LANES = 4 };
WR_HASH uint64_t wr_hash_key(uint64_t vector) { return wr_hash(vector / WR_HASH_LANES, 0); }

/* The element from the bits wr_hash(wr_hash_key(vector), i): a sign and 15 bits behind the leading 1/2. */
WR_HASH double wr_hash_value(uint64_t bits, int lane) {
  uint64_t part = bits >> (16 * lane), image;
  double value;
  image = (part & 0x8000) << 48 | UINT64_C(0x3fe) << 52 | (part & 0x7fff) << 37;
  memcpy(&value, &image, sizeof value);
  return value;
}

/* Element i of a vector of hashes. */
WR_HASH double wr_hash_element(uint64_t vector, int64_t i) {
  return wr_hash_value(wr_hash(wr_hash_key(vector), (uint64_t)i), (int)(vector % WR_HASH_LANES));
}

#endif
