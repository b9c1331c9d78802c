/* Launches: what may be launched, the order of blocks and threads, shared memory, bulk copies into it, and the second run of
 * a launch that must give the same bits. Faults are told here too. */
#include <cxxabi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <vector>

#include "tests/simt/simt.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

/* What an H200 has. */
enum {
  MAX_THREADS = 1024, RESIDENT_THREADS = 2048, RESIDENT_BLOCKS = 32, REGISTERS = 65536,
  SHARED_DEFAULT = 48 << 10, SHARED_MOST = 227 << 10, SHARED_PROCESSOR = 228 << 10, SHARED_RESERVED = 1 << 10,
  USUAL_REGISTERS = 64 /* of a thread: the shim has no better guess */
};

/* Each array has a slot of its own between protected pages. */
enum { SLOTS = 64, SLOT = 256 << 10, SLOT_GUARD = 64 << 10 };

static const uint32_t patterns[2] = {0xffffffffu, 0x7ff8beefu}; /* NaN in f32 and f64 both, and no likely index */
static const size_t replay_bytes = (size_t)64 << 20; /* with more device memory a launch runs once: it would take too long */

/* The first launches of a kernel run twice, and later every eighth. */
enum { TWICE_FIRST = 64, TWICE_EVERY = 8 };

struct kernel_facts {
  int most_dynamic = SHARED_DEFAULT;
  uint64_t launches = 0;
};

struct bulk_copy {
  void *to;
  const void *from;
  unsigned bytes;
};

struct bulk_barrier {
  uint64_t *at;
  unsigned phase; /* how many are complete */
  bool expected;  /* the producer has arrived */
  int64_t missing; /* bytes */
  std::vector<bulk_copy> copies; /* not done yet */
};

static struct {
  const simt_launch *launch; /* NULL: none runs */
  simt_order order;
  uint64_t launches, block_run;
  int pattern;
  simt_shared *odd_one; /* this array alone gets the other pattern */
  char *slots;          /* [SLOTS] with a guard before each and after the last */
  int used_slots;       /* by this block */
  size_t used_bytes;
  simt_shared *in_slot[SLOTS];
  std::vector<simt_shared *> arrays; /* all that the launch has used */
  std::vector<bulk_barrier> barriers;
  simt_shared dynamic;
} grid;

static std::map<const void *, kernel_facts> kernels;
bool simt_order_counts;

/* ---- Settings and faults ---- */

static int choice(const char *text, const char *const *names, int count) {
  for (int k = 0; k < count; k++)
    if (strncmp(text, names[k], strlen(names[k])) == 0) return k;
  simt_fail("WR_SIMT: '%s' is none of its settings", text);
}

static simt_settings read_settings(void) {
  static const char *const keys[] = {"order=", "guard=", "replay=", "seed=", "patience=", "processors=",
                                     "devices=", "peers=", "open=", "nccl="};
  static const char *const orders[] = {"forward", "backward", "shuffled", "all"};
  static const char *const guards[] = {"begin", "end", "mixed"}, *const replays[] = {"off", "on"};
  simt_settings s = {SIMT_ORDERS, 2, true, 1, 20, 132, 1, true, 0, true};
  for (const char *at = getenv("WR_SIMT"); at && *at; at += strcspn(at, ","), at += *at == ',') {
    int key = choice(at, keys, 10);
    const char *value = at + strlen(keys[key]);
    if (key == 0) s.order = choice(value, orders, 4);
    if (key == 1) s.guard = choice(value, guards, 3);
    if (key == 2) s.replay = choice(value, replays, 2) == 1;
    if (key == 3) s.seed = strtoull(value, nullptr, 10);
    if (key == 4) s.patience = atoi(value);
    if (key == 5) s.processors = atoi(value);
    if (key == 6) s.devices = atoi(value);
    if (key == 7) s.peers = choice(value, replays, 2) == 1;
    if (key == 8) s.open = atoi(value);
    if (key == 9) s.nccl = choice(value, replays, 2) == 1;
  }
  return s;
}

const simt_settings *simt_get_settings(void) {
  static const simt_settings settings = read_settings();
  return &settings;
}

unsigned simt_random(uint64_t *state, unsigned below) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)((*state >> 33) % below);
}

