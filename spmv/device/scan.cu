/* Scan and select by CUB. Its scan, select and reduce count with an int in CUDA 12, so they are called for pieces of at most
 * 2^30 elements, each with the total of the pieces before it. Iterators choose between 4 and 8 bytes when they read an element,
 * so that few kernels are instantiated. */
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "spmv/device/cub_call.cuh"
#include "spmv/device/sort.h"

static const int64_t PIECE = 1 << 30;

static int piece(int64_t from, int64_t count) { return (int)(count - from < PIECE ? count - from : PIECE); }

/* ---- Reading element i ---- */

struct read_count {
  const void *counts;
  bool wide;
  __host__ __device__ int64_t operator()(int64_t i) const {
    return wide ? static_cast<const int64_t *>(counts)[i] : static_cast<const int32_t *>(counts)[i];
  }
};

struct is_of_kind { /* 0 or 1 */
  const uint8_t *kinds;
  uint8_t kind;
  __host__ __device__ int operator()(int64_t i) const { return kinds[i] == kind; }
};

template <typename T>
struct read_item {
  const T *items; /* NULL: i */
  __host__ __device__ T operator()(int64_t i) const { return items ? items[i] : (T)i; }
};

struct add {
  __host__ __device__ int64_t operator()(int64_t a, int64_t b) const { return a + b; }
};

template <typename Read>
static auto reading(Read read, int64_t from) {
  return thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(from), read);
}

/* ---- Scan ---- */

/* *sum := the sum of read(i) over n elements from `from` on. */
template <typename Read>
static wr_status add_up(wr_env *env, Read read, int64_t from, int n, int64_t *sum) {
  wr_status status;
  int64_t *on_device = NULL;
  TRY(wr_device_alloc(env, &on_device, 1, sizeof *on_device, "a sum"));
  TRY(with_room(env, "cub::DeviceReduce::Sum", [&](void *room, size_t &bytes) {
    return cub::DeviceReduce::Sum(room, bytes, reading(read, from), on_device, n, stream_of(env));
  }));
  TRY(wr_device_download(env, sum, on_device, 1, WR_AS_8_BYTES));
done:
  wr_device_free(env, on_device);
  return status;
}

/* offsets[at] := value, the last step of a scan and of runs. */
static wr_status finish_offsets(wr_env *env, void *offsets, size_t size, int64_t at, int64_t value) {
  void *to = (char *)offsets + at * (int64_t)size;
  PASS(wr_sort_check_position(value, size));
  PASS(wr_device_upload(env, to, &value, 1, size == 8 ? WR_AS_8_BYTES : WR_I64_AS_I32));
  return WR_CUDA(cudaStreamSynchronize(stream_of(env)));
}

template <typename T>
static wr_status scan_counts(wr_env *env, read_count read, int64_t count, T *offsets, int64_t *total) {
  wr_status status = WR_OK;
  int64_t sum, before = 0;
  for (int64_t from = 0; from < count; from += PIECE) {
    int n = piece(from, count);
    TRY(add_up(env, read, from, n, &sum));
    TRY(wr_sort_check_position(before + sum, sizeof(T)));
    TRY(with_room(env, "cub::DeviceScan::ExclusiveScan", [&](void *room, size_t &bytes) {
      return cub::DeviceScan::ExclusiveScan(room, bytes, reading(read, from), offsets + from, add(), before, n,
                                            stream_of(env));
    }));
    before += sum;
  }
  TRY(finish_offsets(env, offsets, sizeof(T), count, before));
  if (total) *total = before;
done:
  return status;
}

extern "C" wr_status wr_device_scan(wr_env *env, const void *counts, size_t count_size, int64_t count, void *offsets,
                                    size_t offset_size, int64_t *total) {
  read_count read = {counts, count_size == 8};
  PASS(wr_cuda_enter(env));
  PASS(wr_sort_check(count, count_size, offset_size));
  if (offset_size == 8) return scan_counts(env, read, count, (int64_t *)offsets, total);
  return scan_counts(env, read, count, (int32_t *)offsets, total);
}

/* ---- Select ---- */

static wr_status count_only(wr_env *env, is_of_kind is, int64_t count, int64_t *found) {
  int64_t part;
  *found = 0;
  for (int64_t from = 0; from < count; from += PIECE) {
    PASS(add_up(env, is, from, piece(from, count), &part));
    *found += part;
  }
  return WR_OK;
}

template <typename T>
static wr_status select_words(wr_env *env, is_of_kind is, int64_t count, const T *items, T *selected, int64_t *found) {
  wr_status status;
  int64_t part, *on_device = NULL;
  *found = 0;
  TRY(wr_device_alloc(env, &on_device, 1, sizeof *on_device, "a count"));
  for (int64_t from = 0; from < count; from += PIECE) {
    TRY(with_room(env, "cub::DeviceSelect::Flagged", [&](void *room, size_t &bytes) {
      return cub::DeviceSelect::Flagged(room, bytes, reading(read_item<T>{items}, from), reading(is, from),
                                        selected + *found, on_device, piece(from, count), stream_of(env));
    }));
    TRY(wr_device_download(env, &part, on_device, 1, WR_AS_8_BYTES));
    *found += part;
  }
done:
  wr_device_free(env, on_device);
  return status;
}

extern "C" wr_status wr_device_select(wr_env *env, const uint8_t *kinds, uint8_t kind, int64_t count, const void *items,
                                      void *selected, size_t item_size, int64_t *found) {
  is_of_kind is = {kinds, kind};
  if (selected == NULL) item_size = 8;
  PASS(wr_cuda_enter(env));
  PASS(wr_sort_check(count, item_size, item_size));
  if (selected == NULL) return count_only(env, is, count, found);
  if (items == NULL) PASS(wr_sort_check_position(count - 1, item_size));
  if (item_size == 8) return select_words(env, is, count, (const uint64_t *)items, (uint64_t *)selected, found);
  return select_words(env, is, count, (const uint32_t *)items, (uint32_t *)selected, found);
}
