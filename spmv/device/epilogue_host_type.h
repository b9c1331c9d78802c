/* Included once per type of data: T, and NAME(x) for the functions' names. */

static void NAME(finish)(const wr_apply *request, int64_t first, int64_t count, double *sum, double *partial) {
  const wr_epilogue *e = request->epilogue;
  T *y = (T *)request->y->data + first;
  double other[WR_FINISH_ROWS];
  if (e && e->shift.bank) {
    double shift = ((const double *)e->shift.bank->data)[e->shift.index];
    const T *direction = e->shift_dir ? (const T *)e->shift_dir->data + first : NULL;
    for (int64_t i = 0; i < count; i++) sum[i] += direction ? shift * (double)direction[i] : shift;
  }
  for (int64_t i = 0; i < count; i++) {
    y[i] = (T)sum[i];
    sum[i] = (double)y[i];
  }
  if (e == NULL) return;
  if (e->scaled) {
    const T *scale = (const T *)e->scale->data + first;
    T *scaled = (T *)e->scaled->data + first;
    for (int64_t i = 0; i < count; i++) scaled[i] = (T)((double)scale[i] * sum[i]);
  }
  for (int r = 0; r < WR_MAX_REDUCTIONS; r++) {
    const wr_vec *z = e->reduce[r].kind == WR_SUM_UNSCALED ? e->scale : e->reduce[r].z;
    if (z)
      for (int64_t i = 0; i < count; i++) other[i] = (double)((const T *)z->data)[first + i];
    partial[r] += wr_reduce_host(e->reduce[r].kind, sum, other, count);
  }
}
