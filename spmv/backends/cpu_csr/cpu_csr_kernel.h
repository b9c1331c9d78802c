/* Included once for each type of data: T, and NAME(x) for the functions' names. */

typedef T NAME(quad) __attribute__((vector_size(4 * sizeof(T))));

/* a * x for four entries, in f64; val NULL: a pattern. */
static inline four NAME(products)(const T *val, const int32_t *col, const T *x) {
  four gathered = {x[col[0]], x[col[1]], x[col[2]], x[col[3]]};
  NAME(quad) factors;
  if (val == NULL) return gathered;
  memcpy(&factors, val, sizeof factors); /* val is aligned to an element only */
  return gathered * __builtin_convertvector(factors, four);
}

/* Prefetches the entries that are needed about a hundred cycles later; addresses past the end are harmless. The processor's
 * own prefetcher loses the streams of values and columns among those of x: with 7 entries a row this brings 14 to 26 GB/s on
 * one core (EPYC, 2026-11). */
static inline void NAME(prefetch)(const T *val, const int32_t *col, int64_t k) {
  if (val) __builtin_prefetch(val + k + AHEAD, 0, 3);
  __builtin_prefetch(col + k + AHEAD, 0, 3);
}

/* The sum of entries [k, last) in f64: eight at a time, which is a cache line of values, and the rest one by one. */
static inline double NAME(dot)(const T *val, const int32_t *col, const T *x, int64_t k, int64_t last) {
  four even = {0, 0, 0, 0}, odd = {0, 0, 0, 0};
  for (; k + 8 <= last; k += 8) {
    NAME(prefetch)(val, col, k);
    even += NAME(products)(val ? val + k : NULL, col + k, x);
    odd += NAME(products)(val ? val + k + 4 : NULL, col + k + 4, x);
  }
  even += odd;
  double total = (even[0] + even[1]) + (even[2] + even[3]);
  for (; k < last; k++) total += (val ? (double)val[k] : 1) * (double)x[col[k]];
  return total;
}

/* The same for rows that are mostly shorter than four: four entries are always multiplied and those past the row's end are
 * masked, since a mispredicted branch costs more than all four, unless their elements of x are far. Needs k + 4 <= nnz. */
static inline double NAME(dot_short)(const T *val, const int32_t *col, const T *x, int64_t k, int64_t last) {
  int64_t length = last - k;
  four_bits inside = (four_bits){length, length, length, length} > (four_bits){0, 1, 2, 3};
  four sum = (four)((four_bits)NAME(products)(val ? val + k : NULL, col + k, x) & inside);
  double head = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  return length > 4 ? head + NAME(dot)(val, col, x, k + 4, last) : head;
}

/* A loop of its own, as dot_rows with a condition takes longer (docs/decisions.md).
 * sum[0..count-1] := the rows from `row` on, mostly shorter than four entries; of the last one's entries on there are four. */
WR_WIDE static void NAME(dot_short_rows)(const cpu_csr_state *s, const T *val, const T *x, int64_t row, int64_t count,
                                         double *sum) {
  const int64_t *end = s->row_ptr + row + 1;
  for (int64_t i = 0, k = end[-1]; i < count; k = end[i++]) {
    NAME(prefetch)(val, s->col, k);
    sum[i] = NAME(dot_short)(val, s->col, x, k, end[i]);
  }
}

/* sum[0..count-1] := the rows from `row` on. */
WR_WIDE static void NAME(dot_rows)(const cpu_csr_state *s, const T *val, const T *x, int64_t row, int64_t count,
                                   double *sum) {
  const int64_t *end = s->row_ptr + row + 1;
  for (int64_t i = 0, k = end[-1]; i < count; k = end[i++]) {
    NAME(prefetch)(val, s->col, k);
    sum[i] = NAME(dot)(val, s->col, x, k, end[i]);
  }
}

/* The sum of the entries of a row that are in one chunk: all of them, where the row is longer than a chunk. */
WR_WIDE static double NAME(dot_part)(const T *val, const int32_t *col, const T *x, int64_t k, int64_t last) {
  return NAME(dot)(val, col, x, k, last);
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
    s->head[c] = NAME(dot_part)(val, col, x, begin, s->row_ptr[row + 1]);
    begin = s->row_ptr[++row];
  }
  while (row < last_row) {
    int64_t count = last_row - row < WR_FINISH_ROWS ? last_row - row : WR_FINISH_ROWS;
    int64_t after = s->row_ptr[row + count], entries = after - s->row_ptr[row];
    int are_short = s->is_local && entries < 4 * count && after + 4 <= s->nnz;
    (are_short ? NAME(dot_short_rows) : NAME(dot_rows))(s, val, x, row, count, sum);
    for (int64_t i = 0; i < count; i++) sum[i] = NAME(combine)(request, row + i, sum[i]);
    wr_finish_rows_host(request, row, count, sum, partial);
    row += count;
    begin = s->row_ptr[row];
  }
  s->tail[c] = NAME(dot_part)(val, col, x, begin, end);
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

