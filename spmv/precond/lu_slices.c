#include "spmv/precond/lu_slices.h"

#include <string.h>

#include "config/memory.h"

enum { LANES = 32, FEW = 4 }; /* rows that differ by this many entries may always share a slice */

/* The unknowns of one triangular factor, in an order in which each is behind those that it needs. An unknown adds up entries
 * begin..begin + length of the factor or, if begin is negative, the unknowns ~begin..~begin + length. */
typedef struct triangle {
  int64_t n, count; /* rows, unknowns */
  const int64_t *ptr;
  const int32_t *col;
  const double *val;
  int64_t *begin;  /* [count]                                                            */
  int32_t *length; /* [count]                                                            */
  int32_t *row;    /* [count] -1: a part of a long row                                   */
  int32_t *of;     /* [n] the unknown of a row                                           */
  int32_t *level;  /* [count]                                                            */
  int32_t *sorted; /* [count] by levels, in a level the longest first                    */
  int32_t *place;  /* [count] the inverse of sorted                                      */
  int32_t *level_row; /* [levels + 1] where in sorted a level begins                     */
  int64_t levels;
} triangle;

static void triangle_free(triangle *h) {
  void *const blocks[] = {h->begin, h->length, h->row, h->of, h->level, h->sorted, h->place, h->level_row};
  for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) wr_free(blocks[k]);
  *h = (triangle){0};
}

static int64_t parts_of(int64_t length) { return (length + WR_LU_LONGEST - 1) / WR_LU_LONGEST; }

/* Unknowns of a row of this length. */
static int64_t unknowns_of(int64_t length) {
  int64_t count = 1;
  for (; length > WR_LU_LONGEST; length = parts_of(length)) count += parts_of(length);
  return count;
}

static void add_unknown(triangle *h, int64_t begin, int64_t length, int64_t row) {
  h->begin[h->count] = begin, h->length[h->count] = (int32_t)length, h->row[h->count] = (int32_t)row;
  h->count++;
}

/* A row with too many entries first gets unknowns for its parts, whose sum it then is. */
static void add_row(triangle *h, int64_t i) {
  int64_t begin = h->ptr[i], length = h->ptr[i + 1] - begin;
  while (length > WR_LU_LONGEST) {
    int64_t first = h->count, parts = parts_of(length);
    for (int64_t p = 0; p < parts; p++) {
      int64_t skipped = p * WR_LU_LONGEST, left = length - skipped;
      add_unknown(h, begin < 0 ? ~(~begin + skipped) : begin + skipped, left < WR_LU_LONGEST ? left : WR_LU_LONGEST,
                  -1);
    }
    begin = ~first, length = parts;
  }
  h->of[i] = (int32_t)h->count;
  add_unknown(h, begin, length, i);
}

/* The unknown that entry k of unknown u refers to. */
static int64_t input_of(const triangle *h, int64_t u, int64_t k) {
  return h->begin[u] < 0 ? ~h->begin[u] + k : h->of[h->col[h->begin[u] + k]];
}

static void find_levels(triangle *h) {
  for (int64_t u = 0; u < h->count; u++) {
    int32_t level = 0;
    for (int64_t k = 0; k < h->length[u]; k++) {
      int32_t before = h->level[input_of(h, u, k)];
      if (before >= level) level = before + 1;
    }
    h->level[u] = level;
    if (level >= h->levels) h->levels = (int64_t)level + 1;
  }
}

/* By length, then by level, both stable. */
static wr_status sort(triangle *h) {
  wr_status status;
  int32_t *by_length = NULL, start[WR_LU_LONGEST + 2] = {0};
  TRY(wr_alloc(&by_length, h->count, sizeof *by_length, "the order of levels"));
  TRY(wr_alloc_zeroed(&h->level_row, h->levels + 1, sizeof *h->level_row, "the order of levels"));
  for (int64_t u = 0; u < h->count; u++) start[WR_LU_LONGEST + 1 - h->length[u]]++;
  for (int c = 0; c <= WR_LU_LONGEST; c++) start[c + 1] += start[c];
  for (int64_t u = 0; u < h->count; u++) by_length[start[WR_LU_LONGEST - h->length[u]]++] = (int32_t)u;
  for (int64_t u = 0; u < h->count; u++) h->level_row[h->level[u] + 1]++;
  for (int64_t k = 0; k < h->levels; k++) h->level_row[k + 1] += h->level_row[k];
  for (int64_t k = 0; k < h->count; k++) h->sorted[h->level_row[h->level[by_length[k]]]++] = by_length[k];
  for (int64_t k = h->levels; k > 0; k--) h->level_row[k] = h->level_row[k - 1]; /* they were moved to the ends */
  h->level_row[0] = 0;
  for (int64_t k = 0; k < h->count; k++) h->place[h->sorted[k]] = (int32_t)k;
done:
  wr_free(by_length);
  return status;
}

