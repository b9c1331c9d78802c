/* What the shadow cuda_runtime.h calls, and what the shim's own files share. README.md says what it is for.
 *
 *   simt_block.cpp   one block at a time: threads as fibers, barriers, collectives, their faults
 *   simt_grid.cpp    launches: orders, the blocks of a grid, shared memory, the second run that must agree
 *   simt_memory.cpp  device memory between protected pages; faults of access, with their line
 *   simt_api.cpp     the host's side of CUDA
 *   sort_host.cpp    spmv/device/sort.h without a device */
#ifndef WR_SIMT_H
#define WR_SIMT_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <typeinfo>

struct uint3 {
  unsigned x, y, z;
};

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

extern uint3 threadIdx, blockIdx; /* of the thread that runs */
extern dim3 blockDim, gridDim;
constexpr int warpSize = 32;

/* Where a thread calls what other threads take part in. */
struct simt_site {
  const char *file;
  int line;
  const char *what;
};

enum simt_op {
  SIMT_SYNC, SIMT_SHUFFLE, SIMT_BALLOT, SIMT_MATCH,
  SIMT_ADD, SIMT_MIN, SIMT_MAX, SIMT_AND, SIMT_OR, SIMT_XOR /* over 32-bit values */
};

/* Waits for all lanes that mask names and returns the caller's result. source: the lane that a shuffle reads. */
uint64_t simt_meet(simt_op op, unsigned mask, uint64_t value, int source, const simt_site &site);

/* Waits for all threads of the block; returns how many predicates were true. */
int simt_barrier(int predicate, const simt_site &site);

/* Lets other threads run, in a loop that waits for one of them; and says that such a wait is over. */
void simt_spin(const simt_site &site);
void simt_spin_done(void);

int simt_lane(void);

/* Set by what gives other last bits in another order of threads: adding numbers that round. */
extern bool simt_order_counts;

/* An array in shared memory: one object for each place in the source (and each instantiation of a template). */
struct simt_shared {
  const char *name, *file;
  int line;
  size_t bytes, alignment;
  uint64_t block; /* the run of a block that `at` is for */
  void *at;
};
void *simt_shared_room(simt_shared *array);
void *simt_shared_dynamic(void); /* the launch's */

/* Bulk copies of kernel/async_copy.cuh: *barrier is 64 bits of shared memory. */
void simt_bulk_init(uint64_t *barrier);
void simt_bulk_expect(uint64_t *barrier, unsigned bytes);
void simt_bulk_copy(void *to, const void *from, unsigned bytes, uint64_t *barrier);
void simt_bulk_wait(uint64_t *barrier, unsigned parity, const simt_site &site);

struct simt_launch {
  const char *name, *file; /* the kernel as WR_LAUNCH names it, and where it does */
  int line;
  dim3 grid, block;
  size_t shared;
  const void *kernel;
  const std::type_info *type; /* of the kernel */
  void (*run)(void *call);    /* what a thread does */
  void *call;
};
cudaError_t simt_run(const simt_launch *launch);

/* Does it, or while a stream is captured (there is one at most), adds it to the graph. */
cudaError_t simt_do(const std::function<cudaError_t()> &work);

cudaError_t simt_get_attributes(cudaFuncAttributes *attributes, const void *kernel);
cudaError_t simt_set_attribute(const void *kernel, cudaFuncAttribute attribute, int value);
cudaError_t simt_occupancy(int *blocks, int threads, size_t shared);

/* ---- Between the shim's files ---- */

/* A fault: says what, the kernel, block, thread and launch, and ends the process with this exit status. */
enum { SIMT_EXIT = 86 };
[[noreturn]] void simt_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

enum simt_order { SIMT_FORWARD, SIMT_BACKWARD, SIMT_SHUFFLED, SIMT_ORDERS };

/* Runs one block of the launch; threads in this order. */
void simt_block_run(const simt_launch *launch, simt_order order, uint64_t seed);
bool simt_block_where(char *text, size_t size); /* "thread (5,0,0)", of the thread that runs; false: none does */
uint64_t simt_block_steps(void);                /* grows while threads change places */
bool simt_block_stack(const void *address);     /* is it the protected page of a thread's stack? */

void simt_launch_where(char *text, size_t size); /* "in kernel ..., launched at ..."; "" between launches */
bool simt_shared_where(const void *address, char *text, size_t size);
unsigned simt_random(uint64_t *state, unsigned below);

/* Settings from WR_SIMT="order=backward,guard=end,replay=off,seed=7,patience=3,processors=7,devices=2,peers=off,open=500,
 * nccl=off"; see README.md. */
struct simt_settings {
  int order;       /* simt_order, or SIMT_ORDERS: another one for each launch */
  int guard;       /* 1: blocks of memory end at a protected page; 0: begin at one; 2: mixed */
  bool replay;     /* launches run twice */
  uint64_t seed;
  int patience;    /* seconds that a thread may run alone */
  int processors;  /* multiprocessors that the device says it has */
  int devices;     /* that there are; a process uses one of them  */
  bool peers;      /* cards reach each other's memory             */
  int open;        /* milliseconds that the first question of the process takes, as opening a card does */
  bool nccl;       /* there is a library of this name             */
};
const simt_settings *simt_get_settings(void);

/* Device memory may be touched between these two; they nest. The block with this address alone, NULL: all of them. */
void simt_open_memory(const void *in);
void simt_close_memory(const void *in);

void *simt_memory_take(size_t bytes); /* NULL: not so much is left */
bool simt_memory_end(int64_t count);  /* for tests: so many blocks are there, -1: what fits. True: some were refused before */
bool simt_memory_give(void *block);
bool simt_memory_share(void *block, cudaIpcMemHandle_t *handle); /* false: no block, or no file for it */
void *simt_memory_attach(const cudaIpcMemHandle_t &handle);      /* a block of another process; NULL: it is not there */
bool simt_memory_holds(const void *from, size_t bytes);    /* all of it in one block */
bool simt_memory_is_device(const void *address);           /* anywhere in the range of device addresses */
void simt_lose_device(bool lost);          /* for tests: true: no thread can choose the device any more */
size_t simt_memory_total(void);
size_t simt_memory_used(void);

/* All of device memory, to run a launch again. */
void simt_memory_save(int slot);
void simt_memory_restore(int slot);
const void *simt_memory_differs(int slot, size_t *offset, size_t *bytes); /* the block, or NULL: as it was saved */

#endif
