/* Merge-based CSR (Merrill and Garland, "Merge-based parallel sparse matrix-vector multiplication", SC 2016, section 4). The
 * list of row ends is merged with the list of entries: the path of the merge has nrows + nnz steps, and each thread block takes
 * as many of them as any other, whatever the rows' lengths. Where its part begins is found by a search in row_ptr in every
 * multiply, so nothing is stored but what two kernels hand on. Within the block there is no further search: each row that ends
 * in it sets the bit of its step. */
#include "spmv/backends/merge_csr/merge_csr_kernel.h"

#include "spmv/device/device_memory.h"
#include "spmv/kernel/async_copy.cuh"
#include "spmv/kernel/csr_launch.cuh"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/parts.cuh"

constexpr int THREADS = 256, WARPS = THREADS / WR_WARP, LAST_BLOCKS = 2;

/* ITEMS: steps of a thread; odd, so that threads that walk in step read different banks of shared memory. With 5, 9 or 11 most
 * matrices take longer, and so they do with 128 threads (docs/csr_rows.md). */
constexpr int ITEMS = 7, STEPS = THREADS * ITEMS, WORDS = STEPS / 32;

template <typename T, typename P, bool PATTERN>
struct merge_args {
  wr_csr_rows<T, P, PATTERN> rows;
  wr_merge_csr parts;
};

/* A point of the path: the rows that have ended, and the entries that have been passed. */
struct merge_point {
  int64_t y, x;
};

/* The point behind `step` steps. The end of row y comes before entry x if row_ptr[y + 1] <= x. By a whole warp, whose lanes
 * test 32 rows at a time. */
template <typename P>
static __device__ inline merge_point find_point(const P *row_ptr, int64_t nrows, int64_t nnz, int64_t step) {
  int lane = threadIdx.x % WR_WARP;
  int64_t low = step > nnz ? step - nnz : 0, high = step < nrows ? step : nrows;
  while (low < high) {
    int64_t middle = low + (high - low) * lane / WR_WARP;
    int passed = __popc(__ballot_sync((unsigned)WR_FULL_MASK, (int64_t)row_ptr[middle + 1] <= step - middle - 1));
    int64_t first = low + (high - low) * passed / WR_WARP; /* lane `passed` and those behind it have not passed */
    low = passed > 0 ? low + (high - low) * (passed - 1) / WR_WARP + 1 : low;
    high = passed < WR_WARP ? first : high;
  }
  return {low, step - low};
}

/* products[STEPS] := a_ij x_j, as T, made by consecutive threads. Those behind the last entry repeat it and are not read:
 * loads under conditions would wait for each other. */
template <typename T, typename P, bool PATTERN>
static __device__ inline void multiply_entries(const wr_csr_rows<T, P, PATTERN> &a, int64_t first, int entries,
                                               T *products) {
  int k = (int)threadIdx.x, left = entries - 1 - k; /* up to the last entry */
  int32_t j[ITEMS];
  T v[ITEMS], x[ITEMS];
  if (entries == 0) return;
  const int32_t *col = wr_own_address(a.col + first + k);
  const T *val = PATTERN ? nullptr : wr_own_address(a.val + first + k);
#pragma unroll
  for (int e = 0; e < ITEMS; e++) j[e] = wr_load_stream(col + min(e * THREADS, left));
#pragma unroll
  for (int e = 0; e < ITEMS; e++) v[e] = PATTERN ? (T)1 : wr_load_stream(val + min(e * THREADS, left));
#pragma unroll
  for (int e = 0; e < ITEMS; e++) x[e] = __ldg(a.x + j[e]);
#pragma unroll
  for (int e = 0; e < ITEMS; e++) products[k + e * THREADS] = v[e] * x[e];
}

/* The row ends among a thread's steps, bit e for its step e, and how many the block has before them. word[WORDS + 1]: a bit for
 * each step. Every lane of the warp must arrive. */
struct merge_ends {
  unsigned bits;
  int before;
};

static __device__ inline merge_ends find_ends(const unsigned *word) {
  constexpr int WORDS_OF_WARP = WR_WARP * ITEMS / 32;
  int lane = threadIdx.x % WR_WARP, warp = threadIdx.x / WR_WARP, before = 0;
  int at = warp * WORDS_OF_WARP + lane * ITEMS / 32, shift = lane * ITEMS % 32;
  unsigned bits = (unsigned)(((uint64_t)word[at + 1] << 32 | word[at]) >> shift) & ((1u << ITEMS) - 1);
#pragma unroll 1
  for (int w = lane; w < warp * WORDS_OF_WARP; w += WR_WARP) before += __popc(word[w]); /* two turns at most */
  for (int distance = WR_WARP / 2; distance > 0; distance /= 2)
    before += __shfl_xor_sync((unsigned)WR_FULL_MASK, before, distance);
  int own = __popc(bits), sum = own;
#pragma unroll
  for (int distance = 1; distance < WR_WARP; distance *= 2) {
    int left = __shfl_up_sync((unsigned)WR_FULL_MASK, sum, (unsigned)distance);
    sum += lane >= distance ? left : 0;
  }
  return {bits, before + sum - own};
}

