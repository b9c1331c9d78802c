/* Included once for each type of data: T, and NAME(x) for the functions' names. */

typedef T NAME(quad) __attribute__((vector_size(4 * sizeof(T))));

/* a * x for four entries, in f64; val NULL: a pattern. */
static inline four NAME(products)(const T *val, const int32_t *col, const T *x) {
  NAME(quad) gathered = {x[col[0]], x[col[1]], x[col[2]], x[col[3]]}, factors;
  if (val == NULL) return __builtin_convertvector(gathered, four);
  memcpy(&factors, val, sizeof factors); /* val is aligned to an element only */
  return __builtin_convertvector(factors, four) * __builtin_convertvector(gathered, four);
}

/* Prefetches the entries that are needed about a hundred cycles later; addresses past the end are harmless. The processor's
 * own prefetcher loses the streams of values and columns among those of x: with 7 entries a row this brings 14 to 26 GB/s on
 * one core (EPYC, 2026-11). */
static inline void NAME(prefetch)(const T *val, const int32_t *col, int64_t k) {
  if (val) __builtin_prefetch(val + k + AHEAD, 0, 3);
  __builtin_prefetch(col + k + AHEAD, 0, 3);
}

/* The sum of entries [k, last) in f64: eight at a time, which is a cache line of values, then four, then one by one. */
static inline double NAME(dot)(const T *val, const int32_t *col, const T *x, int64_t k, int64_t last) {
  four sum = {0, 0, 0, 0};
  NAME(prefetch)(val, col, k);
  for (; k + 8 <= last; k += 8) {
    NAME(prefetch)(val, col, k + 8);
    sum += NAME(products)(val ? val + k : NULL, col + k, x);
    sum += NAME(products)(val ? val + k + 4 : NULL, col + k + 4, x);
  }
  if (k + 4 <= last) {
    sum += NAME(products)(val ? val + k : NULL, col + k, x);
    k += 4;
  }
  double rest[4] = {sum[0], sum[1], sum[2], sum[3]};
  for (int c = 0; c < 3 && k + c < last; c++) rest[c] += (val ? (double)val[k + c] : 1) * (double)x[col[k + c]];
  return (rest[0] + rest[1]) + (rest[2] + rest[3]);
}

/* The same for rows that are mostly shorter than five: four entries are always multiplied and those past the row's end are
 * masked, since a mispredicted branch costs more than all four. Needs k + 4 <= nnz. */
static inline double NAME(dot_short)(const T *val, const int32_t *col, const T *x, int64_t k, int64_t last) {
  int64_t length = last - k;
  four_bits inside = (four_bits){length, length, length, length} > (four_bits){0, 1, 2, 3};
  NAME(prefetch)(val, col, k);
  four sum = (four)((four_bits)NAME(products)(val ? val + k : NULL, col + k, x) & inside);
  double head = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  return length > 4 ? head + NAME(dot)(val, col, x, k + 4, last) : head;
}

/* sum[0..count-1] := the rows from `row` on. */
static inline void NAME(dot_rows)(const cpu_csr_state *s, const T *val, const T *x, int64_t row, int64_t count,
                                  double *sum) {
  const int64_t *end = s->row_ptr + row + 1;
  int64_t k = end[-1];
  int mostly_short = end[count - 1] - k < 5 * count && end[count - 1] + 4 <= s->nnz;
  for (int64_t i = 0; i < count; k = end[i++])
    sum[i] = mostly_short ? NAME(dot_short)(val, s->col, x, k, end[i]) : NAME(dot)(val, s->col, x, k, end[i]);
}

/* alpha * product + beta * y[i] */
static inline double NAME(combine)(const wr_apply *request, int64_t i, double product) {
  double y = request->alpha * product;
  return request->beta != 0 ? y + request->beta * (double)((const T *)request->y->data)[i] : y;
}

/* Finishes the rows that begin and end in chunk c, a few hundred at a time, and stores its parts of the rows that are cut. */
static inline void NAME(run_chunk)(const cpu_csr_state *s, const wr_apply *request, int64_t c, const T *val) {
  const T *x = request->x->data;
  const int32_t *col = s->col;
  double sum[WR_FINISH_ROWS], *partial = s->partials + c * WR_MAX_REDUCTIONS;
  int64_t row = s->first_row[c], last_row = s->first_row[c + 1];
  int64_t begin = chunk_entry(s, c), end = chunk_entry(s, c + 1);
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) partial[r] = 0;
  s->head[c] = 0;
  if (row < last_row && begin > s->row_ptr[row]) {
    s->head[c] = NAME(dot)(val, col, x, begin, s->row_ptr[row + 1]);
    begin = s->row_ptr[++row];
  }
  while (row < last_row) {
    int64_t count = last_row - row < WR_FINISH_ROWS ? last_row - row : WR_FINISH_ROWS;
    NAME(dot_rows)(s, val, x, row, count, sum);
    for (int64_t i = 0; i < count; i++) sum[i] = NAME(combine)(request, row + i, sum[i]);
    wr_finish_rows_host(request, row, count, sum, partial);
    row += count;
    begin = s->row_ptr[row];
  }
  s->tail[c] = NAME(dot)(val, col, x, begin, end);
}

/* Finishes the rows that are cut, from their parts in the order of the chunks. */
static void NAME(join_chunks)(const cpu_csr_state *s, const wr_apply *request) {
  double *partial = s->partials + s->nchunks * WR_MAX_REDUCTIONS;
  double carry = 0;
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) partial[r] = 0;
  for (int64_t c = 0; c < s->nchunks; c++) {
    int64_t row = s->first_row[c];
    if (row < s->first_row[c + 1] && chunk_entry(s, c) > s->row_ptr[row]) {
      double sum = NAME(combine)(request, row, carry + s->head[c]);
      wr_finish_rows_host(request, row, 1, &sum, partial);
    }
    carry = row < s->first_row[c + 1] ? s->tail[c] : carry + s->tail[c];
  }
}
