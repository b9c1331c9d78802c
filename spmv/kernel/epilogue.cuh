/* The epilogue (apply.h, wr_epilogue) as device code, for every kernel that completes rows.
 *
 *   wr_finish_scalars scalars = wr_finish_begin(finish);
 *   double sum[WR_MAX_REDUCTIONS] = {0, 0, 0};
 *   for every row i that this thread completes:
 *     wr_finish_row(finish, scalars, i, alpha * (A x)_i + beta * y_i, y, sum);
 *     clear y_next[i] only after this, since y_next may be a z or relax_from
 *   wr_sums_finish(finish.sums, sum);      every thread of every block, once, at the end
 */
#ifndef WR_EPILOGUE_CUH
#define WR_EPILOGUE_CUH

#include <type_traits>

#include "spmv/device/apply.h"
#include "spmv/kernel/async_copy.cuh"
#include "spmv/kernel/outbox.cuh"
#include "spmv/kernel/sums.cuh"

/* 1 / number, rounded correctly, without the branches of a division: an approximation, then Newton steps with fused
 * multiply-adds, the last of which rounds correctly unless all bits of the divisor's mantissa are ones (Markstein 1990); a
 * float has 24 of these bits and a double 53. number: below 2^16 in f32; for 0 the result is undefined. */
static __device__ inline float wr_invert(uint32_t number, float) {
  float d = (float)number;
#if defined(WR_SIMT) || !defined(__CUDA_ARCH__)
  return 1 / d;
#else
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(d));
  return fmaf(r, fmaf(-d, r, 1.0f), r);
#endif
}

/* d: neither 0 nor infinite nor subnormal. */
static __device__ inline double wr_inverse(double d) {
#if defined(WR_SIMT) || !defined(__CUDA_ARCH__)
  return 1 / d;
#else
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(d)); /* to 20 bits; then to 40, then to nearly all */
  for (int step = 0; step < 3; step++) r = fma(r, fma(-d, r, 1.0), r);
  return r;
#endif
}

static __device__ inline double wr_invert(uint32_t number, double) { return wr_inverse((double)number); }

/* Integer i of a compact vector (wr_vec), which has `bytes` bytes for each. */
static __device__ inline uint32_t wr_divisor(const void *divisors, int bytes, int64_t i) {
  return bytes == 1   ? ((const uint8_t *)divisors)[i]
         : bytes == 2 ? ((const uint16_t *)divisors)[i]
                      : ((const uint32_t *)divisors)[i];
}

/* The element that an integer of a compact vector stands for: its reciprocal; 0 for 0. In f32, integers from 2^16 on are
 * inverted in f64 and then rounded, as elements of other vectors are. */
template <typename T>
__device__ inline T wr_reciprocal_of(uint32_t number, int bytes) {
  if (number == 0) return 0;
  return sizeof(T) == 4 && bytes == 4 ? (T)wr_invert(number, double()) : wr_invert(number, T());
}

template <typename T>
__device__ inline T wr_reciprocal(const void *divisors, int bytes, int64_t i) {
  return wr_reciprocal_of<T>(wr_divisor(divisors, bytes, i), bytes);
}

/* The parts that an epilogue has. A kernel may be compiled for one mask: when the parts are tested at run time, an epilogue
 * of two sums takes as many instructions as the multiply of a short row. */
enum wr_finish_mask {
  WR_HOLDS_NOTHING = 0,
  WR_HOLDS_SHIFT = 1,               /* without a direction: the shift is the same for all rows           */
  WR_HOLDS_SCALE = 2,               /* compact, and y is scaled by it                                    */
  WR_HOLDS_DOT_AND_NORM = 4,        /* two sums: WR_DOT with a vector, then WR_NRM2SQ                    */
  WR_HOLDS_CHANGE_AND_UNSCALED = 8, /* two sums: WR_L1DIFF_UNSCALED from a vector, then WR_SUM_UNSCALED  */
  WR_HOLDS_RELAXATION = 16,
  WR_HOLDS_DIRECTION = 32,          /* that is added to the shift (adds_dir)                             */
  WR_HOLDS_ANY = 64,                /* not known when compiling; lower bits are ignored                  */
  WR_HOLDS_OUTBOX = 128             /* elements of y go to other cards: of lane_csr alone               */
};

