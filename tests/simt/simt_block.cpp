/* One thread block: its threads are fibers that change places where they wait for each other. A thread runs until it waits;
 * then the next one that can go on does, in the order that the launch has: lanes of a warp first, then other warps. */
#include <stdio.h>
#include <string.h>

#include "tests/simt/simt.h"
#include "tests/simt/simt_lanes.h"
#include "tests/simt/simt_switch.h"

enum { WARP = 32, MAX_THREADS = 1024, MAX_WARPS = MAX_THREADS / WARP };

enum fiber_state { RUNNABLE, AT_BLOCK, SPINNING, ENDED }; /* RUNNABLE: or waiting in a meeting of its warp */

struct warp;

struct fiber {
  fiber_state state;
  uint3 index;
  int lane;
  unsigned position; /* of the lane in the order, as a bit */
  warp *in;
  simt_stack *stack; /* NULL: has not begun, or has ended */
  simt_context context;
  simt_site site; /* where it waits, if not in a meeting */
  uint64_t votes; /* of the last barrier */
};

/* Lanes that have come to one collective and wait for the rest of its mask. */
struct meeting {
  simt_op op;
  unsigned mask, here;
  simt_site site;
};

struct warp {
  unsigned ready, live; /* ready: bits are positions in the order of lanes; live: bits are lanes */
  unsigned position;    /* in the order of warps, as a bit */
  fiber *lanes;         /* [WARP] */
  int meetings;
  meeting open[WARP];
  simt_lanes brought;
};

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

static struct {
  const simt_launch *launch;
  int threads, warps, ended, at_barrier, spinning;
  int lane_at[WARP], position_of[WARP];           /* order of lanes */
  int warp_at[MAX_WARPS], warp_position[MAX_WARPS]; /* order of warps */
  unsigned ready_warps;                           /* bits are positions */
  int position;                                   /* of the warp that runs */
  bool progress;                                  /* a thread did something else than wait in a loop */
  simt_site barrier;
  int first_at_barrier, votes;
  uint64_t steps;
  simt_context host;
  simt_stack *retired; /* of a thread that has ended, free once another one runs */
} block;

static fiber fibers[MAX_THREADS];
static warp warps[MAX_WARPS];
static fiber *now; /* the thread that runs; NULL: the host does */

static int number(const fiber *f) { return (int)(f - fibers); }

int simt_lane(void) { return now->lane; }
uint64_t simt_block_steps(void) { return block.steps; }

void simt_stack_fail(void) { simt_fail("no memory for the stacks of threads"); }

bool simt_block_stack(const void *address) {
  const char *at = static_cast<const char *>(address);
  size_t each = SIMT_STACK + SIMT_GUARD;
  return simt_stack_range && at >= simt_stack_range && at < simt_stack_range + each * SIMT_STACKS &&
         (size_t)(at - simt_stack_range) % each < SIMT_GUARD;
}

bool simt_block_where(char *text, size_t size) {
  if (now == nullptr) return false;
  snprintf(text, size, "block (%u,%u,%u), thread (%u,%u,%u)", blockIdx.x, blockIdx.y, blockIdx.z, now->index.x,
           now->index.y, now->index.z);
  return true;
}

/* ---- Which thread runs ---- */

static inline void set_ready(fiber *f) {
  f->state = RUNNABLE;
  f->in->ready |= f->position;
  block.ready_warps |= f->in->position;
}

static inline void stop(fiber *f) {
  f->in->ready &= ~f->position;
  if (f->in->ready == 0) block.ready_warps &= ~f->in->position;
}

static inline void wait_as(fiber *f, fiber_state state, const simt_site &site) {
  f->state = state;
  f->site = site;
  stop(f);
}

static void wake_spinners(void) {
  block.progress = false;
  block.spinning = 0;
  for (int t = 0; t < block.threads; t++)
    if (fibers[t].state == SPINNING) set_ready(&fibers[t]);
}

/* The first ready lane of this warp, else of the next one that has any; NULL: no thread can go on. */
static inline fiber *choose(void) {
  if (block.ready_warps == 0 && block.spinning && block.progress) wake_spinners();
  if (block.ready_warps == 0) return nullptr;
  if (!(block.ready_warps >> block.position & 1)) {
    unsigned later = block.ready_warps >> block.position << block.position;
    block.position = __builtin_ctz(later ? later : block.ready_warps);
  }
  const warp *w = &warps[block.warp_at[block.position]];
  return &w->lanes[block.lane_at[__builtin_ctz(w->ready)]];
}

static void thread_main(void);

/* The first thing that a thread does after each switch to it. */
static inline void arrived(void) {
  if (block.retired == nullptr) return;
  simt_stack_free(block.retired);
  block.retired = nullptr;
}

