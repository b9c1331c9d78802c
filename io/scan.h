/* What the fast parsers share: ends of lines, and digits that are counted and converted eight at a time in one 64-bit word,
 * without a branch per digit. Internal to io/. */
#ifndef WR_SCAN_H
#define WR_SCAN_H

#include <stdint.h>
#include <string.h>

static inline const char *wr_skip_blanks(const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\t')) at++;
  return at;
}

/* Behind the end of the line, which may have blanks before it; NULL if there is something else. */
static inline const char *wr_scan_line_end(const char *at, const char *end) {
  at = wr_skip_blanks(at, end);
  if (at < end && *at == '\r') at++;
  return at < end && *at == '\n' ? at + 1 : NULL;
}

static const uint64_t wr_small_power[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

/* The next eight characters, the first in the lowest byte; past `end` there are zeros. */
static inline uint64_t wr_load8(const char *at, const char *end) {
  uint64_t word = 0;
  if (end - at >= 8)
    memcpy(&word, at, 8);
  else
    for (int i = 0; i < end - at; i++) memcpy((char *)&word + i, at + i, 1);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

/* How many of them, from the first on, are digits. Carries out of a byte that is no digit reach later bytes alone. */
static inline int wr_digit_count(uint64_t word) {
  uint64_t t = word ^ UINT64_C(0x3030303030303030);
  uint64_t others = (t | (t + UINT64_C(0x7676767676767676))) & UINT64_C(0x8080808080808080);
  return others == 0 ? 8 : __builtin_ctzll(others) >> 3;
}

/* The number written by the first count (1..8) characters; pairs, then fours, then eights are joined. */
static inline uint64_t wr_digit_value(uint64_t word, int count) {
  word = (word & UINT64_C(0x0f0f0f0f0f0f0f0f)) << (64 - 8 * count);
  word = (word * ((10 << 8) + 1)) >> 8 & UINT64_C(0x00ff00ff00ff00ff);
  word = (word * ((100 << 16) + 1)) >> 16 & UINT64_C(0x0000ffff0000ffff);
  return (word * ((UINT64_C(10000) << 32) + 1)) >> 32;
}

#endif
