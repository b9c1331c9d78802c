/* Resident loops: iterations over a small system as one kernel (loop.h; docs/decisions.md), since a grid barrier takes a
 * fraction of the time of a kernel launch, a graph condition and the last block's work on sums. This file records, checks
 * and launches them; resident_kernel.cuh has the kernel. */
#include <cuda_runtime.h>
#include <string.h>

#include "config/memory.h"
#include "spmv/device/check.cuh"
#include "spmv/device/device_memory.h"
#include "spmv/device/testing.h"
#include "spmv/loop/resident_kernel.cuh"
#include "spmv/kernel/launch.cuh"

/* ---- On the host ---- */

struct wr_resident {
  wr_type type;
  double *bank; /* [nbank] on the device */
  int64_t nbank;
  int count;    /* steps */
  int wide;     /* 1: an operation is too large for wr_narrow                    */
  char *steps;            /* [MAX_STEPS] of wr_resident_step with wr_wide        */
  wr_share_matrix matrix; /* of all products; side 0: no product is recorded     */
  wr_shares shares;
  int share_bytes;        /* of shared memory for a share                        */
  int64_t longest;        /* length of the longest vector                        */
  int joined;             /* 1: all products are joined (resident.cuh)           */
  void *on_device;        /* the steps, on the device, with wr_narrow unless wide */
  wr_record *records; /* of loop_args           */
  size_t shared;          /* dynamic shared memory that a block may have         */
  unsigned most, blocks;
};

/* Bytes of a kernel's arrays of fixed size, at most; close looks whether that holds for the one that it has chosen. */
enum { FIXED_BYTES = 3072 };

static wr_cuda_state *state_of(const wr_env *env) { return (wr_cuda_state *)env->state; }

template <typename T>
static size_t bytes_of_step(int wide) {
  return wide ? sizeof(wr_resident_step<T, wr_wide>) : sizeof(wr_resident_step<T, wr_narrow>);
}

static size_t step_bytes(const wr_resident *r, int wide) {
  return r->type == WR_F32 ? bytes_of_step<float>(wide) : bytes_of_step<double>(wide);
}

/* r->most := how many blocks run at the same time: one a multiprocessor, or one in all if there are no cooperative launches.
 * r->shared := what a block has. */
static wr_status count_blocks(wr_env *env, wr_resident *r) {
  int together = 0, processors = 0, most = 0;
  PASS(WR_CUDA(cudaDeviceGetAttribute(&together, cudaDevAttrCooperativeLaunch, env->device)));
  PASS(WR_CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, env->device)));
  PASS(WR_CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, env->device)));
  if (most <= FIXED_BYTES) return wr_fail(WR_EUNAVAILABLE, "%s has no room for a loop of one kernel", env->device_name);
  r->shared = (size_t)(most - FIXED_BYTES) / 16 * 16;
  r->most = together ? (unsigned)processors : 1;
  return WR_OK;
}

static int64_t records_of(const wr_resident *r) { return 2 * (WR_FUSED_REDUCTIONS + 1) * (int64_t)r->most; }

extern "C" wr_status wr_resident_open(wr_env *env, const wr_vec *bank, wr_resident **out) {
  wr_status status;
  wr_resident *r = NULL;
  int limited = 0;
  TRY(wr_alloc_zeroed(&r, 1, sizeof *r, "a loop of one kernel"));
  TRY(WR_CUDA(cudaDeviceGetAttribute(&limited, cudaDevAttrKernelExecTimeout, env->device)));
  if (limited) TRY(wr_fail(WR_EUNAVAILABLE, "%s ends kernels that run for long", env->device_name));
  r->type = env->type, r->bank = (double *)bank->data, r->nbank = bank->n;
  TRY(wr_alloc(&r->steps, MAX_STEPS, step_bytes(r, 1), "steps of a loop"));
  TRY(count_blocks(env, r));
  TRY(wr_device_alloc(env, &r->on_device, MAX_STEPS, step_bytes(r, 1), "steps of a loop"));
  TRY(wr_device_alloc(env, &r->records, records_of(r), sizeof *r->records, "sums of blocks"));
  env->resident = r;
  *out = r, r = NULL;
done:
  wr_resident_free(env, r);
  return status;
}

static bool is_in_bank(const wr_resident *r, const double *scalar) {
  return scalar == NULL || (scalar >= r->bank && scalar < r->bank + r->nbank);
}

