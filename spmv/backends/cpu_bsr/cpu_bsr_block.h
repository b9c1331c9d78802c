/* Included once for each type of data: T, and NAME(x) for the functions' names. Where r and c are compile-time constants,
 * only the loop over the blocks remains and the sums are in registers. */

typedef T NAME(quad) __attribute__((vector_size(4 * sizeof(T))));
typedef T NAME(pair) __attribute__((vector_size(2 * sizeof(T))));

/* Values are aligned to an element only. */
INLINE four NAME(load_four)(const T *p) {
  NAME(quad) loaded;
  memcpy(&loaded, p, sizeof loaded);
  return __builtin_convertvector(loaded, four);
}

INLINE two NAME(load_two)(const T *p) {
  NAME(pair) loaded;
  memcpy(&loaded, p, sizeof loaded);
  return __builtin_convertvector(loaded, two);
}

/* Prefetches the cache lines that are needed some hundred cycles later; addresses past the end are harmless. Into all caches:
 * without that hint a Xeon waits two to three times as long, and an EPYC no less. */
INLINE void NAME(prefetch)(const T *block, int64_t size) {
  int lines = ((int)size * (int)sizeof(T) + LINE - 1) / LINE;
  UNROLLED
  for (int l = 0; l < lines; l++) __builtin_prefetch((const char *)block + AHEAD + l * LINE, 0, 3);
}

/* Blocks of one column: four rows at a time. */
INLINE void NAME(add_column)(const T *block, const T *x, int r, sums *s) {
  double factor = (double)x[0];
  UNROLLED
  for (int i = 0; i < r / 4; i++) s->fours[i] += NAME(load_four)(block + 4 * i) * factor;
}

/* Blocks of 2 x 2: the block is one quad. */
INLINE void NAME(add_two_by_two)(const T *block, const T *x, sums *s) {
  NAME(quad) factor = {x[0], x[1], x[0], x[1]};
  s->fours[0] += NAME(load_four)(block) * __builtin_convertvector(factor, four);
}

/* A row of a block is c products: groups of four in one quad each, then a pair, then one. Three are a quad with a last
 * element that is ignored; it belongs to the next row, or lies past the block (READS_ON). */
INLINE void NAME(add_block)(const T *block, const T *x, int r, int c, sums *s) {
  int quads = (c + READS_ON(c)) / 4;
  if (c == 1) {
    NAME(add_column)(block, x, r, s);
    return;
  }
  if (r == 2 && c == 2) {
    NAME(add_two_by_two)(block, x, s);
    return;
  }
  UNROLLED
  for (int q = 0; q < quads; q++) {
    four factor = NAME(load_four)(x + 4 * q);
    UNROLLED
    for (int i = 0; i < r; i++) s->fours[i] += NAME(load_four)(block + i * c + 4 * q) * factor;
  }
  if (HAS_PAIR(c)) {
    two factor = NAME(load_two)(x + c / 4 * 4);
    UNROLLED
    for (int i = 0; i < r; i++) s->twos[i] += NAME(load_two)(block + i * c + c / 4 * 4) * factor;
  }
  if (HAS_ONE(c)) {
    double factor = (double)x[c - 1];
    UNROLLED
    for (int i = 0; i < r; i++) s->ones[i] += (double)block[i * c + c - 1] * factor;
  }
}

/* The last block of a block row, if x ends within it, or if the block or x ends right after it: works on padded copies. */
INLINE void NAME(add_last_block)(const wr_bsr *b, cpu_bsr_x x, int64_t k, int r, int c, sums *s) {
  T block[WR_BSR_MAX_SIDE * WR_BSR_MAX_SIDE + READS_ON(3)], factors[WR_BSR_MAX_SIDE + READS_ON(3)];
  const T *val = b->val, *from = x.end;
  if (!reaches_beyond(b, x, k)) from = (const T *)x.data + (int64_t)b->col[k] * c;
  memcpy(block, val + k * r * c, (size_t)(r * c) * sizeof *block);
  memcpy(factors, from, (size_t)c * sizeof *factors);
  if (READS_ON(c)) block[r * c] = factors[c] = 0;
  NAME(add_block)(block, factors, r, c, s);
}

/* The sums of blocks k..last - 1 of a block row. Small blocks go to two sets of sums in turn, as one set would wait for its
 * own additions. */
