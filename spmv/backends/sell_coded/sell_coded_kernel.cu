#include "spmv/backends/sell_coded/sell_coded_kernel.h"

#include "spmv/device/cuda_state.h"
#include "spmv/device/left_sums.cuh"
#include "spmv/kernel/async_copy.cuh"
#include "spmv/kernel/epilogue.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/warp.cuh"

constexpr int THREADS = 256, WARPS = THREADS / WR_WARP;
constexpr int TABLE = THREADS; /* each thread copies an entry of the table */
/* Words of a lane that are multiplied at a time, and thread blocks on a multiprocessor with them, which stay until all slices
 * are done. MANY is for longer rows without values, whose loads would take too many registers, PLAIN for plain entries. */
constexpr int FEW = 2, MANY = 4, PLAIN = 8, MOST_BLOCKS = 4;
constexpr int blocks_of(int words, bool has_much) {
  return words == MANY || (words == PLAIN && has_much) ? 3 : MOST_BLOCKS;
}

/* A launch with few plain words leaves room on the multiprocessors for blocks of the next kernel, which wait for it with their
 * first loads done: fewer words than SMALL_WORDS for each, in slices of more than a warp takes at a time. */
constexpr int64_t SMALL_WORDS = 1024;
constexpr int BLOCKS_OF_SMALL = 2;

template <typename T>
struct coded_args {
  wr_sell_coded format;
  const T *x; /* [ncols] */
  T *y;       /* [nrows] */
  double alpha, beta;
};

/* An entry of the table in shared memory. */
struct alignas(16) coded_entry {
  double value;
  int32_t difference;
};

/* Some words of a slice: those from `word` on of its words before `end`, and the line of the first. */
struct coded_place {
  int32_t word, end, line, last_line;
};

template <wr_coded_kind KIND>
static __device__ inline coded_place coded_slice(const wr_sell_coded &c, int64_t slice) {
  if (slice >= c.slices) return {0, 0, 0, 0};
  coded_place p = {__ldg(c.word + slice), __ldg(c.word + slice + 1), 0, 0};
  if (KIND == WR_CODED_VALUES) p.line = __ldg(c.line + slice), p.last_line = __ldg(c.line + slice + 1);
  if (KIND == WR_PLAIN_VALUES) p.line = p.word, p.last_line = p.end;
  return p;
}

template <int W>
static __device__ inline void coded_load(const wr_sell_coded &c, const coded_place &p, uint32_t (&words)[W]) {
  const uint32_t *at = c.code + (int64_t)p.word * WR_WARP + threadIdx.x % WR_WARP;
#pragma unroll
  for (int w = 0; w < W; w++) words[w] = p.word + w < p.end ? __ldcs(at + w * WR_WARP) : ~0u;
}

/* Entry k of `words`: its code, or its column in a plain format; all ones are padding. */
template <wr_coded_kind KIND, int W>
static __device__ inline uint32_t coded_entry_at(const uint32_t (&words)[W], int k) {
  return wr_coded_is_plain(KIND) ? words[k] : words[k / 4] >> 8 * (k % 4) & 255;
}

/* The sum of row i's entries in `words`, added to `sum` in order. All loads are issued before the first sum; padding reads the
 * table's zero and no x. */
template <typename T, wr_coded_kind KIND, int W>
static __device__ inline double coded_add(const coded_args<T> &a, const coded_entry *table, const coded_place &p,
                                          int32_t i, const uint32_t (&words)[W], double sum) {
  constexpr bool IS_PLAIN = wr_coded_is_plain(KIND);
  constexpr int N = wr_coded_in_word(KIND) * W;
  constexpr uint32_t NONE = IS_PLAIN ? ~0u : (uint32_t)WR_CODED_NONE;
  T v[N], x[N];
  if (wr_coded_has_values(KIND)) {
    const T *val = (const T *)a.format.val + (int64_t)p.line * WR_WARP + threadIdx.x % WR_WARP;
#pragma unroll
    for (int k = 0; k < N; k++) v[k] = p.line + k < p.last_line ? __ldcs(val + k * WR_WARP) : (T)0;
  }
#pragma unroll
  for (int k = 0; k < N; k++) {
    uint32_t entry = coded_entry_at<KIND>(words, k);
    int32_t column = IS_PLAIN ? (int32_t)entry : i + table[entry].difference;
    x[k] = entry != NONE ? __ldg(a.x + column) : (T)0;
  }
#pragma unroll
  for (int k = 0; k < N; k++)
    sum += KIND == WR_CODED_PAIRS      ? table[coded_entry_at<KIND>(words, k)].value * (double)x[k]
           : wr_coded_has_values(KIND) ? (double)(v[k] * x[k])
                                       : (double)x[k];
  return sum;
}

/* y = alpha*A*x + beta*y and the epilogue. A warp takes every n-th slice. The words of what it multiplies next are in flight
 * while it waits for x, and the places of the slice after that. W: words at a time. */
