/* Circuits as modified nodal analysis writes them (Ho, Ruehli, Brennan, The Modified Nodal Approach to Network Analysis, IEEE
 * Transactions on Circuits and Systems 22, 1975): Kirchhoff's law for the current of each node, and a row for each voltage
 * source that fixes a difference of voltages.
 *
 *   | rails | nodes | sources of rails | sources between nodes |     [ G    E ] [ voltages ]
 *                                                                  [ E^T  0 ] [ currents ]  */
#include "data/family.h"

#include <math.h>
#include <string.h>

#include "spmv/matrix/csr.h"

enum {
  WIRES = 2,          /* kinds of wires, between neighbours by number: 1 apart, and a row of the layout apart   */
  WIRED_PERCENT = 60, /* of the places for these wires are taken                                                */
  SUPPLIED_PERCENT = 50, /* of the nodes are tied to a rail                                                     */
  CONTROL_REACH = 200, /* a control node is at most so far away, by number, ...                                 */
  FAR_CONTROL = 8,    /* but for one of so many, which is anywhere                                              */
  SHORT_ROW = 1 + 2 * WIRES + 3 /* entries of a node's row, at most: also a control node, a rail, a source      */
};

typedef struct circuit {
  int64_t n, rails, seed;
  double sources, active, spread;
  int powers;           /* a node's level is in [0, powers]: its conductances are about 2^-level                     */
  int64_t apart[WIRES]; /* numbers between the two ends of a wire of this kind                                       */
  int64_t pairs, floating; /* nodes 2 q and 2 q + 1 behind the rails are pair q; so many pairs have a source         */
  uint64_t active_chance, level_key, wire_key, supply_key, control_key;
  wr_permutation pair;  /* source between nodes -> pair                                                              */
  wr_permutation place; /* place -> node behind the rails; rail r supplies a run of places                           */
} circuit;

static const wr_option circuit_options[] = {
    {.name = "n", .type = WR_OPTION_INT, .offset = offsetof(circuit, n), .min = 2, .max = WR_MAX_INDEX,
     .value = "1000000", .help = "nodes, rails included, ground not"},
    {.name = "rails", .type = WR_OPTION_INT, .offset = offsetof(circuit, rails), .min = 1, .max = WR_MAX_INDEX,
     .value = "8", .help = "supply nets: dense rows and columns, with a voltage source each"},
    {.name = "sources", .type = WR_OPTION_REAL, .offset = offsetof(circuit, sources), .min = 0, .max = 1,
     .value = "0.05", .help = "share of pairs of nodes with a voltage source between them"},
    {.name = "active", .type = WR_OPTION_REAL, .offset = offsetof(circuit, active), .min = 0, .max = 1, .value = "0.2",
     .help = "share of nodes with a current that another node controls; nonsymmetric unless 0"},
    {.name = "spread", .type = WR_OPTION_REAL, .offset = offsetof(circuit, spread), .min = 1, .max = 1e15,
     .value = "1e6", .help = "the largest conductances against the smallest, about"},
    WR_SEED_ROW(circuit),
    {0}};

static wr_status circuit_prepare(void *settings, wr_family_shape *shape) {
  circuit *c = settings;
  if (c->rails >= c->n)
    return wr_fail(WR_EUSAGE, "gen:circuit: rails=%lld of n=%lld nodes: at most n - 1", (long long)c->rails,
                   (long long)c->n);
  uint64_t seed = (uint64_t)c->seed;
  int64_t nodes = c->n - c->rails;
  c->pairs = nodes / 2;
  c->floating = wr_share(c->sources, c->pairs);
  shape->n = c->n + c->rails + c->floating;
  if (shape->n > WR_MAX_INDEX)
    return wr_fail(WR_EUSAGE, "gen:circuit: n=%lld nodes and %lld sources are %lld rows, over %d", (long long)c->n,
                   (long long)(c->rails + c->floating), (long long)shape->n, WR_MAX_INDEX);
  c->powers = ilogb(c->spread);
  c->apart[0] = 1;
  c->apart[1] = 1 + (int64_t)sqrt((double)nodes);
  c->active_chance = wr_chance(c->active);
  c->level_key = wr_hash(seed, 0);
  c->wire_key = wr_hash(seed, 1);
  c->supply_key = wr_hash(seed, 2);
  c->control_key = wr_hash(seed, 3);
  c->pair = wr_permutation_of(c->pairs > 0 ? c->pairs : 1, wr_hash(seed, 4));
  c->place = wr_permutation_of(nodes, wr_hash(seed, 5));
  /* diagonal, both ends of wires, of supplies and of sources, controls; one of each kind more than the share's rounding */
  shape->expected = c->n + nodes * 2 * WIRES * WIRED_PERCENT / 100 + nodes * 2 * SUPPLIED_PERCENT / 100 +
                    wr_share(c->active, nodes) + 2 * c->rails + 4 * c->floating;
  shape->symmetric = c->active == 0;
  return WR_OK;
}

