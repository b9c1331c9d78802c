/* Everything that cards exchange goes through a mailbox on each card, into which the others write (kernel/peer.cuh), and
 * through the buffers of halos; or by NCCL (nccl_exchange.h), which needs no mailbox.
 *
 * Exchanges of halos are counted from 0 on, those of all halos together. Of the two buffers of a halo one is for even exchanges
 * and one for odd ones. So a part may send the elements of exchange e once all others have done exchange e - 2:
 *   - by an exchange of its own: its kernel waits for that;
 *   - before exchange e, from a multiply (outbox.cuh): either that follows an exchange e - 1 whose kernel has waited until the
 *     others had done e - 2 (`ahead`), or exchange e - 1 was received beside a sum, to which each part begins to add once it has
 *     done e - 2. */
#include "spmv/device/peers.h"

#include <cuda_runtime.h>
#include <string.h>

#include "config/memory.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/device/nccl_exchange.h"
#include "spmv/kernel/outbox.cuh"
#include "spmv/kernel/peer.cuh"
#include "spmv/kernel/spin.cuh"
#include "spmv/kernel/steps.cuh"

/* What is handed over with each sum: the sums, and behind them a control record. */
enum { RECORDS = 8, CONTROL = RECORDS - 1, SUM_THREADS = WR_MOST_PEERS * RECORDS };

/* So many blocks on a multiprocessor run at the same time. */
enum { HALO_THREADS = 256, HALO_BLOCKS = 4 };

/* Elements of a halo up to which each travels as a record, in twice the bytes: 10 us at 320 GB/s. Kernels on the CPU have small
 * halos, and take both ways. */
#ifdef WR_SIMT
enum { MOST_RECORDS = 100 };
#else
enum { MOST_RECORDS = 200000 };
#endif
static_assert((int)WR_FUSED_REDUCTIONS < (int)RECORDS, "room for all sums of an operation");
static_assert((int)WR_MOST_OTHERS == (int)WR_MOST_PEERS - 1, "an outbox for all other parts");
static_assert((int)SUM_THREADS + (int)WR_MOST_PEERS < (int)HALO_THREADS,
              "threads that add, that raise flags, and one more");

/* Kernels that compute x send elements themselves if others need one of so many. */
enum { LEAST_SHARE = 8 };

/* Memory of a card that the others write. Part r writes what is at [r]. Exchanges of halos are counted over all halos. */
typedef struct mailbox {
  wr_record sums[2][WR_MOST_PEERS]
                [RECORDS];      /* of even and odd rounds: nothing is overwritten before all have read it */
  uint32_t sent[WR_MOST_PEERS]; /* exchanges that part r has sent its elements of              */
  uint32_t done[WR_MOST_PEERS]; /* exchanges whose elements part r needs no more               */
} mailbox;

/* What the kernels of a part count, on its card. */
typedef struct counts {
  uint32_t round;               /* sums over all parts so far                                  */
  uint32_t exchange;            /* exchanges of halos so far                                   */
  uint32_t done[WR_MOST_PEERS]; /* as in a mailbox, from control records                       */
  unsigned agreed;              /* not 0: a part wants to stop, or has waited in vain          */
  unsigned broken;              /* 1: a kernel has waited in vain, and none waits any more     */
  unsigned sent, begun;         /* blocks of the exchange that runs that have sent; that have begun */
  unsigned long long waited;    /* nanoseconds                                                 */
  unsigned long long began;     /* by NCCL: when the sum that runs began                       */
} counts;

/* Pinned, written by kernels, read by the host. A kernel that writes there takes microseconds longer, so they do it once. */
typedef struct report {
  volatile unsigned broken;
} report;

/* A kernel parameter. */
typedef struct parts_view {
  int rank, size;
  uint64_t patience; /* nanoseconds */
  mailbox *box[WR_MOST_PEERS];
  counts *now;
  report *told;
} parts_view;

/* A loop whose first exchange is not in it: it has been done when the loop begins, and at the end of each repetition. */
typedef struct loop_entry {
  const wr_loop *loop;
  wr_peer_halo *halo; /* NULL: each exchange is in the loop */
  wr_vec x;
  int has_exchange;   /* 1: an exchange has been recorded   */
  struct loop_entry *next;
} loop_entry;

struct wr_peers {
  wr_comm *comm;
  int device;
  parts_view view;
  unsigned long long waited; /* of now->waited, what comm->waited has */
  const unsigned *stop;      /* of the loop that is recorded           */
  loop_entry *entries;       /* of loops                               */
  loop_entry *recorded;      /* of the loop that is recorded, or NULL  */
  struct {                   /* the vector behind which its halo is, as long as it is not written. halo NULL: none */
    const wr_peer_halo *halo;
    uint64_t id, writes;
    const void *data;
  } complete;
  wr_nccl *nccl;             /* NULL: cards write into each other's memory */
  double *gathered;          /* by NCCL: [1 + size][RECORDS] the sums of this part, and those of all by rank */
};

/* ---- Kernels ---- */

static __device__ inline void give_up(const parts_view &p) {
  p.now->broken = 1, p.now->agreed = 1;
  p.told->broken = 1;
}

static __device__ inline void count_waiting(const parts_view &p, uint64_t begin) {
  p.now->waited += wr_peer_clock() - begin;
}

typedef struct sum_work {
  int count; /* sums                                          */
  double *sum[WR_FUSED_REDUCTIONS];
  const double *when;   /* NULL, or 0 there: no sums                     */
  const unsigned *stop; /* not 0: this part wants to stop. NULL: no loop */
} sum_work;

/* By all threads of a block: the sums of all parts and the step. Thread r * RECORDS + k hands record k over to part r, and waits
 * for record k of part r. exchange: so many have been done. */
