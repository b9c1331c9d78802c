#include "spmv/device/array_list.h"

#include "config/memory.h"
#include "spmv/device/device_memory.h"

void wr_arrays_free_device(wr_env *env, const wr_listed_array *list, int n) {
  for (int k = 0; k < n; k++) {
    wr_device_free(env, *list[k].at);
    *list[k].at = NULL;
  }
}

void wr_arrays_free_host(const wr_listed_array *list, int n) {
  for (int k = 0; k < n; k++) {
    wr_free(*list[k].at);
    *list[k].at = NULL;
  }
}

int64_t wr_arrays_device_bytes(const wr_listed_array *list, int n) {
  int64_t bytes = 0;
  for (int k = 0; k < n; k++)
    if (*list[k].at) bytes += wr_device_bytes(list[k].count, list[k].size);
  return bytes;
}

/* Arrays are copied as words of 4 bytes, also those of smaller elements: allocations on a device are padded, and so is the room
 * here. */
wr_status wr_arrays_download(wr_env *env, const wr_listed_array *from, const wr_listed_array *to, int n) {
  wr_status status = WR_OK;
  for (int k = 0; k < n; k++) *to[k].at = NULL;
  for (int k = 0; k < n; k++) {
    int64_t words = (from[k].count * (int64_t)from[k].size + 3) / 4;
    char *room = NULL;
    if (*from[k].at == NULL) continue;
    TRY(wr_alloc(&room, words + 1, 4, "a format on the host"));
    *to[k].at = room;
    TRY(wr_device_download(env, room, *from[k].at, words, WR_AS_4_BYTES));
  }
done:
  if (status != WR_OK) wr_arrays_free_host(to, n);
  return status;
}
