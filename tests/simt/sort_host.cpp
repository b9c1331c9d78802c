/* spmv/device/sort.h without a device: the same functions by the standard library, in place of spmv/device/sort.cu, which
 * needs CUB. Device memory is this process's own while it is open. */
#include "spmv/device/sort.h"

#include <algorithm>
#include <numeric>

#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "tests/simt/simt.h"

namespace {

/* While one of these lives. */
struct open_memory {
  open_memory() { simt_open_memory(nullptr); }
  ~open_memory() { simt_close_memory(nullptr); }
};

template <typename K>
K low_bits(int n) {
  return n < 8 * (int)sizeof(K) ? (K)(((K)1 << n) - 1) : (K) ~(K)0;
}

template <typename T>
void permute(T *values, int64_t count, const int64_t *order, void *room) {
  T *old = (T *)room;
  std::copy(values, values + count, old);
  for (int64_t k = 0; k < count; k++) values[k] = old[order[k]];
}

/* order, room: [count] */
template <typename K>
void sort_keys(K *keys, void *values, size_t value_size, int64_t count, int begin_bit, int end_bit, int64_t *order,
               int64_t *room) {
  open_memory open;
  K mask = (K)(low_bits<K>(end_bit) & ~low_bits<K>(begin_bit));
  std::iota(order, order + count, (int64_t)0);
  std::stable_sort(order, order + count, [&](int64_t a, int64_t b) { return (keys[a] & mask) < (keys[b] & mask); });
  permute(keys, count, order, room);
  if (values && value_size == 4) permute((uint32_t *)values, count, order, room);
  if (values && value_size == 8) permute((uint64_t *)values, count, order, room);
}

template <typename C, typename T>
wr_status scan_counts(const C *counts, int64_t count, T *offsets, int64_t *total) {
  wr_status status;
  open_memory open;
  int64_t sum = std::accumulate(counts, counts + count, (int64_t)0);
  TRY(wr_sort_check_position(sum, sizeof(T)));
  std::exclusive_scan(counts, counts + count, offsets, (int64_t)0, std::plus<int64_t>());
  offsets[count] = (T)sum;
  if (total) *total = sum;
done:
  return status;
}

template <typename T, typename Is>
int64_t select_words(Is is, int64_t count, const T *items, T *selected) {
  open_memory open;
  int64_t found = 0;
  for (int64_t i = 0; i < count; i++) {
    if (!is(i)) continue;
    if (selected) selected[found] = items ? items[i] : (T)i;
    found++;
  }
  return found;
}

} // namespace

extern "C" wr_status wr_device_sort_pairs(wr_env *env, void *keys, size_t key_size, void *values, size_t value_size,
                                          int64_t count, int begin_bit, int end_bit) {
  wr_status status;
  int64_t *order = nullptr, *room = nullptr;
  TRY(wr_cuda_enter(env));
  TRY(wr_sort_check(count, key_size, values ? value_size : 4));
  TRY(wr_sort_check_bits(key_size, begin_bit, end_bit));
  TRY(wr_device_alloc(env, &order, count, sizeof *order, "sorting"));
  TRY(wr_device_alloc(env, &room, count, sizeof *room, "sorting"));
  if (key_size == 8)
    sort_keys((uint64_t *)keys, values, value_size, count, begin_bit, end_bit, order, room);
  else
    sort_keys((uint32_t *)keys, values, value_size, count, begin_bit, end_bit, order, room);
done:
  wr_device_free(env, order);
  wr_device_free(env, room);
  return status;
}

extern "C" wr_status wr_device_scan(wr_env *env, const void *counts, size_t count_size, int64_t count, void *offsets,
                                    size_t offset_size, int64_t *total) {
  wr_status status;
  TRY(wr_cuda_enter(env));
  TRY(wr_sort_check(count, count_size, offset_size));
  if (count_size == 4 && offset_size == 4)
    return scan_counts((const int32_t *)counts, count, (int32_t *)offsets, total);
  if (count_size == 4) return scan_counts((const int32_t *)counts, count, (int64_t *)offsets, total);
  if (offset_size == 4) return scan_counts((const int64_t *)counts, count, (int32_t *)offsets, total);
  return scan_counts((const int64_t *)counts, count, (int64_t *)offsets, total);
done:
  return status;
}

extern "C" wr_status wr_device_select(wr_env *env, const uint8_t *kinds, uint8_t kind, int64_t count, const void *items,
                                      void *selected, size_t item_size, int64_t *found) {
  wr_status status;
  auto is = [&](int64_t i) { return kinds[i] == kind; };
  if (selected == nullptr) items = nullptr, item_size = 8;
  TRY(wr_cuda_enter(env));
  TRY(wr_sort_check(count, item_size, item_size));
  if (items == nullptr) TRY(wr_sort_check_position(count - 1, item_size));
  *found = item_size == 8 ? select_words(is, count, (const uint64_t *)items, (uint64_t *)selected)
                          : select_words(is, count, (const uint32_t *)items, (uint32_t *)selected);
done:
  return status;
}