/* A random conductance in [1, 2) 2^-level, of 24 bits. */
static double conductance(uint64_t key, int level) {
  return ldexp((double)((wr_hash(key, 1) >> 41) + (UINT64_C(1) << 23)), -23 - level);
}

/* ---- what is between nodes; v is a node's number behind the rails ---- */

static int level_of(const circuit *c, int64_t v) {
  return (int)wr_below(wr_hash(c->level_key, (uint64_t)v), c->powers + 1);
}

/* Conductance of the wire of a kind that begins at v, or 0. The higher level decides: a good wire to a node of small
 * conductances would make that one's large. */
static double wire(const circuit *c, int kind, int64_t v) {
  int64_t end = v + c->apart[kind];
  if (v < 0 || end >= c->n - c->rails) return 0;
  uint64_t key = wr_hash(wr_hash(c->wire_key, (uint64_t)kind), (uint64_t)v);
  if (wr_below(key, 100) >= WIRED_PERCENT) return 0;
  int from = level_of(c, v), to = level_of(c, end);
  return conductance(key, from > to ? from : to);
}

/* Conductance between v and its rail, or 0. */
static double supply(const circuit *c, int64_t v) {
  uint64_t key = wr_hash(c->supply_key, (uint64_t)v);
  return wr_below(key, 100) < SUPPLIED_PERCENT ? conductance(key, level_of(c, v)) : 0;
}

/* Rail r supplies the places from this one to that of r + 1. */
static int64_t first_place(const circuit *c, int64_t r) {
  __extension__ typedef unsigned __int128 wide;
  return (int64_t)((wide)(c->n - c->rails) * (wide)r / (wide)c->rails);
}

static int64_t rail_of(const circuit *c, int64_t v) {
  __extension__ typedef unsigned __int128 wide;
  int64_t place = wr_permutation_invert(&c->place, v);
  return (int64_t)((((wide)place + 1) * (wide)c->rails - 1) / (wide)(c->n - c->rails));
}

/* The node that controls a current from v to ground, and *value its transconductance; -1: v has no such current. */
static int64_t control(const circuit *c, int64_t v, double *value) {
  int64_t nodes = c->n - c->rails, other;
  uint64_t key = wr_hash(c->control_key, (uint64_t)v), draw = wr_hash(key, 2);
  if (wr_unit(wr_hash(key, 0)) >= c->active_chance) return -1;
  if (draw % FAR_CONTROL == 0)
    other = wr_below(draw, nodes);
  else
    other = v + wr_below(draw, 2 * CONTROL_REACH + 1) - CONTROL_REACH;
  if (other < 0 || other >= nodes || other == v) return -1;
  *value = conductance(key, level_of(c, v));
  return other;
}

/* ---- rows ---- */

/* Adds to an entry of the row that begins at `first`, which may have it already: a control node can be at the end of a wire. */
static void add(wr_rows *rows, int64_t first, int64_t column, double value) {
  int64_t at = rows->count;
  for (; at > first && rows->col[at - 1] > column; at--)
    ;
  if (at > first && rows->col[at - 1] == column) {
    rows->val[at - 1] += value;
    return;
  }
  memmove(rows->col + at + 1, rows->col + at, (size_t)(rows->count - at) * sizeof *rows->col);
  memmove(rows->val + at + 1, rows->val + at, (size_t)(rows->count - at) * sizeof *rows->val);
  rows->col[at] = (int32_t)column;
  rows->val[at] = value;
  rows->count++;
}