INLINE void NAME(range_of)(const wr_bsr *b, cpu_bsr_x x, int64_t k, int64_t last, int r, int c, double *sum) {
  const T *val = b->val, *from = x.data;
  int64_t size = r * c, end = last - (last > k && is_last_block(b, x, last - 1, c));
  sums even = {0}, odd = {0};
  if (size <= 16)
    for (; k + 2 <= end; k += 2) {
      NAME(prefetch)(val + k * size, 2 * size);
      NAME(add_block)(val + k * size, from + (int64_t)b->col[k] * c, r, c, &even);
      NAME(add_block)(val + (k + 1) * size, from + (int64_t)b->col[k + 1] * c, r, c, &odd);
    }
  for (; k < end; k++) {
    NAME(prefetch)(val + k * size, size);
    NAME(add_block)(val + k * size, from + (int64_t)b->col[k] * c, r, c, &even);
  }
  if (end < last) NAME(add_last_block)(b, x, end, r, c, &even);
  if (size <= 16) join(&even, &odd, r);
  add_up(&even, r, c, sum);
}

/* The same for blocks of one entry, four of which are a quad. */
INLINE void NAME(range_of_entries)(const wr_bsr *b, cpu_bsr_x from, int64_t k, int64_t last, double *sum) {
  const T *val = b->val, *x = from.data;
  const int32_t *col = b->col;
  four even = {0}, odd = {0};
  for (; k + 8 <= last; k += 8) {
    __builtin_prefetch((const char *)(val + k) + AHEAD, 0, 3);
    __builtin_prefetch((const char *)(col + k) + AHEAD, 0, 3);
    even += NAME(load_four)(val + k) * (four){x[col[k]], x[col[k + 1]], x[col[k + 2]], x[col[k + 3]]};
    odd += NAME(load_four)(val + k + 4) * (four){x[col[k + 4]], x[col[k + 5]], x[col[k + 6]], x[col[k + 7]]};
  }
  even += odd;
  double total = (even[0] + even[1]) + (even[2] + even[3]);
  for (; k < last; k++) total += (double)val[k] * (double)x[col[k]];
  *sum = total;
}

/* The same for any block size. */
static void NAME(range)(const wr_bsr *b, cpu_bsr_x x, int64_t first, int64_t last, double *sum) {
  for (int i = 0; i < b->r; i++) sum[i] = 0;
  for (int64_t k = first; k < last; k++) {
    const T *block = (const T *)b->val + k * b->r * b->c, *from = x.end;
    if (!reaches_beyond(b, x, k)) from = (const T *)x.data + (int64_t)b->col[k] * b->c;
    for (int i = 0; i < b->r; i++) {
      double total = 0;
      for (int j = 0; j < b->c; j++) total += (double)block[i * b->c + j] * (double)from[j];
      sum[i] += total;
    }
  }
}

static void NAME(rows)(const wr_bsr *b, cpu_bsr_x x, int64_t first, int64_t count, double *sum) {
  for (int64_t i = first; i < first + count; i++, sum += b->r)
    NAME(range)(b, x, wr_cpu_bsr_before(b, i), wr_cpu_bsr_before(b, i + 1), sum);
}

/* Recomputes those of sum[r] that are NaN over blocks [first, last) without padding, because padding times an infinity or NaN
 * of x must not count. What lies beyond the matrix is padding, so x.data is never read past its end. */
static void NAME(repair)(const wr_bsr *b, const void *x, int64_t first, int64_t last, double *sum) {
  for (int i = 0; i < b->r; i++) {
    if (sum[i] == sum[i]) continue;
    double total = 0;
    for (int64_t k = first; k < last; k++) {
      const T *row = (const T *)b->val + (k * b->r + i) * b->c;
      for (int j = 0; j < b->c; j++)
        if (!NAME(wr_is_padding)(row[j]))
          total += (double)row[j] * (double)((const T *)x)[b->col[k] * (int64_t)b->c + j];
    }
    sum[i] = total;
  }
}

INLINE void NAME(range_by_size)(const wr_bsr *b, cpu_bsr_x x, int64_t first, int64_t last, int r, int c, double *sum) {
  if (r * c == 1)
    NAME(range_of_entries)(b, x, first, last, sum);
  else
    NAME(range_of)(b, x, first, last, r, c, sum);
}

#define SIZE(R, C)                                                                                                \
  WR_WIDE static void NAME(range_##R##x##C)(const wr_bsr *b, cpu_bsr_x x, int64_t first, int64_t last, double *sum) { \
    NAME(range_by_size)(b, x, first, last, R, C, sum);                                                            \
  }                                                                                                               \
  WR_WIDE static void NAME(rows_##R##x##C)(const wr_bsr *b, cpu_bsr_x x, int64_t first, int64_t count, double *sum) { \
    for (int64_t i = first; i < first + count; i++, sum += R)                                                     \
      NAME(range_by_size)(b, x, wr_cpu_bsr_before(b, i), wr_cpu_bsr_before(b, i + 1), R, C, sum);                 \
  }
SIZES
#undef SIZE

static const cpu_bsr_kernel NAME(kernels)[] = {
#define SIZE(R, C) {.r = R, .c = C, .rows = NAME(rows_##R##x##C), .range = NAME(range_##R##x##C)},
    SIZES
#undef SIZE
    {.rows = NAME(rows), .range = NAME(range)},
};
