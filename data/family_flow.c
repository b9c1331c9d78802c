/* Flow: convection against diffusion on a graded grid, and Stokes' equations on staggered cells. */
#include "data/family.h"

#include <math.h>

#include "config/memory.h"

/* ---- convect ---- */

enum { CENTRAL, UPWIND };
enum { THROUGH, VORTEX };

typedef struct convect {
  int64_t seed, n;
  int dims, scheme, flow;
  double peclet, stretch;
  wr_grid grid;
  double *spacing; /* [n + 1], from the lower wall to point 0, between points, from point n - 1 to the upper wall; mean 1   */
  double *border;  /* [n + 1], lower and upper border of each point's cell: midway between points, and the walls at 0, n + 1 */
} convect;

static const wr_option convect_options[] = {
    {.name = "n", .type = WR_OPTION_INT, .offset = offsetof(convect, n), .min = 1, .max = WR_GRID_SIDE, .value = "1000",
     .help = "points along a side"},
    {.name = "dims", .type = WR_OPTION_CHOICE, .offset = offsetof(convect, dims), .choices = "2|3", .value = "2",
     .help = "a plane or space"},
    {.name = "peclet", .type = WR_OPTION_REAL, .offset = offsetof(convect, peclet), .min = 0, .max = 1e6, .value = "20",
     .help = "highest speed times the mean spacing over the diffusion; nonsymmetric unless 0"},
    {.name = "scheme", .type = WR_OPTION_CHOICE, .offset = offsetof(convect, scheme), .choices = "central|upwind",
     .value = "upwind", .help = "central: skew-symmetric convection; upwind: an M-matrix"},
    {.name = "flow", .type = WR_OPTION_CHOICE, .offset = offsetof(convect, flow), .choices = "through|vortex",
     .value = "through", .help = "straight, oblique to the grid; or about the middle, in planes of x and y"},
    {.name = "stretch", .type = WR_OPTION_REAL, .offset = offsetof(convect, stretch), .min = 1, .max = 1e6,
     .value = "1", .help = "largest spacing against the smallest; spacings shrink evenly towards the upper walls"},
    WR_SEED_ROW(convect),
    {0}};

/* base^(k / n) for k <= n: the product of those of base^(1/2), base^(1/4), ... that are the binary digits of k / n. Roots and
 * products are rounded correctly, so all machines get the same number, which pow does not promise. */
static double power(double base, int64_t k, int64_t n) {
  enum { BINARY_DIGITS = 50 };
  double product = 1, root = base;
  if (k == n) return base;
  for (int digit = 0; digit < BINARY_DIGITS; digit++) {
    root = sqrt(root);
    k *= 2;
    if (k < n) continue;
    k -= n;
    product *= root;
  }
  return product;
}

static void grade(convect *c) {
  double sum = 0, at = 0;
  for (int64_t k = 0; k <= c->n; k++) sum += c->spacing[k] = 1 / power(c->stretch, k, c->n);
  for (int64_t k = 0; k <= c->n; k++) c->spacing[k] = c->spacing[k] * (double)(c->n + 1) / sum;
  c->border[0] = 0;
  for (int64_t k = 1; k < c->n; k++) {
    at += c->spacing[k - 1];
    c->border[k] = at + c->spacing[k] / 2;
  }
  c->border[c->n] = (double)(c->n + 1);
}

static wr_status convect_prepare(void *settings, wr_family_shape *shape) {
  convect *c = settings;
  c->dims += 2;
  PASS(wr_grid_make("convect", c->n, c->dims, 1, &c->grid, &shape->n));
  shape->expected = wr_times(shape->n, 2 * c->dims + 1);
  shape->symmetric = c->peclet == 0;
  PASS(wr_alloc(&c->spacing, c->n + 1, sizeof *c->spacing, "the spacings of gen:convect"));
  PASS(wr_alloc(&c->border, c->n + 1, sizeof *c->border, "the cells of gen:convect"));
  grade(c);
  return WR_OK;
}

static void convect_release(void *settings) {
  convect *c = settings;
  wr_free(c->spacing);
  wr_free(c->border);
}

static int64_t convect_length(const void *settings, int64_t i) {
  return 1 + wr_grid_degree(&((const convect *)settings)->grid, i);
}

static double width(const convect *c, int64_t at) { return c->border[at + 1] - c->border[at]; }

/* The stream function of the vortex, of speed `peclet` at the middle of a wall: 4 L x (1 - x) y (1 - y) of x and y over L. */
static double stream(const convect *c, int64_t x, int64_t y) {
  double length = (double)(c->n + 1), u = c->border[x] / length, v = c->border[y] / length;
  return 4 * c->peclet * length * (u * (1 - u)) * (v * (1 - v));
}