static __device__ inline void sum_by_block(const parts_view &p, const sum_work &w, const wr_step_work &then,
                                           uint32_t exchange) {
  WR_SHARED(double, value, SUM_THREADS);
  WR_SHARED(unsigned, stops, WR_MOST_PEERS);
  int t = (int)threadIdx.x, r = t / RECORDS, k = t % RECORDS;
  double when = w.when ? *w.when : 1, own = r < p.size && k < w.count ? *w.sum[k] : 0; /* all loads at once */
  uint32_t round = p.now->round + 1;
  unsigned broken = p.now->broken, wants = w.stop ? *(const volatile unsigned *)w.stop : 0;
  bool adds = when != 0 && broken == 0;
  bool mine = adds && r < p.size && (k < w.count || k == CONTROL), late = false;
  uint64_t bits = 0, begin = wr_peer_clock();
  if (k < w.count) bits = (uint64_t)__double_as_longlong(own);
  if (k == CONTROL) bits = (uint64_t)exchange << 32 | wants;
  if (mine) wr_record_post<true>(&p.box[r]->sums[round % 2][p.rank][k], bits, round);
  __syncthreads();
  if (mine)
    late = !wr_peer_wait(p.patience,
                         [&] { return wr_record_read<true>(&p.box[p.rank]->sums[round % 2][r][k], round, &bits); });
  if (mine && k == CONTROL) stops[r] = (unsigned)bits, p.now->done[r] = (uint32_t)(bits >> 32);
  if (mine && k < w.count) value[t] = __longlong_as_double((long long)bits);
  late = __syncthreads_or(late);
  if (adds && !late && t < w.count) {
    double sum = 0;
    for (int part = 0; part < p.size; part++) sum += value[part * RECORDS + t];
    *w.sum[t] = sum;
  }
  if (adds && threadIdx.x == 0) {
    unsigned stop = 0;
    for (int part = 0; part < p.size; part++) stop |= stops[part];
    p.now->round = round, p.now->agreed = stop;
    count_waiting(p, begin);
    if (late) give_up(p);
  }
  __syncthreads();
  if (threadIdx.x == 0) wr_step_run<WR_AFTER_ANY>(then, wr_step_stop(then), then.bank);
}

/* One block. */
__global__ void __launch_bounds__(SUM_THREADS)
    sum_over_parts(WR_KERNEL_PARAMETER parts_view p, WR_KERNEL_PARAMETER sum_work w,
                   WR_KERNEL_PARAMETER wr_step_work then) {
  wr_begin_kernel();
  sum_by_block(p, w, then, p.now->exchange);
}

/* By NCCL: the sums of this part, one behind the other. One warp. */
__global__ void __launch_bounds__(32)
    pack_sums(WR_KERNEL_PARAMETER parts_view p, WR_KERNEL_PARAMETER sum_work w, double *mine) {
  wr_begin_kernel();
  if ((int)threadIdx.x < w.count) mine[threadIdx.x] = *w.sum[threadIdx.x];
  if (threadIdx.x == 0) p.now->began = wr_peer_clock();
}

/* all[size][RECORDS] := the sums of each part, by rank, have come. One warp. */
__global__ void __launch_bounds__(32) add_sums(WR_KERNEL_PARAMETER parts_view p, WR_KERNEL_PARAMETER sum_work w,
                                               const double *all, WR_KERNEL_PARAMETER wr_step_work then) {
  wr_begin_kernel();
  int t = (int)threadIdx.x;
  bool adds = !(w.when && *w.when == 0);
  double sum = 0;
  for (int part = 0; part < p.size && t < w.count; part++) sum += all[part * RECORDS + t];
  if (adds && t < w.count) *w.sum[t] = sum;
  if (t == 0) count_waiting(p, p.now->began);
  __syncthreads();
  if (t == 0) wr_step_run<WR_AFTER_ANY>(then, wr_step_stop(then), then.bank);
}

/* By NCCL: packed[count] := x[list[0..count)]. */
template <class T>
__global__ void __launch_bounds__(HALO_THREADS)
    pack_elements(const int32_t *list, int64_t count, const T *x, T *packed) {
  wr_begin_kernel();
  int64_t k = blockIdx.x * (int64_t)HALO_THREADS + threadIdx.x, step = gridDim.x * (int64_t)HALO_THREADS;
  for (; k < count; k += step) packed[k] = x[list[k]];
}

/* A stretch of a send: to[count] := x[list[0..count)], or without a list x[0..count). */
typedef struct stretch {
  void *to;
  const int32_t *list;
  int64_t end; /* the elements of all stretches up to this one          */
  int64_t odd; /* so many elements further in odd exchanges: 0 on this card */
  int is_records;
} stretch;

typedef struct send_work {
  int count;
  stretch part[WR_MOST_PEERS + 1];
} send_work;

/* The reverse of wr_bits_of. */
static __device__ inline void from_bits(uint64_t bits, double *value) {
  *value = __longlong_as_double((long long)bits);
}
static __device__ inline void from_bits(uint64_t bits, float *value) { *value = __uint_as_float((unsigned)bits); }

/* 1 in the last block of a launch that arrives at *count. One thread of each block calls it, behind a __syncthreads. */
static __device__ inline bool is_last(unsigned *count) {
  if (wr_arrive(count) != gridDim.x - 1) return false;
  *count = 0;
  return true;
}

/* Counts the exchange once every block has read the number of earlier ones. One thread of each block calls it, behind a
 * __syncthreads that follows the reading. What the block has written since may not be there yet. */
static __device__ inline void count_exchange(const parts_view &p, uint32_t exchange) {
  if (atomicAdd(&p.now->begun, 1u) != gridDim.x - 1) return;
  p.now->begun = 0, p.now->exchange = exchange + 1;
}

/* Waits, unless the part goes on without the others, until each other part has done `wanted` exchanges; says how many this one
 * has done. By all threads of a block. false: in vain. */
static __device__ inline bool wait_for_room(const parts_view &p, uint32_t exchange, uint32_t wanted) {
  int t = (int)threadIdx.x;
  bool late = false;
  if (blockIdx.x == 0 && t < p.size) wr_peer_put(&p.box[t]->done[p.rank], exchange);
  __syncthreads();
  if (p.now->broken == 0 && t < p.size && t != p.rank && (int32_t)(p.now->done[t] - wanted) < 0)
    late = !wr_peer_wait(p.patience, [&] { return (int32_t)(wr_peer_get(&p.box[p.rank]->done[t]) - wanted) >= 0; });
  return !__syncthreads_or(late);
}