/* An epilogue as a kernel parameter. All members NULL or 0: nothing but y is stored. */
template <typename T>
struct wr_finish {
  static constexpr wr_finish_mask HOLDS = WR_HOLDS_ANY;
  const double *shift, *relaxation; /* NULL: none                                         */
  const T *shift_dir;  /* [n], NULL: ones                                                 */
  int adds_dir;        /* 1: shift + shift_dir[i], not the product                        */
  const T *scale;      /* [n], NULL: none, or it is compact                               */
  const void *divisors; /* [n] of divisor_bytes each: the scale if it is compact          */
  int divisor_bytes;
  int scales_y;
  const T *relax_from; /* [n], NULL: none                                                 */
  T *scaled;           /* [n], NULL: none                                                 */
  const T *z[WR_MAX_REDUCTIONS]; /* [n] each, NULL if the kind needs none or uses scale   */
  const wr_outbox *outbox; /* NULL: none. A kernel that sends is compiled for WR_HOLDS_OUTBOX */
  wr_sums sums;
};

/* The same within a kernel that is compiled for a mask. */
template <typename T, wr_finish_mask MASK>
struct wr_finish_known_of : wr_finish<T> {
  static constexpr wr_finish_mask HOLDS = MASK;
};

/* Whether an epilogue has one of PARTS, whose member is `member`: known when compiling, unless the mask is not. */
template <int PARTS, class F>
__device__ inline bool wr_finish_has(const F &, const void *member) {
  return F::HOLDS & WR_HOLDS_ANY ? member != nullptr : (F::HOLDS & PARTS) != 0;
}

/* The masks that kernels are compiled for besides WR_HOLDS_NOTHING and WR_HOLDS_ANY. */
constexpr wr_finish_mask WR_HOLDS_SCALED_STEP =
    (wr_finish_mask)(WR_HOLDS_SHIFT | WR_HOLDS_SCALE | WR_HOLDS_CHANGE_AND_UNSCALED);
constexpr wr_finish_mask WR_HOLDS_RELAXED_STEP = (wr_finish_mask)(WR_HOLDS_SCALED_STEP | WR_HOLDS_RELAXATION);
/* Of corrections in f32, in kernels of that type alone. */
constexpr wr_finish_mask WR_HOLDS_DIRECTED_STEP = (wr_finish_mask)(WR_HOLDS_SCALED_STEP | WR_HOLDS_DIRECTION);
constexpr wr_finish_mask WR_HOLDS_DIRECTED_RELAXED_STEP = (wr_finish_mask)(WR_HOLDS_RELAXED_STEP | WR_HOLDS_DIRECTION);

/* One of those masks. */
template <typename T>
inline wr_finish_mask wr_finish_mask_of(const wr_finish<T> &f) {
  const wr_sums &s = f.sums;
  bool has_two = s.count == 2 && f.z[0] && !f.z[1], has_scale = f.scale || f.divisors;
  bool has_more = f.shift || has_scale || f.scaled || f.relax_from;
  bool dot = has_two && s.kind[0] == WR_DOT && s.kind[1] == WR_NRM2SQ;
  bool change = has_two && s.kind[0] == WR_L1DIFF_UNSCALED && s.kind[1] == WR_SUM_UNSCALED;
  if (!s.count && !f.shift && !f.scaled && !f.scales_y && !f.relax_from) return WR_HOLDS_NOTHING;
  if (dot && !has_more) return WR_HOLDS_DOT_AND_NORM;
  bool is_step = change && f.shift && f.divisors && f.scales_y;
  if (is_step && !f.shift_dir) return f.relax_from ? WR_HOLDS_RELAXED_STEP : WR_HOLDS_SCALED_STEP;
  if (is_step && f.adds_dir && sizeof(T) == 4)
    return f.relax_from ? WR_HOLDS_DIRECTED_RELAXED_STEP : WR_HOLDS_DIRECTED_STEP;
  return WR_HOLDS_ANY;
}

/* Calls use(known) and returns its result. known.value: the mask of an epilogue if kernels are compiled for it, else
 * WR_HOLDS_ANY. Those of linear systems are compiled for values, those of PageRank for patterns. KNOWN false: for none. */
