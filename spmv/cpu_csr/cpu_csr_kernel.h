/* Included once per type of data: T, and NAME(x) for the functions' names. */

/* The sum of entries [k, last) in f64, by four chains so that additions need not wait for each other. */
static inline double NAME(dot)(const cpu_csr_state *s, const T *x, int64_t k, int64_t last) {
  const int32_t *col = s->col;
  const T *val = s->val;
  double sum[4] = {0, 0, 0, 0};
  if (val) {
    for (; k + 4 <= last; k += 4)
      for (int c = 0; c < 4; c++) sum[c] += (double)val[k + c] * (double)x[col[k + c]];
    for (; k < last; k++) sum[0] += (double)val[k] * (double)x[col[k]];
  } else {
    for (; k + 4 <= last; k += 4)
      for (int c = 0; c < 4; c++) sum[c] += (double)x[col[k + c]];
    for (; k < last; k++) sum[0] += (double)x[col[k]];
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* alpha * product + beta * y[i] */
static inline double NAME(combine)(const wr_apply *request, int64_t i, double product) {
  double y = request->alpha * product;
  return request->beta != 0 ? y + request->beta * (double)((const T *)request->y->data)[i] : y;
}

/* Rows that end in chunk c and begin in it are finished here, a few hundred at a time; of the others the parts are kept. */
static void NAME(run_chunk)(const cpu_csr_state *s, const wr_apply *request, int64_t c) {
  const T *x = request->x->data;
  double sum[WR_FINISH_ROWS], *partial = s->partials + c * WR_MAX_REDUCTIONS;
  int64_t row = s->first_row[c], last_row = s->first_row[c + 1];
  int64_t begin = chunk_entry(s, c), end = chunk_entry(s, c + 1);
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) partial[r] = 0;
  s->head[c] = 0;
  if (row < last_row && begin > s->row_ptr[row]) {
    s->head[c] = NAME(dot)(s, x, begin, s->row_ptr[row + 1]);
    begin = s->row_ptr[++row];
  }
  while (row < last_row) {
    int64_t count = last_row - row < WR_FINISH_ROWS ? last_row - row : WR_FINISH_ROWS;
    for (int64_t i = 0; i < count; i++)
      sum[i] = NAME(combine)(request, row + i, NAME(dot)(s, x, s->row_ptr[row + i], s->row_ptr[row + i + 1]));
    wr_finish_rows_host(request, row, count, sum, partial);
    row += count;
    begin = s->row_ptr[row];
  }
  s->tail[c] = NAME(dot)(s, x, begin, end);
}

/* Completes the rows that were cut, from their parts in the order of the chunks. */
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