/* The elements that a thread sends: k, k + step, ... of all stretches together. */
template <class T>
struct sender {
  int64_t k, begin; /* begin: the first of stretch s */
  int s;
  T value; /* of element k */
};

template <class T>
static __device__ inline bool read_element(const send_work &w, const T *x, sender<T> &at) {
  if (w.count == 0 || at.k >= w.part[w.count - 1].end) return false;
  while (at.k >= w.part[at.s].end) at.begin = w.part[at.s++].end;
  const int32_t *list = w.part[at.s].list;
  at.value = x[list ? list[at.k - at.begin] : at.k - at.begin];
  return true;
}

/* Elements go where they belong, to other parts perhaps as records of the round behind this exchange. has: the first one has
 * been read, if there is any. */
template <class T>
static __device__ inline void send_elements(const send_work &w, const T *x, bool has, int64_t step, uint32_t exchange,
                                            sender<T> &at) {
  for (; has; at.k += step, has = read_element(w, x, at)) {
    const stretch &part = w.part[at.s];
    int64_t place = at.k - at.begin + exchange % 2 * part.odd;
    if (part.is_records)
      wr_record_post<true>((wr_record *)part.to + place, wr_bits_of(at.value), exchange + 1);
    else
      ((T *)part.to)[place] = at.value;
  }
}

/* What comes for a halo from the other parts, in a buffer for even exchanges and one behind it for odd ones. */
typedef struct halo_buffer {
  const void *come;
  int64_t count; /* of the halo */
} halo_buffer;

/* A card sees the elements of others before their flags. Threads k, k + step, ... of a block that all call it: halo[count] := what
 * has come, once all others have raised the flag behind it. false: in vain. */
template <class T>
static __device__ inline bool receive_elements(const parts_view &p, const halo_buffer &b, uint32_t exchange, int64_t k,
                                               int64_t step, T *halo) {
  const int t = (int)threadIdx.x;
  const T *come = (const T *)b.come + exchange % 2 * b.count;
  bool late = false;
  if (p.now->broken == 0 && t < p.size && t != p.rank)
    late =
        !wr_peer_wait(p.patience, [&] { return (int32_t)(wr_peer_acquire(&p.box[p.rank]->sent[t]) - exchange) > 0; });
  late = __syncthreads_or(late);
  for (; k < b.count; k += step) halo[k] = __ldcg(come + k);
  return !late;
}

/* The same of records: a thread waits for its own. */
template <class T>
static __device__ inline bool receive_records(const parts_view &p, const halo_buffer &b, uint32_t exchange, int64_t k,
                                              int64_t step, T *halo) {
  const wr_record *come = (const wr_record *)b.come + exchange % 2 * b.count;
  bool late = p.now->broken != 0;
  for (; k < b.count && !late; k += step) {
    uint64_t bits = 0;
    late = !wr_peer_wait(p.patience, [&] { return wr_record_read<true>(&come[k], exchange + 1, &bits); });
    from_bits(bits, &halo[k]);
  }
  return !__syncthreads_or(late);
}

/* Says to part r that all elements for it are there which this thread, and those that it has waited for, have sent. */
static __device__ inline void raise_flag(const parts_view &p, int r, uint32_t exchange) {
  if (r < p.size && r != p.rank) wr_peer_release(&p.box[r]->sent[p.rank], exchange + 1);
}

/* A halo of many elements: they go to the others, and behind the last of them a flag; then halo[count] := what has come. ahead: 1:
 * those of the next exchange may be sent before that exchange. All blocks must run at the same time. */
template <class T>
__global__ void __launch_bounds__(HALO_THREADS)
    exchange_halo(WR_KERNEL_PARAMETER parts_view p, WR_KERNEL_PARAMETER send_work w, const T *x, int ahead,
                  WR_KERNEL_PARAMETER halo_buffer buffer, T *halo) {
  wr_begin_kernel();
  int t = (int)threadIdx.x;
  int64_t first = blockIdx.x * (int64_t)HALO_THREADS + t, step = gridDim.x * (int64_t)HALO_THREADS;
  uint32_t exchange = p.now->exchange;
  sender<T> at = {};
  at.k = first;
  bool has = read_element(w, x, at), late = !wait_for_room(p, exchange, exchange - 1 + (uint32_t)ahead);
  send_elements(w, x, has && !late, step, exchange, at);
  __syncthreads();
  if (t == 0) count_exchange(p, exchange);
  if (t == 0) __threadfence_system(); /* what the block has written is with the others before their flags are */
  if (t == 0 && is_last(&p.now->sent))
    for (int r = 0; r < p.size; r++) raise_flag(p, r, exchange);
  __syncthreads(); /* the flags are raised before any thread waits */
  uint64_t begin = wr_peer_clock();
  late = !receive_elements(p, buffer, exchange, first, step, halo) || late;
  if (t == 0 && blockIdx.x == 0) count_waiting(p, begin);
  if (t == 0 && late) give_up(p);
}

/* A halo of few elements: each travels as a record, without flags and fences. */
template <class T>
__global__ void __launch_bounds__(HALO_THREADS)
    exchange_records(WR_KERNEL_PARAMETER parts_view p, WR_KERNEL_PARAMETER send_work w, const T *x, int ahead,
                     WR_KERNEL_PARAMETER halo_buffer buffer, T *halo) {
  wr_begin_kernel();
  int64_t first = blockIdx.x * (int64_t)HALO_THREADS + threadIdx.x, step = gridDim.x * (int64_t)HALO_THREADS;
  uint32_t exchange = p.now->exchange;
  sender<T> at = {};
  at.k = first;
  bool has = read_element(w, x, at), late = !wait_for_room(p, exchange, exchange - 1 + (uint32_t)ahead);
  send_elements(w, x, has && !late, step, exchange, at);
  __syncthreads();
  if (threadIdx.x == 0) count_exchange(p, exchange);
  uint64_t begin = wr_peer_clock();
  late = late || !receive_records(p, buffer, exchange, first, step, halo);
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) count_waiting(p, begin);
  if (late) give_up(p);
}

