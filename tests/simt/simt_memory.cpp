/* Device memory: blocks between protected pages in one large range of addresses, closed while the host's code runs. Addresses
 * are never used twice, so what was freed stays out of reach. And the handler that reports an access to protected pages. */
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "tests/simt/simt.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

static const size_t range_bytes = (size_t)1 << 40, total_bytes = (size_t)8 << 30, guard = 64 << 10, alignment = 128;

/* Bytes that were never written: NaN as numbers, and out of range as indices. */
enum { UNWRITTEN = 0xff };

struct memory_block {
  char *pages, *begin;  /* pages: the first that may be touched */
  size_t room, bytes;   /* room: of the pages */
  bool freed;
  int file; /* that other processes open to see the pages; -1: none */
  std::vector<char> saved[2];
};

static struct {
  char *range, *next;
  size_t used, page;
  uint64_t taken;
  int open;
  std::vector<memory_block> blocks; /* by address */
  int64_t granted = -1; /* blocks until memory ends; -1: it does not */
  bool refused;
} memory;

static size_t rounded(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

size_t simt_memory_total(void) { return total_bytes; }
size_t simt_memory_used(void) { return memory.used; }

bool simt_memory_is_device(const void *address) {
  const char *at = static_cast<const char *>(address);
  return memory.range && at >= memory.range && at < memory.range + range_bytes;
}

/* The block that holds the address or is the last before it; NULL: there is none. */
static memory_block *nearest(const void *address) {
  size_t low = 0, high = memory.blocks.size();
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (memory.blocks[middle].pages - guard <= static_cast<const char *>(address))
      low = middle + 1;
    else
      high = middle;
  }
  return low == 0 ? nullptr : &memory.blocks[low - 1];
}

/* ---- Which access was at fault ---- */

/* Appends where in the sources an address of code is, if addr2line is here. */
static void source_line(const void *code, char *text, size_t size) {
  Dl_info object;
  char offset[32];
  int ends[2];
  if (dladdr(code, &object) == 0 || pipe(ends) != 0) return;
  snprintf(offset, sizeof offset, "%#zx", (size_t)((const char *)code - (const char *)object.dli_fbase));
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 1);
    execlp("addr2line", "addr2line", "-e", object.dli_fname, offset, (char *)nullptr);
    _exit(1);
  }
  close(ends[1]);
  ssize_t got = child < 0 ? 0 : read(ends[0], text, size - 1);
  text[got > 0 ? got : 0] = '\0';
  text[strcspn(text, "\n ")] = '\0';
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
}

static void describe(const void *address, char *text, size_t size) {
  const char *at = static_cast<const char *>(address);
  if (simt_shared_where(address, text, size)) return;
  const memory_block *b = simt_memory_is_device(address) ? nearest(address) : nullptr;
  if (b && b->freed && at < b->pages + b->room)
    snprintf(text, size, "device memory that was freed");
  else if (b && at < b->begin)
    snprintf(text, size, "%lld bytes before a block of %zu bytes of device memory", (long long)(b->begin - at),
             b->bytes);
  else if (b && at >= b->begin + b->bytes)
    snprintf(text, size, "%lld bytes behind a block of %zu bytes of device memory",
             (long long)(at - b->begin - (ptrdiff_t)b->bytes), b->bytes);
  else
    snprintf(text, size, "address %p, where no device memory is", address);
}

static const char *kind_of_access(const void *context) {
#if defined(__x86_64__)
  return static_cast<const ucontext_t *>(context)->uc_mcontext.gregs[REG_ERR] & 2 ? "write" : "read";
#else
  return context ? "read or write" : "";
#endif
}

