/* Bulk copies and streaming loads as kernels use them (spmv/kernel/async_copy.cuh): tiles of uneven length, in two stages,
 * by a grid that may have fewer blocks than there are tiles, or more; stages are overwritten before they are used again.
 * All values are small whole numbers, so that every sum is exact. */
#include <vector>

#include "spmv/device/device_memory.h"
#include "spmv/kernel/async_copy.cuh"
#include "spmv/kernel/stream.cuh"
#include "spmv/kernel/warp.cuh"
#include "spmv/spmv.h"
#include "tests/kernels/on_device.h"

constexpr int STAGES = 2, TILE = 256, GROUP = 4; /* most entries of a tile; copied in groups, of 16 bytes or 32 */
constexpr int ROOM = TILE + 2 * GROUP;           /* entries of a stage: groups at both ends may stick out */

template <typename T>
struct tiles {
  int64_t count;
  const int64_t *start; /* [count + 1]: tile t has entries start[t] to start[t + 1] */
  const int32_t *col;   /* [start[count]], and so are val and out                   */
  const T *val;
  T *out;
  double *sum; /* [count] */
};

/* out := col + 2 * val, back to front within a tile; sum := its sum. */
template <typename T>
struct stage {
  T *val;       /* [ROOM] */
  int32_t *col; /* [ROOM] */
};

template <typename T>
__device__ inline stage<T> stage_at(unsigned char *room, int s) {
  unsigned char *at = room + s * ROOM * (int)(sizeof(T) + sizeof(int32_t));
  return {reinterpret_cast<T *>(at), reinterpret_cast<int32_t *>(at + ROOM * sizeof(T))};
}

template <typename T>
__device__ inline void ask_for(const tiles<T> &all, int64_t t, stage<T> to, wr_copy_barrier *arrived) {
  int64_t from = all.start[t] / GROUP * GROUP, until = (all.start[t + 1] + GROUP - 1) / GROUP * GROUP;
  unsigned n = (unsigned)(until - from);
  wr_copy_expect(arrived, n * (unsigned)(sizeof(T) + sizeof(int32_t)));
  wr_copy_bulk(to.val, all.val + from, n * (unsigned)sizeof(T), arrived);
  wr_copy_bulk(to.col, all.col + from, n * (unsigned)sizeof(int32_t), arrived);
}

template <typename T>
__global__ void run_tiles(tiles<T> all) {
  WR_SHARED(wr_copy_barrier, arrived, STAGES);
  WR_SHARED_DYNAMIC(unsigned char, room); /* [STAGES] stages */
  if (threadIdx.x == 0)
    for (int s = 0; s < STAGES; s++) wr_copy_barrier_init(&arrived[s]);
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x < all.count) ask_for(all, blockIdx.x, stage_at<T>(room, 0), &arrived[0]);
  unsigned k = 0; /* tiles that this block has finished */
  for (int64_t t = blockIdx.x; t < all.count; t += gridDim.x, k++) {
    int s = k % STAGES, next = (k + 1) % STAGES;
    if (threadIdx.x == 0 && t + gridDim.x < all.count)
      ask_for(all, t + gridDim.x, stage_at<T>(room, next), &arrived[next]);
    int64_t first = all.start[t];
    int n = (int)(all.start[t + 1] - first), skip = (int)(first % GROUP);
    stage<T> here = stage_at<T>(room, s);
    wr_copy_wait(&arrived[s], k / STAGES & 1);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
      here.val[skip + i] = (T)here.col[skip + i] + 2 * here.val[skip + i];
    __syncthreads();
    double sum[1] = {0};
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
      all.out[first + i] = here.val[skip + n - 1 - i];
      sum[0] += (double)here.val[skip + i];
    }
    wr_block_sum(sum); /* ends with a barrier: all threads are done with this stage */
    if (threadIdx.x == 0) all.sum[t] = sum[0];
  }
}

/* ---- The host's side ---- */

static uint64_t chance = 1;
static uint32_t draw(uint32_t below) {
  chance = chance * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((chance >> 32) * below >> 32);
}

