#include "spmv/choose/matrix_features.h"

#include <math.h>
#include <string.h>

#include "config/memory.h"
#include "spmv/choose/feature_sample.h"

/* Different sectors among so many columns, at most 32. */
static int sectors_of(const int32_t *col, int count, int32_t in_sector) {
  int32_t seen[2 * WR_FEATURE_ROWS]; /* a hash table: a sector plus 1, or 0 */
  int different = 0;
  memset(seen, 0, sizeof seen);
  for (int k = 0; k < count; k++) {
    int32_t sector = (int32_t)((uint32_t)col[k] / (uint32_t)in_sector) + 1;
    uint32_t s = (uint32_t)sector * UINT32_C(0x9e3779b1) >> 26;
    while (seen[s] != 0 && seen[s] != sector) s = (s + 1) % (2 * WR_FEATURE_ROWS);
    different += seen[s] == 0;
    seen[s] = sector;
  }
  return different;
}

/* Adds the group of 32 rows that begins at `first` to counts[WR_ROW_COUNTS]; *most := the longest row so far. */
static void add_group(const wr_csr *A, int64_t first, int64_t *counts, int64_t *most) {
  int64_t end = first + WR_FEATURE_ROWS < A->nrows ? first + WR_FEATURE_ROWS : A->nrows, longest = 0;
  for (int64_t i = first; i < end; i++) {
    int64_t length = A->row_ptr[i + 1] - A->row_ptr[i];
    longest = length > longest ? length : longest;
    counts[WR_SQUARES] += length * length & UINT32_MAX, counts[WR_SQUARES_HIGH] += length * length >> 32;
  }
  counts[WR_ROWS] += end - first, counts[WR_ENTRIES] += A->row_ptr[end] - A->row_ptr[first];
  counts[WR_STEPS] += longest;
  if (longest > *most) *most = longest;
}

static void count_zone(const wr_csr *A, int zone, int64_t *counts) {
  int64_t stride = wr_sampled_stride(A->nrows), blocks = wr_sampled_blocks(A->nrows), heaviest = -1, most = -1;
  int64_t begin = wr_zone_begin(blocks, zone), end = wr_zone_begin(blocks, zone + 1);
  for (int64_t b = begin; b < end; b++) {
    int64_t entries = A->row_ptr[wr_block_begin(A->nrows, b + 1)] - A->row_ptr[wr_block_begin(A->nrows, b)];
    if (entries > most) heaviest = b, most = entries;
  }
  for (int64_t b = begin; b < end; b++)
    if (b != heaviest) add_group(A, wr_block_sample(A->nrows, b), &counts[WR_OTHERS], &counts[WR_MOST]);
  if (heaviest < 0) return; /* fewer blocks than zones */
  for (int64_t i = heaviest * stride; i < wr_block_begin(A->nrows, heaviest + 1); i += WR_FEATURE_ROWS)
    add_group(A, i, &counts[WR_WALKED], &counts[WR_MOST]);
}

static void count_gathers(const wr_csr *A, int32_t in_sector, int64_t *counts) {
  int64_t all = wr_groups_of(A->nnz), count = wr_at_most(all, WR_GATHERS);
  int64_t sectors = 0, entries = 0;
  for (int64_t g = 0; g < count; g++) {
    int64_t first = wr_sampled_group(g, count, all), left = A->nnz - first;
    int here = left < WR_FEATURE_ROWS ? (int)left : WR_FEATURE_ROWS;
    sectors += sectors_of(A->col + first, here, in_sector), entries += here;
  }
  counts[WR_GATHERED] = entries, counts[WR_GATHER_SECTORS] = sectors;
}

static void count_row_gathers(const wr_csr *A, int32_t in_sector, int64_t *counts) {
  int64_t all = wr_groups_of(A->nrows), count = wr_at_most(all, WR_ROW_GROUPS);
  int64_t sectors = 0, entries = 0;
  for (int64_t g = 0; g < count; g++) {
    int64_t first = wr_sampled_group(g, count, all), end = first + WR_FEATURE_ROWS;
    for (int k = 0, here = 1; k < WR_GROUP_STEPS && here > 0; k++) {
      int32_t col[WR_FEATURE_ROWS];
      here = 0;
      for (int64_t i = first; i < end && i < A->nrows; i++)
        if (A->row_ptr[i] + k < A->row_ptr[i + 1]) col[here++] = A->col[A->row_ptr[i] + k];
      sectors += sectors_of(col, here, in_sector), entries += here;
    }
  }
  counts[WR_ROW_GATHERED] = entries, counts[WR_ROW_SECTORS] = sectors;
}

/* Whether so many columns, at least one, lie in two windows: from the least one on, and from the least one beyond that on. */
static int are_narrow(const int32_t *col, int count) {
  int32_t least = INT32_MAX, second = INT32_MAX;
  int enough = 1;
  for (int k = 0; k < count; k++) least = col[k] < least ? col[k] : least;
  for (int k = 0; k < count; k++)
    if (col[k] - least >= WR_NARROW && col[k] < second) second = col[k];
  for (int k = 0; k < count; k++) enough &= col[k] < second || col[k] - second < WR_NARROW - 1;
  return enough;
}

