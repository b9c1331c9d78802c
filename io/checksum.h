/* The checksum of binary files: 64 bits, eight bytes at a time in four lanes, which a core computes faster than memory
 * delivers. It needs no library, so that every build can read the files: zlib's crc32 needs zlib, and
 * crc32c at this speed needs an instruction that not every processor has.
 *
 *   words w[0..] of 8 bytes, in the machine's byte order, the last one filled up with zeros
 *   word k goes to lane k mod 4:   lane = rotate_left(lane + w * P, 31) * Q
 *   at the end:                    sum = count * P;  for each lane:  sum = (rotate_left(sum, 27) ^ lane) * Q
 *                                  sum ^= sum >> 32;  sum *= P;  sum ^= sum >> 29
 *
 * Every step can be undone when the other operand is known (P and Q are odd), so different words in one place and all
 * others equal always give different sums: damage within eight aligned bytes is found for certain, other damage is missed
 * once in 2^64. The sum does not protect against a file that was made on purpose to pass. */
#ifndef WR_CHECKSUM_H
#define WR_CHECKSUM_H

#include <stdint.h>

uint64_t wr_checksum(const void *bytes, int64_t count);

#endif