/* Bounds of tiles of up to `longest` entries; some are empty, and the first has one entry, so that others begin anywhere. */
static std::vector<int64_t> make_bounds(int64_t count, int longest) {
  std::vector<int64_t> start(1, 0);
  for (int64_t t = 0; t < count; t++) start.push_back(start[t] + (t == 0 ? 1 : t % 5 == 3 ? 0 : 1 + draw(longest)));
  return start;
}

template <typename V>
static V *to_device(wr_env *env, const std::vector<V> &values) {
  V *block = NULL;
  CHECK_OK(wr_device_alloc(env, &block, (int64_t)values.size(), sizeof(V), "test data"));
  CHECK_OK(wr_device_upload(env, block, values.data(), (int64_t)values.size(),
                            sizeof(V) == 4 ? WR_AS_4_BYTES : WR_AS_8_BYTES));
  return block;
}

template <typename V>
static std::vector<V> to_host(wr_env *env, const V *block, int64_t count) {
  std::vector<V> values((size_t)count);
  CHECK_OK(wr_device_download(env, values.data(), block, count, sizeof(V) == 4 ? WR_AS_4_BYTES : WR_AS_8_BYTES));
  return values;
}

template <typename T>
static void check_tiles(const std::vector<int64_t> &start, const std::vector<int32_t> &col, const std::vector<T> &val,
                        const std::vector<T> &out, const std::vector<double> &sum) {
  int64_t bad = 0, bad_sums = 0, first_bad = -1;
  for (size_t t = 0; t + 1 < start.size(); t++) {
    double expected_sum = 0;
    for (int64_t k = start[t]; k < start[t + 1]; k++) {
      T expected = (T)col[k] + 2 * val[k];
      expected_sum += (double)expected;
      if (out[start[t] + start[t + 1] - 1 - k] != expected && bad++ == 0) first_bad = k;
    }
    bad_sums += sum[t] != expected_sum;
  }
  CHECKF(bad == 0, "%lld entries are wrong, entry %lld first", (long long)bad, (long long)first_bad);
  CHECKF(bad_sums == 0, "%lld sums are wrong", (long long)bad_sums);
}

template <typename T>
static void test_tiles(wr_env *env, int64_t count, int longest, unsigned blocks, unsigned threads) {
  std::vector<int64_t> start = make_bounds(count, longest);
  int64_t n = start[count];
  std::vector<int32_t> col((size_t)n);
  std::vector<T> val((size_t)n);
  for (int64_t k = 0; k < n; k++) col[k] = 1 + (int32_t)draw(1000), val[k] = (T)(1 + draw(1000));
  int64_t *device_start = to_device(env, start);
  int32_t *device_col = to_device(env, col);
  T *device_val = to_device(env, val), *device_out = to_device(env, std::vector<T>((size_t)n));
  double *device_sum = to_device(env, std::vector<double>((size_t)count, -1));
  tiles<T> all = {count, device_start, device_col, device_val, device_out, device_sum};
  CHECK_OK(WR_LAUNCH((run_tiles<T>), blocks, threads, STAGES * ROOM * (sizeof(T) + sizeof(int32_t)), env->stream, all));
  CHECK_OK(env->ops->wait(env));
  check_tiles(start, col, val, to_host(env, device_out, n), to_host(env, device_sum, count));
  for (void *block :
       {(void *)device_start, (void *)device_col, (void *)device_val, (void *)device_out, (void *)device_sum})
    wr_device_free(env, block);
}

static void test_bulk(wr_env *env) {
  static const int64_t counts[] = {1, 2, 3, 30};
  static const unsigned grids[] = {1, 4, 33}, threads[] = {32, 96, 256};
  for (int64_t count : counts)
    for (int g = 0; g < 3; g++)
      for (int longest : {3, 50, TILE}) {
        CASE("bulk copies, f32");
        test_tiles<float>(env, count, longest, grids[g], threads[(g + count) % 3]);
        CASE("bulk copies, f64");
        test_tiles<double>(env, count, longest, grids[g], threads[(g + count) % 3]);
      }
}

/* ---- Loads ---- */

template <typename V>
__global__ void copy_stream(int64_t n, const V *from, V *to) {
  for (int64_t i = wr_stream_thread(); i < n; i += wr_stream_threads()) to[i] = wr_load_stream(from + i);
}