/* The diagonal is the sum of the sizes of all that is added, and a leak to ground 2^10 times smaller than the rest. */
static void node_row(const circuit *c, int64_t v, wr_rows *rows) {
  int64_t first = rows->count, other;
  double sum = conductance(wr_hash(c->level_key, (uint64_t)v), level_of(c, v) + 10), value;
  for (int kind = 0; kind < WIRES; kind++) {
    double down = wire(c, kind, v - c->apart[kind]), up = wire(c, kind, v);
    if (down > 0) add(rows, first, c->rails + v - c->apart[kind], -down);
    if (up > 0) add(rows, first, c->rails + v + c->apart[kind], -up);
    sum += down + up;
  }
  if ((value = supply(c, v)) > 0) {
    add(rows, first, rail_of(c, v), -value);
    sum += value;
  }
  if ((other = control(c, v, &value)) >= 0) {
    add(rows, first, c->rails + other, value);
    sum += value;
  }
  add(rows, first, c->rails + v, wr_dominant(sum));
  if (v / 2 >= c->pairs) return;
  int64_t source = wr_permutation_invert(&c->pair, v / 2);
  if (source < c->floating) add(rows, first, c->n + c->rails + source, v % 2 == 0 ? 1 : -1);
}

/* A rail's nodes are found by place, so they are sorted; its own column is before theirs, its source's behind. */
static wr_status rail_row(const circuit *c, int64_t r, wr_rows *rows) {
  int64_t begin = first_place(c, r), end = first_place(c, r + 1), first = rows->count;
  double sum = 1;
  PASS(wr_rows_reserve(rows, end - begin + 2));
  rows->col[rows->count++] = (int32_t)r;
  for (int64_t place = begin; place < end; place++) {
    int64_t v = wr_permutation_apply(&c->place, place);
    if (supply(c, v) > 0) rows->col[rows->count++] = (int32_t)(c->rails + v);
  }
  PASS(wr_rows_merge(rows, first));
  for (int64_t k = first + 1; k < rows->count; k++) {
    double value = supply(c, rows->col[k] - c->rails);
    rows->val[k] = -value;
    sum += value;
  }
  rows->val[first] = sum;
  rows->col[rows->count] = (int32_t)(c->n + r);
  rows->val[rows->count++] = 1;
  return WR_OK;
}

/* Nonsingular: without voltages of sources, a source's row says that a rail has the voltage 0, or that the two nodes of a pair
 * have the same one. These rows are independent, so the matrix is nonsingular if Z^T G Z is, where the columns of Z are a basis
 * of the voltages that satisfy them. That is G without the rails, and with the two rows and the two columns of each pair added
 * up. G without the rails is strictly dominant by rows (wr_dominant, and the leak). Adding up keeps it so: the two entries
 * between the nodes of a pair move to the diagonal, which loses at most as much as the sum of the others does. */
static wr_status circuit_row(const void *settings, int64_t i, wr_rows *rows) {
  const circuit *c = settings;
  if (i < c->rails) return rail_row(c, i, rows);
  PASS(wr_rows_reserve(rows, SHORT_ROW));
  int64_t first = rows->count;
  if (i < c->n) {
    node_row(c, i - c->rails, rows);
  } else if (i < c->n + c->rails) {
    add(rows, first, i - c->n, 1);
  } else {
    int64_t v = 2 * wr_permutation_apply(&c->pair, i - c->n - c->rails);
    add(rows, first, c->rails + v, 1);
    add(rows, first, c->rails + v + 1, -1);
  }
  return WR_OK;
}

const wr_family wr_family_circuit = {
    .name = "circuit",
    .summary = "modified nodal analysis: nodes of very different conductances, dense supply rails, controlled "
               "currents, voltage sources, with a row without diagonal element for each",
    .options = circuit_options,
    .settings_size = sizeof(circuit),
    .with_values = 1,
    .prepare = circuit_prepare,
    .row = circuit_row,
};