/* Flow through the face of a point's cell at border number `at` along the axis, in the axis' direction, `area` large. The
 * flows out of a cell add up to 0: the speed of `through` is the same everywhere, 1, 1/2 and 1/4 along x, y, z; those of
 * the vortex are differences of the stream function between the face's two ends. */
static double flow_through(const convect *c, int64_t point, int axis, int64_t at, double area) {
  if (c->flow == THROUGH) return ldexp(c->peclet, -axis) * area;
  int64_t x = wr_grid_at(&c->grid, point, 0), y = wr_grid_at(&c->grid, point, 1);
  double depth = c->dims == 3 ? width(c, wr_grid_at(&c->grid, point, 2)) : 1;
  if (axis == 0) return (stream(c, at, y + 1) - stream(c, at, y)) * depth;
  if (axis == 1) return (stream(c, x, at) - stream(c, x + 1, at)) * depth;
  return 0;
}

/* What ties two points across a face: entry is that of this point's row, mirrored that of the other's. */
typedef struct tie {
  double entry, mirrored;
} tie;

/* Of the point with its neighbour by step k, or with the wall there. Every number is the same seen from either side, but for
 * the flow's sign. */
static tie tie_of(const convect *c, int64_t point, int k) {
  int axis = (k < 0 ? -k : k) - 1;
  int64_t border = wr_grid_at(&c->grid, point, axis) + (k > 0);
  double area = 1;
  for (int other = 0; other < c->dims; other++)
    if (other != axis) area *= width(c, wr_grid_at(&c->grid, point, other));
  double diffusion = area / c->spacing[border], flow = flow_through(c, point, axis, border, area),
         out = k > 0 ? flow : -flow;
  if (c->scheme == CENTRAL) return (tie){.entry = out / 2 - diffusion, .mirrored = -out / 2 - diffusion};
  return (tie){.entry = fmin(out, 0) - diffusion, .mirrored = -fmax(out, 0) - diffusion};
}

/* Nonsingular at any speed, with the values as they are stored, because of how the diagonal is made of the other entries:
 *   upwind:  -(sum of the column's entries), which are all negative: strictly dominant by columns, an M-matrix;
 *   central: -(half the sum of the row's and the column's entries): (A + A^T)/2 is strictly dominant and so positive
 *            definite, and x^T A x > 0 for every x but 0.
 * Walls count as neighbours. In exact numbers the diagonal is that of the finite volumes, since the flows add up to 0. */
static wr_status convect_row(const void *settings, int64_t i, wr_rows *rows) {
  const convect *c = settings;
  PASS(wr_rows_reserve(rows, 2 * c->dims + 1));
  double sum = 0;
  int64_t diagonal = 0;
  for (int k = -c->dims; k <= c->dims; k++) {
    int64_t j = wr_grid_step(&c->grid, i, k);
    if (k == 0) diagonal = rows->count;
    tie t = k == 0 ? (tie){0, 0} : tie_of(c, i, k);
    sum -= c->scheme == CENTRAL ? (t.entry + t.mirrored) / 2 : t.mirrored;
    if (j < 0) continue;
    rows->col[rows->count] = (int32_t)j;
    rows->val[rows->count++] = t.entry;
  }
  rows->val[diagonal] = wr_dominant(sum);
  return WR_OK;
}

const wr_family wr_family_convect = {
    .name = "convect",
    .summary = "strong convection with diffusion on n^dims points of a graded grid, by finite volumes",
    .options = convect_options,
    .settings_size = sizeof(convect),
    .with_values = 1,
    .prepare = convect_prepare,
    .length = convect_length,
    .row = convect_row,
    .release = convect_release,
};

/* ---- saddle ---- */

/* Velocities lie on the faces of cells and pressures in their middles (Harlow and Welch, Numerical Calculation of
 * Time-Dependent Viscous Incompressible Flow, Physics of Fluids 8, 1965). Face c of axis d is the upper one of cell c. Below
 * the lowest cells is a wall, above the highest ones an open end where the pressure is 0.
 *   row, column:  | faces of x | of y | of z | cells |, n^dims of each      | viscosity A  B^T | velocity |
 *                                                                          | B            0   | pressure | */
typedef struct saddle {
  int64_t seed, n;
  int dims;
  double viscosity, convection;
  wr_grid grid;
  double below, above; /* entries of A for the neighbours below and above */
} saddle;

