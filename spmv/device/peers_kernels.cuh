/* Kernels by which cards exchange sums and halos, and what they read and write: a mailbox on each card, into which the others
 * write (kernel/peer.cuh), and the buffers of halos. Of peers_cuda.cu.
 *
 * Exchanges of halos are counted from 0 on, those of all halos together. Of the two buffers of a halo one is for even exchanges
 * and one for odd ones. So a part may send the elements of exchange e once all others have done exchange e - 2:
 *   - by an exchange of its own: its kernel waits for that;
 *   - before exchange e, from a multiply (outbox.cuh): either that follows an exchange e - 1 whose kernel has waited until
 *     the others had done e - 2 (`ahead`), or exchange e - 1 was received beside a sum, which each part begins once it has done
 *     e - 2. */
#ifndef WR_PEERS_KERNELS_CUH
#define WR_PEERS_KERNELS_CUH

#include "spmv/device/peers.h"
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
  unsigned long long waited[2]; /* nanoseconds in sums and for elements of halos               */
  unsigned long long added;     /* when the last sum was there                                 */
  unsigned long long came[2];   /* when the elements of even and odd exchanges beside a sum were there */
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

static __device__ inline void give_up(const parts_view &p) {
  p.now->broken = 1, p.now->agreed = 1;
  p.told->broken = 1;
}

/* Of counts::waited. */
enum { IN_SUMS, FOR_ELEMENTS };

static __device__ inline void count_waiting(const parts_view &p, int what, uint64_t begin) {
  p.now->waited[what] += wr_peer_clock() - begin;
}

/* What the elements of the exchange before came later than the sum beside it. By the next sum. */
static __device__ inline void count_late_elements(const parts_view &p, uint32_t exchange) {
  uint64_t added = p.now->added, came = p.now->came[(exchange - 1) % 2];
  if (came > added) p.now->waited[FOR_ELEMENTS] += came - added;
}

typedef struct sum_work {
  int count; /* sums                                          */
  double *sum[WR_FUSED_REDUCTIONS];
  const double *when;   /* NULL, or 0 there: no sums                     */
  const unsigned *stop; /* not 0: this part wants to stop. NULL: no loop */
} sum_work;

/* By all threads of a block: the sums of all parts and the step. Thread r * RECORDS + k hands record k over to part r, and
 * waits for record k of part r. exchange: so many have been done. */
