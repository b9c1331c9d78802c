/* Everything that cards exchange goes through a mailbox on each card, into which the others write (kernel/peer.cuh), and
 * through the buffers of halos; or by NCCL (nccl_exchange.h), which needs no mailbox. */
#include "spmv/device/peers.h"

#include <cuda_runtime.h>
#include <string.h>

#include <algorithm>

#include "config/memory.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"
#include "spmv/device/device_memory.h"
#include "spmv/device/nccl_exchange.h"
#include "spmv/device/peers_kernels.cuh"

/* Kernels that compute x send elements themselves if others need one of so many. */
enum { LEAST_SHARE = 8 };

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
  unsigned long long waited[2]; /* of now->waited, what comm has */
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
  status = wr_alloc_zeroed(&peers, 1, sizeof *peers, "exchanges of parts");
  if (peers) peers->comm = env->comm, peers->device = env->device; /* as closing needs them */
  TRY(wr_comm_agree(env->comm, status));
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
  unsigned long long waited[2] = {};
  PASS(wr_peers_await(peers, env));
  PASS(wr_cuda_enter(env));
  PASS(WR_CUDA(cudaMemcpyAsync(waited, peers->view.now->waited, sizeof waited, cudaMemcpyDeviceToHost,
                               (cudaStream_t)env->stream)));
  PASS(WR_CUDA(cudaStreamSynchronize((cudaStream_t)env->stream)));
  double in_sums = 1e-9 * (double)(waited[IN_SUMS] - peers->waited[IN_SUMS]);
  double for_elements = 1e-9 * (double)(waited[FOR_ELEMENTS] - peers->waited[FOR_ELEMENTS]);
  peers->comm->waited += in_sums + for_elements, peers->comm->waited_halo += for_elements;
  memcpy(peers->waited, waited, sizeof waited);
  return WR_OK;
}

/* ---- Halos ---- */