void simt_launch_where(char *text, size_t size) {
  static const char *const orders[] = {"forward", "backward", "shuffled"};
  const simt_launch *l = grid.launch;
  text[0] = '\0';
  if (l == nullptr) return;
  char *type = abi::__cxa_demangle(l->type->name(), nullptr, nullptr, nullptr);
  snprintf(text, size, "kernel %.*s, a %s, launched at %s:%d; threads run %s", (int)strlen(l->name) - 2, l->name + 1,
           type ? type : "kernel", l->file, l->line, orders[grid.order]);
  free(type);
}

void simt_fail(const char *format, ...) {
  char what[2000], thread[100], launch[1000];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  simt_launch_where(launch, sizeof launch);
  fprintf(stderr, "simt: %s\n", what);
  if (simt_block_where(thread, sizeof thread)) fprintf(stderr, "      %s\n", thread);
  if (launch[0]) fprintf(stderr, "      %s\n", launch);
  fflush(stderr);
  _exit(SIMT_EXIT);
}

/* ---- Shared memory ---- */

static char *slot_at(int slot) { return grid.slots + SLOT_GUARD + (size_t)slot * (SLOT + SLOT_GUARD); }

static void make_slots(void) {
  size_t whole = SLOT_GUARD + (size_t)SLOTS * (SLOT + SLOT_GUARD);
  void *range = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) simt_fail("no memory for shared memory");
  grid.slots = static_cast<char *>(range);
  for (int s = 0; s < SLOTS; s++)
    if (mprotect(slot_at(s), SLOT, PROT_READ | PROT_WRITE) != 0) simt_fail("no memory for shared memory");
}

static bool ends_at_guard(void) {
  int guard = simt_get_settings()->guard;
  return guard == 2 ? grid.launches % 2 == 0 : guard == 1;
}

static void fill(void *room, size_t bytes, uint32_t pattern) {
  uint32_t line[16];
  char *to = static_cast<char *>(room);
  size_t k = 0;
  for (uint32_t &word : line) word = pattern;
  for (; k + sizeof line <= bytes; k += sizeof line) memcpy(to + k, line, sizeof line);
  memcpy(to + k, line, bytes - k);
}

static bool is_listed(const simt_shared *array) {
  for (const simt_shared *other : grid.arrays)
    if (other == array) return true;
  return false;
}

/* A slot for the array in the block that runs, filled with the pattern. */
static void place(simt_shared *a) {
  size_t room = (a->bytes + a->alignment - 1) / a->alignment * a->alignment;
  grid.used_bytes += room;
  if (grid.used_slots == SLOTS || grid.used_bytes > SHARED_MOST)
    simt_fail("%zu bytes of shared memory with array %s at %s:%d; a block has %d", grid.used_bytes, a->name, a->file,
              a->line, (int)SHARED_MOST);
  char *slot = slot_at(grid.used_slots);
  grid.in_slot[grid.used_slots++] = a;
  a->at = ends_at_guard() ? slot + SLOT - room : slot;
  a->block = grid.block_run;
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(slot, SLOT);
  __asan_unpoison_memory_region(a->at, a->bytes);
#endif
  fill(a->at, a->bytes, patterns[a == grid.odd_one ? !grid.pattern : grid.pattern]);
  if (!is_listed(a)) grid.arrays.push_back(a);
}

void *simt_shared_room(simt_shared *array) {
  if (array->block != grid.block_run) place(array);
  return array->at;
}

void *simt_shared_dynamic(void) {
  if (grid.dynamic.block == grid.block_run) return grid.dynamic.at;
  grid.dynamic = {"(dynamic)", grid.launch->file, grid.launch->line, grid.launch->shared, 16, 0, nullptr};
  place(&grid.dynamic);
  return grid.dynamic.at;
}

bool simt_shared_where(const void *address, char *text, size_t size) {
  const char *at = static_cast<const char *>(address);
  if (grid.slots == nullptr || at < grid.slots || at >= slot_at(SLOTS)) return false;
  for (int s = 0; s < grid.used_slots; s++) {
    const simt_shared *a = grid.in_slot[s];
    const char *begin = static_cast<const char *>(a->at), *end = begin + a->bytes;
    if (at < begin - SLOT_GUARD / 2 || at >= end + SLOT_GUARD / 2) continue;
    snprintf(text, size, "%lld bytes %s shared array %s (%zu bytes, %s:%d)",
             (long long)(at < begin ? begin - at : at - end), at < begin ? "before" : "behind", a->name, a->bytes,
             a->file, a->line);
    return true;
  }
  snprintf(text, size, "shared memory where no array is");
  return true;
}

