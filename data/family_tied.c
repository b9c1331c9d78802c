/* Undirected graphs with a simple law under a random numbering: node p's number is its place in a permutation. */
#include "data/family.h"

#include <math.h>

#include "spmv/matrix/csr.h"

/* ---- chain ---- */

enum { CHAIN_PIECE = 1000 }; /* nodes of an uncut piece of the path */

typedef struct chain {
  int64_t scale, seed;
  wr_permutation number; /* place on the path -> node */
} chain;

static const wr_option chain_options[] = {
    {.name = "scale", .type = WR_OPTION_INT, .offset = offsetof(chain, scale), .min = 0, .max = 30, .value = "24",
     .help = "2^scale nodes"},
    WR_SEED_ROW(chain),
    {0}};

static wr_status chain_prepare(void *settings, wr_family_shape *shape) {
  chain *c = settings;
  shape->n = INT64_C(1) << c->scale;
  c->number = wr_permutation_of(shape->n, wr_hash((uint64_t)c->seed, 0));
  shape->expected = 2 * shape->n;
  shape->symmetric = 1;
  return WR_OK;
}

/* Whether the node at a place is tied to the one before it. */
static int is_tied(const chain *c, int64_t place) {
  return place > 0 && (uint64_t)place < c->number.size && place % CHAIN_PIECE != 0;
}

static int64_t chain_length(const void *settings, int64_t i) {
  const chain *c = settings;
  int64_t place = wr_permutation_invert(&c->number, i);
  return is_tied(c, place) + is_tied(c, place + 1);
}

static wr_status chain_row(const void *settings, int64_t i, wr_rows *rows) {
  const chain *c = settings;
  PASS(wr_rows_reserve(rows, 2));
  int64_t place = wr_permutation_invert(&c->number, i), first = rows->count;
  if (is_tied(c, place)) rows->col[rows->count++] = (int32_t)wr_permutation_apply(&c->number, place - 1);
  if (is_tied(c, place + 1)) rows->col[rows->count++] = (int32_t)wr_permutation_apply(&c->number, place + 1);
  return wr_rows_merge(rows, first);
}

const wr_family wr_family_chain = {
    .name = "chain",
    .summary = "a path over 2^scale nodes in random order, cut every 1000",
    .options = chain_options,
    .settings_size = sizeof(chain),
    .prepare = chain_prepare,
    .length = chain_length,
    .row = chain_row,
};

/* ---- hubs ---- */

/* Places 0..hubs-1 are the hubs; behind them lie the leaves, hub by hub:
 *   | hubs | leaves of hub 0 | leaves of hub 1 | ... |     hub h's leaves begin at leaf  L (h / hubs)^(1/4)  of L */
typedef struct hubs {
  int64_t n, hubs, seed;
  wr_permutation number; /* place -> node */
} hubs;

static const wr_option hubs_options[] = {
    {.name = "n", .type = WR_OPTION_INT, .offset = offsetof(hubs, n), .min = 1, .max = WR_MAX_INDEX,
     .value = "10000000", .help = "nodes, hubs included"},
    {.name = "hubs", .type = WR_OPTION_INT, .offset = offsetof(hubs, hubs), .min = 1, .max = WR_MAX_INDEX,
     .value = "1000", .help = "nodes that the others, the leaves, are tied to"},
    WR_SEED_ROW(hubs),
    {0}};

static wr_status hubs_prepare(void *settings, wr_family_shape *shape) {
  hubs *h = settings;
  if (h->hubs > h->n)
    return wr_fail(WR_EUSAGE, "gen:hubs: hubs=%lld of n=%lld nodes: at most n", (long long)h->hubs, (long long)h->n);
  h->number = wr_permutation_of(h->n, wr_hash((uint64_t)h->seed, 0));
  shape->n = h->n;
  shape->expected = 2 * (h->n - h->hubs);
  shape->symmetric = 1;
  return WR_OK;
}

/* Division, sqrt and product are correctly rounded, so this is the same everywhere, and rising, so this rises too. */
static int64_t first_leaf(const hubs *h, int64_t hub) {
  return (int64_t)(sqrt(sqrt((double)hub / (double)h->hubs)) * (double)(h->n - h->hubs));
}

/* The last hub that begins at or before the leaf: guessed by the inverse law, then corrected. */
static int64_t hub_of(const hubs *h, int64_t leaf) {
  double share = (double)leaf / (double)(h->n - h->hubs), square = share * share;
  int64_t hub = (int64_t)(square * square * (double)h->hubs);
  while (first_leaf(h, hub) > leaf) hub--;
  while (first_leaf(h, hub + 1) <= leaf) hub++;
  return hub;
}

static int64_t hubs_length(const void *settings, int64_t i) {
  const hubs *h = settings;
  int64_t place = wr_permutation_invert(&h->number, i);
  return place < h->hubs ? first_leaf(h, place + 1) - first_leaf(h, place) : 1;
}

static wr_status hubs_row(const void *settings, int64_t i, wr_rows *rows) {
  const hubs *h = settings;
  int64_t place = wr_permutation_invert(&h->number, i), first = rows->count;
  int is_hub = place < h->hubs;
  int64_t begin = is_hub ? h->hubs + first_leaf(h, place) : hub_of(h, place - h->hubs);
  int64_t end = is_hub ? h->hubs + first_leaf(h, place + 1) : begin + 1;
  PASS(wr_rows_reserve(rows, end - begin));
  for (int64_t p = begin; p < end; p++) rows->col[rows->count++] = (int32_t)wr_permutation_apply(&h->number, p);
  return wr_rows_merge(rows, first);
}

const wr_family wr_family_hubs = {
    .name = "hubs",
    .summary = "every leaf tied to one of a few skewed hubs, both directions",
    .options = hubs_options,
    .settings_size = sizeof(hubs),
    .prepare = hubs_prepare,
    .length = hubs_length,
    .row = hubs_row,
};