/* then: the step behind the sums, which must be in WR_STEP_LIST. */
template <int MOST>
static wr_status check_sums(const wr_resident *r, const wr_sums_of<MOST> &s, const wr_then &then) {
  bool fine = (then.step == NULL || s.step.bit) && (s.step.bit == 0 || s.step.bank == r->bank);
  for (int k = 0; k < s.count; k++) fine &= is_in_bank(r, s.into[k]);
  return fine ? WR_OK
              : wr_fail(WR_EUNAVAILABLE, "a loop of one kernel has one bank and the steps that are compiled in");
}

static wr_status add(wr_resident *r, const void *step, int64_t n) {
  if (r->count == MAX_STEPS) return wr_fail(WR_EUNAVAILABLE, "a loop of one kernel has %d steps at most", MAX_STEPS);
  memcpy(r->steps + r->count++ * step_bytes(r, 1), step, step_bytes(r, 1));
  if (n > r->longest) r->longest = n;
  return WR_OK;
}

template <typename T>
wr_status wr_resident_add_vectors(wr_env *env, const wr_fused_args<T, wr_wide> &args, const wr_then &then) {
  wr_resident *r = env->resident;
  wr_resident_step<T, wr_wide> step;
  memset(&step, 0, sizeof step);
  step.kind = WR_RESIDENT_VECTORS, step.vectors = args;
  if (args.nin > wr_narrow::SLOTS || args.nout > wr_narrow::OUTPUTS || args.sums.count > wr_narrow::SUMS || args.hashed)
    r->wide = 1;
  bool fine = is_in_bank(r, args.when) && !(args.when && args.sums.step.bit && args.sums.count == 0);
  for (const auto &terms : args.c)
    for (const wr_device_coefficient &c : terms) fine &= is_in_bank(r, c.scalar);
  if (!fine) return wr_fail(WR_EUNAVAILABLE, "a loop of one kernel has one bank");
  PASS(check_sums(r, args.sums, then));
  return add(r, &step, args.n);
}
template wr_status wr_resident_add_vectors<float>(wr_env *, const wr_fused_args<float, wr_wide> &, const wr_then &);
template wr_status wr_resident_add_vectors<double>(wr_env *, const wr_fused_args<double, wr_wide> &, const wr_then &);

template <typename T>
static wr_status add_rows(wr_env *env, const wr_share_matrix *A, const wr_apply *request) {
  wr_resident *r = env->resident;
  const wr_then none = {NULL, NULL, NULL};
  wr_resident_step<T, wr_wide> step;
  memset(&step, 0, sizeof step);
  step.kind = WR_RESIDENT_ROWS;
  wr_resident_rows<T> *a = &step.rows;
  a->nrows = A->nrows;
  a->x = (const T *)request->x->data, a->y = (T *)request->y->data, a->alpha = request->alpha, a->beta = request->beta;
  a->finish = wr_finish_make<T>(env, request->epilogue);
  if (!is_in_bank(r, a->finish.shift) || !is_in_bank(r, a->finish.relaxation))
    return wr_fail(WR_EUNAVAILABLE, "a loop of one kernel has one bank");
  if (r->matrix.side && r->matrix.view.row_ptr != A->view.row_ptr)
    return wr_fail(WR_EUNAVAILABLE, "a loop of one kernel has one matrix");
  r->matrix = *A;
  PASS(check_sums(r, a->finish.sums, request->epilogue ? request->epilogue->then : none));
  return add(r, &step, a->nrows);
}

extern "C" wr_status wr_resident_rows_add(wr_env *env, const wr_csr_view *view, int64_t nnz, int side,
                                          const wr_apply *request) {
  wr_share_matrix A = {request->y->n, request->x->n, nnz, *view, view->val ? side : 1};
  if (A.nrows != A.ncols) return wr_fail(WR_EUNAVAILABLE, "a loop of one kernel has a square matrix");
  if (side < 1 || side > WR_SHARE_SIDES)
    return wr_fail(WR_EUNAVAILABLE, "a loop of one kernel has blocks of at most %d rows", (int)WR_SHARE_SIDES);
  if (view->wide) return wr_fail(WR_EUNAVAILABLE, "%lld entries are too many for one kernel", (long long)nnz);
  return env->type == WR_F32 ? add_rows<float>(env, &A, request) : add_rows<double>(env, &A, request);
}

template <typename T>
static void end_part(wr_resident *r) {
  ((wr_resident_step<T, wr_wide> *)r->steps)[r->count - 1].ends_part = 1;
}