template <typename T, bool PATTERN, bool KNOWN = true, class Use>
inline wr_status wr_finish_with_mask(wr_finish_mask mask, Use use) {
  if (mask == WR_HOLDS_NOTHING) return use(std::integral_constant<wr_finish_mask, WR_HOLDS_NOTHING>());
  if constexpr (KNOWN && !PATTERN) {
    if (mask == WR_HOLDS_DOT_AND_NORM) return use(std::integral_constant<wr_finish_mask, WR_HOLDS_DOT_AND_NORM>());
  }
  if constexpr (KNOWN && PATTERN) {
    if (mask == WR_HOLDS_SCALED_STEP) return use(std::integral_constant<wr_finish_mask, WR_HOLDS_SCALED_STEP>());
    if (mask == WR_HOLDS_RELAXED_STEP) return use(std::integral_constant<wr_finish_mask, WR_HOLDS_RELAXED_STEP>());
  }
  if constexpr (KNOWN && PATTERN && sizeof(T) == 4) { /* corrections in f32 */
    if (mask == WR_HOLDS_DIRECTED_STEP) return use(std::integral_constant<wr_finish_mask, WR_HOLDS_DIRECTED_STEP>());
    if (mask == WR_HOLDS_DIRECTED_RELAXED_STEP)
      return use(std::integral_constant<wr_finish_mask, WR_HOLDS_DIRECTED_RELAXED_STEP>());
  }
  return use(std::integral_constant<wr_finish_mask, WR_HOLDS_ANY>());
}

/* f, with the members that MASK determines as constants. */
template <wr_finish_mask MASK, typename T>
__device__ inline wr_finish_known_of<T, MASK> wr_finish_known(const wr_finish<T> &f) {
  wr_finish_known_of<T, MASK> known = {f};
  if (MASK & WR_HOLDS_ANY) return known;
  constexpr bool dot = MASK & WR_HOLDS_DOT_AND_NORM, change = MASK & WR_HOLDS_CHANGE_AND_UNSCALED;
  known.scaled = nullptr, known.scale = nullptr, known.z[1] = known.z[2] = nullptr;
  known.scales_y = (MASK & WR_HOLDS_SCALE) != 0;
  known.adds_dir = (MASK & WR_HOLDS_DIRECTION) != 0;
  known.sums.count = dot || change ? 2 : 0;
  known.sums.kind[0] = dot ? WR_DOT : WR_L1DIFF_UNSCALED, known.sums.kind[1] = dot ? WR_NRM2SQ : WR_SUM_UNSCALED;
  return known;
}

/* The scalars that an epilogue reads, the same for all rows. */
struct wr_finish_scalars {
  double shift, relaxation;
};

template <class F>
__device__ inline wr_finish_scalars wr_finish_begin(const F &f) {
  return {wr_finish_has<WR_HOLDS_SHIFT>(f, f.shift) ? *f.shift : 0,
          wr_finish_has<WR_HOLDS_RELAXATION>(f, f.relaxation) ? *f.relaxation : 1};
}

/* Prefetches to L2 what the epilogue of `rows` rows from `first` on reads, before their sums are known; shared out among the
 * threads of the block. */
template <typename T>
__device__ inline void wr_finish_prefetch(const wr_finish<T> &f, int64_t first, int64_t rows) {
  constexpr int64_t LINE = 128 / sizeof(T);
  for (int64_t k = (int64_t)threadIdx.x * LINE; k < rows; k += (int64_t)blockDim.x * LINE) {
    if (f.shift_dir) wr_prefetch(f.shift_dir + first + k);
    if (f.scale) wr_prefetch(f.scale + first + k);
    if (f.divisors) wr_prefetch((const char *)f.divisors + (first + k) * f.divisor_bytes);
    if (f.relax_from) wr_prefetch(f.relax_from + first + k);
#pragma unroll
    for (int r = 0; r < WR_MAX_REDUCTIONS; r++)
      if (f.z[r]) wr_prefetch(f.z[r] + first + k);
  }
}

/* An element of y before its epilogue, from the row's sum and, unless beta is 0, the old element. */
__device__ inline double wr_finish_sum(double alpha, double beta, double old, double sum) {
  return beta == 0 ? alpha * sum : alpha * sum + beta * old;
}