static wr_status triangle_make(triangle *h, int64_t n, const int64_t *ptr, const int32_t *col, const double *val,
                               int is_upper) {
  const char *what = "the unknowns of a triangular factor";
  int64_t count = 0;
  *h = (triangle){.n = n, .ptr = ptr, .col = col, .val = val};
  for (int64_t i = 0; i < n; i++) count += unknowns_of(ptr[i + 1] - ptr[i]);
  if (count > INT32_MAX / 2 - 64) return wr_fail(WR_EUNAVAILABLE, "triangular factors of %lld rows", (long long)n);
  PASS(wr_alloc(&h->begin, count, sizeof *h->begin, what));
  PASS(wr_alloc(&h->length, count, sizeof *h->length, what));
  PASS(wr_alloc(&h->row, count, sizeof *h->row, what));
  PASS(wr_alloc(&h->of, n, sizeof *h->of, what));
  PASS(wr_alloc(&h->level, count, sizeof *h->level, what));
  PASS(wr_alloc(&h->sorted, count, sizeof *h->sorted, what));
  PASS(wr_alloc(&h->place, count, sizeof *h->place, what));
  for (int64_t k = 0; k < n; k++) add_row(h, is_upper ? n - 1 - k : k);
  find_levels(h);
  return sort(h);
}

/* ---- Slices ---- */

/* Lanes for an unknown, as a power of two: in a level with few unknowns enough to load all entries at once, in a large one few,
 * since shuffles take time. */
static int log_lanes_for(int64_t length, int64_t unknowns) {
  int64_t each = unknowns < 2048 ? 4 : unknowns < 32768 ? 8 : 16;
  int log_lanes = 0;
  while (log_lanes < 5 && length > each << log_lanes) log_lanes++;
  return log_lanes;
}

/* The next slice of a level, from unknown k of `sorted` on: *shape without the bit of U; returns its number of unknowns. An
 * unknown of less than half of the first one's length begins another slice. */
static int64_t next_slice(const triangle *h, int64_t k, int64_t level_begin, int64_t level_end, uint32_t *shape) {
  int64_t longest = 0, first = h->length[h->sorted[k]], count = 0;
  int log_lanes = log_lanes_for(first, level_end - level_begin);
  for (; count < LANES >> log_lanes && k + count < level_end; count++) {
    int64_t length = h->length[h->sorted[k + count]];
    if (length + FEW < first / 2) break;
    if (length > longest) longest = length;
  }
  int64_t width = (longest + (1 << log_lanes) - 1) >> log_lanes;
  *shape = (uint32_t)width | (uint32_t)(count - 1) << 8 | (uint32_t)log_lanes << 13;
  return count;
}

/* s->slice[..], level_slice[..] := those of a factor whose first unknown is `base`, if there is room for them already; counts
 * them in s->slices and s->groups. level: of the first level, in level_slice. */
static void cut(const triangle *h, int64_t base, int64_t level, int is_upper, wr_lu_slices *s) {
  for (int64_t v = 0; v < h->levels; v++) {
    int64_t begin = h->level_row[v], end = h->level_row[v + 1], count;
    if (s->slice) s->level_slice[level + v] = (int32_t)s->slices;
    for (int64_t k = begin; k < end; k += count) {
      uint32_t shape;
      count = next_slice(h, k, begin, end, &shape);
      if (s->slice)
        s->slice[s->slices] =
            (wr_lu_slice){(uint32_t)s->groups, (int32_t)(base + k), -1, shape | (uint32_t)is_upper << 16};
      s->slices++, s->groups += shape & 255;
    }
  }
}

static void cut_both(const triangle *lower, const triangle *upper, wr_lu_slices *s) {
  s->slices = s->groups = 0;
  cut(lower, 0, 0, 0, s);
  cut(upper, lower->count, lower->levels, 1, s);
}

/* ---- Phases ---- */

