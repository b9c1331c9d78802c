/* Where and how to compute: place, type and threads, and the stream, state and table of operations of an open env. */
#ifndef WR_ENV_H
#define WR_ENV_H

#include "config/watch.h"
#include "spmv/device/vec.h"

WR_C_BEGIN

/* How cards of several parts exchange numbers. */
typedef enum wr_exchange {
  WR_EXCHANGE_AUTO,  /* peers if they can, else NCCL if it is installed, else hosts     */
  WR_EXCHANGE_PEERS, /* cards write into each other's memory (spmv/device/peers.h)     */
  WR_EXCHANGE_NCCL,  /* by NCCL, also between hosts (spmv/device/nccl_exchange.h)      */
  WR_EXCHANGE_HOSTS  /* by way of the hosts                                           */
} wr_exchange;

/* 1 if the cards exchange without their hosts. */
static inline int wr_exchange_is_direct(wr_exchange way) { return way == WR_EXCHANGE_PEERS || way == WR_EXCHANGE_NCCL; }

struct wr_resident;
struct wr_testing;
struct wr_comm;

/* The caller sets the members up to the first line "--" and calls wr_env_open. Of one env, one solve may run at a time, since
 * all operations are in the order of its stream. */
typedef struct wr_env {
  wr_place place;
  int device;        /* WR_CUDA: number of the card                                                    */
  wr_type type;      /* of the vectors and the stored values                                           */
  int threads;       /* WR_HOST: 0: the processors that this process may use (OMP_NUM_THREADS, quotas) */
  int deterministic; /* 1: bit-identical results from run to run                                       */
  int need_beta;     /* 1: plans prepare for applies with beta != 0                                    */
  int need_columns;  /* the most columns of wr_plan_apply_many that plans prepare for; 0: none         */
  const char *tune_cache; /* a file in which backends that tune keep the configurations that they have found, and look before */
                     /* they time any; not with deterministic. NULL: none                                                  */
  wr_exchange exchange;  /* WR_CUDA, with comm: how                                                       */
  struct wr_comm *comm;  /* vectors are parts of longer ones, and sums are those over all parts; NULL: they are not */
  const wr_watch *watch; /* long preparations ask it whether to end, with WR_EUNAVAILABLE; NULL: never */
  struct wr_testing *testing; /* NULL; tests alone set it (testing.h)                                  */
  /* -- set by operations and backends */
  int then_done;     /* 1: the last operation has run its step, so wr_then_run must not                 */
  int many_done;     /* 1: the backend has done what the last wr_apply_many asks for behind the multiply */
  int sent;          /* 1: the backend has sent y by the outbox of the last apply's epilogue            */
  struct wr_resident *resident; /* the resident loop that is being recorded                            */
  /* -- set by wr_env_open */
  const wr_vecops *ops;
  void *stream;      /* WR_CUDA: cudaStream_t                                                          */
  void *state;       /* private to ops                                                                 */
  char device_name[128];
} wr_env;

wr_status wr_env_open(wr_env *env);  /* WR_EUNAVAILABLE with the reason and what would help; WR_ENOMEM */
void wr_env_close(wr_env *env);      /* also takes a zeroed or unopened env */

/* *other := env with vectors and stored values of another type: the same stream, threads and memory, so operations of both are
 * in one order. It is not closed, and env must outlive it. WR_EUSAGE */
wr_status wr_env_with_type(const wr_env *env, wr_type type, wr_env *other);

/* Measured read bandwidth of env's place, in bytes a second, for a vector of `bytes` bytes that is read repeatedly and lies in
 * the caches if these are large enough: the best of a few sums over it. The vector has 1 MB at least; on the host 256 or 512 MB
 * at most, on a device 1 GB or 1/64 of its memory. Takes about as long as ten multiplies that move as many bytes. WR_ENOMEM. */
wr_status wr_env_read_bandwidth(wr_env *env, double bytes, double *bytes_per_second);

/* Version of the CUDA toolkit of this build, 1000 * major + 10 * minor; 0: built without CUDA. */
int wr_cuda_toolkit(void);

WR_C_END
#endif