static __device__ inline void sum_by_block(const parts_view &p, const sum_work &w, const wr_step_work &then,
                                           uint32_t exchange) {
  WR_SHARED(double, value, SUM_THREADS);
  WR_SHARED(unsigned, stops, WR_MOST_PEERS);
  int t = (int)threadIdx.x, r = t / RECORDS, k = t % RECORDS;
  double when = w.when ? *w.when : 1, own = r < p.size && k < w.count ? *w.sum[k] : 0; /* all loads at once */
  uint32_t round = p.now->round + 1;
  unsigned broken = p.now->broken, wants = w.stop ? *(const volatile unsigned *)w.stop : 0;
  bool adds = when != 0 && broken == 0;
  bool is_part = adds && r < p.size && (k < w.count || k == CONTROL), late = false;
  uint64_t bits = 0, begin = wr_peer_clock();
  if (k < w.count) bits = (uint64_t)__double_as_longlong(own);
  if (k == CONTROL) bits = (uint64_t)exchange << 32 | wants;
  if (is_part) wr_record_post<true>(&p.box[r]->sums[round % 2][p.rank][k], bits, round);
  __syncthreads();
  if (is_part)
    late = !wr_peer_wait(p.patience,
                         [&] { return wr_record_read<true>(&p.box[p.rank]->sums[round % 2][r][k], round, &bits); });
  if (is_part && k == CONTROL) stops[r] = (unsigned)bits, p.now->done[r] = (uint32_t)(bits >> 32);
  if (is_part && k < w.count) value[t] = __longlong_as_double((long long)bits);
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
    count_late_elements(p, exchange);
    count_waiting(p, IN_SUMS, begin);
    p.now->added = wr_peer_clock();
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
    pack_sums(WR_KERNEL_PARAMETER parts_view p, WR_KERNEL_PARAMETER sum_work w, double *sums) {
  wr_begin_kernel();
  if ((int)threadIdx.x < w.count) sums[threadIdx.x] = *w.sum[threadIdx.x];
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
  if (t == 0) count_waiting(p, IN_SUMS, p.now->began);
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
  int64_t end; /* the elements of all stretches up to this one                            */
  int64_t odd; /* to another part: so many elements further in odd exchanges. 0: on this card */
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
template <bool RECORDS_GO, class T>
static __device__ inline void send_elements(const send_work &w, const T *x, bool has, int64_t step, uint32_t exchange,
                                            sender<T> &at) {
  for (; has; at.k += step, has = read_element(w, x, at)) {
    const stretch &part = w.part[at.s];
    int64_t place = at.k - at.begin + exchange % 2 * part.odd;
    if (RECORDS_GO && part.odd > 0)
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

/* Threads k, k + step, ... of a block that all call it: halo[count] := what has come. As records, for each of which a thread
 * waits, or as elements, which are there once all others have raised a flag behind them. false: in vain. */
template <bool RECORDS_GO, class T>
static __device__ inline bool receive(const parts_view &p, const halo_buffer &b, uint32_t exchange, int64_t k,
                                      int64_t step, T *halo) {
  const int t = (int)threadIdx.x;
  const int64_t first = exchange % 2 * b.count;
  bool broken = p.now->broken != 0, late = RECORDS_GO && broken;
  if constexpr (RECORDS_GO) {
    const wr_record *come = (const wr_record *)b.come + first;
    for (; k < b.count && !late; k += step) {
      uint64_t bits = 0;
      late = !wr_peer_wait(p.patience, [&] { return wr_record_read<true>(&come[k], exchange + 1, &bits); });
      from_bits(bits, &halo[k]);
    }
    return !__syncthreads_or(late);
  }
  if (!broken && t < p.size && t != p.rank)
    late =
        !wr_peer_wait(p.patience, [&] { return (int32_t)(wr_peer_acquire(&p.box[p.rank]->sent[t]) - exchange) > 0; });
  late = __syncthreads_or(late);
  const T *come = (const T *)b.come + first;
  for (; k + 3 * step < b.count; k += 4 * step) { /* four loads are in flight at a time */
    const T e[4] = {__ldcg(come + k), __ldcg(come + k + step), __ldcg(come + k + 2 * step),
                    __ldcg(come + k + 3 * step)};
    for (int j = 0; j < 4; j++) halo[k + j * step] = e[j];
  }
  for (; k < b.count; k += step) halo[k] = __ldcg(come + k);
  return !late;
}

/* Says to part r that all elements for it are there which this thread, and those that it has waited for, have sent. */
static __device__ inline void raise_flag(const parts_view &p, int r, uint32_t exchange) {
  if (r < p.size && r != p.rank) wr_peer_release(&p.box[r]->sent[p.rank], exchange + 1);
}

/* By one thread of each block, behind a __syncthreads: all flags once every block has sent its elements, which are with the
 * others before. */
static __device__ inline void raise_flags_behind(const parts_view &p, uint32_t exchange) {
  __threadfence_system();
  if (!is_last(&p.now->sent)) return;
  for (int r = 0; r < p.size; r++) raise_flag(p, r, exchange);
}

/* A halo goes to the others, and halo[count] := what has come. Few elements travel as records, without flags and fences.
 * ahead: 1: those of the next exchange may be sent before that exchange. All blocks must run at the same time. */
template <bool RECORDS_GO, class T>
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
  send_elements<RECORDS_GO>(w, x, has && !late, step, exchange, at);
  __syncthreads();
  if (t == 0) count_exchange(p, exchange);
  if constexpr (!RECORDS_GO) {
    if (t == 0) raise_flags_behind(p, exchange);
    __syncthreads(); /* the flags are raised before any thread waits */
  }
  uint64_t begin = wr_peer_clock();
  late = !receive<RECORDS_GO>(p, buffer, exchange, first, step, halo) || late;
  if (t == 0 && blockIdx.x == 0) count_waiting(p, FOR_ELEMENTS, begin);
  if (t == 0 && late) give_up(p);
}

/* An exchange beside a sum over all parts, which the first block does, or where there is one, that block before it receives.
 * The others have room for the elements; kernels before may have sent them, so that w has none. All blocks must run at the
 * same time. */
template <bool RECORDS_GO, class T>
__global__ void __launch_bounds__(HALO_THREADS, HALO_BLOCKS)
    sum_and_exchange(WR_KERNEL_PARAMETER parts_view p, WR_KERNEL_PARAMETER sum_work sums,
                     WR_KERNEL_PARAMETER wr_step_work then, WR_KERNEL_PARAMETER send_work w, const T *y,
                     WR_KERNEL_PARAMETER halo_buffer buffer, T *halo) {
  wr_begin_kernel();
  const int t = (int)threadIdx.x;
  const bool adds = blockIdx.x == 0, is_alone = gridDim.x == 1, are_sent = w.count == 0;
  const int64_t block = is_alone ? 0 : (int64_t)blockIdx.x - 1, blocks = is_alone ? 1 : gridDim.x - 1;
  const int64_t k = block * HALO_THREADS + t, step = blocks * HALO_THREADS;
  const uint32_t exchange = p.now->exchange;
  if (!adds || is_alone) {
    sender<T> at = {};
    at.k = k;
    bool has = read_element(w, y, at);
    send_elements<RECORDS_GO>(w, y, has, step, exchange, at);
  }
  if (!RECORDS_GO && are_sent && adds && t >= SUM_THREADS) raise_flag(p, t - SUM_THREADS, exchange);
  __syncthreads();
  if (t == HALO_THREADS - 1) {
    count_exchange(p, exchange);
    if (!RECORDS_GO && !are_sent) raise_flags_behind(p, exchange);
  }
  if (adds) sum_by_block(p, sums, then, exchange);
  if (adds && !is_alone) return;
  bool in_time = receive<RECORDS_GO>(p, buffer, exchange, k, step, halo);
  if (t == 0 && block == 0) p.now->came[exchange % 2] = wr_peer_clock();
  if (t == 0 && !in_time) give_up(p);
}

#endif
