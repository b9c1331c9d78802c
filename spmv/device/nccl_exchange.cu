#include "spmv/device/nccl_exchange.h"

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <sched.h>

#include "config/clock.h"
#include "config/memory.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"

/* The part of NCCL's interface that is used, as <nccl.h> declares it since version 2.7. */
enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7, NCCL_BYTES = 0 };
typedef struct nccl_id {
  char internal[128];
} nccl_id;

typedef struct nccl_calls {
  int (*get_id)(nccl_id *id);
  int (*open)(void **comm, int size, nccl_id id, int rank);
  int (*close)(void *comm);
  int (*abort)(void *comm);
  int (*failure)(void *comm, int *error);
  int (*all_gather)(const void *from, void *to, size_t count, int type, void *comm, cudaStream_t stream);
  int (*send)(const void *from, size_t count, int type, int to, void *comm, cudaStream_t stream);
  int (*receive)(void *to, size_t count, int type, int from, void *comm, cudaStream_t stream);
  int (*group_begin)(void);
  int (*group_end)(void);
  const char *(*error_text)(int error);
} nccl_calls;

struct wr_nccl {
  wr_comm *parts;
  nccl_calls call;
  void *comm; /* NULL: not open, or ended by a failure */
};

static wr_status check(const wr_nccl *n, int error, const char *what) {
  if (error == NCCL_SUCCESS || error == NCCL_IN_PROGRESS) return WR_OK;
  return wr_fail(WR_EDEVICE, "NCCL, %s: %s", what, n->call.error_text(error));
}

static wr_status load(wr_nccl *n) {
  const struct {
    const char *name;
    void *call;
  } names[] = {{"ncclGetUniqueId", &n->call.get_id},
               {"ncclCommInitRank", &n->call.open},
               {"ncclCommDestroy", &n->call.close},
               {"ncclCommAbort", &n->call.abort},
               {"ncclCommGetAsyncError", &n->call.failure},
               {"ncclAllGather", &n->call.all_gather},
               {"ncclSend", &n->call.send},
               {"ncclRecv", &n->call.receive},
               {"ncclGroupStart", &n->call.group_begin},
               {"ncclGroupEnd", &n->call.group_end},
               {"ncclGetErrorString", &n->call.error_text}};
  void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    return wr_fail(WR_EUNAVAILABLE, "NCCL is not found (%s): install libnccl2, or have its folder in LD_LIBRARY_PATH",
                   dlerror());
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    void *found = dlsym(library, names[k].name);
    if (found == NULL) return wr_fail(WR_EUNAVAILABLE, "libnccl.so.2 has no %s: a newer one is needed", names[k].name);
    *(void **)names[k].call = found;
  }
  return WR_OK;
}

static wr_status connect(wr_nccl *n) {
  wr_status status = WR_OK;
  wr_comm *parts = n->parts;
  nccl_id mine = {}, *all = NULL;
  status = wr_alloc(&all, parts->size, sizeof *all, "a connection by NCCL");
  if (status == WR_OK && parts->rank == 0) status = check(n, n->call.get_id(&mine), "an id");
  TRY(wr_comm_agree(parts, status));
  TRY(parts->ops->gather(parts, "the id of a connection by NCCL", &mine, sizeof mine, all));
  TRY(wr_comm_agree(parts, check(n, n->call.open(&n->comm, parts->size, all[0], parts->rank), "connecting")));
done:
  wr_free(all);
  return status;
}

extern "C" wr_status wr_nccl_open(wr_env *env, wr_nccl **out) {
  wr_status status;
  wr_nccl *n = NULL;
  *out = NULL;
  status = wr_cuda_enter(env);
  if (status == WR_OK) status = wr_alloc_zeroed(&n, 1, sizeof *n, "a connection by NCCL");
  if (status == WR_OK) status = load(n);
  TRY(wr_comm_agree(env->comm, status));
  n->parts = env->comm;
  TRY(connect(n));
  *out = n, n = NULL;
done:
  wr_nccl_close(n);
  return status;
}

/* Closing waits for the other parts, which may be gone after a failure. The library stays loaded: its threads may still run. */
extern "C" void wr_nccl_close(wr_nccl *n) {
  if (n && n->comm) (void)(n->parts->broken.status == WR_OK ? n->call.close : n->call.abort)(n->comm);
  wr_free(n);
}

static wr_status enter(const wr_nccl *n, wr_env *env) {
  PASS(wr_error_raise(&n->parts->broken));
  PASS(wr_cuda_enter_now(env));
  ((wr_cuda_state *)env->state)->foreign = 1;
  return WR_OK;
}

extern "C" wr_status wr_nccl_gather(wr_nccl *n, wr_env *env, const void *from, int64_t bytes, void *all) {
  PASS(enter(n, env));
  return check(n, n->call.all_gather(from, all, (size_t)bytes, NCCL_BYTES, n->comm, (cudaStream_t)env->stream),
               "a sum");
}

/* A group that was begun is ended, whatever fails in it. */
extern "C" wr_status wr_nccl_swap(wr_nccl *n, wr_env *env, const wr_parcel *send, const wr_parcel *receive) {
  cudaStream_t stream = (cudaStream_t)env->stream;
  PASS(enter(n, env));
  int error = n->call.group_begin();
  for (int r = 0; r < n->parts->size && error == NCCL_SUCCESS; r++) {
    if (send[r].bytes > 0) error = n->call.send(send[r].data, (size_t)send[r].bytes, NCCL_BYTES, r, n->comm, stream);
    if (receive[r].bytes > 0 && error == NCCL_SUCCESS)
      error = n->call.receive(receive[r].data, (size_t)receive[r].bytes, NCCL_BYTES, r, n->comm, stream);
  }
  int ended = n->call.group_end();
  return check(n, error == NCCL_SUCCESS ? ended : error, "a halo");
}

/* Ends all that NCCL still has to do, so that waiting for the device ends, too. */
static wr_status give_up(wr_nccl *n, wr_status why) {
  (void)wr_error_keep(&n->parts->broken, why);
  (void)n->call.abort(n->comm);
  n->comm = NULL;
  return wr_error_raise(&n->parts->broken);
}

extern "C" wr_status wr_nccl_wait(wr_nccl *n, wr_env *env) {
  const double begin = wr_clock();
  PASS(wr_error_raise(&n->parts->broken));
  PASS(wr_cuda_enter(env));
  for (;;) {
    int failure = NCCL_SUCCESS;
    cudaError_t state = cudaStreamQuery((cudaStream_t)env->stream);
    if (state == cudaSuccess) return WR_OK;
    if (state != cudaErrorNotReady) return wr_cuda_check(state, "cudaStreamQuery");
    wr_status status = check(n, n->call.failure(n->comm, &failure), "its state");
    if (status == WR_OK) status = check(n, failure, "an exchange");
    if (status == WR_OK && wr_clock() - begin > n->parts->patience)
      status = wr_comm_late(n->parts, "an exchange by NCCL");
    if (status != WR_OK) return give_up(n, status);
    (void)sched_yield();
  }
}