struct wr_peer_halo {
  wr_peers *peers;
  const wr_halo *halo;
  void *come[WR_MOST_PEERS];     /* the buffer of each part: [2][count] elements of its halo, or records */
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

/* Elements that part r, another one, gets. */
static int64_t sends_to(const wr_halo *halo, int r) {
  return halo->whole ? halo->own : halo->to[r + 1] - halo->to[r];
}

/* words[k * stride], zeroed, := of the elements that are sent to part r, k < count. */
static void fill_words(const wr_halo *halo, int r, int64_t count, int stride, wr_outbox_word *words) {
  uint32_t before = 0;
  const int32_t *list = halo->whole ? NULL : halo->send + halo->to[r];
  for (int64_t k = 0; k < sends_to(halo, r); k++) {
    int64_t i = list ? list[k] : k;
    words[i / 32 * stride].needed |= 1u << i % 32;
  }
  for (int64_t w = 0; w < count; w++) {
    words[w * stride].before = before;
    for (uint32_t bits = words[w * stride].needed; bits; bits &= bits - 1) before++;
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
  TRY(wr_alloc_zeroed(&words, count * (view.size - 1), sizeof *words, "the halo"));
  TRY(wr_device_alloc_shared(env, &h->words, count * (view.size - 1), sizeof *h->words, "the halo"));
  box.uses_records = h->uses_records, box.exchange = &view.now->exchange, box.words = h->words;
  for (int r = 0; r < view.size; r++) {
    if (r == view.rank) continue;
    char *to = (char *)h->come[r] + h->at[r] * element_bytes(h, env->type);
    fill_words(halo, r, count, view.size - 1, words + box.parts);
    box.to[box.parts][0] = to, box.to[box.parts][1] = to + h->counts[r] * element_bytes(h, env->type);
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

static int64_t elements_of(const send_work &w) { return w.count ? w.part[w.count - 1].end : 0; }

static void add_stretch(send_work *w, void *to, const int32_t *list, int64_t count, int64_t odd) {
  if (count <= 0) return;
  int64_t end = elements_of(*w) + count;
  w->part[w->count++] = {to, list, end, odd};
}

static send_work plan_send(const wr_peer_halo *h, const wr_vec *x, const wr_vec *wide) {
  const wr_halo *halo = h->halo;
  int64_t size = element_bytes(h, x->type);
  send_work w = {};
  for (int r = 0; r < h->peers->comm->size; r++) {
    if (r == h->peers->comm->rank) continue;
    const int32_t *list = halo->whole ? NULL : h->send + halo->to[r];
    add_stretch(&w, (char *)h->come[r] + h->at[r] * size, list, sends_to(halo, r), h->counts[r]);
  }
  if (wide->data != x->data) add_stretch(&w, wide->data, NULL, halo->own, 0);
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

template <class T>
static wr_status exchange(wr_peer_halo *h, wr_env *env, const wr_vec *x, const wr_vec *wide, int ahead) {
  const parts_view &view = h->peers->view;
  const send_work w = plan_send(h, x, wide);
  const T *from = (const T *)x->data;
  T *halo = (T *)wide->data + h->halo->own;
  const halo_buffer buffer = {h->come[view.rank], h->halo->count};
  unsigned grid = grid_of(env, std::max(elements_of(w), buffer.count));
  if (h->uses_records)
    return WR_LAUNCH_EARLY(env, (exchange_halo<true, T>), grid, HALO_THREADS, 0, view, w, from, ahead, buffer, halo);
  return WR_LAUNCH_EARLY(env, (exchange_halo<false, T>), grid, HALO_THREADS, 0, view, w, from, ahead, buffer, halo);
}

template <class T>
static wr_status exchange_by_nccl(wr_peer_halo *h, wr_env *env, const wr_vec *x, const wr_vec *wide) {
  const wr_halo *halo = h->halo;
  const int size = h->peers->comm->size, rank = h->peers->comm->rank;
  const int64_t sends = h->packed ? halo->to[size] : 0;
  wr_parcel *send = h->parcels, *receive = send + size;
  T *from = (T *)x->data, *packed = (T *)h->packed, *into = (T *)wide->data + halo->own;
  if (sends > 0) {
    PASS(WR_LAUNCH_EARLY(env, (pack_elements<T>), grid_of(env, sends), HALO_THREADS, 0, (const int32_t *)h->send, sends,
                         (const T *)from, packed));
  }
  if (wide->data != x->data)
    PASS(WR_CUDA(cudaMemcpyAsync(wide->data, x->data, (size_t)halo->own * sizeof(T), cudaMemcpyDeviceToDevice,
                                 (cudaStream_t)env->stream)));
  for (int r = 0; r < size; r++) {
    int64_t in = halo->from[r + 1] - halo->from[r];
    send[r] = receive[r] = {};
    if (r == rank) continue;
    send[r] = {halo->whole ? from : packed + halo->to[r], sends_to(halo, r) * (int64_t)sizeof(T)};
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
  const parts_view &view = h->peers->view;
  const send_work none = {}, w = sent ? none : plan_send(h, y, y);
  const T *from = (const T *)y->data;
  T *halo = (T *)y->data + h->halo->own;
  const halo_buffer buffer = {h->come[view.rank], h->halo->count};
  const int64_t most = std::max(elements_of(w), buffer.count);
  const unsigned grid = most <= HALO_THREADS ? 1 : grid_of(env, most + HALO_THREADS);
  if (h->uses_records)
    return WR_LAUNCH_EARLY(env, (sum_and_exchange<true, T>), grid, HALO_THREADS, 0, view, sums, step, w, from, buffer,
                           halo);
  return WR_LAUNCH_EARLY(env, (sum_and_exchange<false, T>), grid, HALO_THREADS, 0, view, sums, step, w, from, buffer,
                         halo);
}

extern "C" wr_status wr_peer_halo_sum(wr_peer_halo *h, wr_env *env, const wr_reduction *reduce, int most,
                                      const wr_then *then, int sent, const wr_vec *y) {
  sum_work sums = {};
  wr_step_work step = {};
  if (h->peers->nccl) return wr_peers_sum(h->peers, env, reduce, most, {}, then);
  PASS(wr_cuda_enter_now(env));
  PASS(prepare_sum(h->peers, env, reduce, most, then, &sums, &step));
  PASS(env->type == WR_F32 ? sum_and_exchange_now<float>(h, env, sums, step, sent, y)
                           : sum_and_exchange_now<double>(h, env, sums, step, sent, y));
  h->peers->complete = {h, y->id, y->writes, y->data};
  return WR_OK;
}
