#include "spmv/parts/halo.h"

#include <math.h>
#include <string.h>

#include "config/memory.h"

enum { PARALLEL_FROM = 1 << 16 }; /* elements from which waking threads pays */

/* ---- which elements of x a part needs ---- */

/* A set of numbers between least and most: a bit for each, and how many there are before each word of bits. */
typedef struct bit_set {
  int64_t least, most, words;
  uint64_t *bits;
  int64_t *before;
} bit_set;

static int64_t column_of(const wr_csr *A, const int64_t *columns, int64_t k) {
  return columns ? columns[k] : A->col[k];
}

static int is_own(const wr_halo *h, int64_t column) { return column >= h->first && column < h->first + h->own; }

/* By several threads. Most elements are added many times, so the word is looked at first. */
static void add(bit_set *set, int64_t at) {
  uint64_t bit = UINT64_C(1) << at % 64;
  if (!(__atomic_load_n(&set->bits[at / 64], __ATOMIC_RELAXED) & bit))
    __atomic_fetch_or(&set->bits[at / 64], bit, __ATOMIC_RELAXED);
}

/* The columns of A that are no own ones. */
static wr_status find_remote(const wr_halo *h, const wr_csr *A, const int64_t *columns, bit_set *set) {
  int64_t least = INT64_MAX, most = INT64_MIN;
#pragma omp parallel for schedule(static) reduction(min : least) reduction(max : most) if (A->nnz >= PARALLEL_FROM)
  for (int64_t k = 0; k < A->nnz; k++) {
    int64_t column = column_of(A, columns, k);
    if (is_own(h, column)) continue;
    if (column < least) least = column;
    if (column > most) most = column;
  }
  int64_t wrong = least < h->starts[0] ? least : most;
  if (least <= most && (least < h->starts[0] || most >= h->starts[h->comm->size]))
    return wr_fail(WR_EINPUT, "column %lld is outside of the matrix", (long long)wrong + 1);
  set->least = least, set->most = most, set->words = least <= most ? (most - least) / 64 + 1 : 0;
  PASS(wr_alloc_zeroed(&set->bits, set->words, sizeof *set->bits, "columns of other parts"));
  PASS(wr_alloc(&set->before, set->words + 1, sizeof *set->before, "columns of other parts"));
#pragma omp parallel for schedule(static) if (A->nnz >= PARALLEL_FROM)
  for (int64_t k = 0; k < A->nnz; k++) {
    int64_t column = column_of(A, columns, k);
    if (!is_own(h, column)) add(set, column - least);
  }
  set->before[0] = 0;
  for (int64_t w = 0; w < set->words; w++) set->before[w + 1] = set->before[w] + __builtin_popcountll(set->bits[w]);
  return WR_OK;
}

static int64_t place_of(const bit_set *set, int64_t column) {
  int64_t at = column - set->least;
  uint64_t lower = set->bits[at / 64] & ((UINT64_C(1) << at % 64) - 1);
  return set->before[at / 64] + __builtin_popcountll(lower);
}

static wr_status list_remote(wr_halo *h, const bit_set *set) {
  h->count = set->words > 0 ? set->before[set->words] : 0;
  PASS(wr_alloc(&h->global, h->count, sizeof *h->global, "the halo"));
  int64_t at = 0;
  for (int64_t w = 0; w < set->words; w++)
    for (uint64_t left = set->bits[w]; left != 0; left &= left - 1)
      h->global[at++] = set->least + 64 * w + __builtin_ctzll(left);
  return WR_OK;
}

/* All elements of the other parts. */
static wr_status list_all(wr_halo *h) {
  wr_free(h->global);
  h->global = NULL;
  h->count = h->n_all - h->own;
  PASS(wr_alloc(&h->global, h->count, sizeof *h->global, "the halo"));
#pragma omp parallel for schedule(static) if (h->count >= PARALLEL_FROM)
  for (int64_t k = 0; k < h->count; k++) h->global[k] = h->starts[0] + k + (h->starts[0] + k >= h->first ? h->own : 0);
  return WR_OK;
}

/* ---- building it ---- */

static void count_by_part(wr_halo *h) {
  int64_t k = 0;
  for (int r = 0; r < h->comm->size; r++) {
    h->from[r] = k;
    while (k < h->count && h->global[k] < h->starts[r + 1]) k++;
  }
  h->from[h->comm->size] = k;
}

