/* Diffusion -div(a grad u) on a regular grid with u = 0 around it, by finite volumes: symmetric positive definite M-matrices.
 * The coefficient a differs by direction (aniso) or by place (jump). */
#include "data/family.h"

#include <math.h>

/* ---- aniso ---- */

typedef struct aniso {
  int64_t seed, n;
  int dims;
  double ratio;
  wr_grid grid;
} aniso;

static const wr_option aniso_options[] = {
    {.name = "n", .type = WR_OPTION_INT, .offset = offsetof(aniso, n), .min = 1, .max = WR_GRID_SIDE, .value = "1000",
     .help = "points along a side"},
    {.name = "dims", .type = WR_OPTION_CHOICE, .offset = offsetof(aniso, dims), .choices = "2|3", .value = "2",
     .help = "a plane or space"},
    {.name = "ratio", .type = WR_OPTION_REAL, .offset = offsetof(aniso, ratio), .min = 1, .max = 1e9, .value = "1000",
     .help = "diffusion along x against that along y and z; rounded to a multiple of 2^-20"},
    WR_SEED_ROW(aniso),
    {0}};

/* A ratio of 50 bits makes the sums of a row exact. */
static wr_status aniso_prepare(void *settings, wr_family_shape *shape) {
  aniso *a = settings;
  a->dims += 2;
  a->ratio = floor(a->ratio * 0x1p20 + 0.5) * 0x1p-20;
  shape->symmetric = 1;
  wr_status status = wr_grid_make("aniso", a->n, a->dims, 1, &a->grid, &shape->n);
  shape->expected = wr_times(shape->n, 2 * a->dims + 1);
  return status;
}

static int64_t aniso_length(const void *settings, int64_t i) {
  return 1 + wr_grid_degree(&((const aniso *)settings)->grid, i);
}

/* The row sums to 0 inside the grid and above 0 at its faces. The grid is connected, so the matrix is irreducibly diagonally
 * dominant: nonsingular (Varga, Matrix Iterative Analysis, section 1.4), and positive definite because it is symmetric. */
static wr_status aniso_row(const void *settings, int64_t i, wr_rows *rows) {
  const aniso *a = settings;
  PASS(wr_rows_reserve(rows, 2 * a->dims + 1));
  for (int k = -a->dims; k <= a->dims; k++) {
    int64_t j = wr_grid_step(&a->grid, i, k);
    if (j < 0) continue;
    rows->col[rows->count] = (int32_t)j;
    rows->val[rows->count++] = k == 0 ? 2 * (a->ratio + a->dims - 1) : k == -1 || k == 1 ? -a->ratio : -1;
  }
  return WR_OK;
}

const wr_family wr_family_aniso = {
    .name = "aniso",
    .summary = "diffusion on n^dims grid points, stronger along x than along y and z; symmetric positive definite",
    .options = aniso_options,
    .settings_size = sizeof(aniso),
    .with_values = 1,
    .prepare = aniso_prepare,
    .length = aniso_length,
    .row = aniso_row,
};

/* ---- jump ---- */

typedef struct jump {
  int64_t seed, n, domains;
  int dims;
  double contrast;
  int powers; /* the coefficient of a subdomain is 2^e, e in [0, powers] */
  wr_grid grid;
} jump;

static const wr_option jump_options[] = {
    {.name = "n", .type = WR_OPTION_INT, .offset = offsetof(jump, n), .min = 1, .max = WR_GRID_SIDE, .value = "1000",
     .help = "points along a side"},
    {.name = "dims", .type = WR_OPTION_CHOICE, .offset = offsetof(jump, dims), .choices = "2|3", .value = "2",
     .help = "a plane or space"},
    {.name = "domains", .type = WR_OPTION_INT, .offset = offsetof(jump, domains), .min = 1, .max = WR_GRID_SIDE,
     .value = "8", .help = "subdomains along a side"},
    {.name = "contrast", .type = WR_OPTION_REAL, .offset = offsetof(jump, contrast), .min = 1, .max = 1e15,
     .value = "1e6", .help = "the largest coefficient against the smallest; taken down to a power of two"},
    WR_SEED_ROW(jump),
    {0}};

static wr_status jump_prepare(void *settings, wr_family_shape *shape) {
  jump *s = settings;
  s->dims += 2;
  s->powers = ilogb(s->contrast);
  shape->symmetric = 1;
  wr_status status = wr_grid_make("jump", s->n, s->dims, 1, &s->grid, &shape->n);
  shape->expected = wr_times(shape->n, 2 * s->dims + 1);
  return status;
}

static int64_t jump_length(const void *settings, int64_t i) {
  return 1 + wr_grid_degree(&((const jump *)settings)->grid, i);
}

static double coefficient(const jump *s, int64_t point) {
  int64_t domain = 0;
  for (int axis = s->dims - 1; axis >= 0; axis--)
    domain = domain * s->domains + wr_grid_at(&s->grid, point, axis) * s->domains / s->n;
  return ldexp(1, (int)wr_below(wr_hash((uint64_t)s->seed, (uint64_t)domain), s->powers + 1));
}

/* Points are tied by the harmonic mean of their coefficients, which is the flow through two layers one after the other; a and b
 * change places in it without a difference, so A is symmetric. Strictly diagonally dominant by wr_dominant, with a positive
 * diagonal: positive definite. */
static wr_status jump_row(const void *settings, int64_t i, wr_rows *rows) {
  const jump *s = settings;
  PASS(wr_rows_reserve(rows, 2 * s->dims + 1));
  double a = coefficient(s, i), sum = 0;
  int64_t diagonal = 0;
  for (int k = -s->dims; k <= s->dims; k++) {
    int64_t j = wr_grid_step(&s->grid, i, k);
    if (k == 0) diagonal = rows->count;
    double b = j < 0 ? a : coefficient(s, j), mean = k == 0 ? 0 : 2 * a * b / (a + b);
    sum += mean;
    if (j < 0) continue;
    rows->col[rows->count] = (int32_t)j;
    rows->val[rows->count++] = -mean;
  }
  rows->val[diagonal] = wr_dominant(sum);
  return WR_OK;
}

const wr_family wr_family_jump = {
    .name = "jump",
    .summary = "diffusion on n^dims grid points, coefficients that jump by subdomain; symmetric positive definite",
    .options = jump_options,
    .settings_size = sizeof(jump),
    .with_values = 1,
    .prepare = jump_prepare,
    .length = jump_length,
    .row = jump_row,
};
