#include "solvers/scaling/matching.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "config/argument.h"
#include "config/defaults.h"
#include "config/memory.h"
#include "spmv/matrix/csr_argument.h"

/* Costs are binary logarithms in fixed point with so many digits behind the point: sums of them are exact, so equal paths are
 * equal, and the duals stay feasible without tolerances. The logarithms of two f64 differ by less than 2^12. */
enum { DIGITS = 20 };

/* The work of reaching a column or going on from its row: a place in the heap and memory that is in no cache. Searches that
 * lead all over 1 M rows took 120 to 150 ns for each of them and 10 ns for an entry (a core of a Xeon, 2026-11). */
enum { FAR = 12 };

/* Work between two questions to the watch: about 10 ms. */
enum { WATCH_STRIDE = 1 << 20 };

static const int64_t infinite = INT64_MAX;

/* An entry: in a cache line with the others of its row. */
typedef struct edge {
  int32_t column; /* -1: its value is 0                    */
  uint32_t cost;  /* log(largest of the row / |its value|) */
} edge;

/* What the search reads of a column at each of its entries, in half a cache line. */
typedef struct column {
  int64_t dual;
  int64_t distance; /* from the root of a search: infinite; -infinite: left out          */
  int32_t row;      /* matched to it, or -1                                              */
  int32_t from;     /* the row before it on its shortest path                            */
  int32_t place;    /* in the heap; -1: not there                                        */
} column;

typedef struct heap_item {
  int64_t distance;
  int32_t column;
} heap_item;

/* Rows are matched to columns. The duals are feasible: cost >= row_dual[i] + the dual of j for each entry (i, j), with equality
 * (the entry is tight) where i and j are matched. */
typedef struct search {
  const wr_csr *A;
  int64_t n;
  edge *edge;             /* [nnz]                                                                */
  int64_t *largest;       /* [n] logarithm of the largest |value| of a row                        */
  int64_t *row_dual;      /* [n]                                                                  */
  column *column;         /* [n]                                                                  */
  int32_t *column_of;     /* [n] of a row; -1: not matched                                        */
  heap_item *heap;        /* [n] columns by distance, the nearest at the top                      */
  int64_t heap_count;
  int32_t *ready;         /* [n] columns as far as the nearest one: a stack, which spares the heap */
  int64_t ready_count;
  int32_t *scanned;       /* [n] columns with a distance that is final                            */
  int64_t scanned_count;
  int64_t work, limit;    /* wr_matching.work so far, and at most                                 */
} search;

int64_t wr_matching_limit(const wr_csr *A) {
  if (A == NULL || A->nnz < 0 || A->nnz > INT64_MAX / WR_MATCHING_MULTIPLES) return 0;
  int64_t few = WR_MATCHING_WORK + A->nnz;
  return few < WR_MATCHING_MULTIPLES * A->nnz ? few : WR_MATCHING_MULTIPLES * A->nnz;
}

/* The binary logarithm of |value|, also of one below the normal numbers. */
static int64_t logarithm(double value) {
  int exponent;
  double mantissa = frexp(fabs(value), &exponent);
  return (int64_t)exponent * (1 << DIGITS) + llround(log2(mantissa) * (1 << DIGITS));
}

static void find_costs(search *s) {
  const wr_csr *A = s->A;
#pragma omp parallel for schedule(guided) if (A->nnz > 1 << 12)
  for (int64_t i = 0; i < s->n; i++) {
    double largest = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) largest = fmax(largest, A->val ? fabs(A->val[k]) : 1);
    s->largest[i] = largest > 0 ? logarithm(largest) : 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      double value = A->val ? fabs(A->val[k]) : 1;
      s->edge[k].column = value == 0 ? -1 : A->col[k];
      s->edge[k].cost = value == 0 || value == largest ? 0 : (uint32_t)(s->largest[i] - logarithm(value));
    }
  }
}

static void match(search *s, int64_t i, int32_t j) { s->column_of[i] = j, s->column[j].row = (int32_t)i; }

/* 1 if edge e of row i is tight. */
static int is_tight(const search *s, int64_t i, edge e) {
  return e.column >= 0 && e.cost == s->row_dual[i] + s->column[e.column].dual;
}