/* h->to and h->send: each part is told which of its rows the others need. */
static wr_status find_sends(wr_halo *h) {
  wr_status status;
  int size = h->comm->size;
  int64_t *counts = NULL, *got = NULL, *rows = NULL;
  status = wr_alloc(&counts, size, sizeof *counts, "the halo");
  if (status == WR_OK) status = wr_alloc(&got, size, sizeof *got, "the halo");
  TRY(wr_comm_agree(h->comm, status));
  for (int r = 0; r < size; r++) counts[r] = h->from[r + 1] - h->from[r];
  TRY(wr_comm_swap(h->comm, "the numbers of halos", h->global, counts, sizeof *h->global, &rows, got));
  h->to[0] = 0;
  for (int r = 0; r < size; r++) h->to[r + 1] = h->to[r] + got[r];
  status = wr_alloc(&h->send, h->to[size], sizeof *h->send, "the halo");
  if (status == WR_OK) status = wr_halo_make_room(h, 8);
  TRY(wr_comm_agree(h->comm, status));
#pragma omp parallel for schedule(static) if (h->to[size] >= PARALLEL_FROM)
  for (int64_t k = 0; k < h->to[size]; k++) h->send[k] = (int32_t)(rows[k] - h->first);
done:
  wr_free(counts);
  wr_free(got);
  wr_free(rows);
  return status;
}

/* Elements [from, to) of an array in the opposite order. */
#define REVERSE(type, array, from, to)                                   \
  for (int64_t low = (from), high = (to)-1; low < high; low++, high--) { \
    type spare = (array)[low];                                           \
    (array)[low] = (array)[high], (array)[high] = spare;                 \
  }

/* Exchanges elements [a, b) with [b, c) of an array, each in its order. */
#define ROTATE(type, array, a, b, c) \
  do {                               \
    REVERSE(type, array, a, b)       \
    REVERSE(type, array, b, c)       \
    REVERSE(type, array, a, c)       \
  } while (0)

/* Columns of the part in row i: own ones first, then the halo's. */
static void renumber_row(const wr_halo *h, const bit_set *set, const int64_t *columns, wr_csr *A, int64_t i) {
  int64_t a = A->row_ptr[i], b = a, c;
  while (b < A->row_ptr[i + 1] && column_of(A, columns, b) < h->first) b++;
  for (c = b; c < A->row_ptr[i + 1] && is_own(h, column_of(A, columns, c));) c++;
  for (int64_t k = a; k < A->row_ptr[i + 1]; k++) {
    int64_t column = column_of(A, columns, k), place;
    if (is_own(h, column))
      place = column - h->first;
    else if (h->whole)
      place = column < h->first ? h->own + column - h->starts[0] : column - h->starts[0];
    else
      place = h->own + place_of(set, column);
    A->col[k] = (int32_t)place;
  }
  if (a == b || b == c) return;
  ROTATE(int32_t, A->col, a, b, c);
  if (A->val) ROTATE(double, A->val, a, b, c);
}

static wr_status renumber(const wr_halo *h, const bit_set *set, const int64_t *columns, wr_csr *A) {
  if (h->own + h->count > WR_MAX_INDEX)
    return wr_fail(WR_EUSAGE, "a part needs %lld elements of x, more than %lld: start more processes",
                   (long long)(h->own + h->count), (long long)WR_MAX_INDEX);
#pragma omp parallel for schedule(dynamic, 1024) if (A->nnz >= PARALLEL_FROM)
  for (int64_t i = 0; i < A->nrows; i++) renumber_row(h, set, columns, A, i);
  A->ncols = h->own + h->count;
  return WR_OK;
}

static wr_status allocate(wr_comm *comm, const int64_t *starts, wr_csr *A) {
  wr_halo *h;
  int size = comm->size;
  PASS(wr_alloc_zeroed(&A->halo, 1, sizeof *h, "the halo"));
  h = A->halo;
  h->comm = comm, h->n_all = starts[size] - starts[0], h->nnz_all = A->nnz;
  h->first = starts[comm->rank], h->own = starts[comm->rank + 1] - h->first;
  PASS(wr_alloc(&h->starts, size + 1, sizeof *h->starts, "the halo"));
  PASS(wr_alloc_zeroed(&h->from, size + 1, sizeof *h->from, "the halo"));
  PASS(wr_alloc_zeroed(&h->to, size + 1, sizeof *h->to, "the halo"));
  PASS(wr_alloc_zeroed(&h->parcels, 2 * size, sizeof *h->parcels, "the halo"));
  memcpy(h->starts, starts, (size_t)(size + 1) * sizeof *starts);
  if (A->nrows != h->own)
    return wr_fail(WR_EINTERNAL, "a part has %lld rows instead of %lld", (long long)A->nrows, (long long)h->own);
  return WR_OK;
}

/* Whether the parts need more than seven eighths of what each could need: lists would then save little. */
static wr_status choose_whole(wr_halo *h) {
  int64_t needed = h->count;
  PASS(wr_comm_sum_counts(h->comm, &needed, 1));
  h->whole = h->n_all <= WR_MAX_INDEX && needed > (h->comm->size - 1) * h->n_all / 8 * 7;
  return WR_OK;
}

