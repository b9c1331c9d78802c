/* Where and how to compute: the host or a device, and what an operation needs there. */
#ifndef WR_ENV_H
#define WR_ENV_H

#include "spmv/device/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

struct wr_resident;

/* Where and how to compute: filled in by the caller up to the line, opened by wr_env_open. One env serves one solve at a
 * time: its stream orders everything. */
typedef struct wr_env {
  wr_place place;
  int device;        /* WR_CUDA: number of the card                                                    */
  wr_type type;      /* of the vectors and the stored values                                           */
  int threads;       /* WR_HOST: 0: the processors that this process may use (OMP_NUM_THREADS, quotas) */
  int deterministic; /* 1: bit-identical results from run to run                                       */
  int need_beta;     /* 1: applies with beta != 0 will come                                            */
  int poison;        /* 1 (tests): every y_next is filled with NaN where its contents are undefined    */
  int no_conditions; /* 1 (tests): loops as with a driver whose graphs have no conditional nodes       */
  /* -- set by operations and backends */
  int then_done;     /* 1: the last one has run its `then` itself                                      */
  struct wr_resident *resident; /* the resident loop that is being recorded                            */
  /* -- set by wr_env_open */
  const wr_vecops *ops;
  void *stream;      /* WR_CUDA: cudaStream_t                                                          */
  void *state;       /* of ops                                                                         */
  char device_name[128];
} wr_env;

wr_status wr_env_open(wr_env *env);  /* WR_EUNAVAILABLE with the reason and what would help; WR_ENOMEM */
void wr_env_close(wr_env *env);      /* a zeroed or unopened one is fine */

/* Measured read bandwidth of env's place for something of so many bytes that is read again and again, bytes a second: the
 * best of a few sums over a vector as long (1 MB at least; on the host 256 or 512 MB at most, on a device 1 GB or the 64th
 * part of its memory), which lies in the caches if they hold so much. Takes about as long as ten multiplies that move as
 * much. WR_ENOMEM. */
wr_status wr_env_read_bandwidth(wr_env *env, double bytes, double *bytes_per_second);

/* Version of the CUDA toolkit of this build, 1000 * major + 10 * minor; 0: built without CUDA. */
int wr_cuda_toolkit(void);

#ifdef __cplusplus
}
#endif
#endif
