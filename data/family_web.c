/* Pages of the web in the order of their addresses. Out-degrees follow a power law, links are copied from pages shortly
 * before (Kleinberg and others, The Web as a Graph, COCOON 1999) or made anew: most of them near, the rest to pages
 * of skewed popularity.
 *
 *   link k of page u:   u --copy--> u' --copy--> u'' : made there, near (4 of 5) or to a popular page */
#include "data/family.h"

#include "config/memory.h"
#include "spmv/matrix/csr.h"

enum {
  MAX_COPIES = 20,     /* pages passed on the way to where a link was made           */
  COPY_PERCENT = 55,   /* of links are copied                                        */
  COPY_REACH = 48,     /* pages between a page and the one it copies from, at most   */
  NEAR_PERCENT = 80,   /* of new links are near: within local / NEAR_PART pages,     */
  NEAR_PART = 5,       /* but one of FAR_NEAR within local                           */
  FAR_NEAR = 16,
  MAX_ROUNDS = 4       /* of drawing again in place of links that repeat another one */
};

typedef struct web {
  int64_t n, dmin, dmax, local, seed;
  double alpha, dangling;
  uint64_t degree_key, copy_key, link_key, dangling_chance;
  uint64_t *survival; /* [dmax - dmin], survival[d] = 2^64 P(degree > dmin + d), descending */
  wr_permutation popular; /* rank -> page */
} web;

static const wr_option web_options[] = {
    {.name = "n", .type = WR_OPTION_INT, .offset = offsetof(web, n), .min = 1, .max = WR_MAX_INDEX, .value = "3000000",
     .help = "pages"},
    {.name = "dmin", .type = WR_OPTION_INT, .offset = offsetof(web, dmin), .min = 1, .max = 1000000, .value = "7",
     .help = "fewest links of a page that has any"},
    {.name = "alpha", .type = WR_OPTION_REAL, .offset = offsetof(web, alpha), .min = 0.1, .max = 100, .value = "1.6",
     .help = "exponent: P(links > d) falls like d^-alpha"},
    {.name = "dangling", .type = WR_OPTION_REAL, .offset = offsetof(web, dangling), .min = 0, .max = 1, .value = "0.1",
     .help = "share of pages without links"},
    {.name = "dmax", .type = WR_OPTION_INT, .offset = offsetof(web, dmax), .min = 1, .max = 1000000, .value = "5000",
     .help = "most links of a page"},
    {.name = "local", .type = WR_OPTION_INT, .offset = offsetof(web, local), .min = 1, .max = WR_MAX_INDEX,
     .value = "3000", .help = "reach of near links; most stay within a fifth of it"},
    WR_SEED_ROW(web),
    {0}};

/* The Yule-Simon law from dmin on: P(> d) / P(>= d) = d / (d + alpha), so that P(> d) falls like d^-alpha, and the mean
 * without dmax is dmin + dmin / (alpha - 1). Fixed point: 32 bits of fraction in d and alpha, 64 in P. */
static void fill_survival(web *w) {
  __extension__ typedef unsigned __int128 wide;
  uint64_t alpha = (uint64_t)(w->alpha * 0x1p32), p = UINT64_MAX;
  for (int64_t d = w->dmin; d < w->dmax; d++) {
    uint64_t fixed = (uint64_t)d << 32;
    p = (uint64_t)((wide)p * fixed / (fixed + alpha));
    w->survival[d - w->dmin] = p;
  }
}

static wr_status web_prepare(void *settings, wr_family_shape *shape) {
  web *w = settings;
  if (w->dmin > w->dmax)
    return wr_fail(WR_EUSAGE, "gen:web: dmin=%lld is above dmax=%lld", (long long)w->dmin, (long long)w->dmax);
  uint64_t seed = (uint64_t)w->seed;
  w->degree_key = wr_hash(seed, 0);
  w->copy_key = wr_hash(seed, 1);
  w->link_key = wr_hash(seed, 2);
  w->popular = wr_permutation_of(w->n, wr_hash(seed, 3));
  w->dangling_chance = wr_chance(w->dangling);
  PASS(wr_alloc(&w->survival, w->dmax - w->dmin, sizeof *w->survival, "the degrees of gen:web"));
  fill_survival(w);
  uint64_t beyond = 0; /* 2^32 (mean - dmin) */
  for (int64_t d = 0; d < w->dmax - w->dmin; d++) beyond += w->survival[d] >> 32;
  shape->n = w->n;
  shape->expected = wr_times(w->n, wr_share(1 - w->dangling, w->dmin + 1 + (int64_t)(beyond >> 32)));
  return WR_OK;
}

