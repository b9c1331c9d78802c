/* Included once for each type of data: T, and NAME(x) for the functions' names. */

/* value[count] := output o of the elements from `first` on, as it is stored. count is a multiple of 8, or ends the array. */
static void NAME(compute_output)(const computing *job, int o, int64_t first, int64_t count, double *restrict value) {
  const wr_fused_many *f = job->f;
  const T *times = f->times ? f->times->data : NULL;
  memset(value, 0, (size_t)count * sizeof *value);
  for (int k = 0; k < job->inputs; k++) {
    const T *restrict in = (const T *)f->in[k]->data + first;
    double c[WR_MAX_COLUMNS]; /* a copy, which no store may change */
    if (f->c[o][k].factor == 0) continue;
    memcpy(c, job->c[o][k], sizeof c);
    int64_t whole = count / WR_MAX_COLUMNS * WR_MAX_COLUMNS;
    if (k == 0 && f->times_first) {
      for (int64_t e = 0; e < count; e++)
        value[e] += c[e % WR_MAX_COLUMNS] * ((double)in[e] * (double)times[(first + e) / f->ld]);
      continue;
    }
    for (int64_t e = 0; e < whole; e += WR_MAX_COLUMNS)
      for (int j = 0; j < WR_MAX_COLUMNS; j++) value[e + j] += c[j] * (double)in[e + j];
    for (int64_t e = whole; e < count; e++) value[e] += c[e - whole] * (double)in[e];
  }
  for (int64_t e = 0; e < count; e++) value[e] = (double)(T)value[e];
}

/* The vector of number `slot` from `first` on, in f64: an output as computed, else an input, in room. */
static const double *NAME(operand)(const computing *job, int slot, double value[WR_MANY_OUTPUTS][PIECE], int64_t first,
                                   int64_t count, double *room) {
  if (slot >= WR_MANY_INPUTS) return value[slot - WR_MANY_INPUTS];
  const T *in = (const T *)job->f->in[slot]->data + first;
  if (sizeof(T) == sizeof(double)) return (const double *)(const void *)in;
  for (int64_t e = 0; e < count; e++) room[e] = (double)in[e];
  return room;
}

/* Adds products row by row, so that a sum does not depend on ld. Inlined with a constant ld. times: of the first row, or NULL;
 * squared: it counts twice. */
static inline __attribute__((always_inline)) void NAME(add_products)(const double *u, const double *z, const T *times,
                                                                     int squared, int64_t rows, int ld, double *sum) {
  double own[WR_MAX_COLUMNS];
  for (int c = 0; c < ld; c++) own[c] = sum[c];
  for (int64_t i = 0; i < rows; i++)
    for (int c = 0; c < ld; c++) {
      double by = times ? (double)times[i] : 1, left = squared ? u[i * ld + c] * by : u[i * ld + c];
      own[c] += left * (z[i * ld + c] * by);
    }
  for (int c = 0; c < ld; c++) sum[c] = own[c];
}

static void NAME(add_sum)(const double *u, const double *z, const T *times, int squared, int64_t rows, int ld,
                          double *sum) {
  switch (ld) {
    case 1: NAME(add_products)(u, z, times, squared, rows, 1, sum); break;
    case 2: NAME(add_products)(u, z, times, squared, rows, 2, sum); break;
    case 4: NAME(add_products)(u, z, times, squared, rows, 4, sum); break;
    default: NAME(add_products)(u, z, times, squared, rows, 8, sum); break;
  }
}

/* A block of rows, with its sums [WR_MANY_SUMS][ld]. */
static void NAME(compute)(const computing *job, int64_t block, double *sum) {
  const wr_fused_many *f = job->f;
  const T *times = f->times ? f->times->data : NULL;
  int64_t rows = f->in[0]->n / f->ld, begin = block * BLOCK_ROWS, left = rows - begin;
  int64_t end = (begin + (left < BLOCK_ROWS ? left : BLOCK_ROWS)) * f->ld;
  double value[WR_MANY_OUTPUTS][PIECE], u[PIECE], z[PIECE];
  memset(sum, 0, (size_t)(WR_MANY_SUMS * f->ld) * sizeof *sum);
  for (int64_t first = begin * f->ld; first < end; first += PIECE) {
    int64_t count = end - first < PIECE ? end - first : PIECE;
    for (int o = 0; o < WR_MANY_OUTPUTS && f->out[o]; o++) NAME(compute_output)(job, o, first, count, value[o]);
    for (int o = 0; o < WR_MANY_OUTPUTS && f->out[o]; o++)
      for (int64_t e = 0; e < count; e++) ((T *)f->out[o]->data)[first + e] = (T)value[o][e];
    for (int64_t e = 0; f->scaled && e < count; e++)
      ((T *)f->scaled->data)[first + e] = (T)(value[0][e] * (double)times[(first + e) / f->ld]);
    for (int s = 0; s < WR_MANY_SUMS && f->sum[s].u; s++) NAME(add_sum)
    (NAME(operand)(job, job->u[s], value, first, count, u), NAME(operand)(job, job->z[s], value, first, count, z),
     f->sum[s].is_scaled ? times + first / f->ld : NULL, f->sum[s].is_scaled == 2, count / f->ld, f->ld,
     sum + s * f->ld);
  }
}