template <typename T, wr_coded_kind KIND, int W, wr_finish_mask MASK>
__global__ void __launch_bounds__(THREADS, blocks_of(W, sizeof(T) == 8 && MASK != WR_HOLDS_NOTHING))
    sell_coded(WR_KERNEL_PARAMETER coded_args<T> a, WR_KERNEL_PARAMETER wr_finish<T> given) {
  WR_SHARED(coded_entry, table, TABLE);
  const wr_sell_coded &c = a.format;
  wr_let_next_begin();
  if (!wr_coded_is_plain(KIND)) table[threadIdx.x].difference = c.difference[threadIdx.x];
  if (KIND == WR_CODED_PAIRS) table[threadIdx.x].value = c.value[threadIdx.x];
  int64_t slice = (int64_t)blockIdx.x * WARPS + threadIdx.x / WR_WARP, stride = (int64_t)gridDim.x * WARPS;
  coded_place here = coded_slice<KIND>(c, slice), after = coded_slice<KIND>(c, slice + stride);
  uint32_t words[W];
  coded_load(c, here, words);
  __syncthreads();
  wr_wait_for_earlier();
  const auto finish = wr_finish_known<MASK>(given);
  wr_finish_scalars scalars = wr_finish_begin(finish);
  double sum = 0, reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  while (slice < c.slices) {
    int32_t i = (int32_t)(slice * WR_CODED_ROWS) + (int32_t)(threadIdx.x % WR_WARP);
    bool ends = here.word + W >= here.end, exists = i < c.nrows;
    coded_place next = here;
    next.word += W, next.line += wr_coded_in_word(KIND) * W;
    if (ends) next = after, after = coded_slice<KIND>(c, slice + 2 * stride);
    uint32_t then[W];
    coded_load(c, next, then);
    wr_finish_rows<T, 1> row;
    if (MASK & WR_HOLDS_SCALE) row = {}; /* g++ cannot see that it is read in the case alone in which it is loaded */
    if (ends && exists) wr_finish_load(finish, i, row);
    sum = coded_add<T, KIND, W>(a, table, here, i, words, sum);
    if (ends && exists) {
      row.value[0] = wr_finish_beta(a.alpha, a.beta, a.y, i, sum);
      wr_finish_store(finish, scalars, i, row, a.y, reduced);
    }
    if (ends) sum = 0, slice += stride;
    here = next;
#pragma unroll
    for (int w = 0; w < W; w++) words[w] = then[w];
  }
  wr_sums_leave(given.sums, reduced); /* the parameter, as a copy of its step would be in local memory */
}

template <typename T, wr_coded_kind KIND, int W>
static wr_status launch_words(wr_env *env, const coded_args<T> &a, const wr_finish<T> &finish) {
  constexpr bool IS_PATTERN = KIND == WR_CODED_PATTERN || KIND == WR_PLAIN_PATTERN;
  const bool is_small = wr_coded_is_plain(KIND) && a.format.words < SMALL_WORDS * wr_cuda_processors(env) &&
                        a.format.words > PLAIN * a.format.slices;
  unsigned grid = 0;
  PASS((wr_finish_with_mask<T, IS_PATTERN>(wr_finish_mask_of(finish), [&](auto known) {
    constexpr wr_finish_mask MASK = known.value;
    constexpr int MOST = blocks_of(W, sizeof(T) == 8 && MASK != WR_HOLDS_NOTHING);
    grid = wr_cuda_grid(env, (a.format.slices + WARPS - 1) / WARPS, is_small ? BLOCKS_OF_SMALL : MOST);
    return WR_LAUNCH_EARLY(env, (sell_coded<T, KIND, W, MASK>), grid, THREADS, 0, a, finish);
  })));
  return wr_left_sums_launch(env, finish.sums, grid);
}

template <typename T, wr_coded_kind KIND>
static wr_status launch_kind(wr_env *env, const coded_args<T> &a, const wr_finish<T> &finish) {
  if constexpr (wr_coded_is_plain(KIND)) {
    return launch_words<T, KIND, PLAIN>(env, a, finish);
  } else {
    if constexpr (KIND != WR_CODED_VALUES)
      if (a.format.words > FEW * a.format.slices) return launch_words<T, KIND, MANY>(env, a, finish);
    return launch_words<T, KIND, FEW>(env, a, finish);
  }
}

template <typename T>
static wr_status launch(wr_env *env, const wr_sell_coded *c, const wr_apply *request) {
  coded_args<T> a = {*c, (const T *)request->x->data, (T *)request->y->data, request->alpha, request->beta};
  wr_finish<T> finish = wr_finish_make<T>(env, request->epilogue);
  switch (c->kind) {
    case WR_CODED_PAIRS: return launch_kind<T, WR_CODED_PAIRS>(env, a, finish);
    case WR_CODED_VALUES: return launch_kind<T, WR_CODED_VALUES>(env, a, finish);
    case WR_PLAIN_VALUES: return launch_kind<T, WR_PLAIN_VALUES>(env, a, finish);
    case WR_PLAIN_PATTERN: return launch_kind<T, WR_PLAIN_PATTERN>(env, a, finish);
    case WR_CODED_PATTERN: break;
  }
  return launch_kind<T, WR_CODED_PATTERN>(env, a, finish);
}

extern "C" wr_status wr_sell_coded_reserve(wr_env *env) {
  return wr_left_sums_reserve(env, MOST_BLOCKS * wr_cuda_processors(env));
}

extern "C" wr_status wr_sell_coded_launch(wr_env *env, const wr_sell_coded *c, const wr_apply *request) {
  PASS(wr_cuda_enter(env));
  return env->type == WR_F32 ? launch<float>(env, c, request) : launch<double>(env, c, request);
}