/* An exchange beside a sum over all parts, which the first block does, or where there is one, that block before it receives. The
 * others have room for the elements; kernels before may have sent them, so that w has none. All blocks must run at the same
 * time. */
template <class T>
__global__ void __launch_bounds__(HALO_THREADS, HALO_BLOCKS)
    sum_and_exchange(WR_KERNEL_PARAMETER parts_view p, WR_KERNEL_PARAMETER sum_work sums,
                     WR_KERNEL_PARAMETER wr_step_work then, WR_KERNEL_PARAMETER send_work w, const T *y,
                     WR_KERNEL_PARAMETER halo_buffer buffer, bool is_records, T *halo) {
  wr_begin_kernel();
  const int t = (int)threadIdx.x;
  const bool adds = blockIdx.x == 0, is_alone = gridDim.x == 1;
  const int64_t block = is_alone ? 0 : (int64_t)blockIdx.x - 1, blocks = is_alone ? 1 : gridDim.x - 1;
  const int64_t k = block * HALO_THREADS + t, step = blocks * HALO_THREADS;
  const uint32_t exchange = p.now->exchange;
  if (!adds || is_alone) {
    sender<T> at = {};
    at.k = k;
    bool has = read_element(w, y, at);
    send_elements(w, y, has, step, exchange, at);
  }
  const bool are_sent = w.count == 0;
  if (adds && are_sent && !is_records && t >= SUM_THREADS) raise_flag(p, t - SUM_THREADS, exchange);
  __syncthreads();
  if (t == HALO_THREADS - 1) {
    count_exchange(p, exchange);
    if (!is_records && !are_sent) {
      __threadfence_system();
      if (is_last(&p.now->sent))
        for (int r = 0; r < p.size; r++) raise_flag(p, r, exchange);
    }
  }
  if (adds) sum_by_block(p, sums, then, exchange);
  if (adds && !is_alone) return;
  bool in_time = is_records ? receive_records(p, buffer, exchange, k, step, halo)
                            : receive_elements(p, buffer, exchange, k, step, halo);
  if (t == 0 && !in_time) give_up(p);
}

/* ---- Memory that other processes write ---- */

/* cudaMalloc gives processes all of 2 MB where they share a smaller block. */
enum { SHARED_UNIT = 2 << 20 };

/* It is zeroed before any other card writes there. */
static wr_status take_block(wr_env *env, int64_t bytes, const char *what, void **block, cudaIpcMemHandle_t *handle) {
  cudaStream_t stream = (cudaStream_t)env->stream;
  PASS(wr_device_alloc_shared(env, block, (bytes + SHARED_UNIT - 1) / SHARED_UNIT * SHARED_UNIT, 1, what));
  PASS(WR_CUDA(cudaMemsetAsync(*block, 0, (size_t)bytes, stream)));
  PASS(WR_CUDA(cudaStreamSynchronize(stream)));
  return WR_CUDA(cudaIpcGetMemHandle(handle, *block));
}

/* theirs[size] := a zeroed block of each part in this one's addresses, that of this part being its own. */
static wr_status share(wr_peers *peers, wr_env *env, int64_t bytes, const char *what, void **theirs) {
  wr_status status;
  wr_comm *comm = peers->comm;
  cudaIpcMemHandle_t handle = {}, *all = NULL;
  memset(theirs, 0, (size_t)comm->size * sizeof *theirs);
  status = wr_alloc(&all, comm->size, sizeof *all, what);
  if (status == WR_OK) status = take_block(env, bytes, what, &theirs[comm->rank], &handle);
  TRY(wr_comm_agree(comm, status));
  TRY(comm->ops->gather(comm, what, &handle, sizeof handle, all));
  for (int r = 0; r < comm->size && status == WR_OK; r++)
    if (r != comm->rank) status = WR_CUDA(cudaIpcOpenMemHandle(&theirs[r], all[r], cudaIpcMemLazyEnablePeerAccess));
  TRY(wr_comm_agree(comm, status));
done:
  wr_free(all);
  return status;
}

static void unshare(const wr_peers *peers, void **theirs) {
  const int rank = peers->comm->rank;
  if (cudaSetDevice(peers->device) != cudaSuccess) (void)cudaGetLastError();
  for (int r = 0; r < peers->comm->size; r++) {
    if (r != rank && theirs[r] && cudaIpcCloseMemHandle(theirs[r]) != cudaSuccess) (void)cudaGetLastError();
    if (r == rank) wr_device_free_shared(peers->device, theirs[r]);
    theirs[r] = NULL;
  }
}

/* ---- Opening ---- */

/* WR_EUNAVAILABLE with the reason why the cards of all parts cannot write to each other's memory. */
static wr_status check_reach(const wr_env *env) {
  const wr_comm *comm = env->comm;
  int first = env->device - comm->neighbour;
  if (comm->neighbours != comm->size) return wr_fail(WR_EUNAVAILABLE, "the parts are on several machines");
  if (comm->size > WR_MOST_PEERS)
    return wr_fail(WR_EUNAVAILABLE, "there are more than %d parts on this machine", WR_MOST_PEERS);
  for (int r = 0; r < comm->size; r++) {
    int reaches = r == comm->neighbour;
    if (!reaches) PASS(WR_CUDA(cudaDeviceCanAccessPeer(&reaches, env->device, first + r)));
    if (!reaches)
      return wr_fail(WR_EUNAVAILABLE, "CUDA device %d does not reach the memory of device %d", env->device, first + r);
  }
  return WR_OK;
}

