/* XXH3 with 64 bits and seed 0, written from doc/xxhash_spec.md of the xxHash project: for builds that do not find xxhash.h,
 * and for tests, which compare the two. tests/io/test_checksum.c has test vectors. */
#ifndef WR_XXH3_H
#define WR_XXH3_H

#include <stdint.h>

uint64_t wr_xxh3(const void *bytes, int64_t count);

#endif
