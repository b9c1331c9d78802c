/* The shim tested: kernels that are right run in every order; of those with a planted fault each is caught, by a process that
 * ends with the fault's sentence, the kernel and the place. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spmv/kernel/launch.cuh"
#include "spmv/kernel/spin.cuh"
#include "tests/check.h"

enum { THREADS = 64, FULL = -1 };

/* A thread that reads the value by load_acquire sees everything that this thread wrote before. */
template <typename T>
static __device__ inline void store_release(T *at, T value) {
  __threadfence();
  *(volatile T *)at = value;
}

/* Later reads of this thread see what the storing thread wrote before the value. */
template <typename T>
static __device__ inline T load_acquire(const T *at) {
  T value = *(const volatile T *)at;
  __threadfence();
  return value;
}

/* ---- Kernels with a fault. Each is launched with one block of THREADS unless it says otherwise; out: [THREADS] ---- */

static __global__ void missing_barrier(int *out) {
  WR_SHARED(int, part, THREADS);
  part[threadIdx.x] = (int)threadIdx.x;
  out[threadIdx.x] = part[THREADS - 1 - threadIdx.x];
}

static __global__ void missing_warp_barrier(int *out) {
  WR_SHARED(int, part, THREADS);
  part[threadIdx.x] = 1;
  __syncthreads();
  part[threadIdx.x] = (int)threadIdx.x;
  out[threadIdx.x] = part[threadIdx.x ^ 1];
}

static __global__ void race_of_blocks(int *out) { out[threadIdx.x] = (int)blockIdx.x; }

static __global__ void divergent_barrier(int *out) {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads(); /* another one */
  out[threadIdx.x] = 1;
}

static __global__ void barrier_not_for_all(int *out) {
  if (threadIdx.x == 7) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}

static __global__ void barrier_while_the_warp_waits(int *out) {
  if (threadIdx.x % 2)
    __syncthreads();
  else
    __syncwarp();
  out[threadIdx.x] = 1;
}

static __global__ void mask_without_caller(int *out) { out[threadIdx.x] = __shfl_sync(0x0000ffffu, 1, 0); }

static __global__ void mask_of_ended_lane(int *out) {
  if (threadIdx.x == 5) return;
  out[threadIdx.x] = (int)__ballot_sync((unsigned)FULL, 1);
}

static __global__ void mask_of_no_lane(int *out) { out[threadIdx.x] = (int)__ballot_sync((unsigned)FULL, 1); }

static __global__ void mask_of_branch(int *out) {
  if (threadIdx.x % 2)
    out[threadIdx.x] = __shfl_xor_sync((unsigned)FULL, 1, 2);
  else
    out[threadIdx.x] = __any_sync((unsigned)FULL, 1);
}

static __global__ void shuffle_from_outside(int *out) {
  if (threadIdx.x < 4) out[threadIdx.x] = __shfl_sync(0x0fu, 1, 9);
}

static __global__ void read_behind(int *out) { out[threadIdx.x] = out[THREADS]; }
static __global__ void read_before(int *out) { out[threadIdx.x] = out[-1]; }
static __global__ void write_behind(int *out) { out[threadIdx.x + 1] = 1; }
static __global__ void write_before(int *out) { out[(int)threadIdx.x - 1] = 1; }