/* Feasible duals: the least cost of a column. A row's entry of cost 0 makes that of its column 0, so the row's dual is 0. */
static void first_duals(search *s) {
  const wr_csr *A = s->A;
  for (int64_t j = 0; j < s->n; j++) s->column[j] = (column){.dual = infinite, .row = -1, .place = -1};
  for (int64_t k = 0; k < A->nnz; k++) {
    edge e = s->edge[k];
    if (e.column >= 0 && e.cost < s->column[e.column].dual) s->column[e.column].dual = e.cost;
  }
  for (int64_t j = 0; j < s->n; j++)
    if (s->column[j].dual == infinite) s->column[j].dual = 0;
  s->work += A->nnz;
}

/* Matches diagonal elements that are tight, so that a matrix with a large diagonal keeps its rows where they are; then each row
 * to a column that is free, by a tight entry. */
static void assign_tight(search *s) {
  const wr_csr *A = s->A;
  for (int pass = 0; pass < 2; pass++)
    for (int64_t i = 0; i < s->n; i++)
      for (int64_t k = A->row_ptr[i]; s->column_of[i] < 0 && k < A->row_ptr[i + 1]; k++) {
        edge e = s->edge[k];
        if ((pass > 0 || e.column == i) && is_tight(s, i, e) && s->column[e.column].row < 0) match(s, i, e.column);
      }
  s->work += 2 * A->nnz;
}

/* Moves the row of a column that a free row needs to another, free column, all by tight entries. An entry of a row that moves
 * is looked at once in all: columns do not become free again. */
static void assign_in_two_steps(search *s, int64_t *next) {
  const wr_csr *A = s->A;
  memcpy(next, A->row_ptr, (size_t)s->n * sizeof *next);
  for (int64_t i = 0; i < s->n; i++)
    for (int64_t k = A->row_ptr[i]; s->column_of[i] < 0 && k < A->row_ptr[i + 1]; k++) {
      edge e = s->edge[k];
      if (!is_tight(s, i, e)) continue;
      int32_t other = s->column[e.column].row;
      while (other >= 0 && next[other] < A->row_ptr[other + 1]) {
        edge way = s->edge[next[other]++];
        if (!is_tight(s, other, way) || s->column[way.column].row >= 0) continue;
        match(s, other, way.column);
        other = -1;
      }
      if (other < 0) match(s, i, e.column);
    }
  s->work += 2 * A->nnz;
}

/* ---- the heap: binary, the nearest column at the top ---- */

static void put(search *s, int64_t at, heap_item item) {
  s->heap[at] = item;
  s->column[item.column].place = (int32_t)at;
}

static void sift_up(search *s, int64_t at, heap_item item) {
  for (; at > 0 && s->heap[(at - 1) / 2].distance > item.distance; at = (at - 1) / 2) put(s, at, s->heap[(at - 1) / 2]);
  put(s, at, item);
}

static int32_t take_nearest(search *s) {
  int32_t nearest = s->heap[0].column;
  heap_item last = s->heap[--s->heap_count];
  int64_t at = 0, child;
  s->column[nearest].place = -1;
  if (s->heap_count == 0) return nearest;
  while ((child = 2 * at + 1) < s->heap_count) {
    if (child + 1 < s->heap_count && s->heap[child + 1].distance < s->heap[child].distance) child++;
    if (last.distance <= s->heap[child].distance) break;
    put(s, at, s->heap[child]);
    at = child;
  }
  put(s, at, last);
  return nearest;
}

/* ---- shortest augmenting paths ---- */

/* Looks at the entries of a row at a distance from the root. *best, *end: the nearest free column so far. */
static void scan_row(search *s, int32_t row, int64_t distance, int64_t *best, int32_t *end) {
  const wr_csr *A = s->A;
  int64_t from = distance - s->row_dual[row];
  s->work += A->row_ptr[row + 1] - A->row_ptr[row] + FAR;
  for (int64_t k = A->row_ptr[row]; k < A->row_ptr[row + 1]; k++) {
    edge e = s->edge[k];
    if (e.column < 0) continue;
    column *c = &s->column[e.column];
    int64_t length = from + e.cost - c->dual;
    if (length >= *best || length >= c->distance) continue;
    c->from = row;
    s->work += FAR;
    if (c->row < 0) {
      *best = length, *end = e.column;
      if (length == distance) return; /* no path is shorter */
      continue;
    }
    c->distance = length;
    if (length == distance && c->place < 0)
      s->ready[s->ready_count++] = e.column;
    else
      sift_up(s, c->place < 0 ? s->heap_count++ : c->place, (heap_item){length, e.column});
  }
}