/* The unknown behind the last one of a level. */
static int64_t end_of_level(const wr_lu_slices *s, int64_t level) {
  int64_t next = s->level_slice[level + 1];
  return next < s->slices ? s->slice[next].first : s->unknowns;
}

static int is_small(const wr_lu_slices *s, int64_t level) {
  return s->level_slice[level + 1] - s->level_slice[level] <= WR_LU_WARPS;
}

/* The level behind the phase that begins with this one. *is_run: two or more small levels. */
static int64_t end_of_phase(const wr_lu_slices *s, int64_t level, int merged, int *is_run) {
  int64_t levels = s->lower_levels + s->upper_levels, end = level;
  while (end < levels && is_small(s, end)) end++;
  *is_run = end - level >= 2;
  if (*is_run) return end;
  for (end = level + 1; merged && end < levels; end++)
    if (end + 1 < levels && is_small(s, end) && is_small(s, end + 1)) break;
  return end;
}

/* phase NULL: counts only. */
static void find_phases(wr_lu_slices *s, int merged, wr_lu_phase *phase) {
  int64_t levels = s->lower_levels + s->upper_levels, most = 0;
  s->phases = 0;
  for (int64_t level = 0, end; level < levels; level = end) {
    int is_run;
    end = end_of_phase(s, level, merged, &is_run);
    if (phase)
      phase[s->phases] = (wr_lu_phase){s->level_slice[level], s->level_slice[end], (int32_t)level,
                                       is_run ? (int32_t)(end - level) : 0};
    s->phases++;
    int64_t unknowns = end_of_level(s, end - 1) - s->slice[s->level_slice[level]].first;
    if (is_run && unknowns > most) most = unknowns;
  }
  for (s->slots = most > 0; s->slots && s->slots < most && s->slots < WR_LU_MOST_SLOTS;) s->slots *= 2;
}

/* ---- Entries ---- */

/* A level as its slices see it: unknowns above `newest` - slots, from `run` on, are in shared memory; run = unknowns:
 * none is. */
typedef struct level_view {
  int64_t run, newest;
} level_view;

static int32_t column_for(const wr_lu_slices *s, const level_view *view, int64_t unknown) {
  int is_near = unknown >= view->run && unknown > view->newest - s->slots;
  return (int32_t)(is_near ? ~(unknown & (s->slots - 1)) : unknown);
}

/* Entries of lane l of a slice. base: the first unknown of its factor. */
static void fill_lane(const triangle *h, int64_t base, wr_lu_slices *s, const wr_lu_slice *slice,
                      const level_view *view, int l) {
  int width = slice->shape & 255, count = (int)(slice->shape >> 8 & 31) + 1, log_lanes = slice->shape >> 13 & 7;
  int64_t at = LANES * (int64_t)slice->group + l;
  int64_t u = l >> log_lanes < count ? h->sorted[slice->first - base + (l >> log_lanes)] : -1;
  for (int e = 0; e < width; e++, at += LANES) {
    int64_t k = ((int64_t)e << log_lanes) + (l & ((1 << log_lanes) - 1));
    int is_there = u >= 0 && k < h->length[u];
    s->col[at] = is_there ? column_for(s, view, base + h->place[input_of(h, u, k)]) : WR_LU_NONE;
    s->val[at] = is_there ? (h->begin[u] < 0 ? -1 : h->val[h->begin[u] + k]) : 0;
  }
}

/* The gate of slices of a level; -1: none, or by slice. */
static int32_t level_gate(const wr_lu_slices *s, int64_t level, const level_view *view, wr_lu_gates gates) {
  if (view->run < s->unknowns || level < 2 || gates != WR_LU_GATE_LEVEL) return -1;
  return (int32_t)(end_of_level(s, level - 2) - 1);
}

/* The last input of a slice that is not part of a run. */
static int32_t last_input(const wr_lu_slices *s, const wr_lu_slice *slice) {
  int32_t last = -1;
  for (int64_t k = 0; k < LANES * (int64_t)(slice->shape & 255); k++) {
    int32_t col = s->col[LANES * (int64_t)slice->group + k];
    if (col > last) last = col;
  }
  return last;
}

static void fill_level(const triangle *h, int64_t base, wr_lu_slices *s, int64_t level, const level_view *view,
                       wr_lu_gates gates) {
  int64_t begin = s->level_slice[level], end = s->level_slice[level + 1];
  int32_t gate = level_gate(s, level, view, gates);
#pragma omp parallel for if (end - begin > 1024)
  for (int64_t k = begin; k < end; k++) {
    for (int l = 0; l < LANES; l++) fill_lane(h, base, s, &s->slice[k], view, l);
    s->slice[k].gate = gate;
    if (view->run == s->unknowns && gates == WR_LU_GATE_INPUT) s->slice[k].gate = last_input(s, &s->slice[k]);
  }
}