template <typename T>
static void share_vectors(wr_resident *r) {
  wr_resident_step<T, wr_wide> *steps = (wr_resident_step<T, wr_wide> *)r->steps;
  for (int k = 0; k < r->count; k++)
    if (steps[k].kind == WR_RESIDENT_VECTORS) steps[k].share = (int)((steps[k].vectors.n + r->blocks - 1) / r->blocks);
}

extern "C" wr_status wr_resident_part(wr_resident *r) {
  if (r->count == 0) return wr_fail(WR_EUNAVAILABLE, "a part of a loop is empty");
  r->type == WR_F32 ? end_part<float>(r) : end_part<double>(r);
  return WR_OK;
}

/* Limits above which a graph of launches may be faster: the length of a row, which one block multiplies while all others wait,
 * and the bytes of a share that a block reads from L2, in each product, as they do not fit in its shared memory. */
enum { LONGEST_ROW = 16384, MOST_OUTSIDE = 128 << 10 };

/* Chooses the number of blocks, so that each has enough work. */
static wr_status share_out(wr_resident *r) {
  int64_t by_length = (r->longest + THREADS - 1) / THREADS, by_entries = r->matrix.nnz / (3 * THREADS) + 1;
  int64_t wanted = by_length > by_entries ? by_length : by_entries;
  r->blocks = wanted < r->most ? (unsigned)wanted : r->most;
  r->type == WR_F32 ? share_vectors<float>(r) : share_vectors<double>(r);
  if (r->longest <= INT32_MAX / 2) return WR_OK;
  return wr_fail(WR_EUNAVAILABLE, "%lld rows are too many for one kernel", (long long)r->longest);
}

static wr_status make_shares(wr_env *env, wr_resident *r) {
  wr_shares *s = &r->shares;
  int sums = (r->wide ? wr_wide::SUMS : wr_narrow::SUMS) * THREADS * (int)sizeof(double);
  r->share_bytes = sums;
  if (r->matrix.side == 0) return WR_OK;
  PASS(wr_shares_count(env, &r->matrix, (int)r->blocks, sums, s));
  if (s->most > LONGEST_ROW) return wr_fail(WR_EUNAVAILABLE, "a row of %d entries is too long for one kernel", s->most);
  int64_t room = (int64_t)((r->shared - r->count * step_bytes(r, r->wide)) / 16 * 16);
  r->share_bytes = (int)(s->most_bytes < room ? s->most_bytes : room);
  if (s->most_head > room || s->most_bytes - room > MOST_OUTSIDE)
    return wr_fail(WR_EUNAVAILABLE, "%lld entries are too many for one kernel", (long long)r->matrix.nnz);
  return wr_shares_fill(env, &r->matrix, s);
}

/* ---- Joined products (resident.cuh) ---- */

/* Elements of x of a block up to which products are joined: above, reading several vectors may take longer than a grid
 * barrier. */
enum { MOST_JOINED = 8192 };

template <typename T>
static bool sums_fit(const wr_fused_args<T, wr_wide> &f, const wr_finish<T> &finish, int most) {
  bool fits = f.sums.step.bit == 0 && f.sums.count + finish.sums.count <= most;
  for (int k = 0; k < f.sums.count; k++) {
    fits &= f.sums.into[k] != finish.shift; /* the product would read the shift before it is computed */
    fits &= f.sums.into[k] != finish.relaxation;
    for (int m = 0; m < finish.sums.count; m++) fits &= f.sums.into[k] != finish.sums.into[m];
  }
  return fits;
}

/* Whether a product can be joined with the operation before it, which computes its x. Blocks of the joined product gather
 * the operation's inputs while others already store x, y and scaled, so none of these may be an input; and the epilogue must
 * not read x, except as a z. most: sums that a step has room for. */
template <typename T>
static bool can_join(const wr_resident_step<T, wr_wide> &operation, const wr_resident_step<T, wr_wide> &product,
                     int most) {
  if (operation.kind != WR_RESIDENT_VECTORS || product.kind != WR_RESIDENT_ROWS || operation.ends_part) return false;
  const wr_fused_args<T, wr_wide> &f = operation.vectors;
  const wr_resident_rows<T> &a = product.rows;
  if (f.nout != 1 || f.nin > WR_JOINED_INPUTS || f.has_times || f.when) return false;
  bool fits = f.out[0] == a.x && f.n == a.nrows && sums_fit(f, a.finish, most);
  for (int s = 0; s < f.nin; s++) fits &= f.in[s] != a.x && f.in[s] != a.y && f.in[s] != a.finish.scaled;
  return fits && a.x != a.y && a.x != a.finish.scaled && a.x != a.finish.scale && a.x != a.finish.shift_dir &&
         a.x != a.finish.relax_from;
}

