/* Builds coded SELL on a device. The distinct pairs, or differences, are collected in a hash set: first those of a sample of
 * rows; the kernel that writes the codes adds what the sample has missed, and then all codes are written once more. */
#include "spmv/backends/sell_coded/sell_coded_build.h"

#include <algorithm>
#include <float.h>
#include <math.h>
#include <string.h>

#include "config/memory.h"
#include "spmv/device/array_list.h"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/device/sort.h"
#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/pair_table.cuh"
#include "spmv/kernel/warp.cuh"

constexpr int THREADS = 256, BLOCKS = 8; /* of a multiprocessor */
constexpr int64_t SAMPLED_ROWS = 32768;
static_assert((int)WR_CODED_MOST == MOST_PAIRS, "a table has all pairs that can have codes");

/* ---- Kernels ---- */

template <typename T, typename P>
struct coded_rows {
  int64_t nrows;
  const P *row_ptr;
  const int32_t *col;
  const T *val; /* NULL: a pattern */
  int in_pairs;
  __device__ int32_t difference(int64_t i, int64_t k) const { return (int32_t)(col[k] - i); }
  __device__ value_pair pair(int64_t i, int64_t k) const {
    uint64_t bits = 0;
    if (in_pairs) memcpy(&bits, val + k, sizeof(T));
    return {bits, difference(i, k)};
  }
};

static __device__ inline int64_t build_thread() { return (int64_t)blockIdx.x * THREADS + threadIdx.x; }
static __device__ inline int64_t build_threads() { return (int64_t)gridDim.x * THREADS; }

/* Adds the pairs of every `each`-th row, unless there are too many. */
template <typename T, typename P>
__global__ void __launch_bounds__(THREADS) coded_sample(const coded_rows<T, P> a, int64_t each, pair_set *set) {
  for (int64_t i = build_thread() * each; i < a.nrows; i += build_threads() * each)
    for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
      if (pair_set_is_full(set)) return;
      pair_set_add(set, a.pair(i, k));
    }
}

/* lines[s], words[s] := those of slice s. A warp a slice. */
template <typename P>
__global__ void __launch_bounds__(THREADS)
    coded_lengths(const P *row_ptr, int64_t nrows, int64_t slices, int in_word, int32_t *lines, int32_t *words) {
  int lane = threadIdx.x % WR_WARP;
  for (int64_t s = build_thread() / WR_WARP; s < slices; s += build_threads() / WR_WARP) {
    int64_t i = s * WR_CODED_ROWS + lane;
    int length = i < nrows ? (int)(row_ptr[i + 1] - row_ptr[i]) : 0;
    for (int distance = WR_WARP / 2; distance > 0; distance /= 2)
      length = max(length, __shfl_xor_sync((unsigned)WR_FULL_MASK, length, distance));
    if (lane == 0) lines[s] = length, words[s] = (length + in_word - 1) / in_word;
  }
}

/* Writes the codes, a thread a row, those past the last row of its slice included. Pairs that are not in `codes` go to `set`,
 * and set bit `pass` of its `missed`. */
template <typename T, typename P>
__global__ void __launch_bounds__(THREADS)
    coded_encode(const coded_rows<T, P> a, const wr_sell_coded c, const pair_codes *given, int pass, pair_set *set) {
  WR_SHARED(pair_codes, codes, 1);
  for (int n = (int)threadIdx.x; n < (int)(sizeof(pair_codes) / 4); n += THREADS)
    ((uint32_t *)codes)[n] = ((const uint32_t *)given)[n];
  __syncthreads();
  for (int64_t i = build_thread(); i < c.slices * WR_CODED_ROWS; i += build_threads()) {
    int64_t s = i / WR_CODED_ROWS, k = i < a.nrows ? a.row_ptr[i] : 0, end = i < a.nrows ? a.row_ptr[i + 1] : 0;
    for (int64_t w = c.word[s]; w < c.word[s + 1]; w++) {
      uint32_t word = ~0u;
      for (int place = 0; place < 4 && k < end; place++, k++) {
        value_pair p = a.pair(i, k);
        int code = pair_code_of(codes, p);
        if (code == NO_CODE) {
          pair_set_add(set, p);
          if (!(*(volatile int *)&set->missed >> pass & 1)) atomicOr(&set->missed, 1 << pass);
        } else
          word ^= (uint32_t)(code ^ WR_CODED_NONE) << 8 * place;
      }
      c.code[w * WR_CODED_ROWS + i % WR_CODED_ROWS] = word;
    }
  }
}