static void fill(const triangle *lower, const triangle *upper, wr_lu_gates gates, wr_lu_slices *s) {
  for (int64_t p = 0; p < s->phases; p++) {
    int64_t level = s->phase[p].level;
    level_view view = {s->phase[p].levels ? s->slice[s->phase[p].begin].first : s->unknowns, 0};
    for (; level < s->lower_levels + s->upper_levels && s->level_slice[level] < s->phase[p].end; level++) {
      int is_upper = level >= s->lower_levels;
      view.newest = end_of_level(s, level) - 1;
      fill_level(is_upper ? upper : lower, is_upper ? s->lower : 0, s, level, &view, gates);
    }
  }
}

/* source, into and inverse of all unknowns. */
static void fill_unknowns(const wr_lu *lu, const triangle *lower, const triangle *upper, wr_lu_slices *s) {
  for (int64_t k = 0; k < s->lower; k++) {
    int32_t i = lower->row[lower->sorted[k]];
    s->source[k] = i < 0 || lu->order == NULL ? i : lu->order[i];
  }
  for (int64_t k = 0; k < upper->count; k++) {
    int32_t i = upper->row[upper->sorted[k]];
    s->source[s->lower + k] = i < 0 ? -1 : lower->place[lower->of[i]];
    s->into[k] = i < 0 || lu->order == NULL ? i : lu->order[i];
    s->inverse[k] = i < 0 ? 1 : lu->inverse[i];
  }
}

static wr_status allocate(wr_lu_slices *s, int merged) {
  const char *what = "triangular factors by levels";
  find_phases(s, merged, NULL);
  PASS(wr_alloc(&s->phase, s->phases, sizeof *s->phase, what));
  find_phases(s, merged, s->phase);
  PASS(wr_alloc(&s->source, s->unknowns, sizeof *s->source, what));
  PASS(wr_alloc(&s->into, s->unknowns - s->lower, sizeof *s->into, what));
  PASS(wr_alloc(&s->inverse, s->unknowns - s->lower, sizeof *s->inverse, what));
  PASS(wr_alloc(&s->col, LANES * s->groups, sizeof *s->col, what));
  PASS(wr_alloc(&s->val, LANES * s->groups, sizeof *s->val, what));
  return WR_OK;
}

wr_status wr_lu_slices_make(const wr_lu *lu, int merged, wr_lu_gates gates, wr_lu_slices *s) {
  wr_status status;
  triangle lower = {0}, upper = {0};
  wr_lu_slice *slice = NULL;
  *s = (wr_lu_slices){.n = lu->n};
  TRY(triangle_make(&lower, lu->n, lu->l_ptr, lu->l_col, lu->l_val, 0));
  TRY(triangle_make(&upper, lu->n, lu->u_ptr, lu->u_col, lu->u_val, 1));
  s->lower = lower.count, s->unknowns = lower.count + upper.count;
  s->lower_levels = lower.levels, s->upper_levels = upper.levels;
  cut_both(&lower, &upper, s);
  if (s->groups > UINT32_MAX) TRY(wr_fail(WR_EUNAVAILABLE, "triangular factors with 2^37 entries"));
  TRY(wr_alloc(&slice, s->slices, sizeof *slice, "triangular factors by levels"));
  TRY(wr_alloc(&s->level_slice, lower.levels + upper.levels + 1, sizeof *s->level_slice, "levels"));
  s->slice = slice;
  cut_both(&lower, &upper, s);
  s->level_slice[lower.levels + upper.levels] = (int32_t)s->slices;
  TRY(allocate(s, merged));
  fill(&lower, &upper, gates, s);
  fill_unknowns(lu, &lower, &upper, s);
done:
  triangle_free(&lower), triangle_free(&upper);
  if (status != WR_OK) wr_lu_slices_free(s);
  return status;
}

void wr_lu_slices_free(wr_lu_slices *s) {
  if (s == NULL) return;
  void *const blocks[] = {s->slice, s->phase, s->level_slice, s->source, s->into, s->inverse, s->col, s->val};
  for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) wr_free(blocks[k]);
  *s = (wr_lu_slices){0};
}
