#include "spmv/choose/matrix_features.h"

#include <math.h>
#include <string.h>

#include "config/memory.h"

enum {
  SECTOR_BYTES = 32,
  GATHERS = 2048, /* of 32 consecutive entries that are looked at                              */
  GROUPS = 256,   /* of 32 rows, of each of which so many entries are looked at:               */
  GROUP_STEPS = 32,
  TESTED = 8192,  /* entries that tell the hubs' share                                         */
  SLOTS = 1 << 17 /* of the set of hubs: more than twice as many as elements of f32 in WR_HUB_BYTES */
};

/* Different sectors among so many columns, at most 32. */
static int sectors_of(const int32_t *col, int count, int32_t in_sector) {
  int32_t seen[WR_FEATURE_ROWS];
  int different = 0;
  for (int k = 0; k < count; k++) {
    int32_t sector = col[k] / in_sector;
    int s = different;
    while (s > 0 && seen[s - 1] != sector) s--; /* most often the last one */
    if (s == 0) seen[different++] = sector;
  }
  return different;
}

static void look_at_rows(const wr_csr *A, wr_matrix_features *f) {
  int64_t most = 0, empty = 0, steps = 0, groups = (A->nrows + WR_FEATURE_ROWS - 1) / WR_FEATURE_ROWS;
  double squares = 0; /* sums of integers below 2^53 for all but matrices with rows of 1e8 entries, so in any order alike */
#pragma omp parallel for schedule(static) reduction(max : most) reduction(+ : empty, steps, squares)
  for (int64_t g = 0; g < groups; g++) {
    int64_t first = g * WR_FEATURE_ROWS, longest = 0;
    int64_t end = first + WR_FEATURE_ROWS < A->nrows ? first + WR_FEATURE_ROWS : A->nrows;
    for (int64_t i = first; i < end; i++) {
      int64_t length = A->row_ptr[i + 1] - A->row_ptr[i];
      longest = length > longest ? length : longest;
      empty += length == 0, squares += (double)length * (double)length;
    }
    most = longest > most ? longest : most, steps += longest;
  }
  f->most = most, f->empty = empty;
  f->mean = A->nrows > 0 ? (double)A->nnz / (double)A->nrows : 0;
  f->spread = A->nrows > 0 ? sqrt(fmax(0, squares / (double)A->nrows - f->mean * f->mean)) : 0;
  f->lockstep = A->nnz > 0 ? (double)steps * WR_FEATURE_ROWS / (double)A->nnz : 1;
}

/* Of every so-manieth piece of 32 entries. */
static double look_at_gathers(const wr_csr *A, int32_t in_sector) {
  int64_t all = (A->nnz + WR_FEATURE_ROWS - 1) / WR_FEATURE_ROWS, count = all < GATHERS ? all : GATHERS;
  int64_t sectors = 0, entries = 0;
#pragma omp parallel for schedule(static) reduction(+ : sectors, entries)
  for (int64_t g = 0; g < count; g++) {
    int64_t first = g * all / count * WR_FEATURE_ROWS, left = A->nnz - first;
    int here = left < WR_FEATURE_ROWS ? (int)left : WR_FEATURE_ROWS;
    sectors += sectors_of(A->col + first, here, in_sector), entries += here;
  }
  return entries > 0 ? (double)sectors / (double)entries : 0;
}

static double look_at_row_gathers(const wr_csr *A, int32_t in_sector) {
  int64_t all = (A->nrows + WR_FEATURE_ROWS - 1) / WR_FEATURE_ROWS, count = all < GROUPS ? all : GROUPS;
  int64_t sectors = 0, entries = 0;
#pragma omp parallel for schedule(static) reduction(+ : sectors, entries)
  for (int64_t g = 0; g < count; g++) {
    int64_t first = g * all / count * WR_FEATURE_ROWS, end = first + WR_FEATURE_ROWS;
    for (int k = 0, here = 1; k < GROUP_STEPS && here > 0; k++) {
      int32_t col[WR_FEATURE_ROWS];
      here = 0;
      for (int64_t i = first; i < end && i < A->nrows; i++)
        if (A->row_ptr[i] + k < A->row_ptr[i + 1]) col[here++] = A->col[A->row_ptr[i] + k];
      sectors += sectors_of(col, here, in_sector), entries += here;
    }
  }
  return entries > 0 ? (double)sectors / (double)entries : 0;
}

static uint32_t slot_of(int32_t column) { return (uint32_t)column * UINT32_C(0x9e3779b1) >> 15; }

/* A pseudo-random entry of the n-th of `count` equal ranges. */
static int64_t draw(const wr_csr *A, int64_t n, int64_t count) {
  int64_t length = A->nnz / count;
  uint64_t mixed = (uint64_t)(n + 1) * UINT64_C(0x9e3779b97f4a7c15);
  return n * length + (int64_t)((mixed >> 32) % (uint64_t)length);
}

/* Columns drawn with the frequency of their entries are mostly hubs: as many entries are drawn as there may be hubs, and the
 * columns of others are looked up among theirs. */
static wr_status look_at_hubs(const wr_csr *A, int64_t most, double *share) {
  wr_status status;
  int32_t *set = NULL;
  int64_t found = 0;
  *share = 1;
  if (A->ncols <= most || A->nnz == 0) return WR_OK;
  TRY(wr_alloc(&set, SLOTS, sizeof *set, "columns of a sample"));
  memset(set, 0xff, SLOTS * sizeof *set);
  for (int64_t n = 0; n < most && n < A->nnz; n++) {
    int32_t column = A->col[draw(A, n, most < A->nnz ? most : A->nnz)];
    uint32_t s = slot_of(column);
    while (set[s] >= 0 && set[s] != column) s = (s + 1) % SLOTS;
    set[s] = column;
  }
  for (int64_t n = 0; n < TESTED; n++) {
    int32_t column = A->col[(int64_t)((uint64_t)n * UINT64_C(0xd1342543de82ef95) % (uint64_t)A->nnz)];
    uint32_t s = slot_of(column);
    while (set[s] >= 0 && set[s] != column) s = (s + 1) % SLOTS;
    found += set[s] == column;
  }
  *share = (double)found / TESTED;
done:
  wr_free(set);
  return status;
}

wr_status wr_matrix_features_get(const wr_csr *A, wr_type type, wr_matrix_features *f) {
  int32_t in_sector = (int32_t)(SECTOR_BYTES / wr_type_bytes(type));
  *f = (wr_matrix_features){.nrows = A->nrows, .ncols = A->ncols, .nnz = A->nnz, .valued = A->val != NULL};
  look_at_rows(A, f);
  f->gather = look_at_gathers(A, in_sector);
  f->row_gather = look_at_row_gathers(A, in_sector);
  return look_at_hubs(A, WR_HUB_BYTES / wr_type_bytes(type), &f->hubs);
}
