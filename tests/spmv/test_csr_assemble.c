/* Triplets to rows, against a plain reference: a stable sort by place, then one pass. Any number of threads and any cut into
 * chunks must give the same bits. */
#define _DEFAULT_SOURCE
#include <omp.h>
#include <stdlib.h>

#include "config/memory.h"
#include "spmv/matrix/csr.h"
#include "tests/check.h"
#include "tests/spmv/feed_recorder.h"
#include "tests/io/input_fixture.h"

static uint64_t random_state = 5;

static uint64_t random_bits(void) { /* splitmix64 */
  uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static int64_t below(int64_t limit) { return (int64_t)(random_bits() % (uint64_t)limit); }

typedef struct item {
  int32_t row, col;
  double val;
  int64_t order;
} item;

typedef struct list {
  int64_t nrows, ncols, count;
  wr_symmetry symmetry;
  int values;
  item *items; /* [count], in file order */
} list;

static list make_list(int64_t nrows, int64_t ncols, wr_symmetry symmetry, int values) {
  return (list){.nrows = nrows, .ncols = ncols, .symmetry = symmetry, .values = values, .items = NULL};
}

static void add(list *l, int64_t i, int64_t j, double value) {
  if ((l->count & (l->count - 1)) == 0) l->items = realloc(l->items, sizeof *l->items * (size_t)(2 * l->count + 1));
  l->items[l->count++] = (item){.row = (int32_t)i, .col = (int32_t)j, .val = l->values ? value : 1};
}

/* The list as triplets in nchunks chunks of random lengths, empty ones among them. */
static wr_triplets cut(const list *l, int64_t nchunks) {
  wr_triplets t = {.nrows = l->nrows, .ncols = l->ncols, .symmetry = l->symmetry, .nchunks = nchunks};
  CHECK_OK(wr_alloc_zeroed(&t.chunks, nchunks, sizeof *t.chunks, "a test"));
  int64_t begin = 0;
  for (int64_t c = 0; c < nchunks; c++) {
    wr_triplet_chunk *chunk = &t.chunks[c];
    int64_t left = l->count - begin;
    chunk->count = c == nchunks - 1 ? left : below(2 * left / (nchunks - c) + 1);
    if (chunk->count > left) chunk->count = left;
    chunk->capacity = chunk->count;
    CHECK_OK(wr_alloc(&chunk->row, chunk->count, sizeof *chunk->row, "a test"));
    CHECK_OK(wr_alloc(&chunk->col, chunk->count, sizeof *chunk->col, "a test"));
    if (l->values) CHECK_OK(wr_alloc(&chunk->val, chunk->count, sizeof *chunk->val, "a test"));
    for (int64_t k = 0; k < chunk->count; k++) {
      const item *e = &l->items[begin + k];
      chunk->row[k] = e->row, chunk->col[k] = e->col;
      if (l->values) chunk->val[k] = e->val;
    }
    begin += chunk->count;
  }
  return t;
}

static int by_place(const void *a, const void *b) {
  const item *x = a, *y = b;
  if (x->row != y->row) return x->row < y->row ? -1 : 1;
  if (x->col != y->col) return x->col < y->col ? -1 : 1;
  return x->order < y->order ? -1 : 1;
}

/* What assembling must give: expanded, sorted, merged by addition in file order. *n := how many. */
static item *reference(const list *l, int64_t *expanded, int64_t *n) {
  item *all = malloc(sizeof *all * (size_t)(2 * l->count + 1));
  int64_t count = 0;
  for (int64_t k = 0; k < l->count; k++) {
    item e = l->items[k];
    e.order = count;
    all[count++] = e;
    if (l->symmetry == WR_GENERAL || e.row == e.col) continue;
    double value = l->symmetry == WR_SYMMETRIC ? e.val : -e.val;
    all[count] = (item){.row = e.col, .col = e.row, .val = value, .order = count};
    count++;
  }
  *expanded = count;
  qsort(all, (size_t)count, sizeof *all, by_place);
  *n = 0;
  for (int64_t k = 0; k < count; k++) {
    if (*n > 0 && all[*n - 1].row == all[k].row && all[*n - 1].col == all[k].col)
      all[*n - 1].val += all[k].val;
    else
      all[(*n)++] = all[k];
  }
  return all;
}

static int is_equal(const wr_csr *A, const item *expected, int64_t n, int values) {
  if (A->nnz != n || (A->val != NULL) != values || A->row_ptr[0] != 0 || A->row_ptr[A->nrows] != n) return 0;
  int64_t k = 0;
  for (int64_t i = 0; i < A->nrows; i++)
    for (; k < A->row_ptr[i + 1]; k++)
      if (expected[k].row != i || expected[k].col != A->col[k] ||
          (values && memcmp(&expected[k].val, &A->val[k], 8) != 0))
        return 0;
  return k == n;
}

/* Assembles the list in many ways and frees it. */
static void check_list(list *l, wr_duplicates duplicates) {
  int64_t expanded, n;
  item *expected = reference(l, &expanded, &n);
  int values = l->values || (duplicates == WR_DUPLICATES_SUM && n < expanded), most = omp_get_max_threads();
  static const int threads[] = {1, 2, 3, 8};
  for (size_t k = 0; k < sizeof threads / sizeof threads[0]; k++) {
    omp_set_num_threads(threads[k]);
    wr_triplets t = cut(l, k == 0 ? 1 : 1 + below(40));
    wr_csr *A;
    int64_t repeated = -1;
    recorder r;
    recorder_open(&r);
    CHECK_OK(wr_csr_assemble_for(&r.feed, &t, duplicates, &A, &repeated));
    CHECKF(r.begun == 1 + (repeated > 0), "%d matrices", r.begun);
    CHECKF(threads[k] > 1 || r.told == 16, "%d announcements", r.told);
    recorder_check(&r, A);
    if (A != NULL) {
      CHECK_OK(wr_csr_check(A));
      CHECKF(is_equal(A, expected, n, values), "%lld entries, %d threads", (long long)l->count, threads[k]);
      CHECKF(repeated == expanded - n, "%lld repeated, not %lld", (long long)repeated, (long long)(expanded - n));
      CHECK(A->symmetric == (l->symmetry == WR_SYMMETRIC) && A->nrows == l->nrows && A->ncols == l->ncols);
    }
    for (int64_t c = 0; c < t.nchunks; c++) CHECK(t.chunks[c].row == NULL); /* assembling frees the chunks */
    wr_csr_free(A);
    wr_triplets_free(&t);
    CHECK(t.chunks == NULL && t.nchunks == 0);
  }
  omp_set_num_threads(most);
  free(expected);
  free(l->items);
}

static double random_value(void) { return (double)(int64_t)random_bits() * 0x1p-40; }

static void test_small(void) {
  CASE("small matrices");
  list l = make_list(3, 5, WR_GENERAL, 1);
  check_list(&l, WR_DUPLICATES_SUM); /* no entries at all */
  l = make_list(1, 1, WR_GENERAL, 0);
  check_list(&l, WR_DUPLICATES_ONCE);
  l = make_list(1, 1, WR_SYMMETRIC, 1);
  add(&l, 0, 0, -0.0);
  check_list(&l, WR_DUPLICATES_SUM);
  l = make_list(2, 2, WR_SKEW_SYMMETRIC, 1);
  add(&l, 1, 0, 0.0); /* mirrored: -0 */
  check_list(&l, WR_DUPLICATES_SUM);
  for (int k = 0; k < 300; k++) {
    wr_symmetry symmetry = (wr_symmetry)below(3);
    int64_t nrows = 1 + below(12), ncols = symmetry == WR_GENERAL ? 1 + below(12) : nrows;
    l = make_list(nrows, ncols, symmetry, symmetry == WR_SKEW_SYMMETRIC || below(2));
    for (int64_t count = below(60); count > 0; count--) {
      int64_t i = below(nrows), j = below(symmetry == WR_GENERAL ? ncols : i + 1);
      add(&l, i, j, random_value());
    }
    check_list(&l, below(2) ? WR_DUPLICATES_SUM : WR_DUPLICATES_ONCE);
  }
}

/* Several buckets; rows of 0, of a few and of very many entries, in random, row and column order. */
static void test_large(void) {
  CASE("large matrices");
  enum { COUNT = 150000 };
  for (int kind = 0; kind < 6; kind++) {
    int64_t nrows = kind == 5 ? 70 : 300000;
    list l = make_list(nrows, 400000, WR_GENERAL, kind != 1);
    for (int64_t k = 0; k < COUNT; k++) {
      int64_t i = kind == 2 ? k * nrows / COUNT : below(3) == 0 ? 17 : below(nrows);
      int64_t j = kind == 3 ? k * 400000 / COUNT : below(kind == 4 ? 300 : 400000);
      add(&l, i, j, random_value());
    }
    check_list(&l, kind == 4 ? WR_DUPLICATES_ONCE : WR_DUPLICATES_SUM);
  }
  for (int kind = 0; kind < 2; kind++) {
    list l = make_list(200000, 200000, kind == 0 ? WR_SYMMETRIC : WR_SKEW_SYMMETRIC, 1);
    for (int64_t k = 0; k < COUNT; k++) {
      int64_t i = 1 + below(199999);
      add(&l, i, below(4) == 0 ? 0 : below(i), random_value());
    }
    check_list(&l, WR_DUPLICATES_SUM);
  }
}

/* Many rows, nearly all of them empty. */
static void test_sparse(void) {
  CASE("3 entries in 5 million rows");
  list l = make_list(5000000, INT32_MAX, WR_GENERAL, 1);
  add(&l, 4999999, INT32_MAX - 1, 3);
  add(&l, 0, 5, 1);
  add(&l, 1234567, 0, 2);
  check_list(&l, WR_DUPLICATES_SUM);
}

static void test_order_of_sums(void) {
  CASE("sums in file order");
  list l = make_list(2, 2, WR_SYMMETRIC, 1);
  add(&l, 1, 0, 1e16), add(&l, 1, 0, 1), add(&l, 1, 0, -1e16), add(&l, 1, 0, 1);
  wr_triplets t = cut(&l, 3);
  wr_csr *A;
  CHECK_OK(wr_csr_assemble(&t, WR_DUPLICATES_SUM, &A, NULL));
  CHECK(A != NULL && A->nnz == 2 && A->val[0] == 1 && A->val[1] == 1); /* 0 or 2 in another order */
  wr_csr_free(A);
  wr_triplets_free(&t);
  free(l.items);
}

static void check_fails(list *l, wr_status code, const char *why) {
  wr_triplets t = cut(l, 2);
  wr_csr *A;
  recorder r;
  recorder_open(&r);
  CHECK_FAILS(code, wr_csr_assemble_for(&r.feed, &t, WR_DUPLICATES_SUM, &A, NULL));
  CHECK_MESSAGE(why);
  recorder_check(&r, NULL);
  CHECK(A == NULL);
  wr_triplets_free(&t);
  free(l->items);
}

static void test_failures(void) {
  CASE("what cannot be assembled");
  list l = make_list(9, 9, WR_GENERAL, 1);
  for (int k = 0; k < 3; k++) add(&l, 8, 1, 1e308), add(&l, 5, 2, -1e308);
  check_fails(&l, WR_EINPUT, "row 6: ");
  l = make_list(9, 9, WR_GENERAL, 1);
  add(&l, 9, 0, 1);
  check_fails(&l, WR_EUSAGE, "outside");
  l = make_list(9, 9, WR_GENERAL, 1);
  add(&l, 0, 9, 1);
  check_fails(&l, WR_EUSAGE, "outside");
  l = make_list(9, 9, WR_GENERAL, 1);
  add(&l, -1, 0, 1);
  check_fails(&l, WR_EUSAGE, "outside");
  l = make_list(9, 8, WR_SYMMETRIC, 1);
  add(&l, 1, 0, 1);
  check_fails(&l, WR_EINPUT, "square");
  l = make_list(9, 9, WR_SKEW_SYMMETRIC, 0);
  add(&l, 1, 0, 1);
  check_fails(&l, WR_EINPUT, "needs values");
  l = make_list(9, 9, WR_GENERAL, 1);
  add(&l, 1, 0, 1), add(&l, 1, 1, 1);
  wr_triplets t = cut(&l, 1);
  wr_triplet_chunk both[2] = {{.count = 1, .row = t.chunks->row, .col = t.chunks->col, .val = t.chunks->val},
                              {.count = 1, .row = t.chunks->row, .col = t.chunks->col}};
  wr_triplets mixed = {.nrows = 9, .ncols = 9, .nchunks = 2, .chunks = both};
  wr_csr *A;
  CHECK_FAILS(WR_EUSAGE, wr_csr_assemble(&mixed, WR_DUPLICATES_SUM, &A, NULL));
  wr_triplets_free(&t);
  free(l.items);
}

/* Unsorted rows, some of them long, and duplicates: every kind of workspace is allocated. */
static void test_no_memory(void) {
  CASE("no memory");
  list l = make_list(40, 3000, WR_GENERAL, 1);
  for (int k = 0; k < 3000; k++) {
    int64_t i = below(40), j = below(3000);
    add(&l, i >> k % 6, j >> k % 3, 1);
  }
  int failures = 0;
  for (int allowed = 0; allowed < 100; allowed++) {
    wr_triplets t = cut(&l, 3);
    wr_csr *A;
    recorder r;
    recorder_open(&r);
    fixture_fail_after(allowed);
    wr_status status = wr_csr_assemble_for(allowed % 2 ? &r.feed : NULL, &t, WR_DUPLICATES_SUM, &A, NULL);
    fixture_fail_never();
    recorder_check(&r, allowed % 2 ? A : NULL);
    wr_csr_free(A);
    wr_triplets_free(&t);
    if (status == WR_OK) break;
    failures++;
    CHECKF(status == WR_ENOMEM && A == NULL, "%s", wr_status_message());
  }
  CHECKF(failures >= 16 && failures < 90, "%d failures", failures);
  free(l.items);
}

int main(void) {
  test_small();
  test_large();
  test_sparse();
  test_order_of_sums();
  test_failures();
  test_no_memory();
  return wr_test_report("csr_assemble");
}
