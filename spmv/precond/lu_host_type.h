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