static wr_status open_counts(wr_env *env, wr_peers *peers) {
  wr_comm *comm = env->comm;
  wr_status status = wr_device_alloc_shared(env, &peers->view.now, 1, sizeof *peers->view.now, "exchanges of parts");
  if (status == WR_OK)
    status = WR_CUDA(cudaMemsetAsync(peers->view.now, 0, sizeof *peers->view.now, (cudaStream_t)env->stream));
  if (status == WR_OK) status = wr_pinned_alloc(&peers->view.told, sizeof *peers->view.told, "exchanges of parts");
  PASS(wr_comm_agree(comm, status));
  peers->view.told->broken = 0;
  peers->view.rank = comm->rank, peers->view.size = comm->size;
  peers->view.patience = (uint64_t)(comm->patience * 1e9);
  return WR_OK;
}

static wr_status open_mailboxes(wr_env *env, wr_peers *peers) {
  void *boxes[WR_MOST_PEERS];
  PASS(wr_comm_agree(env->comm, check_reach(env)));
  PASS(open_counts(env, peers));
  wr_status status = share(peers, env, sizeof(mailbox), "exchanges of parts", boxes);
  for (int r = 0; r < env->comm->size; r++) peers->view.box[r] = (mailbox *)boxes[r];
  return status;
}

static wr_status open_nccl(wr_env *env, wr_peers *peers) {
  wr_status status = wr_device_alloc_shared(env, &peers->gathered, (1 + env->comm->size) * (int64_t)RECORDS,
                                            sizeof *peers->gathered, "sums of parts");
  PASS(wr_comm_agree(env->comm, status));
  PASS(open_counts(env, peers));
  return wr_nccl_open(env, &peers->nccl);
}

static wr_status open_by(wr_env *env, wr_exchange way, wr_peers **out) {
  wr_status status;
  wr_peers *peers = NULL;
  TRY(wr_comm_agree(env->comm, wr_alloc_zeroed(&peers, 1, sizeof *peers, "exchanges of parts")));
  peers->comm = env->comm, peers->device = env->device;
  TRY((way == WR_EXCHANGE_NCCL ? open_nccl : open_mailboxes)(env, peers));
  *out = peers, peers = NULL;
done:
  wr_peers_close(peers);
  return status;
}

/* Where no way was asked for, one that all parts fail to open gives way to the next, and the last to their hosts. */
extern "C" wr_status wr_peers_open(wr_env *env, wr_peers **out) {
  static const wr_exchange ways[] = {WR_EXCHANGE_PEERS, WR_EXCHANGE_NCCL};
  *out = NULL;
  for (wr_exchange way : ways) {
    if (env->exchange != WR_EXCHANGE_AUTO && env->exchange != way) continue;
    wr_status status = open_by(env, way, out);
    int must = env->exchange != WR_EXCHANGE_AUTO || status == WR_ENOMEM || env->comm->broken.status != WR_OK;
    if (status == WR_OK || must) return status;
  }
  return WR_OK;
}

extern "C" void wr_peers_close(wr_peers *peers) {
  void *boxes[WR_MOST_PEERS];
  if (peers == NULL) return;
  for (int r = 0; r < peers->comm->size && r < WR_MOST_PEERS; r++) boxes[r] = peers->view.box[r];
  if (peers->gathered == NULL) unshare(peers, boxes);
  wr_nccl_close(peers->nccl);
  wr_device_free_shared(peers->device, peers->gathered);
  wr_device_free_shared(peers->device, peers->view.now);
  wr_pinned_free(peers->view.told);
  for (loop_entry *e = peers->entries, *next; e; e = next) next = e->next, wr_free(e);
  wr_free(peers);
}

extern "C" wr_exchange wr_peers_exchange(const wr_peers *peers) {
  return peers == NULL ? WR_EXCHANGE_HOSTS : peers->nccl ? WR_EXCHANGE_NCCL : WR_EXCHANGE_PEERS;
}

/* ---- Sums ---- */

static wr_status sum_by_nccl(wr_peers *peers, wr_env *env, const sum_work &w, const wr_step_work &step) {
  double *mine = peers->gathered, *all = mine + RECORDS;
  PASS(WR_LAUNCH_EARLY(env, (pack_sums), 1, 32, 0, peers->view, w, mine));
  PASS(wr_nccl_gather(peers->nccl, env, mine, RECORDS * sizeof *mine, all));
  return WR_LAUNCH_EARLY(env, (add_sums), 1, 32, 0, peers->view, w, (const double *)all, step);
}

/* *w, *step := for a sum, with the write counts of what it changes; env->then_done. */
static wr_status prepare_sum(const wr_peers *peers, wr_env *env, const wr_reduction *reduce, int most,
                             const wr_then *then, sum_work *w, wr_step_work *step) {
  for (int k = 0; k < most; k++) {
    if (reduce[k].kind == WR_NO_REDUCTION) continue;
    w->sum[w->count++] = (double *)reduce[k].into.bank->data + reduce[k].into.index;
    reduce[k].into.bank->writes++;
  }
  if (((wr_cuda_state *)env->state)->go.stop) w->stop = peers->stop; /* while a loop is recorded */
  int runs_step = w->count > 0 && then->step && then->step->bit;
  if (runs_step) {
    PASS(wr_step_check(env, then));
    *step = wr_step_work_of(env, *then);
    then->bank->writes++;
    if (then->log) then->log->writes++;
  }
  env->then_done = runs_step;
  return WR_OK;
}

extern "C" wr_status wr_peers_sum(wr_peers *peers, wr_env *env, const wr_reduction *reduce, int most, wr_scalar when,
                                  const wr_then *then) {
  sum_work w = {};
  wr_step_work step = {};
  PASS(wr_cuda_enter_now(env));
  PASS(prepare_sum(peers, env, reduce, most, then, &w, &step));
  if (when.bank) w.when = (const double *)when.bank->data + when.index;
  if (w.count == 0) return WR_OK;
  if (peers->nccl) return sum_by_nccl(peers, env, w, step);
  return WR_LAUNCH_EARLY(env, (sum_over_parts), 1, SUM_THREADS, 0, peers->view, w, step);
}