wr_status wr_halo_make(wr_comm *comm, const int64_t *starts, const int64_t *columns, wr_csr *A) {
  wr_status status;
  bit_set set = {0};
  TRY(wr_comm_agree(comm, allocate(comm, starts, A)));
  wr_halo *h = A->halo;
  TRY(wr_comm_sum_counts(comm, &h->nnz_all, 1));
  status = find_remote(h, A, columns, &set);
  if (status == WR_OK) status = list_remote(h, &set);
  TRY(wr_comm_agree(comm, status));
  TRY(choose_whole(h));
  if (h->whole) TRY(wr_comm_agree(comm, list_all(h)));
  count_by_part(h);
  if (!h->whole) TRY(find_sends(h));
  TRY(wr_comm_agree(comm, renumber(h, &set, columns, A)));
done:
  wr_free(set.bits);
  wr_free(set.before);
  return status;
}

wr_status wr_halo_keep_numbers(wr_halo *h, const int32_t *numbers) {
  PASS(wr_alloc(&h->file_number, h->own + h->count, sizeof *h->file_number, "the numbers of rows"));
  for (int64_t j = 0; j < h->own; j++) h->file_number[j] = numbers[h->first + j];
  for (int64_t k = 0; k < h->count; k++) h->file_number[h->own + k] = numbers[h->global[k]];
  return WR_OK;
}

wr_halo *wr_halo_hold(wr_halo *halo) {
  if (halo) __atomic_add_fetch(&halo->holders, 1, __ATOMIC_RELAXED);
  return halo;
}

void wr_halo_free(wr_halo *h) {
  if (h == NULL || __atomic_fetch_sub(&h->holders, 1, __ATOMIC_ACQ_REL) > 0) return;
  void *const rooms[] = {h->starts, h->global, h->from, h->to, h->send, h->parcels, h->packed,
                         h->file_number, h};
  for (size_t k = 0; k < sizeof rooms / sizeof *rooms; k++) wr_free(rooms[k]);
}

wr_status wr_csr_join_most(const wr_csr *A, double *most, int64_t *row) {
  wr_comm *comm = wr_csr_comm(A);
  const double own = *most;
  if (comm == NULL) return WR_OK;
  PASS(wr_comm_max(comm, most, 1));
  int64_t first = own == *most && A->nrows > 0 ? -wr_csr_row_number(A, *row) : -INT64_MAX;
  PASS(wr_comm_max_counts(comm, &first, 1));
  *row = -first;
  return WR_OK;
}

wr_status wr_halo_block(const wr_csr *A, wr_csr **out) {
  int64_t count = 0, own = A->halo->own;
  for (int64_t k = 0; k < A->nnz; k++) count += A->col[k] < own;
  PASS(wr_csr_create(own, own, count, A->val != NULL, out));
  wr_csr *block = *out;
  count = 0;
  for (int64_t i = 0; i < own; i++) {
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1] && A->col[k] < own; k++, count++) {
      block->col[count] = A->col[k];
      if (A->val) block->val[count] = A->val[k];
    }
    block->row_ptr[i + 1] = count;
  }
  return WR_OK;
}

/* ---- using it ---- */

wr_status wr_halo_make_room(wr_halo *h, int64_t bytes) {
  char *packed;
  if (h->whole || bytes <= h->room) return WR_OK;
  PASS(wr_alloc(&packed, h->to[h->comm->size], (size_t)bytes, "elements for other parts"));
  wr_free(h->packed);
  h->packed = packed, h->room = bytes;
  return WR_OK;
}

static void pack(const wr_halo *h, const void *x, int64_t size) {
  int64_t count = h->to[h->comm->size];
  if (size == 4)
    for (int64_t k = 0; k < count; k++) ((float *)h->packed)[k] = ((const float *)x)[h->send[k]];
  else if (size == 8)
    for (int64_t k = 0; k < count; k++) ((double *)h->packed)[k] = ((const double *)x)[h->send[k]];
  else
    for (int64_t k = 0; k < count; k++) memcpy(h->packed + k * size, (const char *)x + h->send[k] * size, (size_t)size);
}

wr_status wr_halo_begin(wr_halo *h, const void *x, int64_t size, void *into) {
  int parts = h->comm->size;
  wr_parcel *send = h->parcels, *receive = h->parcels + parts;
  if (!h->whole) pack(h, x, size);
  for (int r = 0; r < parts; r++) {
    int64_t count = h->from[r + 1] - h->from[r];
    receive[r] = count > 0 ? (wr_parcel){(char *)into + h->from[r] * size, count * size} : (wr_parcel){0};
    send[r] = (wr_parcel){0};
    if (h->whole && r != h->comm->rank) send[r] = (wr_parcel){(void *)(uintptr_t)x, h->own * size};
    if (!h->whole) send[r] = (wr_parcel){h->packed + h->to[r] * size, (h->to[r + 1] - h->to[r]) * size};
  }
  return h->comm->ops->begin(h->comm, send, receive);
}

