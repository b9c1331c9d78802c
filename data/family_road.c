/* A road network: a square grid in Morton order, so that near points have near numbers, with part of its edges.
 *
 *   side 4:  0  1  4  5      side 3:  0  1  4     (points outside the square have no number: later ones close the gap)
 *            2  3  6  7               2  3  5
 *            8  9 12 13               6  7  8
 *           10 11 14 15 */
#include "data/family.h"

typedef struct road {
  int64_t seed, side;
  double keep;
  uint64_t key, chance;
  int64_t square; /* the least power of two that is at least side */
} road;

static const wr_option road_options[] = {
    {.name = "side", .type = WR_OPTION_INT, .offset = offsetof(road, side), .min = 1, .max = 46340, .value = "4096",
     .help = "grid points along a side"},
    {.name = "keep", .type = WR_OPTION_REAL, .offset = offsetof(road, keep), .min = 0, .max = 1, .value = "0.57",
     .help = "chance of each edge of the grid"},
    WR_SEED_ROW(road),
    {0}};

static wr_status road_prepare(void *settings, wr_family_shape *shape) {
  road *r = settings;
  r->key = wr_hash((uint64_t)r->seed, 0);
  r->chance = wr_chance(r->keep);
  for (r->square = 1; r->square < r->side; r->square *= 2) {}
  shape->n = r->side * r->side;
  shape->expected = wr_share(r->keep, 4 * shape->n);
  shape->symmetric = 1;
  return WR_OK;
}

/* Bit b of x (below 2^16) to bit 2b, and back. */
static uint32_t spread(uint32_t x) {
  x = (x | x << 8) & 0x00ff00ff;
  x = (x | x << 4) & 0x0f0f0f0f;
  x = (x | x << 2) & 0x33333333;
  return (x | x << 1) & 0x55555555;
}

static uint32_t gather(uint32_t x) {
  x &= 0x55555555;
  x = (x | x >> 1) & 0x33333333;
  x = (x | x >> 2) & 0x0f0f0f0f;
  x = (x | x >> 4) & 0x00ff00ff;
  return (x | x >> 8) & 0x0000ffff;
}

typedef struct point {
  int64_t x, y;
} point;

/* What is left to search: a square of the Morton curve, of which width * height points lie on the grid. */
typedef struct part {
  int64_t square, width, height;
} part;

static int is_full(const part *p) { return p->width == p->square && p->height == p->square; }

/* Quarter (right, lower) of p. */
static part quarter(const part *p, int right, int lower) {
  int64_t half = p->square / 2, width = p->width < half ? p->width : half, height = p->height < half ? p->height : half;
  return (part){half, right ? p->width - width : width, lower ? p->height - height : height};
}

/* The number of a point: a full square is numbered by the bits of x and y, any other quarter by quarter. */
static int64_t number_of(const road *r, point at) {
  part here = {r->square, r->side, r->side};
  int64_t before = 0;
  while (!is_full(&here)) {
    int64_t half = here.square / 2;
    int right = at.x >= half, lower = at.y >= half;
    for (int q = 0; q < 2 * lower + right; q++) {
      part skipped = quarter(&here, q & 1, q >> 1);
      before += skipped.width * skipped.height;
    }
    at = (point){at.x - right * half, at.y - lower * half};
    here = quarter(&here, right, lower);
  }
  return before + (int64_t)(spread((uint32_t)at.x) | spread((uint32_t)at.y) << 1);
}

/* The point with a number: the inverse of number_of. */
static point point_of(const road *r, int64_t number) {
  part here = {r->square, r->side, r->side};
  point corner = {0, 0};
  while (!is_full(&here)) {
    int64_t half = here.square / 2;
    int q = 0;
    part inside = quarter(&here, 0, 0);
    while (number >= inside.width * inside.height) {
      number -= inside.width * inside.height;
      q++;
      inside = quarter(&here, q & 1, q >> 1);
    }
    corner = (point){corner.x + (q & 1) * half, corner.y + (q >> 1) * half};
    here = inside;
  }
  return (point){corner.x + gather((uint32_t)number), corner.y + gather((uint32_t)(number >> 1))};
}

/* The edge from `at` to the right or down. The rows of both its ends hash the same name, so that both have it or neither. */
static int has_edge(const road *r, point at, int down) {
  if (at.x < 0 || at.y < 0 || (down ? at.y : at.x) + 1 >= r->side) return 0;
  uint64_t name = (uint64_t)(at.x << 17 | at.y << 1 | down);
  return wr_unit(wr_hash(r->key, name)) < r->chance;
}

typedef struct edges {
  int right, down, left, up;
} edges;

static edges edges_at(const road *r, point at) {
  return (edges){has_edge(r, at, 0), has_edge(r, at, 1), has_edge(r, (point){at.x - 1, at.y}, 0),
                 has_edge(r, (point){at.x, at.y - 1}, 1)};
}

static int64_t road_length(const void *settings, int64_t i) {
  const road *r = settings;
  edges e = edges_at(r, point_of(r, i));
  return e.right + e.down + e.left + e.up;
}

static wr_status road_row(const void *settings, int64_t i, wr_rows *rows) {
  const road *r = settings;
  PASS(wr_rows_reserve(rows, 4));
  point at = point_of(r, i);
  edges e = edges_at(r, at);
  int64_t first = rows->count;
  if (e.right) rows->col[rows->count++] = (int32_t)number_of(r, (point){at.x + 1, at.y});
  if (e.down) rows->col[rows->count++] = (int32_t)number_of(r, (point){at.x, at.y + 1});
  if (e.left) rows->col[rows->count++] = (int32_t)number_of(r, (point){at.x - 1, at.y});
  if (e.up) rows->col[rows->count++] = (int32_t)number_of(r, (point){at.x, at.y - 1});
  return wr_rows_merge(rows, first);
}

const wr_family wr_family_road = {
    .name = "road",
    .summary = "side^2 grid points in Morton order, part of the undirected edges between neighbours",
    .options = road_options,
    .settings_size = sizeof(road),
    .prepare = road_prepare,
    .length = road_length,
    .row = road_row,
};