/* The same bytes, loaded as elements of each size. */
template <typename V>
static void test_loads_as(wr_env *env, const char *name) {
  enum { WORDS = 4000 };
  CASE(name);
  std::vector<uint32_t> words(WORDS);
  for (uint32_t &word : words) word = draw(UINT32_MAX);
  uint32_t *from = to_device(env, words), *to = to_device(env, std::vector<uint32_t>(WORDS));
  int64_t n = WORDS * sizeof(uint32_t) / sizeof(V);
  CHECK_OK(WR_LAUNCH((copy_stream<V>), 3, WR_STREAM_THREADS, 0, env->stream, n, reinterpret_cast<const V *>(from),
                     reinterpret_cast<V *>(to)));
  CHECK_OK(env->ops->wait(env));
  CHECK(to_host(env, to, WORDS) == words);
  wr_device_free(env, from);
  wr_device_free(env, to);
}

static void test_loads(wr_env *env) {
  test_loads_as<uint16_t>(env, "loads of 2 bytes");
  test_loads_as<int32_t>(env, "loads of 4 bytes");
  test_loads_as<float>(env, "loads of f32");
  test_loads_as<int64_t>(env, "loads of 8 bytes");
  test_loads_as<double>(env, "loads of f64");
  test_loads_as<wr_pack<double, 2>>(env, "loads of 16 bytes");
  test_loads_as<wr_pack<uint16_t, 8>>(env, "loads of 8 times 2 bytes");
}

/* ---- Gathered elements ---- */

/* to[i] := 0 for every third i, else from[index[i]], stored by another lane; sign[i] := 0 for every third i, else index[i]. */
template <typename T>
__global__ void copy_elements(int64_t n, const T *from, const int32_t *index, T *to, int32_t *sign) {
  WR_SHARED(T, room, WR_STREAM_THREADS);
  int64_t i = wr_stream_thread();
  int warp = threadIdx.x / WR_WARP * WR_WARP, lane = threadIdx.x % WR_WARP;
  room[threadIdx.x] = 0;
  bool on = i < n && i % 3 != 0;
  int32_t j = wr_load_stream_if(on, index + i);
  __syncwarp();
  wr_copy_element_if(on, room + warp + (WR_WARP - 1 - lane), from + j);
  wr_copy_elements_wait();
  __syncwarp();
  T mine = room[warp + lane], theirs = __shfl_xor_sync((unsigned)WR_FULL_MASK, mine, (unsigned)WR_WARP - 1);
  if (i < n) to[i] = theirs, sign[i] = j;
}

template <typename T>
static void test_elements_as(wr_env *env, const char *name) {
  enum { COUNT = 5000 };
  CASE(name);
  std::vector<T> values(COUNT), expected(COUNT);
  std::vector<int32_t> index(COUNT), kept(COUNT);
  for (int i = 0; i < COUNT; i++) values[i] = (T)(1 + draw(1000000)), index[i] = (int32_t)draw(COUNT);
  for (int i = 0; i < COUNT; i++)
    if (i % 3) expected[i] = values[index[i]], kept[i] = index[i];
  T *from = to_device(env, values), *to = to_device(env, std::vector<T>(COUNT));
  int32_t *from_index = to_device(env, index), *sign = to_device(env, std::vector<int32_t>(COUNT));
  CHECK_OK(WR_LAUNCH((copy_elements<T>), (COUNT + WR_STREAM_THREADS - 1) / WR_STREAM_THREADS, WR_STREAM_THREADS, 0,
                     env->stream, (int64_t)COUNT, from, from_index, to, sign));
  CHECK_OK(env->ops->wait(env));
  CHECK(to_host(env, to, COUNT) == expected);
  CHECK(to_host(env, sign, COUNT) == kept);
  for (void *block : {(void *)from, (void *)to, (void *)from_index, (void *)sign}) wr_device_free(env, block);
}

static void test_device(wr_env *env) {
  test_bulk(env);
  test_elements_as<float>(env, "elements of f32");
  test_elements_as<double>(env, "elements of f64");
  test_loads(env);
}

int main(void) {
  on_device(test_device);
  return wr_test_report("async_copy");
}
