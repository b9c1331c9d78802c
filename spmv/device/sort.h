/* Sort, scan, select and runs on a device, for building a format. For prepare and never for apply: each allocates temporary
 * memory, and has waited for env's stream when it returns.
 *
 * Blocks from entries, for instance: keys = block row << bits | block column; sort_pairs(keys, entry numbers); runs(keys)
 * gives the blocks and where each one's entries begin. A transpose: sort_pairs(columns, entry numbers), scan(column counts).
 * Heavy blocks first: sort_pairs(~counts, block numbers). Blocks of one type: select(types).
 *
 * Arrays are device memory, disjoint and aligned to their elements, which have 4 or 8 bytes; counts are 64-bit. An array of
 * 4-byte positions holds int32_t, and larger positions are refused. WR_EUSAGE for arguments that do not fit, WR_ENOMEM,
 * WR_EDEVICE; after a failure the contents of the outputs are undefined. */
#ifndef WR_DEVICE_SORT_H
#define WR_DEVICE_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "spmv/device/env.h"

WR_C_BEGIN

/* The number of low bits in which keys from 0 to largest differ: an end_bit for sort_pairs. */
static inline int wr_key_bits(uint64_t largest) { return largest ? 64 - __builtin_clzll(largest) : 0; }

/* Sorts keys[count], unsigned, by their bits begin_bit to end_bit - 1, in place, and values[count] with them; values NULL:
 * keys alone. Stable: equal keys stay in order. Allocates temporary memory of the same size. A value is any 4 or 8 bytes. */
wr_status wr_device_sort_pairs(wr_env *env, void *keys, size_t key_size, void *values, size_t value_size, int64_t count,
                               int begin_bit, int end_bit);

/* offsets[count + 1] := 0 and the sums of the first 1, 2, ... counts, as in a row_ptr; the last one is the total, also
 * stored in *total unless that is NULL. counts[count] are int32_t or int64_t, none negative. */
wr_status wr_device_scan(wr_env *env, const void *counts, size_t count_size, int64_t count, void *offsets,
                         size_t offset_size, int64_t *total);

/* selected[*found] := items[i], or i itself if items is NULL, where kinds[i] == kind, in ascending order of i. Room for
 * count elements is always enough; selected NULL: counts them only. */
wr_status wr_device_select(wr_env *env, const uint8_t *kinds, uint8_t kind, int64_t count, const void *items,
                           void *selected, size_t item_size, int64_t *found);

/* ---- For the implementations ---- */

static inline wr_status wr_sort_check(int64_t count, size_t first_size, size_t second_size) {
  if (count < 0) return wr_fail(WR_EUSAGE, "%lld elements to sort, scan or select among", (long long)count);
  if ((first_size == 4 || first_size == 8) && (second_size == 4 || second_size == 8)) return WR_OK;
  return wr_fail(WR_EUSAGE, "elements of %zu and %zu bytes, where 4 or 8 are possible", first_size, second_size);
}

static inline wr_status wr_sort_check_bits(size_t key_size, int begin_bit, int end_bit) {
  if (0 <= begin_bit && begin_bit <= end_bit && end_bit <= 8 * (int)key_size) return WR_OK;
  return wr_fail(WR_EUSAGE, "bits %d to %d of a key of %zu bytes", begin_bit, end_bit, key_size);
}

static inline wr_status wr_sort_check_position(int64_t largest, size_t size) {
  if (size == 8 || largest <= INT32_MAX) return WR_OK;
  return wr_fail(WR_EUSAGE, "position %lld does not fit 4 bytes; ask for positions of 8 bytes", (long long)largest);
}

WR_C_END
#endif
