/* Conversions of elements between their types on host and device, done on the host before an upload and after a download. */
#ifndef WR_PACK_H
#define WR_PACK_H

#include <stdint.h>

#include "config/status.h"

WR_C_BEGIN

typedef enum wr_conversion {
  WR_AS_4_BYTES, /* int32_t or float, the same on both sides                                   */
  WR_AS_8_BYTES, /* int64_t or double, the same on both sides                                  */
  WR_F64_AS_F32, /* double on the host, float on the device; too large becomes infinite        */
  WR_I64_AS_I32  /* int64_t on the host, int32_t on the device; values must fit                */
} wr_conversion;

/* Bytes of an element on either side. */
int64_t wr_conversion_host_size(wr_conversion how);
int64_t wr_conversion_device_size(wr_conversion how);

/* pack: room[count] := the elements in the device's type. unpack: the reverse. On all threads if there are many elements. */
void wr_pack_elements(void *room, const void *from, int64_t count, wr_conversion how);
void wr_unpack_elements(void *to, const void *room, int64_t count, wr_conversion how);

/* Compact vectors (wr_vec): the bytes, 1, 2 or 4, of the largest integer of which one of values[n] is the reciprocal; 0 if some
 * value is neither 0 nor the reciprocal of an integer below 2^32. pack: room[n] := these integers, 0 for 0. */
int wr_reciprocal_bytes(const double *values, int64_t n);
void wr_reciprocal_pack(const double *values, int64_t n, int bytes, void *room);

WR_C_END
#endif