/* Dijkstra from a row that is not matched, until no free column can be nearer than the one found. Returns this column and its
 * distance; -1: there is none. */
static int32_t find_path(search *s, int32_t root, int64_t *best) {
  int32_t end = -1, row = root;
  int64_t distance = 0;
  *best = infinite;
  s->heap_count = s->ready_count = s->scanned_count = 0;
  for (;;) {
    int32_t next;
    scan_row(s, row, distance, best, &end);
    if (*best <= distance || s->work > s->limit) break;
    if (s->ready_count > 0) {
      next = s->ready[--s->ready_count];
    } else {
      if (s->heap_count == 0 || s->heap[0].distance >= *best) break;
      next = take_nearest(s);
      distance = s->column[next].distance;
    }
    s->scanned[s->scanned_count++] = next;
    row = s->column[next].row;
  }
  return end;
}

/* Moves the duals so that the path becomes tight, and matches along it. */
static void augment(search *s, int32_t root, int32_t end, int64_t best) {
  for (int64_t k = 0; k < s->scanned_count; k++) {
    column *c = &s->column[s->scanned[k]];
    int64_t move = best - c->distance;
    c->dual -= move, s->row_dual[c->row] += move;
  }
  s->row_dual[root] += best;
  for (int32_t j = end, i, next; j >= 0; j = next) {
    i = s->column[j].from, next = s->column_of[i];
    match(s, i, j);
  }
}

/* Makes distances infinite again. Without an augmenting path from the root, later paths cannot lead through the columns that it
 * reaches either (they form a Hungarian tree): these are left out from then on. Their duals stay while those of rows grow, so
 * that lengths of paths to them may become negative. */
static void forget_distances(search *s, int found) {
  for (int64_t k = 0; k < s->scanned_count; k++) s->column[s->scanned[k]].distance = found ? infinite : -infinite;
  for (int64_t k = 0; k < s->ready_count; k++) s->column[s->ready[k]].distance = infinite;
  for (int64_t k = 0; k < s->heap_count; k++) {
    column *c = &s->column[s->heap[k].column];
    c->distance = infinite, c->place = -1;
  }
}

static int has_entries(const search *s, int64_t i) {
  for (int64_t k = s->A->row_ptr[i]; k < s->A->row_ptr[i + 1]; k++)
    if (s->edge[k].column >= 0) return 1;
  return 0;
}

/* Of several rows without a match the first is named, but an empty one rather. Later trees lack the columns of earlier ones. */
static void note_unmatched(const search *s, int32_t root, wr_matching *m) {
  int is_empty = !has_entries(s, root);
  if (m->deficiency++ > 0 && !(is_empty && m->rows_beside > 0)) return;
  m->row = root, m->rows_beside = is_empty ? 0 : s->scanned_count;
}

static void match_all(search *s, const wr_watch *watch, wr_matching *m) {
  int64_t asked = s->work;
  for (int64_t j = 0; j < s->n; j++) s->column[j].distance = infinite;
  for (int64_t i = 0; i < s->n; i++) {
    int64_t best;
    if (s->column_of[i] >= 0) continue;
    if (s->work - asked >= WATCH_STRIDE) {
      asked = s->work;
      if (wr_watch_check_at(watch, "matching rows", (double)i / (double)s->n) != WR_OK) {
        m->end = WR_MATCHING_ENDED;
        return;
      }
    }
    int32_t end = find_path(s, (int32_t)i, &best);
    if (s->work > s->limit) {
      m->end = WR_MATCHING_GIVEN_UP;
      return;
    }
    if (end >= 0)
      augment(s, (int32_t)i, end, best);
    else
      note_unmatched(s, (int32_t)i, m);
    forget_distances(s, end >= 0);
  }
  m->end = m->deficiency > 0 ? WR_MATCHING_SINGULAR : WR_MATCHING_FOUND;
}

