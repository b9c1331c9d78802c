#include "solvers/report/sectors.h"

/* Different sectors among the columns col[count], count at most WR_GATHER_ENTRIES. */
static int64_t sectors_of_gather(const int32_t *col, int64_t count, int32_t in_sector) {
  int32_t seen[WR_GATHER_ENTRIES];
  int64_t different = 0;
  for (int64_t k = 0; k < count; k++) {
    int32_t sector = col[k] / in_sector;
    int64_t s = different;
    while (s > 0 && seen[s - 1] != sector) s--; /* columns ascend within a row: most often the last one */
    if (s == 0) seen[different++] = sector;
  }
  return different;
}

int64_t wr_sectors_of_x(const wr_csr *A, wr_type type) {
  int32_t in_sector = (int32_t)(WR_SECTOR_BYTES / wr_type_bytes(type));
  int64_t gathers = (A->nnz + WR_GATHER_ENTRIES - 1) / WR_GATHER_ENTRIES, sectors = 0;
#pragma omp parallel for schedule(static) reduction(+ : sectors)
  for (int64_t g = 0; g < gathers; g++) {
    int64_t first = g * WR_GATHER_ENTRIES, left = A->nnz - first;
    sectors += sectors_of_gather(A->col + first, left < WR_GATHER_ENTRIES ? left : WR_GATHER_ENTRIES, in_sector);
  }
  return sectors;
}

static int64_t sectors_of_bytes(int64_t bytes) { return (bytes + WR_SECTOR_BYTES - 1) / WR_SECTOR_BYTES; }

int64_t wr_plain_format_bytes(const wr_csr *A, wr_type type) {
  int64_t pointer_bytes = A->nnz > INT32_MAX ? 8 : 4;
  return (A->nrows + 1) * pointer_bytes + A->nnz * ((int64_t)sizeof *A->col + (A->val ? wr_type_bytes(type) : 0));
}

int64_t wr_plain_apply_bytes(const wr_csr *A, wr_type type, int64_t vectors) {
  return wr_plain_format_bytes(A, type) + vectors * (A->nrows + A->ncols) * wr_type_bytes(type);
}

int64_t wr_sectors_of_streams(const wr_csr *A, wr_type type, const wr_plan_info *info) {
  int64_t col_bytes = A->nnz * (int64_t)sizeof *A->col, val_bytes = A->val ? A->nnz * wr_type_bytes(type) : 0;
  return sectors_of_bytes(col_bytes) + sectors_of_bytes(val_bytes) +
         sectors_of_bytes(info->format_bytes - col_bytes - val_bytes);
}
