/* The functions of the CUDA sources in a build without CUDA: each fails and says what to install. */
#include <stdint.h>

#include "config/argument.h"
#include "spmv/matrix/csr.h"
#include "spmv/matrix/csr_device.h"
#include "spmv/matrix/csr_upload.h"
#include "spmv/device/device_memory.h"
#include "spmv/device/sort.h"
#include "spmv/matrix/transpose.h"
#include "spmv/device/env.h"
#include "spmv/device/vec_argument.h"
#include "spmv/apply.h"

static wr_status fail(void) {
  return wr_fail(WR_EUNAVAILABLE,
                 "this build has no CUDA parts; install the CUDA toolkit (nvcc 12.4 or newer) and run make again");
}

static wr_status open(wr_env *env) { return (void)env, fail(); }
static void close(wr_env *env) { (void)env; }
static void release(wr_env *env, wr_vec *v) { (void)env, (void)v; /* nothing was allocated */ }
static wr_status fill(wr_env *env, wr_vec *v, double value) { return (void)env, (void)v, (void)value, fail(); }
static wr_status compact(wr_env *env, int64_t n, const double *values, const char *what, wr_vec *v) {
  return (void)env, (void)n, (void)values, (void)what, (void)v, fail();
}

static wr_status widen(wr_env *env, const wr_vec *from, wr_vec *to) { return (void)env, (void)from, (void)to, fail(); }

static wr_status fused(wr_env *env, const wr_fused *f) { return (void)env, (void)f, fail(); }
static wr_status epilogue(wr_env *env, const wr_apply *apply) { return (void)env, (void)apply, fail(); }
static wr_status wait(wr_env *env) { return (void)env, fail(); }
static wr_status stamp(wr_env *env, int slot) { return (void)env, (void)slot, fail(); }

static wr_status alloc(wr_env *env, int64_t n, wr_type type, const char *what, wr_vec *v) {
  (void)env, (void)n, (void)type, (void)what;
  if (v) *v = (wr_vec){0};
  return fail();
}

static wr_status upload(wr_env *env, wr_vec *v, const double *values) {
  return (void)env, (void)v, (void)values, fail();
}

static wr_status download(wr_env *env, const wr_vec *v, double *values) {
  return (void)env, (void)v, (void)values, fail();
}

static wr_status step(wr_env *env, const wr_then *then) { return (void)env, (void)then, fail(); }

static wr_status elapsed(wr_env *env, int from, int to, double *seconds) {
  return (void)env, (void)from, (void)to, (void)seconds, fail();
}

static wr_status memory(wr_env *env, int64_t *free_bytes, int64_t *total_bytes) {
  return (void)env, (void)free_bytes, (void)total_bytes, fail();
}

const wr_vecops wr_vecops_cuda = {
    .name = "cuda",
    .open = open,
    .close = close,
    .alloc = alloc,
    .release = release,
    .upload = upload,
    .download = download,
    .fill = fill,
    .compact = compact,
    .widen = widen,
    .fused = fused,
    .step = step,
    .epilogue = epilogue,
    .wait = wait,
    .stamp = stamp,
    .elapsed = elapsed,
    .memory = memory,
};

wr_status wr_device_alloc(wr_env *env, void *block, int64_t count, size_t size, const char *what) {
  (void)env, (void)count, (void)size, (void)what;
  *(void **)block = NULL;
  return fail();
}

wr_status wr_device_alloc_zeroed(wr_env *env, void *block, int64_t count, size_t size, const char *what) {
  return wr_device_alloc(env, block, count, size, what);
}

wr_status wr_device_alloc_shared(wr_env *env, void *block, int64_t count, size_t size, const char *what) {
  return wr_device_alloc(env, block, count, size, what);
}

void wr_device_free(wr_env *env, void *block) { (void)env, (void)block; /* nothing was allocated */ }

void wr_device_free_shared(int device, void *block) { (void)device, (void)block; }

int64_t wr_device_blocks(void) { return 0; }

wr_status wr_device_upload(wr_env *env, void *to, const void *from, int64_t count, wr_conversion how) {
  return (void)env, (void)to, (void)from, (void)count, (void)how, fail();
}

wr_status wr_device_download(wr_env *env, void *to, const void *from, int64_t count, wr_conversion how) {
  return (void)env, (void)to, (void)from, (void)count, (void)how, fail();
}

wr_status wr_device_sort_pairs(wr_env *env, void *keys, size_t key_size, void *values, size_t value_size, int64_t count,
                               int begin_bit, int end_bit) {
  (void)env, (void)keys, (void)key_size, (void)values, (void)value_size, (void)count, (void)begin_bit, (void)end_bit;
  return fail();
}

wr_status wr_device_scan(wr_env *env, const void *counts, size_t count_size, int64_t count, void *offsets,
                         size_t offset_size, int64_t *total) {
  (void)env, (void)counts, (void)count_size, (void)count, (void)offsets, (void)offset_size, (void)total;
  return fail();
}

wr_status wr_device_select(wr_env *env, const uint8_t *kinds, uint8_t kind, int64_t count, const void *items,
                           void *selected, size_t item_size, int64_t *found) {
  (void)env, (void)kinds, (void)kind, (void)count, (void)items, (void)selected, (void)item_size, (void)found;
  return fail();
}

wr_status wr_device_runs(wr_env *env, const void *keys, size_t key_size, int64_t count, void *unique, void *offsets,
                         size_t offset_size, int64_t *runs) {
  (void)env, (void)keys, (void)key_size, (void)count, (void)unique, (void)offsets, (void)offset_size, (void)runs;
  return fail();
}

wr_status wr_csr_device_view(wr_csr *A, struct wr_env *env, wr_csr_view *view) {
  WR_NEED(A);
  WR_NEED(view);
  WR_NEED_OPEN(env);
  return fail();
}

wr_status wr_csr_share_indices(const wr_csr *from, wr_csr *to, struct wr_env *env) {
  return (void)from, (void)to, (void)env, fail();
}

wr_status wr_csr_upload_begin(wr_csr *A, struct wr_env *env, wr_csr_upload **upload) {
  (void)A, (void)env;
  *upload = NULL;
  return fail();
}

wr_status wr_csr_upload_more(wr_csr_upload *upload, int64_t rows, int64_t most, int *left) {
  (void)upload, (void)rows, (void)most;
  *left = 0;
  return fail();
}

wr_status wr_csr_upload_end(wr_csr_upload *upload) { return (void)upload, fail(); }

void wr_csr_upload_drop(wr_csr_upload *upload) { (void)upload; /* nothing was allocated */ }

wr_status wr_csr_host(wr_csr *A, struct wr_env *env) {
  (void)env;
  WR_NEED(A);
  WR_REFUSE_IF(A->row_ptr == NULL && A->device == NULL, "A has neither host arrays nor a device view");
  return A->row_ptr ? WR_OK : fail();
}

wr_status wr_csr_transpose_device(wr_csr *A, struct wr_env *env, wr_csr **out) {
  (void)A, (void)env;
  *out = NULL;
  return fail();
}

wr_status wr_csr_divide_columns_device(wr_csr *A, struct wr_env *env, const double *by) {
  return (void)A, (void)env, (void)by, fail();
}

wr_status wr_csr_count_columns_device(wr_csr *A, struct wr_env *env, int32_t *counts) {
  return (void)A, (void)env, (void)counts, fail();
}

void wr_csr_device_free(struct wr_csr_device *views) { (void)views; /* nothing was allocated */ }

int wr_cuda_toolkit(void) { return 0; }
