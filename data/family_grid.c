/* Systems on regular grids: point x + n y + n^2 z is tied to its neighbours in the box of side 3 around it. */
#include "data/family.h"

#include <stdlib.h>

#include "spmv/matrix/csr.h"

typedef struct box {
  int64_t x[2], y[2], z[2]; /* first and last neighbour, as steps from the point: -1, 0 or 1 */
} box;

static void box_side(int64_t at, int64_t n, int64_t side[2]) {
  side[0] = at > 0 ? -1 : 0;
  side[1] = at + 1 < n ? 1 : 0;
}

/* depth: points along z; 1 on a plane. */
static box box_of(int64_t point, int64_t n, int64_t depth) {
  box b;
  box_side(point % n, n, b.x);
  box_side(point / n % n, n, b.y);
  box_side(point / n / n, depth, b.z);
  return b;
}

static int64_t box_size(const box *b) {
  return (b->x[1] - b->x[0] + 1) * (b->y[1] - b->y[0] + 1) * (b->z[1] - b->z[0] + 1);
}

/* ---- stencil ---- */

enum { POINTS_5, POINTS_7, POINTS_27 };

typedef struct stencil {
  int64_t seed, n;
  int points;
  double convection;
  int64_t depth;
  double upwind, downwind; /* size of the entries before and behind: upwind + downwind = 2 exactly */
} stencil;

static const wr_option stencil_options[] = {
    {.name = "n", .type = WR_OPTION_INT, .offset = offsetof(stencil, n), .min = 1, .max = 46340, .value = "200",
     .help = "points along a side"},
    {.name = "points", .type = WR_OPTION_CHOICE, .offset = offsetof(stencil, points), .choices = "5|7|27", .value = "7",
     .help = "5 on a plane, 7 or 27 in space"},
    {.name = "convection", .type = WR_OPTION_REAL, .offset = offsetof(stencil, convection), .min = 0, .max = 1,
     .below_max = 1, .value = "0.4", .help = "flow against diffusion; nonsymmetric unless 0"},
    WR_SEED_ROW(stencil),
    {0}};

static wr_status stencil_prepare(void *settings, wr_family_shape *shape) {
  stencil *s = settings;
  int64_t n = s->n, longest[] = {5, 7, 27};
  s->depth = s->points == POINTS_5 ? 1 : n;
  shape->n = n * n * s->depth;
  if (shape->n > WR_MAX_INDEX)
    return wr_fail(WR_EUSAGE, "gen:stencil: n=%lld in space gives %lld rows, over %d: at most n=1290, or points=5",
                   (long long)n, (long long)shape->n, WR_MAX_INDEX);
  shape->expected = shape->n * longest[s->points];
  s->upwind = 1 + s->convection;
  s->downwind = 2 - s->upwind;
  shape->symmetric = s->upwind == s->downwind;
  return WR_OK;
}

static int64_t stencil_length(const void *settings, int64_t i) {
  const stencil *s = settings;
  box b = box_of(i, s->n, s->depth);
  if (s->points == POINTS_27) return box_size(&b);
  return 1 + (b.x[1] - b.x[0]) + (b.y[1] - b.y[0]) + (b.z[1] - b.z[0]);
}

/* The row sums to 0 inside the grid and above 0 at its faces: diagonally dominant. */
static wr_status stencil_row(const void *settings, int64_t i, wr_rows *rows) {
  const stencil *s = settings;
  const double diagonal[] = {4, 6, 26}, value[] = {-s->upwind, -1, -s->downwind};
  PASS(wr_rows_reserve(rows, 27));
  box b = box_of(i, s->n, s->depth);
  for (int64_t z = b.z[0]; z <= b.z[1]; z++)
    for (int64_t y = b.y[0]; y <= b.y[1]; y++)
      for (int64_t x = b.x[0]; x <= b.x[1]; x++) {
        int64_t direction = x + y + z;
        int here = x == 0 && y == 0 && z == 0;
        if (s->points != POINTS_27 && llabs(x) + llabs(y) + llabs(z) > 1) continue;
        rows->col[rows->count] = (int32_t)(i + x + s->n * (y + s->n * z));
        rows->val[rows->count++] = here ? diagonal[s->points] : value[1 + (direction > 0) - (direction < 0)];
      }
  return WR_OK;
}

const wr_family wr_family_stencil = {
    .name = "stencil",
    .summary = "convection and diffusion on n^2 (5 points) or n^3 (7, 27) grid points; diagonally dominant",
    .options = stencil_options,
    .settings_size = sizeof(stencil),
    .with_values = 1,
    .prepare = stencil_prepare,
    .length = stencil_length,
    .row = stencil_row,
};

/* ---- fem ---- */

enum { UNKNOWNS = 3 }; /* a node */

typedef struct fem {
  int64_t seed, n;
} fem;

static const wr_option fem_options[] = {
    {.name = "n", .type = WR_OPTION_INT, .offset = offsetof(fem, n), .min = 1, .max = 894, .value = "49",
     .help = "nodes along a side"},
    WR_SEED_ROW(fem),
    {0}};

static wr_status fem_prepare(void *settings, wr_family_shape *shape) {
  const fem *f = settings;
  shape->n = UNKNOWNS * f->n * f->n * f->n;
  shape->expected = shape->n * 27 * UNKNOWNS;
  return WR_OK;
}

static int64_t fem_length(const void *settings, int64_t i) {
  const fem *f = settings;
  box b = box_of(i / UNKNOWNS, f->n, f->n);
  return UNKNOWNS * box_size(&b);
}

/* Between -1 and -1/2, a multiple of 2^-53. */
static double coupling(uint64_t bits) { return -(double)((bits >> 12) + (UINT64_C(1) << 52)) * 0x1p-53; }

/* Dominant: the other entries of a row add up to less than 26 * 3 + 2 = 80. */
static wr_status fem_row(const void *settings, int64_t i, wr_rows *rows) {
  const fem *f = settings;
  PASS(wr_rows_reserve(rows, 27 * UNKNOWNS));
  int64_t node = i / UNKNOWNS, n = f->n;
  uint64_t key = wr_hash((uint64_t)f->seed, (uint64_t)i);
  box b = box_of(node, n, n);
  for (int64_t z = b.z[0]; z <= b.z[1]; z++)
    for (int64_t y = b.y[0]; y <= b.y[1]; y++)
      for (int64_t x = b.x[0]; x <= b.x[1]; x++) {
        int64_t neighbour = node + x + n * (y + n * z);
        for (int64_t j = UNKNOWNS * neighbour; j < UNKNOWNS * (neighbour + 1); j++) {
          rows->col[rows->count] = (int32_t)j;
          rows->val[rows->count++] = j == i ? 100 : neighbour == node ? 1 : coupling(wr_hash(key, (uint64_t)j));
        }
      }
  return WR_OK;
}

const wr_family wr_family_fem = {
    .name = "fem",
    .summary = "n^3 nodes of 3 unknowns, each node tied to 27 by dense 3x3 blocks; diagonally dominant",
    .options = fem_options,
    .settings_size = sizeof(fem),
    .with_values = 1,
    .prepare = fem_prepare,
    .length = fem_length,
    .row = fem_row,
};