/* The running thread, or the host, stops here until another one switches to it. */
__attribute__((always_inline)) static inline void go_on_with(fiber *to) {
  fiber *me = now;
  if (to == me && to) return;
  block.steps++;
  if (to && to->stack == nullptr) {
    to->stack = simt_stack_take();
    simt_context_make(&to->context, to->stack, thread_main);
  }
  now = to;
  if (to) threadIdx = to->index;
  simt_switch(me ? &me->context : &block.host, to ? &to->context : &block.host);
  arrived();
}

__attribute__((always_inline)) static inline void pause(void) { go_on_with(choose()); }

/* ---- Faults ---- */

/* Where the thread waits; NULL: it does not. */
static const simt_site *waits_at(const fiber *f) {
  if (f->state == AT_BLOCK || f->state == SPINNING) return &f->site;
  for (int m = 0; f->state == RUNNABLE && m < f->in->meetings; m++)
    if (f->in->open[m].here >> f->lane & 1) return &f->in->open[m].site;
  return nullptr;
}

static void describe(const fiber *f, char *text, size_t size) {
  const simt_site *site = waits_at(f);
  int used = snprintf(text, size, "thread (%u,%u,%u) %s", f->index.x, f->index.y, f->index.z,
                      f->state == ENDED ? "has ended"
                      : site            ? "waits at "
                                        : "could go on");
  if (site) snprintf(text + used, size - (size_t)used, "%s:%d (%s)", site->file, site->line, site->what);
}

[[noreturn]] static void fail_pair(const char *what, const fiber *other, const simt_site &mine) {
  char text[256];
  describe(other, text, sizeof text);
  simt_fail("%s: it calls %s at %s:%d, while %s", what, mine.what, mine.file, mine.line, text);
}

