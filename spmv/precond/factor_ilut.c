/* ILUT(p, tau) (Saad 2003, section 10.4.1): rows are eliminated as in ILU(0), but the pattern of the factors follows from the
 * sizes of their elements. */
#include <math.h>
#include <stdlib.h>

#include "config/memory.h"
#include "config/memory_limits.h"
#include "spmv/matrix/csr_argument.h"
#include "spmv/precond/ilu.h"

static const char what[] = "the incomplete factorisation";

/* One side of the factors, and how much it may grow. */
typedef struct side {
  int64_t count, capacity, most; /* entries */
  int32_t *col;
  double *val;
} side;

/* An element of a row. */
typedef struct element {
  int32_t col;
  double val;
} element;

/* The row that is being eliminated. */
typedef struct work {
  double *value;    /* [n] by column                                                    */
  char *is_in;      /* [n] 1: the column is in the row                                  */
  int32_t *heap;    /* [n] columns below the diagonal that are still to be eliminated   */
  int64_t waiting;  /* in the heap                                                      */
  int32_t *upper;   /* [n] columns above the diagonal                                   */
  element *kept;    /* [n] of one side                                                  */
  int64_t nupper, nkept;
} work;

static wr_status open_work(int64_t n, work *w) {
  PASS(wr_alloc_zeroed(&w->value, n, sizeof *w->value, what));
  PASS(wr_alloc_zeroed(&w->is_in, n, sizeof *w->is_in, what));
  PASS(wr_alloc(&w->heap, n, sizeof *w->heap, what));
  PASS(wr_alloc(&w->upper, n, sizeof *w->upper, what));
  return wr_alloc(&w->kept, n, sizeof *w->kept, what);
}

static void close_work(work *w) {
  wr_free(w->value);
  wr_free(w->is_in);
  wr_free(w->heap);
  wr_free(w->upper);
  wr_free(w->kept);
}

/* ---- the heap: its least column is heap[0] ---- */

static void push(work *w, int32_t col) {
  int64_t at = w->waiting++;
  for (; at > 0 && w->heap[(at - 1) / 2] > col; at = (at - 1) / 2) w->heap[at] = w->heap[(at - 1) / 2];
  w->heap[at] = col;
}

static int32_t pop(work *w) {
  int32_t least = w->heap[0], last = w->heap[--w->waiting];
  int64_t at = 0;
  for (int64_t child = 1; child < w->waiting; child = 2 * at + 1) {
    if (child + 1 < w->waiting && w->heap[child + 1] < w->heap[child]) child++;
    if (w->heap[child] >= last) break;
    w->heap[at] = w->heap[child], at = child;
  }
  w->heap[at] = last;
  return least;
}

/* ---- a row ---- */

/* value[col] += value, col becoming part of row i. */
static void add(work *w, int64_t i, int32_t col, double value) {
  w->value[col] += value;
  if (w->is_in[col]) return;
  w->is_in[col] = 1;
  if (col < i) push(w, col);
  if (col > i) w->upper[w->nupper++] = col;
}

/* Ends the use of a column, and returns its element. */
static double take(work *w, int32_t col) {
  double value = w->value[col];
  w->value[col] = 0, w->is_in[col] = 0;
  return value;
}

static double row_norm(const wr_csr *B, int64_t i) {
  double size = wr_ilu_row_size(B, i), sum = 0;
  if (!(size > 0) || !isfinite(size)) return 0;
  for (int64_t k = B->row_ptr[i]; k < B->row_ptr[i + 1]; k++) {
    double part = (B->val ? B->val[k] : 1) / size; /* its square does not overflow */
    sum += part * part;
  }
  return size * sqrt(sum);
}

/* Eliminates row i; the elements of L are then in w->kept, ascending. Returns the entries used. */
static int64_t eliminate(const wr_lu *lu, int64_t i, double bound, work *w) {
  int64_t used = 0;
  w->nkept = 0;
  while (w->waiting > 0) {
    int32_t above = pop(w);
    double before = take(w, above), factor = before * lu->inverse[above];
    if (fabs(before) <= bound) continue; /* like the row's norm in the unit of A, which the factor has not */
    w->kept[w->nkept++] = (element){above, factor};
    for (int64_t k = lu->u_ptr[above]; k < lu->u_ptr[above + 1]; k++) add(w, i, lu->u_col[k], -factor * lu->u_val[k]);
    used += lu->u_ptr[above + 1] - lu->u_ptr[above];
  }
  return used;
}

/* w->kept := the elements of U. */
static void collect_upper(double bound, work *w) {
  w->nkept = 0;
  for (int64_t k = 0; k < w->nupper; k++) {
    int32_t col = w->upper[k];
    double value = take(w, col);
    if (!(fabs(value) <= bound)) w->kept[w->nkept++] = (element){col, value};
  }
  w->nupper = 0;
}

/* Larger ones first, of equal ones the smaller column; a NaN is as large as infinity. */
static int by_size(const void *a, const void *b) {
  const element *x = a, *y = b;
  double p = isnan(x->val) ? INFINITY : fabs(x->val), q = isnan(y->val) ? INFINITY : fabs(y->val);
  if (p != q) return p < q ? 1 : -1;
  return (x->col > y->col) - (x->col < y->col);
}

static int by_column(const void *a, const void *b) {
  const element *x = a, *y = b;
  return (x->col > y->col) - (x->col < y->col);
}

static wr_status reserve(side *s, int64_t count) {
  if (s->count + count <= s->capacity) return WR_OK;
  int64_t capacity = s->capacity + s->capacity / 2;
  if (capacity < s->count + count) capacity = s->count + count;
  if (capacity > s->most) capacity = s->most; /* at least what is needed, since rows keep no more than their share */
  PASS(wr_resize(&s->col, capacity * (int64_t)sizeof *s->col, what));
  PASS(wr_resize(&s->val, capacity * (int64_t)sizeof *s->val, what));
  s->capacity = capacity;
  return WR_OK;
}

