/* The checksums of binary files (docs/wrm.md), 64 bits each. They find damage by accident and miss it once in 2^64; a file that
 * was made on purpose to pass is not found out. */
#ifndef WR_CHECKSUM_H
#define WR_CHECKSUM_H

#include <stdint.h>

typedef uint64_t wr_checksum(const void *bytes, int64_t count);

/* Of files of version 1, windrow's own:
 *
 *   words w[0..] of 8 bytes, little endian, the last one filled up with zeros
 *   word k goes to lane k mod 4:   lane = rotate_left(lane + w * P, 31) * Q;  the lanes begin as 1, 2, 3, 4
 *   at the end:                    sum = count * P;  for each lane:  sum = (rotate_left(sum, 27) ^ lane) * Q
 *                                  sum ^= sum >> 32;  sum *= P;  sum ^= sum >> 29 */
uint64_t wr_checksum_1(const void *bytes, int64_t count);

/* Of files of version 2: XXH3 with 64 bits and seed 0, by xxhash.h where the build has found it, else by io/xxh3.h. */
uint64_t wr_checksum_2(const void *bytes, int64_t count);

#endif
