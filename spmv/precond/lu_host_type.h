/* The rows of a triangular factor whose values are of type F; included once for each type. */

/* w[i] := w[i] less the row of L, for positions [first, end) in their order. */
static void NAME(lower_rows)(const triangle *t, double *w, int64_t first, int64_t end) {
  const F *val = t->val;
  for (int64_t p = first; p < end; p++) {
    int64_t i = t->row ? t->row[p] : p;
    double sum = w[i];
    for (int64_t k = t->ptr[p]; k < t->ptr[p + 1]; k++) sum -= (double)val[k] * w[t->col[k]];
    w[i] = sum;
  }
}

/* w[i] := (w[i] less the row of U) / pivot. Without an order the last row is the first. */
static void NAME(upper_rows)(const triangle *t, double *w, int64_t first, int64_t end) {
  const F *val = t->val, *inverse = t->inverse;
  for (int64_t q = first; q < end; q++) {
    int64_t p = t->row ? q : t->n - 1 - q, i = t->row ? t->row[p] : p;
    double sum = w[i];
    for (int64_t k = t->ptr[p]; k < t->ptr[p + 1]; k++) sum -= (double)val[k] * w[t->col[k]];
    w[i] = sum * (double)inverse[i];
  }
}

/* Both for rows of ld elements of w. Inlined with a constant ld. */
static inline __attribute__((always_inline)) void NAME(rows_of_columns)(const triangle *t, double *w, int64_t first,
                                                                        int64_t end, int ld) {
  const F *val = t->val, *inverse = t->inverse;
  for (int64_t q = first; q < end; q++) {
    int64_t p = t->row || !t->is_upper ? q : t->n - 1 - q, i = t->row ? t->row[p] : p;
    double sum[WR_MAX_COLUMNS];
    for (int c = 0; c < ld; c++) sum[c] = w[i * ld + c];
    for (int64_t k = t->ptr[p]; k < t->ptr[p + 1]; k++) {
      const double *from = w + (int64_t)t->col[k] * ld;
      for (int c = 0; c < ld; c++) sum[c] -= (double)val[k] * from[c];
    }
    for (int c = 0; c < ld; c++) w[i * ld + c] = t->is_upper ? sum[c] * (double)inverse[i] : sum[c];
  }
}

static void NAME(columns)(const triangle *t, double *w, int64_t first, int64_t end, int ld) {
  switch (ld) {
    case 2: NAME(rows_of_columns)(t, w, first, end, 2); break;
    case 4: NAME(rows_of_columns)(t, w, first, end, 4); break;
    default: NAME(rows_of_columns)(t, w, first, end, 8); break;
  }
}
