/* The functions of the CUDA sources in a build without CUDA: each fails and says what to install. */
#include <stdint.h>

#include "spmv/matrix/csr.h"
#include "spmv/matrix/csr_device.h"
#include "spmv/matrix/csr_upload.h"
#include "spmv/device/device_memory.h"
#include "spmv/device/peers.h"
#include "spmv/device/sort.h"
#include "spmv/matrix/renumber.h"
#include "spmv/matrix/scale.h"
#include "spmv/matrix/transpose.h"
#include "spmv/device/vec_argument.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

static wr_status fail(void) {
  return wr_fail(WR_EUNAVAILABLE,
                 "this build has no CUDA parts; install the CUDA toolkit (nvcc 12.4 or newer) and run make again");
}

static wr_status open(wr_env *env) { return fail(); }

/* No env is ever open, so no other operation is called. */
const wr_vecops wr_vecops_cuda = {.name = "cuda", .open = open};

wr_status wr_device_alloc(wr_env *env, void *block, int64_t count, size_t size, const char *what) {
  *(void **)block = NULL;
  return fail();
}

wr_status wr_device_alloc_zeroed(wr_env *env, void *block, int64_t count, size_t size, const char *what) {
  return wr_device_alloc(env, block, count, size, what);
}

void wr_device_free(wr_env *env, void *block) {} /* nothing was allocated */

int64_t wr_device_blocks(void) { return 0; }

wr_status wr_device_upload(wr_env *env, void *to, const void *from, int64_t count, wr_conversion how) { return fail(); }

wr_status wr_device_download(wr_env *env, void *to, const void *from, int64_t count, wr_conversion how) {
  return fail();
}

wr_status wr_device_sort_pairs(wr_env *env, void *keys, size_t key_size, void *values, size_t value_size, int64_t count,
                               int begin_bit, int end_bit) {
  return fail();
}

wr_status wr_device_scan(wr_env *env, const void *counts, size_t count_size, int64_t count, void *offsets,
                         size_t offset_size, int64_t *total) {
  return fail();
}

wr_status wr_device_select(wr_env *env, const uint8_t *kinds, uint8_t kind, int64_t count, const void *items,
                           void *selected, size_t item_size, int64_t *found) {
  return fail();
}

wr_status wr_csr_device_view(wr_csr *A, struct wr_env *env, wr_csr_view *view) {
  WR_NEED(A);
  WR_NEED(view);
  WR_NEED_OPEN(env);
  return fail();
}

wr_status wr_csr_share_indices(const wr_csr *from, wr_csr *to, struct wr_env *env) { return fail(); }

wr_status wr_csr_upload_begin(wr_csr *A, struct wr_env *env, wr_csr_upload **upload) {
  *upload = NULL;
  return fail();
}

wr_status wr_csr_upload_more(wr_csr_upload *upload, int64_t rows, int64_t most, int *left) {
  *left = 0;
  return fail();
}

wr_status wr_csr_upload_end(wr_csr_upload *upload) { return fail(); }

void wr_csr_upload_drop(wr_csr_upload *upload) {} /* nothing was allocated */

wr_status wr_csr_host(wr_csr *A, struct wr_env *env) {
  WR_NEED(A);
  WR_REFUSE_IF(A->row_ptr == NULL && A->device == NULL, "A has neither host arrays nor a device view");
  return A->row_ptr ? WR_OK : fail();
}

wr_status wr_csr_transpose_device(wr_csr *A, struct wr_env *env, wr_csr **out) {
  *out = NULL;
  return fail();
}

wr_status wr_csr_renumber_device(wr_csr *A, struct wr_env *env, const int32_t *place, wr_csr **out) {
  *out = NULL;
  return fail();
}

wr_status wr_csr_divide_columns_device(wr_csr *A, struct wr_env *env, const double *by) { return fail(); }

wr_status wr_csr_count_columns_device(wr_csr *A, struct wr_env *env, int32_t *counts) { return fail(); }

wr_status wr_csr_equilibrate_device(wr_csr *A, struct wr_env *env, int *row_exponent, int *column_exponent,
                                    int *sweeps) {
  return fail();
}

wr_status wr_csr_scale_device(wr_csr *A, struct wr_env *env, const int *row_exponent, const int *column_exponent,
                              wr_csr *to) {
  return fail();
}

void wr_csr_device_free(struct wr_csr_device *views) {} /* nothing was allocated */

int wr_cuda_toolkit(void) { return 0; }

/* Devices exchange nothing, so nothing else of peers.h is called. */
wr_status wr_peers_open(wr_env *env, wr_peers **peers) { return *peers = NULL, WR_OK; }
void wr_peers_close(wr_peers *peers) {}
wr_status wr_peers_sum(wr_peers *peers, wr_env *env, const wr_reduction *reduce, int most, wr_scalar when,
                       const wr_then *then) {
  return fail();
}
wr_status wr_peers_loop_open(wr_peers *peers, wr_env *env, const wr_vecops *of_place,
                             const struct wr_loop_request *request, struct wr_loop **loop) {
  return fail();
}
wr_status wr_peers_loop_close(wr_peers *peers, wr_env *env, const wr_vecops *of_place, struct wr_loop *loop) {
  return fail();
}
wr_status wr_peers_loop_run(wr_peers *peers, wr_env *env, const wr_vecops *of_place, struct wr_loop *loop) {
  return fail();
}
void wr_peers_loop_free(wr_peers *peers, wr_env *env, const wr_vecops *of_place, struct wr_loop *loop) {}
wr_exchange wr_peers_exchange(const wr_peers *peers) { return WR_EXCHANGE_HOSTS; }
wr_status wr_peers_await(wr_peers *peers, wr_env *env) { return fail(); }
wr_status wr_peers_check(wr_peers *peers) { return fail(); }
wr_status wr_peers_count_waiting(wr_peers *peers, wr_env *env) { return fail(); }
wr_status wr_peer_halo_open(wr_peers *peers, wr_env *env, const wr_halo *halo, wr_peer_halo **h) { return fail(); }
void wr_peer_halo_close(wr_peer_halo *h) {}
wr_status wr_peer_halo_exchange(wr_peer_halo *h, wr_env *env, const wr_vec *x, wr_vec *wide, int ahead) {
  return fail();
}
const struct wr_outbox *wr_peer_halo_outbox(const wr_peer_halo *h) { return NULL; }
wr_status wr_peer_halo_sum(wr_peer_halo *h, wr_env *env, const wr_reduction *reduce, int most, const wr_then *then,
                           int sent, const wr_vec *y) {
  return fail();
}