static const void *code_of(const void *context) {
#if defined(__x86_64__)
  return reinterpret_cast<const void *>(static_cast<const ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void *>(static_cast<const ucontext_t *>(context)->uc_mcontext.pc);
#else
  return context ? nullptr : nullptr;
#endif
}

static struct sigaction of_segv, of_bus; /* the actions of before */

static void on_fault(int number, siginfo_t *info, void *context) {
  char thread[100], what[300], line[600] = "";
  bool inside = simt_block_where(thread, sizeof thread);
  if (!inside && !simt_memory_is_device(info->si_addr)) { /* none of the shim's business */
    sigaction(number, number == SIGSEGV ? &of_segv : &of_bus, nullptr);
    return;
  }
  source_line(code_of(context), line, sizeof line);
  if (line[0] == '\0' || line[0] == '?') snprintf(line, sizeof line, "an unknown line");
  if (inside && simt_block_stack(info->si_addr)) simt_fail("a thread's stack is full, at %s", line);
  describe(info->si_addr, what, sizeof what);
  if (inside) simt_fail("out of bounds: %s of %s, at %s", kind_of_access(context), what, line);
  simt_fail("host code touches device memory: %s at %s", kind_of_access(context), line);
}

/* A thread that waits in a loop of its own never lets the others run. */
static void on_time(int) {
  static uint64_t steps;
  static int alone;
  char thread[100];
  bool inside = simt_block_where(thread, sizeof thread);
  alone = inside && steps == simt_block_steps() ? alone + 1 : 0;
  steps = simt_block_steps();
  if (alone >= simt_get_settings()->patience)
    simt_fail("a thread has run for %d s alone; a loop that waits for others needs wr_spin_until", alone);
}

static void watch(void) {
  static char stack[64 << 10];
  stack_t room = {}, there = {};
  room.ss_sp = stack, room.ss_size = sizeof stack;
  if (sigaltstack(nullptr, &there) == 0 && !(there.ss_flags & SS_DISABLE)) room = there; /* the address sanitizer's own */
  struct sigaction fault = {}, time = {};
  fault.sa_sigaction = on_fault;
  fault.sa_flags = SA_SIGINFO | SA_ONSTACK;
  time.sa_handler = on_time;
  time.sa_flags = SA_RESTART | SA_ONSTACK;
  itimerval second = {{1, 0}, {1, 0}};
  if (sigaltstack(&room, nullptr) != 0 || sigaction(SIGSEGV, &fault, &of_segv) != 0 ||
      sigaction(SIGBUS, &fault, &of_bus) != 0 || sigaction(SIGVTALRM, &time, nullptr) != 0 ||
      setitimer(ITIMER_VIRTUAL, &second, nullptr) != 0)
    simt_fail("no signal handlers for faults");
}

/* ---- Blocks ---- */

static void make_range(void) {
  memory.page = (size_t)sysconf(_SC_PAGESIZE);
  void *range = mmap(nullptr, range_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) simt_fail("no addresses for device memory");
  memory.range = memory.next = static_cast<char *>(range);
  watch();
}

static void set_open(const memory_block *b, bool open) {
  if (!b->freed && mprotect(b->pages, b->room, open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
    simt_fail("the pages of device memory cannot be %s", open ? "opened" : "closed");
}

void simt_open_memory(const void *in) {
  if (memory.open == 0 && in) return set_open(nearest(in), true);
  if (in == nullptr && memory.open++ == 0)
    for (const memory_block &b : memory.blocks) set_open(&b, true);
}

void simt_close_memory(const void *in) {
  if (memory.open == 0 && in) return set_open(nearest(in), false);
  if (in == nullptr && --memory.open == 0)
    for (const memory_block &b : memory.blocks) set_open(&b, false);
}

/* Freed blocks are forgotten but for the last few hundred, so that the list does not grow without end. */
static void forget_freed(void) {
  enum { KEPT = 256 };
  if (memory.taken % KEPT) return;
  std::vector<memory_block> kept;
  for (memory_block &b : memory.blocks)
    if (!b.freed) kept.push_back(b);
  memory.blocks.swap(kept);
}

static bool at_end(void) {
  int setting = simt_get_settings()->guard;
  uint64_t state = memory.taken + simt_get_settings()->seed;
  return setting == 2 ? simt_random(&state, 2) == 0 : setting == 1;
}

bool simt_memory_end(int64_t count) {
  bool refused = memory.refused;
  memory.granted = count, memory.refused = false;
  return refused;
}

void *simt_memory_take(size_t bytes) {
  if (memory.granted == 0) return memory.refused = true, nullptr;
  if (memory.granted > 0) memory.granted--;
  if (memory.range == nullptr) make_range();
  if (bytes == 0) bytes = 1;
  if (bytes > total_bytes - memory.used) return nullptr;
  memory.taken++;
  forget_freed();
  memory_block b = {};
  b.bytes = bytes, b.file = -1;
  b.room = rounded(bytes, memory.page);
  if (b.room + 2 * guard > (size_t)(memory.range + range_bytes - memory.next))
    simt_fail("all addresses of device memory have been used once");
  b.pages = memory.next + guard;
  b.begin = at_end() ? b.pages + b.room - rounded(bytes, alignment) : b.pages;
  memory.next = b.pages + b.room;
  memory.used += bytes;
  /* So marked, the block is not joined with the guards beside it when it is closed, and opening and closing take a third of
   * the time. */
  (void)madvise(b.pages, b.room, MADV_NOHUGEPAGE);
  set_open(&b, true);
  memset(b.pages, UNWRITTEN, b.room);
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(b.pages, b.room);
  __asan_unpoison_memory_region(b.begin, b.bytes);
#endif
  if (memory.open == 0) set_open(&b, false);
  memory.blocks.push_back(b);
  return b.begin;
}

bool simt_memory_give(void *block) {
  memory_block *b = simt_memory_is_device(block) ? nearest(block) : nullptr;
  if (b == nullptr || b->freed || b->begin != block) return false;
  /* As they were before, so that the kernel joins them with the guards again: it keeps track of 65530 pieces at most. A file's
   * pages stay with other processes. */
  if (mmap(b->pages, b->room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
    simt_fail("the pages of a block cannot be given back");
  if (b->file >= 0) close(b->file);
  memory.used -= b->bytes;
  b->freed = true;
  for (std::vector<char> &copy : b->saved) std::vector<char>().swap(copy);
  return true;
}

bool simt_memory_holds(const void *from, size_t bytes) {
  const memory_block *b = simt_memory_is_device(from) ? nearest(from) : nullptr;
  const char *at = static_cast<const char *>(from);
  return b && !b->freed && at >= b->begin && bytes <= b->bytes && at <= b->begin + b->bytes - bytes;
}

/* ---- Blocks of other processes ---- */

/* Moves the pages to a file, unless they are in one. */
bool simt_memory_share(void *block, cudaIpcMemHandle_t *handle) {
  memory_block *b = simt_memory_is_device(block) ? nearest(block) : nullptr;
  if (b == nullptr || b->freed || b->begin != block) return false;
  if (b->file < 0) {
    int file = memfd_create("device memory", MFD_CLOEXEC);
    if (file < 0) return false;
    simt_open_memory(block);
    bool written = ftruncate(file, (off_t)b->room) == 0 && pwrite(file, b->pages, b->room, 0) == (ssize_t)b->room;
    if (!written || mmap(b->pages, b->room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
      simt_fail("a block of device memory cannot be shared");
    simt_close_memory(block);
    b->file = file;
  }
  *handle = {};
  handle->process = (int)getpid(), handle->file = b->file;
  handle->room = b->room, handle->offset = (size_t)(b->begin - b->pages), handle->bytes = b->bytes;
  return true;
}

void *simt_memory_attach(const cudaIpcMemHandle_t &handle) {
  char name[64];
  snprintf(name, sizeof name, "/proc/%d/fd/%d", handle.process, handle.file);
  int file = open(name, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void *block = simt_memory_take(handle.bytes);
  memory_block *b = block ? nearest(block) : nullptr;
  if (b == nullptr || b->room != handle.room) simt_fail("no room for a block of another process");
  b->file = file, b->begin = b->pages + handle.offset;
  if (mmap(b->pages, b->room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
    simt_fail("a block of another process cannot be opened");
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(b->begin, b->bytes);
#endif
  if (memory.open == 0) set_open(b, false);
  return b->begin;
}

/* ---- Copies of everything ---- */

void simt_memory_save(int slot) {
  for (memory_block &b : memory.blocks)
    if (!b.freed) b.saved[slot].assign(b.begin, b.begin + b.bytes);
}

void simt_memory_restore(int slot) {
  for (memory_block &b : memory.blocks)
    if (!b.freed) memcpy(b.begin, b.saved[slot].data(), b.bytes);
}

const void *simt_memory_differs(int slot, size_t *offset, size_t *bytes) {
  for (const memory_block &b : memory.blocks) {
    if (b.freed || memcmp(b.begin, b.saved[slot].data(), b.bytes) == 0) continue;
    *offset = 0;
    while (b.begin[*offset] == b.saved[slot][*offset]) ++*offset;
    *bytes = b.bytes;
    return b.begin;
  }
  return nullptr;
}
