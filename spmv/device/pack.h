/* How elements change between host and device: on the host, before they travel or after. */
#ifndef WR_PACK_H
#define WR_PACK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wr_conversion {
  WR_AS_4_BYTES, /* int32_t or float, the same on both sides                                   */
  WR_AS_8_BYTES, /* int64_t or double, the same on both sides                                  */
  WR_F64_AS_F32, /* double on the host, float on the device; too large becomes infinite        */
  WR_I64_AS_I32  /* int64_t on the host, int32_t on the device; values must fit                */
} wr_conversion;

/* Bytes of an element on either side. */
int64_t wr_conversion_host_size(wr_conversion how);
int64_t wr_conversion_device_size(wr_conversion how);

/* room[count] := elements of the host as the device wants them; and the way back. In parallel when there are many. */
void wr_pack_elements(void *room, const void *from, int64_t count, wr_conversion how);
void wr_unpack_elements(void *to, const void *room, int64_t count, wr_conversion how);

/* Of how many bytes whole numbers must be so that their reciprocals are values[n], which are 0 or more; 0 for 0. The answer 0:
 * they are not all reciprocals of less than 2^32. pack: room[n] := these numbers. */
int wr_whole_bytes(const double *values, int64_t n);
void wr_whole_pack(const double *values, int64_t n, int bytes, void *room);

#ifdef __cplusplus
}
#endif
#endif