static inline bool same_site(const simt_site &a, const simt_site &b) {
  return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

/* No thread can go on: names the first few places where threads wait. */
[[noreturn]] static void fail_deadlock(void) {
  char text[1200] = "", one[256];
  const simt_site *told[4];
  int shown = 0;
  for (int t = 0; t < block.threads && shown < 4; t++) {
    const simt_site *site = waits_at(&fibers[t]);
    bool is_new = site != nullptr;
    for (int s = 0; s < shown && is_new; s++) is_new = !same_site(*told[s], *site);
    if (!is_new) continue;
    describe(&fibers[t], one, sizeof one);
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", shown ? "; " : "", one);
    told[shown++] = site;
    now = &fibers[t];
  }
  simt_fail("deadlock, %d of %d threads have ended and no other can go on: %s", block.ended, block.threads, text);
}

/* Fails if lanes of the warp wait for this thread, which now arrives at a place where they never meet it. */
static void check_not_awaited(const simt_site &site) {
  const warp *w = now->in;
  for (int m = 0; m < w->meetings; m++)
    if (w->open[m].mask >> now->lane & 1)
      fail_pair("diverged warp, lanes wait for this thread", &w->lanes[__builtin_ctz(w->open[m].here)], site);
}

/* ---- Threads ---- */

static void thread_main(void) {
  simt_context_entered();
  arrived();
  block.launch->run(block.launch->call);
  simt_site end = {block.launch->file, block.launch->line, "the end of the kernel"};
  check_not_awaited(end);
  if (block.at_barrier) fail_pair("barrier that not all threads reach", &fibers[block.first_at_barrier], end);
  wait_as(now, ENDED, end);
  now->in->live &= ~(1u << now->lane);
  block.retired = now->stack;
  now->stack = nullptr;
  block.ended++;
  block.progress = true;
  simt_context_last(&now->context);
  pause();
}

void simt_spin(const simt_site &site) {
  wait_as(now, SPINNING, site);
  block.spinning++;
  pause();
}

void simt_spin_done(void) { block.progress = true; }

static int first_ended(void) {
  int t = 0;
  while (fibers[t].state != ENDED) t++;
  return t;
}

int simt_barrier(int predicate, const simt_site &site) {
  check_not_awaited(site);
  if (block.ended) fail_pair("barrier that not all threads reach", &fibers[first_ended()], site);
  if (block.at_barrier == 0) {
    block.barrier = site;
    block.first_at_barrier = number(now);
    block.votes = 0;
  } else if (!same_site(block.barrier, site)) {
    fail_pair("divergent barrier", &fibers[block.first_at_barrier], site);
  }
  fiber *me = now;
  block.progress = true;
  block.at_barrier++;
  block.votes += predicate;
  wait_as(me, AT_BLOCK, site);
  if (block.at_barrier == block.threads) {
    for (int t = 0; t < block.threads; t++) fibers[t].votes = (uint64_t)block.votes, set_ready(&fibers[t]);
    block.at_barrier = 0;
    block.position = 0;
  }
  pause();
  return (int)me->votes;
}

/* ---- Collectives of a warp ---- */

/* All lanes of the mask have come. After a barrier another warp goes first, as a card may choose. */
static void complete(warp *w, int at) {
  meeting m = w->open[at];
  w->open[at] = w->open[--w->meetings];
  simt_lanes_exchange(&w->brought, m.op, m.mask, m.site);
  if (m.op == SIMT_SYNC) block.position = (block.position + 1) % block.warps;
  bool all = m.mask == 0xffffffffu; /* the usual case */
  if (all) w->ready = m.mask;
  for (unsigned left = all ? 0 : m.mask; left; left &= left - 1) w->ready |= w->lanes[__builtin_ctz(left)].position;
  block.ready_warps |= w->position;
}

/* Called by the first lane that comes: all lanes of its mask must still be able to come. */
static void check_mask(const warp *w, unsigned mask, const simt_site &site) {
  unsigned absent = mask & ~w->live;
  if (absent)
    simt_fail("%s at %s:%d: its mask %08x names lane %d, which %s", site.what, site.file, site.line, mask,
              __builtin_ctz(absent),
              number(w->lanes) + __builtin_ctz(absent) < block.threads ? "has ended" : "does not exist");
  for (unsigned left = block.at_barrier ? mask : 0; left; left &= left - 1)
    if (w->lanes[__builtin_ctz(left)].state == AT_BLOCK)
      fail_pair("diverged warp", &w->lanes[__builtin_ctz(left)], site);
}

/* The open meeting that the thread has come to, or a new one. */
static int find_meeting(warp *w, simt_op op, unsigned mask, const simt_site &site) {
  for (int m = 0; m < w->meetings; m++) {
    const meeting *open = &w->open[m];
    if (open->op == op && open->mask == mask && same_site(open->site, site)) return m;
    if (open->mask >> now->lane & 1 && open->here & mask)
      fail_pair("diverged warp, lanes wait for each other in different places",
                &w->lanes[__builtin_ctz(open->here & mask)], site);
  }
  check_mask(w, mask, site);
  w->open[w->meetings] = {op, mask, 0, site};
  return w->meetings++;
}

uint64_t simt_meet(simt_op op, unsigned mask, uint64_t value, int source, const simt_site &site) {
  fiber *me = now;
  warp *w = me->in;
  if (!(mask >> me->lane & 1))
    simt_fail("%s at %s:%d: its mask %08x does not name the lane that calls, %d", site.what, site.file, site.line, mask,
              me->lane);
  int at = find_meeting(w, op, mask, site);
  w->open[at].here |= 1u << me->lane;
  w->brought.value[me->lane] = value;
  w->brought.source[me->lane] = source;
  block.progress = true;
  stop(me);
  if (w->open[at].here == mask) complete(w, at);
  pause();
  return w->brought.result[me->lane];
}

/* ---- Blocks ---- */

/* at[position] and position[at] of n things. */
static void make_order(int n, simt_order order, uint64_t *seed, int *at, int *position) {
  for (int k = 0; k < n; k++) at[k] = order == SIMT_BACKWARD ? n - 1 - k : k;
  for (int k = n - 1; k > 0 && order == SIMT_SHUFFLED; k--) {
    int other = (int)simt_random(seed, (unsigned)k + 1), lane = at[k];
    at[k] = at[other];
    at[other] = lane;
  }
  for (int k = 0; k < n; k++) position[at[k]] = k;
}

static void begin(const simt_launch *launch) {
  int t = 0;
  block.launch = launch;
  block.threads = (int)(launch->block.x * launch->block.y * launch->block.z);
  block.warps = (block.threads + WARP - 1) / WARP;
  block.ended = block.at_barrier = block.spinning = block.position = 0;
  block.ready_warps = 0;
  block.progress = true;
  for (int w = 0; w < block.warps; w++) {
    int lanes = block.threads - w * WARP;
    warps[w].ready = warps[w].meetings = 0;
    warps[w].position = 1u << block.warp_position[w];
    warps[w].lanes = &fibers[w * WARP];
    warps[w].live = lanes < WARP ? (1u << lanes) - 1 : 0xffffffffu;
  }
  for (unsigned z = 0; z < launch->block.z; z++)
    for (unsigned y = 0; y < launch->block.y; y++)
      for (unsigned x = 0; x < launch->block.x; x++, t++) {
        fibers[t].index = {x, y, z};
        fibers[t].lane = t % WARP;
        fibers[t].position = 1u << block.position_of[t % WARP];
        fibers[t].in = &warps[t / WARP];
        fibers[t].stack = nullptr;
        set_ready(&fibers[t]);
      }
}

void simt_block_run(const simt_launch *launch, simt_order order, uint64_t seed) {
  int warps_now = (int)((launch->block.x * launch->block.y * launch->block.z + WARP - 1) / WARP);
  make_order(WARP, order, &seed, block.lane_at, block.position_of);
  make_order(warps_now, order, &seed, block.warp_at, block.warp_position);
  begin(launch);
  pause();
  if (block.ended < block.threads) fail_deadlock();
}