/* Appends the `most` largest elements of w->kept to a side, ascending by column. *finite := 0 if one is not. */
static wr_status keep_largest(work *w, int64_t most, side *s, int *finite) {
  if (w->nkept > most) {
    qsort(w->kept, (size_t)w->nkept, sizeof *w->kept, by_size);
    w->nkept = most;
  }
  qsort(w->kept, (size_t)w->nkept, sizeof *w->kept, by_column);
  wr_status status = reserve(s, w->nkept);
  for (int64_t k = 0; k < w->nkept && status == WR_OK; k++) {
    s->col[s->count] = w->kept[k].col, s->val[s->count++] = w->kept[k].val;
    if (!isfinite(w->kept[k].val)) *finite = 0;
  }
  return status;
}

/* Entries of row i of B below and above the diagonal. */
static void count_sides(const wr_csr *B, int64_t i, int64_t *below, int64_t *above) {
  *below = *above = 0;
  for (int64_t k = B->row_ptr[i]; k < B->row_ptr[i + 1]; k++) *below += B->col[k]<i, *above += B->col[k]> i;
}

/* Capacities: at first those of ILU(0), at most fill more in each row, and never more than full triangles have. */
static wr_status open_sides(const wr_csr *B, int64_t fill, side *lower, side *upper) {
  wr_status status = WR_OK;
  int64_t below, above, n = B->nrows;
  for (int64_t i = 0; i < n; i++) {
    count_sides(B, i, &below, &above);
    lower->capacity += below, upper->capacity += above;
    lower->most += below + fill < i ? below + fill : i;
    upper->most += above + fill < n - 1 - i ? above + fill : n - 1 - i;
  }
  int64_t bytes = (lower->most + upper->most) * (int64_t)(sizeof(int32_t) + sizeof(double));
  status = wr_memory_check(bytes, "the factors of --precond ilut");
  if (status == WR_ENOMEM) {
    wr_error error;
    wr_error_keep(&error, status);
    return wr_fail(WR_ENOMEM, "%.400s; a smaller fill takes less, and so does --precond ilu0", error.text);
  }
  TRY(status);
  TRY(wr_alloc(&lower->col, lower->capacity, sizeof *lower->col, what));
  TRY(wr_alloc(&lower->val, lower->capacity, sizeof *lower->val, what));
  TRY(wr_alloc(&upper->col, upper->capacity, sizeof *upper->col, what));
  TRY(wr_alloc(&upper->val, upper->capacity, sizeof *upper->val, what));
done:
  return status;
}

static void lend(wr_lu *lu, const side *lower, const side *upper) {
  lu->l_col = lower->col, lu->l_val = lower->val, lu->u_col = upper->col, lu->u_val = upper->val;
}

wr_status wr_ilut(const wr_csr *B, double drop, int64_t fill, double least, const wr_watch *watch, wr_lu *lu,
                  wr_ilu_shifts *shifts) {
  wr_status status;
  work w = {0};
  side lower = {0}, upper = {0};
  int64_t used = 0;
  WR_NEED(lu);
  WR_NEED(shifts);
  *shifts = (wr_ilu_shifts){.first_row = -1};
  WR_NEED_HOST(B);
  WR_REFUSE_IF(B->nrows != B->ncols, "B is %lld x %lld", (long long)B->nrows, (long long)B->ncols);
  WR_REFUSE_IF(!(drop >= 0) || isinf(drop), "drop is %g", drop);
  WR_REFUSE_IF(fill < 0 || fill > WR_MAX_INDEX, "fill is %lld", (long long)fill);
  WR_REFUSE_IF(!(least > 0 && least < 1), "least is %g; it is in (0, 1)", least);
  lu->n = B->nrows;
  TRY(open_sides(B, fill, &lower, &upper));
  TRY(wr_alloc(&lu->l_ptr, lu->n + 1, sizeof *lu->l_ptr, what));
  TRY(wr_alloc(&lu->u_ptr, lu->n + 1, sizeof *lu->u_ptr, what));
  TRY(wr_alloc(&lu->inverse, lu->n, sizeof *lu->inverse, what));
  TRY(open_work(lu->n, &w));
  lu->l_ptr[0] = lu->u_ptr[0] = 0;
  for (int64_t i = 0; i < lu->n; i++) {
    int64_t below, above;
    int finite = 1;
    double bound = drop * row_norm(B, i);
    if (used >= WR_ILU_STRIDE) TRY(wr_watch_check_at(watch, what, (double)i / (double)B->nrows));
    if (used >= WR_ILU_STRIDE) used = 0;
    count_sides(B, i, &below, &above);
    for (int64_t k = B->row_ptr[i]; k < B->row_ptr[i + 1]; k++) add(&w, i, B->col[k], B->val ? B->val[k] : 1);
    used += eliminate(lu, i, bound, &w) + 1;
    TRY(keep_largest(&w, below + fill, &lower, &finite));
    collect_upper(bound, &w);
    TRY(keep_largest(&w, above + fill, &upper, &finite));
    lend(lu, &lower, &upper); /* growing may have moved them */
    lu->l_ptr[i + 1] = lower.count, lu->u_ptr[i + 1] = upper.count;
    double pivot = take(&w, (int32_t)i);
    if (!finite) TRY(wr_ilu_refuse_row(B, lu, i));
    TRY(wr_ilu_set_pivot(B, least, i, &pivot, lu, shifts));
  }
done:
  lend(lu, &lower, &upper);
  close_work(&w);
  return status;
}