/* Writes the values, a thread a row; padding becomes 0. */
template <typename T, typename P>
__global__ void __launch_bounds__(THREADS) coded_values(const coded_rows<T, P> a, const wr_sell_coded c) {
  const int32_t *lines = wr_coded_lines(&c);
  for (int64_t i = build_thread(); i < c.slices * WR_CODED_ROWS; i += build_threads()) {
    int64_t s = i / WR_CODED_ROWS, k = i < a.nrows ? a.row_ptr[i] : 0, end = i < a.nrows ? a.row_ptr[i + 1] : 0;
    for (int64_t line = lines[s]; line < lines[s + 1]; line++, k++)
      ((T *)c.val)[line * WR_CODED_ROWS + i % WR_CODED_ROWS] = k < end ? a.val[k] : (T)0;
  }
}

/* Writes the columns of a plain format, a thread a row; all bits of padding are ones. */
template <typename T, typename P>
__global__ void __launch_bounds__(THREADS) plain_columns(const coded_rows<T, P> a, const wr_sell_coded c) {
  for (int64_t i = build_thread(); i < c.slices * WR_CODED_ROWS; i += build_threads()) {
    int64_t s = i / WR_CODED_ROWS, k = i < a.nrows ? a.row_ptr[i] : 0, end = i < a.nrows ? a.row_ptr[i + 1] : 0;
    for (int64_t word = c.word[s]; word < c.word[s + 1]; word++, k++)
      c.code[word * WR_CODED_ROWS + i % WR_CODED_ROWS] = k < end ? (uint32_t)a.col[k] : ~0u;
  }
}

/* ---- Host ---- */

static wr_status too_many(void) {
  return wr_fail(
      WR_EUNAVAILABLE,
      "more than %d distances of a column from its row; this format is for regular grids. sell takes any rows of like "
      "length, merbit any matrix",
      (int)WR_CODED_MOST);
}

static wr_status check_padding(double lines, double nnz) {
  double stored = lines * WR_CODED_ROWS;
  if (stored <= WR_CODED_PADDING * nnz + 1024 * WR_CODED_ROWS) return WR_OK;
  return wr_fail(WR_EUNAVAILABLE,
                 "rows of unlike length: padded to the longest of 32 they would be %.3g times the entries. "
                 "merbit takes any matrix",
                 stored / nnz);
}

/* Distinct pairs of a sample, as many as a table may have and one more. */
struct pair_list {
  value_pair at[WR_CODED_MOST + 1];
  int count, next; /* next: behind the last one added or found: a row mostly has the pairs of the row before, in order */
  int16_t seen[1024]; /* by hash, where a pair was found last */
  bool fits() const { return count <= WR_CODED_MOST; }
  void add(const value_pair &p) {
    if (!fits() || (next < count && at[next] == p && ++next)) return;
    int16_t &place = seen[pair_hash(p) % 1024];
    if (!(place < count && at[place] == p)) place = (int16_t)(std::find(at, at + count, p) - at);
    if (place == count) at[count++] = p;
    next = place + 1;
  }
};

static uint64_t bits_of(double value, wr_type type) {
  uint64_t bits = 0;
  float single = fabs(value) <= FLT_MAX ? (float)value : INFINITY;
  memcpy(&bits, type == WR_F32 ? (const void *)&single : (const void *)&value, (size_t)wr_type_bytes(type));
  return bits;
}