static const wr_option saddle_options[] = {
    {.name = "n", .type = WR_OPTION_INT, .offset = offsetof(saddle, n), .min = 1, .max = WR_GRID_SIDE, .value = "500",
     .help = "cells along a side"},
    {.name = "dims", .type = WR_OPTION_CHOICE, .offset = offsetof(saddle, dims), .choices = "2|3", .value = "2",
     .help = "a plane or space"},
    {.name = "viscosity", .type = WR_OPTION_REAL, .offset = offsetof(saddle, viscosity), .min = 1e-9, .max = 1e9,
     .value = "1", .help = "factor of A"},
    {.name = "convection", .type = WR_OPTION_REAL, .offset = offsetof(saddle, convection), .min = 0, .max = 1,
     .below_max = 1, .value = "0", .help = "flow against diffusion in A; nonsymmetric unless 0"},
    WR_SEED_ROW(saddle),
    {0}};

static wr_status saddle_prepare(void *settings, wr_family_shape *shape) {
  saddle *s = settings;
  s->dims += 2;
  s->below = -s->viscosity * (1 + s->convection);
  s->above = -s->viscosity * (1 - s->convection);
  wr_status status = wr_grid_make("saddle", s->n, s->dims, s->dims + 1, &s->grid, &shape->n);
  /* an inner row of A has 2 dims + 1 entries and 2 of B^T, one of B has 2 dims */
  shape->expected = wr_times(s->grid.points, s->dims * (2 * s->dims + 3) + 2 * s->dims);
  shape->symmetric = s->convection == 0;
  return status;
}

static int64_t saddle_length(const void *settings, int64_t i) {
  const saddle *s = settings;
  int64_t block = i / s->grid.points, cell = i % s->grid.points, length = 0;
  if (block < s->dims)
    return 1 + wr_grid_degree(&s->grid, cell) + 1 + (wr_grid_step(&s->grid, cell, (int)block + 1) >= 0);
  for (int d = 0; d < s->dims; d++) length += 1 + (wr_grid_step(&s->grid, cell, -d - 1) >= 0);
  return length;
}

static void append(wr_rows *rows, int64_t column, double value) {
  rows->col[rows->count] = (int32_t)column;
  rows->val[rows->count++] = value;
}

/* Row of face `cell` of an axis: A, the Laplacian with convection for that velocity, which is 0 beyond the grid, and B^T. */
static void velocity_row(const saddle *s, int axis, int64_t cell, wr_rows *rows) {
  int64_t points = s->grid.points, next = wr_grid_step(&s->grid, cell, axis + 1);
  for (int k = -s->dims; k <= s->dims; k++) {
    int64_t j = wr_grid_step(&s->grid, cell, k);
    if (j >= 0) append(rows, axis * points + j, k == 0 ? 2 * s->dims * s->viscosity : k < 0 ? s->below : s->above);
  }
  append(rows, s->dims * points + cell, 1);
  if (next >= 0) append(rows, s->dims * points + next, -1);
}

/* Row of a cell's pressure: what flows out of the cell, by its upper faces less its lower ones. */
static void pressure_row(const saddle *s, int64_t cell, wr_rows *rows) {
  for (int d = 0; d < s->dims; d++) {
    int64_t before = wr_grid_step(&s->grid, cell, -d - 1);
    if (before >= 0) append(rows, d * s->grid.points + before, -1);
    append(rows, d * s->grid.points + cell, 1);
  }
}

/* Nonsingular because x^T A x > 0 for x != 0 and B^T has full column rank (Benzi, Golub, Liesen, Numerical solution of saddle
 * point problems, Acta Numerica 2005, section 3.2). The symmetric part of A is the Laplacian, irreducibly dominant. Where
 * B^T p = 0, the highest cells have p = 0 and every other cell has the p of the cell above. Rounding changes A's entries by
 * 2^-52 of the viscosity, far less than the least eigenvalue of its symmetric part, about dims pi^2 / (n + 1)^2 of it. */
static wr_status saddle_row(const void *settings, int64_t i, wr_rows *rows) {
  const saddle *s = settings;
  PASS(wr_rows_reserve(rows, 2 * s->dims + 3));
  int64_t block = i / s->grid.points, cell = i % s->grid.points;
  if (block < s->dims)
    velocity_row(s, (int)block, cell, rows);
  else
    pressure_row(s, cell, rows);
  return WR_OK;
}

const wr_family wr_family_saddle = {
    .name = "saddle",
    .summary = "[A B^T; B 0], Stokes' equations on n^dims staggered cells: each cell's row has no diagonal element",
    .options = saddle_options,
    .settings_size = sizeof(saddle),
    .with_values = 1,
    .prepare = saddle_prepare,
    .length = saddle_length,
    .row = saddle_row,
};