/* The same sums in a parameter with room for another number of them, which must be enough. */
template <int TO, int FROM>
static wr_sums_of<TO> with_room(const wr_sums_of<FROM> &from) {
  wr_sums_of<TO> to = {};
  to.count = from.count, to.before = from.before, to.partial = from.partial, to.stride = from.stride;
  to.arrived = from.arrived, to.step = from.step;
  for (int k = 0; k < from.count; k++) to.kind[k] = from.kind[k], to.into[k] = from.into[k];
  return to;
}

/* Makes the operation a JOINED step with the sums of both, the product's first, and the product's step. */
template <typename T>
static void join(wr_resident_step<T, wr_wide> *operation, const wr_resident_step<T, wr_wide> *product) {
  wr_fused_args<T, wr_wide> *f = &operation->vectors;
  wr_sums_of<wr_wide::SUMS> all = with_room<wr_wide::SUMS>(product->rows.finish.sums);
  for (int k = f->sums.count; k-- > 0;) { /* from the last on, since u and z are moved in place */
    int to = all.count + k;
    all.kind[to] = f->sums.kind[k], all.into[to] = f->sums.into[k], f->u[to] = f->u[k], f->z[to] = f->z[k];
  }
  all.count += f->sums.count;
  f->sums = all;
  operation->kind = WR_RESIDENT_JOINED, operation->ends_part = product->ends_part;
}

/* Joins all products or none, as the kernel is compiled for these two cases. */
template <typename T>
static void join_steps(wr_resident *r) {
  wr_resident_step<T, wr_wide> *steps = (wr_resident_step<T, wr_wide> *)r->steps;
  int products = 0, most = r->wide ? wr_wide::SUMS : wr_narrow::SUMS;
  if (r->shares.columns * r->shares.side > MOST_JOINED) return;
  for (int k = 0; k < r->count; k++) {
    if (steps[k].kind != WR_RESIDENT_ROWS) continue;
    if (k == 0 || !can_join(steps[k - 1], steps[k], most)) return;
    products++;
  }
  for (int k = 0; k + 1 < r->count; k++)
    if (steps[k + 1].kind == WR_RESIDENT_ROWS) join(&steps[k], &steps[k + 1]);
  r->joined = products > 0;
}

/* ---- For the device ---- */

/* The slot of an operand in wr_narrow: outputs follow the vectors that are read. */
static int narrow_slot(int slot) { return slot < wr_wide::SLOTS ? slot : slot - wr_wide::SLOTS + wr_narrow::SLOTS; }

template <typename T>
static wr_fused_args<T, wr_narrow> narrow_args(const wr_fused_args<T, wr_wide> &f) {
  wr_fused_args<T, wr_narrow> a = {};
  a.n = f.n, a.groups = f.groups, a.nin = f.nin, a.nout = f.nout, a.has_times = f.has_times, a.when = f.when;
  for (int k = 0; k < f.nin; k++) a.in[k] = f.in[k];
  for (int o = 0; o < f.nout; o++) {
    a.out[o] = f.out[o];
    for (int k = 0; k < f.nin; k++) a.c[o][k] = f.c[o][k];
    for (int q = 0; q < o; q++) a.c[o][wr_narrow::SLOTS + q] = f.c[o][wr_wide::SLOTS + q];
  }
  a.sums = with_room<wr_narrow::SUMS>(f.sums);
  for (int k = 0; k < f.sums.count; k++) a.u[k] = narrow_slot(f.u[k]), a.z[k] = narrow_slot(f.z[k]);
  return a;
}

template <typename T>
static void find_forms(wr_env *env, const wr_resident *r, wr_resident_step<T, wr_narrow> *steps) {
  int known = 0;
  for (int k = 0; k < r->count && !(env->testing && env->testing->no_forms); k++) {
    steps[k].form = wr_step_form_of(steps[k], k + 1 < r->count ? &steps[k + 1] : NULL);
    known += steps[k].form > 0;
  }
  if (env->testing) env->testing->known_steps = known;
}

