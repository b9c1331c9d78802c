/* What a family of generated matrices is, and the tools that families share. A family is one const struct: its keys are
 * option rows, its matrix is a function of the row number. Rows are made in any order by any number of threads, so all
 * random choice is a hash of (seed, purpose, row, count), and no number depends on a mathematical library's last bit or on
 * fused multiply-add: they are computed from whole numbers, powers of two, and single divisions and square roots.
 *
 *   row 7 of gen:web -> hash(seed, degree, 7) links, link k from hash(seed, link, 7, k) -> sorted, repeats merged */
#ifndef WR_FAMILY_H
#define WR_FAMILY_H

#include <stdint.h>

#include "config/hash.h"
#include "config/option.h"
#include "config/status.h"

/* Entries under construction: rows are appended one after the other. Zeroed (but with_values) it is empty. */
typedef struct wr_rows {
  int with_values;
  int64_t count, capacity;
  int32_t *col;           /* [capacity], the first count are set         */
  double *val;            /* [capacity], or NULL: a pattern              */
  int32_t *spare;         /* [spare_capacity], scratch of wr_rows_merge  */
  int64_t spare_capacity;
} wr_rows;

/* Room for so many entries more, even if none: every row begins with this. WR_ENOMEM. */
wr_status wr_rows_reserve(wr_rows *rows, int64_t more);

/* The columns from entry `first` on: sorted, repeats merged. Values do not move along: set them after. WR_ENOMEM. */
wr_status wr_rows_merge(wr_rows *rows, int64_t first);

void wr_rows_release(wr_rows *rows);

typedef struct wr_family_shape {
  int64_t n;        /* rows, and columns                                                                 */
  int64_t expected; /* entries, about; INT64_MAX when beyond. Sizes the pieces of work, and memory first */
  int symmetric;
} wr_family_shape;

typedef struct wr_family {
  const char *name, *summary;
  const wr_option *options; /* each ends with WR_SEED_ROW */
  size_t settings_size;     /* zeroed, then the options, then what prepare derives from them */
  int with_values;
  /* Derives what rows need, and the shape. WR_EUSAGE when the keys do not fit together, WR_ENOMEM. */
  wr_status (*prepare)(void *settings, wr_family_shape *shape);
  int64_t (*length)(const void *settings, int64_t i); /* entries of row i; NULL: known only once the row is made */
  wr_status (*row)(const void *settings, int64_t i, wr_rows *rows); /* appends row i, columns strictly ascending */
  void (*release)(void *settings); /* NULL: nothing to free. Also after a prepare that failed */
} wr_family;

extern const wr_family wr_family_road, wr_family_web, wr_family_rmat, wr_family_hubs, wr_family_stencil, wr_family_fem,
    wr_family_band, wr_family_chain, wr_family_uniform, wr_family_density, wr_family_aniso, wr_family_jump,
    wr_family_convect, wr_family_saddle, wr_family_circuit;

/* The key that all families have. Whole numbers are exact up to 2^53 in an option's limits. */
#define WR_SEED_ROW(settings)                                                                                        \
  {.name = "seed", .type = WR_OPTION_INT, .offset = offsetof(settings, seed), .min = 0, .max = 0x1p53, .value = "1", \
   .help = "another seed, another matrix"}

/* A number in [0, n), n <= 2^32, from the high half of random bits. */
static inline int64_t wr_below(uint64_t bits, int64_t n) { return (int64_t)(((bits >> 32) * (uint64_t)n) >> 32); }

/* Chance p in [0, 1] as a limit: an event happens when wr_unit(bits) < limit. */
static inline uint64_t wr_unit(uint64_t bits) { return bits >> 11; }
static inline uint64_t wr_chance(double p) { return (uint64_t)(p * 0x1p53); }

int64_t wr_share(double p, int64_t count);  /* p * count, p in [0, 1], to the nearest whole number          */
int64_t wr_times(int64_t a, int64_t b);     /* a * b of numbers >= 0, or INT64_MAX when it does not fit     */

/* A regular grid: the point at (x, y, z) is x + n y + n^2 z. In a plane there is no z. */
typedef struct wr_grid {
  int64_t n;         /* points along a side                          */
  int64_t points;    /* n^2 or n^3                                   */
  int64_t stride[3]; /* between neighbours along x, y, z: 1, n, n^2  */
  int dims;          /* 2 or 3                                       */
} wr_grid;

enum { WR_GRID_SIDE = 46340 }; /* most points along a side of a plane: its square is the largest one within WR_MAX_INDEX */

/* The grid, and *rows := its points times `unknowns`. WR_EUSAGE when those are more than WR_MAX_INDEX. */
wr_status wr_grid_make(const char *family, int64_t n, int dims, int64_t unknowns, wr_grid *grid, int64_t *rows);

static inline int64_t wr_grid_at(const wr_grid *grid, int64_t point, int axis) {
  return point / grid->stride[axis] % grid->n;
}

/* Step k in -dims..dims leads to the neighbour below (k < 0) or above along axis |k| - 1; step 0 stays. The steps in this
 * order have ascending numbers. The neighbour's number, or -1 outside of the grid. */
static inline int64_t wr_grid_step(const wr_grid *grid, int64_t point, int k) {
  if (k == 0) return point;
  int axis = (k < 0 ? -k : k) - 1;
  int64_t at = wr_grid_at(grid, point, axis);
  if (k < 0) return at > 0 ? point - grid->stride[axis] : -1;
  return at + 1 < grid->n ? point + grid->stride[axis] : -1;
}

int wr_grid_degree(const wr_grid *grid, int64_t point); /* neighbours of a point, itself not counted */

/* A diagonal element for entries of these sizes: above their exact sum although `sum`, of at most 2^4 roundings, may be
 * below it. A row or column with it is strictly dominant, and A as stored is nonsingular, whatever the rounding. */
static inline double wr_dominant(double sum) { return sum * (1 + 0x1p-48); }

enum { WR_PERMUTATION_ROUNDS = 4 };

/* A random one-to-one map of 0..size-1 onto itself. */
typedef struct wr_permutation {
  uint64_t size, mask; /* mask + 1: the next power of two */
  int shift;
  uint64_t key[WR_PERMUTATION_ROUNDS];
} wr_permutation;

wr_permutation wr_permutation_of(int64_t size, uint64_t key);                    /* size >= 1 */
int64_t wr_permutation_apply(const wr_permutation *permutation, int64_t place);
int64_t wr_permutation_invert(const wr_permutation *permutation, int64_t image);

#endif
