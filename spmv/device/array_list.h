/* The arrays of a format, listed once, so that freeing, counting and downloading them need no list of their own. */
#ifndef WR_ARRAY_LIST_H
#define WR_ARRAY_LIST_H

#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
#include <array>
#endif

#include "spmv/device/env.h"

WR_C_BEGIN

/* An array of a format: where its address is kept, NULL there if there is none, and its elements and their size in bytes. */
typedef struct wr_listed_array {
  void **at;
  int64_t count;
  size_t size;
} wr_listed_array;

/* Frees the arrays of a list of n, on the device or on the host, and sets their addresses to NULL. */
void wr_arrays_free_device(wr_env *env, const wr_listed_array *list, int n);
void wr_arrays_free_host(const wr_listed_array *list, int n);

/* Bytes of the arrays that there are, on a device, padding included. */
int64_t wr_arrays_device_bytes(const wr_listed_array *list, int n);

/* The arrays of `to` := copies on the host of those of `from`, two lists of n of the same kind; waits. WR_ENOMEM, WR_EDEVICE;
 * there are none on the host then. */
wr_status wr_arrays_download(wr_env *env, const wr_listed_array *from, const wr_listed_array *to, int n);

WR_C_END

#ifdef __cplusplus
/* The same for a format f, whose arrays list(&f) returns as a std::array. Freed formats become zeros. */
template <class Format, class List>
inline void wr_format_free_device(wr_env *env, Format *f, List list) {
  auto arrays = list(f);
  wr_arrays_free_device(env, arrays.data(), (int)arrays.size());
  *f = {};
}

template <class Format, class List>
inline void wr_format_free_host(Format *f, List list) {
  auto arrays = list(f);
  wr_arrays_free_host(arrays.data(), (int)arrays.size());
  *f = {};
}

template <class Format, class List>
inline int64_t wr_format_device_bytes(Format f, List list) {
  auto arrays = list(&f);
  return wr_arrays_device_bytes(arrays.data(), (int)arrays.size());
}

template <class Format, class List>
inline wr_status wr_format_download(wr_env *env, Format f, Format *to, List list) {
  *to = f;
  auto from = list(&f), arrays = list(to);
  return wr_arrays_download(env, from.data(), arrays.data(), (int)arrays.size());
}
#endif
#endif