/* A thread's steps. sums[first..first + ended - 1] := the sums of the rows that end in them, from the thread's first entry on;
 * `open`: that of the row that is open at the end. */
struct merge_walk {
  int first, ended;
  double open;
};

/* CHECKED: the block may have fewer steps than its threads take. */
template <bool CHECKED, typename T>
static __device__ inline merge_walk walk(const merge_ends &ends, int last, const T *products, double *sums) {
  int step = (int)threadIdx.x * ITEMS;
  const T *product = products + (step - ends.before);
  double *row = sums + ends.before, sum = 0;
#pragma unroll
  for (int e = 0; e < ITEMS; e++) {
    if (CHECKED && step + e >= last) break;
    if (ends.bits >> e & 1)
      *row++ = sum, sum = 0, product--;
    else
      sum += (double)product[e];
  }
  return {ends.before, __popc(ends.bits), sum};
}

/* y = alpha*A*x + beta*y and the epilogue, for the rows that lie in the block alone; the rest goes to head and tail. */
template <typename T, typename P, bool PATTERN, wr_finish_mask MASK>
__global__ void __launch_bounds__(THREADS)
    merge_csr(WR_KERNEL_PARAMETER merge_args<T, P, PATTERN> a, const wr_finish<T> given) {
  WR_SHARED_DYNAMIC(double, room); /* [entries] products, which are T, then [rows] sums */
  WR_SHARED(unsigned, word, WORDS + 1);
  WR_SHARED(merge_point, bounds, 2);
  WR_SHARED(double, opens, WARPS);
  WR_SHARED(int, firsts, WARPS);
  wr_let_next_begin();
  const auto finish = wr_finish_known<MASK>(given);
  const P *row_ptr = a.rows.row_ptr;
  int64_t b = blockIdx.x, nrows = a.rows.nrows, nnz = a.parts.nnz, all = nrows + nnz;
  int warp = threadIdx.x / WR_WARP, lane = threadIdx.x % WR_WARP;
  if (threadIdx.x <= WORDS) word[threadIdx.x] = 0;
  if (warp < 2) {
    int64_t step = (b + warp) * STEPS;
    merge_point found = find_point(row_ptr, nrows, nnz, step < all ? step : all);
    if (lane == 0) bounds[warp] = found;
  }
  __syncthreads();
  merge_point from = bounds[0], to = bounds[1];
  int rows = (int)(to.y - from.y), entries = (int)(to.x - from.x);
  T *products = (T *)room; /* STEPS of them are stored, the last ones where sums will be */
  double *sums = room + (entries * sizeof(T) + sizeof(double) - 1) / sizeof(double);
  for (int r = threadIdx.x; r < rows; r += THREADS) { /* the row ends behind its entries, and behind the rows before it */
    int step = r + (int)((int64_t)row_ptr[from.y + r + 1] - from.x);
    atomicOr(&word[step / 32], 1u << step % 32);
  }
  bool has_head = rows > 0 && (int64_t)row_ptr[from.y] < from.x;
  wr_wait_for_earlier();
  multiply_entries(a.rows, from.x, entries, products);
  __syncthreads();
  int steps = rows + entries;
  merge_ends ends = find_ends(word);
  merge_walk w = steps == STEPS ? walk<false>(ends, steps, products, sums) : walk<true>(ends, steps, products, sums);
  unsigned ended = __ballot_sync((unsigned)WR_FULL_MASK, w.ended > 0);
  double open = wr_scan_open(w.open, ended), before = __shfl_up_sync((unsigned)WR_FULL_MASK, open, 1);
  if (lane == WR_WARP - 1) opens[warp] = open, firsts[warp] = ended ? 0 : -1;
  __syncthreads();
  if (w.ended > 0) {
    double sum = lane > 0 ? before : 0;
    if (!(ended & ((1u << lane) - 1))) sum = wr_open_before(opens, 1, firsts, warp) + sum;
    sum += sums[w.first];
    if (has_head && w.first == 0)
      a.parts.head[b] = sum;
    else
      sums[w.first] = sum;
  }
  if (threadIdx.x == 0) {
    a.parts.tail[b] = wr_open_before(opens, 1, firsts, WARPS);
    a.parts.row[b] = has_head ? from.y : -1;
  }
  __syncthreads();
  wr_finish_scalars scalars = wr_finish_begin(finish);
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  for (int r = (int)has_head + (int)threadIdx.x; r < rows; r += THREADS)
    wr_finish_row(finish, scalars, from.y + r, wr_csr_result(a.rows, from.y + r, sums[r]), a.rows.y, reduced);
  wr_sums_leave(finish.sums, reduced);
}