extern "C" wr_status wr_sell_coded_estimate(const wr_csr *A, wr_type type, wr_coded_table table, wr_sell_coded *c) {
  constexpr int64_t SAMPLED_SLICES = 64, SAMPLED_ENTRIES = 1 << 15;
  const bool is_plain = table == WR_TABLE_OF_NOTHING;
  int64_t slices = (A->nrows + WR_CODED_ROWS - 1) / WR_CODED_ROWS, count = std::min(slices, SAMPLED_SLICES);
  int64_t lines = 0, words = 0;
  /* Of so many slices the entries of one are read, as an entry takes 10 ns. All its rows are, since those of a grid with
   * several unknowns a point alternate. */
  int64_t each = 1 + A->nnz / std::max<int64_t>(1, slices) * count / SAMPLED_ENTRIES;
  pair_list pairs = {}, differences = {};
  for (int64_t n = 0; n < count; n++) {
    int64_t first = slices * n / count * WR_CODED_ROWS, longest = 0;
    for (int64_t i = first; i < std::min(first + WR_CODED_ROWS, A->nrows); i++) {
      longest = std::max(longest, A->row_ptr[i + 1] - A->row_ptr[i]);
      if (is_plain || n % each != 0) continue;
      for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1] && differences.fits(); k++) {
        int32_t difference = (int32_t)(A->col[k] - i);
        differences.add({0, difference});
        if (A->val) pairs.add({bits_of(A->val[k], type), difference});
      }
    }
    lines += longest, words += is_plain ? longest : (longest + 3) / 4;
  }
  *c = {};
  if (!differences.fits()) return too_many();
  double scale = count ? (double)slices / (double)count : 0;
  c->nrows = A->nrows, c->ncols = A->ncols, c->type = type, c->slices = slices;
  c->kind = is_plain                                     ? A->val ? WR_PLAIN_VALUES : WR_PLAIN_PATTERN
            : !A->val                                    ? WR_CODED_PATTERN
            : table == WR_TABLE_OF_PAIRS && pairs.fits() ? WR_CODED_PAIRS
                                                         : WR_CODED_VALUES;
  c->count = c->kind == WR_CODED_PAIRS ? pairs.count : differences.count;
  c->lines = (int64_t)(scale * (double)lines), c->words = (int64_t)(scale * (double)words);
  return check_padding((double)c->lines, (double)A->nnz);
}

static unsigned grid_for(const wr_env *env, int64_t threads) {
  return wr_cuda_grid(env, (threads + THREADS - 1) / THREADS, BLOCKS);
}

/* What a build needs besides the format. */
struct scratch {
  int32_t *lines, *words; /* [slices] */
  pair_set *set;
  pair_codes *codes;
};

static wr_status open_scratch(wr_env *env, scratch *s) {
  PASS(wr_device_alloc(env, &s->set, 1, sizeof *s->set, "pairs"));
  return wr_device_alloc(env, &s->codes, 1, sizeof *s->codes, "pairs");
}

static void free_scratch(wr_env *env, scratch *s) {
  void *const arrays[] = {s->lines, s->words, s->set, s->codes};
  for (void *array : arrays) wr_device_free(env, array);
}

/* The table from the set, and its arrays on the device. */
static wr_status make_table(wr_env *env, const pair_set &set, scratch *s, wr_sell_coded *c) {
  pair_codes codes;
  int32_t differences[256] = {};
  double values[256] = {};
  c->count = pair_set_codes(set, &codes);
  for (int n = 0; n < c->count; n++)
    differences[n] = codes.difference[n], values[n] = value_of_bits(codes.bits[n], c->type);
  PASS(wr_device_upload(env, s->codes, &codes, sizeof codes / 4, WR_AS_4_BYTES));
  if (c->kind == WR_CODED_PAIRS) PASS(wr_device_upload(env, c->value, values, 256, WR_AS_8_BYTES));
  return wr_device_upload(env, c->difference, differences, 256, WR_AS_4_BYTES);
}

template <typename P>
static wr_status make_slices(wr_env *env, const P *row_ptr, int64_t nnz, scratch *s, wr_sell_coded *c) {
  const bool is_plain = wr_coded_is_plain(c->kind); /* words are lines */
  PASS(wr_device_alloc(env, &s->words, c->slices, 4, "words of slices"));
  PASS(wr_device_alloc(env, &c->word, c->slices + 1, 4, "words of slices"));
  if (!is_plain) {
    PASS(wr_device_alloc(env, &s->lines, c->slices, 4, "lines of slices"));
    PASS(wr_device_alloc(env, &c->line, c->slices + 1, 4, "lines of slices"));
  }
  if (c->slices)
    PASS(WR_LAUNCH((coded_lengths<P>), grid_for(env, c->slices * WR_WARP), THREADS, 0, env->stream, row_ptr, c->nrows,
                   c->slices, wr_coded_in_word(c->kind), is_plain ? s->words : s->lines, s->words));
  PASS(wr_device_scan(env, s->words, 4, c->slices, c->word, 4, &c->words));
  c->lines = c->words;
  if (!is_plain) PASS(wr_device_scan(env, s->lines, 4, c->slices, c->line, 4, &c->lines));
  return check_padding((double)c->lines, (double)nnz);
}