/* The same for y[i], which is read only if beta needs it. */
template <typename T>
__device__ inline double wr_finish_beta(double alpha, double beta, const T *y, int64_t i, double sum) {
  return wr_finish_sum(alpha, beta, beta == 0 ? 0 : (double)y[i], sum);
}

/* V rows in registers: their sums in f64, and their elements of the vectors that an epilogue reads; 0 for a missing vector. A
 * compact scale is in `divisor`. */
template <typename T, int V>
struct wr_finish_rows {
  double value[V];
  uint32_t divisor[V];
  T shift_dir[V], scale[V], relax_from[V], z[WR_MAX_REDUCTIONS][V];
};

/* The arithmetic of V rows: y and scaled as they will be stored; the rows' terms are added to sum, where later elements than
 * those of an epilogue stay as they are. */
template <class F, typename T, int V, int MOST>
__device__ inline void wr_finish_values(const F &f, const wr_finish_scalars &scalars, const wr_finish_rows<T, V> &row,
                                        T (&y)[V], T (&scaled)[V], double (&sum)[MOST]) {
  const bool has_shift = wr_finish_has<WR_HOLDS_SHIFT>(f, f.shift);
  const bool has_direction = wr_finish_has<WR_HOLDS_DIRECTION>(f, f.shift_dir);
  const bool is_compact = wr_finish_has<WR_HOLDS_SCALE>(f, f.divisors);
  const bool has_relaxation = wr_finish_has<WR_HOLDS_RELAXATION>(f, f.relax_from);
  double before[V], stored[V], z[V];
  bool unscaled[V];
#pragma unroll
  for (int e = 0; e < V; e++) {
    double direction = has_direction ? (double)row.shift_dir[e] : 1;
    double added = f.adds_dir ? scalars.shift + direction : has_direction ? scalars.shift * direction : scalars.shift;
    double value = has_shift ? row.value[e] + added : row.value[e];
    T scale = is_compact ? wr_reciprocal_of<T>(row.divisor[e], f.divisor_bytes) : row.scale[e];
    unscaled[e] = is_compact ? row.divisor[e] == 0 : scale == 0;
    if (f.scales_y && !unscaled[e]) value *= (double)scale;
    before[e] = (double)(T)value;
    if (has_relaxation && scalars.relaxation != 1)
      value = (double)row.relax_from[e] + scalars.relaxation * (value - (double)row.relax_from[e]);
    y[e] = (T)value;
    stored[e] = (double)y[e];
    scaled[e] = scale * y[e]; /* in f32 the correctly rounded product, without conversions */
  }
#pragma unroll
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++)
    if (r < f.sums.count) {
      wr_reduction_kind kind = f.sums.kind[r];
      if (kind == WR_SUM_UNSCALED) {
        for (int e = 0; e < V; e++) sum[r] += unscaled[e] ? stored[e] : 0;
        continue;
      }
      for (int e = 0; e < V; e++) z[e] = (double)row.z[r][e];
      if (kind == WR_L1DIFF_UNSCALED) {
        for (int e = 0; e < V; e++) {
          double change = fabs(before[e] - z[e]);
          if (is_compact)
            sum[r] += change * (double)(unscaled[e] ? 1u : row.divisor[e]);
          else
            sum[r] += unscaled[e] ? change : change * wr_inverse((double)row.scale[e]);
        }
        continue;
      }
      wr_sum_terms(kind, stored, z, sum[r]);
    }
}

template <bool FROM_L2, typename T>
__device__ inline T wr_finish_element(const T *at) {
  return FROM_L2 ? __ldcg(at) : *at;
}

/* row := what an epilogue reads for row i beside its sum. Separate from the stores, so that a thread with several rows can
 * issue all loads before the first store. The size of divisors takes a branch, so they come last where the loads before them
 * are known when compiling; elsewhere they take fewer registers in the middle. FROM_L2: past the first-level
 * cache, where other blocks of the launch may have written the vectors. */