/* ---- Bulk copies ---- */

static bulk_barrier *find_barrier(uint64_t *at) {
  for (bulk_barrier &b : grid.barriers)
    if (b.at == at) return &b;
  simt_fail("bulk copy: its barrier has not been initialised");
}

void simt_bulk_init(uint64_t *barrier) {
  for (bulk_barrier &b : grid.barriers)
    if (b.at == barrier) simt_fail("bulk copy: a barrier is initialised twice");
  *barrier = 0;
  grid.barriers.push_back({barrier, 0, false, 0, {}});
}

static void check_phase(bulk_barrier *b) {
  if (!b->expected || b->missing != 0) return;
  b->expected = false;
  b->phase++;
}

static void do_copy(bulk_barrier *b, const bulk_copy *c) {
  memcpy(c->to, c->from, c->bytes);
  b->missing -= c->bytes;
}

void simt_bulk_expect(uint64_t *barrier, unsigned bytes) {
  bulk_barrier *b = find_barrier(barrier);
  if (b->expected) simt_fail("bulk copy: bytes are expected for a phase that others are expected for");
  b->expected = true;
  b->missing += bytes;
  check_phase(b);
}

void simt_bulk_copy(void *to, const void *from, unsigned bytes, uint64_t *barrier) {
  bulk_barrier *b = find_barrier(barrier);
  bulk_copy copy = {to, from, bytes};
  if (((uintptr_t)to | (uintptr_t)from | bytes) % 16)
    simt_fail("bulk copy of %u bytes from %p to %p: all three must be multiples of 16", bytes, from, to);
  if (grid.order == SIMT_BACKWARD)
    do_copy(b, &copy);
  else
    b->copies.push_back(copy);
  check_phase(b);
}

/* Parity as mbarrier.try_wait has it: the phase of this parity is complete when the next one, of the other, runs. */
void simt_bulk_wait(uint64_t *barrier, unsigned parity, const simt_site &site) {
  bulk_barrier *b = find_barrier(barrier);
  while ((b->phase & 1) == (parity & 1)) {
    std::vector<bulk_copy> copies;
    copies.swap(b->copies);
    for (const bulk_copy &c : copies) do_copy(b, &c);
    check_phase(b);
    if ((b->phase & 1) != (parity & 1)) break;
    simt_spin(site);
    b = find_barrier(barrier);
  }
  simt_spin_done();
}

/* ---- Launches ---- */

static uint64_t greatest_divisor(uint64_t a, uint64_t b) { return b == 0 ? a : greatest_divisor(b, a % b); }

static void run_one(const simt_launch *l, uint64_t b, uint64_t seed) {
  grid.block_run++;
  grid.used_slots = 0;
  grid.used_bytes = 0;
  grid.barriers.clear();
  blockIdx = {(unsigned)(b % l->grid.x), (unsigned)(b / l->grid.x % l->grid.y), (unsigned)(b / l->grid.x / l->grid.y)};
  simt_block_run(l, grid.order, seed ^ b);
  for (const bulk_barrier &barrier : grid.barriers)
    if (barrier.missing || !barrier.copies.empty()) simt_fail("a block has ended before its bulk copies have arrived");
}

static void run_grid(const simt_launch *l, simt_order order, uint64_t seed, int pattern, simt_shared *odd_one) {
  uint64_t blocks = (uint64_t)l->grid.x * l->grid.y * l->grid.z, step = 1, start = 0, state = seed;
  grid.order = order;
  grid.pattern = pattern;
  grid.odd_one = odd_one;
  if (order == SIMT_BACKWARD) step = blocks - 1, start = blocks - 1;
  if (order == SIMT_SHUFFLED) {
    start = simt_random(&state, (unsigned)blocks);
    do step = 1 + simt_random(&state, (unsigned)blocks);
    while (greatest_divisor(step, blocks) != 1);
  }
  for (uint64_t k = 0; k < blocks; k++) run_one(l, (start + k * step) % blocks, seed);
}

/* 1 if the launch gives other results this way than those in slot 1. */
static bool differs(const simt_launch *l, simt_order order, uint64_t seed, int pattern, simt_shared *odd_one,
                    char *where, size_t size) {
  size_t offset, bytes;
  simt_memory_restore(0);
  run_grid(l, order, seed, pattern, odd_one);
  if (simt_memory_differs(1, &offset, &bytes) == nullptr) return false;
  snprintf(where, size, "byte %zu of a block of %zu bytes of device memory differs", offset, bytes);
  return true;
}

