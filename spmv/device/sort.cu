/* Sorting by CUB, whose sort takes 64-bit counts. Scans are in a source of their own, as a device loads all kernels of a source
 * at the first use of one (docs/decisions.md), and most formats are built without sorting. */
#include "spmv/device/sort.h"

#include <cub/device/device_radix_sort.cuh>

#include "spmv/device/cub_call.cuh"

template <typename K, typename V>
static wr_status sort_words(wr_env *env, K *keys, V *values, int64_t count, int begin_bit, int end_bit) {
  wr_status status;
  K *more_keys = NULL;
  V *more_values = NULL;
  cub::DoubleBuffer<K> k;
  cub::DoubleBuffer<V> v;
  TRY(wr_device_alloc(env, &more_keys, count, sizeof(K), "sorting"));
  if (values) TRY(wr_device_alloc(env, &more_values, count, sizeof(V), "sorting"));
  k = cub::DoubleBuffer<K>(keys, more_keys);
  v = cub::DoubleBuffer<V>(values, more_values);
  TRY(with_room(env, "cub::DeviceRadixSort", [&](void *room, size_t &bytes) {
    return values ? cub::DeviceRadixSort::SortPairs(room, bytes, k, v, count, begin_bit, end_bit, stream_of(env))
                  : cub::DeviceRadixSort::SortKeys(room, bytes, k, count, begin_bit, end_bit, stream_of(env));
  }));
  if (k.Current() != keys)
    TRY(WR_CUDA(cudaMemcpyAsync(keys, k.Current(), count * sizeof(K), cudaMemcpyDeviceToDevice, stream_of(env))));
  if (v.Current() != values)
    TRY(WR_CUDA(cudaMemcpyAsync(values, v.Current(), count * sizeof(V), cudaMemcpyDeviceToDevice, stream_of(env))));
  TRY(WR_CUDA(cudaStreamSynchronize(stream_of(env))));
done:
  wr_device_free(env, more_keys);
  wr_device_free(env, more_values);
  return status;
}

template <typename K>
static wr_status sort_keys(wr_env *env, void *keys, void *values, size_t value_size, int64_t count, int begin_bit,
                           int end_bit) {
  if (value_size == 8) return sort_words(env, (K *)keys, (uint64_t *)values, count, begin_bit, end_bit);
  return sort_words(env, (K *)keys, (uint32_t *)values, count, begin_bit, end_bit);
}

extern "C" wr_status wr_device_sort_pairs(wr_env *env, void *keys, size_t key_size, void *values, size_t value_size,
                                          int64_t count, int begin_bit, int end_bit) {
  if (values == NULL) value_size = 4;
  PASS(wr_cuda_enter(env));
  PASS(wr_sort_check(count, key_size, value_size));
  PASS(wr_sort_check_bits(key_size, begin_bit, end_bit));
  if (count == 0 || begin_bit == end_bit) return WR_OK;
  if (key_size == 8)
    PASS(sort_keys<uint64_t>(env, keys, values, value_size, count, begin_bit, end_bit));
  else
    PASS(sort_keys<uint32_t>(env, keys, values, value_size, count, begin_bit, end_bit));
  return WR_OK;
}