/* ---- Several vectors at once: the same cuts, and `columns` sums a row ---- */

/* sum[columns] := the sums of entries [k, last), in f64; those of even and of odd entries apart, so that two additions run at a
 * time. Inlined with a constant number of columns, so that the sums stay in registers. */
static inline __attribute__((always_inline)) void NAME(dot_columns)(const T *val, const int32_t *col, const T *x,
                                                                    int64_t ld, int64_t k, int64_t last, int columns,
                                                                    double *sum) {
  double even[WR_MAX_COLUMNS], odd[WR_MAX_COLUMNS];
  for (int c = 0; c < columns; c++) even[c] = odd[c] = 0;
  NAME(prefetch)(val, col, k);
  for (; k + 2 <= last; k += 2) {
    const T *first = x + col[k] * ld, *second = x + col[k + 1] * ld;
    double a = val ? (double)val[k] : 1, b = val ? (double)val[k + 1] : 1;
    NAME(prefetch)(val, col, k + 2);
    for (int c = 0; c < columns; c++) even[c] += a * (double)first[c];
    for (int c = 0; c < columns; c++) odd[c] += b * (double)second[c];
  }
  if (k < last)
    for (int c = 0; c < columns; c++) even[c] += (val ? (double)val[k] : 1) * (double)x[col[k] * ld + c];
  for (int c = 0; c < columns; c++) sum[c] = even[c] + odd[c];
}

/* Row i of Y := alpha * sum + beta * Y. */
static inline void NAME(store_columns)(const wr_apply_many *r, int64_t i, const double *sum, int columns) {
  T *y = (T *)r->y->data + i * r->ldy;
  for (int c = 0; c < columns; c++) {
    double value = r->alpha * sum[c];
    y[c] = (T)(r->beta != 0 ? value + r->beta * (double)y[c] : value);
  }
}

/* As run_chunk. columns: a constant. */
static inline __attribute__((always_inline)) void NAME(run_chunk_of)(const cpu_csr_state *s, const wr_apply_many *r,
                                                                     int64_t c, int columns) {
  const T *val = s->val, *x = r->x->data;
  double sum[WR_MAX_COLUMNS], *head = s->many_head + c * s->columns;
  int64_t row = s->first_row[c], last_row = s->first_row[c + 1], ld = r->ldx;
  int64_t begin = chunk_entry(s, c), end = chunk_entry(s, c + 1);
  for (int k = 0; k < columns; k++) head[k] = 0;
  if (row < last_row && begin > s->row_ptr[row]) {
    NAME(dot_columns)(val, s->col, x, ld, begin, s->row_ptr[row + 1], columns, head);
    begin = s->row_ptr[++row];
  }
  for (; row < last_row; begin = s->row_ptr[++row]) {
    NAME(dot_columns)(val, s->col, x, ld, begin, s->row_ptr[row + 1], columns, sum);
    NAME(store_columns)(r, row, sum, columns);
  }
  NAME(dot_columns)(val, s->col, x, ld, begin, end, columns, s->many_tail + c * s->columns);
}

static void NAME(run_columns)(const cpu_csr_state *s, const wr_apply_many *r, int64_t c) {
  switch (r->columns) {
    case 1: NAME(run_chunk_of)(s, r, c, 1); break;
    case 2: NAME(run_chunk_of)(s, r, c, 2); break;
    case 3: NAME(run_chunk_of)(s, r, c, 3); break;
    case 4: NAME(run_chunk_of)(s, r, c, 4); break;
    case 5: NAME(run_chunk_of)(s, r, c, 5); break;
    case 6: NAME(run_chunk_of)(s, r, c, 6); break;
    case 7: NAME(run_chunk_of)(s, r, c, 7); break;
    default: NAME(run_chunk_of)(s, r, c, WR_MAX_COLUMNS); break;
  }
}

/* As join_chunks. */
static void NAME(join_columns)(const cpu_csr_state *s, const wr_apply_many *r) {
  double carry[WR_MAX_COLUMNS] = {0}, sum[WR_MAX_COLUMNS];
  for (int64_t c = 0; c < s->nchunks; c++) {
    const double *head = s->many_head + c * s->columns, *tail = s->many_tail + c * s->columns;
    int64_t row = s->first_row[c];
    int ends = row < s->first_row[c + 1], is_cut = ends && chunk_entry(s, c) > s->row_ptr[row];
    for (int k = 0; k < r->columns; k++) sum[k] = carry[k] + head[k];
    if (is_cut) NAME(store_columns)(r, row, sum, r->columns);
    for (int k = 0; k < r->columns; k++) carry[k] = ends ? tail[k] : carry[k] + tail[k];
  }
}