static __global__ void shared_read_behind(int *out) {
  WR_SHARED(int, room, 16);
  if (threadIdx.x < 16) room[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = room[16];
}

static __global__ void shared_write_before(int *out) {
  WR_SHARED(int, room, 16);
  room[(int)threadIdx.x - 1] = 1;
  out[threadIdx.x] = 0;
}

static __global__ void shared_write_behind(int *out) {
  WR_SHARED_DYNAMIC(int, room);
  room[threadIdx.x] = 1;
  out[threadIdx.x] = 0;
}

static __global__ void unwritten_read(int *out) {
  WR_SHARED(int, room, THREADS);
  if (threadIdx.x % 8) room[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = room[threadIdx.x];
}

static __global__ void endless_spin(int *out) {
  wr_spin_until([&] { return load_acquire(out) == 77; });
}

static __global__ void spin_alone(int *out) {
  while (*(volatile int *)out != 77) {}
}

static __global__ void deadlock_of_groups(int *out) {
  unsigned lane = threadIdx.x % 32, mask = lane == 0 ? 0x3u : lane == 1 ? 0x6u : 0x5u;
  if (lane < 3) out[threadIdx.x] = (int)__ballot_sync(mask, 1);
}

static int deeper(int n) { /* never ends before the stack does */
  volatile char room[4096];
  room[n % 4096] = 1;
  return n < 1000000 ? deeper(n + 1) + room[n % 4096] : 0;
}
static __global__ void stack_overflow(int *out) { out[threadIdx.x] = deeper(0); }

static __global__ void too_much_shared(int *out) {
  WR_SHARED(char, first, 100000);
  WR_SHARED(char, second, 140000);
  out[threadIdx.x] = first[0] + second[0];
}

static __global__ void copy_without_wait(int *out) {
  WR_SHARED(uint64_t, barrier, 1);
  WR_SHARED(int4, room, 1);
  if (threadIdx.x == 0) {
    simt_bulk_init(barrier);
    simt_bulk_expect(barrier, 16);
    simt_bulk_copy(room, out, 16, barrier);
  }
  __syncthreads();
  out[threadIdx.x] = room->x;
}

static __global__ void copy_of_odd_size(int *out) {
  WR_SHARED(uint64_t, barrier, 1);
  WR_SHARED(int4, room, 1);
  if (threadIdx.x == 0) {
    simt_bulk_init(barrier);
    simt_bulk_copy(room, out, 8, barrier);
  }
}

/* ---- What the host does wrong, or how it launches them ---- */

typedef struct fault_case {
  const char *name;
  void (*run)(int *out);
  const char *settings, *says, *also; /* WR_SIMT; what the report has to hold */
} fault_case;

static void must(wr_status status) {
  if (status != WR_OK) fprintf(stderr, "refused: %s\n", wr_status_message());
}

#define PLANT(kernel)                                                                             \
  static void run_##kernel(int *out) { must(WR_LAUNCH((kernel), 1, THREADS, 0, nullptr, out)); }
PLANT(missing_barrier)
PLANT(missing_warp_barrier)
PLANT(divergent_barrier)
PLANT(barrier_not_for_all)
PLANT(barrier_while_the_warp_waits)
PLANT(mask_without_caller)
PLANT(mask_of_ended_lane)
PLANT(mask_of_branch)
PLANT(shuffle_from_outside)
PLANT(read_behind)
PLANT(read_before)
PLANT(write_behind)
PLANT(write_before)
PLANT(shared_read_behind)
PLANT(shared_write_before)
PLANT(unwritten_read)
PLANT(endless_spin)
PLANT(spin_alone)
PLANT(deadlock_of_groups)
PLANT(stack_overflow)
PLANT(too_much_shared)
PLANT(copy_without_wait)
PLANT(copy_of_odd_size)

static void run_race_of_blocks(int *out) { must(WR_LAUNCH((race_of_blocks), 3, THREADS, 0, nullptr, out)); }
static void run_mask_of_no_lane(int *out) { must(WR_LAUNCH((mask_of_no_lane), 1, 40, 0, nullptr, out)); }
static void run_shared_write_behind(int *out) {
  must(WR_LAUNCH((shared_write_behind), 1, THREADS, (THREADS - 4) * sizeof(int), nullptr, out));
}

static void host_reads(int *out) { printf("%d\n", *(volatile int *)out); }
static void host_writes(int *out) { *(volatile int *)out = 1; }
static void use_after_free(int *out) {
  cudaFree(out);
  must(WR_LAUNCH((race_of_blocks), 1, THREADS, 0, nullptr, out));
}
static void free_twice(int *out) {
  cudaFree(out);
  cudaFree(out);
}

#define HERE "test_faults.cpp:"
static const fault_case cases[] = {
    {"missing barrier, forward", run_missing_barrier, "order=forward",
     "a barrier is missing", "kernel missing_barrier"},
    {"missing barrier, backward", run_missing_barrier, "order=backward", "a barrier is missing", HERE},
    {"missing barrier of a warp", run_missing_warp_barrier, "", "a barrier is missing", "kernel missing_warp_barrier"},
    {"blocks that write the same place", run_race_of_blocks, "order=forward",
     "use the same place", "kernel race_of_blocks"},
    {"divergent barrier", run_divergent_barrier, "", "divergent barrier: it calls __syncthreads at ", HERE},
    {"barrier that not all reach", run_barrier_not_for_all, "", "barrier that not all threads reach", HERE},
    {"barrier in a diverged warp", run_barrier_while_the_warp_waits, "", "diverged warp", "(__syncwarp)"},
    {"mask without its caller", run_mask_without_caller, "", "does not name the lane that calls", "__shfl_sync at "},
    {"mask with an ended lane", run_mask_of_ended_lane, "order=forward", "the end of the kernel", HERE},
    {"mask with an ended lane, later", run_mask_of_ended_lane, "order=shuffled,seed=2", "thread (5,0,0)", HERE},
    {"mask with a lane that is not there", run_mask_of_no_lane, "", "names lane 8, which does not exist", HERE},
    {"one mask for two branches", run_mask_of_branch, "", "wait for each other in different places", "__any_sync"},
    {"shuffle from a lane outside its mask", run_shuffle_from_outside, "", "reads from lane 9", "mask 0000000f"},
    {"read behind memory", run_read_behind, "guard=end", "out of bounds: read of 0 bytes behind a block of 256", HERE},
    {"read before memory", run_read_before, "guard=begin",
     "out of bounds: read of 4 bytes before a block of 256", HERE},
    {"write behind memory", run_write_behind, "guard=end",
     "out of bounds: write of 0 bytes behind", "kernel write_behind"},
    {"write before memory", run_write_before, "guard=begin", "out of bounds: write of 4 bytes before", HERE},
    {"read behind a shared array", run_shared_read_behind, "guard=end",
     "read of 0 bytes behind shared array room", HERE},
    {"write before a shared array", run_shared_write_before, "guard=begin",
     "write of 4 bytes before shared array room", HERE},
    {"write behind dynamic shared memory", run_shared_write_behind, "guard=end", "shared array (dynamic)", HERE},
    {"read of unwritten shared memory", run_unwritten_read, "",
     "never written: array room at ", "kernel unwritten_read"},
    {"spin that no thread ends", run_endless_spin, "", "deadlock", "spin.cuh:"},
    {"spin without wr_spin_until", run_spin_alone, "patience=1", "needs wr_spin_until", "kernel spin_alone"},
    {"lanes that wait in a circle", run_deadlock_of_groups, "", "__ballot_sync", "kernel deadlock_of_groups"},
    {"full stack", run_stack_overflow, "", "stack is full", "kernel stack_overflow"},
    {"too much shared memory", run_too_much_shared, "", "240000 bytes of shared memory", "array second"},
    {"copy without a wait", run_copy_without_wait, "order=forward", "before its bulk copies have arrived", HERE},
    {"copy of an odd size", run_copy_of_odd_size, "", "must be multiples of 16", "kernel copy_of_odd_size"},
    {"host reads device memory", host_reads, "", "host code touches device memory: read at ", HERE},
    {"host writes device memory", host_writes, "", "host code touches device memory: write at ", HERE},
    {"memory that was freed", use_after_free, "", "device memory that was freed", "kernel race_of_blocks"},
    {"memory freed twice", free_twice, "", "cudaFree of ", "(any more)"},
};

/* Runs one case in a process of its own; text := what it says. */
static int outcome(const fault_case *c, char *text, size_t size) {
  int ends[2], state = 0;
  size_t used = 0;
  fflush(stdout);
  if (pipe(ends) != 0) return -1;
  pid_t child = fork();
  if (child == 0) {
    void *out = nullptr;
    dup2(ends[1], 2);
    setenv("WR_SIMT", c->settings, 1);
    size_t bytes = THREADS * sizeof(int);
    if (cudaMalloc(&out, bytes) != cudaSuccess || cudaMemset(out, 0, bytes) != cudaSuccess) _exit(1);
    c->run(static_cast<int *>(out));
    _exit(0);
  }
  close(ends[1]);
  for (ssize_t got; used + 1 < size && (got = read(ends[0], text + used, size - 1 - used)) > 0;) used += (size_t)got;
  text[used] = '\0';
  close(ends[0]);
  if (child < 0 || waitpid(child, &state, 0) != child || !WIFEXITED(state)) return -1;
  return WEXITSTATUS(state);
}

static void test_faults(void) {
  char text[8192];
  for (const fault_case &c : cases) {
    CASE(c.name);
    int status = outcome(&c, text, sizeof text);
    bool first = strstr(text, "AddressSanitizer: use-after-poison") != nullptr; /* it saw the access before us */
    CHECKF(status == SIMT_EXIT || first, "exit status %d; it said: %s", status, text);
    CHECKF(first || strstr(text, c.says) != nullptr, "it does not say '%s' but: %s", c.says, text);
    CHECKF(strstr(text, first ? HERE : c.also) != nullptr, "it does not say '%s' but: %s", c.also, text);
  }
}

/* ---- Kernels that are right ---- */

/* Every collective once, against what a loop gives. out: [gridDim][THREADS] of the number of wrong results. */
static __global__ void collectives(int *out) {
  int t = (int)threadIdx.x, lane = t % 32, wrong = 0;
  unsigned half = lane < 16 ? 0xffffu : 0xffff0000u;
  wrong += __shfl_sync((unsigned)FULL, t, 3) != t / 32 * 32 + 3;
  wrong += __shfl_sync((unsigned)FULL, t, 3, 8) != t / 8 * 8 + 3;
  wrong += __shfl_up_sync((unsigned)FULL, t, 2u) != (lane < 2 ? t : t - 2);
  wrong += __shfl_down_sync((unsigned)FULL, (double)t, 5u) != (lane > 26 ? t : t + 5);
  wrong += __shfl_xor_sync((unsigned)FULL, t, 9) != (t ^ 9);
  wrong += __shfl_down_sync(half, 1.5f * (float)t, 1u, 16) != 1.5f * (float)(lane % 16 == 15 ? t : t + 1);
  wrong += __ballot_sync((unsigned)FULL, lane % 3 == 0) != 0x49249249u;
  wrong += __any_sync(half, lane == 20) != (lane >= 16);
  wrong += __all_sync(half, lane < 16) != (lane < 16);
  wrong += __match_any_sync((unsigned)FULL, lane / 4) != 0xfu << lane / 4 * 4;
  wrong += __reduce_add_sync((unsigned)FULL, (unsigned)lane) != 496u;
  wrong += __reduce_min_sync((unsigned)FULL, lane - 9) != -9;
  wrong += __reduce_max_sync(half, lane - 40) != (lane < 16 ? -25 : -9);
  wrong += __reduce_or_sync((unsigned)FULL, 1u << lane / 2) != 0xffffu;
  wrong += __syncthreads_count(t < 5) != 5;
  wrong += __syncthreads_or(t == 63) != 1;
  wrong += __syncthreads_and(t < 63) != 0;
  out[blockIdx.x * THREADS + t] = wrong;
}

/* Blocks hand on a sum from one to the next, numbered by tickets; threads of a block wait for its first. */
static __global__ void chain(int *sums, int *ticket) {
  WR_SHARED(int, number, 1);
  if (threadIdx.x == 0) number[0] = atomicAdd(ticket, 1);
  __syncthreads();
  int n = number[0];
  if (threadIdx.x == 0) {
    wr_spin_until([&] { return n == 0 || load_acquire(&sums[n - 1]) != 0; });
    store_release(&sums[n], (n ? sums[n - 1] : 0) + n + 1);
  }
  wr_spin_until([&] { return load_acquire(&sums[n]) != 0; });
}

static __global__ void copied(const int *in, int *out) {
  WR_SHARED(uint64_t, barrier, 1);
  WR_SHARED(int4, room, THREADS / 4);
  if (threadIdx.x == 0) simt_bulk_init(barrier);
  __syncthreads();
  if (threadIdx.x == 0) {
    simt_bulk_expect(barrier, THREADS * sizeof(int));
    simt_bulk_copy(room, in, THREADS * sizeof(int), barrier);
  }
  simt_bulk_wait(barrier, 0, {__FILE__, __LINE__, "wait"});
  out[threadIdx.x] = reinterpret_cast<int *>(room)[threadIdx.x] + 1;
}

static void test_right_kernels(void) {
  enum { BLOCKS = 7 };
  int host[BLOCKS * THREADS], wrong = 0;
  void *device = nullptr, *more = nullptr;
  CASE("right kernels");
  CHECK(cudaMalloc(&device, sizeof host) == cudaSuccess && cudaMalloc(&more, sizeof host) == cudaSuccess);
  int *out = static_cast<int *>(device), *in = static_cast<int *>(more);
  for (int run = 0; run < 2 * SIMT_ORDERS; run++) {
    CHECK_OK(WR_LAUNCH((collectives), BLOCKS, THREADS, 0, nullptr, out));
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
    for (int k = 0; k < BLOCKS * THREADS; k++) wrong += host[k] != 0;
    CHECKF(wrong == 0, "%d threads had a wrong result of a collective", wrong);
    CHECK(cudaMemset(out, 0, sizeof host) == cudaSuccess);
    CHECK_OK(WR_LAUNCH((chain), BLOCKS, THREADS, 0, nullptr, out, out + BLOCKS));
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECKF(host[BLOCKS - 1] == BLOCKS * (BLOCKS + 1) / 2, "the chain ends with %d", host[BLOCKS - 1]);
    for (int k = 0; k < THREADS; k++) host[k] = k * k;
    CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK_OK(WR_LAUNCH((copied), 1, THREADS, 0, nullptr, (const int *)in, out));
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECKF(host[THREADS - 1] == (THREADS - 1) * (THREADS - 1) + 1, "a copied element is %d", host[THREADS - 1]);
  }
  CHECK(cudaFree(device) == cudaSuccess && cudaFree(more) == cudaSuccess);
}

/* ---- What the host gets back ---- */

static void test_refusals(void) {
  void *device = nullptr;
  char host[64];
  CASE("launches and copies that are refused");
  CHECK(cudaMalloc(&device, 4096) == cudaSuccess);
  int *out = static_cast<int *>(device);
  CHECK_FAILS(WR_EDEVICE, WR_LAUNCH((collectives), 0, THREADS, 0, nullptr, out));
  CHECK_MESSAGE("kernel collectives: invalid configuration argument");
  CHECK_FAILS(WR_EDEVICE, WR_LAUNCH((collectives), 1, 1025, 0, nullptr, out));
  CHECK_FAILS(WR_EDEVICE, WR_LAUNCH((collectives), dim3(1, 70000), 32, 0, nullptr, out));
  CHECK_FAILS(WR_EDEVICE, WR_LAUNCH((shared_write_behind), 1, THREADS, 100 << 10, nullptr, out));
  const cudaFuncAttribute most_dynamic = cudaFuncAttributeMaxDynamicSharedMemorySize;
  CHECK(cudaFuncSetAttribute(shared_write_behind, most_dynamic, 100 << 10) == cudaSuccess);
  CHECK_OK(WR_LAUNCH((shared_write_behind), 1, THREADS, 100 << 10, nullptr, out));
  CHECK(cudaMemcpy(host, (char *)device + 4090, 8, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(device, device, 8, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemset(host, 0, 8) == cudaErrorInvalidValue);
  CHECK(cudaMalloc(&device, (size_t)1 << 50) == cudaErrorMemoryAllocation && device == nullptr);
  CHECK(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal) == cudaErrorStreamCaptureUnsupported);
  CHECK(cudaGetLastError() != cudaSuccess && cudaGetLastError() == cudaSuccess);
  int blocks = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, collectives, 256, 100 << 10) == cudaSuccess);
  CHECK(blocks == 2);
  CHECK(cudaFree(out) == cudaSuccess);
}

int main(void) {
  test_faults(); /* before this process has a device, so that each child makes its own */
  test_right_kernels();
  test_refusals();
  return wr_test_report("simt_faults");
}