template <bool FROM_L2 = false, class F, typename T>
__device__ inline void wr_finish_load(const F &f, int64_t i, wr_finish_rows<T, 1> &row) {
  constexpr int SUMS = WR_HOLDS_DOT_AND_NORM | WR_HOLDS_CHANGE_AND_UNSCALED;
  const bool is_compact = wr_finish_has<WR_HOLDS_SCALE>(f, f.divisors);
  row.shift_dir[0] =
      wr_finish_has<WR_HOLDS_DIRECTION>(f, f.shift_dir) ? wr_finish_element<FROM_L2>(f.shift_dir + i) : (T)0;
  if (F::HOLDS & WR_HOLDS_ANY) row.divisor[0] = is_compact ? wr_divisor(f.divisors, f.divisor_bytes, i) : 0;
  row.scale[0] = f.scale ? wr_finish_element<FROM_L2>(f.scale + i) : (T)0;
  row.relax_from[0] =
      wr_finish_has<WR_HOLDS_RELAXATION>(f, f.relax_from) ? wr_finish_element<FROM_L2>(f.relax_from + i) : (T)0;
  row.z[0][0] = wr_finish_has<SUMS>(f, f.z[0]) ? wr_finish_element<FROM_L2>(f.z[0] + i) : (T)0;
#pragma unroll
  for (int r = 1; r < WR_MAX_REDUCTIONS; r++) row.z[r][0] = f.z[r] ? wr_finish_element<FROM_L2>(f.z[r] + i) : (T)0;
  if (!(F::HOLDS & WR_HOLDS_ANY)) row.divisor[0] = is_compact ? wr_divisor(f.divisors, f.divisor_bytes, i) : 0;
}

/* Computes and stores all results of row i from `row`. Returns y[i]. */
template <class F, typename T, int MOST>
__device__ inline T wr_finish_store(const F &f, const wr_finish_scalars &scalars, int64_t i,
                                    const wr_finish_rows<T, 1> &row, T *y, double (&sum)[MOST]) {
  T stored[1], scaled[1];
  wr_finish_values(f, scalars, row, stored, scaled, sum);
  y[i] = stored[0];
  if (f.scaled) f.scaled[i] = scaled[0];
  return stored[0];
}

/* Loads, computes and stores all of row i, from its sum in f64. */
template <class F, typename T>
__device__ inline void wr_finish_row(const F &f, const wr_finish_scalars &scalars, int64_t i, double value, T *y,
                                     double (&sum)[WR_MAX_REDUCTIONS]) {
  wr_finish_rows<T, 1> row;
  wr_finish_load(f, i, row);
  row.value[0] = value;
  wr_finish_store(f, scalars, i, row, y, sum);
}

/* The kernel parameter for a checked request; its last kernel must end in wr_sums_finish or wr_sums_end. Increments the write
 * counts of the vectors that will change. e NULL: only y is stored. */
template <typename T>
inline wr_finish<T> wr_finish_make(wr_env *env, const wr_epilogue *e) {
  wr_finish<T> f = {};
  f.sums = wr_sums_make(&((const wr_cuda_state *)env->state)->workspace);
  if (e == NULL) return f;
  if (e->shift.bank) f.shift = (const double *)e->shift.bank->data + e->shift.index;
  if (f.shift && e->shift_dir) f.shift_dir = (const T *)e->shift_dir->data, f.adds_dir = e->adds_dir;
  if (e->scale && e->scale->reciprocal_bytes) f.divisors = e->scale->data, f.divisor_bytes = e->scale->reciprocal_bytes;
  if (e->scale && !e->scale->reciprocal_bytes) f.scale = (const T *)e->scale->data;
  f.scales_y = e->scales_y;
  if (e->relax_from) {
    f.relax_from = (const T *)e->relax_from->data;
    f.relaxation = (const double *)e->relaxation.bank->data + e->relaxation.index;
  }
  if (e->scaled) {
    f.scaled = (T *)e->scaled->data;
    e->scaled->writes++;
  }
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) {
    int at = wr_sums_add(&f.sums, &e->reduce[r]);
    wr_reduction_kind kind = e->reduce[r].kind;
    if (at >= 0 && wr_reduction_reads_z(kind) && kind != WR_SUM_UNSCALED) f.z[at] = (const T *)e->reduce[r].z->data;
  }
  wr_sums_then(&f.sums, env, e->then, WR_AFTER_PRODUCT);
  f.outbox = e->outbox;
  return f;
}

#endif
