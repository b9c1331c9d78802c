/* Whether a matrix in parts is symmetric, or may be positive definite: each part looks at its own columns, and sends the
 * entries in others to the part that has their mirror images. */
#include <math.h>

#include "config/memory.h"
#include "spmv/matrix/matrix_facts.h"
#include "spmv/parts/halo.h"

/* An entry for the part that has row `row`; root: of |its diagonal element|. */
typedef struct image {
  int64_t row, column;
  double value, root;
} image;

static double value_at(const wr_csr *A, int64_t k) { return A->val ? A->val[k] : 1; }

static double find_value(const wr_csr *A, int64_t i, int64_t j) {
  int64_t k = wr_csr_find(A, i, j);
  return k >= 0 ? value_at(A, k) : 0;
}

static double root_of(const wr_csr *A, int64_t i) { return sqrt(fabs(find_value(A, i, i))); }

/* What rounding leaves between (i, j) and (j, i): see wr_is_symmetric_positive. Without roots, nothing. */
static int is_image(double a, double b, double root_i, double root_j) { return fabs(a - b) <= 1e-12 * root_i * root_j; }

static double root_if(int is_positive, const wr_csr *A, int64_t i) { return is_positive ? root_of(A, i) : 0; }

/* The column of the part that has this number in the whole; -1: there is none. */
static int64_t find_column(const wr_halo *h, int64_t number) {
  int64_t low = 0, high = h->count;
  if (number >= h->first && number < h->first + h->own) return number - h->first;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (h->global[middle] < number)
      low = middle + 1;
    else
      high = middle;
  }
  return low < h->count && h->global[low] == number ? h->own + low : -1;
}

static int own_columns_fit(const wr_csr *A, int is_positive) {
  int64_t own = A->halo->own, wrong = 0;
#pragma omp parallel for schedule(guided) reduction(+ : wrong) if (A->nnz > 1 << 14)
  for (int64_t i = 0; i < own; i++) {
    double root = root_if(is_positive, A, i);
    wrong += is_positive && !(find_value(A, i, i) > 0);
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1] && A->col[k] < own && wrong == 0; k++)
      wrong += !is_image(value_at(A, k), find_value(A, A->col[k], i), root, root_if(is_positive, A, A->col[k]));
  }
  return wrong == 0;
}

static int part_of(const wr_halo *h, int64_t halo) {
  int r = 0;
  while (halo >= h->from[r + 1]) r++;
  return r;
}

/* images[counts of all parts], sorted by part. */
static wr_status list_images(const wr_csr *A, int is_positive, int64_t *counts, image **images) {
  wr_status status;
  const wr_halo *h = A->halo;
  int64_t *at = NULL, total = 0;
  for (int64_t k = 0; k < A->nnz; k++)
    if (A->col[k] >= h->own) counts[part_of(h, A->col[k] - h->own)]++;
  TRY(wr_alloc(&at, h->comm->size, sizeof *at, "entries of other parts"));
  for (int r = 0; r < h->comm->size; total += counts[r], r++) at[r] = total;
  TRY(wr_alloc(images, total, sizeof **images, "entries of other parts"));
  for (int64_t i = 0; i < h->own; i++) {
    double root = root_if(is_positive, A, i);
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      int64_t halo = A->col[k] - h->own;
      if (halo >= 0) (*images)[at[part_of(h, halo)]++] = (image){h->global[halo], h->first + i, value_at(A, k), root};
    }
  }
done:
  wr_free(at);
  return status;
}

static int images_fit(const wr_csr *A, int is_positive, const image *images, int64_t count) {
  int64_t wrong = 0;
  for (int64_t k = 0; k < count; k++) {
    int64_t i = images[k].row - A->halo->first, j = find_column(A->halo, images[k].column);
    double value = j >= 0 ? find_value(A, i, j) : 0;
    wrong += !is_image(images[k].value, value, images[k].root, root_if(is_positive, A, i));
  }
  return wrong == 0;
}

static wr_status look(const wr_csr *A, int is_positive, int *is) {
  wr_status status;
  wr_comm *comm = A->halo->comm;
  int64_t *counts = NULL, *got = NULL, wrong = !own_columns_fit(A, is_positive), all = 0;
  image *images = NULL, *received = NULL;
  *is = 0;
  TRY(wr_comm_max_counts(comm, &wrong, 1));
  if (wrong) goto done;
  status = wr_alloc_zeroed(&counts, comm->size, sizeof *counts, "entries of other parts");
  if (status == WR_OK) status = wr_alloc(&got, comm->size, sizeof *got, "entries of other parts");
  if (status == WR_OK) status = list_images(A, is_positive, counts, &images);
  TRY(wr_comm_agree(comm, status));
  TRY(wr_comm_swap(comm, "the mirror images of entries", images, counts, sizeof *images, &received, got));
  for (int r = 0; r < comm->size; r++) all += got[r];
  wrong = !images_fit(A, is_positive, received, all);
  TRY(wr_comm_max_counts(comm, &wrong, 1));
  *is = !wrong;
done:
  wr_free(counts);
  wr_free(got);
  wr_free(images);
  wr_free(received);
  return status;
}

wr_status wr_halo_is_symmetric_positive(const wr_csr *A, int *is) {
  if (A->halo) return look(A, 1, is);
  *is = wr_is_symmetric_positive(A);
  return WR_OK;
}

wr_status wr_halo_is_symmetric(const wr_csr *A, int *is) {
  if (A->halo) return look(A, 0, is);
  *is = wr_is_symmetric(A);
  return WR_OK;
}
