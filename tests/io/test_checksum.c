/* The checksums of binary files: XXH3 against vectors of its authors' implementation, windrow's own of version 1 against a
 * second implementation, and that no change of a byte is overlooked. */
#include "io/checksum.h"

#include <stdlib.h>

#include "io/xxh3.h"
#include "tests/io/binary_image.h"

enum { LARGEST = 1 << 20 };

/* The bytes that xxHash's own test sums (tests/sanity_test.c of the xxHash project). */
static unsigned char *make_bytes(void) {
  unsigned char *bytes = malloc(LARGEST);
  uint64_t g = 2654435761u;
  for (int k = 0; k < LARGEST; k++, g *= UINT64_C(11400714785074694797)) bytes[k] = (unsigned char)(g >> 56);
  return bytes;
}

/* With seed 0, by python3-xxhash 3.2.0 (xxHash 0.8.1): xxhash.xxh3_64_intdigest(bytes[:count]). */
static const struct {
  int64_t count;
  uint64_t sum;
} vectors[] = {
    {0, UINT64_C(0x2d06800538d394c2)},       {1, UINT64_C(0xc44bdff4074eecdb)},    {3, UINT64_C(0x54247382a8d6b94d)},
    {4, UINT64_C(0xe5dc74bc51848a51)},       {8, UINT64_C(0x24ccc9acaa9f65e4)},    {9, UINT64_C(0x14d5001c15dd3f2b)},
    {12, UINT64_C(0xa713daf0dfbb77e7)},      {16, UINT64_C(0x981b17d36c7498c9)},   {17, UINT64_C(0x796f5acd3a60f862)},
    {24, UINT64_C(0xa3fe70bf9d3510eb)},      {48, UINT64_C(0x397da259ecba1f11)},   {80, UINT64_C(0xbcdefbbb2c47c90a)},
    {128, UINT64_C(0xfcff24126754d861)},     {129, UINT64_C(0x98f1b0a679a2ca29)},  {195, UINT64_C(0xcd94217ee362ec3a)},
    {240, UINT64_C(0x81c3c2b67f568ccf)},     {241, UINT64_C(0xc5a639ecd2030e5e)},  {403, UINT64_C(0xcdeb804d65c6dea4)},
    {512, UINT64_C(0x617e49599013cb6b)},     {1024, UINT64_C(0xdd85c9b5c1109c5c)}, {1025, UINT64_C(0xd870c0fa13211c6a)},
    {2048, UINT64_C(0xdd59e2c3a5f038e0)},    {2240, UINT64_C(0x6e73a90539cf2948)}, {2367, UINT64_C(0xcb37aeb9e5d361ed)},
    {LARGEST, UINT64_C(0x7ade52bbfbd697ba)},
};

static void test_vectors(const unsigned char *bytes) {
  CASE("vectors");
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) {
    long long count = vectors[k].count;
    CHECKF(wr_xxh3(bytes, count) == vectors[k].sum, "%lld bytes", count);
    CHECKF(wr_checksum_2(bytes, count) == vectors[k].sum, "%lld bytes, as the build has it", count);
  }
}

/* At any place in memory. Without xxhash.h both are the same function. */
static void test_both(const unsigned char *bytes) {
  CASE("windrow's XXH3 and that of the build");
  int64_t other = 0;
  for (int64_t count = 0; count <= 3000; count++)
    other += wr_xxh3(bytes + count % 17, count) != wr_checksum_2(bytes + count % 17, count);
  CHECKF(other == 0, "%lld lengths are summed otherwise", (long long)other);
}

static void test_version_1(void) {
  CASE("version 1");
  char bytes[100];
  int64_t wrong = 0;
  for (int k = 0; k < 100; k++) bytes[k] = (char)(k * k + 1);
  for (int count = 0; count <= 100; count++) wrong += wr_checksum_1(bytes, count) != sum_by_definition(bytes, count);
  CHECKF(wrong == 0, "%lld lengths are not summed as defined", (long long)wrong);
}

/* Every change of one byte, for a length of each kind. */
static void test_changes(wr_checksum *checksum, const unsigned char *from) {
  static const int64_t counts[] = {1, 3, 7, 16, 100, 128, 200, 240, 241, 1024, 1500};
  unsigned char bytes[1500];
  int64_t equal = 0;
  memcpy(bytes, from, sizeof bytes);
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    uint64_t sum = checksum(bytes, counts[c]);
    for (int64_t k = 0; k < counts[c]; k++)
      for (int other = 1; other < 256; other++) {
        bytes[k] ^= (unsigned char)other;
        equal += checksum(bytes, counts[c]) == sum;
        bytes[k] ^= (unsigned char)other;
      }
  }
  CHECKF(equal == 0, "%lld changes of one byte are not seen", (long long)equal);
}

int main(void) {
  unsigned char *bytes = make_bytes();
  test_vectors(bytes);
  test_both(bytes);
  test_version_1();
  CASE("changes");
  test_changes(wr_checksum_1, bytes);
  test_changes(wr_checksum_2, bytes);
  test_changes(wr_xxh3, bytes);
  free(bytes);
  return wr_test_report("checksum");
}