/* ---- Loops ---- */

static wr_status exchange_now(wr_peer_halo *h, wr_env *env, const wr_vec *x, const wr_vec *wide, int ahead);

static void forget_complete(wr_peers *peers) { peers->complete.halo = NULL; }

static loop_entry **find_entry(wr_peers *peers, const wr_loop *loop) {
  loop_entry **at = &peers->entries;
  while (*at && (*at)->loop != loop) at = &(*at)->next;
  return at;
}

extern "C" wr_status wr_peers_loop_open(wr_peers *peers, wr_env *env, const wr_vecops *of_place,
                                        const wr_loop_request *request, wr_loop **loop) {
  wr_cuda_state *state = (wr_cuda_state *)env->state;
  wr_loop_request mine = *request;
  loop_entry *entry;
  mine.needs_conditions = 1;
  PASS(wr_alloc_zeroed(&entry, 1, sizeof *entry, "exchanges of parts"));
  wr_status status = of_place->loop_open(env, &mine, loop);
  if (status != WR_OK) {
    wr_free(entry);
    return status;
  }
  entry->loop = *loop, entry->next = peers->entries, peers->entries = peers->recorded = entry;
  peers->stop = state->go.stop;
  state->go.stop = &peers->view.now->agreed;
  forget_complete(peers);
  return WR_OK;
}

/* What was recorded has not happened. */
extern "C" wr_status wr_peers_loop_close(wr_peers *peers, wr_env *env, const wr_vecops *of_place, wr_loop *loop) {
  const loop_entry *entry = peers->recorded;
  bool is_closed =
      entry->halo == NULL || (peers->complete.halo == entry->halo && peers->complete.data == entry->x.data);
  peers->recorded = NULL;
  forget_complete(peers);
  PASS(of_place->loop_close(env, loop));
  return is_closed ? WR_OK
                   : wr_fail(WR_EUNAVAILABLE, "a loop in parts does not end with the vector that it begins with");
}

extern "C" wr_status wr_peers_loop_run(wr_peers *peers, wr_env *env, const wr_vecops *of_place, wr_loop *loop) {
  loop_entry *entry = *find_entry(peers, loop);
  if (entry && entry->halo) PASS(exchange_now(entry->halo, env, &entry->x, &entry->x, 1));
  forget_complete(peers);
  return of_place->loop_run(env, loop);
}

extern "C" void wr_peers_loop_free(wr_peers *peers, wr_env *env, const wr_vecops *of_place, wr_loop *loop) {
  loop_entry **at = find_entry(peers, loop), *entry = *at;
  if (entry) {
    *at = entry->next;
    if (peers->recorded == entry) peers->recorded = NULL, forget_complete(peers);
    wr_free(entry);
  }
  of_place->loop_free(env, loop);
}

extern "C" wr_status wr_peers_await(wr_peers *peers, wr_env *env) {
  return peers->nccl ? wr_nccl_wait(peers->nccl, env) : WR_OK;
}

extern "C" wr_status wr_peers_check(wr_peers *peers) {
  return peers->view.told->broken ? wr_comm_late(peers->comm, "an exchange between cards") : WR_OK;
}

extern "C" wr_status wr_peers_count_waiting(wr_peers *peers, wr_env *env) {
  unsigned long long waited = 0;
  PASS(wr_peers_await(peers, env));
  PASS(wr_cuda_enter(env));
  PASS(WR_CUDA(cudaMemcpyAsync(&waited, &peers->view.now->waited, sizeof waited, cudaMemcpyDeviceToHost,
                               (cudaStream_t)env->stream)));
  PASS(WR_CUDA(cudaStreamSynchronize((cudaStream_t)env->stream)));
  peers->comm->waited += 1e-9 * (double)(waited - peers->waited);
  peers->waited = waited;
  return WR_OK;
}

/* ---- Halos ---- */

struct wr_peer_halo {
  wr_peers *peers;
  const wr_halo *halo;
  void *come[WR_MOST_PEERS];     /* the buffer of each part: [count] of its halo, or [2][count] records */
  int64_t at[WR_MOST_PEERS];     /* where in them the elements of this part belong ...                  */
  int64_t counts[WR_MOST_PEERS]; /* ... and the count of each part                                      */
  int uses_records;
  int32_t *send;      /* [halo->to[size]] on the device, or NULL                             */
  wr_outbox *outbox;  /* on the device; NULL: elements are sent by exchanges alone           */
  wr_outbox_word *words; /* of the outbox                                                    */
  void *packed;       /* by NCCL: [halo->to[size]] elements to send; NULL: all of x is sent  */
  wr_parcel *parcels; /* by NCCL: [2 * size]                                                  */
};

/* Each part says how many elements its halo has, and where it wants those of each other. All use records if none has many. */
static wr_status find_places(wr_peer_halo *h) {
  wr_status status;
  wr_comm *comm = h->peers->comm;
  int64_t mine[WR_MOST_PEERS + 1] = {}, *all = NULL, most = 0;
  const int width = WR_MOST_PEERS + 1;
  for (int r = 0; r < comm->size; r++) mine[r] = h->halo->from[r];
  mine[WR_MOST_PEERS] = h->halo->count;
  TRY(wr_comm_agree(comm, wr_alloc(&all, comm->size * (int64_t)width, sizeof *all, "places of halos")));
  TRY(comm->ops->gather(comm, "places of halos", mine, sizeof mine, all));
  for (int r = 0; r < comm->size; r++) {
    h->at[r] = all[r * width + comm->rank], h->counts[r] = all[r * width + WR_MOST_PEERS];
    most = h->counts[r] > most ? h->counts[r] : most;
  }
  h->uses_records = most <= MOST_RECORDS;
done:
  wr_free(all);
  return status;
}

static int64_t element_bytes(const wr_peer_halo *h, wr_type type) {
  return h->uses_records ? (int64_t)sizeof(wr_record) : wr_type_bytes(type);
}