wr_status wr_halo_end(wr_halo *h) { return h->comm->ops->end(h->comm, "the halo of a multiply"); }

wr_status wr_halo_extend(const wr_csr *A, const double *x, double **extended) {
  wr_status status = wr_alloc(extended, A->ncols, sizeof **extended, "a vector with its halo");
  if (A->halo) status = wr_comm_agree(A->halo->comm, status);
  TRY(status);
  memcpy(*extended, x, (size_t)A->nrows * sizeof *x);
  if (A->halo == NULL) goto done;
  TRY(wr_halo_begin(A->halo, x, sizeof *x, *extended + A->nrows));
  TRY(wr_halo_end(A->halo));
done:
  if (status != WR_OK) wr_free(*extended), *extended = NULL;
  return status;
}

wr_status wr_halo_take_own(const wr_csr *A, int64_t columns, double **v) {
  double *own = NULL;
  if (*v == NULL || A->halo == NULL) return WR_OK;
  PASS(wr_comm_agree(wr_csr_comm(A), wr_alloc(&own, columns * A->nrows, sizeof *own, "a part's rows of vectors")));
  for (int64_t c = 0; c < columns; c++)
    for (int64_t i = 0; i < A->nrows; i++)
      own[c * A->nrows + i] = (*v)[c * wr_csr_all_rows(A) + wr_csr_row_number(A, i)];
  wr_free(*v);
  *v = own;
  return WR_OK;
}

/* to[all] := from[all], by part, where the file has them. */
static wr_status put_in_order(const wr_csr *A, const double *from, double *to) {
  wr_status status;
  int64_t all = wr_csr_all_rows(A);
  double *number = NULL, *numbers = NULL;
  wr_comm *comm = A->halo->comm;
  status = wr_alloc(&number, A->nrows, sizeof *number, "the numbers of rows");
  if (status == WR_OK && comm->rank == 0) status = wr_alloc(&numbers, all, sizeof *numbers, "the numbers of rows");
  TRY(wr_comm_agree(comm, status));
  for (int64_t i = 0; i < A->nrows; i++) number[i] = (double)wr_csr_row_number(A, i);
  TRY(wr_comm_collect(comm, number, A->nrows, numbers));
  for (int64_t k = 0; comm->rank == 0 && k < all; k++) to[(int64_t)numbers[k]] = from[k];
done:
  wr_free(number);
  wr_free(numbers);
  return status;
}

wr_status wr_halo_collect(const wr_csr *A, const double *v, double *all) {
  wr_status status = WR_OK;
  wr_comm *comm = wr_csr_comm(A);
  double *by_part = NULL;
  if (comm == NULL || A->halo->file_number == NULL) return wr_comm_collect(comm, v, A->nrows, all);
  if (comm->rank == 0) status = wr_alloc(&by_part, wr_csr_all_rows(A), sizeof *by_part, "a vector of all parts");
  TRY(wr_comm_agree(comm, status));
  TRY(wr_comm_collect(comm, v, A->nrows, by_part));
  TRY(put_in_order(A, by_part, all));
done:
  wr_free(by_part);
  return status;
}

/* The numbers of the halo travel the way back. */
static wr_status join_columns(const wr_csr *A, int takes_largest, double *v) {
  wr_status status = WR_OK;
  wr_halo *h = A->halo;
  wr_comm *comm = h->comm;
  double *received = NULL;
  int64_t *counts = NULL, at = 0;
  status = wr_alloc(&counts, 2 * comm->size, sizeof *counts, "sums of columns");
  TRY(wr_comm_agree(comm, status));
  for (int r = 0; r < comm->size; r++) counts[r] = h->from[r + 1] - h->from[r];
  TRY(wr_comm_swap(comm, "sums of columns", v + h->own, counts, sizeof *v, &received, counts + comm->size));
  for (int r = 0; r < comm->size; at += counts[comm->size + r], r++)
    for (int64_t k = 0; k < counts[comm->size + r]; k++) {
      double *own = &v[h->whole ? k : h->send[h->to[r] + k]];
      *own = takes_largest ? fmax(*own, received[at + k]) : *own + received[at + k];
    }
  TRY(wr_halo_begin(h, v, sizeof *v, v + h->own));
  TRY(wr_halo_end(h));
done:
  wr_free(received);
  wr_free(counts);
  return status;
}

wr_status wr_halo_sum(const wr_csr *A, double *v) { return join_columns(A, 0, v); }
wr_status wr_halo_max(const wr_csr *A, double *v) { return join_columns(A, 1, v); }
