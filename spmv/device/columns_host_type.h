/* Included once for each type of data: T, and NAME(x) for the functions' names. */

/* Adds `jump` times the v of column c. */
static void NAME(jump)(const wr_epilogue_many *e, int c, double jump) {
  int64_t n = e->scale->n, first = c * e->room;
  const double *row = (const double *)e->rows->data + first, *value = (const double *)e->values->data + first;
  T *y = (T *)e->y->data + c;
  for (int64_t k = 0; k < e->room; k++) {
    if (!(row[k] >= 0 && row[k] < (double)n)) continue;
    T *at = y + (int64_t)row[k] * e->ldy;
    *at = (T)((double)*at + jump * value[k]);
  }
}

/* Rows [first, end): sum[2 * columns] has the change and the mass of each column. Inlined with a constant number of columns and
 * with or without x, so that the sums stay in registers. */
static inline __attribute__((always_inline)) void NAME(finish_rows)(const wr_epilogue_many *e, int64_t first,
                                                                    int64_t end, int columns, int has_x, double *sum) {
  const T *scale = e->scale->data;
  double change[WR_MAX_COLUMNS], mass[WR_MAX_COLUMNS];
  for (int c = 0; c < columns; c++) change[c] = mass[c] = 0;
  for (int64_t i = first; i < end; i++) {
    T *y = (T *)e->y->data + i * e->ldy;
    const T *x = has_x ? (const T *)e->x->data + i * e->ldx : NULL;
    double by = scale[i] != 0 ? (double)scale[i] : 1, over = 1 / by, dangles = scale[i] != 0 ? 0 : 1;
    for (int c = 0; c < columns; c++) {
      y[c] = (T)((double)y[c] * by);
      if (has_x) change[c] += fabs((double)y[c] - (double)x[c]) * over;
      mass[c] += dangles * (double)y[c];
    }
  }
  for (int c = 0; c < columns; c++) sum[2 * c] = change[c], sum[2 * c + 1] = mass[c];
}

static void NAME(finish)(const wr_epilogue_many *e, int64_t block, double *sum) {
  int64_t first = block * BLOCK_ROWS, end = e->scale->n - first < BLOCK_ROWS ? e->scale->n : first + BLOCK_ROWS;
  switch (2 * e->columns + (e->x != NULL)) {
    case 3: NAME(finish_rows)(e, first, end, 1, 1, sum); break;
    case 5: NAME(finish_rows)(e, first, end, 2, 1, sum); break;
    case 8: NAME(finish_rows)(e, first, end, 4, 0, sum); break;
    case 9: NAME(finish_rows)(e, first, end, 4, 1, sum); break;
    case 16: NAME(finish_rows)(e, first, end, 8, 0, sum); break;
    case 17: NAME(finish_rows)(e, first, end, 8, 1, sum); break;
    default: NAME(finish_rows)(e, first, end, e->columns, e->x != NULL, sum); break;
  }
}

/* Column c, which is 0, := plus * v_c, scaled. Returns its rank of rows whose scale is 0. */
static double NAME(start)(const wr_epilogue_many *e, int c) {
  double mass = 0;
  const double *row = (const double *)e->rows->data + c * e->room;
  NAME(jump)(e, c, e->plus);
  for (int64_t k = 0; k < e->room; k++) {
    if (!(row[k] >= 0 && row[k] < (double)e->scale->n)) continue;
    T *at = (T *)e->y->data + (int64_t)row[k] * e->ldy + c, scale = ((const T *)e->scale->data)[(int64_t)row[k]];
    if (scale != 0)
      *at = (T)((double)*at * (double)scale);
    else
      mass += (double)*at;
  }
  return mass;
}
