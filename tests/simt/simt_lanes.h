/* What each lane of a warp gets from a collective, out of the values that all lanes have given it: arrays are by lane, and the
 * mask says which lanes took part. Included by simt_block.cpp alone. */
#ifndef WR_SIMT_LANES_H
#define WR_SIMT_LANES_H

#include "tests/simt/simt.h"

struct simt_lanes {
  uint64_t value[32], result[32];
  int source[32];
};

static uint64_t combine(simt_op op, uint64_t a, uint64_t b) {
  switch (op) { /* values of 32 bits, signed ones with their sign */
    case SIMT_ADD: return a + b;
    case SIMT_MIN: return (int64_t)b < (int64_t)a ? b : a;
    case SIMT_MAX: return (int64_t)b > (int64_t)a ? b : a;
    case SIMT_AND: return a & b;
    case SIMT_OR: return a | b;
    default: return a ^ b;
  }
}

static void shuffle(simt_lanes *l, unsigned mask, const simt_site &site) {
  for (unsigned left = mask; left; left &= left - 1) {
    int lane = __builtin_ctz(left), source = l->source[lane];
    if (!(mask >> source & 1))
      simt_fail("%s at %s:%d reads from lane %d, which its mask %08x does not name", site.what, site.file, site.line,
                source, mask);
    l->result[lane] = l->value[source];
  }
}

static void match(simt_lanes *l, unsigned mask) {
  for (unsigned left = mask; left; left &= left - 1) {
    int lane = __builtin_ctz(left);
    l->result[lane] = 0;
    for (unsigned others = mask; others; others &= others - 1)
      l->result[lane] |= (uint64_t)(l->value[__builtin_ctz(others)] == l->value[lane]) << __builtin_ctz(others);
  }
}

static void give_all(simt_lanes *l, unsigned mask, uint64_t result) {
  for (unsigned left = mask; left; left &= left - 1) l->result[__builtin_ctz(left)] = result;
}

static void vote(simt_lanes *l, unsigned mask) {
  uint64_t result = 0;
  for (unsigned left = mask; left; left &= left - 1) result |= l->value[__builtin_ctz(left)] << __builtin_ctz(left);
  give_all(l, mask, result);
}

static void combine_all(simt_lanes *l, simt_op op, unsigned mask) {
  unsigned left = mask & (mask - 1);
  uint64_t result = l->value[__builtin_ctz(mask)];
  for (; left; left &= left - 1) result = combine(op, result, l->value[__builtin_ctz(left)]);
  give_all(l, mask, result);
}

static inline void simt_lanes_exchange(simt_lanes *l, simt_op op, unsigned mask, const simt_site &site) {
  switch (op) {
    case SIMT_SYNC: break;
    case SIMT_SHUFFLE: shuffle(l, mask, site); break;
    case SIMT_MATCH: match(l, mask); break;
    case SIMT_BALLOT: vote(l, mask); break;
    default: combine_all(l, op, mask);
  }
}

#endif