/* The buffers into which the other cards write. */
static wr_status open_buffers(wr_peer_halo *h, wr_env *env) {
  PASS(find_places(h));
  int64_t bytes = 2 * h->halo->count * element_bytes(h, env->type);
  return share(h->peers, env, bytes > 0 ? bytes : 1, "the halo", h->come);
}

/* words[count] := of the elements that are sent to part r. */
static void fill_words(const wr_halo *halo, int r, int64_t count, wr_outbox_word *words) {
  uint32_t before = 0;
  const int32_t *list = halo->whole ? NULL : halo->send + halo->to[r];
  int64_t sends = halo->whole ? halo->own : halo->to[r + 1] - halo->to[r];
  memset(words, 0, (size_t)count * sizeof *words);
  for (int64_t k = 0; k < sends; k++) {
    int64_t i = list ? list[k] : k;
    words[i / 32].needed |= 1u << i % 32;
  }
  for (int64_t w = 0; w < count; w++) {
    words[w].before = before;
    for (uint32_t bits = words[w].needed; bits; bits &= bits - 1) before++;
  }
}

/* h->outbox, unless other parts need few of the elements, since a multiply looks at each row. Not collective. */
static wr_status open_outbox(wr_peer_halo *h, wr_env *env) {
  const wr_halo *halo = h->halo;
  const int64_t count = halo->own / 32 + 1;
  int64_t sends = halo->whole ? halo->own : halo->to[h->peers->view.size];
  if (h->peers->view.size < 2 || sends < halo->own / LEAST_SHARE) return WR_OK;
  wr_status status;
  wr_outbox box = {};
  wr_outbox_word *words = NULL;
  const parts_view &view = h->peers->view;
  TRY(wr_alloc(&words, count * view.size, sizeof *words, "the halo"));
  TRY(wr_device_alloc_shared(env, &h->words, count * view.size, sizeof *h->words, "the halo"));
  box.uses_records = h->uses_records, box.exchange = &view.now->exchange;
  for (int r = 0; r < view.size; r++) {
    if (r == view.rank) continue;
    char *to = (char *)h->come[r] + h->at[r] * element_bytes(h, env->type);
    fill_words(halo, r, count, words + box.parts * count);
    box.part[box.parts] = {h->words + box.parts * count, {to, to + h->counts[r] * element_bytes(h, env->type)}};
    box.parts++;
  }
  TRY(wr_device_upload(env, h->words, words, 2 * box.parts * count, WR_AS_4_BYTES));
  TRY(wr_device_alloc_shared(env, &h->outbox, 1, sizeof *h->outbox, "the halo"));
  TRY(WR_CUDA(cudaMemcpyAsync(h->outbox, &box, sizeof box, cudaMemcpyHostToDevice, (cudaStream_t)env->stream)));
  TRY(WR_CUDA(cudaStreamSynchronize((cudaStream_t)env->stream)));
done:
  wr_free(words);
  return status;
}

extern "C" wr_status wr_peer_halo_open(wr_peers *peers, wr_env *env, const wr_halo *halo, wr_peer_halo **out) {
  wr_status status;
  wr_peer_halo *h = NULL;
  const int size = peers->comm->size;
  int64_t listed = halo->whole ? 0 : halo->to[size];
  *out = NULL;
  status = wr_alloc_zeroed(&h, 1, sizeof *h, "the halo");
  if (status == WR_OK) h->peers = peers, h->halo = halo;
  if (status == WR_OK && listed > 0) {
    status = wr_device_alloc_shared(env, &h->send, listed, sizeof *h->send, "the halo");
    if (status == WR_OK) status = wr_device_upload(env, h->send, halo->send, listed, WR_AS_4_BYTES);
  }
  if (status == WR_OK && listed > 0 && peers->nccl)
    status = wr_device_alloc_shared(env, &h->packed, listed, (size_t)wr_type_bytes(env->type), "the halo");
  if (status == WR_OK && peers->nccl) status = wr_alloc_zeroed(&h->parcels, 2 * size, sizeof *h->parcels, "the halo");
  TRY(wr_comm_agree(peers->comm, status));
  if (peers->nccl == NULL) TRY(open_buffers(h, env));
  if (peers->nccl == NULL) TRY(wr_comm_agree(peers->comm, open_outbox(h, env)));
  *out = h, h = NULL;
done:
  wr_peer_halo_close(h);
  return status;
}

extern "C" void wr_peer_halo_close(wr_peer_halo *h) {
  if (h == NULL) return;
  if (h->peers->complete.halo == h) forget_complete(h->peers);
  if (h->peers->nccl == NULL) unshare(h->peers, h->come);
  wr_device_free_shared(h->peers->device, h->send);
  wr_device_free_shared(h->peers->device, h->packed);
  wr_device_free_shared(h->peers->device, h->outbox);
  wr_device_free_shared(h->peers->device, h->words);
  wr_free(h->parcels);
  wr_free(h);
}

static void add_stretch(send_work *w, void *to, const int32_t *list, int64_t count, int64_t odd, int is_records) {
  if (count <= 0) return;
  int64_t before = w->count ? w->part[w->count - 1].end : 0;
  w->part[w->count++] = {to, list, before + count, odd, is_records};
}

static send_work plan_send(const wr_peer_halo *h, const wr_vec *x, const wr_vec *wide) {
  const wr_halo *halo = h->halo;
  int64_t size = element_bytes(h, x->type);
  send_work w = {};
  for (int r = 0; r < h->peers->comm->size; r++) {
    if (r == h->peers->comm->rank) continue;
    const int32_t *list = halo->whole ? NULL : h->send + halo->to[r];
    int64_t count = halo->whole ? halo->own : halo->to[r + 1] - halo->to[r];
    add_stretch(&w, (char *)h->come[r] + h->at[r] * size, list, count, h->counts[r], h->uses_records);
  }
  if (wide->data != x->data) add_stretch(&w, wide->data, NULL, halo->own, 0, 0);
  return w;
}

