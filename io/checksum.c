#include "io/checksum.h"

#include <string.h>

#ifdef WR_HAVE_XXHASH
#define XXH_INLINE_ALL /* so that no library is needed to run */
#include <xxhash.h>
#else
#include "io/xxh3.h"
#endif

/* Odd, with bits set about evenly: the fractions of the square roots of 11 and 13. */
#define P UINT64_C(0x510e527fade682d1)
#define Q UINT64_C(0x9b05688c2b3e6c1f)

static inline uint64_t rotate_left(uint64_t x, int by) { return x << by | x >> (64 - by); }

static inline uint64_t step(uint64_t lane, uint64_t word) { return rotate_left(lane + word * P, 31) * Q; }

uint64_t wr_checksum_1(const void *bytes, int64_t count) {
  const char *at = bytes;
  uint64_t lane[4] = {1, 2, 3, 4}, word[4];
  int64_t left = count;
  for (; left >= 32; left -= 32, at += 32) {
    memcpy(word, at, 32);
    for (int k = 0; k < 4; k++) lane[k] = step(lane[k], word[k]);
  }
  for (int k = 0; left > 0; k++) {
    int64_t some = left < 8 ? left : 8;
    word[0] = 0;
    memcpy(word, at, (size_t)some);
    lane[k] = step(lane[k], word[0]);
    at += some, left -= some;
  }
  uint64_t sum = (uint64_t)count * P;
  for (int k = 0; k < 4; k++) sum = (rotate_left(sum, 27) ^ lane[k]) * Q;
  sum ^= sum >> 32;
  sum *= P;
  return sum ^ sum >> 29;
}

uint64_t wr_checksum_2(const void *bytes, int64_t count) {
#ifdef WR_HAVE_XXHASH
  return XXH3_64bits(bytes, (size_t)count);
#else
  return wr_xxh3(bytes, count);
#endif
}