static wr_status count_tiles(const wr_csr *A, int32_t in_sector, int64_t *counts) {
  uint32_t *set = NULL;
  int64_t count = wr_at_most(wr_tiles_of(A->nnz), WR_TILES);
  PASS(wr_alloc(&set, WR_TILE_SLOTS, sizeof *set, "sectors of a sample"));
  for (int64_t g = 0; g < count; g++) {
    int64_t first = wr_tile_begin(A->nnz, g), here = wr_at_most(A->nnz - first, WR_TILE);
    const int32_t *col = A->col + first;
    memset(set, 0, WR_TILE_SLOTS * sizeof *set);
    for (int64_t k = 0; k < here; k++) {
      uint32_t sector = (uint32_t)col[k] / (uint32_t)in_sector + 1, s = wr_tile_slot(sector);
      while (set[s] != 0 && set[s] != sector) s = (s + 1) % WR_TILE_SLOTS;
      counts[WR_TILE_SECTORS] += set[s] == 0;
      set[s] = sector;
    }
    for (int64_t k = 0; k < here; k += WR_TILE_CHUNK) {
      counts[WR_NARROW_CHUNKS] += are_narrow(col + k, (int)wr_at_most(here - k, WR_TILE_CHUNK));
      counts[WR_CHUNKED]++;
    }
    counts[WR_TILED] += here;
  }
  wr_free(set);
  return WR_OK;
}

/* The slot of the column in the set of hubs, or the empty one where it belongs. A slot has the column plus 1, or 0. */
static int32_t *find_hub(int32_t *set, int32_t column) {
  uint32_t s = wr_hub_slot(column);
  while (set[s] != 0 && set[s] != column + 1) s = (s + 1) % WR_HUB_SLOTS;
  return &set[s];
}

/* Columns drawn with the frequency of their entries are mostly hubs: as many entries are drawn as there may be hubs, and the
 * columns of others are looked up among theirs. */
static wr_status count_hubs(const wr_csr *A, wr_type type, int64_t *counts) {
  wr_status status;
  int32_t *set = NULL, *drawn = NULL;
  int64_t count = wr_hub_draws(A->ncols, A->nnz, type);
  if (count == 0) return WR_OK;
  TRY(wr_alloc_zeroed(&set, WR_HUB_SLOTS, sizeof *set, "columns of a sample"));
  TRY(wr_alloc(&drawn, count > WR_TESTED ? count : WR_TESTED, sizeof *drawn, "columns of a sample"));
  /* Each read is another page of a large matrix; in a loop of their own many wait for memory at once. */
  for (int64_t n = 0; n < count; n++) drawn[n] = A->col[wr_drawn_entry(A->nnz, n, count)];
  for (int64_t n = 0; n < count; n++) *find_hub(set, drawn[n]) = drawn[n] + 1;
  for (int64_t n = 0; n < WR_TESTED; n++) drawn[n] = A->col[wr_tested_entry(A->nnz, n)];
  for (int64_t n = 0; n < WR_TESTED; n++) counts[WR_FOUND] += *find_hub(set, drawn[n]) != 0;
done:
  wr_free(set);
  wr_free(drawn);
  return status;
}

/* Sums over all rows, by those walked and by the others, which stand for the rest. */
static double estimate(const int64_t *counts, int64_t nrows, double walked, double others) {
  int64_t rest = nrows - counts[WR_WALKED + WR_ROWS], looked_at = counts[WR_OTHERS + WR_ROWS];
  return looked_at > 0 ? walked + others * ((double)rest / (double)looked_at) : walked;
}

static double squares_of(const int64_t *rows) {
  return (double)rows[WR_SQUARES] + (double)rows[WR_SQUARES_HIGH] * 0x1p32;
}

void wr_features_of_counts(const wr_csr *A, wr_type type, const int64_t *counts, wr_matrix_features *f) {
  const int64_t *walked = &counts[WR_WALKED], *others = &counts[WR_OTHERS];
  double rows = (double)A->nrows;
  double squares = estimate(counts, A->nrows, squares_of(walked), squares_of(others));
  double entries = estimate(counts, A->nrows, (double)walked[WR_ENTRIES], (double)others[WR_ENTRIES]);
  double steps = estimate(counts, A->nrows, (double)walked[WR_STEPS], (double)others[WR_STEPS]);
  *f = (wr_matrix_features){.nrows = A->nrows, .ncols = A->ncols, .nnz = A->nnz, .valued = A->val != NULL};
  f->most = counts[WR_MOST];
  f->mean = rows > 0 ? (double)A->nnz / rows : 0;
  f->spread = rows > 0 ? sqrt(fmax(0, squares / rows - (entries / rows) * (entries / rows))) : 0;
  f->lockstep = entries > 0 ? steps * WR_FEATURE_ROWS / entries : 1;
  if (counts[WR_GATHERED] > 0) f->gather = (double)counts[WR_GATHER_SECTORS] / (double)counts[WR_GATHERED];
  if (counts[WR_ROW_GATHERED] > 0) f->row_gather = (double)counts[WR_ROW_SECTORS] / (double)counts[WR_ROW_GATHERED];
  if (counts[WR_TILED] > 0) f->tile_gather = (double)counts[WR_TILE_SECTORS] / (double)counts[WR_TILED];
  if (counts[WR_CHUNKED] > 0) f->narrow = (double)counts[WR_NARROW_CHUNKS] / (double)counts[WR_CHUNKED];
  f->hubs = wr_hub_draws(A->ncols, A->nnz, type) > 0 ? (double)counts[WR_FOUND] / WR_TESTED : 1;
}

wr_status wr_matrix_features_get(const wr_csr *A, wr_type type, wr_matrix_features *f) {
  int32_t in_sector = (int32_t)(WR_SECTOR_BYTES / wr_type_bytes(type));
  int64_t counts[WR_FEATURE_COUNTS] = {0};
  for (int zone = 0; zone < WR_ZONES; zone++) count_zone(A, zone, counts);
  count_gathers(A, in_sector, counts);
  count_row_gathers(A, in_sector, counts);
  PASS(count_tiles(A, in_sector, counts));
  PASS(count_hubs(A, type, counts));
  wr_features_of_counts(A, type, counts, f);
  return WR_OK;
}