/* So many blocks as have work for all threads, at most those that run at the same time. */
static unsigned grid_of(const wr_env *env, int64_t elements) {
#ifdef WR_SIMT
  (void)env, (void)elements;
  return 1; /* blocks run one after another */
#else
  return wr_cuda_grid(env, (elements + HALO_THREADS - 1) / HALO_THREADS, HALO_BLOCKS);
#endif
}

static halo_buffer buffer_of(const wr_peer_halo *h) { return {h->come[h->peers->view.rank], h->halo->count}; }

template <class T>
static wr_status exchange(wr_peer_halo *h, wr_env *env, const wr_vec *x, const wr_vec *wide, int ahead) {
  const parts_view &view = h->peers->view;
  const send_work w = plan_send(h, x, wide);
  const T *from = (const T *)x->data;
  T *halo = (T *)wide->data + h->halo->own;
  int64_t sends = w.count ? w.part[w.count - 1].end : 0, count = h->halo->count;
  unsigned grid = grid_of(env, sends > count ? sends : count);
  if (h->uses_records)
    return WR_LAUNCH_EARLY(env, (exchange_records<T>), grid, HALO_THREADS, 0, view, w, from, ahead, buffer_of(h), halo);
  return WR_LAUNCH_EARLY(env, (exchange_halo<T>), grid, HALO_THREADS, 0, view, w, from, ahead, buffer_of(h), halo);
}

template <class T>
static wr_status exchange_by_nccl(wr_peer_halo *h, wr_env *env, const wr_vec *x, const wr_vec *wide) {
  const wr_halo *halo = h->halo;
  const int size = h->peers->comm->size, rank = h->peers->comm->rank;
  const int64_t sends = h->packed ? halo->to[size] : 0;
  wr_parcel *send = h->parcels, *receive = send + size;
  T *from = (T *)x->data, *packed = (T *)h->packed, *into = (T *)wide->data + halo->own;
  if (sends > 0) {
    unsigned grid = wr_cuda_grid(env, (sends + HALO_THREADS - 1) / HALO_THREADS, HALO_BLOCKS);
    PASS(WR_LAUNCH_EARLY(env, (pack_elements<T>), grid, HALO_THREADS, 0, (const int32_t *)h->send, sends,
                         (const T *)from, packed));
  }
  if (wide->data != x->data)
    PASS(WR_CUDA(cudaMemcpyAsync(wide->data, x->data, (size_t)halo->own * sizeof(T), cudaMemcpyDeviceToDevice,
                                 (cudaStream_t)env->stream)));
  for (int r = 0; r < size; r++) {
    int64_t out = halo->whole ? halo->own : halo->to[r + 1] - halo->to[r], in = halo->from[r + 1] - halo->from[r];
    send[r] = receive[r] = {};
    if (r == rank) continue;
    send[r] = {halo->whole ? from : packed + halo->to[r], out * (int64_t)sizeof(T)};
    receive[r] = {into + halo->from[r], in * (int64_t)sizeof(T)};
  }
  return wr_nccl_swap(h->peers->nccl, env, send, receive);
}

static wr_status exchange_now(wr_peer_halo *h, wr_env *env, const wr_vec *x, const wr_vec *wide, int ahead) {
  PASS(wr_cuda_enter_now(env));
  forget_complete(h->peers);
  if (h->peers->nccl)
    return env->type == WR_F32 ? exchange_by_nccl<float>(h, env, x, wide) : exchange_by_nccl<double>(h, env, x, wide);
  return env->type == WR_F32 ? exchange<float>(h, env, x, wide, ahead) : exchange<double>(h, env, x, wide, ahead);
}

extern "C" const wr_outbox *wr_peer_halo_outbox(const wr_peer_halo *h) { return h->outbox; }

/* x has its halo behind it. */
static bool is_complete(const wr_peer_halo *h, const wr_vec *x) {
  const auto &of = h->peers->complete;
  return of.halo == h && of.data == x->data && of.id == x->id && of.writes == x->writes;
}

extern "C" wr_status wr_peer_halo_exchange(wr_peer_halo *h, wr_env *env, const wr_vec *x, wr_vec *wide, int ahead) {
  loop_entry *entry = h->peers->recorded;
  bool is_first = entry && !entry->has_exchange;
  wide->writes++;
  if (wide->data == x->data && is_complete(h, x)) return WR_OK;
  if (is_first) entry->has_exchange = 1;
  if (is_first && ahead && wide->data == x->data) {
    entry->halo = h, entry->x = *x;
    return WR_OK;
  }
  return exchange_now(h, env, x, wide, ahead);
}

template <class T>
static wr_status sum_and_exchange_now(wr_peer_halo *h, wr_env *env, const sum_work &sums, const wr_step_work &step,
                                      int sent, const wr_vec *y) {
  const send_work none = {}, w = sent ? none : plan_send(h, y, y);
  const int64_t sends = w.count ? w.part[w.count - 1].end : 0, count = h->halo->count, most = sends > count ? sends : count;
  const unsigned grid = most <= HALO_THREADS ? 1 : grid_of(env, most + HALO_THREADS);
  return WR_LAUNCH_EARLY(env, (sum_and_exchange<T>), grid, HALO_THREADS, 0, h->peers->view, sums, step, w,
                         (const T *)y->data, buffer_of(h), h->uses_records != 0, (T *)y->data + h->halo->own);
}

extern "C" wr_status wr_peer_halo_sum(wr_peer_halo *h, wr_env *env, const wr_reduction *reduce, int most,
                                      const wr_then *then, int sent, const wr_vec *y) {
  sum_work sums = {};
  wr_step_work step = {};
  PASS(wr_cuda_enter_now(env));
  PASS(prepare_sum(h->peers, env, reduce, most, then, &sums, &step));
  PASS(env->type == WR_F32 ? sum_and_exchange_now<float>(h, env, sums, step, sent, y)
                           : sum_and_exchange_now<double>(h, env, sums, step, sent, y));
  h->peers->complete = {h, y->id, y->writes, y->data};
  return WR_OK;
}
