/* Graphs with rows that are drawn independently of each other. */
#include "data/family.h"

#include "spmv/matrix/csr.h"

/* ---- uniform ---- */

typedef struct uniform {
  int64_t n, degree, seed;
} uniform;

static const wr_option uniform_options[] = {
    {.name = "n", .type = WR_OPTION_INT, .offset = offsetof(uniform, n), .min = 1, .max = WR_MAX_INDEX,
     .value = "4000000", .help = "nodes"},
    {.name = "degree", .type = WR_OPTION_INT, .offset = offsetof(uniform, degree), .min = 0, .max = WR_MAX_INDEX,
     .value = "12", .help = "edges drawn for each node; repeats are merged"},
    WR_SEED_ROW(uniform),
    {0}};

static wr_status uniform_prepare(void *settings, wr_family_shape *shape) {
  const uniform *u = settings;
  shape->n = u->n;
  shape->expected = wr_times(u->n, u->degree);
  return WR_OK;
}

static wr_status uniform_row(const void *settings, int64_t i, wr_rows *rows) {
  const uniform *u = settings;
  PASS(wr_rows_reserve(rows, u->degree));
  int64_t first = rows->count;
  uint64_t key = wr_hash((uint64_t)u->seed, (uint64_t)i);
  for (int64_t k = 0; k < u->degree; k++) rows->col[rows->count++] = (int32_t)wr_below(wr_hash(key, (uint64_t)k), u->n);
  return wr_rows_merge(rows, first);
}

const wr_family wr_family_uniform = {
    .name = "uniform",
    .summary = "n nodes, each with `degree` edges to uniformly random ones",
    .options = uniform_options,
    .settings_size = sizeof(uniform),
    .prepare = uniform_prepare,
    .row = uniform_row,
};

/* ---- rmat ---- */

/* An edge chooses a quarter of the matrix `scale` times over, with chances (0.57, 0.19, 0.19, 0.05) (Chakrabarti, Zhan,
 * Faloutsos, R-MAT, SDM 2004). So row i gets edges in proportion to 0.76^(zeros of i) 0.24^(ones of i), a Poisson
 * number of them, and their columns' bits follow from the row's: the chance of a one is 0.19 / 0.76 = 1/4 beside a zero
 * and 0.05 / 0.24 = 5/24 beside a one. */
enum { ZERO_PERCENT = 76, ONE_PERCENT = 24, MAX_SCALE = 30, FRACTION_BITS = 24, CHANCE_BITS = 16,
       POISSON_TERMS = 21 };

typedef struct rmat {
  int64_t scale, degree, seed;
  uint64_t count_key, column_key;
  uint64_t mean[MAX_SCALE + 1];       /* edges of a row, by its number of ones, times 2^FRACTION_BITS */
  uint64_t poisson[POISSON_TERMS];    /* 2^64 P(X <= k), X Poisson with mean 1 */
} rmat;

static const wr_option rmat_options[] = {
    {.name = "scale", .type = WR_OPTION_INT, .offset = offsetof(rmat, scale), .min = 0, .max = MAX_SCALE, .value = "20",
     .help = "2^scale nodes"},
    {.name = "degree", .type = WR_OPTION_INT, .offset = offsetof(rmat, degree), .min = 1, .max = 1000000, .value = "48",
     .help = "edges drawn, times the nodes; repeats are merged"},
    WR_SEED_ROW(rmat),
    {0}};

static void fill_means(rmat *r) {
  __extension__ typedef unsigned __int128 wide;
  for (int64_t ones = 0; ones <= r->scale; ones++) {
    wide mean = (wide)r->degree << FRACTION_BITS;
    for (int64_t bit = 0; bit < r->scale; bit++) mean = mean * (2 * (bit < ones ? ONE_PERCENT : ZERO_PERCENT)) / 100;
    r->mean[ones] = (uint64_t)mean;
  }
}

/* 1/e as the sum of (-1)^k / k!, then its multiples 1/k!; each in units of 2^-64. */
static void fill_poisson(rmat *r) {
  uint64_t term = UINT64_C(1) << 63, density = term; /* 1/2! */
  for (uint64_t k = 3; k < POISSON_TERMS; k++) {
    term /= k;
    density = k % 2 == 0 ? density + term : density - term;
  }
  uint64_t sum = 0;
  for (uint64_t k = 0; k < POISSON_TERMS; k++) {
    if (k > 0) density /= k;
    sum += density;
    r->poisson[k] = sum;
  }
}

static wr_status rmat_prepare(void *settings, wr_family_shape *shape) {
  rmat *r = settings;
  r->count_key = wr_hash((uint64_t)r->seed, 0);
  r->column_key = wr_hash((uint64_t)r->seed, 1);
  fill_means(r);
  fill_poisson(r);
  shape->n = INT64_C(1) << r->scale;
  shape->expected = shape->n * r->degree;
  return WR_OK;
}

static int64_t poisson_1(const rmat *r, uint64_t bits) {
  int64_t k = 0;
  while (k < POISSON_TERMS - 1 && bits >= r->poisson[k]) k++;
  return k;
}

/* Poisson with mean m: the sum of floor(m) draws with mean 1 and of one more, of which each event counts with chance
 * m - floor(m). */
static int64_t edges_of(const rmat *r, int64_t i) {
  uint64_t key = wr_hash(r->count_key, (uint64_t)i), mean = r->mean[__builtin_popcountll((uint64_t)i)];
  uint64_t chance = mean & ((UINT64_C(1) << FRACTION_BITS) - 1);
  int64_t whole = (int64_t)(mean >> FRACTION_BITS), edges = 0;
  for (int64_t k = 0; k < whole; k++) edges += poisson_1(r, wr_hash(key, (uint64_t)k));
  int64_t rest = poisson_1(r, wr_hash(key, (uint64_t)whole));
  for (int64_t k = 1; k <= rest; k++) edges += wr_hash(key, (uint64_t)(whole + k)) >> (64 - FRACTION_BITS) < chance;
  return edges;
}

static int32_t draw_column(const rmat *r, int64_t i, uint64_t key) {
  static const uint32_t one[] = {(1 << CHANCE_BITS) / 4, ((5 << CHANCE_BITS) + 12) / 24}; /* beside a zero, a one */
  uint32_t j = 0;
  uint64_t bits = 0;
  for (int64_t b = 0; b < r->scale; b++, bits >>= CHANCE_BITS) {
    if (b % (64 / CHANCE_BITS) == 0) bits = wr_hash(key, (uint64_t)b);
    j |= (uint32_t)((bits & ((1 << CHANCE_BITS) - 1)) < one[i >> b & 1]) << b;
  }
  return (int32_t)j;
}

static wr_status rmat_row(const void *settings, int64_t i, wr_rows *rows) {
  const rmat *r = settings;
  int64_t edges = edges_of(r, i), first = rows->count;
  PASS(wr_rows_reserve(rows, edges));
  uint64_t key = wr_hash(r->column_key, (uint64_t)i);
  for (int64_t k = 0; k < edges; k++) rows->col[rows->count++] = draw_column(r, i, wr_hash(key, (uint64_t)k));
  return wr_rows_merge(rows, first);
}

const wr_family wr_family_rmat = {
    .name = "rmat",
    .summary = "2^scale nodes, Kronecker probabilities (0.57, 0.19, 0.19, 0.05)",
    .options = rmat_options,
    .settings_size = sizeof(rmat),
    .prepare = rmat_prepare,
    .row = rmat_row,
};
