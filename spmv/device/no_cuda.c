/* What the CUDA sources define, for a build without them: everything answers what would help. */
#include <stdint.h>

#include "spmv/csr.h"
#include "spmv/device/vec.h"
#include "spmv/spmv.h"

static wr_status fail(void) {
  return wr_fail(WR_EUNAVAILABLE,
                 "this build has no CUDA parts; install the CUDA toolkit (nvcc 12.4 or newer) and run make again");
}

static wr_status open(wr_env *env) { return (void)env, fail(); }
static void close(wr_env *env) { (void)env; }
static void release(wr_env *env, wr_vec *v) { (void)env, *v = (wr_vec){0}; }
static wr_status fill(wr_env *env, wr_vec *v, double value) { return (void)env, (void)v, (void)value, fail(); }
static wr_status fused(wr_env *env, const wr_fused *f) { return (void)env, (void)f, fail(); }
static wr_status epilogue(wr_env *env, const wr_apply *apply) { return (void)env, (void)apply, fail(); }
static wr_status wait(wr_env *env) { return (void)env, fail(); }
static wr_status stamp(wr_env *env, int slot) { return (void)env, (void)slot, fail(); }

static wr_status alloc(wr_env *env, int64_t n, wr_type type, const char *what, wr_vec *v) {
  (void)env, (void)n, (void)type, (void)what;
  *v = (wr_vec){0};
  return fail();
}

static wr_status upload(wr_env *env, wr_vec *v, const double *values) {
  return (void)env, (void)v, (void)values, fail();
}

static wr_status download(wr_env *env, const wr_vec *v, double *values) {
  return (void)env, (void)v, (void)values, fail();
}

static wr_status scalars(wr_env *env, wr_vec *bank, const wr_scalar_op *ops, int count) {
  return (void)env, (void)bank, (void)ops, (void)count, fail();
}

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
    .fused = fused,
    .scalars = scalars,
    .epilogue = epilogue,
    .wait = wait,
    .stamp = stamp,
    .elapsed = elapsed,
    .memory = memory,
};

wr_status wr_csr_device_view(wr_csr *A, struct wr_env *env, wr_csr_view *view) {
  (void)A, (void)env, (void)view;
  return fail();
}

void wr_csr_device_free(struct wr_csr_device *views) { (void)views; /* there are none */ }

int wr_cuda_toolkit(void) { return 0; }
