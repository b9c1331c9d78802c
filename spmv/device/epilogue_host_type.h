/* Included once per type of data: T, and NAME(x) for the functions' names. */

WR_WIDE static void NAME(finish)(const wr_apply *request, int64_t first, int64_t count, double *sum, double *partial) {
  const wr_epilogue *e = request->epilogue;
  T *y = (T *)request->y->data + first;
  double other[WR_FINISH_ROWS];
  if (e && e->shift.bank) {
    double shift = ((const double *)e->shift.bank->data)[e->shift.index];
    const T *direction = e->shift_dir ? (const T *)e->shift_dir->data + first : NULL;
    if (e->adds_dir)
      for (int64_t i = 0; i < count; i++) sum[i] += shift + (double)direction[i];
    else
      for (int64_t i = 0; i < count; i++) sum[i] += direction ? shift * (double)direction[i] : shift;
  }
  if (e && e->scales_y) {
    const T *scale = (const T *)e->scale->data + first;
    for (int64_t i = 0; i < count; i++) sum[i] *= scale[i] != 0 ? (double)scale[i] : 1;
  }
  for (int r = 0; e && r < WR_MAX_REDUCTIONS; r++)
    if (e->reduce[r].kind == WR_L1DIFF_UNSCALED) {
      const T *z = (const T *)e->reduce[r].z->data + first, *scale = (const T *)e->scale->data + first;
      for (int64_t i = 0; i < count; i++)
        other[i] = fabs((double)(T)sum[i] - (double)z[i]) / (scale[i] != 0 ? (double)scale[i] : 1);
      partial[r] += wr_reduce_host(WR_SUM, other, NULL, count);
    }
  if (e && e->relax_from) {
    const T *from = (const T *)e->relax_from->data + first;
    double relaxation = ((const double *)e->relaxation.bank->data)[e->relaxation.index];
    for (int64_t i = 0; relaxation != 1 && i < count; i++)
      sum[i] = (double)from[i] + relaxation * (sum[i] - (double)from[i]);
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
    if (e->reduce[r].kind == WR_L1DIFF_UNSCALED) continue;
    const wr_vec *z = e->reduce[r].kind == WR_SUM_UNSCALED ? e->scale : e->reduce[r].z;
    if (z)
      for (int64_t i = 0; i < count; i++) other[i] = (double)((const T *)z->data)[first + i];
    partial[r] += wr_reduce_host(e->reduce[r].kind, sum, other, count);
  }
}