/* Uploads the steps, in the smaller version unless one of them is wide. */
template <typename T>
static wr_status upload_steps(wr_env *env, wr_resident *r) {
  wr_status status;
  const wr_resident_step<T, wr_wide> *steps = (const wr_resident_step<T, wr_wide> *)r->steps;
  wr_resident_step<T, wr_narrow> *narrow = NULL;
  int64_t words = r->count * (int64_t)(step_bytes(r, r->wide) / 8);
  TRY(wr_alloc_zeroed(&narrow, r->count, sizeof *narrow, "steps of a loop"));
  for (int k = 0; k < r->count && !r->wide; k++) {
    narrow[k].kind = steps[k].kind, narrow[k].share = steps[k].share, narrow[k].ends_part = steps[k].ends_part;
    if (steps[k].kind == WR_RESIDENT_ROWS)
      narrow[k].rows = steps[k].rows;
    else
      narrow[k].vectors = narrow_args(steps[k].vectors);
  }
  if (!r->wide) find_forms(env, r, narrow);
  TRY(wr_device_upload(env, r->on_device, r->wide ? (const void *)steps : narrow, words, WR_AS_8_BYTES));
done:
  wr_free(narrow);
  return status;
}

/* Lets the kernel that will run have its memory. Only this one is asked for, as that loads it, which takes a millisecond. */
template <typename T, class ROOM>
static wr_status ready(wr_env *env, const wr_resident *r) {
  int each = 0, bytes = (int)(r->share_bytes + r->count * step_bytes(r, r->wide));
  const void *kernel = r->joined ? (const void *)resident<T, ROOM, true> : (const void *)resident<T, ROOM, false>;
  cudaFuncAttributes attributes;
  PASS(WR_CUDA(cudaFuncGetAttributes(&attributes, kernel)));
  if (attributes.sharedSizeBytes > FIXED_BYTES)
    return wr_fail(WR_EUNAVAILABLE, "a loop of one kernel needs %zu bytes, not %d, beside the matrix",
                   attributes.sharedSizeBytes, (int)FIXED_BYTES);
  PASS(WR_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)r->shared)));
  PASS(WR_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, THREADS, (size_t)bytes)));
  return each ? WR_OK : wr_fail(WR_EUNAVAILABLE, "%s has no room for a loop of one kernel", env->device_name);
}

template <typename T>
static wr_status close_typed(wr_env *env, wr_resident *r) {
  join_steps<T>(r);
  PASS((r->wide ? ready<T, wr_wide> : ready<T, wr_narrow>)(env, r));
  return upload_steps<T>(env, r);
}

extern "C" wr_status wr_resident_close(wr_env *env, wr_resident *r) {
  env->resident = NULL;
  PASS(wr_resident_part(r));
  PASS(share_out(r));
  PASS(make_shares(env, r));
  return r->type == WR_F32 ? close_typed<float>(env, r) : close_typed<double>(env, r);
}

template <typename T, class ROOM>
static wr_status launch(wr_env *env, wr_resident *r, const unsigned *stop) {
  loop_args<T, ROOM> loop = {(const wr_resident_step<T, ROOM> *)r->on_device, r->count, (int)r->nbank, r->bank,
                             r->records, stop, r->shares.on_device, r->shares.images,
                             r->shares.side, r->shares.value_bytes, r->share_bytes};
  auto resident_kernel = r->joined ? resident<T, ROOM, true> : resident<T, ROOM, false>;
  return WR_LAUNCH_TOGETHER((resident_kernel), r->blocks, THREADS, r->share_bytes + r->count * step_bytes(r, r->wide),
                            env->stream, loop);
}

template <typename T>
static wr_status launch_with_room(wr_env *env, wr_resident *r, const unsigned *stop) {
  return r->wide ? launch<T, wr_wide>(env, r, stop) : launch<T, wr_narrow>(env, r, stop);
}

extern "C" wr_status wr_resident_run(wr_env *env, wr_resident *r, const unsigned *stop) {
  PASS(WR_CUDA(cudaMemsetAsync(r->records, 0, (size_t)records_of(r) * sizeof *r->records, state_of(env)->stream)));
  return r->type == WR_F32 ? launch_with_room<float>(env, r, stop) : launch_with_room<double>(env, r, stop);
}

extern "C" void wr_resident_free(wr_env *env, wr_resident *r) {
  if (r == NULL) return;
  if (env->resident == r) env->resident = NULL;
  wr_shares_free(env, &r->shares);
  wr_device_free(env, r->on_device);
  wr_device_free(env, r->records);
  wr_free(r->steps);
  wr_free(r);
}