/* Completes the rows that several blocks share, a thread for each: that of the block in which the row ends. */
template <typename T, typename P, bool PATTERN>
__global__ void __launch_bounds__(THREADS)
    merge_csr_last(WR_KERNEL_PARAMETER merge_args<T, P, PATTERN> a, WR_KERNEL_PARAMETER wr_finish<T> finish) {
  wr_begin_kernel();
  wr_finish_scalars scalars = wr_finish_begin(finish);
  double reduced[WR_MAX_REDUCTIONS] = {0, 0, 0};
  int lane = threadIdx.x % WR_WARP;
  int64_t stride = (int64_t)gridDim.x * THREADS;
  for (int64_t first = (int64_t)blockIdx.x * THREADS + threadIdx.x - lane; first < a.parts.blocks; first += stride) {
    int64_t b = first + lane, row = b < a.parts.blocks ? a.parts.row[b] : -1;
    int64_t from = row < 0 ? b : ((int64_t)a.rows.row_ptr[row] + row) / STEPS; /* the block of its first step */
    double sum = wr_parts_sum(a.parts.tail, 1, from, b);
    if (row < 0) continue;
    wr_finish_row(finish, scalars, row, wr_csr_result(a.rows, row, sum + a.parts.head[b]), a.rows.y, reduced);
  }
  wr_sums_finish_by_warps<WR_AFTER_PRODUCT, THREADS>(finish.sums, reduced);
}

static unsigned last_grid(const wr_env *env, int64_t blocks) {
  return wr_cuda_grid(env, (blocks + THREADS - 1) / THREADS, LAST_BLOCKS);
}

template <typename T, typename P, bool PATTERN>
static wr_status launch(wr_env *env, const wr_merge_csr *plan, const wr_csr_rows<T, P, PATTERN> &rows,
                        const wr_epilogue *epilogue) {
  merge_args<T, P, PATTERN> a = {rows, *plan};
  wr_finish<T> finish = wr_finish_make<T>(env, epilogue);
  PASS((wr_csr_with_mask<T, P, PATTERN>(wr_finish_mask_of(finish), [&](auto known) {
    return WR_LAUNCH_EARLY(env, (merge_csr<T, P, PATTERN, known.value>), (unsigned)plan->blocks, THREADS,
                           (STEPS + 1) * sizeof(double), a, finish);
  })));
  finish.sums.before = plan->blocks;
  return WR_LAUNCH_EARLY(env, (merge_csr_last<T, P, PATTERN>), last_grid(env, plan->blocks), THREADS, 0, a, finish);
}

extern "C" int64_t wr_merge_csr_blocks(int64_t nrows, int64_t nnz) {
  int64_t blocks = (nrows + nnz + STEPS - 1) / STEPS;
  return blocks > 0 ? blocks : 1;
}

extern "C" int64_t wr_merge_csr_bytes(int64_t nrows, int64_t nnz) {
  int64_t blocks = wr_merge_csr_blocks(nrows, nnz);
  return wr_device_bytes(blocks, sizeof(int64_t)) + 2 * wr_device_bytes(blocks, sizeof(double));
}

extern "C" wr_status wr_merge_csr_open(wr_env *env, int64_t nrows, int64_t nnz, wr_merge_csr *plan) {
  wr_workspace workspace;
  int64_t blocks = wr_merge_csr_blocks(nrows, nnz);
  plan->nnz = nnz, plan->blocks = blocks;
  PASS(wr_cuda_enter(env));
  PASS(wr_device_alloc(env, &plan->row, blocks, sizeof *plan->row, "rows that thread blocks share"));
  PASS(wr_device_alloc(env, &plan->head, blocks, sizeof *plan->head, "parts of rows"));
  PASS(wr_device_alloc(env, &plan->tail, blocks, sizeof *plan->tail, "parts of rows"));
  return wr_workspace_reserve(env, blocks + last_grid(env, blocks), &workspace);
}

extern "C" void wr_merge_csr_close(wr_env *env, wr_merge_csr *plan) {
  wr_device_free(env, plan->row), wr_device_free(env, plan->head), wr_device_free(env, plan->tail);
}

extern "C" wr_status wr_merge_csr_launch(wr_env *env, const wr_merge_csr *plan, const wr_apply *request) {
  return wr_csr_dispatch(env, &plan->view, request,
                         [=](const auto &rows) { return launch(env, plan, rows, request->epilogue); });
}