/* The nearest whole power of two of a logarithm in fixed point. */
static int rounded(int64_t logarithm_of) { return (int)((logarithm_of + (1 << (DIGITS - 1))) >> DIGITS); }

/* The duals as exponents; those of columns lie around 0. Rounding moves a product of both by at most a factor of 2. */
static wr_status find_exponents(const search *s, wr_matching *m) {
  int64_t least = infinite, most = -infinite;
  PASS(wr_alloc(&m->row_exponent, s->n, sizeof *m->row_exponent, "a scaling"));
  PASS(wr_alloc(&m->column_exponent, s->n, sizeof *m->column_exponent, "a scaling"));
  for (int64_t j = 0; j < s->n; j++) {
    least = s->column[j].dual < least ? s->column[j].dual : least;
    most = s->column[j].dual > most ? s->column[j].dual : most;
  }
  int64_t middle = least + (most - least) / 2;
  for (int64_t i = 0; i < s->n; i++) {
    m->row_exponent[i] = rounded(s->row_dual[i] - s->largest[i] + middle);
    m->column_exponent[i] = rounded(s->column[i].dual - middle);
  }
  return WR_OK;
}

static wr_status open_search(search *s) {
  int64_t n = s->n;
  PASS(wr_alloc(&s->edge, s->A->nnz, sizeof *s->edge, "matching rows"));
  PASS(wr_alloc(&s->largest, n, sizeof *s->largest, "matching rows"));
  PASS(wr_alloc(&s->row_dual, n, sizeof *s->row_dual, "matching rows"));
  PASS(wr_alloc(&s->column, n, sizeof *s->column, "matching rows"));
  PASS(wr_alloc(&s->column_of, n, sizeof *s->column_of, "matching rows"));
  PASS(wr_alloc(&s->heap, n, sizeof *s->heap, "matching rows"));
  PASS(wr_alloc(&s->ready, n, sizeof *s->ready, "matching rows"));
  PASS(wr_alloc(&s->scanned, n, sizeof *s->scanned, "matching rows"));
  for (int64_t i = 0; i < n; i++) s->column_of[i] = -1, s->row_dual[i] = 0;
  return WR_OK;
}

static void close_search(search *s) {
  void *const blocks[] = {s->edge,      s->largest, s->row_dual, s->column,
                          s->column_of, s->heap,    s->ready,    s->scanned};
  for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) wr_free(blocks[k]);
}

wr_status wr_matching_find(const wr_csr *A, int64_t limit, const wr_watch *watch, wr_matching *m) {
  wr_status status;
  WR_NEED(m);
  *m = (wr_matching){0};
  WR_NEED_HOST(A);
  WR_REFUSE_IF(A->nrows != A->ncols, "A is %lld x %lld, not square", (long long)A->nrows, (long long)A->ncols);
  search s = {.A = A, .n = A->nrows, .limit = limit > 0 ? limit : 0};
  int64_t *next = NULL; /* of a row: the entry to look at next */
  TRY(open_search(&s));
  find_costs(&s);
  first_duals(&s);
  assign_tight(&s);
  TRY(wr_alloc(&next, s.n, sizeof *next, "matching rows"));
  assign_in_two_steps(&s, next);
  for (int64_t i = 0; i < s.n; i++) m->cheap += s.column_of[i] >= 0;
  s.limit += s.work;
  match_all(&s, watch, m);
  m->n = s.n, m->work = s.work;
  if (m->end == WR_MATCHING_FOUND) TRY(find_exponents(&s, m));
  TRY(wr_alloc(&m->row_of, s.n, sizeof *m->row_of, "the order of rows"));
  for (int64_t j = 0; j < s.n; j++) m->row_of[j] = s.column[j].row;
done:
  wr_free(next);
  close_search(&s);
  if (status != WR_OK) wr_matching_free(m);
  return status;
}

void wr_matching_free(wr_matching *m) {
  if (m == NULL) return;
  wr_free(m->row_of);
  wr_free(m->row_exponent);
  wr_free(m->column_exponent);
  *m = (wr_matching){0};
}
