#include "spmv/backends/merbit/merbit_build.h"

#include "config/memory.h"

wr_status wr_merbit_check(int64_t nrows, int64_t ncols, int64_t nnz, int sigma, int wide) {
  if (sigma < 1 || sigma > WR_MERBIT_MAX_SIGMA)
    return wr_fail(WR_EUSAGE, "sigma is %d, where 1 to %d are possible", sigma, WR_MERBIT_MAX_SIGMA);
  if (nrows < 1 || nrows > WR_MAX_INDEX || ncols < 1 || ncols > WR_MAX_INDEX)
    return wr_fail(WR_EUNAVAILABLE, "a matrix of %lld x %lld, where merbit takes 1 to %lld rows and columns",
                   (long long)nrows, (long long)ncols, (long long)WR_MAX_INDEX);
  if (nnz < 0 || nnz > WR_MERBIT_MAX_NNZ)
    return wr_fail(WR_EUNAVAILABLE, "%lld entries, where merbit takes 0 to %lld", (long long)nnz,
                   (long long)WR_MERBIT_MAX_NNZ);
  if (!wide && nnz > INT32_MAX)
    return wr_fail(WR_EUNAVAILABLE, "%lld entries do not fit 32-bit indices; 64-bit ones would do", (long long)nnz);
  return WR_OK;
}

wr_status wr_merbit_alloc(wr_merbit_format *format) {
  wr_status status;
  size_t lane_bytes = (size_t)wr_merbit_lane_bytes(format->sigma);
  format->tile_x = NULL, format->tile_y = NULL, format->lane = NULL;
  TRY(wr_alloc(&format->tile_x, format->tiles + 1, format->wide ? 8 : 4, "tiles' entries"));
  TRY(wr_alloc(&format->tile_y, format->tiles + 1, sizeof *format->tile_y, "tiles' rows"));
  TRY(wr_alloc(&format->lane, format->tiles * WR_MERBIT_LANES, lane_bytes, "lanes' words"));
done:
  if (status != WR_OK) wr_merbit_free(format);
  return status;
}

void wr_merbit_free(wr_merbit_format *format) {
  wr_free(format->tile_x);
  wr_free(format->tile_y);
  wr_free(format->lane);
  format->tile_x = NULL, format->tile_y = NULL, format->lane = NULL;
}

static int64_t get_x(const wr_merbit_format *f, int64_t tile) {
  return f->wide ? ((const int64_t *)f->tile_x)[tile] : ((const int32_t *)f->tile_x)[tile];
}

/* Walks a tile from entry *x, row *y on, writes the ends of its rows, and advances *x and *y to its end. Returns 0 if what is
 * stored is not this part of the path. */
static int decode_tile(const wr_merbit_format *f, int64_t tile, int64_t *x, int64_t *y, int64_t *row_ptr) {
  int64_t first = *y, end = f->nrows + f->nnz, at = tile * WR_MERBIT_LANES, step = *x + *y;
  if (get_x(f, tile) != *x || (f->tile_y[tile] & ~WR_MERBIT_LONG_ROW) != first) return 0;
  for (int lane = 0; lane < WR_MERBIT_LANES; lane++) {
    uint64_t word = wr_merbit_lane_bytes(f->sigma) == 4 ? ((const uint32_t *)f->lane)[at + lane]
                                                        : ((const uint64_t *)f->lane)[at + lane];
    if (word >> f->sigma != (uint64_t)(*y - first)) return 0;
    for (int s = 0; s < f->sigma; s++, step++) {
      int down = word >> s & 1;
      if (down && (*y == f->nrows || step >= end)) return 0;
      if (down)
        row_ptr[++*y] = *x;
      else
        *x += step < end;
    }
  }
  int marked = (f->tile_y[tile] & WR_MERBIT_LONG_ROW) != 0;
  return marked == (*y == first);
}

wr_status wr_merbit_decode_rows(const wr_merbit_format *format, int64_t *row_ptr) {
  int64_t tiles = format->tiles, x = 0, y = 0, tile = 0;
  row_ptr[0] = 0;
  while (tile < tiles && decode_tile(format, tile, &x, &y, row_ptr)) tile++;
  if (tile < tiles)
    return wr_fail(WR_EINTERNAL, "tile %lld of %lld is not that part of the merge path", (long long)tile,
                   (long long)tiles);
  if (x != format->nnz || y != format->nrows || get_x(format, tiles) != x || format->tile_y[tiles] != y)
    return wr_fail(WR_EINTERNAL, "the merge path ends at row %lld, entry %lld, not at row %lld, entry %lld",
                   (long long)y, (long long)x, (long long)format->nrows, (long long)format->nnz);
  return WR_OK;
}
