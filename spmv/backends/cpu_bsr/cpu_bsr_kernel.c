#include "spmv/backends/cpu_bsr/cpu_bsr_kernel.h"

#include <string.h>

#include "config/wide.h"

/* Block sizes with compiled kernels: those among which wr_bsr_choose chooses. */
#define SIZES                                                                                                       \
  SIZE(1, 1) SIZE(2, 2) SIZE(3, 3) SIZE(4, 4) SIZE(5, 5) SIZE(6, 6) SIZE(8, 8) SIZE(16, 16) SIZE(16, 1) SIZE(1, 16)

#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 64")
#endif

/* Vectors of gcc and clang: one register where the processor has one as wide. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are passed only to inlined functions of this file */
#elif defined(__clang__)
#pragma clang diagnostic ignored "-Wpsabi"
#endif
typedef double four __attribute__((vector_size(4 * sizeof(double))));
typedef double two __attribute__((vector_size(2 * sizeof(double))));

enum { LINE = 64, AHEAD = 64 * LINE }; /* bytes */

/* Partial sums of a block row, for each row: those of quads of columns, of the pair after these, and of the last column if c
 * is odd. For blocks of one column, fours[q] has rows 4 q to 4 q + 3. */
typedef struct sums {
  four fours[WR_BSR_MAX_SIDE];
  two twos[WR_BSR_MAX_SIDE];
  double ones[WR_BSR_MAX_SIDE];
} sums;

/* Whether a row of c columns is read with one element too many, and whether it has a pair or a single element after its
 * quads. */
#define READS_ON(c) ((c) == 3)
#define HAS_PAIR(c) ((c) % 4 >= 2 && !READS_ON(c))
#define HAS_ONE(c) ((c) % 2 == 1 && !READS_ON(c))

/* Only the last block of a block row can reach past the end of x, as columns ascend. */
static inline int reaches_beyond(const wr_bsr *b, cpu_bsr_x x, int64_t k) {
  return x.end != NULL && b->col[k] == b->bcols - 1;
}

/* Whether reads for this block may pass the end of val or x. */
static inline int is_last_block(const wr_bsr *b, cpu_bsr_x x, int64_t k, int c) {
  return READS_ON(c) ? k == b->blocks - 1 || b->col[k] == b->bcols - 1 : reaches_beyond(b, x, k);
}

INLINE void join(sums *s, const sums *other, int r) {
  UNROLLED
  for (int i = 0; i < r; i++)
    s->fours[i] += other->fours[i], s->twos[i] += other->twos[i], s->ones[i] += other->ones[i];
}

INLINE void add_up(const sums *s, int r, int c, double *sum) {
  UNROLLED
  for (int i = 0; i < r; i++) {
    const four *quad = &s->fours[c == 1 ? i / 4 : i];
    double total = 0;
    if (c == 1)
      total = (*quad)[i % 4];
    else if (r == 2 && c == 2)
      total = s->fours[0][2 * i] + s->fours[0][2 * i + 1];
    else if (READS_ON(c))
      total = ((*quad)[0] + (*quad)[1]) + (*quad)[2];
    else if (c >= 4)
      total = ((*quad)[0] + (*quad)[1]) + ((*quad)[2] + (*quad)[3]);
    if (HAS_PAIR(c) && c != 2) total += s->twos[i][0] + s->twos[i][1];
    if (HAS_ONE(c) && c != 1) total += s->ones[i];
    sum[i] = total;
  }
}

#define T float
#define NAME(x) x##_f32
#include "spmv/backends/cpu_bsr/cpu_bsr_block.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "spmv/backends/cpu_bsr/cpu_bsr_block.h"
#undef T
#undef NAME

cpu_bsr_x wr_cpu_bsr_x(const wr_bsr *b, const void *x, double *buffer) {
  int64_t first = (b->bcols - 1) * b->c, size = wr_type_bytes(b->type);
  if (b->ncols - first == b->c) return (cpu_bsr_x){.data = x};
  memset(buffer, 0, WR_BSR_MAX_SIDE * sizeof *buffer);
  memcpy(buffer, (const char *)x + first * size, (size_t)((b->ncols - first) * size));
  return (cpu_bsr_x){.data = x, .end = buffer};
}

cpu_bsr_kernel wr_cpu_bsr_kernel(const wr_bsr *b) {
  const cpu_bsr_kernel *kernel = b->type == WR_F32 ? kernels_f32 : kernels_f64;
  while (kernel->r && (kernel->r != b->r || kernel->c != b->c)) kernel++;
  return *kernel;
}

static void repair(const wr_bsr *b, cpu_bsr_x x, int64_t first, int64_t last, double *sum) {
  if (b->type == WR_F32)
    repair_f32(b, x.data, first, last, sum);
  else
    repair_f64(b, x.data, first, last, sum);
}

static int has_nan(const double *sum, int64_t count) {
  int found = 0;
  for (int64_t i = 0; i < count; i++) found |= sum[i] != sum[i];
  return found;
}

void wr_cpu_bsr_rows(const cpu_bsr_kernel *kernel, const wr_bsr *b, cpu_bsr_x x, int64_t first, int64_t count,
                     double *sum) {
  kernel->rows(b, x, first, count, sum);
  if (!has_nan(sum, count * b->r)) return;
  for (int64_t i = first; i < first + count; i++, sum += b->r)
    repair(b, x, wr_cpu_bsr_before(b, i), wr_cpu_bsr_before(b, i + 1), sum);
}

void wr_cpu_bsr_range(const cpu_bsr_kernel *kernel, const wr_bsr *b, cpu_bsr_x x, int64_t first, int64_t last,
                      double *sum) {
  kernel->range(b, x, first, last, sum);
  if (has_nan(sum, b->r)) repair(b, x, first, last, sum);
}