static void web_release(void *settings) { wr_free(((web *)settings)->survival); }

static int64_t degree_of(const web *w, int64_t page) {
  uint64_t key = wr_hash(w->degree_key, (uint64_t)page);
  if (wr_unit(wr_hash(key, 0)) < w->dangling_chance) return 0;
  uint64_t draw = wr_hash(key, 1);
  int64_t low = 0, high = w->dmax - w->dmin; /* the first of the survivals that is not above the draw */
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (w->survival[middle] > draw)
      low = middle + 1;
    else
      high = middle;
  }
  int64_t degree = w->dmin + low;
  return degree < w->n ? degree : w->n;
}

/* The pages that a page copies from, nearest first; page[0] is itself. Found as far as they are asked for. */
typedef struct lineage {
  int known;
  int64_t page[MAX_COPIES + 1];
  uint64_t key[MAX_COPIES + 1]; /* of the links of that page */
} lineage;

static int64_t wrap(int64_t page, int64_t n) {
  if (page >= 0 && page < n) return page;
  page %= n;
  return page < 0 ? page + n : page;
}

static void lineage_extend(const web *w, lineage *from) {
  int64_t page = from->page[from->known - 1];
  page = wrap(page - 1 - wr_below(wr_hash(w->copy_key, (uint64_t)page), COPY_REACH), w->n);
  from->page[from->known] = page;
  from->key[from->known++] = wr_hash(w->link_key, (uint64_t)page);
}

static int64_t near_page(const web *w, int64_t page, uint64_t key) {
  uint64_t draw = wr_hash(key, 0), kind = wr_hash(key, 1);
  int64_t reach = kind % FAR_NEAR == 0 ? w->local : (w->local + NEAR_PART - 1) / NEAR_PART;
  int64_t step = 1 + wr_below(draw, reach);
  return wrap(kind >> 63 ? page - step : page + step, w->n);
}

/* Rank n/3 u^4, u uniform: the first of n/3 ranks gets (3/n)^(1/4) of these links, a rank k about k^(-3/4) as many. */
static int64_t popular_page(const web *w, uint64_t key) {
  uint64_t u = wr_hash(key, 0) >> 32, square = u * u >> 32, fourth = square * square;
  return wr_permutation_apply(&w->popular, wr_below(fourth, w->n / 3 + 1));
}

static int64_t link_target(const web *w, lineage *from, int64_t k) {
  int depth = 0;
  uint64_t key = wr_hash(from->key[0], (uint64_t)k);
  while (depth < MAX_COPIES && wr_below(key, 100) < COPY_PERCENT) {
    if (++depth == from->known) lineage_extend(w, from);
    key = wr_hash(from->key[depth], (uint64_t)k);
  }
  int near = wr_below(key << 32, 100) < NEAR_PERCENT;
  return near ? near_page(w, from->page[depth], key) : popular_page(w, key);
}

static wr_status web_row(const void *settings, int64_t i, wr_rows *rows) {
  const web *w = settings;
  int64_t degree = degree_of(w, i), first = rows->count, drawn = 0;
  lineage from = {.known = 1, .page[0] = i, .key[0] = wr_hash(w->link_key, (uint64_t)i)};
  wr_status status = wr_rows_reserve(rows, degree);
  for (int round = 0; status == WR_OK && round < MAX_ROUNDS && rows->count < first + degree; round++) {
    for (; rows->count < first + degree; drawn++) rows->col[rows->count++] = (int32_t)link_target(w, &from, drawn);
    status = wr_rows_merge(rows, first);
  }
  return status;
}

const wr_family wr_family_web = {
    .name = "web",
    .summary = "pages with power-law out-degrees; 3 of 4 links within local/5 pages, the rest to popular ones",
    .options = web_options,
    .settings_size = sizeof(web),
    .prepare = web_prepare,
    .row = web_row,
    .release = web_release,
};
