/* Included once per type of data: T, and NAME(x) for the functions' names. */

/* sum += c * in (* times) over one block. */
static void NAME(add_term)(double *sum, double c, const T *in, const T *times, int64_t count) {
  if (times) {
    for (int64_t i = 0; i < count; i++) sum[i] += c * ((double)in[i] * (double)times[i]);
  } else {
    for (int64_t i = 0; i < count; i++) sum[i] += c * (double)in[i];
  }
}

/* The f64 values of v for a reduction: the new ones of an output, else those in memory. */
static const double *NAME(operand)(const wr_fused *f, const wr_vec *v, double new_value[WR_MAX_OUTPUTS][BLOCK],
                                   double *room, int64_t first, int64_t count) {
  for (int o = 0; o < WR_MAX_OUTPUTS; o++)
    if (v == f->out[o]) return new_value[o];
  if (v == NULL) return room;
  if (sizeof(T) == sizeof(double)) return (const double *)v->data + first;
  for (int64_t i = 0; i < count; i++) room[i] = (double)((const T *)v->data)[first + i];
  return room;
}

/* The second operand of a reduction that has a kind. lane: of a hashed vector, whose bits are hashes[count]. */
static const double *NAME(second)(const wr_fused *f, const wr_reduction *reduce, const uint64_t *hashes, int lane,
                                  double new_value[WR_MAX_OUTPUTS][BLOCK], double *room, int64_t first, int64_t count) {
  if (reduce->kind != WR_DOT_HASH) return NAME(operand)(f, reduce->z, new_value, room, first, count);
  for (int64_t i = 0; i < count; i++) room[i] = wr_hash_value(hashes[i], lane);
  return room;
}

WR_WIDE static void NAME(fused_block)(const wr_fused *f, double c[WR_MAX_OUTPUTS][WR_FUSED_TERMS], int64_t first,
                                      int64_t count, double *partial) {
  double value[WR_MAX_OUTPUTS][BLOCK], u[BLOCK], z[BLOCK];
  uint64_t hashes[BLOCK];
  int lane = 0;
  for (int o = 0; o < WR_MAX_OUTPUTS && f->out[o]; o++) {
    memset(value[o], 0, (size_t)count * sizeof(double));
    for (int k = 0; k < WR_MAX_INPUTS; k++) {
      const T *times = k == 0 && f->times ? (const T *)f->times->data + first : NULL;
      if (c[o][k] != 0) NAME(add_term)(value[o], c[o][k], (const T *)f->in[k]->data + first, times, count);
    }
    for (int q = 0; q < o; q++)
      if (c[o][WR_MAX_INPUTS + q] != 0)
        for (int64_t i = 0; i < count; i++) value[o][i] += c[o][WR_MAX_INPUTS + q] * value[q][i];
    for (int64_t i = 0; i < count; i++) value[o][i] = (double)(T)value[o][i]; /* as stored */
  }
  for (int o = 0; o < WR_MAX_OUTPUTS && f->out[o]; o++)
    for (int64_t i = 0; i < count; i++) ((T *)f->out[o]->data)[first + i] = (T)value[o][i];
  find_hashes(f, first, count, hashes);
  for (int r = 0; r < WR_FUSED_REDUCTIONS; r++) {
    const wr_reduction *reduce = &f->reduce[r];
    if (reduce->kind == WR_NO_REDUCTION) continue;
    partial[r] = wr_reduce_host(reduce->kind, NAME(operand)(f, reduce->of, value, u, first, count),
                                NAME(second)(f, reduce, hashes, lane, value, z, first, count), count);
    lane += reduce->kind == WR_DOT_HASH;
  }
}