/* *set, on the host and on the device, := the pairs of every `each`-th row. */
template <typename T, typename P>
static wr_status collect(wr_env *env, const coded_rows<T, P> &a, int64_t each, scratch *s, pair_set *set) {
  memset(set, 0, sizeof *set);
  PASS(wr_device_upload(env, s->set, set, sizeof *set / 4, WR_AS_4_BYTES));
  if (a.nrows == 0) return WR_OK;
  PASS(WR_LAUNCH((coded_sample<T, P>), grid_for(env, (a.nrows + each - 1) / each), THREADS, 0, env->stream, a, each,
                 s->set));
  return wr_device_download(env, set, s->set, sizeof *set / 4, WR_AS_4_BYTES);
}

/* Writes the codes with the pairs of a sample, and once more if the sample has missed some. *fits := 0 if there are too many.
 * */
template <typename T, typename P>
static wr_status make_codes(wr_env *env, const coded_rows<T, P> &a, scratch *s, wr_sell_coded *c, int *fits) {
  constexpr int PASSES = 2;
  wr_status status;
  pair_set *set = NULL;
  unsigned grid = grid_for(env, c->slices * WR_CODED_ROWS);
  *fits = c->slices == 0;
  TRY(wr_alloc(&set, 1, sizeof *set, "pairs"));
  TRY(collect(env, a, std::max((int64_t)1, c->nrows / SAMPLED_ROWS), s, set));
  for (int pass = 0; pass < PASSES && set->count <= WR_CODED_MOST; pass++) {
    TRY(make_table(env, *set, s, c));
    if (c->slices == 0) break;
    TRY(WR_LAUNCH((coded_encode<T, P>), grid, THREADS, 0, env->stream, a, *c, (const pair_codes *)s->codes, pass,
                  s->set));
    TRY(wr_device_download(env, set, s->set, sizeof *set / 4, WR_AS_4_BYTES));
    *fits = !(set->missed >> pass & 1);
    if (*fits) break;
  }
done:
  wr_free(set);
  return status;
}

template <typename T, typename P>
static coded_rows<T, P> rows_of(const wr_csr_view *view, const wr_sell_coded *c) {
  return {c->nrows, (const P *)view->row_ptr, view->col, (const T *)view->val, c->kind == WR_CODED_PAIRS};
}

template <typename T, typename P>
static wr_status fill_values(wr_env *env, const wr_csr_view *view, const wr_sell_coded *c) {
  if (!wr_coded_has_values(c->kind) || c->slices == 0) return WR_OK;
  return WR_LAUNCH((coded_values<T, P>), grid_for(env, c->slices * WR_CODED_ROWS), THREADS, 0, env->stream,
                   rows_of<T, P>(view, c), *c);
}

static wr_status alloc_values(wr_env *env, wr_sell_coded *c) {
  if (!wr_coded_has_values(c->kind)) return WR_OK;
  return wr_device_alloc(env, &c->val, c->lines * WR_CODED_ROWS, (size_t)wr_type_bytes(c->type), "values");
}

template <typename T, typename P>
static wr_status build_plain(wr_env *env, const wr_csr_view *view, wr_sell_coded *c) {
  PASS(wr_device_alloc(env, &c->code, c->words * WR_CODED_ROWS, 4, "columns"));
  PASS(alloc_values(env, c));
  if (c->slices)
    PASS(WR_LAUNCH((plain_columns<T, P>), grid_for(env, c->slices * WR_CODED_ROWS), THREADS, 0, env->stream,
                   rows_of<T, P>(view, c), *c));
  return fill_values<T, P>(env, view, c);
}

template <typename T, typename P>
static wr_status build(wr_env *env, int64_t nnz, const wr_csr_view *view, wr_coded_table table, scratch *s,
                       wr_sell_coded *c) {
  int fits = 0;
  if (table == WR_TABLE_OF_NOTHING) c->kind = view->val ? WR_PLAIN_VALUES : WR_PLAIN_PATTERN;
  PASS(make_slices(env, (const P *)view->row_ptr, nnz, s, c));
  if (wr_coded_is_plain(c->kind)) return build_plain<T, P>(env, view, c);
  PASS(wr_device_alloc(env, &c->code, c->words * WR_CODED_ROWS, 4, "codes"));
  PASS(wr_device_alloc(env, &c->difference, 256, 4, "a table of differences"));
  PASS(open_scratch(env, s));
  if (view->val && table == WR_TABLE_OF_PAIRS) {
    c->kind = WR_CODED_PAIRS;
    PASS(wr_device_alloc(env, &c->value, 256, 8, "a table of values"));
    PASS(make_codes(env, rows_of<T, P>(view, c), s, c, &fits));
    if (fits) return WR_OK;
    wr_device_free(env, c->value);
    c->value = NULL;
  }
  c->kind = view->val ? WR_CODED_VALUES : WR_CODED_PATTERN;
  PASS(make_codes(env, rows_of<T, P>(view, c), s, c, &fits));
  if (!fits) return too_many();
  PASS(alloc_values(env, c));
  return fill_values<T, P>(env, view, c);
}