/* The launch again, in another order and with other contents of unwritten memory: the results must not depend on them. */
static void run_again(const simt_launch *l, simt_order order, uint64_t seed) {
  simt_order other = simt_order_counts ? order : order == SIMT_BACKWARD ? SIMT_FORWARD : SIMT_BACKWARD;
  char where[200], names[600] = "";
  simt_memory_save(1);
  if (!differs(l, other, seed, 1, nullptr, where, sizeof where)) return;
  if (differs(l, other, seed, 0, nullptr, where, sizeof where))
    simt_fail(
        "what it computes depends on the order in which threads run: a barrier is missing, or two threads use the same "
        "place; %s",
        where);
  std::vector<simt_shared *> arrays = grid.arrays;
  for (simt_shared *array : arrays)
    if (differs(l, order, seed, 0, array, where, sizeof where))
      snprintf(names + strlen(names), sizeof names - strlen(names), "%s %s at %s:%d", names[0] ? "," : "", array->name,
               array->file, array->line);
  simt_fail("what it computes depends on shared memory that was never written: array%s; %s", names, where);
}

static cudaError_t check_launch(const simt_launch *l, const kernel_facts *facts) {
  uint64_t threads = (uint64_t)l->block.x * l->block.y * l->block.z;
  if (threads == 0 || threads > MAX_THREADS || l->block.z > 64) return cudaErrorInvalidConfiguration;
  if (l->grid.x == 0 || l->grid.x > 0x7fffffffu || l->grid.y == 0 || l->grid.y > 65535 || l->grid.z == 0 ||
      l->grid.z > 65535)
    return cudaErrorInvalidConfiguration;
  return l->shared > (size_t)facts->most_dynamic ? cudaErrorInvalidValue : cudaSuccess;
}

cudaError_t simt_run(const simt_launch *l) {
  const simt_settings *settings = simt_get_settings();
  kernel_facts *facts = &kernels[l->kernel];
  cudaError_t error = check_launch(l, facts);
  if (error != cudaSuccess) return error;
  if (grid.slots == nullptr) make_slots();
  uint64_t seed = settings->seed + ++grid.launches;
  simt_order order = settings->order < SIMT_ORDERS ? (simt_order)settings->order : (simt_order)(seed % SIMT_ORDERS);
  bool chosen = ++facts->launches <= TWICE_FIRST || facts->launches % TWICE_EVERY == 0;
  bool twice = settings->replay && chosen && simt_memory_used() <= replay_bytes;
  grid.arrays.clear();
  simt_order_counts = false;
  blockDim = l->block, gridDim = l->grid;
  simt_open_memory(nullptr);
  if (twice) simt_memory_save(0);
  grid.launch = l;
  run_grid(l, order, seed, 0, nullptr);
  if (twice) run_again(l, order, seed);
  grid.launch = nullptr;
  simt_close_memory(nullptr);
  return cudaSuccess;
}

/* ---- What the host asks about kernels ---- */

cudaError_t simt_get_attributes(cudaFuncAttributes *attributes, const void *kernel) {
  *attributes = {0, 0, MAX_THREADS, USUAL_REGISTERS, 0, kernels[kernel].most_dynamic};
  return cudaSuccess;
}

cudaError_t simt_set_attribute(const void *kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || value > SHARED_MOST) return cudaErrorInvalidValue;
  kernels[kernel].most_dynamic = value > SHARED_DEFAULT ? value : SHARED_DEFAULT;
  return cudaSuccess;
}

cudaError_t simt_occupancy(int *blocks, int threads, size_t shared) {
  if (threads < 1 || threads > MAX_THREADS || shared > SHARED_MOST) return cudaErrorInvalidValue;
  int by_threads = RESIDENT_THREADS / threads, by_shared = (int)(SHARED_PROCESSOR / (shared + SHARED_RESERVED));
  int by_registers = REGISTERS / (USUAL_REGISTERS * threads), most = RESIDENT_BLOCKS;
  for (int limit : {by_threads, by_shared, by_registers})
    if (limit < most) most = limit;
  *blocks = most;
  return cudaSuccess;
}
