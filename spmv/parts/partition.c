#include "spmv/parts/partition.h"

#include "config/memory.h"
#include "config/text.h"

__extension__ typedef __int128 wide;

int64_t wr_partition_slice(int64_t n, int r, int size) { return (int64_t)((wide)n * r / size); }

/* The first row of a slice in front of which there are `steps` or more. */
static int64_t row_at(const int64_t *row_ptr, int64_t rows, int64_t steps) {
  int64_t low = 0, high = rows;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (middle + row_ptr[middle] < steps)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* cuts[size + 1] := the cuts that lie in this part's slice, behind row 0; -1 for the others. work: steps of each slice. */
static void find_cuts(const wr_comm *comm, int64_t n, const int64_t *row_ptr, const int64_t *work, int64_t *cuts) {
  int64_t first = wr_partition_slice(n, comm->rank, comm->size),
          rows = wr_partition_slice(n, comm->rank + 1, comm->size) - first, before = 0, all = 0;
  for (int r = 0; r < comm->size; r++) before += r < comm->rank ? work[r] : 0, all += work[r];
  for (int r = 0; r <= comm->size; r++) {
    int64_t target = (int64_t)((wide)all * r / comm->size);
    int is_here = r > 0 && r < comm->size && target > before && target <= before + work[comm->rank];
    cuts[r] = is_here ? first + row_at(row_ptr, rows, target - before) : -1;
  }
}

/* Where a part has many rows it begins at a multiple of these, so that blocks of 2 to 6 or 8 rows and columns stay whole. */
enum { UNIT = 120, LEAST_UNITS = 100 };

static int64_t rounded(int64_t row, int64_t n, int size) {
  return n / size < (int64_t)UNIT * LEAST_UNITS ? row : (row + UNIT / 2) / UNIT * UNIT;
}

wr_status wr_partition_cut(wr_comm *comm, int64_t n, const int64_t *row_ptr, int64_t *starts) {
  wr_status status;
  int size = comm->size;
  int64_t *work = NULL, *cuts = NULL, *mine;
  int64_t rows = wr_partition_slice(n, comm->rank + 1, size) - wr_partition_slice(n, comm->rank, size);
  int64_t steps = rows + row_ptr[rows];
  if (n < size)
    return wr_fail(WR_EUSAGE, "%lld %s for %d processes: each needs a row", (long long)n, wr_plural(n, "row", "rows"),
                   size);
  status = wr_alloc(&work, size, sizeof *work, "a partition");
  if (status == WR_OK) status = wr_alloc(&cuts, (int64_t)(size + 1) * (size + 1), sizeof *cuts, "a partition");
  TRY(wr_comm_agree(comm, status));
  mine = cuts + (int64_t)size * (size + 1);
  TRY(comm->ops->gather(comm, "the work of rows", &steps, sizeof steps, work));
  find_cuts(comm, n, row_ptr, work, mine);
  TRY(comm->ops->gather(comm, "a partition", mine, (size + 1) * (int64_t)sizeof *mine, cuts));
  starts[0] = 0, starts[size] = n;
  for (int k = 1; k < size; k++) {
    starts[k] = -1;
    for (int r = 0; r < size; r++)
      if (cuts[(int64_t)r * (size + 1) + k] > starts[k]) starts[k] = cuts[(int64_t)r * (size + 1) + k];
    starts[k] = rounded(starts[k], n, size);
    if (starts[k] <= starts[k - 1]) starts[k] = starts[k - 1] + 1;
    if (starts[k] > n - (size - k)) starts[k] = n - (size - k);
  }
done:
  wr_free(work);
  wr_free(cuts);
  return status;
}