extern "C" wr_status wr_sell_coded_device_build(wr_env *env, int64_t nrows, int64_t ncols, int64_t nnz,
                                                const wr_csr_view *view, wr_coded_table table, wr_sell_coded *c) {
  wr_status status;
  scratch s = {};
  *c = {};
  c->nrows = nrows, c->ncols = ncols, c->type = env->type, c->slices = (nrows + WR_CODED_ROWS - 1) / WR_CODED_ROWS;
  TRY(wr_cuda_enter(env));
  if (env->type == WR_F32)
    TRY((view->wide ? build<float, int64_t> : build<float, int32_t>)(env, nnz, view, table, &s, c));
  else
    TRY((view->wide ? build<double, int64_t> : build<double, int32_t>)(env, nnz, view, table, &s, c));
  if (c->kind != WR_CODED_VALUES) {
    wr_device_free(env, c->line); /* only their number was needed */
    c->line = NULL;
  }
done:
  free_scratch(env, &s);
  if (status != WR_OK) wr_sell_coded_device_free(env, c);
  return status;
}

/* New values in the arrays that are there, as far as a new plan would have the same kind. */
template <typename T, typename P>
static wr_status update(wr_env *env, const wr_csr_view *view, wr_coded_table table, scratch *s, wr_sell_coded *c) {
  wr_status status;
  int fits = 0;
  wr_sell_coded in_pairs = *c;
  pair_set *set = NULL;
  in_pairs.kind = WR_CODED_PAIRS;
  coded_rows<T, P> a = rows_of<T, P>(view, &in_pairs);
  if (table != WR_TABLE_OF_PAIRS) return fill_values<T, P>(env, view, c);
  if (c->kind == WR_CODED_PATTERN) return WR_OK;
  TRY(open_scratch(env, s));
  if (c->kind == WR_CODED_PAIRS) {
    TRY(make_codes(env, a, s, c, &fits));
    if (!fits) status = wr_fail(WR_EUNAVAILABLE, "the new values are too many different ones");
    goto done;
  }
  TRY(wr_alloc(&set, 1, sizeof *set, "pairs"));
  TRY(collect(env, a, 1, s, set));
  if (set->count <= WR_CODED_MOST)
    status = wr_fail(WR_EUNAVAILABLE, "the new values fit the table");
  else
    TRY((fill_values<T, P>(env, view, c)));
done:
  wr_free(set);
  return status;
}

extern "C" wr_status wr_sell_coded_device_update(wr_env *env, const wr_csr_view *view, wr_coded_table table,
                                                 wr_sell_coded *c) {
  wr_status status;
  scratch s = {};
  TRY(wr_cuda_enter(env));
  if (env->type == WR_F32)
    TRY((view->wide ? update<float, int64_t> : update<float, int32_t>)(env, view, table, &s, c));
  else
    TRY((view->wide ? update<double, int64_t> : update<double, int32_t>)(env, view, table, &s, c));
done:
  free_scratch(env, &s);
  return status;
}

/* ---- Arrays ---- */

static std::array<wr_listed_array, 6> list_arrays(wr_sell_coded *c) {
  return {{
      {(void **)&c->line, c->slices + 1, 4},
      {(void **)&c->word, c->slices + 1, 4},
      {(void **)&c->code, c->words * WR_CODED_ROWS, 4},
      {&c->val, c->lines * WR_CODED_ROWS, (size_t)wr_type_bytes(c->type)},
      {(void **)&c->difference, wr_coded_is_plain(c->kind) ? 0 : 256, 4},
      {(void **)&c->value, 256, 8},
  }};
}

extern "C" void wr_sell_coded_device_free(wr_env *env, wr_sell_coded *c) { wr_format_free_device(env, c, list_arrays); }

extern "C" void wr_sell_coded_free(wr_sell_coded *c) { wr_format_free_host(c, list_arrays); }

extern "C" int64_t wr_sell_coded_device_bytes(const wr_sell_coded *c) {
  return wr_format_device_bytes(*c, list_arrays);
}

extern "C" wr_status wr_sell_coded_download(wr_env *env, const wr_sell_coded *c, wr_sell_coded *to) {
  return wr_format_download(env, *c, to, list_arrays);
}
